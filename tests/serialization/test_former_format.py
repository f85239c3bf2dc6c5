"""Files of version 0.1 are read, and damaged ones are errors."""

import io
import json
from collections import OrderedDict

import pytest

import flambeau as torch
from flambeau.errors import FileFormatError, FlambeauError
from flambeau.serialization.former_format import MAGIC
from tests.oracle.former_files import FILES
from tests.serialization.reading import refused


def load(data, **options):
    return torch.load(io.BytesIO(data), **options)


def test_tensors_are_read():
    found = load(FILES["tensors"])
    assert [each.dtype for each in found] == [torch.float32, torch.bfloat16, torch.float32, torch.uint8]
    assert found[0].tolist() == [[0, 3], [1, 4], [2, 5]] and found[1].requires_grad and found[1].tolist() == [1, 1, 1]
    assert found[2].shape == (0, 2) and found[3].tolist() == [0, 1, 2]


def test_containers_are_read():
    found = load(FILES["containers"])
    assert type(found["state"]) is OrderedDict and found["state"]["w"] is found["again"]
    assert found[3] == [1, 2.5, True, None, "text", float("inf")] and found["pair"] == (0.9, 0.999)
    assert found["size"] == torch.Size([2, 3]) and found["dtype"] is torch.float16
    assert found["device"] == torch.device("cuda:1") and found["again"].tolist() == [0, 1, 2, 3, 4, 5]


def test_locations_are_mapped(gpus):
    assert str(load(FILES["containers"], map_location="cuda:1")["again"].device) == "cuda:1"


def test_files_of_this_format_are_not_mapped(tmp_path):
    path = tmp_path / "file.pt"
    path.write_bytes(FILES["tensors"])
    with pytest.raises(RuntimeError, match="mmap"):
        torch.load(path, mmap=True)


def file_with(header, payload=bytes(64)):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return MAGIC + len(text).to_bytes(8, "little") + text + payload


def damaged(data, *facts):
    refused(lambda: load(data), FileFormatError, *facts, begins="load: the file of version 0.1 is damaged: ")


def described(**changed):
    return {"dtype": "float32", "shape": [2], "device": "cpu", "requires_grad": False, "start": 0} | changed


@pytest.mark.parametrize(
    ("changed", "fact"),
    [
        ({"shape": [-2]}, "integers"),
        ({"shape": 2}, "sizes"),
        ({"shape": ["a"]}, "sizes"),
        ({"shape": [True]}, "sizes"),
        ({"shape": [2**62]}, "integers"),
        ({"shape": [2**40, 2**40]}, "extent"),
        ({"shape": [17]}, "68 bytes of 64"),
        ({"start": 4}, "start 4"),
        ({"start": -64}, "start -64"),
        ({"start": 0.0}, "start"),
        ({"dtype": "complex64"}, "complex64"),
        ({"dtype": 3}, "described by"),
        ({"device": 3}, "device 3"),
        ({"requires_grad": 1}, "requires_grad"),
        ({"dtype": "int32", "requires_grad": True}, "requires_grad"),
        ({"more": 1}, "described by"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(changed, fact):
    damaged(file_with({"tensors": [described(**changed)], "tree": {"tensor": 0}}), fact)


@pytest.mark.parametrize(
    "tree",
    [
        {"tensor": 1},
        {"tensor": -1},
        {"tensor": True},
        {"tensor": "0"},
        {},
        {"a": 1},
        {"tensor": 0, "list": []},
        [1],
        {"list": 3},
        {"dict": [[1]]},
        {"dict": [[{"list": []}, 1]]},
        {"size": ["a"]},
        {"float": "1e5"},
        {"float": 1.5},
        {"dtype": "odd"},
        {"device": "odd"},
    ],
)
def test_other_trees_are_refused(tree):
    damaged(file_with({"tensors": [described()], "tree": tree}))


@pytest.mark.parametrize("header", [b"[1]", b"{}", b'{"tensors": 3, "tree": 1}', b"{", b"\xff\xfe", b"1" * 5000])
def test_other_headers_are_refused(header):
    damaged(file_with(header))


@pytest.mark.parametrize("length", [0, 2**31, 2**63, 2**64 - 1])
def test_lengths_beyond_the_file_are_refused(length):
    damaged(MAGIC + length.to_bytes(8, "little") + b"{}", f"a header of {length if length else 0} bytes")


def test_deep_nesting_is_refused():
    for depth in (300, 900, 100_000):
        tree = b'{"list":[' * depth + b"1" + b"]}" * depth
        damaged(file_with(b'{"tensors":[],"tree":' + tree + b"}"))


def test_many_tensors_over_the_same_bytes_are_refused():
    damaged(file_with({"tensors": [described()] * 2000, "tree": {"tensor": 0}}), "tensor 1:", "start 0")


def test_a_file_that_is_cut_anywhere_is_an_error():
    data = FILES["tensors"]
    for size in range(1, len(data)):
        with pytest.raises(FlambeauError):
            load(data[:size])

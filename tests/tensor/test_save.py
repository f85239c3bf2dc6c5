"""Files hold tensors and plain values, and loading them runs no code."""

import io
from collections import OrderedDict

import pytest

import flambeau as torch
from flambeau.dtypes import ALL
from flambeau.errors import ArgumentError, ArgumentTypeError, DeviceIndexError
from flambeau.testing import machine


def again(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


def test_nested_containers_come_back_as_they_were(tmp_path):
    obj = {
        "state": OrderedDict([("w", torch.arange(6).reshape(2, 3).t()), ("b", torch.tensor(2.5))]),
        3: [1, 2.5, True, None, "text", float("inf")],
        "pair": (0.9, 0.999),
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cuda:1"),
        "empty": torch.empty(0, 3),
    }
    path = tmp_path / "file.pt"
    torch.save(obj, path)
    found = torch.load(path)
    assert found["state"]["w"].tolist() == [[0, 3], [1, 4], [2, 5]] and found["state"]["b"].item() == 2.5
    assert type(found["state"]) is OrderedDict and type(found["pair"]) is tuple and type(found["size"]) is torch.Size
    assert found["empty"].shape == (0, 3)
    for key in (3, "pair", "size", "dtype", "device"):
        assert found[key] == obj[key]


@pytest.mark.parametrize("kind", ALL)
def test_every_type_keeps_its_bits(kind):
    x = torch.arange(5).to(kind)
    found = again(x)
    assert found.dtype is kind and found.numpy().tobytes() == x.numpy().tobytes()


def test_a_tensor_that_is_found_twice_is_one_tensor():
    x = torch.ones(1000, requires_grad=True)
    found = again([x, {"again": x}])
    assert found[0] is found[1]["again"] and found[0].requires_grad


def test_devices_are_kept_or_mapped(gpus):
    x = torch.ones(2, device="cuda:1")
    assert str(again(x).device) == "cuda:1"
    assert str(again(x, map_location="cpu").device) == "cpu"
    assert str(again(x, map_location={"cuda:1": "cuda:0"}).device) == "cuda:0"
    assert str(again(x, map_location=lambda tensor, location: tensor).device) == "cpu"
    assert str(again(x, map_location=lambda tensor, location: None).device) == "cuda:1"


def test_a_device_that_is_missing_suggests_map_location():
    file = io.BytesIO()
    with machine(devices=2):
        torch.save(torch.ones(1, device="cuda:1"), file)
    file.seek(0)
    with machine(devices=1), pytest.raises(DeviceIndexError, match=r"saved on cuda:1") as error:
        torch.load(file)
    assert "map_location" in error.value.hint


def test_what_cannot_be_stored_is_named_and_nothing_is_written():
    file = io.BytesIO()
    with pytest.raises(ArgumentTypeError, match=r"cannot store a object at object\['a'\]\[1\]"):
        torch.save({"a": [1, object()]}, file)
    assert file.getvalue() == b""


def test_other_files_and_cut_files_are_refused():
    with pytest.raises(ArgumentError, match="not a file of flambeau tensors"):
        torch.load(io.BytesIO(b"\x80\x04pickle"))
    file = io.BytesIO()
    torch.save(torch.ones(100), file)
    with pytest.raises(ArgumentError, match="cut short"):
        torch.load(io.BytesIO(file.getvalue()[:-8]))
    with pytest.raises(ArgumentError, match="cut short"):
        torch.load(io.BytesIO(file.getvalue()[:40]))

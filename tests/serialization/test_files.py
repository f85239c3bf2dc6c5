"""save and load: what goes in comes out, where it was or where map_location says, and loading runs no code."""

import errno
import gc
import io
import pathlib
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import flambeau as torch
from flambeau.dtypes import ALL
from flambeau.errors import ArgumentError, ArgumentTypeError, DeviceIndexError, FileFormatError, NotSupportedError
from flambeau.serialization import archive, safe_globals
from flambeau.serialization.files import EmptyFileError, NoFileError
from flambeau.serialization.pickler import PicklingError
from flambeau.serialization.unpickler import UnpicklingError
from flambeau.testing import machine
from tests.serialization.reading import again, saved


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


def test_views_share_memory_again_and_keep_their_layout():
    x = torch.arange(12.0)
    found = again([x[2:], x.view(3, 4).t(), x[1].expand(2, 2)])
    assert [each.stride() for each in found] == [(1,), (1, 4), (0, 0)]
    assert [each.storage_offset() for each in found] == [2, 0, 1]
    found[1][1, 0] = 70
    assert found[2].tolist() == [[70, 70], [70, 70]] and found[0].untyped_storage() == found[1].untyped_storage()


def test_the_whole_storage_of_a_view_is_saved():
    x = torch.zeros(10_000)
    assert len(saved(x[:2])) > 40_000 > len(saved(x[:2].clone()))


def test_parameters_and_buffers_come_back_as_such():
    net = torch.nn.Linear(2, 3)
    net.bias.requires_grad_(False)
    weight, bias, buffer = again([net.weight, net.bias, torch.nn.Buffer(torch.ones(2), persistent=False)])
    assert type(weight) is type(bias) is torch.nn.Parameter and type(buffer) is torch.nn.Buffer
    assert weight.requires_grad and not bias.requires_grad and not buffer.persistent
    assert weight.tolist() == net.weight.tolist()


def test_attributes_of_tensors_come_back():
    x, p = torch.ones(1), torch.nn.Parameter(torch.ones(1))
    x.note, p.note = ["a"], {"b": x}
    x_found, p_found = again([x, p])
    assert x_found.note == ["a"] and p_found.note["b"] is x_found and type(p_found) is torch.nn.Parameter


def test_the_result_of_an_operation_is_a_leaf_after_loading():
    x = torch.ones(2, requires_grad=True) * 3
    found = again(x)
    assert found.requires_grad and found.is_leaf and found.tolist() == [3.0, 3.0]


def test_the_state_of_a_training_comes_back():
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    found = again({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    other = torch.nn.Linear(2, 2)
    other.load_state_dict(found["net"])
    second = torch.optim.Adam(other.parameters(), lr=1.0)
    second.load_state_dict(found["optimizer"])
    for each in (net, other):
        for parameter in each.parameters():
            parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    second.step()
    assert other.weight.tolist() == net.weight.tolist()


def test_a_whole_module_needs_its_classes_in_the_list():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    for weights_only in (None, True, False):
        with pytest.raises(UnpicklingError, match=r"flambeau\.nn\..*Sequential") as caught:
            again(net, weights_only=weights_only)
        assert "add_safe_globals([Sequential])" in caught.value.hint
    with safe_globals([torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]):
        found = again(net, weights_only=False)
    x = torch.ones(1, 2)
    assert str(found) == str(net) and found(x).tolist() == net(x).tolist()


# where it is saved to and loaded from


def test_paths_and_files_of_every_kind(tmp_path):
    x, path = torch.arange(3), tmp_path / "file.pt"
    for target in (path, str(path), str(path).encode()):
        torch.save(x, target)
        assert torch.load(target).tolist() == [0, 1, 2]
    with open(path, "wb", buffering=0) as file:
        torch.save(x, file)
    with open(path, "rb", buffering=0) as file:
        assert torch.load(file).tolist() == [0, 1, 2]
    assert path.read_bytes() == saved(x)


def test_a_file_that_only_writes_is_enough():
    class Sink:
        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(bytes(data))

    sink = Sink()
    torch.save(torch.arange(3), sink)
    assert b"".join(sink.parts) == saved(torch.arange(3))


def test_loading_begins_where_the_file_is():
    file = io.BytesIO(b"before" + saved(torch.arange(3)))
    file.seek(6)
    assert torch.load(file).tolist() == [0, 1, 2]


def test_an_error_while_saving_leaves_an_older_file(tmp_path):
    path = tmp_path / "file.pt"
    torch.save(1, path)
    with pytest.raises(PicklingError):
        torch.save(lambda: 0, path)
    assert torch.load(path) == 1


def test_what_cannot_be_stored_is_named_and_nothing_is_written():
    file = io.BytesIO()
    with pytest.raises(ArgumentTypeError, match=r"save: cannot store a function at object\['a'\]\[1\]"):
        torch.save({"a": [1, lambda: 0]}, file)
    assert file.getvalue() == b""


@pytest.mark.parametrize("protocol", [None, -1, 0, 1, 2, 3, 4, 5])
def test_every_protocol_makes_the_same_file(protocol):
    assert saved([b"x"], pickle_protocol=protocol) == saved([b"x"]) == saved([b"x"], pickle_module=pickle)


def test_the_byte_order_is_recorded_unless_it_should_not_be():
    names = [zipfile.ZipFile(io.BytesIO(saved(1, _disable_byteorder_record=off))).namelist() for off in (False, True)]
    assert "archive/byteorder" in names[0] and "archive/byteorder" not in names[1]


# mmap


def test_mapped_files_give_the_same_and_keep_it(tmp_path):
    path = tmp_path / "file.pt"
    x = torch.arange(1000, dtype=torch.int16)
    torch.save([x, x[3:], torch.ones(3, dtype=torch.float64)], path)
    before = path.read_bytes()
    found = torch.load(path, mmap=True)
    assert found[0].tolist() == x.tolist() and found[1].untyped_storage() == found[0].untyped_storage()
    found[0].fill_(7)
    assert found[1][0].item() == 7 and path.read_bytes() == before and torch.load(path)[0].tolist() == x.tolist()


def test_mapped_storages_are_not_verified_and_all_else_is(tmp_path):
    path = tmp_path / "file.pt"
    data = bytearray(saved(torch.zeros(4)))
    found = archive.Reader(archive.Source(io.BytesIO(bytes(data))))
    data[found.extent_of("data/0").start] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="checksum"):
        torch.load(path)
    assert torch.load(path, mmap=True).tolist()[1:] == [0, 0, 0]
    data[found.extent_of("data.pkl").start + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"data\.pkl.*checksum"):
        torch.load(path, mmap=True)


def repacked(data, order=None):
    """A file as other programs pack it: without alignment; order: another byte order."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            value = order if order and name.endswith("byteorder") else old.read(name)
            new.writestr(name.replace("archive/", "odd name/"), value)
    return file.getvalue()


@pytest.mark.parametrize("mmap", [False, True])
def test_records_may_lie_anywhere(mmap, tmp_path):
    path = tmp_path / "file.pt"
    path.write_bytes(repacked(saved([torch.arange(5.0), torch.arange(3)])))
    found = torch.load(path, mmap=mmap)
    assert [each.tolist() for each in found] == [[0.0, 1.0, 2.0, 3.0, 4.0], [0, 1, 2]]


@pytest.mark.parametrize("mmap", [False, True])
def test_files_of_machines_with_the_other_byte_order_are_read(mmap, tmp_path):
    values = [torch.tensor([1, 256], dtype=torch.int16), torch.tensor([1.0]), torch.tensor([3], dtype=torch.uint8)]
    swapped = [torch.from_numpy(each.numpy().byteswap()) for each in values]
    path = tmp_path / "file.pt"
    path.write_bytes(repacked(saved(swapped), b"big"))
    assert [each.tolist() for each in torch.load(path, mmap=mmap)] == [each.tolist() for each in values]


# devices


def test_devices_are_kept_or_mapped(gpus):
    x = torch.ones(2, device="cuda:1")
    assert str(again(x).device) == "cuda:1"
    for where in ("cpu", b"cpu", torch.device("cpu"), {"cuda:1": "cpu"}, {"cuda:1": torch.device("cpu")}):
        assert str(again(x, map_location=where).device) == "cpu"
    assert str(again(x, map_location={"cuda:1": "cuda:0"}).device) == "cuda:0"
    assert str(again(x, map_location={"cuda:0": "cpu"}).device) == "cuda:1"
    with torch.cuda.device(1):
        assert str(again(x.cpu(), map_location="cuda").device) == "cuda:1"


def test_a_function_chooses_for_each_storage_once(gpus):
    x, calls = torch.arange(3.0, device="cuda:1"), []

    def choose(result):
        def map_location(storage, location):
            calls.append((type(storage), storage.tolist(), location))
            return result(storage)

        return map_location

    for result, device in (
        (lambda storage: storage, "cpu"),
        (lambda storage: None, "cuda:1"),
        (lambda storage: storage.cuda(0), "cuda:0"),
        (lambda storage: torch.ones(4).copy_(torch.tensor([0.0, 1, 2, 0])), "cpu"),
    ):
        found = again([x, x[1:]], map_location=choose(result))
        assert [str(each.device) for each in found] == [device, device] and found[1].tolist() == [1.0, 2.0]
        assert found[0].untyped_storage() == found[1].untyped_storage()
    assert calls == [(torch.UntypedStorage, list(np.arange(3, dtype=np.float32).tobytes()), "cuda:1")] * 4


def test_views_on_gpus_share_memory_again(gpus):
    x = torch.arange(6.0, device="cuda:1")
    found = again([x, x[2:4]])
    found[0][2] = 9
    assert found[1].tolist() == [9.0, 3.0] and found[0].untyped_storage() == found[1].untyped_storage()


def test_empty_tensors_keep_their_device(gpus):
    assert [str(each.device) for each in again([torch.empty(0, device="cuda:1"), torch.empty(0)])] == ["cuda:1", "cpu"]


def test_the_default_device_changes_nothing(gpus):
    with torch.device("cuda"):
        assert str(again(torch.ones(1, device="cpu")).device) == "cpu"


def test_memory_of_gpus_goes_with_the_tensors(gpus):
    gc.disable()
    try:
        before = torch.cuda.memory_allocated()
        found = again([torch.ones(1000, device="cuda"), torch.ones(1000, device="cuda")])
        assert torch.cuda.memory_allocated() > before
        del found
        assert torch.cuda.memory_allocated() == before
    finally:
        gc.enable()


def test_a_device_that_is_missing_suggests_map_location():
    file = io.BytesIO()
    with machine(devices=2):
        torch.save(torch.ones(1, device="cuda:1"), file)
    file.seek(0)
    with machine(devices=1), pytest.raises(DeviceIndexError, match=r"saved on cuda:1") as error:
        torch.load(file)
    assert "map_location" in error.value.hint


@pytest.mark.parametrize(
    ("where", "error", "fact"),
    [
        (3, TypeError, "got 3"),
        ([], TypeError, "got []"),
        ("mps", RuntimeError, "'mps'"),
        ({"cpu": "mps"}, RuntimeError, "'mps'"),
        ({"cpu": 1.5}, RuntimeError, "1.5"),
        (lambda storage, location: "cpu", TypeError, "'cpu'"),
        (lambda storage, location: storage[:1].clone(), ValueError, "1 bytes for a storage of 8"),
    ],
)
def test_other_map_locations_are_errors(where, error, fact):
    with pytest.raises(error, match="load: ") as caught:
        again(torch.ones(2), map_location=where)
    assert fact in str(caught.value) and caught.value.hint


@pytest.mark.parametrize("where", ["meta", torch.device("meta"), {"cpu": "meta"}])
def test_shapes_are_loaded_to_meta(where):
    assert repr(again([torch.ones(2)], map_location=where)) == "[tensor(..., device='meta', size=(2,))]"


def test_one_storage_for_two_types_is_an_error():
    one = torch.zeros(8, dtype=torch.uint8)
    with pytest.raises(UnpicklingError, match="another type"):
        again([torch.ones(2), torch.ones(1, dtype=torch.int64)], map_location=lambda storage, location: one)


# other files and other arguments


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"\x80\x04pickle", "a pickle"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "legacy format"),
        (bytes(257) + b"ustar" + bytes(300), "legacy .tar format"),
        (b"\x93NUMPY\1\0", "numpy.load"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x10\0\0\0\0\0\0\0{}", "safetensors"),
        (b"hello", "b'hello'"),
    ],
)
def test_other_formats_are_named(data, fact):
    with pytest.raises(FileFormatError, match="^load: ") as caught:
        torch.load(io.BytesIO(data))
    assert fact in str(caught.value) and caught.value.hint


def test_an_empty_file_is_an_error_as_in_pytorch():
    with pytest.raises(EOFError, match="load: the file is empty") as caught:
        torch.load(io.BytesIO())
    assert isinstance(caught.value, EmptyFileError) and isinstance(caught.value, FileFormatError)


@pytest.mark.parametrize(
    ("records", "fact"),
    [
        ({"x": b""}, "data.pkl"),
        ({"data.pkl": b"", "constants.pkl": b""}, "TorchScript"),
        ({"data.pkl": b"\x80\x02N."}, "'version'"),
        ({"data.pkl": b"\x80\x02N.", "version": b"11\n"}, "11"),
        ({"data.pkl": b"\x80\x02N.", "version": b"three"}, "three"),
        ({"data.pkl": b"\x80\x02N.", "version": b"3\n", "byteorder": b"middle"}, "middle"),
    ],
)
def test_other_archives_are_refused(records, fact):
    file = io.BytesIO()
    writer = archive.Writer(file)
    for name, data in records.items():
        writer.add(name, data)
    writer.close()
    with pytest.raises(FileFormatError, match="^load: ") as caught:
        torch.load(io.BytesIO(file.getvalue()))
    assert fact in str(caught.value) and caught.value.hint


class OnlyRead:
    def read(self, size=-1):
        return b""


@pytest.mark.parametrize(
    ("call", "error", "fact"),
    [
        (lambda: torch.save(1, 3), NoFileError, "save: f must be a path or a binary file, got 3"),
        (lambda: torch.load(None), NoFileError, "load: f must be a path or a binary file, got None"),
        (lambda: torch.load(OnlyRead()), NoFileError, "load: the file is not seekable"),
        (lambda: torch.save(1, io.StringIO()), ArgumentTypeError, "save: f is a text file"),
        (lambda: torch.load(io.StringIO("text")), ArgumentTypeError, "load: f is a text file"),
        (
            lambda: torch.load(io.BytesIO(saved(1)), mmap=True),
            ArgumentError,
            "load: f must be a path in order to use mmap",
        ),
        (lambda: torch.load(io.BytesIO(), mmap=1), ArgumentTypeError, "load: mmap must be a bool or None, got 1"),
        (lambda: torch.load(io.BytesIO(), weights_only="no"), ArgumentTypeError, "load: weights_only must be a bool"),
        (lambda: torch.load(io.BytesIO(), None, pathlib), NotSupportedError, "load: pickle_module can only be"),
        (lambda: torch.save(1, io.BytesIO(), pathlib), NotSupportedError, "save: pickle_module can only be"),
        (
            lambda: torch.load(io.BytesIO(), None, pickle, weights_only=True),
            RuntimeError,
            "load: weights_only=True and",
        ),
        (lambda: torch.load(io.BytesIO(), fix=1), ArgumentTypeError, "load: got an unexpected keyword argument 'fix'"),
        (lambda: torch.load(io.BytesIO(), encoding="morse"), ArgumentError, "load: encoding='morse'"),
        (lambda: torch.load(io.BytesIO(), errors="odd"), ArgumentError, "load: encoding='utf-8', errors='odd'"),
        (lambda: saved(1, pickle_protocol=6), ArgumentError, "save: pickle_protocol must be an integer up to 5, got 6"),
        (lambda: saved(1, pickle_protocol="2"), ArgumentError, "save: pickle_protocol must be an integer up to 5"),
        (lambda: saved(1, _use_new_zipfile_serialization=False), NotSupportedError, "save: PyTorch's legacy format"),
    ],
)
def test_wrong_arguments(call, error, fact):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(fact) and caught.value.hint


def test_a_file_that_is_missing_is_python_s_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")


def test_a_file_that_cannot_be_written_is_a_runtime_error_and_an_os_error(tmp_path):
    for path, reason in ((tmp_path / "none" / "a.pt", errno.ENOENT), (str(tmp_path), errno.EISDIR)):
        with pytest.raises(RuntimeError, match="save: .* cannot be written: ") as caught:
            torch.save(1, path)
        assert isinstance(caught.value, OSError) and caught.value.errno == reason
        assert str(path) in str(caught.value) and list(tmp_path.iterdir()) == []


def test_typed_storages_come_back_with_their_type_and_share_memory():
    x = torch.arange(4.0)
    storage, tensor, number = again([x.storage(), x[1:], torch.LongStorage([5])])
    assert type(storage) is torch.TypedStorage and storage.dtype is torch.float32 and storage.tolist() == [0, 1, 2, 3]
    assert number.dtype is torch.int64 and number.tolist() == [5]
    tensor.fill_(7)
    assert storage.tolist() == [0, 7, 7, 7]
    with pytest.raises(RuntimeError, match="save: .*as different types: torch.float32 and bytes"):
        saved([x.storage(), x.untyped_storage()])
    with pytest.raises(PicklingError, match="a TypedStorage at object: <torch.TypedStorage: 1 .* storages of uint16"):
        saved(torch.ones(1, dtype=torch.uint16).storage())


def test_names_of_types_and_layouts_that_no_tensor_has_come_back():
    names = [torch.float8_e4m3fn, torch.complex64, torch.strided, torch.sparse_coo, torch.jagged]
    assert all(found is name for found, name in zip(again(names), names))


def test_files_of_storages_and_layouts_are_those_of_pytorch():
    pytorch = pytest.importorskip("torch")
    pytorch.storage._warn_typed_storage_removal.__dict__["has_warned"] = True
    for write, read in ((pytorch, torch), (torch, pytorch)):
        file = io.BytesIO()
        write.save([write.ones(2).storage(), write.sparse_coo, write.float8_e5m2], file)
        file.seek(0)
        storage, layout, kind = read.load(file)
        assert (storage.tolist(), storage.dtype) == ([1, 1], read.float32)
        assert layout is read.sparse_coo and kind is read.float8_e5m2
    file = io.BytesIO()
    pytorch.save(pytorch.ones(2).to(pytorch.float8_e5m2), file)
    file.seek(0)
    with pytest.raises(UnpicklingError, match="a tensor of float8_e5m2, which no tensor of flambeau can have"):
        torch.load(file)


def test_the_list_of_unsafe_globals_names_itself_in_errors():
    with pytest.raises(FileFormatError, match="^get_unsafe_globals_in_checkpoint: the ZIP archive is damaged"):
        torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"abc"))

"""UntypedStorage: properties, sharing, reads and writes."""

import copy
import pickle

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, IndexRangeError, NotSupportedError, ShapeError, ValueRangeError
from flambeau.testing import machine


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_a_storage_is_the_bytes_of_every_view(device, gpus):
    x = torch.tensor([1, 2, 258], dtype=torch.int16, device=device)
    found = x.untyped_storage()
    assert isinstance(found, torch.UntypedStorage)
    assert (len(found), found.size(), found.nbytes(), found.element_size()) == (6, 6, 6, 1)
    assert found == x[1:].untyped_storage() == x.view(torch.uint8).untyped_storage() != x.clone().untyped_storage()
    assert hash(found) == hash(x.t().untyped_storage()) and found.data_ptr() == x.data_ptr() != x[1:].data_ptr()
    assert found.device == x.device and (found.is_cuda, found.get_device()) == (x.is_cuda, x.get_device())
    assert found.tolist() == [1, 0, 2, 0, 2, 1] and found[4] == 2 and found[4:].tolist() == [2, 1]
    assert repr(found) == f"<torch.UntypedStorage: 6 bytes on {device}>" and found.resizable()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_writes_are_seen_by_the_tensor(device, gpus):
    x = torch.zeros(2, dtype=torch.int16, device=device)
    found = x.untyped_storage()
    found[1] = 1
    assert x.tolist() == [256, 0]
    other = found.clone()
    assert found.fill_(1) is found and x.tolist() == [257, 257]
    assert found.copy_(other) is found and x.tolist() == [256, 0] and other != found
    assert found.cpu().tolist() == [0, 1, 0, 0] and found.cuda().is_cuda
    assert (found.cpu() == found) is (device == "cpu")


def test_a_storage_of_its_own(gpus):
    made = torch.UntypedStorage(5, device="cuda:1")
    assert made.nbytes() == 5 and made.device == torch.device("cuda:1") and len(torch.UntypedStorage()) == 0
    assert torch.zeros(3).pin_memory().untyped_storage().is_pinned() and not made.is_pinned("cuda")


def test_sharing_copies_and_pickles():
    x = torch.tensor([1.0, 2.0])
    assert x.untyped_storage().share_memory_().is_shared() and x.is_shared()
    both = [x, x.untyped_storage()]
    for duplicate in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        tensor, stored = duplicate(both)
        assert tensor.untyped_storage() == stored != x.untyped_storage() and tensor.tolist() == [1.0, 2.0]


def test_wrong_calls():
    found = torch.zeros(2, dtype=torch.uint8).untyped_storage()
    with pytest.raises(IndexRangeError, match="index 7 is out of bounds"):
        found[7]
    with pytest.raises(ValueRangeError, match="copy_: a storage of 3 elements does not fit one of 2"):
        found.copy_(torch.UntypedStorage(3))
    with pytest.raises(ArgumentTypeError, match="copy_: expected a UntypedStorage"):
        found.copy_([1, 2])
    with pytest.raises(ArgumentTypeError, match="UntypedStorage: size must be an int"):
        torch.UntypedStorage("2")


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_a_typed_storage_has_elements(device, gpus):
    x = torch.arange(4.0, device=device)
    found = x[1:].storage()
    assert (len(found), found.nbytes(), found.element_size(), found.dtype) == (4, 16, 4, torch.float32)
    assert isinstance(found, torch.FloatStorage) and isinstance(found, torch.TypedStorage)
    assert not isinstance(found, torch.LongStorage) and x.storage_type() is torch.FloatStorage
    assert torch.is_storage(found) and found == x.storage() and found.untyped() == x.untyped_storage()
    assert found[2] == 2.0 and found[1:3].tolist() == [1.0, 2.0] and list(found) == [0.0, 1.0, 2.0, 3.0]
    found[0] = 9
    found.copy_(torch.FloatStorage([5, 6, 7, 8]))
    assert x.tolist() == [5, 6, 7, 8] and found.fill_(1).tolist() == [1] * 4
    assert found.clone() != found and found.long().dtype is torch.int64 and found.half().tolist() == [1] * 4
    assert (found.type(), found.pickle_storage_type()) == (
        "torch.cuda.FloatStorage" if x.is_cuda else "torch.FloatStorage",
        "FloatStorage",
    )
    assert found.cpu().device.type == "cpu" and found.device == x.device


def test_typed_storages_are_made():
    assert torch.LongStorage(3).size() == 3 and torch.BoolStorage([1, 0]).tolist() == [True, False]
    assert torch.TypedStorage(2).dtype is torch.float32
    assert torch.TypedStorage([1], dtype=torch.int8).dtype is torch.int8
    memory = torch.tensor([1, 2]).untyped_storage()
    assert torch.TypedStorage(wrap_storage=memory, dtype=torch.int64).tolist() == [1, 2]
    assert torch.IntStorage(wrap_storage=memory).tolist() == [1, 0, 2, 0]
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2]
    with pytest.raises(ArgumentTypeError, match="copy_: .*TypedStorage"):
        torch.LongStorage(2).copy_(memory)


def test_what_is_no_size_type_or_number():
    for make, called, value in (
        (lambda: torch.TypedStorage(2.5), "TypedStorage", "2.5"),
        (lambda: torch.TypedStorage(2, dtype=3), "TypedStorage", "3"),
        (lambda: torch.IntStorage([1, "a"]), "IntStorage", "'a'"),
        (lambda: torch.UntypedStorage(["a"]), "UntypedStorage", "'a'"),
        (lambda: torch.FloatStorage(1).type("LongTensor"), "type", "'LongTensor'"),
        (lambda: torch.FloatStorage(1).type(3), "type", "3"),
    ):
        with pytest.raises(ArgumentTypeError, match=f"{called}: .*{value}"):
            make()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_size_changes(device, gpus):
    x = torch.arange(4, device=device)
    view, found = x[2:], x.storage()
    assert found.resize_(6) is found and found.size() == 6 and found.tolist()[:4] == [0, 1, 2, 3]
    view[0] = 7
    assert x.tolist() == [0, 1, 7, 3], "tensors follow their storage"
    x.untyped_storage().resize_(0)
    assert found.size() == 0
    x.untyped_storage().resize_(32)
    assert x.fill_(1).tolist() == [1] * 4 and view.tolist() == [1, 1]
    before = torch.cuda.memory_allocated()
    x.untyped_storage().resize_(0)
    assert torch.cuda.memory_allocated() == before - (512 if device == "cuda" else 0)


@pytest.mark.parametrize("size", [0, 4])
def test_a_tensor_that_exceeds_its_storage_is_not_read_or_written(size, gpus):
    x = torch.arange(6.0)
    x.untyped_storage().resize_(size)
    uses = {
        "add": lambda: x + 1, "sum": lambda: x[2:].sum(), "fill_": lambda: x.fill_(1), "cat": lambda: torch.cat([x, x]),
        "copy_": lambda: x.copy_(torch.ones(6)), "": x.tolist, " ": x.numpy, "to": lambda: x.to("cuda"),
    }  # fmt: skip
    uses["copy_ "] = lambda: torch.ones(6, device="cuda").copy_(x)
    uses["copy_  "] = lambda: x.copy_(torch.ones(6, device="cuda"))
    for name, use in uses.items():
        with pytest.raises(
            RuntimeError, match=rf"{name.strip()}.*float32\[.\] on cpu needs 24 bytes .* has {size}\n"
        ) as caught:
            use()
        assert "resize_(24)" in caught.value.hint
    x.untyped_storage().resize_(24)
    assert x.fill_(2).tolist() == [2] * 6


@pytest.mark.parametrize("size", [0, 4])
def test_a_tensor_of_a_virtual_gpu_that_exceeds_its_storage_is_an_error(size):
    with machine(devices=1):
        x = torch.arange(6.0, device="cuda")
        x.untyped_storage().resize_(size)
        uses = {
            "add": lambda: x + 1, "sum": lambda: x[2:].sum(), "fill_": lambda: x.fill_(1), "sort": x.sort, "": x.tolist,
            "cat": lambda: torch.cat([x, x]), "copy_": lambda: x.copy_(torch.ones(6)), " ": lambda: x[5].item(),
            "matmul": lambda: x @ x, "to": x.cpu, "_foreach_add": lambda: torch._foreach_add([x], 1),
            "  ": lambda: repr(x),
        }  # fmt: skip
        for name, use in uses.items():
            fact = rf"{name.strip()}.*float32\[.?\] on cuda:0 needs 24 bytes .* has {size}\n"
            with pytest.raises(ShapeError, match=fact):
                use()
        assert (x[:0] + 1).shape == (0,) and torch.cat([x[:0], torch.ones(1, device="cuda")]).tolist() == [1]
        assert (x.data_ptr() == 0) is (x.untyped_storage().data_ptr() == 0) is (size == 0)
        torch.cuda.synchronize()
        x.untyped_storage().resize_(24)
        assert x.fill_(2).tolist() == [2] * 6


def test_pinned_memory_stays_pinned(gpus):
    x = torch.ones(2, pin_memory=True)
    assert x.storage().resize_(5).is_pinned() and x.storage()[1] == 1.0
    assert x.clone().untyped_storage().pin_memory().is_pinned()


def test_shared_memory_keeps_its_size():
    x = torch.ones(2).share_memory_()
    assert x.untyped_storage().filename is None and not x.untyped_storage().resizable()
    with pytest.raises(NotSupportedError, match="resize_: .*8 bytes on cpu"):
        x.untyped_storage().resize_(16)


def test_bytes_are_swapped():
    x = torch.tensor([1, 256], dtype=torch.int16)
    x.untyped_storage().byteswap(torch.int16)
    assert x.tolist() == [256, 1]

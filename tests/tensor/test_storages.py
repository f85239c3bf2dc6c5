"""UntypedStorage: properties, sharing, reads and writes."""

import copy
import pickle

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, IndexRangeError, ValueRangeError


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
    assert repr(found) == f"<torch.UntypedStorage: 6 bytes on {device}>" and not found.resizable()


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
    with pytest.raises(ValueRangeError, match="copy_: a storage of 3 bytes does not fit one of 2"):
        found.copy_(torch.UntypedStorage(3))
    with pytest.raises(ArgumentTypeError, match="copy_: expected an UntypedStorage"):
        found.copy_([1, 2])
    with pytest.raises(ArgumentTypeError, match="UntypedStorage: size must be an int"):
        torch.UntypedStorage("2")

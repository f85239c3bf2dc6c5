"""Legacy classes and methods: FloatTensor, cuda.FloatTensor, new, Variable."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, ArgumentTypeError, ValueRangeError
from flambeau.tensor import legacy


@pytest.mark.parametrize("name", [each for each in legacy.TYPES if "." not in each])
def test_types_have_twins(name, gpus):
    here, there = legacy.TYPES[name], legacy.TYPES[f"cuda.{name}"]
    assert str(here) == f"torch.{name}" and str(there) == f"torch.cuda.{name}"
    assert here.dtype is there.dtype
    x, y = here(2, 3), there(2, 3)
    assert x.shape == y.shape == (2, 3)
    assert isinstance(x, here) and isinstance(y, there)
    assert not isinstance(x, there) and not isinstance(y, here)
    assert (x.type(), y.type()) == (f"torch.{name}", f"torch.cuda.{name}")


def test_sizes_and_data_are_told_apart():
    assert torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.FloatTensor([2, 3]).tolist() == [2, 3]
    assert torch.FloatTensor((2, 3)).tolist() == [2, 3]
    assert torch.FloatTensor(torch.Size([2, 3])).shape == (2, 3)
    assert torch.FloatTensor().shape == (0,)
    assert torch.LongTensor([1.7]).tolist() == [1]


@pytest.mark.parametrize("make", [torch.Tensor, torch.LongTensor, torch.ones(1).new])
def test_an_integer_of_another_library_is_a_size(make):
    class Three:
        def __index__(self):
            return 3

    for size in (np.int64(3), np.uint8(3), np.array(3), Three()):
        assert make(size).shape == (3,)
        assert make(2, size).shape == (2, 3)
    assert make(np.array([3])).tolist() == [3]
    with pytest.raises(ValueRangeError, match="negative dimension: "):
        make(np.int64(-1))
    for value in (3.0, np.float64(3), np.bool_(True)):
        with pytest.raises(ArgumentTypeError, match="data must be a sequence, got "):
            make(value)


@pytest.mark.parametrize("make", [torch.Tensor, torch.FloatTensor, torch.ones(1).new])
def test_an_array_of_the_same_type_is_shared(make):
    array = np.zeros((2, 3), np.float32)
    x = make(array.T)
    array[0, 1] = 5
    assert x.tolist() == [[0, 0], [5, 0], [0, 0]] and x.stride() == (1, 3)
    x[2, 1] = 7
    assert array[1, 2] == 7
    doubles = np.array([1.5, 2.5])
    other = make(doubles)
    doubles[0] = 9
    assert other.tolist() == [1.5, 2.5] and other.dtype is torch.float32
    with pytest.raises(ArgumentError, match="FloatTensor: strides of|new: strides of"):
        make(array[0, ::-1])
    doubles.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        assert make(doubles).tolist() == [9, 2.5]


def test_tensor_itself_is_a_float_tensor():
    assert torch.Tensor(8, 42).shape == (8, 42)
    assert torch.Tensor([1, 2]).dtype is torch.float32
    assert torch.Tensor().shape == (0,)
    assert type(torch.Tensor(1)) is torch.Tensor


def test_a_tensor_of_another_type_is_refused():
    x = torch.ones(2)
    assert torch.FloatTensor(x)._storage is x._storage
    with pytest.raises(ArgumentTypeError, match=r"expected a tensor of float32 on cpu, got int64\[1\] on cpu"):
        torch.FloatTensor(torch.tensor([1]))


def test_cuda_types_follow_the_current_device(gpus):
    kind = legacy.TYPES["cuda.FloatTensor"]
    with torch.cuda.device(1):
        assert str(kind(1).device) == "cuda:1"
        assert str(torch.ones(1).type(kind).device) == "cuda:1"
    assert str(torch.ones(1, device="cuda:1").type("torch.cuda.DoubleTensor").device) == "cuda:1"
    with pytest.raises(ArgumentError, match="expects device type: cuda, got cpu"):
        kind(1, device="cpu")


def test_type_takes_dtypes_classes_and_names():
    x = torch.ones(2)
    assert x.type(torch.FloatTensor) is x
    assert x.type("torch.DoubleTensor").dtype is torch.float64
    assert x.type(torch.int32).dtype is torch.int32
    with pytest.raises(ArgumentError, match="invalid type: 'foo'"):
        x.type("foo")


def test_variable_is_a_tensor_with_the_same_memory():
    x = torch.ones(2)
    wrapped = legacy.Variable(x, requires_grad=True)
    assert wrapped._storage is x._storage and wrapped.requires_grad and not x.requires_grad
    assert isinstance(x, legacy.Variable) and not isinstance(1, legacy.Variable)
    assert not legacy.Variable(x, volatile=True).requires_grad

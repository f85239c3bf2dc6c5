"""Tensors from nested lists, also of tensors or without end; subclasses; operators by name."""

import copy
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, InternalError, OutOfMemoryError
from flambeau.testing import machine

ONE, NUMBER = torch.tensor([2.0]), torch.tensor(3.0)


@pytest.mark.parametrize(
    ("data", "values", "kind"),
    [
        ([NUMBER, ONE], [3, 2], "float32"),
        ([ONE, ONE], [2, 2], "float32"),
        ([[NUMBER], [torch.tensor([[2]])]], [[3], [2]], "float32"),
        ([torch.tensor(1), 2.5], [1, 2.5], "float32"),
        ([2.5, torch.tensor(1)], [2.5, 1], "float32"),
        ([torch.tensor(True), torch.tensor(False)], [True, False], "bool"),
        ([torch.tensor(1.5, dtype=torch.float64), 2], [1.5, 2], "float64"),
        ([torch.tensor(1, dtype=torch.int8), torch.tensor(2, dtype=torch.uint8)], [1, 2], "int16"),
        ([np.float64(1.5), torch.tensor(2)], [1.5, 2], "float64"),
    ],
)
def test_tensors_of_one_element_are_numbers(data, values, kind):
    made = torch.tensor(data)
    assert made.tolist() == values and made.dtype is getattr(torch, kind)
    assert torch.as_tensor(data).tolist() == values


def test_tensors_of_several_elements_are_refused():
    for data in ([NUMBER, torch.ones(2)], [torch.ones(0), torch.ones(0)], [[1, torch.ones(2)]]):
        with pytest.raises(ValueError, match=r"tensor: only one element tensors .*data\[[01]\]"):
            torch.tensor(data)


def nested(depth):
    found = [1]
    for _ in range(depth):
        found = [found]
    return found


def test_lists_without_an_end_are_refused():
    endless = []
    endless.append(endless)
    for data in (endless, nested(5000), [nested(200)]):
        with pytest.raises(ArgumentError, match="tensor: too many dimensions"):
            torch.tensor(data)
    assert torch.tensor(nested(40)).ndim == 41


def endless():
    found = []
    found.append(found)
    return found


@pytest.mark.parametrize("make", [endless, lambda: nested(100_000)], ids=["endless", "deep"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, data: x.sum(data),
        lambda x, data: x.std(data),
        lambda x, data: x.norm(dim=data),
        lambda x, data: x.view(data),
        lambda x, data: x.permute(data),
        lambda x, data: x.roll(data, data),
        lambda x, data: x.unflatten(0, data),
        lambda x, data: torch.cat(data),
        lambda x, data: torch.stack(data),
        lambda x, data: torch.hstack(data),
        lambda x, data: torch.add(x, data),
        lambda x, data: torch.isin(x, data),
        lambda x, data: torch.where(x > 0, data, data),
        lambda x, data: torch.tensordot(x, x, data),
        lambda x, data: torch.nn.functional.pad(x, data),
        lambda x, data: torch.device(data),
    ],
)
def test_no_operator_takes_lists_without_an_end(call, make):
    with pytest.raises(TypeError, match=r"\nhint: "):
        call(torch.ones(2), make())


class Marked(torch.Tensor):
    pass


def test_a_subclass_is_made_as_a_tensor_is():
    assert type(Marked([1.0])) is Marked and Marked([1.0, 2.0]).tolist() == [1, 2]
    assert Marked(2, 3).shape == (2, 3) and Marked().shape == (0,)
    source = torch.ones(2)
    Marked(source).zero_()
    assert source.tolist() == [0, 0]


@pytest.mark.parametrize("function", [torch.relu, torch.add, torch.clip, torch.true_divide, torch.where, torch.sum])
def test_operators_are_pickled_by_name(function):
    operator = function.__wrapped__
    again = pickle.loads(pickle.dumps(operator))
    assert again.name == operator.name and again.called == operator.called
    assert copy.deepcopy(function) is function and pickle.loads(pickle.dumps(function)) is function


def test_trace():
    x = torch.arange(6.0).view(2, 3)
    assert torch.trace(x).item() == 4 and x.trace().item() == 4
    assert x.int().trace().dtype is torch.int64
    with pytest.raises(RuntimeError, match=r"trace: expected a matrix, got shape \[2\]"):
        torch.trace(torch.ones(2))
    leaf = torch.ones(2, 2, requires_grad=True)
    torch.trace(leaf).backward()
    assert leaf.grad.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros(2**46),
        lambda: torch.linspace(0, 1, 2**50),
        lambda: torch.ones(1).repeat(2**23, 2**23),
    ],
)
def test_memory_that_the_host_does_not_have(call):  # more than its 47 bits of addresses
    with pytest.raises(OutOfMemoryError, match="CPU out of memory.*[0-9]+ bytes"):
        call()


@pytest.mark.parametrize(
    "call",
    [lambda x: x.expand(2**62, 4), lambda x: x.repeat(2**31, 2**31), lambda x: torch.zeros(2**31, 2**31, 2**31)],
)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_sizes_that_64_bits_do_not_count(call, device):
    with machine(devices=1), pytest.raises(RuntimeError, match=r"2147483648|4611686018427387904") as caught:
        call(torch.ones(1, device=device))
    assert not isinstance(caught.value, InternalError)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_float64_becomes_a_half_type_through_float32(device):
    with machine(devices=1):
        x = torch.tensor([2049.0000001, 4097.0], dtype=torch.float64, device=device)
        assert x.to(torch.float16).tolist() == [2048, 4096]
        assert torch.tensor([2049.0000001], dtype=torch.float16).tolist() == [2048]
        assert torch.zeros(2, dtype=torch.float16, device=device).copy_(x).tolist() == [2048, 4096]
        assert torch.zeros(2, dtype=torch.float16, device=device).add_(x).tolist() == [2048, 4096]

"""Parameters and buffers as tensors."""

import copy
import inspect
import pickle

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentTypeError, DtypeError


def test_a_parameter_shares_memory_and_results_are_plain():
    data = torch.ones(2)
    param = nn.Parameter(data)
    data.fill_(3)
    assert param.tolist() == [3.0, 3.0]
    assert (param.requires_grad, param.is_leaf, isinstance(param, torch.Tensor)) == (True, True, True)
    assert [type(each) for each in (param * 2, param.detach(), param.clone())] == [torch.Tensor] * 3
    assert repr(param) == "Parameter containing:\ntensor([3., 3.], requires_grad=True)"


def test_a_parameter_of_a_result_is_a_leaf():
    param = nn.Parameter(torch.ones(2, requires_grad=True) * 2)
    assert (param.is_leaf, param.grad_fn) == (True, None)
    (param * 3).sum().backward()
    assert param.grad.tolist() == [3.0, 3.0]


def test_what_cannot_be_a_parameter():
    with pytest.raises(ArgumentTypeError, match="must be a Tensor or None, not int"):
        nn.Parameter(3)
    with pytest.raises(DtypeError, match="only Tensors of floating point"):
        nn.Parameter(torch.zeros(1, dtype=torch.int64))
    assert not nn.Parameter(torch.zeros(1, dtype=torch.int64), requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_keep_their_kind(again):
    frozen = again(nn.Parameter(torch.ones(1), requires_grad=False))
    assert (type(frozen), frozen.requires_grad, frozen.tolist()) == (nn.Parameter, False, [1.0])
    buffer = again(nn.Buffer(torch.ones(1), persistent=False))
    assert (type(buffer), buffer.persistent, buffer.requires_grad) == (nn.Buffer, False, False)


def test_a_deep_copy_keeps_what_is_shared():
    param = nn.Parameter(torch.ones(1))
    a, b = copy.deepcopy([param, param])
    assert a is b
    assert a is not param


def test_the_signature_is_that_of_making_one():
    assert list(inspect.signature(nn.Parameter).parameters) == ["data", "requires_grad"]
    assert list(inspect.signature(nn.Buffer).parameters) == ["data", "persistent"]

    class Named(torch.Tensor):
        def __init__(self, data, name=None):
            self.name = name

    assert list(inspect.signature(Named).parameters) == ["data", "name"]


class Scaled(torch.Tensor):
    """A user's subclass."""


def test_parameters_and_buffers_of_a_users_subclass_keep_its_class():
    data = torch.ones(2, 3).as_subclass(Scaled)
    weight, buffer = torch.nn.Parameter(data), torch.nn.Buffer(data)
    assert type(weight) is type(buffer) is Scaled and weight.data_ptr() == data.data_ptr()
    assert isinstance(weight, torch.nn.Parameter) and not isinstance(weight, torch.nn.Buffer)
    assert isinstance(buffer, torch.nn.Buffer) and not isinstance(buffer, torch.nn.Parameter)
    assert weight.requires_grad and not buffer.requires_grad and not isinstance(data, torch.nn.Parameter)
    assert not isinstance(weight * 1, torch.nn.Parameter) and not isinstance(5, torch.nn.Parameter)
    net = torch.nn.Linear(3, 2)
    net.weight, net.mean = weight, buffer
    assert dict(net.named_parameters())["weight"] is weight and dict(net.named_buffers())["mean"] is buffer
    result = net(torch.ones(1, 3))
    result.sum().backward()
    assert type(result) is Scaled and weight.grad.tolist() == [[1.0] * 3] * 2
    twin = copy.deepcopy(net.double())
    assert type(twin.weight) is Scaled and isinstance(twin.weight, torch.nn.Parameter)
    assert type(pickle.loads(pickle.dumps(weight))) is Scaled
    assert isinstance(pickle.loads(pickle.dumps(weight)), torch.nn.Parameter)
    own = type("Own", (torch.nn.Parameter,), {})
    assert type(own(data)) is own and not isinstance(weight, own)


def test_a_saved_parameter_of_a_users_subclass_keeps_its_class(tmp_path):
    torch.save(torch.nn.Parameter(torch.ones(2).as_subclass(Scaled)), tmp_path / "file")
    with torch.serialization.safe_globals([Scaled]):
        loaded = torch.load(tmp_path / "file")
    assert type(loaded) is Scaled and isinstance(loaded, torch.nn.Parameter) and loaded.requires_grad

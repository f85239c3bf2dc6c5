"""Modules that hold others."""

from collections import OrderedDict

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError, IndexRangeError, NotSupportedError


class Add(nn.Module):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, x):
        return 2 * x + self.amount


def amounts(modules):
    return [each.amount for each in modules]


def test_sequential_calls_in_order():
    assert nn.Sequential(Add(1), Add(10))(1.0) == 16.0
    named = nn.Sequential({"a": Add(1), "b": Add(2)})
    assert [name for name, _ in named.named_children()] == ["a", "b"]
    assert [name for name, _ in named[1:].named_children()] == ["b"]
    assert nn.Sequential()(3) == 3


def test_sequentials_are_joined_and_repeated():
    first, second = nn.Sequential({"a": Add(1), "b": Add(2)}), nn.Sequential(Add(3))
    joined = first + second
    assert type(joined) is nn.Sequential
    assert [name for name, _ in joined.named_children()] == ["0", "1", "2"]
    assert amounts(joined) == [1, 2, 3]
    assert joined[0] is first.a
    assert amounts(first * 2) == amounts(2 * first) == [1, 2, 1, 2]
    assert amounts(first) == [1, 2]
    before = second
    second += first
    assert second is before
    assert amounts(second) == [3, 1, 2]
    second *= 2
    assert second is before
    assert amounts(second) == [3, 1, 2, 3, 1, 2]
    for wrong in (lambda: first + [nn.ReLU()], lambda: first.__iadd__(nn.ReLU())):
        with pytest.raises(ValueError, match="Sequential"):
            wrong()
    with pytest.raises(TypeError, match="Sequential"):
        first * 1.5
    with pytest.raises(ArgumentError, match="Sequential: expected a factor of at least 1, got 0"):
        first * 0
    assert amounts(first) == [1, 2]


@pytest.mark.parametrize("make", [lambda *modules: nn.Sequential(*modules), lambda *modules: nn.ModuleList(modules)])
def test_ordered_containers_act_as_lists(make):
    net = make(Add(0), Add(1), Add(2))
    assert (len(net), amounts(net), net[-1].amount, amounts(net[::2])) == (3, [0, 1, 2], 2, [0, 2])
    assert isinstance(net[:1], type(net))
    net.append(Add(3)).insert(0, Add(-1)).extend([Add(4), Add(5)])
    assert amounts(net) == [-1, 0, 1, 2, 3, 4, 5]
    del net[1:3]
    del net[-1]
    net[0] = Add(9)
    assert net.pop(1).amount == 2
    assert amounts(net) == [9, 3, 4]
    assert [name for name, _ in net.named_children()] == ["0", "1", "2"]
    with pytest.raises(IndexRangeError, match="index 3 is out of range for 3 entries"):
        net[3]
    with pytest.raises(ArgumentTypeError, match="int is not a Module subclass"):
        net.append(3)


def test_a_module_list_adds_and_has_no_forward():
    net = nn.ModuleList([Add(1)])
    net += [Add(2)]
    assert amounts(net + [Add(3)]) == [1, 2, 3]
    with pytest.raises(NotSupportedError, match="ModuleList: this container has no forward"):
        net(1)


def test_a_module_list_folds_modules_that_print_alike():
    net = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.ReLU())])
    assert repr(net) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential(\n    (0): ReLU()\n  )\n)"


def test_a_module_dict_acts_as_a_dict():
    net = nn.ModuleDict({"a": Add(1)})
    net["b"] = Add(2)
    net.update([("a", Add(3))])
    assert ([*net], "b" in net, len(net), amounts(net.values())) == (["a", "b"], True, 2, [3, 2])
    assert net.pop("a").amount == 3
    assert [name for name, _ in net.items()] == ["b"]
    with pytest.raises(NotSupportedError, match="ModuleDict: this container has no forward"):
        net(1)


def test_a_parameter_list_registers_tensors():
    net = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1))])
    net += [torch.ones(3)]
    assert [name for name, _ in net.named_parameters()] == ["0", "1", "2"]
    assert [each.shape[0] for each in net] == [2, 1, 3]
    net[0] = torch.ones(4)
    assert (net[-3].shape[0], len(net), len(net[1:])) == (4, 3, 2)
    assert repr(net[:2]) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 4]\n"
        "    (1): Parameter containing: [torch.float32 of size 1]\n)"
    )
    with pytest.raises(ArgumentTypeError, match="entries must be tensors, got int"):
        net.append(1)
    with pytest.raises(IndexRangeError):
        net[3]


@pytest.mark.devices(1)
def test_parameters_on_a_gpu_print_their_device(gpus):
    params = nn.ParameterDict({"a": torch.ones(2, device="cuda")})
    assert repr(params) == (
        "ParameterDict(  (a): Parameter containing: [torch.cuda.FloatTensor of size 2 (cuda:0)])"
    )


def test_parameters_of_a_plain_dict_are_sorted():
    given = {"b": torch.ones(1), "a": torch.ones(2)}
    params = nn.ParameterDict(given)
    assert list(params) == [name for name, _ in params.named_parameters()] == ["a", "b"]
    params.update({"d": torch.ones(1), "c": torch.ones(1)})
    assert list(params) == list(params.copy()) == ["a", "b", "c", "d"]
    for kept in (OrderedDict(given), list(given.items()), nn.ParameterDict(list(given.items()))):
        assert list(nn.ParameterDict(kept)) == ["b", "a"]
    assert list(params.fromkeys(["z", "y"], torch.ones(1))) == ["z", "y"]


def test_a_dict_of_parameters():
    params = nn.ParameterDict({"a": torch.ones(2), "b": nn.Parameter(torch.zeros(1))})
    params["c"] = torch.ones(3)
    assert list(params) == list(params.state_dict()) == ["a", "b", "c"] and len(params) == 3 and "a" in params
    assert all(isinstance(each, nn.Parameter) for each in params.values())
    assert params.pop("b").shape == (1,) and [name for name, _ in params.items()] == ["a", "c"]
    assert params.popitem()[0] == "c" and params.get("x") is None
    assert params.setdefault("a", torch.zeros(9)).shape == (2,)
    assert list(params | nn.ParameterDict({"z": torch.ones(1)})) == ["a", "z"] and list(params) == ["a"]
    params["b"] = torch.ones(2, 3).double()
    assert repr(params) == (
        "ParameterDict(\n    (a): Parameter containing: [torch.FloatTensor of size 2]\n"
        "    (b): Parameter containing: [torch.DoubleTensor of size 2x3]\n)"
    )
    params.clear()
    assert list(params.parameters()) == []
    with pytest.raises(KeyError, match="ParameterDict: .*'a'"):
        params["a"]
    with pytest.raises(TypeError, match="ParameterDict: .*int"):
        params["a"] = 3


def test_an_empty_module_dict_does_not_call_update():
    class Named(nn.ModuleDict):
        def __init__(self):
            super().__init__()
            self.ready = True

        def update(self, modules):
            assert self.ready
            super().update(modules)

    named = Named()
    named.update({"a": nn.Identity()})
    assert list(named) == ["a"]

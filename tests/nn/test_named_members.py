"""Parameters, buffers and submodules by dotted name."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError, NamingError
from flambeau.nn.utils._named_member_accessor import (
    _MISSING,
    NamedMemberAccessor,
    set_tensor,
    swap_submodule,
    swap_tensor,
)

ZEROS = torch.zeros(2, 2)


def made():
    """A network with a module under two names, a buffer without a value, and plain attributes."""
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net.add_module("tied", net[0])
    net.register_buffer("empty", None)
    net.plain, net.number = torch.ones(1), 3
    return net, NamedMemberAccessor(net)


def test_tensors_are_read_and_replaced():
    net, access = made()
    names = ["0.weight", "1.running_mean", "empty", "plain"]
    assert all(a is b for a, b in zip(access.get_tensors(names), [net[0].weight, net[1].running_mean, None, net.plain]))
    access.set_tensors(names, [ZEROS] * 4)
    assert access.get_tensors(names) == [ZEROS] * 4 and "empty" in dict(net.named_buffers())
    assert dict(net.named_parameters())["0.weight"] is ZEROS and net.tied.weight is ZEROS
    access.set_tensors_dict({"0.weight": None, "0.new": ZEROS})
    assert net[0].weight is None and net[0].new is ZEROS and "0.new" not in net.state_dict()
    access.del_tensors(["0.bias", "1.running_mean"])
    assert not hasattr(net[0], "bias") and not hasattr(net[1], "running_mean")


def test_swaps_return_former_tensors():
    net, access = made()
    weight = net[0].weight
    assert access.swap_tensor("0.weight", ZEROS) is weight and net(torch.ones(2, 2)).shape == (2, 2)
    assert access.swap_tensors(["0.weight", "empty"], [weight, None]) == [ZEROS, None] and net[0].weight is weight
    assert access.swap_tensor("0.new", ZEROS, allow_missing=True) is _MISSING and net[0].new is ZEROS
    assert access.swap_tensor("0.new", _MISSING) is ZEROS and not hasattr(net[0], "new")
    former, missing = access.swap_tensors_dict({"0.weight": ZEROS, "0.new": ZEROS}, allow_missing=True)
    assert former == {"0.weight": weight, "0.new": _MISSING} and missing == ["0.new"]
    access.swap_tensors_dict(former, allow_missing=True)
    assert net[0].weight is weight and not hasattr(net[0], "new")
    assert swap_tensor(net[0], "weight", ZEROS) is weight
    set_tensor(net[0], "weight", weight)
    assert net[0].weight is weight


def test_a_swap_that_fails_leaves_all_tensors():
    net, access = made()
    weight = net[0].weight
    with pytest.raises(RuntimeError, match="swap_tensors_dict: the module has no '0.new', 'other'\nhint: "):
        access.swap_tensors_dict({"0.weight": ZEROS, "tied.weight": ZEROS, "0.new": ZEROS, "other": ZEROS})
    with pytest.raises(ArgumentTypeError, match="swap_tensor: .* 3"):
        access.swap_tensors_dict({"0.weight": ZEROS, "tied.weight": ZEROS, "0.bias": 3})
    assert net[0].weight is weight and not hasattr(net[0], "new") and not hasattr(net, "other")


def test_names():
    _, access = made()
    parameters = ["0.weight", "0.bias", "1.weight", "1.bias"]
    buffers = ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
    assert [name for name, _ in access.named_parameters()] == parameters
    assert [name for name, _ in access.named_tensors()] == parameters + buffers
    assert [name for name, _ in access.named_modules(remove_duplicate=False)] == ["", "0", "1", "tied"]
    assert access.check_keys([*parameters, *buffers, "b", "a"]) == (["tied.bias", "tied.weight"], ["a", "b"])


def test_modules_of_memo_are_left_out_and_those_yielded_are_added():
    net = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Tanh()), nn.ReLU())
    memo = {net[0]}
    assert [name for name, _ in net.named_modules(memo)] == ["", "1"]
    assert memo == {net[0], net, net[1]}
    assert [*net.named_modules(memo)] == []
    memo = {net[0]}
    for _ in range(2):
        assert [name for name, _ in net.named_modules(memo, "net", remove_duplicate=False)] == ["net", "net.1"]
        assert memo == {net[0]}


def test_wrong_prefixes_memos_and_paths():
    net = nn.Sequential(nn.Linear(2, 2))
    for wrong in (None, 0, 1, ["a"]):
        for name in ("named_parameters", "named_buffers", "named_modules"):
            with pytest.raises(ArgumentTypeError, match=rf"^{name}: prefix must be a string, got .*\nhint: "):
                list(getattr(net, name)(prefix=wrong))
        for name in ("get_submodule", "get_parameter", "get_buffer"):
            with pytest.raises(ArgumentTypeError, match=rf"^{name}: target must be a string, got .*\nhint: "):
                getattr(net, name)(wrong)
        with pytest.raises(ArgumentTypeError, match=r"^set_submodule: target must be a string, got .*\nhint: "):
            net.set_submodule(wrong, nn.ReLU())
        if wrong is not None:
            with pytest.raises(ArgumentTypeError, match=r"^named_modules: memo must be a set of .*\nhint: "):
                list(net.named_modules(wrong))


def test_submodules():
    net, access = made()
    first, other = net[0], nn.ReLU()
    assert access.get_submodule("") is net and access.get_submodule("0") is first
    assert access.swap_submodule("0", other) is first and net[0] is other and access.get_submodule("0") is other
    assert swap_submodule(net, "0", first) is other
    for path in ("other", "0.weight", ""):
        with pytest.raises(NamingError, match="swap_submodule: "):
            access.swap_submodule(path, other)
    with pytest.raises(ArgumentTypeError, match="swap_submodule: the submodule must be a Module, got 3"):
        access.swap_submodule("0", 3)


def test_wrong_names_and_values():
    net, access = made()
    calls = {
        "get_tensor": access.get_tensor, "set_tensor": lambda name: access.set_tensor(name, ZEROS),
        "del_tensor": access.del_tensor, "swap_tensor": lambda name: access.swap_tensor(name, ZEROS),
    }  # fmt: skip
    for operator, call in calls.items():
        with pytest.raises(AttributeError, match=f"{operator}: Sequential has no attribute '9'\nhint: "):
            call("9.weight")
        with pytest.raises(ArgumentTypeError, match=f"{operator}: 'weight' of '0.weight' must be a Module"):
            call("0.weight.x")
        if operator != "set_tensor":
            with pytest.raises(AttributeError, match=f"{operator}: Linear has no attribute 'nope'"):
                call("0.nope")
        if operator in ("get_tensor", "swap_tensor"):
            with pytest.raises(ArgumentTypeError, match=f"{operator}: .*'number' must be a Tensor .*3"):
                call("number")
    for call in (calls["set_tensor"], calls["swap_tensor"], lambda name: swap_tensor(net, "0.weight", ZEROS)):
        with pytest.raises(NamingError, match="_tensor: a name must not be empty"):
            call("")
    with pytest.raises(ArgumentTypeError, match="set_tensor: '0' is a module"):
        access.set_tensor("0", ZEROS)
    with pytest.raises(ArgumentTypeError, match="set_tensor: the tensor must be a Tensor .*3"):
        access.set_tensor("0.weight", 3)
    with pytest.raises(ArgumentError, match="set_tensors: got 1 names and 2 values"):
        access.set_tensors(["0.weight"], [ZEROS, ZEROS])
    with pytest.raises(ArgumentTypeError, match="NamedMemberAccessor: module must be a Module, got 3"):
        NamedMemberAccessor(3)

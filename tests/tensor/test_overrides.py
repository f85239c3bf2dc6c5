"""torch.overrides: calls of `__torch_function__` by code outside the library."""

import pytest

import flambeau as torch
from flambeau import overrides
from flambeau.errors import ArgumentTypeError


class Unit:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__, types, len(args)


class Meters(torch.Tensor):
    pass


def area(x, y):
    if overrides.has_torch_function((x, y)):
        return overrides.handle_torch_function(area, (x, y), x, y)
    return x * y


def test_a_function_of_a_program_can_be_overridden():
    assert area(2, 3) == 6
    assert area(Unit(), 3) == ("area", (Unit,), 2)
    found = area(torch.ones(1).as_subclass(Meters), 3.0)
    assert type(found) is Meters and found.item() == 3


def test_which_values_override():
    plain, own = torch.ones(1), torch.ones(1).as_subclass(Meters)
    assert [overrides.has_torch_function_unary(each) for each in (plain, own, Unit(), 3)] == [False, True, True, False]
    assert overrides.has_torch_function_variadic(plain, own) and not overrides.has_torch_function([])
    assert [overrides.is_tensor_like(each) for each in (plain, Unit(), 3)] == [True, True, False]


def test_refusals():
    class Refusing(Unit):
        def __torch_function__(self, *args):
            return NotImplemented

    with pytest.raises(ArgumentTypeError, match="area: .*Refusing"):
        area(Refusing(), 3)


def test_a_decorator_asks_the_dispatcher():
    @overrides.wrap_torch_function(lambda x, scale=1: (x,))
    def scaled(x, scale=1):
        return x * scale

    assert scaled(3, scale=2) == 6 and scaled(Unit()) == ("scaled", (Unit,), 1)


def test_lists_of_functions():
    methods = overrides.get_overridable_functions()[torch.Tensor]
    assert torch.Tensor.exp in methods and torch.Tensor.as_subclass not in methods
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(torch.add) == "torch.add" and overrides.resolve_name(3) is None


def test_calls_of_a_class_that_disables_its_override_give_plain_tensors():
    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    x = torch.ones(2).as_subclass(Plain)
    assert type(x) is Plain and type(x + 1) is torch.Tensor and type(torch.exp(x)) is torch.Tensor
    assert (x + 1).tolist() == [2.0, 2.0]


def test_modes_and_forward_derivatives_are_names():
    class Mode(torch.overrides.TorchFunctionMode):
        pass

    with pytest.raises(NotImplementedError, match="Mode: modes that intercept calls are not supported"), Mode():
        pass
    x = torch.ones(1)
    assert torch.autograd.forward_ad.unpack_dual(x) == (x, None)
    with pytest.raises(NotImplementedError, match=r"make_dual: .*\nhint: use torch.func.jvp"):
        torch.autograd.forward_ad.make_dual(x, x)

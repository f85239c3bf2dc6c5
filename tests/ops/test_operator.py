"""Operators as registration makes them from their bodies."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import flambeau
import flambeau as torch
from flambeau.errors import ArgumentError, ArgumentTypeError
from flambeau.ops.copies import fill_kernel
from flambeau.ops.operator import REGISTRY, Operand, Operator, composite, operator, view
from flambeau.ops.pointwise import grid_over
from flambeau.tensor.operators import REMOVED, Missing


@pytest.fixture
def register() -> Iterator[Callable[..., Any]]:
    """Registers operators of a test under names that go again."""
    names = []

    def made(kind, body):
        found = kind(samples=lambda: [], method=False, function=False)(body)
        names.append(found.name)
        return found

    yield made
    for name in names:
        del REGISTRY[name]


def _lowered(call, input: Operand, power: int = 2, *, start: int = 0, step: int = 1):
    out = call.output(input.shape, input.dtype)
    for at, value in enumerate((power, start, step)):
        call.launch(fill_kernel(out.dtype), grid_over(1), call.part(out, (1,), (1,), at), float(value), 1)
    return out


def _composite(input: Operand, *, shift: int, scale: int = 3):
    return input * scale + shift


def _view(input: Operand, *, first: int = 1):
    return (1,), (1,), first


def test_keyword_only_parameters_reach_the_body_by_name(register):
    x = torch.tensor([1.0, 2.0, 3.0])
    lowered, composed, viewed = register(operator, _lowered), register(composite, _composite), register(view, _view)
    assert lowered(x).tolist() == [2.0, 0.0, 1.0]
    assert lowered(x, 5, step=4, start=3).tolist() == [5.0, 3.0, 4.0]
    assert lowered(x, start=7, out=torch.empty(3)).tolist() == [2.0, 7.0, 1.0]
    assert composed(x, shift=1).tolist() == [4.0, 7.0, 10.0]
    assert viewed(x).tolist() == [2.0] and viewed(x, first=2).tolist() == [3.0]


def test_keyword_only_parameters_are_refused_by_position(register):
    composed = register(composite, _composite)
    for values in ((1,), (1, 3)):
        with pytest.raises(ArgumentTypeError, match=r"_composite: takes 1 positional arguments but \d were given"):
            composed(torch.ones(2), *values)
    with pytest.raises(ArgumentTypeError, match="missing 1 required .*'shift'"):
        composed(torch.ones(2))


def test_names_of_numpys_are_known():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.sum(x, axis=0).tolist() == x.sum(axis=0).tolist() == [3.0, 5.0, 7.0]
    assert x.mean(axis=1, keepdims=True).tolist() == [[1.0], [4.0]] and torch.add(x1=x, x2=x).equal(x + x)
    assert torch.cat([x, x], axis=1).shape == (2, 6) and x.max(axis=1).indices.tolist() == [2, 2]
    for names in ({"dim": 0, "axis": 0}, {"axes": 0}):
        with pytest.raises(ArgumentTypeError, match="sum: got an unexpected keyword argument 'ax(is|es)': 0"):
            x.sum(**names)
    with pytest.raises(ArgumentTypeError, match="sum: got an unexpected keyword argument 'axis': 1"):
        x.sum(0, axis=1)


@pytest.mark.parametrize("name", ["add", "sum", "relu", "cat", "softmax", "multiply", "clip", "reshape"])
def test_a_function_is_copied_and_pickled_by_name(name):
    found = getattr(torch, name)
    assert pickle.loads(pickle.dumps(found)) is copy.deepcopy(found) is copy.copy(found) is found
    assert copy.deepcopy({"activation": found})["activation"] is found


@pytest.mark.parametrize("name", ["add", "add_", "sum", "view", "expand", "relu_", "half", "new_zeros", "to"])
def test_a_method_is_pickled_by_name(name):
    found = getattr(torch.Tensor, name)
    assert pickle.loads(pickle.dumps(found)) is found


def test_functions_and_methods_have_a_signature():
    assert str(inspect.signature(torch.add)) == "(input, other, *, alpha=1, out=None)"
    assert str(inspect.signature(torch.Tensor.add)) == "(self, other, *, alpha=1)", "methods take no out="
    assert str(inspect.signature(torch.Tensor.add_)) == "(self, other, *, alpha=1)"
    assert str(inspect.signature(torch.Tensor.flip)) == "(self, dims)"
    assert str(inspect.signature(torch.Tensor.view)) == "(self, size)"
    assert str(inspect.signature(torch.relu_)) == "(self)", "torch.relu_ is the method"
    assert str(inspect.signature(torch.nn.functional.elu_)).startswith("(input, alpha=1.0")
    assert str(inspect.signature(torch.ones(1).add)) == "(other, *, alpha=1)"
    assert str(inspect.signature(torch.unsqueeze)) == "(input, dim)", "a view writes into no other tensor"


def methods():
    for name in dir(torch.Tensor):
        method = inspect.getattr_static(torch.Tensor, name)
        is_there = name not in REMOVED and not isinstance(method, Missing)
        if inspect.isroutine(method) and not name.startswith("_") and is_there:
            yield name, method


def test_no_method_takes_out():
    x, found = torch.ones(2, 2), []
    for name, method in methods():
        found.append(name)
        assert next(iter(inspect.signature(method).parameters)) == "self", name
        assert "out" not in inspect.signature(method).parameters, name
        if isinstance(inspect.unwrap(method), Operator):
            with pytest.raises(ArgumentTypeError):
                method(x, out=x)
    assert {"add", "add_", "abs", "absolute_", "flip", "view", "equal", "conj_physical"} <= set(found)


def test_the_error_of_out_names_the_function_that_takes_it():
    x, out = torch.ones(2), torch.zeros(2)
    with pytest.raises(ArgumentTypeError) as error:
        x.exp(out=out)
    assert str(error.value).startswith("exp: got an unexpected keyword argument 'out': ")
    assert error.value.hint == "a method takes no out=; call the function, torch.exp(..., out=out)"
    with pytest.raises(ArgumentTypeError, match="multiply: got an unexpected keyword argument 'out'"):
        x.multiply(2, out=out)
    with pytest.raises(ArgumentTypeError, match="exp_: got an unexpected keyword argument 'out'"):
        x.exp_(out=out)
    assert out.tolist() == [0, 0] and x.tolist() == [1, 1]


def test_an_alias_is_one_operator_with_calls_of_its_own():
    operator = REGISTRY["mul"]
    alias = operator.called_as("multiply")
    assert alias is operator.called_as("multiply") is alias.called_as("multiply")
    assert alias is torch.multiply.__wrapped__ and torch.multiply is alias.as_function() is not operator.as_function()
    assert (operator.called, alias.called, alias.__name__) == ("mul", "multiply", "multiply")


def test_an_alias_has_all_attributes_of_its_operator():
    text = (Path(flambeau.__file__).parent / "core/binding.pxd").read_text()
    declared = text.partition("cdef class OperatorBase:\n")[2]
    names = set(re.findall(r"^    cdef public \w+ (\w+)$", declared, re.MULTILINE))
    operator, alias = REGISTRY["mul"], REGISTRY["mul"].called_as("multiply")
    own = {"__name__", "called", "derivative_call", "function_object", "last_signature"}
    for name in (names | vars(operator).keys()) - own:
        assert getattr(alias, name) is getattr(operator, name), name
    x = torch.ones(2, requires_grad=True)
    for multiply in (alias, operator):
        multiply(x, x).sum().backward()
    assert alias.derivative_call is operator.derivative_call is not None
    private = re.findall(r"^    cdef (?!public )\S+ (\w+)$", declared, re.MULTILINE)
    assert private == ["__dict__", "__weakref__"], "an alias is made of public attributes"


@pytest.mark.parametrize("fact", ["input_size", "other_shape", "shape"])
def test_a_derivative_takes_known_facts_only(fact):
    operator = REGISTRY["relu"].called_as("relu_with_another_derivative")
    with pytest.raises(ArgumentError, match=rf"relu.*'{fact}'") as caught:
        operator.derivative(eval(f"lambda grad, {fact}: grad"))
    assert "input" in caught.value.hint and "<parameter>_strides" in caught.value.hint
    assert operator.backward is REGISTRY["relu"].backward

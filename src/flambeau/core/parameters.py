"""Parameters of operators, read from the function that defines an operator, and samples of calls.

Parameters are told apart by their annotations:

    Operand            a tensor
    Operand | None     a tensor that may be absent
    Operands           a sequence of tensors
    Value              a tensor or a Python number
    Value | None       a tensor or a Python number that may be absent
    Number             a Python number that the lowering only passes on: see operator.Number
    anything else      an attribute
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, NamedTuple

VALUE_ANNOTATIONS = ("Value", "Value | None")
TENSOR_ANNOTATIONS = ("Operand", "Operand | None", "Operands", *VALUE_ANNOTATIONS)
VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
NEEDED = inspect.Parameter.empty  # in place of a default


class Sample(NamedTuple):
    """Inputs for the operator sweep.  In `args`, an `Array` stands for a tensor."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = {}


class ErrorSample(NamedTuple):
    """Inputs that must fail, with the error's class and a regular expression that its text matches."""

    args: tuple[Any, ...]
    error: type[Exception]
    match: str
    kwargs: dict[str, Any] = {}


Samples = Callable[[], Iterable[Sample]]
Errors = Callable[[], Iterable[ErrorSample]]


class Parameter(NamedTuple):
    """One parameter of an operator.  default: NEEDED if it must be given."""

    name: str
    annotation: str
    default: Any
    keyword_only: bool

    @property
    def is_tensor(self) -> bool:
        return self.annotation in TENSOR_ANNOTATIONS

    @property
    def is_needed(self) -> bool:
        return self.default is NEEDED


def parameters_of(body: Callable[..., Any], skip_call: bool = False) -> tuple[Parameter, ...]:
    """The parameters in a body's signature, without the first if that is the call."""
    return _read(body)[1 if skip_call else 0 :]


def _read(body: Callable[..., Any]) -> tuple[Parameter, ...]:
    if type(body) is not FunctionType or hasattr(body, "__wrapped__") or body.__code__.co_flags & VARIADIC:
        found = inspect.signature(body).parameters.values()
        named = inspect.Parameter.KEYWORD_ONLY
        return tuple([Parameter(each.name, str(each.annotation), each.default, each.kind is named) for each in found])
    # the usual case by hand: inspect.signature takes a third of the time of the import
    code, annotations = body.__code__, body.__annotations__
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(names[:count]), reversed(body.__defaults__ or ())), **(body.__kwdefaults__ or {}))
    return tuple([
        Parameter(name, str(annotations.get(name, NEEDED)), defaults.get(name, NEEDED), at >= count)
        for at, name in enumerate(names)
    ])  # fmt: skip


def python_signature(parameters: Sequence[Parameter], takes_out: bool) -> inspect.Signature:
    """The `inspect.Signature` of an operator's calls."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = [inspect.Parameter(each.name, kinds[each.keyword_only], default=each.default) for each in parameters]
    if takes_out:
        found.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(found)


def by_position(body: Callable[..., Any]) -> Callable[..., Any]:
    """The body, callable with the values of keyword-only parameters in their order, as calls have them."""
    found = parameters_of(body)
    named = [each.name for each in found if each.keyword_only]
    if not named:
        return body
    count = len(found) - len(named)

    @wraps(body)
    def positional(*values: Any) -> Any:
        return body(*values[:count], **dict(zip(named, values[count:], strict=True)))

    return positional

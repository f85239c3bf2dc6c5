"""Parameters of operators, read from the function that defines an operator, and sample calls.

A parameter's annotation says what it takes:

    Operand            a tensor
    Operand | None     a tensor that may be absent
    Operands           a sequence of tensors
    Value              a tensor or a Python number
    Value | None       a tensor or a Python number that may be absent
    Number             a Python number that the lowering passes on unread: see operator.Number
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
NEEDED = inspect.Parameter.empty  # stands for a missing default


class Sample(NamedTuple):
    """Inputs for the operator sweep.  In `args`, an `Array` stands for a tensor.

    Example:
        >>> from flambeau.ops.operator import Array, Sample
        >>> Sample((Array((2, 3)),), {"dim": 1}).kwargs
        {'dim': 1}
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = {}


class ErrorSample(NamedTuple):
    """Inputs that must fail, with the error's class and a regular expression that matches its text.

    Example:
        >>> from flambeau.errors import ShapeError
        >>> from flambeau.ops.operator import Array, ErrorSample
        >>> ErrorSample((Array((2,)), Array((3,))), ShapeError, "do not broadcast").match
        'do not broadcast'
    """

    args: tuple[Any, ...]
    error: type[Exception]
    match: str
    kwargs: dict[str, Any] = {}


Samples = Callable[[], Iterable[Sample]]
Errors = Callable[[], Iterable[ErrorSample]]


class Parameter(NamedTuple):
    """One parameter of an operator.

    annotation: its text, such as "Operand": see the module's docstring.  default: NEEDED if it must be passed.
    keyword_only: whether calls may pass it by keyword only.
    Example:
        >>> torch.add.parameters[2]
        Parameter(name='alpha', annotation='float', default=1, keyword_only=True)
    """

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


def _written(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a body wraps, or the body."""
    while type(body) is FunctionType and hasattr(body, "__wrapped__") and not hasattr(body, "__signature__"):
        body = body.__wrapped__
    return body


def _is_plain(body: Callable[..., Any]) -> bool:
    """Return whether a function's code lists its parameters.

    They are then read by hand: inspect.signature would take a third of the import time.
    """
    return type(body) is FunctionType and not hasattr(body, "__signature__") and not body.__code__.co_flags & VARIADIC


def names_of(body: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters in a body's signature."""
    body = _written(body)
    if not _is_plain(body):
        return tuple(inspect.signature(body).parameters)
    code = body.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def parameters_of(body: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters in a body's signature."""
    body = _written(body)
    if not _is_plain(body):
        parameters = inspect.signature(body).parameters.values()
        named = inspect.Parameter.KEYWORD_ONLY
        return tuple([
            Parameter(parameter.name, str(parameter.annotation), parameter.default, parameter.kind is named)
            for parameter in parameters
        ])  # fmt: skip
    annotations, names, count = body.__annotations__, names_of(body), body.__code__.co_argcount
    defaults = dict(zip(reversed(names[:count]), reversed(body.__defaults__ or ())), **(body.__kwdefaults__ or {}))
    return tuple([
        Parameter(name, str(annotations.get(name, NEEDED)), defaults.get(name, NEEDED), at >= count)
        for at, name in enumerate(names)
    ])  # fmt: skip


def python_signature(parameters: Sequence[Parameter], takes_out: bool) -> inspect.Signature:
    """Return the `inspect.Signature` of an operator's calls."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    converted = [
        inspect.Parameter(parameter.name, kinds[parameter.keyword_only], default=parameter.default)
        for parameter in parameters
    ]
    if takes_out:
        converted.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(converted)


def by_position(body: Callable[..., Any], parameters: Sequence[Parameter]) -> Callable[..., Any]:
    """Return the body as a function that takes keyword-only parameters by position, as calls pass them.

    parameters: all that calls pass, the Call of a lowering included.
    """
    named = [parameter.name for parameter in parameters if parameter.keyword_only]
    if not named:
        return body
    count = len(parameters) - len(named)

    @wraps(body)
    def positional(*values: Any) -> Any:
        return body(*values[:count], **dict(zip(named, values[count:], strict=True)))

    return positional

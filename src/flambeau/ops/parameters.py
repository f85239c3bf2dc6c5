"""The parameters of an operator's body, as its signature and annotations say, and the ways in which calls name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

TENSOR_ANNOTATIONS = ("Operand", "Operand | None", "Operands", "Value")
OF_NUMPY = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


class Parameter(NamedTuple):
    name: str
    is_tensor: bool
    annotation: str
    default: Any  # inspect.Parameter.empty if there is none
    keyword_only: bool

    @property
    def is_needed(self) -> bool:
        return self.default is inspect.Parameter.empty


def parameters_of(body: Callable[..., Any], skip_call: bool) -> tuple[Parameter, ...]:
    found = list(inspect.signature(body).parameters.values())[1 if skip_call else 0 :]
    return tuple(
        Parameter(
            each.name,
            str(each.annotation) in TENSOR_ANNOTATIONS,
            str(each.annotation),
            each.default,
            each.kind is inspect.Parameter.KEYWORD_ONLY,
        )
        for each in found
    )


def signature_of(parameters: Sequence[Parameter], takes_out: bool) -> inspect.Signature:
    """The `inspect.Signature` of an operator's calls."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = [inspect.Parameter(each.name, kinds[each.keyword_only], default=each.default) for each in parameters]
    if takes_out:
        found.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(found)


def by_position(body: Callable[..., Any]) -> Callable[..., Any]:
    """The body, callable with the values of keyword-only parameters in their order, as dispatch has them."""
    found = inspect.signature(body).parameters.values()
    named = [each.name for each in found if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if not named:
        return body
    count = len(found) - len(named)

    @wraps(body)
    def positional(*values: Any) -> Any:
        return body(*values[:count], **dict(zip(named, values[count:], strict=True)))

    return positional


class Way:
    """How an operator is called: `count` arguments without a keyword, and those with, which go to `places`."""

    __slots__ = ("count", "names", "places")

    def __init__(self, count: int, names: tuple[str, ...], places: list[int]) -> None:
        self.count = count
        self.names = names
        self.places = places


def is_way(way: Way, count: int, kwargs: dict[str, Any]) -> bool:
    """Whether a call is like that; keywords in a program's text are the same objects each time."""
    if way.count != count or len(way.names) != len(kwargs):
        return False
    for place, name in enumerate(kwargs):  # noqa: SIM110 (compiled, there are no closures)
        if name is not way.names[place]:
            return False
    return True

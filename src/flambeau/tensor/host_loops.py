"""Methods that call a Python function for every element of a CPU tensor: apply_, map_ and map2_."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.mode import GradMode
from ..errors import ArgumentTypeError, AutogradError
from ..strides import broadcast
from . import checks
from .factories import tensor


def _checked(name: str, function: Any, tensors: tuple[Any, ...]) -> None:
    first = tensors[0]
    for other in tensors:
        checks.tensor(name, "other", other)
        if other.is_cuda:
            raise ArgumentTypeError(
                f"is only implemented on CPU tensors, this is {other.describe()}", hint="call .cpu()", operator=name
            )
        if other.dtype is not first.dtype:
            raise ArgumentTypeError(
                f"expected a tensor of {first.dtype.name}, got {other.describe()}", hint="convert it", operator=name
            )
        if other.requires_grad:
            raise AutogradError(
                f"can't be called on a tensor that requires grad: {other.describe()}",
                hint="use detach() first",
                operator=name,
            )
    checks.function(name, "callable", function)


def _mapped(name: str, function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
    target = tensors[0]
    _checked(name, function, tensors)
    broadcast([each.shape for each in tensors], name)
    rows = [each.expand(target.shape).reshape(-1).tolist() for each in tensors]
    values = [function(*row) for row in zip(*rows)]
    with GradMode(False):
        target.copy_(tensor(values, dtype=target.dtype).reshape(target.shape))
    return target


def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
    """Replace every element of a CPU tensor by a Python function of it.  Slow: operators compute whole tensors.

    Raises: ArgumentTypeError on a GPU, AutogradError for a tensor that requires a gradient.
    Example:
        >>> torch.tensor([1, 2]).apply_(lambda value: value * 10)
        tensor([10, 20])
    """
    return _mapped("apply_", callable, (self,))


def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Replace every element of a CPU tensor by a Python function of it and of another tensor's element.

    Raises: ArgumentTypeError on a GPU or for any other type, AutogradError for a tensor that requires a gradient.
    Example:
        >>> torch.tensor([1, 2]).map_(torch.tensor([3, 4]), lambda own, other: own * other)
        tensor([3, 8])
    """
    return _mapped("map_", callable, (self, tensor))


def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
    """Replace every element of a CPU tensor by a function of it and of the elements of two others: see `map_`.

    Example:
        >>> one = torch.ones(2)
        >>> torch.zeros(2).map2_(one, one, lambda own, x, y: own + x + y)
        tensor([2., 2.])
    """
    return _mapped("map2_", callable, (self, x, y))


METHODS = (apply_, map_, map2_)

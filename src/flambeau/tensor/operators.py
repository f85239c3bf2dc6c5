"""What the operator registry gives a tensor class: methods (`x.exp()`, `x.exp_()`) and Python's symbols (+, <, ~)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dispatch, ops  # noqa: F401  (ops registers the operators)
from ..core import TensorCore
from ..dtypes import dtype
from ..errors import ArgumentTypeError
from ..host import is_numpy_loaded, np
from ..ops.operator import REGISTRY, Operator
from .arguments import sizes

BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
NO_NAMES: dict[str, Any] = {}
UNARY = {"neg": "neg", "abs": "abs"}


def install(cls: Any) -> None:
    """Give a tensor class the methods that it does not define itself, and Python's symbols."""
    for operator in REGISTRY.values():
        if operator.method and operator.name not in cls.__dict__:
            setattr(cls, operator.name, _method(operator))
        if operator.inplace and f"{operator.name}_" not in cls.__dict__:
            setattr(cls, f"{operator.name}_", _inplace_method(operator.in_place()))
    cls.view = _view_method(REGISTRY["view"], REGISTRY["view_dtype"])
    _install_symbols(cls)


def _install_symbols(cls: Any) -> None:
    for symbol, name in BINARY.items():
        setattr(cls, f"__{symbol}__", _binary(REGISTRY[name], swap=False))
        setattr(cls, f"__r{symbol}__", _binary(REGISTRY[name], swap=True))
        if REGISTRY[name].inplace:
            setattr(cls, f"__i{symbol}__", _inplace_method(REGISTRY[name].in_place()))
    for name in COMPARISONS:
        setattr(cls, f"__{name}__", _binary(REGISTRY[name], swap=False))
    for symbol, name in UNARY.items():
        setattr(cls, f"__{symbol}__", _method(REGISTRY[name]))
    cls.__invert__ = _inverted


def _inverted(self: Any) -> Any:
    """The bits turned over; for bool, logical not.  Raises ArgumentTypeError for floating point."""
    if self.layout.is_floating:
        raise ArgumentTypeError(
            f"invert: ~ is only implemented on integer and bool tensors, this is {self.describe()}", hint="call .long()"
        )
    return dispatch.call(REGISTRY["bitwise_not"], (self,), NO_NAMES)


def _method(operator: Operator) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        return dispatch.call(operator, args, kwargs)

    method.__name__, method.__doc__ = operator.name, operator.__doc__
    return method


def _inplace_method(operator: Operator) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        return dispatch.call_inplace(operator, args, kwargs)

    method.__name__ = operator.called
    method.__doc__ = f"In-place version of `{operator.name}`."
    return method


def _view_method(as_shape: Operator, as_dtype: Operator) -> Callable[..., Any]:
    def view(self: Any, *shape: Any, **named: Any) -> Any:
        """The same memory as another shape (one size may be -1), or as another type of the same size."""
        if named:
            return dispatch.call(as_dtype if "dtype" in named else as_shape, (self, *shape), named)
        if len(shape) == 1 and type(shape[0]) is dtype:
            return dispatch.call(as_dtype, (self, shape[0]), NO_NAMES)
        return dispatch.call(as_shape, (self, sizes(shape, "view")), NO_NAMES)

    return view


def _binary(operator: Operator, swap: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, (TensorCore, int, float)) or (is_numpy_loaded() and isinstance(other, np.generic)):
            return dispatch.call_two(operator, other, self) if swap else dispatch.call_two(operator, self, other)
        return NotImplemented

    return method

"""What the operator registry gives a tensor class: methods (`x.exp()`, `x.exp_()`) and Python's symbols (+, <, ~)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import lowering, ops  # noqa: F401  (one lowers calls, the other registers the operators)
from ..core import call as calls
from ..core.tensor import TensorBase
from ..dtypes import dtype, meant
from ..errors import ArgumentTypeError
from ..host import is_numpy_loaded, np
from ..ops.operator import REGISTRY, Operator
from . import interop
from .arguments import sizes
from .missing import Missing

ALIASES = {
    "absolute": "abs", "clip": "clamp", "divide": "div", "multiply": "mul", "negative": "neg", "subtract": "sub",
    "true_divide": "div",
}  # fmt: skip
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
    own = {name for name, found in vars(cls).items() if not isinstance(found, Missing)}
    for operator in REGISTRY.values():
        if operator.method and operator.name not in own:
            put(cls, operator.name, _method(operator))
        if operator.inplace and f"{operator.name}_" not in own:
            put(cls, f"{operator.name}_", _inplace_method(operator.in_place()))
    for alias, name in ALIASES.items():
        operator = REGISTRY[name].called_as(alias)
        put(cls, alias, _method(operator))
        if operator.inplace:
            put(cls, f"{alias}_", _inplace_method(operator.in_place()))
    put(cls, "view", _view_method(REGISTRY["view"], REGISTRY["view_dtype"]))
    _install_symbols(cls)


def put(cls: Any, name: str, method: Any) -> None:
    """Add a function to a class as a method that can be pickled by name."""
    method.__module__, method.__name__, method.__qualname__ = cls.__module__, name, f"{cls.__name__}.{name}"
    setattr(cls, name, method)


def _install_symbols(cls: Any) -> None:
    for symbol, name in BINARY.items():
        put(cls, f"__{symbol}__", _binary(REGISTRY[name], symbol, swap=False))
        put(cls, f"__r{symbol}__", _binary(REGISTRY[name], symbol, swap=True))
        if REGISTRY[name].inplace:
            put(cls, f"__i{symbol}__", _augmented(REGISTRY[name].in_place()))
    for name in COMPARISONS:
        put(cls, f"__{name}__", _comparison(REGISTRY[name]))
    for symbol, name in UNARY.items():
        put(cls, f"__{symbol}__", _method(REGISTRY[name]))
    put(cls, "__invert__", _inverted)


def _inverted(self: Any) -> Any:
    """The bits turned over; for bool, logical not.  Raises ArgumentTypeError for floating point."""
    if self.layout.is_floating:
        raise ArgumentTypeError(
            f"~ is only implemented on integer and bool tensors, this is {self.describe()}",
            hint="call .long()",
            operator="invert",
        )
    return calls.call(REGISTRY["bitwise_not"], (self,), NO_NAMES)


def _method(operator: Operator) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        return calls.call(operator, args, kwargs)

    method.__name__, method.__doc__ = operator.name, operator.__doc__
    method.__wrapped__ = operator  # type: ignore[attr-defined]  # whose signature is the method's
    return method


def _inplace_method(operator: Operator) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        return calls.call_inplace(operator, args, kwargs)

    method.__name__ = operator.called
    method.__doc__ = _inplace_text(operator)
    method.__wrapped__ = operator  # type: ignore[attr-defined]  # whose signature is the method's
    return method


def _inplace_text(operator: Operator) -> str | None:
    """The documentation of `name_`; that of the operator itself where there is no `name`."""
    if not (operator.method or operator.function):
        return operator.__doc__
    return (
        f"In-place version of `{operator.name}`: overwrites this tensor with the result, and returns it.\n\n"
        "Raises: AutogradError for a leaf that requires a gradient, ShapeError if the result has another shape,\n"
        "DtypeError if this tensor's type cannot hold it."
    )


def _view_method(as_shape: Operator, as_dtype: Operator) -> Callable[..., Any]:
    def view(self: Any, *shape: Any, **named: Any) -> Any:
        """The same memory as another shape (one size may be -1), or as another type.

        Shapes: as many elements as this tensor; for a type of another size, the last dimension grows or shrinks.
        Host:   returns at once.
        Raises: ShapeError if the number of elements differs, or the strides cannot show that shape.
        Example:
            >>> x = torch.arange(6)
            >>> x.view(2, -1)
            tensor([[0, 1, 2],
                    [3, 4, 5]])
            >>> torch.tensor([1.0]).view(torch.int32)
            tensor([1065353216], dtype=torch.int32)
        """
        if named:
            return calls.call(as_dtype if "dtype" in named else as_shape, (self, *shape), named)
        if len(shape) == 1 and isinstance(shape[0], (dtype, type)):
            return calls.call(as_dtype, (self, meant(shape[0])), NO_NAMES)
        return calls.call(as_shape, (self, sizes(shape, "view")), NO_NAMES)

    view.__wrapped__ = as_shape  # type: ignore[attr-defined]  # whose signature is the method's
    view.other_names = ("dtype",)  # type: ignore[attr-defined]  # beside those of its signature
    return view


def is_operand(other: Any) -> bool:
    """Whether a value is a tensor or a number, Python's or NumPy's."""
    return isinstance(other, (TensorBase, int, float)) or is_numpy_loaded() and isinstance(other, np.generic)


def _binary(operator: Operator, symbol: str, swap: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if is_operand(other):
            return calls.call_two(operator, other, self) if swap else calls.call_two(operator, self, other)
        return interop.with_array(symbol, self, other, swap)

    return method


def _comparison(operator: Operator) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if is_operand(other):
            return calls.call_two(operator, self, other)
        return interop.compared(operator, self, other)

    return method


def _augmented(operator: Operator) -> Callable[[Any, Any], Any]:
    """Make the method for `x += other`; NotImplemented for an array, so that Python computes `x = x + other`."""

    def method(self: Any, other: Any) -> Any:
        return calls.call_inplace(operator, (self, other), NO_NAMES) if is_operand(other) else NotImplemented

    return method

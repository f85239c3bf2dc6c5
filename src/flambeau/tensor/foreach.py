"""`torch._foreach_*`: one operator applied to every tensor of a list, for optimizers of other packages.

Each tensor takes a call of its own.  `torch.optim` does not use these functions: its steps take all parameters at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ArgumentTypeError, ShapeError, naming, no_attribute, shown
from .tensor import Tensor

PREFIX = "_foreach_"
# function -> the method of tensors that it calls
METHODS = {name: name for name in (
    "abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "ceil", "clamp_max", "clamp_min", "clone", "copy",
    "cos", "cosh", "div", "erf", "erfc", "exp", "expm1", "floor", "frac", "lerp", "lgamma", "log", "log10", "log1p",
    "log2", "max", "mm", "mul", "neg", "norm", "pow", "powsum", "reciprocal", "round", "rsqrt", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "sub", "tan", "tanh", "trunc", "zero",
)} | {"maximum": "clamp_min", "minimum": "clamp_max", "powsum": "norm"}  # fmt: skip
NEW_ONLY = ("clone", "max", "mm", "norm", "powsum")
IN_PLACE_ONLY = ("copy", "zero")
# Keyword names of operands, in positional order.  A list has one entry per tensor; other operands apply to all.
OPERANDS = (
    "other", "src", "mat2", "tensor1", "tensors1", "tensor2", "weight", "weights", "tensor", "scalar", "scalars",
    "exponent", "value", "ord",
)  # fmt: skip


def function(name: str) -> Callable[..., Any]:
    """Return the function of a name such as `_foreach_add_`.  Raises AttributeError for an unknown name.

    Functions in place return their first argument; the others return a tuple.
    Example:
        >>> torch._foreach_add([torch.zeros(2), torch.ones(1)], [1.0, 2.0])
        (tensor([1., 1.]), tensor([3.]))
        >>> params = [torch.ones(2), torch.ones(1)]
        >>> torch._foreach_mul_(params, 0.5) is params, params
        (True, [tensor([0.5000, 0.5000]), tensor([0.5000])])
    """
    in_place = name.endswith("_")
    base = name.removeprefix(PREFIX).removesuffix("_")
    if base not in METHODS or base in (NEW_ONLY if in_place else IN_PLACE_ONLY):
        raise no_attribute("torch", name)
    method = METHODS[base] + "_" * in_place

    def foreach(self: Any, *args: Any, **options: Any) -> Any:
        with naming(name):
            operands = [*args, *(options.pop(each) for each in OPERANDS if each in options)]
            if base == "pow" and not isinstance(self, (list, tuple)):
                return tuple([self**exponent for exponent in _tensors(operands[0])])
            rows = zip(_tensors(self), *(_column(operand, len(self)) for operand in operands))
            made = tuple([_call(method, row, options) for row in rows])
            if base == "powsum":
                made = tuple([norm ** (operands[0] if operands else 2) for norm in made])
        return self if in_place else made

    foreach.__name__ = foreach.__qualname__ = name
    return foreach


def _call(method: str, operands: Sequence[Any], options: dict[str, Any]) -> Any:
    tensor, *others = operands
    if method.startswith("addc") and len(others) == 3:
        *others, value = others
        options = {**options, "value": value}
    return getattr(tensor, method)(*others, **options)


def _tensors(values: Any) -> Sequence[Any]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, Tensor) for value in values):
        raise ArgumentTypeError(
            f"self must be a list of tensors, got {shown(values)}", hint="pass a list of tensors, as in [x, y]"
        )
    if not values:
        raise ShapeError(
            "Tensor list must have at least one tensor, self is empty", hint="pass a list of tensors, as in [x, y]"
        )
    return values


def _column(value: Any, length: int) -> Sequence[Any]:
    """Return one operand per tensor, from a list of that length, a number, or a tensor of one or several numbers."""
    if isinstance(value, Tensor):
        value = value.tolist() if value.ndim else value
    if not isinstance(value, (list, tuple)):
        return [value] * length
    if len(value) != length:
        raise ShapeError(
            f"lists must have the same number of elements, got {length} tensors and {len(value)} operands",
            hint="pass lists of the same length",
        )
    return value

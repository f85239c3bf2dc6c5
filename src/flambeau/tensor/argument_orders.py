"""Deprecated orders of arguments: `x.addcdiv_(-rate, mean, root)`, with the number before the tensors, as in PyTorch.

Calls in such an order cannot be bound to the parameters.  So only calls that have failed are compared with the orders:
the others pay for one Python frame, in place of a compiled one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import callers
from ..core import call as calls
from ..core.call_errors import method_out
from ..core.tensor import TensorBase
from ..dtypes import plain_number
from ..errors import ArgumentTypeError
from ..ops.operator import REGISTRY, Operator

NUMBERS = ("alpha", "beta", "value")
Orders = tuple[tuple[str, ...], ...]


def _orders(*written: str) -> Orders:
    return tuple([tuple(order.split()) for order in written])


# operator -> the orders of the function; those of its methods, which have the tensor itself in front
_SUM, _PRODUCT = _orders("input alpha other"), _orders("input value tensor1 tensor2")
ORDERS = {"add": (_SUM, _SUM), "sub": (_SUM, _SUM), "addcmul": (_PRODUCT, _PRODUCT), "addcdiv": (_PRODUCT, _PRODUCT)}
ORDERS |= {
    name: (
        _orders(f"beta input alpha {factors}", f"beta input {factors}"),
        _orders(f"input beta alpha {factors}", f"input beta {factors}"),
    )
    for name, factors in (
        ("addmm", "mat1 mat2"), ("addmv", "mat vec"), ("addr", "vec1 vec2"), ("addbmm", "batch1 batch2"),
        ("baddbmm", "batch1 batch2"),
    )
}  # fmt: skip


def has_orders(operator: Operator) -> bool:
    """Return whether calls of an operator, under the name that it has, may use a deprecated order."""
    return operator.called.removesuffix("_") in ORDERS and operator.called.removesuffix("_") == operator.name


class AsFunction:
    """call: runs the call of a function, as `core.binding.Caller.call` does; replaced with the core's caller."""

    call: Callable[..., Any] = staticmethod(calls.call)


class AsMethod:
    call: Callable[..., Any] = staticmethod(calls.call)


class InPlace:
    call: Callable[..., Any] = staticmethod(calls.call_inplace)


def _with_orders(operator: Operator, orders: Orders, how: type[AsFunction | AsMethod | InPlace]) -> Any:
    """Make a function that calls an operator, and compares the arguments with `orders` if that fails."""

    def function(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out") if kwargs else None  # a call takes it out of the dictionary
        if out is not None and how is AsMethod:
            raise method_out(operator, out)
        try:
            return how.call(operator, args, kwargs)
        except ArgumentTypeError:
            named = _in_order(operator, orders, args, kwargs)
            if named is None:
                raise
        return how.call(operator, (), named if out is None else {**named, "out": out})

    return function


def function_of(operator: Operator) -> Any:
    """Make the function of an operator, as `Operator.as_function` does; that returns it from now on."""
    function = wraps(operator.as_function())(_with_orders(operator, ORDERS[operator.name][0], AsFunction))
    function.__wrapped__ = operator
    operator.function_object = function
    return function


def method_of(operator: Operator) -> Any:
    """Make the method `x.name(...)` of an operator, as core.call does."""
    return _with_orders(operator, ORDERS[operator.name][1], AsMethod)


def inplace_method_of(operator: Operator) -> Any:
    """Make the method `x.name_(...)` of an operator, as core.call does.  It is also the function torch.name_."""
    of_functions, of_methods = ORDERS[operator.name]
    return _with_orders(operator, of_methods + of_functions, InPlace)


def _in_order(
    operator: Operator, orders: Orders, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the arguments by name if they are in a deprecated order, with a warning; None if they are not."""
    for order in orders:
        others = {name: value for name, value in kwargs.items() if name != "out"}
        named = dict(zip(order, args)) | others
        is_whole = len(args) + len(others) == len(order) and named.keys() == set(order)
        numbers = [name for name in order[: len(args)] if name in NUMBERS]
        if is_whole and numbers and all(_fits(name, value) for name, value in named.items()):
            usual = ", ".join([name for name in order if name not in NUMBERS])
            keywords = ", ".join([f"{name}=..." for name in order if name in NUMBERS])
            callers.warn(
                f"{operator.called}: the order of arguments ({', '.join(order)}) is deprecated: "
                f"pass ({usual}, {keywords})"
            )
            return named
    return None


def _fits(name: str, value: Any) -> bool:
    """Return whether an argument of a deprecated order is a number where one is needed, otherwise a tensor."""
    if name not in NUMBERS:
        return isinstance(value, TensorBase)
    if isinstance(value, TensorBase):
        return not value.shape and not value.requires_grad
    return isinstance(plain_number(value), (int, float))


for _name in ORDERS:
    function_of(REGISTRY[_name])

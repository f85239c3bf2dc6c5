"""Asynchronous assertions on values: `_assert_async`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import DeviceAssertError, ShapeError
from ..kernel import Grid, Kernel, Pointer
from .operator import Array, Call, ErrorSample, Operand, Sample, operator
from .pointwise import PRELUDE

ONE_THREAD = Grid((1, 1, 1), 1)
FAILED = "expected a nonzero value, got zero"


@lru_cache(maxsize=64)
def _kernel(dtype: dtype, message: str) -> Kernel:
    """Return the kernel of the assertion.  On a GPU the error does not have the message."""
    entry, t, c = f"assert_nonzero_{dtype.name}", dtype.cuda, dtype.wide.cuda
    code = f"""{PRELUDE}
extern "C" __global__ void {entry}(const {t}* input) {{
  device_assert(load<{c}>(*input) != 0);
}}
"""

    def reference(input: Any) -> None:
        if not input[0]:
            raise DeviceAssertError(f"{message or FAILED}", operator="_assert_async")

    return Kernel(entry, code, [Pointer("input", dtype, "r", (1,))], reference, 1.0)


def _true() -> Iterator[Sample]:
    yield Sample((Array((), low=1),))
    yield Sample((Array((1, 1), low=1), "with a message"))


def _wrong() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2,), low=1),), ShapeError, "one value, got 2")
    yield ErrorSample((Array((0,)),), ShapeError, "one value, got 0")


HIDDEN = {"name": "_assert_async", "differentiable": False, "method": False, "function": False, "takes_out": False}


@operator(samples=_true, errors=_wrong, dtypes=dtypes.ALL, **HIDDEN)
def assert_nonzero(call: Call, input: Operand, message: str = "") -> None:
    """Assert that the only value of the input is not zero.

    Host:   returns at once.
    Raises: ShapeError unless there is one value; DeviceAssertError for zero, on the CPU.
    """
    if prod(input.shape) != 1:
        raise ShapeError(
            f"expected a tensor with one value, got {prod(input.shape)}",
            hint="use all() or any() first",
            operator=call.name,
        )
    call.launch(_kernel(input.dtype, message), ONE_THREAD, call.contiguous(input))


def assert_async(input: Operand, assert_msg: str = "") -> None:
    """Assert that the only value of a tensor is not zero.  Host: returns at once.

    Raises: ShapeError unless there is one value; DeviceAssertError for zero on the CPU.  On a GPU a later call raises
            AcceleratorError, and the process cannot use the device any more.
    """
    assert_nonzero(input, assert_msg)

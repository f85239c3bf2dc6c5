"""Problems that a vendor's library solves.  A problem says what is computed, and how in NumPy, never by whom.

`Driver.library_plan` turns a problem into a handle and a workspace size; `Driver.library_run` runs the handle
on addresses, one per operand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from . import host
from .dtypes import dtype
from .kernel import Access


class Problem(Protocol):
    """What a driver needs to know of any library call."""

    @property
    def kind(self) -> str: ...
    @property
    def operations(self) -> float: ...
    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]: ...
    def reference(self, *operands: Any) -> None: ...


@dataclass(frozen=True)
class Gemm:
    """out[b] = a[b] @ b[b] (+ bias), row-major, for `batch` independent products.

    a is [batch, m, k], b is [batch, k, n], out is [batch, m, n], bias is [n] or absent.
    Each operand has the row and column strides (one of them is 1) and the batch stride given, in elements.
    Operands: (out, a, b, bias); the address of an absent bias is 0.
    `allow_tf32` lets float32 products round their inputs to 10 bits of mantissa.
    """

    dtype: dtype
    batch: int
    m: int
    n: int
    k: int
    a_strides: tuple[int, int, int]
    b_strides: tuple[int, int, int]
    out_strides: tuple[int, int, int]
    has_bias: bool = False
    allow_tf32: bool = False

    @property
    def kind(self) -> str:
        return "gemm"

    @property
    def operations(self) -> float:
        return 2.0 * self.batch * self.m * self.n * self.k

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        out, a, b, bias = addresses
        shapes = self.batch, self.m, self.n, self.k
        batch, m, n, k = shapes
        return [
            Access(out, self.dtype, "w", (batch, m, n), self.out_strides),
            Access(a, self.dtype, "r", (batch, m, k), self.a_strides),
            Access(b, self.dtype, "r", (batch, k, n), self.b_strides),
            Access(bias, self.dtype, "r", (n,), (1,)) if self.has_bias else None,
        ]

    def reference(self, out: Any, a: Any, b: Any, bias: Any) -> None:
        """Half types are multiplied in float32 and rounded once; integers exactly."""
        wide = host.numpy().float32 if self.dtype.compute == "float" else a.dtype
        product = host.numpy().matmul(a.astype(wide, copy=False), b.astype(wide, copy=False))
        if bias is not None:
            product = product + bias.astype(wide, copy=False)
        out[...] = product

"""How a matrix product becomes one `problem.Gemm`, and which operands are copied first.

- Transposed and sliced operands go to the product as strides; a matrix without a unit stride, and a batch that no
  single step walks, is copied.
- A batch over one common right matrix is one tall product.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from .. import strides as st
from ..dtypes import dtype
from ..problem import Gemm

IN_PLACE, DENSE, FULL = "as it is", "a dense copy", "a copy for every batch index"
Sizes = tuple[int, ...]
Steps = tuple[int, int, int]


class Matrices(NamedTuple):
    """An operand as [*batch, rows, columns]."""

    shape: Sizes
    strides: Sizes


class Plan(NamedTuple):
    """A product, how its operands are passed, and their shape where they are copied."""

    problem: Gemm
    a: str
    b: str
    batch: Sizes


def plan_of(
    kind: dtype, a: Matrices, b: Matrices, batch: Sizes, has_bias: bool, allow_tf32: bool, activation: str = ""
) -> Plan:
    """Plan out = activation(a @ b) for a contiguous out of shape [*batch, m, n].

    The batches of a and b broadcast to `batch`.
    """
    m, k, n, count = a.shape[-2], a.shape[-1], b.shape[-1], prod(batch)
    if count > 1 and prod(b.shape[:-2]) == 1:
        a, m, count, batch = as_one_matrix(a), count * m, 1, ()
        b = Matrices(b.shape[-2:], b.strides[-2:])
    a_steps, a_passed = _passed(a, batch)
    b_steps, b_passed = _passed(b, batch)
    problem = Gemm(kind, count, m, n, k, a_steps, b_steps, (m * n, n, 1), has_bias, allow_tf32, activation)
    return Plan(problem, a_passed, b_passed, batch)


def as_one_matrix(a: Matrices) -> Matrices:
    """All rows of all batches.  Strides of 0 stand for what must be copied."""
    shape = prod(a.shape[:-1]), a.shape[-1]
    return Matrices(shape, st.view(a.shape, a.strides, shape) or (0, 0))


def _passed(operand: Matrices, batch: Sizes) -> tuple[Steps, str]:
    """(batch, row and column step, how the operand is passed)."""
    for strides, passed in ((operand.strides, IN_PLACE), (st.contiguous(operand.shape), DENSE)):
        rows_columns = unit_steps(*operand.shape[-2:], *strides[-2:])
        _, (walk,) = st.collapse(batch, [st.expand(operand.shape[:-2], strides[:-2], batch)])
        if rows_columns and len(walk) <= 1:
            return (walk[0] if walk else 0, *rows_columns), passed
    rows, columns = operand.shape[-2:]
    return (rows * columns, columns, 1), FULL


def unit_steps(rows: int, columns: int, row_step: int, column_step: int) -> tuple[int, int] | None:
    """The steps of a matrix with the free ones (of size 1) chosen so that one is 1; None if that cannot be."""
    if columns == 1:
        column_step = 1 if row_step != 1 else max(rows, 1)
        row_step = row_step if rows != 1 else 1
    elif rows == 1:
        row_step = columns if column_step == 1 else 1
    if (column_step == 1 and row_step >= columns) or (row_step == 1 and column_step >= rows):
        return row_step, column_step
    return None

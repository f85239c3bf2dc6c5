"""Dropout: a random mask and its scale, made in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from .. import dtypes
from ..dtypes import bool_, dtype
from ..errors import ArgumentError, DtypeError
from ..host import np
from ..kernel import Kernel, Pointer, Scalar
from .generate import check_floating
from .operator import Array, Call, ErrorSample, Operand, Sample, composite, operator
from .philox import fill_random, narrow_fractions, random_kernel, single_words
from .pointwise import floating_only, pointwise


@cache
def _dropout_kernel(kind: dtype) -> Kernel:
    c, number = kind.wide.cuda, kind.wide.numpy.type

    def make(seed: int, first: int, numel: int, mask: Any, input: Any, p: float, scale: float) -> Any:
        mask[...] = narrow_fractions(single_words(seed, first, numel)[:numel]) >= np.float32(p)
        return np.where(mask, input.astype(kind.wide.numpy) * number(scale), number(0))

    fields = [
        Pointer("mask", bool_, "w", ("numel",)), Pointer("input", kind, "r", ("numel",)),
        Scalar("p", "float64"), Scalar("scale", "float64"),
    ]  # fmt: skip
    maker = f"Dropout<{kind.cuda}, {c}>{{mask, input, (float)p, ({c})scale}}"
    return random_kernel("dropout", kind, maker, fields, make)


def _masks() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), 0, 2, dtype="bool", seed=1), 2.0))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), 0, 2, dtype="bool", seed=1), 1.5))
    yield Sample((Array((0, 3)), Array((3,), 0, 2, dtype="bool"), 2.0))


def _masked(name: str, types: Sequence[dtype], common: dtype) -> tuple[Sequence[dtype], dtype]:
    floating_only(name, types[:1], types[0])
    return [types[0], bool_, types[0]], types[0]


@pointwise(
    dtype=_masked, cuda="mask ? input * scale : 0", samples=_masks, dtypes=dtypes.FLOATING_TYPES, inplace=False,
    method=False, function=False,
)  # fmt: skip
def masked_scale(input: Operand, mask: Operand, scale: float) -> Any:
    """`scale * input` where the mask holds, else 0."""
    return np.where(mask, input * scale, input.dtype.type(0))  # type: ignore[attr-defined,call-overload,operator]


@masked_scale.derivative
def _(grad: Any, mask: Any, scale: Any) -> Any:
    return masked_scale(grad, mask, scale), None


@operator(samples=tuple, dtypes=dtypes.FLOATING_TYPES, method=False, function=False)
def fused_dropout(call: Call, input: Operand, p: float) -> Any:
    """(which elements are kept, the input with the others set to 0 and these scaled by 1 / (1 - p))."""
    mask, result = call.output(input.shape, bool_), call.output(input.shape, input.dtype)
    source = call.contiguous(input)
    fill_random(call, result, _dropout_kernel(input.dtype), 4, (mask, source, float(p), _scale(p)), None)
    return mask, result


@fused_dropout.derivative
def _(grads: Any, out: Any, p: Any) -> Any:
    return masked_scale(grads[1], out, _scale(p))


def _scale(p: float) -> float:
    return 1 / (1 - p) if p < 1 else 0.0


def _dropouts() -> Iterator[Sample]:
    for training in (True, False):
        yield Sample((Array((5, 4)), 0.5, training))
    yield Sample((Array((4, 3), layout="transposed"), 0.5, True))
    yield Sample((Array((0, 3)), 0.5, True))
    yield Sample((Array((3,)), 1.0, True))


def _no_dropout() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), -0.5), ArgumentError, "probability has to be between 0 and 1, but got -0.5")
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "expected a floating point tensor, got int64")


@composite(
    samples=_dropouts, errors=_no_dropout, dtypes=dtypes.FLOATING_TYPES, method=False, other_names={"train": "training"}
)
def dropout(input: Operand, p: float = 0.5, training: bool = True) -> Any:
    """Values set to 0 with probability p and scaled by 1 / (1 - p) otherwise; the input itself if not training.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: ArgumentError if p is no probability; DtypeError for integers in training.
    Example:
        >>> x = torch.dropout(torch.ones(1000), p=0.5, training=True)
        >>> sorted(set(x.tolist()))
        [0.0, 2.0]
    """
    if not 0 <= p <= 1:
        raise ArgumentError(
            f"probability has to be between 0 and 1, but got {p}",
            hint="p is the share of the elements that become 0, for example 0.5",
            operator="dropout",
        )
    if not training or p == 0:
        return input
    check_floating("dropout", input)
    return fused_dropout(input, p)[1]

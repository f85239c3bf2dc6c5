"""Padding: constant, reflect, replicate and circular (kernels/padding.cu).

A kernel reads each element of the result from one element of the input, or takes the constant.  The gradient adds the
parts of the border, one dimension after another, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import converted, dtype
from ..errors import ArgumentTypeError, NotSupportedError, ShapeError
from ..host import np
from ..kernel import MAX_DIMS, Kernel, Pointer, Scalar, Strided
from ..memory_formats import channels_to_end
from .copies import C_TYPES_BY_SIZE
from .operator import Array, Call, ErrorSample, Operand, Sample, composite, operator
from .pointwise import MAX_INDEX, PRELUDE, THREADS, grid_over, source_text

MODES = ("constant", "reflect", "replicate", "circular")
Pads = Sequence[tuple[int, int]]  # (before, after) of every dimension


def _places(mode: str, size: int, before: int, count: int) -> Any:
    """Return the index in the input of each of `count` elements along a dimension of the result."""
    at = np.arange(count) - before
    if mode == "replicate":
        return np.clip(at, 0, size - 1)
    if mode == "circular":
        return at % size
    at = np.abs(at)
    return np.where(at >= size, 2 * (size - 1) - at, at)


def _rows(dtype: dtype) -> int:
    """Return the number of indexes of the first dimension whose elements one thread moves."""
    return 8 if dtype.itemsize < 4 else 4


@cache
def _pad_kernel(dtype: dtype, mode: str, is_far: bool) -> Kernel:
    """Return the kernel with the layouts of input and result, and the elements in front of the input."""
    bits, index = C_TYPES_BY_SIZE[dtype.itemsize], "long long" if is_far else "int"
    entry = f"pad_{mode}_{8 * dtype.itemsize}{'_far' if is_far else ''}"
    names = [f"before{dim}" for dim in range(MAX_DIMS)]  # the members of Before
    code = f"""{PRELUDE}{source_text("padding.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({bits}* out, const {bits}* input,
    const __grid_constant__ Layout<1> layout, const __grid_constant__ Layout<1> frame, long long value,
    const __grid_constant__ Before before) {{
  pad<{MODES.index(mode)}, {index}, {_rows(dtype)}>(out, input, layout, frame, before, ({bits})value);
}}
"""

    def reference(out: Any, input: Any, value: int, *before: int) -> None:
        if mode == "constant":
            out[...] = np.array([value], "i8").astype(f"i{dtype.itemsize}").view(dtype.numpy)[0]
            if input is None:  # it has no elements
                return
            ends = [(max(a, 0), min(a + have, size)) for a, have, size in zip(before, input.shape, out.shape)]
            if all(start < stop for start, stop in ends):
                source = tuple(slice(start - a, stop - a) for (start, stop), a in zip(ends, before))
                out[tuple(slice(*bounds) for bounds in ends)] = input[source]
            return
        result = input
        for dim, (size, a, count) in enumerate(zip(input.shape, before, out.shape)):
            if a or size != count:
                result = np.take(result, _places(mode, size, a, count), axis=dim)
        out[...] = result

    params = [
        Pointer("out", dtype, "w", "frame"),
        Pointer("input", dtype, "r", "layout"),
        Strided("layout", ("input",)),
        Strided("frame", ("out",)),
        Scalar("value", "int64"),
        *[Scalar(name, "int64") for name in names],
    ]
    return Kernel(entry, code, params, reference, 0.0)


def _merged(shape: Sequence[int], strides: Sequence[int], pads: Pads, mode: str) -> list[tuple[int, int, int, int]]:
    """Return (size, stride, before, after) of each dimension, after merging dimensions that one loop can cover.

    An unpadded dimension is merged with the one before it if that is unpadded too or adds only constants.
    """
    merged: list[tuple[int, int, int, int]] = []
    for size, stride, (before, after) in zip(shape, strides, pads):
        if size == 1 and not before and not after:
            continue
        if merged and not before and not after:
            outer, apart, first, last = merged[-1]
            if apart == size * stride and (mode == "constant" or not first and not last):
                merged[-1] = outer * size, stride, first * size, last * size
                continue
        merged.append((size, stride, before, after))
    return merged or [(1, 1, 0, 0)]


def _padded_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), ((1, 0), (2, 1)), "constant", 1.5))
    yield Sample((Array((3, 4), layout="transposed"), ((-1, 2), (1, -2)), "constant"))
    yield Sample((Array((2, 3)), ((-3, 2), (0, 1)), "constant"))
    for mode in MODES[1:]:
        yield Sample((Array((2, 3, 4), layout="strided"), ((0, 0), (2, 1), (3, -1)), mode))
        yield Sample((Array((3, 4)), ((-1, 2), (1, 0)), mode))
    yield Sample((Array((0, 3)), ((0, 0), (1, 1)), "reflect"))
    yield Sample((Array((0, 3)), ((1, 0), (1, 1)), "constant"))


@operator(samples=_padded_samples, dtypes=dtypes.ALL, method=False, function=False)
def padded(call: Call, input: Operand, pads: Any, mode: str, value: Any = 0) -> Any:
    """Pad every dimension.  pads: (before, after) for each; negative numbers cut elements off."""
    shape = [size + sum(margins) for size, margins in zip(input.shape, pads)]
    if len(shape) > MAX_DIMS:
        raise ShapeError(
            f"padding takes at most {MAX_DIMS} dimensions, got shape {list(input.shape)}",
            hint="flatten() those that are not padded",
            operator=call.called,
        )
    out = call.output(shape, input.dtype)
    if out.numel():
        bits = np.array([converted(call.called, input.dtype, value)]).astype(input.dtype.numpy)
        number = int(bits.view(f"i{input.dtype.itemsize}")[0])
        sizes, steps, before, after = zip(*_merged(input.shape, input.strides, pads, mode))
        frame = tuple(map(sum, zip(sizes, before, after)))
        furthest = max(out.numel(), st.extent(sizes, steps), 2 * max(sizes) + 2 * max(map(abs, before)))
        kernel = _pad_kernel(input.dtype, mode, furthest > MAX_INDEX)
        layouts = (sizes, [steps]), (frame, [st.contiguous(frame)])
        grid = grid_over(-(-frame[0] // _rows(input.dtype)) * prod(frame[1:]), 1)
        call.launch(kernel, grid, out, input, *layouts, number, *before, *(0,) * (MAX_DIMS - len(before)))
    return out


@padded.derivative
def _(grad: Any, input_shape: Any, pads: Any, mode: str) -> Any:
    back = tuple((-before, -after) for before, after in pads)
    if mode == "constant":
        return padded(grad, back, mode)
    cut = tuple((max(-before, 0), max(-after, 0)) for before, after in pads)
    if any(map(any, cut)):
        grad = padded(grad, cut, "constant")
    for dim, (size, (before, after)) in enumerate(zip(input_shape, pads)):
        before, after = max(before, 0), max(after, 0)
        if before or after:
            middle = grad.narrow(dim, before, size)
            ends = grad.narrow(dim, 0, before), grad.narrow(dim, before + size, after)
            grad = _folded(middle, *ends, mode, dim)
    return grad


def _folded(middle: Any, first: Any, last: Any, mode: str, dim: int) -> Any:
    """Return the gradient along a dimension: the middle, plus the border's gradients at the elements copied there."""
    size, before, after = middle.shape[dim], first.shape[dim], last.shape[dim]
    if mode == "reflect":
        ends = (first.flip(dim), 1, size - 1 - before), (last.flip(dim), size - 1 - after, 1)
    elif mode == "replicate":
        ends = (first.sum(dim, True), 0, size - 1), (last.sum(dim, True), size - 1, 0)
    else:
        ends = (first, size - before, 0), (last, 0, size - after)
    for (part, *around), count in zip(ends, (before, after)):
        if count:
            wide = tuple(tuple(around) if axis == dim else (0, 0) for axis in range(len(middle.shape)))
            middle = middle + padded(part, wide, "constant")
    return middle


# public operators


def _pad_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), (1, 2)))
    yield Sample((Array((2, 3, 4)), (1, -1, 0, 2)), {"value": 2.5})
    yield Sample((Array((2, 3, 4)), [1, 2], "reflect"))
    yield Sample((Array((2, 3, 4, 2)), (1, 1, 2, 0), "replicate"))
    yield Sample((Array((2, 3, 4)), (1, 1, 2, 0), "circular"))
    yield Sample((Array((0, 3)), (1, 1)))


def _pad_errors() -> Iterator[ErrorSample]:
    line = Array((1, 2, 4))
    yield ErrorSample((line, (1,)), ShapeError, r"an even number of entries, got \[1\]")
    yield ErrorSample((Array((2,)), (1, 1, 1, 1)), ShapeError, r"4 entries,.* shape \[2\]")
    yield ErrorSample((line, (-3, -2)), ShapeError, r"\(-3, -2\) .* \[1, 2, 4\]")
    yield ErrorSample((line, (4, 0), "reflect"), ShapeError, "less than .* got 4 for dimension 2, of size 4")
    yield ErrorSample((line, (5, 0), "circular"), ShapeError, "more than once: 5 for dimension 2, of size 4")
    yield ErrorSample((Array((4,)), (1, 1), "reflect"), NotSupportedError, r"2 entries .* \[4\]")
    yield ErrorSample((line, (1, 1), "edge"), NotSupportedError, "'edge'")
    yield ErrorSample((line, (1, 1), "reflect", 1.0), ShapeError, "'reflect' takes no value, got 1.0")


def _pairs(name: str, shape: Sequence[int], pad: Any) -> tuple[tuple[int, int], ...]:
    """Return (before, after) of every dimension from the flat list, which begins with the last dimension."""
    if not isinstance(pad, (tuple, list)):
        raise ArgumentTypeError(f"pad must be a tuple of ints, got {pad!r}", hint="as in (1, 1)", operator=name)
    numbers = st.as_ints(pad)
    if len(numbers) % 2:
        raise ShapeError(
            f"pad must have an even number of entries, got {numbers}",
            hint="pass (before, after) for the last dimension, then for the dimension before it, and so on",
            operator=name,
        )
    if len(numbers) > 2 * len(shape):
        raise ShapeError(
            f"pad has {len(numbers)} entries, more than two for each dimension of shape {list(shape)}",
            hint="shorten pad, or add dimensions with unsqueeze()",
            operator=name,
        )
    pairs = list(zip(numbers[::2], numbers[1::2]))[::-1]
    pads = ((0, 0),) * (len(shape) - len(pairs)) + tuple(pairs)
    return pads


def _check_cut(name: str, shape: Sequence[int], pads: Pads) -> None:
    """Raise ShapeError if more elements are cut off than there are."""
    for dim, (size, (before, after)) in enumerate(zip(shape, pads)):
        if size + min(before, 0) + min(after, 0) < 0:
            raise ShapeError(
                f"pad ({before}, {after}) cuts off more elements than dimension {dim} has in shape {list(shape)}",
                hint="pass larger numbers: those below 0 cut elements off",
                operator=name,
            )


def _check_border(mode: str, input: Any, pads: Pads, count: int) -> None:
    """Raise ShapeError or NotSupportedError unless every border element has a source element in the input."""
    shape = input.shape
    if count not in (2, 4, 6) or len(shape) not in (count // 2 + 1, count // 2 + 2):
        raise NotSupportedError(
            f"{count} entries of pad are not supported for mode {mode!r} and shape {list(shape)}",
            hint="pass 2 entries for 2 or 3 dimensions, 4 for 3 or 4, 6 for 4 or 5",
            operator="pad",
        )
    for dim in range(1, len(shape)):
        size, most = shape[dim], max(pads[dim])
        if not size:
            raise ShapeError(
                f"mode {mode!r} needs elements in every dimension but the batch, got shape {list(shape)}",
                hint="use mode 'constant', which also pads empty tensors",
                operator="pad",
            )
        if mode == "reflect" and most >= size:
            raise ShapeError(
                f"a reflected border should be less than the size, got {most} for dimension {dim}, of size {size}",
                hint="pad in two steps, or by another mode",
                operator="pad",
            )
        if mode == "circular" and most > size:
            raise ShapeError(
                f"padding would wrap around more than once: {most} for dimension {dim}, of size {size}",
                hint="pad in two steps",
                operator="pad",
            )
    left = [shape[dim] + sum(pads[dim]) for dim in range(len(shape) - count // 2, len(shape))]
    if min(left) < 0 or max(left) < 1:
        raise ShapeError(
            f"pad leaves no elements of shape {list(shape)}: its last sizes would be {left}",
            hint="pass larger numbers: those below 0 cut elements off",
            operator="pad",
        )


def _in_format(input: Any, pads: Pads, mode: str, value: Any) -> Any:
    """Pad a tensor.  The channels-last formats are preserved, except in mode "circular"."""
    moves = None if mode == "circular" else channels_to_end(input.shape, input.strides)
    if moves is None:
        return padded(input, tuple(pads), mode, value)
    to_end, back = moves
    moved = tuple(pads[dim] for dim in to_end)
    return padded(input.permute(*to_end), moved, mode, value).permute(*back)


@composite(samples=_pad_samples, errors=_pad_errors, dtypes=dtypes.ALL, method=False, function=False)
def pad(input: Operand, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """Add elements before and after those of the last dimensions; numbers below 0 cut elements off.

    pad: (before, after) of the last dimension, then of the one before it, and so on.
    mode: "constant" adds `value` (0 if None); "reflect" mirrors the input without its edge, "replicate" repeats its
    edge and "circular" continues with its other end.
    Shapes: [*] gives [*] with the sizes enlarged.  Modes other than "constant" take 2 entries for 2 or 3 dimensions, 4
            for 3 or 4, and 6 for 4 or 5.
    Host:   returns at once.
    Raises: ShapeError for an odd or too large number of entries, or a border that does not fit, NotSupportedError for a
            bad mode, or a number of entries that it does not take.
    Example:
        >>> x = torch.tensor([[1, 2, 3]])
        >>> torch.nn.functional.pad(x, (1, 2))
        tensor([[0, 1, 2, 3, 0, 0]])
        >>> torch.nn.functional.pad(x, (2, 1), mode="reflect")
        tensor([[3, 2, 1, 2, 3, 2]])
    """
    pads = _pairs("pad", input.shape, pad)
    if mode not in MODES:
        raise NotSupportedError(f"unrecognised padding mode {mode!r}", hint=f"use one of {MODES}", operator="pad")
    if mode == "constant":
        _check_cut("pad", input.shape, pads)
        return _in_format(input, pads, mode, 0 if value is None else value)
    if value:
        raise ShapeError(
            f"mode {mode!r} takes no value, got {value}",
            hint="leave value out; only mode 'constant' accepts it",
            operator="pad",
        )
    _check_border(mode, input, pads, len(pad))
    if mode == "circular" and min(map(min, pads)) < 0:  # elements that are cut off do not wrap around
        _check_cut("pad", input.shape, pads)
        cut = [(min(before, 0), min(after, 0)) for before, after in pads]
        input = _in_format(input, cut, "constant", 0)
        pads = tuple((max(before, 0), max(after, 0)) for before, after in pads)
        _check_border(mode, input, pads, len(pad))
    return _in_format(input, pads, mode, 0)


def _constant_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), (1, 2), 2))
    yield Sample((Array((2, 3, 4), layout="transposed"), (1, -1, 0, 2)))


def _constant_errors() -> Iterator[ErrorSample]:
    yield from list(_pad_errors())[:3]


@composite(samples=_constant_samples, errors=_constant_errors, dtypes=dtypes.ALL, method=False)
def constant_pad_nd(input: Operand, pad: Any, value: Any = 0) -> Any:
    """Pad the last dimensions with the number `value`: `nn.functional.pad` with mode "constant".

    pad: the numbers of elements added before and after the last dimension, then the last but one, and so on.
    Shapes: each padded dimension grows by its two numbers.
    Host:   returns at once.
    Raises: ShapeError if `pad` has an odd or too large number of entries, or cuts off more elements than there are.
    Example:
        >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 1), 7)
        tensor([7, 1, 2, 7])
    """
    pads = _pairs("constant_pad_nd", input.shape, pad)
    _check_cut("constant_pad_nd", input.shape, pads)
    return _in_format(input, pads, "constant", value)

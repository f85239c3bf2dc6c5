"""Operations on lists of tensors in a few launches: the kernels; norm, clipping and loss scaling of gradients.

- Entry i of every list belongs to tensor i.  One launch takes up to MANY tensors.
- The lists of a call may mix types.  Each type has its own launches.
- Arithmetic is in float32 (in float64 for float64).  Each stored value is rounded once.
- Numbers are passed to the kernel by value, so a changed learning rate needs no new lowering.
- A tensor that is not dense is updated in a dense copy, which is written back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING, FLOATING_TYPES, dtype, float32, float64, int32
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Pointers, Scalar
from .copies import fill_kernel
from .operator import Array, Call, ErrorSample, Number, Operand, Operands, Sample, operator
from .pointwise import PRELUDE, THREADS, grid_over, source_text

MANY = 64  # tensors that one launch takes
ACCESS = 4096  # bytes that a block accesses at once: 16 per thread
CHUNK = 2 * ACCESS  # bytes of each list that a block of an update takes
LARGEST_CHUNK = 16 * ACCESS  # bytes for a norm, so that fewer blocks have to be joined
MAX_BLOCKS = 132 * 32  # for a launch of a norm
SMALL = 1e-6  # added to the norm before the division

LISTS_HINT = "all lists must have as many tensors, of the same shapes in the same order"
SHIFT = Scalar("shift", "int64")  # a chunk has 2**shift elements

HIDDEN: dict[str, Any] = {"dtypes": FLOATING_TYPES, "method": False, "function": False, "differentiable": False}


def list_samples(*lows: float) -> list[list[Array]]:
    """Return lists of arrays for samples, one list for each lowest value."""
    shapes = ((2, 3), (5,), (0,), (), (17, 3))
    return [
        [Array(shape, low, low + 2, seed=7 * number + index) for index, shape in enumerate(shapes)]
        for number, low in enumerate(lows)
    ]


# launches over lists of tensors


def check_lists(name: str, lists: dict[str, Sequence[Any]], written: Sequence[str]) -> None:
    """Raise ArgumentError, ShapeError or DtypeError unless all lists match the first one and can be written."""
    first = next(iter(lists))
    shapes, kinds = [tensor.shape for tensor in lists[first]], [tensor.dtype for tensor in lists[first]]
    check_floating(name, first, lists[first])
    for called, tensors in lists.items():
        if len(tensors) != len(shapes):
            raise ArgumentError(
                f"{first} has {len(shapes)} tensors, {called} has {len(tensors)}", hint=LISTS_HINT, operator=name
            )
        if [own.shape for own in tensors] != shapes:
            index = next(index for index, own in enumerate(tensors) if own.shape != shapes[index])
            raise ShapeError(
                f"{called}[{index}] has shape {list(tensors[index].shape)}, {first}[{index}] has {list(shapes[index])}",
                hint=LISTS_HINT,
                operator=name,
            )
        if called in written and [own.dtype for own in tensors] != kinds:
            index = next(index for index, own in enumerate(tensors) if own.dtype is not kinds[index])
            raise DtypeError(
                f"{called}[{index}] is {tensors[index].dtype.name}, expected {kinds[index].name}",
                hint=f"convert it with .to(torch.{kinds[index].name}): {called} is written, in the type of "
                f"{first}[{index}]",
                operator=name,
            )


def check_floating(name: str, called: str, tensors: Sequence[Any]) -> None:
    """Raise DtypeError unless all tensors of a list are floating point."""
    for index, tensor in enumerate(tensors):
        if tensor.dtype.category != FLOATING:
            raise DtypeError(
                f"{called}[{index}] is {tensor.dtype.name}, expected a floating point type",
                hint="convert it with .float(), or leave it out",
                operator=name,
            )


def _by_type(tensors: Sequence[Any]) -> Iterator[tuple[dtype, list[int]]]:
    """Yield (dtype, indexes of up to MANY tensors of that type).  Empty tensors are left out."""
    indexes_of: dict[dtype, list[int]] = {}
    for index, tensor in enumerate(tensors):
        if tensor.numel():
            indexes_of.setdefault(tensor.dtype, []).append(index)
    for common, indexes in indexes_of.items():
        for start in range(0, len(indexes), MANY):
            yield common, indexes[start : start + MANY]


def _in_one_order(call: Call, tensors: Sequence[Any], dtype: dtype, written_from: int) -> list[Any]:
    """Return tensors of one shape with their elements in one order in memory: flat views of them, or copies."""
    if all([tensor.dtype is dtype for tensor in tensors]) and _lie_alike(tensors):
        flat = (tensors[0].numel(),), (1,), 0
        return [tensor if tensor.is_contiguous() else call.part(tensor, *flat) for tensor in tensors]
    return [_copied(call, tensor, dtype, number >= written_from) for number, tensor in enumerate(tensors)]


def _lie_alike(tensors: Sequence[Any]) -> bool:
    """Return whether tensors of one shape have their elements in the same order, without gaps."""
    shape, strides = tensors[0].shape, tensors[0].strides
    orders = {tuple([step for size, step in zip(shape, tensor.strides) if size > 1]) for tensor in tensors}
    return len(orders) == 1 and st.is_compact(shape, strides)


def _copied(call: Call, tensor: Any, dtype: dtype, is_written: bool) -> Any:
    if is_written and st.overlaps_itself(tensor.shape, tensor.strides):
        raise ShapeError(
            f"more than one element of a written-to {tensor.dtype.name}{list(tensor.shape)} refers to a "
            f"single memory location (strides {list(tensor.strides)})",
            hint="clone() the tensor before writing it",
            operator=call.name,
        )
    return call.contiguous(tensor, dtype)


def _chunks(tensors: Sequence[Any], dtype: dtype, nbytes: int) -> tuple[int, int]:
    """Return (number of chunks of `nbytes`, elements per chunk as an exponent of 2)."""
    shift = (nbytes // dtype.itemsize).bit_length() - 1
    most = (1 << shift) - 1
    return sum([(tensor.numel() + most) >> shift for tensor in tensors]), shift


def update(
    call: Call, kernel: Callable[[dtype], Kernel], lists: Sequence[Sequence[Any]], read: int, *values: Any,
    beside: Sequence[Sequence[Any]] = (),
) -> None:  # fmt: skip
    """Launch a kernel over lists of tensors.  An empty list is absent.

    read: the number of lists, from the first, that are only read.
    beside: further lists with an entry per tensor, which are passed to the kernel after the others, unchanged.
    """
    batches = []
    for common, indexes in _by_type(lists[read]):
        given = [[tensors[index] for index in indexes] if tensors else [] for tensors in lists]
        present = [number for number, tensors in enumerate(given) if tensors]
        written_from = len([number for number in present if number < read])
        dense: list[list[Any]] = [[] for _ in given]
        for position in range(len(indexes)):
            entry = _in_one_order(call, [given[number][position] for number in present], common, written_from)
            for number, tensor in zip(present, entry):
                dense[number].append(tensor)
        others = [[values[index] for index in indexes] for values in beside]
        batches.append((common, given[read:], dense, others))
    for common, written, dense, others in batches:
        blocks, shift = _chunks(dense[read], common, CHUNK)
        call.launch(kernel(common), Grid((blocks, 1, 1), THREADS), *dense, *others, shift, *values)
        for target, copy in zip(chain(*written), chain(*dense[read:])):
            if copy._storage is not target._storage:
                call.assign(target, copy)


def lists_kernel(
    name: str, dtype: dtype, lists: dict[str, str], body: str, params: Sequence[Param], reference: Callable[..., None],
    operations: float,
) -> Kernel:  # fmt: skip
    """Make a kernel of multi_tensor.cu.  lists: the access mode of each list.  body: may name any of `params`."""
    ctypes = {"int64": "long long", "float64": "double"}
    arguments = [f"const __grid_constant__ Lists<{dtype.cuda}, {len(lists)}> lists"]
    for param in params:
        if isinstance(param, Pointer):
            arguments.append(f"{'const ' if param.access == 'r' else ''}{param.dtype.cuda}* {param.name}")
        elif isinstance(param, Scalar):
            arguments.append(f"{ctypes[param.ctype]} {param.name}")
        elif isinstance(param, Pointers):
            arguments.append(f"const __grid_constant__ Pointers<{param.dtype.cuda}, {param.count}> {param.name}")
    entry = f"{name}_{dtype.name}"
    source = _source(entry, arguments, body)
    pointers = [Pointers(name, MANY, dtype, access) for name, access in lists.items()]
    return Kernel(entry, source, [*pointers, *params], reference, operations)


def _source(entry: str, arguments: Sequence[str], body: str) -> str:
    return f"""{PRELUDE}{source_text("multi_tensor.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({", ".join(arguments)}) {{
  {body};
}}
"""


def float64_scalars(*names: str) -> list[Param]:
    return [Scalar(name, "float64") for name in names]


# copies


def _copy_samples() -> Iterator[Sample]:
    targets, sources = list_samples(-1, -2)
    yield Sample((targets, sources, 1.0))
    yield Sample((targets, sources, 0.5))


def _copy_errors() -> Iterator[ErrorSample]:
    text = r"sources\[0\] has shape \[3\], targets\[0\] has \[2\]"
    yield ErrorSample(([Array((2,))], [Array((3,))], 1.0), ShapeError, text)


@operator(samples=_copy_samples, errors=_copy_errors, mutates=("targets",), **HIDDEN)
def copy_many(call: Call, targets: Operands, sources: Operands, factor: Number) -> Any:
    """Write tensors of one device, multiplied by a factor, to others of their shapes and types.  Returns the targets.

    A target may be its own source.
    Host:   returns at once.
    Raises: ArgumentError, ShapeError or DtypeError if the lists do not match.
    """
    check_lists("copy_many", {"targets": targets, "sources": sources}, ("targets", "sources"))
    update(call, _copy_kernel, [sources, targets], 1, factor)
    return tuple(targets)


@cache
def _copy_kernel(dtype: dtype) -> Kernel:
    wide, c = dtype.wide.numpy, dtype.wide.cuda

    def reference(sources: Any, targets: Any, shift: int, factor: float) -> None:
        for source, target in zip(sources, targets):
            target[...] = source if factor == 1 else source.astype(wide) * wide.type(factor)

    body = f"update<2, 1, {c}>(lists, (int)shift, [&]({c} (&of)[2]) {{ of[1] = of[0] * ({c})factor; }})"
    lists = {"sources": "r", "targets": "w"}
    return lists_kernel("copy_many", dtype, lists, body, [SHIFT, *float64_scalars("factor")], reference, 1.0)


PACKED = 256  # bytes: the alignment of each packed tensor, equal to that of the driver's blocks


def packed_starts(sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return the offsets of packed tensors of these sizes, and the size of all, in bytes."""
    starts, end = [], 0
    for nbytes in sizes:
        starts.append(end)
        end += -(-nbytes // PACKED) * PACKED
    return starts, end


def _pack_samples() -> Iterator[Sample]:
    (tensors,) = list_samples(-2)
    yield Sample((tensors, True))
    yield Sample(([Array((64, 3)), Array((3, 64), layout="transposed")], True))


def _pack_errors() -> Iterator[ErrorSample]:
    one, other = Array((2,), dtype="float32"), Array((2,), dtype="float64")
    yield ErrorSample(([one, other], False), DtypeError, r"tensors\[1\] is float64, tensors\[0\] is float32")


@operator(samples=_pack_samples, errors=_pack_errors, **HIDDEN)
def pack_many(call: Call, tensors: Operands, clears: bool) -> Any:
    """Copy tensors of one device and type into one vector, each in row-major order from a multiple of PACKED bytes.

    clears: whether the gaps between them are zeros; else they are unset.
    Shapes: the vector has `packed_starts` bytes.
    Host:   returns at once.
    Raises: DtypeError for tensors of several types, or that are not floating point.
    """
    check_floating("pack_many", "tensors", tensors)
    common = tensors[0].dtype
    for index, tensor in enumerate(tensors):
        if tensor.dtype is not common:
            raise DtypeError(
                f"tensors[{index}] is {tensor.dtype.name}, tensors[0] is {common.name}",
                hint="pack the tensors of each type separately",
                operator="pack_many",
            )
    sizes = [tensor.numel() * common.itemsize for tensor in tensors]
    starts, nbytes = packed_starts(sizes)
    out = call.output((nbytes // common.itemsize,), common)
    if clears and sum(sizes) < nbytes:
        call.launch(fill_kernel(common), grid_over(out.numel()), out, 0.0, out.numel())
    dense = [call.contiguous(tensor) for tensor in tensors]
    parts = [
        call.part(out, tensor.shape, tensor.strides, start // common.itemsize) for tensor, start in zip(dense, starts)
    ]
    update(call, _copy_kernel, [dense, parts], 1, 1.0)
    return out


# clipping


def _limit_samples() -> Iterator[Sample]:
    (tensors,) = list_samples(-2)
    yield Sample((tensors, Array((), 3.0, 3.0, dtype="float32"), 1.0))
    yield Sample((tensors, Array((), 3.0, 3.0, dtype="float32"), 4.0))


def _limit_errors() -> Iterator[ErrorSample]:
    one, whole = [Array((2,))], [Array((2,), dtype="int64")]
    yield ErrorSample((one, Array((2,)), 1.0), ShapeError, r"the norm must be one number, got float32 of shape \[2\]")
    yield ErrorSample((whole, Array(()), 1.0), DtypeError, r"tensors\[0\] is int64, expected a floating")


@operator(samples=_limit_samples, errors=_limit_errors, mutates=("tensors",), **HIDDEN)
def limit_norm(call: Call, tensors: Operands, total: Operand, max_norm: Number) -> Any:
    """Scale tensors of one device, whose norm is `total`, to a norm of at most max_norm.  Returns the tensors.

    Host:   returns at once.
    Raises: ShapeError if `total` is not one number, DtypeError for tensors that are not floating point.
    """
    check_lists("limit_norm", {"tensors": tensors}, limit_norm.mutates)
    if total.shape:
        got = f"{total.dtype.name} of shape {list(total.shape)}"
        raise ShapeError(
            f"the norm must be one number, got {got}", hint="pass a result of get_total_norm", operator="limit_norm"
        )
    for wide in dict.fromkeys(tensor.dtype.wide for tensor in tensors):
        chosen = [tensor for tensor in tensors if tensor.dtype.wide is wide]
        update(call, _limit_kernel, [chosen], 0, call.contiguous(total, wide), max_norm, SMALL)
    return tuple(tensors)


@cache
def _limit_kernel(dtype: dtype) -> Kernel:
    wide = dtype.wide.numpy

    def reference(tensors: Any, shift: int, total: Any, most: float, small: float) -> None:
        factor = wide.type(most) / (total + wide.type(small))
        if not factor >= 1:
            for tensor in tensors:
                tensor[...] = tensor.astype(wide) * factor

    params = [SHIFT, Pointer("total", dtype.wide, "r", ()), *float64_scalars("most", "small")]
    body = f"limit<{dtype.wide.cuda}>(lists, (int)shift, total, most, small)"
    return lists_kernel("limit_norm", dtype, {"tensors": "rw"}, body, params, reference, 1.0)


def _clamp_samples() -> Iterator[Sample]:
    (tensors,) = list_samples(-2)
    yield Sample((tensors, -0.5, 0.75))


@operator(samples=_clamp_samples, mutates=("tensors",), **HIDDEN)
def clamp_many(call: Call, tensors: Operands, low: Number, high: Number) -> Any:
    """Limit every element of tensors of one device to [low, high]; NaN is unchanged.  Returns the tensors.

    Host:   returns at once.
    Raises: DtypeError for tensors that are not floating point.
    """
    check_lists("clamp_many", {"tensors": tensors}, clamp_many.mutates)
    update(call, _clamp_kernel, [tensors], 0, low, high)
    return tuple(tensors)


@cache
def _clamp_kernel(dtype: dtype) -> Kernel:
    wide = dtype.wide.numpy

    def reference(tensors: Any, shift: int, low: float, high: float) -> None:
        for tensor in tensors:
            tensor[...] = np.clip(tensor.astype(wide), low, high)

    body = f"clamp<{dtype.wide.cuda}>(lists, (int)shift, low, high)"
    return lists_kernel(
        "clamp_many", dtype, {"tensors": "rw"}, body, [SHIFT, *float64_scalars("low", "high")], reference, 1.0
    )


# scaling of losses


def _unscale_samples() -> Iterator[Sample]:
    (tensors,) = list_samples(-2)
    flag, factor = Array((), 0.0, 0.0, dtype="float32"), Array((), 0.25, 0.25, dtype="float32")
    yield Sample((tensors, [flag], factor))


def _unscale_errors() -> Iterator[ErrorSample]:
    number = Array((), dtype="float32")
    yield ErrorSample(([Array((2,), dtype="int64")], [number], number), DtypeError, r"tensors\[0\] is int64, expected")


@operator(samples=_unscale_samples, errors=_unscale_errors, mutates=("tensors", "found_inf"), **HIDDEN)
def unscale_many(call: Call, tensors: Operands, found_inf: Operands, inv_scale: Operand) -> Any:
    """Multiply tensors of one device by `inv_scale`; set `found_inf` to 1 if one of them held NaN or infinity.

    found_inf: a list of one float32 number.  inv_scale: a float32 number.
    Host:   returns at once.
    Raises: DtypeError for tensors that are not floating point.
    """
    check_floating("unscale_many", "tensors", tensors)
    (flag,) = found_inf
    update(call, _unscale_kernel, [tensors], 0, flag, inv_scale)
    return (*tensors, flag)


@cache
def _unscale_kernel(dtype: dtype) -> Kernel:
    wide = dtype.wide.numpy

    def reference(tensors: Any, shift: int, found: Any, factor: Any) -> None:
        for tensor in tensors:
            values = tensor.astype(wide)
            if not np.isfinite(values).all():
                found[...] = 1
            tensor[...] = values * wide.type(factor)

    params = [SHIFT, Pointer("found", float32, "rw", ()), Pointer("factor", float32, "r", ())]
    body = f"unscale<{dtype.wide.cuda}>(lists, (int)shift, found, factor)"
    return lists_kernel("unscale_many", dtype, {"tensors": "rw"}, body, params, reference, 1.0)


def _scale_samples() -> Iterator[Sample]:
    scale, tracker = Array((), 8.0, 8.0, dtype="float32"), Array((), 1, 1, dtype="int32")
    for value in (0.0, 2.0):
        for interval in (2, 3):
            yield Sample(([scale], [tracker], Array((), value, value, dtype="float32"), 2.0, 0.5, interval))


@operator(samples=_scale_samples, mutates=("scale", "growth_tracker"), **HIDDEN | {"dtypes": (float32,)})
def update_scale(
    call: Call, scale: Operands, growth_tracker: Operands, found_inf: Operand, growth_factor: Number,
    backoff_factor: Number, growth_interval: Number,
) -> Any:  # fmt: skip
    """Shrink a scale if `found_inf` is not 0; grow it after `growth_interval` successive calls with 0.

    scale: a list of one float32 number.  growth_tracker: a list of one int32 number, which counts these calls.
    Host:   returns at once.
    """
    (factor,), (count,) = scale, growth_tracker
    call.launch(
        _scale_kernel(), Grid((1, 1, 1), 1), factor, count, found_inf, growth_factor, backoff_factor, growth_interval
    )
    return factor, count


@cache
def _scale_kernel() -> Kernel:
    def reference(scale: Any, count: Any, found: Any, growth: float, backoff: float, interval: int) -> None:
        if found != 0:
            scale[...], count[...] = float(scale) * backoff, 0
            return
        count += 1
        if count == interval:
            grown = np.float32(float(scale) * growth)
            scale[...], count[...] = grown if np.isfinite(grown) else scale, 0

    params: list[Param] = [
        Pointer("scale", float32, "rw", ()), Pointer("count", int32, "rw", ()), Pointer("found", float32, "r", ()),
        *float64_scalars("growth", "backoff"), Scalar("interval", "int64"),
    ]  # fmt: skip
    arguments = ("float* scale", "int* count", "const float* found", "double growth", "double backoff")
    body = "grow_scale(scale, count, found, growth, backoff, interval)"
    source = _source("update_scale", (*arguments, "long long interval"), body)
    return Kernel("update_scale", source, params, reference, 1.0)


# norms

SQUARES, SIZES, LARGEST, SMALLEST, POWERS = range(5)
KIND_OF = {2.0: SQUARES, 1.0: SIZES, float("inf"): LARGEST, float("-inf"): SMALLEST}


def _norm_samples() -> Iterator[Sample]:
    (tensors,) = list_samples(-2)
    for order in (2.0, 1.0, 3.0, float("inf"), float("-inf")):
        yield Sample((tensors, order))


def _norm_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(([Array((2,))], 0.0), ArgumentError, r"order 0.0 is not supported")
    yield ErrorSample(([Array((2,), dtype="int64")],), DtypeError, r"tensors\[0\] is int64, expected a floating")


@operator(samples=_norm_samples, errors=_norm_errors, **HIDDEN)
def norm_of_many(call: Call, tensors: Operands, order: float = 2.0) -> Any:
    """Return the norm of all tensors of one device as one vector, in float32, or in float64 if one of them is.

    order: inf and -inf are the largest and the smallest absolute value.
    Shapes: one number.
    Host:   returns at once.
    Raises: ArgumentError for order 0, DtypeError for tensors that are not floating point.
    """
    if not order:
        raise ArgumentError(
            f"order {order} is not supported",
            hint="use another order: 2.0 is usual, float('inf') is the largest absolute value",
            operator="norm_of_many",
        )
    check_floating("norm_of_many", "tensors", tensors)
    groups = [(common, [tensors[index] for index in indexes]) for common, indexes in _by_type(tensors)]
    plans = [_spread(group, common) for common, group in groups]
    count = sum(blocks for blocks, _ in plans)
    parts = call.scratch((max(count, 1),), float64)
    what = KIND_OF.get(order, POWERS)
    start = 0
    for (common, group), (blocks, shift) in zip(groups, plans):
        dense = [call.contiguous(tensor) for tensor in group]
        grid = Grid((blocks, 1, 1), THREADS)
        call.launch(_parts_kernel(common), grid, dense, shift, parts, count, start, what, order)
        start += blocks
    out = call.output((), float64 if any(tensor.dtype is float64 for tensor in tensors) else float32)
    call.launch(_total_kernel(out.dtype), Grid((1, 1, 1), THREADS), out, parts, count, what, order)
    return out


def _spread(tensors: Sequence[Any], dtype: dtype) -> tuple[int, int]:
    """Return (number of blocks, elements per chunk as an exponent of 2) of the norm of these tensors."""
    nbytes = ACCESS
    chunks, shift = _chunks(tensors, dtype, nbytes)
    while chunks > MAX_BLOCKS and nbytes < LARGEST_CHUNK:
        nbytes *= 2
        chunks, shift = _chunks(tensors, dtype, nbytes)
    return min(chunks, MAX_BLOCKS), shift


@cache
def _parts_kernel(dtype: dtype) -> Kernel:
    wide = dtype.wide.numpy

    def reference(tensors: Any, shift: int, parts: Any, count: int, start: int, what: int, order: float) -> None:
        norms = [_joined(what, _mapped(what, np.abs(tensor.astype(wide)), order)) for tensor in tensors]
        parts[start:] = _joined(what, np.empty(0))
        parts[start] = _joined(what, np.array(norms, np.float64))

    params: list[Param] = [
        SHIFT, Pointer("parts", float64, "rw", ("count",)), Scalar("count", "int64"), Scalar("start", "int64"),
        Scalar("what", "int64"), Scalar("order", "float64"),
    ]  # fmt: skip
    body = f"norm_parts<{dtype.wide.cuda}>(lists, parts, start, (int)shift, (int)what, order)"
    return lists_kernel("norm_parts", dtype, {"tensors": "r"}, body, params, reference, 3.0)


@cache
def _total_kernel(dtype: dtype) -> Kernel:
    def reference(out: Any, parts: Any, count: int, what: int, order: float) -> None:
        total = _joined(what, parts)
        out[...] = np.sqrt(total) if what == SQUARES else total ** (1 / order) if what == POWERS else total

    params: list[Param] = [
        Pointer("out", dtype, "w", ()), Pointer("parts", float64, "r", ("count",)), Scalar("count", "int64"),
        Scalar("what", "int64"), Scalar("order", "float64"),
    ]  # fmt: skip
    arguments = (f"{dtype.cuda}* out", "const double* parts", "long long count", "long long what", "double order")
    entry = f"norm_total_{dtype.name}"
    source = _source(entry, arguments, "norm_total(out, parts, (int)count, (int)what, order)")
    return Kernel(entry, source, params, reference, 1.0)


def _mapped(what: int, sizes: Any, order: float) -> Any:
    return sizes * sizes if what == SQUARES else sizes**order if what == POWERS else sizes


def _joined(what: int, values: Any) -> Any:
    if what == SMALLEST:
        return np.min(values, initial=np.inf)
    return np.max(values, initial=0) if what == LARGEST else np.sum(values)

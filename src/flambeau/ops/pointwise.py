"""Pointwise operators: one body, one CUDA expression, every layout and every mix of types.

Each input is read as its compute type (`load`), the expression is evaluated, and the result is rounded once to
the output type (`store`).  Numbers are passed by value.

- One kernel serves every layout of its types.  Operands that are contiguous, at least along the fastest dimension, are
  read in accesses of 16 bytes where their addresses are aligned, which the kernel checks.  Others are read element by
  element.
- A vector has as many elements of each operand as 16 bytes hold of the widest type.  If the result is narrower, it has
  as many as 32 bytes hold, in two accesses.
- No kernel divides by a size: the last row of the layout has the reciprocals (kernels/pointwise.cu).
- Many threads keep loads in flight: a thread reads one vector of each operand, and registers are limited.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from string import Template
from typing import Any

from .. import strides as st
from ..dtypes import BOOL, FLOATING, INTEGER, bool_, converted, default, dtype, of_scalar, promote
from ..errors import DtypeError, ShapeError
from ..host import MANY, blocks_of, np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from .operator import POINTWISE, Number, Operator, Value, passed_as

ACCESS_BYTES = 16
# By the number of tensors read: the unpacked elements that a thread loads at once, and the blocks that a multiprocessor
# must hold, which limits registers.  Measured on an H200: more of either spills registers.
LOADS_AND_BLOCKS = {0: (4, 8), 1: (4, 8), 2: (3, 7), 3: (3, 6), 4: (3, 5), 5: (3, 4)}
LOADS_AND_BLOCKS_OF_MANY = (2, 3)
WAVE_BLOCKS = 132 * 8  # with fewer blocks, part of a large device is idle
MAX_GRID_BLOCKS = 2**31 - 1
MAX_OFFSETS = 2**32 - 2**16  # 32 bits, and a thread may count somewhat past the end
RECIPROCALS = "reciprocals"  # the name of the last row of a layout

Input = tuple[str, dtype | None, dtype]  # name, type in memory (None: a number), compute type
SourceOf = Callable[[str, dtype, Sequence[Input], str], str]  # (entry, result's type, inputs, expression) -> source
KernelLayout = tuple[st.Shape, list[st.Shape]]


def source_text(name: str) -> str:
    """Read a .cu file of ops/kernels."""
    with open(os.path.join(os.path.dirname(__file__), "kernels", name), encoding="utf-8") as file:
        return file.read()


_BODY = source_text("pointwise_body.cu")


def kernel_layout(shape: Sequence[int], strides: Sequence[Sequence[int]], width: int) -> KernelLayout:
    """Return (sizes, strides per operand and the row of reciprocals) with the fewest dimensions that fit every operand.

    The dimension with the smallest stride of the first operand comes first.
    """
    order = sorted(range(len(shape)), key=lambda dim: -strides[0][dim])
    sizes, steps = st.collapse([shape[dim] for dim in order], [[row[dim] for dim in order] for row in strides])
    sizes, steps = sizes[::-1] or (1,), [row[::-1] or (1,) for row in steps]
    return sizes, [*steps, _reciprocals(sizes, steps, width)]


def _reciprocals(sizes: st.Shape, steps: Sequence[st.Shape], width: int) -> st.Shape:
    is_far = max(prod(sizes), *(st.extent(sizes, row) for row in steps)) > MAX_OFFSETS
    packs = is_vectorized(sizes, steps, width)
    if len(sizes) == 1:
        return (int(packs) << 32 | is_far,)
    if is_far:
        return (-1,) + (0,) * (len(sizes) - 1)
    inverses = [(2**32 - 1) // size for size in sizes[:-1]]
    first = inverses[0] | (2**32 - 1) // (sizes[0] // width) << 32 if packs else inverses[0]
    return (first - 2**64 if first >= 2**63 else first, *inverses[1:], 0)


def is_vectorized(sizes: Sequence[int], steps: Sequence[Sequence[int]], width: int) -> bool:
    """Return whether every operand has whole vectors, or one repeated element, along dimension 0."""
    if width == 1 or len(sizes) > 1 and sizes[0] % width:
        return False
    return all(row[0] == 0 or row[0] == 1 and all(step % width == 0 for step in row[1:]) for row in steps)


def vector_width(out: dtype, inputs: Sequence[dtype]) -> int:
    """Return the number of elements of one vector."""
    widest = max(dtype.itemsize for dtype in (out, *inputs))
    if out.itemsize == widest:
        return ACCESS_BYTES // widest
    return min(ACCESS_BYTES // out.itemsize, 2 * ACCESS_BYTES // widest)


def pointwise_grid(layout: KernelLayout, width: int) -> Grid:
    """Return the grid in which every thread loads once.  Small arrays get more threads with fewer elements each."""
    sizes, steps = layout
    numel = prod(sizes)
    if steps[-1][0] != -1 and steps[-1][0] >> 32:
        blocks = -(-numel // (width * THREADS))
    else:
        singles, _ = LOADS_AND_BLOCKS.get(len(steps) - 2, LOADS_AND_BLOCKS_OF_MANY)
        blocks = max(-(-numel // (singles * THREADS)), min(-(-numel // THREADS), WAVE_BLOCKS))
    return Grid((max(1, min(blocks, MAX_GRID_BLOCKS)), 1, 1), THREADS)


def kernel_source(entry: str, out: dtype, inputs: Sequence[Input], cuda: str) -> str:
    """Return the source of a kernel.  It calls prelude.cu, math.cu and pointwise.cu."""
    tensors = tensors_of(inputs)
    singles, blocks = LOADS_AND_BLOCKS.get(len(tensors), LOADS_AND_BLOCKS_OF_MANY)
    body = Template(_BODY).substitute(_substitutions(out, inputs, tensors))
    return entry_source(entry, out, inputs, cuda, blocks, f"singles = {singles}", body)


def tensors_of(inputs: Sequence[Input]) -> list[tuple[str, dtype]]:
    """Return the names and types of the inputs that are tensors."""
    return [(name, dtype) for name, dtype, _ in inputs if dtype is not None]


def entry_source(
    entry: str, out: dtype, inputs: Sequence[Input], cuda: str, blocks: int, constants: str, body: str
) -> str:
    """Return the function `value`, which computes one element, and a kernel with a body.

    blocks: how many a multiprocessor must hold.  constants: of the body, besides the usual ones.
    """
    tensors = tensors_of(inputs)
    operands = 1 + len(tensors)
    arguments = [f"{out.cuda}* out", *map(_argument, inputs), f"const __grid_constant__ Layout<{operands + 1}> layout"]
    values = ", ".join(f"{compute.wide.cuda} {name}" for name, _, compute in inputs)
    return f"""
inline {out.cuda} value({values}) {{ return store<{out.cuda}>({cuda}); }}

extern "C" __global__ void __launch_bounds__({THREADS}, {blocks})
{entry}({", ".join(arguments)}) {{
  constexpr int threads = {THREADS}, operands = {operands}, {constants};
  constexpr int pack = {vector_width(out, [dtype for _, dtype in tensors])};
{body}}}
"""


def values_of(inputs: Sequence[Input], place: Callable[[str, int], str]) -> str:
    """Return the arguments of `value`: numbers, and the elements of tensors that `place(name, index)` reads."""
    at = iter(range(1, len(inputs) + 1))

    def value(name: str, stored: dtype | None, compute: dtype) -> str:
        if stored is None:
            return f"({compute.wide.cuda}){name}_number"
        read = place(name, next(at))
        if stored is not compute and compute.wide is not compute:
            read = f"store<{compute.cuda}>(widen({read}))"
        return f"load<{compute.wide.cuda}>({read})"

    return ", ".join(value(*operand) for operand in inputs)


def _substitutions(out: dtype, inputs: Sequence[Input], tensors: Sequence[tuple[str, dtype]]) -> dict[str, str]:
    """Return the text that replaces each $PART of kernels/pointwise_body.cu."""

    def every(statement: str) -> str:
        return " ".join(statement.format(n=name, t=dtype.cuda, at=at) for at, (name, dtype) in enumerate(tensors, 1))

    def values(template: str) -> str:
        return values_of(inputs, lambda name, at: template.format(n=name, at=at))

    aligned = every("&& (layout.stride[{at}][0] == 0 || is_aligned<pack>({n}_data))")
    return {
        "T": out.cuda,
        "ALIGNED": f"is_aligned<pack>(out) {aligned}",
        "PACKS": every("Loaded<{t}, pack> {n}_pack;"),
        "FETCH_LINE": every(
            "if (layout.stride[{at}][0]) {n}_pack.fetch({n}_data + place); else {n}_pack.fetch_one({n}_data);"
        ),
        "FETCH": every(
            "if (layout.stride[{at}][0]) {n}_pack.fetch({n}_data + at[0][{at}]); "
            "else {n}_pack.fetch_one({n}_data + at[0][{at}]);"
        ),
        "REPEAT": every("if (layout.stride[{at}][0] == 0) {n}_pack.repeat();"),
        "OF_PACK": values("{n}_pack[lane]"),
        "ONES": every("{t} {n}_one[singles];"),
        "FETCH_ONE": every("{n}_one[each] = {n}_data[at[each][{at}]];"),
        "OF_ONE": values("{n}_one[each]"),
        "OF_FAR": values("{n}_data[at[{at}]]"),
    }


def _argument(input: Input) -> str:
    name, dtype, compute = input
    if dtype is None:
        return f"{'double' if compute.category == FLOATING else 'long long'} {name}_number"
    return f"const {dtype.cuda}* {name}_data"


# operators

THREADS = 256
PER_THREAD = 4
MAX_INDEX = 2**31 - 2**24  # 31 bits, and a thread of `grid_over` may count somewhat past the end
FULL_DEVICE_BLOCKS = 132 * 32  # enough to fill any device; the kernel strides over the rest

PYTHON = {BOOL: bool, INTEGER: int, FLOATING: float}

Types = Sequence[dtype]
DtypeRule = Callable[[str, Types, dtype], tuple[Types, dtype]]


PRELUDE = source_text("prelude.cu") + source_text("math.cu")
POINTWISE_SOURCE = PRELUDE + source_text("pointwise.cu")


# dtype rules: (operator, input types, their common type) -> (the type each input is read as, the result's type)


def promoted(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Compute and return in the common type."""
    return [common] * len(types), common


def to_float(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Apply `promoted`; integers and bool become the default type."""
    result = common if common.is_floating_point else default.floating
    return [result] * len(types), result


def to_bool(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Compute in the common type, return bool."""
    return [common] * len(types), bool_


def as_bool(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Read every input as bool, return bool."""
    return [bool_] * len(types), bool_


def numbers(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Apply `promoted`; bool raises an error."""
    if common is bool_:
        raise DtypeError(
            "bool operands are not supported", hint="convert with .to(torch.uint8) or use logical_*", operator=name
        )
    return promoted(name, types, common)


def floating_only(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Apply `promoted`; integers and bool raise an error."""
    if not common.is_floating_point:
        raise DtypeError(
            f"operands must be floating point, got {common.name}", hint="convert with .float()", operator=name
        )
    return promoted(name, types, common)


def selected(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Read the first input as a bool condition; promote the others to one type."""
    if types[0] is not bool_:
        raise DtypeError(
            f"condition must be bool, got {types[0].name}", hint="compare first, for example x > 0", operator=name
        )
    rest = types[1]
    for other in types[2:]:
        rest = promote(rest, other)
    return [bool_, *[rest] * (len(types) - 1)], rest


class Pointwise(Operator):
    """An operator whose result at an index depends only on its inputs at that index.

    The compute type is the dtype in which the kernel calculates.  Parameters that accept no tensors, such as a bound,
    are numbers of the compute type and take no part in promotion.
    rule, cuda, cost: the arguments dtype, cuda and cost of `pointwise`.
    exact: whether numbers that the compute type cannot hold are errors; otherwise they wrap.
    factor: the name of a parameter whose numbers must fit the compute type and take no part in promotion.
    rounds: the names of parameters whose numbers are rounded to a 16-bit compute type; others are used in float32.
    source: the name of a file of ops/kernels with functions that the expression calls, in addition to math.cu.
    ufunc: the name of a NumPy function that computes the same as the body, if there is one; it can write to an array.
    Example:
        >>> torch.mul.__wrapped__.cuda, torch.mul.__wrapped__.cost
        ('input * other', 1.0)
    """

    casts = False  # whether out= may have any type

    def __init__(
        self, body: Callable[..., Any], rule: DtypeRule, cuda: str, cost: float, *, exact: bool = False,
        factor: str = "", rounds: Sequence[str] = (), source: str = "", ufunc: str = "", **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(body, POINTWISE, **options)
        self.rule = rule
        self.cuda = cuda
        self.cost = cost
        self.exact = exact
        self.factor = self.index_of[factor] if factor else -1
        self.rounds = [self.index_of[name] for name in rounds]
        self.source = source
        self.ufunc = ufunc
        self.weak = [not param.is_tensor or param.name == factor for param in self.parameters]  # unpromoted numbers
        self.kernels: dict[Any, Kernel] = {}

    def lower(self, call: Any, *operands: Any) -> Any:
        """Choose dtypes, shape, kernel and grid, and launch; raise DtypeError or ShapeError if operands do not fit."""
        out = call.given
        tensors = [operand for operand in operands if is_tensor(operand)]
        types = [type_of(operand) for operand in operands]
        computes, dtype = self.rule(self.name, types, common_type(self.promoting(operands)))
        shape = st.Size(st.broadcast([tensor.shape for tensor in tensors], self.name))
        if out is not None:
            check_out(self.name, out, shape, out.dtype if self.casts else dtype)
        result = call.output(shape, dtype, self.strides_of(shape, operands)) if out is None else out
        if prod(shape):
            inputs = [dtype if is_tensor(operand) else None for dtype, operand in zip(types, operands)]
            kernel = self.kernel(result.dtype, inputs, tuple(computes))
            values = [
                operand if is_tensor(operand) else self.number(call, at, operand, c)
                for at, (operand, c) in enumerate(zip(operands, computes))
            ]
            width = vector_width(result.dtype, [tensor.dtype for tensor in tensors])
            strides = [result.strides, *[st.expand(tensor.shape, tensor.strides, shape) for tensor in tensors]]
            layout = kernel_layout(shape, strides, width)
            kernel, grid, layout = self.spread(kernel, layout, width, [result, *tensors])
            call.launch(kernel, grid, result, *values, layout)
        return result

    def promoting(self, operands: Sequence[Any]) -> list[Any]:
        """Return the operands whose types determine the common dtype."""
        return [operand for operand, weak in zip(operands, self.weak) if not weak or is_tensor(operand)]

    def strides_of(self, shape: st.Shape, operands: Sequence[Any]) -> st.Shape:
        """Return the strides of a new result; a number that is an operand counts as a zero-dimensional tensor."""
        are_left_out = self.exact or self.factor >= 0
        return st.elementwise(shape, [
            (operand.shape, operand.strides) if is_tensor(operand) else ((), ())
            for operand, weak in zip(operands, self.weak) if is_tensor(operand) or not (weak or are_left_out)
        ])  # fmt: skip

    def number(self, call: Any, at: int, value: Any, compute: dtype) -> Any:
        """Convert operand `at`, a number, for the kernel; check it if it must fit the compute type, else wrap it."""
        if self.exact or at == self.factor:
            held = compute if self.exact else compute.wide
            return passed_as(value, partial(converted, call.called, held), PYTHON[compute.category])
        if at in self.rounds and compute.wide is not compute:
            return passed_as(value, partial(_rounded, compute), float)
        return passed_as(value, PYTHON[compute.category])

    def spread(
        self, kernel: Kernel, layout: KernelLayout, width: int, tensors: Sequence[Any]
    ) -> tuple[Kernel, Grid, KernelLayout]:
        """Return (kernel to launch, its grid, the layout to pass to it).

        width: the number of elements that a thread loads at once.  tensors: the result and the operands.
        """
        return kernel, pointwise_grid(layout, width), layout

    def kernel(self, out: dtype, inputs: Sequence[dtype | None], computes: tuple[dtype, ...]) -> Kernel:
        """Return the kernel for the dtypes of the result, of the inputs (None for a number) and of the computation."""
        key = (out, tuple(inputs), computes)
        if key not in self.kernels:
            self.kernels[key] = self._make_kernel(out, inputs, computes)
        return self.kernels[key]

    def _make_kernel(
        self, out: dtype, inputs: Sequence[dtype | None], computes: Sequence[dtype], end: str = "",
        source_of: SourceOf | None = None,
    ) -> Kernel:  # fmt: skip
        """Make the kernel.  ending: a suffix of its name.  source_of: makes its source, by default kernel_source."""
        names = [parameter.name for parameter in self.parameters]
        tensors = [name for name, stored in zip(names, inputs) if stored is not None]
        params: list[Param] = [Pointer("out", out, "w", "layout")]
        for name, stored, compute in zip(names, inputs, computes):
            if stored is None:
                params.append(Scalar(name, "float64" if compute.category == FLOATING else "int64"))
            else:
                params.append(Pointer(name, stored, "r", "layout"))
        params.append(Strided("layout", ("out", *tensors, RECIPROCALS)))
        tags = [stored.name if stored else f"n{compute.name}" for stored, compute in zip(inputs, computes)]
        entry = "_".join([self.name, out.name, *tags]) + end
        functions = POINTWISE_SOURCE + (source_text(self.source) if self.source else "")
        source = functions + (source_of or kernel_source)(entry, out, list(zip(names, inputs, computes)), self.cuda)
        is_plain = bool(self.ufunc) and all(
            stored is out and compute.wide is out for stored, compute in zip(inputs, computes)
        )
        reference = _of_ufunc(self.ufunc) if is_plain else _reference(self.body, computes, self.ufunc)
        kernel = Kernel(entry, source, params, reference, self.cost)
        if all(stored in (None, compute) and compute.wide is compute for stored, compute in zip(inputs, computes)):
            kernel.body, kernel.computes = self.body, tuple(computes)
            kernel.ufunc = self.ufunc if all(compute is out for compute in computes) else ""
        return kernel


def _rounded(half: dtype, value: int | float) -> float:
    """Round a number to a half type; beyond its range it becomes infinite."""
    with np.errstate(all="ignore"):
        return float(np.float32(value).astype(half.numpy))


def _number(value: int | float) -> Any:
    """Return a number with the type that it has in the launch buffer; `astype` converts it as C does."""
    return np.float64(value) if isinstance(value, float) else np.int64(value)


def _as_read(operand: Any, compute: dtype) -> Any:
    """Convert an operand to the wide type of its compute type, in which the body computes.

    An array of another type is rounded to the compute type first.
    """
    if not hasattr(operand, "astype"):
        return _number(operand).astype(compute.wide.numpy)
    if compute.wide is not compute and operand.dtype != compute.numpy:
        operand = operand.astype(np.float32, copy=False).astype(compute.numpy)
    return operand.astype(compute.wide.numpy, copy=False)


def _of_ufunc(name: str) -> Callable[..., None]:
    """Return the reference of a kernel whose operands and result have the type that NumPy computes in."""

    def reference(out: Any, *operands: Any) -> None:
        getattr(np, name)(*operands, out=out)

    return reference


def _reference(body: Callable[..., Any], computes: Sequence[dtype], ufunc: str = "") -> Callable[..., None]:
    wide = [dtype.wide for dtype in computes]

    def converted(operands: Sequence[Any]) -> list[Any]:
        return [_as_read(operand, compute) for operand, compute in zip(operands, computes)]

    def compute(out: Any, *operands: Any) -> None:
        values = converted(operands)
        result = body(*values)
        if out.itemsize == 2 and out.dtype.kind not in "iu" and getattr(result, "dtype", None) == np.float64:
            result = result.astype(np.float32)  # as in PyTorch, float64 is rounded to a half type through float32
        out[...] = result

    def reference(out: Any, *operands: Any) -> None:
        if ufunc and all(getattr(operand, "dtype", own.numpy) == own.numpy for operand, own in zip(operands, wide)):
            values = converted(operands)
            if all(value.dtype == out.dtype for value in values):
                getattr(np, ufunc)(*values, out=out)
                return
        blocks = blocks_of(out, *operands) if out.size >= MANY else None
        for block in blocks or [[out, *operands]]:
            compute(*block)

    return reference


def grid_over(numel: int, per_thread: int = PER_THREAD) -> Grid:
    """Return a grid for a kernel whose threads loop over `numel` elements with a stride."""
    blocks = -(-numel // (THREADS * per_thread))
    return Grid((max(1, min(blocks, FULL_DEVICE_BLOCKS)), 1, 1), THREADS)


def is_tensor(operand: Any) -> bool:
    """Return whether an operand is a tensor; if not, it is a number."""
    return hasattr(operand, "strides")


def numpy_type(array: Any) -> Any:
    """Return the NumPy dtype of an argument of the body of a pointwise operator."""
    return array.dtype


def type_of(operand: Any) -> dtype:
    """Return a tensor's type, or the type of a number that is not promoted with tensors."""
    if is_tensor(operand):
        own: dtype = operand.dtype
        return own
    return of_scalar(operand.kind() if type(operand) is Number else operand, default.floating)


def common_type(operands: Sequence[Any]) -> dtype:
    """Return the result type of tensors and numbers together.

    Tensors with dimensions decide.  A zero-dimensional tensor counts only if its category is higher, as float is with
    integers.  So does a number, compared with both.
    """
    ranks: list[dtype | None] = [None, None, None]
    for operand in operands:
        rank = 2 if not is_tensor(operand) else 0 if operand.shape else 1
        have, own = ranks[rank], type_of(operand)
        ranks[rank] = own if have is None else promote(have, own)
    common: dtype | None = None
    for own_type in ranks:
        if own_type is not None and (common is None or own_type.category > common.category):
            common = own_type
    assert common is not None
    return common


def check_out(name: str, out: Any, shape: Sequence[int], result: dtype) -> None:
    """Raise ShapeError or DtypeError if `out` cannot take a result of this shape and type."""
    if tuple(out.shape) != tuple(shape):
        raise unlike_result(name, shape, out.shape)
    if result.category > out.dtype.category:
        raise uncastable(name, result, out.dtype)


def unlike_result(name: str, result: Sequence[int], target: Sequence[int]) -> ShapeError:
    return ShapeError(
        f"the result has shape {list(result)}, the tensor to write has shape {list(target)}",
        hint=f"write into a tensor of shape {list(result)}, or use the form that makes a new one",
        operator=name,
    )


def uncastable(name: str, result: dtype, target: dtype) -> DtypeError:
    return DtypeError(
        f"result type {result.name} can't be cast to the desired output type {target.name}",
        hint=f"write into a tensor of {result.name}, or convert the operands with .to(torch.{target.name})",
        operator=name,
    )


def pointwise(
    *, dtype: DtypeRule, cuda: str, cost: float = 1.0, **options: Any
) -> Callable[[Callable[..., Any]], Pointwise]:
    """Return a decorator that makes a pointwise operator from a body on NumPy arrays of the compute type.

    dtype: a rule for the dtypes of computation and result, such as `promoted`, `to_float` or `to_bool`.
    cuda: the same computation, as a CUDA C++ expression of the parameter names.
    cost: arithmetic operations per element.
    exact, factor, rounds, source, ufunc: see Pointwise.  The others are those of Operator; inplace is True by default.
    Example:
        >>> from flambeau.ops.operator import REGISTRY
        >>> from flambeau.ops.pointwise import pointwise, promoted
        >>> @pointwise(dtype=promoted, cuda="2 * input + other", samples=tuple)
        ... def twice_plus(input: "Value", other: "Value"):
        ...     return 2 * input + other
        >>> twice_plus(torch.tensor([1.0, 2.0]), 10)
        tensor([12., 14.])
        >>> del REGISTRY["twice_plus"]
    """
    options.setdefault("inplace", True)
    return lambda body: Pointwise(body, dtype, cuda, cost, **options)


__all__ = ["Pointwise", "Value", "np", "pointwise"]

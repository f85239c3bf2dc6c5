"""The pointwise family: one body, one CUDA expression, every layout and every mix of types.

Each input is read as its compute type (`load`), the expression is evaluated, and the result is rounded once to
the output type (`store`).  Numbers travel by value.  One kernel walks every layout (pointwise_source.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from .. import strides as st
from ..dtypes import BOOL, FLOATING, INTEGER, bool_, dtype, float32, of_scalar, promote
from ..errors import DtypeError, ShapeError
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from ..scalars import converted
from .operator import POINTWISE, Number, Operator, Value, passed_as
from .pointwise_source import WALK, Walk, grid_of, kernel_text, pack_of, walked

THREADS = 256
PER_THREAD = 4
MAX_BLOCKS = 132 * 32  # enough to fill any device; the kernel strides over the rest
_SOURCES = Path(__file__).parent / "kernels"

PYTHON = {BOOL: bool, INTEGER: int, FLOATING: float}

Types = Sequence[dtype]
Rule = Callable[[str, Types, dtype], tuple[Types, dtype]]


def source_text(name: str) -> str:
    """The text of a .cu file of ops/kernels."""
    return (_SOURCES / name).read_text()


PRELUDE = source_text("prelude.cu") + source_text("math.cu")
WALKING = PRELUDE + source_text("pointwise.cu")


# dtype rules: (operator, input types, their common type) -> (the type each input is read as, the result's type)


def promoted(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Compute and return in the common type."""
    return [common] * len(types), common


def to_float(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """As `promoted`, but integers and bool become float32."""
    result = common if common.is_floating_point else float32
    return [result] * len(types), result


def to_bool(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Compute in the common type, answer bool."""
    return [common] * len(types), bool_


def as_bool(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Read every input as bool, answer bool."""
    return [bool_] * len(types), bool_


def numbers(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """As `promoted`; bool is refused."""
    if common is bool_:
        raise DtypeError(
            "bool operands are not supported", hint="convert with .to(torch.uint8) or use logical_*", operator=name
        )
    return promoted(name, types, common)


def floating_only(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """As `promoted`; integers and bool are refused."""
    if not common.is_floating_point:
        raise DtypeError(
            f"operands must be floating point, got {common.name}", hint="convert with .float()", operator=name
        )
    return promoted(name, types, common)


def selected(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """The first input is a condition, read as bool; the others promote."""
    if types[0] is not bool_:
        raise DtypeError(
            f"condition must be bool, got {types[0].name}", hint="compare first, for example x > 0", operator=name
        )
    rest = types[1]
    for each in types[2:]:
        rest = promote(rest, each)
    return [bool_, *[rest] * (len(types) - 1)], rest


class Pointwise(Operator):
    """An operator whose result at an index depends on its inputs at that index alone.

    exact: numbers must fit the type that is computed in; else they wrap.
    factor: a parameter of which a number must fit that type, and does not take part in promotion.
    """

    casts = False  # whether a result may be written into a tensor of any type

    def __init__(
        self, body: Callable[..., Any], rule: Rule, cuda: str, cost: float, *, exact: bool = False, factor: str = "",
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(body, POINTWISE, **options)
        self.rule = rule
        self.cuda = cuda
        self.cost = cost
        self.exact = exact
        self.factor = self.index_of[factor] if factor else -1
        self.kernels: dict[Any, Kernel] = {}

    def lower(self, call: Any, *operands: Any) -> Any:
        """Decide types, shape, kernel and grid.  Raises DtypeError or ShapeError."""
        out = call.given
        tensors = [each for each in operands if is_tensor(each)]
        types = [type_of(each) for each in operands]
        promoting = [each for at, each in enumerate(operands) if at != self.factor or is_tensor(each)]
        computes, kind = self.rule(self.name, types, common_type(promoting))
        shape = st.Size(st.broadcast([each.shape for each in tensors], self.name))
        if out is not None:
            check_out(self.name, out, shape, out.dtype if self.casts else kind)
        result = call.output(shape, kind, self.strides_of(shape, operands)) if out is None else out
        if prod(shape):
            inputs = [kind if is_tensor(each) else None for kind, each in zip(types, operands)]
            kernel = self.kernel(result.dtype, inputs, tuple(computes))
            values = [
                each if is_tensor(each) else self.number(call, at, each, c)
                for at, (each, c) in enumerate(zip(operands, computes))
            ]
            pack = pack_of(result.dtype, [each.dtype for each in tensors])
            strides = [result.strides, *[st.expand(each.shape, each.strides, shape) for each in tensors]]
            kernel, grid, walk = self.spread(kernel, walked(shape, strides, pack), pack)
            call.launch(kernel, grid, result, *values, walk)
        return result

    def strides_of(self, shape: Sequence[int], operands: Sequence[Any]) -> st.Shape:
        """The strides of a new result.  A number counts as a tensor without dimensions where it is an operand."""
        laid = [(each.shape, each.strides) if is_tensor(each) else ((), ()) for each in operands]
        if self.exact or self.factor >= 0:
            laid = [each for each, operand in zip(laid, operands) if is_tensor(operand)]
        return st.elementwise(shape, laid)

    def number(self, call: Any, at: int, value: Any, compute: dtype) -> Any:
        """A number as it is passed to the kernel: checked if it is an argument, else left to wrap in the kernel."""
        if self.exact or at == self.factor:
            held = compute if self.exact else compute.wide
            return passed_as(value, partial(converted, call.called, held), PYTHON[compute.category])
        return passed_as(value, PYTHON[compute.category])

    def spread(self, kernel: Kernel, walk: Walk, pack: int) -> tuple[Kernel, Grid, Walk]:
        """The kernel to launch, its grid and how it walks its operands."""
        return kernel, grid_of(walk, pack), walk

    def kernel(self, out: dtype, inputs: Sequence[dtype | None], computes: tuple[dtype, ...]) -> Kernel:
        """The kernel for these types; an input of None is a number."""
        key = (out, tuple(inputs), computes)
        if key not in self.kernels:
            self.kernels[key] = self._make_kernel(out, inputs, computes)
        return self.kernels[key]

    def _make_kernel(self, out: dtype, inputs: Sequence[dtype | None], computes: Sequence[dtype]) -> Kernel:
        names = [parameter.name for parameter in self.parameters]
        tensors = [name for name, each in zip(names, inputs) if each is not None]
        params: list[Param] = [Pointer("out", out, "w", "layout")]
        for name, each, compute in zip(names, inputs, computes):
            if each is None:
                params.append(Scalar(name, "float64" if compute.category == FLOATING else "int64"))
            else:
                params.append(Pointer(name, each, "r", "layout"))
        params.append(Strided("layout", ("out", *tensors, WALK)))
        tags = [out.name] + [each.name if each else f"n{compute.name}" for each, compute in zip(inputs, computes)]
        entry = "_".join([self.name, *tags])
        source = WALKING + kernel_text(entry, out, list(zip(names, inputs, computes)), self.cuda)
        made = Kernel(entry, source, params, _reference(self.body, computes), self.cost)
        if all(each in (None, kind) and kind.wide is kind for each, kind in zip(inputs, computes)):
            made.body, made.computes = self.body, tuple(computes)
        return made


def _number(value: int | float) -> Any:
    """A number as it lies in the launch buffer; `astype` then converts it as C does."""
    return np.float64(value) if isinstance(value, float) else np.int64(value)


def _reference(body: Callable[..., Any], computes: Sequence[dtype]) -> Callable[..., None]:
    wide = [each.wide for each in computes]

    def reference(out: Any, *operands: Any) -> None:
        values = [
            each.astype(kind.numpy, copy=False) if hasattr(each, "astype") else _number(each).astype(kind.numpy)
            for each, kind in zip(operands, wide)
        ]
        result = body(*values)
        if out.itemsize == 2 and getattr(result, "dtype", None) == np.float64:
            result = result.astype(np.float32)  # as PyTorch: float64 becomes a half type through float32
        out[...] = result

    return reference


def grid_over(numel: int, per_thread: int = PER_THREAD) -> Grid:
    """A grid whose threads stride over `numel` elements."""
    blocks = -(-numel // (THREADS * per_thread))
    return Grid((max(1, min(blocks, MAX_BLOCKS)), 1, 1), THREADS)


def is_tensor(operand: Any) -> bool:
    """Whether an operand of a call is a tensor, or else a number."""
    return hasattr(operand, "strides")


def type_of(operand: Any) -> dtype:
    """A tensor's type, or the type that a number has when nothing else decides."""
    if is_tensor(operand):
        return operand.dtype  # type: ignore[no-any-return]
    return of_scalar(operand.kind() if type(operand) is Number else operand, float32)


def common_type(operands: Sequence[Any]) -> dtype:
    """The result type of tensors and numbers together.

    Tensors with dimensions decide; a zero-dimensional tensor, and after it a number, counts only where its category is
    higher (a float with integers).
    """
    ranks: list[dtype | None] = [None, None, None]
    for each in operands:
        rank = 2 if not is_tensor(each) else 0 if each.shape else 1
        have, own = ranks[rank], type_of(each)
        ranks[rank] = own if have is None else promote(have, own)
    common: dtype | None = None
    for kind in ranks:
        if kind is not None and (common is None or kind.category > common.category):
            common = kind
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
    *, dtype: Rule, cuda: str, cost: float = 1.0, **options: Any
) -> Callable[[Callable[..., Any]], Pointwise]:
    """Make a pointwise operator of a body on NumPy arrays of the compute type.

    cuda: the same as an expression of CUDA C++ over the parameter names.  cost: arithmetic operations per element.
    exact, factor: see Pointwise.
    """
    options.setdefault("inplace", True)
    return lambda body: Pointwise(body, dtype, cuda, cost, **options)


__all__ = ["Pointwise", "Value", "np", "pointwise"]

"""Random calls of operators, compared with PyTorch: values, types, shapes, strides, offsets and classes of errors.

    python tests/oracle/fuzz_operators.py --seed 1 --count 5000        # print the differences
    python tests/oracle/fuzz_operators.py --record                     # write fuzz_operators.json anew

A case is a text that is evaluated with both libraries, and the tensors `a` to `d` that it uses: random layouts over
random values.  PyTorch computes on the CPU, flambeau on the CPU and on a virtual GPU.  Case number i of a seed is
always the same.  `MEANT` lists the differences that are meant; docs/differences.md says why.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

RECORDED = Path(__file__).with_suffix(".json")
RECORDED_SEED, RECORDED_COUNT = 2013, 400

FLOATS = ("float32", "float64", "float16", "bfloat16")
WHOLES = ("int64", "int32", "int16", "int8", "uint8")
TYPES = (*FLOATS, *WHOLES, "bool")
USUAL = ("float32", "float32", "float64", "int64", *TYPES)  # drawn more often
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-10}
NAMES = "abcd"
ACCELERATOR = "AcceleratorError"  # on a GPU an index out of range is known later
NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "-2.5", "True", "1e-3", "100", "float('inf')", "float('nan')")
ODD_NUMBERS = ("300", "-300", "2**31", "-2**40", "1e300", "70000")


class Tensor(NamedTuple):
    """A view of given shape, strides and offset over a storage of `values`."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    values: list[Any]


class Case(NamedTuple):
    """An expression, the tensors that it names, and whether the strides of its result are compared."""

    text: str
    tensors: dict[str, Tensor]
    strided: bool = True


# drawing tensors


class Draw:
    """Random choices of one case.  Tensors are given names as they are drawn."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.tensors: dict[str, Tensor] = {}

    def one(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self) -> str:
        return self.one(ODD_NUMBERS) if self.chance(0.1) else self.one(NUMBERS)

    def kind(self) -> str:
        return self.one(USUAL)  # type: ignore[no-any-return]

    def size(self, most: int = 4) -> int:
        return 0 if self.chance(0.04) else self.random.randint(1, most)

    def shape(self, ndim: int | None = None) -> tuple[int, ...]:
        count = self.one((0, 1, 1, 2, 2, 2, 3, 3, 4)) if ndim is None else ndim
        return tuple(1 if self.chance(0.15) else self.size() for _ in range(count))

    def beside(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that most often broadcasts with another."""
        if self.chance(0.5):
            return tuple(shape)
        kept = list(shape[self.random.randint(0, len(shape)) :]) if self.chance(0.4) else list(shape)
        made = [1 if self.chance(0.3) else size for size in kept]
        if made and self.chance(0.04):
            made[-1] += 1
        return tuple(made)

    def tensor(
        self, shape: Sequence[int] | None = None, kind: str | None = None, whole: tuple[int, int] | None = None
    ) -> str:
        """Add a tensor; its name.  whole: bounds of integer values that are no accident, such as indexes."""
        size = tuple(self.shape() if shape is None else shape)
        dtype = self.kind() if kind is None else kind
        strides, extent = self._strides(size)
        offset = self.random.randint(1, 3) if self.chance(0.15) else 0
        values = [self._value(dtype, whole) for _ in range(extent + offset)]
        name = NAMES[len(self.tensors)]
        self.tensors[name] = Tensor(size, strides, offset, dtype, values)
        return name

    def _strides(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Strides in some order, sometimes with gaps or repeats, and how many elements they reach."""
        order = list(reversed(range(len(shape))))
        if self.chance(0.45):
            self.random.shuffle(order)
        strides, step = [0] * len(shape), 1
        for dim in order:
            strides[dim] = 0 if self.chance(0.04) else step
            step *= max(shape[dim], 1) * (2 if self.chance(0.08) else 1)
        reach = sum(max(size - 1, 0) * each for size, each in zip(shape, strides)) + 1
        return tuple(strides), reach

    def _value(self, dtype: str, whole: tuple[int, int] | None) -> Any:
        if whole is not None:
            return self.random.randint(*whole)
        if dtype == "bool":
            return self.chance(0.5)
        if dtype not in FLOATS:
            low = 0 if dtype == "uint8" else -5
            return self.one((127, low, 100)) if self.chance(0.03) else self.random.randint(low, 6)
        if self.chance(0.03):
            return self.one(("nan", "inf", "-inf", 0.0, -0.0))
        return self.random.randint(-16, 16) / 4

    def dim(self, ndim: int) -> int:
        """A dimension, now and then out of range."""
        room = max(ndim, 1)
        return self.random.randint(-room - 1, room) if self.chance(0.05) else self.random.randint(-room, room - 1)

    def dims(self, ndim: int) -> str:
        if self.chance(0.2):
            return self.one(("None", "()", "[]"))
        found = tuple(self.dim(ndim) for _ in range(self.random.randint(1, max(ndim, 1))))
        return str(found[0]) if len(found) == 1 and self.chance(0.7) else str(found)

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    def call(self, name: str, first: str, *rest: str, inplace: bool = True, method: bool = True) -> str:
        """A call as a function, as a method, in place or with out=."""
        form = self.random.random()
        if inplace and form < 0.2:
            return f"{first}.{name}_({', '.join(rest)})"
        if method and form < 0.5:
            return f"{first}.{name}({', '.join(rest)})"
        given = ", ".join([first, *rest])
        return f"torch.{name}({given})"

    def with_out(self, text: str, share: float = 0.1) -> str:
        """The call of a function with out=, an empty tensor or one of the result's type and shape."""
        if not text.startswith("torch.") or not text.endswith(")") or not self.chance(share):
            return text
        out = "torch.empty(0, dtype=(R).dtype, device=D)" if self.chance(0.5) else "torch.zeros_like(R)"
        return f"{text[:-1]}, out={out.replace('R', text)})"


# drawing calls


UNARY = (
    "abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log1p",
    "logical_not", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "square",
    "tanh", "trunc", "bitwise_not",
)  # fmt: skip
PREDICATES = ("isfinite", "isinf", "isnan")
BINARY = (
    "add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "maximum", "minimum", "eq", "ne", "lt",
    "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
OF_TENSORS = ("maximum", "minimum", "logical_and", "logical_or", "logical_xor")  # take no number
SYMBOLS = ("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^", "<<", ">>")


def unary(draw: Draw) -> Case:
    name = draw.one(UNARY)
    a = draw.tensor()
    return Case(draw.with_out(draw.call(name, a, inplace=name not in PREDICATES)), draw.tensors)


def other(draw: Draw, a: str) -> str:
    """A second operand: a tensor, or a number."""
    if draw.chance(0.35):
        return draw.number()
    return draw.tensor(draw.beside(draw.shape_of(a)), draw.tensors[a].dtype if draw.chance(0.5) else None)


def binary(draw: Draw) -> Case:
    a = draw.tensor()
    name = draw.one(BINARY)
    b = draw.tensor(draw.beside(draw.shape_of(a))) if name in OF_TENSORS else other(draw, a)
    if name in ("add", "sub") and draw.chance(0.3):
        return Case(draw.call(name, a, b, f"alpha={draw.number()}"), draw.tensors)
    return Case(draw.with_out(draw.call(name, a, b)), draw.tensors)


def symbol(draw: Draw) -> Case:
    a = draw.tensor()
    pair = [a, other(draw, a)]
    if draw.chance(0.4):
        pair.reverse()
    return Case(f" {draw.one(SYMBOLS)} ".join(pair), draw.tensors)


def ternary(draw: Draw) -> Case:
    a = draw.tensor(kind=draw.kind())
    shape, kind = draw.shape_of(a), draw.tensors[a].dtype
    name = draw.one(("addcmul", "addcdiv", "lerp", "clamp", "where", "masked_fill"))
    same = kind if draw.chance(0.8) else None
    if name in ("addcmul", "addcdiv"):
        rest = [draw.tensor(draw.beside(shape), same), draw.tensor(draw.beside(shape), same)]
        rest += [f"value={draw.number()}"] if draw.chance(0.5) else []
    elif name == "lerp":
        weight = draw.number() if draw.chance(0.5) else draw.tensor(draw.beside(shape), same)
        rest = [draw.tensor(draw.beside(shape), same), weight]
    elif name == "clamp":
        low, high = ("None" if draw.chance(0.3) else draw.number() for _ in range(2))
        rest = [low, high]
    elif name == "where":
        b = draw.number() if draw.chance(0.4) else draw.tensor(draw.beside(shape), same)
        chosen = [a, b] if draw.chance(0.5) else [b, a]
        condition = draw.tensor(draw.beside(shape), "bool" if draw.chance(0.95) else None)
        return Case(f"torch.where({condition}, {', '.join(chosen)})", draw.tensors)
    else:
        mask = draw.tensor(draw.beside(shape), "bool" if draw.chance(0.95) else None)
        rest = [mask, draw.number() if draw.chance(0.7) else draw.tensor((), same)]
    return Case(draw.call(name, a, *rest), draw.tensors, name != "masked_fill")


def reduction(draw: Draw) -> Case:
    name = draw.one(("sum", "prod", "mean", "all", "any", "amax", "amin", "max", "min", "argmax", "argmin", "var",
                     "std", "norm", "cumsum", "softmax", "log_softmax"))  # fmt: skip
    a = draw.tensor(kind=draw.one(FLOATS) if "softmax" in name else None)
    ndim = len(draw.shape_of(a))
    if name in ("max", "min", "argmax", "argmin", "cumsum", "softmax", "log_softmax", "prod"):
        rest = [str(draw.dim(ndim))] if name in ("cumsum", "softmax", "log_softmax") or draw.chance(0.7) else []
    else:
        rest = [f"dim={draw.dims(ndim)}"] if draw.chance(0.7) else []
    if rest and name not in ("cumsum", "softmax", "log_softmax") and draw.chance(0.4):
        rest.append("keepdim=True")
    if name in ("sum", "prod", "mean", "cumsum", "softmax") and draw.chance(0.2):
        rest.append(f"dtype=torch.{draw.one(FLOATS) if name == 'softmax' else draw.one((*FLOATS, *WHOLES))}")
    return Case(draw.call(name, a, *rest, inplace=False), draw.tensors, False)


def view(draw: Draw) -> Case:
    a = draw.tensor()
    shape = draw.shape_of(a)
    ndim, total = len(shape), math.prod(shape)
    dim, other_dim = draw.dim(ndim), draw.dim(ndim)
    order = list(range(ndim))
    draw.random.shuffle(order)
    start, length = draw.random.randint(-4, 4), draw.random.randint(-1, 3)
    texts = [
        f"{a}.permute({order})" if ndim else f"{a}.permute(())", f"{a}.transpose({dim}, {other_dim})", f"{a}.t()",
        f"{a}.unsqueeze({dim})", f"{a}.squeeze()", f"{a}.squeeze({dim})", f"{a}.select({dim}, {start})",
        f"{a}.narrow({dim}, {start}, {length})", f"{a}.reshape(-1)", f"{a}.view(-1)",
        f"{a}.flatten({dim}, {other_dim})",
        f"{a}.ravel()", f"{a}.expand({[2, *shape]})", f"{a}.expand({[each if each != 1 else 3 for each in shape]})",
        f"{a}.diagonal({start}, {dim}, {other_dim})", f"{a}.unbind({dim})", f"{a}.chunk({length}, {dim})",
        f"{a}.split({max(length, 1)}, {dim})", f"{a}.movedim({dim}, {other_dim})", f"{a}.unfold({dim}, {length}, 1)",
        f"{a}.reshape({total}, 1)", f"{a}.view(1, {total})", f"{a}.T", f"{a}.mT", f"{a}.swapaxes({dim}, {other_dim})",
        f"{a}.broadcast_to({[2, *shape]})", f"{a}.view({list(shape)})", f"{a}.unflatten({dim}, (-1, 1))",
        f"{a}.as_strided({list(shape)}, {list(draw.tensors[a].strides)})", f"{a}.view_as({a})", f"{a}.detach()",
        f"torch.broadcast_tensors({a}, {a})", f"reversed({a})", f"+{a}", f"{a}.contiguous()",
    ]  # fmt: skip
    return Case(draw.one(texts), draw.tensors)


def item(draw: Draw, size: int, after: tuple[int, ...], kinds: Sequence[str]) -> str:
    """One item of an index into a dimension of that size."""
    kind = draw.one(kinds)
    low, high = -max(size, 1), max(size - 1, 0)
    at = draw.random.randint(low, high)
    if kind == "int":
        return str(draw.random.randint(low - 1, high + 1) if draw.chance(0.05) else at)
    if kind == "slice":
        bounds = ["" if draw.chance(0.4) else str(draw.random.randint(-5, 5)) for _ in range(2)]
        return ":".join(bounds) + (f":{draw.random.randint(1, 3)}" if draw.chance(0.3) else "")
    if kind == "list":
        return str([draw.random.randint(low, high) for _ in range(draw.random.randint(0, 3))]) if size else "[]"
    if len(draw.tensors) >= len(NAMES) - 1 or (kind == "tensor" and not size):
        return ":"
    if kind == "mask":
        return draw.tensor((size,), "bool")
    shape = draw.one(((), (2,), (3,), (2, 2), (1,)))
    bounds = (low, high) if size else (0, 0)
    return draw.tensor(shape, draw.one(("int64", "int64", "int32")), whole=bounds)


def index(draw: Draw) -> str:
    """The text of an index into tensor `a`."""
    shape = draw.shape_of("a")
    kinds = ("int", "slice", "slice", "list", "tensor", "mask") if draw.chance(0.5) else ("int", "slice")
    if draw.chance(0.08):
        return draw.tensor(shape, "bool")
    items: list[str] = []
    for at, size in enumerate(shape):
        if draw.chance(0.1):
            items.append(draw.one(("None", "...", "True")))
        if draw.chance(0.2):
            break
        items.append(item(draw, size, shape[at + 1 :], kinds))
    while items.count("...") > 1:
        items.remove("...")
    return ", ".join(items) if items else draw.one(("...", "None", "()"))


def reading(draw: Draw) -> Case:
    draw.tensor()
    text = index(draw)
    plain = not draw.tensors.keys() - {"a"} and "[" not in text and "True" not in text
    return Case(f"a[{text}]", draw.tensors, plain)


def writing(draw: Draw) -> Case:
    a = draw.tensor()
    text = index(draw)
    if draw.chance(0.5):
        return Case(f"a.__setitem__(({text},), {draw.number()})".replace(":", "S"), draw.tensors)
    dtype = draw.tensors[a].dtype
    value = f"torch.ones_like(a[{text}]) * 3" if draw.chance(0.5) else draw.tensor(draw.shape()[-2:], dtype)
    return Case(f"a.__setitem__(({text},), ({value}).to(a.dtype))", draw.tensors)


def indexing(draw: Draw) -> Case:
    a = draw.tensor()
    shape, kind = draw.shape_of(a), draw.tensors[a].dtype
    ndim = len(shape)
    dim = draw.dim(ndim)
    room = shape[dim] if ndim and -ndim <= dim < ndim else 1
    bounds = (0, max(room - 1, 0)) if draw.chance(0.95) else (-1, room)
    name = draw.one(("gather", "scatter", "scatter_add", "index_select", "index_add", "index_copy", "index_fill",
                     "take_along_dim", "masked_select", "index_put"))  # fmt: skip
    if name == "masked_select":
        mask = draw.tensor(draw.beside(shape), "bool")
        return Case(f"{a}.masked_select({mask})", draw.tensors)
    if name == "index_put":
        at = draw.tensor((2,), "int64", whole=(0, max((shape or (1,))[0] - 1, 0)))
        value = draw.tensor((1,) if draw.chance(0.5) else (2, *shape[1:]), kind)
        return Case(f"{a}.index_put(({at},), {value}, {draw.chance(0.3)})", draw.tensors, False)
    if name in ("gather", "scatter", "scatter_add", "take_along_dim"):
        like = [draw.random.randint(0 if draw.chance(0.05) else 1, max(size, 1)) for size in shape]
        at = draw.tensor(like, "int64", whole=bounds)
        if name == "take_along_dim":
            return Case(f"{a}.take_along_dim({at}, {dim})", draw.tensors, False)
        rest = [str(dim), at]
        if name == "scatter" and draw.chance(0.4):
            rest.append(draw.number())
        elif name != "gather":
            rest.append(draw.tensor(like, kind))
        return Case(draw.call(name, a, *rest, inplace=name != "gather"), draw.tensors, False)
    count = draw.random.randint(0, 3)
    at = draw.tensor((count,), "int64", whole=bounds)
    rest = [str(dim), at]
    if name == "index_fill":
        rest.append(draw.number())
    elif name != "index_select":
        inner = list(shape)
        if ndim and -ndim <= dim < ndim:
            inner[dim] = count
        rest.append(draw.tensor(inner, kind))
        rest += [f"alpha={draw.number()}"] if name == "index_add" and draw.chance(0.3) else []
    return Case(draw.call(name, a, *rest, inplace=name != "index_select"), draw.tensors, False)


def joining(draw: Draw) -> Case:
    a = draw.tensor()
    shape = draw.shape_of(a)
    ndim, dim = len(shape), draw.dim(len(shape))
    b = draw.tensor(draw.beside(shape) if draw.chance(0.2) else shape)
    counts = [draw.random.randint(0, 2) for _ in range(ndim + draw.chance(0.3))]
    texts = (
        f"torch.cat([{a}, {b}], {dim})", f"torch.stack([{a}, {b}], {dim})", f"torch.hstack([{a}, {b}])",
        f"torch.vstack([{a}, {b}])", f"{a}.repeat({counts})",
        f"{a}.tile((2,))", f"{a}.repeat_interleave({draw.random.randint(0, 2)}, {dim})", f"{a}.repeat_interleave(2)",
        f"{a}.roll(1, {dim})", f"{a}.roll(-2)", f"{a}.tril({draw.random.randint(-2, 2)})", f"{a}.triu()",
        f"{a}.sort({dim})", f"{a}.argsort(dim={dim}, stable=True)", f"{a}.topk(1, {dim})[0]", f"{a}.nonzero()",
        f"torch.where({a})", f"{a}.nonzero(as_tuple=True)", f"{a}.outer({b})", f"torch.trace({a})",
    )  # fmt: skip
    flips = (f"{a}.flip({dim})", f"{a}.flip({list(range(ndim))})")
    return Case(draw.one(flips), draw.tensors) if draw.chance(0.1) else Case(draw.one(texts), draw.tensors, False)


def factory(draw: Draw) -> Case:
    a = draw.tensor()
    kind, number = f"dtype=torch.{draw.kind()}", draw.one((*FLOATS, *WHOLES))
    start, end, step = (draw.one(("0", "1", "5", "-3", "2.5", "0.1", "7", "-7")) for _ in range(3))
    format = draw.one(("", ", memory_format=torch.contiguous_format", ", memory_format=torch.preserve_format",
                       ", memory_format=torch.channels_last"))  # fmt: skip
    values = [draw.one(("1", "2.5", "True", "-1", "300")) for _ in range(draw.random.randint(0, 3))]
    shape = draw.shape()
    texts = (
        f"torch.full({shape}, {draw.number()}, {kind}, device=D)", f"torch.full({shape}, {draw.number()}, device=D)",
        f"torch.arange({start}, {end}, {step}, device=D)", f"torch.arange({start}, {end}, {step}, {kind}, device=D)",
        f"torch.linspace({start}, {end}, {draw.random.randint(0, 8)}, dtype=torch.{number}, device=D)",
        f"torch.zeros_like({a}{format})", f"torch.ones_like({a}, {kind}{format})",
        f"torch.full_like({a}, {draw.number()}{format})", f"torch.empty_like({a}{format}).zero_()",
        f"torch.rand_like({a}.float(){format}).zero_()", f"{a}.new_full({shape}, {draw.number()})",
        f"torch.eye({draw.random.randint(0, 3)}, {draw.random.randint(0, 3)}, {kind}, device=D)",
        f"torch.tensor([{', '.join(values)}], device=D)", f"torch.tensor([{', '.join(values)}], {kind}, device=D)",
        f"{a}.new_tensor([{', '.join(values)}])", f"torch.zeros({shape}, {kind}, device=D)", f"{a}.new_ones({shape})",
    )  # fmt: skip
    return Case(draw.one(texts), draw.tensors)


def conversion(draw: Draw) -> Case:
    a = draw.tensor()
    kind = f"torch.{draw.kind()}"
    b = draw.tensor(draw.beside(draw.shape_of(a)))
    format = draw.one(("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))
    texts = (
        f"{a}.to({kind})", f"{a}.to({kind}, copy=True)", f"{a}.clone()", f"{a}.contiguous()", f"{a}.type({kind})",
        f"{a}.clone(memory_format=torch.{format})", f"{a}.to(memory_format=torch.{format})", f"{a}.type_as({b})",
        f"{a}.contiguous(memory_format=torch.{format})", f"{a}.to({kind}, memory_format=torch.{format})", f"{a}.bool()",
        f"{a}.is_contiguous(memory_format=torch.{format})", f"{a}.copy_({b})", f"{b}.copy_({a})", f"{a}.to({b})",
        f"{a}.copy_({draw.number()})", f"{a}.fill_({draw.number()})", f"{a}.zero_()", f"{a}.half()", f"{a}.tolist()",
        f"{a}.sum_to_size({draw.beside(draw.shape_of(a))})", f"{a}.view({kind})", f"{a}.float()",
        f"{a}.fill_({b})", f"torch.asarray({a})", f"torch.tensor({a}.tolist(), dtype={kind}, device=D)",
    )  # fmt: skip
    return Case(draw.one(texts), draw.tensors)


def product(draw: Draw) -> Case:
    kind = draw.one(("float32", "float64", "int64", "float32", "uint8"))
    m, k, n, batch = (draw.size() for _ in range(4))
    a, b = draw.tensor((m, k), kind), draw.tensor((k, n), kind)
    c = draw.tensor(draw.one(((m, n), (n,), (1, n), (m, 1), ())), kind)
    d = draw.tensor((batch, k, n), kind)
    texts = (
        f"{a} @ {b}", f"{a}.mm({b})", f"torch.matmul({a}, {b})", f"torch.addmm({c}, {a}, {b})", f"{a}.matmul({d})",
        f"torch.addmm({c}, {a}, {b}, beta={draw.number()}, alpha={draw.number()})", f"{a}.mv({b}[:, 0])",
        f"{a}[0].dot({b}[:, 0])", f"{a}[0] @ {b}", f"{d}.bmm({d}.mT)", f"nn.functional.linear({a}, {b}.t())",
        f"nn.functional.linear({a}, {b}[:, 0])", f"{a}[:, 0].outer({b}[0])", f"{a}[0] @ {d}",
    )  # fmt: skip
    return Case(draw.one(texts), draw.tensors, False)


def network(draw: Draw) -> Case:
    kind = draw.one(("float32", "float32", "float64"))
    n, classes = draw.size(3), draw.random.randint(1, 4)
    shape = draw.one(((n, classes), (n, classes), (n, classes, 2), (classes,)))
    a, b = draw.tensor(shape, kind), draw.tensor(shape, kind)
    at = draw.tensor((*shape[:1], *shape[2:]) if len(shape) > 1 else (), "int64", whole=(0, classes - 1))
    reduction = draw.one(("mean", "sum", "none"))
    f = "nn.functional"
    texts = (
        f"{f}.mse_loss({a}, {b}, reduction='{reduction}')", f"{f}.l1_loss({a}, {b}, reduction='{reduction}')",
        f"{f}.smooth_l1_loss({a}, {b}, reduction='{reduction}')", f"{f}.gelu({a})", f"{f}.silu({a})",
        f"{f}.cross_entropy({a}, {at}, reduction='{reduction}')", f"{f}.nll_loss({a}, {at}, reduction='{reduction}')",
        f"{f}.cross_entropy({a}, {b}.softmax(-1), reduction='{reduction}')", f"{f}.layer_norm({a}, {shape[-1:]})",
        f"{f}.cross_entropy({a}, {at}, label_smoothing=0.1, reduction='{reduction}')", f"{f}.one_hot({at}, {classes})",
        f"{f}.binary_cross_entropy_with_logits({a}, {b}.sigmoid(), reduction='{reduction}')",
        f"{f}.embedding({at}, {a}.reshape(-1, 1))", f"{f}.gelu({a}, approximate='tanh')", f"{f}.dropout({a}, 0.0)",
        f"{f}.softmax({a}, {draw.dim(len(shape))})", f"{f}.relu({a}, inplace={draw.chance(0.5)})",
    )  # fmt: skip
    return Case(draw.one(texts), draw.tensors, False)


def chain(draw: Draw) -> Case:
    """Two elementwise calls and a question that strides answer."""
    a = draw.tensor()
    b = draw.tensor(draw.beside(draw.shape_of(a)))
    inner = draw.one((f"({a} * 2)", f"({a} + {b})", f"{a}.clone()", f"{a}.abs()", f"{a}.transpose(0, -1).neg()"))
    outer = draw.one(
        (".view(-1)", ".is_contiguous()", ".contiguous().stride()", ".flatten()", ".t()", ".sum(0)", "[..., :1]")
    )
    return Case(inner + outer, draw.tensors)


def aliasing(draw: Draw) -> Case:
    """A write to one view of a tensor that reads another."""
    size = draw.random.randint(2, 4)
    a = draw.tensor((size, size), draw.one(("float32", "int64", "int8")))
    views = (a, f"{a}.t()", f"{a}[1:]", f"{a}[:-1]", f"{a}[::2]", f"{a}[1::2]", f"{a}[:1]", f"{a}[:, :1]",
             f"{a}[:, 1:]", f"{a}[:, :-1]", f"{a}[:, ::2]", f"{a}[0]", f"{a}[:, 0]", f"{a}.clone()",
             f"{a}[1, 1]")  # fmt: skip
    x, y = draw.one(views), draw.one(views)
    texts = (f"{x}.copy_({y})", f"{x}.add_({y})", f"{x}.mul_({y})", f"torch.add({y}, {y}, out={x})",
             f"{x}.add_({y}, alpha=2)", f"torch.where({y} > 0, {y}, 1, out={x})", f"{x}.fill_({y})")  # fmt: skip
    return Case(draw.one(texts), draw.tensors)


FAMILIES: tuple[tuple[Callable[[Draw], Case], int], ...] = (
    (unary, 3), (binary, 5), (symbol, 4), (ternary, 4), (reduction, 4), (view, 4), (reading, 5), (writing, 5),
    (indexing, 4), (joining, 4), (factory, 4), (conversion, 4), (product, 2), (network, 2), (chain, 3), (aliasing, 2),
)  # fmt: skip


def case_of(seed: int, number: int) -> Case:
    """Case `number` of a seed."""
    draw = Draw(f"{seed}/{number}")
    family = draw.random.choices([each for each, _ in FAMILIES], [weight for _, weight in FAMILIES])[0]
    return family(draw)


# running a case


def made(torch: Any, tensor: Tensor, device: str) -> Any:
    """A tensor of a case, in one of the libraries."""
    values = [float(each) if isinstance(each, str) else each for each in tensor.values]
    flat = torch.tensor(values, dtype=getattr(torch, tensor.dtype), device=device)
    return flat.as_strided(tensor.shape, tensor.strides, tensor.offset)


def run(torch: Any, case: Case, device: str) -> tuple[str, Any]:
    """("value", [the result, the tensors afterwards]) or ("error", [the names of its classes, its first line])."""
    names: dict[str, Any] = {name: made(torch, each, device) for name, each in case.tensors.items()}
    tensors = dict(names)
    names.update({"torch": torch, "nn": torch.nn, "D": device})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(case.text, names) if "__setitem__" not in case.text else _assigned(case.text, names)
            return "value", [snapshot(torch, found, case.strided), [values_of(each) for each in tensors.values()]]
    except Exception as error:  # noqa: BLE001  (errors are compared too)
        classes = [each.__name__ for each in type(error).__mro__ if each.__module__ in ("builtins", "flambeau.errors")]
        return "error", [classes, str(error).splitlines()[0] if str(error) else ""]


def _assigned(text: str, names: dict[str, Any]) -> None:
    """Run `a.__setitem__((index,), value)` as the statement that it stands for."""
    index, value = re.fullmatch(r"a\.__setitem__\(\((.*?),\), (.*)\)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    exec(f"a[{index.replace('S', ':')}] = {value}", names)


def values_of(tensor: Any) -> list[Any]:
    return [plain(each) for each in tensor.detach().cpu().reshape(-1).tolist()]


def plain(value: Any) -> Any:
    """A number that JSON has."""
    return value if isinstance(value, (bool, int)) or math.isfinite(value) else str(value)


def snapshot(torch: Any, found: Any, strided: bool) -> Any:
    """The properties of a result that are compared."""
    if isinstance(found, torch.Tensor):
        lies = _lies(found) if strided else None
        kind = str(found.dtype).removeprefix("torch.")
        return {"dtype": kind, "shape": list(found.shape), "lies": lies, "values": values_of(found)}
    if isinstance(found, (list, tuple)):
        return [snapshot(torch, each, strided) for each in found]
    return plain(found) if isinstance(found, (bool, int, float)) else str(found)


def _lies(tensor: Any) -> list[Any]:
    """Strides that matter, and the offset."""
    moved = [step if size > 1 else 1 for size, step in zip(tensor.shape, tensor.stride())] if tensor.numel() else []
    return [moved, tensor.storage_offset()]


# comparing


def agree(case: Case, theirs: tuple[str, Any], ours: tuple[str, Any]) -> bool:
    """Whether two runs of a case came to the same."""
    if theirs[0] != ours[0]:
        return False
    if theirs[0] == "error":
        first = theirs[1][0][0]
        classes = ours[1][0]
        return ACCELERATOR in classes or (first if first != "NotImplementedError" else "RuntimeError") in classes
    kinds = {each.dtype for each in case.tensors.values()} | set(re.findall(r"torch\.(\w+)", case.text))
    loosest = max((TOLERANCE.get(each, 0.0) for each in kinds), default=0.0)
    return _alike(theirs[1], ours[1], max(loosest, TOLERANCE["float32"]))


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, dict):
        known = one.keys() == other.keys() if isinstance(other, dict) else False
        return known and all(_alike(one[key], other[key], tolerance) for key in one)
    if isinstance(one, (list, tuple)):
        same = isinstance(other, (list, tuple)) and len(one) == len(other)
        return same and all(_alike(x, y, tolerance) for x, y in zip(one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    return type(one) is type(other) and one == other


class Rule(NamedTuple):
    """A kind of difference that is meant: patterns for the text of the case, and for the errors of both libraries."""

    why: str
    text: str = ""
    theirs: str = ""
    ours: str = ""
    holds: Callable[[Case, Any, Any], bool] | None = None

    def covers(self, case: Case, theirs: tuple[str, Any], ours: tuple[str, Any]) -> bool:
        pairs = ((self.text, case.text), (self.theirs, _said(theirs)), (self.ours, _said(ours)))
        found = all(re.search(pattern, text) for pattern, text in pairs)
        return found and (self.holds is None or self.holds(case, theirs, ours))


def _said(found: tuple[str, Any]) -> str:
    return found[1][1] if found[0] == "error" else ""  # type: ignore[no-any-return]


def _has_empty(case: Case, *_: Any) -> bool:
    return any(0 in each.shape for each in case.tensors.values())


def _has_halves(case: Case, *_: Any) -> bool:
    return any("float16" in each.dtype for each in case.tensors.values())


def _has_infinity(case: Case, *_: Any) -> bool:
    return any("inf" in map(str, each.values) for each in case.tensors.values())


def _is_of_number(case: Case, *_: Any) -> bool:
    return not case.tensors["a"].shape


def _wrote_nothing(case: Case, _: Any, ours: tuple[str, Any]) -> bool:
    """Whether there was nothing to write for a call of which PyTorch checks the number."""
    if ours[0] != "value":
        return False
    result = ours[1][0]
    return "__setitem__" in case.text or isinstance(result, dict) and not result["values"]


def _differ_in_strides(case: Case, theirs: tuple[str, Any], ours: tuple[str, Any]) -> bool:
    """Whether strides alone differ, of a call for which PyTorch's CPU copies operands to the common type."""
    kinds = {each.dtype for each in case.tensors.values()}
    if theirs[0] != "value" or ours[0] != "value" or not isinstance(theirs[1][0], dict):
        return False
    mixed = len(kinds) > 1 or theirs[1][0]["dtype"] not in kinds
    one, other = ([{**found[1][0], "lies": None}, found[1][1]] for found in (theirs, ours))
    return mixed and agree(case, ("value", one), ("value", other))


MEANT = (
    Rule("PyTorch's CPU kernels lack the type", theirs="not implemented for|does not support bool"),
    Rule(
        "PyTorch has no such form", theirs="has no attribute|invalid combination|unexpected keyword|must be Tensor, not"
    ),
    Rule("out= of another shape is an error", "out=", ours="the tensor to write has shape"),
    Rule("a source with gaps that shares memory is copied first", r"^a.*copy_\(a"),
    Rule("PyTorch refuses norms over more than two dimensions", r"norm\(", "2-tuple"),
    Rule("operands of lerp promote", "lerp", "expected dtype"),
    Rule("integers divided by 0 give 0", theirs="ZeroDivisionError"),
    Rule("a number is checked where it is written", theirs="overflow", holds=_wrote_nothing),
    Rule("a number is checked where it is written", theirs="overflow", holds=_has_empty),
    Rule("a number is checked before what is empty", ours="overflow", holds=_has_empty),
    Rule("an index is checked before what is empty", ours="out of bounds|no elements", holds=_has_empty),
    Rule("an index is checked where it is read", theirs="out of|outside", holds=_has_empty),
    Rule("numbers of half types are checked everywhere", ours="overflow", holds=_has_halves),
    Rule("numbers of half types are converted to float32", theirs="overflow", holds=_has_halves),
    Rule("alpha multiplies whatever the product is", "addmm.*alpha=(0|float)"),
    Rule("numbers are cut also where the product is empty", "addmm", holds=_has_empty),
    Rule("dimensions are checked before what is empty", ours="multiple times", holds=_has_empty),
    Rule("a number repeats along dimension 0", "repeat_interleave", "out of range", holds=_is_of_number),
    Rule("elements that share memory are not written", ours="more than one element of the written-to"),
    Rule("views with gaps may not share elements", ours="partly overlaps an input"),
    Rule("gelu of an infinity is no NaN", "gelu", holds=_has_infinity),
    Rule("operands are not copied to the common type", holds=_differ_in_strides),
)


def meant(case: Case, theirs: tuple[str, Any], ours: tuple[str, Any]) -> str:
    """Why a difference is meant, or "" if it is not."""
    return next((rule.why for rule in MEANT if rule.covers(case, theirs, ours)), "")


def cases(seed: int, count: int, start: int = 0) -> Iterator[tuple[int, Case]]:
    return ((number, case_of(seed, number)) for number in range(start, start + count))


def differences(torch: Any, flambeau: Any, seed: int, count: int, start: int = 0) -> Iterator[str]:
    """Descriptions of the cases that differ."""
    from flambeau.testing import machine

    for number, case in cases(seed, count, start):
        theirs = run(torch, case, "cpu")
        for device in ("cpu", "cuda"):
            with machine(devices=1):
                ours = run(flambeau, case, device)
            if not agree(case, theirs, ours) and not meant(case, theirs, ours):
                listed = "\n".join(f"   {name} = {tuple(each)}" for name, each in case.tensors.items())
                yield f"{seed}/{number} on {device}: {case.text}\n{listed}\n   PyTorch  {theirs}\n   flambeau {ours}"
                break


def main() -> None:
    import torch

    import flambeau

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    options = parser.parse_args()
    if options.record:
        kept = [(case, run(torch, case, "cpu")) for _, case in cases(RECORDED_SEED, RECORDED_COUNT)]
        RECORDED.write_text("[\n" + ",\n".join(json.dumps([case.text, found]) for case, found in kept) + "\n]\n")
        print(f"{len(kept)} cases of PyTorch {torch.__version__}")
        return
    found = list(differences(torch, flambeau, options.seed, options.count, options.start))
    print("\n".join(found))
    print(f"{len(found)} of {options.count} cases differ")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

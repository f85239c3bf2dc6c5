"""Generators of calls: operators, methods, writes in place, out=, views, indexing, factories, conversions, losses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.oracle.fuzz_draw import FLOATS, NAMES, SMOOTH, WHOLES, Case, Draw

UNARY = (
    "abs", "absolute", "ceil", "cos", "erf", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log1p",
    "logical_not", "neg", "negative", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sqrt",
    "square", "tanh", "trunc", "bitwise_not",
)  # fmt: skip
PREDICATES = ("isfinite", "isinf", "isnan")
BINARY = (
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "pow",
    "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "isclose", "clamp_min",
    "clamp_max",
)  # fmt: skip
OF_TENSORS = ("maximum", "minimum", "logical_and", "logical_or", "logical_xor", "isclose")  # take no number
NOT_IN_PLACE = ("maximum", "minimum", "isclose")
NO_OUT = ("isclose", "relu", *PREDICATES)
SYMBOLS = ("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^", "<<", ">>")
DIVISIONS = ("floor_divide", "remainder", "//", "%")


def unary(draw: Draw) -> Case:
    name = draw.one(UNARY)
    a = draw.tensor()
    text = draw.call(name, a, inplace=name not in PREDICATES)
    return Case(text if name in NO_OUT else draw.with_out(text), draw.tensors)


def other(draw: Draw, a: str) -> str:
    """A second operand: a tensor, or a number."""
    if draw.chance(0.35):
        return draw.number()
    return draw.tensor(draw.beside(draw.shape_of(a)), draw.tensors[a].dtype if draw.chance(0.5) else None)


def divisor(draw: Draw, a: str, name: str) -> str:
    """A second operand; of divisions that are errors for integers in PyTorch, seldom 0."""
    if name not in DIVISIONS or draw.chance(0.05):
        return other(draw, a)
    if draw.chance(0.35):
        return draw.one(("1", "-1", "3", "0.5", "-2.5", "True"))
    kind = draw.kind()
    whole = None if kind in FLOATS else (1, 1) if kind == "bool" else (1, 6)
    return draw.tensor(draw.beside(draw.shape_of(a)), kind, whole)


def binary(draw: Draw) -> Case:
    a = draw.tensor()
    name = draw.one(BINARY)
    b = draw.tensor(draw.beside(draw.shape_of(a))) if name in OF_TENSORS else divisor(draw, a, name)
    if name in ("add", "sub", "subtract") and draw.chance(0.3):
        return Case(draw.call(name, a, b, f"alpha={draw.number()}"), draw.tensors)
    text = draw.call(name, a, b, inplace=name not in NOT_IN_PLACE)
    return Case(text if name in NO_OUT else draw.with_out(text), draw.tensors)


def symbol(draw: Draw) -> Case:
    a = draw.tensor()
    name = draw.one(SYMBOLS)
    pair = [a, divisor(draw, a, name)]
    if draw.chance(0.25) and SYMBOLS.index(name) not in range(7, 13):
        return Case(f"t = {a}\n{pair[0]} {name}= {pair[1]}\n[{a}, {a} is t]", draw.tensors)
    if draw.chance(0.4) and (name not in DIVISIONS or draw.tensors[a].dtype in FLOATS):
        pair.reverse()
    return Case(f" {name} ".join(pair), draw.tensors)


def question(draw: Draw) -> Case:
    """Properties, conversions to Python's numbers, and whole-tensor comparisons."""
    a = draw.tensor(draw.one(((), (1,), (1, 1), (2,), None)))
    shape = draw.shape_of(a)
    b = draw.tensor(draw.one((shape, draw.beside(shape))), draw.one((draw.tensors[a].dtype, None)))
    kind, form = draw.one((*FLOATS, *WHOLES, "bool")), draw.one(("", ".3f", ".2e", "8.1f", "d", ">10", "g"))
    texts = (
        f"bool({a})", f"int({a})", f"float({a})", f"{a}.item()", f"len({a})", f"{draw.number()} in {a}", f"{b} in {a}",
        f"[*{a}]", f"{a}.size()", f"{a}.size({draw.dim(len(draw.shape_of(a)))})", f"{a}.shape", f"{a}.ndim",
        f"[{a}.dim(), {a}.ndimension(), {a}.numel(), {a}.nelement(), {a}.nbytes, {a}.element_size(), {a}.itemsize]",
        f"[{a}.stride(), {a}.storage_offset(), {a}.is_contiguous()]", f"{a}.stride({draw.dim(len(draw.shape_of(a)))})",
        f"[{a}.is_floating_point(), {a}.dtype.is_floating_point, {a}.dtype.itemsize, {a}.is_leaf, {a}.requires_grad]",
        f"torch.promote_types({a}.dtype, {b}.dtype)", f"[{a}._version, {a}.add_(1)._version, {a}._version]",
        f"torch.allclose({a}, {b})", f"{a}.allclose({b}, equal_nan=True)", f"torch.equal({a}, {b})",
        f"{a}.equal({a}.clone())", f"torch.isclose({a}, {b}, rtol=0.1, atol=0.5, equal_nan=True)", f"abs({a})",
        f"-{a}", f"~{a}", f"{a}.tolist()", f"f'{{{a}.sum():{form}}}'", f"{a}.__index__()", f"[0, 1, 2, 3][{a}]",
        f"{a}.cpu().numpy()",
        f"import copy; copy.deepcopy({a})", f"import copy; copy.copy({a})", f"hash({a}) == hash({a})", f"{a} == None",
        f"import pickle; pickle.loads(pickle.dumps({a}))", f"{a}[None].squeeze(0)._base is {a}._base",
        f"[torch.is_tensor({a}), torch.numel({a}), torch.is_floating_point({b})]", f"{a}.data.add_(1)",
        f"{a}.untyped_storage().nbytes() % {a}.itemsize", f"{a}.to(torch.{kind}).item()", f"{a} if {a} else {b}",
        f"torch.as_tensor({a}, dtype=torch.{kind})", f"{a}.detach().requires_grad_()", f"sum({a})", f"max({a})",
        f"sorted({a}.reshape(-1).tolist()) == {a}.reshape(-1).sort()[0].tolist()", f"math.floor({a})",
        f"math.ceil({a})",
    )  # fmt: skip
    return Case(draw.one(texts), draw.tensors)


def ternary(draw: Draw) -> Case:
    a = draw.tensor(kind=draw.kind())
    shape, kind = draw.shape_of(a), draw.tensors[a].dtype
    name = draw.one(("addcmul", "addcdiv", "lerp", "clamp", "clip", "where", "masked_fill"))
    same = kind if draw.chance(0.995 if name == "lerp" else 0.8) else None
    if name in ("addcmul", "addcdiv"):
        rest = [draw.tensor(draw.beside(shape), same), draw.tensor(draw.beside(shape), same)]
        rest += [f"value={draw.number()}"] if draw.chance(0.5) else []
    elif name == "lerp":
        weight = draw.number() if draw.chance(0.5) else draw.tensor(draw.beside(shape), same)
        rest = [draw.tensor(draw.beside(shape), same), weight]
    elif name in ("clamp", "clip"):
        bounds = draw.chance(0.3)
        low, high = ("None" if draw.chance(0.3) else draw.number() for _ in range(2))
        rest = [low, high]
        if bounds:
            rest = [draw.tensor(draw.beside(shape), same), draw.tensor(draw.beside(shape), same)]
    elif name == "where":
        b = draw.number() if draw.chance(0.4) else draw.tensor(draw.beside(shape), same)
        chosen = [a, b] if draw.chance(0.5) else [b, a]
        condition = draw.tensor(draw.beside(shape), "bool" if draw.chance(0.95) else None)
        return Case(f"torch.where({condition}, {', '.join(chosen)})", draw.tensors)
    else:
        mask = draw.tensor(draw.beside(shape), "bool" if draw.chance(0.95) else None)
        rest = [mask, draw.number() if draw.chance(0.7) else draw.tensor((), same)]
    text = draw.call(name, a, *rest)
    return Case(draw.with_out(text) if name != "masked_fill" else text, draw.tensors)


def reduction(draw: Draw) -> Case:
    name = draw.one(("sum", "prod", "mean", "all", "any", "amax", "amin", "max", "min", "argmax", "argmin", "var",
                     "std", "norm", "cumsum", "softmax", "log_softmax"))  # fmt: skip
    a = draw.tensor(kind=draw.one(FLOATS) if "softmax" in name else draw.kind_but_bool() if "arg" in name else None)
    ndim = len(draw.shape_of(a))
    if name in ("max", "min", "argmax", "argmin", "cumsum", "softmax", "log_softmax", "prod"):
        rest = [str(draw.dim(ndim))] if name in ("cumsum", "softmax", "log_softmax") or draw.chance(0.7) else []
    else:
        rest = [f"dim={draw.dims(ndim)}"] if draw.chance(0.7) else []
    if rest and name not in ("cumsum", "softmax", "log_softmax") and draw.chance(0.4):
        rest.append("keepdim=True")
    if name in ("var", "std") and draw.chance(0.3):
        rest.append(draw.one(("correction=0", "correction=2", "unbiased=False") if not rest else ("correction=0",)))
    if name == "norm" and draw.chance(0.6):
        norm = draw.one(("2", "1", "3", "0.5", "0", "float('inf')", "-1", "None"))
        rest.insert(0, f"p={norm}")
    if name in ("sum", "prod", "mean", "cumsum", "softmax") and draw.chance(0.2):
        has_floats = name == "softmax" or draw.types == SMOOTH
        rest.append(f"dtype=torch.{draw.one(FLOATS if has_floats else (*FLOATS, *WHOLES))}")
    text = draw.call(name, a, *rest, inplace=False)
    return Case(text if name in ("max", "min", "softmax") else draw.with_out(text), draw.tensors)


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
    text = draw.one(texts)
    if draw.chance(0.2) and text.startswith(a):
        source = f"{a}.clone().reshape(-1)[:1]"
        change = draw.one(("add_(1)", "mul_(2)", "zero_()", "neg_()", "fill_(3)", f"copy_({source})"))
        return Case(f"v = {text}\nv.{change}\n[v, v._is_view(), v._base is {a}, {a}, {a}._version]", draw.tensors)
    return Case(text, draw.tensors)


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
        return Case(f"a[{text}] = {draw.number()}\na", draw.tensors)
    dtype = draw.tensors[a].dtype
    value = f"torch.ones_like(a[{text}]) * 3" if draw.chance(0.5) else draw.tensor(draw.shape()[-2:], dtype)
    if draw.chance(0.2):
        symbol = draw.one(("+", "-", "*", "|"))
        return Case(f"a[{text}] {symbol}= {draw.number()}\na", draw.tensors)
    return Case(f"a[{text}] = ({value}).to(a.dtype)\na", draw.tensors)


def indexing(draw: Draw) -> Case:
    a = draw.tensor()
    shape, kind = draw.shape_of(a), draw.tensors[a].dtype
    ndim = len(shape)
    dim = draw.dim(ndim)
    room = shape[dim] if ndim and -ndim <= dim < ndim else 1
    bounds = (0, max(room - 1, 0)) if draw.chance(0.95) else (-1, room)
    name = draw.one(("gather", "scatter", "scatter_add", "index_select", "index_add", "index_copy", "index_fill",
                     "take_along_dim", "masked_select", "index_put"))  # fmt: skip
    without_out = ("index_fill", "index_put")
    if name == "masked_select":
        mask = draw.tensor(draw.beside(shape), "bool")
        return Case(f"{a}.masked_select({mask})", draw.tensors)
    if name == "index_put":
        at = draw.tensor((2,), "int64", whole=(0, max((shape or (1,))[0] - 1, 0)))
        value = draw.tensor((1,) if draw.chance(0.5) else (2, *shape[1:]), kind)
        return Case(f"{a}.{draw.one(('index_put', 'index_put_'))}(({at},), {value}, {draw.chance(0.3)})", draw.tensors)
    if name in ("gather", "scatter", "scatter_add", "take_along_dim"):
        like = [draw.random.randint(0 if draw.chance(0.05) else 1, max(size, 1)) for size in shape]
        at = draw.tensor(like, "int64", whole=bounds)
        if name == "take_along_dim":
            return Case(f"{a}.take_along_dim({at}, {dim})", draw.tensors)
        rest = [str(dim), at]
        if name == "scatter" and draw.chance(0.4):
            rest.append(draw.number())
        elif name != "gather":
            rest.append(draw.tensor(like, kind))
        rest += ["reduce='add'"] if name == "scatter" and draw.chance(0.1) else []
        return Case(draw.with_out(draw.call(name, a, *rest, inplace=name != "gather")), draw.tensors)
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
    text = draw.call(name, a, *rest, inplace=name != "index_select")
    return Case(text if name in without_out else draw.with_out(text), draw.tensors)


def joining(draw: Draw) -> Case:
    a = draw.tensor()
    shape = draw.shape_of(a)
    ndim, dim = len(shape), draw.dim(len(shape))
    b = draw.tensor(draw.beside(shape) if draw.chance(0.2) else shape)
    c = draw.tensor(shape, draw.kind_but_bool())
    counts = [draw.random.randint(0, 2) for _ in range(ndim + draw.chance(0.3))]
    largest, ordered = draw.chance(0.5), draw.chance(0.9)
    repeats = f"{draw.random.randint(0, 2)}, {dim}" if ndim else "2"
    texts = (
        f"torch.cat([{a}, {b}], {dim})", f"torch.stack([{a}, {b}], {dim})", f"torch.hstack([{a}, {b}])",
        f"torch.vstack([{a}, {b}])", f"{a}.repeat({counts})", f"torch.concat([{a}, {b}, {c}], dim={dim})",
        f"torch.tile({a}, (2,))", f"torch.repeat_interleave({a}, {repeats})", f"{a}.repeat_interleave(2)",
        f"torch.roll({a}, 1, {dim})", f"{a}.roll(-2)", f"torch.tril({a}, {draw.random.randint(-2, 2)})",
        f"torch.triu({a})", f"{a}.triu_(1)", f"{a}.tril_()", f"torch.sort({a}, dim={dim}, stable=True)",
        f"{c}.sort({dim}, {largest})[0]", f"{a}.argsort(dim={dim}, stable=True)", f"{c}.topk(1, {dim}, {largest})[0]",
        f"{c}.topk({draw.random.randint(0, 3)}, {dim}, {largest}, {ordered})[0].sort({dim})[0]", f"{a}.nonzero()",
        f"torch.where({a})", f"torch.nonzero({a}, as_tuple=True)", f"torch.outer({a}, {b})", f"torch.trace({c})",
        f"torch.flip({a}, [{dim}])", f"{a}.flip({list(range(ndim))})",
    )  # fmt: skip
    text = draw.one(texts)
    forms = ("cat", "stack", "concat", "hstack", "vstack", "outer")  # PyTorch's tril writes past a strided out=
    with_out = text.split("(")[0].removeprefix("torch.") in forms and "." in text[:6]
    strided = "nonzero" not in text and "where" not in text
    return Case(draw.with_out(text) if with_out else text, draw.tensors, strided)


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
        f"{a}.new_zeros({shape}, {kind})", f"{a}.new_empty({shape}).zero_()", f"torch.ones(*{shape}, {kind}, device=D)",
        f"torch.empty_strided({shape}, {shape}, {kind}, device=D).zero_()", f"torch.arange({end}, device=D)",
        f"torch.arange({start}, {end}, device=D)", f"torch.randperm({draw.size()}, device=D).sort()[0]",
        f"torch.randint(3, 4, {shape}, {kind}, device=D)", f"torch.rand({shape}, device=D).floor()",
        f"torch.bernoulli(({a} > 0).float())", f"torch.empty({shape}, device=D).normal_(2, 0)",
        f"torch.randn({shape}, {kind}, device=D).mul(0)", f"torch.full({shape}, True, device=D)",
        f"torch.zeros({shape}, {kind}, device=D).uniform_(1, 1)", f"torch.randint_like({a}, 1)",
        f"torch.randn_like({a}).isfinite()", f"torch.zeros({shape}, {kind}, device=D).random_(1)",
        f"torch.tensor({a}.tolist(), device=D)",
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
        f"{a}.double()", f"{a}.int()", f"{a}.long()", f"{a}.short()", f"{a}.char()", f"{a}.byte()", f"{a}.bfloat16()",
        f"{a}.expand_as({b})", f"{a}.reshape_as({b})", f"{a}.view_as({b})", f"{a}.cpu()", f"{a}.to(D, {kind})",
        f"{a}.to('cpu', {kind}).tolist()", f"{a}.swapdims(0, -1)", f"{a}.clone().copy_({b}, True)",
        f"{a}.fill_({b})", f"torch.asarray({a})", f"torch.tensor({a}.tolist(), dtype={kind}, device=D)",
    )  # fmt: skip
    text = draw.one(texts)
    return Case(text, draw.tensors, ".cpu()" not in text)


def product(draw: Draw) -> Case:
    kind = draw.one(("float32", "float64", "int64", "float32", "uint8", "bfloat16"))
    kind = draw.kind() if draw.types == SMOOTH else kind
    m, k, n, batch = (draw.size() for _ in range(4))
    a, b = draw.tensor((m, k), kind), draw.tensor((k, n), kind)
    c = draw.tensor(draw.one(((m, n), (n,), (1, n), (m, 1), ())), kind)
    d = draw.tensor((batch, k, n), kind)
    texts = (
        f"{a} @ {b}", f"torch.mm({a}, {b})", f"torch.matmul({a}, {b})", f"torch.addmm({c}, {a}, {b})",
        f"torch.addmm({c}, {a}, {b}, beta={draw.number()}, alpha={draw.number()})", f"torch.mv({a}, {b}[:, 0])",
        f"{a}[0].dot({b}[:, 0])", f"{a}[0] @ {b}", f"torch.bmm({d}, {d}.mT)", f"nn.functional.linear({a}, {b}.t())",
        f"nn.functional.linear({a}, {b}[:, 0])", f"torch.outer({a}[:, 0], {b}[0])", f"{a}[0] @ {d}", f"{a}.matmul({d})",
        f"nn.functional.linear({d}.mT, {a}, {a}[:, 0])", f"{d} @ {d}", f"{d}.mT @ {d}", f"{d} @ {b}",
    )  # fmt: skip
    text = draw.one(texts)
    return Case(draw.with_out(text), draw.tensors)


def network(draw: Draw) -> Case:
    kind = draw.one(("float32", "float32", "float64"))
    n, classes = draw.size(3), draw.random.randint(1, 4)
    shape = draw.one(((n, classes), (n, classes), (n, classes, 2), (classes,)))
    a, b = draw.tensor(shape, kind), draw.tensor(shape, kind)
    low = -100 if draw.chance(0.05) else 0
    at = draw.tensor((*shape[:1], *shape[2:]) if len(shape) > 1 else (), "int64", whole=(low and -1, classes - 1))
    w = draw.tensor((classes,), kind)
    reduction = f"reduction='{draw.one(('mean', 'sum', 'none'))}'"
    f = "nn.functional"
    ignored = f"ignore_index={draw.one((-100, 0, -1))}"
    texts = (
        f"{f}.mse_loss({a}, {b}, {reduction})", f"{f}.l1_loss({a}, {b}, {reduction})", f"{f}.gelu({a})",
        f"{f}.silu({a})",
        f"{f}.smooth_l1_loss({a}, {b}, {reduction}, beta={draw.one((1.0, 0.0, 0.5))})", f"{f}.sigmoid({a})",
        f"{f}.cross_entropy({a}, {at}, {reduction}, {ignored})", f"{f}.nll_loss({a}, {at}, {reduction}, {ignored})",
        f"{f}.cross_entropy({a}, {b}.softmax(-1), {reduction})", f"{f}.layer_norm({a}, {shape[-1:]})",
        f"{f}.cross_entropy({a}, {at}, label_smoothing=0.1, {reduction})", f"{f}.one_hot({at}, {classes})",
        f"{f}.cross_entropy({a}, {at}, weight={w}, {reduction}, label_smoothing={draw.one((0.0, 0.3))})",
        f"{f}.nll_loss({a}, {at}, {w}, {reduction}, {ignored})", f"{f}.log_softmax({a}, -1)", f"{f}.tanh({a})",
        f"{f}.binary_cross_entropy_with_logits({a}, {b}.sigmoid(), {reduction})",
        f"{f}.binary_cross_entropy_with_logits({a}, {b}.sigmoid(), {b}.abs(), pos_weight={b}.abs(), {reduction})",
        f"{f}.binary_cross_entropy({a}.sigmoid(), {b}.sigmoid(), {reduction})",
        f"{f}.layer_norm({a}, {shape[-1:]}, {b}.reshape(-1)[:{shape[-1]}], None, eps=0.1)",
        f"{f}.embedding({at}, {a}.reshape(-1, 1), padding_idx={draw.one(('None', '0', '-1'))})",
        f"{f}.gelu({a}, approximate='tanh')", f"{f}.dropout({a}, 0.0)", f"{f}.dropout({a}, 1.0)",
        f"{f}.dropout({a}, 0.5, training=False)", f"{f}.softmax({a}, {draw.dim(len(shape))})",
        f"{f}.relu({a} * 1, inplace={draw.chance(0.5)})",
        f"{f}.scaled_dot_product_attention({a}, {b}, {a}, is_causal={draw.chance(0.5)}, scale={draw.one((None, 0.5))})",
        f"{f}.scaled_dot_product_attention({a}, {b}, {b}, attn_mask=({a} @ {b}.mT) > 0)",
        f"nn.Sequential(nn.ReLU(), nn.Identity(), nn.Flatten(0))({a})", f"nn.Softmax(-1)({a})", f"nn.GELU()({a})",
    )  # fmt: skip
    return Case(draw.one(texts), draw.tensors)


def chain(draw: Draw) -> Case:
    """Two elementwise calls and a question that strides answer."""
    a = draw.tensor()
    b = draw.tensor(draw.beside(draw.shape_of(a)))
    inner = draw.one((f"({a} * 2)", f"({a} + {b})", f"{a}.clone()", f"{a}.abs()", f"{a}.transpose(0, -1).neg()"))
    outer = draw.one((".view(-1)", ".is_contiguous()", ".contiguous()", ".flatten()", ".t()", ".sum(0)", "[..., :1]"))
    return Case(inner + outer, draw.tensors)


def aliasing(draw: Draw) -> Case:
    """A write to one view of a tensor that reads another.  Views with gaps are seldom drawn: they are refused."""
    size = draw.random.randint(2, 4)
    a = draw.tensor((size, size), draw.one(("float32", "int64", "int8")))
    if draw.chance(0.9):
        values = (draw.tensors[a].values * 99)[: 4 + size**2]
        draw.tensors[a] = draw.tensors[a]._replace(strides=(size, 1), values=values)
    dense = (a, f"{a}.t()", f"{a}[1:]", f"{a}[:-1]", f"{a}[:1]", f"{a}[0]", f"{a}.clone()", f"{a}[1, 1]")
    gaps = (f"{a}[::2]", f"{a}[1::2]", f"{a}[:, :1]", f"{a}[:, 1:]", f"{a}[:, :-1]", f"{a}[:, ::2]", f"{a}[:, 0]")
    x, y = (draw.one(gaps if draw.chance(0.04) else dense) for _ in range(2))
    whole = draw.one((a, f"{a}.t()", f"{a}.clone()"))
    texts = (f"{x}.copy_({y})", f"{x}.add_({y})", f"{x}.mul_({y})", f"torch.add({whole}, {a}, out={a})",
             f"{x}.add_({y}, alpha=2)", f"torch.where({a} > 0, {whole}, {a}, out={a})", f"{x}.fill_({y})")  # fmt: skip
    return Case(draw.one(texts), draw.tensors)

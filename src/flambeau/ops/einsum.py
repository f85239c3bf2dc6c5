"""Contractions of tensors: einsum, tensordot and related functions, chains and groups of matrix products.

- einsum contracts its operands two at a time: by a batched product where labels are summed over both, by a
  multiplication where none are.  The order is that of opt_einsum where it is installed, else from left to right.
- An operand is a pair (tensor, labels), one label per dimension.  Labels of an ellipsis are negative numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import dtypes, host
from .. import strides as st
from ..dtypes import dtype, promote_types
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    IndexRangeError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar, Strided
from .indexing_kernels import copy_if_same
from .join import cat, stack
from .linalg import PRODUCT_TYPES, check_types, matmul, mm
from .operator import Array, Call, ErrorSample, Operand, Operands, Sample, composite, operator
from .pointwise import PRELUDE, THREADS, grid_over
from .slicing import diagonal

VECTORS_HINT = "pass vectors of three elements, in a dimension of size 3"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
Labels = list[int]


def parsed(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand and of the result.  Label -1 is an ellipsis' last dimension, -2 the one before.

    Raises: ArgumentError for a malformed equation, or one whose labels do not match an operand's dimensions.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _bad(f"the equation {equation!r} names {len(terms)} operands, but {len(ranks)} were provided")
    operands = [_operand_labels(equation, index, term, rank) for index, (term, rank) in enumerate(zip(terms, ranks))]
    seen = [label for labels in operands for label in labels]
    covered = sorted({label for label in seen if label < 0})
    if not arrow:
        single = sorted({label for label in seen if label >= 0 and seen.count(label) == 1})
        return operands, [*covered, *single]
    before, dots, after = right.partition("...")
    result = [*_letters(equation, before), *(covered if dots else []), *_letters(equation, after)]
    for label in result:
        if result.count(label) > 1:
            raise _bad(f"output subscript {LETTERS[label]} appears more than once in the output of {equation!r}")
        if label not in seen:
            raise _bad(f"output subscript {LETTERS[label]} does not appear in the equation {equation!r} for any input")
    return operands, result


def _operand_labels(equation: str, index: int, term: str, rank: int) -> Labels:
    before, dots, after = term.partition("...")
    first, last = _letters(equation, before), _letters(equation, after)
    covered = rank - len(first) - len(last)
    if covered < 0 or covered and not dots:
        raise _bad(
            f"the number of subscripts of operand {index} in the equation {equation!r}, {len(first) + len(last)}, "
            f"does not match its number of dimensions, {rank}"
        )
    return [*first, *range(-covered, 0), *last]


def _letters(equation: str, text: str) -> Labels:
    for letter in text:
        if letter not in LETTERS:
            raise _bad(f"invalid subscript {letter!r} in the equation {equation!r}, subscripts must be in [a-zA-Z]")
    return [LETTERS.index(letter) for letter in text]


def _bad(fact: str) -> ArgumentError:
    return BadEquation(fact, hint='an equation is like "ij,jk->ik" or "...ii->...i"', operator="einsum")


class BadEquation(ArgumentError, RuntimeError):
    """An equation of einsum is malformed or does not match the operands."""


def _check_sizes(equation: str, operands: Sequence[tuple[Any, Labels]]) -> None:
    """Raise ShapeError if a label has two sizes other than 1, or two sizes within one operand."""
    sizes: dict[int, int] = {}
    for index, (tensor, labels) in enumerate(operands):
        own: dict[int, int] = {}
        for label, size in zip(labels, tensor.shape):
            name = LETTERS[label] if label >= 0 else "..."
            if own.setdefault(label, size) != size:
                raise ShapeError(
                    f"subscript {name} is repeated for operand {index} but the sizes don't match, {size} != "
                    f"{own[label]}",
                    hint="a diagonal needs dimensions of equal size",
                    operator="einsum",
                )
            if size != 1 and sizes.setdefault(label, size) != size:
                shapes = ", ".join(str(list(tensor.shape)) for tensor, _ in operands)
                raise ShapeError(
                    f"operands do not broadcast: subscript {name} of {equation!r} has size {size} for operand {index} "
                    f"and {sizes[label]} for a previously seen operand; shapes are {shapes}",
                    hint="all sizes of one subscript must be equal, or 1",
                    operator="einsum",
                )


def _without_repeats(tensor: Any, labels: Labels) -> tuple[Any, Labels]:
    """Take the diagonals of an operand whose labels repeat."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = diagonal(tensor, 0, first, second)
            labels = [other for at, other in enumerate(labels) if at not in (first, second)] + [label]
    return tensor, labels


def _summed(tensor: Any, labels: Labels, dropped: set[int], dtype: Any = None) -> tuple[Any, Labels]:
    """Compute the sum over the dimensions of some labels.  dtype: of the sum, by default that of Tensor.sum."""
    dims = [at for at, label in enumerate(labels) if label in dropped]
    if not dims:
        return tensor, labels
    return tensor.sum(dims, dtype=dtype), [label for label in labels if label not in dropped]


def _ordered(tensor: Any, labels: Labels, wanted: Sequence[int]) -> Any:
    order = [labels.index(label) for label in wanted]
    return tensor if order == list(range(len(order))) else tensor.permute(order)


def _squeezed(tensor: Any, labels: Labels, dropped: set[int]) -> tuple[Any, Labels]:
    """Remove the dimensions of some labels, which have size 1."""
    if not dropped:
        return tensor, labels
    shape = [size for size, label in zip(tensor.shape, labels) if label not in dropped]
    return tensor.reshape(shape), [label for label in labels if label not in dropped]


def _contracted(a: tuple[Any, Labels], b: tuple[Any, Labels], kept: set[int], dtype: Any = None) -> tuple[Any, Labels]:
    """Contract two operands.

    kept: the labels that later operands or the result have.  dtype: of sums over one operand, as in `_summed`.
    """
    sizes_a, sizes_b = (dict(zip(labels, tensor.shape)) for tensor, labels in (a, b))
    unequal = {label for label in sizes_a if sizes_b.get(label, sizes_a[label]) != sizes_a[label]}
    left, left_labels = _squeezed(*a, {label for label in unequal if sizes_a[label] == 1})
    right, right_labels = _squeezed(*b, {label for label in unequal if sizes_b[label] == 1})
    shared = set(left_labels) & set(right_labels)
    left, left_labels = _summed(left, left_labels, set(left_labels) - shared - kept, dtype)
    right, right_labels = _summed(right, right_labels, set(right_labels) - shared - kept, dtype)
    batch = [label for label in left_labels if label in shared and label in kept]
    inner = [label for label in left_labels if label in shared and label not in kept]
    rows = [label for label in left_labels if label not in shared]
    columns = [label for label in right_labels if label not in shared]
    left = _ordered(left, left_labels, [*batch, *rows, *inner])
    labels = [*batch, *rows, *columns]
    if a[0].dtype is b[0].dtype and left.dtype is not right.dtype:  # a sum over one operand has widened its integers
        left, right = left.to(wider := promote_types(left.dtype, right.dtype)), right.to(wider)
    if not inner:
        right = _ordered(right, right_labels, [*batch, *columns])
        left = left.reshape((*left.shape, *[1] * len(columns)))
        right = right.reshape((*right.shape[: len(batch)], *[1] * len(rows), *right.shape[len(batch) :]))
        return left * right, labels
    right = _ordered(right, right_labels, [*batch, *inner, *columns])
    first, second, third = len(batch), len(batch) + len(rows), len(batch) + len(inner)
    shape = (*left.shape[:second], *right.shape[third:])
    m, k, n = prod(left.shape[first:second]), prod(left.shape[second:]), prod(right.shape[third:])
    left, right = left.reshape((*left.shape[:first], m, k)), right.reshape((*right.shape[:first], k, n))
    return matmul(left, right).reshape(shape), labels


def _path(operands: Sequence[tuple[Any, Labels]], result: Labels) -> list[tuple[int, ...]]:
    """Return the groups to contract: indexes into the list of operands, to whose end each result is appended."""
    count = len(operands)
    if count > 2 and host.has_opt_einsum():
        symbols = ["".join([chr(ord("a") + label) for label in labels]) for _, labels in [*operands, (None, result)]]
        path: list[tuple[int, ...]] = host.contraction_path(
            f"{','.join(symbols[:-1])}->{symbols[-1]}", [tuple(tensor.shape) for tensor, _ in operands]
        )
        return path
    return [(0, 1), *[(0, last) for last in range(count - 2, 0, -1)]]


def _chains() -> Iterator[Sample]:
    a, b, c = Array((2, 3)), Array((3, 4), seed=1), Array((4, 2), layout="transposed", seed=2)
    yield Sample(("ij,jk->ik", [a, b]))
    yield Sample(("ij,jk,kl", [a, b, c]))
    yield Sample(("ii->i", [Array((3, 3))]))
    yield Sample(("ij->j", [a]))
    yield Sample(("ji", [a]))
    yield Sample(("i,j->ij", [Array((2,)), Array((3,), seed=1)]))
    yield Sample(("...ij,...jk->...ik", [Array((2, 1, 2, 3)), Array((3, 3, 2), layout="strided", seed=1)]))
    yield Sample(("bij,bjk->bk", [Array((2, 2, 3)), Array((2, 3, 4), seed=1)]))
    yield Sample(("ij,ij->", [a, Array((2, 3), seed=1)]))
    yield Sample(("iij,jk->ik", [Array((2, 2, 3)), Array((3, 2), seed=1)]))
    yield Sample(("ij,jk->ik", [Array((0, 3)), Array((3, 4), seed=1)]))
    yield Sample(("ij,jk->ik", [Array((2, 1)), Array((3, 4), seed=1)]))


def _bad_chains() -> Iterator[ErrorSample]:
    a, b = Array((2, 3)), Array((4, 5))
    yield ErrorSample(("ij,jk->ik", [a, b]), ShapeError, "subscript j .* size 4 for operand 1 and 3")
    yield ErrorSample(("ij,jk->ik", [a]), ArgumentError, "names 2 operands, but 1 were provided")
    yield ErrorSample(("i->i", [a]), ArgumentError, "operand 0 .* does not match its number of dimensions, 2")
    yield ErrorSample(("ij->ii", [a]), ArgumentError, "output subscript i appears more than once")
    yield ErrorSample(("ij->k", [a]), ArgumentError, "output subscript k does not appear")
    yield ErrorSample(("i1->i", [a]), ArgumentError, "invalid subscript '1'")
    yield ErrorSample(("ii->i", [a]), ShapeError, "repeated for operand 0 .* 3 != 2")


@composite(
    samples=_chains, errors=_bad_chains, dtypes=PRODUCT_TYPES, method=False, function=False, name="einsum_of",
    called="einsum",
)  # fmt: skip
def einsum_of(equation: str, operands: Operands) -> Any:
    """Compute the sum of products by Einstein's convention: `torch.einsum` with the operands as a list.

    Raises: ShapeError if the operands do not broadcast, ArgumentError for a wrong equation.
    """
    if not operands:
        raise ArgumentError("must provide at least one operand", hint="as in einsum('ij->ji', x)", operator="einsum")
    all_labels, result = parsed(equation, [len(operand.shape) for operand in operands])
    _check_sizes(equation, list(zip(operands, all_labels)))
    terms = [_without_repeats(operand, labels) for operand, labels in zip(operands, all_labels)]
    for group in _path(terms, result) if len(terms) > 1 else ():
        chosen = [terms[at] for at in group]
        terms = [term for at, term in enumerate(terms) if at not in group]
        term = chosen[0]
        for at, other in enumerate(chosen[1:], 2):
            term = _contracted(term, other, set(result).union(*(labels for _, labels in (*terms, *chosen[at:]))))
        terms.append(term)
    tensor, labels = terms[0]
    output = _ordered(*_summed(tensor, labels, set(labels) - set(result)), result)
    first: Any = operands[0]
    return first.view_as(first) if output is first else output  # never the operand itself


# products of two tensors


def _contractions() -> Iterator[Sample]:
    a, b = Array((2, 3, 4)), Array((3, 4, 5), seed=1)
    yield Sample((a, b))
    yield Sample((a, b, ([1], [0])))
    yield Sample((Array((3, 2), layout="transposed"), Array((2, 3), layout="strided", seed=1), [[0, 1], [1, 0]]))
    yield Sample((Array((2,)), Array((3,), seed=1), 0))
    yield Sample((Array((0, 3)), Array((3, 2), seed=1), 1))
    yield Sample((Array((2, 1)), Array((3, 2), seed=1), 1))


def _bad_contractions() -> Iterator[ErrorSample]:
    a, b = Array((2, 3)), Array((4, 5))
    yield ErrorSample(
        (a, b, 1), ShapeError, r"need to match, but dimension -1 of a has size 3, and dimension 0 of b has size 4"
    )
    yield ErrorSample((a, b, 3), ShapeError, r"dims=3 .* 2 and 2 dimensions")
    yield ErrorSample((a, b, ([0], [0, 1])), ArgumentError, r"the same length, got \[0\] and \[0, 1\]")
    yield ErrorSample((a, Array((3, 2), dtype="float64"), 1), DtypeError, "got float32 and float64")


def _contracted_dims(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    """Return the dimensions of both that tensordot sums over."""
    name, ranks = "tensordot", (len(a.shape), len(b.shape))
    if hasattr(dims, "tolist"):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        if len(dims) != 2 or not all(isinstance(part, (tuple, list)) for part in dims):
            raise ArgumentTypeError(
                f"expects dims to be a count >= 0 or two lists of dimensions, got {shown(dims)}",
                hint="pass for example dims=1, which sums over the last dimension of a and the first of b",
                operator=name,
            )
        firsts, seconds = (list(part) for part in dims)
    else:
        count = dims
        if not isinstance(count, int) or count < 0:
            raise ValueRangeError(
                f"expects dims to be a count >= 0 or two lists of dimensions, got {shown(dims)}",
                hint="pass for example dims=1, which sums over the last dimension of a and the first of b",
                operator=name,
            )
        if count > min(ranks):
            raise ShapeError(
                f"dims={count} is more than the operands have, {ranks[0]} and {ranks[1]} dimensions",
                hint="name fewer dimensions",
                operator=name,
            )
        firsts, seconds = list(range(-count, 0)), list(range(count))
    if len(firsts) != len(seconds):
        raise ValueRangeError(
            f"both lists must have the same length, got {firsts} and {seconds}",
            hint="pass one dimension of b for each dimension of a",
            operator=name,
        )
    firsts, seconds = st.as_ints(firsts), st.as_ints(seconds)
    for which, (listed, rank) in enumerate(zip((firsts, seconds), ranks)):
        wrapped = [st.wrap_dim(dim, rank, name) for dim in listed]
        if len(set(wrapped)) < len(wrapped):
            raise ShapeError(
                f"a dimension of {'ab'[which]} appears multiple times in {listed}",
                hint="sum over each dimension once",
                operator=name,
            )
    return firsts, seconds


@composite(samples=_contractions, errors=_bad_contractions, dtypes=PRODUCT_TYPES, method=False, function=False)
def tensordot(a: Operand, b: Operand, dims: Any = 2) -> Any:
    """Compute the sum of products over some dimensions of two tensors.

    dims: a number n, for the last n dimensions of a and the first n of b; or two lists of dimensions, in pairs.
    Shapes: the dimensions of a, then those of b, without the ones summed over.
    Host:   returns at once.
    Raises: ShapeError if sizes differ, and for too many or repeated dims; DtypeError if the types differ or are bool;
            ArgumentError, ArgumentTypeError or IndexRangeError for other bad dims.
    Example:
        >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
        torch.Size([2, 5])
        >>> torch.tensordot(torch.tensor([1, 2]), torch.tensor([3, 4]), dims=1)
        tensor(11)
    """
    firsts, seconds = _contracted_dims(a, b, dims)
    check_types("tensordot", a=a, b=b)
    labels_a, labels_b = list(range(len(a.shape))), list(range(len(a.shape), len(a.shape) + len(b.shape)))
    kept = {*labels_a, *labels_b}
    for first, second in zip(firsts, seconds):
        at, other = st.wrap_dim(first, len(a.shape), "tensordot"), st.wrap_dim(second, len(b.shape), "tensordot")
        sizes = a.shape[at], b.shape[other]
        if sizes[0] != sizes[1] and 1 not in sizes:
            raise ShapeError(
                f"contracted dimensions need to match, but dimension {first} of a has size {sizes[0]}, "
                f"and dimension {second} of b has size {sizes[1]}",
                hint="sizes must be equal, or 1",
                operator="tensordot",
            )
        labels_b[other] = labels_a[at]
        kept.discard(labels_a[at])
    result, labels = _contracted((a, labels_a), (b, labels_b), kept, a.dtype)
    wanted = [label for label in (*labels_a, *labels_b) if label in kept]
    return _ordered(result, labels, [label for label in wanted if label in labels])


def _inner_pairs() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((4, 3), seed=1)))
    yield Sample((Array((3,)), Array((3,), seed=1)))
    yield Sample((Array((2, 2, 3), layout="strided"), Array((3,), seed=1)))
    yield Sample((Array(()), Array((2, 3), seed=1)))
    yield Sample((Array((2, 0)), Array((3, 0))))


def _bad_inner_pairs() -> Iterator[ErrorSample]:
    text = r"last dimensions .* \[2, 3\] and \[3, 2\]"
    yield ErrorSample((Array((2, 3)), Array((3, 2))), ShapeError, text)


@composite(samples=_inner_pairs, errors=_bad_inner_pairs, dtypes=PRODUCT_TYPES)
def inner(input: Operand, other: Operand) -> Any:
    """Compute the sum of products over the last dimension of both inputs; their product if one has no dimensions.

    Shapes: [*A, k] with [*B, k] gives [*A, *B].
    Host:   returns at once.
    Raises: ShapeError if the last sizes differ, DtypeError if the types differ or are bool.
    Example:
        >>> torch.inner(torch.tensor([[1, 2], [3, 4]]), torch.tensor([10, 1]))
        tensor([12, 34])
    """
    if not input.shape or not other.shape:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise ShapeError(
            f"the last dimensions must have equal sizes, got shapes {list(input.shape)} and {list(other.shape)}",
            hint="transpose one of them",
            operator="inner",
        )
    k = input.shape[-1]
    rows, columns = (operand.reshape((prod(operand.shape[:-1]), k)) for operand in (input, other))
    return matmul(rows, columns.transpose(0, 1)).reshape((*input.shape[:-1], *other.shape[:-1]))


def _kron_pairs() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((3, 2), seed=1)))
    yield Sample((Array((3, 2), layout="transposed"), Array((2,), seed=1)))
    yield Sample((Array(()), Array((2, 1, 2), seed=1)))
    yield Sample((Array((0, 2)), Array((2, 2), seed=1)))


def _bad_kron_pairs() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2)), 3), ArgumentTypeError, "'other' must be a Tensor, not int: 3")


@composite(samples=_kron_pairs, errors=_bad_kron_pairs, dtypes=dtypes.ALL)
def kron(input: Operand, other: Operand) -> Any:
    """Compute the Kronecker product: a block matrix whose block [i, j] is input[i, j] * other.

    Shapes: each size is the product of both inputs'; the input with fewer dimensions gets leading ones of size 1.
    Host:   returns at once.
    Raises: ArgumentTypeError if an operand is not a tensor.
    Example:
        >>> torch.kron(torch.tensor([[1, 2]]), torch.tensor([[1, 1], [0, 1]]))
        tensor([[1, 1, 2, 2],
                [0, 1, 0, 2]])
    """
    rank = max(len(input.shape), len(other.shape))
    a, b = ((*[1] * (rank - len(operand.shape)), *operand.shape) for operand in (input, other))
    left = input.reshape([part for size in a for part in (size, 1)])
    right = other.reshape([part for size in b for part in (1, size)])
    return (left * right).reshape([one * two for one, two in zip(a, b)])


def _cross_pairs() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((2, 3), seed=1)))
    yield Sample((Array((2, 3), layout="transposed"), Array((1, 3), seed=1)))
    yield Sample((Array((3, 2)), Array((3, 2), layout="strided", seed=1)), {"dim": 0})
    yield Sample((Array((0, 3)), Array((0, 3))))


def _bad_cross_pairs() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 4)), Array((2, 4))), ShapeError, "must have size 3, got 4 and 4")
    yield ErrorSample((Array((3,)), Array((2, 3))), ShapeError, "same number of dimensions, got shapes")


@cache
def _cross_kernel(dtype: dtype) -> Kernel:
    entry, c, wide = f"cross_{dtype.name}", dtype.cuda, dtype.wide.cuda
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {c}* out, const {c}* input, const {c}* other, Layout<3> layout, long long count) {{
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 3 * count; i += threads) {{
    long long vector;
    const long long at = divide(i, count, vector), next = (at + 1) % 3 * count, last = (at + 2) % 3 * count;
    const auto a = [&](long long start) {{ return load<{wide}>(input[offset(layout, 1, start + vector)]); }};
    const auto b = [&](long long start) {{ return load<{wide}>(other[offset(layout, 2, start + vector)]); }};
    out[offset(layout, 0, i)] = store<{c}>(({wide})(a(next) * b(last) - a(last) * b(next)));
  }}
}}
"""

    def reference(out: Any, input: Any, other: Any, count: int) -> None:
        a, b = [array.astype(dtype.wide.numpy, copy=False) for array in (input, other)]
        out[...] = np.roll(a, -1, 0) * np.roll(b, -2, 0) - np.roll(a, -2, 0) * np.roll(b, -1, 0)

    params: list[Param] = [
        Pointer("out", dtype, "w", "layout"), Pointer("input", dtype, "r", "layout"),
        Pointer("other", dtype, "r", "layout"), Strided("layout", ("out", "input", "other")), Scalar("count", "int64"),
    ]  # fmt: skip
    return Kernel(entry, source, params, reference, 3.0)


@operator(
    samples=_cross_pairs, errors=_bad_cross_pairs, dtypes=PRODUCT_TYPES, method=False, function=False,
    called="linalg.cross",
)  # fmt: skip
def linalg_cross(call: Call, input: Operand, other: Operand, *, dim: int = -1) -> Any:
    """Compute the cross product of vectors of three elements along `dim`.

    Shapes: the inputs broadcast together; size 3 at dim.
    Host:   returns at once.
    Raises: ShapeError unless both have the same number of dimensions, and size 3 at dim; IndexRangeError for a bad dim.
    Example:
        >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
    """
    if len(input.shape) != len(other.shape):
        raise ShapeError(
            f"input and other must have the same number of dimensions, got shapes {list(input.shape)} and "
            f"{list(other.shape)}",
            hint="add dimensions with unsqueeze()",
            operator="linalg.cross",
        )
    if not input.shape:
        raise IndexRangeError(
            "tensors without dimensions have no vectors: input and other have shape []",
            hint=VECTORS_HINT,
            operator="linalg.cross",
        )
    at = st.wrap_dim(dim, len(input.shape), "linalg.cross")
    if input.shape[at] != 3 or other.shape[at] != 3:
        raise ShapeError(
            f"dimension {dim} of input and of other must have size 3, got {input.shape[at]} and {other.shape[at]}",
            hint=VECTORS_HINT,
            operator="linalg.cross",
        )
    shape = st.broadcast([input.shape, other.shape], "linalg.cross")
    common = promote_types(input.dtype, other.dtype)
    out = call.output(shape, common)
    count = prod(shape) // 3
    if count:
        operands = [out]
        for vectors in (input, other):
            given = vectors if vectors.dtype is common else call.contiguous(vectors, common)
            operands.append(copy_if_same(call, given, out))
        rows = [st.expand(operand.shape, operand.strides, shape) for operand in operands]
        sizes, steps = st.collapse((*shape[:at], *shape[at + 1 :]), [(*row[:at], *row[at + 1 :]) for row in rows])
        layout = (3, *sizes), [(row[at], *rest) for row, rest in zip(rows, steps)]
        call.launch(_cross_kernel(common), grid_over(3 * count), *operands, layout, count)
    return out


@linalg_cross.derivative
def _(grad: Any, input: Any, other: Any, dim: int, needs: Any) -> Any:
    of_input = linalg_cross(other, grad, dim=dim).sum_to_size(input.shape).to(input.dtype) if needs[0] else None
    of_other = linalg_cross(grad, input, dim=dim).sum_to_size(other.shape).to(other.dtype) if needs[1] else None
    return of_input, of_other


def _cross_of_any() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((2, 3), seed=1)))
    yield Sample((Array((3, 3)), Array((3, 3), seed=1), 1))


def _bad_cross_of_any() -> Iterator[ErrorSample]:
    text = r"no dimension of size 3 in input, got shape \[2, 4\]"
    yield ErrorSample((Array((2, 4)), Array((2, 4))), ShapeError, text)


@composite(samples=_cross_of_any, errors=_bad_cross_of_any, dtypes=PRODUCT_TYPES)
def cross(input: Operand, other: Operand, dim: int | None = None) -> Any:
    """Compute the cross product of vectors of three elements along `dim`, by default the first dimension of size 3.

    Shapes: the inputs broadcast together; size 3 at dim.
    Host:   returns at once.
    Raises: ShapeError unless both have the same number of dimensions, and size 3 at dim; IndexRangeError for a bad dim.
    Example:
        >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
    """
    if dim is None:
        if 3 not in input.shape:
            raise ShapeError(
                f"no dimension of size 3 in input, got shape {list(input.shape)}",
                hint=VECTORS_HINT,
                operator="cross",
            )
        dim = list(input.shape).index(3)
    return linalg_cross(input, other, dim=dim)


def _vector_products() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((3,), seed=1)))
    yield Sample((Array((3, 2), layout="transposed"), Array((3, 1), seed=1)), {"dim": 0})


@composite(samples=_vector_products, dtypes=dtypes.FLOATING_TYPES, method=False, function=False, called="linalg.vecdot")
def linalg_vecdot(x: Operand, y: Operand, *, dim: int = -1) -> Any:
    """Compute the dot products of vectors: the sum of input products along `dim`, the last dimension by default.

    Shapes: the inputs broadcast together; the result has the broadcast shape without `dim`.
    Host:   returns at once.
    Raises: IndexRangeError for a bad dim, DtypeError if the types differ.
    Example:
        >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
        tensor([21., 43.])
    """
    check_types("linalg.vecdot", x=x, y=y)
    if not x.dtype.is_floating_point:
        raise DtypeError(
            f"x must be floating point, got {x.dtype.name}", hint="convert with .float()", operator="linalg.vecdot"
        )
    return (x * y).sum(dim)


# chains of products


def _matrices() -> Iterator[Sample]:
    a, b, c = Array((2, 3)), Array((3, 4), seed=1), Array((4, 2), layout="transposed", seed=2)
    yield Sample(([a, b],))
    yield Sample(([a, b, c],))
    yield Sample(([Array((3,)), b, c, Array((2,), seed=3)],))
    yield Sample(([a, Array((3, 1), seed=1), Array((1, 4), seed=2), c],))


def _bad_matrices() -> Iterator[ErrorSample]:
    a = Array((2, 3))
    yield ErrorSample(([a],), ArgumentError, "expected at least 2 tensors but got 1")
    yield ErrorSample(([a, a],), ShapeError, r"cannot be multiplied \(2x3 and 2x3\)")
    yield ErrorSample(([a, Array((3,)), a],), ShapeError, r"tensor 1 must have 2 dimensions, got shape \[3\]")


@composite(
    samples=_matrices, errors=_bad_matrices, dtypes=PRODUCT_TYPES, method=False, function=False,
    called="linalg.multi_dot",
)  # fmt: skip
def linalg_multi_dot(tensors: Operands) -> Any:
    """Compute the product of several matrices, in the order that takes the fewest multiplications.

    The first tensor may be a vector, taken as a row, and the last one a vector, taken as a column.
    Shapes: [m, k], ..., [l, n] gives [m, n], without m or n for a vector.
    Host:   returns at once.
    Raises: ValueRangeError for fewer than two tensors, ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
        tensor([12., 12.])
    """
    name, count = "linalg.multi_dot", len(tensors)
    if count < 2:
        raise ValueRangeError(
            f"expected at least 2 tensors but got {count}", hint="pass two or more matrices or vectors", operator=name
        )
    matrices: list[Any] = list(tensors)
    check_types(name, **{f"tensor {at}": matrix for at, matrix in enumerate(matrices)})
    first, last = len(matrices[0].shape) == 1, len(matrices[-1].shape) == 1
    if first:
        matrices[0] = matrices[0].reshape((1, matrices[0].shape[0]))
    if last:
        matrices[-1] = matrices[-1].reshape((matrices[-1].shape[0], 1))
    for at, matrix in enumerate(matrices):
        if len(matrix.shape) != 2:
            raise ShapeError(
                f"tensor {at} must have 2 dimensions, got shape {list(matrix.shape)}",
                hint="pass matrices; only the first and the last tensor may be vectors",
                operator=name,
            )
    sizes = [*(matrix.shape[0] for matrix in matrices), matrices[-1].shape[1]]
    result = _multiplied(matrices, _splits(sizes), 0, count - 1)
    shape = (*([] if first else sizes[:1]), *([] if last else sizes[-1:]))
    return result.reshape(shape) if first or last else result


def _splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return where to split each part (first, last) of a chain of matrices for the fewest multiplications."""
    count = len(sizes) - 1
    costs = {(at, at): 0 for at in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs[first, last], splits[first, last] = min(
                (costs[first, at] + costs[at + 1, last] + sizes[first] * sizes[at + 1] * sizes[last + 1], at)
                for at in range(first, last)
            )
    return splits


def _multiplied(matrices: Sequence[Any], splits: dict[tuple[int, int], int], first: int, last: int) -> Any:
    if first == last:
        return matrices[first]
    at = splits[first, last]
    return mm(_multiplied(matrices, splits, first, at), _multiplied(matrices, splits, at + 1, last))


def _groups() -> Iterator[Sample]:
    offsets = Array((2,), low=2, high=2, dtype="int32", grad=False)
    yield Sample((Array((2, 3, 4)), Array((2, 4, 2), seed=1)))
    yield Sample((Array((2, 4)), Array((2, 4, 3), seed=1)), {"offs": offsets})
    yield Sample((Array((3, 2)), Array((2, 4), seed=1)), {"offs": offsets})
    yield Sample((Array((2, 3, 4)), Array((4, 2), seed=1)), {"offs": offsets})


def _bad_groups() -> Iterator[ErrorSample]:
    a, b = Array((4, 3)), Array((2, 3, 5))
    offsets = Array((2,), low=2, high=2, dtype="int32")
    yield ErrorSample((a, b), ArgumentError, r"offs .* \[4, 3\] and \[2, 3, 5\]")
    yield ErrorSample((a, Array((2, 4, 5))), ShapeError, r"contraction .* 3 and 4", {"offs": offsets})
    yield ErrorSample((a, Array((3, 3, 5))), ShapeError, r"3 matrices and 2 offsets", {"offs": offsets})
    long = Array((2,), low=5, high=5, dtype="int32")
    yield ErrorSample((a, b), ValueRangeError, r"\[5, 5\] .* 4", {"offs": long})


@composite(
    samples=_groups,
    errors=_bad_groups,
    dtypes=dtypes.FLOATING_TYPES,
    host="waits",
    method=False,
    function=False,
)
def grouped_mm(
    mat_a: Operand, mat_b: Operand, *, offs: Operand | None = None, bias: Operand | None = None, out_dtype: Any = None
) -> Any:
    """Multiply matrices group by group, as in a mixture of experts.

    A group of an operand is one matrix of a batch, or one part of a single matrix, which `offs` divides.
    offs: int32, the end of each group.  Groups divide the rows of mat_a if mat_b is a batch, the columns of mat_b if
        mat_a is a batch, and the dimension that is summed if both are matrices.
    Shapes: [m, k] and [g, k, n] give [m, n]; [g, m, k] and [k, n] give [m, n]; [m, k] and [k, n], and [g, m, k] and
            [g, k, n] give [g, m, n].  Elements after the last group are 0.
    Host:   waits for offs, if it is on a GPU.
    Raises: ShapeError if sizes do not fit, ArgumentError if offs is missing for a matrix or given for two batches,
            ValueRangeError for offsets that decrease or are too large, NotSupportedError for a bias, or an out_dtype
            other than that of mat_a.
    Example:
        >>> x, experts = torch.ones(3, 2), torch.stack([torch.eye(2), 10 * torch.eye(2)])
        >>> torch.nn.functional.grouped_mm(x, experts, offs=torch.tensor([1, 3], dtype=torch.int32))
        tensor([[ 1.,  1.],
                [10., 10.],
                [10., 10.]])
    """
    a: Any = mat_a
    b: Any = mat_b
    shapes = f"{list(a.shape)} and {list(b.shape)}"
    if not (len(a.shape) in (2, 3) and len(b.shape) in (2, 3)):
        raise ShapeError(f"operands must have 2 or 3 dimensions, got {shapes}", hint="use unsqueeze(0)")
    if bias is not None or out_dtype not in (None, a.dtype):
        raise NotSupportedError(
            f"bias must be None and out_dtype the dtype of mat_a, got {shown(bias)} and {out_dtype}",
            hint="add the bias to the result, and convert it",
        )
    is_batched = len(a.shape) == len(b.shape) == 3
    if is_batched != (offs is None):
        raise ArgumentError(
            "offs is needed if mat_a or mat_b is a matrix, and must be None for two batches, "
            f"got offs={shown(offs)} for {shapes}",
            hint="pass offs with the end of each group, or two batches of matrices without offs",
        )
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"the contraction dimensions must match, got {a.shape[-1]} and {b.shape[-2]} of {shapes}",
            hint="pass mat_a [..., m, k] and mat_b [..., k, n]",
        )
    if offs is None:
        return matmul(a, b)
    ends: Any = offs
    ends = ends.tolist()
    batch = a if len(a.shape) == 3 else b if len(b.shape) == 3 else None
    if batch is not None and batch.shape[0] != len(ends):
        raise ShapeError(
            f"expected one offset per matrix, got {batch.shape[0]} matrices and {len(ends)} offsets",
            hint="pass one offset for each matrix: the end of its group",
        )
    size = a.shape[0] if len(b.shape) == 3 else b.shape[-1] if len(a.shape) == 3 else a.shape[-1]
    starts = [0, *ends[:-1]]
    if any(start > end for start, end in zip(starts, ends)) or ends and ends[-1] > size:
        raise ValueRangeError(
            f"offsets {ends} must not decrease, and end at most at {size}",
            hint="pass the sums of the group sizes so far: sizes.cumsum(0)",
        )
    pieces = [slice(start, end) for start, end in zip(starts, ends)]
    if batch is None:
        return stack([matmul(a[:, piece], b[piece]) for piece in pieces])
    if len(b.shape) == 3:
        parts = [matmul(a[piece], b[at]) for at, piece in enumerate(pieces)]
        rest = a.new_zeros((size - (ends[-1] if ends else 0), b.shape[-1]))
        return cat([*parts, rest], 0)
    parts = [matmul(a[at], b[:, piece]) for at, piece in enumerate(pieces)]
    return cat([*parts, a.new_zeros((a.shape[-2], size - (ends[-1] if ends else 0)))], -1)

"""Matrix products.

- Every product is one `problem.Gemm`; gemm_plan.py says how, and which operands are copied first.
- A product over an inner size of 0 is 0, or the bias, without a library call.
- bool is refused, for there is no sum of bools; integers are exact modulo their range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import bool_, dtype, float32
from ..errors import DtypeError, ShapeError
from .convert import fill
from .gemm_plan import DENSE, IN_PLACE, Matrices, Sizes, plan_of
from .operator import Array, ErrorSample, Operand, Sample, Setting, composite, operator

PRODUCT_TYPES = dtypes.ALL[1:]


allow_tf32 = Setting(False)  # whether float32 products may round their inputs to 10 bits of mantissa


# running a product


def product(
    call: Any, a: Any, b: Any, left: Matrices, right: Matrices, batch: Sizes, shape: Sequence[int], bias: Any = None,
    activation: str = "",
) -> Any:  # fmt: skip
    """Queue shape-of-`shape` out = activation(a @ b (+ bias)), with a and b seen as `left` and `right`.

    activation: see `problem.Gemm`; "" where the inner size is 0.
    """
    kind = a.dtype
    if prod(shape) and left.shape[-1] == 0:
        return _empty_product(call, shape, kind, bias)
    out = call.scratch(shape, kind) if _is_operand(call.given, (a, b, bias)) else call.output(shape, kind)
    if not out.numel():
        return out
    plan = plan_of(kind, left, right, batch, bias is not None, allow_tf32.value and kind is float32, activation)
    a, b = _fetched(call, a, left, plan.a, plan.batch), _fetched(call, b, right, plan.b, plan.batch)
    call.library(plan.problem, out, a, b, None if bias is None else call.contiguous(bias))
    return out


def _is_operand(given: Any, operands: Sequence[Any]) -> bool:
    """Whether the tensor to write is also read: a product cannot be made in place."""
    return given is not None and any(each is given for each in operands)


def _fetched(call: Any, operand: Any, seen: Matrices, passed: str, batch: Sizes) -> Any:
    if passed is IN_PLACE:
        return operand
    if passed is DENSE:
        return call.contiguous(operand)
    target = call.scratch((*batch, *seen.shape[-2:]), operand.dtype)
    call.assign(target, operand)
    return target


def _empty_product(call: Any, shape: Sequence[int], kind: dtype, bias: Any) -> Any:
    if bias is None:
        return fill.body(call, call.scratch(shape, kind), 0)
    out = call.output(shape, kind)
    call.assign(out, bias)
    return out


def check_types(name: str, **operands: Any) -> None:
    """Raise DtypeError unless all have one type that has products."""
    first, *rest = [(key, each.dtype) for key, each in operands.items() if each is not None]
    for key, kind in rest:
        if kind is not first[1]:
            raise DtypeError(
                f"expected {first[0]} and {key} to have the same dtype, but got {first[1].name} and {kind.name}",
                hint=f"convert one of them, for example {key}.to(torch.{first[1].name})",
                operator=name,
            )
    if first[1] is bool_:
        raise DtypeError("there is no product of bool matrices", hint="convert with .to(torch.uint8)", operator=name)


def cannot_multiply(name: str, a: Sequence[int], b: Sequence[int], hint: str = "") -> ShapeError:
    shapes = ["x".join(map(str, each)) for each in (a, b)]
    inner = f"the inner sizes, {a[-1]} and {b[-2:][0]}, must be equal"
    fits_turned = len(b) > 1 and b[-1] == a[-1]
    return ShapeError(
        f"mat1 and mat2 shapes cannot be multiplied ({shapes[0]} and {shapes[1]})",
        hint=hint or (f"{inner}: transpose one, for example mat2.transpose(-2, -1)" if fits_turned else inner),
        operator=name,
    )


def check_ndim(name: str, **operands: tuple[Any, int]) -> None:
    for key, (operand, ndim) in operands.items():
        if len(operand.shape) != ndim:
            raise ShapeError(
                f"{key} must have {ndim} dimensions, got shape {list(operand.shape)}",
                hint="matmul takes any number of dimensions"
                if name in ("mm", "bmm", "mv", "dot")
                else "add dimensions with unsqueeze(), or take them away with flatten() or squeeze()",
                operator=name,
            )


# products


def _products() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((3, 4), seed=1)))
    yield Sample((Array((2, 3), layout="transposed"), Array((3, 4), layout="transposed", seed=1)))
    yield Sample((Array((2, 3), layout="strided"), Array((3, 4), seed=1)))
    yield Sample((Array((3,)), Array((3,), seed=1)))
    yield Sample((Array((2, 3)), Array((3,), seed=1)))
    yield Sample((Array((3,)), Array((2, 3, 4), seed=1)))
    yield Sample((Array((2, 2, 3)), Array((3, 4), seed=1)))
    yield Sample((Array((2, 1, 2, 3)), Array((3, 3, 2), seed=1)))
    yield Sample((Array((2, 0)), Array((0, 3), seed=1)))
    yield Sample((Array((0, 3)), Array((3, 2), seed=1)))


def _bad_products() -> Iterator[ErrorSample]:
    text = r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"
    yield ErrorSample((Array((2, 3)), Array((4, 5))), ShapeError, text)
    yield ErrorSample(
        (Array((2, 3), dtype="float32"), Array((3, 5), dtype="float64")), DtypeError, "got float32 and float64"
    )


def _bad_matmuls() -> Iterator[ErrorSample]:
    yield from _bad_products()
    yield ErrorSample(
        (Array(()), Array((4, 5))), ShapeError, "at least one dimension, got shapes \\[\\] and \\[4, 5\\]"
    )
    yield ErrorSample((Array((2, 2, 3)), Array((3, 3, 2))), ShapeError, "do not broadcast")
    yield ErrorSample(
        (Array((2, 2), dtype="bool"), Array((2, 2), dtype="bool")), DtypeError, "no product of bool matrices"
    )


@operator(samples=_products, errors=_bad_matmuls, dtypes=PRODUCT_TYPES, setting=allow_tf32)
def matmul(call: Any, input: Operand, other: Operand) -> Any:
    """Matrix product over the last two dimensions.  A vector on the left is a row, on the right a column.

    Shapes: [*A, m, k] with [*B, k, n] gives [*C, m, n], where A and B broadcast to C; without m or n for a vector.
    Host:   returns at once.
    Raises: ShapeError if sizes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.matmul(a, torch.tensor([1.0, 0.0]))
        tensor([1., 3.])
        >>> torch.matmul(torch.ones(5, 1, 2, 3), torch.ones(4, 3, 7)).shape
        torch.Size([5, 4, 2, 7])
    """
    check_types(call.name, input=input, other=other)
    if not input.shape or not other.shape:
        raise ShapeError(
            f"both operands need at least one dimension, got shapes {list(input.shape)} and {list(other.shape)}",
            hint="multiply by a number with *",
            operator=call.name,
        )
    a, b = seen_left(input), seen_right(other)
    if a.shape[-1] != b.shape[-2]:
        raise cannot_multiply(call.name, input.shape, other.shape)
    batch = st.broadcast([a.shape[:-2], b.shape[:-2]], call.name)
    shape = (*batch, *a.shape[-2:-1][: len(input.shape) - 1], *b.shape[-1:][: len(other.shape) - 1])
    return product(call, input, other, a, b, batch, shape)


def seen_left(operand: Any) -> Matrices:
    shape, strides = tuple(operand.shape), tuple(operand.strides)
    return Matrices(shape, strides) if len(shape) > 1 else Matrices((1, *shape), (shape[0], *strides))


def seen_right(operand: Any) -> Matrices:
    shape, strides = tuple(operand.shape), tuple(operand.strides)
    return Matrices(shape, strides) if len(shape) > 1 else Matrices((*shape, 1), (*strides, 1))


@matmul.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    rows = input if len(input.shape) > 1 else input.reshape((1, *input.shape))
    columns = other if len(other.shape) > 1 else other.reshape((*other.shape, 1))
    m, n = rows.shape[-2], columns.shape[-1]
    lead = len(grad.shape) - (len(input.shape) > 1) - (len(other.shape) > 1)
    whole = grad.reshape((*grad.shape[:lead], m, n))
    of_rows = matmul(whole, columns.transpose(-2, -1)) if needs[0] else None
    if not needs[1]:
        return of_rows, None
    if len(columns.shape) == 2:  # one tall product, rather than a sum of products
        rows, whole = rows.reshape((prod(rows.shape[:-1]), rows.shape[-1])), whole.reshape((prod(whole.shape[:-1]), n))
    of_columns = matmul(rows.transpose(-2, -1), whole)
    return of_rows, of_columns if len(other.shape) > 1 else of_columns.reshape(of_columns.shape[:-1])


def _matrix_pairs() -> Iterator[Sample]:
    yield from (each for each in _products() if all(len(array.shape) == 2 for array in each.args))


def _bad_pairs() -> Iterator[ErrorSample]:
    yield from _bad_products()
    yield ErrorSample((Array((2, 3)), Array((3,))), ShapeError, r"mat2 must have 2 dimensions, got shape \[3\]")


@operator(samples=_matrix_pairs, errors=_bad_pairs, dtypes=PRODUCT_TYPES, setting=allow_tf32)
def mm(call: Any, input: Operand, mat2: Operand) -> Any:
    """Product of two matrices.

    Shapes: [m, k] with [k, n] gives [m, n].
    Host:   returns at once.
    Raises: ShapeError if they are not matrices or do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> torch.mm(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 1], [1, 0]]))
        tensor([[2, 1],
                [4, 3]])
    """
    check_ndim("mm", input=(input, 2), mat2=(mat2, 2))
    return matmul.lower(call, input, mat2)


@mm.derivative(only_for={"input": "mat2", "mat2": "input"})
def _(grad: Any, input: Any, mat2: Any, needs: Any) -> Any:
    return _of_matrices(mm, grad, input, mat2, needs)


def _of_matrices(multiply: Any, grad: Any, input: Any, mat2: Any, needs: Any) -> Any:
    """The gradients of input @ mat2, both with as many dimensions."""
    return (
        multiply(grad, mat2.transpose(-2, -1)) if needs[0] else None,
        multiply(input.transpose(-2, -1), grad) if needs[1] else None,
    )


def _batch_pairs() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 4)), Array((2, 4, 5), seed=1)))
    yield Sample((Array((2, 4, 3), layout="transposed"), Array((2, 3, 4), seed=1)))
    yield Sample((Array((0, 3, 4)), Array((0, 4, 5), seed=1)))


def _bad_batches() -> Iterator[ErrorSample]:
    text = r"expected size for first two dimensions of mat2 to be \[2, 4\] but got \[2, 3\]"
    yield ErrorSample((Array((2, 3, 4)), Array((2, 3, 4))), ShapeError, text)
    yield ErrorSample((Array((2, 3)), Array((2, 3, 4))), ShapeError, "input must have 3 dimensions")


@operator(samples=_batch_pairs, errors=_bad_batches, dtypes=PRODUCT_TYPES, setting=allow_tf32)
def bmm(call: Any, input: Operand, mat2: Operand) -> Any:
    """Products of two batches of matrices.

    Shapes: [b, m, k] with [b, k, n] gives [b, m, n].
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> x = torch.ones(10, 2, 3)
        >>> torch.bmm(x, torch.ones(10, 3, 4)).shape
        torch.Size([10, 2, 4])
    """
    check_ndim("bmm", input=(input, 3), mat2=(mat2, 3))
    wanted = [input.shape[0], input.shape[2]]
    if list(mat2.shape[:2]) != wanted:
        raise ShapeError(
            f"expected size for first two dimensions of mat2 to be {wanted} but got {list(mat2.shape[:2])}",
            hint=f"input is {list(input.shape)}: mat2 must have as many matrices, with {wanted[1]} rows",
            operator="bmm",
        )
    return matmul.lower(call, input, mat2)


@bmm.derivative(only_for={"input": "mat2", "mat2": "input"})
def _(grad: Any, input: Any, mat2: Any, needs: Any) -> Any:
    return _of_matrices(bmm, grad, input, mat2, needs)


def _vector_pairs() -> Iterator[Sample]:
    yield Sample((Array((4,)), Array((4,), seed=1)))
    yield Sample((Array((0,)), Array((0,), seed=1)))


def _bad_vectors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((3,))), ShapeError, r"input must have 1 dimensions, got shape \[2, 3\]")
    yield ErrorSample((Array((2,)), Array((3,))), ShapeError, "expected vectors of one size, got 2 and 3 elements")


def _matrix_and_vector() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((3,), seed=1)))
    yield Sample((Array((2, 3), layout="transposed"), Array((3,), seed=1)))


def _bad_matrix_and_vector() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((4,))), ShapeError, r"shapes cannot be multiplied \(2x3 and 4\)")
    yield ErrorSample((Array((3,)), Array((3,))), ShapeError, "input must have 2 dimensions")


@composite(samples=_matrix_and_vector, errors=_bad_matrix_and_vector, dtypes=PRODUCT_TYPES)
def mv(input: Operand, vec: Operand) -> Any:
    """Product of a matrix and a vector.

    Shapes: [m, k] with [k] gives [m].
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> torch.mv(torch.tensor([[1, 2], [3, 4]]), torch.tensor([10, 1]))
        tensor([12, 34])
    """
    check_ndim("mv", input=(input, 2), vec=(vec, 1))
    return matmul(input, vec)


@composite(samples=_vector_pairs, errors=_bad_vectors, dtypes=PRODUCT_TYPES)
def dot(input: Operand, tensor: Operand) -> Any:
    """Inner product of two vectors.

    Shapes: [k] with [k] gives ().
    Host:   returns at once.
    Raises: ShapeError if they are not vectors of one size, DtypeError if the types differ or are bool.
    Example:
        >>> torch.dot(torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6]))
        tensor(32)
    """
    check_ndim("dot", input=(input, 1), tensor=(tensor, 1))
    if input.shape != tensor.shape:
        raise ShapeError(
            f"expected vectors of one size, got {input.shape[0]} and {tensor.shape[0]} elements",
            hint=f"shorten one of them, for example [:{min(input.shape[0], tensor.shape[0])}]",
            operator="dot",
        )
    return matmul(input, tensor)


@composite(samples=_vector_pairs, errors=lambda: list(_bad_vectors())[:1], dtypes=dtypes.ALL)
def outer(input: Operand, vec2: Operand) -> Any:
    """All products of an element of one vector with an element of another.

    Shapes: [m] with [n] gives [m, n].
    Host:   returns at once.
    Raises: ShapeError if they are not vectors.
    Example:
        >>> torch.outer(torch.tensor([1, 2]), torch.tensor([1, 10, 100]))
        tensor([[  1,  10, 100],
                [  2,  20, 200]])
    """
    check_ndim("outer", input=(input, 1), vec2=(vec2, 1))
    return input.reshape((input.shape[0], 1)) * vec2  # type: ignore[attr-defined]

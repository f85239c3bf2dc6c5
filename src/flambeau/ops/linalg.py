"""Matrix products and linear layers.

- Transposed and sliced operands are passed with their strides.  A matrix without a unit stride is copied, and so is a
  batch without one common stride.
- A batch with one common right matrix is one tall product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..dtypes import FLOATING_TYPES, bool_, converted, dtype, float32, float64
from ..errors import DtypeError, ShapeError
from ..host import np
from ..library_operation import GELU, RELU, Gemm
from .activation import gelu, gelu_tanh_backward, relu, relu_backward
from .arithmetic import addcmul
from .copies import fill
from .operator import Array, ErrorSample, Operand, Sample, Setting, composite, operator
from .reduction_kernels import SUM, run_fold
from .views import as_if_read

IN_PLACE, DENSE, FULL = "as it is", "a dense copy", "a copy for every batch index"
Sizes = tuple[int, ...]
Steps = tuple[int, int, int]


class Matrices(NamedTuple):
    """An operand as [*batch, rows, columns]."""

    shape: Sizes
    strides: Sizes


class GemmPlan(NamedTuple):
    """A library operation, how its operands are passed, and the batch shape to which they are copied."""

    gemm: Gemm
    a: str
    b: str
    batch: Sizes


def plan_gemm(
    dtype: dtype, a: Matrices, b: Matrices, batch: Sizes, has_bias: bool, allow_tf32: bool, activation: str = ""
) -> GemmPlan:
    """Plan out = activation(a @ b) for a contiguous out of shape [*batch, m, n].

    The batches of a and b broadcast to `batch`.
    """
    m, k, n, count = a.shape[-2], a.shape[-1], b.shape[-1], prod(batch)
    if count > 1 and prod(b.shape[:-2]) == 1:
        a, m, count, batch = as_one_matrix(a), count * m, 1, ()
        b = Matrices(b.shape[-2:], b.strides[-2:])
    a_steps, a_passed = _operand_plan(a, batch)
    b_steps, b_passed = _operand_plan(b, batch)
    gemm = Gemm(dtype, count, m, n, k, a_steps, b_steps, (m * n, n, 1), has_bias, allow_tf32, activation)
    return GemmPlan(gemm, a_passed, b_passed, batch)


def as_one_matrix(a: Matrices) -> Matrices:
    """Return the rows of all batches as one matrix.  Strides of (0, 0) mean that it must be copied."""
    shape = prod(a.shape[:-1]), a.shape[-1]
    return Matrices(shape, st.view(a.shape, a.strides, shape) or (0, 0))


def _operand_plan(operand: Matrices, batch: Sizes) -> tuple[Steps, str]:
    """Return ((batch, row and column stride), how the operand is passed)."""
    for strides, passed in ((operand.strides, IN_PLACE), (st.contiguous(operand.shape), DENSE)):
        rows_columns = unit_steps(*operand.shape[-2:], *strides[-2:])
        _, (batch_strides,) = st.collapse(batch, [st.expand(operand.shape[:-2], strides[:-2], batch)])
        if rows_columns and len(batch_strides) <= 1:
            return (batch_strides[0] if batch_strides else 0, *rows_columns), passed
    rows, columns = operand.shape[-2:]
    return (rows * columns, columns, 1), FULL


def unit_steps(rows: int, columns: int, row_step: int, column_step: int) -> tuple[int, int] | None:
    """Return (row, column) strides of which one is 1, or None.  The stride of a dimension of size 1 is free."""
    if columns == 1:
        column_step = 1 if row_step != 1 else max(rows, 1)
        row_step = row_step if rows != 1 else 1
    elif rows == 1:
        row_step = columns if column_step == 1 else 1
    if (column_step == 1 and row_step >= columns) or (row_step == 1 and column_step >= rows):
        return row_step, column_step
    return None


PRODUCT_TYPES = dtypes.ALL[1:]


allow_tf32 = Setting(False)  # whether float32 products may round their inputs to 10 bits of mantissa


# running a product


def product(
    call: Any, a: Any, b: Any, left: Matrices, right: Matrices, batch: Sizes, shape: Sequence[int], bias: Any = None,
    activation: str = "",
) -> Any:  # fmt: skip
    """Queue activation(a @ b (+ bias)) and return its result, of shape `shape`.

    left, right: a and b as matrices.

    activation: see `library_operation.Gemm`; "" where the inner size is 0.
    """
    dtype = a.dtype
    if prod(shape) and left.shape[-1] == 0:
        return _empty_product(call, shape, dtype, bias)
    out = call.scratch(shape, dtype) if _is_operand(call.given, (a, b, bias)) else call.output(shape, dtype)
    if not out.numel():
        return out
    plan = plan_gemm(dtype, left, right, batch, bias is not None, allow_tf32.value and dtype is float32, activation)
    a, b = _fetched(call, a, left, plan.a, plan.batch), _fetched(call, b, right, plan.b, plan.batch)
    call.library(plan.gemm, out, a, b, None if bias is None else call.contiguous(bias))
    return out


_PRODUCTS: dict[tuple[bool, bool], Any] = {  # of NumPy arrays, by whether the second is transposed, and with a bias
    (False, False): lambda a, b: np.matmul(a, b),
    (True, False): lambda a, b: np.matmul(a, b.T),
    (False, True): lambda a, b, bias: _plus(np.matmul(a, b), bias),
    (True, True): lambda a, b, bias: _plus(np.matmul(a, b.T), bias),
}


def _plus(product: Any, bias: Any) -> Any:
    """Add a row to each row, in place."""
    return np.add(product, bias, out=product)


def _multiply_on_host(call: Any, a: Any, b: Any, right: Matrices, bias: Any = None) -> None:
    """Compute a product of two single matrices on the CPU by one call of NumPy, in place of a launch."""
    if not call.is_on_host or a.dtype not in (float32, float64) or len(a.shape) != 2 or len(b.shape) != 2:
        return
    seen, given = (right.shape, right.strides), (tuple(b.shape), tuple(b.strides))
    if seen in (given, (given[0][::-1], given[1][::-1])):
        operands = (a, b) if bias is None else (a, b, bias)
        call.make_on_host(_PRODUCTS[seen != given, bias is not None], *operands)


def _is_operand(given: Any, operands: Sequence[Any]) -> bool:
    """Return whether the tensor to write is also an operand.  A product cannot be computed in place."""
    return given is not None and any(operand is given for operand in operands)


def _fetched(call: Any, operand: Any, seen: Matrices, passed: str, batch: Sizes) -> Any:
    if passed is IN_PLACE:
        return operand
    if passed is DENSE:
        return call.contiguous(operand)
    target = call.scratch((*batch, *seen.shape[-2:]), operand.dtype)
    call.assign(target, operand)
    return target


def _empty_product(call: Any, shape: Sequence[int], dtype: dtype, bias: Any) -> Any:
    if bias is None:
        return fill.body(call, call.scratch(shape, dtype), 0)
    out = call.output(shape, dtype)
    call.assign(out, bias)
    return out


def check_types(name: str, **operands: Any) -> None:
    """Raise DtypeError unless all operands have one type, which supports products."""
    first, *rest = [(key, operand.dtype) for key, operand in operands.items() if operand is not None]
    for key, other in rest:
        if other is not first[1]:
            raise DtypeError(
                f"expected {first[0]} and {key} to have the same dtype, but got {first[1].name} and {other.name}",
                hint=f"convert one of them, for example {key}.to(torch.{first[1].name})",
                operator=name,
            )
    if first[1] is bool_:
        raise DtypeError("products of bool are not supported", hint="convert with .to(torch.uint8)", operator=name)


def cannot_multiply(name: str, a: Sequence[int], b: Sequence[int], hint: str = "") -> ShapeError:
    shapes = ["x".join(map(str, shape)) for shape in (a, b)]
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
                hint="use matmul, which accepts any number of dimensions"
                if name in ("mm", "bmm", "mv", "dot")
                else "add dimensions with unsqueeze(), or remove them with flatten() or squeeze()",
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
        (Array((2, 2), dtype="bool"), Array((2, 2), dtype="bool")), DtypeError, "products of bool are not supported"
    )


@operator(samples=_products, errors=_bad_matmuls, dtypes=PRODUCT_TYPES, setting=allow_tf32)
def matmul(call: Any, input: Operand, other: Operand) -> Any:
    """Compute the matrix product over the last two dimensions.

    A vector on the left counts as a row, one on the right as a column; the result omits the dimension added this way.
    Shapes: [*A, m, k] with [*B, k, n] gives [*C, m, n], where A and B broadcast to C; [k] with [k] gives ().
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
    a, b = left_matrices(input), right_matrices(other)
    if a.shape[-1] != b.shape[-2]:
        raise cannot_multiply(call.name, input.shape, other.shape)
    batch = st.broadcast([a.shape[:-2], b.shape[:-2]], call.name)
    shape = (*batch, *a.shape[-2:-1][: len(input.shape) - 1], *b.shape[-1:][: len(other.shape) - 1])
    out = product(call, input, other, a, b, batch, shape)
    _multiply_on_host(call, input, other, b)
    return out


def left_matrices(operand: Any) -> Matrices:
    shape, strides = tuple(operand.shape), tuple(operand.strides)
    return Matrices(shape, strides) if len(shape) > 1 else Matrices((1, *shape), (shape[0], *strides))


def right_matrices(operand: Any) -> Matrices:
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
    yield from (sample for sample in _products() if all(len(array.shape) == 2 for array in sample.args))


def _bad_pairs() -> Iterator[ErrorSample]:
    yield from _bad_products()
    yield ErrorSample((Array((2, 3)), Array((3,))), ShapeError, r"mat2 must have 2 dimensions, got shape \[3\]")


@operator(samples=_matrix_pairs, errors=_bad_pairs, dtypes=PRODUCT_TYPES, setting=allow_tf32)
def mm(call: Any, input: Operand, mat2: Operand) -> Any:
    """Compute the product of two matrices, input @ mat2.

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
    """Return the gradients of input @ mat2, whose operands have the same number of dimensions."""
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
    """Compute the matrix products input[i] @ mat2[i] of two batches of matrices.

    Shapes: input [b, m, k] and mat2 [b, k, n] give [b, m, n].
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
            hint=f"input is {list(input.shape)}: mat2 must have equally many matrices, with {wanted[1]} rows",
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
    yield ErrorSample((Array((2,)), Array((3,))), ShapeError, "expected vectors of equal size, got 2 and 3 elements")


def _matrix_and_vector() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((3,), seed=1)))
    yield Sample((Array((2, 3), layout="transposed"), Array((3,), seed=1)))


def _bad_matrix_and_vector() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((4,))), ShapeError, r"shapes cannot be multiplied \(2x3 and 4\)")
    yield ErrorSample((Array((3,)), Array((3,))), ShapeError, "input must have 2 dimensions")


@composite(samples=_matrix_and_vector, errors=_bad_matrix_and_vector, dtypes=PRODUCT_TYPES)
def mv(input: Operand, vec: Operand) -> Any:
    """Compute the product of a matrix and a vector, input @ vec.

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
    """Compute the inner product of two vectors.

    Shapes: [k] with [k] gives ().
    Host:   returns at once.
    Raises: ShapeError if they are not vectors of equal size, DtypeError if the types differ or are bool.
    Example:
        >>> torch.dot(torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6]))
        tensor(32)
    """
    check_ndim("dot", input=(input, 1), tensor=(tensor, 1))
    if input.shape != tensor.shape:
        raise ShapeError(
            f"expected vectors of equal size, got {input.shape[0]} and {tensor.shape[0]} elements",
            hint=f"shorten one of them, for example [:{min(input.shape[0], tensor.shape[0])}]",
            operator="dot",
        )
    return matmul(input, tensor)


@composite(samples=_vector_pairs, errors=_bad_vectors, dtypes=PRODUCT_TYPES)
def vdot(input: Operand, other: Operand) -> Any:
    """Compute the inner product of two vectors: the same as `dot`, as there are no complex numbers.

    Shapes: [k] with [k] gives ().
    Host:   returns at once.
    Raises: ShapeError if they are not vectors of equal size, DtypeError if the types differ or are bool.
    Example:
        >>> torch.vdot(torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6]))
        tensor(32)
    """
    return dot(input, other)


@composite(samples=_vector_pairs, errors=lambda: list(_bad_vectors())[:1], dtypes=dtypes.ALL)
def outer(input: Operand, vec2: Operand) -> Any:
    """Compute the outer product of the vectors `input` and `vec2`.

    Shapes: [m] with [n] gives [m, n].
    Host:   returns at once.
    Raises: ShapeError if they are not vectors.
    Example:
        >>> torch.outer(torch.tensor([1, 2]), torch.tensor([1, 10, 100]))
        tensor([[  1,  10, 100],
                [  2,  20, 200]])
    """
    check_ndim("outer", input=(input, 1), vec2=(vec2, 1))
    return input.reshape((input.shape[0], 1)) * vec2


# linear layers


def _check_expands(name: str, input: Any, shape: Sequence[int]) -> None:
    """Raise ShapeError unless the input broadcasts to the product's shape."""
    fits = len(input.shape) <= len(shape) and all(
        size in (1, want) for size, want in zip(input.shape[::-1], shape[::-1])
    )
    if not fits:
        raise ShapeError(
            f"input of shape {list(input.shape)} does not expand to {list(shape)}",
            hint=f"pass an input of that shape, or of one that broadcasts to it, as [{shape[-1]}]",
            operator=name,
        )


def _scaled_sum(name: str, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """Compute beta * input + alpha * product; with beta 0, input is not read, and has a gradient of zeros."""
    beta, alpha = (converted(name, product.dtype.wide, number) for number in (beta, alpha))
    result = product if alpha == 1 else product * alpha
    if beta == 0:
        return as_if_read(result, input)
    return result + (input if beta == 1 else input * beta)


def _sums() -> Iterator[Sample]:
    yield Sample((Array((2, 4)), Array((2, 3), seed=1), Array((3, 4), seed=2)))
    yield Sample((Array((4,)), Array((2, 3), seed=1), Array((3, 4), seed=2)))
    yield Sample((Array((2, 1)), Array((2, 3), seed=1), Array((3, 4), seed=2)), {"beta": 2, "alpha": 3})


def _bad_sums() -> Iterator[ErrorSample]:
    matrices = Array((2, 3)), Array((3, 2))
    yield ErrorSample((Array((4,)), *matrices), ShapeError, r"input of shape \[4\] does not expand to \[2, 2\]")


@composite(samples=_sums, errors=_bad_sums, dtypes=PRODUCT_TYPES, inplace=True)
def addmm(input: Operand, mat1: Operand, mat2: Operand, *, beta: float = 1, alpha: float = 1) -> Any:
    """Compute beta * input + alpha * (mat1 @ mat2); with beta 0, input is not read.

    Shapes: mat1 [m, k] and mat2 [k, n] give [m, n], to which input broadcasts.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
        >>> torch.addmm(torch.tensor([100.0]), a, b, beta=0.5)
        tensor([[61.]])
    """
    check_ndim("addmm", mat1=(mat1, 2), mat2=(mat2, 2))
    shape = [mat1.shape[0], mat2.shape[1]]
    _check_expands("addmm", input, shape)
    if list(input.shape) == shape[1:] and beta == alpha == 1:
        return linear(mat1, mat2.transpose(0, 1), input)
    return _scaled_sum("addmm", input, matmul(mat1, mat2), beta, alpha)


def _vector_sums() -> Iterator[Sample]:
    yield Sample((Array((2,)), Array((2, 3), seed=1), Array((3,), seed=2)))
    matrix = Array((2, 3), layout="transposed", seed=1)
    yield Sample((Array((1,)), matrix, Array((3,), seed=2)), {"beta": 2, "alpha": 3})
    yield Sample((Array((2,)), Array((2, 0)), Array((0,))))


def _bad_vector_sums() -> Iterator[ErrorSample]:
    matrix, vector = Array((2, 3)), Array((3,))
    yield ErrorSample((Array((4,)), matrix, vector), ShapeError, r"input of shape \[4\] does not expand to \[2\]")
    yield ErrorSample((Array((2,)), matrix, Array((4,))), ShapeError, r"cannot be multiplied \(2x3 and 4\)")


@composite(samples=_vector_sums, errors=_bad_vector_sums, dtypes=PRODUCT_TYPES, inplace=True)
def addmv(input: Operand, mat: Operand, vec: Operand, *, beta: float = 1, alpha: float = 1) -> Any:
    """Compute beta * input + alpha * (mat @ vec); with beta 0, input is not read.

    Shapes: mat [m, k] and vec [k] give [m], to which input broadcasts.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> torch.addmv(torch.tensor([10, 20]), torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 1]))
        tensor([13, 27])
    """
    check_ndim("addmv", mat=(mat, 2), vec=(vec, 1))
    check_types("addmv", input=input, mat=mat, vec=vec)
    product = matmul(mat, vec)
    _check_expands("addmv", input, mat.shape[:1])
    return _scaled_sum("addmv", input, product, beta, alpha)


def _outer_sums() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((2,), seed=1), Array((3,), seed=2)))
    yield Sample((Array((3,)), Array((2,), seed=1), Array((3,), seed=2)), {"beta": 2, "alpha": 3})


def _bad_outer_sums() -> Iterator[ErrorSample]:
    vectors = Array((2,)), Array((3,))
    yield ErrorSample((Array((2,)), *vectors), ShapeError, r"input of shape \[2\] does not expand to \[2, 3\]")


@composite(samples=_outer_sums, errors=_bad_outer_sums, dtypes=PRODUCT_TYPES, inplace=True)
def addr(input: Operand, vec1: Operand, vec2: Operand, *, beta: float = 1, alpha: float = 1) -> Any:
    """Compute beta * input + alpha * outer(vec1, vec2); with beta 0, input is not read.

    Shapes: vec1 [m] and vec2 [n] give [m, n], to which input broadcasts.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit.
    Example:
        >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        tensor([[ 1., 10.],
                [ 2., 20.]])
    """
    check_ndim("addr", vec1=(vec1, 1), vec2=(vec2, 1))
    _check_expands("addr", input, (vec1.shape[0], vec2.shape[0]))
    if beta == 1 and vec1.dtype is not dtypes.bool_:
        return addcmul(input, vec1.reshape((vec1.shape[0], 1)), vec2, value=alpha)
    return _scaled_sum("addr", input, outer(vec1, vec2), beta, alpha)


def _batch_sums() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 5)), Array((2, 3, 4), seed=1), Array((2, 4, 5), seed=2)))
    yield Sample((Array((3, 1)), Array((2, 3, 4), seed=1), Array((2, 4, 5), seed=2)), {"beta": 2, "alpha": 3})
    yield Sample((Array((0, 3, 5)), Array((0, 3, 4)), Array((0, 4, 5))))


def _bad_batch_sums() -> Iterator[ErrorSample]:
    batches = Array((2, 3, 4)), Array((2, 4, 5))
    yield ErrorSample((Array((4,)), *batches), ShapeError, r"input of shape \[4\] does not expand to \[2, 3, 5\]")
    yield ErrorSample((Array((5,)), batches[0], batches[0]), ShapeError, r"to be \[2, 4\] but got \[2, 3\]")


@composite(samples=_batch_sums, errors=_bad_batch_sums, dtypes=PRODUCT_TYPES, inplace=True)
def baddbmm(input: Operand, batch1: Operand, batch2: Operand, *, beta: float = 1, alpha: float = 1) -> Any:
    """Compute beta * input + alpha * (batch1 @ batch2), matrix by matrix; with beta 0, input is not read.

    Shapes: batch1 [b, m, k] and batch2 [b, k, n] give [b, m, n], to which input broadcasts.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> torch.baddbmm(torch.ones(1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
        tensor([4., 4.])
    """
    check_batches("baddbmm", input, batch1, batch2)
    _check_expands("baddbmm", input, (*batch1.shape[:2], batch2.shape[2]))
    return _scaled_sum("baddbmm", input, matmul(batch1, batch2), beta, alpha)


def check_batches(name: str, input: Any, batch1: Any, batch2: Any) -> None:
    """Raise ShapeError or DtypeError unless batch1 @ batch2 exists and input has their type."""
    check_ndim(name, batch1=(batch1, 3), batch2=(batch2, 3))
    check_types(name, input=input, batch1=batch1, batch2=batch2)
    wanted = [batch1.shape[0], batch1.shape[2]]
    if list(batch2.shape[:2]) != wanted:
        raise ShapeError(
            f"expected size for first two dimensions of batch2 to be {wanted} but got {list(batch2.shape[:2])}",
            hint=f"batch1 is {list(batch1.shape)}: batch2 must have equally many matrices, with {wanted[1]} rows",
            operator=name,
        )


def _summed_batches() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), Array((2, 3, 4), seed=1), Array((2, 4, 5), seed=2)))
    yield Sample((Array((5,)), Array((2, 3, 4), seed=1), Array((2, 4, 5), seed=2)), {"beta": 2, "alpha": 3})
    yield Sample((Array((3, 5)), Array((0, 3, 4)), Array((0, 4, 5))))


def _bad_summed_batches() -> Iterator[ErrorSample]:
    batches = Array((2, 3, 4)), Array((2, 4, 5))
    yield ErrorSample((Array((4,)), *batches), ShapeError, r"input of shape \[4\] does not expand to \[3, 5\]")
    yield ErrorSample((Array((5,)), batches[0], batches[0]), ShapeError, r"to be \[2, 4\] but got \[2, 3\]")


@composite(samples=_summed_batches, errors=_bad_summed_batches, dtypes=PRODUCT_TYPES, inplace=True)
def addbmm(input: Operand, batch1: Operand, batch2: Operand, *, beta: float = 1, alpha: float = 1) -> Any:
    """Compute beta * input + alpha * (the sum of batch1[i] @ batch2[i] over i); with beta 0, input is not read.

    Shapes: batch1 [b, m, k] and batch2 [b, k, n] give [m, n], to which input broadcasts.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> torch.addbmm(torch.ones(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
        tensor([[7.]])
    """
    check_batches("addbmm", input, batch1, batch2)
    count, m, k = batch1.shape
    n = batch2.shape[2]
    _check_expands("addbmm", input, (m, n))
    columns = batch1.transpose(0, 1).reshape((m, count * k))
    return _scaled_sum("addbmm", input, matmul(columns, batch2.reshape((count * k, n))), beta, alpha)


def _layers() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), Array((4, 3), seed=1), Array((4,), seed=2)))
    yield Sample((Array((2, 2, 3)), Array((4, 3), seed=1)))
    yield Sample((Array((3,)), Array((4, 3), layout="transposed", seed=1), Array((4,), seed=2)))
    yield Sample((Array((2, 0)), Array((3, 0), seed=1), Array((3,), seed=2)))


def _bad_layers() -> Iterator[ErrorSample]:
    text = r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x4\)"
    yield ErrorSample((Array((2, 3)), Array((4, 2))), ShapeError, text)
    yield ErrorSample((Array((2, 3)), Array((4, 3)), Array((3,))), ShapeError, r"bias has shape \[3\], expected \[4\]")
    mixed = Array((2, 3), dtype="float32"), Array((4, 3), dtype="float64")
    yield ErrorSample(mixed, DtypeError, "got float32 and float64")


@operator(samples=_layers, errors=_bad_layers, dtypes=PRODUCT_TYPES, method=False, function=False, setting=allow_tf32)
def linear(call: Any, input: Operand, weight: Operand, bias: Operand | None = None) -> Any:
    """Compute input @ weight^T + bias.

    Shapes: [*, k] with weight [n, k] and bias [n] gives [*, n].
    Host:   returns at once.
    Raises: ShapeError if sizes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
        >>> torch.nn.functional.linear(torch.tensor([3.0, 4.0]), weight, bias=torch.tensor([0.0, 0.0, 0.5]))
        tensor([3.0000, 8.0000, 7.5000])
    """
    return _layer(call, input, weight, bias)


def _layer(call: Any, input: Any, weight: Any, bias: Any, activation: str = "") -> Any:
    check_types(call.name, input=input, weight=weight, bias=bias)
    check_ndim(call.name, weight=(weight, 2))
    n, k = weight.shape
    if not input.shape or input.shape[-1] != k:
        lead = (prod(input.shape[:-1]), *input.shape[-1:])
        raise cannot_multiply(
            call.name,
            lead,
            (k, n),
            f"weight has shape [{n}, {k}], which takes inputs whose last size is {k}, and gives {n}",
        )
    if bias is not None and tuple(bias.shape) != (n,):
        raise ShapeError(
            f"bias has shape {list(bias.shape)}, expected [{n}]",
            hint=f"pass one number for each row of weight, which has shape {list(weight.shape)}",
            operator=call.name,
        )
    if unit_steps(n, k, *weight.strides) is None:
        weight = call.contiguous(weight)
    a, b = left_matrices(input), Matrices((k, n), tuple(weight.strides[::-1]))
    out = product(call, input, weight, a, b, tuple(a.shape[:-2]), (*input.shape[:-1], n), bias, activation)
    if not activation:
        _multiply_on_host(call, input, weight, b, bias)
    return out


@linear.derivative(only_for={"input": "weight", "weight": "input"})
def _(grad: Any, input: Any, weight: Any, needs: Any) -> Any:
    return linear_backward(grad, input, weight, *needs)


def _layer_gradients() -> Iterator[Sample]:
    upstream, weight = Array((2, 4)), Array((4, 3), seed=2)
    yield Sample((upstream, Array((2, 3), seed=1), weight, True, True, True))
    yield Sample((upstream, None, weight, True, False, True))
    yield Sample((Array((2, 2, 4)), Array((2, 2, 3), seed=1), None, False, True, False))
    yield Sample((Array((4,)), Array((3,), seed=1), Array((4, 3), layout="transposed", seed=2), True, True, True))


@operator(samples=_layer_gradients, dtypes=FLOATING_TYPES, method=False, function=False, setting=allow_tf32)
def linear_backward(
    call: Any, upstream: Operand, input: Operand | None, weight: Operand | None,
    of_input: bool, of_weight: bool, of_bias: bool,
) -> Any:  # fmt: skip
    """Return the gradients of input, weight and bias of `linear`; None for those that are not required."""
    upstream = call.contiguous(upstream)
    lead, n = tuple(upstream.shape[:-1]), upstream.shape[-1]
    rows = Matrices((prod(lead), n), (n, 1))
    gradients: list[Any] = [None, None, None]
    if weight is not None and of_input:
        gradients[0] = product(call, upstream, weight, rows, right_matrices(weight), (), (*lead, weight.shape[1]))
    if input is not None and of_weight:
        columns = Matrices(rows.shape[::-1], rows.strides[::-1])
        gradients[1] = product(
            call, upstream, input, columns, as_one_matrix(left_matrices(input)), (), (n, input.shape[-1])
        )
    if of_bias:
        gradients[2] = call.output((n,), upstream.dtype)
        run_fold(call, SUM, upstream, tuple(range(len(lead))), gradients[2], upstream.dtype.wide)
    return tuple(gradients)


@linear_backward.derivative
def _(grads: Any, upstream: Any, input: Any, weight: Any, needs: Any) -> Any:
    up_input, up_weight, up_bias = grads
    terms = [] if up_input is None else [matmul(up_input, weight.transpose(0, 1))]
    terms += [] if up_weight is None else [matmul(input, up_weight.transpose(0, 1))]
    terms += [] if up_bias is None else [up_bias.expand(upstream.shape)]
    of_upstream = sum(terms[1:], terms[0]) if needs[0] else None
    of_input = None if up_weight is None or not needs[1] else matmul(upstream, up_weight)
    if up_input is None or not needs[2]:
        return of_upstream, of_input, None
    return of_upstream, of_input, matmul(_as_matrix(upstream).transpose(0, 1), _as_matrix(up_input))


def _as_matrix(rows: Any) -> Any:
    return rows if len(rows.shape) == 2 else rows.reshape((prod(rows.shape[:-1]), rows.shape[-1]))


# a layer and its activation


def _activated_layers() -> Iterator[Sample]:
    for activation in (RELU, GELU):
        yield Sample((Array((2, 3), -1, 1), Array((4, 3), -1, 1, seed=1), Array((4,), seed=2), activation))
        yield Sample((Array((2, 3), -1, 1), Array((4, 3), -1, 1, layout="transposed", seed=1), None, activation))


@operator(samples=_activated_layers, dtypes=FLOATING_TYPES[:3], method=False, function=False, setting=allow_tf32)
def linear_activation(call: Any, input: Operand, weight: Operand, bias: Operand | None, activation: str) -> Any:
    """Compute relu, or gelu's tanh approximation, of `linear`, in one library call.

    In float64 the error of cuBLAS's gelu is up to 3e-10.

    Shapes: [*, k] with weight [n, k] and bias [n] gives [*, n]; k is not 0.
    Host:   returns at once.
    """
    return _layer(call, input, weight, bias, activation)


@linear_activation.derivative
def _(grad: Any, out: Any, input: Any, weight: Any, bias: Any, activation: Any, needs: Any) -> Any:
    # the input of gelu is computed again, not saved
    is_relu = activation == RELU
    upstream = relu_backward(grad, out) if is_relu else gelu_tanh_backward(grad, linear(input, weight, bias))
    return linear_backward(upstream, input, weight, *needs)


def _activated_sums() -> Iterator[Sample]:
    matrices = Array((2, 3), -1, 1, seed=1), Array((3, 4), -1, 1, seed=2)
    for use_gelu in (False, True):
        yield Sample((Array((4,)), *matrices), {"use_gelu": use_gelu})
        yield Sample((Array((2, 1)), *matrices), {"beta": 2, "alpha": -3, "use_gelu": use_gelu})
        yield Sample((Array((3,), -1, 1), Array((2, 0)), Array((0, 3))), {"use_gelu": use_gelu})


def _bad_activated_sums() -> Iterator[ErrorSample]:
    yield from _bad_sums()
    integers = (Array(shape, dtype="int64") for shape in ((4,), (2, 3), (3, 4)))
    yield ErrorSample(tuple(integers), DtypeError, "mat1 must be floating point, got int64")


@composite(
    samples=_activated_sums, errors=_bad_activated_sums, dtypes=FLOATING_TYPES, method=False, function=False,
    called="_addmm_activation",
)  # fmt: skip
def addmm_activation(
    input: Operand, mat1: Operand, mat2: Operand, *, beta: float = 1, alpha: float = 1, use_gelu: bool = False
) -> Any:
    """Compute relu, or gelu's tanh approximation, of addmm(input, mat1, mat2): PyTorch's `_addmm_activation`.

    It is one library call if beta and alpha are 1 and input is a vector, except for gelu in float64.
    Shapes: [m, k] with [k, n] gives [m, n], to which input broadcasts.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are not floating point.
    """
    if not mat1.dtype.is_floating_point:
        raise DtypeError(
            f"mat1 must be floating point, got {mat1.dtype.name}",
            hint="convert with .float()",
            operator="_addmm_activation",
        )
    are_matrices = len(mat1.shape) == len(mat2.shape) == 2 and mat2.shape[0] > 0
    is_layer = are_matrices and list(input.shape) == list(mat2.shape[1:]) and beta == alpha == 1
    if is_layer and not (use_gelu and mat1.dtype is float64):
        weight = mat2.transpose(0, 1)
        return linear_activation(mat1, weight, input, GELU if use_gelu else RELU)
    result = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return gelu(result, "tanh") if use_gelu else relu(result)

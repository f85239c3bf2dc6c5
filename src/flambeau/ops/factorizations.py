"""Factorizations, inverses and solutions of linear systems: what torch.linalg has beside products and norms.

- NumPy and SciPy compute them on the host.  Operands on a GPU are copied to the host and results back, so the host
  waits there.
- A public operator is a composite: it checks its arguments, calls an operator of the host on CPU tensors and reads the
  codes of failures.  Operators of the host have the derivatives, made of products and of each other.
- Matrices are [*, m, n]; k is the smaller of m and n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from .. import dtypes, host
from .. import strides as st
from ..core.view_geometry import known_views
from ..dtypes import dtype, int32, int64
from ..errors import ArgumentError, DtypeError, LinAlgError, NotSupportedError, ShapeError, ValueRangeError, shown
from ..host import np
from ..kernel import Access
from .compare import where
from .creation import tril, triu
from .join import cat
from .linalg import check_types, matmul
from .operator import Array, ErrorSample, Operand, Sample, composite, operator
from .slicing import diagonal, narrow
from .views import expand

TYPES = dtypes.FLOATING_TYPES[-2:]
Shaped = tuple[Sequence[int], dtype]


# running NumPy


@dataclass(frozen=True)
class HostRoutine:
    """A function of arrays, run on the host: results, then operands, all contiguous.

    name: its key in ROUTINES.  outputs, inputs: (shape, dtype) of each.  options: further arguments of the function.
    """

    name: str
    outputs: tuple[Shaped, ...]
    inputs: tuple[Shaped, ...]
    options: tuple[Any, ...]

    @property
    def kind(self) -> str:
        return self.name

    @property
    def operations(self) -> float:
        return float(max(prod(shape) * max(shape[-1:], default=1) for shape, _ in self.inputs))

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        modes = ["w"] * len(self.outputs) + ["r"] * len(self.inputs)
        rows = zip(addresses, modes, (*self.outputs, *self.inputs))
        return [Access(address, kind, mode, shape, None) for address, mode, (shape, kind) in rows]

    def reference(self, *arrays: Any) -> None:
        count = len(self.outputs)
        try:
            results = ROUTINES[self.name](*arrays[count:], *self.options)
        except np.linalg.LinAlgError as error:
            raise LinAlgError(
                f"the algorithm failed to converge: {error}",
                hint="the input may contain NaN or infinity, or be ill-conditioned",
                operator=self.name,
            ) from error
        for out, result in zip(arrays, results if isinstance(results, tuple) else (results,)):
            out[...] = result


ROUTINES: dict[str, Callable[..., Any]] = {}


def routine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function of arrays under its name."""
    ROUTINES[function.__name__] = function
    return function


def run(call: Any, name: str, outputs: Sequence[Shaped], *inputs: Any, options: tuple[Any, ...] = ()) -> Any:
    """Run a routine on the host; return its results."""
    sources = [call.contiguous(operand) for operand in inputs]
    results = tuple(call.output(shape, kind) for shape, kind in outputs)
    if any(result.numel() for result in results):
        shaped = tuple((tuple(source.shape), source.dtype) for source in sources)
        outs = tuple((tuple(shape), kind) for shape, kind in outputs)
        call.library(HostRoutine(name, outs, shaped, options), *results, *sources)
    return results if len(results) > 1 else results[0]


def _each(function: Callable[..., Any], *arrays: Any, core: Sequence[int]) -> list[tuple[Any, ...]]:
    """Call a function on every matrix of batches.  core: how many last dimensions one call takes, per array."""
    batch = arrays[0].shape[: arrays[0].ndim - core[0]]
    return [function(*[array[index] for array in arrays]) for index in np.ndindex(*batch)]


def _filled(shape: Sequence[int], kind: Any, values: Sequence[Any]) -> Any:
    """An array of a batch's results."""
    out = np.zeros(shape, kind)
    if values:
        out[...] = np.array(values, kind).reshape(shape)
    return out


# arguments


def to_host(name: str, value: Any) -> Any:
    """A tensor on the CPU.  Raises DtypeError unless it is float32 or float64."""
    if not value.dtype.is_floating_point:
        raise DtypeError(
            f"expected a floating point tensor as input, got {value.dtype.name}",
            hint="convert with .float()",
            operator=name,
        )
    if value.dtype not in TYPES:
        raise DtypeError(
            f"low precision dtypes not supported, got {value.dtype.name}", hint="convert with .float()", operator=name
        )
    return value.to("cpu")


def back(result: Any, like: Any) -> Any:
    """A result, or each of several, on the device of an operand."""
    if isinstance(result, tuple):
        moved = [back(each, like) for each in result]
        return type(result)(*moved) if hasattr(result, "_fields") else tuple(moved)
    return result.to(like.device)


def check_matrix(name: str, what: str, value: Any) -> None:
    if len(value.shape) < 2:
        raise ShapeError(
            f"{what} must have at least 2 dimensions, got shape {list(value.shape)}",
            hint="the last two are those of a matrix",
            operator=name,
        )


def check_square(name: str, what: str, value: Any) -> None:
    check_matrix(name, what, value)
    if value.shape[-1] != value.shape[-2]:
        raise ShapeError(
            f"{what} must be batches of square matrices, got shape {list(value.shape)}",
            hint="the last two sizes must be equal",
            operator=name,
        )


def check_info(name: str, info: Any, fact: str, hint: str) -> None:
    """Raise LinAlgError if a code of a failure is not 0.  fact: its description, with {at} for the first code."""
    codes = info.reshape((-1,)).tolist()
    for index, code in enumerate(codes):
        if code:
            batch = f"(batch element {index}) " if len(info.shape) else ""
            raise LinAlgError(f"{batch}{fact.format(at=code)}", hint=hint, operator=name)


SINGULAR = "the diagonal element {at} is zero, the {what} could not be completed because the input matrix is singular"
NO_INVERSE = "pinv and lstsq take matrices without an inverse"


def _matrix(shape: Sequence[int] = (2, 2), **options: Any) -> Array:
    return Array(tuple(shape), 0.5, 3.0, **options)


def _squares() -> Iterator[Sample]:
    yield Sample((_matrix(),))
    yield Sample((_matrix((2, 3, 3), layout="transposed"),))
    yield Sample((_matrix((1, 1), layout="strided"),))
    yield Sample((_matrix((0, 2, 2)),))
    yield Sample((_matrix((0, 0)),))


def _not_square() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((2, 3)),), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((_matrix(dtype="int64"),), DtypeError, "floating point tensor as input, got int64")
    yield ErrorSample((_matrix(dtype="float16"),), DtypeError, "low precision .* got float16")


def _eye(like: Any) -> Any:
    """Identity matrices of a batch's shape."""
    out = like.new_zeros(like.shape)
    diagonal(out, 0, -2, -1).fill_(1)
    return out


def mt(matrix: Any) -> Any:
    return matrix.transpose(-2, -1)


def public(**options: Any) -> Any:
    """Make a composite of torch.linalg: it waits on a GPU."""
    settings = {"dtypes": TYPES, "host": "waits", "method": False, "function": False, **options}
    return composite(**settings)


def on_host() -> Any:
    """Make an operator of the host: only this module calls it."""
    return operator(samples=tuple, method=False, function=False)


# inverse and solutions


@routine
def inverse_of(a: Any) -> Any:
    try:
        return np.linalg.inv(a), 0
    except np.linalg.LinAlgError:
        found = _each(_inverse_or_code, a, core=[2])
        codes = _filled(a.shape[:-2], "int32", [code for _, code in found])
        return _filled(a.shape, a.dtype, [matrix for matrix, _ in found]), codes


def _inverse_or_code(matrix: Any) -> tuple[Any, int]:
    lapack = host.scipy_linalg().lapack
    getrf, getri = lapack.get_lapack_funcs(("getrf", "getri"), (matrix,))
    factors, pivots, code = getrf(matrix)
    return (factors if code else getri(factors, pivots)[0]), max(code, 0)


@on_host()
def host_inverse(call: Any, A: Operand) -> Any:
    """(inverse, code of the failure) of square matrices."""
    return run(call, "inverse_of", [(A.shape, A.dtype), (A.shape[:-2], int32)], A)


@host_inverse.derivative
def _(grads: Any, out: Any) -> Any:
    return -matmul(mt(out), matmul(grads[0], mt(out)))


class InverseResult(NamedTuple):
    inverse: Any
    info: Any


@public(samples=_squares, errors=_not_square, called="linalg.inv_ex")
def linalg_inv_ex(A: Operand, *, check_errors: bool = False) -> Any:
    """(inverse, info) of square matrices: info is 0, or the number of the first zero on the diagonal of a factor.

    Shapes: [*, k, k] gives the same, and [*] for info, int32.
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError for a singular matrix, if check_errors.
    Example:
        >>> torch.linalg.inv_ex(torch.tensor([[2.0, 0.0], [0.0, 4.0]])).inverse
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square("linalg.inv_ex", "A", A)
    result, info = host_inverse(to_host("linalg.inv_ex", A))
    if check_errors:
        check_info("linalg.inv_ex", info, SINGULAR.replace("{what}", "inversion"), NO_INVERSE)
    return back(InverseResult(result, info), A)


@public(samples=_squares, errors=_not_square, called="linalg.inv", other_names={"input": "A"})
def linalg_inv(A: Operand) -> Any:
    """Inverse of square matrices.

    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError for a singular matrix.
    Example:
        >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square("linalg.inv", "A", A)
    result, info = host_inverse(to_host("linalg.inv", A))
    check_info("linalg.inv", info, SINGULAR.replace("{what}", "inversion"), NO_INVERSE)
    return back(result, A)


@routine
def solution_of(a: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(a, b), 0
    except np.linalg.LinAlgError:
        found = _each(_solution_or_code, a, b, core=[2, 2])
        codes = _filled(a.shape[:-2], "int32", [code for _, code in found])
        return _filled(b.shape, b.dtype, [matrix for matrix, _ in found]), codes


def _solution_or_code(a: Any, b: Any) -> tuple[Any, int]:
    (gesv,) = host.scipy_linalg().lapack.get_lapack_funcs(("gesv",), (a, b))
    _, _, solution, code = gesv(a, b)
    return solution, max(code, 0)


@on_host()
def host_solve(call: Any, A: Operand, B: Operand) -> Any:
    """(solution X of A @ X = B, code of the failure), for batches of one shape."""
    return run(call, "solution_of", [(B.shape, B.dtype), (A.shape[:-2], int32)], A, B)


@host_solve.derivative
def _(grads: Any, out: Any, A: Any, needs: Any) -> Any:
    of_b = host_solve(mt(A), grads[0])[0]
    return -matmul(of_b, mt(out)) if needs[0] else None, of_b


def _systems() -> Iterator[Sample]:
    yield Sample((_matrix(), Array((2, 3), seed=1)))
    yield Sample((_matrix(), Array((2,), seed=1)))
    yield Sample((_matrix((2, 3, 3), layout="transposed"), Array((2, 3), seed=1)))
    yield Sample((_matrix((2, 1, 2, 2)), Array((3, 2, 1), layout="strided", seed=1)))
    yield Sample((_matrix(), Array((3, 2), seed=1)), {"left": False})
    yield Sample((_matrix((0, 0)), Array((0, 2))))


def _bad_systems() -> Iterator[ErrorSample]:
    square = _matrix()
    yield ErrorSample((_matrix((2, 3)), Array((2,))), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((square, Array((3, 2))), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)")
    yield ErrorSample((square, Array((2,), dtype="float64")), DtypeError, "got float32 and float64")


def is_vector_of(A: Any, B: Any) -> bool:
    """Whether B is a batch of vectors rather than of matrices, as torch.linalg.solve decides."""
    return len(B.shape) == 1 or len(A.shape) - 1 == len(B.shape) and A.shape[:-1] == B.shape


def systems(name: str, A: Any, B: Any, left: bool) -> tuple[Any, Any]:
    """A and B on the host, as matrices with one batch shape, so that A @ X = B (transposed where A is on the right)."""
    check_types(name, A=A, B=B)
    check_matrix(name, "B", B)
    rows, inner = B.shape[-2] if left else B.shape[-1], A.shape[-1]
    if rows != inner:
        pairs = "x".join(map(str, A.shape[-2:])), "x".join(map(str, B.shape[-2:]))
        raise ShapeError(
            f"incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({pairs[0]} and {pairs[1]})",
            hint="B has as many rows as A (columns, with left=False)",
            operator=name,
        )
    A, B = to_host(name, A), to_host(name, B)
    if not left:
        A, B = mt(A), mt(B)
    batch = st.broadcast([A.shape[:-2], B.shape[:-2]], name)
    return expand(A, (*batch, *A.shape[-2:])), expand(B, (*batch, *B.shape[-2:]))


def _solved(name: str, A: Any, B: Any, left: bool) -> tuple[Any, Any]:
    check_square(name, "A", A)
    is_vector = left and is_vector_of(A, B)
    a, b = systems(name, A, B.unsqueeze(-1) if is_vector else B, left)
    solution, info = host_solve(a, b)
    if info.shape != A.shape[:-2]:  # one matrix for several systems
        info = host_lu(A.detach().to("cpu"), True)[2]
    if is_vector:
        solution = solution.squeeze(-1)
    return solution if left else mt(solution), info


@public(samples=_systems, errors=_bad_systems, called="linalg.solve")
def linalg_solve(A: Operand, B: Operand, *, left: bool = True) -> Any:
    """Solution X of A @ X = B, or of X @ A = B if `left` is False.

    Shapes: [*, k, k] with [*, k, n] gives [*, k, n]; with [k], or [*, k] of the same batch as A, gives that.
    Host:   waits if the operands are on a GPU.
    Raises: LinAlgError for a singular matrix, ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """
    solution, info = _solved("linalg.solve", A, B, left)
    check_info("linalg.solve", info, "the solver failed because the input matrix is singular", NO_INVERSE)
    return back(solution, A)


class SolveResult(NamedTuple):
    result: Any
    info: Any


@public(samples=_systems, errors=_bad_systems, called="linalg.solve_ex")
def linalg_solve_ex(A: Operand, B: Operand, *, left: bool = True, check_errors: bool = False) -> Any:
    """(result, info): as `linalg.solve`; info is 0, or the number of the first zero on the diagonal of a factor of A.

    Host:   waits if the operands are on a GPU.
    Raises: LinAlgError for a singular matrix, if check_errors; ShapeError, DtypeError.
    Example:
        >>> torch.linalg.solve_ex(torch.eye(2), torch.tensor([2.0, 3.0])).info
        tensor(0, dtype=torch.int32)
    """
    solution, info = _solved("linalg.solve_ex", A, B, left)
    if check_errors:
        check_info("linalg.solve_ex", info, "the solver failed because the input matrix is singular", NO_INVERSE)
    return back(SolveResult(solution, info), A)


@routine
def triangular_solution_of(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    def one(a: Any, b: Any) -> tuple[Any]:
        (trtrs,) = host.scipy_linalg().lapack.get_lapack_funcs(("trtrs",), (a, b))
        solution, code = trtrs(a, b, lower=not upper, unitdiag=unit)
        return (solution if code <= 0 else _divided(a, b, upper),)

    return _filled(b.shape, b.dtype, [solution for (solution,) in _each(one, a, b, core=[2, 2])])


def _divided(a: Any, b: Any, upper: bool) -> Any:
    """Substitution in NumPy, for a diagonal with zeros: the result has infinities and NaN."""
    out = np.array(b)
    size = len(a)
    with np.errstate(all="ignore"):
        for at in range(size - 1, -1, -1) if upper else range(size):
            part = slice(at + 1, None) if upper else slice(0, at)
            out[at] = (out[at] - a[at, part] @ out[part]) / a[at, at]
    return out


@on_host()
def host_solve_triangular(call: Any, A: Operand, B: Operand, upper: bool, unitriangular: bool) -> Any:
    """Solution X of A @ X = B for triangular A, for batches of one shape."""
    return run(call, "triangular_solution_of", [(B.shape, B.dtype)], A, B, options=(upper, unitriangular))


@host_solve_triangular.derivative
def _(grad: Any, out: Any, A: Any, upper: bool, unitriangular: bool, needs: Any) -> Any:
    of_b = host_solve_triangular(mt(A), grad, not upper, unitriangular)
    of_a = None
    if needs[0]:
        whole, shift = -matmul(of_b, mt(out)), 1 if unitriangular else 0
        of_a = triu(whole, shift) if upper else tril(whole, -shift)
    return of_a, of_b


def _triangular_systems() -> Iterator[Sample]:
    yield Sample((_matrix(), Array((2, 3), seed=1)), {"upper": True})
    yield Sample((_matrix((2, 3, 3), layout="transposed"), Array((3, 2), seed=1)), {"upper": False})
    yield Sample((_matrix(), Array((3, 2), seed=1)), {"upper": True, "left": False, "unitriangular": True})
    yield Sample((_matrix(), Array((2, 3), seed=1)), {"upper": False, "unitriangular": True})


def _bad_triangular_systems() -> Iterator[ErrorSample]:
    wanted = {"upper": True}
    yield ErrorSample((_matrix((2, 3)), Array((2, 2))), ShapeError, r"square matrices, got shape \[2, 3\]", wanted)
    yield ErrorSample((_matrix(), Array((3, 2))), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)", wanted)


@public(samples=_triangular_systems, errors=_bad_triangular_systems, called="linalg.solve_triangular")
def linalg_solve_triangular(
    A: Operand, B: Operand, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """Solution X of A @ X = B, or X @ A = B, for triangular A; the other triangle of A is not read.

    unitriangular: take the diagonal as ones.  A zero on the diagonal gives infinities and NaN.
    Shapes: [*, k, k] with [*, k, n] gives [*, k, n].
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> A = torch.tensor([[2.0, 1.0], [0.0, 1.0]])
        >>> torch.linalg.solve_triangular(A, torch.tensor([[3.0], [1.0]]), upper=True)
        tensor([[1.],
                [1.]])
    """
    name = "linalg.solve_triangular"
    check_square(name, "A", A)
    a, b = systems(name, A, B, left)
    solution = host_solve_triangular(a, b, upper if left else not upper, unitriangular)
    return back(solution if left else mt(solution), A)


class TriangularResult(NamedTuple):
    solution: Any
    cloned_coefficient: Any


def _former_systems() -> Iterator[Sample]:
    yield Sample((Array((2, 3), seed=1), _matrix()))
    yield Sample((Array((2, 3), seed=1), _matrix(), False, True, True))


def _bad_former_systems() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2)), _matrix((2, 3))), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((Array((3, 2)), _matrix()), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)")


@composite(samples=_former_systems, errors=_bad_former_systems, dtypes=TYPES, host="waits", other_names={"input": "b"})
def triangular_solve(
    b: Operand, A: Operand, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """(solution X of A @ X = b, A) for triangular A: the former name of `linalg.solve_triangular`.

    transpose: solve A^T @ X = b instead.
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.triangular_solve(torch.tensor([[3.0], [1.0]]), torch.tensor([[2.0, 1.0], [0.0, 1.0]])).solution
        tensor([[1.],
                [1.]])
    """
    check_square("triangular_solve", "A", A)
    given: Any = A
    a = mt(given) if transpose else given
    solution = linalg_solve_triangular(a, b, upper=bool(upper) != bool(transpose), unitriangular=bool(unitriangular))
    shape = (*solution.shape[:-2], *given.shape[-2:])
    return TriangularResult(solution, expand(given, shape).clone())


# determinants


@routine
def determinant_of(a: Any) -> Any:
    return np.linalg.det(a)


@on_host()
def host_determinant(call: Any, A: Operand) -> Any:
    return run(call, "determinant_of", [(A.shape[:-2], A.dtype)], A)


@host_determinant.derivative
def _(grad: Any, A: Any) -> Any:
    return grad.unsqueeze(-1).unsqueeze(-1) * host_cofactors(A)


@routine
def cofactors_of(a: Any) -> Any:
    """The matrix of cofactors, from a singular value decomposition: it exists for singular matrices too.

    Those of a matrix that is not finite are NaN.
    """
    is_finite = np.isfinite(a).all((-2, -1), keepdims=True)
    u, s, v = np.linalg.svd(np.where(is_finite, a, a.dtype.type(0)))
    size = s.shape[-1]
    others = np.where(np.eye(size, dtype=bool), a.dtype.type(1), s[..., None, :]).prod(-1)
    sign = np.linalg.det(u) * np.linalg.det(v)
    return np.where(is_finite, (sign[..., None, None] * (u * others[..., None, :])) @ v, a.dtype.type(np.nan))


@on_host()
def host_cofactors(call: Any, A: Operand) -> Any:
    return run(call, "cofactors_of", [(A.shape, A.dtype)], A)


@host_cofactors.derivative
def _(grad: Any, A: Any) -> Any:
    inverse_t = mt(host_inverse(A)[0])
    scale = host_determinant(A).unsqueeze(-1).unsqueeze(-1)
    along = (grad * inverse_t).sum((-2, -1), keepdim=True)
    return scale * (along * inverse_t - matmul(inverse_t, matmul(mt(grad), inverse_t)))


@public(samples=_squares, errors=_not_square, called="linalg.det", other_names={"input": "A"})
def linalg_det(A: Operand) -> Any:
    """Determinant of square matrices.

    Shapes: [*, k, k] gives [*].
    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(-2.)
    """
    check_square("linalg.det", "A", A)
    return back(host_determinant(to_host("linalg.det", A)), A)


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


@routine
def log_determinant_of(a: Any) -> Any:
    return np.linalg.slogdet(a)


@on_host()
def host_log_determinant(call: Any, A: Operand) -> Any:
    """(sign, logarithm of the absolute value) of the determinant."""
    shape = A.shape[:-2]
    return run(call, "log_determinant_of", [(shape, A.dtype), (shape, A.dtype)], A)


@host_log_determinant.derivative
def _(grads: Any, A: Any) -> Any:
    if grads[1] is None:
        return None
    return grads[1].unsqueeze(-1).unsqueeze(-1) * mt(host_inverse(A)[0])


@public(samples=_squares, errors=_not_square, called="linalg.slogdet", other_names={"input": "A"})
def linalg_slogdet(A: Operand) -> Any:
    """(sign, logabsdet): the sign of the determinant of square matrices, and the logarithm of its absolute value.

    Shapes: [*, k, k] gives [*] twice.
    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.linalg.slogdet(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        SlogdetResult(sign=tensor(-1.), logabsdet=tensor(0.))
    """
    check_square("linalg.slogdet", "A", A)
    return back(SlogdetResult(*host_log_determinant(to_host("linalg.slogdet", A))), A)


def _positive() -> Iterator[Sample]:
    yield Sample((_matrix((1, 1)),))
    yield Sample((_matrix((3, 1, 1), layout="transposed"),))
    yield Sample((_matrix((2, 3, 3), grad=False),))  # some determinants are negative
    yield Sample((_matrix((0, 0)),))


@composite(samples=_positive, errors=_not_square, dtypes=TYPES, host="waits")
def logdet(input: Operand) -> Any:
    """Logarithm of the determinant of square matrices: NaN where it is negative, minus infinity where it is 0.

    Shapes: [*, k, k] gives [*].
    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.logdet(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        tensor(0.)
    """
    check_square("logdet", "input", input)
    sign, size = host_log_determinant(to_host("logdet", input))
    return back(size.masked_fill(sign < 0, float("nan")), input)


# Cholesky


@routine
def cholesky_of(a: Any, upper: bool) -> Any:
    if upper:
        a = a.swapaxes(-2, -1)
    try:
        factor, codes = np.linalg.cholesky(a), 0
    except np.linalg.LinAlgError:
        found = _each(_cholesky_or_code, a, core=[2])
        codes = _filled(a.shape[:-2], "int32", [code for _, code in found])
        factor = _filled(a.shape, a.dtype, [matrix for matrix, _ in found])
    return factor.swapaxes(-2, -1) if upper else factor, codes


def _cholesky_or_code(matrix: Any) -> tuple[Any, int]:
    (potrf,) = host.scipy_linalg().lapack.get_lapack_funcs(("potrf",), (matrix,))
    factor, code = potrf(matrix, lower=True, clean=True)
    return factor, max(code, 0)


@on_host()
def host_cholesky(call: Any, A: Operand, upper: bool) -> Any:
    """(factor, code of the failure) of symmetric positive definite matrices."""
    return run(call, "cholesky_of", [(A.shape, A.dtype), (A.shape[:-2], int32)], A, options=(upper,))


@host_cholesky.derivative
def _(grads: Any, out: Any, upper: bool) -> Any:
    grad = mt(grads[0]) if upper else grads[0]
    lower_t = out if upper else mt(out)  # the transpose of the lower factor
    inner = tril(matmul(lower_t, tril(grad)))
    inner = inner - 0.5 * _diagonal_matrix(inner)
    left = host_solve_triangular(lower_t, inner, True, False)
    whole = mt(host_solve_triangular(lower_t, mt(left), True, False))
    return 0.5 * (whole + mt(whole))


def _diagonal_matrix(matrix: Any) -> Any:
    return triu(tril(matrix))


NOT_POSITIVE = "the factorization could not be completed because the input is not positive-definite (the leading "
NOT_POSITIVE += "minor of order {at} is not positive-definite)"
ADD_TO_DIAGONAL = "adding a small multiple of the identity makes a nearly definite matrix definite"


def _definite() -> Iterator[Sample]:
    yield Sample((Array((1, 1), 1, 2),))
    yield Sample((Array((3, 1, 1), 1, 2),), {"upper": True})
    yield Sample((Array((0, 2, 2)),))


def _cholesky(name: str, A: Any, upper: bool, check_errors: bool) -> tuple[Any, Any]:
    check_square(name, "A", A)
    factor, info = host_cholesky(to_host(name, A), bool(upper))
    if check_errors:
        check_info(name, info, NOT_POSITIVE, ADD_TO_DIAGONAL)
    return factor, info


@public(samples=_definite, errors=_not_square, called="linalg.cholesky")
def linalg_cholesky(A: Operand, *, upper: bool = False) -> Any:
    """Lower triangular L with A = L @ L^T, or the upper one with A = U^T @ U.  Only that triangle of A is read.

    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError unless A is positive definite.
    Example:
        >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
        tensor([[2., 0.],
                [1., 1.]])
    """
    return back(_cholesky("linalg.cholesky", A, upper, True)[0], A)


class CholeskyResult(NamedTuple):
    L: Any
    info: Any


@public(samples=_definite, errors=_not_square, called="linalg.cholesky_ex")
def linalg_cholesky_ex(A: Operand, *, upper: bool = False, check_errors: bool = False) -> Any:
    """(L, info): as `linalg.cholesky`; info is 0, or the order of the first leading minor that is not positive.

    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError unless A is positive definite, if check_errors.
    Example:
        >>> torch.linalg.cholesky_ex(torch.tensor([[-4.0]])).info
        tensor(1, dtype=torch.int32)
    """
    return back(CholeskyResult(*_cholesky("linalg.cholesky_ex", A, upper, check_errors)), A)


@composite(samples=_definite, errors=_not_square, dtypes=TYPES, host="waits")
def cholesky(input: Operand, upper: bool = False) -> Any:
    """The former name of `linalg.cholesky`.

    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError unless the input is positive definite.
    Example:
        >>> torch.cholesky(torch.tensor([[4.0]]))
        tensor([[2.]])
    """
    return back(_cholesky("cholesky", input, upper, True)[0], input)


def _factored_systems() -> Iterator[Sample]:
    yield Sample((Array((2, 3), seed=1), _matrix()))
    yield Sample((Array((2, 3, 1), seed=1), _matrix((3, 3), layout="transposed"), True))


@composite(
    samples=_factored_systems,
    errors=_bad_former_systems,
    dtypes=TYPES,
    host="waits",
    other_names={"input": "B", "input2": "L"},
)
def cholesky_solve(B: Operand, L: Operand, upper: bool = False) -> Any:
    """Solution X of A @ X = B, given the Cholesky factor L of A.

    Shapes: [*, k, n] with [*, k, k] gives [*, k, n].
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.cholesky_solve(torch.tensor([[8.0]]), torch.tensor([[2.0]]))
        tensor([[2.]])
    """
    check_square("cholesky_solve", "L", L)
    a, b = systems("cholesky_solve", L, B, True)
    first = host_solve_triangular(mt(a) if upper else a, b, False, False)
    return back(host_solve_triangular(a if upper else mt(a), first, True, False), B)


@composite(samples=_squares, errors=_not_square, dtypes=TYPES, host="waits", other_names={"input": "L"})
def cholesky_inverse(L: Operand, upper: bool = False) -> Any:
    """Inverse of A, given its Cholesky factor L.

    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    check_square("cholesky_inverse", "L", L)
    a = to_host("cholesky_inverse", L)
    return back(cholesky_solve(_eye(a), a, upper), L)


# QR


class QRResult(NamedTuple):
    Q: Any
    R: Any


@routine
def qr_of(a: Any, mode: str) -> Any:
    return np.linalg.qr(a, mode)


@on_host()
def host_qr(call: Any, A: Operand, mode: str) -> Any:
    """(Q, R) of matrices.  mode: "reduced" or "complete"."""
    *batch, m, n = A.shape
    k = min(m, n) if mode == "reduced" else m
    return run(call, "qr_of", [((*batch, m, k), A.dtype), ((*batch, k, n), A.dtype)], A, options=(mode,))


@host_qr.derivative
def _(grads: Any, out: Any, out1: Any, mode: str) -> Any:
    of_q, of_r = grads
    m, n = out.shape[-2], out1.shape[-1]
    if mode == "complete" and m > n:
        raise NotSupportedError(
            f"the QR decomposition is not differentiable when mode='complete' and there are more rows than columns, "
            f"{m} and {n}",
            hint="use mode='reduced'",
            operator="linalg.qr",
        )
    if m >= n:
        return _qr_gradient(of_q, of_r, out, out1)
    rest = None if of_r is None else narrow(of_r, -1, m, n - m)
    if rest is not None:
        # A = [X, Y] with X = Q @ U and Y = Q @ V: Y's part reaches X through Q = Q(X)
        a_rest = matmul(out, narrow(out1, -1, m, n - m))
        through = matmul(a_rest, mt(rest))
        of_q = through if of_q is None else of_q + through
    of_first = _qr_gradient(of_q, None if of_r is None else narrow(of_r, -1, 0, m), out, narrow(out1, -1, 0, m))
    of_rest = matmul(out, rest) if rest is not None else of_first.new_zeros((*out.shape[:-1], n - m))
    return cat([of_first, of_rest], -1)


def _qr_gradient(of_q: Any, of_r: Any, q: Any, r: Any) -> Any:
    """The gradient of A = q @ r with at least as many rows as columns."""
    inner = None if of_r is None else matmul(r, mt(of_r))
    if of_q is not None:
        part = matmul(mt(of_q), q)
        inner = -part if inner is None else inner - part
    whole = matmul(q, tril(inner) + mt(tril(inner, -1)))
    whole = whole if of_q is None else whole + of_q
    return mt(host_solve_triangular(r, mt(whole), True, False))


def _tall() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)),))
    yield Sample((_matrix((2, 3), layout="transposed"),))
    yield Sample((_matrix((2, 3, 3)),), {"mode": "complete"})
    yield Sample((_matrix((0, 2)),))


def _bad_qr() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((_matrix(), "all"), ArgumentError, "mode must be .* got 'all'")


@public(samples=_tall, errors=_bad_qr, called="linalg.qr")
def linalg_qr(A: Operand, mode: str = "reduced") -> Any:
    """(Q, R): orthonormal columns and an upper triangle, with A = Q @ R.

    mode: "reduced" for Q of [*, m, k]; "complete" for Q of [*, m, m]; "r" for R alone, with an empty Q.
    Host:   waits if the operand is on a GPU.
    Raises: ValueRangeError for any other mode, NotSupportedError in backward of "r", and of "complete" if m > n.
    Example:
        >>> torch.linalg.qr(torch.tensor([[-3.0, 1.0], [-4.0, 2.0]])).R.abs()
        tensor([[5.0000, 2.2000],
                [0.0000, 0.4000]])
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueRangeError(
            f"mode must be 'reduced', 'complete' or 'r', got {shown(mode)}", hint="leave it out", operator="linalg.qr"
        )
    check_matrix("linalg.qr", "A", A)
    a = to_host("linalg.qr", A)
    q, r = host_qr(a.detach() if mode == "r" else a, "complete" if mode == "complete" else "reduced")
    if mode == "r":
        q = q.new_zeros((0,))
    return back(QRResult(q, r), A)


@composite(samples=lambda: [Sample((_matrix((3, 2)),)), Sample((_matrix((2, 2)), False))], dtypes=TYPES, host="waits")
def qr(input: Operand, some: bool = True) -> Any:
    """(Q, R): the former name of `linalg.qr`; `some` is "reduced".

    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.qr(torch.eye(2)).R.abs()
        tensor([[1., 0.],
                [0., 1.]])
    """
    return linalg_qr(input, "reduced" if some else "complete")


# eigenvalues and singular values


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


def _reflectors() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)), Array((2,), 0.2, 1.0, seed=1)))
    yield Sample((_matrix((2, 3, 3), layout="transposed"), Array((2, 2), 0.2, 1.0, seed=1)))


def _bad_reflectors() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3,)), Array((1,))), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((_matrix((2, 3)), Array((2,))), ShapeError, r"A \[2, 3\] and tau \[2\] do not fit")
    yield ErrorSample((_matrix((3, 2)), Array((3,))), ShapeError, r"A \[3, 2\] and tau \[3\] do not fit")


def _reflector(A: Any, at: int) -> Any:
    """The vector of a reflection as a column: 0 above the diagonal, 1 on it, a column of A below."""
    column = narrow(A, -1, at, 1)
    below = tril(column, -at - 1)
    below_of_one = below.new_zeros(below.shape[-2:])
    below_of_one[at] = 1
    return below + below_of_one


def _product(name: str, A: Any, tau: Any) -> Any:
    check_matrix(name, "A", A)
    *batch, m, n = A.shape
    if m < n or list(tau.shape[:-1]) != batch or not tau.shape or tau.shape[-1] > n:
        raise ShapeError(
            f"A {list(A.shape)} and tau {list(tau.shape)} do not fit",
            hint="A [*, m, n] with m >= n, and tau [*, k] with k <= n",
            operator=name,
        )
    check_types(name, A=A, tau=tau)
    a, factors = to_host(name, A), to_host(name, tau)
    result = expand(_identity(a, m, n), (*batch, m, n))
    for at in range(tau.shape[-1] - 1, -1, -1):
        vector = _reflector(a, at)
        factor = narrow(factors, -1, at, 1).unsqueeze(-1)
        result = result - factor * matmul(vector, matmul(mt(vector), result))
    return back(result.clone() if not tau.shape[-1] else result, A)


def _identity(like: Any, rows: int, columns: int) -> Any:
    out = like.new_zeros((rows, columns))
    diagonal(out, 0, -2, -1).fill_(1)
    return out


@public(samples=_reflectors, errors=_bad_reflectors, called="linalg.householder_product", other_names={"input": "A"})
def linalg_householder_product(A: Operand, tau: Operand) -> Any:
    """The first columns of a product of reflections, as `torch.geqrf` returns them: the Q of a QR decomposition.

    Reflection i is I - tau[i] * v @ v^T, where v is 0 above row i, 1 there, and column i of A below.
    Shapes: [*, m, n] with m >= n, and [*, k] with k <= n, give [*, m, n].
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError unless the shapes fit; DtypeError.
    Example:
        >>> q = torch.linalg.householder_product(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
        >>> q
        tensor([[-0.6000],
                [-0.8000]])
    """
    return _product("linalg.householder_product", A, tau)


@composite(samples=_reflectors, errors=_bad_reflectors, dtypes=TYPES, host="waits", other_names={"tau": "input2"})
def orgqr(input: Operand, input2: Operand) -> Any:
    """Another name of `linalg.householder_product`.

    Host:   waits if the operands are on a GPU.
    Raises: ShapeError unless the shapes fit; DtypeError.
    Example:
        >>> torch.orgqr(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
        tensor([[-0.6000],
                [-0.8000]])
    """
    return _product("orgqr", input, input2)


def _rotations() -> Iterator[Sample]:
    reflections = _matrix((3, 2)), Array((2,), 0.2, 1.0, seed=1)
    for transposed in (False, True):
        yield Sample((*reflections, _matrix((3, 4), seed=2), True, transposed))
        yield Sample((*reflections, _matrix((2, 3), seed=2), False, transposed))
    yield Sample((_matrix((2, 3, 3)), Array((2, 2), 0.2, 1.0, seed=1), _matrix((2, 3, 1), seed=2)))


def _bad_rotations() -> Iterator[ErrorSample]:
    tall = _matrix((3, 2)), Array((2,))
    yield ErrorSample((*tall, _matrix((3,))), ShapeError, r"at least 2 dimensions, got shape \[3\]")
    yield ErrorSample((*tall, _matrix((2, 3))), ShapeError, r"input \[3, 2\], tau \[2\] and other \[2, 3\] do not fit")
    yield ErrorSample((_matrix((3, 2)), Array((3,)), _matrix((3, 2))), ShapeError, r"tau \[3\] .* do not fit")


@composite(
    samples=_rotations, errors=_bad_rotations, dtypes=TYPES, host="waits",
    other_names={"tau": "input2", "other": "input3"},
)  # fmt: skip
def ormqr(input: Operand, input2: Operand, input3: Operand, left: bool = True, transpose: bool = False) -> Any:
    """Q @ other, where Q is the square matrix of reflections `input` and `tau`, as `torch.geqrf` returns them.

    left: if False, other @ Q.  transpose: use Q^T in place of Q.
    Shapes: input [*, m, k], tau [*, up to min(m, k)], other [*, m, n], or [*, n, m] if left is False;
            the result like other.
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError unless the shapes fit; DtypeError.
    Example:
        >>> a = torch.tensor([[3.0], [4.0]])
        >>> torch.ormqr(*torch.geqrf(a), a, transpose=True)
        tensor([[-5.],
                [ 0.]])
    """
    for what, value in (("input", input), ("other", input3)):
        check_matrix("ormqr", what, value)
    *batch, m, k = input.shape
    fits = list(input3.shape[:-2]) == batch == list(input2.shape[:-1]) and input3.shape[-2 if left else -1] == m
    if not fits or not input2.shape or input2.shape[-1] > min(m, k):
        raise ShapeError(
            f"input {list(input.shape)}, tau {list(input2.shape)} and other {list(input3.shape)} do not fit",
            hint="[*, m, k], [*, up to min(m, k)], and [*, m, n], or [*, n, m] with left=False",
            operator="ormqr",
        )
    check_types("ormqr", input=input, tau=input2, other=input3)
    a, factors, result = (to_host("ormqr", each) for each in (input, input2, input3))
    order = range(input2.shape[-1])
    for at in reversed(order) if left != transpose else order:
        vector, factor = _reflector(a, at), narrow(factors, -1, at, 1).unsqueeze(-1)
        if left:
            result = result - factor * matmul(vector, matmul(mt(vector), result))
        else:
            result = result - factor * matmul(matmul(result, vector), mt(vector))
    return back(result if input2.shape[-1] else result.clone(), input3)


class GeqrfResult(NamedTuple):
    a: Any
    tau: Any


@routine
def geqrf_of(a: Any) -> Any:
    packed, tau = np.linalg.qr(a, "raw")
    return np.swapaxes(packed, -2, -1), tau


@on_host()
def host_geqrf(call: Any, input: Operand) -> Any:
    """(R and the vectors of the reflections below it, their factors) of matrices."""
    *batch, m, n = input.shape
    return run(call, "geqrf_of", [(input.shape, input.dtype), ((*batch, min(m, n)), input.dtype)], input)


@composite(
    samples=lambda: [Sample((_matrix((3, 2), grad=False),)), Sample((_matrix((2, 2, 3), grad=False),))],
    errors=lambda: [ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")],
    dtypes=TYPES, host="waits", differentiable=False,
)  # fmt: skip
def geqrf(input: Operand) -> Any:
    """(a, tau): a QR decomposition as reflections.  R is the upper triangle of a; `orgqr` makes Q.

    Shapes: [*, m, n] gives [*, m, n] and [*, k].
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError below two dimensions; DtypeError; AutogradError for an operand that requires a gradient.
    Example:
        >>> torch.geqrf(torch.tensor([[3.0], [4.0]])).a[0]
        tensor([-5.])
    """
    check_matrix("geqrf", "input", input)
    return back(GeqrfResult(*host_geqrf(to_host("geqrf", input))), input)


@routine
def eigh_of(a: Any, uplo: str) -> Any:
    return tuple(np.linalg.eigh(a, uplo))


@on_host()
def host_eigh(call: Any, A: Operand, UPLO: str) -> Any:
    """(eigenvalues, eigenvectors) of symmetric matrices."""
    return run(call, "eigh_of", [(A.shape[:-1], A.dtype), (A.shape, A.dtype)], A, options=(UPLO,))


@host_eigh.derivative
def _(grads: Any, out: Any, out1: Any) -> Any:
    of_values, of_vectors = grads
    inner = None
    if of_vectors is not None:
        gaps = out.unsqueeze(-2) - out.unsqueeze(-1)
        inner = matmul(mt(out1), of_vectors) * _reciprocal_off_diagonal(gaps)
    if of_values is not None:
        along = _as_diagonal(of_values)
        inner = along if inner is None else inner + along
    return matmul(out1, matmul(inner, mt(out1)))


def _reciprocal_off_diagonal(gaps: Any) -> Any:
    """1 / gaps, and 0 on the diagonal."""
    one = _eye(gaps)
    return (1 - one) / (gaps + one)


def _as_diagonal(values: Any) -> Any:
    """Diagonal matrices of vectors."""
    return values.unsqueeze(-1) * _eye(values.detach().unsqueeze(-1) * values.detach().unsqueeze(-2))


def _symmetric() -> Iterator[Sample]:
    yield Sample((Array((1, 1)),))
    yield Sample((Array((3, 1, 1)),))
    yield Sample((Array((2, 2), grad=False), "U"))
    yield Sample((Array((0, 2, 2)),))


def _bad_symmetric() -> Iterator[ErrorSample]:
    yield from _not_square()
    yield ErrorSample((_matrix(), "X"), ArgumentError, "UPLO must be 'L' or 'U', got 'X'")


def _eigh(name: str, A: Any, UPLO: str) -> tuple[Any, Any]:
    check_square(name, "A", A)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise ValueRangeError(f"UPLO must be 'L' or 'U', got {shown(UPLO)}", hint="leave it out", operator=name)
    result: tuple[Any, Any] = host_eigh(to_host(name, A), UPLO.upper())
    return result


@public(samples=_symmetric, errors=_bad_symmetric, called="linalg.eigh")
def linalg_eigh(A: Operand, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of symmetric matrices, the smallest eigenvalue first; vectors are columns.

    UPLO: the triangle of A to read, lower or upper.  The gradient is finite only if the eigenvalues are distinct.
    Shapes: [*, k, k] gives [*, k] and [*, k, k].
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.linalg.eigh(torch.tensor([[3.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 3.])
    """
    return back(EighResult(*_eigh("linalg.eigh", A, UPLO)), A)


@public(samples=_symmetric, errors=_bad_symmetric, called="linalg.eigvalsh")
def linalg_eigvalsh(A: Operand, UPLO: str = "L") -> Any:
    """Eigenvalues of symmetric matrices, the smallest first.

    Shapes: [*, k, k] gives [*, k].
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.linalg.eigvalsh(torch.tensor([[3.0, 0.0], [0.0, 1.0]]))
        tensor([1., 3.])
    """
    return back(_eigh("linalg.eigvalsh", A, UPLO)[0], A)


def _no_complex(name: str) -> NotSupportedError:
    return NotSupportedError(
        "eigenvalues of a general matrix are complex numbers, which do not exist here",
        hint="linalg.eigh and linalg.eigvalsh take symmetric matrices",
        operator=name,
    )


@public(samples=tuple, errors=lambda: [ErrorSample((_matrix(),), NotSupportedError, "complex")], called="linalg.eig")
def linalg_eig(A: Operand) -> Any:
    """Not supported: its results are complex.

    Raises: NotSupportedError.
    Example:
        >>> try:
        ...     torch.linalg.eig(torch.eye(2))
        ... except NotImplementedError:
        ...     print(torch.linalg.eigvalsh(torch.eye(2)))
        tensor([1., 1.])
    """
    raise _no_complex("linalg.eig")


@public(
    samples=tuple, errors=lambda: [ErrorSample((_matrix(),), NotSupportedError, "complex")], called="linalg.eigvals"
)
def linalg_eigvals(A: Operand) -> Any:
    """Not supported: its results are complex.

    Raises: NotSupportedError.
    Example:
        >>> try:
        ...     torch.linalg.eigvals(torch.eye(2))
        ... except NotImplementedError:
        ...     print(torch.linalg.eigvalsh(torch.eye(2)))
        tensor([1., 1.])
    """
    raise _no_complex("linalg.eigvals")


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


@routine
def svd_of(a: Any, full: bool) -> Any:
    return tuple(np.linalg.svd(a, full))


@on_host()
def host_svd(call: Any, A: Operand, full_matrices: bool) -> Any:
    """(U, S, Vh) of matrices."""
    *batch, m, n = A.shape
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    shapes = (*batch, m, rows), (*batch, k), (*batch, columns, n)
    return run(call, "svd_of", [(shape, A.dtype) for shape in shapes], A, options=(full_matrices,))


@host_svd.derivative
def _(grads: Any, out: Any, out1: Any, out2: Any) -> Any:
    of_u, of_s, of_v = grads
    m, n, k = out.shape[-2], out2.shape[-1], out1.shape[-1]
    u, v = narrow(out, -1, 0, k), mt(narrow(out2, -2, 0, k))
    of_u = None if of_u is None else narrow(of_u, -1, 0, k)
    of_v = None if of_v is None else mt(narrow(of_v, -2, 0, k))
    inner = None if of_s is None else _as_diagonal(of_s)
    if of_u is not None or of_v is not None:
        squares = out1 * out1
        ratio = _reciprocal_off_diagonal(squares.unsqueeze(-2) - squares.unsqueeze(-1))
        rows, columns = out1.unsqueeze(-1), out1.unsqueeze(-2)
        for grad, basis, scale in ((of_u, u, columns), (of_v, v, rows)):
            if grad is not None:
                part = matmul(mt(basis), grad)
                term = (part - mt(part)) * ratio * scale
                inner = term if inner is None else inner + term
    result = matmul(u, matmul(inner, mt(v)))
    if of_u is not None and m > k:
        rest = of_u - matmul(u, matmul(mt(u), of_u))
        result = result + matmul(rest / out1.unsqueeze(-2), mt(v))
    if of_v is not None and n > k:
        rest = of_v - matmul(v, matmul(mt(v), of_v))
        result = result + matmul(u, mt(rest / out1.unsqueeze(-2)))
    return result


def _any_matrices() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)),))
    yield Sample((_matrix((2, 3), layout="transposed"),))
    yield Sample((_matrix((2, 2, 2)),))
    yield Sample((_matrix((0, 2)),))


def _few_dimensions() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3,)),), ShapeError, r"at least 2 dimensions, got shape \[3\]")


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.svd")
def linalg_svd(A: Operand, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """(U, S, Vh): singular values S, the largest first, with A = U @ diag(S) @ Vh.

    driver: has no effect.  The gradient is finite only if the singular values are distinct and, for a matrix that is
    not square, not 0.
    Shapes: [*, m, n] gives [*, m, m], [*, k] and [*, n, n]; [*, m, k] and [*, k, n] unless full_matrices.
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, -4.0]])).S
        tensor([4., 3.])
    """
    check_matrix("linalg.svd", "A", A)
    return back(SVDResult(*host_svd(to_host("linalg.svd", A), bool(full_matrices))), A)


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.svdvals")
def linalg_svdvals(A: Operand, *, driver: Any = None) -> Any:
    """Singular values of matrices, the largest first.  driver: has no effect.

    Shapes: [*, m, n] gives [*, k].
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor([4., 3.])
    """
    check_matrix("linalg.svdvals", "A", A)
    return back(host_svd(to_host("linalg.svdvals", A), False)[1], A)


class FormerSVDResult(NamedTuple):
    U: Any
    S: Any
    V: Any


@composite(samples=_any_matrices, errors=_few_dimensions, dtypes=TYPES, host="waits")
def svd(input: Operand, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V): the former `linalg.svd`, whose third result is V instead of its transpose.

    some: U and V have k columns.  compute_uv: otherwise U and V are zeros.
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.svd(torch.tensor([[3.0, 0.0], [0.0, -4.0]])).S
        tensor([4., 3.])
    """
    check_matrix("svd", "input", input)
    a = to_host("svd", input)
    if not compute_uv:
        *batch, m, n = a.shape
        u, v = a.new_zeros((*batch, m, m)), a.new_zeros((*batch, n, n))
        return back(FormerSVDResult(u, host_svd(a, False)[1], v), input)
    u, s, vh = host_svd(a, not some)
    return back(FormerSVDResult(u, s, mt(vh)), input)


# pseudoinverse, rank, least squares


def _tolerance(name: str, largest: Any, shape: Sequence[int], atol: Any, rtol: Any) -> Any:
    """The size below which singular values count as 0: [*, 1].  largest: the largest ones, [*]."""
    absolute = 0.0 if atol is None else atol
    if rtol is None:
        epsilon = float(np.finfo(largest.dtype.numpy).eps) * max(shape[-2:])
        if atol is None:
            rtol = epsilon
        elif isinstance(atol, (int, float)):
            rtol = 0.0 if atol > 0 else epsilon
        else:
            rtol = where(atol.to("cpu") > 0, atol.to("cpu") * 0, atol.to("cpu") * 0 + epsilon)
    parts = [part if isinstance(part, (int, float)) else part.to("cpu") for part in (absolute, rtol)]
    relative = largest * parts[1]
    return (relative * 0 + parts[0]).maximum(relative).unsqueeze(-1)


def _singular_values(a: Any, hermitian: bool) -> Any:
    return host_eigh(a, "L")[0].abs() if hermitian else host_svd(a, False)[1]


def _largest(values: Any) -> Any:
    return values.amax(-1) if values.shape[-1] else values.sum(-1)


@public(
    samples=lambda: [Sample((_matrix((3, 2)),)), Sample((_matrix((2, 2, 2)), 0.1)), Sample((_matrix((0, 2)),))],
    errors=_few_dimensions, called="linalg.matrix_rank", differentiable=False, other_names={"input": "A"},
)  # fmt: skip
def linalg_matrix_rank(
    A: Operand, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    """Number of singular values larger than max(atol, rtol * the largest one).

    tol: the former name of atol, without rtol.  rtol: by default the type's epsilon times the larger size, or 0 if
    atol is positive.
    Shapes: [*, m, n] gives [*], int64.
    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.linalg.matrix_rank(torch.ones(3, 2))
        tensor(1)
    """
    name = "linalg.matrix_rank"
    check_matrix(name, "A", A)
    values = _singular_values(to_host(name, A).detach(), bool(hermitian))
    if tol is not None:
        atol, rtol = tol, 0.0
    return back((values > _tolerance(name, _largest(values), A.shape, atol, rtol)).sum(-1), A)


@routine
def pseudoinverse_of(a: Any, tolerance: Any) -> Any:
    u, s, v = np.linalg.svd(a, False)
    kept = s > tolerance
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(a.dtype)
    return (v.swapaxes(-2, -1) * inverse[..., None, :]) @ u.swapaxes(-2, -1)


@on_host()
def host_pinv(call: Any, A: Operand, tolerance: Operand) -> Any:
    """Pseudoinverse without the singular values up to the tolerance."""
    *batch, m, n = A.shape
    return run(call, "pseudoinverse_of", [((*batch, n, m), A.dtype)], A, tolerance)


@host_pinv.derivative
def _(grad: Any, out: Any, A: Any) -> Any:
    twice = matmul(out, mt(out))
    other = matmul(mt(out), out)
    rows = mt(grad) - matmul(A, matmul(out, mt(grad)))
    columns = mt(grad) - matmul(mt(grad), matmul(out, A))
    return -matmul(mt(out), matmul(grad, mt(out))) + matmul(rows, twice) + matmul(other, columns), None


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.pinv")
def linalg_pinv(A: Operand, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """Pseudoinverse (Moore-Penrose): without the singular values up to max(atol, rtol * the largest one).

    rcond: the former name of rtol.  rtol: by default the type's epsilon times the larger size, or 0 if atol is
    positive.
    Shapes: [*, m, n] gives [*, n, m].
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    return _pinv("linalg.pinv", A, atol, rtol if rcond is None else rcond, hermitian)


def _pinv(name: str, A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrix(name, "A", A)
    a = to_host(name, A)
    if not prod(a.shape):
        return back(mt(a) * 0, A)
    if hermitian:
        check_square(name, "A", A)
        a = tril(a) + mt(tril(a, -1))
    values = host_svd(a.detach(), False)[1]
    return back(host_pinv(a, _tolerance(name, _largest(values), A.shape, atol, rtol)), A)


@composite(samples=_any_matrices, errors=_few_dimensions, dtypes=TYPES, host="waits")
def pinverse(input: Operand, rcond: float = 1e-15) -> Any:
    """Pseudoinverse: `linalg.pinv` with another default.

    Shapes: [*, m, n] gives [*, n, m].
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError if the algorithm does not converge.
    Example:
        >>> torch.pinverse(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return _pinv("pinverse", input, None, rcond, False)


def _conditions() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)),))
    for p in ("fro", "nuc", 1, float("-inf")):
        yield Sample((_matrix((2, 2, 2)), p))


def _bad_conditions() -> Iterator[ErrorSample]:
    yield from _few_dimensions()
    yield ErrorSample((_matrix((2, 3)), 1), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((_matrix(), 3), ValueRangeError, "p must be .* got 3")


@public(samples=_conditions, errors=_bad_conditions, called="linalg.cond")
def linalg_cond(A: Operand, p: Any = None) -> Any:
    """Condition number of matrices: the norm times that of the inverse; infinity for a singular matrix.

    p: the matrix norm: None or 2 for the largest singular value, -2 for the smallest one, "fro", "nuc", or 1, -1, inf
    or -inf for sums of columns or rows.
    Shapes: [*, m, n] gives [*]; [*, k, k] unless p is None, 2 or -2.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for matrices that are not square, ValueRangeError for any other p.
    Example:
        >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor(2.)
    """
    name = "linalg.cond"
    check_matrix(name, "A", A)
    a = to_host(name, A)
    if p in (None, 2, -2):
        values = host_svd(a, False)[1]
        if not values.shape[-1]:
            return back(values.sum(-1), A)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        return back(smallest / largest if p == -2 else largest / smallest, A)
    check_square(name, "A", A)
    inverse, info = host_inverse(a)
    product = _matrix_norm(name, a, p) * _matrix_norm(name, inverse, p)
    return back(product.masked_fill(info > 0, float("inf")), A)


def _matrix_norm(name: str, a: Any, p: Any) -> Any:
    if p == "fro":
        return (a * a).sum((-2, -1)).sqrt()
    if p == "nuc":
        return host_svd(a, False)[1].sum(-1)
    if p not in (1, -1, float("inf"), float("-inf")):
        raise ValueRangeError(
            f"p must be None, 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, got {shown(p)}",
            hint="leave it out",
            operator=name,
        )
    sums = a.abs().sum(-2 if abs(p) == 1 else -1)
    if not sums.shape[-1]:
        return sums.sum(-1)
    return sums.amax(-1) if p > 0 else sums.amin(-1)


class LstsqResult(NamedTuple):
    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def _overdetermined() -> Iterator[Sample]:
    yield Sample((_matrix((3, 2)), Array((3, 2), seed=1)))
    yield Sample((_matrix((2, 3)), Array((2, 1), seed=1)))
    yield Sample((_matrix((2, 3, 2)), Array((2, 3), seed=1)))


def _bad_overdetermined() -> Iterator[ErrorSample]:
    yield ErrorSample((_matrix((3, 2)), Array((2, 2))), ShapeError, r"as many rows, got shapes \[3, 2\] and \[2, 2\]")
    yield ErrorSample((_matrix((3, 2)), Array((3, 2)), None), ArgumentError, "driver", {"driver": "x"})


@public(samples=_overdetermined, errors=_bad_overdetermined, called="linalg.lstsq")
def linalg_lstsq(A: Operand, B: Operand, rcond: Any = None, *, driver: Any = None) -> Any:
    """(solution, residuals, rank, singular_values): X with the smallest |A @ X - B|.

    rcond: singular values up to rcond times the largest one count as 0; by default the type's epsilon times the larger
    size.  driver: "gels" and "gelsy" give no singular values, "gels" no rank; "gelsd" and "gelss" give both.  All
    compute the same.
    Shapes: [*, m, n] with [*, m, r] gives [*, n, r]; with [*, m] of the same batch, [*, n].
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ, ArgumentError for any other driver.
    Example:
        >>> A, B = torch.tensor([[1.0], [0.0]]), torch.tensor([[2.0], [3.0]])
        >>> torch.linalg.lstsq(A, B).solution
        tensor([[2.]])
    """
    name = "linalg.lstsq"
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ArgumentError(
            f"driver must be one of gels, gelsy, gelsd and gelss, got {shown(driver)}",
            hint="leave it out",
            operator=name,
        )
    driver = driver or "gelsy"
    check_matrix(name, "A", A)
    check_types(name, A=A, B=B)
    is_vector = is_vector_of(A, B)
    right: Any = B
    a, b = to_host(name, A), to_host(name, right.unsqueeze(-1) if is_vector else right)
    if len(b.shape) < 2 or a.shape[:-1] != b.shape[:-1]:
        raise ShapeError(
            f"A and B must have one batch and as many rows, got shapes {list(A.shape)} and {list(B.shape)}",
            hint="each column of B is one system",
            operator=name,
        )
    m, n = a.shape[-2:]
    values = host_svd(a.detach(), False)[1]
    bound = _tolerance(name, _largest(values), a.shape, None, rcond)
    solution = matmul(host_pinv(a, bound), b)
    rank = (values > bound).sum(-1)
    full = prod(a.shape) and m > n and driver != "gelsy" and bool((rank == n).all().item())
    errors = matmul(a, solution) - b if full else None
    residuals = a.new_zeros((0,)) if errors is None else (errors * errors).sum(-2)
    if is_vector:
        solution = solution.squeeze(-1)
    nothing = a.new_zeros((0,))
    result = LstsqResult(
        solution,
        residuals,
        nothing.to(int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else nothing,
    )
    return back(result, A)


# LU


class LUFactorResult(NamedTuple):
    LU: Any
    pivots: Any


class LUFactorExResult(NamedTuple):
    LU: Any
    pivots: Any
    info: Any


class LUResult(NamedTuple):
    P: Any
    L: Any
    U: Any


@routine
def lu_of(a: Any, pivot: bool) -> Any:
    *batch, m, n = a.shape
    (getrf,) = host.scipy_linalg().lapack.get_lapack_funcs(("getrf",), (a,))

    def one(matrix: Any) -> tuple[Any, Any, int]:
        factors, pivots, code = getrf(matrix) if pivot and matrix.size else _eliminated(matrix)
        return factors, pivots + 1, max(code, 0)

    found = _each(one, a, core=[2])
    return (
        _filled(a.shape, a.dtype, [factors for factors, _, _ in found]),
        _filled((*batch, min(m, n)), "int32", [pivots for _, pivots, _ in found]),
        _filled(batch, "int32", [code for _, _, code in found]),
    )


def _eliminated(matrix: Any) -> tuple[Any, Any, int]:
    """LU without pivots: a zero on the diagonal gives infinities and NaN."""
    out, code = np.array(matrix), 0
    steps = min(out.shape)
    with np.errstate(all="ignore"):
        for at in range(steps):
            if not code and out[at, at] == 0:
                code = at + 1
            out[at + 1 :, at] /= out[at, at]
            out[at + 1 :, at + 1 :] -= np.outer(out[at + 1 :, at], out[at, at + 1 :])
    return out, np.arange(steps), code


@on_host()
def host_lu(call: Any, A: Operand, pivot: bool) -> Any:
    """(factors in one matrix, pivots counted from 1, code of the failure)."""
    *batch, m, n = A.shape
    outputs = [(A.shape, A.dtype), ((*batch, min(m, n)), int32), (batch, int32)]
    return run(call, "lu_of", outputs, A, options=(pivot,))


@host_lu.derivative
def _(grads: Any, out: Any, out1: Any) -> Any:
    m, n = out.shape[-2:]
    k = min(m, n)
    square = narrow(narrow(out, -2, 0, k), -1, 0, k)
    grad = grads[0]
    corner = narrow(narrow(grad, -2, 0, k), -1, 0, k)
    lower, upper = tril(square, -1) + _eye(square), triu(square)
    of_lower, of_upper = tril(corner, -1), triu(corner)
    # A = P @ [[L1], [L2]] @ [U1, U2]
    below = None if m == k else narrow(grad, -2, k, m - k)
    beside = None if n == k else narrow(grad, -1, k, n - k)
    inner_lower, inner_upper = matmul(mt(lower), of_lower), matmul(of_upper, mt(upper))
    if beside is not None:
        inner_lower = inner_lower - matmul(beside, mt(narrow(out, -1, k, n - k)))
    if below is not None:
        inner_upper = inner_upper - matmul(mt(narrow(out, -2, k, m - k)), below)
    inner = tril(inner_lower, -1) + triu(inner_upper)
    left = host_solve_triangular(mt(lower), inner, True, True)
    whole = mt(host_solve_triangular(upper, mt(left), True, False))
    if beside is not None:
        whole = cat([whole, host_solve_triangular(mt(lower), beside, True, True)], -1)
    if below is not None:
        whole = cat([whole, mt(host_solve_triangular(upper, mt(below), True, False))], -2)
    return matmul(host_permutation(out1, m, whole.dtype), whole)


@routine
def permutation_of(pivots: Any, rows: int) -> Any:
    *batch, _ = pivots.shape
    out = np.zeros((*batch, rows, rows))
    for index in np.ndindex(*batch):
        order = np.arange(rows)
        for at, pivot in enumerate(pivots[index]):
            order[[at, pivot - 1]] = order[[pivot - 1, at]]
        out[(*index, order, np.arange(rows))] = 1
    return out


@on_host()
def host_permutation(call: Any, pivots: Operand, rows: int, dtype: Any) -> Any:
    """P of A = P @ L @ U, from the pivots."""
    return run(call, "permutation_of", [((*pivots.shape[:-1], rows, rows), dtype)], pivots, options=(rows,))


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.lu_factor_ex")
def linalg_lu_factor_ex(A: Operand, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """(LU, pivots, info): as `linalg.lu_factor`; info is 0, or the number of the first zero on the diagonal of U.

    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError for such a zero, if check_errors.
    Example:
        >>> torch.linalg.lu_factor_ex(torch.zeros(1, 1)).info
        tensor(1, dtype=torch.int32)
    """
    check_matrix("linalg.lu_factor_ex", "A", A)
    result = host_lu(to_host("linalg.lu_factor_ex", A), bool(pivot))
    if check_errors:
        check_info("linalg.lu_factor_ex", result[2], "the diagonal element {at} of U is zero", NO_INVERSE)
    return back(LUFactorExResult(*result), A)


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.lu_factor")
def linalg_lu_factor(A: Operand, *, pivot: bool = True) -> Any:
    """(LU, pivots): L below and U on and above the diagonal of one matrix, for `linalg.lu_solve`.

    pivots: row i was exchanged with row pivots[i] - 1.  pivot: whether rows are exchanged.
    Shapes: [*, m, n] gives the same, and [*, k], int32.
    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError for a zero on the diagonal of U.
    Example:
        >>> torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 6.0]]))
        LUFactorResult(LU=tensor([[4., 6.],
                [0., 2.]]), pivots=tensor([2, 2], dtype=torch.int32))
    """
    check_matrix("linalg.lu_factor", "A", A)
    factors, pivots, info = host_lu(to_host("linalg.lu_factor", A), bool(pivot))
    check_info("linalg.lu_factor", info, "the diagonal element {at} of U is zero: A has no inverse", NO_INVERSE)
    return back(LUFactorResult(factors, pivots), A)


@composite(samples=_any_matrices, errors=_few_dimensions, dtypes=TYPES, host="waits", other_names={"input": "A"})
def lu(A: Operand, pivot: bool = True, get_infos: bool = False) -> Any:
    """(LU, pivots), and the codes of failures if get_infos: the former names of `linalg.lu_factor` and `lu_factor_ex`.

    Host:   waits if the operand is on a GPU.
    Raises: LinAlgError for a zero on the diagonal of U, unless get_infos.
    Example:
        >>> torch.lu(torch.tensor([[2.0]]))[0]
        tensor([[2.]])
    """
    if get_infos:
        return linalg_lu_factor_ex(A, pivot=pivot)
    return linalg_lu_factor(A, pivot=pivot)


def _unpacked(factors: Any, pivots: Any) -> tuple[Any, Any, Any]:
    m, n = factors.shape[-2:]
    k = min(m, n)
    lower = tril(narrow(factors, -1, 0, k), -1)
    ones = lower.detach() * 0
    diagonal(ones, 0, -2, -1).fill_(1)
    return host_permutation(pivots, m, factors.dtype), lower + ones, triu(narrow(factors, -2, 0, k))


@public(samples=_any_matrices, errors=_few_dimensions, called="linalg.lu")
def linalg_lu(A: Operand, *, pivot: bool = True) -> Any:
    """(P, L, U): a permutation, a lower and an upper triangle, with A = P @ L @ U.

    pivot: whether rows are exchanged; otherwise P is empty.
    Shapes: [*, m, n] gives [*, m, m], [*, m, k] and [*, k, n].
    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.linalg.lu(torch.tensor([[0.0, 2.0], [4.0, 6.0]])).P
        tensor([[0., 1.],
                [1., 0.]])
    """
    check_matrix("linalg.lu", "A", A)
    factors, pivots, _ = host_lu(to_host("linalg.lu", A), bool(pivot))
    order, lower, upper = _unpacked(factors, pivots)
    return back(LUResult(order if pivot else order.new_zeros((0,)), lower, upper), A)


def _bad_pivots() -> Iterator[ErrorSample]:
    pivots = Array((2,), 1, 2.9, dtype="int32")
    yield ErrorSample((_matrix((2, 3)), pivots, Array((2, 2))), ShapeError, r"square matrices, got shape \[2, 3\]")
    yield ErrorSample((_matrix(), pivots, Array((3, 2))), ShapeError, r"incompatible shapes .* \(2x2 and 3x2\)")


def _packed() -> Iterator[Sample]:
    yield Sample((_matrix((2, 2)), Array((2,), 1, 2.9, dtype="int32", grad=False)))
    yield Sample((_matrix((2, 3, 2)), Array((2, 2), 2, 3.9, dtype="int32", grad=False)))


def _bad_packed() -> Iterator[ErrorSample]:
    pivots = Array((2,), 1, 2.9, dtype="int32")
    yield ErrorSample((_matrix((2,)), pivots), ShapeError, r"at least 2 dimensions, got shape \[2\]")


@composite(samples=_packed, errors=_bad_packed, dtypes=TYPES, host="waits", method=False)
def lu_unpack(LU_data: Operand, LU_pivots: Operand, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """(P, L, U) from the results of `linalg.lu_factor`; those that are not wanted are empty.

    Host:   waits if the operands are on a GPU.
    Example:
        >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 6.0]]))).U
        tensor([[4., 6.],
                [0., 2.]])
    """
    check_matrix("lu_unpack", "LU_data", LU_data)
    given: Any = LU_pivots
    order, lower, upper = _unpacked(to_host("lu_unpack", LU_data), given.to("cpu"))
    nothing = lower.new_zeros((0,))
    if not unpack_data:
        lower = upper = nothing
    return back(LUResult(order if unpack_pivots else nothing, lower, upper), LU_data)


def _lu_systems() -> Iterator[Sample]:
    pivots = Array((2,), 1, 2.9, dtype="int32", grad=False)
    yield Sample((_matrix(), pivots, Array((2, 3), seed=1)))
    yield Sample((_matrix(), pivots, Array((3, 2), seed=1)), {"left": False, "adjoint": True})


@public(samples=_lu_systems, errors=_bad_pivots, called="linalg.lu_solve")
def linalg_lu_solve(LU: Operand, pivots: Operand, B: Operand, *, left: bool = True, adjoint: bool = False) -> Any:
    """Solution X of A @ X = B, given the results of `linalg.lu_factor` of A.

    left: if False, solve X @ A = B.  adjoint: use A^T in place of A.
    Shapes: [*, k, k], [*, k] and [*, k, n] give [*, k, n].
    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.0]])), torch.tensor([[4.0]]))
        tensor([[2.]])
    """
    return _lu_solved("linalg.lu_solve", LU, pivots, B, left, adjoint)


def _lu_solved(name: str, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    check_square(name, "LU", LU)
    factors, b = systems(name, LU, B, True) if left else systems(name, mt(LU), B, False)
    order = host_permutation(pivots.to("cpu"), LU.shape[-1], LU.dtype)
    if bool(left) != bool(adjoint):  # P @ L @ U @ X = B
        first = host_solve_triangular(factors, matmul(mt(order), b), False, True)
        result = host_solve_triangular(factors, first, True, False)
    else:
        first = host_solve_triangular(mt(factors), b, False, False)
        result = matmul(order, host_solve_triangular(mt(factors), first, True, True))
    return back(result if left else mt(result), B)


@composite(
    samples=lambda: [Sample((sample.args[2], *sample.args[:2])) for sample in list(_lu_systems())[:1]],
    errors=lambda: [ErrorSample((args[2], *args[:2]), error, match) for args, error, match, _ in _bad_pivots()],
    dtypes=TYPES, host="waits", other_names={"input": "b"},
)  # fmt: skip
def lu_solve(b: Operand, LU_data: Operand, LU_pivots: Operand) -> Any:
    """The former order of arguments of `linalg.lu_solve`.

    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ.
    Example:
        >>> torch.lu_solve(torch.tensor([[4.0]]), *torch.linalg.lu_factor(torch.tensor([[2.0]])))
        tensor([[2.]])
    """
    return _lu_solved("lu_solve", LU_data, LU_pivots, b, True, False)


# powers and exponentials


@routine
def exponential_of(a: Any) -> Any:
    return host.scipy_linalg().expm(a)


@on_host()
def host_matrix_exp(call: Any, A: Operand) -> Any:
    return run(call, "exponential_of", [(A.shape, A.dtype)], A)


@host_matrix_exp.derivative
def _(grad: Any, A: Any) -> Any:
    turned = mt(A)
    size = A.shape[-1]
    top, bottom = cat([turned, grad], -1), cat([turned * 0, turned], -1)
    return narrow(narrow(host_matrix_exp(cat([top, bottom], -2)), -2, 0, size), -1, size, size)


@public(samples=_squares, errors=_not_square, called="linalg.matrix_exp", other_names={"input": "A"})
def linalg_matrix_exp(A: Operand) -> Any:
    """Exponential of square matrices.

    Shapes: [*, k, k] gives the same.
    Host:   waits if the operand is on a GPU.
    Example:
        >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_square("linalg.matrix_exp", "A", A)
    return back(host_matrix_exp(to_host("linalg.matrix_exp", A)), A)


def _powers() -> Iterator[Sample]:
    yield Sample((_matrix(), 3))
    yield Sample((_matrix((2, 3, 3), layout="transposed"), 2))
    yield Sample((_matrix(), 0))
    yield Sample((_matrix(), 1))
    yield Sample((_matrix(), -2))


@public(
    samples=_powers, errors=lambda: [ErrorSample((_matrix((2, 3)), 2), ShapeError, r"square .* \[2, 3\]")],
    called="linalg.matrix_power", other_names={"input": "A"},
)  # fmt: skip
def linalg_matrix_power(A: Operand, n: int) -> Any:
    """The n-th power of square matrices; for a negative n, that of the inverse.

    Shapes: [*, k, k] gives the same.
    Host:   returns at once; waits for a negative n on a GPU.
    Raises: ShapeError unless the matrices are square, LinAlgError if one has no inverse.
    Example:
        >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 10)
        tensor([[ 1., 10.],
                [ 0.,  1.]])
    """
    check_square("linalg.matrix_power", "A", A)
    matrix: Any = A
    if n == 0:
        return matrix.clone().copy_(_eye(matrix))  # whose gradient is zeros
    if n < 0:
        matrix, n = linalg_inv(matrix), -n
    result = None
    while n:
        if n & 1:
            result = matrix if result is None else matmul(result, matrix)
        n >>= 1
        if n:
            matrix = matmul(matrix, matrix)
    return matrix.clone() if result is A else result


# further forms


@public(
    samples=lambda: [Sample((Array((2, 3, 3)),)), Sample((Array((2, 3, 4), layout="transposed"),), {"offset": 1})],
    dtypes=dtypes.ALL, host="never", called="linalg.diagonal",
)  # fmt: skip
def linalg_diagonal(A: Operand, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A view of the diagonals of matrices: `torch.diagonal` of the last two dimensions.

    Host:   returns at once.
    Example:
        >>> torch.linalg.diagonal(torch.arange(8).reshape(2, 2, 2))
        tensor([[0, 3],
                [4, 7]])
    """
    return diagonal(A, offset, dim1, dim2)


known_views(linalg_diagonal)


@public(
    samples=lambda: [Sample((Array((3,)),)), Sample((Array((2, 3), layout="transposed"),), {"N": 2})],
    dtypes=dtypes.FLOATING_TYPES, host="never", called="linalg.vander",
)  # fmt: skip
def linalg_vander(x: Operand, *, N: int | None = None) -> Any:
    """Vandermonde matrices: the powers 0 to N - 1 of each element.

    Shapes: [*, n] gives [*, n, N]; N is n by default.
    Host:   returns at once.
    Raises: ArgumentError unless N is at least 2, or absent.
    Example:
        >>> torch.linalg.vander(torch.tensor([1.0, 2.0, 3.0]), N=3)
        tensor([[1., 1., 1.],
                [1., 2., 4.],
                [1., 3., 9.]])
    """
    count = x.shape[-1] if N is None else N
    if N is not None and N <= 1:
        raise ArgumentError(f"N must be greater than 1, got {N}", hint="leave it out", operator="linalg.vander")
    kind = x.dtype if x.dtype.is_floating_point else dtypes.int64
    column: Any = x.reshape((*x.shape, 1)).to(kind)
    powers = [column.new_ones(column.shape)]
    for _ in range(count - 1):
        powers.append(powers[-1] * column)
    return cat(powers, -1)


def _split_at(name: str, shape: Sequence[int], ind: int) -> tuple[int, int]:
    first, second = prod(shape[:ind]), prod(shape[ind:])
    if first != second:
        raise ShapeError(
            f"the first {ind} sizes of {list(shape)} must have the product of the others, got {first} and {second}",
            hint="choose another ind, or reshape the tensor",
            operator=name,
        )
    return first, second


@public(
    samples=lambda: [Sample((_matrix((1, 2, 2)),), {"ind": 2}), Sample((_matrix((2, 2)),), {"ind": 1})],
    errors=lambda: [ErrorSample((_matrix((2, 3)),), ShapeError, r"first 1 sizes of \[2, 3\]", {"ind": 1})],
    called="linalg.tensorinv",
)  # fmt: skip
def linalg_tensorinv(A: Operand, ind: int = 2) -> Any:
    """Inverse of a tensor whose first `ind` dimensions are taken as the rows of a matrix.

    Host:   waits if the operand is on a GPU.
    Raises: ArgumentError unless ind is positive, ShapeError unless the matrix is square, LinAlgError.
    Example:
        >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape
        torch.Size([4, 2, 2])
    """
    if ind <= 0:
        raise ArgumentError(
            f"ind must be a positive number, got {ind}", hint="leave it out", operator="linalg.tensorinv"
        )
    sizes = _split_at("linalg.tensorinv", A.shape, ind)
    return linalg_inv(A.reshape(sizes)).reshape((*A.shape[ind:], *A.shape[:ind]))


@public(
    samples=lambda: [Sample((_matrix((1, 2, 2)), Array((1, 2), seed=1)))],
    errors=lambda: [ErrorSample((_matrix((2, 3)), Array((2,))), ShapeError, r"elements of B")],
    called="linalg.tensorsolve",
)  # fmt: skip
def linalg_tensorsolve(A: Operand, B: Operand, dims: Any = None) -> Any:
    """Solution X of tensordot(A, X, X.ndim) = B.  dims: dimensions of A to move to the end first.

    Host:   waits if the operands are on a GPU.
    Raises: ShapeError if shapes do not fit, LinAlgError.
    Example:
        >>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, 2))
        tensor([1., 1., 1., 1.])
    """
    matrix: Any = A
    if dims is not None:
        matrix = matrix.movedim(list(dims), list(range(len(matrix.shape) - len(dims), len(matrix.shape))))
    rest, count = matrix.shape[len(B.shape) :], prod(B.shape)
    if prod(rest) != count:
        raise ShapeError(
            f"the last sizes of A, {list(rest)}, must have the product of the elements of B, {count}",
            hint="B has the first dimensions of A",
            operator="linalg.tensorsolve",
        )
    return linalg_solve(matrix.reshape((-1, count)), B.reshape((count,))).reshape(rest)

"""Linear layers: products with a bias, in one call, and all their gradients in one more."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from ..dtypes import FLOATING_TYPES, float64
from ..errors import DtypeError, ShapeError
from ..problem import GELU, RELU
from ..scalars import converted
from .activation import gelu, gelu_tanh_backward, relu, relu_backward
from .gemm_plan import Matrices, as_one_matrix, unit_steps
from .linalg import (
    PRODUCT_TYPES,
    allow_tf32,
    cannot_multiply,
    check_ndim,
    check_types,
    matmul,
    product,
    seen_left,
    seen_right,
)
from .operator import Array, ErrorSample, Operand, Sample, composite, operator
from .reduction import SUM, run_fold


def _sums() -> Iterator[Sample]:
    yield Sample((Array((4,)), Array((2, 3), seed=1), Array((3, 4), seed=2)))
    yield Sample((Array((2, 1)), Array((2, 3), seed=1), Array((3, 4), seed=2)), {"beta": 2, "alpha": 3})


def _bad_sums() -> Iterator[ErrorSample]:
    matrices = Array((2, 3)), Array((3, 2))
    yield ErrorSample((Array((4,)), *matrices), ShapeError, r"input of shape \[4\] does not expand to \[2, 2\]")


@composite(samples=_sums, errors=_bad_sums, dtypes=PRODUCT_TYPES)
def addmm(input: Operand, mat1: Operand, mat2: Operand, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * (mat1 @ mat2); with beta 0, input is not read.

    Shapes: [m, k] with [k, n] gives [m, n], to which input broadcasts.
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if the types differ or are bool.
    Example:
        >>> a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
        >>> torch.addmm(torch.tensor([100.0]), a, b, beta=0.5)
        tensor([[61.]])
    """
    check_ndim("addmm", mat1=(mat1, 2), mat2=(mat2, 2))
    shape = [mat1.shape[0], mat2.shape[1]]
    fits = len(input.shape) <= 2 and all(size in (1, want) for size, want in zip(input.shape[::-1], shape[::-1]))
    if not fits:
        raise ShapeError(
            f"input of shape {list(input.shape)} does not expand to {shape}",
            hint=f"it is added to the product: give it that shape, or a part that broadcasts, as [{shape[-1]}]",
            operator="addmm",
        )
    if list(input.shape) == shape[1:] and beta == alpha == 1:
        return linear(mat1, mat2.transpose(0, 1), input)  # type: ignore[attr-defined]
    beta, alpha = (converted("addmm", mat1.dtype.wide, each) for each in (beta, alpha))
    made: Any = matmul(mat1, mat2)
    made = made if alpha == 1 else made * alpha
    if beta == 0:
        return made
    return made + (input if beta == 1 else input * beta)  # type: ignore[operator]


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


@operator(samples=_layers, errors=_bad_layers, dtypes=PRODUCT_TYPES, method=False, setting=allow_tf32)
def linear(call: Any, input: Operand, weight: Operand, bias: Operand | None = None) -> Any:
    """input @ weight^T + bias.

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
            hint=f"one for each row of weight, which has shape {list(weight.shape)}",
            operator=call.name,
        )
    if unit_steps(n, k, *weight.strides) is None:
        weight = call.contiguous(weight)
    a, b = seen_left(input), Matrices((k, n), tuple(weight.strides[::-1]))
    return product(call, input, weight, a, b, tuple(a.shape[:-2]), (*input.shape[:-1], n), bias, activation)


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
    """The gradients of linear that are wanted, None for the others."""
    upstream = call.contiguous(upstream)
    lead, n = tuple(upstream.shape[:-1]), upstream.shape[-1]
    rows = Matrices((prod(lead), n), (n, 1))
    found: list[Any] = [None, None, None]
    if weight is not None and of_input:
        found[0] = product(call, upstream, weight, rows, seen_right(weight), (), (*lead, weight.shape[1]))
    if input is not None and of_weight:
        columns = Matrices(rows.shape[::-1], rows.strides[::-1])
        found[1] = product(call, upstream, input, columns, as_one_matrix(seen_left(input)), (), (n, input.shape[-1]))
    if of_bias:
        found[2] = call.output((n,), upstream.dtype)
        run_fold(call, SUM, upstream, tuple(range(len(lead))), found[2], upstream.dtype.wide)
    return tuple(found)


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
    """relu, or gelu's approximation by tanh, of linear: one library call.

    In float64 cuBLAS's gelu is good to 3e-10.

    Shapes: [*, k] with weight [n, k] and bias [n] gives [*, n]; k is not 0.
    Host:   returns at once.
    """
    return _layer(call, input, weight, bias, activation)


@linear_activation.derivative
def _(grad: Any, out: Any, input: Any, weight: Any, bias: Any, activation: Any, needs: Any) -> Any:
    # what gelu was taken of is made again, rather than kept
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
    input: Operand, mat1: Operand, mat2: Operand, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False
) -> Any:
    """relu(addmm(input, mat1, mat2)), or gelu's approximation by tanh of it: PyTorch's `_addmm_activation`.

    One library call where beta and alpha are 1 and input is a vector, but for gelu in float64.
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
        weight = mat2.transpose(0, 1)  # type: ignore[attr-defined]
        return linear_activation(mat1, weight, input, GELU if use_gelu else RELU)
    made = addmm(input, mat1, mat2, beta, alpha)
    return gelu(made, "tanh") if use_gelu else relu(made)

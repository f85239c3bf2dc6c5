"""Activation functions and their gradients.  Each gradient is one launch and has a derivative of its own."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from math import sqrt as root
from typing import Any

from .. import dtypes
from ..errors import ArgumentError, DtypeError
from ..host import np, special
from ..library_operation import GELU_CUBIC, ROOT_2_OVER_PI, gelu_tanh_of, gelu_tanh_term
from .elementary import exp, floating_function, numeric_function
from .operator import Array, ErrorSample, Operand, Sample
from .pointwise import Pointwise, floating_only, numpy_type, pointwise, promoted
from .samples import singles

ONE_OVER_ROOT_2 = 1 / root(2)
ONE_OVER_ROOT_2_PI = 1 / root(2 * pi)


def _slopes() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1)))
    yield Sample((Array((0, 3)), Array((0, 3))))


def _backward(cuda: str, samples: Any = _slopes) -> Any:
    return pointwise(
        dtype=promoted, cuda=cuda, samples=samples, dtypes=dtypes.FLOATING_TYPES, cost=10.0, inplace=False,
        method=False, function=False,
    )  # fmt: skip


@_backward("upstream * (1 - result * result)")
def tanh_backward(upstream: Operand, result: Operand) -> Any:
    """The gradient of tanh, computed from its result."""
    return upstream * (1 - result * result)


@tanh_backward.derivative
def _(grad: Any, upstream: Any, result: Any, needs: Any) -> Any:
    return tanh_backward(grad, result), grad * upstream * result * -2 if needs[1] else None


@floating_function("tanh(input)")
def tanh(input: Operand) -> Any:
    """Hyperbolic tangent.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.tanh(torch.tensor([0.0, 1.0, 100.0]))
        tensor([0.0000, 0.7616, 1.0000])
    """
    return np.tanh(input)


@tanh.derivative
def _(grad: Any, out: Any) -> Any:
    return tanh_backward(grad, out)


@_backward("upstream * (result * (1 - result))")
def sigmoid_backward(upstream: Operand, result: Operand) -> Any:
    """The gradient of sigmoid, computed from its result."""
    return upstream * (result * (1 - result))


@sigmoid_backward.derivative
def _(grad: Any, upstream: Any, result: Any, needs: Any) -> Any:
    return sigmoid_backward(grad, result), grad * upstream * (1 - result * 2) if needs[1] else None


def sigmoid_of(x: Any) -> Any:
    """1 / (1 + exp(-x)) of an array."""
    return 1 / (1 + np.exp(-x))


@floating_function("sigmoid_of(input)")
def sigmoid(input: Operand) -> Any:
    """1 / (1 + exp(-x)).

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.sigmoid(torch.tensor([0.0, 100.0]))
        tensor([0.5000, 1.0000])
    """
    return sigmoid_of(input)


@sigmoid.derivative
def _(grad: Any, out: Any) -> Any:
    return sigmoid_backward(grad, out)


def _results() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1, grad=False)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1, grad=False)))


@_backward("result <= 0 ? 0 : upstream", samples=_results)
def relu_backward(upstream: Operand, result: Operand) -> Any:
    """The gradient of relu, computed from its result: 0 where the result is 0."""
    return np.where(np.less_equal(result, 0), 0, upstream)


@relu_backward.derivative
def _(grad: Any, result: Any) -> Any:
    return relu_backward(grad, result), None


_zeros: dict[Any, Any] = {}  # by NumPy type, a zero-dimensional array: NumPy would convert a Python 0 in every call


@numeric_function("is_nan(input) || input > 0 ? input : 0")
def relu(input: Operand) -> Any:
    """max(x, 0); NaN is unchanged.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.relu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    array: Any = input
    zero = _zeros.get(array.dtype)
    if zero is None:
        zero = _zeros[array.dtype] = np.zeros((), array.dtype)
    return np.maximum(array, zero)


@relu.derivative
def _(grad: Any, out: Any) -> Any:
    return relu_backward(grad, out)


def _integers() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "operands must be floating point, got int64")


@_backward("upstream * silu_slope(input)")
def silu_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of silu."""
    gate = sigmoid_of(input)
    return upstream * (gate * (1 + input * (1 - gate)))


@silu_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    if not needs[1]:
        return silu_backward(grad, input), None
    gate = sigmoid(input)
    bend = gate * (1 - gate) * (input * (1 - gate * 2) + 2)
    return silu_backward(grad, input), grad * upstream * bend


@pointwise(
    dtype=floating_only, cuda="input / (1 + exp(-input))", samples=singles, errors=_integers,
    dtypes=dtypes.FLOATING_TYPES, cost=12.0, inplace=False, method=False, function=False,
)  # fmt: skip
def silu(input: Operand) -> Any:
    """x * sigmoid(x).

    Shapes: as the input's.
    Host: returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    return input / (1 + np.exp(-input))


@silu.derivative
def _(grad: Any, input: Any) -> Any:
    return silu_backward(grad, input)


@_backward("upstream * gelu_slope(input)")
def gelu_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of gelu."""
    number = numpy_type(input).type
    cumulative = number(0.5) * (1 + special.erf(input * number(ONE_OVER_ROOT_2)))
    density = np.exp(input * input * number(-0.5)) * number(ONE_OVER_ROOT_2_PI)
    return upstream * (cumulative + input * density)


@gelu_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    if not needs[1]:
        return gelu_backward(grad, input), None
    square = input * input
    density = exp(square * -0.5) * ONE_OVER_ROOT_2_PI
    return gelu_backward(grad, input), grad * upstream * (density * (2 - square))


@_backward("upstream * gelu_tanh_slope(input)")
def gelu_tanh_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of gelu's tanh approximation."""
    number = numpy_type(input).type
    bend, steepness = gelu_tanh_term(input), number(ROOT_2_OVER_PI) * (1 + 3 * number(GELU_CUBIC) * input * input)
    return upstream * (number(0.5) * (1 + bend) + number(0.5) * input * (1 - bend * bend) * steepness)


@gelu_tanh_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    if not needs[1]:
        return gelu_tanh_backward(grad, input), None
    square = input * input
    bend = tanh((input + input * square * GELU_CUBIC) * ROOT_2_OVER_PI)
    steepness = (square * (3 * GELU_CUBIC) + 1) * ROOT_2_OVER_PI
    change = input * (6 * GELU_CUBIC * ROOT_2_OVER_PI)
    twice = (1 - bend * bend) * (steepness + input * 0.5 * (change - bend * 2 * steepness * steepness))
    return gelu_tanh_backward(grad, input), grad * upstream * twice


@pointwise(
    dtype=floating_only, cuda="gelu_tanh_of(input)", samples=tuple, dtypes=dtypes.FLOATING_TYPES, cost=20.0,
    inplace=False, method=False, function=False, differentiable=False,
)  # fmt: skip
def gelu_tanh(input: Operand) -> Any:
    """The operator of `gelu` with approximate="tanh"."""
    return gelu_tanh_of(input)


class Gelu(Pointwise):
    """gelu, with one kernel for each approximation."""

    def lower(self, call: Any, input: Any, approximate: str = "none") -> Any:
        if approximate not in ("none", "tanh"):
            raise ArgumentError(f"approximate={approximate!r} is unknown", hint="use 'none' or 'tanh'", operator="gelu")
        return gelu_tanh.lower(call, input) if approximate == "tanh" else super().lower(call, input)


def _gelus() -> Iterator[Sample]:
    for approximate in ("none", "tanh"):
        for sample in singles():
            yield Sample(sample.args, {"approximate": approximate})


def _wrong_gelus() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), "exact"), ArgumentError, "gelu: approximate='exact' is unknown")


def _gelu(input: Operand, approximate: str = "none") -> Any:
    """x times the cumulative distribution function of the normal distribution.

    approximate: "none", or "tanh" for a cheaper approximation.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: ArgumentError for another approximation; DtypeError for integers.
    Example:
        >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
    number = numpy_type(input).type
    return number(0.5) * input * (1 + special.erf(input * number(ONE_OVER_ROOT_2)))


gelu = Gelu(
    _gelu, floating_only, "input * normal_cumulative(input)", 20.0, samples=_gelus, errors=_wrong_gelus,
    dtypes=dtypes.FLOATING_TYPES, method=False, function=False, name="gelu",
)  # fmt: skip


@gelu.derivative
def _(grad: Any, input: Any, approximate: Any) -> Any:
    return gelu_tanh_backward(grad, input) if approximate == "tanh" else gelu_backward(grad, input)

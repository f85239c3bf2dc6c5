"""Activation functions and their gradients.  Each gradient is one launch and has a derivative of its own."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from math import sqrt as root
from typing import Any

from .. import dtypes
from ..errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ..host import np, special
from ..library_operation import GELU_CUBIC, ROOT_2_OVER_PI, gelu_tanh_of, gelu_tanh_term
from ..strides import wrap_dim
from .arithmetic import abs as absolute
from .compare import where
from .elementary import exp, floating_function, numeric_function
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, composite
from .pointwise import Pointwise, floating_only, numpy_type, pointwise, promoted
from .samples import no_floats, singles

ONE_OVER_ROOT_2 = 1 / root(2)
ONE_OVER_ROOT_2_PI = 1 / root(2 * pi)


def slopes() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1)))
    yield Sample((Array((0, 3)), Array((0, 3))))


def backward(cuda: str, samples: Any = slopes, **options: Any) -> Any:
    return pointwise(
        dtype=promoted, cuda=cuda, samples=samples, dtypes=dtypes.FLOATING_TYPES, cost=10.0, inplace=False,
        method=False, function=False, **options,
    )  # fmt: skip


@backward("upstream * (1 - result * result)")
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


@backward("upstream * (result * (1 - result))")
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


@backward("result <= 0 ? 0 : upstream", samples=_results)
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


@backward("upstream * silu_slope(input)")
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
    dtype=floating_only, cuda="input / (1 + exp(-input))", samples=singles, errors=no_floats,
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


@backward("upstream * gelu_slope(input)")
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


@backward("upstream * gelu_tanh_slope(input)")
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
    yield from no_floats()
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


# functions of exponentials


def activation(cuda: str, cost: float = 4.0, **options: Any) -> Any:
    """Make an activation, which is public in nn.functional; floating point only."""
    options = {"samples": singles, "errors": no_floats, "function": False, "method": False, **options}
    return pointwise(dtype=floating_only, cuda=cuda, dtypes=dtypes.FLOATING_TYPES, inplace=False, cost=cost, **options)


@composite(samples=singles, dtypes=dtypes.ALL[1:], method=False, function=False)
def tanhshrink(input: Operand) -> Any:
    """x - tanh(x).

    Shapes: as the input's.
    Host:   returns at once.
    Example:
        >>> torch.nn.functional.tanhshrink(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


@composite(samples=singles, dtypes=dtypes.ALL[1:], method=False, function=False)
def softsign(input: Operand) -> Any:
    """x / (1 + |x|).

    Shapes: as the input's.
    Host:   returns at once.
    Example:
        >>> torch.nn.functional.softsign(torch.tensor([-3.0, 0.0, 1.0]))
        tensor([-0.7500,  0.0000,  0.5000])
    """
    return input / (absolute(input) + 1)


def _soft_slopes() -> Iterator[Sample]:
    for sample in slopes():
        yield Sample((*sample.args, 2.0, 20.0))


@backward("input * beta > threshold ? upstream : upstream * sigmoid_of(input * beta)", samples=_soft_slopes)
def softplus_backward(upstream: Operand, input: Operand, beta: float, threshold: float) -> Any:
    """The gradient of softplus."""
    scaled = input * beta
    return np.where(np.greater(scaled, threshold), upstream, upstream * sigmoid_of(scaled))


@softplus_backward.derivative
def _(grad: Any, upstream: Any, input: Any, beta: Any, threshold: Any, needs: Any) -> Any:
    by_input = None
    if needs[1]:
        gate = sigmoid(input * beta)
        by_input = where(input * beta > threshold, 0, grad * upstream * (gate * (1 - gate) * beta))
    return softplus_backward(grad, input, beta, threshold), by_input


def _softpluses() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 2.0, 2.5))


@activation("input * beta > threshold ? input : log1p(exp(input * beta)) / beta", 20.0, samples=_softpluses)
def softplus(input: Operand, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta x)) / beta, and x where beta x exceeds the threshold.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.nn.functional.softplus(torch.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """
    scaled = input * beta
    return np.where(np.greater(scaled, threshold), input, np.log1p(np.exp(scaled)) / beta)


@softplus.derivative
def _(grad: Any, input: Any, beta: Any, threshold: Any) -> Any:
    return softplus_backward(grad, input, beta, threshold)


@backward("upstream / (1 + exp(input))")
def logsigmoid_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of logsigmoid."""
    return upstream / (1 + np.exp(input))


@logsigmoid_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    by_input = None
    if needs[1]:
        gate = sigmoid(input)
        by_input = grad * upstream * (gate * (gate - 1))
    return logsigmoid_backward(grad, input), by_input


@activation("smaller(input, (decltype(input))0) - log1p(exp(-fabs(input)))", 20.0)
def logsigmoid(input: Operand) -> Any:
    """Logarithm of 1 / (1 + exp(-x)).

    Shapes: as the input's.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.nn.functional.logsigmoid(torch.tensor([-100.0, 0.0, 100.0]))
        tensor([-1.0000e+02, -6.9315e-01, -3.7835e-44])
    """
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


@logsigmoid.derivative
def _(grad: Any, input: Any) -> Any:
    return logsigmoid_backward(grad, input)


@backward("upstream * mish_slope(input)")
def mish_backward(upstream: Operand, input: Operand) -> Any:
    """The gradient of mish."""
    bend = np.tanh(np.log1p(np.exp(input)))
    return upstream * (bend + input * (1 - bend * bend) * sigmoid_of(input))


@mish_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    if not needs[1]:
        return mish_backward(grad, input), None
    gate, bend = sigmoid(input), tanh(softplus(input))
    slope = (1 - bend * bend) * gate
    change = slope * (1 - gate - bend * gate * 2)
    return mish_backward(grad, input), grad * upstream * (slope * 2 + input * change)


@activation("input * tanh(log1p(exp(input)))", 30.0)
def mish(input: Operand) -> Any:
    """x * tanh(log(1 + exp(x))).

    Shapes: as the input's.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.nn.functional.mish(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """
    return input * np.tanh(np.log1p(np.exp(input)))


@mish.derivative
def _(grad: Any, input: Any) -> Any:
    return mish_backward(grad, input)


def _halves() -> Iterator[Sample]:
    yield Sample((Array((3, 4)),))
    yield Sample((Array((4, 3), layout="transposed"), 0))
    yield Sample((Array((2, 6), layout="strided"), -1))
    yield Sample((Array((0, 2)),))


def _no_halves() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2,), dtype="int64"),), DtypeError, "operands must be floating point, got int64")
    yield ErrorSample((Array((2, 3)),), ShapeError, "Halving dimension must be even, but dimension 1 is size 3")
    yield ErrorSample((Array(()),), ShapeError, "does not support scalars")
    yield ErrorSample((Array((2, 4)), 2), IndexRangeError, r"range of \[-2, 1\], but got 2")


@composite(samples=_halves, errors=_no_halves, dtypes=dtypes.FLOATING_TYPES, method=False, function=False)
def glu(input: Operand, dim: int = -1) -> Any:
    """The first half along `dim` times the sigmoid of the second.

    Shapes: as the input's, with half its size along dim.
    Host:   returns at once.
    Raises: ShapeError for an odd size or a scalar, IndexRangeError for a bad dim, DtypeError for integers.
    Example:
        >>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 100.0]))
        tensor([0.5000, 2.0000])
    """
    if not input.shape:
        raise ShapeError("glu does not support scalars", hint="the input needs a dimension to halve", operator="glu")
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"operands must be floating point, got {input.dtype.name}", hint="convert with .float()", operator="glu"
        )
    at = wrap_dim(dim, len(input.shape), "glu")
    size = input.shape[at]
    if size % 2:
        raise ShapeError(
            f"Halving dimension must be even, but dimension {at} is size {size}: the input has shape "
            f"{list(input.shape)}",
            hint="both halves need the same size",
            operator="glu",
        )
    narrow = REGISTRY["narrow"]
    return narrow(input, at, 0, size // 2) * sigmoid(narrow(input, at, size // 2, size // 2))

"""Activation functions and their gradients.  Each gradient is one launch, and is itself differentiable."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from math import sqrt as root
from typing import Any

from .. import dtypes
from ..errors import ArgumentError, DtypeError, IndexRangeError, ShapeError, ValueRangeError
from ..host import CLIPPED, np, special
from ..library_operation import GELU_CUBIC, ROOT_2_OVER_PI, gelu_tanh_of, gelu_tanh_term
from ..strides import wrap_dim
from .arithmetic import abs as absolute
from .compare import where
from .elementary import exp, floating_function, numeric_function
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, Value, composite, operator
from .pointwise import Pointwise, floating_only, numbers, numpy_type, pointwise, promoted
from .samples import NUMERIC_TYPES, no_floats, one_bool, singles

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
    """Return the gradient of tanh, computed from its result."""
    return upstream * (1 - result * result)


@tanh_backward.derivative
def _(grad: Any, upstream: Any, result: Any, needs: Any) -> Any:
    return tanh_backward(grad, result), grad * upstream * result * -2 if needs[1] else None


@floating_function("tanh(input)")
def tanh(input: Operand) -> Any:
    """Compute the hyperbolic tangent.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
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
    """Return the gradient of sigmoid, computed from its result."""
    return upstream * (result * (1 - result))


@sigmoid_backward.derivative
def _(grad: Any, upstream: Any, result: Any, needs: Any) -> Any:
    return sigmoid_backward(grad, result), grad * upstream * (1 - result * 2) if needs[1] else None


def sigmoid_of(x: Any) -> Any:
    """Compute 1 / (1 + exp(-x)) of an array."""
    return 1 / (1 + np.exp(-x))


@floating_function("sigmoid_of(input)")
def sigmoid(input: Operand) -> Any:
    """Compute the logistic sigmoid, 1 / (1 + exp(-x)).

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
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
    """Return the gradient of relu, computed from its result: 0 where the result is 0."""
    return np.where(np.less_equal(result, 0), 0, upstream)


@relu_backward.derivative
def _(grad: Any, result: Any) -> Any:
    return relu_backward(grad, result), None


_zeros: dict[Any, Any] = {}  # by NumPy type, a zero-dimensional array: NumPy would convert a Python 0 in every call


@numeric_function("is_nan(input) || input > 0 ? input : 0")
def relu(input: Operand) -> Any:
    """Compute the rectified linear unit, max(x, 0); NaN is unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.relu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    array: Any = input
    zero = _zeros.get(array.dtype)
    if zero is None:
        zero = _zeros[array.dtype] = np.zeros((), array.dtype)
    if array.size >= CLIPPED and array.dtype.kind == "f":
        return np.clip(array, zero, array.dtype.type(np.inf))
    return np.maximum(array, zero)


@relu.derivative
def _(grad: Any, out: Any) -> Any:
    return relu_backward(grad, out)


@backward("upstream * silu_slope(input)")
def silu_backward(upstream: Operand, input: Operand) -> Any:
    """Return the gradient of silu."""
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
    """Compute x * sigmoid(x).

    Shapes: same as the input.
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
    """Return the gradient of gelu."""
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
    """Return the gradient of gelu's tanh approximation."""
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
    """Compute `gelu` with approximate="tanh"."""
    return gelu_tanh_of(input)


class Gelu(Pointwise):
    """The operator `gelu`, with one kernel for each approximation."""

    def lower(self, call: Any, input: Any, approximate: str = "none") -> Any:
        if approximate not in ("none", "tanh"):
            raise ValueRangeError(
                f"approximate={approximate!r} is unknown", hint="use 'none' or 'tanh'", operator="gelu"
            )
        return gelu_tanh.lower(call, input) if approximate == "tanh" else super().lower(call, input)


def _gelus() -> Iterator[Sample]:
    for approximate in ("none", "tanh"):
        for sample in singles():
            yield Sample(sample.args, {"approximate": approximate})


def _wrong_gelus() -> Iterator[ErrorSample]:
    yield from no_floats()
    yield ErrorSample((Array((3,)), "exact"), ArgumentError, "gelu: approximate='exact' is unknown")


def _gelu(input: Operand, approximate: str = "none") -> Any:
    """Compute x * F(x), where F is the cumulative distribution function of the standard normal distribution.

    approximate: "none", or "tanh" for a cheaper approximation.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentError for any other approximation; DtypeError for integers.
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
    """Compute x - tanh(x).

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.nn.functional.tanhshrink(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


@composite(samples=singles, dtypes=dtypes.ALL[1:], method=False, function=False)
def softsign(input: Operand) -> Any:
    """Compute x / (1 + |x|).

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
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
    """Return the gradient of softplus."""
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
    """Compute log(1 + exp(beta x)) / beta, and x where beta x exceeds the threshold.

    Shapes: same as the input.
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
    """Return the gradient of logsigmoid."""
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
    """Compute the logarithm of 1 / (1 + exp(-x)).

    Shapes: same as the input.
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
    """Return the gradient of mish."""
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
    """Compute x * tanh(log(1 + exp(x))).

    Shapes: same as the input.
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


def _gates() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))


@pointwise(
    dtype=promoted, cuda="input * sigmoid_of(gate)", samples=_gates, dtypes=dtypes.FLOATING_TYPES, cost=10.0,
    inplace=False, method=False, function=False,
)  # fmt: skip
def gated(input: Operand, gate: Operand) -> Any:
    """Return the elements of `glu`: input * sigmoid(gate)."""
    return input * sigmoid_of(gate)


@gated.derivative
def _(grad: Any, input: Any, gate: Any, needs: Any) -> Any:
    opened = sigmoid(gate)
    return grad * opened if needs[0] else None, sigmoid_backward(grad * input, opened) if needs[1] else None


@composite(samples=_halves, errors=_no_halves, dtypes=dtypes.FLOATING_TYPES, method=False, function=False)
def glu(input: Operand, dim: int = -1) -> Any:
    """Return the first half of the input along `dim` times the sigmoid of the second half.

    Shapes: as the input's, with half its size along dim.
    Host:   returns at once.
    Raises: ShapeError for an odd size or a scalar, IndexRangeError for a bad dim, DtypeError for integers.
    Example:
        >>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 100.0]))
        tensor([0.5000, 2.0000])
    """
    if not input.shape:
        raise ShapeError(
            "glu does not support scalars",
            hint="pass an input with at least one dimension, which glu halves",
            operator="glu",
        )
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
            hint="choose a dimension of even size",
            operator="glu",
        )
    narrow = REGISTRY["narrow"]
    return gated(narrow(input, at, 0, size // 2), narrow(input, at, size // 2, size // 2))


SIGNED_TYPES = tuple(dtype for dtype in NUMERIC_TYPES if dtype.is_signed)

# functions with a nonzero slope below 0


def _slope_samples() -> Iterator[Sample]:
    for sample in slopes():
        yield Sample((*sample.args, 0.25))
    yield Sample((Array((2, 3)), Array((2, 3), seed=1), Array((1, 3), 0.1, 0.9, seed=2)))


@backward("input > 0 ? upstream : upstream * negative_slope", samples=_slope_samples, factor="negative_slope")
def leaky_relu_backward(upstream: Operand, input: Operand, negative_slope: Value) -> Any:
    """Return the gradient of leaky_relu."""
    array: Any = upstream
    return np.where(np.greater(input, 0), array, array * negative_slope)


@leaky_relu_backward.derivative(only_for={"upstream": "negative_slope"})
def _(grad: Any, upstream: Any, input: Any, negative_slope: Any, needs: Any) -> Any:
    by_slope = where(input > 0, 0, grad * upstream) if needs[2] else None
    return leaky_relu_backward(grad, input, negative_slope), None, by_slope


def _leaks() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 0.25))
    yield Sample((Array((2, 3, 4)), Array((3, 1), 0.1, 0.9, seed=1)))


def _no_leak() -> Iterator[ErrorSample]:
    yield from no_floats()
    yield ErrorSample((Array((3, 4)), Array((3,))), ShapeError, r"shapes \[3, 4\] and \[3\] do not broadcast")


@activation("input > 0 ? input : input * negative_slope", 2.0, samples=_leaks, errors=_no_leak, factor="negative_slope")
def leaky_relu(input: Operand, negative_slope: Value = 0.01) -> Any:
    """Return x where it is positive, else x * negative_slope.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers, ShapeError if negative_slope is a tensor that does not broadcast to the input.
    Example:
        >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    array: Any = input
    if np.ndim(negative_slope) == 0 and 0 < negative_slope <= 1:  # faster than where; infinity * 0 is NaN
        return np.maximum(array, array * negative_slope)
    return np.where(array > 0, array, array * negative_slope)


@leaky_relu.derivative
def _(grad: Any, input: Any, negative_slope: Any, needs: Any) -> Any:
    by_slope = where(input > 0, 0, grad * input) if needs[1] else None
    return leaky_relu_backward(grad, input, negative_slope), by_slope


def _channels() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((1,), 0.1, 0.9, seed=1)))
    yield Sample((Array((2, 3, 4)), Array((3,), 0.1, 0.9, seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((3,), 0.1, 0.9, seed=1)))
    yield Sample((Array((2, 3), layout="strided"), Array((), 0.1, 0.9, seed=1)))
    yield Sample((Array((0, 3)), Array((3,), 0.1, 0.9, seed=1)))


def _wrong_channels() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), Array((2,))), ShapeError, "weight has 2 elements, the input has 3 channels")
    yield ErrorSample((Array((2, 3)), Array((1, 3))), ShapeError, r"0 or 1 dimensions, got shape \[1, 3\]")
    yield ErrorSample((Array((2,)), Array((1,), dtype="float64")), DtypeError, "got float32 and float64")


@composite(samples=_channels, errors=_wrong_channels, dtypes=dtypes.FLOATING_TYPES)
def prelu(input: Operand, weight: Operand) -> Any:
    """Return each element x where it is positive, else x * weight, with one weight for all or for each channel.

    The channels are dimension 1.

    Shapes: weight [channels], [1] or []; the result has the input's shape.
    Host:   returns at once.
    Raises: DtypeError if the types differ, ShapeError for a wrong number of weights.
    Example:
        >>> torch.prelu(torch.tensor([[-1.0, -1.0]]), torch.tensor([0.1, 0.5]))
        tensor([[-0.1000, -0.5000]])
    """
    if input.dtype is not weight.dtype:
        raise DtypeError(
            f"input and weight must have the same type, got {input.dtype.name} and {weight.dtype.name}",
            hint=f"convert one, as in weight.to(torch.{input.dtype.name})",
            operator="prelu",
        )
    if len(weight.shape) > 1:
        raise ShapeError(
            f"weight must have 0 or 1 dimensions, got shape {list(weight.shape)}",
            hint="flatten it with reshape(-1)",
            operator="prelu",
        )
    if weight.numel() == 1:
        return leaky_relu(input, weight.reshape(()))
    channels = input.shape[1] if len(input.shape) > 1 else 1
    if weight.numel() != channels:
        raise ShapeError(
            f"weight has {weight.numel()} elements, the input has {channels} channels: Mismatch of parameter numbers "
            f"and input channel size; its shape is {list(input.shape)}",
            hint="pass one weight, or one for each channel: channels are dimension 1 of the input",
            operator="prelu",
        )
    return leaky_relu(input, weight.reshape((channels, *[1] * (len(input.shape) - 2))))


def _random_leaks() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 0.1, 0.3, True))


def _wrong_leaks() -> Iterator[ErrorSample]:
    yield from no_floats()
    yield ErrorSample((Array((3,)), 0.5, 0.25), ValueRangeError, "lower must not exceed upper, got 0.5 and 0.25")


@composite(samples=_random_leaks, errors=_wrong_leaks, dtypes=dtypes.FLOATING_TYPES, method=False)
def rrelu(
    input: Operand, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """Keep positive values, and multiply the others by a slope.

    training: the slope of each value is random in [lower, upper); otherwise, it is (lower + upper) / 2.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers; ValueRangeError if lower exceeds upper.
    Example:
        >>> torch.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    return leaky_relu(input, random_slope(input, lower, upper, training, generator))


def random_slope(input: Any, lower: float, upper: float, training: bool, generator: Any) -> Any:
    """Return the slope of `rrelu`: a tensor in training, else a number.

    Raises: ValueRangeError if lower exceeds upper.
    """
    if not lower <= upper:
        raise ValueRangeError(
            f"lower must not exceed upper, got {lower} and {upper}",
            hint="Lower bound should be less than or equal to the upper bound",
            operator="rrelu",
        )
    return REGISTRY["uniform"](input, lower, upper, generator) if training else (lower + upper) / 2


def _curves() -> Iterator[Sample]:
    for sample in slopes():
        upstream, input = sample.args
        yield Sample((upstream, input, 1.5, 1.25, 0.5))


@backward(
    "input <= 0 ? upstream * (input_scale * alpha * scale * exp(input * input_scale)) : upstream * scale",
    samples=_curves,
)
def elu_backward(upstream: Operand, input: Operand, alpha: float, scale: float, input_scale: float) -> Any:
    """Return the gradient of elu."""
    bend = input_scale * alpha * scale * np.exp(np.minimum(input, 0) * input_scale)
    return upstream * np.where(np.less_equal(input, 0), bend, scale)


@elu_backward.derivative
def _(grad: Any, upstream: Any, input: Any, alpha: Any, scale: Any, input_scale: Any, needs: Any) -> Any:
    by_input = None
    if needs[1]:
        bend = exp(input * input_scale) * (input_scale * input_scale * alpha * scale)
        by_input = where(input >= 0, 0, grad * upstream * bend)
    return elu_backward(grad, input, alpha, scale, input_scale), by_input


def _elus() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 1.5, 1.25, 0.5))


@activation("input > 0 ? input * scale : expm1(input * input_scale) * (alpha * scale)", 10.0, samples=_elus)
def elu(input: Operand, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    """Return x where it is positive, else alpha * (exp(x) - 1).

    scale: a factor of the result;  input_scale: a factor of x where it is negative.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    array: Any = input
    bend = np.expm1(np.minimum(array, 0) * input_scale) * (alpha * scale)
    return np.where(array > 0, array * scale, bend)


@elu.derivative
def _(grad: Any, input: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    return elu_backward(grad, input, alpha, scale, input_scale)


def _celus() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 0.5))


def _no_celus() -> Iterator[ErrorSample]:
    yield from no_floats()
    yield ErrorSample((Array((3,)), 0), ValueRangeError, "alpha cannot be 0")


@operator(samples=_celus, errors=_no_celus, dtypes=dtypes.FLOATING_TYPES, method=False)
def celu(call: Call, input: Operand, alpha: float = 1.0) -> Any:
    """Return x where it is positive, else alpha * (exp(x / alpha) - 1).

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers; ValueRangeError if alpha is 0.
    Example:
        >>> torch.celu(torch.tensor([-1.0, 2.0]), 0.5)
        tensor([-0.4323,  2.0000])
    """
    if alpha == 0:
        raise ValueRangeError("alpha cannot be 0", hint="pass another number: 1.0 is the default", operator="celu")
    return elu.lower(call, input, alpha, 1.0, 1.0 / alpha)


@celu.derivative
def _(grad: Any, input: Any, alpha: Any) -> Any:
    return elu_backward(grad, input, alpha, 1.0, 1.0 / alpha)


# Klambauer et al., "Self-Normalizing Neural Networks" (2017): a mean of 0 and a variance of 1 are kept
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@operator(samples=singles, errors=no_floats, dtypes=dtypes.FLOATING_TYPES, method=False)
def selu(call: Call, input: Operand) -> Any:
    """Compute 1.0507 x where x is positive, else 1.7581 * (exp(x) - 1): the activation of self-normalizing networks.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.selu(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return elu.lower(call, input, SELU_ALPHA, SELU_SCALE, 1.0)


@selu.derivative
def _(grad: Any, input: Any) -> Any:
    return elu_backward(grad, input, SELU_ALPHA, SELU_SCALE, 1.0)


# bounded functions, and those that are 0 around 0


def _bounded_slopes() -> Iterator[Sample]:
    for sample in slopes():
        yield Sample((*sample.args, -1.0, 0.75))


@backward("input <= min_val || input >= max_val ? 0 : upstream", samples=_bounded_slopes)
def hardtanh_backward(upstream: Operand, input: Operand, min_val: float, max_val: float) -> Any:
    """Return the gradient of hardtanh: 0 at the bounds and beyond.  For NaN it is passed through."""
    return np.where(np.less_equal(input, min_val) | np.greater_equal(input, max_val), 0, upstream)


@hardtanh_backward.derivative
def _(grad: Any, input: Any, min_val: Any, max_val: Any) -> Any:
    return hardtanh_backward(grad, input, min_val, max_val), None


def _bounds() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), -1, 1))
    yield Sample((Array((3, 4)), 0, 1.5))


def _wrong_bounds() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="bool"),), DtypeError, "bool operands are not supported")
    yield ErrorSample((Array((3,)), 1, -1), ArgumentError, "min_val cannot be greater than max_val, got 1 and -1")
    yield ErrorSample((Array((3,), dtype="uint8"), -1, 1), DtypeError, "min_val must not be negative for uint8, got -1")


class Hardtanh(Pointwise):
    """The operator `hardtanh`, which checks its bounds."""

    def lower(self, call: Any, input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> Any:
        if min_val > max_val:
            raise ArgumentError(
                f"min_val cannot be greater than max_val, got {min_val} and {max_val}",
                hint="exchange them",
                operator="hardtanh",
            )
        if not input.dtype.is_signed and input.dtype is not dtypes.bool_ and min_val < 0:
            raise DtypeError(
                f"min_val must not be negative for {input.dtype.name}, got {min_val}",
                hint="pass 0",
                operator="hardtanh",
            )
        return super().lower(call, input, min_val, max_val)


def _hardtanh(input: Operand, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Limit x to [min_val, max_val].  NaN is unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentError if min_val is above max_val, DtypeError for bool.
    Example:
        >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    return np.minimum(np.maximum(input, min_val), max_val)


hardtanh = Hardtanh(
    _hardtanh, numbers, "smaller(larger(input, min_val), max_val)", 2.0, samples=_bounds, errors=_wrong_bounds,
    dtypes=SIGNED_TYPES, method=False, function=False, name="hardtanh",
)  # fmt: skip


@hardtanh.derivative
def _(grad: Any, input: Any, min_val: Any, max_val: Any) -> Any:
    return hardtanh_backward(grad, input, min_val, max_val)


@operator(samples=singles, errors=one_bool, dtypes=NUMERIC_TYPES, method=False, function=False)
def relu6(call: Call, input: Operand) -> Any:
    """Limit x to [0, 6].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.nn.functional.relu6(torch.tensor([-2.0, 0.5, 8.0]))
        tensor([0.0000, 0.5000, 6.0000])
    """
    return hardtanh.lower(call, input, 0.0, 6.0)


@relu6.derivative
def _(grad: Any, input: Any) -> Any:
    return hardtanh_backward(grad, input, 0.0, 6.0)


@activation("smaller(larger(input + 3, (decltype(input))0), (decltype(input))6) / 6")
def hardsigmoid(input: Operand) -> Any:
    """Return (x + 3) / 6 limited to [0, 1].

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return np.minimum(np.maximum(input + 3, 0), 6) / 6


@hardsigmoid.derivative
def _(grad: Any, input: Any) -> Any:
    slope = hardtanh_backward(grad * (1 / 6), input, -3.0, 3.0)
    return where(input == input, slope, 0)  # unlike masked_fill, preserves the memory format


@backward("input <= -3 ? 0 : input < 3 ? upstream * (input / 3 + (decltype(input))0.5) : upstream")
def hardswish_backward(upstream: Operand, input: Operand) -> Any:
    """Return the gradient of hardswish."""
    array: Any = input
    slope = np.where(array < 3, array / 3 + numpy_type(array).type(0.5), 1)
    return upstream * np.where(array <= -3, 0, slope)


@hardswish_backward.derivative
def _(grad: Any, upstream: Any, input: Any, needs: Any) -> Any:
    by_input = hardtanh_backward(grad * upstream * (1 / 3), input, -3.0, 3.0) if needs[1] else None
    return hardswish_backward(grad, input), by_input


@activation("input * smaller(larger(input + 3, (decltype(input))0), (decltype(input))6) / 6")
def hardswish(input: Operand) -> Any:
    """Compute x * (x + 3) / 6 between -3 and 3, 0 below and x above.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.nn.functional.hardswish(torch.tensor([-1.0, 1.0, 4.0]))
        tensor([-0.3333,  0.6667,  4.0000])
    """
    return input * np.minimum(np.maximum(input + 3, 0), 6) / 6


@hardswish.derivative
def _(grad: Any, input: Any) -> Any:
    return hardswish_backward(grad, input)


def _outer_slopes() -> Iterator[Sample]:
    for sample in slopes():
        yield Sample((*sample.args, 0.5))


@backward("input >= -lambd && input <= lambd ? 0 : upstream", samples=_outer_slopes, rounds=("lambd",))
def shrink_backward(upstream: Operand, input: Operand, lambd: float) -> Any:
    """Return the gradient of hardshrink and softshrink: 0 from -lambd to lambd."""
    return np.where(np.less_equal(np.abs(input), lambd), 0, upstream)


@shrink_backward.derivative
def _(grad: Any, input: Any, lambd: Any) -> Any:
    return shrink_backward(grad, input, lambd), None


def _shrinks() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 0.75))


@activation(
    "input >= -lambd && input <= lambd ? 0 : input", 2.0, samples=_shrinks, function=True, method=True,
    rounds=("lambd",),
)  # fmt: skip
def hardshrink(input: Operand, lambd: float = 0.5) -> Any:
    """Replace the elements in [-lambd, lambd] by 0; the others are unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.hardshrink(torch.tensor([-1.0, 0.25, 2.0]))
        tensor([-1.,  0.,  2.])
    """
    return np.where(np.less_equal(np.abs(input), lambd), 0, input)


@hardshrink.derivative
def _(grad: Any, input: Any, lambd: Any) -> Any:
    return shrink_backward(grad, input, lambd)


class Softshrink(Pointwise):
    """The operator `softshrink`, which checks its bound."""

    def lower(self, call: Any, input: Any, lambd: Any = 0.5) -> Any:
        if not lambd >= 0:
            raise ValueRangeError(
                f"lambda must not be negative, got lambd={lambd}", hint="pass 0 or more", operator="softshrink"
            )
        return super().lower(call, input, lambd)


def _wrong_shrinks() -> Iterator[ErrorSample]:
    yield from no_floats()
    yield ErrorSample((Array((3,)), -1.0), ValueRangeError, "lambda must not be negative, got lambd=-1.0")


def _softshrink(input: Operand, lambd: float = 0.5) -> Any:
    """Compute x - lambd above lambd, x + lambd below -lambd, else 0.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers, ValueRangeError for a negative lambd.
    Example:
        >>> torch.nn.functional.softshrink(torch.tensor([-1.0, 0.25, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """
    array: Any = input
    return np.where(array > lambd, array - lambd, np.where(array < -lambd, array + lambd, array * 0))


softshrink = Softshrink(
    _softshrink, floating_only, "input > lambd ? input - lambd : input < -lambd ? input + lambd : input * 0", 3.0,
    samples=_shrinks, errors=_wrong_shrinks, dtypes=dtypes.FLOATING_TYPES, method=False, function=False,
    name="softshrink",
)  # fmt: skip


@softshrink.derivative
def _(grad: Any, input: Any, lambd: Any) -> Any:
    return shrink_backward(grad, input, lambd)


def _threshold_slopes() -> Iterator[Sample]:
    for sample in slopes():
        yield Sample((*sample.args, 0.25))


@backward("input <= threshold ? 0 : upstream", samples=_threshold_slopes)
def threshold_backward(upstream: Operand, input: Operand, threshold: float) -> Any:
    """Return the gradient of threshold."""
    return np.where(np.less_equal(input, threshold), 0, upstream)


@threshold_backward.derivative
def _(grad: Any, input: Any, threshold: Any) -> Any:
    return threshold_backward(grad, input, threshold), None


def _thresholds() -> Iterator[Sample]:
    return (Sample((*sample.args, 1, 3)) for sample in singles())


def _bool_threshold() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="bool"), 0, 1), DtypeError, "bool operands are not supported")


@pointwise(
    dtype=numbers, cuda="input <= threshold ? value : input", samples=_thresholds, errors=_bool_threshold,
    dtypes=NUMERIC_TYPES, inplace=False, method=False,
)  # fmt: skip
def threshold(input: Operand, threshold: float, value: float) -> Any:
    """Return x where it exceeds the threshold, else `value`; NaN is unchanged.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.threshold(torch.tensor([-1.0, 0.5, 2.0]), 0.5, 7.0)
        tensor([7., 7., 2.])
    """
    return np.where(np.less_equal(input, threshold), value, input)


@threshold.derivative
def _(grad: Any, input: Any, threshold: Any) -> Any:
    return threshold_backward(grad, input, threshold)

"""Activations as modules."""

from __future__ import annotations

from typing import Any

from .. import callers
from ..errors import ArgumentError, naming
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init as initial
from .module import Layer
from .parameter import Parameter


class ReLU(Layer):
    """Apply ReLU elementwise: max(x, 0).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for a bool input, AutogradError if inplace and the input is a leaf that requires a
            gradient.
    Example:
        >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Hardtanh(Layer):
    """Apply hard tanh elementwise: x limited to [min_val, max_val].

    inplace: overwrite the input.
    min_value, max_value: former names of the bounds, which give a FutureWarning.
    Shapes: the result has the input's shape.
    Raises: ArgumentError unless min_val is below max_val, ArgumentTypeError for a bound that is not a number; in
            forward, DtypeError for a bool input.
    Example:
        >>> torch.nn.Hardtanh()(torch.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for former, given in (("min_value", min_value), ("max_value", max_value)):
            if given is not None:
                name = f"{former[:3]}_val"
                callers.warn(f"Hardtanh: {former} is deprecated and renamed to {name}", FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        checks.number(self._get_name(), "min_val", self.min_val)
        checks.number(self._get_name(), "max_val", self.max_val)
        if not self.max_val > self.min_val:
            raise ArgumentError(
                f"min_val must be below max_val, got {self.min_val} and {self.max_val}",
                hint="exchange them",
                operator=self._get_name(),
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """Apply ReLU6 elementwise: x limited to [0, 6].

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for a bool input, AutogradError if inplace and the input is a leaf that requires a
            gradient.
    Example:
        >>> torch.nn.ReLU6()(torch.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Layer):
    """Apply leaky ReLU elementwise: x where x is positive, else x * negative_slope.

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point, AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class PReLU(Layer):
    """Apply PReLU elementwise: x where x is positive, else x * weight, with learned weights.

    num_parameters: 1 for one weight, or the number of channels for one weight each.

    Shapes: input [*] or [n, num_parameters, *]; result the same; weight [num_parameters], which starts at `init`.
    Raises: ArgumentTypeError, ValueRangeError for a num_parameters that is not an int or is negative; in forward,
            ShapeError if the input has another number of channels, DtypeError if input and weight differ in dtype.
    Example:
        >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0])).detach()
        tensor([-0.2500,  2.0000])
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        checks.count("PReLU", "num_parameters", num_parameters)
        self.num_parameters = num_parameters
        self.init = init
        with naming("PReLU"):
            self.weight = Parameter(factories.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every weight to `init`, the argument of the constructor.

        Example:
            >>> layer = torch.nn.PReLU(2)
            >>> _ = torch.nn.init.zeros_(layer.weight)
            >>> layer.reset_parameters()
            >>> layer.weight.detach()
            tensor([0.2500, 0.2500])
        """
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Layer):
    """Apply randomized leaky ReLU elementwise: keep positive values, and multiply the others by a random slope.

    In training, the slope of each value is random in [lower, upper); in evaluation, it is (lower + upper) / 2.
    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: in forward, ValueRangeError if lower exceeds upper, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-1.0, 2.0]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class ELU(Layer):
    """Apply ELU elementwise: x where x is positive, else alpha * (exp(x) - 1).

    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point, AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.ELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Layer):
    """Apply CELU elementwise: x where x is positive, else alpha * (exp(x / alpha) - 1).

    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: in forward, ValueRangeError if alpha is 0, DtypeError for an input that is not floating point, AutogradError
            if inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.CELU(0.5)(torch.tensor([-1.0, 2.0]))
        tensor([-0.4323,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class SELU(Layer):
    """Apply SELU elementwise: 1.0507 * x where x is positive, else 1.7581 * (exp(x) - 1).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point, AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.SELU()(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Threshold(Layer):
    """Keep elements that exceed `threshold`, and replace the others by `value`.

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for a bool input, AutogradError if inplace and the input is a leaf that requires a
            gradient.
    Example:
        >>> torch.nn.Threshold(0.5, 7.0)(torch.tensor([-1.0, 2.0]))
        tensor([7., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Hardshrink(Layer):
    """Apply hard shrinkage elementwise: 0 where x is in [-lambd, lambd], else x.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.Hardshrink()(torch.tensor([-1.0, 0.25]))
        tensor([-1.,  0.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Layer):
    """Apply soft shrinkage elementwise: x moved towards 0 by lambd, or 0 where x is in [-lambd, lambd].

    Shapes: the result has the input's shape.
    Raises: in forward, ValueRangeError for a negative lambd, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.Softshrink()(torch.tensor([-1.0, 0.25]))
        tensor([-0.5000,  0.0000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Tanhshrink(Layer):
    """Compute x - tanh(x) elementwise.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for a bool input.
    Example:
        >>> torch.nn.Tanhshrink()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Hardsigmoid(Layer):
    """Apply hard sigmoid elementwise: (x + 3) / 6, limited to [0, 1].

    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point, AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.Hardsigmoid()(torch.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Layer):
    """Apply hard swish elementwise: x * hardsigmoid(x), where hardsigmoid(x) is (x + 3) / 6, limited to [0, 1].

    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point, AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.Hardswish()(torch.tensor([-1.0, 1.0]))
        tensor([-0.3333,  0.6667])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class SiLU(Layer):
    """Apply SiLU elementwise: x * sigmoid(x).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point, AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.SiLU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Mish(Layer):
    """Apply Mish elementwise: x * tanh(softplus(x)), where softplus(x) is log(1 + exp(x)).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point, AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.Mish()(torch.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class GELU(Layer):
    """Apply GELU elementwise: x times the cumulative distribution function of the standard normal distribution at x.

    approximate: "none", or "tanh" for a faster approximation.
    Shapes: the result has the input's shape.
    Raises: in forward, ValueRangeError for another value of approximate, DtypeError for an input that is not floating
            point.
    Example:
        >>> torch.nn.GELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Tanh(Layer):
    """Compute the hyperbolic tangent elementwise.

    Shapes: the result has the input's shape.
    Raises: in forward, ArgumentTypeError for an input that is not a tensor.
    Example:
        >>> torch.nn.Tanh()(torch.tensor([-1.0, 0.0]))
        tensor([-0.7616,  0.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(Layer):
    """Apply the sigmoid elementwise: 1 / (1 + exp(-x)).

    Shapes: the result has the input's shape.
    Raises: in forward, ArgumentTypeError for an input that is not a tensor.
    Example:
        >>> torch.nn.Sigmoid()(torch.tensor([-1.0, 0.0]))
        tensor([0.2689, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LogSigmoid(Layer):
    """Compute the logarithm of the sigmoid elementwise: log(1 / (1 + exp(-x))).

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.LogSigmoid()(torch.tensor([-1.0, 0.0]))
        tensor([-1.3133, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Layer):
    """Apply softplus elementwise: log(1 + exp(beta * x)) / beta, or x where beta * x exceeds `threshold`.

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.Softplus()(torch.tensor([-1.0, 30.0]))
        tensor([ 0.3133, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Layer):
    """Apply softsign elementwise: x / (1 + |x|).

    Shapes: the result has the input's shape.
    Raises: in forward, DtypeError for a bool input.
    Example:
        >>> torch.nn.Softsign()(torch.tensor([-3.0, 1.0]))
        tensor([-0.7500,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class GLU(Layer):
    """Multiply the first half of the input along `dim` by the sigmoid of the second half.

    Shapes: [*, n, *] gives [*, n / 2, *]; `dim` is the halved dimension.
    Raises: in forward, ShapeError if the size n is odd or the input has no dimensions, IndexRangeError for a dimension
            out of range, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.GLU()(torch.tensor([1.0, 2.0, 0.0, 100.0]))
        tensor([0.5000, 2.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(Layer):
    """Apply softmax: exp(x) divided by its sum along `dim`.

    dim: None chooses a dimension by the number of dimensions, with a warning.

    Shapes: the result has the input's shape.
    Raises: in forward, IndexRangeError for a dimension out of range, DtypeError for an input that is not floating
            point.
    Example:
        >>> torch.nn.Softmax(dim=0)(torch.tensor([0.0, 0.0, 1.0]))
        tensor([0.2119, 0.2119, 0.5761])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Layer):
    """Compute the logarithm of the softmax along `dim`.

    dim: None chooses a dimension by the number of dimensions, with a warning.

    Shapes: the result has the input's shape.
    Raises: in forward, IndexRangeError for a dimension out of range, DtypeError for an input that is not floating
            point.
    Example:
        >>> torch.nn.LogSoftmax(dim=0)(torch.tensor([0.0, 0.0, 1.0]))
        tensor([-1.5514, -1.5514, -0.5514])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(Layer):
    """Apply softmin: the softmax of -x along `dim`.

    dim: None chooses a dimension by the number of dimensions, with a warning.

    Shapes: the result has the input's shape.
    Raises: in forward, IndexRangeError for a dimension out of range, DtypeError for an input that is not floating
            point.
    Example:
        >>> torch.nn.Softmin(dim=0)(torch.tensor([0.0, 0.0, -1.0]))
        tensor([0.2119, 0.2119, 0.5761])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Layer):
    """Apply softmax over the channels of images, [n, c, h, w] or [c, h, w].

    Shapes: the result has the input's shape.
    Raises: in forward, ArgumentError for a wrong number of dimensions, DtypeError for an input that is not floating
            point.
    Example:
        >>> torch.nn.Softmax2d()(torch.tensor([[[0.0]], [[0.0]]])).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        checks.tensor("Softmax2d", "input", input)
        if input.ndim not in (3, 4):
            raise ArgumentError(
                f"expected input to be 3D or 4D, got shape {list(input.shape)}",
                hint="its shape is [n, c, h, w] or [c, h, w]",
                operator="Softmax2d",
            )
        return F.softmax(input, -3)

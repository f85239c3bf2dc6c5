"""Initialization of parameters: each function fills its tensor in place without autograd and returns it.

fan_in and fan_out: in * prod(kernel) and out * prod(kernel) of a layer's weight [out, in, *kernel].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import callers
from ..autograd.mode import GradMode
from ..errors import ArgumentError, ValueRangeError, naming, shown
from ..errors import no_attribute as _no_attribute
from ..importer import listing
from ..ops.operator import REGISTRY
from ..tensor import checks
from ..tensor.like_factories import empty_like
from ..tensor.meta import is_meta
from ..tensor.random import randperm

LINEAR = ("linear", "sigmoid", *(f"conv{infix}{dims}d" for infix in ("", "_transpose") for dims in (1, 2, 3)))
LEAKY_SLOPE = 0.01
REDRAWN_SHARE = 0.3  # probability within the bounds above which `trunc_normal_` redraws the values outside


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor of a weight's standard deviation that preserves the variance through a nonlinearity.

    nonlinearity: "relu", "leaky_relu", "tanh", "sigmoid", "selu", "linear" or a convolution such as "conv2d".
    param: the negative slope of leaky_relu, 0.01 if None.

    Raises: ArgumentError for an unknown nonlinearity, or a param of leaky_relu that is not a number.
    Example:
        >>> torch.nn.init.calculate_gain("tanh")
        1.6666666666666667
    """
    if nonlinearity in LINEAR:
        return 1
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ArgumentError(
                f"negative_slope {shown(param)} not a valid number",
                hint=f"pass a number such as {LEAKY_SLOPE}",
                operator="calculate_gain",
            )
        return math.sqrt(2.0 / (1 + (LEAKY_SLOPE if param is None else param) ** 2))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if not isinstance(nonlinearity, str) or nonlinearity not in gains:
        known = ", ".join((*LINEAR[:2], "leaky_relu", *gains))
        raise ArgumentError(
            f"Unsupported nonlinearity {nonlinearity}",
            hint=f"use one of {known}, or a convolution",
            operator="calculate_gain",
        )
    return gains[nonlinearity]


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill a tensor with random values, uniformly distributed over [a, b).

    Shapes: any; the tensor itself is returned.
    Raises: ValueRangeError if a exceeds b, DtypeError for a tensor that is not floating point, ArgumentTypeError for
            arguments of a wrong type.
    Example:
        >>> weight = torch.nn.init.uniform_(torch.empty(3), -1.0, 1.0)
        >>> bool((weight >= -1).all() and (weight <= 1).all())
        True
    """
    checks.tensor("uniform_", "tensor", tensor)
    with GradMode(False), naming("uniform_"):
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill a tensor with normally distributed random values of this mean and standard deviation `std`.

    Shapes: any; the tensor itself is returned.
    Raises: ValueRangeError for a negative std, DtypeError for a tensor that is not floating point, ArgumentTypeError
            for arguments of a wrong type.
    Example:
        >>> torch.nn.init.normal_(torch.empty(2, 3), std=0.02).shape
        torch.Size([2, 3])
    """
    checks.tensor("normal_", "tensor", tensor)
    with GradMode(False), naming("normal_"):
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Fill a tensor with normally distributed values in [a, b]; values outside are drawn again.

    mean, std: the mean and standard deviation of the normal distribution, before values outside are drawn again.

    Shapes: any; the tensor itself is returned.
    Host:   if the tensor is on a GPU, waits to check which values lie outside.
    Raises: ValueRangeError if a exceeds b, ArgumentError if std is 0, DtypeError for a tensor that is not floating
            point, ArgumentTypeError for arguments of a wrong type.
    Example:
        >>> w = torch.nn.init.trunc_normal_(torch.empty(100), std=0.02, a=-0.04, b=0.04)
        >>> bool((w.abs() <= 0.04).all())
        True
    """
    checks.tensor("trunc_normal_", "tensor", tensor)
    if is_meta(tensor):  # the rest reads values
        return tensor
    for name, value in (("mean", mean), ("std", std), ("a", a), ("b", b)):
        checks.number("trunc_normal_", name, value)
    if std == 0:
        raise ArgumentError(
            "std must not be 0",
            hint="pass a positive std; constant_ fills a tensor with one value",
            operator="trunc_normal_",
        )
    if mean < a - 2 * std or mean > b + 2 * std:
        callers.warn(
            f"mean {mean} is more than 2 std ({std}) from [{a}, {b}] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect."
        )
    low, high = (math.erf((bound - mean) / std / math.sqrt(2.0)) for bound in (a, b))
    with GradMode(False), naming("trunc_normal_"):
        if (high - low) / 2 > REDRAWN_SHARE:
            return _redrawn(tensor, mean, std, a, b, generator)
        return _rejected(tensor, mean, std, a, b, generator)


def _redrawn(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Draw normal values; draw those outside the bounds again."""
    low, high = tensor.new_tensor(a, device="cpu").item(), tensor.new_tensor(b, device="cpu").item()
    result = tensor.normal_(mean, std, generator=generator)
    while not (~(is_outside := (result < low) | (result > high))).all():  # all() is True where no values are computed
        again = empty_like(result).normal_(mean, std, generator=generator)
        result = REGISTRY["where"](is_outside, again, result)
    return tensor if result is tensor else tensor.copy_(result)


def _rejected(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Draw by rejection: accept a uniform value with probability density / highest density within the bounds."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    result, is_pending = tensor, None
    while is_pending is None or not (~is_pending).all():
        values = empty_like(tensor).uniform_(a, b, generator=generator)
        result = values if is_pending is None else REGISTRY["where"](is_pending, values, result)
        density = values.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        is_above = empty_like(tensor).uniform_(generator=generator).log_() > density
        is_pending = is_above if is_pending is None else is_pending & is_above
    return tensor.copy_(result)


def constant_(tensor: Any, val: float) -> Any:
    """Fill a tensor with one value.

    Shapes: any; the tensor itself is returned.
    Raises: ArgumentTypeError if tensor is not a tensor or val not a number.
    Example:
        >>> torch.nn.init.constant_(torch.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    checks.tensor("constant_", "tensor", tensor)
    with GradMode(False), naming("constant_"):
        return tensor.fill_(val)


def zeros_(tensor: Any) -> Any:
    """Fill a tensor with 0.

    Shapes: any; the tensor itself is returned.
    Raises: ArgumentTypeError if tensor is not a tensor.
    Example:
        >>> torch.nn.init.zeros_(torch.empty(2))
        tensor([0., 0.])
    """
    checks.tensor("zeros_", "tensor", tensor)
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    """Fill a tensor with 1.

    Shapes: any; the tensor itself is returned.
    Raises: ArgumentTypeError if tensor is not a tensor.
    Example:
        >>> torch.nn.init.ones_(torch.empty(2))
        tensor([1., 1.])
    """
    checks.tensor("ones_", "tensor", tensor)
    return constant_(tensor, 1.0)


def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity.

    Shapes: [rows, columns]; the tensor itself is returned.
    Raises: ArgumentError if the tensor is not a matrix, ArgumentTypeError if it is not a tensor.
    Example:
        >>> torch.nn.init.eye_(torch.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    checks.tensor("eye_", "tensor", tensor)
    if tensor.ndim != 2:
        raise ArgumentError(
            f"Only tensors with 2 dimensions are supported, this has {tensor.ndim}: {tensor.describe()}",
            hint="give a matrix",
            operator="eye_",
        )
    rows, columns = tensor.shape
    count = min(rows, columns)
    step = tensor.stride(0) + tensor.stride(1)
    with GradMode(False):
        tensor.zero_()
        if count:
            tensor.as_strided((count,), (step,), tensor.storage_offset()).fill_(1)
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill the weight of a convolution so that the convolution returns its input.

    The weight is 1 at the kernel's center from each channel to itself, else 0.
    groups: the number of groups of output channels, each of which returns the input.
    Shapes: [out, in, *kernel] with one to three dimensions of the kernel.
    Raises: ArgumentError for a wrong number of dimensions, or groups that do not divide `out`; ArgumentTypeError for an
            argument that is not a tensor.
    Example:
        >>> torch.nn.init.dirac_(torch.empty(1, 2, 3))
        tensor([[[0., 1., 0.],
                 [0., 0., 0.]]])
    """
    checks.tensor("dirac_", "tensor", tensor)
    checks.integer("dirac_", "groups", groups)
    if tensor.ndim not in (3, 4, 5):
        raise ArgumentError(
            f"Only tensors with 3, 4, or 5 dimensions are supported, this has {tensor.ndim}: {tensor.describe()}",
            hint="give the weight of a convolution",
            operator="dirac_",
        )
    if groups < 1 or tensor.shape[0] % groups:
        raise ArgumentError(
            f"dim 0 must be divisible by groups, got size {tensor.shape[0]} and groups={groups}",
            hint=f"choose groups among the divisors of {tensor.shape[0]}",
            operator="dirac_",
        )
    with GradMode(False):
        tensor.zero_()
        if tensor.numel():
            middle = tensor[(..., *(size // 2 for size in tensor.shape[2:]))]
            middle.unflatten(0, (groups, -1)).diagonal(0, 1, 2).fill_(1)
    return tensor


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Fill a matrix with normal values, then zero the share `sparsity` of each column (J. Martens, 2010).

    std: the standard deviation of the normal values, whose mean is 0.

    The CPU's default generator chooses the rows to zero in each column.
    Shapes: [rows, columns]; the tensor itself is returned.
    Raises: ArgumentError if the tensor is not a matrix, DtypeError for a tensor that is not floating point,
            ArgumentTypeError for arguments of a wrong type.
    Example:
        >>> (torch.nn.init.sparse_(torch.empty(4, 3), 0.5) == 0).sum(0)
        tensor([2, 2, 2])
    """
    checks.tensor("sparse_", "tensor", tensor)
    checks.number("sparse_", "sparsity", sparsity)
    if tensor.ndim != 2:
        raise ArgumentError(
            f"Only tensors with 2 dimensions are supported, this has {tensor.ndim}: {tensor.describe()}",
            hint="give a matrix",
            operator="sparse_",
        )
    rows, columns = tensor.shape
    with GradMode(False), naming("sparse_"):
        tensor.normal_(0, std, generator=generator)
        zeroed = [randperm(rows)[: math.ceil(sparsity * rows)] for _ in range(columns)]
        if zeroed:
            tensor.scatter_(0, REGISTRY["stack"](zeroed, 1).to(tensor.device), 0)
    return tensor


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Fill a tensor with gain times a matrix of orthonormal rows, or columns if it has more rows than columns.

    The tensor's first dimension counts the rows; the others are flattened into the columns (A. Saxe et al., 2013).
    Host:   waits if the tensor is on a GPU.
    Raises: ArgumentError below two dimensions, DtypeError for a tensor that is not floating point, ArgumentTypeError
            for an argument that is not a tensor.
    Example:
        >>> w = torch.nn.init.orthogonal_(torch.empty(2, 3))
        >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
        True
    """
    checks.tensor("orthogonal_", "tensor", tensor)
    if tensor.ndim < 2:
        raise ArgumentError(
            f"Only tensors with 2 or more dimensions are supported, this has {tensor.ndim}: {tensor.describe()}",
            hint="give a weight [out, in, *kernel]",
            operator="orthogonal_",
        )
    if is_meta(tensor) or not tensor.numel():  # the rest reads values
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with GradMode(False), naming("orthogonal_"):
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = REGISTRY["linalg_qr"](drawn.t() if rows < columns else drawn)
        q = q * r.diagonal().sign()  # makes the distribution uniform over orthogonal matrices (F. Mezzadri, 2007)
        return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


def fans(tensor: Any) -> tuple[int, int]:
    """Return (fan_in, fan_out) of a weight.  Raises ArgumentError below two dimensions."""
    checks.tensor("fans", "tensor", tensor)
    if tensor.ndim < 2:
        raise ArgumentError(
            "fan in and fan out can not be computed for a tensor with fewer than 2 dimensions, this has "
            f"{tensor.ndim}: {tensor.describe()}",
            hint="use uniform_, normal_ or zeros_ for vectors",
            operator="fans",
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def _xavier_scale(name: str, tensor: Any, gain: float, factor: float) -> float:
    with naming(name):
        total = sum(fans(tensor))
    checks.number(name, "gain", gain)
    if not total:
        fact = f"{tensor.describe()} has no inputs and no outputs"
        raise ValueRangeError(fact, operator=name, hint="skip this tensor: it has no elements to fill")
    return gain * math.sqrt(factor / total)


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill a weight uniformly from [-b, b], where b = gain * sqrt(6 / (fan_in + fan_out)).

    fan_in, fan_out: in * prod(kernel) and out * prod(kernel) of a weight [out, in, *kernel].
    X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    Shapes: [*, *, ...], of 2 or more dimensions; the tensor itself is returned.
    Raises: ArgumentError for fewer than 2 dimensions, DtypeError for a tensor that is not floating point,
            ArgumentTypeError for arguments of a wrong type.
    Example:
        >>> weight = torch.nn.init.xavier_uniform_(torch.empty(2, 4))  # within sqrt(6 / (2 + 4))
        >>> bool(weight.abs().max() <= 1)
        True
    """
    bound = _xavier_scale("xavier_uniform_", tensor, gain, 6.0)
    with naming("xavier_uniform_"):
        return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill a weight from a normal distribution with standard deviation gain * sqrt(2 / (fan_in + fan_out)).

    fan_in, fan_out: in * prod(kernel) and out * prod(kernel) of a weight [out, in, *kernel].
    X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    Shapes: [*, *, ...], of 2 or more dimensions; the tensor itself is returned.
    Raises: ArgumentError for fewer than 2 dimensions, DtypeError for a tensor that is not floating point,
            ArgumentTypeError for arguments of a wrong type.
    Example:
        >>> torch.nn.init.xavier_normal_(torch.empty(2, 4)).shape
        torch.Size([2, 4])
    """
    std = _xavier_scale("xavier_normal_", tensor, gain, 2.0)
    with naming("xavier_normal_"):
        return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill a weight uniformly from [-b, b], where b = gain * sqrt(3 / fan) (K. He et al., 2015).

    mode: the fan, "fan_in" or "fan_out": in * prod(kernel) or out * prod(kernel) of a weight [out, in, *kernel].
    nonlinearity: the function that determines the gain: see `calculate_gain`.  a: the negative slope of leaky_relu.
    Shapes: [*, *, ...], of 2 or more dimensions; the tensor itself is returned.
    Raises: ArgumentError for fewer than 2 dimensions, another mode or nonlinearity, or a slope that is not a number;
            DtypeError for a tensor that is not floating point, ArgumentTypeError for one that is not a tensor.
    Example:
        >>> weight = torch.nn.init.kaiming_uniform_(torch.empty(2, 6))  # within sqrt(6 / 6)
        >>> bool(weight.abs().max() <= 1)
        True
    """
    checks.tensor("kaiming_uniform_", "tensor", tensor)
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    with naming("kaiming_uniform_"):
        bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
        return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill a weight from a normal distribution with standard deviation gain / sqrt(fan) (K. He et al., 2015).

    mode: the fan, "fan_in" or "fan_out": in * prod(kernel) or out * prod(kernel) of a weight [out, in, *kernel].
    nonlinearity: the function that determines the gain: see `calculate_gain`.  a: the negative slope of leaky_relu.
    Shapes: [*, *, ...], of 2 or more dimensions; the tensor itself is returned.
    Raises: ArgumentError for fewer than 2 dimensions, another mode or nonlinearity, or a slope that is not a number;
            DtypeError for a tensor that is not floating point, ArgumentTypeError for one that is not a tensor.
    Example:
        >>> torch.nn.init.kaiming_normal_(torch.empty(2, 6), mode="fan_out").shape
        torch.Size([2, 6])
    """
    checks.tensor("kaiming_normal_", "tensor", tensor)
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    with naming("kaiming_normal_"):
        return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _nothing_to_fill(tensor: Any) -> Any:
    callers.warn("Initializing zero-element tensors is a no-op")
    return tensor


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    known = "fan_in", "fan_out"
    if not isinstance(mode, str) or mode.lower() not in known:
        raise ArgumentError(f"Mode {mode} not supported", hint="use 'fan_in' or 'fan_out'", operator="kaiming")
    fan = fans(tensor)[known.index(mode.lower())]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


# PyTorch's names of the functions above, which programs also import

_calculate_fan_in_and_fan_out = fans
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_uniform_ = uniform_


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    """Return the fan_in or the fan_out of a weight, as `mode` says.  Raises ArgumentError."""
    known = "fan_in", "fan_out"
    if mode.lower() not in known:
        raise ArgumentError(
            f"mode {shown(mode)} is not supported", hint=f"use one of {', '.join(known)}", operator="init"
        )
    return fans(tensor)[known.index(mode.lower())]


def _former(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Make the deprecated form of a function, named without the underscore; it warns."""
    name = fill.__name__[:-1]

    def former(*args: Any, **kwargs: Any) -> Any:
        callers.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return fill(*args, **kwargs)

    former.__name__ = former.__qualname__ = name
    former.__doc__ = f"Deprecated name of `{name}_`."
    return former


uniform = _former(uniform_)
normal = _former(normal_)
constant = _former(constant_)
eye = _former(eye_)
dirac = _former(dirac_)
xavier_uniform = _former(xavier_uniform_)
xavier_normal = _former(xavier_normal_)
kaiming_uniform = _former(kaiming_uniform_)
kaiming_normal = _former(kaiming_normal_)
orthogonal = _former(orthogonal_)
sparse = _former(sparse_)


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)


__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip
__dir__ = listing(globals())

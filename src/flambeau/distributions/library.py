"""Helpers of the distributions: the library's functions, broadcasting of parameters, probabilities and logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Any

from ..autograd.mode import enable_grad
from ..core.tensor import TensorBase
from ..dtypes import default, int64, promote_types
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    FlambeauError,
    IndexRangeError,
    ShapeError,
    name_error,
    naming,
    no_attribute,
    shown,
)
from ..host import np
from ..importer import listing
from ..ops.operator import REGISTRY
from ..strides import Size
from ..tensor import checks, functions
from ..tensor.types import finfo

_factories = import_module("..tensor", __package__)  # the package: `from .. import tensor` is the function


class _Library:
    """Functions by their public names, and operators by their keys, looked up when they are called."""

    def __getattr__(self, name: str) -> Any:
        for module in (functions, _factories):
            if hasattr(module, name):
                return getattr(module, name)
        if name in REGISTRY:
            return REGISTRY[name]
        raise no_attribute("flambeau", name)


torch: Any = _Library()


def name_methods(cls: type, methods: Sequence[str], of_tensors: Sequence[str]) -> None:
    """Let the errors of methods that one of this package's classes defines carry the name of the object's class.

    of_tensors: methods of which every argument is a tensor, or a number if the method takes one.  Where another
    argument makes them fail, the error is an ArgumentTypeError.  Classes of other packages stay as they are.
    An attribute `called` is the name of a class that has another public name.
    """
    if cls.__module__.startswith(f"{__package__}."):
        for name in (*methods, *of_tensors):
            if name in cls.__dict__:
                setattr(cls, name, _named(cls.__dict__[name], name in of_tensors))


def _named(method: Callable[..., Any], is_of_tensors: bool) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        called = getattr(self, "called", type(self).__name__.lstrip("_"))
        try:
            return method(self, *args, **named)
        except FlambeauError as error:
            name_error(error, called)
            raise
        except (AttributeError, LookupError, TypeError) as error:
            others = [value for value in (*args, *named.values()) if not isinstance(value, TensorBase)]
            is_inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if not (is_of_tensors and others and is_inside):  # not for a wrong number of arguments
                raise
            raise ArgumentTypeError(
                f"expected a tensor, got {shown(others[0])}", hint="convert it with torch.as_tensor()", operator=called
            ) from error

    return call


def tiny(dtype: Any) -> float:
    """Return the smallest normal number of a type."""
    return finfo(dtype).tiny


def lowest(dtype: Any) -> float:
    """Return the most negative number of a type."""
    return finfo(dtype).min


def epsilon(dtype: Any) -> float:
    """Return the distance from 1 to the next number of a type."""
    return finfo(dtype).eps


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Broadcast tensors and numbers to one shape; return a tuple of tensors.

    Numbers get the dtype of the first floating point tensor, and the device of the first tensor.
    Raises: ArgumentError for other values, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.distributions.utils.broadcast_all(torch.tensor([1.0, 2.0]), 3)
        (tensor([1., 2.]), tensor([3., 3.]))
    """
    tensors = [value for value in values if isinstance(value, TensorBase)]
    for value in values:
        if not isinstance(value, (TensorBase, int, float)):
            raise ArgumentError(
                f"expected tensors and numbers, got {shown(value)}", hint="pass a tensor", operator="broadcast_all"
            )
    options: dict[str, Any] = {"dtype": default.floating}
    if tensors:
        floating = [value.dtype for value in tensors if value.dtype.is_floating_point]
        options = {"dtype": floating[0] if floating else default.floating, "device": tensors[0].device}
    converted = [value if isinstance(value, TensorBase) else torch.tensor(value, **options) for value in values]
    return tuple(torch.broadcast_tensors(*converted))


def as_floating(value: Any) -> Any:
    """Convert a tensor or a number to a floating point tensor.  Raises ArgumentError for anything else."""
    if not isinstance(value, TensorBase) and not hasattr(value, "__float__"):
        raise ArgumentError(
            f"expected a tensor or a number as a parameter, got {shown(value)}",
            hint="pass a tensor",
            operator="Distribution",
        )
    tensor: Any = value if isinstance(value, TensorBase) else torch.tensor(float(value))
    return tensor if tensor.dtype.is_floating_point else tensor.to(promote_types(tensor.dtype, default.floating))


def _check_floating(name: str, what: str, value: Any) -> None:
    """Raise ArgumentTypeError unless a value is a tensor, DtypeError unless it is floating point."""
    checks.tensor(name, what, value)
    if not value.dtype.is_floating_point:
        raise DtypeError(
            f"{what} must be floating point, got {value.dtype.name}", hint="convert it with .float()", operator=name
        )


def check_size(name: str, value: Any, dim: int, count: int) -> None:
    """Raise ShapeError unless a dimension of a tensor has a size, IndexRangeError for a dimension out of range."""
    if not -value.dim() <= dim < value.dim():
        raise IndexRangeError(
            f"dimension {dim} is out of range for shape {list(value.shape)}",
            hint="add dimensions with unsqueeze()",
            operator=name,
        )
    if value.shape[dim] != count:
        raise ShapeError(
            f"dimension {dim} must have size {count}, got shape {list(value.shape)}",
            hint="pass a tensor of that size along this dimension",
            operator=name,
        )


def clamp_probs(probs: Any) -> Any:
    """Return probabilities clamped to [eps, 1 - eps], where eps is the machine epsilon of their dtype.

    Shapes: the result has the shape of probs.
    Raises: ArgumentTypeError for an argument that is not a tensor, DtypeError for one that is not floating point.
    Example:
        >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5])) > 0
        tensor([True, True])
    """
    _check_floating("clamp_probs", "probs", probs)
    eps = epsilon(probs.dtype)
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Convert probabilities to logits.

    is_binary: if True, the result is the log-odds log(p / (1 - p)); if False, the logarithm log(p).
    Shapes: the result has the shape of probs.
    Raises: ArgumentTypeError for an argument that is not a tensor, DtypeError for one that is not floating point.
    Example:
        >>> torch.distributions.utils.probs_to_logits(torch.tensor(0.5), is_binary=True)
        tensor(0.)
    """
    _check_floating("probs_to_logits", "probs", probs)
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Convert logits to probabilities.

    is_binary: if True, logits are log-odds, each of which gives a probability; if False, the result is the softmax over
        the last dimension.
    Shapes: the result has the shape of the logits.
    Raises: ArgumentTypeError for an argument that is not a tensor, DtypeError for integers unless is_binary.
    Example:
        >>> torch.distributions.utils.logits_to_probs(torch.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
    """
    with naming("logits_to_probs"):
        return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def sum_rightmost(value: Any, count: int) -> Any:
    """Return the sum over the last `count` dimensions."""
    return value if count == 0 else value.flatten(value.dim() - count).sum(-1)


def softplus(value: Any) -> Any:
    """Return log(1 + exp(value)), without overflow; 0 and infinity at the infinities."""
    return -REGISTRY["logsigmoid"](-value)


def logit_log_prob(logits: Any, value: Any) -> Any:
    """Return the logarithm of the probability of `value`, of 0 to 1, under log-odds, which may be large."""
    # not value * logits - softplus(logits), where large terms cancel
    return -REGISTRY["binary_cross_entropy_with_logits"](logits, value, reduction="none")


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """Return the elements of the lower triangles of matrices as vectors, row by row.

    diag: the highest diagonal that belongs to the triangle: 0 is the main one, -1 the one below it.
    Shapes: [*, n, n] gives [*, n * (n + 1) / 2] for diagonal 0.
    Raises: ArgumentTypeError for an argument that is not a tensor, ShapeError unless the last two sizes are equal.
    Example:
        >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 0], [2, 3]]))
        tensor([1, 2, 3])
    """
    checks.tensor("tril_matrix_to_vec", "mat", mat)
    if mat.dim() < 2 or mat.shape[-1] != mat.shape[-2]:
        raise ShapeError(
            f"expected square matrices, got shape {list(mat.shape)}",
            hint="pass matrices with equal last two sizes",
            operator="tril_matrix_to_vec",
        )
    size = mat.shape[-1]
    rows, columns = np.tril_indices(size, diag)
    index = torch.tensor((rows * size + columns).tolist(), dtype=int64, device=mat.device)
    return mat.reshape((*mat.shape[:-2], size * size)).index_select(-1, index)


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Return lower triangular matrices filled row by row with the elements of vectors.

    diag: the highest diagonal that is filled: 0 is the main one, -1 the one below it.
    Shapes: [*, n * (n + 1) / 2] gives [*, n, n] for diagonal 0.
    Raises: ArgumentTypeError for an argument that is not a tensor, ShapeError unless the elements fill a
            triangle exactly.
    Example:
        >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1, 2, 3]))
        tensor([[1, 0],
                [2, 3]])
    """
    checks.tensor("vec_to_tril_matrix", "vec", vec)
    count = vec.shape[-1] if vec.dim() else 0
    size = round((-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    rows, columns = np.tril_indices(size, diag)
    if not vec.dim() or len(rows) != count:
        raise ShapeError(
            f"no lower triangle up to diagonal {diag} has the elements of vectors of shape {list(vec.shape)}",
            hint="pass vectors of n * (n + 1) / 2 elements for diagonal 0",
            operator="vec_to_tril_matrix",
        )
    index = torch.tensor((rows * size + columns).tolist(), dtype=int64, device=vec.device)
    flat = vec.new_zeros((*vec.shape[:-1], size * size)).index_copy(-1, index, vec)
    return flat.reshape((*vec.shape[:-1], size, size))


class lazy_property:  # noqa: N801
    """A decorator that makes a method a property, which is computed at its first use and then stored.

    Gradients are recorded during the computation, even inside `no_grad`.
    Raises: the errors of the wrapped method, at the first use.
    Example:
        >>> class Square:
        ...     side = 3
        ...     @torch.distributions.utils.lazy_property
        ...     def area(self):
        ...         return self.side**2
        >>> square = Square()
        >>> square.area
        9
        >>> vars(square)
        {'area': 9}
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def sizes(value: Any) -> tuple[int, ...]:
    """Convert a number, a tuple or a Size to a shape.  Raises ArgumentTypeError for anything else."""
    return (value,) if isinstance(value, int) else Size(value)


def one_hot_like(index: Any, count: int, like: Any) -> Any:
    """Return vectors of `count` with a 1 at each index, in the type of `like`."""
    return torch.arange(count, device=index.device).eq(index.contiguous().unsqueeze(-1)).to(like.dtype)


def shape_of(values: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape to which tensors broadcast."""
    return tuple(torch.broadcast_tensors(*values)[0].shape)


def standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    """Return a tensor of standard normal values."""
    return torch.randn(shape, dtype=dtype, device=device)


# PyTorch's names, which packages import
_standard_normal, _sum_rightmost, euler_constant = standard_normal, sum_rightmost, 0.57721566490153286060


__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip
__dir__ = listing(globals())

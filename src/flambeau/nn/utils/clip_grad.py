"""torch.nn.utils.clip_grad: norms of gradients, and limits on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from ... import callers
from ...autograd.mode import GradMode
from ...core.tensor import TensorBase
from ...dtypes import float32, promote
from ...errors import ArgumentError, ArgumentTypeError, AutogradError, ValueRangeError, naming, shown
from ...importer import listing
from ...ops import multi_tensor
from ...ops.operator import REGISTRY
from ...tensor import checks, factories


def _gradients(name: str, parameters: Any) -> list[Any]:
    whole = (parameters,) if isinstance(parameters, TensorBase) else listed(name, "parameters", parameters)
    return [parameter.grad for parameter in whole if parameter.grad is not None]


def listed(name: str, what: str, values: Any) -> tuple[Any, ...]:
    """Return the tensors of a list.  Raises ArgumentTypeError, for a module too."""
    if hasattr(values, "parameters"):
        raise ArgumentTypeError(
            f"{what} must be a list of tensors, got {shown(values)}", hint="give module.parameters()", operator=name
        )
    return checks.tensors(name, what, values)


def _number(name: str, what: str, value: Any) -> float:
    """Convert a number, text or tensor to a float.  Raises ArgumentError, ArgumentTypeError."""
    try:
        return float(value)
    except ValueError as error:
        raise ArgumentError(
            f"{what} must be a number, got {shown(value)}", hint="give a float", operator=name
        ) from error
    except TypeError as error:
        raise ArgumentTypeError(
            f"{what} must be a number, got {shown(value)}", hint="give a float", operator=name
        ) from error


def _by_device(tensors: Iterable[Any]) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.device_index, []).append(tensor)
    return groups


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """Return the norm of all given tensors as one vector, on the device of the first tensor.

    tensors: a list of tensors, or one tensor.
    norm_type: the order of the norm; `inf` gives the largest absolute value, 0 the number of tensors with a value
        other than 0.
    foreach: accepted for compatibility; one launch always takes all tensors of a device.
    Host:   returns at once; waits if error_if_nonfinite.
    Raises: DtypeError for tensors that are not floating point, ArgumentTypeError for entries that are not tensors,
            ArgumentError for a norm_type that is not a number; AutogradError if error_if_nonfinite and the norm is not
            finite.
    Example:
        >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
        tensor(5.)
    """
    entries = listed("get_total_norm", "tensors", [tensors] if isinstance(tensors, TensorBase) else tensors)
    order = _number("get_total_norm", "norm_type", norm_type)
    if not entries:
        return factories.tensor(0.0)
    with naming("get_total_norm"):
        total = _total(entries, order)
    _check_finite("get_total_norm", "tensors", total, norm_type, error_if_nonfinite)
    return total.to(reduce(promote, [tensor.dtype for tensor in entries]))


def _check_finite(name: str, what: str, total: Any, norm_type: Any, is_wanted: bool) -> None:
    """Raise AutogradError if a norm should be finite and is not.  Host: waits if it should."""
    if is_wanted and not bool(total.isfinite()):
        raise AutogradError(
            f"the total norm of order {norm_type} of the {what} is non-finite: {total.item()}",
            hint="pass error_if_nonfinite=False to go on with it anyway",
            operator=name,
        )


def _total(tensors: Sequence[Any], norm_type: float) -> Any:
    """Return the norm in float32 or wider: a sum of squares overflows float16."""
    norm = REGISTRY["norm_of_many"]
    with GradMode(False):
        if not norm_type:  # PyTorch takes the norm of the tensors' norms, which differs for this order alone
            multi_tensor.check_floating("norm_of_many", "tensors", tensors)
            wide = reduce(promote, [tensor.dtype for tensor in tensors], float32)
            return sum([tensor.any().to(tensors[0].device, wide) for tensor in tensors])
        norms = [norm(group, norm_type) for group in _by_device(tensors).values()]
        return norms[0] if len(norms) == 1 else norm([part.to(norms[0].device) for part in norms], norm_type)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale all gradients so that their norm as one vector is at most `max_norm`; return the norm before scaling.

    norm_type: see get_total_norm.
    foreach: accepted for compatibility; one launch always scales all gradients of a device.
    Shapes: the result is ().
    Host:   returns at once; waits if error_if_nonfinite.
    Raises: AutogradError if error_if_nonfinite and the norm is not finite; ArgumentTypeError for parameters that are
            not tensors, ArgumentError for a max_norm or norm_type that is not a number.  An error leaves the gradients
            unchanged.
    Example:
        >>> weight = torch.nn.Parameter(torch.zeros(2))
        >>> weight.grad = torch.tensor([3.0, 4.0])
        >>> torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
        tensor(5.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    grads = _gradients("clip_grad_norm_", parameters)
    limit, order = _number("clip_grad_norm_", "max_norm", max_norm), _number("clip_grad_norm_", "norm_type", norm_type)
    if not grads:
        return factories.tensor(0.0)
    with naming("clip_grad_norm_"):
        total = _total(grads, order)
    _check_finite("clip_grad_norm_", "gradients", total, norm_type, error_if_nonfinite)
    _limit(grads, total, limit)
    return total.to(reduce(promote, [grad.dtype for grad in grads]))


def _limit(grads: Sequence[Any], total: Any, limit: float) -> None:
    """Scale gradients of norm `total` so that it is at most `limit`."""
    with GradMode(False):
        for group in _by_device(grads).values():
            REGISTRY["limit_norm"](group, total.to(group[0].device), limit)


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Clip gradients as `clip_grad_norm_` does, with a total norm computed beforehand.

    All gradients are multiplied by max_norm / total_norm where that is below 1.
    total_norm: a tensor, such as the result of get_total_norm.  foreach: accepted for compatibility.
    Shapes: total_norm has one element.
    Host:   returns at once.
    Raises: ArgumentTypeError for parameters or a total_norm that are not tensors, ArgumentError for a max_norm that is
            not a number, ShapeError for a total_norm of several elements.
    Example:
        >>> weight = torch.nn.Parameter(torch.zeros(2))
        >>> weight.grad = torch.tensor([3.0, 4.0])
        >>> torch.nn.utils.clip_grads_with_norm_([weight], 2.5, torch.tensor(5.0))
        >>> weight.grad
        tensor([1.5000, 2.0000])
    """
    grads = _gradients("clip_grads_with_norm_", parameters)
    limit = _number("clip_grads_with_norm_", "max_norm", max_norm)
    checks.tensor("clip_grads_with_norm_", "total_norm", total_norm)
    with naming("clip_grads_with_norm_"):
        _limit(grads, total_norm, limit)


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """Call `clip_grad_norm_`, under its deprecated name, with a warning.

    Shapes: the result is ().
    Raises: as `clip_grad_norm_`: AutogradError, ArgumentTypeError, ArgumentError.
    Example:
        >>> weight = torch.nn.Parameter(torch.zeros(2))
        >>> weight.grad = torch.tensor([3.0, 4.0])
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.utils.clip_grad_norm([weight], max_norm=1.0)
        tensor(5.)
    """
    callers.warn("clip_grad_norm: deprecated, use torch.nn.utils.clip_grad_norm_", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of every gradient to [-clip_value, clip_value].

    foreach: accepted for compatibility; one launch always clamps all gradients of a device.
    Host:   returns at once.
    Raises: ValueRangeError for a negative clip_value, ArgumentError for one that is not a number, ArgumentTypeError for
            parameters that are not tensors.
    Example:
        >>> weight = torch.nn.Parameter(torch.zeros(2))
        >>> weight.grad = torch.tensor([3.0, -0.5])
        >>> torch.nn.utils.clip_grad_value_([weight], 1.0)
        >>> weight.grad
        tensor([ 1.0000, -0.5000])
    """
    grads, limit = _gradients("clip_grad_value_", parameters), _number("clip_grad_value_", "clip_value", clip_value)
    if not limit >= 0:
        raise ValueRangeError(
            f"clip_value must not be negative, got {clip_value}",
            hint="pass 0 or more: elements are clamped to [-clip_value, clip_value]",
            operator="clip_grad_value_",
        )
    with GradMode(False):
        for group in _by_device(grads).values():
            REGISTRY["clamp_many"](group, -limit, limit)


_get_total_norm = get_total_norm  # names of former versions
_clip_grads_with_norm_ = clip_grads_with_norm_

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
__dir__ = listing(globals())

"""Derivatives checked against differences.

Source: central differences, error of order step².  In float64 a step of 1e-6 leaves about 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import functional
from ..dtypes import float64
from ..errors import AutogradError, DtypeError
from ..host import np
from ..tensor.factories import tensor


def gradcheck(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    fast_mode: bool = False,
) -> bool:
    """Whether `function`'s gradients at float64 `inputs` agree with central differences of step `eps`.

    Checked is the derivative of a sum of all outputs, with random weights, by every input element.
    fast_mode: by each input as a whole, moved in a random direction, which takes two calls per input.
    Host:   waits.
    Raises: AutogradError saying which input differs, and by how much; DtypeError for inputs that are not float64.
    """
    checked = [each for each in inputs if getattr(each, "requires_grad", False)]
    for each in checked:
        if each.dtype is not float64:
            raise DtypeError(
                f"inputs must be float64, got {each.describe()}", hint="make them with .double()", operator="gradcheck"
            )
    weights = _weights(function, inputs)
    analytic = functional.grad(_weighted(function, inputs, weights), checked, allow_unused=True)
    for number, (each, found) in enumerate(zip(checked, analytic)):
        have = np.zeros(each.shape) if found is None else found.detach().cpu().numpy()
        if fast_mode:
            direction = np.random.default_rng(number).standard_normal(each.shape)
            have, expected = np.sum(have * direction), _slope(function, inputs, each, weights, eps * direction) / eps
        else:
            expected = _differences(function, inputs, each, weights, eps)
        if not np.allclose(have, expected, rtol=rtol, atol=atol):
            worst = float(np.max(np.abs(have - expected)))
            raise AutogradError(
                f"input {number} ({each.describe()}): the derivative differs from central differences "
                f"by up to {worst:.3g}\nderivative:\n{have}\ndifferences:\n{expected}",
                operator="gradcheck",
            )
    return True


def gradgradcheck(function: Callable[..., Any], inputs: Sequence[Any], **options: float) -> bool:
    """As gradcheck, for the second derivative."""

    def gradients(*args: Any) -> Any:
        wanted = [each for each in args if getattr(each, "requires_grad", False)]
        total = _weighted(function, args, _weights(function, args))
        found = functional.grad(total, wanted, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None and each.requires_grad) or (wanted[0] * 0,)

    return gradcheck(gradients, inputs, **options)


def _outputs(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    found = function(*inputs)
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    return [each for each in results if each is not None and each.dtype.is_floating_point]


def _weights(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """Fixed weights, different for every output element: a sum with them shows an error in any one."""
    generator = np.random.default_rng(12345)
    return [tensor(generator.uniform(0.5, 1.5, each.shape), device=each.device) for each in _outputs(function, inputs)]


def _weighted(function: Callable[..., Any], inputs: Sequence[Any], weights: Sequence[Any]) -> Any:
    total: Any = None
    for output, weight in zip(_outputs(function, inputs), weights):
        part = (output * weight).sum()
        total = part if total is None else total + part
    return total


def _differences(
    function: Callable[..., Any], inputs: Sequence[Any], wanted: Any, weights: Sequence[Any], eps: float
) -> Any:
    """The gradient of the weighted sum by `wanted`, one of the inputs, from central differences."""
    result = np.zeros(wanted.shape)
    for index in np.ndindex(*wanted.shape):
        step = np.zeros(wanted.shape)
        step[index] = eps
        result[index] = _slope(function, inputs, wanted, weights, step) / eps
    return result


def _slope(
    function: Callable[..., Any], inputs: Sequence[Any], wanted: Any, weights: Sequence[Any], step: Any
) -> float:
    """Half of what the weighted sum gains as `wanted`, one of the inputs, goes from a step before to a step after."""
    values = wanted.detach().cpu().numpy()
    ends = []
    for moved in (values + step, values - step):
        changed = tensor(moved, device=wanted.device).requires_grad_()
        args = [changed if each is wanted else each for each in inputs]
        ends.append(_weighted(function, args, weights).item())
    return float(ends[0] - ends[1]) / 2

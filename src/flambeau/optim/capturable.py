"""Steps of Adam whose number lies on the parameter's device, so that each replay of a graph takes the next one."""

from __future__ import annotations

from math import inf, log
from typing import Any

from ..tensor import factories


def counter(param: Any, count: int = 0) -> Any:
    """The number of steps taken, as a tensor beside `param`."""
    return factories.full((), float(count), device=param.device)


def take_step(param: Any, state: dict[str, Any], group: dict[str, Any], decoupled: bool) -> None:
    """One step of Adam, or of AdamW if `decoupled`, of whose values none is read by the host."""
    lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
    grad = -param.grad if group["maximize"] else param.grad
    if decay and decoupled:
        param.mul_(1 - lr * decay)
    elif decay:
        grad = grad + param * decay
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    if group["amsgrad"]:
        square = state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(square))
    count = state["step"].add_(1).double()
    size, root = lr / _correction(count, beta1), _correction(count, beta2).sqrt()
    param.sub_(mean / (square.sqrt() / root + group["eps"]) * size)


def _correction(count: Any, beta: float) -> Any:
    """1 - beta**count."""
    return -(count * (log(beta) if beta else -inf)).expm1()

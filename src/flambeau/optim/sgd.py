"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from .optimizer import Optimizer, check_not_negative, gradient


class SGD(Optimizer):
    """param -= lr * step, where step is the gradient or, with momentum, a decaying sum of gradients.

    momentum: how much of the sum each step keeps;  dampening: how much less of the gradient joins it.
    nesterov: look ahead by one step (I. Sutskever et al., 2013).
    weight_decay: adds this much of param to the gradient.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(
            group, {"lr": "learning rate", "momentum": "momentum value", "weight_decay": "weight_decay value"}
        )
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ArgumentError(
                f"Nesterov momentum requires a momentum and zero dampening, got momentum={group['momentum']} and "
                f"dampening={group['dampening']}"
            )

    def update(self, group: dict[str, Any]) -> None:
        for param in group["params"]:
            if param.grad is not None:
                step = gradient(param, group, group["weight_decay"])
                if group["momentum"]:
                    step = self._with_momentum(param, step, group)
                param.add_(step, alpha=-group["lr"])

    def _with_momentum(self, param: Any, grad: Any, group: dict[str, Any]) -> Any:
        momentum, state = group["momentum"], self.state[param]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        return grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer

"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops.operator import REGISTRY
from ..runtime.graph import refuse_capture
from ..tensor import like_factories
from .optimizer import Optimizer, check_not_negative, check_number, numbers, rate_for, with_gradients


class SGD(Optimizer):
    """param -= lr * step, where step is the gradient or, with momentum, a decaying sum of gradients.

    momentum: how much of the sum each step keeps;  dampening: how much less of the gradient joins it.
    nesterov: look ahead by one step (I. Sutskever et al., 2013).
    weight_decay: adds this much of param to the gradient.
    lr: a tensor on the parameters' device is read by each step, or replay, and the host does not wait for it.
    foreach, fused: for PyTorch's sake; a step always takes many parameters at once.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(
            group, {"lr": "learning rate", "momentum": "momentum value", "weight_decay": "weight_decay value"}
        )
        check_number(group, "dampening")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ArgumentError(
                "Nesterov momentum requires a momentum and zero dampening, got "
                f"momentum={group['momentum']} and dampening={group['dampening']}",
                hint="such as momentum=0.9, dampening=0",
                operator="check",
            )

    def update(self, group: dict[str, Any]) -> None:
        momentum, dampening, decay = numbers(group, "momentum", "dampening", "weight_decay")
        batches: dict[tuple[int, bool], list[Any]] = {}
        for param in with_gradients(group):
            whole = bool(momentum) and self._begin(param) or not dampening
            batches.setdefault((param.device_index, whole), []).append(param)
        for (device, whole), params in batches.items():
            lr, rate = rate_for(group, device)
            REGISTRY["sgd_step"](
                params,
                [each.grad for each in params],
                [self.state[each]["momentum_buffer"] for each in params] if momentum else [],
                lr,
                momentum,
                1.0 if whole else 1 - dampening,
                decay,
                bool(group["nesterov"]),
                bool(group["maximize"]),
                rate,
            )

    def _begin(self, param: Any) -> bool:
        """Make a parameter's sum of gradients if there is none; whether there was none."""
        if self.state[param].get("momentum_buffer") is not None:
            return False
        refuse_capture(
            "SGD.step",
            "every replay would begin its sums of gradients anew",
            "call step() once before the capture",
        )
        self.state[param]["momentum_buffer"] = like_factories.zeros_like(param)
        return True

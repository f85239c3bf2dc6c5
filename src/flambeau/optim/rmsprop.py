"""RMSprop."""

from __future__ import annotations

from typing import Any

from ..ops.operator import REGISTRY
from ..tensor import like_factories
from .optimizer import Optimizer, check_not_negative, numbers


class RMSprop(Optimizer):
    """Steps of the gradient over the root of its running square (G. Hinton, 2012).

    alpha: how much of the square each step keeps;  eps: added to the divisor.
    weight_decay: adds this much of param to the gradient.
    momentum: how much of the last steps' sum each step keeps;  centered: divide by the gradient's deviation.
    capturable: count steps on the parameter's device, so that `step` may be captured.
    foreach: for PyTorch's sake; a step always takes many parameters at once.
    """

    counts_on_device = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        names = ("momentum", "weight_decay", "alpha")
        check_not_negative(group, {"lr": "learning rate", "eps": "epsilon value"})
        check_not_negative(group, {name: f"{name} value" for name in names})

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        names = ["square_avg"]
        names += ["momentum_buffer"] if group["momentum"] > 0 else []
        names += ["grad_avg"] if group["centered"] else []
        return {name: like_factories.zeros_like(param) for name in names}

    def update(self, group: dict[str, Any]) -> None:
        decay, lr, alpha, eps, momentum = numbers(group, "weight_decay", "lr", "alpha", "eps", "momentum")
        for params, _ in self.due(group):
            *lists, buffers, means = self.lists(params, "square_avg", "momentum_buffer", "grad_avg")
            lists += [buffers if momentum > 0 else [], means if group["centered"] else []]
            REGISTRY["rmsprop_step"](*lists, bool(group["maximize"]), decay, lr, alpha, eps, momentum)

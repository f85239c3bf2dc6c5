"""Adamax."""

from __future__ import annotations

from typing import Any

from ..ops.operator import REGISTRY
from ..tensor import like_factories
from .optimizer import Optimizer, check_betas, check_not_negative, number, numbers


class Adamax(Optimizer):
    """Adam by the largest recent size of the gradient, instead of its running square (D. Kingma, J. Ba, 2015).

    betas: how much of the mean and of the largest size each step keeps;  eps: added to the gradient's size.
    weight_decay: adds this much of param to the gradient.
    capturable, foreach: for PyTorch's sake; steps are counted on the host, so a capture refuses them.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "eps": "epsilon value", "weight_decay": "weight_decay value"})
        check_betas(group)

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": like_factories.zeros_like(param), "exp_inf": like_factories.zeros_like(param)}

    def update(self, group: dict[str, Any]) -> None:
        lr, decay, eps = numbers(group, "lr", "weight_decay", "eps")
        beta1, beta2 = map(number, group["betas"])
        for params, step in self.due(group):
            lists, rate = self.lists(params, "exp_avg", "exp_inf"), lr / (1 - beta1**step)
            REGISTRY["adamax_step"](*lists, bool(group["maximize"]), decay, rate, beta1, beta2, eps)

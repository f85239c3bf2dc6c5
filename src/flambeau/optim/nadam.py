"""NAdam."""

from __future__ import annotations

import math
from typing import Any

from ..ops.operator import REGISTRY
from ..tensor import factories, like_factories
from .optimizer import Optimizer, check_betas, check_not_negative, number, numbers

MOMENTUM_BASE = 0.96  # of the schedule of momentum: T. Dozat, "Incorporating Nesterov Momentum into Adam", 2016


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (T. Dozat, 2016).

    betas: how much of the mean and of the square each step keeps;  eps: added to the divisor.
    weight_decay: adds this much of param to the gradient or, with decoupled_weight_decay, shrinks param by lr times it.
    momentum_decay: how quickly the momentum comes to its full size.
    capturable, foreach: for PyTorch's sake; steps are counted on the host, so a capture refuses them.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "eps": "epsilon value", "weight_decay": "weight_decay value"})
        check_not_negative(group, {"momentum_decay": "momentum_decay value"})
        check_betas(group)

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        product = factories.tensor(1.0)
        return {
            "mu_product": product,
            "exp_avg": like_factories.zeros_like(param),
            "exp_avg_sq": like_factories.zeros_like(param),
        }

    def update(self, group: dict[str, Any]) -> None:
        lr, decay, eps, momentum_decay = numbers(group, "lr", "weight_decay", "eps", "momentum_decay")
        beta1, beta2 = map(number, group["betas"])
        shrink, decay = (1 - lr * decay, 0.0) if group["decoupled_weight_decay"] else (1.0, decay)
        for due, step in self.due(group):
            now = beta1 * (1 - 0.5 * MOMENTUM_BASE ** (step * momentum_decay))
            following = beta1 * (1 - 0.5 * MOMENTUM_BASE ** ((step + 1) * momentum_decay))
            for (product,), params in self.alike(due, "mu_product"):
                product = product * now  # in float32, as PyTorch keeps it
                values = lr * (1 - now) / (1 - float(product)), lr * following / (1 - float(product) * following)
                lists, root = self.lists(params, "exp_avg", "exp_avg_sq"), math.sqrt(1 - beta2**step)
                maximize = bool(group["maximize"])
                REGISTRY["nadam_step"](*lists, maximize, decay, *values, beta1, beta2, eps, shrink, root)
                for param in params:
                    self.cell(param, "mu_product")[...] = product

"""RAdam."""

from __future__ import annotations

import math
from typing import Any

from ..ops.operator import REGISTRY
from ..tensor import like_factories
from .optimizer import Optimizer, check_betas, check_not_negative, number, numbers

LEAST_LENGTH = 5.0  # of the average of squares, from which on its variance is known well enough


class RAdam(Optimizer):
    """Adam that begins with steps by the mean alone, until its running square is reliable (L. Liu et al., 2020).

    betas: how much of the mean and of the square each step keeps;  eps: added to the divisor.
    weight_decay: adds this much of param to the gradient or, with decoupled_weight_decay, shrinks param by lr times it.
    capturable, foreach: for PyTorch's sake; steps are counted on the host, so a capture refuses them.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "eps": "epsilon value", "weight_decay": "weight_decay value"})
        check_betas(group)

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": like_factories.zeros_like(param), "exp_avg_sq": like_factories.zeros_like(param)}

    def update(self, group: dict[str, Any]) -> None:
        lr, decay, eps = numbers(group, "lr", "weight_decay", "eps")
        beta1, beta2 = map(number, group["betas"])
        shrink, decay = (1 - lr * decay, 0.0) if group["decoupled_weight_decay"] else (1.0, decay)
        for params, step in self.due(group):
            lists, size = self.lists(params, "exp_avg", "exp_avg_sq"), lr / (1 - beta1**step)
            maximize, rectified = bool(group["maximize"]), _rectification(beta2, step)
            REGISTRY["radam_step"](*lists, maximize, decay, size, rectified, beta1, beta2, eps, shrink)


def _rectification(beta2: float, step: float) -> float:
    """The factor of a step by mean over root of square, whose bias it corrects; 0 while that root is not reliable."""
    correction = 1 - beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / correction
    if length <= LEAST_LENGTH:
        return 0.0
    share = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return math.sqrt(share) * math.sqrt(correction)

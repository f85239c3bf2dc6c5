"""Adadelta."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops.operator import REGISTRY
from ..tensor import like_factories
from .optimizer import Optimizer, check_not_negative, number, numbers


class Adadelta(Optimizer):
    """Steps in the units of the parameter, by running squares of gradients and of steps (M. Zeiler, 2012).

    rho: how much of both squares each step keeps;  eps: added to them.
    weight_decay: adds this much of param to the gradient.
    capturable: count steps on the parameter's device, so that `step` may be captured.
    foreach: for PyTorch's sake; a step always takes many parameters at once.
    """

    counts_on_device = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        names = {
            "lr": "learning rate",
            "rho": "rho value",
            "eps": "epsilon value",
            "weight_decay": "weight_decay value",
        }
        check_not_negative(group, names)
        if number(group["rho"]) > 1:
            raise ArgumentError(f"Invalid rho value: {group['rho']}", hint="it is between 0 and 1", operator="check")

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"square_avg": like_factories.zeros_like(param), "acc_delta": like_factories.zeros_like(param)}

    def update(self, group: dict[str, Any]) -> None:
        values = numbers(group, "weight_decay", "lr", "rho", "eps")
        for params, _ in self.due(group):
            lists = self.lists(params, "square_avg", "acc_delta")
            REGISTRY["adadelta_step"](*lists, bool(group["maximize"]), *values)

"""Adagrad."""

from __future__ import annotations

from typing import Any

from ..ops.operator import REGISTRY
from ..tensor import factories, like_factories
from .optimizer import Optimizer, check_not_negative, number, numbers


class Adagrad(Optimizer):
    """Steps of the gradient over the root of the sum of its squares (J. Duchi et al., 2011).

    lr_decay: the rate of step t is lr / (1 + (t - 1) * lr_decay).
    weight_decay: adds this much of param to the gradient.
    initial_accumulator_value: where the sums begin;  eps: added to the divisor.
    foreach, fused: for PyTorch's sake; a step always takes many parameters at once.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = {"step": factories.tensor(0.0)} | self.begin(param, group)

    def share_memory(self) -> None:
        """Move the sums to memory that other processes can have."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def check(self, group: dict[str, Any]) -> None:
        names = ("lr_decay", "weight_decay", "initial_accumulator_value")
        check_not_negative(group, {"lr": "learning rate"} | {name: f"{name} value" for name in names})
        check_not_negative(group, {"eps": "epsilon value"})

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"sum": like_factories.full_like(param, number(group["initial_accumulator_value"]))}

    def update(self, group: dict[str, Any]) -> None:
        lr, lr_decay, decay, eps = numbers(group, "lr", "lr_decay", "weight_decay", "eps")
        for params, step in self.due(group):
            rate = lr / (1 + (step - 1) * lr_decay)
            REGISTRY["adagrad_step"](*self.lists(params, "sum"), bool(group["maximize"]), decay, rate, eps)

"""Rprop."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops.operator import REGISTRY
from ..tensor import like_factories
from .optimizer import Optimizer, check_not_negative, check_pair, number


class Rprop(Optimizer):
    """Steps by the sign of the gradient alone, of a size that each element has (M. Riedmiller, H. Braun, 1993).

    lr: the first size;  etas: its factors where the sign has changed, and where it has not;  step_sizes: its bounds.
    capturable: count steps on the parameter's device, so that `step` may be captured.
    foreach: for PyTorch's sake; a step always takes many parameters at once.
    """

    counts_on_device = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate"})
        check_pair(group, "etas", "(0.5, 1.2)")
        check_pair(group, "step_sizes", "(1e-6, 50)")
        shrinking, growing = group["etas"]
        if not 0 < shrinking < 1 < growing:
            raise ArgumentError(
                f"Invalid eta values: {shrinking}, {growing}",
                hint="the first is between 0 and 1, the other above",
                operator="check",
            )

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "prev": like_factories.zeros_like(param),
            "step_size": like_factories.full_like(param, number(group["lr"])),
        }

    def update(self, group: dict[str, Any]) -> None:
        values = *map(number, group["etas"]), *map(number, group["step_sizes"])
        for params, _ in self.due(group):
            REGISTRY["rprop_step"](*self.lists(params, "prev", "step_size"), bool(group["maximize"]), 0.0, *values)

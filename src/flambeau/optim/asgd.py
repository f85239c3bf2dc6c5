"""ASGD."""

from __future__ import annotations

from typing import Any

from ..ops.operator import REGISTRY
from ..tensor import factories, like_factories
from .optimizer import Optimizer, check_not_negative, check_number, numbers


class ASGD(Optimizer):
    """Gradient descent whose parameters are averaged in state["ax"] (B. Polyak, A. Juditsky, 1992).

    lambd: a decay of the parameter by the step's rate, which is lr / (1 + lambd * lr * step)**alpha.
    t0: the step from which on parameters are averaged;  weight_decay: adds this much of param to the gradient.
    capturable, foreach: for PyTorch's sake; steps are counted on the host, so a capture refuses them.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "weight_decay": "weight_decay value"})
        for name in ("lambd", "alpha", "t0"):
            check_number(group, name)

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        (lr,) = numbers(group, "lr")
        return {"eta": factories.tensor(lr), "mu": factories.tensor(1.0), "ax": like_factories.zeros_like(param)}

    def update(self, group: dict[str, Any]) -> None:
        lr, lambd, alpha, t0, decay = numbers(group, "lr", "lambd", "alpha", "t0", "weight_decay")
        for due, step in self.due(group):
            for numbers_of_state, params in self.alike(due, "eta", "mu"):
                eta, mu = map(float, numbers_of_state)
                lists, maximize = self.lists(params, "ax"), bool(group["maximize"])
                REGISTRY["asgd_step"](*lists, maximize, decay, eta, 1 - lambd * eta, mu)
                for param in params:
                    self.cell(param, "eta")[...] = lr / (1 + lambd * lr * step) ** alpha
                    self.cell(param, "mu")[...] = 1 / max(1, step - t0)

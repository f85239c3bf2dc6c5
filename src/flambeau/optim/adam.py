"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..tensor import likes
from .optimizer import Optimizer, check_not_negative, gradient


class Adam(Optimizer):
    """Steps of the gradient's running mean over the root of its running square (D. Kingma, J. Ba, 2015).

    betas: how much of the mean and of the square each step keeps;  eps: added to the divisor.
    weight_decay: adds this much of param to the gradient;  amsgrad: divide by the largest running square so far.
    """

    decoupled = False  # whether weight decay acts on the parameter itself

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "eps": "epsilon value", "weight_decay": "weight_decay value"})
        for index, beta in enumerate(group["betas"]):
            if not 0 <= beta < 1:
                raise ArgumentError(f"Invalid beta parameter at index {index}: {beta}")

    def update(self, group: dict[str, Any]) -> None:
        for param in group["params"]:
            if param.grad is not None:
                self._update_one(param, group)

    def _update_one(self, param: Any, group: dict[str, Any]) -> None:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        grad = gradient(param, group, 0 if self.decoupled else decay)
        if self.decoupled and decay:
            param.mul_(1 - lr * decay)
        state = self._state(param, group["amsgrad"])
        state["step"] += 1
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        largest = square
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            largest.maximum_(square)
        divisor = (largest.sqrt() / (1 - beta2 ** state["step"]) ** 0.5).add_(group["eps"])
        param.addcdiv_(mean, divisor, value=-lr / (1 - beta1 ** state["step"]))

    def _state(self, param: Any, amsgrad: bool) -> dict[str, Any]:
        state = self.state[param]
        if not state:
            names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if amsgrad else ("exp_avg", "exp_avg_sq")
            state["step"] = 0
            state.update({name: likes.zeros_like(param) for name in names})
        return state


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself by lr * weight_decay (I. Loshchilov, F. Hutter, 2019)."""

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

"""Adafactor.

Its statistics are means of rows and columns, so a step is composed of operators: some twenty launches per parameter.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import ArgumentError
from ..tensor import factories, like_factories
from .optimizer import Optimizer, check_not_negative, check_number, check_pair, number, numbers

EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}


class Adafactor(Optimizer):
    """Adam that keeps the running square of a matrix as a vector of rows and one of columns.

    (N. Shazeer, M. Stern, 2018.)

    beta2_decay: step t adds the share t**beta2_decay of its squares to the running ones.
    eps: (the least root of a running square, the type's epsilon if None; the least size of a parameter).
    d: the step's root mean square is at most this, before the learning rate.
    weight_decay: shrinks param by lr times it.  foreach: for PyTorch's sake.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "weight_decay": "weight_decay value"})
        check_number(group, "beta2_decay")
        check_number(group, "d")
        check_pair(group, "eps", "(None, 1e-3)")
        if group["beta2_decay"] > 0:
            raise ArgumentError(
                f"beta2_decay should be <= 0 but is: {group['beta2_decay']}", hint="as in -0.8", operator="check"
            )
        if group["d"] < 1:
            raise ArgumentError(
                f"Clipping threshold d should be >= 1 but is: {group['d']}", hint="give 1 or more", operator="check"
            )
        for place, eps in enumerate(group["eps"]):
            if (eps is not None or place) and not number(eps) >= 0:
                raise ArgumentError(
                    f"epsilon{place + 1} should be >= 0 but is: {eps}", hint="as in (None, 1e-3)", operator="check"
                )

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        if param.grad.ndim < 2:
            return {"variance": like_factories.zeros_like(param.grad)}
        *rest, rows, columns = param.grad.shape
        options = {"dtype": param.grad.dtype, "device": param.grad.device}
        return {
            "row_var": factories.zeros(*rest, rows, 1, **options),
            "col_var": factories.zeros(*rest, 1, columns, **options),
        }

    def update(self, group: dict[str, Any]) -> None:
        for params, step in self.due(group):
            for param in params:
                self._change(param, group, step)

    def _change(self, param: Any, group: dict[str, Any], step: float) -> None:
        lr, decay, beta2_decay, longest = numbers(group, "lr", "weight_decay", "beta2_decay", "d")
        least_root, least_size = group["eps"]
        least_root = EPSILONS[param.dtype.name] if least_root is None else number(least_root)
        grad = -param.grad if group["maximize"] else param.grad
        count = math.sqrt(max(param.numel(), 1))
        size = (param.norm() / count).clamp(min=number(least_size)) * min(lr, 1 / math.sqrt(step))
        if decay:
            param.mul_(1 - lr * decay)
        variance = self._variance(self.state[param], grad, step**beta2_decay, least_root)
        change = variance.clamp(min=least_root * least_root).rsqrt() * grad
        limit = (change.norm() / (count * longest)).clamp(min=1.0)
        param.sub_(change * (size / limit))

    def _variance(self, state: dict[str, Any], grad: Any, share: float, least: float) -> Any:
        """The running square of the gradient, after this step's share has been added."""
        square = grad * grad
        if "variance" in state:
            return state["variance"].lerp_(square, share)
        rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), share)
        columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), share)
        return rows * columns / rows.mean(-2, keepdim=True).clamp(min=least)

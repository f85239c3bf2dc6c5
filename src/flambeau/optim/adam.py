"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import TensorCore
from ..errors import ArgumentError
from ..ops.operator import REGISTRY
from ..runtime.graph import refuse_capture
from ..tensor import likes
from . import capturable
from .optimizer import Optimizer, check_not_negative, with_gradients


class Adam(Optimizer):
    """Steps of the gradient's running mean over the root of its running square (D. Kingma, J. Ba, 2015).

    betas: how much of the mean and of the square each step keeps;  eps: added to the divisor.
    weight_decay: adds this much of param to the gradient;  amsgrad: divide by the largest running square so far.
    capturable: count steps on the parameter's device, so that `step` may be captured; it takes several launches more.
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
        capturable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "eps": "epsilon value", "weight_decay": "weight_decay value"})
        for index, beta in enumerate(group["betas"]):
            if not 0 <= beta < 1:
                raise ArgumentError(f"Invalid beta parameter at index {index}: {beta}")

    def update(self, group: dict[str, Any]) -> None:
        if group["capturable"]:
            self._update_capturable(group)
            return
        refuse_capture(
            f"{type(self).__name__}.step",
            "the number of the step is counted on the host, and every replay would repeat one step's corrections",
            f"make it with {type(self).__name__}(..., capturable=True), or call step() after each replay",
        )
        batches: dict[tuple[int, int], list[tuple[Any, dict[str, Any]]]] = {}
        for param in with_gradients(group):
            state = self.state[param] or self._begin(param, group["amsgrad"])
            batches.setdefault((param.device_index, state["step"] + 1), []).append((param, state))
        for (_, step), batch in batches.items():
            params, states = zip(*batch)
            self._step(params, states, step, group)
            for state in states:
                state["step"] = step

    def _update_capturable(self, group: dict[str, Any]) -> None:
        for param in with_gradients(group):
            state = self.state[param] or self._begin(param, group["amsgrad"])
            if not isinstance(state["step"], TensorCore):
                refuse_capture(
                    f"{type(self).__name__}.step",
                    "every replay would begin its running means anew",
                    "call step() once before the capture",
                )
                state["step"] = capturable.counter(param, state["step"])
            capturable.take_step(param, state, group, self.decoupled)

    def _step(self, params: Sequence[Any], states: Sequence[Any], step: int, group: dict[str, Any]) -> None:
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        REGISTRY["adam_step"](
            params,
            [each.grad for each in params],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
            lr / (1 - beta1**step),
            beta1,
            beta2,
            group["eps"],
            1 - lr * decay if self.decoupled else 1.0,
            0.0 if self.decoupled else decay,
            (1 - beta2**step) ** 0.5,
            bool(group["maximize"]),
        )

    def _begin(self, param: Any, amsgrad: bool) -> dict[str, Any]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if amsgrad else ("exp_avg", "exp_avg_sq")
        state = self.state[param] = {"step": 0} | {name: likes.zeros_like(param) for name in names}
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
        capturable: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, capturable=capturable)

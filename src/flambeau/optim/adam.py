"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import TensorBase
from ..dtypes import float32
from ..errors import ArgumentError, ArgumentTypeError, shown
from ..ops.operator import REGISTRY
from ..ops.optimizer_steps import corrected
from ..runtime.graph import refuse_capture
from ..tensor import checks, factories, likes
from .optimizer import Optimizer, check_not_negative, with_gradients


class Adam(Optimizer):
    """Steps of the gradient's running mean over the root of its running square (D. Kingma, J. Ba, 2015).

    betas: how much of the mean and of the square each step keeps;  eps: added to the divisor.
    weight_decay: adds this much of param to the gradient;  amsgrad: divide by the largest running square so far.
    capturable: count steps on the parameter's device, so that `step` may be captured; it takes one launch more.
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
        betas = group["betas"]
        if not isinstance(betas, (tuple, list)):
            raise ArgumentTypeError(
                f"betas must be two numbers, got {shown(betas)}", hint="as in (0.9, 0.999)", operator="check"
            )
        if len(betas) != 2:
            raise ArgumentError(f"betas must be two numbers, got {betas}", hint="as in (0.9, 0.999)", operator="check")
        for index, beta in enumerate(betas):
            checks.number("check", f"betas[{index}]", beta)
            if not 0 <= beta < 1:
                raise ArgumentError(
                    f"Invalid beta parameter at index {index}: {beta}",
                    hint="it is at least 0 and less than 1",
                    operator="check",
                )

    def update(self, group: dict[str, Any]) -> None:
        if group["capturable"]:
            self._update_capturable(group)
            return
        refuse_capture(
            f"{type(self).__name__}.step",
            "the number of the step is counted on the host, and every replay would repeat one step's corrections",
            f"make it with {type(self).__name__}(..., capturable=True), or call step() after each replay",
        )
        batches: dict[tuple[int, int], list[Any]] = {}
        for param in with_gradients(group):
            state = self.state[param] or self._begin(param, group["amsgrad"])
            batches.setdefault((param.device_index, state["step"] + 1), []).append(param)
        for (_, step), params in batches.items():
            beta1, beta2 = group["betas"]
            size, root = corrected(group["lr"], beta1, beta2, step)
            shrink, decay = self._decays(group)
            lists, maximize = self._lists(params, group["amsgrad"]), bool(group["maximize"])
            REGISTRY["adam_step"](*lists, size, beta1, beta2, group["eps"], shrink, decay, root, maximize)
            for param in params:
                self.state[param]["step"] = step

    def _update_capturable(self, group: dict[str, Any]) -> None:
        batches: dict[int, list[Any]] = {}
        for param in with_gradients(group):
            self._begin_counter(param, group["amsgrad"])
            batches.setdefault(param.device_index, []).append(param)
        for params in batches.values():
            steps = [self.state[each]["step"] for each in params]
            lists, maximize = self._lists(params, group["amsgrad"]), bool(group["maximize"])
            numbers = (group["lr"], *group["betas"], group["eps"], *self._decays(group))
            REGISTRY["counted_adam_step"](*lists, steps, *numbers, maximize)

    def _lists(self, params: Sequence[Any], amsgrad: bool) -> list[list[Any]]:
        """The five lists of tensors that a step takes."""
        states = [self.state[each] for each in params]
        return [
            list(params),
            [each.grad for each in params],
            [each["exp_avg"] for each in states],
            [each["exp_avg_sq"] for each in states],
            [each["max_exp_avg_sq"] for each in states] if amsgrad else [],
        ]

    def _decays(self, group: dict[str, Any]) -> tuple[float, float]:
        """A step's factor of the parameter, and how much of the parameter is added to the gradient."""
        decay = group["weight_decay"]
        return (1 - group["lr"] * decay, 0.0) if self.decoupled else (1.0, decay)

    def _begin_counter(self, param: Any, amsgrad: bool) -> None:
        """Make what is remembered of a parameter, its number of steps beside it, if that is not there."""
        step = self.state[param].get("step")
        if isinstance(step, TensorBase) and step.dtype is float32:
            return
        refuse_capture(
            f"{type(self).__name__}.step",
            "every replay would begin its running means anew",
            "call step() once before the capture",
        )
        state = self.state[param] or self._begin(param, amsgrad)
        state["step"] = _counter(state["step"], param)

    def _begin(self, param: Any, amsgrad: bool) -> dict[str, Any]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if amsgrad else ("exp_avg", "exp_avg_sq")
        state = self.state[param] = {"step": 0} | {name: likes.zeros_like(param) for name in names}
        return state


def _counter(step: Any, param: Any) -> Any:
    """A number of steps as a tensor beside `param`."""
    if isinstance(step, TensorBase):
        return step.to(param.device, float32)  # type: ignore[attr-defined]
    return factories.full((), step, dtype=float32, device=param.device)


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

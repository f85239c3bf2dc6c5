"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from ..core.tensor import TensorBase
from ..dtypes import float32
from ..ops.operator import REGISTRY
from ..ops.optimizer_steps import corrected
from ..tensor import likes
from .optimizer import (
    Optimizer,
    check_betas,
    check_not_negative,
    counter_beside,
    number,
    numbers,
    rate_for,
    with_gradients,
)


class Adam(Optimizer):
    """Steps of the gradient's running mean over the root of its running square (D. Kingma, J. Ba, 2015).

    betas: how much of the mean and of the square each step keeps;  eps: added to the divisor.
    weight_decay: adds this much of param to the gradient or, with decoupled_weight_decay, shrinks param by lr times it.
    amsgrad: divide by the largest running square so far.
    capturable: count steps on the parameter's device, so that `step` may be captured; it takes one launch more.  Then a
        learning rate that is a tensor there is read by each step, or replay, and the host does not wait for it.
    foreach, fused: for PyTorch's sake; a step always takes many parameters at once.
    """

    counts_on_device = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(betas, (tuple, list)):
            # ignored: tensors here are Tensors
            betas = tuple([each.item() if isinstance(each, TensorBase) else each for each in betas])  # type: ignore
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        check_not_negative(group, {"lr": "learning rate", "eps": "epsilon value", "weight_decay": "weight_decay value"})
        check_betas(group)

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return {name: likes.zeros_like(param) for name in names}

    def update(self, group: dict[str, Any]) -> None:
        if group["capturable"]:
            self._update_capturable(group)
            return
        lr, eps = numbers(group, "lr", "eps")
        beta1, beta2 = map(number, group["betas"])
        shrink, decay = self._decays(group, lr)
        maximize = bool(group["maximize"])
        for params, step in self.due(group):
            size, root = corrected(lr, beta1, beta2, step)
            lists = self._lists(params, group["amsgrad"])
            REGISTRY["adam_step"](*lists, size, beta1, beta2, eps, shrink, decay, root, maximize)

    def _update_capturable(self, group: dict[str, Any]) -> None:
        batches: dict[int, list[Any]] = {}
        for param in with_gradients(group):
            self._begin_counter(param, group)
            batches.setdefault(param.device_index, []).append(param)
        betas, (eps, decay) = tuple(map(number, group["betas"])), numbers(group, "eps", "weight_decay")
        for device, params in batches.items():
            lr, rate = rate_for(group, device)
            steps = [self.state[each]["step"] for each in params]
            lists, maximize = self._lists(params, group["amsgrad"]), bool(group["maximize"])
            decoupled = rate is not None and group["decoupled_weight_decay"]
            decays = (1.0, decay) if decoupled else self._decays(group, lr)
            REGISTRY["counted_adam_step"](*lists, steps, lr, *betas, eps, *decays, maximize, rate, decoupled)

    def _lists(self, params: list[Any], amsgrad: bool) -> list[list[Any]]:
        """The five lists of tensors that a step takes."""
        *lists, largest = self.lists(params, "exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return [*lists, largest if amsgrad else []]

    def _decays(self, group: dict[str, Any], lr: float) -> tuple[float, float]:
        """A step's factor of the parameter, and how much of the parameter is added to the gradient."""
        decay = number(group["weight_decay"])
        return (1 - lr * decay, 0.0) if group["decoupled_weight_decay"] else (1.0, decay)

    def _begin_counter(self, param: Any, group: dict[str, Any]) -> None:
        """Make a parameter's state, with the number of its steps on its device, if that is not there."""
        state = self.state[param]
        step = state.get("step")
        if isinstance(step, TensorBase) and step.dtype is float32 and step.device_index == param.device_index:
            return
        self._refuse_capture("every replay would begin its running means anew", "call step() once before the capture")
        if not state:
            state.update({"step": 0.0} | self.begin(param, group))
        state["step"] = counter_beside(state["step"], param)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself by lr * weight_decay (I. Loshchilov, F. Hutter, 2019)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

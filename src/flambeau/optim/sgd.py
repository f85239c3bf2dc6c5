"""Optimizers that step along the gradient, by its sign or along an orthogonal matrix: SGD, ASGD, Rprop, Muon."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import bfloat16
from ..errors import ArgumentError, shown
from ..host import np
from ..importer import listing
from ..ops.operator import REGISTRY
from ..runtime.device import CPU
from ..runtime.graph import refuse_capture
from ..tensor import factories, like_factories
from . import formulas
from .optimizer import (
    Optimizer,
    check_number,
    check_pair,
    found_on,
    number,
    numbers,
    options,
    rate_for,
    with_gradients,
)


class SGD(Optimizer):
    """Stochastic gradient descent: param -= lr * step.

    The step is the gradient or, with momentum, a decaying sum of gradients.

    lr: the learning rate.  A tensor on the parameters' device is read at each step or graph replay, without a wait.
    momentum: decay rate of the sum; 0 for none.
    dampening: a gradient enters the sum times 1 - dampening.
    weight_decay: weight_decay * parameter is added to the gradient.
    nesterov: look ahead by one step (I. Sutskever et al., 2013); needs a momentum and no dampening.
    foreach, fused: accepted for compatibility; a launch always updates many parameters.  With fused=True, `step` of a
        GradScaler does not wait.
    maximize: step along the gradient, not against it.
    differentiable: record `step` for autograd: gradients flow to the learning rate, to the parameters' gradients and to
        the old parameters.  The parameters must not be leaves; each is updated separately, by several launches.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> rate = torch.tensor(0.5, requires_grad=True)
        >>> weight = torch.tensor([1.0, 2.0], requires_grad=True).clone()
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> torch.optim.SGD([weight], lr=rate, differentiable=True).step()
        >>> weight.sum().backward()
        >>> rate.grad
        tensor(-3.7500)

        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.SGD([weight], lr=0.5)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([-1.0000,  2.1250], requires_grad=True)
    """

    _not_negative = "lr", "momentum", "weight_decay"
    formula = formulas.sgd
    _counters = frozenset()

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, options(locals()))

    @property
    def _step_supports_amp_scaling(self) -> bool:
        """True if the step, not GradScaler, skips steps that are not finite."""
        return bool(self.defaults.get("fused"))

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        check_number(group, "dampening")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ArgumentError(
                "Nesterov momentum requires a momentum and zero dampening, got "
                f"momentum={group['momentum']} and dampening={group['dampening']}",
                hint="pass for example momentum=0.9, dampening=0",
                operator="check",
            )

    def update(self, group: dict[str, Any]) -> None:
        momentum, dampening, decay = numbers(group, "momentum", "dampening", "weight_decay")
        batches: dict[tuple[int, bool], list[Any]] = {}
        for param in with_gradients(group):
            whole = bool(momentum) and self._begin_sum(param) or not dampening
            batches.setdefault((param.device_index, whole), []).append(param)
        for (device, whole), params in batches.items():
            lr, rate = rate_for(group, device)
            REGISTRY["sgd_step"](
                params,
                [param.grad for param in params],
                [self.state[param]["momentum_buffer"] for param in params] if momentum else [],
                lr,
                momentum,
                1.0 if whole else 1 - dampening,
                decay,
                bool(group["nesterov"]),
                bool(group["maximize"]),
                rate,
                found_on(self, params[0]),
            )

    def _begin_sum(self, param: Any) -> bool:
        """Make a parameter's sum of gradients unless it exists; return whether it was made."""
        if self.state[param].get("momentum_buffer") is not None:
            return False
        refuse_capture(
            "SGD.step",
            "every replay would reset its sums of gradients",
            "call step() once before the capture",
        )
        self.state[param]["momentum_buffer"] = like_factories.zeros_like(param)
        return True


class ASGD(Optimizer):
    """Averaged stochastic gradient descent; the average of each parameter is the entry "ax" of its state.

    B. Polyak, A. Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992.

    lambd, alpha: the rate of a step is lr / (1 + lambd * lr * step)**alpha.  First, the parameter is multiplied by
        1 - lambd * rate.
    t0: number of steps before averaging begins.
    weight_decay: weight_decay * parameter is added to the gradient.
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`; each parameter is then
        updated on its own, by about 25 launches.
    foreach: has no effect: the optimizer chooses how many parameters a launch updates.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.ASGD([weight], lr=0.5, lambd=0.0)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([-1.0000,  2.1250], requires_grad=True)
    """

    counts_on_device = _captures_formula = True
    _counters = frozenset({"step", "eta", "mu"})
    _not_negative = "lr", "weight_decay"
    formula = formulas.asgd

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
        super().__init__(params, options(locals()))

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        for name in ("lambd", "alpha", "t0"):
            check_number(group, name)

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        lr = number(group["lr"])
        return {
            "eta": factories.tensor(lr, device=CPU),
            "mu": factories.tensor(1.0, device=CPU),
            "ax": like_factories.zeros_like(param),
        }

    def update(self, group: dict[str, Any]) -> None:
        lr, lambd, alpha, t0, decay = numbers(group, "lr", "lambd", "alpha", "t0", "weight_decay")
        for due, step in self.due(group):
            for numbers_of_state, params in self.alike(due, "eta", "mu"):
                eta, mu = map(float, numbers_of_state)
                lists, maximize = self.lists(params, "ax"), bool(group["maximize"])
                REGISTRY["asgd_step"](*lists, maximize, decay, eta, 1 - lambd * eta, mu)
                # in float32, as PyTorch computes them, where a loaded state has another type too
                eta, mu = np.float32(lr / (1 + lambd * lr * step) ** alpha), np.float32(1 / max(1, step - t0))
                for param in params:
                    self.cell(param, "eta")[...] = eta
                    self.cell(param, "mu")[...] = mu


class Rprop(Optimizer):
    """Rprop (resilient propagation): steps by the gradient's sign, with a step size that adapts for each element.

    M. Riedmiller, H. Braun, "A Direct Adaptive Method for Faster Backpropagation Learning", 1993.

    lr: the first step size.
    etas: the factors of the step size: (after a change of the gradient's sign, without a change).
    step_sizes: (least, largest) step size.
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`.
    foreach: has no effect: the optimizer chooses how many parameters a launch updates.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Rprop([weight], lr=0.5)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.5000, 2.5000])
    """

    counts_on_device = True
    _not_negative = ("lr",)
    formula = formulas.rprop

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
        super().__init__(params, options(locals()))

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        check_pair(group, "etas", "(0.5, 1.2)")
        check_pair(group, "step_sizes", "(1e-6, 50)")
        shrinking, growing = group["etas"]
        if not 0 < shrinking < 1 < growing:
            raise ArgumentError(
                f"Invalid eta values: {shrinking}, {growing}",
                hint="pass (etaminus, etaplus) with 0 < etaminus < 1 < etaplus",
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


class Muon(Optimizer):
    """Muon: steps along the running mean of gradients, made nearly orthogonal; for parameters that are matrices.

    K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.

    weight_decay: the parameter is multiplied by 1 - lr * weight_decay.
    momentum: decay rate of the running mean.  nesterov: average the gradient into the mean a second time for the step.
    ns_coefficients, ns_steps: coefficients and number of steps of the Newton-Schulz iteration, which runs in bfloat16.
    eps: the least norm by which the iteration divides.
    adjust_lr_fn: "original" (or None) multiplies lr by sqrt(max(1, rows / columns)), "match_rms_adamw" by
        0.2 * sqrt(max(rows, columns)).
    Every parameter is updated on its own, by about 20 launches.
    Raises: ArgumentError for parameters that are not matrices, and for an option that is out of range.
    Example:
        >>> weight = torch.nn.Parameter(torch.zeros(2, 2))
        >>> optimizer = torch.optim.Muon([weight], lr=1.0)
        >>> weight.grad = torch.eye(2)
        >>> optimizer.step()
        >>> 0.5 < -weight[0, 0].item() < 1.4, weight[0, 1].item()
        (True, 0.0)
    """

    _not_negative = "lr", "momentum", "weight_decay"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        super().__init__(params, options(locals()))

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        if group["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ArgumentError(
                f"adjust_lr_fn {shown(group['adjust_lr_fn'])} is not supported",
                hint="use 'original', 'match_rms_adamw' or None",
                operator="check",
            )
        if len(group["ns_coefficients"]) != 3 or not group["ns_steps"] < 100:
            raise ArgumentError(
                f"expected 3 ns_coefficients and ns_steps below 100, got {group['ns_coefficients']} and "
                f"{group['ns_steps']}",
                hint="leave ns_coefficients and ns_steps out for the defaults",
                operator="check",
            )
        for param in group["params"]:
            if param.ndim != 2:
                raise ArgumentError(
                    f"only matrices are supported, got a parameter of shape {list(param.shape)}",
                    hint="give other parameters to another optimizer, such as AdamW",
                    operator="check",
                )

    def update(self, group: dict[str, Any]) -> None:
        lr, momentum, decay = numbers(group, "lr", "momentum", "weight_decay")
        for param in with_gradients(group):
            state = self.state[param]
            if "momentum_buffer" not in state:
                self._refuse_capture("every replay would reset its sums of gradients", "call step() once before")
                state["momentum_buffer"] = like_factories.zeros_like(param.grad)
            total = state["momentum_buffer"].lerp_(param.grad, 1 - momentum)
            step = param.grad.lerp(total, momentum) if group["nesterov"] else total
            step = _orthogonal(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
            param.mul_(1 - lr * decay)
            param.add_(step, alpha=-lr * _share(group["adjust_lr_fn"], *param.shape))


def _share(adjust: str | None, rows: int, columns: int) -> float:
    """Return the factor of Muon's learning rate for a matrix."""
    if adjust == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(matrix: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """Return a matrix with the same singular vectors and singular values near 1, by the Newton-Schulz iteration."""
    one, gram_factor, square_factor = coefficients
    now = matrix.to(bfloat16)
    is_tall = now.shape[0] > now.shape[1]
    now = now.T if is_tall else now
    now = now / now.norm().clamp(min=eps)
    for _ in range(steps):
        gram = now @ now.T
        change = gram.addmm(gram, gram, beta=gram_factor, alpha=square_factor)
        now = now.addmm(change, now, beta=one)
    return now.T if is_tall else now


__all__ = ["ASGD", "Muon", "Rprop", "SGD"]
__dir__ = listing(globals())

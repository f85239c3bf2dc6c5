"""Adam and its variants: AdamW, Adamax, NAdam, RAdam."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import TensorBase
from ..dtypes import float32
from ..errors import ArgumentError, shown
from ..importer import listing
from ..ops.operator import REGISTRY
from ..ops.optimizer_steps import corrected
from ..runtime.device import CPU
from ..tensor import factories, like_factories
from . import formulas
from .formulas import LEAST_LENGTH, MOMENTUM_BASE
from .optimizer import (
    Optimizer,
    check_betas,
    counter_beside,
    found_on,
    number,
    numbers,
    options,
    rate_for,
    with_gradients,
)


class _AdamLike(Optimizer):
    """Base of optimizers with the options lr, betas, eps and weight_decay."""

    _not_negative: tuple[str, ...] = ("lr", "eps", "weight_decay")

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        check_betas(group)


def _decays(group: dict[str, Any], lr: float) -> tuple[float, float]:
    """Return a step's weight decay: (factor of the parameter, its share that is added to the gradient)."""
    decay = number(group["weight_decay"])
    return (1 - lr * decay, 0.0) if group["decoupled_weight_decay"] else (1.0, decay)


class Adam(_AdamLike):
    """Adam: steps along the running mean of gradients, divided by the root of the running mean of squared gradients.

    D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015.

    betas: decay rates of the running means of gradients and of squared gradients, in [0, 1).
    eps: added to the divisor.
    weight_decay: weight_decay * parameter is added to the gradient; with decoupled_weight_decay the parameter is
        multiplied by 1 - lr * weight_decay instead.
    amsgrad: divide by the root of the largest running mean of squared gradients so far.
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`; one more launch per
        step.  A learning rate that is a tensor on that device is then read at each step or replay of the graph, without
        a wait.
    foreach, fused: accepted for compatibility; a launch always updates many parameters.  With fused=True, `step` of a
        GradScaler does not wait.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Adam([weight], lr=0.5)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.5000, 2.5000])
    """

    counts_on_device = True
    _zeros = "exp_avg", "exp_avg_sq"
    formula = formulas.adam

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
        defaults, name = options(locals()), type(self).__name__
        if isinstance(betas, (tuple, list)) and len({isinstance(beta, TensorBase) for beta in betas}) > 1:
            raise ArgumentError(
                f"betas must be either both floats or both Tensors, got {shown(betas)}",
                hint="convert one of them",
                operator=name,
            )
        if isinstance(lr, TensorBase) and foreach and not capturable:
            raise ArgumentError(
                "lr as a Tensor is not supported for capturable=False and foreach=True",
                hint="leave foreach out, or set capturable=True",
                operator=name,
            )
        super().__init__(params, defaults)

    @property
    def _step_supports_amp_scaling(self) -> bool:
        """True if the step, not GradScaler, skips steps that are not finite; it is then counted on the device."""
        return bool(self.defaults.get("fused"))

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        largest = {"max_exp_avg_sq": like_factories.zeros_like(param)} if group["amsgrad"] else {}
        return super().begin(param, group) | largest

    def update(self, group: dict[str, Any]) -> None:
        if group["capturable"] or self.found_inf is not None:
            self._update_capturable(group)
            return
        lr, eps = numbers(group, "lr", "eps")
        beta1, beta2 = map(number, group["betas"])
        shrink, decay = _decays(group, lr)
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
            steps = [self.state[param]["step"] for param in params]
            lists, maximize = self._lists(params, group["amsgrad"]), bool(group["maximize"])
            decoupled = rate is not None and group["decoupled_weight_decay"]
            decays = (1.0, decay) if decoupled else _decays(group, lr)
            values = lr, *betas, eps, *decays, maximize, rate, decoupled, found_on(self, params[0])
            REGISTRY["counted_adam_step"](*lists, steps, *values)

    def _lists(self, params: list[Any], amsgrad: bool) -> list[list[Any]]:
        """Return the five lists of tensors that a step takes."""
        if amsgrad:
            return self.lists(params, *self._zeros, "max_exp_avg_sq")
        return [*self.lists(params, *self._zeros), []]

    def _begin_counter(self, param: Any, group: dict[str, Any]) -> None:
        """Make a parameter's state with a step counter on its device, unless it exists."""
        state = self.state[param]
        step = state.get("step")
        if isinstance(step, TensorBase) and step.dtype is float32 and step.device_index == param.device_index:
            return
        self._refuse_capture("every replay would reset its running means", "call step() once before the capture")
        if not state:
            state.update({"step": 0.0} | self.begin(param, group))
        state["step"] = counter_beside(state["step"], param)


class AdamW(Adam):
    """Adam whose weight decay multiplies the parameter by 1 - lr * weight_decay.

    I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019.

    The options are those of Adam.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.AdamW([weight], lr=0.5, weight_decay=0.5)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.2500, 2.0000])
    """

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
        super().__init__(params, **options(locals()), decoupled_weight_decay=True)


class Adamax(_AdamLike):
    """Adamax: Adam that divides by a decaying maximum of the gradient's absolute value.

    D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015, section 7.1.

    betas: decay rates of the running mean of gradients and of the maximum, in [0, 1).
    eps: added to the absolute value.
    weight_decay: weight_decay * parameter is added to the gradient.
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`; each parameter is then
        updated on its own, by about 20 launches.
    foreach: has no effect: the optimizer chooses how many parameters a launch updates.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Adamax([weight], lr=0.5)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.5000, 2.5000])
    """

    counts_on_device = _captures_formula = True
    _zeros = "exp_avg", "exp_inf"
    formula = formulas.adamax

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()))

    def update(self, group: dict[str, Any]) -> None:
        lr, decay, eps = numbers(group, "lr", "weight_decay", "eps")
        beta1, beta2 = map(number, group["betas"])
        for params, step in self.due(group):
            lists, rate = self.lists(params, *self._zeros), lr / (1 - beta1**step)
            REGISTRY["adamax_step"](*lists, bool(group["maximize"]), decay, rate, beta1, beta2, eps)


class NAdam(_AdamLike):
    """NAdam: Adam with Nesterov's momentum.

    T. Dozat, "Incorporating Nesterov Momentum into Adam", 2016.

    betas: decay rates of the running means of gradients and of squared gradients, in [0, 1).
    eps: added to the divisor.
    weight_decay: weight_decay * parameter is added to the gradient; with decoupled_weight_decay the parameter is
        multiplied by 1 - lr * weight_decay instead.
    momentum_decay: rate at which the momentum approaches betas[0].
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`; each parameter is then
        updated on its own, by about 45 launches.
    foreach: has no effect: the optimizer chooses how many parameters a launch updates.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.NAdam([weight], lr=0.5)
        >>> weight.grad = torch.tensor([4.0])
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.4718], requires_grad=True)
    """

    _not_negative = *_AdamLike._not_negative, "momentum_decay"
    counts_on_device = _captures_formula = True
    _counters = frozenset({"step", "mu_product"})
    _zeros = "exp_avg", "exp_avg_sq"
    formula = formulas.nadam

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()))

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"mu_product": factories.tensor(1.0, device=CPU)} | super().begin(param, group)

    def update(self, group: dict[str, Any]) -> None:
        lr, eps, momentum_decay = numbers(group, "lr", "eps", "momentum_decay")
        beta1, beta2 = map(number, group["betas"])
        shrink, decay = _decays(group, lr)
        for due, step in self.due(group):
            now = beta1 * (1 - 0.5 * MOMENTUM_BASE ** (step * momentum_decay))
            following = beta1 * (1 - 0.5 * MOMENTUM_BASE ** ((step + 1) * momentum_decay))
            for (product,), params in self.alike(due, "mu_product"):
                product = product * now  # in float32, as PyTorch keeps it
                values = lr * (1 - now) / (1 - float(product)), lr * following / (1 - float(product) * following)
                lists, root = self.lists(params, *self._zeros), math.sqrt(1 - beta2**step)
                maximize = bool(group["maximize"])
                REGISTRY["nadam_step"](*lists, maximize, decay, *values, beta1, beta2, eps, shrink, root)
                for param in params:
                    self.cell(param, "mu_product")[...] = product


class RAdam(_AdamLike):
    """RAdam: Adam that steps along the running mean of gradients alone until that of squared gradients is reliable.

    L. Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020.

    betas: decay rates of the running means of gradients and of squared gradients, in [0, 1).
    eps: added to the divisor.
    weight_decay: weight_decay * parameter is added to the gradient; with decoupled_weight_decay the parameter is
        multiplied by 1 - lr * weight_decay instead.
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`; each parameter is then
        updated on its own, by about 40 launches.
    foreach: has no effect: the optimizer chooses how many parameters a launch updates.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.RAdam([weight], lr=0.125)
        >>> weight.grad = torch.tensor([4.0])
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.5000], requires_grad=True)
    """

    counts_on_device = _captures_formula = True
    _zeros = "exp_avg", "exp_avg_sq"
    formula = formulas.radam

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()))

    def update(self, group: dict[str, Any]) -> None:
        lr, eps = numbers(group, "lr", "eps")
        beta1, beta2 = map(number, group["betas"])
        shrink, decay = _decays(group, lr)
        for params, step in self.due(group):
            lists, size = self.lists(params, *self._zeros), lr / (1 - beta1**step)
            maximize, rectified = bool(group["maximize"]), _rectification(beta2, step)
            REGISTRY["radam_step"](*lists, maximize, decay, size, rectified, beta1, beta2, eps, shrink)


def _rectification(beta2: float, step: float) -> float:
    """Return RAdam's factor of an adaptive step; 0 while the running square's variance is unknown."""
    correction = 1 - beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / correction
    if length <= LEAST_LENGTH:
        return 0.0
    share = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return math.sqrt(share) * math.sqrt(correction)


__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]
__dir__ = listing(globals())

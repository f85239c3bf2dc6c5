"""Optimizers that scale each element's step by its past gradients: Adagrad, Adadelta, RMSprop, Adafactor."""

from __future__ import annotations

import math
from typing import Any

from ..errors import ArgumentError
from ..importer import listing
from ..ops.operator import REGISTRY
from ..runtime.device import CPU
from ..tensor import factories, like_factories
from . import formulas
from .optimizer import Optimizer, check_number, check_pair, number, numbers, options

EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}


class Adagrad(Optimizer):
    """Adagrad: steps along the gradient, divided by the root of the sum of all squared gradients so far.

    J. Duchi et al., "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011.

    lr_decay: step t has the rate lr / (1 + (t - 1) * lr_decay).
    weight_decay: weight_decay * parameter is added to the gradient.
    initial_accumulator_value: the start of each sum.
    eps: added to the divisor.
    foreach, fused: accepted for compatibility; a launch always updates many parameters.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is negative or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Adagrad([weight], lr=0.5)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.5000, 2.5000])
    """

    _not_negative = "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"
    formula = formulas.adagrad

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
        super().__init__(params, options(locals()))
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = {"step": factories.tensor(0.0, device=CPU)} | self.begin(param, group)

    def share_memory(self) -> None:
        """Move the sums of squared gradients to shared memory, which other processes can map.

        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([4.0]))
            >>> optimizer = torch.optim.Adagrad([weight])
            >>> optimizer.share_memory()
            >>> optimizer.state[weight]["sum"].is_shared()
            True
        """
        for state in self.state.values():
            state["sum"].share_memory_()

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        # PyTorch reads the option of the constructor alone, also where a group has its own
        return {"sum": like_factories.full_like(param, number(self.defaults["initial_accumulator_value"]))}

    def update(self, group: dict[str, Any]) -> None:
        lr, lr_decay, decay, eps = numbers(group, "lr", "lr_decay", "weight_decay", "eps")
        for params, step in self.due(group):
            rate = lr / (1 + (step - 1) * lr_decay)
            REGISTRY["adagrad_step"](*self.lists(params, "sum"), bool(group["maximize"]), decay, rate, eps)


class Adadelta(Optimizer):
    """Adadelta: scales gradients by the running means of squared steps and squared gradients.

    M. Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.

    rho: decay rate of both running means, in [0, 1].
    eps: added to both.
    weight_decay: weight_decay * parameter is added to the gradient.
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`.
    foreach: has no effect: the optimizer chooses how many parameters a launch updates.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adadelta([weight], rho=0.75, eps=1.0)
        >>> weight.grad = torch.tensor([4.0])
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([-0.7889], requires_grad=True)
    """

    counts_on_device = True
    _not_negative = "lr", "rho", "eps", "weight_decay"
    _zeros = "square_avg", "acc_delta"
    formula = formulas.adadelta

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()))

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
        if number(group["rho"]) > 1:
            raise ArgumentError(f"Invalid rho value: {group['rho']}", hint="pass rho between 0 and 1", operator="check")

    def update(self, group: dict[str, Any]) -> None:
        values = numbers(group, "weight_decay", "lr", "rho", "eps")
        for params, _ in self.due(group):
            REGISTRY["adadelta_step"](*self.lists(params, *self._zeros), bool(group["maximize"]), *values)


class RMSprop(Optimizer):
    """RMSprop: steps along the gradient, divided by the root of the running mean of squared gradients.

    G. Hinton, "Neural Networks for Machine Learning", lecture 6e, 2012.

    alpha: decay rate of the running mean.
    eps: added to the divisor.
    weight_decay: weight_decay * parameter is added to the gradient.
    momentum: decay rate of a running sum of the steps, which then replaces the step; 0 for none.
    centered: divide by the gradient's running standard deviation instead of the root.
    capturable: count steps on the parameter's device, so that a CUDA graph can capture `step`.
    foreach: has no effect: the optimizer chooses how many parameters a launch updates.
    maximize: step along the gradient, not against it.  differentiable: see SGD.
    Raises: ArgumentError, ArgumentTypeError for an option that is negative or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.RMSprop([weight], lr=0.25, alpha=0.75)
        >>> weight.grad = torch.tensor([4.0, -0.25])
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.5000, 2.5000])
    """

    counts_on_device = True
    _not_negative = "lr", "eps", "momentum", "weight_decay", "alpha"
    formula = formulas.rmsprop

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()))

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        names = ["square_avg"]
        names += ["momentum_buffer"] if group["momentum"] > 0 else []
        names += ["grad_avg"] if group["centered"] else []
        return {name: like_factories.zeros_like(param) for name in names}

    def update(self, group: dict[str, Any]) -> None:
        decay, lr, alpha, eps, momentum = numbers(group, "weight_decay", "lr", "alpha", "eps", "momentum")
        for params, _ in self.due(group):
            *lists, buffers, means = self.lists(params, "square_avg", "momentum_buffer", "grad_avg")
            lists += [buffers if momentum > 0 else [], means if group["centered"] else []]
            REGISTRY["rmsprop_step"](*lists, bool(group["maximize"]), decay, lr, alpha, eps, momentum)


class Adafactor(Optimizer):
    """Adafactor: scales gradients by running mean squares, of which only those per row and per column are stored.

    N. Shazeer, M. Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018.

    beta2_decay: the gradient of step t has the weight t**beta2_decay in the running mean squares; 0 or less.
    eps: two lower bounds: the first of the root of a running mean square, None for the dtype's epsilon; the second of
        the parameter's root mean square, by which its steps are multiplied.
    d: a step with a root mean square above d is scaled down to d before the learning rate is applied; 1 or more.
    weight_decay: the parameter is multiplied by 1 - lr * weight_decay.
    foreach: has no effect: every parameter is updated on its own, by about 20 launches.
    maximize: step along the gradient, not against it.
    Raises: ArgumentError, ArgumentTypeError for an option that is out of range or not a number.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([[1.0, 2.0]]))
        >>> optimizer = torch.optim.Adafactor([weight], lr=0.5)
        >>> weight.grad = torch.tensor([[4.0, -4.0]])
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([[0.2094, 2.7906]], requires_grad=True)
    """

    _not_negative = "lr", "weight_decay"

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
        super().__init__(params, options(locals()))

    def check(self, group: dict[str, Any]) -> None:
        super().check(group)
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
        for index, eps in enumerate(group["eps"]):
            if (eps is not None or index) and not number(eps) >= 0:
                raise ArgumentError(
                    f"epsilon{index + 1} should be >= 0 but is: {eps}", hint="as in (None, 1e-3)", operator="check"
                )

    def begin(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        if param.grad.ndim < 2:
            return {"variance": like_factories.zeros_like(param.grad)}
        *rest, rows, columns = param.grad.shape
        placed = {"dtype": param.grad.dtype, "device": param.grad.device}
        return {
            "row_var": factories.zeros(*rest, rows, 1, **placed),
            "col_var": factories.zeros(*rest, 1, columns, **placed),
        }

    def update(self, group: dict[str, Any]) -> None:
        for params, step in self.due(group):
            for param in params:
                self._update_param(param, group, step)

    def _update_param(self, param: Any, group: dict[str, Any], step: float) -> None:
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
        """Return the gradient's running square, after this step's share has been added."""
        square = grad * grad
        if "variance" in state:
            return state["variance"].lerp_(square, share)
        rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), share)
        columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), share)
        return rows * columns / rows.mean(-2, keepdim=True).clamp(min=least)


__all__ = ["Adadelta", "Adafactor", "Adagrad", "RMSprop"]
__dir__ = listing(globals())

"""Learning rates that change with the number of steps.

All but LambdaLR compute the rate of step t from the rate of step t - 1, as PyTorch does, so that rates set by hand in
between count.  A scheduler that goes on from a step takes the optimizer's rates as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import trace
from ..errors import ArgumentError, ArgumentTypeError, NamingError, NotSupportedError, shown
from ..errors import no_attribute as _no_attribute
from ..tensor import checks
from .optimizer import Optimizer


class LRScheduler:
    """Sets the "lr" of an optimizer's groups at each `step`; the first one is made when the scheduler is.

    last_epoch: the step to go on from; -1 starts anew.
    base_lrs: each group's rate at the start.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self._check_optimizer(optimizer)
        checks.integer(type(self).__name__, "last_epoch", last_epoch)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group["initial_lr"] = group["lr"]
            elif "initial_lr" not in group:
                raise NamingError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming at step {last_epoch}",
                    hint="load the optimizer's state_dict first, or leave out last_epoch to start anew",
                    operator=type(self).__name__,
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr: list[float] = []
        self._has_stepped = False
        self._starting = True
        self.step()
        self._starting = False

    def _check_optimizer(self, optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                f"{type(optimizer).__name__} is not an Optimizer: {shown(optimizer)}",
                hint="as in torch.optim.SGD(...)",
                operator=type(self).__name__,
            )

    def get_lr(self) -> list[float]:
        """Each group's rate at step `last_epoch`."""
        raise NotSupportedError("get_lr is not defined", hint="define get_lr(self)", operator=type(self).__name__)

    def get_last_lr(self) -> list[float]:
        """Each group's rate as the last step set it."""
        return self._last_lr

    def step(self) -> None:
        """Go on by one step and set the rates.  Warns if this comes before the optimizer's first step."""
        if not self._starting and not self._has_stepped:
            self._has_stepped = True
            if not self.optimizer.has_stepped and type(self.optimizer).step is Optimizer.step:
                trace.warn(
                    f"{type(self).__name__}: Detected call of `lr_scheduler.step()` before `optimizer.step()`: the "
                    "first rate of the schedule is skipped; call optimizer.step() first"
                )
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = rate
        self._last_lr = self._rates()

    def _rates(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict gave."""
        if not isinstance(state_dict, dict):
            raise ArgumentTypeError(
                f"state_dict must be a dict, got {shown(state_dict)}",
                hint="give what state_dict() gave",
                operator="load_state_dict",
            )
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The starting rate times a function of the step; one function, or one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._check_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        )
        if len(self.lr_lambdas) != groups:
            raise ArgumentError(
                f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}",
                hint="give one function for all groups, or one for each",
                operator="LambdaLR",
            )
        for index, each in enumerate(self.lr_lambdas):
            checks.function("LambdaLR", f"lr_lambda[{index}]", each)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factors = [each(self.last_epoch) for each in self.lr_lambdas]
        for index, each in enumerate(factors):
            checks.number("LambdaLR", f"what lr_lambda[{index}] returns", each)
        return [base * factor for base, factor in zip(self.base_lrs, factors)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and the functions."""
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class StepLR(LRScheduler):
    """Multiply the rate by gamma every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        _check_positive("StepLR", "step_size", step_size)
        checks.number("StepLR", "gamma", gamma)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        turns = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if turns else rate for rate in self._rates()]


class ExponentialLR(LRScheduler):
    """Multiply the rate by gamma every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        checks.number("ExponentialLR", "gamma", gamma)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._rates() if self._starting else [rate * self.gamma for rate in self._rates()]


class LinearLR(LRScheduler):
    """From start_factor times the starting rate to end_factor times it, in total_iters even steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        checks.number("LinearLR", "start_factor", start_factor)
        checks.number("LinearLR", "end_factor", end_factor)
        checks.count("LinearLR", "total_iters", total_iters)
        if not 0 < start_factor <= 1:
            raise ArgumentError(
                f"starting multiplicative factor must be in (0, 1], got {start_factor}",
                hint="it is a factor of the optimizer's lr; raise that to go above",
                operator="LinearLR",
            )
        if not 0 <= end_factor <= 1:
            raise ArgumentError(
                f"ending multiplicative factor must be in [0, 1], got {end_factor}",
                hint="it is a factor of the optimizer's lr; raise that to go above",
                operator="LinearLR",
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._starting or self.last_epoch > self.total_iters:
            return self._rates()
        span = self.end_factor - self.start_factor
        done = self.total_iters * self.start_factor + (self.last_epoch - 1) * span
        return [rate * (1.0 + span / done) for rate in self._rates()]


class CosineAnnealingLR(LRScheduler):
    """From the starting rate down to eta_min along half a cosine of T_max steps (I. Loshchilov, F. Hutter, 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        _check_positive("CosineAnnealingLR", "T_max", T_max)
        checks.number("CosineAnnealingLR", "eta_min", eta_min)
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step, period, low = self.last_epoch, self.T_max, self.eta_min
        if self._starting:
            return self._rates()
        if (step - 1 - period) % (2 * period) == 0:
            rise = (1 - math.cos(math.pi / period)) / 2
            return [rate + (base - low) * rise for rate, base in zip(self._rates(), self.base_lrs)]
        ratio = (1 + math.cos(math.pi * step / period)) / (1 + math.cos(math.pi * (step - 1) / period))
        return [ratio * (rate - low) + low for rate in self._rates()]


def _check_positive(name: str, what: str, steps: Any) -> None:
    """Raise ArgumentTypeError or ArgumentError unless it is a number of steps."""
    checks.number(name, what, steps)
    if not steps > 0:
        raise ArgumentError(f"{what} must be positive, got {steps}", hint="give a number of steps", operator=name)


__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "StepLR"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

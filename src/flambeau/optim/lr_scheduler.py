"""Learning rates that change with the number of steps.

All but LambdaLR compute the rate of step t from the rate of step t - 1, as PyTorch does, so that rates set by hand in
between count.  A scheduler that goes on from a step takes the optimizer's rates as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError
from .optimizer import Optimizer


class LRScheduler:
    """Sets the "lr" of an optimizer's groups at each `step`; the first one is made when the scheduler is.

    last_epoch: the step to go on from; -1 starts anew.
    base_lrs: each group's rate at the start.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(f"{type(self).__name__}: {type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group["initial_lr"] = group["lr"]
            elif "initial_lr" not in group:
                raise ArgumentError(
                    f"{type(self).__name__}: param 'initial_lr' is not specified in param_groups[{index}] when "
                    "resuming at "
                    f"step {last_epoch}"
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr: list[float] = []
        self._starting = True
        self.step()
        self._starting = False

    def get_lr(self) -> list[float]:
        """Each group's rate at step `last_epoch`."""
        raise NotSupportedError(f"{type(self).__name__}: get_lr is not defined", hint="define get_lr(self)")

    def get_last_lr(self) -> list[float]:
        """Each group's rate as the last step set it."""
        return self._last_lr

    def step(self) -> None:
        """Go on by one step and set the rates."""
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
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The starting rate times a function of the step; one function, or one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        )
        if len(self.lr_lambdas) != groups:
            raise ArgumentError(f"LambdaLR: Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and the functions."""
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class StepLR(LRScheduler):
    """Multiply the rate by gamma every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        turns = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if turns else rate for rate in self._rates()]


class ExponentialLR(LRScheduler):
    """Multiply the rate by gamma every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
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
        if not 0 < start_factor <= 1:
            raise ArgumentError(f"LinearLR: starting multiplicative factor must be in (0, 1], got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ArgumentError(f"LinearLR: ending multiplicative factor must be in [0, 1], got {end_factor}")
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


__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "StepLR"]

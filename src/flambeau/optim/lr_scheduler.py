"""Learning rates that change with the number of steps.

Most schedulers compute the rate of step t from the rate of step t - 1, as PyTorch does: a rate that the program sets in
between is kept.  A scheduler that resumes from a step uses the optimizer's current rates.  A rate that is a tensor is
written in place.
"""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import callers
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, NamingError, NotSupportedError, ShapeError, naming, shown
from ..errors import no_attribute as _no_attribute
from ..importer import listing
from ..tensor import checks
from ..tensor.tensor import Tensor
from .optimizer import Optimizer, number


class LRScheduler:
    """Base class of schedulers, which set the "lr" of an optimizer's groups; the constructor performs step 0.

    Subclasses define `get_lr` and, for `step(epoch)`, `_get_closed_form_lr`, which does not use the previous rate.
    last_epoch: the step to resume from; -1 starts from step 0.
    The attribute base_lrs holds each group's initial rate.
    Raises: ArgumentTypeError for an object that is not an Optimizer, NamingError for a last_epoch other than -1 with
            groups that have no "initial_lr".
    Example:
        >>> class Harmonic(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [rate / (1 + self.last_epoch) for rate in self.base_lrs]
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = Harmonic(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [4.0]
    """

    _is_initial = False
    _get_lr_called_within_step = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self._check_optimizer(optimizer)
        checks.integer(type(self).__name__, "last_epoch", last_epoch)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise NamingError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming at step {last_epoch}",
                    hint="load the optimizer's state_dict first, or leave out last_epoch to start from step 0",
                    operator=type(self).__name__,
                )
        self.base_lrs: list[Any] = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _check_optimizer(self, optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                f"{type(optimizer).__name__} is not an Optimizer: {shown(optimizer)}",
                hint="as in torch.optim.SGD(...)",
                operator=type(self).__name__,
            )

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """Return a list with each group's learning rate for step `last_epoch`.

        Subclasses define this method, and `step` calls it.  Read the current rates with `get_last_lr`.
        Raises: NotSupportedError if the class does not define it; ArgumentError in OneCycleLR after the last step.
        Example:
            >>> class Fixed(torch.optim.lr_scheduler.LRScheduler):
            ...     def get_lr(self):
            ...         return [0.25 for group in self.optimizer.param_groups]
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> Fixed(optimizer).get_last_lr()
            [0.25]
        """
        raise NotSupportedError("get_lr is not defined", hint="define get_lr(self)", operator=type(self).__name__)

    def get_last_lr(self) -> list[Any]:
        """Return a list with each group's learning rate, as set by the last step.

        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5).get_last_lr()
            [8.0]
        """
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Advance by one step and set the rates; call it after the optimizer's step.

        epoch: go to this step instead of the next one.  It is deprecated: a warning says so.
        Warns if it is called before the optimizer's first step.
        Raises: ArgumentTypeError for an epoch that is not a number.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
            >>> optimizer.step()
            >>> scheduler.step()
            >>> optimizer.param_groups[0]["lr"]
            4.0
        """
        if epoch is not None:
            self._warn_of_epoch(epoch)
        if self._step_count == 1 and not self.optimizer.has_stepped:
            callers.warn(
                f"{type(self).__name__}: Detected call of `lr_scheduler.step()` before `optimizer.step()`: the "
                "first rate of the schedule is skipped; call optimizer.step() first"
            )
        self._step_count += 1
        self._update_lr(epoch)

    def _warn_of_epoch(self, epoch: int) -> None:
        checks.number(type(self).__name__, "epoch", epoch)
        callers.warn(
            f"{type(self).__name__}: the epoch parameter of `scheduler.step()` is deprecated, got {epoch}: the rate is "
            "computed from the start if the scheduler has such a formula; call step() once per step"
        )

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._computing():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._set_rates(rates)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Mark the block in which `step` calls `get_lr`."""
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _set_rates(self, rates: Iterable[Any]) -> None:
        groups, rates = self.optimizer.param_groups, list(rates)
        if len(rates) != len(groups):
            raise ArgumentError(
                f"the scheduler computes {len(rates)} learning rates, and the optimizer has {len(groups)} param_groups",
                hint="add parameter groups to the optimizer before creating the scheduler",
                operator=type(self).__name__,
            )
        for group, rate in zip(groups, rates):
            set_option(group, "lr", rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        """Return each group's current rate; tensors are copied."""
        return [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        return [rate * factor for rate in self._rates()]

    def state_dict(self) -> dict[str, Any]:
        """Return a dict of all attributes except the optimizer.

        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
            >>> state = scheduler.state_dict()
            >>> state["step_size"], state["last_epoch"]
            (2, 0)
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes from a state_dict.

        The rates in the optimizer's groups are restored by the optimizer's own load_state_dict.
        Raises: ArgumentTypeError for an object that is not a dict.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
            >>> scheduler.load_state_dict({"step_size": 5})
            >>> scheduler.step_size
            5
        """
        self.__dict__.update(_checked_state(state_dict))


def set_option(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a group; a tensor is written in place."""
    if isinstance(group[name], TensorBase):
        group[name].fill_(number(value))
    else:
        group[name] = value


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _checked_state(state_dict: Any) -> dict[str, Any]:
    if not isinstance(state_dict, dict):
        raise ArgumentTypeError(
            f"state_dict must be a dict, got {shown(state_dict)}",
            hint="give the result of state_dict()",
            operator="load_state_dict",
        )
    return state_dict


def per_group(name: str, what: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """Return one value per group, from one value or a list.

    Raises: ArgumentError for a list of the wrong length, ArgumentTypeError for a value that is not a number.
    """
    groups = len(optimizer.param_groups)
    for entry in value if isinstance(value, (list, tuple)) else [value]:
        if not hasattr(entry, "__float__"):
            checks.number(name, what, entry)
    if not isinstance(value, (list, tuple)):
        return [_copied(value) for _ in range(groups)]
    if len(value) != groups:
        raise ArgumentError(
            f"{what} must have the same length as optimizer.param_groups: {what} has {len(value)} values, "
            f"param_groups has {groups}",
            hint="give one number for all groups, or one for each",
            operator=name,
        )
    return [_copied(entry) for entry in value]


def _check_positive(name: str, what: str, steps: Any) -> None:
    """Raise ArgumentTypeError or ArgumentError unless a value is a positive int."""
    checks.number(name, what, steps)
    if not steps > 0:
        raise ArgumentError(f"{what} must be positive, got {steps}", hint="give a number of steps", operator=name)


def _check_share(name: str, what: str, called: str, value: Any, is_open: bool = False) -> None:
    """Raise ArgumentTypeError or ArgumentError unless a value is in [0, 1], or in (0, 1] with `is_open`."""
    checks.number(name, what, value)
    if not 0 <= value <= 1 or (is_open and not value):
        raise ArgumentError(
            f"{called} multiplicative factor must be in {'(' if is_open else '['}0, 1], got {value}",
            hint="the optimizer's lr is multiplied by it: raise lr itself to go above 1",
            operator=name,
        )


class _Functions(LRScheduler):
    """Base of schedulers by a function of the step: one function, or one per group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._check_optimizer(optimizer)
        name, groups = type(self).__name__, len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        )
        if len(self.lr_lambdas) != groups:
            raise ArgumentError(
                f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}",
                hint="give one function for all groups, or one for each",
                operator=name,
            )
        for index, function in enumerate(self.lr_lambdas):
            checks.function(name, f"lr_lambda[{index}]", function)
        super().__init__(optimizer, last_epoch)

    def _factors(self) -> list[float]:
        factors = [function(self.last_epoch) for function in self.lr_lambdas]
        for index, factor in enumerate(factors):
            checks.number(type(self).__name__, f"the result of lr_lambda[{index}]", factor)
        return factors

    def state_dict(self) -> dict[str, Any]:
        """Return a dict of all attributes except the optimizer.

        Plain functions are stored as None, and callable objects as dicts of their attributes.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
            >>> scheduler.state_dict()["lr_lambdas"]
            [None]
        """
        return super().state_dict() | {"lr_lambdas": [_attributes(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes from a state_dict.

        Plain functions stay as they are; callable objects get their attributes from the state_dict.
        Raises: ArgumentTypeError for an object that is not a dict.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
            >>> scheduler.load_state_dict(scheduler.state_dict() | {"last_epoch": 3})
            >>> scheduler.last_epoch
            3
        """
        state = dict(_checked_state(state_dict))
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas", ())):
            if attributes:
                function.__dict__.update(attributes)
        self.__dict__.update(state)


def _attributes(function: Any) -> dict[str, Any] | None:
    """Return the attributes of an object with `__call__`; None for a function, and for an object without attributes."""
    has_attributes = hasattr(function, "__dict__") and not isinstance(function, types.FunctionType)
    return dict(function.__dict__) if has_attributes else None


class LambdaLR(_Functions):
    """Set the learning rate to the initial rate times a function of the step's number.

    lr_lambda: the function, or a list with one per group.
    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for a list of the wrong length, ArgumentTypeError for an object that is not an Optimizer or
            not a function.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
        >>> rates = []
        >>> for _ in range(3):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 4.0, 2.0]
    """

    def get_lr(self) -> list[Any]:
        return [base * factor for base, factor in zip(self.base_lrs, self._factors())]


class MultiplicativeLR(_Functions):
    """Multiply the learning rate by a function of the step's number, from step 1 on.

    lr_lambda: the function, or a list with one per group.
    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for a list of the wrong length, ArgumentTypeError for an object that is not an Optimizer or
            not a function.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
        >>> rates = []
        >>> for _ in range(3):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 4.0, 2.0]
    """

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._rates()
        return [rate * factor for rate, factor in zip(self._rates(), self._factors())]


class StepLR(LRScheduler):
    """Multiply the learning rate by gamma every `step_size` steps.

    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for a step_size that is not positive, ArgumentTypeError for an object that is not an Optimizer
            or a number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 8.0, 4.0, 4.0, 2.0]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        _check_positive("StepLR", "step_size", step_size)
        checks.number("StepLR", "gamma", gamma)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        turns = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma) if turns else self._rates()

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by gamma at each step in `milestones`, and twice at a step that is listed twice.

    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentTypeError for an object that is not an Optimizer or a number of a wrong type, or milestones that are
            not a list of numbers.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 4.0, 4.0, 2.0, 2.0]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        listed = checks.listed("MultiStepLR", "milestones", "steps", milestones)
        for step in listed:
            checks.number("MultiStepLR", "an entry of milestones", step)
        self.milestones = Counter(listed)
        checks.number("MultiStepLR", "gamma", gamma)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        times = self.milestones.get(self.last_epoch, 0)
        return self._scaled(self.gamma**times) if times else self._rates()

    def _get_closed_form_lr(self) -> list[Any]:
        times = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**times for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Use `factor` times the initial learning rate for total_iters steps, and the initial rate afterwards.

    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for a factor outside [0, 1], ArgumentTypeError for an object that is not an Optimizer or a
            number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [4.0, 4.0, 8.0, 8.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        _check_share("ConstantLR", "factor", "constant", factor)
        checks.count("ConstantLR", "total_iters", total_iters)
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self._rates()

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Change the learning rate linearly from start_factor to end_factor times the initial rate, in total_iters steps.

    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for a start_factor outside (0, 1], or an end_factor outside [0, 1], ArgumentTypeError for an
            object that is not an Optimizer or a number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [2.0, 4.0, 6.0, 8.0, 8.0]
    """

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
        _check_share("LinearLR", "start_factor", "starting", start_factor, is_open=True)
        _check_share("LinearLR", "end_factor", "ending", end_factor)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        span = self.end_factor - self.start_factor
        done = self.total_iters * self.start_factor + (self.last_epoch - 1) * span
        return self._scaled(1.0 + span / done)

    def _get_closed_form_lr(self) -> list[Any]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by gamma every step.

    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentTypeError for an object that is not an Optimizer or a number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 4.0, 2.0, 1.0]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        checks.number("ExponentialLR", "gamma", gamma)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._rates() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Decrease the learning rate to 0 in total_iters steps: initial rate * (1 - step / total_iters) ** power.

    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentTypeError for an object that is not an Optimizer or a number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2, power=2.0)
        >>> rates = []
        >>> for _ in range(3):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 2.0, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        checks.count("PolynomialLR", "total_iters", total_iters)
        checks.number("PolynomialLR", "power", power)
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        before, now = (1.0 - step / self.total_iters for step in (self.last_epoch - 1, self.last_epoch))
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
        return [base * factor for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Decrease the learning rate to eta_min in T_max steps, along half a cosine; afterwards it rises again.

    I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, without the restarts.
    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for a T_max that is not positive, ArgumentTypeError for an object that is not an Optimizer or
            a number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> rates = []
        >>> for _ in range(3):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 4.0, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        _check_positive("CosineAnnealingLR", "T_max", T_max)
        checks.number("CosineAnnealingLR", "eta_min", eta_min)
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        step, period, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and step > 0:
            return self._get_closed_form_lr()
        if (step - 1 - period) % (2 * period) == 0:
            rise = (1 - math.cos(math.pi / period)) / 2
            return [rate + (base - low) * rise for rate, base in zip(self._rates(), self.base_lrs)]
        ratio = (1 + math.cos(math.pi * step / period)) / (1 + math.cos(math.pi * (step - 1) / period))
        return [ratio * (rate - low) + low for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Decrease the learning rate to eta_min along half a cosine, then restart from the initial rate, again and again.

    T_0: the number of steps of the first cycle.  T_mult: each cycle is this many times as long as the previous one.
    I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017.
    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for T_0 or T_mult below 1, or not ints; ArgumentTypeError for an object that is not an
            Optimizer.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 4.0, 8.0, 4.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for what, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArgumentError(
                    f"Expected positive integer {what}, but got {shown(value)}",
                    hint="give 1 or more",
                    operator="CosineAnnealingWarmRestarts",
                )
        checks.number("CosineAnnealingWarmRestarts", "eta_min", eta_min)
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance by one step, or go to step `epoch`, which may be a fraction, and set the rates.

        Raises: ArgumentError for a negative epoch, ArgumentTypeError for one that is not a number.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
            >>> optimizer.step()
            >>> scheduler.step(1)
            >>> scheduler.get_last_lr()
            [4.0]
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        with self._computing():
            rates = self.get_lr()
        self._set_rates(rates)

    def _go_to(self, epoch: float) -> None:
        checks.number("CosineAnnealingWarmRestarts", "epoch", epoch)
        if epoch < 0:
            raise ArgumentError(
                f"Expected non-negative epoch, but got {epoch}",
                hint="give 0 or more",
                operator="CosineAnnealingWarmRestarts",
            )
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            done = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**done - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**done


def _check_members(name: str, schedulers: Any, optimizer: Any) -> None:
    """Raise ArgumentError or ArgumentTypeError unless these are schedulers of one optimizer, without metrics."""
    if not isinstance(schedulers, Sequence):
        raise ArgumentTypeError(
            f"schedulers must be a list, got {shown(schedulers)}", hint="pass a list of schedulers", operator=name
        )
    if len(schedulers) < 1:
        raise ArgumentError(
            "expects at least one scheduler, but got no scheduler", hint="pass a list of schedulers", operator=name
        )
    for index, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise ArgumentTypeError(
                f"schedulers[{index}] should have `optimizer` as its attribute, got {shown(scheduler)}",
                hint="pass schedulers of torch.optim.lr_scheduler",
                operator=name,
            )
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ArgumentError(
                "does not support `ReduceLROnPlateau` scheduler, whose step takes metrics, got one at "
                f"schedulers[{index}]",
                hint="call its step(metrics) separately",
                operator=name,
            )
        if scheduler.optimizer is not optimizer:
            raise ArgumentError(
                f"expects all schedulers to belong to the same optimizer, but schedulers[{index}] is of "
                f"{type(scheduler.optimizer).__name__} at {id(scheduler.optimizer):#x}, not of "
                f"{type(optimizer).__name__} at {id(optimizer):#x}",
                hint="create all schedulers with the same optimizer",
                operator=name,
            )


class _Composed(LRScheduler):
    """Base of schedulers that consist of others."""

    _schedulers: Sequence[Any]

    def state_dict(self) -> dict[str, Any]:
        """Return a dict of all attributes except the optimizer, with the state of each scheduler.

        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> steps = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
            >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([steps])
            >>> scheduler.state_dict()["_schedulers"][0]["step_size"]
            2
        """
        return super().state_dict() | {"_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes from a state_dict, and those of each scheduler.

        Raises: ArgumentTypeError for an object that is not a dict, NamingError for a dict without "_schedulers".
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> steps = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
            >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([steps])
            >>> scheduler.load_state_dict({"_schedulers": [{"step_size": 5}]})
            >>> steps.step_size
            5
        """
        state = dict(_checked_state(state_dict))
        checks.entry("load_state_dict", "state_dict", state, "_schedulers")
        for scheduler, given in zip(self._schedulers, state.pop("_schedulers")):
            scheduler.load_state_dict(given)
        self.__dict__.update(state)


class SequentialLR(_Composed):
    """Run schedulers one after the other; at each step in `milestones`, the next scheduler starts, from its step 0.

    last_epoch: one less than the first step's number, which does not change the scheduler that starts.
    Raises: ArgumentError for schedulers of another optimizer, no schedulers, or not one milestone per transition;
            ArgumentTypeError for schedulers or milestones that are not a list, or an entry that is not a scheduler.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> warmup = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [4.0, 4.0, 8.0, 4.0]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        _check_members("SequentialLR", schedulers, optimizer)
        milestones = list(checks.listed("SequentialLR", "milestones", "steps", milestones))
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                "expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got {len(schedulers)} and {len(milestones)}",
                hint="pass one milestone for each change from a scheduler to the next",
                operator="SequentialLR",
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        _undo(schedulers)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]  # PyTorch's takes no epoch
        """Advance by one step and set the rates.

        Raises: the errors of the current scheduler.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> warmup = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
            >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
            >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[1])
            >>> optimizer.step()
            >>> scheduler.step()
            >>> scheduler.get_last_lr()
            [8.0]
        """
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo(schedulers: Iterable[Any]) -> None:
    """Undo the first step that each scheduler's constructor took."""
    for scheduler in schedulers:
        if isinstance(scheduler, _Composed):
            _undo(scheduler._schedulers)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1


class ChainedScheduler(_Composed):
    """Step several schedulers together; each one changes the rates that the previous one has set.

    optimizer: the schedulers' optimizer, by default that of the first scheduler.
    Raises: ArgumentError for no schedulers, or schedulers of another optimizer; ArgumentTypeError for schedulers that
            are not a list, or an entry that is not a scheduler.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> warmup = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([warmup, decay])
        >>> rates = []
        >>> for _ in range(3):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [4.0, 2.0, 1.0]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        first = schedulers[0] if schedulers and isinstance(schedulers, Sequence) else None
        chosen = optimizer or getattr(first, "optimizer", None)
        _check_members("ChainedScheduler", schedulers, chosen)
        assert chosen is not None
        self._schedulers = schedulers
        self.optimizer = chosen
        self._last_lr = self._rates()

    def step(self) -> None:  # type: ignore[override]  # PyTorch's takes no epoch
        """Advance every scheduler by one step and set the rates.

        Raises: the errors of the schedulers.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
            >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([decay])
            >>> optimizer.step()
            >>> scheduler.step()
            >>> scheduler.get_last_lr()
            [4.0]
        """
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by `factor` when a metric has not improved for more than `patience` steps.

    mode: "min" if smaller values are better, "max" if larger ones are.
    threshold: the least improvement that counts: a share of the best value with threshold_mode="rel", a difference
        with "abs".
    cooldown: the number of steps after a reduction for which a missing improvement is not counted.
    min_lr: the least rate, or a list with one per group.  eps: the rate is not reduced by less than this difference.
    Raises: ArgumentError for a factor of 1 or more, an unknown mode, or a list of the wrong length; ArgumentTypeError
            for an object that is not an Optimizer.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
        >>> rates = []
        >>> for loss in [3.0, 2.0, 2.0, 2.0]:
        ...     optimizer.step()
        ...     scheduler.step(loss)
        ...     rates += scheduler.get_last_lr()
        >>> rates
        [8.0, 8.0, 8.0, 4.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        name = "ReduceLROnPlateau"
        checks.number(name, "factor", factor)
        if factor >= 1.0:
            raise ArgumentError(f"Factor should be < 1.0, got {factor}", hint="as in 0.1", operator=name)
        self._check_optimizer(optimizer)
        for what, value, known in (("mode", mode, ("min", "max")), ("threshold mode", threshold_mode, ("rel", "abs"))):
            if value not in known:
                raise ArgumentError(
                    f"{what} {shown(value)} is unknown!", hint=f"use one of {', '.join(known)}", operator=name
                )
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = per_group(name, "min_lr", min_lr, optimizer)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._reset()

    def _reset(self) -> None:
        """Forget the metrics of earlier steps."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """True during the cooldown after a reduction, when steps are not counted."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]  # PyTorch's takes a metric
        """Take one value of the metric, and reduce the rates after more than `patience` steps without improvement.

        metrics: a number, or a tensor of one element.  epoch: the step's number; deprecated, with a warning.
        Host: waits if the metric is a tensor on a GPU.
        Raises: ArgumentTypeError for a metric that is not a number, ValueRangeError for a tensor of several elements.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
            >>> optimizer.step()
            >>> scheduler.step(3.0)
            >>> scheduler.step(3.0)
            >>> scheduler.get_last_lr()
            [4.0]
        """
        if not hasattr(metrics, "__float__"):
            checks.number("step", "metrics", metrics)
        with naming("step"):
            current = float(metrics)
        if epoch is not None:
            self._warn_of_epoch(epoch)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _is_better(self, current: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        limit = best + sign * self.threshold if self.threshold_mode == "abs" else best * (1.0 + sign * self.threshold)
        return current > limit if self.mode == "max" else current < limit

    def _reduce_lr(self, epoch: int) -> None:
        """Multiply the rates by the factor.  A subclass may replace this method; epoch: the number of the step."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise ShapeError(
                    f"the optimizer has {len(groups)} param groups, and min_lrs has {len(self.min_lrs)}",
                    hint="extend min_lrs after add_param_group",
                    operator="ReduceLROnPlateau",
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = number(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_option(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes from a state_dict.

        Raises: ArgumentTypeError for an object that is not a dict.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
            >>> scheduler.load_state_dict({"best": 3.0})
            >>> scheduler.best
            3.0
        """
        super().load_state_dict(state_dict)
        self.mode_worse = math.inf if self.mode == "min" else -math.inf


class _Momentum(LRScheduler):
    """Base of schedulers that change momentum, or the first of Adam's betas, along with the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, optimizer: Optimizer, base: list[Any], most: list[Any], last_epoch: int) -> None:
        name = type(self).__name__
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ArgumentError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled, "
                f"{type(optimizer).__name__} has neither",
                hint="pass cycle_momentum=False",
                operator=name,
            )
        self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, base, most):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Momentum):
    """Cycle the learning rate between base_lr and max_lr: step_size_up steps up, step_size_down steps down.

    L. Smith, "Cyclical Learning Rates for Training Neural Networks", 2017.
    base_lr, max_lr, base_momentum, max_momentum: a number, or a list with one per group.
    step_size_down: as many steps as step_size_up by default.
    mode: "triangular" for equal cycles; "triangular2" to halve the height every cycle; "exp_range" to multiply the
    height by gamma every step.
    scale_fn: a function that returns the height of a cycle as a factor of max_lr - base_lr, instead of the mode.
    scale_mode: the argument of scale_fn: "cycle" for the cycle's number, from 1, or "iterations" for the step's number.
    cycle_momentum: move momentum opposite to the rate, from max_momentum to base_momentum and back.
    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for an unknown mode, a list of the wrong length, or cycle_momentum with an optimizer whose
            groups have neither "momentum" nor "betas".
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, step_size_up=2, cycle_momentum=False)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 2.0, 3.0, 2.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self._check_optimizer(optimizer)
        base_lrs = per_group("CyclicLR", "base_lr", base_lr, optimizer)
        self.max_lrs = per_group("CyclicLR", "max_lr", max_lr, optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ArgumentError(
                f"mode is invalid and scale_fn is None: {shown(mode)}",
                hint='use "triangular", "triangular2" or "exp_range"',
                operator="CyclicLR",
            )
        _check_positive("CyclicLR", "step_size_up", step_size_up)
        if step_size_down is not None:
            _check_positive("CyclicLR", "step_size_down", step_size_down)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums = per_group("CyclicLR", "base_momentum", base_momentum, optimizer)
            self.max_momentums = per_group("CyclicLR", "max_momentum", max_momentum, optimizer)
            self._begin_momentum(optimizer, self.base_momentums, self.max_momentums, last_epoch)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups):
                set_option(group, "lr", rate)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> Any:
        """Return the height of a cycle, or of a step, as a factor of max_lr - base_lr.

        x: the number of the cycle, from 1, or of the step, from 0, as scale_mode says.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0, momentum=0.9)
            >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, mode="triangular2")
            >>> scheduler.scale_fn(1), scheduler.scale_fn(2)
            (1.0, 0.5)
        """
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * share * height)
        return [low + (high - low) * share * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Return a dict of all attributes except the optimizer.

        A scale_fn that is a plain function is stored as None, and a callable object as a dict of its attributes.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, cycle_momentum=False)
            >>> scheduler.state_dict()["max_lrs"]
            [3.0]
        """
        function = self._scale_fn_custom
        return super().state_dict() | {"_scale_fn_custom": None if function is None else _attributes(function)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the attributes from a state_dict; a scale_fn that is a plain function stays as it is.

        Raises: ArgumentTypeError for an object that is not a dict.
        Example:
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
            >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, cycle_momentum=False)
            >>> scheduler.load_state_dict({"max_lrs": [5.0]})
            >>> scheduler.max_lrs
            [5.0]
        """
        state = dict(_checked_state(state_dict))
        attributes = state.pop("_scale_fn_custom", None)
        if attributes and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self.__dict__.update(state)


class OneCycleLR(_Momentum):
    """Raise the learning rate from max_lr / div_factor to max_lr, then lower it to the initial rate / final_div_factor.

    L. Smith, N. Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2018.
    max_lr, base_momentum, max_momentum: a number, or a list with one per group.
    total_steps: the number of steps; or give epochs and steps_per_epoch.  pct_start: the share of rising steps.
    anneal_strategy: "cos" or "linear".  three_phase: lower the rate to the initial rate first, then to the final one.
    cycle_momentum: move momentum opposite to the rate, from max_momentum to base_momentum and back.
    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError without a number of steps, for a pct_start outside [0, 1], an unknown anneal_strategy or a
            list of the wrong length, and for a `step` after the last one; ArgumentTypeError for an object that is not
            an Optimizer or a number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0, momentum=0.9)
        >>> options = {"pct_start": 0.6, "anneal_strategy": "linear", "div_factor": 4.0, "final_div_factor": 1.0}
        >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4.0, total_steps=5, **options)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 2.5, 4.0, 2.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self._check_optimizer(optimizer)
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        checks.number("OneCycleLR", "pct_start", pct_start)
        checks.number("OneCycleLR", "div_factor", div_factor)
        checks.number("OneCycleLR", "final_div_factor", final_div_factor)
        if not 0 <= pct_start <= 1:
            raise ArgumentError(
                f"Expected pct_start between 0 and 1, but got {pct_start}", hint="as in 0.3", operator="OneCycleLR"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {shown(anneal_strategy)}",
                hint="use 'cos' or 'linear'",
                operator="OneCycleLR",
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        rates = per_group("OneCycleLR", "max_lr", max_lr, optimizer)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            most = per_group("OneCycleLR", "max_momentum", max_momentum, optimizer)
            least = per_group("OneCycleLR", "base_momentum", base_momentum, optimizer)
            self._begin_momentum(optimizer, least, most, last_epoch)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, rates):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}",
                hint="raise total_steps, or stop stepping",
                operator="OneCycleLR",
            )
        phases = self._schedule_phases
        index = next((index for index, phase in enumerate(phases) if step <= phase["end_step"]), len(phases) - 1)
        phase, begin = phases[index], phases[index - 1]["end_step"] if index else 0.0
        share = (step - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, share))
        return rates


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """Return the number of steps of OneCycleLR.  Raises ArgumentError."""
    given = {"total_steps": total_steps} if total_steps is not None else {}
    if total_steps is None and epochs is not None and steps_per_epoch is not None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if not given:
        raise ArgumentError(
            f"You must define either total_steps OR (epochs AND steps_per_epoch), got {epochs} epochs and "
            f"{steps_per_epoch} steps_per_epoch",
            hint="as in total_steps=len(loader) * epochs",
            operator="OneCycleLR",
        )
    for what, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise ArgumentError(
                f"Expected positive integer {what}, but got {shown(value)}",
                hint="give 1 or more",
                operator="OneCycleLR",
            )
    return math.prod(given.values())


def _phases(total: int, share: float, three: bool) -> list[dict[str, Any]]:
    """Return the phases of OneCycleLR: the last step, and the options at the start and at the end of each."""
    keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    up = (float(share * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    rest: list[tuple[float, str, str, str, str]]
    if not three:
        rest = [(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    else:
        rest = [
            (float(2 * share * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    return [dict(zip(keys, values)) for values in (up, *rest)]


__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
__dir__ = listing(globals())

_LRScheduler = LRScheduler  # PyTorch's older name


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

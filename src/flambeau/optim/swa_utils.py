"""Averages of models: stochastic weight averaging (P. Izmailov et al., 2018) and exponential moving averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from ..autograd.mode import GradMode
from ..dtypes import int64
from ..errors import ArgumentError, naming, shown
from ..importer import listing
from ..nn.module import Module, check_module
from ..ops.operator import REGISTRY
from ..tensor import checks, factories
from .lr_scheduler import LRScheduler, per_group
from .optimizer import Optimizer

Averaging = Callable[[Sequence[Any], Sequence[Any], Any], None]


def _check_decay(name: str, decay: Any) -> None:
    checks.number(name, "decay", decay)
    if not 0 <= decay <= 1:
        raise ArgumentError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.",
            hint="as in 0.999",
            operator=name,
        )


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averaging:
    """Return a function of (averages, params, count) that updates exponential moving averages of many tensors.

    It sets average = decay * average + (1 - decay) * param, in place, with one launch per device; count is not used.
    Shapes: each average has the shape of its parameter.
    Raises: ArgumentError for a decay outside [0, 1], ArgumentTypeError for one that is not a number.
    Example:
        >>> update = torch.optim.swa_utils.get_ema_multi_avg_fn(decay=0.75)
        >>> average, param = torch.tensor([4.0]), torch.tensor([8.0])
        >>> update([average], [param], 1)
        >>> average
        tensor([5.])
    """
    _check_decay("get_ema_multi_avg_fn", decay)

    def update(averages: Sequence[Any], params: Sequence[Any], count: Any) -> None:
        _move(averages, params, 1 - decay)

    return update


def get_swa_multi_avg_fn() -> Averaging:
    """Return a function of (averages, params, count) that updates equally weighted averages of many tensors.

    It adds (param - average) / (count + 1) to each average, in place, with one launch per device.
    count: the number of models averaged so far.
    Example:
        >>> update = torch.optim.swa_utils.get_swa_multi_avg_fn()
        >>> average, param = torch.tensor([4.0]), torch.tensor([8.0])
        >>> update([average], [param], 3)
        >>> average
        tensor([5.])
    """

    def update(averages: Sequence[Any], params: Sequence[Any], count: Any) -> None:
        _move(averages, params, 1 / (float(count) + 1))

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """Return a function of (average, param, count) that returns decay * average + (1 - decay) * param.

    The count is not used.
    Shapes: the average has the shape of the parameter.
    Raises: ArgumentError for a decay outside [0, 1], ArgumentTypeError for one that is not a number.
    Example:
        >>> update = torch.optim.swa_utils.get_ema_avg_fn(decay=0.75)
        >>> update(torch.tensor([4.0]), torch.tensor([8.0]), 1)
        tensor([5.])
    """
    _check_decay("get_ema_avg_fn", decay)

    def update(average: Any, param: Any, count: Any) -> Any:
        with GradMode(False):
            return decay * average + (1 - decay) * param

    return update


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """Return a function of (average, param, count) that returns average + (param - average) / (count + 1).

    count: the number of models averaged so far.
    Shapes: the average has the shape of the parameter.
    Example:
        >>> update = torch.optim.swa_utils.get_swa_avg_fn()
        >>> update(torch.tensor([4.0]), torch.tensor([8.0]), 3)
        tensor([5.])
    """

    def update(average: Any, param: Any, count: Any) -> Any:
        with GradMode(False):
            return average + (param - average) / (count + 1)

    return update


def _move(averages: Sequence[Any], params: Sequence[Any], share: float) -> None:
    """Move averages by a share of the difference; one launch per device for floating-point ones."""
    with GradMode(False):
        floating = [pair for pair in zip(averages, params) if pair[0].dtype.is_floating_point]
        for device in dict.fromkeys(average.device_index for average, _ in floating):
            pairs = [pair for pair in floating if pair[0].device_index == device]
            REGISTRY["lerp_many"](*map(list, zip(*pairs)), share)
        for average, param in zip(averages, params):
            if not average.dtype.is_floating_point:
                average.copy_(average * (1 - share) + param * share)


class AveragedModel(Module):
    """A copy of a model, whose parameters are averages over all calls of update_parameters.

    By default, the parameters of all calls have the same weight.
    device: the device of the copy; None is that of the model.
    avg_fn: a function of (average, param, count) that returns the new average of one tensor.
    multi_avg_fn: a function of (averages, params, count) that writes the new averages in place.
    count: a tensor, the number of earlier calls; the first call copies the parameters and calls neither function.
    use_buffers: average buffers too; otherwise update_parameters copies them.
    The buffer n_averaged counts the calls of update_parameters.
    Shapes: those of the model.
    Raises: ArgumentError for both avg_fn and multi_avg_fn, ArgumentTypeError for a model that is not a module or a
            function that is not callable.
    Example:
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> average = torch.optim.swa_utils.AveragedModel(model)
        >>> for value in (2.0, 4.0):
        ...     _ = torch.nn.init.constant_(model.weight, value)
        ...     average.update_parameters(model)
        >>> average.module.weight.item()
        3.0
    """

    n_averaged: Any

    def __init__(
        self,
        model: Any,
        device: Any = None,
        avg_fn: Callable[[Any, Any, Any], Any] | None = None,
        multi_avg_fn: Averaging | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError(
                f"only one of avg_fn and multi_avg_fn should be provided, got {shown(avg_fn)} and "
                f"{shown(multi_avg_fn)}",
                hint="leave out one of them",
                operator="AveragedModel",
            )
        check_module("AveragedModel", "model", model)
        for what, function in (("avg_fn", avg_fn), ("multi_avg_fn", multi_avg_fn)):
            if function is not None:
                checks.function("AveragedModel", what, function)
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", factories.tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model with the averaged parameters.

        Shapes: those of the model.
        Raises: the errors of the model.
        Example:
            >>> model = torch.nn.Linear(1, 1, bias=False)
            >>> average = torch.optim.swa_utils.AveragedModel(model)
            >>> _ = torch.nn.init.constant_(average.module.weight, 3.0)
            >>> average(torch.tensor([2.0])).item()
            6.0
        """
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Any) -> None:
        """Update the averages with the parameters of a model; the first call copies the parameters.

        Raises: ArgumentTypeError for a model that is not a module, ArgumentError for one with another number of
                parameters, ShapeError for parameters whose shapes differ from those of the averages.
        Example:
            >>> model = torch.nn.Linear(1, 1)
            >>> average = torch.optim.swa_utils.AveragedModel(model)
            >>> average.update_parameters(model)
            >>> average.n_averaged
            tensor(1)
        """
        check_module("update_parameters", "model", model)
        with GradMode(False), naming("update_parameters"):
            pairs = [(average.detach(), _beside(param, average)) for average, param in self._pairs(model)]
            if self.n_averaged == 0:
                for average, param in pairs:
                    average.copy_(param)
            elif self.avg_fn is not None:
                for average, param in pairs:
                    average.copy_(self.avg_fn(average, param, self.n_averaged.to(average.device)))
            elif pairs:
                self._update_together(pairs)
            if not self.use_buffers:
                for kept, new in zip(self.module.buffers(), model.buffers()):
                    kept.detach().copy_(_beside(new, kept))
            self.n_averaged += 1

    def _pairs(self, model: Any) -> Iterable[tuple[Any, Any]]:
        own, given = list(self.module.parameters()), list(model.parameters())
        if len(own) != len(given):
            raise ArgumentError(
                f"the model has {len(given)} parameters, the averaged one has {len(own)}",
                hint="give the model that AveragedModel was made of, or one like it",
                operator="update_parameters",
            )
        if not self.use_buffers:
            return zip(own, given)
        return zip(itertools.chain(own, self.module.buffers()), itertools.chain(given, model.buffers()))

    def _update_together(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        groups: dict[Any, list[tuple[Any, Any]]] = {}
        for average, param in pairs:
            groups.setdefault((average.device, average.dtype), []).append((average, param))
        for (device, _), group in groups.items():
            averages, params = map(list, zip(*group))
            update(averages, params, self.n_averaged.to(device))


def _beside(tensor: Any, other: Any) -> Any:
    return tensor.detach().to(other.device)


def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Recompute the running statistics of a model's batch normalizations, as averages over one pass of the data.

    loader: yields the model's inputs: tensors, or lists or tuples whose first entry is one.
    device: where the inputs are moved to; None leaves them where they are.
    Host:   waits where the model does.
    Raises: ArgumentTypeError for a model that is not a module, and the errors of the model; momenta and the mode are
            restored in any case.
    Example:
        >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(1))
        >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0], [7.0]])], model)
        >>> model[0].running_mean
        tensor([4.])
    """
    check_module("update_bn", "model", model)
    norms = [norm for norm in model.modules() if hasattr(norm, "reset_running_stats") and hasattr(norm, "momentum")]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    try:
        with GradMode(False):
            for batch in loader:
                data = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(data if device is None else data.to(device))
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Change each group's learning rate to swa_lr in anneal_epochs steps, along half a cosine or linearly.

    swa_lr: one number, or a list with one per group.  anneal_strategy: "cos" or "linear".
    last_epoch: the step to resume from; -1 starts from step 0.
    Raises: ArgumentError for an unknown strategy, a negative anneal_epochs or a list of the wrong length;
            ArgumentTypeError for an object that is not an Optimizer or a number of a wrong type.
    Example:
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
        >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=2.0, anneal_epochs=2, anneal_strategy="linear")
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [8.0, 5.0, 2.0, 2.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        self._check_optimizer(optimizer)
        rates = per_group("SWALR", "swa_lr", swa_lr, optimizer)
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy!r}",
                hint="use 'cos' or 'linear'",
                operator="SWALR",
            )
        checks.integer("SWALR", "anneal_epochs", anneal_epochs)
        if anneal_epochs < 0:
            raise ArgumentError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}",
                hint="give 0 or more",
                operator="SWALR",
            )
        for rate, group in zip(rates, optimizer.param_groups):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: float) -> float:
        """Return the share of swa_lr in the rate of a step, in [0, 1]."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for rate, group in zip(self._rates(), self.optimizer.param_groups):
            target = group["swa_lr"]
            start = target if before == 1 else (rate - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates


__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip
__dir__ = listing(globals())

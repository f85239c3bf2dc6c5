"""Averages of models: stochastic weight averaging (P. Izmailov et al., 2018) and exponential moving averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from ..autograd.mode import GradMode
from ..dtypes import int64
from ..errors import ArgumentError, shown
from ..nn.module import Module
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
    """A function that moves averages towards parameters by 1 - decay of the difference, in few launches."""
    _check_decay("get_ema_multi_avg_fn", decay)

    def update(averages: Sequence[Any], params: Sequence[Any], count: Any) -> None:
        _move(averages, params, 1 - decay)

    return update


def get_swa_multi_avg_fn() -> Averaging:
    """A function that keeps equally weighted averages, in few launches.  count: number of averaged models."""

    def update(averages: Sequence[Any], params: Sequence[Any], count: Any) -> None:
        _move(averages, params, 1 / (float(count) + 1))

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """As get_ema_multi_avg_fn, for one tensor: f(average, param, count) returns the new average."""
    _check_decay("get_ema_avg_fn", decay)

    def update(average: Any, param: Any, count: Any) -> Any:
        with GradMode(False):
            return decay * average + (1 - decay) * param

    return update


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """As get_swa_multi_avg_fn, for one tensor: f(average, param, count) returns the new average."""

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
    """A copy of a model whose parameters are averages over calls of update_parameters.

    avg_fn: f(average, param, count) returns the new average;  multi_avg_fn: f(averages, params, count) writes them.
    Without either, all models have the same weight.  use_buffers: average buffers too; otherwise they are copied.
    n_averaged: number of averaged models.
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
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", factories.tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Any) -> None:
        """Add a model's parameters to the averages; the first call copies them."""
        with GradMode(False):
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
        if not self.use_buffers:
            return zip(self.parameters(), model.parameters())
        own = itertools.chain(self.module.parameters(), self.module.buffers())
        return zip(own, itertools.chain(model.parameters(), model.buffers()))

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
    """Recompute the running statistics of a model's batch normalizations, in one pass over the data.

    loader: tensors, or sequences whose first entry is a tensor, the model's input.  device: the device of the inputs.
    """
    norms = [each for each in model.modules() if hasattr(each, "reset_running_stats") and hasattr(each, "momentum")]
    if not norms:
        return
    momenta, was_training = [each.momentum for each in norms], model.training
    for each in norms:
        each.reset_running_stats()
        each.momentum = None
    model.train()
    with GradMode(False):
        for batch in loader:
            data = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(data if device is None else data.to(device))
    for each, momentum in zip(norms, momenta):
        each.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Change each group's rate to swa_lr in anneal_epochs steps, along a half cosine or a line, then keep it.

    swa_lr: one number, or one per group.  anneal_strategy: "cos" or "linear".
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
        """The share of swa_lr in the rate of a step, in [0, 1]."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        found = []
        for rate, group in zip(self._rates(), self.optimizer.param_groups):
            target = group["swa_lr"]
            start = target if before == 1 else (rate - before * target) / (1 - before)
            found.append(target * now + start * (1 - now))
        return found


__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip

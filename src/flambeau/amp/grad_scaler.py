"""GradScaler: scales losses, so that small gradients do not become zero in float16.

- The scale and its counter are tensors on the device of the first scaled loss.
- One launch per 64 gradients of a type unscales them and records in `found_inf`, one number per device, whether a
  value was not finite.
- Only `step`, `get_scale` and `state_dict` make the host wait: `step` must know whether to skip the optimizer's step.
  An optimizer that reads `found_inf` itself (fused=True) does not need this wait.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .. import callers
from ..autograd.mode import GradMode
from ..core.tensor import TensorBase
from ..dtypes import float16, float32, int32
from ..errors import ArgumentTypeError, ScalingError, shown
from ..importer import listing
from ..ops import multi_tensor  # noqa: F401  (registers the operators)
from ..ops.operator import REGISTRY
from ..optim.optimizer import Optimizer
from ..runtime.control import is_available
from ..tensor import checks, factories
from ..uncomputed import is_set

__all__ = ["GradScaler", "OptState"]
__dir__ = listing(globals())


class OptState(Enum):
    """The stage of an optimizer in a GradScaler, since the last `update`.

    READY: no method was called.  UNSCALED: its gradients are unscaled.  STEPPED: `step` was called.
    Raises: the builtin ValueError for a number that is not a stage.
    Example:
        >>> from flambeau.amp.grad_scaler import OptState
        >>> [state.name for state in OptState]
        ['READY', 'UNSCALED', 'STEPPED']
    """

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class _MultiDeviceReplicator:
    """A tensor and its copies on other devices, each made at its first request."""

    def __init__(self, master_tensor: Any) -> None:
        self.master = master_tensor
        self._per_device_tensors: dict[Any, Any] = {}

    def get(self, device: Any) -> Any:
        """Return the copy on a device."""
        tensor = self._per_device_tensors.get(device)
        if tensor is None:
            tensor = self._per_device_tensors[device] = self.master.to(device=device, non_blocking=True)
        return tensor


class GradScaler:
    """Scales losses before `backward`, so that small gradients do not underflow, and unscales gradients afterwards.

    A step whose gradients are not finite is skipped, and the scale shrinks.  The scale grows after many steps in a row
    without a skip.
    device: "cuda" or "cpu".
    init_scale: the first scale.
    growth_factor, growth_interval: the scale is multiplied by growth_factor (above 1) after growth_interval steps in a
        row that were not skipped.
    backoff_factor: the scale is multiplied by it (below 1) after a step that was skipped.
    enabled: False makes `scale` return its argument and `step` call the optimizer's step; nothing else has an effect.
    Raises: if enabled, ScalingError for factors out of range, ArgumentTypeError for factors that are not numbers or an
            interval that is not an int.
    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.SGD([weight], lr=0.5)
        >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        >>> scaler.scale((weight * weight).sum()).backward()
        >>> weight.grad
        tensor([16.])
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> weight.detach(), scaler.get_scale()
        (tensor([0.]), 4.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and not is_available():
            callers.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        for what, number in (
            ("init_scale", init_scale), ("growth_factor", growth_factor), ("backoff_factor", backoff_factor)
        ):  # fmt: skip
            checks.number("GradScaler", what, number)
        checks.integer("GradScaler", "growth_interval", growth_interval)
        if growth_factor <= 1.0:
            raise ScalingError(
                f"The growth factor must be > 1.0, got {growth_factor}",
                hint="pass a number above 1: 2.0 is usual",
                operator="GradScaler",
            )
        if backoff_factor >= 1.0:
            raise ScalingError(
                f"The backoff factor must be < 1.0, got {backoff_factor}",
                hint="pass a number below 1: 0.5 is usual",
                operator="GradScaler",
            )
        self._init_scale = init_scale
        self._scale: Any = None  # made by the first `scale`, on the device of the loss
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Any = None
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Any, Any]:
        """Return the scale and its counter.  Raises ScalingError before the first `scale`."""
        if self._scale is None:
            raise ScalingError(
                f"Attempted {funcname} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration.",
                hint="call scaler.scale(loss).backward() first",
                operator=f"GradScaler.{funcname}",
            )
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        self._scale = factories.full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = factories.full((), self._init_growth_tracker, dtype=int32, device=dev)

    def scale(self, outputs: Any) -> Any:
        """Return `outputs`, a tensor or nested iterables of tensors, multiplied by the scale.

        A disabled scaler returns its argument.
        Shapes: the results have the shapes of the outputs.
        Host:   returns at once.
        Raises: ScalingError for anything else.
        Example:
            >>> torch.amp.GradScaler("cpu", init_scale=4.0).scale(torch.tensor(2.0))
            tensor(8.)
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            return self._scaled(outputs)
        if isinstance(outputs, (str, bytes)) or not isinstance(outputs, Iterable):
            raise ScalingError(
                f"outputs must be a Tensor or an iterable of Tensors, got {shown(outputs)}",
                hint="pass the loss",
                operator="GradScaler.scale",
            )
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _scaled(self, output: Any) -> Any:
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(output.device)
        return output * self._scale.to(device=output.device, non_blocking=True)

    def _unscale_grads_(self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool) -> dict[Any, Any]:
        """Multiply an optimizer's gradients by `inv_scale`; return, per device, whether any was not finite."""
        grads: dict[Any, list[Any]] = {}
        for group in optimizer.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if grad.dtype is float16 and not allow_fp16:
                    raise ScalingError(
                        f"Attempting to unscale FP16 gradients: a parameter is {param.describe()}",
                        hint="keep the parameters in float32, and let autocast cast them",
                        operator="GradScaler.unscale_",
                    )
                grads.setdefault(grad.device, []).append(grad)
        factors, per_device_found_inf = _MultiDeviceReplicator(inv_scale), _MultiDeviceReplicator(found_inf)
        with GradMode(False):
            for device, tensors in grads.items():
                REGISTRY["unscale_many"](tensors, [per_device_found_inf.get(device)], factors.get(device))
        return per_device_found_inf._per_device_tensors

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale, in place, so that they can be clipped or read.

        If this method was not called, `step` unscales the gradients.
        Host:   returns at once.
        Raises: ScalingError if the gradients are unscaled already since the last `update`, or are of float16.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
            >>> optimizer, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("cpu", init_scale=4.0)
            >>> scaler.scale(weight.sum()).backward()
            >>> weight.grad
            tensor([4.])
            >>> scaler.unscale_(optimizer)
            >>> weight.grad
            tensor([1.])
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise ScalingError(
                "unscale_() has already been called on this optimizer since the last update().",
                hint="call it once for each optimizer, before step()",
                operator="GradScaler.unscale_",
            )
        if state["stage"] is OptState.STEPPED:
            raise ScalingError(
                "unscale_() is being called after step().",
                hint="call unscale_(), step() and update() in this order",
                operator="GradScaler.unscale_",
            )
        with GradMode(False):
            inv_scale = scale.reciprocal()
            found_inf = factories.full((), 0.0, dtype=float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if any([is_set(found_inf) for found_inf in optimizer_state["found_inf_per_device"].values()]):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, unless that is done already, and call the optimizer's step if all of them are finite.

        Return the result of the optimizer's step, or None if it was skipped.  Further arguments are passed to it.
        Host:   waits, except for optimizers with fused=True.
        Raises: ScalingError for a closure, a second step since the last `update`, or without gradients.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
            >>> optimizer, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("cpu", init_scale=4.0)
            >>> scaler.scale(weight.sum()).backward()
            >>> weight.grad.fill_(float("inf"))
            tensor([inf])
            >>> scaler.step(optimizer)
            >>> weight.item()
            2.0
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise ScalingError(
                "Closure use is not currently supported if GradScaler is enabled.",
                hint="call scaler.scale(loss).backward() before scaler.step(optimizer)",
                operator="GradScaler.step",
            )
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise ScalingError(
                "step() has already been called since the last update().",
                hint="call scaler.update() once after the steps of an iteration",
                operator="GradScaler.step",
            )
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_by_itself(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise ScalingError(
                "No inf checks were recorded for this optimizer: none of its parameters has a gradient.",
                hint="call scaler.scale(loss).backward() first, and give the optimizer the model's parameters",
                operator="GradScaler.step",
            )
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_by_itself(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Call the step of an optimizer that skips by itself: it reads its attributes `grad_scale` and `found_inf`."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            callers.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer: let the "
                "optimizer use its attributes grad_scale and found_inf.",
                FutureWarning,
            )
            result = optimizer.step(*args, **kwargs, grad_scaler=self)
            state["stage"] = OptState.STEPPED
            return result
        scale, own = self._get_scale_async(), getattr(optimizer, "grad_scale", None)
        if state["stage"] is OptState.READY:
            own = scale if own is None else scale * own
        if isinstance(optimizer, Optimizer):
            self._unscale_by(own, optimizer, state)
            own = None
        elif state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        found_infs = [
            found_inf.to(scale.device, non_blocking=True) for found_inf in state["found_inf_per_device"].values()
        ]
        optimizer.grad_scale, optimizer.found_inf = own, sum(found_infs[1:], found_infs[0]) if found_infs else None
        try:
            result = optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf
        state["stage"] = OptState.STEPPED
        return result

    def _unscale_by(self, scale: Any, optimizer: Any, state: dict[str, Any]) -> None:
        """Unscale and check the gradients of flambeau's own fused optimizers, whose kernels skip but do not unscale."""
        if scale is None:
            return
        with GradMode(False):
            inv_scale = scale.reciprocal()
            found_inf = factories.full((), 0.0, dtype=float32, device=scale.device)
        per_device_found_inf = self._unscale_grads_(optimizer, inv_scale, found_inf, True)
        if state["stage"] is OptState.READY:
            state["found_inf_per_device"] = per_device_found_inf

    def update(self, new_scale: Any = None) -> None:
        """Shrink the scale if a step was skipped, or count this iteration towards its growth.

        Call this method once per iteration, after the steps.
        new_scale: a float or a tensor of one number, which becomes the scale instead.
        Host:   returns at once.
        Raises: ScalingError if no optimizer's gradients were checked since the last `update`.
        Example:
            >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
            >>> optimizer, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("cpu", init_scale=4.0)
            >>> scaler.scale(weight.sum()).backward()
            >>> weight.grad.fill_(float("inf"))
            tensor([inf])
            >>> scaler.step(optimizer)
            >>> scaler.update()
            >>> scaler.get_scale()
            2.0
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            found_infs = [
                found_inf.to(device=scale.device, non_blocking=True)
                for state in self._per_optimizer_states.values()
                for found_inf in state["found_inf_per_device"].values()
            ]
            if not found_infs:
                raise ScalingError(
                    "No inf checks were recorded prior to update.",
                    hint="call scaler.step(optimizer) or scaler.unscale_(optimizer) first",
                    operator="GradScaler.update",
                )
            total = found_infs[0]
            for found_inf in found_infs[1:]:
                total = total + found_inf
            factors = self._growth_factor, self._backoff_factor, self._growth_interval
            REGISTRY["update_scale"]([scale], [tracker], total, *factors)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _set_scale(self, scale: Any, new_scale: Any) -> None:
        if isinstance(new_scale, (int, float)):
            scale.fill_(new_scale)
            return
        is_number = isinstance(new_scale, TensorBase) and new_scale.numel() == 1 and not new_scale.requires_grad
        if not is_number or new_scale.device.type != self._device:
            raise ScalingError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                f"requires_grad=False, on {self._device}; got {shown(new_scale)}",
                hint="pass a float",
                operator="GradScaler.update",
            )
        scale.copy_(new_scale.reshape(()))

    def _get_scale_async(self) -> Any:
        return self._scale

    def get_scale(self) -> float:
        """Return the scale, or 1.0 if scaling is disabled.

        Host: waits.
        Example:
            >>> torch.amp.GradScaler("cpu", init_scale=4.0).get_scale()
            4.0
        """
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows after growth_interval iterations without a skipped step.

        Example:
            >>> torch.amp.GradScaler("cpu").get_growth_factor()
            2.0
        """
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows after growth_interval iterations without a skipped step.

        new_factor: above 1; the range is not checked.
        Raises: ArgumentTypeError for a factor that is not a number.
        Example:
            >>> scaler = torch.amp.GradScaler("cpu")
            >>> scaler.set_growth_factor(4.0)
            >>> scaler.get_growth_factor()
            4.0
        """
        checks.number("GradScaler.set_growth_factor", "new_factor", new_factor)
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks after a skipped step.

        Example:
            >>> torch.amp.GradScaler("cpu").get_backoff_factor()
            0.5
        """
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks after a skipped step.

        new_factor: below 1; the range is not checked.
        Raises: ArgumentTypeError for a factor that is not a number.
        Example:
            >>> scaler = torch.amp.GradScaler("cpu")
            >>> scaler.set_backoff_factor(0.25)
            >>> scaler.get_backoff_factor()
            0.25
        """
        checks.number("GradScaler.set_backoff_factor", "new_factor", new_factor)
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of iterations in a row, without a skipped step, after which the scale grows.

        Example:
            >>> torch.amp.GradScaler("cpu").get_growth_interval()
            2000
        """
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of iterations in a row, without a skipped step, after which the scale grows.

        Raises: ArgumentTypeError for an interval that is not an int.
        Example:
            >>> scaler = torch.amp.GradScaler("cpu")
            >>> scaler.set_growth_interval(100)
            >>> scaler.get_growth_interval()
            100
        """
        checks.integer("GradScaler.set_growth_interval", "new_interval", new_interval)
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Return whether losses are scaled: False with enabled=False, or for "cuda" without a GPU.

        Example:
            >>> torch.amp.GradScaler("cpu").is_enabled()
            True
        """
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, the factors and the counter as a dict of numbers; it is empty if scaling is disabled.

        Call this method after `update`.
        Host:   waits.
        Example:
            >>> torch.amp.GradScaler("cpu", init_scale=4.0).state_dict()["scale"]
            4.0
        """
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state that `state_dict` returned; a disabled scaler ignores it.

        Raises: ScalingError for an empty dict, ArgumentTypeError for an object that is not a dict, NamingError for a
                dict without one of the entries.
        Example:
            >>> scaler = torch.amp.GradScaler("cpu")
            >>> scaler.load_state_dict(torch.amp.GradScaler("cpu", init_scale=4.0).state_dict())
            >>> scaler.get_scale()
            4.0
        """
        if not self._enabled:
            return
        if not isinstance(state_dict, dict):
            raise ArgumentTypeError(
                f"state_dict must be a dict, got {shown(state_dict)}",
                hint="give the result of state_dict()",
                operator="GradScaler.load_state_dict",
            )
        if len(state_dict) == 0:
            raise ScalingError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.",
                hint="make the scaler with enabled=False, or load the state of an enabled one",
                operator="GradScaler.load_state_dict",
            )
        names = "scale", "_growth_tracker", "growth_factor", "backoff_factor", "growth_interval"
        scale, tracker, *factors = (
            checks.entry("GradScaler.load_state_dict", "state_dict", state_dict, name) for name in names
        )
        self._init_scale, self._init_growth_tracker = scale, tracker
        self._growth_factor, self._backoff_factor, self._growth_interval = factors
        if self._scale is not None:
            self._scale.fill_(scale)
            self._growth_tracker.fill_(tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise ScalingError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update().",
                    hint="call update() first",
                    operator="GradScaler",
                )
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker()}
            state |= {"_scale": None, "_growth_tracker": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        """Record, per device, whether any gradient is not finite; the gradients keep their scale."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found_inf = (factories.full((), value, dtype=float32, device=scale.device) for value in (1.0, 0.0))
        per_device_found_inf = self._unscale_grads_(optimizer, one, found_inf, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = per_device_found_inf
        return per_device_found_inf

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        per_device_found_inf: dict[Any, Any] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return per_device_found_inf

"""torch.amp.autocast_mode, and the former names of torch.cuda.amp and torch.cpu.amp, which have a device each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import callers
from ..autograd.autocast import autocast, custom_bwd, custom_fwd, is_autocast_available
from ..dtypes import bfloat16, dtype, float16
from .grad_scaler import GradScaler

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def renamed(former: str, now: str) -> None:
    """Warn that a name of torch is a former one."""
    callers.warn(f"`torch.{former}` is deprecated. Please use `torch.{now}` instead.", FutureWarning)


class CudaAutocast(autocast):
    """Former name of `torch.amp.autocast("cuda", ...)`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     with torch.cuda.amp.autocast():
        ...         print((torch.ones(1, 1, device="cuda") @ torch.ones(1, 1, device="cuda")).dtype)
        torch.float16
    """

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        renamed("cuda.amp.autocast(args...)", "amp.autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class CpuAutocast(autocast):
    """Former name of `torch.amp.autocast("cpu", ...)`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     with torch.cpu.amp.autocast():
        ...         print((torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
        torch.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True) -> None:
        renamed("cpu.amp.autocast(args...)", "amp.autocast('cpu', args...)")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class _OneDeviceScaler(GradScaler):
    _kind: str

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        kind = self._kind
        renamed(f"{kind}.amp.GradScaler(args...)", f"amp.GradScaler('{kind}', args...)")
        super().__init__(kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


class CudaGradScaler(_OneDeviceScaler):
    """Former name of `torch.amp.GradScaler("cuda", ...)`."""

    _kind = "cuda"


class CpuGradScaler(_OneDeviceScaler):
    """Former name of `torch.amp.GradScaler("cpu", ...)`."""

    _kind = "cpu"


def cuda_custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: dtype | None = None) -> Callable[..., Any]:
    """Former name of `torch.amp.custom_fwd(device_type="cuda")`."""
    renamed("cuda.amp.custom_fwd(args...)", "amp.custom_fwd(args..., device_type='cuda')")
    return custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def cuda_custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """Former name of `torch.amp.custom_bwd(device_type="cuda")`."""
    renamed("cuda.amp.custom_bwd(args...)", "amp.custom_bwd(args..., device_type='cuda')")
    return custom_bwd(bwd, device_type="cuda")


for _class, _name in (
    (CudaAutocast, "autocast"), (CpuAutocast, "autocast"), (CudaGradScaler, "GradScaler"), (CpuGradScaler, "GradScaler")
):  # fmt: skip
    _class.__name__ = _class.__qualname__ = _name

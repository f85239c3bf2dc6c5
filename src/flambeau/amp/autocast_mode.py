"""torch.amp.autocast_mode, and the former names of torch.cuda.amp and torch.cpu.amp, which have a device each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import callers
from ..autograd.autocast import autocast, custom_bwd, custom_fwd, is_autocast_available
from ..dtypes import bfloat16, dtype, float16
from ..importer import listing
from .grad_scaler import GradScaler

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
__dir__ = listing(globals())


def renamed(former: str, now: str) -> None:
    """Warn that a name of torch is deprecated."""
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
        device_type = self._kind
        renamed(f"{device_type}.amp.GradScaler(args...)", f"amp.GradScaler('{device_type}', args...)")
        super().__init__(device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


class CudaGradScaler(_OneDeviceScaler):
    """Former name of `torch.amp.GradScaler("cuda", ...)`.  Warns: FutureWarning.

    Raises: as GradScaler: ScalingError, ArgumentTypeError.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.cuda.amp.GradScaler(init_scale=4.0).get_scale()
        4.0
    """

    _kind = "cuda"


class CpuGradScaler(_OneDeviceScaler):
    """Former name of `torch.amp.GradScaler("cpu", ...)`.  Warns: FutureWarning.

    Raises: as GradScaler: ScalingError, ArgumentTypeError.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.cpu.amp.GradScaler(init_scale=4.0).get_scale()
        4.0
    """

    _kind = "cpu"


def cuda_custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: dtype | None = None) -> Callable[..., Any]:
    """Decorate a `forward`: former name of `torch.amp.custom_fwd(device_type="cuda")`.  Warns: FutureWarning.

    cast_inputs: under autocast, cast floating point tensors on a GPU to this type, and run without autocast.
    Raises: in the call, the errors of the decorated function.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     class Double(torch.autograd.Function):
        ...         @staticmethod
        ...         @torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)
        ...         def forward(ctx, x):
        ...             return 2 * x
        >>> with torch.autocast("cuda"):
        ...     Double.apply(torch.tensor([1.5], device="cuda", dtype=torch.float16))
        tensor([3.], device='cuda:0')
    """
    renamed("cuda.amp.custom_fwd(args...)", "amp.custom_fwd(args..., device_type='cuda')")
    return custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def cuda_custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward`: former name of `torch.amp.custom_bwd(device_type="cuda")`.  Warns: FutureWarning.

    `backward` then runs with the autocast state of the `forward` that `custom_fwd` decorates.
    Raises: in the call, the errors of the decorated function.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     class Double(torch.autograd.Function):
        ...         @staticmethod
        ...         @torch.cuda.amp.custom_fwd
        ...         def forward(ctx, x):
        ...             return 2 * x
        ...         @staticmethod
        ...         @torch.cuda.amp.custom_bwd
        ...         def backward(ctx, grad):
        ...             return 2 * grad
        >>> x = torch.tensor([1.5], device="cuda", requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor([2.], device='cuda:0')
    """
    renamed("cuda.amp.custom_bwd(args...)", "amp.custom_bwd(args..., device_type='cuda')")
    return custom_bwd(bwd, device_type="cuda")


for _class, _name in (
    (CudaAutocast, "autocast"), (CpuAutocast, "autocast"), (CudaGradScaler, "GradScaler"), (CpuGradScaler, "GradScaler")
):  # fmt: skip
    _class.__name__ = _class.__qualname__ = _name

"""torch.Event: the event of a program that does not name CUDA.  It makes the same objects as torch.cuda.Event."""

from __future__ import annotations

from typing import Any

from . import device as devices
from .stream import Event


class _AsCuda(type):
    """Every CUDA event counts as an instance."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Event)

    def __call__(
        cls, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Event:
        if device is not None:
            devices.cuda_index(device)
        return Event(enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


class AnyEvent(metaclass=_AsCuda):
    """A point in a stream's work; see torch.cuda.Event.  device: a kind of device, None for the one there is.

    Example:
        >>> event = torch.Event("cuda")
        >>> event.record()
        >>> event.synchronize()
        >>> event.query()
        True
    """

"""Streams that other libraries made."""

from __future__ import annotations

from typing import Any

from ..core import thread
from ..errors import ArgumentTypeError
from . import device as devices
from .stream import Stream


def external_stream(stream_ptr: Any, device: Any = None) -> Stream:
    """The stream that another library made, from its CUstream, or from an object with `__cuda_stream__`.

    Its owner keeps it alive.
    Raises: ArgumentTypeError for anything else; AcceleratorError if a virtual GPU has no such stream.
    Example:
        >>> side = torch.cuda.Stream()
        >>> torch.cuda.ExternalStream(side.cuda_stream).cuda_stream == side.cuda_stream
        True
    """
    raw = stream_ptr.__cuda_stream__()[1] if hasattr(stream_ptr, "__cuda_stream__") else stream_ptr
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise ArgumentTypeError(
            f"expected a CUstream as an int, or an object with __cuda_stream__, got {raw!r}",
            hint="pass its address, for example stream.ptr or stream.cuda_stream",
            operator="ExternalStream",
        )
    index = devices.cuda_index(device)
    machine = thread.machine()
    return Stream.adopt(machine, index, machine.driver.stream_adopt(index, raw))


def stream_from_external(data_ptr: Any, device: Any = None) -> Stream:
    """As `external_stream`.

    Example:
        >>> side = torch.cuda.Stream()
        >>> torch.cuda.get_stream_from_external(side.cuda_stream).cuda_stream == side.cuda_stream
        True
    """
    return external_stream(data_ptr, device)

"""`with cuda.stream(s):`, which makes a stream current."""

from __future__ import annotations

from ..core import thread
from ..core.native import whole
from ..errors import ArgumentTypeError
from .stream import Stream, check_alive


class StreamGuard:
    """`with cuda.stream(s):` makes s and its device current, and restores both on exit.  None changes nothing."""

    __slots__ = ("_device", "_stream", "stream")

    def __init__(self, stream: Stream | None) -> None:
        if stream is not None and not isinstance(stream, Stream):
            raise ArgumentTypeError(
                f"expected a Stream or None, got {stream!r}", hint="make one with cuda.Stream()", operator="stream"
            )
        self.stream = stream
        self._device = -1
        self._stream: Stream | None = None

    def __enter__(self) -> Stream | None:
        stream = self.stream
        if stream is not None:
            check_alive(stream, thread.machine(), "stream")
            self._device = thread.current_device()
            self._stream = thread.current_stream(stream.device_index)
            thread.enter(stream)
        return stream

    @whole
    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            thread.set_stream(self._stream)
            thread.set_device(self._device)

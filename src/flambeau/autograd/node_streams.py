"""Streams of backward nodes: warnings and errors where a gradient comes from another stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import callers
from ..core import thread
from ..core.storage import Storage
from ..core.thread import Thread
from ..errors import AcceleratorError, ModeError, shown
from ..runtime.stream import Stream

CAPTURE_IMPLICIT = 906  # CUDA_ERROR_STREAM_CAPTURE_IMPLICIT


class _Choices:
    """Process-wide settings, as in PyTorch: backward may run in any thread."""

    warns = True
    overrides = False


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Set whether backward warns if a leaf's gradient is computed on another stream than the leaf was first used on.

    The default is True.
    Raises: ModeError if `enabled` is not a bool.
    Example:
        >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
        >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    """
    _Choices.warns = _bool("set_warn_on_accumulate_grad_stream_mismatch", enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Set whether backward runs a node on its gradient's stream if that stream is capturing and the node's own is not.

    With False, the default, the node's stream waits for the capturing stream, and so joins the capture.  A default
    stream cannot join a capture: backward then raises an error.
    Raises: ModeError if `enabled` is not a bool.
    Example:
        >>> torch.autograd.graph.set_override_stale_capture_stream(True)
        >>> torch.autograd.graph.set_override_stale_capture_stream(False)
    """
    _Choices.overrides = _bool("set_override_stale_capture_stream", enabled)


def _bool(name: str, enabled: bool) -> bool:
    if not isinstance(enabled, bool):
        raise ModeError(f"enabled must be a bool, but got {shown(enabled)}", hint="pass True or False", operator=name)
    return enabled


def streams_of_several(tensors: Sequence[Any]) -> dict[int, Stream]:
    """As core.record.streams_of, for tensors on any number of devices."""
    devices = [tensor._layout.device.index for tensor in tensors if tensor._layout.device.index >= 0]
    return {device: thread.current_stream(device) for device in dict.fromkeys(devices)}


def mismatch(leaf: Stream, producer: Stream) -> None:
    """Warn that a leaf's gradient comes from another stream than the leaf's."""
    if _Choices.warns:
        callers.warn(
            f"The AccumulateGrad node's stream does not match the stream of the node that produced the gradient: the "
            f"leaf was first used on {leaf!r}, its gradient comes from {producer!r}. The two are ordered, which costs "
            f"a wait, and breaks a capture. Use a leaf on one stream, drop graphs that used it on another one, or "
            f"silence this with torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)"
        )


def enter(now: Thread, streams: dict[int, Stream]) -> None:
    """Make streams current, and the device of the first.  The caller restores the former list."""
    now.streams = list(now.streams)
    for stream in streams.values():
        thread.set_stream(stream)
    now.device = next(iter(streams), now.device)


def order(
    moved: dict[Any, dict[int, Stream]], node: Any, streams: dict[int, Stream], consumer: Stream, producer: Stream,
    memory: Storage,
) -> None:  # fmt: skip
    """Make a node's stream wait for the stream that computed its gradient; record the gradient's memory on it.

    If the producer captures and the consumer does not, the node takes part in the capture.
    streams: those of the node.  moved: receives its new streams, by node, if they change.
    """
    if producer.machine.capture is not None and producer.is_capturing() and not consumer.is_capturing():
        consumer = captured(node.name, consumer, producer)
        moved[node] = {**streams, consumer.device_index: consumer}
    consumer.wait_stream(producer)
    memory.record_stream(consumer)


def captured(name: str, stale: Stream, capturing: Stream) -> Stream:
    """Return the stream for a node whose own stream is not capturing while its gradient's is.

    Raises: AcceleratorError for a default stream.
    """
    if _Choices.overrides:
        return capturing
    if stale == stale.machine.devices[stale.device_index].default_stream:
        raise AcceleratorError(
            f"{name} belongs to {stale!r}, which cannot be captured, and its gradient to {capturing!r}, "
            f"which is capturing",
            hint="drop every graph from before the capture, or call "
            "torch.autograd.graph.set_override_stale_capture_stream(True)",
            error_code=CAPTURE_IMPLICIT,
            operator="backward",
        )
    return stale

"""Hook points for tools: an attribute of `hooks` is None until a tool subscribes; the runtime tests it and calls it.

on_submit(stream)                            work is about to be put on a stream; one of the next four follows
on_launch(stream, kernel, arguments)         a kernel or library call was put on a stream
on_copy(stream, dst, src, nbytes, kind)      a copy was put on a stream
on_fill(stream, dst, nbytes)                 the setting of bytes was put on a stream
on_graph_launch(stream, graph)               a whole graph was put on a stream
on_span(device, stream, name, start_ns, end_ns, nbytes, site)
                                             virtual GPUs: something put on a stream has its modelled times
on_range(text, start_ns, end_ns)             the program ended a range that it named, or (start is end) marked a
                                             moment; start_ns is None if the range began before the hook was set
on_block_taken(block, stream)                the allocator handed out a block
on_block_given(block)                        the allocator took a block back
on_record(event, stream)                     an event was recorded on a stream
on_wait(waiter, event)                       a stream waits for an event; or the host (waiter None) is about to wait
                                             for an event, a stream or a device
on_route(route, stream, other, nbytes)       a copy takes a way (runtime/route.py) on a stream, None on the host;
                                             between devices, `other` is the stream that waits before and after
on_convert(source, dtype, device)            a copy changes type or layout of a tensor on a device, -1 for the host
on_done(awaited)                             the host was told that an event or a stream is done
on_host_read(access)                         the host reads memory that a device may write (kernel.Access)
on_host_write(access)                        the host writes memory that a device may read
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core.native import Lock

Hook = Callable[..., Any]


NAMES = (
    "on_submit", "on_launch", "on_copy", "on_fill", "on_graph_launch", "on_span", "on_range",
    "on_block_taken", "on_block_given", "on_record", "on_wait", "on_route", "on_convert", "on_done",
    "on_host_read", "on_host_write",
)  # fmt: skip


class Hooks:
    """The hook points.  Each is None, the only subscriber's function, or one that calls all subscribers."""

    __slots__ = NAMES
    on_submit: Hook | None
    on_launch: Hook | None
    on_copy: Hook | None
    on_fill: Hook | None
    on_graph_launch: Hook | None
    on_span: Hook | None
    on_range: Hook | None
    on_block_taken: Hook | None
    on_block_given: Hook | None
    on_record: Hook | None
    on_wait: Hook | None
    on_route: Hook | None
    on_convert: Hook | None
    on_done: Hook | None
    on_host_read: Hook | None
    on_host_write: Hook | None

    def __init__(self) -> None:
        for name in NAMES:
            setattr(self, name, None)


hooks = Hooks()
_subscribed: dict[str, list[Hook]] = {name: [] for name in NAMES}
_lock = Lock()


def subscribe(**functions: Hook) -> None:
    """Have each function called at the hook of its name, before those that subscribed earlier."""
    with _lock:
        for name, function in functions.items():
            _subscribed[name].insert(0, function)
            _renew(name)


def unsubscribe(**functions: Hook) -> None:
    """Remove functions added by `subscribe`."""
    with _lock:
        for name, function in functions.items():
            _subscribed[name].remove(function)
            _renew(name)


def _renew(name: str) -> None:
    listening = tuple(_subscribed[name])

    def call_all(*facts: Any) -> None:
        for each in listening:
            each(*facts)

    setattr(hooks, name, call_all if len(listening) > 1 else next(iter(listening), None))

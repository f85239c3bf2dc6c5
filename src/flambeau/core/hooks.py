"""Hooks: the points at which tools are notified, and their subscribers.

An attribute of `queue.hooks` is None until a tool subscribes.  The runtime tests it and calls it.  Addresses
are plain integers here, because making an Address costs a call.

on_submit(stream)                            work is about to be queued on a stream; one of the next five follows
on_launch(stream, kernel, arguments)         a kernel or library call was queued on a stream
on_copy(stream, dst, src, nbytes, kind)      a copy was queued on a stream
on_fill(stream, dst, nbytes)                 a fill of bytes was queued on a stream
on_graph_launch(stream, graph)               a whole graph was queued on a stream
on_exchange(stream, exchange)                a collective of several processes was queued on a stream
on_span(device, stream, name, start_ns, end_ns, nbytes, site)
                                             virtual GPUs: queued work got its modelled times.  For work that follows
                                             a collective of several processes, these are the earliest possible
                                             ones; `settle` returns the actual two, once they are known:
                                             on_span(device, ..., site, settle)
on_range(text, start_ns, end_ns, change)     the program ended a range that it named, or (start is end) marked a
                                             moment; start_ns is None if the range began before the hook was set;
                                             change: how many more bytes tensors hold at its end than at its start
on_block_taken(block, stream)                the allocator handed out a block
on_block_freed(block)                        the program freed a block.  May be called in a finalizer, while any lock is
                                             held, so the function must take no lock
on_block_given(block)                        the allocator took a freed block back, at its next call
on_workspace(storage)                        the workspace of a library call was allocated, with its twins
on_memory(action, device, address, nbytes, stream, pool)
                                             an allocator's rarer events, named as in a memory snapshot: segment_alloc,
                                             segment_free, segment_map, segment_unmap; free_completed of a block that
                                             waited for events; oom, with the device's free bytes as its address
on_record(event, stream)                     an event was recorded on a stream
on_wait(waiter, event)                       a stream waits for an event; or the host (waiter None) is about to wait
                                             for an event, a stream or a device
on_blocked(start_ns, end_ns)                 the driver blocked the calling thread, by the driver's host clock
on_route(route, stream, other, nbytes)       a copy takes a route (runtime/copy.py) on a stream, None on the host;
                                             between devices, `other` is the stream that waits before and after
on_convert(source, dtype, device)            a copy changes type or layout of a tensor on a device, -1 for the host
on_done(awaited)                             a query or a wait has found that an event or a stream is done
on_host_call(step, accesses, operands)       a function is about to work on host memory (plan.HostCall); returning
                                             True skips it.  Called only while one of the next two is subscribed to
on_host_read(access)                         the host reads memory that a device may write (kernel.Access)
on_host_write(access)                        the host writes memory that a device may read
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import host
from ..kernel import Access
from .native import Lock
from .queue import Hook, hooks

NAMES = (
    "on_submit", "on_launch", "on_copy", "on_fill", "on_graph_launch", "on_exchange", "on_span", "on_range",
    "on_block_taken", "on_block_freed", "on_block_given", "on_workspace", "on_memory", "on_record", "on_wait",
    "on_blocked", "on_route", "on_convert", "on_done", "on_host_call", "on_host_read", "on_host_write",
)  # fmt: skip
_subscribed: dict[str, list[Hook]] = {name: [] for name in NAMES}
_lock = Lock()
for _name in NAMES:
    setattr(hooks, _name, None)


def subscribe(**functions: Hook) -> None:
    """Add functions to the hooks of their names; the latest subscriber is called first."""
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
        for function in listening:
            function(*facts)

    setattr(hooks, name, call_all if len(listening) > 1 else next(iter(listening), None))


def touched(accesses: Sequence[Any]) -> list[Any]:
    """Call the hooks for the memory that a host function accesses; return its arguments, with arrays for accesses."""
    _note_touched(accesses)
    return [_array_at(access) for access in accesses]


def _note_touched(values: Sequence[Any]) -> None:
    """Call the hooks for every array among the arguments of a host function."""
    for value in values:
        if isinstance(value, list):
            _note_touched(value)
        elif isinstance(value, Access):
            hook = hooks.on_host_write if value.mode == "w" else hooks.on_host_read
            if hook is not None:
                hook(value)


def _array_at(value: Any) -> Any:
    if isinstance(value, list):
        return [_array_at(item) for item in value]
    if isinstance(value, Access):
        return host.array_at(value.address, value.dtype, value.shape, value.strides)
    return value

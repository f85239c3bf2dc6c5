"""Explain why a call returns at once or makes the host wait.

The call is made once.  The code that chooses the route of a copy reports its choice through the hooks of `callers`.
Calls of other threads are not recorded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .. import callers
from ..core.hooks import subscribe, unsubscribe
from ..runtime.copy import BETWEEN_DEVICES, Route
from ..runtime.stream import Event, Stream
from ..tensor import checks
from ..transfer import READ

FOR_ITSELF, FOR_DRIVER, FOR_DEVICE = 1, 2, 3  # kinds of host waits, in order of cost
NOTHING_WAITS = "everything is put on streams, and the host goes on"
ON_HOST_HINT = "have the source contiguous, of the wanted type and pinned beforehand, or change it on the device"
SIZED_BY_VALUES = ("argwhere", "index", "masked_select", "nonzero", "repeat_interleave", "unique", "unique_consecutive")
SIZE_HINT = "the result's size depends on values: where(), or a product with the mask, keeps its size and does not wait"
FROM_DEVICE_HINT = "copy into a contiguous pinned tensor with non_blocking=True, and arrange it after wait()"


@dataclass(frozen=True)
class Explanation:
    """The record of one call.

    asynchronous: whether the host did not wait;  waits_for: the object it waited for, "" if none.
    reason: why it waited or not;  hint: how to make the call asynchronous, "" if it already is or cannot be.
    steps: the actions, in order;  result: the call's result.
    """

    asynchronous: bool
    waits_for: str
    reason: str
    hint: str
    steps: tuple[str, ...]
    result: Any

    def __str__(self) -> str:
        verdict = "asynchronous" if self.asynchronous else f"the host waits for {self.waits_for}"
        lines = [f"{verdict}: {self.reason}", *(f"  {number}. {step}" for number, step in enumerate(self.steps, 1))]
        return "\n".join([*lines, f"hint: {self.hint}"] if self.hint else lines)


def explain(call: Callable[[], Any]) -> Explanation:
    """Run the function `call` and return an `Explanation`: whether the host waited, for which work, and why.

    Host:   waits if the call does.
    Raises: ArgumentTypeError if the argument cannot be called; the errors of the call.
    Example:
        >>> x = torch.ones(2)
        >>> torch.explain(lambda: x.to("cuda")).asynchronous
        False
        >>> pinned = x.pin_memory()
        >>> torch.explain(lambda: pinned.to("cuda", non_blocking=True)).asynchronous
        True
    """
    checks.function("explain", "call", call)
    watcher = _Watcher()
    with watcher.watching():
        result = call()
    return Explanation(not watcher.waits_for, watcher.waits_for, *watcher.verdict(), tuple(watcher.steps), result)


class _Watcher:
    """Records the calls of one thread; the verdict describes its most expensive wait, the first among equals."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.waits_for = ""
        self._weight = 0
        self._thread = threading.get_ident()
        self._routes: list[Route] = []
        self._reason = ""
        self._hint = ""
        self._arranged_on_host = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Subscribe to the hooks inside a `with` block."""
        wanted: dict[str, Callable[..., None]] = {
            "on_route": self._route,
            "on_convert": self._convert,
            "on_launch": self._launch,
            "on_wait": self._wait,
        }
        functions = {name: self._of_this_thread(function) for name, function in wanted.items()}
        subscribe(**functions)
        try:
            yield
        finally:
            unsubscribe(**functions)

    def _of_this_thread(self, function: Callable[..., None]) -> Callable[..., None]:
        def called(*facts: Any) -> None:
            if threading.get_ident() == self._thread:
                function(*facts)

        return called

    def verdict(self) -> tuple[str, str]:
        """Return the reason and the hint."""
        if not self.waits_for:
            return self._routes[0].reason if len(self._routes) == 1 else NOTHING_WAITS, ""
        return self._reason, self._hint

    # hooks

    def _route(self, route: Route, stream: Stream | None, other: Stream | None, nbytes: int) -> None:
        self._routes.append(route)
        where = f", on {named(stream)}" if stream is not None else ""
        self.steps.append(f"{nbytes} bytes go {_way(route, stream, other)}{where}")
        if route is BETWEEN_DEVICES:
            self.steps.append(f"{named(other)} waits for the copy, which waited for its earlier work")
        hint = ON_HOST_HINT if self._arranged_on_host else hint_of(route, callers.call()[1])
        if route.waits:
            self._host_waits(FOR_DEVICE, named(stream), route.reason, hint)
        elif route.is_staged:
            self._host_waits(FOR_DRIVER, "the driver, which reads the source", route.reason, hint)
        elif not route.is_asynchronous:
            self._host_waits(FOR_ITSELF, "itself", route.reason, "")

    def _convert(self, source: Any, dtype: Any, device: int) -> None:
        change = "the layout changes" if source.dtype is dtype else f"{source.dtype.name} becomes {dtype.name}"
        self.steps.append(f"{change} on {named_device(device)}")
        if device < 0:
            self._arranged_on_host = True
            self._host_waits(FOR_ITSELF, "itself", "the host changes type or layout itself", ON_HOST_HINT)
            if self._routes and self._routes[-1].waits:
                self._reason, self._hint = "what is arranged on the host must have arrived there", FROM_DEVICE_HINT

    def _launch(self, stream: Stream, *_: Any) -> None:
        self.steps.append(f"a launch on {named(stream)}")
        if stream.machine.launch_blocking:
            self._host_waits(FOR_DEVICE, named(stream), "CUDA_LAUNCH_BLOCKING=1 makes every launch wait", "unset it")

    def _wait(self, waiter: Stream | None, awaited: Any) -> None:
        if waiter is None:
            self._host_waits(FOR_DEVICE, named(awaited), "the call is a wait", "")

    def _host_waits(self, weight: int, what: str, reason: str, hint: str) -> None:
        if weight > self._weight:
            self._weight, self.waits_for, self._reason, self._hint = weight, what, reason, hint


def hint_of(route: Route, called: str) -> str:
    """Return how to make a copy asynchronous.  called: the public function that makes the copy."""
    return SIZE_HINT if route is READ and called in SIZED_BY_VALUES else route.hint


def _way(route: Route, stream: Stream | None, other: Stream | None) -> str:
    if stream is None or other is None:
        return route.name
    reachable = stream.machine.driver.peer_can(stream.device_index, other.device_index)
    how = "directly" if reachable else "staged in host memory by the driver"
    return f"from cuda:{stream.device_index} to cuda:{other.device_index}, {how}"


def named(awaited: Any) -> str:
    """Return the text that describes a stream, an event or a device."""
    if isinstance(awaited, Stream):
        device = named_device(awaited.device_index)
        return f"{awaited.label} of {device}"
    return f"an event of {awaited.device}" if isinstance(awaited, Event) else f"all streams of {awaited}"


def named_device(index: int) -> str:
    return "the host" if index < 0 else f"cuda:{index}"

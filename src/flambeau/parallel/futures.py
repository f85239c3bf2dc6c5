"""Futures: values that become available later, and callbacks.

- A value made of tensors on GPUs is available to the host at once.  Events order it: `wait` makes the current streams
  wait for them, and `then` calls its function at once, on a side stream that waits for them.
- Any other value is available when `set_result` is called; that of a collective on the CPU, when the host has waited.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import GenericAlias
from typing import Any

from ..core import thread
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, ModeError, shown
from ..runtime.stream import Event, Stream, StreamGuard


class Future:
    """A value that becomes available later.

    devices: has no effect; the devices are those of the value's tensors.
    Example:
        >>> future = torch.futures.Future()
        >>> length = future.then(lambda done: len(done.value()))
        >>> future.set_result("text")
        >>> length.wait(), future.done()
        (4, True)
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # annotations name the value's type: Future[int]

    def __init__(self, *, devices: Any = None) -> None:
        self._is_done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._events: list[Event] = []
        self._callbacks: list[Callable[[Future], Any]] = []
        self.start: Callable[[], Any] | None = None  # makes the host wait for the value
        self._changing = threading.Lock()

    def done(self) -> bool:
        """Return whether a value or an error is set; work on GPUs for the value may still run.

        Example:
            >>> future = torch.futures.Future()
            >>> before = future.done()
            >>> future.set_result(3)
            >>> before, future.done()
            (False, True)
        """
        return self._is_done.is_set()

    def wait(self) -> Any:
        """Wait until this future is done, and return its value, or raise the error that was set.

        Host:   waits until the value is set, but not for the work that computes tensors on GPUs.
        Order:  the current streams wait for the work that computes the tensors.
        Raises: the future's error.
        Example:
            >>> future = torch.futures.Future()
            >>> future.set_result(torch.ones(2, device="cuda"))
            >>> future.wait()
            tensor([1., 1.], device='cuda:0')
        """
        self._begin()
        self._is_done.wait()
        for event in self._events:
            thread.current_stream(event.device_index).wait_event(event)
        if self._error is not None:
            raise self._error
        for tensor in _on_gpus(self._value):
            tensor.record_stream(thread.current_stream(tensor.device_index))
        return self._value

    def value(self) -> Any:
        """Return the value of a future that is done, or raise its error; unlike `wait`, it makes no stream wait.

        Raises: ModeError (RuntimeError) if the future is not done; the future's error.
        Example:
            >>> future = torch.futures.Future()
            >>> future.set_result(3)
            >>> future.value()
            3
        """
        if not self.done():
            raise ModeError("the future is not done", hint="call wait() first", operator="Future.value")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Set the value, and mark this future as done.

        If the value has tensors on GPUs, `wait` also covers the work queued so far on the current streams there.

        Raises: ModeError (RuntimeError) if a value or an error is already set.
        Example:
            >>> future = torch.futures.Future()
            >>> future.set_result([1, 2])
            >>> future.wait()
            [1, 2]
        """
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` and `value` raise.

        Raises: ModeError (RuntimeError) if a value or an error is already set.
        Example:
            >>> future = torch.futures.Future()
            >>> future.set_exception(ValueError("no data"))
            >>> future.wait()
            Traceback (most recent call last):
            ValueError: no data
        """
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._changing:
            if self.done():
                raise ModeError(
                    "Future can only be marked completed once", hint="make a new Future", operator="Future.set_result"
                )
            self._value, self._error = value, error
            streams = {device: thread.current_stream(device) for device in _devices(value)}
            self._events = [stream.record_event() for stream in streams.values()]
            self._is_done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a future of the result of `callback(self)`, which is called when this future is done.

        Order:  if the value has tensors on GPUs, the callback runs on a side stream that waits for the work on them.
        Raises: ArgumentTypeError if the callback is not callable.  The returned future holds an error that the callback
                raises.
        Example:
            >>> future = torch.futures.Future()
            >>> doubled = future.then(lambda done: done.value() * 2)
            >>> future.set_result(torch.ones(2, device="cuda"))
            >>> doubled.wait()
            tensor([2., 2.], device='cuda:0')
        """
        _check_callback("Future.then", callback)
        result = Future()
        if self.start is not None:
            result.start = self._begin
        self.add_done_callback(lambda done: _set(result, callback, done))
        return result

    def _begin(self) -> None:
        """Make the host wait for the collective on the CPU that completes this future."""
        start, self.start = self.start, None
        if start is not None:
            start()

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback(self)` when this future is done; at once if it already is.

        Raises: ArgumentTypeError if the callback is not callable; the callback's error, if this future is already done.
        Example:
            >>> future = torch.futures.Future()
            >>> future.add_done_callback(lambda done: print("done:", done.value()))
            >>> future.set_result(3)
            done: 3
        """
        _check_callback("Future.add_done_callback", callback)
        with self._changing:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)


def _check_callback(name: str, callback: Any) -> None:
    if not callable(callback):
        raise ArgumentTypeError(
            f"the callback is not callable: {shown(callback)}", hint="pass a function of the future", operator=name
        )


def _set(result: Future, callback: Callable[[Future], Any], done: Future) -> None:
    """Complete `result` with the callback's value."""
    with ExitStack() as stack:
        if done._error is None:
            _enter_streams(stack, _devices(done._value))
            done.wait()
        try:
            value = callback(done)
        except Exception as error:  # noqa: BLE001  (it is raised by wait)
            result.set_exception(error)
        else:
            result.set_result(value)


def future_of(work: Any, outputs: Sequence[Any]) -> Future:
    """Return the future of a collective's outputs.  work: the Work that waits for them."""
    future = Future()
    devices = _devices(outputs)
    if not devices:

        def start() -> None:
            work.wait()
            future.set_result(outputs)

        if work.is_completed():
            future.set_result(outputs)
        else:
            future.start = start
        return future
    with ExitStack() as stack:
        _enter_streams(stack, devices)
        work.wait()
        future.set_result(outputs)
    return future


def _enter_streams(stack: ExitStack, devices: Sequence[int]) -> None:
    """Make a side stream current on each device; make the first device current."""
    for device in reversed(devices):
        stack.enter_context(StreamGuard(Stream(device)))


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """Wait for all futures and return a list of their values, or raise the first error.

    Host: waits for values on the CPU.
    Example:
        >>> future = torch.futures.Future()
        >>> future.set_result(3)
        >>> torch.futures.wait_all([future])
        [3]
    """
    return [future.wait() for future in futures]


def collect_all(futures: Sequence[Future]) -> Future:
    """Return a future that is done when all given futures are; its value is a list of them.

    Example:
        >>> future = torch.futures.Future()
        >>> all_of_them = torch.futures.collect_all([future])
        >>> future.set_result(3)
        >>> [each.value() for each in all_of_them.wait()]
        [3]
    """
    result, missing = Future(), [len(futures)]

    def one(done: Future) -> None:
        missing[0] -= 1
        if missing[0] == 0:
            result.set_result(list(futures))

    if not futures:
        result.set_result([])
    for future in futures:
        future.add_done_callback(one)
    return result


def _on_gpus(value: Any) -> list[Any]:
    """Return the CUDA tensors of a value: a tensor, or nested sequences and mappings."""
    if isinstance(value, TensorBase):
        return [value] if value.is_cuda else []
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for entry in values for tensor in _on_gpus(entry)]


def _devices(value: Any) -> list[int]:
    return list(dict.fromkeys(tensor.device_index for tensor in _on_gpus(value)))

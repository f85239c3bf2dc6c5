"""Calling one module per device, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ..autograd.mode import GradMode, mode
from ..core import thread
from ..core.tensor import TensorBase
from ..data.worker_exception import WorkerException
from ..errors import ArgumentError, naming
from ..runtime.device import cuda_index
from ..tensor import checks


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Any = None,
) -> list[Any]:
    """[module(*input, **kwargs) for each], in threads; one module alone is called in this one.

    In each thread the device is the replica's, and gradient mode and current streams are as here.
    Host:   returns when all threads have; each waits where its module does.
    Raises: the first replica's exception, with its type, saying which replica and device; after all threads are done.
    """
    modules = checks.listed("parallel_apply", "modules", "modules", modules)
    inputs = checks.listed("parallel_apply", "inputs", "inputs, one per module", inputs)
    for place, each in enumerate(modules):
        checks.function("parallel_apply", f"modules[{place}]", each)
    count = len(modules)
    named = [{}] * count if kwargs_tup is None else kwargs_tup
    if not len(inputs) == len(named) == count:
        raise ArgumentError(
            f"{count} modules, {len(inputs)} inputs and {len(named)} kwargs do not fit",
            hint="give one of each per module",
            operator="parallel_apply",
        )
    with naming("parallel_apply"):
        places = [None] * count if devices is None else [cuda_index(each) for each in devices]
    if len(places) != count:
        raise ArgumentError(
            f"{count} modules and {len(places)} devices do not fit",
            hint="give one device per module",
            operator="parallel_apply",
        )
    calls = [
        _Replica(index, module, input, kwargs, place)
        for index, (module, input, kwargs, place) in enumerate(zip(modules, inputs, named, places))
    ]
    _run(calls)
    for call in calls:
        if isinstance(call.result, WorkerException):
            raise call.result.again()
    return [call.result for call in calls]


def _run(calls: list[_Replica]) -> None:
    if len(calls) == 1:
        calls[0].run()
        return
    threads = [threading.Thread(target=call.run, name=f"flambeau-replica-{call.index}") for call in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


class _Replica:
    """One call, with the state of the thread that asks for it."""

    def __init__(self, index: int, module: Any, input: Any, kwargs: dict[str, Any], device: int | None) -> None:
        self.index = index
        self.module = module
        self.args = tuple(input) if isinstance(input, (list, tuple)) else (input,)
        self.kwargs = kwargs
        found = _first_device([self.args, kwargs]) if device is None else device
        self.device = thread.current_device() if found is None else found
        self.recording = mode.enabled
        self.streams = thread.streams()
        self.result: Any = None

    def run(self) -> None:
        """Call the module; `result` is what it returns, or a WorkerException."""
        before = thread.current_device()
        for stream in self.streams.values():
            thread.set_stream(stream)
        thread.set_device(self.device)
        try:
            with GradMode(self.recording):
                self.result = self.module(*self.args, **self.kwargs)
        except BaseException as error:  # noqa: BLE001  (carried to the thread that asked)
            self.result = WorkerException(error, f"in replica {self.index} on device cuda:{self.device}")
        finally:
            thread.set_device(before)


def _first_device(value: Any) -> int | None:
    """The GPU of the first tensor in nested values, None if there is no tensor on a GPU."""
    if isinstance(value, TensorBase):
        return value.device_index if value.is_cuda else None
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for each in entries:
        found = _first_device(each)
        if found is not None:
            return found
    return None

"""Pickling of tensors, parameters and events between processes, by handle.

- Importing this module registers the types with multiprocessing's pickler, which queues, pipes, pools and process
  arguments use.
- A message goes to one receiver, once.
- The memory is shared, never copied: other processes see each write, in the order that runtime/ipc defines.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import weakref
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .. import callers
from ..core import host_storage, storage, thread
from ..core.storage import Storage
from ..core.tensor import TensorBase, alias_of, tensor_over
from ..driver.api import StreamHandle
from ..dtypes import BY_NAME
from ..errors import ArgumentError, AutogradError
from ..importer import listing
from ..nn.parameter import Buffer, Parameter
from ..runtime import device as devices
from ..runtime import ipc, shared_memory
from ..runtime.stream import Event
from ..strides import extent
from ..tensor.tensor import Tensor

STACK_FRAMES = 16  # frames searched for the line of the program that sends
_MULTIPROCESSING = os.path.dirname(multiprocessing.__file__)


class Route:
    """The destination of one pickling: a queue or pool, held weakly.  site: the source line."""

    def __init__(self, owner: object) -> None:
        self._owner = weakref.ref(owner)
        self.site = _site()

    def is_of(self, owner: object) -> bool:
        return self._owner() is owner


class _Sending(threading.local):
    """The route that this thread is pickling for."""

    route: Route | None = None


_sending = _Sending()


def packed(value: Any, route: Route) -> bytes:
    """Pickle `value` now, ordered after the work queued so far on this thread's current streams.

    If this raises an error, nothing was sent.
    """
    former, _sending.route = _sending.route, route
    try:
        return bytes(ForkingPickler.dumps(value))
    except BaseException:
        cancel(route)
        raise
    finally:
        _sending.route = former


def cancel(route: Route) -> None:
    """Cancel the objects pickled for a route."""
    _withdraw(lambda other: other is route)


def withdraw(owner: object) -> int:
    """Withdraw tensors sent through a queue or pool and not received; return their number."""
    return _withdraw(lambda route: isinstance(route, Route) and route.is_of(owner))


def _withdraw(chosen: Callable[[object], bool]) -> int:
    count = shared_memory.host_side().exports.withdraw(chosen)
    exchange = thread.machine().exchange if thread.has_machine() else None
    return count if exchange is None else count + exchange.exports.withdraw(chosen)


def reduce_storage(of: Storage) -> tuple[Any, ...]:
    """Return (function, arguments) to rebuild a storage in another process, for pickle."""
    if of.nbytes == 0:
        return _empty_storage, (of.device.index,)
    if of.device.index < 0:
        return _receive_host, (shared_memory.host_side().send(of, *_how()),)
    return _receive_device, (ipc.of(of.device.machine).send(of, *_how()),)


def _how() -> tuple[str, Route | None]:
    """Return (source line, route) of this thread's pickling; the route is None in multiprocessing itself (a Pipe)."""
    route = _sending.route
    return (_site(), None) if route is None else (route.site, route)


def _site() -> str:
    for frame in callers.call_stack(STACK_FRAMES):
        if not frame.startswith(_MULTIPROCESSING):
            return frame
    return "<unknown>"


def _empty_storage(device: int) -> Storage:
    if device < 0:
        return host_storage.on_host(0)
    index = devices.cuda_index(device)
    return storage.on_device(thread.machine().devices[index], 0, StreamHandle(0))


def _receive_host(message: bytes) -> Storage:
    return shared_memory.host_side().receive(message)


def _receive_device(message: bytes) -> Storage:
    return ipc.of(thread.machine()).receive(message)


def check_leaf(tensor: Any) -> None:
    """Raise AutogradError for a non-leaf that requires a gradient."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise AutogradError(
            f"a graph does not cross processes, and {tensor.describe()} is a non-leaf that requires a gradient",
            hint="send tensor.detach()",
            operator="multiprocessing",
        )


def reduce_tensor(tensor: Any) -> tuple[Any, ...]:
    """Return (function, arguments) to rebuild a tensor in another process, for pickle.

    The arguments hold the storage, the layout and the gradient.
    Raises: AutogradError for a non-leaf that requires a gradient.
    """
    check_leaf(tensor)
    layout = (tensor.dtype.name, tuple(tensor.shape), tuple(tensor.strides), tensor._offset)
    return _rebuild_tensor, (tensor._storage, *layout, tensor.requires_grad, tensor.grad)


def _rebuild_tensor(
    of: Storage,
    dtype_name: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    requires_grad: bool,
    grad: Any,
) -> Any:
    if dtype_name not in BY_NAME or not isinstance(of, Storage):
        raise ArgumentError(
            f"{dtype_name!r} is not a data type, or {type(of).__name__} is not a storage",
            hint="send tensors through torch.multiprocessing's own queues and pipes",
            operator="receive",
        )
    dtype = BY_NAME[dtype_name]
    needed = (offset + extent(shape, strides)) * dtype.itemsize if all(shape) else 0
    if offset < 0 or min((*shape, *strides), default=0) < 0 or needed > of.nbytes:
        raise ArgumentError(
            f"{dtype_name}{list(shape)} with strides {list(strides)} at {offset} does not fit in {of.nbytes} bytes",
            hint="send tensors through torch.multiprocessing's own queues and pipes",
            operator="receive",
        )
    tensor: Any = tensor_over(of, dtype, shape, strides, offset)
    tensor.requires_grad_(requires_grad)
    tensor.grad = grad
    return tensor


def _plain(tensor: Any) -> Any:
    return alias_of(tensor, tensor.shape, tensor.strides, tensor._offset)


def reduce_parameter(parameter: Any) -> tuple[Any, ...]:
    """Reduce a parameter for pickle."""
    return _rebuild_parameter, (type(parameter), _plain(parameter), parameter.requires_grad, parameter.grad)


def _rebuild_parameter(cls: type[Parameter], data: TensorBase, requires_grad: bool, grad: Any) -> Any:
    parameter = cls(data, requires_grad)
    parameter.grad = grad
    return parameter


def reduce_buffer(buffer: Any) -> tuple[Any, ...]:
    """Reduce a buffer for pickle."""
    return _rebuild_buffer, (_plain(buffer), buffer.requires_grad, buffer.persistent)


def _rebuild_buffer(data: Any, requires_grad: bool, persistent: bool) -> Any:
    return Buffer(data, persistent=persistent).requires_grad_(requires_grad)


def reduce_event(event: Event) -> tuple[Any, ...]:
    """Return (function, arguments) to open an interprocess event in another process; the sender keeps it alive."""
    handle = event.ipc_handle()
    return Event.from_ipc_handle, (devices.cuda(event.device_index), handle)


def register() -> None:
    """Register the reductions with multiprocessing's pickler."""
    ForkingPickler.register(Storage, reduce_storage)
    ForkingPickler.register(Tensor, reduce_tensor)
    ForkingPickler.register(Parameter, reduce_parameter)
    ForkingPickler.register(Buffer, reduce_buffer)
    ForkingPickler.register(Event, reduce_event)


register()


__all__ = ["reduce_event", "reduce_storage", "reduce_tensor"]
__dir__ = listing(globals())

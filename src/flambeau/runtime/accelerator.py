"""torch.accelerator: devices, events and graphs under names that do not mention CUDA.

The only accelerator is CUDA.  Functions that wait or free do nothing before the first use of a GPU.
"""

from __future__ import annotations

import importlib
from typing import Any

from .. import dtypes
from ..core import thread
from ..core.locks import whole
from ..errors import ModeError
from ..memory.private import PoolId
from . import control, cuda_memory
from . import device as devices
from .graph import CUDAGraph, hand_idle_memory_back
from .stream import Event


def is_available() -> bool:
    """Return whether there is an accelerator.  Never raises.

    Example:
        >>> torch.accelerator.is_available()
        True
    """
    return control.is_available()


def device_count() -> int:
    """Return the number of accelerators; 0 if there is none.  Never raises.

    Example:
        >>> torch.accelerator.device_count()
        2
    """
    return control.device_count()


def current_accelerator(check_available: bool = False) -> devices.device | None:
    """Return device("cuda"), or None if the process runs without GPUs.  Does not initialize CUDA.

    check_available: also return None if `is_available()` is False.
    Example:
        >>> torch.accelerator.current_accelerator()
        device(type='cuda')
    """
    wanted = thread.machine().choice.kind != "none" and (control.is_available() or not check_available)
    return devices.CUDA if wanted else None


def current_device_index() -> int:
    """Return the index of this thread's current device.

    Raises: NoDeviceError if there is no GPU.
    Example:
        >>> torch.accelerator.current_device_index()
        0
    """
    return control.current_device()


def set_device_index(device: Any) -> None:
    """Make a device current for this thread.  A negative index changes nothing.

    device: an index, or a device such as "cuda:1".
    Raises: the errors of `torch.cuda.set_device`.
    Example:
        >>> torch.accelerator.set_device_index(1)
        >>> torch.accelerator.current_device_index()
        1
        >>> torch.accelerator.set_device_index(0)
    """
    control.set_device(device)


class DeviceIndex(devices.DeviceGuard):
    """`with accelerator.device_index(i):` makes device i current for this thread, and restores the former one on exit.

    If i is None, the current device does not change.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> with torch.accelerator.device_index(1):
        ...     print(torch.zeros(1, device="cuda").device)
        cuda:1
    """

    def __init__(self, device: int | None) -> None:
        super().__init__(device)


def synchronize(device: Any = None) -> None:
    """Wait until all work on a device is done.  Does nothing before the first use of a GPU.

    device: an index or a device; None for the current one.
    Host:   waits.
    Raises: the errors of `torch.cuda.synchronize`.
    Example:
        >>> x = torch.ones(2, device="cuda")
        >>> torch.accelerator.synchronize()
        >>> torch.cuda.current_stream().query()
        True
    """
    if control.is_initialized():
        control.synchronize(device)


def empty_cache() -> None:
    """Return idle memory to the driver; does nothing before the first use of a GPU.

    Raises: AcceleratorError if work that the call waits for failed.
    Example:
        >>> x = torch.ones(2, device="cuda")
        >>> del x
        >>> torch.accelerator.empty_cache()
        >>> torch.cuda.memory_reserved()
        0
    """
    if control.is_initialized():
        cuda_memory.empty_cache()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """Return a dictionary with one key, `supported_dtypes`: the set of dtypes that tensors on a device can have.

    device: an index or a device; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> torch.float16 in torch.accelerator.get_device_capability()["supported_dtypes"]
        True
    """
    devices.cuda_index(device)
    return {"supported_dtypes": set(dtypes.ALL)}


class _AsCuda(type):
    """Metaclass of AnyEvent: a call makes a CUDA event, and every CUDA event counts as an instance."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Event)

    def __call__(
        cls, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Event:
        if device is not None:
            devices.cuda_index(device)
        return Event(enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


class AnyEvent(metaclass=_AsCuda):
    """A marker in a stream's work, for which other streams and the host can wait: see `torch.cuda.Event`.

    device: a CUDA device; None is the current accelerator.  The other arguments are those of `torch.cuda.Event`.
    Raises: ArgumentError if the device is not a CUDA device, or if both enable_timing and interprocess are True;
            DeviceIndexError if there is no such device.
    Example:
        >>> event = torch.Event("cuda")
        >>> event.record()
        >>> event.synchronize()
        >>> event.query()
        True
    """


DEFAULT_MODE = "global"


class AnyGraph(CUDAGraph):
    """A graph of GPU work: `with stream, graph:` captures the work that the block submits; see torch.cuda.CUDAGraph.

    keep_graph: keep the captured graph for `debug_dump`.  pool, capture_error_mode: see `CUDAGraph.capture_begin`;
    "default" means "global".
    Raises: the errors of `capture_begin`, on entry.
    Example:
        >>> x, graph = torch.ones(2, device="cuda"), torch.accelerator.Graph()
        >>> with torch.cuda.Stream(), graph:
        ...     y = x * 2
        >>> graph.replay()
        >>> y
        tensor([2., 2.], device='cuda:0')
    """

    def __init__(
        self, keep_graph: bool = False, *, pool: PoolId | None = None, capture_error_mode: str = "default"
    ) -> None:
        super().__init__(keep_graph)
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode

    def capture_begin(
        self, pool: PoolId | None = None, capture_error_mode: str = "", check_input_liveness: bool = False
    ) -> None:
        """Begin capturing the current stream.  Omitted arguments default to those of the constructor.

        Raises: the errors of `torch.cuda.CUDAGraph.capture_begin`.
        Example:
            >>> graph = torch.accelerator.Graph()
            >>> with torch.cuda.Stream():
            ...     graph.capture_begin()
            ...     x = torch.zeros(2, device="cuda")
            ...     graph.capture_end()
            >>> graph.replay()
        """
        mode = capture_error_mode or self.capture_error_mode
        mode = DEFAULT_MODE if mode == "default" else mode
        super().capture_begin(pool or self.graph_pool, mode, check_input_liveness)

    def debug_dump(self, path: str) -> None:
        """Write the graph to a file in Graphviz's DOT language.  Without keep_graph=True, warn and write nothing.

        Raises: AcceleratorError before the end of a capture, or if the file cannot be written.
        Example:
            >>> import tempfile
            >>> x, graph = torch.ones(2, device="cuda"), torch.accelerator.Graph(keep_graph=True)
            >>> with torch.cuda.Stream(), graph:
            ...     y = x * 2
            >>> with tempfile.NamedTemporaryFile() as file:
            ...     graph.debug_dump(file.name)
            ...     print(file.read()[:7])
            b'digraph'
        """
        super().debug_dump(path)

    def __enter__(self) -> AnyGraph:
        control.synchronize()
        hand_idle_memory_back()
        self.capture_begin()
        return self

    @whole
    def __exit__(self, error_type: Any, *error: object) -> None:
        if error_type is None:
            self.capture_end()
        else:
            self.abandon()


def get_device_module(device: Any = None) -> Any:
    """Return the module of a device's type, such as `torch.cuda`; without a device, that of the accelerator.

    Raises: DeviceNameError for a text that names no device, ModeError for a device type without a module.
    Example:
        >>> torch.get_device_module("cuda:1") is torch.cuda
        True
    """
    named = devices.device("cuda") if device is None else devices.device(device)
    try:
        return importlib.import_module(f"..{named.type}", __package__)
    except ImportError:
        raise ModeError(
            f"there is no module for devices of type {named.type!r}",
            hint="pass 'cuda', whose module is torch.cuda",
            operator="get_device_module",
        ) from None

"""The device object: a type and an index."""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable
from functools import cache, wraps
from numbers import Integral
from typing import Any

from ..core import thread
from ..core.locks import whole
from ..errors import ArgumentError, ArgumentTypeError, DeviceIndexError, DeviceNameError, NotSupportedError, shown

CPU_INDEX = -1
LARGEST_INDEX = (1 << 31) - 1  # the largest device index that fits the drivers' interfaces
ELSEWHERE = ("meta", "mps", "xpu")  # device types without a memory of their own: tensor/meta.py makes those of meta
INDEX_HINT = "pass a torch.device, a string or an index"


class _Chosen(threading.local):
    """The default device set by each thread."""

    default: device | None = None


_chosen = _Chosen()


class device:  # noqa: N801  (the field's name for it)
    """The name of a device: device("cpu"), device("cuda"), device("cuda:1"), device("cuda", 1) or device(1).

    `cuda` without an index means the current device at the time of use.  As a context manager or a decorator, a
    device becomes the default for functions that create tensors.
    Raises: DeviceNameError for a text or a negative index that names no device, ArgumentTypeError for any other value,
            ArgumentError for an index above 2**31 - 1.  Whether the device exists is checked when it is used.
    Example:
        >>> torch.device("cuda:1"), torch.device("cuda", 1) == torch.device("cuda:1")
        (device(type='cuda', index=1), True)
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if index is None:
            return as_device(type)
        if not is_integer(index):
            raise ArgumentTypeError(
                f"the index must be an int, got {index!r}", hint="as in device('cuda', 0)", operator="device"
            )
        return _make(type, _checked_index(type, index))

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        now = thread.here()
        now.default_devices = [*now.default_devices, self]  # a plain assignment: no signal handler can raise after it
        return self

    @whole
    def __exit__(self, *error: object) -> None:
        now = thread.here()
        now.default_devices = now.default_devices[:-1]

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that this device is the default inside it."""

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


@cache
def _make(device_type: str, index: int | None) -> device:
    new_device = object.__new__(device)
    new_device.type = device_type
    new_device.index = index
    return new_device


ASKED, NAMED = "the program asked for the index of its device", "the program named a device by its index"


class ObservedDevice(device):
    """The device of a mirrored replica's tensors (parallel/mirror.py).  Reading its index ends the mirroring."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "index":
            unmirror(ASKED)
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        return other is self or super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


def observed(index: int) -> ObservedDevice:
    result = object.__new__(ObservedDevice)
    result.type, result.index = "cuda", index
    return result


def unmirror(reason: str) -> None:
    """Stop repeating this device's work on other devices, if a mirrored replica runs here (parallel/mirror.py)."""
    now = thread.here()
    stream = now.streams[now.device] if now.device < len(now.streams) else None
    if stream is not None and stream.mirror is not None:
        stream.mirror.end(reason)


def expose() -> None:
    """Prepare to give another library an address or a handle (`Driver.expose`)."""
    if thread.has_machine() and thread.machine().is_started:
        thread.machine().driver.expose()


_known: dict[str, device] = {}  # by the text of the device; filled as texts are used
CPU = _make("cpu", None)
thread.CPU.public = CPU
thread.META.public = _make("meta", None)
CUDA = _make("cuda", None)


def cuda(index: int) -> device:
    """Return the device object of CUDA device `index`."""
    return _make("cuda", index)


def as_device(value: Any) -> device:
    """Convert any form of a device argument.  Raises DeviceNameError, ArgumentError or ArgumentTypeError."""
    known = _known.get(value) if type(value) is str else None
    if known is not None:
        return known
    if isinstance(value, device):
        return value
    if isinstance(value, str):
        parsed = _known[value] = _parsed(value)
        return parsed
    if is_integer(value):
        return _make("cuda", _checked_index("cuda", value))
    raise ArgumentTypeError(f"{shown(value)} is not a device", hint=INDEX_HINT, operator="device")


def _parsed(value: str) -> device:
    if value in ELSEWHERE:
        return _make(value, None)
    match = re.fullmatch(r"(cpu|cuda)(?::(0|[1-9]\d{0,9}))?", value)
    index = None if match is None or match[2] is None else int(match[2])
    if match is None or (index is not None and index > LARGEST_INDEX):
        other = re.fullmatch(r"(?!(?:cpu|cuda)\b)([A-Za-z_]+)(?::\d+)?", value)
        if other is not None:
            raise DeviceNameError(
                f"Expected one of cpu, cuda device type at start of device string: {other[1]}",
                hint="use 'cpu', 'cuda' or 'cuda:0'",
            )
        raise DeviceNameError(f"Invalid device string: {value!r}", hint="use 'cpu', 'cuda' or 'cuda:0'")
    return _make(match[1], index)


def resolve(value: Any) -> int:
    """Return the CUDA index of a device, or CPU_INDEX.

    `cuda` without an index is the current device; None is the default device.

    Raises: DeviceIndexError if there is no such device, NoDeviceError if there is none at all.
    """
    chosen = chosen_default() if value is None else as_device(value)
    if chosen.type in ELSEWHERE:
        raise NotSupportedError(f"there are no tensors on {chosen}", hint="use 'cpu', 'cuda' or 'cuda:0'")
    return CPU_INDEX if chosen.type == "cpu" else cuda_index(chosen)


CURRENT = CPU_INDEX - 1  # stands in `indexes` for `cuda` without an index
indexes: dict[str, int] = {}  # by device name; filled as names are resolved


def resolve_name(name: str) -> int:
    """Like `resolve`, for a text; the result is cached in `indexes`."""
    resolved, named = resolve(name), as_device(name)
    indexes[name] = CPU_INDEX if named.type == "cpu" else CURRENT if named.index is None else named.index
    return resolved


def cuda_index(value: Any = None) -> int:
    """Return the index of an existing CUDA device; None and un-indexed `cuda` are the current one.

    Raises ArgumentError for any other device type, DeviceIndexError if there is no such device.
    """
    machine = thread.machine()
    machine.start()
    if type(value) is int and 0 <= value < len(machine.devices):
        unmirror(NAMED)
        return value
    if isinstance(value, DeviceGuard):
        value = value.index
    chosen = CUDA if value is None else as_device(named_by(value))
    if type(chosen) is ObservedDevice:
        known: int = object.__getattribute__(chosen, "index")
        return known
    if chosen.index is not None:
        unmirror(NAMED)
    if chosen.type != "cuda":
        raise ArgumentError(f"Expected a cuda device, but got: {chosen}", hint="use 'cuda', 'cuda:0' or an index")
    index = thread.current_device() if chosen.index is None else chosen.index
    if index >= len(machine.devices):
        raise DeviceIndexError(
            f"cuda:{index}: there is no such device, this machine has {len(machine.devices)} (cuda:0 to "
            f"cuda:{len(machine.devices) - 1}); CUDA error: invalid device ordinal",
            hint="use a lower index, or more virtual GPUs: FLAMBEAU_GPUS=virtual:N makes N",
        )
    return index


def is_integer(value: object) -> bool:
    """Return whether a value is an integer, NumPy's included and bool excluded."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def named_by(value: Any) -> Any:
    """Return the device of a tensor, stream or event that is given as a device; return any other value unchanged."""
    named = getattr(value, "device", value)
    return value if isinstance(named, str) else named  # NumPy scalars have a `device` too: the text "cpu"


def chosen_default() -> device:
    """Return the innermost `with torch.device(...)` block's device, else this thread's choice, else the CPU."""
    own = thread.here().default_devices
    return own[-1] if own else _chosen.default or CPU


def get_default_device() -> device:
    """Return the device on which `zeros` and other factories create tensors by default, with its index if it is a GPU.

    Raises: DeviceIndexError if the default is a CUDA device that does not exist, NoDeviceError if there is no GPU.
    Example:
        >>> torch.get_default_device()
        device(type='cpu')
    """
    chosen = chosen_default()
    return cuda(cuda_index(chosen)) if chosen.type == "cuda" else chosen


def set_default_device(device: Any) -> None:
    """Set this thread's default device for factories such as `zeros`; None means the CPU.

    `cuda` without an index follows the current device.  A `with torch.device(...)` block overrides it.
    Raises: DeviceNameError for a str that names no device, ArgumentTypeError for any other value.  Whether the device
            exists is checked when it is used.
    Example:
        >>> torch.set_default_device("cuda")
        >>> torch.ones(2).device
        device(type='cuda', index=0)
        >>> torch.set_default_device(None)
    """
    _chosen.default = None if device is None else as_device(device)


def index_or_current(value: Any) -> int:
    """Return the index of an existing CUDA device; None and a negative number are the current one."""
    return cuda_index(None if _is_negative(value) else value)


def _is_negative(value: Any) -> bool:
    return is_integer(value) and value < 0


def _checked_index(device_type: Any, index: Any) -> int:
    if device_type not in ("cpu", "cuda"):
        raise DeviceNameError(
            f"Invalid device string: {device_type!r} with an index of {index}",
            hint="use 'cpu' or 'cuda' beside an index",
        )
    if index < 0:
        raise DeviceNameError(
            f"Device index must not be negative, got {index}",
            hint="pass 0 or more, or 'cuda' for the current device",
            operator="device",
        )
    if index > LARGEST_INDEX:
        raise ArgumentError(
            f"an index of {index} is too large, the largest is {LARGEST_INDEX}",
            hint="pass an index below cuda.device_count()",
            operator="device",
        )
    return operator.index(index)


def own_entry(entered: list[Any], ident: int) -> Any:
    """Remove and return a thread's last entry, which begins with its id; None without one.

    Several threads may be inside blocks of one object at once.
    """
    for at in reversed(range(len(entered))):
        if entered[at][0] == ident:
            return entered.pop(at)
    return None


class DeviceGuard:
    """`with cuda.device(i):` makes device i current for this thread, and restores the former device on exit.

    A negative index changes nothing, on entry or exit.  None keeps the current device, and restores it on exit.
    device: an index or a device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> with torch.cuda.device(1):
        ...     x = torch.ones(1, device="cuda")
        >>> x.device
        device(type='cuda', index=1)
    """

    def __init__(self, device: Any) -> None:
        self._restores = not _is_negative(device)
        if device is None or not self._restores:
            self.index: int | None = None
        else:
            self.index = cuda_index(device)
        self._previous: list[tuple[int, int]] = []  # thread and former device of each block inside

    @property
    def idx(self) -> int:
        """The index of the device that the block makes current; -1 if it keeps the current one."""
        return -1 if self.index is None else self.index

    def __enter__(self) -> DeviceGuard:
        now = thread.here()
        self._previous.append((now.ident, now.device))
        if self.index is not None:
            now.device, now.chosen = self.index, True  # plain assignments, as in `device`
        return self

    @whole
    def __exit__(self, *error: object) -> None:
        previous = own_entry(self._previous, thread.here().ident)
        if self._restores and previous is not None:
            thread.set_device(previous[1])


class DeviceOfGuard(DeviceGuard):
    """`with cuda.device_of(tensor):` makes the tensor's device current.  A CPU tensor changes nothing.

    obj: a tensor or a storage.
    Raises: ArgumentTypeError if the object has no device.
    Example:
        >>> with torch.cuda.device_of(torch.ones(1, device="cuda:1")):
        ...     print(torch.cuda.current_device())
        1
    """

    def __init__(self, obj: Any) -> None:
        owner = getattr(obj, "device", None)  # a storage has the core's device object
        owner = owner.public if isinstance(owner, thread.Device) else owner
        if not isinstance(owner, device):
            raise ArgumentTypeError(
                f"expected a tensor or a storage, got {shown(obj)}",
                hint="use torch.cuda.device(index) to make a device current",
                operator="device_of",
            )
        super().__init__(owner if owner.type == "cuda" else -1)

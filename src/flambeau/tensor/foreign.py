"""Memory of other libraries: DLPack capsules, both ways, and objects with the CUDA array interface.

- DLPack (https://dmlc.github.io/dlpack/latest/c_api.html): NumPy makes the capsules, over arrays that are never read if
  the memory is a GPU's; then the type and the device are written into them.  So NumPy's own functions release capsules
  that are never consumed, and those whose consumer runs without Python.
- A tensor over foreign memory keeps the owner alive until its storage is freed.  As the protocol says, the program must
  keep the tensor until work that uses it is done.
- Streams: the producer makes the consumer's stream follow the work that writes the memory.  Our allocator does not give
  an exported block to another owner before the consumer's stream has done what was queued when it was released.
- Virtual GPUs: their addresses are not memory of this process, so other libraries cannot read them and no capsule is
  made.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .. import dtypes
from ..core import storage, thread
from ..core.tensor import TensorBase, tensor_over
from ..dtypes import dtype
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, NotSupportedError, ValueRangeError, shown
from ..host import array_at, np
from ..runtime import device as devices
from ..runtime.device import cuda_index
from ..runtime.stream import Stream, external_stream
from ..strides import contiguous, extent

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
NO_OBJECTS = (list, tuple, int, float, str, TensorBase, type)  # types that are converted directly, before any protocol
INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6  # DLDataTypeCode
READ_ONLY, IS_COPIED = 1, 2  # flags of a versioned capsule
VERSION = 1, 0  # the newest version that can be read
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"  # names of capsules
USED = {PLAIN: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
LEGACY_DEFAULT, NO_ORDER = 1, -1  # streams, as DLPack numbers them; others are a CUstream

TYPES = {
    (INT, 8): dtypes.int8, (INT, 16): dtypes.int16, (INT, 32): dtypes.int32, (INT, 64): dtypes.int64,
    (UINT, 8): dtypes.uint8, (UINT, 16): dtypes.uint16, (UINT, 32): dtypes.uint32, (UINT, 64): dtypes.uint64,
    (FLOAT, 16): dtypes.float16, (FLOAT, 32): dtypes.float32, (FLOAT, 64): dtypes.float64,
    (BFLOAT, 16): dtypes.bfloat16, (BOOL, 8): dtypes.bool_,
}  # fmt: skip
CODES = {element_type: code for code, element_type in TYPES.items()}


class ExchangeError(NotSupportedError, BufferError):
    """Raised if a tensor cannot be exchanged with another library."""


class ExchangeGraphError(AutogradError, BufferError):
    """Raised if a tensor that takes part in a graph is to be exchanged with another library."""


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Plain(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_delete_at = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi  # private prototypes: the attributes of `ctypes.pythonapi` are shared
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))


class Taken:
    """A capsule's memory that this process took over; its producer's deleter is called at the end."""

    __slots__ = ("deleter", "pointer")

    def __init__(self, pointer: int, deleter: int | None) -> None:
        self.pointer = pointer
        self.deleter = deleter

    def __del__(self) -> None:
        if self.deleter:
            _delete_at(self.deleter)(self.pointer)


class _Owners:
    """Allocator interface for memory of other libraries.  A block is the foreign object; its storage releases it."""

    def free(self, block: Any) -> None:
        """Do nothing: the storage releases its reference to the foreign object."""

    def record_stream(self, block: Any, stream: Any) -> None:
        """Do nothing: the other library's allocator does not know our streams."""


_owners = _Owners()


def is_modelled() -> bool:
    """Return whether the GPUs are virtual, so that their addresses mean nothing outside of this library."""
    machine = thread.machine()
    machine.start()
    return machine.driver.capabilities.name != "nvidia"


# export


def capsule_of(tensor: TensorBase, device: tuple[int, int], is_versioned: bool, is_copied: bool) -> Any:
    """Return a capsule over a tensor's memory.  is_copied: whether the memory belongs to the consumer alone."""
    element_type = tensor.dtype
    carrier = dtypes.int16 if element_type is dtypes.bfloat16 else element_type
    if not tensor.numel():
        array = np.empty(tuple(tensor.shape), carrier.numpy)
    elif tensor.is_cuda:
        devices.expose()
        array = array_at(tensor.address(), carrier, tensor.shape, tensor.strides, tensor._storage)
    else:
        array = tensor.array().view(carrier.numpy)
    try:
        made = array.__dlpack__(max_version=VERSION) if is_versioned else array.__dlpack__()
    except TypeError:  # NumPy before 2.1 makes capsules without a version
        made = array.__dlpack__()
    if _is_valid(made, VERSIONED):
        managed = _Versioned.from_address(_pointer_of(made, VERSIONED))
        managed.flags = IS_COPIED if is_copied else 0
        description = managed.tensor
    else:
        description = _Plain.from_address(_pointer_of(made, PLAIN)).tensor
    description.device_type, description.device_id = device
    description.code, description.bits = CODES[element_type]
    return made


def let_follow(tensor: TensorBase, stream: Any) -> None:
    """Make a consumer's stream, as DLPack numbers it, follow the work on the tensor's current stream.

    stream: None is the legacy default stream.  While a graph is captured, None has no effect: the legacy stream would
    break the capture.
    """
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int)):
        raise ArgumentTypeError(
            f"stream must be an int or None, got {shown(stream)}",
            hint="pass the address of a CUstream, 1 for the legacy default stream, -1 for no order",
            operator="__dlpack__",
        )
    if not tensor.is_cuda:
        if stream not in (None, NO_ORDER):
            raise ArgumentError(
                f"stream is {stream}, the tensor is {tensor.describe()}: the CPU has no streams",
                hint="leave it out",
                operator="__dlpack__",
            )
        return
    if stream == 0:
        raise ValueRangeError(
            "stream 0 is ambiguous: there are two default streams",
            hint="pass 1 for the legacy default stream, 2 for the per-thread one",
            operator="__dlpack__",
        )
    if stream == NO_ORDER:
        return
    current = thread.current_stream(tensor.device_index)
    if stream is None and current.is_capturing():
        return
    consumer = foreign_stream(stream, tensor.device_index)
    if consumer != current:
        consumer.wait_stream(current)
        if consumer.is_own:  # another library may destroy its stream first: an event recorded on it then would crash
            tensor._storage.record_stream(consumer)


def foreign_stream(stream: int | None, index: int) -> Stream:
    """Return a device's stream by DLPack's number; None and 1 are the legacy default stream."""
    return external_stream(0 if stream in (None, LEGACY_DEFAULT) else stream, f"cuda:{index}")


# import


def is_capsule(value: Any) -> bool:
    """Return whether a value is a DLPack capsule that was not taken yet."""
    return type(value).__name__ == "PyCapsule" and any(_is_valid(value, name) for name in (PLAIN, VERSIONED))


def capsule_from(name: str, source: Any, options: dict[str, Any]) -> Any:
    """Call an object's `__dlpack__`, for the current stream of the GPU that its memory is on.

    options: dl_device and copy, where they matter.
    """
    kind, index = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (CPU, 0)
    given = dict(options)
    if int(kind) in (CUDA, CUDA_MANAGED) and "dl_device" not in options:
        given["stream"] = thread.current_stream(cuda_index(int(index))).cuda_stream or LEGACY_DEFAULT
    try:
        return source.__dlpack__(max_version=VERSION, **given)
    except TypeError:  # a producer of DLPack before 1.0 takes only `stream`
        return source.__dlpack__(**{key: value for key, value in given.items() if key == "stream"})


def memory_of(name: str, capsule: Any) -> Any:
    """Take a capsule's memory: a NumPy array if it is the host's, a tensor if it is a GPU's.

    Raises: ExchangeError (BufferError) for types and devices that tensors do not have; the capsule is not used then.
    """
    is_versioned = bool(_is_valid(capsule, VERSIONED))
    kind = VERSIONED if is_versioned else PLAIN
    pointer = _pointer_of(capsule, kind)
    managed: Any = (_Versioned if is_versioned else _Plain).from_address(pointer)
    if is_versioned and managed.major > VERSION[0]:
        raise ExchangeError(
            f"the capsule has version {managed.major}.{managed.minor} of DLPack",
            hint=f"export with DLPack version {VERSION[0]} or older",
            operator=name,
        )
    read = managed.tensor
    element_type = TYPES.get((read.code, read.bits))
    if element_type is None or read.lanes != 1:
        raise ExchangeError(
            f"the capsule's elements have code {read.code}, {read.bits} bits and {read.lanes} lanes of DLPack",
            hint="convert them first, for example to float32",
            operator=name,
        )
    shape = tuple(read.shape[: read.ndim]) if read.ndim else ()
    strides = tuple(read.strides[: read.ndim]) if read.strides and read.ndim else contiguous(shape)
    address = (read.data or 0) + read.byte_offset
    if read.device_type not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise ExchangeError(
            f"the capsule's memory is on a device of type {read.device_type} of DLPack",
            hint="copy the data to the CPU or to a CUDA device first",
            operator=name,
        )
    is_read_only = is_versioned and managed.flags & READ_ONLY
    if read.device_type in (CPU, CUDA_HOST):
        owner = _take(capsule, kind, pointer, managed.deleter)
        is_empty = 0 in shape
        array = (
            np.empty(shape, element_type.numpy) if is_empty else array_at(address, element_type, shape, strides, owner)
        )
        if is_read_only:
            array.flags.writeable = False
        return array
    index = cuda_index(read.device_id)
    _check_reachable(name, address, index, shape)
    check_steps(name, address, element_type, strides)
    return tensor_at(address, element_type, shape, strides, index, _take(capsule, kind, pointer, managed.deleter))


def _take(capsule: Any, name: bytes, pointer: int, deleter: int | None) -> Taken:
    """Take a capsule: its destructor does nothing from now on."""
    owner = Taken(pointer, deleter)
    _rename(capsule, USED[name])
    return owner


def _check_reachable(name: str, address: int, index: int, shape: tuple[int, ...]) -> None:
    """Raise ExchangeError for memory of a real GPU if the GPUs of this process are virtual."""
    if not is_modelled() or 0 in shape:
        return
    if thread.machine().driver.memory_device(address) != index:
        raise ExchangeError(
            f"address {address:#x} is memory of a real GPU, and the GPUs here are virtual",
            hint='pass device="cpu" to copy the data to the host, or set FLAMBEAU_GPUS=nvidia to use the real GPUs',
            operator=name,
        )


def check_steps(name: str, address: int, element_type: dtype, strides: tuple[int, ...]) -> None:
    """Raise ArgumentError for strides and addresses that a tensor on a GPU cannot have."""
    if any(step < 0 for step in strides) or address % element_type.itemsize:
        raise ArgumentError(
            f"strides of {strides} elements at address {address:#x} are negative, or not a multiple of "
            f"{element_type.itemsize} bytes",
            hint="make it contiguous first",
            operator=name,
        )


def tensor_at(
    address: int, element_type: dtype, shape: tuple[int, ...], strides: tuple[int, ...], index: int, owner: Any
) -> Any:
    """Make a tensor over memory of a GPU that belongs to another library; it keeps `owner` alive."""
    nbytes = 0 if 0 in shape else extent(shape, strides) * element_type.itemsize
    memory = storage.owning(thread.device_at(index), nbytes, address if nbytes else 0, owner, _owners)
    return tensor_over(memory, element_type, shape, strides)


def is_on_device(value: Any) -> bool:
    """Return whether another library's object has the CUDA array interface."""
    return not isinstance(value, NO_OBJECTS) and hasattr(value, "__cuda_array_interface__")


def as_array(name: str, value: Any) -> Any:
    """Return the NumPy array of another library's object on the host, and other values unchanged.

    Accepts NumPy's protocols and DLPack.
    """
    if isinstance(value, (NO_OBJECTS, np.ndarray, np.generic)):
        return value
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array_struct__"):
        return memory_of(name, capsule_from(name, value, {}))
    return value


def of_interface(name: str, source: Any) -> Any:
    """Make a tensor over the memory of an object with the CUDA array interface, which it keeps alive.

    The device's current stream follows the stream that the interface names.
    Raises: ExchangeError (BufferError) for masks, types and devices that tensors do not have.
    """
    described = source.__cuda_array_interface__
    devices.expose()
    element_type = dtypes.from_numpy(np.dtype(described["typestr"]))
    if element_type is None or described.get("mask") is not None:
        raise ExchangeError(
            f"elements of type {described['typestr']} with mask {shown(described.get('mask'))} cannot become a tensor",
            hint="convert the array first, to a type such as float32 without a mask",
            operator=name,
        )
    shape = tuple(int(size) for size in described["shape"])
    address, is_read_only = described.get("data") or (0, False)
    size = element_type.itemsize
    steps = described.get("strides")
    if steps is not None and any(step % size for step in steps):
        raise ArgumentError(
            f"strides of {tuple(steps)} bytes are not a multiple of {size} bytes",
            hint="make it contiguous first",
            operator=name,
        )
    strides = contiguous(shape) if steps is None else tuple(step // size for step in steps)
    check_steps(name, address, element_type, strides)
    current = cuda_index()  # starts the machine
    index = current if 0 in shape else thread.machine().driver.memory_device(address)
    if index is None:
        raise ExchangeError(
            f"address {address:#x} is not in the memory of a GPU of this process",
            hint="copy the array to the host first, or set FLAMBEAU_GPUS=nvidia to use real GPUs",
            operator=name,
        )
    stream = described.get("stream")
    current_stream = thread.current_stream(index)
    if stream is not None and (producer := foreign_stream(int(stream), index)) != current_stream:
        current_stream.wait_stream(producer)
    found = tensor_at(address, element_type, shape, strides, index, source)
    return found.clone() if is_read_only else found

"""UntypedStorage and TypedStorage: the memory of a tensor as bytes, and as elements of one type."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .. import dtypes
from ..core import host_storage, storage, thread
from ..core.call_errors import former_machine
from ..core.host_calls import shrunk
from ..core.locks import whole
from ..core.storage import Storage
from ..core.tensor import empty_tensor, tensor_over
from ..dtypes import dtype, uint8
from ..errors import ArgumentTypeError, FileFormatError, NotSupportedError, ValueRangeError, shown
from ..host import np
from ..runtime import device as devices
from . import checks

NOWHERE = 256  # address of an emptied storage of a GPU: kernels take 0 for an operand that is absent
MEMORY = (  # the attributes of a Storage that describe its memory
    "_address", "_allocator", "_array", "_has_address", "_owner", "aligned", "block", "nbytes", "twins",
    "whole", "whole_layout",
)  # fmt: skip


def check_machine(name: str, memory: Storage) -> None:
    """Raise AcceleratorError for device memory of a former machine."""
    machine = thread.machine()
    if memory.device.index >= 0 and memory.device.machine is not machine:
        raise former_machine(name, memory, machine)


def resize(memory: Storage, nbytes: int, name: str) -> None:
    """Change the size of a storage; the first bytes are kept.  Every tensor over it sees the new memory.

    Raises: NotSupportedError for memory of another owner: shared with other processes, or from another library;
            AcceleratorError for memory of a former machine.
    """
    if nbytes == memory.nbytes:
        return
    from ..runtime import shared_memory

    is_pinned = memory.is_pinned
    is_own = memory._owner is None or is_pinned and memory._owner is thread.machine().pinned
    if not is_own or memory in shared_memory.host_side().files:
        raise NotSupportedError(
            f"trying to resize storage that is not resizable: {memory.nbytes} bytes on {memory.device}",
            hint="clone() it first: memory that is shared with others keeps its size",
            operator=name,
        )
    index = memory.device.index
    check_machine(name, memory)
    other = empty_tensor((nbytes,), uint8, index, pin_memory=is_pinned)._storage
    if index < 0 and not nbytes:
        other._array = np.empty(1, np.uint8)  # NumPy does not compare an array with an empty buffer
    kept = min(nbytes, memory.nbytes)
    if kept:
        target: Any = tensor_over(other, uint8, (kept,), (1,))
        target.copy_(tensor_over(memory, uint8, (kept,), (1,)))
        if index >= 0:
            memory.record_stream(thread.current_stream(index))
    if nbytes < memory.nbytes:
        shrunk.add(memory)
    _exchange(memory, other)
    if index >= 0 and not nbytes:
        memory._address = NOWHERE
    memory.version += 1


@whole
def _exchange(storage: Storage, other: Storage) -> None:
    """Exchange the memory of two storages of one device."""
    for name in MEMORY:
        mine = getattr(storage, name)
        setattr(storage, name, getattr(other, name))
        setattr(other, name, mine)


def mapped(name: str, filename: Any, shared: bool, nbytes: int, content: str = "the storage") -> Any:
    """Return a uint8 array over the first bytes of a file.

    shared: writes go to the file, which is created or extended if needed; otherwise they stay in this process.
    content: a name of the bytes, for the error.
    Raises: FileFormatError if the file is too small, the OSError of a file that cannot be opened.
    """
    if shared:
        with open(filename, "ab") as file:
            if os.fstat(file.fileno()).st_size < nbytes:
                file.truncate(nbytes)
    have = os.stat(filename).st_size
    if have < nbytes:
        raise FileFormatError(
            f"file {os.fspath(filename)} has {have} bytes, fewer than the {nbytes} of {content}",
            hint="pass shared=True to let it grow",
            operator=name,
        )
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(filename, np.uint8, "r+" if shared else "c", 0, nbytes))


def elements_of(value: Any) -> Any:
    """Return a tensor over the elements of a storage; anything else unchanged."""
    return value._elements() if isinstance(value, _Memory) else value


class _Memory:
    """Base of typed and untyped storages: memory whose elements have the type `_type`."""

    __slots__ = ("_storage", "_type")
    _storage: Storage
    _type: dtype

    def _elements(self) -> Any:
        """Return a tensor over the same memory, of all whole elements."""
        return tensor_over(self._storage, self._type, (self._storage.nbytes // self._type.itemsize,), (1,))

    def _like(self, elements: Any) -> Any:
        """Return a storage of this class over a tensor's memory."""
        raise AssertionError("subclasses implement it")

    @property
    def device(self) -> devices.device:
        public: devices.device = self._storage.device.public
        return public

    @property
    def is_cuda(self) -> bool:
        return self._storage.device.index >= 0

    @property
    def is_sparse(self) -> bool:
        return False

    def get_device(self) -> int:
        """Return the index of the CUDA device, -1 on the CPU.

        Example:
            >>> torch.FloatStorage(2).get_device()
            -1
        """
        return self._storage.device.index

    def nbytes(self) -> int:
        """Return the size in bytes.

        Example:
            >>> torch.FloatStorage(2).nbytes()
            8
        """
        return self._storage.nbytes

    def size(self) -> int:
        """Return the number of elements; of an untyped storage, the number of bytes.

        Example:
            >>> torch.FloatStorage(2).size(), torch.UntypedStorage(8).size()
            (2, 8)
        """
        return self._storage.nbytes // self._type.itemsize

    def __len__(self) -> int:
        return self.size()

    def element_size(self) -> int:
        """Return the size of one element, in bytes.

        Example:
            >>> torch.FloatStorage(2).element_size()
            4
        """
        return self._type.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first byte.

        Example:
            >>> x = torch.ones(2)
            >>> x.untyped_storage().data_ptr() == x.data_ptr()
            True
        """
        if self._storage.device.index >= 0:
            devices.expose()
        return self._storage.address() if self._storage.nbytes else 0

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether the storage lies in pinned host memory.  Does not initialize CUDA.

        device: a GPU or None; it has no effect.
        Raises: ArgumentError for a device that is not a GPU.
        Example:
            >>> torch.FloatStorage(2).is_pinned(), torch.FloatStorage(2).pin_memory().is_pinned()
            (False, True)
        """
        checks.accelerator("is_pinned", device)
        return self._storage.is_pinned

    def is_shared(self) -> bool:
        """Return whether other processes can open the memory; True on a GPU.

        Example:
            >>> torch.FloatStorage(2).is_shared(), torch.FloatStorage(2).share_memory_().is_shared()
            (False, True)
        """
        return bool(is_shared(self._elements()))

    def share_memory_(self) -> Any:
        """Move a storage on the CPU to shared memory, which other processes can open; return self.

        Does nothing for a storage on a GPU.
        Example:
            >>> torch.FloatStorage([1.0, 2.0]).share_memory_().tolist()
            [1.0, 2.0]
        """
        share_memory_(self._elements())
        return self

    @property
    def filename(self) -> str | None:
        """The name of the file that holds shared memory, None if there is none."""
        from ..runtime import shared_memory

        held = shared_memory.host_side().files.get(self._storage)
        return (held.name or None) if held is not None else None

    def resizable(self) -> bool:
        """Return whether the size may change; False for memory that is shared with other processes.

        Example:
            >>> torch.FloatStorage(2).resizable(), torch.FloatStorage(2).share_memory_().resizable()
            (True, False)
        """
        return self._storage._owner is None and not (not self.is_cuda and self.is_shared())

    def resize_(self, size: int) -> Any:
        """Change the number of elements; the first ones are kept.  Return self.

        Every tensor over the storage sees the new memory.  A tensor that reaches beyond the storage's new end must not
        be used any more.
        Raises: NotSupportedError for memory that is shared with other processes or comes from another library.
        Example:
            >>> storage = torch.FloatStorage([1.0, 2.0, 3.0]).resize_(2)
            >>> storage.tolist()
            [1.0, 2.0]
        """
        checks.count("resize_", "size", size)
        resize(self._storage, size * self._type.itemsize, "resize_")
        return self

    def __getitem__(self, index: Any) -> Any:
        """Return one element as a number, or a copy of several.  Host: waits if they are on a GPU."""
        values = self._elements()[index]
        return self._like(values.clone()) if isinstance(index, slice) else values.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as a list of Python numbers.

        Host: waits if they are on a GPU.
        Example:
            >>> torch.FloatStorage([1.0, 2.0]).tolist()
            [1.0, 2.0]
        """
        values: list[Any] = self._elements().tolist()
        return values

    def fill_(self, value: Any) -> Any:
        """Set every element to `value`, and return this storage.

        Raises: ArgumentTypeError if `value` is not a number, ValueRangeError if the type cannot hold it.
        Example:
            >>> torch.FloatStorage(2).fill_(7).tolist()
            [7.0, 7.0]
        """
        self._elements().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Copy the elements of another storage of the same size, and return this storage.

        non_blocking: if True, the host does not wait for a copy from or to pinned memory.
        Raises: ArgumentTypeError if `source` is not a storage of this class; ValueRangeError if it has another size.
        Example:
            >>> torch.FloatStorage(2).copy_(torch.FloatStorage([1.0, 2.0])).tolist()
            [1.0, 2.0]
        """
        if not isinstance(source, type(self)):
            raise ArgumentTypeError(
                f"expected a {type(self).__name__}, got {shown(source)}",
                hint="as in t.untyped_storage()",
                operator="copy_",
            )
        if source.size() != self.size():
            raise ValueRangeError(
                f"a storage of {source.size()} elements does not fit one of {self.size()}",
                hint="pass a storage of the same size",
                operator="copy_",
            )
        self._elements().copy_(source._elements(), non_blocking)
        return self

    def clone(self) -> Any:
        """Return a copy on the same device.

        Example:
            >>> storage = torch.FloatStorage([1.0, 2.0])
            >>> copied = storage.clone().fill_(0)
            >>> storage.tolist()
            [1.0, 2.0]
        """
        return self._like(self._elements().clone())

    def cpu(self) -> Any:
        """Return the storage on the CPU: a copy, or the same memory if it is there already.

        Host: waits if it is on a GPU.
        Example:
            >>> torch.ones(2, device="cuda").untyped_storage().cpu().device
            device(type='cpu')
        """
        return self._like(self._elements().cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Return the storage on a CUDA device: a copy, or the same memory if it is there already.

        device: None for the current one.  non_blocking: if True, the host does not wait for a copy from pinned memory.
        Raises: DeviceNameError or DeviceIndexError for a device that does not exist, ArgumentError for one that is not
                a GPU.
        Example:
            >>> torch.FloatStorage([1.0, 2.0]).cuda(1).device
            device(type='cuda', index=1)
        """
        return self._like(self._elements().cuda(device, non_blocking))

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """Return the storage on a device: a copy, or the same memory if it is there already.

        non_blocking: if True, the host does not wait for a copy from or to pinned memory.
        Raises: DeviceNameError or DeviceIndexError for a device that does not exist.
        Example:
            >>> torch.FloatStorage([1.0, 2.0]).to(device="cuda:1").device
            device(type='cuda', index=1)
        """
        return self._like(self._elements().to(device, non_blocking=non_blocking))

    def pin_memory(self, device: Any = None) -> Any:
        """Return the storage in pinned host memory: a copy, or the same memory if it is there already.

        device: a GPU or None; it has no effect.
        Raises: ValueRangeError for memory of a GPU, ArgumentError for a device that is not a GPU.
        Example:
            >>> torch.FloatStorage([1.0, 2.0]).pin_memory().is_pinned()
            True
        """
        return self._like(self._elements().pin_memory(device))

    def _as(self, wanted: dtype) -> TypedStorage:
        return typed(self._elements().to(wanted)._storage, wanted)

    def half(self) -> TypedStorage:
        """Return a storage of the elements as float16; it shares the memory if the type is float16 already.

        Example:
            >>> torch.LongStorage([1, 2]).half().tolist()
            [1.0, 2.0]
        """
        return self._as(dtypes.float16)

    def bfloat16(self) -> TypedStorage:
        """Return a storage of the elements as bfloat16; it shares the memory if the type is bfloat16 already.

        Example:
            >>> torch.LongStorage([1, 2]).bfloat16().tolist()
            [1.0, 2.0]
        """
        return self._as(dtypes.bfloat16)

    def float(self) -> TypedStorage:
        """Return a storage of the elements as float32; it shares the memory if the type is float32 already.

        Example:
            >>> torch.LongStorage([1, 2]).float().tolist()
            [1.0, 2.0]
        """
        return self._as(dtypes.float32)

    def double(self) -> TypedStorage:
        """Return a storage of the elements as float64; it shares the memory if the type is float64 already.

        Example:
            >>> torch.LongStorage([1, 2]).double().tolist()
            [1.0, 2.0]
        """
        return self._as(dtypes.float64)

    def long(self) -> TypedStorage:
        """Return a storage of the elements as int64; it shares the memory if the type is int64 already.

        Example:
            >>> torch.FloatStorage([1.5, 2.5]).long().tolist()
            [1, 2]
        """
        return self._as(dtypes.int64)

    def int(self) -> TypedStorage:
        """Return a storage of the elements as int32; it shares the memory if the type is int32 already.

        Example:
            >>> torch.FloatStorage([1.5, 2.5]).int().tolist()
            [1, 2]
        """
        return self._as(dtypes.int32)

    def short(self) -> TypedStorage:
        """Return a storage of the elements as int16; it shares the memory if the type is int16 already.

        Example:
            >>> torch.FloatStorage([1.5, 2.5]).short().tolist()
            [1, 2]
        """
        return self._as(dtypes.int16)

    def char(self) -> TypedStorage:
        """Return a storage of the elements as int8; it shares the memory if the type is int8 already.

        Example:
            >>> torch.FloatStorage([1.5, 2.5]).char().tolist()
            [1, 2]
        """
        return self._as(dtypes.int8)

    def byte(self) -> TypedStorage:
        """Return a storage of the elements as uint8; it shares the memory if the type is uint8 already.

        Example:
            >>> torch.FloatStorage([1.5, 2.5]).byte().tolist()
            [1, 2]
        """
        return self._as(dtypes.uint8)

    def bool(self) -> TypedStorage:
        """Return a storage of the elements as bool; it shares the memory if the type is bool already.

        Example:
            >>> torch.FloatStorage([1.5, 2.5]).bool().tolist()
            [True, True]
        """
        return self._as(dtypes.bool_)

    def __eq__(self, other: object) -> Any:
        return isinstance(other, _Memory) and other._storage is self._storage and other._type is self._type

    def __hash__(self) -> Any:
        return id(self._storage)


class UntypedStorage(_Memory):
    """The memory of one or more tensors as bytes; `UntypedStorage(8)` has 8 uninitialized bytes.

    Two storages are equal if they share the same memory.
    size: the number of bytes, or a list of their values.  device: where the memory lies; None is the default device.
    Raises: ArgumentTypeError for anything else, ValueRangeError for a negative size, DeviceNameError or
            DeviceIndexError for a device that does not exist.
    Example:
        >>> torch.UntypedStorage(16).nbytes()
        16
        >>> torch.ones(2).untyped_storage()[3]
        63
    """

    __slots__ = ()

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        values = [*size] if isinstance(size, (list, tuple)) else None
        count = size if values is None else len(values)
        checks.count("UntypedStorage", "size", count)
        self._storage = empty_tensor((count,), uint8, devices.resolve(device))._storage
        self._type = uint8
        if values:
            self._elements().copy_(_given("UntypedStorage", values, uint8))

    @staticmethod
    def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        r"""Return a storage over the first `nbytes` bytes of a file, which is mapped into memory.

        shared: True writes changes to the file, which is created or extended if needed; otherwise changes stay in this
        process.
        Raises: FileFormatError if the file is too small, the OSError of a file that cannot be opened.
        Example:
            >>> import tempfile
            >>> with tempfile.NamedTemporaryFile() as file:
            ...     storage = torch.UntypedStorage.from_file(file.name, shared=True, nbytes=4)
            ...     _ = storage.fill_(7)
            ...     print(file.read())
            b'\x07\x07\x07\x07'
        """
        checks.count("from_file", "nbytes", nbytes)
        return of(host_storage.from_array(mapped("from_file", filename, shared, nbytes)))

    def _like(self, elements: Any) -> UntypedStorage:
        return of(elements._storage)

    def type(self, dtype: Any = None, non_blocking: Any = False) -> Any:
        """Return the name of this class: "torch.UntypedStorage", or "torch.cuda.UntypedStorage" on a GPU.

        Example:
            >>> torch.UntypedStorage(4).type()
            'torch.UntypedStorage'
        """
        return "torch.cuda.UntypedStorage" if self.is_cuda else "torch.UntypedStorage"

    def untyped(self) -> UntypedStorage:
        """Return this storage itself.

        Example:
            >>> storage = torch.UntypedStorage(4)
            >>> storage.untyped() is storage
            True
        """
        return self

    def new(self) -> UntypedStorage:
        """Return an empty storage on the same device.

        Example:
            >>> torch.UntypedStorage(4).new().nbytes()
            0
        """
        return UntypedStorage(0, device=self.device)

    def byteswap(self, dtype: dtype) -> None:
        """Reverse the order of the bytes within each element, in place.  dtype: the type of the elements.

        Raises: NotSupportedError on a GPU.
        Example:
            >>> storage = torch.UntypedStorage([1, 2, 3, 4])
            >>> storage.byteswap(torch.int16)
            >>> storage.tolist()
            [2, 1, 4, 3]
        """
        if self.is_cuda:
            raise NotSupportedError(
                "only a storage on the CPU can swap its bytes", hint="call cpu() first", operator="byteswap"
            )
        self._elements().numpy().reshape(-1, dtype.itemsize)[:] = (
            self._elements().numpy().reshape(-1, dtype.itemsize)[:, ::-1].copy()
        )

    def __repr__(self) -> str:
        return f"<torch.UntypedStorage: {self.nbytes()} bytes on {self.device}>"


def _given(operator: str, values: Any, wanted: dtype) -> Any:
    try:
        array = np.array(values).astype(wanted.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        fact = f"expected numbers, got {shown(values)}"
        raise ArgumentTypeError(fact, hint="pass a size or a list of numbers", operator=operator) from error
    return tensor_over(host_storage.from_array(array.view(np.uint8)), wanted, (len(values),), (1,))


class _TypedClass(type):
    """The class of FloatStorage and the other typed storages, whose instances are TypedStorages of their dtype."""

    dtype: dtypes.dtype | None

    def __call__(cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> Any:
        own = cls.__dict__.get("dtype") if cls is not TypedStorage else None
        if own is not None and dtype is not None and dtype is not own:
            raise ArgumentTypeError(
                f"dtype of this class must be {own}, got {dtype}", hint="leave dtype out", operator=cls.__name__
            )
        wanted = own or checks.as_dtype(cls.__name__, dtype) or dtypes.default.floating
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage) or args:
                raise ArgumentTypeError(
                    f"wrap_storage must be an UntypedStorage and the only argument, got {shown(wrap_storage)}",
                    hint="as in t.untyped_storage()",
                    operator=cls.__name__,
                )
            return typed(wrap_storage._storage, wanted)
        if len(args) > 1:
            raise ArgumentTypeError(f"takes a size or a sequence, got {len(args)} values", operator=cls.__name__)
        first: Any = args[0] if args else 0
        is_size = hasattr(first, "__index__") or not hasattr(first, "__len__")
        count = first if is_size else len(first)
        checks.count(cls.__name__, "size", count)
        made: Any = empty_tensor((count,), wanted, devices.resolve(device))
        if count and not is_size:
            made.copy_(_given(cls.__name__, [*first], wanted))
        return typed(made._storage, wanted)

    def __instancecheck__(cls, instance: object) -> bool:
        own = cls.__dict__.get("dtype") if cls is not TypedStorage else None
        return type(instance) is TypedStorage and (own is None or instance._type is own)


class TypedStorage(_Memory, metaclass=_TypedClass):
    """The memory of one or more tensors as elements of one type, `dtype`.

    TypedStorage(size), TypedStorage(sequence) or TypedStorage(wrap_storage=untyped), with dtype= and device=.
    size: the number of elements.
    Raises: ArgumentTypeError for other arguments, ValueRangeError for a negative size, DeviceNameError or
            DeviceIndexError for a device that does not exist.
    Example:
        >>> torch.TypedStorage([1, 2], dtype=torch.int64).tolist()
        [1, 2]
        >>> torch.ones(3).storage()[0]
        1.0
    """

    __slots__ = ()

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of an element."""
        return self._type

    def _like(self, elements: Any) -> TypedStorage:
        return typed(elements._storage, self._type)

    def type(self, dtype: Any = None, non_blocking: Any = False) -> Any:
        """Return the name of this storage's class, such as 'torch.FloatStorage'; with `dtype`, convert to this type.

        Raises: ArgumentTypeError for anything that is not a dtype.
        Example:
            >>> torch.FloatStorage([1.5, 2.5]).type()
            'torch.FloatStorage'
            >>> torch.FloatStorage([1.5, 2.5]).type(torch.int64).tolist()
            [1, 2]
        """
        if dtype is not None:
            named = NAMES.get(dtype.removeprefix("torch.")) if isinstance(dtype, str) else dtype
            wanted = named if isinstance(named, dtypes.dtype) else getattr(named, "dtype", None)
            if not isinstance(wanted, dtypes.dtype):
                raise ArgumentTypeError(
                    f"invalid type: {shown(dtype)}", hint="as torch.float32 or 'torch.FloatStorage'", operator="type"
                )
            return self._as(wanted)
        name: str = CLASSES[self._type].__name__
        return f"torch.cuda.{name}" if self.is_cuda else f"torch.{name}"

    def pickle_storage_type(self) -> str:
        """Return the name of the class for storages of this dtype, such as 'FloatStorage' for float32.

        Example:
            >>> torch.FloatStorage(2).pickle_storage_type()
            'FloatStorage'
        """
        name: str = CLASSES[self._type].__name__
        return name

    def untyped(self) -> UntypedStorage:
        """Return an UntypedStorage over the same memory; its elements are the bytes.

        Example:
            >>> torch.FloatStorage([1.0]).untyped().tolist()
            [0, 0, 128, 63]
        """
        return of(self._storage)

    def __repr__(self) -> str:
        name = CLASSES.get(self._type, TypedStorage).__name__  # unsigned types have no class
        return f"<torch.{name}: {self.size()} elements of {self._type.name} on {self.device}>"


def _class(name: str, element_type: dtypes.dtype) -> Any:
    members = {
        "__slots__": (), "__module__": "torch", "dtype": element_type,
        "__doc__": f"A TypedStorage of {element_type.name}.\n\nExample:\n    >>> torch.{name}([0, 1]).dtype\n"
        f"    {element_type}\n",
    }  # fmt: skip
    return _TypedClass(name, (TypedStorage,), members)


CLASSES = {
    kind: _class(f"{name}Storage", kind)
    for name, kind in {
        "Half": dtypes.float16, "BFloat16": dtypes.bfloat16, "Float": dtypes.float32, "Double": dtypes.float64,
        "Byte": dtypes.uint8, "Char": dtypes.int8, "Short": dtypes.int16, "Int": dtypes.int32, "Long": dtypes.int64,
        "Bool": dtypes.bool_,
    }.items()
}  # fmt: skip
NAMES = {cls.__name__: cls for cls in CLASSES.values()}
HalfStorage, BFloat16Storage = NAMES["HalfStorage"], NAMES["BFloat16Storage"]
FloatStorage, DoubleStorage = NAMES["FloatStorage"], NAMES["DoubleStorage"]
ByteStorage, CharStorage, ShortStorage = NAMES["ByteStorage"], NAMES["CharStorage"], NAMES["ShortStorage"]
IntStorage, LongStorage, BoolStorage = NAMES["IntStorage"], NAMES["LongStorage"], NAMES["BoolStorage"]


def of(bytes_of: storage.Storage) -> UntypedStorage:
    """Wrap a storage of the core."""
    wrapper: UntypedStorage = UntypedStorage.__new__(UntypedStorage)
    wrapper._storage = bytes_of
    wrapper._type = uint8
    return wrapper


def typed(memory: storage.Storage, element_type: dtypes.dtype) -> TypedStorage:
    """Wrap a storage of the core as elements of a type."""
    wrapper: TypedStorage = TypedStorage.__new__(TypedStorage)
    wrapper._storage = memory
    wrapper._type = element_type
    return wrapper


def is_storage(obj: Any) -> bool:
    """Return whether `obj` is a storage, typed or not.

    Example:
        >>> torch.is_storage(torch.ones(1).untyped_storage()), torch.is_storage(torch.ones(1))
        (True, False)
    """
    return isinstance(obj, _Memory)


def storage_of(self: Any) -> TypedStorage:
    """Return this tensor's storage as a TypedStorage, with elements of its type; for a view, the whole storage.

    Example:
        >>> torch.arange(3)[1:].storage().tolist()
        [0, 1, 2]
    """
    return typed(self._storage, self.dtype)


def storage_type(self: Any) -> Any:
    """Return the subclass of TypedStorage for this tensor's type.

    Example:
        >>> torch.ones(1).storage_type()
        <class 'torch.FloatStorage'>
    """
    return CLASSES[self.dtype]


def is_shared(self: Any) -> bool:
    """Return whether other processes can open this tensor's memory: always on a GPU, on the CPU if it is shared memory.

    `share_memory_` moves a CPU tensor to shared memory.

    Example:
        >>> x = torch.ones(2)
        >>> x.is_shared()
        False
        >>> x.share_memory_().is_shared()
        True
    """
    from ..runtime import shared_memory

    storage: Storage = self._storage
    return storage.device.index >= 0 or storage in shared_memory.host_side().files


def share_memory_(self: Any) -> Any:
    """Move a CPU tensor, and every tensor over the same memory, to shared memory; return this tensor.

    Other processes can open shared memory.  Does nothing for a tensor on a GPU.  NumPy arrays made from it earlier keep
    the old memory.
    Example:
        >>> x = torch.ones(2).share_memory_()
        >>> x.is_shared()
        True
    """
    from ..runtime import shared_memory

    if self.device_index < 0:
        shared_memory.host_side().share(self._storage)
    return self


storage_of.__name__ = "storage"
METHODS = (is_shared, share_memory_, storage_of, storage_type)

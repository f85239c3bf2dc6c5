"""Writes an object as a pickle that PyTorch and `unpickler` read.

- The opcodes are those of protocol 2, the one that `torch.load(weights_only=True)` reads.
- Tensors, data types, sizes and devices get PyTorch's names.  Classes and functions get the names they are imported by.
- A storage is a persistent id; its bytes are a record of the archive.  It is written once, with all of its bytes,
  however many tensors view it.
- Objects that are being written are kept on a list, not on Python's stack: depth has no limit.
"""

from __future__ import annotations

import copyreg
import importlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from struct import pack
from types import FunctionType
from typing import Any, NamedTuple

from ..core.storage import Storage
from ..core.tensor import TensorBase
from ..dtypes import dtype
from ..errors import ArgumentTypeError, FlambeauError, shown
from ..memory_formats import layout
from ..nn.parameter import Buffer, Parameter
from ..runtime.device import device
from ..strides import Size
from ..tensor import pickling
from ..tensor.storages import TypedStorage, UntypedStorage
from ..tensor.tensor import Tensor

PROTOCOL = 2
BATCH = 1000  # entries of a container per opcode
STORAGE_TYPES = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
}
TUPLES = {1: pickle.TUPLE1, 2: pickle.TUPLE2, 3: pickle.TUPLE3}
STATE = ".__dict__"  # path from an object to its attributes

Part = tuple[
    Any, Any
]  # position of a value in its parent (a key, an index, STATE, None for no position), and the value


class PicklingError(ArgumentTypeError, pickle.PicklingError):
    """An object cannot be stored in a file."""


class StorageTypeError(FlambeauError, RuntimeError):
    """Tensors of different types view one storage."""


class Refusal(Exception):
    """The reason why a value cannot be written; the pickler adds its position."""


class Global(NamedTuple):
    """The name of a class or a function."""

    module: str
    name: str


class Stored(NamedTuple):
    """A storage of a file, and how many of its bytes are in the file."""

    storage: Storage
    nbytes: int


REBUILD_TENSOR = Global("torch._utils", "_rebuild_tensor_v2")
REBUILD_TENSOR_OF_TYPE = Global("torch._utils", "_rebuild_tensor_v3")
REBUILD_PARAMETER = Global("torch._utils", "_rebuild_parameter")
REBUILD_PARAMETER_WITH_STATE = Global("torch._utils", "_rebuild_parameter_with_state")
REBUILD_WITH_STATE = Global("torch._tensor", "_rebuild_from_type_v2")
ORDERED_DICT = Global("collections", "OrderedDict")
UNTYPED_STORAGE = Global("torch.storage", "UntypedStorage")
ENCODE = Global("_codecs", "encode")
GET_LAYOUT = Global("torch.serialization", "_get_layout")
TENSOR = Global("torch", "Tensor")
RENAMED: dict[Any, Global] = {
    Tensor: TENSOR,
    Parameter: Global("torch.nn.parameter", "Parameter"),
    Buffer: Global("torch.nn.parameter", "Buffer"),
    Size: Global("torch", "Size"),
    device: Global("torch", "device"),
    UntypedStorage: UNTYPED_STORAGE,
}


class Pickler:
    """Writer of one pickle.  storages: the storages that it refers to; the keys are their positions."""

    def __init__(self) -> None:
        self.storages: list[Stored] = []
        self._out: list[bytes] = [pickle.PROTO + bytes([PROTOCOL])]
        self._numbers: dict[Any, int] = {}  # of what was written: text and names by value, all else by id
        self._kept: list[Any] = []  # objects known by their id, kept alive so that ids stay unique
        self._keys: dict[Any, tuple[str, dtype | None]] = {}  # key and element type of each storage

    def dump(self, value: Any) -> bytes:
        """Return the pickle of an object.

        Raises: PicklingError, which names the object and its position; StorageTypeError.
        """
        path: list[Part] = []  # from the root to what is being written
        parts: list[Iterator[Part]] = [iter([(None, value)])]
        while parts:
            try:
                part = next(parts[-1], None)
            except Refusal as fact:
                raise _refused(path, fact) from fact.__cause__
            if part is not None:
                path.append(part)
                parts.append(self._written(part[1]))
                continue
            parts.pop()
            if path:
                path.pop()
        self._out.append(pickle.STOP)
        return b"".join(self._out)

    def _written(self, value: Any) -> Iterator[Part]:
        """Write a value.  The iterator yields the parts that it consists of, in the order in which they are written."""
        write = ATOMS.get(type(value))
        if write is not None:
            write(self, value)
            return iter(())
        number = self._numbers.get(id(value))
        if number is not None:
            self._get(number)
            return iter(())
        compose = COMPOSITES.get(type(value))
        if compose is not None:
            return compose(self, value)
        if isinstance(value, TensorBase):
            return self._tensor(value)
        return self._global(value) if isinstance(value, (type, FunctionType)) else self._reduced(value)

    def _op(self, code: bytes, number: int | None = None, size: int = 0) -> None:
        self._out.append(code if number is None else code + number.to_bytes(size, "little"))

    # references to earlier values

    def _get(self, number: int) -> None:
        self._op(pickle.BINGET, number, 1) if number < 256 else self._op(pickle.LONG_BINGET, number, 4)

    def _put(self, key: Any) -> None:
        number = self._numbers[key] = len(self._numbers)
        self._op(pickle.BINPUT, number, 1) if number < 256 else self._op(pickle.LONG_BINPUT, number, 4)

    def _put_object(self, value: Any) -> None:
        self._kept.append(value)
        self._put(id(value))

    def _put_or_get(self, value: Any, drop: bytes) -> None:
        """Number a value that was just written; if it contains itself, replace it by a reference to its number."""
        number = self._numbers.get(id(value))
        if number is None:
            self._put_object(value)
        else:
            self._op(drop)
            self._get(number)

    # values without parts

    def _none(self, value: None) -> None:
        self._op(pickle.NONE)

    def _bool(self, value: bool) -> None:
        self._op(pickle.NEWTRUE if value else pickle.NEWFALSE)

    def _int(self, value: int) -> None:
        if 0 <= value < 1 << 8:
            self._op(pickle.BININT1, value, 1)
        elif 0 <= value < 1 << 16:
            self._op(pickle.BININT2, value, 2)
        elif -(1 << 31) <= value < 1 << 31:
            self._op(pickle.BININT, value & 0xFFFFFFFF, 4)
        else:
            data = pickle.encode_long(value)
            self._op(pickle.LONG1, len(data), 1) if len(data) < 256 else self._op(pickle.LONG4, len(data), 4)
            self._out.append(data)

    def _float(self, value: float) -> None:
        self._op(pickle.BINFLOAT + pack(">d", value))

    def _str(self, value: str) -> None:
        number = self._numbers.get(value)
        if number is not None:
            self._get(number)
        else:
            self._text(value)
            self._put(value)

    def _text(self, value: str) -> None:
        data = value.encode("utf-8", "surrogatepass")
        size = len(data)
        self._op(pickle.BINUNICODE, size, 4) if size < 1 << 32 else self._op(pickle.BINUNICODE8, size, 8)
        self._out.append(data)

    def _bytes(self, value: bytes) -> None:
        number = self._numbers.get(id(value))
        if number is not None:
            self._get(number)
            return
        self._name(ENCODE)  # protocol 2 has no bytes
        self._text(value.decode("latin1"))
        self._str("latin1")
        self._op(pickle.TUPLE2 + pickle.REDUCE)
        self._put_object(value)

    def _name(self, value: Global) -> None:
        number = self._numbers.get(value)
        if number is not None:
            self._get(number)
        else:
            self._op(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
            self._put(value)

    def _dtype(self, value: dtype) -> None:
        self._name(Global("torch", value.name))

    def _storage(self, value: UntypedStorage) -> None:
        self._reference(value._storage, None)

    def _typed_storage(self, value: TypedStorage) -> Iterator[Part]:
        if value.dtype.name not in STORAGE_TYPES:
            raise Refusal(
                f"the format has no storages of {value.dtype.name}: save the tensor, or its untyped_storage()"
            )
        self._reference(value._storage, value.dtype)
        yield from ()

    def _layout(self, value: layout) -> None:
        self._name(GET_LAYOUT)
        self._str(f"torch.{value.name}")
        self._op(pickle.TUPLE1 + pickle.REDUCE)

    def _size(self, value: Size) -> None:
        self._name(RENAMED[Size])
        self._ints(value)
        self._op(pickle.TUPLE1 + pickle.REDUCE)

    def _device(self, value: device) -> None:
        self._name(RENAMED[device])
        self._op(pickle.MARK)
        self._str(value.type)
        if value.index is not None:
            self._int(value.index)
        self._op(pickle.TUPLE + pickle.REDUCE)

    def _ints(self, values: Iterable[int]) -> None:
        self._op(pickle.MARK)
        for value in values:
            self._int(value)
        self._op(pickle.TUPLE)

    # containers

    def _tuple(self, value: tuple[Any, ...]) -> Iterator[Part]:
        if not value:
            self._op(pickle.EMPTY_TUPLE)
            return
        short = TUPLES.get(len(value))
        if short is None:
            self._op(pickle.MARK)
        yield from enumerate(value)
        if id(value) not in self._numbers:
            self._op(pickle.TUPLE if short is None else short)
        self._put_or_get(value, pickle.POP_MARK if short is None else pickle.POP * len(value))

    def _list(self, value: list[Any]) -> Iterator[Part]:
        self._op(pickle.EMPTY_LIST)
        self._put_object(value)
        return self._items(value)

    def _items(self, items: Iterable[Any]) -> Iterator[Part]:
        numbered = enumerate(items)
        while batch := list(islice(numbered, BATCH)):
            self._op(pickle.MARK)
            yield from batch
            self._op(pickle.APPENDS)

    def _dict(self, value: dict[Any, Any]) -> Iterator[Part]:
        self._op(pickle.EMPTY_DICT)
        self._put_object(value)
        return self._entries(value.items())

    def _entries(self, entries: Iterable[tuple[Any, Any]]) -> Iterator[Part]:
        rest = iter(entries)
        while batch := list(islice(rest, BATCH)):
            self._op(pickle.MARK)
            for key, value in batch:
                yield None, key
                yield key, value
            self._op(pickle.SETITEMS)

    # tensors

    def _tensor(self, tensor: Any) -> Iterator[Part]:
        cls, state = type(tensor), dict(vars(tensor))
        if issubclass(cls, Parameter):
            self._name(REBUILD_PARAMETER_WITH_STATE if state else REBUILD_PARAMETER)
            self._op(pickle.MARK)
            self._name(_rebuilder(tensor))
            self._arguments(tensor, False)
            self._op(pickle.REDUCE)
            self._bool(tensor.requires_grad)
            self._no_hooks()
            if state:
                yield STATE, state
            self._op(pickle.TUPLE)
        elif state or cls is not Tensor:
            self._name(REBUILD_WITH_STATE)
            self._op(pickle.MARK)
            self._name(_rebuilder(tensor))
            yield None, Tensor if cls is Buffer else cls
            self._arguments(tensor, tensor.requires_grad)
            yield STATE, {**state, "_is_buffer": True} if cls is Buffer else state
            self._op(pickle.TUPLE)
        else:
            self._name(_rebuilder(tensor))
            self._arguments(tensor, tensor.requires_grad)
        self._op(pickle.REDUCE)
        self._put_object(tensor)

    def _arguments(self, tensor: Any, requires_grad: bool) -> None:
        """Write the arguments of the function that rebuilds a tensor."""
        typed = tensor.dtype.name in STORAGE_TYPES
        self._op(pickle.MARK)
        self._reference(tensor._storage, tensor.dtype if typed else None)
        self._int(tensor._offset)
        self._ints(tensor.shape)
        self._ints(tensor.strides)
        self._bool(requires_grad)
        self._no_hooks()
        if not typed:
            self._dtype(tensor.dtype)
        self._op(pickle.TUPLE)

    def _no_hooks(self) -> None:
        self._name(ORDERED_DICT)
        self._op(pickle.EMPTY_TUPLE + pickle.REDUCE)

    def _reference(self, storage: Storage, element_type: dtype | None) -> None:
        """Write the persistent id of a storage.  element_type: None for a storage of bytes."""
        pickling.check_has_values("save", storage)
        itemsize = 1 if element_type is None else element_type.itemsize
        count = storage.nbytes // itemsize
        identity = id(storage), None if count else element_type
        if identity not in self._keys:
            self._keys[identity] = str(len(self.storages)), element_type
            self.storages.append(Stored(storage, count * itemsize))
        key, before = self._keys[identity]
        if before is not element_type:
            raise StorageTypeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"{before or 'bytes'} and {element_type or 'bytes'} over {storage.nbytes} bytes on "
                f"{pickling.location(storage)}",
                hint="save a clone() of one of them",
                operator="save",
            )
        self._op(pickle.MARK)
        self._str("storage")
        self._name(UNTYPED_STORAGE if element_type is None else Global("torch", STORAGE_TYPES[element_type.name]))
        self._str(key)
        self._str(pickling.location(storage))
        self._int(count)
        self._op(pickle.TUPLE + pickle.BINPERSID)

    # other objects

    def _global(self, value: Any) -> Iterator[Part]:
        yield None, _name_of(value, getattr(value, "__qualname__", ""))

    def _reduced(self, value: Any) -> Iterator[Part]:
        """Write a value by its `__reduce_ex__`."""
        reduction = _reduction(value)
        if isinstance(reduction, str):
            yield None, _name_of(value, reduction)
            return
        function, args, state, items, entries = reduction
        opcode = NEW.get(getattr(function, "__name__", ""), pickle.REDUCE)
        if opcode == pickle.NEWOBJ:
            function, args = args[0], args[1:]
        if opcode == pickle.NEWOBJ_EX:
            yield from ((None, part) for part in args)
        else:
            yield None, function
            yield None, args
        self._op(opcode)
        self._put_or_get(value, pickle.POP)
        if items is not None:
            yield from self._items(items)
        if entries is not None:
            yield from self._entries(entries)
        if state is not None:
            yield STATE, state
            self._op(pickle.BUILD)


NEW = {"__newobj__": pickle.NEWOBJ, "__newobj_ex__": pickle.NEWOBJ_EX}  # functions of copyreg that opcodes stand for
ATOMS: dict[type, Callable[[Pickler, Any], None]] = {
    type(None): Pickler._none,
    bool: Pickler._bool,
    int: Pickler._int,
    float: Pickler._float,
    str: Pickler._str,
    bytes: Pickler._bytes,
    Global: Pickler._name,
    dtype: Pickler._dtype,
    layout: Pickler._layout,
    device: Pickler._device,
    Size: Pickler._size,
    UntypedStorage: Pickler._storage,
}
COMPOSITES: dict[type, Callable[[Pickler, Any], Iterator[Part]]] = {
    tuple: Pickler._tuple,
    list: Pickler._list,
    dict: Pickler._dict,
    TypedStorage: Pickler._typed_storage,
}


def _rebuilder(tensor: Any) -> Global:
    """Return the function that rebuilds a tensor; it takes the dtype too if PyTorch has no storage class for it."""
    return REBUILD_TENSOR if tensor.dtype.name in STORAGE_TYPES else REBUILD_TENSOR_OF_TYPE


def _reduction(value: Any) -> Any:
    """Return a value's reduction: a name, or (function, arguments, state, items, entries), None for absent parts."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        reduction = value.__reduce_ex__(PROTOCOL) if reduce is None else reduce(value)
    except TypeError as error:
        raise Refusal(str(error)) from error
    if isinstance(reduction, str):
        return reduction
    if not isinstance(reduction, tuple) or not 2 <= len(reduction) <= 5 or not isinstance(reduction[1], tuple):
        raise Refusal(f"its __reduce_ex__ gives {shown(reduction)}, not a name or up to five parts")
    return (*reduction, None, None, None)[:5]


def _name_of(value: Any, name: str) -> Global:
    """Return the importable name of a class or a function.  Raises Refusal if there is none."""
    if isinstance(value, type) and value in RENAMED:
        return RENAMED[value]
    module = getattr(value, "__module__", None) or ""
    try:
        target: Any = importlib.import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise Refusal(f"there is no {name!r} in module {module!r}") from error
    if target is not value:
        raise Refusal(f"{module}.{name} is another object")
    return Global(module, name)


def _refused(path: list[Part], fact: Refusal) -> PicklingError:
    position = "".join(label if label is STATE else f"[{shown(label)}]" for label, _ in path if label is not None)
    value = path[-1][1]
    return PicklingError(
        f"cannot store a {type(value).__name__} at object{position}: {shown(value)}: {fact}",
        hint="save tensors, numbers, text, containers such as a state_dict(), and objects of importable classes",
        operator="save",
    )

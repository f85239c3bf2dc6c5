"""The names that a saved file may contain, and the functions that are called for them.

- A name is looked up here and in the program's list (`add_safe_globals`, at the end); nothing is imported.
- The functions check every argument: no layout reaches beyond its storage, no array beyond its bytes.
- Classes and functions of the program's list are called without checks.
"""

from __future__ import annotations

import re
import sys
from _compat_pickle import NAME_MAPPING
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from ..core.locks import whole
from ..core.storage import Storage
from ..core.tensor import TensorBase, new_tensor_of
from ..dtypes import BY_NAME, NAMES_ONLY, bfloat16, dtype
from ..errors import ArgumentError, ArgumentTypeError, FlambeauError, shown
from ..host import np
from ..memory_formats import LAYOUTS, layout
from ..nn.parameter import Buffer, Parameter
from ..runtime.device import device
from ..strides import Size
from ..tensor import pickling, storages
from ..tensor.storages import TypedStorage, UntypedStorage
from ..tensor.tensor import Tensor
from .pickler import (
    GET_LAYOUT,
    REBUILD_PARAMETER,
    REBUILD_PARAMETER_WITH_STATE,
    REBUILD_TENSOR,
    REBUILD_TENSOR_OF_TYPE,
    REBUILD_WITH_STATE,
    RENAMED,
    STORAGE_TYPES,
    UNTYPED_STORAGE,
)
from .unpickler import Budget, Refusal, cut

BLOCKED = ("sys", "os", "posix", "nt")  # modules whose functions are never called, even if listed
OF_PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}
ENCODINGS = ("latin1", "latin-1", "utf-8", "utf8", "ascii")
NUMPY_TYPE = re.compile(r"b1|[iufcSU][1-9]\d{0,8}")
BYTE_ORDERS = "<", ">", "=", "|"
OF_EXTENSION = 2  # dtype.isbuiltin of types that packages register
# Bases of listed classes whose objects are filled like a list, a dictionary or a set.
FILLED: dict[type, tuple[type, ...]] = {list: (list, deque), dict: (dict,), set: (set,)}

LoadStorage = Callable[[str, "dtype | None", str, int], Storage]


class StorageType:
    """The class of a storage in a file.  element_type: None for a storage of bytes."""

    def __init__(self, element_type: dtype | None) -> None:
        self.element_type = element_type


def _of_python_3(module: str, name: str) -> tuple[str, str]:
    """Return Python 3's (module, name) for a name of Python 2, which PyTorch's files have: ("builtins", "range")."""
    return NAME_MAPPING.get((module, name)) or (OF_PYTHON_2.get(module, module), name)


class FileVocabulary:
    """The names of one file.  load_storage: gives a storage by its key, element type, location and element count."""

    def __init__(self, load_storage: LoadStorage, budget: Budget) -> None:
        self._load_storage = load_storage
        self._budget = budget
        self._storages: dict[
            int, tuple[UntypedStorage | TypedStorage, dtype | None]
        ] = {}  # loaded storages by their memory's ids
        self._listed = listed()
        self._listed_ids = {id(value) for value in self._listed.values()}

    def find(self, module: str, name: str) -> Any:
        module, name = _of_python_3(module, name)
        full_name = f"{module}.{name}"
        if _is_blocked(full_name):
            raise Refusal(f"{cut(full_name)} is in a module that is never called")
        if full_name in VALUES:
            return VALUES[full_name]
        if full_name in self._listed:
            return self._listed[full_name]
        raise Refusal(
            f"{cut(full_name)} is not one of the names that files may contain",
            f"if you trust the file: torch.serialization.add_safe_globals([{cut(name)}]), with the class or function "
            "imported before",
        )

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        entry = FUNCTIONS.get(id(function))
        if entry is not None:
            name, least, most, call = entry
            if not least <= len(args) <= most:
                raise Refusal(f"{name} takes {least} to {most} arguments, not {len(args)}")
            return call(self, *args)
        if id(function) not in self._listed_ids:
            raise Refusal(f"{_named(function)} may not be called")
        return _run(function, function, *args)

    def new(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if id(cls) not in self._listed_ids or not isinstance(cls, type):
            raise Refusal(f"{_named(cls)} may not be made: it is in no list of add_safe_globals()")
        return _run(cls, cls.__new__, cls, *args, **kwargs)

    def build(self, target: Any, state: Any) -> None:
        cls = type(target)
        if cls in (OrderedDict, Counter):
            self._set_attributes(target, state)
        elif isinstance(target, np.dtype):
            _set_type(target, state)
        elif cls is np.ndarray:
            self._set_array(target, state)
        elif id(cls) in self._listed_ids:
            self._set_state(target, state)
        else:
            raise Refusal(f"the state of a {cls.__name__} may not be set")

    def load_persistent(self, reference: Any) -> UntypedStorage | TypedStorage:
        if type(reference) is not tuple or len(reference) != 5:
            raise Refusal("a persistent id that is not a storage of five parts")
        what, storage_type, key, location, count = reference
        texts = [text.decode("latin1") if type(text) is bytes else text for text in (what, key, location)]
        is_text = all(type(text) is str for text in texts)
        if type(storage_type) is not StorageType or not is_text or texts[0] != "storage":
            raise Refusal("a persistent id that is not a storage with a type, a key and a location")
        if type(count) is not int or not 0 <= count < pickling.MAX_SPAN:
            raise Refusal(f"a storage of {pickling.brief(count)} elements")
        element_type = storage_type.element_type
        storage = self._load_storage(texts[1], element_type, texts[2], count)
        wrapper = storages.of(storage) if element_type is None else storages.typed(storage, element_type)
        known_wrapper, known_type = self._storages.setdefault(id(storage), (wrapper, element_type))
        if known_type is not element_type:
            raise Refusal(f"storage {cut(texts[1])} has the memory of one with another type of elements")
        return known_wrapper

    def _loaded(self, storage: Any) -> tuple[Storage, dtype | None]:
        """Return the memory and the element type of a storage of this file.  Raises Refusal for anything else."""
        if type(storage) not in (UntypedStorage, TypedStorage) or id(storage._storage) not in self._storages:
            raise Refusal(f"a tensor over a {type(storage).__name__} without a type of elements")
        return storage._storage, self._storages[id(storage._storage)][1]

    def may_fill(self, target: Any, builtin: type) -> bool:
        if builtin is dict and type(target) in (OrderedDict, Counter):
            return True
        return id(type(target)) in self._listed_ids and isinstance(target, FILLED[builtin])

    # state

    def _set_attributes(self, target: Any, state: Any) -> None:
        """Set attributes of an object.  Raises Refusal for a name of its class, which they would hide."""
        if type(state) is not dict or not all(type(name) is str for name in state):
            raise Refusal(f"attributes of a {type(target).__name__} that are not a dictionary of names")
        hidden = [name for name in state if hasattr(type(target), name)]
        if hidden:
            raise Refusal(f"attribute {cut(hidden[0])} of a {type(target).__name__} would hide one of its class")
        self._budget.charge(len(state))
        target.__dict__.update(state)

    def _set_state(self, target: Any, state: Any) -> None:
        """Set the state of an object of a listed class, as pickle does."""
        if hasattr(target, "__setstate__"):
            _run(type(target), target.__setstate__, state)
            return
        attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
        for part in (attributes, slots):
            if part is not None and (type(part) is not dict or not all(type(name) is str for name in part)):
                raise Refusal(f"the state of a {type(target).__name__} is not a dictionary of names")
        self._budget.charge(len(attributes or ()) + len(slots or ()))
        _run(type(target), _set_all, target, attributes or {}, slots or {})

    # builtins

    def _ordered(self, pairs: Any = ()) -> OrderedDict[Any, Any]:
        ordered: OrderedDict[Any, Any] = OrderedDict()
        for pair in self._elements(pairs):
            if type(pair) not in (list, tuple) or len(pair) != 2:
                raise Refusal("an OrderedDict with entries that are not pairs")
            ordered[self._budget.key(pair[0])] = pair[1]
        return ordered

    def _counter(self, counts: Any = None) -> Counter[Any]:
        if counts is not None and type(counts) is not dict:
            raise Refusal(f"a Counter of a {type(counts).__name__}")
        self._budget.charge(len(counts or ()))
        counter: Counter[Any] = Counter()
        dict.update(counter, counts or {})
        return counter

    def _set(self, elements: Any = ()) -> set[Any]:
        return {self._budget.key(item) for item in self._elements(elements)}

    def _frozenset(self, elements: Any = ()) -> frozenset[Any]:
        return frozenset(self._set(elements))

    def _elements(self, values: Any) -> Any:
        if type(values) not in (list, tuple, set):
            raise Refusal(f"elements in a {type(values).__name__}")
        self._budget.charge(len(values))
        return values

    def _encoded(self, text: Any, encoding: Any) -> bytes:
        if type(text) is not str or not _is(encoding, *ENCODINGS):
            raise Refusal(f"a {type(text).__name__} encoded as {pickling.brief(encoding)}")
        self._budget.charge(len(text))
        try:
            return text.encode(encoding)
        except UnicodeEncodeError as error:
            raise Refusal(f"text that is no {encoding}") from error

    def _bytearray(self, data: Any = b"", encoding: Any = None) -> bytearray:
        plain = data if encoding is None else self._encoded(data, encoding)
        if type(plain) not in (bytes, bytearray):
            raise Refusal(f"a bytearray of a {type(plain).__name__}")
        self._budget.charge(len(plain))
        return bytearray(plain)

    def _bytes(self) -> bytes:
        return b""

    def _complex(self, real: Any, imag: Any) -> complex:
        if type(real) is not float or type(imag) is not float:
            raise Refusal("a complex number with parts that are not floats")
        return complex(real, imag)

    def _layout(self, name: Any) -> layout:
        known = LAYOUTS.get(name) if type(name) is str else None
        if known is None:
            raise Refusal(f"the layout {pickling.brief(name)}")
        return known

    # tensors

    def _tensor(
        self, storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any, hooks: Any, metadata: Any = None
    ) -> Any:
        memory, element_type = self._loaded(storage)
        if element_type is None:
            raise Refusal(f"a tensor over a {type(storage).__name__} without a type of elements")
        return _over(memory, element_type, shape, strides, offset, requires_grad, hooks, metadata)

    def _tensor_of_type(
        self, storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any, hooks: Any, element_type: Any,
        metadata: Any = None,
    ) -> Any:  # fmt: skip
        memory, _ = self._loaded(storage)
        if not isinstance(element_type, dtype):
            raise Refusal(f"a tensor over a {type(storage).__name__}, of type {_named(element_type)}")
        if element_type in NAMES_ONLY:
            raise Refusal(f"a tensor of {element_type.name}, which no tensor of flambeau can have")
        return _over(memory, element_type, shape, strides, offset, requires_grad, hooks, metadata)

    def _parameter(self, data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Parameter:
        if type(data) is not Tensor:
            raise Refusal(f"a Parameter of a {type(data).__name__}")
        _check_graph(data.dtype, requires_grad, hooks)
        parameter = Parameter(data, requires_grad)
        if state is not None:
            self._set_attributes(parameter, state)
        return parameter

    def _with_state(self, function: Any, cls: Any, args: Any, state: Any) -> Any:
        """Return a tensor with attributes, or of a listed class."""
        makers = FileVocabulary._tensor, FileVocabulary._tensor_of_type
        if not any(function is maker for maker in makers) or type(args) is not tuple:
            raise Refusal(f"a tensor that {_named(function)} makes")
        tensor = self.call(function, args)
        if cls is Tensor and type(state) is dict and state.get("_is_buffer") is True:
            state = dict(state)
            del state["_is_buffer"]
            tensor = Buffer(tensor, persistent=state.pop("persistent", True) is True)
        elif cls is not Tensor:
            tensor = self._of_class(tensor, cls)
        self._set_attributes(tensor, state)
        return tensor

    def _of_class(self, tensor: Any, cls: Any) -> Any:
        if id(cls) not in self._listed_ids or not (isinstance(cls, type) and issubclass(cls, TensorBase)):
            raise Refusal(f"a tensor of class {_named(cls)}, which is in no list of add_safe_globals()")
        result: Any = new_tensor_of(cls, tensor._storage, tensor._layout, tensor._offset)
        return result.requires_grad_(tensor.requires_grad)

    def _size(self, sizes: Any) -> Size:
        if type(sizes) not in (tuple, list) or not all(type(size) is int for size in sizes):
            raise Refusal(f"a Size of {pickling.brief(sizes)}")
        self._budget.charge(len(sizes))
        return Size(sizes)

    def _device(self, name: Any, index: Any = None) -> device:
        fits = type(name) is str and (index is None or type(index) is int and 0 <= index < 1 << 31)
        try:
            if not fits:
                raise Refusal(f"a device of {pickling.brief(name)} and {pickling.brief(index)}")
            return device(name) if index is None else device(name, index)
        except FlambeauError as error:
            raise Refusal(f"no device {pickling.brief(name)} with index {pickling.brief(index)}") from error

    # NumPy

    def _numpy_type(self, name: Any, align: Any = False, copy: Any = True) -> Any:
        if name is VALUES["ml_dtypes.bfloat16"]:
            return np.dtype(name)
        if type(name) is not str or NUMPY_TYPE.fullmatch(name) is None:
            raise Refusal(f"the NumPy type {_named(name)}; numbers and text are loaded")
        try:
            return np.dtype(name, False, True)  # a copy, whose byte order BUILD may change
        except TypeError as error:
            raise Refusal(f"the NumPy type {pickling.brief(name)}") from error

    def _scalar(self, array_type: Any, data: Any) -> Any:
        return self._array(data, array_type, (), "C")[()]

    def _empty_array(self, cls: Any, shape: Any, array_type: Any) -> Any:
        if cls is not np.ndarray or type(shape) is not tuple or len(shape) != 1 or not _is(shape[0], 0):
            raise Refusal(f"a NumPy array of class {_named(cls)} and shape {pickling.brief(shape)}")
        return np.empty(0, np.int8)

    def _set_array(self, target: Any, state: Any) -> None:
        if type(state) is not tuple or len(state) != 5 or not _is(state[0], 1) or type(state[3]) is not bool:
            raise Refusal("the state of a NumPy array that is not of version 1")
        _, shape, array_type, in_columns, data = state
        array_type = self._checked_type(data, array_type, shape)
        _run(np.ndarray, target.__setstate__, (1, shape, array_type, in_columns, bytes(data)))

    def _array(self, data: Any, array_type: Any, shape: Any, order: Any) -> Any:
        array_type = self._checked_type(data, array_type, shape)
        if not _is(order, "C", "F"):
            raise Refusal(f"a NumPy array in order {pickling.brief(order)}")
        array = np.frombuffer(bytearray(data), array_type) if data else np.empty(0, array_type)
        return _run(np.ndarray, array.reshape, shape, order=order)

    def _checked_type(self, data: Any, array_type: Any, shape: Any) -> Any:
        """Copy an array's dtype after checking that its bytes match its shape."""
        if not isinstance(array_type, np.dtype) or type(data) not in (bytes, bytearray) or type(shape) is not tuple:
            raise Refusal("a NumPy array without a type, a shape or bytes")
        fault = pickling.layout_fault(shape, (0,) * len(shape), 0, array_type.itemsize, pickling.MAX_SPAN)
        if fault is not None or prod(shape) * array_type.itemsize != len(data):
            raise Refusal(f"a NumPy array of {array_type} with shape {pickling.brief(shape)} in {len(data)} bytes")
        if array_type.kind == "U" and data:
            largest = np.frombuffer(data, np.dtype("u4").newbyteorder(array_type.byteorder)).max()
            if largest > sys.maxunicode:
                raise Refusal(f"a NumPy array of text with character {largest}")
        self._budget.charge(len(data))
        return np.dtype(array_type, copy=True)  # a later BUILD does not change it


class _Placeholder:
    """Stand-in for an object when names are listed: it accepts every operation and stores nothing."""

    def append(self, item: Any) -> None: ...

    def extend(self, items: Any) -> None: ...

    def add(self, item: Any) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...


class NameList:
    """Vocabulary that creates no objects.  unknown: full names that are neither standard nor in the allowlist."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._listed = listed()

    def find(self, module: str, name: str) -> _Placeholder:
        full_name = ".".join(_of_python_3(module, name))
        is_known = full_name in VALUES or full_name in self._listed and not _is_blocked(full_name)
        if not is_known and full_name not in self.unknown:
            self.unknown.append(full_name)
        return _Placeholder()

    def call(self, function: Any, args: tuple[Any, ...]) -> _Placeholder:
        return _Placeholder()

    def new(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Placeholder:
        return _Placeholder()

    def build(self, target: Any, state: Any) -> None: ...

    def load_persistent(self, reference: Any) -> _Placeholder:
        return _Placeholder()

    def may_fill(self, target: Any, builtin: type) -> bool:
        return type(target) is _Placeholder


def _is_blocked(full_name: str) -> bool:
    return full_name.partition(".")[0] in BLOCKED


def _over(
    storage: Storage, element_type: dtype, shape: Any, strides: Any, offset: Any, requires_grad: Any, hooks: Any,
    metadata: Any,
) -> Any:  # fmt: skip
    if metadata is not None and not _is(metadata, {}):
        raise Refusal(f"a tensor with metadata {pickling.brief(metadata)}")
    _check_graph(element_type, requires_grad, hooks)
    try:
        return pickling.over(storage, element_type, shape, strides, offset, "load").requires_grad_(requires_grad)
    except FlambeauError as error:
        raise Refusal(error.fact.removeprefix("load: ")) from error


def _check_graph(element_type: dtype, requires_grad: Any, hooks: Any) -> None:
    if type(requires_grad) is not bool or requires_grad and not element_type.is_floating_point:
        raise Refusal(f"requires_grad is {pickling.brief(requires_grad)} for {element_type}")
    if hooks is not None and (type(hooks) is not OrderedDict or hooks):
        raise Refusal("a tensor with hooks")


def _set_type(target: Any, state: Any) -> None:
    """Set the byte order of a NumPy dtype, the only part of its state that may change."""
    sizes = (-1, target.itemsize), (-1, target.alignment), (0, target.flags)
    allowed = (3,), BYTE_ORDERS, (None,), (None,), (None,), *sizes
    if type(state) is not tuple or len(state) != len(allowed) or not all(map(_is_one_of, state, allowed)):
        raise Refusal(f"the state {pickling.brief(state)} of the NumPy type {target}")
    if target.isbuiltin != OF_EXTENSION:  # those have one object each, and one byte order
        target.__setstate__(state)
    elif state[1] == ">":
        raise Refusal(f"{target} with its bytes in reverse order")


def _is(value: Any, *allowed: Any) -> bool:
    """Return whether a value equals one of these and has the same type."""
    return any(type(value) is type(option) and value == option for option in allowed)


def _is_one_of(value: Any, allowed: Any) -> bool:
    return _is(value, *allowed)


def _set_all(target: Any, attributes: dict[str, Any], slots: dict[str, Any]) -> None:
    if attributes:
        target.__dict__.update(attributes)
    for name, value in slots.items():
        setattr(target, name, value)


def _run(called: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the allowlist.  Raises Refusal if it raises an exception."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # the function is the program's, and may raise any
        raise Refusal(f"{_named(called)} raised {type(error).__name__}: {cut(str(error))}") from error


def _named(value: Any) -> str:
    """Return a function or class as errors show it: by its name in files, if it has one."""
    if id(value) in FUNCTIONS:
        return FUNCTIONS[id(value)][0]
    name = getattr(value, "__qualname__", None) if callable(value) else None
    return cut(name) if isinstance(name, str) else pickling.brief(value)


VALUES: dict[str, Any] = {}  # by the names in files
FUNCTIONS: dict[int, tuple[str, int, int, Callable[..., Any]]] = {}  # by id: name, argument counts, function


def _add(names: str, value: Any, least: int = -1, most: int = -1, function: Callable[..., Any] | None = None) -> None:
    for name in names.split():
        VALUES[name] = value
    if function is not None:
        FUNCTIONS[id(value)] = names.partition(" ")[0], least, most, function


def _add_function(names: str, least: int, most: int, function: Callable[..., Any]) -> None:
    _add(names, function, least, most, function)


def _add_all() -> None:
    for named in (*BY_NAME.values(), *NAMES_ONLY):
        _add(f"torch.{named.name}", named)
    for name, storage in STORAGE_TYPES.items():
        _add(f"torch.{storage}", StorageType(BY_NAME[name]))
    for value, full_name in RENAMED.items():
        _add(".".join(full_name), value)
    _add(".".join(UNTYPED_STORAGE), StorageType(None))
    files = FileVocabulary
    _add("collections.OrderedDict", OrderedDict, 0, 1, files._ordered)
    _add("collections.Counter", Counter, 0, 1, files._counter)
    _add("builtins.set", set, 0, 1, files._set)
    _add("builtins.frozenset", frozenset, 0, 1, files._frozenset)
    _add("builtins.bytearray", bytearray, 0, 2, files._bytearray)
    _add("builtins.bytes", bytes, 0, 0, files._bytes)
    _add("builtins.complex", complex, 2, 2, files._complex)
    _add("torch.Size", Size, 1, 1, files._size)
    _add("torch.device", device, 1, 2, files._device)
    _add_function(".".join(GET_LAYOUT), 1, 1, files._layout)
    _add_function("_codecs.encode", 2, 2, files._encoded)
    _add_function(".".join(REBUILD_TENSOR), 6, 7, files._tensor)
    _add_function(".".join(REBUILD_TENSOR_OF_TYPE), 7, 8, files._tensor_of_type)
    _add_function(f"{'.'.join(REBUILD_PARAMETER)} {'.'.join(REBUILD_PARAMETER_WITH_STATE)}", 3, 4, files._parameter)
    _add_function(".".join(REBUILD_WITH_STATE), 4, 4, files._with_state)
    _add("numpy.ndarray", np.ndarray)
    _add("numpy.dtype", np.dtype, 1, 3, files._numpy_type)
    _add("ml_dtypes.bfloat16", bfloat16.numpy.type)
    _add_function("numpy.core.multiarray.scalar numpy._core.multiarray.scalar", 2, 2, files._scalar)
    _add_function("numpy.core.multiarray._reconstruct numpy._core.multiarray._reconstruct", 3, 3, files._empty_array)
    _add_function("numpy.core.numeric._frombuffer numpy._core.numeric._frombuffer", 4, 4, files._array)


_add_all()


HINT = "give classes and functions, or pairs of one and the name that files have for it: (Net, 'models.Net')"

_listed: list[Any] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let `load` call these classes and functions when a file names them.

    An entry is a class or function, or a pair of the object and its full name in the file.
    Raises: ArgumentTypeError for an argument that is not a list or an entry that cannot be called, ArgumentError if an
            entry has no name; nothing is added then.
    Example:
        >>> from fractions import Fraction
        >>> torch.serialization.add_safe_globals([Fraction])
        >>> torch.serialization.get_safe_globals()
        [<class 'fractions.Fraction'>]
        >>> torch.serialization.clear_safe_globals()
    """
    entries = _checked("add_safe_globals", safe_globals)
    global _listed
    _listed = [*_listed, *[entry for entry in entries if entry not in _listed]]  # at once: nothing can raise after it


def get_safe_globals() -> list[Any]:
    """Return the entries that `add_safe_globals` and `safe_globals` added, in order.

    Example:
        >>> torch.serialization.get_safe_globals()
        []
    """
    return list(_listed)


def clear_safe_globals() -> None:
    """Remove every entry that `add_safe_globals` added.

    Example:
        >>> from fractions import Fraction
        >>> torch.serialization.add_safe_globals([Fraction])
        >>> torch.serialization.clear_safe_globals()
        >>> torch.serialization.get_safe_globals()
        []
    """
    global _listed
    _listed = []


class safe_globals:  # noqa: N801  (PyTorch's name for it)
    """A context manager inside which `load` may also call these classes and functions.

    safe_globals: entries as for `add_safe_globals`, which also raises the same errors.
    Example:
        >>> import io
        >>> from fractions import Fraction
        >>> file = io.BytesIO()
        >>> torch.save(Fraction(1, 3), file)
        >>> _ = file.seek(0)
        >>> with torch.serialization.safe_globals([Fraction]):
        ...     print(torch.load(file))
        1/3
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self._entries = _checked("safe_globals", safe_globals)
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._entries)

    @whole
    def __exit__(self, *error: object) -> None:
        global _listed
        _listed = self._before


def listed() -> dict[str, Any]:
    """Return the listed classes and functions by their full names in files."""
    return {full_name(entry): entry[0] if isinstance(entry, tuple) else entry for entry in _listed}


def full_name(entry: Any) -> str:
    """Return the module and name of an entry."""
    return entry[1] if isinstance(entry, tuple) else f"{entry.__module__}.{entry.__qualname__}"


def _checked(name: str, entries: Any) -> list[Any]:
    if isinstance(entries, (str, type)) or not isinstance(entries, Iterable):
        raise ArgumentTypeError(f"expected a list, got {shown(entries)}", hint=HINT, operator=name)
    checked = list(entries)
    for index, entry in enumerate(checked):
        is_pair = isinstance(entry, tuple)
        if is_pair and (len(entry) != 2 or not isinstance(entry[1], str)):
            raise ArgumentError(f"entry {index} is {shown(entry)}, not a pair with a name", hint=HINT, operator=name)
        value = entry[0] if is_pair else entry
        if not callable(value):
            raise ArgumentTypeError(f"entry {index} cannot be called: {shown(value)}", hint=HINT, operator=name)
        if not is_pair and not all(hasattr(value, part) for part in ("__module__", "__qualname__")):
            raise ArgumentError(f"entry {index} has no name: {shown(value)}", hint=HINT, operator=name)
    return checked

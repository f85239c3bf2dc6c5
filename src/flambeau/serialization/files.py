"""save and load: objects with tensors, in files of PyTorch's format.

The format is a ZIP archive (`archive`) with a pickle (`pickler`, `unpickler`, `vocabulary`) and one record per storage.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import callers
from ..core import host_storage
from ..core.storage import Storage
from ..core.tensor import TensorBase
from ..dtypes import dtype
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceIndexError,
    DeviceNameError,
    FileFormatError,
    FlambeauError,
    NoDeviceError,
    NotSupportedError,
    ValueRangeError,
    naming,
    shown,
)
from ..host import np
from ..runtime import device as devices
from ..tensor import pickling
from ..tensor import storages as untyped
from ..uncomputed import computes
from . import archive

PICKLE, BYTE_ORDER, VERSION, TORCHSCRIPT = "data.pkl", "byteorder", "version", "constants.pkl"  # records
WRITTEN_VERSION, LAST_VERSION = 3, 10  # of PyTorch's format: that of new files, and the last that is read
HIGHEST_PROTOCOL = 5
LOCATION_HINT = "map_location='cpu' loads it to the CPU; a dict such as {'cuda:1': 'cuda:0'} to another device"
CONVERT_HINT = "load the file with PyTorch, and save it again with torch.save(obj, path)"
OTHER_FORMATS = (  # offset, the bytes there, and the format that they identify
    (0, b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19", "PyTorch's legacy format, from before version 1.6"),
    (257, b"ustar", "PyTorch's legacy .tar format, or another tar archive"),
    (0, b"\x80", "a pickle, not a file of torch.save()"),
    (0, b"\x93NUMPY", "an array of NumPy: numpy.load() reads it"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"\x1f\x8b", "compressed by gzip: gzip.open(path) gives the file"),
    (8, b"{", "a safetensors file: safetensors.numpy.load_file() reads it"),
)
SNIFFED = 512  # bytes of a file that tell its format

Restore = Callable[[Storage, str], Storage]


class UnwritableFileError(FlambeauError, OSError, RuntimeError):
    """A path cannot be opened for writing.  `errno` is the system's number."""


class NoFileError(FlambeauError, AttributeError):
    """An argument that must be a path or a file is neither."""


class EmptyFileError(FileFormatError, EOFError):
    """A file has no bytes."""


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int | None = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a path or a binary file, in the format that `torch.load` of PyTorch reads.

    Tensors keep their type, layout, device and requires_grad.  Those that share memory share it again after loading;
    the whole storage of a tensor is written.  Other objects are written as pickle does: by the name of their class.

    pickle_protocol: checked, and otherwise ignored: files have protocol 2, the one that every version reads.
    Host:   waits for tensors on GPUs.  On virtual GPUs with values=False, no file is written; a warning says so.
    Raises: PicklingError (ArgumentTypeError) for an object that cannot be stored, with its path; StorageTypeError
            (RuntimeError) if tensors of different types view one storage; ArgumentError for an unknown pickle_protocol,
            NotSupportedError for another pickle_module or the legacy format; NoFileError (AttributeError) if f is
            neither a path nor a file.  Nothing is written then.  UnwritableFileError (RuntimeError, OSError) for a path
            that cannot be opened.
    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"weight": torch.tensor([1.0, 2.0])}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'weight': tensor([1., 2.])}
    """
    from .pickler import Pickler

    _check_pickle_module("save", pickle_module)
    _check_protocol(pickle_protocol)
    _check_target(f)
    if isinstance(f, str | os.PathLike) and not computes():
        callers.warn(f"save: {os.fspath(f)!r} is left as it is, since the values of tensors are not computed")
        return
    if not _use_new_zipfile_serialization:
        raise NotSupportedError(
            "PyTorch's legacy format is not written", hint="leave the argument out", operator="save"
        )
    pickler = Pickler()
    data = pickler.dump(obj)
    with _opened(f, "wb") as file:
        writer = archive.Writer(file)
        writer.add(PICKLE, data)
        if not _disable_byteorder_record:
            writer.add(BYTE_ORDER, sys.byteorder.encode())
        for key, (storage, nbytes) in enumerate(pickler.storages):
            writer.add(f"data/{key}", pickling.host_bytes(storage)[:nbytes])
        writer.add(VERSION, b"%d\n" % WRITTEN_VERSION)
        writer.close()


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that flambeau's or PyTorch's `save` wrote to a path or a seekable binary file.

    No code of the file is run, whatever `weights_only` is.  A file may contain tensors, containers, numbers, text,
    bytes, dtypes, sizes, devices, NumPy's arrays and numbers, and objects of the classes in the program's allowlist
    (`serialization.add_safe_globals`).

    map_location: None restores each storage's device; a device replaces all of them; a dict maps 'cuda:1' to 'cuda:0';
    a function of (an UntypedStorage on the CPU, its location) returns a tensor or a storage, or None for the saved
    device.
    mmap: map the file, which must be a path, instead of reading it.  Writes to tensors do not reach the file.  The
    directory, the pickle and all sizes are verified; the checksums of the storages are not.
    encoding=, errors=: how byte strings from Python 2 become text.
    Host:   waits.
    Raises: FileFormatError if the file is damaged or has another format; its subclass UnpicklingError, which names the
            object, if it contains anything else; DeviceIndexError if a device does not exist; NoFileError
            (AttributeError) if f is neither a path nor a file, the builtin FileNotFoundError if the path does not
            exist; ArgumentError for mmap without a path or an unknown encoding; ArgumentTypeError for a map_location or
            weights_only of a wrong type, NotSupportedError for another pickle_module.
    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save([torch.tensor([1, 2]), "text"], file)
        >>> _ = file.seek(0)
        >>> torch.load(file, map_location="cpu")
        [tensor([1, 2]), 'text']
    """
    _check_pickle_module("load", pickle_module)
    encoding, errors = _decoding(pickle_load_args)
    _check_flags(weights_only, mmap, pickle_module)
    restore = _restorer(map_location)
    path = os.fspath(f) if isinstance(f, (str, bytes, os.PathLike)) else None
    if mmap and path is None:
        raise ArgumentError(
            f"f must be a path in order to use mmap, got {shown(f)}", hint="leave mmap out", operator="load"
        )
    _check_source("load", f)
    with _opened(f, "rb") as file:
        source = archive.Source(file)
        start = source.read(0, min(SNIFFED, source.nbytes))
        if start.startswith(archive.LOCAL_SIGN):
            return _load_archive(archive.Reader(source), restore, path if mmap else None, encoding, errors)
        return _load_other(source, start, restore, bool(mmap))


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the full names of the classes and functions in a file that `load` would refuse, in the order of the file.

    f: a path, or a file opened in binary mode.
    Raises: FileFormatError if f is damaged, or not a file that `save` or PyTorch wrote; NoFileError (AttributeError)
            if f is neither a path nor a file.
    Example:
        >>> import io
        >>> from fractions import Fraction
        >>> file = io.BytesIO()
        >>> torch.save(Fraction(1, 3), file)
        >>> _ = file.seek(0)
        >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
        ['fractions.Fraction']
    """
    from .unpickler import Budget, Unpickler
    from .vocabulary import NameList

    _check_source("get_unsafe_globals_in_checkpoint", f)
    with naming("get_unsafe_globals_in_checkpoint"):
        with _opened(f, "rb") as file:
            reader = archive.Reader(archive.Source(file))
            _check_kind(reader)
            data = reader.read(PICKLE)
        names = NameList()
        Unpickler(data, names, Budget(len(data)), "latin1").load()
        return names.unknown


def _load_archive(reader: archive.Reader, restore: Restore, mapped: Any, encoding: str, errors: str) -> Any:
    """Return the object in an archive.  mapped: the path of a file to map, or None."""
    from .unpickler import Budget, Unpickler
    from .vocabulary import FileVocabulary

    _check_kind(reader)
    data = reader.read(PICKLE)
    budget = Budget(len(data))
    loader = _StorageLoader(reader, restore, mapped, _is_swapped(reader))
    return Unpickler(data, FileVocabulary(loader.load, budget), budget, encoding, errors).load()


def _load_other(source: archive.Source, start: bytes, restore: Restore, mapped: bool) -> Any:
    """Return the object in a file that is not an archive, such as one of version 0.1."""
    from . import former_format

    if not start:
        raise EmptyFileError("the file is empty", hint=archive.DAMAGED_HINT, operator="load")
    if start.startswith(former_format.MAGIC):
        if mapped:
            raise ValueRangeError(
                "mmap needs a file in PyTorch's ZIP format",
                hint="load the file without mmap, and save it again",
                operator="load",
            )
        return former_format.load(source, restore)
    for at, sign, what in OTHER_FORMATS:
        if start.startswith(sign, at):
            raise _not_read(what)
    raise FileFormatError(
        f"this is not a file of torch.save(): it begins with {start[:16]!r}", hint=archive.DAMAGED_HINT, operator="load"
    )


def _not_read(what: str) -> FileFormatError:
    from .unpickler import UnpicklingError

    return UnpicklingError(f"the file is {what}", hint=CONVERT_HINT, operator="load")


def _check_kind(reader: archive.Reader) -> None:
    """Raise FileFormatError if an archive is not a file of `save`, or has an unknown version."""
    if PICKLE not in reader or TORCHSCRIPT in reader:
        what = "a TorchScript archive" if TORCHSCRIPT in reader else f"an archive without a record {PICKLE!r}"
        raise FileFormatError(f"the file is {what}, not a file of torch.save()", hint=CONVERT_HINT, operator="load")
    text = reader.read(VERSION)
    if not text.strip().isdigit() or not 1 <= int(text[:8]) <= LAST_VERSION:
        raise FileFormatError(
            f"the file has version {text[:16]!r} of PyTorch's format, and versions 1 to {LAST_VERSION} can be read",
            hint=CONVERT_HINT,
            operator="load",
        )


def _is_swapped(reader: archive.Reader) -> bool:
    """Return whether the file's byte order differs from this machine's."""
    order = reader.read(BYTE_ORDER) if BYTE_ORDER in reader else b"little"
    if order not in (b"little", b"big"):
        raise FileFormatError(f"the file has byte order {order[:16]!r}", hint=archive.DAMAGED_HINT, operator="load")
    return order.decode() != sys.byteorder


class _StorageLoader:
    """The storages of an archive, each loaded once.  mapped: the path of the file to map, or None."""

    def __init__(self, reader: archive.Reader, restore: Restore, mapped: Any, is_swapped: bool) -> None:
        self._reader = reader
        self._restore = restore
        self._is_swapped = is_swapped
        self._map = None if mapped is None else _map_file(mapped)
        self._loaded: dict[Any, tuple[Any, Storage]] = {}

    def load(self, key: str, element_type: dtype | None, location: str, count: int) -> Storage:
        """Return a storage of the file.  Raises FileFormatError if the file does not have it."""
        itemsize = 1 if element_type is None else element_type.itemsize
        facts = element_type, location, count
        loaded = self._loaded.get((key, None if count else element_type))
        if loaded is None:
            storage = self._read(f"data/{key}", count * itemsize, itemsize)
            loaded = facts, self._restore(storage, location)
            self._loaded[key, None if count else element_type] = loaded
        if loaded[0] != facts:
            raise FileFormatError(
                f"storage {key[:80]!r} is referred to with two types, locations or sizes: {count} of "
                f"{element_type or 'bytes'} on {location[:80]!r} the second time",
                hint=archive.DAMAGED_HINT,
                operator="load",
            )
        return loaded[1]

    def _read(self, record: str, nbytes: int, itemsize: int) -> Storage:
        extent = self._reader.extent_of(record)
        if extent.nbytes != nbytes:
            raise FileFormatError(
                f"record {record[:80]!r} has {extent.nbytes} bytes, and its storage {nbytes}",
                hint=archive.DAMAGED_HINT,
                operator="load",
            )
        if self._map is not None and extent.start % itemsize == 0:
            storage = host_storage.from_array(self._map[extent.start : extent.start + nbytes])
        else:
            storage = host_storage.on_host(nbytes)
            if self._map is not None:
                storage.array()[:] = self._map[extent.start : extent.start + nbytes]
            else:
                self._reader.read_into(record, storage.array())
        if self._is_swapped and itemsize > 1:
            storage.array().view(f"u{itemsize}").byteswap(inplace=True)
        return storage


def _map_file(path: Any) -> Any:
    """Return the bytes of a file as an array that is written in memory only."""
    import mmap

    with open(path, "rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)


# where storages go


def _restorer(map_location: Any) -> Restore:
    """Return the function that moves a storage from the CPU to where `map_location` says, given its saved location."""
    if map_location is None:
        return _to_location
    if isinstance(map_location, Mapping):
        return lambda storage, location: _to_location(storage, location, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, devices.device)):
        target = map_location.decode() if isinstance(map_location, bytes) else map_location
        return lambda storage, location: _to_location(storage, location, target)
    if callable(map_location):
        return lambda storage, location: _as_chosen(storage, location, map_location)
    raise ArgumentTypeError(
        f"map_location must be a device, a dict or a function, got {shown(map_location)}",
        hint=LOCATION_HINT,
        operator="load",
    )


def _to_location(storage: Storage, location: str, target: Any = None) -> Storage:
    target = location if target is None else target
    try:
        device = devices.as_device(target)
        return storage if device.type == "cpu" else pickling.flat(storage).to(device)._storage
    except (DeviceIndexError, NoDeviceError) as error:
        fact = f"a tensor was saved on {location[:80]}, and goes to {target}: {error.fact}"
        raise DeviceIndexError(fact, operator="load", hint=LOCATION_HINT) from error
    except (ArgumentError, ArgumentTypeError, DeviceNameError, NotSupportedError) as error:
        fact = f"a tensor was saved on {location[:80]!r}, and goes to {shown(target)}, which is not a device here"
        raise DeviceNameError(fact, operator="load", hint=LOCATION_HINT) from error


def _as_chosen(storage: Storage, location: str, choose: Callable[[Any, str], Any]) -> Storage:
    chosen = choose(untyped.of(storage), location)
    if chosen is None:
        return _to_location(storage, location)
    result = chosen._storage if isinstance(chosen, TensorBase) else getattr(chosen, "_storage", None)
    if not isinstance(result, Storage):
        raise ArgumentTypeError(
            f"map_location must return a tensor, a storage or None, got {shown(chosen)}",
            hint=LOCATION_HINT,
            operator="load",
        )
    if result.nbytes < storage.nbytes:
        raise ArgumentError(
            f"map_location returned {result.nbytes} bytes for a storage of {storage.nbytes}",
            hint="return the given storage, or the result of its cuda() or to()",
            operator="load",
        )
    return result


# arguments


def _open(path: Any, mode: str) -> Any:
    """Open a file.  Raises OSError; of writing, UnwritableFileError, as PyTorch raises RuntimeErrors there."""
    try:
        return open(path, mode)
    except OSError as error:
        if mode == "rb":
            raise
        failure = UnwritableFileError(
            f"{os.fspath(path)!r} cannot be written: {error.strerror}",
            hint="check that the folder exists, and permits new files",
            operator="save",
        )
        failure.errno, failure.filename = error.errno, error.filename
        raise failure from error


@contextmanager
def _opened(f: Any, mode: str) -> Iterator[Any]:
    if isinstance(f, (str, bytes, os.PathLike)):
        with _open(f, mode) as file:
            yield file
    else:
        yield f


def _check_target(f: Any) -> None:
    if not isinstance(f, (str, bytes, os.PathLike)) and not hasattr(f, "write"):
        raise NoFileError(
            f"f must be a path or a binary file, got {shown(f)}",
            hint="give a path, or an io.BytesIO()",
            operator="save",
        )
    if isinstance(f, io.TextIOBase):
        raise ArgumentTypeError("f is a text file", hint="open it with mode 'wb'", operator="save")


def _check_source(name: str, f: Any) -> None:
    if isinstance(f, (str, bytes, os.PathLike)):
        return
    if not hasattr(f, "read"):
        raise NoFileError(
            f"f must be a path or a binary file, got {shown(f)}", hint="give a path, or an io.BytesIO()", operator=name
        )
    if not all(hasattr(f, part) for part in ("seek", "tell")) or hasattr(f, "seekable") and not f.seekable():
        raise NoFileError(f"the file is not seekable: {shown(f)}", hint="give io.BytesIO(f.read())", operator=name)
    if isinstance(f, io.TextIOBase):
        raise ArgumentTypeError("f is a text file", hint="open it with mode 'rb'", operator=name)


def _check_pickle_module(name: str, module: Any) -> None:
    if module is not None and getattr(module, "__name__", None) != "pickle":
        raise NotSupportedError(
            f"pickle_module can only be the standard pickle, got {shown(module)}",
            hint="leave pickle_module out: files are read without running their code",
            operator=name,
        )


def _check_protocol(protocol: Any) -> None:
    if protocol is not None and (not devices.is_integer(protocol) or protocol > HIGHEST_PROTOCOL):
        raise ArgumentError(
            f"pickle_protocol must be an integer up to {HIGHEST_PROTOCOL}, got {shown(protocol)}",
            hint="leave it out",
            operator="save",
        )


def _check_flags(weights_only: Any, mmap: Any, pickle_module: Any) -> None:
    for name, value in (("weights_only", weights_only), ("mmap", mmap)):
        if value is not None and not isinstance(value, bool):
            raise ArgumentTypeError(
                f"{name} must be a bool or None, got {shown(value)}", hint="leave it out", operator="load"
            )
    if weights_only and pickle_module is not None:
        raise ValueRangeError(
            "weights_only=True and pickle_module contradict each other", hint="leave pickle_module out", operator="load"
        )


def _decoding(options: dict[str, Any]) -> tuple[str, str]:
    """Check encoding= and errors=."""
    encoding, errors = options.get("encoding", "utf-8"), options.get("errors", "strict")
    unknown = options.keys() - {"encoding", "errors"}
    if unknown:
        raise ArgumentTypeError(
            f"got an unexpected keyword argument {min(unknown)!r}",
            hint="use map_location=, weights_only=, mmap=, encoding= and errors=",
            operator="load",
        )
    try:
        if encoding != "bytes":
            codecs.lookup(encoding)
        codecs.lookup_error(errors)
    except (LookupError, TypeError) as error:
        fact = f"encoding={shown(encoding)}, errors={shown(errors)}: {error}"
        raise ArgumentError(fact, operator="load", hint="leave them out") from error
    return encoding, errors

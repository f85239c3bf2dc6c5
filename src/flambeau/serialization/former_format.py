"""Reader of the files that version 0.1 wrote; to be removed after version 0.2.

The file is: MAGIC, the length of the header (8 bytes, little-endian), the header, then the bytes of each tensor, dense,
each starting at a multiple of ALIGNMENT bytes from the end of the header.  The header is JSON: "tensors", a list of
{dtype, shape, device, requires_grad, start}, and "tree", the object with tensors as their number.  There are no
checksums: damage to the bytes of a tensor is not noticed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from math import prod
from typing import Any

from ..core import host_storage
from ..core.storage import Storage
from ..dtypes import BY_NAME
from ..errors import FileFormatError, FlambeauError
from ..runtime import device as devices
from ..strides import Size, contiguous
from ..tensor import pickling
from .archive import DAMAGED_HINT, Source

MAGIC = b"flambeau tensors 1\n"
LENGTH_BYTES = 8
ALIGNMENT = 64  # bytes
MAX_DEPTH = 200  # of nested containers

Restore = Callable[[Storage, str], Storage]
_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "size": Size}
_MAPPINGS: dict[str, Callable[[list[Any]], Any]] = {"dict": dict, "ordered": OrderedDict}
_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def load(source: Source, restore: Restore) -> Any:
    """Return the object in a file.  restore: gives a storage on the device of a location.

    Raises: FileFormatError if the file is damaged.
    """
    header, at = _header(source)
    if not isinstance(header, dict) or header.keys() != {"tensors", "tree"} or not isinstance(header["tensors"], list):
        raise _damaged("its header has no tensors and no tree")
    end = 0
    tensors = []
    for index, fact in enumerate(header["tensors"]):
        tensor, end = _tensor(source, at, index, fact, end, restore)
        tensors.append(tensor)
    return _decoded(header["tree"], tensors, 0)


def _damaged(fact: str) -> FileFormatError:
    return FileFormatError(f"the file of version 0.1 is damaged: {fact}", hint=DAMAGED_HINT, operator="load")


def _header(source: Source) -> tuple[Any, int]:
    start = len(MAGIC) + LENGTH_BYTES
    length = int.from_bytes(source.read(len(MAGIC), LENGTH_BYTES), "little") if source.nbytes >= start else 0
    if not 0 < length <= source.nbytes - start:
        raise _damaged(f"it is cut short: a header of {length} bytes in a file of {source.nbytes}")
    try:
        return json.loads(source.read(start, length)), start + length
    except (ValueError, RecursionError) as error:
        raise _damaged(f"its header is not JSON: {error}") from error


def _tensor(source: Source, at: int, index: int, fact: Any, end: int, restore: Restore) -> tuple[Any, int]:
    """Return (a tensor, start of the next one's bytes)."""
    names = {"dtype", "shape", "device", "requires_grad", "start"}
    if not isinstance(fact, dict) or fact.keys() != names or not isinstance(fact["dtype"], str):
        raise _damaged(f"tensor {index} is described by {pickling.brief(fact)}")
    element_type, shape = BY_NAME.get(fact["dtype"]), fact["shape"]
    strides = contiguous(shape) if isinstance(shape, list) and all(type(size) is int for size in shape) else ()
    room = source.nbytes - at - end
    fault = layout = None
    if element_type is None or type(fact["start"]) is not int or fact["start"] != end:
        start = pickling.brief(fact["start"])
        fault = f"type {pickling.brief(fact['dtype'])}, start {start}, and the one before ends at {end}"
    else:
        layout = pickling.layout_fault(shape, strides, 0, element_type.itemsize, room)
    if element_type is None or fault is not None or layout is not None:
        raise _damaged(f"tensor {index}: {fault or layout}")
    if type(fact["requires_grad"]) is not bool or fact["requires_grad"] and not element_type.is_floating_point:
        raise _damaged(f"tensor {index}: requires_grad is {pickling.brief(fact['requires_grad'])} for {element_type}")
    if not isinstance(fact["device"], str):
        raise _damaged(f"tensor {index}: device {pickling.brief(fact['device'])}")
    storage = host_storage.on_host(prod(shape) * element_type.itemsize)
    source.read_into(at + end, memoryview(storage.array()))
    tensor = pickling.over(restore(storage, fact["device"]), element_type, shape, strides, 0, "load")
    return tensor.requires_grad_(fact["requires_grad"]), end + -(-storage.nbytes // ALIGNMENT) * ALIGNMENT


def _decoded(value: Any, tensors: list[Any], depth: int) -> Any:
    """Return a part of the tree: JSON's own types unchanged, others from {tag: content}."""
    if not isinstance(value, (dict, list)):
        return value
    tag, content = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else ("", None)
    if depth > MAX_DEPTH:
        raise _damaged(f"containers are nested more than {MAX_DEPTH} deep")
    if tag == "size" and not (isinstance(content, list) and all(type(size) is int for size in content)):
        raise _damaged("a size with entries that are not integers")
    if tag in _CONTAINERS and isinstance(content, list):
        return _CONTAINERS[tag]([_decoded(item, tensors, depth + 1) for item in content])
    if tag in _MAPPINGS and isinstance(content, list):
        return _MAPPINGS[tag]([_pair(item, tensors, depth + 1) for item in content])
    if tag == "tensor" and type(content) is int and 0 <= content < len(tensors):
        return tensors[content]
    if isinstance(content, str):
        scalar = _scalar(tag, content)
        if scalar is not None:
            return scalar
    raise _damaged(f"its tree has {pickling.brief(value)}")


def _pair(value: Any, tensors: list[Any], depth: int) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise _damaged("a dictionary with entries that are not pairs")
    key = _decoded(value[0], tensors, depth)
    try:
        hash(key)
    except TypeError as error:
        raise _damaged(f"a key of a dictionary: {error}") from error
    return key, _decoded(value[1], tensors, depth)


def _scalar(tag: str, text: str) -> Any:
    """Return a number, a dtype or a device; None for any other value."""
    if tag == "float":
        return _FLOATS.get(text)
    if tag == "dtype":
        return BY_NAME.get(text)
    if tag == "device":
        try:
            return devices.as_device(text)
        except FlambeauError as error:
            raise _damaged(error.fact) from error
    return None

"""save and load: tensors, and nested containers of them, in one file.

- The file is: MAGIC, the length of the header (8 bytes, little-endian), the header, then the values of each tensor,
  dense, each starting at a multiple of ALIGNMENT bytes.
- The header is JSON: "tensors", a list of {dtype, shape, device, requires_grad, start}, and "tree", the object with
  tensors as their number.  Loading it runs no code, and nothing else can be in a file.
- A tensor that is found twice is stored once, and is one tensor again after loading.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite, prod
from typing import Any

from ..core.tensor import TensorBase
from ..dtypes import BY_NAME, dtype
from ..errors import ArgumentError, ArgumentTypeError, DeviceIndexError, FlambeauError, shown
from ..host import np
from ..runtime import device as devices
from ..strides import Size
from . import factories

MAGIC = b"flambeau tensors 1\n"
LENGTH_BYTES = 8
ALIGNMENT = 64  # bytes
CUT_HINT = "copy the file again, or save anew"
_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "size": Size}
_MAPPINGS: dict[str, Callable[[list[Any]], Any]] = {"dict": dict, "ordered": OrderedDict}


class NoFileError(FlambeauError, AttributeError):
    """What should be a path or a file is neither."""


def save(obj: Any, f: Any) -> None:
    """Write tensors, numbers, strings, None and nested dicts, lists and tuples of these to a path or a binary file.

    Host:   waits for tensors on GPUs.
    Raises: ArgumentTypeError for anything else, naming where it is; nothing is written then.
    """
    writer = _Writer()
    tree = writer.encoded(obj, "")
    header = json.dumps({"tensors": writer.facts, "tree": tree}, separators=(",", ":")).encode()
    with _opened("save", f, "wb") as file:
        file.write(MAGIC + len(header).to_bytes(LENGTH_BYTES, "little") + header)
        at = 0
        for fact, values in zip(writer.facts, writer.tensors):
            file.write(bytes(fact["start"] - at))
            data = values.detach().cpu().contiguous().array().tobytes()
            file.write(data)
            at = fact["start"] + len(data)


def load(f: Any, map_location: Any = None, weights_only: bool = True) -> Any:
    """What `save` wrote to a path or a binary file; no code in it is run, whatever `weights_only` says.

    map_location: None puts tensors where they were; a device puts all of them there; a dict maps 'cuda:1' to 'cuda:0';
    a callable gets (tensor on the CPU, location) and returns a tensor, or None for where it was.
    Host:   waits.
    Raises: ArgumentError if this is not such a file, or it is cut short; DeviceIndexError if a device does not exist.
    """
    with _opened("load", f, "rb") as file:
        header = _header(file)
        data = memoryview(bytearray(file.read()))
    tensors = [_tensor(fact, data, map_location) for fact in header["tensors"]]
    return _decoded(header["tree"], tensors)


@contextmanager
def _opened(name: str, f: Any, mode: str) -> Iterator[Any]:
    if isinstance(f, (str, bytes, os.PathLike)):
        with open(f, mode) as file:
            yield file
    elif not hasattr(f, "write" if name == "save" else "read"):
        raise NoFileError(
            f"f must be a path or a binary file, got {shown(f)}", hint="give a path, or an io.BytesIO()", operator=name
        )
    else:
        yield f


# writing


class _Writer:
    """Turns an object into JSON, and gathers its tensors."""

    def __init__(self) -> None:
        self.facts: list[dict[str, Any]] = []
        self.tensors: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._end = 0

    def encoded(self, value: Any, path: str) -> Any:
        """JSON for a value: what JSON has as it is, all else as {kind: content}."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if isfinite(value) else {"float": str(value)}
        if isinstance(value, TensorBase):
            return {"tensor": self._number(value)}
        if isinstance(value, dtype):
            return {"dtype": value.name}
        if isinstance(value, devices.device):
            return {"device": str(value)}
        return self._container(value, path)

    def _container(self, value: Any, path: str) -> Any:
        for kind, maker in (("size", Size), ("tuple", tuple), ("list", list)):
            if isinstance(value, maker):
                return {kind: [self.encoded(each, f"{path}[{i}]") for i, each in enumerate(value)]}
        if isinstance(value, dict):
            pairs = [[self.encoded(k, path), self.encoded(v, f"{path}[{k!r}]")] for k, v in value.items()]
            return {"ordered" if isinstance(value, OrderedDict) else "dict": pairs}
        raise ArgumentTypeError(
            f"cannot store a {type(value).__name__} at object{path}: {shown(value)}",
            hint="save tensors, numbers, strings and containers of them, such as a module's state_dict()",
            operator="save",
        )

    def _number(self, tensor: Any) -> int:
        key = (id(tensor.storage), tensor.offset, tensor.shape, tensor.strides, tensor.dtype)
        if key not in self._numbers:
            self._numbers[key] = len(self.tensors)
            self.tensors.append(tensor)
            self.facts.append(
                {
                    "dtype": tensor.dtype.name,
                    "shape": list(tensor.shape),
                    "device": str(tensor.device),
                    "requires_grad": bool(tensor.requires_grad),
                    "start": self._end,
                }
            )
            self._end += -(-tensor.nbytes // ALIGNMENT) * ALIGNMENT
        return self._numbers[key]


# reading


def _header(file: Any) -> Any:
    if file.read(len(MAGIC)) != MAGIC:
        raise ArgumentError(
            f"this is not a file of flambeau tensors: {shown(getattr(file, 'name', file))}",
            hint="load() reads what save() wrote",
            operator="load",
        )
    length = int.from_bytes(file.read(LENGTH_BYTES), "little")
    text = file.read(length)
    if len(text) != length:
        raise ArgumentError(
            f"the file is cut short: its header has {len(text)} of {length} bytes", hint=CUT_HINT, operator="load"
        )
    return json.loads(text)


def _tensor(fact: dict[str, Any], data: memoryview, map_location: Any) -> Any:
    kind, shape, start = BY_NAME[fact["dtype"]], fact["shape"], fact["start"]
    end = start + prod(shape) * kind.itemsize
    if end > len(data):
        raise ArgumentError(
            f"the file is cut short: a tensor ends at byte {end} of {len(data)}", hint=CUT_HINT, operator="load"
        )
    made = factories.tensor(np.frombuffer(data[start:end], np.uint8).view(kind.numpy).reshape(shape))
    return _placed(made, fact["device"], map_location).requires_grad_(fact["requires_grad"])


def _placed(made: Any, location: str, map_location: Any) -> Any:
    """A CPU tensor where map_location says."""
    target: Any = location
    if callable(map_location) and not isinstance(map_location, type | devices.device):
        chosen = map_location(made, location)
        if chosen is not None:
            return chosen
    elif isinstance(map_location, dict):
        target = map_location.get(location, location)
    elif map_location is not None:
        target = map_location
    try:
        return made if str(target) == "cpu" else made.to(target)
    except FlambeauError as error:
        raise DeviceIndexError(
            f"a tensor was saved on {location}, and goes to {target}: {error.fact}",
            hint="map_location='cpu' loads it to the CPU; a dict such as {'cuda:1': 'cuda:0'} to another device",
            operator="load",
        ) from error


def _decoded(value: Any, tensors: list[Any]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind in _CONTAINERS:
        return _CONTAINERS[kind]([_decoded(each, tensors) for each in content])
    if kind in _MAPPINGS:
        return _MAPPINGS[kind]([(_decoded(k, tensors), _decoded(v, tensors)) for k, v in content])
    scalars: dict[str, Callable[[str], Any]] = {
        "float": float,
        "dtype": BY_NAME.__getitem__,
        "device": devices.as_device,
    }
    return scalars[kind](content)

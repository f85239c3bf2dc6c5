"""Factories over memory of the host: frombuffer and from_file."""

from __future__ import annotations

import os
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import FileFormatError
from ..host import np
from ..memory_formats import check_layout
from . import checks
from .factories import as_leaf, from_array, of_buffer


def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A CPU tensor that shares the memory of an object with Python's buffer interface, such as a bytearray.

    count: elements, -1 for all.  offset: bytes to leave out at the start.
    Raises: ArgumentError if the buffer does not hold them or is no buffer.
    Example:
        >>> data = bytearray([1, 0, 2, 0])
        >>> x = torch.frombuffer(data, dtype=torch.int16)
        >>> data[0] = 9
        >>> x
        tensor([9, 2], dtype=torch.int16)
    """
    return of_buffer("frombuffer", buffer, dtype, count, offset, requires_grad)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A CPU tensor over the bytes of a file, which is mapped into memory.

    shared: True writes to the file, which is made or grows if it is too small; else writes stay in this process.
    size: the number of elements.
    Raises: FileFormatError if the file is too small, the OSError of a file that cannot be opened.
    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     x = torch.from_file(file.name, shared=True, size=2, dtype=torch.uint8).fill_(65)
        ...     file.read()
        b'AA'
    """
    check_layout("from_file", layout)
    checks.count("from_file", "size", size)
    element_type = checks.as_dtype("from_file", dtype) or dtypes.default.floating
    nbytes = size * element_type.itemsize
    if shared:
        with open(filename, "ab") as file:
            if os.fstat(file.fileno()).st_size < nbytes:
                file.truncate(nbytes)
    have = os.stat(filename).st_size
    if have < nbytes:
        raise FileFormatError(
            f"file {filename} has {have} bytes, fewer than the {nbytes} of {size} elements of {element_type.name}",
            hint="pass shared=True to let it grow",
            operator="from_file",
        )
    if not nbytes:
        array = np.empty(0, element_type.numpy)
    else:
        mapped = np.memmap(filename, np.uint8, "r+" if shared else "c", 0, nbytes)
        array = np.asarray(mapped).view(element_type.numpy)
    result = from_array(array, "from_file")
    result = result.pin_memory() if pin_memory else result
    return result if requires_grad is False else as_leaf("from_file", result, requires_grad)

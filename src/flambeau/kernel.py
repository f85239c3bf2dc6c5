"""Kernels, their parameters, and the buffer of a launch's arguments.

`Kernel.pack` makes the buffer.  The nvidia driver passes it to the GPU unchanged.  The virtual driver calls
`Kernel.bind` on the same bytes, which returns every array that the kernel accesses, and runs `reference` on them.
So index collapsing and argument packing are tested without a GPU.

The buffer has the C layout of the parameters in order, with natural alignment:

    Pointer    void*                                                   0 where an optional operand is absent
    Scalar     one value of its C type
    Strided    long long ndim, size[8], stride[operands][8]            strides in elements
    Pointers   {void* data; long long numel;} [count]                  each a contiguous one-dimensional array
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .dtypes import dtype
from .errors import ArgumentError
from .strides import contiguous, extent

MAX_DIMS = 8
MAX_BLOCKS = (2**31 - 1, 65_535, 65_535)  # blocks of a grid along x, y and z, on every architecture
MAX_BLOCK = (1024, 1024, 64)  # threads of a block along x, y and z
MAX_THREADS = 1024  # per block
Buffer = bytes | bytearray  # arguments of a launch; callees may keep it, since it is not written again
_FORMATS = {
    "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
    "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
_ABSENT = (0,) * MAX_DIMS
_NO_ARRAY = (0, 0)


class Grid(NamedTuple):
    """A launch grid: `blocks` of threads, each block with `shared` bytes of dynamic shared memory.

    threads, threads_y, threads_z: the threads of a block along x, y and z.
    """

    blocks: tuple[int, int, int]
    threads: int
    shared: int = 0
    threads_y: int = 1
    threads_z: int = 1


class Param:
    """A parameter of a kernel: one of the classes below."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Pointer(Param):
    """An array in device memory.

    access: "r", "w" or "rw".
    shape: the sizes of a contiguous array, each a number or the name of a Scalar; or the name of the Strided parameter
    with its shape and strides.
    """

    __slots__ = ("access", "dtype", "shape")

    def __init__(self, name: str, dtype: dtype, access: str, shape: tuple[int | str, ...] | str) -> None:
        super().__init__(name)
        self.dtype = dtype
        self.access = access
        self.shape = shape


class Scalar(Param):
    """One number, by value."""

    __slots__ = ("ctype", "struct")

    def __init__(self, name: str, ctype: str) -> None:
        super().__init__(name)
        self.ctype = ctype
        self.struct = struct.Struct("@" + _FORMATS[ctype])


class Strided(Param):
    """The common shape of some arrays, and the strides of each.  Its value is (shape, [strides per operand])."""

    __slots__ = ("operands",)

    def __init__(self, name: str, operands: tuple[str, ...]) -> None:
        super().__init__(name)
        self.operands = operands


class Pointers(Param):
    """Up to `count` contiguous arrays, treated as one-dimensional.  Its value is a list of (address, numel)."""

    __slots__ = ("access", "count", "dtype")
    NBYTES = 16  # of one entry: {void* data; long long numel;}

    def __init__(self, name: str, count: int, dtype: dtype, access: str) -> None:
        super().__init__(name)
        self.count = count
        self.dtype = dtype
        self.access = access


class Access:
    """One array that a launch reads or writes.  Shape and strides are in elements."""

    __slots__ = ("address", "dtype", "mode", "nbytes", "shape", "strides")

    def __init__(
        self, address: int, dtype: dtype, mode: str, shape: Sequence[int], strides: Sequence[int] | None
    ) -> None:
        self.address = address
        self.dtype = dtype
        self.mode = mode
        self.shape = shape
        self.strides = strides  # None: contiguous
        self.nbytes = _hull(shape, strides) * dtype.itemsize


def _hull(shape: Sequence[int], strides: Sequence[int] | None) -> int:
    if strides is not None:
        return extent(shape, strides)
    count = 1
    for size in shape:
        count *= size
    return count


class Kernel:
    """Device code, its parameters and its reference in NumPy.

    entry: the `extern "C"` name in `source`, which is CUDA C++.  With is_c=False it is a C++ name, such as `f<int>`.
    options: compiler options, besides those of every kernel.
    reference: called with one NumPy array per Pointer, a list of arrays per Pointers and a number per Scalar, in the
    order of `params`.  It writes the arrays that are not "r".  An absent operand is None.
    operations: arithmetic operations per element of the largest operand, for the modelled clock.
    offsets: the offset of each parameter in the buffer, in bytes.
    body: a function that returns the only result as a NumPy array, called with the arguments of the reference after the
    result; None if there is no such function.  computes: the dtype of each of these arguments.
    ufunc: the name of a NumPy function that does the same with `out`, whose type all arguments have; "" for none.
    """

    __slots__ = (
        "__weakref__", "_struct", "body", "computes", "entry", "is_c", "offsets", "operations", "options", "params",
        "reference", "source", "ufunc",
    )  # fmt: skip

    def __init__(
        self,
        entry: str,
        source: str,
        params: Sequence[Param],
        reference: Callable[..., None],
        operations: float = 1.0,
        options: tuple[str, ...] = (),
        is_c: bool = True,
    ) -> None:
        self.entry = entry
        self.source = source
        self.options = options
        self.is_c = is_c
        self.params = tuple(params)
        self.reference = reference
        self.operations = operations
        self.body: Callable[..., Any] | None = None
        self.computes: tuple[dtype, ...] = ()
        self.ufunc = ""
        formats = [_format_of(param) for param in self.params]
        self.offsets = tuple(_offset_of(formats, index) for index in range(len(formats)))
        self._struct = struct.Struct("@" + "".join(formats))

    @property
    def nbytes(self) -> int:
        """The size of the buffer."""
        return self._struct.size

    def pack(self, values: Sequence[Any]) -> bytes:
        """Pack `values`, one per parameter, into a launch buffer.

        A Pointer takes an address, a Scalar a number, a Strided (shape, strides), a Pointers [(address, numel)].
        """
        flat: list[Any] = []
        for param, value in zip(self.params, values, strict=True):
            if type(param) is Strided:
                _flatten_layout(param, value, flat)
            elif type(param) is Pointers:
                for address, numel in value:
                    flat += (address, numel)
                flat += _NO_ARRAY * (param.count - len(value))
            else:
                flat.append(value)
        return self._struct.pack(*flat)

    def scalar_at(self, offset: int) -> Scalar:
        """Return the scalar parameter at an offset in the buffer."""
        param = self.params[self.offsets.index(offset)]
        assert isinstance(param, Scalar)
        return param

    def bind(self, buffer: Buffer) -> list[Any]:
        """Decode a buffer: per parameter an Access, a list of Access, a number, or None if absent.

        Strided parameters are merged into the Access of their arrays.  Arrays of address 0 are left out of lists.
        """
        values = self._unpack(buffer)
        bound: list[Any] = []
        for param in self.params:
            if type(param) is Pointer:
                bound.append(_pointer_access(param, values))
            elif type(param) is Pointers:
                arrays = [(address, numel) for address, numel in values[param.name] if address]
                bound.append([Access(at, param.dtype, param.access, (numel,), None) for at, numel in arrays])
            elif type(param) is Scalar:
                bound.append(values[param.name])
        return bound

    def _unpack(self, buffer: Buffer) -> dict[str, Any]:
        words, at = self._struct.unpack(buffer), 0
        values: dict[str, Any] = {}
        for param in self.params:
            end = at + _words_of(param)
            if type(param) is Strided:
                rows = [words[row : row + words[at]] for row in range(at + 1, end, MAX_DIMS)]
                values[param.name] = (rows[0], dict(zip(param.operands, rows[1:])))
            elif type(param) is Pointers:
                values[param.name] = list(zip(words[at:end:2], words[at + 1 : end : 2]))
            else:
                values[param.name] = words[at]
            at = end
        return values

    def __repr__(self) -> str:
        return f"Kernel({self.entry})"


def _offset_of(formats: Sequence[str], index: int) -> int:
    """Return the offset of a parameter in the buffer, aligned as in C."""
    return struct.calcsize("@" + "".join(formats[: index + 1])) - struct.calcsize("@" + formats[index])


def _words_of(param: Param) -> int:
    if type(param) is Strided:
        return 1 + MAX_DIMS * (1 + len(param.operands))
    return 2 * param.count if type(param) is Pointers else 1


def _format_of(param: Param) -> str:
    if type(param) is Strided:
        return f"{_words_of(param)}q"
    if type(param) is Pointers:
        return "Qq" * param.count
    return _FORMATS[param.ctype] if type(param) is Scalar else "Q"


def _flatten_layout(param: Strided, value: tuple[Sequence[int], Sequence[Sequence[int]]], flat: list[Any]) -> None:
    shape, strides = value
    if len(shape) > MAX_DIMS:
        raise ArgumentError(
            f"{len(shape)} dimensions do not collapse to {MAX_DIMS} or fewer: shape {list(shape)}",
            hint="make the operands contiguous first",
            operator=param.name,
        )
    padding = _ABSENT[len(shape) :]
    flat.append(len(shape))
    flat.extend(shape)
    flat.extend(padding)
    for row in strides:
        flat.extend(row)
        flat.extend(padding)


def _pointer_access(param: Pointer, values: dict[str, Any]) -> Access | None:
    address = values[param.name]
    if address == 0:
        return None
    if isinstance(param.shape, str):
        shape, strides = values[param.shape]
        return Access(address, param.dtype, param.access, shape, strides[param.name])
    sizes = [values[size] if isinstance(size, str) else size for size in param.shape]
    return Access(address, param.dtype, param.access, sizes, None)


def row_major(access: Access) -> Sequence[int]:
    """Return the strides of an access in elements, computed if it is contiguous."""
    return contiguous(access.shape) if access.strides is None else access.strides

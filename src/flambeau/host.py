"""NumPy, SciPy and host memory, loaded on first use: importing flambeau must not load them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from .errors import NotSupportedError

MAX_OVERLAP_WORK = 10_000  # NumPy's limit of work to find out whether two views share a byte
# glibc takes blocks up to the size of the largest one freed so far, at most 32 MiB, from its heap, where it keeps twice
# as much free memory.  Larger ones go back to the system, and each page of the next one faults (mallopt(3),
# M_MMAP_THRESHOLD): 0.5 ms for 600 KiB, 15 times what NumPy needs to convert them.
LARGEST_FROM_HEAP = (32 << 20) - (64 << 10)
SOMEWHERE = 1 << 20  # an arbitrary address for arrays that are compared and never read


@cache
def numpy() -> Any:
    """Return the numpy module."""
    import numpy

    numpy.empty(LARGEST_FROM_HEAP, numpy.uint8)  # freed at once
    return numpy


class _Lazy:
    """A module whose functions are attributes, such as `np.exp`; the first use loads it."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._load(), name)
        setattr(self, name, function)
        return function


np = _Lazy(numpy)
special = _Lazy(lambda: import_module("scipy.special"))


@cache
def scipy_linalg() -> Any:
    """Return the scipy.linalg module."""
    import scipy.linalg

    return scipy.linalg


@cache
def sobol_polynomials() -> tuple[Any, Any]:
    """Return Joe and Kuo's table for Sobol' sequences: the first numbers, [21201, 18], and the polynomials, [21201].

    SciPy has it in a file, which is read directly: importing scipy.stats takes a second.
    Raises: NotSupportedError if this version of SciPy has no such file.
    """
    from importlib.resources import files

    import scipy

    try:
        with (files("scipy") / "stats" / "_sobol_direction_numbers.npz").open("rb") as file, np.load(file) as table:
            return table["vinit"], table["poly"]
    except (OSError, KeyError) as error:
        raise NotSupportedError(
            f"SciPy {scipy.__version__} has no table of Sobol' sequences: {error}",
            hint="pip install scipy==1.17.1, which has one",
            operator="SobolEngine",
        ) from error


@cache
def has_opt_einsum() -> bool:
    """Return whether the package opt_einsum, which finds orders of contractions, is installed."""
    import importlib.util

    return importlib.util.find_spec("opt_einsum") is not None


def contraction_path(equation: str, shapes: Sequence[tuple[int, ...]]) -> Any:
    """Return the order of contractions by opt_einsum: groups of indexes into the growing list of operands."""
    import opt_einsum

    return opt_einsum.contract_path(equation, *shapes, shapes=True)[0]


@cache
def numpy_dtype(name: str) -> Any:
    """Return the numpy.dtype of a name; bfloat16 is from ml_dtypes."""
    if name == "bfloat16":
        import ml_dtypes

        return numpy().dtype(ml_dtypes.bfloat16)
    return numpy().dtype(name)


def rounded(array: Any, dtype: Any) -> Any:
    """Convert an array to a type of this library.  As in PyTorch, float64 is rounded to a half type through float32."""
    if array.dtype == numpy().float64 and dtype.is_floating_point and dtype.itemsize == 2:
        array = array.astype(numpy().float32)
    return array.astype(dtype.numpy, copy=False)


CLIPPED = 1 << 12  # elements from which np.clip takes less time than np.maximum and np.minimum
MANY = 1 << 18  # elements from which elementwise work is done in blocks
BLOCK = 1 << 15  # elements of a block, whose intermediate results stay in the processor's cache


def blocks_of(*arrays: Any) -> list[list[Any]] | None:
    """Return the arrays in blocks if they are contiguous and of one shape, else None.  Other values are unchanged."""
    ndarrays = [array for array in arrays if isinstance(array, numpy().ndarray)]
    if any(array.shape != ndarrays[0].shape or not array.flags.c_contiguous for array in ndarrays):
        return None
    flat = [array.reshape(-1) if isinstance(array, numpy().ndarray) else array for array in arrays]
    starts = range(0, ndarrays[0].size, BLOCK)
    return [
        [array[start : start + BLOCK] if isinstance(array, numpy().ndarray) else array for array in flat]
        for start in starts
    ]


def is_numpy_loaded() -> bool:
    return "numpy" in sys.modules


def bytes_at(address: int, nbytes: int) -> Any:
    """Return a uint8 array over `nbytes` of this process's memory.  The caller keeps that memory alive."""
    return numpy().frombuffer((ctypes.c_uint8 * nbytes).from_address(address), dtype="uint8")


class _Interface:
    """The array interface protocol (https://numpy.org/doc/stable/reference/arrays.interface.html) over an address."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, typestr: str, owner: Any
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "strides": strides,
            "typestr": typestr,
        }


def share_bytes(*layouts: tuple[int, Any, Sequence[int], Sequence[int]]) -> bool:
    """Return whether two arrays of given (start, dtype, shape, strides) in one memory share a byte.

    start in bytes, strides in elements.  True if that is too hard to compute.
    """
    arrays = [array_at(SOMEWHERE + start, dtype, shape, strides) for start, dtype, shape, strides in layouts]
    try:
        return bool(np.shares_memory(*arrays, max_work=MAX_OVERLAP_WORK))
    except np.exceptions.TooHardError:
        return True


def array_at(address: int, dtype: Any, shape: Sequence[int], strides: Sequence[int] | None, owner: Any = None) -> Any:
    """Return an array over this process's memory.  dtype: of this library;  strides: in elements, None for contiguous.

    The array keeps `owner` alive.  Without an owner, the caller keeps the memory alive.
    """
    steps = None if strides is None else tuple(step * dtype.itemsize for step in strides)
    plain = dtype.numpy
    if plain.kind == "V":  # ml_dtypes types have no type string in the protocol
        return numpy().asarray(_Interface(address, tuple(shape), steps, "<u2", owner)).view(plain)
    return numpy().asarray(_Interface(address, tuple(shape), steps, plain.str, owner))


def address_of(array: Any) -> int:
    """Return the address of the first byte of a NumPy array."""
    return int(array.__array_interface__["data"][0])


def is_process_alive(pid: int) -> bool:
    """Return whether a process with this number exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists and runs as another user
        return True
    return True


def get_cpu_capability() -> str:
    """Return "DEFAULT": NumPy selects the CPU's instructions; there are no AVX2 or AVX512 kernels as in PyTorch.

    Example:
        >>> torch.backends.cpu.get_cpu_capability()
        'DEFAULT'
    """
    return "DEFAULT"

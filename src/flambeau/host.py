"""NumPy and host memory, loaded on first use: importing flambeau must not load NumPy."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any


@cache
def numpy() -> Any:
    """The numpy module."""
    import numpy

    return numpy


class _Numpy:
    """NumPy's functions by attribute, `np.exp`, with the module loaded at the first."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(numpy(), name)
        setattr(self, name, found)
        return found


np = _Numpy()


@cache
def numpy_dtype(name: str) -> Any:
    """The numpy.dtype called `name`; bfloat16 is ml_dtypes'."""
    if name == "bfloat16":
        import ml_dtypes

        return numpy().dtype(ml_dtypes.bfloat16)
    return numpy().dtype(name)


def rounded(array: Any, kind: Any) -> Any:
    """An array as one of our types.  float64 becomes a half type through float32, as in PyTorch: rounded twice."""
    if array.dtype == numpy().float64 and kind.is_floating_point and kind.itemsize == 2:
        array = array.astype(numpy().float32)
    return array.astype(kind.numpy, copy=False)


def is_numpy_loaded() -> bool:
    return "numpy" in sys.modules


def bytes_at(address: int, nbytes: int) -> Any:
    """A uint8 array over `nbytes` of this process's memory.  The caller keeps that memory alive."""
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


def array_at(address: int, dtype: Any, shape: Sequence[int], strides: Sequence[int] | None, owner: Any = None) -> Any:
    """An array over this process's memory.  dtype is ours; strides in elements, None for contiguous.

    The array keeps `owner` alive; without one the caller keeps the memory alive.
    """
    steps = None if strides is None else tuple(step * dtype.itemsize for step in strides)
    plain = dtype.numpy
    if plain.kind == "V":  # ml_dtypes types have no type string that the protocol knows
        return numpy().asarray(_Interface(address, tuple(shape), steps, "<u2", owner)).view(plain)
    return numpy().asarray(_Interface(address, tuple(shape), steps, plain.str, owner))


def address_of(array: Any) -> int:
    """Where the first byte of a NumPy array lies."""
    return int(array.__array_interface__["data"][0])


def is_process_alive(pid: int) -> bool:
    """Whether a process with this number exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, and is someone else's
        return True
    return True

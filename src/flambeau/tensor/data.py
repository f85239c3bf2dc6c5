"""Data of Python and NumPy as arrays of one type, and what is wrong with data that is none."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..core import TensorCore
from ..dtypes import dtype
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, shown
from ..host import np
from ..scalars import converted

NUMPY_HINT = "convert with .astype(np.float32)"


def kind_of(array: Any, name: str) -> dtype:
    """The type of a NumPy array.  Raises ArgumentTypeError if there is none."""
    kind = dtypes.from_numpy(array.dtype)
    if kind is None:
        raise ArgumentTypeError(f"{name}: NumPy type {array.dtype} has no torch type", hint=NUMPY_HINT)
    return kind


def host_array(data: Any, wanted: dtype | None, name: str) -> Any:
    """A contiguous NumPy array with a copy of `data`, of the type `wanted` or, for None, of the data's own.

    Raises: ArgumentError, ArgumentTypeError, DtypeError or ValueRangeError, saying where in the data the fault is.
    """
    is_numpy = isinstance(_first_leaf(data), (np.ndarray, np.generic))
    try:
        array = np.array(_without_tensors(data), order="C")
    except ValueError as error:
        _check_even(data, name, ())
        fact = f"{name}: NumPy makes no array of the data: {error}"
        raise ArgumentError(fact, hint="stack() joins tensors") from error
    if array.dtype.kind not in "biuf" or array.dtype == np.uint64 and not is_numpy:
        _refuse_leaf(data, name, ())
    if wanted is not None:
        if not is_numpy:
            _check_fits(array, wanted, name)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(array.astype(wanted.numpy)).reshape(array.shape)
    return array.astype(np.float32) if array.dtype == np.float64 and not is_numpy else array


def _without_tensors(data: Any) -> Any:
    """Nested lists whose leaves may be tensors, as nested lists of numbers."""
    return _plain(data) if isinstance(_first_leaf(data), TensorCore) else data


def _first_leaf(data: Any) -> Any:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _plain(data: Any) -> Any:
    if isinstance(data, TensorCore):
        return data.tolist()  # type: ignore[attr-defined]
    return [_plain(each) for each in data] if isinstance(data, (list, tuple)) else data


def _at(place: tuple[int, ...]) -> str:
    return "".join(f"[{each}]" for each in place)


def _length(value: Any) -> int | None:
    """How many entries a level of nested data has, None for a number."""
    if isinstance(value, TensorCore) or hasattr(value, "ndim"):
        return len(value) if value.ndim else None
    return len(value) if isinstance(value, (list, tuple)) else None


def _check_even(data: Any, name: str, place: tuple[int, ...]) -> None:
    """Raise ArgumentError or ArgumentTypeError for the first entry that is not like the one before it."""
    if not isinstance(data, (list, tuple)):
        return
    for each, entry in enumerate(data):
        first, here = _length(data[0]), _length(entry)
        at = _at((*place, each))
        if (first is None) != (here is None):
            raise ArgumentTypeError(
                f"{name}: data{at} is {shown(entry)} and data{_at((*place, 0))} is {shown(data[0])}: one of them is a "
                "sequence, the other is not",
                hint="nest all entries alike",
            )
        if first != here:
            raise ArgumentError(
                f"{name}: the data's nested sequences differ in length: expected sequence of length {first} at dim "
                f"{len(place) + 1} (got {here}, data{at})",
                hint="fill up the shorter ones, or make a tensor of each",
            )
    for each, entry in enumerate(data):
        _check_even(entry, name, (*place, each))


def _refuse_leaf(data: Any, name: str, place: tuple[int, ...]) -> None:
    """Raise for the first entry that is no number of ours."""
    if isinstance(data, (list, tuple)):
        for each, entry in enumerate(data):
            _refuse_leaf(entry, name, (*place, each))
    elif isinstance(data, (np.ndarray, np.generic)):
        if dtypes.from_numpy(data.dtype) is None:
            raise ArgumentTypeError(f"{name}: NumPy type {data.dtype} has no torch type", hint=NUMPY_HINT)
    elif isinstance(data, str):
        kind = ArgumentError if place else ArgumentTypeError
        fact = f"{name}: could not infer dtype of str, data{_at(place)} is {shown(data)}"
        raise kind(fact, hint="convert it first, as in float(text)")
    elif isinstance(data, complex):
        raise DtypeError(f"{name}: data{_at(place)} is complex: {data}", hint="give .real and .imag by themselves")
    elif isinstance(data, int) and not -(2**63) <= data < 2**63:
        raise ArgumentError(f"{name}: data{_at(place)} does not fit in int64: {data}", hint="give it as a float")
    elif not isinstance(data, (bool, int, float, TensorCore)):
        raise DtypeError(
            f"{name}: could not infer dtype of {type(data).__name__}, data{_at(place)} is {shown(data)}",
            hint="give numbers, nested lists of them, a NumPy array or a tensor",
        )


def _check_fits(array: Any, wanted: dtype, name: str) -> None:
    """Raise ValueRangeError for numbers that an integer type does not hold."""
    if wanted.category == dtypes.INTEGER and array.size:
        flat = array.reshape(-1)
        odd = flat[~np.isfinite(flat)] if array.dtype.kind == "f" else flat[:0]
        for each in (odd[0],) if odd.size else (flat.min(), flat.max()):
            converted(name, wanted, each.item())

"""Data of Python and NumPy as arrays of one type, and what is wrong with data that is none."""

from __future__ import annotations

from functools import reduce
from typing import Any

from .. import dtypes
from ..core.tensor import TensorBase
from ..dtypes import dtype
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, shown
from ..host import np, rounded
from ..scalars import converted

MAX_DEPTH = 64  # dimensions of a NumPy array
NUMPY_HINT = "convert with .astype(np.float32)"


def kind_of(array: Any, name: str) -> dtype:
    """The type of a NumPy array.  Raises ArgumentTypeError if there is none, ArgumentError for a foreign byte order."""
    kind = dtypes.from_numpy(array.dtype)
    if not array.dtype.isnative:
        raise ArgumentError(
            f"the array's byte order is not that of this machine: {array.dtype.str}{list(array.shape)}",
            hint="convert with array.astype(array.dtype.newbyteorder('='))",
            operator=name,
        )
    if kind is None:
        raise ArgumentTypeError(f"NumPy type {array.dtype} has no torch type", hint=NUMPY_HINT, operator=name)
    return kind


def host_array(data: Any, wanted: dtype | None, name: str) -> Any:
    """A contiguous NumPy array with a copy of `data`, of the type `wanted` or, for None, of the data's own.

    Raises: ArgumentError, ArgumentTypeError, DtypeError or ValueRangeError, saying where in the data the fault is.
    """
    leaf = _first_leaf(data, name)
    is_numpy = isinstance(leaf, (np.ndarray, np.generic))
    if _has_tensors(data):
        wanted = wanted or _common_type(data)
        data = _without_tensors(data, name, ())
    if isinstance(data, np.ndarray):
        kind_of(data, name)
    try:
        array = np.array(data, order="C")
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    except ValueError as error:
        _check_even(data, name, ())
        fact = f"NumPy makes no array of the data: {error}"
        raise ArgumentError(fact, operator=name, hint="stack() joins tensors") from error
    if array.dtype.kind not in "biuf" or array.dtype == np.uint64 and not is_numpy:
        _refuse_leaf(data, name, ())
    if wanted is not None:
        if not is_numpy and wanted.category == dtypes.INTEGER and array.dtype.kind == "f":
            found = [converted(name, wanted, each) for each in np.array(data, dtype=object).reshape(-1)]
            return np.array(found, dtype=wanted.numpy).reshape(array.shape)
        if not is_numpy:
            _check_fits(array, wanted, name)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(rounded(array, wanted)).reshape(array.shape)
    return array.astype(np.float32) if array.dtype == np.float64 and not is_numpy else array


def _first_leaf(data: Any, name: str) -> Any:
    """The first entry that is no list.  Raises ArgumentError for more nested lists than there can be dimensions."""
    depth, leaf = 0, data
    while isinstance(leaf, (list, tuple)) and leaf:
        leaf = leaf[0]
        depth += 1
        if depth > MAX_DEPTH:
            raise ArgumentError(
                f"too many dimensions: more than {MAX_DEPTH} lists are nested in {shown(type(data))}",
                hint="a list that holds itself has no end",
                operator=name,
            )
    return leaf


def _has_tensors(data: Any) -> bool:
    """Whether nested lists, of no more than MAX_DEPTH, hold a tensor somewhere."""
    level = data if isinstance(data, (list, tuple)) else ()
    for _ in range(MAX_DEPTH):
        if any(isinstance(each, TensorBase) for each in level):
            return True
        level = [each for one in level if isinstance(one, (list, tuple)) for each in one]
        if not level:
            return False
    return False


def _without_tensors(data: Any, name: str, place: tuple[int, ...]) -> Any:
    """Nested lists with numbers in the place of tensors of one element."""
    if isinstance(data, TensorBase):
        if data.numel() != 1:
            raise ArgumentError(
                f"only one element tensors can be converted to Python scalars, data{_at(place)} is {data.describe()}",
                hint="stack() joins tensors",
                operator=name,
            )
        return data.item()  # type: ignore[attr-defined]  # every tensor is a Tensor
    if not isinstance(data, (list, tuple)) or len(place) > MAX_DEPTH:
        return data
    return [_without_tensors(each, name, (*place, at)) for at, each in enumerate(data)]


def _common_type(data: Any) -> dtype | None:
    """The type that numbers and tensors in nested lists promote to, None if there is something else."""
    if isinstance(data, TensorBase):
        return data.dtype
    if isinstance(data, (list, tuple)):
        found = [_common_type(each) for each in data]
        # ignored: None is excluded
        return None if None in found or not found else reduce(dtypes.promote, found)  # type: ignore[arg-type]
    if isinstance(data, np.generic):
        return dtypes.from_numpy(data.dtype)
    return dtypes.of_scalar(data, dtypes.float32) if isinstance(data, (bool, int, float)) else None


def _at(place: tuple[int, ...]) -> str:
    return "".join(f"[{each}]" for each in place)


def _length(value: Any) -> int | None:
    """How many entries a level of nested data has, None for a number."""
    if isinstance(value, TensorBase) or hasattr(value, "ndim"):
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
                f"data{at} is {shown(entry)} and data{_at((*place, 0))} is {shown(data[0])}: one of them is a "
                "sequence, the other is not",
                hint="nest all entries alike",
                operator=name,
            )
        if first != here:
            raise ArgumentError(
                f"the data's nested sequences differ in length: expected sequence of length {first} at dim "
                f"{len(place) + 1} (got {here}, data{at})",
                hint="fill up the shorter ones, or make a tensor of each",
                operator=name,
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
            raise ArgumentTypeError(f"NumPy type {data.dtype} has no torch type", hint=NUMPY_HINT, operator=name)
    elif isinstance(data, str):
        kind = ArgumentError if place else ArgumentTypeError
        fact = f"could not infer dtype of str, data{_at(place)} is {shown(data)}"
        raise kind(fact, hint="convert it first, as in float(text)")
    elif isinstance(data, complex):
        raise DtypeError(
            f"data{_at(place)} is complex: {data}", hint="give .real and .imag by themselves", operator=name
        )
    elif isinstance(data, int) and not -(2**63) <= data < 2**63:
        raise ArgumentError(f"data{_at(place)} does not fit in int64: {data}", hint="give it as a float", operator=name)
    elif not isinstance(data, (bool, int, float, TensorBase)):
        raise DtypeError(
            f"could not infer dtype of {type(data).__name__}, data{_at(place)} is {shown(data)}",
            hint="give numbers, nested lists of them, a NumPy array or a tensor",
            operator=name,
        )


def _check_fits(array: Any, wanted: dtype, name: str) -> None:
    """Raise ValueRangeError for integers that an integer type does not hold."""
    if wanted.category == dtypes.INTEGER and array.size:
        for each in (array.min(), array.max()):
            converted(name, wanted, each.item())

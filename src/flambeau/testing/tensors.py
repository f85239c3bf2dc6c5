"""Tensors in tests: assert_close compares them, make_tensor makes them of random values.

assert_close also compares numbers, and sequences and mappings of them, and reports the greatest difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, isnan
from typing import Any, NamedTuple

from .. import dtypes
from ..core.factories import sizes
from ..core.tensor import TensorBase
from ..dtypes import dtype
from ..errors import ArgumentError, walking
from ..host import np
from ..tensor import checks, factories
from ..tensor.factories import as_leaf
from ..tensor.random import rand, randint
from ..tensor.types import finfo, iinfo

TOLERANCES = {  # by type: relative and absolute
    dtypes.float16: (1e-3, 1e-5), dtypes.bfloat16: (1.6e-2, 1e-5), dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
}  # fmt: skip
NUMBERS = (bool, int, float)


class Rules(NamedTuple):
    """The options of assert_close."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    device: bool
    dtype: bool
    layout: bool
    stride: bool


class Difference(Exception):
    """A difference that was found.  place: the indices and keys that lead to it."""

    def __init__(self, text: str, place: tuple[Any, ...]) -> None:
        super().__init__(text)
        self.text = text
        self.place = place


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| for all elements.

    actual, expected: tensors or numbers, or sequences or mappings of them, which are compared entry by entry.
    rtol, atol: give both or neither; None uses the dtype's defaults: 1.3e-6 and 1e-5 for float32, 0 for integers.
    allow_subclasses: if False, actual and expected must have the same class.
    equal_nan: whether NaN is close to NaN.  check_device, check_dtype, check_layout, check_stride: whether these must
    be equal.  msg: the error's text, or a function that makes it from the usual text.
    Host:   waits if tensors are on a GPU.
    Raises: AssertionError with the greatest differences and their indices; ArgumentError for one tolerance alone;
            TypeError for objects that cannot be compared.
    Example:
        >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
        >>> try:
        ...     torch.testing.assert_close(torch.tensor([1, 5]), torch.tensor([1, 2]))
        ... except AssertionError as error:
        ...     print(error)
        Tensor-likes are not equal!
        <BLANKLINE>
        Mismatched elements: 1 / 2 (50.0%)
        Greatest absolute difference: 3 at index (1,)
        Greatest relative difference: 1.5 at index (1,)
    """
    if (rtol is None) != (atol is None):
        raise ArgumentError(
            f"rtol and atol must be both given or both left out, got rtol={rtol} and atol={atol}",
            hint="pass both: 0 is a valid tolerance",
            operator="assert_close",
        )
    rules = Rules(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        with walking("assert_close", actual):
            _compare(actual, expected, rules, ())
    except Difference as difference:
        path = "".join(f"[{key!r}]" for key in difference.place)
        text = difference.text + (f"\n\nThe failure occurred for item {path}" if path else "")
        shown = text if msg is None else msg(text) if callable(msg) else msg
    else:
        return
    raise AssertionError(shown)


def _compare(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> None:
    """Raise Difference for the first difference, TypeError for objects that are not compared."""
    if actual is None or expected is None:
        if actual is not expected:
            raise Difference(f"None mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, NUMBERS) and isinstance(expected, NUMBERS):
        _compare_numbers(actual, expected, rules, path)
    elif isinstance(actual, TensorBase) and isinstance(expected, TensorBase) and _are_related(actual, expected, rules):
        _compare_tensors(actual, expected, rules, path)
    elif isinstance(actual, (np.ndarray, np.generic)) and isinstance(expected, (np.ndarray, np.generic)):
        _compare_tensors(factories.as_tensor(actual), factories.as_tensor(expected), rules, path)
    elif _both(Mapping, actual, expected):
        missing = sorted(set(expected) - set(actual), key=str)
        added = sorted(set(actual) - set(expected), key=str)
        if missing or added:
            raise Difference(
                f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {added}",
                path,
            )
        for key in actual:
            _compare(actual[key], expected[key], rules, (*path, key))
    elif _both(Sequence, actual, expected) and not isinstance(actual, str) and not isinstance(expected, str):
        if len(actual) != len(expected):
            raise Difference(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for index, (one, other) in enumerate(zip(actual, expected)):
            _compare(one, other, rules, (*path, index))
    else:
        raise TypeError(f"assert_close: no comparison of {type(actual)} with {type(expected)}")


def _both(cls: type, actual: Any, expected: Any) -> bool:
    return isinstance(actual, cls) and isinstance(expected, cls)


def _are_related(actual: Any, expected: Any, rules: Rules) -> bool:
    if rules.allow_subclasses:
        return isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    return type(actual) is type(expected)


def _tolerances(rules: Rules, types: Sequence[dtype]) -> tuple[float, float]:
    """Return the relative and the absolute tolerance for values of these types: the wider ones."""
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    known = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in types]
    return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def _compare_numbers(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> None:
    if isinstance(actual, bool) and isinstance(expected, bool):
        if actual is not expected:
            raise Difference(f"Booleans mismatch: {actual} is not {expected}", path)
        return
    if rules.dtype and type(actual) is not type(expected):
        raise Difference(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    types = [dtypes.of_scalar(value, dtypes.float64) for value in (actual, expected)]
    rtol, atol = _tolerances(rules, types)
    if isinstance(actual, int) and isinstance(expected, int) and not rtol and not atol:
        is_close = actual == expected
    else:
        is_close = bool(np.isclose(actual, expected, rtol, atol, rules.equal_nan))
    if not is_close:
        apart = abs(actual - expected)
        relative = apart / abs(expected) if expected else float("inf")
        raise Difference(_of_scalars(actual, expected, apart, relative, rtol, atol), path)


def _of_scalars(actual: Any, expected: Any, apart: Any, relative: float, rtol: float, atol: float) -> str:
    return (
        f"Scalars are not {_closeness(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {apart}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _closeness(rtol: float, atol: float) -> str:
    return "close" if rtol or atol else "equal"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""


def _compare_tensors(actual: Any, expected: Any, rules: Rules, path: tuple[Any, ...]) -> None:
    checked: list[tuple[bool, str, Callable[[Any], Any]]] = [
        (True, "shape", lambda tensor: tensor.shape),
        (rules.layout, "layout", lambda tensor: tensor.layout),
        (rules.device, "device", lambda tensor: tensor.device),
        (rules.dtype, "dtype", lambda tensor: tensor.dtype),
        (rules.stride, "stride()", lambda tensor: tensor.stride()),
    ]
    for is_checked, name, read in checked:
        if is_checked and read(actual) != read(expected):
            fact = f"The values for attribute '{name}' do not match: {read(actual)} != {read(expected)}."
            raise Difference(fact, path)
    rtol, atol = _tolerances(rules, (actual.dtype, expected.dtype))
    ours, theirs = [_values(tensor) for tensor in (actual, expected)]
    with np.errstate(all="ignore"):
        if rtol or atol or ours.dtype.kind == "f" or theirs.dtype.kind == "f":
            close = np.isclose(ours, theirs, rtol, atol, rules.equal_nan)
        else:
            close = ours == theirs
    if close.all():
        return
    with np.errstate(all="ignore"):
        apart = np.abs(ours - theirs)
        relative = apart / np.abs(theirs)
    if not ours.shape:
        raise Difference(_of_scalars(ours.item(), theirs.item(), apart.item(), float(relative), rtol, atol), path)
    count = int((~close).sum())
    lines = [
        f"Tensor-likes are not {_closeness(rtol, atol)}!\n",
        f"Mismatched elements: {count} / {close.size} ({100 * count / close.size:.1f}%)",
        _greatest("absolute", apart, close) + _allowed(atol, rtol, atol),
        _greatest("relative", relative, close) + _allowed(rtol, rtol, atol),
    ]
    raise Difference("\n".join(lines), path)


def _values(tensor: Any) -> Any:
    """Return a tensor's values on the host: integers as int64, others as float64."""
    array = tensor.detach().cpu().numpy()
    return array.astype(np.float64 if tensor.dtype.is_floating_point else np.int64)


def _greatest(name: str, differences: Any, close: Any) -> str:
    """Describe the greatest difference of the elements that are not close, and its index; NaN is the greatest."""
    wrong = np.where(close, -1, differences)
    at = int(np.argmax(np.where(np.isnan(wrong), np.inf, wrong)))
    index = tuple([int(number) for number in np.unravel_index(at, differences.shape)])
    return f"Greatest {name} difference: {differences.reshape(-1)[at].item()} at index {index}"


def make_tensor(
    *shape: Any,
    dtype: dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Return a tensor of random values in [low, high), of any dtype, for tests.

    low, high: by default -9 and 9, 0 and 9 for uint8, and both values for bool; both are limited to the dtype's range.
    noncontiguous: whether to return a non-contiguous tensor, if it has several elements.
    exclude_zero: whether zeros are replaced by small values.
    Raises: ArgumentError if low exceeds high, or equals it for an integral or bool dtype; also for requires_grad with
            these dtypes, and for noncontiguous with a memory format.  ArgumentTypeError for a dtype or sizes of a wrong
            type; ValueRangeError for a negative size.
    Example:
        >>> x = torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=0, high=1)
        >>> x.shape, bool((x >= 0).all() and (x < 1).all())
        (torch.Size([2, 3]), True)
    """
    element_type = checks.as_dtype("make_tensor", dtype)
    assert element_type is not None
    if noncontiguous and memory_format is not None:
        raise ArgumentError(
            f"noncontiguous=True and memory_format={memory_format} exclude each other",
            hint="pass one of them",
            operator="make_tensor",
        )
    if requires_grad and not element_type.is_floating_point:
        raise ArgumentError(
            f"requires_grad=True is not supported for boolean and integral dtypes, but got {element_type}",
            hint="use torch.float32",
            operator="make_tensor",
        )
    first, last = _bounds(element_type, low, high)
    wanted = sizes(shape, "make_tensor")
    if element_type.is_floating_point:
        wide = dtypes.float64 if element_type is dtypes.float64 else dtypes.float32
        result = rand(wanted, dtype=wide, device=device)
        result = (result * (last - first) + first).clamp(first, last).to(element_type)
    else:
        result = randint(first, last, wanted, dtype=element_type, device=device)
    if exclude_zero:
        least = finfo(element_type).tiny if element_type.is_floating_point else 1
        result[result == 0] = least
    if noncontiguous and result.numel() > 1:
        result = result.repeat_interleave(2, -1)[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result if requires_grad is False else as_leaf("make_tensor", result, requires_grad)


def _bounds(element_type: dtype, low: float | None, high: float | None) -> tuple[Any, Any]:
    """Return the bounds that a type holds; of integers, both are ints, and the upper one is excluded."""
    usual: tuple[Any, Any]
    least: Any
    most: Any
    if element_type is dtypes.bool_:
        usual, least, most = (0, 2), 0, 2
    elif element_type.is_floating_point:
        usual, least, most = (-9, 9), finfo(element_type).min, finfo(element_type).max
    else:
        limits = iinfo(element_type)
        usual, least, most = (-9 if element_type.is_signed else 0, 10), limits.min, limits.max + 1
    first, last = usual[0] if low is None else low, usual[1] if high is None else high
    if isnan(first) or isnan(last):
        raise ArgumentError(
            f"low and high cannot be NaN, but got low={low} and high={high}",
            hint="pass numbers",
            operator="make_tensor",
        )
    if first > last or first == last and not element_type.is_floating_point:
        raise ArgumentError(
            f"low must be less than high, but got {first} >= {last}", hint="exchange them", operator="make_tensor"
        )
    first, last = min(max(first, least), most), min(max(last, least), most)
    if element_type.is_floating_point:
        return first, last
    return ceil(first), min(max(ceil(last), floor(first) + 1), 2**63 - 1)

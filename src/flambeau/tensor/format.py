"""Text form of tensors, as PyTorch prints them.

- All numbers of a tensor have one width.  For floating point it depends only on finite nonzero values.
- Whole floating point numbers print as `1.`.  Scientific notation is used for wide ranges: a ratio of greatest to least
  above 1000, values above 1e8 or below 1e-4.
- Above `threshold` elements, only `edgeitems` at each end of each dimension are shown, and only these are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import dtypes, transfer
from ..autograd.mode import GradMode
from ..core.tensor import alias_of
from ..errors import ArgumentError, AutogradError
from ..ops.operator import REGISTRY
from . import checks
from .meta import is_meta

WIDE_RANGE = 1000.0
GREAT, SMALL = 1e8, 1e-4


class PrintOptions:
    """Settings for printing tensors.

    precision: digits after the point.  threshold: number of elements above which tensors are summarised.
    linewidth: columns.  sci_mode: True or False to set scientific notation, None to choose it by the values.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set the defaults."""
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


options = PrintOptions()
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print.

    precision: digits after the point.  linewidth: columns.  sci_mode: whether to use scientific notation; None chooses
    by the values.  threshold: number of elements above which only `edgeitems` at each end of a dimension are printed.
    profile: "default", "short" or "full", a set of the other options.
    Raises: ArgumentError for an unknown profile, ArgumentTypeError for options that are not numbers, ValueRangeError
            for a negative precision or edgeitems.  The options are unchanged then.
    Example:
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([3.14159])
        tensor([3.14])
        >>> torch.set_printoptions(profile="default")
    """
    if profile is not None and profile not in _PROFILES:
        raise ArgumentError(
            f"unknown profile {profile!r}", hint=f"use one of {', '.join(_PROFILES)}", operator="set_printoptions"
        )
    for name, value in (("precision", precision), ("edgeitems", edgeitems)):
        if value is not None:
            checks.count("set_printoptions", name, value)
    for name, number in (("threshold", threshold), ("linewidth", linewidth)):
        if number is not None:
            checks.number("set_printoptions", name, number)
    passed = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changed = {name: value for name, value in passed.items() if value is not None}
    for name, value in ((_PROFILES[profile] if profile else {}) | changed).items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the options of `torch.set_printoptions` by name."""
    return dict(vars(options))


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Return a context in which tensors print with other options (see `torch.set_printoptions`)."""
    former = get_printoptions()
    try:
        set_printoptions(**kwargs)
        yield
    finally:
        vars(options).update(former)


def to_text(tensor: Any, *, tensor_contents: str | None = None) -> str:
    """Return a tensor's values and properties as text.  Host: waits if it is on a GPU.

    tensor_contents: the text of the values, if it is known.
    """
    prefix = f"{tensor.shown_as}("
    body = values_to_text(tensor, len(prefix)) if tensor_contents is None else tensor_contents
    return _with_facts(prefix, body, _facts(tensor))


def values_to_text(tensor: Any, indent: int) -> str:
    """Return a tensor's values as text, of which all lines but the first are indented.  Host: waits on a GPU."""
    if is_meta(tensor):
        return "..."
    if tensor.numel() == 0:
        return "[]"
    values, cut = _values(tensor)
    return _nested(values.tolist(), list(tensor.shape), indent, cut, _Column(values))


def _values(tensor: Any) -> tuple[Any, bool]:
    """Return the values to print as a NumPy array, and whether some were left out."""
    cut = tensor.numel() > options.threshold
    shown = alias_of(tensor, tensor.shape, tensor.strides, tensor._offset)
    if cut:
        shown = _edges(shown)
    array = transfer.read(shown)
    return (array.astype(tensor.dtype.wide.numpy) if tensor.dtype.compute == "float" else array), cut


def _edges(tensor: Any) -> Any:
    """Return the tensor without the middle of its long dimensions."""
    edge = options.edgeitems
    with GradMode(False):
        for dim in range(tensor.ndim):
            size = tensor.shape[dim]
            if size > 2 * edge:
                ends = [tensor.narrow(dim, 0, edge), tensor.narrow(dim, size - edge, edge)]
                tensor = REGISTRY["cat"](ends, dim)
    return tensor


# numbers


class _Column:
    """Formats numbers with one width.  NaN and infinities do not widen it."""

    def __init__(self, values: Any) -> None:
        if values.dtype.kind == "f":
            self.style: Callable[[Any], str] = _float_style(values)
            self.width = max((len(self.style(value)) for value in _decisive(values).tolist()), default=1)
        else:
            self.style = str
            self.width = max((len(str(value)) for value in values.reshape(-1).tolist()), default=1)

    def text(self, value: Any) -> str:
        return self.style(value).rjust(self.width)


def _decisive(values: Any) -> Any:
    flat = values.reshape(-1).astype("float64")
    return flat[(flat != 0) & (abs(flat) < math.inf)]


def _float_style(values: Any) -> Callable[[float], str]:
    """Return the function that formats one float, without padding."""
    decisive = _decisive(values)
    whole = bool((decisive == decisive.round()).all())
    scientific = options.sci_mode if len(decisive) else False
    if scientific is None:
        scientific = _is_wide(abs(decisive), whole)
    digits = options.precision
    if scientific:
        return lambda value: f"{value:.{digits}e}"
    if whole:
        return lambda value: f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
    return lambda value: f"{value:.{digits}f}"


def _is_wide(sizes: Any, whole: bool) -> bool:
    least, greatest = float(sizes.min()), float(sizes.max())
    return bool(greatest / least > WIDE_RANGE or greatest > GREAT or (not whole and least < SMALL))


# brackets


def _nested(values: Any, shape: Sequence[int], indent: int, cut: bool, column: _Column) -> str:
    """Format nested lists of numbers in brackets; each line is indented by `indent` columns."""
    if not shape:
        return column.text(values)
    edge = options.edgeitems
    shortened = cut and shape[0] > 2 * edge
    if len(shape) == 1:
        return _row([column.text(value) for value in values], shortened, indent, column.width + 2)
    parts = [_nested(value, shape[1:], indent + 1, cut, column) for value in values]
    if shortened:
        parts = [*parts[:edge], "...", *parts[edge:]]
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(words: list[str], shortened: bool, indent: int, width: int) -> str:
    per_line = max(1, (options.linewidth - indent) // width)
    if shortened:
        words = [*words[: options.edgeitems], " ..." if words else "...", *words[options.edgeitems :]]
    lines = [", ".join(words[start : start + per_line]) for start in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


# properties


def _facts(tensor: Any) -> list[str]:
    """Return the properties to print after the values."""
    facts = [f"device='{tensor.device}'"] if tensor.is_cuda or is_meta(tensor) else []
    usual = {dtypes.default.floating, dtypes.int64, dtypes.bool_}
    if tensor.numel() == 0 or is_meta(tensor):
        usual = {dtypes.default.floating}
        facts += [f"size={tuple(tensor.shape)}"] if tensor.ndim != 1 or is_meta(tensor) else []
    elif options.edgeitems == 0:
        facts.append(f"size={tuple(tensor.shape)}")
    if tensor.dtype not in usual:
        facts.append(f"dtype={tensor.dtype}")
    try:
        node = tensor.grad_fn
        made_by = None if node is None else type(node).__name__
    except AutogradError:  # a view that became invalid by a write in place to its base
        made_by = "Invalid"
    if made_by is not None:
        facts.append(f"grad_fn=<{made_by}>")
    elif tensor.requires_grad:
        facts.append("requires_grad=True")
    return facts


def _with_facts(prefix: str, body: str, facts: Sequence[str]) -> str:
    return add_suffixes(prefix + body, facts, len(prefix), False)


def add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    """Return a text with properties after it and a closing parenthesis.  force_newline: start a line for the first."""
    text = tensor_str
    column = len(text) - text.rfind("\n") + 1
    for fact in suffixes:
        if force_newline or column + len(fact) + 2 > options.linewidth:
            text += ",\n" + " " * indent + fact
            column = indent + len(fact)
            force_newline = False
        else:
            text += ", " + fact
            column += len(fact) + 2
    return text + ")"

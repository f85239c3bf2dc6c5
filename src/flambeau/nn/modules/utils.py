"""Tuples of a number per dimension, and prefixes of a state_dict's keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import ArgumentError, ArgumentTypeError, shown
from ...importer import listing


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Make a function that repeats a number n times and makes a tuple of anything else that can be iterated."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """Return the elements in reverse order, each n times: padding of dimensions as `nn.functional.pad` takes it."""
    return tuple(entry for entry in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """Return sizes with None replaced by the corresponding default; a single size is returned unchanged."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ArgumentError(
            f"Input dimension should be at least {len(out_size) + 1}, got {len(defaults)}",
            hint="pass fewer sizes in out_size",
            operator="_list_with_default",
        )
    last = defaults[len(defaults) - len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, last)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix from the keys of a state_dict that start with it, in place, and from those of its metadata.

    Raises: ArgumentTypeError for a state_dict that is not a dict or a prefix that is not a string.
    Example:
        >>> state = {"module.weight": 1, "step": 2}
        >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        >>> state
        {'step': 2, 'weight': 1}
    """
    name = "consume_prefix_in_state_dict_if_present"
    for what, value, expected in (("state_dict", state_dict, dict), ("prefix", prefix, str)):
        if not isinstance(value, expected):
            raise ArgumentTypeError(
                f"{what} must be a {expected.__name__}, got {shown(value)}",
                hint="as in the state_dict of a DataParallel, and 'module.'",
                operator=name,
            )
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key and (key.startswith(prefix) or key == prefix.replace(".", "")):
                metadata[key[len(prefix) :]] = metadata.pop(key)


__all__ = ["consume_prefix_in_state_dict_if_present"]
__dir__ = listing(globals())

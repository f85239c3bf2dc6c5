"""Allowlist of `load`: the program's own list of classes and functions that files may name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.locks import whole
from ..errors import ArgumentError, ArgumentTypeError, shown

HINT = "give classes and functions, or pairs of one and the name that files have for it: (Net, 'models.Net')"

_listed: list[Any] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let `load` call these classes and functions when a file names them.

    An entry is the class itself, or a pair of it and its full name in the file.
    Raises: ArgumentTypeError, ArgumentError if an entry cannot be called or has no name; nothing is added then.
    Example:
        >>> from fractions import Fraction
        >>> torch.serialization.add_safe_globals([Fraction])
        >>> torch.serialization.get_safe_globals()
        [<class 'fractions.Fraction'>]
        >>> torch.serialization.clear_safe_globals()
    """
    entries = _checked("add_safe_globals", safe_globals)
    global _listed
    _listed = [*_listed, *[entry for entry in entries if entry not in _listed]]  # at once: nothing can raise after it


def get_safe_globals() -> list[Any]:
    """Return the entries that `add_safe_globals` and `safe_globals` added, in order.

    Example:
        >>> torch.serialization.get_safe_globals()
        []
    """
    return list(_listed)


def clear_safe_globals() -> None:
    """Remove every entry that `add_safe_globals` added.

    Example:
        >>> from fractions import Fraction
        >>> torch.serialization.add_safe_globals([Fraction])
        >>> torch.serialization.clear_safe_globals()
        >>> torch.serialization.get_safe_globals()
        []
    """
    global _listed
    _listed = []


class safe_globals:  # noqa: N801  (PyTorch's name for it)
    """A context in which `load` may call these classes and functions too.

    safe_globals: entries as for `add_safe_globals`, which also raises the same errors.
    Example:
        >>> import io
        >>> from fractions import Fraction
        >>> file = io.BytesIO()
        >>> torch.save(Fraction(1, 3), file)
        >>> _ = file.seek(0)
        >>> with torch.serialization.safe_globals([Fraction]):
        ...     print(torch.load(file))
        1/3
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self._entries = _checked("safe_globals", safe_globals)
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._entries)

    @whole
    def __exit__(self, *error: object) -> None:
        global _listed
        _listed = self._before


def listed() -> dict[str, Any]:
    """The listed classes and functions by their full names in files."""
    return {full_name(entry): entry[0] if isinstance(entry, tuple) else entry for entry in _listed}


def full_name(entry: Any) -> str:
    """Module and name of an entry."""
    return entry[1] if isinstance(entry, tuple) else f"{entry.__module__}.{entry.__qualname__}"


def _checked(name: str, entries: Any) -> list[Any]:
    if isinstance(entries, (str, type)) or not isinstance(entries, Iterable):
        raise ArgumentTypeError(f"expected a list, got {shown(entries)}", hint=HINT, operator=name)
    checked = list(entries)
    for index, entry in enumerate(checked):
        is_pair = isinstance(entry, tuple)
        if is_pair and (len(entry) != 2 or not isinstance(entry[1], str)):
            raise ArgumentError(f"entry {index} is {shown(entry)}, not a pair with a name", hint=HINT, operator=name)
        value = entry[0] if is_pair else entry
        if not callable(value):
            raise ArgumentTypeError(f"entry {index} cannot be called: {shown(value)}", hint=HINT, operator=name)
        if not is_pair and not all(hasattr(value, part) for part in ("__module__", "__qualname__")):
            raise ArgumentError(f"entry {index} has no name of its own: {shown(value)}", hint=HINT, operator=name)
    return checked

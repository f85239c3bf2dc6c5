"""An exception of another thread or process, raised again where its result is waited for."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from ..errors import AcceleratorError


class WorkerException:
    """An exception as its type and its text with the traceback.

    It refers to no frame, and so keeps no tensor of its thread alive.  Pickled, it keeps its type if that can be
    imported by name, else the nearest base class that can.
    where: as in "in replica 1 on device cuda:1".
    """

    def __init__(self, error: BaseException, where: str) -> None:
        self.type = type(error)
        self.text = f"Caught {self.type.__name__} {where}.\nOriginal {''.join(traceback.format_exception(error))}"
        self.facts = (error.error_code, error.sticky) if isinstance(error, AcceleratorError) else None

    def __reduce__(self) -> tuple[Any, ...]:
        known = next(each for each in self.type.__mro__ if _is_importable(each))
        return _restored, (known, self.text, self.facts)

    def again(self) -> BaseException:
        """An exception of the same type with the whole text; RuntimeError where the type takes no text alone."""
        text = _KeyText(self.text) if issubclass(self.type, KeyError) else self.text
        try:
            made = self.type(text)
        except Exception:  # noqa: BLE001  (a user's class may raise anything)
            return RuntimeError(self.text)
        if self.facts is not None and isinstance(made, AcceleratorError):
            made.error_code, made.sticky = self.facts
        return made


class _KeyText(str):
    """The text of a KeyError, which shows its argument's repr: this one's is the text itself."""

    __slots__ = ()
    __repr__ = str.__str__


def _is_importable(cls: type) -> bool:
    return getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is cls


def _restored(cls: type[BaseException], text: str, facts: Any) -> WorkerException:
    made = object.__new__(WorkerException)
    made.type, made.text, made.facts = cls, text, facts
    return made

"""An exception carried from the thread where it happened to the one that waits for it."""

from __future__ import annotations

import traceback

from ..errors import AcceleratorError


class CarriedError:
    """An exception as its type and text: it keeps no frame, and so no tensor, of its thread alive.

    where: as in "replica 1 on device cuda:1".
    """

    def __init__(self, error: BaseException, where: str) -> None:
        self.type = type(error)
        self.text = f"Caught {self.type.__name__} {where}.\nOriginal {''.join(traceback.format_exception(error))}"
        self.facts = (error.error_code, error.sticky) if isinstance(error, AcceleratorError) else None

    def again(self) -> BaseException:
        """An exception of the same type that tells both; RuntimeError where the type takes no text alone."""
        try:
            made = self.type(self.text)
        except Exception:  # noqa: BLE001  (a user's class may raise anything)
            return RuntimeError(self.text)
        if self.facts is not None and isinstance(made, AcceleratorError):
            made.error_code, made.sticky = self.facts
        return made

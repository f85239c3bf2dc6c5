"""The calls of the Driver Protocol that virtual GPUs do not have yet."""

from __future__ import annotations

from typing import NoReturn

from ...errors import NotSupportedError
from ..api import Address


class Denied:
    """Sharing memory with other processes.  Each call raises NotSupportedError."""

    def ipc_export(self, device: int, address: Address) -> NoReturn:
        raise _denial("ipc_export")

    def ipc_open(self, device: int, handle: bytes) -> NoReturn:
        raise _denial("ipc_open")


def _denial(call: str) -> NotSupportedError:
    return NotSupportedError(f"{call}: the virtual driver does not have this ability")

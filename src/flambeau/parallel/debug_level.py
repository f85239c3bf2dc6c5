"""The debug level of torch.distributed.  It has no effect: calls of different ranks are always compared."""

from __future__ import annotations

import os
from enum import IntEnum

from ..errors import ArgumentError, shown

VARIABLE = "TORCH_DISTRIBUTED_DEBUG"


class DebugLevel(IntEnum):
    """Debug levels, the values of the environment variable TORCH_DISTRIBUTED_DEBUG.  They have no effect.

    Example:
        >>> torch.distributed.DebugLevel.INFO.name
        'INFO'
    """

    OFF, INFO, DETAIL = range(3)


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """Return the debug level, a DebugLevel.  The level has no effect.

    Before `set_debug_level`, it is that of the environment variable TORCH_DISTRIBUTED_DEBUG, or OFF.
    Raises: ArgumentError (ValueError) if TORCH_DISTRIBUTED_DEBUG has an unknown level.
    Example:
        >>> torch.distributed.get_debug_level().name
        'OFF'
    """
    if _level is None:
        set_debug_level_from_env()
    assert _level is not None
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Set the debug level that `get_debug_level` returns.  The level has no effect.

    level: a DebugLevel, or its number.
    Raises: ArgumentError (ValueError) for another value.
    Example:
        >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.INFO)
        >>> torch.distributed.get_debug_level().name
        'INFO'
        >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.OFF)
    """
    global _level
    try:
        _level = DebugLevel(level)
    except ValueError:
        raise ArgumentError(
            f"the level must be a DebugLevel, got {shown(level)}",
            hint="pass DebugLevel.OFF, INFO or DETAIL",
            operator="set_debug_level",
        ) from None


def set_debug_level_from_env() -> None:
    """Set the debug level to that of the environment variable TORCH_DISTRIBUTED_DEBUG, or to OFF without it.

    Raises: ArgumentError (ValueError) for an unknown level.
    Example:
        >>> torch.distributed.set_debug_level_from_env()
        >>> torch.distributed.get_debug_level().name
        'OFF'
    """
    text = os.environ.get(VARIABLE, "OFF").upper()
    if text not in DebugLevel.__members__:
        raise ArgumentError(
            f"{VARIABLE} must be OFF, INFO or DETAIL, got {os.environ[VARIABLE]!r}",
            hint="set OFF, INFO or DETAIL",
            operator="set_debug_level_from_env",
        )
    set_debug_level(DebugLevel[text])

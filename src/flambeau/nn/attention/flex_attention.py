"""torch.nn.attention.flex_attention: importable; attention by a program's own functions is not there."""

from __future__ import annotations

from typing import Any

from ...errors import NotSupportedError
from ...errors import no_attribute as _no_attribute

_DEFAULT_SPARSE_BLOCK_SIZE = 128
HINT = "torch.nn.functional.scaled_dot_product_attention takes a mask, or values that are added to the scores"


class BlockMask:
    """A mask of blocks, for imports and `isinstance`: none is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotSupportedError("masks of blocks do not exist", hint=HINT, operator="BlockMask")


class AuxRequest(BlockMask):
    """A request for further results of an attention, for imports and `isinstance`: none is made."""


def create_block_mask(*args: Any, **kwargs: Any) -> Any:
    """Raise NotSupportedError: masks of blocks do not exist."""
    raise NotSupportedError("masks of blocks do not exist", hint=HINT, operator="create_block_mask")


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """Raise NotSupportedError: scores are not changed by functions."""
    raise NotSupportedError("scores are not changed by functions", hint=HINT, operator="flex_attention")


__all__ = ["AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

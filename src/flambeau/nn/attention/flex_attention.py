"""torch.nn.attention.flex_attention: importable, but attention with a program's own functions is not supported."""

from __future__ import annotations

from typing import Any

from ...errors import NotSupportedError
from ...errors import no_attribute as _no_attribute
from ...importer import listing

_DEFAULT_SPARSE_BLOCK_SIZE = 128
HINT = "torch.nn.functional.scaled_dot_product_attention takes a mask, or values that are added to the scores"


class BlockMask:
    """Placeholder for PyTorch's class, for imports and `isinstance`; it has no instances.

    Raises: NotSupportedError by the constructor.
    Example:
        >>> from flambeau.nn.attention.flex_attention import BlockMask
        >>> isinstance(None, BlockMask)
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotSupportedError("block masks are not supported", hint=HINT, operator="BlockMask")


class AuxRequest(BlockMask):
    """Placeholder for PyTorch's class, for imports and `isinstance`; it has no instances.

    Raises: NotSupportedError by the constructor.
    Example:
        >>> from flambeau.nn.attention.flex_attention import AuxRequest
        >>> isinstance(None, AuxRequest)
        False
    """


def create_block_mask(*args: Any, **kwargs: Any) -> Any:
    """Raise NotSupportedError: block masks are not supported.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8)
        Traceback (most recent call last):
        flambeau.errors.NotSupportedError: create_block_mask: block masks are not supported
        hint: torch.nn.functional.scaled_dot_product_attention takes a mask, or values that are added to the scores
    """
    raise NotSupportedError("block masks are not supported", hint=HINT, operator="create_block_mask")


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """Raise NotSupportedError: a user's function cannot change the scores of attention.

    Example:
        >>> from flambeau.nn.attention.flex_attention import flex_attention
        >>> flex_attention(torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4))
        Traceback (most recent call last):
        flambeau.errors.NotSupportedError: flex_attention: score_mod functions are not supported
        hint: torch.nn.functional.scaled_dot_product_attention takes a mask, or values that are added to the scores
    """
    raise NotSupportedError("score_mod functions are not supported", hint=HINT, operator="flex_attention")


__all__ = ["AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]
__dir__ = listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

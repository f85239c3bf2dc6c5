"""torch.nn.utils.stateless: the former place of `torch.func.functional_call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import callers
from ..functional_call import functional_call as _call
from ..module import Module


def functional_call(
    module: Module, parameters_and_buffers: Mapping[str, Any], args: Any = None,
    kwargs: Mapping[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """As torch.func.functional_call, which replaces it.  Warns."""
    callers.warn("stateless.functional_call: deprecated, use torch.func.functional_call", FutureWarning)
    return _call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


__all__ = ["functional_call"]

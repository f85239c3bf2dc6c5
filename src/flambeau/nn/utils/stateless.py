"""torch.nn.utils.stateless: the former location of `torch.func.functional_call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import callers
from ...importer import listing
from ..functional_call import functional_call as _call
from ..module import Module


def functional_call(
    module: Module, parameters_and_buffers: Mapping[str, Any], args: Any = None,
    kwargs: Mapping[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with substituted parameters and buffers: the former name of torch.func.functional_call.

    The arguments are those of torch.func.functional_call.
    Warns: FutureWarning.
    Shapes: those of the module.
    Raises: as `torch.func.functional_call`: ArgumentTypeError, ArgumentError, StateDictError.
    Example:
        >>> import warnings
        >>> layer = torch.nn.Linear(2, 1)
        >>> values = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.utils.stateless.functional_call(layer, values, torch.tensor([3.0, 4.0]))
        tensor([7.])
    """
    callers.warn("stateless.functional_call: deprecated, use torch.func.functional_call", FutureWarning)
    return _call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


__all__ = ["functional_call"]
__dir__ = listing(globals())

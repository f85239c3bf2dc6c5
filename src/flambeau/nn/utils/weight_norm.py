"""torch.nn.utils.weight_norm: the former weight normalization, by a hook before forward."""

from __future__ import annotations

from typing import Any

from ... import callers
from ...errors import ArgumentError, ModeError
from ...importer import listing
from ...ops.operator import REGISTRY
from ..module import Module, check_module
from ..parameter import Parameter


class WeightNorm:
    """Forward pre-hook that computes a weight from its norms and directions; `weight_norm` applies it.

    For a weight `name`, the module holds the norms as the parameter `name_g` and the directions as `name_v`.
    name, dim: as in `weight_norm`.
    Shapes: `name_v` has the weight's shape; `name_g` has it with size 1 in all dimensions but `dim`.
    Example:
        >>> from flambeau.nn.utils.weight_norm import WeightNorm
        >>> layer = torch.nn.Linear(2, 3)
        >>> hook = WeightNorm.apply(layer, "weight", dim=0)
        >>> list(layer.state_dict())
        ['bias', 'weight_g', 'weight_v']
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """Return the weight: `name_v`, scaled to the norms `name_g`.

        Shapes: the result has the weight's shape.
        Raises: AttributeError if the hook was not applied to the module, IndexRangeError for a dimension out of range.
        Example:
            >>> from flambeau.nn.utils.weight_norm import WeightNorm
            >>> layer = torch.nn.Linear(2, 1)
            >>> hook = WeightNorm.apply(layer, "weight", dim=0)
            >>> layer.weight_g.data, layer.weight_v.data = torch.tensor([[10.0]]), torch.tensor([[3.0, 4.0]])
            >>> hook.compute_weight(layer).detach()
            tensor([[6., 8.]])
        """
        norms, directions = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return directions * (norms / REGISTRY["norm_except_dim"](directions, 2, self.dim))

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Add this hook to a module, in place of the parameter `name`; return the hook.

        The hook computes the weight before each forward.  The arguments are those of `weight_norm`.
        Raises: ModeError if the parameter has such a hook, ArgumentError if there is no such parameter.
        Example:
            >>> from flambeau.nn.utils.weight_norm import WeightNorm
            >>> layer = torch.nn.Linear(2, 3)
            >>> hook = WeightNorm.apply(layer, "weight", dim=0)
            >>> layer.weight_g.shape, layer.weight_v.shape
            (torch.Size([3, 1]), torch.Size([3, 2]))
        """
        check_once(WeightNorm, "weight_norm", module, name)
        hook = WeightNorm(name, dim)
        weight = module._parameters[name]
        del module._parameters[name]
        value = weight.detach()
        module.register_parameter(name + "_g", Parameter(REGISTRY["norm_except_dim"](value, 2, hook.dim)))
        module.register_parameter(name + "_v", Parameter(value))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again, with its present value; `remove_weight_norm` removes the hook too.

        Raises: AttributeError if the hook was not applied to the module.
        Example:
            >>> from flambeau.nn.utils.weight_norm import WeightNorm
            >>> layer = torch.nn.Linear(2, 3)
            >>> WeightNorm.apply(layer, "weight", dim=0).remove(layer)
            >>> list(layer.state_dict())
            ['bias', 'weight']
        """
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def check_once(kind: type, called: str, module: Any, name: str) -> None:
    """Raise ModeError if a module has a hook of a class for this parameter, ArgumentError if there is no parameter."""
    check_module(called, "module", module)
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, kind) and getattr(hook, "name", None) == name:
            raise ModeError(
                f"cannot register two {called} hooks on the same parameter {name!r} of {type(module).__name__}",
                hint=f"call remove_{called} first",
                operator=called,
            )
    if name not in module._parameters:
        raise ArgumentError(
            f"{type(module).__name__} has no parameter {name!r}",
            hint=f"use one of {', '.join(module._parameters) or 'none'}",
            operator=called,
        )


def remove_hook(kind: type, called: str, module: Any, name: str) -> None:
    """Remove a hook of a class before forward, and undo it.  Raises ArgumentError if there is none."""
    check_module(f"remove_{called}", "module", module)
    for handle, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and getattr(hook, "name", None) == name:
            undo: Any = hook
            undo.remove(module)
            del module._forward_pre_hooks[handle]
            return
    raise ArgumentError(
        f"{called} of {name!r} not found in {type(module).__name__}",
        hint=f"apply torch.nn.utils.{called} to the module first",
        operator=f"remove_{called}",
    )


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight `name` from its norms `name_g` and directions `name_v` before each forward; return the module.

    Warns: FutureWarning; `torch.nn.utils.parametrizations.weight_norm` replaces it.
    dim: the dimension whose entries have one norm each; None for one norm of the whole weight.
    Raises: ModeError if the parameter has such a hook, ArgumentError for a missing parameter, ArgumentTypeError if
            module is not an nn.Module, IndexRangeError for a dimension out of range.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (torch.Size([3, 1]), torch.Size([3, 2]))
    """
    callers.warn("weight_norm: deprecated in favor of torch.nn.utils.parametrizations.weight_norm", FutureWarning)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Remove `weight_norm` from the weight `name` and make it a parameter again; return the module.

    Raises: ArgumentError if the parameter has no such hook, ArgumentTypeError if module is not an nn.Module.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
        >>> list(torch.nn.utils.remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    remove_hook(WeightNorm, "weight_norm", module, name)
    return module


__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]
__dir__ = listing(globals())

"""torch.nn.utils.spectral_norm: the former spectral normalization, by a hook before forward."""

from __future__ import annotations

from typing import Any

from ...autograd.mode import GradMode
from ...importer import listing
from .. import functional as F
from ..module import Module
from ..parameter import Parameter
from .parametrizations import TRANSPOSED, as_matrix, check_iterations
from .weight_norm import check_once, remove_hook


class SpectralNorm:
    """Forward pre-hook that divides a weight by an estimate of its largest singular value; `spectral_norm` applies it.

    For a weight `name`, the module holds the parameter `name_orig` and the estimated singular vectors `name_u` and
    `name_v`.
    name, n_power_iterations, dim, eps: as in `spectral_norm`.
    Raises: ArgumentError for an n_power_iterations that is not positive, ArgumentTypeError for one that is not an int.
    Example:
        >>> from flambeau.nn.utils.spectral_norm import SpectralNorm
        >>> layer = torch.nn.Linear(2, 3)
        >>> hook = SpectralNorm.apply(layer, "weight", n_power_iterations=1, dim=0, eps=1e-12)
        >>> list(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """Return the weight as a matrix with a row for each index of dimension `dim`.

        Raises: ShapeError for a dimension out of range.
        Example:
            >>> from flambeau.nn.utils.spectral_norm import SpectralNorm
            >>> SpectralNorm(dim=1).reshape_weight_to_matrix(torch.ones(2, 3, 5)).shape
            torch.Size([3, 10])
        """
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """Return the weight divided by the estimate of its largest singular value.

        do_power_iteration: first improve the estimate by power iterations, which write `name_u` and `name_v`.
        Shapes: the result has the weight's shape.
        Raises: AttributeError if the hook was not applied to the module.
        Example:
            >>> from flambeau.nn.utils.spectral_norm import SpectralNorm
            >>> layer = torch.nn.Linear(1, 1)
            >>> layer.weight.data = torch.tensor([[4.0]])
            >>> hook = SpectralNorm.apply(layer, "weight", n_power_iterations=1, dim=0, eps=1e-12)
            >>> hook.compute_weight(layer, do_power_iteration=True).detach()
            tensor([[1.]])
        """
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with GradMode(False):
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next call changes the buffers
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Add this hook to a module, in place of the parameter `name`; return the hook.

        The hook computes the weight before each forward.  The arguments are those of `spectral_norm`.
        Raises: ModeError if the parameter has such a hook, ArgumentError if there is no such parameter.
        Example:
            >>> from flambeau.nn.utils.spectral_norm import SpectralNorm
            >>> layer = torch.nn.Linear(1, 1, bias=False)
            >>> layer.weight.data = torch.tensor([[4.0]])
            >>> hook = SpectralNorm.apply(layer, "weight", n_power_iterations=1, dim=0, eps=1e-12)
            >>> layer(torch.ones(1)).detach()
            tensor([1.])
        """
        check_once(SpectralNorm, "spectral_norm", module, name)
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        with GradMode(False):
            sizes = hook.reshape_weight_to_matrix(weight.detach()).shape
            u, v = (F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in sizes)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.detach())
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again, with its normalized value; `remove_spectral_norm` removes the hook too.

        Raises: AttributeError if the hook was not applied to the module.
        Example:
            >>> from flambeau.nn.utils.spectral_norm import SpectralNorm
            >>> layer = torch.nn.Linear(2, 3)
            >>> SpectralNorm.apply(layer, "weight", n_power_iterations=1, dim=0, eps=1e-12).remove(layer)
            >>> list(layer.state_dict())
            ['bias', 'weight']
        """
        with GradMode(False):
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each forward; return the module.

    `torch.nn.utils.parametrizations.spectral_norm` is the newer form, with the same arguments.
    Raises: ModeError if the parameter has such a hook, ArgumentError for a missing parameter or an n_power_iterations
            that is not positive, ArgumentTypeError if module is not an nn.Module, ShapeError for a dimension out of
            range.
    Example:
        >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
        >>> list(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    chosen = int(isinstance(module, TRANSPOSED)) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, chosen, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Remove `spectral_norm` from the weight `name` and make it a parameter again; return the module.

    Raises: ArgumentError if the parameter has no such hook, ArgumentTypeError if module is not an nn.Module.
    Example:
        >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
        >>> list(torch.nn.utils.remove_spectral_norm(layer).state_dict())
        ['bias', 'weight']
    """
    remove_hook(SpectralNorm, "spectral_norm", module, name)
    return module


__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]
__dir__ = listing(globals())

"""torch.nn.utils.parametrizations: weights that are orthogonal, or have a given norm or largest singular value.

See `parametrize` for how they are registered and removed.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ...autograd.mode import GradMode
from ...core.tensor import TensorBase
from ...errors import ArgumentError, IndexRangeError, NotSupportedError, naming, shown
from ...importer import listing
from ...ops.operator import REGISTRY
from ...tensor import checks, factories
from ...tensor.types import finfo
from .. import functional as F
from ..convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module, check_module
from . import parametrize

TRANSPOSED = ConvTranspose1d, ConvTranspose2d, ConvTranspose3d  # layers whose outputs are dimension 1 of the weight
FIRST_ITERATIONS = 15  # iterations of the power method when a weight is first parametrized


def _weight(called: str, module: Module, name: str) -> Any:
    """Return a parameter or buffer.  Raises ArgumentError if there is none."""
    check_module(called, "module", module)
    weight = getattr(module, name, None)
    if not isinstance(weight, TensorBase):
        raise ArgumentError(
            f"{type(module).__name__} has no parameter or buffer with name {name!r}",
            hint=f"use one of {', '.join([*module._parameters, *module._buffers]) or 'none'}",
            operator=called,
        )
    return weight


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Any, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ArgumentError(
                f"the householder map takes real tensors, got {weight.describe()}",
                hint="use matrix_exp or cayley",
                operator="orthogonal",
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:  # noqa: N803  (PyTorch's name)
        is_wide = X.shape[-2] < X.shape[-1]
        tall = X.mT if is_wide else X
        n, k = tall.shape[-2:]
        if self.orthogonal_map is _OrthMaps.householder:
            below = tall.tril(-1)
            tau = 2.0 / (1.0 + (below * below).sum(-2))
            result = REGISTRY["linalg_householder_product"](below, tau)
            result = result * tall.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            lower = tall.tril()
            if n != k:
                lower = REGISTRY["cat"]([lower, lower.new_zeros((*lower.shape[:-2], n, n - k))], -1)
            skew = lower - lower.mH
            result = self._exponential(skew) if self.orthogonal_map is _OrthMaps.matrix_exp else self._cayley(skew)
            result = result[..., :k] if n != k else result
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if is_wide else result

    def _exponential(self, skew: Any) -> Any:
        return REGISTRY["linalg_matrix_exp"](skew)

    def _cayley(self, skew: Any) -> Any:
        one = factories.eye(skew.shape[-1], dtype=skew.dtype, device=skew.device)
        return REGISTRY["linalg_solve"](one + skew * -0.5, one + skew * 0.5)

    def right_inverse(self, Q: Any) -> Any:  # noqa: N803  (PyTorch's name)
        if Q.shape != self.shape:
            raise ArgumentError(
                f"expected a matrix or batch of matrices of shape {list(self.shape)}, got {list(Q.shape)}",
                hint="assign a matrix of that shape",
                operator="orthogonal",
            )
        with GradMode(False):
            is_wide = Q.shape[-2] < Q.shape[-1]
            tall = Q.mT if is_wide else Q
            n, k = tall.shape[-2:]
            if not hasattr(self, "base"):
                return self._reflections(tall, is_wide)
            if n == k:
                self.base = tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)
            else:
                more = tall.new_empty((*tall.shape[:-2], n, n - k)).normal_()
                self.base = _make_orthogonal(REGISTRY["cat"]([tall, more], -1))
            result = Q.new_zeros(Q.shape)
            result.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return result

    def _reflections(self, tall: Any, is_wide: bool) -> Any:
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotSupportedError(
                f"it is not possible to assign to the {self.orthogonal_map.name} parametrization with "
                "use_trivialization=False",
                hint="leave out use_trivialization=False, or use the householder map",
                operator="orthogonal",
            )
        reflectors, tau = REGISTRY["geqrf"](tall)
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        signs = diagonal.sign()
        diagonal.copy_(REGISTRY["where"](tau == 0.0, -signs, signs))
        return reflectors.mT if is_wide else reflectors


def _is_orthogonal(matrix: Any) -> bool:
    n, k = matrix.shape[-2:]
    one = factories.eye(k, dtype=matrix.dtype, device=matrix.device)
    bound = 10.0 * n * finfo(matrix.dtype).eps
    return bool((matrix.mH @ matrix).allclose(one, atol=bound))


def _make_orthogonal(matrix: Any) -> Any:
    reflectors, tau = REGISTRY["geqrf"](matrix)
    columns = REGISTRY["linalg_householder_product"](reflectors, tau)
    return columns * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Parametrize a matrix, or a batch of them, to have orthonormal columns, or rows if it is wide; return the module.

    name: the parameter of the module.

    orthogonal_map: "matrix_exp", "cayley" or "householder"; by default the first for square and complex matrices, and
    the last for others.  use_trivialization: multiply by an extra matrix, so that the weight can be set.
    Shapes: the tensor is [*, rows, columns].
    Raises: ArgumentError for a tensor that is missing or not a matrix, or another map; ArgumentTypeError if module is
            not an nn.Module.
    Example:
        >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 3))
        >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(2), atol=1e-5)
        True
    """
    weight = _weight("orthogonal", module, name)
    if weight.ndim < 2:
        raise ArgumentError(
            f"expected a matrix or batch of matrices, {name!r} is {weight.describe()}",
            hint="pass the name of a parameter with two dimensions or more",
            operator="orthogonal",
        )
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if is_square else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ArgumentError(
            f"orthogonal_map has to be one of {', '.join(_OrthMaps.__members__)}, got {shown(orthogonal_map)}",
            hint="leave it out to choose by the shape of the weight",
            operator="orthogonal",
        )
    parametrization = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return weight_v * (weight_g / REGISTRY["norm_except_dim"](weight_v, 2, self.dim))

    def right_inverse(self, weight: Any) -> Any:
        return REGISTRY["norm_except_dim"](weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize the parameter `name` by its norms and its directions; return the module.

    T. Salimans, D. Kingma, "Weight Normalization", 2016.

    dim: the dimension whose entries have one norm each; None for one norm of the whole parameter.
    The norms become the parameter `original0`, the directions `original1`.
    Raises: ArgumentError for a tensor that is not there, IndexRangeError for a dimension out of range,
            ArgumentTypeError if module is not an nn.Module.
    Example:
        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
        >>> layer.parametrizations.weight.original0.shape, layer.parametrizations.weight.original1.shape
        (torch.Size([3, 1]), torch.Size([3, 2]))
    """
    with naming("weight_norm"):
        parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def adopt(state_dict: Any, prefix: str, *_: Any) -> None:
        """Rename the entries that torch.nn.utils.weight_norm wrote."""
        names = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in names):
            for index, key in enumerate(names):
                state_dict[f"{prefix}parametrizations.{name}.original{index}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(adopt)
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.ndim
        if not -rank <= dim < rank:
            raise IndexRangeError(
                f"dimension out of range, expected {-rank} to {rank - 1}, got {dim}",
                hint="use 0 for linear layers and convolutions, and 1 for transposed convolutions",
                operator="spectral_norm",
            )
        check_iterations(n_power_iterations)
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:  # a vector's norm needs no iteration
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight.detach())
            for name, length in zip(("_u", "_v"), matrix.shape):
                drawn = matrix.new_empty(length).normal_(0, 1)
                self.register_buffer(name, F.normalize(drawn, dim=0, eps=eps))
            self._power_method(matrix, FIRST_ITERATIONS)

    def _reshape_weight_to_matrix(self, weight: Any) -> Any:
        return as_matrix(weight, self.dim)

    def _power_method(self, weight_mat: Any, n_power_iterations: int) -> None:
        with GradMode(False):
            for _ in range(n_power_iterations):
                self._u.copy_(F.normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(weight_mat.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call changes the buffers
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        return value


def as_matrix(weight: Any, dim: int) -> Any:
    """Return a weight as a matrix with a row per entry of dimension `dim`."""
    moved = weight if dim == 0 else weight.permute(dim, *[axis for axis in range(weight.ndim) if axis != dim])
    return moved.flatten(1) if moved.ndim > 1 else moved.reshape(-1, 1)


def check_iterations(count: Any) -> None:
    """Raise ArgumentTypeError unless a number of iterations is an int, ArgumentError unless it is positive."""
    checks.integer("spectral_norm", "n_power_iterations", count)
    if count <= 0:
        raise ArgumentError(
            f"expected n_power_iterations to be positive, got {count}",
            hint="pass 1 or more: 1 is usual",
            operator="spectral_norm",
        )


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide the parameter `name` by its largest singular value whenever it is read; return the module.

    T. Miyato et al., "Spectral Normalization for Generative Adversarial Networks", 2018.

    n_power_iterations: iterations of the power method, which estimates that value, at each read in training mode.
    eps: the least norm by which a vector is divided.
    dim: the dimension of outputs; None is 1 for transposed convolutions and 0 for other modules.
    Raises: ArgumentError for a tensor that is not there or an n_power_iterations that is not positive, IndexRangeError
            for a dimension out of range, ArgumentTypeError if module is not an nn.Module.
    Example:
        >>> _ = torch.manual_seed(0)
        >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(8, 4), n_power_iterations=20)
        >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 3)
        1.0
    """
    weight = _weight("spectral_norm", module, name)
    chosen = int(isinstance(module, TRANSPOSED)) if dim is None else dim
    parametrization = _SpectralNorm(weight, n_power_iterations, chosen, eps)
    return parametrize.register_parametrization(module, name, parametrization)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
__dir__ = listing(globals())

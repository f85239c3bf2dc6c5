"""torch.nn.functional: the operators of modules as functions."""

from __future__ import annotations

from typing import Any

from .. import callers, ops  # noqa: F401  (ops registers the operators)
from ..autograd.mode import GradMode
from ..core.call import call_inplace
from ..core.tensor import TensorBase
from ..errors import no_attribute as _no_attribute
from ..ops.operator import REGISTRY
from ..tensor import checks

SMALLEST_NORM = 1e-7  # is added to the norms of rows that are divided by them
_lookup = REGISTRY["embedding"]
_silu_ = REGISTRY["silu"].in_place()  # which is no method
one_hot = REGISTRY["one_hot"]
layer_norm = REGISTRY["layer_norm"]
gelu = REGISTRY["gelu"]
tanh = REGISTRY["tanh"]
sigmoid = REGISTRY["sigmoid"]
mse_loss = REGISTRY["mse_loss"]
l1_loss = REGISTRY["l1_loss"]
smooth_l1_loss = REGISTRY["smooth_l1_loss"]
_LINEAR = REGISTRY["linear"]
channel_shuffle = REGISTRY["channel_shuffle"]
pixel_shuffle = REGISTRY["pixel_shuffle"]
pixel_unshuffle = REGISTRY["pixel_unshuffle"]
nll_loss = REGISTRY["nll_loss"]
cross_entropy = REGISTRY["cross_entropy"]
binary_cross_entropy = REGISTRY["binary_cross_entropy"]
binary_cross_entropy_with_logits = REGISTRY["binary_cross_entropy_with_logits"]
scaled_dot_product_attention = REGISTRY["scaled_dot_product_attention"]


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight^T + bias; a weight of one dimension, which takes no bias, gives one number for each row.

    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> torch.nn.functional.linear(torch.tensor([3.0, 4.0]), weight, bias=torch.tensor([0.0, 0.5]))
        tensor([3.0000, 8.5000])
    """
    if bias is None and isinstance(weight, TensorBase) and len(weight._layout.shape) == 1:
        return REGISTRY["matmul"](input, weight)
    return _LINEAR(input, weight, bias)


def relu(input: Any, inplace: bool = False) -> Any:
    """max(input, 0); inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.relu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    if not isinstance(input, TensorBase):
        checks.tensor("relu", "input", input)
    return input.relu_() if inplace else input.relu()


def relu_(input: Any) -> Any:
    """max(input, 0), in place.

    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.nn.functional.relu_(x) is x, x
        (True, tensor([0., 2.]))
    """
    if not isinstance(input, TensorBase):
        checks.tensor("relu_", "input", input)
    return input.relu_()


def silu(input: Any, inplace: bool = False) -> Any:
    """input * sigmoid(input); inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    if not isinstance(input, TensorBase):
        checks.tensor("silu", "input", input)
    return call_inplace(_silu_, (input,), {}) if inplace else REGISTRY["silu"](input)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, each element is 0 with probability p, else multiplied by 1 / (1 - p).

    inplace: the input is overwritten.
    Raises: ArgumentError if p is not in [0, 1].
    Example:
        >>> x = torch.nn.functional.dropout(torch.ones(1000), p=0.5)
        >>> sorted(set(x.tolist()))
        [0.0, 2.0]
    """
    if not isinstance(input, TensorBase):
        checks.tensor("dropout", "input", input)
    if training is not True and training is not False:
        checks.flag("dropout", "training", training)
    result = REGISTRY["dropout"](input, p, training)
    return input.copy_(result) if inplace and result is not input else result


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of `weight` that `input` names.

    padding_idx: a row that gets no gradient.
    max_norm: rows that are looked up and have a larger norm, of order norm_type, are first scaled to it, in place.
    scale_grad_by_freq, sparse: must be False; gradients are dense.
    Example:
        >>> table = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        >>> torch.nn.functional.embedding(torch.tensor([2, 0]), table)
        tensor([[2., 2.],
                [0., 0.]])
    """
    if scale_grad_by_freq is not False or sparse is not False:
        checks.absent("embedding", "scale_grad_by_freq", scale_grad_by_freq)
        checks.absent("embedding", "sparse", sparse)
    if max_norm is not None:
        _limit_rows(weight, input, max_norm, norm_type)
    return _lookup(input, weight, padding_idx)


def _limit_rows(weight: Any, rows: Any, max_norm: float, norm_type: float) -> None:
    """Scale the named rows of a table whose norm exceeds max_norm to that norm, in place."""
    with GradMode(False):
        index = rows.reshape(-1)
        found = REGISTRY["index_select"](weight, 0, index)
        norms = found.norm(norm_type, 1, True)
        scaled = found * (max_norm / (norms + SMALLEST_NORM))
        weight.index_copy_(0, index, REGISTRY["where"](norms > max_norm, scaled, found))


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(input) over its sum along `dim`; dtype: the type to compute in and return.  _stacklevel has no effect.

    Example:
        >>> torch.nn.functional.softmax(torch.tensor([0.0, 0.0, 1.0]), dim=0)
        tensor([0.2119, 0.2119, 0.5761])
    """
    return REGISTRY["softmax"](input, _chosen(dim, input, "softmax"), dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of `softmax`.

    Example:
        >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0, 1.0]), dim=0)
        tensor([-1.5514, -1.5514, -0.5514])
    """
    return REGISTRY["log_softmax"](input, _chosen(dim, input, "log_softmax"), dtype)


def _chosen(dim: int | None, input: Any, name: str) -> int:
    if dim is not None:
        return dim
    checks.tensor(name, "input", input)
    chosen = 0 if input.ndim in (0, 1, 3) else 1
    callers.warn(f"{name}: no dim was given, {chosen} is used; pass dim={chosen}")
    return chosen


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "channel_shuffle", "cross_entropy", "dropout",
    "embedding", "gelu",
    "l1_loss", "layer_norm", "linear", "log_softmax", "mse_loss", "nll_loss", "one_hot", "pixel_shuffle",
    "pixel_unshuffle", "relu", "relu_",
    "scaled_dot_product_attention", "sigmoid", "silu", "smooth_l1_loss", "softmax", "tanh",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

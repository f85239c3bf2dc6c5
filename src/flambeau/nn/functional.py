"""What modules compute, as functions: the operators under PyTorch's names."""

from __future__ import annotations

from typing import Any

from .. import ops, trace  # noqa: F401  (ops registers the operators)
from ..core import TensorCore
from ..errors import no_attribute as _no_attribute
from ..ops.operator import REGISTRY
from ..tensor import checks

embedding = REGISTRY["embedding"]
one_hot = REGISTRY["one_hot"]
layer_norm = REGISTRY["layer_norm"]
gelu = REGISTRY["gelu"]
tanh = REGISTRY["tanh"]
sigmoid = REGISTRY["sigmoid"]
mse_loss = REGISTRY["mse_loss"]
l1_loss = REGISTRY["l1_loss"]
smooth_l1_loss = REGISTRY["smooth_l1_loss"]
_LINEAR = REGISTRY["linear"]
nll_loss = REGISTRY["nll_loss"]
cross_entropy = REGISTRY["cross_entropy"]
binary_cross_entropy = REGISTRY["binary_cross_entropy"]
binary_cross_entropy_with_logits = REGISTRY["binary_cross_entropy_with_logits"]
scaled_dot_product_attention = REGISTRY["scaled_dot_product_attention"]


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight^T + bias; a weight of one dimension, which takes no bias, gives one number for each row."""
    if bias is None and isinstance(weight, TensorCore) and len(weight.layout.shape) == 1:
        return REGISTRY["matmul"](input, weight)
    return _LINEAR(input, weight, bias)


def relu(input: Any, inplace: bool = False) -> Any:
    """max(input, 0); inplace: the input is overwritten."""
    if not isinstance(input, TensorCore):
        checks.tensor("relu", "input", input)
    return input.relu_() if inplace else input.relu()


def relu_(input: Any) -> Any:
    """max(input, 0), in place."""
    if not isinstance(input, TensorCore):
        checks.tensor("relu_", "input", input)
    return input.relu_()


def silu(input: Any, inplace: bool = False) -> Any:
    """input * sigmoid(input); inplace: the input is overwritten."""
    if not isinstance(input, TensorCore):
        checks.tensor("silu", "input", input)
    return input.silu_() if inplace else REGISTRY["silu"](input)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, each element is 0 with probability p, else multiplied by 1 / (1 - p).

    inplace: the input is overwritten.
    Raises: ArgumentError if p is not in [0, 1].
    """
    if not isinstance(input, TensorCore):
        checks.tensor("dropout", "input", input)
    if training is not True and training is not False:
        checks.flag("dropout", "training", training)
    result = REGISTRY["dropout"](input, p, training)
    return input.copy_(result) if inplace and result is not input else result


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """exp(input) over its sum along `dim`; dtype: the type to compute in and return."""
    return REGISTRY["softmax"](input, _chosen(dim, input, "softmax"), dtype)


def log_softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """The logarithm of the softmax along `dim`; dtype: the type to compute in and return."""
    return REGISTRY["log_softmax"](input, _chosen(dim, input, "log_softmax"), dtype)


def _chosen(dim: int | None, input: Any, name: str) -> int:
    if dim is not None:
        return dim
    checks.tensor(name, "input", input)
    chosen = 0 if input.ndim in (0, 1, 3) else 1
    trace.warn(f"{name}: no dim was given, {chosen} is used; pass dim={chosen}")
    return chosen


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "dropout", "embedding", "gelu",
    "l1_loss", "layer_norm", "linear", "log_softmax", "mse_loss", "nll_loss", "one_hot", "relu", "relu_",
    "scaled_dot_product_attention", "sigmoid", "silu", "smooth_l1_loss", "softmax", "tanh",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

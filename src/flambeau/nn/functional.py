"""torch.nn.functional: the operators of modules as functions."""

from __future__ import annotations

from typing import Any

from .. import callers, dtypes, ops  # noqa: F401  (ops registers the operators)
from ..autograd.mode import GradMode
from ..core.call import call_inplace
from ..core.tensor import TensorBase
from ..errors import no_attribute as _no_attribute
from ..ops.operator import REGISTRY
from ..tensor import checks, factories, functions
from ..tensor.operators import inplace_function

SMALLEST_NORM = 1e-7  # is added to the norms of rows that are divided by them
SMALLEST_NORMAL = {  # the least positive numbers of the types that are not denormal
    dtypes.float16: 2.0**-14, dtypes.bfloat16: 2.0**-126, dtypes.float32: 2.0**-126, dtypes.float64: 2.0**-1022,
}  # fmt: skip
_lookup = REGISTRY["embedding"]
one_hot = REGISTRY["one_hot"]
layer_norm = REGISTRY["layer_norm"]
gelu = REGISTRY["gelu"]
tanh = REGISTRY["tanh"]
sigmoid = REGISTRY["sigmoid"]
prelu = REGISTRY["prelu"]
hardshrink = REGISTRY["hardshrink"]
softshrink = REGISTRY["softshrink"]
tanhshrink = REGISTRY["tanhshrink"]
softplus = REGISTRY["softplus"]
softsign = REGISTRY["softsign"]
logsigmoid = REGISTRY["logsigmoid"]
glu = REGISTRY["glu"]
elu_ = inplace_function(REGISTRY["elu"].in_place())
celu_ = functions.celu_
selu_ = functions.selu_
leaky_relu_ = inplace_function(REGISTRY["leaky_relu"].in_place())
rrelu_ = functions.rrelu_
hardtanh_ = inplace_function(REGISTRY["hardtanh"].in_place())
threshold_ = functions.threshold_
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
    return _activated("silu", inplace, input)


def _activated(name: str, inplace: bool, input: Any, *numbers: Any) -> Any:
    """Call an activation, in place if the flag says so."""
    if not isinstance(input, TensorBase):
        checks.tensor(name, "input", input)
    operator = REGISTRY[name]
    return call_inplace(operator.in_place(), (input, *numbers), {}) if inplace else operator(input, *numbers)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """input where it is positive, else alpha * (exp(input) - 1); inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return _activated("elu", inplace, input, alpha)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """input where it is positive, else alpha * (exp(input / alpha) - 1); inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.celu(torch.tensor([-1.0, 2.0]), 0.5)
        tensor([-0.4323,  2.0000])
    """
    return _activated("celu", inplace, input, alpha)


def selu(input: Any, inplace: bool = False) -> Any:
    """1.0507 input where that is positive, else 1.7581 * (exp(input) - 1); inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.selu(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return _activated("selu", inplace, input)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """input where it is positive, else input * negative_slope; inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]))
        tensor([-0.0100,  2.0000])
    """
    return _activated("leaky_relu", inplace, input, negative_slope)


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """input where it is positive, else input times a slope: random in training, else the mean of both.

    inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    if inplace:
        return rrelu_(input, lower, upper, training)
    return _activated("rrelu", False, input, lower, upper, training)


def relu6(input: Any, inplace: bool = False) -> Any:
    """input limited to [0, 6]; inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.relu6(torch.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """
    return _activated("relu6", inplace, input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """input limited to [min_val, max_val]; inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    return _activated("hardtanh", inplace, input, min_val, max_val)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """(input + 3) / 6 limited to [0, 1]; inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])
    """
    return _activated("hardsigmoid", inplace, input)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """input * hardsigmoid(input); inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.hardswish(torch.tensor([-1.0, 1.0]))
        tensor([-0.3333,  0.6667])
    """
    return _activated("hardswish", inplace, input)


def mish(input: Any, inplace: bool = False) -> Any:
    """input * tanh(softplus(input)); inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.mish(torch.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """
    return _activated("mish", inplace, input)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """input where it exceeds the threshold, else value; inplace: the input is overwritten.

    Example:
        >>> torch.nn.functional.threshold(torch.tensor([-1.0, 2.0]), 0.5, 7.0)
        tensor([7., 2.])
    """
    return _activated("threshold", inplace, input, threshold, value)


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


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The softmax of -input.

    Example:
        >>> torch.nn.functional.softmin(torch.tensor([0.0, 0.0, -1.0]), dim=0)
        tensor([0.2119, 0.2119, 0.5761])
    """
    return REGISTRY["softmax"](-input, _chosen(dim, input, "softmin"), dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A random sample of the Gumbel-softmax distribution: softmax((logits + gumbel noise) / tau) along `dim`.

    hard: the result is one-hot, with the gradient of the soft one.  eps has no effect.
    Example:
        >>> torch.nn.functional.gumbel_softmax(torch.tensor([[0.0, 100.0]]), hard=True)
        tensor([[0., 1.]])
    """
    checks.tensor("gumbel_softmax", "logits", logits)
    # Jang et al., "Categorical Reparameterization with Gumbel-Softmax" (2017)
    with GradMode(False):
        exponential = (-(-REGISTRY["uniform"](logits)).log1p()).clamp_min(SMALLEST_NORMAL[logits.dtype])
        noise = -exponential.log()
    soft = REGISTRY["softmax"]((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    one_of_each = factories.zeros(logits.shape, dtype=logits.dtype, device=logits.device).scatter_(dim, chosen, 1.0)
    return one_of_each - soft.detach() + soft


def _chosen(dim: int | None, input: Any, name: str) -> int:
    if dim is not None:
        return dim
    checks.tensor(name, "input", input)
    chosen = 0 if input.ndim in (0, 1, 3) else 1
    callers.warn(f"{name}: no dim was given, {chosen} is used; pass dim={chosen}")
    return chosen


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_", "cross_entropy", "dropout", "elu",
    "elu_", "embedding", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear", "log_softmax", "logsigmoid",
    "mish", "mse_loss", "nll_loss", "one_hot", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_",
    "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss", "softmax", "softmin",
    "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

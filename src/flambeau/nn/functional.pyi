# Written by scripts/stubs, not by hand.


from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager as ContextManager
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, TypeVar, overload

from numpy.typing import NDArray


from ..dtypes import dtype as _dtype
from ..memory_formats import memory_format as _memory_format
from ..runtime.device import device as _device
from ..runtime.generator import Generator as Generator
from ..memory_formats import layout as _layout
from ..tensor.tensor import *

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), times weight.  Logarithms are at least -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., pos_weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), accurate for large logits too."""
def celu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1); inplace: the input is overwritten."""
def celu_(input: Tensor, alpha: Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """In-place version of `celu`: overwrites this tensor with the result, and returns it."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., label_smoothing: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Negative log-probability of the target, from unnormalised logits."""
def dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """In training, each element is 0 with probability p, else multiplied by 1 / (1 - p)."""
def elu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1); inplace: the input is overwritten."""
def elu_(input: Tensor, alpha: Number = ..., scale: Any = ..., input_scale: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1)."""
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """The rows of `weight` that `input` names."""
def gelu(input: Tensor, approximate: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """x times the cumulative distribution function of the normal distribution."""
def glu(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The first half along `dim` times the sigmoid of the second."""
def gumbel_softmax(logits: Any, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...) -> Tensor:
    """A random sample of the Gumbel-softmax distribution: softmax((logits + gumbel noise) / tau) along `dim`."""
def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """0 from -lambd to lambd, else x."""
def hardsigmoid(input: Tensor, inplace: _bool = ...) -> Tensor:
    """(input + 3) / 6 limited to [0, 1]; inplace: the input is overwritten."""
def hardswish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """input * hardsigmoid(input); inplace: the input is overwritten."""
def hardtanh(input: Tensor, min_val: _float = ..., max_val: _float = ..., inplace: _bool = ...) -> Tensor:
    """input limited to [min_val, max_val]; inplace: the input is overwritten."""
def hardtanh_(input: Tensor, min_val: Any = ..., max_val: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """x limited to [min_val, max_val].  NaN is unchanged."""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Absolute difference of input and target: its mean, sum, or each term."""
def layer_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """(input - mean) / sqrt(variance + eps) * weight + bias, over the last dimensions."""
def leaky_relu(input: Tensor, negative_slope: _float = ..., inplace: _bool = ...) -> Tensor:
    """input where it is positive, else input * negative_slope; inplace: the input is overwritten."""
def leaky_relu_(input: Tensor, negative_slope: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """x where it is positive, else x * negative_slope."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """input @ weight^T + bias; a weight of one dimension, which takes no bias, gives one number for each row."""
def log_softmax(input: Tensor, dim: _int | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """The logarithm of `softmax`."""
def logsigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of 1 / (1 + exp(-x))."""
def mish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """input * tanh(softplus(input)); inplace: the input is overwritten."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Squared difference of input and target: its mean, sum, or each term."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Negative log-probability of the target classes, from log-probabilities."""
def one_hot(tensor: Tensor, num_classes: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """1 at each index, 0 elsewhere, along a new last dimension."""
def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """x where it is positive, else x * weight, with one weight for all or one for each channel (dimension 1)."""
def relu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """max(input, 0); inplace: the input is overwritten."""
def relu6(input: Tensor, inplace: _bool = ...) -> Tensor:
    """input limited to [0, 6]; inplace: the input is overwritten."""
def relu_(input: Tensor) -> Tensor:
    """max(input, 0), in place."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """input where it is positive, else input times a slope: random in training, else the mean of both."""
def rrelu_(input: Tensor, lower: Any = ..., upper: Any = ..., training: Any = ..., generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """In-place version of `rrelu`: overwrites this tensor with the result, and returns it."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., scale: _float | None = ..., enable_gqa: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """softmax(scale * query @ key^T + mask) @ value."""
def selu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """1.0507 input where that is positive, else 1.7581 * (exp(input) - 1); inplace: the input is overwritten."""
def selu_(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """In-place version of `selu`: overwrites this tensor with the result, and returns it."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / (1 + exp(-x))."""
def silu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """input * sigmoid(input); inplace: the input is overwritten."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., beta: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """d * d / (2 * beta) where the absolute difference d is below beta, else d - beta / 2."""
def softmax(input: Tensor, dim: _int | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """exp(input) over its sum along `dim`; dtype: the type to compute in and return.  _stacklevel has no effect."""
def softmin(input: Tensor, dim: _int | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """The softmax of -input."""
def softplus(input: Tensor, beta: _float = ..., threshold: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x where beta x exceeds the threshold."""
def softshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """x - lambd above lambd, x + lambd below -lambd, else 0."""
def softsign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """x / (1 + |x|)."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic tangent."""
def tanhshrink(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """x - tanh(x)."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = ...) -> Tensor:
    """input where it exceeds the threshold, else value; inplace: the input is overwritten."""
def threshold_(input: Tensor, threshold: Any, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """In-place version of `threshold`: overwrites this tensor with the result, and returns it."""

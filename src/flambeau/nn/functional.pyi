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

def adaptive_avg_pool1d(input: Tensor, output_size: Any, *, out: Tensor | None = ...) -> Tensor:
    """Divide sequences into `output_size` windows of about equal size, and compute the mean of each window."""
def adaptive_avg_pool2d(input: Tensor, output_size: Any, *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean of each of `output_size` windows that together cover an image, all of about one size."""
def adaptive_avg_pool3d(input: Tensor, output_size: Any, *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean of each of `output_size` windows that together cover a volume, all of about one size."""
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: _bool = ...) -> Tensor:
    """Return the maximum of each of `output_size` windows that cover sequences; with return_indices, also its index."""
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `adaptive_max_pool1d` returns, and their indices."""
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: _bool = ...) -> Tensor:
    """Return the maximum of each of `output_size` windows that cover images; with return_indices, also its index."""
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `adaptive_max_pool2d` returns, and their indices."""
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: _bool = ...) -> Tensor:
    """Return the maximum of each of `output_size` windows that cover volumes; with return_indices, also its index."""
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `adaptive_max_pool3d` returns, and their indices."""
def affine_grid(theta: Any, size: Sizes, align_corners: Any = ...) -> Tensor:
    """Return a sampling grid for `grid_sample`: the positions of the pixels of an image, transformed by affine maps."""
def alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Set elements to SELU's lower limit with probability p, then scale and shift all elements."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean of each window of sequences."""
def avg_pool2d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean of each window of images."""
def avg_pool3d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean of each window of volumes."""
def batch_norm(input: Tensor, running_mean: Any, running_var: Any, weight: Tensor | None = ..., bias: Tensor | None = ..., training: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Return (input - mean) / sqrt(variance + eps) * weight + bias, for each channel."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute input1 @ weight[k] @ input2 + bias[k] for each k."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the binary cross entropy, -(target * log(input) + (1 - target) * log(1 - input))."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., pos_weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute `binary_cross_entropy` of sigmoid(input), accurate for large logits too."""
def celu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """Apply CELU elementwise: input where it is positive, else alpha * (exp(input / alpha) - 1)."""
def celu_(input: Tensor, alpha: _float = ...) -> Tensor:
    """In-place version of `celu`: stores the result in `input`, cast to its dtype, and returns it."""
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy in which the channels (dimension 1) of `groups` consecutive groups are interleaved."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cross-correlation of sequences with a kernel, summed over the channels of a group, plus bias."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cross-correlation of images with a kernel, summed over the channels of a group, plus bias."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cross-correlation of volumes with a kernel, summed over the channels of a group, plus bias."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute `conv1d` of sequences whose dimensions are (time, batch, channels)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transposed convolution of sequences: the gradient of `conv1d` with respect to its input, plus bias."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transposed convolution of images: the gradient of `conv2d` with respect to its input, plus bias."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transposed convolution of volumes: the gradient of `conv3d` with respect to its input, plus bias."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute 1 - s where the target is 1, and max(0, s - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cosine of the angle between vectors along `dim`; lengths below eps count as eps."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., label_smoothing: _float = ..., *, dtype: Dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Compute the negative log-probability of the target, from unnormalised logits."""
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: _int = ..., reduction: str = ..., zero_infinity: _bool = ...) -> Tensor:
    """Return the negative log-probability of all alignments that give the targets (A. Graves et al., 2006)."""
def dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Zero each element with probability p in training, and multiply the others by 1 / (1 - p)."""
def dropout1d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Zero each channel with probability p in training, and multiply the others by 1 / (1 - p)."""
def dropout2d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Zero each channel with probability p in training, and multiply the others by 1 / (1 - p)."""
def dropout3d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Zero each channel with probability p in training, and multiply the others by 1 / (1 - p)."""
def elu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """Apply ELU elementwise: input where it is positive, else alpha * (exp(input) - 1)."""
def elu_(input: Tensor, alpha: _float = ..., scale: _float = ..., input_scale: _float = ...) -> Tensor:
    """In-place version of `elu`: stores the result in `input`, cast to its dtype, and returns it."""
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """Return the rows of `weight` at the indices in `input`."""
def embedding_bag(input: Tensor, weight: Tensor | None, offsets: Any = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., mode: str = ..., sparse: _bool = ..., per_sample_weights: Any = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> Tensor:
    """Return the sum, mean or maximum of the rows of `weight` that each bag of indices selects; 0 for an empty bag."""
def feature_alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Apply `alpha_dropout` to whole channels: all elements of a channel are dropped, or none."""
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Sequence[_int] = ...) -> Tensor:
    """Sum columns into images: each pixel is the sum of the column elements that `unfold` takes from it."""
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maxima of randomly placed windows of images (B. Graham, "Fractional max-pooling", 2014)."""
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `fractional_max_pool2d` returns, and their indices."""
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maxima of randomly placed windows of volumes; see `fractional_max_pool2d`."""
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `fractional_max_pool3d` returns, and their indices."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | Number, full: _bool = ..., eps: _float = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the negative log-likelihood of a normal distribution: (log(var) + (input - target) ** 2 / var) / 2."""
def gelu(input: Tensor, approximate: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute x * F(x), where F is the cumulative distribution function of the standard normal distribution."""
def glu(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the first half of the input along `dim` times the sigmoid of the second half."""
def grid_sample(input: Tensor, grid: Any, mode: str = ..., padding_mode: str = ..., align_corners: Any = ...) -> Tensor:
    """Sample images at the points of a grid."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Normalize groups of channels to mean 0 and variance 1, then multiply by weight and add bias."""
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = ..., bias: Tensor | None = ..., out_dtype: Any = ..., out: Tensor | None = ...) -> Tensor:
    """Multiply matrices group by group, as in a mixture of experts."""
def gumbel_softmax(logits: Any, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...) -> Tensor:
    """Return a random sample of the Gumbel-softmax distribution: softmax((logits + gumbel noise) / tau) along `dim`."""
def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Replace the elements in [-lambd, lambd] by 0; the others are unchanged."""
def hardsigmoid(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Apply hard sigmoid elementwise: (input + 3) / 6, limited to [0, 1]."""
def hardswish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Apply hard swish elementwise: input * hardsigmoid(input)."""
def hardtanh(input: Tensor, min_val: _float = ..., max_val: _float = ..., inplace: _bool = ...) -> Tensor:
    """Apply hard tanh elementwise: input limited to [min_val, max_val]."""
def hardtanh_(input: Tensor, min_val: _float = ..., max_val: _float = ...) -> Tensor:
    """In-place version of `hardtanh`: stores the result in `input`, cast to its dtype, and returns it."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return input where the target is 1, and max(0, margin - input) where it is -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = ..., delta: _float = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute d * d / 2 where d = |input - target| is at most delta, else delta * (d - delta / 2)."""
def instance_norm(input: Tensor, running_mean: Any = ..., running_var: Any = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Return (input - mean) / sqrt(variance + eps) * weight + bias, for each channel of each instance."""
def interpolate(input: Tensor, size: Sizes | None = ..., scale_factor: Any = ..., mode: str = ..., align_corners: Any = ..., recompute_scale_factor: Any = ..., antialias: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Resize images, or other inputs with spatial dimensions, by interpolation."""
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., log_target: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the Kullback-Leibler divergence, target * (log(target) - input), where input holds log-probabilities."""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the absolute difference of input and target."""
def layer_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Normalize the last dimensions: (input - mean) / sqrt(variance + eps) * weight + bias."""
def leaky_relu(input: Tensor, negative_slope: _float = ..., inplace: _bool = ...) -> Tensor:
    """Apply leaky ReLU elementwise: input where it is positive, else input * negative_slope."""
def leaky_relu_(input: Tensor, negative_slope: Tensor | Number = ...) -> Tensor:
    """In-place version of `leaky_relu`: stores the result in `input`, cast to its dtype, and returns it."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """Return input @ weight^T + bias."""
def linear_cross_entropy(input: Tensor, linear_weight: Any, target: Any, *, linear_bias: Any = ..., weight: Tensor | None = ..., reduction: str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., options: Any = ...) -> Tensor:
    """Compute `cross_entropy` of `linear(input, linear_weight, linear_bias)`."""
def local_response_norm(input: Tensor, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Divide the input by (k + alpha * mean of the squares of `size` neighbouring channels) ** beta."""
def log_softmax(input: Tensor, dim: _int | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """Return the logarithm of the softmax along `dim`."""
def logsigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm of 1 / (1 + exp(-x))."""
def lp_pool1d(input: Tensor, norm_type: _float, kernel_size: Any, stride: Sequence[_int] = ..., ceil_mode: _bool = ...) -> Tensor:
    """Return sum(x ** norm_type) ** (1 / norm_type) of each window of sequences."""
def lp_pool2d(input: Tensor, norm_type: _float, kernel_size: Any, stride: Sequence[_int] = ..., ceil_mode: _bool = ...) -> Tensor:
    """Return sum(x ** norm_type) ** (1 / norm_type) of each window of images."""
def lp_pool3d(input: Tensor, norm_type: _float, kernel_size: Any, stride: Sequence[_int] = ..., ceil_mode: _bool = ...) -> Tensor:
    """Return sum(x ** norm_type) ** (1 / norm_type) of each window of volumes."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute max(0, margin - target * (input1 - input2))."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maximum of each window of sequences; with return_indices, also its index."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `max_pool1d` returns, and their indices."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maximum of each window of images; with return_indices, also its index in the flattened image."""
def max_pool2d_with_indices(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `max_pool2d` returns, and their indices."""
def max_pool3d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maximum of each window of volumes; with return_indices, also its index in the flattened volume."""
def max_pool3d_with_indices(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Tensor:
    """Return the maxima that `max_pool3d` returns, and their indices."""
def max_unpool1d(input: Tensor, indices: Sequence[Tensor | None], kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """Return sequences of zeros, with the values of `input` at the indices that `max_pool1d` returned."""
def max_unpool2d(input: Tensor, indices: Sequence[Tensor | None], kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """Return images of zeros, with the values of `input` at the indices that `max_pool2d` returned."""
def max_unpool3d(input: Tensor, indices: Sequence[Tensor | None], kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., output_size: Any = ...) -> Tensor:
    """Return volumes of zeros, with the values of `input` at the indices that `max_pool3d` returned."""
def mish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Apply Mish elementwise: input * tanh(softplus(input))."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the squared difference of input and target."""
def multi_head_attention_forward(query: Any, key: Any, value: Tensor | Number, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Any, in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Any, out_proj_bias: Any, training: _bool = ..., key_padding_mask: Any = ..., need_weights: _bool = ..., attn_mask: Any = ..., use_separate_proj_weight: _bool = ..., q_proj_weight: Any = ..., k_proj_weight: Any = ..., v_proj_weight: Any = ..., static_k: Any = ..., static_v: Any = ..., average_attn_weights: _bool = ..., is_causal: _bool = ...) -> tuple[Any, Any]:
    """Compute multi-head attention with given projection weights; return (result, attention weights or None)."""
def multi_margin_loss(input: Tensor, target: Tensor, p: _int = ..., margin: _float = ..., weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Sum max(0, margin - input[target] + input[class]) ** p / c over the classes other than the target."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Sum max(0, 1 - input[label] + input[other]) / c over all pairs of a label and another class of a sample."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean over the classes of the binary cross entropy of sigmoid(input)."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the negative log-probability of the target classes, from log-probabilities."""
def normalize(input: Tensor, p: _float = ..., dim: Sizes | None = ..., eps: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Divide vectors along `dim` by their p-norm, or by eps where that is larger."""
def one_hot(tensor: Tensor, num_classes: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return 1 at each index, 0 elsewhere, along a new last dimension."""
def pad(input: Tensor, pad: Any, mode: str = ..., value: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Add elements before and after those of the last dimensions; numbers below 0 cut elements off."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the p-norm of x1 - x2 + eps over the last dimension."""
def pdist(input: Tensor, p: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the p-norm distance between each row and every later row."""
def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = ...) -> Tensor:
    """Turn groups of r * r channels into squares of r by r pixels, for an upscale factor r."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = ...) -> Tensor:
    """Reverse `pixel_shuffle`: turn squares of r by r pixels into r * r channels, for a downscale factor r."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = ..., full: _bool = ..., size_average: _bool | None = ..., eps: _float = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the negative log-likelihood of counts, the target, under a Poisson distribution."""
def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return each element x where it is positive, else x * weight, with one weight for all or for each channel."""
def relu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Apply ReLU elementwise: max(input, 0)."""
def relu6(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Apply ReLU6 elementwise: input limited to [0, 6]."""
def relu_(input: Tensor) -> Tensor:
    """Replace the input by max(input, 0), in place; return the input."""
def rms_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = ..., eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute input / sqrt(mean of squares + eps) * weight, over the last dimensions."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Apply randomized leaky ReLU elementwise: keep positive values, and multiply the others by a random slope."""
def rrelu_(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """Keep positive values, and multiply the others by a slope, in place; return the input."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., scale: _float | None = ..., enable_gqa: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute softmax(scale * query @ key^T + mask) @ value."""
def selu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Apply SELU elementwise: 1.0507 * input where it is positive, else 1.7581 * (exp(input) - 1)."""
def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`: stores the result in `input`, cast to its dtype, and returns it."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logistic sigmoid, 1 / (1 + exp(-x))."""
def silu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Apply SiLU elementwise: input * sigmoid(input)."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., beta: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute d * d / (2 * beta) where d = |input - target| is below beta, else d - beta / 2."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute log(1 + exp(-target * input)), with targets of 1 and -1."""
def softmax(input: Tensor, dim: _int | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """Return exp(input) divided by its sum along `dim`."""
def softmin(input: Tensor, dim: _int | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """Return the softmax of -input along `dim`."""
def softplus(input: Tensor, beta: _float = ..., threshold: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute log(1 + exp(beta x)) / beta, and x where beta x exceeds the threshold."""
def softshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute x - lambd above lambd, x + lambd below -lambd, else 0."""
def softsign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute x / (1 + |x|)."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the hyperbolic tangent."""
def tanhshrink(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute x - tanh(x)."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = ...) -> Tensor:
    """Keep elements that exceed `threshold`, and replace the others by `value`."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """In-place version of `threshold`: stores the result in `input`, cast to its dtype, and returns it."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute max(0, margin + d(anchor, positive) - d(anchor, negative)), where d is the p-norm distance."""
def triplet_margin_with_distance_loss(anchor: Any, positive: Any, negative: Any, *, distance_function: Any = ..., margin: _float = ..., swap: _bool = ..., reduction: str = ...) -> Tensor:
    """Compute `triplet_margin_loss` with distance_function(x, y) as the distance."""
def unfold(input: Tensor, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Sequence[_int] = ...) -> Tensor:
    """Return the elements of each window of images, as columns: [n, c, h, w] gives [n, c * window size, windows]."""
def upsample(input: Tensor, size: Sizes | None = ..., scale_factor: Any = ..., mode: str = ..., align_corners: Any = ...) -> Tensor:
    """Former name of `interpolate`; each call gives a UserWarning."""
def upsample_bilinear(input: Tensor, size: Sizes | None = ..., scale_factor: Any = ...) -> Tensor:
    """Former name of `interpolate` with mode="bilinear" and align_corners=True; each call gives a UserWarning."""
def upsample_nearest(input: Tensor, size: Sizes | None = ..., scale_factor: Any = ...) -> Tensor:
    """Former name of `interpolate` with mode="nearest"; each call gives a UserWarning."""

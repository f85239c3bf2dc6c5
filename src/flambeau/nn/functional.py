"""torch.nn.functional: the operators of modules as functions."""

from __future__ import annotations

from math import prod
from typing import Any

from .. import callers, dtypes, ops  # noqa: F401  (ops registers the operators)
from ..autograd import autocast
from ..autograd.mode import GradMode
from ..core.call import call_inplace
from ..core.tensor import TensorBase
from ..dtypes import int64
from ..errors import ArgumentError, DtypeError, ModeError, ShapeError, naming
from ..errors import no_attribute as _no_attribute
from ..importer import listing
from ..memory_formats import contiguous_format
from ..ops.losses import check_triplet, reduced, reduction_of
from ..ops.operator import REGISTRY
from ..ops.philox import is_portable
from ..tensor import checks, factories, functions
from ..tensor.like_factories import empty_like
from ..tensor.operators import inplace_function
from ..tensor.overrides import (  # noqa: F401  (PyTorch has them here too)
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)
from .multihead import (  # noqa: F401  (as above)
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _none_or_dtype,
    multi_head_attention_forward,
)
from .pooling_functions import (
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fold,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    unfold,
)

SMALLEST_NORMAL = {  # smallest positive normal numbers of the types
    dtypes.float16: 2.0**-14, dtypes.bfloat16: 2.0**-126, dtypes.float32: 2.0**-126, dtypes.float64: 2.0**-1022,
}  # fmt: skip
_lookup = REGISTRY["embedding"]


def _function(name: str) -> Any:
    """Return the operator as a function: torch's own, if it has that name there."""
    operator = REGISTRY[name]
    return operator.as_function() if operator.function else operator.as_function(__name__)


one_hot = _function("one_hot")
layer_norm = _function("layer_norm")
rms_norm = _function("rms_norm")
local_response_norm = _function("local_response_norm")
pad = _function("pad")
interpolate = _function("interpolate")
bilinear = _function("bilinear")
grouped_mm = _function("grouped_mm")
gelu = _function("gelu")
tanh = _function("tanh")
sigmoid = _function("sigmoid")
prelu = _function("prelu")
hardshrink = _function("hardshrink")
softshrink = _function("softshrink")
tanhshrink = _function("tanhshrink")
softplus = _function("softplus")
softsign = _function("softsign")
logsigmoid = _function("logsigmoid")
glu = _function("glu")
elu_ = inplace_function(REGISTRY["elu"].in_place())
celu_ = functions.celu_
selu_ = functions.selu_
leaky_relu_ = inplace_function(REGISTRY["leaky_relu"].in_place())
rrelu_ = functions.rrelu_
hardtanh_ = inplace_function(REGISTRY["hardtanh"].in_place())
threshold_ = functions.threshold_
conv1d = _function("conv1d")
conv2d = _function("conv2d")
conv3d = _function("conv3d")
conv_tbc = _function("conv_tbc")
conv_transpose1d = _function("conv_transpose1d")
conv_transpose2d = _function("conv_transpose2d")
conv_transpose3d = _function("conv_transpose3d")
avg_pool1d = _function("avg_pool1d")
avg_pool2d = _function("avg_pool2d")
avg_pool3d = _function("avg_pool3d")
adaptive_avg_pool1d = _function("adaptive_avg_pool1d")
adaptive_avg_pool2d = _function("adaptive_avg_pool2d")
adaptive_avg_pool3d = _function("adaptive_avg_pool3d")
mse_loss = _function("mse_loss")
l1_loss = _function("l1_loss")
smooth_l1_loss = _function("smooth_l1_loss")
_LINEAR = REGISTRY["linear"]
channel_shuffle = _function("channel_shuffle")
pixel_shuffle = _function("pixel_shuffle")
pixel_unshuffle = _function("pixel_unshuffle")
nll_loss = _function("nll_loss")
cross_entropy = _function("cross_entropy")
binary_cross_entropy = _function("binary_cross_entropy")
binary_cross_entropy_with_logits = _function("binary_cross_entropy_with_logits")
kl_div = _function("kl_div")
huber_loss = _function("huber_loss")
poisson_nll_loss = _function("poisson_nll_loss")
gaussian_nll_loss = _function("gaussian_nll_loss")
hinge_embedding_loss = _function("hinge_embedding_loss")
margin_ranking_loss = _function("margin_ranking_loss")
cosine_embedding_loss = _function("cosine_embedding_loss")
triplet_margin_loss = _function("triplet_margin_loss")
multi_margin_loss = _function("multi_margin_loss")
multilabel_margin_loss = _function("multilabel_margin_loss")
multilabel_soft_margin_loss = _function("multilabel_soft_margin_loss")
soft_margin_loss = _function("soft_margin_loss")
cosine_similarity = _function("cosine_similarity")
pairwise_distance = _function("pairwise_distance")
pdist = _function("pdist")
scaled_dot_product_attention = _function("scaled_dot_product_attention")


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Return input @ weight^T + bias.

    A weight of one dimension takes no bias, and gives one number for each row of the input.

    Shapes: input [*, i], weight [o, i] and bias [o], [1] or [] give [*, o]; a weight [i] gives [*].
    Raises: ShapeError if the shapes do not fit, DtypeError if the dtypes differ, DeviceMismatchError if the devices do.
    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> torch.nn.functional.linear(torch.tensor([3.0, 4.0]), weight, bias=torch.tensor([0.0, 0.5]))
        tensor([3.0000, 8.5000])
    """
    if isinstance(weight, TensorBase):
        shape = weight._layout.shape
        if bias is None and len(shape) == 1:
            return REGISTRY["matmul"](input, weight)
        if isinstance(bias, TensorBase) and len(shape) == 2 and bias._layout.shape in ((), (1,)):
            bias = bias.expand(shape[:1])
    return _LINEAR(input, weight, bias)


def relu(input: Any, inplace: bool = False) -> Any:
    """Apply ReLU elementwise: max(input, 0).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for a bool input, ArgumentTypeError for a wrong type; AutogradError if inplace and the
            input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.relu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    if not isinstance(input, TensorBase):
        checks.tensor("relu", "input", input)
    return input.relu_() if inplace else input.relu()


def relu_(input: Any) -> Any:
    """Replace the input by max(input, 0), in place; return the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for a bool input, ArgumentTypeError for one that is not a tensor; AutogradError if the input is a
            leaf that requires a gradient.
    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> torch.nn.functional.relu_(x) is x, x
        (True, tensor([0., 2.]))
    """
    if not isinstance(input, TensorBase):
        checks.tensor("relu_", "input", input)
    return input.relu_()


def silu(input: Any, inplace: bool = False) -> Any:
    """Apply SiLU elementwise: input * sigmoid(input).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for an input that is not floating point, ArgumentTypeError for a wrong type; AutogradError if
            inplace and the input is a leaf that requires a gradient.
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
    """Apply ELU elementwise: input where it is positive, else alpha * (exp(input) - 1).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for an input that is not floating point, ArgumentTypeError for a wrong type; AutogradError if
            inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return _activated("elu", inplace, input, alpha)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Apply CELU elementwise: input where it is positive, else alpha * (exp(input / alpha) - 1).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: ValueRangeError if alpha is 0, DtypeError for an input that is not floating point, ArgumentTypeError for a
            wrong type; AutogradError if inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.celu(torch.tensor([-1.0, 2.0]), 0.5)
        tensor([-0.4323,  2.0000])
    """
    return _activated("celu", inplace, input, alpha)


def selu(input: Any, inplace: bool = False) -> Any:
    """Apply SELU elementwise: 1.0507 * input where it is positive, else 1.7581 * (exp(input) - 1).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for an input that is not floating point, ArgumentTypeError for a wrong type; AutogradError if
            inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.selu(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return _activated("selu", inplace, input)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """Apply leaky ReLU elementwise: input where it is positive, else input * negative_slope.

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for an input that is not floating point, ArgumentTypeError for a wrong type; AutogradError if
            inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]))
        tensor([-0.0100,  2.0000])
    """
    return _activated("leaky_relu", inplace, input, negative_slope)


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """Apply randomized leaky ReLU elementwise: keep positive values, and multiply the others by a random slope.

    training: the slope of each value is random in [lower, upper); otherwise, it is (lower + upper) / 2.
    inplace:  overwrite the input.
    Shapes: the result has the input's shape.
    Raises: ValueRangeError if lower exceeds upper, DtypeError for integers, ArgumentTypeError for an input that is not
            a tensor.
    Example:
        >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    if inplace:
        return rrelu_(input, lower, upper, training)
    return _activated("rrelu", False, input, lower, upper, training)


def relu6(input: Any, inplace: bool = False) -> Any:
    """Apply ReLU6 elementwise: input limited to [0, 6].

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for a bool input, ArgumentTypeError for a wrong type; AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.relu6(torch.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """
    return _activated("relu6", inplace, input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Apply hard tanh elementwise: input limited to [min_val, max_val].

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: ArgumentError if min_val exceeds max_val, DtypeError for a bool input, ArgumentTypeError for a wrong type;
            AutogradError if inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    return _activated("hardtanh", inplace, input, min_val, max_val)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """Apply hard sigmoid elementwise: (input + 3) / 6, limited to [0, 1].

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for an input that is not floating point, ArgumentTypeError for a wrong type; AutogradError if
            inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])
    """
    return _activated("hardsigmoid", inplace, input)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """Apply hard swish elementwise: input * hardsigmoid(input).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for an input that is not floating point, ArgumentTypeError for a wrong type; AutogradError if
            inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.hardswish(torch.tensor([-1.0, 1.0]))
        tensor([-0.3333,  0.6667])
    """
    return _activated("hardswish", inplace, input)


def mish(input: Any, inplace: bool = False) -> Any:
    """Apply Mish elementwise: input * tanh(softplus(input)).

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for an input that is not floating point, ArgumentTypeError for a wrong type; AutogradError if
            inplace and the input is a leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.mish(torch.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """
    return _activated("mish", inplace, input)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """Keep elements that exceed `threshold`, and replace the others by `value`.

    inplace: overwrite the input.

    Shapes: the result has the input's shape.
    Raises: DtypeError for a bool input, ArgumentTypeError for a wrong type; AutogradError if inplace and the input is a
            leaf that requires a gradient.
    Example:
        >>> torch.nn.functional.threshold(torch.tensor([-1.0, 2.0]), 0.5, 7.0)
        tensor([7., 2.])
    """
    return _activated("threshold", inplace, input, threshold, value)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each element with probability p in training, and multiply the others by 1 / (1 - p).

    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError for a wrong type.
    Example:
        >>> x = torch.nn.functional.dropout(torch.ones(1000), p=0.5)
        >>> sorted(set(x.tolist()))
        [0.0, 2.0]
    """
    if not isinstance(input, TensorBase):
        checks.tensor("dropout", "input", input)
    if training is not True and training is not False:
        checks.flag("dropout", "training", training)
    is_own = inplace and training and 0 < p < 1 and input.is_cuda and input.dtype.is_floating_point
    if is_own and not is_portable.value:
        return input.mul_(empty_like(input).bernoulli_(1 - p).div_(1 - p))  # PyTorch draws this way in place
    result = REGISTRY["dropout"](input, p, training)
    return input.copy_(result) if inplace and result is not input else result


def _drop(name: str, called: str, input: Any, p: float, training: bool, inplace: bool) -> Any:
    """Call a dropout operator under the name of a function; if `inplace`, write its result to the input."""
    checks.tensor(called, "input", input)
    checks.flag(called, "training", training)
    result = REGISTRY[name].called_as(called)(input, p, training)
    return input.copy_(result) if inplace and result is not input else result


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel with probability p in training, and multiply the others by 1 / (1 - p).

    Shapes: [n, c, l] or [c, l]; the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ShapeError for a wrong number of dimensions, ArgumentTypeError for a
            wrong type.
    Example:
        >>> x = torch.nn.functional.dropout1d(torch.ones(50, 4, 3), p=0.5)
        >>> sorted(set(x.sum(2).flatten().tolist()))
        [0.0, 6.0]
    """
    checks.tensor("dropout1d", "input", input)
    if input.ndim not in (2, 3):
        raise ShapeError(
            f"expected 2D or 3D input, but received a {input.ndim}D input of shape {list(input.shape)}",
            hint="the shape is [n, c, l] or [c, l]; dropout() takes any shape",
            operator="dropout1d",
        )
    batch = input if input.ndim == 3 else input.unsqueeze(0)
    result = _drop("feature_dropout", "dropout1d", batch, p, training, inplace)
    return input if inplace else result if input.ndim == 3 else result.squeeze(0)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel with probability p in training, and multiply the others by 1 / (1 - p).

    Shapes: [n, c, h, w]; the result has the input's shape.  Other numbers of dimensions give a warning, and dimension 1
            is still taken as the channels.
    Raises: ArgumentError if p is not in [0, 1], ShapeError for fewer than 2 dimensions, ArgumentTypeError for a wrong
            type.
    Example:
        >>> x = torch.nn.functional.dropout2d(torch.ones(50, 4, 2, 2), p=0.5)
        >>> sorted(set(x.sum((2, 3)).flatten().tolist()))
        [0.0, 8.0]
    """
    checks.tensor("dropout2d", "input", input)
    if input.ndim != 4:
        callers.warn(f"dropout2d: received a {input.ndim}D input; dimension 1 is taken for the channels")
    return _drop("feature_dropout", "dropout2d", input, p, training, inplace)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel with probability p in training, and multiply the others by 1 / (1 - p).

    Shapes: [n, c, d, h, w] or [c, d, h, w]; the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError for a wrong type.
    Example:
        >>> x = torch.nn.functional.dropout3d(torch.ones(50, 4, 1, 2, 2), p=0.5)
        >>> sorted(set(x.sum((2, 3, 4)).flatten().tolist()))
        [0.0, 8.0]
    """
    checks.tensor("dropout3d", "input", input)
    if input.ndim not in (4, 5):
        callers.warn(f"dropout3d: received a {input.ndim}D input, expected 4D or 5D")
    batch = input if input.ndim == 5 else input.unsqueeze(0)
    result = _drop("feature_dropout", "dropout3d", batch, p, training, inplace)
    return input if inplace else result if input.ndim == 5 else result.squeeze(0)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Set elements to SELU's lower limit with probability p, then scale and shift all elements.

    An input of mean 0 and variance 1 keeps both.  training: False returns the input unchanged.

    Shapes: the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError for a wrong type.
    Example:
        >>> x = torch.nn.functional.alpha_dropout(torch.ones(1000), p=0.5, training=True)
        >>> len(set(x.tolist()))
        2
    """
    return _drop("alpha_dropout", "alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Apply `alpha_dropout` to whole channels: all elements of a channel are dropped, or none.

    training: False returns the input unchanged.

    Shapes: [n, c, *]; the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ShapeError for fewer than 2 dimensions.
    Example:
        >>> x = torch.nn.functional.feature_alpha_dropout(torch.ones(50, 4, 3), p=0.5, training=True)
        >>> len(set(x.flatten().tolist()))
        2
    """
    return _drop("feature_alpha_dropout", "feature_alpha_dropout", input, p, training, inplace)


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Return the rows of `weight` at the indices in `input`.

    padding_idx: the index of a row that gets no gradient.
    max_norm: looked-up rows whose norm of order norm_type is larger are first scaled to this norm, in place.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in input.
    sparse: must be False; gradients are dense.
    Shapes: input [*] and weight [rows, d] give [*, d].
    Host:   returns at once.
    Raises: IndexRangeError for an index outside the rows on the CPU (a device-side assert on a GPU), DtypeError if the
            input is not int32 or int64, ShapeError if the weight does not have two dimensions, ArgumentError for a
            padding_idx out of range, NotSupportedError for sparse=True.
    Example:
        >>> table = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        >>> torch.nn.functional.embedding(torch.tensor([2, 0]), table)
        tensor([[2., 2.],
                [0., 0.]])
    """
    if scale_grad_by_freq is not False or sparse is not False:
        checks.flag("embedding", "scale_grad_by_freq", scale_grad_by_freq)
        checks.absent("embedding", "sparse", sparse)
    if max_norm is not None:
        with naming("embedding"):
            functions.embedding_renorm_(weight, input, max_norm, norm_type)
    return _lookup(input, weight, padding_idx, scale_grad_by_freq)


def _require_several(name: str, what: str, count: int, shape: Any) -> None:
    """Raise ArgumentError for a batch with one value per channel, whose variance is not defined."""
    if count == 1:
        raise ArgumentError(
            f"expected more than 1 {what} when training, got input size {list(shape)}",
            hint="use a larger batch, or the running statistics",
            operator=name,
        )


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Return (input - mean) / sqrt(variance + eps) * weight + bias, for each channel.

    training: True uses the mean and variance of the batch, and updates running_mean and running_var in place, to
    (1 - momentum) * running + momentum * batch, with the unbiased variance of the batch.  False uses running_mean and
    running_var.
    Shapes: input [n, c, *]; all others [c]; the result has the input's shape.
    Host:   returns at once.
    Raises: ArgumentError for an eps below 0, and in training also for an eps of 0, or for a channel with one value
            only; ShapeError for shapes that do not fit, or missing running statistics outside training; DtypeError for
            an input that is not floating point.
    Example:
        >>> mean, variance = torch.zeros(1), torch.ones(1)
        >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), mean, variance, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
        >>> mean, variance
        (tensor([0.2000]), tensor([1.1000]))
    """
    checks.tensor("batch_norm", "input", input)
    if training and input.ndim > 1:
        count = input.numel() // max(input.shape[1], 1)
        _require_several("batch_norm", "value per channel", count, input.shape)
    checks.number("batch_norm", "eps", eps)
    if eps < 0 or training and eps == 0:
        least = "positive during training" if training else "non-negative"
        raise ArgumentError(
            f"eps must be {least}, but got {eps}",
            hint="pass a small positive number: 1e-5 is usual",
            operator="batch_norm",
        )
    return functions.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Return (input - mean) / sqrt(variance + eps) * weight + bias, for each channel of each instance.

    use_input_stats: True normalizes by each instance's mean and variance, and updates running_mean and running_var in
    place: running = (1 - momentum) * running + momentum * average over the instances.  False normalizes by running_mean
    and running_var.
    Shapes: input [n, c, *]; all others [c]; the result has the input's shape.
    Host:   returns at once.
    Raises: ArgumentError if a channel has one value only; ShapeError for shapes that do not fit, or missing running
            statistics without use_input_stats; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [4.0, 4.0]]]))
        tensor([[[-1.0000,  1.0000],
                 [ 0.0000,  0.0000]]])
    """
    checks.tensor("instance_norm", "input", input)
    if use_input_stats and input.ndim > 1:
        _require_several("instance_norm", "spatial element", prod(input.shape[2:]), input.shape)
    return functions.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalize groups of channels to mean 0 and variance 1, then multiply by weight and add bias.

    eps: added to the variance.
    Shapes: input [n, c, *], with c a multiple of num_groups; weight and bias [c]; the result has the input's shape.
    Host:   returns at once.
    Raises: ArgumentError if a group has one value only; ShapeError for channels that num_groups does not divide or
            weights that do not fit; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 0.0, 8.0]]), 2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    checks.tensor("group_norm", "input", input)
    checks.integer("group_norm", "num_groups", num_groups)
    if input.ndim > 1 and num_groups:
        count = input.numel() // num_groups
        _require_several("group_norm", "value per channel", count, input.shape)
    return REGISTRY["group_norm"](input, num_groups, weight, bias, eps)


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """Divide vectors along `dim` by their p-norm, or by eps where that is larger.

    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError for a bad dimension, DtypeError for integers.
    Example:
        >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return REGISTRY["normalize"](input, p, dim, eps, out=out)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Compute `triplet_margin_loss` with distance_function(x, y) as the distance.

    distance_function: returns the distances of the rows of two tensors; None uses `pairwise_distance`.
    swap: replace the distance of anchor and negative by that of positive and negative where the latter is smaller.
    reduction: "mean" returns the mean of all losses, "sum" their sum, "none" each loss.
    Shapes: the three tensors have the same number of dimensions, [*, d]; the result is (), or [*] with reduction
            "none".
    Raises: ArgumentError for an unknown reduction or a margin that is not positive, ShapeError for different numbers of
            dimensions, ArgumentTypeError for arguments of a wrong type.
    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 1.5]])
        >>> def distance(a, b):
        ...     return (a - b).abs().amax(-1)
        >>> torch.nn.functional.triplet_margin_with_distance_loss(anchor, near, far, distance_function=distance)
        tensor(0.5000)
    """
    name = "triplet_margin_with_distance_loss"
    for called, value in (("anchor", anchor), ("positive", positive), ("negative", negative)):
        checks.tensor(name, called, value)
    reduction = reduction_of(name, None, None, reduction)
    checks.number(name, "margin", margin)
    if distance_function is not None:
        checks.function(name, "distance_function", distance_function)
    check_triplet(name, margin, anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = REGISTRY["minimum"](far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Any:
    """Former name of `interpolate`; each call gives a UserWarning.

    Shapes: as `interpolate`.
    Raises: as `interpolate`: ArgumentError, ValueRangeError, NotSupportedError, DtypeError.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    callers.warn("upsample: the function is deprecated; use interpolate")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Former name of `interpolate` with mode="nearest"; each call gives a UserWarning.

    Shapes: as `interpolate`.
    Raises: as `interpolate`: ArgumentError, ValueRangeError, NotSupportedError, DtypeError.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    callers.warn("upsample_nearest: the function is deprecated; use interpolate")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Former name of `interpolate` with mode="bilinear" and align_corners=True; each call gives a UserWarning.

    Shapes: [n, c, h, w] gives [n, c, *size].
    Raises: as `interpolate`: ArgumentError, ValueRangeError; NotSupportedError unless the input has 4 dimensions;
            DtypeError.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 3.0]]]]), size=(1, 3))
        tensor([[[[1., 2., 3.]]]])
    """
    callers.warn("upsample_bilinear: the function is deprecated; use interpolate")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Return the sum, mean or maximum of the rows of `weight` that each bag of indices selects; 0 for an empty bag.

    mode: "sum", "mean" or "max".
    offsets: where each bag begins in a 1D input and, with include_last_offset, where the last bag ends.
    max_norm: looked-up rows whose norm of order norm_type is larger are first scaled to this norm, in place.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in input, not with mode "max".
    sparse: must be False; gradients are dense.
    per_sample_weights: a factor for each index, with mode "sum".  padding_idx: an index that bags leave out.
    Shapes: input [b, l], b bags of l indices each, or [n] and offsets [b]; weight [rows, d]; the result [b, d].
    Raises: ArgumentError for another mode, a wrong number of dimensions, offsets or per_sample_weights that do not fit;
            IndexRangeError for an index out of range on the CPU (a device-side assert on a GPU); DtypeError for indices
            that are not int32 or int64; NotSupportedError for sparse=True or per_sample_weights without mode "sum".
    Example:
        >>> table = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        >>> torch.nn.functional.embedding_bag(torch.tensor([1, 2, 2]), table, torch.tensor([0, 2]), mode="sum")
        tensor([[3., 3.],
                [2., 2.]])
    """
    checks.tensor("embedding_bag", "input", input)
    checks.tensor("embedding_bag", "weight", weight)
    checks.flag("embedding_bag", "scale_grad_by_freq", scale_grad_by_freq)
    checks.absent("embedding_bag", "sparse", sparse)
    if scale_grad_by_freq and mode == "max":
        raise ArgumentError(
            "mode 'max' does not support scale_grad_by_freq=True",
            hint="use mode 'sum' or 'mean'",
            operator="embedding_bag",
        )
    if max_norm is not None:
        with naming("embedding_bag"):
            functions.embedding_renorm_(weight, input, max_norm, norm_type)
    called = REGISTRY["embedding_bag"]
    options = include_last_offset, padding_idx, scale_grad_by_freq
    return called(input, weight, offsets, mode, per_sample_weights, *options)


def _corners(name: str, align_corners: Any) -> bool:
    if align_corners is None:
        callers.warn(f"{name}: no align_corners was given, False is used")
    return bool(align_corners)


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None
) -> Any:
    """Sample images at the points of a grid.

    grid: points (x, y), or (x, y, z), from -1, the left or upper border, to 1, the right or lower one.
    mode: "bilinear" (trilinear for volumes), "nearest" or "bicubic".  padding_mode: values outside an image: "zeros",
    its "border" or its "reflection".
    align_corners: whether -1 and 1 are the centers of the outer pixels, instead of the borders of the image.
    Shapes: [n, c, h, w] and [n, *, *, 2] give [n, c, *, *]; [n, c, d, h, w] and [n, *, *, *, 3] give [n, c, *, *, *].
    Raises: ArgumentError for another mode or padding_mode, ShapeError for shapes that do not fit, NotSupportedError for
            "bicubic" of volumes.
    Example:
        >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> points = torch.tensor([[[[0.0, 0.0], [1.0, -1.0]]]])
        >>> torch.nn.functional.grid_sample(image, points, align_corners=True)
        tensor([[[[2.5000, 2.0000]]]])
    """
    return REGISTRY["grid_sample"](input, grid, mode, padding_mode, _corners("grid_sample", align_corners))


def affine_grid(theta: Any, size: Any, align_corners: Any = None) -> Any:
    """Return a sampling grid for `grid_sample`: the positions of the pixels of an image, transformed by affine maps.

    theta: the matrices of the maps; positions are in [-1, 1].
    size: the shape of the sampled images, (n, c, h, w) or (n, c, d, h, w).  align_corners: as in `grid_sample`.
    Shapes: theta [n, 2, 3] gives [n, h, w, 2], and [n, 3, 4] gives [n, d, h, w, 3].
    Raises: ArgumentError for a theta or size that do not fit, NotSupportedError for other numbers of dimensions,
            ArgumentTypeError for a size that is not a list of ints.
    Example:
        >>> identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> torch.nn.functional.affine_grid(identity, (1, 1, 1, 3), align_corners=True)[0, 0]
        tensor([[-1.,  0.],
                [ 0.,  0.],
                [ 1.,  0.]])
    """
    size = checks.listed("affine_grid", "size", "ints", size)
    for each in size:
        checks.integer("affine_grid", "an entry of size", each)
    return REGISTRY["affine_grid"](theta, size, _corners("affine_grid", align_corners))


def _lengths(name: str, values: Any) -> list[int]:
    """Return lengths as a list of ints.  Host: waits for those on a GPU."""
    if not isinstance(values, TensorBase):
        entries = checks.listed("ctc_loss", name, "ints", values)
        for length in entries:
            checks.integer("ctc_loss", f"an entry of {name}", length)
        return [int(length) for length in entries]
    lengths: Any = values
    listed = lengths.tolist()
    return listed if isinstance(listed, list) else [listed]


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Return the negative log-probability of all alignments that give the targets (A. Graves et al., 2006).

    input_lengths, target_lengths: the length of each sequence, as a tensor or a list.
    blank: the index of the class that stands for no label.
    reduction: "mean" divides each loss by its target's length, and then takes the mean.
    zero_infinity: losses and gradients of targets that are too long for their inputs are 0.
    Shapes: log_probs [t, n, c] for t steps, n sequences and c classes; targets [n, s] of up to s labels each, or all
            targets concatenated in one dimension.  Without a batch, log_probs [t, c] and targets [s].  The result is
            (), or [n] with reduction "none".
    Host:   waits if the lengths are on a GPU.
    Raises: ShapeError for shapes or lengths that do not fit, DtypeError for wrong dtypes, ArgumentError for an unknown
            reduction, ArgumentTypeError for arguments of a wrong type; IndexRangeError for a label out of range on the
            CPU.
    Example:
        >>> logs = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
        >>> torch.nn.functional.ctc_loss(logs, torch.tensor([[1]]), [2], [1])
        tensor(0.2877)
    """
    name = "ctc_loss"
    checks.tensor(name, "log_probs", log_probs)
    checks.tensor(name, "targets", targets)
    checks.integer(name, "blank", blank)
    reduction = reduction_of(name, None, None, reduction)
    is_batched = log_probs.ndim == 3
    logs = log_probs if is_batched else log_probs.unsqueeze(1)
    if logs.ndim != 3 or targets.ndim not in (1, 2) or not 0 <= blank < logs.shape[2]:
        raise ShapeError(
            f"log_probs {list(log_probs.shape)}, targets {list(targets.shape)} and blank {blank} do not fit",
            hint="the shapes must be [t, n, c] and [n, s], and blank one of the c classes",
            operator=name,
        )
    if not logs.dtype.is_floating_point or targets.dtype.is_floating_point:
        raise DtypeError(
            f"log_probs must be floating point and targets integers, got {logs.dtype.name} and {targets.dtype.name}",
            hint="convert targets with .long()",
            operator=name,
        )
    (logs,) = autocast.operands(name, [logs])
    times, batch = logs.shape[:2]
    inputs, counts = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    if len(inputs) != batch or len(counts) != batch or (targets.ndim == 2 and targets.shape[0] != batch):
        raise ShapeError(
            f"{batch} sequences need as many lengths and targets, got {len(inputs)} input lengths, {len(counts)} "
            f"target lengths and targets {list(targets.shape)}",
            hint="pass one length for each sequence",
            operator=name,
        )
    room = targets.shape[1] if targets.ndim == 2 else targets.shape[0]
    longest = max(counts, default=0)
    used = longest if targets.ndim == 2 else sum(counts)
    if min([*inputs, *counts], default=0) < 0 or max(inputs, default=0) > times or used > room:
        raise ShapeError(
            f"input lengths {inputs} must be from 0 to {times}, and target lengths {counts} must fit targets of shape "
            f"{list(targets.shape)}",
            hint="for targets [n, s], no target length may exceed s; for targets [s], their sum may not",
            operator=name,
        )
    starts = [sum(counts[:n]) for n in range(batch)] if targets.ndim == 1 else [n * room for n in range(batch)]
    options = {"device": logs.device, "dtype": int64}
    numbers = [factories.tensor(values, **options) for values in (starts, inputs, counts)]
    flat = targets.to(int64).reshape(-1)
    with naming(name):
        losses = REGISTRY["ctc_paths"](logs, flat, *numbers, longest, blank, zero_infinity)[0].to(logs.dtype)
    if zero_infinity:
        losses = losses.masked_fill(losses == float("inf"), 0)
    if reduction == "mean":
        return (losses / numbers[2].clamp_min(1)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses if is_batched else losses.squeeze(0)


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Return exp(input) divided by its sum along `dim`.

    dim: None chooses a dimension by the number of dimensions, with a warning.
    dtype: the dtype to compute in and return.  _stacklevel: has no effect.
    Shapes: the result has the input's shape.
    Raises: IndexRangeError for a dimension out of range, DtypeError if the input or dtype is not floating point.
    Example:
        >>> torch.nn.functional.softmax(torch.tensor([0.0, 0.0, 1.0]), dim=0)
        tensor([0.2119, 0.2119, 0.5761])
    """
    return REGISTRY["softmax"](input, _chosen(dim, input, "softmax"), dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Return the logarithm of the softmax along `dim`.

    Arguments: see `softmax`.

    Shapes: the result has the input's shape.
    Raises: IndexRangeError for a dimension out of range, DtypeError if the input or dtype is not floating point.
    Example:
        >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0, 1.0]), dim=0)
        tensor([-1.5514, -1.5514, -0.5514])
    """
    return REGISTRY["log_softmax"](input, _chosen(dim, input, "log_softmax"), dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Return the softmax of -input along `dim`.

    Arguments: see `softmax`.

    Shapes: the result has the input's shape.
    Raises: IndexRangeError for a dimension out of range, DtypeError if the input or dtype is not floating point.
    Example:
        >>> torch.nn.functional.softmin(torch.tensor([0.0, 0.0, -1.0]), dim=0)
        tensor([0.2119, 0.2119, 0.5761])
    """
    checks.tensor("softmin", "input", input)
    with naming("softmin"):
        return REGISTRY["softmax"](-input, _chosen(dim, input, "softmin"), dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """Return a random sample of the Gumbel-softmax distribution: softmax((logits + gumbel noise) / tau) along `dim`.

    hard: the result is one-hot, with the gradient of the soft one.  eps has no effect.
    Shapes: the result has the shape of the logits.
    Raises: IndexRangeError for a dimension out of range, DtypeError for logits that are not floating point,
            ArgumentTypeError for a tau that is not a number.
    Example:
        >>> torch.nn.functional.gumbel_softmax(torch.tensor([[0.0, 100.0]]), hard=True)
        tensor([[0., 1.]])
    """
    checks.tensor("gumbel_softmax", "logits", logits)
    if not isinstance(tau, TensorBase):
        checks.number("gumbel_softmax", "tau", tau)
    # Jang et al., "Categorical Reparameterization with Gumbel-Softmax" (2017)
    with naming("gumbel_softmax"):
        with GradMode(False):
            drawn = empty_like(logits, memory_format=contiguous_format).exponential_()
            noise = -drawn.clamp_min(SMALLEST_NORMAL[logits.dtype]).log()
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


def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Any:  # fmt: skip
    """Compute `cross_entropy` of `linear(input, linear_weight, linear_bias)`.

    ignore_index: a target class that is not counted; None is -100.  It is not allowed if targets are probabilities.
    options: accepted for compatibility; the scores are computed as a whole.  Other arguments: see `cross_entropy`.
    Shapes: input [n, i] or [i]; linear_weight [c, *, i] for c classes; linear_bias [c, *]; target [n, *] of classes, or
            [n, c, *] of probabilities.
    Raises: ShapeError for shapes that do not fit, ModeError for ignore_index with probabilities, IndexRangeError for a
            target outside the classes on the CPU, ArgumentError for a target that does not fit or an unknown reduction.
    Example:
        >>> x, weight = torch.tensor([[1.0, 2.0]]), torch.zeros(4, 2)
        >>> torch.nn.functional.linear_cross_entropy(x, weight, torch.tensor([3]))
        tensor(1.3863)
    """
    name = "linear_cross_entropy"
    for called, tensor in (("input", input), ("linear_weight", linear_weight), ("target", target)):
        checks.tensor(name, called, tensor)
    outputs = tuple(linear_weight.shape[:-1])
    fits = linear_weight.ndim >= 2 and input.ndim in (1, 2) and input.shape[-1] == linear_weight.shape[-1]
    is_fitting_bias = linear_bias is None or tuple(linear_bias.shape) == outputs
    if not fits or not is_fitting_bias or (len(outputs) > 1 and input.ndim == 1):
        bias = "" if linear_bias is None else f" and a bias of {list(linear_bias.shape)}"
        raise ShapeError(
            f"an input of {list(input.shape)} and a weight of {list(linear_weight.shape)}{bias} do not fit",
            hint="pass input [n, i], weight [c, *, i] and bias [c, *]",
            operator=name,
        )
    shape = *input.shape[:-1], *outputs
    if ignore_index is not None and tuple(target.shape) == shape:
        raise ModeError(
            f"ignore_index={ignore_index} cannot be specified when target contains probabilities",
            hint="leave it out",
            operator=name,
        )
    flat = None if linear_bias is None else linear_bias.reshape(-1)
    ignored = -100 if ignore_index is None else ignore_index
    with naming(name):
        scores = REGISTRY["linear"](input, linear_weight.reshape(-1, input.shape[-1]), flat).reshape(shape)
        return cross_entropy(
            scores, target, weight=weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
        )


__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "celu", "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss",
    "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "embedding", "embedding_bag",
    "feature_alpha_dropout", "fold", "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "gaussian_nll_loss", "gelu", "glu", "grid_sample",
    "group_norm", "grouped_mm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_",
    "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "leaky_relu_", "linear", "linear_cross_entropy", "local_response_norm", "log_softmax", "logsigmoid",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "mish", "mse_loss", "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pdist",
    "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu",
    "rrelu_", "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample", "upsample_bilinear",
    "upsample_nearest",
]  # fmt: skip
__dir__ = listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

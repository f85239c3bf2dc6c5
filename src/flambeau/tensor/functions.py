"""Operators as functions of the package: flambeau.add, flambeau.softmax and so on.

Most are the operators themselves.  This file defines those that PyTorch also has in `nn.functional`, with other
arguments.
"""

from __future__ import annotations

from typing import Any

from .. import (
    ops,  # noqa: F401  (registers the operators)
)
from ..autograd.mode import GradMode
from ..errors import MAX_NESTING, ArgumentError, ShapeError, naming, shown
from ..ops.activation import random_slope
from ..ops.einsum import LETTERS
from ..ops.indexing import index_put_
from ..ops.interpolation import GRID_MODES, PADDINGS
from ..ops.linalg import check_ndim
from ..ops.losses import REDUCTIONS
from ..ops.normalization import require_channels, require_floats
from ..ops.operator import REGISTRY
from . import checks
from .like_factories import empty_like
from .operators import ALIASES, REMOVED, inplace_function, removed
from .tensor import Tensor

SMALLEST_NORM = 1e-7  # added to norms of rows that are scaled
# PyTorch's functions that write their first argument: methods of tensors, or operators of their own
IN_PLACE = """
abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_
celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_
fix_ floor_ frac_ gcd_ i0_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_
reciprocal_ relu_ round_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_
trunc_ xlogy_
"""


def _writing(name: str) -> Any:
    """Return the function `name`, which writes its first argument; None if there is none."""
    operator = REGISTRY.get(name[:-1])
    if operator is not None and not operator.method:
        return inplace_function(operator.in_place())
    return getattr(Tensor, name, None)


_FUNCTIONS: dict[str, Any] = {name: operator.as_function() for name, operator in REGISTRY.items() if operator.function}
_FUNCTIONS |= {alias: REGISTRY[name].called_as(alias).as_function() for alias, name in ALIASES.items()}
_FUNCTIONS |= {name: function for name in IN_PLACE.split() if (function := _writing(name)) is not None}
_FUNCTIONS["index_put_"] = index_put_
_FUNCTIONS |= {name: removed(name) for name in REMOVED}
_leaky_relu_ = inplace_function(REGISTRY["leaky_relu"].called_as("rrelu").in_place())
globals().update(_FUNCTIONS)


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """Return a copy of a tensor: the method `Tensor.clone` as a function.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError unless `input` is a tensor and memory_format a memory format, ShapeError if that format
            needs another number of dimensions.
    Example:
        >>> torch.clone(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("clone", "input", input)
    return input.clone() if memory_format is None else input.clone(memory_format=memory_format)


def detach(input: Any) -> Any:
    """Return a tensor over the same memory that is outside any graph: `Tensor.detach` as a function.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.detach(torch.tensor([1.0, 2.0], requires_grad=True))
        tensor([1., 2.])
    """
    checks.tensor("detach", "input", input)
    return input.detach()


def detach_(input: Any) -> Any:
    """Detach a tensor from its graph, and return it: `Tensor.detach_` as a function.

    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, AutogradError for a view.
    Example:
        >>> torch.detach_(torch.tensor([1.0], requires_grad=True) * 2)
        tensor([2.])
    """
    checks.tensor("detach_", "input", input)
    return input.detach_()


def fill_(input: Any, value: Any) -> Any:
    """Set every element of a tensor to one value, and return it: `Tensor.fill_` as a function.

    Host:   returns at once.
    Raises: ArgumentTypeError if `value` is neither a number nor a tensor, ShapeError if it has dimensions,
            ValueRangeError if the type cannot hold it, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.fill_(torch.zeros(2), 3.0)
        tensor([3., 3.])
    """
    checks.tensor("fill_", "input", input)
    return input.fill_(value)


def zero_(input: Any) -> Any:
    """Set every element of a tensor to 0, and return it: `Tensor.zero_` as a function.

    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.zero_(torch.ones(2))
        tensor([0., 0.])
    """
    checks.tensor("zero_", "input", input)
    return input.zero_()


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Return the rows of `weight` with the numbers in `indices`.

    padding_idx: the number of a row that gets no gradient; if negative, all rows get one.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in indices.
    sparse: must be False; gradients are dense.
    Shapes: weight [rows, d] with indices [*] gives [*, d].
    Host:   returns at once.
    Raises: IndexRangeError for an index out of range (on a GPU, it fails a device assertion), DtypeError unless the
            indices are int64 or int32, ShapeError unless `weight` is a matrix, ArgumentError if padding_idx is not one
            of its rows, NotSupportedError for sparse=True.
    Example:
        >>> torch.embedding(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([1, 0]))
        tensor([[1., 1.],
                [0., 0.]])
    """
    checks.flag("embedding", "scale_grad_by_freq", scale_grad_by_freq)
    checks.absent("embedding", "sparse", sparse)
    checks.integer("embedding", "padding_idx", padding_idx)
    return REGISTRY["embedding"](indices, weight, padding_idx if padding_idx >= 0 else None, scale_grad_by_freq)


def _reduction(name: str, reduction: Any) -> str:
    """Return the reduction that a number stands for.  Raises ArgumentError."""
    if type(reduction) is not int or not 0 <= reduction < len(REDUCTIONS):
        raise ArgumentError(
            f"reduction must be 0, 1 or 2, got {shown(reduction)}",
            hint=f"nn.functional.{name} takes 'none', 'mean' and 'sum'",
            operator=name,
        )
    return REDUCTIONS[reduction]


def convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """Call `conv1d`, `conv2d` or `conv3d`, by the number of the weight's dimensions, or their transposed forms.

    stride, padding, dilation, output_padding: an int, or one int for each spatial dimension.
    transposed: True calls `conv_transpose1d`, `conv_transpose2d` or `conv_transpose3d`.
    Shapes: input [n, c, *], weight [k, c / groups, *] (transposed: [c, k / groups, *]), bias [k]; the result is [n, k,
            *].
    Host:   returns at once.
    Raises: ShapeError for other shapes, DtypeError if the types differ, ValueRangeError for a stride, dilation or
            padding out of range.
    Example:
        >>> x, w = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)
        >>> torch.convolution(x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
        tensor([[[[4.]]]])
    """
    numbers = stride, padding, dilation, transposed, output_padding, groups
    return REGISTRY["general_convolution"](input, weight, bias, *numbers)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """Compute the binary cross entropy of logits: the loss of `nn.functional`, with a number for the reduction.

    reduction: 0 is "none" (the default), 1 is "mean", 2 is "sum".
    Shapes: input and target have the same shape, and so has the result with reduction 0; otherwise it has no
            dimensions.
    Host:   returns at once.
    Raises: ArgumentError for an unknown reduction or a target of another shape, DtypeError for integers.
    Example:
        >>> torch.binary_cross_entropy_with_logits(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor([0.6931])
    """
    called = REGISTRY["binary_cross_entropy_with_logits"]
    chosen = _reduction("binary_cross_entropy_with_logits", reduction)
    return called(input, target, weight, reduction=chosen, pos_weight=pos_weight)


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    """Normalize the last dimensions to mean 0 and variance 1, then multiply by weight and add bias.

    normalized_shape: the sizes of these dimensions.  eps: added to the variance.  cudnn_enable: has no effect.
    Shapes: [*, *normalized_shape] gives the same.
    Host:   returns at once.
    Raises: ShapeError if the last sizes of the input, weight or bias are not normalized_shape, DtypeError for integers.
    Example:
        >>> torch.layer_norm(torch.tensor([[1.0, 2.0, 3.0]]), (3,))
        tensor([[-1.2247,  0.0000,  1.2247]])
    """
    return REGISTRY["layer_norm"](input, normalized_shape, weight, bias, eps)


def fill(input: Any, value: Any) -> Any:
    """Return a tensor like the input, filled with a number or with the value of a 0-dim tensor.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if `value` is neither a number nor a tensor, ShapeError if it has dimensions,
            ValueRangeError if the type cannot hold it.
    Example:
        >>> torch.fill(torch.zeros(2), 3)
        tensor([3., 3.])
    """
    checks.tensor("fill", "input", input)
    if type(value) in (int, float, bool):
        return REGISTRY["fill"](input, value)
    with naming("fill"):
        return input.clone().fill_(value)


def detach_copy(input: Any, *, out: Any = None) -> Any:
    """Return a copy outside any graph, contiguous in memory.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, ShapeError if `out` has another shape.
    Example:
        >>> torch.detach_copy(torch.ones(2, requires_grad=True))
        tensor([1., 1.])
    """
    checks.tensor("detach_copy", "input", input)
    return REGISTRY["alias_copy"].called_as("detach_copy")(input.detach(), out=out)


def rrelu_(
    input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """Keep positive values, and multiply the others by a slope, in place; return the input.

    lower, upper, training: see `torch.rrelu`.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError if lower exceeds upper.
    Example:
        >>> torch.rrelu_(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    checks.tensor("rrelu_", "input", input)
    lower, upper = checks.scalar("rrelu_", "lower", lower), checks.scalar("rrelu_", "upper", upper)
    with GradMode(False):
        slope = random_slope(input, lower, upper, training, generator)
    return _leaky_relu_(input, slope)


def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """Compute the n-th derivative of `digamma` at each element.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError for a negative n.
    Example:
        >>> torch.polygamma(1, torch.tensor([1.0, 0.5]))
        tensor([1.6449, 4.9348])
    """
    return REGISTRY["polygamma"](input, n, out=out)


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """Compute the Kullback-Leibler divergence target * (log(target) - input); `input` holds log-probabilities.

    reduction: 0 is "none" (the default), 1 is "mean", 2 is "sum".  log_target: whether `target` holds logarithms too.
    Shapes: the inputs broadcast together; the result has the broadcast shape with reduction 0, else no dimensions.
    Host:   returns at once.
    Raises: ArgumentError for an unknown reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.kl_div(torch.tensor([0.5]).log(), torch.tensor([1.0]), reduction=2)
        tensor(0.6931)
    """
    chosen = _reduction("kl_div", reduction)
    return REGISTRY["kl_div"](input, target, log_target=log_target, reduction=chosen)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """Compute the input where the target is 1, and max(0, margin - input) where the target is -1.

    reduction: 0 is "none" (the default), 1 is "mean", 2 is "sum".
    Shapes: the inputs broadcast together; the result has the broadcast shape with reduction 0, else no dimensions.
    Host:   returns at once.
    Raises: ArgumentError for an unknown reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.hinge_embedding_loss(torch.tensor([0.5, 0.2]), torch.tensor([1.0, -1.0]))
        tensor([0.5000, 0.8000])
    """
    chosen = _reduction("hinge_embedding_loss", reduction)
    return REGISTRY["hinge_embedding_loss"](input, target, margin, reduction=chosen)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """Compute max(0, -target * (input1 - input2) + margin).

    target: 1 where input1 should be the larger one, -1 where input2 should be.
    reduction: 0 is "none" (the default), 1 is "mean", 2 is "sum".
    Shapes: the inputs broadcast together; the result has the broadcast shape with reduction 0, else no dimensions.
    Host:   returns at once.
    Raises: ArgumentError for an unknown reduction, ShapeError if the shapes do not broadcast or differ in the number
            of dimensions.
    Example:
        >>> torch.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
        tensor([2.])
    """
    chosen = _reduction("margin_ranking_loss", reduction)
    return REGISTRY["margin_ranking_loss"](input1, input2, target, margin, reduction=chosen)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """Compute 1 - cosine of two vectors where the target is 1, and max(0, cosine - margin) where it is -1.

    reduction: 0 is "none" (the default), 1 is "mean", 2 is "sum".
    Shapes: inputs [n, d] with target [n] give [n] with reduction 0, else no dimensions; without n, inputs [d] and
            target [].
    Host:   returns at once.
    Raises: ArgumentError for an unknown reduction, ShapeError for other shapes.
    Example:
        >>> torch.cosine_embedding_loss(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), torch.tensor(1))
        tensor(1.)
    """
    chosen = _reduction("cosine_embedding_loss", reduction)
    return REGISTRY["cosine_embedding_loss"](input1, input2, target, margin, reduction=chosen)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 0,
) -> Any:
    """Compute max(0, margin + distance(anchor, positive) - distance(anchor, negative)), with p-norm distances.

    p, eps, swap: see `nn.functional.triplet_margin_loss`.  reduction: 0 for "none", 1 for "mean", 2 for "sum".
    Shapes: [n, d] gives [n] with reduction 0, else no dimensions.
    Host:   returns at once.
    Raises: ArgumentError for an unknown reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2), margin=2.0)
        tensor([0.5858])
    """
    chosen = _reduction("triplet_margin_loss", reduction)
    return REGISTRY["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, reduction=chosen)


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """Compute the negative log likelihood of targets under Poisson distributions.

    input: the rates, or their logarithms if log_input.  full, eps: see `nn.functional.poisson_nll_loss`.
    reduction: 0 for "none", 1 for "mean", 2 for "sum".
    Shapes: the inputs broadcast together; the result has the broadcast shape with reduction 0, else no dimensions.
    Host:   returns at once.
    Raises: ArgumentError for an unknown reduction, ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([1.0]), True, False, 1e-8, 1)
        tensor(1.)
    """
    chosen = _reduction("poisson_nll_loss", reduction)
    return REGISTRY["poisson_nll_loss"](input, target, log_input, full, eps=eps, reduction=chosen)


def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Sample images or volumes at the points of a grid: `nn.functional.grid_sample` with numbers for its modes.

    interpolation_mode: 0 is "bilinear", 1 "nearest", 2 "bicubic".
    padding_mode: 0 is "zeros", 1 "border", 2 "reflection".
    align_corners: whether -1 and 1 in the grid are the centers of the outer pixels, not their outer edges.
    Shapes: input [n, c, h, w] with grid [n, p, q, 2] gives [n, c, p, q]; [n, c, d, h, w] with [n, o, p, q, 3] gives [n,
            c, o, p, q].
    Host:   returns at once.
    Raises: ArgumentError for another mode, ShapeError for other shapes, NotSupportedError for bicubic sampling of
            volumes.
    Example:
        >>> torch.grid_sampler(torch.tensor([[[[1.0, 3.0]]]]), torch.zeros(1, 1, 1, 2), 0, 0, True)
        tensor([[[[2.]]]])
    """
    for what, value, known in (
        ("interpolation_mode", interpolation_mode, GRID_MODES),
        ("padding_mode", padding_mode, PADDINGS),
    ):
        if type(value) is not int or not 0 <= value < len(known):
            raise ArgumentError(
                f"{what} must be 0, 1 or 2, got {shown(value)}",
                hint=f"0, 1 and 2 mean {known}",
                operator="grid_sampler",
            )
    sample = REGISTRY["grid_sample"].called_as("grid_sampler")
    return sample(input, grid, GRID_MODES[interpolation_mode], PADDINGS[padding_mode], align_corners)


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """Return a grid of points for `grid_sample` from affine maps: another name of `nn.functional.affine_grid`.

    align_corners: as in `grid_sample`.
    Shapes: theta [n, 2, 3] with size (n, c, h, w) gives [n, h, w, 2]; [n, 3, 4] with (n, c, d, h, w) gives [n, d, h, w,
            3].
    Host:   returns at once.
    Raises: ArgumentError if theta and size do not fit or theta is not floating point, NotSupportedError unless size has
            4 or 5 numbers, ArgumentTypeError if it is not a list of ints.
    Example:
        >>> torch.affine_grid_generator(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    size = checks.listed("affine_grid_generator", "size", "ints", size)
    for each in size:
        checks.integer("affine_grid_generator", "an entry of size", each)
    return REGISTRY["affine_grid"].called_as("affine_grid_generator")(theta, size, align_corners)


def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """Normalize each channel: call `nn.functional.batch_norm`, whose arguments have another order.

    cudnn_enabled: has no effect.
    Shapes: [n, c, *] gives the same; the other tensors have shape [c].
    Host:   returns at once.
    Raises: ShapeError for other shapes, and without running statistics unless training, DtypeError for integers.
    Example:
        >>> x = torch.tensor([[1.0], [3.0]])
        >>> torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    checks.tensor("batch_norm", "input", input)
    require_floats("batch_norm", input)
    operands = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    if input.shape == (0,):  # PyTorch takes it: there are no channels
        empty = batch_norm(input.reshape(0, 0), weight, bias, running_mean, running_var, training, momentum, eps)
        return empty.reshape(0)
    require_channels("batch_norm", input, **operands)
    if not training:
        if running_mean is None or running_var is None:
            raise ShapeError(
                "running_mean and running_var must be given in evaluation mode",
                hint="pass training=True to use the statistics of the batch",
                operator="batch_norm",
            )
        return REGISTRY["batch_norm_of_running"](input, running_mean, running_var, weight, bias, eps)
    _require_both("batch_norm", running_mean, running_var)
    running = [] if running_mean is None else [running_mean, running_var]
    return REGISTRY["batch_norm_of_batch"](input, weight, bias, running, eps, float(momentum))[0]


def _require_both(name: str, running_mean: Any, running_var: Any) -> None:
    """Raise ArgumentError if only one of the running statistics is given."""
    if (running_mean is None) is not (running_var is None):
        raise ArgumentError(
            "running_mean and running_var must either both be None or neither be None, and "
            f"{'running_mean' if running_mean is None else 'running_var'} is None",
            hint="pass both, or none for the statistics of the batch alone",
            operator=name,
        )


def _update(running_mean: Any, running_var: Any, mean: Any, variance: Any, momentum: float, count: int) -> None:
    """Move running statistics towards those of a batch, of `count` values each."""
    unbiased = count / (count - 1) if count > 1 else float("nan")
    with GradMode(False):
        REGISTRY["update_statistics"]([running_mean, running_var], mean, variance, float(momentum), unbiased)


def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """Normalize each channel of each instance to mean 0 and variance 1, then multiply by weight and add bias.

    use_input_stats: whether to use the input's own mean and variance, or the running ones.  momentum: the share of the
    input in the running statistics, which are updated in place.  eps: added to the variance.
    cudnn_enabled: has no effect.
    Shapes: [n, c, *] gives the same; the other tensors have shape [c].
    Host:   returns at once.
    Raises: ShapeError for other shapes, and without running statistics unless use_input_stats, DtypeError for integers.
    Example:
        >>> x = torch.tensor([[[1.0, 3.0], [4.0, 4.0]]])
        >>> torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5)
        tensor([[[-1.0000,  1.0000],
                 [ 0.0000,  0.0000]]])
    """
    checks.tensor("instance_norm", "input", input)
    require_floats("instance_norm", input)
    operands = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    require_channels("instance_norm", input, **operands)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ShapeError(
                "expected running_mean and running_var to be given when use_input_stats=False",
                hint="pass use_input_stats=True to use the statistics of each instance",
                operator="instance_norm",
            )
        return REGISTRY["batch_norm_of_running"](input, running_mean, running_var, weight, bias, eps)
    _require_both("instance_norm", running_mean, running_var)
    out, mean, _, variance = REGISTRY["instance_norm_of_input"](input, weight, bias, eps)
    if running_mean is not None and input.numel():
        shape = mean.shape[:2]
        means, variances = mean.detach().view(shape).mean(0), variance.detach().view(shape).mean(0)
        _update(running_mean, running_var, means, variances, momentum, input[0, 0].numel())
    return out


def einsum(*args: Any) -> Any:
    """Compute sums of products of tensors by Einstein's convention.

    Call it as einsum(equation, *operands), or einsum(equation, list of operands).  The equation names each dimension of
    each operand by a letter.  Commas separate the operands; the letters of the result follow "->".
    The products are summed over letters that the result does not have.  A letter that occurs twice in one operand takes
    the diagonal.  "..." stands for any number of dimensions, which broadcast.  Without "->", the result has the letters
    that occur once, in alphabetical order.
    The other form is einsum(operand, labels, operand, labels, ..., [labels of the result]), where a list of numbers
    from 0 to 51 takes the place of letters.
    The package opt_einsum, if it is installed, chooses the order of the products; else it is from left to right.

    Host:   returns at once.
    Raises: ArgumentError for a malformed equation, ShapeError if sizes do not fit, DtypeError if types differ.
    Example:
        >>> a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1, 0], [1, 1]])
        >>> torch.einsum("ij,jk->ik", a, b)
        tensor([[3, 2],
                [7, 4]])
        >>> torch.einsum("ii", a)
        tensor(5)
        >>> torch.einsum(a, [0, 1], b, [0, 1], [0])
        tensor([1, 7])
    """
    if len(args) < 2:
        raise ArgumentError(
            f"must specify the equation string and at least one operand, got {len(args)} arguments",
            hint='as in einsum("ij,jk->ik", a, b)',
            operator="einsum",
        )
    equation, operands = args[0], list(args[1:])
    if not isinstance(equation, str):
        equation, operands = _equation_of_labels(args)
    for _ in range(MAX_NESTING):
        if len(operands) != 1 or not isinstance(operands[0], (list, tuple)):
            break
        operands = list(operands[0])
    return REGISTRY["einsum_of"](equation, operands)


def _equation_of_labels(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the equation and the operands of einsum(operand, labels, ..., [labels of the result])."""
    terms = [_term(labels) for labels in args[1::2]]
    result = f"->{_term(args[-1])}" if len(args) % 2 else ""
    return f"{','.join(terms)}{result}", list(args[: len(args) - len(args) % 2 : 2])


def _term(labels: Any) -> str:
    letters = ""
    for label in checks.listed("einsum", "labels", "numbers", labels):
        if label is not Ellipsis and not (isinstance(label, int) and 0 <= label < len(LETTERS)):
            raise ArgumentError(
                f"label {shown(label)} is not within the valid range [0, {len(LETTERS)})",
                hint="pass numbers, or ... for an ellipsis",
                operator="einsum",
            )
        letters += "..." if label is Ellipsis else LETTERS[label]
    return letters


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Sum products of two tensors over some of their dimensions.

    dims: a number n, for the last n dimensions of a and the first n of b; or two lists of equal length: dimension
    dims[0][i] of a is summed with dimension dims[1][i] of b.
    Shapes: the dimensions of a, then those of b, without the ones summed over.
    Host:   returns at once.
    Raises: ShapeError if sizes differ, and for too many or repeated dims; DtypeError if the types differ or are bool;
            ArgumentError, ArgumentTypeError or IndexRangeError for other bad dims.
    Example:
        >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
        torch.Size([2, 5])
        >>> torch.tensordot(torch.tensor([1, 2]), torch.tensor([3, 4]), dims=1)
        tensor(11)
    """
    return REGISTRY["tensordot"](a, b, dims, out=out)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Multiply several matrices: `linalg.multi_dot` with the matrices as separate arguments.

    One matrix gives a copy of it.
    Shapes: [a, b], [b, c], ..., [y, z] give [a, z].
    Host:   returns at once.
    Raises: ShapeError unless they are matrices whose sizes fit, ValueRangeError for no matrices, ArgumentTypeError if
            one is not a tensor.
    Example:
        >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1))
        tensor([[12.],
                [12.]])
    """
    matrices = checks.tensors("chain_matmul", "matrices", matrices)
    check_ndim("chain_matmul", **{f"matrix {at}": (matrix, 2) for at, matrix in enumerate(matrices)})
    if len(matrices) == 1:
        return REGISTRY["permute_copy"].called_as("chain_matmul")(matrices[0], (0, 1), out=out)
    return REGISTRY["linalg_multi_dot"].called_as("chain_matmul")(matrices, out=out)


def spmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Multiply two matrices, as `mm` does; PyTorch's also takes sparse matrices, which flambeau does not have.

    Shapes: [n, k] and [k, m] give [n, m].
    Host:   returns at once.
    Raises: ShapeError unless they are matrices whose sizes fit, DtypeError if the types differ.
    Example:
        >>> torch.spmm(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0], [3.0]]))
        tensor([[6.]])
    """
    return REGISTRY["mm"].called_as("spmm")(input, mat2, out=out)


def dsmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Multiply two matrices, as `mm` does; PyTorch's also takes sparse matrices, which flambeau does not have.

    Shapes: [n, k] and [k, m] give [n, m].
    Host:   returns at once.
    Raises: ShapeError unless they are matrices whose sizes fit, DtypeError if the types differ.
    Example:
        >>> torch.dsmm(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0], [3.0]]))
        tensor([[6.]])
    """
    return REGISTRY["mm"].called_as("dsmm")(input, mat2, out=out)


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """Return (U, S, V) of A - M for its q largest singular values, approximated by random projections.

    niter: the number of subspace iterations (N. Halko et al., 2009, algorithm 5.1).  M: None means zeros.
    Shapes: A and M [*, m, n] give [*, m, q], [*, q] and [*, n, q].
    Host:   waits if A is on a GPU.
    Raises: ArgumentError unless 0 <= q <= min(m, n) and niter >= 0, ShapeError for fewer than 2 dimensions, DtypeError
            unless float32 or float64.
    Example:
        >>> U, S, V = torch.svd_lowrank(torch.diag(torch.tensor([3.0, 2.0, 0.0])), q=2)
        >>> S.round(decimals=2)
        tensor([3., 2.])
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    checks.tensor("svd_lowrank", "A", A)
    _check_low_rank("svd_lowrank", A, q, niter)
    if M is not None:
        checks.tensor("svd_lowrank", "M", M)
    whole = A if M is None else A - M
    is_wide = whole.shape[-2] < whole.shape[-1]
    tall = whole.mT if is_wide else whole
    factor = REGISTRY["linalg_qr"]
    basis = factor(tall @ tall.new_empty((tall.shape[-1], q)).normal_())[0]
    for _ in range(niter):
        basis = factor(tall @ factor(tall.mT @ basis)[0])[0]
    u, s, vh = REGISTRY["linalg_svd"](basis.mT @ tall, full_matrices=False)
    u, v = basis @ u, vh.mT
    return (v, s, u) if is_wide else (u, s, v)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """Return (U, S, V): the principal components of the rows of A, by `svd_lowrank`; each column of V is a direction.

    q: the number of components, min(6, m, n) by default.  center: whether the mean of the rows is subtracted first.
    niter: the number of iterations of `svd_lowrank`.
    Shapes: [*, m, n] gives [*, m, q], [*, q] and [*, n, q].
    Host:   waits if A is on a GPU.
    Raises: ArgumentError unless 0 <= q <= min(m, n) and niter >= 0, ShapeError for fewer than 2 dimensions, DtypeError
            unless float32 or float64.
    Example:
        >>> U, S, V = torch.pca_lowrank(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [3.0, 1.0]]), q=1)
        >>> U.shape, S.shape, V.shape
        (torch.Size([3, 1]), torch.Size([1]), torch.Size([2, 1]))
    """
    checks.tensor("pca_lowrank", "A", A)
    checks.flag("pca_lowrank", "center", center)
    q = sorted([6, *A.shape[-2:]])[0] if q is None else q
    _check_low_rank("pca_lowrank", A, q, niter)
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


def _check_low_rank(name: str, A: Any, q: int, niter: int) -> None:
    checks.integer(name, "q", q)
    checks.integer(name, "niter", niter)
    if A.ndim < 2:
        raise ShapeError(
            f"A needs at least 2 dimensions, got shape {list(A.shape)}", hint="pass a matrix", operator=name
        )
    most = sorted(A.shape[-2:])[0]
    if not 0 <= q <= most or niter < 0:
        raise ArgumentError(
            f"q={q} and niter={niter} do not fit a matrix of shape {list(A.shape)}",
            hint=f"pass q from 0 to {most}, and niter of at least 0",
            operator=name,
        )


def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale the rows of `input` that `indices` selects, in place, so that their norm is at most `max_norm`.

    norm_type: the p of the p-norm, such as 2.0.  Rows with a smaller norm stay unchanged.  Returns: the input.
    Shapes: input [rows, d]; indices of any shape.
    Host:   returns at once.
    Raises: IndexRangeError for an index out of range, ArgumentTypeError if input or indices are not tensors.
    Example:
        >>> table = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
        >>> torch.embedding_renorm_(table, torch.tensor([1, 1]), 5.0, 2.0)
        tensor([[3., 4.],
                [3., 4.]])
    """
    checks.tensor("embedding_renorm_", "input", input)
    checks.tensor("embedding_renorm_", "indices", indices)
    max_norm = checks.scalar("embedding_renorm_", "max_norm", max_norm)
    norm_type = checks.scalar("embedding_renorm_", "norm_type", norm_type)
    with GradMode(False):
        index = indices.reshape(-1)
        found = REGISTRY["index_select"](input, 0, index)
        norms = found.norm(norm_type, 1, True)
        scaled = found * (max_norm / (norms + SMALLEST_NORM))
        input.index_copy_(0, index, REGISTRY["where"](norms > max_norm, scaled, found))
    return input


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """Return the p-norm over the dimensions `dim`, or over all of them if dim is None.

    p: a number, inf, -inf, "fro" for 2, or "nuc" for the sum of a matrix's singular values.
    dtype: the dtype to compute in and return.
    Shapes: the input's without the dimensions `dim`, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is repeated, DtypeError for integers,
            ModeError for a p that is neither a number nor "fro" or "nuc".
    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    return REGISTRY["norm"](input, p, dim, keepdim, dtype, out=out)


def as_strided_(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Set the sizes and strides of a tensor in place, and return it: `Tensor.as_strided_` as a function.

    Shapes: the tensor gets the shape `size`.
    Raises: ValueRangeError for negative numbers, ShapeError if the view exceeds the storage, AutogradError for a leaf
            that requires a gradient.
    Example:
        >>> torch.as_strided_(torch.arange(4), (2,), (2,))
        tensor([0, 2])
    """
    checks.tensor("as_strided_", "input", input)
    return input.as_strided_(size, stride, storage_offset)


def resize_as_(input: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Resize a tensor in place to the shape of another one, and return it: `Tensor.resize_as_` as a function.

    Existing elements keep their place in memory; new ones are uninitialized.
    Raises: ArgumentTypeError if an argument is not a tensor, AutogradError if the input requires a gradient.
    Example:
        >>> torch.resize_as_(torch.arange(4), torch.zeros(1, 2))
        tensor([[0, 1]])
    """
    checks.tensor("resize_as_", "input", input)
    return input.resize_as_(the_template, memory_format=memory_format)


def _check_samples(name: str, input: Any, grid: Any) -> None:
    checks.tensor(name, "input", input)
    checks.tensor(name, "grid", grid)


def grid_sampler_2d(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Sample images at the positions of a grid: `torch.grid_sampler` of images, with the same arguments.

    Shapes: input [n, c, h, w] with grid [n, p, q, 2] gives [n, c, p, q].
    Host:   returns at once.
    Raises: ShapeError for other shapes, ArgumentError for another mode.
    Example:
        >>> torch.grid_sampler_2d(torch.tensor([[[[1.0, 3.0]]]]), torch.zeros(1, 1, 1, 2), 0, 0, True)
        tensor([[[[2.]]]])
    """
    _check_samples("grid_sampler_2d", input, grid)
    check_ndim("grid_sampler_2d", input=(input, 4), grid=(grid, 4))
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Sample volumes at the positions of a grid: `torch.grid_sampler` of volumes, with the same arguments.

    Shapes: input [n, c, d, h, w] with grid [n, o, p, q, 3] gives [n, c, o, p, q].
    Host:   returns at once.
    Raises: ShapeError for other shapes, ArgumentError for another mode, NotSupportedError for bicubic sampling.
    Example:
        >>> torch.grid_sampler_3d(torch.ones(1, 2, 3, 3, 3), torch.zeros(1, 1, 1, 1, 3), 0, 0, True).flatten()
        tensor([1., 1.])
    """
    _check_samples("grid_sampler_3d", input, grid)
    check_ndim("grid_sampler_3d", input=(input, 5), grid=(grid, 5))
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def native_channel_shuffle(input: Any, groups: int) -> Any:
    """Interleave the channels of several groups: another name of `torch.channel_shuffle`.

    Shapes: [n, c, *] gives the same.
    Host:   returns at once.
    Raises: ShapeError for fewer than 3 dimensions, or if the groups do not divide the channels, ValueRangeError for
            groups below 1.
    Example:
        >>> torch.native_channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    return REGISTRY["channel_shuffle"].called_as("native_channel_shuffle")(input, groups)


def _statistics(input: Any, dims: Any, eps: float) -> tuple[Any, Any]:
    """Return the mean and the reciprocal of the standard deviation over some dimensions, which are kept."""
    variance = input.var(dims, correction=0, keepdim=True)
    return input.mean(dims, keepdim=True), (variance + eps).rsqrt()


def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """Return (the result of `layer_norm`, the mean over the last dimensions, 1 / the standard deviation over them).

    Shapes: [*, *normalized_shape] gives the same; mean and 1 / standard deviation have size 1 in the last dimensions.
    Host:   returns at once.
    Raises: ShapeError if the last sizes of the input, weight or bias are not normalized_shape, DtypeError for integers,
            ArgumentTypeError if normalized_shape is not a list of ints.
    Example:
        >>> torch.native_layer_norm(torch.tensor([[1.0, 2.0, 3.0]]), (3,), None, None, 1e-5)
        (tensor([[-1.2247,  0.0000,  1.2247]]), tensor([[2.]]), tensor([[1.2247]]))
    """
    normalized_shape = checks.listed("native_layer_norm", "normalized_shape", "ints", normalized_shape)
    out = REGISTRY["layer_norm"].called_as("native_layer_norm")(input, normalized_shape, weight, bias, eps)
    return out, *_statistics(input, tuple(range(-len(normalized_shape), 0)), eps)


def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """Return (the result of `group_norm`, the mean of each group of channels, 1 / its standard deviation).

    N, C, HxW: the numbers of samples, channels, and elements per channel.  group: the number of groups.
    Shapes: [n, c, *] gives [n, c, *], [n, group] and [n, group].
    Host:   returns at once.
    Raises: ShapeError if the sizes or the groups do not fit the input, DtypeError for integers.
    Example:
        >>> torch.native_group_norm(torch.tensor([[[1.0, 2.0, 3.0]]]), None, None, 1, 1, 3, 1, 1e-5)
        (tensor([[[-1.2247,  0.0000,  1.2247]]]), tensor([[2.]]), tensor([[1.2247]]))
    """
    checks.tensor("native_group_norm", "input", input)
    for what, value in (("N", N), ("C", C), ("HxW", HxW), ("group", group)):
        checks.integer("native_group_norm", what, value)
    if input.numel() != N * C * HxW:
        raise ShapeError(
            f"N={N}, C={C} and HxW={HxW} have {N * C * HxW} elements, the input has shape {list(input.shape)}",
            hint="pass the first two sizes of the input as N and C, and the product of the others as HxW",
            operator="native_group_norm",
        )
    out = REGISTRY["group_norm"].called_as("native_group_norm")(input, group, weight, bias, eps)
    mean, scale = _statistics(input.reshape(N, group, C // group * HxW), -1, eps)
    return out, mean.squeeze(-1), scale.squeeze(-1)


def _drop(name: str, input: Any, p: float, train: bool) -> Any:
    """Write the result of a dropout operator into its input."""
    checks.tensor(name, "input", input)
    checks.flag(name, "train", train)
    result = REGISTRY[name[:-1]].called_as(name)(input, p, train)
    with naming(name):
        return input if result is input else input.copy_(result)


def dropout_(input: Any, p: float, train: bool) -> Any:
    """In place, set each element to 0 with probability p and multiply the others by 1 / (1 - p); return the input.

    train: if False, the input is left unchanged.
    Host:   returns at once.
    Raises: ValueRangeError if p is not in [0, 1], DtypeError for integers, ArgumentTypeError if `train` is not a bool,
            AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.dropout_(torch.ones(2), 1.0, True)
        tensor([0., 0.])
    """
    is_drawn = isinstance(input, Tensor) and input.is_cuda and train is True and 0 < p < 1
    if is_drawn and input.dtype.is_floating_point:
        return input.mul_(empty_like(input).bernoulli_(1 - p).div_(1 - p))  # drawn as by PyTorch's in-place form
    return _drop("dropout_", input, p, train)


def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place `torch.alpha_dropout`: overwrites its input, and returns it.

    Host:   returns at once.
    Raises: ValueRangeError if p is not in [0, 1], ArgumentTypeError if `train` is not a bool, AutogradError for a leaf
            that requires a gradient.
    Example:
        >>> torch.alpha_dropout_(torch.ones(2), 0.5, False)
        tensor([1., 1.])
    """
    return _drop("alpha_dropout_", input, p, train)


def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place `torch.feature_dropout`: overwrites its input, and returns it.

    Shapes: [n, c, *]; each channel is kept or dropped as a whole.
    Host:   returns at once.
    Raises: ValueRangeError if p is not in [0, 1], ShapeError for fewer than 2 dimensions, ArgumentTypeError if `train`
            is not a bool, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.feature_dropout_(torch.ones(1, 2), 1.0, True)
        tensor([[0., 0.]])
    """
    return _drop("feature_dropout_", input, p, train)


def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place `torch.feature_alpha_dropout`: overwrites its input, and returns it.

    Shapes: [n, c, *]; each channel is kept or dropped as a whole.
    Host:   returns at once.
    Raises: ValueRangeError if p is not in [0, 1], ShapeError for fewer than 2 dimensions, ArgumentTypeError if `train`
            is not a bool, AutogradError for a leaf that requires a gradient.
    Example:
        >>> torch.feature_alpha_dropout_(torch.ones(1, 2), 0.5, False)
        tensor([[1., 1.]])
    """
    return _drop("feature_alpha_dropout_", input, p, train)


__all__ = [
    "affine_grid_generator", "alpha_dropout_", "as_strided_", "batch_norm", "chain_matmul", "clone", "convolution",
    "cosine_embedding_loss", "detach", "detach_", "detach_copy", "dropout_", "dsmm", "einsum", "embedding_renorm_",
    "feature_alpha_dropout_",
    "feature_dropout_", "fill", "fill_", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "hinge_embedding_loss",
    "instance_norm", "kl_div", "margin_ranking_loss", "native_channel_shuffle", "native_group_norm",
    "native_layer_norm", "pca_lowrank", "poisson_nll_loss", "polygamma", "resize_as_", "rrelu_", "spmm", "svd_lowrank",
    "tensordot", "triplet_margin_loss",
    "zero_", *_FUNCTIONS,
]  # fmt: skip

"""Loss modules, distances and adaptive softmax.

reduction: "mean", "sum" or "none"; size_average and reduce are deprecated forms of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import callers
from ..errors import ArgumentError, IndexRangeError, ModeError, ShapeError, naming
from ..ops.losses import reduction_of
from ..ops.operator import REGISTRY
from ..tensor import checks
from ..tensor.tensor import Tensor
from . import functional as F
from .containers import ModuleList, Sequential
from .layers import Linear, PairwiseDistance
from .module import Module


class _Loss(Module):
    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        former = size_average is not None or reduce is not None
        self.reduction = reduction_of(self._get_name(), size_average, reduce, reduction) if former else reduction

    if TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...


class _WeightedLoss(_Loss):
    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        with naming(self._get_name()):
            self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """Mean squared difference of input and target.

    reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast, ArgumentError for an unknown reduction.
    Example:
        >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Mean absolute difference of input and target.

    reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast, ArgumentError for an unknown reduction.
    Example:
        >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Mean negative log-likelihood of the target class, from log-probabilities.

    weight: one factor per class.  ignore_index: a target class that does not contribute to the loss.
    reduction: "mean" (divides by the sum of the weights of the targets), "sum" or "none".
    Shapes: input [N, C] of log probabilities; target [N] of class indexes; result a scalar, or [N] with
            reduction="none".
    Raises: in forward, IndexRangeError for a target outside the classes on the CPU (a device-side assert on a GPU),
            DtypeError for an input that is not floating point or a target that is not int64, ShapeError for a weight
            that does not fit, ArgumentError for a target that does not fit or an unknown reduction.
    Example:
        >>> torch.nn.NLLLoss()(torch.tensor([[-0.5, -1.5]]), torch.tensor([1]))
        tensor(1.5000)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy: the mean negative log-likelihood of the target class, from unnormalized scores.

    weight: one factor per class.  ignore_index: a target class that does not contribute to the loss.
    reduction: "mean", "sum" or "none".
    label_smoothing: the share of the target that is distributed evenly over all classes, in [0, 1].
    Shapes: input [n, classes]; target [n] of class indexes, or [n, classes] of probabilities; result a scalar, or [n]
            with reduction="none".
    Raises: in forward, IndexRangeError for a target outside the classes on the CPU (a device-side assert on a GPU),
            DtypeError for an input that is not floating point, ShapeError for a weight that does not fit, ArgumentError
            for a target that does not fit, a label_smoothing outside [0, 1] or an unknown reduction; ModeError for an
            ignore_index with probabilities.
    Example:
        >>> torch.nn.CrossEntropyLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
        tensor(0.6931)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
        reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """PyTorch's options for computing LinearCrossEntropyLoss in chunks; they have no effect here.

    Example:
        >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=128).batch_chunk_size
        128
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the cross entropy of its scores: the layer maps the input to one score per class.

    out_features: further dimensions of the scores, [n, num_classes, *out_features].
    bias: whether the linear layer has a bias.
    Other arguments: see CrossEntropyLoss; ignore_index=None is -100.  options: has no effect.
    Shapes: input [n, in_features]; target [n, *out_features] of classes, or probabilities of the shape of the scores.
    Raises: ShapeError for a wrong number of weights, ModeError for a label_smoothing outside [0, 1].
    Example:
        >>> loss = torch.nn.LinearCrossEntropyLoss(3, 5)
        >>> loss(torch.zeros(2, 3), torch.tensor([0, 4])).detach()
        tensor(1.6094)
    """

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
        device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
        ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
    ) -> None:  # fmt: skip
        name = self._get_name()
        if weight is not None:
            checks.tensor(name, "weight", weight)
        checks.number(name, "label_smoothing", label_smoothing)
        out_features = tuple(checks.listed(name, "out_features", "ints", out_features))
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(
                f"expected weight shape to be {[num_classes]}, got {list(weight.shape)}",
                hint="pass one factor per class",
                operator=name,
            )
        if not 0 <= label_smoothing <= 1:
            raise ModeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}",
                hint="pass a number from 0 to 1: 0.1 is usual, 0.0 disables smoothing",
                operator=name,
            )
        super().__init__(weight, None, None, reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        outputs = self.num_classes, *self.out_features
        layer: Any = self.linear
        result: Tensor = F.linear_cross_entropy(
            input,
            layer.weight.reshape(*outputs, layer.in_features),
            target,
            linear_bias=None if layer.bias is None else layer.bias.reshape(outputs),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )
        return result

    def extra_repr(self) -> str:
        names = "num_classes", "out_features", "reduction", "ignore_index", "label_smoothing", "options"
        own = {name: getattr(self, name) for name in names}
        own = {"in_features": self.linear.in_features, **own}
        own["bias"] = self.linear.bias is not None
        order = "in_features", *names[:2], "bias", *names[2:]
        return ", ".join(f"{name}={own[name]}" for name in order)


class BCEWithLogitsLoss(_WeightedLoss):
    """Mean binary cross entropy of sigmoid(input), accurate for large scores too.

    weight: a factor per element.  pos_weight: a factor of the positive term, per class.  reduction: "mean", "sum" or
    "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ArgumentError if input and target differ in shape or for an unknown reduction, ShapeError for a
            weight or pos_weight that does not broadcast.
    Example:
        >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0]))
        tensor(0.6931)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        with naming(self._get_name()):
            self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class BCELoss(_WeightedLoss):
    """Mean binary cross entropy of probabilities: -(target * log(input) + (1 - target) * log(1 - input)).

    weight: a factor per element.  reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape, in [0, 1]; result a scalar, or [*] with reduction="none".
    Raises: in forward, ArgumentError if input and target differ in shape or for an unknown reduction, ValueRangeError
            for an input outside [0, 1] on the CPU (a device-side assert on a GPU), ShapeError for a weight that does
            not broadcast.
    Example:
        >>> torch.nn.BCELoss()(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """A former name of NLLLoss.

    Warns: FutureWarning.
    Shapes: as NLLLoss.
    Raises: as NLLLoss: IndexRangeError, DtypeError, ShapeError, ArgumentError.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.NLLLoss2d()(torch.tensor([[-0.5, -1.5]]), torch.tensor([1]))
        tensor(1.5000)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        callers.warn("NLLLoss2d: deprecated, use torch.nn.NLLLoss", FutureWarning)
        super().__init__(*args, **kwargs)


class SmoothL1Loss(_Loss):
    """Mean of d * d / (2 * beta) where d = |input - target| is below beta, and of d - beta / 2 elsewhere.

    reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast or beta is negative, ArgumentError for an unknown
            reduction.
    Example:
        >>> torch.nn.SmoothL1Loss()(torch.tensor([0.5, 2.0]), torch.tensor([0.0, 0.0]))
        tensor(0.8125)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Mean of d * d / 2 where d = |input - target| is at most delta, and of delta * (d - delta / 2) elsewhere.

    reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast or delta is not positive, ArgumentError for an unknown
            reduction.
    Example:
        >>> torch.nn.HuberLoss()(torch.tensor([0.5, 4.0]), torch.tensor([0.0, 0.0]))
        tensor(1.8125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        checks.number("HuberLoss", "delta", delta)
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence: the mean of target * (log(target) - input), with log-probabilities as input.

    reduction: "mean", "sum", "none", or "batchmean", the sum divided by the size of dimension 0: the divergence per
    sample.  log_target: whether the target holds logarithms too.
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast, ArgumentError for an unknown reduction.
    Example:
        >>> input, target = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 0.0]])
        >>> torch.nn.KLDivLoss(reduction="batchmean")(input, target)
        tensor(0.6931)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """Mean negative log-likelihood of Poisson counts: exp(input) - target * input.

    log_input: whether the input is the logarithm of the rate; else the loss is input - target * log(input + eps).
    full: add Stirling's approximation of log(target!).
    reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast, ArgumentError for an unknown reduction.
    Example:
        >>> torch.nn.PoissonNLLLoss()(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
        tensor(0.8591)
    """

    def __init__(
        self, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-8,
        reduce: Any = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Mean negative log-likelihood of a normal distribution: (log(var) + (input - target) ** 2 / var) / 2.

    full: add the constant log(2 pi) / 2.  eps: the lower limit of var.  reduction: "mean", "sum" or "none".
    Shapes: input and target [*]; var [*], or [*] without the last dimension, or with size 1 in one dimension; result a
            scalar, or [*] with reduction="none".
    Example:
        >>> torch.nn.GaussianNLLLoss()(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 3.0]), torch.ones(2))
        tensor(1.)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """Mean of the input where the target is 1, and of max(0, margin - input) where the target is -1.

    reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast, ArgumentError for an unknown reduction.
    Example:
        >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.2]), torch.tensor([1.0, -1.0]))
        tensor(0.6500)
    """

    def __init__(
        self, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Mean of log(1 + exp(-target * input)), with targets of 1 and -1: a two-class logistic loss.

    reduction: "mean", "sum" or "none".
    Shapes: input and target [*], of the same shape; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast, ArgumentError for an unknown reduction.
    Example:
        >>> torch.nn.SoftMarginLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Multi-label margin loss: each score of a label should exceed the scores of the other classes by 1.

    The loss of a sample is the sum of max(0, 1 - input[label] + input[other]) over all such pairs, divided by c.
    reduction: "mean", "sum" or "none".
    Shapes: input [n, c] or [c]; target of the same shape, with the labels of a sample before the first -1; result a
            scalar, or [n] with reduction="none".
    Raises: in forward, ShapeError if the shapes differ, DtypeError for a target that is not int64, IndexRangeError for
            a label outside the classes on the CPU (a device-side assert on a GPU), ArgumentError for an unknown
            reduction.
    Example:
        >>> input, target = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
        >>> torch.nn.MultiLabelMarginLoss()(input, target)
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy of sigmoid(input), averaged over the classes and then over the samples.

    weight: a factor per class.
    reduction: "mean", "sum" or "none".
    Shapes: input and target [*, c]; result a scalar, or [*] with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast or the weight does not fit, ArgumentError for an
            unknown reduction.
    Example:
        >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """Multi-class margin loss: the score of the target should exceed the scores of the other classes by `margin`.

    The loss of a sample is the sum over the other classes of max(0, margin - input[target] + input[class]) ** p,
    divided by c.  p: 1 or 2.  weight: a factor for each target class.
    reduction: "mean", "sum" or "none".
    Shapes: input [n, c] or [c]; target [n] or (); result a scalar, or as the target with reduction="none".
    Raises: ArgumentError for a p other than 1 and 2 or a weight that is not one-dimensional; in forward, ShapeError for
            a target that does not fit, DtypeError for one that is not int64, IndexRangeError for a class out of range
            on the CPU.
    Example:
        >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
        tensor(0.3250)
    """

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Any = None,
        reduce: Any = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ArgumentError(
                f"only p == 1 and p == 2 supported, got {p}", hint="use 1 or 2", operator=self._get_name()
            )
        if weight is not None and weight.ndim != 1:
            raise ArgumentError(
                f"weight must be one-dimensional, got {list(weight.shape)}",
                hint="pass one number for each class",
                operator=self._get_name(),
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class _PairLoss(_Loss):
    """Base of losses of three tensors, with a margin."""

    def __init__(
        self, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class CosineEmbeddingLoss(_PairLoss):
    """Mean of 1 - cosine where the target is 1, and of max(0, cosine - margin) where it is -1.

    The cosine is that of the angle between two vectors.  reduction: "mean", "sum" or "none".
    Shapes: inputs [n, d] or [d]; target [n] or (); result a scalar, or as the target with reduction="none".
    Raises: in forward, ShapeError if the shapes do not fit, ArgumentError for an unknown reduction.
    Example:
        >>> first, second = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
        >>> torch.nn.CosineEmbeddingLoss()(first, second, torch.tensor([1]))
        tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_PairLoss):
    """Mean of max(0, margin - target * (input1 - input2)).

    target: 1 where input1 should be the larger one, -1 where input2 should be.
    reduction: "mean", "sum" or "none".
    Shapes: the inputs have the same number of dimensions and broadcast together; result a scalar, or the broadcast
            shape with reduction="none".
    Raises: in forward, ShapeError if the shapes do not broadcast or differ in the number of dimensions, ArgumentError
            for an unknown reduction.
    Example:
        >>> first, second = torch.tensor([1.0, 1.0]), torch.tensor([0.0, 3.0])
        >>> torch.nn.MarginRankingLoss()(first, second, torch.ones(2))
        tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """Mean of max(0, margin + d(anchor, positive) - d(anchor, negative)), where d is the p-norm of the difference.

    p: the order of the norm.  eps: added to each element of the difference.  reduction: "mean", "sum" or "none".
    swap: use d(positive, negative) in place of d(anchor, negative) where it is smaller.
    reduction: "mean", "sum" or "none".
    Shapes: [*, d] each; result a scalar, or [*] with reduction="none".
    Raises: ArgumentError for a margin that is not positive, ArgumentTypeError for one that is not a number; in forward,
            ShapeError for shapes that do not fit.
    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 1.5]])
        >>> torch.nn.TripletMarginLoss()(anchor, near, far)
        tensor(0.5000)
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, size_average: Any = None,
        reduce: Any = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        _check_margin(self._get_name(), margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


def _check_margin(name: str, margin: float) -> None:
    checks.number(name, "margin", margin)
    if margin <= 0:
        raise ArgumentError(
            f"margin must be greater than 0, got {margin}", hint="pass a number above 0: 1.0 is usual", operator=name
        )


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a given distance: mean of max(0, margin + d(anchor, positive) - d(anchor, negative)).

    distance_function: d, a function of two tensors; None is the 2-norm of their difference.
    swap: use d(positive, negative) in place of d(anchor, negative) where it is smaller.
    reduction: "mean", "sum" or "none".
    Shapes: those that the distance takes; result a scalar, or the distance's shape with reduction="none".
    Raises: ArgumentError for a margin that is not positive, ArgumentTypeError for one that is not a number; in forward,
            ShapeError for different numbers of dimensions.
    Example:
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 1.5]])
        >>> torch.nn.TripletMarginWithDistanceLoss()(anchor, near, far)
        tensor(0.5000)
    """

    def __init__(
        self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
        swap: bool = False, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(reduction=reduction)
        _check_margin(self._get_name(), margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class CTCLoss(_Loss):
    """CTC loss: the negative log-probability of all alignments of the targets with the inputs (A. Graves et al., 2006).

    blank: the class that stands between labels.
    reduction: "mean" divides each loss by the length of its target, then takes the mean over the batch.
    zero_infinity: whether the loss and gradient of a target that is too long for its input are 0 instead of infinite.
    Shapes: log_probs [steps, n, classes] and targets [n, labels], or [sum of lengths] with all targets concatenated;
            without a batch, [steps, classes] and [labels]; input_lengths and target_lengths [n]; result a scalar, or
            [n] with reduction="none".
    Raises: in forward, ShapeError if the shapes or lengths do not fit, DtypeError for wrong dtypes, IndexRangeError for
            a label out of range on the CPU, ArgumentTypeError for lengths that are not ints, ArgumentError for an
            unknown reduction.
    Example:
        >>> logs = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
        >>> torch.nn.CTCLoss()(logs, torch.tensor([[1]]), [2], [1])
        tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


class _ASMoutput(NamedTuple):
    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax loss for many classes of different frequency: returns (log-probabilities of the targets, mean loss).

    Classes are ordered from frequent to rare.  A full layer, the head, scores the classes below cutoffs[0]; a smaller
    layer scores each cluster of rarer ones.  cutoffs: the first class of each cluster.  div_value: the layer of cluster
    i has in_features / div_value ** (i + 1) features.  head_bias: whether the head has a bias.
    Shapes: input [n, in_features] and target [n], or [in_features] and (); results (log-probabilities [n] or (), ()).
    Raises: ArgumentError for cutoffs that are not unique and increasing, ArgumentTypeError for ones that are not ints;
            in forward ShapeError for shapes that do not fit, and IndexRangeError for a class out of range.
    Example:
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
        >>> out, loss = layer(torch.ones(3, 8), torch.tensor([0, 7, 19]))
        >>> out.shape, loss.shape
        (torch.Size([3]), torch.Size([]))
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name = self._get_name()
        ends = list(checks.listed(name, "cutoffs", "ints", cutoffs))
        for index, end in enumerate(ends):
            checks.number(name, f"cutoffs[{index}]", end)
        is_rising = all(first < second for first, second in zip([0, *ends], ends))
        if not ends or not is_rising or ends[-1] > n_classes - 1 or any(int(end) != end for end in ends):
            raise ArgumentError(
                f"cutoffs should be unique, increasing ints between 1 and {n_classes - 1}, got {ends}",
                hint="pass the first class of each cluster but the head, in increasing order",
                operator=name,
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for number in range(self.n_clusters):
            width = int(in_features // (div_value ** (number + 1)))
            size = self.cutoffs[number + 1] - self.cutoffs[number]
            project = Linear(in_features, width, bias=False, **options)
            self.tail.append(Sequential(project, Linear(width, size, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Draw new starting values for the layers of the head and of every cluster, as `Linear.reset_parameters` does.

        Example:
            >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])
            >>> _ = torch.nn.init.constant_(layer.head.weight, 9.0)
            >>> layer.reset_parameters()
            >>> bool((layer.head.weight.abs() <= 0.5).all())
            True
        """
        for module in (self.head, *(layer for projection in self.tail for layer in projection)):
            module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        input, target = input_, target_
        for called, tensor in (("input", input), ("target", target)):
            checks.tensor(self._get_name(), called, tensor)
        if target.ndim > 1 or input.ndim != target.ndim + 1 or input.shape[:-1] != target.shape:
            raise ShapeError(
                f"input {list(input.shape)} and target {list(target.shape)} do not fit",
                hint="the shapes must be [n, in_features] and [n], or [in_features] and []",
                operator=self._get_name(),
            )
        rows, labels = (input, target) if target.ndim else (input.unsqueeze(0), target.unsqueeze(0))
        if bool(((labels < 0) | (labels >= self.n_classes)).any()):
            raise IndexRangeError(
                f"target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{labels.min().item()}, {labels.max().item()}] were found",
                hint="pass the indexes of classes as the target",
                operator=self._get_name(),
            )
        logs = F.log_softmax(self.head(rows), 1)
        column = labels.clamp(max=self.shortlist_size - 1)
        output = rows.new_zeros(labels.shape)
        for number, (start, stop) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            chosen = ((labels >= start) & (labels < stop)).nonzero().reshape(-1)
            if not chosen.numel():
                continue
            own = F.log_softmax(self.tail[number](rows.index_select(0, chosen)), 1)
            index = (labels.index_select(0, chosen) - start).unsqueeze(1)
            output = output.index_copy(0, chosen, own.gather(1, index).squeeze(1))
            column = column.index_fill(0, chosen, self.shortlist_size + number)
        output = output + logs.gather(1, column.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if target.ndim else output.squeeze(0), (-output).mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes.

        Shapes: input [n, in_features]; result [n, n_classes].
        Raises: ShapeError if the last dimension is not in_features, IndexRangeError for an input of one dimension,
                DtypeError for one of another dtype than the weights.
        Example:
            >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])
            >>> logs = layer.log_prob(torch.ones(5, 4))
            >>> logs.shape, torch.allclose(logs.exp().sum(1), torch.ones(5))
            (torch.Size([5, 6]), True)
        """
        return self._all_of(input, F.log_softmax(self.head(input), 1))

    def _all_of(self, input: Tensor, logs: Any) -> Tensor:
        parts = [logs[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            column = self.shortlist_size + number
            parts.append(F.log_softmax(tail(input), 1) + logs[:, column : column + 1])
        result: Tensor = REGISTRY["cat"](parts, 1)
        return result

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row.

        The classes of a cluster are considered only in rows where the most probable entry of the head is a cluster.
        Shapes: input [n, in_features]; result [n], int64.
        Raises: ShapeError if the last dimension is not in_features, IndexRangeError for an input of one dimension,
                DtypeError for one of another dtype than the weights.
        Example:
            >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], head_bias=True)
            >>> _ = torch.nn.init.zeros_(layer.head.weight)
            >>> layer.head.bias.data = torch.tensor([0.0, 1.0, 0.0])
            >>> layer.predict(torch.ones(3, 4))
            tensor([1, 1, 1])
        """
        logs = F.log_softmax(self.head(input), 1)
        best = logs.argmax(1)
        rare = (best >= self.shortlist_size).nonzero().reshape(-1)
        if rare.numel():
            classes = self._all_of(input.index_select(0, rare), logs.index_select(0, rare)).argmax(1)
            best = best.index_copy(0, rare, classes)
        return best

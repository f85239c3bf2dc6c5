"""Loss modules.  reduction: "mean", "sum" or "none"; size_average and reduce are deprecated forms of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import naming
from ..ops.losses import reduction_of
from ..tensor.tensor import Tensor
from . import functional as F
from .module import Module


class _Loss(Module):
    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        former = size_average is not None or reduce is not None
        self.reduction = reduction_of(self._get_name(), size_average, reduce, reduction) if former else reduction

    if TYPE_CHECKING:

        def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...


class _WeightedLoss(_Loss):
    def __init__(
        self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        with naming(self._get_name()):
            self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """Mean squared difference of input and target.

    Shapes: input and target [*], alike; result a scalar, or [*] with reduction="none".
    Example:
        >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Mean absolute difference of input and target.

    Shapes: input and target [*], alike; result a scalar, or [*] with reduction="none".
    Example:
        >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Negative log likelihood of the target class.

    weight: one factor per class;  ignore_index: a target that is not counted.
    Shapes: input [N, C] of log probabilities; target [N] of class indexes; result a scalar, or [N] with
            reduction="none".
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
    """Negative log likelihood of the target class, from unnormalized scores.

    weight: one factor per class;  ignore_index: a target that is not counted.
    label_smoothing: the share of the target that is distributed evenly over all classes, in [0, 1].
    Shapes: input [N, C]; target [N] of class indexes, or [N, C] of probabilities; result a scalar, or [N] with
            reduction="none".
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


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy from scores before the sigmoid.

    weight: a factor per element;  pos_weight: a factor of the positive term, per class.
    Shapes: input and target [*], alike; result a scalar, or [*] with reduction="none".
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

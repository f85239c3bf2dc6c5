"""Adaptive softmax: classes in clusters of decreasing frequency (E. Grave et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError, IndexRangeError, ShapeError
from ..ops.operator import REGISTRY
from ..tensor import checks
from ..tensor.tensor import Tensor
from . import functional as F
from .containers import ModuleList, Sequential
from .layers import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes and their mean negative, where frequent classes cost less than rare ones.

    cutoffs: where each cluster of rarer classes begins.  div_value: cluster i has in_features / div_value ** (i + 1)
    features.  head_bias: whether the layer of the frequent classes has a bias.
    Shapes: input [n, in_features] and target [n], or [in_features] and (); results (log-probabilities [n] or (), ()).
    Raises: ArgumentError for other cutoffs; in forward ShapeError, and IndexRangeError for a class out of range.
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
        is_rising = all(first < second for first, second in zip([0, *ends], ends))
        if not ends or not is_rising or ends[-1] > n_classes - 1 or any(int(each) != each for each in ends):
            raise ArgumentError(
                f"cutoffs should be unique, increasing ints between 1 and {n_classes - 1}, got {ends}",
                hint="each is the first class of a cluster",
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
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for number in range(self.n_clusters):
            width = int(in_features // (div_value ** (number + 1)))
            size = self.cutoffs[number + 1] - self.cutoffs[number]
            project = Linear(in_features, width, bias=False, **place)
            self.tail.append(Sequential(project, Linear(width, size, bias=False, **place)))

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        for module in (self.head, *(layer for projection in self.tail for layer in projection)):
            module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        input, target = input_, target_
        if target.ndim > 1 or input.ndim != target.ndim + 1 or input.shape[:-1] != target.shape:
            raise ShapeError(
                f"input {list(input.shape)} and target {list(target.shape)} do not fit",
                hint="[n, in_features] and [n], or [in_features] and ()",
                operator=self._get_name(),
            )
        rows, labels = (input, target) if target.ndim else (input.unsqueeze(0), target.unsqueeze(0))
        if bool(((labels < 0) | (labels >= self.n_classes)).any()):
            raise IndexRangeError(
                f"target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{labels.min().item()}, {labels.max().item()}] were found",
                hint="they are classes",
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
            place = (labels.index_select(0, chosen) - start).unsqueeze(1)
            output = output.index_copy(0, chosen, own.gather(1, place).squeeze(1))
            column = column.index_fill(0, chosen, self.shortlist_size + number)
        output = output + logs.gather(1, column.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if target.ndim else output.squeeze(0), (-output).mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: [n, in_features] gives [n, n_classes]."""
        return self._all_of(input, F.log_softmax(self.head(input), 1))

    def _all_of(self, input: Tensor, logs: Any) -> Tensor:
        parts = [logs[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            column = self.shortlist_size + number
            parts.append(F.log_softmax(tail(input), 1) + logs[:, column : column + 1])
        found: Tensor = REGISTRY["cat"](parts, 1)
        return found

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest class of each row; all classes are compared where a cluster is likeliest."""
        logs = F.log_softmax(self.head(input), 1)
        best = logs.argmax(1)
        rare = (best >= self.shortlist_size).nonzero().reshape(-1)
        if rare.numel():
            found = self._all_of(input.index_select(0, rare), logs.index_select(0, rare)).argmax(1)
            best = best.index_copy(0, rare, found)
        return best

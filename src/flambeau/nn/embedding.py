"""Embedding: rows of a table, looked up by index."""

from __future__ import annotations

from typing import Any, Self

from ..autograd.mode import GradMode
from ..errors import ArgumentError, ShapeError, naming
from ..ops.operator import REGISTRY
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .module import Layer
from .parameter import Parameter

_lookup = REGISTRY["embedding"]


def _row(name: str, padding_idx: int | None, rows: int) -> int | None:
    """A row's index from the front.  Raises ArgumentTypeError, ArgumentError if there is no such row."""
    if padding_idx is None:
        return None
    checks.integer(name, "padding_idx", padding_idx)
    if not -rows <= padding_idx < rows:
        raise ArgumentError(
            f"padding_idx {padding_idx} must be within num_embeddings {rows}",
            hint=f"use {-rows} to {rows - 1}",
            operator=name,
        )
    return padding_idx % rows


def _table(name: str, weight: Any, shape: list[int]) -> Any:
    """Return a given table after checking its shape.  Raises ShapeError."""
    if list(weight.shape) != shape:
        raise ShapeError(
            f"_weight has shape {list(weight.shape)}, num_embeddings and embedding_dim are {shape}",
            hint="they must be the same",
            operator=name,
        )
    return weight


class Embedding(Layer):
    """The rows of a table at the given indexes.

    padding_idx: a row that starts at zero and gets no gradient.
    max_norm: rows that are looked up and have a larger norm, of order norm_type, are scaled to it, in place.
    scale_grad_by_freq, sparse: must be False; gradients are dense.
    Shapes: input [*], integers; result [*, embedding_dim]; weight [num_embeddings, embedding_dim].
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.absent(name, "scale_grad_by_freq", scale_grad_by_freq)
        checks.absent(name, "sparse", sparse)
        checks.count(name, "num_embeddings", num_embeddings)
        checks.count(name, "embedding_dim", embedding_dim)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _row(name, padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        with naming(name):
            if _weight is None:
                made = factories.empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
                self.weight = Parameter(made, requires_grad=not _freeze)
                self.reset_parameters()
            else:
                self.weight = Parameter(_table(name, _weight, [num_embeddings, embedding_dim]), not _freeze)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An embedding that uses a given table; freeze: it is not trained.  Raises ShapeError."""
        checks.tensor("from_pretrained", "embeddings", embeddings)
        if embeddings.ndim != 2:
            raise ShapeError(
                f"the table must have 2 dimensions, this is {embeddings.describe()}",
                hint="its shape is [num_embeddings, embedding_dim]",
                operator="from_pretrained",
            )
        row = _row("from_pretrained", padding_idx, embeddings.shape[0])
        checks.leaf("from_pretrained", embeddings, not freeze)
        with naming("from_pretrained"):
            rows, width = embeddings.shape
            return cls(rows, width, row, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def reset_parameters(self) -> None:
        """Draw the starting values anew, from a normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with GradMode(False):
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        if self.max_norm is None:
            found: Tensor = _lookup(input, self.weight, self.padding_idx)
            return found
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        limit = "" if self.max_norm is None else f", max_norm={self.max_norm}"
        order = "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{limit}{order}"

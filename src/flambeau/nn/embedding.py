"""A table of vectors, looked up by index."""

from __future__ import annotations

from typing import Any, Self

from ..autograd.mode import GradMode
from ..errors import ArgumentError, ShapeError, naming
from ..tensor import checks, factories
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


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


class Embedding(Module):
    """The rows of a table at the given indexes.

    padding_idx: a row that starts at zero and gets no gradient.
    Shapes: input [*], integers; result [*, embedding_dim]; weight [num_embeddings, embedding_dim].
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.count(name, "num_embeddings", num_embeddings)
        checks.count(name, "embedding_dim", embedding_dim)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _row(name, padding_idx, num_embeddings)
        with naming(name):
            self.weight = Parameter(factories.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Self:
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
        made = cls(0, embeddings.shape[1], dtype=embeddings.dtype)
        made.num_embeddings = embeddings.shape[0]
        made.padding_idx = row
        made.weight = Parameter(embeddings, requires_grad=not freeze)
        return made

    def reset_parameters(self) -> None:
        """Draw the starting values anew, from a normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with GradMode(False):
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Any) -> Any:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"

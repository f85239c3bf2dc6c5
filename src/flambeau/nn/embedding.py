"""A table of vectors, looked up by index."""

from __future__ import annotations

from typing import Any, Self

from ..autograd.mode import GradMode
from ..errors import ArgumentError, ShapeError
from ..tensor import factories
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


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
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentError(f"Embedding: padding_idx {padding_idx} must be within num_embeddings {num_embeddings}")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(factories.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Self:
        """An embedding that uses a given table; freeze: it is not trained.  Raises ShapeError."""
        if embeddings.ndim != 2:
            raise ShapeError(f"Embedding: the table must have 2 dimensions, this is {embeddings.describe()}")
        made = cls(0, embeddings.shape[1], dtype=embeddings.dtype)
        made.num_embeddings = embeddings.shape[0]
        made.padding_idx = padding_idx
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

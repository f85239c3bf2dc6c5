"""Dropout."""

from __future__ import annotations

from ..errors import ArgumentError
from ..tensor import checks
from ..tensor.tensor import Tensor
from . import functional as F
from .module import Layer


class Dropout(Layer):
    """In training, set each element to 0 with probability p and multiply the others by 1 / (1 - p)."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        checks.number("Dropout", "p", p)
        if not 0 <= p <= 1:
            raise ArgumentError(
                f"dropout probability has to be between 0 and 1, but got {p}",
                hint="p=0.5 drops every other element",
                operator="Dropout",
            )
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"

"""Linear layers and reshaping modules."""

from __future__ import annotations

import math
from typing import Any

from ..errors import ArgumentTypeError, naming, shown
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .module import Layer, Module
from .parameter import Parameter


class Identity(Module):
    """Gives its input back; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Layer):
    """input @ weight.T + bias.

    Shapes: input [*, in_features]; result [*, out_features]; weight [out_features, in_features].
    Both start evenly spread in [-1/sqrt(in_features), 1/sqrt(in_features)].
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.count(name, "in_features", in_features)
        checks.count(name, "out_features", out_features)
        self.in_features = in_features
        self.out_features = out_features
        with naming(name):
            self.weight = Parameter(factories.empty(out_features, in_features, device=device, dtype=dtype))
            if bias:
                self.bias = Parameter(factories.empty(out_features, device=device, dtype=dtype))
            else:
                self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the starting values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Flatten(Layer):
    """One dimension in place of those from start_dim to end_dim."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Layer):
    """Several dimensions in place of one."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise ArgumentTypeError(
                f"unflattened_size must be a tuple of ints, got {shown(unflattened_size)}",
                hint="as in (2, 3)",
                operator="Unflatten",
            )
        for each in unflattened_size:
            checks.integer("Unflatten", "an entry of unflattened_size", each)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"

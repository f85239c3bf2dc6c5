"""Layer normalization."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentTypeError, naming, shown
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .module import Layer
from .parameter import Parameter


def _sizes(name: str, shape: Any) -> tuple[int, ...]:
    """The sizes of the last dimensions.  Raises ArgumentTypeError, ValueRangeError."""
    found = (shape,) if hasattr(shape, "__index__") else shape
    if not isinstance(found, (tuple, list)):
        raise ArgumentTypeError(
            f"normalized_shape must be an int or a list of ints, got {shown(shape)}", hint="as in (3, 4)", operator=name
        )
    for each in found:
        checks.count(name, "an entry of normalized_shape", each)
    return tuple(found)


class LayerNorm(Layer):
    """Bring the last dimensions to mean 0 and variance 1, then scale by weight and shift by bias.

    normalized_shape: the sizes of those dimensions;  eps: added to the variance.
    Shapes: input [*, *normalized_shape]; result the same; weight and bias normalized_shape.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(self._get_name(), normalized_shape)
        checks.number(self._get_name(), "eps", eps)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        wanted = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        for name, present in wanted.items():
            with naming(self._get_name()):
                made = factories.empty(self.normalized_shape, device=device, dtype=dtype) if present else None
                self.register_parameter(name, None if made is None else Parameter(made))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"

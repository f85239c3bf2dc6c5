"""torch.backends.cuda."""

from ..numerics import matmul

__all__ = ["matmul"]

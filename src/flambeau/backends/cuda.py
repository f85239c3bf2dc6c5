"""torch.backends.cuda."""

from ..numerics import matmul, preferred_blas_library, preferred_linalg_library

__all__ = ["matmul", "preferred_blas_library", "preferred_linalg_library"]

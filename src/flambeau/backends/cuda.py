"""torch.backends.cuda."""

from ..numerics import cublas_workspace_size, matmul, preferred_blas_library, preferred_linalg_library
from ..numerics import cublas_workspace_size as cublaslt_workspace_size

__all__ = [
    "cublas_workspace_size", "cublaslt_workspace_size", "matmul", "preferred_blas_library", "preferred_linalg_library",
]  # fmt: skip

"""torch.backends.cuda."""

from ..numerics import (
    cublas_workspace_size,
    cudnn_sdp_enabled,
    enable_cudnn_sdp,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    is_built,
    math_sdp_enabled,
    matmul,
    mem_efficient_sdp_enabled,
    preferred_blas_library,
    preferred_linalg_library,
    sdp_kernel,
)
from ..numerics import cublas_workspace_size as cublaslt_workspace_size

__all__ = [
    "cublas_workspace_size", "cublaslt_workspace_size", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp",
    "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled", "is_built", "math_sdp_enabled", "matmul",
    "mem_efficient_sdp_enabled", "preferred_blas_library", "preferred_linalg_library", "sdp_kernel",
]  # fmt: skip

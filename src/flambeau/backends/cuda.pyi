# Written by scripts/stubs, not by hand.
from ..numerics import cublas_workspace_size as cublas_workspace_size
from ..numerics import cublas_workspace_size as cublaslt_workspace_size
from ..numerics import cudnn_sdp_enabled as cudnn_sdp_enabled
from ..numerics import enable_cudnn_sdp as enable_cudnn_sdp
from ..numerics import enable_flash_sdp as enable_flash_sdp
from ..numerics import enable_math_sdp as enable_math_sdp
from ..numerics import enable_mem_efficient_sdp as enable_mem_efficient_sdp
from ..numerics import flash_sdp_enabled as flash_sdp_enabled
from ..numerics import is_built as is_built
from ..numerics import math_sdp_enabled as math_sdp_enabled
from ..numerics import matmul as matmul
from ..numerics import mem_efficient_sdp_enabled as mem_efficient_sdp_enabled
from ..numerics import preferred_blas_library as preferred_blas_library
from ..numerics import preferred_linalg_library as preferred_linalg_library
from ..numerics import sdp_kernel as sdp_kernel
__all__ = ["cublas_workspace_size", "cublaslt_workspace_size", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled", "is_built", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "preferred_blas_library", "preferred_linalg_library", "sdp_kernel"]

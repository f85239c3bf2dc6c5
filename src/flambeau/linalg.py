"""torch.linalg: products, factorizations, inverses and solutions of linear systems, under PyTorch's names."""

from .errors import LinAlgError
from .errors import no_attribute as _no_attribute
from .ops.einsum import linalg_cross as cross
from .ops.einsum import linalg_multi_dot as multi_dot
from .ops.einsum import linalg_vecdot as vecdot
from .ops.factorizations import linalg_cholesky as cholesky
from .ops.factorizations import linalg_cholesky_ex as cholesky_ex
from .ops.factorizations import linalg_cond as cond
from .ops.factorizations import linalg_det as det
from .ops.factorizations import linalg_diagonal as diagonal
from .ops.factorizations import linalg_eig as eig
from .ops.factorizations import linalg_eigh as eigh
from .ops.factorizations import linalg_eigvals as eigvals
from .ops.factorizations import linalg_eigvalsh as eigvalsh
from .ops.factorizations import linalg_householder_product as householder_product
from .ops.factorizations import linalg_inv as inv
from .ops.factorizations import linalg_inv_ex as inv_ex
from .ops.factorizations import linalg_lstsq as lstsq
from .ops.factorizations import linalg_lu as lu
from .ops.factorizations import linalg_lu_factor as lu_factor
from .ops.factorizations import linalg_lu_factor_ex as lu_factor_ex
from .ops.factorizations import linalg_lu_solve as lu_solve
from .ops.factorizations import linalg_matrix_exp as matrix_exp
from .ops.factorizations import linalg_matrix_power as matrix_power
from .ops.factorizations import linalg_matrix_rank as matrix_rank
from .ops.factorizations import linalg_pinv as pinv
from .ops.factorizations import linalg_qr as qr
from .ops.factorizations import linalg_slogdet as slogdet
from .ops.factorizations import linalg_solve as solve
from .ops.factorizations import linalg_solve_ex as solve_ex
from .ops.factorizations import linalg_solve_triangular as solve_triangular
from .ops.factorizations import linalg_svd as svd
from .ops.factorizations import linalg_svdvals as svdvals
from .ops.factorizations import linalg_tensorinv as tensorinv
from .ops.factorizations import linalg_tensorsolve as tensorsolve
from .ops.factorizations import linalg_vander as vander
from .ops.linalg import matmul
from .ops.norms import linalg_matrix_norm as matrix_norm
from .ops.norms import linalg_norm as norm
from .ops.norms import linalg_vector_norm as vector_norm
from .ops.symmetric import linalg_ldl_factor as ldl_factor
from .ops.symmetric import linalg_ldl_factor_ex as ldl_factor_ex
from .ops.symmetric import linalg_ldl_solve as ldl_solve

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

"""Named tuples of operators with several results: `torch.return_types`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def return_type(name: str, fields: tuple[str, ...], call: str, results: str) -> Any:
    """Make the named tuple of the operator `name`, which prints as `torch.return_types.<name>`.

    call, results: the example of the docstring: a call of the operator, and the fields of its result.
    """
    make: Any = namedtuple
    members = {"__slots__": (), "__repr__": _shown, "__module__": "flambeau.return_types"}
    shown = ", ".join(f"found.{field}" for field in fields)
    members["__doc__"] = f"""Named tuple ({", ".join(fields)}) that `{name.replace("linalg_", "linalg.")}` returns.

    Example:
        >>> found = {call}
        >>> {shown}
        {results}
    """
    return type(name, (make(name, fields),), members)


def _shown(result: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(result._fields, result))
    return f"torch.return_types.{type(result).__name__}(\n{fields})"


PAIR = "values", "indices"
COUNTS = "hist", "bin_edges"
aminmax = return_type("aminmax", ("min", "max"), "torch.aminmax(torch.tensor([3, 9, 5]))", "(tensor(3), tensor(9))")
cummax = return_type(
    "cummax", PAIR, "torch.cummax(torch.tensor([3, 9, 5]), dim=0)", "(tensor([3, 9, 9]), tensor([0, 1, 1]))"
)
cummin = return_type(
    "cummin", PAIR, "torch.cummin(torch.tensor([3, 9, 5]), dim=0)", "(tensor([3, 3, 3]), tensor([0, 0, 0]))"
)
histogram = return_type(
    "histogram",
    COUNTS,
    "torch.histogram(torch.tensor([1.0, 3.0, 3.0]), bins=2, range=(0.0, 4.0))",
    "(tensor([1., 2.]), tensor([0., 2., 4.]))",
)
histogramdd = return_type(
    "histogramdd",
    COUNTS,
    "torch.histogramdd(torch.tensor([[1.0], [3.0], [3.0]]), bins=[2], range=[0.0, 4.0])",
    "(tensor([1., 2.]), (tensor([0., 2., 4.]),))",
)
kthvalue = return_type("kthvalue", PAIR, "torch.kthvalue(torch.tensor([3, 9, 5]), 2)", "(tensor(5), tensor(2))")
max_ = return_type("max", PAIR, "torch.max(torch.tensor([3, 9, 5]), dim=0)", "(tensor(9), tensor(1))")
median = return_type("median", PAIR, "torch.median(torch.tensor([3, 9, 5]), dim=0)", "(tensor(5), tensor(2))")
min_ = return_type("min", PAIR, "torch.min(torch.tensor([3, 9, 5]), dim=0)", "(tensor(3), tensor(0))")
mode = return_type("mode", PAIR, "torch.mode(torch.tensor([3, 9, 9]))", "(tensor(9), tensor(2))")
nanmedian = return_type(
    "nanmedian", PAIR, "torch.nanmedian(torch.tensor([3, 9, 5]), dim=0)", "(tensor(5), tensor(2))"
)
sort = return_type("sort", PAIR, "torch.sort(torch.tensor([3, 9, 5]))", "(tensor([3, 5, 9]), tensor([0, 2, 1]))")
topk = return_type("topk", PAIR, "torch.topk(torch.tensor([3, 9, 5]), 2)", "(tensor([9, 5]), tensor([1, 2]))")

LU = "P", "L", "U"
frexp = return_type(
    "frexp",
    ("mantissa", "exponent"),
    "torch.frexp(torch.tensor([3.0]))",
    "(tensor([0.7500]), tensor([2], dtype=torch.int32))",
)
geqrf = return_type("geqrf", ("a", "tau"), "torch.geqrf(torch.tensor([[3.0]]))", "(tensor([[3.]]), tensor([0.]))")
linalg_cholesky_ex = return_type(
    "linalg_cholesky_ex",
    ("L", "info"),
    "torch.linalg.cholesky_ex(torch.tensor([[9.0]]))",
    "(tensor([[3.]]), tensor(0, dtype=torch.int32))",
)
linalg_eigh = return_type(
    "linalg_eigh",
    ("eigenvalues", "eigenvectors"),
    "torch.linalg.eigh(torch.tensor([[4.0]]))",
    "(tensor([4.]), tensor([[1.]]))",
)
linalg_inv_ex = return_type(
    "linalg_inv_ex",
    ("inverse", "info"),
    "torch.linalg.inv_ex(torch.tensor([[4.0]]))",
    "(tensor([[0.2500]]), tensor(0, dtype=torch.int32))",
)
linalg_ldl_factor = return_type(
    "linalg_ldl_factor",
    ("LD", "pivots"),
    "torch.linalg.ldl_factor(torch.tensor([[4.0]]))",
    "(tensor([[4.]]), tensor([1], dtype=torch.int32))",
)
linalg_ldl_factor_ex = return_type(
    "linalg_ldl_factor_ex",
    ("LD", "pivots", "info"),
    "torch.linalg.ldl_factor_ex(torch.tensor([[4.0]]))",
    "(tensor([[4.]]), tensor([1], dtype=torch.int32), tensor(0, dtype=torch.int32))",
)
linalg_lstsq = return_type(
    "linalg_lstsq",
    ("solution", "residuals", "rank", "singular_values"),
    "torch.linalg.lstsq(torch.tensor([[4.0]]), torch.ones(1, 1))",
    "(tensor([[0.2500]]), tensor([]), tensor(1), tensor([]))",
)
linalg_lu = return_type(
    "linalg_lu", LU, "torch.linalg.lu(torch.tensor([[4.0]]))", "(tensor([[1.]]), tensor([[1.]]), tensor([[4.]]))"
)
linalg_lu_factor = return_type(
    "linalg_lu_factor",
    ("LU", "pivots"),
    "torch.linalg.lu_factor(torch.tensor([[4.0]]))",
    "(tensor([[4.]]), tensor([1], dtype=torch.int32))",
)
linalg_lu_factor_ex = return_type(
    "linalg_lu_factor_ex",
    ("LU", "pivots", "info"),
    "torch.linalg.lu_factor_ex(torch.tensor([[4.0]]))",
    "(tensor([[4.]]), tensor([1], dtype=torch.int32), tensor(0, dtype=torch.int32))",
)
linalg_qr = return_type(
    "linalg_qr", ("Q", "R"), "torch.linalg.qr(torch.tensor([[4.0]]))", "(tensor([[1.]]), tensor([[4.]]))"
)
linalg_slogdet = return_type(
    "linalg_slogdet", ("sign", "logabsdet"), "torch.linalg.slogdet(torch.eye(2))", "(tensor(1.), tensor(0.))"
)
linalg_solve_ex = return_type(
    "linalg_solve_ex",
    ("result", "info"),
    "torch.linalg.solve_ex(torch.tensor([[4.0]]), torch.ones(1, 1))",
    "(tensor([[0.2500]]), tensor(0, dtype=torch.int32))",
)
linalg_svd = return_type(
    "linalg_svd",
    ("U", "S", "Vh"),
    "torch.linalg.svd(torch.tensor([[4.0]]))",
    "(tensor([[1.]]), tensor([4.]), tensor([[1.]]))",
)
lu_unpack = return_type(
    "lu_unpack",
    LU,
    "torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[4.0]])))",
    "(tensor([[1.]]), tensor([[1.]]), tensor([[4.]]))",
)
qr = return_type("qr", ("Q", "R"), "torch.qr(torch.tensor([[4.0]]))", "(tensor([[1.]]), tensor([[4.]]))")
svd = return_type(
    "svd", ("U", "S", "V"), "torch.svd(torch.tensor([[4.0]]))", "(tensor([[1.]]), tensor([4.]), tensor([[1.]]))"
)
triangular_solve = return_type(
    "triangular_solve",
    ("solution", "cloned_coefficient"),
    "torch.triangular_solve(torch.ones(1, 1), torch.tensor([[4.0]]))",
    "(tensor([[0.2500]]), tensor([[4.]]))",
)

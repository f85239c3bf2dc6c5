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
    members["__doc__"] = f"""The results of `{name}`: {", ".join(fields)}.

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

"""Named tuples of operators with several results: `torch.return_types`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def return_type(name: str, *fields: str) -> Any:
    """Make the named tuple of the operator `name`, which prints as `torch.return_types.<name>`."""
    make: Any = namedtuple
    members = {"__slots__": (), "__repr__": _shown, "__module__": "flambeau.return_types"}
    members["__doc__"] = f"The results of `{name}`: {', '.join(fields)}."
    return type(name, (make(name, fields),), members)


def _shown(result: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(result._fields, result))
    return f"torch.return_types.{type(result).__name__}(\n{fields})"


PAIR = "values", "indices"
aminmax = return_type("aminmax", "min", "max")
cummax = return_type("cummax", *PAIR)
cummin = return_type("cummin", *PAIR)
histogram = return_type("histogram", "hist", "bin_edges")
histogramdd = return_type("histogramdd", "hist", "bin_edges")
kthvalue = return_type("kthvalue", *PAIR)
max_ = return_type("max", *PAIR)
median = return_type("median", *PAIR)
min_ = return_type("min", *PAIR)
mode = return_type("mode", *PAIR)
nanmedian = return_type("nanmedian", *PAIR)
sort = return_type("sort", *PAIR)
topk = return_type("topk", *PAIR)

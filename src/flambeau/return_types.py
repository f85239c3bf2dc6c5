"""The named tuples that functions with several results return, as in `torch.return_types`."""

from typing import Any

from .ops.results import (
    aminmax,
    cummax,
    cummin,
    histogram,
    histogramdd,
    kthvalue,
    median,
    mode,
    nanmedian,
    sort,
    topk,
)
from .ops.results import max_ as max
from .ops.results import min_ as min

__all__ = [
    "aminmax", "cummax", "cummin", "histogram", "histogramdd", "kthvalue", "max", "median", "min", "mode", "nanmedian",
    "sort", "topk",
]  # fmt: skip


def _add_example(kind: Any, call: str, results: str) -> None:
    """Add an example to a class's docstring: a call that returns it, and its fields."""
    fields = ", ".join(f"found.{field}" for field in kind._fields)
    kind.__doc__ += f"\n\nExample:\n    >>> found = {call}\n    >>> {fields}\n    {results}\n"


_ROW = "torch.tensor([3, 9, 5])"
for _each in (
    (aminmax, f"torch.aminmax({_ROW})", "(tensor(3), tensor(9))"),
    (cummax, f"torch.cummax({_ROW}, dim=0)", "(tensor([3, 9, 9]), tensor([0, 1, 1]))"),
    (cummin, f"torch.cummin({_ROW}, dim=0)", "(tensor([3, 3, 3]), tensor([0, 0, 0]))"),
    (
        histogram,
        "torch.histogram(torch.tensor([1.0, 3.0, 3.0]), bins=2, range=(0.0, 4.0))",
        "(tensor([1., 2.]), tensor([0., 2., 4.]))",
    ),
    (
        histogramdd,
        "torch.histogramdd(torch.tensor([[1.0], [3.0], [3.0]]), bins=[2], range=[0.0, 4.0])",
        "(tensor([1., 2.]), (tensor([0., 2., 4.]),))",
    ),
    (kthvalue, f"torch.kthvalue({_ROW}, 2)", "(tensor(5), tensor(2))"),
    (max, f"torch.max({_ROW}, dim=0)", "(tensor(9), tensor(1))"),
    (median, f"torch.median({_ROW}, dim=0)", "(tensor(5), tensor(2))"),
    (min, f"torch.min({_ROW}, dim=0)", "(tensor(3), tensor(0))"),
    (mode, "torch.mode(torch.tensor([3, 9, 9]))", "(tensor(9), tensor(2))"),
    (nanmedian, f"torch.nanmedian({_ROW}, dim=0)", "(tensor(5), tensor(2))"),
    (sort, f"torch.sort({_ROW})", "(tensor([3, 5, 9]), tensor([0, 2, 1]))"),
    (topk, f"torch.topk({_ROW}, 2)", "(tensor([9, 5]), tensor([1, 2]))"),
):
    _add_example(*_each)

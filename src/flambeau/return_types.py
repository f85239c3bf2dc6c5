"""The named tuples that functions with several results return, as in `torch.return_types`."""

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

# Written by scripts/stubs, not by hand.
from .ops.results import aminmax as aminmax
from .ops.results import cummax as cummax
from .ops.results import cummin as cummin
from .ops.results import histogram as histogram
from .ops.results import histogramdd as histogramdd
from .ops.results import kthvalue as kthvalue
from .ops.results import max_ as max
from .ops.results import median as median
from .ops.results import min_ as min
from .ops.results import mode as mode
from .ops.results import nanmedian as nanmedian
from .ops.results import sort as sort
from .ops.results import topk as topk
__all__ = ["aminmax", "cummax", "cummin", "histogram", "histogramdd", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk"]

"""torch.cuda.nvtx: names for parts of a program, which profilers show."""

from ..runtime.profiler import mark, range, range_end, range_pop, range_push, range_start

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

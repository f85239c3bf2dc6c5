# Written by scripts/stubs, not by hand.
from ..runtime.profiler import mark as mark
from ..runtime.profiler import range as range
from ..runtime.profiler import range_end as range_end
from ..runtime.profiler import range_pop as range_pop
from ..runtime.profiler import range_push as range_push
from ..runtime.profiler import range_start as range_start
__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

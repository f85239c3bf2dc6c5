# Written by scripts/stubs, not by hand.
from ..parallel.one_process import SUM as SUM
from ..parallel.one_process import all_gather as all_gather
from ..parallel.one_process import all_reduce as all_reduce
from ..parallel.one_process import broadcast as broadcast
from ..parallel.one_process import is_available as is_available
from ..parallel.one_process import reduce as reduce
from ..parallel.one_process import reduce_scatter as reduce_scatter
from ..parallel.one_process import unique_id as unique_id
from ..parallel.one_process import version as version
__all__ = ["SUM", "all_gather", "all_reduce", "broadcast", "is_available", "reduce", "reduce_scatter", "unique_id", "version"]

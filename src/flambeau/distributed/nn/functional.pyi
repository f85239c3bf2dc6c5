# Written by scripts/stubs, not by hand.
from ...parallel.differentiable import all_gather as all_gather
from ...parallel.differentiable import all_reduce as all_reduce
from ...parallel.differentiable import all_to_all as all_to_all
from ...parallel.differentiable import all_to_all_single as all_to_all_single
from ...parallel.differentiable import broadcast as broadcast
from ...parallel.differentiable import gather as gather
from ...parallel.differentiable import reduce as reduce
from ...parallel.differentiable import reduce_scatter as reduce_scatter
from ...parallel.differentiable import scatter as scatter
__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]

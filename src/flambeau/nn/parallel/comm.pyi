# Written by scripts/stubs, not by hand.
from ...parallel.comm import broadcast as broadcast
from ...parallel.comm import broadcast_coalesced as broadcast_coalesced
from ...parallel.comm import gather as gather
from ...parallel.comm import reduce_add as reduce_add
from ...parallel.comm import reduce_add_coalesced as reduce_add_coalesced
from ...parallel.comm import scatter as scatter
__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]

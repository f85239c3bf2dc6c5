"""torch.distributed: process groups, collectives, stores."""

import importlib as _importlib

from ..importer import listing as _listing
from ..importer import submodule as _submodule
from ..parallel.backends import (
    BackendConfig,
    get_backend_config,
    get_default_backend_for_device,
    get_pg_count,
    is_backend_available,
    supports_complex,
)
from ..parallel.coalesced import CoalescingManager as _CoalescingManager  # noqa: F401  (programs import it)
from ..parallel.coalesced import (
    P2POp,
    all_gather_coalesced,
    all_reduce_coalesced,
    batch_isend_irecv,
)
from ..parallel.coalesced import coalescing_manager as _coalescing_manager  # noqa: F401
from ..parallel.collective_options import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from ..parallel.collectives import ProcessGroup
from ..parallel.collectives import make_premul_sum as _make_nccl_premul_sum  # noqa: F401  (programs import it)
from ..parallel.comm_hooks import BuiltinCommHookType
from ..parallel.debug_level import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from ..parallel.exchange import (
    CollectiveError,
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
    StoreTimeoutError,
)
from ..parallel.group import TIMEOUT as default_pg_timeout
from ..parallel.group import Backend, GroupMember, ReduceOp, Work
from ..parallel.group import GroupMember as group
from ..parallel.process_group import (
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    broadcast_object_list,
    destroy_process_group,
    gather,
    gather_object,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    irecv,
    is_available,
    is_gloo_available,
    is_initialized,
    is_nccl_available,
    is_torchelastic_launched,
    isend,
    monitored_barrier,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    recv,
    recv_object_list,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    scatter_object_list,
    send,
    send_object_list,
    split_group,
)
from ..parallel.process_group import all_gather_into_tensor as _all_gather_base  # noqa: F401  (former names)
from ..parallel.process_group import all_gather_into_tensor as all_gather_single
from ..parallel.process_group import process_group_name as _get_process_group_name  # noqa: F401
from ..parallel.process_group import rank_not_in_group as _rank_not_in_group  # noqa: F401
from ..parallel.process_group import reduce_scatter_tensor as _reduce_scatter_base  # noqa: F401
from ..parallel.process_group import reduce_scatter_tensor as reduce_scatter_single
from ..parallel.reducer import GradBucket
from ..parallel.rendezvous import register_rendezvous_handler, rendezvous
from ..parallel.shrink import shrink_group
from ..parallel.store import FileStore, HashStore, PrefixStore, Store, TCPStore
from ..runtime.absent import is_available as is_mpi_available
from ..runtime.absent import is_available as is_ucc_available
from ..runtime.absent import is_available as is_xccl_available

# rows of import_paths.py
algorithms, constants = (_importlib.import_module(f"{__name__}.{name}") for name in ("algorithms", "constants"))

__all__ = [
    "AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "BarrierOptions",
    "BroadcastOptions", "GatherOptions", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions",
    "P2POp", "Backend", "CollectiveError", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError",
    "FileStore", "GradBucket", "GroupMember", "HashStore", "PrefixStore", "ProcessGroup", "QueueEmptyError", "ReduceOp",
    "Store", "StoreTimeoutError", "TCPStore", "Work", "algorithms", "all_gather", "all_gather_coalesced",
    "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv",
    "broadcast", "broadcast_object_list", "constants", "default_pg_timeout", "destroy_process_group", "gather",
    "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "irecv",
    "is_available", "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "isend",
    "monitored_barrier", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_scatter",
    "reduce_scatter_single", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list",
    "BackendConfig", "BuiltinCommHookType", "DebugLevel", "get_backend_config", "get_debug_level",
    "get_default_backend_for_device",
    "get_pg_count", "register_rendezvous_handler", "rendezvous",
    "set_debug_level", "set_debug_level_from_env", "shrink_group", "split_group", "supports_complex",
]  # fmt: skip
__dir__ = _listing(globals(), "distributed_c10d")


def __getattr__(name: str) -> object:
    if name == "distributed_c10d":
        return _importlib.import_module(f"{__name__}.{name}")
    return _submodule(__name__, name)

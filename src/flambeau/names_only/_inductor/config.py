"""torch._inductor.config: settings of a compiler that is not there.  Programs set them; none has an effect."""

from types import SimpleNamespace as _Settings

coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
debug = False
epilogue_fusion = True
fallback_random = False
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
reorder_for_compute_comm_overlap = False
shape_padding = True
use_mixed_mm = True
cpp = _Settings(threads=-1)
triton = _Settings(cudagraph_skip_dynamic_graphs=False, cudagraph_trees=True, cudagraphs=False)

# Written by scripts/stubs, not by hand.
from ..runtime.generator import cuda_initial_seed as initial_seed
from ..runtime.generator import manual_seed_all as manual_seed_all
from ..runtime.generator import seed_all as seed_all
from ..runtime.generator import seed_current as manual_seed
from ..runtime.generator import seed_current_randomly as seed
from ..tensor.random import cuda_get_rng_state as get_rng_state
from ..tensor.random import cuda_set_rng_state as set_rng_state
from ..tensor.random import get_rng_state_all as get_rng_state_all
from ..tensor.random import set_rng_state_all as set_rng_state_all
__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all"]

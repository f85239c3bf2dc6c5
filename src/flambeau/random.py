"""torch.random: seeds and states of random number generators."""

from .runtime.generator import initial_seed, manual_seed, seed
from .tensor.random import fork_rng, get_rng_state, portable, set_rng_state

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "portable", "seed", "set_rng_state"]

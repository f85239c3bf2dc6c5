"""torch.random: seeds and states of random number generators, and the choice of their numbers."""

from .errors import no_attribute as _no_attribute
from .importer import listing as _listing
from .runtime.generator import default_generator as _default_generator
from .runtime.generator import initial_seed, manual_seed, seed
from .tensor.random import fork_rng, get_rng_state, portable, set_rng_state


def __getattr__(name: str) -> object:
    """Return the CPU generator of the current machine as `default_generator`."""
    if name == "default_generator":
        return _default_generator(-1)
    raise _no_attribute(__name__, name)


__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "portable", "seed", "set_rng_state"]
__dir__ = _listing(globals())

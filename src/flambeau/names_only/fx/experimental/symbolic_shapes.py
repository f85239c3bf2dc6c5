"""torch.fx.experimental.symbolic_shapes: sizes are numbers."""

from ....errors import no_attribute as _no_attribute
from ....tools.eager import no as is_symbolic
from ....tools.eager import same as guard_or_false
from ....tools.eager import same as guard_or_true

__all__ = ["guard_or_false", "guard_or_true", "is_symbolic"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

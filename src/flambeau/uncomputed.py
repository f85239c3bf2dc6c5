"""Values that virtual GPUs with `values=no` do not compute: what the host reads in their place.

- A copy to the host gives 1, 1.0 or True, and warns once per line of the program.
- A check inside an operator, which reads a bool, passes.
- An operator that needs any other value, for example for the shape of its result, raises NotSupportedError.
"""

from __future__ import annotations

from . import callers
from .config import VALUES_HINT
from .core import thread
from .core.tensor import TensorBase, array_of
from .dtypes import bool_
from .errors import NotSupportedError


def computes() -> bool:
    """Whether the values of the machine's tensors are computed."""
    machine = thread.machine()
    return not machine.is_started or machine.driver.capabilities.computes


def stand_in(target: TensorBase, source: TensorBase) -> None:
    """Fill a host tensor, to which `source` is copied, with what is read in place of its values.

    Raises: NotSupportedError if an operator needs the values.
    """
    operator = callers.public_operator()
    if operator is None:
        callers.warn("a value of a GPU is read here that was not computed: it is taken as 1")
    elif source.dtype is not bool_:
        raise NotSupportedError(
            f"it depends on values that are not computed, of {source.describe()}; called at {callers.call_site()}",
            hint=VALUES_HINT,
            operator=str(operator.called),
        )
    array_of(target)[...] = 1

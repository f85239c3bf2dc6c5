"""torch.distributed._functional_collectives: names that programs import; tensors are not spread over processes."""

from ..errors import no_attribute as _no_attribute
from ..parallel.process_group import all_to_all_single_autograd
from ..tools.eager import same as wait_tensor

__all__ = ["all_to_all_single_autograd", "wait_tensor"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

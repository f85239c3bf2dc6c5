"""torch._custom_ops: the former form of torch.library."""

from ..errors import no_attribute as _no_attribute
from ..tools.eager import custom_op
from ..tools.eager import decorator as impl
from ..tools.eager import decorator as impl_abstract

__all__ = ["custom_op", "impl", "impl_abstract"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

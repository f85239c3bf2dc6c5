"""torch._subclasses: tensors without values, which do not exist."""

from ...errors import no_attribute as _no_attribute
from . import fake_tensor
from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode", "fake_tensor"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

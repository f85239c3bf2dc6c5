"""torch._subclasses.fake_tensor: tensors without values, which do not exist."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import NoGraph as FakeTensor
from ...tools.eager import NoGraph as FakeTensorMode
from ...tools.eager import no as is_fake

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

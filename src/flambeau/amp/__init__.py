"""torch.amp: mixed precision, by autocast and scaled losses."""

from ..autograd.autocast import autocast, custom_bwd, custom_fwd, is_autocast_available
from ..errors import no_attribute as _no_attribute
from ..importer import listing as _listing
from . import autocast_mode, grad_scaler
from .grad_scaler import GradScaler

__all__ = [
    "GradScaler", "autocast", "autocast_mode", "custom_bwd", "custom_fwd", "grad_scaler", "is_autocast_available",
]  # fmt: skip
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

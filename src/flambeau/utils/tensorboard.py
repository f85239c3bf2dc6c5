"""torch.utils.tensorboard, through the package tensorboard."""

from ..errors import no_attribute as _no_attribute
from ..tools.tensorboard import SummaryWriter

__all__ = ["SummaryWriter"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

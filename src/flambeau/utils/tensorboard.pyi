# Written by scripts/stubs, not by hand.
from ..tools.tensorboard import SummaryWriter as SummaryWriter
__all__ = ["SummaryWriter"]

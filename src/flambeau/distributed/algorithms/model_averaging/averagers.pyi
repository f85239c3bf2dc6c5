# Written by scripts/stubs, not by hand.
from ....parallel.process_group import ModelAverager as ModelAverager
from ....parallel.process_group import PeriodicModelAverager as PeriodicModelAverager
__all__ = ["ModelAverager", "PeriodicModelAverager"]

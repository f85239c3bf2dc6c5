# Written by scripts/stubs, not by hand.
from ..parallel.process_group import dump_flight_recorder as dump
__all__ = ["dump"]

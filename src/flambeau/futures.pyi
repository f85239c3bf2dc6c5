# Written by scripts/stubs, not by hand.
from .parallel.futures import Future as Future
from .parallel.futures import collect_all as collect_all
from .parallel.futures import wait_all as wait_all
__all__ = ["Future", "collect_all", "wait_all"]

"""torch.futures: values that are there later."""

from .errors import no_attribute as _no_attribute
from .parallel.futures import Future, collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

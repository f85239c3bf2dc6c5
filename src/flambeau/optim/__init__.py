"""Optimizers, and schedules of their learning rates."""

from ..errors import no_attribute as _no_attribute
from . import lr_scheduler
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

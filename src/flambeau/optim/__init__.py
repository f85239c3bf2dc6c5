"""Optimizers, and schedules of their learning rates."""

import sys as _sys

from ..errors import no_attribute as _no_attribute
from ..importer import listing as _listing
from . import adagrad as adadelta
from . import adagrad as adafactor
from . import adagrad as rmsprop
from . import adam as adamax
from . import adam as adamw
from . import adam as nadam
from . import adam as radam
from . import lr_scheduler, swa_utils
from . import sgd as asgd
from . import sgd as rprop
from .adagrad import Adadelta, Adafactor, Adagrad, RMSprop
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .lbfgs import LBFGS
from .optimizer import Optimizer, swap_in_optimizer_params_and_state
from .sgd import ASGD, SGD, Muon, Rprop

# PyTorch has a module per optimizer: each of these names imports the module that defines it.  scripts/stubs writes
# their stubs.
_MODULES = "adadelta", "adafactor", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop"
_sys.modules.update({f"{__name__}.{_name}": getattr(_sys.modules[__name__], _name) for _name in _MODULES})

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "adadelta", "adafactor", "adamax", "adamw", "asgd", "lr_scheduler",
    "nadam", "radam", "rmsprop", "rprop", "swa_utils", "swap_in_optimizer_params_and_state",
]  # fmt: skip
__dir__ = _listing(globals(), "adagrad", "adam", "lbfgs", "optimizer", "sgd")


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

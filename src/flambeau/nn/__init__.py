"""Neural networks: modules, parameters, initialization and functions."""

from ..errors import no_attribute as _no_attribute
from . import functional, init
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .layers import (
    GELU,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
    Unflatten,
)
from .loss import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from .module import Module
from .parameter import Buffer, Parameter
from .shuffles import ChannelShuffle, PixelShuffle, PixelUnshuffle

from ..parallel.data_parallel import DataParallel  # isort: skip  (it derives from Module)
from . import parallel, utils  # isort: skip

__all__ = [
    "BCEWithLogitsLoss", "Buffer", "ChannelShuffle", "CrossEntropyLoss", "DataParallel", "Dropout", "Embedding",
    "Flatten", "GELU",
    "Identity", "L1Loss", "LayerNorm", "Linear", "LogSoftmax", "MSELoss", "Module", "ModuleDict", "ModuleList",
    "NLLLoss", "Parameter", "ParameterList", "PixelShuffle",
    "PixelUnshuffle", "ReLU", "Sequential", "SiLU", "Sigmoid", "Softmax", "Tanh", "Unflatten",
    "functional", "init", "parallel", "utils",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

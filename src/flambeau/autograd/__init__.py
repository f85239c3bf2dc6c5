"""torch.autograd: gradients, under PyTorch's names."""

import typing as _typing

from ..importer import listing as _listing
from ..importer import submodule as _submodule
from . import forward_ad, function, functional, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .gradients import backward, grad
from .mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

if _typing.TYPE_CHECKING:
    from . import mode as grad_mode  # for type checkers: import_paths.py makes this submodule

    Variable: type[_typing.Any]  # set by the package

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
__dir__ = _listing(globals(), "anomaly_mode")


def __getattr__(name: str) -> object:
    return _submodule(__name__, name)

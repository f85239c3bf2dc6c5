"""Tools for tests of device code: fresh machines, every schedule, gradient checks, the contract suite of drivers."""

from ..autograd.gradcheck import gradcheck, gradgradcheck
from ..importer import listing as _listing
from ..runtime.faults import faults
from ..tools.profiler import trace
from ..tools.race_report import check
from .machine import machine
from .tensors import assert_close, make_tensor
from .user_kernels import check_kernel

__all__ = [
    "assert_close", "check", "check_kernel", "faults", "gradcheck", "gradgradcheck", "machine", "make_tensor", "trace",
]  # fmt: skip
__dir__ = _listing(globals())

"""Choice of the implementation of a library operation: an NVIDIA library if it supports it, else flambeau's own kernel.

Small products always use flambeau's own kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ... import config
from ...core.nvidia import Stream
from ...errors import NotSupportedError
from ...kernel import Grid, Kernel
from ...library_operation import (
    CONVOLUTIONS,
    Attention,
    AttentionBackward,
    Convolution,
    Gemm,
    LibraryOperation,
)
from ...recurrent_operation import Recurrent, RecurrentBackward
from ...solver_operation import SOLVERS, Solver
from . import blas, dnn, own_kernels, recurrent, solver
from .devices import Devices
from .own_kernels import Launch, OwnConvolution, OwnProduct

LIBRARIES = SOLVERS | {"gemm", "attention", "attention_backward", "recurrent", "recurrent_backward", *CONVOLUTIONS}


class Plan(Protocol):
    """A prepared library call.  native: its compiled runner, or None."""

    @property
    def workspace_nbytes(self) -> int: ...
    @property
    def native(self) -> Any: ...
    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None: ...


class Planner:
    """Makes plans.  In every call, the driver's lock is held and the device's context is current.

    load: loads a kernel on a device, and returns the function that launches it.
    prepare: makes the `Plan.native` that launches a kernel on a device with a grid and arguments, and writes the
    operands' addresses at the given offsets.
    """

    def __init__(
        self,
        devices: Devices,
        load: Callable[[int, Kernel], Launch],
        prepare: Callable[[int, Kernel, Grid, bytes, tuple[int, ...]], Any],
    ) -> None:
        self._devices = devices
        self._load = load
        self._prepare = prepare
        self._granted = config.blas_workspace()
        self._blas: dict[int, blas.Blas | None] = {}
        self._dnn: dict[int, dnn.Dnn | None] = {}
        self._recurrent: dict[int, recurrent.RecurrentPlanner | None] = {}
        self._solvers: dict[int, solver.SolverPlanner | None] = {}

    def plan(self, device: int, problem: LibraryOperation) -> Plan:
        """Make a plan.  Raises NotSupportedError if no library or kernel supports the problem."""
        if isinstance(problem, Gemm):
            library = None if own_kernels.is_small(problem) else self._cublas_plan(device, problem)
            return library or self._own_product(device, problem)
        if isinstance(problem, (Attention, AttentionBackward)):
            return self._cudnn_plan(device, problem) or self._own_attention(device, problem)
        if isinstance(problem, Convolution):
            return self._cudnn_plan(device, problem) or OwnConvolution(problem, partial(self._load, device))
        if isinstance(problem, (Recurrent, RecurrentBackward)):
            return self._recurrent_plan(device, problem)
        if isinstance(problem, Solver) and problem.kind in SOLVERS:
            return self._solver_plan(device, problem)
        raise NotSupportedError(f"library_plan of kind {problem.kind}: not supported by the nvidia driver")

    def workspace(self, device: int) -> int:
        """Return the size of cuBLASLt's workspace in bytes."""
        if self._granted is not None:
            return self._granted
        is_hopper = self._devices.attribute(device, "COMPUTE_CAPABILITY_MAJOR") >= 9
        return blas.WORKSPACE_BYTES_HOPPER if is_hopper else blas.WORKSPACE_BYTES

    def _own_product(self, device: int, problem: Gemm) -> Plan:
        kernel = own_kernels.kernel_of(problem)
        plan = OwnProduct(problem, self._load(device, kernel))
        if plan.grid is not None:
            unaddressed = plan.packed((0,) * own_kernels.OPERANDS)
            plan.native = self._prepare(device, kernel, plan.grid, unaddressed, kernel.offsets[: own_kernels.OPERANDS])
        return plan

    def _cublas_plan(self, device: int, problem: Gemm) -> Plan | None:
        if problem.dtype not in blas.DATA_TYPES:
            return None
        if device not in self._blas:
            library = blas.load()
            self._blas[device] = blas.Blas(library, device, self.workspace(device)) if library else None
        cublas = self._blas[device]
        if cublas is None:
            own_kernels.warn_cublas_is_missing()
            return None
        return cublas.plan(problem)

    def _own_attention(self, device: int, problem: Attention | AttentionBackward) -> Plan:
        load = partial(self._load, device)
        if isinstance(problem, AttentionBackward):
            return own_kernels.AttentionBackwardFallback(problem, load)
        return own_kernels.AttentionFallback(problem, load)

    def _cudnn_plan(self, device: int, problem: dnn.Problem) -> Plan | None:
        if not dnn.takes(problem):
            return None
        cudnn = self._cudnn(device, dnn.slowed(problem))
        return cudnn.plan(problem) if cudnn else None

    def _recurrent_plan(self, device: int, problem: recurrent.Problem) -> Plan:
        if device not in self._recurrent:
            cudnn = self._cudnn(device, recurrent.CLAUSE)
            self._recurrent[device] = recurrent.RecurrentPlanner(cudnn) if cudnn else None
        planner = self._recurrent[device]
        if planner is None:
            raise NotSupportedError(f"{problem.kind} needs cuDNN, which is not installed", operator="library_plan")
        return planner.plan(problem)

    def _solver_plan(self, device: int, problem: Solver) -> Plan:
        if device not in self._solvers:
            cdll = solver.load()
            self._solvers[device] = solver.SolverPlanner(cdll, device, partial(self._load, device)) if cdll else None
        planner = self._solvers[device]
        if planner is None:
            solver.warn_is_missing()
            raise NotSupportedError(f"{problem.kind} needs cuSOLVER, which is not installed", operator="library_plan")
        return planner.plan(problem)

    def _cudnn(self, device: int, slowed: str) -> dnn.Dnn | None:
        if device not in self._dnn:
            self._dnn[device] = self._start_cudnn(device, slowed)
        return self._dnn[device]

    def _start_cudnn(self, device: int, slowed: str) -> dnn.Dnn | None:
        library, problem = dnn.load()
        if library is None:
            dnn.warn(problem, slowed)
            return None
        return dnn.Dnn(library, device, self._devices.properties(device).name, self._devices.arch(device))

"""Attention by cuDNN, through the backend interface of its graph library and ctypes.

- A plan is chosen and compiled by cuDNN once per problem and device (0.2 to 0.8 s), and kept on disk as cuDNN writes
  it, with its machine code.
- A handle of cuDNN has one current stream.  Each device has one handle, and a run holds the device's lock for as long
  as it takes to queue the work.
- A run's addresses are a descriptor of cuDNN's.  The last PACKS of a plan are kept, for addresses come again.
- Releases before OLDEST give wrong gradients for some numbers of keys; they are not used.
- The device's context is current whenever a function here is called.
"""

from __future__ import annotations

import ctypes
import importlib
import warnings
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from math import inf
from typing import Any

from ...core.native import Lock
from ...dtypes import dtype
from ...errors import NotSupportedError
from ...problem import Attention, AttentionBackward
from . import library
from .attention_graph import Program, attention, attention_backward
from .cache import files_of
from .dnn_graph import (
    ADDRESS,
    ALIGNMENT,
    CHAR,
    DATA_TYPES,
    ENGINE_CONFIG,
    ENGINE_HEURISTIC,
    HANDLE,
    HEURISTIC,
    INT64,
    PACK,
    PLAN,
    Backend,
    choice,
    descriptors,
    numbers,
)
from .handles import Stream
from .shipped import cache_key

SONAMES = ("libcudnn.so.9",)
OLDEST = 91_600  # 9.16.0
PACKS = 64  # per plan
CONFIGURATIONS = 16  # asked for; the first that compiles is taken
WORKSPACE_ALIGNMENT = 256  # bytes
MAX_HEAD_DIM, MAX_UNEQUAL_DIM = 256, 128  # the latter where values have another one than keys

# cudnn_graph.h: cudnnBackendHeurMode_t
HEURISTIC_A, HEURISTIC_FALLBACK = 3, 2
# cudnn_graph.h: cudnnBackendAttributeName_t
HEURISTIC_MODE, HEURISTIC_GRAPH, HEURISTIC_RESULTS = 200, 201, 202
PLAN_HANDLE, PLAN_CONFIGURATION, PLAN_WORKSPACE, PLAN_JSON = 400, 401, 402, 405
PACK_UIDS, PACK_POINTERS, PACK_WORKSPACE = 1000, 1001, 1003

HALVES: tuple[dtype, ...] = tuple(each for each in DATA_TYPES if each.is_floating_point and each.itemsize == 2)
AttentionProblem = Attention | AttentionBackward

SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cudnnCreate": (POINTER(c_void_p),),
    "cudnnSetStream": (c_void_p, c_void_p),
    "cudnnBackendCreateDescriptor": (c_int, POINTER(c_void_p)),
    "cudnnBackendDestroyDescriptor": (c_void_p,),
    "cudnnBackendFinalize": (c_void_p,),
    "cudnnBackendSetAttribute": (c_void_p, c_int, c_int, c_int64, c_void_p),
    "cudnnBackendGetAttribute": (c_void_p, c_int, c_int, c_int64, POINTER(c_int64), c_void_p),
    "cudnnBackendExecute": (c_void_p, c_void_p, c_void_p),
}


def load() -> tuple[Any | None, str]:
    """The library with its signatures declared, and ""; or None, and why there is none that can be used."""
    loaded = _find()
    if loaded is None:
        return None, "cuDNN was not found"
    for name in ("cudnnGetVersion", "cudnnGetCudartVersion"):
        getattr(loaded, name).restype = c_size_t
    version, major = loaded.cudnnGetVersion(), loaded.cudnnGetCudartVersion() // 1000
    if version < OLDEST:
        return None, f"cuDNN {version} is older than {OLDEST}"
    if not _has_blas(major):
        return None, f"cuDNN needs cuBLAS for CUDA {major}, which was not found"
    for name, argtypes in SIGNATURES.items():
        function = getattr(loaded, name)
        function.argtypes = argtypes
        function.restype = c_int
    loaded.cudnnGetLastErrorString.argtypes = (c_char_p, c_size_t)
    loaded.cudnnGetLastErrorString.restype = None
    return loaded, ""


def _find() -> ctypes.CDLL | None:
    for path in (*_packaged(), *SONAMES):
        try:
            return ctypes.CDLL(path)
        except OSError:  # not there: the next one may be
            continue
    return None


def _packaged() -> tuple[str, ...]:
    """Where NVIDIA's wheels, or a toolkit, have the library."""
    try:
        found: Any = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib("cudnn")
    except (ImportError, RuntimeError):  # no pathfinder, or it finds none
        return ()
    return (found.abs_path,) if found.abs_path else ()


def _has_blas(major: int) -> bool:
    """Whether the cuBLASLt that cuDNN opens by its name can be had: where it cannot, cuDNN ends the process."""
    try:
        ctypes.CDLL(f"libcublasLt.so.{major}")
    except OSError:
        return False
    return True


@cache
def warn(reason: str) -> None:
    """Say once per process and reason that attention is slow, and what helps."""
    warnings.warn(
        f"{reason}, so attention runs many times slower on flambeau's own kernel: "
        "pip install nvidia-cudnn-cu13 (nvidia-cudnn-cu12 for CUDA 12)",
        RuntimeWarning,
        stacklevel=2,
    )


def takes(problem: AttentionProblem) -> bool:
    """Whether cuDNN can be asked for a problem at all.  It may still refuse it."""
    if isinstance(problem, AttentionBackward):
        forward = problem.forward
        grads = problem.query_grad_strides, problem.key_grad_strides, problem.value_grad_strides, problem.grad_strides
        # some releases end the process over the gradients of a single query
        return forward.queries > 1 and takes(forward) and all(_is_loadable(each, forward.dtype) for each in grads)
    dims = problem.head_dim, problem.value_dim
    limit = MAX_HEAD_DIM if dims[0] == dims[1] else MAX_UNEQUAL_DIM
    strides = problem.query_strides, problem.key_strides, problem.value_strides, problem.out_strides
    return (
        problem.dtype in HALVES
        and problem.pairs > 0
        and 0 < problem.scale < inf  # with others its causal kernels give NaN
        and max(dims) <= limit
        and all(dim * problem.dtype.itemsize % ALIGNMENT == 0 for dim in dims)
        and all(_is_loadable(each, problem.dtype) for each in strides)
    )


def _is_loadable(strides: tuple[int, ...], of: dtype) -> bool:
    """Whether every row begins at a multiple of ALIGNMENT bytes, if the first one does."""
    return strides[-1] == 1 and all(step > 0 and step * of.itemsize % ALIGNMENT == 0 for step in strides[:-1])


class Dnn:
    """cuDNN on one device."""

    def __init__(self, loaded: Any, device: int, name: str, arch: str) -> None:
        """name, arch: the device's, which kept plans depend on.  Raises AcceleratorError."""
        self._target = f"{name} {arch}"
        self._version = loaded.cudnnGetVersion()
        self.backend = Backend(loaded)
        self.device = device
        self.lock = Lock()
        made = c_void_p()
        self.backend.call("cudnnCreate", byref(made))
        self.handle = int(made.value or 0)
        self.stream = 0  # the handle's, as its creation leaves it
        self._library = loaded

    def plan(self, problem: AttentionProblem) -> DnnPlan | None:
        """A way to solve the problem, or None, with a warning, if cuDNN has none."""
        if not takes(problem):
            return None
        try:
            program = self._program(problem)
            return DnnPlan(self, program, self._compiled(problem, program))
        except NotSupportedError as refusal:
            warn(f"cuDNN refuses an {problem.kind} ({refusal})")
            return None

    def execute(self, plan: int, pack: int, stream: Stream) -> None:
        """Queue a plan.  The lock is held.  Raises AcceleratorError."""
        if stream.raw != self.stream:
            self.backend.call("cudnnSetStream", self.handle, stream.raw)
            self.stream = stream.raw
        self.backend.call("cudnnBackendExecute", self.handle, plan, pack)

    def native_execution(self, plan: int, packs: dict[Any, int]) -> Any:
        """What executes a plan without ctypes, or None where the package was built without compiled calls."""
        native = library.native()
        if native is None or not isinstance(self._library, ctypes.CDLL):
            return None
        calls = self._library.cudnnBackendExecute, self._library.cudnnSetStream
        return native.Execution(self, *(ctypes.cast(each, c_void_p).value for each in calls), plan, packs)

    def _program(self, problem: AttentionProblem) -> Program:
        if isinstance(problem, AttentionBackward):
            return attention_backward(self.backend, problem)
        return attention(self.backend, problem)

    def _compiled(self, problem: AttentionProblem, program: Program) -> int:
        """The plan, as it is on disk or compiled now."""
        files = files_of("dnn")
        key = cache_key(repr(problem), self._target, divmod(self._version, 10_000))
        kept = files.read(key)
        if kept is not None:
            plan = self._restored(kept)
            if plan is not None:
                return plan
        plan = self._chosen(program)
        files.write(key, self._text(plan))
        return plan

    def _restored(self, kept: bytes) -> int | None:
        """The plan that `_text` wrote, or None if this cuDNN does not take it."""
        text = CHAR, ctypes.create_string_buffer(kept, len(kept))
        try:
            return self.backend.make(PLAN, {**self._owner(PLAN_HANDLE), PLAN_JSON: text})
        except NotSupportedError:  # made by another driver: it is compiled again
            return None

    def _text(self, plan: int) -> bytes:
        size = self.backend.get(plan, PLAN_JSON, (CHAR, (c_char * 0)()))
        text = ctypes.create_string_buffer(size)
        self.backend.get(plan, PLAN_JSON, (CHAR, text))
        return text.raw

    def _chosen(self, program: Program) -> int:
        """Compile the first configuration that can be.  Raises NotSupportedError if there is none."""
        graph = program.graph.finish(self.handle)
        refusal = NotSupportedError("it has no kernel for it")
        for mode in (HEURISTIC_A, HEURISTIC_FALLBACK):
            for configuration in self._configurations(graph, mode):
                attributes = {**self._owner(PLAN_HANDLE), PLAN_CONFIGURATION: descriptors(configuration)}
                try:
                    return self.backend.make(PLAN, attributes)
                except NotSupportedError as failure:
                    refusal = failure
        raise refusal

    def _configurations(self, graph: int, mode: int) -> list[int]:
        """cuDNN's suggestions, best first."""
        asked = {HEURISTIC_GRAPH: descriptors(graph), HEURISTIC_MODE: choice(HEURISTIC, mode)}
        heuristic = self.backend.make(ENGINE_HEURISTIC, asked)
        made = [self.backend.create(ENGINE_CONFIG) for _ in range(CONFIGURATIONS)]
        found = self.backend.get(heuristic, HEURISTIC_RESULTS, descriptors(*made))
        return made[:found]

    def _owner(self, attribute: int) -> dict[int, Any]:
        return {attribute: (HANDLE, (c_void_p * 1)(self.handle))}


class DnnPlan:
    """One problem, ready to run on any addresses.  It lives as long as the driver.

    native: what runs it without Python in between, or None.
    """

    def __init__(self, dnn: Dnn, program: Program, plan: int) -> None:
        self._dnn = dnn
        self._plan = plan
        self._scalars = {uid: c_float(value) for uid, value in program.scalars.items()}
        size = (c_int64 * 1)()
        dnn.backend.get(plan, PLAN_WORKSPACE, (INT64, size))
        self._offsets: list[int] = []
        self.workspace_nbytes = _rounded(size[0])
        for nbytes in program.scratch.values():
            self._offsets.append(self.workspace_nbytes)
            self.workspace_nbytes += _rounded(nbytes)
        self._uids = numbers(*program.operands, *program.scratch, *program.scalars)
        self._packs: dict[tuple[tuple[int, ...], int], int] = {}
        self.native = dnn.native_execution(plan, self._packs)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        """Queue the problem on its operands' addresses.  Raises AcceleratorError."""
        key = addresses, workspace
        with self._dnn.lock:
            pack = self._packs.get(key)
            if pack is None:
                pack = self._packs[key] = self._pack(addresses, workspace)
            self._dnn.execute(self._plan, pack, stream)

    def _pack(self, addresses: tuple[int, ...], workspace: int) -> int:
        backend = self._dnn.backend
        if len(self._packs) >= PACKS:
            if self.native is not None:
                self.native.forget()
            backend.destroy(self._packs.pop(next(iter(self._packs))))
        scratch = [workspace + offset for offset in self._offsets]
        scalars = [ctypes.addressof(each) for each in self._scalars.values()]
        pointers = [*addresses, *scratch, *scalars]
        attributes = {
            PACK_UIDS: self._uids,
            PACK_POINTERS: (ADDRESS, (c_void_p * len(pointers))(*pointers)),
            PACK_WORKSPACE: (ADDRESS, (c_void_p * 1)(workspace)),
        }
        return backend.make(PACK, attributes)


def _rounded(nbytes: int) -> int:
    return -(-nbytes // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT

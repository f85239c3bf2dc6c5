"""Times of NVIDIA's driver alone: the lower bounds of host time and copies.

Launches are made by a loop in C, which is compiled when it is needed; where there is no C compiler, by a Python loop
over cuda.bindings, and the result says so.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from ctypes import c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import flambeau
from flambeau.library_operation import Gemm

from .times import BURST, Missing, Sizes, Take, Work, device_burst, device_ms

LOOP = """
typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                        void **);
int launches(launch_t launch, void *kernel, void *stream, int count) {
    for (int done = 0; done < count; ++done) {
        int code = launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0);
        if (code) return code;
    }
    return 0;
}
typedef int (*multiply_t)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                          void *, void *, void *, unsigned long, void *);
int products(multiply_t multiply, void **p, int count) {
    for (int done = 0; done < count; ++done) {
        int code = multiply(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13],
                            (unsigned long)p[14], p[15]);
        if (code) return code;
    }
    return 0;
}
typedef int (*execute_t)(void *, void *, void *);
int executions(execute_t execute, void *handle, void *plan, void *pack, int count) {
    for (int done = 0; done < count; ++done) {
        int code = execute(handle, plan, pack);
        if (code) return code;
    }
    return 0;
}
typedef int (*replay_t)(void *, void *);
typedef int (*wait_t)(void *);
int replays(replay_t replay, wait_t wait, void *graph, void *stream, int count) {
    for (int done = 0; done < count; ++done) {
        int code = replay(graph, stream);
        if (code) return code;
    }
    return wait(stream);
}
"""
EMPTY = 'extern "C" __global__ void nothing() {}'
SIDE = 16  # of the matrices
WORKSPACE = 32 << 20  # bytes
GRID = (1, 1, 1, 32, 1, 1)


def method() -> str:
    """How launches are made."""
    return "C loop" if loop() is not None else "Python loop over cuda.bindings"


@functools.cache
def loop() -> Any | None:
    """The loop in C, or None if there is no compiler that works."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(LOOP)
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(built), str(source)]
        if subprocess.run(command, capture_output=True).returncode:
            return None
        made = ctypes.CDLL(str(built))
    made.launches.argtypes = c_void_p, c_void_p, c_void_p, c_int
    made.products.argtypes = c_void_p, c_void_p, c_int
    made.executions.argtypes = c_void_p, c_void_p, c_void_p, c_void_p, c_int
    made.replays.argtypes = c_void_p, c_void_p, c_void_p, c_void_p, c_int
    return made


def launch(_: Sizes) -> Take:
    """Microseconds of host time per launch of an empty kernel."""
    kernel = _kernel()
    in_c = loop()
    if in_c is None:
        return lambda: _launch_us(functools.partial(_python_loop, kernel))
    address = ctypes.cast(_driver().cuLaunchKernel, c_void_p)
    return lambda: _launch_us(lambda: in_c.launches(address, kernel, None, BURST))


def product(_: Sizes) -> Take:
    """Microseconds of host time per cublasLtMatmul of two such matrices."""
    from flambeau.core import thread

    in_c, x = loop(), flambeau.ones(SIDE, SIDE, device="cuda")
    out, workspace = x @ x, flambeau.empty(WORKSPACE, dtype=flambeau.uint8, device="cuda")
    steps = (SIDE * SIDE, SIDE, 1)
    plan = thread.machine().driver._planner._cublas_plan(0, Gemm(flambeau.float32, 1, SIDE, SIDE, SIDE, *[steps] * 3))
    if plan is None:
        raise Missing("cuBLAS did not do it")
    blas, algorithm = plan._blas, plan.find_algorithm(256)
    assert algorithm is not None
    values = (
        blas.handle.value, plan._operation.value, ctypes.addressof(plan._alpha), x.address(), plan._a.value,
        x.address(), plan._b.value, ctypes.addressof(plan._beta), out.address(), plan._d.value, out.address(),
        plan._d.value, algorithm.address, workspace.address(), plan.workspace_nbytes, None,
    )  # fmt: skip
    multiply, kept = blas._library.cublasLtMatmul, (plan, x, out, workspace)
    if in_c is None:
        return lambda: _launch_us(lambda: max(multiply(*values) for _ in range(BURST)) if kept else 0)
    address, given = ctypes.cast(multiply, c_void_p), (c_void_p * len(values))(*values)
    return lambda: _launch_us(lambda: in_c.products(address, given, BURST) if kept else 0)


def executions(make: Callable[[Any, Sizes], Work]) -> Callable[[Sizes], Take]:
    """Microseconds of host time per cudnnBackendExecute of the problem in a call of flambeau's."""

    def prepare(sizes: Sizes) -> Take:
        work = make(flambeau, sizes)
        plan, pack, made = _executed(work.call)
        calls = functools.partial(_execute, plan._dnn, plan._plan, pack)
        kept = work, made  # whose memory it works on
        return lambda: _launch_us(calls) if kept else 0

    return prepare


def _executed(call: Callable[[], Any]) -> tuple[Any, int, Any]:
    """The last plan of cuDNN's that a call runs, a pack of its addresses, and the call's result."""
    from flambeau.core import thread
    from flambeau.driver.nvidia.dnn import DnnPlan

    runs: list[tuple[Any, int]] = []
    run, compiled = DnnPlan.run, thread.machine().driver._library_calls

    def noted(plan: Any, addresses: tuple[int, ...], workspace: int, stream: Any) -> None:
        runs.append((plan, plan.pack(addresses, workspace)))
        run(plan, addresses, workspace, stream)

    call()  # warm: what follows makes no plan
    kept = dict(compiled)
    compiled.clear()  # for this call, plans run by Python code
    DnnPlan.run = noted  # type: ignore[method-assign]
    try:
        made = call()
    finally:
        DnnPlan.run = run  # type: ignore[method-assign]
        compiled.update(kept)
    if not runs:
        raise Missing("cuDNN did not do it")
    return *runs[-1], made


def _execute(dnn: Any, plan: int, pack: int) -> int:
    in_c, execute = loop(), dnn._library.cudnnBackendExecute
    if in_c is None:
        return max(execute(dnn.handle, plan, pack) for _ in range(BURST))
    return int(in_c.executions(ctypes.cast(execute, c_void_p), dnn.handle, plan, pack, BURST))


def launchable(graph: Any) -> int:
    """The CUgraphExec of a CUDAGraph of flambeau's."""
    from flambeau.core import thread

    return int(thread.machine().driver._launchables[graph._launchable].cu)


def replays(graph: int, count: int) -> Take:
    """Microseconds per cuGraphLaunch on the default stream, `count` of them and then the wait for their work."""
    in_c, launch, wait = loop(), _driver().cuGraphLaunch, _driver().cuStreamSynchronize
    if in_c is None:
        return lambda: _launch_us(
            lambda: max(*(launch(c_void_p(graph), None) for _ in range(count)), wait(None)), count
        )
    replay, waiting = ctypes.cast(launch, c_void_p), ctypes.cast(wait, c_void_p)
    return lambda: _launch_us(lambda: in_c.replays(replay, waiting, graph, None, count), count)


def _launch_us(launches: Any, count: int = BURST) -> float:
    flambeau.cuda.synchronize()
    start = time.perf_counter_ns()
    code = launches()
    taken = time.perf_counter_ns() - start
    flambeau.cuda.synchronize()
    _check(code, "a call of the driver")
    return taken / count / 1000


def _python_loop(kernel: int) -> int:
    from cuda.bindings import driver

    for _ in range(BURST):
        code = driver.cuLaunchKernel(kernel, *GRID, 0, 0, 0, 0)[0]
        if code:
            return int(code)
    return 0


@functools.cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _check(code: int, what: str) -> None:
    assert code == 0, f"{what} gave {code}"


@functools.cache
def _kernel() -> int:
    """A loaded empty kernel's CUfunction."""
    from flambeau.driver.nvidia import compile as compiling

    flambeau.zeros(1, device="cuda")  # makes the context current
    major, minor = flambeau.cuda.get_device_capability(0)
    cubin = compiling.compiled(compiling.Source("nothing", EMPTY), f"sm_{major}{minor}")
    module, function = c_void_p(), c_void_p()
    _check(_driver().cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
    _check(_driver().cuModuleGetFunction(ctypes.byref(function), module, b"nothing"), "cuModuleGetFunction")
    assert function.value is not None
    return function.value


def to_device(sizes: Sizes) -> Take:
    """GB/s of copies from pinned memory."""
    return _copies("cuMemcpyHtoDAsync_v2", sizes, (c_uint64, c_void_p, c_size_t, c_void_p))


def to_host(sizes: Sizes) -> Take:
    """GB/s of copies to pinned memory."""
    return _copies("cuMemcpyDtoHAsync_v2", sizes, (c_void_p, c_uint64, c_size_t, c_void_p))


def _copies(name: str, sizes: Sizes, argtypes: tuple[Any, ...]) -> Take:
    copy = ctypes.CFUNCTYPE(c_int, *argtypes)((name, _driver()))
    nbytes = sizes.copied_bytes
    device = flambeau.empty(nbytes, dtype=flambeau.uint8, device="cuda")
    host = flambeau.zeros(nbytes, dtype=flambeau.uint8).pin_memory()
    to, source = (device, host) if "HtoD" in name else (host, device)

    def call() -> None:
        _check(copy(to.address(), source.address(), nbytes, None), name)

    burst = device_burst(flambeau, call)
    return lambda: nbytes / 1e9 * burst / (device_ms(flambeau, call, burst) / 1000)

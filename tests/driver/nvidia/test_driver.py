"""The nvidia driver against stand-in bindings: calls and graphs."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import pytest

from flambeau import dtypes, errors
from flambeau.driver.api import CaptureMode, CaptureStatus, CopyKind
from flambeau.driver.nvidia import blas
from flambeau.driver.nvidia import driver as driver_module
from flambeau.driver.nvidia import own_kernels as own
from flambeau.driver.nvidia.compile import Compiler
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.kernel import Grid, Kernel, Pointer, Scalar
from flambeau.library_operation import Gemm

from .conftest import RESULTS, Code

CONTEXT = (0xC0, 0xC1)
DEVICE_1 = 1 << 40  # the stand-in says that an address from here on is of device 1
GRID = Grid((3, 2, 1), 128)
ANYWHERE = {"cuCtxGetCurrent", "cuCtxSetCurrent", "cuDevicePrimaryCtxRetain"}  # calls that need no context


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(Compiler, "cubin", lambda self, kernel, arch: f"{kernel.entry} {arch}".encode())
    params = (Pointer("out", dtypes.float32, "w", ("n",)), Scalar("n", "int64"))
    return Kernel("twice", "", params, lambda out, n: None)


def test_no_call_is_made_before_start(cuda):
    NvidiaDriver(cuda)
    assert cuda.calls == []


def test_start_opens_no_context(driver, cuda):
    assert driver.device_count() == 2
    assert cuda.named("cuDevicePrimaryCtxRetain") == []


def test_properties(driver):
    found = driver.properties(1)
    assert (found.name, found.major, found.minor, found.warp_size) == ("Fake GPU", 9, 0, 32)
    assert found.total_memory == 1 << 30
    assert found.uuid == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"


@pytest.mark.parametrize("device", [-1, 2])
def test_a_device_that_is_not_there(driver, device):
    with pytest.raises(errors.AcceleratorError, match=f"there is no device {device}; 2 NVIDIA devices exist") as raised:
        driver.mem_alloc(device, 512)
    assert raised.value.error_code == 101


def test_the_profiler_s_gate(driver, cuda):
    driver.profiler_start()
    driver.profiler_stop()
    assert cuda.named("cuProfilerStart") == cuda.named("cuProfilerStop") == [()] and cuda.current == CONTEXT[0]
    assert 0 < driver.host_ns() <= driver.host_ns()


def test_a_thread_without_a_context_may_keep_that_of_device_0_and_no_other(driver, cuda):
    driver.mem_alloc(1, 512)
    assert cuda.current == 0
    driver.mem_alloc(0, 512)
    assert cuda.current == CONTEXT[0]
    driver.mem_alloc(1, 512)
    assert cuda.named("cuCtxSetCurrent") == [(CONTEXT[1],), (0,), (CONTEXT[0],), (CONTEXT[1],), (CONTEXT[0],)]


def test_a_context_that_another_library_set_is_noticed_and_left(driver, cuda):
    driver.mem_info(0)
    cuda.current = 0xBAD
    driver.mem_info(0)
    assert cuda.named("cuCtxSetCurrent") == [(CONTEXT[0],), (CONTEXT[0],), (0xBAD,)]
    assert cuda.current == 0xBAD and cuda.named("cuDevicePrimaryCtxRetain") == [(0,)]


def test_a_call_that_fails_leaves_the_context_too(driver, cuda):
    cuda.current = 0xBAD
    cuda.fails["cuMemAlloc"] = Code.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(errors.AcceleratorError, match="700"):
        driver.mem_alloc(1, 512)
    assert cuda.current == 0xBAD


def test_every_call_leaves_the_context_as_it_found_it(driver, cuda):
    """Each public method of the driver that works on a device or a stream, with another library's context current."""
    stream, event = driver.stream_create(1, 0), driver.event_create(1, True, False, False)
    memory = driver.mem_alloc(1, 512)
    cuda.current = 0xBAD
    graph = driver.capture_end(stream)
    launchable = driver.graph_instantiate(graph)
    calls = [
        (driver.device_synchronize, 1), (driver.mem_info, 1), (driver.mem_free, 1, memory),
        (driver.stream_query, stream), (driver.stream_synchronize, stream), (driver.stream_wait_event, stream, event),
        (driver.event_record, event, stream), (driver.event_query, event), (driver.event_synchronize, event),
        (driver.event_elapsed, event, event), (driver.copy, memory, memory, 8, CopyKind.DEVICE_TO_DEVICE, stream),
        (driver.fill, memory, 0, 8, stream), (driver.peer_enable, 1, 0), (driver.capture_status, stream),
        (driver.capture_begin, stream, CaptureMode.GLOBAL), (driver.graph_launch, launchable, stream),
        (driver.graph_destroy, launchable),
        (driver.ipc_close, 1, memory), (driver.partition_stream, driver.partition(1, 8)[0]),
        (driver.event_destroy, event), (driver.stream_destroy, stream),
    ]  # fmt: skip
    for call, *arguments in calls:
        before = len(cuda.calls)
        call(*arguments)
        made = {name for name, *_ in cuda.calls[before:]} - {
            "cuCtxGetCurrent",
            "cuCtxSetCurrent",
            "cuDevicePrimaryCtxRetain",
        }
        assert made and {cuda.used[name] for name in made} == {CONTEXT[1]}, call.__name__
        assert cuda.current == 0xBAD, call.__name__


def test_host_memory_opens_no_further_context(driver, cuda):
    driver.mem_alloc(1, 512)
    cuda.current = 0
    driver.host_free(driver.host_alloc(64))
    assert cuda.named("cuDevicePrimaryCtxRetain") == [(1,)]
    assert cuda.named("cuMemHostAlloc") == [(64, 1)]  # portable


def test_default_streams_differ_and_are_raw_zero(driver):
    first, second = driver.stream_adopt(0, 0), driver.stream_adopt(1, 0)
    assert first != second
    assert min(first, second) > 0
    assert driver.stream_raw(first) == driver.stream_raw(second) == 0
    with pytest.raises(errors.AcceleratorError, match="is a default stream"):
        driver.stream_destroy(first)


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (-1, -1), (-99, -5), (3, 0)])
def test_streams_do_not_order_with_the_default_one_and_priorities_are_clamped(driver, cuda, asked, given):
    driver.stream_create(0, asked)
    assert cuda.named("cuStreamCreateWithPriority") == [(1, given)]


def test_adopting_the_same_stream_gives_the_same_handle(driver, cuda):
    made = driver.stream_create(0, 0)
    adopted = driver.stream_adopt(1, 0xABC)
    assert driver.stream_adopt(0, driver.stream_raw(made)) == made
    assert driver.stream_adopt(1, 0xABC) == adopted
    assert driver.stream_adopt(0, 0xABC) != adopted
    driver.stream_destroy(adopted)
    assert cuda.named("cuStreamDestroy") == []  # its maker destroys it
    driver.stream_destroy(made)
    assert len(cuda.named("cuStreamDestroy")) == 1


def test_a_destroyed_handle_is_recognized(driver):
    stream, event = driver.stream_create(0, 0), driver.event_create(0, True, False, False)
    driver.stream_destroy(stream)
    driver.event_destroy(event)
    with pytest.raises(errors.AcceleratorError, match=f"stream {stream} does not exist") as raised:
        driver.stream_synchronize(stream)
    assert raised.value.error_code == 400
    with pytest.raises(errors.AcceleratorError, match=f"event {event} does not exist"):
        driver.event_query(event)


@pytest.mark.parametrize(
    ("timing", "blocking", "interprocess", "flags"),
    [(True, False, False, 0), (False, False, False, 2), (False, True, True, 7), (True, True, False, 1)],
)
def test_event_flags(driver, cuda, timing, blocking, interprocess, flags):
    driver.event_create(0, timing, blocking, interprocess)
    assert cuda.named("cuEventCreate") == [(flags,)]


def test_a_query_answers_false_while_work_runs(driver, cuda):
    stream, event = driver.stream_create(0, 0), driver.event_create(0, True, False, False)
    assert driver.stream_query(stream)
    assert driver.event_query(event)
    cuda.fails = dict.fromkeys(("cuStreamQuery", "cuEventQuery"), cuda.CUresult.CUDA_ERROR_NOT_READY)
    assert not driver.stream_query(stream)
    assert not driver.event_query(event)


def test_events_and_streams_of_different_devices(driver, cuda):
    event, here, there = (
        driver.event_create(0, True, False, False),
        driver.stream_create(0, 0),
        driver.stream_create(1, 0),
    )
    with pytest.raises(errors.AcceleratorError, match=f"event belongs to device 0, and stream {there} to device 1"):
        driver.event_record(event, there)
    assert cuda.named("cuEventRecord") == []
    driver.event_record(event, here)
    driver.stream_wait_event(there, event)
    assert cuda.used["cuStreamWaitEvent"] == CONTEXT[1]
    assert len(cuda.named("cuStreamWaitEvent")) == 1


def test_elapsed_needs_timing(driver, cuda):
    timed, plain = driver.event_create(0, True, False, False), driver.event_create(0, False, False, False)
    assert driver.event_elapsed(timed, timed) == 1.25
    with pytest.raises(errors.AcceleratorError, match="the end event was made without timing"):
        driver.event_elapsed(timed, plain)


def test_elapsed_needs_completed_events(driver, cuda):
    timed = driver.event_create(0, True, False, False)
    cuda.fails["cuEventElapsedTime"] = cuda.CUresult.CUDA_ERROR_NOT_READY
    with pytest.raises(errors.AcceleratorError, match="an event is not complete") as caught:
        driver.event_elapsed(timed, timed)
    assert caught.value.error_code == 600


def test_copies_on_one_device_go_by_address(driver, cuda):
    stream = driver.stream_create(0, 0)
    raw = driver.stream_raw(stream)
    for kind in (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST, CopyKind.DEVICE_TO_DEVICE):
        driver.copy(0x20, 0x10, 8, kind, stream)
    assert cuda.named("cuMemcpyAsync") == [(0x20, 0x10, 8, raw)] * 3


def test_a_copy_to_a_peer_goes_by_address_too(driver, cuda):
    stream = driver.stream_create(0, 0)
    driver.copy(DEVICE_1, 0x10, 8, CopyKind.PEER, stream)
    assert cuda.named("cuMemcpyAsync") == [(DEVICE_1, 0x10, 8, driver.stream_raw(stream))]
    assert cuda.current == CONTEXT[0]


def test_nothing_is_copied_without_a_call(driver, cuda):
    stream = driver.stream_create(0, 0)
    for kind in CopyKind:
        driver.copy(0x20, 0x10, 0, kind, stream)
    driver.fill(0x20, 1, 0, stream)
    assert not [call for call in cuda.calls if "Memcpy" in call[0] or "Memset" in call[0]]


def test_a_device_is_not_its_own_peer(driver, cuda):
    assert driver.peer_can(0, 1)
    assert not driver.peer_can(1, 1)
    assert cuda.named("cuDeviceCanAccessPeer") == [(0, 1)]


def test_enabling_a_peer_twice_is_nothing(driver, cuda):
    cuda.fails["cuCtxEnablePeerAccess"] = cuda.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    driver.peer_enable(0, 1)
    assert cuda.named("cuCtxEnablePeerAccess") == [(CONTEXT[1], 0)]
    assert cuda.current == CONTEXT[0]


def test_the_same_kernel_is_loaded_once_per_device(driver, cuda, kernel):
    first, second = driver.kernel_load(0, kernel), driver.kernel_load(1, kernel)
    assert driver.kernel_load(0, kernel) == first != second
    assert cuda.named("cuModuleLoadData") == [(b"twice sm_90",)] * 2
    assert [name for _, name in cuda.named("cuModuleGetFunction")] == [b"twice"] * 2


def test_a_launch_passes_the_buffer_as_it_is(driver, cuda, kernel):
    stream, handle = driver.stream_create(0, 0), driver.kernel_load(0, kernel)
    first, second = kernel.pack((0x1000, 7)), kernel.pack((0x2000, -1))
    driver.launch(handle, GRID, first, stream)
    driver.launch(handle, GRID._replace(threads=16, threads_y=4, threads_z=2), second, stream)
    assert cuda.launched == [first, second]
    raw = driver.stream_raw(stream)
    assert [call[1:10] for call in cuda.named("cuLaunchKernel")] == [
        (3, 2, 1, 128, 1, 1, 0, raw, 0),
        (3, 2, 1, 16, 4, 2, 0, raw, 0),
    ]


def test_more_shared_memory_than_usual_is_asked_for_once(driver, cuda, kernel):
    stream, handle = driver.stream_create(0, 0), driver.kernel_load(0, kernel)
    for shared in (48 << 10, 64 << 10, 50 << 10, 96 << 10):
        driver.launch(handle, GRID._replace(shared=shared), kernel.pack((0, 0)), stream)
    assert [size for _, _, size in cuda.named("cuFuncSetAttribute")] == [64 << 10, 96 << 10]


def test_a_launch_on_another_devices_stream(driver, cuda, kernel):
    handle, there = driver.kernel_load(0, kernel), driver.stream_create(1, 0)
    with pytest.raises(
        errors.AcceleratorError, match=f"twice: .* loaded on device 0, and launched on stream {there} of device 1"
    ):
        driver.launch(handle, GRID, kernel.pack((0, 0)), there)
    assert cuda.launched == []


def test_too_many_arguments(driver, kernel):
    stream, handle = driver.stream_create(0, 0), driver.kernel_load(0, kernel)
    with pytest.raises(errors.ArgumentError, match="twice: the arguments have 40000 bytes"):
        driver.launch(handle, GRID, bytes(40_000), stream)


CALLS = {
    "cuCtxGetCurrent": lambda driver, stream, event, kernel: driver.mem_info(1),
    "cuCtxSetCurrent": lambda driver, stream, event, kernel: driver.mem_info(1),
    "cuDevicePrimaryCtxRetain": lambda driver, stream, event, kernel: driver.mem_info(1),
    "cuDeviceGetName": lambda driver, stream, event, kernel: driver.properties(0),
    "cuDeviceGetUuid": lambda driver, stream, event, kernel: driver.properties(0),
    "cuDeviceTotalMem": lambda driver, stream, event, kernel: driver.properties(0),
    "cuDeviceGetAttribute": lambda driver, stream, event, kernel: driver.properties(0),
    "cuCtxSynchronize": lambda driver, stream, event, kernel: driver.device_synchronize(0),
    "cuMemGetInfo": lambda driver, stream, event, kernel: driver.mem_info(0),
    "cuMemAlloc": lambda driver, stream, event, kernel: driver.mem_alloc(0, 8),
    "cuMemFree": lambda driver, stream, event, kernel: driver.mem_free(0, 8),
    "cuMemHostAlloc": lambda driver, stream, event, kernel: driver.host_alloc(8),
    "cuMemFreeHost": lambda driver, stream, event, kernel: driver.host_free(8),
    "cuMemHostRegister": lambda driver, stream, event, kernel: driver.host_register(8, 8),
    "cuMemHostUnregister": lambda driver, stream, event, kernel: driver.host_unregister(8),
    "cuCtxGetStreamPriorityRange": lambda driver, stream, event, kernel: driver.stream_create(0, 0),
    "cuStreamCreateWithPriority": lambda driver, stream, event, kernel: driver.stream_create(0, 0),
    "cuStreamDestroy": lambda driver, stream, event, kernel: driver.stream_destroy(stream),
    "cuStreamQuery": lambda driver, stream, event, kernel: driver.stream_query(stream),
    "cuStreamSynchronize": lambda driver, stream, event, kernel: driver.stream_synchronize(stream),
    "cuStreamWaitEvent": lambda driver, stream, event, kernel: driver.stream_wait_event(stream, event),
    "cuEventCreate": lambda driver, stream, event, kernel: driver.event_create(0, True, True, False),
    "cuEventDestroy": lambda driver, stream, event, kernel: driver.event_destroy(event),
    "cuEventRecord": lambda driver, stream, event, kernel: driver.event_record(event, stream),
    "cuEventQuery": lambda driver, stream, event, kernel: driver.event_query(event),
    "cuEventSynchronize": lambda driver, stream, event, kernel: driver.event_synchronize(event),
    "cuEventElapsedTime": lambda driver, stream, event, kernel: driver.event_elapsed(event, event),
    "cuMemcpyAsync": lambda driver, stream, event, kernel: driver.copy(1, 2, 3, CopyKind.DEVICE_TO_DEVICE, stream),
    "cuMemsetD8Async": lambda driver, stream, event, kernel: driver.fill(1, 2, 3, stream),
    "cuDeviceCanAccessPeer": lambda driver, stream, event, kernel: driver.peer_can(0, 1),
    "cuCtxEnablePeerAccess": lambda driver, stream, event, kernel: driver.peer_enable(0, 1),
    "cuModuleLoadData": lambda driver, stream, event, kernel: driver.kernel_load(1, kernel),
    "cuModuleGetFunction": lambda driver, stream, event, kernel: driver.kernel_load(1, kernel),
    "cuLaunchKernel": lambda driver, stream, event, kernel: driver.launch(
        driver.kernel_load(0, kernel), GRID, kernel.pack((0, 0)), stream
    ),
    "cuFuncSetAttribute": lambda driver, stream, event, kernel: driver.launch(
        driver.kernel_load(0, kernel), GRID._replace(shared=1 << 16), kernel.pack((0, 0)), stream
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_code_is_checked(driver, cuda, kernel, name):
    stream, event = driver.stream_create(0, 0), driver.event_create(0, True, False, False)
    cuda.fails[name] = cuda.CUresult.CUDA_ERROR_LAUNCH_FAILED
    with pytest.raises(errors.AcceleratorError, match=name) as raised:
        CALLS[name](driver, stream, event, kernel)
    assert raised.value.sticky
    *_, before, last = [called for called, *_ in cuda.calls]
    assert name in (last, before if last == "cuCtxSetCurrent" else last)  # which puts the former context back


@pytest.mark.parametrize("name", ["cuInit", "cuDeviceGetCount", "cuDeviceGet"])
def test_every_code_of_the_start_is_checked(cuda, name):
    cuda.fails[name] = cuda.CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(errors.AcceleratorError, match=name):
        NvidiaDriver(cuda).start()


def test_memory_that_cannot_be_had(driver, cuda):
    cuda.fails["cuMemAlloc"] = cuda.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(errors.OutOfMemoryError, match="device is 1, nbytes is 512"):
        driver.mem_alloc(1, 512)


def test_external_records_and_waits_have_a_flag(driver, cuda):
    stream, event = driver.stream_create(0, 0), driver.event_create(0, True, False, False)
    driver.event_record(event, stream, external=True)
    driver.stream_wait_event(stream, event, external=True)
    raw, number = driver.stream_raw(stream), driver.event_raw(event)
    assert cuda.named("cuEventRecordWithFlags") == [(number, raw, 1)]
    assert cuda.named("cuStreamWaitEvent") == [(raw, number, 1)]


def gemm(dtype):
    return Gemm(dtype, 2, 33, 40, 5, (165, 5, 1), (200, 40, 1), (1320, 40, 1))


def test_integer_products_use_the_own_kernel(driver, cuda, kernel):
    plan, workspace = driver.library_plan(0, gemm(dtypes.int32))
    assert workspace == 0
    assert driver.library_plan(0, gemm(dtypes.int32))[0] == plan
    driver.library_run(plan, (0x300, 0x100, 0x200, 0), 0, driver.stream_create(0, 0))
    product = own.gemm_kernel(dtypes.int32)
    assert cuda.launched == [product.pack(own.values_of(gemm(dtypes.int32), (0x300, 0x100, 0x200, 0)))]
    assert cuda.named("cuLaunchKernel")[0][1:5] == (4, 1, 2, 256)
    with pytest.raises(errors.AcceleratorError, match=r"loaded on device 0, and launched on stream \d+ of device 1"):
        driver.library_run(plan, (0, 0, 0, 0), 0, driver.stream_create(1, 0))


def test_small_products_use_the_own_kernel(driver, cuda, kernel, monkeypatch):
    monkeypatch.setattr(blas, "load", lambda: pytest.fail("cuBLAS was asked"))
    problem = Gemm(dtypes.float32, 1, 2, 3, 4, (0, 4, 1), (0, 3, 1), (0, 3, 1), has_bias=True, activation="relu")
    plan, workspace = driver.library_plan(0, problem)
    assert workspace == 0
    addresses = 0x300, 0x100, 0x200, 0x400
    driver.library_run(plan, addresses, 0, driver.stream_create(0, 0))
    assert cuda.launched == [own.small_kernel(dtypes.float32).pack(own.values_of(problem, addresses))]


def test_a_missing_cublas_is_said_once(driver, kernel, monkeypatch):
    own.warn_cublas_is_missing.cache_clear()
    monkeypatch.setattr(blas, "load", lambda: None)
    with pytest.warns(RuntimeWarning, match="pip install nvidia-cublas"):
        driver.library_plan(0, gemm(dtypes.float32))
    driver.library_plan(0, gemm(dtypes.float16))  # a second warning would be an error here


def test_a_problem_of_another_kind(driver):
    class Sorting:
        kind = "sort"

    with pytest.raises(errors.NotSupportedError, match="library_plan of kind sort"):
        driver.library_plan(0, Sorting())


@pytest.mark.parametrize(
    ("variables", "nbytes"),
    [
        ({}, 32 << 20),
        ({"CUBLASLT_WORKSPACE_SIZE": "2048"}, 2 << 20),
        ({"CUBLAS_WORKSPACE_CONFIG": ":4096:2:16:8"}, (8 << 20) + (128 << 10)),
        ({"CUBLAS_WORKSPACE_CONFIG": ":4096:2", "CUBLASLT_WORKSPACE_SIZE": "16"}, 16 << 10),
        ({"CUBLAS_WORKSPACE_CONFIG": ":0:0"}, 0),
        ({"CUBLAS_WORKSPACE_CONFIG": "4096", "CUBLASLT_WORKSPACE_SIZE": "many"}, 32 << 20),
    ],
)
def test_the_environment_grants_a_workspace(cuda, monkeypatch, variables, nbytes):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    made = NvidiaDriver(cuda)
    made.start()
    assert made.product_workspace(0) == nbytes


class FakeCublas:
    """Handles are numbered; it keeps which stream each one got."""

    def __init__(self):
        self.streams = {}

    def cublasCreate_v2(self, made):  # noqa: N802
        made._obj.value = 0xB0 + len(self.streams)
        self.streams[made._obj.value] = None
        return 0

    def cublasSetStream_v2(self, handle, stream):  # noqa: N802
        self.streams[handle] = stream
        return 0


def test_a_handle_of_cublas_goes_with_thread_device_and_stream(driver, monkeypatch):
    library = FakeCublas()
    monkeypatch.setattr(blas, "load_cublas", lambda: library)
    stream = driver.stream_create(1, 0)
    first, other = driver.blas_handle(driver.stream_adopt(1, 0)), driver.blas_handle(driver.stream_adopt(0, 0))
    assert first != other and library.streams == {first: 0, other: 0}
    assert driver.blas_handle(stream) == first and library.streams[first] == driver.stream_raw(stream)
    assert in_thread(lambda: driver.blas_handle(stream)) not in (first, other)
    assert in_thread(lambda: driver.blas_handle(stream)) not in (first, other) and len(library.streams) == 3


def in_thread(call):
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call).result()


def test_a_graph_from_capture_to_destruction(driver, cuda):
    stream = driver.stream_create(1, 0)
    (cu,) = {driver.stream_raw(stream)}
    driver.capture_begin(stream, CaptureMode.THREAD_LOCAL)
    assert driver.capture_status(stream) is CaptureStatus.ACTIVE
    graph = driver.capture_end(stream)
    assert driver.graph_node_count(graph) == 5
    made = driver.graph_instantiate(graph)
    driver.graph_destroy(graph)
    driver.graph_launch(made, stream)
    driver.graph_destroy(made)
    assert cuda.named("cuStreamBeginCapture") == [(cu, "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL")]
    assert cuda.named("cuGraphInstantiate") == [(0x6AF, 0)]
    assert cuda.named("cuGraphDestroy") == [(0x6AF,)]
    assert cuda.named("cuGraphLaunch") == [(0xE8EC, cu)]
    assert cuda.named("cuGraphExecDestroy") == [(0xE8EC,)]
    for call in (driver.graph_destroy, driver.graph_instantiate, lambda graph: driver.graph_launch(graph, stream)):
        with pytest.raises(errors.AcceleratorError, match=r"graph \d+ does not exist"):
            call(made)


def test_a_graph_is_launched_on_its_device(driver):
    stream, other = driver.stream_create(0, 0), driver.stream_create(1, 0)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    made = driver.graph_instantiate(driver.capture_end(stream))
    with pytest.raises(errors.AcceleratorError, match=r"captured on device 0, and launched on stream \d+ of device 1"):
        driver.graph_launch(made, other)


def test_a_default_stream_is_never_asked_whether_it_captures(driver, cuda):
    assert driver.capture_status(driver.stream_adopt(0, 0)) is CaptureStatus.NONE
    assert cuda.named("cuStreamIsCapturing") == []


def test_the_mode_of_a_thread(driver, cuda):
    assert driver.capture_mode_exchange(CaptureMode.GLOBAL) is CaptureMode.RELAXED
    assert cuda.named("cuThreadExchangeStreamCaptureMode") == [("CU_STREAM_CAPTURE_MODE_GLOBAL",)]


def test_the_end_of_a_broken_capture_repeats_what_was_refused(driver, cuda):
    stream = driver.stream_create(0, 0)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    cuda.fails["cuStreamSynchronize"] = Code.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    with pytest.raises(errors.AcceleratorError, match="900.*called by .*test_driver.py:.* on thread 'MainThread'"):
        driver.stream_synchronize(stream)
    cuda.fails["cuMemsetD8Async"] = Code.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    for _ in range(10):  # later errors do not hide the first one
        with pytest.raises(errors.AcceleratorError, match="901"):
            driver.fill(0x100, 0, 64, stream)
    cuda.fails["cuStreamEndCapture"] = Code.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    with pytest.raises(errors.AcceleratorError, match="901.*refused is cuStreamSynchronize: .*test_driver.py"):
        driver.capture_end(stream)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    with pytest.raises(errors.AcceleratorError) as caught:
        driver.capture_end(stream)
    assert "refused" not in str(caught.value)


def test_a_graph_has_numbers_and_is_written_by_the_driver(driver, cuda):
    stream = driver.stream_create(0, 0)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    graph = driver.capture_end(stream)
    made = driver.graph_instantiate(graph)
    driver.graph_write(graph, "graph.dot")
    assert cuda.named("cuGraphDebugDotPrint") == [(0x6AF, b"graph.dot", 1)]
    assert (driver.graph_raw(graph), driver.graph_raw(made)) == (0x6AF, 0xE8EC)
    with pytest.raises(errors.AcceleratorError, match=r"graph 99999999 does not exist"):
        driver.graph_raw(99999999)


# memory and events of other processes: the calls, their bytes, and their checks

RAW = bytes(range(64))


class Handle:
    """As the bindings' CUipcMemHandle: 64 bytes that only `getPtr` reaches."""

    def __init__(self, raw=bytes(64)):
        self.raw = (ctypes.c_uint8 * 64).from_buffer_copy(raw)

    def getPtr(self):  # noqa: N802
        return ctypes.addressof(self.raw)


@pytest.fixture
def sharing(cuda, monkeypatch):
    """The stand-in, with the calls that share memory and events."""
    monkeypatch.setitem(RESULTS, "cuIpcGetMemHandle", lambda address: (Handle(RAW),))
    monkeypatch.setitem(RESULTS, "cuIpcGetEventHandle", lambda event: (Handle(RAW),))
    monkeypatch.setitem(RESULTS, "cuIpcOpenMemHandle", lambda handle, flags: (0xABC000,))
    monkeypatch.setitem(RESULTS, "cuIpcOpenEventHandle", lambda handle: (0xE0,))
    cuda.CUipcMemHandle = cuda.CUipcEventHandle = Handle
    return cuda


@pytest.fixture
def as_another_process(monkeypatch):
    return lambda: monkeypatch.setattr(driver_module, "_PROCESS", b"another!")


def test_memory_goes_there_and_is_closed(driver: NvidiaDriver, sharing, as_another_process):
    handle = driver.ipc_export(1, 0xABC000)
    assert sharing.named("cuIpcGetMemHandle") == [(0xABC000,)]
    as_another_process()
    assert driver.ipc_open(1, handle) == 0xABC000
    ((given, flags),) = sharing.named("cuIpcOpenMemHandle")
    assert bytes(given.raw) == RAW and flags == 1
    driver.ipc_close(1, 0xABC000)
    assert sharing.named("cuIpcCloseMemHandle") == [(0xABC000,)]


def test_an_event_goes_there_and_is_destroyed(driver: NvidiaDriver, sharing, as_another_process):
    event = driver.event_create(1, False, False, True)
    assert sharing.named("cuEventCreate") == [(2 | 4,)]
    handle = driver.event_ipc_export(event)
    as_another_process()
    opened = driver.event_ipc_open(1, handle)
    assert bytes(sharing.named("cuIpcOpenEventHandle")[0][0].raw) == RAW
    driver.stream_wait_event(driver.stream_adopt(1, 0), opened)
    driver.event_destroy(opened)
    assert sharing.named("cuEventDestroy") == [(0xE0,)]


def test_a_plain_event_is_not_exported(driver: NvidiaDriver, sharing):
    with pytest.raises(errors.AcceleratorError, match="interprocess=True"):
        driver.event_ipc_export(driver.event_create(0, False, False, False))
    assert sharing.named("cuIpcGetEventHandle") == []


def test_the_driver_never_sees_a_handle_that_is_not_its_own_kind(driver: NvidiaDriver, sharing):
    handle = driver.ipc_export(0, 0xABC000)
    for bad in (b"", handle[:-1], bytes(len(handle)), handle):
        with pytest.raises(errors.ArgumentError):
            driver.ipc_open(0, bad)
        with pytest.raises(errors.ArgumentError):
            driver.event_ipc_open(0, bad)
    assert sharing.named("cuIpcOpenMemHandle") == sharing.named("cuIpcOpenEventHandle") == []


def test_the_device_must_be_the_same(driver: NvidiaDriver, sharing, as_another_process, monkeypatch):
    handle = driver.ipc_export(0, 0xABC000)
    as_another_process()
    monkeypatch.setattr(driver._devices, "uuid", lambda device: "GPU-other")
    with pytest.raises(errors.ArgumentError, match="GPU-00010203.* was opened on device 0, GPU-other"):
        driver.ipc_open(0, handle)


def test_a_flush_waits_for_the_stream(driver: NvidiaDriver, sharing):
    driver.ipc_flush(driver.stream_adopt(0, 0))
    assert len(sharing.named("cuStreamSynchronize")) == 1

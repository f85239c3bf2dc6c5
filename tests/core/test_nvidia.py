"""The compiled calls, on a stand-in for the library of NVIDIA's driver."""

import ctypes
import shutil
import struct
import threading
import types

import pytest

from flambeau.core.native import Lock
from flambeau.driver.api import CopyKind
from flambeau.driver.nvidia import blas, library, own_kernels
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.dtypes import float32
from flambeau.errors import AcceleratorError
from flambeau.kernel import Grid, Kernel, Scalar
from flambeau.library_operation import Gemm
from tests.driver.nvidia.conftest import Code

COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(library.native() is None, reason="the package was built without compiled calls"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler to make the stand-in with"),
]
GRID = Grid((2, 3, 4), 64, 8, 5, 6)
STUB = r"""
#include <sched.h>
#include <string.h>
volatile int gate;
unsigned long long calls, arguments[16], current, used, returns = 7; int fails, refuses; char buffer[1024]; size_t size;
int cuCtxGetCurrent(void** now) { *now = (void*)current; return 0; }
int cuCtxSetCurrent(unsigned long long wanted) { if (!refuses) current = wanted; return refuses; }
int cuLaunchKernel(void* f, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz, unsigned shared,
                   void* stream, void** params, void** extra) {
    unsigned long long given[] = {(unsigned long long)f, x, y, z, tx, ty, tz, shared, (unsigned long long)stream};
    memcpy(arguments, given, sizeof given);
    size = *(size_t*)extra[3];
    memcpy(buffer, extra[1], size);
    ++calls, used = current;
    return params == 0 && extra[0] == (void*)1 && extra[2] == (void*)2 && extra[4] == 0 ? fails : 1;
}
int cuEventRecord(unsigned long long event, unsigned long long stream) {
    arguments[0] = event, arguments[1] = stream; ++calls, used = current; return fails;
}
int cuStreamWaitEvent(unsigned long long stream, unsigned long long event, unsigned flags) {
    arguments[0] = stream, arguments[1] = event, arguments[2] = flags; ++calls, used = current; return fails;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t count, unsigned long long stream) {
    arguments[0] = to, arguments[1] = value, arguments[2] = count, arguments[3] = stream;
    ++calls, used = current; return fails;
}
int cuGraphLaunch(unsigned long long graph, unsigned long long stream) {
    arguments[0] = graph, arguments[1] = stream; ++calls, used = current; return fails;
}
int cuStreamSynchronize(unsigned long long stream) { arguments[0] = stream; ++calls, used = current; return fails; }
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t count, unsigned long long stream) {
    arguments[0] = to, arguments[1] = from, arguments[2] = count, arguments[3] = stream;
    ++calls, used = current; return fails;
}
typedef unsigned long long P;
int multiply(P handle, P operation, P alpha, P a, P al, P b, P bl, P beta, P c, P cl, P d, P dl, P algorithm,
             P workspace, size_t count, P stream) {
    P given[] = {handle, operation, alpha, a, al, b, bl, beta, c, cl, d, dl, algorithm, workspace, count, stream};
    memcpy(arguments, given, sizeof given);
    for (int tries = 0; gate && tries < 1000000; ++tries) sched_yield();
    return gate ? 9 : returns;
}
int set_bias(P operation, int attribute, P* value, size_t count) {
    arguments[12] = operation, arguments[13] = attribute, arguments[14] = *value; ++calls; return refuses;
}
int set_stream(P handle, P stream) { arguments[4] = handle, arguments[5] = stream; ++calls; return refuses; }
int execute(P handle, P plan, P pack) {
    arguments[0] = handle, arguments[1] = plan, arguments[2] = pack; ++calls; return fails;
}
P uids[16], pointers[16], packs, finished; int broken;
int create(int kind, P* made) {
    if (kind != 16 || broken == 1) return 5;
    *made = 0xAC, ++packs;
    return 0;
}
int set_attribute(P pack, int name, int kind, long long count, P* elements) {
    if (name == 1000 && kind == 3) memcpy(uids, elements, count * sizeof(P));
    if (name == 1001 && kind == 6) memcpy(pointers, elements, count * sizeof(P));
    if (name == 1003 && kind == 6 && count == 1) pointers[15] = elements[0];
    return name == 1000 && broken == 2;
}
int finalize(P pack) { ++finished; return broken == 3; }
int destroy(P pack) { --packs; return 0; }
"""


class Stub:
    """The library: its path, and what it was called with."""

    def __init__(self, path):
        self.path = str(path)
        self.loaded = ctypes.CDLL(self.path)

    def number(self, name):
        return ctypes.c_ulonglong.in_dll(self.loaded, name)

    @property
    def calls(self):
        return self.number("calls").value

    def arguments(self, count):
        return self.listed("arguments")[:count]

    def listed(self, name):
        return list((ctypes.c_ulonglong * 16).in_dll(self.loaded, name))

    def buffer(self):
        return ctypes.string_at(ctypes.addressof(self.number("buffer")), self.number("size").value)

    def fail(self, code):
        ctypes.c_int.in_dll(self.loaded, "fails").value = code


@pytest.fixture
def native(cuda, stub):
    """A driver whose handles come from the stand-in for cuda.bindings, and whose compiled calls go to the stub."""
    made = NvidiaDriver(cuda, shared_library=stub.path)
    made.start()
    return made


@pytest.fixture
def side(native, stub, cuda):
    """A stream of device 0, whose context is current."""
    stream = native.stream_create(0, 0)
    stub.number("current").value = cuda.current
    return stream


def packed(*addresses):
    return bytearray(struct.pack(f"{len(addresses)}Q", *addresses))


def loaded(native, device=0):
    kernel = Kernel("nothing", "", [Scalar("n", "int64")], lambda n: None)
    native._compiler.cubin = lambda kernel, arch: b""
    return native.kernel_load(device, kernel)


@pytest.mark.parametrize("buffer", (b"12345678", bytearray(b"87654321")))
def test_a_launch(native, stub, cuda, side, buffer):
    kernel = loaded(native)
    native.launch(kernel, GRID, buffer, side)
    function, stream = native._kernels[kernel].address, native._streams[side].raw
    assert stub.arguments(9) == [function, 2, 3, 4, 64, 5, 6, 8, stream]
    assert stub.buffer() == bytes(buffer) and stub.calls == 1
    assert cuda.named("cuLaunchKernel") == []


def test_an_event_a_wait_and_a_copy(native, stub, cuda, side):
    event = native.event_create(0, True, False, False)
    here, there = native._streams[side].raw, native._events[event].raw
    native.event_record(event, side)
    assert stub.arguments(2) == [there, here]
    native.stream_wait_event(side, event)
    assert stub.arguments(3) == [here, there, 0]
    native.copy(1 << 41, 1 << 40, 99, CopyKind.DEVICE_TO_DEVICE, side)
    assert stub.arguments(4) == [1 << 41, 1 << 40, 99, here]
    assert stub.calls == 3
    assert [name for name in ("cuEventRecord", "cuStreamWaitEvent", "cuMemcpyAsync") if cuda.named(name)] == []


def test_a_context_that_is_not_current_is_so_during_the_call(native, stub, cuda, side):
    kernel, event = loaded(native), native.event_create(0, True, False, False)
    for former in (0xDD, 0xEE):
        stub.number("current").value = former
        for call, *arguments in (
            (native.launch, kernel, GRID, b"12345678", side),
            (native.event_record, event, side),
            (native.stream_wait_event, side, event),
            (native.copy, 1 << 41, 1 << 40, 99, CopyKind.DEVICE_TO_DEVICE, side),
        ):
            call(*arguments)
            assert stub.number("used").value == 0xC0 and stub.number("current").value == former, call
    assert stub.calls == 8 and cuda.named("cuLaunchKernel") == []


def test_a_thread_without_a_context_keeps_that_of_device_0_and_no_other(native, stub, cuda, side):
    other, kernel, far = native.stream_create(1, 0), loaded(native), loaded(native, 1)
    stub.number("current").value = 0
    native.launch(far, GRID, b"12345678", other)
    assert stub.number("used").value == 0xC1 and stub.number("current").value == 0
    native.launch(kernel, GRID, b"12345678", side)
    assert stub.number("used").value == 0xC0 and stub.number("current").value == 0xC0
    native.launch(far, GRID, b"12345678", other)
    assert stub.number("used").value == 0xC1 and stub.number("current").value == 0xC0


def test_a_context_that_the_driver_refuses_is_made_current_the_long_way(native, stub, cuda, side):
    kernel = loaded(native)
    ctypes.c_int.in_dll(stub.loaded, "refuses").value = 201
    stub.number("current").value = cuda.current = 0xDD
    native.launch(kernel, GRID, b"12345678", side)
    assert stub.calls == 0 and len(cuda.named("cuLaunchKernel")) == 1
    assert cuda.named("cuCtxSetCurrent")[-2:] == [(0xC0,), (0xDD,)]


def test_what_fails_is_made_again_the_long_way_and_raises(native, stub, cuda, side):
    kernel, event = loaded(native), native.event_create(0, True, False, False)
    stub.fail(719)
    for name in ("cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyAsync"):
        cuda.fails[name] = Code.CUDA_ERROR_LAUNCH_FAILED
    for call, *arguments in (
        (native.launch, kernel, GRID, b"12345678", side),
        (native.event_record, event, side),
        (native.stream_wait_event, side, event),
        (native.copy, 1 << 41, 1 << 40, 99, CopyKind.DEVICE_TO_DEVICE, side),
    ):
        with pytest.raises(AcceleratorError, match="719") as caught:
            call(*arguments)
        assert caught.value.sticky
    assert stub.calls == 4


def test_unknown_handles_and_other_devices_are_named(native, side):
    kernel = loaded(native)
    with pytest.raises(AcceleratorError, match="kernel 999999 does not exist"):
        native.launch(999999, GRID, b"", side)
    with pytest.raises(AcceleratorError, match="event 999999 does not exist"):
        native.event_record(999999, side)
    with pytest.raises(AcceleratorError, match="loaded on device 0, and launched on stream .* of device 1"):
        native.launch(kernel, GRID, b"12345678", native.stream_create(1, 0))


def test_calls_follow_the_stream_that_they_name(native, stub, side):
    kernel, other = loaded(native), native.stream_create(0, 0)
    for stream in (side, other, other, side):
        native.launch(kernel, GRID, b"12345678", stream)
        assert stub.arguments(9)[-1] == native._streams[stream].raw
    assert native._streams[side].raw != native._streams[other].raw


def test_a_stream_that_was_used_and_destroyed_is_unknown(native, stub, side):
    kernel, event = loaded(native), native.event_create(0, True, False, False)
    native.launch(kernel, GRID, b"12345678", side)
    native.stream_destroy(side)
    calls = stub.calls
    for call, *arguments in (
        (native.launch, kernel, GRID, b"12345678", side),
        (native.event_record, event, side),
        (native.stream_wait_event, side, event),
        (native.copy, 1 << 41, 1 << 40, 99, CopyKind.DEVICE_TO_DEVICE, side),
        (native.hot.library_run, 99, packed(), 0, side),
    ):
        with pytest.raises(AcceleratorError, match="does not exist: it was never created, or was destroyed"):
            call(*arguments)
    assert stub.calls == calls


def test_much_shared_memory_is_asked_for_the_long_way_and_then_known(native, stub, cuda, side):
    kernel, grid = loaded(native), Grid((1, 1, 1), 32, 100_000)
    native.launch(kernel, grid, b"12345678", side)
    assert stub.calls == 0 and [each[-1] for each in cuda.named("cuFuncSetAttribute")] == [100_000]
    native.launch(kernel, grid, b"12345678", side)
    assert stub.calls == 1 and len(cuda.named("cuFuncSetAttribute")) == 1


def test_a_library_without_the_functions_is_refused(cuda):
    with pytest.raises(OSError, match="cuLaunchKernel was not found"):
        NvidiaDriver(cuda, shared_library="libc.so.6").start()


@pytest.mark.parametrize("has_bias", [False, True])
def test_a_small_product_is_launched_without_python(native, stub, cuda, side, has_bias):
    native._compiler.cubin = lambda kernel, arch: b""
    problem = Gemm(float32, 1, 17, 2, 3, (0, 3, 1), (0, 2, 1), (0, 2, 1), has_bias)
    plan, _ = native.library_plan(0, problem)
    addresses = 0x100, 0x200, 0x300, 0x400 * has_bias
    native.hot.library_run(plan, packed(*addresses), 0, side)
    kernel = native._kernels[native.kernel_load(0, own_kernels.kernel_of(problem))]
    assert stub.arguments(9) == [kernel.address, 2, 1, 1, 256, 1, 1, 0, native._streams[side].raw]
    assert stub.buffer() == kernel.kernel.pack(own_kernels.values_of(problem, addresses))
    assert stub.calls == 1 and cuda.named("cuLaunchKernel") == []


def test_a_small_product_that_fails_is_launched_once_more_and_raises(native, stub, cuda, side):
    native._compiler.cubin = lambda kernel, arch: b""
    plan, _ = native.library_plan(0, Gemm(float32, 1, 2, 2, 2, (0, 2, 1), (0, 2, 1), (0, 2, 1)))
    stub.fail(719)
    cuda.fails["cuLaunchKernel"] = Code.CUDA_ERROR_LAUNCH_FAILED
    with pytest.raises(AcceleratorError, match="719"):
        native.hot.library_run(plan, packed(0x100, 0x200, 0x300, 0), 0, side)
    assert stub.calls == 1 and len(cuda.named("cuLaunchKernel")) == 1


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_product_of_a_plan_runs_without_python(native, stub, side, is_swapped):
    function = ctypes.cast(stub.loaded.multiply, ctypes.c_void_p).value
    parts, algorithms = bytes(packed(function, 0, 1, 2, 3, 4, 5, 6, 7, 15)), {}
    product = library.native().Product(0, is_swapped, parts, algorithms, None)
    native._library_calls[99], asked = product, []
    native._plans[99] = (0, types.SimpleNamespace(run=lambda *given: asked.append(given[0])))
    native.hot.library_run(99, packed(0x100, 0x200, 0x440, 0), 14, side)
    assert asked == [(0x100, 0x200, 0x440, 0)]  # no algorithm is known yet for 64 bytes
    algorithms[0x40] = 13
    stub.number("returns").value = 0
    native.hot.library_run(99, packed(0x100, 0x200, 0x440, 0), 14, side)
    raw, (first, second) = native._streams[side].raw, (0x200, 0x440) if is_swapped else (0x440, 0x200)
    assert stub.arguments(16) == [1, 2, 3, first, 5, second, 6, 4, 0x100, 7, 0x100, 7, 13, 14, 15, raw]
    assert len(asked) == 1


def test_a_product_with_a_bias_holds_its_lock_and_not_the_interpreter(native, stub, side):
    function, setter = (
        ctypes.cast(each, ctypes.c_void_p).value for each in (stub.loaded.multiply, stub.loaded.set_bias)
    )
    parts, lock, asked, seen = bytes(packed(function, setter, 1, 2, 3, 4, 5, 6, 7, 15)), Lock(), [], []
    native._library_calls[99] = library.native().Product(0, False, parts, {0x40: 13}, lock)
    native._plans[99] = (0, types.SimpleNamespace(run=lambda *given: asked.append(given[0])))
    gate = ctypes.c_int.in_dll(stub.loaded, "gate")
    gate.value, stub.number("returns").value = 1, 0

    def open_the_gate():
        """Run while the product is inside the library."""
        while not stub.calls:
            pass
        seen.append(is_free(lock))
        gate.value = 0

    other = threading.Thread(target=open_the_gate)
    other.start()
    native.hot.library_run(99, packed(0x100, 0x200, 0x440, 0x500), 14, side)
    other.join()
    assert seen == [False] and asked == [] and is_free(lock) and stub.arguments(13)[12] == 13
    lock.acquire()
    native.hot.library_run(99, packed(0x100, 0x200, 0x440, 0x500), 14, side)
    lock.release()
    ctypes.c_int.in_dll(stub.loaded, "refuses").value = 1
    native.hot.library_run(99, packed(0x100, 0x200, 0x440, 0x500), 14, side)
    assert asked == [(0x100, 0x200, 0x440, 0x500)] * 2 and is_free(lock)


@pytest.fixture
def attention(native, stub):
    """A plan of cuDNN's on device 0: two operands, 0x40 bytes into the workspace, and a number at 0x900.

    Also what was asked of its long way.
    """
    dnn, asked = types.SimpleNamespace(handle=0xD, lock=Lock(), stream=0, device=0), []
    names = ("execute", "set_stream", "create", "set_attribute", "finalize", "destroy")
    calls = [ctypes.cast(getattr(stub.loaded, name), ctypes.c_void_p).value for name in names]
    lists = [bytes(packed(*numbers)) for numbers in (calls, (3, 1, 7, 8), (0, 0, 0x40, 0x900))]
    native._library_calls[99] = library.native().Execution(dnn, lists[0], 0xB, *lists[1:], 2, 3)
    native._plans[99] = (0, types.SimpleNamespace(run=lambda *given: asked.append(given[:2])))
    return dnn, asked


def is_free(lock):
    if not lock.try_acquire():
        return False
    lock.release()
    return True


def test_attention_runs_without_python(native, stub, side, attention):
    dnn, asked = attention
    raw = native._streams[side].raw
    for count, first in ((2, 0x100), (3, 0x700)):  # the stream of the handle is set once
        native.hot.library_run(99, packed(first, 0x200), 0x300, side)
        assert stub.arguments(3) == [0xD, 0xB, 0xAC]
        assert (stub.arguments(6)[4:], stub.calls, dnn.stream) == ([0xD, raw], count, raw)
        assert stub.listed("uids")[:4] == [3, 1, 7, 8]
        assert stub.listed("pointers")[:4] + stub.listed("pointers")[15:] == [first, 0x200, 0x340, 0x900, 0x300]
    assert (stub.number("packs").value, stub.number("finished").value) == (0, 2)
    assert asked == [] and is_free(dnn.lock)


@pytest.mark.parametrize("trouble", ["create", "set", "finalize", "lock", "execute", "stream"])
def test_attention_goes_the_long_way_where_something_fails(native, stub, side, attention, trouble):
    dnn, asked = attention
    if trouble == "lock":
        dnn.lock.acquire()
    stub.fail(7 if trouble == "execute" else 0)
    broken = {"create": 1, "set": 2, "finalize": 3}.get(trouble, 0)
    ctypes.c_int.in_dll(stub.loaded, "broken").value = broken
    ctypes.c_int.in_dll(stub.loaded, "refuses").value = 7 if trouble == "stream" else 0
    native.hot.library_run(99, packed(0x100, 0x200), 0x300, side)
    assert asked == [((0x100, 0x200), 0x300)]
    assert stub.calls == {"execute": 2, "lock": 0}.get(trouble, 1)
    assert stub.number("packs").value == 0
    assert is_free(dnn.lock) == (trouble != "lock")
    assert dnn.stream == (0 if trouble == "lock" else None)
    if trouble == "lock":
        dnn.lock.release()


def test_an_algorithm_knows_where_it_lies():
    made = blas.HeuristicResult()
    made.algo[0] = 99
    assert ctypes.c_uint64.from_address(made.address).value == 99

"""Calls that native threads of the devices make, on a stand-in for the library of NVIDIA's driver."""

import ctypes
import os
import random
import select
import shutil
import signal
import struct
import threading
import types

import pytest

from flambeau.core.native import Lock
from flambeau.driver.api import CaptureMode, CopyKind
from flambeau.driver.nvidia import cupti, library
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.errors import AcceleratorError
from flambeau.kernel import Grid, Kernel, Scalar
from tests.driver.nvidia.conftest import Code

COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(library.native() is None, reason="the package was built without compiled calls"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler to make the stand-in with"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one core, no call is put off"),
]
GRID = Grid((1, 1, 1), 32)
DIRECT = 8  # DIRECT_CALLS of submission.h
RING_BYTES = 1 << 20
STUB = r"""
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
typedef unsigned long long P;
enum { MOST = 1 << 16 };
static P entries[MOST][6];  /* name, stream, first, second, checksum or size, whether the owner of the test called */
volatile int count, gate, held, failing; volatile P code; static pthread_t owner; static __thread P context;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void own(void) { owner = pthread_self(); }
P entry(int row, int column) { return entries[row][column]; }
static int put(P name, P stream, P first, P second, P size) {
    int is_owner = pthread_equal(owner, pthread_self());
    while (gate && !is_owner) { held = 1; sched_yield(); }
    pthread_mutex_lock(&mutex);
    P row[] = {name, stream, first, second, size, (P)is_owner | context << 8};
    memcpy(entries[count % MOST], row, sizeof row);
    int fails = failing && --failing == 0;
    ++count;
    pthread_mutex_unlock(&mutex);
    return fails ? (int)code : 0;
}
int cuCtxGetCurrent(void** now) { *now = (void*)context; return 0; }
int cuCtxSetCurrent(P wanted) { context = wanted; return 0; }
int cuLaunchKernel(void* f, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz, unsigned shared,
                   void* stream, void** params, void** extra) {
    size_t size = *(size_t*)extra[3];
    P sum = size;
    for (size_t i = 0; i < size; ++i) sum = sum * 31 + ((unsigned char*)extra[1])[i];
    return put('L', (P)stream, x, shared, sum);
}
int cuEventRecord(P event, P stream) { return put('R', stream, event, 0, 0); }
int cuStreamWaitEvent(P stream, P event, unsigned flags) { return put('W', stream, event, flags, 0); }
int cuMemcpyAsync(P to, P from, size_t nbytes, P stream) { return put('C', stream, to, from, nbytes); }
int cuMemsetD8Async(P to, unsigned char value, size_t nbytes, P stream) { return put('F', stream, to, value, nbytes); }
int cuGraphLaunch(P graph, P stream) { return put('G', stream, graph, 0, 0); }
int cuStreamSynchronize(P stream) { return put('Y', stream, 0, 0, 0); }
int multiply(P handle, P operation, P alpha, P a, P al, P b, P bl, P beta, P c, P cl, P d, P dl, P algorithm,
             P workspace, size_t nbytes, P stream) {
    return put('M', stream, a, b, d);
}
int set_bias(P operation, int attribute, P* value, size_t nbytes) { return put('B', 0, operation, *value, nbytes); }
int execute(P handle, P plan, P pack) { return put('X', 0, handle, plan, pack); }
int set_stream(P handle, P stream) { return put('S', stream, handle, 0, 0); }
int create(int kind, P* made) { *made = 0xAC; return 0; }
int set_attribute(P pack, int name, int kind, long long n, P* elements) { return 0; }
int finalize(P pack) { return 0; }
int destroy(P pack) { return 0; }
"""


class Stub:
    def __init__(self, path):
        self.path = str(path)
        self.loaded = ctypes.CDLL(self.path)
        self.loaded.entry.restype = ctypes.c_ulonglong
        self.loaded.own()

    def put(self, name, value):
        ctypes.c_int.in_dll(self.loaded, name).value = value

    def read(self, name):
        return ctypes.c_int.in_dll(self.loaded, name).value

    def fail(self, after, code):
        ctypes.c_ulonglong.in_dll(self.loaded, "code").value = code
        self.put("failing", after)

    @property
    def count(self):
        return self.read("count")

    def calls(self, columns=5, since=0):
        """(name, stream, first, second, size) of each call so far."""
        found = ([self.loaded.entry(row, column) for column in range(6)] for row in range(since, self.count))
        return [(chr(each[0]), *each[1:columns]) for each in found]

    def by_owner(self):
        """Of each call, whether the thread of the test made it."""
        return [bool(self.loaded.entry(row, 5) & 1) for row in range(self.count)]

    def contexts(self):
        return {self.loaded.entry(row, 5) >> 8 for row in range(self.count)}


@pytest.fixture
def native(cuda, stub):
    made = NvidiaDriver(cuda, shared_library=stub.path)
    made.start()
    made._compiler.cubin = lambda kernel, arch: b""
    yield made
    stub.put("gate", 0)
    made.hot.flush()


@pytest.fixture
def side(native):
    return native.stream_create(0, 0)


def awake(native, stub, stream):
    """Let the thread of the stream's device take calls, and hold it in one until the gate opens.

    Return how many calls were made.
    """
    stub.put("held", 0)
    stub.put("gate", 1)
    for index in range(DIRECT + 1):
        native.copy(1, 2, 3 + index, CopyKind.DEVICE_TO_DEVICE, stream)
    while not stub.read("held"):
        os.sched_yield()
    return stub.count


def opened(native, stub):
    stub.put("gate", 0)
    native.hot.flush()


def kernel_of(native, device=0):
    return native.kernel_load(device, Kernel(f"nothing_{device}", "", [Scalar("n", "int64")], lambda n: None))


def checksum(data):
    found = len(data)
    for each in data:
        found = (found * 31 + each) % (1 << 64)
    return found


def test_the_first_calls_are_made_at_once_and_the_next_by_the_thread(native, stub, side):
    assert awake(native, stub, side) == DIRECT
    assert stub.by_owner() == [True] * DIRECT
    opened(native, stub)
    assert [each[4] for each in stub.calls()] == list(range(3, 4 + DIRECT))
    assert stub.contexts() == {0xC0}


def test_every_kind_of_call_keeps_its_arguments_and_its_place(native, stub, side):
    kernel, event, raw = kernel_of(native), native.event_create(0, False, False, False), native._streams[side].raw
    native.capture_begin(side, CaptureMode.GLOBAL)
    graph = native.graph_instantiate(native.capture_end(side))
    made = awake(native, stub, side)
    native.launch(kernel, Grid((7, 1, 1), 32, 5), b"\1\2\3\4\5\6\7\x80", side)
    native.event_record(event, side)
    native.stream_wait_event(side, event)
    native.copy(11, 12, 13, CopyKind.DEVICE_TO_DEVICE, side)
    native.fill(21, 0xF2, 23, side)
    native.graph_launch(graph, side)
    assert stub.count == made
    opened(native, stub)
    raw_event = native._events[event].raw
    assert stub.calls(since=DIRECT + 1) == [
        ("L", raw, 7, 5, checksum(b"\1\2\3\4\5\6\7\x80")), ("R", raw, raw_event, 0, 0), ("W", raw, raw_event, 0, 0),
        ("C", raw, 11, 12, 13), ("F", raw, 21, 0xF2, 23), ("G", raw, 0xE8EC, 0, 0),
    ]  # fmt: skip


def test_an_event_that_is_put_off_is_not_complete_and_the_driver_is_not_asked(native, stub, cuda, side):
    event = native.event_create(0, False, False, False)
    native.event_record(event, side)
    assert native.event_query(event) and len(cuda.named("cuEventQuery")) == 1
    awake(native, stub, side)
    native.event_record(event, side)
    assert not native.event_query(event) and len(cuda.named("cuEventQuery")) == 1
    opened(native, stub)
    assert native.event_query(event) and len(cuda.named("cuEventQuery")) == 2


def test_what_asks_the_driver_comes_after_all_calls(native, stub, cuda, side):
    event = native.event_create(0, True, False, False)
    native.event_record(event, side)
    for ask in (
        lambda: native.stream_query(side),
        lambda: native.device_synchronize(1),
        lambda: native.event_synchronize(event),
        lambda: native.mem_free(0, 0x100),
        lambda: native.host_free(0x100),
        lambda: native.mem_info(0),
    ):
        awake(native, stub, side)
        before, seen = stub.count, []
        count = len(cuda.calls)
        original, cuda._results = cuda._results, lambda *given: seen.append(stub.count) or original(*given)
        opener = threading.Timer(0, stub.put, ("gate", 0))
        opener.start()
        ask()
        opener.join()
        cuda._results = original
        assert len(cuda.calls) > count and seen[-1] == stub.count > before


def test_a_wait_for_a_stream_follows_all_calls_and_needs_no_python(native, stub, cuda, side):
    awake(native, stub, side)
    opener = threading.Timer(0, stub.put, ("gate", 0))
    opener.start()
    native.stream_synchronize(side)
    opener.join()
    assert [each[:2] for each in stub.calls()[-2:]] == [(name, native._streams[side].raw) for name in "CY"]
    assert stub.by_owner()[-1] and cuda.named("cuStreamSynchronize") == []


def test_more_calls_than_the_ring_holds_wait_for_room_and_keep_their_order(native, stub, side):
    kernel, generator = kernel_of(native), random.Random(5)
    sizes = [8 * generator.randrange(1, 4000) for _ in range(150)]
    assert sum(sizes) > 2 * RING_BYTES
    awake(native, stub, side)
    opener = threading.Timer(0.01, stub.put, ("gate", 0))  # the ring is full, or is not yet: both end well
    opener.start()
    buffers = [bytes(generator.randbytes(size)) for size in sizes]
    for buffer in buffers:
        native.launch(kernel, GRID, buffer, side)
    native.hot.flush()
    assert [each[4] for each in stub.calls(since=DIRECT + 1)] == [checksum(each) for each in buffers]


@pytest.mark.parametrize("seed", range(6))
def test_random_calls_of_two_devices_keep_the_order_of_each(native, stub, seed):
    generator = random.Random(seed)
    streams = [native.stream_create(device, 0) for device in (0, 1, 0)]
    kernels = [kernel_of(native, device) for device in (0, 1)]
    events = [native.event_create(device, False, False, False) for device in (0, 1)]
    expected = [[], []]
    records, waits = [0, 0], [[], []]  # of each event: its records so far, and how many each wait follows
    for _ in range(3000):
        which = generator.randrange(3)
        device, stream = which % 2, streams[which]
        raw, number, one = native._streams[stream].raw, generator.randrange(1, 1000), events[which % 2]
        kind = generator.choice("LRWCF" if generator.random() < 0.99 else ".")
        if kind == "L":
            data = struct.pack("q", number) * generator.randrange(1, 40)
            native.launch(kernels[device], Grid((number, 1, 1), 32), data, stream)
            expected[device].append(("L", raw, number, 0, checksum(data)))
        elif kind == "R":
            native.event_record(one, stream)
            records[device] += 1
            expected[device].append(("R", raw, native._events[one].raw, 0, 0))
        elif kind == "W":
            recorder = generator.randrange(2)
            native.stream_wait_event(stream, events[recorder])
            waits[recorder].append(records[recorder])
            expected[device].append(("W", raw, native._events[events[recorder]].raw, 0, 0))
        elif kind == "C":
            native.copy(number, 1, 2, CopyKind.DEVICE_TO_DEVICE, stream)
            expected[device].append(("C", raw, number, 1, 2))
        elif kind == "F":
            native.fill(number, 1, 2, stream)
            expected[device].append(("F", raw, number, 1, 2))
        else:
            native.stream_query(stream)
    native.hot.flush()
    raws = [{native._streams[stream].raw for stream in streams[device::2]} for device in (0, 1)]
    for device in (0, 1):
        assert [each for each in stub.calls() if each[1] in raws[device]] == expected[device]
    assert len(stub.calls()) == len(expected[0]) + len(expected[1])
    for event, needed in zip(events, waits, strict=True):
        raw, made, found = native._events[event].raw, 0, []
        for name, _, first, *_ in stub.calls():
            made += name == "R" and first == raw
            if name == "W" and first == raw:
                found.append(made)
        # Those of one stream are in order; of several streams, only the counts can be compared.
        assert all(a >= b for a, b in zip(sorted(found), sorted(needed), strict=True))


def test_a_wait_for_an_event_of_another_device_follows_its_record_and_does_not_stop_the_host(native, stub, cuda, side):
    far, event = native.stream_create(1, 0), native.event_create(0, False, False, False)
    awake(native, stub, side)
    awake(native, stub, far)
    native.event_record(event, side)
    native.stream_wait_event(far, event)
    native.copy(1, 2, 99, CopyKind.DEVICE_TO_DEVICE, far)
    assert not [each for each in stub.calls() if each[0] in "RW"]  # the gate is closed still
    opened(native, stub)
    raw = native._events[event].raw
    of = [native._streams[each].raw for each in (side, far)]
    found = [each for each in stub.calls() if each[0] in "RW" or each[4] == 99]
    assert found == [("R", of[0], raw, 0, 0), ("W", of[1], raw, 0, 0), ("C", of[1], 1, 2, 99)]
    assert not cuda.named("cuStreamWaitEvent")


def test_a_wait_that_the_host_makes_follows_the_record_of_another_device(native, stub, cuda, side):
    far, event = native.stream_create(1, 0), native.event_create(0, False, False, False)
    native.copy(1, 2, 3, CopyKind.DEVICE_TO_DEVICE, far)
    awake(native, stub, side)
    native.event_record(event, side)
    opener = threading.Timer(0, stub.put, ("gate", 0))
    opener.start()
    native.stream_wait_event(far, event)
    opener.join()
    assert [each[0] for each in stub.calls()[-2:]] == ["R", "W"]
    assert stub.by_owner()[-2:] == [False, True]
    assert stub.contexts() == {native._devices.contexts[device].raw for device in (0, 1)}


def test_a_record_that_other_processes_may_see_is_made_at_once(native, stub, cuda, side):
    event = native.event_create(0, False, False, True)
    awake(native, stub, side)
    opener = threading.Timer(0, stub.put, ("gate", 0))
    opener.start()
    native.event_record(event, side)
    opener.join()
    assert stub.count == DIRECT + 1 and len(cuda.named("cuEventRecord")) == 1


def test_copies_of_host_memory_are_made_at_once_after_all_before_them(native, stub, side):
    for kind in (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST):
        awake(native, stub, side)
        native.fill(1, 2, 3, side)
        opener = threading.Timer(0, stub.put, ("gate", 0))
        opener.start()
        native.copy(11, 12, 13, kind, side)
        opener.join()
        assert [each[0] for each in stub.calls()[-2:]] == ["F", "C"] and stub.by_owner()[-1]


def test_products_and_library_calls_run_in_their_places(native, stub, side):
    def address(name):
        return ctypes.cast(getattr(stub.loaded, name), ctypes.c_void_p).value

    made, lock, raw = library.native(), Lock(), native._streams[side].raw
    parts = struct.pack("10Q", address("multiply"), address("set_bias"), 1, 2, 3, 4, 5, 6, 7, 15)
    product = made.Product(0, False, parts, {0x40: 13}, lock)
    dnn = types.SimpleNamespace(handle=0xD, lock=lock, stream=0, device=0)
    names = ("execute", "set_stream", "create", "set_attribute", "finalize", "destroy")
    lists = [struct.pack(f"{len(given)}Q", *given) for given in (map(address, names), (3, 1), (0, 0))
             for given in [list(given)]]  # fmt: skip
    native._library_calls.update({98: product, 99: made.Execution(dnn, lists[0], 0xB, *lists[1:], 2, 2)})
    asked = []
    native._plans[98] = native._plans[99] = (0, types.SimpleNamespace(run=lambda *given: asked.append(given[0])))
    awake(native, stub, side)
    lock.acquire()  # the ring does not ask for it: nothing else runs beside its calls
    for operands in ((0x100, 0x200, 0x440, 0x500), (0x300, 0x240, 0x540, 0x580)):
        native.hot.library_run(98, bytearray(struct.pack("4Q", *operands)), 14, side)
        native.hot.library_run(99, bytearray(struct.pack("2Q", *operands[:2])), 14, side)
    lock.release()
    opened(native, stub)
    assert stub.calls(since=DIRECT + 1) == [
        ("B", 0, 2, 0x500, 8), ("M", raw, 0x440, 0x200, 0x100), ("S", raw, 0xD, 0, 0), ("X", 0, 0xD, 0xB, 0xAC),
        ("B", 0, 2, 0x580, 8), ("M", raw, 0x540, 0x240, 0x300), ("X", 0, 0xD, 0xB, 0xAC),
    ]  # fmt: skip
    awake(native, stub, side)
    opener = threading.Timer(0, stub.put, ("gate", 0))
    opener.start()
    native.hot.library_run(98, bytearray(struct.pack("4Q", 8, 16, 24, 32)), 14, side)  # no algorithm for 8 bytes
    opener.join()
    assert asked == [(8, 16, 24, 32)] and stub.calls()[-1][0] == "C"


def test_a_failure_is_raised_by_the_next_call_that_waits_and_once(native, stub, side):
    stub.fail(DIRECT + 1, Code.CUDA_ERROR_INVALID_VALUE)
    awake(native, stub, side)
    native.fill(1, 2, 3, side)
    stub.put("gate", 0)
    with pytest.raises(AcceleratorError, match=r"cuMemcpyAsync: .*CUDA_ERROR_INVALID_VALUE.*one before this"):
        native.stream_synchronize(side)
    assert stub.calls()[-1][0] == "F"
    native.stream_synchronize(side)
    assert stub.calls()[-1][0] == "Y"


def test_a_lost_device_is_named_by_the_call_that_waits(native, stub, cuda, side):
    stub.fail(DIRECT + 1, Code.CUDA_ERROR_ILLEGAL_ADDRESS)
    awake(native, stub, side)
    opened(native, stub)
    stub.fail(1, Code.CUDA_ERROR_ILLEGAL_ADDRESS)
    cuda.fails["cuStreamSynchronize"] = Code.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(AcceleratorError, match="cuStreamSynchronize: .*700") as caught:
        native.stream_synchronize(side)
    assert caught.value.sticky


def test_calls_are_made_at_once_while_they_are_held_or_exposed_or_captured(native, stub, side):
    def are_at_once():
        stub.put("gate", 1)
        before = stub.count
        for _ in range(2 * DIRECT + 2):
            native.copy(1, 2, 3, CopyKind.DEVICE_TO_DEVICE, side)
        found = stub.count - before == 2 * DIRECT + 2
        opened(native, stub)
        return found

    assert not are_at_once()
    native.hold()
    native.hold()
    native.release()
    assert are_at_once()
    native.release()
    assert not are_at_once()
    native.capture_begin(side, CaptureMode.GLOBAL)
    assert are_at_once()
    native.capture_end(side)
    assert not are_at_once()
    native.expose()
    native.expose()
    assert are_at_once()


def test_an_earlier_failure_leaves_nothing_half_begun(native, stub, cuda, side, monkeypatch):
    """`expose`, `measure` and `capture_begin` raise it; the same call after it works."""
    ended = []
    monkeypatch.setattr(cupti, "measure", lambda release: types.SimpleNamespace(stop=release))

    def fails(call):
        stub.fail(DIRECT + 1, Code.CUDA_ERROR_INVALID_VALUE)
        awake(native, stub, side)
        stub.put("gate", 0)
        with pytest.raises(AcceleratorError, match="one before this"):
            call()
        ended.append(call)

    for call in (lambda: native.capture_begin(side, CaptureMode.GLOBAL), native.measure, native.expose):
        fails(call)
    assert cuda.named("cuStreamBeginCapture") == [] and len(ended) == 3
    awake(native, stub, side)  # nothing is held
    opened(native, stub)
    native.expose()
    stub.put("gate", 1)
    before = stub.count
    for _ in range(DIRECT + 2):
        native.copy(1, 2, 3, CopyKind.DEVICE_TO_DEVICE, side)
    assert stub.count == before + DIRECT + 2


def test_a_forked_child_does_not_wait_for_a_thread_that_it_lacks(native, stub, side):
    awake(native, stub, side)
    child = os.fork()
    if child == 0:
        native.hot.flush()
        os._exit(17)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    opened(native, stub)
    assert stub.count == DIRECT + 1


def test_finalizers_of_other_threads_do_not_wait_either(native, stub, side):
    """They run in a child before all functions of os.register_at_fork."""
    local, begun, may_end = threading.local(), threading.Event(), threading.Event()

    class Final:
        def __del__(self):
            native.hot.flush()

    def run():
        local.final = Final()
        begun.set()
        may_end.wait()

    other = threading.Thread(target=run)
    other.start()
    begun.wait()
    awake(native, stub, side)
    child = os.fork()
    if child == 0:
        os._exit(17)
    ended = os.pidfd_open(child)
    if not select.select([ended], [], [], 20)[0]:
        os.kill(child, signal.SIGKILL)
    os.close(ended)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    opened(native, stub)
    may_end.set()
    other.join()

"""Measurement by CUPTI, on a stand-in for its library."""

from __future__ import annotations

import ctypes
import logging
import struct

import pytest

from flambeau.driver.nvidia import cupti
from flambeau.driver.nvidia.driver import NvidiaDriver

from .cupti_layout import OFFSETS, SIZES

KERNEL, COPY, PEER, FILL, CORRELATION = OFFSETS
KINDS = {KERNEL: 10, COPY: 1, PEER: 22, FILL: 2, CORRELATION: 39}
WIDTHS = {
    "bytes": "Q", "start": "Q", "end": "Q", "name": "Q", "graphNodeId": "Q", "externalId": "Q", "copyKind": "B",
    "registersPerThread": "H",
}  # fmt: skip
AHEAD_NS = 1_000_000  # CUPTI's clock is so much ahead of the host's
DRIVER, RUNTIME, FUNCTIONS = 4, 5, {4: 700, 5: 510}  # kinds, and the number of functions
LAUNCH_KERNEL, GET_CURRENT, SET_CURRENT = (DRIVER, 307), (DRIVER, 304), (DRIVER, 303)  # cuLaunchKernel, cuCtx...
NAMES = [ctypes.create_string_buffer(text) for text in (b"add_float32", b"_Z5scaleIfEvPT_i", b"\xff")]


def record(of, version=130001, /, **fields):
    """Return a record's bytes in the layout of CUPTI's headers; omitted fields are filled with ones."""
    made = bytearray(b"\xff" * SIZES[version][list(OFFSETS).index(of)])
    for field, value in {"kind": KINDS[of], "graphId": 0, **fields}.items():
        if field in OFFSETS[of]:
            struct.pack_into(WIDTHS.get(field, "I"), made, OFFSETS[of][field], value)
    return bytes(made)


def times(start_ns, end_ns):
    """Times of the host, on CUPTI's clock."""
    return {"start": AHEAD_NS + start_ns, "end": AHEAD_NS + end_ns}


def kernel(correlation, start_ns, end_ns, name=0, version=130001, **fields):
    shape = dict(zip(("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"), (8, 2, 1, 256, 4, 1)))
    sizes = {"staticSharedMemory": 16, "dynamicSharedMemory": 48, "registersPerThread": 32}
    place = {"deviceId": 1, "contextId": 2, "streamId": 7, "correlationId": correlation, **times(start_ns, end_ns)}
    return record(KERNEL, version, name=ctypes.addressof(NAMES[name]), **{**shape, **sizes, **place, **fields})


def correlated(correlation, number, version=130001):
    return record(CORRELATION, version, externalKind=3, externalId=number, correlationId=correlation)


class FakeCupti:
    """libcupti as ctypes sees it.

    buffers: bytes that a flush returns.  fails: codes by the name of a call, or by `name argument`.
    """

    def __init__(self, version=130001):
        self.version = version
        self.fails, self.buffers, self.dropped = {}, [], 0
        self.calls, self.pushed = [], []
        self.enabled, self.recorded, self.left_out, self.subscribers = set(), set(), [], 0

    def __getattr__(self, name):
        if not name.startswith("cupti"):
            raise AttributeError(name)

        def call(*arguments):
            self.calls.append(name)
            given = [getattr(each, "_obj", each) for each in arguments]
            code = self.fails.get(name) or self.fails.get(f"{name} {given[0]}")
            return code or getattr(self, f"_{name.removeprefix('cupti')}")(*given) or 0

        return call

    def _GetVersion(self, version):
        version.value = self.version

    def _GetResultString(self, code, text):
        text.value = b"CUPTI_ERROR_NUMBER_%d" % code

    def _GetTimestamp(self, now):
        now.value = AHEAD_NS

    def _Subscribe(self, subscriber, function, data):
        subscriber.value = 5
        self.subscribers += 1

    def _Unsubscribe(self, subscriber):
        assert subscriber.value == 5
        self.subscribers -= 1

    def _ActivityRegisterCallbacks(self, give, take):
        self.give, self.take = give, take

    def _ActivityEnable(self, kind):
        self.enabled.add(kind)
        self.recorded |= {(kind, number) for number in range(1, FUNCTIONS.get(kind, 0) + 1)}

    def _ActivityDisable(self, kind):
        self.enabled.discard(kind)
        self.recorded -= {each for each in self.recorded if each[0] == kind}

    def _ActivityEnableDriverApi(self, number, enabled):
        return self._record(DRIVER, number, enabled)

    def _ActivityEnableRuntimeApi(self, number, enabled):
        return self._record(RUNTIME, number, enabled)

    def _record(self, kind, number, enabled):
        """Switch the recording of a function.  Without its kind it has no effect, as in a process with a context."""
        if number > FUNCTIONS[kind]:
            return 1  # CUPTI_ERROR_INVALID_PARAMETER
        if kind in self.enabled:
            (self.recorded.add if enabled else self.recorded.discard)((kind, number))
            self.left_out += [] if enabled else [(kind, number)]

    def _ActivityFlushAll(self, flag):
        assert flag == 1
        for data in self.buffers:
            buffer, nbytes, most = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(99)
            self.give(ctypes.pointer(buffer), ctypes.pointer(nbytes), ctypes.pointer(most))
            assert buffer.value % 8 == 0 and most.value == 0 and nbytes.value >= len(data)
            ctypes.memmove(buffer.value, data, len(data))
            self.take(None, 0, buffer.value, nbytes.value, len(data))
        self.buffers = []

    def _ActivityGetNextRecord(self, buffer, nbytes, found):
        begin = ctypes.addressof(buffer)
        sizes = dict(zip(KINDS.values(), SIZES[self.version]))
        at = begin if not found.value else found.value + sizes[ctypes.c_int.from_address(found.value).value]
        if at >= begin + nbytes:
            return 12  # CUPTI_ERROR_MAX_LIMIT_REACHED
        found.value = at

    def _ActivityGetNumDroppedRecords(self, context, stream, count):
        count.value = self.dropped

    def _ActivityPushExternalCorrelationId(self, kind, number):
        self.pushed.append((kind, number))

    def _ActivityPopExternalCorrelationId(self, kind, last):
        self.pushed.pop()


@pytest.fixture
def fake(monkeypatch):
    made = FakeCupti()
    monkeypatch.setattr(cupti, "load", lambda: made)
    monkeypatch.setattr(cupti, "perf_counter_ns", lambda: 0)
    return made


def test_the_fields_stand_where_cupti_s_headers_say():
    fields = {
        "kind": "kind", "start": "start", "end": "end", "device": "deviceId", "context": "contextId",
        "stream": "streamId", "correlation": "correlationId", "graph_node": "graphNodeId", "graph": "graphId",
        "registers": "registersPerThread", "grid": "gridX", "block": "blockX", "static_shared": "staticSharedMemory",
        "dynamic_shared": "dynamicSharedMemory", "name": "name", "copy_kind": "copyKind", "nbytes": "bytes",
        "source": "srcDeviceId", "destination": "dstDeviceId", "external_kind": "externalKind", "number": "externalId",
    }  # fmt: skip
    kinds = (cupti.KernelRecord, cupti.CopyRecord, cupti.PeerCopyRecord, cupti.FillRecord, cupti.CorrelationRecord)
    for (name, offsets), made in zip(OFFSETS.items(), kinds, strict=True):
        known = {fields[field[0]]: getattr(made, field[0]).offset for field in made._fields_ if field[0] in fields}
        assert known.keys() <= offsets.keys() and known == {field: offsets[field] for field in known}, name
        wanted = {"kind", "correlationId"} | (set() if name == CORRELATION else {"start", "end", "graphId"})
        assert wanted <= known.keys(), name


@pytest.mark.parametrize("version", SIZES)
def test_records_become_activities(fake, version):
    fake.version = version
    measured = cupti.measure(lambda: None)
    assert measured.name == f"CUPTI {version}"
    place = {"deviceId": 0, "contextId": 1, "streamId": 13}
    fake.buffers = [
        correlated(50, 3, version) + kernel(50, 100, 250, version=version),
        b"",
        record(COPY, version, copyKind=2, bytes=4096, correlationId=51, **place, **times(300, 400))
        + record(PEER, version, copyKind=10, bytes=64, correlationId=52, **place, **times(500, 600))
        + record(FILL, version, bytes=8, correlationId=53, **place, **times(700, 700))
        + correlated(53, 4, version)
        + kernel(54, 800, 900, name=1, version=version, graphId=9, graphNodeId=1),
    ]
    found, lost = measured.stop(collect=True)
    add, copy, peer, fill, scale = found
    assert lost == 0 and [each.call for each in found] == [3, 0, 0, 4, 0]
    assert (add.name, add.device, add.context, add.stream, add.graph) == ("add_float32", 1, 2, 7, 0)
    assert (add.grid, add.block, add.registers, add.shared_nbytes) == ((8, 2, 1), (256, 4, 1), 32, 64)
    assert (add.start_ns, add.end_ns) == (100, 250)
    assert [(each.name, each.nbytes, each.stream) for each in (copy, peer, fill)] == [
        ("copy d2h", 4096, 13), ("copy peer", 64, 13), ("fill", 8, 13),
    ]  # fmt: skip
    assert [(each.start_ns, each.end_ns) for each in (copy, peer, fill)] == [(300, 400), (500, 600), (700, 700)]
    assert (scale.name, scale.graph, scale.node) == ("void scale<float>(float*, int)", 9, 1)
    assert cupti._held == {} and cupti._returned == []


def test_only_launching_calls_are_recorded_and_all_is_undone(fake):
    measured = cupti.measure(lambda: None)
    assert fake.enabled == {1, 2, 4, 5, 10, 22, 39} and LAUNCH_KERNEL in fake.recorded
    assert len(fake.recorded) == len(cupti.DRIVER_CALLS) + len(cupti.RUNTIME_CALLS)
    assert fake.left_out[:2] == [GET_CURRENT, SET_CURRENT]  # threads call them with the interpreter held
    left_out = max(at for at, name in enumerate(fake.calls) if name == "cuptiActivityEnableRuntimeApi")
    assert fake.calls.index("cuptiActivityRegisterCallbacks") == left_out + 1  # before it, none asks for a buffer
    measured.begin_call(7)
    assert fake.pushed == [(3, 7)]
    measured.end_call()
    assert fake.pushed == []
    measured.stop(collect=True)
    assert fake.enabled == fake.recorded == set()
    order = [name for name in fake.calls if name in ("cuptiSubscribe", "cuptiActivityFlushAll", "cuptiUnsubscribe")]
    assert order == ["cuptiSubscribe", "cuptiActivityFlushAll", "cuptiUnsubscribe"]


def test_a_lost_device_is_asked_for_nothing(fake):
    measured = cupti.measure(lambda: None)
    fake.buffers = [kernel(1, 1, 2)]
    assert measured.stop(collect=False) == ([], 0)
    assert "cuptiActivityFlushAll" not in fake.calls and fake.enabled == set()


def test_dropped_records_and_those_without_times_are_counted(fake):
    measured = cupti.measure(lambda: None)
    fake.dropped = 5
    fake.buffers = [kernel(1, 0, 0, start=0, end=0) + kernel(2, 9, 8) + kernel(3, 8, 9)]
    found, lost = measured.stop(collect=True)
    assert [each.start_ns for each in found] == [8] and lost == 7


def test_a_clock_that_runs_faster_is_followed(fake, monkeypatch):
    hosts = iter([0, 0] * cupti.CLOCK_TRIES + [1000, 1000] * cupti.CLOCK_TRIES)
    clock = iter([5000] * cupti.CLOCK_TRIES + [7000] * cupti.CLOCK_TRIES)
    monkeypatch.setattr(cupti, "perf_counter_ns", lambda: next(hosts))
    monkeypatch.setattr(fake, "_GetTimestamp", lambda now: setattr(now, "value", next(clock)), raising=False)
    measured = cupti.measure(lambda: None)
    fake.buffers = [kernel(1, 0, 0, start=5500, end=6000)]
    ((found,), _) = measured.stop(collect=True)
    assert (found.start_ns, found.end_ns) == (250, 500)


def test_what_cannot_be_used_is_logged_and_leaves_nothing_behind(fake, caplog):
    caplog.set_level(logging.INFO, "flambeau")
    cupti._say.cache_clear()
    cases = (
        ({"cuptiGetVersion": 999}, 130001, "cuptiGetVersion: CUPTI_ERROR_NUMBER_999"),
        ({"cuptiSubscribe": 39}, 130001, "another profiler measures this process"),
        ({"cuptiSubscribe": 15}, 130001, "cuptiSubscribe: CUPTI_ERROR_NUMBER_15 (CUPTI status 15)"),
        ({"cuptiActivityEnable 22": 14}, 28, "cuptiActivityEnable: CUPTI_ERROR_NUMBER_14"),
        ({"cuptiActivityEnable 4": 1}, 28, "cuptiActivityEnable: CUPTI_ERROR_NUMBER_1"),
        ({}, 18, "version 18"),
        ({}, 140000, "version 140000"),
    )
    for fails, version, text in cases:
        caplog.clear()
        fake.fails, fake.version = fails, version
        assert cupti.measure(lambda: None) is None, text
        (line,) = caplog.messages
        assert text in line and "work is measured by events" in line
        assert fake.enabled == fake.recorded == set(), text
        assert cupti.measure(lambda: None) is None and len(caplog.messages) == 1, text  # it is said once
        assert fake.subscribers == 0, text


def test_a_missing_library_is_logged_and_the_driver_says_none(monkeypatch, caplog):
    monkeypatch.setattr(cupti, "load", lambda: None)
    caplog.set_level(logging.INFO, "flambeau")
    cupti._say.cache_clear()
    assert NvidiaDriver(object()).measure() is None
    (line,) = caplog.records
    assert "CUPTI of CUDA 12.6 or later is not installed" in line.message and line.levelno == logging.INFO


def test_a_forked_child_leaves_cupti_alone(fake, monkeypatch):
    measured = cupti.measure(lambda: None)
    with monkeypatch.context() as child:
        child.setattr(cupti.os, "getpid", lambda: -1)
        measured._close()
    assert "cuptiUnsubscribe" not in fake.calls
    measured.stop(collect=True)
    assert fake.calls.count("cuptiUnsubscribe") == 1


def test_the_library_is_searched_in_toolkits_wheels_and_the_path(monkeypatch):
    asked = []

    def missing(path):
        asked.append(path)
        raise OSError(path)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    monkeypatch.setattr(cupti, "packaged", lambda name: (f"/toolkit/lib{name}.so",))
    monkeypatch.setattr(cupti, "in_wheels", lambda library: [f"/wheels/{library}"])
    cupti.load.cache_clear()
    assert cupti.load() is None
    wheels = ["/wheels/libcupti.so.13", "/wheels/libcupti.so.12"]
    assert asked == ["/toolkit/libcupti.so", *wheels, "libcupti.so.13", "libcupti.so.12"]
    cupti.load.cache_clear()


def test_a_library_without_a_function_is_not_taken(monkeypatch):
    monkeypatch.setattr(cupti, "packaged", lambda name: ("libm.so.6",))
    cupti.load.cache_clear()
    assert cupti.load() is None
    cupti.load.cache_clear()


def test_names_are_shown_as_in_the_source():
    for name, shown in ((b"add", "add"), (b"_Z3addv", "add()"), (b"_Z", "_Z"), (b"\xff", "\N{REPLACEMENT CHARACTER}")):
        assert cupti.demangled(name) == shown


def test_names_need_no_cxx_library(monkeypatch):
    monkeypatch.setattr(cupti, "_cxx", lambda: None)
    assert cupti.demangled(b"_Z3addv") == "_Z3addv"

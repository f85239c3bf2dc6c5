"""Collectives by NCCL, on a stand-in that records its calls."""

from __future__ import annotations

import pytest

from flambeau import driver as drivers
from flambeau import dtypes, errors
from flambeau.core.nvidia import Stream
from flambeau.driver.api import Step
from flambeau.driver.nvidia import nccl
from flambeau.kernel import Access

COMM = 0xC0
STREAM = Stream(1, 0xABC, is_ours=True)


class FakeNccl:
    """calls: names and arguments.  fails: codes by name.  failure: what a communicator reports."""

    def __init__(self):
        self.calls, self.fails, self.failure = [], {}, 0

    def __getattr__(self, name):
        if not name.startswith("nccl"):
            raise AttributeError(name)
        return lambda *arguments: self._call(name, arguments)

    def _call(self, name, arguments):
        self.calls.append((name, *arguments))
        if name == "ncclGetErrorString":
            return b"unhandled"
        if name == "ncclGetLastError":
            return b"a link is down"
        if name == "ncclGetVersion":
            arguments[0]._obj.value = 22809
        if name == "ncclGetUniqueId":
            arguments[0]._obj.internal[:] = bytes([len(self.named(name))] * nccl.UNIQUE_ID_BYTES)
        if name == "ncclCommInitRank":
            arguments[0]._obj.value = COMM + len(self.named(name))
        if name == "ncclCommGetAsyncError":
            arguments[1]._obj.value = self.failure
        return self.fails.get(name, 0)

    def named(self, name):
        return [call[1:] for call in self.calls if call[0] == name]


@pytest.fixture
def library(monkeypatch):
    found = FakeNccl()
    monkeypatch.setattr(nccl, "load", lambda: found)
    return found


@pytest.fixture
def communicator(library):
    made = nccl.Communicator(library, bytes(range(128)), 4, 2, STREAM)
    library.raw = COMM + 1
    return made


def access(address, count, dtype=dtypes.float32, mode="r"):
    return Access(address, dtype, mode, (count,), None)


def test_a_communicator_is_made_of_all_members(library, communicator):
    (_, size, unique_id, rank) = library.named("ncclCommInitRank")[0]
    assert (size, rank, bytes(unique_id.internal)) == (4, 2, bytes(range(128)))


SOURCE, TARGET = access(0x100, 8), access(0x200, 8, mode="w")
RAW = COMM + 1
CALLS = {
    "all_reduce": (Step("all_reduce", SOURCE, SOURCE, "SUM"), ("ncclAllReduce", 0x100, 0x100, 8, 7, 0, RAW, 0xABC)),
    "average": (Step("all_reduce", SOURCE, TARGET, "AVG"), ("ncclAllReduce", 0x100, 0x200, 8, 7, 4, RAW, 0xABC)),
    "reduce": (Step("reduce", SOURCE, TARGET, "MAX", 3), ("ncclReduce", 0x100, 0x200, 8, 7, 2, 3, RAW, 0xABC)),
    "not the root": (Step("reduce", SOURCE, None, "MIN", 3), ("ncclReduce", 0x100, None, 8, 7, 3, 3, RAW, 0xABC)),
    "reduce_scatter": (
        Step("reduce_scatter", SOURCE, access(0x200, 2), "PRODUCT"),
        ("ncclReduceScatter", 0x100, 0x200, 2, 7, 1, RAW, 0xABC),
    ),
    "broadcast": (Step("broadcast", SOURCE, None, peer=2), ("ncclBroadcast", 0x100, 0x100, 32, 0, 2, RAW, 0xABC)),
    "broadcast to": (Step("broadcast", None, TARGET, peer=1), ("ncclBroadcast", 0x200, 0x200, 32, 0, 1, RAW, 0xABC)),
    "all_gather": (
        Step("all_gather", SOURCE, access(0x200, 32)),
        ("ncclAllGather", 0x100, 0x200, 32, 0, RAW, 0xABC),
    ),
    "send": (Step("send", SOURCE, None, peer=3), ("ncclSend", 0x100, 32, 0, 3, RAW, 0xABC)),
    "receive": (Step("receive", None, TARGET, peer=0), ("ncclRecv", 0x200, 32, 0, 0, RAW, 0xABC)),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_step_is_one_call(library, communicator, name):
    step, wanted = CALLS[name]
    communicator.run([step])
    assert library.calls[-1] == wanted


def test_several_steps_are_one_group(library, communicator):
    communicator.run([CALLS["send"][0], CALLS["receive"][0]])
    assert [call[0] for call in library.calls[-4:]] == ["ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"]
    library.fails["ncclSend"] = 4
    with pytest.raises(errors.AcceleratorError, match="send: NCCL status 4"):
        communicator.run([CALLS["send"][0], CALLS["receive"][0]])
    assert library.calls[-1][0] != "ncclRecv" and len(library.named("ncclGroupEnd")) == 2  # the group is closed


def test_types_and_reductions():
    sums = {kind for kind in dtypes.ALL if nccl.can_run(Step("all_reduce", access(0, 1, kind), None, "SUM"))}
    assert sums == set(dtypes.ALL) - {dtypes.int16}
    assert nccl.can_run(Step("all_gather", access(0, 1, dtypes.int16), None))
    for name in ("BAND", "BOR", "BXOR"):
        assert not nccl.can_run(Step("all_reduce", access(0, 1, dtypes.int32), None, name))
    assert not nccl.can_run(Step("all_reduce", access(0, 1, dtypes.bool_), None, "AVG"))


def test_the_sum_of_bools_is_the_largest(library, communicator):
    flags = access(0x100, 3, dtypes.bool_)
    communicator.run([Step("all_reduce", flags, flags, "SUM")])
    assert library.calls[-1] == ("ncclAllReduce", 0x100, 0x100, 3, 1, nccl.MAX, RAW, 0xABC)


def test_an_error_has_nccls_texts_and_the_values(library, communicator):
    library.fails["ncclAllReduce"] = 2
    with pytest.raises(errors.AcceleratorError) as raised:
        communicator.run([CALLS["all_reduce"][0]])
    text = str(raised.value)
    assert text.startswith("all_reduce: NCCL status 2: unhandled: a link is down; nbytes is 32")
    assert "device is 1" in text and "NCCL_DEBUG" in text


def test_an_aborted_communicator_is_not_used_again(library, communicator):
    communicator.abort()
    communicator.abort()
    communicator.destroy()
    assert library.named("ncclCommAbort") == [(RAW,)] and not library.named("ncclCommDestroy")
    with pytest.raises(errors.AcceleratorError, match="has been aborted"):
        communicator.run([CALLS["all_reduce"][0]])


def test_errors_while_it_works(library, communicator):
    assert communicator.failure() == ""
    library.failure = nccl.IN_PROGRESS
    assert communicator.failure() == ""
    library.failure = 6
    assert communicator.failure() == "unhandled: a link is down"
    with communicator._lock:  # a call is under way: the thread that asks goes on
        assert communicator.failure() == ""


class Exchange:
    """An exchange of the steps, in which this process is the first of two."""

    def __init__(self, steps, streams):
        self.name, self.steps, self.streams, self.rank, self.size = "test", steps, streams, 0, 2
        self.joined = []

    def join(self, make_id, gpu):
        self.joined.append(gpu)
        return make_id()


def test_the_driver_makes_one_communicator_per_stream(library, cuda, driver):
    one, other = (driver.stream_create(1, 0) for _ in range(2))
    step = CALLS["all_reduce"][0]
    exchange = Exchange([step], [one, other])
    for stream in (one, one, other):
        driver.exchange(exchange, (), (), stream)
    assert exchange.joined == [driver._devices.uuid(1)]
    assert [bytes(call[2].internal)[0] for call in library.named("ncclCommInitRank")] == [1, 2]
    assert [call[1:4] for call in library.named("ncclSend")] == [(1, 0, 1), (1, 0, 1)]  # a byte to the other member
    assert len(library.named("ncclRecv")) == 2
    used = [call[-2:] for call in library.named("ncclAllReduce")]
    raws = [driver.stream_raw(stream) for stream in (one, one, other)]
    assert used == [(COMM + 1, raws[0]), (COMM + 1, raws[1]), (COMM + 2, raws[2])]
    waits = len(cuda.named("cuStreamSynchronize"))
    driver.finish_exchanges()
    assert sorted(library.named("ncclCommDestroy")) == [(COMM + 1,), (COMM + 2,)]
    assert len(cuda.named("cuStreamSynchronize")) == waits + 2
    driver.finish_exchanges()  # there are none any more
    assert len(library.named("ncclCommDestroy")) == 2


def test_the_driver_aborts_and_reports(library, driver):
    stream = driver.stream_create(0, 0)
    driver.exchange(Exchange([], [stream]), (), (), stream)
    assert driver.exchange_failure() == ""
    library.failure = 6
    assert driver.exchange_failure() == "unhandled: a link is down"
    driver.abort_exchanges()
    assert library.named("ncclCommAbort") == [(COMM + 1,)] and driver.exchange_failure() == ""


def test_values_that_must_pass_through_the_host_are_refused(library, driver):
    stream = driver.stream_create(0, 0)
    with pytest.raises(errors.NotSupportedError, match="test: streams of NVIDIA GPUs run steps only"):
        driver.exchange(Exchange(None, [stream]), (), (), stream)


def test_the_version_and_a_machine_without_nccl(library, monkeypatch, driver):
    assert drivers.nccl_version() == (2, 28, 9)
    monkeypatch.setattr(nccl, "load", lambda: None)
    assert drivers.nccl_version() is None and not driver.runs_steps([])

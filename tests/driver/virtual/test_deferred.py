"""Calls in memory that no other stream uses are deferred, and the races that are found stay the same.

Random programs beside an oracle: tests/oracle/test_order.py.
"""

import inspect
import random
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import flambeau as torch
from flambeau import driver
from flambeau.config import virtual_gpus
from flambeau.core import thread
from flambeau.driver.virtual import deferred, following
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.followed import FollowedDriver
from flambeau.testing import check, machine


@pytest.fixture(autouse=True)
def followed(monkeypatch):
    """Machines that start get a followed driver."""

    def make(choice, schedule=None):
        return FollowedDriver(choice, VirtualDriver(virtual_gpus(choice.count, races="real")))

    monkeypatch.setattr(driver, "make", make)


@pytest.fixture
def made(monkeypatch):
    """How many launches and blocks the model was told of."""
    counts = Counter()
    for name in ("_note", "_take", "take_known"):
        real = getattr(following.FollowingEngine, name)

        def counted(self, *arguments, name=name, real=real):
            counts[name] += 1
            return real(self, *arguments)

        monkeypatch.setattr(following.FollowingEngine, name, counted)
    return counts


def pending():
    """The number of deferred calls."""
    lists = thread.machine().driver._engine.deferred
    assert all(each.is_open for each in lists)
    return sum(len(each.launches + each.blocks) for each in lists) // deferred.WIDTH


def step(x):
    for _ in range(10):
        x = x * 2 + 1
    return x


def synchronize_during(work, monkeypatch):
    """Wait for the current stream, while another thread works."""
    real = VirtualDriver.stream_synchronize

    def waits(self, stream):
        real(self, stream)
        other = threading.Thread(target=work)
        other.start()
        other.join()

    with monkeypatch.context() as patch:
        patch.setattr(VirtualDriver, "stream_synchronize", waits)
        torch.cuda.current_stream().synchronize()


def verbs(found):
    return [(race.older.verb, race.newer.verb, race.older.name) for race in found.races]


def test_launches_and_blocks_before_a_wait_are_never_made_but_those_that_stay(made):
    with machine(devices=1, races="real"), check() as found:
        x = torch.ones(100, device="cuda")
        step(x)
        torch.cuda.synchronize()
        made.clear()
        for _ in range(5):
            kept = step(x)
        assert pending() > 100 and not made
        torch.cuda.current_stream().synchronize()
        assert pending() == 0 and set(made) == {"take_known"}
        assert made["take_known"] <= 4  # the result, and blocks whose end the allocator has not looked at yet
        assert kept.sum().item() == 100 * (2**10 + 2**10 - 1)
    assert not found.races and not found.notes


def test_memory_that_grows_makes_nothing(made):
    with machine(devices=1, races="real"), check() as found:
        x, large, pinned = torch.ones(100, device="cuda"), [], []
        for _ in range(2):
            step(x)  # new to the model at first
        torch.cuda.synchronize()
        step(x)
        before, count = pending(), made.copy()
        for _ in range(3):
            large.append(torch.empty(1 << 24, device="cuda"))
            pinned.append(torch.empty(1 << 16).pin_memory())
            step(x)
        assert torch.cuda.memory_stats()["segment.all.current"] >= 4
        assert made == count and pending() > 4 * before
        assert step(x)[0].item() == 2**10 + 2**10 - 1
    assert not found.races and not found.notes


def test_a_value_that_is_read_in_every_step_drops_the_step(made):
    with machine(devices=1, races="real"), check() as found:
        x = torch.ones(100, device="cuda")
        for at in range(6):
            if at == 3:
                made.clear()
            step(x).sum().item()
        assert made["_note"] == 3 and pending() == 0  # the copies, which use pinned memory
    assert not found.races and not found.notes


def test_work_after_a_wait_races_and_work_before_it_does_not():
    with machine(devices=1, races="real"), check() as found:
        before, after, side = torch.ones(8, device="cuda"), torch.ones(8, device="cuda"), torch.cuda.Stream()
        for each in (before, after):
            for _ in range(3):
                each.add_(1)
        torch.cuda.synchronize()
        for _ in range(3):
            after.add_(1)
        assert pending() > 0
        with torch.cuda.stream(side):
            before.mul_(2)
            after.mul_(2)
        assert pending() == 0
    assert verbs(found) == [("writes", "writes", "after")]
    assert [edit.statement for edit in found.edits] == ["side.wait_stream(torch.cuda.default_stream())"]
    assert found.verified


def test_a_block_that_another_stream_still_uses_when_it_is_taken_again_is_a_race():
    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(1000, device="cuda"), torch.cuda.Stream()
        step(x)
        torch.cuda.synchronize()
        x = step(x)
        assert pending() > 0
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x * 2
        address = x.data_ptr()
        del x
        z = torch.empty(1000, device="cuda")
        assert z.data_ptr() == address
    assert verbs(found) == [("reads", "takes", "x")]
    assert found.races[0].why.startswith("the memory was freed while stream ")
    del y, z


@pytest.mark.parametrize("was_used", [False, True])
def test_bytes_of_a_block_that_was_taken_and_given_back_in_between_are_not_fresh(was_used):
    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        for _ in range(3):
            x.add_(1)
        if was_used:
            assert pending() > 0
            address = torch.empty(5000, device="cuda").data_ptr()
        torch.cuda.synchronize()
        for _ in range(3):
            x.add_(1)
        y = torch.empty(5000, device="cuda")
        assert not was_used or y.data_ptr() == address
        with torch.cuda.stream(side):
            y.fill_(1)
    assert verbs(found) == [("takes", "writes", "")]
    assert ("fresh" in found.races[0].why) != was_used


def test_a_long_list_is_made(monkeypatch, made):
    monkeypatch.setattr(deferred, "FULL", 50 * deferred.WIDTH)
    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream(name="side")
        for _ in range(200):
            x.add_(1)
        assert 150 <= made["_note"] <= 200 and pending() < 50
        with torch.cuda.stream(side):
            x.add_(1)
    assert len(found.races) == 1


def test_freed_blocks_of_dropped_calls_are_not_kept(monkeypatch, made):
    monkeypatch.setattr(following, "PRUNE_AFTER", 32)
    sizes = random.Random(0)
    with machine(devices=1, races="real"), check():
        x = torch.ones(8, device="cuda")
        for _ in range(300):
            x.add_(1)
            kept = [torch.empty(sizes.randrange(1, 40) * 128, device="cuda") for _ in range(8)]
            torch.cuda.synchronize()
        assert made["take_known"] > 1000
        (alone,) = (each for each in thread.machine().driver.alone.values() if each.histories)
        assert len(alone.histories) <= 33
        del kept


def test_queries_that_find_work_in_flight_are_not_kept(monkeypatch, made):
    monkeypatch.setattr(deferred, "FULL", 50 * deferred.WIDTH)
    real, answers = VirtualDriver.stream_query, iter([False] * 200)
    monkeypatch.setattr(VirtualDriver, "stream_query", lambda self, stream: next(answers, True) and real(self, stream))
    with machine(devices=1, races="real"), check() as found:
        x = torch.ones(8, device="cuda")
        for at in range(6):
            x.add_(1)
            if at == 2:
                torch.cuda.synchronize()
                made.clear()
        while not torch.cuda.current_stream().query():
            pass
        assert next(answers, None) is None and not made and pending() == 0
    assert not found.races


def test_each_stream_defers_its_calls_in_its_own_memory():
    with machine(devices=1, races="real"), check() as found:
        side = torch.cuda.Stream()
        x = torch.ones(8, device="cuda")
        with torch.cuda.stream(side):
            y = torch.ones(8, device="cuda")
        for _ in range(3):
            x.add_(1)
            with torch.cuda.stream(side):
                y.add_(1)
        assert pending() >= 4  # a line's first launch is made
        side.synchronize()
        assert pending() >= 2
        assert x.sum().item() == 8 * 4 and pending() == 0
    assert not found.races


def test_memory_is_private_again_once_the_host_has_waited_for_its_other_users():
    def work():
        for _ in range(3):
            x.add_(1)

    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        work()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            x.add_(1)
        torch.cuda.current_stream().wait_stream(side)
        work()
        assert pending() == 0
        side.synchronize()
        work()
        assert pending() == 3
        with torch.cuda.stream(side):
            x.add_(1)
    (race,) = found.races
    assert (race.older.verb, race.newer.verb) == ("writes", "writes")


def test_a_launch_in_private_and_shared_memory_is_compared_in_the_shared_at_once():
    def work():
        return x.copy_(shared), side

    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        with torch.cuda.stream(side):
            shared = torch.ones(8, device="cuda")
        side.synchronize()
        for _ in range(3):
            work()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            shared.add_(1)
        work()
        assert pending() > 0
        with torch.cuda.stream(side):
            x.add_(1)
    assert verbs(found) == [("writes", "reads", "shared"), ("writes", "writes", "x")]
    assert found.verified


def test_a_wait_covers_the_calls_before_it_and_not_those_of_other_threads_after_it(monkeypatch):
    """Another thread uses the stream while the host waits for it."""

    def work():
        x.add_(1)

    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        for _ in range(3):
            work()
        torch.cuda.synchronize()
        work()
        synchronize_during(work, monkeypatch)
        assert pending() == 1
        with torch.cuda.stream(side):
            y = x * 2
    assert verbs(found) == [("writes", "reads", "x")]
    del y


@pytest.mark.parametrize("limit", [1, deferred.FULL])
def test_a_block_that_another_thread_takes_during_a_wait_is_taken_after_unfinished_work(limit, monkeypatch):
    monkeypatch.setattr(deferred, "FULL", limit)
    taken = []
    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        for _ in range(3):
            x.add_(1)
        synchronize_during(lambda: taken.append(torch.empty(1000, device="cuda")), monkeypatch)
        with torch.cuda.stream(side):
            taken[0].fill_(1)
    assert verbs(found) == [("takes", "writes", "")]


def test_bytes_that_were_used_are_not_fresh_after_the_driver_has_allocated_others():
    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        for _ in range(3):
            x.add_(1)
        address = torch.empty(5000, device="cuda").data_ptr()
        torch.empty(8, device="cuda")  # the allocator looks at freed blocks
        torch.cuda.synchronize()
        assert thread.machine().driver._memory.devices[0].reused
        torch.empty(10_000_000, device="cuda")  # from the driver
        for _ in range(3):
            x.add_(1)
        y = torch.empty(5000, device="cuda")
        assert y.data_ptr() == address
        with torch.cuda.stream(side):
            y.fill_(1)
    assert verbs(found) == [("takes", "writes", "")]
    assert "fresh" not in found.races[0].why


def test_only_new_bytes_are_fresh_again():
    device = following.FollowedDevice(0, 0, False)
    device.adopt(0, 1000)
    device.reuse({0: 100, 200: 600, 700: 800})
    device.adopt(300, 100)
    assert device.reused == {0: 100, 200: 300, 400: 600, 700: 800}


def test_a_copy_has_the_names_of_its_line_though_a_capture_made_it_first():
    def put(target, source):
        target.copy_(source, non_blocking=True)

    def use():
        with torch.cuda.stream(side):
            x.fill_(1)

    with machine(devices=1, races="real"), check() as found:
        x, y, side = torch.ones(8, device="cuda"), torch.ones(8, device="cuda"), torch.cuda.Stream()
        pinned = torch.ones(8, pin_memory=True)
        torch.cuda.synchronize()
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            put(x, pinned)
        torch.cuda.synchronize()
        y.add_(1)
        put(x, pinned)
        use()
    assert verbs(found) == [("writes", "writes", "target")]


def test_a_launch_has_its_own_operator_where_one_line_calls_several():
    x = None

    def run(net):
        return net(x)

    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        for _ in range(2):
            run(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()))
            torch.cuda.synchronize()
        y = run(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Threshold(0.5, 0.0, inplace=True)))
        with torch.cuda.stream(side):
            y.fill_(1)
    (race,) = found.races
    assert race.older.operator.startswith("threshold") and "relu" not in race.older.operator


def test_a_deferred_call_that_the_model_cannot_follow_is_named_with_its_own_line(monkeypatch):
    real = following.FollowingEngine.make_launch

    def make_launch(self, alone, loaded, arguments, *rest):
        if unknown in arguments:
            raise ValueError("it is not known")
        real(self, alone, loaded, arguments, *rest)

    monkeypatch.setattr(following.FollowingEngine, "make_launch", make_launch)
    unknown = None
    with machine(devices=1, races="real"), check() as found:
        x, y, pinned = torch.ones(8, device="cuda"), torch.ones(8, device="cuda"), torch.ones(8, pin_memory=True)
        torch.cuda.synchronize()
        unknown = y.data_ptr()
        for target in (x, x, y):
            target.copy_(pinned, non_blocking=True)
        line = inspect.currentframe().f_lineno - 1
        assert pending() > 0
        with torch.cuda.stream(torch.cuda.Stream()):
            x.add_(1)
    (note,) = found.notes
    assert f"copy at {__file__}:{line}: ValueError: it is not known" in note


def test_a_list_is_closed_before_its_calls_are_read(monkeypatch):
    """Other threads list blocks without a lock while it is open."""
    read, sextuples = [], deferred._sextuples

    def watched(calls):
        read.append((len(calls), [*thread.machine().driver.deferred]))
        return sextuples(calls)

    monkeypatch.setattr(deferred, "_sextuples", watched)
    with machine(devices=1, races="real"), check() as found:
        x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
        for _ in range(3):
            x.add_(1)
        assert pending() > 0
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.add_(1)
        torch.cuda.synchronize()
    assert sum(count for count, _ in read) > 0 and not any(still_open for _, still_open in read)
    assert not found.races


@pytest.fixture
def switching():
    """Threads take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_take_blocks_beside_waits_lose_none(switching):
    def work(stream):
        kept = []
        with torch.cuda.stream(stream):
            for number in range(1500):
                kept.append(torch.empty(100 + number % 7 * 600, device="cuda"))
                if number % 3 == 0:
                    kept[-1].add_(1)
                del kept[:-5]
        return kept

    with machine(devices=1, races="real"), check() as found:
        streams = [torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
        other = torch.cuda.Stream()
        with ThreadPoolExecutor(len(streams)) as pool:
            jobs = [pool.submit(work, each) for each in streams]
            while not all(each.done() for each in jobs):
                torch.cuda.synchronize()
                x = torch.ones(8, device="cuda")
                other.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(other):  # the calls of the default stream are made
                    x.add_(1)
                torch.cuda.current_stream().wait_stream(other)
        followed = thread.machine().driver
        torch.cuda.memory_stats()  # the allocator looks at freed blocks
        with followed.lock:
            live = {low for low, block in followed._memory.devices[0].blocks.at.items() if block.is_live}
        active = [block for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
        assert live == {block["address"] for block in active if block["state"] == "active_allocated"}
        assert followed.lost == "" and [len(each.result()) for each in jobs] == [5, 5, 5]
    assert not found.races and not found.notes


@pytest.mark.parametrize("limit", [deferred.WIDTH * 40, deferred.FULL])
def test_threads_that_launch_on_one_stream_lose_none(switching, monkeypatch, limit):
    def work(x):
        for _ in range(500):
            x.add_(1)

    monkeypatch.setattr(deferred, "FULL", limit)
    with machine(devices=1, races="real"), check() as found:
        tensors = [torch.zeros(100, device="cuda") for _ in range(3)]
        state = thread.machine().driver.alone[torch.cuda.current_stream().handle].state
        torch.cuda.synchronize()
        before = state.count
        with ThreadPoolExecutor(len(tensors)) as pool:
            jobs = [pool.submit(work, each) for each in tensors]
            while not all(each.done() for each in jobs):
                torch.cuda.synchronize()
        assert state.count == before + 3 * 500 and thread.machine().driver.lost == ""
        numbers = [number for each in thread.machine().driver.deferred for number in each.launches[3 :: deferred.WIDTH]]
        assert numbers == sorted(set(numbers))
        assert [each[0].item() for each in tensors] == [500] * 3
    assert not found.races and not found.notes


def test_a_block_that_is_taken_after_a_graph_and_a_wait_is_the_latest_work_of_its_stream():
    with machine(devices=1, races="real"), check() as found:
        main, side, branch, third = torch.cuda.current_stream(), *(torch.cuda.Stream() for _ in range(3))
        x, graph = torch.zeros(8, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            capturing = torch.cuda.current_stream()
            branch.wait_stream(capturing)
            with torch.cuda.stream(branch):
                x[:4].add_(1)
            capturing.wait_stream(branch)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            x[4:].add_(1)
        graph.replay()
        main.wait_stream(side)
        taken = torch.empty(8, device="cuda")
        with torch.cuda.stream(third):
            x.copy_(taken)  # a wait for the main stream orders the writes on the branch and on the side stream too
    assert [(race.older.verb, race.older.stream, race.newer.verb) for race in found.races] == [
        ("takes", "the default stream", "reads")
    ]
    assert [edit.statement for edit in found.edits] == ["third.wait_stream(main)"]

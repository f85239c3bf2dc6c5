"""Graphs on virtual GPUs: errors that hardware leaves undefined or silent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau.driver.api import CaptureMode
from flambeau.driver.virtual.schedule import Delay, Seeded, Submission
from flambeau.errors import AccessError, RaceError
from flambeau.testing.schedules import outcomes

from .rig import BUMP, Rig

N = 8
NBYTES = 4 * N


def captured(rig, work, mode=CaptureMode.GLOBAL):
    """Capture the work that `work` submits to stream a."""
    rig.driver.kernel_load(0, BUMP)
    rig.driver.capture_begin(rig.a, mode)
    work()
    return rig.driver.graph_instantiate(rig.driver.capture_end(rig.a))


def bump(rig, address, stream=None):
    rig.launch(BUMP, [address, N], stream or rig.a)


def filled(rig, offset=0, value=0.0):
    address = rig.take(offset, NBYTES)
    rig.put(address, np.full(N, value), rig.a)
    return address


def test_a_block_taken_in_a_capture_is_poison_at_each_launch(rig):
    out = []

    def work():
        out.append(rig.take(0, NBYTES))
        bump(rig, out[0])

    graph = captured(rig, work)
    for _ in range(2):
        rig.fill(out[0], 0, NBYTES, rig.a)
        rig.driver.graph_launch(graph, rig.a)
        assert np.isnan(rig.get(out[0], N)).all()


def test_a_block_given_back_in_its_capture_is_used_by_launches(rig):
    target = filled(rig, 4096)

    def work():
        temporary = rig.take(0, NBYTES)
        rig.fill(temporary, 0, NBYTES, rig.a)
        bump(rig, temporary)
        rig.copy(target, temporary, NBYTES, rig.a)
        rig.give(temporary, NBYTES)
        again = rig.take(0, NBYTES)  # as the allocator does: the same bytes, once more
        rig.fill(again, 0, NBYTES, rig.a)
        rig.give(again, NBYTES)

    graph = captured(rig, work)
    for _ in range(2):
        rig.fill(target, 0, NBYTES, rig.a)
        rig.driver.graph_launch(graph, rig.a)
        assert rig.get(target, N).tolist() == [1.0] * N


def test_an_input_that_was_freed_is_an_error(rig):
    data = filled(rig)
    graph = captured(rig, lambda: bump(rig, data))
    rig.give(data, NBYTES)
    with pytest.raises(AccessError, match="bump, captured at .*rig.py:.* was freed"):
        rig.driver.graph_launch(graph, rig.a)


@pytest.mark.parametrize("nbytes", [NBYTES, 2 * NBYTES])
def test_an_input_whose_memory_has_another_owner_is_an_error(rig, nbytes):
    data = filled(rig)
    graph = captured(rig, lambda: bump(rig, data))
    rig.give(data, NBYTES)
    rig.take(0, nbytes)
    with pytest.raises(AccessError, match="has a new owner"):
        rig.driver.graph_launch(graph, rig.a)


def test_the_graph_s_own_memory_must_not_be_freed(rig):
    segment = rig.driver.mem_alloc(0, 2 << 20)

    def work():
        rig.driver.block_taken(0, segment, NBYTES, rig.a)
        rig.fill(segment, 0, NBYTES, rig.a)

    graph = captured(rig, work)
    rig.driver.graph_launch(graph, rig.a)
    rig.driver.mem_free(0, segment)  # waits for the launch
    with pytest.raises(AccessError, match="memory was freed"):
        rig.driver.graph_launch(graph, rig.a)


def test_a_race_with_a_launch_is_found(make_rig):
    rig = make_rig(races="error")
    data = filled(rig)
    rig.wait(rig.b, rig.a)
    graph = captured(rig, lambda: bump(rig, data))
    rig.driver.graph_launch(graph, rig.a)
    with pytest.raises(RaceError, match="nothing orders this after bump"):
        rig.fill(data, 0, NBYTES, rig.b)
    rig.wait(rig.b, rig.a)
    rig.fill(data, 0, NBYTES, rig.b)
    with pytest.raises(RaceError, match="nothing orders this after fill"):
        rig.driver.graph_launch(graph, rig.a)


def test_a_race_inside_a_graph_is_found(make_rig):
    rig = make_rig(races="error")
    data = filled(rig)

    def work():
        rig.wait(rig.b, rig.a)
        bump(rig, data, rig.b)
        bump(rig, data)
        rig.wait(rig.a, rig.b)

    graph = captured(rig, work)
    with pytest.raises(RaceError):
        rig.driver.graph_launch(graph, rig.a)


def test_two_launches_of_a_graph_have_an_order(make_rig):
    """Even on two streams, as on hardware."""
    rig = make_rig(races="error")
    data = filled(rig)
    graph = captured(rig, lambda: bump(rig, data))
    rig.wait(rig.b, rig.a)
    for stream in (rig.a, rig.b, rig.a):
        rig.driver.graph_launch(graph, stream)
    assert rig.get(data, N).tolist() == [3.0] * N


PROGRAM = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=8)


def run(program, schedule, as_graph, launches=2):
    """Three streams that add among three arrays, each step ordered after the last one on either array."""
    rig = Rig("real", schedule)
    rig.driver.kernel_load(0, BUMP)
    data = [filled(rig, 4096 * at, at) for at in range(3)]
    rig.driver.stream_synchronize(rig.a)

    def work():
        last = {}
        for name in "bc":
            rig.wait(getattr(rig, name), rig.a)
        for name, target, source in program:
            stream = getattr(rig, name)
            for at in (target, source):
                if last.get(at, stream) != stream:
                    rig.wait(stream, last[at])
                last[at] = stream
            if target != source:
                rig.copy(data[target], data[source], NBYTES, stream)
            bump(rig, data[target], stream)
        for name in "bc":
            rig.wait(rig.a, getattr(rig, name))

    if as_graph:
        graph = captured(rig, work)
    for _ in range(launches):
        if as_graph:
            rig.driver.graph_launch(graph, rig.a)
        else:
            work()
    return [rig.get(each, N).tolist() for each in data]


@settings(deadline=None)
@given(PROGRAM, st.integers(0, 5))
def test_launches_equal_the_calls_made_again(program, seed):
    expected = run(program, Submission(), as_graph=False)
    for schedule in (Submission(), Seeded(seed), Delay(seed % 3)):
        assert run(program, schedule, as_graph=True) == expected


def test_a_fork_inside_a_graph_is_concurrent_only_where_it_was():
    """Unordered, the two writers give both values; with the join before the second one, there is one value."""

    def program(join_first):
        def once(schedule):
            rig = Rig("real", schedule)
            data = filled(rig)

            def work():
                rig.wait(rig.b, rig.a)
                rig.fill(data, 1, NBYTES, rig.b)
                if join_first:
                    rig.wait(rig.a, rig.b)
                rig.fill(data, 2, NBYTES, rig.a)
                if not join_first:
                    rig.wait(rig.a, rig.b)

            rig.driver.graph_launch(captured(rig, work), rig.a)
            return rig.get_bytes(data, 1)[0]

        return once

    assert outcomes(program(join_first=False)) == {1, 2}
    assert outcomes(program(join_first=True)) == {2}


def test_modelled_time_of_a_launch_is_one_call_on_the_host(rig):
    data = filled(rig)
    graph = captured(rig, lambda: [bump(rig, data) for _ in range(100)])
    before = rig.driver.clock.now()
    rig.driver.graph_launch(graph, rig.a)
    assert rig.driver.clock.now() - before < 10_000  # nanoseconds


def test_a_launch_that_races_queues_none_of_its_nodes():
    rig = Rig(races="error")
    first, second = filled(rig), filled(rig, 4096)
    rig.driver.device_synchronize(0)
    graph = captured(rig, lambda: (bump(rig, first), bump(rig, second)))
    rig.fill(second, 0, NBYTES, rig.b)
    before = rig.driver.clock.now(), list(rig.driver.log)
    for _ in range(2):
        with pytest.raises(RaceError) as caught:
            rig.driver.graph_launch(graph, rig.a)
        assert (caught.value.accesses[0].operator, caught.value.accesses[1].operator) == ("bump", "fill")
    assert (rig.driver.clock.now(), list(rig.driver.log)) == before
    rig.driver.device_synchronize(0)
    assert rig.ran().count("bump") == 0
    rig.driver.graph_launch(graph, rig.a)
    assert rig.get(first, N).tolist() == [1.0] * N and rig.get(second, N).tolist() == [1.0] * N


def test_a_launch_whose_branches_race_queues_none_of_its_nodes():
    rig = Rig(races="error")
    first, second = filled(rig), filled(rig, 4096)
    rig.driver.device_synchronize(0)

    def work():
        rig.wait(rig.b, rig.a)
        bump(rig, first)
        bump(rig, second)
        bump(rig, second, rig.b)
        rig.wait(rig.a, rig.b)

    graph = captured(rig, work)
    with pytest.raises(RaceError) as caught:
        rig.driver.graph_launch(graph, rig.a)
    assert caught.value.accesses[0].stream == f"a branch of a graph on stream {rig.a}"
    rig.driver.device_synchronize(0)
    assert rig.ran().count("bump") == 0


def test_work_of_a_graph_is_told_with_the_line_that_launched_it():
    rig = Rig(races="error")
    first = filled(rig)
    rig.driver.device_synchronize(0)
    graph = captured(rig, lambda: bump(rig, first))
    rig.driver.graph_launch(graph, rig.a)
    with pytest.raises(RaceError, match=r"bump, which .* captured, and launched at .*test_graphs\.py") as caught:
        rig.fill(first, 0, NBYTES, rig.b)
    assert [each.awaited for each in caught.value.missing] == [f"stream {rig.a}"]

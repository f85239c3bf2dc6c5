"""The modelled time of collectives, and the clusters of `flambeau run`."""

import click
import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.cli.launch import cluster
from flambeau.core import thread
from flambeau.errors import ConfigError
from flambeau.parallel.links import START_NS, STEP_NS, parsed
from tests.parallel.processes import run

GIB = 1 << 30


def time_of(name, nbytes, ranks, size, text=""):
    return parsed(text).duration_ns(name, nbytes, ranks, size, peer_rate=400.0)


def test_a_ring_within_a_host():
    assert time_of("all_reduce", 0, [0, 1], 2) == START_NS + 2 * STEP_NS
    assert time_of("all_reduce", GIB, [0, 1], 2) == int(START_NS + 2 * STEP_NS + GIB / 400)
    assert time_of("all_reduce", GIB, range(8), 8) == int(START_NS + 14 * STEP_NS + 2 * 7 / 8 * GIB / 400)
    assert time_of("all_gather", GIB, range(8), 8) == int(START_NS + 7 * STEP_NS + 7 / 8 * GIB / 400)
    assert time_of("broadcast", GIB, range(8), 8) == int(START_NS + 7 * STEP_NS + GIB / 400)


def test_hosts_are_linked_by_the_interfaces_of_their_ranks():
    text = "hosts=2,network=50,latency=3"
    assert time_of("broadcast", GIB, range(8), 8, text) == int(START_NS + 7 * 3000 + GIB / (50 * 4))
    assert time_of("broadcast", GIB, [0, 1, 2, 3], 8, text) == int(START_NS + 3 * STEP_NS + GIB / 400)
    assert time_of("send", GIB, [3, 4], 8, text) == int(START_NS + 3000 + GIB / 50)


def test_a_slow_link_slows_the_rings_that_cross_it():
    text = "slow=2-1:10"
    assert time_of("broadcast", GIB, range(4), 4, text) == int(START_NS + 3 * STEP_NS + GIB / 40)
    assert time_of("broadcast", GIB, [0, 3], 4, text) == int(START_NS + STEP_NS + GIB / 400)


@pytest.mark.parametrize(
    "text", ["hosts=x", "hosts=0", "hosts=٣", "slow=1:2", "network=0", "bandwidth=3", "slow=0-1:0", "slow=0-1:²"]
)
def test_links_that_cannot_be(text):
    with pytest.raises(ConfigError, match="FLAMBEAU_LINKS=.*\nhint: "):
        parsed(text)


def test_the_options_of_a_cluster():
    made = cluster(8, 4, 25.0, None, ["2-3:10"], ["5:2.5"])
    assert made == (4, "hosts=4,network=25.0,slow=2-3:10", {5: 2.5})
    assert parsed(made.links).slow == {(2, 3): 10.0}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((8, 3, None, None, [], []), "--hosts 3 does not divide --nproc 8"),
        ((8, 1, None, None, ["8-1:2"], []), "--slow-link '8-1:2'"),
        ((8, 1, None, None, ["1-2"], []), "--slow-link '1-2'"),
        ((8, 1, None, None, [], ["8:2"]), "--straggler '8:2'"),
        ((8, 1, None, None, [], ["1:0"]), "--straggler '1:0'"),
        ((8, 1, None, None, [], [f"1:{'9' * 400}"]), "--straggler '1:9"),  # beyond float64
        ((8, 1, None, None, ["٣-1:2"], []), "--slow-link '٣-1:2'"),
    ],
)
def test_options_that_cannot_be(given, text):
    with pytest.raises(click.UsageError) as caught:
        cluster(*given)
    assert text in caught.value.message


def test_a_collective_ends_after_the_latest_start_and_clocks_follow():
    def function(rank):
        x, y = torch.ones(1 << 20, device="cuda"), torch.ones(1 << 10, 1 << 10, device="cuda")
        dist.barrier()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if rank == 1:
            for _ in range(20):
                y = y @ y
        torch.cuda.current_stream().synchronize() if rank == 1 else None
        start.record()
        dist.all_reduce(x, async_op=True).wait()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end), thread.machine().driver.host_ns()

    (waited, first), (alone, second) = run(function, 2, "nccl", gpus=2)
    assert first == second  # of the hosts, after the same synchronization
    length = 1e-6 * (START_NS + 2 * STEP_NS + (4 << 20) / 391.0)
    assert alone == pytest.approx(length, abs=0.01)
    assert waited > 10 * alone  # it spans the wait for the other rank

"""Collectives of several processes for which nothing waits, and the ends of groups: of ranks, of hubs, of processes."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.parallel import exchange, hub, process_group, several
from flambeau.parallel.store import HAS_HUB, SECRET
from tests.forks import SOURCES
from tests.open_files import open_files
from tests.parallel.processes import run

# Each call is made without a wait by the ranks in `forgetful`; the other rank waits for all, and prints what it got.
CALLS = """
import sys
import flambeau as torch
from flambeau import distributed as dist
from flambeau.parallel import exchange, hub

rank, backend, is_destroyed, method = int(sys.argv[1]), *sys.argv[2:5]
forgetful = [int(each) for each in sys.argv[5]]
exchange.GOODBYE = hub.GOODBYE = 1e6  # the end of a process does not depend on it
torch.virtual(2)
dist.init_process_group(backend, method, rank=rank, world_size=2)
device = f"cuda:{rank}" if backend == "nccl" else "cpu"

def full(value, count=2):
    return torch.full((count,), float(value), device=device)

a, b, c, d, e, f, g, h, i = full(rank + 1), full(rank + 1), full(rank), *(full(0, each) for each in (4, 2, 1, 1, 4, 2))
two, pair, all_of = [full(0), full(0)], [full(0, 1), full(0, 1)], {"async_op": True}
works = [
    dist.all_reduce(a, **all_of),
    dist.reduce(b, 1, **all_of),
    dist.broadcast(c, 0, **all_of),
    dist.all_gather(two, full(rank), **all_of),
    dist.all_gather_into_tensor(d, full(rank + 1), **all_of),
    dist.gather(full(rank, 1), pair if rank == 1 else None, 1, **all_of),
    dist.scatter(e, [full(3), full(4)] if rank == 0 else None, 0, **all_of),
    dist.reduce_scatter(f, [full(1, 1), full(2, 1)], **all_of),
    dist.reduce_scatter_tensor(g, full(5), **all_of),
    dist.all_to_all_single(h, torch.arange(4.0, device=device), **all_of),
    dist.barrier(**all_of),
    dist.isend(full(8), 1) if rank == 0 else dist.irecv(i, 0),
    dist.irecv(i, 1) if rank == 0 else dist.isend(full(9), 0),
]
if rank in forgetful:
    if device == "cpu":
        works[0].get_future().then(lambda done: print("told of", done.value()[0] is a))
    del works
else:
    for work in works:
        work.wait()
if is_destroyed == "yes":
    dist.destroy_process_group()
if rank not in forgetful or is_destroyed == "yes" and device == "cpu":
    print([each.tolist() for each in (a, b, c, *two, d, *pair, e, f, g, h, i)])
"""
VALUES = {
    0: "[[3.0, 3.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0, 2.0, 2.0], [0.0], [0.0], [3.0, 3.0], "
    "[2.0], [10.0], [0.0, 1.0, 0.0, 1.0], [9.0, 9.0]]",
    1: "[[3.0, 3.0], [3.0, 3.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0, 2.0, 2.0], [0.0], [1.0], [4.0, 4.0], "
    "[4.0], [10.0], [2.0, 3.0, 2.0, 3.0], [8.0, 8.0]]",
}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCES)}


def started(program, *arguments, **options):
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT, **options)


@pytest.fixture
def outside():
    """A hub of two ranks outside of them, as that of `flambeau run`; the variables that lead to it."""
    made = hub.Hub("localhost", 0, 2, "a secret")
    host, port = made.address
    yield {HAS_HUB: "True", SECRET: "a secret", "MASTER_ADDR": host, "MASTER_PORT": str(port)}
    made.stop()


@pytest.mark.full
@pytest.mark.slow
def test_a_process_ends_once_its_collectives_are_done(tmp_path, sample):
    cases = [
        (backend, is_destroyed, forgetful)
        for backend in ("gloo", "nccl")
        for is_destroyed in ("no", "yes")
        for forgetful in ("0", "1", "01")
    ]
    for case in sample(cases, 2):
        method = f"file://{tmp_path}/{'-'.join(case)}"
        ranks = [started(CALLS, str(rank), *case[:2], method, case[2]) for rank in range(2)]
        for rank, process in enumerate(ranks):
            output, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, ""), (case, rank)
            lines = ["told of True"] if str(rank) in case[2] and case[0] == "gloo" else []
            if str(rank) not in case[2] or case[:2] == ("gloo", "yes"):
                lines.append(VALUES[rank])
            assert output.splitlines() == lines, (case, rank)


def test_a_process_ends_once_its_collectives_are_done_with_a_hub_outside(outside, monkeypatch):
    for name, value in outside.items():
        monkeypatch.setitem(ENVIRONMENT, name, value)
    ranks = [started(CALLS, str(rank), "gloo", "yes", "env://", "01") for rank in range(2)]
    for rank, process in enumerate(ranks):
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors, output.splitlines()[-1]) == (0, "", VALUES[rank])


RAISES = """
import sys
import flambeau as torch
from flambeau import distributed as dist

rank, backend, method = int(sys.argv[1]), *sys.argv[2:]
torch.virtual(2)
dist.init_process_group(backend, method, rank=rank, world_size=2)
x = torch.ones(2, device=f"cuda:{rank}" if backend == "nccl" else "cpu")
if rank == 0:
    work = dist.all_reduce(x, async_op=True)
    raise ValueError("a mistake")
sys.stdin.read()
dist.all_reduce(x)
dist.all_reduce(x)
print(x)
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_a_process_that_ends_by_an_exception_waits_for_no_other(backend, tmp_path):
    first, other = [started(RAISES, str(rank), backend, f"file://{tmp_path}/meeting") for rank in range(2)]
    assert first.wait(60) == 1  # while the other one has not called
    errors = first.stderr.read()
    assert errors.rstrip().endswith("ValueError: a mistake"), errors
    output, errors = other.communicate("", timeout=60)
    assert (other.returncode, output) == (1, "") and "CollectiveError: all_reduce: " in errors
    assert "the process of rank 0, which holds the store, has ended" in errors
    first.stdin.close(), first.stdout.close(), first.stderr.close()


def test_a_wait_ends_earlier_collectives_of_the_group_too():
    def function(rank):
        first, second, told = torch.ones(2), torch.ones(3), []
        works = [dist.all_reduce(first, async_op=True)]
        works[0].get_future().add_done_callback(lambda done: told.append(done.value()[0] is first))
        works.append(dist.all_reduce(second, async_op=True))
        works[1].wait()
        return first.tolist(), second.tolist(), told, works[0].wait(), first.tolist()

    assert run(function, 2) == [([2.0] * 2, [2.0] * 3, [True], True, [2.0] * 2)] * 2


def test_results_that_nothing_waits_for_do_not_pile_up():
    def function(rank):
        values = [torch.ones(1) for _ in range(100)]
        for each in values:
            dist.all_reduce(each, async_op=True)
        if rank == 0:
            dist.send(torch.ones(1), 1)
        else:
            dist.recv(torch.ones(1), 0)  # rank 0 has made its calls: all are complete
        last = torch.ones(1)
        dist.all_reduce(last, async_op=True)
        group = process_group.default_group()
        kept = len(group.client.unfinished["0:"])
        dist.destroy_process_group()
        return kept, sum(each.item() for each in values), last.item()

    def ended(rank):
        found = function(rank)
        dist.init_process_group("gloo")
        return found

    found = run(ended, 2)
    assert found[1] == (several.MAX_UNFINISHED, 200.0, 2.0) and found[0][1:] == (200.0, 2.0)


def test_files_of_many_messages_do_not_stay_open():
    def function(rank):
        before = open_files()
        tensors = [torch.ones(1) for _ in range(100)]
        for work in [dist.isend(each, 1) if rank == 0 else dist.irecv(each, 0) for each in tensors]:
            work.wait()
        dist.barrier()  # the hub has told what has been read before
        return len(open_files() - before)

    assert max(run(function, 2)) <= 2 * exchange.MAX_FREE  # a mapping has a copy of its file's number


def test_a_subgroup_is_destroyed_once_its_collectives_are_done():
    def function(rank):
        group, x, y = dist.new_group([0, 1]), torch.ones(1), torch.ones(1)
        dist.all_reduce(x, group=group, async_op=True)
        work = dist.all_reduce(y, async_op=True)
        dist.destroy_process_group(group)
        found = x.item(), y.item()
        work.wait()
        return *found, y.item()

    assert run(function, 2) == [(2.0, 1.0, 2.0)] * 2


def again(rank, method, fails):
    """Destroy the group and make it again, twice; return values of collectives, and whether files have been left."""
    found, kept = [], []
    for number in range(3):
        dist.destroy_process_group()
        process_group.end_hubs()
        kept.append(open_files())
        dist.init_process_group("gloo", method, timedelta(seconds=30), 2, rank)
        x = torch.ones(1)
        if fails and number == 0:
            with pytest.raises(dist.CollectiveError, match="ranks make different calls"):
                dist.all_reduce(torch.ones(1 + rank))
        else:
            dist.all_reduce(x)
            found.append(x.item())
    return found, len(kept[2] - kept[1])


@pytest.mark.parametrize("fails", [False, True])
def test_a_group_is_made_again_after_its_end(fails, tmp_path):
    method = f"file://{tmp_path}/meeting"
    assert run(lambda rank: again(rank, method, fails), 2) == [([2.0] * (3 - fails), 0)] * 2
    assert os.listdir(tmp_path) == []


def test_a_group_is_made_again_at_a_hub_outside(outside, monkeypatch):
    for name, value in outside.items():
        monkeypatch.setenv(name, value)
    for fails in (False, True):
        assert run(lambda rank: again(rank, "env://", fails), 2) == [([2.0] * (3 - fails), 0)] * 2


def test_the_other_ranks_go_on_when_rank_0_has_ended():
    read, write = os.pipe()

    def function(rank):
        group, x = dist.new_group([1, 2]), torch.full((1,), rank + 1.0)
        dist.all_reduce(x)
        if rank == 0:
            dist.destroy_process_group()
            os.write(write, b"xx")
            dist.init_process_group("gloo")  # of this process alone, which the end of the test destroys
        else:
            os.read(read, 1)
            dist.all_reduce(x, group=group)
        return x.item()

    assert run(function, 3) == [6.0, 12.0, 12.0]
    os.close(read)
    os.close(write)

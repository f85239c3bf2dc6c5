"""shrink_group: the default group and others, on the CPU, on virtual GPUs, and with a stand-in for NCCL."""

import os
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.distributed.distributed_c10d import SHRINK_ABORT, SHRINK_DEFAULT
from tests.parallel.processes import die, run

DEVICES = [("cpu", "gloo"), ("cuda", "gloo"), ("cuda", "nccl")]


def summed(value, device, group=None):
    """The sum of all ranks' values."""
    x = torch.full((2,), float(value), device=device)
    dist.all_reduce(x, group=group)
    return x.tolist()


def raised(function):
    try:
        function()
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    return None


def everything(rank, device, excluded, flags=SHRINK_DEFAULT):
    """Shrink the default group of 4 ranks; return what a remaining rank finds then, and None for an excluded rank."""
    former, other = dist.group.WORLD, dist.new_group([0, 1, 2, 3])
    first = summed(rank, device)
    if rank in excluded:
        return None
    made = dist.shrink_group(excluded, shrink_flags=flags)
    assert made is dist.group.WORLD is not former
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, rank)
    x = torch.full((1,), float(rank), device=device)
    dist.broadcast(x, src=1)
    pair = dist.new_group([0, 1])
    small = None if pair is dist.GroupMember.NON_GROUP_MEMBER else summed(rank, device, pair)
    made.get_group_store().set(f"key{dist.get_rank()}", str(rank))
    kept = made.get_group_store().get("key1").decode()
    ranks, own = dist.get_process_group_ranks(made), dist.get_rank()
    gone = [raised(lambda each=each: dist.barrier(each))[0] for each in (former, other)]
    return first[0], own, ranks, gathered, summed(rank, device)[0], x.item(), small, kept, dist.get_backend(), gone


@pytest.mark.parametrize("excluded", [[1], [0], [3, 0]])
@pytest.mark.parametrize("device, backend", DEVICES)
def test_the_default_group_is_replaced_and_ranks_count_from_0(device, backend, excluded):
    found = run(lambda rank: everything(rank, device, excluded), 4, backend, gpus=4)
    left = [rank for rank in range(4) if rank not in excluded]
    total, ranks = float(sum(left)), list(range(len(left)))
    pair, gone = [float(sum(left[:2]))] * 2, ["GroupError"] * 2
    for rank, each in enumerate(found):
        if rank in excluded:
            assert each is None
        else:
            own = left.index(rank)
            small = pair if own < 2 else None
            values = (6.0, own, ranks, left, total, float(left[1]), small, str(left[1]), backend, gone)
            assert each == values, (rank, each)


def test_the_default_group_shrinks_with_nccl(ranks):
    def function(rank, library):
        found = everything(rank, "cuda", [1])
        return found, library.called.count("ncclCommInitRank"), library.called.count("ncclCommDestroy")

    found = ranks(function, 4)
    assert found[1][0] is None
    for own, rank in enumerate([0, 2, 3]):
        values, made, destroyed = found[rank]
        assert values[:6] == (6.0, own, [0, 1, 2], [0, 2, 3], 5.0, 2.0)
        assert (made, destroyed) == (3 if own < 2 else 2, 1)  # former, pair, new;  the former one is destroyed


def test_a_group_shrinks_twice_and_to_one_process():
    def function(rank):
        if rank == 3:
            return None
        dist.shrink_group([3])
        three = summed(rank, "cpu")
        if rank == 0:
            return three
        dist.shrink_group([0])
        two = summed(rank, "cpu")
        if rank == 1:
            return three, two
        dist.shrink_group([0])
        return three, two, summed(rank, "cpu"), dist.get_rank(), dist.get_world_size()

    three, two = [3.0] * 2, [3.0] * 2
    assert run(function, 4) == [three, (three, two), (three, two, [2.0] * 2, 0, 1), None]


@pytest.mark.parametrize("device, backend", DEVICES)
def test_another_group_is_replaced_and_the_default_group_stays(device, backend):
    def function(rank):
        group = dist.new_group([1, 2, 3], group_desc="three")
        seen = None
        if rank > 1:
            made = dist.shrink_group([0], group)
            seen = (
                summed(rank, device, made)[0],
                made.rank(),
                dist.get_process_group_ranks(made),
                raised(lambda: dist.barrier(group))[0],
            )
        return seen, summed(rank, device)[0]

    found = run(function, 4, backend, gpus=4)
    rest = [2, 3], "GroupError"
    assert found == [(None, 6.0), (None, 6.0), ((5.0, 0, *rest), 6.0), ((5.0, 1, *rest), 6.0)]


@pytest.mark.parametrize("device, backend", DEVICES)
def test_abort_ends_what_waits_for_an_excluded_rank(device, backend):
    read, write = os.pipe()

    def function(rank):
        x, y = torch.ones(2, device=device), torch.ones(3, device=device)
        first = summed(rank, device)
        if rank == 1:
            os.read(read, 1)  # until another one has shrunk the group
            return first
        works = [dist.all_reduce(each, async_op=True) for each in (x, y)]
        dist.shrink_group([1], shrink_flags=SHRINK_ABORT)
        os.write(write, b"x")
        torch.cuda.synchronize()
        failed = raised(works[1].wait) if device == "cpu" else None
        return summed(rank, device), failed

    found = run(function, 3, backend, gpus=3)
    os.close(read)
    os.close(write)
    assert found[1] == [3.0, 3.0]
    for each in (found[0], found[2]):
        assert each[0] == [2.0, 2.0]
        if device == "cpu":
            assert each[1][0] == "CollectiveError" and "aborted by shrink_group" in each[1][1]


@pytest.mark.parametrize("device, backend", DEVICES)
def test_abort_of_another_group_leaves_the_default_group(device, backend):
    def function(rank):
        group = dist.new_group([0, 1, 2])
        seen = None
        if rank < 2:
            x = torch.ones(2, device=device)
            work = dist.all_reduce(x, group=group, async_op=True)
            made = dist.shrink_group([2], group, SHRINK_ABORT)
            torch.cuda.synchronize()
            failed = raised(work.wait) if device == "cpu" else None
            seen = summed(rank, device, made), failed
        return seen, summed(rank, device)

    found = run(function, 4, backend, gpus=4)
    assert found[2:] == [(None, [6.0, 6.0])] * 2
    for seen, total in found[:2]:
        assert seen[0] == [1.0, 1.0] and total == [6.0, 6.0]
        if device == "cpu":
            assert seen[1][0] == "CollectiveError" and "all_reduce: group" in seen[1][1]


def waiting(library, rank, function):
    """A thread that is in a call of the library, where the stand-in waits for the other ranks."""
    begun, call = threading.Event(), library._AllReduce

    def all_reduce(*arguments):
        begun.set()
        return call(*arguments)

    def body():
        torch.cuda.set_device(rank)
        function()

    library._AllReduce = all_reduce
    thread = threading.Thread(target=body)
    thread.start()
    begun.wait()
    return thread


@pytest.mark.parametrize("is_default", [True, False])
def test_abort_ends_collectives_of_nccl(ranks, is_default):
    read, write = os.pipe()

    def function(rank, library):
        group = dist.group.WORLD if is_default else dist.new_group([0, 1, 2])
        x = torch.ones(2, device="cuda")
        dist.all_reduce(x, group=group)
        torch.cuda.synchronize()
        seen = x.tolist()
        if rank < 2:
            thread = waiting(library, rank, lambda: dist.all_reduce(x, group=group, async_op=True))
            made = dist.shrink_group([2], group, SHRINK_ABORT)
            thread.join()
            torch.cuda.synchronize()
            seen = summed(rank, "cuda", made), library.called.count("ncclCommAbort")
            os.write(write, b"x")
        else:
            os.read(read, 1)  # until another one has shrunk the group
        return seen

    assert ranks(function, 3) == [([1.0, 1.0], 1), ([1.0, 1.0], 1), [3.0, 3.0]]
    os.close(read)
    os.close(write)


def test_the_others_continue_after_a_process_has_died():
    def function(rank):
        dist.barrier()
        if rank == 1:
            die()
        failed = raised(lambda: summed(rank, "cpu"))
        refused = raised(lambda: dist.shrink_group([1]))
        dist.shrink_group([1], shrink_flags=SHRINK_ABORT)
        return failed, refused, summed(rank, "cpu"), dist.get_rank()

    found = run(function, 3)
    assert found[1] == -9
    for own, (failed, refused, total, rank) in enumerate([found[0], found[2]]):
        for name, text in (failed, refused):
            assert name == "CollectiveError" and "the process of rank 1 has ended" in text
        assert refused[1].startswith("shrink_group: ")
        assert (total, rank) == ([2.0, 2.0], own)


def test_ddp_trains_on_with_the_remaining_ranks():
    def function(rank):
        torch.manual_seed(0)
        if rank == 0:
            return None
        dist.shrink_group([0])
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        model(torch.full((1, 2), float(rank))).sum().backward()
        return model.module.weight.grad.tolist()

    assert run(function, 3) == [None, [[1.5, 1.5]], [[1.5, 1.5]]]


WRONG = [
    (lambda: dist.shrink_group([]), "ValueRangeError", "ranks_to_exclude [] does not fit a group with 2 processes"),
    (lambda: dist.shrink_group([2]), "ValueRangeError", "ranks_to_exclude [2] does not fit a group with 2 processes"),
    (lambda: dist.shrink_group([-1]), "ValueRangeError", "ranks_to_exclude [-1] does not fit a group with 2 processes"),
    (
        lambda: dist.shrink_group([1, 1]),
        "ValueRangeError",
        "ranks_to_exclude [1, 1] does not fit a group with 2 processes",
    ),
    (
        lambda: dist.shrink_group([0, 1]),
        "ValueRangeError",
        "ranks_to_exclude [0, 1] does not fit a group with 2 processes",
    ),
    (lambda: dist.shrink_group((1,)), "ArgumentTypeError", "ranks_to_exclude must be a list of ints, got (1,)"),
    (lambda: dist.shrink_group([1.0]), "ArgumentTypeError", "ranks_to_exclude must be a list of ints, got [1.0]"),
    (lambda: dist.shrink_group(1), "ArgumentTypeError", "ranks_to_exclude must be a list of ints, got 1"),
    (lambda: dist.shrink_group([1], shrink_flags=2), "ValueRangeError", "shrink_flags must be 0 or 1, got 2"),
    (lambda: dist.shrink_group([1], shrink_flags=None), "ValueRangeError", "shrink_flags must be 0 or 1, got None"),
    (lambda: dist.shrink_group([1], "group"), "ArgumentTypeError", "group must be a ProcessGroup or None, got 'group'"),
    (
        lambda: dist.shrink_group([1], dist.GroupMember.NON_GROUP_MEMBER),
        "OutsideError",
        "this process is not in the group",
    ),
]


def test_wrong_arguments_are_named_and_the_group_stays():
    def function(rank):
        gone, alone = dist.new_group([0, 1]), dist.new_group([rank], use_local_synchronization=True)
        dist.destroy_process_group(gone)
        calls = [
            lambda: dist.shrink_group([rank]),
            lambda: dist.shrink_group([1 - rank], gone),
            lambda: dist.shrink_group([0], alone),
        ]
        said = [raised(call) for call in [*calls, *(each[0] for each in WRONG)]]
        return said, dist.get_world_size(), summed(rank, "cpu"), summed(rank, "cpu", alone)

    for rank, (said, size, total, own) in enumerate(run(function, 2)):
        expected = [
            ("GroupError", f"this process has rank {rank}, which is in ranks_to_exclude [{rank}]"),
            ("GroupError", "of the ranks 0, 1, has been destroyed"),
            ("ValueRangeError", "the group has one process"),
            *(each[1:] for each in WRONG),
        ]
        for (name, text), found in zip(expected, said, strict=True):
            assert found is not None and found[0] == name, (text, found)
            assert found[1].startswith("shrink_group: ") and text in found[1] and "\nhint: " in found[1], found
        assert (size, total, own) == (2, [1.0, 1.0], [float(rank)] * 2)


def test_there_must_be_a_group():
    with pytest.raises(ValueError, match="shrink_group: Default process group has not been initialized\nhint: "):
        dist.shrink_group([1])


@pytest.mark.parametrize("caller", [0, 1])
def test_ranks_that_do_not_come_are_missed_and_the_group_stays(caller):
    def function(rank):
        world, failed = dist.group.WORLD, None
        if rank == caller:
            world.set_timeout(timedelta(seconds=0.3))
            failed = raised(lambda: dist.shrink_group([2]))
            world.set_timeout(timedelta(seconds=30))
        return failed, dist.group.WORLD is world, summed(rank, "cpu")

    name, text = [
        ("CollectiveError", "shrink_group: rank 0 has waited for 0.3 s, the group's timeout"),
        ("StoreTimeoutError", "not set within 0.3 s"),
    ][caller]
    for rank, (failed, is_same, total) in enumerate(run(function, 3)):
        assert is_same and total == [3.0, 3.0]
        if rank == caller:
            assert failed is not None and failed[0] == name and text in failed[1]
        else:
            assert failed is None


PROGRAM = """
import flambeau as torch
import flambeau.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
x = torch.ones(2, device="cuda")
dist.all_reduce(x)
if rank != 1:
    dist.shrink_group([1])
    y = torch.full((2,), float(rank), device="cuda")
    dist.all_reduce(y)
    print(f"{rank} is {dist.get_rank()} of {dist.get_world_size()}: {x.tolist()} {y.tolist()}\\n", end="")
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_a_program_of_ranks_shrinks(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    options = ["--gpus", "virtual:4", "--nproc", "4"]
    command = [sys.executable, "-m", "flambeau", "run", *options, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(line.partition("] ")[2] if line.startswith("[") else line for line in done.stdout.splitlines()) == [
        f"{rank} is {own} of 3: [4.0, 4.0] [5.0, 5.0]" for own, rank in enumerate([0, 2, 3])
    ]

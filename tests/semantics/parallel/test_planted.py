"""Planted mistakes of ranks on virtual GPUs: each is named on every rank, and none is found by the group's timeout."""

import os
import signal
from pathlib import Path

import pytest

import flambeau as torch
from flambeau import distributed as dist
from tests.open_files import open_files
from tests.parallel.processes import die, run

ReduceOp = dist.ReduceOp


def ones(*shape, dtype=torch.float32, device="cuda"):
    return torch.ones(shape, dtype=dtype, device=device)


def reduced(x, *args, **kwargs):
    dist.all_reduce(x, *args, **kwargs)
    return x.tolist()


def sent(x):
    dist.broadcast(x, 0)
    return x.tolist()


def in_another_group(rank):
    group = dist.new_group([0, 1])
    return reduced(ones(2), group=group if rank == 0 else None)


def groups_in_another_order(rank):
    pairs = [[0, 1], [1, 0]] if rank == 0 else [[1, 0], [0, 1]]
    groups = [dist.new_group(pair, sort_ranks=False) for pair in pairs]
    return reduced(ones(2), group=groups[0])


def scattered(rank):
    inputs = [ones(2), ones(2)] if rank == 0 else None
    x = ones(2 + rank)
    dist.scatter(x, inputs, src=0)
    return x.tolist()


def split(rank):
    out, sent = ones(3), ones(3)
    dist.all_to_all_single(out, sent, [2, 1], [1, 2])
    return out.tolist()


def left(rank):
    return reduced(ones(2)) if rank == 0 else None


def dies_first(rank):
    return reduced(ones(2)) if rank == 0 else die()


def dies_waiting(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL) if dist.all_reduce(ones(2), async_op=True) else None
    dist.all_reduce(ones(2))
    return reduced(ones(2))


def dies_later(rank):
    found = reduced(ones(2))
    return die() if rank == 1 else reduced(ones(2)) + found


# what each rank does, and what the error of every rank that lives says
PLANTED = {
    "operation": (lambda rank: reduced(ones(2)) if rank else sent(ones(2)), "different"),
    "shape": (lambda rank: reduced(ones(2 + rank)), "different"),
    "type": (lambda rank: reduced(ones(2, dtype=torch.float64 if rank else torch.float32)), "different"),
    "reduction": (lambda rank: reduced(ones(2), ReduceOp.MAX if rank else ReduceOp.SUM), "different"),
    "root": (lambda rank: (dist.broadcast(x := ones(2), rank), x.tolist()), "different"),
    "root of a reduction": (lambda rank: (dist.reduce(x := ones(2), rank), x.tolist()), "different"),
    "order": (
        lambda rank: [reduced(ones(2 + (rank + each) % 2)) for each in range(2)],
        "different",
    ),
    "group": (in_another_group, "all ranks wait for each other"),
    "order of groups": (groups_in_another_order, "different"),
    "sizes of scatter": (scattered, "different"),
    "sizes of splits": (split, "rank 0 sends 4 bytes to rank 0, which takes 8"),
    "size of a message": (
        lambda rank: (dist.recv(x := ones(3), 0) if rank else dist.send(x := ones(2), 1), reduced(x)),
        "different",
    ),
    "both send": (lambda rank: (dist.send(x := ones(2), 1 - rank), x.tolist()), "all ranks wait for each other"),
    "both receive": (lambda rank: (dist.recv(x := ones(2), 1 - rank), x.tolist()), "all ranks wait for each other"),
    "one GPU": (lambda rank: reduced(ones(2, device="cuda:0")), "both use cuda:0"),
    "one leaves": (left, "rank 1 has left the group"),
    "one dies first": (dies_first, "the process of rank 1 has ended"),
    "one dies waiting": (dies_waiting, "the process of rank 1 has ended"),
    "one dies later": (dies_later, "the process of rank 1 has ended"),
    "an operation less": (lambda rank: [reduced(ones(2)) for _ in range(3 - rank)], "rank 1 has left the group"),
}
DEFAULT = ("shape", "sizes of splits", "group", "one dies waiting")


NAMES = [each if each in DEFAULT else pytest.param(each, marks=pytest.mark.full) for each in PLANTED]


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_mistake_is_named(name):
    function, text = PLANTED[name]
    found = run(function, 2, "nccl", gpus=2)
    failed = [each for each in found if isinstance(each, tuple) and each[0] == "CollectiveError"]
    ended = [each for each in found if each == -signal.SIGKILL or each is None]
    assert len(failed) + len(ended) == 2 or name == "an operation less", found
    assert failed
    for _, said in failed:
        assert text in said and "timeout" not in said
        assert "\n  rank 0: " in said and "\n  rank 1: " in said
        assert "test_planted.py:" in said or name == "one dies first"  # maybe before any call


@pytest.mark.full
def test_rounds_of_killing_on_streams_leave_nothing():
    def function(rank):
        x = ones(1000)
        for number in range(30):
            if rank == (number + ord(os.urandom(1))) % 40:
                die()
            dist.all_reduce(x, async_op=number % 2 == 0)
        return x.tolist()

    def children():
        return {child for each in Path("/proc/self/task").glob("*/children") for child in each.read_text().split()}

    before, others = open_files(), children()  # others: of other tests
    for _ in range(200):
        found = run(function, 3, "nccl", gpus=3)
        died = [rank for rank, each in enumerate(found) if each == -signal.SIGKILL]
        for each in found:
            raised = each[0] if isinstance(each, tuple) else each
            assert not died or raised in (-signal.SIGKILL, "CollectiveError"), found
        assert open_files() <= before
        assert children() <= others

"""Asynchronous collectives of several processes: when the host waits, who serves whom, and when errors come."""

import os
import select

import pytest

import flambeau as torch
from flambeau import distributed as dist
from tests.parallel.processes import die, run


@pytest.fixture
def pipe():
    """A pipe between ranks: (read end, write end)."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


PATIENCE = 60  # seconds that a rank waits for what another one writes: longer than a collective's limit
DEVICES = pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "nccl")])


@DEVICES
def test_the_call_does_not_wait_for_the_other_ranks(device, backend, pipe):
    read, write = pipe

    def function(rank):
        x = torch.full((3,), rank + 1.0, device=device)
        if rank == 1:
            os.read(read, 1)  # rank 0's call has returned
        work = dist.all_reduce(x, async_op=True)
        before = work.is_completed() if rank == 0 else False
        if rank == 0:
            os.write(write, b"x")
        work.wait()
        return before, x.tolist(), work.is_completed() or device == "cuda"

    assert run(function, 2, backend, gpus=2) == [(False, [3.0, 3.0, 3.0], True)] * 2


def test_a_rank_that_waits_for_nothing_serves_the_others(pipe):
    read, write = pipe

    def function(rank):
        x = torch.full((2,), rank + 1.0, device="cuda")
        y = torch.full((2,), 10.0, device="cuda")
        dist.all_reduce(x)
        y += x  # on the stream, after rank 1's values have come
        dist.all_reduce(y)
        if rank == 0:
            os.read(read, 1)  # blocks the program, and not its collectives
        found = y.tolist()
        if rank == 1:
            os.write(write, b"x")
        return found

    assert run(function, 2, "nccl", gpus=2) == [[26.0, 26.0]] * 2


@DEVICES
def test_a_program_may_ask_until_it_is_completed(device, backend):
    def function(rank):
        x = torch.ones(2, device=device)
        work = dist.all_reduce(x, async_op=True)
        while not work.is_completed():
            pass
        work.wait()
        return x.tolist()

    assert run(function, 2, backend, gpus=2) == [[2.0, 2.0]] * 2


def test_a_rank_that_ends_has_served_the_others(pipe):
    read, write = pipe

    def function(rank):
        if rank == 1:
            os.read(read, 1)
        x = torch.full((2,), rank + 1.0, device="cuda")
        dist.all_reduce(x)
        dist.all_reduce(x)
        if rank == 0:
            os.write(write, b"x")
            return None  # without a wait
        return x.tolist()

    assert run(function, 2, "nccl", gpus=2) == [None, [6.0, 6.0]]


def test_futures_run_beside_the_collective():
    def function(rank):
        x = torch.full((2,), rank + 1.0, device="cuda")
        future = dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()[0] * 10)
        return future.wait().tolist()

    assert run(function, 2, "nccl", gpus=2) == [[30.0, 30.0]] * 2


def test_calls_that_differ_are_raised_at_the_wait():
    def function(rank):
        x = torch.ones(3 + rank, device="cuda")
        dist.all_reduce(x)
        texts = []
        for wait in (x.tolist, lambda: dist.all_reduce(x)):
            try:
                wait()
            except dist.CollectiveError as error:
                texts.append(str(error))
        return texts

    found = run(function, 2, "nccl", gpus=2)
    for texts in found:
        assert len(texts) == 2
        for text in texts:
            assert "ranks make different calls" in text
            assert "rank 0: all_reduce(float32[3], SUM) at" in text and "rank 1: all_reduce(float32[4], SUM) at" in text


def test_ranks_that_wait_for_each_other_on_streams_are_named():
    def function(rank):
        x = torch.ones(3, device="cuda")
        if rank == 0:
            dist.all_reduce(x)
        else:
            dist.recv(x, 0)
        return x.tolist()

    for name, text in run(function, 2, "nccl", gpus=2):
        assert name == "CollectiveError" and "all ranks wait for each other" in text
        assert "rank 0: all_reduce(float32[3], SUM) at" in text and "rank 1: recv(float32[3], src=0) at" in text


@DEVICES
def test_a_collective_that_is_complete_outlives_its_ranks(device, backend, pipe):
    read, write = pipe

    def function(rank):
        x = torch.full((2,), rank + 1.0, device=device)
        work = dist.all_reduce(x, async_op=True)
        if rank == 1:
            work.wait()
            x.tolist()  # all have given their values
            os.write(write, os.getpid().to_bytes(8, "little"))
            die()
        if rank == 0:
            if not select.select([read], [], [], PATIENCE)[0]:
                return "rank 1 has not come"
            ended = os.pidfd_open(int.from_bytes(os.read(read, 8), "little"))
            if not select.select([ended], [], [], PATIENCE)[0]:
                return "rank 1 has not ended"
            os.close(ended)
        work.wait()
        values = x.tolist()
        try:
            dist.all_reduce(x)
            x.tolist()
        except dist.CollectiveError as error:
            return values, str(error)
        return values, ""

    found = run(function, 3, backend, gpus=3)
    assert found[1] == -9 and all(isinstance(answer, tuple) for answer in (found[0], found[2])), found
    for values, text in (found[0], found[2]):
        assert values == [6.0, 6.0] and "the process of rank 1 has ended" in text


def test_a_capture_refuses_collectives():
    def function(rank):
        x = torch.ones(2, device="cuda")
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                dist.all_reduce(x)
        except NotImplementedError as error:
            return str(error)

    for text in run(function, 2, "nccl", gpus=2):
        assert "all_reduce: a collective of several processes cannot be captured" in text


def test_messages_of_both_directions_do_not_block_each_other():
    def function(rank):
        sent, got = torch.full((2,), float(rank), device="cuda"), torch.zeros(2, device="cuda")
        works = [dist.isend(sent, 1 - rank), dist.irecv(got, 1 - rank)]
        for work in works:
            work.wait()
        return got.tolist()

    assert run(function, 2, "nccl", gpus=2) == [[1.0, 1.0], [0.0, 0.0]]


def test_two_ranks_may_not_use_one_gpu_with_nccl():
    def function(rank):
        x = torch.ones(2, device="cuda:0")
        dist.all_reduce(x)
        return x.tolist()

    for name, text in run(function, 2, "nccl", gpus=2):
        assert name == "CollectiveError" and "ranks 0 and 1 both use cuda:0" in text


def test_a_destroyed_group_is_refused():
    def function(rank):
        group = dist.new_group([0, 1])
        dist.destroy_process_group(group)
        try:
            dist.all_reduce(torch.ones(1), group=group)
        except ValueError as error:
            return str(error)

    for text in run(function, 2):
        assert text.startswith("all_reduce: group 0/group0, of the ranks 0, 1, has been destroyed")


def test_lists_of_objects_are_sent_to_one_rank():
    def function(rank):
        if rank == 0:
            dist.send_object_list(["text", {"a": 1}], 1)
            return None
        found = [None, None]
        return dist.recv_object_list(found, 0), found

    assert run(function, 2, "nccl", gpus=2) == [None, (0, ["text", {"a": 1}])]


def test_names_that_programs_import():
    assert dist.ReduceOp.RedOpType is dist.ReduceOp
    assert dist.constants.default_pg_timeout == dist.default_pg_timeout
    assert issubclass(dist.CollectiveError, dist.DistBackendError) and issubclass(dist.DistStoreError, RuntimeError)

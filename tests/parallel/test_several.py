"""Collectives that GPUs run among themselves, with a stand-in for NCCL on virtual GPUs."""

import contextlib
import json
import os
import signal
import sys
import weakref
from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.distributed import flight_recorder
from flambeau.errors import NotSupportedError
from flambeau.parallel import watchdog
from tests.parallel.nccl_calls import (
    PLANTED,
    after_a_first,
    data,
    filled,
    noted_ends,
    reduced,
    results,
    steps,
    trained,
)
from tests.parallel.processes import run

ReduceOp = dist.ReduceOp


def test_every_collective_gives_what_the_other_path_gives(ranks):
    found = ranks(lambda rank, library: results(rank, 3), 3)
    assert found == run(lambda rank: results(rank, 3), 3, "nccl", gpus=3)
    assert [each[0] for each in found] == [[{"rank": 0}, {"rank": 1}, {"rank": 2}]] * 3


CALLS = {
    "all_reduce": (lambda x, y: dist.all_reduce(x), ["AllReduce"]),
    "reduce": (lambda x, y: dist.reduce(x, 0), ["Reduce"]),
    "broadcast": (lambda x, y: dist.broadcast(x, 0), ["Broadcast"]),
    "all_gather_into_tensor": (lambda x, y: dist.all_gather_into_tensor(y, x), ["AllGather"]),
    "reduce_scatter_tensor": (lambda x, y: dist.reduce_scatter_tensor(x, y), ["ReduceScatter"]),
    "all_gather": (
        lambda x, y: dist.all_gather(list(y.split(2)), x),
        ["GroupStart", "Send", "Send", "Recv", "Recv", "GroupEnd"],
    ),
    "reduce_scatter": (
        lambda x, y: dist.reduce_scatter(x, list(y.split(2))),
        ["GroupStart", "Reduce", "Reduce", "GroupEnd"],
    ),
    "bits": (lambda x, y: dist.all_reduce(x.int(), ReduceOp.BOR), []),
    "barrier": (lambda x, y: dist.barrier(), []),
}


def test_each_collective_is_one_operation_of_nccl(ranks):
    def function(rank, library):
        x, y, found = torch.ones(2, device="cuda"), torch.ones(4, device="cuda"), {}
        dist.all_reduce(x)  # makes the communicator
        for name, (call, _) in CALLS.items():
            del library.called[:]
            call(x, y)
            found[name] = [each for each in library.called if each != "ncclCommGetAsyncError"]
        return found

    for found in ranks(function):
        assert found == {name: [f"nccl{call}" for call in calls] for name, (_, calls) in CALLS.items()}


def test_the_hub_is_not_waited_for(ranks):
    """After the first collective, a call sends nothing itself: the watchdog does."""

    def function(rank, library):
        x = torch.ones(2, device="cuda")
        dist.all_reduce(x)
        client = dist.group.WORLD.client
        sends, send = [], client._send

        def noted(**message):
            sends.append((sys._getframe(1).f_code.co_name, message["do"]))
            send(**message)

        client._send = noted
        for _ in range(5):
            dist.all_reduce(x)
        torch.cuda.synchronize()
        return [each for each in sends if each != ("report", "log")], x.tolist()

    assert ranks(function) == [([], [64.0, 64.0])] * 2


def test_messages_of_both_directions_and_batches(ranks):
    def function(rank, library):
        sent, got, found = filled(rank, 7), torch.zeros(2, device="cuda"), []
        for _ in range(2):
            for work in [dist.isend(sent, 1 - rank), dist.irecv(got, 1 - rank)]:
                work.wait()
            found.append(got.tolist())
            sent += 1
        works = dist.batch_isend_irecv([dist.P2POp(dist.irecv, got, 1 - rank), dist.P2POp(dist.isend, sent, 1 - rank)])
        for work in works:
            work.wait()
        if rank == 0:
            dist.send(sent, 1)
        else:
            dist.recv(got, 0)
        return [*found, got.tolist()], len(works), library.called.count("ncclCommInitRank")

    zero, one = ranks(function)
    assert zero == ([[1.0, 7.0], [2.0, 8.0], [3.0, 9.0]], 1, 3)  # one per direction, and the group's
    assert one == ([[0.0, 7.0], [1.0, 8.0], [2.0, 9.0]], 1, 3)


def test_steps_move_permuted_tensors_as_they_lie(ranks):
    def function(rank, library):
        def made(start):
            return torch.arange(start, start + 6.0, device="cuda").reshape(3, 2).t()

        x, y, lists = made(rank), made(rank), [made(0), made(0)]
        dist.all_reduce(x)
        dist.broadcast(y, 1)
        dist.all_gather(lists, made(rank))
        errors = []
        for call in (
            lambda: dist.all_gather(lists, made(0).contiguous()),
            lambda: dist.all_gather_into_tensor(torch.empty(4, 3, device="cuda"), made(0)),
        ):
            with pytest.raises(ValueError, match=r"Tensors must be contiguous, or have one layout, got shape \(2, 3\)"):
                call()
            errors.append(library.called.count("ncclAllReduce"))
        return x.tolist(), x.stride(), y.tolist(), [each.tolist() for each in lists], errors

    def rows(start):
        return [[start, start + 2, start + 4], [start + 1, start + 3, start + 5]]

    summed = [[1.0, 5.0, 9.0], [3.0, 7.0, 11.0]]
    assert ranks(function) == [(summed, (1, 2), rows(1.0), [rows(0.0), rows(1.0)], [1, 1])] * 2


def test_layouts_of_steps_are_compared(ranks):
    def function(rank, library):
        x = torch.ones(2, 2, device="cuda")
        try:
            dist.all_reduce(x.t() if rank else x)
            torch.cuda.synchronize()
            dist.barrier()
        except RuntimeError as error:
            return str(error)

    for text in ranks(function):
        assert "ranks make different calls" in text and "rank 1: all_reduce(float32[2, 2], SUM, strides=(1, 2))" in text


def test_a_batch_of_two_groups_is_refused(ranks):
    def function(rank, library):
        group = dist.new_group([0, 1])
        x = torch.ones(1, device="cuda")
        try:
            dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, x, 1 - rank, group)])
        except ValueError as error:
            return str(error)

    for text in ranks(function):
        assert text.startswith(
            "batch_isend_irecv: the messages must be of one group, and are of the groups 0 and 0/group0"
        )


def test_a_group_that_is_destroyed_releases_its_communicator(ranks):
    def function(rank, library):
        x = torch.ones(2, device="cuda")
        found = []
        for _ in range(2):
            group = dist.new_group([0, 1])
            dist.all_reduce(x, group=group)
            dist.destroy_process_group(group)
            found.append((library.called.count("ncclCommInitRank"), library.called.count("ncclCommDestroy")))
        return found, x.tolist()

    assert ranks(function) == [([(1, 1), (2, 2)], [4.0, 4.0])] * 2


def test_a_barrier_waits_for_the_current_stream(ranks):
    def function(rank, library):
        dist.all_reduce(torch.ones(2, device="cuda"))
        side, done = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(side):
            torch.ones(1000, device="cuda") * 2
            done.record()
            dist.barrier()
        return done.query()

    assert ranks(function) == [True, True]


def test_a_missing_wait_is_a_race(ranks):
    def function(rank, library):
        x = torch.ones(2, device="cuda")
        work = dist.all_reduce(x, async_op=True)
        y = x + 1
        work.wait()
        return y.tolist()

    for name, text in ranks(function):
        assert name == "RaceError" and "collectives of group 0" in text


def test_works_and_the_flight_recorder(ranks):
    def function(rank, library):
        x = torch.ones(2, device="cuda")
        work = dist.all_reduce(x, async_op=True)
        torch.cuda.synchronize()
        done = work.is_completed(), work.is_success(), work.wait()
        noted_ends(dist.group.WORLD.client)
        return done, json.loads(flight_recorder.dump())["entries"][-1]

    for done, entry in ranks(function):
        assert done == (True, True, True)
        assert (entry["profiling_name"], entry["nbytes"], entry["state"]) == ("all_reduce", 8, "completed")
        assert entry["time_discovered_started_ns"] and "all_reduce(float32[2], SUM) at " in entry["call"]


def test_ddp_has_the_losses_of_one_process(ranks):
    zero, one = ranks(lambda rank, library: trained(rank))
    assert [(a + b) / 2 for a, b in zip(zero, one)] == pytest.approx(steps(*data()), rel=1e-12)


def test_a_call_like_an_earlier_one_has_tensors_of_its_own(ranks):
    def function(rank, library):
        found, kept, others = [], [], []
        for number in range(3):
            x, y = torch.full((2,), float(rank + number), device="cuda"), torch.zeros(4, device="cuda")
            part = torch.zeros(1, device="cuda")
            before = x._version
            for op in (ReduceOp.SUM, ReduceOp.MAX):
                dist.all_reduce(x, op)
            dist.all_gather_into_tensor(y, x)
            dist.reduce_scatter_tensor(part, x)
            z = torch.full((2,), float(rank + number), device="cuda")
            dist.broadcast(z, 1)
            others.append(z)  # so that the next one lies elsewhere
            found.append((x.tolist(), y.tolist(), part.tolist(), z.tolist(), x._version - before))
            kept.append(weakref.ref(x))
            del x
        numbers = [int(each["collective_seq_id"]) for each in json.loads(flight_recorder.dump())["entries"][-15:]]
        return found, [each() for each in kept], [number - numbers[0] for number in numbers]

    expected = [([s] * 2, [s] * 4, [2 * s], [1.0 + number] * 2, 2) for number, s in enumerate((1.0, 3.0, 5.0))]
    assert ranks(function) == [(expected, [None] * 3, list(range(15)))] * 2


def test_a_call_like_an_earlier_one_is_refused_in_a_capture(ranks):
    def function(rank, library):
        x = torch.ones(2, device="cuda")
        for is_captured in (False, True):
            graph = torch.cuda.CUDAGraph()
            try:
                with torch.cuda.graph(graph) if is_captured else contextlib.nullcontext():
                    dist.all_reduce(x)
            except NotSupportedError as error:
                return type(error).__name__, str(error), x.tolist()

    for name, text, values in ranks(function):
        assert name == "NotSupportedError" and "cannot be captured" in text and values == [2.0, 2.0]


# failures


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_named_and_collectives_are_aborted(ranks, name):
    text = PLANTED[name][1]
    found = ranks(lambda rank, library: after_a_first(name, rank))
    failed = [each for each in found if isinstance(each, tuple) and each[0] == "CollectiveError"]
    ended = [each for each in found if each == -signal.SIGKILL or each is None]
    assert failed and len(failed) + len(ended) == 2, found
    for _, said in failed:
        assert text in said and "timeout" not in said and "nccl_calls.py:" in said
        assert "\n  rank 0: " in said and "\n  rank 1: " in said


def test_the_first_collective_names_ranks_that_wait_for_each_other(ranks):
    def function(rank, library):
        x = torch.ones(3, device="cuda")
        dist.recv(x, 0) if rank else dist.all_reduce(x)
        return x.tolist()

    for name, text in ranks(function):
        assert name == "CollectiveError" and "all ranks wait for each other" in text
        assert "rank 0: all_reduce(float32[3], SUM) at" in text and "rank 1: recv(float32[3], src=0) at" in text


def test_an_error_of_nccl_is_one_of_all_ranks(ranks):
    def function(rank, library):
        x = torch.ones(2, device="cuda")
        dist.all_reduce(x)
        if rank == 1:
            library._AllReduce = lambda *arguments: 6
        return reduced(x)

    for name, text in ranks(function):
        assert name == "CollectiveError"
        assert "rank 1 reports all_reduce: NCCL status 6: fake error: of the stand-in; nbytes is 8" in text


def test_ranks_of_one_gpu_are_named(ranks):
    def function(rank, library):
        return reduced(torch.ones(2, device="cuda:0"))

    for name, text in ranks(function):
        assert name == "CollectiveError" and "ranks 0 and 1 both use GPU-0" in text


@pytest.mark.parametrize("is_blocking", [False, True])
def test_a_rank_that_does_not_come_is_named_after_the_timeout(ranks, is_blocking, monkeypatch):
    if is_blocking:
        monkeypatch.setenv("TORCH_NCCL_BLOCKING_WAIT", "1")
    read, write = os.pipe()

    def function(rank, library):
        x = torch.ones(2, device="cuda")
        dist.all_reduce(x)
        torch.cuda.synchronize()
        dist.group.WORLD.set_timeout(timedelta(seconds=0.3))
        if rank == 1:
            os.read(read, 1)  # busy with something else
        else:
            try:
                reduced(x)
            finally:
                os.write(write, b"x")
        return reduced(x)

    found = ranks(function)
    os.close(read)
    os.close(write)
    for name, text in found:
        assert name == "CollectiveError" and "rank 0 has waited for 0.3 s, the group's timeout" in text
        assert "rank 1: has not called; its last call: all_reduce(float32[2], SUM) at" in text


def test_after_a_failure_waits_raise_until_the_group_is_destroyed(ranks):
    def function(rank, library):
        x, texts = torch.ones(2 + rank, device="cuda"), []
        reduced(torch.ones(2, device="cuda"))
        work = dist.all_reduce(x, async_op=True)
        waits = (work.wait, x.tolist, x.cpu, lambda: dist.all_reduce(x), work.is_success, work.is_completed)
        dist.group.WORLD.client.await_failure(20)
        dist.group.WORLD.client._watchdog._thread.join(20)
        for wait in waits:
            try:
                texts.append(wait())
            except dist.CollectiveError as error:
                texts.append(str(error))
        dist.destroy_process_group()
        after = (x * 0).tolist()
        dist.init_process_group("nccl", rank=0, world_size=1)
        return texts, len(after), library.called.count("ncclCommAbort"), library.called.count("ncclCommDestroy")

    found = ranks(function)
    for texts, after, aborted, destroyed in found:
        assert all("all_reduce: ranks make different calls" in text for text in texts[:4])
        assert texts[4:] == [False, True] and after > 1 and (aborted, destroyed) == (1, 0)


def test_error_handling_may_be_turned_off(monkeypatch):
    for value, expected in ((None, True), ("0", False), ("1", True), ("3", True)):
        if value is not None:
            monkeypatch.setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", value)
        assert watchdog.handles_errors() is expected

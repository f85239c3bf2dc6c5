"""Collectives and messages that run as one operation: values, order, and what is said of ranks that differ."""

from itertools import chain

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.core import hooks
from flambeau.errors import ArgumentError
from flambeau.parallel.batches import Coalesced
from flambeau.parallel.links import START_NS, STEP_NS
from flambeau.parallel.several import Part
from tests.parallel.coalesced_calls import deprecated, expected, filled, values, zeros
from tests.parallel.processes import run

ReduceOp, P2POp = dist.ReduceOp, dist.P2POp


@pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "gloo"), ("cuda", "nccl")])
def test_coalesced_calls_have_the_values_of_single_ones(device, backend):
    found = run(lambda rank: values(rank, 3, device), 3, backend, gpus=3)
    assert found == [expected(rank, 3) for rank in range(3)]


def test_a_group_of_one_process():
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        x, found = filled(1, 2, device="cpu"), [[zeros(2, "cpu")]]
        with dist._coalescing_manager(async_ops=True) as manager:
            dist.all_reduce(x)
        manager.wait()
        deprecated(dist.all_reduce_coalesced, x)
        deprecated(dist.all_gather_coalesced, found, [x])
        assert x.tolist() == found[0][0].tolist() == [1.0, 2.0]
        for call in (dist.all_reduce_coalesced, lambda x: dist.all_gather_coalesced([[x]], [x])):
            with pytest.warns(FutureWarning, match="_coalescing_manager"):
                call(x)
    finally:
        dist.destroy_process_group()


# with NCCL


def test_nccl_gives_the_same_values(ranks):
    for size in (2, 3):
        found = ranks(lambda rank, library, size=size: values(rank, size), size)
        assert found == [expected(rank, size) for rank in range(size)]


def test_nccl_runs_one_group_of_calls(ranks):
    def function(rank, library):
        x, y, sent, got = filled(1, 2), filled(3), filled(rank), zeros(1)
        dist.all_reduce(x)  # makes the communicator
        found = []
        for device in (None, "cuda"):
            del library.called[:]
            with dist._coalescing_manager(device=device):
                dist.all_reduce(x)
                dist.all_reduce(y)
                if device:
                    dist.isend(sent, 1 - rank)
                    dist.irecv(got, 1 - rank)
            found.append([each for each in library.called if each != "ncclCommGetAsyncError"])
        return found, x.tolist(), y.tolist(), got.tolist()

    both = ["ncclGroupStart", "ncclAllReduce", "ncclAllReduce"]
    called = [[*both, "ncclGroupEnd"], [*both, "ncclSend", "ncclRecv", "ncclGroupEnd"]]
    assert ranks(function) == [(called, [8.0, 16.0], [12.0], [1.0 - rank]) for rank in range(2)]


def test_what_nccl_does_not_have_is_not_coalesced(ranks):
    def function(rank, library):
        x, y = filled(1), filled(1 << rank, dtype=torch.int32)
        try:
            with dist._coalescing_manager(device="cuda"):
                dist.all_reduce(x)
                dist.all_reduce(y, ReduceOp.BOR)
        except NotImplementedError as error:
            dist.all_reduce(y, ReduceOp.BOR)
            return str(error), x.tolist(), y.tolist()

    for text, x, y in ranks(function):
        assert text.startswith("_coalescing_manager: NCCL does not have the reduction") and (x, y) == ([1.0], [3])


def test_mistakes_are_named_with_nccl(ranks):
    def after_a_first(name, rank):
        dist.all_reduce(filled(1))
        answer = PLANTED[name][0](rank)
        torch.cuda.synchronize()
        dist.barrier()
        return answer

    for name in ("shape", "number", "not coalesced", "size of a message", "tag", "type of a message"):
        texts = PLANTED[name][1]
        for said in ranks(lambda rank, library, name=name: after_a_first(name, rank)):
            assert said[0] == "CollectiveError" and all(text in said[1] for text in texts), (name, said)


# on virtual GPUs


def test_one_operation_is_one_exchange_with_one_start():
    def function(rank):
        x, y, sent, got = filled(1.0), filled(2.0), filled(rank), zeros(1)
        exchanges = []

        def on_exchange(stream, exchange):
            exchanges.append((exchange.name, exchange.nbytes, exchange.duration_ns))

        hooks.subscribe(on_exchange=on_exchange)
        dist.all_reduce(x)
        with dist._coalescing_manager():
            dist.all_reduce(x)
            dist.all_reduce(y)
        works = dist.batch_isend_irecv([P2POp(dist.isend, sent, 1 - rank), P2POp(dist.irecv, got, 1 - rank)])
        works[0].wait()
        return exchanges, len(works), got.tolist()

    hops = 2 * STEP_NS
    expected = [
        ("all_reduce", 4, START_NS + hops),
        ("_coalescing_manager", 8, START_NS + 2 * hops),
        ("batch_isend_irecv", 8, START_NS + STEP_NS),  # both directions at once
    ]
    assert run(function, 2, "nccl", gpus=2) == [(expected, 1, [1.0]), (expected, 1, [0.0])]


def methods(group, rank, size, device):
    """The methods that run several calls as one operation: their names, calls and outputs."""
    x, y = filled(rank, device=device), filled(rank, 1, device=device)
    lists = [[zeros(1, device), zeros(2, device)] for _ in range(size)]
    wholes, parts = [zeros(size, device), zeros(2 * size, device)], [zeros(1, device), zeros(2, device)]
    inputs = [torch.arange(1.0 * size, device=device), torch.ones(2 * size, device=device)]
    return [
        ("all_reduce_coalesced", lambda: group.allreduce_coalesced([x, y]), [x, y]),
        ("all_gather_coalesced", lambda: group.allgather_coalesced(lists, [x, y]), [*chain(*lists)]),
        ("all_gather_into_tensor_coalesced", lambda: group.allgather_into_tensor_coalesced(wholes, [x, y]), wholes),
        ("reduce_scatter_tensor_coalesced", lambda: group.reduce_scatter_tensor_coalesced(parts, inputs), parts),
    ]


@pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "gloo"), ("cuda", "nccl")])
def test_coalesced_methods_are_one_operation(device, backend):
    def function(rank):
        exchanges, found = [], {}
        hooks.subscribe(on_exchange=lambda stream, exchange: exchanges.append(exchange.name))
        for name, call, outputs in methods(dist.group.WORLD, rank, 2, device):
            work = call()
            assert work.wait()
            found[name] = [each.tolist() for each in outputs]
        return exchanges, found

    expected = {
        "all_reduce_coalesced": [[1.0], [1.0, 2.0]],
        "all_gather_coalesced": [[1.0], [1.0, 2.0], [1.0], [1.0, 2.0]],
        "all_gather_into_tensor_coalesced": [[1.0, 1.0], [1.0, 2.0, 1.0, 2.0]],
    }
    for rank, (exchanges, found) in enumerate(run(function, 2, backend, gpus=2)):
        assert exchanges == ([] if device == "cpu" else [*found])
        assert found == {**expected, "reduce_scatter_tensor_coalesced": [[2.0 * rank], [2.0, 2.0]]}


def test_coalesced_methods_take_options_and_name_wrong_tensors():
    def function(rank):
        group, options, texts = dist.group.WORLD, dist.AllreduceCoalescedOptions(), []
        options.reduceOp, options.asyncOp = ReduceOp.MAX, False
        x, y = filled(rank, device="cuda"), filled(rank, 5, device="cuda")
        group.allreduce_coalesced([x, y], options)
        for tensors in (3, [x, 3], [x, torch.ones(1)], [x, x]):
            with pytest.raises((TypeError, ValueError)) as error:
                group.allreduce_coalesced(tensors)
            texts.append(str(error.value))
        assert group.coalescing is None and group.allreduce_coalesced([]).wait()
        with dist._coalescing_manager(device="cuda"):
            group.allreduce_coalesced([x, y])  # parts of the outer operation
        return x.tolist(), y.tolist(), options.asyncOp, texts

    for x, y, is_async, texts in run(function, 2, "gloo", gpus=2):
        assert (x, y, is_async) == ([2.0], [2.0, 10.0], False)
        assert all(text.startswith("all_reduce_coalesced: ") for text in texts)
        assert "list of tensors, got 3" in texts[0] and "an entry of the list must be a Tensor" in texts[1]
        assert "and are on cpu, cuda:" in texts[2] and "writes memory of the other" in texts[3]


def test_coalesced_methods_that_differ_are_named_on_both_ranks():
    def function(rank):
        dist.group.WORLD.allreduce_coalesced([filled(1), filled(*range(2 + rank))]).wait()
        torch.cuda.synchronize()

    for name, text in run(function, 2, "nccl", gpus=2):
        assert name == "CollectiveError" and "ranks make different calls" in text
        assert "all_reduce(float32[2], SUM, coalesced) at" in text and "all_reduce(float32[3], SUM, coalesced)" in text


def test_a_missing_wait_is_a_race():
    def function(rank):
        sent, got = filled(rank), zeros(1)
        works = dist.batch_isend_irecv([P2POp(dist.isend, sent, 1 - rank), P2POp(dist.irecv, got, 1 - rank)])
        got + 1
        works[0].wait()

    def collectives(rank):
        x, y = filled(1.0), filled(2.0)
        with dist._coalescing_manager(async_ops=True) as manager:
            dist.all_reduce(x)
            dist.all_reduce(y)
        y + 1
        manager.wait()

    for each in (function, collectives):
        for name, text in run(each, 2, "nccl", gpus=2):
            assert name == "RaceError" and "collectives of group 0" in text


def test_messages_of_a_batch_have_no_order():
    """A ring in both directions, several messages per pair, the sends first: no message waits for another."""

    def function(rank):
        size, batch, got = 3, [], []
        for step in (1, 2):
            for number in range(2):
                batch.append(P2POp(dist.isend, filled(10 * rank + number), (rank + step) % size))
        for step in (2, 1):
            for _ in range(2):
                got.append(zeros(1))
                batch.append(P2POp(dist.irecv, got[-1], group_peer=(rank - step) % size))
        for work in dist.batch_isend_irecv(batch):
            work.wait()
        return [each.item() for each in got]

    for rank, found in enumerate(run(function, 3, "nccl", gpus=3)):
        assert found == [10.0 * ((rank - step) % 3) + number for step in (2, 1) for number in range(2)]


def test_ranks_that_take_no_part_go_on():
    def function(rank):
        x = filled(rank)
        if rank < 2:
            op = P2POp(dist.isend, x, 1) if rank == 0 else P2POp(dist.irecv, x, 0)
            dist.batch_isend_irecv([op])[0].wait()
        dist.all_reduce(x)
        return x.item()

    assert run(function, 3, "nccl", gpus=3) == [2.0] * 3


# mistakes


def coalesced(*tensors, op=ReduceOp.SUM):
    with dist._coalescing_manager():
        for each in tensors:
            dist.all_reduce(each, op)
    return [each.tolist() for each in tensors]


def batch(rank, *tensors, tag=0):
    """Rank 0 sends the tensors to rank 1."""
    op = dist.irecv if rank else dist.isend
    for work in dist.batch_isend_irecv([P2POp(op, each, 1 - rank, None, tag) for each in tensors]):
        work.wait()
    return [each.tolist() for each in tensors]


def single(rank):
    x = filled(1)
    dist.recv(x, 0) if rank else dist.send(x, 1)
    return x.tolist()


def both_send(rank):
    x = zeros(2)
    dist.batch_isend_irecv([P2POp(dist.isend, x, 1 - rank)])[0].wait()
    torch.cuda.synchronize()


def received_late(rank):
    """The batch and another collective are in another order: each rank's stream waits for the other's."""
    x, y = filled(rank), filled(1)
    for turn in range(2):
        if turn == rank:
            batch(rank, x)
        else:
            dist.all_reduce(y)
    return x.tolist()


DIFFERENT, WAITING = "ranks make different calls", "all ranks wait for each other"
# the program of each rank, and texts in the error of every rank
PLANTED = {
    "shape": (
        lambda rank: coalesced(zeros(2), zeros(3 + rank)),
        (DIFFERENT, "rank 0: all_reduce(float32[3], SUM, coalesced) at", "rank 1: all_reduce(float32[4], SUM, coal"),
    ),
    "number": (
        lambda rank: (coalesced(*(zeros(2) for _ in range(2 - rank))), dist.all_reduce(x := zeros(2)), x.tolist()),
        (DIFFERENT, "rank 0: all_reduce(float32[2], SUM, coalesced) at", "rank 1: all_reduce(float32[2], SUM) at"),
    ),
    "not coalesced": (
        lambda rank: (coalesced(x := zeros(2)) if rank else dist.all_reduce(x := zeros(2)), x.tolist()),
        (DIFFERENT, "rank 0: all_reduce(float32[2], SUM) at", "rank 1: all_reduce(float32[2], SUM, coalesced) at"),
    ),
    "size of a message": (
        lambda rank: batch(rank, zeros(2), zeros(3 + rank)),
        (DIFFERENT, "rank 0: isend(float32[3], dst=1) at", "rank 1: irecv(float32[4], src=0) at"),
    ),
    "type of a message": (
        lambda rank: batch(rank, zeros(2).double() if rank else zeros(2)),
        (DIFFERENT, "rank 0: isend(float32[2], dst=1) at", "rank 1: irecv(float64[2], src=0) at"),
    ),
    "order of messages": (
        lambda rank: batch(rank, *(zeros(2 + (rank + each) % 2) for each in range(2))),
        (DIFFERENT, "rank 0: isend(float32[2], dst=1) at", "rank 1: irecv(float32[3], src=0) at"),
    ),
    "tag": (
        lambda rank: batch(rank, zeros(2), tag=rank),
        (DIFFERENT, "rank 0: isend(float32[2], dst=1) at", "rank 1: irecv(float32[2], src=0, tag=1) at"),
    ),
    "both send": (
        both_send,
        (WAITING, "rank 0: isend(float32[2], dst=1) at", "rank 1: isend(float32[2], dst=0) at"),
    ),
    "batch and single message": (
        lambda rank: single(rank) if rank else batch(rank, zeros(1)),
        (WAITING, "rank 0: isend(float32[1], dst=1) at", "rank 1: recv(float32[1], src=0) at"),
    ),
    "order with a collective": (received_late, (WAITING, "rank 0: isend(float32[1], dst=1) at", "rank 1: all_reduce")),
}


def test_mistakes_are_named():
    for name, (function, texts) in PLANTED.items():
        for said in run(function, 2, "nccl", gpus=2):
            assert said[0] == "CollectiveError" and all(text in said[1] for text in texts), (name, said)
            assert "timeout" not in said[1] and "test_coalesced.py:" in said[1]


def raised(call):
    try:
        call()
    except (RuntimeError, ValueError) as error:
        return type(error).__name__, str(error)
    return None


def test_calls_that_cannot_be_coalesced():
    def function(rank):
        x, y, found = filled(1, 2, 3), filled(4, device="cpu"), {}

        def kinds():
            with dist._coalescing_manager():
                dist.all_reduce(x)
                dist.all_gather_into_tensor(zeros(6), x)

        def reductions():
            with dist._coalescing_manager():
                dist.all_reduce(x)
                dist.all_reduce(x, ReduceOp.MAX)

        def nested():
            with dist._coalescing_manager(), dist._coalescing_manager():
                pass

        def waited():
            with dist._coalescing_manager():
                dist.all_reduce(x, async_op=True).wait()

        def devices():
            with dist._coalescing_manager():
                dist.all_reduce(x)
                dist.all_reduce(y)

        def overlapping():
            with dist._coalescing_manager(device="cuda"):
                dist.all_reduce(x[:2])
                dist.broadcast(x[1:], 0)

        def messages():
            dist.batch_isend_irecv([P2POp(dist.isend, x, 1 - rank), P2POp(dist.irecv, x, 1 - rank)])

        def groups():
            other = dist.new_group([0, 1])
            dist.batch_isend_irecv([P2POp(dist.isend, x, 1 - rank), P2POp(dist.irecv, x, 1 - rank, other)])

        for call in (kinds, reductions, nested, waited, devices, overlapping, messages, groups):
            found[call.__name__] = raised(call)
        dist.all_reduce(x)  # nothing that was refused has begun
        return found, x.tolist()

    texts = {
        "kinds": ("GroupError", "all_gather_into_tensor, all_reduce SUM"),
        "reductions": ("GroupError", "all_reduce MAX, all_reduce SUM"),
        "nested": ("GroupError", "the calls of group 0 are already being coalesced"),
        "waited": ("GroupError", "all_reduce: the call begins when its _coalescing_manager ends"),
        "devices": ("ArgumentError", "and are on cpu, cuda:"),
        "overlapping": ("ArgumentError", "all_reduce(float32[2], SUM, coalesced) at "),
        "messages": ("ArgumentError", "batch_isend_irecv: one of two calls writes memory of the other"),
        "groups": (
            "ArgumentError",
            "batch_isend_irecv: the messages must be of one group, and are of the groups 0 and 0/group0",
        ),
    }
    for found, x in run(function, 2, "cpu:gloo,cuda:nccl", gpus=2):
        assert x == [2.0, 4.0, 6.0]
        for name, (kind, text) in texts.items():
            assert found[name][0] == kind and text in found[name][1], (name, found[name])


def test_lists_of_tensors_are_checked():
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        with pytest.raises(ArgumentError, match="lists of 2 tensors, and input_tensor_list has 1"):
            deprecated(dist.all_gather_coalesced, [[zeros(1, "cpu")] * 2], [zeros(1, "cpu")])
        with pytest.raises(TypeError, match="tensors must be a list of tensors, got 'text'"):
            deprecated(dist.all_reduce_coalesced, "text")
    finally:
        dist.destroy_process_group()


def test_calls_that_are_ready_are_not_looked_at_again():
    looks = []

    class Call:
        def __init__(self, number):
            self.number, self.is_there, self.keys = number, False, [f"key {number}"]

        def is_ready(self):
            looks.append(self.number)
            return self.is_there

    calls = [Call(number) for number in range(3)]
    whole = Coalesced.__new__(Coalesced)
    whole.parts, whole._ready = [Part(call, [], [], 0) for call in calls], 0
    calls[1].is_there = True
    assert (whole.is_ready(), whole.keys, looks) == (False, ["key 0"], [0, 0])
    calls[0].is_there = True
    looks.clear()
    assert (whole.is_ready(), whole.keys, looks) == (False, ["key 2"], [0, 1, 2, 2])
    calls[2].is_there = True
    looks.clear()
    assert (whole.is_ready(), whole.keys, looks) == (True, [], [2])

"""Groups of several processes: values of collectives on the CPU and on virtual GPUs, and what is said of failures."""

import os
import re
import time
import warnings
from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.errors import ValueRangeError
from tests.open_files import open_files
from tests.parallel.processes import die, run

ReduceOp = dist.ReduceOp


def values(size, device):
    """Every collective, once: what each rank gets."""

    def function(rank):
        def make(*numbers, dtype=torch.float32):
            return torch.tensor(numbers, dtype=dtype, device=device)

        def zeros(*shape):
            return torch.zeros(shape, device=device)

        found = {}
        for op, dtype in [
            ("SUM", torch.float32), ("AVG", torch.float64), ("PRODUCT", torch.int64), ("MIN", torch.float32),
            ("MAX", torch.bfloat16), ("BAND", torch.int32), ("BOR", torch.uint8), ("BXOR", torch.int64),
        ]:  # fmt: skip
            x = make(rank + 1, 6 - rank, dtype=dtype)
            dist.all_reduce(x, ReduceOp[op])
            found[op] = x.tolist()
        x = make(rank + 1)
        dist.reduce(x, dst=1)
        found["reduce"] = x.tolist()
        x = make(rank, rank)
        dist.broadcast(x, src=2 % size)
        found["broadcast"] = x.tolist()
        outputs = [zeros(2) for _ in range(size)]
        dist.all_gather(outputs, make(rank, 7))
        found["all_gather"] = [each.tolist() for each in outputs]
        x = zeros(size, 2)
        dist.all_gather_into_tensor(x, make(rank, 8))
        found["all_gather_into_tensor"] = x.tolist()
        outputs = [zeros(1) for _ in range(size)] if rank == 0 else None
        dist.gather(make(rank), outputs, dst=0)
        found["gather"] = outputs and [each.item() for each in outputs]
        x = zeros(1)
        dist.scatter(x, [make(10 * each) for each in range(size)] if rank == 1 else None, src=1)
        found["scatter"] = x.item()
        x = zeros(1)
        dist.reduce_scatter(x, [make(each) for each in range(size)])
        found["reduce_scatter"] = x.item()
        x = zeros(2)
        dist.reduce_scatter_tensor(x, torch.arange(2.0 * size, device=device))
        found["reduce_scatter_tensor"] = x.tolist()
        outputs = [zeros(1) for _ in range(size)]
        dist.all_to_all(outputs, [make(10 * rank + each) for each in range(size)])
        found["all_to_all"] = [each.item() for each in outputs]
        x = zeros(sum(range(1, size + 1)))  # rank i sends j + 1 rows to rank j, and so gets i + 1 from each
        x = zeros((rank + 1) * size)
        rows = torch.full((sum(range(1, size + 1)),), float(rank), device=device)
        dist.all_to_all_single(x, rows, [rank + 1] * size, list(range(1, size + 1)))
        found["all_to_all_single"] = x.tolist()
        objects = [None] * size
        dist.all_gather_object(objects, {"rank": rank})
        found["all_gather_object"] = objects
        sent = [f"of {rank}", rank]
        dist.broadcast_object_list(sent, src=1)
        found["broadcast_object_list"] = sent
        got = [None]
        dist.scatter_object_list(got, [each * "x" for each in range(size)] if rank == 0 else None, src=0)
        found["scatter_object_list"] = got
        dist.barrier()
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, make(rank), (rank + 1) % size),
                dist.P2POp(dist.irecv, x := zeros(1), (rank - 1) % size),
            ]
        )
        for work in works:
            work.wait()
        found["ring"] = x.item()
        group = dist.new_group([0, 1])
        if rank < 2:
            x = make(rank + 1)
            work = dist.all_reduce(x, group=group, async_op=True)
            work.wait()
            found["group"] = x.item(), dist.get_rank(group), dist.get_world_size(group), work.is_completed()
        else:
            found["group"] = group is dist.GroupMember.NON_GROUP_MEMBER
        return found

    return function


def expected(size, rank):
    ranks = range(size)
    return {
        "SUM": [6.0, 15.0], "AVG": [2.0, 5.0], "PRODUCT": [6, 120], "MIN": [1.0, 4.0], "MAX": [3.0, 6.0],
        "BAND": [0, 4], "BOR": [3, 7], "BXOR": [0, 7],
        "reduce": [6.0] if rank == 1 else [rank + 1.0],
        "broadcast": [2.0, 2.0],
        "all_gather": [[each, 7.0] for each in ranks],
        "all_gather_into_tensor": [[each, 8.0] for each in ranks],
        "gather": [0.0, 1.0, 2.0] if rank == 0 else None,
        "scatter": 10.0 * rank,
        "reduce_scatter": 3.0 * rank,
        "reduce_scatter_tensor": [6.0 * rank, 6.0 * rank + 3],
        "all_to_all": [10.0 * each + rank for each in ranks],
        "all_to_all_single": [float(each) for each in ranks for _ in range(rank + 1)],
        "all_gather_object": [{"rank": each} for each in ranks],
        "broadcast_object_list": ["of 1", 1],
        "scatter_object_list": [rank * "x"],
        "ring": float((rank - 1) % size),
        "group": (3.0, rank, 2, True) if rank < 2 else True,
    }  # fmt: skip


@pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "nccl"), ("cuda", "cpu:gloo,cuda:nccl")])
def test_collectives_have_the_values_of_all_ranks(device, backend):
    found = run(values(3, device), 3, backend, gpus=3)
    for rank in range(3):
        assert found[rank] == expected(3, rank)


def test_a_group_is_divided():
    def function(rank):
        mine, groups = dist.new_subgroups(2)
        x = torch.full((1,), rank + 1.0)
        dist.all_reduce(x, group=mine)
        own, parts = dist.new_subgroups_by_enumeration([[3, 0], [1]])
        outside = [each is dist.GroupMember.NON_GROUP_MEMBER for each in (*groups, *parts)]
        return x.item(), own and dist.get_process_group_ranks(own), outside

    assert run(function, 4) == [
        (3.0, [0, 3], [False, True, False, True]),
        (3.0, [1], [False, True, True, False]),
        (7.0, None, [True, False, True, True]),
        (7.0, [0, 3], [True, False, False, True]),
    ]


def test_divisions_that_cannot_be():
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        for size in (0, 2, True, "1"):
            with pytest.raises(ValueRangeError, match=f"new_subgroups: group_size .*, 1, got {size!r}"):
                dist.new_subgroups(size)
        for ranks in ([], [[0], [0]], "0", [[]]):
            with pytest.raises(ValueRangeError, match="ranks_per_subgroup_list must be"):
                dist.new_subgroups_by_enumeration(ranks)
    finally:
        dist.destroy_process_group()


MISMATCHES = {
    "operation": [lambda: dist.all_reduce(torch.ones(3)), lambda: dist.broadcast(torch.ones(3), 0)],
    "shape": [lambda: dist.all_reduce(torch.ones(3)), lambda: dist.all_reduce(torch.ones(4))],
    "type": [lambda: dist.all_reduce(torch.ones(3)), lambda: dist.all_reduce(torch.ones(3).double())],
    "reduction": [lambda: dist.all_reduce(torch.ones(3)), lambda: dist.all_reduce(torch.ones(3), ReduceOp.MAX)],
    "source": [lambda: dist.broadcast(torch.ones(3), 0), lambda: dist.broadcast(torch.ones(3), 1)],
    "order": [
        lambda: (dist.barrier(), dist.all_reduce(torch.ones(1))),
        lambda: (dist.all_reduce(torch.ones(1)), dist.barrier()),
    ],
    "size of a message": [lambda: dist.send(torch.ones(3), 1), lambda: dist.recv(torch.ones(4), 0)],
    "both receive": [lambda: dist.recv(torch.ones(3), 1), lambda: dist.recv(torch.ones(3), 0)],
    "one call less": [lambda: (dist.barrier(), dist.barrier()), dist.barrier],
    "a message instead": [lambda: dist.all_reduce(torch.ones(3)), lambda: dist.recv(torch.ones(3), 0)],
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_calls_that_differ_are_shown_side_by_side_on_every_rank(name):
    found = run(lambda rank: MISMATCHES[name][rank](), 2)
    failed = [each for each in found if isinstance(each, tuple) and each[0] == "CollectiveError"]
    assert len(failed) == (1 if name == "one call less" else 2)
    for _, text in failed:
        assert re.search(r"\n  rank 0: .+\n  rank 1: .+\nhint: ", text) and "timeout" not in text, text
        assert text.count("test_group.py:") >= (2 if name != "one call less" else 1)


def test_the_texts_name_operators_tensors_and_lines():
    (_, text), other = run(lambda rank: MISMATCHES["type"][rank](), 2)
    assert other[1] == text
    assert re.fullmatch(
        r"all_reduce: ranks make different calls\n"
        r"  rank 0: all_reduce\(float32\[3\], SUM\) at .*test_group.py:\d+\n"
        r"  rank 1: all_reduce\(float64\[3\], SUM\) at .*test_group.py:\d+\n"
        r"hint: all ranks of a group make the same calls, in the same order",
        text,
    )


@pytest.mark.parametrize("victim", [0, 2])
def test_every_other_rank_learns_that_one_has_died(victim):
    def function(rank):
        dist.all_reduce(torch.ones(2))
        if rank == victim:
            die()
        dist.all_reduce(torch.ones(2))

    found = run(function, 3)
    text = f"the process of rank {victim}{', which holds the store,' * (victim == 0)} has ended"
    for rank, each in enumerate(found):
        assert each == -9 if rank == victim else (each[0] == "CollectiveError" and text in each[1]), each


def test_a_slow_rank_is_missing_at_the_timeout_only():
    over, tell = os.pipe()

    def function(rank):
        if rank == 1:
            time.sleep(0.2)
        dist.barrier()
        if rank == 0:
            try:
                dist.monitored_barrier(timeout=timedelta(seconds=0.3))
            finally:
                os.write(tell, b".")
        else:
            os.read(over, 1)  # until the other has waited in vain
            dist.monitored_barrier()

    found = run(function, 2)
    os.close(over)
    os.close(tell)
    for name, text in found:
        assert name == "CollectiveError" and "rank 0 has waited for 0.3 s, the group's timeout" in text
        assert "rank 1: has not called; its last call: barrier() at " in text


def test_a_missing_wait_is_a_race():
    def function(rank):
        x = torch.ones(2, device="cuda")
        work = dist.all_reduce(x, async_op=True)
        y = x + 1
        work.wait()
        return y.tolist()

    for name, text in run(function, 2, "nccl", gpus=2):
        assert name == "RaceError" and "collectives of group 0" in text


def test_a_training_step_of_ranks_is_that_of_one_process():
    torch.manual_seed(0)
    data, target = torch.randn(8, 5, dtype=torch.float64), torch.randn(8, 1, dtype=torch.float64)
    weight = torch.randn(5, 1, dtype=torch.float64)

    def steps(x, y, reduce):
        w, losses = weight.clone().requires_grad_(), []
        for _ in range(3):
            loss = ((x @ w - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * reduce(w.grad)
                losses.append(reduce(loss.detach()).item())
            w.grad = None
        return losses

    def function(rank):
        def reduce(tensor):
            dist.all_reduce(tensor, ReduceOp.AVG)
            return tensor

        return steps(data[2 * rank : 2 * rank + 2], target[2 * rank : 2 * rank + 2], reduce)

    alone = steps(data, target, lambda tensor: tensor)
    for found in run(function, 4):
        assert found == pytest.approx(alone, rel=1e-12)


def test_facts_of_groups_and_results():
    def function(rank):
        world, other = dist.group.WORLD, dist.new_group([0, 1], group_desc="both")
        work = dist.all_reduce(x := torch.ones(1), group=other, async_op=True)
        work.synchronize()
        world.set_timeout(timedelta(seconds=7))
        return world.group_desc, other.group_desc, x.item(), world.timeout.seconds, world.bound_device_id

    assert run(function, 2) == [("default_pg", "both", 2.0, 7, None)] * 2
    dist.init_process_group("gloo", rank=0, world_size=1, device_id=torch.device("cuda", 0))
    assert dist.group.WORLD.bound_device_id == torch.device("cuda", 0)
    dist.destroy_process_group()


def test_processes_that_are_no_members_warn_and_go_on():
    def function(rank):
        group, x, found = dist.new_group([0]), torch.full((1,), 5.0), []
        calls = {
            "all_reduce": lambda: dist.all_reduce(x, group=group),
            "barrier": lambda: dist.barrier(group=group),
            "broadcast_object_list": lambda: dist.broadcast_object_list([1], 0, group=group),
        }
        if rank == 1:
            calls["recv"] = lambda: dist.recv(x, 0, group=group)
        for name, call in calls.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found.append(call())
            text = f"Running {name} on global rank 1 which does not belong to the given group."
            assert [str(each.message) for each in caught] == [text] * rank
        return found

    assert run(function, 2) == [[None] * 3, [None] * 3 + [-1]]


def test_a_group_is_destroyed_by_all_processes():
    def function(rank):
        group = dist.new_group([0])
        dist.destroy_process_group(group)
        dist.all_reduce(x := torch.ones(1))
        return (rank == 0) == (group is not dist.GroupMember.NON_GROUP_MEMBER), x.item()

    assert run(function, 2) == [(True, 2.0)] * 2


def test_results_are_the_tensors_that_the_program_passed():
    def function(rank):
        x, parts = torch.ones(2), torch.zeros(2)
        reduced = dist.reduce(x, 0, async_op=True)
        sent = dist.all_to_all_single(parts, torch.full((2,), float(rank)), async_op=True)
        sent.wait()
        return (
            [given is x for given in reduced.result()],
            [given is parts for given in sent.result()],
            [given.tolist() for given in sent.get_future().value()],
            dist.barrier(async_op=True).result(),
        )

    assert run(function, 2) == [([True], [True], [[0.0, 1.0]], [])] * 2


WRONG = {
    "wait": (
        lambda: dist.all_reduce(torch.ones(1), async_op=True).wait(1),
        "Work.wait: timeout must be a datetime.timedelta, got 1",
    ),
    "no rows": (
        lambda: dist.all_to_all_single(torch.zeros(()), torch.zeros(())),
        "all_to_all_single: output is float32[] on cpu, which has no rows",
    ),
    "gaps": (lambda: dist.all_reduce(torch.ones(4, 4)[:, ::2]), "or permuted without gaps, got strides (4, 2)"),
    "repeats": (lambda: dist.broadcast(torch.ones(1).expand(3), 0), "or permuted without gaps, got strides (0,)"),
    "entries": (lambda: dist.all_gather([torch.ones(1)], torch.ones(1)), "a list with 2 entries, one per process"),
    "parts": (
        lambda: dist.all_gather_into_tensor(torch.ones(3), torch.ones(2)),
        "float32[3] on cpu does not have 2 parts of float32[2] on cpu",
    ),
    "rank": (lambda: dist.broadcast(torch.ones(1), 5), "src must be a rank of the group, which has 0, 1, got 5"),
    "rows": (
        lambda: dist.all_to_all_single(torch.ones(2), torch.ones(2), None, [2, 1]),
        "input is float32[2] on cpu, and the split sizes are [2, 1]",
    ),
    "types of all_to_all": (
        lambda: dist.all_to_all_single(torch.ones(2), torch.ones(2, dtype=torch.int32)),
        "all_to_all_single: inputs and outputs must have one type, and are of the types int32, float32",
    ),
    "types of gather": (
        lambda: dist.gather(torch.ones(1), [torch.ones(1).double()] * 2, dist.get_rank()),
        "gather: an output is float64[1] on cpu, and the input float32[1] on cpu",
    ),
    "sizes of scatter": (
        lambda: dist.scatter(torch.ones(1), [torch.ones(2)] * 2, dist.get_rank()),
        "scatter: an input is float32[2] on cpu, and the output float32[1] on cpu",
    ),
    "sizes of reduce_scatter": (
        lambda: dist.reduce_scatter(torch.ones(1), [torch.ones(2)] * 2),
        "reduce_scatter: an input is float32[2] on cpu, and the output float32[1] on cpu",
    ),
    "average of bool": (
        lambda: dist.all_reduce(torch.ones(1) > 0, ReduceOp.AVG),
        "AVG does not support bool, and the tensor is bool[1] on cpu",
    ),
    "itself": (lambda: dist.send(torch.ones(1), dist.get_rank()), "are the same process"),
    "no receiver": (lambda: dist.send(torch.ones(1)), "send: dst is missing"),
    "no reduction": (lambda: dist.all_reduce(torch.ones(1), ReduceOp.PREMUL_SUM), "ReduceOp.PREMUL_SUM needs a factor"),
    "group": (lambda: dist.new_group([0, 2]), "ranks [0, 2] do not fit a job with 2 processes"),
    "no source": (lambda: dist.broadcast(torch.ones(1)), "broadcast: src is missing"),
    "no target": (lambda: dist.reduce(torch.ones(1)), "reduce: dst is missing"),
    "two sources": (
        lambda: dist.scatter_object_list([None], [1, 2], 0, group_src=1),
        "src=0 and group_src=1 are given",
    ),
    "two targets": (lambda: dist.gather(torch.ones(1), None, 1, group_dst=1), "both dst=1 and group_dst=1 are given"),
    "two receivers": (lambda: dist.send(torch.ones(1), 1, group_dst=0), "both dst=1 and group_dst=0 are given"),
    "fraction": (lambda: dist.broadcast(torch.ones(1), 1.0), "src must be an integer, got 1.0"),
    "no rank": (lambda: dist.get_group_rank(None, None), "global_rank must be an integer, got None"),
    "message without a peer": (lambda: dist.P2POp(dist.isend, torch.ones(1)), "P2POp: peer is missing"),
    "message to two": (lambda: dist.P2POp(dist.isend, torch.ones(1), 1, group_peer=1), "both peer=1 and group_peer=1"),
    "message to nobody": (lambda: dist.P2POp(dist.irecv, torch.ones(1), 2), "peer must be a rank of the group"),
    "message of a number": (lambda: dist.P2POp(dist.irecv, 1.0, 0), "P2POp: tensor must be a Tensor, got 1.0"),
    "parts of a number": (lambda: dist.all_to_all_single(None, torch.ones(2)), "output must be a Tensor, got None"),
    "timeout": (lambda: dist.new_group([0, 1], timeout=5), "new_group: timeout must be a datetime.timedelta, got 5"),
    "timeout of a barrier": (
        lambda: dist.monitored_barrier(timeout=3),
        "monitored_barrier: timeout must be a datetime",
    ),
    "tag": (lambda: dist.isend(torch.ones(1), 1, tag="a"), "isend: tag must be an integer, got 'a'\nhint: "),
}
RANK_ERRORS = (ValueError, TypeError)  # those of PyTorch's functions for the same arguments


@pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "gloo"), ("cuda", "nccl")])
def test_permuted_tensors_are_read_and_written_by_their_indexes(device, backend):
    def function(rank):
        def made(start, is_permuted=rank == 0):  # rank 1's are contiguous
            values = torch.arange(start, start + 6.0, device=device).reshape(2, 3)
            return values.t().contiguous().t() if is_permuted else values

        found = {"all_reduce": made(rank), "broadcast": made(rank), "recv": made(0, True), "all_gather": made(0, True)}
        dist.all_reduce(found["all_reduce"])
        dist.broadcast(found["broadcast"], 1)
        if rank == 0:
            dist.recv(found["recv"], 1)
        else:
            dist.send(made(5), 0)
        dist.all_gather([found["all_gather"], made(0)], made(rank + 3))
        found["all_gather_into_tensor"] = torch.empty(3, 4, device=device).t()
        dist.all_gather_into_tensor(found["all_gather_into_tensor"], made(rank))
        return {name: (each.flatten().tolist(), tuple(each.stride())) for name, each in found.items()}

    numbers = [float(each) for each in range(12)]
    zero, one = run(function, 2, backend, gpus=2 if device == "cuda" else 0)
    assert zero["all_reduce"] == ([1.0, 3.0, 5.0, 7.0, 9.0, 11.0], (1, 2)) and one["all_reduce"][1] == (3, 1)
    assert zero["all_reduce"][0] == one["all_reduce"][0]
    assert zero["broadcast"] == (numbers[1:7], (1, 2)) and zero["recv"] == (numbers[5:11], (1, 2))
    for each in (zero, one):
        assert each["all_gather"] == (numbers[3:9], (1, 2))
        assert each["all_gather_into_tensor"] == ([*numbers[:6], *numbers[1:7]], (1, 4))


def test_wrong_ranks_have_the_classes_of_pytorch():
    dist.init_process_group("gloo", rank=0, world_size=1)
    for call in (lambda: dist.get_group_rank(None, "0"), lambda: dist.broadcast(torch.ones(1), "0")):
        for error in RANK_ERRORS:
            with pytest.raises(error, match="must be an integer, got '0'"):
                call()
    for error in RANK_ERRORS:
        with pytest.raises(error, match="this process is not in the group"):
            dist.get_backend(dist.GroupMember.NON_GROUP_MEMBER)
    for call in (
        lambda: dist.all_gather(None, torch.ones(1)),
        lambda: dist.reduce_scatter(torch.ones(1), torch.ones(1)),
        lambda: dist.all_to_all(1, [torch.ones(1)]),
        lambda: dist.all_gather_object(None, 1),
    ):
        with pytest.raises(
            TypeError, match=r"must be a list with one entry, as the group has one process, got .*\nhint:"
        ):
            call()
    for error in (ValueError, RuntimeError):
        with pytest.raises(error, match=r"tensor_list must be a list with one entry.*got \[\]"):
            dist.all_gather([], torch.ones(1))
    with pytest.raises(TypeError, match=r"init_process_group: .*got 3"):
        dist.destroy_process_group()
        dist.init_process_group("gloo", timeout=3)
    assert not dist.is_initialized()


def test_tensors_of_other_types_are_wrong_values():
    def function(rank):
        calls = (
            lambda: dist.all_gather([torch.ones(1).double()] * 2, torch.ones(1)),
            lambda: dist.reduce_scatter(torch.ones(1), [torch.ones(1).double()] * 2),
            lambda: dist.scatter(torch.ones(1), [torch.ones(1).double()] * 2, rank),
        )
        for call in calls:
            for error in (ValueError, RuntimeError):  # of other types in PyTorch, and of other sizes
                with pytest.raises(error, match="float64.*\nhint: "):
                    call()
        return len(calls)

    assert run(function, 2) == [3, 3]


def test_gathering_goes_to_global_rank_0_by_default():
    def function(rank):
        group = dist.new_group([1])
        calls = {
            "gather": lambda: dist.gather(torch.ones(1), [torch.ones(1)], group=group),
            "scatter": lambda: dist.scatter(torch.ones(1), [torch.ones(1)], group=group),
            "broadcast_object_list": lambda: dist.broadcast_object_list([1], group=group),
            "gather_object": lambda: dist.gather_object(1, [None], group=group),
            "scatter_object_list": lambda: dist.scatter_object_list([None], [1], group=group),
        }
        found = []
        for name, call in calls.items() if rank == 1 else ():
            with pytest.raises(ValueError, match=rf"{name}: (src|dst) must be a rank of the group, which has 1, got 0"):
                call()
            found.append(name)
        return len(found)

    assert run(function, 2) == [0, 5]


def test_messages_of_a_batch_know_both_ranks():
    def function(rank):
        group = dist.new_group([1, 0], sort_ranks=False)
        ops = [
            dist.P2POp(dist.isend, torch.ones(2), 0, group),
            dist.P2POp(dist.irecv, torch.ones(1), None, group, 3, 0),
        ]
        return [(op.peer, op.group_peer, op.tag, op.group is group, repr(op).partition(", ")[2]) for op in ops]

    for rank, found in enumerate(run(function, 2)):
        own = 1 - rank
        assert found == [
            (0, 1, 0, True, f"group_src={own}, group_dst=1,  torch.Size([2]), torch.float32)"),
            (1, 0, 3, True, f"group_src=0, group_dst={own},  torch.Size([1]), torch.float32)"),
        ]


def test_reductions_print_as_in_pytorch():
    op = ReduceOp.SUM
    assert (str(op), f"{op}", f"{op:>15}", repr(op)) == ("RedOpType.SUM",) * 2 + (
        "  RedOpType.SUM",
        "<RedOpType.SUM: 0>",
    )


def test_wrong_arguments_are_named_and_the_group_goes_on():
    def function(rank):
        texts = {}
        for name, (call, _) in WRONG.items():
            try:
                call()
            except Exception as error:  # noqa: BLE001
                texts[name] = str(error)
        x = torch.ones(1)
        dist.all_reduce(x)
        return texts, x.item()

    for texts, total in run(function, 2):
        for name, (_, expected) in WRONG.items():
            assert expected in texts[name]
        assert total == 2.0


@pytest.mark.full
def test_rounds_of_killing_leave_nothing():
    def function(rank):
        for number in range(rank * 3, 20):
            if rank == number % 3 == 1:
                die()
            dist.all_reduce(torch.ones(1000))

    for _ in range(60):
        before = open_files()
        found = run(function, 3)
        assert -9 in found or all(each[0] == "CollectiveError" for each in found)
        assert open_files() <= before

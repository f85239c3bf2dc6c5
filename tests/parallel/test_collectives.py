"""Collectives as methods of ProcessGroup: values, forms of the arguments, options, and the ends of groups."""

from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.parallel import debug_level
from tests.parallel.processes import run

ReduceOp, SOON = dist.ReduceOp, timedelta(seconds=20)


def options(kind, **fields):
    made = kind()
    for name, value in fields.items():
        assert hasattr(made, name)
        setattr(made, name, value)
    return made


def values(device):
    """Every method, in each of its forms: what each of 2 ranks gets."""

    def function(rank):
        group, found = dist.group.WORLD, {}

        def make(*numbers):
            return torch.tensor(numbers, dtype=torch.float32, device=device)

        def zeros(*shape):
            return torch.zeros(shape, device=device)

        def got(name, work, *tensors):
            assert isinstance(work, dist.Work) and work.wait() and work.exception() is None
            found.setdefault(name, []).append([each.tolist() for each in tensors])

        x, y, z = make(rank + 1), make(rank + 1), make(rank + 1)
        got("allreduce", group.allreduce(x), x)
        got("allreduce", group.allreduce([y], options(dist.AllreduceOptions, reduceOp=ReduceOp.MAX)), y)
        got("allreduce", group.allreduce(z, ReduceOp.PRODUCT, SOON), z)
        x, y = make(rank), make(rank, 1)
        got("allreduce_coalesced", group.allreduce_coalesced([x, y]), x, y)
        x, y = make(rank), make(rank)
        got("broadcast", group.broadcast(x, 1), x)
        got("broadcast", group.broadcast([y], options(dist.BroadcastOptions, rootRank=1, timeout=SOON)), y)
        x, y = make(rank + 2), make(rank + 2)
        got("reduce", group.reduce(x, 1), x)
        got("reduce", group.reduce([y], options(dist.ReduceOptions, rootRank=1, reduceOp=ReduceOp.PRODUCT)), y)
        x, y = [zeros(1), zeros(1)], [zeros(1), zeros(1)]
        got("allgather", group.allgather(x, make(rank)), *x)
        got("allgather", group.allgather([y], [make(rank)]), *y)
        x = [[zeros(1), zeros(2)], [zeros(1), zeros(2)]]
        got("allgather_coalesced", group.allgather_coalesced(x, [make(rank), make(rank, 5)]), *x[0], *x[1])
        for name in ("_allgather_base", "all_gather_single"):
            x = zeros(2)
            got("all_gather_single", getattr(group, name)(x, make(rank)), x)
        x, y = zeros(2), zeros(4)
        work = group.allgather_into_tensor_coalesced([x, y], [make(rank), make(rank, 5)])
        got("allgather_into_tensor_coalesced", work, x, y)
        x, y = ([zeros(1), zeros(1)], [zeros(1), zeros(1)]) if rank else ([], [])
        got("gather", group.gather(x, make(rank), 1), *x)
        got("gather", group.gather([y] if rank else [], [make(rank)], options(dist.GatherOptions, rootRank=1)), *y)
        x, y, parts = zeros(1), zeros(1), [make(8), make(9)] if rank else []
        got("scatter", group.scatter(x, parts, 1), x)
        got("scatter", group.scatter([y], [parts] if rank else [], options(dist.ScatterOptions, rootRank=1)), y)
        x, y = zeros(1), zeros(1)
        got("reduce_scatter", group.reduce_scatter(x, [make(1), make(2)]), x)
        how = options(dist.ReduceScatterOptions, reduceOp=ReduceOp.MAX, asyncOp=False)
        got("reduce_scatter", group.reduce_scatter([y], [[make(rank), make(2 * rank)]], how), y)
        for name in ("_reduce_scatter_base", "reduce_scatter_single"):
            x = zeros(1)
            got("reduce_scatter_single", getattr(group, name)(x, make(rank, 7)), x)
        x, y = zeros(1), zeros(1)
        work = group.reduce_scatter_tensor_coalesced([x, y], [make(rank, 7), make(1, 2)])
        got("reduce_scatter_tensor_coalesced", work, x, y)
        x = [zeros(1), zeros(1)]
        got("alltoall", group.alltoall(x, [make(10 * rank), make(10 * rank + 1)]), *x)
        x, y = zeros(2), zeros(3)
        got("alltoall_base", group.alltoall_base(x, make(10 * rank, 10 * rank + 1), [], []), x)
        sizes = ([1, 2], [1, 2]) if rank == 0 else ([2, 1], [2, 1])
        got("alltoall_base", group.alltoall_base(y, make(*range(3 * rank, 3 * rank + 3)), *sizes, SOON), y)
        got("barrier", group.barrier(), make())
        got("barrier", group.barrier(options(dist.BarrierOptions, timeout=SOON)), make())
        x = make(rank + 5)
        work = group.send([x], 1, 0) if rank == 0 else group.recv([x], 0, 0)
        got("send", work, x)
        found["source"] = work.source_rank() if rank else None
        group.monitored_barrier(SOON)
        return found

    return function


def expected(rank):
    return {
        "allreduce": [[[3.0]], [[2.0]], [[2.0]]],
        "allreduce_coalesced": [[[1.0], [1.0, 2.0]]],
        "broadcast": [[[1.0]]] * 2,
        "reduce": [[[5.0]], [[6.0]]] if rank else [[[2.0]], [[2.0]]],
        "allgather": [[[0.0], [1.0]]] * 2,
        "allgather_coalesced": [[[0.0], [0.0, 5.0], [1.0], [1.0, 5.0]]],
        "all_gather_single": [[[0.0, 1.0]]] * 2,
        "allgather_into_tensor_coalesced": [[[0.0, 1.0], [0.0, 5.0, 1.0, 5.0]]],
        "gather": [[[0.0], [1.0]] if rank else []] * 2,
        "scatter": [[[8.0 + rank]]] * 2,
        "reduce_scatter": [[[2.0 + 2 * rank]], [[1.0 + rank]]],
        "reduce_scatter_single": [[[14.0] if rank else [1.0]]] * 2,
        "reduce_scatter_tensor_coalesced": [[[14.0], [4.0]] if rank else [[1.0], [2.0]]],
        "alltoall": [[[0.0 + rank], [10.0 + rank]]],
        "alltoall_base": [[[0.0 + rank, 10.0 + rank]], [[1.0, 2.0, 5.0] if rank else [0.0, 3.0, 4.0]]],
        "barrier": [[[]]] * 2,
        "send": [[[5.0]]],
        "source": 0 if rank else None,
    }


@pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "nccl")])
def test_methods_have_the_values_of_all_ranks(device, backend):
    found = run(values(device), 2, backend, gpus=2)
    for rank in range(2):
        assert found[rank] == expected(rank)


def test_ranks_are_those_in_the_group():
    def function(rank):
        group = dist.new_group([1, 2])
        x = torch.tensor([rank])
        if rank:
            group.broadcast(x, 1).wait()
            (group.send([x + 5], 0, 3) if rank == 2 else group.recv([x], 1, 3)).wait()
        return x.item()

    assert run(function, 3) == [0, 7, 2]


def test_a_timeout_of_a_call_is_its_own():
    def function(rank):
        group = dist.group.WORLD
        if rank == 0:
            group.allreduce(torch.ones(1), opts=options(dist.AllreduceOptions, timeout=timedelta(seconds=0.05))).wait()
        else:
            while group.client.failure is None:
                group.client.await_failure(1)
            group.barrier().wait()

    for name, text in run(function, 2):
        assert name == "CollectiveError" and "rank 0 has waited for 0.05 s" in text and "rank 0: all_reduce" in text


def test_an_abort_ends_the_group_on_all_ranks():
    def function(rank):
        group, other = dist.group.WORLD, dist.new_group()
        if rank == 0:
            other.recv(torch.ones(1), 1, 0).wait()  # the other rank has begun
            group.abort()
            with pytest.raises(RuntimeError, match="barrier: group 0, of the ranks 0, 1, has been destroyed"):
                group.barrier()
            return "aborted"
        work = group.allreduce(torch.ones(1))
        other.send(torch.ones(1), 0, 0)
        group.client.await_failure(20)
        error = work.exception()
        assert not group.is_destroyed and isinstance(error, dist.CollectiveError)
        return str(error)

    first, second = run(function, 2)
    assert first == "aborted" and "rank 0 reports abort() of group 0" in second


def test_a_shutdown_ends_one_group():
    def function(rank):
        group, x = dist.new_group(), torch.tensor([rank + 1])
        work = group.allreduce(x)
        group.shutdown()
        group.shutdown()
        assert work.is_completed()
        with pytest.raises(ValueError, match="has been destroyed"):
            group.allreduce(x)
        dist.all_reduce(x)
        return x.item()

    assert run(function, 2) == [6, 6]


def test_arguments_that_cannot_be():
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        group, x = dist.group.WORLD, torch.ones(1)
        for call, text in [
            (lambda: group.allreduce([x, x]), "all_reduce: tensor must be one tensor, got a list of 2"),
            (lambda: group.allreduce(x, "SUM"), "all_reduce: op must be a ReduceOp"),
            (lambda: group.broadcast(x, 1), "broadcast: the root must be a rank of a group with 1 processes, got 1"),
            (lambda: group.allgather([[x], [x]], [x]), "all_gather: tensor_list must be one list .* 2 lists"),
            (lambda: group.gather([x, x], x), "gather: gather_list must be a list with one entry"),
            (lambda: group.send([x], 0, 0), "isend: the group has one process only"),
            (lambda: group.reduce_scatter_single(x, torch.ones(2)), "an output is float32"),
            (lambda: group.barrier().source_rank(), "Work.source_rank: only a receive has a source rank"),
            (lambda: group.split_group(None), "split_group: ranks must be integers, got None\nhint: "),
            (lambda: group.split_group(["a", 1]), r"split_group: ranks must be integers, got \['a', 1\]\nhint: "),
        ]:
            with pytest.raises((ValueError, TypeError, RuntimeError), match=text):
                call()
    finally:
        dist.destroy_process_group()


def test_a_group_is_split():
    def function(rank):
        parent = dist.new_group([1, 2, 3])
        mine = None
        if rank:
            mine = dist.split_group(parent, [[2, 0], [1]], group_desc="halves")
        pair = dist.split_group(None, [[0, 1]])
        x = torch.tensor([rank])
        for group in (mine, pair):
            if group is not None:
                group.allreduce(x).wait()
        names = [group and (group.group_desc, dist.get_process_group_ranks(group)) for group in (mine, pair)]
        return x.item(), names, dist.get_pg_count()

    assert run(function, 4) == [
        (4, [None, ("default_pg:split", [0, 1])], 2),
        (4, [("halves", [1, 3]), ("default_pg:split", [0, 1])], 4),
        (2, [("halves", [2]), None], 3),
        (4, [("halves", [1, 3]), None], 3),
    ]


@pytest.mark.parametrize(
    ("calls", "texts"),
    [
        (
            [lambda: dist.split_group(None, [[0, 1]]), lambda: dist.split_group(None, [[0], [1]])],
            ["split_group(split_ranks=[[0, 1]])", "split_group(split_ranks=[[0], [1]])"],
        ),
        ([lambda: dist.split_group(None, [[0, 1]]), dist.barrier], ["split_group(split_ranks=[[0, 1]])", "barrier()"]),
        ([lambda: dist.new_group([0]), lambda: dist.new_group([1])], ["new_group(ranks=[0])", "new_group(ranks=[1])"]),
        ([dist.new_group, dist.barrier], ["new_group(ranks=[0, 1])", "barrier()"]),
    ],
)
def test_processes_that_make_different_groups_are_told_the_calls_of_all(calls, texts):
    def function(rank):
        with pytest.raises(dist.DistError) as failure:
            calls[rank]()
        return str(failure.value)

    for said in run(function, 2):
        assert "ranks make different calls" in said and "hint: " in said
        assert all(f"  rank {rank}: {text} at " in said for rank, text in enumerate(texts)), said


def test_equal_groups_may_be_written_in_other_orders():
    def function(rank):
        mine = dist.split_group(None, [[0, 1], [2]] if rank else ([2], (1, 0)))
        return dist.get_process_group_ranks(mine)

    assert run(function, 3) == [[0, 1], [0, 1], [2]]


def test_members_alone_make_a_group():
    """The others have made fewer groups, and later ones have the same names still."""

    def function(rank):
        x = torch.tensor([rank])
        if rank:
            group = dist.new_group([1, 2], use_local_synchronization=True)
            dist.all_reduce(x, group=group)
        dist.all_reduce(x, group=dist.new_group())
        return x.item()

    assert run(function, 3) == [6, 6, 6]


def test_a_group_has_a_store():
    def function(rank):
        store = dist.group.WORLD.get_group_store()
        store.set_timeout(SOON)
        if rank == 0:
            store.set("a", "b")
            store.queue_push("jobs", "one")
        else:
            assert store.queue_pop("jobs") == b"one"
        other = dist.new_group().get_group_store()
        return store.clone().get("a"), other.check(["a"]), sorted(store.list_keys())

    assert run(function, 2) == [(b"b", False, ["a"])] * 2


def test_what_groups_say_of_themselves(monkeypatch):
    assert dist.get_pg_count() == 0
    dist.init_process_group("cpu:gloo,cuda:nccl", rank=0, world_size=1)
    try:
        group = dist.group.WORLD
        assert (dist.get_pg_count(), dist.get_backend_config()) == (1, "cpu:gloo,cuda:nccl")
        assert dist.get_backend_config(dist.new_group(backend="nccl")) == "cuda:nccl"
        assert [each.type for each in group._device_types] == ["cuda", "cpu"]
        assert group._get_backend("cpu") is group and group._get_backend_name() == group.name()
        assert dist.distributed_c10d._get_default_store().add("a", 2) == 2
        assert group.get_group_store().get("a") == b"2"
        assert dist._get_process_group_name(group) == "0" and not dist._rank_not_in_group(group)
        for call, text in [
            (lambda: dist.split_group(None, []), r"split_group: split_ranks must be .*, got \[\]"),
            (lambda: dist.split_group(None, [[0], [0]]), "in which each rank is at most once"),
            (lambda: dist.split_group(None, [0]), r"split_group: split_ranks must be .*, got \[0\]"),
            (lambda: dist.split_group(None, [["a", 0]]), r"split_group: split_ranks must be .*, got \[\['a', 0\]\]"),
            (lambda: dist.split_group(None, [[1]]), r"split_group: ranks \[1\] do not fit a group with 1 processes"),
            (lambda: dist.split_group(None, [[0]], backend="gloo"), "the parent group, 'cpu:gloo,cuda:nccl'"),
            (lambda: dist.BackendConfig("cpu:gloo,cpu:nccl"), "BackendConfig: the backend must"),
            (lambda: dist.get_default_backend_for_device("meta"), "no backend .* device"),
        ]:
            with pytest.raises(ValueError, match=text):
                call()
    finally:
        dist.destroy_process_group()
    assert dist.BackendConfig("undefined").get_device_backend_map() == {"cpu": "gloo"}
    assert [dist.get_default_backend_for_device(each) for each in ("cpu", "cuda")] == ["gloo", "nccl"]
    assert [each.name for each in ReduceOp if dist.supports_complex(each)] == ["SUM", "AVG", "PREMUL_SUM"]
    monkeypatch.setattr(debug_level, "_level", None)
    monkeypatch.setenv(debug_level.VARIABLE, "detail")
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    dist.set_debug_level(dist.DebugLevel.INFO)
    assert dist.get_debug_level() is dist.DebugLevel.INFO
    monkeypatch.setenv(debug_level.VARIABLE, "more")
    with pytest.raises(ValueError, match="TORCH_DISTRIBUTED_DEBUG must be .*, got 'more'"):
        dist.set_debug_level_from_env()
    with pytest.raises(ValueError, match="set_debug_level: the level must be a DebugLevel, got 3\nhint: "):
        dist.set_debug_level(3)

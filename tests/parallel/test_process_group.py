"""torch.distributed and DistributedDataParallel with one process."""

import re
from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau import nn
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceMismatchError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
)
from flambeau.parallel.process_group import GroupError


@pytest.fixture
def group():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_the_life_of_the_group(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    assert dist.is_available() and not dist.is_initialized() and not dist.is_torchelastic_launched()
    dist.init_process_group(backend="nccl", init_method="env://", timeout=None)
    assert dist.is_initialized() and dist.get_backend() == "nccl" == dist.Backend.NCCL
    with pytest.raises(GroupError, match="init_process_group: .*twice"):
        dist.init_process_group("gloo")
    other = dist.new_group([0], backend="gloo")
    assert (dist.get_rank(other), dist.get_world_size(other), dist.get_backend(other)) == (0, 1, "gloo")
    outside = dist.new_group([])
    assert outside is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(outside) == dist.get_world_size(outside) == -1
    assert dist.get_process_group_ranks(dist.group.WORLD) == [0]
    dist.destroy_process_group()
    assert not dist.is_initialized() and dist.group.WORLD is None


@pytest.mark.parametrize("name", ["get_rank", "get_world_size", "barrier", "get_backend", "destroy_process_group"])
def test_without_a_group_there_is_no_answer(name):
    with pytest.raises(RuntimeError, match=f"{name}: Default process group has not been initialized\nhint: "):
        getattr(dist, name)()
    with pytest.raises(ValueError, match=name):
        getattr(dist, name)()


def test_wrong_ranks_and_sizes_are_refused(monkeypatch):
    for size in ("many", "²", "٣", "9" * 5000):  # the last has more digits than Python converts
        monkeypatch.setenv("WORLD_SIZE", size)
        with pytest.raises(ArgumentError, match=f"WORLD_SIZE.*'{size}'"):
            dist.init_process_group("gloo")
    with pytest.raises(ArgumentError, match="world_size of the URL .* is not a number"):
        next(iter(dist.rendezvous("tcp://localhost:29500?rank=0&world_size=²")))
    with pytest.raises(ValueRangeError, match="rank 1.*1 processes"):
        dist.init_process_group("gloo", rank=1, world_size=1)
    with pytest.raises(ArgumentError, match="'pigeon'"):
        dist.init_process_group("pigeon", rank=0, world_size=1)
    with pytest.raises(ArgumentTypeError, match="world_size.*'1'"):
        dist.init_process_group("gloo", world_size="1")
    assert not dist.is_initialized()


def test_the_rank_on_this_machine(monkeypatch):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    with pytest.raises(GroupError, match="LOCAL_RANK"):
        dist.get_node_local_rank()
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert dist.get_node_local_rank() == 0
    monkeypatch.setenv("LOCAL_RANK", "abc")
    with pytest.raises(ArgumentError, match="^get_node_local_rank: LOCAL_RANK is 'abc'.*\nhint: "):
        dist.get_node_local_rank(1)
    monkeypatch.delenv("LOCAL_RANK")
    for wrong in ("x", [1]):
        with pytest.raises(ArgumentError, match="^get_node_local_rank: fallback_rank is .*\nhint: "):
            dist.get_node_local_rank(wrong)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_collectives_of_one_process(device, group, gpus):
    x = torch.tensor([1.0, 2.0], device=device)
    for op in set(dist.ReduceOp) - {dist.ReduceOp.PREMUL_SUM}:  # which needs a factor
        assert dist.all_reduce(x, op) is None
    dist.reduce(x, dst=0, op=dist.ReduceOp.MAX)
    dist.broadcast(x, 0)
    work = dist.broadcast(x, src=0, async_op=True)
    assert work.wait() and work.is_completed() and work.result() == [x] and x.tolist() == [1.0, 2.0]

    def new():
        return torch.zeros(2, device=device)

    results = [new() for _ in range(7)]
    dist.all_gather([results[0]], x)
    dist.all_gather_into_tensor(results[1], x)
    dist.gather(x, [results[2]], dst=0)
    dist.scatter(results[3], [x], src=0)
    dist.reduce_scatter(results[4], [x])
    dist.reduce_scatter_tensor(results[5], x)
    dist.all_to_all([results[6]], [x])
    dist.barrier()
    assert [each.tolist() for each in results] == [[1.0, 2.0]] * 7
    column = torch.zeros(2, 1, device=device)
    dist.all_to_all_single(column, x)
    assert column.tolist() == [[1.0], [2.0]]


def test_objects_are_copied(group):
    kept, found, gathered, scattered = {"loss": [1]}, [None], [None], [None]
    dist.all_gather_object(found, kept)
    dist.gather_object(kept, gathered)
    dist.scatter_object_list(scattered, [kept])
    dist.broadcast_object_list([kept])
    kept["loss"].append(2)
    assert found == gathered == scattered == [{"loss": [1]}]


def test_wrong_arguments_of_collectives(group):
    x = torch.ones(2)
    with pytest.raises(ArgumentTypeError, match=r"all_reduce: .*\[1\]"):
        dist.all_reduce([1])
    with pytest.raises(ArgumentTypeError, match="all_reduce: .*'sum'"):
        dist.all_reduce(x, "sum")
    with pytest.raises(ArgumentError, match="all_gather: .*tensor_list"):
        dist.all_gather([x, x], x)
    with pytest.raises(ShapeError, match=r"float32\[3\].*float32\[2\]"):
        dist.all_gather([torch.ones(3)], x)
    with pytest.raises(ValueRangeError, match="broadcast: src must be .*, got 1"):
        dist.broadcast(x, 1)
    with pytest.raises(ValueRangeError, match=r"new_group: .*\[0, 1\]"):
        dist.new_group([0, 1])
    with pytest.raises(ArgumentTypeError, match="^new_group: ranks must be a list, got 3\nhint: "):
        dist.new_group(3)
    with pytest.raises(ArgumentTypeError, match="^broadcast_object_list: object_list must be a list, got 3\nhint: "):
        dist.broadcast_object_list(3)
    with pytest.raises(ArgumentTypeError, match="group.*3"):
        dist.barrier(3)
    for function in (dist.send, dist.recv, dist.isend, dist.irecv):
        with pytest.raises(NotSupportedError, match=f"{function.__name__}: .*one process"):
            function(x, 0)


def test_one_process_compares_types_and_sizes_as_several_do(group):
    x, y = torch.ones(2), torch.zeros(2, dtype=torch.int64)
    calls = {
        "all_gather": lambda: dist.all_gather([y], x),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(y, x),
        "gather": lambda: dist.gather(x, [y]),
        "scatter": lambda: dist.scatter(y, [x]),
        "reduce_scatter": lambda: dist.reduce_scatter(y, [x]),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(y, x),
        "all_to_all": lambda: dist.all_to_all([y], [x]),
        "all_to_all_single": lambda: dist.all_to_all_single(y, x),
    }
    for name, call in calls.items():
        with pytest.raises(ShapeError, match=f"^{name}: .*int64\\[2\\].*float32\\[2\\].*\nhint: ") as caught:
            call()
        assert isinstance(caught.value, ArgumentError) and y.tolist() == [0, 0]


def test_split_sizes_are_checked(group):
    x, y = torch.ones(2), torch.zeros(2)
    for sizes in ([1], [1, 1], [-2], [3, -1]):
        expected = f"^all_to_all_single: input .*split sizes are {re.escape(str(sizes))}\nhint: "
        with pytest.raises(ShapeError, match=expected):
            dist.all_to_all_single(y, x, [2], sizes)
    for sizes in ([2.0], 2, "2"):
        with pytest.raises(ArgumentTypeError, match=f"^all_to_all_single: .* input .*{sizes!r}".replace("[", r"\[")):
            dist.all_to_all_single(y, x, None, sizes)
    with pytest.raises(ShapeError, match="^all_to_all_single: output is float32.* has no rows\nhint: "):
        dist.all_to_all_single(torch.tensor(0.0), torch.tensor(1.0))


def test_a_wait_refuses_wrong_timeouts(group):
    for seconds in (1, "1"):
        with pytest.raises(ArgumentTypeError, match=f"^Work.wait: timeout must be .*{seconds!r}\nhint: "):
            dist.all_reduce(torch.ones(1), async_op=True).wait(seconds)
    assert dist.barrier(async_op=True).result() == []


def test_timeouts_may_be_floats_of_seconds(group):
    assert dist.all_reduce(torch.ones(1), async_op=True).wait(1.0)
    dist.barrier(timeout=1.0)
    dist.monitored_barrier(timeout=1.0)
    dist.group.WORLD.set_timeout(2.5)
    assert dist.group.WORLD.timeout == timedelta(seconds=2.5)
    with pytest.raises(ArgumentTypeError, match="^new_group: timeout must be .*2.0\nhint: "):
        dist.new_group([0], timeout=2.0)


def test_a_work_has_no_future_of_its_outcome(group):
    with pytest.raises(NotSupportedError, match="^Work.get_future_result: .*\nhint: .*get_future"):
        dist.all_reduce(torch.ones(1), async_op=True).get_future_result()


def test_a_module_of_one_process(group, gpus):
    net = nn.Linear(3, 2)
    wrapped = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=25)
    x = torch.ones(4, 3)
    with wrapped.no_sync():
        assert wrapped.require_backward_grad_sync is False
        assert wrapped(x).equal(net(x)) and wrapped(input=x).equal(net(x))
    wrapped(x).sum().backward()
    assert wrapped.require_backward_grad_sync and net.bias.grad.tolist() == [4.0, 4.0]
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"] and wrapped.device == torch.device("cpu")
    with wrapped.join():
        wrapped.zero_grad()


def test_inputs_go_to_the_module_s_gpu(group, gpus):
    net = nn.Linear(3, 2).to("cuda:1")
    wrapped = nn.parallel.DistributedDataParallel(net, device_ids=[1], output_device=1)
    assert wrapped(torch.ones(4, 3)).device == torch.device("cuda:1")
    with pytest.raises(DeviceMismatchError, match=r"DistributedDataParallel: .*cuda:0.*cuda:1 \(weight\)"):
        nn.parallel.DistributedDataParallel(net, device_ids=[0])
    with pytest.raises(ArgumentError, match=r"DistributedDataParallel: device_ids.*\[0, 1\]"):
        nn.parallel.DistributedDataParallel(net, device_ids=[0, 1])
    with pytest.raises(ArgumentTypeError, match="^DistributedDataParallel: group must be .*, got 3\nhint: "):
        nn.parallel.DistributedDataParallel(net, process_group=3)


def test_modules_that_cannot_be_wrapped(group):
    with pytest.raises(AutogradError, match="DistributedDataParallel: .*ReLU"):
        nn.parallel.DistributedDataParallel(nn.ReLU())
    with pytest.raises(ArgumentTypeError, match="module must be a Module.*3"):
        nn.parallel.DistributedDataParallel(3)
    dist.destroy_process_group()
    with pytest.raises(RuntimeError, match="Default process group has not been initialized"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))


def test_a_sampler_takes_its_share_from_the_group(group):
    sampler = torch.utils.data.DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4] and (sampler.num_replicas, sampler.rank) == (1, 0)
    dist.destroy_process_group()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.utils.data.DistributedSampler(range(5))


def test_classes_of_several_processes_name_themselves():
    from flambeau.distributed import fsdp
    from flambeau.distributed.checkpoint import hf_storage

    for made in (fsdp.CPUOffload, fsdp.MixedPrecision, hf_storage.HuggingFaceStorageReader):
        with pytest.raises(NotSupportedError, match=f"^{made.__name__}: values distributed over processes"):
            made()
    assert fsdp.CPUOffload.__name__ == "CPUOffload" and not isinstance(nn.Linear(1, 1), fsdp.MixedPrecision)


def test_what_spreads_over_processes_is_refused():
    from flambeau.distributed import device_mesh, fsdp, tensor

    assert tensor.Shard(1) == tensor.Shard(1) != tensor.Shard(0) and len({tensor.Replicate(), tensor.Replicate()}) == 1
    assert repr([tensor.Shard(1), tensor.Partial()]) == "[Shard(dim=1), Partial(reduce_op='sum')]"
    for call in (
        lambda: tensor.distribute_tensor(torch.ones(1)),
        lambda: device_mesh.init_device_mesh("cpu", (1,)),
        lambda: fsdp.FullyShardedDataParallel(nn.Linear(1, 1)),
        tensor.DTensor,
    ):
        with pytest.raises(NotSupportedError, match=r"over processes are not supported\nhint: Distributed"):
            call()

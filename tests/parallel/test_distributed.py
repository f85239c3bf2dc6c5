"""DistributedDataParallel: the gradients of several ranks are those of one process with the whole batch."""

import copy
import gc
import math
import threading
import weakref

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau import nn, optim
from flambeau.distributed.algorithms import ddp_comm_hooks
from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks
from flambeau.distributed.algorithms.join import Join, Joinable, JoinHook
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    ModeError,
    NotSupportedError,
    RaceError,
    ShapeError,
)
from flambeau.parallel import process_group
from flambeau.parallel.reducer import assigned
from flambeau.testing import machine
from flambeau.utils.checkpoint import checkpoint
from tests.parallel.ranks import run

DDP = nn.parallel.DistributedDataParallel


SEEDING = threading.Lock()  # ranks are threads, and the generator is the process's


def network(seed=0):
    with SEEDING:
        torch.manual_seed(seed)
        layers = nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.LayerNorm(6), nn.Linear(6, 3)
    return nn.Sequential(*layers).double()


def batch(step, rows=8):
    generator = torch.Generator().manual_seed(40 + step)
    return torch.randn(rows, 5, generator=generator, dtype=torch.float64)


def part(x, rank, size):
    return x[rank * len(x) // size : (rank + 1) * len(x) // size]


def values(tensors):
    return [value for each in tensors for value in each.detach().cpu().reshape(-1).tolist()]


def alone(steps=4, rows=8):
    """The gradients and parameters of one process, per step."""
    net = network()
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    found = []
    for step in range(steps):
        optimizer.zero_grad()
        net(batch(step, rows)).square().mean().backward()
        found.append(values(each.grad for each in net.parameters()))
        optimizer.step()
    return found


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize(
    "options",
    [{}, {"gradient_as_bucket_view": True}, {"static_graph": True}, {"bucket_cap_mb": 0.0001}],
    ids=lambda options: next(iter(options), "plain"),
)
def test_gradients_are_those_of_the_whole_batch(options, device, monkeypatch):
    def train(rank, place):
        net = DDP(network(seed=rank).to(place), **options)
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        found = []
        for step in range(4):
            optimizer.zero_grad(set_to_none=step != 2)
            net(part(batch(step), rank, 2).to(place)).square().mean().backward()
            found.append(values(each.grad for each in net.parameters()))
            optimizer.step()
        return found

    with machine(devices=2, races="error"):
        (first, second), _ = run(train, 2, monkeypatch, device)
    assert first == second
    for step, expected in enumerate(alone()):
        assert first[step] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def ranks(train, monkeypatch, size=2, device="cuda", races="error"):
    """The results of train(rank, place) per rank, on fresh GPUs."""
    with machine(devices=size, races=races):
        return run(train, size, monkeypatch, device)


def gradients(net):
    return [None if each.grad is None else each.grad.tolist() for each in net.parameters()]


# buckets


def test_groups_are_closed_when_they_reach_the_cap():
    shapes = [(3, torch.float32), (5, torch.float32), (2, torch.float64), (1, torch.float32), (4, torch.float64)]
    parameters = [nn.Parameter(torch.ones(count, dtype=dtype)) for count, dtype in shapes]
    assert assigned(parameters, range(5), [math.inf]) == [[0, 1, 3], [2, 4]]
    assert assigned(parameters, range(5), [12, 24]) == [[0], [2], [1, 3], [4]]
    assert assigned(parameters, [4, 3, 2, 1, 0], [1]) == [[4], [3], [2], [1], [0]]
    assert assigned(parameters, [4, 3, 2, 1, 0], [1, 100]) == [[4], [3], [2], [1, 0]]


class Crossed(nn.Module):
    """Uses its second layer first."""

    def __init__(self):
        super().__init__()
        self.late = nn.Linear(4, 4)
        self.early = nn.Linear(4, 4)

    def forward(self, x):
        return self.late(self.early(x))


def test_buckets_get_the_order_of_the_first_gradients(monkeypatch):
    def train(rank, place):
        net = DDP(Crossed().to(place), bucket_cap_mb_list=[0.00001, 0.00008])
        orders = []
        for _ in range(3):
            net(torch.ones(2, 4, device=place)).sum().backward()
            orders.append([bucket.indexes for bucket in net.reducer.buckets])
        return orders

    (first, second), calls = ranks(train, monkeypatch)
    order = [index for bucket in first[1] for index in bucket]
    assert first == second and first[0] == [[0, 1, 2, 3]] and first[1] == first[2]
    assert set(order[:2]) == {0, 1} and set(order[2:]) == {2, 3}
    reductions = [count for name, count in calls if name == "all_reduce"]
    sizes = {0: 16, 1: 4, 2: 16, 3: 4}
    assert reductions == [40] + 2 * [sum(sizes[index] for index in bucket) for bucket in first[1]]


def test_a_reduction_starts_before_backward_ends(monkeypatch):
    def train(rank, place):
        net = DDP(nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)).to(place), bucket_cap_mb=0)
        seen = []
        net(torch.ones(2, 4, device=place)).sum().backward()
        inner = net.module[0](torch.ones(2, 4, device=place))
        inner.register_hook(lambda grad: seen.append([bucket.work is None for bucket in net.reducer.buckets]))
        net.module[0].register_forward_hook(lambda *args: inner)
        net(torch.ones(2, 4, device=place)).sum().backward()
        return seen

    found, _ = ranks(train, monkeypatch)
    assert found == [[[False, True]]] * 2


# gradients


@pytest.mark.parametrize("as_views", [False, True])
def test_gradients_are_accumulated_without_calls_inside_no_sync(as_views, monkeypatch):
    def train(rank, place):
        net = DDP(network().to(place), gradient_as_bucket_view=as_views)
        found = []
        for step in range(3):
            net.zero_grad()
            with net.no_sync():
                net(part(batch(2 * step), rank, 2).to(place)).square().mean().backward()
            net.require_backward_grad_sync = True
            net(part(batch(2 * step + 1), rank, 2).to(place)).square().mean().backward()
            found.append(values(each.grad for each in net.parameters()))
        return found

    (first, second), calls = ranks(train, monkeypatch)
    net = network()
    for step in range(3):
        net.zero_grad()
        for each in (2 * step, 2 * step + 1):
            net(batch(each)).square().mean().backward()
        assert first[step] == pytest.approx(values(each.grad for each in net.parameters()), rel=1e-12, abs=1e-15)
    assert first == second and [name for name, _ in calls].count("all_reduce") == 3


def test_gradients_are_parts_of_the_buckets(monkeypatch):
    def train(rank, place):
        net = DDP(network().to(place), gradient_as_bucket_view=True)
        pointers = []
        for step in range(3):
            net.zero_grad(set_to_none=step < 2)
            net(part(batch(step), rank, 2).to(place)).sum().backward()
            flats = [bucket.flat for bucket in net.reducer.buckets]
            inside = [
                any(flat.data_ptr() <= each.grad.data_ptr() < flat.data_ptr() + flat.nbytes for flat in flats)
                for each in net.parameters()
            ]
            pointers.append((all(inside), [each.grad.data_ptr() for each in net.parameters()]))
        return pointers

    found, _ = ranks(train, monkeypatch)
    for pointers in found:
        assert all(inside for inside, _ in pointers) and pointers[1] == pointers[2]


def test_gradients_keep_the_strides_of_channels_last_parameters(monkeypatch):
    def train(rank, place):
        net = DDP(nn.Conv2d(2, 3, 2).to(place, memory_format=torch.channels_last), gradient_as_bucket_view=rank == 5)
        net(torch.ones(1, 2, 4, 4, device=place)).sum().backward()
        return net.module.weight.grad.stride(), net.module.weight.grad.tolist()

    found, _ = ranks(train, monkeypatch)
    assert found == [((8, 1, 4, 2), [[[[9.0] * 2] * 2] * 2] * 3)] * 2


# unused parameters


class Branches(nn.Module):
    """Layers of which a call uses some."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(3)])

    def forward(self, x, used):
        return sum(self.layers[index](x) for index in used)


def test_unused_parameters_are_an_error_in_the_next_forward(monkeypatch):
    def train(rank, place):
        net = DDP(Branches().to(place))
        net(torch.ones(1, 1, device=place), [0]).sum().backward()
        with pytest.raises(AutogradError) as found:
            net(torch.ones(1, 1, device=place), [0])
        return str(found.value)

    texts, _ = ranks(train, monkeypatch)
    for rank, text in enumerate(texts):
        assert "DistributedDataParallel: Expected to have finished reduction in the prior iteration" in text
        assert f"2 of 3 parameters had no gradient in rank {rank}'s" in text
        assert "layers.1.weight, layers.2.weight" in text and "\nhint: pass find_unused_parameters=True" in text


@pytest.mark.parametrize("as_views", [False, True])
def test_parameters_may_be_unused_in_some_ranks_or_in_all(as_views, monkeypatch):
    def train(rank, place):
        net = DDP(Branches().to(place), find_unused_parameters=True, gradient_as_bucket_view=as_views)
        found = []
        for used in ([[0], [1]], [[2], [2]], [[0, 1], [1]]):
            net.zero_grad()
            net(torch.full((1, 1), rank + 1.0, device=place), used[rank]).sum().backward()
            found.append(gradients(net))
        return found

    (first, second), _ = ranks(train, monkeypatch)
    assert first == second
    assert first == [[[[0.5]], [[1.0]], None], [None, None, [[1.5]]], [[[0.5]], [[1.5]], None]]


def test_an_output_may_be_left_out_of_the_loss(monkeypatch):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = [nn.Linear(1, 1, bias=False) for _ in range(3)]

        def forward(self, x):
            return {"loss": self.a(x), "other": [self.b(x)]}

    def train(rank, place):
        net = DDP(Two().to(place), find_unused_parameters=True)
        for _ in range(2):
            net.zero_grad()
            net(torch.ones(1, 1, device=place))["loss"].sum().backward()
        return gradients(net)

    found, _ = ranks(train, monkeypatch)
    assert found == [[[[1.0]], None, None]] * 2


def test_a_search_that_finds_nothing_is_warned_about_once(monkeypatch):
    def train(rank, place):
        net = DDP(nn.Linear(1, 1), find_unused_parameters=True)
        with pytest.warns(UserWarning, match="find_unused_parameters=True was specified"):
            net(torch.ones(1, 1)).sum().backward()
        net(torch.ones(1, 1)).sum().backward()
        return gradients(net)

    found, _ = ranks(train, monkeypatch, size=1, device="cpu")
    assert found == [[[[2.0]], [2.0]]]


def test_a_static_graph_may_leave_parameters_out_and_use_some_twice(monkeypatch):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.unused = nn.Linear(2, 2, bias=False), nn.Linear(2, 2)

        def forward(self, x):
            for _ in range(2):
                x = checkpoint(self.layer, x, use_reentrant=True)
            return x

    def train(rank, place, static):
        torch.nn.init.ones_((net := Checkpointed().to(place)).layer.weight)
        net = DDP(net, static_graph=static)
        found = []
        for _ in range(3):
            net.zero_grad()
            net(torch.full((1, 2), rank + 1.0, device=place, requires_grad=True)).sum().backward()
            found.append(gradients(net))
        return found

    found, _ = ranks(lambda rank, place: train(rank, place, True), monkeypatch)
    assert found == [[[[[6.0, 6.0], [6.0, 6.0]], None, None]] * 3] * 2
    with pytest.raises(AutogradError, match="mark a variable ready only once: parameter layer.weight"):
        ranks(lambda rank, place: train(rank, place, False), monkeypatch, size=1)


# comm hooks


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_hooks_reduce_in_place_of_the_wrapper(device, monkeypatch):
    def train(rank, place, hook):
        net = DDP(network().float().to(place), bucket_cap_mb=0.0001)
        if hook is not None:
            net.register_comm_hook(None, hook)
        for step in range(2):
            net.zero_grad()
            net(part(batch(step), rank, 2).float().to(place)).square().mean().backward()
        return values(each.grad for each in net.parameters())

    expected = ranks(lambda rank, place: train(rank, place, None), monkeypatch, device=device)[0][0]
    for hook, error in [
        (default_hooks.allreduce_hook, 1e-6),
        (default_hooks.fp16_compress_hook, 2e-3),
        (default_hooks.bf16_compress_hook, 2e-2),
        (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3),
        (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 2e-2),
    ]:
        first, second = ranks(lambda rank, place: train(rank, place, hook), monkeypatch, device=device)[0]
        assert first == second and first == pytest.approx(expected, rel=error, abs=error / 10)
        assert (first == expected) is (hook is default_hooks.allreduce_hook)


def test_hooks_are_registered_by_their_names(monkeypatch):
    def train(rank, place, register):
        net = DDP(nn.Linear(2, 1).to(place))
        register(net)
        net(torch.full((1, 2), 1.0001 + rank, device=place)).sum().backward()
        return net.module.weight.grad.tolist()

    assert dist.algorithms.Join is Join  # another path of PyTorch's
    builtin, known = dist.BuiltinCommHookType, ddp_comm_hooks.DDPCommHookType
    for register, expected in (
        (lambda net: net._register_builtin_comm_hook(builtin.ALLREDUCE), 1.5001),
        (lambda net: net._register_builtin_comm_hook(builtin.FP16_COMPRESS), 1.5),
        (lambda net: ddp_comm_hooks.register_ddp_comm_hook(known.ALLREDUCE, net), 1.5001),
        (lambda net: ddp_comm_hooks.register_ddp_comm_hook(known.FP16_COMPRESS, net), 1.5),
        (lambda net: ddp_comm_hooks.register_ddp_comm_hook(known.BF16_COMPRESS, net, state=None), 1.5),
    ):
        for grad in ranks(lambda rank, place, register=register: train(rank, place, register), monkeypatch)[0]:
            assert grad == [[pytest.approx(expected, abs=1e-6)] * 2]


def test_parameters_to_ignore_are_not_reduced(monkeypatch):
    def train(rank, place):
        module = nn.Linear(2, 1).to(place)
        DDP._set_params_and_buffers_to_ignore_for_model(module, ["bias"])
        net = DDP(module)
        (net(torch.ones(1, 2, device=place)) * (rank + 1.0)).sum().backward()
        return module.weight.grad.tolist(), module.bias.grad.tolist()

    assert ranks(train, monkeypatch)[0] == [([[1.5, 1.5]], [rank + 1.0]) for rank in range(2)]


def test_a_hook_sees_the_bucket_and_may_return_another_tensor(monkeypatch):
    seen = []

    def hook(state, bucket):
        assert isinstance(bucket, dist.GradBucket) and bucket.buffer().dtype is torch.float64
        views = [each.shape == own.shape for each, own in zip(bucket.gradients(), bucket.parameters())]
        seen.append((state, bucket.index(), bucket.is_last(), bucket.buffer().numel(), all(views)))
        future = torch.futures.Future()
        future.set_result(bucket.buffer() * 0 + 3)
        return future

    def train(rank, place, as_views):
        net = DDP(network().to(place), gradient_as_bucket_view=as_views)
        net.register_comm_hook("state", hook)
        net(batch(0).to(place)).sum().backward()
        return set(values(each.grad for each in net.parameters()))

    for as_views in (False, True):
        assert ranks(lambda rank, place: train(rank, place, as_views), monkeypatch, size=1)[0] == [{3.0}]
    assert seen == [("state", 0, True, 123, True)] * 2


def test_bad_hooks(monkeypatch):
    def train(rank, place):
        net = DDP(nn.Linear(1, 1))
        with pytest.raises(ArgumentTypeError, match="register_comm_hook: the hook is not callable: 3"):
            net.register_comm_hook(None, 3)
        with pytest.raises(ArgumentError, match="register_comm_hook: .* does not take two arguments\nhint: "):
            net.register_comm_hook(None, lambda bucket: wrong(bucket))
        with pytest.raises(ArgumentTypeError, match="_register_builtin.*: .* BuiltinCommHookType, got 1\nhint"):
            net._register_builtin_comm_hook(1)
        with pytest.raises(ArgumentTypeError, match="register_ddp_comm_hook: .* DDPCommHookType, got None\nhint: "):
            ddp_comm_hooks.register_ddp_comm_hook(None, net)
        net.register_comm_hook(None, lambda state, bucket: wrong(bucket))
        with pytest.raises(ModeError, match="register_comm_hook can only be called once"):
            net.register_comm_hook(None, default_hooks.allreduce_hook)
        with pytest.raises(ShapeError, match="register_comm_hook: .*1 elements for a bucket of 2"):
            net(torch.ones(1, 1)).sum().backward()

    def wrong(bucket):
        future = torch.futures.Future()
        future.set_result(bucket.buffer()[:1])
        return future

    ranks(train, monkeypatch, size=1, device="cpu")


# state


def test_rank_0_gives_its_parameters_and_buffers(monkeypatch):
    def train(rank, place):
        net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(place)
        with torch.no_grad():
            for each in net.parameters():
                each.fill_(rank + 1)
        net[1].running_mean.fill_(rank + 10)
        net[1].num_batches_tracked.fill_(rank + 100)
        net = DDP(net)
        return values(net.parameters()), values(net.buffers())

    found, _ = ranks(train, monkeypatch)
    assert found == [([1.0] * 10, [10.0, 10.0, 1.0, 1.0, 100])] * 2


@pytest.mark.parametrize(("syncs", "expected"), [(True, [0.5] * 2), (False, [0.5, 1.5])])
def test_buffers_are_rank_0_s_at_every_forward(syncs, expected, monkeypatch):
    def train(rank, place):
        net = DDP(nn.BatchNorm1d(1, momentum=0.5).to(place), forward_sync_buffers=syncs)
        x = torch.full((2, 1), 1.0 + 2 * rank, device=place, requires_grad=True)
        net(x).sum().backward()
        with torch.no_grad():
            kept = net.module.running_mean.item()
        net.eval()
        net(x)
        return kept, net.module.running_mean.item()

    found, _ = ranks(train, monkeypatch)
    assert [each[0] for each in found] == [0.5, 1.5] and [each[1] for each in found] == expected


def test_forwards_before_one_backward_copy_buffers_unseen_by_autograd(monkeypatch):
    def train(rank, place):
        net = DDP(nn.BatchNorm1d(2).to(place).eval())
        x = torch.ones(2, 2, device=place)
        (net(x) + net(x)).sum().backward()
        return gradients(net)

    found, _ = ranks(train, monkeypatch)
    assert found[0] == found[1] and found[0][1] == [4.0, 4.0]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda rank: nn.Linear(2, 2, bias=rank == 0), "numbers of parameters differ: rank 0 has 2, rank 1 has 1"),
        (lambda rank: nn.Linear(2, 2 + rank), r"parameter 0 \(weight here\) .*shape: \[2, 2\] in rank 0, \[3, 2\]"),
    ],
)
def test_different_modules_are_an_error_in_every_rank(make, text, monkeypatch):
    def train(rank, place):
        with pytest.raises(ShapeError, match=text):
            DDP(make(rank).to(place))
        return True

    assert ranks(train, monkeypatch)[0] == [True, True]


def test_ignored_parameters_are_the_rank_s_own(monkeypatch):
    def train(rank, place):
        net = nn.Linear(1, 1).to(place)
        with torch.no_grad():
            net.weight.fill_(rank)
            net.bias.fill_(rank)
        net._ddp_params_and_buffers_to_ignore = ["bias"]
        net = DDP(net)
        net(torch.full((1, 1), rank + 1.0, device=place)).sum().mul(rank + 1).backward()
        return values(net.parameters()), gradients(net)

    found, _ = ranks(train, monkeypatch)
    assert found == [([0.0, 0.0], [[[2.5]], [1.0]]), ([0.0, 1.0], [[[2.5]], [2.0]])]


def test_a_copy_reduces_too(monkeypatch):
    def train(rank, place):
        net = copy.deepcopy(DDP(nn.Linear(1, 1)))
        net(torch.ones(1, 1)).sum().backward()
        return gradients(net), net.reducer.parameters[0] is net.module.weight

    assert ranks(train, monkeypatch, size=1, device="cpu")[0] == [([[[1.0]], [1.0]], True)]


def test_what_is_not_supported_is_refused(monkeypatch):
    def train(rank, place):
        for option in ("device_mesh", "mixed_precision", "delay_all_reduce_named_params"):
            with pytest.raises(NotSupportedError, match=f"DistributedDataParallel: {option}=3 .*\nhint: .*{option}"):
                DDP(nn.Linear(1, 1), **{option: 3})
        with pytest.raises(ArgumentTypeError, match="^Distributed.*: device_ids must be a list, got 3\nhint: "):
            DDP(nn.Linear(2, 2), device_ids=3)
        with pytest.raises(ArgumentError, match="device_ids=.*output_device=None and parameters on cpu"):
            DDP(nn.Linear(1, 1), device_ids=[0])
        plain = DDP(nn.Linear(1, 1))
        assert (plain.device_ids, plain.output_device, plain.device_type) == (None, None, "cpu")
        assert (plain.bucket_bytes_cap, plain.is_multi_device_module) == (25 << 20, False)
        with pytest.raises(ArgumentTypeError, match="bucket_cap_mb must be a number of MiB, got '25'"):
            DDP(nn.Linear(1, 1), bucket_cap_mb="25")
        with pytest.raises(ModeError, match="uninitialized parameters.*LazyLinear"):
            DDP(nn.LazyLinear(1))
        with pytest.warns(FutureWarning, match="broadcast_buffers"):
            assert DDP(nn.Linear(1, 1), broadcast_buffers=False).forward_sync_buffers is False

    ranks(train, monkeypatch, size=1, device="cpu")


# batch norm over all ranks


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("sizes", [(4, 4), (6, 2), (8, 0)])
def test_batch_norm_over_all_ranks_is_that_of_the_whole_batch(sizes, device, monkeypatch):
    def network():
        norm = nn.BatchNorm2d(3, momentum=0.3)
        return nn.Sequential(nn.Conv2d(2, 3, 2), norm, nn.Tanh(), nn.Conv2d(3, 1, 2)).double()

    with SEEDING:
        torch.manual_seed(5)
        whole, x = network(), torch.randn(8, 2, 5, 5, dtype=torch.float64)
    (whole(x).square().sum() / 2).backward()

    def train(rank, place):
        net = nn.SyncBatchNorm.convert_sync_batchnorm(network())
        assert isinstance(net[1], nn.SyncBatchNorm)
        net.load_state_dict(before)
        net = DDP(net.to(place))
        net(x.split(sizes)[rank].to(place)).square().sum().backward()
        net.eval()
        return values(each.grad for each in net.parameters()), values(net.buffers()), values([net(x.to(place))])

    before = {**whole.state_dict(), "1.running_mean": torch.zeros(3), "1.running_var": torch.ones(3)}
    before["1.num_batches_tracked"] = torch.tensor(0)
    first, second = ranks(train, monkeypatch, device=device)[0]
    expected = values(each.grad for each in whole.parameters()), values(whole.buffers()), values([whole.eval()(x)])
    assert first == second
    for found, wanted in zip(first, expected):
        assert found == pytest.approx(wanted, rel=1e-10, abs=1e-12)


def test_batch_norm_over_all_ranks_without_weights_in_half_precision(monkeypatch):
    def train(rank, place):
        layer = nn.SyncBatchNorm(1, affine=False, momentum=None).to(place)
        x = torch.tensor([[0.0], [2.0]], device=place).add(4 * rank).half().requires_grad_()
        y = layer(x)
        y[0].sum().backward()
        return y.dtype, y.tolist(), x.grad.dtype, layer.running_mean.item(), layer.running_var.item()

    found, _ = ranks(train, monkeypatch)
    low, high = [1.3418, 0.4473]
    assert found[0][1] == [[pytest.approx(-low, abs=1e-3)], [pytest.approx(-high, abs=1e-3)]]
    assert found[1][1] == [[pytest.approx(high, abs=1e-3)], [pytest.approx(low, abs=1e-3)]]
    assert {each[0] for each in found} == {each[2] for each in found} == {torch.float16}
    assert found[0][3:] == found[1][3:] == (3.0, pytest.approx(20 / 3))


# uneven inputs


@pytest.mark.parametrize("by_all", [True, False])
@pytest.mark.parametrize("find", [True, False])
def test_ranks_may_have_different_numbers_of_inputs(by_all, find, monkeypatch):
    def train(rank, place):
        used = [0, 1] if find else [0, 1, 2]
        net = DDP(Branches().to(place), find_unused_parameters=find, bucket_cap_mb=0)
        found = []
        with net.join(divide_by_initial_world_size=by_all):
            for step in range(2 + 2 * rank):
                net.zero_grad()
                net(torch.full((1, 1), step + 1.0, device=place), used).sum().backward()
                found.append(net.module.layers[0].weight.grad.item())
                with torch.no_grad():
                    net.module.layers[1].weight.fill_(10 * rank + step)
        return found, net.module.layers[1].weight.item(), net.reducer.join_count

    (first, second), _ = ranks(train, monkeypatch)
    assert first == ([1.0, 2.0], 13.0, None)
    assert second == ([1.0, 2.0, *([1.5, 2.0] if by_all else [3.0, 4.0])], 13.0, None)


def test_buffers_come_from_a_rank_that_has_inputs(monkeypatch):
    def train(rank, place):
        net = DDP(nn.BatchNorm1d(1, momentum=1.0).to(place))
        with net.join():
            for step in range(1 + rank):
                net(torch.full((2, 1), step + 1.0, device=place)).sum().backward()
        return net.module.running_mean.item()

    assert ranks(train, monkeypatch)[0] == [2.0, 2.0]


def test_all_ranks_stop_where_it_is_asked_for(monkeypatch):
    def train(rank, place):
        net = DDP(nn.Linear(1, 1).to(place))
        with pytest.raises(ModeError) as found, net.join(throw_on_early_termination=True):
            for _ in range(1 + rank):
                net(torch.ones(1, 1, device=place)).sum().backward()
        return str(found.value).splitlines()[0]

    found, _ = ranks(train, monkeypatch)
    assert found == ["Join: Rank 0 exhausted all inputs", "Join: Detected at least one rank that exhausted inputs"]


def test_joins_without_need(monkeypatch):
    def train(rank, place):
        net = DDP(nn.Linear(1, 1).to(place))
        with net.join(enable=False):
            net(torch.ones(1, 1, device=place)).sum().backward()
        with pytest.raises(KeyError), net.join():
            raise KeyError
        with pytest.raises(ArgumentError, match=r"Join: .*at least one joinable, got \[\]"):
            Join([])
        return net._join_config.enable

    found, calls = ranks(train, monkeypatch)
    assert found == [False, False] and [name for name, _ in calls].count("all_reduce") == 1


class Counter(Joinable):
    """Counts the inputs of all ranks, the ones that have none left included."""

    def __init__(self, group, device):
        self.group, self.device, self.total = group, device, torch.zeros((), device=device)

    def count(self, number=1.0):
        if number:
            Join.notify_join_context(self)
        x = torch.full((), number, device=self.device)
        process_group.all_reduce(x, group=self.group)
        self.total += x

    def join_hook(self, **kwargs):
        assert kwargs == {"weight": 3}
        return Shadow(self)

    join_device = property(lambda self: self.device)
    join_process_group = property(lambda self: self.group)


class Shadow(JoinHook):
    def __init__(self, counter):
        self.counter = counter

    def main_hook(self):
        self.counter.count(0.0)

    def post_hook(self, is_last_joiner):
        self.counter.was_last = is_last_joiner


def test_other_classes_may_join_with_the_wrapper(monkeypatch):
    def train(rank, place):
        net, counter = DDP(nn.Linear(1, 1).to(place)), Counter(dist.group.WORLD, place)
        with Join([counter, net], weight=3):
            for _ in range(3 - rank):
                counter.count()
                net(torch.ones(1, 1, device=place)).sum().backward()
        return counter.total.item(), counter.was_last, net.module.bias.grad.item()

    found, _ = ranks(train, monkeypatch)
    assert found == [(5.0, True, 1.5), (5.0, False, 2.0)]  # (1 + 1 + 1) / 2: what is in `grad` is reduced too


# order


def test_a_missing_wait_is_a_race(monkeypatch):
    def train(rank, place):
        net = DDP(nn.Linear(4, 4).to(place))
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(2, 4, device=place)).sum().backward()
        optimizer.step()
        torch.cuda.synchronize()

    assert ranks(train, monkeypatch)[1]
    monkeypatch.setattr("tests.parallel.ranks.Work.wait", lambda self: True)
    with pytest.raises(RaceError):
        ranks(train, monkeypatch)


def test_forward_and_backward_may_run_on_side_streams(monkeypatch):
    def train(rank, place):
        net = DDP(network().to(place), bucket_cap_mb=0.0001)
        side, other = torch.cuda.Stream(place), torch.cuda.Stream(place)
        found = []
        for step in range(4):
            stream = (None, side, other, side)[step]
            with torch.cuda.stream(stream):
                net.zero_grad()
                net(part(batch(step), rank, 2).to(place)).square().mean().backward()
                found.append(values(each.grad for each in net.parameters()))
            torch.cuda.synchronize(place)
        return found

    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    try:
        first, second = ranks(train, monkeypatch)[0]
    finally:
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    net = network()
    for step in range(4):
        net.zero_grad()
        net(batch(step)).square().mean().backward()
        assert first[step] == second[step] == pytest.approx(values(each.grad for each in net.parameters()), rel=1e-12)


def test_a_module_may_be_on_several_gpus(monkeypatch):
    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            layers = network()
            self.front, self.back = layers[:2].to("cuda:0"), layers[2:].to("cuda:1")

        def forward(self, x):
            return self.back(self.front(x.to("cuda:0")).to("cuda:1"))

    def train(rank, place):
        net = DDP(Split(), gradient_as_bucket_view=True)
        found = []
        for step in range(2):
            net.zero_grad()
            net(batch(step)).square().mean().backward()
            found.append(values(each.grad for each in net.parameters()))
        return found, [bucket.flat.device.index for bucket in net.reducer.buckets]

    with machine(devices=2, races="error"):
        ((found, places),) = run(train, 1, monkeypatch)[0]
    net = network()
    for step in range(2):
        net.zero_grad()
        net(batch(step)).square().mean().backward()
        assert found[step] == pytest.approx(values(each.grad for each in net.parameters()), rel=1e-12)
    assert sorted(places) == [0, 1]


def test_the_reducer_leaves_no_cycle():
    gc.collect()
    gc.disable()
    try:
        dist.init_process_group("gloo", rank=0, world_size=1)
        net = DDP(nn.Linear(2, 2))
        net(torch.ones(1, 2)).sum().backward()
        gone = weakref.ref(net.reducer)
        module = net.module
        del net
        assert gone() is None
        module(torch.ones(1, 2)).sum().backward()
        assert module.bias.grad.tolist() == [2.0, 2.0]
    finally:
        gc.enable()
        dist.destroy_process_group()

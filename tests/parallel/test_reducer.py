"""The reducer of DistributedDataParallel: its buckets, their order, and when reductions start."""

import gc
import math
import weakref

import flambeau as torch
from flambeau import distributed as dist
from flambeau import nn
from flambeau.parallel.reducer import assigned
from tests.parallel.ddp import DDP, batch, network, part, ranks


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

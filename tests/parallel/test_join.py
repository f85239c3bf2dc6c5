"""Join: ranks with different numbers of inputs."""

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau import nn
from flambeau.distributed.algorithms.join import Join, Joinable, JoinHook
from flambeau.errors import (
    ArgumentError,
    ModeError,
)
from flambeau.parallel import process_group
from tests.parallel.ddp import DDP, Branches, ranks


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

"""DistributedDataParallel: the gradients of several ranks are those of one process with the whole batch."""

import copy

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    ModeError,
    NotSupportedError,
    RaceError,
    ShapeError,
)
from flambeau.testing import machine
from flambeau.utils.checkpoint import checkpoint
from tests.parallel.ddp import DDP, Branches, batch, gradients, network, part, ranks, values
from tests.parallel.ranks import run


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


# unused parameters


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


def test_parameters_to_ignore_are_not_reduced(monkeypatch):
    def train(rank, place):
        module = nn.Linear(2, 1).to(place)
        DDP._set_params_and_buffers_to_ignore_for_model(module, ["bias"])
        net = DDP(module)
        (net(torch.ones(1, 2, device=place)) * (rank + 1.0)).sum().backward()
        return module.weight.grad.tolist(), module.bias.grad.tolist()

    assert ranks(train, monkeypatch)[0] == [([[1.5, 1.5]], [rank + 1.0]) for rank in range(2)]


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

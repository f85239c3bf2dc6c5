"""Communication hooks: what they see of a bucket, what they return, and wrong ones."""

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau import nn
from flambeau.distributed.algorithms import ddp_comm_hooks
from flambeau.distributed.algorithms.ddp_comm_hooks import default_hooks
from flambeau.distributed.algorithms.join import Join
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    ModeError,
    ShapeError,
)
from tests.parallel.ddp import DDP, batch, network, part, ranks, values


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

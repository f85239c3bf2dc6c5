"""Streams of backward: each node runs on that of its forward call, and gradients that change streams are ordered."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.autograd import graph


@pytest.mark.usefixtures("gpus")
def test_each_node_runs_on_the_stream_of_its_forward():
    seen = []

    class Spy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(torch.cuda.current_stream())
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.cuda.current_stream())
            return grad * 1

    s = torch.cuda.Stream()
    x = torch.ones(4, device="cuda", requires_grad=True)
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        y = Spy.apply(x)
    torch.cuda.current_stream().wait_stream(s)
    y.sum().backward()
    assert seen == [s, s] and torch.cuda.current_stream() == torch.cuda.default_stream()
    assert x.grad.tolist() == [1.0] * 4


def test_the_caller_s_streams_are_current_again_after_nodes_of_others(gpus):
    side, default = torch.cuda.Stream(), torch.cuda.current_stream()
    seen = []

    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, fails):
            ctx.fails = fails
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.cuda.current_stream())
            if ctx.fails:
                raise ValueError("planted")
            return grad, None

    def run(fails):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda grad: seen.append(torch.cuda.current_stream()))
        with torch.cuda.stream(side):
            z = y.cuda()
            loss = Noted.apply(Noted.apply(z, fails), False).sum() + z.sum()
        default.wait_stream(side)
        loss.backward()
        return x.grad.tolist()

    assert run(False) == [4.0, 4.0]
    assert seen == [side, side, default] and torch.cuda.current_stream() == default
    with pytest.raises(ValueError, match="planted"):
        run(True)
    assert torch.cuda.current_stream() == default and torch.cuda.current_device() == 0


@pytest.mark.usefixtures("gpus")
@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream")
def test_a_gradient_that_changes_streams_is_ordered():
    x = torch.full((1000,), 2.0, device="cuda", requires_grad=True)
    streams = [torch.cuda.Stream() for _ in range(3)]
    parts = []
    for s in streams:
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            parts.append((x * x).sum())
    for s in streams:
        torch.cuda.current_stream().wait_stream(s)
    (parts[0] + parts[1] + parts[2]).backward()
    assert np.array_equal(x.grad.cpu().numpy(), np.full(1000, 12.0, np.float32))


@pytest.mark.devices(1)
def test_a_leaf_belongs_to_the_stream_of_its_first_use_whatever_the_hooks(gpus, recwarn):
    side = torch.cuda.Stream()
    x = torch.ones(3, device="cuda", requires_grad=True)
    x.register_hook(lambda grad: seen.append(torch.cuda.current_stream()))
    graph.register_multi_grad_hook([x], lambda grads: None)
    seen = []
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = (x * 2).sum()
    y.backward()
    assert seen == [side] and x.grad.tolist() == [2.0] * 3 and not recwarn.list

"""1.5 Backward: on which streams it runs, and how it is ordered with what surrounds it."""

import pytest


@pytest.fixture
def noted(torch):
    """A function of the user's own that doubles; the streams that were current in its backward."""
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.cuda.current_stream())
            return grad * 2

    return Double.apply, seen


@pytest.fixture
def leaf(torch):
    x = torch.ones(1000, device="cuda", requires_grad=True)
    torch.cuda.synchronize()
    return x


@pytest.mark.rule("1.5.1", since="1.5")
def test_each_node_runs_on_the_stream_of_its_forward(torch, noted, leaf):
    double, seen = noted
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(s):
        y = double(leaf)
    t.wait_stream(s)
    with torch.cuda.stream(t):
        z = double(y).sum()
    torch.cuda.current_stream().wait_stream(t)
    z.backward()
    assert seen == [t, s] and torch.cuda.current_stream() == torch.cuda.default_stream()
    assert leaf.grad.tolist() == [4.0] * 1000


@pytest.mark.rule("1.5.1", since="1.5")
def test_hooks_see_the_stream_of_the_forward(torch, noted, leaf):
    s, seen = torch.cuda.Stream(), []
    with torch.cuda.stream(s):
        y = leaf * 3
        y.register_hook(lambda grad: seen.append(torch.cuda.current_stream()))
        z = y.sum()
    torch.cuda.current_stream().wait_stream(s)
    z.backward()
    assert seen == [s]


@pytest.mark.rule("1.5.1", since="1.5")
@pytest.mark.devices(2)
def test_each_node_runs_on_the_device_of_its_forward(torch):
    seen = []

    class Note(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.append((torch.cuda.current_device(), grad.device.index))
            return grad

    x = torch.ones(4, device="cuda:1", requires_grad=True)
    Note.apply(x).sum().backward()
    assert seen == [(1, 1)] and torch.cuda.current_device() == 0


@pytest.mark.rule("1.5.2", since="1.10")
def test_the_gradients_may_be_used_on_the_stream_of_the_call(torch, busy, leaf):
    s = torch.cuda.Stream()

    def hold(grad):
        busy(s)

    with torch.cuda.stream(s):
        y = (leaf * 3).sum()
        y.register_hook(hold)
    torch.cuda.current_stream().wait_stream(s)
    y.backward()
    assert (leaf.grad + 1).tolist() == [4.0] * 1000


@pytest.mark.rule("1.5.2", since="1.5")
def test_forward_backward_and_use_on_one_side_stream_need_nothing_else(torch, busy, leaf):
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        busy(s)
        y = (leaf * 3).sum()
        y.backward()
        used = leaf.grad * 2
        assert used.tolist() == [6.0] * 1000


@pytest.mark.rule("1.5.2", since="1.10")
def test_on_another_stream_the_program_waits_on_both_sides(torch, busy, leaf):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    y = leaf * 3
    with torch.cuda.stream(s):
        busy(s)
        grad = torch.full((1000,), 5.0, device="cuda")
    current = torch.cuda.current_stream()
    current.wait_stream(s)
    grad.record_stream(current)
    y.backward(grad)
    t.wait_stream(current)
    with torch.cuda.stream(t):
        assert (leaf.grad + 0).tolist() == [15.0] * 1000


@pytest.mark.rule("1.5.2", since="1.10")
def test_grad_is_ordered_like_backward(torch, busy, leaf):
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        busy(s)
        y = (leaf * leaf).sum()
    torch.cuda.current_stream().wait_stream(s)
    (found,) = torch.autograd.grad(y, leaf)
    assert found.tolist() == [2.0] * 1000


@pytest.mark.rule("1.5.2", since="1.10")
@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream")
def test_a_leaf_of_two_streams_gets_both_gradients(torch, busy, leaf):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    parts = []
    for stream, factor in ((s, 2.0), (t, 3.0)):
        with torch.cuda.stream(stream):
            busy(stream)
            parts.append((leaf * factor).sum())
    current = torch.cuda.current_stream()
    current.wait_stream(s)
    current.wait_stream(t)
    (parts[0] + parts[1]).backward()
    assert leaf.grad.tolist() == [5.0] * 1000


@pytest.mark.rule("1.5.3", since="1.5")
@pytest.mark.devices(2)
def test_a_copy_between_devices_is_ordered_backward_too(torch, busy):
    x = torch.ones(1000, device="cuda:0", requires_grad=True)
    torch.cuda.synchronize(0)
    s, t = torch.cuda.Stream(0), torch.cuda.Stream(1)
    with torch.cuda.stream(t), torch.cuda.stream(s):
        busy(s)
        y = x * 2
        z = y.to("cuda:1") * 3
        loss = z.sum()
        busy(t)
        loss.backward()
        assert x.grad.device.index == 0 and (x.grad + 1).tolist() == [7.0] * 1000


ACROSS = """
import warnings
x = torch.ones(4, device="cuda", requires_grad=True)
s = torch.cuda.Stream()
kept = x * 2

def across():
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        loss = (x * 3).sum()
    torch.cuda.current_stream().wait_stream(s)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loss.backward()
    return [str(each.message).partition("'")[0] for each in said]
"""


@pytest.mark.rule("1.5.4", since="2.10")
def test_a_gradient_from_another_stream_than_its_leafs_is_a_warning_that_can_be_silenced(program):
    found = program(
        ACROSS
        + """
torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
answer(across())
torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
answer(across())
del kept
answer(across())
answer(x.grad.tolist())
"""
    )
    assert found == [[], ["The AccumulateGrad node"], [], [9.0] * 4]


STALE = """
x = torch.ones(4, device="cuda", requires_grad=True)
kept = x * 2
graph = torch.cuda.CUDAGraph()
torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)

def capture():
    with torch.cuda.graph(graph):
        (x * 3).sum().backward()
"""


@pytest.mark.rule("1.5.5", since="2.13")
def test_a_node_of_the_default_stream_is_an_error_in_a_capture(program):
    assert program(STALE + "answer(attempt(capture).split(':')[0])\nos._exit(0)") == ["RuntimeError"]


@pytest.mark.rule("1.5.5", since="2.13")
def test_such_a_node_may_be_moved_to_the_capturing_stream(program):
    found = program(
        STALE
        + """
torch.autograd.graph.set_override_stale_capture_stream(True)
capture()
graph.replay()
answer(x.grad.tolist())
"""
    )
    assert found == [[3.0] * 4]

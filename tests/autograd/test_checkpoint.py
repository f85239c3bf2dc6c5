"""Checkpointed functions: values, recomputation, random numbers, memory and errors."""

import contextlib
import gc

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError
from flambeau.nn import functional as F
from flambeau.testing import machine
from flambeau.utils.checkpoint import (
    CheckpointError,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    get_device_states,
    set_checkpoint_early_stop,
    set_device_states,
)


def leaf(*values):
    return torch.tensor(values or [0.5, 1.0, 1.5], requires_grad=True)


class Counted:
    def __init__(self):
        self.modes, self.steps = [], 0

    def __call__(self, x, scale=2.0):
        self.modes.append(torch.is_grad_enabled())
        y = (x * scale).exp()
        self.steps += 1
        y = y.sin()
        self.steps += 1
        return y * 2


def plain(x, scale=2.0):
    (found,) = torch.autograd.grad(Counted()(x, scale).sum(), x)
    return found


@pytest.mark.parametrize("reentrant", [True, False])
def test_the_gradient_is_that_of_the_function_and_it_runs_twice(reentrant):
    run, x = Counted(), leaf()
    y = checkpoint(run, x, use_reentrant=reentrant)
    assert y.grad_fn.name() == ("CheckpointFunctionBackward" if reentrant else "MulBackward0")
    y.sum().backward()
    assert torch.allclose(x.grad, plain(leaf())) and run.modes == [not reentrant, True]
    with torch.no_grad():
        assert not checkpoint(run, x, use_reentrant=reentrant).requires_grad
    assert len(run.modes) == 3


@pytest.mark.parametrize("reentrant", [True, False])
def test_each_pass_through_a_retained_graph_runs_it_again(reentrant):
    run, x = Counted(), leaf()
    y = checkpoint(run, x, use_reentrant=reentrant).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert torch.allclose(x.grad, plain(leaf()) * 2) and len(run.modes) == 3
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize("reentrant", [True, False])
def test_random_numbers_are_the_same_again_and_others_go_on(reentrant):
    def noisy(x):
        return F.dropout(x, 0.5) * x

    x = leaf(*map(float, range(1, 65)))
    torch.manual_seed(3)
    y = checkpoint(noisy, x, use_reentrant=reentrant)
    drawn = torch.rand(1).item()
    y.sum().backward()
    later = torch.rand(1).item()
    torch.manual_seed(3)
    other = leaf(*map(float, range(1, 65)))
    expected = noisy(other)
    assert torch.equal(y, expected) and (drawn, later) == (torch.rand(1).item(), torch.rand(1).item())
    expected.sum().backward()
    assert torch.equal(x.grad, other.grad)
    z = checkpoint(noisy, leaf(*map(float, range(1, 65))), use_reentrant=reentrant, preserve_rng_state=False)
    z.sum().backward()


def test_without_reentrance_every_way_into_the_engine_and_every_argument_works():
    run, x = Counted(), leaf()
    assert torch.allclose(torch.autograd.grad(checkpoint(run, x, use_reentrant=False).sum(), x)[0], plain(leaf()))
    y = checkpoint(run, x, use_reentrant=False, scale=3.0).sum()
    y.backward(inputs=[x])
    assert torch.allclose(x.grad, plain(leaf(), 3.0))
    w = leaf()
    found = checkpoint(lambda both: both["x"] * both["w"] * w, {"x": torch.ones(3), "w": w}, use_reentrant=False)
    found.sum().backward()
    assert torch.allclose(w.grad, 2 * w)
    pair = checkpoint(lambda x: (x.exp(), 5), x, use_reentrant=False)
    assert pair[0].requires_grad and pair[1] == 5


def test_second_derivatives():
    x = leaf()
    found = []
    for y in (checkpoint(Counted(), x, use_reentrant=False), Counted()(x)):
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.sum(), x)[0])
    assert torch.allclose(*found)


def test_recomputation_ends_with_the_last_value_that_is_needed():
    for early, steps in ((True, 3), (False, 4)):
        run = Counted()
        with set_checkpoint_early_stop(early):
            y = checkpoint(run, leaf(), use_reentrant=False)
        y.sum().backward()
        assert run.steps == steps
    run = Counted()
    checkpoint(run, leaf(), use_reentrant=False, early_stop=False).sum().backward()
    assert run.steps == 4


@pytest.mark.parametrize("inner", [True, False])
def test_checkpoints_nest(inner):
    run, x = Counted(), leaf()
    y = checkpoint(lambda x: checkpoint(run, x, use_reentrant=inner).sin(), x, use_reentrant=inner)
    y.sum().backward()
    other = leaf()
    Counted()(other).sin().sum().backward()
    assert torch.allclose(x.grad, other.grad) and len(run.modes) == 3


def test_contexts_are_around_the_call_and_around_the_recomputation():
    seen = []

    @contextlib.contextmanager
    def noting(name):
        seen.append(name)
        yield
        seen.append(f"end of {name}")

    y = checkpoint(Counted(), leaf(), use_reentrant=False, context_fn=lambda: (noting("call"), noting("again")))
    assert seen == ["call", "end of call"]
    y.sum().backward()
    assert seen == ["call", "end of call", "again", "end of again"]


@pytest.mark.parametrize("nested", [True, False])
def test_what_is_not_kept_takes_no_memory(nested):
    def part(x):
        return (x * 2).exp().sin().exp().sin()

    def whole(x):
        return checkpoint(part, checkpoint(part, x, use_reentrant=False), use_reentrant=False) if nested else part(x)

    with machine(devices=1) as made:
        allocator = made.devices[0].allocator
        gc.collect()
        gc.disable()
        try:
            start = allocator.allocated_bytes
            x = torch.randn(1024, device="cuda", requires_grad=True)
            held = allocator.allocated_bytes
            y = checkpoint(whole, x, use_reentrant=False)
            assert allocator.allocated_bytes - held == x.nbytes
            y.sum().backward()
            other = x.detach().requires_grad_()
            (part(part(other)) if nested else part(other)).sum().backward()
            assert torch.allclose(x.grad, other.grad)
            del x, y, other
            assert allocator.allocated_bytes == start
        finally:
            gc.enable()


@pytest.mark.devices(1)
def test_recomputation_runs_on_the_stream_of_the_call(gpus):
    seen = []

    def run(x):
        seen.append(torch.cuda.current_stream())
        return x.exp()

    side = torch.cuda.Stream()
    x = torch.ones(3, device="cuda", requires_grad=True)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = checkpoint(run, x, use_reentrant=False).sum()
    y.backward()
    assert seen == [side, side]


# refusals


def changing(first, later):
    calls = []

    def run(x):
        calls.append(x)
        return (first if len(calls) == 1 else later)(x)

    return run


@pytest.mark.parametrize(
    ("first", "later", "match"),
    [
        (lambda x: x.exp().sin().exp(), lambda x: x.exp(), "checkpoint: A different number of tensors.*: 3 and 1"),
        (lambda x: x.exp().sum(), lambda x: x.repeat(2).exp().sum(), r"number 0 was float32\[3\] .* float32\[6\]"),
        (lambda x: x.exp().sum(), lambda x: x.double().exp().sum(), r"number 0 was float32\[3\] .* float64\[3\]"),
    ],
)
def test_a_function_that_does_not_do_the_same_again_is_an_error(first, later, match):
    y = checkpoint(changing(first, later), leaf(), use_reentrant=False).sum()
    with pytest.raises(CheckpointError, match=match):
        y.backward()


def test_the_check_can_be_left_out_and_more_values_do_not_matter_at_an_early_end():
    x = leaf()
    loose = changing(lambda x: x.exp(), lambda x: (x + 1).double().exp())
    checkpoint(loose, x, use_reentrant=False, determinism_check="none").sum().backward()
    more = changing(lambda x: x.exp(), lambda x: x.exp().sin())
    checkpoint(more, x, use_reentrant=False).sum().backward()
    with pytest.raises(CheckpointError, match="1 and 2"):
        more = changing(lambda x: x.exp(), lambda x: x.exp().sin())
        checkpoint(more, x, use_reentrant=False, early_stop=False).sum().backward()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: checkpoint(torch.exp, x, use_reentrant=True, y=1), ValueError, "Unexpected keyword arguments: y"),
        (lambda x: checkpoint(torch.exp, x, use_reentrant=True, debug=True), ValueError, "only supported when"),
        (
            lambda x: checkpoint(torch.exp, x, use_reentrant=False, determinism_check="odd"),
            ValueError,
            "determinism_check should be one of .*'odd'",
        ),
        (
            lambda x: torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x),
            RuntimeError,
            "use_reentrant=True",
        ),
        (
            lambda x: checkpoint(torch.exp, x, use_reentrant=True).sum().backward(inputs=[x]),
            RuntimeError,
            "use_reentrant=True",
        ),
        (
            lambda x: checkpoint(lambda x: x.detach(), x, use_reentrant=True).sum().backward(),
            RuntimeError,
            "none of output has requires_grad=True",
        ),
        (lambda x: checkpoint_sequential([torch.exp], 2, x, use_reentrant=False), ValueError, "segments .* got 2"),
        (lambda x: checkpoint_sequential([torch.exp], 1, x, use_reentrant=False, y=1), ValueError, "keyword.*: y"),
    ],
)
def test_wrong_calls(call, error, match):
    with pytest.raises(error, match=match):
        call(leaf())


def test_an_input_that_was_written_since_is_an_error():
    x = leaf()
    y = x * 1
    out = checkpoint(Counted(), y, use_reentrant=False).sum()
    y.zero_()
    with pytest.raises(RuntimeError, match="checkpoint: .*modified by an inplace operation"):
        out.backward()


def test_without_a_choice_there_is_a_warning_and_the_reentrant_way():
    with pytest.warns(UserWarning, match="checkpoint: the use_reentrant parameter should be passed explicitly"):
        y = checkpoint(torch.exp, leaf())
    assert y.grad_fn.name() == "CheckpointFunctionBackward"
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.exp, torch.ones(2), use_reentrant=True)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_sequence_is_checkpointed_in_segments(reentrant):
    runs = [Counted() for _ in range(5)]
    x = leaf()
    checkpoint_sequential(runs, 2, x, use_reentrant=reentrant).sum().backward()
    assert [len(each.modes) for each in runs] == [2, 2, 1, 1, 1]
    other = leaf()
    value = other
    for each in runs:
        value = each(value)
    value.sum().backward()
    assert torch.allclose(x.grad, other.grad)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    checkpoint_sequential(net, 3, leaf(), use_reentrant=reentrant).sum().backward()
    assert all(each.grad is not None for each in net.parameters())


def test_states_of_the_gpus_of_values_are_restored():
    with machine(devices=2):
        x = torch.ones(3, device="cuda:1")
        devices, states = saved = get_device_states({"x": [x]}, torch.ones(2), 3)
        first = torch.rand_like(x)
        set_device_states(*saved)
        with pytest.raises(ArgumentError, match=f"set_device_states: .*{len(devices)} devices and 0 states"):
            set_device_states(devices, [])
        assert devices == [1] and len(states) == 1 and torch.equal(first, torch.rand_like(x))


def test_values_are_detached():
    x = leaf()
    detached, three = detach_variable((x * 2, 3))
    assert (
        detached.is_leaf and detached.requires_grad and three == 3 and not detach_variable((x.data,))[0].requires_grad
    )
    with pytest.raises(ArgumentTypeError, match="detach_variable: .*tuple"):
        detach_variable([x])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        check_backward_validity([x.detach()])


@pytest.mark.parametrize("contexts", [None, (), contextlib.nullcontext()])
def test_contexts_are_two(contexts):
    with pytest.raises(ArgumentTypeError, match="checkpoint: context_fn must return two context managers"):
        checkpoint(torch.sin, torch.ones(1), use_reentrant=False, context_fn=lambda: contexts)

"""Hooks on several tensors, saved tensors on the CPU, and writes to saved tensors."""

import pytest

import flambeau as torch
from flambeau.autograd import graph
from flambeau.errors import AutogradError
from flambeau.testing import machine


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


def test_a_hook_on_several_tensors_is_called_once_per_pass():
    a, b, c = leaf(), leaf(), leaf()
    seen = []
    handle = graph.register_multi_grad_hook([a, b, c], seen.append)
    first = graph.register_multi_grad_hook((a, b), lambda grad: seen.append(grad.tolist()), mode="any")
    total = (a * 2 + b * 3).sum()
    for _ in range(2):
        total.backward(retain_graph=True)
    lists = [each for each in seen if len(each) == 3 and each[2] is None]
    assert [[each.tolist() for each in grads[:2]] for grads in lists] == [[[2.0] * 3, [3.0] * 3]] * 2
    assert len(seen) == 4
    first.remove()
    handle.remove()
    total.backward()
    assert len(seen) == 4
    with pytest.raises(ValueError, match="register_multi_grad_hook: .*'some'"):
        graph.register_multi_grad_hook([a], print, mode="some")
    with pytest.raises(RuntimeError, match=r"register_multi_grad_hook: .*float32\[1\] on cpu"):
        graph.register_multi_grad_hook([a, torch.ones(1)], print)


@pytest.mark.parametrize("pinned", [False, True])
def test_saved_tensors_are_held_on_the_cpu(pinned):
    with machine(devices=1) as made:
        allocator = made.devices[0].allocator
        x = torch.randn(1024, device="cuda", requires_grad=True)
        before = allocator.allocated_bytes
        with graph.save_on_cpu(pin_memory=pinned):
            y = (x * 2).exp()
            out = y.sum()
        del y
        assert allocator.allocated_bytes - before < 1024 * 4
        out.backward()
        assert torch.allclose(x.grad, (x * 2).exp() * 2)


def test_saved_tensors_may_be_written_where_that_is_allowed():
    x = leaf()
    with graph.allow_mutation_on_saved_tensors() as mutations:
        y = x * 2
        z = y * y
        y.mul_(5)
        y[0] = 9.0
        out = z.sum()
        out.backward(retain_graph=True)
        assert x.grad.tolist() == [8.0, 16.0, 24.0]
        with pytest.raises(AutogradError, match="cannot be nested"), graph.allow_mutation_on_saved_tensors():
            pass
        mutations.clear()
    with pytest.raises(AutogradError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        out.backward()


def test_versions_of_several_tensors_are_counted():
    x, y = torch.zeros(2), torch.zeros(2)
    graph.increment_version([x, y, x])
    graph.increment_version(value for value in (y,))
    assert (x._version, y._version) == (2, 2)
    for wrong in (3, [x, None]):
        with pytest.raises(AutogradError, match="increment_version: expected a tensor"):
            graph.increment_version(wrong)
    assert x._version == 2

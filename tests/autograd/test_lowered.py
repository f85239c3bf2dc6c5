"""Derivatives are lowered once for each key and run from the plan."""

import pytest

import flambeau as torch
from flambeau.core import thread
from flambeau.core.plan import Plan
from flambeau.ops.operator import REGISTRY


def derivatives(name):
    found = REGISTRY[name].derivative_call
    return [entry for key, entry in thread.machine().plans.entries.items() if key[0] is found]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_derivative_is_one_plan_for_every_pass(new_gpus, device):
    before = derivatives("mul")
    for scale in (2.0, 3.0):
        x = torch.full((2, 37), scale, device=device, requires_grad=True)
        y = torch.full((37,), 5.0, device=device, requires_grad=True)
        (x * y).sum().backward()
        assert x.grad.tolist() == [[5.0] * 37] * 2 and y.grad.tolist() == [2 * scale] * 37
    entries = [plan for plan in derivatives("mul") if plan.device.public == x.device and plan not in before]
    assert [type(plan) for plan in entries] == [Plan]


def test_a_gradient_that_is_a_view_begins_where_the_incoming_one_does():
    x = torch.zeros(2, 3, requires_grad=True)
    (grad,) = torch.autograd.grad(x.sum(0, keepdim=True), x, torch.arange(6.0).view(2, 3)[1:])
    assert grad.tolist() == [[3, 4, 5], [3, 4, 5]]


def test_a_second_derivative_takes_the_ordinary_path():
    x = torch.tensor([2.0], requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [12] and second.tolist() == [12]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_derivative_is_lowered_where_some_results_have_no_gradient(gpus, device):
    before = derivatives("native_layer_norm")
    for _ in range(2):
        x = torch.tensor([[1.0, 2.0, 6.0, 3.0, 3.0]], device=device, requires_grad=True)
        mean = torch.native_layer_norm(x, (5,), None, None, 0.0)[1]
        mean.sum().backward()  # the first result has none: the derivative's body runs
        assert x.grad.tolist() == [[0.2] * 5] or torch.allclose(x.grad, torch.tensor(0.2, device=device))
        torch.nn.functional.layer_norm(x, (5,)).sum().backward()
    entries = [plan for plan in derivatives("native_layer_norm") if plan not in before]
    assert [type(plan) for plan in entries] == [Plan]


def test_an_output_without_a_gradient_does_not_keep_a_derivative_from_being_lowered(gpus):
    before = derivatives("native_layer_norm")
    for _ in range(2):
        x = torch.randn(3, 5, device="cuda", requires_grad=True)
        torch.nn.functional.layer_norm(x, (5,)).sum().backward()  # without gradients of means and deviations
        assert x.grad.abs().max() < 1e-5
    entries = [entry for entry in derivatives("native_layer_norm") if entry not in before]
    assert [type(entry) for entry in entries] == [Plan]

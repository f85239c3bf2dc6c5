"""Steps with gradients (differentiable=True), and steps of every optimizer in CUDA graphs (capturable=True)."""

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import ArgumentError
from tests.optim.stepping import RECORDED, label, launches
from tests.oracle import optim_cases

FORMULAS = ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD")
CAPTURED = ("Adamax", "NAdam", "RAdam", "ASGD")  # whose captured steps are the formulas
CASES = [case for case in RECORDED["optimizers"] if case[0] in FORMULAS]
OPTIONS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "ASGD": {"t0": 1.0, "lambd": 0.1},
}


class NotLeaves:
    """flambeau whose parameters are results of operators."""

    float64, tensor, optim = torch.float64, torch.tensor, torch.optim

    class nn:
        @staticmethod
        def Parameter(values):
            return values.requires_grad_().clone()


@pytest.mark.parametrize("case", CASES, ids=label)
def test_differentiable_steps_have_the_values_of_pytorch_s(case):
    name, options, expected = case
    found = optim_cases.run(NotLeaves, name, {**options, "differentiable": True})
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("case", [case for case in CASES if case[0] in CAPTURED], ids=label)
def test_steps_that_count_on_the_device_have_the_values_of_pytorch_s(case):
    name, options, expected = case
    for ours, theirs in zip(optim_cases.run(torch, name, {**options, "capturable": True}), expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_go_through_two_steps(name):
    def moved(start, first, second, rate):
        param = start.clone()
        optimizer = getattr(optim, name)([param], lr=rate, differentiable=True, **OPTIONS.get(name, {}))
        for grad in (first, second):
            param.grad = grad
            optimizer.step()
        return param

    values = torch.tensor([[0.5, -1.5, 2.0], [0.3, 0.7, -1.1], [0.6, -0.4, 0.8]], dtype=torch.float64)
    arguments = [row.clone().requires_grad_() for row in values]
    rate = torch.tensor(0.05, dtype=torch.float64, requires_grad=name not in ("ASGD", "Rprop"))
    if name == "Rprop":  # whose steps depend on the signs of gradients alone
        (slope,) = torch.autograd.grad(moved(*arguments, rate).sum(), arguments[0])
        assert slope.tolist() == [1.0, 1.0, 1.0]
    else:
        assert torch.autograd.gradcheck(moved, (*arguments, rate))


def test_a_learning_rate_is_learned():
    rate = torch.tensor(0.01, requires_grad=True)
    target = torch.tensor([3.0, -2.0])
    outer = optim.SGD([rate], lr=2e-4)
    losses = []
    for _ in range(15):
        weight = torch.zeros(2, requires_grad=True).clone()
        inner = optim.SGD([weight], lr=rate, differentiable=True)
        for _ in range(3):
            loss = (weight - target).square().sum()
            (weight.grad,) = torch.autograd.grad(loss, weight, create_graph=True)
            inner.step()
        outer.zero_grad()
        loss = (weight - target).square().sum()
        loss.backward()
        outer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert losses[::7] == pytest.approx([11.515951156616211, 2.5015547275543213, 1.2271689176559448])


def test_only_differentiable_optimizers_take_results_of_operators():
    result = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(ArgumentError, match="non-leaf.*MulBackward0"):
        optim.SGD([result])
    result.retain_grad()
    assert optim.SGD([result]).param_groups[0]["params"][0] is result


@pytest.mark.parametrize("name", CAPTURED)
@pytest.mark.parametrize("rate", [0.1, "tensor"])
def test_replays_take_one_step_each(gpus, name, rate):
    def make():
        net = nn.Linear(2, 1, device="cuda")
        with torch.no_grad():
            net.weight.copy_(torch.tensor([[0.5, -1.0]]))
            net.bias.fill_(0.25)
        lr = torch.tensor(0.1, device="cuda") if rate == "tensor" else rate
        options = {"t0": 2.0} if name == "ASGD" else {}
        return net, getattr(optim, name)(net.parameters(), lr=lr, capturable=True, **options)

    def step(net, optimizer):
        optimizer.zero_grad()
        net(torch.ones(2, 2, device="cuda")).square().sum().backward()
        optimizer.step()

    eager, captured = make(), make()
    step(*eager)
    step(*captured)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(*captured)
    for _ in range(7):  # RAdam's rule changes at step 6
        graph.replay()
        step(*eager)
    assert captured[0].weight.tolist() == eager[0].weight.tolist()
    states = captured[1].state.values()
    assert {(state["step"].item(), state["step"].device.type) for state in states} == {(8.0, "cuda")}


@pytest.mark.parametrize("name", CAPTURED)
def test_launches_of_a_captured_step(gpus, name):
    param = nn.Parameter(torch.ones(3, device="cuda"))
    param.grad = torch.ones(3, device="cuda")
    optimizer = getattr(optim, name)([param], capturable=True)
    optimizer.step()
    assert launches(optimizer.step) == {"Adamax": 18, "NAdam": 46, "RAdam": 40, "ASGD": 23}[name]

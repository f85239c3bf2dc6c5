"""Adam and its variants: steps counted on the device, in graphs, and betas that are tensors."""

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import AcceleratorError
from tests.conftest import ON_HARDWARE
from tests.optim.stepping import RECORDED, label, param
from tests.oracle import optim_cases

OPTIONS = [
    {},
    {"weight_decay": 0.1},
    {"amsgrad": True},
    {"maximize": True},
    {"betas": (0.0, 0.5), "eps": 1e-3},
]
KINDS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
ROUNDING = {torch.float32: 1e-6, torch.float64: 1e-11, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def assert_same(found, wanted):
    """The same bits; on hardware, whose powers may be off by a unit in the last place, the same but for rounding."""
    for one, other in zip(found, wanted, strict=True):
        values = other.flatten().tolist()
        if ON_HARDWARE:
            values = pytest.approx(values, rel=ROUNDING[one.dtype], abs=ROUNDING[one.dtype])
        assert one.flatten().tolist() == values


def trained(make, device="cpu", dtype=torch.float64, steps=5):
    net = nn.Linear(3, 2, device=device, dtype=dtype)
    with torch.no_grad():
        net.weight.copy_(torch.arange(6.0).view(2, 3) / 10)
        net.bias.fill_(0.1)
    optimizer = make(net.parameters())
    for number in range(steps):
        optimizer.zero_grad()
        (net(torch.full((2, 3), number / 4 - 0.3, device=device, dtype=dtype)) ** 2).sum().backward()
        optimizer.step()
    return net, optimizer


def mixed(make, device, steps=5):
    """The parameters of every type after some steps, of which each took as many as it has gradients."""
    params = [
        nn.Parameter((torch.arange(5.0) / 3 - index).to(device, kind)) for index in range(2) for kind in KINDS
    ] + [nn.Parameter(torch.zeros(0, device=device)), nn.Parameter(torch.ones(3, device=device))]
    optimizer = make(params)
    for number in range(steps):
        for index, each in enumerate(params[:-1]):
            skipped = index % 3 == 1 and number % 2
            each.grad = None if skipped else torch.full_like(each, (number - 2.5) / (index + 1))
        optimizer.step()
    return params, optimizer


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_it_takes_the_same_steps(device, kind, options, gpus):
    wanted, plain = mixed(lambda params: kind(params, lr=0.1, **options), device)
    found, optimizer = mixed(lambda params: kind(params, lr=0.1, capturable=True, **options), device)
    assert_same(found, wanted)
    for one, other in zip(found[:-1], wanted):
        state, expected = optimizer.state[one], plain.state[other]
        assert (state["step"].item(), state["step"].device) == (expected["step"], one.device)
        assert_same([state["exp_avg"], state["exp_avg_sq"]], [expected["exp_avg"], expected["exp_avg_sq"]])
    assert found[-1] not in optimizer.state


ADAMS = [case for case in RECORDED["optimizers"] if case[0].startswith("Adam")]


@pytest.mark.parametrize("case", ADAMS, ids=label)
def test_every_step_is_pytorch_s(case):
    name, options, expected = case
    for found, wanted in zip(optim_cases.run(torch, name, {**options, "capturable": True}), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-14)


def test_a_state_travels(gpus):
    found, optimizer = trained(lambda params: optim.Adam(params, capturable=True), "cuda", torch.float16)
    (number,) = {each["step"].device for each in optimizer.state.values()}
    assert number == torch.device("cuda", 0)
    other = optim.Adam(found.parameters(), capturable=True)
    other.load_state_dict(optimizer.state_dict())
    for each in other.state.values():
        assert (each["step"].dtype, each["step"].item(), each["step"].device) == (torch.float32, 5.0, number)


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_replays_take_one_step_each(gpus, kind):
    def step(net, optimizer, x):
        optimizer.zero_grad()
        (net(x) ** 2).sum().backward()
        optimizer.step()

    def make():
        net, optimizer = trained(lambda params: kind(params, lr=0.1, capturable=True), "cuda", torch.float32, 1)
        return net, optimizer, torch.ones(2, 3, device="cuda")

    eager, captured = make(), make()
    graph = torch.cuda.CUDAGraph()
    captured[1].zero_grad()
    with torch.cuda.graph(graph):
        step(*captured)
    for _ in range(4):
        graph.replay()
        step(*eager)
    assert captured[0].weight.tolist() == eager[0].weight.tolist()
    assert {each["step"].item() for each in captured[1].state.values()} == {5.0}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_replays_go_on_from_counters_that_differ(gpus, options):
    wanted, plain = mixed(lambda params: optim.AdamW(params, **options), "cuda")
    found, optimizer = mixed(lambda params: optim.AdamW(params, capturable=True, **options), "cuda")
    for one, other in zip(found[:-1], wanted):
        one.grad, other.grad = torch.ones_like(one), torch.ones_like(other)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    for number in range(3):
        for one, other in zip(found[:-1], wanted):
            one.grad.fill_(number / 2 - 1)
            other.grad.fill_(number / 2 - 1)
        graph.replay()
        plain.step()
        assert_same(found, wanted)
    counts = [plain.state[each]["step"] for each in wanted[:-1]]
    assert [optimizer.state[each]["step"].item() for each in found[:-1]] == counts and len(set(counts)) > 1


@pytest.mark.devices(2)
def test_each_device_counts_its_own(gpus):
    params = [nn.Parameter(torch.ones(2, device=device)) for device in ("cuda:0", "cuda:1", "cpu", "cuda:1")]
    optimizer = optim.Adam(params, lr=0.5, capturable=True)
    for each in params:
        each.grad = torch.ones_like(each)
    optimizer.step()
    assert [each.tolist() for each in params] == [[pytest.approx(0.5)] * 2] * 4
    assert [optimizer.state[each]["step"].device for each in params] == [each.device for each in params]


def test_numbers_of_steps_of_any_type_are_taken_over():
    a, b = (nn.Parameter(torch.ones(1)) for _ in range(2))
    optimizer = optim.Adam([a, b], capturable=True)
    a.grad, b.grad = torch.ones(1), torch.ones(1)
    optimizer.step()
    optimizer.state[a]["step"], optimizer.state[b]["step"] = 7, torch.tensor(8, dtype=torch.int64)
    optimizer.step()
    counts = [optimizer.state[each]["step"] for each in (a, b)]
    assert [(each.item(), each.dtype) for each in counts] == [(8.0, torch.float32), (9.0, torch.float32)]


def test_the_first_step_may_not_be_the_captured_one(gpus):
    net = nn.Linear(3, 2).cuda()
    optimizer, graph = optim.Adam(net.parameters(), capturable=True), torch.cuda.CUDAGraph()
    net(torch.ones(1, 3, device="cuda")).sum().backward()
    with (
        pytest.raises(AcceleratorError, match="Adam.step: cannot be captured: every replay would reset"),
        torch.cuda.graph(graph),
    ):
        optimizer.step()
    assert not any(optimizer.state.values())
    optimizer.step()


def test_adam_keeps_betas_that_are_tensors():
    betas, steps = (torch.tensor(0.5), torch.tensor(0.75)), []
    optimizer = optim.Adam([param()], betas=betas)
    assert optimizer.defaults["betas"] is betas and optimizer.param_groups[0]["betas"] is betas
    for rates in (betas, (0.5, 0.75)):
        optimizer = optim.Adam([param()], lr=1.0, betas=rates)
        optimizer.step()
        steps.append(optimizer.param_groups[0]["params"][0].item())
    assert steps[0] == steps[1]
    betas[0].fill_(0.0)  # then the running mean is the gradient
    optimizer = optim.Adam([param()], betas=betas)
    optimizer.step()
    assert [state["exp_avg"].item() for state in optimizer.state.values()] == [1.0]

"""Adam and AdamW whose number of steps lies on the device."""

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import AcceleratorError

OPTIONS = [
    {},
    {"weight_decay": 0.1},
    {"amsgrad": True},
    {"maximize": True},
    {"betas": (0.0, 0.5), "eps": 1e-3},
]


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


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_it_takes_the_same_steps(kind, options):
    plain, _ = trained(lambda params: kind(params, lr=0.1, **options))
    found, optimizer = trained(lambda params: kind(params, lr=0.1, capturable=True, **options))
    for one, other in zip(found.parameters(), plain.parameters()):
        assert one.flatten().tolist() == pytest.approx(other.flatten().tolist(), rel=1e-12)
        assert optimizer.state[one]["step"].item() == 5.0


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


def test_the_first_step_may_not_be_the_captured_one(gpus):
    net = nn.Linear(3, 2).cuda()
    optimizer, graph = optim.Adam(net.parameters(), capturable=True), torch.cuda.CUDAGraph()
    net(torch.ones(1, 3, device="cuda")).sum().backward()
    with (
        pytest.raises(AcceleratorError, match="Adam.step: cannot be captured: every replay would begin"),
        torch.cuda.graph(graph),
    ):
        optimizer.step()
    optimizer.step()

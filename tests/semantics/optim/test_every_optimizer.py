"""Every optimizer: its steps, its states and their layout, against what PyTorch gives (tests/oracle/optim_cases.py)."""

import copy
import json
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import AcceleratorError
from tests.optim.stepping import RECORDED, label, launches
from tests.oracle import optim_cases


@pytest.mark.parametrize("case", RECORDED["optimizers"], ids=label)
def test_every_step_is_pytorch_s(case):
    name, options, expected = case
    for found, wanted in zip(optim_cases.run(torch, name, options), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("case", RECORDED["layouts"], ids=label)
def test_states_are_laid_out_as_pytorch_s(case):
    name, options, expected = case
    assert loaded(optim_cases.layout(torch, name, options)) == expected


def loaded(value):
    """A value as JSON gives it back."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("case", RECORDED["optimizers"], ids=label)
@pytest.mark.devices(1)
def test_gpus_give_the_cpu_s_values(case, gpus):
    name, options, _ = case

    def make(params):
        return getattr(optim, name)(params, **optim_cases.arguments(options))

    def trained(device):
        net = nn.Linear(3, 1, device=device)
        with torch.no_grad():
            net.weight.fill_(0.5)
            net.bias.fill_(0.1)
        optimizer = make(net.parameters())
        for _ in range(4):
            optimizer.zero_grad()
            (net(torch.ones(2, 3, device=device)) ** 2).sum().backward()
            optimizer.step()
        return net.weight.tolist()[0] + net.bias.tolist()

    assert trained("cuda") == pytest.approx(trained("cpu"), rel=1e-6)


CLASSES = sorted({case[0] for case in RECORDED["optimizers"]})


def stepped(name, device="cpu", steps=3, made=None, **options):
    """A parameter after some steps, and its optimizer; made: one to go on with."""
    param, optimizer = made or (nn.Parameter(torch.ones(2, 3, device=device)), None)
    optimizer = optimizer or getattr(optim, name)([param], **options)
    for step in range(steps):
        param.grad = torch.full_like(param, 0.5 + step)
        optimizer.step()
    return param, optimizer


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(
    "rate", [torch.tensor(0.25), torch.tensor([0.25]), np.float32(0.25), np.float64(0.25)], ids=repr
)
def test_a_rate_may_be_a_tensor_or_a_number_of_numpy(name, rate):
    assert stepped(name, lr=rate)[0].tolist() == stepped(name, lr=0.25)[0].tolist()


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.devices(1)
def test_a_rate_may_lie_on_a_gpu(name, gpus):
    rate = torch.tensor(0.25, device="cuda")
    assert stepped(name, "cuda", lr=rate)[0].tolist() == stepped(name, "cuda", lr=0.25)[0].tolist()


@pytest.mark.parametrize("name", CLASSES)
def test_a_schedule_writes_a_rate_that_is_a_tensor(name):
    rate = torch.tensor(0.5)
    _, optimizer = stepped(name, lr=rate)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert (rate.item(), schedule.get_last_lr()[0].item(), schedule.base_lrs[0].item()) == (0.25, 0.25, 0.5)


def continued(name, way):
    """Check that an optimizer and its copy give the same values and step counts after three more steps."""
    param, optimizer = stepped(name, lr=0.25)
    twin_param, twin = way(param, optimizer)
    stepped(name, made=(param, optimizer))
    assert stepped(name, made=(twin_param, twin))[0].tolist() == param.tolist()
    steps = [owner.state[each].get("step") for owner, each in ((optimizer, param), (twin, twin_param))]
    assert [None if each is None else each.item() for each in steps] in ([6.0, 6.0], [None, None])


def by_state(param, optimizer):
    twin = nn.Parameter(param.detach().clone())
    other = type(optimizer)([twin], lr=0.25)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return twin, other


def by_copy(param, optimizer):
    twin = copy.deepcopy(optimizer)
    return twin.param_groups[0]["params"][0], twin


def by_shared_memory(param, optimizer):
    """As when a state is sent to another process: its tensors move."""
    for value in optimizer.state[param].values():
        value.share_memory_()
    return by_state(param, optimizer)


def by_numbers(param, optimizer):
    """As a state whose steps are Python's numbers, which PyTorch wrote long ago."""
    twin, other = by_state(param, optimizer)
    state = other.state[twin]
    if "step" in state:
        state["step"] = int(state["step"].item())
    return twin, other


@pytest.mark.parametrize("way", [by_state, by_copy, by_shared_memory, by_numbers])
@pytest.mark.parametrize("name", CLASSES)
def test_a_copy_goes_on_as_the_original(name, way):
    continued(name, way)


@pytest.mark.parametrize("name", CLASSES)
def test_pickling_keeps_what_pytorch_keeps(name):
    _, optimizer = stepped(name)
    assert sorted(optimizer.__getstate__()) == ["defaults", "param_groups", "state"]
    twin = pickle.loads(pickle.dumps(getattr(optim, name)([nn.Parameter(torch.ones(1))]).defaults))
    assert twin == optimizer.defaults


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "Adafactor"])
@pytest.mark.devices(1)
def test_a_step_is_one_launch_for_parameters_of_one_age(name, gpus):
    params = [nn.Parameter(torch.ones(size, device="cuda")) for size in (3, 0, 1000, 17)]
    optimizer = getattr(optim, name)(params)
    for _ in range(2):
        for each in params:
            each.grad = torch.ones_like(each)
        count = launches(optimizer.step)
    assert count == 1


CAPTURABLE = ("Adadelta", "Adam", "AdamW", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")


@pytest.mark.parametrize("name", CAPTURABLE)
@pytest.mark.devices(1)
def test_replays_of_a_captured_step_are_steps(name, gpus):
    def run(replayed):
        param = nn.Parameter(torch.ones(3, device="cuda"))
        param.grad = torch.full_like(param, 0.5)
        optimizer = getattr(optim, name)([param], capturable=True)
        optimizer.step()
        graph = torch.cuda.CUDAGraph()
        if replayed:
            with torch.cuda.graph(graph):
                optimizer.step()
        for _ in range(3):
            graph.replay() if replayed else optimizer.step()
        step = optimizer.state[param]["step"]
        assert (step.item(), str(step.device)) == (4.0, "cuda:0")
        return param.tolist()

    assert run(True) == run(False)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.devices(1)
def test_replays_read_a_rate_that_lies_on_the_gpu(name, gpus):
    def run(replayed):
        param = nn.Parameter(torch.ones(3, device="cuda"))
        param.grad = torch.full_like(param, 0.5)
        rate = torch.tensor(0.25, device="cuda")
        options = {"lr": rate, "weight_decay": 0.1} | ({} if name == "SGD" else {"capturable": True})
        optimizer = getattr(optim, name)([param], **options)
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        torch.cuda.set_sync_debug_mode("error")
        try:
            optimizer.step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        graph = torch.cuda.CUDAGraph()
        if replayed:
            with torch.cuda.graph(graph):
                optimizer.step()
        for _ in range(3):
            schedule.step()
            graph.replay() if replayed else optimizer.step()
        assert (optimizer.param_groups[0]["lr"] is rate, rate.item()) == (True, 0.03125)
        return param.tolist()

    plain = run(False)
    assert run(True) == plain
    param = nn.Parameter(torch.ones(3))
    param.grad = torch.full_like(param, 0.5)
    optimizer = getattr(optim, name)([param], lr=0.25, weight_decay=0.1)
    for step in range(4):
        optimizer.param_groups[0]["lr"] = 0.25 * 0.5**step
        optimizer.step()
    assert param.tolist() == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in (*CAPTURABLE, "SGD")])
@pytest.mark.devices(1)
def test_a_step_that_is_counted_on_the_host_is_not_captured(name, gpus):
    param, optimizer = stepped(name, "cuda")
    before = param.tolist()
    with (
        pytest.raises(AcceleratorError, match=rf"{name}.step: cannot be captured"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        optimizer.step()
    assert param.tolist() == before
    optimizer.step()

"""Update formulas, against what PyTorch gives (tests/oracle/optim_cases.py)."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import AcceleratorError
from tests.optim.stepping import RECORDED, label, launches, param
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


@pytest.mark.parametrize("options, expected", RECORDED["lbfgs"], ids=str)
def test_lbfgs_goes_pytorch_s_way(options, expected):
    for found, wanted in zip(optim_cases.minimized(torch, options), expected, strict=True):
        assert found[-2:] == wanted[-2:]
        assert found == pytest.approx(wanted, rel=1e-7, abs=1e-9)


def approximately(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-16)


@pytest.mark.parametrize("kind", ["schedulers", "resumed"])
@pytest.mark.parametrize("index", range(len(optim_cases.SCHEDULERS)))
def test_every_rate_is_pytorch_s(kind, index):
    name, options, expected = RECORDED[kind][index]
    approximately(optim_cases.rates(torch, name, options, 5 if kind == "resumed" else -1), expected)


@pytest.mark.parametrize("case", RECORDED["told"], ids=label)
def test_rates_of_a_step_that_is_named_are_pytorch_s(case):
    name, options, expected = case
    approximately(optim_cases.told(torch, name, options), expected)


@pytest.mark.parametrize("case", RECORDED["cycles"], ids=label)
def test_cycles_are_pytorch_s(case):
    *given, expected = case
    approximately(optim_cases.cycled(torch, *given), expected)


@pytest.mark.parametrize("options, expected", RECORDED["plateaus"], ids=str)
def test_plateaus_are_pytorch_s(options, expected):
    approximately(optim_cases.plateau(torch, options), expected)


@pytest.mark.filterwarnings("ignore:.*Detected call of `lr_scheduler.step")  # PyTorch warns of nested ones, too
@pytest.mark.parametrize("kind, expected", RECORDED["composed"])
def test_schedulers_of_schedulers_are_pytorch_s(kind, expected):
    approximately(optim_cases.composed(torch, kind), expected)


@pytest.mark.parametrize("kind, expected", RECORDED["averages"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.devices(1)
def test_averages_are_pytorch_s(kind, expected, device, gpus):
    with torch.device(device):
        assert optim_cases.averaged(torch, kind) == pytest.approx(expected, rel=1e-12)


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


@pytest.mark.devices(1)
def test_averages_take_one_launch_and_the_counter_s(gpus):
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).to("cuda")
    model = optim.swa_utils.AveragedModel(net, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.5))
    model.update_parameters(net)
    net[0].bias.data.add_(1.0)
    count = launches(
        lambda: optim.swa_utils.get_ema_multi_avg_fn(0.5)(list(model.parameters()), list(net.parameters()), 1)
    )
    assert count == 1
    assert (model.module[0].bias - net[0].bias).abs().max().item() == pytest.approx(0.5)


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


def test_lbfgs_has_one_group():
    groups = [{"params": [nn.Parameter(torch.ones(1))]}, {"params": [nn.Parameter(torch.ones(1))]}]
    with pytest.raises(ValueError, match="LBFGS: .*parameter groups.*got 2 groups"):
        optim.LBFGS(groups)
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported as line_search_fn, got 'armijo'"):
        optim.LBFGS([nn.Parameter(torch.ones(1))], line_search_fn="armijo")
    with pytest.raises(ValueError, match="LBFGS: Invalid learning rate: -1"):
        optim.LBFGS([nn.Parameter(torch.ones(1))], lr=-1)


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
def test_lbfgs_does_not_hide_nan(line_search_fn):
    x = nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = optim.LBFGS([x], max_iter=3, line_search_fn=line_search_fn)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        x.grad[0] = math.nan
        return loss

    optimizer.step(closure)
    assert x.isnan().any()


def test_lbfgs_goes_on_after_loading():
    def valley(x):
        optimizer = optim.LBFGS([x], max_iter=3, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = ((x * torch.tensor([1.0, 10.0])) ** 2).sum() + (x**4).sum()
            loss.backward()
            return loss

        return optimizer, closure

    x = nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer, closure = valley(x)
    optimizer.step(closure)
    y = nn.Parameter(x.detach().clone())
    other, other_closure = valley(y)
    other.load_state_dict(optimizer.state_dict())
    optimizer.step(closure)
    other.step(other_closure)
    assert x.tolist() == y.tolist()


class Norm(nn.Module):
    """A running mean as batch normalization has it."""

    def __init__(self):
        super().__init__()
        self.momentum = 0.1
        self.register_buffer("running_mean", torch.tensor(7.0))
        self.count = 0

    def reset_running_stats(self):
        self.running_mean.zero_()
        self.count = 0

    def forward(self, x):
        assert self.training and self.momentum is None
        self.count += 1
        self.running_mean += (x.mean() - self.running_mean) / self.count
        return x


def test_statistics_are_computed_anew():
    net = nn.Sequential(Norm()).eval()
    optim.swa_utils.update_bn([torch.tensor([1.0, 3.0]), [torch.tensor([6.0]), "target"]], net)
    assert (net[0].running_mean.item(), net[0].momentum, net.training) == (4.0, 0.1, False)
    optim.swa_utils.update_bn([], nn.Linear(1, 1))


def test_buffers_are_the_model_s_or_averages_too():
    utils = optim.swa_utils
    for use_buffers, expected in ((False, 4.0), (True, 3.0)):
        net = Norm()
        model = utils.AveragedModel(net, use_buffers=use_buffers)
        for value in (2.0, 4.0):
            net.running_mean.fill_(value)
            model.update_parameters(net)
        assert (model.module.running_mean.item(), model.n_averaged.item()) == (expected, 2)
    with pytest.raises(ValueError, match="only one of avg_fn and multi_avg_fn"):
        utils.AveragedModel(net, avg_fn=utils.get_ema_avg_fn(), multi_avg_fn=utils.get_ema_multi_avg_fn())
    with pytest.raises(ValueError, match=r"Invalid decay value 1\.5"):
        utils.get_ema_multi_avg_fn(1.5)


def test_adagrad_begins_the_sums_of_all_groups_with_its_own_option():
    groups = [{"params": [param()]}, {"params": [param()], "initial_accumulator_value": 7.0}]
    optimizer = optim.Adagrad(groups, lr=1.0, initial_accumulator_value=3.0)
    assert [state["sum"].item() for state in optimizer.state.values()] == [3.0, 3.0]
    optimizer.step()
    assert [group["params"][0].item() for group in optimizer.param_groups] == [0.5, 0.5]


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

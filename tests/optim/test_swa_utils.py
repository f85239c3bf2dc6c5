"""Averaged models: values, launches, buffers and statistics."""

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import ArgumentError, ArgumentTypeError, ShapeError
from tests.optim.stepping import RECORDED, launches
from tests.oracle import optim_cases


@pytest.mark.parametrize("kind, expected", RECORDED["averages"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.devices(1)
def test_averages_are_pytorch_s(kind, expected, device, gpus):
    with torch.device(device):
        assert optim_cases.averaged(torch, kind) == pytest.approx(expected, rel=1e-12)


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


def test_wrong_models_are_refused():
    utils, layer = optim.swa_utils, nn.Linear(2, 2)
    for name, call, fact in (
        ("AveragedModel", lambda: utils.AveragedModel(3), "model must be a Module, got 3"),
        ("AveragedModel", lambda: utils.AveragedModel(layer, avg_fn=3), "avg_fn must be callable, got 3"),
        ("update_parameters", lambda: utils.AveragedModel(layer).update_parameters(3), "model must be a Module, got 3"),
        ("update_bn", lambda: utils.update_bn([], 3), "model must be a Module, got 3"),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{name}: {fact}"):
            call()
    average = utils.AveragedModel(layer)
    with pytest.raises(ArgumentError, match="^update_parameters: the model has 1 parameters, the averaged one has 2"):
        average.update_parameters(nn.Linear(2, 2, bias=False))
    with pytest.raises(ShapeError, match="^update_parameters: "):
        average.update_parameters(nn.Linear(3, 2))
    assert average.n_averaged == 0


def test_a_model_that_raises_keeps_its_momentum_and_mode():
    norm = nn.BatchNorm1d(3).eval()
    with pytest.raises(ShapeError):
        optim.swa_utils.update_bn([torch.ones(2, 4)], norm)
    assert (norm.momentum, norm.training) == (0.1, False)

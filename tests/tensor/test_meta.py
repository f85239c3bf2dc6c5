"""Tensors of the device meta: how they are made, what their results are, and what programs do with them."""

import pytest

import flambeau as torch
from flambeau.errors import NotSupportedError
from flambeau.testing import machine

META = torch.device("meta")


@pytest.fixture(autouse=True)
def gpus():
    with machine(devices=2):
        yield


def test_factories_make_them():
    with META:
        made = [
            torch.empty(2),
            torch.ones(2),
            torch.tensor([1.0, 2.0]),
            torch.arange(3),
            torch.rand(2),
            torch.tensor([]),
        ]
    made += [
        torch.zeros(2, device="meta"),
        torch.empty_like(torch.ones(2), device=META),
        torch.as_tensor([1], device="meta"),
    ]
    made += [
        torch.ones(2).to("meta"),
        torch.ones(2, device="cuda").to("meta", torch.float64),
        torch.zeros_like(made[0]),
    ]
    for x in made:
        assert x.is_meta and x.device == META and not x.is_cuda
    assert (
        not torch.ones(1).is_meta and torch.ones(1).is_cpu and not made[0].is_cpu and torch.ones(1).device.type == "cpu"
    )
    assert torch.empty_like(made[0], device="cpu").device.type == "cpu" and "device='meta'" in repr(made[1])


def test_results_and_views_are_on_meta_too():
    x = torch.ones(2, 3, device="meta", requires_grad=True)
    y = (x @ torch.ones(3, 4, device="meta")).relu()
    assert y.shape == (2, 4) and all(each.is_meta for each in (x + 1, x.T, x[0], x.detach(), y, torch.cat([x, x])))
    y.sum().backward()
    assert x.grad.shape == x.shape


def test_modules_are_made_and_filled():
    with META:
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    assert all(x.is_meta for x in (*net.parameters(), *net.buffers()))
    state = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).state_dict()
    net.load_state_dict(state, assign=True)
    assert not any(x.is_meta for x in net.state_dict().values()) and net(torch.ones(4, 2)).shape == (4, 3)
    assert net.to("meta")[0].weight.is_meta and net.to_empty(device="cuda")[0].weight.is_cuda


def test_initialization_draws_nothing():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    with META:
        nn = torch.nn
        for net in (
            nn.Linear(3, 3),
            nn.Conv2d(1, 2, 3),
            nn.LSTM(2, 2),
            nn.Embedding(3, 2),
            nn.MultiheadAttention(4, 2),
        ):
            assert all(x.is_meta for x in net.parameters())
        weight = torch.empty(3, 3)
        for fill in (nn.init.orthogonal_, nn.init.trunc_normal_, nn.init.xavier_normal_, nn.init.ones_):
            assert fill(weight) is weight
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(
    "leave", [lambda x: x.cpu(), lambda x: x.cuda(), lambda x: x.to("cpu"), lambda x: x.to("cuda:1")]
)
def test_values_do_not_leave(leave):
    with pytest.raises(NotSupportedError, match="Cannot copy out of meta tensor; no data"):
        leave(torch.ones(2, device="meta"))
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        leave(torch.nn.Linear(1, 1, device="meta"))

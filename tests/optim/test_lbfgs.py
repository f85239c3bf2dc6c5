"""LBFGS: its steps, which are PyTorch's, its arguments, and states that are loaded."""

import math

import pytest

import flambeau as torch
from flambeau import nn, optim
from tests.optim.stepping import RECORDED
from tests.oracle import optim_cases


@pytest.mark.parametrize("options, expected", RECORDED["lbfgs"], ids=str)
def test_lbfgs_goes_pytorch_s_way(options, expected):
    for found, wanted in zip(optim_cases.minimized(torch, options), expected, strict=True):
        assert found[-2:] == wanted[-2:]
        assert found == pytest.approx(wanted, rel=1e-7, abs=1e-9)


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

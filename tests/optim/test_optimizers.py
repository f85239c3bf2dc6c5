"""Update formulas, against what PyTorch gives (tests/oracle/optim_cases.py)."""

import json
from pathlib import Path

import pytest

import flambeau as torch
from flambeau import nn, optim
from tests.oracle import optim_cases

RECORDED = json.loads(Path(optim_cases.__file__).with_suffix(".json").read_text())


def label(case):
    return f"{case[0]} {case[1]}"


@pytest.mark.parametrize("case", RECORDED["optimizers"], ids=label)
def test_every_step_is_pytorch_s(case):
    name, options, expected = case
    for found, wanted in zip(optim_cases.run(torch, name, options), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("kind", ["schedulers", "resumed"])
@pytest.mark.parametrize("index", range(len(optim_cases.SCHEDULERS)))
def test_every_rate_is_pytorch_s(kind, index):
    name, options, expected = RECORDED[kind][index]
    found = optim_cases.rates(torch, name, options, 5 if kind == "resumed" else -1)
    for rates, wanted in zip(found, expected, strict=True):
        assert rates == pytest.approx(wanted, rel=1e-12, abs=1e-16)


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.AdamW(p, amsgrad=True)])
@pytest.mark.devices(1)
def test_gpus_give_the_cpu_s_values(make, gpus):
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

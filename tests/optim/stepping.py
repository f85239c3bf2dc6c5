"""Helpers of the optimizer tests: PyTorch's recorded values, parameters with gradients, and a count of launches."""

import json
from pathlib import Path

import flambeau as torch
from flambeau import nn, optim
from flambeau.core.queue import hooks
from tests.oracle import optim_cases

RECORDED = json.loads(Path(optim_cases.__file__).with_suffix(".json").read_text())


def label(case):
    return f"{case[0]} {case[1]}"


def param(*values):
    """A parameter, [1] by default, whose gradient is all ones."""
    made = nn.Parameter(torch.tensor(values or (1.0,)))
    made.grad = torch.ones(made.shape)
    return made


def sgd(*rates):
    """An SGD with one group per rate, each of one parameter."""
    return optim.SGD([{"params": [nn.Parameter(torch.zeros(1))], "lr": rate} for rate in rates])


def launches(call):
    """The number of kernels that a call launches."""
    seen = []
    hooks.on_launch, before = lambda *_: seen.append(1), hooks.on_launch
    try:
        call()
    finally:
        hooks.on_launch = before
    return len(seen)

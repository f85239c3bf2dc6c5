"""Schedulers beside their rates (tests/optim/test_optimizers.py has those)."""

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from flambeau.optim import lr_scheduler


def optimizer(*rates):
    return optim.SGD([{"params": [nn.Parameter(torch.zeros(1))], "lr": rate} for rate in rates])


def test_functions_scale_each_group_s_start():
    owner = optimizer(1.0, 0.5)
    scheduler = lr_scheduler.LambdaLR(owner, [lambda step: 0.5**step, lambda step: step + 1])
    owner.step()
    scheduler.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25, 1.5]
    assert [group["lr"] for group in owner.param_groups] == [0.25, 1.5]
    assert lr_scheduler.LambdaLR(optimizer(1.0, 2.0), lambda step: 3).get_last_lr() == [3.0, 6.0]


def test_a_rate_set_by_hand_counts():
    owner = optimizer(1.0)
    scheduler = lr_scheduler.ExponentialLR(owner, 0.5)
    owner.step()
    owner.param_groups[0]["lr"] = 8.0
    scheduler.step()
    assert owner.param_groups[0]["lr"] == 4.0


def test_a_state_carries_on():
    first, second = (lr_scheduler.StepLR(optimizer(1.0), 2) for _ in range(2))
    first.optimizer.step()
    for _ in range(3):
        first.step()
    second.load_state_dict(first.state_dict())
    assert (second.last_epoch, second.get_last_lr()) == (3, first.get_last_lr())
    assert "lr_lambdas" not in lr_scheduler.LambdaLR(optimizer(1.0), lambda step: 1).state_dict()


def test_bad_arguments():
    with pytest.raises(ArgumentTypeError, match="StepLR: int is not an Optimizer"):
        lr_scheduler.StepLR(3, 1)
    with pytest.raises(
        ArgumentError, match=r"'initial_lr' is not specified in param_groups\[0\] when resuming at step 4"
    ):
        lr_scheduler.StepLR(optimizer(1.0), 1, last_epoch=4)
    with pytest.raises(ArgumentError, match="Expected 1 lr_lambdas, but got 2"):
        lr_scheduler.LambdaLR(optimizer(1.0), [abs, abs])
    with pytest.raises(ArgumentError, match=r"must be in \(0, 1\], got 0"):
        lr_scheduler.LinearLR(optimizer(1.0), start_factor=0)
    with pytest.raises(NotSupportedError, match="LRScheduler: get_lr is not defined"):
        lr_scheduler.LRScheduler(optimizer(1.0))

"""Wrong parameters, options and states of optimizers and schedulers."""

import math

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.optim import lr_scheduler as schedules
from tests.wrong import cases, refused

CLASSES = ("SGD", "Adam", "AdamW")


def parameter():
    return nn.Parameter(torch.ones(2))


def owner():
    return optim.SGD([parameter()], lr=0.1)


@pytest.mark.parametrize("name", CLASSES)
def test_parameters(name):
    make = getattr(optim, name)
    refused(lambda: make(nn.Linear(2, 2)), TypeError, name)
    refused(lambda: make(parameter()), TypeError, name, "float32[2] on cpu")
    refused(lambda: make([]), ValueError, name)
    refused(lambda: make(3), TypeError, name, "3")
    refused(lambda: make([3]), TypeError, name, "3")
    refused(lambda: make([parameter() * 2]), ValueError, name, "float32[2] on cpu")
    refused(lambda: make({"params": [parameter()]}), TypeError, name, "'params'")
    refused(lambda: make([{"lr": 1}]), KeyError, name, "'params'", "'lr'")
    refused(lambda: make([{"params": {parameter()}}]), TypeError, name)
    refused(lambda: make([{"params": nn.Linear(1, 1)}]), TypeError, name)
    refused(lambda: make([{"params": [parameter()]}, 3]), TypeError, name, "3")
    refused(lambda: make([("a", parameter()), parameter()]), ValueError, name)


@pytest.mark.parametrize("name", CLASSES)
def test_options(name):
    make = getattr(optim, name)
    for option, value, called in (
        ("lr", -1, "learning rate"),
        ("lr", math.nan, "learning rate"),
        ("weight_decay", -1, "weight_decay value"),
    ):
        refused(lambda: make([parameter()], **{option: value}), ValueError, name, called, str(value))
    refused(lambda: make([parameter()], lr="x"), TypeError, name, "'x'")
    refused(lambda: make([parameter()], lr=torch.ones(2)), ValueError, name, "float32[2] on cpu")
    refused(lambda: make([{"params": [parameter()], "lr": -2}]), ValueError, name, "-2")


@cases(
    (lambda: optim.SGD([parameter()], momentum=-1), ValueError, "SGD", "-1"),
    (lambda: optim.SGD([parameter()], momentum=None), TypeError, "SGD", "None"),
    (lambda: optim.SGD([parameter()], dampening="x"), TypeError, "SGD", "'x'"),
    (lambda: optim.SGD([parameter()], nesterov=True), ValueError, "SGD", "0"),
    (lambda: optim.Adam([parameter()], betas=0.9), TypeError, "Adam", "0.9"),
    (lambda: optim.Adam([parameter()], betas=(0.9,)), ValueError, "Adam", "(0.9,)"),
    (lambda: optim.Adam([parameter()], betas=(1.0, 0.9)), ValueError, "Adam", "1.0"),
    (lambda: optim.AdamW([parameter()], betas=(0.9, "x")), TypeError, "AdamW", "'x'"),
    (lambda: optim.Adam([parameter()], betas=(torch.tensor(0.9), 0.99)), ValueError, "Adam", "0.9000", "0.99"),
    (lambda: optim.AdamW([parameter()], lr=torch.tensor(0.1), foreach=True), ValueError, "AdamW", "False", "True"),
    (lambda: optim.AdamW([parameter()], eps=-1), ValueError, "AdamW", "-1"),
    (lambda: optim.Optimizer([parameter()], 3), TypeError, "Optimizer", "3"),
    (lambda: optim.Optimizer([parameter()], {}).step(), NotImplementedError, "Optimizer"),
    (lambda: owner().add_param_group([parameter()]), TypeError, "add_param_group"),
    (lambda: owner().add_param_group({}), KeyError, "add_param_group", "'params'"),
    (lambda: owner().add_param_group({"params": [parameter()], "lr": -1}), ValueError, "add_param_group", "-1"),
    (lambda: owner().step(3), TypeError, "step", "3"),
    (lambda: owner().load_state_dict(3), TypeError, "load_state_dict", "3"),
    (lambda: owner().load_state_dict({}), KeyError, "load_state_dict", "'param_groups'"),
    (
        lambda: owner().load_state_dict({"state": {}, "param_groups": 3}),
        TypeError,
        "load_state_dict",
        "'param_groups'",
        "3",
    ),
    (
        lambda: owner().load_state_dict({"state": {}, "param_groups": [{}]}),
        KeyError,
        "load_state_dict",
        "'params'",
    ),
    (
        lambda: owner().load_state_dict({"state": 3, "param_groups": [{"params": [0]}]}),
        TypeError,
        "load_state_dict",
        "'state'",
        "3",
    ),
    (lambda: owner().load_state_dict({"state": {}, "param_groups": []}), ValueError, "load_state_dict", "0", "1"),
    (lambda: schedules.StepLR(3, 1), TypeError, "StepLR", "3"),
    (lambda: schedules.StepLR(owner(), 0), ValueError, "StepLR", "0"),
    (lambda: schedules.StepLR(owner(), 1, gamma="x"), TypeError, "StepLR", "'x'"),
    (lambda: schedules.StepLR(owner(), 1, last_epoch=3), KeyError, "StepLR", "'initial_lr'", "3"),
    (lambda: schedules.LambdaLR(owner(), 3), TypeError, "LambdaLR", "3"),
    (lambda: schedules.LambdaLR(owner(), []), ValueError, "LambdaLR", "1", "0"),
    (lambda: schedules.LambdaLR(owner(), lambda step: "x"), TypeError, "LambdaLR", "'x'"),
    (lambda: schedules.ExponentialLR(owner(), None), TypeError, "ExponentialLR", "None"),
    (lambda: schedules.LinearLR(owner(), start_factor=0), ValueError, "LinearLR", "0"),
    (lambda: schedules.LinearLR(owner(), end_factor="x"), TypeError, "LinearLR", "'x'"),
    (lambda: schedules.LinearLR(owner(), total_iters=-1), ValueError, "LinearLR", "-1"),
    (lambda: schedules.CosineAnnealingLR(owner(), 0), ValueError, "CosineAnnealingLR", "0"),
    (lambda: schedules.StepLR(owner(), 1).load_state_dict(3), TypeError, "load_state_dict", "3"),
)
def test_wrong_calls(case):
    refused(*case)


def test_a_parameter_is_in_one_group():
    p = parameter()
    made = optim.SGD([p])
    refused(lambda: made.add_param_group({"params": [p]}), ValueError, "add_param_group", "float32[2] on cpu", "0")
    assert len(made.param_groups) == 1


def test_nothing_has_changed_after_a_refusal():
    made = owner()
    before = made.state_dict()
    for call in (
        lambda: made.add_param_group({"params": [parameter()], "lr": -1}),
        lambda: made.load_state_dict({"state": {}, "param_groups": []}),
        lambda: schedules.StepLR(made, 0),
    ):
        with pytest.raises(ValueError):
            call()
    assert made.state_dict() == before


def test_a_scheduler_that_steps_first_warns_once():
    made = owner()
    schedule = schedules.ExponentialLR(made, 0.5)
    with pytest.warns(
        UserWarning, match=r"^ExponentialLR: Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"
    ) as warned:
        schedule.step()
        schedule.step()
    assert len(warned) == 1
    assert schedule.get_last_lr() == [0.025]


def test_an_optimizer_that_has_stepped_is_not_warned_about():
    made = owner()
    schedule = schedules.ExponentialLR(made, 0.5)
    made.step()
    schedule.step()


def test_an_optimizer_with_a_step_of_its_own_counts_as_any_other():
    class Own(optim.Optimizer):
        def step(self, closure=None):
            pass

    made = Own([parameter()], {"lr": 0.1})
    schedule = schedules.StepLR(made, 2)
    made.step()
    schedule.step()
    with pytest.warns(UserWarning, match="StepLR: Detected call"):
        schedules.StepLR(Own([parameter()], {"lr": 0.1}), 2).step()

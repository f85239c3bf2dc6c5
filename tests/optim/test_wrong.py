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
    refused(
        lambda: make(nn.Linear(2, 2)),
        TypeError,
        f"{name}: params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
        "Linear(in_features=2, out_features=2, bias=True)\nhint: give module.parameters()",
    )
    refused(
        lambda: make(parameter()),
        TypeError,
        f"{name}: params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
        "float32[2] on cpu",
    )
    refused(lambda: make([]), ValueError, f"{name}: optimizer got an empty parameter list")
    refused(lambda: make(3), TypeError, f"{name}: params must be a list of tensors or dicts, got 3")
    refused(
        lambda: make([3]),
        TypeError,
        f"{name}: optimizer can only optimize Tensors, but one of the params is int: params[0] is 3",
    )
    refused(
        lambda: make([parameter() * 2]),
        ValueError,
        f"{name}: can't optimize a non-leaf Tensor, params[0] is float32[2] on cpu",
    )
    refused(
        lambda: make({"params": [parameter()]}),
        TypeError,
        f"{name}: optimizer can only optimize Tensors, but params is a dict with 'params'",
    )
    refused(lambda: make([{"lr": 1}]), KeyError, f"{name}: a group needs 'params', this has 'lr'")
    refused(
        lambda: make([{"params": {parameter()}}]),
        TypeError,
        f"{name}: optimizer parameters need to be organized in ordered collections",
    )
    refused(
        lambda: make([{"params": nn.Linear(1, 1)}]),
        TypeError,
        f"{name}: params argument given to the optimizer should be",
    )
    refused(
        lambda: make([{"params": [parameter()]}, 3]), TypeError, f"{name}: param_group must be a dict, but got int: 3"
    )
    refused(
        lambda: make([("a", parameter()), parameter()]),
        ValueError,
        f"{name}: all optimizer params should be with/without names, params[1] has none",
    )


@pytest.mark.parametrize("name", CLASSES)
def test_options(name):
    make = getattr(optim, name)
    for option, value, called in (
        ("lr", -1, "learning rate"),
        ("lr", math.nan, "learning rate"),
        ("weight_decay", -1, "weight_decay value"),
    ):
        refused(lambda: make([parameter()], **{option: value}), ValueError, f"{name}: Invalid {called}: {value}")
    refused(lambda: make([parameter()], lr="x"), TypeError, f"{name}: lr must be a number, got 'x'")
    refused(
        lambda: make([parameter()], lr=torch.ones(2)),
        ValueError,
        f"{name}: Tensor lr must be 1-element, got float32[2] on cpu",
    )
    refused(lambda: make([{"params": [parameter()], "lr": -2}]), ValueError, f"{name}: Invalid learning rate: -2")


@cases(
    (lambda: optim.SGD([parameter()], momentum=-1), ValueError, "SGD: Invalid momentum value: -1"),
    (lambda: optim.SGD([parameter()], momentum=None), TypeError, "SGD: momentum must be a number, got None"),
    (lambda: optim.SGD([parameter()], dampening="x"), TypeError, "SGD: dampening must be a number, got 'x'"),
    (
        lambda: optim.SGD([parameter()], nesterov=True),
        ValueError,
        "SGD: Nesterov momentum requires a momentum and zero dampening, got momentum=0 and dampening=0",
    ),
    (lambda: optim.Adam([parameter()], betas=0.9), TypeError, "Adam: betas must be two numbers, got 0.9"),
    (lambda: optim.Adam([parameter()], betas=(0.9,)), ValueError, "Adam: betas must be two numbers, got (0.9,)"),
    (lambda: optim.Adam([parameter()], betas=(1.0, 0.9)), ValueError, "Adam: Invalid beta parameter at index 0: 1.0"),
    (lambda: optim.AdamW([parameter()], betas=(0.9, "x")), TypeError, "AdamW: betas[1] must be a number, got 'x'"),
    (
        lambda: optim.Adam([parameter()], betas=(torch.tensor(0.9), 0.99)), ValueError,
        "Adam: betas must be either both floats or both Tensors, got (tensor(0.9000), 0.99)",
    ),
    (
        lambda: optim.AdamW([parameter()], lr=torch.tensor(0.1), foreach=True), ValueError,
        "AdamW: lr as a Tensor is not supported for capturable=False and foreach=True",
    ),
    (lambda: optim.AdamW([parameter()], eps=-1), ValueError, "AdamW: Invalid epsilon value: -1"),
    (lambda: optim.Optimizer([parameter()], 3), TypeError, "Optimizer: defaults must be a dict, got 3"),
    (lambda: optim.Optimizer([parameter()], {}).step(), NotImplementedError, "Optimizer: update is not defined"),
    (
        lambda: owner().add_param_group([parameter()]),
        TypeError,
        "add_param_group: param_group must be a dict, but got list",
    ),
    (lambda: owner().add_param_group({}), KeyError, "add_param_group: a group needs 'params', this has nothing"),
    (
        lambda: owner().add_param_group({"params": [parameter()], "lr": -1}),
        ValueError,
        "add_param_group: Invalid learning rate: -1",
    ),
    (lambda: owner().step(3), TypeError, "step: closure must be callable, got 3"),
    (lambda: owner().load_state_dict(3), TypeError, "load_state_dict: state_dict must be a dict, got 3"),
    (
        lambda: owner().load_state_dict({}),
        KeyError,
        "load_state_dict: state_dict has no 'param_groups'; its keys: none",
    ),
    (
        lambda: owner().load_state_dict({"state": {}, "param_groups": 3}),
        TypeError,
        "load_state_dict: state_dict['param_groups'] must be a list of dicts, got 3",
    ),
    (
        lambda: owner().load_state_dict({"state": {}, "param_groups": [{}]}),
        KeyError,
        "load_state_dict: state_dict['param_groups'][0] has no 'params'",
    ),
    (
        lambda: owner().load_state_dict({"state": 3, "param_groups": [{"params": [0]}]}),
        TypeError,
        "load_state_dict: state_dict['state'] must be a dict, got 3",
    ),
    (
        lambda: owner().load_state_dict({"state": {}, "param_groups": []}),
        ValueError,
        "load_state_dict: loaded state dict has a different number of parameter groups: 0, this optimizer has 1",
    ),
    (lambda: schedules.StepLR(3, 1), TypeError, "StepLR: int is not an Optimizer: 3"),
    (lambda: schedules.StepLR(owner(), 0), ValueError, "StepLR: step_size must be positive, got 0"),
    (lambda: schedules.StepLR(owner(), 1, gamma="x"), TypeError, "StepLR: gamma must be a number, got 'x'"),
    (
        lambda: schedules.StepLR(owner(), 1, last_epoch=3),
        KeyError,
        "StepLR: param 'initial_lr' is not specified in param_groups[0] when resuming at step 3",
    ),
    (lambda: schedules.LambdaLR(owner(), 3), TypeError, "LambdaLR: lr_lambda[0] must be callable, got 3"),
    (lambda: schedules.LambdaLR(owner(), []), ValueError, "LambdaLR: Expected 1 lr_lambdas, but got 0"),
    (
        lambda: schedules.LambdaLR(owner(), lambda step: "x"),
        TypeError,
        "LambdaLR: the result of lr_lambda[0] must be a number, got 'x'",
    ),
    (lambda: schedules.ExponentialLR(owner(), None), TypeError, "ExponentialLR: gamma must be a number, got None"),
    (
        lambda: schedules.LinearLR(owner(), start_factor=0),
        ValueError,
        "LinearLR: starting multiplicative factor must be in (0, 1], got 0",
    ),
    (lambda: schedules.LinearLR(owner(), end_factor="x"), TypeError, "LinearLR: end_factor must be a number, got 'x'"),
    (
        lambda: schedules.LinearLR(owner(), total_iters=-1),
        ValueError,
        "LinearLR: total_iters must not be negative, got -1",
    ),
    (lambda: schedules.CosineAnnealingLR(owner(), 0), ValueError, "CosineAnnealingLR: T_max must be positive, got 0"),
    (
        lambda: schedules.StepLR(owner(), 1).load_state_dict(3),
        TypeError,
        "load_state_dict: state_dict must be a dict, got 3",
    ),
)
def test_wrong_calls(call, error, begins):
    refused(call, error, begins)


def test_a_parameter_is_in_one_group():
    p = parameter()
    made = optim.SGD([p])
    refused(
        lambda: made.add_param_group({"params": [p]}),
        ValueError,
        "add_param_group: some parameters appear in more than one parameter group: float32[2] on cpu is in group 0",
    )
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

"""Schedulers: their rates, which are PyTorch's, their states, and wrong arguments."""

import copy

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.errors import ArgumentError, ArgumentTypeError, NamingError, NotSupportedError, ValueRangeError
from flambeau.optim import lr_scheduler
from tests.optim.stepping import RECORDED, label, sgd
from tests.oracle import optim_cases


def test_functions_scale_each_group_s_start():
    owner = sgd(1.0, 0.5)
    scheduler = lr_scheduler.LambdaLR(owner, [lambda step: 0.5**step, lambda step: step + 1])
    owner.step()
    scheduler.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25, 1.5]
    assert [group["lr"] for group in owner.param_groups] == [0.25, 1.5]
    assert lr_scheduler.LambdaLR(sgd(1.0, 2.0), lambda step: 3).get_last_lr() == [3.0, 6.0]


def test_a_rate_set_by_hand_counts():
    owner = sgd(1.0)
    scheduler = lr_scheduler.ExponentialLR(owner, 0.5)
    owner.step()
    owner.param_groups[0]["lr"] = 8.0
    scheduler.step()
    assert owner.param_groups[0]["lr"] == 4.0


def test_a_state_carries_on():
    first, second = (lr_scheduler.StepLR(sgd(1.0), 2) for _ in range(2))
    first.optimizer.step()
    for _ in range(3):
        first.step()
    second.load_state_dict(first.state_dict())
    assert (second.last_epoch, second.get_last_lr()) == (3, first.get_last_lr())
    assert lr_scheduler.LambdaLR(sgd(1.0), lambda step: 1).state_dict()["lr_lambdas"] == [None]


def test_a_function_without_attributes_stays_as_it_is():
    for make in (
        lambda: lr_scheduler.LambdaLR(sgd(1.0), abs),
        lambda: lr_scheduler.CyclicLR(sgd(1.0), 1.0, 2.0, scale_fn=abs, cycle_momentum=False),
    ):
        first, second = make(), make()
        first.optimizer.step()
        first.step()
        second.load_state_dict(first.state_dict())
        assert second.last_epoch == 1 and second.get_last_lr() == first.get_last_lr()


def test_bad_arguments():
    with pytest.raises(ArgumentTypeError, match="StepLR: int is not an Optimizer"):
        lr_scheduler.StepLR(3, 1)
    with pytest.raises(
        ArgumentError, match=r"'initial_lr' is not specified in param_groups\[0\] when resuming at step 4"
    ):
        lr_scheduler.StepLR(sgd(1.0), 1, last_epoch=4)
    with pytest.raises(ArgumentError, match="Expected 1 lr_lambdas, but got 2"):
        lr_scheduler.LambdaLR(sgd(1.0), [abs, abs])
    with pytest.raises(ArgumentError, match=r"must be in \(0, 1\], got 0"):
        lr_scheduler.LinearLR(sgd(1.0), start_factor=0)
    with pytest.raises(NotSupportedError, match="LRScheduler: get_lr is not defined"):
        lr_scheduler.LRScheduler(sgd(1.0))


def test_a_step_may_be_named_with_a_warning():
    owner = sgd(1.0)
    scheduler = lr_scheduler.StepLR(owner, 3, 0.5)
    owner.step()
    with pytest.warns(UserWarning, match="StepLR: the epoch parameter .* is deprecated, got 7"):
        scheduler.step(7)
    assert (scheduler.last_epoch, scheduler.get_last_lr()) == (7, [0.25])


def test_the_starting_rate_is_the_first_scheduler_s():
    owner = sgd(1.0)
    first = lr_scheduler.ExponentialLR(owner, 0.5)
    owner.step()
    first.step()
    assert lr_scheduler.ExponentialLR(owner, 0.5).base_lrs == [1.0]


class Ramp:
    """A function of the step that is an object, and has a state."""

    def __init__(self, slope):
        self.slope = slope

    def __call__(self, step):
        return 1.0 + self.slope * step


SAVED = {
    "lambda": lambda owner: lr_scheduler.LambdaLR(owner, Ramp(0.5)),
    "cyclic": lambda owner: lr_scheduler.CyclicLR(owner, 0.1, 1.0, 3, scale_fn=Ramp(0.1), cycle_momentum=False),
    "plateau": lambda owner: lr_scheduler.ReduceLROnPlateau(owner, patience=0),
    "one cycle": lambda owner: lr_scheduler.OneCycleLR(owner, 1.0, 20),
    **{kind: (lambda owner, kind=kind: optim_cases.compose(torch, kind, owner)) for kind in ("chained", "sequential")},
}


@pytest.mark.parametrize("kind", SAVED)
def test_a_saved_scheduler_goes_on(kind):
    def go_on(owner, scheduler, count):
        for number in range(count):
            owner.step()
            scheduler.step(*([float(number)] if kind == "plateau" else []))
        return [group["lr"] for group in owner.param_groups]

    owner, other = sgd(1.0, 0.5), sgd(1.0, 0.5)
    scheduler = SAVED[kind](owner)
    go_on(owner, scheduler, 4)
    twin = SAVED[kind](other)
    state = scheduler.state_dict()
    assert "optimizer" not in state
    twin.load_state_dict(copy.deepcopy(state))
    other.load_state_dict(owner.state_dict())
    assert go_on(other, twin, 6) == go_on(owner, scheduler, 6)


def test_more_bad_arguments():
    owner, other = sgd(1.0), sgd(1.0)
    step = lr_scheduler.StepLR(owner, 1)
    cases = [
        (lambda: lr_scheduler.SequentialLR(owner, [], []), ValueError, "SequentialLR: expects at least one scheduler"),
        (lambda: lr_scheduler.SequentialLR(owner, [step], [3]), ValueError, "but got 1 and 1"),
        (lambda: lr_scheduler.SequentialLR(other, [step], []), ValueError, "SequentialLR: .*same optimizer"),
        (lambda: lr_scheduler.ChainedScheduler([3]), TypeError, r"ChainedScheduler: schedulers\[0\] .*got 3"),
        (
            lambda: lr_scheduler.ChainedScheduler([step, lr_scheduler.ReduceLROnPlateau(owner)]),
            ValueError,
            r"does not support `ReduceLROnPlateau`.*schedulers\[1\]",
        ),
        (lambda: lr_scheduler.ReduceLROnPlateau(owner, factor=1.0), ValueError, r"Factor should be < 1.0, got 1\.0"),
        (lambda: lr_scheduler.ReduceLROnPlateau(owner, mode="up"), ValueError, "mode 'up' is unknown"),
        (lambda: lr_scheduler.ReduceLROnPlateau(owner, min_lr=[1, 2]), ValueError, "min_lr has 2 values"),
        (lambda: lr_scheduler.ConstantLR(owner, 1.5), ValueError, r"ConstantLR: .*\[0, 1\], got 1\.5"),
        (lambda: lr_scheduler.CyclicLR(owner, [1, 2], 3), ValueError, "base_lr has 2 values, param_groups has 1"),
        (lambda: lr_scheduler.CyclicLR(owner, 1, 3, mode="x"), ValueError, "mode is invalid .*'x'"),
        (lambda: lr_scheduler.OneCycleLR(owner, 1.0), ValueError, "total_steps OR .*got None epochs"),
        (lambda: lr_scheduler.OneCycleLR(owner, 1.0, 0), ValueError, "positive integer total_steps, but got 0"),
        (lambda: lr_scheduler.OneCycleLR(owner, 1.0, 5, pct_start=2.0), ValueError, r"pct_start .*got 2\.0"),
        (lambda: lr_scheduler.OneCycleLR(owner, 1.0, 5, anneal_strategy="x"), ValueError, "anneal_strategy .*'x'"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(owner, 0), ValueError, "positive integer T_0, but got 0"),
        (lambda: optim.swa_utils.SWALR(owner, 0.1, anneal_strategy="x"), ValueError, "anneal_strategy .*'x'"),
        (lambda: lr_scheduler.MultiplicativeLR(owner, 3), TypeError, r"lr_lambda\[0\] must be callable, got 3"),
    ]
    for make, error, text in cases:
        with pytest.raises(error, match=text):
            make()
    adagrad = optim.Adagrad([nn.Parameter(torch.zeros(1))])
    with pytest.raises(ArgumentError, match="CyclicLR: optimizer must support momentum .* Adagrad has neither"):
        lr_scheduler.CyclicLR(adagrad, 0.1, 1.0)
    once = lr_scheduler.OneCycleLR(owner, 1.0, 1, cycle_momentum=False)
    owner.step()
    once.step()
    with pytest.raises(ArgumentError, match="Tried to step 2 times. .* total steps is 1"):
        once.step()


def test_a_group_that_is_added_later_has_a_rate_or_is_an_error():
    def made(kind, *args):
        optimizer = sgd(0.5)
        scheduler = kind(optimizer, *args)
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": 8.0})
        optimizer.step()
        scheduler.step()
        return optimizer.param_groups[-1]["lr"]

    assert made(lr_scheduler.ExponentialLR, 0.5) == 4.0  # computed from the group's rate
    from_the_start = (
        (lr_scheduler.LambdaLR, lambda epoch: 0.5),
        (lr_scheduler.MultiplicativeLR, lambda epoch: 0.5),
        (lr_scheduler.CosineAnnealingWarmRestarts, 5),
    )
    for kind, *args in from_the_start:
        with pytest.raises(ValueError, match=rf"{kind.__name__}: .* \d learning rates, .* \d param_groups"):
            made(kind, *args)


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


def test_wrong_arguments_are_refused_under_the_scheduler_s_name():
    step = lr_scheduler.StepLR(sgd(1.0), 1)
    whole = lr_scheduler.ChainedScheduler([step])
    for name, call, fact in (
        ("MultiStepLR", lambda: lr_scheduler.MultiStepLR(sgd(1.0), ["a"]), "an entry of milestones must be a number"),
        ("SequentialLR", lambda: lr_scheduler.SequentialLR(sgd(1.0), 3, []), "schedulers must be a list, got 3"),
        ("SequentialLR", lambda: lr_scheduler.SequentialLR(step.optimizer, [step], 3), "milestones must be a list"),
        ("ChainedScheduler", lambda: lr_scheduler.ChainedScheduler(3), "schedulers must be a list, got 3"),
        ("step", lambda: lr_scheduler.ReduceLROnPlateau(sgd(1.0)).step(None), "metrics must be a number, got None"),
        ("StepLR", lambda: step.step("a"), "epoch must be a number, got 'a'"),
        ("OneCycleLR", lambda: lr_scheduler.OneCycleLR(sgd(1.0), "a", 3), "max_lr must be a number, got 'a'"),
        ("OneCycleLR", lambda: lr_scheduler.OneCycleLR(sgd(1.0), 1.0, 3, div_factor="a"), "div_factor must be"),
        ("CyclicLR", lambda: lr_scheduler.CyclicLR(sgd(1.0), "a", 1.0), "base_lr must be a number, got 'a'"),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{name}: .*{fact}"):
            call()
    with pytest.raises(NamingError, match="load_state_dict: state_dict has no '_schedulers'"):
        whole.load_state_dict({})
    with pytest.raises(ValueRangeError, match="^step: only one element"):
        lr_scheduler.ReduceLROnPlateau(sgd(1.0)).step(torch.ones(2))


def test_a_subclass_may_replace_how_a_plateau_reduces_the_rate():
    class Counted(lr_scheduler.ReduceLROnPlateau):
        def _reduce_lr(self, epoch):
            epochs.append(epoch)
            super()._reduce_lr(epoch)

    epochs, optimizer = [], torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
    scheduler = Counted(optimizer, factor=0.5, patience=0)
    optimizer.step()
    for metric in (1.0, 2.0, 3.0):
        scheduler.step(metric)
    assert epochs == [2, 3] and scheduler.get_last_lr() == [2.0]
    scheduler._reset()
    scheduler.step(9.0)
    assert scheduler.best == 9.0 and scheduler.get_last_lr() == [2.0]

"""Results of PyTorch's optimizers and schedulers: run with PyTorch installed to rewrite optim_cases.json.

python tests/oracle/optim_cases.py
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

STEPS = 6
SHAPES = ((3, 2), (4,))

OPTIMIZERS = (
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.02, "betas": [0.7, 0.9], "eps": 1e-4, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "maximize": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.02, "betas": [0.8, 0.99], "weight_decay": 0.3, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.0, "maximize": True}),
    ("Adam", {"lr": 0.02, "weight_decay": 0.2, "decoupled_weight_decay": True, "foreach": False, "fused": False}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.2, "lr_decay": 0.3, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": [0.7, 0.9], "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "betas": [0.7, 0.9], "weight_decay": 0.1, "momentum_decay": 0.2, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": [0.7, 0.99], "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.1, "betas": [0.8, 0.6], "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.1, "alpha": 0.7, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.8, "maximize": True}),
    ("RMSprop", {"lr": 0.1, "centered": True}),
    ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": [0.3, 1.7], "step_sizes": [0.01, 0.2], "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.2, "lambd": 0.1, "alpha": 0.5, "t0": 2.0, "weight_decay": 0.1, "maximize": True}),
    ("Adafactor", {}),
    (
        "Adafactor",
        {"lr": 0.3, "beta2_decay": -0.5, "eps": [1e-3, 1e-2], "d": 1.5, "weight_decay": 0.1, "maximize": True},
    ),
)

LBFGS = (
    {},
    {"lr": 0.5, "max_iter": 7, "history_size": 3},
    {"max_iter": 4, "max_eval": 6, "tolerance_grad": 1e-3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "lr": 0.01, "max_iter": 10, "history_size": 2},
    {"line_search_fn": "strong_wolfe", "lr": 30.0, "max_iter": 3, "max_eval": 9},
)

SCHEDULERS = (
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.8}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    ("CosineAnnealingLR", {"T_max": 5}),
    ("LinearLR", {"start_factor": 0.25, "end_factor": 0.75, "total_iters": 4}),
    ("LinearLR", {}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 9], "gamma": 0.5}),
    ("ConstantLR", {"factor": 0.25, "total_iters": 4}),
    ("ConstantLR", {}),
    ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    ("PolynomialLR", {}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
)
SCHEDULER_STEPS = 14
EPOCHS = (7, 3, 0, 12, 1)  # that schedulers are told to go to

# Schedulers that change momentum: name, options, and the class and options of their optimizer
CYCLES = (
    ("CyclicLR", {"base_lr": 0.1, "max_lr": [0.5, 0.9], "step_size_up": 3}, "SGD", {"momentum": 0.5}),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 2, "step_size_down": 3, "mode": "triangular2"},
        "Adam",
        {},
    ),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9, "cycle_momentum": False},
        "SGD",
        {},
    ),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 14}, "SGD", {"momentum": 0.5}),
    ("OneCycleLR", {"max_lr": [0.5, 1.0], "epochs": 2, "steps_per_epoch": 7, "three_phase": True}, "AdamW", {}),
    (
        "OneCycleLR",
        {"max_lr": 0.5, "total_steps": 20, "anneal_strategy": "linear", "pct_start": 0.5, "cycle_momentum": False},
        "SGD",
        {},
    ),
    ("SWALR", {"swa_lr": 0.02, "anneal_epochs": 5}, "SGD", {}),
    ("SWALR", {"swa_lr": [0.02, 0.7], "anneal_epochs": 4, "anneal_strategy": "linear"}, "SGD", {}),
    ("SWALR", {"swa_lr": 0.02, "anneal_epochs": 0}, "SGD", {}),
)

METRICS = (5.0, 4.0, 4.1, 4.2, 4.3, 3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8)
PLATEAUS = (
    {"patience": 1},
    {"patience": 0, "mode": "max", "threshold_mode": "abs", "threshold": 0.05, "cooldown": 2, "factor": 0.5},
    {"patience": 1, "min_lr": [0.2, 0.0], "cooldown": 1, "threshold": 0.3},
    {"patience": 0, "eps": 0.04, "threshold_mode": "abs"},
)
COMPOSED = ("chained", "sequential", "nested", "multiplicative")
AVERAGES = ("swa", "ema", "ema one by one", "swa one by one")


def start(index: int, count: int) -> list[float]:
    """Where a parameter starts."""
    return [math.cos(1.3 * each + index) for each in range(count)]


def slope(index: int, step: int, count: int) -> list[float]:
    """A parameter's gradient at a step; the last parameter has none at step 2."""
    return [math.sin(0.7 * each + 2.1 * step + index) * (1 + 0.5 * step) for each in range(count)]


def arguments(options: dict[str, object]) -> dict[str, object]:
    """Options as they are passed: JSON has no tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}


def run(torch, name: str, options: dict[str, object]) -> list[list[float]]:
    """The parameters after every step, in float64, by whichever library `torch` is."""
    params = [
        torch.nn.Parameter(torch.tensor(start(index, math.prod(shape)), dtype=torch.float64).reshape(shape))
        for index, shape in enumerate(SHAPES)
    ]
    optimizer = getattr(torch.optim, name)(params, **arguments(options))
    found = []
    for step in range(STEPS):
        for index, (param, shape) in enumerate(zip(params, SHAPES)):
            values = torch.tensor(slope(index, step, math.prod(shape)), dtype=torch.float64).reshape(shape)
            param.grad = None if step == 2 and index == len(SHAPES) - 1 else values
        optimizer.step()
        found.append([value for param in params for value in param.detach().reshape(-1).tolist()])
    return found


def rates(torch, name: str, options: dict[str, object], resume: int = -1) -> list[list[float]]:
    """The learning rates of two groups, before the first step and after every one; resume: go on from that step."""
    params = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    groups = [{"params": [params[0]], "lr": 0.5}, {"params": [params[1]], "lr": 0.1}]
    if resume >= 0:
        groups = [{**group, "initial_lr": group["lr"]} for group in groups]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **options, last_epoch=resume)
    found = [scheduler.get_last_lr()]
    for _ in range(SCHEDULER_STEPS):
        optimizer.step()
        scheduler.step()
        found.append([group["lr"] for group in optimizer.param_groups])
    return found


def layout(torch, name: str, options: dict[str, object]) -> list[object]:
    """Describe a state_dict after one step: the types of its values by key, in order, and the names of the options."""
    param = torch.nn.Parameter(torch.ones(2, 3))
    optimizer = getattr(torch.optim, name)([("w", param)], **arguments(options))
    param.grad = torch.ones(2, 3)
    optimizer.step()
    found = optimizer.state_dict()
    return [[[key, _kind(value)] for key, value in found["state"].get(0, {}).items()], sorted(found["param_groups"][0])]


def _kind(value: object) -> str:
    if not hasattr(value, "dtype"):
        return type(value).__name__
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def minimized(torch, options: dict[str, object]) -> list[list[float]]:
    """A curved valley walked down by LBFGS: after each of three steps the parameters, the loss, and two counts."""
    x = torch.nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64))
    y = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
    optimizer = torch.optim.LBFGS([x, y], **options)

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2 + (y - x[1]) ** 2 + 0.1 * y**4
        loss.backward()
        return loss

    found = []
    for _ in range(3):
        loss = optimizer.step(closure)
        state = optimizer.state[x]
        found.append([*x.tolist(), y.item(), loss.item(), state["func_evals"], state["n_iter"]])
    return found


def two_groups(torch, name: str = "SGD", options: dict[str, object] | None = None):
    """An optimizer of two groups with rates 0.5 and 0.1."""
    params = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    groups = [{"params": [params[0]], "lr": 0.5}, {"params": [params[1]], "lr": 0.1}]
    return getattr(torch.optim, name)(groups, lr=0.1, **(options or {}))


def told(torch, name: str, options: dict[str, object]) -> list[list[float]]:
    """The rates of two groups after a scheduler was told to go to EPOCHS."""
    optimizer = two_groups(torch)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
    optimizer.step()
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epoch in EPOCHS:
            scheduler.step(epoch)
            found.append([*scheduler.get_last_lr(), scheduler.last_epoch])
    return found


def cycled(torch, name: str, options: dict[str, object], of: str, its: dict[str, object]) -> list[list[float]]:
    """Rates and momenta of two groups, before the first step and after every one."""
    optimizer = two_groups(torch, of, its)
    where = torch.optim.swa_utils if name == "SWALR" else torch.optim.lr_scheduler
    scheduler = getattr(where, name)(optimizer, **options)

    def now() -> list[float]:
        groups = optimizer.param_groups
        momenta = [group["betas"][0] if "betas" in group else group["momentum"] for group in groups]
        return [*(group["lr"] for group in groups), *momenta]

    found = [now()]
    for _ in range(SCHEDULER_STEPS - 1):
        optimizer.step()
        scheduler.step()
        found.append(now())
    return found


def plateau(torch, options: dict[str, object]) -> list[list[float]]:
    """Rates of two groups, and the scheduler's counts, after every metric."""
    optimizer = two_groups(torch)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    found = []
    for metric in METRICS:
        scheduler.step(metric)
        found.append([*scheduler.get_last_lr(), scheduler.best, scheduler.num_bad_epochs, scheduler.cooldown_counter])
    return found


def compose(torch, kind: str, optimizer):
    """A scheduler that is made of others."""
    schedules = torch.optim.lr_scheduler
    if kind == "chained":
        parts = [schedules.ConstantLR(optimizer, 0.5, 3), schedules.ExponentialLR(optimizer, 0.9)]
        return schedules.ChainedScheduler(parts)
    if kind == "sequential":
        parts = [
            schedules.LinearLR(optimizer, 0.1, 1.0, 4), schedules.CosineAnnealingLR(optimizer, 5, 0.01),
            schedules.StepLR(optimizer, 2, 0.5),
        ]  # fmt: skip
        return schedules.SequentialLR(optimizer, parts, [4, 9])
    if kind == "nested":
        inner = [schedules.ConstantLR(optimizer, 0.5, 2), schedules.ExponentialLR(optimizer, 0.8)]
        first = schedules.SequentialLR(optimizer, inner, [2])
        return schedules.SequentialLR(optimizer, [first, schedules.StepLR(optimizer, 3, 0.1)], [6])
    return schedules.MultiplicativeLR(optimizer, [lambda step: 0.9, lambda step: 1 / step])


def composed(torch, kind: str) -> list[list[float]]:
    """Rates of two groups under a scheduler that is made of others."""
    optimizer = two_groups(torch)
    scheduler = compose(torch, kind, optimizer)
    found = [scheduler.get_last_lr()]
    for _ in range(SCHEDULER_STEPS):
        optimizer.step()
        scheduler.step()
        found.append([group["lr"] for group in optimizer.param_groups])
    return found


def averaged(torch, kind: str) -> list[float]:
    """A model's averaged weights after four updates."""
    utils, net = torch.optim.swa_utils, torch.nn.Linear(2, 1, dtype=torch.float64)
    options = {
        "swa": {},
        "ema": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
        "ema one by one": {"avg_fn": utils.get_ema_avg_fn(0.7)},
        "swa one by one": {"avg_fn": utils.get_swa_avg_fn()},
    }[kind]
    model = utils.AveragedModel(net, **options)
    for step in range(4):
        with torch.no_grad():
            net.weight.copy_(torch.tensor([start(step, 2)], dtype=torch.float64))
            net.bias.fill_(step)
        model.update_parameters(net)
    return [*model.module.weight[0].tolist(), model.module.bias.item(), model.n_averaged.item()]


def main() -> None:
    import torch

    cases = {
        "optimizers": [[name, options, run(torch, name, options)] for name, options in OPTIMIZERS],
        "layouts": [[name, options, layout(torch, name, options)] for name, options in OPTIMIZERS],
        "lbfgs": [[options, minimized(torch, options)] for options in LBFGS],
        "schedulers": [[name, options, rates(torch, name, options)] for name, options in SCHEDULERS],
        "resumed": [[name, options, rates(torch, name, options, 5)] for name, options in SCHEDULERS],
        "told": [[name, options, told(torch, name, options)] for name, options in SCHEDULERS],
        "cycles": [[*case, cycled(torch, *case)] for case in CYCLES],
        "plateaus": [[options, plateau(torch, options)] for options in PLATEAUS],
        "composed": [[kind, composed(torch, kind)] for kind in COMPOSED],
        "averages": [[kind, averaged(torch, kind)] for kind in AVERAGES],
        "version": torch.__version__,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()

"""What PyTorch's optimizers and schedulers give: run with PyTorch installed to write optim_cases.json anew.

python tests/oracle/optim_cases.py
"""

from __future__ import annotations

import json
import math
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
)

SCHEDULERS = (
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.8}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    ("CosineAnnealingLR", {"T_max": 5}),
    ("LinearLR", {"start_factor": 0.25, "end_factor": 0.75, "total_iters": 4}),
    ("LinearLR", {}),
)
SCHEDULER_STEPS = 14


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


def main() -> None:
    import torch

    cases = {
        "optimizers": [[name, options, run(torch, name, options)] for name, options in OPTIMIZERS],
        "schedulers": [[name, options, rates(torch, name, options)] for name, options in SCHEDULERS],
        "resumed": [[name, options, rates(torch, name, options, 5)] for name, options in SCHEDULERS],
        "version": torch.__version__,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()

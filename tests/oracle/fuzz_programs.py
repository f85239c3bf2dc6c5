"""Generators of programs: gradients, views and writes, printing, optimizers and schedulers, several GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.oracle import autograd_programs, fuzz_operators
from tests.oracle.fuzz_draw import SMOOTH, Case, Draw

DIFFERENTIABLE: tuple[Callable[[Draw], Case], ...] = (
    fuzz_operators.unary, fuzz_operators.binary, fuzz_operators.symbol, fuzz_operators.ternary,
    fuzz_operators.reduction, fuzz_operators.view, fuzz_operators.reading, fuzz_operators.writing,
    fuzz_operators.indexing, fuzz_operators.joining, fuzz_operators.conversion, fuzz_operators.product,
    fuzz_operators.network, fuzz_operators.chain,
)  # fmt: skip


def gradient(draw: Draw) -> Case:
    """Derivatives of the calls of another family.  With out= they are errors."""
    draw.types = SMOOTH
    return draw.one(DIFFERENTIABLE)(draw)._replace(gradients=draw.one((1, 1, 1, 2)))  # type: ignore[no-any-return]


def views(draw: Draw) -> Case:
    """A program of views, writes in place, hooks, Functions and backward passes."""
    steps = autograd_programs.program(draw.random.getrandbits(40))
    return Case("\n".join(steps), {}, stepwise=True)


# printing

SCALES = ("", "", "", " * 100", " * 1e-3", " * 1e5", " * 1e-6", " * 12345", " / 3", " / 7e-9")
OPTIONS = {
    "precision": (0, 1, 2, 4, 6), "threshold": (0, 2, 5, 1000), "edgeitems": (0, 1, 2, 3),
    "linewidth": (1, 20, 40, 80, 120), "sci_mode": (True, False, None),
}  # fmt: skip
PROFILES = ("default", "short", "full")


def printing(draw: Draw) -> Case:
    shape = draw.one((draw.shape(), (draw.random.randint(5, 40),), (2, draw.random.randint(5, 30))))
    a = draw.tensor(shape)
    b = draw.tensor(shape, draw.tensors[a].dtype)
    options = [f"{key}={draw.one(values)}" for key, values in OPTIONS.items() if draw.chance(0.25)]
    options += [f"profile='{draw.one(PROFILES)}'"] if draw.chance(0.15) else []
    x = f"({a}{draw.one(SCALES)})" if draw.chance(0.7) else f"({a} * {b}{draw.one(SCALES)})"
    wanting = f"{a}.cpu().clone().requires_grad_()"
    texts = (
        f"repr({x})", f"repr({x})", f"repr({x})", f"str({x})", f"repr([{a}, {b}])",
        f"f'{{{x}.tolist()}}'", f"repr({wanting})", f"repr({x})",
        f"repr({wanting}.{draw.one(('abs()', 'sum()', 'neg()', 'floor()', 'mean(0)', 'select(0, 0)'))})",
        f"repr(torch.{draw.one(('add', 'sub', 'mul', 'div'))}({wanting}, 2))",
        f"repr({{'x': {x}.shape, 'y': {a}.dtype, 'z': ({b},)}})",
        f"repr({a}.size())", f"repr({x}.max(-1))", f"repr({x}.sort(dim=0, stable=True))",
        f"repr({a}.expand(2, *{a}.shape))",
        f"repr({x}.to(torch.{draw.kind()}))",
    )  # fmt: skip
    return Case(f"torch.set_printoptions({', '.join(options)})\n{draw.one(texts)}", draw.tensors)


# optimizers

COMMON = {"lr": (0.1, 0.01, 0.0, 1.0, -0.1), "weight_decay": (0.0, 0.1, 0.3, -1), "maximize": (True, False)}
LOOPS = {"foreach": (True, False, None)}
BETAS = {"betas": ((0.9, 0.999), (0.5, 0.7), (0.0, 0.0), (1.0, 0.9)), "eps": (1e-8, 1e-3, 1.0, -1e-8)}
ADAM = {**COMMON, **LOOPS, **BETAS}
OPTIMIZERS = {
    "SGD": {**COMMON, **LOOPS, "momentum": (0.0, 0.9, 0.5, -0.5), "dampening": (0.0, 0.3), "nesterov": (True, False)},
    "Adam": {**ADAM, "amsgrad": (True, False), "decoupled_weight_decay": (True, False)},
    "AdamW": {**ADAM, "amsgrad": (True, False)},
    "Adamax": ADAM,
    "NAdam": {**ADAM, "momentum_decay": (0.0, 4e-3, 0.2), "decoupled_weight_decay": (True, False)},
    "RAdam": {**ADAM, "decoupled_weight_decay": (True, False)},
    "Adadelta": {**COMMON, **LOOPS, "rho": (0.9, 0.5, 0.0, 2.0), "eps": (1e-6, 1e-2)},
    "Adagrad": {**COMMON, **LOOPS, "lr_decay": (0.0, 0.3), "initial_accumulator_value": (0.0, 0.5),
    "eps": (1e-10, 0.1)},
    "RMSprop": {**COMMON, **LOOPS, "alpha": (0.99, 0.5), "eps": (1e-8, 0.1), "momentum": (0.0, 0.9),
    "centered": (True,)},
    "Rprop": {"lr": (0.1, 0.01), "maximize": (True,), "etas": ((0.5, 1.2), (0.3, 1.7), (1.2, 0.5)),
              "step_sizes": ((1e-6, 50), (0.01, 0.2)), **LOOPS},
    "ASGD": {**COMMON, **LOOPS, "lambd": (1e-4, 0.1), "alpha": (0.75, 0.5), "t0": (1e6, 2.0)},
    "Adafactor": {**COMMON, "beta2_decay": (-0.8, -0.5), "eps": ((None, 1e-3), (1e-3, 1e-2)), "d": (1.0, 1.5)},
    "LBFGS": {"lr": (0.1, 0.3), "max_iter": (2, 5), "history_size": (1, 3), "line_search_fn": (None, "strong_wolfe")},
}  # fmt: skip
SCHEDULERS = {
    "StepLR": {"step_size": (1, 2, 3), "gamma": (0.1, 0.5)},
    "MultiStepLR": {"milestones": ([1, 3], [2, 2], []), "gamma": (0.1, 0.5)},
    "ConstantLR": {"factor": (0.5, 1.0, 2.0), "total_iters": (0, 2, 5)},
    "LinearLR": {"start_factor": (0.25, 1.0, 0.0), "end_factor": (0.5, 1.0), "total_iters": (0, 1, 3)},
    "ExponentialLR": {"gamma": (0.9, 0.5)},
    "PolynomialLR": {"total_iters": (1, 3, 5), "power": (1.0, 2.0)},
    "CosineAnnealingLR": {"T_max": (1, 2, 4), "eta_min": (0.0, 0.01)},
    "CosineAnnealingWarmRestarts": {"T_0": (1, 2, 3), "T_mult": (1, 2), "eta_min": (0.0, 0.01)},
    "LambdaLR": {"lr_lambda": ("SLOPE",)},
    "MultiplicativeLR": {"lr_lambda": ("SLOPE",)},
    "CyclicLR": {"base_lr": (0.01,), "max_lr": (0.1, 1.0), "step_size_up": (1, 3),
                 "mode": ("triangular", "triangular2"), "cycle_momentum": (True, False)},
    "OneCycleLR": {"max_lr": (0.1, 1.0), "total_steps": (3, 9), "anneal_strategy": ("cos", "linear"),
                   "three_phase": (True, False), "cycle_momentum": (True, False)},
}  # fmt: skip
REQUIRED = {
    "max_iter", "gamma", "step_size", "milestones", "T_max", "T_0", "lr_lambda", "base_lr", "max_lr", "total_steps",
    "step_size_up",
}  # fmt: skip


def chosen(draw: Draw, options: dict[str, tuple[object, ...]], share: float) -> str:
    """Keyword arguments: some of the options.  The last choice of a number may be out of range and is drawn seldom."""
    given = []
    for key, values in options.items():
        if key in REQUIRED or draw.chance(share):
            wrong = len(values) > 2 and not isinstance(values[-1], list) and draw.chance(0.97)
            value = repr(draw.one(values[:-1] if wrong else values))
            given.append(f"{key}={value}".replace("'SLOPE'", "lambda n: 1 / (n + 2)"))
    return ", ".join(given)


def optimizer(draw: Draw) -> Case:
    """Steps of an optimizer over two parameters, with groups, a scheduler, a loaded state, and gradients left out."""
    name = draw.one(tuple(OPTIMIZERS))
    # in half types PyTorch rounds more often; a line search turns the last digit of a float32 into another step
    kind = "float64" if name == "LBFGS" else draw.one(("float32", "float64"))
    params = [draw.tensor(draw.shape(draw.random.randint(0, 2)), kind) for _ in range(2)]
    for each in params:
        tensor = draw.tensors[each]
        finite = [1.0 if math.isinf(float(v)) or math.isnan(float(v)) else v for v in tensor.values]
        draw.tensors[each] = tensor._replace(values=finite)
    options = chosen(draw, OPTIMIZERS[name], 0.4)
    named = "[('x', p[0]), ('y', p[1])]"
    groups = draw.one(("p", "[{'params': p[:1], 'lr': 0.5}, {'params': p[1:]}]", named, "iter(p)"))
    if name == "LBFGS" and "{" in groups:
        groups = "p"
    lines = [f"p = [{', '.join(f'{each}.clone().requires_grad_()' for each in params)}]",
             f"o = torch.optim.{name}({groups}{', ' * bool(options)}{options})"]  # fmt: skip
    scheduler = draw.one(tuple(SCHEDULERS)) if draw.chance(0.4) else ""
    if scheduler:
        lines.append(f"s = torch.optim.lr_scheduler.{scheduler}(o, {chosen(draw, SCHEDULERS[scheduler], 0.5)})")
    if name == "LBFGS":
        lines += [
            "def closure():",
            "    o.zero_grad()",
            "    loss = sum((((q - 0.3) * 0.3) ** 4 + q ** 2).sum() for q in p)",
            "    loss.backward()",
            "    return loss",
        ]
    for step in range(draw.random.randint(1, 4)):
        slopes = [f"({each} * {step + 1} + {place}).cos()" for place, each in enumerate(params)]
        if draw.chance(0.15):
            slopes[draw.random.randint(0, 1)] = "None"
        if name != "LBFGS":
            lines += [f"q = p[{place}]; q.grad = {slope}" for place, slope in enumerate(slopes)]
        call = draw.one(("o.step()", "o.step()", "o.step(lambda: p[0].sum())"))
        lines.append("o.step(closure)" if name == "LBFGS" else call)
        lines += ["s.step()"] if scheduler else []
        extra = ("o.zero_grad()", "o.zero_grad(set_to_none=False)", "o.param_groups[0]['lr'] = 0.2",
                 f"d = o.state_dict(); o = torch.optim.{name}(p, lr=0.7); o.load_state_dict(d)",
                 f"p.append(torch.ones(2, dtype=torch.{kind}, device=D, requires_grad=True)); "
                 "o.add_param_group({'params': p[2:]})")  # fmt: skip
        if draw.chance(0.2) and (not scheduler or name != "LBFGS"):
            lines.append(draw.one(extra[: 3 if scheduler else 4 if name == "LBFGS" or len(lines) > 12 else 5]))
    lines.append("[[q.detach() for q in p], [q.grad for q in p], described(o.state_dict())]")
    return Case("\n".join(lines), draw.tensors, False)


# several devices


def devices(draw: Draw) -> Case:
    """Copies between two GPUs and the host, work on side streams, captured graphs, and gradients through them."""
    draw.types = draw.one((SMOOTH, draw.types))
    a = draw.tensor()
    shape, kind = draw.shape_of(a), draw.tensors[a].dtype
    b = draw.tensor(draw.beside(shape), kind if draw.chance(0.7) else None)
    one, two = draw.one(("D", "E", "'cpu'")), draw.one(("D", "E"))
    wait = draw.one(("", ", non_blocking=True"))
    call = draw.one(("{} + 1", "{} * 2", "{}.abs()", "{}.sum()", "{}.t()", "{}.clone()", "{}.reshape(-1)", "-{}"))
    x = call.format(draw.one((a, f"{a}.to(E)", f"{a}.to(E{wait})", f"{a}.to(E).to(D)")))
    form = draw.one(("", ".3f", ".2e", "8.1f", "d", ">10", "g"))
    texts = (
        f"({x}).to({one})", f"({x}).to({two}{wait}).to(D) + {b}", f"{a}.to(E, copy=True).add_({b}.to(E)).to(D)",
        f"{a}.copy_({b}.to(E){wait})", f"v = torch.empty_like({a}, device=E)\nv.copy_({b}{wait})\n[v.to(D), {a}]",
        f"v = torch.zeros({shape}, device=E)\nv[...] = {b}\nv.to(D)", f"{a} + {draw.tensor((), kind)}.cpu()",
        f"{draw.tensor((), None) if len(draw.tensors) < 4 else b}.cpu().item() * {a}", f"({x}).cpu().tolist()",
        f"with side({two}):\n    v = ({x}).to(D) + {b}\nv * 2", f"with side(E):\n    {a}.copy_({b}.to(E))\n{a} + 1",
        f"with side(D):\n    v = {x}\nv.cpu() + 1", f"{a}.to(E)[0:1].to(D)", f"({x}).to(E).t().to({one})",
        f"replayed(lambda: {a} * 2 + 1)", f"replayed(lambda: ({a}.t() + {a}.t()).sum())",
        f"{a}.to(E, torch.{draw.kind()}).to(D)",
        f"replayed(lambda: {a}.mul_(2))\n{a}", f"replayed(lambda: {call.format(a)})",
        f"{a}.new_ones(2, device=E).to(D)",
        f"replayed(lambda: {a}.copy_({b}))\n{a}", f"f'{{({x}).to(D).reshape(-1)[0]:{form}}}'",
        f"torch.zeros_like({a}, device=E).to(D)", f"{a}.to({b}.to(E)).to(D)",
        f"with on(E):\n    v = {x}\nv.to(D)", f"with on(E):\n    v = torch.ones({shape}, device=H).to(D) + {a}\nv",
    )  # fmt: skip
    graded = draw.types == SMOOTH and draw.chance(0.5)
    text = draw.one(texts)
    return Case(text, draw.tensors, ".to(" not in text, int(graded and "replayed" not in text))

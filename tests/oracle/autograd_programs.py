"""Random programs of views, writes in place, hooks, Functions and backward passes: a family of cases of fuzz.py."""

from __future__ import annotations

import contextlib
import importlib
import random
from typing import Any

DIGITS = 9
ALLOWED = (  # errors of PyTorch alone: nodes that save no tensor run again in flambeau, saved tensors may be detached;
    # hooks on several leaves
    "error: second time",
    "error: detached in-place",
    "error: _will_engine_execute_node",
)
SIZES = ((4,), (2, 3), (3, 2), (1, 4))
PLAIN = (
    "{a}.sin()", "{a}.tanh()", "{a} * 0.7", "{a}.sigmoid() + 0.2", "-{a}", "{a}.clone()", "{a} * {a}", "{a}.relu()",
    "{a} * {b}", "{a} + {b} * 0.3", "{a} - {b}", "torch.where({a} > 0.4, {a}, {b})", "torch.maximum({a}, {b})",
    "{a}.sum(0)", "{a}.mean()", "{a}.amax(0)", "torch.cat([{a}, {b}])", "{a}.softmax(-1)", "{a}.prod(0)",
    "{a}.max(0)[0]", "{a}.sort(0)[0]", "{a}.cumsum(0)", "torch.stack([{a}, {b}]).sum(0)", "{a} / ({b} * {b} + 1)",
)  # fmt: skip
VIEWS = (
    "{a}.view({a}.shape)", "{a}[:1]", "{a}[0]", "{a}.unsqueeze(0)", "{a}.chunk(2)[0]", "{a}.unbind()[-1]",
    "{a}.view_as({a})", "{a}.detach()", "{a}[1:][:1]", "{a}.expand_as({a})", "{a}.transpose(0, -1)",
    "{a}.split(1)[0]", "{a}.narrow(0, 0, 1)", "{a}[None]", "{a}.diagonal()",
)  # fmt: skip
WRITES = (
    "{a}.mul_(0.8)", "{a}.add_({b}.clone())", "{a}.sin_()", "{a}.mul_({b} * 1)", "{a}.copy_({b}.clone())",
    "{a}.zero_()", "{a}.tanh_()", "{a}[0].mul_(1.5)", "{a}.sub_({b}.sum())", "{a}.neg_()", "{a}.clamp_(-0.9, 0.9)",
    "{a}.masked_fill_({a} > 0.5, 0.1)", "{a}[:1].copy_({b}[:1].clone())", "{a}.view(-1)[0].sin_()",
    "{a}.detach().mul_(1.1)", "{a}.fill_({b}.mean())",
)  # fmt: skip
OTHERS = (
    "{a}.register_hook(saw({n}))", "{a}.register_hook(lambda g: g * 2)", "{a}.retain_grad()", "{a}.detach_()",
    "{a}.requires_grad_()", "{a}.register_post_accumulate_grad_hook(added({n}))",
    "{a}.grad_fn.register_hook(after({n}))", "{a}.grad_fn.register_prehook(before({n}))",
    "handles.append({a}.register_hook(saw({n})))", "handles.pop().remove()", "{a}.requires_grad_(False)",
    "torch.autograd.graph.register_multi_grad_hook([{a}, {b}], many({n}))",
)  # fmt: skip
FUNCTIONS = (
    "Same.apply({a})", "First.apply({a})", "Dirty.apply({a})", "Cube.apply({a})", "Pair.apply({a})[0]",
    "Pair.apply({a})[1]", "Fixed.apply({a})[0]", "Fixed.apply({a})[1]", "Nothing.apply({a})",
    "checkpoint(part, {a}, use_reentrant=False)",
)  # fmt: skip
ENDS = (
    "total.backward()", "total.backward(retain_graph=True); total.backward()", "total.backward(inputs=[{l}])",
    "grads.extend(torch.autograd.grad(total, [{l}], allow_unused=True))",
    "first = torch.autograd.grad(total, [{l}], create_graph=True, allow_unused=True); grads.extend(first); "
    "grads.extend(torch.autograd.grad(sum((g * g).sum() for g in first if g is not None), [{l}], allow_unused=True))",
    "torch.autograd.backward([total, total * 2])", "total.backward(create_graph=True)",
    "total.backward(inputs=[{a}])",
)  # fmt: skip
MODES = ("", "", "", "", "", "", "torch.no_grad()", "torch.inference_mode()", "torch.autograd.graph.save_on_cpu()")


def functions(torch: Any, checkpoint: Any) -> dict[str, Any]:
    """The Functions that programs apply, made for one library."""

    def made(name: str, forward: Any, backward: Any) -> Any:
        parts = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type(name, (torch.autograd.Function,), parts)

    def dirty(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(3)

    def cube(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    def of_cube(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x

    def fixed(ctx: Any, x: Any) -> Any:
        constant = x * 2
        ctx.mark_non_differentiable(constant)
        return x * 3, constant

    found = {
        "Same": made("Same", lambda ctx, x: x, lambda ctx, grad: grad * 2),
        "First": made("First", lambda ctx, x: x[:1], lambda ctx, grad: None),
        "Dirty": made("Dirty", dirty, lambda ctx, grad: grad * 3),
        "Cube": made("Cube", cube, of_cube),
        "Pair": made("Pair", lambda ctx, x: (x * 2, x * 5), lambda ctx, a, b: a * 2 + b * 5),
        "Fixed": made("Fixed", fixed, lambda ctx, a, b: a * 3 + b),
        "Nothing": made("Nothing", lambda ctx, x: x * 2, lambda ctx, grad: None),
    }
    return {**found, "checkpoint": checkpoint, "part": lambda x: (x * 1.1).sin().tanh()}


def program(seed: int) -> list[str]:
    """The steps of a program: sources that change `t`, a list of tensors."""
    pick = random.Random(seed)
    steps = []
    for _ in range(pick.randint(1, 3)):
        shape, wants = pick.choice(SIZES), pick.random() < 0.7
        values = [[pick.choice((-1, 1)) * (0.15 + 0.8 * pick.random()) for _ in range(shape[-1])] for _ in range(9)]
        data = values[0] if len(shape) == 1 else values[: shape[0]]
        rounded = [round(v, 3) for v in data] if len(shape) == 1 else [[round(v, 3) for v in row] for row in data]
        steps.append(f"t.append(torch.tensor({rounded}, dtype=torch.float64, device=D, requires_grad={wants}))")
    count = len(steps)
    leaves = ", ".join(f"t[{place}]" for place in range(count))
    for number in range(pick.randint(2, 14)):
        kinds = (PLAIN, VIEWS, WRITES, OTHERS, FUNCTIONS)
        kind = pick.choices(kinds, (4, 5, 4, 3, 1.5))[0]
        a, b = (f"t[{pick.choice((-1, pick.randrange(count)))}]" for _ in range(2))
        step = pick.choice(kind).format(a=a, b=b, n=number)
        if kind in (PLAIN, VIEWS, FUNCTIONS):
            step = f"t.append({step})"
            count += 1
        mode = pick.choice(MODES) if kind is not OTHERS else ""
        steps.append(f"with {mode}: {step}" if mode else step)
    steps.append("total = sum((each * (place + 1)).sum() for place, each in enumerate(t) if each.requires_grad)")
    for _ in range(pick.choice((1, 1, 2))):
        a = f"t[{pick.randrange(count)}]"
        steps.append(pick.choice(ENDS).format(l=leaves, a=a))
    return steps


def run(torch: Any, steps: list[str], device: str = "cpu") -> list[Any]:
    """The outcome of each step on a device; it ends with the first step that raises."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    seen: list[Any] = []
    log: list[Any] = []

    def rounded(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, (tuple, list)):
            return [rounded(each) for each in value if each is not None]  # nodes of chunk have one result each
        return [round(each, DIGITS) for each in value.detach().reshape(-1).tolist()]

    def noting(kind: str) -> Any:
        def make(number: int) -> Any:
            return lambda *grads: log.append((kind, number, rounded(grads)))

        return make

    def added(number: int) -> Any:
        return lambda leaf: log.append(("added", number, rounded(leaf.grad)))

    t: list[Any] = []
    names = {
        "torch": torch, "D": device, "t": t, "grads": [], "handles": [], "saw": noting("saw"), "after": noting("after"),
        "before": noting("before"), "many": noting("many"), "added": added, **functions(torch, checkpoint),
    }  # fmt: skip
    for step in steps:
        try:
            exec(step, names)
        except Exception as error:  # noqa: BLE001  (what is raised is compared)
            seen.append(_kind_of(error))
            return seen
        seen.append([[_state(each, rounded) for each in t], sorted(log, key=repr), rounded(names["grads"])])
    return seen


def _kind_of(error: Exception) -> str:
    text = str(error)
    for part in (
        "_will_engine_execute_node",
        "modified by an inplace",
        "second time",
        "detached in-place",
        "does not require grad",
        "shape",
        "leaf",
        "view",
        "inference",
    ):
        if part.lower() in text.lower():
            return f"error: {part}"
    return "error"


def _state(tensor: Any, rounded: Any) -> Any:
    with contextlib.suppress(RuntimeError):
        return [
            rounded(tensor), tensor.requires_grad, tensor.is_leaf, tensor.is_inference(),
            tensor.retains_grad, rounded(tensor.grad) if tensor.is_leaf or tensor.retains_grad else None,
        ]  # fmt: skip
    return "invalid"


def difference(ours: list[Any], theirs: list[Any], steps: list[str]) -> str:
    """The first step whose outcomes disagree; "" if there is none."""
    for step, one, other in zip(steps, ours, theirs):
        if isinstance(other, str) and (isinstance(one, str) or other in ALLOWED):
            return ""
        if one == "error: inference" and any(".detach()" in each for each in steps):
            return ""  # PyTorch lets detach() of an inference tensor be written
        if other == "error: modified by an inplace" and "backward(inputs=" in step:
            return ""  # PyTorch runs the node of an input too, whose saved values were overwritten
        if one == "error: view" and ".retain_grad()" in step:
            return ""  # PyTorch does not look whether the view may still be used
        if other == "error" and "multi_grad_hook" in step:  # PyTorch asserts that each tensor is in a graph
            return ""
        if isinstance(one, str) or isinstance(other, str) or not _near(one, other):
            return (
                f"{step}\n   flambeau {one if isinstance(one, str) else ''}\n   PyTorch  "
                + (other if isinstance(other, str) else "")
                + ("" if isinstance(one, str) or isinstance(other, str) else _first(one, other, "seen"))
            )
    return ""


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_near(a, b) for a, b in zip(one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) <= 1e-6 * max(1.0, abs(one)) or one != one and other != other
    return bool(one == other)


def _first(one: Any, other: Any, where: str) -> str:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        for place, (a, b) in enumerate(zip(one, other)):
            if not _near(a, b):
                return _first(a, b, f"{where}[{place}]")
    return f" {where}: {one} | {other}"

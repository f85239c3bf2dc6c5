"""Gradients through writes in place, as PyTorch gives them: run with PyTorch to write inplace_cases.json anew.

python tests/oracle/inplace_cases.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path

VERSION_ERROR = "modified by an inplace operation"
WRITES = (
    "t.add_(w)", "t.add_(w, alpha=2)", "t.sub_(w)", "t.sub_(2)", "t.mul_(w)", "t.mul_(3)", "t.mul_(c)",
    "t.div_(w)", "t.div_(4)", "t.remainder_(w)", "t.reciprocal_()", "t.neg_()", "t.abs_()", "t.sign_()",
    "t.square_()", "t.abs_().sqrt_()", "t.abs_().rsqrt_()", "t.pow_(2)", "t.pow_(3.5)", "t.pow_(w)",
    "t.pow_(0)", "t.exp_()", "t.expm1_()", "t.log_()", "t.log1p_()", "t.sin_()", "t.cos_()", "t.erf_()",
    "t.floor_()", "t.ceil_()", "t.trunc_()", "t.round_()", "t.tanh_()", "t.sigmoid_()", "t.relu_()",
    "t.clamp_(0.6, 1.2)", "t.clamp_(min=0.9)", "t.clamp_(max=w)", "t.clamp_min_(0.9)", "t.clamp_max_(1.1)",
    "t.clamp_(w, w + 0.4)", "t.lerp_(w, 0.3)", "t.lerp_(w, c)", "t.lerp_(w, w * w)",
    "t.addcmul_(w, c, value=2)", "t.addcdiv_(w, c, value=0.5)", "t.masked_fill_(m, 2.5)",
    "t.masked_fill_(m, w.sum())", "t.copy_(w)", "t.zero_()", "t.fill_(w.sum())", "t.tril_()", "t.triu_(1)",
    "t.index_fill_(0, i, 3)", "t.index_add_(0, i, w)", "t.index_copy_(0, i, w)", "t.scatter_(1, j, w)",
    "t.scatter_add_(1, j, w)", "t.sin_().cos_().mul_(t.detach() * 2)", "t.sin_(); y.exp_(); t.mul_(w)",
    "t.mul_(w); y.square_()", "t[0].sin_(); t[:, 1].mul_(w[0]); t.clamp_(0.2, 0.9)", "t.mul_(t)",
    "t.mul_(t * 1)", "t.add_(t)", "t.div_(t)", "u = t * w; t.mul_(2); t.add_(u)",
    "u = t.exp(); u.sin_(); y.add_(u.sum())", "u = t.sin(); t.sin_(); y.add_(u.sum())",
    "t[0] = w[0]; t[1].pow_(2)", "t.pow_(w); w2 = w * 1; t.mul_(w2); w2.zero_()",
    "t.sin_(); t.detach().zero_()", "t.mul_(c); c.zero_()",
)  # fmt: skip
PLACES = ("y", "y.t()[1:3, ::2]", "y.view(16)[4:12].view(4, 2)[1:3]")
DIGITS = 10


def matrix(torch, rows: int, columns: int, shift: float):
    """Values between 0.5 and 1.5, none where a derivative jumps."""
    values = [1 + 0.5 * math.sin(2.3 * index + shift) for index in range(rows * columns)]
    return torch.tensor(values, dtype=torch.float64).reshape(rows, columns)


def run(torch, write: str, place: str) -> list[list[float]] | str:
    """The values after a write, with first and second derivatives; "version" where backward finds a changed value."""
    x = matrix(torch, 4, 4, 0.1).requires_grad_()
    y = x * 1.25
    t = eval(place, {"y": y})
    rows, columns = t.shape
    w = matrix(torch, rows, columns, 0.7).requires_grad_()
    names = {
        "torch": torch, "y": y, "t": t, "w": w, "c": matrix(torch, rows, columns, 1.9),
        "m": matrix(torch, rows, columns, 2.9) > 1, "i": torch.tensor(list(range(rows))[::-1]),
        "j": torch.tensor([list(range(columns))[::-1]] * rows),
    }  # fmt: skip
    exec(write, names)
    found = [y, t]
    try:
        loss = (y * y * matrix(torch, 4, 4, 3.1)).sum() + (t * 2).sum()
        first = torch.autograd.grad(loss, [x, w], create_graph=True, allow_unused=True)
        found += first
        found += second(torch, first, [x, w])
    except RuntimeError as error:
        if VERSION_ERROR not in str(error):
            raise
        return "version"
    return [[] if each is None else [round(v, DIGITS) for v in each.detach().reshape(-1).tolist()] for each in found]


def second(torch, first, inputs):
    """Derivatives of the squares of the first ones; zeros where there are none."""
    total = sum((each * each).sum() for each in first if each is not None)
    found = torch.autograd.grad(total, inputs, allow_unused=True) if total.requires_grad else [None] * len(inputs)
    return [torch.zeros_like(each) if grad is None else grad for grad, each in zip(found, inputs)]


def main() -> None:
    import torch

    cases = [[write, place, run(torch, write, place)] for write in WRITES for place in PLACES]
    lines = ",\n".join(json.dumps(case) for case in cases)
    Path(__file__).with_suffix(".json").write_text(f"[\n{lines}\n]\n")
    print(f"{len(cases)} cases of PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()

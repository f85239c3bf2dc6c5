"""Device rates of memory-bound work, in bytes that must be read and written at least, and of copies to the host.

Inputs of the pointwise rows, reductions and moves are 1 Gi float32.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import check, raw
from .goals import at_least
from .times import Row, Sizes, Work

BLOCKS = 64  # rows of a sum whose exact value is cheap
PARTS = 4
LEARNING_RATE, DECAY, EPS = 0.1, 0.01, 1e-8
NAN = float("nan")


def _numbers(library: Any, *shape: int) -> Any:
    return library.randn(*shape, device="cuda")


def _terabytes(elements: int) -> float:
    """Of float32."""
    return 4 * elements / 1e12


def _add(library: Any, sizes: Sizes) -> Work:
    a, b = _numbers(library, sizes.elements), _numbers(library, sizes.elements)
    out = library.full((sizes.elements,), NAN, device="cuda")
    return Work(
        lambda: library.add(a, b, out=out),
        lambda: check.pointwise(np.add, out, a, b),
        _terabytes(3 * sizes.elements),
    )


def _exp(library: Any, sizes: Sizes) -> Work:
    a = _numbers(library, sizes.elements)
    out = library.full((sizes.elements,), NAN, device="cuda")
    amount = _terabytes(2 * sizes.elements)
    return Work(lambda: library.exp(a, out=out), lambda: check.pointwise(np.exp, out, a), amount)


def _sum(library: Any, sizes: Sizes) -> Work:
    """Of products of two random vectors, so that the exact sum is the product of their sums."""
    block, weights = library.rand(1, sizes.elements // BLOCKS, device="cuda"), library.rand(BLOCKS, 1, device="cuda")
    a = (block * weights).view(-1)
    exact = check.host(block).sum() * check.host(weights).sum()
    return Work(lambda: a.sum(), lambda: check.error(check.host(a.sum()), exact), _terabytes(sizes.elements))


def _sum_along(dim: int) -> Any:
    def make(library: Any, sizes: Sizes) -> Work:
        a = library.rand(sizes.side, sizes.side, device="cuda")

        def error() -> float:
            where = check.places(sizes.side, check.LINES)
            return check.error(check.lines(a.sum(dim), where), check.lines(a, where, 1 - dim).sum(dim))

        return Work(lambda: a.sum(dim), error, _terabytes(sizes.elements))

    return make


def _rows(library: Any, sizes: Sizes) -> Any:
    return _numbers(library, sizes.elements // sizes.row, sizes.row)


def _softmax(library: Any, sizes: Sizes) -> Work:
    a = _rows(library, sizes)
    return Work(
        lambda: library.softmax(a, -1),
        lambda: check.by_row(check.softmax, library.softmax(a, -1), a),
        _terabytes(2 * sizes.elements),
    )


def _layer_norm(library: Any, sizes: Sizes) -> Work:
    a, weight, bias = _rows(library, sizes), _numbers(library, sizes.row), _numbers(library, sizes.row)

    def call() -> Any:
        return library.nn.functional.layer_norm(a, (sizes.row,), weight, bias)

    def meaning(values: Any) -> Any:
        return check.normalized(values) * check.host(weight) + check.host(bias)

    return Work(call, lambda: check.by_row(meaning, call(), a), _terabytes(2 * sizes.elements))


def _transpose(library: Any, sizes: Sizes) -> Work:
    a = _numbers(library, sizes.side, sizes.side)

    def error() -> float:
        rows = check.places(sizes.side, check.LINES)
        return check.error(check.lines(a.t().contiguous(), rows), check.lines(a, rows, 1).T)

    return Work(lambda: a.t().contiguous(), error, _terabytes(2 * sizes.elements))


def _randn(library: Any, sizes: Sizes) -> Work:
    def call() -> Any:
        return library.randn(sizes.elements, device="cuda")

    return Work(call, lambda: check.normal(call()), _terabytes(sizes.elements))


def _cat(library: Any, sizes: Sizes) -> Work:
    parts = [_numbers(library, sizes.elements // PARTS) for _ in range(PARTS)]

    def error() -> float:
        pieces = library.cat(parts).view(PARTS, -1)
        return max(check.pointwise(lambda values: values, piece, part) for piece, part in zip(pieces, parts))

    return Work(lambda: library.cat(parts), error, _terabytes(2 * sizes.elements))


def _index_select(library: Any, sizes: Sizes) -> Work:
    table = _rows(library, sizes)
    index = library.randint(0, len(table), (len(table),), device="cuda")

    def error() -> float:
        found = library.index_select(table, 0, index)
        where = range(len(table))[check.places(len(table), check.LINES)]
        return max(check.same(found[at], table[int(index[at].item())]) for at in where)

    return Work(lambda: library.index_select(table, 0, index), error, _terabytes(2 * sizes.elements))


def _sorted(make: Any, of: str, exact: Any) -> Any:
    """Work that makes `make(library, a, sizes)` of random numbers; all of it is compared with `exact(array, sizes)`.

    of: "randn", or "randint" for int64, whose values float32 holds.
    """

    def work(library: Any, sizes: Sizes) -> Work:
        count, size = sizes.sorted, 4 if of == "randn" else 8
        a = _numbers(library, count) if of == "randn" else library.randint(0, count, (count,), device="cuda")

        def error() -> float:
            found, wanted = check.host(make(library, a, sizes)), exact(check.host(a), sizes)
            return check.error(found, wanted) if found.shape == wanted.shape else float("inf")

        return Work(lambda: make(library, a, sizes), error, size * count / 1e12)

    return work


def _greatest(array: Any, sizes: Sizes) -> Any:
    return np.sort(array)[::-1][: sizes.chosen]


def _cross_entropy(library: Any, sizes: Sizes) -> Work:
    """Forward and backward: the logits are read twice and their gradient is written.  Rows repeat for a cheap check."""
    rows, classes = sizes.classes
    kinds = min(rows, check.LINES)
    block = _numbers(library, kinds, classes)
    logits = block.unsqueeze(0).expand(rows // kinds, kinds, classes).reshape(rows, classes).requires_grad_()
    target = library.randint(0, classes, (rows,), device="cuda")

    def call() -> Any:
        logits.grad = None
        loss = library.nn.functional.cross_entropy(logits, target)
        loss.backward()
        return loss

    def error() -> float:
        wanted, at = check.host(block), target.cpu().numpy()
        exact = check.mean_entropy(wanted, at.reshape(-1, kinds))
        gradient = check.softmax(wanted)
        gradient[np.arange(kinds), at[-kinds:]] -= 1
        of_loss = abs(float(call().item()) - exact) / exact
        return max(of_loss, check.error(check.host(logits.grad[-kinds:]), gradient / rows))

    return Work(call, error, _terabytes(3 * rows * classes))


def _adamw(library: Any, sizes: Sizes) -> Work:
    """PyTorch's is the fused one.  Read: parameter, gradient and two moments; written: all but the gradient."""
    count, numel = sizes.parameters
    params = [library.nn.Parameter(_numbers(library, numel)) for _ in range(count)]
    for each in params:
        each.grad = _numbers(library, numel)
    fused = {} if library.__name__ == "flambeau" else {"fused": True}
    optimizer = library.optim.AdamW(params, lr=LEARNING_RATE, weight_decay=DECAY, eps=EPS, **fused)
    before = params[-1].detach().clone()

    def meaning(value: Any, grad: Any) -> Any:
        return value * (1 - LEARNING_RATE * DECAY) - LEARNING_RATE * grad / (np.abs(grad) + EPS)

    def error() -> float:
        return check.pointwise(meaning, params[-1].detach(), before, params[-1].grad)

    return Work(optimizer.step, error, _terabytes(7 * count * numel))


def _copy(to_device: bool) -> Any:
    def make(library: Any, sizes: Sizes) -> Work:
        source = _numbers(library, sizes.copied_bytes // 4)
        device, host = library.full_like(source, NAN), source.cpu().pin_memory()
        if not to_device:
            device.copy_(source)
            host.fill_(NAN)
        to, given = (device, host) if to_device else (host, device)

        def error() -> float:
            library.cuda.synchronize()
            return check.same(to, source)

        return Work(lambda: to.copy_(given, non_blocking=True), error, sizes.copied_bytes / 1e9)

    return make


row = functools.partial(Row, unit="TB/s", tolerance=1e-5)
copy = functools.partial(Row, unit="GB/s", goals=(at_least(0.99, "raw"),))
OF_TORCH = (at_least(0.99),)

ROWS = (
    row("add, 1 Gi", make=_add, goals=OF_TORCH),
    row("exp, 1 Gi", make=_exp, goals=OF_TORCH),
    row("sum of all, 1 Gi", make=_sum, goals=OF_TORCH),
    row("sum of rows, 1 Gi", make=_sum_along(1), goals=OF_TORCH),
    row("sum of columns, 1 Gi", make=_sum_along(0), goals=OF_TORCH),
    row("softmax of rows of 4096", make=_softmax, goals=(at_least(4.0, ""),)),
    row("layer norm of rows of 4096", make=_layer_norm, goals=(at_least(4.0, ""),)),
    row("transposing copy, 1 Gi", make=_transpose, goals=(at_least(2.5, ""),), tolerance=0.0),
    row("randn, 1 Gi", make=_randn, goals=(at_least(3.0, ""),), tolerance=1e-2),
    row("cat of 4, 1 Gi", make=_cat, goals=OF_TORCH, tolerance=0.0),
    row("index_select of rows of 4096", make=_index_select, goals=OF_TORCH, tolerance=0.0),
    row(
        "sort, 16 Mi", make=_sorted(lambda _, a, __: a.sort().values, "randn", lambda a, _: np.sort(a)), goals=OF_TORCH
    ),
    row(
        "argsort of int64, 16 Mi",
        make=_sorted(lambda _, a, __: a.argsort(stable=True), "randint", lambda a, _: np.argsort(a, kind="stable")),
        goals=OF_TORCH,
    ),
    row(
        "topk, 64 of 16 Mi",
        make=_sorted(lambda _, a, size: a.topk(size.chosen).values, "randn", _greatest),
        goals=OF_TORCH,
    ),
    row(
        "unique of int64, 16 Mi",
        make=_sorted(lambda _, a, __: a.unique(), "randint", lambda a, _: np.unique(a)),
        goals=OF_TORCH,
    ),
    row(
        "cumsum, 16 Mi",
        make=_sorted(lambda _, a, __: a.cumsum(0), "randn", lambda a, _: np.cumsum(a, dtype=np.float64)),
        goals=OF_TORCH,
        tolerance=1e-4,
    ),
    row("cross entropy 4096x32768 and backward", make=_cross_entropy, goals=OF_TORCH),
    row("AdamW step, 64 tensors of 4 Mi", make=_adamw, goals=OF_TORCH),
    copy("copy pinned to cuda", make=_copy(True), raw=raw.to_device),
    copy("copy cuda to pinned", make=_copy(False), raw=raw.to_host),
)

"""Small typical programs: the kernels that they launch are shipped as prebuilt cubins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .. import nn, optim
from ..autograd.mode import no_grad
from ..dtypes import bfloat16, dtype, float16, float32
from ..ops.operator import REGISTRY
from ..tensor import arange, full, ones, rand, randint, randn, randperm, zeros, zeros_like

WIDE = 64  # a multiple of every vector's width
BATCH = 32


def arithmetic(kind: dtype) -> list[Any]:
    """Make tensors, combine them in aligned and in broken layouts, reduce them, read them."""
    a, b = (randn(WIDE, WIDE, device="cuda").to(kind) for _ in range(2))
    found: list[Any] = []
    for x, y in ((a, b), (a, b.t()), (a[1:], b[:1]), (a.t(), b)):
        found += [x + y, x - y, x * y, x / y, x + 1, x * 2, 2 - x, -x, x > y, x == y, x > 0]
        found += [REGISTRY["where"](x > 0, x, y), x.exp(), x.abs(), x.sqrt(), x.tanh(), x.relu()]
        found += [x.clamp(min=0), x.float(), x.clone()]
    a += b
    a *= 0.5
    b[:, ::2] = 0
    for along in ({}, {"dim": 0}, {"dim": 1}):
        found += [a.sum(**along), a.mean(**along), a.max(**along), a.argmax(**along)]
    found += [a @ b, a.softmax(1), a.t().contiguous(), REGISTRY["cat"]([a, b]), str(a), a.sum().item(), a.zero_()]
    return found + [zeros(WIDE, device="cuda", dtype=kind), full((WIDE,), 2, device="cuda")]


def indexing() -> list[Any]:
    """Count, compare, mask and gather with int64 and bool."""
    at = arange(WIDE, device="cuda")
    table = randn(WIDE, WIDE, device="cuda")
    mask = (at % 2 == 0) & (at > 1) | ~(at < WIDE - 1)
    found = [at + 1, at * 2, at // 2, at - at, at + at, at == 3, at.sum(), at.max(), at.float(), at.clone(), at[mask]]
    found += [mask.sum(), mask.any(), mask.all(), table[at], table[mask], table.gather(1, at[:, None])]
    table[mask] = 0
    found += [randint(0, WIDE, (WIDE,), device="cuda"), rand(WIDE, device="cuda")]
    return [*found, zeros_like(at), randperm(WIDE, device="cuda"), table[0].argsort(), table[0].topk(4)]


def training(make: Callable[[Any], Any], kind: dtype) -> None:
    """Train a small classifier for two steps, then test it."""
    first = [nn.Linear(WIDE, WIDE), nn.ReLU(), nn.LayerNorm(WIDE)]
    second = [nn.Linear(WIDE, WIDE), nn.GELU(), nn.Dropout(0.1), nn.Linear(WIDE, 10)]
    net = nn.Sequential(*first, *second).to("cuda", kind)
    x, y = randn(BATCH, WIDE, device="cuda").to(kind), randint(0, 10, (BATCH,), device="cuda")
    optimizer = make(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    net.eval()
    with no_grad():
        (net(x).argmax(1) == y).float().mean().item()


def attention(kind: dtype) -> None:
    """One block of a language model, forward and backward."""
    tokens = randint(0, WIDE, (2, BATCH), device="cuda")
    embed, norm = nn.Embedding(WIDE, WIDE).to("cuda", kind), nn.LayerNorm(WIDE).to("cuda", kind)
    project, up = nn.Linear(WIDE, 3 * WIDE).to("cuda", kind), nn.Linear(WIDE, WIDE).to("cuda", kind)
    x = embed(tokens)
    q, k, v = project(norm(x)).chunk(3, -1)
    above = ones(BATCH, BATCH, device="cuda").triu(1).bool()
    weights = (q @ k.transpose(1, 2) * WIDE**-0.5).masked_fill(above, float("-inf")).softmax(-1)
    x = x + weights @ v
    x = x + nn.functional.silu(up(norm(x)))
    nn.functional.cross_entropy(x.view(-1, WIDE), tokens.view(-1)).backward()


# programs whose kernels are launched in an order that others share
STEPS: tuple[Callable[[], object], ...] = (
    partial(training, partial(optim.Adam, lr=1e-3), float32),
    partial(training, partial(optim.AdamW, lr=1e-3), float32),
    partial(training, partial(optim.SGD, lr=1e-2), float32),
    partial(training, partial(optim.SGD, lr=1e-2, momentum=0.9), float32),
    partial(training, partial(optim.AdamW, lr=1e-3), bfloat16),
    partial(attention, float32),
    partial(attention, bfloat16),
)

# and those that use many, in no order that means anything
CALLS: tuple[Callable[[], object], ...] = (
    partial(arithmetic, float32),
    indexing,
    partial(arithmetic, bfloat16),
    partial(arithmetic, float16),
)

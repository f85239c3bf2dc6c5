"""Counts of blocks, launches, copies and waits per warm call.  They are exact on every machine, so tests gate them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import flambeau as torch
from flambeau import config, nn, optim
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.nn import functional as F

Call = Callable[[], Any]
WARM_CALLS = 3  # compile, fill the caches, settle the allocator


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count launches, copies, blocks, new segments, events and waits inside the block.

    Where the allocator caches nothing, each block is a segment, whose release takes an event; neither is counted there.
    """
    seen: Counter[str] = Counter()

    def on_wait(waiter: Any, event: Any) -> None:
        seen["host wait" if waiter is None else "stream wait"] += 1

    hooks = {
        "on_launch": lambda *_: seen.update(["launch"]),
        "on_copy": lambda *_: seen.update(["copy"]),
        "on_block_taken": lambda *_: seen.update(["block"]),
        "on_record": lambda *_: seen.update(["record"]),
        "on_wait": on_wait,
    }
    segments = _segments()
    subscribe(**hooks)
    try:
        yield seen
    finally:
        unsubscribe(**hooks)
        if config.no_memory_caching():
            del seen["record"]
        elif added := _segments() - segments:
            seen["segment"] = added


def _segments() -> int:
    """How often device memory was asked of the driver so far."""
    devices = range(torch.cuda.device_count())
    return sum(torch.cuda.memory_stats(index).get("num_device_alloc", 0) for index in devices)


def of(call: Call) -> dict[str, int]:
    """Count the driver and allocator calls of one warm call."""
    for _ in range(WARM_CALLS):
        call()
    torch.cuda.synchronize()
    with counted() as seen:
        kept = call()
    del kept
    return dict(sorted(seen.items()))


def _training_step() -> Call:
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
    x, y = torch.randn(32, 64, device="cuda"), torch.randint(0, 10, (32,), device="cuda")

    def step() -> None:
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()

    return step


def _recurrent() -> tuple[Call, Call]:
    """(forward, forward and backward) of a GRU: neither depends on the number of steps."""
    net, x = nn.GRU(8, 8, num_layers=2).cuda(), torch.randn(5, 4, 8, device="cuda")

    def step() -> None:
        net.zero_grad()
        net(x)[0].sum().backward()

    return lambda: net(x), step


def _trained() -> list[nn.Parameter]:
    """The parameters of a perceptron, with gradients."""
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
    for param in net.parameters():
        param.grad = torch.randn_like(param)
    return list(net.parameters())


def calls() -> dict[str, Call]:
    """The calls whose costs are watched, by name."""
    a, b = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    host = torch.randn(64, 64).pin_memory()
    images, kernel, bias = (torch.randn(*shape, device="cuda") for shape in ((4, 8, 16, 16), (8, 8, 3, 3), (8,)))
    trained, ones = _trained(), torch.ones(1, device="cuda")
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    gru, gru_step = _recurrent()

    def with_stream() -> None:
        with torch.cuda.stream(side):
            pass

    return {
        "a + b": lambda: a + b,
        "a.add_(b)": lambda: a.add_(b),
        "a + b.t()": lambda: a + b.t(),
        "a.exp()": a.exp,
        "a.sum()": lambda: a.sum(),
        "a @ b": lambda: a @ b,
        "relu of addmm": lambda: torch._addmm_activation(a[0], a, b),
        "softmax(a)": lambda: torch.softmax(a, -1),
        "conv2d": lambda: torch.conv2d(images, kernel),
        "conv2d with bias": lambda: torch.conv2d(images, kernel, bias, padding=1),
        "max_pool2d": lambda: torch.max_pool2d(images, 2),
        "empty": lambda: torch.empty(64, 64, device="cuda"),
        "zeros": lambda: torch.zeros(64, 64, device="cuda"),
        "randn": lambda: torch.randn(64, 64, device="cuda"),
        "a[1:]": lambda: a[1:],
        "a.item()": lambda: a[0, 0].item(),
        "_assert_async": lambda: torch._assert_async(ones),
        "pinned to cuda": lambda: host.to("cuda", non_blocking=True),
        "cuda to cpu": lambda: a.cpu(),
        "cuda to pinned": lambda: a.to("cpu", non_blocking=True),
        "with stream": with_stream,
        "wait_stream": lambda: side.wait_stream(torch.cuda.current_stream()),
        "event.record": event.record,
        "forward + backward": _training_step(),
        "gru": gru,
        "gru, forward + backward": gru_step,
        "AdamW.step": optim.AdamW(_trained()).step,
        "SGD.step": optim.SGD(_trained(), momentum=0.9).step,
        "zero_grad": optim.SGD(_trained()).zero_grad,
        "clip_grad_norm_": lambda: nn.utils.clip_grad_norm_(trained, 1.0),
        "clip_grad_value_": lambda: nn.utils.clip_grad_value_(trained, 1.0),
    }


def measure(only: str = "") -> list[dict[str, Any]]:
    """The counts of every watched call whose name has `only` in it."""
    return [{"name": name, "counts": of(call)} for name, call in calls().items() if only in name]

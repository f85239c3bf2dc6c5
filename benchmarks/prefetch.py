"""`python -m benchmarks.prefetch [--only TEXT] [--batches N]`: the copies that DataLoader(device=…) makes ahead.

How much of the time of these copies lies beside the kernels of a training: at least 95 % should.  A network trains on
batches that the loader copies to the GPU on a stream of its own; the trace of its steps has the times of all copies and
kernels: from CUPTI on NVIDIA GPUs, and from the model's clock on virtual ones, where `values=no` in FLAMBEAU_GPUS saves
the computing.  The first batch comes before the trace; the copy of the next one has no kernels beside it.

The GPU has to be what is waited for.  The dataset holds whole batches, as the host cannot collate as fast as these
networks train, and they are so large that a step's kernels take longer than the host's calls, which the trace slows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F
from flambeau.tools.trace_analysis import Analysis
from flambeau.utils.data import DataLoader, Dataset

from .models import residual_net

GOAL = 0.95


class Batches(Dataset[Any]):
    """Batches of images, all alike, and their classes."""

    def __init__(self, count: int, images: tuple[int, ...], classes: int) -> None:
        self.count, self.batch = count, (torch.randn(*images), torch.arange(images[0]) % classes)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return self.batch


class Network(NamedTuple):
    """A network, the shape of its batches, and the number of classes."""

    make: Callable[[], Any]
    images: tuple[int, ...]
    classes: int


def digits() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


NETWORKS = {
    "digits": Network(digits, (4096, 1, 28, 28), 10),
    "ResNet-50": Network(lambda: residual_net(torch, (3, 4, 6, 3), True, 64, 1000), (256, 3, 224, 224), 1000),
}


class Found(NamedTuple):
    """copies_ns: the time of the copies;  beside: the part of it in which kernels ran."""

    copies_ns: int
    beside: float


def measured(network: Network, batches: int) -> Found:
    """Train on `batches` batches, and trace all but the first."""
    net = network.make().cuda()
    optimizer = optim.SGD(net.parameters(), lr=0.01)
    dataset = Batches(batches + 1, network.images, network.classes)
    rest = iter(DataLoader(dataset, batch_size=None, pin_memory=True, device="cuda"))

    def step(x: Any, classes: Any) -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(x), classes).backward()
        optimizer.step()

    step(*next(rest))
    torch.cuda.synchronize()
    with torch.profile() as profile:
        for batch in rest:
            step(*batch)
        torch.cuda.synchronize()
    figures = Analysis(profile.trace).figures[0]
    return Found(figures.copy_ns, figures.overlapped_ns / figures.copy_ns)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prefetch", description="Copies made ahead.")
    parser.add_argument("--only", metavar="TEXT", default="", help="networks with this text in their name")
    parser.add_argument("--batches", type=int, default=40, metavar="N", help="that are traced (40)")
    options = parser.parse_args(arguments)
    missed = 0
    print(torch.cuda.get_device_name())
    for name, network in NETWORKS.items():
        if options.only in name:
            found = measured(network, options.batches)
            missed += found.beside < GOAL
            ms = found.copies_ns / 1e6 / options.batches
            print(f"{name:12} copies {ms:8.3f} ms a batch, {found.beside:6.1%} beside kernels (goal {GOAL:.0%})")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Host time of DataParallel's steps beside a single GPU's, on a driver that does nothing.

    python -m benchmarks.data_parallel [--json]

Only the library's own time is left: the driver's calls return at once, and no kernel runs.  A step is forward, backward
and AdamW, with as many rows per GPU on every number of GPUs; the figure is the second fastest of 60, in CPU time.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any
from unittest import mock

import flambeau as torch
from flambeau import driver, nn, optim
from flambeau.config import virtual_gpus
from flambeau.core import thread
from flambeau.core.queue import HotCalls
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.followed import FollowedDriver
from flambeau.nn import functional as F
from flambeau.runtime.machine import Machine

COUNTS = (1, 2, 8)
WORDS, LENGTH, WIDTH, HEADS = 1000, 64, 256, 8


def nothing(*args: Any, **kwargs: Any) -> None:
    pass


class IdleCalls(HotCalls):
    launch = event_record = stream_wait_event = copy = library_run = nothing


class IdleDriver(VirtualDriver):
    """Virtual GPUs that take work and drop it."""

    block_taken = block_given = block_finished = fill = nothing
    launch = event_record = stream_wait_event = copy = library_run = nothing

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.capabilities = self.capabilities._replace(watches_blocks=False)

    def start(self) -> None:
        super().start()
        self.hot = IdleCalls(self)


def use_idle_gpus(count: int, is_checked: bool = False) -> None:
    """Use such GPUs.  is_checked: whether a model follows their driver, as `flambeau check` does on NVIDIA GPUs."""

    def make(*args: Any) -> VirtualDriver:
        idle = IdleDriver(*args)
        return FollowedDriver(args[0], idle) if is_checked else idle

    machine = Machine(virtual_gpus(count))
    thread.swap_machine(machine)
    with mock.patch.object(driver, "make", make):
        machine.start()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        rows, length, width = x.shape
        parts = self.qkv(self.norms[0](x)).split(width, 2)
        heads = [each.view(rows, length, HEADS, width // HEADS).transpose(1, 2) for each in parts]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class SmallGPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(6)])
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x: Any, y: Any) -> Any:
        h = self.blocks(self.words(x) + self.places.weight[: x.shape[1]])
        return F.cross_entropy(self.out(self.norm(h)).view(-1, WORDS), y.view(-1))

    @staticmethod
    def batch(gpus: int) -> tuple[Any, Any]:
        return tuple(torch.zeros(gpus, LENGTH, dtype=torch.int64, device="cuda") for _ in range(2))


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[each for _ in range(6) for each in (nn.Linear(64, 64), nn.ReLU())])

    def forward(self, x: Any, y: Any) -> Any:
        return (self.layers(x) - y).square().mean()

    @staticmethod
    def batch(gpus: int) -> tuple[Any, Any]:
        return tuple(torch.zeros(4 * gpus, 64, device="cuda") for _ in range(2))


def step_ms(kind: Any, gpus: int) -> float:
    use_idle_gpus(gpus)
    net, batch = kind().cuda(), kind.batch(gpus)
    module = nn.DataParallel(net)
    optimizer = optim.AdamW(net.parameters())
    times = []
    for _ in range(65):
        begin = time.process_time()
        optimizer.zero_grad()
        module(*batch).mean().backward()
        optimizer.step()
        times.append(1e3 * (time.process_time() - begin))
    return sorted(times[5:])[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # gather makes a vector of the losses
    found = {kind.__name__: {gpus: step_ms(kind, gpus) for gpus in COUNTS} for kind in (Perceptron, SmallGPT)}
    if options.json:
        print(json.dumps(found))
        return
    for name, times in found.items():
        for gpus, each in times.items():
            further = f", {(each / times[1] - 1) / (gpus - 1):.0%} per further GPU" if gpus > 1 else ""
            print(f"{name} on {gpus} GPU{'s' * (gpus > 1)}: {each:.2f} ms a step{further}")


if __name__ == "__main__":
    main()

"""A network, its batches, and DistributedDataParallel on ranks, for the tests of its modules."""

import threading

import flambeau as torch
from flambeau import nn
from flambeau.testing import machine
from tests.parallel.ranks import run

DDP = nn.parallel.DistributedDataParallel
SEEDING = threading.Lock()  # ranks are threads, and the generator is the process's


def network(seed=0):
    with SEEDING:
        torch.manual_seed(seed)
        layers = nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.LayerNorm(6), nn.Linear(6, 3)
    return nn.Sequential(*layers).double()


def batch(step, rows=8):
    generator = torch.Generator().manual_seed(40 + step)
    return torch.randn(rows, 5, generator=generator, dtype=torch.float64)


def part(x, rank, size):
    return x[rank * len(x) // size : (rank + 1) * len(x) // size]


def values(tensors):
    return [value for each in tensors for value in each.detach().cpu().reshape(-1).tolist()]


def ranks(train, monkeypatch, size=2, device="cuda", races="error"):
    """The results of train(rank, place) per rank, on fresh GPUs."""
    with machine(devices=size, races=races):
        return run(train, size, monkeypatch, device)


def gradients(net):
    return [None if each.grad is None else each.grad.tolist() for each in net.parameters()]


class Branches(nn.Module):
    """Layers of which a call uses some."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(3)])

    def forward(self, x, used):
        return sum(self.layers[index](x) for index in used)

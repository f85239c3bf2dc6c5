"""The steps of a first program with DistributedDataParallel: set up, wrap, train, save in one rank, load in all.

    torchrun --nproc-per-node 2 tutorial.py
"""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def setup(backend):
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if backend == "nccl":
        torch.cuda.set_device(local)
    dist.init_process_group(backend)
    return rank, dist.get_world_size(), torch.device("cuda", local) if backend == "nccl" else torch.device("cpu")


def rows(step, rank, world_size, count=20):
    """This rank's rows of a batch that is the same however many ranks share it."""
    generator = torch.Generator().manual_seed(step)
    x, y = torch.randn(count, 10, generator=generator), torch.randn(count, 5, generator=generator)
    return x.chunk(world_size)[rank], y.chunk(world_size)[rank]


def train(ddp, rank, world_size, device, steps, first=0):
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp.parameters(), lr=0.05, momentum=0.9)
    for step in range(first, first + steps):
        x, y = rows(step, rank, world_size)
        optimizer.zero_grad()
        loss = loss_fn(ddp(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step} loss {mean.item() / world_size:.15g}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="nccl")
    backend = parser.parse_args().backend
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    rank, world_size, device = setup(backend)
    ids = [device.index] if device.type == "cuda" else None
    ddp = DDP(ToyModel().to(device), device_ids=ids)
    train(ddp, rank, world_size, device, 4)

    # one rank saves, after which all of them load what it saved onto their own device
    names = [os.path.join(tempfile.mkdtemp(), "model.checkpoint") if rank == 0 else None]
    dist.broadcast_object_list(names, src=0)
    if rank == 0:
        torch.save(ddp.state_dict(), names[0])
    dist.barrier()
    again = DDP(ToyModel().to(device), device_ids=ids)
    again.load_state_dict(torch.load(names[0], map_location=device, weights_only=True))
    dist.barrier()
    if rank == 0:
        os.remove(names[0])
    train(again, rank, world_size, device, 3, first=4)
    total = torch.stack([each.detach().sum() for each in again.parameters()]).sum()
    sums = [torch.zeros_like(total) for _ in range(world_size)]
    dist.all_gather(sums, total)
    if rank == 0:
        print("equal in all ranks:", all(bool(each == total) for each in sums), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

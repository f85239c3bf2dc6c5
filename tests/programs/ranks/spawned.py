"""A program that starts its own ranks with multiprocessing.spawn and a file that they find each other by."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def worker(rank, world_size, where, device):
    torch.set_default_dtype(torch.float64)
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"file://{where}", rank=rank, world_size=world_size)
    place = torch.device(device, rank) if device == "cuda" else torch.device(device)
    torch.manual_seed(3)
    ids = [rank] if device == "cuda" else None
    net = nn.parallel.DistributedDataParallel(nn.Linear(4, 2).to(place), device_ids=ids)
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(8, 4, generator=generator).chunk(world_size)[rank]
    net(x.to(place)).square().mean().backward()
    norm = torch.linalg.vector_norm(net.module.weight.grad).item()
    dist.barrier()
    if rank == 0:
        print(f"gradient norm {norm:.15g}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--world-size", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(args.world_size, os.path.join(folder, "store"), args.device), nprocs=args.world_size)

"""Train a network with DistributedDataParallel, in one process or several, on GPUs, virtual GPUs or the CPU.

    flambeau run --gpus virtual:2 --nproc 2 examples/ddp.py
"""

import os

import flambeau as torch
from flambeau import distributed as dist
from flambeau import nn
from flambeau.utils.data import DataLoader, TensorDataset
from flambeau.utils.data.distributed import DistributedSampler


def main() -> list[float]:
    dist.init_process_group()
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")

    torch.manual_seed(0)
    x = torch.randn(256, 8)
    data = TensorDataset(x, x.sum(1, keepdim=True).sin())
    sampler: DistributedSampler[int] = DistributedSampler(data)
    loader = DataLoader(data, batch_size=64 // dist.get_world_size(), sampler=sampler)

    layers = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    net = nn.parallel.DistributedDataParallel(layers)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses: list[float] = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device=device)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        losses.append(total.item() / len(loader))
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    dist.destroy_process_group()
    return losses


if __name__ == "__main__":
    main()

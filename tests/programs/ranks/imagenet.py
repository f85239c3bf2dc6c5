"""The loop of an image classifier's training over several ranks: synchronized batch norm, a sampler with epochs,
figures summed over the ranks, and checkpoints that one rank writes."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.utils.data


class Images(torch.utils.data.Dataset):
    """Images of stripes; the class is their direction."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        stripes = torch.arange(8.0).remainder(2 + index % 3).expand(8, 8)
        image = stripes if index % 2 else stripes.t()
        return (image + 0.3 * torch.randn(8, 8, generator=generator)).expand(2, 8, 8).contiguous(), index % 2


class AverageMeter:
    """The average of a figure over all samples of all ranks."""

    def __init__(self, name):
        self.name, self.sum, self.count = name, 0.0, 0

    def update(self, value, count):
        self.sum += value * count
        self.count += count

    def all_reduce(self, device):
        total = torch.tensor([self.sum, self.count], dtype=torch.float64, device=device)
        dist.all_reduce(total, dist.ReduceOp.SUM)
        self.sum, self.count = total.tolist()

    def __str__(self):
        return f"{self.name} {self.sum / self.count:.15g}"


def network():
    return nn.Sequential(
        *(nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        *(nn.Flatten(), nn.Linear(8, 2)),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist-backend", default="nccl")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("-b", "--batch-size", type=int, default=8)
    args = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    dist.init_process_group(args.dist_backend, init_method="env://")
    rank, world_size, gpu = dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"])
    on_gpu = args.dist_backend == "nccl"
    device = torch.device("cuda", gpu) if on_gpu else torch.device("cpu")
    torch.manual_seed(11 + rank)  # rank 0's parameters are copied to the others
    model = network().to(device)
    if on_gpu:
        torch.cuda.set_device(gpu)
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = nn.parallel.DistributedDataParallel(model, device_ids=[gpu] if on_gpu else None)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    data = Images(32)
    sampler = torch.utils.data.distributed.DistributedSampler(data, seed=2)
    loader = torch.utils.data.DataLoader(
        data, batch_size=args.batch_size // world_size, sampler=sampler, pin_memory=on_gpu, drop_last=True
    )
    seen = []
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        losses, top1 = AverageMeter("loss"), AverageMeter("top1")
        for images, target in loader:
            images, target = images.to(device, non_blocking=True), target.to(device, non_blocking=True)
            output = model(images)
            loss = criterion(output, target)
            losses.update(loss.item(), len(images))
            top1.update((output.argmax(1) == target).double().mean().item(), len(images))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.all_reduce(device)
        top1.all_reduce(device)
        seen.append(list(sampler))
        if rank == 0:
            print(f"epoch {epoch} {losses} {top1}", flush=True)
    assert seen[0] != seen[-1]
    if rank == 0:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint.pth.tar")
            torch.save({"epoch": epoch, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
            checkpoint = torch.load(path, map_location=device)
        model.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        model.eval()
        with torch.no_grad():
            images = torch.stack([data[index][0] for index in range(4)]).to(device)
            print(f"after loading {model.module(images).sum().item():.15g}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

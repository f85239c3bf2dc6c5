"""Train a small network on handwritten digits, on the CPU, one GPU or several GPUs, real or virtual.

    python examples/digits.py                                   all GPUs, or the CPU if there is none
    flambeau run --gpus virtual:2 examples/digits.py            two virtual GPUs
    python examples/digits.py --amp --save net.pt               in mixed precision; --resume net.pt continues

A DataLoader pins the batches, and each batch is copied on a side stream while the previous one is used.  With several
GPUs, DataParallel splits each batch.  Progress goes to stderr; the last line of stdout is the accuracy.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sklearn.datasets import load_digits
from tqdm import tqdm
from training import Training, add_options_of_training

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F
from flambeau.utils.data import DataLoader, TensorDataset

TEST_IMAGES = 360
Row = tuple[torch.Tensor, ...]  # an image and its digit, or a batch of them


class Prefetcher:
    """A loader's batches on a device, each copied on a side stream while the caller uses the previous one."""

    def __init__(self, loader: DataLoader[Row], device: torch.device) -> None:
        self.loader = loader
        self.device = device
        self.stream = torch.cuda.Stream(device)

    def __iter__(self) -> Iterator[Row]:
        ahead: Row | None = None
        for batch in self.loader:
            ready = None if ahead is None else self.handed_over(ahead)
            ahead = self.copied(batch)
            if ready is not None:
                yield ready
        if ahead is not None:
            yield self.handed_over(ahead)

    def copied(self, batch: Row) -> Row:
        """Start copying a batch.  Waiting for the current stream keeps the copies at most one step ahead."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.stream):
            return tuple([each.to(self.device, non_blocking=True) for each in batch])

    def handed_over(self, batch: Row) -> Row:
        """Make the current stream wait for the copies, and keep their memory until its work on them is done."""
        current = torch.cuda.current_stream(self.device)
        current.wait_stream(self.stream)
        for each in batch:
            each.record_stream(current)
        return batch


Batches = DataLoader[Row] | Prefetcher


def digits() -> tuple[TensorDataset, TensorDataset]:
    """Return 1,437 images for training and 360 for testing: 64 brightness values from 0 to 1, and the digits."""
    loaded = cast(Any, load_digits())  # scikit-learn has no annotations
    images = torch.tensor(loaded.data / 16.0, dtype=torch.float32)
    targets = torch.tensor(loaded.target, dtype=torch.int64)
    order = torch.randperm(len(images))
    train, test = order[TEST_IMAGES:], order[:TEST_IMAGES]
    return TensorDataset(images[train], targets[train]), TensorDataset(images[test], targets[test])


def batches(dataset: TensorDataset, size: int, device: torch.device, shuffle: bool) -> Batches:
    on_gpu = device.type == "cuda"
    loader = DataLoader(dataset, batch_size=size, shuffle=shuffle, pin_memory=on_gpu)
    return Prefetcher(loader, device) if on_gpu else loader


def train(net: nn.Module, optimizer: optim.Optimizer, loader: Batches, training: Training) -> list[float]:
    """Train, and return the loss of every step.  Losses are read once per epoch, so that no step waits for the GPU."""
    epochs = training.options.epochs
    for _ in tqdm(range(training.done, epochs), desc="training", unit="epoch"):
        losses: list[Mapping[str, torch.Tensor]] = []
        for images, targets in loader:
            with training.autocast():
                loss = F.cross_entropy(net(images), targets)
            training.update(loss, optimizer)
            losses.append({"loss": loss.detach()})
        training.read(losses)
    training.finish(epochs)
    return training.losses["loss"]


def accuracy(net: nn.Module, loader: Batches) -> float:
    """Return the fraction of images that the network classifies correctly."""
    with torch.no_grad():
        hits = [(net(images).argmax(1) == targets).float() for images, targets in loader]
    return torch.cat(hits).mean().item()


def main(argv: Sequence[str] | None = None) -> tuple[float, list[float]]:
    """Train and test; return the test accuracy and the loss of every step."""
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--disable-cuda", action="store_true", help="use the CPU even if there is a GPU")
    add_options_of_training(parser)
    options = parser.parse_args(argv)
    device = torch.device("cpu" if options.disable_cuda else options.device)
    options.device = device

    torch.manual_seed(options.seed)
    train_set, test_set = digits()
    net: nn.Module = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    if device.type == "cuda" and torch.cuda.device_count() > 1:
        net = nn.DataParallel(net)

    optimizer = optim.Adam(net.parameters(), lr=options.learning_rate)
    training = Training(options, {"net": net, "optimizer": optimizer})
    losses = train(net, optimizer, batches(train_set, options.batch_size, device, True), training)
    found = accuracy(net, batches(test_set, options.batch_size, device, False))
    if device.type == "cuda":
        print(torch.cuda.memory_summary(device, abbreviated=True))
    print(f"test accuracy {found:.3f}")
    return found, losses


if __name__ == "__main__":
    main()

"""`python -m benchmarks.loading [--rounds N] [--only TEXT]`: epochs of a DataLoader, beside PyTorch's in one run.

Needs no GPU.  Batches per second, medians of rounds that alternate between the two; PyTorch has one thread.  An epoch
is timed from `iter()` on: it includes the start of the workers, unless they persist.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .times import cpu_libraries

ROWS = 20_000  # samples of the TensorDataset
IMAGES, IMAGE_BATCH = 256, 32
ARRAYS = 2048  # enough that the start of workers is not what is measured
TENSORS, RECORDS, BATCH = 4096, 8192, 64
WORKERS = 0, 1, 2, 8

Make = Callable[[Any], Any]  # a loader of a library


def _rows(library: Any) -> Any:
    return library.utils.data.TensorDataset(
        library.arange(ROWS * 16, dtype=library.float32).reshape(ROWS, 16), library.arange(ROWS)
    )


def _tensors(library: Any) -> Any:
    """Samples that are tensors, picked one by one."""
    table, labels = library.arange(TENSORS * 256, dtype=library.float32).reshape(TENSORS, 256), library.arange(TENSORS)

    class Tensors(library.utils.data.Dataset):
        def __len__(self) -> int:
            return TENSORS

        def __getitem__(self, index: int) -> Any:
            return table[index], labels[index]

    return Tensors()


def _images(library: Any) -> Any:
    """Images of 3x224x224 bytes and a transform in Python, which turns each around and makes a tensor of floats."""
    pictures = np.random.default_rng(0).integers(0, 256, (8, 3, 224, 224), dtype=np.uint8)

    class Images(library.utils.data.Dataset):
        def __len__(self) -> int:
            return IMAGES

        def __getitem__(self, index: int) -> Any:
            turned = np.ascontiguousarray(pictures[index % 8][:, :, ::-1])
            return library.from_numpy(turned).float().div_(255).sub_(0.5), index % 10

    return Images()


def _arrays(library: Any) -> Any:
    """The bytes of such images, as they are."""
    pictures = np.random.default_rng(0).integers(0, 256, (8, 3, 224, 224), dtype=np.uint8)

    class Arrays(library.utils.data.Dataset):
        def __len__(self) -> int:
            return ARRAYS

        def __getitem__(self, index: int) -> Any:
            return pictures[index % 8], index % 10

    return Arrays()


def _records(library: Any) -> Any:
    """Samples without tensors."""

    class Records(library.utils.data.Dataset):
        def __len__(self) -> int:
            return RECORDS

        def __getitem__(self, index: int) -> Any:
            return {"number": index, "half": index / 2, "name": str(index), "pair": (index, index + 1)}

    return Records()


def batches_of(library: Any, name: str) -> list[Any]:
    """The first two batches of a row, as nested lists."""
    loader = dict(cases())[name](library)
    return [_plain(batch) for batch in itertools.islice(loader, 2)]


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return str(value.dtype), list(value.shape), value.double().sum().item()
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def cases() -> Iterator[tuple[str, Make]]:
    """Each row's name, and what makes its loader of a library."""

    def loader(make: Make, **options: Any) -> Make:
        return lambda library: library.utils.data.DataLoader(make(library), **options)

    for size in (1, 32, 64):
        yield f"TensorDataset of {ROWS}, batches of {size}", loader(_rows, batch_size=size)
    yield f"TensorDataset of {ROWS}, batches of 64, shuffled", loader(_rows, batch_size=64, shuffle=True)
    kinds = (
        ("tensors", _tensors, BATCH), ("images", _images, IMAGE_BATCH), ("bytes of images", _arrays, IMAGE_BATCH),
        ("Python dataset", _records, BATCH),
    )  # fmt: skip
    for name, make, size in kinds:
        for workers in WORKERS:
            yield f"{name}, {workers} workers", loader(make, batch_size=size, num_workers=workers)
        yield f"{name}, 2 that persist", loader(make, batch_size=size, num_workers=2, persistent_workers=True)


def rate(loader: Any) -> float:
    """Batches per second of one epoch."""
    count, start = 0, time.perf_counter()
    for _ in loader:
        count += 1
    return count / (time.perf_counter() - start)


def measured(make: Make, libraries: dict[str, Any], rounds: int) -> dict[str, float]:
    """The median rate of each library, after an epoch that warms up."""
    loaders = {name: make(library) for name, library in libraries.items()}
    rates: dict[str, list[float]] = {name: [] for name in loaders}
    for number in range(rounds + 1):
        for name, loader in loaders.items():
            found = rate(loader)
            if number:
                rates[name].append(found)
    return {name: statistics.median(each) for name, each in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    libraries = cpu_libraries()
    print(f"{'batches per second':48}" + "".join(f"{name:>12}" for name in libraries) + f"{'ratio':>8}")
    for name, make in cases():
        if options.only in name:
            found = measured(make, libraries, options.rounds)
            ratio = f"{found['flambeau'] / found['torch']:8.2f}" if "torch" in found else ""
            print(f"{name:48}" + "".join(f"{each:12.1f}" for each in found.values()) + ratio, flush=True)


if __name__ == "__main__":
    main()

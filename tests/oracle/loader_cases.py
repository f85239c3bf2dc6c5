"""Results of PyTorch's DataLoader: run with PyTorch installed to rewrite loader_cases.json.

python tests/oracle/loader_cases.py

Most cases have fixed samplers, and random numbers are only counted; `orders` are those of seeds.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

# (dataset, its size, options of the DataLoader)
BATCHES = [
    (kind, size, options | {"num_workers": workers} | ({"persistent_workers": True} if workers == 2 else {}))
    for workers in (0, 1, 2)
    for kind, size, options in (
        ("map", 7, {"batch_size": 2}),
        ("map", 7, {"batch_size": 2, "drop_last": True}),
        ("map", 3, {"batch_size": None}),
        ("map", 9, {"sampler": [8, 2, 4, 4]}),
        ("map", 9, {"batch_sampler": [[1, 2], [3], [7, 8, 0]]}),
        ("items", 5, {"batch_size": 3}),
        ("subset", 9, {"batch_size": 2}),
        ("stack", 5, {"batch_size": 2}),
        ("concat", 7, {"batch_size": 3}),
        ("stream", 5, {"batch_size": 2}),
        ("stream", 5, {"batch_size": 2, "drop_last": True}),
        ("stream", 3, {"batch_size": None}),
        ("shares", 9, {"batch_size": 2}),
        ("chain", 5, {"batch_size": 2}),
        ("lame", 6, {"batch_size": 2}),
    )
]
LOGGED = [("RandomSampler", {}), ("logged", {}), ("logged_eager", {})]
LOG_WORKERS = [(0, None), (1, 2), (1, 3), (2, 2)]
DISTRIBUTED = [
    (count, replicas, rank, drop) for count in (0, 1, 5, 8, 10) for replicas in (1, 3) for rank in range(replicas)
    for drop in (False, True) if count
]  # fmt: skip


def datasets(data, kind, size):
    """A dataset of a kind, of a library's utils.data."""

    class Squares(data.Dataset):
        def __len__(self):
            return size

        def __getitem__(self, index):
            return index, float(index * index), str(index)

    class AtOnce(Squares):
        def __getitems__(self, indices):
            return [(index, -1.0, "at once") for index in indices]

    class Stream(data.IterableDataset):
        def __init__(self, first=0):
            self.first = first

        def __iter__(self):
            return iter(range(self.first, self.first + size))

    class Shares(data.IterableDataset):
        """Worker 0 has one sample in three, worker 1 two."""

        def __iter__(self):
            info = data.get_worker_info()
            if info is None or info.num_workers == 1:
                return iter(range(size))
            return iter(index for index in range(size) if (index % 3 != 0) == info.id)

    class Lame(Stream):
        """It raises at one sample, and goes on."""

        def __iter__(self):
            return iter(Stumbling(size))

    made = {
        "map": Squares,
        "items": AtOnce,
        "stream": Stream,
        "shares": Shares,
        "lame": Lame,
        "subset": lambda: data.Subset(AtOnce(), [4, 0, 2, 2, 7]),
        "stack": lambda: data.StackDataset(a=AtOnce(), b=list(range(size))),
        "concat": lambda: data.ConcatDataset([list(range(3)), list(range(10, 10 + size - 3))]),
        "chain": lambda: Stream() + Stream(100),
    }
    return made[kind]()


class Stumbling:
    """An iterator that raises at its fourth sample, and goes on."""

    def __init__(self, size):
        self.left = iter(range(size))

    def __iter__(self):
        return self

    def __next__(self):
        found = next(self.left)
        if found == 3:
            raise LookupError("three")
        return found


def plain(value):
    """A batch without tensors."""
    if hasattr(value, "tolist"):
        return [str(value.dtype).removeprefix("torch."), value.tolist()]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def epoch(loader):
    """The batches of an epoch; an exception by its name, after which the iterator is asked on."""
    found, iterator = [], iter(loader)
    while True:
        try:
            found.append(plain(next(iterator)))
        except StopIteration:
            return found
        except LookupError as error:
            found.append(type(error).__name__)


def batches(torch, kind, size, options):
    """Two epochs of a loader."""
    loader = torch.utils.data.DataLoader(datasets(torch.utils.data, kind, size), **options)
    return [epoch(loader), epoch(loader)]


def draws(torch, generator, before):
    """How many random int64 numbers were drawn from a generator since it had the state `before`."""
    twin = torch.Generator()
    twin.set_state(before)
    for count in range(10):
        if twin.get_state().tolist() == generator.get_state().tolist():
            return count
        torch.empty((), dtype=torch.int64).random_(generator=twin)
    return "others"


def log(torch, sampler, workers, prefetch):
    """Record a loader's calls of its sampler and of the default generator over an epoch of 6 batches."""
    events, data = [], torch.utils.data

    class Logged(data.Sampler):
        def __init__(self):
            pass

        def __iter__(self):
            events.append("iter")
            for index in range(6):
                events.append(index)
                yield index
            events.append("end")

    class Eager(data.Sampler):
        def __init__(self):
            pass

        def __iter__(self):
            torch.empty((), dtype=torch.int64).random_()
            return iter(range(6))

    made = {"RandomSampler": lambda: data.RandomSampler(range(6)), "logged": Logged, "logged_eager": Eager}
    own = torch.Generator()
    loader = data.DataLoader(
        list(range(6)), sampler=made[sampler](), batch_size=None, num_workers=workers, prefetch_factor=prefetch,
        generator=own,
    )  # fmt: skip
    found = []

    def step(call):
        default = torch.random.default_generator if hasattr(torch.random, "default_generator") else None
        default = default or torch.manual_seed(5)
        before, own_before = default.get_state(), own.get_state()
        result = call()
        found.append([draws(torch, default, before), draws(torch, own, own_before), list(events)])
        events.clear()
        return result

    torch.manual_seed(5)
    iterator = step(lambda: iter(loader))
    for _ in range(7):
        step(lambda: next(iterator, None))
    return found


ORDERS = {
    "random": lambda data, given: data.RandomSampler(range(50), generator=given),
    "fewer": lambda data, given: data.RandomSampler(range(50), num_samples=12, generator=given),
    "more": lambda data, given: data.RandomSampler(range(5), num_samples=12, generator=given),
    "replaced": lambda data, given: data.RandomSampler(range(50), True, 77, given),
    "subset": lambda data, given: data.SubsetRandomSampler(list(range(10, 40)), given),
    "weighted": lambda data, given: data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 40, generator=given),
    "weighted once": lambda data, given: data.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0, 0.6], 4, False, given),
    "shares": lambda data, given: [
        index for rank in range(3) for index in data.DistributedSampler(range(10), 3, rank, seed=7)
    ],
    "split": lambda data, given: [
        index for part in data.random_split(range(20), [0.5, 0.3, 0.2], given) for index in part.indices
    ],
    "shuffled": lambda data, given: [
        int(batch) for batch in data.DataLoader(list(range(20)), None, shuffle=True, generator=given)
    ],
}  # fmt: skip


def order(torch, name, seed):
    """Two orders of a seed: of a generator, and of the default one."""
    torch.manual_seed(seed)
    data = torch.utils.data
    given = list(ORDERS[name](data, torch.Generator().manual_seed(seed)))
    return [given, list(ORDERS[name](data, None))]


def noise(torch, seed, workers):
    """What workers draw from the generators of the library, Python and NumPy."""
    import random

    import numpy

    class Noise(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            drawn = torch.randint(0, 1000, (3,)).tolist(), random.random(), numpy.random.rand()
            return (torch.initial_seed(), torch.utils.data.get_worker_info().seed, *drawn)

    torch.manual_seed(seed)
    return [list(each) for each in torch.utils.data.DataLoader(Noise(), None, num_workers=workers)]


def distributed(torch, count, replicas, rank, drop):
    """The indices of one process, without shuffling, and the lengths."""
    sampler = torch.utils.data.DistributedSampler(range(count), replicas, rank, False, 0, drop)
    return [list(sampler), len(sampler), sampler.total_size]


def numpy_seed(torch, base_seed, worker):
    from torch.utils.data._utils.worker import _generate_state

    return _generate_state(base_seed, worker)


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    cases = {
        "batches": [[*case, batches(torch, *case)] for case in BATCHES],
        "logs": [[name, *how, log(torch, name, *how)] for name, _ in LOGGED for how in LOG_WORKERS],
        "distributed": [[*case, distributed(torch, *case)] for case in DISTRIBUTED],
        "orders": [[name, seed, order(torch, name, seed)] for name in ORDERS for seed in (0, 3, 2**40)],
        "noise": [[seed, workers, noise(torch, seed, workers)] for seed, workers in ((1, 1), (2, 2))],
        "numpy_seeds": [[seed, w, numpy_seed(torch, seed, w)] for seed in (0, 1, 2**40 + 7, 2**63 - 1) for w in (0, 5)],
        "version": torch.__version__,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()

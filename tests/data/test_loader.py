"""DataLoader without worker processes: order, options, pinning (1.9.10), batches on a GPU."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch
from flambeau.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler, Subset, TensorDataset
from flambeau.data.collate import collate_tensor_fn, default_collate_fn_map
from flambeau.errors import ArgumentError, NotSupportedError
from flambeau.testing import machine
from tests.oracle import loader_cases

RECORDED = json.loads(Path(loader_cases.__file__).with_suffix(".json").read_text())
gpu = pytest.mark.devices(1)


class Numbers(Dataset):
    """0, 1, 2 … as tensors; remembers what was asked for, and fails at one index."""

    def __init__(self, count, fails_at=None):
        self.count = count
        self.fails_at = fails_at
        self.asked = []

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.asked.append(index)
        if index == self.fails_at:
            raise KeyError(f"sample {index}")
        return torch.tensor(float(index))


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(torch.arange(float(self.count)))

    def __len__(self):
        return self.count


def values(loader):
    return [batch.tolist() for batch in loader]


def test_batches_come_in_order():
    assert values(DataLoader(Numbers(5), batch_size=2)) == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    assert values(DataLoader(Numbers(5), batch_size=2, drop_last=True)) == [[0.0, 1.0], [2.0, 3.0]]
    assert values(DataLoader(Numbers(2), batch_size=None)) == [0.0, 1.0]
    assert values(DataLoader(torch.arange(4.0).view(2, 2))) == [[[0.0, 1.0]], [[2.0, 3.0]]]


def test_shuffling_takes_each_sample_once_in_another_order_each_time():
    loader = DataLoader(Numbers(30), batch_size=7, shuffle=True, generator=torch.Generator().manual_seed(3))
    first, second = ([each for batch in values(loader) for each in batch] for _ in range(2))
    assert sorted(first) == sorted(second) == [float(each) for each in range(30)]
    assert first != second


def test_samplers_take_the_order_s_place():
    assert values(DataLoader(Numbers(9), sampler=[4, 2])) == [[4.0], [2.0]]
    chosen = BatchSampler(SequentialSampler(range(4)), 3, False)
    loader = DataLoader(Numbers(9), batch_sampler=chosen)
    assert (values(loader), loader.batch_size, len(loader)) == ([[0.0, 1.0, 2.0], [3.0]], None, 2)


def test_streams():
    assert values(DataLoader(Stream(5), batch_size=2)) == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    assert values(DataLoader(Stream(5), batch_size=2, drop_last=True)) == [[0.0, 1.0], [2.0, 3.0]]
    assert values(DataLoader(Stream(4), batch_size=2)) == [[0.0, 1.0], [2.0, 3.0]]
    assert values(DataLoader(Stream(2), batch_size=None)) == [0.0, 1.0]
    assert [len(DataLoader(Stream(5), batch_size=2, drop_last=drop)) for drop in (False, True)] == [3, 2]


def test_batches_may_be_fetched_and_collated_by_hand():
    class Fetched(Numbers):
        def __getitems__(self, indexes):
            return [10 * index for index in indexes]

    assert list(DataLoader(Fetched(3), batch_size=2, collate_fn=sum)) == [10, 20]
    x, y = next(iter(DataLoader(TensorDataset(torch.ones(3, 2), torch.arange(3)), batch_size=3)))
    assert (x.shape, y.tolist()) == ((3, 2), [0, 1, 2])


def test_options_that_exclude_each_other():
    cases = [
        ({"num_workers": -1}, "num_workers option should be non-negative, got -1"),
        ({"num_workers": 1, "prefetch_factor": -1}, "prefetch_factor option should be non-negative, got -1"),
        ({"multiprocessing_context": "fork"}, r"multi-process loading \(num_workers > 0\), but got num_workers=0"),
        ({"num_workers": 1, "multiprocessing_context": "no"}, "valid start method in .* got 'no'"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor=2 needs worker processes"),
        ({"persistent_workers": True}, "persistent_workers=True needs worker processes"),
        ({"sampler": [1], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
        ({"batch_size": 0}, "batch_size=0"),
    ]
    for options, text in cases:
        with pytest.raises(ArgumentError, match=text):
            DataLoader(Numbers(3), **options)
    with pytest.raises(
        ArgumentError, match="with IterableDataset: expected unspecified shuffle option, but got shuffle=True"
    ):
        DataLoader(Stream(3), shuffle=True)
    with pytest.raises(ArgumentError, match="timeout=1 needs worker processes"):
        iter(DataLoader(Numbers(3), timeout=1))
    with pytest.raises(TypeError, match="multiprocessing_context option should be a valid context .*, got 3"):
        DataLoader(Numbers(3), num_workers=1, multiprocessing_context=3)


def serial(recorded):
    return [case for case in recorded if case[-2]["num_workers"] == 0]


@pytest.mark.parametrize("case", serial(RECORDED["batches"]), ids=lambda case: f"{case[0]} {case[2]}")
def test_batches_are_pytorch_s(case):
    *given, expected = case
    assert loader_cases.batches(torch, *given) == expected


@pytest.mark.parametrize("case", [each for each in RECORDED["logs"] if each[1] == 0], ids=lambda case: case[0])
def test_samplers_and_generators_are_asked_when_pytorch_asks_them(case):
    *given, expected = case
    assert loader_cases.log(torch, *given) == expected


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_what_decides_the_batches_is_fixed(name):
    loader = DataLoader(Numbers(3))
    before = getattr(loader, name)
    with pytest.raises(ValueError, match=f"DataLoader: {name} attribute should not be set .* got 7"):
        setattr(loader, name, 7)
    assert getattr(loader, name) is before
    loader.collate_fn = len
    assert list(loader) == [1, 1, 1]


def test_an_iterator_goes_on_after_an_exception():
    batches = iter(DataLoader(Numbers(6, fails_at=2), batch_size=2))
    assert next(batches).tolist() == [0.0, 1.0]
    with pytest.raises(KeyError, match="sample 2"):
        next(batches)
    assert [batch.tolist() for batch in batches] == [[4.0, 5.0]]


def test_iterators_know_their_length_and_cannot_be_pickled():
    batches = iter(DataLoader(Numbers(5), batch_size=2))
    assert len(batches) == 3
    with pytest.raises(NotSupportedError, match="SerialIterator: an iterator cannot be pickled"):
        copy.copy(batches)


def test_a_stream_longer_than_it_said_is_a_warning():
    class Liar(Stream):
        def __len__(self):
            return 2

    loader = DataLoader(Liar(3), batch_size=None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2 .* but 3 samples have been fetched"):
        assert len(list(loader)) == 3


def test_more_workers_than_cores_are_a_warning():
    with pytest.warns(UserWarning, match="will create 100000 worker processes in total"):
        DataLoader(Numbers(3), num_workers=100000)


def test_it_is_generic():
    assert DataLoader[int].__origin__ is DataLoader


# rows of a TensorDataset, which are gathered at once


def rows(*dtypes):
    return TensorDataset(*[torch.arange(12).reshape(6, 2).to(dtype) for dtype in dtypes])


@pytest.mark.parametrize(
    "indices", [[0, 5, -1], [3], [np.int64(2), 1], [torch.tensor(4), 0], [slice(0, 2), slice(2, 4)]]
)
def test_rows_that_are_gathered_are_those_that_are_stacked(indices):
    data = rows(torch.float32, torch.int8, torch.bfloat16, torch.bool)
    wanted = torch.utils.data.default_collate([data[index] for index in indices])
    (found,) = DataLoader(data, batch_sampler=[indices])
    assert [(each.dtype, each.tolist()) for each in found] == [(each.dtype, each.tolist()) for each in wanted]
    assert type(found) is type(wanted) is list


@pytest.mark.parametrize("make", [lambda data: data, lambda data: Subset(Subset(data, [5, 4, 3, 2]), [3, 0, 1])])
def test_samples_in_a_list_are_those_of_getitem(make):
    data = make(rows(torch.float32, torch.int64))
    assert [[each.tolist() for each in sample] for sample in data.__getitems__([0, 2, 1])] == [
        [each.tolist() for each in data[index]] for index in (0, 2, 1)
    ]
    (found,) = DataLoader(data, batch_size=len(data), collate_fn=lambda samples: samples)
    assert [sample[1].tolist() for sample in found] == [data[index][1].tolist() for index in range(len(data))]


def test_a_gathered_batch_shares_nothing_with_its_dataset():
    data = rows(torch.float32)
    (batch,) = next(iter(DataLoader(data, batch_size=1)))
    batch.fill_(9)
    assert data[0][0].tolist() == [0.0, 1.0]


def test_an_index_out_of_range_is_named():
    with pytest.raises(IndexError, match="6"):
        list(DataLoader(rows(torch.float32), sampler=[6], batch_size=2))


def test_rows_with_a_gradient_stay_in_the_graph():
    x = torch.ones(3, 2, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(x), batch_size=2)))
    batch.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]


def test_another_way_to_collate_tensors_holds_for_rows_too(monkeypatch):
    def doubled(batch, *, collate_fn_map):
        return 2 * collate_tensor_fn(batch)

    monkeypatch.setitem(default_collate_fn_map, torch.Tensor, doubled)
    (batch,) = next(iter(DataLoader(rows(torch.float32), batch_size=2)))
    assert batch.tolist() == [[0.0, 2.0], [4.0, 6.0]]


def test_a_subclass_decides_about_its_samples():
    class Negative(TensorDataset):
        def __getitem__(self, index):
            return -super().__getitem__(index)[0]

    (batch,) = DataLoader(Negative(torch.arange(2)), batch_size=2)
    assert batch.tolist() == [0, -1]


# pinning


@gpu
def test_a_batch_is_made_and_pinned_when_it_is_asked_for(gpus):
    data = Numbers(5)
    batches = iter(DataLoader(data, batch_size=2, pin_memory=True))
    assert data.asked == []
    first = next(batches)
    assert (first.tolist(), first.is_pinned(), data.asked) == ([0.0, 1.0], True, [0, 1])
    assert [(each.tolist(), each.is_pinned()) for each in batches] == [([2.0, 3.0], True), ([4.0], True)]


@gpu
def test_an_exception_of_pinning_comes_at_its_turn(gpus):
    class Unpinnable:
        def pin_memory(self):
            raise ValueError("no room")

    batches = iter(DataLoader([torch.ones(1), Unpinnable(), torch.zeros(1)], batch_size=None, pin_memory=True))
    assert next(batches).item() == 1.0
    with pytest.raises(ValueError, match="no room"):
        next(batches)
    assert next(batches).item() == 0.0


def test_without_an_accelerator_it_warns_and_does_not_pin(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_GPUS", "none")
    from flambeau.core import thread
    from flambeau.runtime.machine import Machine

    previous = thread.swap_machine(Machine.from_environment())
    try:
        with pytest.warns(UserWarning, match="there is no accelerator: batches are not pinned"):
            (batch,) = DataLoader(Numbers(1), pin_memory=True)
    finally:
        thread.swap_machine(previous)
    assert (batch.tolist(), batch.is_pinned()) == ([0.0], False)


def test_random_draws_do_not_depend_on_pinning():
    class Noisy(Numbers):
        def __getitem__(self, index):
            return torch.rand(2)

    def drawn(pin):
        torch.manual_seed(1)
        return values(DataLoader(Noisy(9), batch_size=2, pin_memory=pin))

    with machine(devices=1):
        assert drawn(True) == drawn(True) == drawn(False)


# PyTorch's names


def test_names_that_programs_import():
    from flambeau.utils.data import _utils, dataloader, dataset, distributed, sampler
    from flambeau.utils.data._utils.collate import default_collate_err_msg_format, np_str_obj_array_pattern
    from flambeau.utils.data._utils.fetch import _BaseDatasetFetcher, _IterableDatasetFetcher, _MapDatasetFetcher
    from flambeau.utils.data._utils.worker import WorkerInfo, _generate_state

    assert default_collate_err_msg_format.format("x").startswith("default_collate: batch must contain tensors")
    assert [bool(np_str_obj_array_pattern.search(each)) for each in ("<U3", "|O", "<f4")] == [True, True, False]
    assert all(issubclass(each, _BaseDatasetFetcher) for each in (_MapDatasetFetcher, _IterableDatasetFetcher))
    assert len(_generate_state(3, 1)) == 4
    assert WorkerInfo(id=1, num_workers=2, seed=3, dataset=None).worker_method == "multiprocessing"
    assert dataloader.Dataset is dataset.Dataset is distributed.Dataset and dataloader.Sampler is sampler.Sampler
    assert _utils.MP_STATUS_CHECK_INTERVAL == 5.0
    kind = dataloader._DatasetKind
    assert DataLoader(Stream(2))._dataset_kind == kind.Iterable != DataLoader(Numbers(2))._dataset_kind == kind.Map
    fetcher = kind.create_fetcher(kind.Map, Numbers(4), True, sum, False)
    assert fetcher.fetch([1, 3]).item() == 4.0
    fetcher = kind.create_fetcher(kind.Iterable, Stream(4), True, sum, False)
    assert fetcher.fetch([None, None]).item() == 1.0


def test_what_an_iterator_tells_of_itself():
    from flambeau.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

    data = Numbers(3)
    batches = iter(DataLoader(data))
    next(batches)
    assert type(batches) is _SingleProcessDataLoaderIter and isinstance(batches, _BaseDataLoaderIter)
    assert (batches._num_yielded, batches._num_workers, batches._dataset is data) == (1, 0, True)
    assert batches._dataset_fetcher.dataset is data


class Repeated:
    """A sampler of batches without an end."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from self.sampler


def test_a_subclass_may_replace_its_sampler():
    class Endless(DataLoader):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self._DataLoader__initialized = False
            self.batch_sampler = Repeated(self.batch_sampler)
            self._DataLoader__initialized = True
            self.iterator = super().__iter__()

        def __len__(self):
            return len(self.batch_sampler.sampler)

        def __iter__(self):
            return (next(self.iterator) for _ in range(len(self)))

    loader = Endless(Numbers(3), batch_size=2)
    assert values(loader) == values(loader) == [[0.0, 1.0], [2.0]]
    with pytest.raises(ArgumentError, match="batch_sampler attribute should not be set after Endless is initialized"):
        loader.batch_sampler = []


def test_flags_of_numpy_and_numbers_are_flags():
    torch.manual_seed(0)
    loader = DataLoader(Numbers(9), 9, shuffle=np.True_, num_workers=False, pin_memory=None)
    assert sorted(values(loader)[0]) == [float(each) for each in range(9)] != values(loader)[0]


@gpu
def test_a_device_to_pin_for_is_a_warning_where_it_would_count(gpus):
    loader = DataLoader(Numbers(1), pin_memory=True, pin_memory_device="cuda")
    with pytest.warns(UserWarning, match="pin_memory_device='cuda' is deprecated"):
        iter(loader)
    assert values(DataLoader(Numbers(1), pin_memory_device="cuda")) == [[0.0]]


def test_data_pipes_are_refused_by_name():
    for name in ("IterDataPipe", "MapDataPipe", "functional_datapipe"):
        with pytest.raises(AttributeError, match=f"{name}: there are no DataPipes"):
            getattr(torch.utils.data, name)

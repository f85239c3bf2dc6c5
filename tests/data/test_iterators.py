"""Iterators over batches, fetchers, and pinned batches."""

import gc
import pickle
from collections import OrderedDict, UserList, namedtuple
from contextlib import contextmanager
from types import MappingProxyType

import pytest

import flambeau as torch
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.data import DataLoader, Dataset, TensorDataset
from flambeau.data.iterators import pin_memory
from flambeau.errors import ArgumentTypeError, DeviceIndexError, RaceError
from flambeau.runtime.stream import Stream
from flambeau.testing import machine
from flambeau.testing.schedules import outcomes

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
Pair = namedtuple("Pair", "x y")


def table(rows=6, columns=2):
    return TensorDataset(torch.arange(float(rows * columns)).reshape(rows, columns), torch.arange(rows))


@contextmanager
def subscribed(**functions):
    """The hooks of the core that call these functions."""
    subscribe(**functions)
    try:
        yield
    finally:
        unsubscribe(**functions)


def summed(loader):
    """Each batch's sum, computed on the current stream; read at the end."""
    return [(x.sum() + y.sum()) for x, y in loader]


KERNELS = 6  # per batch, so that a device has more to do than the host
EXPECTED = [1 + 0 + 5 + 1, 9 + 2 + 13 + 3, 17 + 4 + 21 + 5]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("races", ["error", "poison"])
def test_batches_are_on_the_gpu_and_ordered_before_their_use(workers, races):
    with machine(devices=1, races=races):
        loader = DataLoader(table(), batch_size=2, device="cuda", num_workers=workers)
        for _ in range(3):
            found = summed(loader)
            assert [each.item() for each in found] == EXPECTED
        batch = next(iter(loader))
        assert [str(each.device) for each in batch] == ["cuda:0", "cuda:0"]


def without(monkeypatch, *, consumer_waits=True, copies_wait=True, records=True):
    """Leave out some of what orders a loader's copies."""
    wait = Stream.wait_stream

    def lame(self, stream):
        if consumer_waits if self == torch.cuda.current_stream() else copies_wait:
            wait(self, stream)

    monkeypatch.setattr(Stream, "wait_stream", lame)
    if not records:
        monkeypatch.setattr(torch.Tensor, "record_stream", lambda self, stream: None)


def test_without_the_consumer_s_wait_a_race_is_found(monkeypatch):
    with machine(devices=1, races="error"):
        without(monkeypatch, consumer_waits=False)
        with pytest.raises(RaceError):
            summed(DataLoader(table(), batch_size=2, device="cuda"))


def test_memory_is_kept_by_the_record_or_by_the_copies_wait(monkeypatch):
    def run():
        with machine(devices=1, races="error"):
            return [each.item() for each in summed(DataLoader(table(12), batch_size=2, device="cuda"))][:3]

    for kept in ({"records": False}, {"copies_wait": False}):
        with monkeypatch.context() as patch:
            without(patch, **kept)
            assert run() == EXPECTED
    without(monkeypatch, records=False, copies_wait=False)
    with pytest.raises(RaceError):
        run()


@pytest.mark.parametrize("workers", [0, 1])
def test_copies_of_later_batches_lie_beside_the_work_on_earlier_ones(workers):
    """By the virtual GPU's modelled times: what a copy's span shares with those of kernels."""
    spans = []

    def on_span(device, stream, name, start_ns, end_ns, nbytes, site):
        spans.append((name.startswith("copy"), stream, start_ns, end_ns))

    with machine(devices=1, races="error"):
        table = torch.ones(1 << 23, device="cuda")
        loader = DataLoader(TensorDataset(torch.ones(24, 8192)), batch_size=4, device="cuda", num_workers=workers)
        for _ in range(2):  # the first epoch allocates pinned memory, for which devices wait
            torch.cuda.synchronize()
            spans.clear()
            with subscribed(on_span=on_span):
                for (x,) in loader:
                    table.mul_(x[0, 0])
                    for _ in range(KERNELS - 1):
                        table.neg_()
                torch.cuda.synchronize()
    copies = [each[1:] for each in spans if each[0]]
    kernels = [each[1:] for each in spans if not each[0]]
    assert (len(copies), len(kernels)) == (6, 6 * KERNELS)
    assert {each[0] for each in copies} & {each[0] for each in kernels} == set()

    def beside(copy):
        return sum(max(0, min(copy[2], kernel[2]) - max(copy[1], kernel[1])) for kernel in kernels)

    apart = [copy for copy in copies if beside(copy) < 0.95 * (copy[2] - copy[1])]
    assert apart == copies[:2]  # before there is any work


def test_every_schedule_gives_the_same_sums():
    def program(schedule):
        with machine(devices=1, races="real", schedule=schedule):
            return tuple(each.item() for each in summed(DataLoader(table(4), batch_size=2, device="cuda")))

    assert outcomes(program) == {tuple(EXPECTED[:2])}


def test_batches_that_are_on_a_gpu_already_stay_there():
    with machine(devices=2, races="error"):
        here, there = torch.arange(4.0, device="cuda:0"), torch.arange(4.0, device="cuda:1")
        data = [(here[index], there[index]) for index in range(4)]
        found = [x.sum() + y.sum() for x, y in DataLoader(data, batch_size=2, device="cuda:0")]
        assert [each.item() for each in found] == [2.0, 10.0]


def test_one_batch_is_made_ahead():
    class Counted(Dataset):
        asked = []

        def __len__(self):
            return 5

        def __getitem__(self, index):
            self.asked.append(index)
            return torch.tensor(index)

    with machine(devices=1):
        batches = iter(DataLoader(Counted(), batch_size=None, device="cuda"))
        assert (len(batches), Counted.asked) == (5, [])
        assert (next(batches).item(), Counted.asked) == (0, [0, 1])
        assert (next(batches).item(), Counted.asked) == (1, [0, 1, 2])
        assert [each.item() for each in batches] == [2, 3, 4]
        assert list(batches) == []


def test_epochs_share_a_stream_and_its_memory(no_collection):
    with machine(devices=1):
        loader = DataLoader(TensorDataset(torch.ones(8, 1 << 19)), batch_size=2, device="cuda")
        reserved = []
        for _ in range(5):
            assert [each.sum().item() for (each,) in loader] == [2.0**20] * 4
            reserved.append((torch.cuda.memory_reserved(), torch.cuda.memory_allocated()))
        assert len(set(reserved)) == 1
        twin = pickle.loads(pickle.dumps(loader))
        assert [each.sum().item() for (each,) in twin] == [2.0**20] * 4
    with machine(devices=1):  # another machine has other streams
        assert [each.sum().item() for (each,) in loader] == [2.0**20] * 4


@pytest.fixture
def no_collection():
    """Reference counts alone free memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_the_host_never_waits():
    with machine(devices=1):
        torch.cuda.set_sync_debug_mode("error")
        try:
            found = summed(DataLoader(table(), batch_size=2, device="cuda"))
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert [each.item() for each in found] == EXPECTED


class Own:
    def __init__(self, x):
        self.x = x

    def to(self, device, non_blocking):
        return Own(self.x.to(device, non_blocking=non_blocking))


def test_what_is_moved():
    def collate(samples):
        x = samples[0][0]
        return {"pair": Pair(x, [x, "text"]), "own": Own(x), "number": 3}

    with machine(devices=2):
        (batch,) = DataLoader(table(2), batch_size=2, collate_fn=collate, device="cuda:1")
        assert type(batch["pair"]) is Pair and batch["pair"].y[1] == "text" and batch["number"] == 3
        moved = batch["pair"].x, batch["pair"].y[0], batch["own"].x
        assert [(str(each.device), each.tolist()) for each in moved] == [("cuda:1", [0.0, 1.0])] * 3


def test_the_consumer_s_stream_is_the_one_current_at_next():
    with machine(devices=1, races="error"):
        side = torch.cuda.Stream()
        batches = iter(DataLoader(table(), batch_size=2, device="cuda"))
        found = []
        for stream in (side, torch.cuda.default_stream(), side):
            with torch.cuda.stream(stream):
                x, y = next(batches)
                found.append(x.sum() + y.sum())
        torch.cuda.synchronize()
        assert [each.item() for each in found] == EXPECTED


def test_an_exception_comes_at_its_turn():
    class Lame(Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            if index == 1:
                raise KeyError(index)
            return torch.tensor(index)

    with machine(devices=1):
        batches = iter(DataLoader(Lame(), batch_size=None, device="cuda"))
        assert next(batches).item() == 0
        with pytest.raises(KeyError):
            next(batches)
        assert [each.item() for each in batches] == [2]


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_copy_loses_no_batch_and_a_failed_one_its_own(at, error):
    failing = [at]

    class Sample:
        def __init__(self, value):
            self.value = value

        def to(self, device, non_blocking):
            if self.value in failing:
                failing.remove(self.value)
                raise error
            return self.value

    with machine(devices=1):
        batches = iter(DataLoader([*range(4)], batch_size=1, device="cuda", collate_fn=lambda rows: Sample(rows[0])))
        found = []
        with pytest.raises(error):
            for each in batches:
                found.append(each)
        found.extend(batches)
    assert found == [each for each in range(4) if error is KeyboardInterrupt or each != at]


def test_the_cpu_is_a_device_too():
    (batch,) = DataLoader(table(2), batch_size=2, device="cpu")
    assert [str(each.device) for each in batch] == ["cpu", "cpu"]


def test_wrong_devices():
    with pytest.raises(ArgumentTypeError, match="DataLoader: .*is not a device"):
        DataLoader(table(), device=1.5)
    with machine(devices=1), pytest.raises(DeviceIndexError, match="7"):
        iter(DataLoader(table(), device="cuda:7"))


# pin_memory


def one():
    return torch.ones(2)


class PinnedByItself:
    def pin_memory(self):
        return "pinned by itself"


class OwnDict(dict):
    def pin_memory(self):
        return "a dict pinned by itself"


class Triple(tuple):
    pass


class Odd(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))


@pytest.mark.devices(1)
def test_tensors_and_objects_that_pin_themselves(gpus):
    x = one()
    found = pin_memory(x)
    assert (found.is_pinned(), found.tolist(), x.is_pinned()) == (True, [1.0, 1.0], False)
    assert pin_memory(found) is found
    assert pin_memory(PinnedByItself()) == "pinned by itself"
    assert pin_memory(OwnDict(x=1)) == "a dict pinned by itself"


@pytest.mark.devices(1)
def test_containers_keep_their_type(gpus):
    for value in ([one()], (one(),), Triple([one()]), {"a": one()}, OrderedDict(a=one()), UserList([one()])):
        found = pin_memory(value)
        assert type(found) is type(value)
        assert found is not value
        (inner,) = found.values() if hasattr(found, "values") else found
        assert inner.is_pinned()
    pair = pin_memory(Pair(one(), [one()]))
    assert (type(pair), pair.x.is_pinned(), pair.y[0].is_pinned()) == (Pair, True, True)


@pytest.mark.devices(1)
def test_a_mapping_that_cannot_be_made_anew_becomes_a_dict(gpus):
    found = pin_memory(MappingProxyType({"a": one()}))
    assert found["a"].is_pinned()


@pytest.mark.devices(1)
def test_everything_else_stays(gpus):
    other = object()
    for value in ("text", b"bytes", 3, None, other):
        assert pin_memory(value) is value
    assert pin_memory(range(2)) == [0, 1]

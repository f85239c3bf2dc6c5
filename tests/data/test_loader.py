"""DataLoader: order, batches, and the thread that pins (1.9.10, 1.9.12)."""

import gc
import subprocess
import sys
import threading
import weakref

import pytest

import flambeau as torch
from flambeau.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler, TensorDataset
from flambeau.data.pinning import DEPTH, THREAD_NAME, LoaderTimeoutError
from flambeau.errors import AcceleratorError, ArgumentError, NotSupportedError
from flambeau.testing import machine

PATIENCE = 60  # seconds, with what must not wait for ever
gpu = pytest.mark.devices(1)


def pinning_threads():
    return [each for each in threading.enumerate() if each.name == THREAD_NAME]


def wait_for_the_end():
    """Wait for threads that were told to end; nobody joins those of an iterator that was dropped."""
    for each in pinning_threads():
        each.join(PATIENCE)
    assert pinning_threads() == []


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    wait_for_the_end()


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
    with pytest.raises(ArgumentError, match="an IterableDataset has its own order; got shuffle=True"):
        DataLoader(Stream(3), shuffle=True)
    with pytest.raises(NotSupportedError, match=r"num_workers=2.*\nhint: use num_workers=0"):
        DataLoader(Numbers(3), num_workers=2)
    with pytest.warns(DeprecationWarning, match="pin_memory_device='cuda' is ignored"):
        DataLoader(Numbers(3), pin_memory_device="cuda")


# pinning


@gpu
def test_pinned_batches_come_in_order(gpus):
    loader = DataLoader(Numbers(7), batch_size=2, pin_memory=True)
    for _ in range(2):
        batches = list(loader)
        assert [each.tolist() for each in batches] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0]]
        assert all(each.is_pinned() for each in batches)
        assert pinning_threads() == []


@gpu
def test_two_batches_are_made_ahead_and_no_more(gpus):
    data = Numbers(20)
    batches = iter(DataLoader(data, pin_memory=True))
    next(batches)
    assert data.asked == list(range(1 + DEPTH))
    next(batches)
    assert data.asked == list(range(2 + DEPTH))
    assert len(pinning_threads()) == 1
    assert pinning_threads()[0].daemon


@gpu
def test_an_early_break_ends_the_thread(gpus):
    for batch in DataLoader(Numbers(20), pin_memory=True):
        if batch.item() == 3.0:
            break
    wait_for_the_end()


@gpu
def test_an_iterator_left_with_a_failed_batch_ends_by_reference_count(gpus):
    gc.disable()
    try:
        batches = iter(DataLoader(Numbers(20, fails_at=2), pin_memory=True))
        next(batches)
        gone = weakref.ref(batches)
        del batches
        assert gone() is None
        wait_for_the_end()
    finally:
        gc.enable()


@gpu
def test_batches_that_were_ahead_give_their_memory_back(gpus):
    batches = iter(DataLoader(Numbers(20), pin_memory=True))
    next(batches)
    del batches
    wait_for_the_end()
    assert torch.cuda.host_memory_stats()["active_bytes.current"] == 0


@gpu
def test_closing_ends_the_epoch(gpus):
    batches = iter(DataLoader(Numbers(20), pin_memory=True))
    next(batches)
    batches.close()
    batches.close()
    assert pinning_threads() == []
    assert list(batches) == []


@gpu
def test_an_exception_of_a_sample_comes_at_its_turn(gpus):
    batches = iter(DataLoader(Numbers(9, fails_at=2), pin_memory=True))
    assert [next(batches).item() for _ in range(2)] == [0.0, 1.0]
    with pytest.raises(KeyError, match="sample 2"):
        next(batches)
    assert list(batches) == []


class Unpinnable:
    def __init__(self, error):
        self.error = error

    def pin_memory(self):
        raise self.error


class TakesMore(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


def failing(error):
    return iter(DataLoader([torch.ones(1), Unpinnable(error)], batch_size=None, pin_memory=True))


@gpu
def test_an_exception_of_pinning_keeps_its_type_and_tells_its_traceback(gpus):
    batches = failing(ValueError("no room"))
    assert next(batches).item() == 1.0
    with pytest.raises(
        ValueError, match=r"(?s)Caught ValueError in pin memory thread for device 0.*in pin_memory.*no room"
    ):
        next(batches)
    batches = failing(TakesMore(1, 2))
    next(batches)
    with pytest.raises(RuntimeError, match="Caught TakesMore in pin memory thread"):
        next(batches)
    batches = failing(AcceleratorError("lost", error_code=719, sticky=True))
    next(batches)
    with pytest.raises(AcceleratorError, match="lost") as caught:
        next(batches)
    assert (caught.value.error_code, caught.value.sticky) == (719, True)


class Stuck:
    def __init__(self):
        self.release = threading.Event()

    def pin_memory(self):
        self.release.wait()
        return self


@gpu
def test_waiting_for_the_thread_has_an_end(gpus):
    stuck = Stuck()
    batches = iter(DataLoader([stuck], batch_size=None, pin_memory=True, timeout=0.01))
    (thread,) = pinning_threads()
    with pytest.raises(LoaderTimeoutError, match="DataLoader timed out after 0.01 seconds"):
        next(batches)
    batches.close()
    del batches
    stuck.release.set()
    thread.join()


@gpu
def test_dropping_an_iterator_does_not_wait_for_its_thread(gpus):
    """The collector drops it in any thread, which may hold a lock that pinning needs."""
    stuck = Stuck()
    held = [iter(DataLoader([torch.ones(1), stuck], batch_size=None, pin_memory=True))]
    next(held[0])
    dropper = threading.Thread(target=held.clear, daemon=True)
    dropper.start()
    dropper.join(PATIENCE)
    was_waiting = dropper.is_alive()
    stuck.release.set()
    dropper.join()
    wait_for_the_end()
    assert not was_waiting


@pytest.mark.devices(2)
def test_the_thread_works_on_the_consumer_s_device(gpus):
    seen = []

    class Where:
        def pin_memory(self):
            seen.append(torch.cuda.current_device())
            return self

    with torch.cuda.device(1):
        list(DataLoader([Where()], batch_size=None, pin_memory=True))
    assert seen == [1]


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


EXIT = """
import flambeau as torch
from flambeau.data import DataLoader

batches = iter(DataLoader(torch.arange(50.0), pin_memory=True))
print(next(batches).item())
{}
"""


@pytest.mark.parametrize(("end", "status"), [("", 0), ("raise SystemExit(3)", 3)])
def test_the_interpreter_ends_with_an_iterator_left(end, status):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EXIT.format(end)],
        env={"FLAMBEAU_GPUS": "virtual:1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("0.0\n", "", status)

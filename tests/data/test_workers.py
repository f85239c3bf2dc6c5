"""DataLoader with worker processes."""

import gc
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch
from flambeau import channel, nn
from flambeau.data import DataLoader, TensorDataset, get_worker_info, workers
from flambeau.data.iterators import THREAD_NAME
from flambeau.data.workers import LoaderTimeoutError, UnsendableError, WorkerDiedError
from flambeau.errors import AcceleratorError, ArgumentError, AutogradError, NotSupportedError
from flambeau.multiprocessing import get_context
from tests.data import programs
from tests.data.programs import Called, Numbers, Stream, Told, at
from tests.open_files import open_files
from tests.oracle import loader_cases

RECORDED = json.loads(Path(loader_cases.__file__).with_suffix(".json").read_text())
PATIENCE = 60  # seconds, for what must not wait for ever
gpu = pytest.mark.devices(1)
# Python 3.12 and later warn of every fork of a process with threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def worker_pids():
    return {each.pid for each in multiprocessing.active_children()}


def pinning_threads():
    return [each for each in threading.enumerate() if each.name == THREAD_NAME]


@pytest.fixture(scope="module", autouse=True)
def fork_server():
    """A fork server that has imported what workers need, so that each one starts in some 20 ms."""
    with pytest.MonkeyPatch.context() as patch:  # the server does not get sys.path otherwise
        patch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
        get_context("forkserver").set_forkserver_preload(["flambeau.data.workers", programs.__name__])
        forkserver.ensure_running()
    channel.endpoint()
    list(DataLoader(Numbers(1), num_workers=1))  # opens what is opened once and stays


@pytest.fixture(autouse=True)
def nothing_is_left(request, monkeypatch):
    """No test leaves a process, a thread or a file; more workers than this machine has cores are no warning."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(64))
    before, files = worker_pids(), open_files()
    yield
    gc.collect()
    channel.settle()
    assert worker_pids() == before
    for each in pinning_threads():
        each.join(PATIENCE)
    assert pinning_threads() == []
    if "gpus" not in request.fixturenames:  # connections of GPU tensors are closed by a thread of their own
        assert open_files() <= files


def values(loader):
    return [batch.tolist() for batch in loader]


def raised(error, call, *texts):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert [text for text in texts if text not in str(caught.value)] == []


# order


def with_workers(recorded):
    return [case for case in recorded if case[-2]["num_workers"]]


def in_tiers(recorded):
    """The cases with workers; those with one worker, which the cases with two repeat, are of the full tier."""
    marks = {1: [pytest.mark.full], 2: []}
    return [pytest.param(case, marks=marks[case[-2]["num_workers"]]) for case in with_workers(recorded)]


@pytest.mark.parametrize("case", in_tiers(RECORDED["batches"]), ids=lambda case: f"{case[0]} {case[2]}")
def test_batches_are_pytorch_s(case):
    *given, expected = case
    assert loader_cases.batches(torch, *given) == expected


@pytest.mark.parametrize("case", [each for each in RECORDED["logs"] if each[1]], ids=lambda case: str(case[:3]))
def test_samplers_and_generators_are_asked_when_pytorch_asks_them(case):
    *given, expected = case
    assert loader_cases.log(torch, *given) == expected


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", pytest.param("forkserver", marks=pytest.mark.full), "spawn"])
def test_every_start_method(method, sample):
    wanted = [[0.0, 1.0], [2.0, 3.0], [4.0]]
    assert values(DataLoader(Numbers(5), 2, num_workers=2, multiprocessing_context=method)) == wanted
    for context in sample([get_context(method), multiprocessing.get_context(method)], 1):
        loader = DataLoader(Numbers(5), 2, num_workers=1, multiprocessing_context=context)
        assert loader.multiprocessing_context is context
        assert values(loader) == wanted


def test_batches_may_come_as_they_are_ready(tmp_path):
    """Worker 0 waits for a file that the program makes after the other worker's batches have come."""
    path = tmp_path / "go"

    def wait(index):
        while index == 0 and not path.exists():
            time.sleep(0.001)
        return index

    found = []
    for batch in DataLoader(Called(6, wait), batch_size=None, num_workers=2, in_order=False):
        found.append(batch)
        if len(found) == 3:
            path.touch()
    assert (found[:3], sorted(found)) == ([1, 3, 4], list(range(6)))


def test_the_sampler_is_asked_prefetch_factor_times_per_worker():
    asked = []

    def indices():
        for index in range(100):
            asked.append(index)
            yield index

    class Sampler:
        def __iter__(self):
            return indices()

    batches = iter(DataLoader(Numbers(100), sampler=Sampler(), num_workers=2, prefetch_factor=4))
    assert asked == list(range(8))
    next(batches)
    assert asked == list(range(9))
    with pytest.raises(ArgumentError, match="prefetch_factor must be positive, got 0"):
        iter(DataLoader(Numbers(3), num_workers=1, prefetch_factor=0))


@pytest.mark.slow
def test_more_messages_than_a_pipe_has_room_for():
    loader = DataLoader(Called(3000, int), batch_size=2, num_workers=2, prefetch_factor=1000)
    assert values(loader) == [[index, index + 1] for index in range(0, 3000, 2)]
    loader = DataLoader(Called(200, lambda index: "x" * 100_000), batch_size=None, num_workers=1, prefetch_factor=150)
    assert sum(map(len, loader)) == 20_000_000
    loader = DataLoader(Called(90_000, int), batch_size=30_000, num_workers=2)
    assert [int(batch.sum()) for batch in loader] == [449985000, 1349985000, 2249985000]


# seeds


def test_seeds_are_a_drawn_number_plus_the_worker_s():
    def seeds(generator=None):
        found = list(DataLoader(Called(4, programs.who), batch_size=None, num_workers=2, generator=generator))
        assert [(each[1], each[2]) for each in found] == [(0, 2), (1, 2)] * 2
        assert len({each[0] for each in found}) == 2
        return [each[3:] for each in found]

    generator = torch.Generator().manual_seed(3)
    base = int(torch.empty((), dtype=torch.int64).random_(generator=torch.Generator().manual_seed(3)))
    first = seeds(generator)
    assert [each[:2] for each in first[:2]] == [[base, base], [base + 1, base + 1]] or [
        tuple(each[:2]) for each in first[:2]
    ] == [(base, base), (base + 1, base + 1)]
    assert seeds(torch.Generator().manual_seed(3)) == first
    assert seeds(generator) != first
    torch.manual_seed(5)
    second = seeds()
    torch.manual_seed(5)
    assert seeds() == second
    python = __import__("random").Random(base)
    assert first[0][2] == python.random()


@pytest.mark.parametrize(("base", "worker", "expected"), RECORDED["numpy_seeds"])
def test_numpy_is_seeded_as_by_pytorch(base, worker, expected):
    from flambeau.data import workers as module

    before = np.random.get_state(), torch.get_rng_state(), __import__("random").getstate()
    try:
        module._seed(base, worker)
        found = np.random.get_state()[1].tolist()
        np.random.seed(expected)
        assert np.random.get_state()[1].tolist() == found
    finally:
        np.random.set_state(before[0])
        torch.set_rng_state(before[1])
        __import__("random").setstate(before[2])


def test_a_worker_computes_in_one_thread():
    before = torch.get_num_threads()
    assert list(DataLoader(Called(1, lambda index: torch.get_num_threads()), None, num_workers=1)) == [1]
    assert torch.get_num_threads() == before


def test_a_worker_knows_itself_and_nobody_else_does():
    def init(worker):
        info = get_worker_info()
        info.dataset.function = lambda index: (worker, info.id, info.dataset is get_worker_info().dataset)

    data = Called(2, None)
    loader = DataLoader(data, batch_size=None, num_workers=2, worker_init_fn=init)
    assert [tuple(each) for each in loader] == [(0, 0, True), (1, 1, True)]
    assert (get_worker_info(), data.function) == (None, None)


@pytest.mark.parametrize(("seed", "count", "expected"), RECORDED["noise"])
def test_what_workers_draw_is_pytorch_s(seed, count, expected):
    before = np.random.get_state(), __import__("random").getstate()
    assert loader_cases.noise(torch, seed, count) == expected
    assert (before[0][1] == np.random.get_state()[1]).all() and before[1] == __import__("random").getstate()


# errors


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_an_exception_keeps_its_class_and_the_worker_s_traceback(method):
    batches = iter(DataLoader(Raising(5), batch_size=None, num_workers=2, multiprocessing_context=method))
    assert next(batches) == 0
    raised(
        Told, lambda: next(batches),
        "Caught Told in DataLoader worker process 1.", "Original Traceback", "in __getitem__", "it did not work",
    )  # fmt: skip
    assert list(batches) == [2, 3, 4]


class Raising(Numbers):
    def __getitem__(self, index):
        return programs.tell() if index == 1 else index


class TakesMore(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


class TakesMessage(Exception):
    message = "none"

    def __init__(self, *, message):
        super().__init__(message)


def test_exceptions_of_all_kinds():
    class Local(ValueError):
        pass

    def failing(error):
        def fail(index):
            raise error

        return lambda: next(iter(DataLoader(Called(1, fail), num_workers=1)))

    raised(KeyError, failing(KeyError("two\nlines")), "in DataLoader worker process 0.\nOriginal", "two\\nlines")
    raised(RuntimeError, failing(TakesMore(1, 2)), "Caught TakesMore in DataLoader worker process 0")
    raised(ValueError, failing(Local("x")), "Caught Local in", "Local: x")
    raised(TakesMessage, failing(TakesMessage(message="x")), "Caught TakesMessage in DataLoader worker process 0")
    raised(NotSupportedError, failing(NotSupportedError("op: no", hint="do not")), "op: no\nhint: do not")
    with pytest.raises(AcceleratorError, match="lost") as caught:
        failing(AcceleratorError("lost", error_code=719, sticky=True))()
    assert (caught.value.error_code, caught.value.sticky) == (719, True)


def test_a_batch_that_cannot_be_pickled_is_an_error_of_that_batch():
    made = {"a": [1, ("x", lambda: 0)]}
    batches = iter(DataLoader(Called(2, at(0, lambda: made)), batch_size=None, num_workers=1))
    text = r"(?s)in DataLoader worker process 0.*the batch\['a'\]\[1\]\[1\] is function"
    with pytest.raises(UnsendableError, match=text):
        next(batches)
    assert list(batches) == [1]


def test_a_worker_that_does_not_start_says_so():
    batches = iter(DataLoader(Numbers(2), num_workers=1, worker_init_fn=programs.refuse))
    for _ in range(2):
        raised(Told, lambda: next(batches), "in DataLoader worker process 0", "worker 0 does not start")
    assert list(batches) == []


class Locked(Numbers):
    def __init__(self):
        super().__init__(2)
        self.parts = [1, {"lock": threading.Lock()}]


@pytest.mark.parametrize(
    ("loader", "text"),
    [
        ({"dataset": Locked()}, r"dataset\.parts\[1\]\['lock'\] is a lock"),
        ({"collate_fn": lambda samples: samples}, "collate_fn is function <lambda>"),
        ({"worker_init_fn": lambda number: 0}, "worker_init_fn is function <lambda>"),
    ],
)
def test_what_cannot_be_sent_to_a_worker_is_named(loader, text):
    options = {"dataset": Numbers(2), "num_workers": 2, "multiprocessing_context": "forkserver"} | loader
    with pytest.raises(UnsendableError, match=f"DataLoader: .*cannot be pickled: {text}") as caught:
        iter(DataLoader(**options))
    assert isinstance(caught.value, (TypeError, AttributeError)) and caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("end", "how"),
    [(programs.die, r"\(pid \d+\) is killed by signal: SIGKILL"), (programs.leave, r"\(pid\(s\) \d+\) .* exit code 3")],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_worker_that_dies_is_named(end, how, persistent):
    loader = DataLoader(Called(8, at(3, end)), batch_size=None, num_workers=2, persistent_workers=persistent)
    batches = iter(loader)
    pids = {each.pid for each in batches._workers}
    assert [next(batches) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(WorkerDiedError, match=f"DataLoader worker {how}; it was worker 1 of 2") as caught:
        next(batches)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.pid in pids and not worker_pids() & pids
    assert list(batches) == []
    again = iter(loader)
    assert next(again) == 0
    del again, batches, loader


def test_what_a_worker_sent_before_it_died_is_not_lost():
    loader = DataLoader(Called(20, at(5, programs.die)), batch_size=None, num_workers=1, prefetch_factor=10)
    batches = iter(loader)
    (pid,) = [each.pid for each in batches._workers]
    signal_of_end = os.pidfd_open(pid)
    multiprocessing.connection.wait([signal_of_end], PATIENCE)
    os.close(signal_of_end)
    assert [next(batches) for _ in range(5)] == [0, 1, 2, 3, 4]
    raised(WorkerDiedError, lambda: next(batches), f"(pid {pid})")


def test_waiting_for_a_batch_has_an_end():
    loader = DataLoader(Called(2, at(0, programs.stop)), batch_size=None, num_workers=2, timeout=0.01)
    batches = iter(loader)
    raised(LoaderTimeoutError, lambda: next(batches), "DataLoader timed out after 0.01 seconds")
    for pid in worker_pids():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("workers", [0, 1])
def test_exceptions_of_samplers_and_collation_come_at_their_batch(workers):
    class Failing:
        def __init__(self, *entries):
            self.entries = entries

        def __iter__(self):
            yield from self.entries
            raise Told("no more indices")

    def refuse(samples):
        raise Told(f"refused {samples}")

    enough = range(2, 9)  # more than are prefetched
    for options, first in (
        ({"sampler": Failing(*enough)}, [[2], [3]]),
        ({"batch_sampler": Failing(*([each, 0] for each in enough))}, [[2, 0], [3, 0]]),
    ):
        batches = iter(DataLoader(list(range(9)), num_workers=workers, **options))
        assert [next(batches).tolist() for _ in first] == first
        with pytest.raises(Told, match="no more indices"):
            list(batches)
    for options in ({"sampler": Failing()}, {"batch_sampler": Failing()}):
        loader = DataLoader([1], num_workers=workers, **options)
        with pytest.raises(Told, match="no more indices"):
            next(iter(loader))
    batches = iter(DataLoader([1, 2], num_workers=workers, collate_fn=refuse))
    for sample in (1, 2):
        with pytest.raises(Told, match=rf"refused \[{sample}\]"):
            next(batches)
    assert list(batches) == []


# lifetimes


def test_two_iterators_at_once_have_workers_of_their_own():
    loader = DataLoader(Called(6, programs.who), batch_size=None, num_workers=2)
    one, other = iter(loader), iter(loader)
    pairs = [(a[:2], b[:2]) for a, b in zip(one, other)]
    assert [(a[1], b[1]) for a, b in pairs] == [(0, 0), (1, 1)] * 3
    assert len({a[0] for a, _ in pairs} | {b[0] for _, b in pairs}) == 4


def rounds(seed, count, method):
    """Rounds in which a worker is killed, by itself or by this process, or an iterator is left; at places drawn."""
    drawn = __import__("random").Random(seed)
    died = 0
    for _ in range(count):
        place, how = drawn.randrange(8), drawn.choice(("itself", "killed", "left", "stopped"))
        loader = DataLoader(
            programs.Deadly(8, place if how == "itself" else None), batch_size=1, num_workers=drawn.choice((1, 2)),
            persistent_workers=drawn.random() < 0.5, in_order=drawn.random() < 0.7, multiprocessing_context=method,
        )  # fmt: skip
        batches = iter(loader)
        try:
            for number, batch in enumerate(batches):
                assert batch.shape == (1, programs.DEADLY_SIZE) and batch[0, 0] == batch[0, -1]
                if number == place and how in ("killed", "stopped"):
                    pid = drawn.choice(batches._workers).pid
                    os.kill(pid, signal.SIGKILL if how == "killed" else signal.SIGTERM)
                if number == place and how == "left":
                    break
        except WorkerDiedError as error:
            died += 1
            assert error.pid and re.search(r"killed by signal: SIG(KILL|TERM)", str(error))
        del batches, loader
    return died


def shared_files():
    """The files of memory that this process shares: by name, a set, and how many are mapped."""
    maps = Path("/proc/self/maps").read_text()
    return set(Path("/dev/shm").glob(f"flambeau-*/{os.getpid()}-*")), maps.count("memfd:flambeau")


@pytest.mark.parametrize(
    ("method", "count"),
    [
        ("fork", 8),
        pytest.param("fork", 200, marks=[pytest.mark.full, pytest.mark.slow]),
        pytest.param("forkserver", 40, marks=[pytest.mark.full, pytest.mark.slow]),
    ],
)
def test_rounds_of_killing_leave_nothing(method, count):
    (names, maps), files = shared_files(), open_files()
    assert 0 < rounds(7, count, method) < count
    gc.collect()
    channel.settle()
    names_after, maps_after = shared_files()
    assert names_after <= names and maps_after <= maps and open_files() <= files


INTERRUPTED = """
import os, signal, sys
import flambeau as torch
from flambeau.data import DataLoader
from tests.data.programs import Called, interrupt_group
if __name__ == "__main__":
    loader = DataLoader(
        Called(100, interrupt_group), batch_size=None, num_workers=2, persistent_workers={persistent},
        multiprocessing_context="fork",
    )
    batches = iter(loader)
    print(*[each.pid for each in batches._workers], flush=True)
    try:
        list(batches)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("persistent", [False, True])
def test_an_interrupt_from_the_keyboard_ends_workers_without_a_word(persistent):
    running = program(INTERRUPTED.format(persistent=persistent), start_new_session=True)
    out, errors = running.communicate(timeout=PATIENCE)
    pids, *rest = out.splitlines()
    assert (rest, errors, running.returncode) == (["interrupted"], "", 0)
    for pid in map(int, pids.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_dropping_an_iterator_ends_its_workers():
    gc.disable()
    try:
        batches = iter(DataLoader(Numbers(100), num_workers=2))
        next(batches)
        gone, pids = weakref.ref(batches), worker_pids()
        del batches
        assert gone() is None
        assert not worker_pids() & pids
    finally:
        gc.enable()


def test_a_worker_that_does_not_end_is_terminated(monkeypatch):
    monkeypatch.setattr(workers, "END_SECONDS", 0.05)
    reading, writing = os.pipe()

    def stay():
        os.write(writing, b"x")
        programs.stop()

    batches = iter(DataLoader(Called(2, at(1, stay)), batch_size=None, num_workers=1))
    assert (next(batches), os.read(reading, 1)) == (0, b"x")
    (process,) = batches._workers
    batches.close()
    process.join(PATIENCE)
    assert process.exitcode in (-signal.SIGTERM, -signal.SIGKILL)
    assert list(batches) == []
    os.close(reading)
    os.close(writing)


def test_a_forked_child_s_copy_of_an_iterator_leaves_the_workers_alone():
    batches = iter(DataLoader(Numbers(3), num_workers=1))
    child = os.fork()
    if not child:
        status = 1
        try:
            batches.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert values(batches) == [[0.0], [1.0], [2.0]]


ORPHANS = """
import os, signal
import flambeau as torch
from flambeau.data import DataLoader
from tests.data.programs import Called, die, who
batches = iter(DataLoader(Called(1000, who), batch_size=None, num_workers=2, multiprocessing_context={method!r}))
print(*sorted({{next(batches)[0] for _ in range(4)}}), flush=True)
input()  # until the test watches the workers
{end}
"""


WARNINGS = ("-Werror", "-Wignore::DeprecationWarning", "-Wignore:DataLoader:UserWarning")


def program(text, **options):
    return subprocess.Popen(
        [sys.executable, *WARNINGS, "-c", text], **options,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", pytest.param("forkserver", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("die()", -signal.SIGKILL),
        ("", 0),
        pytest.param("raise SystemExit(4)", 4, marks=pytest.mark.full),
        pytest.param("os._exit(5)", 5, marks=pytest.mark.full),
    ],
)
def test_workers_end_with_their_parent_however_it_ends(method, end, status):
    running = program(ORPHANS.format(method=method, end=end))
    workers = running.stdout.readline().split()
    files = [os.pidfd_open(int(pid)) for pid in workers]
    out, errors = running.communicate("\n", timeout=PATIENCE)
    assert (out, errors, running.returncode) == ("", "", status)
    for file in files:
        assert multiprocessing.connection.wait([file], PATIENCE)
        os.close(file)
    left = [path.name for path in Path("/dev/shm").glob("flambeau-*/*")]  # a file's name begins with its process
    assert [name for name in left if name.partition("-")[0] in (str(running.pid), *workers)] == []


# persistent workers


def test_persistent_workers_serve_every_epoch():
    loader = DataLoader(Called(4, programs.who), batch_size=None, num_workers=2, persistent_workers=True)
    first = iter(loader)
    pids = {each[0] for each in first}
    second = iter(loader)
    assert second is first
    assert {each[0] for each in second} == pids <= worker_pids()
    del loader, first, second
    gc.collect()
    assert not worker_pids() & pids


def test_an_epoch_may_begin_before_the_last_has_ended():
    loader = DataLoader(Called(50, lambda index: (index, os.getpid())), 5, num_workers=2, persistent_workers=True)
    for _ in range(3):
        batches = iter(loader)
        for number in range(3):
            assert next(batches)[0].tolist() == list(range(5 * number, 5 * number + 5))
    assert len({int(pid) for batch in loader for pid in batch[1]}) == 2


def test_workers_finish_the_batches_of_an_epoch_that_was_left_early():
    def draw(index):
        return int(torch.randint(0, 1000, (1,)))

    loader = DataLoader(
        Called(5, draw),
        batch_size=None, num_workers=1, persistent_workers=True, prefetch_factor=1,
        worker_init_fn=torch.manual_seed,
    )  # fmt: skip
    drawn = list(loader)
    next(iter(loader))  # two batches are asked for: each draws
    drawn += list(loader)
    torch.manual_seed(0)
    numbers = [draw(index) for index in range(12)]
    assert drawn == numbers[:5] + numbers[7:]


def test_persistent_streams_start_over():
    loader = DataLoader(Stream(7), batch_size=2, num_workers=2, persistent_workers=True)
    wanted = [[0, 2], [1, 3], [4, 6], [5]]
    assert values(loader) == values(loader) == wanted
    next(iter(loader))
    assert values(loader) == wanted


# tensors


def batch_of(*made, **options):
    return next(iter(DataLoader(Called(1, lambda index: made), batch_size=None, num_workers=1, **options)))


@pytest.mark.parametrize("size", [3, 5_000, 1_000_000])
def test_tensors_of_all_types_and_layouts_come_as_they_are(size):
    types = torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool
    made = [(torch.arange(size) % 100).to(each) for each in types]
    for sent, found in zip(made, batch_of(*made), strict=True):
        assert (found.dtype, torch.equal(found, sent)) == (sent.dtype, True)
        found.fill_(1)  # it is memory of its own, which may be written
    table = torch.arange(2.0 * size).reshape(2, size)
    turned, row, empty, alone = batch_of(table.t(), table[1], torch.empty(0, 3), torch.tensor(4))
    assert (turned.stride(), torch.equal(turned, table.t()), torch.equal(row, table[1])) == ((1, size), True, True)
    assert (empty.shape, alone.item()) == ((0, 3), 4)


def test_views_that_overlap_still_do_and_others_bring_nothing_along():
    table = torch.arange(1000.0)
    low, lower, far = batch_of(table[10:20], table[12:14], table[900:904])
    low[2] = -1
    assert (lower.tolist(), far.tolist()) == ([-1.0, 13.0], [900.0, 901.0, 902.0, 903.0])
    assert far._storage.nbytes < 100
    bytes_, number = batch_of(table[:4].view(torch.uint8)[1:3], table[:1])
    assert (bytes_.tolist(), number.tolist()) == ([0, 0], [0.0])


def test_what_two_workers_give_is_not_shared_with_them():
    table = torch.zeros(4, 3)
    for row in DataLoader(Called(4, lambda index: table[index]), batch_size=None, num_workers=1, prefetch_factor=1):
        assert row.tolist() == [0.0, 0.0, 0.0]
        row.fill_(1.0)
    assert table.sum().item() == 0


def test_memory_that_is_shared_already_stays_so():
    table = torch.zeros(4).share_memory_()
    for place, batch in enumerate(DataLoader(Called(2, lambda index: table), batch_size=None, num_workers=1)):
        batch[place] = 1.0
    assert table.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_leaves_and_parameters_travel_and_graphs_do_not():
    leaf = torch.ones(2, requires_grad=True)
    (leaf * 3).sum().backward()
    found, parameter, buffer = batch_of(leaf, nn.Parameter(torch.ones(1)), nn.Buffer(torch.ones(1)))
    assert (found.requires_grad, found.grad.tolist()) == (True, [3.0, 3.0])
    assert (type(parameter), type(buffer)) == (nn.Parameter, nn.Buffer)
    with pytest.raises(AutogradError, match=r"a graph does not cross processes, and float32\[2\]"):
        batch_of(leaf * 2)


def test_batches_may_be_kept():
    kept = list(DataLoader(TensorDataset(torch.arange(6000.0).reshape(600, 10)), num_workers=2))
    assert torch.cat([each for (each,) in kept]).tolist() == torch.arange(6000.0).reshape(600, 10).tolist()


@gpu
@pytest.mark.slow
def test_workers_that_are_not_forked_may_make_batches_on_a_gpu(gpus):
    loader = DataLoader(
        Called(3, programs.on_gpu), batch_size=None, num_workers=1, multiprocessing_context="forkserver"
    )  # fmt: skip
    assert [(batch.is_cuda, batch.tolist()) for batch in loader] == [(True, [float(i)] * 3) for i in range(3)]


@gpu
def test_workers_that_are_forked_say_that_they_cannot_use_a_gpu(gpus):
    torch.cuda.synchronize()
    with pytest.raises(RuntimeError, match="in DataLoader worker process 0"):
        next(iter(DataLoader(Called(1, programs.on_gpu), num_workers=1)))


# pinning


@gpu
def test_batches_of_workers_are_pinned_in_a_thread(gpus):
    loader = DataLoader(Numbers(7), batch_size=2, num_workers=2, pin_memory=True)
    for _ in range(2):
        batches = list(loader)
        assert [each.tolist() for each in batches] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0]]
        assert all(each.is_pinned() for each in batches)
    loader = DataLoader(Numbers(5), num_workers=2, pin_memory=True, persistent_workers=True, in_order=False)
    assert [sorted(values(loader)) for _ in range(2)] == [[[0.0], [1.0], [2.0], [3.0], [4.0]]] * 2
    next(iter(loader))
    assert sorted(values(loader)) == [[0.0], [1.0], [2.0], [3.0], [4.0]]


@pytest.mark.devices(2)
def test_the_thread_works_on_the_consumer_s_device(gpus):
    with torch.cuda.device(1):
        loader = DataLoader(Called(1, programs.where), batch_size=None, num_workers=1, pin_memory=True)
        assert next(iter(loader)).found == (1, THREAD_NAME)


@gpu
def test_an_exception_of_pinning_comes_at_its_turn(gpus):
    batches = iter(DataLoader(Called(3, at(1, programs.Unpinnable)), batch_size=None, num_workers=2, pin_memory=True))
    assert next(batches) == 0
    raised(Told, lambda: next(batches), "Caught Told in pin memory thread for device 0", "in pin_memory", "no room")
    assert list(batches) == [2]


@gpu
def test_an_iterator_left_with_pinned_batches_gives_them_back(gpus):
    batches = iter(DataLoader(Numbers(20), num_workers=2, pin_memory=True))
    next(batches)
    del batches
    for each in pinning_threads():
        each.join(PATIENCE)
    assert torch.cuda.host_memory_stats()["active_bytes.current"] == 0


@gpu
def test_a_timeout_holds_for_the_pinning_thread_too(gpus):
    stuck = Stuck()
    loader = DataLoader(Called(1, lambda index: stuck), batch_size=None, num_workers=1, pin_memory=True, timeout=0.05)
    batches = iter(loader)
    raised(LoaderTimeoutError, lambda: next(batches), "timed out after 0.05 seconds")
    release.set()
    batches._timeout = PATIENCE
    assert isinstance(next(batches), Stuck)
    release.clear()


release = threading.Event()


class Stuck:
    def pin_memory(self):
        release.wait(PATIENCE)
        return self

"""Fork after the start (semantics 1.15): the child's errors name the process and the line that started CUDA.

Also forks while other threads of the parent hold locks: the child lacks these threads, and must not wait for them.
"""

import os
import pickle
import select
import signal
import threading
from contextlib import contextmanager

import pytest

import flambeau as torch
from flambeau.config import Gpus, virtual_gpus
from flambeau.core import thread
from flambeau.core.locks import ReentrantLock
from flambeau.core.native import Lock
from flambeau.driver.nvidia import library
from flambeau.driver.nvidia.nvml import Nvml
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.parallel import store as stores
from flambeau.runtime import ipc
from flambeau.runtime.machine import Machine
from flambeau.testing import machine
from tests.forks import Wanted

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
PATIENCE = 20  # seconds after which a child counts as waiting for ever


def in_child(function):
    """Run `function` in a forked child; return its plain value, the exception's class and text, or "it waits"."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            try:
                found = function()
            except Exception as error:  # noqa: BLE001  (it is told to the parent)
                found = (type(error).__name__, str(error))
            os.write(write, pickle.dumps(found))
        finally:
            os._exit(0)
    os.close(write)
    if not select.select([read], [], [], PATIENCE)[0]:
        os.kill(pid, signal.SIGKILL)
    with open(read, "rb") as source:
        data = source.read()
    os.waitpid(pid, 0)
    return pickle.loads(data) if data else "it waits"


@contextmanager
def elsewhere(enter, leave=lambda: None):
    """Have another thread call `enter` now, and `leave` at the end of the `with` block."""
    entered, may_leave = threading.Event(), threading.Event()

    def run():
        enter()
        entered.set()
        may_leave.wait()
        leave()

    other = threading.Thread(target=run)
    other.start()
    entered.wait()
    try:
        yield
    finally:
        may_leave.set()
        other.join()


def held(lock):
    """Have another thread hold a lock inside a `with` block."""
    return elsewhere(lock.acquire, lock.release)


def test_any_use_in_the_child_says_who_started_cuda_and_where():
    with machine():
        torch.ones(1, device="cuda")
        name, text = in_child(lambda: torch.ones(1, device="cuda"))
    assert name == "AcceleratorError"
    assert text.startswith(f"Cannot re-initialize CUDA in forked subprocess: process {os.getpid()} had started CUDA")
    assert "in test_any_use_in_the_child_says_who_started_cuda_and_where (`with machine():`)" in text
    assert "hint: use the 'spawn'" in text


def test_the_line_that_started_cuda_comes_first_with_what_it_did():
    previous = thread.swap_machine(Machine(virtual_gpus(1)))
    try:
        torch.ones(1, device="cuda")
        _, text = in_child(torch.cuda.current_device)
    finally:
        thread.swap_machine(previous)
    name = "test_the_line_that_started_cuda_comes_first_with_what_it_did"
    line = globals()[name].__code__.co_firstlineno + 3
    assert f'had started CUDA, at {__file__}:{line} in {name} (`torch.ones(1, device="cuda")`), called from ' in text


@pytest.mark.parametrize(
    "use",
    [
        lambda tensor, event: tensor + 1,
        lambda tensor, event: tensor.cpu(),
        lambda tensor, event: tensor.tolist(),
        lambda tensor, event: torch.zeros(2).cuda(),
        lambda tensor, event: torch.cuda.Stream(),
        lambda tensor, event: torch.cuda.synchronize(),
        lambda tensor, event: torch.cuda.current_stream(),
        lambda tensor, event: torch.cuda.get_device_name(),
        lambda tensor, event: torch.zeros(2).pin_memory(),
        lambda tensor, event: event.synchronize(),
        lambda tensor, event: event.record(),
    ],
)
def test_every_way_in_is_refused(use):
    with machine():
        tensor, event = torch.ones(2, device="cuda"), torch.cuda.Event()
        event.record()
        name, text = in_child(lambda: use(tensor, event))
    assert (name, text[:50]) == ("AcceleratorError", "Cannot re-initialize CUDA in forked subprocess: pr")


def test_the_child_knows_its_state_and_its_cpu_works():
    def child():
        torch.manual_seed(7)
        known = torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork(), torch.cuda.device_count()
        return *known, torch.rand(2).tolist()

    with machine(devices=3):
        torch.manual_seed(7)
        expected = torch.rand(2).tolist()
        assert in_child(child) == (False, True, 3, expected)
        assert torch.cuda.is_initialized() and not torch.cuda._is_in_bad_fork()


def test_a_fork_before_the_start_is_free():
    with machine() as made:
        former = torch.core.thread.swap_machine(torch.runtime.machine.Machine(made.choice))
        try:
            assert in_child(lambda: torch.ones(2, device="cuda").tolist()) == [1.0, 1.0]
            assert not torch.cuda.is_initialized()
        finally:
            torch.core.thread.swap_machine(former)


def test_an_event_that_dies_in_the_child_asks_nothing_of_the_driver():
    with machine():
        event = torch.cuda.Event()
        event.record()
        assert in_child(lambda: event.__del__()) is None


def test_a_graph_that_dies_in_the_child_asks_nothing_of_the_driver():
    with machine():
        tensor, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tensor.add_(1)
        assert in_child(lambda: graph.__del__()) is None
        graph.replay()
        assert tensor.tolist() == [2.0, 2.0]


def test_the_parent_goes_on():
    with machine():
        tensor = torch.ones(2, device="cuda")
        in_child(lambda: tensor.tolist())
        assert (tensor + 1).tolist() == [2.0, 2.0]


def test_asking_nvidia_s_driver_for_devices_counts_as_a_start(monkeypatch):
    monkeypatch.setattr(library, "_first", [(os.getpid(), ["train.py:3 in main"])])
    former = thread.swap_machine(Machine(Gpus("nvidia")))
    try:
        name, text = in_child(lambda: torch.ones(1, device="cuda"))
    finally:
        thread.swap_machine(former)
    assert name == "AcceleratorError" and "had started CUDA, at train.py:3 in main" in text


# other threads of the parent


def order_of_use(lock, is_held):
    """Who uses a lock first, this thread or another one that it starts meanwhile.  is_held: whether this thread has it.

    The other thread may get the id of one that exists in the parent only.
    """
    order = []

    def use():
        with lock:
            order.append("other")

    other = threading.Thread(target=use)
    if not is_held:
        lock.acquire()
    other.start()
    order.append("first")
    lock.release()
    other.join()
    return order


@pytest.mark.parametrize("kind", [Lock, ReentrantLock])
def test_a_lock_that_another_thread_held_is_free(kind):
    lock = kind()
    with held(lock):
        assert in_child(lambda: order_of_use(lock, is_held=False)) == ["first", "other"]


@pytest.mark.parametrize("kind", [Lock, ReentrantLock])
def test_a_lock_that_the_forking_thread_held_stays_held(kind):
    lock = kind()
    with lock:
        assert in_child(lambda: order_of_use(lock, is_held=True)) == ["first", "other"]


def test_numbers_that_another_thread_draws_do_not_hold_up_the_child():
    with held(torch.default_generator.random_state.lock):
        assert len(in_child(lambda: torch.rand(2).tolist())) == 2


def test_a_machine_that_another_thread_starts_can_be_started():
    former = thread.swap_machine(Machine(virtual_gpus(1)))
    try:
        with held(thread.machine().lock):
            assert in_child(lambda: torch.ones(1, device="cuda").tolist()) == [1.0]
    finally:
        thread.swap_machine(former)


def test_a_machine_can_be_replaced_while_another_thread_did_so():
    def child():
        with machine():
            return torch.ones(1, device="cuda").tolist()

    with held(thread._lock):
        assert in_child(child) == [1.0]


class Local(threading.local):
    """Objects of threads, whose finalizers run in a child before any function of os.register_at_fork."""


def test_finalizers_of_other_threads_objects_do_nothing(monkeypatch):
    asked, local = [], Local()
    for name in ("event_destroy", "graph_destroy"):
        monkeypatch.setattr(VirtualDriver, name, lambda driver, handle, name=name: asked.append(name))

    def enter():
        x, local.event, local.graph = torch.ones(1, device="cuda"), torch.cuda.Event(), torch.cuda.CUDAGraph()
        local.event.record()
        with torch.cuda.graph(local.graph):
            x.add_(1)
        asked.clear()

    with machine(), elsewhere(enter):
        assert in_child(lambda: asked) == []
    assert sorted(set(asked)) == ["event_destroy", "graph_destroy"]  # when the thread ended in the parent


@pytest.mark.parametrize("kind", [Lock, ReentrantLock])
def test_finalizers_of_other_threads_objects_find_locks_free(kind):
    lock, local = kind(), Local()

    class Final:
        def __del__(self):
            with lock:
                taken.append(self)

    taken = []

    def enter():
        local.final = Final()

    with elsewhere(enter), held(lock):
        assert in_child(lambda: len(taken)) == 1


def test_an_event_is_destroyed_while_another_thread_holds_the_driver():
    """That thread may wait for a lock of the one whose garbage collection destroys the event."""
    with machine() as made:
        event = torch.cuda.Event()
        event.record()
        done = threading.Event()

        def destroy():
            event.__del__()
            done.set()

        with held(made.driver._lock):
            other = threading.Thread(target=destroy)
            other.start()
            assert done.wait(PATIENCE)
        other.join()
        event._machine = None


def test_a_store_of_the_parent_is_refused_and_freed():
    kept = [torch.distributed.TCPStore("localhost", 0, is_master=True)]
    kept[0].set("key", "value")
    name, text = in_child(lambda: kept[0].get("key"))
    assert name == "CollectiveError" and "the process was forked" in text
    with held(kept[0]._client._changed), held(kept[0]._client._sending), held(kept[0]._hub._read_all):
        assert in_child(kept.clear) is None
    assert kept[0].get("key") == b"value"


def test_a_child_does_not_keep_the_lock_of_a_store_in_a_file(tmp_path, monkeypatch):
    """A fork copies the open file, and the lock with it, even if the parent closes its own copy."""
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    store.set("key", "value")
    answer, inside, go_on = stores.Contents.answer, threading.Event(), threading.Event()

    def slow(contents, request):
        if threading.current_thread() is other:
            inside.set()
            go_on.wait()
        return answer(contents, request)

    monkeypatch.setattr(stores.Contents, "answer", slow)
    other = threading.Thread(target=store.check, args=(["key"],))
    other.start()
    inside.wait()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(write)
        os.read(read, 1)  # until the parent has closed it
        os._exit(0)
    found, third = [], threading.Thread(target=lambda: found.append(store.get("key")))
    go_on.set()
    other.join()
    third.start()
    third.join(PATIENCE / 4)
    is_free = not third.is_alive()
    os.close(write)
    os.close(read)
    os.waitpid(pid, 0)
    third.join()
    assert is_free and found == [b"value"]


def test_imports_of_the_parent_are_not_waited_for():
    returner = ipc.Returner()
    returner.start()
    returner.settle()
    assert in_child(returner.settle) is None
    running = returner._thread
    returner.stop()
    running.join()


class Bindings:
    """NVML without devices.  A thread other than the main one waits while it counts them."""

    NVMLError = ValueError

    def __init__(self):
        self.counting, self.go_on = threading.Event(), threading.Event()

    def nvmlInit(self):
        """Do nothing."""

    def nvmlDeviceGetCount(self):
        if threading.current_thread() is not threading.main_thread():
            self.counting.set()
            self.go_on.wait()
        return 0


def test_devices_that_another_thread_counts_are_counted():
    """Before Python 3.12, a cached_property holds a lock of its class while it computes."""
    bindings = Bindings()
    other = threading.Thread(target=lambda: Nvml(bindings).uuids)
    other.start()
    bindings.counting.wait()
    assert in_child(lambda: len(Nvml(bindings).uuids)) == 0
    bindings.go_on.set()
    other.join()


WHILE_LIBRARIES_ARE_LISTED = """
import ctypes, os, sys, threading
from datetime import timedelta

import flambeau as torch
from flambeau import distributed as dist

x = torch.ones(1)  # loads NumPy
listing, go_on = threading.Event(), threading.Event()


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
def wait(*_):
    listing.set()
    go_on.wait()
    return 1


other = threading.Thread(target=ctypes.CDLL(None).dl_iterate_phdr, args=(wait, None))
other.start()
listing.wait()
children = []
for rank in range(2):
    children.append(os.fork())
    if children[-1] == 0:
        dist.init_process_group("gloo", sys.argv[1], timedelta(seconds=20), 2, rank)
        dist.all_reduce(x)
        dist.destroy_process_group()
        os._exit(int(x.item()))
go_on.set()
other.join()
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def test_forked_ranks_do_not_wait_for_the_loader_of_libraries(programs, tmp_path):
    """Its lock, which unwinding C++ code takes too, stays held in a child of which another thread held it."""
    command = ["-c", WHILE_LIBRARIES_ARE_LISTED, f"file://{tmp_path}/meeting"]
    done = programs.run(Wanted(command, os.getcwd(), dict(os.environ)), timeout=PATIENCE, fresh=True)
    assert (done.returncode, done.stdout) == (0, "[2, 2]\n"), done.stderr

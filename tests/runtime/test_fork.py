"""Fork after the start (semantics 1.15): the child's errors name the process and the line that started CUDA."""

import os
import pickle

import pytest

import flambeau as torch
from flambeau.config import virtual_gpus
from flambeau.core import thread
from flambeau.runtime.machine import Machine
from flambeau.testing import machine

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_child(function):
    """Run `function` in a forked child; return its plain value, or the exception's class and text."""
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
    with open(read, "rb") as source:
        data = source.read()
    os.waitpid(pid, 0)
    return pickle.loads(data)


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
    from flambeau.config import Gpus
    from flambeau.core import thread
    from flambeau.driver.nvidia import library
    from flambeau.runtime import machine as machines

    monkeypatch.setattr(library, "_first", [(os.getpid(), ["train.py:3 in main"])])
    former = thread.swap_machine(machines.Machine(Gpus("nvidia")))
    try:
        name, text = in_child(lambda: torch.ones(1, device="cuda"))
    finally:
        thread.swap_machine(former)
    assert name == "AcceleratorError" and "had started CUDA, at train.py:3 in main" in text

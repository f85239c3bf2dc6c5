"""spawn: functions in several processes, how failures are reported, and wrong arguments."""

import re

import pytest

import flambeau as torch
import flambeau.multiprocessing as mp
from flambeau.testing import machine
from tests.wrong import cases, refused

from . import programs


@cases(
    (lambda: mp.get_context("x"), ValueError, "get_context", "'x'"),
    (lambda: mp.spawn(3), TypeError, "spawn", "3"),
    (lambda: mp.spawn(print, args=3), TypeError, "spawn", "3"),
    (lambda: mp.spawn(print, nprocs="x"), TypeError, "spawn", "'x'"),
    (lambda: mp.spawn(print, nprocs=-1), ValueError, "spawn", "-1"),
    (lambda: mp.start_processes(3), TypeError, "start_processes", "3"),
    (lambda: mp.start_processes(print, start_method="x"), ValueError, "start_processes", "'x'"),
)
def test_wrong_calls(case):
    refused(*case)


PATIENCE = 60  # seconds, with what must not wait for ever
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def test_spawn_runs_one_function_in_several_processes(gpus, context):
    table = torch.zeros(2, 3, device="cuda")
    assert mp.start_processes(programs.fill_row, (table,), nprocs=2, start_method="forkserver") is None
    assert table.tolist() == [[1.0] * 3, [2.0] * 3]


def test_the_first_failure_ends_the_others_and_is_told(gpus, context):
    started = mp.start_processes(programs.fail_at, (1,), nprocs=2, join=False, start_method="forkserver")
    with pytest.raises(
        mp.ProcessRaisedException, match="-- Process 1 terminated(.|\n)*ValueError: no luck in 1"
    ) as raised:
        while not started.join():
            pass
    assert (raised.value.error_index, raised.value.error_pid) == (1, started.pids()[1])
    assert not any(each.is_alive() for each in started.processes)


def test_a_traceback_of_any_length_is_told(gpus, context):
    started = mp.start_processes(programs.fail_at_length, (1 << 20,), join=False, start_method="forkserver")
    try:
        with pytest.raises(mp.ProcessRaisedException) as raised:
            assert started.join(timeout=PATIENCE)
    finally:
        started.processes[0].kill()
    assert re.search(
        r"Traceback \(most recent(.|\n)*ValueError: the beginningx+\n\.\.\. \d+ bytes \.\.\.\nx+the end\n$",
        raised.value.msg,
    )


@pytest.mark.parametrize(("how", "code", "name"), [("SIGKILL", -9, "SIGKILL"), (3, 3, None)])
def test_how_a_process_ended_is_told(gpus, context, how, code, name):
    started = mp.start_processes(programs.end_at, (0, how), nprocs=2, join=False, start_method="forkserver")
    with pytest.raises(mp.ProcessExitedException) as raised:
        started.join()
    assert (raised.value.error_index, raised.value.exit_code, raised.value.signal_name) == (0, code, name)


def test_joining_can_time_out(gpus, context):
    started = mp.start_processes(programs.fail_at, (9,), nprocs=1, join=False, start_method="forkserver")
    assert started.join(timeout=0) is False
    started.processes[0].kill()
    with pytest.raises(mp.ProcessExitedException, match="SIGKILL"):
        started.join()


def test_spawn_is_start_processes_by_spawning():
    assert mp.spawn(programs.nothing, nprocs=1) is None


@FORKS
def test_a_fork_after_the_start_is_refused_in_the_child():
    """CUDA in the child fails with who started it; see tests/runtime/test_fork.py."""
    with machine():
        x = torch.ones(2, device="cuda")
        with pytest.raises(mp.ProcessRaisedException, match="Cannot re-initialize CUDA in forked subprocess"):
            mp.start_processes(_touch, (), nprocs=1, start_method="fork")
        assert x.tolist() == [1.0, 1.0]


def _touch(index):
    torch.ones(2, device="cuda")

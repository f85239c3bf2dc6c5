"""Contexts, queues and pools (semantics 1.18.7)."""

import multiprocessing
import os
import subprocess
import sys

import pytest

import flambeau as torch
import flambeau.multiprocessing as mp
from flambeau.testing import machine

from . import programs

FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def test_a_spawned_process_has_its_parent_s_virtual_gpus():
    """This one really starts a new interpreter; the others come from the fork server."""
    context = mp.get_context("spawn")
    with machine(devices=3):
        queue = context.SimpleQueue()
        process = context.Process(target=programs.what_gpus, args=(queue,))
        process.start()
        assert queue.get() == (3, False, "spawn")
        process.join()
        assert process.exitcode == 0


def test_arguments_of_processes_are_shared(gpus, context):
    x = torch.zeros(2, device="cuda")
    process = context.Process(target=programs.add, args=(x,), kwargs={"value": 3.0})
    process.start()
    process.join()
    assert x.tolist() == [3.0, 3.0]
    torch.cuda.ipc_collect()
    assert not torch.cuda.ipc_report().lent


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_work_that_nobody_waited_for_runs_before_its_process_ends(gpus, context, method):
    x = torch.zeros(2, device="cuda")
    process = (context if method == "forkserver" else mp.get_context(method)).Process(
        target=programs.fill_and_end, args=(x, 4.0)
    )
    process.start()
    process.join()
    assert (process.exitcode, x.tolist()) == (0, [4.0, 4.0])


def test_work_that_fails_when_the_interpreter_ends_is_told_and_changes_no_exit_status():
    program = "import flambeau as torch; x = torch.arange(4, device='cuda'); x[torch.tensor([9], device='cuda')]"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "FLAMBEAU_GPUS": "virtual:1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0 and "index 9 is out of bounds" in ended.stderr and "Traceback" not in ended.stderr


def test_processes_can_be_subclassed(gpus, context, monkeypatch):
    monkeypatch.setattr(multiprocessing.context._default_context, "_actual_context", mp.get_context("forkserver"))
    x = torch.zeros(2, device="cuda")
    process = programs.Adder(x, 4.0)
    process.start()
    process.join()
    assert x.tolist() == [4.0, 4.0]


@FORKS
def test_cpu_tensors_are_shared_with_forked_children(gpus):
    x, plain = torch.zeros(2).share_memory_(), torch.zeros(2)
    process = mp.get_context("fork").Process(target=programs.add_on_cpu, args=(x, plain))
    process.start()
    process.join()
    assert (process.exitcode, x.tolist(), plain.tolist()) == (0, [1.0, 1.0], [0.0, 0.0])


def test_contexts_by_name():
    assert {mp.get_context(each)._name for each in ("spawn", "fork", "forkserver")} == {"spawn", "fork", "forkserver"}
    assert mp.get_context() is mp.get_context(multiprocessing.get_start_method())
    with pytest.raises(ValueError, match="cannot find context for 'teleport'"):
        mp.get_context("teleport")


@pytest.mark.parametrize("kind", ["Queue", "SimpleQueue", "JoinableQueue"])
def test_queues_carry_ordinary_things_too(kind):
    queue = getattr(mp, kind)()
    queue.put({"a": [1, 2]})
    assert queue.get() == {"a": [1, 2]}
    assert queue.withdraw() == 0
    queue.close()


def test_a_pool_maps_over_tensors(gpus, context):
    side = torch.cuda.Stream()
    with context.Pool(2) as pool:
        with torch.cuda.stream(side):
            rows = [torch.full((2,), float(each), device="cuda") for each in range(4)]
            for row in rows:
                row += 1
            assert pool.map(programs.double, rows) == [[2.0 * (each + 1)] * 2 for each in range(4)]
            assert pool.apply(programs.double, (rows[1],)) == [4.0, 4.0]
            pool.apply(programs.add, (rows[0],), {"value": 10.0})
            assert pool.starmap(programs.double, [(rows[0],)]) == [[22.0, 22.0]]
        made = pool.apply(programs.made, (3,)).clone()
    assert made.tolist() == [1.0, 1.0, 1.0]
    torch.cuda.ipc_collect()
    report = torch.cuda.ipc_report()
    assert not report.lent and not report.in_flight

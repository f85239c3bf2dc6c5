"""A model follows another driver's calls and finds the races of virtual GPUs; these stand for real ones."""

import runpy
import sys
import threading
from pathlib import Path

import pytest

import flambeau as torch
from flambeau.config import virtual_gpus
from flambeau.driver.api import Driver
from flambeau.driver.virtual import following
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.followed import FollowedDriver
from flambeau.dtypes import float32
from flambeau.errors import AccessError
from flambeau.library_operation import Gemm
from flambeau.testing import check, machine

RACES = Path(__file__).parents[3] / "examples" / "races"


def kinds(found):
    """The races of a report, without bytes and streams' numbers."""
    return {(race.lines, race.older.verb, race.newer.verb, race.older.name, race.is_pinned) for race in found.races}


def report_of(path, *arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    with machine(devices=2, races="real"), check() as found:
        runpy.run_path(str(path), run_name="__main__")
    return found


@pytest.mark.parametrize("path", sorted(RACES.glob("*.py")), ids=lambda path: path.stem)
def test_the_races_and_edits_are_those_of_virtual_gpus(path, monkeypatch, request):
    expected = report_of(path, monkeypatch=monkeypatch)
    made = request.getfixturevalue("followed")
    found = report_of(path, monkeypatch=monkeypatch)
    assert kinds(found) == kinds(expected)
    assert [str(edit) for edit in found.edits] == [str(edit) for edit in expected.edits]
    assert found.verified and not found.notes and made[0].lost == ""
    assert not report_of(path, "--fixed", monkeypatch=monkeypatch).races


def test_a_call_that_the_model_cannot_follow_ends_the_check_and_not_the_program(followed, tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text("import flambeau as torch\nx = torch.ones(4, device='cuda')\ny = x + 1\nprint(y.tolist())\n")
    real = following.FollowingEngine.launch

    def fails(self, alone, loaded, *arguments):
        if loaded.name.startswith("add"):
            raise AccessError("it is not known", operator="add")
        real(self, alone, loaded, *arguments)

    monkeypatch.setattr(following.FollowingEngine, "launch", fails)
    found = report_of(program, monkeypatch=monkeypatch)
    assert not found.races
    assert len(found.notes) == 1 and "program.py:3" in found.notes[0] and "it is not known" in found.notes[0]


@pytest.mark.parametrize("reads", range(12))
def test_nor_does_a_kernel_of_the_program_whose_accesses_cannot_be_read_end_it(reads, followed, monkeypatch):
    text = 'extern "C" __global__ void doubled(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }'
    doubled = torch.cuda.kernel(text, "doubled", {"x": "rw[n]"}, reference=lambda x, n: x.__imul__(2))
    real, wanted = following.FollowedKernel.bound, iter([True] * reads)

    def bound(self, arguments):
        if self.name == "doubled" and not next(wanted, False):
            raise AccessError("it is not known", operator="doubled")
        return real(self, arguments)

    with machine(devices=1, races="real"), check() as found:
        x = torch.ones(4, device="cuda")
        monkeypatch.setattr(following.FollowedKernel, "bound", bound)
        for _ in range(6):
            doubled(1, 32, args=[x, 4])
        assert x.tolist() == [64.0] * 4
    assert len(found.notes) == 1 and "it is not known" in found.notes[0]


def test_every_call_of_a_driver_is_made_on_the_real_one(monkeypatch):
    calls = {name for name in vars(Driver) if not name.startswith("_") and callable(getattr(Driver, name))}
    assert {name for name in calls if name not in vars(FollowedDriver)} == {"device_count"}
    real = VirtualDriver(virtual_gpus(1))
    monkeypatch.setattr(real, "library_reserve", lambda plan: 4096 + plan)
    driver = FollowedDriver(virtual_gpus(1), real)
    plan, _ = driver.library_plan(0, Gemm(float32, 1, 2, 2, 2, (4, 2, 1), (4, 2, 1), (4, 2, 1)))
    assert driver.library_reserve(plan) == 4096 + driver.loaded[plan].real


def test_a_thread_may_make_a_stream_while_another_waits_for_the_device(followed):
    class Device(int):
        """A device's number.  While it is first compared, another thread makes a stream."""

        __hash__ = int.__hash__

        def __eq__(self, other):
            if not makers:
                makers.append(threading.Thread(target=followed[0].stream_create, args=(0, 0)))
                makers[0].start()
                makers[0].join(0.05)  # it may have to wait for the comparisons
            return int(self) == other

    makers = []
    with machine(devices=1, races="real"):
        torch.ones(1, device="cuda")
        streams = len(followed[0]._engine.runner.queues)
        followed[0].device_synchronize(Device())
        makers[0].join()
        assert len(followed[0]._engine.runner.queues) == streams + 1

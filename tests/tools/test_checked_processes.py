"""Races of the processes that a checked program starts."""

import json
import os
import re
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from flambeau.errors import ConfigError
from flambeau.tools import checked_processes
from tests.forks import ROOT, Wanted

WORK = """import os, signal, sys
import flambeau as torch
from flambeau import multiprocessing
from flambeau.utils.data import DataLoader, Dataset


def race(*_):
    side = torch.cuda.Stream(name="side")
    a = torch.ones(8, device="cuda")
    with torch.cuda.stream(side):
        b = a * 2
    torch.cuda.synchronize()


def right(*_):
    torch.ones(8, device="cuda").mul_(2).tolist()


def killed(*_):
    right()
    os.kill(os.getpid(), signal.SIGKILL)


class Racing(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        race()
        return index


if __name__ == "__main__":
"""


def start(method, *functions):
    """Statements that run functions in processes, and do not wait for them."""
    lines = [f"    context = multiprocessing.get_context({method!r})"]
    for number, function in enumerate(functions):
        lines.append(f"    context.Process(target={function}, name='{method} {number}').start()")
    return "\n".join(lines) + "\n"


@pytest.fixture
def checked(programs, tmp_path):
    """The exit status and the report of a program."""
    temporary = Path(tempfile.mkdtemp())  # a short path, as a server of forks listens at a socket in it

    def check(body, *options):
        path = tmp_path / "program.py"
        path.write_text(WORK + body)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU")}
        kept |= {"PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_PURE": "1", "TMPDIR": str(temporary)}
        command = ["-m", "flambeau", "check", "--gpus", "virtual:1", "--json", *options, str(path)]
        done = programs.run(Wanted(command, str(tmp_path), kept))
        assert not list(temporary.glob("flambeau-check*"))
        return done.returncode, json.loads(done.stdout)

    yield check
    shutil.rmtree(temporary)


def places(report):
    """The line, the count and the processes of each race."""
    return [
        (int(re.search(r":(\d+)", race["newer"]["site"])[1]), race["count"], race["processes"])
        for race in report["races"]
    ]


def test_a_race_of_a_forked_process_is_in_the_report(checked):
    status, report = checked(start("fork", "race", "right"))
    assert (status, places(report)) == (1, [(11, 1, ["process 'fork 0'"])])
    assert report["verified"] and [edit["statement"] for edit in report["edits"]] == [
        "side.wait_stream(torch.cuda.default_stream())"
    ]


def test_races_of_the_same_lines_are_one_with_the_names_of_all_processes(checked):
    wait = "    for each in multiprocessing.active_children():\n        each.join()\n    race()\n"
    status, report = checked(start("fork", "race", "race") + wait)
    ((line, count, names),) = places(report)
    assert (status, line, count) == (1, 11, 3)
    assert sorted(names) == ["process 'fork 0'", "process 'fork 1'", "the first process"]


def test_without_races_it_is_silent(checked):
    status, report = checked(start("fork", "right"))
    assert (status, report["races"], report["notes"]) == (0, [], [])


def test_data_workers_have_numbers(checked):
    status, report = checked("    assert len(list(DataLoader(Racing(), batch_size=2, num_workers=2))) == 2\n")
    ((line, count, names),) = places(report)
    assert (status, line, count, sorted(names)) == (1, 11, 4, ["data worker 0", "data worker 1"])


def test_a_killed_process_is_named(checked):
    status, report = checked(start("fork", "killed"))
    assert status == 0 and report["races"] == []
    assert report["notes"] == ["the races of process 'fork 0' are not known: it was killed, or has not ended"]


def test_a_forked_process_ends_although_a_thread_of_its_parent_was_ending(monkeypatch):
    ended, begins, may_end = [], threading.Event(), threading.Event()

    def leave(status):
        ended.append(status)
        raise SystemExit(status)

    def finish(status):
        begins.set()
        may_end.wait(10)
        return status

    def end():
        with suppress(SystemExit):
            os._exit(1)

    monkeypatch.setattr(os, "_exit", leave)
    with checked_processes.before_exit(finish):
        thread = threading.Thread(target=end)
        thread.start()
        begins.wait()
        with monkeypatch.context() as forked, pytest.raises(SystemExit):
            forked.setattr(os, "getpid", lambda: 0)
            os._exit(3)
        may_end.set()
        thread.join()
    assert ended == [3, 1]


def test_a_process_that_calls_os_exit_is_in_the_report(checked):
    fork = "    child = os.fork()\n    if child == 0:\n        race()\n        os._exit(0)\n    os.waitpid(child, 0)\n"
    status, report = checked(fork + "    os._exit(0)\n")
    ((line, count, (name,)),) = places(report)
    assert (status, line, count, report["status"]) == (1, 11, 1, 0) and re.fullmatch(r"process \d+", name)


def test_a_proof_is_of_the_first_process(checked):
    status, report = checked(start("fork", "race") + "    right()\n", "--prove")
    assert status == 1 and places(report) == [(11, 1, ["process 'fork 0'"])]
    assert not report["proof"]["is_complete"] and "for the first process alone" in report["proof"]["text"]


@pytest.mark.full
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_so_is_a_race_of_a_process_that_starts_anew(checked, method):
    status, report = checked(start(method, "race", "right"))
    assert (status, places(report)) == (1, [(11, 1, [f"process '{method} 0'"])])


@pytest.mark.full
def test_and_of_another_python(checked):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import program; program.race()"
    run = f"subprocess.run([sys.executable, '-c', {code!r}, '.'], check=True)"
    status, report = checked(f"    import subprocess\n    {run}\n")
    ((line, count, (name,)),) = places(report)
    assert (status, line, count) == (1, 11, 1) and re.fullmatch(r"process \d+", name)


def test_a_folder_that_others_may_write_is_refused(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    monkeypatch.setenv("FLAMBEAU_CHECK", str(tmp_path))
    with pytest.raises(ConfigError, match=r"FLAMBEAU_CHECK='/.*mode 40777.*\nhint: "):
        checked_processes.settings()

"""flambeau trace: its page, its exit status, and programs that fail, end or are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import flambeau as torch
from flambeau import errors
from flambeau.cli import trace as command
from flambeau.testing import machine

SOURCES = str(Path(__file__).parents[2] / "src")


@pytest.fixture
def two():
    with machine(devices=2) as made:
        yield made


def test_help_shows_the_command():
    from flambeau.cli.commands import commands

    text = CliRunner().invoke(commands, ["trace", "--help"]).output
    assert "trace.html" in text and "--chrome" in text and "--limit" in text


@pytest.mark.parametrize("place", ["none/x.html", "."])
def test_a_place_that_cannot_be_written_is_refused_before_the_program_runs(tmp_path, place):
    with pytest.raises(SystemExit, match="flambeau trace: cannot write") as refused:
        command.trace(lambda: pytest.fail("it ran"), str(tmp_path / place), None, 5)
    assert "hint:" in str(refused.value) and "-o" in str(refused.value)
    with pytest.raises(SystemExit, match=r"cannot write(.|\n)*hint: .*--chrome"):
        command.trace(lambda: pytest.fail("it ran"), str(tmp_path / "x.html"), str(tmp_path / place), 5)


@pytest.mark.parametrize("status", [0, 3])
def test_the_command_exits_with_the_program_s_status(two, tmp_path, capsys, status):
    def program():
        for _ in range(2):
            torch.ones(4, device="cuda")
        return status

    with pytest.raises(SystemExit) as ended:
        command.trace(program, str(tmp_path / "x.html"), str(tmp_path / "x.json"), 1)
    out, err = capsys.readouterr()
    assert ended.value.code == status and len(out.strip().splitlines()) == 5
    assert "1 of 2" in err and f"wrote {tmp_path / 'x.json'}" in err and (f"status {status}" in err) is bool(status)
    assert "fill_float32" in (tmp_path / "x.html").read_text() and (tmp_path / "x.json").exists()


def test_a_lost_device_leaves_a_report(two, tmp_path, capsys):
    def program():
        torch.zeros(10, device="cuda")[torch.tensor([12], device="cuda")]
        with pytest.raises(errors.AcceleratorError):
            torch.cuda.synchronize()
        return 1

    with pytest.raises(SystemExit):
        command.trace(program, str(tmp_path / "x.html"), None, 100)
    assert "cuda:0" in capsys.readouterr().out and "select_rows_4" in (tmp_path / "x.html").read_text()


def test_a_missing_program_makes_no_report(tmp_path, monkeypatch):
    from flambeau.cli.commands import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit, match="flambeau trace: there is no file 'none.py'"):
        main(["trace", "--gpus", "virtual:1", "none.py"])
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error(two, tmp_path, monkeypatch, capsys):
    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flambeau.tools.trace_writers.write_page", refuse)
    with pytest.raises(SystemExit) as ended:
        command.trace(lambda: 0, str(tmp_path / "x.html"), None, 100)
    assert ended.value.code == 1 and "No space left" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "130")])
def test_a_killed_program_leaves_its_report(tmp_path, number, name):
    program = f"import flambeau as torch, os\ntorch.ones(4, device='cuda')\nos.kill(os.getpid(), {int(number)})\n"
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", "trace", "-o", "x.html", "--gpus", "virtual:1", "-c", program],
        capture_output=True, text=True, cwd=tmp_path, timeout=120,
        env={**os.environ, "PYTHONPATH": SOURCES, "FLAMBEAU_PURE": "1"},
    )  # fmt: skip
    assert done.returncode == (-number if number == signal.SIGTERM else 130)
    page = (tmp_path / "x.html").read_text()
    assert "fill_float32" in page and name in page and "busy" in done.stdout

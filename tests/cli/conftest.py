"""Runs the command line, in processes of its own, and writes programs for it."""

import os
import signal
from pathlib import Path

import pytest

from tests.forks import Wanted

SOURCES = str(Path(__file__).parents[2] / "src")


@pytest.fixture(autouse=True)
def handler_of_sigterm():
    """Restore the handler: a command that runs in this process leaves its own."""
    former = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, former)


@pytest.fixture
def flambeau(programs):
    """Runs the command."""

    def run(*args, cwd=None, stdin="", fresh=False, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLAMBEAU", "NO_COLOR"))}
        settings = {**kept, "PYTHONPATH": SOURCES, "FLAMBEAU_PURE": "1", **environment}
        wanted = Wanted(["-m", "flambeau", *map(str, args)], str(cwd or os.getcwd()), settings, stdin)
        return programs.run(wanted, fresh=fresh)

    return run


@pytest.fixture
def script(tmp_path):
    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write

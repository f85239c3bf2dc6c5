"""That a gate can fail is itself tested: each mistake here, planted into a copy of the project, must be caught."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FAILED = 1  # pytest's exit code for failing tests; 2 and more mean that they did not run


class Mutation(NamedTuple):
    """In `file` below src/flambeau, `old` becomes `new`; `gate` are the pytest arguments of what must notice."""

    name: str
    file: str
    old: str
    new: str
    gate: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "an internal name that completion shows",
        "utils/__init__.py",
        "__dir__ = _listing(globals())\n",
        "",
        ("tests/test_surface.py", "-k", "test_dir_shows_the_public_interface_alone"),
    ),
    Mutation(
        "an upward import",
        "memory/pending.py",
        "from ..driver.api import",
        "if __debug__ is None:\n    from .. import tensor\nfrom ..driver.api import",
        ("tests/test_layers.py", "-k", "test_the_contracts_of_imports_hold"),
    ),
    Mutation(
        "an operator that knows streams",
        "ops/arithmetic.py",
        "from .. import dtypes\n",
        "from .. import dtypes, runtime\n",
        ("tests/test_layers.py", "-k", "test_the_contracts_of_imports_hold"),
    ),
    Mutation(
        "the driver called around the stream",
        "core/plan.py",
        "    stream.launch(step.handle, step.grid, buffer)\n",
        "    thread.machine().driver.launch(step.handle, step.grid, buffer, stream.handle)\n",
        ("tests/test_layers.py", "-k", "test_only_streams_put_work_in_order"),
    ),
    Mutation(
        "a wrong derivative",
        "ops/arithmetic.py",
        "grad * other if needs[0] else None, grad * input if needs[1] else None",
        "grad * input if needs[0] else None, grad * input if needs[1] else None",
        ("tests/semantics/ops/test_sweep.py", "-k", "test_derivative_agrees_with_differences and mul"),
    ),
    Mutation(
        "wait_stream that records and does not wait",
        "core/queue.py",
        "        self.wait(other._marked())\n",
        "        other._marked()\n",
        ("tests/runtime/test_stream.py",),
    ),
    Mutation(
        "a copy that does not wait as its route says",
        "runtime/copy.py",
        "    if route.waits:\n        _wait(stream, dst, src if is_from_host else dst)\n    elif",
        "    if",
        ("tests/tools/test_explain.py", "-k", "test_what_is_said_is_what_happens"),
    ),
    Mutation(
        "a pending copy that is not waited for",
        "runtime/pending_copies.py",
        "        copy.event.synchronize()\n",
        "        assert copy.event.handle\n",
        ("tests/runtime/test_pending_copies.py", "-k", "test_wait_gives_the_values_and_the_tensor"),
    ),
    Mutation(
        "race poison switched off",
        "driver/virtual/races.py",
        "        stack = list(conflicts)\n",
        "        stack: list[Conflict] = []\n",
        ("tests/driver/virtual/test_races.py",),
    ),
    Mutation(
        "a capture that takes memory from the shared pools",
        "core/allocator.py",
        "            pool = self._routes.instead_of(pool, stream, self._driver)\n",
        "            pass\n",
        ("tests/memory/test_private.py",),
    ),
    Mutation(
        "a stream that goes on before the forks of a graph are done",
        "driver/virtual/graphs.py",
        "        steps.follow(queue, steps.point(branch))\n",
        "        steps.point(branch)\n",
        ("tests/driver/virtual/test_graphs.py",),
    ),
    Mutation(
        "replays that repeat their random numbers",
        "runtime/graph.py",
        "state.reserve(count)",
        "state.reserve(0)",
        ("tests/runtime/test_graph.py", "-k", "TestRandom"),
    ),
    Mutation(
        "a public method without an example",
        "nn/module.py",
        "            >>> torch.nn.Linear(2, 3).extra_repr()\n",
        "",
        ("tests/test_docstrings.py", "-k", "everything_public"),
    ),
)


@pytest.fixture
def copy(tmp_path):
    """A copy of the project that a test may damage."""
    ignored = shutil.ignore_patterns(".*_cache", "*.so")
    for folder in ("src", "tests", "examples", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_a_planted_mistake_is_caught(copy, mutation):
    if "test_the_contracts_of_imports_hold" in mutation.gate:
        pytest.importorskip("importlinter")
    path = copy / "src" / "flambeau" / mutation.file
    text = path.read_text()
    assert text.count(mutation.old) == 1, f"{mutation.file} has changed: plant {mutation.name} anew"
    path.write_text(text.replace(mutation.old, mutation.new))
    done = run(copy, *mutation.gate)
    assert done.returncode == FAILED, done.stdout + done.stderr


def run(copy, *gate):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLAMBEAU", "PYTEST"))}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *gate]
    return subprocess.run(
        command, cwd=copy, capture_output=True, text=True, timeout=300, env={**kept, "PYTHONPATH": str(copy / "src")}
    )

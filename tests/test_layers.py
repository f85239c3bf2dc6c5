"""The shape of the package: which module may import which, and which may put work on a stream; and where tests lie.

The layers are contracts of import-linter in pyproject.toml.
"""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "flambeau"
SHELLS = "", "cuda", "import_paths", "utils", "backends", "distributed", "fft", "random", "special", "types", "version"

# Calls of the Driver that put work in order: only core.queue makes them.
ORDER_CALLS = {"launch", "copy", "fill", "library_run", "event_record", "stream_wait_event", "graph_launch"}
MAY_ORDER = ("core.queue", "runtime.stream")
CALLS_DRIVERS_DIRECTLY = ("driver", "testing")  # the implementers, and the suite that they pass
# Import cycles of annotations, through `if TYPE_CHECKING`: no cycle exists at run time.  No cycle is added.
KNOWN_CYCLES = {
    "core.layout core.storage core.thread runtime.cudart runtime.device runtime.fork runtime.generator "
    "runtime.green_context runtime.machine runtime.pending_copies runtime.stream runtime.strict "
    "runtime.threads": "core.thread and the streams name the types of the machine's parts, which refer back to them",
    "core.queue driver.api": "a Driver has HotCalls, which call the Driver",
    "driver.virtual.access driver.virtual.capture driver.virtual.engine driver.virtual.events driver.virtual.memory "
    "driver.virtual.queue driver.virtual.races driver.virtual.submission": (
        "a block keeps its access history, an access its command, and a command its queue, events and blocks"
    ),
}

TESTS = ROOT / "tests"
# Folders with tests of behaviour across modules; the files of tests/ itself that test the repository.
ROOMS = {"semantics", "oracle", "programs", "seeds"}
REPOSITORY = {
    "assertions", "benchmarks", "calibration", "compiled", "contributing", "counts", "docs", "docstrings",
    "error_texts", "examples", "imports", "layers", "mutations", "packages", "scripts", "surface", "tiers",
}  # fmt: skip


def module_of(path: Path) -> str:
    """The module's name below flambeau: "" for the package itself, "ops.reductions" for ops/reductions.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes_of(module: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(PATHS[module].read_text())))


@pytest.fixture(scope="module", autouse=True)
def _trees_for_this_file_alone() -> Iterator[None]:
    """The trees are made once, without collections, and freed: every fork of the process would copy their memory."""
    gc.disable()
    for module in PATHS:
        nodes_of(module)
    gc.enable()
    yield
    nodes_of.cache_clear()


def top(module: str) -> str:
    return module.split(".")[0]


LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports('pyproject.toml', cache_dir=None))"


def test_the_contracts_of_imports_hold():
    """In a process of its own: the linter configures logging."""
    pytest.importorskip("importlinter")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def imported(annotations: bool) -> dict[str, set[str]]:
    """Return which modules of the package each imports, anywhere; annotations: through `if TYPE_CHECKING` too."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("flambeau", exclude_type_checking_imports=not annotations, cache_dir=None)
    return {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def cycles(graph: dict[str, set[str]]) -> set[str]:
    """Return each group of modules that import each other, directly or not, as one text."""
    reached = {module: set(targets) for module, targets in graph.items()}
    for through in reached:
        for targets in reached.values():
            if through in targets:
                targets |= reached[through]
    groups = {frozenset(other for other in reached[module] if module in reached[other]) for module in graph}
    return {" ".join(sorted(group)) for group in groups if len(group) > 1}


def test_no_modules_import_each_other_in_circles():
    assert cycles(imported(annotations=False)) == set()


def test_no_new_cycle_of_annotations():
    """If this fails because a cycle is gone: remove it from KNOWN_CYCLES."""
    expected = {" ".join(f"flambeau.{module}" for module in group.split()) for group in KNOWN_CYCLES}
    assert cycles(imported(annotations=True)) == expected


def test_a_cycle_is_seen():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e", "d"}}
    assert cycles(graph) == {"a b c", "e f"}


def test_only_streams_put_work_in_order():
    found = [
        f"{module}:{node.lineno} calls driver.{node.func.attr}"
        for module in PATHS
        if module not in MAY_ORDER and top(module) not in CALLS_DRIVERS_DIRECTLY
        for node in nodes_of(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ORDER_CALLS and _last_name(node.func.value) in ("driver", "_driver")
    ]
    assert found == []


def _last_name(node: ast.expr) -> str:
    """The last word of `a.b.driver`, or "" of anything that is not such a path."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_shells_only_import():
    """`__getattr__` is how submodules load late, and `__dir__` what a completion lists: no import can say these."""
    found = [
        f"{module or 'flambeau'}:{node.lineno} defines {node.name}"
        for module in PATHS
        if top(module) in SHELLS
        for node in nodes_of(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.name not in ("__getattr__", "__dir__")
    ]
    assert found == []


def test_not_supported_has_one_class():
    """NotImplementedError is raised only through errors.NotSupportedError, so every such text is a fact with a hint."""
    found = [
        f"{module}:{node.lineno}"
        for module in PATHS
        if module != "errors"
        for node in nodes_of(module)
        if isinstance(node, ast.Raise)
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and name.id == "NotImplementedError"
    ]
    assert found == []


def is_placed(test: Path) -> bool:
    """Whether a test file, relative to tests/, lies in a room, or has the path of a module, a package or a C source."""
    subject = test.stem.removeprefix("test_")
    if test.parts[0] in ROOMS or (len(test.parts) == 1 and subject in REPOSITORY):
        return True
    names = f"{subject}.py", f"_{subject}.py", f"{subject}/__init__.py", f"{subject}.cu", f"{subject}.h"
    return any((PACKAGE / test.parent / name).exists() for name in names)


def test_each_test_file_mirrors_a_module_or_lies_in_a_room():
    found = {str(test) for path in TESTS.rglob("test_*.py") if not is_placed(test := path.relative_to(TESTS))}
    assert found == set()


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("core/test_views.py", True), ("test_array_api.py", True), ("driver/nvidia/test_convolution.py", True),
        ("semantics/ops/test_out.py", True), ("test_layers.py", True), ("test_views.py", False),
        ("ops/test_layers.py", False), ("core/test_wrong.py", False),
    ],
)  # fmt: skip
def test_a_misplaced_test_file_is_seen(test, expected):
    assert is_placed(Path(test)) is expected

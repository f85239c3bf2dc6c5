"""The shape of the package: which module may import which, and which may put work on a stream."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "flambeau"

# A module imports its own layer and those before it.
LAYERS = (
    (
        "errors",
        "dtypes",
        "strides",
        "memory_formats",
        "kernel",
        "library_operation",
        "recurrent_operation",
        "solver_operation",
        "byte_ranges",
        "config",
        "core.queue",
        "callers",
        "host",
        "channel",
        "signals",
        "importer",
        "core.native",
        "core.locks",
    ),
    ("driver", "core.queue", "core.nvidia", "vector_clock"),
    ("core", "memory", "runtime", "operands", "lowering", "transfer", "uncomputed", "autograd", "ops", "numerics"),
    ("tensor",),
    ("nn", "optim", "data", "distributions", "amp", "parallel", "multiprocessing", "serialization", "array_api"),
    ("tools", "testing"),
    (
        "",
        "cuda",
        "import_paths",
        "utils",
        "backends",
        "distributed",
        "fft",
        "random",
        "special",
        "types",
        "version",
    ),
    ("cli", "__main__"),
)
BASE = LAYERS[0]
SHELLS = LAYERS[-2]
LAYER_OF = {name: index for index, layer in enumerate(LAYERS) for name in layer}

# Calls of the Driver that put work in order: only core.queue makes them.
ORDER_CALLS = {"launch", "copy", "fill", "library_run", "event_record", "stream_wait_event", "graph_launch"}
MAY_ORDER = ("core.queue", "runtime.stream")
CALLS_DRIVERS_DIRECTLY = ("driver", "testing")  # the implementers, and the suite that they pass
HEAVY = {"numpy", "scipy", "ml_dtypes", "cuda", "click", "rich", "torch", "sklearn"}
MAY_IMPORT_HEAVY = {
    "host": {"numpy", "scipy", "ml_dtypes"},
    "driver.nvidia": {"cuda"},
    "cli": {"click", "rich"},
}


# Import cycles within a layer, all through `if TYPE_CHECKING`: no cycle exists at run time.  No cycle is added.
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


def imports(module: str) -> Iterator[tuple[str, int]]:
    """Every module of ours that `module` imports, anywhere in it, with the line."""
    is_package = PATHS[module].name == "__init__.py"
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "flambeau":
                    yield alias.name.removeprefix("flambeau").lstrip("."), node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = _base_of(module, is_package, node)
            if base is None:
                continue
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                yield inner if inner in PATHS else base, node.lineno


def _base_of(module: str, is_package: bool, node: ast.ImportFrom) -> str | None:
    if node.level == 0:
        name = node.module or ""
        return name.removeprefix("flambeau").lstrip(".") if name.split(".")[0] == "flambeau" else None
    parts = module.split(".") if module else []
    drop = node.level - (1 if is_package else 0)
    kept = parts[: len(parts) - drop]
    return ".".join([*kept, *([node.module] if node.module else [])])


def top(module: str) -> str:
    return module.split(".")[0]


def layer_of(module: str) -> int:
    return LAYER_OF.get(module, LAYER_OF[top(module)])


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_every_module_has_a_layer():
    assert {top(module) for module in PATHS} <= set(LAYER_OF)


def test_imports_go_downward():
    upward = [
        f"{module or 'flambeau'}:{line} imports {target or 'flambeau'}"
        for module in PATHS
        for target, line in imports(module)
        if layer_of(target) > layer_of(module)
    ]
    assert upward == []


def in_own_layer(module: str, is_running: bool) -> set[str]:
    """The other modules of its layer that a module imports, anywhere; is_running: without those for annotations."""
    typing = {
        line
        for node in nodes_of(module)
        if is_running and isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING"
        for line in range(node.lineno, node.body[-1].end_lineno + 1)
    }
    others = {target for target, line in imports(module) if line not in typing and target in PATHS}
    return {each for each in others - {module} if layer_of(each) == layer_of(module)}


def cycles(graph: dict[str, set[str]]) -> set[str]:
    """Each group of modules that import each other, directly or not, as one text."""
    reached = {module: set(targets) for module, targets in graph.items()}
    for through in reached:
        for targets in reached.values():
            if through in targets:
                targets |= reached[through]
    groups = {frozenset(each for each in reached[module] if module in reached[each]) for module in graph}
    return {" ".join(sorted(group)) for group in groups if group}


def test_modules_of_a_layer_do_not_import_each_other_in_circles():
    assert cycles({module: in_own_layer(module, is_running=True) for module in PATHS}) == set()


def test_no_new_cycle_of_annotations():
    """If this fails because a cycle is gone: remove it from KNOWN_CYCLES."""
    assert cycles({module: in_own_layer(module, is_running=False) for module in PATHS}) == set(KNOWN_CYCLES)


def test_a_cycle_is_seen():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}}) == {"a b c", "e f"}


def test_operators_import_the_base_and_the_core_alone():
    found = [
        f"{module}:{line} imports {target}"
        for module in PATHS
        if top(module) == "ops"
        for target, line in imports(module)
        if top(target) not in (*BASE, "core", "ops")
    ]
    assert found == []


def test_the_two_machines_never_see_each_other():
    sides = ("driver.nvidia", "driver.virtual")
    both = [
        module
        for module in PATHS
        if all(
            any(is_in(name, side) for name in (module, *(target for target, _ in imports(module)))) for side in sides
        )
    ]
    assert both == ["driver"]


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


def test_heavy_packages_are_imported_in_one_place_each():
    found = [
        f"{module}:{line} imports {package}"
        for module in PATHS
        for package, line in _foreign(module)
        if package in HEAVY and not _may_import(module, package)
    ]
    assert found == []


def _foreign(module: str) -> Iterator[tuple[str, int]]:
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").split(".")[0], node.lineno


def _may_import(module: str, package: str) -> bool:
    return any(is_in(module, where) and package in packages for where, packages in MAY_IMPORT_HEAVY.items())


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

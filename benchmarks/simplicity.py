"""Counts that say how simple the package is to build and to read: `scripts/simplicity`, or --json for one JSON object.

The build is made in a copy, with CFLAGS=-O2, and only where there is a C compiler and Cython; --no-build leaves it out.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
IDLE_GPU = "from benchmarks.data_parallel import use_idle_gpus; use_idle_gpus(1)"
WARM_CALLS = {  # by where it runs: the device, and how its machine starts
    "the CPU": ("cpu", ""),
    "a GPU, driver aside": ("cuda", IDLE_GPU),
    "a virtual GPU": ("cuda", "torch.virtual(1)"),
}
PACKAGE = ROOT / "src" / "flambeau"
WARM_CALL = """
import sys
sys.path.insert(0, {source!r})
import flambeau as torch

{start}
device = {device!r}
a, b = torch.ones(4, device=device), torch.ones(4, device=device)
with torch.no_grad():
    for _ in range(5):  # two blocks of results take turns, and each is warm once it has been taken again
        c = a + b
    seen = []

    def look(frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        if name.startswith("flambeau"):
            seen.append((name, frame.f_code.co_name))

    sys.setprofile(look)
    c = a + b
    sys.setprofile(None)
import json
print(json.dumps(list(dict.fromkeys(seen))))
"""


def lines_of(paths: list[Path]) -> int:
    return sum(path.read_text().count("\n") for path in paths)


def module_of(path: Path) -> str:
    """The name below flambeau: "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, modules: set[str], everywhere: bool) -> Iterator[str]:
    """The modules that a file imports, at its top level or everywhere in it; not those for type checkers."""
    package = module_of(path).split(".") if path.name == "__init__.py" else module_of(path).split(".")[:-1]
    todo = list(ast.parse(path.read_text()).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base = [part for part in (*base, *(node.module or "").split(".")) if part]
            for alias in node.names:
                inner = ".".join((*base, alias.name))
                yield inner if inner in modules else ".".join(base)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        elif everywhere or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            todo += [each for each in ast.iter_child_nodes(node) if isinstance(each, (ast.stmt, ast.ExceptHandler))]


def import_cycles(everywhere: bool) -> list[list[str]]:
    """Sets of modules that import one another.  A package's own `__init__` counts only where it is named."""
    paths = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    graph = {name: set(imported(path, set(paths), everywhere)) & set(paths) - {name} for name, path in paths.items()}
    return sorted((sorted(each) for each in components(graph) if len(each) > 1), key=len, reverse=True)


def components(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Strongly connected components, by what can be reached forth and back."""
    back: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            back[target].add(name)
    left = set(graph)
    while left:
        start = min(left)
        found = reached(start, graph) & reached(start, back)
        left -= found
        yield found


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    found, todo = {start}, [start]
    while todo:
        more = graph[todo.pop()] - found
        found |= more
        todo += more
    return found


def build() -> dict[str, Any] | None:
    """Build the package; return its cost and output, or None if it cannot be built."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(ROOT / "src", Path(place) / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        shutil.copy(ROOT / "setup.py", place)
        environment = {**os.environ, "CFLAGS": "-O2", "FLAMBEAU_PURE": "0"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
            cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        generated = list(Path(place).rglob("*.c"))
        if done.returncode or not generated:
            print(f"simplicity: nothing was built: {done.stderr.strip()}", file=sys.stderr)
            return None
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        built = list((Path(place) / "src").rglob("*.so"))
        size = sum(path.stat().st_size for path in built)
        return {"modules": len(built), "generated lines": lines_of(generated), "cpu seconds": seconds, "bytes": size}


def warm_call(device: str, start: str) -> list[list[str]]:
    """(module, function) of all of flambeau's code that a warm `a + b` without gradient executes, uncompiled.

    start: program text that makes the machine.
    """
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(ROOT / "src", Path(place) / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        program = WARM_CALL.format(source=f"{place}/src", device=device, start=start)
        environment = {**os.environ, "FLAMBEAU_PURE": "1", "PYTHONPATH": f"{place}/src{os.pathsep}{ROOT}"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def counts(with_build: bool) -> dict[str, Any]:
    sources = sorted(PACKAGE.rglob("*.py"))
    declared = sorted(PACKAGE.rglob("*.pxd"))
    only_c = set(PACKAGE.rglob("*.pyx"))  # a .py beside one is what runs uncompiled
    compiled = sorted(only_c | {path.with_suffix(".py") for path in declared if path.with_suffix(".pyx") not in only_c})
    return {
        "modules": len(sources),
        "lines": lines_of(sources),
        "compiled modules": [str(path.relative_to(PACKAGE)) for path in compiled],
        "lines of compiled modules": lines_of(compiled),
        "lines of their declarations": lines_of(declared),
        "build": build() if with_build else None,
        "import cycles": import_cycles(everywhere=False),
        "import cycles with imports in functions": import_cycles(everywhere=True),
        "type: ignore": sum(path.read_text().count("# type: ignore") for path in sources),
        "warm call": {where: warm_call(*how) for where, how in WARM_CALLS.items()},
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    folders: dict[str, list[str]] = {}
    for name in found["compiled modules"]:
        folder, _, file = f"./{name}".rpartition("/")
        folders.setdefault(folder.removeprefix("./"), []).append(file)
    yield f"modules in src                  {found['modules']}, {found['lines']} lines"
    yield f"compiled modules                {len(found['compiled modules'])}"
    for folder, files in folders.items():
        yield f"  {folder:30s}{' '.join(files)}"
    declared = found["lines of their declarations"]
    yield f"lines of compiled modules       {found['lines of compiled modules']}, and {declared} of declarations"
    if (made := found["build"]) is not None:
        yield f"lines of generated C            {made['generated lines']}"
        yield f"build at -O2                    {made['cpu seconds']:.0f} CPU seconds, {made['bytes'] / 2**20:.1f} MiB"
    for key in ("import cycles", "import cycles with imports in functions"):
        sizes = ", ".join(str(len(each)) for each in found[key])
        yield f"{key:42s}{f'{len(found[key])}, of {sizes} modules' if sizes else '0'}"
        yield from (f"  {' '.join(name or 'flambeau' for name in each)}" for each in found[key] if len(each) <= 12)
    yield f"type: ignore                    {found['type: ignore']}"
    for where, seen in found["warm call"].items():
        modules = list(dict.fromkeys(module for module, _ in seen))
        yield f"a warm a + b on {where:20s}{len(modules)} modules, {len(seen)} functions"
        yield f"  {' '.join(module.removeprefix('flambeau.') for module in modules)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-build", action="store_true", help="do not build")
    options = parser.parse_args()
    found = counts(not options.no_build)
    print(json.dumps(found, indent=2) if options.json else "\n".join(lines(found)))


if __name__ == "__main__":
    main()

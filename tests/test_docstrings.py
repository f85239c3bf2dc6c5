"""Every public function, class and method has an example in its docstring, which runs and prints what it says.

It names the errors that the function's own code raises, and an operator's those of wrong input.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import errors
from flambeau.import_paths import ROWS
from flambeau.nn import functional
from flambeau.ops.operator import REGISTRY
from flambeau.testing import machine
from tests.conftest import ON_HARDWARE

ROOT = Path(flambeau.__file__).parent
# objects are named after the first module that has them: these come first, then every other one with an `__all__`
MODULES = (
    flambeau, functional, flambeau.amp, flambeau.compiler, flambeau.cuda, flambeau.distributed, flambeau.hub,
    flambeau.jit, flambeau.library, flambeau.linalg, flambeau.nn, flambeau.nn.utils, flambeau.optim, flambeau.special,
    flambeau.utils.data,
)  # fmt: skip
CHOOSES_MACHINE = "flambeau.virtual"  # must come before the first use of a GPU: its example has a process of its own

# methods that the library calls and programs do not, by class
INTERNAL = {
    "flambeau.Stream": "adopt begin copy exchange fill follow graph_launch launch library_run record wait",
    "flambeau.cuda.CUDAGraph": "covers draw keep keep_event",
    "flambeau.distributed.ProcessGroup": "next_key stream within",
    "flambeau.ops.operator.Operator": "derivative_body derive lower",
    "flambeau.ops.pointwise.Pointwise": "kernel lower number promoting spread strides_of",
}
ENTRIES = ("__init__", "__new__", "__call__", "__getitem__", "forward")  # methods that a class's docstring describes
# names without an example, by pattern, and why
WITHOUT_EXAMPLE = {
    "*._*": "private in PyTorch too, and there for imports",
    "flambeau.ao.quantization.*": "classes for isinstance checks, of which nothing makes an instance",
    "flambeau.autograd.profiler.EventList*": "made by a profile, whose methods have examples",
    "flambeau.autograd.profiler.FunctionEvent*": "made by a profile, whose methods have examples",
    "flambeau.cuda.Event.from_ipc_handle": "needs a second process",
    "flambeau.export.ExportedProgram": "a class that has no instances",
    "flambeau.fx.*": "classes that have no instances",
    "flambeau.onnx.*": "enumerations of an export, which raises",
    "flambeau.utils.flop_counter.*": "a class that counts nothing: entering it raises",
    "flambeau.utils.weak.*": "private in PyTorch too, and there for imports",
    "flambeau.ops.operator.Call*": "passed to an operator's body: docs/guides/adding-an-operator.md",
    "flambeau.ops.operator.Operand*": "passed to an operator's body: docs/guides/adding-an-operator.md",
    "flambeau.multiprocessing.reductions.reduce_*": "pickle calls it: a queue's example shows the effect",
    "flambeau.optim.*.formula": "for the optimizer itself; the class's example shows the step",
    "flambeau.utils.tensorboard.SummaryWriter*": "needs the package tensorboard, which the tests do not install",
    **{f"{owner}.{name}": "the library calls it" for owner, names in INTERNAL.items() for name in names.split()},
}


def further_modules() -> Iterator[Any]:
    """Every module with an `__all__`, except those of `core` and private ones; packages come before their modules.

    Then the modules without a file.
    """
    for path in sorted(ROOT.rglob("*.py"), key=lambda path: (len(path.parts) - (path.stem == "__init__"), path)):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        is_private = any(part.startswith("_") or part == "core" for part in parts)
        if not is_private and "\n__all__" in path.read_text():
            yield importlib.import_module(".".join(parts))
    for row in ROWS:
        if not any(part.startswith("_") for part in row.split(".")):
            yield importlib.import_module(f"flambeau.{row}")


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    """(name, function) of the public methods of a class that are defined in flambeau."""
    for name in dir(owner):
        found = inspect.getattr_static(owner, name)
        is_ours = any(name in base.__dict__ for base in owner.__mro__ if base.__module__.startswith("flambeau"))
        if name.startswith("_") or not is_ours or isinstance(found, property):
            continue
        function = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        if callable(function):
            yield name, function


def public() -> Iterator[tuple[str, Any]]:
    """(name, object) of the public functions and classes, and of their methods; each object once."""
    seen: set[int] = set()
    for module in (*MODULES, *further_modules()):
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if not callable(found) or not str(getattr(found, "__module__", "")).startswith("flambeau"):
                continue
            prefix = "Tensor" if found is flambeau.Tensor else f"{module.__name__}.{name}"
            named = ((f"{prefix}.{method}", each) for method, each in methods(found)) if inspect.isclass(found) else ()
            for each_name, each in ((f"{module.__name__}.{name}", found), *named):
                if id(each) not in seen:
                    seen.add(id(each))
                    yield each_name, each


PUBLIC = dict(public())
TEXTS = {name: inspect.getdoc(found) or "" for name, found in PUBLIC.items()}
EXAMPLES = {text: name for name, text in reversed(TEXTS.items()) if ">>>" in text}  # one text may serve several names


def is_error(found: Any) -> bool:
    """Whether an object is an error, which the example of what raises it shows."""
    return isinstance(found, type) and issubclass(found, Exception)


def is_excepted(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in WITHOUT_EXAMPLE)


def lacking() -> list[str]:
    """The public names without an example."""
    return [name for name, found in PUBLIC.items() if ">>>" not in TEXTS[name] and not is_error(found)]


def test_everything_public_has_an_example():
    assert [name for name in lacking() if not is_excepted(name)] == []


def test_every_exception_is_needed():
    assert [each for each in WITHOUT_EXAMPLE if not any(fnmatch(name, each) for name in lacking())] == []


def is_named(error: type[BaseException], text: str) -> bool:
    """Whether a docstring names an error class, or a more precise one of flambeau."""
    return any(issubclass(getattr(errors, name, object), error) for name in re.findall(r"\w+Error\b", text))


def test_operators_name_the_errors_of_wrong_input():
    lacks = {
        (name, sample.error.__name__)
        for name, operator in REGISTRY.items()
        for sample in (operator.errors() if operator.errors else ())
        if not is_named(sample.error, operator.__doc__ or "")
    }
    assert lacks == set()


def raised(found: Any) -> set[str]:
    """The errors of flambeau that the own code of a function raises, or that of making and calling an instance."""
    target = inspect.unwrap(found)
    target = getattr(target, "body", target)  # an operator's
    own = [vars(target).get(name) for name in ENTRIES] if inspect.isclass(target) else [inspect.unwrap(target)]
    written = [each for each in own if inspect.isfunction(each) and Path(each.__code__.co_filename).is_file()]
    names = {name for each in written for name in re.findall(r"\braise (\w+)\(", inspect.getsource(each))}
    return {name for name in names if is_error(getattr(errors, name, None))} - {"InternalError"}


def test_public_functions_name_the_errors_that_they_raise():
    lacks = {
        (name, error)
        for name, found in PUBLIC.items()
        if not is_error(found) and name.rpartition(".")[2] not in ENTRIES
        for error in raised(found)
        if not is_named(getattr(errors, error), TEXTS[name])
    }
    assert lacks == set()


def test_methods_document_only_what_they_take():
    names = [name for name in dir(flambeau.Tensor) if not name.startswith("__")]
    texts = {name: getattr(getattr(flambeau.Tensor, name), "__doc__", None) or "" for name in names}
    assert [name for name, text in texts.items() if "`out`" in text or "out=" in text] == []
    assert "Raises: DtypeError if `out`" in (flambeau.exp.__doc__ or "") and "Raises:" not in texts["exp"]
    assert "Raises: ShapeError if the shapes do not broadcast.\n    Example:" in texts["mul"]


def by_owner() -> dict[str, list[str]]:
    """The names with an example, by the module or class that has them."""
    found: dict[str, list[str]] = {}
    for name in sorted(set(EXAMPLES.values()) - {CHOOSES_MACHINE}):
        found.setdefault(name.rpartition(".")[0], []).append(name)
    return found


BY_OWNER = by_owner()


@pytest.mark.skipif(ON_HARDWARE, reason="examples show what virtual GPUs answer")
@pytest.mark.parametrize("owner", BY_OWNER)
def test_examples_print_what_they_say(owner):
    wrong: list[str] = []
    for name in BY_OWNER[owner]:
        test = doctest.DocTestParser().get_doctest(TEXTS[name], {"torch": flambeau}, name, None, 0)
        assert test.examples, name
        with machine(devices=2):
            flambeau.manual_seed(0)
            doctest.DocTestRunner(verbose=False).run(test, out=wrong.append)
    assert wrong == []


def test_the_example_that_chooses_a_machine(tmp_path):
    (tmp_path / "example.py").write_text(
        "import doctest, flambeau\ndoctest.run_docstring_examples(flambeau.virtual, {'torch': flambeau})\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU")}
    environment = {**kept, "FLAMBEAU_PURE": "1", "PYTHONPATH": str(Path(flambeau.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.stdout, done.stderr) == ("", "")

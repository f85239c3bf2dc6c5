"""Every public function, class and method has an example in its docstring, which runs and prints what it says."""

from __future__ import annotations

import doctest
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.nn import functional
from flambeau.tensor.legacy import TensorType
from tests.conftest import ON_HARDWARE

MODULES = (
    flambeau, functional, flambeau.amp, flambeau.compiler, flambeau.cuda, flambeau.distributed, flambeau.hub,
    flambeau.jit, flambeau.library, flambeau.linalg, flambeau.nn, flambeau.nn.utils, flambeau.optim, flambeau.special,
    flambeau.utils.data,
)  # fmt: skip
CHOOSES_MACHINE = "flambeau.virtual"  # must come before the first use of a GPU: its example has a process of its own


def public() -> Iterator[tuple[str, Any]]:
    """(name, object) of the public names of these modules, and of the methods of tensors."""
    for module in MODULES:
        for name in module.__all__:
            found = getattr(module, name)
            if callable(found):
                yield f"{module.__name__}.{name}", found
    for name in dir(flambeau.Tensor):
        found = inspect.getattr_static(flambeau.Tensor, name)
        if not name.startswith("_") and callable(found):
            yield f"Tensor.{name}", found


PUBLIC = dict(public())
TEXTS = {name: inspect.getdoc(found) or "" for name, found in PUBLIC.items()}
EXAMPLES = {text: name for name, text in reversed(TEXTS.items()) if ">>>" in text}  # one text may serve several names


def is_described_elsewhere(name: str, found: Any) -> bool:
    """Whether another example shows it: FloatTensor and its kin are shown by `tensor`, errors by what raises them."""
    if isinstance(found, type) and issubclass(found, Exception):
        return True
    return isinstance(found, TensorType)


def test_everything_public_has_an_example():
    lacking = [
        name for name, found in PUBLIC.items() if ">>>" not in TEXTS[name] and not is_described_elsewhere(name, found)
    ]
    assert lacking == []


@pytest.mark.devices(2)
@pytest.mark.parametrize("name", sorted(set(EXAMPLES.values()) - {CHOOSES_MACHINE}))
def test_an_example_prints_what_it_says(name, gpus):
    if ON_HARDWARE:
        pytest.skip("examples show what virtual GPUs answer")
    wrong: list[str] = []
    test = doctest.DocTestParser().get_doctest(TEXTS[name], {"torch": flambeau}, name, None, 0)
    doctest.DocTestRunner(verbose=False).run(test, out=wrong.append)
    assert test.examples and wrong == []


def test_the_example_that_chooses_a_machine(tmp_path):
    (tmp_path / "example.py").write_text(
        "import doctest, flambeau\ndoctest.run_docstring_examples(flambeau.virtual, {'torch': flambeau})\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU")}
    environment = {**kept, "FLAMBEAU_PURE": "1", "PYTHONPATH": str(Path(flambeau.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.stdout, done.stderr) == ("", "")

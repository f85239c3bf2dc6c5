"""The comparison of signatures finds what it should, where PyTorch is installed; it runs in a process of its own."""

import importlib.util
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest


def is_installed(name, release):
    """Whether a package is installed in a release."""
    return importlib.util.find_spec(name) is not None and version(name).startswith(release)


pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not is_installed("torch", "2.13"), reason="needs PyTorch 2.13, whose signatures they are"),
]
PROGRAM = Path(__file__).parent / "signatures.py"


def answer(statement):
    """Run a statement with `signatures` imported as `s`; return the printed lines."""
    text = f"import sys; sys.path.insert(0, {str(PROGRAM.parent)!r}); import signatures as s, torch\n{statement}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_names_and_places_that_differ_are_found():
    assert answer(
        "def add(input, factor, other): ...\n"
        "print(*s.differences('torch.add', add, torch.add, False)[1], sep='\\n')\n"
        "def softmax(self, dim, dtype=None): ...\n"
        "print(s.differences('torch.Tensor.softmax', softmax, torch.Tensor.softmax, True))\n"
        "def relu(*args, **options): ...\n"
        "print(s.differences('torch.nn.functional.relu', relu, torch.nn.functional.relu, False))\n"
        "forms = s.theirs('torch.max', torch.max)\n"
        "print(forms[0].named == frozenset({'input', 'out'}), len(forms))"
    ) == [
        "lacks alpha=",
        "lacks out=",
        "position 1 is factor, not other",
        "([], [])",
        "([], ['takes any name: inplace, input'])",
        "True 3",
    ]


@pytest.mark.slow
def test_what_is_explained_is_still_lacking_and_written_down():
    lines = answer(
        "found = {(pair[0], text) for pair in s.pairs() for text in s.differences(*pair)[0]}\n"
        "wanted = {(full, f'lacks {name}') for name, owners in s.EXPLAINED.items() for full in owners}\n"
        "print(found == wanted, sorted(found ^ wanted))\n"
        "print(*s.EXPLAINED)"
    )
    assert lines[0] == "True []"
    written = (PROGRAM.parents[2] / "docs/differences.md").read_text()
    assert [name for name in lines[1].split() if f"`{name}`" not in written] == []

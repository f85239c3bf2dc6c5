"""The suite, its rows and what is listed about them agree; and it uses only names that its runtime has."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
ABOUT_ITSELF = ("test_reporting.py", "test_rows.py")
FILES = sorted(path for path in HERE.glob("test_*.py") if path.name not in ABOUT_ITSELF)


def version(text):
    return tuple(map(int, text.split(".")))


def marks():
    """The row and the keywords of every rule that a test cites."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
                yield node.args[0].value, {each.arg: getattr(each.value, "value", "") for each in node.keywords}


def rows():
    """The rows of docs/semantics.md that the suite is to cover, with the version that each gives."""
    return dict(re.findall(r"^\| ([\d.]+) \| (\d+\.\d+) \| .* \|$", (DOCS / "semantics.md").read_text(), re.MULTILINE))


def test_every_row_has_a_test_and_every_test_a_row():
    cited = {row for row, _ in marks()}
    assert cited == set(rows())


YOUNG = {
    ".accelerator.Graph": "2.13",
    ".autograd.graph.set_override_stale_capture_stream": "2.13",
    ".backends.cuda.cublas_workspace_size": "2.13",
    ".backends.cuda.cublaslt_workspace_size": "2.13",
}


def test_a_row_gives_the_first_version_of_its_tests():
    first = {}
    for row, keywords in marks():
        first[row] = min(first.get(row, (99, 0)), version(keywords["since"]))
    assert {row: version(text) for row, text in rows().items()} == first


def test_what_differs_is_listed_and_what_is_listed_differs():
    listed = re.findall(r"^\| (\d+\.\d+\.\d+) \| (.*?) \| .* \|$", (DOCS / "differences.md").read_text(), re.MULTILINE)
    assert set(listed) == {(row, keywords["differs"]) for row, keywords in marks() if "differs" in keywords}


def test_the_suite_uses_only_names_that_the_runtime_has(runtime):
    module = runtime.module()
    used = {name for path in FILES for name in re.findall(r"\btorch((?:\.[A-Za-z_]\w*)+)", path.read_text())}
    asked = used - {".__name__"} - {name for name, since in YOUNG.items() if not runtime.has(since)}
    missing = [name for name in sorted(asked) if not has(module, name.split(".")[1:])]
    assert missing == [] and len(used) > 100


def has(found, names):
    """Whether there is such a name; what a class has is not asked, for without CUDA PyTorch's are empty."""
    for name in names:
        if isinstance(found, type):
            return True
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def test_without_an_option_nothing_imports_pytorch(runtime):
    if runtime.name != "flambeau":
        pytest.skip("PyTorch itself is asked")
    # asked of a new process, for an oracle in this one may have imported it
    code = "import sys, flambeau, tests.rules; sys.exit(sys.modules.get('torch') not in (None, flambeau))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

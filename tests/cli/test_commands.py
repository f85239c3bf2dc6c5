"""The command line, in processes of its own: run and check, their options, exit codes and interrupts."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = str(Path(__file__).parents[2] / "src")


def test_help_names_the_commands(flambeau):
    done = flambeau("--help")
    assert done.returncode == 0
    assert "run" in done.stdout and "doctor" in done.stdout


@pytest.mark.parametrize("command", ["run", "check", "memory", "trace", "fit"])
def test_help_explains_every_mode(flambeau, command):
    from flambeau import config
    from flambeau.driver.virtual.card import NAMES

    text = flambeau(command, "--help").stdout
    assert "FLAMBEAU_STRICT=1 " in text and all(name in text for name in NAMES)
    if command == "fit":
        return
    options = "memory=SIZE preset=CARD values=no schedule=NAME submission seeded:N delay:N replay:N,N,N"
    for option in options.split():
        assert re.search(rf"^ +{option} +\w.{{15,}}", text, re.M), option
    for mode in config.RACES:
        one_line = rf"^ +races={mode} +\w.{{15,}}"
        assert re.search(rf"{mode}:\s+\w" if command == "check" else one_line, text, re.M), mode


def test_version(flambeau):
    import flambeau as package

    done = flambeau("--version")
    assert (done.returncode, done.stdout) == (0, f"flambeau {package.__version__}\n")


@pytest.mark.parametrize("args", [("frobnicate",), ("run",), ("run", "--gpus", "plaid:3", "x.py")])
def test_a_wrong_command_line_exits_with_2(flambeau, args):
    done = flambeau(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Error" in done.stderr


def test_a_program_gets_its_arguments_and_the_gpus(flambeau, script):
    path = script(
        "import sys, os, flambeau\n"
        "print(__name__, sys.argv, sys.path[0], flambeau.cuda.device_count(), os.environ['FLAMBEAU_GPUS'])\n"
    )
    done = flambeau("run", "--gpus", "virtual:3", path, "--gpus", "-h", "x")
    assert done.stderr == ""
    assert done.stdout == f"__main__ {[str(path), '--gpus', '-h', 'x']} {path.parent} 3 virtual:3\n"


def test_without_gpus_there_are_two_virtual_ones_and_one_line_says_so(flambeau, script):
    path = script("import flambeau\nprint(flambeau.cuda.device_count())\n")
    done = flambeau("run", path, CUDA_VISIBLE_DEVICES="0,1")
    if "NVIDIA" in done.stderr.removeprefix("flambeau: no NVIDIA"):
        pytest.skip("this machine has an NVIDIA GPU")
    assert done.stdout == "2\n"
    assert done.stderr.count("\n") == 1 and "2 virtual GPUs" in done.stderr


def test_the_environment_chooses_where_the_option_does_not(flambeau, script):
    path = script("import flambeau\nprint(flambeau.cuda.device_count())\n")
    assert flambeau("run", path, FLAMBEAU_GPUS="virtual:4").stdout == "4\n"
    assert flambeau("run", "--gpus", "none", path, FLAMBEAU_GPUS="virtual:4").stdout == "0\n"


def test_exit_codes_and_exceptions_come_out(flambeau, script):
    assert flambeau("run", "--gpus", "none", script("raise SystemExit(7)")).returncode == 7
    failed = flambeau("run", "--gpus", "none", script("def f():\n    raise KeyError('lost')\nf()\n"))
    assert failed.returncode == 1
    assert failed.stderr.endswith("    raise KeyError('lost')\nKeyError: 'lost'\n")


def test_a_missing_script_is_named(flambeau, tmp_path):
    done = flambeau("run", "--gpus", "none", "nowhere.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"flambeau run: there is no file 'nowhere.py' in {tmp_path}\n"


def test_a_folder_without_a_program_is_named(flambeau, tmp_path):
    done = flambeau("run", "--gpus", "none", tmp_path)
    assert (done.returncode, done.stderr) == (1, f"flambeau run: the folder '{tmp_path}' has no __main__.py\n")


def test_a_wrong_option_is_named_with_the_right_one(flambeau, script):
    done = flambeau("run", "--gpu", "virtual:1", script("print('ran')\n"))
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"--gpu\b.*--gpus\b", done.stderr)  # versions of click quote them differently
    done = flambeau("run", "--gpus", "virtual:many", "x.py")
    assert "'many'" in done.stderr and "FLAMBEAU_GPUS" not in done.stderr


def test_a_module_runs_by_name(flambeau, script, tmp_path):
    script("import sys\nprint(__name__, sys.argv[1:])\n", "inner.py")
    done = flambeau("run", "--gpus", "none", "-m", "inner", "a", "-b", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("__main__ ['a', '-b']\n", 0)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import flambeau\n\ndef f():\n    return 1 / 0\n\nf()\n", [6, 4]),
        ("import runpy\nrunpy.run_module('no_such_module')\n", [2]),
        ("x = (\n", []),
    ],
    ids=["an error", "runpy of its own", "no Python"],
)
def test_a_traceback_begins_with_the_program(flambeau, script, source, lines):
    path = str(script(source))
    done = flambeau("run", "--gpus", "virtual:1", path)
    shown = re.findall(r'^  File "(.+)", line (\d+), in', done.stderr, re.MULTILINE)
    assert [int(line) for file, line in shown if file == path] == lines
    assert done.returncode == 1 and all(file == path for file, _ in shown[: len(lines)])


def test_a_module_that_is_not_there_is_one_line(flambeau):
    for name in ("no_such_module", "no_such_package.module"):
        done = flambeau("run", "--gpus", "virtual:1", "-m", name)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert done.stderr.startswith(f"flambeau run: there is no module '{name}' in ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".inner", "'.inner' is no name of a module"),
        ("", "'' is no name of a module"),
        ("outer.", "'outer.' is no name of a module"),
        ("outer", "the package 'outer' has no __main__.py"),
        ("outer.lost", "there is no module 'outer.lost' in "),
    ],
)
def test_a_module_that_cannot_be_run_is_one_line(flambeau, tmp_path, name, text):
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "__init__.py").write_text("")
    done = flambeau("check", "-m", name, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"flambeau check: {text}")


def test_a_module_s_name_may_have_a_hyphen(flambeau, script, tmp_path):
    script("print('ran')", "my-program.py")
    assert flambeau("run", "--gpus", "virtual:1", "-m", "my-program", cwd=tmp_path).stdout == "ran\n"


RACY = """import flambeau as torch

side = torch.cuda.Stream(name="copies")
x = torch.ones(8, device="cuda")
with torch.cuda.stream(side):
    y = x * 2
print("done")
"""
FIXED = RACY.replace("    y", "    side.wait_stream(torch.cuda.default_stream())\n    y")


def test_check_prints_a_report_and_exits_with_1(flambeau, script):
    path = script(RACY)
    done = flambeau("check", path.name, cwd=path.parent)
    assert (done.returncode, done.stderr) == (1, "")
    begin, _, report = done.stdout.partition("\nflambeau check: ")
    assert begin == "done\n"
    lines = report.splitlines()
    assert lines[0] == "1 pair of lines with races, which happened 1 time"
    assert lines[2] == "race 1: program.py:4 and program.py:6 (1 time)"
    assert "    at program.py:6    y = x * 2" in lines and "stream 'copies' (made at program.py:3)" in report
    assert lines[-1] == "  before program.py:6: side.wait_stream(torch.cuda.default_stream())"
    fixed = flambeau("check", script(FIXED))
    assert (fixed.returncode, fixed.stdout) == (0, "done\n\nflambeau check: no race was found\n")


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("raise SystemExit(7)", 7, ""),
        ("raise KeyError('lost')", 1, "KeyError: 'lost'"),
        ("exit('no')", 1, "no"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", 143, ""),
        ("import os\ntry: os._exit(5)\nfinally: print('never')", 5, ""),
    ],
)
def test_check_passes_on_the_status_of_a_program_that_fails(flambeau, script, end, status, said):
    done = flambeau("check", script(RACY + end + "\n"))
    assert done.returncode == status and done.stderr.rstrip().endswith(said)
    assert "1 pair of lines with races" in done.stdout and "never" not in done.stdout
    assert flambeau("check", script(FIXED + end + "\n")).returncode == status


def test_check_says_that_the_program_failed(flambeau, script):
    done = flambeau("check", script("raise SystemExit(7)\n"))
    assert done.stdout == "\nflambeau check: no race was found; the program ended with exit status 7\n"


def test_a_closed_stdout_and_a_reader_that_ended_are_no_tracebacks(script):
    settings = {**os.environ, "PYTHONPATH": SOURCES, "FLAMBEAU_PURE": "1"}
    check = [sys.executable, "-m", "flambeau", "check", "--gpus", "virtual:1", script("import flambeau\n")]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *check], env=settings, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(check, env=settings, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_check_as_json_has_both_states_and_stdout_to_itself(flambeau, script):
    done = flambeau("check", "--json", "--gpus", "virtual:1", script(RACY + "raise SystemExit(3)\n"))
    found = json.loads(done.stdout)
    assert done.returncode == 3 and done.stderr == "done\n"
    assert (found["status"], found["found"], len(found["races"]), len(found["edits"])) == (3, True, 1, 1)
    path = script(RACY, "ä b.py")
    (result,) = json.loads(flambeau("check", "--sarif", path, cwd=path.parent).stdout)["runs"][0]["results"]
    assert result["ruleId"] == "race"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%C3%A4%20b.py"


def test_check_of_a_module_of_code_and_of_stdin(flambeau, script, tmp_path):
    script(RACY, "inner.py")
    virtual = "--gpus", "virtual:2"
    assert flambeau("check", *virtual, "-m", "inner", cwd=tmp_path).returncode == 1
    done = flambeau("check", *virtual, "-c", RACY)
    assert done.returncode == 1 and "before <string>:6: side.wait_stream(" in done.stdout
    assert "at <string>:6    y = x * 2" in done.stdout
    done = flambeau("check", *virtual, "-", "a", stdin=RACY)
    assert done.returncode == 1 and "before <stdin>:6: side.wait_stream(" in done.stdout


def test_run_takes_code_with_arguments(flambeau):
    done = flambeau("run", "--gpus", "virtual:1", "-c", "import sys; print(__name__, sys.argv)", "a", "-b")
    assert (done.stdout, done.returncode) == ("__main__ ['-c', 'a', '-b']\n", 0)


def test_check_takes_its_options(flambeau, script, tmp_path):
    allowed = tmp_path / "allowed"
    allowed.write_text("program.py:6\n")
    done = flambeau("check", "--suppress", allowed, script(RACY))
    assert (done.returncode, done.stdout) == (0, "done\n\nflambeau check: no race was found, 1 suppressed\n")
    done = flambeau("check", "--races", "error", script(RACY))
    assert done.returncode == 1 and "RaceError" in done.stderr and "done" not in done.stdout
    assert "1 pair of lines with races" in done.stdout
    done = flambeau("check", "--suppress", tmp_path / "none", script(RACY))
    assert done.returncode == 1 and done.stdout == "" and "cannot be read" in done.stderr and "hint:" in done.stderr
    done = flambeau("check", "--prove", "--races", "error", script(RACY))
    assert (done.returncode, done.stdout) == (1, "") and "--races real" in done.stderr
    done = flambeau("check", "--limit", "1000", script(RACY))
    assert done.returncode == 2 and "--limit: only for" in done.stderr
    done = flambeau("check", "--prove", "--schedule", "seeded:1", script(RACY))
    assert (done.returncode, done.stdout) == (2, "") and "--schedule" in done.stderr


def test_check_is_refused_where_it_sees_nothing(flambeau, script):
    for options in (("none",), ("nvidia", "--prove"), ("nvidia", "--races", "error")):
        done = flambeau("check", "--gpus", *options, script(RACY))
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{options[0]!r}" in done.stderr and " ".join(options[1:]) in done.stderr
    done = flambeau("check", "nowhere.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("flambeau check: there is no file 'nowhere.py' in ")


def test_poison_is_never_silent(flambeau, script):
    path = script(RACY)
    done = flambeau("run", "--gpus", "virtual:1", path.name, cwd=path.parent)
    said = "1 unordered access became poison; the first: program.py:4 and program.py:6; run `flambeau check`\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", f"flambeau: {said}")
    assert flambeau("run", "--gpus", "virtual:1", script(FIXED)).stderr == ""
    assert flambeau("run", "--gpus", "virtual:1,races=real", path).stderr == ""


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_traceback_ends_at_the_programs_line(flambeau, script, command):
    text = "import flambeau as torch\ndef f():\n    try:\n        torch.cuda.Stream('x')\n    except RuntimeError:\n"
    path = str(script(text + "        torch.ones(3) + torch.ones(4)\nf()\n"))
    done = flambeau(command, "--gpus", "virtual:1", path)
    shown = re.findall(r'^  File "(.+)", line (\d+), in', done.stderr, re.MULTILINE)
    assert shown == [(path, "4"), (path, "7"), (path, "6")]
    assert "ShapeError" in done.stderr


POISONED_INDEX = """import flambeau as torch
side, table = torch.cuda.Stream(), torch.zeros(10, device="cuda")
with torch.cuda.stream(side):
    index = torch.tensor([3, 4]).pin_memory().to("cuda", non_blocking=True)
print(table.gather(0, index).tolist())
"""


def test_an_error_that_poison_causes_says_so(flambeau, script):
    path = script(POISONED_INDEX)
    done = flambeau("run", "--gpus", "virtual:1", path)
    assert done.returncode == 1
    assert "index -1 is out of bounds" in done.stderr
    assert "its int64 operand of shape [2] holds poison (-1)" in done.stderr
    assert re.findall(r'^  File "(.+)", line (\d+), in', done.stderr, re.MULTILINE) == [(str(path), "5")]
    right = script(POISONED_INDEX.replace("print(", "torch.cuda.synchronize()\nindex += 8\nprint("))
    assert "holds poison" not in flambeau("run", "--gpus", "virtual:1", right).stderr


COMMUTING = """import flambeau as torch
x = torch.zeros(2, device="cuda")
torch.cuda.synchronize()
for stream in [torch.cuda.Stream(), torch.cuda.Stream()]:
    with torch.cuda.stream(stream):
        x.add_(1)
torch.cuda.synchronize()
print(x.tolist())
"""


def test_check_proves_or_shows_a_schedule(flambeau):
    racy = RACY + "torch.cuda.synchronize()\nprint(y.tolist())\n"
    found = flambeau("check", "--gpus", "virtual:1", "--prove", "-c", racy)
    schedule = re.search(r"flambeau check --schedule (replay:[\d,]+)", found.stdout)[1]
    assert found.returncode == 1 and "another schedule gives another result" in found.stdout
    again = flambeau("run", "--gpus", "virtual:1", "--schedule", schedule, "-c", racy)
    printed = found.stdout.splitlines()[1], again.stdout.splitlines()[1]
    assert again.returncode == 0 and printed[0] == str([2.0] * 8) != printed[1]
    proof = json.loads(flambeau("check", "--gpus", "virtual:1", "--prove", "--json", "-c", COMMUTING).stdout)["proof"]
    assert (proof["schedules"], proof["schedule"], proof["is_complete"]) == (2, None, True)
    limited = flambeau("check", "--gpus", "virtual:1", "--prove", "--limit", "1", "-c", COMMUTING)
    assert "stopped at the limit: 1 schedule gave" in limited.stdout


@pytest.mark.parametrize("command", ["run", "check"])
def test_choices_that_are_left_over_are_an_error(flambeau, command):
    code = COMMUTING + "raise SystemExit\n"
    done = flambeau(command, "--gpus", "virtual:1", "--schedule", "replay:1,0,0", "-c", code)
    assert done.returncode == 1 and done.stdout.startswith("[2.0, 2.0]\n"), done.stderr
    assert done.stderr.count("flambeau: the schedule has 3 choices, of which the program used 1\nhint: a schedule") == 1
    fits = flambeau("run", "--gpus", "virtual:1", "--schedule", "replay:1", "-c", COMMUTING)
    assert (fits.returncode, fits.stderr) == (0, "")
    wrong = flambeau("run", "--gpus", "virtual:1", "--schedule", "replay:5", "-c", COMMUTING)
    assert wrong.returncode == 1 and "choice 5 at step 0, but 2 streams are ready" in wrong.stderr


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (("--limit", "soon"), "'soon' is neither a number of schedules nor of seconds, as in 30s"),
        (("--schedule", "replay:x"), "schedule='replay:x' is unknown"),
        (("--gpus", "virtual:1,schedule=seeded:1", "--schedule", "seeded:2"), "schedule is given 2 times"),
    ],
)
def test_wrong_limits_and_schedules_are_named(flambeau, option, text):
    done = flambeau("check", *option, "-c", "pass")
    assert done.returncode == 2 and text in done.stderr


FAILING = {
    "oom:2": ("y = x + 1", "OutOfMemoryError: allocate: the allocation of 16 bytes on virtual device 0"),
    "oom:1MiB": ("torch.ones(2**18, device='cuda')", "OutOfMemoryError: allocate: the allocation of 1048576 bytes on"),
    "launch:2": ("(x + 1).tolist()", "InjectedFailure: an injected failure: the launch failed"),
    "device_assert:2": ("(x + 1).tolist()", "DeviceAssertError: an injected failure: an assertion failed"),
    "refused:2": ("x + 1", "an injected failure refused the launch on device 0"),
    "lost_link:1:0": ("x.to('cuda:1')", "there is no link from device 0 to device 1"),
}


@pytest.mark.parametrize("fault", FAILING)
def test_a_program_runs_with_a_fault(flambeau, fault):
    statement, text = FAILING[fault]
    code = f"import flambeau as torch\nx = torch.ones(4, device='cuda')\n{statement}\n"
    done = flambeau("run", "--gpus", "virtual:2", "--fault", fault, "-c", code)
    assert done.returncode == 1 and text in done.stderr, done.stderr


WRONG_FAULTS = [(["oom"], "'oom' is not a valid description"), (["oom:1", "oom:2"], "oom is given twice")]


@pytest.mark.parametrize(("faults", "text"), WRONG_FAULTS)
def test_a_wrong_fault_is_named(flambeau, faults, text):
    done = flambeau("run", *(part for each in faults for part in ("--fault", each)), "-c", "pass")
    assert done.returncode == 2 and text in done.stderr and "hint:" in done.stderr


def test_faults_need_virtual_gpus_and_are_met_by_the_first_machine(flambeau):
    done = flambeau("run", "--gpus", "nvidia", "--fault", "oom:1", "-c", "pass")
    assert done.returncode == 2 and "--fault needs virtual GPUs: --gpus virtual:2" in done.stderr
    code = "import flambeau as torch\n%s\nx = torch.ones(4, device='cuda')\nprint(x.tolist())"
    done = flambeau("run", "--gpus", "virtual:1", "--fault", "lost_link:0:1", "-c", code % "")
    assert done.returncode == 1 and "lost_link is (0, 1)" in done.stderr and "1 devices" in done.stderr
    again = "try: torch.ones(4, device='cuda')\nexcept torch.OutOfMemoryError: torch.virtual.reset()"
    done = flambeau("run", "--gpus", "virtual:1", "--fault", "oom:1", "-c", code % again)
    assert (done.returncode, done.stdout) == (0, "[1.0, 1.0, 1.0, 1.0]\n"), done.stderr


@pytest.mark.parametrize("options", [("trace", "-o", "x", "--chrome"), ("memory", "--html", "x", "--save")])
def test_two_files_of_a_command_have_two_names(flambeau, script, tmp_path, options):
    done = flambeau(*options, "../" + tmp_path.name + "/x", script("print('ran')\n"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "") and "the file of another option" in done.stderr
    assert f"hint: choose another file with {options[-1]}" in done.stderr


# a function that returns when the main thread waits for the other threads
MAIN_WAITS = """
import sys, threading, time
def main_waits():
    while True:
        frame = sys._current_frames()[threading.main_thread().ident]
        while frame is not None:
            if frame.f_code.co_name == "_shutdown":
                return
            frame = frame.f_back
        time.sleep(0.001)
"""
LATE = f"""
{MAIN_WAITS}
import flambeau
def late():
    main_waits()
    x = flambeau.ones(3, device="cuda")
    side = flambeau.cuda.Stream()
    y = x * 2
    with flambeau.cuda.stream(side):
        z = y + 1
    print("late")
threading.Thread(target=late).start()
"""


def test_reports_wait_for_the_program_s_threads(flambeau, script):
    done = flambeau("check", "--gpus", "virtual:1", script(LATE))
    assert done.returncode == 1 and done.stdout.startswith("late\n\nflambeau check: 1 pair of lines")
    done = flambeau("memory", "--gpus", "virtual:1", script(LATE))
    assert done.returncode == 0 and "program.py: 1 device" in done.stdout


@pytest.mark.parametrize("command", ["check", "memory", "trace", "fit --card l4"])
def test_reports_do_not_wait_for_idle_executors(flambeau, script, tmp_path, command):
    text = "from concurrent.futures import ThreadPoolExecutor\nwork = ThreadPoolExecutor()\nwork.submit(print, 1)\n"
    done = flambeau(*command.split(), script(text), cwd=tmp_path, FLAMBEAU_GPUS="virtual:1")
    assert (done.returncode, done.stdout[:3]) == (0, "1\n\n")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("check", "no race"),
        ("memory", "live +512 bytes"),
        ("trace", "busy"),
        ("fit --card l4", "fits: 2.00 MiB"),
        ("fit --card l4 --batch-option=-b", "-b has no effect"),
    ],
)
def test_reports_of_a_program_that_ends_by_os_exit(flambeau, script, tmp_path, command, text):
    program = "import os\nimport flambeau as torch\nx = torch.ones(3).cuda()\nprint('bye', flush=True)\nos._exit({})\n"
    done = flambeau(*command.split(), script(program.format(0)), cwd=tmp_path, FLAMBEAU_GPUS="virtual:1", fresh=True)
    assert done.returncode == int("batch" in command), done
    assert done.stdout.startswith("bye\n\n") and re.search(text, done.stdout), done
    done = flambeau(*command.split(), script(program.format(5)), cwd=tmp_path, FLAMBEAU_GPUS="virtual:1", fresh=True)
    assert done.returncode == 5 and done.stdout.startswith("bye\n\n"), done


@pytest.mark.parametrize("command", ["memory", "trace", "fit --card l4"])
def test_only_the_first_process_of_a_program_that_forks_reports(flambeau, script, tmp_path, command):
    text = """
import os, sys
import flambeau
x = flambeau.ones(3, device="cuda")
if (child := os.fork()) == 0:
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = flambeau(*command.split(), script(text), cwd=tmp_path, FLAMBEAU_GPUS="virtual:1")
    assert (done.returncode, done.stdout[:3]) == (0, "3\n\n") and "Traceback" not in done.stderr


QUEUED = """
import time
import flambeau
x = flambeau.ones(400, 400, device="cuda")
for _ in range(4000):  # minutes of work
    x = (x @ x).clamp(0, 1)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("command", ["run", "check", "check --prove", "memory", "trace", "fit --card l4", None])
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_an_interrupted_program_ends_at_once(script, tmp_path, command, number):
    settings = {**os.environ, "PYTHONPATH": SOURCES, "FLAMBEAU_GPUS": "virtual:1"}
    begin = [sys.executable, *(["-m", "flambeau", *command.split()] if command else [])]
    text = QUEUED.replace("import time", "import sys, time").replace("True)", "True, file=sys.stderr)")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*begin, script(text)], env=settings, cwd=tmp_path, **pipes) as program:
        assert program.stderr.readline() == "ready\n"
        program.send_signal(number)  # to this process alone, as `kill` does
        output = program.communicate(timeout=60)[0]
    is_signal = command in ("run", None) or (command == "trace" and number == signal.SIGTERM)
    assert program.returncode == (-number if is_signal else 128 + number)
    assert bool(output) == (command not in ("run", None))


def test_an_interrupted_search_for_a_batch_has_the_largest_that_fits(script, tmp_path):
    text = """
import sys, time
import flambeau as torch
x = torch.ones(1 << 20, int(sys.argv[2]), device="cuda")
if int(sys.argv[2]) > 2:
    open("ready", "w").close()
    time.sleep(600)
"""
    os.mkfifo(tmp_path / "ready")
    start = [sys.executable, "-m", "flambeau", "fit", "--card=t4", "--card=l4", "--batch-option=-b", str(script(text))]
    settings = {**os.environ, "PYTHONPATH": SOURCES}
    with subprocess.Popen(start, env=settings, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as search:
        (tmp_path / "ready").read_text()
        search.send_signal(signal.SIGINT)
        output = search.communicate(timeout=60)[0]
    assert search.returncode == 130 and "fits with -b 2 at least" in output and "SIGINT ended the search" in output
    assert "l4" not in output


def test_each_run_of_a_program_reads_a_file_on_stdin_again(flambeau, script):
    text = """
import sys
import flambeau as torch
text = sys.stdin.read()
x = torch.ones(3, device="cuda")
side = torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(side):
    x.add_(1)
x.add_(1)
torch.cuda.synchronize()
print(text, x.tolist())
"""
    done = flambeau("check", "--prove", "--gpus", "virtual:1", script(text), stdin="abc")
    assert done.returncode == 1 and "the same result under every order" in done.stdout, done.stdout


def test_a_signal_to_both_processes_reaches_a_program_once(script):
    text = """
import sys, time
try:
    print("ready", file=sys.stderr, flush=True)
    time.sleep(600)
finally:
    time.sleep(0.5)  # longer than the command waits for the signal's arrival
    print("cleaned")
"""
    start = [sys.executable, "-m", "flambeau", "fit", "--card=t4", str(script(text))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    settings = {**os.environ, "PYTHONPATH": SOURCES}
    with subprocess.Popen(start, env=settings, start_new_session=True, **pipes) as program:
        assert program.stderr.readline() == "ready\n"
        os.killpg(program.pid, signal.SIGINT)
        output, errors = program.communicate(timeout=60)
    assert program.returncode == 130 and output.startswith("cleaned\n") and errors.count("KeyboardInterrupt") == 1


def test_an_interrupted_search_reports_what_it_has_found(script, tmp_path):
    settings = {**os.environ, "PYTHONPATH": SOURCES, "FLAMBEAU_GPUS": "virtual:1"}
    text = QUEUED.replace("time.sleep", "import sys\nprint('ready', file=sys.stderr, flush=True)\ntime.sleep")
    start = [sys.executable, "-m", "flambeau", "check", "--prove", str(script(text))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(start, env=settings, cwd=tmp_path, start_new_session=True, **pipes) as search:
        assert search.stderr.readline() == "ready\n"
        os.killpg(search.pid, signal.SIGINT)
        output, errors = search.communicate(timeout=60)
    assert search.returncode == 130 and "prove.py" not in errors
    assert output.endswith("ended with exit status 130\nflambeau check: interrupted in the first run\n")


def test_an_interrupt_while_threads_are_awaited_ends_the_program(script, tmp_path):
    text = f"""
{MAIN_WAITS}
def late():
    main_waits()
    print(1, flush=True)
    time.sleep(600)
threading.Thread(target=late).start()
"""
    settings = {**os.environ, "PYTHONPATH": SOURCES, "FLAMBEAU_GPUS": "virtual:1"}
    start = [sys.executable, "-m", "flambeau", "memory", str(script(text))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(start, env=settings, **pipes) as program:
        program.stdout.readline()
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=30)
    assert program.returncode == 130 and "did not use a GPU" in out
    assert err.endswith("KeyboardInterrupt\n") and "flambeau" not in err


def test_programs_on_stdin_may_have_any_encoding():
    settings = {**os.environ, "PYTHONPATH": SOURCES, "FLAMBEAU_GPUS": "virtual:1"}
    start = [sys.executable, "-m", "flambeau", "run", "-"]
    text = b"# coding: latin-1\nprint(ascii('\xe9'))\n"
    done = subprocess.run(start, env=settings, input=text, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"'\\xe9'\n")
    for wrong, cause in (
        (b"\xff", b"encoding declaration"),
        (b"#\n#\n\xff", b"0xff in position 4"),
        (b"# coding: none", b"none\n"),
    ):
        done = subprocess.run(start, env=settings, input=wrong, capture_output=True)
        assert done.returncode == 1 and done.stderr.startswith(b"flambeau run: ") and cause in done.stderr


@pytest.mark.parametrize("command", [["doctor"], ["memory"], ["fit", "--card", "l4"], ["check"], ["--help"]])
def test_a_report_that_cannot_be_written_is_one_line(script, command):
    settings = {**os.environ, "PYTHONPATH": SOURCES, "FLAMBEAU_GPUS": "virtual:1"}
    program = [] if command in (["doctor"], ["--help"]) else [str(script("import flambeau"))]
    with open("/dev/full", "w") as full:
        start = [sys.executable, "-m", "flambeau", *command, *program]
        done = subprocess.run(start, env=settings, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "flambeau: cannot write to stdout: No space left on device\n")


@pytest.mark.parametrize(
    "command",
    ["check", "check --sarif", "check --prove", "memory --html m", "trace --chrome c", "fit --card t4"],
)
def test_reports_name_files_that_the_encoding_of_stdout_lacks(script, tmp_path, command):
    (tmp_path / "a ä").mkdir()
    text = """
import flambeau as torch
x = torch.ones(3, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    ü = x + 1
"""
    program = script(text, "a ä/ö.py")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    settings = {**kept, "PYTHONPATH": SOURCES, "FLAMBEAU_GPUS": "virtual:1", **locale}
    start = [sys.executable, "-m", "flambeau", *command.split(), str(program)]
    done = subprocess.run(start, env=settings, cwd=tmp_path, capture_output=True, text=True)
    assert "Error" not in done.stderr and done.returncode == int("check" in command)
    assert (".py" in done.stdout or "busy" in done.stdout) and done.stdout.isascii()


@pytest.mark.parametrize("command", ["run", "check", "memory", "trace"])
def test_a_program_that_cannot_be_read_is_refused(monkeypatch, script, command):
    from flambeau.cli import commands

    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(SystemExit) as refused:
        commands.main([command, "--gpus", "virtual:1", str(script("print(1)"))])
    assert re.fullmatch(rf"flambeau {command}: cannot read '.*program.py': Permission denied", str(refused.value))


def test_the_main_module_stays_until_the_process_ends(flambeau, script, tmp_path):
    text = f"""
{MAIN_WAITS}
import pickle
import flambeau
class Named: pass
def late():
    main_waits()
    print(type(pickle.loads(pickle.dumps(Named()))).__name__, __package__, __spec__, __file__[-10:])
kept = flambeau.ones(1 << 20, device="cuda")
threading.Thread(target=late).start()
"""
    wanted = "Named None None program.py\n"
    assert flambeau("run", "--gpus", "virtual:1", script(text), fresh=True).stdout == wanted
    done = flambeau("memory", "--gpus", "virtual:1", script(text), cwd=tmp_path)
    assert done.stdout.startswith(wanted)
    module = flambeau("memory", "--gpus", "virtual:1", "-m", "program", cwd=tmp_path)
    for text in (done.stdout, module.stdout):
        assert re.search(r"GPU 0 at the end\n.*\n  live +4.00 MiB  in 1 block", text)


def test_the_main_module_is_like_pythons(flambeau, script, tmp_path):
    text = """
import os
print(__builtins__.__name__, os.path.isabs(__file__))
os.chdir("/")
print(os.path.exists(__file__))
"""
    script(text)
    for command in ("run", "check"):
        done = flambeau(command, "--gpus", "virtual:1", "program.py", cwd=tmp_path, fresh=True)
        assert done.stdout.startswith("builtins True\nTrue\n"), (command, done.stderr)


RACE = """
import sys
import flambeau as torch
x, side = torch.ones(1000, device="cuda"), torch.cuda.Stream()
with torch.cuda.stream(side):
    y = x * 2
"""


@pytest.mark.parametrize("command, wanted", [("check", "1 race|1 pair of lines"), ("memory", "GPU 0 at the end")])
def test_a_program_may_do_without_stdout(flambeau, script, tmp_path, command, wanted):
    for end in (
        "sys.stdout = None",
        "del sys.stdout",
        "sys.stdout.close()",
        "sys.stdout = type('Tee', (), {'write': lambda self, text: None})()",
        "sys.stdout = open('log.txt', 'w')",
    ):
        done = flambeau(command, "--gpus", "virtual:1", script(RACE + end), cwd=tmp_path, fresh=True)
        assert done.returncode == (command == "check"), (end, done.stderr)
        report = done.stderr if "close" in end else done.stdout
        assert re.search(wanted, report), (end, done.stdout, done.stderr)


def test_a_wrong_excepthook_does_not_prevent_the_report(flambeau, script):
    for hook in ("3", "lambda *error: 1 / 0"):
        text = f"{RACE}sys.excepthook = {hook}\nraise KeyError('original')"
        done = flambeau("check", "--gpus", "virtual:1", script(text), fresh=True)
        assert done.returncode == 1 and "1 pair of lines" in done.stdout
        assert re.search("(?s)Error in sys.excepthook:.*Original exception was:.*KeyError: 'original'", done.stderr)
        assert "commands.py" not in done.stderr

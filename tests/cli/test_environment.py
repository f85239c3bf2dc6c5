"""Variables of the environment with wrong values: one line that names the variable, and no result."""

import os
from pathlib import Path

import pytest

from tests.forks import Wanted

SOURCES = str(Path(__file__).parents[2] / "src")
DIGITS = "9" * 5000  # more than Python converts
WRONG_GPUS = [
    "plaid", " ", "VIRTUAL:2", "virtual:", "virtual:0", "virtual:65", "virtual:-1", "virtual:1.5", "virtual:²",
    f"virtual:{DIGITS}", "virtual:2,", "virtual:2,speed=9", "virtual:2,races", "virtual:2,races=",
    "virtual:2,races=maybe", "virtual:2,races=real,races=real",
    "virtual:2,memory=lots", "virtual:2,memory=-1", "virtual:2,memory=80000GiB",
    f"virtual:2,memory={DIGITS}", "virtual:2,memory=٣GiB", "virtual:2,schedule=random", "virtual:2,schedule=seeded:٣",
    f"virtual:2,schedule=seeded:{DIGITS}", "virtual:2,schedule=replay:1,x", "virtual:2,preset=abacus",
    "virtual:2,preset=/nowhere/card.toml", "virtual:2,values=maybe", "nvidia:2", "nvidia,memory=1GiB",
    "none,races=real",
]  # fmt: skip
WRONG_VARIABLES = {
    "FLAMBEAU_STRICT": ["²", "yes", "2", " 1"],
    "FLAMBEAU_COMPILE_AHEAD": ["no"],
    "FLAMBEAU_CHECK": ["1", "²", "/nowhere", "x" * 5000],
    "FLAMBEAU_FAULTS": ["oom", "oom:²", "oom:1,oom:2", f"launch:{DIGITS}"],
    "FLAMBEAU_SLOWDOWN": ["0", "nan", "٣", "fast"],
    "FLAMBEAU_LINKS": ["hosts=0", "slow=0-1:²", f"hosts={DIGITS}"],
    "TORCH_CUDA_CHECK_STRAY_CONTEXT": ["maybe"],
    "PYTORCH_ALLOC_CONF": ["max_split_size_mb:1", "max_split_size_mb:٣٣", f"max_split_size_mb:{DIGITS}", "x"],
    "PYTORCH_CUDA_ALLOC_CONF": ["garbage"],
}
PROGRAM_COMMANDS = [("run",), ("check",), ("memory",), ("trace",), ("fit", "--card", "t4"), ("run", "--nproc", "2")]


def is_one_line_about(done, command, name, value):
    """Whether a command answered a wrong variable with one line, which has a hint, and a usage error."""
    begin = f"flambeau {command}: {name}={value!r}"
    is_one = done.stderr.count("\n") == 1 and "; hint: " in done.stderr
    return done.returncode == 2 and not done.stdout and done.stderr.startswith(begin) and is_one


@pytest.mark.parametrize("command", PROGRAM_COMMANDS, ids=" ".join)
def test_a_wrong_variable_is_one_line_and_no_result(flambeau, script, command):
    path = script("print('ran')")
    wrong = {"FLAMBEAU_GPUS": ["virtual:0"], **WRONG_VARIABLES}
    for name, (value, *_) in wrong.items():
        done = flambeau(*command, path, **{name: value})
        if (command[0], name) == ("fit", "FLAMBEAU_GPUS"):  # which it does not read
            assert done.returncode == 0 and "ran" in done.stdout
        else:
            assert is_one_line_about(done, command[0], name, value), (name, value, done)


def test_every_wrong_value_of_a_variable_is_found(monkeypatch):
    from flambeau.cli import environment

    wrong = {"FLAMBEAU_GPUS": WRONG_GPUS, **WRONG_VARIABLES}
    for name in environment.READERS:
        monkeypatch.delenv(name, raising=False)
        assert name in wrong
    assert not [*environment.problems()]
    for name, values in wrong.items():
        for value in values:
            monkeypatch.setenv(name, value)
            (found,) = environment.problems()
            assert found.what.startswith(f"{name}={value!r}") and found.hint, (name, value)
            assert "\n" not in found.text and not [*environment.problems(frozenset({name}))]
        monkeypatch.delenv(name)
    monkeypatch.setenv("FLAMBEAU_GPUS", "virtual:2,memory=1GiB,preset=t4")
    monkeypatch.setenv("FLAMBEAU_STRICT", "0")
    monkeypatch.setenv("FLAMBEAU_CHECK", "/tmp/flambeau-check-that-has-ended")
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "backend:native")
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "garbage")  # not read, as the new name is set
    assert not [*environment.problems()]


def test_an_option_replaces_a_wrong_variable(flambeau, script):
    path = script("import flambeau as torch\nprint(torch.cuda.device_count())")
    assert flambeau("run", "--gpus", "virtual:3", path, FLAMBEAU_GPUS="virtual:0").stdout == "3\n"
    done = flambeau("run", "--gpus", "virtual:3", "--fault", "oom:1", path, FLAMBEAU_FAULTS="oom")
    assert (done.stdout, done.returncode) == ("3\n", 0)
    assert flambeau("--version", FLAMBEAU_GPUS="virtual:0", FLAMBEAU_CHECK="1").returncode == 0


def test_a_program_with_a_wrong_variable_raises_at_its_first_use_of_a_gpu(programs):
    text = "import flambeau as torch\nprint(1)\ntorch.ones(1, device='cuda')"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU")}
    for name, value in {"FLAMBEAU_CHECK": "1", "FLAMBEAU_STRICT": "²"}.items():
        settings = {**kept, "PYTHONPATH": SOURCES, "FLAMBEAU_PURE": "1", "FLAMBEAU_GPUS": "virtual:1", name: value}
        done = programs.run(Wanted(["-c", text], os.getcwd(), settings, ""), fresh=True)
        assert (done.returncode, done.stdout) == (1, "1\n") and f"ConfigError: {name}={value!r}" in done.stderr

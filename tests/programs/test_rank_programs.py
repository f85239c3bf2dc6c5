"""Programs of several ranks, written for PyTorch, run unchanged and print what PyTorch prints."""

import os
import re

import pytest

from tests.conftest import ON_HARDWARE
from tests.forks import ROOT, SOURCES, Wanted

FOLDER = ROOT / "tests" / "programs" / "ranks"
# What PyTorch 2.13 prints in float64, with one rank or with several.
PRINTED = {
    "tutorial": """step 0 loss 1.29762589420096
        step 1 loss 1.18171968503652
        step 2 loss 1.11844971936588
        step 3 loss 0.941548864209676
        step 4 loss 1.07425057069022
        step 5 loss 1.58635520107368
        step 6 loss 1.03896355263715
        equal in all ranks: True""",
    "nano_gpt": """iter 0: loss 3.23663521675186, norm 0.598648188566007
        iter 1: loss 3.19284207220847, norm 0.672375552450951
        iter 2: loss 3.03294692413523, norm 0.676684203834397
        iter 3: loss 3.01947109850841, norm 0.647139385712157
        iter 4: loss 2.93161113185719, norm 0.624918190331116""",
    "imagenet": """epoch 0 loss 0.629147372144792 top1 0.5
        epoch 1 loss 0.403387796010251 top1 0.90625
        after loading -0.104420881330215""",
    "spawned": "gradient norm 0.302044737270295",
}
NUMBER = re.compile(r"-?\d+\.\d+")


def printed(programs, arguments, **changes):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(ROOT)]), **changes}
    done = programs.run(Wanted(["-m", "flambeau", *arguments], str(FOLDER), environment), timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def agrees(output, name, tolerance=1e-12):
    expected = PRINTED[name].replace("        ", "") + "\n"
    assert NUMBER.sub("_", output) == NUMBER.sub("_", expected)
    numbers = [[float(each) for each in NUMBER.findall(text)] for text in (output, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=tolerance, abs=tolerance / 10)


@pytest.mark.parametrize(
    "name", ["tutorial", *(pytest.param(name, marks=pytest.mark.full) for name in ("nano_gpt", "imagenet"))]
)
def test_one_rank(name, programs):
    environment = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    agrees(printed(programs, ["run", "--as-torch", "--gpus", "virtual:1", f"{name}.py"], **environment), name)


@pytest.fixture
def two_ranks(programs):
    """`two_ranks(name, *arguments)`: the output of a program with two ranks, in which every race is an error."""
    options = ["--as-torch", "--gpus", "virtual:2,races=error"]
    return lambda name, *arguments: printed(programs, ["run", *options, *arguments, f"{name}.py"])


LONG = [pytest.param(name, marks=pytest.mark.full) for name in ("tutorial", "imagenet")]


@pytest.mark.parametrize("name", ["nano_gpt", *LONG])
def test_two_ranks_print_what_one_prints(name, two_ranks):
    agrees(two_ranks(name, "--nproc", "2"), name)


@pytest.mark.full
def test_a_program_may_start_its_ranks_itself(two_ranks):
    agrees(two_ranks("spawned"), "spawned")


@pytest.mark.two_gpus
@pytest.mark.skipif(not ON_HARDWARE, reason="FLAMBEAU_GPUS is not nvidia")
@pytest.mark.parametrize("name", ["tutorial", "nano_gpt", "imagenet", "spawned"])
def test_two_nvidia_gpus_print_what_one_prints(name, gpus, programs):
    arguments = [] if name == "spawned" else ["--nproc", "2"]
    agrees(printed(programs, ["run", "--as-torch", "--gpus", "nvidia", *arguments, f"{name}.py"]), name, 1e-8)

"""One program under mpirun, with SLURM's variables, and on Ray prints what it prints under `flambeau run`."""

import os
import re
import shutil
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.forks import ROOT, SOURCES

pytestmark = pytest.mark.full
LOSSES = ["0.5635", "0.4749", "0.4914"]  # those of docs/guides/distributed-training.md
PROGRAM = [sys.executable, "examples/launchers/rank.py", "examples/ddp.py"]


def environment(**changes):
    with socket.socket() as found:
        found.bind(("localhost", 0))
        port = found.getsockname()[1]
    paths = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    given = {"PYTHONPATH": paths, "MASTER_PORT": str(port), "FLAMBEAU_JOB_SECRET": "a b c"}
    return {**os.environ, "FLAMBEAU_GPUS": "virtual:2", **given, **changes}


def output(process):
    written, _ = process.communicate(timeout=300)
    assert process.returncode == 0, written
    return written


def losses(text):
    return re.findall(r"loss (\d\.\d+)", text)


def started(command, given):
    return subprocess.Popen(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_under_mpirun():
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("there is no mpirun")
    is_open_mpi = "Open MPI" in subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    options = ["--oversubscribe", "--allow-run-as-root"] if is_open_mpi else []
    assert losses(output(started([mpirun, *options, "-n", "2", *PROGRAM], environment()))) == LOSSES


def test_under_the_variables_of_slurm():
    given = environment(SLURM_NTASKS="2")
    ranks = [started(PROGRAM, {**given, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}) for rank in range(2)]
    assert [losses(output(rank)) for rank in ranks] == [LOSSES, []]


def test_on_ray():
    if find_spec("ray") is None:
        pytest.skip("ray is not installed")
    found = output(started([sys.executable, "examples/launchers/on_ray.py", "2"], environment()))
    assert re.findall(r"rank 0, epoch \d: loss (\d\.\d+)", found) == LOSSES

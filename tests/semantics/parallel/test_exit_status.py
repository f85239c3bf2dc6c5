"""The exit status of a process whose last collective fails when the process ends."""

import os
import subprocess
import sys

import pytest

from tests.forks import SOURCES

PROGRAM = """
import atexit
import sys
import flambeau as torch
from flambeau import distributed as dist

rank, meeting, has_failure, is_destroyed = int(sys.argv[1]), *sys.argv[2:]
torch.virtual(2)
atexit.register(lambda: print("registered first"))
dist.init_process_group("nccl", f"file://{meeting}", rank=rank, world_size=2)
x = torch.ones(4 + rank * (has_failure == "yes"), device=f"cuda:{rank}")
dist.all_reduce(x)
if is_destroyed == "yes":
    dist.destroy_process_group()
kept = open(f"{meeting}-{rank}", "w")
kept.write("closed at the very end")
"""


@pytest.mark.slow
def test_a_failure_of_queued_work_is_printed_and_is_the_exit_status(tmp_path, sample):
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    cases = sample([("yes", "no"), ("yes", "yes"), ("no", "no")], 1)
    started = {}
    for case in cases:
        for rank in ("0", "1"):
            command = [sys.executable, "-c", PROGRAM, rank, str(tmp_path / "-".join(case)), *case]
            pipe = subprocess.PIPE
            started[case, rank] = subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)
    for (case, rank), process in started.items():
        output, errors = process.communicate(timeout=120)
        is_failed = case[0] == "yes"
        assert process.returncode == is_failed, (case, errors)
        assert (errors.count("CollectiveError: all_reduce"), errors.count("float32[5]")) == (is_failed, is_failed), case
        assert output == "registered first\n", case
        assert (tmp_path / f"{'-'.join(case)}-{rank}").read_text() == "closed at the very end", case

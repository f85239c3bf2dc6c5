"""Programs of several ranks, on one machine and on several: their status, failures and options."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

RANKS = """import os, sys
import flambeau as torch
import flambeau.distributed as dist
dist.init_process_group()
x = torch.full((2,), float(dist.get_rank()), device=f"cuda:{os.environ['LOCAL_RANK']}")
dist.all_reduce(x)
sys.stdout.write(f"{dist.get_rank()} {os.environ['LOCAL_WORLD_SIZE']} {x.tolist()}\\n")  # in one write, unbuffered too
if sys.argv[1:] == ["fail"]:
    dist.barrier()  # both have read the other's bytes
    if dist.get_rank() == 1:
        os._exit(7)
    dist.barrier()
dist.destroy_process_group()
"""


def test_ranks_meet_and_the_status_is_that_of_the_first_that_fails(flambeau):
    done = flambeau("run", "--gpus", "virtual:2", "--nproc", "2", "-c", RANKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["0 2 [1.0, 1.0]", "1 2 [1.0, 1.0]"]
    done = flambeau("run", "--gpus", "virtual:2", "--nproc", "2", "-c", RANKS, "fail")
    assert done.returncode == 7
    assert "flambeau run: rank 1 exited with 7; the other ranks are ended" in done.stderr
    assert "barrier: the process of rank 1 has ended" in done.stderr
    assert "rank 1: its process has ended; its last call: barrier() at <string>:9" in done.stderr


@pytest.mark.slow
def test_a_rank_that_ends_before_it_joined_is_named_at_once(flambeau):
    program = "import os, flambeau\nif os.environ['RANK'] == '0':\n    flambeau.distributed.init_process_group('gloo')"
    done = flambeau("run", "--gpus", "none", "--nproc", "2", "-c", program)
    assert done.returncode == 1
    assert "CollectiveError: init_process_group: rank 1 exited with 0 before it joined the group" in done.stderr
    assert "rank 0: init_process_group() at <string>:3" in done.stderr


@pytest.mark.full
def test_a_job_has_ranks_on_several_machines(flambeau):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    options = ["run", "--gpus", "virtual:1", "--nproc", "1", "--nnodes", "2", "--master-addr", "127.0.0.1"]
    program = ["-c", RANKS.replace("LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE")]

    def start(rank):
        arguments = [*options, "--master-port", port, "--node-rank", rank, *program]
        return flambeau(*arguments, fresh=True, FLAMBEAU_JOB_SECRET="a secret")

    with ThreadPoolExecutor() as pool:
        done = list(pool.map(start, ["1", "0"]))
    assert [(each.returncode, each.stderr) for each in done] == [(0, ""), (0, "")]
    assert [each.stdout for each in done] == ["1 2 [1.0, 1.0]\n", "0 2 [1.0, 1.0]\n"]


NODES = ["--nnodes", "2", "--node-rank", "0", "--master-addr", "localhost"]
WRONG_NODES = [
    (["--nproc", "2", *NODES[:4]], {}, "--nnodes 2 needs --master-addr, an address of machine 0, and --node-rank"),
    (["--nproc", "2", *NODES[:3], "2", *NODES[4:]], {}, "the number of this one: 0 to 1"),
    (["--nproc", "2", *NODES], {}, "--nnodes 2 needs a secret in FLAMBEAU_JOB_SECRET, the same on all machines"),
    (NODES, {}, "--nnodes 2 needs --nproc, the number of ranks on each machine"),
    (
        ["--nproc", "2", *NODES, "--hosts", "2"],
        {"FLAMBEAU_JOB_SECRET": "s"},
        "--hosts models machines, --nnodes uses real ones",
    ),
    (["--nproc", "2", "--node-rank", "1"], {}, "--node-rank: only for a job on several machines, with --nnodes N"),
]


@pytest.mark.parametrize(("options", "environment", "text"), WRONG_NODES)
def test_wrong_options_of_machines_are_named(flambeau, options, environment, text):
    done = flambeau("run", *options, "-c", "pass", **environment)
    assert done.returncode == 2 and text in " ".join(done.stderr.replace("│", " ").split()), done.stderr


def test_a_port_that_is_in_use_is_named(flambeau):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        options = ["--nproc", "2", *NODES[:5], "127.0.0.1", "--master-port", port]
        done = flambeau("run", *options, "-c", "pass", FLAMBEAU_JOB_SECRET="a secret")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert f"flambeau run: machine 0 cannot listen at 127.0.0.1:{port}: [Errno 98]" in done.stderr
    assert "\nhint: choose another --master-port" in done.stderr


def test_a_number_of_processes_is_at_least_one(flambeau):
    done = flambeau("run", "--nproc", "0", "-c", "pass")
    assert done.returncode == 2 and "0 is not in the range 1<=x<=1024" in done.stderr


def test_the_process_of_a_rank_is_killed(flambeau):
    code = "import flambeau as torch\nx = torch.ones(4, device='cuda')\nprint(7, flush=True)\nx + 1"
    for rank, status in (("1", -9), ("0", 0)):
        done = flambeau("run", "--gpus", "virtual:1", "--fault", "kill_rank:1:2", "-c", code, RANK=rank)
        assert (done.returncode, done.stdout) == (status, "7\n"), done.stderr


@pytest.mark.full
def test_the_other_ranks_end_too(flambeau):
    done = flambeau("run", "--gpus", "virtual:2", "--nproc", "2", "--fault", "kill_rank:1:1", "-c", RANKS)
    assert done.returncode == 128 + 9 and "flambeau run: rank 1 was killed by SIGKILL" in done.stderr, done.stderr

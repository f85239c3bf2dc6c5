"""NCCL itself: a group of one rank on one NVIDIA GPU, and of two processes on two."""

import json
import os
import signal
import subprocess
import sys

import pytest

import flambeau as torch
from flambeau import config
from flambeau import distributed as dist
from flambeau.driver import nccl_version
from flambeau.nn.parallel import DistributedDataParallel
from flambeau.parallel.collectives import ProcessGroup
from flambeau.parallel.exchange import Client
from flambeau.parallel.group import TIMEOUT, GroupMember
from flambeau.parallel.hub import Hub
from tests.parallel.coalesced_calls import expected
from tests.parallel.nccl_calls import PLANTED, data, filled, noted_ends, steps

SECRET = "a secret of this test"
SECONDS = 240


@pytest.fixture(scope="module", autouse=True)
def only_on_hardware():
    choice = config.gpus()
    if choice is None or choice.kind != "nvidia":
        pytest.skip("FLAMBEAU_GPUS is not nvidia")
    if nccl_version() is None:
        pytest.skip("NCCL is not installed")


@pytest.fixture
def alone(gpus, monkeypatch):
    """A group of one rank that uses NCCL, as a group of several does."""
    monkeypatch.setattr(ProcessGroup, "is_shared", True)
    hub = Hub("127.0.0.1", 0, 1, SECRET)
    client = Client(*hub.address, SECRET, 30, 0, 1)
    GroupMember.WORLD = ProcessGroup("nccl", "0", (0,), 0, client, TIMEOUT)
    yield GroupMember.WORLD
    dist.destroy_process_group()
    hub.stop()


@pytest.mark.gpu
@pytest.mark.devices(1)
def test_every_collective_of_one_rank(alone):
    x = filled(1, 2)
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT):
        dist.all_reduce(x, op)
    dist.reduce(x, 0)
    dist.broadcast(x, 0)
    assert x.tolist() == [1.0, 2.0]
    for kind in (torch.bool, torch.uint8, torch.int16, torch.int64, torch.bfloat16, torch.float16, torch.float64):
        y = filled(1, 0, dtype=kind)
        dist.all_reduce(y)
        assert y.tolist() == [1, 0], kind
    outputs = {
        name: torch.zeros(2, device="cuda") for name in ("gathered", "one", "part", "parts", "sent", "all", "rows")
    }
    dist.all_gather_into_tensor(outputs["gathered"], x)
    dist.all_gather([outputs["one"]], x)
    dist.reduce_scatter_tensor(outputs["part"], x)
    dist.reduce_scatter(outputs["parts"], [x])
    dist.scatter(outputs["sent"], [x], 0)
    dist.all_to_all([outputs["all"]], [x])
    dist.all_to_all_single(outputs["rows"], x)
    found = [torch.zeros(2, device="cuda")]
    dist.gather(x, found, 0)
    assert [each.tolist() for each in (*outputs.values(), *found)] == [[1.0, 2.0]] * 8
    dist.barrier()
    objects = [None]
    dist.all_gather_object(objects, "text")
    assert objects == ["text"]


@pytest.mark.gpu
@pytest.mark.devices(1)
def test_work_follows_the_current_stream_and_is_followed(alone, busy):
    for number in range(20):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.zeros(1 << 22, device="cuda")
            busy()
            x.fill_(number)
            work = dist.all_reduce(x, async_op=True)
            work.wait()
            total = x * 2
            del x
            assert total.min().item() == total.max().item() == 2 * number
            assert work.is_completed() and work.is_success()
    client = alone.client
    torch.cuda.synchronize()
    noted_ends(client)
    assert {each.state for each in client.recorder._entries} == {"completed"}


@pytest.mark.gpu
@pytest.mark.devices(1)
def test_ddp_of_one_rank(alone):
    net, x, y = data()
    wrapped = DistributedDataParallel(data()[0].cuda())
    assert steps(wrapped, x.cuda(), y.cuda()) == pytest.approx(steps(net, x, y), rel=1e-12)


@pytest.mark.gpu
@pytest.mark.devices(1)
def test_an_abort_leaves_the_gpu_usable(alone):
    x = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    client = alone.client
    client.report_broken("a planted failure")
    assert client.await_failure(30)
    client._watchdog._thread.join(30)
    for wait in (x.cpu, torch.cuda.synchronize, lambda: dist.all_reduce(x)):
        with pytest.raises(dist.CollectiveError, match="rank 0 reports a planted failure"):
            wait()
    dist.destroy_process_group()
    assert x.sum().item() == 1 << 20
    dist.init_process_group("nccl", rank=0, world_size=1)  # the fixture destroys it


def ranks(tmp_path, *arguments):
    """What two processes of nccl_rank.py print, or their status."""
    started = []
    for rank in range(2):
        environment = {
            **os.environ,
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "MEETING": str(tmp_path / "meeting"),
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
        }
        command = [sys.executable, "-m", "tests.parallel.nccl_rank", *arguments]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    found = []
    for each in started:
        printed = each.communicate(timeout=SECONDS)[0]
        found.append(json.loads(printed.splitlines()[-1]) if printed and not each.returncode else each.returncode)
    return found


@pytest.mark.two_gpus
def test_every_collective_gives_what_it_gives_through_the_host(gpus, tmp_path):
    for rank, (by_nccl, through_host) in enumerate(ranks(tmp_path, "results")):
        assert by_nccl[1] == through_host[1] and by_nccl[1]["SUM"] == [3.0, 5.0], rank


@pytest.mark.two_gpus
def test_large_tensors_streams_and_messages(gpus, tmp_path):
    assert ranks(tmp_path, "large") == [[[2 * number + 3] * 2 for number in range(20)]] * 2


@pytest.mark.two_gpus
def test_messages_that_cross(gpus, tmp_path):
    assert ranks(tmp_path, "overlapped") == [[2.0, 1.0], [1.0, 2.0]]


@pytest.mark.two_gpus
def test_calls_that_run_as_one_operation(gpus, tmp_path):
    wanted = [json.loads(json.dumps(expected(rank, 2))) for rank in range(2)]  # tuples are lists
    assert ranks(tmp_path, "coalesced") == wanted


@pytest.mark.two_gpus
def test_ddp_has_the_losses_of_one_process(gpus, tmp_path):
    zero, one = ranks(tmp_path, "trained")
    assert [(a + b) / 2 for a, b in zip(zero, one)] == pytest.approx(steps(*data()), rel=1e-9)


@pytest.mark.two_gpus
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_named(gpus, tmp_path, name):
    found = ranks(tmp_path, "planted", name)
    failed = [each for each in found if isinstance(each, list) and each[0] == "CollectiveError"]
    ended = [each for each in found if each in (-signal.SIGKILL, None)]
    assert failed and len(failed) + len(ended) == 2, found
    for _, said in failed:
        assert PLANTED[name][1] in said and "\n  rank 0: " in said and "\n  rank 1: " in said


@pytest.mark.two_gpus
def test_a_rank_that_does_not_come_is_named(gpus, tmp_path):
    for name, text in ranks(tmp_path, "late"):
        assert name == "CollectiveError" and "rank 0 has waited for 10.0 s, the group's timeout" in text
        assert "rank 1: has not called; its last call: all_reduce(float32[2], SUM) at" in text

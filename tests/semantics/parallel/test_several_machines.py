"""Groups of ranks on several machines: bytes pass through the hub."""

import json
import signal
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau as torch
from flambeau import distributed as dist
from flambeau.parallel import hub
from tests.open_files import open_files
from tests.parallel.processes import die, run

MIB = 1 << 20


@given(st.lists(st.tuples(st.integers(0, 99), st.binary(max_size=40)), max_size=8), st.randoms())
def test_messages_are_put_together_from_any_pieces(messages, random):
    stream = b"".join(hub.packed({"number": number}, data) for number, data in messages)
    inbox, found, at = hub.Inbox(), [], 0
    while at < len(stream):
        size = random.randint(1, 30)
        found += inbox.add(stream[at : at + size])
        at += size
    assert [(each["number"], each["data"]) for each in found] == messages


@pytest.mark.parametrize("nbytes", [-1, hub.MAX_MESSAGE + 1, 1.5, "1", None, True])
def test_data_of_no_right_size_is_refused(nbytes):
    text = json.dumps({"nbytes": nbytes}).encode()
    with pytest.raises(ValueError, match="bytes of data"):
        hub.Inbox().add(len(text).to_bytes(hub.SIZE, "little") + text)


def numbers(rank, n=3, device="cpu"):
    return torch.arange(n, dtype=torch.float64, device=device) + 10 * rank


def collectives(rank, device="cpu"):
    found, x = {}, numbers(rank, device=device)
    dist.all_reduce(x)
    found["all_reduce"] = x.tolist()
    x = numbers(rank, device=device)
    dist.broadcast(x, 3)
    found["broadcast"] = x.tolist()
    parts = [torch.empty(3, dtype=torch.float64, device=device) for _ in range(4)]
    dist.all_gather(parts, numbers(rank, device=device))
    found["all_gather"] = [each.tolist() for each in parts]
    x = torch.empty(2, dtype=torch.float64, device=device)
    dist.reduce_scatter_tensor(x, numbers(rank, 8, device))
    found["reduce_scatter"] = x.tolist()
    out, sizes = torch.empty(4 * (rank + 1), device=device), [1, 2, 3, 4]
    dist.all_to_all_single(out, torch.full((10,), float(rank), device=device), [rank + 1] * 4, sizes)
    found["all_to_all"] = out.tolist()
    objects = [None] * 4
    dist.all_gather_object(objects, {"rank": rank})
    found["objects"] = objects
    x = numbers(rank, device=device)
    if rank in (1, 2):
        (dist.send if rank == 1 else dist.recv)(x, 3 - rank)
    found["message"] = x.tolist()
    empty = torch.empty(0, device=device)
    dist.all_reduce(empty)
    dist.barrier()
    return found


@pytest.mark.parametrize(("backend", "gpus"), [("gloo", 0), ("nccl", 2)])
def test_collectives_have_the_values_of_one_machine(backend, gpus):
    def function(rank):
        return collectives(rank, "cuda" if gpus else "cpu")

    found = run(function, 4, backend, gpus=gpus, machines=2)
    assert found[0]["all_reduce"] == [60, 64, 68] and found[2]["message"] == [10, 11, 12]
    assert found[1]["all_to_all"] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found == run(function, 4, backend, gpus=4 if gpus else 0)


def test_large_tensors_pass_in_pieces():
    def function(rank):
        files = open_files()
        x = torch.arange(5 * MIB, dtype=torch.int32) * (rank + 1)  # 20 MiB, more than sockets take at once
        works = [dist.all_reduce(each, async_op=True) for each in (x, torch.ones(7))]
        for work in works:
            work.wait()
        for _ in range(100):
            dist.all_reduce(torch.ones(7))
        return bool((x == torch.arange(5 * MIB, dtype=torch.int32) * 6).all()), len(open_files() - files)

    found = run(function, 3, machines=3)
    assert [right for right, _ in found] == [True] * 3
    assert max(more for _, more in found) < 40  # some files are kept for later calls


def test_a_training_has_the_same_losses():
    def train(rank):
        torch.manual_seed(0)
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
        optimizer, losses = torch.optim.SGD(net.parameters(), 0.1), []
        for step in range(3):
            optimizer.zero_grad()
            loss = (net(torch.full((2, 4), rank + step + 1.0)) - 1).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert run(train, 2, machines=2) == run(train, 2)


def test_what_differs_is_named():
    found = run(lambda rank: dist.all_reduce(torch.ones(2 + rank)), 2, machines=2)
    assert [name for name, _ in found] == ["CollectiveError"] * 2
    for _, text in found:
        assert "rank 0: all_reduce(float32[2], SUM)" in text and "rank 1: all_reduce(float32[3], SUM)" in text


@pytest.mark.parametrize("victim", [1, 2])
def test_a_rank_that_dies_is_named_on_every_machine(victim):
    def function(rank):
        for number in range(20):
            if rank == victim and number == 10:
                die()
            dist.all_reduce(torch.ones(MIB // 2))

    found = run(function, 4, machines=2)
    assert found.pop(victim) == -signal.SIGKILL
    assert all(name == "CollectiveError" and f"the process of rank {victim} has ended" in text for name, text in found)


def test_each_machine_has_gpus_of_its_own():
    def function(rank):
        torch.cuda.set_device(0)
        x = torch.ones(1, device="cuda")
        dist.all_reduce(x)
        return x.item()

    assert run(function, 2, "nccl", gpus=2, machines=2) == [2.0, 2.0]
    assert [name for name, _ in run(function, 2, "nccl", gpus=2)] == ["CollectiveError"] * 2


def test_a_machine_that_says_nothing_is_noticed():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as link:
        hub.watched(link)
        options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        asked = [link.getsockopt(socket.IPPROTO_TCP, option) for option in options]
    assert asked == [hub.SILENCE, hub.LOOKS, hub.LOOKS]

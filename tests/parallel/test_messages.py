"""Messages that are received from any process: values, senders, order, and the errors of those that never come."""

from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from tests.parallel.processes import run

CPU_AND_GPU = pytest.mark.parametrize("device", ["cpu", "cuda"])


def full(value, count=2, device="cpu"):
    return torch.full((count,), float(value), device=device)


def received(count, device="cpu", **more):
    """Messages from any process, by sender."""
    found = []
    for _ in range(count):
        x = full(-1, device=device)
        found.append((dist.recv(x, **more), x.tolist()))
    return sorted(found)


@CPU_AND_GPU
@pytest.mark.parametrize("machines", [1, 2])
def test_a_message_of_any_process_is_received_with_its_sender(device, machines):
    def function(rank):
        if rank == 3:
            return received(6, device)
        dist.send(full(rank, device=device), 3)
        dist.send(full(10 + rank, device=device), 3)
        return None

    expected = [(rank, [value + rank] * 2) for rank in range(3) for value in (0.0, 10.0)]
    assert run(function, 4, gpus=4, machines=machines)[3] == expected


@CPU_AND_GPU
def test_messages_of_a_tag_come_in_the_order_of_the_sends(device):
    def function(rank):
        if rank == 1:
            for number in range(4):
                dist.isend(full(number, device=device), 0, tag=5).wait()
            dist.send(full(9, device=device), 0, tag=6)
            return None
        other, tensors = full(-1, device=device), [full(-1, device=device) for _ in range(4)]
        sources = [1, None, 1, None]  # the first begins without a match by the hub
        works = [dist.irecv(x, src, tag=5) for x, src in zip(tensors, sources)]
        dist.recv(other, tag=6)
        for work in works:
            work.wait()
        return [x[0].item() for x in [*tensors, other]], [work.source_rank() for work in works]

    assert run(function, 2, gpus=2)[0] == ([0.0, 1.0, 2.0, 3.0, 9.0], [1, 1, 1, 1])


@CPU_AND_GPU
def test_a_receive_from_one_process_leaves_the_others_to_those_from_any(device):
    def function(rank):
        if rank > 0:
            dist.send(full(rank, device=device), 0)
            return None
        first, second, third = [full(-1, device=device) for _ in range(3)]
        works = [dist.irecv(first, None), dist.irecv(second, None)]
        senders = {work.source_rank() for work in works}
        last = ({1, 2, 3} - senders).pop()
        assert dist.recv(third, last) == last
        return sorted([*senders, last]), sorted(x[0].item() for x in (first, second, third))

    assert run(function, 4, gpus=4)[0] == ([1, 2, 3], [1.0, 2.0, 3.0])


def test_the_sender_is_a_number_of_the_job_and_of_the_group_in_its_work():
    def function(rank):
        group = dist.new_group([1, 2])
        if rank == 2:
            dist.send(full(5), 1, group)
            group.send([full(6)], 0, 7).wait()
        if rank == 1:
            x, y = full(0), full(0)
            work = group.recv_anysource([y], 7)
            return dist.recv(x, group=group), work.source_rank(), x.tolist(), y.tolist()
        return None

    assert run(function, 3)[1] == (2, 1, [5.0, 5.0], [6.0, 6.0])


def test_objects_of_any_process():
    def function(rank):
        if rank == 0:
            found = []
            for _ in range(2):
                entry = [None]
                found.append((dist.recv_object_list(entry), entry))
            return sorted(found)
        dist.send_object_list([f"from {rank}"], 0)
        return None

    assert run(function, 3)[0] == [(1, ["from 1"]), (2, ["from 2"])]


def test_a_machine_without_values_learns_the_sender():
    def function(rank):
        x = full(rank, device="cuda")
        if rank == 1:
            dist.send(x, 0)
            return None
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        source = dist.recv(x)
        end.record()
        end.synchronize()
        return source, start.elapsed_time(end) > 0

    assert run(function, 2, gpus=2)[0] == (1, True)


def test_nccl_has_no_receive_from_any_process():
    def function(rank):
        texts = []
        for call in (dist.recv, dist.irecv):
            with pytest.raises(RuntimeError) as error:
                call(full(0, device="cuda"))
            texts.append(str(error.value))
        dist.barrier()
        return texts

    for texts in run(function, 2, "nccl", gpus=2):
        for name, text in zip(("recv", "irecv"), texts):
            assert text.startswith(f"{name}: Backend nccl does not support recvAnysource") and "src=1" in text


def test_the_host_of_a_group_with_nccl_receives_from_any_process(ranks):
    def function(rank, library):
        sum_ = full(1, device="cuda")
        dist.all_reduce(sum_)
        group = dist.new_group([0, 1], backend="cpu:gloo,cuda:nccl")
        x = full(rank)
        source = None if rank else dist.recv(x, group=group)
        if rank:
            dist.send(x, 0, group)
        return source, x.tolist(), sum_.tolist()

    assert ranks(function) == [(1, [1.0, 1.0], [2.0, 2.0]), (None, [1.0, 1.0], [2.0, 2.0])]


def test_a_coalesced_receive_names_its_sender():
    def function(rank):
        with pytest.raises(NotImplementedError) as error, dist._coalescing_manager(device="cpu"):
            dist.irecv(full(0), None)
        return str(error.value)

    for text in run(function, 2):
        assert text.startswith("irecv: a receive from any process cannot be coalesced")


# messages that differ, or never come


@CPU_AND_GPU
@pytest.mark.parametrize("is_sent_first", [True, False])
def test_another_size_is_named_on_both_ranks(device, is_sent_first):
    def function(rank):
        if rank == 1:
            works = [dist.isend(full(1, 3, device), 0)]
            if is_sent_first:
                dist.isend(full(1, device=device), 0, tag=1)
            works[0].wait()
        else:
            if is_sent_first:
                dist.recv(full(0, device=device), 1, tag=1)
            dist.recv(full(0, 2, device))
        torch.cuda.synchronize()
        dist.barrier()

    for name, text in run(function, 2, gpus=2):
        assert name == "CollectiveError" and "ranks make different calls" in text
        assert "rank 0: recv(float32[2], src=any) at" in text and "rank 1: isend(float32[3], dst=0) at" in text


def test_ranks_that_all_wait_are_named():
    def function(rank):
        dist.recv(full(0))

    for name, text in run(function, 2):
        assert name == "CollectiveError" and "all ranks wait for each other" in text
        assert "rank 0: recv(float32[2], src=any) at" in text and "rank 1: recv(float32[2], src=any) at" in text


def test_all_senders_that_have_left_are_named():
    def function(rank):
        if rank == 0:
            dist.recv(full(0))

    name, text = run(function, 3)[0]
    assert name == "CollectiveError" and "has left the group" in text
    assert "rank 0: recv(float32[2], src=any) at" in text


def test_a_message_that_does_not_come_in_time_is_named():
    def function(rank):
        if rank == 0:
            group = dist.new_group([0, 1], timedelta(seconds=0.2), use_local_synchronization=True)
            dist.recv(full(0), group=group)
        else:
            dist.new_group([0, 1], use_local_synchronization=True)
            dist.distributed_c10d._get_default_store().get("never")

    name, text = run(function, 2, seconds=5.0)[0]
    assert name == "CollectiveError" and "rank 0 has waited for 0.2 s" in text
    assert "rank 0: recv(float32[2], src=any, group=0/local 0.1 0 of ranks 0, 1) at" in text


def test_a_send_that_nothing_receives_is_named():
    def function(rank):
        if rank == 0:
            assert dist.recv(full(0)) == 1
        else:
            works = [dist.isend(full(0), 0), dist.isend(full(0), 0)]
            for work in works:
                work.wait()

    name, text = run(function, 2)[1]
    assert name == "CollectiveError" and "rank 0 has left the group" in text
    assert "rank 1: isend(float32[2], dst=0) at" in text


def test_mismatches_show_tags_and_groups():
    def tags(rank):
        if rank == 0:
            dist.send(full(0), 1, tag=1)
        else:
            dist.recv(full(1), 0, tag=2)

    def groups(rank):
        made = [dist.new_group([0, 1]) for _ in range(2)]
        dist.all_reduce(full(rank), group=made[rank])

    for function, shown in (
        (tags, ("send(float32[2], dst=1, tag=1) at", "recv(float32[2], src=0, tag=2) at")),
        (groups, [f"all_reduce(float32[2], SUM, group=0/group{each} of ranks 0, 1) at" for each in range(2)]),
    ):
        for name, text in run(function, 2):
            assert name == "CollectiveError"
            assert all(f"rank {rank}: {shown[rank]}" in text for rank in range(2))

"""Copies: which ones wait, which are asynchronous, and the order of streams.  Rows 1.2.2, 1.3.1, 1.9.*"""

import gc

import numpy as np
import pytest

import flambeau as torch
from flambeau.core.hooks import hooks, subscribe, unsubscribe
from flambeau.testing import machine
from flambeau.transfer import to_devices

pytestmark = pytest.mark.usefixtures("gpus")


@pytest.mark.devices(2)
@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_round_trip_over_two_devices_keeps_every_bit(non_blocking):
    x = torch.randn(33, 17)
    y = x.to("cuda:0", non_blocking=non_blocking).to("cuda:1", non_blocking=non_blocking)
    back = y.to("cpu", non_blocking=non_blocking)
    torch.cuda.synchronize(1)
    assert back.is_pinned() is non_blocking and np.array_equal(back.numpy(), x.numpy())


@pytest.mark.devices(2)
def test_copy_converts_broadcasts_and_crosses_devices():
    target = torch.zeros(3, 4, device="cuda:1").t()
    target.copy_(torch.arange(3, device="cuda:0"))
    assert target.tolist() == [[0.0, 1.0, 2.0]] * 4
    half = torch.empty(3, dtype=torch.float16)
    half.copy_(torch.tensor([1.5, 2.5, 1e6], dtype=torch.float64, device="cuda:1"))
    assert half.tolist() == [1.5, 2.5, float("inf")]
    with pytest.raises(RuntimeError, match=r"\[5\] and \[3, 4\]|\[5\]"):
        torch.zeros(3, 4).copy_(torch.zeros(5))
    with pytest.raises(RuntimeError, match=r"source of shape \[3, 4\] does not fit a target of \[4\]"):
        torch.zeros(4).copy_(torch.zeros(3, 4))


@pytest.mark.devices(2)
def test_a_copy_between_devices_follows_both_current_streams():
    s0, s1 = torch.cuda.Stream(0), torch.cuda.Stream(1)
    for _ in range(3):
        with machine(devices=2):
            s0, s1 = torch.cuda.Stream(0), torch.cuda.Stream(1)
            with torch.cuda.stream(s0), torch.cuda.stream(s1):
                x = torch.full((1000,), 3.0, device="cuda:0")
                y = torch.full((1000,), 1.0, device="cuda:1")
                y.mul_(2)
                y.copy_(x, non_blocking=True)
                y.add_(1)
                assert y.cpu().tolist() == [4.0] * 1000


@pytest.mark.devices(3)
def test_copies_between_devices_wait_for_all_streams_once():
    with machine(devices=3, races="error"):
        own = [torch.cuda.Stream(index) for index in range(3)]
        with own[2], own[1], own[0]:
            sources = [torch.full((100,), float(at), device="cuda:0") for at in range(4)]
            waits = []
            subscribe(on_wait=lambda stream, event: waits.append(stream.device_index))
            moved = to_devices([*sources, sources[0].view(10, 10).t()[:0]], [1, 2, 1, 2, 1])
            unsubscribe(on_wait=hooks.on_wait)
            assert sorted(waits) == [0, 0, 1, 2]
            sources[2].zero_()
            moved[0].add_(1)
            assert [each.device_index for each in moved] == [1, 2, 1, 2, 1]
            assert [each.cpu().mean().item() for each in moved[:4]] == [1.0, 1.0, 2.0, 3.0]
    with machine(devices=2), pytest.raises(torch.errors.FlambeauError, match="copy"):
        to_devices(sources, [1, 1, 1, 1])


def test_a_pinned_source_that_is_rewritten_shows_on_virtual_gpus():
    with machine(devices=1):
        x = torch.ones(4).pin_memory()
        y = x.cuda(non_blocking=True)
        x.fill_(9.0)
        assert y.tolist() == [9.0] * 4


def test_a_pageable_source_may_be_rewritten_at_once():
    x = torch.ones(4)
    y = x.cuda(non_blocking=True)
    x.fill_(9.0)
    assert y.tolist() == [1.0] * 4


def test_a_pinned_block_is_kept_until_its_copy_is_done():
    with machine(devices=1) as made:
        x = torch.ones(1 << 20).pin_memory()
        first = x.data_ptr()
        y = x.cuda(non_blocking=True)
        del x
        other = torch.zeros(1 << 20).pin_memory()
        assert other.data_ptr() != first
        torch.cuda.synchronize()
        again = torch.zeros(1 << 20).pin_memory()
        assert again.data_ptr() == first and y[5].item() == 1.0
        assert made.pinned.statistics()["num_host_alloc"] == 2


def test_pinning():
    x = torch.arange(6).view(2, 3).t()
    y = x.pin_memory()
    assert y.is_pinned() and not x.is_pinned() and y.tolist() == x.tolist()
    assert y.pin_memory() is y and y[1:].is_pinned()
    assert torch.zeros(3, pin_memory=True).is_pinned()
    with pytest.raises(ValueError, match=r"only dense CPU tensors can be pinned, this is float32\[1\] on cuda:0"):
        torch.zeros(1, device="cuda").pin_memory()


def test_pinned_memory_outlives_its_tensor_in_numpy():
    array = torch.arange(5.0).pin_memory().numpy()
    gc.collect()
    torch.zeros(5).pin_memory()
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_record_stream_keeps_a_block_that_another_stream_still_reads():
    with machine(devices=1):
        s = torch.cuda.Stream()
        x = torch.full((1 << 24,), 5.0, device="cuda")
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            y = x + 1
        x.record_stream(s)
        first = x.data_ptr()
        del x
        z = torch.full((1 << 24,), 9.0, device="cuda")
        assert z.data_ptr() != first
        s.synchronize()
        assert y[0].item() == 6.0


def test_without_record_stream_the_reader_sees_poison():
    with machine(devices=1):
        s = torch.cuda.Stream()
        x = torch.full((1 << 18,), 5.0, device="cuda")
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            y = x + 1
        first = x.data_ptr()
        del x
        z = torch.full((1 << 18,), 9.0, device="cuda")
        assert z.data_ptr() == first
        torch.cuda.current_stream().wait_stream(s)
        assert bool(torch.isnan(y).all()) and z[0].item() == 9.0


def test_unset_memory_reads_as_poison():
    with machine(devices=1):
        x = torch.empty(4, device="cuda")
        assert bool(torch.isnan(x).all())
        x[1:3] = 0.0
        assert torch.isnan(x).tolist() == [True, False, False, True]


def test_out_of_memory_leaves_everything_as_it_was_and_the_program_goes_on():
    with machine(devices=1, memory="64MiB"):
        x = torch.ones(4 << 20, device="cuda")
        before = torch.cuda.memory_stats()
        with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory.*128.00 MiB.*64.00 MiB"):
            torch.empty(32 << 20, device="cuda")
        after = torch.cuda.memory_stats()
        assert after["num_ooms"] == before["num_ooms"] + 1
        changed = {name for name, _ in before.items() ^ after.items()}
        assert [name for name in changed if name.endswith("current")] == []
        assert (x + 1)[0].item() == 2.0

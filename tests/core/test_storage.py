"""Storages: memory comes back by reference count alone, to the cache it came from."""

import gc

import pytest

import flambeau as torch
from flambeau.core import host_storage, thread
from flambeau.core.thread import CPU
from flambeau.testing import machine


@pytest.fixture
def made():
    with machine(devices=1) as each:
        yield each


def test_dropping_the_last_reference_gives_the_block_back(made):
    gc.disable()
    try:
        x = torch.zeros(1000, device="cuda")
        view = x[10:]
        assert torch.cuda.memory_allocated() == 4096
        del x
        assert torch.cuda.memory_allocated() == 4096
        del view
        assert torch.cuda.memory_allocated() == 0
    finally:
        gc.enable()


def test_nothing_is_taken_for_no_bytes(made):
    empty = torch.empty(0, 5, device="cuda")
    assert torch.cuda.memory_allocated() == 0 and empty._storage.address() == 0 and empty._storage.nbytes == 0


def test_a_recorded_stream_keeps_the_block_until_its_work_is_done(made):
    x, side = torch.zeros(1 << 24, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        side.wait_stream(torch.cuda.default_stream())
        x.add_(1)
    x.record_stream(side)
    address = x.address()
    del x
    other = torch.empty(1 << 24, device="cuda")
    assert other.address() != address
    side.synchronize()
    assert torch.empty(1 << 24, device="cuda").address() == address


def test_pinned_memory_goes_back_to_its_cache_also_through_numpy(made):
    x = torch.zeros(100, pin_memory=True)
    array, address = x.numpy(), x.address()
    del x
    other = torch.zeros(100, pin_memory=True)
    assert other.address() != address
    array[:] = 7
    del array
    assert torch.zeros(100, pin_memory=True).address() == address


def test_versions_count_writes_of_all_views():
    x = torch.zeros(4)
    x[1:].add_(1)
    x.mul_(2)
    assert x._storage.version == x[1:]._storage.version == 2


def test_host_memory_is_aligned_and_shared_with_the_array_it_came_from():
    made = host_storage.on_host(100)
    assert made.address() % 64 == 0 and made.device is CPU and not made.is_pinned and made.array().nbytes == 100
    shared = host_storage.from_array(made.array())
    assert shared.address() == made.address()


def test_out_of_memory_leaves_everything_as_it_was():
    with machine(devices=1, memory="64MiB"):
        kept = torch.ones(1 << 20, device="cuda")
        torch.cuda.synchronize()
        before = torch.cuda.memory_stats()
        with pytest.raises(torch.cuda.OutOfMemoryError, match="64.00 MiB"):
            torch.empty(1 << 26, device="cuda")
        after = torch.cuda.memory_stats()
        changed = {key for key in after if after[key] != before[key]}
        assert changed <= {"num_ooms", "num_alloc_retries", "num_sync_all_streams"}
        assert (kept + 1).sum().item() == 2 << 20 and thread.machine().is_started

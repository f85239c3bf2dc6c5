"""The cudaMallocAsync backend on virtual GPUs, and where pluggable allocators are accepted."""

import pytest

import flambeau as torch
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.errors import (
    ArgumentTypeError,
    ConfigError,
    NotSupportedError,
    OutOfMemoryError,
    RaceError,
)
from flambeau.runtime.machine import Machine
from flambeau.testing import machine

MIB = 1 << 20


@pytest.fixture
def pooled(monkeypatch):
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync")
    with machine(devices=2, memory=200 * MIB) as made:
        yield made


def ones(count, device="cuda"):
    return torch.ones(count, device=device)


def test_a_stream_reuses_what_was_freed_on_it(pooled):
    assert torch.cuda.get_allocator_backend() == "cudaMallocAsync"
    x = ones(1000)
    y = x + 1
    address = y.data_ptr()
    del y
    z = x * 3
    assert z.data_ptr() == address and z.sum().item() == 3000
    assert torch.cuda.memory_allocated() == 8192 and torch.cuda.memory_reserved() == 32 * MIB
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert ones(1).data_ptr() not in (address, address + 4096)


def test_empty_cache_returns_idle_chunks(pooled):
    x, y = ones(10 * MIB), ones(1000)
    free, _ = torch.cuda.mem_get_info()
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 32 * MIB and torch.cuda.mem_get_info()[0] == free + 40 * MIB
    assert torch.cuda.max_memory_reserved() == 72 * MIB and y.sum().item() == 1000


def test_a_recorded_stream_is_waited_for_by_the_next_user(pooled):
    side = torch.cuda.Stream()
    x = ones(1000)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    x.record_stream(side)
    del x
    z = torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    assert y.sum().item() == 2000 and z.sum().item() == 0


def test_races_are_found(monkeypatch):
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync")
    with machine(devices=1, races="error"):
        side = torch.cuda.Stream()
        x = ones(1000)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x * 2
        del x  # without record_stream
        with pytest.raises(RaceError):
            torch.zeros(1000, device="cuda")
        assert y.numel() == 1000


def test_peers_and_the_limit(pooled):
    x = ones(1000).to("cuda:1")
    assert x.sum().item() == 1000
    torch.cuda.set_per_process_memory_fraction(0.25)
    with pytest.raises(OutOfMemoryError) as caught:
        ones(20 * MIB)
    assert "80.00 MiB" in str(caught.value) and "the limit is the cause" in caught.value.hint
    torch.cuda.set_per_process_memory_fraction(1.0)
    assert ones(20 * MIB)[-1].item() == 1


def test_what_it_has_not_is_refused(pooled):
    graph = torch.cuda.CUDAGraph()
    calls = {
        "memory_snapshot": torch.cuda.memory_snapshot,
        "_record_memory_history": torch.cuda.memory._record_memory_history,
        "capture_begin": graph.capture_begin,
        "MemPool": lambda: torch.cuda.use_mem_pool(torch.cuda.MemPool()).__enter__(),
    }
    for name, call in calls.items():
        with torch.cuda.stream(torch.cuda.Stream()), pytest.raises(NotSupportedError) as caught:
            call()
        assert name in str(caught.value) and "cudaMallocAsync" in str(caught.value)
    assert ones(4).tolist() == [1] * 4 and not torch.cuda.is_current_stream_capturing()


def test_the_backend_is_fixed_when_the_program_starts(gpus):
    with pytest.raises(ConfigError) as caught:
        torch.cuda.memory._set_allocator_settings("backend:cudaMallocAsync")
    assert "native" in str(caught.value) and "cudaMallocAsync" in str(caught.value)
    torch.cuda.memory._set_allocator_settings("backend:native,max_split_size_mb:64")
    assert torch.cuda.memory_stats()["max_split_size"] == 64 * MIB
    with pytest.raises(ConfigError, match="'jemalloc' is not a backend"):
        torch.cuda.memory._set_allocator_settings("backend:jemalloc")


# pluggable allocators
def library():
    return torch.cuda.memory.CUDAPluggableAllocator("libc.so.6", "malloc", "free")


def test_virtual_gpus_have_no_pluggable_allocator(new_gpus):
    with pytest.raises(NotSupportedError) as caught:
        torch.cuda.MemPool(allocator=library().allocator())
    assert "MemPool" in str(caught.value) and "virtual" in str(caught.value)


def test_an_allocator_is_changed_before_the_start():
    former = thread.swap_machine(Machine(Gpus("nvidia")))
    try:
        allocator = library()
        torch.cuda.memory.change_current_allocator(allocator)
        assert torch.cuda.get_allocator_backend() == "pluggable"
        assert thread.machine().allocator_functions is allocator.allocator()
        assert torch.cuda.MemPool(allocator=allocator).allocator is allocator.allocator()
        thread.swap_machine(Machine(Gpus("virtual", 1)))
        with pytest.raises(NotSupportedError, match="virtual GPUs"):
            torch.cuda.memory.change_current_allocator(allocator)
    finally:
        thread.swap_machine(former)


def test_an_allocator_is_not_changed_after_the_start(gpus):
    with pytest.raises(NotSupportedError, match="already initialized") as caught:
        torch.cuda.memory.change_current_allocator(library())
    assert "before the first use" in caught.value.hint
    with pytest.raises(ArgumentTypeError) as caught:
        torch.cuda.memory.change_current_allocator(3)
    assert "change_current_allocator" in str(caught.value) and "3" in str(caught.value)

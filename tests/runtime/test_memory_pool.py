"""MemPool, use_mem_pool, and allocator settings at run time."""

import gc
import threading

import pytest

import flambeau as torch
from flambeau.config import parse_gpus
from flambeau.core import thread
from flambeau.errors import AcceleratorError, ArgumentTypeError, ConfigError, DeviceIndexError, OutOfMemoryError
from flambeau.runtime.machine import Machine

MIB = 1 << 20


def pools():
    return {segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()}


def empty(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def test_a_thread_allocates_from_its_pool(gpus):
    torch.cuda.empty_cache()  # segments of former pools stay until then
    pool = torch.cuda.MemPool()
    outside = empty(1)
    with torch.cuda.use_mem_pool(pool):
        inside = empty(1)
    after = empty(1)
    (segment,) = pool.snapshot()
    assert [block["address"] for block in segment["blocks"] if block["state"] != "inactive"] == [inside.data_ptr()]
    assert pools() == {(0, 0), pool.id}
    assert outside.data_ptr() != after.data_ptr()


def test_freed_blocks_return_to_the_pool_and_serve_it_only(gpus):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = empty(30)
    address = x.data_ptr()
    del x
    y = empty(30)
    assert y.data_ptr() != address
    with torch.cuda.use_mem_pool(pool):
        z = empty(30)
    assert z.data_ptr() == address


def test_pools_nest_and_end_after_an_error(gpus):
    first, second = torch.cuda.MemPool(), torch.cuda.MemPool()
    with pytest.raises(ZeroDivisionError), torch.cuda.use_mem_pool(first), torch.cuda.use_mem_pool(second):
        inner = empty(1)
        raise ZeroDivisionError
    with torch.cuda.use_mem_pool(first), torch.cuda.use_mem_pool(second):
        pass
    with torch.cuda.use_mem_pool(first):
        outer = empty(1)
    assert len(second.snapshot()) == len(first.snapshot()) == 1
    assert empty(1).numel() == inner.numel() == outer.numel()
    assert thread.machine().devices[0].allocator._routes is None


def test_other_threads_use_the_shared_pool(gpus):
    pool = torch.cuda.MemPool()
    made = []
    with torch.cuda.use_mem_pool(pool):
        other = threading.Thread(target=lambda: made.append(empty(1)))
        other.start()
        other.join()
    assert pool.snapshot() == [] and len(made) == 1


@pytest.mark.devices(2)
def test_a_pool_is_used_on_one_device(gpus):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool, 1):
        here, there = empty(1), torch.empty(MIB, device="cuda:1")
    assert [segment["device"] for segment in pool.snapshot()] == [1]
    assert here.device.index == 0 and there.device.index == 1


def test_uses_are_counted(gpus):
    pool = torch.cuda.MemPool()
    assert pool.use_count() == 1
    with torch.cuda.use_mem_pool(pool):
        assert pool.use_count() == 2
        with torch.cuda.use_mem_pool(pool):
            assert pool.use_count() == 3
    assert pool.use_count() == 1


def test_memory_goes_back_after_the_pool_and_its_tensors(gpus):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x, y = empty(30), empty(40)
    del y
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 70 * MIB  # the pool lives
    del pool
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 30 * MIB  # a tensor lives
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0


def test_inside_a_pool_empty_cache_does_nothing(gpus):
    x = empty(30)
    del x
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() == 30 * MIB
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0


def test_no_split_gives_each_request_a_whole_segment(gpus):
    pool = torch.cuda.MemPool(no_split=True)
    with torch.cuda.use_mem_pool(pool):
        x, y = empty(2), empty(2)
    assert [len(segment["blocks"]) for segment in pool.snapshot()] == [1, 1]
    assert x.numel() == y.numel()


@pytest.mark.parametrize("use_on_oom", [False, True])
def test_a_pool_serves_requests_that_find_no_other_memory(gpus, use_on_oom):
    pool = torch.cuda.MemPool(use_on_oom=use_on_oom)
    with torch.cuda.use_mem_pool(pool):
        x = empty(40)
    del x
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(50 * MIB / total)
    try:
        if use_on_oom:
            assert empty(20).numel() == 20 * MIB
        else:
            with pytest.raises(OutOfMemoryError):
                empty(20)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_a_graph_may_share_the_pool(gpus):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool.id):
        y = x + 1
    assert pool.use_count() == 2
    graph.replay()
    assert y.tolist() == [2.0] * 4 and len(pool.snapshot()) == 2


def test_wrong_arguments_are_errors(gpus):
    with pytest.raises(ArgumentTypeError) as caught:
        torch.cuda.MemPool(allocator=3)
    assert "MemPool" in str(caught.value) and "3" in str(caught.value)
    with pytest.raises(ArgumentTypeError) as caught, torch.cuda.use_mem_pool((0, 1)):
        pass
    assert "use_mem_pool" in str(caught.value) and "(0, 1)" in str(caught.value)
    with pytest.raises(DeviceIndexError):
        torch.cuda.MemPool().hold(9)
    for wrong in (3, "ab\0", (1,)):
        with pytest.raises(ArgumentTypeError, match="^memory_snapshot: .* is not the id of a pool\nhint: "):
            torch.cuda.memory_snapshot(wrong)
    for arguments in ((3, "malloc", "free"), ("libc.so.6", 3, "free"), ("libc.so.6", "malloc", 3)):
        with pytest.raises(ArgumentTypeError) as caught:
            torch.cuda.CUDAPluggableAllocator(*arguments)
        assert "CUDAPluggableAllocator" in str(caught.value) and "got 3" in str(caught.value)


def test_settings_change_at_run_time_and_omitted_ones_return(gpus):
    x = torch.empty(1200, dtype=torch.uint8, device="cuda")
    torch.cuda.memory._set_allocator_settings("roundup_power2_divisions:4,max_split_size_mb:64")
    before = torch.cuda.memory_allocated()
    y = torch.empty(5000, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before == 5120
    found = torch.cuda.memory._snapshot()["allocator_settings"]
    assert found["max_split_size"] == 64 * MIB
    assert found["PYTORCH_CUDA_ALLOC_CONF"] == "roundup_power2_divisions:4,max_split_size_mb:64"
    torch.cuda.memory._set_allocator_settings("")
    assert torch.cuda.memory_stats()["max_split_size"] == -1
    assert x.numel() + y.numel() == 6200


def test_wrong_settings_change_nothing(gpus):
    torch.cuda.memory._set_allocator_settings("max_split_size_mb:64")
    with pytest.raises(ConfigError) as caught:
        torch.cuda.memory._set_allocator_settings("max_split_size_mb:2")
    assert "_set_allocator_settings" in str(caught.value) and "20 MiB" in str(caught.value)
    assert torch.cuda.memory_stats()["max_split_size"] == 64 * MIB


def test_settings_before_the_start_wait_for_it():
    made = Machine(parse_gpus("virtual:1"))
    former = thread.swap_machine(made)
    try:
        torch.cuda.memory._set_allocator_settings("max_split_size_mb:64")
        assert not torch.cuda.is_initialized()
        assert empty(1).numel() == MIB and torch.cuda.memory_stats()["max_split_size"] == 64 * MIB
    finally:
        thread.swap_machine(former)


def test_pinned_memory_may_be_registered(gpus):
    torch.cuda.memory._set_allocator_settings("pinned_use_cuda_host_register:True")
    x = torch.arange(5000).pin_memory()
    y = x.to("cuda", non_blocking=True) + 1
    assert x.is_pinned() and y.sum().item() == 12_502_500
    del x, y
    torch.cuda.synchronize()
    torch.cuda.empty_host_cache()
    stats = torch.cuda.host_memory_stats()
    assert stats["num_host_alloc"] == stats["num_host_free"] > 0 and stats["allocated_bytes.current"] == 0


@pytest.mark.parametrize("settings", ["", "expandable_segments:True"])
def test_tensors_outlive_their_pool(gpus, settings):
    torch.cuda.memory._set_allocator_settings(settings)
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        x, y = torch.ones(MIB, device="cuda"), torch.ones(MIB, device="cuda")
        address = y.data_ptr()
        pool_id = pool.id
        del pool
        gc.collect()
        del y
        z = torch.zeros(MIB, device="cuda")  # the context keeps the pool
        assert z.data_ptr() == address
    del z
    w = torch.full((MIB,), 7, device="cuda")  # no longer from the pool
    assert w.data_ptr() != address and x.sum().item() == MIB
    torch.cuda.empty_cache()
    held = [segment for segment in torch.cuda.memory_snapshot() if segment["segment_pool_id"] == pool_id]
    assert sum(segment["active_size"] for segment in held) == 4 * MIB
    del x
    torch.cuda.empty_cache()
    assert pool_id not in pools() and w.sum().item() == 7 * MIB


def test_foreign_and_double_frees_are_errors(gpus):
    address = torch.cuda.caching_allocator_alloc(1000)
    x = torch.ones(1000, device="cuda")
    wrong = [address + 512, x.data_ptr(), torch.ones(3).data_ptr(), 12_345]
    for each in wrong:
        with pytest.raises(AcceleratorError, match=hex(each)):
            torch.cuda.caching_allocator_delete(each)
    torch.cuda.caching_allocator_delete(address)
    before = torch.cuda.memory_stats()
    with pytest.raises(AcceleratorError, match=hex(address)):
        torch.cuda.caching_allocator_delete(address)
    assert torch.cuda.memory_stats() == before and x.sum().item() == 1000

"""The figures of torch.cuda.memory_*: names, units and resets.  Rows 1.8.*"""

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.testing import machine


@pytest.fixture(autouse=True)
def made():
    with machine(devices=2, memory="1GiB") as each:
        yield each


def test_allocated_and_reserved_bytes_and_their_peaks():
    x = torch.empty(1000, device="cuda")
    y = torch.empty(300_000, device="cuda")
    assert torch.cuda.memory_allocated() == 4096 + 1_200_128
    assert torch.cuda.memory_reserved() == torch.cuda.memory_cached() == (2 << 20) + (20 << 20)
    del y
    assert torch.cuda.memory_allocated() == 4096 and torch.cuda.max_memory_allocated() == 4096 + 1_200_128
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == 4096
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 2 << 20 and torch.cuda.max_memory_cached() == 22 << 20
    assert x.numel() == 1000


def test_each_device_has_its_own_figures():
    kept = torch.empty(1, device="cuda:1")
    assert (torch.cuda.memory_allocated(0), torch.cuda.memory_allocated("cuda:1")) == (0, 512)
    with torch.cuda.device(1):
        assert torch.cuda.memory_allocated() == kept.numel() * 512


def test_a_device_that_is_not_there():
    with pytest.raises(errors.DeviceIndexError, match="cuda:2: there is no such device, this machine has 2"):
        torch.cuda.memory_allocated(2)


def test_memory_stats_has_the_names_of_pytorch():
    stats = torch.cuda.memory_stats()
    kinds = ("allocation", "segment", "active", "inactive_split")
    amounts = ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes")
    pools, figures = ("all", "small_pool", "large_pool"), ("current", "peak", "allocated", "freed")
    assert {f"{kind}.{pool}.{figure}" for kind in kinds + amounts for pool in pools for figure in figures} <= set(stats)
    assert {"num_alloc_retries", "num_ooms", "num_sync_all_streams", "max_split_size"} <= set(stats)


def test_accumulated_figures_start_over():
    torch.empty(10, device="cuda")
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == 1
    torch.cuda.reset_accumulated_memory_stats()
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == 0


def test_the_summary_has_a_line_per_figure():
    kept = torch.empty(10, device="cuda")
    lines = torch.cuda.memory_summary().splitlines()
    assert any(line.startswith("Allocated memory") and "512 B" in line for line in lines) and kept.is_cuda
    assert len(torch.cuda.memory_summary(abbreviated=True).splitlines()) < len(lines)


def test_the_snapshot_tiles_every_segment():
    kept = torch.empty(10, device="cuda")
    (segment,) = torch.cuda.memory_snapshot()
    assert segment["total_size"] == sum(block["size"] for block in segment["blocks"]) == 2 << 20
    assert [block["state"] for block in segment["blocks"]] == ["active_allocated", "inactive"] and kept.is_cuda


def test_a_fraction_limits_the_process():
    torch.cuda.set_per_process_memory_fraction(0.01)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.empty(20 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.get_per_process_memory_fraction() == 0.01
    torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.empty(20 << 20, dtype=torch.uint8, device="cuda").is_cuda
    with pytest.raises(errors.ArgumentError, match="^set_per_process_memory_fraction: .* between 0 and 1, got 1.5"):
        torch.cuda.set_per_process_memory_fraction(1.5)


def test_raw_blocks_for_other_libraries():
    address = torch.cuda.caching_allocator_alloc(1000)
    assert torch.cuda.memory_allocated() == 1024
    torch.cuda.caching_allocator_delete(address)
    assert torch.cuda.memory_allocated() == 0
    with pytest.raises(errors.AcceleratorError, match="caching_allocator_delete: invalid device pointer.*\nhint: "):
        torch.cuda.caching_allocator_delete(address)
    with pytest.raises(errors.ArgumentTypeError, match="^caching_allocator_delete: .* an int, got 'a'\nhint: "):
        torch.cuda.caching_allocator_delete("a")
    with pytest.raises(errors.ArgumentTypeError, match="skip_actions must be a list of str, got 3\nhint: "):
        torch.cuda.memory._record_memory_history(skip_actions=3)
    with pytest.raises(errors.ArgumentError, match="size must not be negative, got -1\nhint: "):
        torch.cuda.caching_allocator_alloc(-1)
    with pytest.raises(errors.ArgumentTypeError, match="size must be an int, got 'a'\nhint: "):
        torch.cuda.caching_allocator_alloc("a")
    for call, what in (
        (lambda: torch.cuda.caching_allocator_alloc(True), "size must be an int, got True"),
        (lambda: torch.cuda.caching_allocator_alloc(512, stream=True), "expected a Stream or a number, got True"),
        (lambda: torch.cuda.caching_allocator_delete(True), "the address must be an int, got True"),
    ):
        with pytest.raises(errors.ArgumentTypeError, match=f"^caching_allocator_.*: {what}\nhint: "):
            call()
    with pytest.raises(errors.ArgumentTypeError, match="expected a str, got 3\nhint: "):
        torch.cuda.memory._set_allocator_settings(3)


def test_raw_blocks_start_cuda():
    for stream in (None, 0):
        torch.virtual.reset()  # the new devices have not started
        assert torch.cuda.caching_allocator_alloc(100, stream=stream) > 0 and torch.cuda.memory_allocated() == 512
    torch.virtual.reset()
    with pytest.raises(errors.AcceleratorError, match="caching_allocator_delete: invalid device pointer: 0x7b"):
        torch.cuda.caching_allocator_delete(123)


def test_a_snapshot_of_one_pool(gpus):
    pool = torch.cuda.graph_pool_handle()
    graph, x = torch.cuda.CUDAGraph(), torch.zeros(1 << 20, device="cuda")
    with torch.cuda.graph(graph, pool=pool):
        made = x + 1
    whole, private = torch.cuda.memory_snapshot(), torch.cuda.memory_snapshot(mempool_id=graph.pool())
    assert private and {segment["segment_pool_id"] for segment in private} == {graph.pool()}
    assert len(whole) > len(private) and made.shape == x.shape
    assert torch.cuda.memory_snapshot(None, False) == whole


def fail_in_a_kernel():
    """Lose the current device, as a failed assertion of a kernel does."""
    picked = torch.ones(3, device="cuda")[torch.tensor([7], device="cuda")]
    with pytest.raises(torch.AcceleratorError):
        picked.tolist()


def test_figures_of_memory_are_there_after_a_device_is_lost():
    kept = torch.zeros(1 << 20, device="cuda")
    side = torch.cuda.Stream()
    recorded = torch.zeros(1 << 20, device="cuda")
    before = torch.cuda.memory_allocated()
    recorded.record_stream(side)
    fail_in_a_kernel()
    with pytest.raises(torch.AcceleratorError):
        kept.sum()
    assert before <= torch.cuda.memory_allocated() <= torch.cuda.max_memory_allocated() <= torch.cuda.memory_reserved()
    assert torch.cuda.memory_stats()["num_ooms"] == 0 and "Allocated memory" in torch.cuda.memory_summary()
    assert torch.accelerator.memory_allocated() == torch.cuda.memory_allocated()
    assert sum(block["size"] for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]) > 0
    held = torch.cuda.memory_allocated()
    del kept
    assert torch.cuda.memory_allocated() == held - (4 << 20), "what is dropped is counted out"
    del recorded
    assert torch.cuda.memory_allocated() > 0
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()

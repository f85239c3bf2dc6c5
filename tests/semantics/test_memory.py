"""1.8 The caching allocator: sizes, segments, reuse, figures, limits, and what happens when there is no more."""

import pytest

MIB = 1 << 20
KEYS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
        "inactive_split_bytes", "requested_bytes")  # fmt: skip
POOLS = ("all", "small_pool", "large_pool")
FLOWS = ("current", "peak", "allocated", "freed")
COUNTERS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free")
ALLOCATED, RESERVED = "allocated_bytes.all.current", "reserved_bytes.all.current"


@pytest.mark.rule("1.8.1", since="1.0")
@pytest.mark.parametrize(
    ("nbytes", "block"), [(0, 0), (1, 512), (512, 512), (513, 1024), (12 * MIB + 1, 12 * MIB + 512)]
)
def test_sizes_are_rounded_up_to_512_bytes(torch, take, nbytes, block, growth):
    made, (grown,) = growth(lambda: take(nbytes), ALLOCATED)
    assert grown == block and made.numel() == nbytes


@pytest.mark.rule("1.8.1", since="1.0")
def test_no_bytes_have_no_address(torch, take):
    assert take(0).data_ptr() == 0


@pytest.mark.rule("1.8.1", since="2.0")
def test_requested_bytes_are_not_rounded(torch, take, growth):
    made, grown = growth(lambda: take(1000), "requested_bytes.all.current", ALLOCATED)
    assert grown == [1000, 1024] and made is not None


@pytest.mark.rule("1.8.1", since="1.13")
@pytest.mark.parametrize(
    ("divisions", "block"), [("1", 4_400_128), ("2", 6 * MIB), ("4", 5 * MIB), ("8", 9 * MIB // 2)]
)
def test_sizes_may_be_rounded_to_steps_between_powers_of_two(program, divisions, block):
    found = program(
        "x = torch.empty(4_400_000, dtype=torch.uint8, device='cuda')\nanswer(torch.cuda.memory_allocated())",
        PYTORCH_CUDA_ALLOC_CONF=f"roundup_power2_divisions:{divisions}",
    )
    assert found == [block]


@pytest.mark.rule("1.8.2", since="1.0")
@pytest.mark.parametrize(
    ("nbytes", "segment"),
    [(1, 2 * MIB), (MIB, 2 * MIB), (MIB + 512, 20 * MIB), (10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB),
     (10 * MIB + 512, 12 * MIB), (12 * MIB, 12 * MIB), (33 * MIB + 1, 34 * MIB)],
)  # fmt: skip
def test_the_size_of_a_segment(torch, take, nbytes, segment, growth):
    made, (grown,) = growth(lambda: take(nbytes), RESERVED)
    assert grown == segment and made is not None


@pytest.mark.rule("1.8.2", since="1.0")
def test_two_small_blocks_share_a_segment_and_a_third_makes_a_second(torch, take, growth):
    (one, two), (first,) = growth(lambda: (take(MIB), take(MIB)), RESERVED)
    three, (second,) = growth(lambda: take(MIB), RESERVED)
    assert (first, second) == (2 * MIB, 2 * MIB) and two.data_ptr() == one.data_ptr() + MIB and three is not None


@pytest.mark.rule("1.8.2", since="1.0")
def test_small_and_large_pools_are_counted_apart(torch, take, growth):
    figures = [f"{kind}.{pool}.current" for kind in ("allocated_bytes", "segment") for pool in POOLS[1:]]
    made, grown = growth(lambda: (take(MIB), take(2 * MIB)), *figures)
    assert grown == [MIB, 2 * MIB, 1, 1] and made


@pytest.mark.rule("1.8.3", since="1.0")
def test_the_smallest_block_that_is_big_enough_is_taken(torch, take):
    sizes = (12 * MIB, 14 * MIB, 20 * MIB)
    addresses = [each.data_ptr() for each in [take(nbytes) for nbytes in sizes]]
    fitting = take(13 * MIB)
    exact = take(12 * MIB)
    assert [exact.data_ptr(), fitting.data_ptr()] == addresses[:2]
    assert take(15 * MIB).data_ptr() == addresses[2]


@pytest.mark.rule("1.8.4", since="1.0")
def test_a_small_block_is_split_down_to_512_bytes(torch, take):
    one, two, three = take(MIB), take(1000), take(512)
    assert two.data_ptr() - one.data_ptr() == MIB and three.data_ptr() - two.data_ptr() == 1024


@pytest.mark.rule("1.8.4", since="1.0")
def test_a_large_block_is_split_if_more_than_a_mebibyte_is_left(torch, take, growth):
    address = take(16 * MIB).data_ptr()
    front, (grown,) = growth(lambda: take(12 * MIB), ALLOCATED)
    assert grown == 12 * MIB and front.data_ptr() == address
    assert take(4 * MIB).data_ptr() == address + 12 * MIB
    del front
    whole, (grown,) = growth(lambda: take(15 * MIB), ALLOCATED)
    assert grown == 16 * MIB and whole.data_ptr() == address


@pytest.mark.rule("1.8.5", since="1.0")
def test_a_freed_block_is_used_again_at_once(torch, take, growth):
    address = take(5 * MIB).data_ptr()
    again, (reserved,) = growth(lambda: take(5 * MIB), RESERVED)
    assert again.data_ptr() == address and reserved == 0


@pytest.mark.rule("1.8.5", since="1.0")
def test_freed_neighbours_merge(torch, take):
    blocks = [take(6 * MIB) for _ in range(3)]
    address = blocks[0].data_ptr()
    assert [each.data_ptr() - address for each in blocks] == [0, 6 * MIB, 12 * MIB]
    del blocks[:2]
    assert take(9 * MIB).data_ptr() == address


@pytest.mark.rule("1.8.5", since="1.0")
def test_a_free_waits_for_nothing(torch, take, latch):
    x = take(5 * MIB)
    latch()
    del x
    assert not torch.cuda.current_stream().query()


@pytest.mark.rule("1.8.6", since="1.0")
def test_a_block_serves_one_stream_until_its_segment_goes_back(torch, take, growth):
    address = take(14 * MIB).data_ptr()
    with torch.cuda.stream(torch.cuda.Stream()):
        other, (grown,) = growth(lambda: take(14 * MIB), RESERVED)
        assert other.data_ptr() != address and grown == 14 * MIB
    del other
    torch.cuda.empty_cache()
    with torch.cuda.stream(torch.cuda.Stream()):
        assert growth(lambda: take(14 * MIB), RESERVED)[1] == [14 * MIB]


@pytest.mark.rule("1.8.24", since="1.4")
def test_current_and_peak_figures(torch, take):
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    x = take(3 * MIB)
    assert torch.cuda.memory_allocated() == torch.cuda.memory_allocated("cuda:0") == start + 3 * MIB
    del x
    assert torch.cuda.memory_allocated() == start and torch.cuda.max_memory_allocated() == start + 3 * MIB
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == start
    assert torch.cuda.max_memory_reserved() == torch.cuda.memory_reserved() >= start + 3 * MIB


@pytest.mark.rule("1.8.24", since="1.4")
def test_accumulated_figures_start_again(torch, take):
    take(3 * MIB)
    torch.cuda.reset_accumulated_memory_stats()
    found = torch.cuda.memory_stats()
    assert found["allocation.all.allocated"] == found["allocation.all.freed"] == 0
    take(3 * MIB)
    assert torch.cuda.memory_stats()["allocated_bytes.all.freed"] == 3 * MIB


@pytest.mark.rule("1.8.24", since="1.11")
def test_the_drivers_view(torch, take):
    def taken():
        torch.cuda.empty_cache()
        before, held = torch.cuda.mem_get_info(), take(256 * MIB)
        after = torch.cuda.mem_get_info(0)
        assert held is not None and after[1] == before[1] and 0 < before[0] <= before[1]
        return before[0] - after[0]

    # another process on the GPU may give as much back meanwhile
    assert any(taken() >= 256 * MIB for _ in range(5))


@pytest.mark.rule("1.8.24", since="1.4")
def test_before_the_start_everything_is_zero(program):
    found = program("""
torch.cuda.empty_cache()
answer([torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.max_memory_allocated(),
        len(torch.cuda.memory_stats()), torch.cuda.is_initialized()])
""")
    assert found == [[0, 0, 0, 0, False]]


@pytest.mark.rule("1.8.24", since="1.0")
def test_a_summary_for_people(torch, take):
    held = take(2 * MIB)
    full, short = torch.cuda.memory_summary(), torch.cuda.memory_summary(abbreviated=True)
    assert "Allocated memory" in full and "Peak Usage" in full and len(short) < len(full) and held is not None


@pytest.mark.rule("1.8.25", since="2.0")
def test_the_statistics_have_these_keys(torch, take):
    found = torch.cuda.memory_stats()
    wanted = {f"{key}.{pool}.{flow}" for key in KEYS for pool in POOLS for flow in FLOWS}
    assert wanted - set(found) == set()
    assert {"oversize_allocations.current", "oversize_segments.peak"} - set(found) == set()


@pytest.mark.rule("1.8.25", since="2.6")
def test_the_statistics_have_these_counters(torch):
    assert set(COUNTERS) - set(torch.cuda.memory_stats()) == set()


@pytest.mark.rule("1.8.25", since="1.4")
def test_active_is_allocated_and_waiting_to_be_free(torch, take, latch, growth):
    s = torch.cuda.Stream()
    before = torch.cuda.memory_stats()
    x = take(5 * MIB)
    held = latch(s)
    x.record_stream(s)
    del x
    after = torch.cuda.memory_stats()
    grown = [after[key] - before[key] for key in (ALLOCATED, "active_bytes.all.current", "active.all.current")]
    assert grown == [0, 5 * MIB, 1]
    held.open()
    s.synchronize()
    kept, (active,) = growth(lambda: take(512), "active_bytes.all.current")
    assert active == 512 - 5 * MIB and kept is not None


@pytest.mark.rule("1.8.25", since="2.6")
def test_empty_cache_counts_as_one_wait_for_all_streams(torch, growth):
    assert growth(torch.cuda.empty_cache, "num_sync_all_streams")[1] == [1]


@pytest.mark.rule("1.8.26", since="2.0")
def test_sums_over_the_snapshot_equal_the_statistics(torch, take, latch):
    s = torch.cuda.Stream()
    kept = [take(nbytes) for nbytes in (1, 700, MIB, 3 * MIB, 6 * MIB, 15 * MIB)]
    kept[3].record_stream(s)
    latch(s)
    del kept[1], kept[2]
    found = torch.cuda.memory_stats()
    expected = dict.fromkeys([f"{key}.{pool}.current" for key in KEYS for pool in POOLS], 0)
    for segment in torch.cuda.memory_snapshot():
        if segment["device"] == 0:
            count(segment, expected)
    assert {key: found[key] for key in expected} == expected


def count(segment, into):
    """Add a segment and its blocks to the figures they belong to."""

    def add(key, amount):
        for pool in ("all", f"{segment['segment_type']}_pool"):
            into[f"{key}.{pool}.current"] += amount

    add("segment", 1)
    add("reserved_bytes", segment["total_size"])
    requested = 0
    for block in segment["blocks"]:
        if block["state"] == "inactive":
            is_split = block["size"] < segment["total_size"]
            add("inactive_split", int(is_split))
            add("inactive_split_bytes", block["size"] * is_split)
            continue
        add("active", 1)
        add("active_bytes", block["size"])
        add("requested_bytes", block["requested_size"])
        requested += block["requested_size"]
        if block["state"] == "active_allocated":
            add("allocation", 1)
            add("allocated_bytes", block["size"])
    assert requested == segment["requested_size"]


@pytest.mark.rule("1.8.27", since="1.0")
def test_empty_cache_hands_back_idle_segments_and_keeps_the_rest(torch, take, growth):
    kept = take(12 * MIB)
    half = [take(6 * MIB) for _ in range(2)]
    del half[0]
    take(30 * MIB)
    _, (grown,) = growth(torch.cuda.empty_cache, RESERVED)
    assert grown == -30 * MIB and kept.fill_(2)[7].item() == 2


@pytest.mark.rule("1.8.27", since="1.0")
@pytest.mark.devices(2)
def test_empty_cache_is_for_every_device(torch):
    for index in range(2):
        torch.empty(30 * MIB, dtype=torch.uint8, device=f"cuda:{index}")
    before = [torch.cuda.memory_reserved(index) for index in range(2)]
    torch.cuda.empty_cache()
    assert [was - torch.cuda.memory_reserved(index) >= 30 * MIB for index, was in enumerate(before)] == [True, True]


@pytest.mark.rule("1.8.28", since="1.11")
def test_a_snapshot_shows_every_segment_and_block(torch, take):
    held = take(3 * MIB)
    (segment,) = [
        each
        for each in torch.cuda.memory_snapshot()
        if any(block["size"] == 3 * MIB and block["state"] == "active_allocated" for block in each["blocks"])
        and each["address"] == held.data_ptr()
    ]
    assert (segment["device"], segment["total_size"], segment["segment_type"]) == (0, 20 * MIB, "large")
    assert segment["allocated_size"] == segment["active_size"] == 3 * MIB
    assert [(each["size"], each["state"]) for each in segment["blocks"]] == [
        (3 * MIB, "active_allocated"),
        (17 * MIB, "inactive"),
    ]


@pytest.mark.rule("1.8.30", since="1.0")
def test_other_libraries_take_and_give_back_addresses(torch, take, growth):
    address, (grown,) = growth(lambda: torch.cuda.caching_allocator_alloc(1000), ALLOCATED)
    assert grown == 1024 and address > 0
    assert growth(lambda: torch.cuda.caching_allocator_delete(address), ALLOCATED)[1] == [-1024]
    s = torch.cuda.Stream()
    for stream in (s, s.cuda_stream):
        torch.cuda.caching_allocator_delete(torch.cuda.caching_allocator_alloc(512, 0, stream))
    with pytest.raises(TypeError):
        torch.cuda.caching_allocator_alloc(512, 0, "stream")


@pytest.mark.rule("1.19.3", since="1.11")
def test_without_caching_what_was_freed_goes_back_to_the_driver(program):
    source = """  # other processes on the GPU take and free memory meanwhile, so most of five tries count
def taken():
    return before - torch.cuda.mem_get_info()[0] > 4 << 30
held, kept = 0, 0
small = torch.empty(1, device='cuda')
for _ in range(5):
    torch.cuda.empty_cache()
    before = torch.cuda.mem_get_info()[0]
    x = torch.empty(8 << 30, dtype=torch.uint8, device='cuda')
    held += taken()
    del x
    other = torch.empty(1, device='cuda')
    kept += taken()
answer([held > 2, kept > 2])
"""
    assert program(source, PYTORCH_NO_CUDA_MEMORY_CACHING="1") == [[True, False]]
    assert program(source) == [[True, True]]


EXPANDING = """
def take(mib):
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
def pages(pool):
    return torch.cuda.memory_stats()[f"reserved_bytes.{pool}.current"] >> 20
first, middle, last = take(20), take(60), take(20)  # whole pages of any size up to 20 MiB
seen = [pages("large_pool")]
del middle
torch.cuda.empty_cache()
seen.append(pages("large_pool"))
small = torch.empty(1, device="cuda")
seen += [pages("small_pool"), torch.cuda.memory_stats()["segment.all.current"]]
answer([*seen, *{each["is_expandable"] for each in torch.cuda.memory_snapshot()}])
"""


@pytest.mark.rule("1.8.17", since="2.1")
def test_expandable_segments_map_pages_and_unmap_them(program):
    found = program(EXPANDING, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert found == [[100, 40, 2, 0, True]]


POOLED = """
x = torch.ones(1000, device="cuda")
stats = torch.cuda.memory_stats()
try:
    torch.cuda.memory_snapshot()
except RuntimeError as refused:
    answer("cudaMallocAsync" in str(refused))
answer(torch.cuda.get_allocator_backend())
answer(stats["allocated_bytes.all.current"] >= 4000 and stats["reserved_bytes.all.current"] >= 4000)
answer(stats["segment.all.current"])
answer((x + 1).sum().item())
"""


@pytest.mark.rule("1.8.35", since="1.12")
def test_the_driver_may_cache(program):
    found = program(POOLED, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    assert found == [True, "cudaMallocAsync", True, 0, 2000]

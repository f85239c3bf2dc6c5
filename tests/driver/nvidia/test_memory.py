"""Memory at reserved addresses and of the driver's own pool, as calls of the CUDA driver."""

from types import SimpleNamespace

import pytest

from flambeau.errors import AcceleratorError, NotSupportedError, OutOfMemoryError

from .conftest import ATTRIBUTES, Code, FakeCuda, Names

PAGE = 2 << 20


@pytest.fixture
def cuda(monkeypatch):
    """A driver whose devices can map memory, and the structures that its calls take."""
    for feature in ("VIRTUAL_MEMORY_MANAGEMENT", "MEMORY_POOLS"):
        monkeypatch.setitem(ATTRIBUTES, f"CU_DEVICE_ATTRIBUTE_{feature}_SUPPORTED", 1)
    fake = FakeCuda()
    for name in ("CUmemAllocationType", "CUmemLocationType", "CUmemAccess_flags", "CUmemPool_attribute"):
        setattr(fake, name, Names())
    fake.cuuint64_t = int
    fake.CUmemAllocationProp = fake.CUmemAccessDesc = lambda: SimpleNamespace(location=SimpleNamespace())
    return fake


def reserved(cuda, driver, device=0):
    address = driver.mem_reserve(device, 8 * PAGE)
    cuda.calls.clear()
    return address


def access(call):
    """The devices that a call of cuMemSetAccess names."""
    assert {each.flags for each in call[2]} == {"CU_MEM_ACCESS_FLAGS_PROT_READWRITE"} and call[3] == len(call[2])
    return [each.location.id for each in call[2]]


def names(cuda):
    return [name for name, *_ in cuda.calls if name.startswith("cuMem") or name == "cuCtxSynchronize"]


def test_memory_is_created_mapped_released_and_made_accessible(cuda, driver):
    base = reserved(cuda, driver, 1)
    driver.mem_map(1, base, PAGE)
    assert names(cuda) == ["cuMemCreate", "cuMemMap", "cuMemRelease", "cuMemSetAccess"]
    ((nbytes, wanted, _),) = cuda.named("cuMemCreate")
    assert nbytes == PAGE and wanted.location.id == 1 and wanted.type == "CU_MEM_ALLOCATION_TYPE_PINNED"
    assert cuda.named("cuMemMap")[0][:3] == (base, PAGE, 0) and cuda.used["cuMemCreate"] == 0xC1
    assert [access(call) for call in cuda.named("cuMemSetAccess")] == [[1]]


def test_unmapping_waits_for_the_device(cuda, driver):
    base = reserved(cuda, driver)
    driver.mem_map(0, base, PAGE)
    cuda.calls.clear()
    driver.mem_unmap(0, base, PAGE)
    driver.mem_unreserve(0, base)
    assert names(cuda) == ["cuCtxSynchronize", "cuMemUnmap", "cuMemAddressFree"]
    assert cuda.named("cuMemAddressFree") == [(base, 8 * PAGE)]


def test_peers_may_access_what_is_mapped_before_and_after(cuda, driver):
    base = reserved(cuda, driver, 1)
    driver.mem_map(1, base, PAGE)
    driver.peer_enable(0, 1)
    driver.peer_enable(0, 1)
    driver.mem_map(1, base + PAGE, PAGE)
    other = driver.mem_reserve(0, PAGE)
    driver.mem_map(0, other, PAGE)
    assert [access(call) for call in cuda.named("cuMemSetAccess")] == [[1], [0], [1, 0], [0]]


@pytest.mark.parametrize(
    ("failing", "calls"),
    [
        ("cuMemCreate", ["cuMemCreate"]),
        ("cuMemMap", ["cuMemCreate", "cuMemMap", "cuMemRelease"]),
        ("cuMemSetAccess", ["cuMemCreate", "cuMemMap", "cuMemRelease", "cuMemSetAccess", "cuMemUnmap"]),
    ],
)
def test_a_failure_leaves_nothing_mapped(cuda, driver, failing, calls):
    base = reserved(cuda, driver)
    cuda.fails[failing] = Code.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(OutOfMemoryError) as caught:
        driver.mem_map(0, base, PAGE)
    assert failing in str(caught.value) and str(PAGE) in str(caught.value) and hex(base) in str(caught.value)
    assert names(cuda) == calls
    with pytest.raises(AcceleratorError):
        driver.mem_unmap(0, base, PAGE)


def test_wrong_sizes_and_addresses_are_refused_before_the_driver_is_asked(cuda, driver):
    base = reserved(cuda, driver)
    driver.mem_map(0, base, PAGE)
    cuda.calls.clear()
    for call in (
        lambda: driver.mem_unmap(0, base, 2 * PAGE),
        lambda: driver.mem_unmap(1, base, PAGE),
        lambda: driver.mem_unreserve(0, base + PAGE),
    ):
        with pytest.raises(AcceleratorError) as caught:
            call()
        assert hex(base)[:-6] in str(caught.value)
    assert names(cuda) == []


def test_a_device_that_cannot_map_says_so(cuda, driver, monkeypatch):
    monkeypatch.setitem(ATTRIBUTES, "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", 0)
    with pytest.raises(NotSupportedError) as caught:
        driver.mem_reserve(1, PAGE)
    assert "mem_reserve" in str(caught.value) and "device 1" in str(caught.value)
    assert "expandable_segments" in caught.value.hint


def test_the_pool_keeps_what_is_freed_and_allocates_on_a_stream(cuda, driver):
    stream = driver.stream_create(1, 0)
    raw = driver.stream_raw(stream)
    cuda.calls.clear()
    address = driver.pool_alloc(1, 1000, stream)
    driver.pool_alloc(1, 2000, stream)
    driver.pool_free(1, address, stream)
    assert cuda.named("cuMemPoolSetAttribute") == [(0x9001, "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD", 2**64 - 1)]
    assert cuda.named("cuMemAllocAsync") == [(1000, raw), (2000, raw)]
    assert cuda.named("cuMemFreeAsync") == [(address, raw)] and cuda.used["cuMemAllocAsync"] == 0xC1
    cuda.calls.clear()
    assert driver.pool_reserved(1) == 77 and driver.pool_reserved(0) == 0
    driver.pool_trim(0)
    driver.pool_trim(1)
    assert names(cuda) == ["cuMemPoolGetAttribute", "cuCtxSynchronize", "cuMemPoolTrimTo"]


def test_a_pool_that_is_too_small_keeps_nothing(cuda, driver):
    stream = driver.stream_create(1, 0)
    driver.pool_alloc(1, 8, stream)
    cuda.calls.clear()
    cuda.fails["cuMemAllocAsync"] = Code.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(OutOfMemoryError, match="cuMemAllocAsync.*1000"):
        driver.pool_alloc(1, 1000, stream)
    assert names(cuda) == ["cuMemAllocAsync", "cuMemPoolTrimTo"]


def test_peers_may_access_the_pool(cuda, driver):
    stream = driver.stream_create(1, 0)
    driver.pool_alloc(1, 8, stream)
    driver.peer_enable(0, 1)
    driver.peer_enable(1, 0)
    driver.pool_alloc(0, 8, driver.stream_create(0, 0))
    found = [(call[0], [each.location.id for each in call[1]]) for call in cuda.named("cuMemPoolSetAccess")]
    assert found == [(0x9001, [0]), (0x9000, [1])]


def test_a_device_without_pools_says_so(cuda, driver, monkeypatch):
    monkeypatch.setitem(ATTRIBUTES, "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED", 0)
    with pytest.raises(NotSupportedError) as caught:
        driver.pool_alloc(1, 8, driver.stream_create(1, 0))
    assert "device 1" in str(caught.value) and "cudaMallocAsync" in caught.value.hint

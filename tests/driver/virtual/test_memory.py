import numpy as np
import pytest

from flambeau import host
from flambeau.config import virtual_gpus
from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.memory import GRANULE
from flambeau.errors import AcceleratorError, AccessError, ConfigError, OutOfMemoryError

from .rig import ADD_ONE, SEGMENT, STRIDED_FILL


# addresses and segments
def test_devices_have_addresses_of_their_own(make_rig):
    first, second = make_rig(count=2).memory
    assert first != second and min(first, second) >= 2**48


def test_the_preset_has_the_memory_of_an_h200():
    assert VirtualDriver(virtual_gpus(1)).mem_info(0) == (150_754_820_096, 150_754_820_096)


def test_an_unknown_preset_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"preset='b300'.*\n.*h200"):
        VirtualDriver(virtual_gpus(1, preset="b300"))


def test_more_memory_than_there_are_addresses_is_an_error():
    with pytest.raises(ConfigError, match="bytes of memory"):
        VirtualDriver(virtual_gpus(1, memory="80000GiB"))


def test_segments_take_whole_granules_and_the_first_room():
    driver = VirtualDriver(virtual_gpus(1, memory=4 * GRANULE))
    one, two = driver.mem_alloc(0, 1), driver.mem_alloc(0, GRANULE + 1)
    assert two == one + GRANULE
    assert driver.mem_info(0) == (GRANULE, 4 * GRANULE)
    driver.mem_free(0, one)
    assert driver.mem_alloc(0, GRANULE) == one


def test_memory_that_does_not_fit_is_out_of_memory_and_changes_nothing():
    driver = VirtualDriver(virtual_gpus(1, memory=3 * GRANULE))
    kept = [driver.mem_alloc(0, GRANULE) for _ in range(3)]
    driver.mem_free(0, kept[0])
    driver.mem_free(0, kept[2])
    text = rf"{2 * GRANULE} bytes.*{2 * GRANULE} of {3 * GRANULE}.*largest free range has {GRANULE}"
    with pytest.raises(OutOfMemoryError, match=text):
        driver.mem_alloc(0, 2 * GRANULE)
    assert driver.mem_info(0)[0] == 2 * GRANULE
    driver.mem_free(0, kept[1])
    assert driver.mem_alloc(0, 3 * GRANULE) == kept[0]


def test_only_the_start_of_a_segment_can_be_freed(rig):
    for address in (rig.memory[0] + 512, 1):
        with pytest.raises(AcceleratorError, match="is not the start of an allocation"):
            rig.driver.mem_free(0, address)


def test_most_of_the_memory_of_a_device_can_be_had_and_costs_nothing():
    driver = VirtualDriver(virtual_gpus(1))
    address, stream = driver.mem_alloc(0, 140 << 30), driver.stream_adopt(0, 0)
    driver.fill(address + (139 << 30), 6, 16, stream)
    found = np.zeros(16, "uint8")
    driver.copy(host.address_of(found), address + (139 << 30), 16, CopyKind.DEVICE_TO_HOST, stream)
    assert (found == 6).all()


# poison
def test_fresh_memory_reads_as_poison(rig):
    address = rig.take(0, 64)
    assert rig.get_bytes(address, 16) == [255] * 16
    assert np.isnan(rig.get(address, 4)).all()


def test_a_block_taken_again_reads_as_poison(rig):
    address = rig.take(0, 64)
    rig.fill(address, 1, 64, rig.a)
    rig.give(address, 64)
    assert rig.get_bytes(rig.take(0, 32), 32) == [255] * 32


def test_a_segment_allocated_again_reads_as_poison(rig):
    rig.fill(rig.memory[0], 1, 64, rig.a)
    rig.driver.mem_free(0, rig.memory[0])
    assert rig.driver.mem_alloc(0, SEGMENT) == rig.memory[0]
    assert rig.get_bytes(rig.memory[0], 8) == [255] * 8


def test_only_written_bytes_stop_being_poison(rig):
    address = rig.take(0, 64)
    rig.fill(address + 2, 7, 3, rig.a)
    assert rig.get_bytes(address, 8) == [255, 255, 7, 7, 7, 255, 255, 255]


def test_a_strided_write_leaves_poison_between(rig):
    address = rig.take(0, 64)
    rig.launch(STRIDED_FILL, [address, ((3,), [(2,)]), 5.0], rig.a)
    found = rig.get(address, 6)
    assert found[::2].tolist() == [5.0] * 3 and np.isnan(found[1::2]).all()


def test_poison_costs_no_bytes_until_it_is_read(rig):
    space = rig.driver._engine.memory.devices[0].space
    rig.take(0, 64)
    rig.driver.device_synchronize(0)
    assert space.is_pending(rig.memory[0], rig.memory[0] + 64)
    assert space.bytes(rig.memory[0], rig.memory[0] + 64).tolist() == [0] * 64


# bounds and lifetime
def test_a_segment_is_one_block_until_a_block_is_taken(rig):
    rig.fill(rig.memory[0] + 1024, 1, 16, rig.a)
    rig.take(0, 512)
    with pytest.raises(AccessError, match="was freed"):
        rig.fill(rig.memory[0] + 1024, 1, 16, rig.a)


def test_an_access_beyond_the_end_names_how_far(rig):
    address = rig.take(0, 64)
    with pytest.raises(AccessError, match=rf"add_one: on device 0, bytes \[{address:#x}.*ends 8 bytes beyond"):
        rig.launch(ADD_ONE, [address, address, 18], rig.a)
    with pytest.raises(AccessError, match=r"fill: .*ends 1 bytes beyond"):
        rig.fill(address, 0, 65, rig.a)


def test_a_strided_access_counts_to_its_last_byte(rig):
    address = rig.take(0, 64)
    rig.launch(STRIDED_FILL, [address, ((4, 2), [(4, 3)]), 1.0], rig.a)
    with pytest.raises(AccessError, match="ends 4 bytes beyond"):
        rig.launch(STRIDED_FILL, [address, ((4, 2), [(4, 4)]), 1.0], rig.a)


def test_use_after_free_is_an_error_at_the_call(rig):
    address = rig.take(0, 64)
    rig.fill(address, 3, 64, rig.a)
    rig.give(address, 64)
    for call in (
        lambda: rig.launch(ADD_ONE, [address, address, 4], rig.a),
        lambda: rig.fill(address, 0, 4, rig.a),
        lambda: rig.get_bytes(address, 4),
    ):
        with pytest.raises(AccessError, match=r"on device 0.*was freed") as caught:
            call()
        assert caught.value.error_code == 700 and not caught.value.sticky
    assert rig.get_bytes(rig.take(512, 8), 1) == [255]


def test_use_after_mem_free_is_an_error(rig):
    rig.driver.mem_free(0, rig.memory[0])
    with pytest.raises(AccessError, match="was freed"):
        rig.fill(rig.memory[0], 0, 4, rig.a)


def test_an_address_of_nothing_is_an_error(rig):
    for address in (rig.memory[0] + SEGMENT, 4096):
        with pytest.raises(AccessError, match="is not an address of any block"):
            rig.fill(address, 0, 4, rig.a)


def test_an_address_of_another_device_is_an_error_until_peers_are_enabled(make_rig):
    rig = make_rig(count=2)
    with pytest.raises(AccessError, match="is an address of device 1"):
        rig.fill(rig.memory[1], 5, 4, rig.a)
    rig.driver.peer_enable(0, 1)
    rig.fill(rig.memory[1], 5, 4, rig.a)
    assert rig.get_bytes(rig.memory[1], 4) == [5] * 4


def test_a_misaligned_address_is_an_error(rig):
    with pytest.raises(AccessError, match="is not a multiple of 4"):
        rig.launch(ADD_ONE, [rig.memory[0] + 2, rig.memory[0], 1], rig.a)


def test_kernels_reach_pinned_memory(rig):
    address, found = rig.pinned(16)
    rig.launch(STRIDED_FILL, [address, ((4,), [(1,)]), 2.0], rig.a)
    rig.driver.stream_synchronize(rig.a)
    assert found.view("float32").tolist() == [2.0] * 4


def test_host_copies_check_both_sides(rig):
    address, _ = rig.pinned(16)
    with pytest.raises(AccessError, match=r"copy h2d: on the host.*ends 16 bytes beyond"):
        rig.driver.copy(rig.memory[0], address, 32, CopyKind.HOST_TO_DEVICE, rig.a)
    with pytest.raises(AccessError, match=r"copy h2d: on the host.*is not host memory"):
        rig.driver.copy(rig.memory[0], rig.memory[0], 32, CopyKind.HOST_TO_DEVICE, rig.a)
    with pytest.raises(AccessError, match="copy d2h: on device 0"):
        rig.driver.copy(address, 4096, 8, CopyKind.DEVICE_TO_HOST, rig.a)


def test_blocks_cannot_overlap_or_leave_their_segment(rig):
    rig.take(0, 64)
    with pytest.raises(AccessError, match="was not freed"):
        rig.take(32, 64)
    with pytest.raises(AccessError, match="are not within one allocation"):
        rig.take(SEGMENT - 32, 64)


def test_only_a_whole_live_block_can_be_given(rig):
    address = rig.take(0, 64)
    for low, nbytes in ((address, 32), (address + 8, 56)):
        with pytest.raises(AcceleratorError, match="has no live block"):
            rig.give(low, nbytes)
    rig.give(address, 64)
    with pytest.raises(AcceleratorError, match="has no live block"):
        rig.give(address, 64)


def test_pinned_memory_is_registered_once(rig):
    values = np.zeros(64, "uint8")
    where = host.address_of(values)
    rig.driver.host_register(where, 64)
    with pytest.raises(AcceleratorError, match="pinned already") as caught:
        rig.driver.host_register(where + 8, 8)
    assert caught.value.error_code == 712
    rig.driver.host_unregister(where)
    with pytest.raises(AcceleratorError, match="not the start of pinned"):
        rig.driver.host_unregister(where)

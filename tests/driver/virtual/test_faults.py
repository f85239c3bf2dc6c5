import pytest

from flambeau.driver.api import CopyKind
from flambeau.errors import AcceleratorError, OutOfMemoryError

from .rig import BUMP


def test_the_driver_says_that_it_has_faults(rig):
    assert rig.driver.capabilities.faults and rig.driver.capabilities.modelled_time


def test_one_allocation_fails(rig):
    rig.driver.faults.out_of_memory_at(2)
    free = rig.driver.mem_info(0)[0]
    first = rig.driver.mem_alloc(0, 64)
    with pytest.raises(OutOfMemoryError, match="64 bytes"):
        rig.driver.mem_alloc(0, 64)
    second = rig.driver.mem_alloc(0, 64)
    for address in (first, second):
        rig.driver.mem_free(0, address)
    assert rig.driver.mem_info(0)[0] == free


def test_one_launch_fails_when_it_runs(rig):
    rig.driver.faults.fail_launch_at(2)
    rig.put(rig.memory[0], [0.0], rig.a)
    for _ in range(3):
        rig.launch(BUMP, [rig.memory[0], 1], rig.a)
    with pytest.raises(AcceleratorError, match="bump: failed on device 0") as caught:
        rig.driver.stream_synchronize(rig.a)
    assert caught.value.sticky and caught.value.error_code == 719
    assert rig.ran() == ["copy h2d", "bump", "bump"]
    with pytest.raises(AcceleratorError):
        rig.launch(BUMP, [rig.memory[0], 1], rig.a)


def test_a_dropped_link_stops_copies_between_two_devices(make_rig):
    rig = make_rig(count=3)
    rig.driver.faults.drop_peer(1, 0)
    assert [rig.driver.peer_can(a, b) for a, b in ((0, 1), (1, 0), (0, 2), (0, 0))] == [False, False, True, False]
    with pytest.raises(AcceleratorError, match="cannot reach"):
        rig.driver.peer_enable(0, 1)
    with pytest.raises(AcceleratorError, match="no link from device 0 to device 1") as caught:
        rig.driver.copy(rig.memory[1], rig.memory[0], 4, CopyKind.PEER, rig.a)
    assert caught.value.error_code == 217 and not caught.value.sticky
    rig.fill(rig.memory[0], 3, 4, rig.a)
    rig.driver.copy(rig.memory[2], rig.memory[0], 4, CopyKind.PEER, rig.a)
    rig.driver.device_synchronize(0)

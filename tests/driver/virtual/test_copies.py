"""Copies of virtual GPUs: when pinned and pageable memory is read and written."""

import numpy as np

from flambeau import host
from flambeau.driver.api import CopyKind


# host memory
def test_a_host_read_before_the_copy_is_done_gives_the_old_bytes(rig):
    address, found = rig.pinned(4)
    found[:] = 9
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.driver.copy(address, rig.memory[0], 4, CopyKind.DEVICE_TO_HOST, rig.a)
    assert found.tolist() == [9] * 4
    rig.driver.stream_synchronize(rig.a)
    assert found.tolist() == [1] * 4


def test_a_pinned_source_is_read_when_the_copy_runs(rig):
    address, source = rig.pinned(4)
    source[:] = 1
    rig.driver.copy(rig.memory[0], address, 4, CopyKind.HOST_TO_DEVICE, rig.a)
    source[:] = 2
    assert rig.get_bytes(rig.memory[0], 4) == [2] * 4


def test_a_pageable_source_is_read_at_the_call(rig):
    source = np.full(4, 1, "uint8")
    rig.driver.copy(rig.memory[0], host.address_of(source), 4, CopyKind.HOST_TO_DEVICE, rig.a)
    source[:] = 2
    assert rig.ran() == []
    assert rig.get_bytes(rig.memory[0], 4) == [1] * 4


def test_a_copy_to_pageable_memory_waits_for_its_ancestors_only(rig):
    rig.fill(rig.memory[0] + 64, 7, 4, rig.b)
    rig.fill(rig.memory[0], 5, 4, rig.a)
    before = rig.driver.clock.now()
    assert rig.get_bytes(rig.memory[0], 4) == [5] * 4
    assert rig.ran() == ["fill", "copy d2h"]
    assert rig.driver.clock.now() > before

"""Virtual memory and events in several processes: the contract, and the checks of virtual GPUs."""

import pytest

from flambeau.config import virtual_gpus
from flambeau.driver.api import Driver
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.schedule import Delay
from flambeau.errors import AccessError, RaceError
from flambeau.testing.contract import IpcContract

from .rig import SLOW, Rig


class TestVirtual(IpcContract):
    gpus = "virtual:1"

    def make_driver(self) -> Driver:
        return VirtualDriver(virtual_gpus(1, races="real"), Delay(0))


def test_a_freed_allocation_at_the_same_place_has_another_handle():
    driver = VirtualDriver(virtual_gpus(1))
    first = driver.mem_alloc(0, 4096)
    handle = driver.ipc_export(0, first)
    driver.mem_free(0, first)
    again = driver.mem_alloc(0, 4096)
    assert again == first
    assert driver.ipc_export(0, again) != handle


def test_sharing_runs_its_own_stream_alone(rig: Rig):
    first, second = rig.take(0, 32), rig.take(4096, 32, rig.b)
    rig.fill(first, 1, 32, rig.a)
    rig.fill(second, 2, 32, rig.b)
    rig.driver.block_shared(0, first, 32, rig.a)
    assert rig.ran() == ["block_taken", "fill", "block_shared"]


def test_what_nothing_orders_before_the_sharing_is_poison(rig: Rig):
    block = rig.take(0, 32)
    rig.fill(block, 1, 32, rig.a)
    rig.wait(rig.b, rig.a)
    rig.fill(block + 16, 2, 16, rig.b)
    rig.driver.block_shared(0, block, 32, rig.a)
    assert rig.get_bytes(block, 32, rig.a)[:16] == [1] * 16
    rig.wait(rig.a, rig.b)
    assert rig.get_bytes(block, 32, rig.a) == [1] * 16 + [0xFF] * 16


def test_with_races_as_errors_the_sharing_names_both(make_rig):
    rig = make_rig("error")
    block = rig.take(0, 32)
    rig.wait(rig.b, rig.a)
    rig.fill(block, 2, 32, rig.b)
    with pytest.raises(RaceError, match="block_shared: reads bytes.*fill, which writes them"):
        rig.driver.block_shared(0, block, 32, rig.a)


def test_only_live_blocks_are_shared(rig: Rig):
    rig.take(0, 32)
    with pytest.raises(AccessError, match="block_shared"):
        rig.driver.block_shared(0, rig.memory[0] + 64, 32, rig.a)


def test_recording_an_interprocess_event_runs_its_stream(rig: Rig):
    block = rig.take(0, 32)
    rig.fill(block, 1, 32, rig.a)
    plain, shared = (rig.driver.event_create(0, False, False, each) for each in (False, True))
    rig.driver.event_record(plain, rig.a)
    assert rig.ran() == []
    before = rig.driver.clock.now()
    rig.driver.event_record(shared, rig.a)
    assert rig.ran() == ["block_taken", "fill"]
    assert rig.driver.clock.now() - before < 2_000  # nanoseconds: the record's cost, no wait


def test_an_interprocess_event_that_was_recorded_is_done_for_every_process(rig: Rig):
    """Its work has run, so another process may have seen it done already; modelled time is of one process."""
    plain, shared = (rig.driver.event_create(0, False, False, each) for each in (False, True))
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    rig.driver.event_record(plain, rig.a)
    assert not rig.driver.event_query(plain)
    rig.driver.event_record(shared, rig.a)
    assert rig.driver.event_query(shared)

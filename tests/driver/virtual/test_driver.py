"""The virtual driver: handles, adopted streams, kernels of other devices, threads, and failed devices."""

import threading

import pytest

from flambeau.dtypes import float32
from flambeau.errors import AcceleratorError, InternalError
from flambeau.kernel import Grid, Kernel, Pointer, Scalar

from .rig import ADD_ONE, BROKEN, BUMP


def test_the_default_stream_cannot_be_destroyed(rig):
    with pytest.raises(AcceleratorError, match="default stream"):
        rig.driver.stream_destroy(rig.driver.stream_adopt(0, 0))


def test_a_raw_stream_of_nobody_cannot_be_adopted(make_rig):
    rig = make_rig(count=2)
    for device, raw in ((0, 10**9), (1, rig.a), (0, rig.driver.stream_adopt(1, 0))):
        with pytest.raises(AcceleratorError, match="is not a stream of device"):
            rig.driver.stream_adopt(device, raw)


def test_handles_differ_between_machines(make_rig):
    assert not {make_rig().a, make_rig().b} & {make_rig().a, make_rig().b}


def test_a_kernel_of_another_device_cannot_be_launched(make_rig):
    rig = make_rig(count=2)
    handle = rig.driver.kernel_load(1, BUMP)
    with pytest.raises(AcceleratorError, match="bump: the kernel is loaded on device 1"):
        rig.driver.launch(handle, Grid((1, 1, 1), 32), BUMP.pack([rig.memory[1], 1]), rig.a)


def test_threads_share_a_machine(make_rig):
    rig = make_rig(races="error")
    streams = [rig.driver.stream_create(0, 0) for _ in range(4)]

    def count(index):
        where = rig.memory[0] + 64 * index
        rig.put(where, [0.0], streams[index])
        for _ in range(200):
            rig.launch(BUMP, [where, 1], streams[index])
        found.append(rig.get(where, 1, streams[index]).item())

    found = []
    threads = [threading.Thread(target=count, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200.0] * 4


# kernels that fail
def test_a_failing_kernel_fails_its_device_for_good(make_rig):
    rig = make_rig(count=2)
    rig.launch(BROKEN, [rig.memory[0], 4], rig.a)
    with pytest.raises(AcceleratorError, match=r"broken: failed on device 0.*IndexRangeError: index 9") as caught:
        rig.driver.stream_synchronize(rig.a)
    assert caught.value.sticky and caught.value.error_code == 710
    assert isinstance(caught.value.__cause__, IndexError)
    for call in (
        lambda: rig.fill(rig.memory[0], 0, 4, rig.b),
        lambda: rig.driver.stream_query(rig.b),
        lambda: rig.driver.mem_alloc(0, 64),
        lambda: rig.driver.device_synchronize(0),
    ):
        with pytest.raises(AcceleratorError, match="broken: failed") as again:
            call()
        assert again.value.sticky and isinstance(again.value.__cause__, IndexError)
    rig.driver.device_synchronize(1)
    assert rig.driver.mem_alloc(1, 64)


@pytest.mark.parametrize("failure", [ZeroDivisionError, ValueError, IndexError, OverflowError])
def test_a_reference_that_fails_as_no_gpu_would_does_not_lose_the_device(rig, failure):
    def divide(out, n):
        raise failure("boom")

    kernel = Kernel("divide", "", [Pointer("out", float32, "w", ("n",)), Scalar("n", "int64")], divide)
    rig.launch(kernel, [rig.memory[0], 1], rig.a)
    with pytest.raises(InternalError, match=rf"divide: .*device 0.*{failure.__name__}: boom") as caught:
        rig.driver.device_synchronize(0)
    assert isinstance(caught.value.__cause__, failure)
    rig.put(rig.memory[0], [3.0], rig.a)
    rig.launch(BUMP, [rig.memory[0], 1], rig.a)
    rig.driver.device_synchronize(0)
    assert list(rig.get(rig.memory[0], 1, rig.a)) == [4.0]


def test_work_that_follows_a_failed_device_reports_the_failure(make_rig):
    rig = make_rig(count=2)
    other, event = rig.driver.stream_create(1, 0), rig.driver.event_create(0, False, False, False)
    rig.launch(BROKEN, [rig.memory[0], 4], rig.a)
    rig.driver.event_record(event, rig.a)
    rig.driver.stream_wait_event(other, event)
    rig.driver.fill(rig.memory[1], 0, 4, other)
    for _ in range(2):
        with pytest.raises(AcceleratorError, match="broken"):
            rig.driver.stream_synchronize(other)


def test_an_array_that_is_only_read_cannot_be_written(rig):
    def wrong(out, source, n):
        source[:] = 0

    kernel = Kernel("wrong", "", ADD_ONE.params, wrong)
    rig.launch(kernel, [rig.memory[0], rig.memory[0] + 64, 1], rig.a)
    with pytest.raises(InternalError, match=r"wrong: .*read-only"):
        rig.driver.device_synchronize(0)

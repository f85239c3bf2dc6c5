"""Contexts and parts of a device against stand-in bindings."""

import pytest

from flambeau.errors import AcceleratorError

CONTEXT = (0xC0, 0xC1)


def test_asking_for_a_context_makes_none(driver, cuda):
    assert [driver.has_context(device) for device in (0, 1)] == [False, True]
    assert cuda.named("cuDevicePrimaryCtxRetain") == []


def test_a_part_is_a_green_context_made_once(driver, cuda):
    part, multiprocessors = driver.partition(1, 5)
    assert driver.partition(1, 5) == (part, multiprocessors) == (part, 8)
    assert cuda.named("cuDevSmResourceSplitByCount") == [(1, (1, "CU_DEV_RESOURCE_TYPE_SM"), 0, 5)]
    assert cuda.named("cuGreenCtxCreate") == [(0xDE5, 1, 1)] and cuda.used["cuGreenCtxCreate"] == CONTEXT[1]


def test_its_streams_are_those_of_its_device(driver, cuda):
    part, _ = driver.partition(1, 5)
    stream = driver.partition_stream(part)
    (made,) = cuda.named("cuGreenCtxStreamCreate")
    assert made[1:] == (1, 0)
    driver.stream_synchronize(stream)
    assert driver.stream_adopt(1, driver.stream_raw(stream)) == stream
    assert cuda.used["cuGreenCtxStreamCreate"] == cuda.used["cuStreamSynchronize"] == CONTEXT[1]
    driver.stream_destroy(stream)
    assert len(cuda.named("cuStreamDestroy")) == 1


@pytest.mark.parametrize("multiprocessors", [0, -1, 9])
def test_more_than_there_are_or_none(driver, multiprocessors):
    with pytest.raises(AcceleratorError, match=f"partition: .*{multiprocessors} multiprocessors"):
        driver.partition(0, multiprocessors)

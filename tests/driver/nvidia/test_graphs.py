"""The graph calls against stand-in bindings."""

from __future__ import annotations

import pytest

from flambeau import errors
from flambeau.driver.api import CaptureMode, CaptureStatus

from .conftest import Code


def test_a_graph_from_capture_to_destruction(driver, cuda):
    stream = driver.stream_create(1, 0)
    (cu,) = {driver.stream_raw(stream)}
    driver.capture_begin(stream, CaptureMode.THREAD_LOCAL)
    assert driver.capture_status(stream) is CaptureStatus.ACTIVE
    graph = driver.capture_end(stream)
    assert driver.graph_node_count(graph) == 5
    made = driver.graph_instantiate(graph)
    driver.graph_destroy(graph)
    driver.graph_launch(made, stream)
    driver.graph_destroy(made)
    assert cuda.named("cuStreamBeginCapture") == [(cu, "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL")]
    assert cuda.named("cuGraphInstantiate") == [(0x6AF, 0)]
    assert cuda.named("cuGraphDestroy") == [(0x6AF,)]
    assert cuda.named("cuGraphLaunch") == [(0xE8EC, cu)]
    assert cuda.named("cuGraphExecDestroy") == [(0xE8EC,)]
    for call in (driver.graph_destroy, driver.graph_instantiate, lambda graph: driver.graph_launch(graph, stream)):
        with pytest.raises(errors.AcceleratorError, match=r"graph \d+ does not exist"):
            call(made)


def test_a_graph_is_launched_on_its_device(driver):
    stream, other = driver.stream_create(0, 0), driver.stream_create(1, 0)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    made = driver.graph_instantiate(driver.capture_end(stream))
    with pytest.raises(errors.AcceleratorError, match=r"captured on device 0, launched on stream \d+ of device 1"):
        driver.graph_launch(made, other)


def test_a_default_stream_is_never_asked_whether_it_captures(driver, cuda):
    assert driver.capture_status(driver.stream_adopt(0, 0)) is CaptureStatus.NONE
    assert cuda.named("cuStreamIsCapturing") == []


def test_the_mode_of_a_thread(driver, cuda):
    assert driver.capture_mode_exchange(CaptureMode.GLOBAL) is CaptureMode.RELAXED
    assert cuda.named("cuThreadExchangeStreamCaptureMode") == [("CU_STREAM_CAPTURE_MODE_GLOBAL",)]


def test_the_end_of_a_broken_capture_repeats_what_was_refused(driver, cuda):
    stream = driver.stream_create(0, 0)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    cuda.fails["cuStreamSynchronize"] = Code.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    with pytest.raises(errors.AcceleratorError, match="900.*called by .*test_graphs.py:.* on thread 'MainThread'"):
        driver.stream_synchronize(stream)
    cuda.fails["cuMemsetD8Async"] = Code.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    for _ in range(10):  # what comes after does not hide it
        with pytest.raises(errors.AcceleratorError, match="901"):
            driver.fill(0x100, 0, 64, stream)
    cuda.fails["cuStreamEndCapture"] = Code.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    with pytest.raises(errors.AcceleratorError, match="901.*refused is cuStreamSynchronize: .*test_graphs.py"):
        driver.capture_end(stream)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    with pytest.raises(errors.AcceleratorError) as caught:
        driver.capture_end(stream)
    assert "refused" not in str(caught.value)


def test_a_graph_has_numbers_and_is_written_by_the_driver(driver, cuda):
    stream = driver.stream_create(0, 0)
    driver.capture_begin(stream, CaptureMode.GLOBAL)
    graph = driver.capture_end(stream)
    made = driver.graph_instantiate(graph)
    driver.graph_write(graph, "graph.dot")
    assert cuda.named("cuGraphDebugDotPrint") == [(0x6AF, b"graph.dot", 1)]
    assert (driver.graph_raw(graph), driver.graph_raw(made)) == (0x6AF, 0xE8EC)
    with pytest.raises(errors.AcceleratorError, match=r"graph 99999999 does not exist"):
        driver.graph_raw(99999999)

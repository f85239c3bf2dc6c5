"""Tensors of other processes and captures (semantics 1.10, 1.18): no part of a graph, and no harm to one."""

import pytest

import flambeau as torch
from flambeau.errors import AcceleratorError

SENT = "x = torch.arange(4.0, device='cuda'); answer = x"


def test_sending_in_a_capture_is_refused_and_breaks_nothing(other):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
        with pytest.raises(AcceleratorError, match="send, at .*: .* in a capture"):
            other.start("answer = None", x=x)
    graph.replay()
    assert other.do("answer = y.tolist()", y=y) == [2.0] * 4


def test_receiving_in_a_capture_is_refused_and_breaks_nothing(other):
    other.start(SENT)
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
        with pytest.raises(AcceleratorError, match="receive: .* in a capture"):
            other.finish()
    graph.replay()
    assert y.tolist() == [2.0] * 4
    other.do("pass")


def test_what_a_capturing_stream_received_goes_back_after_the_capture(other):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        received = other.do(SENT)
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        y = x + 1
        del received
        torch.cuda.ipc_collect()
        assert len(torch.cuda.ipc_report().borrowed) == 1
    torch.cuda.ipc_collect()
    assert torch.cuda.ipc_report().borrowed == []
    graph.replay()
    assert y.tolist() == [2.0] * 4


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_giving_back_breaks_no_capture(other, mode):
    received = other.do(SENT)
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        y = x + 1
        del received
        torch.cuda.ipc_collect()
        assert torch.cuda.ipc_report().borrowed == []
    graph.replay()
    assert y.tolist() == [2.0] * 4


def test_received_memory_may_be_used_in_a_graph(other):
    received = other.do(SENT)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = received * 2
    other.do("x += 1; torch.cuda.synchronize()")
    graph.replay()
    assert y.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_results_of_a_graph_travel(other):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
    graph.replay()
    other.do("kept = y", y=y)
    x.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    assert other.do("answer = kept.tolist()") == [6.0] * 4

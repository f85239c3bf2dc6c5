"""PyTorch's own reader of memory snapshots accepts those of flambeau."""

import pickle

import pytest

import flambeau


@pytest.mark.full
def test_pytorch_s_viewer_reads_a_snapshot(new_gpus, tmp_path):
    torch_viewer = pytest.importorskip("torch.cuda._memory_viz")
    memory = flambeau.cuda.memory
    memory._record_memory_history()
    try:
        kept = [flambeau.empty(3 << 20, device="cuda") for _ in range(3)]
        del kept[1]
        with pytest.raises(flambeau.OutOfMemoryError):
            flambeau.empty(1 << 45, device="cuda")
        memory._dump_snapshot(tmp_path / "a.pickle")
    finally:
        memory._record_memory_history(None)
    snapshot = pickle.loads((tmp_path / "a.pickle").read_bytes())
    assert "total_reserved: 24.0MiB" in torch_viewer.segsum(snapshot)
    trace = torch_viewer.trace(snapshot)
    assert (trace.count("cudaMalloc("), trace.count("cudaFree(")) == (3, 1)
    assert "OutOfMemoryError" in trace and trace.count("# free completed") == 1
    lines = torch_viewer.memory(snapshot, format_flamegraph=lambda text: text)
    assert "test_memory_viewer.py" in lines and "active_allocated" in lines
    assert "MemoryViz.js" in torch_viewer.trace_plot(snapshot)
    left = torch_viewer.filter_alloc_free_pairs(snapshot)["device_traces"][0]
    assert sum(each["action"] == "alloc" for each in left) == 2

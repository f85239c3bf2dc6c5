"""Work that only takes time: torch.cuda._sleep."""

import pytest

import flambeau as torch
from flambeau.driver.nvidia.nvrtc import nvrtc_version
from flambeau.runtime import spin
from flambeau.testing import kernels, machine


def test_it_keeps_a_stream_busy_for_about_so_many_cycles():
    with machine(devices=1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        torch.cuda._sleep(2_000_000)
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) == pytest.approx(1.0, rel=0.1), "milliseconds, at two cycles per nanosecond"
        assert torch.cuda.memory_allocated() == 0


def test_negative_cycles_are_refused():
    with machine(devices=1), pytest.raises(ValueError, match="-1 cycles cannot be spent"):
        torch.cuda._sleep(-1)


def test_the_kernel_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    try:
        nvrtc_version()
    except RuntimeError as failure:
        pytest.skip(f"NVRTC is not installed: {failure}")
    (found,) = kernels.compiled([("spin", spin.SOURCE)], kernels.ARCHITECTURE)
    assert found.problem == "" and found.nbytes > 0

"""torch.cuda._sleep: work that only takes time."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.driver.nvidia.compile import nvrtc_version
from flambeau.runtime import sleep
from flambeau.testing import kernels, machine


def test_it_keeps_a_stream_busy_for_about_so_many_cycles():
    with machine(devices=1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(1)  # the first one allocates
        start.record()
        torch.cuda._sleep(2_000_000)
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) == pytest.approx(1.0, rel=0.1), "milliseconds, at two cycles per nanosecond"
        assert torch.cuda.memory_allocated() == 0


def test_negative_cycles_are_refused():
    with machine(devices=1), pytest.raises(ValueError, match="cannot sleep for -1 cycles"):
        torch.cuda._sleep(-1)


@pytest.mark.parametrize("cycles", [1.5, True, None, "5"])
def test_cycles_are_counted_in_ints(cycles):
    with machine(devices=1), pytest.raises(TypeError, match=f"_sleep: cycles must be an int, got {cycles!r}\nhint: "):
        torch.cuda._sleep(cycles)


def test_cycles_are_no_more_than_the_kernel_can_count():
    with machine(devices=1):
        with pytest.raises(ValueError, match=f"_sleep: cannot sleep for {2**70} cycles\nhint: .* to {2**63 - 1}"):
            torch.cuda._sleep(2**70)
        torch.cuda._sleep(2**63 - 1)
        torch.cuda._sleep(np.int64(5))


def test_the_kernel_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    try:
        nvrtc_version()
    except RuntimeError as failure:
        pytest.skip(f"NVRTC is not installed: {failure}")
    (found,) = kernels.compiled([("spin", sleep.SOURCE)], kernels.ARCHITECTURE)
    assert found.problem == "" and found.nbytes > 0

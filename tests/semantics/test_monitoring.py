"""1.20: ranges, the profilers' gate, figures of a device from outside, and codes of the runtime."""

import re
import threading

import pytest


@pytest.fixture
def watched(runtime):
    """PyTorch asks for NVML through a package of its own."""
    if runtime.name == "torch":
        pytest.importorskip("pynvml")


@pytest.mark.rule("1.20.1", since="1.10")
def test_a_range_is_a_block_and_a_decorator(torch):
    @torch.cuda.nvtx.range("double {}", "it")
    def double(value):
        """Doubles."""
        return 2 * value

    with torch.cuda.nvtx.range("step {n}", n=1):
        torch.cuda.nvtx.mark("here")
        assert [double(2), double(3)] == [4, 6] and double.__name__ == "double"


@pytest.mark.rule("1.20.1", since="1.10")
@pytest.mark.virtual("a profile says what was named")
def test_the_texts_of_ranges_and_moments_are_formatted(torch):
    from flambeau.tools.profiler import profile

    nvtx = torch.cuda.nvtx
    with profile() as found, nvtx.range("step {n}", n=1):
        nvtx.mark("here")
        nvtx.range("call {}", 2)(lambda: None)()
    assert [each.text for each in found.ranges] == ["here", "call 2", "step 1"]


@pytest.mark.rule("1.20.1", since="1.10", differs="without a profiler the depth is -2")
def test_ranges_are_counted_from_zero_in_each_thread(torch):
    nvtx, elsewhere = torch.cuda.nvtx, []
    depths = [nvtx.range_push("outer"), nvtx.range_push("inner")]
    thread = threading.Thread(target=lambda: elsewhere.extend((nvtx.range_push("there"), nvtx.range_pop())))
    thread.start()
    thread.join()
    depths += [nvtx.range_pop(), nvtx.range_pop()]
    assert depths == [0, 1, 1, 0] and elsewhere == [0, 0]


@pytest.mark.rule("1.20.1", since="1.10")
def test_what_a_range_s_block_raises_comes_out(torch):
    with pytest.raises(KeyError), torch.cuda.nvtx.range("broken"):
        raise KeyError("no")


@pytest.mark.rule("1.20.1", since="1.13")
def test_ranges_may_end_in_any_order(torch):
    first, second = torch.cuda.nvtx.range_start("first"), torch.cuda.nvtx.range_start("second")
    assert isinstance(first, int)
    torch.cuda.nvtx.range_end(first)
    thread = threading.Thread(target=lambda: torch.cuda.nvtx.range_end(second))
    thread.start()
    thread.join()


@pytest.mark.rule("1.20.1", since="1.10")
def test_ranges_start_nothing(program):
    found = program("""
with torch.cuda.nvtx.range("step"):
    torch.cuda.nvtx.mark("here")
answer(torch.cuda.is_initialized())
""")
    assert found == [False]


@pytest.mark.rule("1.20.2", since="1.0")
def test_the_gate_of_profilers_opens_and_closes_at_any_time(torch):
    with torch.cuda.profiler.profile():
        total = torch.ones(4, device="cuda").sum().item()
    torch.cuda.profiler.start()
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()
    torch.cuda.profiler.stop()
    assert total == 4.0


@pytest.mark.rule("1.20.2", since="1.0")
@pytest.mark.virtual("the driver knows whether it is open")
def test_the_gate_is_open_inside_the_block_alone(torch):
    from flambeau.core import thread

    seen, driver = [], thread.machine().driver
    with pytest.raises(KeyError), torch.cuda.profiler.profile():
        seen.append(driver.is_profiled)
        raise KeyError
    assert [*seen, driver.is_profiled] == [True, False]


@pytest.mark.rule("1.20.3", since="1.12")
def test_load_is_in_percent(torch, watched):
    for found in (torch.cuda.utilization(), torch.cuda.memory_usage(0), torch.cuda.utilization("cuda:0")):
        assert isinstance(found, int) and 0 <= found <= 100


@pytest.mark.rule("1.20.3", since="2.1")
def test_heat_and_power_are_numbers_where_a_device_has_them(torch, watched):
    assert 100 < torch.cuda.clock_rate() < 5000
    try:
        assert 0 < torch.cuda.temperature() < 150 and 1000 < torch.cuda.power_draw(0) < 5_000_000
    except NotImplementedError as refused:
        assert "virtual" in str(refused)


@pytest.mark.rule("1.20.3", since="2.6")
def test_memory_in_use_has_what_this_process_reserves(torch, watched):
    x = torch.ones(1 << 24, device="cuda")
    torch.cuda.synchronize()
    assert torch.cuda.device_memory_used() >= torch.cuda.memory_reserved() >= x.numel() * 4


@pytest.mark.rule("1.20.3", since="1.8")
def test_processes_are_listed_as_text(torch, watched):
    x = torch.ones(4, device="cuda")
    lines = torch.cuda.list_gpu_processes().splitlines()
    assert lines[0] == "GPU:0" and x.numel() == 4
    for each in lines[1:]:
        assert re.fullmatch(r"no processes are running|process +\d+ uses +([\d.]+|unknown) MB GPU memory", each)


@pytest.mark.rule("1.20.3", since="1.13")
@pytest.mark.devices(2)
def test_an_index_is_that_of_the_visible_devices(program, watched):
    found = program(
        """
x = torch.ones(1 << 26, device="cuda:0")
torch.cuda.synchronize()
answer(torch.cuda.device_memory_used(0) >= torch.cuda.memory_reserved(0) > 0)
answer(attempt(lambda: torch.cuda.utilization(1)).split(":")[0])
""",
        CUDA_VISIBLE_DEVICES="1",
    )
    assert found == [True, "RuntimeError"]


@pytest.mark.rule("1.20.4", since="1.0")
def test_a_code_that_is_no_success(torch):
    assert torch.cuda.check_error(torch.cuda.cudaStatus.SUCCESS) is None
    with pytest.raises(torch.cuda.CudaError) as raised:
        torch.cuda.check_error(2)
    assert isinstance(raised.value, RuntimeError) and "2" in str(raised.value)

"""The interface with device objects: factories, `to`, streams, timing, memory, `new_*`, and a notebook's output."""

import argparse

import pytest

import flambeau as torch
from flambeau.testing import machine

pytestmark = pytest.mark.usefixtures("gpus")


@pytest.mark.devices(3)
def test_results_stay_with_their_operands():
    cuda, cuda0, cuda2 = torch.device("cuda"), torch.device("cuda:0"), torch.device("cuda:2")
    x = torch.tensor([1.0, 2.0], device=cuda0)
    y = torch.tensor([1.0, 2.0]).cuda()
    assert repr(x.device) == "device(type='cuda', index=0)" and y.device == cuda0
    with torch.cuda.device(1):
        a = torch.tensor([1.0, 2.0], device=cuda)
        b = torch.tensor([1.0, 2.0]).cuda()
        b2 = torch.tensor([1.0, 2.0]).to(device=cuda)
        assert a.device == b.device == b2.device == torch.device("cuda", 1)
        c = a + b
        assert c.device == torch.device("cuda:1") and c.tolist() == [2.0, 4.0]
        z = x + y
        assert z.device == cuda0 and z.tolist() == [2.0, 4.0]
        d, e, f = torch.randn(2, device=cuda2), torch.randn(2).to(cuda2), torch.randn(2).cuda(cuda2)
        assert d.device == e.device == f.device == cuda2
        with pytest.raises(RuntimeError, match="same device"):
            x + a


def test_devices_print_as_in_the_notebook(capsys):
    with torch.cuda.device(1):
        c = torch.tensor([1.0, 2.0], device=torch.device("cuda")) + torch.tensor([1.0, 2.0]).cuda()
    print("c.device is: ", c.device)
    print("d.device is :", torch.randn(2, device=torch.device("cuda:0")).device)
    assert capsys.readouterr().out == "c.device is:  cuda:1\nd.device is : cuda:0\n"


def test_work_is_queued_and_copies_to_the_host_wait():
    a = torch.ones(64, 64, device="cuda")
    for _ in range(10):
        a = a * 2
    assert a.cpu().max().item() == 1024.0 and torch.cuda.current_stream().query()


def test_a_stream_guard_needs_its_stream():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'stream'"):
        torch.cuda.stream()


def sum_on_a_side_stream(ordered: bool, warm: bool, more: bool) -> tuple[float, float]:
    """(what the side stream summed, what it should have): the classic program, right or wrong."""
    s = torch.cuda.Stream()
    if warm:
        with torch.cuda.stream(s):
            torch.ones(100, 100, device="cuda").sum()
    A = torch.empty((100, 100), device="cuda").normal_(0.0, 1.0)
    if ordered:
        s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        B = torch.sum(A)
    if more:
        with torch.cuda.stream(s):
            torch.ones(100, 100, device="cuda").sum()
    torch.cuda.current_stream().wait_stream(s)
    return B.item(), A.cpu().double().sum().item()


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_without_a_wait_the_sum_is_wrong_every_run_on_virtual_gpus(warm, more):
    for _ in range(3):
        with machine(devices=1):
            found, expected = sum_on_a_side_stream(ordered=False, warm=warm, more=more)
            assert found != found and expected == expected


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_with_a_wait_the_sum_is_right(warm, more):
    found, expected = sum_on_a_side_stream(ordered=True, warm=warm, more=more)
    assert found == pytest.approx(expected, abs=1e-2)


def test_events_time_what_lies_between_them():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    x = torch.ones(256, 256, device="cuda") @ torch.ones(256, 256, device="cuda")
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0 and x[0, 0].item() == 256.0


def test_memory_figures_under_their_old_names():
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() - before == 4 << 20
    assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
    assert torch.cuda.memory_cached() == torch.cuda.memory_reserved() >= 4 << 20
    assert torch.cuda.max_memory_cached() >= torch.cuda.memory_cached()
    held = torch.cuda.memory_cached()
    torch.cuda.empty_cache()
    assert x.numel() == 1 << 20 and torch.cuda.memory_cached() <= held, "memory that tensors occupy is not released"
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == before


@pytest.mark.parametrize(("arguments", "device"), [(["--disable-cuda"], "cpu"), ([], "cuda:0")])
def test_a_device_from_the_command_line(arguments, device):
    parser = argparse.ArgumentParser(description="example")
    parser.add_argument("--disable-cuda", action="store_true", help="Disable CUDA")
    args = parser.parse_args(arguments)
    args.device = None
    if not args.disable_cuda and torch.cuda.is_available():
        args.device = torch.device("cuda")
    else:
        args.device = torch.device("cpu")
    x = torch.empty((8, 42), device=args.device)
    net = torch.nn.Linear(42, 2).to(device=args.device)
    assert str(x.device) == device and net(x.fill_(0)).device == x.device


def test_batches_move_to_a_device():
    cuda0 = torch.device("cuda:0")
    loader = torch.utils.data.DataLoader(torch.arange(6.0).view(3, 2), batch_size=1)
    assert [x.to(cuda0).sum().item() for x in loader] == [1.0, 5.0, 9.0]


def test_new_keeps_type_and_device_and_prints_as_in_the_notebook():
    x_cpu, x_gpu = torch.empty(2), torch.empty(2, device=torch.device("cuda"))
    x_cpu_long = torch.empty(2, dtype=torch.int64)
    y_cpu = x_cpu.new_full([3, 2], fill_value=0.3)
    y_gpu = x_gpu.new_full([3, 2], fill_value=-5)
    y_cpu_long = x_cpu_long.new_tensor([[1, 2, 3]])
    assert repr(y_cpu) == "tensor([[0.3000, 0.3000],\n        [0.3000, 0.3000],\n        [0.3000, 0.3000]])"
    assert repr(y_gpu) == "tensor([[-5., -5.],\n        [-5., -5.],\n        [-5., -5.]], device='cuda:0')"
    assert repr(y_cpu_long) == "tensor([[1, 2, 3]])" and y_cpu_long.dtype is torch.int64


def test_ones_and_zeros_like_keep_device_and_type():
    x_cpu, x_gpu = torch.empty(2, 3), torch.empty(2, 3, device="cuda")
    y_cpu, y_gpu = torch.ones_like(x_cpu), torch.zeros_like(x_gpu)
    assert y_cpu.tolist() == [[1.0] * 3] * 2 and y_cpu.device == torch.device("cpu")
    assert y_gpu.tolist() == [[0.0] * 3] * 2 and y_gpu.device == torch.device("cuda:0")


def test_pinned_memory_copies_without_waiting():
    x = torch.arange(1000.0).pin_memory()
    y = x.to("cuda", non_blocking=True)
    torch.cuda.current_stream().synchronize()
    assert x.is_pinned() and y.sum().item() == 499500.0


def test_an_unfinished_copy_to_the_host_shows_the_old_bytes_on_virtual_gpus():
    with machine(devices=1):
        first = torch.full((4,), 7.0, device="cuda").to("cpu", non_blocking=True)
        assert first.is_pinned() and first.tolist() != [7.0] * 4
        torch.cuda.synchronize()
        assert first.tolist() == [7.0] * 4

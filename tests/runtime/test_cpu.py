"""The functions of torch.cuda for the CPU."""

import threading

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError


def test_the_module_of_every_type_of_device_has_the_functions_that_training_loops_call(gpus):
    for kind in ("cpu", "cuda"):
        module = torch.get_device_module(kind)
        assert module.is_available() and module.device_count() >= 1
        module.set_device(0 if kind == "cuda" else kind)
        stream = module.Stream()
        stream.wait_stream(module.current_stream())
        with module.stream(stream):
            assert module.current_stream() == stream
            x = torch.ones(2, device=kind) + 1
            event = module.Event()
            event.record()
        event.wait()
        stream.wait_event(event)
        module.current_stream().wait_stream(stream)
        module.synchronize()
        event.synchronize()
        assert event.query() and module.is_initialized() and x.tolist() == [2.0, 2.0]
    assert torch.cpu.current_device() == "cpu"


def test_a_stream_is_current_in_its_block_and_thread():
    default, one, other = torch.cpu.current_stream(), torch.cpu.Stream(), torch.cpu.Stream(priority=0)
    seen = []
    with torch.cpu.stream(one), torch.cpu.stream(None):
        assert torch.cpu.current_stream() is one
        with torch.cpu.stream(other), torch.cpu.stream(one), torch.cpu.stream(other):
            assert torch.cpu.current_stream() is other
        thread = threading.Thread(target=lambda: seen.append(torch.cpu.current_stream()))
        thread.start()
        thread.join()
    assert torch.cpu.current_stream() is default and seen == [default] and one.record_event() is None


def test_only_streams_of_the_cpu_are_entered(gpus):
    for wrong, shown in ((3, "got 3"), (torch.cuda.Stream(), "got a Stream")):
        with pytest.raises(ArgumentTypeError, match=f"^stream: .*torch.cpu.Stream.*{shown}"):
            torch.cpu.stream(wrong)

"""The functions of torch.cuda for the CPU."""

import threading

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError
from flambeau.runtime import cpu


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


def test_capabilities_of_the_processor(monkeypatch, tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("model name\t: A Processor\nflags\t\t: fpu avx2 fma avx512f pni\n")
    monkeypatch.setattr(cpu, "_CPU_INFO", str(info))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    found = torch.cpu.get_capabilities()
    assert found["cpu_name"] == "A Processor" and found["architecture"] == "x86_64"
    assert [name for name, has in found.items() if has is True] == ["avx2", "avx512_f", "fma3", "sse3"]
    assert found["avx512_bw"] is False
    with pytest.raises(TypeError):
        found["avx2"] = False
    monkeypatch.setattr(cpu, "_CPU_INFO", str(tmp_path / "missing"))
    assert set(torch.cpu.get_capabilities()) == {"architecture", "num_logical_cores"}

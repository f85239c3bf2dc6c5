"""Devices: their names, the current device, and errors without a GPU.  Rows 1.1.*"""

import re
import threading

import numpy as np
import pytest

import flambeau as torch
from flambeau import config, errors
from flambeau.core import thread
from flambeau.errors import ConfigError, NotSupportedError
from flambeau.runtime.machine import Machine
from flambeau.testing import machine


def test_a_device_in_every_form():
    assert torch.device("cuda", 1) == torch.device("cuda:1") == torch.device(1)
    assert torch.device("cuda").index is None and torch.device("cpu").index is None
    assert repr(torch.device("cuda:1")) == "device(type='cuda', index=1)" and str(torch.device("cuda")) == "cuda"
    assert hash(torch.device("cuda:1")) == hash(torch.device(1)) and torch.device("cpu") != torch.device("cuda")


def test_a_bad_device_string_is_named():
    for text in ("cuda0", "cuda:-1", "cuda:01", "", "cuda:"):
        with pytest.raises((RuntimeError, ValueError), match=f"Invalid device string: '{text}'"):
            torch.device(text)
    for text in ("gpu", "gpu:1"):
        with pytest.raises(RuntimeError, match="of cpu, cuda device type at start of device string: gpu\n"):
            torch.device(text)


@pytest.mark.usefixtures("gpus")
def test_a_device_that_is_not_there():
    count = torch.cuda.device_count()
    with pytest.raises(RuntimeError, match=f"cuda:{count}: there is no such device, this machine has {count}"):
        torch.ones(1, device=f"cuda:{count}")
    with pytest.raises(RuntimeError, match=f"cuda:{count}"):
        torch.cuda.set_device(count)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        torch.cuda.synchronize("cpu")
    assert torch.cuda.current_device() == 0


@pytest.mark.devices(2)
@pytest.mark.usefixtures("gpus")
def test_contexts_nest_and_restore():
    seen = []
    with torch.cuda.device(1):
        with torch.cuda.device("cuda:0"):
            seen.append(torch.cuda.current_device())
        torch.cuda.set_device(0)
        seen.append(torch.cuda.current_device())
        with torch.cuda.device(None), torch.cuda.device(-1):
            seen.append(torch.cuda.current_device())
    seen.append(torch.cuda.current_device())
    with torch.cuda.device_of(torch.ones(1, device="cuda:1")):
        seen.append(torch.cuda.current_device())
    with torch.cuda.device_of(torch.ones(1)):
        seen.append(torch.cuda.current_device())
    assert seen == [0, 0, 0, 0, 1, 0]
    indexes = (torch.cuda.device(each).idx for each in (1, "cuda:0", "cuda", None, -1))
    assert list(indexes) == [1, 0, torch.cuda.current_device(), -1, -1]


@pytest.mark.devices(2)
@pytest.mark.usefixtures("gpus")
def test_where_results_and_copies_go():
    x = torch.ones(2, device="cuda:1")
    assert (x + 1).device.index == 1 and x.cuda().device.index == 0 and x.cuda(1) is x
    with torch.cuda.device(1):
        assert torch.ones(1, device="cuda").device.index == 1
        assert torch.ones(1, device="cuda:0").device.index == 0
        assert torch.zeros_like(torch.ones(1, device="cuda:0")).device.index == 0
        assert x.to("cuda") is x


@pytest.mark.devices(2)
@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("wrong", [3, None, np.ones(2)])
def test_device_of_takes_what_has_a_device(wrong):
    with pytest.raises(errors.ArgumentTypeError, match="^device_of: expected a tensor or a storage, got .*\nhint: "):
        torch.cuda.device_of(wrong)
    with torch.cuda.device_of(torch.ones(1, device="cuda:1").untyped_storage()):
        assert torch.cuda.current_device() == 1


@pytest.mark.usefixtures("gpus")
def test_a_new_thread_starts_on_device_zero_and_default_streams():
    torch.cuda.set_device(1)
    found = []

    def look():
        found.append((torch.cuda.current_device(), torch.cuda.current_stream(0)))

    with torch.cuda.stream(torch.cuda.Stream(0)):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    torch.cuda.set_device(0)
    assert found == [(0, torch.cuda.default_stream(0))]


@pytest.mark.usefixtures("gpus")
def test_the_default_device_of_factories():
    assert torch.ones(1).device.type == "cpu"
    with torch.device("cuda"):
        assert torch.ones(1).device == torch.device("cuda:0")
        assert torch.ones(1, device="cpu").device.type == "cpu"
    assert torch.ones(1).device.type == "cpu"


def without_gpus() -> Machine:
    return Machine(config.Gpus("none"))


def test_without_gpus_cpu_tensors_work_and_cuda_says_what_to_do():
    previous = thread.swap_machine(without_gpus())
    try:
        assert torch.cuda.is_available() is False and torch.cuda.device_count() == 0
        assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]
        assert torch.cuda.memory_allocated() == 0
        torch.cuda.empty_cache()
        torch.manual_seed(3)
        expected = "no NVIDIA GPU and no virtual GPU\nhint: set FLAMBEAU_GPUS=virtual:2"
        for use in (lambda: torch.ones(1).cuda(), lambda: torch.cuda.Stream(), lambda: torch.ones(1).pin_memory()):
            with pytest.raises(RuntimeError, match=expected):
                use()
    finally:
        thread.swap_machine(previous)


def test_nothing_starts_before_the_first_use():
    made = Machine(config.parse_gpus("virtual:3"))
    previous = thread.swap_machine(made)
    try:
        assert torch.cuda.device_count() == 3 and torch.cuda.is_available() and not torch.cuda.is_initialized()
        assert torch.cuda._initialized is False
        assert torch.cuda.memory_stats() == {} and torch.cuda.memory_allocated() == 0
        torch.manual_seed(7)
        torch.cuda.manual_seed_all(8)
        assert not made.is_started
        assert torch.cuda.initial_seed() == 8 and made.is_started
    finally:
        thread.swap_machine(previous)


def test_threads_that_start_the_machine_together_start_it_once():
    made = Machine(config.parse_gpus("virtual:2"))
    previous = thread.swap_machine(made)
    try:
        drivers = []
        gate = threading.Barrier(8)

        def use():
            gate.wait()
            torch.ones(1, device="cuda")
            drivers.append(made.driver)

        threads = [threading.Thread(target=use) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(drivers) == 8 and len(set(map(id, drivers))) == 1
    finally:
        thread.swap_machine(previous)


def test_virtual_refuses_once_the_machine_has_started():
    with machine(devices=1), pytest.raises(ValueError, match="the machine has started already, with 1 devices"):
        torch.cuda.synchronize()
        torch.virtual(2)


@pytest.mark.parametrize(
    ("value", "count"), [("0", 1), ("٠", 0), ("1,0", 2), ("0,0", 0), ("-1", 0), ("1,7,0", 1), ("", 0), ("1gpu,0x", 2)]
)
def test_visible_devices(monkeypatch, value, count):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    previous = thread.swap_machine(Machine(config.parse_gpus("virtual:3")))
    try:
        assert torch.cuda.device_count() == count
        if count:
            torch.cuda.init()
            assert len(thread.machine().devices) == count
    finally:
        thread.swap_machine(previous)


def test_launch_blocking_waits_after_every_launch(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with machine(devices=1) as made:
        x = torch.ones(4, device="cuda")
        ran = len(made.driver.log)
        y = x + 1
        assert len(made.driver.log) > ran and torch.cuda.current_stream().query() and y.tolist() == [2.0] * 4


@pytest.mark.usefixtures("gpus")
def test_properties_of_a_device():
    found = torch.cuda.get_device_properties(0)
    assert found.name == torch.cuda.get_device_name() and found.total_memory == torch.cuda.mem_get_info()[1]
    assert torch.cuda.get_device_capability() == (found.major, found.minor) and found.multi_processor_count > 0
    assert (found.max_threads_per_block, found.shared_memory_per_block) == (1024, 48 << 10)
    with pytest.raises(RuntimeError, match="cuda:0 is not a peer of itself"):
        torch.cuda.can_device_access_peer(0, 0)


def test_the_index_is_a_whole_number():
    for wrong in (True, 1.0, "1", np.True_, np.float64(1), np.array(1)):
        with pytest.raises(TypeError, match="device: the index must be an int, got .*\nhint: "):
            torch.device("cuda", wrong)
    for wrong in (True, 1.0, np.True_, np.float64(1), np.array(1)):
        with pytest.raises(TypeError, match="is not a device"):
            torch.device(wrong)
    assert torch.device("cuda", np.int64(1)) == torch.device(np.uint8(1)) == torch.device("cuda:1")
    assert type(torch.device("cuda", np.int64(1)).index) is int and type(torch.device(np.int64(1)).index) is int


@pytest.mark.parametrize("index", [2**31, 2**70])
def test_the_index_is_one_that_a_driver_could_know(index):
    for use in (lambda: torch.device("cuda", index), lambda: torch.device(index)):
        with pytest.raises(ValueError, match=f"an index of {index} is too large, the largest is {2**31 - 1}\nhint: "):
            use()
    with pytest.raises(RuntimeError, match=f"Invalid device string: 'cuda:{index}'"):
        torch.device(f"cuda:{index}")
    assert torch.device("cuda", 2**31 - 1) == torch.device(f"cuda:{2**31 - 1}")


def test_a_negative_index_is_a_runtime_error_that_says_what_to_use():
    with pytest.raises(RuntimeError, match="device: Device index must not be negative, got -1\nhint: .*'cuda'"):
        torch.device("cuda", -1)


@pytest.mark.devices(2)
@pytest.mark.usefixtures("gpus")
def test_numpy_s_integers_are_indexes():
    one, none = np.int64(1), np.int64(-1)
    assert torch.ones(1, device=one).device.index == torch.ones(1).to(one).device.index == 1
    torch.cuda.set_device(one)
    assert torch.cuda.current_device() == 1 and type(torch.cuda.current_device()) is int
    torch.cuda.set_device(0)
    with torch.cuda.device(one):
        assert torch.cuda.current_device() == 1 and torch.cuda.Stream(none).device.index == 1
        with torch.cuda.device(none):
            assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0 and torch.cuda.get_device_name(one)
    with pytest.raises(RuntimeError, match="cuda:7: there is no such device"):
        torch.ones(1, device=np.int64(7))


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("wrong", [True, np.True_, np.float64(0), np.array(0), 0.0])
def test_what_is_no_integer_is_no_device(wrong):
    with pytest.raises(TypeError, match="is not a device\nhint: pass a torch.device, a string or an index"):
        torch.cuda.synchronize(wrong)


@pytest.mark.usefixtures("gpus")
def test_a_device_that_is_no_gpu_says_what_to_use():
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu\nhint: use 'cuda', 'cuda:0' or an ind"):
        torch.cuda.synchronize("cpu")


def test_the_forms_of_to_without_names():
    x, half = torch.ones(2), torch.float16
    assert x.to() is x and x.to(None) is x and x.to("cpu", None) is x and x.to("cpu", True) is x and x.to(x, True) is x
    assert x.to(half, True, True).dtype is x.to("cpu", half, False, True).dtype is x.to(None, half).dtype is half
    assert x.to("cpu", True, True) is not x and x.to(x, False, True) is not x
    assert x.to("cpu", dtype=half).dtype is half and x.to(None, dtype=half).dtype is half


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ((True,), "True"),
        ((True, "cpu"), "True, 'cpu'"),
        ((torch.ones(2), torch.ones(3)), "float32[2] on cpu, float32[3] on cpu"),
        (("cpu", torch.ones(2)), "'cpu', float32[2] on cpu"),
        (("cpu", "cpu"), "'cpu', 'cpu'"),
        (("cpu", 1), "'cpu', 1"),
        ((torch.float16, "cpu"), "torch.float16, 'cpu'"),
        ((torch.float16, torch.float16), "torch.float16, torch.float16"),
        (("cpu", True, torch.float16), "'cpu', True, torch.float16"),
        ((torch.float16, True, True, True), "torch.float16, True, True, True"),
    ],
)
def test_what_is_no_form_of_to_is_a_type_error(args, shown):
    for target in (torch.ones(2), torch.nn.Linear(1, 1)):
        with pytest.raises(TypeError, match=re.escape(f"to: received ({shown}), which matches none of its forms")):
            target.to(*args)


@pytest.mark.parametrize(
    ("count", "options", "fact"),
    [
        ("x", {}, "'x' devices were requested"),
        (1.5, {}, "1.5 devices were requested"),
        (1, {"memory": None}, "None is not a number of bytes"),
        (1, {"memory": 1.5}, "1.5 is not a number of bytes"),
        (1, {"memory": -1}, "a size of -1 bytes is negative"),
        (1, {"preset": 3}, "preset must be a str, got 3"),
        (1, {"schedule": 3}, "schedule must be a str, got 3"),
    ],
)
def test_virtual_gpus_of_wrong_types_are_errors(count, options, fact):
    with pytest.raises(ConfigError, match=f"{fact}(.|\\n)*hint: "):
        torch.virtual(count, **options)


def test_the_module_of_a_device():
    assert torch.get_device_module() is torch.get_device_module("cuda:0") is torch.cuda
    assert torch.get_device_module("cpu") is torch.cpu
    with pytest.raises(RuntimeError, match="get_device_module: .*'meta'"):
        torch.get_device_module("meta")


@pytest.mark.parametrize("name", ["mps", "xpu"])
def test_devices_that_are_names_only(name):
    device = torch.device(name)
    assert (device.type, device.index, str(device)) == (name, None, name) and device != torch.ones(1).device
    x, net = torch.ones(1), torch.nn.Linear(1, 1)
    for make in (lambda: torch.ones(1, device=name), lambda: x.to(device), lambda: net.to(name)):
        with pytest.raises(NotSupportedError, match=f"no tensors on {name}\nhint: .*'cpu'"):
            make()

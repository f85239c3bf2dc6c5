"""The machine: started once, by the first use; one set of devices; replaced as a whole by tests."""

import threading

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.runtime.machine import Machine, choose
from flambeau.testing import check, machine


def test_nothing_starts_before_the_first_use():
    made = Machine(Gpus("virtual", 3))
    assert (made.is_started, made.device_count(), made.devices) == (False, 3, [])
    made.start()
    assert made.is_started and [each.index for each in made.devices] == [0, 1, 2]


def test_many_threads_start_it_once():
    made, seen = Machine(Gpus("virtual", 1)), []
    made.at_start(lambda: seen.append("started"))
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        made.start()
        seen.append(made.driver)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert seen.count("started") == 1 and len({id(each) for each in seen if each != "started"}) == 1


def test_calls_queued_before_the_start_run_at_the_start_in_order():
    made, seen = Machine(Gpus("virtual", 1)), []
    made.at_start(lambda: seen.append(1))
    made.at_start(lambda: seen.append(2))
    assert seen == []
    made.start()
    made.at_start(lambda: seen.append(3))
    assert seen == [1, 2, 3]


def test_a_call_that_fails_at_the_start_says_where_it_was_made():
    made, seen = Machine(Gpus("virtual", 1)), []
    made.at_start(lambda: seen.append(1))
    made.at_start(lambda: {}["seed"])
    made.at_start(lambda: seen.append(2))
    text = r"deferred until CUDA started failed: 'seed'; made at .*test_machine\.py:\d+ in test_a_call_that_fails"
    with pytest.raises(torch.cuda.DeferredCudaCallError, match=text) as raised:
        made.start()
    assert isinstance(raised.value.__cause__, KeyError) and seen == [1] and made.is_started
    made.start()
    assert seen == [1]


def test_a_machine_without_gpus_says_how_to_get_some():
    made = Machine(Gpus("none"))
    assert made.device_count() == 0
    text = r"no NVIDIA GPU and no virtual GPU\nhint: set FLAMBEAU_GPUS=virtual:2"
    with pytest.raises(errors.NoDeviceError, match=text):
        made.start()
    assert not made.is_started


def test_a_machine_that_started_cannot_be_chosen_again():
    with machine(devices=2):
        with pytest.raises(errors.ConfigError, match="the machine has started already, with 2 devices"):
            choose(Gpus("virtual", 4))
        assert torch.cuda.device_count() == 2


@pytest.mark.parametrize("races", ["poison", "real"])
def test_the_same_choice_again_changes_nothing(races):
    with machine(devices=2) as made, check(races=races):
        x = torch.ones(2, device="cuda:1")
        torch.virtual(2)
        assert thread.machine() is made and x.tolist() == [1.0, 1.0]
        with pytest.raises(errors.ConfigError, match="has started already, with 2 devices"):
            torch.virtual(2, memory="1GiB")


def test_a_tool_that_changes_the_mode_does_not_make_it_another_choice():
    previous = thread.swap_machine(Machine(Gpus("virtual", 2)))
    try:
        with check(races="real"):
            torch.cuda.synchronize()
            torch.virtual(2)
            assert torch.cuda.device_count() == 2
    finally:
        thread.swap_machine(previous)


def test_machines_nest_and_each_thread_falls_back_to_device_0():
    with machine(devices=2) as outer:
        torch.cuda.set_device(1)
        with machine(devices=1) as inner:
            assert thread.machine() is inner and torch.cuda.current_device() == 0
        assert thread.machine() is outer


def test_the_allocator_settings_of_the_environment_are_used(monkeypatch):
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:64,pinned_max_cached_size_mb:3")
    with machine() as made:
        assert made.devices[0].allocator.settings.max_split_size == 64 << 20
        assert made.pinned.max_cached == 3 << 20


def test_a_wrong_allocator_setting_stops_the_start(monkeypatch):
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "max_split:64")
    made = Machine(Gpus("virtual", 1))
    with pytest.raises(errors.ConfigError, match="PYTORCH_ALLOC_CONF: setting 'max_split' is unknown"):
        made.start()
    assert not made.is_started


def test_launch_blocking_waits_at_every_launch(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with machine() as made:
        x = torch.zeros(4, device="cuda")
        assert torch.cuda.current_stream().query()
        x + 1
        assert made.driver.log[-1][2].startswith("add_")


def test_a_sanitizer_that_is_asked_for_on_nvidia_is_said_to_be_missing(monkeypatch):
    monkeypatch.setenv("TORCH_CUDA_SANITIZER", "1")
    made = Machine(Gpus("nvidia"))
    monkeypatch.setattr(made, "device_count", lambda: 0)
    with (
        pytest.warns(RuntimeWarning, match="flambeau check --gpus nvidia"),
        pytest.raises(errors.NoDeviceError),
    ):
        made.start()


@pytest.mark.parametrize(("value", "shown"), [("-1", "-1"), ("0,0", "0,0"), ("5", "5"), ("", "''")])
def test_a_machine_whose_gpus_are_hidden_says_by_what(monkeypatch, value, shown):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    made = Machine(Gpus("virtual", 2))
    text = f"CUDA was used, but CUDA_VISIBLE_DEVICES={shown} hides all 2 GPUs\nhint: unset CUDA_VISIBLE_DEVICES"
    with pytest.raises(errors.NoDeviceError, match=text):
        made.start()
    assert not made.is_started
    with pytest.raises(errors.NoDeviceError, match="hides the only GPU"):
        Machine(Gpus("virtual", 1)).start()


def test_hidden_nvidia_gpus_are_told_from_missing_ones(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    made = Machine(Gpus("nvidia"))
    monkeypatch.setattr(made, "device_count", lambda: 0)
    with pytest.raises(errors.NoDeviceError, match="CUDA_VISIBLE_DEVICES=-1 leaves no NVIDIA GPU"):
        made.start()
    with pytest.raises(errors.NoDeviceError, match="no NVIDIA GPU and no virtual GPU"):
        Machine(Gpus("none")).start()

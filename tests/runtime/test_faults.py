"""Injected failures: the error is clear, the state unchanged, and nothing leaks."""

import gc
import re
import weakref

import pytest

import flambeau as torch
from flambeau.core import thread
from flambeau.data.workers import WorkerDiedError
from flambeau.driver.virtual.faults import FORMS, parse
from flambeau.errors import ArgumentError, ConfigError, FlambeauError
from flambeau.testing import faults, machine
from flambeau.utils.data import DataLoader, Dataset


@pytest.mark.parametrize("cached", [False, True])
def test_the_nth_allocation_fails_and_the_device_goes_on(cached):
    with machine():
        x = torch.ones(4, device="cuda")
        if cached:
            torch.ones(4, device="cuda")
        before = torch.cuda.memory_allocated()
        with faults(oom=2):
            y = x + 1
            with pytest.raises(torch.OutOfMemoryError, match="allocation of 16 bytes .* made to fail"):
                x + 2
            assert (x + 3).tolist() == [4.0] * 4
        assert y.tolist() == [2.0] * 4
        del y
        assert torch.cuda.memory_allocated() == before


def test_a_launch_fails_for_good():
    with machine():
        x = torch.ones(4, device="cuda")
        with faults(launch=1):
            y = x + 1
        with pytest.raises(torch.AcceleratorError, match="failed on device 0") as caught:
            y.tolist()
    assert caught.value.sticky and caught.value.error_code == 719


def test_a_refused_launch_changes_nothing():
    with machine():
        x = torch.ones(4, device="cuda")
        before = torch.cuda.memory_allocated()
        with faults(refused=1), pytest.raises(torch.AcceleratorError, match="refused the launch") as caught:
            x.add_(1)
        assert not caught.value.sticky and caught.value.error_code == 701
        assert x.tolist() == [1.0] * 4 and torch.cuda.memory_allocated() == before


def test_a_lost_link_is_there_again_after_the_block():
    with machine(devices=2):
        x = torch.ones(4, device="cuda:0")
        with faults(lost_link=(0, 1)), pytest.raises(torch.AcceleratorError, match="no link from device 0 to device 1"):
            x.to("cuda:1")
        assert x.to("cuda:1").tolist() == [1.0] * 4


def test_faults_that_were_not_met_end_with_the_block():
    with machine():
        with faults(oom=9), faults(launch=9):
            x = torch.ones(4, device="cuda")
        for _ in range(12):
            x = x + 1
        assert x.tolist() == [13.0] * 4


def test_allocations_of_a_size_fail_until_the_block_ends():
    with machine():
        with faults(oom="1MiB"):
            small = torch.ones(2**17, device="cuda")
            for _ in range(2):
                with pytest.raises(torch.OutOfMemoryError, match="allocation of 1048576 bytes .* made to fail"):
                    torch.ones(2**18, device="cuda")
        assert torch.ones(2**18, device="cuda").sum().item() == 2**18
        assert small.sum().item() == 2**17


def test_a_device_assert_is_that_of_device_code():
    with machine():
        x = torch.ones(4, device="cuda")
        with faults(device_assert=2):
            y = x + 1
            x * 2
            with pytest.raises(torch.AcceleratorError, match="mul .*device-side assert triggered") as caught:
                y.tolist()
                torch.cuda.synchronize()
    assert caught.value.sticky and caught.value.error_code == 710


def modelled_ns(call):
    torch.cuda.synchronize()
    driver = thread.machine().driver
    before = driver.host_ns()
    call()
    torch.cuda.synchronize()
    torch.cuda.synchronize(1)
    return driver.host_ns() - before


def test_a_slow_link_takes_more_time_and_copies_the_same():
    with machine(devices=2):
        x = torch.arange(2**20, device="cuda:0")
        x.to("cuda:1")
        usual = modelled_ns(lambda: x.to("cuda:1"))
        with faults(slow_link=(1, 0, 100)):
            slow = modelled_ns(lambda: x.to("cuda:1"))
            assert x.to("cuda:1").tolist() == x.tolist()
        assert slow > 20 * usual and modelled_ns(lambda: x.to("cuda:1")) == usual


CALLS = {
    "zeros": lambda x: torch.zeros(4, device="cuda"),
    "arange": lambda x: torch.arange(4, device="cuda"),
    "add": lambda x: x + 1,
    "matmul": lambda x: x.view(2, 2) @ x.view(2, 2),
    "cat": lambda x: torch.cat([x, x]),
    "nonzero": lambda x: x.nonzero(),
    "clone": lambda x: x.clone(),
    "backward": lambda x: (x.clone().requires_grad_() * 2).sum().backward(),
}


class Held:
    """Something that a program's function holds."""


@pytest.mark.parametrize("fault", ["oom", "refused"])
@pytest.mark.parametrize("name", CALLS)
def test_the_error_of_a_failed_call_keeps_nothing_alive(name, fault):
    held = []

    def program(x):
        kept = Held()
        held.append(weakref.ref(kept))
        with faults(**{fault: 1}):
            CALLS[name](x)

    with machine():
        x = torch.ones(4, device="cuda")
        gc.disable()
        try:
            with pytest.raises(FlambeauError):
                program(x)
            assert held[0]() is None
        finally:
            gc.enable()


def test_nor_does_an_error_that_names_its_caller():
    held = []

    def program():
        kept = Held()
        held.append(weakref.ref(kept))
        torch.zeros(3, dtype=torch.float8_e8m0fnu)

    gc.disable()
    try:
        with pytest.raises(FlambeauError):
            program()
        assert held[0]() is None
    finally:
        gc.enable()


class Numbers(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return index


def test_a_data_worker_is_killed():
    with faults(kill_worker=(1, 2)):
        loader = DataLoader(Numbers(), batch_size=2, num_workers=2)
        seen, iterator = [], iter(loader)
        with pytest.raises(WorkerDiedError, match="is killed by signal: SIGKILL; it was worker 1 of 2"):
            seen.extend(each.tolist() for each in iterator)
    assert seen == [[0, 1], [2, 3], [4, 5]]
    assert [each.tolist() for each in loader] == [[at, at + 1] for at in range(0, 16, 2)]


WRONG = [
    ({"oom": -1}, "oom must be an int of 0 or more, got -1"),
    ({"oom": "many"}, "oom='many': 'many' is not a number of bytes"),
    ({"oom": "0MiB"}, "oom='0MiB'"),
    ({"launch": "3"}, "launch must be an int of 0 or more, got '3'"),
    ({"device_assert": True}, "device_assert must be an int of 0 or more, got True"),
    ({"lost_link": (0, 2)}, r"lost_link is (0, 2)"),
    ({"lost_link": (1, 1)}, "lost_link is (1, 1), with the same device twice"),
    ({"slow_link": (0, 1)}, "slow_link must be a tuple of 3 ints, got (0, 1)"),
    ({"slow_link": (0, 1, 0)}, "slow_link is (0, 1, 0), and its factor 0"),
    ({"kill_worker": (0, 0)}, "kill_worker is (0, 0), and its batch 0"),
    ({"kill_rank": 3}, "kill_rank must be a tuple of 2 ints, got 3"),
]


@pytest.mark.parametrize(("wanted", "text"), WRONG)
def test_a_wrong_value_is_named(wanted, text):
    expected = re.escape(f"faults: {text}")
    with machine(devices=2), pytest.raises(ArgumentError, match=expected) as caught, faults(**wanted):
        pass
    assert caught.value.hint


def test_every_form_of_text_is_read():
    texts = [each for form in FORMS.values() for each in form.split(" or ")]
    assert {name: value for text in texts[1:] for name, value in parse(text).items()} == {
        "oom": "64MiB", "launch": 5, "device_assert": 5, "refused": 5, "capture": 2, "lost_link": (0, 1),
        "slow_link": (0, 1, 10), "kill_worker": (0, 3), "kill_rank": (1, 5),
    }  # fmt: skip
    assert parse("oom:3,lost_link:0:1") == {"oom": 3, "lost_link": (0, 1)}


@pytest.mark.parametrize(
    "text",
    ["", "boom:3", "oom", "oom:0", "oom:3:4", "oom:x", "launch:64MiB", "lost_link:0", "slow_link:0:1:0", "oom:1,oom:2"],
)
def test_a_text_that_is_no_failure_is_an_error(text):
    with pytest.raises(ArgumentError, match="^faults: ") as caught:
        parse(text)
    assert text.split(",")[0].split(":")[-1] in str(caught.value) and caught.value.hint


@pytest.mark.parametrize(
    "text, cause",
    [("oom:0", "'oom:0' is not a valid description"), ("lost_link:0:9", "use two device indexes below 1")],
)
def test_an_error_of_the_variable_names_it(monkeypatch, text, cause):
    monkeypatch.setenv("FLAMBEAU_FAULTS", text)
    with pytest.raises(ConfigError, match=f"^FLAMBEAU_FAULTS='{text}': (.|\n)*{cause}"), machine(devices=1):
        pass

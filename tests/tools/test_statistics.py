"""The figures of statistics()."""

import flambeau as torch
from flambeau.config import virtual_gpus
from flambeau.core import thread
from flambeau.core.thread import MAX_ENTRIES
from flambeau.runtime.machine import Machine
from flambeau.testing import machine


def test_kinds_of_calls_are_counted_per_device_and_operator():
    with machine(devices=2):
        x = torch.ones(4, 4, device="cuda:1")
        before = torch.statistics()["cuda:1"]["plans"]
        for _ in range(3):
            x + x
            x @ x
        x + x[1]
        found = torch.statistics()
        assert found["cuda:1"]["plans"]["add"] - before.get("add", 0) == 2
        assert found["cuda:1"]["plans"]["matmul"] == 1
        assert found["cuda:1"]["library_plans"] == 1
        assert found["cuda:1"]["max_plans"] == MAX_ENTRIES
        assert found["cuda:0"] == {"plans": {}, "max_plans": MAX_ENTRIES, "kernels": 0, "library_plans": 0}


def test_nothing_is_started():
    made = Machine(virtual_gpus(1))
    previous = thread.swap_machine(made)
    try:
        assert list(torch.statistics()) == ["cpu"]
        assert not made.is_started
    finally:
        thread.swap_machine(previous)

"""What statistics() says is kept."""

import flambeau as torch
from flambeau.config import virtual_gpus
from flambeau.kinds import MAX_PLANS
from flambeau.runtime import state
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
        assert found["cuda:1"]["max_plans"] == MAX_PLANS
        assert found["cuda:0"] == {"plans": {}, "max_plans": MAX_PLANS, "kernels": 0, "library_plans": 0}


def test_nothing_is_started():
    made = Machine(virtual_gpus(1))
    previous = state.swap_machine(made)
    try:
        assert list(torch.statistics()) == ["cpu"]
        assert not made.is_started
    finally:
        state.swap_machine(previous)

"""What dispatch keeps of the calls that it has seen."""

import flambeau as torch
from flambeau import dispatch
from flambeau.testing.machine import machine


def test_plans_are_bounded(monkeypatch):
    monkeypatch.setattr(dispatch, "MAX_PLANS", 2)
    with machine(devices=1) as made:
        plans = made.devices[0].plans
        counts = []
        for size in (1, 2, 3):
            x = torch.empty(size, device="cuda")
            x.exp()
            counts.append(len(plans))
    assert counts == [1, 2, 1]


def test_a_plan_serves_every_call_of_its_kind():
    with machine(devices=1) as made:
        x = torch.ones(3, 4, device="cuda")
        before = len(made.devices[0].plans)
        for scale in (2, 3, 4):
            x * scale
        assert len(made.devices[0].plans) == before + 1
        x * 2.0
        x.t() * 2
        assert len(made.devices[0].plans) == before + 4  # a float, another layout, and the view

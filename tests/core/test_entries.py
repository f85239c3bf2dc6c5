"""Entries in place of plans: delegations, bodies that run again, and composites as one plan."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import flambeau as torch
from flambeau import callers
from flambeau.core import thread
from flambeau.core.entries import Delegation, RunBody
from flambeau.core.plan import Plan
from flambeau.errors import FlambeauError
from flambeau.ops.operator import REGISTRY, Operand, composite
from flambeau.testing.machine import machine


def composed(body, **options):
    """Make a composite that is in no registry."""
    made = composite(name="composed", samples=lambda: [], **options)(body)
    del REGISTRY["composed"]
    return made


def entries_of(operator):
    return [entry for key, entry in thread.machine().plans.entries.items() if key[0] is operator]


@pytest.fixture
def delegating():
    """Make a composite that is one call of another operator, and a list of the attributes passed to its body."""
    seen = []

    def body(input: Operand, dim: int, scale: float = 1.0):
        seen.append((dim, scale))
        return REGISTRY["clamp"](input, None, scale) if dim < 0 else REGISTRY["sum"](input, dim)

    return composed(body), seen


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_body_of_a_delegation_runs_once_for_a_key(delegating, device):
    called, seen = delegating
    with machine(devices=1):
        x = torch.arange(6.0, device=device).view(2, 3)
        assert [called(x, 0).tolist(), called(x + 1, 0).tolist(), called(x, dim=1).tolist()] == [
            [3, 5, 7], [5, 7, 9], [3, 12],
        ]  # fmt: skip
        assert seen == [(0, 1.0), (1, 1.0)]
        assert called(x.t(), 0).tolist() == [3, 12]
        assert called(x.to(torch.int32), 0).dtype is torch.int64
        assert len(seen) == 4
        assert {type(each) for each in entries_of(called)} == {Delegation}


def test_the_body_runs_again_for_another_number(delegating):
    called, seen = delegating
    x = torch.tensor([-1.0, 1.0, 3.0])
    assert [called(x, -1, scale).tolist()[2] for scale in (2.0, float("2"), 2, True, 0.5)] == [2, 2, 2, 1, 0.5]
    assert [type(scale) for _, scale in seen] == [float, int, bool, float]
    zeros = [called(x, -1, scale).tolist()[1] for scale in (0.0, -0.0, 0.0)]
    assert [str(each) for each in zeros] == ["0.0", "-0.0", "0.0"]


def test_an_error_after_a_delegation_names_the_composite(delegating):
    called, _ = delegating
    with machine(devices=2):
        x = torch.ones(2, 3, device="cuda")
        called(x, 0)
        with pytest.raises(FlambeauError, match=r"^composed: .*out of range"):
            called(x, 2)
        a, b = torch.ones(2, 2, device="cuda:0"), torch.ones(2, device="cuda:0")
        torch.mv(a, b)
        with pytest.raises(FlambeauError, match=r"^mv: Expected .* on the same device: input is .*cuda:0"):
            torch.mv(a, b.to("cuda:1"))


def test_a_delegation_keeps_gradients_and_no_tensor():
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        torch.cumsum(x, 0).sum().backward()
    assert x.grad.tolist() == [6, 4, 2]
    kept = [each for each in entries_of(REGISTRY["cumsum"]) if isinstance(each, Delegation)]
    assert {(each.arguments[0], *each.sources, each.operator.name) for each in kept} == {(None, (0, 0), "running_sum")}


def test_a_delegation_keeps_the_plan_of_an_operator_without_a_setting():
    with machine(devices=1):
        x = torch.ones(3, device="cuda", requires_grad=True)
        for wanted in (True, False, True):
            with torch.set_grad_enabled(wanted):
                found = torch.cumsum(x, 0)
            assert found.tolist() == [1, 2, 3] and found.requires_grad is wanted
        ((entry,), (plan,)) = entries_of(REGISTRY["cumsum"]), entries_of(REGISTRY["running_sum"])
        assert entry.plan is plan and entry.arguments[0] is None

        def body(input: Operand, other: Operand):
            return REGISTRY["linear"](input, other)

        called = composed(body)
        with torch.no_grad():
            for allowed in (False, True):
                torch.backends.cuda.matmul.allow_tf32 = allowed
                called(x, x[None])
        torch.backends.cuda.matmul.allow_tf32 = False
        assert [type(each) for each in entries_of(called)] == [Delegation] and entries_of(called)[0].plan is None
        assert len(entries_of(REGISTRY["linear"])) == 2


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_composite_of_several_operators_is_one_plan_where_no_gradient_is_wanted(device):
    runs = []

    def body(input: Operand, other: Operand):
        runs.append(1)
        product = input @ other.t()
        return (product + 1).relu(), product.reshape(-1)

    called = composed(body)
    with machine(devices=1):
        x, y = torch.randn(2, 3, device=device), torch.randn(4, 3, device=device)
        for _ in range(3):
            first, second = called(x, y)
        assert len(runs) == 1 and [type(each) for each in entries_of(called)] == [Plan]
        assert len(entries_of(called)[0].steps) == 3
        product = x @ y.t()
        assert torch.equal(first, (product + 1).relu()) and torch.equal(second, product.flatten())
        x.requires_grad_()
        called(x, y)[0].sum().backward()
        assert len(runs) == 2 and x.grad.shape == (2, 3)


def test_a_composite_that_reads_a_value_or_returns_a_view_runs_every_time():
    called = composed(lambda input: input * input.sum().item() if input.shape else input.view(1))
    for factor in (1.0, 2.0):
        x = torch.tensor([factor, 1.0])
        assert called(x).tolist() == [factor * (factor + 1), factor + 1]
    x = torch.tensor(3.0)
    called(x).fill_(4)
    assert x.item() == 4.0
    assert {type(each) for each in entries_of(called)} == {RunBody}


def test_a_body_that_warns_runs_every_time():
    def body(input: Operand) -> Any:
        result = input + 1
        callers.warn("beware")
        return result * 2

    called = composed(body)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert called(torch.ones(2)).tolist() == [4, 4]
        assert [str(each.message) for each in found] == ["beware"]
    assert {type(each) for each in entries_of(called)} == {RunBody}


def test_a_composite_may_return_its_operand():
    called = composed(lambda input: input)
    x = torch.ones(2)
    assert called(x) is x and called(x) is x


def test_a_composite_uses_no_tensor_that_it_was_not_given():
    outside = torch.ones(2)
    called = composed(lambda input: input + outside)
    assert called(torch.ones(2)).tolist() == [2, 2]
    outside = torch.zeros(2)
    assert called(torch.ones(2)).tolist() == [1, 1]


def test_a_plan_is_lowered_again_where_a_setting_has_changed_that_its_key_does_not_have():
    runs = []

    def body(input: Operand, other: Operand):
        runs.append(torch.backends.cuda.matmul.allow_tf32)
        return (input @ other).relu()

    called = composed(body)
    with machine(devices=1):
        x, y = torch.randn(2, 3, device="cuda"), torch.randn(3, 4, device="cuda")
        for allowed in (False, False, True, True, False):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            assert called(x, y).shape == (2, 4)
    assert runs == [False, True, False]


def test_a_long_plan_takes_memory_before_its_first_use_and_drops_it_after_the_last():
    def body(input: Operand):
        for _ in range(8):
            input = input + 1
        return input

    called = composed(body)
    with machine(devices=1):
        x = torch.ones(1 << 20, device="cuda")
        for _ in range(2):
            torch.cuda.reset_peak_memory_stats()
            found = called(x)
            assert found[0].item() == 9 and type(entries_of(called)[0]) is Plan
            assert torch.cuda.max_memory_allocated() == 3 * x.nbytes
            del found

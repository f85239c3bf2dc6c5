"""Operator calls: keys, cached entries, and the operator's name in errors."""

from __future__ import annotations

import contextlib
import gc
import weakref

import numpy as np
import pytest

import flambeau as torch
from flambeau.core.call import bind
from flambeau.core.plan import Plan
from flambeau.dtypes import float32
from flambeau.errors import AcceleratorError, ArgumentTypeError, FlambeauError, ValueRangeError, name_error
from flambeau.kernel import Grid
from flambeau.ops.copies import fill_kernel
from flambeau.ops.operator import REGISTRY, Number, Operand, operator, passed_as
from flambeau.testing.machine import machine


def plans_of(machine, device=0):
    """Return the keys of the plans of one device."""
    found = list(machine.plans.entries.items())
    return [key for key, each in found if isinstance(each, Plan) and each.device is machine.devices[device]]


def test_the_quarter_that_was_used_least_recently_is_dropped():
    with machine(devices=1) as made:
        made.plans.limit = 8
        used = torch.empty(100, device="cuda")
        for size in range(1, 40):
            used.exp()
            torch.empty(size, device="cuda").exp()
            assert len(made.plans.entries) <= 8
        sizes = {key[1].numel for key in plans_of(made)}
    assert 100 in sizes and 39 in sizes and 1 not in sizes


def test_a_plan_serves_every_call_of_its_kind():
    with machine(devices=1) as made:
        x = torch.ones(3, 4, device="cuda")
        before = len(plans_of(made))
        for scale in (2, 3, 4):
            x * scale
        assert len(plans_of(made)) == before + 1
        x * 2.0
        x.t() * 2
        assert len(plans_of(made)) == before + 3  # a float, and another layout


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_call_that_only_looks_like_the_last_one_is_not_taken_for_it(device):
    with machine(devices=1):
        x = torch.arange(6, device=device).view(2, 3)
        assert [(x + number).dtype for number in (1, True, 1.0, 1)] == [
            torch.int64, torch.int64, torch.float32, torch.int64,
        ]  # fmt: skip
        assert [(x + number).tolist()[0][0] for number in (1, True, 2.5, 3)] == [1, 1, 2.5, 3]
        assert [x.sum(dim).tolist() for dim in (0, 1, 0, (0, 1), (1,))] == [
            [3, 5, 7], [3, 12], [3, 5, 7], 15, [3, 12],
        ]  # fmt: skip
        assert [x.sum(1, keep).shape for keep in (True, False, True)] == [(2, 1), (2,), (2, 1)]
        assert [x.view(*shape).shape for shape in ((6,), (3, 2), (-1, 2), (6,))] == [(6,), (3, 2), (3, 2), (6,)]
        assert [part.tolist() for part in (x[1:], x[:1], x[:, 300:], x[:, 1000:], x[1:])] == [
            [[3, 4, 5]], [[0, 1, 2]], [[], []], [[], []], [[3, 4, 5]],
        ]  # fmt: skip
        assert [(x + each).tolist()[1] for each in (x, x[1], x[1:], x)] == [
            [6, 8, 10], [6, 8, 10], [6, 8, 10], [6, 8, 10],
        ]  # fmt: skip
        with pytest.raises(TypeError, match="must be"):
            x.sum((1.0,))


def test_the_last_call_of_another_device_or_machine_is_another():
    with machine(devices=2) as made:
        for device in ("cuda:0", "cuda:1", "cpu", "cuda:0"):
            one = torch.ones(2, device=device)
            assert str((one + one).device) == device
        launched = [len(plans_of(made, index)) for index in (0, 1)]
        assert launched == [2, 2]  # fill and add
    with machine(devices=1) as other:
        one = torch.ones(2, device="cuda")
        assert (one + one).tolist() == [2.0, 2.0]
        assert len(plans_of(other)) == 2


def test_a_setting_is_asked_at_every_call():
    with machine(devices=1) as made:
        x = torch.ones(4, 4, device="cuda")
        for allowed in (False, True, False):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            x @ x
        assert len([key for key in plans_of(made) if key[0].name == "matmul"]) == 2


def test_rows_by_an_index_tensor_are_one_operator():
    with machine(devices=1) as made:
        x = torch.arange(6.0, device="cuda").view(3, 2)
        index = torch.tensor([2, -1, 0], device="cuda")
        assert x[index].tolist() == [[4.0, 5.0], [4.0, 5.0], [0.0, 1.0]]
        assert {key[0].name for key in plans_of(made)} & {"index_select", "reshape"} == {"index_select"}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_numbers_that_no_kernel_takes_are_refused_and_change_nothing(device):
    with machine(devices=1):
        x = torch.arange(3, device=device)
        for number in (2**70, -(2**70)):
            for call, name in ((x.add, "add"), (x.add_, "add_"), (x.add_, "add_")):
                fact = f"{name}: value cannot be converted to type int64 without overflow: {number}\nhint: "
                with pytest.raises(ValueRangeError, match=fact):
                    call(number)
        with pytest.raises(ValueRangeError, match="mul_: value cannot be converted to type float64 without overflow"):
            torch.ones(3, device=device).mul_(10**400)
        assert x.tolist() == [0, 1, 2] and x._version == 0


def test_an_argument_that_no_key_can_hold_is_refused():
    x = torch.ones(2, 3)
    with pytest.raises(
        ArgumentTypeError, match="sum: argument 'dim' must be an int, a tuple of ints or None, not dict"
    ):
        x.sum({})
    with pytest.raises(ArgumentTypeError, match="sum: argument 'dim' must be an int, .* not ndarray"):
        x.sum(np.array([0, 1]))


class TestNames:
    """An operator under another name has that name in errors, and is the same operator."""

    def test_another_name_has_plans_of_its_own_and_the_same_kernels(self):
        with machine(devices=1) as made:
            x = torch.ones(2, 3, device="cuda")
            torch.mul(x, x), torch.multiply(x, x), x.mul_(x)
            names = [key[0].called for key in plans_of(made) if key[0].name == "mul"]
            assert names == ["mul", "multiply", "mul_"] and torch.multiply.__name__ == "multiply"
            assert len(REGISTRY["mul"].kernels) == len(torch.multiply.__wrapped__.kernels)

    def test_errors_of_a_part_are_those_of_what_was_called(self):
        x = torch.ones(2, 3)
        calls = {
            "max": lambda: x.max(7),
            "cumsum": lambda: x.cumsum(4),
            "var": lambda: torch.arange(3).var(),
            "cross_entropy": lambda: torch.nn.functional.cross_entropy(x, torch.ones(3).long()),
            "index_put_": lambda: x.index_put_((torch.tensor([9]),), torch.ones(3)),
            "index_add_": lambda: x.index_add_(0, torch.tensor([9]), torch.ones(1, 3)),
            "clip": lambda: torch.clip(x),
            "tile": lambda: x.tile((-1,)),
            "view": lambda: x.view(torch.float64),
        }
        for name, call in calls.items():
            with pytest.raises(FlambeauError, match=f"^{name}: (?s:.*)\nhint: ") as caught:
                call()
            assert str(caught.value) == f"{caught.value.fact}\nhint: {caught.value.hint}"

    def test_the_reports_of_a_device_keep_the_names_of_what_failed(self):
        error = AcceleratorError("failed on device 0", operator="exp")
        name_error(error, "item")
        assert str(error) == "exp: failed on device 0"


class TestTensorsOfAFormerMachine:
    """After the storages are freed, their addresses may belong to other tensors."""

    CALLS = (
        lambda x: x + 1,
        lambda x: x.fill_(9),
        lambda x: torch.stack([x, x]),
        lambda x: x[0],
        lambda x: x.tolist(),
        lambda x: x.to("cuda:1"),
        lambda x: torch.empty(3).copy_(x),
    )

    @pytest.mark.parametrize("call", CALLS)
    def test_a_call_with_one_is_an_error_and_changes_nothing(self, call):
        with machine(devices=2):
            x = torch.ones(3, device="cuda")
            call(torch.ones(3, device="cuda"))
            call(x.clone())
        with machine(devices=2):
            z = torch.zeros(3, device="cuda")
            call(z.clone())
            assert x.data_ptr() != 0
            with pytest.raises(AcceleratorError, match="12 bytes of cuda:0 .* that no longer exists\nhint: "):
                call(x)
            assert z.tolist() == [0.0] * 3 and (z + 1).tolist() == [1.0] * 3


# composites


def test_a_number_that_is_passed_again_is_not_converted_again():
    converted = []

    def convert(number):
        converted.append(number)
        return float(number)

    def body(call, input: Operand, value: Number):
        out = call.output(input.shape, float32)
        call.launch(fill_kernel(float32), Grid((1, 1, 1), 256), out, passed_as(value, convert, float), out.numel())
        return out

    filled = operator(samples=lambda: [], name="filled")(body)
    del REGISTRY["filled"]
    with machine(devices=1):
        x, numbers = torch.empty(2, device="cuda"), (1000.5, 1000.5, -0.0, 0.0, 0.0, 1000.5)
        found = [filled(x, number) for number in numbers]
        assert [str(each.tolist()[1]) for each in found] == [str(number) for number in numbers]
    assert [str(each) for each in converted] == ["1000.5", "-0.0", "0.0", "1000.5"]


# arguments by name


def test_calls_of_one_form_are_bound_alike():
    softmax = REGISTRY["softmax"]
    bound = [bind(softmax, (1,), {"dim": dim}) for dim in (2, 3)]
    assert bound == [[1, 2, None], [1, 3, None]]
    assert bind(softmax, (), {"dtype": float, "dim": 4, "x": 5}) == [5, 4, torch.float64]
    for _ in range(2):
        with pytest.raises(ArgumentTypeError, match="missing 1 required positional argument: 'dim'"):
            bind(softmax, (1,), {"dtype": None})
        with pytest.raises(ArgumentTypeError, match="unexpected keyword argument 'input'"):
            bind(softmax, (1,), {"dim": 2, "input": 3})


# what an error holds


@pytest.mark.parametrize("call", [lambda x: x.add("text"), lambda x: x.reshape(3), lambda x: x.mul_(torch.ones(3))])
def test_an_error_that_is_dropped_holds_no_operand(call):
    gc.disable()
    try:
        x = torch.ones(2)
        left = weakref.ref(x)
        with contextlib.suppress(FlambeauError):
            call(x)
        del x
        assert left() is None
    finally:
        gc.enable()

"""Operator calls: keys, cached entries, and the operator's name in errors."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import callers
from flambeau.core import thread
from flambeau.core.call import bind
from flambeau.core.entries import Delegation, RunBody
from flambeau.core.plan import Plan
from flambeau.core.storage import placeholder
from flambeau.core.tensor import new_tensor
from flambeau.core.thread import CPU
from flambeau.dtypes import float32
from flambeau.errors import AcceleratorError, ArgumentTypeError, FlambeauError, ValueRangeError, name_error
from flambeau.kernel import Grid, Kernel, Pointer, Scalar
from flambeau.lowering import launch_of
from flambeau.ops.copies import fill_kernel
from flambeau.ops.operator import REGISTRY, Number, Operand, composite, operator, passed_as
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


def test_a_spare_buffer_serves_one_call_which_overwrites_all_that_differs():
    kernel = Kernel(
        "shift", "", [Pointer("out", float32, "w", ("n",)), Scalar("by", "float32"), Scalar("n", "int64")], id
    )
    layout = torch.empty(4)._layout
    step = launch_of(
        kernel,
        None,
        Grid((1, 1, 1), 32),
        [new_tensor(placeholder(CPU, layout.nbytes, 0), layout), Number(1, float), 4],
        "shift",
    )
    first, second = torch.empty(4), torch.empty(4)
    spare = step.spare = step.filled([first, 2.0], [])
    assert kernel.pack([first.data_ptr(), 2.0, 4]) == bytes(spare)
    assert step.filled([second, 3.0], []) is spare
    assert kernel.pack([second.data_ptr(), 3.0, 4]) == bytes(spare)
    assert step.filled([second, 3.0], []) is not spare and step.spare is None


@pytest.mark.devices(1)
def test_launches_that_wait_keep_their_own_numbers(busy):
    side = torch.cuda.Stream()
    x = torch.ones(4, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        busy()
        results = [x * float(n) for n in range(5)]
        assert [each.tolist() for each in results] == [[float(n)] * 4 for n in range(5)]


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


IN_PLACE = """
import sys
import flambeau as torch
x, calls = torch.ones(4), []
def profile(frame, event, called):
    if event == "call" and frame.f_code.co_filename.endswith("pointwise.py"):
        calls.append(frame.f_code.co_name)
for write in (lambda: x.div_(2), lambda: x.add_(x), lambda: x[1:].mul_(0.5)):
    write()
    sys.setprofile(profile)
    write()
    sys.setprofile(None)
print(calls, x.tolist())
"""


def test_a_write_in_place_on_the_cpu_is_one_call_of_numpy():
    environment = {**os.environ, "FLAMBEAU_GPUS": "none"}  # where no tool follows the host
    done = subprocess.run([sys.executable, "-c", IN_PLACE], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[] [1.0, 0.25, 0.25, 0.25]\n", "")

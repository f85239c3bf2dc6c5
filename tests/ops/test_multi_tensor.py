"""Many tensors in a few launches, against float64 loops."""

import math
import re

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, AutogradError, DeviceMismatchError, DtypeError, ShapeError
from flambeau.ops import optimizer_steps
from flambeau.ops.multi_tensor import CHUNK, MANY, SMALL
from flambeau.ops.operator import REGISTRY
from flambeau.ops.optimizer_steps import Rule
from flambeau.optim.optimizer import with_gradients
from tests.optim.stepping import launches

adam_step, sgd_step = REGISTRY["adam_step"], REGISTRY["sgd_step"]
counted_adam_step = REGISTRY["counted_adam_step"]
norm_of_many, limit_norm, clamp_many = REGISTRY["norm_of_many"], REGISTRY["limit_norm"], REGISTRY["clamp_many"]
copy_many = REGISTRY["copy_many"]

SIZES = (5, 0, 1, 3, 1023, 1024, 1025, 4, 20, 1)
TOLERANCE = {"float64": 1e-12, "float32": 4e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
KINDS = ("float32", "float64", "float16", "bfloat16")

pytestmark = pytest.mark.devices(1)


def full(value):
    """A parameter of the full tier."""
    return pytest.param(value, marks=pytest.mark.full)


def sizes(count):
    return [SIZES[index % len(SIZES)] + index // len(SIZES) for index in range(count)]


def arrays(many, seed, low=-1.0, kind="float32"):
    """Values that `kind` holds, as float64."""
    made = np.random.default_rng(seed)
    return [rounded(made.uniform(low, low + 2, size), kind) for size in many]


def rounded(array, kind):
    return torch.tensor(array, dtype=getattr(torch, kind)).to(torch.float64).numpy()


def tensors(values, kind="float32", skip=0):
    """On the GPU; each begins `skip` elements after a multiple of 16 bytes."""
    found = []
    for each in values:
        room = torch.zeros(each.size + skip, dtype=getattr(torch, kind), device="cuda")
        room[skip:].copy_(torch.tensor(each, dtype=getattr(torch, kind)))
        found.append(room[skip:])
    return found


def assert_near(found, wanted, kind="float32"):
    bound = TOLERANCE[kind]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.to("cpu", torch.float64).numpy(), other, rtol=bound, atol=bound)


def adam_loop(params, grads, means, squares, largest, size, beta1, beta2, eps, shrink, decay, root, maximize):
    """One tensor at a time, in float64; the five lists after the step."""
    for index, (param, grad) in enumerate(zip(params, grads)):
        slope = (-grad if maximize else grad) + decay * param
        means[index] = means[index] * beta1 + slope * (1 - beta1)
        squares[index] = squares[index] * beta2 + slope**2 * (1 - beta2)
        square = squares[index]
        if largest:
            square = largest[index] = np.maximum(largest[index], square)
        params[index] = param * shrink - size * means[index] / (np.sqrt(square) / root + eps)


def lists_of(many, kind):
    return [arrays(many, seed, low, kind) for seed, low in enumerate((-1, -1, -1, 0.1, 0.1))]


ADAM = (0.01, 0.9, 0.99, 1e-3, 0.98, 0.05, 0.5)


@pytest.mark.parametrize("count", [1, 2, full(MANY - 1), MANY, MANY + 1, full(70)])
def test_adam_of_any_number_of_tensors(count, gpus):
    values = lists_of(sizes(count), "float32")
    given = [tensors(each) for each in values]
    expected = math.ceil(sum(size > 0 for size in sizes(count)) / MANY)
    assert launches(lambda: adam_step(*given, *ADAM)) == expected
    adam_loop(*values, *ADAM, False)
    for found, wanted in zip(given, values):
        assert_near(found, wanted)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_adam_of_every_type(kind, amsgrad, gpus):
    values = lists_of(sizes(12), kind)
    if not amsgrad:
        values[4] = []
    given = [tensors(each, kind) for each in values]
    adam_step(*given, *ADAM, True)
    adam_loop(*values, *ADAM, True)
    for found, wanted in zip(given, values):
        assert_near(found, wanted, kind)


def counters(counts):
    return [torch.tensor(float(each), device="cuda") for each in counts]


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("count", [1, full(MANY), MANY + 1, full(70)])
def test_counted_adam_of_any_number_of_tensors(count, amsgrad, gpus):
    values = lists_of(sizes(count), "float32")
    values[4] = values[4] if amsgrad else []
    given, steps = [tensors(each) for each in values], counters(range(count))
    updates = math.ceil(sum(size > 0 for size in sizes(count)) / MANY)
    found = launches(lambda: counted_adam_step(*given, steps, 0.01, 0.9, 0.99, 1e-3, 0.98, 0.05, True))
    assert found == updates + math.ceil(count / MANY)
    assert [each.item() for each in steps] == [float(each + 1) for each in range(count)]
    for index in range(count):
        own = [each[index : index + 1] for each in values]
        size, root = 0.01 / (1 - 0.9 ** (index + 1)), math.sqrt(1 - 0.99 ** (index + 1))
        adam_loop(*own, size, 0.9, 0.99, 1e-3, 0.98, 0.05, root, True)
        for found, wanted in zip(given, own):
            assert_near(found[index : index + 1], wanted)


def test_counted_adam_of_large_tensors_between_small_ones(gpus):
    many = [3, 160 * CHUNK + 1, 1, 100_000, 7]
    for skip in (0, 1):
        values = lists_of(many, "float32")
        given = [tensors(each, skip=skip) for each in values]
        counted_adam_step(*given, counters((0, 1, 10, 2, 999)), 0.01, 0.9, 0.999, 1e-3, 1.0, 0.0)
        for index, step in enumerate((1, 2, 11, 3, 1000)):
            own = [each[index : index + 1] for each in values]
            size, root = 0.01 / (1 - 0.9**step), math.sqrt(1 - 0.999**step)
            adam_loop(*own, size, 0.9, 0.999, 1e-3, 1.0, 0.0, root, False)
            for found, wanted in zip(given, own):
                assert_near(found[index : index + 1], wanted)


def test_counters_on_another_device_change_nothing(gpus):
    one = [torch.ones(2, device="cuda")]
    lists = [one, [torch.ones(2, device="cuda")], [torch.zeros(2, device="cuda")], [torch.zeros(2, device="cuda")], []]
    with pytest.raises(DeviceMismatchError, match=r"counted_adam_step: .*steps\[0\] is float32\[\] on cpu"):
        counted_adam_step(*lists, [torch.tensor(0.0)], 0.01, 0.9, 0.999, 1e-3, 1.0, 0.0)
    assert one[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moved", range(4))
def test_tensors_need_not_be_aligned(kind, moved, gpus):
    many = sizes(12)
    values = lists_of(many, kind)[:4]
    given = [tensors(each, kind, skip=int(index == moved)) for index, each in enumerate(values)]
    adam_step(*given, [], *ADAM)
    adam_loop(*values, [], *ADAM, False)
    for found, wanted in zip(given, values):
        assert_near(found, wanted, kind)


def test_nothing_beyond_a_tensor_is_written(gpus):
    for size in (1, 3, 4, 1023, 4096, 4099):
        room, grad = torch.ones(size + 8, device="cuda"), torch.ones(size, device="cuda")
        sgd_step([room[4 : size + 4]], [grad], [], 0.5, 0.0, 1.0, 0.0)
        assert room.tolist() == [1.0] * 4 + [0.5] * size + [1.0] * 4


def test_large_tensors_between_small_ones(gpus):
    many = [3, 160 * CHUNK + 1, 1, 100_000, 0, 7]
    values = [arrays(many, seed) for seed in range(3)]
    given = [tensors(each) for each in values]
    sgd_step(*given, 0.1, 0.9, 0.7, 0.01, True)
    params, grads, sums = values
    for index, (param, grad) in enumerate(zip(params, grads)):
        slope = grad + 0.01 * param
        sums[index] = 0.9 * sums[index] + 0.7 * slope
        params[index] = param - 0.1 * (slope + 0.9 * sums[index])
    assert_near(given[0], params)
    assert_near(given[2], sums)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("kind", KINDS)
def test_sgd_of_every_type(kind, momentum, gpus):
    values = [arrays(sizes(12), seed, kind=kind) for seed in range(3)]
    given = [tensors(each, kind) for each in values]
    sgd_step(*given[:2], given[2] if momentum else [], 0.1, momentum, 0.7, 0.05, False, True)
    params, grads, sums = values
    slopes = [0.05 * param - grad for param, grad in zip(params, grads)]
    if momentum:
        slopes = [momentum * each + 0.7 * slope for each, slope in zip(sums, slopes)]
        assert_near(given[2], slopes, kind)
    assert_near(given[0], [param - 0.1 * slope for param, slope in zip(params, slopes)], kind)


def test_what_is_not_dense_is_changed_too(gpus):
    room = torch.zeros(3, 4, device="cuda")
    param, grad = room.t()[1:], torch.arange(9.0, device="cuda").reshape(3, 3).t()
    sgd_step([param], [grad], [], 1.0, 0.0, 1.0, 0.0)
    assert room.tolist() == [[0.0, *[-float(3 * row + column) for column in range(3)]] for row in range(3)]


def test_types_mix_in_one_call(gpus):
    params = [torch.ones(3, device="cuda"), torch.ones(2, device="cuda", dtype=torch.float64)]
    grads = [torch.ones(3, device="cuda", dtype=torch.float16), torch.ones(2, device="cuda", dtype=torch.float64)]
    assert launches(lambda: sgd_step(params, grads, [], 0.25, 0.0, 1.0, 0.0)) == 3  # one turns the gradient's type
    assert [each.tolist() for each in params] == [[0.75] * 3, [0.75] * 2]


def test_lists_that_do_not_match_change_nothing(gpus):
    one, two = torch.ones(2, device="cuda"), torch.ones(3, device="cuda")
    with pytest.raises(ShapeError, match=r"sgd_step: grads\[1\] has shape \[3\], params\[1\] has \[2\]"):
        sgd_step([one, one.clone()], [one, two], [], 1.0, 0.0, 1.0, 0.0)
    with pytest.raises(ShapeError, match=r"clamp_many: more than one element of a written-to float32\[4\]"):
        clamp_many([one[:1].expand(4)], -1, 1)
    with pytest.raises(DtypeError, match=r"buffers\[0\] is float16, expected float32"):
        sgd_step([one], [one], [one.half()], 1.0, 0.0, 1.0, 0.0)
    with pytest.raises(DeviceMismatchError, match=r"sgd_step: .*grads\[0\] is float32\[2\] on cpu"):
        sgd_step([one], [one.cpu()], [], 1.0, 0.0, 1.0, 0.0)
    assert one.tolist() == [1.0, 1.0]


def test_autograd_sees_the_write(gpus):
    param = nn.Parameter(torch.ones(2, device="cuda"))
    loss = (param * param).sum()
    with pytest.raises(AutogradError, match="sgd_step: a leaf Variable that requires grad"):
        sgd_step([param], [param.detach()], [], 1.0, 0.0, 1.0, 0.0)
    free = torch.ones(2, device="cuda")
    with pytest.raises(AutogradError, match="sgd_step: has no derivative"):
        sgd_step([free], [param], [], 1.0, 0.0, 1.0, 0.0)
    with torch.no_grad():
        sgd_step([param], [torch.ones(2, device="cuda")], [], 1.0, 0.0, 1.0, 0.0)
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, float("inf"), float("-inf"), 0.5])
@pytest.mark.parametrize("count", [1, 7, 70])
def test_norms_are_of_one_long_vector(order, count, gpus):
    values = arrays(sizes(count), 3)
    whole = np.concatenate(values)
    found = norm_of_many(tensors(values), order)
    assert (found.dtype, tuple(found.shape)) == (torch.float32, ())
    assert found.item() == pytest.approx(np.linalg.norm(whole, order), rel=1e-5)
    misaligned = norm_of_many(tensors(values, skip=1), order).item()
    assert misaligned == pytest.approx(found.item(), rel=1e-6)


def test_norms_of_many_types_and_of_large_tensors(gpus):
    values = arrays([300_000, 5, 100_001], 4)
    mixed = [each for kind in ("float64", "float32") for each in tensors(values, kind)]
    mixed += tensors([np.array([300.0])], "float16")
    expected = math.hypot(*[np.linalg.norm(each) for each in [*values, *values]], 300.0)
    assert norm_of_many(mixed).dtype is torch.float64
    assert norm_of_many(mixed).item() == pytest.approx(expected, rel=1e-6)
    halves = [torch.full((100,), 60000.0, device="cuda", dtype=torch.float16)]
    assert norm_of_many(halves).item() == pytest.approx(600000.0)


def test_norms_of_little_and_of_what_is_no_number(gpus):
    nothing = torch.zeros(0, device="cuda")
    assert [norm_of_many([nothing], order).item() for order in (2.0, float("inf"))] == [0.0, 0.0]
    for order in (2.0, 1.0, float("inf"), float("-inf")):
        assert math.isnan(norm_of_many([torch.tensor([1.0, float("nan"), 2.0], device="cuda")], order).item())
    assert norm_of_many([torch.tensor([1.0, -float("inf")], device="cuda")]).item() == float("inf")
    with pytest.raises(ArgumentError, match=r"norm_of_many: order 0\.0 is not supported"):
        norm_of_many([nothing], 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_limits_of_norms(kind, gpus):
    values = arrays(sizes(12), 5, kind=kind)
    total = np.linalg.norm(np.concatenate(values))
    for skip in (0, 1):
        given = tensors(values, kind, skip)
        limit_norm(given, norm_of_many(given), 1.0)
        assert_near(given, [each / (total + SMALL) for each in values], kind)
    kept = tensors(values, kind)
    limit_norm(kept, norm_of_many(kept), 2 * total)
    for found, wanted in zip(kept, values):
        assert found.to("cpu", torch.float64).numpy().tobytes() == wanted.tobytes()
    limit_norm(kept, torch.tensor(float("nan"), device="cuda"), 1.0)
    assert all(math.isnan(value) for each in kept for value in each.tolist())


def test_clamping_many(gpus):
    values = [np.array([-3.0, 0.25, float("nan"), 7.0, float("inf")]), np.array([]), np.linspace(-2, 2, 1001)]
    for kind in KINDS:
        own = [rounded(each, kind) for each in values]
        given = tensors(own, kind)
        clamp_many(given, -1.0, 0.5)
        for found, wanted in zip(given, own):
            np.testing.assert_array_equal(found.to("cpu", torch.float64).numpy(), np.clip(wanted, -1.0, 0.5))


@pytest.mark.parametrize("skip", [0, 1])
def test_copying_many(gpus, skip):
    for kind in KINDS:
        values = arrays(sizes(MANY + 3), seed=4, kind=kind)
        sources, targets = tensors(values, kind, skip), tensors([each * 0 for each in values], kind)
        assert launches(lambda: copy_many(targets, sources, 1.0)) == 2
        assert all(target.equal(source) for target, source in zip(targets, sources))
        copy_many(targets, targets, 0.25)
        assert_near(targets, [each / 4 for each in values], kind)
    with pytest.raises(DtypeError, match=r"copy_many: sources\[0\] is float16, expected float32"):
        copy_many([torch.zeros(1)], [torch.zeros(1).half()], 1.0)


def test_a_parameter_listed_twice_comes_once():
    one, other = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    one.grad = torch.ones(1)
    assert with_gradients({"params": [one, other, one]}) == [one]


RULES = {name: rule for name, rule in vars(optimizer_steps).items() if isinstance(rule, Rule)}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_takes_no_difference_of_rounded_numbers(rule):
    """`1 - beta` of a float32 beta is off by 5e-5 where beta is 0.999: kernels get it from double precision."""
    assert re.findall(r"1 - \w+", rule.cuda) == []
    source = rule._kernel(torch.float32, rule.states).source
    for value in re.findall(r"\b(\w+)_rest\b", rule.cuda):
        assert f"const float {value}_rest = (float)(1 - {value}_given);" in source

"""One test over every operator, dtype and sample: the CPU and the GPU agree, in place and out= agree with the
plain call, derivatives agree with differences, and wrong input fails as the operator says."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.ops.operator import COMPOSITE, LOWERED, POINTWISE, REGISTRY
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine
from flambeau.testing.samples import cases, made

CASES = {case[0]: case[1:] for case in cases()}
BY_OPERATOR: dict[str, list[str]] = {}
for name in CASES:
    BY_OPERATOR.setdefault(name.split("-")[0], []).append(name)
RANDOM = {"uniform", "normal", "random", "bernoulli", "dropout", "randperm"}
ON_HARDWARE = os.environ.get("FLAMBEAU_GPUS") == "nvidia"
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    if ON_HARDWARE:
        yield
        return
    with machine(devices=1):
        yield


def inputs(case: str, device: str, grad: bool = False):
    operator, kind, _, sample = CASES[case]

    def make(dense, array):
        found = tensor(dense, device=device)
        wanted = grad and array.grad and found.dtype is dtypes.float64
        return found.requires_grad_(wanted)

    args = made(sample.args, kind, make)
    return operator, args, {key: made(value, kind, make) for key, value in sample.kwargs.items()}


def arrays(result) -> list[np.ndarray]:
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [each.cpu().detach().numpy() for each in results if each is not None]


def same(one: np.ndarray, other: np.ndarray, case: str) -> None:
    """The same bits on virtual GPUs; on hardware, floating point to a few units in the last place."""
    assert one.dtype == other.dtype and one.shape == other.shape, case
    tolerance = TOLERANCE.get(one.dtype.name)
    if ON_HARDWARE and tolerance is not None:
        wide = np.float64
        np.testing.assert_allclose(other.astype(wide), one.astype(wide), rtol=tolerance, atol=tolerance, err_msg=case)
    else:
        assert one.tobytes() == other.tobytes(), f"{case}\n{one}\n{other}"


@pytest.mark.parametrize("name", sorted(BY_OPERATOR))
def test_cpu_and_gpu_agree(name):
    for case in BY_OPERATOR[name]:
        results = []
        for device in ("cpu", "cuda"):
            torch.manual_seed(5)
            operator, args, kwargs = inputs(case, device)
            results.append(arrays(operator(*args, **kwargs)))
        for one, other in zip(*results, strict=True):
            same(one, other, case)


def written_in_place(name: str) -> Iterator[str]:
    return (case for case in BY_OPERATOR[name] if hasattr(CASES[case][3].args[0], "shape"))


@pytest.mark.parametrize("name", sorted(name for name in BY_OPERATOR if REGISTRY[name].inplace and name not in RANDOM))
def test_in_place_equals_out_of_place(name):
    tried = 0
    for case in written_in_place(name):
        operator, args, kwargs = inputs(case, "cuda")
        plain = operator(*args, **kwargs)
        target = args[0].clone()
        if plain.shape != target.shape or plain.dtype.category > target.dtype.category:
            continue
        assert getattr(target, f"{name}_")(*args[1:], **kwargs) is target
        np.testing.assert_array_equal(target.cpu().numpy(), plain.to(target.dtype).cpu().numpy(), err_msg=case)
        tried += 1
    assert tried


@pytest.mark.parametrize("name", sorted(name for name in BY_OPERATOR if REGISTRY[name].kind in (POINTWISE, LOWERED)))
def test_out_receives_the_result(name):
    for case in BY_OPERATOR[name]:
        operator, args, kwargs = inputs(case, "cuda")
        plain = operator(*args, **kwargs)
        if isinstance(plain, tuple) or name in RANDOM:
            return
        out = plain.clone().fill_(1)
        assert operator(*args, **kwargs, out=out) is out
        np.testing.assert_array_equal(out.cpu().numpy(), plain.cpu().numpy(), err_msg=case)


def differentiable() -> list[str]:
    candidates = {name: REGISTRY[name] for name in sorted(BY_OPERATOR) if name not in RANDOM}
    return [name for name, each in candidates.items() if dtypes.float64 in each.dtypes and each.differentiable]


@pytest.mark.parametrize("name", differentiable())
def test_derivative_agrees_with_differences(name):
    for case in BY_OPERATOR[name]:
        if CASES[case][1] is not dtypes.float64:
            continue
        operator, args, kwargs = inputs(case, "cpu", grad=True)
        flat = [each for each in flatten((args, tuple(kwargs.values()))) if getattr(each, "requires_grad", False)]
        out = operator(*args, **kwargs)
        first = next(each for each in (out if isinstance(out, (tuple, list)) else [out]) if each is not None)
        if not flat or first.dtype is not dtypes.float64 or not first.dtype.is_floating_point or first.numel() == 0:
            continue
        assert operator.backward is not None or operator.kind is COMPOSITE, f"{name} has no derivative"
        gradcheck(lambda *new: operator(*refill(args, flat, new), **refill(kwargs, flat, new)), flat)


def flatten(value):
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from flatten(each)
    else:
        yield value


def refill(value, old, new):
    if isinstance(value, (list, tuple)):
        return type(value)(refill(each, old, new) for each in value)
    if isinstance(value, dict):
        return {name: refill(each, old, new) for name, each in value.items()}
    for before, after in zip(old, new):
        if value is before:
            return after
    return value


@pytest.mark.parametrize("name", sorted(name for name, operator in REGISTRY.items() if operator.errors))
def test_wrong_input_fails_as_the_operator_says(name):
    operator = REGISTRY[name]
    for sample in operator.errors():
        args = made(sample.args, dtypes.float32, lambda dense, array: tensor(dense, device="cuda"))
        with pytest.raises(sample.error, match=sample.match):
            operator(*args, **sample.kwargs)


def test_every_operator_has_samples_and_dtypes():
    functions = [name for name, operator in REGISTRY.items() if operator.function]
    assert [name for name in functions if name not in BY_OPERATOR or not REGISTRY[name].dtypes] == []

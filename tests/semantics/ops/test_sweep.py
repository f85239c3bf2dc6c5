"""One test over every operator, dtype and sample: the CPU and the GPU agree, in place and out= agree with the
plain call, derivatives agree with differences, and wrong input fails as the operator says."""

import os
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import ArgumentTypeError, DeviceMismatchError, FlambeauError, ShapeError
from flambeau.nn import functional
from flambeau.ops.operator import COMPOSITE, LOWERED, POINTWISE, REGISTRY, VIEW, Array
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine
from flambeau.testing.samples import cases, made, values

CASES = {case[0]: case[1:] for case in cases()}
BY_OPERATOR: dict[str, list[str]] = {}
for name in CASES:
    BY_OPERATOR.setdefault(name.split("-")[0], []).append(name)
RANDOM = {
    "uniform", "normal", "random", "bernoulli", "dropout", "randperm",
    "exponential", "cauchy", "log_normal", "geometric", "multinomial", "poisson", "binomial",
}  # fmt: skip
RANDOM |= {"alpha_dropout", "feature_dropout", "feature_alpha_dropout", "rrelu"}
UP_TO_SIGNS = {"linalg_eigh", "linalg_qr", "linalg_svd", "lobpcg", "qr", "svd"}  # libraries choose signs of vectors
ON_HARDWARE = os.environ.get("FLAMBEAU_GPUS") == "nvidia"
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    if ON_HARDWARE:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            yield
        return
    with machine(devices=1):
        yield


def inputs(case: str, device: str, grad: bool = False):
    """An operator and its arguments.  grad: those that its samples mark want gradients; if they mark none, all."""
    operator, kind, _, sample = CASES[case]
    values = [each for other in operator.samples() for each in flatten(other.args)]
    every = not any(each.grad for each in values if isinstance(each, Array))

    def make(dense, array):
        found = tensor(dense, device=device)
        wanted = grad and (array.grad or every) and found.dtype is dtypes.float64
        return found.requires_grad_(wanted)

    args = made(sample.args, kind, make)
    return operator, args, {key: made(value, kind, make) for key, value in sample.kwargs.items()}


def flatten(value):
    if isinstance(value, (list, tuple)) and not isinstance(value, Array):
        for each in value:
            yield from flatten(each)
    else:
        yield value


def arrays(*values) -> list[np.ndarray]:
    """The values of all tensors among `values`."""
    return [each.cpu().detach().numpy() for each in flatten(values) if isinstance(each, torch.Tensor)]


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
def test_cpu_and_gpu_agree(name, sample):
    """Results, and operands, which some operators write."""
    for case in sample(BY_OPERATOR[name], 3):
        results = []
        for device in ("cpu", "cuda"):
            torch.manual_seed(5)
            operator, args, kwargs = inputs(case, device)
            with torch.random.portable():
                results.append(arrays(operator(*args, **kwargs), args))
        assert results[0], case
        for one, other in zip(*results, strict=True):
            if ON_HARDWARE and name in UP_TO_SIGNS:
                one, other = np.abs(one), np.abs(other)
            same(one, other, case)


def of_one_type(name: str) -> list[str]:
    """An operator's cases of one data type: for what does not depend on it."""
    wanted = dtypes.float32 if dtypes.float32 in REGISTRY[name].dtypes else REGISTRY[name].dtypes[0]
    return [case for case in BY_OPERATOR[name] if CASES[case][1] is wanted]


def of_each_type(name: str) -> list[str]:
    """All samples in one data type, and the first in every other: for what has its own code for each, not for both."""
    first = [case for case in BY_OPERATOR[name] if CASES[case][2] == 0]
    return list(dict.fromkeys([*of_one_type(name), *first]))


def written_in_place(cases: list[str]) -> Iterator[str]:
    return (case for case in cases if hasattr(CASES[case][3].args[0], "shape"))


def masks() -> Iterator[tuple[str, Array]]:
    """(operator, array) for every bool array of the samples that has room for both values."""
    for name, operator in sorted(REGISTRY.items()):
        for sample in operator.samples():
            for value in (*sample.args, *sample.kwargs.values()):
                for array in value if type(value) in (list, tuple) else [value]:
                    if isinstance(array, Array) and array.dtype == "bool" and np.prod(array.shape) >= 4:
                        yield name, array


def test_masks_of_samples_are_neither_empty_nor_full():
    found = [(name, array, values(array, dtypes.bool_).mean()) for name, array in masks()]
    assert len(found) > 5 and [(name, array) for name, array, share in found if share in (0, 1)] == []


@pytest.mark.parametrize("name", sorted(name for name in BY_OPERATOR if REGISTRY[name].inplace and name not in RANDOM))
def test_in_place_equals_out_of_place(name):
    tried = []
    for case in written_in_place(of_each_type(name)):
        operator, args, kwargs = inputs(case, "cuda")
        plain = operator(*args, **kwargs)
        target = args[0].clone()
        if plain.shape != target.shape or plain.dtype.category > target.dtype.category:
            continue
        assert getattr(target, f"{name}_")(*args[1:], **kwargs) is target
        np.testing.assert_array_equal(target.cpu().numpy(), plain.to(target.dtype).cpu().numpy(), err_msg=case)
        tried.append(case)
    assert tried


def gives_result_to_out(name: str) -> bool:
    return REGISTRY[name].kind in (POINTWISE, LOWERED) and REGISTRY[name].takes_out


@pytest.mark.parametrize("name", sorted(filter(gives_result_to_out, BY_OPERATOR)))
def test_out_receives_the_result(name, sample):
    tried, every = [], of_each_type(name)
    chosen = sample(every, 2)
    for case in chosen + [case for case in every if case not in chosen]:  # the others if those give no tensor
        if len(tried) == len(chosen):
            break
        torch.manual_seed(5)
        operator, args, kwargs = inputs(case, "cuda")
        plain = operator(*args, **kwargs)
        results = plain if isinstance(plain, tuple) else (plain,)
        if None in results:
            continue
        outs = tuple(each.clone().fill_(1) for each in results)
        torch.manual_seed(5)
        found = operator(*args, **kwargs, out=outs if isinstance(plain, tuple) else outs[0])
        for result, out, expected in zip(flatten([found]), outs, results, strict=True):
            assert result is out, case
            np.testing.assert_array_equal(out.cpu().numpy(), expected.cpu().numpy(), err_msg=case)
        tried.append(case)
    assert tried


SPECIAL = {name for name in REGISTRY if name.startswith("special_")}  # in torch.special alone
NOT_DERIVED = {
    # results that are not floating point
    "all", "any", "argsort", "eq", "ge", "gt", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "le",
    "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "ne", "signbit", "view_dtype",
    # the second result has no derivative, and raises; test_attention.py checks that of the first
    "fused_attention",
    # its gradient is that before a log_softmax; test_ctc.py checks it
    "ctc_paths",
    # they read one triangle, or have results that are not unique; test_factorizations.py checks their derivatives
    "linalg_cholesky", "linalg_eigh", "linalg_svd", "lobpcg", "svd",
    # its samples select nothing; a test below checks its derivative
    "masked_select",
}  # fmt: skip


def differentiable() -> list[str]:
    candidates = {name: REGISTRY[name] for name in sorted(BY_OPERATOR) if name not in RANDOM | NOT_DERIVED}
    return [name for name, each in candidates.items() if dtypes.float64 in each.dtypes and each.differentiable]


@pytest.mark.parametrize("name", differentiable())
def test_derivative_agrees_with_differences(name, sample):
    tried, candidates = [], [case for case in BY_OPERATOR[name] if CASES[case][1] is dtypes.float64]
    enough = len(sample(candidates, 3))
    for case in sample(candidates, 5):  # not all have a derivative
        if len(tried) == enough:
            break
        operator, args, kwargs = inputs(case, "cpu", grad=True)
        flat = [each for each in flatten((args, tuple(kwargs.values()))) if getattr(each, "requires_grad", False)]
        out = operator(*args, **kwargs)
        first = next(each for each in (out if isinstance(out, (tuple, list)) else [out]) if each is not None)
        if not flat or first.dtype is not dtypes.float64 or not first.dtype.is_floating_point or first.numel() == 0:
            continue
        assert operator.backward is not None or operator.kind is COMPOSITE, f"{name} has no derivative"
        is_large = sum(each.numel() for each in flat) > 64
        assert gradcheck(
            lambda *new: operator(*refill(args, flat, new), **refill(kwargs, flat, new)), flat, fast_mode=is_large
        ), case
        tried.append(case)
    assert tried


def test_masked_select_has_the_derivative_of_what_it_selects():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: x.masked_select(torch.tensor([True, False])), [x])
    x.masked_select(torch.tensor([True, False])).sum().backward()
    assert x.grad.tolist() == [[1, 0], [1, 0]]


def refill(value, old, new):
    if isinstance(value, (list, tuple)):
        return type(value)(refill(each, old, new) for each in value)
    if isinstance(value, dict):
        return {name: refill(each, old, new) for name, each in value.items()}
    for before, after in zip(old, new):
        if value is before:
            return after
    return value


# wrong input: every error begins with what was called, says a way out, and has changed nothing


def told(called: str, error: BaseException) -> None:
    assert str(error).startswith(f"{called}: ") and error.fact.isprintable(), str(error)
    assert "\nhint: " in str(error) and error.hint.isprintable(), str(error)


def bad_inputs(operator, device: str):
    for sample in operator.errors():
        make = lambda dense, array: tensor(dense, device=device)  # noqa: E731
        kwargs = {key: made(value, dtypes.float32, make) for key, value in sample.kwargs.items()}
        yield sample, made(sample.args, dtypes.float32, make), kwargs


@pytest.mark.parametrize("name", sorted(name for name, operator in REGISTRY.items() if operator.errors))
def test_wrong_input_fails_as_the_operator_says(name):
    operator = REGISTRY[name]
    for sample, args, kwargs in bad_inputs(operator, "cuda"):
        with pytest.raises(sample.error, match=sample.match) as caught:
            operator(*args, **kwargs)
        told(operator.called, caught.value)


WRITERS = sorted(name for name, operator in REGISTRY.items() if operator.inplace)


@pytest.mark.parametrize("name", [name for name in WRITERS if REGISTRY[name].errors])
def test_wrong_input_in_place_fails_as_the_method_says(name):
    for sample, (target, *args), kwargs in (*bad_inputs(REGISTRY[name], "cpu"), *bad_inputs(REGISTRY[name], "cuda")):
        if not isinstance(target, torch.Tensor) or (name == "bernoulli" and not args):  # which then takes p=0.5
            continue
        before, version = target.clone(), target._version
        with pytest.raises(sample.error, match=sample.match) as caught:
            getattr(target, f"{name}_")(*args, **kwargs)
        told(f"{name}_", caught.value)
        assert target.equal(before) and target._version == version, target.device


@pytest.mark.parametrize("name", sorted(set(WRITERS) & set(BY_OPERATOR)))
def test_a_type_that_cannot_be_written_fails_as_the_method_says(name):
    for case in written_in_place(of_one_type(name)):
        _, (target, *args), kwargs = inputs(case, "cuda")
        integers = target.to(torch.int64)
        before = integers.clone()
        try:
            found = getattr(integers, f"{name}_")(*args, **kwargs)
        except RuntimeError as error:
            told(f"{name}_", error)
            assert integers.equal(before), case
        else:  # it can
            assert found is integers and integers.dtype is torch.int64 and integers.shape == before.shape, case


@pytest.mark.parametrize("name", sorted(name for name in BY_OPERATOR if REGISTRY[name].kind is not VIEW))
def test_an_out_of_another_shape_fails_as_the_operator_says(name):
    operator, args, kwargs = inputs(BY_OPERATOR[name][0], "cuda")
    out = torch.ones(7, 1, 7, 7, device="cuda")
    with pytest.raises((ShapeError, ArgumentTypeError)) as caught:
        operator(*args, **kwargs, out=out)
    told(operator.called, caught.value)
    assert out.eq(1).all()


def on_two_devices(value):
    """A value whose tensors are on the GPU, with its last tensor brought to the CPU."""
    last = [each for each in flatten(value) if isinstance(each, torch.Tensor)][-1]
    return refill(value, [last], [last.cpu()])


def of_several_tensors(name: str) -> list[str]:
    """The cases that take two tensors or more, the last of which is no number (those may be on the CPU)."""
    found = []
    for case in of_one_type(name):
        shapes = [each.shape for each in flatten(CASES[case][3].args) if isinstance(each, Array)]
        if len(shapes) > 1 and shapes[-1] != () and not CASES[case][3].kwargs:
            found.append(case)
    return found


@pytest.mark.parametrize("name", sorted(name for name in BY_OPERATOR if of_several_tensors(name)))
def test_tensors_of_several_devices_fail_as_the_operator_says(name):
    for case in of_several_tensors(name):
        operator, args, kwargs = inputs(case, "cuda")
        args = on_two_devices(args)
        with pytest.raises(DeviceMismatchError, match="Expected all tensors to be on the same device") as caught:
            operator(*args, **kwargs)
        told(operator.called, caught.value)


def is_public(operator) -> bool:
    """Whether programs call it: as a function of torch, of nn.functional or of special, or as a method."""
    return operator.function or operator.method or hasattr(functional, operator.called) or operator.name in SPECIAL


NEEDED = ("Operand", "Operands", "int")  # types that take none of the values below


@pytest.mark.parametrize("name", sorted(name for name in BY_OPERATOR if is_public(REGISTRY[name])))
def test_what_is_no_argument_fails_as_the_operator_says(name):
    """Each argument in turn is replaced.  Some values are arguments after all."""
    operator, args, kwargs = inputs(BY_OPERATOR[name][0], "cuda")
    for (place, parameter), wrong in product(enumerate(operator.parameters), ("text", 1.5, None, ["text"])):
        replaced = (*args[:place], wrong, *args[place + 1 :]) if place < len(args) else args
        try:
            operator(*replaced, **(kwargs if place < len(args) else {**kwargs, parameter.name: wrong}))
        except FlambeauError as error:
            told(operator.called, error)
        else:
            assert wrong is parameter.default or parameter.annotation not in NEEDED, (parameter, wrong)


def test_every_operator_that_can_be_called_wrongly_has_samples_of_it():
    """More than an argument of the wrong type: a shape, a dimension, an index, a number out of range."""
    harmless = ("bool", "float", "Any = None")
    lacking = [
        name
        for name, operator in REGISTRY.items()
        if (is_public(operator) or operator.inplace)
        and [each for each in operator.parameters[1:] if each.annotation not in harmless]
        and not operator.errors
    ]
    assert lacking == []


def test_every_operator_has_samples_and_dtypes():
    functions = [name for name, operator in REGISTRY.items() if is_public(operator)]
    assert [name for name in functions if name not in BY_OPERATOR or not REGISTRY[name].dtypes] == []

"""The guide's operators are real: each printed block is registered and passes what every operator passes."""

import filecmp
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from flambeau import dtypes
from flambeau.errors import FlambeauError
from flambeau.ops.operator import COMPOSITE, LOWERED, POINTWISE, REGISTRY, VIEW, Operator
from flambeau.tensor import Tensor, operators
from flambeau.tensor.factories import tensor
from flambeau.testing import gradgradcheck, kernels, machine
from flambeau.testing.samples import cases, made
from tests.semantics.ops import test_sweep as sweep
from tests.tiers import drawn

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guides" / "adding-an-operator.md"
FENCE = re.compile(r"^```python operator\n# (?P<file>ops/\w+\.py)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DEFINED = re.compile(r"^@(?:pointwise|operator|view|composite)\(.*?^def (\w+)\(", re.MULTILINE | re.DOTALL)
RANDOM = ("rademacher",)
HAS_LIBRARY_CALLS = ("gram",)


class Example(NamedTuple):
    """A block of the guide: the file that it would go to, its text, and the operators that it defines."""

    file: str
    text: str
    names: tuple[str, ...]


EXAMPLES = [
    Example(each["file"], each["text"], tuple(DEFINED.findall(each["text"])))
    for each in FENCE.finditer(GUIDE.read_text())
]
NAMES = [name for each in EXAMPLES for name in each.names]
BY_NAME = {name: each for each in EXAMPLES for name in each.names}


# what each operator means, written apart from it, in float64


def _patches(x, size):
    *lead, height, width = x.shape
    return x.reshape(*lead, height // size, size, width // size, size).swapaxes(-3, -2)


def _unit_rows(x, eps=1e-12):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), eps)


def _cosine(a, b, dim=1, eps=1e-8):
    a, b = np.broadcast_arrays(a, b)
    lengths = [np.maximum(np.linalg.norm(each, axis=dim), eps) for each in (a, b)]
    return 1 - (a * b).sum(dim) / (lengths[0] * lengths[1])


def _add_at(x, index, source):
    flat = x.reshape(-1).copy()
    for place, value in zip(index.reshape(-1), source.reshape(-1)):
        flat[place] = flat[place] or value if flat.dtype == bool else flat[place] + value
    return flat.reshape(x.shape)


def _root_mean_square(x, dim=None, keepdim=False):
    return np.sqrt(np.mean(np.square(x), axis=dim, keepdims=keepdim))


def _z_terms(x):
    logs = np.log(np.exp(x).sum(axis=1))
    return logs * logs, logs


def _z_loss(x, reduction="mean"):
    terms = _z_terms(x)[0]
    return terms if reduction == "none" else getattr(terms, reduction)()


MEANINGS = {
    "hypotenuse": lambda a, b: np.sqrt(1.0 * a * a + 1.0 * b * b),
    "root_mean_square": _root_mean_square,
    "unit_rows": _unit_rows,
    "patches": _patches,
    "cosine_distance": _cosine,
    "pick": lambda x, index: x.reshape(-1)[index],
    "add_at": _add_at,
    "average_many": lambda averages, params, decay: tuple(
        decay * average + (1 - decay) * param for average, param in zip(averages, params)
    ),
    "gram": lambda x: x @ x.swapaxes(-2, -1),
    "z_terms": _z_terms,
    "z_slope": lambda flow, x, logs: flow * np.exp(x - logs),
    "z_loss": _z_loss,
}
WIDEST = {dtypes.BOOL: bool, dtypes.INTEGER: np.int64, dtypes.FLOATING: np.float64}
CLOSE = {"float16": 3e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


# registering a block, and taking it out again


@contextmanager
def registering(example: Example, folder: Path) -> Iterator[None]:
    """The block's operators are there, on a fresh virtual GPU; the sweep knows them alone.  Nothing is left after."""
    before, methods, known = dict(REGISTRY), set(vars(Tensor)), (sweep.CASES, sweep.BY_OPERATOR, sweep.RANDOM)
    try:
        load(example, folder / "example.py")
        operators.install(Tensor)
        found = {case[0]: case[1:] for case in cases() if case[1].name in example.names}
        by_operator = {each: [case for case in found if case.split("-")[0] == each] for each in example.names}
        sweep.CASES, sweep.BY_OPERATOR, sweep.RANDOM = found, by_operator, {*known[2], *RANDOM}
        with machine(devices=1):
            yield
    finally:
        sweep.CASES, sweep.BY_OPERATOR, sweep.RANDOM = known
        REGISTRY.clear()
        REGISTRY.update(before)
        for method in set(vars(Tensor)) - methods:
            delattr(Tensor, method)


def load(example: Example, path: Path) -> None:
    """Run a block as a module of flambeau.ops."""
    path.write_text(example.text)
    spec = importlib.util.spec_from_file_location("flambeau.ops.example", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.fixture
def registered(request, tmp_path) -> Iterator[Operator]:
    """The operator named by the parameter, with its whole block registered."""
    example = BY_NAME[request.param]
    assert not set(example.names) & set(REGISTRY), "the project has this operator now: the guide wants another"
    with registering(example, tmp_path):
        yield REGISTRY[request.param]


every = pytest.mark.parametrize("registered", NAMES, indirect=True)


def test_the_guide_has_an_example_of_every_family():
    assert len(EXAMPLES) == 10 and len(NAMES) == len(set(NAMES)) and set(NAMES) == {*MEANINGS, *RANDOM}
    markers = "@pointwise(", "@operator(", "@view(", "@composite(", "Fold", "plan_rows(", "call.library(", "mutates="
    for marker in markers:
        assert any(marker in each.text for each in EXAMPLES), marker
    assert all(len(line) <= 120 for each in EXAMPLES for line in each.text.splitlines())


# the gates of the sweep


@pytest.mark.parametrize("registered", MEANINGS, indirect=True)
def test_values_are_what_the_operator_means(registered):
    has_values(registered)


def has_values(operator: Operator) -> None:
    for case in sweep.BY_OPERATOR[operator.name]:
        _, kind, _, sample = sweep.CASES[case]
        _, args, kwargs = sweep.inputs(case, "cuda")
        expected = MEANINGS[operator.name](*wide(sample.args, kind), **sample.kwargs)
        found = sweep.arrays(operator(*args, **kwargs))
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for one, other in zip(found, expected, strict=True):
            is_close(one, other, kind, case)


def wide(args, kind):
    """A sample's NumPy values as the type `kind` holds them; floating ones in float64, integers in int64."""

    def each(value):
        if isinstance(value, (list, tuple)):
            return type(value)(each(one) for one in value)
        if not hasattr(value, "numpy"):
            return value
        return value.numpy().astype(WIDEST[value.dtype.category])

    return each(made(args, kind, lambda dense, _: tensor(dense)))


def is_close(one, other, kind, case) -> None:
    assert one.shape == np.shape(other), case
    other = np.asarray(other)
    if one.dtype.name not in CLOSE:
        np.testing.assert_array_equal(one, other.astype(one.dtype), err_msg=case)
        return
    tolerance = max(CLOSE[one.dtype.name], CLOSE.get(kind.name, 0))
    np.testing.assert_allclose(one.astype(np.float64), other, rtol=tolerance, atol=tolerance, err_msg=case)


@pytest.mark.parametrize("registered", RANDOM, indirect=True)
def test_a_draw_is_one_or_minus_one_and_repeats_on_every_device(registered):
    target = tensor(np.zeros(1000, np.float32), device="cuda")
    values = target.rademacher_().cpu().numpy()
    assert set(values) == {1.0, -1.0} and abs(values.sum()) < 100
    sweep.test_cpu_and_gpu_agree(registered.name, drawn)


@every
def test_the_sweep_accepts_it(registered):
    assert sweep.BY_OPERATOR[registered.name] and registered.dtypes and registered.__doc__
    passes_the_sweep(registered)


def passes_the_sweep(operator: Operator) -> None:
    name = operator.name
    sweep.test_cpu_and_gpu_agree(name, drawn)
    if operator.inplace and name not in RANDOM:
        sweep.test_in_place_equals_out_of_place(name)
    if operator.kind in (POINTWISE, LOWERED) and not operator.mutates:
        sweep.test_out_receives_the_result(name, drawn)
    if name in sweep.differentiable():
        sweep.test_derivative_agrees_with_differences(name, drawn)
    if operator.errors is not None:
        sweep.test_wrong_input_fails_as_the_operator_says(name)


@every
def test_samples_are_of_every_type_and_layout(registered):
    """Strided or transposed input, and all floating types at least; internal operators get what their callers give."""
    assert set(dtypes.FLOATING_TYPES) <= set(registered.dtypes)
    text = repr(list(registered.samples()))
    if registered.function:
        assert registered.errors is not None and ("strided" in text or "transposed" in text)


TWICE = (
    "hypotenuse", "root_mean_square", "unit_rows", "patches", "cosine_distance", "pick", "gram", "z_loss", "z_terms",
)  # fmt: skip


@pytest.mark.parametrize("registered", TWICE, indirect=True)
def test_the_second_derivative_agrees_with_differences(registered):
    case = next(each for each in sweep.BY_OPERATOR[registered.name] if sweep.CASES[each][1] is dtypes.float64)
    operator, args, kwargs = sweep.inputs(case, "cpu", grad=True)
    flat = [each for each in sweep.flatten(args) if getattr(each, "requires_grad", False)]
    assert gradgradcheck(lambda *new: operator(*sweep.refill(args, flat, new), **kwargs), flat)


# kernels


def launched(operator: Operator) -> list:
    """The operator's own kernels, in float32 and float16."""
    with machine(devices=1) as virtual:
        for kind in (dtypes.float32, dtypes.float16):
            for sample in operator.samples():
                kernels.call(operator, kind, sample)
        return [each for each in virtual.devices[0].kernels if each.entry.startswith(f"{operator.name}_")]


@pytest.mark.slow
@every
def test_its_kernels_compile(nvrtc, registered, sample):
    own = launched(registered)
    if registered.kind in (VIEW, COMPOSITE) or registered.name in (*HAS_LIBRARY_CALLS, "add_at"):
        assert own == []  # it launches nothing, or what others launch
        return
    assert own
    results = kernels.compiled([(each.entry, each.source) for each in sample(own, 2)], kernels.ARCHITECTURE)
    assert [each.problem for each in results if each.problem] == []


# that the gates can fail

MISTAKES = {
    "a wrong value": ("return np.hypot(input, other)", "return np.hypot(input, input)", has_values),
    "a wrong derivative": ("slope * other if", "slope * input if", passes_the_sweep),
    "a missing error": ("ShapeError, ", "DtypeError, ", passes_the_sweep),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_caught(name, tmp_path):
    old, new, gate = MISTAKES[name]
    text = BY_NAME["hypotenuse"].text.replace("import ShapeError", "import DtypeError, ShapeError")
    assert text.count(old) == 1
    mistaken = BY_NAME["hypotenuse"]._replace(text=text.replace(old, new))
    with registering(mistaken, tmp_path), pytest.raises((AssertionError, FlambeauError)):
        gate(REGISTRY["hypotenuse"])


@pytest.mark.slow
def test_a_mistake_in_cuda_is_caught(nvrtc, tmp_path):
    text = BY_NAME["hypotenuse"].text.replace('"hypot(input, other)"', '"hypot(input, missing)"')
    with registering(BY_NAME["hypotenuse"]._replace(text=text), tmp_path):
        own = launched(REGISTRY["hypotenuse"])
        results = kernels.compiled([(each.entry, each.source) for each in own[:1]], kernels.ARCHITECTURE)
    assert "missing" in results[0].problem


# one file is enough

IS_THERE = """
import sys
import flambeau as torch
from flambeau.testing import kernels
name, has_inplace = sys.argv[1], sys.argv[2] == "True"
torch.virtual(1)
x = torch.arange(1.0, 13.0, device="cuda").reshape(3, 4)
more = (x,) if name == "hypotenuse" else ()
plain = getattr(torch, name)(x, *more)
assert torch.equal(getattr(x, name)(*more), plain)
out = torch.empty_like(plain)
assert getattr(torch, name)(x, *more, out=out) is out and torch.equal(out, plain)
assert hasattr(x, name + "_") == has_inplace
if has_inplace:
    assert torch.equal(getattr(x.clone(), name + "_")(*more), plain)
chosen = [(operator, kind, sample) for operator, kind, sample in kernels.chosen() if operator.name == name]
assert chosen
for each in chosen:
    kernels.call(*each)
machine = torch.core.thread.machine()
assert any(kernel.entry.startswith(name + "_") for kernel in machine.devices[0].kernels)
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the project that a test may change."""
    ignored = shutil.ignore_patterns(".*_cache", "cubins")
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES[:2], ids=lambda each: each.names[0])
def test_one_file_is_all_that_an_operator_touches(copy, example):
    (name,) = example.names
    path = copy / "src" / "flambeau" / example.file
    path.write_text(path.read_text() + example.text.replace("from __future__ import annotations\n", ""))
    assert changed(ROOT / "src", copy / "src") == [path.name]
    run(copy, "-c", IS_THERE, name, str(name == "hypotenuse"))
    gates = ["tests/semantics/ops/test_sweep.py", "tests/test_layers.py"]
    gates += ["-k", f"{name} or every_operator or test_layers"]
    assert "failed" not in run(copy, "-m", "pytest", "-p", "no:cacheprovider", *gates)


def changed(one: Path, other: Path) -> list[str]:
    files = [each for each in one.rglob("*") if each.suffix in (".py", ".cu", ".pxd")]
    return [each.name for each in files if not filecmp.cmp(each, other / each.relative_to(one), shallow=False)]


def run(copy: Path, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLAMBEAU", "PYTEST"))}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, capture_output=True, text=True, timeout=300,
        env={**kept, "PYTHONPATH": str(copy / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

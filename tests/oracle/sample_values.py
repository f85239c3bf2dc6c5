"""PyTorch's results for every operator's samples: `scripts/oracle sample_values --record` writes them anew.

Without --record, prints the cases in which flambeau disagrees with PyTorch; a name after it chooses one operator.
--cuda compares results on an NVIDIA GPU, and records nothing.
Both libraries get the same arguments, through the same public function or method.  Needs PyTorch 2.13, except for
what test_sample_values.py uses: the record, the calls of flambeau, and the comparison.
"""

from __future__ import annotations

import base64
import json
import lzma
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import flambeau
from flambeau.dtypes import BY_NAME, dtype
from flambeau.ops.operator import POINTWISE, REGISTRY, VIEW, Array, Operator, Sample
from flambeau.testing.samples import cases, made, values

RECORDED = Path(__file__).parent / "sample_values.json.xz"
DATA_TYPES = ("float64", "float32", "bfloat16", "int64", "uint8", "bool")
MOST = 48  # values of one result that are recorded; of a larger one, evenly spaced ones
EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e30, -1e30, 1e-30])
MODULES = ("", "nn.functional", "special", "linalg", "Tensor")
PREFIXES = {"special": "special_", "linalg": "linalg_"}

OTHER_PATHS = {  # where the operator's name is not that of the function
    "general_convolution": "convolution",
    "max_dim": "max",
    "min_dim": "min",
}

# Public operators without recorded cases, by reason.
NOT_RECORDED: dict[str, tuple[str, ...]] = {
    "random numbers": (
        "alpha_dropout", "bernoulli", "binomial", "dropout", "feature_alpha_dropout", "feature_dropout", "multinomial",
        "normal", "poisson", "random", "randperm", "rrelu",
    ),
    "takes the tensor that it fills, not a size": ("arange", "linspace"),
    "has the name of a function whose operator is another": ("convolution",),
    "is a part of layer_norm, which is recorded": ("native_layer_norm",),
    "raises: there are no complex numbers": ("linalg_eig", "linalg_eigvals"),
    "test_symmetric.py, test_einsum.py and test_searching.py compare it": (
        "grouped_mm", "histogramdd", "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_ldl_solve", "lobpcg",
    ),
}  # fmt: skip
SKIPPED = {name for names in NOT_RECORDED.values() for name in names}

# What is not compared, by the line of docs/differences.md that explains it.  A name is that of an operator, a sample
# (`topk-3`), a data type's cases (`topk-int64`) or one case (`topk-3-int64`), and then which result, or the gradients.
EXPLAINED: dict[str, tuple[str, ...]] = {
    "indices of topk and kthvalue are of the first of equal elements": (
        "kthvalue-0 results[1]", "topk-0-int64 results[1]", "topk-3 results[1]",
    ),
    "columns of singular vectors have other signs": (
        "linalg_svd-1 results[0]", "linalg_svd-1 results[2]", "linalg_svd-1 gradients[0]",
        "svd-1 results[0]", "svd-1 results[2]", "svd-1 gradients[0]",
    ),
    "a batch without images is unshuffled": ("pixel_unshuffle-2 results[0]",),
    "elements that as_strided_scatter overwrites have a gradient of 0": ("as_strided_scatter gradients[0]",),
    "gradients of Cholesky factors are triangular": (
        "cholesky_inverse gradients[0]", "cholesky_solve gradients[1]",
    ),
    "the slope of hardsigmoid is 1 / 6": ("hardsigmoid gradients[0]",),
    "the last bag ends with the indices": ("embedding_bag-6 results[0]",),
    "gelu of an infinity is no NaN": ("gelu-edges-float32 results[0]",),
    "slopes of activations at NaN are those of the last piece": (
        "hardshrink-edges gradients[0]", "hardtanh-edges gradients[0]", "softshrink-edges gradients[0]",
    ),
    "ldexp of integers does not overflow on the way": ("ldexp-uint8 results[0]",),
    "trigamma has all digits": ("digamma gradients[0]", "polygamma gradients[0]", "polygamma-float64 results[0]"),
}  # fmt: skip


class Case(NamedTuple):
    name: str
    operator: Operator
    data_type: dtype
    sample: Sample


@cache
def explained() -> frozenset[str]:
    return frozenset(name for names in EXPLAINED.values() for name in names)


def explanations(case: str, where: str) -> list[str]:
    """The names in EXPLAINED for a part of a case, such as `results[0]`."""
    operator, number, data_type = case.split("-")
    names = operator, f"{operator}-{number}", f"{operator}-{data_type}", case
    return [found for name in names if (found := f"{name} {where}") in explained()]


class Result(NamedTuple):
    """One tensor: `values` are all or, of a large one, MOST of its elements in order."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    values: np.ndarray


@cache
def all_cases() -> dict[str, Case]:
    """The cases of every public operator; of elementwise ones also those of EDGES, such as `exp-edges-float32`."""
    found = {}
    for name, operator, data_type, number, sample in cases():
        if data_type.name not in DATA_TYPES or not is_public(operator) or operator.name in SKIPPED:
            continue
        found[name] = Case(name, operator, data_type, sample)
        if number == 0 and has_edges(operator) and data_type.name in ("float32", "float64"):
            name = f"{operator.name}-edges-{data_type.name}"
            found[name] = Case(name, operator, data_type, sample)
    return found


def has_edges(operator: Operator) -> bool:
    return operator.kind == POINTWISE and not operator.name.startswith(SPECIAL)


def is_public(operator: Operator) -> bool:
    """Whether programs call it: as a function of a module, or as a method."""
    return bool(operator.function or operator.method or places(operator))


def places(operator: Operator) -> list[str]:
    """Where flambeau has the operator's function, such as `add`, `special.ndtr` and `Tensor.expand`."""
    if operator.name in OTHER_PATHS:
        return [OTHER_PATHS[operator.name]]
    found = []
    for module in MODULES:
        prefix = PREFIXES.get(module, "")
        name = operator.name.removeprefix(prefix)
        if operator.name.startswith(prefix) and public(flambeau, path := f"{module}.{name}".lstrip(".")) is not None:
            found.append(path)
    return found


def public(library: Any, path: str) -> Callable[..., Any] | None:
    """The function at a path such as `nn.functional.gelu`."""
    for name in path.split("."):
        library = getattr(library, name, None)
    return library


def inputs(case: Case, make: Callable[[Any], Any], convert: Callable[[Any], Any]) -> tuple[list, dict, list]:
    """The arguments, and the tensors among them that want gradients.

    make: a tensor of NumPy values.  convert: anything that is no tensor, such as a data type.
    """
    arrays = [each for other in case.operator.samples() for each in flatten(other.args) if isinstance(each, Array)]
    every = not any(array.grad for array in arrays)
    wanted = []

    def made_of(dense: np.ndarray, array: Array) -> Any:
        if "-edges-" in case.name and dense.dtype.kind == "f":
            places = np.arange(dense.size).reshape(dense.shape) * (array.seed + 1) + array.seed
            dense = EDGES[places % len(EDGES)].astype(dense.dtype)
        tensor = make(dense)
        if dense.dtype == np.float64 and (array.grad or every) and case.operator.differentiable:
            wanted.append(tensor.requires_grad_())
        return tensor

    args = made(case.sample.args, case.data_type, made_of)
    kwargs = {key: made(value, case.data_type, made_of) for key, value in case.sample.kwargs.items()}
    return [convert(each) for each in args], {key: convert(value) for key, value in kwargs.items()}, wanted


def flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)) and not isinstance(value, Array):
        for each in value:
            yield from flatten(each)
    else:
        yield value


def outcome(case: Case, path: str, library: Any, inputs: tuple[list, dict, list]) -> tuple[list, list]:
    """The tensors of the result, and the gradients of the weighted sum of all that have some."""
    args, kwargs, wanted = inputs
    found = public(library, path)(*args, **kwargs)
    results = [each for each in flatten(found) if isinstance(each, library.Tensor)]
    derived = [each for each in results if each.requires_grad]
    if not derived:
        return [each.detach() for each in results], []
    total = sum((each * weights(each, library)).sum() for each in derived)
    gradients = library.autograd.grad(total, wanted, allow_unused=True)
    return [each.detach() for each in results], [each.detach() for each in gradients if each is not None]


def weights(result: Any, library: Any) -> Any:
    array = Array(tuple(result.shape), 0.5, 2.0, seed=3)
    return library.tensor(values(array, BY_NAME["float64"])).to(result.device)


# flambeau's and PyTorch's


def ours(case: Case, path: str, device: str) -> tuple[list[Result], list[Result]]:
    given = inputs(case, lambda dense: flambeau.tensor(dense, device=device), lambda value: value)
    return tuple([described(each) for each in part] for part in outcome(case, path, flambeau, given))


def described(tensor: Any) -> Result:
    dense = tensor.cpu().numpy()
    return Result(str(tensor.dtype)[6:], tuple(tensor.shape), tuple(tensor.stride()), chosen(dense))


def chosen(dense: np.ndarray) -> np.ndarray:
    flat = np.ascontiguousarray(dense).reshape(-1)
    return flat if flat.size <= MOST else flat[np.linspace(0, flat.size - 1, MOST).astype(np.int64)]


def theirs(case: Case, path: str, device: str = "cpu") -> tuple[list[Result], list[Result]]:
    import torch

    def make(dense: np.ndarray) -> Any:
        if dense.dtype.name == "bfloat16":
            return torch.tensor(dense.astype(np.float32)).to(device, torch.bfloat16)
        return torch.tensor(dense, device=device)

    def convert(value: Any) -> Any:
        return getattr(torch, value.name) if isinstance(value, dtype) else value

    def described(tensor: Any) -> Result:
        name = str(tensor.dtype)[6:]
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        plain = (tensor.resolve_conj().to(torch.float32) if name == "bfloat16" else tensor).cpu()
        return Result(name, shape, strides, chosen(plain.numpy()).astype(BY_NAME[name].numpy))

    return tuple([described(each) for each in part] for part in outcome(case, path, torch, inputs(case, make, convert)))


# the comparison

# Relative tolerances: of elementwise operators; of special functions, which PyTorch computes in the type itself; and of
# all other results and gradients, relative to the largest value.  TINY is added, for operands of size 1 may cancel.
TOLERANCE = {
    "float64": (1e-12, 1e-10, 1e-12),
    "float32": (5e-7, 3e-5, 1e-5),
    "bfloat16": (8e-3, 1.6e-2, 4e-2),
}
TINY = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7}
SPECIAL = ("special_", "digamma", "igamma", "igammac", "lgamma", "mvlgamma", "polygamma")


def differences(case: Case, mine: tuple[list, list], other: tuple[list, list]) -> dict[str, str]:
    """How flambeau's outcome differs from the recorded one, by `results[0]`, `gradients[1]` or the like."""
    found = {}
    for part, one, two in zip(("results", "gradients"), mine, other, strict=True):
        if part == "gradients" and not two:
            break
        if len(one) != len(two):
            found[part] = f"{len(one)} of them, not {len(two)}"
            break
        for number, (a, b) in enumerate(zip(one, two, strict=True)):
            is_gradient = part == "gradients"
            is_view = not is_gradient and (case.operator.kind == VIEW or case.operator.gives_views)
            if text := difference(a, b, case.operator, is_gradient, is_view):
                found[f"{part}[{number}]"] = text
    return found


def difference(one: Result, other: Result, operator: Operator, is_gradient: bool, is_view: bool) -> str:
    for field in ("dtype", "shape"):
        if getattr(one, field) != getattr(other, field):
            return f"{field} {getattr(one, field)}, not {getattr(other, field)}"
    if is_view and one.strides != other.strides and 0 not in one.shape:
        return f"strides {one.strides}, not {other.strides} of shape {one.shape}"
    if not close(one, other, operator, is_gradient):
        return f"shape {one.shape}\n{one.values}, not\n{other.values}"
    return ""


def close(one: Result, other: Result, operator: Operator, is_gradient: bool) -> bool:
    """Whether values are equal: exactly, or within the tolerance of their data type."""
    if one.dtype not in TOLERANCE:
        return bool(np.array_equal(one.values, other.values))
    a, b = one.values.astype(np.float64), other.values.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    a, b = a[finite], b[finite]
    elementwise, special, others = TOLERANCE[one.dtype]
    if operator.name.startswith(SPECIAL):
        bound = special * np.abs(b)
    elif operator.kind == POINTWISE and not is_gradient:
        bound = elementwise * np.abs(b)
    else:
        bound = others * np.abs(b).max(initial=0)
    bound = bound + TINY[one.dtype]
    return bool(np.all(np.abs(a - b) <= bound))


# the record


def packed(result: Result) -> list:
    return [result.dtype, result.shape, result.strides, base64.b64encode(result.values.tobytes()).decode()]


def unpacked(data_type: str, shape: list, strides: list, text: str) -> Result:
    kind = np.dtype(data_type) if data_type.startswith("complex") else BY_NAME[data_type].numpy
    found = np.frombuffer(base64.b64decode(text), kind)
    return Result(data_type, tuple(shape), tuple(strides), found)


@cache
def recorded() -> dict[str, tuple[str, tuple[list[Result], list[Result]]]]:
    """Every recorded case: the path of the function, and PyTorch's results and gradients."""
    text = json.loads(lzma.decompress(RECORDED.read_bytes()))
    return {
        case: (path, tuple([unpacked(*each) for each in part] for part in parts))
        for path, group in text
        for case, parts in group.items()
    }


def measured(names: Iterable[str], device: str) -> tuple[dict, dict]:
    """PyTorch's outcomes: (path, outcome) of the cases that it has, and the errors of the others."""
    found, errors = {}, {}
    groups = defaultdict(list)
    for name in names:
        groups[all_cases()[name].operator.name].append(name)
    for operator, group in groups.items():
        best: tuple[int, str, dict, dict] | None = None
        for path in places(REGISTRY[operator]):
            have, failed = {}, {}
            for name in group:
                try:
                    have[name] = theirs(all_cases()[name], path, device)
                except Exception as error:  # noqa: BLE001  (a type or form that PyTorch lacks)
                    failed[name] = f"{path}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            if best is None or len(have) > best[0]:
                best = len(have), path, have, failed
        if best is not None:
            found |= {name: (best[1], value) for name, value in best[2].items()}
            errors |= best[3]
    return found, errors


def main() -> int:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    flags = [each for each in sys.argv[1:] if each.startswith("--")]
    wanted = [each for each in sys.argv[1:] if not each.startswith("--")]
    names = [name for name, case in all_cases().items() if not wanted or case.operator.name in wanted]
    device = "cuda" if "--cuda" in flags else "cpu"
    found, errors = measured(names, device)
    if "--record" in flags and device == "cpu":
        groups: defaultdict[str, dict] = defaultdict(dict)
        for name, (path, parts) in found.items():
            groups[path][name] = [[packed(each) for each in part] for part in parts]
        text = json.dumps(sorted(groups.items()), separators=(",", ":"))
        RECORDED.write_bytes(lzma.compress(text.encode(), preset=9))
    if "--errors" in flags:
        for name, text in errors.items():
            print(f"error {name}: {text}")
    different: Counter[str] = Counter()
    for name, (path, other) in found.items():
        case = all_cases()[name]
        try:
            texts = differences(case, ours(case, path, device), other)
        except Exception as error:  # noqa: BLE001  (shown, and counted)
            texts = {"": f"{type(error).__name__}: {error}"}
        unexplained = {where: text for where, text in texts.items() if not explanations(name, where)}
        if unexplained:
            different[case.operator.name] += 1
        for where, text in unexplained.items():
            print(f"{name} {where}: {text}\n    {path}: {case.sample}")
    have = {all_cases()[name].operator.name for name in found}
    print(f"{len(have)} operators, {len(found)} cases, {len(errors)} that PyTorch lacks")
    print(f"{sum(different.values())} cases differ, of {dict(different)}")
    lacking = {name for name in REGISTRY if is_public(REGISTRY[name])} - have - SKIPPED
    if not wanted:
        print("not recorded:", sorted(lacking))
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())

"""Random calls and programs, run by flambeau and by PyTorch and compared: values, types, strides, gradients, errors.

    scripts/oracle fuzz --seed 1 --count 5000        # print the differences
    scripts/oracle fuzz --record                     # write fuzz.json anew

PyTorch computes on the CPU; flambeau on the CPU and on one of two virtual GPUs, twice each: the second run takes what
the first left in the call cache.  Case number i of a seed is always the same.  A case that differs is made smaller.

- Results have the same type, shape, strides, offset and values; so have the operands afterwards, and gradients.
- Errors have the class that PyTorch's have.  What is no error of flambeau's own is of exactly that class.
- After each case every device works, but for an index out of range, which loses a GPU.

`MEANT` lists the differences that are meant; docs/differences.md says why.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import math
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from tests.oracle import autograd_programs, fuzz_operators, fuzz_programs
from tests.oracle.fuzz_draw import Case, Draw, Tensor

RECORDED = Path(__file__).with_suffix(".json")
RECORDED_SEED, RECORDED_COUNT = 2013, 400
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-10}
NOT_COMPARED = {"fused", "capturable", "differentiable"}  # options of optimizers
MACHINE_CASES = 250  # cases that share a machine, and so its call cache and its allocators

Family = Callable[[Draw], Case]
FAMILIES: tuple[tuple[Family, int], ...] = (
    (fuzz_operators.unary, 3), (fuzz_operators.binary, 5), (fuzz_operators.symbol, 4), (fuzz_operators.ternary, 4),
    (fuzz_operators.reduction, 4), (fuzz_operators.view, 4), (fuzz_operators.reading, 5), (fuzz_operators.writing, 5),
    (fuzz_operators.indexing, 4), (fuzz_operators.joining, 4), (fuzz_operators.factory, 4),
    (fuzz_operators.conversion, 4), (fuzz_operators.product, 2), (fuzz_operators.network, 3),
    (fuzz_operators.chain, 2), (fuzz_operators.aliasing, 2), (fuzz_operators.question, 4), (fuzz_programs.gradient, 8),
    (fuzz_programs.views, 6), (fuzz_programs.printing, 6), (fuzz_programs.optimizer, 4), (fuzz_programs.devices, 6),
)  # fmt: skip


def case_of(seed: int, number: int) -> Case:
    """Case `number` of a seed."""
    draw = Draw(f"{seed}/{number}")
    return _family(draw)(draw)


def family_of(seed: int, number: int) -> Family:
    """The generator of case `number` of a seed."""
    return _family(Draw(f"{seed}/{number}"))


def _family(draw: Draw) -> Family:
    return draw.random.choices([each for each, _ in FAMILIES], [weight for _, weight in FAMILIES])[0]


def gpu_of(number: int) -> str:
    """The GPU that a case runs on: by turns the current one and the other."""
    return f"cuda:{number % 2}"


# running a case


class Outcome(NamedTuple):
    """kind: "value", with the results; or "error", with the names of its classes and its first line."""

    kind: str
    found: Any

    @property
    def error(self) -> str:
        return self.found[1] if self.kind == "error" else ""

    @property
    def classes(self) -> list[str]:
        return self.found[0] if self.kind == "error" else []


def run(torch: Any, case: Case, device: str) -> Outcome:
    """Run a case with one of the libraries.  PyTorch computes on the CPU whatever the device."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Outcome("value", _run_steps(torch, case, device) if case.stepwise else _run(torch, case, device))
    except Exception as error:  # noqa: BLE001  (errors are compared too)
        classes = [each.__name__ for each in type(error).__mro__ if each.__module__ in ("builtins", "flambeau.errors")]
        return Outcome("error", [classes, str(error).splitlines()[0] if str(error) else ""])
    finally:
        torch.set_printoptions(profile="default")
        torch.set_printoptions(sci_mode=None)


def _run_steps(torch: Any, case: Case, device: str) -> list[Any]:
    text = case.text
    if device != "cpu":  # only from a GPU save_on_cpu makes copies
        text = text.replace("torch.autograd.graph.save_on_cpu()", "torch.enable_grad()")
    return autograd_programs.run(torch, text.splitlines(), device if is_flambeau(torch) else "cpu")


def _run(torch: Any, case: Case, device: str) -> list[Any]:
    leaves = {name: made(torch, each, device) for name, each in case.tensors.items()}
    is_shown = "set_printoptions" in case.text and "requires_grad_" not in case.text
    if device != "cpu" and not is_flambeau(torch) and is_shown:
        leaves = {name: each.as_subclass(gpu_class(torch, device)) for name, each in leaves.items()}
    names = {**surroundings(torch, device), **leaves}
    tensors = list(leaves.values())
    if case.gradients:
        for name, leaf in leaves.items():
            if leaf.is_floating_point():
                names[name] = leaf.requires_grad_() * 1  # no leaf, so it may be written in place
        tensors = [names[name] for name in leaves]
    result = evaluated(case.text, names)
    found = [snapshot(torch, result, case.strided), [values_of(each) for each in tensors]]
    if case.gradients:
        found.append(derivatives(torch, case.gradients, [result, tensors], list(leaves.values())))
    return found


def is_flambeau(torch: Any) -> bool:
    return torch.__name__ == "flambeau"


def made(torch: Any, tensor: Tensor, device: str) -> Any:
    """A tensor of a case, in one of the libraries."""
    values = [float(each) if isinstance(each, str) else each for each in tensor.values]
    flat = torch.tensor(values, dtype=getattr(torch, tensor.dtype), device=device if is_flambeau(torch) else "cpu")
    return flat.as_strided(tensor.shape, tensor.strides, tensor.offset)


@cache
def gpu_class(torch: Any, device: str) -> type:
    """A class of PyTorch's CPU tensors that print as a GPU's do."""
    return type("tensor", (torch.Tensor,), {"device": property(lambda self: torch.device(device))})


def surroundings(torch: Any, device: str) -> dict[str, Any]:
    """The names that a case may use.  D: its device, E: the other GPU, H: the current GPU."""
    on_gpu = is_flambeau(torch) and device != "cpu"
    places = {"D": device, "E": "cuda:0" if device == "cuda:1" else "cuda:1", "H": "cuda"}

    @contextmanager
    def side(place: str) -> Iterator[None]:
        """A new stream of the device, ordered after the work before it and before the work after it."""
        stream, before = torch.cuda.Stream(place), torch.cuda.current_stream(place)
        for each in ("D", "E"):
            stream.wait_stream(torch.cuda.current_stream(places[each]))
        with torch.cuda.stream(stream):
            yield
        for each in ("D", "E"):
            torch.cuda.current_stream(places[each]).wait_stream(stream)
        before.wait_stream(stream)

    def replayed(call: Callable[[], Any]) -> Any:
        """The results of a captured graph."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(device), torch.cuda.graph(graph):
            found = call()
        graph.replay()
        return found

    found = {"torch": torch, "nn": torch.nn, "math": math, "described": described}
    if on_gpu:
        return {**found, **places, "side": side, "replayed": replayed, "on": torch.cuda.device}
    nothing = {"side": lambda place: nullcontext(), "on": lambda place: nullcontext(), "replayed": lambda call: call()}
    return {**found, **dict.fromkeys(places, "cpu"), **nothing}


def evaluated(text: str, names: dict[str, Any]) -> Any:
    """Run statements; the value of the last one if it is an expression, else None."""
    statements, value = compiled(text)
    exec(statements, names)
    return None if value is None else eval(value, names)


@lru_cache(16)
def compiled(text: str) -> tuple[CodeType, CodeType | None]:
    """The statements, and the last one if it is an expression."""
    body = ast.parse(text).body
    value = compile(ast.Expression(last.value), "case", "eval") if isinstance(last := body[-1], ast.Expr) else None
    return compile(ast.Module(body if value is None else body[:-1], []), "case", "exec"), value


def described(state: Any) -> Any:
    """An optimizer's state without what is not compared: options of other devices, and how LBFGS keeps its steps."""
    if isinstance(state, dict):
        kept = {"func_evals", "n_iter"} if "func_evals" in state else state.keys() - NOT_COMPARED
        return {key: described(state[key]) for key in sorted(kept, key=str)}
    return [described(each) for each in state] if isinstance(state, list) else state


def derivatives(torch: Any, order: int, results: Any, leaves: list[Any]) -> Any:
    """Gradients of weighted sums of the results with respect to the leaves."""
    wanting = [each for each in leaves if each.requires_grad]
    outputs = [each for each in tensors_in(torch, results) if each.requires_grad]
    if not outputs or not wanting:
        return []
    found: list[Any] = []
    for level in range(order):
        weights = [torch.arange(each.numel(), dtype=torch.float64).mul(0.7).cos() for each in outputs]
        total = sum((each.reshape(-1).double().cpu() * weight).sum() for each, weight in zip(outputs, weights))
        if outputs:  # none: the first derivative is constant
            outputs = torch.autograd.grad(total, wanting, allow_unused=True, create_graph=level < order - 1)
        grads = [*outputs, *[None] * (len(wanting) - len(outputs))]
        outputs = [torch.zeros_like(each) if grad is None else grad for each, grad in zip(wanting, grads)]
        found += [snapshot(torch, each.detach(), False) for each in outputs]
        outputs = [each for each in outputs if each.requires_grad]
    return found


def tensors_in(torch: Any, found: Any) -> Iterator[Any]:
    if isinstance(found, torch.Tensor):
        yield found
    elif isinstance(found, (list, tuple)):
        for each in found:
            yield from tensors_in(torch, each)


def values_of(tensor: Any) -> list[Any]:
    return [plain(each) for each in tensor.detach().cpu().reshape(-1).clone().tolist()]


def plain(value: Any) -> Any:
    """A number that JSON has."""
    return value if isinstance(value, (bool, int)) or math.isfinite(value) else str(value)


def snapshot(torch: Any, found: Any, strided: bool) -> Any:
    """The properties of a result that are compared."""
    if isinstance(found, torch.Tensor):
        lies = _lies(found) if strided else None
        kind = str(found.dtype).removeprefix("torch.")
        wants = found.requires_grad
        return {"dtype": kind, "shape": list(found.shape), "lies": lies, "wants": wants, "values": values_of(found)}
    if isinstance(found, dict):
        return [[str(key), snapshot(torch, each, strided)] for key, each in found.items()]
    if isinstance(found, (list, tuple)):
        return [snapshot(torch, each, strided) for each in found]
    if callable(found) or found is None:
        return None
    return plain(found) if isinstance(found, (bool, int, float)) else re.sub(r"Backward\d", "Backward", str(found))


def _lies(tensor: Any) -> list[Any]:
    """Strides that matter, and the offset."""
    moved = [step if size > 1 else 1 for size, step in zip(tensor.shape, tensor.stride())] if tensor.numel() else []
    return [moved, tensor.storage_offset()]


# comparing


def agree(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Whether two runs of a case came to the same."""
    if theirs.kind != ours.kind:
        return False
    if case.stepwise:
        return not autograd_programs.difference(ours.found, theirs.found, case.text.splitlines())
    if theirs.kind == "error":
        first = theirs.classes[0] if theirs.classes[0] != "NotImplementedError" else "RuntimeError"
        return first in ours.classes or "AcceleratorError" in ours.classes and is_index(theirs)
    kinds = {each.dtype for each in case.tensors.values()} | set(re.findall(r"torch\.(\w+)", case.text))
    loosest = max((TOLERANCE.get(each, 0.0) for each in kinds), default=0.0)
    return _alike(theirs.found, ours.found, max(loosest, TOLERANCE["float32"]))


def is_index(theirs: Outcome) -> bool:
    """Whether PyTorch refuses an index, which a GPU finds while it runs."""
    return bool(re.search("out of (DATA )?(range|bounds)|out-of-bounds|Class values|index", theirs.error))


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, dict):
        known = one.keys() == other.keys() if isinstance(other, dict) else False
        return known and all(_alike(one[key], other[key], tolerance) for key in one)
    if isinstance(one, (list, tuple)):
        same = isinstance(other, (list, tuple)) and len(one) == len(other)
        return same and all(_alike(x, y, tolerance) for x, y in zip(one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    return type(one) is type(other) and one == other


def foreign(theirs: Outcome, ours: Outcome) -> bool:
    """Whether an error is a mistake of flambeau, or of a class that neither it nor PyTorch raises there."""
    if ours.kind == "value":
        return False
    same = theirs.kind == "error" and theirs.classes[0] == ours.classes[0]
    return "InternalError" in ours.classes or "FlambeauError" not in ours.classes and not same


SLICE = r"(-?\d*):(-?\d*)(?::(-?\d*))?"


class Rule(NamedTuple):
    """A kind of difference that is meant: patterns for the text of the case, and for the errors of both libraries."""

    why: str
    text: str = ""
    theirs: str = ""
    ours: str = ""
    holds: Callable[[Case, Outcome, Outcome], bool] | None = None

    def covers(self, case: Case, theirs: Outcome, ours: Outcome) -> bool:
        pairs = ((self.text, case.text), (self.theirs, theirs.error), (self.ours, ours.error))
        found = all(re.search(pattern, text) for pattern, text in pairs)
        return found and (self.holds is None or self.holds(case, theirs, ours))


def _has_empty(case: Case, *_: Any) -> bool:
    return any(0 in each.shape for each in case.tensors.values())


def _has_empty_slice(case: Case, *_: Any) -> bool:
    """Whether a slice of an index `a[...]` selects nothing of some dimension."""
    slices = [slice(*(int(each) if each else None for each in found)) for found in re.findall(SLICE, case.text)]
    return any(not range(size)[each] for each in slices for size in case.tensors["a"].shape)


def _has_halves(case: Case, *_: Any) -> bool:
    return any("float16" in each.dtype for each in case.tensors.values())


def _has_halves_and_more(case: Case, *_: Any) -> bool:
    return _has_halves(case) and _has_several_types(case)


def _has_infinite_half(case: Case, *_: Any) -> bool:
    halves = [each for each in case.tensors.values() if each.dtype == "float16"]
    is_beyond = "alpha=0" in case.text and any(float(number) > 65504 for number in re.findall(r"\d+", case.text))
    return any("inf" in str(each.values) for each in halves) or bool(halves) and is_beyond


def _has_infinity(case: Case, *_: Any) -> bool:
    return any("inf" in map(str, each.values) for each in case.tensors.values())


def _has_no_number(case: Case, *_: Any) -> bool:
    return any("inf" in str(value) or str(value) == "nan" for each in case.tensors.values() for value in each.values)


def _refuses_a_view(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    return "error: view" in str(ours.found) and "error" not in str(theirs.found)


def _differ_in_hooks(_: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Whether two programs differ only in what hooks on nodes saw."""
    one, other = ([_without_hooks(step) for step in each.found] for each in (theirs, ours))
    return theirs.kind == ours.kind == "value" and one == other


def _without_hooks(step: Any) -> Any:
    """A step's tensors and gradients: its log (see autograd_programs.py) has the names of hooks alone."""
    if not isinstance(step, list):
        return step
    tensors, log, grads = step
    return tensors, [entry[:2] for entry in log if entry[0] != "added"], grads


def _has_gradients(case: Case, *_: Any) -> bool:
    return case.gradients > 0


def _differ_in_infinities(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Whether elements of derivatives alone differ that are infinite or NaN in one of the libraries."""
    if not case.gradients or theirs.kind != "value" or ours.kind != "value":
        return False
    return agree(case, theirs, Outcome("value", [*ours.found[:2], *_with_infinities(theirs.found[2:], ours.found[2:])]))


def _with_infinities(theirs: Any, ours: Any) -> Any:
    """Ours, with elements of theirs where either is infinite or NaN."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        return {key: _with_infinities(theirs[key], each) for key, each in ours.items()}
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [_with_infinities(one, other) for one, other in zip(theirs, ours)]
    return theirs if {str(theirs), str(ours)} & {"nan", "inf", "-inf"} else ours


def _wrote_nothing(case: Case, _: Outcome, ours: Outcome) -> bool:
    """Whether there was nothing to write for a call of which PyTorch checks the number."""
    if ours.kind != "value":
        return False
    result = ours.found[0]
    return re.match(r"a\[.* = ", case.text) is not None or isinstance(result, dict) and not result["values"]


def _is_not_cast(_: Case, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.kind == "value" and "can't be cast" in str(ours.found)


def _fails_in_backward(_: Case, theirs: Outcome, ours: Outcome) -> bool:
    return "error: " in str(theirs.found) and "error: " not in str(ours.found)


def _differ_in_strides(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Whether strides alone differ."""
    one, other = (Outcome(each.kind, _without_strides(each.found)) for each in (theirs, ours))
    return theirs.kind == "value" and agree(case, one, other)


def _without_strides(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: None if key == "lies" else each for key, each in found.items()}
    return [_without_strides(each) for each in found] if isinstance(found, list) else found


def _is_converted(case: Case, theirs: Outcome, ours: Outcome) -> bool:
    """Whether strides alone differ, of a call for which PyTorch's CPU copies operands to the common type."""
    kinds = {each.dtype for name, each in case.tensors.items() if re.search(rf"\b{name}\b", case.text)}
    results = [each["dtype"] for each in theirs.found if isinstance(each, dict)] if theirs.kind == "value" else []
    return (len(kinds) > 1 or not set(results) <= kinds) and _differ_in_strides(case, theirs, ours)


def _has_several_types(case: Case, *_: Any) -> bool:
    return len({each.dtype for each in case.tensors.values()}) > 1


NO_FORM = "has no attribute|invalid combination|unexpected keyword|must be Tensor, not|missing 1 required"
OTHER_TYPE = "Expected (out tensor to have|the) dtype|Found dtype|same (scalar type|dtype)|only supports bool"
MEANT = (
    Rule("PyTorch's CPU kernels lack the type", theirs="not implemented for|Unsupported dtype|does not support bool"),
    Rule("PyTorch has no such form", theirs=NO_FORM),
    Rule("out= of another shape is an error", "out=", ours="the tensor to write has shape"),
    Rule("a source with gaps that shares memory is copied first", r"^a.*copy_\(a"),
    Rule("PyTorch refuses norms over more than two dimensions", r"norm\(", "2-tuple"),
    Rule("operands of lerp promote", "lerp", "expected dtype"),
    Rule("integers divided by 0 give 0", theirs="ZeroDivisionError"),
    Rule("a number is checked where it is written", theirs="overflow|is out of bounds for", holds=_wrote_nothing),
    Rule("a number is checked where it is written", theirs="overflow", holds=_has_empty),
    Rule("a number is checked even if an operand is empty", ours="overflow", holds=_has_empty),
    Rule("an index is checked even if an operand is empty", ours="out of bounds|no elements", holds=_has_empty),
    Rule("an index is checked even if an operand is empty", r"a\[", ours="out of bounds", holds=_has_empty_slice),
    Rule("an index is checked where it is read", theirs="out of|outside", holds=_has_empty),
    Rule("a number is checked before an index", theirs="index out of range", ours="without overflow"),
    Rule("a bound is checked beside a NaN", r"cl(amp|ip).*nan", ours="without overflow"),
    Rule("numbers of half types are checked everywhere", ours="overflow", holds=_has_halves),
    Rule("numbers of half types are checked everywhere", "float16", ours="overflow"),
    Rule("numbers of half types are converted to float32", theirs="overflow", holds=_has_halves),
    Rule("divisors are rounded to half types", r"//|div", holds=_has_halves_and_more),
    Rule("numbers of sums are not rounded to halves", r"add|sub|[+-]", holds=_has_infinite_half),
    Rule("a line search of tiny steps magnifies roundings", r"(?s)LBFGS.*strong_wolfe.*lr_scheduler"),
    Rule("writes under save_on_cpu are not noticed on the CPU", r"(?s)save_on_cpu.*\w_\("),
    Rule("hooks of invalid views are refused", "register_hook", holds=_refuses_a_view),
    Rule("no hook where nothing is accumulated", r"(?s)post_acc.*requires_grad_\(False\)", holds=_differ_in_hooks),
    Rule("a result may have several nodes", r"(?s)sort.*grad_fn\.register_", holds=_differ_in_hooks),
    Rule("alpha multiplies the product in every case", "addmm.*alpha=(0|float)"),
    Rule("numbers are truncated even if the product is empty", "addmm", holds=_has_empty),
    Rule(
        "dimensions are checked even if an operand is empty",
        ours="multiple times|Dimension out of",
        holds=_has_empty,
    ),
    Rule("elements that share memory are not written", ours="more than one element of the written-to"),
    Rule("views with gaps may not share elements", ours="partly overlaps an input"),
    Rule("gelu of an infinity is no NaN", "(?i)gelu", holds=_has_infinity),
    Rule("bfloat16 is a NumPy type", r"numpy\(", "ScalarType BFloat16"),
    Rule("PyTorch fails inside", theirs="INTERNAL ASSERT"),
    Rule("out= has any type that the result is cast to", "out=", OTHER_TYPE),
    Rule("products of half types have wider derivatives", r"prod\(.*float16", holds=_has_gradients),
    Rule("out= does not choose the type of a sum", r"(sum|prod)\(.*out=", holds=_is_not_cast),
    Rule("an impossible cast is a DtypeError", "out=", "input types can't be cast", "can't be cast"),
    Rule("integers join no graph", theirs="Autograd not support dtype"),
    Rule("a derivative that is not finite", holds=_differ_in_infinities),
    Rule("bounds may broadcast an operand that requires a gradient", "cl(amp|ip)", "doesn't match the broadcast shape"),
    Rule("sort and topk are stable", r"topk|sort\(", holds=_has_gradients),
    Rule("PyTorch lacks the derivative", theirs="derivative for aten::"),
    Rule("PyTorch lacks the derivative", "floor_divide.*out=", holds=_has_gradients),
    Rule("an index is checked when the GPU runs", "out=", "out of (bounds|range)", "don't support automatic"),
    Rule("softmax with out= joins no graph", r"softmax\(.*out=", ours="don't support automatic"),
    Rule("scatter with reduce= and out= joins no graph", r"scatter\(.*reduce=.*out=", ours="automatic differentiation"),
    Rule("alpha= is checked as it is given", r"sub.*alpha=", ours="without overflow"),
    Rule("the copy that ravel makes is no view", r"(?s)ravel\(.*_is_view"),
    Rule("logical calls in place have no derivative", "logical_", ours="derivative is not implemented"),
    Rule("weights of binary cross entropy have derivatives", "binary_cross", "not differentiable with respect"),
    Rule("infinities and NaN as integers", r"torch\.u?int", holds=_has_no_number),
    Rule("attention of infinities and NaN", "scaled_dot", holds=_has_no_number),
    Rule("a step leaves the gradients as they are", r"SGD\((?=.*foreach=True)(?=.*nesterov=True)"),
    Rule("LBFGS takes gradients of every layout", "LBFGS", "view size is not compatible"),
    Rule("steps in which PyTorch divides by zero", "LBFGS|Adafactor", "division by zero"),
    Rule("a tensor of one number is converted as copies are", "masked_fill|fill_", "overflow"),
    Rule("a result that is filled by an index is contiguous", "index_fill|index_put", holds=_differ_in_strides),
    Rule("clamp_min and clamp_max take no bool", "clamp_m", ours="bool operands are not supported"),
    Rule("padding_idx= must name an existing row", "embedding", ours="padding_idx must lie in"),
    Rule("binary_cross_entropy_with_logits follows its input", "with_logits", holds=_differ_in_strides),
    Rule("operands are not copied to the common type", holds=_is_converted),
    Rule("operands are not copied to the common type", r"is_contiguous\(\)$", holds=_has_several_types),
    Rule("the number of nonzero elements joins no graph", r"norm\(.*p=0[,)]", holds=_has_gradients),
    Rule("a variance over no named dimensions has a gradient", r"(var|std)\(.*(\(\)|\[\])", holds=_has_gradients),
    Rule("a stack of contiguous tensors may be channels last", r"stack\(", holds=_differ_in_strides),
    Rule(
        "a checkpoint of which nothing is needed is not run again",
        r"(?s)checkpoint\(.*use_reentrant=False.*requires_grad_\(False\)",
        holds=_fails_in_backward,
    ),
    Rule("second derivatives of a product do not run its node", r"(?s)prod\(.*register_hook"),
    Rule("a written view of a view that is a leaf has its gradient", r"(?s)requires_grad_\(\).*\.detach\(\)\.\w+_\("),
    Rule("expanded views may be filled", "zero_|fill_", "more than one element of the written-to"),
)


def meant(case: Case, theirs: Outcome, ours: Outcome) -> str:
    """Why a difference is meant, or "" if it is not."""
    if foreign(theirs, ours):
        return ""
    return next((rule.why for rule in MEANT if rule.covers(case, theirs, ours)), "")


# a run


class Machines:
    """Virtual machines of two GPUs, each for some cases; another one after a device was lost."""

    def __init__(self) -> None:
        self.stack = ExitStack()

    def renew(self) -> None:
        from flambeau.testing import machine

        self.stack.close()
        self.stack.enter_context(machine(devices=2))

    def lost(self) -> str:
        """Why a device does not work, or ""."""
        import flambeau

        try:
            for device in ("cuda:0", "cuda:1"):
                assert flambeau.ones(2, device=device).tolist() == [1, 1]
        except Exception as error:  # noqa: BLE001
            return f"{device} is lost: {error}"
        return ""


def wrong(flambeau: Any, case: Case, theirs: Outcome, device: str, machines: Machines, known: Counter[str]) -> str:
    """How two runs of a case on a device differ from PyTorch's, and what they leave; "" if they do not."""
    for _ in range(2):
        ours = run(flambeau, case, device)
        if foreign(theirs, ours) or not agree(case, theirs, ours):
            why = meant(case, theirs, ours)
            if not why:
                return f"   PyTorch  {theirs}\n   flambeau {ours}"
            known[why] += 1
        if "AcceleratorError" in ours.classes:
            machines.renew()
        elif device != "cpu" and (lost := machines.lost()):
            if not is_index(theirs):
                return lost
            machines.renew()
    return ""


def differences(torch: Any, flambeau: Any, seed: int, numbers: range, known: Counter[str]) -> Iterator[str]:
    """Descriptions of the cases that differ.  known: counts the cases whose difference is meant, by their reasons."""
    machines = Machines()
    with machines.stack:
        for number in numbers:
            if number % MACHINE_CASES == 0 or number == numbers.start:
                machines.renew()
            case = case_of(seed, number)
            seen: Counter[str] = Counter()
            for device in ("cpu", gpu_of(number)):
                theirs = run(torch, case, device)
                if found := wrong(flambeau, case, theirs, device, machines, seen):
                    yield f"{seed}/{number} on {device}: {report(torch, flambeau, case, device, machines, found)}"
                    machines.renew()
                    break
            known.update(set(seen))


def report(torch: Any, flambeau: Any, case: Case, device: str, machines: Machines, found: str) -> str:
    """A case that differs, as small as it can be made, and how."""

    def failing(each: Case) -> str:
        machines.renew()
        return wrong(flambeau, each, run(torch, each, device), device, machines, Counter())

    note = ""
    if failing(case):
        for smaller in (with_fewer_lines, with_plain_tensors):
            case = smaller(case, failing)
        found = failing(case)
    else:
        note = " (only after the cases before it)"
    listed = "\n".join(f"   {name} = {tuple(each)}" for name, each in case.tensors.items() if name in case.text)
    return f"{case.text}{note}\n{listed}\n{found}"


def with_fewer_lines(case: Case, failing: Callable[[Case], str]) -> Case:
    """The case without the lines that it differs without in the same way."""
    lines, kind = case.text.split("\n"), signature(failing(case))
    at = len(lines) - 1
    while at >= 0 and len(lines) > 1:
        less = case._replace(text="\n".join(lines[:at] + lines[at + 1 :]))
        try:
            if signature(failing(less)) == kind:
                case, lines = less, less.text.split("\n")
        except SyntaxError:
            pass
        at -= 1
    return case


def signature(found: str) -> str:
    """A difference without its values."""
    return re.sub(r"[\d.]+", "", found) if "'error'" in found else found[:3]


def with_plain_tensors(case: Case, failing: Callable[[Case], str]) -> Case:
    """The case with tensors in plain layouts and with simple values, where it differs with them too."""
    for name, tensor in case.tensors.items():
        steps = tuple(math.prod(tensor.shape[dim + 1 :]) for dim in range(len(tensor.shape)))
        count = math.prod(tensor.shape)
        plain_one = tensor._replace(strides=steps, offset=0, values=(tensor.values * (count + 1))[:count])
        ones = [1.0 if isinstance(each, str) else type(each)(1) for each in plain_one.values]
        for change in (plain_one, plain_one._replace(values=ones)):
            smaller = case._replace(tensors={**case.tensors, name: change})
            if failing(smaller):
                case = smaller
    return case


def record(torch: Any) -> str:
    """Write the answers of PyTorch to the cases that need no PyTorch in the suite: on the CPU, and as on a GPU."""
    kept = []
    for number in range(RECORDED_COUNT):
        case = case_of(RECORDED_SEED, number)
        on_cpu, on_gpu = run(torch, case, "cpu"), run(torch, case, gpu_of(number))
        kept.append(json.dumps([case.text, on_cpu, *([on_gpu] if repr(on_gpu) != repr(on_cpu) else [])]))
    RECORDED.write_text("[\n" + ",\n".join(kept) + "\n]\n")
    return f"{len(kept)} cases of PyTorch {torch.__version__}"


def main() -> None:
    import torch

    import flambeau

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    options = parser.parse_args()
    if options.record:
        print(record(torch))
        return
    gc.freeze()  # every captured graph collects garbage first
    known: Counter[str] = Counter()
    begun, count = time.monotonic(), 0
    for found in differences(torch, flambeau, options.seed, range(options.start, options.start + options.count), known):
        print(found, flush=True)
        count += 1
    print("".join(f"{times:6} {why}\n" for why, times in known.most_common()), end="")
    print(f"{sum(known.values())} of {options.count} cases differ as listed, in {time.monotonic() - begun:.0f} s")
    print(f"{count} of {options.count} cases differ")
    sys.exit(count > 0)


if __name__ == "__main__":
    main()

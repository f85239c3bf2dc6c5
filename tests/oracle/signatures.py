"""Compare signatures of flambeau's public functions, methods and classes with PyTorch's: `scripts/oracle signatures`.

Prints every argument that PyTorch takes by a name that flambeau does not take, and every position that has another name
here.  PyTorch's signatures come from `inspect`, from its stub files and from the first lines of its docstrings.  Exits
with 1 if there is a difference that EXPLAINED does not list.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Any, NamedTuple

import torch

MODULES = (
    "", "accelerator", "autograd", "autograd.functional", "autograd.graph", "backends.cuda", "backends.cudnn", "cuda",
    "cuda.comm", "cuda.memory", "cuda.nvtx", "cuda.profiler", "cuda.random", "distributions",
    "distributions.constraints", "distributions.transforms", "func", "multiprocessing", "nn", "nn.functional",
    "nn.init", "nn.parallel", "nn.utils", "optim", "optim.lr_scheduler", "overrides", "profiler", "random", "special",
    "utils.data",
)  # fmt: skip
STUBS = Path(torch.__file__).parent / "_C"
BOTH = (Parameter.POSITIONAL_OR_KEYWORD,)
POSITIONAL = (Parameter.POSITIONAL_ONLY, *BOTH)
BUILTINS = (type(torch.add), type(torch.Tensor.add))
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
STUB_NAMES = {"from_": "from", "self": "input"}  # how stub files write names of arguments
LINE = re.compile(r"^\s*(?:[\w.]+\.)?(\w+)\((.*)\)\s*(?:->.*)?$")

REAL = {  # what calls show where stub files or `inspect` say otherwise
    "torch.tensor": "data, *, dtype, device, requires_grad, pin_memory",
    "torch.Tensor.new_tensor": "data, *, dtype, device, requires_grad, pin_memory",
    "torch.Tensor.requires_grad_": "requires_grad",
    "torch.Tensor.subtract": "other, *, alpha", "torch.Tensor.subtract_": "other, *, alpha",
    "torch.subtract": "input, other, *, alpha, out",
    "torch.from_numpy": "ndarray, /",
    "torch.can_cast": "from_, to",
    "torch.Tensor.contiguous": "*, memory_format",
    "torch.UntypedStorage.fill_": "value, /",
    "torch.UntypedStorage.from_file": "filename, shared, nbytes",
    "torch.full": "size, fill_value, *, out, dtype, layout, device, requires_grad, pin_memory",
    "torch.Tensor.new": "*args, device",
    "torch.Stream.wait_stream": "other, /",
}  # fmt: skip

# Arguments that are not there: docs/differences.md says why.
EXPLAINED: dict[str, tuple[str, ...]] = {
    "implicit=": ("torch.Tensor.expand", "torch.expand_copy"),
    "out_dtype=": ("torch.addmm", "torch.baddbmm", "torch.bmm", "torch.mm"),
    "workqueue_concurrency_limit=": ("torch.cuda.GreenContext.create",),
    "workqueue_scope=": ("torch.cuda.GreenContext.create",),
    "enable_annotations=": ("torch.cuda.graph",),
    "fp32_precision=": ("torch.backends.cudnn.flags",),
    "depthwise_kernel=": ("torch.backends.cudnn.flags",),
    "other=": ("torch.Tensor.to",),
}

OURS = {  # parameters of flambeau's functions whose signatures are *args and **kwargs
    "torch.Tensor.to": "device, dtype, non_blocking, copy, *, memory_format",
    "torch.autograd.Function.backward": "ctx, *args",  # a subclass defines them: any override must pass type checks
    "torch.autograd.Function.vjp": "ctx, *args",
}


class Signature(NamedTuple):
    """positional: names in order, "" for one that no keyword may be.  named: what a keyword may be.

    is_open: whether *args and **kwargs are taken.
    """

    positional: tuple[str, ...]
    named: frozenset[str]
    is_open: tuple[bool, bool]


def of_parameters(parameters: list[Parameter]) -> Signature:
    plain = [each for each in parameters if each.kind not in VARIADIC]
    return Signature(
        tuple(each.name * (each.kind in BOTH) for each in plain if each.kind in POSITIONAL),
        frozenset(each.name for each in plain if each.kind is not Parameter.POSITIONAL_ONLY),
        tuple(any(each.kind is kind for each in parameters) for kind in VARIADIC),
    )


# PyTorch's


@cache
def stubs() -> dict[str, list[Signature]]:
    """The signatures in stub files, by names such as `torch.add`, `torch.Tensor.add` and `nn.gelu`."""
    found: defaultdict[str, list[Signature]] = defaultdict(list)
    for name, path in (("torch", "_VariableFunctions.pyi"), ("nn", "_nn.pyi"), ("C", "__init__.pyi")):
        for node in ast.parse((STUBS / path).read_text()).body:
            if isinstance(node, ast.FunctionDef):
                if name == "C" or not _is_deprecated(node):
                    found[f"{name}.{node.name}"].append(_of_stub(node))
            elif isinstance(node, ast.ClassDef):
                owner = "torch.Tensor" if node.name == "TensorBase" else f"C.{node.name}"
                for method in node.body:
                    if isinstance(method, ast.FunctionDef):
                        found[f"{owner}.{method.name}"].append(_of_stub(method, 1))
    return found


def _is_deprecated(node: ast.FunctionDef) -> bool:
    """Whether it is a former order of arguments, `add(input, alpha, other)`: these alone name a tensor `self`."""
    return any(each.arg == "self" for each in (*node.args.posonlyargs, *node.args.args))


def _of_stub(node: ast.FunctionDef | Any, skipped: int = 0, written: dict[str, str] = STUB_NAMES) -> Signature:
    given = node.args
    positional = [each.arg for each in (*given.posonlyargs, *given.args)][skipped:]
    positional = [written.get(each, each) for each in positional]
    named = [written.get(each.arg, each.arg) for each in given.kwonlyargs]
    if given.vararg and given.vararg.arg != "args":  # `*size`, which has the name of what others take by keyword
        named.append(given.vararg.arg)
    only = max(len(given.posonlyargs) - skipped, 0)
    is_open = given.vararg is not None, given.kwarg is not None
    return Signature(("",) * only + tuple(positional[only:]), frozenset((*positional[only:], *named)), is_open)


def theirs(path: str, value: Any) -> list[Signature]:
    """Every form in which PyTorch takes the arguments of a function or method; empty if none is known."""
    known = stubs()
    name = path.rpartition(".")[2]
    if path in REAL:
        return [_of_stub(ast.parse(f"def {name}({REAL[path]}): ...").body[0], written={})]
    builtin = getattr(value, "__module__", None)
    if isinstance(value, BUILTINS):
        module = "nn" if builtin == "torch._C._nn" else "torch"
        places = [path, f"{module}.{name}", f"C.{name}"]
        for place in places:
            if place in known:
                return known[place]
    try:
        found = of_parameters(_own(value))
        if found.positional or found.named or not all(found.is_open):
            return [found]
    except (TypeError, ValueError):
        pass
    return known.get(path) or known.get(f"C.{path.removeprefix('torch.')}") or _of_text(name, value)


def _own(value: Any, skipped: int = 0) -> list[Parameter]:
    """The parameters, without the first `skipped`, or else without `self`."""
    parameters = list(inspect.signature(value).parameters.values())
    return parameters[skipped or bool(parameters and parameters[0].name in ("self", "cls")) :]


def _of_text(name: str, value: Any) -> list[Signature]:
    """The signatures with which a docstring begins."""
    found = []
    for line in (inspect.getdoc(value) or "").splitlines()[:12]:
        match = LINE.match(line)
        if match is not None and match[1] == name:
            text = re.sub(r"\s*->.*$", "", match[2])
            try:
                node = ast.parse(f"def {name}({re.sub(r'=[^,)]*', '=None', text)}): ...").body[0]
            except SyntaxError:
                continue
            found.append(_of_stub(node))
    return found


# ours


def ours(path: str, value: Any, is_method: bool) -> Signature | None:
    """The parameters of flambeau's function; None if `inspect` finds no signature."""
    if path in OURS:
        return _of_stub(ast.parse(f"def f({OURS[path]}): ...").body[0], written={})
    try:
        own = _own(value, int(is_method)) if is_method or inspect.isclass(value) else _of_function(value)
        found = of_parameters(own)
    except (TypeError, ValueError):
        return None
    if inspect.isclass(value) and inspect.isfunction(value.__new__) and not found.named:
        found = of_parameters(_own(value.__new__, 1))  # `inspect` may have read an `__init__` without arguments
    return found._replace(named=found.named | {*other_names(value)})


def _of_function(value: Any) -> list[Parameter]:
    """The parameters of a function, or of a method that is one too: its `self` may be passed as `input=`."""
    first, *rest = parameters = list(inspect.signature(value).parameters.values()) or [None]
    if first is None:
        return []
    return [first.replace(name="input"), *rest] if first.name == "self" else parameters


def other_names(value: Any) -> dict[str, Any]:
    """Names that flambeau takes for parameters beside those of the signature, and which parameters these are."""
    found = [getattr(each, "other_names", ()) for each in (value, inspect.unwrap(value))]
    return {name: names[name] if isinstance(names, dict) else None for names in found for name in names}


# both


Pair = tuple[str, Any, Any, bool]


def pairs() -> Iterator[Pair]:
    """(name, flambeau's, PyTorch's, whether it is a method) of every public function, method and class of both."""
    seen = set()
    for path in MODULES:
        here = importlib.import_module(f"flambeau.{path}".rstrip("."))
        there = importlib.import_module(f"torch.{path}".rstrip("."))
        for name in sorted(getattr(here, "__all__", None) or dir(here)):
            mine, other = getattr(here, name, None), getattr(there, name, None)
            if name.startswith("_") or not callable(mine) or not callable(other) or type(other).__hash__ is None:
                continue
            if (mine, other) in seen:
                continue
            seen.add((mine, other))
            full = f"torch.{path}.{name}".replace("..", ".")
            yield full, mine, other, False
            if inspect.isclass(mine) and inspect.isclass(other) and not issubclass(mine, BaseException):
                for found in members(full, mine, other):
                    pair = id(found[1]), id(found[2])  # PyTorch's compiled methods have no hash
                    if pair not in seen:
                        seen.add(pair)
                        yield found


def members(full: str, mine: type, other: type) -> Iterator[Pair]:
    """The methods that both classes have."""
    for name in sorted({*dir(mine)} & {*dir(other)}):
        one, two = inspect.getattr_static(mine, name), inspect.getattr_static(other, name)
        if name.startswith("_") or isinstance(one, property) or not callable(getattr(mine, name, None)):
            continue
        if callable(getattr(other, name)) and not inspect.isclass(two):
            is_method = not isinstance(one, classmethod | staticmethod)
            yield f"{full}.{name}", getattr(mine, name), getattr(other, name), is_method


def differences(full: str, mine: Any, other: Any, is_method: bool) -> tuple[list[str], list[str]]:
    """List the names and positions that only PyTorch accepts, as texts: those that are explained, and the rest."""
    forms, own = theirs(full, other), ours(full, mine, is_method)
    if not forms:
        return [], []
    if own is None:
        return [], ["has no signature"]
    private = {name for form in forms for name in form.named if name.startswith("_")}
    private |= {"out"} if full.startswith("torch.Tensor.") else set()  # stub files name it, and no method takes it
    lacking = set().union(*(form.named for form in forms)) - own.named - private
    if own.is_open[1]:
        return [], [f"takes any name: {', '.join(sorted(lacking))}"] if lacking else []
    left_out = {name for name in lacking if full in EXPLAINED.get(f"{name}=", ())}
    found = [f"lacks {name}=" for name in sorted(lacking - left_out)]
    others, positional = other_names(mine), [_without(form.positional, left_out) for form in forms]
    for place in range(max(map(len, positional))):
        wanted = {names[place] for names in positional if place < len(names)}
        have = own.positional[place] if place < len(own.positional) else None
        if wanted & {"", have} or have in {others.get(name) for name in wanted} - {None} or wanted <= private:
            continue
        if have is not None or not own.is_open[0] and not wanted <= lacking:
            found.append(f"position {place} is {have or 'none'}, not {' or '.join(sorted(wanted))}")
    return [f"lacks {name}=" for name in sorted(left_out)], found


def _without(names: tuple[str, ...], left_out: set[str]) -> list[str]:
    return [name for name in names if name not in left_out]


def main() -> int:
    warnings.simplefilter("ignore")
    compared, unexplained = 0, 0
    explained: defaultdict[str, list[str]] = defaultdict(list)
    for pair in pairs():
        compared += 1
        known, unknown = differences(*pair)
        for text in known:
            explained[text].append(pair[0])
        unexplained += len(unknown)
        for text in unknown:
            print(f"{pair[0]}: {text}")
    for text, names in sorted(explained.items()):
        print(f"explained: {text}: {', '.join(names)}")
    print(f"{compared} signatures compared, {unexplained} differences that docs/differences.md does not explain")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

"""One program whose record must be equal compiled and uncompiled: what a user can see of calls.

    python -m tests.both_ways [--uncompiled]

It prints one JSON object: by part of the program, the events that the part recorded.  --uncompiled loads each module of
flambeau from its source, also where a compiled one lies beside it.
"""

from __future__ import annotations

import inspect
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from typing import Any


class Sources:
    """Finds modules of flambeau by their sources alone."""

    @staticmethod
    def find_spec(name: str, path: list[str] | None, target: object = None) -> ModuleSpec | None:
        if not name.startswith("flambeau."):
            return None
        finders = (FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)) for folder in path or ())
        return next((spec for finder in finders if (spec := finder.find_spec(name))), None)


Record = list[Any]


def described(value: Any) -> Any:
    """A value as data of JSON."""
    import flambeau as torch

    if isinstance(value, torch.Tensor):
        grad = type(value.grad_fn).__name__ if value.grad_fn is not None else None
        layout = [list(value.shape), list(value.stride()), value.storage_offset(), value.is_contiguous()]
        kind = [type(value).__name__, str(value.dtype), str(value.device)]
        return [*kind, *layout, grad, value._version, value.tolist()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(described, value)]
    if isinstance(value, dict):
        return {str(key): described(each) for key, each in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__


def error_of(call: Callable[[], Any]) -> list[Any]:
    """The error of a call, or its value.  Python's own errors count by class, as their texts depend on its version."""
    try:
        return ["value", described(call())]
    except Exception as error:  # noqa: BLE001  (whatever a user would see)
        fields = {name: str(getattr(error, name)) for name in ("fact", "hint", "operator") if hasattr(error, name)}
        names = [each.__name__ for each in type(error).__mro__]
        text = str(error) if "FlambeauError" in names else ""
        return ["error", names, text, fields, type(error.__cause__).__name__, error.__suppress_context__]


def values_and_strides(torch: Any, device: str) -> Iterator[Any]:
    x = torch.arange(24.0, device=device).reshape(2, 3, 4)
    y = torch.arange(12, device=device).reshape(3, 4)
    for call in (
        lambda: x + y, lambda: x.transpose(0, 2) * 2, lambda: y.t() + y.t(), lambda: x[:, ::2] - 1, lambda: x.sum(1),
        lambda: x.permute(2, 0, 1).exp(), lambda: x.permute(2, 0, 1).contiguous(), lambda: y / 4, lambda: y // 5,
        lambda: y @ y.t(), lambda: x.max(2), lambda: torch.cat([x, x], 1), lambda: torch.where(y > 5, y, 0),
        lambda: x[0, 1:, [0, 2]], lambda: x.view(6, 4)[::3], lambda: torch.zeros_like(x.transpose(0, 1)),
        lambda: torch.full((2,), 3, device=device), lambda: x.clone().add_(y), lambda: x.expand(2, 2, 3, 4)[1],
        lambda: torch.add(x, 1, out=torch.empty(0, device=device)), lambda: x.sort(descending=True),
        lambda: torch.empty_strided((2, 2), (1, 2), device=device).fill_(2), lambda: 1 - y, lambda: 2**y, lambda: -y,
    ):  # fmt: skip
        yield error_of(call)


def errors(torch: Any, device: str) -> Iterator[Any]:
    x, y = torch.ones(2, 3, device=device), torch.ones(4, device=device)
    leaf = torch.ones(2, device=device, requires_grad=True)
    for call in (
        lambda: x + y, lambda: x.add_(y), lambda: torch.add(x, y, out=x), lambda: x + "text", lambda: x.sum(5),
        lambda: torch.cat([x, y]), lambda: x @ x, lambda: x.view(5), lambda: x[7], lambda: x.no_such_name,
        lambda: torch.add(), lambda: torch.add(x, y, z=1), lambda: torch.ones(-1, device=device), lambda: leaf.add_(1),
        lambda: x.reshape(7, -1), lambda: x.to("cuda:9"), lambda: x.item(), lambda: x.backward(),
        lambda: torch.zeros(2, dtype="float"), lambda: setattr(x, "grad", y), lambda: setattr(x, "requires_grad", 3),
        lambda: setattr(x, "shape", (1,)), lambda: torch.softmax(x, 9), lambda: torch.arange(3, device=device) & 0.5,
        lambda: x.uniform_(2, 1), lambda: torch.randn(2, 3, device="nowhere"), lambda: x.masked_fill(x, 1),
        lambda: len(x[0, 0]),
    ):  # fmt: skip
        yield error_of(call)


def gradients(torch: Any, device: str) -> Iterator[Any]:
    """Every hook that a backward calls."""
    seen: Record = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, input: Any) -> Any:
            seen.append(["forward", ctx.needs_input_grad])
            ctx.save_for_backward(input)
            return input * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(["backward", described(grad), described(ctx.saved_tensors)])
            return grad * 2

    plain = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    leaf = plain.detach().clone().requires_grad_()
    leaf.register_hook(lambda grad: seen.append(["hook", described(grad)]))
    leaf.register_post_accumulate_grad_hook(lambda tensor: seen.append(["accumulated", type(tensor).__name__]))
    for _ in range(2):
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: seen.append(["pack", described(tensor.detach())]) or tensor,
            lambda tensor: seen.append(["unpack", described(tensor.detach())]) or tensor,
        ):
            middle = (leaf * plain).sin()
            middle.retain_grad()
            out = Doubled.apply(middle + 1).sum()
        out.grad_fn.register_hook(lambda *grads: seen.append(["after node", described(grads)]))
        out.grad_fn.register_prehook(lambda grads: seen.append(["before node", described(grads)]))
        out.backward()
        seen.append([described(plain.grad), described(middle.grad)])
    seen.append(error_of(out.backward))
    yield from seen


def uses_of_grad(torch: Any, device: str) -> Iterator[Any]:
    """Each use of `grad` of a subclass that defines the property anew."""
    seen: Record = []

    class Watched(torch.Tensor):
        @property
        def grad(self) -> Any:
            seen.append("get")
            return super().grad

        @grad.setter
        def grad(self, value: Any) -> None:
            seen.append(["set", described(value)])
            torch.Tensor.grad.__set__(self, value)

    leaf = torch.ones(3, device=device).as_subclass(Watched).requires_grad_()
    for step in range(3):
        seen.append(["step", step])
        (leaf * 2).sum().backward()
        seen.append(described(leaf.grad))
    seen.append("to None")
    leaf.grad = None
    yield from seen


def modules_of_functions(torch: Any, device: str) -> Iterator[Any]:
    for name in ("add", "sum", "cat", "zeros", "full", "randn", "where", "arange", "softmax", "matmul", "empty_like"):
        yield [name, error_of(lambda name=name: getattr(torch, name).__module__)]


def functions_of_subclasses(torch: Any, device: str) -> Iterator[Any]:
    seen: Record = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(function, "__name__", repr(function))
            seen.append([name, [each.__name__ for each in types], len(args), sorted(kwargs or {})])
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.arange(6.0, device=device).reshape(2, 3).as_subclass(Told)
    for call in (
        lambda: x + 1, lambda: 1 + x, lambda: torch.add(x, x, alpha=2), lambda: x.sum(0), lambda: x.t(), lambda: x[0],
        lambda: x.mul_(2), lambda: x.shape, lambda: x.grad, lambda: x.dtype, lambda: torch.cat([x, x]),
        lambda: x.is_cuda, lambda: torch.zeros_like(x), lambda: x.to(torch.float64), lambda: x.__setitem__(0, 1),
        lambda: x == x, lambda: len(x),
    ):  # fmt: skip
        seen.append(error_of(call))
    yield from seen


def names(torch: Any, device: str) -> Iterator[Any]:
    """Signatures, texts and pickles."""
    for name in ("add", "sum", "cat", "zeros", "full", "randn", "where", "arange", "softmax", "matmul", "empty_like"):
        function = getattr(torch, name)
        yield [name, str(inspect.signature(function)), function.__name__]
        yield pickle.loads(pickle.dumps(function)) is function
    for name in ("add", "sum", "view", "backward", "item", "__add__", "copy_", "requires_grad_"):
        method = getattr(torch.Tensor, name)
        yield [name, str(inspect.signature(method)), method.__name__]
    x = torch.ones(2, device=device)
    yield [repr(x), str(x.device), repr(torch.Size([1, 2])), repr(torch.float32)]
    yield sorted(name for name in dir(x) if not name.startswith("_"))


PARTS = (values_and_strides, errors, gradients, uses_of_grad, functions_of_subclasses, names, modules_of_functions)


def main() -> None:
    if "--uncompiled" in sys.argv:
        sys.meta_path.insert(0, Sources)
    import flambeau as torch
    from flambeau.tools.compiled import is_compiled

    torch.virtual(1)
    found = {f"{part.__name__} {device}": list(part(torch, device)) for device in ("cpu", "cuda") for part in PARTS}
    print(json.dumps({"compiled": is_compiled(), **found}))


if __name__ == "__main__":
    main()

"""Views as copies: `view_copy(x, size)` is `x.view(size)` in memory of its own, contiguous."""

from __future__ import annotations

from functools import wraps
from typing import Any

from .. import dtypes
from ..memory_formats import contiguous_format
from . import pieces, slicing, views
from .operator import Operator, composite

VIEWS = (  # operator, its arguments after the input, and what they give for torch.arange(4).reshape(2, 2)
    (views.alias, "", "tensor([[0, 1],\n        [2, 3]])"),
    (slicing.as_strided, "(2,), (2,)", "tensor([0, 2])"),
    (slicing.diagonal, "", "tensor([0, 3])"),
    (views.expand, "(1, 2, 2)", "tensor([[[0, 1],\n         [2, 3]]])"),
    (slicing.narrow, "0, 1, 1", "tensor([[2, 3]])"),
    (views.permute, "(1, 0)", "tensor([[0, 2],\n        [1, 3]])"),
    (slicing.select, "1, 0", "tensor([0, 2])"),
    (slicing.slice_, "1, 1", "tensor([[1],\n        [3]])"),
    (slicing.split, "1", "(tensor([[0, 1]]), tensor([[2, 3]]))"),
    (pieces.split_with_sizes, "[1, 1]", "(tensor([[0, 1]]), tensor([[2, 3]]))"),
    (views.squeeze, "", "tensor([[0, 1],\n        [2, 3]])"),
    (views.t, "", "tensor([[0, 2],\n        [1, 3]])"),
    (views.transpose, "0, 1", "tensor([[0, 2],\n        [1, 3]])"),
    (slicing.unbind, "", "(tensor([0, 1]), tensor([2, 3]))"),
    (slicing.unfold, "0, 2, 1", "tensor([[[0, 2],\n         [1, 3]]])"),
    (views.unsqueeze, "0", "tensor([[[0, 1],\n         [2, 3]]])"),
    (views.view_, "(4,)", "tensor([0, 1, 2, 3])"),
)
METHODS = ("narrow",)  # `x.narrow_copy(...)`, which PyTorch has for no other
OTHER_NAMES = {"split_copy": {"split_size": "split_size_or_sections"}}


def _copy(view: Any) -> Any:
    return view.clone(memory_format=contiguous_format)


def _copying(original: Operator, arguments: str, printed: str) -> Operator:
    """Make the operator `<view>_copy`."""
    name = f"{original.name}_copy"

    @wraps(original.body)
    def copied(*values: Any) -> Any:
        result = original.run(values)
        return tuple([_copy(view) for view in result]) if isinstance(result, tuple) else _copy(result)

    copied.__name__ = name
    shown = printed.replace("\n", "\n    ")
    call = f"torch.{name}(torch.arange(4).reshape(2, 2){arguments and ', '}{arguments})"
    several = "each result is" if printed.startswith("(") else "the result is"
    copied.__doc__ = (
        f"As `{original.name}`, but {several} a contiguous copy.\n\n"
        f"Host:   returns at once.\nExample:\n    >>> {call}\n    {shown}\n"
    )
    return composite(
        name=name, samples=original.samples, errors=original.errors, dtypes=dtypes.ALL,
        method=original.name in METHODS, other_names=OTHER_NAMES.get(name, original.other_names),
    )(copied)  # fmt: skip


COPIES = {f"{original.name}_copy": _copying(original, *text) for original, *text in VIEWS}

"""Random choices of the differential fuzzer: data types, numbers, shapes, layouts, values and forms of calls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

FLOATS = ("float32", "float64", "float16", "bfloat16")
WHOLES = ("int64", "int32", "int16", "int8", "uint8")
TYPES = (*FLOATS, *WHOLES, "bool")
USUAL = ("float32", "float32", "float64", "int64", *TYPES)  # drawn more often
SMOOTH = ("float32", "float64", "float64")  # for gradients
NAMES = "abcd"
NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "-2.5", "True", "1e-3", "100", "float('inf')", "float('nan')")
ODD_NUMBERS = ("300", "-300", "2**31", "-2**40", "1e300", "70000")


class Tensor(NamedTuple):
    """A view of given shape, strides and offset over a storage of `values`."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    values: list[Any]


class Case(NamedTuple):
    """Python statements over the tensors that they name.  The last one, if it is an expression, is the result.

    strided: the result's strides are compared.  gradients: derivatives of that order are compared, 1 or 2.
    stepwise: the text is a program of autograd_programs.py, compared after each line.
    """

    text: str
    tensors: dict[str, Tensor]
    strided: bool = True
    gradients: int = 0
    stepwise: bool = False


class Draw:
    """Random choices of one case.  Tensors are given names as they are drawn."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.tensors: dict[str, Tensor] = {}
        self.types: Sequence[str] = USUAL

    def one(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self) -> str:
        return self.one(ODD_NUMBERS) if self.chance(0.1) else self.one(NUMBERS)

    def kind(self) -> str:
        return self.one(self.types)  # type: ignore[no-any-return]

    def kind_but_bool(self) -> str:
        found = self.kind()
        return "int16" if found == "bool" else found

    def size(self, most: int = 4) -> int:
        return 0 if self.chance(0.04) else self.random.randint(1, most)

    def shape(self, ndim: int | None = None) -> tuple[int, ...]:
        count = self.one((0, 1, 1, 2, 2, 2, 3, 3, 4)) if ndim is None else ndim
        return tuple(1 if self.chance(0.15) else self.size() for _ in range(count))

    def beside(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that most often broadcasts with another."""
        if self.chance(0.5):
            return tuple(shape)
        kept = list(shape[self.random.randint(0, len(shape)) :]) if self.chance(0.4) else list(shape)
        made = [1 if self.chance(0.3) else size for size in kept]
        if made and self.chance(0.04):
            made[-1] += 1
        return tuple(made)

    def tensor(
        self, shape: Sequence[int] | None = None, kind: str | None = None, whole: tuple[int, int] | None = None
    ) -> str:
        """Add a tensor; its name.  whole: bounds of integer values that are no accident, such as indexes."""
        size = tuple(self.shape() if shape is None else shape)
        dtype = self.kind() if kind is None else kind
        strides, extent = self._strides(size)
        offset = self.random.randint(1, 3) if self.chance(0.15) else 0
        values = [self._value(dtype, whole) for _ in range(extent + offset)]
        name = NAMES[len(self.tensors)]
        self.tensors[name] = Tensor(size, strides, offset, dtype, values)
        return name

    def _strides(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Strides in some order, sometimes with gaps or repeats, and how many elements they reach."""
        order = list(reversed(range(len(shape))))
        if self.chance(0.45):
            self.random.shuffle(order)
        strides, step = [0] * len(shape), 1
        for dim in order:
            strides[dim] = 0 if self.chance(0.02) else step
            step *= max(shape[dim], 1) * (2 if self.chance(0.08) else 1)
        reach = sum(max(size - 1, 0) * each for size, each in zip(shape, strides)) + 1
        return tuple(strides), reach

    def _value(self, dtype: str, whole: tuple[int, int] | None) -> Any:
        if whole is not None:
            return self.random.randint(*whole)
        if dtype == "bool":
            return self.chance(0.5)
        if dtype not in FLOATS:
            low = 0 if dtype == "uint8" else -5
            return self.one((127, low, 100)) if self.chance(0.03) else self.random.randint(low, 6)
        if self.chance(0.03):
            return self.one(("nan", "inf", "-inf", 0.0, -0.0))
        return self.random.randint(-16, 16) / 4

    def dim(self, ndim: int) -> int:
        """A dimension, now and then out of range."""
        room = max(ndim, 1)
        return self.random.randint(-room - 1, room) if self.chance(0.05) else self.random.randint(-room, room - 1)

    def dims(self, ndim: int) -> str:
        if self.chance(0.2):
            return self.one(("None", "()", "[]"))
        found = tuple(self.dim(ndim) for _ in range(self.random.randint(1, max(ndim, 1))))
        return str(found[0]) if len(found) == 1 and self.chance(0.7) else str(found)

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    def call(self, name: str, first: str, *rest: str, inplace: bool = True, method: bool = True) -> str:
        """A call as a function, as a method or in place."""
        form = self.random.random()
        if inplace and form < 0.2:
            return f"{first}.{name}_({', '.join(rest)})"
        if method and form < 0.5:
            return f"{first}.{name}({', '.join(rest)})"
        given = ", ".join([first, *rest])
        return f"torch.{name}({given})"

    def with_out(self, text: str, share: float = 0.15) -> str:
        """The call of a function with out=: an empty tensor, one of the result's shape, or a view of a larger one."""
        if not text.startswith("torch.") or not text.endswith(")") or not self.chance(share):
            return text
        kind = f", dtype=torch.{self.kind()}" if self.chance(0.06) else ", dtype=R.dtype"
        target = self.one(
            (f"torch.empty(0{kind}, device=D)", "torch.zeros_like(R)", f"torch.zeros(R.shape{kind}, device=D)",
             f"torch.zeros(*R.shape, 2{kind}, device=D)[..., 1]",
             f"torch.zeros(R.shape[::-1]{kind}, device=D).permute([*range(R.ndim)[::-1]])")
        )  # fmt: skip
        return f"R = {text}\no = {target}\n[{text[:-1]}, out=o), o]"

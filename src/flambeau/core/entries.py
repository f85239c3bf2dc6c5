"""Entries of the call cache that replace a plan, the interface that makes entries, and their addition and eviction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from .operator import Operator
from .plan import Plan
from .tensor import TensorBase

if TYPE_CHECKING:
    from .thread import Plans


class Marker:
    """A value in keys that equals only itself."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


TRUE, FALSE = Marker("TRUE"), Marker("FALSE")  # in keys, because 1 == True


class Delegation:
    """Entry of a composite that is one call of another operator.

    arguments: the other operator's, without those that `sources` supplies.
    sources: pairs (index among the composite's arguments, index among the other operator's arguments).
    part: index of the composite's result among several results, or -1.  used: as in Plan.
    plan: the other operator's plan, which serves calls outside a graph directly, or None.
    may_keep: whether a plan may be kept, which requires a key without user settings.
    """

    __slots__ = ("arguments", "may_keep", "operator", "part", "plan", "sources", "used")

    def __init__(self, operator: Operator, arguments: list[Any], sources: list[tuple[int, int]], part: int) -> None:
        self.operator = operator
        self.arguments = arguments
        self.sources = sources
        self.part = part
        self.used = 0
        self.plan: Any = None
        self.may_keep = operator.setting is None

    def keep(self, entry: Any) -> None:
        """Keep the plan that served the other operator's call, unless a setting may make it stale."""
        self.may_keep = False
        if isinstance(entry, Plan) and entry.settings is None:
            self.plan = entry


class MovedScalars:
    """Entry of a call that mixes zero-dimensional CPU tensors with CUDA tensors: every call moves them.

    indexes: the positions of these arguments;  device: the CUDA device's index;  names: of the parameters.
    """

    __slots__ = ("device", "indexes", "names", "used")

    def __init__(self, indexes: list[int], device: int, names: Sequence[str]) -> None:
        self.indexes = indexes
        self.device = device
        self.names = names
        self.used = 0


class RunBody:
    """Entry of a composite that needs values: its body runs in every call."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = 0


class Lowering:
    """Interface to the modules above the core, which lower calls: see `call.set_lowering`."""

    __slots__ = ()
    misuses: tuple[type[Exception], ...] = ()

    def entry_for(self, operator: Operator, bound: list[Any], target: Any) -> Any:
        """Return a new entry for a call that has none.  target: the tensor to write, or None."""
        raise AssertionError("set_lowering replaces it")

    def raise_misuse(self, operator: Operator, bound: list[Any], error: Exception) -> NoReturn:
        """Raise the error for a call that failed with one of `misuses`."""
        raise AssertionError("set_lowering replaces it")

    def with_moved(self, moved: MovedScalars, bound: list[Any]) -> list[Any]:
        """Return the arguments of a call, after moving those that its entry names; differentiable."""
        raise AssertionError("set_lowering replaces it")

    def copy_(self, target: TensorBase, first: int, source: TensorBase) -> Any:
        """Overwrite a tensor with a composite's result, whose nodes have numbers from `first` on; differentiable."""
        raise AssertionError("set_lowering replaces it")

    def write_out(self, operator: Operator, bound: list[Any], out: Any, result: Any) -> Any:
        """Store a call's result in the tensors of out=; return what the call returns."""
        raise AssertionError("set_lowering replaces it")


def add_entry(plans: Plans, key: Any, entry: Any) -> None:
    """Add an entry.  At the limit, the least recently used quarter is dropped."""
    if len(plans.entries) >= plans.limit:
        with plans.lock:
            _drop_oldest(plans.entries)
    plans.clock += 1
    entry.used = plans.clock
    plans.entries[key] = entry


def _drop_oldest(entries: dict[Any, Any]) -> None:
    by_use = sorted(list(entries.items()), key=lambda item: item[1].used)  # a copy: other threads may add entries
    for key, _ in by_use[: len(by_use) // 4]:
        entries.pop(key, None)


def is_stale(settings: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether one of the user settings that a plan depends on has changed since.  settings: see plan.Plan."""
    return any(setting.value is not value and setting.value != value for setting, value in settings)

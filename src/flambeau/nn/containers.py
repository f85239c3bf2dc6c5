"""Modules that hold others in order or by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from ..errors import ArgumentTypeError, IndexRangeError, NotSupportedError
from . import text
from .module import Module
from .parameter import Parameter


def _position(index: Any, length: int, kind: str) -> int:
    place = index.__index__()
    if not -length <= place < length:
        raise IndexRangeError(f"{kind}: index {place} is out of range for {length} entries")
    return place % length  # type: ignore[no-any-return]


class _Ordered(Module):
    """Children called "0", "1" and so on."""

    def _replace_all(self, modules: Iterable[Any]) -> None:
        self._modules.clear()
        for index, module in enumerate(modules):
            self.add_module(str(index), module)

    def _key(self, index: Any) -> str:
        return list(self._modules)[_position(index, len(self), self._get_name())]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._sliced(index)
        return self._modules[self._key(index)]

    def _sliced(self, index: slice) -> Any:
        return type(self)(list(self._modules.values())[index])

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        left = list(self._modules.values())
        if not isinstance(index, slice):
            index = _position(index, len(left), self._get_name())  # type: ignore[assignment]
        del left[index]
        self._replace_all(left)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
        whole = list(self._modules.values())
        whole.insert(index, module)
        self._replace_all(whole)
        return self

    def pop(self, index: int = -1) -> Any:
        """Take the module at `index` out, and return it."""
        found = self[index]
        del self[index]
        return found


class Sequential(_Ordered):
    """Modules called one after the other, each with the result of the one before.

    Takes the modules, or one mapping of names to modules.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self._replace_all(modules)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _sliced(self, index: slice) -> Any:
        return type(self)(dict(list(self._modules.items())[index]))


class ModuleList(_Ordered):
    """A list of modules that are registered as children; it has no forward."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._replace_all(modules or ())

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("ModuleList has no forward", hint="call its modules, or use Sequential")

    def __repr__(self) -> str:
        return text.folded(self._get_name(), list(self))


class ModuleDict(Module):
    """Modules by name, in the order in which they were added; it has no forward."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from (name, module) pairs, in place of those of the same name."""
        for name, module in modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules:
            self[name] = module

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()

    def pop(self, name: str) -> Any:
        """Take a module out, and return it."""
        return self._modules.pop(name)

    def clear(self) -> None:
        self._modules.clear()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("ModuleDict has no forward", hint="call its modules")


class ParameterList(Module):
    """A list of parameters that are registered; tensors become parameters.  It has no forward."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList([self[each] for each in range(*index.indices(self._size))])
        return getattr(self, str(_position(index, self._size, "ParameterList")))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(_position(index, self._size, "ParameterList")), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[index] for index in range(self._size)])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a parameter at the end."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end."""
        for each in list(values):
            self.append(each)
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("ParameterList has no forward", hint="use its parameters")

    def __repr__(self) -> str:
        lines = [f"({index}): Parameter containing: [{each.describe()}]" for index, each in enumerate(self)]
        return text.enclosed("ParameterList", [], lines)


def _as_parameter(value: Any) -> Parameter:
    if isinstance(value, Parameter):
        return value
    if not hasattr(value, "storage"):
        raise ArgumentTypeError(f"ParameterList: entries must be tensors, got {type(value).__name__}")
    return Parameter(value)

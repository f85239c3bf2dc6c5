"""Containers of modules and parameters: Sequential, ModuleList, ModuleDict, ParameterList."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Self, SupportsIndex

from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, IndexRangeError, NamingError, NotSupportedError, naming, shown
from ..tensor import checks
from .module import Module, check_child, check_name, folded
from .parameter import Parameter


def _position(index: SupportsIndex, length: int, name: str) -> int:
    checks.integer(name, "an index", index)
    position = index.__index__()
    if not -length <= position < length:
        raise IndexRangeError(
            f"index {position} is out of range for {length} entries",
            hint=f"use {-length} to {length - 1}",
            operator=name,
        )
    return position % length


class _Ordered(Module):
    """Base of containers whose children have the names "0", "1" and so on."""

    def _replace_all(self, modules: Iterable[Any]) -> None:
        """Replace all children by these modules.  Raises ArgumentTypeError before anything is replaced."""
        for index, module in enumerate(modules):
            check_child(self._get_name(), str(index), module, Module)
        self._modules.clear()
        for index, module in enumerate(modules):
            self.add_module(str(index), module)

    def _key(self, index: Any) -> str:
        keys: list[str] = list(self._modules)
        return keys[_position(index, len(self), self._get_name())]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._sliced(index)
        return self._modules[self._key(index)]

    def _sliced(self, index: slice) -> Any:
        cls: Any = type(self)
        return cls(list(self._modules.values())[index])

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        left = list(self._modules.values())
        if not isinstance(index, slice):
            index = _position(index, len(left), self._get_name())
        del left[index]
        self._replace_all(left)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def append(self, module: Module) -> Self:
        """Add a module at the end; return this container.

        Raises: ArgumentTypeError for a value that is not a module.
        Example:
            >>> layers = torch.nn.ModuleList([torch.nn.Flatten()])
            >>> layers.append(torch.nn.ReLU())[1]
            ReLU()
        """
        with naming("append"):
            self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; return this container.

        Raises: ArgumentTypeError for a value that is not a module; nothing is added then.
        Example:
            >>> layers = torch.nn.ModuleList([torch.nn.Flatten()])
            >>> len(layers.extend([torch.nn.ReLU(), torch.nn.Tanh()]))
            3
        """
        listed = checks.listed("extend", "modules", "modules", modules)
        for index, module in enumerate(listed):
            check_child("extend", str(len(self) + index), module, Module)
        for module in listed:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before the one at `index`; return this container.

        index: negative numbers count from the end; the length of the container adds the module at the end.

        Raises: IndexRangeError for an index out of range, ArgumentTypeError for a value that is not a module.
        Example:
            >>> torch.nn.ModuleList([torch.nn.Flatten()]).insert(0, torch.nn.ReLU())
            ModuleList(
              (0): ReLU()
              (1): Flatten(start_dim=1, end_dim=-1)
            )
        """
        whole = list(self._modules.values())
        checks.integer("insert", "index", index)
        if not -len(whole) <= index <= len(whole):
            raise IndexRangeError(
                f"index {index} is out of range for {len(whole)} entries",
                hint="use append() to add at the end",
                operator="insert",
            )
        whole.insert(index, module)
        with naming("insert"):
            self._replace_all(whole)
        return self

    def pop(self, key: int = -1) -> Any:
        """Remove the module at index `key` and return it.

        Raises: IndexRangeError for an index out of range.
        Example:
            >>> layers = torch.nn.ModuleList([torch.nn.Flatten(), torch.nn.ReLU()])
            >>> layers.pop(0), len(layers)
            (Flatten(start_dim=1, end_dim=-1), 1)
        """
        with naming("pop"):
            module = self[key]
            del self[key]
        return module


def _sequential(operand: Any) -> Sequential:
    if not isinstance(operand, Sequential):
        raise ArgumentError(
            f"expected a Sequential as the operand, got {type(operand).__name__}",
            hint="use extend for other modules",
            operator="Sequential",
        )
    return operand


def _factor(factor: Any) -> int:
    checks.integer("Sequential", "the factor", factor)
    if factor < 1:
        raise ArgumentError(
            f"expected a factor of at least 1, got {factor}", hint="pass the number of copies", operator="Sequential"
        )
    return int(factor)


class Sequential(_Ordered):
    """Call modules one after the other, each with the result of the previous one.

    modules: any number of modules, or one mapping of names to modules.
    Shapes: the input fits the first module; the result is that of the last one.
    Raises: ArgumentTypeError for a value that is not a module, NamingError for a name that is empty or has a dot; on
            indexing, IndexRangeError for an index out of range, ArgumentTypeError for one that is not an int.
    Example:
        >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
        >>> net(torch.tensor([[[-1.0], [2.0]]]))
        tensor([[0., 2.]])
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            with naming(self._get_name()):
                for name, module in modules[0].items():
                    self.add_module(name, module)
        else:
            self._replace_all(modules)

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add the modules of another Sequential, or of a list, at the end; return this Sequential.

        Raises: ArgumentTypeError for a value that is not a module; nothing is added then.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Flatten())
            >>> net.extend([torch.nn.ReLU(), torch.nn.Tanh()])
            Sequential(
              (0): Flatten(start_dim=1, end_dim=-1)
              (1): ReLU()
              (2): Tanh()
            )
        """
        return super().extend(sequential)

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *_sequential(other))

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(_sequential(other))

    def __mul__(self, factor: int) -> Sequential:
        return Sequential(*list(self) * _factor(factor))

    __rmul__ = __mul__

    def __imul__(self, factor: int) -> Self:
        return self.extend(list(self) * (_factor(factor) - 1))

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _sliced(self, index: slice) -> Any:
        return type(self)(dict(list(self._modules.items())[index]))


class ModuleList(_Ordered):
    """A list of modules, registered as children; it has no forward.

    Raises: ArgumentTypeError for a value that is not a module, IndexRangeError for an index out of range;
            NotSupportedError when it is called.
    Example:
        >>> layers = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()])
        >>> len(layers), layers[1]
        (2, Tanh())
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._replace_all(checks.listed(self._get_name(), "modules", "modules", () if modules is None else modules))

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList([*self, *checks.listed("ModuleList", "the operand", "modules", other)])

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError(
            "this container has no forward", hint="call its modules, or use Sequential", operator="ModuleList"
        )

    def __repr__(self) -> str:
        return folded(self._get_name(), list(self))


class ModuleDict(Module):
    """A dict of modules, registered as children; it keeps the order of insertion, and has no forward.

    modules: a mapping of names to modules, or (name, module) pairs.

    Raises: ArgumentTypeError for a value that is not a module or a name that is not a string, NamingError for a missing
            or invalid name; NotSupportedError when it is called.
    Example:
        >>> layers = torch.nn.ModuleDict({"relu": torch.nn.ReLU()})
        >>> layers["relu"], list(layers)
        (ReLU(), ['relu'])
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            with naming("ModuleDict"):
                self.update(modules)

    def update(self, modules: Any) -> None:
        """Add or replace modules, from a mapping or from (name, module) pairs; an error leaves the dict unchanged.

        Raises: ArgumentTypeError for a value that is not a module or a pair, ArgumentError for a pair of another
                length, NamingError for a name that is empty, has a dot or is another attribute of the dict.
        Example:
            >>> layers = torch.nn.ModuleDict({"act": torch.nn.ReLU()})
            >>> layers.update({"act": torch.nn.Tanh(), "flat": torch.nn.Flatten()})
            >>> layers["act"], len(layers)
            (Tanh(), 2)
        """
        is_dict = isinstance(modules, (Mapping, ModuleDict))
        pairs = tuple(modules.items()) if is_dict else _pairs("modules", "name", "module", modules)
        for name, module in pairs:
            check_name("update", self, name, "module", self._modules)
            check_child("update", name, module, Module)
        for name, module in pairs:
            self[name] = module

    def __getitem__(self, name: str) -> Any:
        self._check_held("ModuleDict", name)
        return self._modules[name]

    def _check_held(self, called: str, name: Any) -> None:
        if name not in self._modules:
            held = ", ".join(map(repr, self._modules)) or "none"
            raise NamingError(
                f"there is no module {shown(name)}; there are: {held}", hint="use one of these", operator=called
            )

    def __setitem__(self, name: str, module: Module) -> None:
        with naming("ModuleDict"):
            self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        self._check_held("ModuleDict", name)
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def keys(self) -> Any:
        """Return the names, in the order of insertion.

        Example:
            >>> list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).keys())
            ['act']
        """
        return self._modules.keys()

    def values(self) -> Any:
        """Return the modules, in the order of insertion.

        Example:
            >>> list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).values())
            [ReLU()]
        """
        return self._modules.values()

    def items(self) -> Any:
        """Return the (name, module) pairs, in the order of insertion.

        Example:
            >>> list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).items())
            [('act', ReLU())]
        """
        return self._modules.items()

    def pop(self, key: str) -> Any:
        """Remove a module and return it.

        Raises: NamingError, a KeyError, for a name that is not in the dict.
        Example:
            >>> layers = torch.nn.ModuleDict({"act": torch.nn.ReLU()})
            >>> layers.pop("act"), len(layers)
            (ReLU(), 0)
        """
        self._check_held("pop", key)
        return self._modules.pop(key)

    def clear(self) -> None:
        """Remove all modules.

        Example:
            >>> layers = torch.nn.ModuleDict({"act": torch.nn.ReLU()})
            >>> layers.clear()
            >>> len(layers)
            0
        """
        self._modules.clear()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("this container has no forward", hint="call its modules", operator="ModuleDict")


def _pairs(what: str, key: str, value: str, given: Any) -> tuple[Any, ...]:
    """Check the pairs of key and value that `update` is given.  Raises ArgumentTypeError, ArgumentError."""
    pairs = checks.listed("update", what, f"({key}, {value}) pairs", given)
    for index, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)):
            raise ArgumentTypeError(
                f"{what}[{index}] must be a ({key}, {value}) pair, got {shown(pair)}",
                hint=f"pass ({key}, {value}) pairs, or a dict",
                operator="update",
            )
        if len(pair) != 2:
            raise ArgumentError(
                f"{what}[{index}] has {len(pair)} entries, 2 are required: {shown(pair)}",
                hint=f"pass ({key}, {value}) pairs, or a dict",
                operator="update",
            )
    return pairs


class ParameterList(Module):
    """A list whose parameters are registered in the module that holds it.

    Tensors become parameters.  The list has no forward.
    Raises: ArgumentTypeError for a value that is not a tensor, DtypeError for one that is not floating point,
            IndexRangeError for an index out of range; NotSupportedError when it is called.
    Example:
        >>> params = torch.nn.ParameterList([torch.ones(2), torch.zeros(3)])
        >>> [param.shape for param in params]
        [torch.Size([2]), torch.Size([3])]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        with naming("ParameterList"):
            self.extend(() if values is None else values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList([self[position] for position in range(*index.indices(self._size))])
        return getattr(self, str(_position(index, self._size, "ParameterList")))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(_position(index, self._size, "ParameterList")), _as_parameter("ParameterList", value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[index] for index in range(self._size)])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a parameter at the end; a tensor becomes a parameter.  Return this list.

        Raises: ArgumentTypeError for a value that is not a tensor.
        Example:
            >>> params = torch.nn.ParameterList([torch.ones(2)])
            >>> params.append(torch.zeros(3))[1]
            Parameter containing:
            tensor([0., 0., 0.], requires_grad=True)
        """
        setattr(self, str(self._size), _as_parameter("append", value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end; tensors become parameters.  Return this list.

        Raises: ArgumentTypeError for a value that is not a tensor; nothing is added then.
        Example:
            >>> params = torch.nn.ParameterList([torch.ones(2)])
            >>> len(params.extend([torch.zeros(3), torch.zeros(4)]))
            3
        """
        listed = checks.listed("extend", "values", "tensors", values)
        for parameter in [_as_parameter("extend", value) for value in listed]:
            self.append(parameter)
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("this container has no forward", hint="use its parameters", operator="ParameterList")

    def extra_repr(self) -> str:
        return _lines((index, parameter, parameter.dtype) for index, parameter in enumerate(self))


class ParameterDict(Module):
    """A dict whose parameters are registered in the module that holds it.

    parameters: a mapping of keys to tensors, or (key, tensor) pairs.  Tensors become parameters.
    The dict has no forward.
    Raises: ArgumentTypeError for a value that is not a tensor or a key that is not a string, DtypeError for a tensor
            that is not floating point, NamingError for a missing or invalid key; NotSupportedError when it is called.
    Example:
        >>> params = torch.nn.ParameterDict({"scale": torch.ones(2)})
        >>> params["shift"] = torch.zeros(2)
        >>> list(params)
        ['scale', 'shift']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _checked(self, key: Any) -> str:
        if key not in self._keys:
            held = ", ".join(map(repr, self._keys)) or "none"
            raise NamingError(
                f"there is no parameter {shown(key)}; there are: {held}",
                hint="use one of these",
                operator="ParameterDict",
            )
        return str(key)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: str, parameter: Any) -> None:
        check_name("ParameterDict", self, key, "parameter", self._parameters)
        setattr(self, key, _as_parameter("ParameterDict", parameter))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        delattr(self, self._checked(key))
        del self._keys[key]

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def __or__(self, other: Any) -> ParameterDict:
        return self.copy().__ior__(other)

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return a new ParameterDict with the same parameters.

        Example:
            >>> params = torch.nn.ParameterDict({"scale": torch.ones(2)})
            >>> params.copy()["scale"] is params["scale"]
            True
        """
        return ParameterDict(self.items())

    def update(self, parameters: Any) -> None:
        """Add or replace parameters, from a mapping or from (key, parameter) pairs.

        As in PyTorch, a mapping that is neither an OrderedDict nor a ParameterDict is sorted by its keys first.
        Raises: ArgumentTypeError for a value that is not a tensor or a pair, ArgumentError for a pair of another
                length, DtypeError for a tensor that is not floating point, NamingError for an invalid key.
        Example:
            >>> params = torch.nn.ParameterDict({"scale": torch.ones(2)})
            >>> params.update({"scale": torch.zeros(2), "shift": torch.zeros(3)})
            >>> list(params), params["scale"].detach()
            (['scale', 'shift'], tensor([0., 0.]))
        """
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        listed = _pairs("parameters", "key", "parameter", pairs)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            listed = tuple(sorted(listed, key=itemgetter(0)))
        for key, value in listed:
            self[key] = value

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the parameter of a key; if the key is missing, add the default under it first.

        Raises: ArgumentTypeError for a default that is not a tensor, if the key is missing.
        Example:
            >>> params = torch.nn.ParameterDict({"scale": torch.ones(2)})
            >>> params.setdefault("shift", torch.zeros(2))
            Parameter containing:
            tensor([0., 0.], requires_grad=True)
        """
        if key not in self._keys:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the parameter of a key, or the default if the key is missing.

        Example:
            >>> params = torch.nn.ParameterDict({"scale": torch.ones(2)})
            >>> params.get("shift", 0.0)
            0.0
        """
        return self[key] if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Remove a parameter and return it.

        Raises: NamingError, a KeyError, for a key that is not in the dict.
        Example:
            >>> params = torch.nn.ParameterDict({"scale": torch.ones(2)})
            >>> params.pop("scale").detach(), len(params)
            (tensor([1., 1.]), 0)
        """
        parameter = self[key]
        del self[key]
        return parameter

    def popitem(self) -> tuple[str, Any]:
        """Remove the parameter that was added last; return (key, parameter).

        Raises: NamingError, a KeyError, for an empty dict.
        Example:
            >>> params = torch.nn.ParameterDict({"scale": torch.ones(2), "shift": torch.zeros(2)})
            >>> params.popitem()[0], list(params)
            ('shift', ['scale'])
        """
        if not self._keys:
            raise NamingError("the dict is empty", hint="test len() first", operator="popitem")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all parameters.

        Example:
            >>> params = torch.nn.ParameterDict({"scale": torch.ones(2)})
            >>> params.clear()
            >>> len(params)
            0
        """
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new ParameterDict with the same default for every key.

        Raises: ArgumentTypeError for a default that is not a tensor, or keys that are not a list.
        Example:
            >>> params = torch.nn.ParameterDict().fromkeys(["scale", "shift"], torch.ones(2))
            >>> list(params)
            ['scale', 'shift']
        """
        listed = checks.listed("fromkeys", "keys", "strings", keys)
        return ParameterDict((key, default) for key in listed)

    def keys(self) -> Any:
        """Return the keys, in the order of insertion.

        Example:
            >>> list(torch.nn.ParameterDict({"scale": torch.ones(2)}).keys())
            ['scale']
        """
        return self._keys.keys()

    def items(self) -> Any:
        """Return the (key, parameter) pairs, in the order of insertion.

        Example:
            >>> [key for key, param in torch.nn.ParameterDict({"scale": torch.ones(2)}).items()]
            ['scale']
        """
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Any:
        """Return the parameters, in the order of insertion.

        Example:
            >>> [param.detach() for param in torch.nn.ParameterDict({"scale": torch.ones(2)}).values()]
            [tensor([1., 1.])]
        """
        return [self[key] for key in self._keys]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("this container has no forward", hint="use its parameters", operator="ParameterDict")

    def extra_repr(self) -> str:
        return _lines((key, parameter, parameter.type()) for key, parameter in self.items())


def _lines(entries: Iterable[tuple[Any, Any, Any]]) -> str:
    """Return the lines of (key, parameter, its type), as PyTorch prints them."""
    lines = []
    for key, value, name in entries:
        device = f" ({value.device})" if value.is_cuda else ""
        lines.append(f"  ({key}): Parameter containing: [{name} of size {'x'.join(map(str, value.shape))}{device}]")
    return "\n".join(lines)


def _as_parameter(called: str, value: Any) -> Parameter:
    if isinstance(value, Parameter):
        return value
    if not isinstance(value, TensorBase):
        raise ArgumentTypeError(
            f"entries must be tensors, got {type(value).__name__}: {shown(value)}",
            hint="make them with torch.tensor(...)",
            operator=called,
        )
    with naming(called):
        return Parameter(value)

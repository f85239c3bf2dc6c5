"""Parameters, buffers and submodules by dotted name: torch.nn.utils._named_member_accessor.

A swap writes to the module's table of parameters or buffers itself, so a plain tensor can replace a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, NamingError, naming, shown
from .module import Module

MISSING: Any = object()  # in place of a tensor that a module does not have


class MissingKeyError(NamingError, RuntimeError):
    """Names of tensors that a module does not have."""


def _check_name(operator: str, name: Any) -> None:
    """Raise NamingError unless a name is one step of a path."""
    if not name or "." in name:
        raise NamingError(
            f"a name must not be empty or contain a dot, got {name!r}",
            hint="pass one name without a dot",
            operator=operator,
        )


def _check_tensor(operator: str, what: str, value: Any) -> None:
    if value is not None and value is not MISSING and not isinstance(value, TensorBase):
        raise ArgumentTypeError(
            f"{what} must be a Tensor or None, got {shown(value)}", hint="pass a Tensor", operator=operator
        )


def _check_module(operator: str, what: str, value: Any) -> None:
    if not isinstance(value, Module):
        raise ArgumentTypeError(f"{what} must be a Module, got {shown(value)}", hint="pass a Module", operator=operator)


def _no_attribute(operator: str, module: Module, name: str) -> AttributeError:
    return AttributeError(
        f"{operator}: {type(module).__name__} has no attribute {name!r}\n"
        "hint: named_parameters() and named_buffers() list the names",
        name=name,
    )


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Replace a tensor of a module, and return the former one.  A missing one is marked by an object, also as a value.

    Raises: NamingError for an empty or dotted name, ArgumentTypeError for a value that is not a tensor, AttributeError
            without such a tensor unless allow_missing.
    """
    _check_module("swap_tensor", "module", module)
    _check_tensor("swap_tensor", "the tensor", tensor)
    _check_name("swap_tensor", name)
    tables = module._parameters, module._buffers
    table: dict[str, Any] | None = next((members for members in tables if name in members), None)
    former = getattr(module, name, MISSING) if table is None else table[name]
    _check_tensor("swap_tensor", f"attribute {name!r}", former)
    if former is MISSING and not allow_missing:
        raise _no_attribute("swap_tensor", module, name)
    if tensor is MISSING:
        if former is not MISSING:
            delattr(module, name)
    elif table is None:
        setattr(module, name, tensor)
    else:
        table[name] = tensor
    return former


def swap_submodule(module: Any, name: str, submodule: Any) -> Module:
    """Replace a direct submodule, and return the former one.

    Raises: NamingError without such a submodule, ArgumentTypeError for a value that is not a module.
    """
    _check_module("swap_submodule", "module", module)
    _check_module("swap_submodule", "the submodule", submodule)
    _check_name("swap_submodule", name)
    former: Module | None = module._modules.get(name)
    if former is None:
        raise NamingError(
            f"{type(module).__name__} has no submodule {name!r}",
            hint="use one of the names that named_children() lists",
            operator="swap_submodule",
        )
    module._modules[name] = submodule
    return former


def _pairs(operator: str, names: Iterable[str], values: Iterable[Any]) -> list[tuple[str, Any]]:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise ArgumentError(
            f"got {len(names)} names and {len(values)} values", hint="pass one value per name", operator=operator
        )
    return list(zip(names, values, strict=True))


class NamedMemberAccessor:
    """Access to a module's parameters and buffers by dotted names such as "0.weight"."""

    def __init__(self, module: Module) -> None:
        _check_module("NamedMemberAccessor", "module", module)
        self.module = module

    def _owner(self, operator: str, path: str) -> tuple[Module, str]:
        """Return the module that has a tensor, and the tensor's name in it."""
        prefix, _, name = path.rpartition(".")
        return self._at(operator, prefix), name

    def _at(self, operator: str, path: str) -> Module:
        module: Module = self.module
        for step in path.split(".") if path else ():
            value = getattr(module, step, MISSING)
            if value is MISSING:
                raise _no_attribute(operator, module, step)
            _check_module(operator, f"{step!r} of {path!r}", value)
            module = value
        return module

    def get_submodule(self, name: str) -> Module:
        """Return the module at a path; for "" the module itself.

        Raises: AttributeError if there is none, ArgumentTypeError for a tensor.
        """
        return self._at("get_submodule", name)

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Replace the module at a path, and return the former one."""
        return swap_submodule(*self._owner("swap_submodule", path), value)

    def get_tensor(self, name: str) -> Any:
        """Return a tensor; None for an empty slot.  Raises AttributeError without such a tensor."""
        owner, last = self._owner("get_tensor", name)
        tensor = getattr(owner, last, MISSING)
        if tensor is MISSING:
            raise _no_attribute("get_tensor", owner, last)
        _check_tensor("get_tensor", f"{name!r}", tensor)
        return tensor

    def set_tensor(self, name: str, value: Any) -> None:
        """Replace a tensor; a plain tensor may replace a parameter.  A new name is a plain attribute."""
        owner, last = self._owner("set_tensor", name)
        if isinstance(getattr(owner, last, None), Module):
            raise ArgumentTypeError(
                f"{name!r} is a module, not a tensor", hint="call swap_submodule", operator="set_tensor"
            )
        with naming("set_tensor"):
            if last and last not in owner._parameters and last not in owner._buffers:
                _check_tensor("set_tensor", "the tensor", value)
                setattr(owner, last, value)
            else:
                swap_tensor(owner, last, value, allow_missing=True)

    def del_tensor(self, name: str) -> None:
        """Delete a tensor.  Raises AttributeError without such a tensor."""
        owner, last = self._owner("del_tensor", name)
        if not hasattr(owner, last):
            raise _no_attribute("del_tensor", owner, last)
        delattr(owner, last)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Replace a tensor, and return the former one."""
        return swap_tensor(*self._owner("swap_tensor", name), value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """Return several tensors."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """Replace several tensors."""
        for name, value in _pairs("set_tensors", names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Any]) -> None:
        """Replace several tensors."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Delete several tensors."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        """Replace several tensors, and return the former ones."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in _pairs("swap_tensors", names, values)]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Replace several tensors; return the former ones, and the names that were missing.

        Raises: MissingKeyError for missing names unless allow_missing, with all tensors as they were.
        """
        former: dict[str, Any] = {}
        try:
            for name, value in named_tensors.items():
                former[name] = self.swap_tensor(name, value, allow_missing=True)
            missing = [name for name, value in former.items() if value is MISSING]
            if missing and not allow_missing:
                raise MissingKeyError(
                    f"the module has no {', '.join(map(repr, missing))}",
                    hint="correct the names; check_keys() returns those that are missing",
                    operator="swap_tensors_dict",
                )
        except Exception:
            for name, value in reversed(former.items()):  # a tied tensor was replaced more than once
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return former, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the sorted names of the module that are not among the keys, and keys that are no names."""
        given, own = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the names and parameters."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the names and buffers."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the names and parameters, then the names and buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yield the names and modules."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def set_tensor(module: Any, name: str, tensor: Any) -> None:
    """Replace a tensor of a module."""
    _check_module("set_tensor", "module", module)
    _check_name("set_tensor", name)
    NamedMemberAccessor(module).set_tensor(name, tensor)

"""Saving and loading a module's state_dict.

Loading checks every name and shape before it writes anything: after an error the module is unchanged.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from ..autograd.mode import GradMode
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, FlambeauError, shown
from .parameter import is_lazy


class StateDictError(FlambeauError, RuntimeError):
    """A state_dict does not fit the module that should load it."""


class IncompatibleKeys(NamedTuple):
    """The result of load_state_dict: names that the state_dict lacks, and names that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def check_target(target: Any, prefix: Any) -> None:
    """Check state_dict's destination and prefix.  Raises ArgumentTypeError."""
    if not isinstance(target, MutableMapping):
        raise ArgumentTypeError(
            f"destination must be a dict, got {shown(target)}", hint="leave it out", operator="state_dict"
        )
    if not isinstance(prefix, str):
        raise ArgumentTypeError(
            f"prefix must be a str, got {shown(prefix)}", hint="as in prefix='net.'", operator="state_dict"
        )


def save_into(module: Any, target: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Add a module's parameters and persistent buffers, and its children's, to `target`."""
    for name, tensor in _own(module):
        target[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=target, prefix=f"{prefix}{name}.", keep_vars=keep_vars)


def _own(module: Any) -> Iterator[tuple[str, Any]]:
    for name, tensor in (*module._parameters.items(), *module._buffers.items()):
        if tensor is not None and name not in module._non_persistent:
            yield name, tensor


def load(module: Any, state: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Check that `state` fits and copy it in.  Raises ArgumentTypeError, StateDictError."""
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(
            f"expected state_dict to be dict-like, got {type(state).__name__}: {shown(state)}",
            hint="give what state_dict() or torch.load() returned",
            operator="load_state_dict",
        )
    found = _Loading(module, OrderedDict(state), strict)
    found.visit(module, "")
    found.finish()
    with GradMode(False):
        for owner, name, tensor, value in found.pairs:
            _write(owner, name, tensor, value, assign)
    return IncompatibleKeys(found.missing, found.unexpected)


class _Loading:
    """One load: pairs that fit, and everything that does not."""

    def __init__(self, module: Any, state: OrderedDict[str, Any], strict: bool) -> None:
        self.module = module
        self.state = state
        self.strict = strict
        self.pairs: list[tuple[Any, str, Any, Any]] = []
        self.known: set[str] = set()
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.problems: list[str] = []

    def visit(self, module: Any, prefix: str) -> None:
        for hook in tuple(module._load_state_dict_pre_hooks.values()):
            hook.call(module, self.state, prefix, {}, self.strict, self.missing, self.unexpected, self.problems)
        for name, tensor in _own(module):
            self._match(module, name, tensor, prefix + name)
        for name, child in module._modules.items():
            if child is not None:
                self.visit(child, f"{prefix}{name}.")

    def _match(self, module: Any, name: str, tensor: Any, key: str) -> None:
        self.known.add(key)
        if key not in self.state:
            self.missing.append(key)
            return
        value = self.state[key]
        if not isinstance(value, TensorBase):
            self.problems.append(f'"{key}" must be a Tensor, not {type(value).__name__}: {shown(value)}.')
        elif is_lazy(value) and is_lazy(tensor):  # there is nothing to copy yet
            return
        elif value.shape != tensor.shape:
            self.problems.append(
                f"size mismatch for {key}: the state_dict has shape {list(value.shape)}, the module has "
                f"{list(tensor.shape)}."
            )
        else:
            self.pairs.append((module, name, tensor, value))

    def finish(self) -> None:
        """Raise StateDictError, listing everything, if the state must not be loaded."""
        self.unexpected += [key for key in self.state if key not in self.known]
        problems = list(self.problems)
        if self.strict:
            problems = _listed("Unexpected", self.unexpected) + problems
            problems = _listed("Missing", self.missing) + problems
        if problems:
            lines = "".join(f"\n\t{each}" for each in problems)
            raise StateDictError(
                f"Error(s) in loading state_dict for {type(self.module).__name__}:{lines}",
                hint=self._way_out(),
                operator="load_state_dict",
            )

    def _way_out(self) -> str:
        if self.problems:
            return "make the module as it was when the state was saved, or change these entries first"
        prefixed = [key for key in self.unexpected if isinstance(key, str) and key.partition(".")[2] in self.missing]
        if prefixed:
            first = prefixed[0].partition(".")[0]
            return f"the state's names begin with {first + '.'!r}: strip that, or load it into the module that has it"
        return "strict=False loads what fits and returns the rest"


def _listed(what: str, keys: list[str]) -> list[str]:
    names = ", ".join(f'"{key}"' for key in keys)
    return [f"{what} key(s) in state_dict: {names}."] if keys else []


def _write(owner: Any, name: str, tensor: Any, value: Any, assign: bool) -> None:
    if not assign:
        tensor.copy_(value)
    elif name in owner._parameters:
        owner._parameters[name] = (
            value if isinstance(value, type(tensor)) else type(tensor)(value, tensor.requires_grad)
        )
    else:
        owner._buffers[name] = value

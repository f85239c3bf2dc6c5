"""Save and load a module's state_dict.

Loading checks every name and shape before it writes anything: after an error the module is unchanged, unless user code
needs written values earlier, in hooks after loading or in a `_load_from_state_dict` of a subclass.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

from ..autograd.mode import GradMode
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, FlambeauError, ModeError, shown
from ..tensor.interop import adopted, is_foreign
from .parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"  # the last part of the name of a module's extra state


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


def save_into(module: Any, target: dict[str, Any], prefix: str, keep_vars: bool) -> dict[str, Any]:
    """Add a module's state and its children's to `target`, with hooks around it; return the result."""
    metadata = {"version": module._version}
    if hasattr(target, "_metadata"):
        target._metadata[prefix[:-1]] = metadata
    for hook in tuple(module._state_dict_pre_hooks.values()):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(target, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=target, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in tuple(module._state_dict_hooks.values()):
        changed = hook(module, target, prefix, metadata)
        target = target if changed is None else changed
    return target


def save_own(module: Any, target: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Add a module's parameters, persistent buffers and extra state to `target`, without its children's."""
    for name, tensor in _own(module):
        target[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
    if has_extra_state(module, "get_extra_state"):
        target[prefix + EXTRA_STATE] = module.get_extra_state()


def _own(module: Any) -> Iterator[tuple[str, Any]]:
    for name, tensor in (*module._parameters.items(), *module._buffers.items()):
        if tensor is not None and name not in module._non_persistent_buffers_set:
            yield name, tensor


def has_extra_state(module: Any, method: str) -> bool:
    """Return whether a module's class defines get_extra_state or set_extra_state."""
    return not hasattr(getattr(type(module), method), "is_missing")


def load(module: Any, state: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Check that `state` fits and copy it in.  Raises ArgumentTypeError, StateDictError."""
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(
            f"expected state_dict to be dict-like, got {type(state).__name__}: {shown(state)}",
            hint="give the result of state_dict() or torch.load()",
            operator="load_state_dict",
        )
    loading = _Loading(module, getattr(state, "_metadata", None), assign)
    loading.visit(module, OrderedDict(state), "")
    loading.check(strict)
    loading.write()
    return loading.keys


class Part:
    """One module's part of a load: its values, and the problems found.  `write` copies the values."""

    def __init__(self, assign: bool, missing: list[str], unexpected: list[str], problems: list[str]) -> None:
        self.assign = assign
        self.missing = missing
        self.unexpected = unexpected
        self.problems = problems
        self.pairs: list[tuple[Any, str, Any, Any]] = []  # (module, name, its tensor or None for extra state, value)

    def read(self, module: Any, state: dict[str, Any], prefix: str, metadata: dict[str, Any], strict: bool) -> None:
        """Call the module's hooks before loading and match its tensors with the entries of `state`."""
        for hook in tuple(module._load_state_dict_pre_hooks.values()):
            hook(module, state, prefix, metadata, strict, self.missing, self.unexpected, self.problems)
        own = dict(_own(module))
        for name, tensor in own.items():
            if prefix + name in state:
                self._match(module, name, tensor, prefix + name, state[prefix + name])
            elif strict:
                self.missing.append(prefix + name)
        extra = prefix + EXTRA_STATE
        takes_extra = has_extra_state(module, "set_extra_state")
        if takes_extra and extra in state:
            self.pairs.append((module, EXTRA_STATE, None, state[extra]))
        elif takes_extra and strict:
            self.missing.append(extra)
        elif strict and extra in state:
            self.unexpected.append(extra)
        if strict:
            self.unexpected += [key for key in state if key != extra and _is_unknown(module, own, key, prefix)]

    def _match(self, module: Any, name: str, tensor: Any, key: str, value: Any) -> None:
        if is_foreign(value):
            try:
                value = adopted(value)
            except FlambeauError as error:
                self.problems.append(f'"{key}": {error.what}.')
                return
        if not isinstance(value, TensorBase):
            self.problems.append(f'"{key}" must be a Tensor, not {type(value).__name__}: {shown(value)}.')
        elif is_lazy(value) and is_lazy(tensor):  # there is nothing to copy yet
            return
        elif value.shape != tensor.shape and not (tensor.ndim == 0 and tuple(value.shape) == (1,)):
            self.problems.append(
                f"size mismatch for {key}: the state_dict has shape {list(value.shape)}, the module has "
                f"{list(tensor.shape)}."
            )
        else:
            self.pairs.append((module, name, tensor, value.reshape(()) if tensor.ndim == 0 else value))

    def write(self) -> None:
        """Copy or assign the values that were read."""
        pairs, self.pairs = self.pairs, []
        with GradMode(False):
            for owner, name, tensor, value in pairs:
                if tensor is None:
                    owner.set_extra_state(value)
                else:
                    _write(owner, name, tensor, value, self.assign)


def _is_unknown(module: Any, own: dict[str, Any], key: Any, prefix: str) -> bool:
    """Return whether a key belongs to this module's part of a state, but to none of its tensors and children."""
    if not isinstance(key, str):
        return not prefix
    if not key.startswith(prefix):
        return False
    first, dot, _ = key[len(prefix) :].partition(".")
    return first not in module._modules if dot else first not in own


class _Loading(Part):
    """One load of a module with its descendants.

    Values are written at the end, when everything is known to fit.  They are written earlier for user code that runs in
    between: hooks after loading, and modules with their own `_load_from_state_dict`.
    """

    def __init__(self, module: Any, metadata: Any, assign: bool) -> None:
        self.keys = IncompatibleKeys([], [])
        super().__init__(assign, self.keys.missing_keys, self.keys.unexpected_keys, [])
        self.module = module
        self.metadata = metadata

    def visit(self, module: Any, state: dict[str, Any], prefix: str) -> None:
        metadata = dict({} if self.metadata is None else self.metadata.get(prefix[:-1], {}))
        if self.assign:
            metadata["assign_to_params_buffers"] = True
        if hasattr(type(module)._load_from_state_dict, "is_plain"):
            self.read(module, state, prefix, metadata, True)
        else:
            lists = self.missing, self.unexpected, self.problems
            module._load_from_state_dict(state, prefix, metadata, True, *lists)
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                part = {key: value for key, value in state.items() if isinstance(key, str) and key.startswith(inner)}
                self.visit(child, OrderedDict(part), inner)
        for hook in tuple(module._load_state_dict_post_hooks.values()):
            self.write()
            if hook(module, self.keys) is not None:
                raise ModeError(
                    f"a hook after load_state_dict must return None, and {shown(hook)} did not",
                    hint="change incompatible_keys in place",
                    operator="load_state_dict",
                )

    def check(self, strict: bool) -> None:
        """Raise StateDictError, listing everything, if the state must not be loaded."""
        problems = list(self.problems)
        if strict:
            problems = _listed("Unexpected", self.unexpected) + problems
            problems = _listed("Missing", self.missing) + problems
        if problems:
            lines = "".join(f"\n\t{problem}" for problem in problems)
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
        return "strict=False loads the entries that fit, and returns the names of the others"


def _listed(what: str, keys: list[str]) -> list[str]:
    names = ", ".join(f'"{key}"' for key in keys)
    return [f"{what} key(s) in state_dict: {names}."] if keys else []


def _write(owner: Any, name: str, tensor: Any, value: Any, assign: bool) -> None:
    if not assign:
        tensor.copy_(value)
    elif name in owner._parameters:
        parameter = value if isinstance(value, type(tensor)) else type(tensor)(value, tensor.requires_grad)
        if isinstance(tensor, Parameter):
            parameter.requires_grad_(tensor.requires_grad)
        setattr(owner, name, parameter)
    else:
        setattr(owner, name, value)

"""torch.nn.utils.parametrize: parameters and buffers that are computed from others each time they are read.

Each parametrized module gets its own subclass, with a property in place of each parametrized tensor.  The tensors
that it is computed from belong to `module.parametrizations[name]`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...autograd.mode import GradMode
from ...core.tensor import TensorBase
from ...errors import ArgumentError, DtypeError, ModeError, shown
from ...importer import listing
from ..containers import ModuleDict, ModuleList
from ..module import Module, check_module
from ..parameter import Parameter

_cache: dict[tuple[int, str], Any] = {}
_depth = 0  # number of open `cached` blocks


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor only once inside a with block, when it is first read.

    Example:
        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(1, 1))
        >>> with torch.nn.utils.parametrize.cached():
        ...     print(layer.weight is layer.weight)
        True
    """
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _cache.clear()


def _wrong(name: str, fact: str, hint: str) -> ArgumentError:
    return ArgumentError(fact, hint=hint, operator=name)


def _check_like(name: str, what: str, value: Any, original: Any, hint: str) -> None:
    """Raise ArgumentError unless a value is a tensor of the shape and type of another one."""
    if not isinstance(value, TensorBase):
        raise _wrong(name, f"{what} must be a tensor, got {type(value).__name__}: {shown(value)}", "return one tensor")
    for field in ("dtype", "shape"):
        if getattr(value, field) != getattr(original, field):
            raise _wrong(name, f"{what} is {value.describe()}, of another {field} than {original.describe()}", hint)


UNSAFE = "pass unsafe=True to allow that"


def _set(target: Any, value: Any) -> None:
    """Make a tensor use the memory of another one."""
    if target is not value:
        target.data = value.detach()


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """ModuleList of the parametrizations of one tensor, each called with the result of the previous one.

    `register_parametrization` makes the list and stores it, for example, as module.parametrizations.weight.  The list
    holds the argument of the first parametrization as `original` or, if there are several, `original0`, `original1` ...
    modules: the parametrizations.
    original: the tensor to parametrize; the `right_inverse` methods, if any, compute the originals from it.
    unsafe: do not check that the result has the shape and type of the tensor.
    Raises: ArgumentError for no modules, or results that do not fit.
    Example:
        >>> class Double(torch.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> layer = torch.nn.Linear(2, 1)
        >>> layer.weight.data = torch.tensor([[1.0, 3.0]])
        >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Double())
        >>> layer.parametrizations.weight.original.detach(), layer.weight.detach()
        (tensor([[1., 3.]]), tensor([[2., 6.]]))
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        name = "ParametrizationList"
        if len(modules) == 0:
            raise _wrong(name, f"requires one or more modules, got {shown(modules)}", "pass at least one module")
        super().__init__(modules)
        self.unsafe = unsafe
        value = original
        with GradMode(False):
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError as error:  # the module states that it has no inverse: keep the value
                        if isinstance(error, DtypeError):  # a subclass, from a mistake in right_inverse
                            raise
        if not isinstance(value, (TensorBase, Sequence)):
            raise _wrong(
                name,
                f"right_inverse must return a tensor or a sequence of tensors, got {type(value).__name__}: "
                f"{shown(value)}",
                "return values that forward accepts",
            )
        self.is_tensor = isinstance(value, TensorBase)
        self.ntensors = 1 if isinstance(value, TensorBase) else len(value)
        shape_before = original.detach()
        if isinstance(value, TensorBase):
            if value.dtype is not original.dtype:
                raise _wrong(
                    name,
                    f"right_inverse may not change the type of one tensor: {value.describe()} is made of "
                    f"{original.describe()}",
                    "return a tensor of the same type",
                )
            with GradMode(False):
                _set(original, value)
            _register(self, "original", original)
        else:
            for index, tensor in enumerate(value):
                self._register_part(index, tensor, original)
        if not unsafe:
            _check_like("register_parametrization", "the parametrized tensor", self(), shape_before, UNSAFE)

    def _register_part(self, index: int, value: Any, original: Any) -> None:
        if not isinstance(value, TensorBase):
            raise _wrong(
                "ParametrizationList",
                f"right_inverse must return tensors, element {index} is {type(value).__name__}: {shown(value)}",
                "return values that forward accepts",
            )
        if isinstance(original, Parameter):
            value = Parameter(value, original.requires_grad)
        value.requires_grad_(original.requires_grad)
        _register(self, f"original{index}", value)

    def _originals(self) -> list[Any]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the original tensors so that the parametrized tensor becomes `value`.

        Assigning to the parametrized tensor calls this method.

        Raises: ModeError if a parametrization has no right_inverse, ArgumentError if its result does not fit.
        Example:
            >>> class Double(torch.nn.Module):
            ...     def forward(self, x):
            ...         return 2 * x
            ...     def right_inverse(self, y):
            ...         return y / 2
            >>> layer = torch.nn.Linear(2, 1)
            >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Double())
            >>> layer.parametrizations.weight.right_inverse(torch.tensor([[2.0, 6.0]]))
            >>> layer.parametrizations.weight.original.detach()
            tensor([[1., 3.]])
        """
        with GradMode(False):
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise ModeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse",
                        hint="define right_inverse(self, value), or set the original tensor",
                        operator="right_inverse",
                    )
                value = module.right_inverse(value)
            parts = [value] if self.is_tensor else value
            if not isinstance(parts, Sequence) or len(parts) != self.ntensors:
                raise _wrong(
                    "right_inverse",
                    f"right_inverse must return a sequence of {self.ntensors} tensors, got {shown(value)}",
                    "return values that forward accepts",
                )
            originals = self._originals()
            for part, original in zip(parts, originals):
                fits = isinstance(part, TensorBase) and part.dtype is original.dtype
                if not fits or (self.is_tensor and part.shape != original.shape):
                    raise _wrong(
                        "right_inverse",
                        f"right_inverse must return tensors like {original.describe()}, got {shown(part)}",
                        "return values that forward accepts",
                    )
            for part, original in zip(parts, originals):
                _set(original, part)

    def forward(self) -> Any:
        first, *others = list(self)
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _copied(self: Any, memo: dict[int, Any]) -> Any:
    """Implement `__deepcopy__` of parametrized modules, which do not pickle."""
    result = self.__new__(type(self))
    memo[id(self)] = result
    result.__dict__ = copy.deepcopy(self.__dict__, memo)
    return result


def _not_pickled(self: Any) -> Any:
    raise ModeError(
        f"{type(self).__name__} does not pickle, because its class was made at run time",
        hint="save its state_dict()",
        operator="__getstate__",
    )


def _derive_class(module: Module) -> None:
    """Give a module its own subclass, for properties."""
    base = type(module)
    members: dict[str, Any] = {"__getstate__": _not_pickled, "__module__": __name__}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _copied
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _add_property(module: Module, name: str) -> None:
    """Add a property that computes a tensor."""

    def read(self: Any) -> Any:
        if not _depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute the parameter or buffer `tensor_name` from an original tensor each time it is read; return the module.

    parametrization: a module whose `forward` computes the tensor from the original.  Its `right_inverse`, if any,
    computes the original, now and whenever the tensor is set; if it returns several tensors, `forward` takes them all.
    A further parametrization is called with the result of the previous one.
    unsafe: do not check that the result has the shape and type of the tensor.
    Raises: ArgumentTypeError for a module or parametrization that is not an nn.Module, ArgumentError if there is no
            such tensor or, unless unsafe, if the result has another shape or type.
    Example:
        >>> class Symmetric(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        >>> layer = torch.nn.Linear(2, 2)
        >>> layer = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> torch.equal(layer.weight, layer.weight.T)
        True
    """
    check_module("register_parametrization", "module", module)
    check_module("register_parametrization", "parametrization", parametrization)
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        held: Any = module.parametrizations
        held[tensor_name].append(parametrization)
        held[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _derive_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        have = [*module._parameters, *module._buffers]
        raise _wrong(
            "register_parametrization",
            f"{type(module).__name__} has no parameter, buffer or parametrized tensor {tensor_name!r}",
            f"use one of {', '.join(have) or 'none'}",
        )
    return module


def _check_further(module: Module, name: str, parametrization: Module) -> None:
    """Check that a further parametrization keeps shape and type of a tensor, both ways."""
    called = "register_parametrization"
    before = getattr(module, name)
    after = parametrization(before)
    _check_like(called, "the parametrized tensor", after, before, UNSAFE)
    inverse: Any = getattr(parametrization, "right_inverse", None)
    if inverse is not None:
        try:
            back = inverse(after)
        except NotImplementedError as error:  # says that there is no inverse
            if isinstance(error, DtypeError):  # a subclass, from a mistake in right_inverse
                raise
            return
        _check_like(called, "the result of right_inverse", back, before, UNSAFE)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has any parametrization or, with tensor_name, whether that tensor has one.

    Example:
        >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2))
        >>> parametrize = torch.nn.utils.parametrize
        >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
        (True, False)
    """
    held = getattr(module, "parametrizations", None)
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the parametrized tensor `tensor_name` an ordinary parameter or buffer again; return the module.

    leave_parametrized: True keeps the computed value; False restores the original tensor.
    Raises: ArgumentError for a tensor that is not parametrized, or leave_parametrized=False with several originals.
    Example:
        >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2))
        >>> list(torch.nn.utils.parametrize.remove_parametrizations(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise _wrong(
            "remove_parametrizations",
            f"{type(module).__name__} has no parametrization of {tensor_name!r}",
            "add one with register_parametrization first",
        )
    held: Any = module.parametrizations
    parametrizations = held[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with GradMode(False):
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise _wrong(
            "remove_parametrizations",
            f"cannot leave {tensor_name!r} unparametrized: it is computed from {parametrizations.ntensors} tensors",
            "pass leave_parametrized=True",
        )
    delattr(type(module), tensor_name)
    del held[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized.

    Example:
        >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2))
        >>> type(layer).__name__, torch.nn.utils.parametrize.type_before_parametrizations(layer).__name__
        ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations and original tensors of `from_module`; return `to_module`.

    The modules share them.  Nothing changes if from_module has no parametrizations.
    tensor_name: transfer only those of this tensor; None stands for all parametrized tensors.
    Raises: ArgumentError if only other tensors are parametrized.
    Example:
        >>> source, target = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2)), torch.nn.Linear(2, 2)
        >>> _ = torch.nn.utils.parametrize.transfer_parametrizations_and_params(source, target)
        >>> torch.equal(source.weight, target.weight)
        True
    """
    if not is_parametrized(from_module):
        return to_module
    if not is_parametrized(from_module, tensor_name):
        raise _wrong(
            "transfer_parametrizations_and_params",
            f"{type(from_module).__name__} has no parametrization" + (f" of {tensor_name!r}" if tensor_name else ""),
            "add one with register_parametrization first",
        )
    source: Any = from_module.parametrizations
    for name in [tensor_name] if tensor_name is not None else list(source):
        if not hasattr(to_module, name):
            _register(to_module, name, copy.deepcopy(getattr(from_module, name).detach()))
            if isinstance(source[name]._originals()[0], Parameter):
                setattr(to_module, name, Parameter(to_module._buffers.pop(name)))
        for parametrization in source[name]:
            register_parametrization(to_module, name, parametrization, unsafe=source[name].unsafe)
        target: Any = to_module.parametrizations
        for own in [key for key in source[name].state_dict(keep_vars=True) if key.startswith("original")]:
            setattr(target[name], own, getattr(source[name], own))
    return to_module


__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip
__dir__ = listing(globals())

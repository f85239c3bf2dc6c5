"""Module: the base class of layers, with parameters, buffers, children and a forward function."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableSet
from typing import TYPE_CHECKING, Any, Self

from .. import callers, memory_formats
from ..autograd.mode import GradMode
from ..core.record import streams_of
from ..core.tensor import TensorBase
from ..dtypes import bfloat16, dtype, float16, float32, float64
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    FlambeauError,
    NamingError,
    NotSupportedError,
    naming,
    shown,
)
from ..runtime import device as devices
from ..tensor import checks
from ..tensor.gradient import want
from ..tensor.like_factories import empty_like
from ..tensor.methods import to_arguments
from ..tensor.tensor import Tensor
from . import hooks
from .hooks import Hooked, everywhere, registered
from .parameter import Buffer, Parameter, is_lazy
from .state_dict import IncompatibleKeys, Part, check_target, load, save_into, save_own


def check_name(called: str, module: Any, name: Any, kind: str, held: dict[str, Any]) -> None:
    """Raise ArgumentTypeError or NamingError for a name that `module` cannot give to a parameter, buffer or child."""
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"{kind} name should be a string, got {shown(name)}", hint="pass a str", operator=called
        )
    if not name or "." in name:
        raise NamingError(
            f"{kind} name can't be empty or contain a dot, got {name!r}",
            hint=f"use {name.replace('.', '_') or 'a name'!r}",
            operator=called,
        )
    if name not in held and hasattr(module, name):
        raise NamingError(
            f"attribute {name!r} already exists in {type(module).__name__}, and is not a {kind}",
            hint="use another name, or delete the attribute first",
            operator=called,
        )


def check_parameter(called: str, name: str, param: Any) -> None:
    """Raise ArgumentTypeError or AutogradError unless a value is a parameter of a module or None."""
    if param is not None and not isinstance(param, Parameter):
        raise ArgumentTypeError(
            f"cannot assign {type(param).__name__!r} object to parameter {name!r} (torch.nn.Parameter or "
            f"None required): {shown(param)}",
            hint="wrap a tensor in torch.nn.Parameter(...)",
            operator=called,
        )
    if param is not None and param.grad_fn is not None:
        raise AutogradError(
            f"parameter {name!r} must be a leaf of the graph, this is {param.describe()} of {param.grad_fn}",
            hint="make it of tensor.detach()",
            operator=called,
        )


def check_buffer(called: str, name: str, tensor: Any) -> None:
    """Raise ArgumentTypeError unless a value is a tensor or None."""
    if tensor is not None and not isinstance(tensor, TensorBase):
        raise ArgumentTypeError(
            f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} (Tensor or None required): "
            f"{shown(tensor)}",
            hint="make one with torch.tensor(...)",
            operator=called,
        )


def check_child(called: str, name: str, module: Any, base: type) -> None:
    """Raise ArgumentTypeError unless a value is a module or None."""
    if module is not None and not isinstance(module, base):
        is_class = isinstance(module, type) and issubclass(module, base)
        hint = f"make one: {module.__name__}(...)" if is_class else "derive from torch.nn.Module"
        hint = "give the modules one by one: Sequential(*modules)" if isinstance(module, (list, tuple)) else hint
        raise ArgumentTypeError(
            f"{type(module).__name__} is not a Module subclass, child {name!r} is {shown(module)}",
            hint=hint,
            operator=called,
        )


def check_assigned_child(called: str, name: str, value: Any) -> None:
    """Raise ArgumentTypeError for a value that cannot replace a child."""
    if value is not None:
        raise ArgumentTypeError(
            f"cannot assign {type(value).__name__!r} as child module {name!r} (Module or None expected): "
            f"{shown(value)}",
            hint=f"delete the child first: del module.{name}",
            operator=called,
        )


def _check_text(called: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless a prefix or a path is a string."""
    if not isinstance(value, str):
        raise ArgumentTypeError(
            f"{what} must be a string, got {shown(value)}", hint="as in 'encoder.0'", operator=called
        )


def child(module: Any, name: str, target: str, base: type) -> Any:
    """Return child `name` of a module, a step of the path `target`.  Raises AttributeError."""
    submodule = getattr(module, name, None)
    if not isinstance(submodule, base):
        have = ", ".join(module._modules) or "none"
        held = f"is {shown(submodule)}, not a Module" if hasattr(module, name) else f"is not in {type(module).__name__}"
        raise AttributeError(f"get_submodule: {name!r} of {target!r} {held}\nhint: its modules are: {have}")
    return submodule


def member(module: Any, table: str, name: str) -> Any:
    """Return a parameter or a buffer of a module.  Raises AttributeError."""
    held, member_type = module.__dict__[table], table[1:-1]
    if name not in held:
        have = ", ".join(held) or "none"
        raise AttributeError(
            f"get_{member_type}: {type(module).__name__!r} object has no {member_type} {name!r}\n"
            f"hint: its {table[1:]} are: {have}"
        )
    return held[name]


INDENT = "  "


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803  (PyTorch's name, which programs import)
    """Return a text with every line but the first indented."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def describe(module: Any) -> str:
    """Return `Name(extra)`, or `Name(` with a line for each child."""
    extra = module.extra_repr()
    lines = extra.split("\n") if extra else []
    children = [f"({name}): {indented(repr(child))}" for name, child in module._modules.items()]
    return enclosed(module._get_name(), lines, children)


def indented(text: str) -> str:
    """Return `text` with every line but the first indented."""
    return text.replace("\n", f"\n{INDENT}")


def enclosed(name: str, extra: list[str], children: list[str]) -> str:
    """Return a module's text from its own lines and its children's."""
    if len(extra) == 1 and not children:
        return f"{name}({extra[0]})"
    lines = extra + children
    return f"{name}({''.join(f'{chr(10)}{INDENT}{line}' for line in lines)}{chr(10) if lines else ''})"


def folded(name: str, children: list[Any]) -> str:
    """Return a list of modules as text; neighbours that print alike share a line with their count."""
    runs: list[tuple[int, int, str]] = []
    for index, child in enumerate(children):
        text = repr(child)
        if runs and runs[-1][2] == text:
            runs[-1] = (runs[-1][0], index, text)
        else:
            runs.append((index, index, text))
    return enclosed(name, [], [_run_text(*run) for run in runs])


def _run_text(first: int, last: int, text: str) -> str:
    label = f"({first})" if first == last else f"({first}-{last})"
    count = "" if first == last else f"{last - first + 1} x "
    return f"{label}: {count}{indented(text)}"


Visit = Callable[[Any], Any]


class Module(Hooked):
    """Base class of layers and networks: parameters, buffers, child modules and a `forward` function.

    A subclass calls `super().__init__()`, assigns parameters and modules as attributes, and defines `forward`.
    Shapes: the docstring of each class says what its forward takes and returns.
    Raises: ArgumentTypeError if an attribute that holds a parameter, buffer or module is set to any other value, or if
            `__init__` gets arguments; NotSupportedError for a class without `forward`.
    Example:
        >>> class Net(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = torch.nn.Linear(64, 32)
        ...         self.out = torch.nn.Linear(32, 10)
        ...
        ...     def forward(self, x):
        ...         return self.out(self.hidden(x).relu())
        >>> Net()(torch.ones(5, 64)).shape
        torch.Size([5, 10])
    """

    training: bool
    dump_patches = False
    call_super_init = False  # whether the constructor calls that of the next class, with its own arguments
    _version = 1  # saved with the module's state, for `_load_from_state_dict`
    _is_replica = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            named = [*map(shown, args), *(f"{name}={shown(value)}" for name, value in kwargs.items())]
            raise ArgumentTypeError(
                f"Module.__init__ takes no arguments, got {', '.join(named)}",
                hint="take them in the class's own __init__, or set call_super_init = True",
                operator=type(self).__name__,
            )
        put = self.__dict__.__setitem__
        put("training", True)
        for name, make in TABLES.items():
            put(name, make())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name, make in TABLES.items():  # tables that a file of an older version lacks
            if name not in self.__dict__:
                self.__dict__[name] = make()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output of the module; every subclass defines this method.

        Call the module itself, `module(x)`, instead of `module.forward(x)`: only the former calls the hooks.
        Shapes: see the docstring of the class.
        Raises: the errors of the class's docstring, such as ShapeError, ArgumentError or IndexRangeError for an input
                that does not fit; NotSupportedError if the class does not define forward.
        Example:
            >>> class Double(torch.nn.Module):
            ...     def forward(self, x):
            ...         return 2 * x
            >>> Double()(torch.tensor([1.0, 3.0]))
            tensor([2., 6.])
        """
        raise NotSupportedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function',
            hint="define forward(self, ...) in the class",
            operator=type(self).__name__,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or everywhere.any
            ):
                return hooks.run(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except FlambeauError as error:
            note_place(self, error)
            raise

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return Module.__call__(self, *args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: a module always runs eagerly.  The arguments are those of torch.compile, and are ignored.

        Example:
            >>> model = torch.nn.ReLU()
            >>> model.compile(mode="reduce-overhead")
            >>> model(torch.tensor([-1.0, 2.0]))
            tensor([0., 2.])
        """

    # registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name.

        Raises: NamingError for a name that is taken, empty or has a dot; ArgumentTypeError for a value that is not a
                Parameter; AutogradError for a tensor that an operator computed.
        Example:
            >>> module = torch.nn.Module()
            >>> module.register_parameter("scale", torch.nn.Parameter(torch.ones(2)))
            >>> list(module.state_dict())
            ['scale']
        """
        held = self._table("_parameters", "parameter")
        check_name("register_parameter", self, name, "parameter", held)
        check_parameter("register_parameter", name, param)
        self._parameters[name] = registered(everywhere.parameters, self, name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state and is not trained, such as a running mean.

        persistent: whether state_dict includes it.  `module.to` moves it in either case.
        Raises: NamingError for a name that is taken, empty or has a dot; ArgumentTypeError for a value that is not a
                tensor.
        Example:
            >>> module = torch.nn.Module()
            >>> module.register_buffer("mean", torch.zeros(2))
            >>> module.register_buffer("cache", torch.zeros(9), persistent=False)
            >>> list(module.state_dict())
            ['mean']
        """
        check_name("register_buffer", self, name, "buffer", self._table("_buffers", "buffer"))
        check_buffer("register_buffer", name, tensor)
        self._buffers[name] = registered(everywhere.buffers, self, name, tensor)
        kept = self._non_persistent_buffers_set
        (kept.discard if persistent else kept.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name; None reserves the name.

        Raises: NamingError for a name that is taken, empty or has a dot; ArgumentTypeError for a value that is not a
                Module.
        Example:
            >>> net = torch.nn.Module()
            >>> net.add_module("act", torch.nn.ReLU())
            >>> net.act
            ReLU()
        """
        check_name("add_module", self, name, "module", self._table("_modules", "module"))
        check_child("add_module", name, module, Module)
        self._modules[name] = registered(everywhere.modules, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name: the same as add_module.

        Raises: NamingError for a name that is taken, empty or has a dot; ArgumentTypeError for a value that is not a
                Module.
        Example:
            >>> net = torch.nn.Module()
            >>> net.register_module("act", torch.nn.ReLU())
            >>> net.act
            ReLU()
        """
        with naming("register_module"):
            self.add_module(name, module)

    def _table(self, table: str, member_type: str) -> dict[str, Any]:
        if table not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: cannot assign {member_type} before Module.__init__() call\n"
                "hint: call super().__init__() first"
            )
        members: dict[str, Any] = self.__dict__[table]
        return members

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own:  # else __init__ did not run
            for table in (own["_parameters"], own["_modules"], own["_buffers"]):
                if name in table:
                    return table[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif name in self.__dict__.get("_parameters", ()):
            self._replace(name, value)
        elif isinstance(value, Module):
            self._forget(name, keep="_modules")
            self._table("_modules", "module")[name] = registered(everywhere.modules, self, name, value)
        elif isinstance(value, Buffer) and name not in self.__dict__.get("_modules", ()):
            self._forget(name, keep="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif not self._replace(name, value):
            super().__setattr__(name, value)

    def _forget(self, name: str, keep: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep and table in self.__dict__:
                self.__dict__[table].pop(name, None)
        self.__dict__.pop(name, None)
        self.__dict__.get("_non_persistent_buffers_set", set()).discard(name)

    def _replace(self, name: str, value: Any) -> bool:
        """Replace the parameter, child or buffer with this name by a valid value; return False if there is none."""
        own = self.__dict__
        if name in own.get("_parameters", ()):
            check_parameter(type(self).__name__, name, value)
            self._parameters[name] = registered(everywhere.parameters, self, name, value)
        elif name in own.get("_modules", ()):
            check_assigned_child(type(self).__name__, name, value)
            self._modules[name] = registered(everywhere.modules, self, name, value)
        elif name in own.get("_buffers", ()):
            check_buffer(type(self).__name__, name, value)
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            return False
        return True

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(table, ()):
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    # submodules, parameters and buffers

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else iter([(prefix, self)])
        )
        for path, module in owners:
            for name, value in get_members_fn(module):
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter) of this module and, if recurse, of its descendants.

        prefix: put before all names, with a dot.  remove_duplicate: yield a parameter that several modules share once.
        Raises: ArgumentTypeError for a prefix that is not a string.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3))
            >>> [(name, tuple(param.shape)) for name, param in net.named_parameters()]
            [('0.weight', (3, 2)), ('0.bias', (3,))]
        """
        _check_text("named_parameters", "prefix", prefix)
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield each parameter of this module and, if recurse, of its descendants once.

        Example:
            >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
            >>> [tuple(param.shape) for param in net.parameters()]
            [(3, 2), (3,), (1, 3), (1,)]
        """
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted name, buffer) of this module and, if recurse, of its descendants.

        prefix: put before all names, with a dot.  remove_duplicate: yield a buffer that several modules share once.
        Raises: ArgumentTypeError for a prefix that is not a string.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(4))
            >>> [name for name, buffer in net.named_buffers()]
            ['0.running_mean', '0.running_var', '0.num_batches_tracked']
        """
        _check_text("named_buffers", "prefix", prefix)
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of this module and, if recurse, of its descendants.

        Example:
            >>> len(list(torch.nn.Sequential(torch.nn.BatchNorm1d(4)).buffers()))
            3
        """
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) of the direct children; a child with several names is yielded once.

        Example:
            >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
            >>> list(net.named_children())
            [('0', Flatten(start_dim=1, end_dim=-1)), ('1', ReLU())]
        """
        seen: set[int] = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Module]:
        """Yield the direct children.

        Example:
            >>> list(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU()).children())
            [Flatten(start_dim=1, end_dim=-1), ReLU()]
        """
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield (dotted name, module) of this module, whose name is "", and then of its descendants.

        memo: a set of modules to leave out with their descendants; if remove_duplicate, those that are yielded are
        added to it.
        prefix: put before all names, with a dot.
        remove_duplicate: yield a module that has several names once.
        Raises: ArgumentTypeError for a prefix that is not a string or a memo that is not a set.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
            >>> [name for name, module in net.named_modules()]
            ['', '0', '0.0']
        """
        _check_text("named_modules", "prefix", prefix)
        if memo is not None and not isinstance(memo, MutableSet):
            raise ArgumentTypeError(
                f"memo must be a set of modules, got {shown(memo)}", hint="as in set()", operator="named_modules"
            )
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(seen, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and then its descendants.

        remove_duplicate: yield a module that has several names once.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
            >>> [type(module).__name__ for module in net.modules()]
            ['Sequential', 'Flatten', 'ReLU']
        """
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def get_submodule(self, target: str) -> Module:
        """Return the module at a dotted path; for "" this module.

        Raises: AttributeError if there is none, ArgumentTypeError for a path that is not a string.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
            >>> net.get_submodule("0.0")
            ReLU()
        """
        _check_text("get_submodule", "target", target)
        module: Module = self
        for name in target.split(".") if target else ():
            module = child(module, name, target, Module)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the module at a dotted path.

        strict: raise if there is no module at that path; otherwise the new module is added there.
        Raises: ArgumentError for an empty path or a value that is not a module; AttributeError for a path that does not
                exist; ArgumentTypeError for one that is not a string.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.ReLU())
            >>> net.set_submodule("0", torch.nn.Tanh())
            >>> net[0]
            Tanh()
        """
        _check_text("set_submodule", "target", target)
        if not target:
            raise ArgumentError(
                "cannot set the submodule without a target name, got ''",
                hint="as in 'net.0.linear'",
                operator="set_submodule",
            )
        if not isinstance(module, Module):
            raise ArgumentError(
                f"module is not an nn.Module, found {type(module).__name__}: {shown(module)}",
                hint="pass an nn.Module",
                operator="set_submodule",
            )
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if strict or hasattr(owner, name):
            child(owner, name, target, Module)
        setattr(owner, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path.

        Raises: AttributeError if there is none, or if it was registered as None, ArgumentTypeError for a path that is
                not a string.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3))
            >>> net.get_parameter("0.bias").shape
            torch.Size([3])
        """
        parameter: Parameter | None = self._member(target, "_parameters")
        if parameter is None:
            raise AttributeError(f"get_parameter: {target!r} is None\nhint: it was registered without a parameter")
        return parameter

    def get_buffer(self, target: str) -> Any:
        """Return the buffer at a dotted path.

        Raises: AttributeError if there is none, ArgumentTypeError for a path that is not a string.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(4))
            >>> net.get_buffer("0.running_mean")
            tensor([0., 0., 0., 0.])
        """
        return self._member(target, "_buffers")

    def _member(self, target: str, table: str) -> Any:
        _check_text(f"get_{table[1:-1]}", "target", target)
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        return member(owner, table, name)

    # device, dtype and mode

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every descendant, children before their parents, then with this module; return this module.

        Raises: ArgumentTypeError for a function that is not callable.
        Example:
            >>> def fill(module):
            ...     if isinstance(module, torch.nn.Linear):
            ...         torch.nn.init.ones_(module.weight)
            >>> net = torch.nn.Sequential(torch.nn.Linear(2, 1)).apply(fill)
            >>> net[0].weight
            Parameter containing:
            tensor([[1., 1.]], requires_grad=True)
        """
        checks.function("apply", "fn", fn)
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Visit, recurse: bool = True) -> Self:
        """Replace the memory of parameters, gradients and buffers by that of fn(tensor); parameters stay objects.

        Children are visited first, by their own `_apply`.  A buffer that several modules share stays shared.
        """
        visit = fn if isinstance(fn, _Once) else _Once(fn)
        if recurse:
            for module in self.children():
                module._apply(visit)
        with GradMode(False):
            for param in self._parameters.values():
                if param is not None:
                    _move(param, visit)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = visit.once(buffer)
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move the parameters and buffers to a device without copying their values; return this module.

        The new values are not initialized.  recurse: include the descendants.
        Raises: ArgumentTypeError or DeviceNameError for an object that names no device, DeviceIndexError for a device
                that does not exist.
        Example:
            >>> torch.nn.Linear(2, 3).to_empty(device="cuda").weight.device
            device(type='cuda', index=0)
        """
        with naming("to_empty"):
            target = devices.as_device(device)
            return self._apply(lambda tensor: empty_like(tensor, device=target), recurse)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move all parameters and buffers to a device, and convert floating point ones to a type; return this module.

        Forms: to(device), to(dtype), to(device, dtype), to(tensor); each also takes the keywords non_blocking and
        memory_format, which applies to parameters and buffers of four and five dimensions.
        Raises: ArgumentTypeError for a type that is not floating point or arguments of another form, DeviceNameError
                for a str that names no device, DeviceIndexError for a device that does not exist.
        Example:
            >>> layer = torch.nn.Linear(2, 3).to("cuda", torch.float16)
            >>> layer.weight.device, layer.weight.dtype
            (device(type='cuda', index=0), torch.float16)
        """
        format = kwargs.pop("memory_format", None)
        if format is not None:
            memory_formats.check("to", format)
        device, wanted, non_blocking, _ = to_arguments(args, kwargs)
        if wanted is not None and not wanted.is_floating_point:
            raise ArgumentTypeError(
                f"nn.Module.to only accepts floating point dtypes, got desired dtype={wanted}",
                hint="convert single tensors, as in module.buffer.to(...)",
                operator="to",
            )
        with naming("to"):
            device = None if device is None else devices.as_device(device)

        def convert(tensor: Any) -> Any:
            new_dtype = wanted if tensor.is_floating_point() else None
            moved = tensor.to(device=device, dtype=new_dtype, non_blocking=non_blocking)
            return moved if format is None or tensor.ndim not in (4, 5) else moved.contiguous(memory_format=format)

        return self._apply(convert)

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a CUDA device, by default the current one; return this module.

        Raises: NoDeviceError without a GPU, DeviceNameError for a str that names no CUDA device, DeviceIndexError for a
                device that does not exist, OutOfMemoryError if the device has no memory left.
        Example:
            >>> torch.nn.Linear(2, 3).cuda(1).weight.device
            device(type='cuda', index=1)
        """
        with naming("cuda"):
            index = devices.cuda_index(device)
        return self._apply(lambda tensor: tensor.cuda(index))

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU; return this module.

        Example:
            >>> torch.nn.Linear(2, 3).cuda().cpu().weight.device
            device(type='cpu')
        """
        return self._apply(lambda tensor: tensor.cpu())

    def share_memory(self) -> Self:
        """Move parameters and buffers on the CPU to shared memory, which other processes can map; return this module.

        Example:
            >>> torch.nn.Linear(2, 3).share_memory().weight.is_shared()
            True
        """
        return self._apply(lambda tensor: tensor.share_memory_())

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype, also those of integer dtypes; return this module.

        Raises: ArgumentTypeError or ArgumentError for a dst_type that is not a dtype, DtypeError for an integer dtype
                if a parameter requires a gradient.
        Example:
            >>> torch.nn.BatchNorm1d(2).type(torch.float64).num_batches_tracked.dtype
            torch.float64
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert the floating point parameters and buffers to float32; return this module.

        Example:
            >>> torch.nn.Linear(2, 3).half().float().weight.dtype
            torch.float32
        """
        return self._cast(float32)

    def double(self) -> Self:
        """Convert the floating point parameters and buffers to float64; return this module.

        Example:
            >>> torch.nn.Linear(2, 3).double().weight.dtype
            torch.float64
        """
        return self._cast(float64)

    def half(self) -> Self:
        """Convert the floating point parameters and buffers to float16; return this module.

        Example:
            >>> torch.nn.Linear(2, 3).half().weight.dtype
            torch.float16
        """
        return self._cast(float16)

    def bfloat16(self) -> Self:
        """Convert the floating point parameters and buffers to bfloat16; return this module.

        Example:
            >>> torch.nn.Linear(2, 3).bfloat16().weight.dtype
            torch.bfloat16
        """
        return self._cast(bfloat16)

    def _cast(self, wanted: dtype) -> Self:
        return self._apply(lambda tensor: tensor.to(wanted) if tensor.is_floating_point() else tensor)

    def train(self, mode: bool = True) -> Self:
        """Set training mode of this module and its descendants, for layers such as Dropout; return this module.

        mode: False sets evaluation mode, as `eval` does.
        Raises: ArgumentError for a mode that is not a bool.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Dropout(0.5)).train(False)
            >>> net[0](torch.ones(3))
            tensor([1., 1., 1.])
        """
        if not isinstance(mode, bool):
            raise ArgumentError(
                f"training mode is expected to be boolean, got {shown(mode)}",
                hint="give True or False",
                operator="train",
            )
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Set evaluation mode of this module and its descendants, as train(False) does; return this module.

        Example:
            >>> torch.nn.Dropout(0.5).eval()(torch.ones(3))
            tensor([1., 1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set requires_grad of all parameters; return this module.

        Raises: ArgumentTypeError for a value that is not a bool, DtypeError for True with a parameter that is not
                floating point.
        Example:
            >>> layer = torch.nn.Linear(2, 3).requires_grad_(False)
            >>> layer.weight.requires_grad
            False
        """
        for param in self.parameters():
            want(param, requires_grad, "requires_grad_")
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None or, if not set_to_none, to zero.

        Example:
            >>> layer = torch.nn.Linear(2, 1)
            >>> layer(torch.ones(2)).backward()
            >>> layer.zero_grad()
            >>> layer.weight.grad is None
            True
        """
        if self._is_replica:
            callers.warn(
                "zero_grad: this module is a replica made by DataParallel; its parameters are copies, not leaves, "
                "and have no "
                "gradients to reset"
            )
        for param in self.parameters():
            clear_grad(param, set_to_none)

    # state

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return an OrderedDict of the parameters and persistent buffers by dotted name.

        The tensors share the module's memory; they are detached from gradients unless keep_vars.
        prefix: a text to put before each name.  destination: a dict to add to.
        Passing destination, prefix and keep_vars by position is deprecated: it gives a FutureWarning.
        Raises: ArgumentTypeError for a destination that is not a dict or a prefix that is not a string.
        Example:
            >>> layer = torch.nn.Linear(2, 3)
            >>> {name: tuple(value.shape) for name, value in layer.state_dict().items()}
            {'weight': (3, 2), 'bias': (3,)}
        """
        if args:
            text = "state_dict: positional arguments are deprecated, use destination=, prefix= and keep_vars="
            callers.warn(text, FutureWarning)
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        target: Any = destination
        if target is None:
            target = OrderedDict()
            target._metadata = OrderedDict()
        check_target(target, prefix)
        return save_into(self, target, prefix, keep_vars)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Add this module's own part, without its children's, to a state_dict; subclasses may extend it."""
        save_own(self, destination, prefix, keep_vars)

    def get_extra_state(self) -> Any:
        """Return the part of the module's state that is not in parameters or buffers; subclasses define it.

        state_dict stores the result as "_extra_state", and load_state_dict passes it to set_extra_state.
        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> class Counter(torch.nn.Module):
            ...     count = 7
            ...     def get_extra_state(self):
            ...         return self.count
            ...     def set_extra_state(self, state):
            ...         self.count = state
            >>> dict(Counter().state_dict())
            {'_extra_state': 7}
        """
        raise _no_extra_state("get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of get_extra_state; load_state_dict calls it, and subclasses define it.

        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> class Counter(torch.nn.Module):
            ...     count = 0
            ...     def get_extra_state(self):
            ...         return self.count
            ...     def set_extra_state(self, state):
            ...         self.count = state
            >>> counter = Counter()
            >>> counter.load_state_dict({"_extra_state": 7})
            <All keys matched successfully>
            >>> counter.count
            7
        """
        raise _no_extra_state("set_extra_state")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load this module's own part, without its children's, of a state_dict; subclasses may extend it.

        Names and problems are added to the three lists.
        """
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        part = Part(assign, missing_keys, unexpected_keys, error_msgs)
        part.read(self, state_dict, prefix, local_metadata, strict)
        part.write()

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the values of a state_dict into the parameters and buffers of the same names.

        Returns (missing_keys, unexpected_keys): names that only the module has, and names that only the dict has.
        strict: raise if there are such names.  assign: use the given tensors themselves instead of copying.
        Host:   waits where values cross devices.
        Raises: StateDictError, which lists every missing and unexpected name and every wrong shape; nothing is loaded
                then.  ArgumentTypeError for an object that is not a dict.
        Example:
            >>> layer = torch.nn.Linear(2, 1)
            >>> layer.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.zeros(1)})
            <All keys matched successfully>
            >>> layer(torch.tensor([3.0, 4.0])).detach()
            tensor([7.])
        """
        return load(self, state_dict, strict, assign)

    # text

    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """Return the text between the parentheses of the module's repr; subclasses override this method.

        Example:
            >>> torch.nn.Linear(2, 3).extra_repr()
            'in_features=2, out_features=3, bias=True'
        """
        return ""

    def __repr__(self) -> str:
        return describe(self)


def clear_grad(param: Any, set_to_none: bool) -> None:
    """Set a parameter's gradient to None, or to zero outside any graph."""
    if param.grad is None:
        return
    if set_to_none:
        param.grad = None
    else:
        param.grad = param.grad.detach()
        param.grad.zero_()


def _move(param: Any, visit: Visit) -> None:
    grad, before = param.grad, param.device_index
    param.data = visit(param if is_lazy(param) else param.detach())
    param.grad = None if grad is None else visit(grad.detach())
    node = param._accumulator() if param._accumulator is not None else None
    if node is not None and before != param.device_index:
        node.streams = streams_of([param])  # hooks hold the leaf's accumulator, which was made for the former device


class _Once:
    """A function for `_apply` that caches its results for buffers, so that shared buffers stay shared."""

    def __init__(self, fn: Visit) -> None:
        self.fn = fn
        self.known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, tensor: Any) -> Any:
        return self.fn(tensor)

    def once(self, buffer: Any) -> Any:
        """Return the result for a buffer, the same one each time."""
        if id(buffer) not in self.known:
            result = self.fn(buffer)
            self.known |= {id(buffer): (buffer, result), id(result): (result, result)}
        return self.known[id(buffer)][1]


def _no_extra_state(name: str) -> NotSupportedError:
    return NotSupportedError(
        "a module has no extra state unless its class defines it",
        hint="define get_extra_state(self) and set_extra_state(self, state)",
        operator=name,
    )


def note_place(module: Module, error: FlambeauError) -> None:
    """Add a note to an error that names the module which raised it, by its path in the outermost called module."""
    failing = error.raised_in
    if failing is None:
        error.raised_in = weakref.ref(module)
        return
    inner = failing()
    path = next((name for name, submodule in module.named_modules() if submodule is inner), "")
    if path:
        notes = error.__dict__.setdefault("__notes__", [])
        if notes and notes[-1].startswith(PLACE):
            notes.pop()
        error.add_note(f"{PLACE}{path} ({type(inner).__name__})")


PLACE = "in "  # the beginning of a note that `note_place` adds

TABLES: dict[str, Callable[[], Any]] = {  # attributes of every module, and functions that make their first values
    "_parameters": dict, "_buffers": dict, "_non_persistent_buffers_set": set, "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict, "_is_full_backward_hook": lambda: None, "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict, "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict, "_forward_pre_hooks_with_kwargs": OrderedDict, "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict, "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict, "_modules": dict,
}  # fmt: skip

for _method in (Module.get_extra_state, Module.set_extra_state):
    vars(_method)["is_missing"] = True  # a subclass's own method has no such mark
vars(Module._load_from_state_dict)["is_plain"] = True


def check_module(called: str, what: str, value: object) -> None:
    """Raise ArgumentTypeError unless a value is a module."""
    if not isinstance(value, Module):
        raise ArgumentTypeError(f"{what} must be a Module, got {shown(value)}", hint="pass a module", operator=called)


class Layer(Module):
    """A module that maps one tensor to one tensor; type checkers take the signature from here."""

    if TYPE_CHECKING:

        def __call__(self, input: Tensor) -> Tensor: ...


FACTORY_KEYWORDS = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the tensor options (device, dtype, memory_format) among the keyword arguments of a module's constructor.

    The result can be passed to functions such as `torch.empty`.  A nested dict `factory_kwargs` is merged into it.
    Raises: ArgumentTypeError for any other keyword, or one that is given twice.
    Example:
        >>> torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": torch.float64}})
        {'dtype': torch.float64, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    unknown = sorted(kwargs.keys() - {*FACTORY_KEYWORDS, "factory_kwargs"})
    options = dict(kwargs.get("factory_kwargs", {}))
    twice = [name for name in FACTORY_KEYWORDS if name in kwargs and name in options]
    if unknown or twice:
        fact = f"unexpected kwargs {unknown}" if unknown else f"{twice[0]} specified twice, also in factory_kwargs"
        raise ArgumentTypeError(fact, hint=f"use {', '.join(FACTORY_KEYWORDS)}", operator="factory_kwargs")
    return options | {name: kwargs[name] for name in FACTORY_KEYWORDS if name in kwargs}

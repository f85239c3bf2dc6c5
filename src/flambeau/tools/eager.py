"""Stand-ins for PyTorch's compilers (compile, jit, onnx): functions run eagerly, as written.

- A function that would compile returns its argument unchanged.  The first call in a process logs that nothing is
  compiled.
- Functions that write or read a compiled program raise NotSupportedError.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import logging
import os
import typing
from collections.abc import Callable
from contextlib import ContextDecorator
from enum import Enum, Flag
from types import UnionType
from typing import Any, NamedTuple

from ..autograd.function import Function
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, no_attribute, shown
from ..nn.module import Module
from ..ops.operator import REGISTRY
from ..tensor import functions
from ..tensor.tensor import Tensor
from . import pytree

log = logging.getLogger("flambeau")
_said: list[str] = []  # functions that have already logged that their results run eagerly


def _say(name: str) -> None:
    """Log, once per process and function, that its result runs eagerly."""
    if name not in _said:
        _said.append(name)
        log.info("%s: flambeau has no compiler of programs; the callable is returned as it is and runs eagerly", name)


def _lacking(name: str, fact: str, hint: str, example: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Make a function that raises NotSupportedError for every call.

    example: the lines of the docstring's example that call it, `torch.<name>()` by default.
    """
    lines = "\n        ...     ".join(example or (f"torch.{name}()",))

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError(fact, hint=hint, operator=name)

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"""Raise NotSupportedError, because {fact}.

    Example:
        >>> try:
        ...     {lines}
        ... except NotImplementedError as error:
        ...     print(str(error).startswith("{name}: "))
        True
    """
    return refuse


# torch.compile, torch.compiler and torch._dynamo


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return `model` itself: nothing is compiled, and it runs eagerly.

    Without `model`, return a decorator.  The other arguments are accepted and have no effect.
    Raises: ArgumentTypeError if `model` cannot be called, ArgumentError for both a mode and options.
    Example:
        >>> @torch.compile(mode="reduce-overhead")
        ... def double(x):
        ...     return x * 2
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise ArgumentError(
            f"mode and options cannot both be given, got {shown(mode)} and {shown(options)}",
            hint="leave one of them out",
            operator="compile",
        )
    if model is None:
        return compile
    _check_callable("compile", model)
    _say("compile")
    return model


def _check_text(name: str, what: str, value: Any, hint: str) -> None:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what} must be a str, got {shown(value)}", hint=hint, operator=name)


def _check_callable(name: str, value: Any) -> None:
    if not callable(value):
        raise ArgumentTypeError(
            f"expected a function or a module, got {shown(value)}", hint="pass a callable", operator=name
        )


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """Return the callable itself; without one, a decorator.  Nothing is compiled, so nothing is excluded.

    Example:
        >>> @torch.compiler.disable
        ... def double(x):
        ...     return x * 2
        >>> double(3)
        6
    """
    return disable if fn is None else fn


def optimize(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Return a decorator that returns its argument, which runs eagerly.

    Example:
        >>> torch._dynamo.optimize("inductor")(len)([1, 2])
        2
    """
    _say("compile")
    return same


def same(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the argument unchanged: flambeau compiles nothing, and ignores hints to a compiler.

    Example:
        >>> torch.compiler.allow_in_graph(len) is len
        True
    """
    return value


def substitute(original_fn: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Return a decorator that returns its argument: `original_fn` is not replaced, since nothing is compiled.

    Example:
        >>> torch.compiler.substitute_in_graph(len)(max) is max
        True
    """
    return same


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing: flambeau compiles nothing, so there are no caches to clear and no hints to use.

    Example:
        >>> torch.compiler.reset()
    """


def no(*args: Any, **kwargs: Any) -> bool:
    """Return False: no program is being compiled, traced or exported.

    Example:
        >>> torch.compiler.is_compiling(), torch.jit.is_scripting(), torch.onnx.is_in_onnx_export()
        (False, False, False)
    """
    return False


def no_backends(*args: Any, **kwargs: Any) -> list[str]:
    """Return an empty list: there are no compilers.

    Example:
        >>> torch.compiler.list_backends()
        []
    """
    return []


class Setting(ContextDecorator):
    """Accept a setting of a compiler and ignore it; use it as a function, a context manager or a decorator.

    Example:
        >>> with torch.compiler.set_stance("force_eager"):
        ...     torch.ones(1)
        tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


_NOT_TRACED = "programs run at once, call by call, and are not traced into graphs"
_COMPILED = "compiled extensions of PyTorch are not built: they need PyTorch's headers and libraries"
_OWN_KERNELS = "docs/guides/adding-an-operator.md shows how a program defines an operator with device code of its own"
_IMPORT = "from flambeau.utils import cpp_extension"
load_extension = _lacking("cpp_extension.load", _COMPILED, _OWN_KERNELS, (_IMPORT, "cpp_extension.load()"))
load_inline_extension = _lacking(
    "cpp_extension.load_inline", _COMPILED, _OWN_KERNELS, (_IMPORT, "cpp_extension.load_inline()")
)
make_extension = _lacking("cpp_extension", _COMPILED, _OWN_KERNELS, (_IMPORT, "cpp_extension.CppExtension()"))
CUDA_HOME = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")  # programs read it before they compile


# checks that a compiler would read


def check(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError unless the condition holds.  message: a text, or a function that returns it.

    Example:
        >>> torch._check(True, lambda: "not reached")
    """
    if not cond:
        raise RuntimeError(str(message() if callable(message) else message or "Expected cond to be True"))


def check_that(condition: Any, message: str) -> None:
    """Raise AssertionError with a message unless the condition holds.

    Example:
        >>> torch._assert(True, "not reached")
    """
    if not condition:
        raise AssertionError(message)


# torch.jit


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Return the function, class or module itself, which runs eagerly.

    Example:
        >>> @torch.jit.script
        ... def double(x: torch.Tensor):
        ...     return x * 2
        >>> double(torch.ones(1))
        tensor([2.])
    """
    _say("jit.script")
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return the function or module itself, which runs eagerly; the other arguments have no effect.

    Raises: ArgumentTypeError if `func` cannot be called.
    Example:
        >>> net = torch.nn.Linear(2, 1)
        >>> torch.jit.trace(net, torch.ones(1, 2)) is net
        True
    """
    _check_callable("jit.trace", func)
    _say("jit.trace")
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the module itself, which runs eagerly; the other arguments have no effect.

    Example:
        >>> net = torch.nn.Linear(2, 1)
        >>> torch.jit.trace_module(net, {"forward": torch.ones(1, 2)}) is net
        True
    """
    _say("jit.trace")
    return mod


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function unchanged: it runs eagerly; with options, return a decorator that does the same.

    Example:
        >>> @torch.jit.ignore(drop=True)
        ... def double(x):
        ...     return x * 2
        >>> double(2)
        4
    """
    return drop if callable(drop) else same


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return `the_value`; the type is for TorchScript only, and has no effect.

    Example:
        >>> torch.jit.annotate(list[int], [1])
        [1]
    """
    return the_value


def is_instance(obj: Any, target_type: Any) -> bool:
    """Return whether an object is an instance of a type; elements of a generic type are not checked.

    target_type: a class, an annotation such as `list[int]`, or several in a tuple or a list.
    Raises: TypeError for a target_type that is not one of these, as `isinstance`.
    Example:
        >>> torch.jit.isinstance([1], list[int]), torch.jit.isinstance(1, list[int])
        (True, False)
    """
    types = target_type if isinstance(target_type, (tuple, list)) else [target_type]
    return any(isinstance(obj, _plain(candidate)) for candidate in types)


def _plain(annotation: Any) -> Any:
    """Return the class that `isinstance` accepts for a class or an annotation of `typing`."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, UnionType):
        return tuple(_plain(argument) for argument in typing.get_args(annotation))
    return origin or annotation


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function now; `torch.jit.wait` returns its result.

    Raises: the errors of the call.
    Example:
        >>> torch.jit.wait(torch.jit.fork(max, 1, 2))
        2
    """
    return func(*args, **kwargs)


class Attribute(NamedTuple):
    """A (value, type) pair, which annotates an attribute for TorchScript; the type has no effect.

    Example:
        >>> torch.jit.Attribute([1], list[int]).value
        [1]
    """

    value: Any
    type: Any


class ScriptModule(Module):
    """Base class of modules that were written for TorchScript; their methods run eagerly.

    `torch.jit.ScriptModule` is the same class.

    Example:
        >>> class Double(torch.jit.ScriptModule):
        ...     @torch.jit.script_method
        ...     def forward(self, x):
        ...         return x * 2
        >>> Double()(torch.ones(1))
        tensor([2.])
    """


class TracerWarning(Warning):
    """A warning category of PyTorch's tracer; flambeau never issues it."""


class ScriptFunction:
    """Class for isinstance checks; it has no instances, because no function is compiled.

    Example:
        >>> isinstance(torch.jit.script(len), torch.jit.ScriptFunction)
        False
    """


# torch.fx, torch.export, torch.library and torch.ops


class NoGraph:
    """Base of PyTorch's classes for program graphs, for imports and `isinstance` only; instances cannot be created."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotSupportedError(
            _NOT_TRACED,
            hint="call the module itself; module hooks see intermediate values",
            operator=type(self).__name__,
        )


class Node(NoGraph):
    """PyTorch's class of nodes of traced programs, for imports and `isinstance` only; it has no instances."""


class Graph(NoGraph):
    """PyTorch's class of traced programs, for imports and `isinstance` only; it has no instances."""


class GraphModule(NoGraph, Module):
    """PyTorch's class of modules that run traced programs, for imports and `isinstance` only; it has no instances."""


class Proxy(NoGraph):
    """PyTorch's class of values in a trace, for imports and `isinstance` only; it has no instances."""


class Tracer(NoGraph):
    """PyTorch's class of tracers of programs, for imports and `isinstance` only; it has no instances."""


class Interpreter(NoGraph):
    """PyTorch's interpreter of traced programs, for imports and `isinstance` only; it has no instances."""


class TensorType(NoGraph):
    """The type of tensors in compiled programs, for annotations."""


class PyTorchFileReader(NoGraph):
    """PyTorch's reader of files, for annotations."""


class SymBool(NoGraph):
    """The class of symbolic booleans; it has no instances."""


class SymFloat(NoGraph):
    """The class of symbolic floating-point numbers; it has no instances."""


class SymInt(NoGraph):
    """The class of symbolic sizes; it has no instances."""


symbolic_trace = _lacking("fx.symbolic_trace", _NOT_TRACED, "call the module itself")
transform_level = _lacking(
    "_C._functorch", "tensors have no batch dimension of vmap", "call the function itself inside vmap"
)
trace_graph = _lacking("jit._get_trace_graph", _NOT_TRACED, "call the module itself")
export_program = _lacking("export.export", "programs are not exported", "save net.state_dict() with torch.save")
# the transforms of torch.fft, by name; each raises NotSupportedError
transforms = {
    name: _lacking(f"fft.{name}", "complex arithmetic is not implemented", "numpy.fft takes x.cpu().numpy()")
    for name in (
        "fft", "fft2", "fftn", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ihfft", "ihfft2", "ihfftn", "irfft",
        "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
    )
}  # fmt: skip


class Operators:
    """`torch.ops`: operators of compiled extensions of PyTorch, which are not loaded."""

    def load_library(self, path: Any) -> None:
        """Raise OSError: compiled extensions of PyTorch cannot run without PyTorch."""
        raise OSError(
            f"torch.ops.load_library: {os.fspath(path)!r} is a compiled extension of PyTorch, which cannot be loaded"
        )

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        space = PyTorchOperators(name) if name == "aten" else Namespace(name)
        vars(self)[name] = space
        return space


class Namespace:
    """Operators of one namespace: only those that `custom_op` defined."""

    def __init__(self, name: str) -> None:
        vars(self)[""] = name

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(f"torch.ops.{vars(self)['']}", name)


class PyTorchOperators(Namespace):
    """`torch.ops.aten`: PyTorch's operators under their internal names; its overloads are one function here.

    Example:
        >>> torch.ops.aten.mul.Tensor(torch.tensor([2.0]), 3)
        tensor([6.])
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        operator = vars(self)[name] = PyTorchOperator(name)
        return operator


class PyTorchOperator:
    """An operator of PyTorch: the package's function or the tensor method of the same name.

    Raises: NotSupportedError when called, if there is neither.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, overload: str) -> PyTorchOperator:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = getattr(functions, self.name, None) or getattr(Tensor, self.name, None)
        if function is None:
            raise NotSupportedError(
                f"PyTorch's internal operator {self.name} is not supported",
                hint="call the public function",
                operator=f"torch.ops.aten.{self.name}",
            )
        return function(*args, **kwargs)


operators = Operators()


class CustomOperator:
    """An operator made by `torch.library.custom_op`: calling it runs the function.

    `register_fake` has no effect: nothing is compiled.
    Raises: the errors of the function.
    Example:
        >>> def double(x):
        ...     return x * 2
        >>> operator = torch.library.custom_op("mine::twice", double)
        >>> operator.register_autograd(lambda ctx, grad: grad * 2)
        >>> x = torch.ones(1, requires_grad=True)
        >>> torch.ops.mine.twice(x).backward()
        >>> x.grad
        tensor([2.])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.setup: Any = None
        self.derivative: Any = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.derivative is None:
            return self.function(*args, **kwargs)
        call = inspect.signature(self.function).bind(*args, **kwargs)
        call.apply_defaults()
        return _Differentiable.apply(self, call.kwargs, *call.args)

    def register_fake(self, function: Any = None) -> Any:
        """Accept a function that computes shapes for a compiler.  It is not called: nothing is compiled.

        Example:
            >>> double = torch.library.custom_op("mine::with_fake", lambda x: x * 2)
            >>> @double.register_fake
            ... def shape_of(x):
            ...     return torch.empty_like(x)
            >>> double(torch.ones(1))
            tensor([2.])
        """
        return same if function is None else function

    def register_kernel(self, device_types: Any, function: Any = None) -> Any:
        """Replace the operator's function; the device is ignored.

        Raises: ArgumentTypeError if the function cannot be called.
        Example:
            >>> double = torch.library.custom_op("mine::with_kernel", lambda x: x + x)
            >>> @double.register_kernel("cuda")
            ... def print_and_double(x):
            ...     print("the registered function")
            ...     return x * 2
            >>> double(torch.ones(1))
            the registered function
            tensor([2.])
        """
        if function is None:
            return functools.partial(self.register_kernel, device_types)
        _check_callable("register_kernel", function)
        self.function = function
        return function

    def register_autograd(self, backward: Any, *, setup_context: Any = None) -> None:
        """Set the derivative of the operator.

        setup_context(ctx, inputs, output) is called after the operator, to save values in ctx.  inputs: all arguments
        that can be passed by position.  If the operator has keyword-only arguments, setup_context also takes the dict
        `keyword_only_inputs`.  backward(ctx, *gradients) returns one gradient for each entry of inputs.
        Example:
            >>> square = torch.library.custom_op("mine::square", lambda x: x * x)
            >>> def keep(ctx, inputs, output):
            ...     ctx.save_for_backward(inputs[0])
            >>> def derivative(ctx, grad):
            ...     return 2 * ctx.saved_tensors[0] * grad
            >>> square.register_autograd(derivative, setup_context=keep)
            >>> x = torch.tensor(3.0, requires_grad=True)
            >>> square(x).backward()
            >>> x.grad
            tensor(6.)
        """
        self.derivative, self.setup = backward, setup_context


class _Differentiable(Function):
    """A call of a custom operator with a derivative."""

    @staticmethod
    def forward(ctx: Any, operator: CustomOperator, kwargs: dict[str, Any], *args: Any) -> Any:
        output = operator.function(*args, **kwargs)
        ctx.needs_input_grad = ctx.needs_input_grad[2:]
        if operator.setup is not None:
            operator.setup(ctx, args, output=output, **({"keyword_only_inputs": kwargs} if kwargs else {}))
        ctx.derivative = operator.derivative
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        result = ctx.derivative(ctx, *gradients)
        return (None, None, *result) if isinstance(result, tuple) else (None, None, result)


def custom_op(name: str, fn: Any = None, /, *, mutates_args: Any = (), device_types: Any = None, **options: Any) -> Any:
    """Register a function as the custom operator `torch.ops.space.name`, and return the operator.

    name: "space::name".  fn: the function; without it, return a decorator.
    mutates_args, device_types, options: have no effect.
    Raises: ArgumentTypeError for a name that is not a str or a function that cannot be called, ArgumentError for a name
            without a namespace.
    Example:
        >>> @torch.library.custom_op("mine::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> torch.ops.mine.double(torch.ones(1))
        tensor([2.])
    """
    _check_text("custom_op", "the name", name, "as in 'mine::double'")
    if fn is None:
        return functools.partial(custom_op, name, mutates_args=mutates_args, device_types=device_types, **options)
    space, separator, own = name.partition("::")
    if not separator:
        raise ArgumentError(
            f"the name must have a namespace, got {name!r}", hint="as in 'mine::double'", operator="custom_op"
        )
    _check_callable("custom_op", fn)
    operator = vars(getattr(operators, space))[own] = CustomOperator(fn)
    return operator


def register_autograd(op: Any, backward: Any, *, setup_context: Any = None, lib: Any = None) -> None:
    """Set the derivative of a custom operator, which is passed as an object or as "space::name".

    backward, setup_context: as in `CustomOpDef.register_autograd`.  lib: has no effect.
    Raises: ArgumentError if there is no such operator.
    Example:
        >>> cubed = torch.library.custom_op("mine::cubed", lambda x: x**3, mutates_args=())
        >>> torch.library.register_autograd(
        ...     "mine::cubed",
        ...     lambda ctx, grad: 3 * grad * ctx.x**2,
        ...     setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0]),
        ... )
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> torch.ops.mine.cubed(x).backward()
        >>> x.grad
        tensor(12.)
    """
    space, _, name = op.partition("::") if isinstance(op, str) else ("", "", "")
    operator = vars(getattr(operators, space)).get(name) if name else op
    if not isinstance(operator, CustomOperator):
        raise ArgumentError(
            f"{shown(op)} is not a custom operator",
            hint="pass an operator that custom_op or Library.impl defined",
            operator="register_autograd",
        )
    operator.register_autograd(backward, setup_context=setup_context)


def decorator(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Return a decorator that returns its argument: the registration has no effect.

    Example:
        >>> torch.library.register_fake("mine::double")(len) is len
        True
    """
    return same


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Combine the slices of tensors along a dimension with all before them, one after the other.

    combine_fn: (so far, next slice) -> their combination, as trees of tensors like `xs` without the dimension.
    reverse: begin with the last slice.  combine_mode: has no effect.
    Shapes: the result is a tree of tensors with the shapes of `xs`.
    Example:
        >>> from flambeau._higher_order_ops.associative_scan import associative_scan
        >>> associative_scan(torch.mul, torch.tensor([1, 2, 3, 4]), 0)
        tensor([ 1,  2,  6, 24])
    """
    leaves, spec = pytree.tree_flatten(xs)
    slices = [pytree.tree_unflatten(parts, spec) for parts in zip(*(leaf.unbind(dim) for leaf in leaves), strict=True)]
    results = list(itertools.accumulate(reversed(slices) if reverse else slices, combine_fn))
    if not results:
        return xs
    columns = zip(*(pytree.tree_leaves(result) for result in (reversed(results) if reverse else results)), strict=True)
    return pytree.tree_unflatten([REGISTRY["stack"](list(column), dim) for column in columns], spec)


class DispatchKey(Flag):
    """Dispatch keys of registrations: the implementation of the operator that a function provides."""

    CPU, CUDA, Meta, Autograd, AutogradCPU, AutogradCUDA, AutocastCPU, AutocastCUDA, AutocastXPU = [
        1 << bit for bit in range(9)
    ]


RUNS = ("", "CPU", "CUDA", "CompositeImplicitAutograd", "CompositeExplicitAutograd")  # keys of functions that compute


class Library:
    """A namespace of custom operators: `impl` adds `torch.ops.ns.name`.

    ns: the namespace.  kind: has no effect.  dispatch_key: the default dispatch key of `impl`.
    Example:
        >>> library = torch.library.Library("mine", "DEF")
        >>> library.define("triple(Tensor x) -> Tensor")
        'triple'
        >>> library.impl("triple", lambda x: x * 3, "CPU")
        >>> torch.ops.mine.triple(torch.ones(1))
        tensor([3.])
    """

    def __init__(self, ns: str, kind: str = "DEF", dispatch_key: str = "") -> None:
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def define(self, schema: str, *args: Any, **kwargs: Any) -> str:
        """Return the operator's name in a schema; nothing is registered until `impl` is called.

        schema: the signature, such as "add_one(Tensor x) -> Tensor".
        Raises: ArgumentTypeError if the schema is not a str.
        Example:
            >>> torch.library.Library("mine", "DEF").define("add_one(Tensor x) -> Tensor")
            'add_one'
        """
        _check_text("Library.define", "the schema", schema, "as in 'add_one(Tensor x) -> Tensor'")
        return schema.partition("(")[0]

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> None:
        """Register a function as the operator `torch.ops.ns.op_name`.

        The first function registered under a dispatch_key of "", "CPU", "CUDA", "CompositeImplicitAutograd" or
        "CompositeExplicitAutograd" is used on all devices.  Later ones, and those of other keys, are ignored.
        Raises: ArgumentTypeError if the function cannot be called.
        Example:
            >>> library = torch.library.Library("mine", "IMPL")
            >>> library.impl("add_two", lambda x: x + 2, "CPU")
            >>> torch.ops.mine.add_two(torch.ones(1))
            tensor([3.])
        """
        if (dispatch_key or self.dispatch_key) in RUNS:
            _check_callable("Library.impl", fn)
            name = str(op_name).rpartition("::")[2].partition(".")[0]
            vars(getattr(operators, self.ns)).setdefault(name, CustomOperator(fn))


# torch.jit and torch.onnx: files

_STATES = "save net.state_dict() with torch.save, and load it into a module made by the program's own class"
jit_save = _lacking("jit.save", "TorchScript files are not written: there are no compiled programs", _STATES)
jit_load = _lacking("jit.load", "TorchScript files are not read: they hold compiled programs", _STATES)


_ONNX = "export the network with PyTorch: it loads the state dict that torch.save writes"
onnx_export = _lacking("onnx.export", "networks are not exported to ONNX", _ONNX)


class TrainingMode(Enum):
    """Training modes of an ONNX export: names only, since flambeau exports nothing."""

    EVAL, PRESERVE, TRAINING = range(3)


class OperatorExportTypes(Enum):
    """Operator sets of an ONNX export: names only, since flambeau exports nothing."""

    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = range(4)

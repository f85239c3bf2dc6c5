"""Operators: definition, parameters, sample calls, derivative, and the errors of calls that cannot be bound.

The attributes that every call reads are compiled: see binding.py.

An operator's parameters are those of the function that defines it.  A parameter's annotation determines its arguments:

    Operand            a tensor
    Operand | None     a tensor that may be absent
    Operands           a sequence of tensors
    Value              a tensor or a Python number
    Value | None       a tensor or a Python number that may be absent
    Number             a Python number that the lowering passes on unread: see Number
    anything else      an attribute

A derivative names its inputs, and only these are saved: `grad` (or `grads`, a tuple, where there are several
results), `out` (the first result; `out1` is the second, and so on), any parameter, `<parameter>_shape` for the shape
alone (see FACTS), and `needs`, one bool per tensor parameter.  It returns one gradient, or None, per tensor parameter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, NamedTuple

from ..dtypes import dtype
from ..errors import ArgumentError, ArgumentTypeError, shown
from .binding import Need, OperatorBase, Setting, Signature, function_of

VALUE_ANNOTATIONS = ("Value", "Value | None")
TENSOR_ANNOTATIONS = ("Operand", "Operand | None", "Operands", *VALUE_ANNOTATIONS)
VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
PACKAGE = "flambeau"  # where users find the functions
NEEDED = inspect.Parameter.empty  # the default of a parameter that must be passed


class Sample(NamedTuple):
    """Arguments of one test call of an operator, in which an `Array` describes a tensor.

    Example:
        >>> from flambeau.ops.operator import Array, Sample
        >>> Sample((Array((2, 3)),), {"dim": 1}).kwargs
        {'dim': 1}
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = {}


class ErrorSample(NamedTuple):
    """Arguments of a test call that must fail, with the error's class and a regular expression that matches its text.

    Example:
        >>> from flambeau.errors import ShapeError
        >>> from flambeau.ops.operator import Array, ErrorSample
        >>> ErrorSample((Array((2,)), Array((3,))), ShapeError, "do not broadcast").match
        'do not broadcast'
    """

    args: tuple[Any, ...]
    error: type[Exception]
    match: str
    kwargs: dict[str, Any] = {}


Samples = Callable[[], Iterable[Sample]]
Errors = Callable[[], Iterable[ErrorSample]]


class Parameter(NamedTuple):
    """One parameter of an operator.

    annotation: the text of its annotation, such as "Operand".  default: NEEDED if calls must pass the parameter.
    keyword_only: whether calls may pass it by keyword only.
    Example:
        >>> torch.add.__wrapped__.parameters[2]
        Parameter(name='alpha', annotation='float', default=1, keyword_only=True)
    """

    name: str
    annotation: str
    default: Any
    keyword_only: bool

    @property
    def is_tensor(self) -> bool:
        return self.annotation in TENSOR_ANNOTATIONS

    @property
    def is_needed(self) -> bool:
        return self.default is NEEDED


def _written(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a body wraps, or the body."""
    while type(body) is FunctionType and hasattr(body, "__wrapped__") and not hasattr(body, "__signature__"):
        body = body.__wrapped__
    return body


def _is_plain(body: Callable[..., Any]) -> bool:
    """Return whether a function's code lists its parameters.

    Such a list is read directly: inspect.signature would take a third of the import time.
    """
    return type(body) is FunctionType and not hasattr(body, "__signature__") and not body.__code__.co_flags & VARIADIC


def names_of(body: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters in a body's signature."""
    body = _written(body)
    if not _is_plain(body):
        return tuple(inspect.signature(body).parameters)
    code = body.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def parameters_of(body: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters in a body's signature."""
    body = _written(body)
    if not _is_plain(body):
        parameters = inspect.signature(body).parameters.values()
        named = inspect.Parameter.KEYWORD_ONLY
        return tuple([
            Parameter(parameter.name, str(parameter.annotation), parameter.default, parameter.kind is named)
            for parameter in parameters
        ])  # fmt: skip
    annotations, names, count = body.__annotations__, names_of(body), body.__code__.co_argcount
    defaults = dict(zip(reversed(names[:count]), reversed(body.__defaults__ or ())), **(body.__kwdefaults__ or {}))
    return tuple([
        Parameter(name, str(annotations.get(name, NEEDED)), defaults.get(name, NEEDED), at >= count)
        for at, name in enumerate(names)
    ])  # fmt: skip


def python_signature(parameters: Sequence[Parameter], takes_out: bool) -> inspect.Signature:
    """Return the `inspect.Signature` of an operator's calls."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    converted = [
        inspect.Parameter(parameter.name, kinds[parameter.keyword_only], default=parameter.default)
        for parameter in parameters
    ]
    if takes_out:
        converted.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(converted)


def by_position(body: Callable[..., Any], parameters: Sequence[Parameter]) -> Callable[..., Any]:
    """Return the body as a function that takes keyword-only parameters by position, as calls pass them.

    parameters: all that calls pass, the Call of a lowering included.
    """
    named = [parameter.name for parameter in parameters if parameter.keyword_only]
    if not named:
        return body
    count = len(parameters) - len(named)

    @wraps(body)
    def positional(*values: Any) -> Any:
        return body(*values[:count], **dict(zip(named, values[count:], strict=True)))

    return positional


POINTWISE, LOWERED, VIEW, COMPOSITE = "pointwise", "lowered", "view", "composite"
OF_NUMPY = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}

REGISTRY: dict[str, Operator] = {}


class Number:
    """Placeholder for a Python number while a call is lowered: its type is known, and each launch passes a value.

    index: its position among the operands;  kind: bool, int or float;
    conversions: functions of one value; the first gets the passed value, each other one the result before it.
    Example:
        >>> from flambeau.ops.operator import Number
        >>> Number(1, float).kind
        <class 'float'>
    """

    __slots__ = ("conversions", "index", "kind")

    def __init__(self, index: int, kind: type, conversions: tuple[Callable[[Any], Any], ...] = ()) -> None:
        self.index = index
        self.kind = kind
        self.conversions = conversions

    def passed_as(self, conversion: Callable[[Any], Any], kind: type | None = None) -> Number:
        """Return the number with one more conversion; `kind` is its new type, if that changes.

        Example:
            >>> from flambeau.ops.operator import Number
            >>> number = Number(1, int).passed_as(float, float)
            >>> number.kind, number.conversions
            (<class 'float'>, (<class 'float'>,))
        """
        if conversion is self.kind:
            return self
        return Number(self.index, kind or self.kind, (*self.conversions, conversion))


def passed_as(value: Any, conversion: Callable[[Any], Any], kind: type | None = None) -> Any:
    """Convert a number at once, or add the conversion to a Number, which applies it in each call.

    conversion: a function of the number.  kind: the type of its result, if that differs from the number's.
    Example:
        >>> from flambeau.ops.operator import passed_as
        >>> passed_as(3, float)
        3.0
    """
    return value.passed_as(conversion, kind) if type(value) is Number else conversion(value)


NODE_NAMES = {  # the names that `grad_fn` and backward errors show, where PyTorch's differ
    "batch_norm_of_batch": "NativeBatchNormBackward0", "cast_two": "ToCopyBackward0",
    "convert": "CloneBackward0", "copy": "CopyBackwards", "deviation": "StdBackward0", "move": "ToCopyBackward0",
    "deviation_and_mean": "StdMeanBackward0", "variance_and_mean": "VarMeanBackward0",
    "entropy_each": "NllLossBackward0", "entropy_total": "NllLossBackward0", "fused_dropout": "NativeDropoutBackward0",
    "class_margin": "MultiMarginLossBackward0", "label_margin": "MultilabelMarginLossBackward0",
    "linear": "AddmmBackward0", "matmul": "MmBackward0", "max_dim": "MaxBackward0", "min_dim": "MinBackward0",
    "nll_each": "NllLossBackward0", "nll_total": "NllLossBackward0", "running_sum": "CumsumBackward0",
    "sort_rows": "SortBackward0", "variance": "VarBackward0", "vector_norm": "LinalgVectorNormBackward0",
}  # fmt: skip
VALUE, FACT = "value", "fact"
OF_BACKWARD = GRAD, GRADS, NEEDS = "grad", "grads", "needs"  # beside the results and the operator's parameters
OUT = "out"
FACTS = {"shape": "shape", "strides": "strides", "offset": "_offset"}  # facts of a tensor, and the attribute for each


class Operator(OperatorBase):
    """An operator, such as the one that `torch.add` calls: its parameters, body, derivative and options.

    The decorators `operator`, `view`, `composite` and `pointwise` make operators.  Calling an operator runs it.
    name: its key in REGISTRY.  called: the name that users call it by, which starts its error messages.
    inplace: whether an in-place version `name_` exists.  method: whether tensors have the operator as a method.
    host: whether calls wait for a GPU: "never", "waits" or, for composites that wait in some calls only, "may wait".
    dtypes: the dtypes that the tests of operators try.  setting: a user setting that the lowering depends on.
    mutates: the parameters, sequences of tensors, that a call writes.
    takes_out: whether out= is accepted; views never accept it.
    gives_views: whether a composite returns several views of its input, which autograd does not let programs write.
    other_names: further keywords for parameters, beside the parameters' own names and those of NumPy.
    quick: for a view, a function that serves plain calls without the body and the call cache, or None (views.py).
    quick_node: the operator that autograd records for calls served by `quick`; if None, recorded calls are not served.
    derivative_call: the derivative as a composite operator, made by the first backward pass.
    is_derivative: whether this operator is such a derivative.
    function_object: the function that `as_function` returned, or None.
    travels: for each parameter, whether calls pass its number to the kernel, so that the cache key has only its type.
    Example:
        >>> add = torch.add.__wrapped__
        >>> add.name, add.kind, add.host
        ('add', 'pointwise', 'never')
        >>> add(torch.tensor([1, 2]), 10)
        tensor([11, 12])
    """

    by_value = False  # whether a pointwise lowering also depends on the values of numbers
    writes_one_value = False  # whether elements that share memory may be written, because all get one value

    def __init__(
        self, body: Callable[..., Any], kind: str, *, samples: Samples, errors: Errors | None = None,
        dtypes: Sequence[dtype] = (), inplace: bool = False, method: bool = True, function: bool = True,
        host: str = "never", name: str = "", called: str = "", differentiable: bool = True,
        setting: Setting | None = None, mutates: Sequence[str] = (), takes_out: bool = True,
        gives_views: bool = False, other_names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name = name or body.__name__
        self.__name__ = self.name
        self.__doc__ = body.__doc__
        self.called = called or self.name
        parameters = parameters_of(body)
        self.body = body if kind == POINTWISE else by_position(body, parameters)
        self.kind = kind
        self.samples = samples
        self.errors = errors
        self.dtypes = tuple(dtypes)
        self.inplace = inplace
        self.method = method
        self.function = function
        self.host = host
        self.differentiable = differentiable
        self.setting = setting
        self.mutates = tuple(mutates)
        self.takes_out = takes_out and kind != VIEW
        self.gives_views = gives_views
        self.other_names = {} if other_names is None else dict(other_names)
        self.quick: Callable[[Any, list[Any]], Any] | None = None
        self.quick_node: Operator | None = None
        self.derivative_call: Operator | None = None
        self.is_derivative = False
        self.backward: Callable[..., Any] | None = None
        self.backward_needs: tuple[str, ...] = ()
        self.saves: tuple[Need, ...] = ()
        self.only_for: dict[str, str] = {}
        self.parameters = parameters[1:] if kind == LOWERED else parameters
        self.positional = sum([not parameter.keyword_only for parameter in self.parameters])
        self.tensor_indexes = tuple([index for index, parameter in enumerate(self.parameters) if parameter.is_tensor])
        self.index_of = {parameter.name: index for index, parameter in enumerate(self.parameters)}
        self.travels = tuple([self._travels(parameter) for parameter in self.parameters])
        self.node_name = NODE_NAMES.get(self.name) or f"{self.name.title().replace('_', '')}Backward0"
        self.defaults = [parameter.default for parameter in self.parameters]
        needed = [count for count, parameter in enumerate(self.parameters, 1) if parameter.is_needed]
        self.needed = max(needed, default=0)
        self.twins: dict[str, Operator] = {}  # copies of this operator, by the name that they are called by
        self.signatures: dict[tuple[Any, ...], Signature] = {}
        self.last_signature: Signature | None = None
        self.function_object: Callable[..., Any] | None = None
        REGISTRY[self.name] = self

    def _travels(self, parameter: Parameter) -> bool:
        if self.kind == POINTWISE and parameter.annotation in VALUE_ANNOTATIONS:
            return not self.by_value
        return self.kind != COMPOSITE and parameter.annotation == "Number"

    def called_as(self, called: str) -> Operator:
        """Return this operator under another name for users, such as `add_` or `multiply`.

        Example:
            >>> torch.add.__wrapped__.called_as("plus").called
            'plus'
        """
        twin = self.twins.get(called)
        if twin is None:
            twin = self.twins[called] = self._copied()
            twin.called = twin.__name__ = called
            twin.function_object = None
        return twin

    def _copied(self) -> Operator:
        twin: Operator = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        for name in COMPILED:
            setattr(twin, name, getattr(self, name))
        return twin

    def in_place(self) -> Operator:
        """Return this operator under the name of its in-place form.

        Example:
            >>> torch.add.__wrapped__.in_place().called
            'add_'
        """
        return self.called_as(f"{self.called}_")

    def as_function(self, module: str = PACKAGE) -> Callable[..., Any]:
        """Return the plain function that wraps this operator, which users call and `__torch_function__` receives.

        module: where users find it, for pickle.
        Example:
            >>> torch.add.__wrapped__.as_function() is torch.add
            True
        """
        if self.function_object is None:
            has_own_call = type(self).__call__ is not Operator.__call__
            function: Any = _calling(self) if has_own_call else function_of(self)
            function.__name__ = function.__qualname__ = self.called.rpartition(".")[2]
            function.__module__, function.__doc__, function.__wrapped__ = module, self.__doc__, self
            self.function_object = function
        return self.function_object

    def lower(self, call: Any, *arguments: Any) -> Any:
        """Record a call's allocations and launches in `call`; return its results."""
        return self.body(call, *arguments)

    def derivative(self, body: Callable[..., Any] | None = None, *, only_for: dict[str, str] | None = None) -> Any:
        """Attach the derivative: a function whose parameters name the values that it needs, such as `grad` and `input`.

        only_for: {"input": "other"} saves `input` only where `other` needs a gradient, and passes None otherwise.
        Raises: ArgumentError for a name that is not a parameter, a result or a property such as `input_shape`.
        Example:
            >>> from flambeau.ops.operator import REGISTRY
            >>> from flambeau.ops.pointwise import pointwise, promoted
            >>> @pointwise(dtype=promoted, cuda="input * input", samples=tuple)
            ... def squared(input: "Operand"):
            ...     return input * input
            >>> @squared.derivative
            ... def _(grad, input):
            ...     return (2 * input * grad,)
            >>> x = torch.tensor([1.0, 3.0], requires_grad=True)
            >>> squared(x).sum().backward()
            >>> x.grad
            tensor([2., 6.])
            >>> del REGISTRY["squared"]
        """
        self.only_for = only_for or {}
        return self.derivative_body if body is None else self.derivative_body(body)

    def derivative_body(self, body: Callable[..., Any]) -> Operator:
        """Attach a function as the derivative of this operator: see `derivative`."""
        names = names_of(body)
        self.saves = tuple([self._need(name) for name in names])
        self.backward, self.backward_needs, self.derivative_call = body, names, None
        return self

    def as_derivative(self) -> Operator:
        """Return the derivative as an operator outside the registry, which all names of this operator share.

        Example:
            >>> torch.relu.__wrapped__.as_derivative().is_derivative
            True
        """
        original = REGISTRY.get(self.name, self)
        if original is not self and original.backward is self.backward:
            if original.derivative_call is None:
                original.derivative_call = original.as_derivative()
            return original.derivative_call
        composite = self._copied()
        assert self.backward is not None
        composite.body, composite.kind, composite.host = self.backward, COMPOSITE, "never"
        composite.mutates, composite.quick = (), None
        composite.travels, composite.tensor_indexes = (False,) * len(self.saves), ()
        composite.gives_views, composite.is_derivative = False, True
        return composite

    def _need(self, name: str) -> Need:
        """Return the Need of a parameter of the derivative."""
        if name in OF_BACKWARD:  # kinds are compared by identity: take the constant
            return Need(OF_BACKWARD[OF_BACKWARD.index(name)], -1, "", -1)
        if name.startswith(OUT) and (name == OUT or name[len(OUT) :].isdigit()):
            return Need(OUT, int(name[len(OUT) :] or 0), "", -1)
        index = self.index_of.get(name)
        if index is not None:
            reason = self.only_for.get(name)
            return Need(VALUE, index, "", -1 if reason is None else self.index_of[reason])
        parameter, _, fact = name.rpartition("_")
        if parameter not in self.index_of or fact not in FACTS:
            facts = ", ".join([f"<parameter>_{fact}" for fact in FACTS])
            raise ArgumentError(
                f"the derivative takes '{name}', which is not a parameter, a result or a fact",
                hint=f"it may take {', '.join([*OF_BACKWARD, OUT, *self.index_of])} and {facts}",
                operator=self.name,
            )
        return Need(FACT, self.index_of[parameter], FACTS[fact], -1)

    def signature_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
        """Return which arguments a call passes by position and which by keyword.

        The result has `count`, the number of positional arguments, `names`, the keywords, and `places`, the index of
        each keyword's parameter.
        Raises: ArgumentTypeError if the call cannot be bound.
        Example:
            >>> signature = torch.add.__wrapped__.signature_of((torch.ones(1), 2), {"alpha": 3})
            >>> signature.count, signature.names, signature.places
            (2, ('alpha',), [2])
        """
        return Signature(len(args), tuple(kwargs), self._places(args, kwargs))

    def _places(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """Return the index of each keyword's parameter."""
        if len(args) > self.positional:
            raise ArgumentTypeError(
                f"takes {self.positional} positional arguments but {len(args)} were given",
                hint=self.usage(),
                operator=self.called,
            )
        passed = {self._own_name(name, kwargs): value for name, value in kwargs.items()}
        left = self.parameters[len(args) :]
        for parameter in left:
            if parameter.is_needed and parameter.name not in passed:
                raise ArgumentTypeError(
                    f"missing 1 required positional argument: '{parameter.name}'",
                    hint=self.usage(),
                    operator=self.called,
                )
        known = {parameter.name for parameter in left}
        for name, value in kwargs.items():
            if self._own_name(name, kwargs) not in known:
                raise ArgumentTypeError(
                    f"got an unexpected keyword argument '{name}': {shown(value)}",
                    hint=self.usage(),
                    operator=self.called,
                )
        return [self.index_of[name] for name in passed]

    def _own_name(self, name: str, others: dict[str, Any]) -> str:
        """Return the parameter that a keyword names: its alias only if the call does not pass that parameter itself."""
        own = self.other_names.get(name) or OF_NUMPY.get(name, name)
        return name if name in self.index_of or own in others else own

    def usage(self) -> str:
        """Return the operator's signature in words, for the hint of an error.

        Example:
            >>> torch.add.__wrapped__.usage()
            'the signature is add(input, other, *, alpha=1)'
        """
        listed = [
            parameter.name if parameter.is_needed else f"{parameter.name}={parameter.default}"
            for parameter in self.parameters
        ]
        if self.positional < len(listed):
            listed.insert(self.positional, "*")
        return f"the signature is {self.called}({', '.join(listed)})"

    @property
    def __signature__(self) -> inspect.Signature:
        return python_signature(self.parameters, self.kind != VIEW and not self.mutates)

    def __copy__(self) -> Operator:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return registered, (self.name, self.called)

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


COMPILED = tuple(
    [  # attributes of a compiled OperatorBase, which vars() leaves out
        name
        for name, value in vars(OperatorBase).items()
        if inspect.isgetsetdescriptor(value) and not name.startswith("__")
    ]
)


def _calling(operator: Operator) -> Callable[..., Any]:
    """Make the function of an operator whose class defines `__call__`."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return operator(*args, **kwargs)

    return function


def registered(name: str, called: str) -> Operator:
    """Return an operator by its key and the name that it is called by.  Pickle calls it."""
    operator = REGISTRY[name]
    return operator if operator.called == called else operator.called_as(called)

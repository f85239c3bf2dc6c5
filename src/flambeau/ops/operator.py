"""What an operator is: one entry from which calls, methods, pages, tests and derivatives are made.

There are four kinds, each made by a decorator:

    @pointwise(...)   the body is the NumPy meaning on arrays of the compute type      (ops/pointwise.py)
    @operator(...)    the body lowers a call to launches: body(call, *operands, *attributes)
    @view(...)        the body answers (shape, strides, offset) of a view of its first operand
    @composite(...)   the body calls other operators, or answers with a `Handover` to one

Parameters are told apart by their annotations:

    Operand            a tensor
    Operand | None     a tensor that may be absent
    Operands           a sequence of tensors
    Value              a tensor or a Python number
    Number             a Python number that the lowering only passes on: see `Number`
    anything else      an attribute

A derivative names what it needs, and only that is saved: `grad` (or `grads`, a tuple, when there are several
results), `out` (or `outs`), any parameter, `<parameter>_shape` for the shape alone, and `needs`, one bool per
tensor parameter.  It returns one gradient per tensor parameter, None where there is none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from ..dtypes import dtype, meant
from ..errors import ArgumentTypeError, shown
from ..kernel import Grid, Kernel
from ..problem import Problem
from .parameters import OF_NUMPY, Parameter, Way, by_position, is_way, parameters_of

POINTWISE, LOWERED, VIEW, COMPOSITE = "pointwise", "lowered", "view", "composite"


class Operand(Protocol):
    """A tensor as an operator sees it: where it lies is not its business."""

    dtype: dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def numel(self) -> int: ...
    def is_contiguous(self) -> bool: ...
    def is_aligned(self) -> bool: ...


Operands = Sequence[Operand]
Value = Operand | bool | int | float


class Call(Protocol):
    """One call of an operator while it is lowered.  name: the operator's;  called: what the user calls it."""

    name: str
    called: str

    def output(self, shape: Sequence[int], dtype: dtype, strides: Sequence[int] | None = None) -> Any:
        """A new result, contiguous unless `strides` says otherwise; or the tensor given as out=, if it lies so."""

    def scratch(self, shape: Sequence[int], dtype: dtype) -> Any:
        """Contiguous memory that is free again once this call's launches are done."""

    def part(self, operand: Operand, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """A part of a contiguous operand, by its shape, strides and offset in elements."""

    def assign(self, target: Any, source: Any) -> None:
        """Write `source`, converted and broadcast, into `target`."""

    def contiguous(self, operand: Operand, dtype: dtype | None = None) -> Any:
        """The operand itself if it is contiguous and of that dtype, else a copy that is."""

    def launch(self, kernel: Kernel, grid: Grid, *values: Any) -> None:
        """Queue a kernel on `values`, one per parameter.

        A Pointer takes an operand (or None), a Scalar a number, a Strided (shape, strides of each operand), a Pointers
        a list of contiguous operands, no more than its `count`.
        """

    def library(self, problem: Problem, *operands: Any) -> None:
        """Queue a library call on the problem's operands, in its order."""

    def random(self, count: int, generator: Any) -> tuple[Any, Any]:
        """Reserve `count` Philox blocks: (seed, first counter), which are passed on to launches as they are."""


class Number:
    """A Python number of a call while it is lowered: its type is known, its value comes with every call.

    index: its place among the call's operands;  kind: bool, int or float;  conversions: what is done to each value.
    """

    __slots__ = ("conversions", "index", "kind")

    def __init__(self, index: int, kind: type, conversions: tuple[Callable[[Any], Any], ...] = ()) -> None:
        self.index = index
        self.kind = kind
        self.conversions = conversions

    def passed_as(self, conversion: Callable[[Any], Any], kind: type | None = None) -> Number:
        """The number, converted; `kind` is its new type, if that changes."""
        return Number(self.index, kind or self.kind, (*self.conversions, conversion))


def passed_as(value: Any, conversion: Callable[[Any], Any], kind: type | None = None) -> Any:
    """A number, or a Number, converted."""
    return value.passed_as(conversion, kind) if type(value) is Number else conversion(value)


class Sample(NamedTuple):
    """Inputs for the operator sweep.  In `args`, an `Array` stands for a tensor."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = {}


class ErrorSample(NamedTuple):
    """Inputs that must fail, with the error's class and a regular expression that its text matches."""

    args: tuple[Any, ...]
    error: type[Exception]
    match: str
    kwargs: dict[str, Any] = {}


class Array(NamedTuple):
    """A tensor to be made by the sweep: its values lie evenly in [low, high], in an order fixed by `seed`.

    dtype: a name, or "" for the dtype the sweep is at.  layout: "dense", "transposed" or "strided".
    grad: whether a gradient is checked where the dtype allows it.
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str = ""
    layout: str = "dense"
    seed: int = 0
    grad: bool = True


class Handover(NamedTuple):
    """What a composite answers that is one call of another operator: later calls of its kind go straight there.

    arguments: tensors that the composite was given, and what follows from its attributes and the layouts of tensors.
    part: which of several results is the composite's, or -1.
    """

    operator: Operator
    arguments: tuple[Any, ...]
    part: int = -1


Samples = Callable[[], Iterable[Sample]]
Errors = Callable[[], Iterable[ErrorSample]]
REGISTRY: dict[str, Operator] = {}


class Runner:
    """What runs every call: dispatch's own, once that is imported."""

    __slots__ = ()

    def run(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise RuntimeError(f"{operator.name}: no dispatch is attached")


_runner = Runner()


def run_calls_with(runner: Runner) -> None:
    global _runner
    _runner = runner


VALUE, FACT = "value", "fact"
OF_BACKWARD = GRAD, GRADS, NEEDS, OUT, OUTS = "grad", "grads", "needs", "out", "outs"  # beside the operator's own names


class Need:
    """What is kept for one parameter of a derivative.

    kind: one of OF_BACKWARD, VALUE (of argument `at`; if only_for is not -1, only where that one needs a gradient)
    or FACT (`what`, such as its shape, of argument `at`).
    """

    __slots__ = ("at", "kind", "only_for", "what")

    def __init__(self, kind: str, at: int, what: str, only_for: int) -> None:
        self.kind = kind
        self.at = at
        self.what = what
        self.only_for = only_for


class Setting:
    """Something that the user sets, by which lowerings decide too."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Operator:
    """One operator.

    name: its key;  called: what users call it, with which its errors begin.
    inplace: whether `name_` exists.  method: whether tensors have it as a method.  host: "never" or "waits".
    dtypes: the types that the sweep tries.  setting: what the user set that its lowering also decides by.
    mutates: parameters, sequences of tensors, that a call writes.  takes_out: whether out= is accepted; no view does.
    """

    by_value = False  # whether a pointwise lowering decides by the values of numbers too
    by_place = False  # whether a view's body decides by where in its storage the operand lies
    writes_one_value = False  # whether elements that share memory may be written: all get the same value

    def __init__(
        self, body: Callable[..., Any], kind: str, *, samples: Samples, errors: Errors | None = None,
        dtypes: Sequence[dtype] = (), inplace: bool = False, method: bool = True, function: bool = True,
        host: str = "never", name: str = "", called: str = "", differentiable: bool = True,
        setting: Setting | None = None, mutates: Sequence[str] = (), takes_out: bool = True,
    ) -> None:  # fmt: skip
        self.name = name or body.__name__
        self.__name__ = self.name
        self.__doc__ = body.__doc__
        self.called = called or self.name
        self.body = body if kind == POINTWISE else by_position(body)
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
        self.backward: Callable[..., Any] | None = None
        self.backward_needs: tuple[str, ...] = ()
        self.saves: tuple[Need, ...] = ()
        self.only_for: dict[str, str] = {}
        self.parameters = parameters_of(body, skip_call=kind == LOWERED)
        self.positional = sum(not each.keyword_only for each in self.parameters)
        self.tensor_indexes = tuple(index for index, each in enumerate(self.parameters) if each.is_tensor)
        self.index_of = {each.name: index for index, each in enumerate(self.parameters)}
        self.number_indexes = frozenset(index for index, each in enumerate(self.parameters) if self._travels(each))
        self.node_name = "".join(part.capitalize() for part in self.name.split("_")) + "Backward0"
        self.recent: list[Any] = []  # dispatch's plans of its recent calls
        self.recent_into: list[Any] = []  # and of those that wrote their first operand
        self.defaults = [each.default for each in self.parameters]
        self.needed = max((count for count, each in enumerate(self.parameters, 1) if each.is_needed), default=0)
        self.ways: dict[tuple[Any, ...], Way] = {}
        self.last_way: Way | None = None
        REGISTRY[self.name] = self

    def _travels(self, parameter: Parameter) -> bool:
        """Whether numbers for this parameter come with each call, instead of being lowered anew."""
        if self.kind == POINTWISE and parameter.annotation == "Value":
            return not self.by_value
        return self.kind != COMPOSITE and parameter.annotation == "Number"

    def called_as(self, called: str) -> Operator:
        """This operator for those who call it by another name: `add_`, or `multiply`."""
        twin = self._twin()
        twin.called = twin.__name__ = called
        return twin

    def _twin(self) -> Operator:
        """A copy with caches of its own.  Compiled, most attributes are not among `vars`."""
        twin: Operator = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        twin.name, twin.body, twin.kind, twin.node_name = self.name, self.body, self.kind, self.node_name
        twin.parameters, twin.positional, twin.defaults = self.parameters, self.positional, self.defaults
        twin.tensor_indexes, twin.number_indexes = self.tensor_indexes, self.number_indexes
        twin.index_of, twin.needed, twin.setting = self.index_of, self.needed, self.setting
        twin.mutates, twin.takes_out, twin.differentiable = self.mutates, self.takes_out, self.differentiable
        twin.backward, twin.backward_needs = self.backward, self.backward_needs
        twin.saves, twin.only_for = self.saves, self.only_for
        twin.recent, twin.recent_into, twin.ways, twin.last_way = [], [], {}, None
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        """Operators are pickled, and deeply copied, by name."""
        return operator_of, (self.name, self.called)

    def in_place(self) -> Operator:
        """This operator for those who let it write its first operand."""
        return self.called_as(f"{self.called}_")

    def lower(self, call: Any, *arguments: Any) -> Any:
        """Say what a call with these arguments takes and queues; its results."""
        return self.body(call, *arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _runner.run(self, args, kwargs)

    def run(self, args: tuple[Any, ...]) -> Any:
        """`self(*args)`, by a call in C where it is compiled."""
        return _runner.run(self, args, {})

    def derivative(self, body: Callable[..., Any] | None = None, *, only_for: dict[str, str] | None = None) -> Any:
        """Attach the derivative, a function of the names that it needs (see the module).

        only_for: {"input": "other"} saves `input` only where `other` needs a gradient; it is None otherwise.
        """
        self.only_for = only_for or {}
        return self.derivative_body if body is None else self.derivative_body(body)

    def derivative_body(self, body: Callable[..., Any]) -> Operator:
        self.backward = body
        self.backward_needs = tuple(inspect.signature(body).parameters)
        self.saves = tuple([self._need(name) for name in self.backward_needs])
        return self

    def _need(self, name: str) -> Need:
        """What a derivative's parameter stands for."""
        if name in OF_BACKWARD:
            return Need(OF_BACKWARD[OF_BACKWARD.index(name)], -1, "", -1)  # to be told by identity
        index = self.index_of.get(name)
        if index is not None:
            reason = self.only_for.get(name)
            return Need(VALUE, index, "", -1 if reason is None else self.index_of[reason])
        parameter, _, what = name.rpartition("_")
        return Need(FACT, self.index_of[parameter], what, -1)

    def way_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Way:
        found = self.ways.get((len(args), *kwargs))
        if found is None:
            found = Way(len(args), tuple(kwargs), self._places(args, kwargs))
            self.ways[found.count, *found.names] = found
        return found

    def _places(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """Which parameters the keywords are.  Raises ArgumentTypeError if a call like this cannot be bound."""
        if len(args) > self.positional:
            raise ArgumentTypeError(
                f"{self.called}: takes {self.positional} positional arguments but {len(args)} were given",
                hint=self.signature(),
            )
        given = {self._own_name(name, kwargs): value for name, value in kwargs.items()}
        left = self.parameters[len(args) :]
        for parameter in left:
            if parameter.is_needed and parameter.name not in given:
                raise ArgumentTypeError(
                    f"{self.called}: missing 1 required positional argument: '{parameter.name}'", hint=self.signature()
                )
        known = {each.name for each in left}
        for name, value in given.items():
            if name not in known:
                raise ArgumentTypeError(
                    f"{self.called}: got an unexpected keyword argument '{name}': {shown(value)}", hint=self.signature()
                )
        return [self.index_of[name] for name in given]

    def _own_name(self, name: str, others: dict[str, Any]) -> str:
        """The name here for one of NumPy's, unless that is given too."""
        own = OF_NUMPY.get(name, name)
        return name if name in self.index_of or own in others else own

    def signature(self) -> str:
        """How it is called, as a hint."""
        taken = [each.name if each.is_needed else f"{each.name}={each.default}" for each in self.parameters]
        if self.positional < len(taken):
            taken.insert(self.positional, "*")
        return f"it is {self.called}({', '.join(taken)})"

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


def operator_of(name: str, called: str) -> Operator:
    """The operator of that name, as it is called by another name if that differs."""
    found = REGISTRY[name]
    return found if found.called == called else found.called_as(called)


def bind(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Every parameter's value in order.  Raises ArgumentTypeError as a Python call would."""
    if kwargs or not operator.needed <= len(args) <= operator.positional:
        return _bind_named(operator, args, kwargs)
    bound = operator.defaults[:]
    for place, value in enumerate(args):
        bound[place] = value
    return bound


def bind_two(operator: Operator, first: Any, second: Any) -> list[Any]:
    """As `bind`, for an operator that needs no more than two."""
    bound = operator.defaults[:]
    bound[0], bound[1] = first, second
    return bound


def _bind_named(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    way = operator.last_way
    if way is None or not is_way(way, len(args), kwargs):
        way = operator.last_way = operator.way_of(args, kwargs)
    bound = operator.defaults[:]
    for place, value in enumerate(args):
        bound[place] = value
    for place, value in enumerate(kwargs.values()):
        bound[way.places[place]] = meant(value) if isinstance(value, type) else value
    return bound


def operator(**options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Make an operator of a body that lowers a call: body(call, *operands, *attributes) returns its outputs."""
    return lambda body: Operator(body, LOWERED, **options)


def view(**options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Make an operator of a body that answers (shape, strides, extra offset) of a view of its first operand."""
    return lambda body: Operator(body, VIEW, **options)


def composite(**options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Make an operator of a body that calls other operators, and needs no derivative of its own."""
    return lambda body: Operator(body, COMPOSITE, **options)

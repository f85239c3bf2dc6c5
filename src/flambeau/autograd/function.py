"""Operators that a user defines: a forward and a backward in Python."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..core import record
from ..core.record import Edge, Node, Saved, check_broadcast, fit, freed, save, streams_of
from ..core.tensor import FROM_FUNCTION, IN_NO_GRAD, ONE_OF_SEVERAL, TensorBase, alias_of, empty_tensor
from ..errors import ArgumentTypeError, AutogradError, NotSupportedError, shown
from .mode import GradMode, mode


class FunctionCtx:
    """The `ctx` of one call: what forward leaves for backward, by `save_for_backward(...)` and in any attribute.

    needs_input_grad: per argument of forward, whether backward has to compute its gradient.
    """

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._constant: tuple[Any, ...] = ()
        self._node: Any = None  # a weak reference: the node holds the context

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward; writes in place to them are noticed."""
        for place, each in enumerate(tensors):
            if each is not None and not isinstance(each, TensorBase):
                raise ArgumentTypeError(
                    f"can only save tensors, argument {place} is {shown(each)}",
                    hint="keep anything else as an attribute: ctx.name = value",
                    operator="save_for_backward",
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Accepted, and without effect: there are no forward-mode derivatives."""

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare the inputs that forward wrote in place; they must be among its results."""
        _check_tensors("mark_dirty", tensors)
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare the results that need no gradient; backward is given zeros for them."""
        _check_tensors("mark_non_differentiable", tensors)
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether backward is given zeros (the default) or None for the gradient of an unused result."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of `save_for_backward`.  Raises AutogradError if they were freed or overwritten."""
        node = None if self._node is None else self._node()
        return () if node is None else node.unpack()


def _check_tensors(name: str, tensors: Sequence[Any]) -> None:
    for place, each in enumerate(tensors):
        if not isinstance(each, TensorBase):
            raise AutogradError(
                f"can only accept tensors, argument {place} is {shown(each)}", hint="leave it out", operator=name
            )


class FunctionNode(Node):
    """One call of a user's Function."""

    __slots__ = ("context", "function", "metas", "released", "saved", "shapes")

    def __init__(
        self, function: type[Function], context: FunctionCtx, edges: Sequence[Edge | None],
        inputs: Sequence[Any], outputs: Sequence[Any],
    ) -> None:  # fmt: skip
        tensors = [each for each in (*inputs, *outputs) if isinstance(each, TensorBase)]
        super().__init__(f"{function.__name__}Backward", edges, streams_of(tensors), len(outputs))
        self.function = function
        self.context = context
        self.metas = [_meta(each) for each in inputs]
        self.shapes = [_meta(each) for each in outputs]
        self.shares = True
        self.released = False
        self.saved: list[Saved | None] = []

    def save(self, outputs: Sequence[Any]) -> None:
        """Keep what forward asked for.  outputs: those of the results that are this node's, None for others."""
        places = {id(each): place for place, each in enumerate(outputs) if each is not None}
        self.saved = [self._saved(each, places.get(id(each))) for each in self.context._to_save]
        self.context._to_save = ()
        record.observed(self, self.saved)

    def _saved(self, tensor: Any, index: int | None) -> Saved | None:
        if tensor is None:
            return None
        return save(tensor, record.edge_of(tensor) if index is None else (None, index))  # type: ignore[arg-type]

    def unpack(self, own: Node | None = None) -> tuple[Any, ...]:
        """The saved tensors.  own: the node whose results the saved ones of this call are, itself if None."""
        if self.released:
            raise freed(self.name)
        return tuple(None if each is None else each.unpack(self.name, own or self) for each in self.saved)

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        return self.flow(grads, self)

    def flow(self, grads: Sequence[Any], own: Node) -> list[Any]:
        """The gradients of the arguments, None where there is none.  own: the node that saved results belong to."""
        if self.function.backward is Function.backward:
            raise NotSupportedError(
                "backward is not defined", hint="define it as a static method", operator=self.function.__name__
            )
        if self.context.materialize_grads:
            pairs = zip(grads, self.shapes)
            grads = [_zeros(meta) if each is None and meta is not None else each for each, meta in pairs]
        former = self.context._node
        if own is not self:
            self.context._node = _Owned(self, own)
        try:
            found = self.function.backward(self.context, *grads)
        finally:
            self.context._node = former
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        count = len(self.metas)
        if len(results) < count or any(each is not None for each in results[count:]):
            raise AutogradError(
                f"returned an incorrect number of gradients (expected {count}, got {len(results)})",
                hint="backward returns one for each argument of forward but ctx, None where there is none",
                operator=self.name,
            )
        return [
            self._fitted(place, grad, meta, edge)
            for place, (grad, meta, edge) in enumerate(zip(results, self.metas, self.edges))
        ]

    def _fitted(self, place: int, grad: Any, meta: Any, edge: Edge | None) -> Any:
        """A gradient that backward returned, in the shape, type and place of its argument."""
        if grad is None:
            return None
        if meta is None:
            raise AutogradError(
                f"returned a gradient different than None at position {place + 1}, {shown(grad)}, but the "
                f"corresponding forward input was not a Variable",
                hint="return None for what is no tensor",
                operator=self.name,
            )
        if edge is None:
            return None
        if not isinstance(grad, TensorBase):
            raise AutogradError(
                f"returned {shown(grad)} as the gradient of input {place}",
                hint="a gradient is a tensor or None",
                operator=self.name,
            )
        check_broadcast(f"{self.name}: returned an invalid gradient at index {place}", grad, meta[0].shape)
        return fit(grad, *meta)

    def release(self) -> None:
        self.saved = []
        self.released = True


class _Owned:
    """Reads a node's saved tensors as those of the node that stands in the graph for it."""

    __slots__ = ("node", "own")

    def __init__(self, node: FunctionNode, own: Node) -> None:
        self.node = node
        self.own = own

    def __call__(self) -> _Owned:
        return self

    def unpack(self) -> tuple[Any, ...]:
        return self.node.unpack(self.own)


def _meta(value: Any) -> Any:
    return (value.layout, value.device_index) if isinstance(value, TensorBase) else None


def _zeros(meta: tuple[Any, ...]) -> Any:
    layout, device = meta
    return empty_tensor(layout.shape, layout.dtype, device).zero_()  # type: ignore[attr-defined]


class Function:
    """Derive from this, write `forward(ctx, *inputs)` and `backward(ctx, *grads)`, and call `apply`.

    With `setup_context(ctx, inputs, output)`, `forward` takes the inputs alone.

    Example:
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x * grad

        y = Square.apply(x)
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        raise NotSupportedError("forward is not defined", hint="define it as a static method", operator="Function")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save for backward what a `forward` without ctx has used and made."""
        raise NotSupportedError(
            "setup_context is not defined", hint="define it as a static method", operator="Function"
        )

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotSupportedError("backward is not defined", hint="define it as a static method", operator="Function")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on the arguments; its results carry a gradient if an argument does."""
        if cls.forward is Function.forward:
            raise NotSupportedError(
                "forward is not defined", hint="define it as a static method", operator=cls.__name__
            )
        is_split = cls.setup_context is not Function.setup_context
        args = _positional(cls, args, kwargs, is_split)
        context = FunctionCtx()
        context.needs_input_grad = tuple(isinstance(each, TensorBase) and each.requires_grad for each in args)
        is_recorded = mode.enabled and any(context.needs_input_grad)
        edges = [_edge(each) if is_recorded else None for each in args]
        with GradMode(False):
            found = cls.forward(*args) if is_split else cls.forward(context, *args)
            if is_split:
                cls.setup_context(context, args, found)
        outputs = found if isinstance(found, tuple) else (found,)
        fresh = _as_results(cls.__name__, context, args, outputs, is_recorded)
        if is_recorded:
            _link(FunctionNode(cls, context, edges, args, fresh), context, args, outputs, fresh)
        return tuple(fresh) if isinstance(found, tuple) else fresh[0]


def _positional(
    function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], is_split: bool
) -> tuple[Any, ...]:
    """The arguments of forward in order, with its defaults.  Raises ArgumentTypeError for keywords beside a ctx."""
    if is_split:
        bound = inspect.signature(function.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args
    if kwargs:
        raise ArgumentTypeError(
            f"apply() takes no keyword arguments, got {', '.join(kwargs)}",
            hint="pass them by position, or define setup_context",
            operator=function.__name__,
        )
    return args


def _edge(value: Any) -> Edge | None:
    return record.edge_of(value) if isinstance(value, TensorBase) and value.layout.is_floating else None


def _ids(values: Sequence[Any]) -> set[int]:
    """What tells values apart: tensors compare element by element."""
    return set(map(id, values))


def _as_results(
    name: str, context: FunctionCtx, args: Sequence[Any], outputs: Sequence[Any], is_recorded: bool
) -> list[Any]:
    """What the caller gets: an input that forward returned as it is becomes a view of it, unless forward wrote it."""
    inputs, constant, dirty, returned = _ids(args), _ids(context._constant), _ids(context._dirty), _ids(outputs)
    for written in context._dirty:
        _check_dirty(name, written, id(written) in returned, len(outputs), is_recorded)
        written.storage.version += 1
    fresh = []
    for each in outputs:
        is_dirty = id(each) in dirty
        made = _as_result(each, id(each) in inputs, is_dirty, is_recorded and id(each) not in constant)
        if mode.enabled and not is_dirty and isinstance(made, TensorBase) and made.base is not None:
            made.origin = ONE_OF_SEVERAL if len(outputs) > 1 else FROM_FUNCTION
        fresh.append(made)
    return fresh


def _as_result(output: Any, is_input: bool, is_dirty: bool, is_recorded: bool) -> Any:
    if not isinstance(output, TensorBase):
        return output
    if not is_recorded and output.requires_grad and (is_input or output.base is None):
        return alias_of(output, output.shape, output.strides, output.offset)
    return _view_of(output) if is_input and not is_dirty else output


def _view_of(tensor: Any) -> Any:
    view = alias_of(tensor, tensor.shape, tensor.strides, tensor.offset)
    if tensor.storage.version >= 0:
        view.base = tensor if tensor.base is None else tensor.base
        view.view_version = tensor.storage.version
        view.origin = IN_NO_GRAD
    return view


def _check_dirty(name: str, written: Any, is_returned: bool, count: int, is_recorded: bool) -> None:
    """Raise AutogradError for a write that forward may not make.  count: how many tensors it returned."""
    if not is_returned:
        raise AutogradError(
            f"an input that mark_dirty names, {written.describe()}, is not returned by forward",
            hint="return it, or leave it out of mark_dirty and clone() it before writing",
            operator=name,
        )
    record.check_inplace(name, written, is_recorded)
    if is_recorded and written.base is not None:
        if count > 1:
            raise AutogradError(
                f"forward wrote a view in place, {written.describe()}, and returned {count} tensors",
                hint="write a clone(), or return the view alone",
                operator=name,
            )
        record.check_base(name, written)


def _link(
    node: FunctionNode, context: FunctionCtx, args: Sequence[Any], outputs: Sequence[Any], fresh: Sequence[Any]
) -> None:
    """Make the results those of a node."""
    context._node = weakref.ref(node)
    constant, dirty = _ids(context._constant), _ids(context._dirty)
    made: list[Any] = []
    for index, (output, each) in enumerate(zip(outputs, fresh)):
        if not isinstance(each, TensorBase) or not each.layout.is_floating or id(output) in constant:
            made.append(None)
            continue
        made.append(each)
        if id(each) in dirty:
            record.rebase(each, node, index, next(place for place, arg in enumerate(args) if arg is each))
        else:
            each._grad_fn, each.output_index = node, index
    renamed = {id(old): new for old, new in zip(outputs, fresh)}
    context._to_save = tuple(renamed.get(id(each), each) for each in context._to_save)
    node.save(made)


class _ErrorNode(Node):
    """The node of gradients that cannot be differentiated."""

    __slots__ = ()

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        raise AutogradError(
            "trying to differentiate twice a function that was marked with @once_differentiable",
            hint="leave the decorator out, if backward is made of differentiable operations",
            operator=self.name,
        )


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a Function's backward as one that cannot be differentiated: a second derivative is an error.

    It runs without recording.
    """

    @wraps(function)
    def once(ctx: Any, *grads: Any) -> Any:
        with GradMode(False):
            found = function(ctx, *grads)
        edges = [_edge(each) for each in grads if isinstance(each, TensorBase) and each.requires_grad]
        if not mode.enabled or not edges:
            return found
        results = found if isinstance(found, tuple) else (found,)
        tensors = [each for each in results if isinstance(each, TensorBase)]
        node = _ErrorNode(function.__qualname__, edges, streams_of(tensors), len(results))
        guarded = tuple(_guarded(each, node, index) for index, each in enumerate(results))
        return guarded if isinstance(found, tuple) else guarded[0]

    return once


def _guarded(value: Any, node: Node, index: int) -> Any:
    if not isinstance(value, TensorBase) or not value.layout.is_floating:
        return value
    result = alias_of(value, value.shape, value.strides, value.offset)
    result._grad_fn, result.output_index = node, index
    return result

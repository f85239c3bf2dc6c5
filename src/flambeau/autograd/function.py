"""Operators that a user defines: a forward and a backward in Python."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..core.tensor import TensorBase, alias_of, empty_tensor
from ..errors import ArgumentTypeError, AutogradError, NotSupportedError, shown
from . import record
from .mode import GradMode, mode
from .node import Node, check_broadcast, fit, save, streams_of


class FunctionContext:
    """What forward leaves for backward: `save_for_backward(...)`, and any attribute."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._constant: tuple[Any, ...] = ()
        self._node: Any = None  # a weak reference: the node holds the context

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs for backward; writes in place to them are noticed."""
        for place, each in enumerate(tensors):
            if each is not None and not isinstance(each, TensorBase):
                raise ArgumentTypeError(
                    f"can only save tensors, argument {place} is {shown(each)}",
                    hint="keep anything else as an attribute: ctx.name = value",
                    operator="save_for_backward",
                )
        self._to_save = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs forward wrote in place; they must be among its results."""
        _check_tensors("mark_dirty", tensors)
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which results need no gradient."""
        _check_tensors("mark_non_differentiable", tensors)
        self._constant = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward kept.  Raises AutogradError if it was freed or overwritten."""
        return self._node().unpack()  # type: ignore[no-any-return]


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
        self, function: type[Function], context: FunctionContext, inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> None:
        edges = [record.edge_of(each) if isinstance(each, TensorBase) else None for each in inputs]
        tensors = [each for each in (*inputs, *outputs) if isinstance(each, TensorBase)]
        super().__init__(f"{function.__name__}Backward", edges, streams_of(tensors), len(outputs))
        self.function = function
        self.context = context
        self.metas = [(e.layout, e.device_index) if isinstance(e, TensorBase) else None for e in inputs]
        self.shapes = [(e.layout, e.device_index) if isinstance(e, TensorBase) else None for e in outputs]
        self.shares = True
        self.released = False
        self.saved = [self._save(each, outputs) for each in context._to_save]

    def _save(self, tensor: Any, outputs: Sequence[Any]) -> Any:
        if tensor is None:
            return None
        for index, out in enumerate(outputs):
            if out is tensor:
                return save(tensor, (None, index))  # type: ignore[arg-type]
        return save(tensor, record.edge_of(tensor))

    def unpack(self) -> tuple[Any, ...]:
        if self.released:
            raise AutogradError(
                "trying to backward through the graph a second time; its saved values have been freed",
                hint="pass retain_graph=True to the first backward",
                operator=self.name,
            )
        return tuple(None if each is None else each.unpack(self.name, self) for each in self.saved)

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        filled = [_zeros(meta) if each is None and meta is not None else each for each, meta in zip(grads, self.shapes)]
        if self.function.backward is Function.backward:
            raise NotSupportedError(
                "backward is not defined", hint="define it as a static method", operator=self.function.__name__
            )
        found = self.function.backward(self.context, *filled)
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(results) < len(self.edges) or any(each is not None for each in results[len(self.edges) :]):
            raise AutogradError(
                f"returned an incorrect number of gradients (expected {len(self.edges)}, got {len(results)})",
                hint="backward returns one for each argument of forward but ctx, None where there is none",
                operator=self.name,
            )
        pairs = zip(results, self.metas, self.edges)
        return [
            None if grad is None or edge is None or meta is None else self._fitted(place, grad, meta)
            for place, (grad, meta, edge) in enumerate(pairs)
        ]

    def _fitted(self, place: int, grad: Any, meta: tuple[Any, ...]) -> Any:
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


def _zeros(meta: tuple[Any, ...]) -> Any:
    layout, device = meta
    return empty_tensor(layout.shape, layout.dtype, device).zero_()  # type: ignore[attr-defined]


class Function:
    """Derive from this, write `forward(ctx, *inputs)` and `backward(ctx, *grads)`, and call `apply`.

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
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotSupportedError("backward is not defined", hint="define it as a static method", operator="Function")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward on `args`; its results carry a gradient if an input does."""
        context = FunctionContext()
        context.needs_input_grad = tuple(isinstance(each, TensorBase) and each.requires_grad for each in args)
        if cls.forward is Function.forward:
            raise NotSupportedError(
                "forward is not defined", hint="define it as a static method", operator=cls.__name__
            )
        wanted = mode.enabled and any(context.needs_input_grad)
        with GradMode(False):
            found = cls.forward(context, *args)
        outputs = found if isinstance(found, tuple) else (found,)
        if not wanted:
            return found
        for each in context._dirty:
            _check_dirty(cls.__name__, each, outputs)
        fresh = tuple(_fresh(each, args, context) for each in outputs)
        context._to_save = tuple(_renamed(each, outputs, fresh) for each in context._to_save)
        node = FunctionNode(cls, context, args, fresh)
        context._node = weakref.ref(node)
        for index, each in enumerate(fresh):
            if (
                isinstance(each, TensorBase)
                and each.dtype.is_floating_point
                and outputs[index] not in _Identity(context._constant)
            ):
                each._grad_fn, each.output_index = node, index
        return fresh if isinstance(found, tuple) else fresh[0]


class _Identity(tuple[Any, ...]):
    """Membership by identity: tensors compare element by element."""

    def __contains__(self, value: object) -> bool:
        return any(each is value for each in self)


def _check_dirty(name: str, written: Any, outputs: Sequence[Any]) -> None:
    if written not in _Identity(outputs):
        raise AutogradError(
            f"an input that mark_dirty names, {written.describe()}, is not returned by forward",
            hint="return it, or leave it out of mark_dirty and clone() it before writing",
            operator=name,
        )
    record.check_inplace(name, written)
    if written.base is not None:
        raise AutogradError(
            f"forward wrote a view in place, which cannot be recorded: {written.describe()}",
            hint="write a clone(), or the base itself",
            operator=name,
        )


def _fresh(output: Any, args: Sequence[Any], context: FunctionContext) -> Any:
    """An input that forward returned as it is becomes a tensor of its own, unless forward wrote it."""
    if isinstance(output, TensorBase) and output in _Identity(args) and output not in _Identity(context._dirty):
        return alias_of(output, output.shape, output.strides, output.offset)
    if output in _Identity(context._dirty):
        output.storage.version += 1
    return output


def _renamed(tensor: Any, outputs: Sequence[Any], fresh: Sequence[Any]) -> Any:
    for old, new in zip(outputs, fresh):
        if tensor is old:
            return new
    return tensor

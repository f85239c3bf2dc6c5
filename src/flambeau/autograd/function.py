"""User-defined operators: a forward and a backward in Python."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..core import record
from ..core.call_errors import check_broadcast, freed
from ..core.inplace import check_inplace, rebase
from ..core.record import Edge, Node, Saved, save, streams_of
from ..core.tensor import FROM_FUNCTION, IN_NO_GRAD, ONE_OF_SEVERAL, TensorBase, alias_of, empty_tensor, new_tensor
from ..errors import ArgumentTypeError, AutogradError, NotSupportedError, shown
from ..importer import listing
from ..runtime import device as devices
from .fitting import fit
from .mode import GradMode, mode
from .node_hooks import observed, unpacked


class FunctionCtx:
    """The `ctx` of a Function: carries values from forward to backward, by `save_for_backward(...)` or as attributes.

    needs_input_grad: per argument of forward, whether backward must compute its gradient.
    Example:
        >>> class Scale(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, factor):
        ...         ctx.factor = factor
        ...         return x * factor
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * ctx.factor, None
        >>> x = torch.tensor(1.0, requires_grad=True)
        >>> Scale.apply(x, 3.0).backward()
        >>> x.grad
        tensor(3.)
    """

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._constant: tuple[Any, ...] = ()
        self._node: Any = None  # a weak reference: the node holds the context

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for backward; a later write in place to one of them is an error in backward.

        Raises: ArgumentTypeError if an argument is neither a tensor nor None.
        Example:
            >>> class Product(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, a, b):
            ...         ctx.save_for_backward(a, b)
            ...         return a * b
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         a, b = ctx.saved_tensors
            ...         return grad * b, grad * a
            >>> a, b = torch.tensor([3.0, 4.0], requires_grad=True).unbind()
            >>> torch.autograd.grad(Product.apply(a, b), (a, b))
            (tensor(4.), tensor(3.))
        """
        for index, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise ArgumentTypeError(
                    f"can only save tensors, argument {index} is {shown(tensor)}",
                    hint="keep anything else as an attribute: ctx.name = value",
                    operator="save_for_backward",
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Do nothing: forward-mode derivatives are not supported.

        Example:
            >>> torch.autograd.function.FunctionCtx().save_for_forward(torch.ones(1))
        """

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare the inputs that forward wrote in place; forward must return them.

        Raises: AutogradError if an argument is not a tensor.
        Example:
            >>> class Twice(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.mark_dirty(x)
            ...         return x.mul_(2)
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return 2 * grad
            >>> x = torch.tensor(3.0, requires_grad=True)
            >>> y = x.clone()
            >>> Twice.apply(y) is y
            True
            >>> y.backward()
            >>> x.grad
            tensor(2.)
        """
        _check_tensors("mark_dirty", tensors)
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare the results that need no gradient; backward receives zeros for them.

        Raises: AutogradError if an argument is not a tensor.
        Example:
            >>> class Largest(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         value, index = x.max(0)
            ...         ctx.mark_non_differentiable(index)
            ...         return value, index
            ...     @staticmethod
            ...     def backward(ctx, grad, _):
            ...         return grad.expand(2)
            >>> value, index = Largest.apply(torch.tensor([1.0, 2.0], requires_grad=True))
            >>> value.requires_grad, index.requires_grad
            (True, False)
        """
        _check_tensors("mark_non_differentiable", tensors)
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward receives zeros (the default) or None for the gradient of an unused result.

        Raises: ArgumentTypeError if `value` is not a bool.
        Example:
            >>> class Pair(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.set_materialize_grads(False)
            ...         return x * 1, x * 2
            ...     @staticmethod
            ...     def backward(ctx, first, second):
            ...         print(second)
            ...         return first
            >>> Pair.apply(torch.tensor(1.0, requires_grad=True))[0].backward()
            None
        """
        if not isinstance(value, bool):
            raise ArgumentTypeError(
                f"value must be a bool, got {shown(value)}",
                hint="pass True or False",
                operator="set_materialize_grads",
            )
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of `save_for_backward`.

        Raises AutogradError if they were freed or overwritten, or read before with `clear_saved_tensors_on_access`.
        """
        node = None if self._node is None else self._node()
        return () if node is None else node.unpack()


def _check_tensors(name: str, tensors: Sequence[Any]) -> None:
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise AutogradError(
                f"can only accept tensors, argument {index} is {shown(tensor)}", hint="leave it out", operator=name
            )


class FunctionNode(Node):
    """Graph node of one call of a user's Function."""

    __slots__ = ("context", "function", "is_read", "layouts", "released", "saved", "shapes")

    def __init__(
        self, function: type[Function], context: FunctionCtx, edges: Sequence[Edge | None],
        inputs: Sequence[Any], outputs: Sequence[Any],
    ) -> None:  # fmt: skip
        tensors = [value for value in (*inputs, *outputs) if isinstance(value, TensorBase)]
        super().__init__(f"{function.__name__}Backward", edges, streams_of(tensors), len(outputs))
        self.function = function
        self.context = context
        self.layouts = [value._layout if isinstance(value, TensorBase) else None for value in inputs]
        self.shapes = [value._layout if isinstance(value, TensorBase) else None for value in outputs]
        self.shares = True
        self.released = False
        self.is_read = False
        self.saved: list[Saved | None] = []

    def save(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Save the tensors of `save_for_backward`.  outputs: the results that belong to this node, None for others.

        Inputs are kept themselves, with their class and attributes; others might hold this node, which is a cycle.
        """
        if self.context._to_save:
            indexes = {id(tensor): index for index, tensor in enumerate(outputs) if tensor is not None}
            self.saved = [self._saved(tensor, indexes.get(id(tensor))) for tensor in self.context._to_save]
            kept = set() if self.context._dirty else _ids(inputs)
            for tensor, saved in zip(self.context._to_save, self.saved):
                if saved is not None and id(tensor) in kept:
                    saved.packed = tensor
            self.context._to_save = ()
        observed(self, self.saved)

    def _saved(self, tensor: Any, index: int | None) -> Saved | None:
        if tensor is None:
            return None
        return save(tensor, record.edge_of(tensor) if index is None else (None, index))

    def unpack(self, own: Node | None = None) -> tuple[Any, ...]:
        """Return the saved tensors.  own: the node that saved results belong to; None stands for this node."""
        if self.released:
            raise freed(self.name)
        if self.is_read:
            raise AutogradError(
                "saved_tensors can only be accessed once with clear_saved_tensors_on_access=True",
                hint="keep them in a variable, or leave clear_saved_tensors_on_access out",
                operator=self.name,
            )
        tensors = [None if saved is None else unpacked(saved, self.name, own or self) for saved in self.saved]
        if self.saved and self.function.clear_saved_tensors_on_access:
            self.saved, self.is_read = [], True
        return tuple(tensors)

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        return self.flow(grads, self)

    def flow(self, grads: Sequence[Any], own: Node) -> list[Any]:
        """Return the gradients of the arguments, or None.  own: the node that saved results belong to."""
        backward = _backward_of(self.function)
        if self.context.materialize_grads:
            pairs = zip(grads, self.shapes)
            grads = [_zeros(layout) if grad is None and layout is not None else grad for grad, layout in pairs]
        former = self.context._node
        if own is not self:
            self.context._node = _Owned(self, own)
        try:
            returned = backward(self.context, *grads)
        finally:
            self.context._node = former
        results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        count = len(self.layouts)
        if len(results) < count or any(grad is not None for grad in results[count:]):
            raise AutogradError(
                f"returned an incorrect number of gradients (expected {count}, got {len(results)})",
                hint="backward returns one for each argument of forward except ctx, or None",
                operator=self.name,
            )
        return [
            grad if grad is None or _fits(grad, layout, edge) else self._fitted(index, grad, layout, edge)
            for index, (grad, layout, edge) in enumerate(zip(results, self.layouts, self.edges))
        ]

    def _fitted(self, index: int, grad: Any, layout: Any, edge: Edge | None) -> Any:
        """Convert a gradient from backward to the shape, type and device of its argument."""
        if layout is None:
            raise AutogradError(
                f"returned a gradient different than None at position {index + 1}, {shown(grad)}, but the "
                f"corresponding forward input was not a Variable",
                hint="return None for arguments that are not tensors",
                operator=self.name,
            )
        if edge is None:
            return None
        if not isinstance(grad, TensorBase):
            raise AutogradError(
                f"returned {shown(grad)} as the gradient of input {index}",
                hint="return a tensor or None for each input",
                operator=self.name,
            )
        if grad._layout.shape != layout.shape:
            check_broadcast(f"{self.name}: returned an invalid gradient at index {index}", grad, layout.shape)
        return fit(grad, layout)

    def release(self) -> None:
        self.saved = []
        self.released = True


class _Owned:
    """A reference to a node whose saved results belong to another node, which replaces it in the graph."""

    __slots__ = ("node", "own")

    def __init__(self, node: FunctionNode, own: Node) -> None:
        self.node = node
        self.own = own

    def __call__(self) -> _Owned:
        return self

    def unpack(self) -> tuple[Any, ...]:
        return self.node.unpack(self.own)


def _fits(grad: Any, layout: Any, edge: Edge | None) -> bool:
    """Return whether a gradient from backward needs no conversion to its argument's layout."""
    return edge is not None and isinstance(grad, TensorBase) and grad._layout is layout


def _zeros(layout: Any) -> Any:
    return empty_tensor(layout.shape, layout.dtype, layout.device.index).zero_()


def _backward_of(function: type[Function]) -> Any:
    """Return a Function's `backward`, or `vjp`.  Raises NotSupportedError without one, AutogradError with both."""
    names = [name for name in ("backward", "vjp") if getattr(function, name) is not getattr(Function, name)]
    if not names:
        raise NotSupportedError(
            "backward is not defined", hint="define it as a static method", operator=function.__name__
        )
    if len(names) > 1:
        raise AutogradError(
            "backward and vjp are both defined, but they are two names of one method",
            hint="leave one of them out",
            operator=function.__name__,
        )
    return getattr(function, names[0])


class Function:
    """Base class of user-defined operators: write `forward(ctx, *inputs)` and `backward(ctx, *grads)`; call `apply`.

    forward: computes the result; `ctx.save_for_backward` keeps tensors for backward.
    backward: returns one gradient, or None, per input of forward.
    With `setup_context(ctx, inputs, output)`, `forward` takes the inputs alone.
    A subclass may set two class attributes:
    clear_saved_tensors_on_access: if True, `ctx.saved_tensors` may be read only once; the memory of the tensors is then
    freed as soon as backward no longer refers to them.
    generate_vmap_rule: has no effect, as `torch.vmap` calls the function once for each element.
    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """

    clear_saved_tensors_on_access = False
    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:  # so general that type checkers accept any override
        """Compute the result from ctx and the arguments of `apply`.  A subclass defines it as a static method.

        ctx: keeps values for backward.  A class that defines `setup_context` leaves it out.
        Raises: NotSupportedError if the subclass does not define it.
        Example:
            >>> class Triple(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return 3 * x
            >>> Triple.apply(torch.tensor([1.0, 2.0]))
            tensor([3., 6.])
        """
        raise NotSupportedError("forward is not defined", hint="define it as a static method", operator="Function")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save values for backward in `ctx`, for a class whose `forward` takes no ctx.  A subclass defines it.

        inputs: the arguments of `apply`.  output: the result of `forward`.
        Raises: NotSupportedError if the subclass does not define it.
        Example:
            >>> class Square(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(x):
            ...         return x * x
            ...     @staticmethod
            ...     def setup_context(ctx, inputs, output):
            ...         ctx.save_for_backward(*inputs)
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return 2 * ctx.saved_tensors[0] * grad
            >>> x = torch.tensor(3.0, requires_grad=True)
            >>> torch.autograd.grad(Square.apply(x), x)
            (tensor(6.),)
        """
        raise NotSupportedError(
            "setup_context is not defined", hint="define it as a static method", operator="Function"
        )

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """Compute the gradients of the inputs from those of the results.  A subclass defines it as a static method.

        It is called with ctx and one gradient per result of `forward`, and returns one per argument of `apply`, or
        None for an argument that needs no gradient.
        Raises: NotSupportedError if the subclass defines neither this method nor `vjp`.
        Example:
            >>> class Triple(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return 3 * x
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return 3 * grad
            >>> x = torch.tensor(2.0, requires_grad=True)
            >>> torch.autograd.grad(Triple.apply(x), x)
            (tensor(3.),)
        """
        raise NotSupportedError("backward is not defined", hint="define it as a static method", operator="Function")

    @staticmethod
    def vjp(*args: Any, **kwargs: Any) -> Any:
        """Compute the gradients of the inputs: another name of `backward`, which a subclass may define instead.

        Raises: NotSupportedError if the subclass defines neither this method nor `backward`.
        Example:
            >>> class Triple(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return 3 * x
            ...     @staticmethod
            ...     def vjp(ctx, grad):
            ...         return 3 * grad
            >>> x = torch.tensor(2.0, requires_grad=True)
            >>> torch.autograd.grad(Triple.apply(x), x)
            (tensor(3.),)
        """
        raise NotSupportedError("vjp is not defined", hint="define it as a static method", operator="Function")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on the arguments; the results require gradients if an argument does.

        Raises: NotSupportedError if the subclass does not define `forward`, and the errors of `forward`.
        Example:
            >>> class Triple(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return 3 * x
            >>> Triple.apply(torch.tensor([1.0, 2.0]))
            tensor([3., 6.])
        """
        if cls.forward is Function.forward:
            raise NotSupportedError(
                "forward is not defined", hint="define it as a static method", operator=cls.__name__
            )
        devices.unmirror("a Function was applied")
        is_split = cls.setup_context is not Function.setup_context
        args = _positional(cls, args, kwargs, is_split)
        context = FunctionCtx()
        context.needs_input_grad = tuple([isinstance(arg, TensorBase) and arg.requires_grad for arg in args])
        is_recorded = mode.enabled and any(context.needs_input_grad)
        edges = [_edge(arg) if is_recorded else None for arg in args]
        with GradMode(False):
            result = cls.forward(*args) if is_split else cls.forward(context, *args)
            if is_split:
                cls.setup_context(context, args, result)
        outputs = result if isinstance(result, tuple) else (result,)
        fresh = _as_results(cls.__name__, context, args, outputs, is_recorded)
        if is_recorded:
            _link(FunctionNode(cls, context, edges, args, fresh), context, args, outputs, fresh)
        return tuple(fresh) if isinstance(result, tuple) else fresh[0]


class InplaceFunction(Function):
    """A base class for Functions that write an input in place.  `Function` allows this, too.

    Example:
        >>> issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)
        True
    """


def _positional(
    function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], is_split: bool
) -> tuple[Any, ...]:
    """Return the arguments of forward in order; with `setup_context`, those with defaults too.

    Raises: ArgumentTypeError for a keyword that is no positional parameter, and where a Python call raises TypeError.
    """
    if not is_split and not kwargs:
        return args
    leading = () if is_split else (None,)  # ctx
    try:
        bound = inspect.signature(function.forward).bind(*leading, *args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(
            f"forward() {error}", hint="apply() takes the arguments of forward without ctx", operator=function.__name__
        ) from None
    if is_split or bound.kwargs:
        bound.apply_defaults()
    if bound.kwargs:
        raise ArgumentTypeError(
            f"apply() passes arguments by position, and {', '.join(bound.kwargs)} of forward can only be keywords",
            hint="make them positional parameters of forward",
            operator=function.__name__,
        )
    return bound.args[len(leading) :]


def _edge(value: Any) -> Edge | None:
    return record.edge_of(value) if isinstance(value, TensorBase) and value._layout.is_floating else None


def _ids(values: Sequence[Any]) -> set[int]:
    """Return the ids of values: comparing tensors would compare their elements."""
    return set(map(id, values))


def _as_results(
    name: str, context: FunctionCtx, args: Sequence[Any], outputs: Sequence[Any], is_recorded: bool
) -> list[Any]:
    """Return the results for the caller.  An input that forward returned unwritten becomes a view of it."""
    inputs, constant, dirty, returned = _ids(args), _ids(context._constant), _ids(context._dirty), _ids(outputs)
    for written in context._dirty:
        _check_dirty(name, written, id(written) in returned, len(outputs), is_recorded)
        written._counter.version += 1
    fresh, is_enabled = [], mode.enabled
    for output in outputs:
        is_dirty = id(output) in dirty
        result = _as_result(output, id(output) in inputs, is_dirty, is_recorded and id(output) not in constant)
        if is_enabled and not is_dirty and isinstance(result, TensorBase) and result._base is not None:
            result._origin = ONE_OF_SEVERAL if len(outputs) > 1 else FROM_FUNCTION
        fresh.append(result)
    return fresh


def _as_result(output: Any, is_input: bool, is_dirty: bool, is_recorded: bool) -> Any:
    if not isinstance(output, TensorBase):
        return output
    if not is_recorded and output.requires_grad and (is_input or output._base is None):
        return alias_of(output, output.shape, output.strides, output._offset)
    return _view_of(output) if is_input and not is_dirty else output


def _view_of(tensor: Any) -> Any:
    view: Any = new_tensor(tensor._storage, tensor._layout, tensor._offset)
    if tensor._storage.version >= 0:
        view._base = tensor if tensor._base is None else tensor._base
        view._counter = tensor._counter
        view._view_version = tensor._counter.version
        view._origin = IN_NO_GRAD
    return view


def _check_dirty(name: str, written: Any, is_returned: bool, count: int, is_recorded: bool) -> None:
    """Raise AutogradError for a write that forward is not allowed to make.  count: how many values forward returned."""
    if not is_returned:
        raise AutogradError(
            f"an input that mark_dirty names, {written.describe()}, is not returned by forward",
            hint="return it, or leave it out of mark_dirty and clone() it before writing",
            operator=name,
        )
    check_inplace(name, written, is_recorded)
    if is_recorded and written._base is not None and count > 1:
        raise AutogradError(
            f"forward wrote a view in place, {written.describe()}, and returned {count} tensors",
            hint="modify a clone(), or return the view alone",
            operator=name,
        )


def _link(
    node: FunctionNode, context: FunctionCtx, args: Sequence[Any], outputs: Sequence[Any], fresh: Sequence[Any]
) -> None:
    """Attach the results to a node, and save its tensors."""
    context._node = weakref.ref(node)
    constant, dirty = _ids(context._constant), _ids(context._dirty)
    linked: list[Any] = []
    for index, (output, result) in enumerate(zip(outputs, fresh)):
        if not isinstance(result, TensorBase) or not result._layout.is_floating or id(output) in constant:
            linked.append(None)
            continue
        linked.append(result)
        if id(result) in dirty:
            rebase(result, node, index, next(position for position, arg in enumerate(args) if arg is result))
        else:
            result._grad_fn, result._output_index = node, index
    if context._to_save:
        renamed = {id(old): new for old, new in zip(outputs, fresh)}
        context._to_save = tuple(renamed.get(id(result), result) for result in context._to_save)
    node.save(args, linked)


class _ErrorNode(Node):
    """A node of gradients that cannot be differentiated."""

    __slots__ = ()

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        raise AutogradError(
            "trying to differentiate twice a function that was marked with @once_differentiable",
            hint="leave the decorator out, if backward uses only differentiable operations",
            operator=self.name,
        )


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a Function's backward as not differentiable: a second derivative is an error.

    The decorated backward runs without recording for autograd.
    Raises: AutogradError if a gradient is propagated through its results.
    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     @torch.autograd.function.once_differentiable
        ...     def backward(ctx, grad):
        ...         return 2 * ctx.saved_tensors[0] * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(Square.apply(x), x)
        (tensor(6.),)
    """

    @wraps(function)
    def once(ctx: Any, *grads: Any) -> Any:
        with GradMode(False):
            returned = function(ctx, *grads)
        edges = [_edge(value) for value in grads if isinstance(value, TensorBase) and value.requires_grad]
        if not mode.enabled or not edges:
            return returned
        results = returned if isinstance(returned, tuple) else (returned,)
        tensors = [value for value in results if isinstance(value, TensorBase)]
        node = _ErrorNode(function.__qualname__, edges, streams_of(tensors), len(results))
        guarded = tuple(_guarded(value, node, index) for index, value in enumerate(results))
        return guarded if isinstance(returned, tuple) else guarded[0]

    return once


def _guarded(value: Any, node: Node, index: int) -> Any:
    if not isinstance(value, TensorBase) or not value._layout.is_floating:
        return value
    result: Any = alias_of(value, value.shape, value.strides, value._offset)
    result._grad_fn, result._output_index = node, index
    return result


__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
__dir__ = listing(globals())

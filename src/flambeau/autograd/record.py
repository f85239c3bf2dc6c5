"""Recording calls for backward: which edges, what is saved, and writes in place.

Writes in place move a tensor's place in the graph forward.  A write through a view moves its base's: the new node
(`CopySlices`) gives the written part of the gradient to the operator and the rest to what the base was before; the
view's own node is made anew when it is next asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from .. import core
from .. import strides as st
from ..core import TensorCore
from ..errors import AutogradError
from ..memory_formats import contiguous_format
from ..ops.operator import FACT, OUT, OUTS, REGISTRY, VALUE, Need, Operator
from ..runtime import state
from ..runtime.stream import Stream
from .mode import GradMode
from .node import AccumulateGrad, Edge, Node, OperatorNode, Saved, accumulate_grad, operator_node, save, streams_of


def edge_of(tensor: Any) -> Edge | None:
    """Where the gradient of a tensor goes, or None if it needs none."""
    if tensor.base is not None and tensor.base.requires_grad and tensor.view_version != tensor.storage.version:
        _renew_view(tensor)
    if tensor._grad_fn is not None:
        return tensor._grad_fn, tensor.output_index
    return (accumulator(tensor), 0) if tensor._requires_grad else None


def accumulator(leaf: TensorCore) -> AccumulateGrad:
    """The node that adds to a leaf's gradient: one as long as any graph holds it."""
    node = leaf.accumulator() if leaf.accumulator is not None else None
    if node is None:
        node = accumulate_grad(leaf)
        leaf.accumulator = ref(node)
    return node  # type: ignore[no-any-return]


def _renew_view(view: TensorCore) -> None:
    """A view's base was written since the view was made: the view is now a part of the new base."""
    if _is_of_function(view):
        raise AutogradError(
            f"{view._grad_fn.name}: its result is a view, and the view or its base has been written in place since",
            hint="clone() the result inside the Function",
        )
    edge = edge_of(view.base)
    if edge is not None:
        view._grad_fn, view.output_index = _part_node(edge, view.base, view), 0
    view.view_version = view.storage.version


def _is_of_function(view: TensorCore) -> bool:
    """Whether a user's Function made this view: what its backward does cannot be said in terms of the base."""
    return view._grad_fn is not None and not isinstance(view._grad_fn, OperatorNode)


def _part_node(edge: Edge, base: TensorCore, view: TensorCore) -> OperatorNode:
    """The node of `view` as a part of `base`, whose gradient goes to `edge`."""
    operator = REGISTRY["as_strided"]
    node = operator_node(operator, (edge,), streams_of([base]), [_meta(base)], 1)
    given = {
        "size": tuple(view.shape),
        "stride": view.strides,
        "storage_offset": view.offset,
        "input_shape": base.shape,
    }
    given |= {"input_strides": base.strides, "input_offset": base.offset}
    node.saved = [given.get(name) for name in operator.backward_needs]
    return node


def wants_grad(operator: Operator, bound: Sequence[Any]) -> bool:
    """Whether this call belongs in a graph."""
    for index in operator.tensor_indexes:
        value = bound[index]
        if isinstance(value, TensorCore):
            tensor = value
            if tensor._requires_grad or tensor._grad_fn is not None:
                return state.here().grad_enabled
            if tensor.base is not None and state.here().grad_enabled and edge_of(tensor) is not None:
                return True
        elif (type(value) is list or type(value) is tuple) and any([_needs_grad(each) for each in value]):
            return state.here().grad_enabled
    return False


def record(operator: Operator, bound: Sequence[Any], outputs: Sequence[TensorCore]) -> None:
    """Make the outputs of a call results of a new node.  Raises AutogradError if the operator has no derivative."""
    if not operator.differentiable:
        return
    node = None
    for index, out in enumerate(outputs):
        if out is not None and out.layout.is_floating:
            if node is None:
                node = _node(operator, bound, outputs)
            out._grad_fn, out.output_index = node, index


def _node(operator: Operator, bound: Sequence[Any], outputs: Sequence[TensorCore]) -> OperatorNode:
    if operator.backward is None:
        raise AutogradError(
            f"{operator.called}: the derivative is not implemented", hint="call it under torch.no_grad()"
        )
    edges: list[Edge | None] = []
    metas: list[Any] = []
    tensors = [each for each in outputs if each is not None]
    for index in operator.tensor_indexes:
        value = bound[index]
        if isinstance(value, TensorCore) or not isinstance(value, (list, tuple)):
            _add_edge(value, edges, metas, tensors)
        else:
            for each in value:
                _add_edge(each, edges, metas, tensors)
    node = operator_node(operator, tuple(edges), streams_of(tensors), metas, len(outputs))
    node.saved = [_save(need, bound, outputs) for need in operator.saves]
    return node


def _add_edge(value: Any, edges: list[Edge | None], metas: list[Any], tensors: list[TensorCore]) -> None:
    if isinstance(value, TensorCore):
        tensor = value
        tensors.append(tensor)
        edge = edge_of(tensor) if tensor.layout.is_floating else None
        edges.append(edge)
        metas.append(None if edge is None else (tensor.layout, tensor.storage.device))
    else:
        edges.append(None)
        metas.append(None)


def _meta(tensor: TensorCore) -> tuple[Any, ...]:
    return tensor.layout, tensor.storage.device


def _save(need: Need, bound: Sequence[Any], outputs: Sequence[TensorCore]) -> Any:
    kind = need.kind
    if kind is VALUE:
        return _keep(bound[need.at]) if need.only_for < 0 or _needs_grad(bound[need.only_for]) else None
    if kind is FACT:
        return _fact(bound[need.at], need.what)
    if kind is OUT:
        return save(outputs[0], (None, 0))  # type: ignore[arg-type]
    if kind is OUTS:
        return [save(out, (None, place)) for place, out in enumerate(outputs)]  # type: ignore[arg-type]
    return None


def _fact(value: Any, what: str) -> Any:
    if isinstance(value, TensorCore) or not isinstance(value, (list, tuple)):
        return getattr(value, what, None)
    return [getattr(each, what, None) for each in value]


def _needs_grad(value: Any) -> bool:
    if isinstance(value, TensorCore):
        tensor = value
        return tensor.layout.is_floating and core.in_graph(tensor)
    return False


def _keep(value: Any) -> Any:
    if isinstance(value, TensorCore):
        return save(value, edge_of(value))
    kind = type(value)
    if (kind is list or kind is tuple) and any([isinstance(each, TensorCore) for each in value]):
        return kind([_keep(each) for each in value])
    return value


# writes in place


def check_inplace(name: str, target: TensorCore) -> None:
    """Raise AutogradError if writing `target` would lose a gradient."""
    if not state.here().grad_enabled:
        return
    if target._requires_grad and target._grad_fn is None:
        raise AutogradError(
            f"{name}: a leaf Variable that requires grad is being used in an in-place operation: {target.describe()}",
            hint="write it under torch.no_grad(), or write a clone()",
        )
    if target.base is not None and target.base._requires_grad and target.base._grad_fn is None:
        raise AutogradError(
            f"{name}: a view of a leaf Variable that requires grad is being used in an in-place operation: "
            f"{target.describe()} of {target.base.describe()}",
            hint="write it under torch.no_grad(), or write a clone()",
        )
    if target.base is not None and target.base.requires_grad:
        _check_view(name, target)


def _check_view(name: str, view: TensorCore) -> None:
    if edge_of(view) is None:
        raise AutogradError(
            f"{name}: a view that was made under no_grad is being modified in place with gradients enabled, and its "
            f"base requires grad: {view.describe()} of {view.base.describe()}",
            hint="make the view and write it in the same mode, or write a clone()",
        )
    if _is_of_function(view):
        raise AutogradError(
            f"{name}: a view that {view._grad_fn.name}'s forward returned is being modified in place: "
            f"{view.describe()}",
            hint="clone() the result inside the Function",
        )


def record_inplace(operator: Operator, bound: Sequence[Any], target: TensorCore, recorded: OperatorNode | None) -> None:
    """`target` was written by a call; `recorded` is the call's node, made before the write, if it needs one."""
    target.storage.version += 1
    if target.base is None:
        if recorded is not None:
            _resave_outputs(recorded, target)
            target._grad_fn, target.output_index = recorded, 0
        return
    if recorded is not None:
        _write_through_view(target, recorded)
    target.view_version = -1  # made anew from the base when next asked for


def node_for_inplace(operator: Operator, bound: Sequence[Any], target: TensorCore) -> OperatorNode:
    """The node of a call that is about to write `target`: what it needs is saved before the write.

    Where the derivative needs the values that the call overwrites, a copy of them is kept.
    Raises: AutogradError.
    """
    if target.base is not None and st.overlaps_itself(target.base.shape, target.base.strides):
        raise AutogradError(
            f"{operator.called}: writing a view of {target.base.describe()}, whose elements overlap (strides "
            f"{list(target.base.strides)}), cannot be recorded",
            hint="clone() it before taking the view",
        )
    node = _node(operator, bound, [target])
    for place, name in enumerate(operator.backward_needs):
        if operator.index_of.get(name) == 0 and isinstance(node.saved[place], Saved):
            node.saved[place] = save(_copy(target), node.saved[place].edge)
    return node


def _copy(tensor: TensorCore) -> TensorCore:
    with GradMode(False):
        return REGISTRY["convert"](tensor)  # type: ignore[no-any-return]


def _resave_outputs(node: OperatorNode, target: TensorCore) -> None:
    for index, name in enumerate(node.operator.backward_needs):
        if name == "out":
            node.saved[index] = save(target, (None, 0))  # type: ignore[arg-type]


def _write_through_view(view: TensorCore, node: OperatorNode) -> None:
    base = view.base
    _resave_outputs(node, view)
    base._grad_fn, base.output_index = CopySlices(node, edge_of(base), base, view), 0
    base.view_version = base.storage.version


class CopySlices(Node):
    """A write in place to a part of `base`, done by `inner` on a view of it.

    Its first edge is the base's former place.
    """

    __slots__ = ("inner", "part", "shape", "strides")

    def __init__(self, inner: OperatorNode, base_edge: Edge | None, base: TensorCore, view: TensorCore) -> None:
        streams: dict[int, Stream] = inner.streams
        super().__init__("CopySlices", (base_edge, *inner.edges[1:]), streams)
        self.inner = inner
        self.shape = base.shape
        self.strides = base.strides
        self.part = view.shape, view.strides, view.offset - base.offset

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        """See Node.  The calls are ordinary ones, so that a second derivative goes through them too."""
        as_strided = REGISTRY["as_strided"]
        dense = st.is_contiguous(self.shape, self.strides)
        flat = grads[0].clone(memory_format=contiguous_format) if dense else self._laid_out(grads[0])
        whole = flat if dense else as_strided(flat, self.shape, self.strides, 0)
        part = as_strided(flat, *self.part)
        flowed = self.inner.flow([part.clone()], _part_node((self, 0), whole, part))
        if flowed[0] is None:
            part.zero_()
        else:
            part.copy_(flowed[0])
        return [whole, *flowed[1:]]

    def _laid_out(self, grad: Any) -> Any:
        """The gradient as the base lies, gaps included, in one dimension."""
        return REGISTRY["embed"](grad, (st.extent(self.shape, self.strides),), self.shape, self.strides, 0)

    def release(self) -> None:
        self.inner.release()


def link_view(operator: Operator, bound: Sequence[Any], view: TensorCore) -> None:
    """Record a view: its base, and its node where a gradient is wanted."""
    source = bound[0]
    view.base = source if source.base is None else source.base
    view.view_version = view.storage.version
    if wants_grad(operator, bound):
        record(operator, bound, [view])

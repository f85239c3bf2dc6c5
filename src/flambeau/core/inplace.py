"""Writes in place in the gradient graph: the checks that forbid some of them, and the nodes that record them.

- A write in place gives the tensor a new node.  A write through a view gives its base a new node (`CopySlices`), which
  passes the written part of the gradient to the operator and the rest to the base's former node.  The view's own node
  is renewed when next needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import strides as st
from ..autograd.mode import GradMode
from ..autograd.node_hooks import move_kept, observed, observers
from ..errors import AutogradError
from ..memory_formats import contiguous_format
from ..runtime.stream import Stream
from . import call_errors, thread
from .operator import OUT, REGISTRY, Operator
from .record import (
    LAST_NUMBER,
    STALE,
    Edge,
    Node,
    OperatorNode,
    Saved,
    edge_of,
    node_of,
    operator_node,
    renew_views_by,
    save,
    streams_of,
)
from .tensor import FROM_FUNCTION, IN_INFERENCE, IN_NO_GRAD, ONE_OF_SEVERAL, ORDINARY, TensorBase, in_graph, new_tensor

ORIGINS = {  # why a view may not be written, and a hint
    FROM_FUNCTION: ("was returned by the forward of a custom Function", "clone() the result inside the Function"),
    ONE_OF_SEVERAL: (
        "is the output of a function that returns multiple views",
        "use the out-of-place form, or modify a clone()",
    ),
    IN_NO_GRAD: (
        "was created in no_grad mode",
        "create and modify the view in the same mode, or modify a clone()",
    ),
    IN_INFERENCE: (
        "was created in inference mode",
        "create and modify the view in the same mode, or modify a clone()",
    ),
}


def check_inplace(name: str, target: TensorBase, needs_node: bool) -> None:
    """Raise AutogradError if writing `target` would lose a gradient.  needs_node: whether it is recorded."""
    base = target._base
    joins = in_graph(target)
    if not thread.here().grad_enabled or not (needs_node or joins):
        return
    if target._requires_grad and target._grad_fn is None:
        raise AutogradError(
            f"a leaf Variable that requires grad is being used in an in-place operation: {target.describe()}",
            hint="modify it under torch.no_grad(), or modify a clone()",
            operator=name,
        )
    if base is not None and joins and base._grad_fn is None:
        raise AutogradError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation: "
            f"{target.describe()} of {base.describe()}",
            hint="modify it under torch.no_grad(), or modify a clone()",
            operator=name,
        )
    if base is not None and target._origin != ORDINARY:
        origin, hint = ORIGINS[target._origin]
        raise AutogradError(
            f"a view that {origin} is being modified inplace with gradients enabled: {target.describe()} of "
            f"{base.describe()}",
            hint=hint,
            operator=name,
        )
    if base is not None and needs_node and target._layout.is_floating and st.overlaps_itself(base.shape, base.strides):
        raise AutogradError(
            f"writing a view of {base.describe()}, whose elements overlap (strides {list(base.strides)}), cannot be "
            f"recorded",
            hint="clone() it before taking the view",
            operator=name,
        )


def _part_node(edge: Edge | None, base: TensorBase, view: TensorBase) -> OperatorNode:
    """Make the node of `view` as a part of `base`.  edge: where the gradient of `base` goes, or None."""
    operator = REGISTRY["as_strided"]
    node = operator_node(operator, (edge,), streams_of([base]), [base._layout], 1)
    known = {
        "size": tuple(view.shape),
        "stride": view.strides,
        "storage_offset": view._offset,
        "input_shape": base.shape,
    }
    known |= {"input_strides": base.strides, "input_offset": base._offset}
    node.saved = [known.get(name) for name in operator.backward_needs]
    return node


class CopySlices(Node):
    """A write in place to a part of `base`, done by the node `inner` on a view of it, which is its edge `operand`.

    This node's first edge is the base's former edge.  The others are those of `inner`, without the view's.
    """

    __slots__ = ("inner", "operand", "part", "shape", "strides")

    def __init__(self, inner: Any, operand: int, base_edge: Edge | None, base: TensorBase, view: TensorBase) -> None:
        streams: dict[int, Stream] = inner.streams
        others = [edge for index, edge in enumerate(inner.edges) if index != operand]
        super().__init__("CopySlices", (base_edge, *others), streams)
        self.inner = inner
        self.operand = operand
        self.shares = inner.shares
        self.shape = base.shape
        self.strides = base.strides
        self.part = view.shape, view.strides, view._offset - base._offset

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        """See Node.  It calls recorded operators, so that a second derivative passes through them."""
        as_strided = REGISTRY["as_strided"]
        dense = st.is_contiguous(self.shape, self.strides)
        flat = grads[0].clone(memory_format=contiguous_format) if dense else self._laid_out(grads[0])
        whole = flat if dense else as_strided(flat, self.shape, self.strides, 0)
        part = as_strided(flat, *self.part)
        flowed = self.inner.flow([part.clone()], _part_node((self, 0), whole, part))
        of_view = flowed[self.operand]
        if of_view is None:
            part.zero_()
        else:
            part.copy_(of_view)
        return [whole, *[grad for index, grad in enumerate(flowed) if index != self.operand]]

    def _laid_out(self, grad: Any) -> Any:
        """Return the gradient, one-dimensional, in the memory layout of the base, gaps included."""
        return REGISTRY["embed"](grad, (st.extent(self.shape, self.strides),), self.shape, self.strides, 0)

    def release(self) -> None:
        self.inner.release()


def check_out(operator: Operator, out: Any, joins: bool, records: bool) -> None:
    """Raise ArgumentTypeError or AutogradError for an out= that an operator cannot write.

    joins: whether an operand takes part in a graph;  records: whether gradients are recorded.
    """
    if not operator.takes_out:
        raise call_errors.no_out(operator, out)
    for target in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(target, TensorBase):
            raise call_errors.out_is_no_tensor(operator, target)
        if joins or records and in_graph(target):
            raise call_errors.out_in_graph(operator, target)


def record_inplace(target: TensorBase, recorded: OperatorNode | None) -> None:
    """Record a write in place of `target`.  recorded: the call's node, made before the write, or None."""
    target._counter.version += 1
    if recorded is not None:
        _save_results(recorded, target)
        rebase(target, recorded, 0, 0)
    elif target._base is not None:
        target._view_version = STALE


def disown(result: Any, operands: Sequence[Any]) -> None:
    """Detach a composite's result from a base that exists only inside the composite's body."""
    for operand in operands:
        if isinstance(operand, TensorBase):
            tensors: Sequence[Any] = (operand,)
        else:
            tensors = operand if isinstance(operand, (list, tuple)) else ()
        for tensor in tensors:
            if isinstance(tensor, TensorBase) and (result._base is tensor or result._base is tensor._base):
                return
    edge_of(result)
    result._base = None
    result._origin = ORDINARY


def rebase(target: TensorBase, node: Any, index: int, operand: int) -> None:
    """Make a tensor that was written in place output `index` of `node`.  Before, it was the operand of edge `operand`.

    If the tensor is a view, its base gets the node, and the view's node is renewed when it is next needed.
    """
    base = target._base
    if base is not None:
        target._view_version = STALE
        node = CopySlices(node, operand, edge_of(base), base, target)
        target, index = base, 0
    if target.retains_grad:
        move_kept(target, target._grad_fn, node, index)
    target._grad_fn, target._output_index = node, index


def node_for_inplace(operator: Operator, bound: Sequence[Any], target: TensorBase) -> OperatorNode:
    """Make the node of a call that is about to write `target`; save the values that its derivative needs.

    If the derivative needs the values that the call overwrites, it saves a copy.
    Raises: AutogradError if there is no derivative.
    """
    node = node_of(operator, bound, (), 1)
    for index, name in enumerate(operator.backward_needs):
        if operator.index_of.get(name) == 0 and isinstance(node.saved[index], Saved):
            node.saved[index] = save(_copy(target), node.saved[index].edge)
    if observers:
        observed(node, node.saved)
    return node


def keep_overwritten(result: Node, target: TensorBase, first: int) -> None:
    """Save copies of the values of `target` that a composite's nodes need and its result is about to overwrite.

    result: the node of the result.  first: the composite's nodes have numbers from this one on.
    """
    pending: list[Node] = [result]
    seen: set[Node] = set()
    copies: dict[Any, TensorBase] = {}
    while pending:
        node = pending.pop()
        if node in seen or not first <= node.number < LAST_NUMBER:
            continue
        seen.add(node)
        pending += [edge[0] for edge in node.edges if edge is not None]
        for saved in _all_saved(getattr(node, "saved", ())):
            if saved.storage is target._storage:
                part = saved.layout, saved.offset
                if part not in copies:
                    copies[part] = _copy(new_tensor(saved.storage, *part))
                kept = save(copies[part], saved.edge)
                saved.storage, saved.layout, saved.offset = kept.storage, kept.layout, kept.offset
                saved.counter, saved.version = kept.counter, kept.version


def _all_saved(values: Any) -> Iterator[Saved]:
    for value in values:
        if isinstance(value, Saved):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _all_saved(value)


def _copy(tensor: TensorBase) -> TensorBase:
    with GradMode(False):
        copy: TensorBase = REGISTRY["convert"](tensor)
        return copy


def _save_results(node: OperatorNode, target: TensorBase) -> None:
    """Save the result of a write in place, if the derivative needs it."""
    saved = []
    for index, name in enumerate(node.operator.backward_needs):
        if name == OUT:
            node.saved[index] = save(target, (None, 0))
            saved.append(node.saved[index])
    if observers:
        observed(node, saved)


def _renew(view: TensorBase) -> None:
    """Renew the node of a view whose base was written since the view was made.  Raises AutogradError."""
    if view._origin != ORDINARY:
        origin, hint = ORIGINS[view._origin]
        raise AutogradError(
            f"a view that {origin} is used, and its base or another view of its base has been modified "
            f"inplace since: {view.describe()} of {view._base.describe()}",
            hint=hint,
            operator="view" if view._grad_fn is None else view._grad_fn.name,
        )
    edge = edge_of(view._base)  # None if the base has left the graph: then the new node ends it
    if edge is not None or view._grad_fn is not None:
        node = _part_node(edge, view._base, view)
        if view.retains_grad:
            move_kept(view, view._grad_fn, node, 0)
        view._grad_fn, view._output_index = node, 0
    view._view_version = view._counter.version


renew_views_by(_renew)

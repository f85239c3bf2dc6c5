"""Gradient graph: its nodes, and the recording of calls as nodes.

- An edge is (node, index): the gradient of that output of that node.  None means that no gradient is required.
- A node saves storages and metadata, never its own output tensors: tensors own nodes, so there is no cycle.
- Nodes are numbered in the order in which they are made.  A node has a higher number than the nodes of its inputs, so
  backward runs nodes in descending order.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ..autograd.fitting import fit, zeros
from ..autograd.node_hooks import observed, observers
from ..autograd.node_streams import streams_of_several
from ..errors import AutogradError, name_error
from ..runtime.stream import Stream
from . import call_errors, thread
from .binding import Need
from .layout import Layout
from .native import next_number
from .operator import FACT, GRAD, GRADS, NEEDS, OUT, VALUE, Operator
from .storage import Storage
from .tensor import TensorBase, in_graph, new_tensor

Edge = tuple["Node", int]
SavedEdge = tuple["Node | None", int]  # without a node: an output of the node that saves it
LAST_NUMBER = 1 << 62  # added for leaves, which run as soon as their gradient is complete
NO_EDGES: tuple[Any, ...] = ()
NO_STREAMS: dict[int, Stream] = {}


def streams_of(tensors: Sequence[TensorBase]) -> dict[int, Stream]:
    """Return the current stream of every CUDA device that the tensors are on.  Callers must not change the dict."""
    first = -1
    for tensor in tensors:
        device = tensor._layout.device.index
        if device >= 0 and device != first:
            if first >= 0:
                return streams_of_several(tensors)
            first = device
    if first < 0:
        return NO_STREAMS
    stream = thread.current_stream(first)
    return stream.alone


class Saved:
    """A tensor saved for backward, with its counter's version and its edge.  Made by `save`.

    packed: with saved-tensor hooks, a function of the node's name that returns the tensor; storage is then None.
        Otherwise the tensor itself where a Function saved it, else None.
    """

    __slots__ = ("counter", "edge", "layout", "offset", "packed", "storage", "version")
    packed: Any
    storage: Storage | None
    counter: Storage
    layout: Layout
    offset: int
    version: int
    edge: SavedEdge | None

    def unpack(self, name: str, own: Node | None) -> TensorBase:
        """Return the tensor.  It is attached to its edge unless `own`, the node that saved it, is None.

        Raises: AutogradError if its memory was written since it was saved.
        """
        tensor: TensorBase
        if self.storage is None:
            tensor = self.packed(name)
        else:
            if self.counter.version != self.version:
                raise call_errors.overwritten(name, self)
            tensor = new_tensor(self.storage, self.layout, self.offset)
            tensor._counter = self.counter
        if self.edge is not None and own is not None:
            node, index = self.edge
            attach(tensor, own if node is None else node, index)
        return tensor


def save(tensor: TensorBase, edge: SavedEdge | None) -> Saved:
    """Save a tensor as it is now.  Raises AutogradError for an inference tensor."""
    if tensor._storage.version < 0:
        raise call_errors.inference_saved(tensor)
    saved: Saved = Saved.__new__(Saved)
    saved.packed, saved.edge = None, edge
    saved.storage, saved.layout, saved.offset = tensor._storage, tensor._layout, tensor._offset
    saved.counter, saved.version = tensor._counter, tensor._counter.version
    return saved


def attach(tensor: TensorBase, node: Node, index: int) -> None:
    """Make `tensor` an output of `node`, or, if the node is a leaf's accumulator, an alias of the leaf."""
    if isinstance(node, AccumulateGrad):
        tensor._requires_grad = True
        tensor._accumulator = weakref.ref(node)
    else:
        tensor._grad_fn = node
        tensor._output_index = index


class Node:
    """A node of the graph: computes the gradients of its inputs from those of its outputs.

    edges: one per input.  streams: per device, the stream that was current in forward; it is current again in `apply`.
    shares: whether user code may keep gradients that `apply` returns; such a node also runs if all gradients are None.
    hooks: a NodeHooks or None.  face: a weak reference to the node's public object (autograd/graph.py), or None.
    """

    __slots__ = ("__weakref__", "edges", "face", "hooks", "name", "number", "outputs", "shares", "streams")

    def __init__(self, name: str, edges: Sequence[Edge | None], streams: dict[int, Stream], outputs: int = 1) -> None:
        self.begin(name, tuple(edges), streams, outputs)

    def begin(self, name: str, edges: tuple[Edge | None, ...], streams: dict[int, Stream], outputs: int) -> None:
        """Set the fields; `__init__` calls it."""
        self.name = name
        self.edges = edges
        self.streams = streams
        self.outputs = outputs
        self.number = next_number()
        self.hooks: Any = None
        self.face: Any = None
        self.shares = False

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        """Return the gradients of the inputs, one per edge.  `grads` holds one per output; None means zeros."""
        raise AssertionError("subclasses implement it")

    def release(self) -> None:
        """Drop the saved values; the graph will not be used again."""

    def __repr__(self) -> str:
        return f"<{self.name}>"


class AccumulateGrad(Node):
    """Node of a leaf: adds the gradient to the leaf's `grad`.  Made by `accumulator`."""

    __slots__ = ("leaf",)
    leaf: TensorBase


class OperatorNode(Node):
    """One call of an operator: made by `operator_node`.  inputs: the layout of each edge's operand, or None."""

    __slots__ = ("inputs", "operator", "released", "saved")
    operator: Operator
    inputs: Sequence[Any]
    saved: list[Any]
    released: bool

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        """See Node.  If the derivative returns None for an input that has an edge, its gradient is zeros."""
        input_grads = self.flow(grads, self)
        for index, edge in enumerate(self.edges):
            if edge is not None and input_grads[index] is None:
                input_grads[index] = zeros(self.inputs[index])
        return input_grads

    def flow(self, grads: Sequence[Any], own: Node) -> list[Any]:
        """Return the gradients of the inputs as the derivative computes them: None may mean zeros.

        own: the node that saved outputs belong to.
        """
        if self.released:
            raise call_errors.freed(self.name)
        operator = self.operator
        assert operator.backward is not None
        values: list[Any] = []
        for index, saved in enumerate(self.saved):
            need = operator.saves[index]
            values.append(self._value(need.kind, saved, grads, own))
        if thread.here().grad_enabled or grads[0] is None:
            return self._fitted(operator.backward(*values))
        return self._fitted(operator.derive(values))

    def _fitted(self, result: Any) -> list[Any]:
        """Convert a derivative's results to the shape, type and device of its inputs; None where there is no edge."""
        flat: list[Any] = [result] if isinstance(result, TensorBase) else _flatten(result)
        if len(flat) != len(self.edges):
            raise call_errors.wrong_count(self.name, len(flat), len(self.edges))
        for index, edge in enumerate(self.edges):
            grad = flat[index]
            if edge is None:
                flat[index] = None
            elif grad is not None:
                have, layout = grad._layout, self.inputs[index]
                if have.shape != layout.shape or have.dtype is not layout.dtype or have.device is not layout.device:
                    flat[index] = fit(grad, layout)
        return flat

    def _value(self, kind: str, saved: Any, grads: Sequence[Any], own: Node) -> Any:
        if isinstance(saved, Saved):
            kept = saved
            return kept.unpack(self.operator.name, own if thread.here().grad_enabled else None)
        if kind is GRAD:
            return grads[0]
        if kind is GRADS:
            return grads
        if kind is NEEDS:
            return tuple([edge is not None for edge in self.edges])
        if _holds_saved(saved):
            return type(saved)([self._value(kind, item, grads, own) for item in saved])
        return saved

    def release(self) -> None:
        """See Node.  A node that saved no tensor drops nothing, and may run again."""
        for value in self.saved:
            if isinstance(value, Saved) or _holds_saved(value):
                self.saved = []
                self.released = True
                return


def operator_node(
    operator: Operator,
    edges: tuple[Edge | None, ...],
    streams: dict[int, Stream],
    inputs: Sequence[Any],
    outputs: int,
) -> OperatorNode:
    """Make a node that has saved nothing yet."""
    node: OperatorNode = OperatorNode.__new__(OperatorNode)
    node.begin(operator.node_name, edges, streams, outputs)
    node.operator = operator
    node.inputs = inputs
    node.saved = []
    node.released = False
    return node


def _holds_saved(values: Any) -> bool:
    value_type = type(values)
    return (value_type is list or value_type is tuple) and any([isinstance(value, Saved) for value in values])


def _flatten(values: Any) -> list[Any]:
    flat: list[Any] = []
    for value in values if type(values) is tuple else (values,):
        flat += value if isinstance(value, list) else (value,)
    return flat


STALE = -1  # version of a view whose node has to be renewed from its base
_observers = observers  # typed where compiled


_renew_view: Any = None


def renew_views_by(function: Callable[[TensorBase], None]) -> None:
    """Set the function that renews the node of a view whose base was written since the view was made."""
    global _renew_view
    _renew_view = function


def edge_of(tensor: Any) -> Edge | None:
    """Return the edge that a tensor's gradient goes to, or None if it needs no gradient."""
    is_stale = tensor._base is not None and tensor._view_version != tensor._counter.version
    if is_stale and (in_graph(tensor._base) or tensor._grad_fn is not None):
        _renew_view(tensor)
    if tensor._grad_fn is not None:
        return tensor._grad_fn, tensor._output_index
    return (accumulator(tensor), 0) if tensor._requires_grad else None


def accumulator(leaf: TensorBase) -> AccumulateGrad:
    """Return the node that adds to a leaf's gradient.  It exists as long as a graph refers to it.

    It is made on the current stream of the leaf's device.
    """
    node: AccumulateGrad | None = leaf._accumulator() if leaf._accumulator is not None else None
    if node is None:
        node = AccumulateGrad.__new__(AccumulateGrad)
        node.begin("AccumulateGrad", NO_EDGES, streams_of((leaf,)), 1)
        node.number += LAST_NUMBER
        node.leaf = leaf
        leaf._accumulator = ref(node)
    return node


def wants_grad(operator: Operator, bound: Sequence[Any]) -> bool:
    """Return whether this call is to be recorded."""
    return thread.here().grad_enabled and joins(operator, bound)


def joins(operator: Operator, bound: Sequence[Any]) -> bool:
    """Return whether any operand of a call takes part in a graph."""
    for index in operator.tensor_indexes:
        value = bound[index]
        if isinstance(value, TensorBase):
            if in_graph(value):
                return True
        elif (type(value) is list or type(value) is tuple) and _any_joins(value):
            return True
    return False


def _any_joins(values: Any) -> bool:
    for value in values:  # noqa: SIM110 (compiled, there are no closures)
        if isinstance(value, TensorBase) and in_graph(value):
            return True
    return False


def record(operator: Operator, bound: Sequence[Any], outputs: Sequence[TensorBase]) -> None:
    """Attach the outputs of a call to a new node.  Raises AutogradError if the operator has no derivative."""
    if not operator.differentiable:
        return
    node = None
    for index, out in enumerate(outputs):
        if out is not None and out._layout.is_floating:
            if node is None:
                node = node_of(operator, bound, outputs, len(outputs))
            out._grad_fn, out._output_index = node, index


def node_of(operator: Operator, bound: Sequence[Any], outputs: Sequence[TensorBase], count: int) -> OperatorNode:
    if operator.backward is None:
        raise call_errors.no_derivative(operator)
    edges: list[Edge | None] = []
    layouts: list[Layout | None] = []
    tensors = [out for out in outputs if out is not None]
    for index in operator.tensor_indexes:
        value = bound[index]
        if isinstance(value, TensorBase) or not isinstance(value, (list, tuple)):
            _add_edge(value, edges, layouts, tensors)
        else:
            for item in value:
                _add_edge(item, edges, layouts, tensors)
    node = operator_node(operator, tuple(edges), streams_of(tensors), layouts, count)
    try:
        node.saved = [_save(need, bound, outputs) for need in operator.saves]
    except AutogradError as error:
        name_error(error, operator.called)
        raise
    if _observers and len(outputs) == count:  # a write in place is reported later
        observed(node, node.saved)
    return node


def _add_edge(value: Any, edges: list[Edge | None], layouts: list[Layout | None], tensors: list[TensorBase]) -> None:
    edge = layout = None
    if isinstance(value, TensorBase):
        tensor = value
        tensors.append(tensor)
        layout = tensor._layout
        edge = edge_of(tensor) if layout.is_floating else None
    edges.append(edge)
    layouts.append(layout)


def _save(need: Need, bound: Sequence[Any], outputs: Sequence[TensorBase]) -> Any:
    kind = need.kind
    if kind is VALUE:
        return _keep(bound[need.at]) if need.only_for < 0 or _needs_grad(bound[need.only_for]) else None
    if kind is FACT:
        return _fact(bound[need.at], need.what)
    if kind is OUT and outputs:  # a write in place has no result yet
        out = outputs[need.at]
        return save(out, (None, need.at) if out._layout.is_floating else None)
    return None


def _fact(value: Any, what: str) -> Any:
    if isinstance(value, TensorBase) or not isinstance(value, (list, tuple)):
        return getattr(value, what, None)
    return [getattr(item, what, None) for item in value]


def _needs_grad(value: Any) -> bool:
    if isinstance(value, TensorBase):
        tensor = value
        return tensor._layout.is_floating and in_graph(tensor)
    return False


def _keep(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return save(value, edge_of(value))
    value_type = type(value)
    if (value_type is list or value_type is tuple) and any([isinstance(item, TensorBase) for item in value]):
        return value_type([_keep(item) for item in value])
    return value

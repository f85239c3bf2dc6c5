"""Nodes of the gradient graph.

- An edge is (node, index): the gradient of that output of that node.  None where no gradient is wanted.
- A node saves storages and metadata, never the tensor that it made: tensors own nodes, nodes never own their tensors.
- Nodes are numbered as they are made; an input's node always has a lower number, so running by falling number is
  running in order.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..core import thread
from ..core.layout import Layout
from ..core.native import next_number
from ..core.operator import GRAD, GRADS, NEEDS, Operator
from ..core.storage import Storage
from ..core.tensor import TensorBase, empty_tensor, new_tensor
from ..errors import ArgumentTypeError, AutogradError, shown
from ..runtime.stream import Stream

Edge = tuple["Node", int]
LAST_NUMBER = 1 << 62  # leaves run as soon as their gradient is complete
NO_EDGES: tuple[Any, ...] = ()
NO_STREAMS: dict[int, Stream] = {}


def streams_of(tensors: Sequence[TensorBase]) -> dict[int, Stream]:
    """The current stream of every CUDA device that the tensors live on; not to be changed."""
    first = -1
    for tensor in tensors:
        device = tensor.layout.device.index
        if device >= 0 and device != first:
            if first >= 0:
                return _streams_of_several(tensors)
            first = device
    if first < 0:
        return NO_STREAMS
    stream = thread.current_stream(first)
    return stream.alone  # type: ignore[return-value]


def _streams_of_several(tensors: Sequence[TensorBase]) -> dict[int, Stream]:
    devices = [each.layout.device.index for each in tensors if each.layout.device.index >= 0]
    return {device: thread.current_stream(device) for device in dict.fromkeys(devices)}


class Saved:
    """A tensor kept for backward, with its version and its place in the graph.  Made by `save`.

    packed: (hook, value) where saved-tensor hooks hold it, and `hook(value)` gives it back; storage is None then.
    """

    __slots__ = ("edge", "layout", "offset", "packed", "storage", "version")
    packed: tuple[Any, Any] | None
    storage: Storage | None
    layout: Layout
    offset: int
    version: int
    edge: Edge | None

    def unpack(self, name: str, own: Node | None) -> TensorBase:
        """The tensor as it was, at its place in the graph unless `own`, the node that saved it, is None.

        Raises: AutogradError if its memory was written since.
        """
        if self.storage is None:
            tensor = self._unpacked(name)
        else:
            self._check_version(name)
            tensor = new_tensor(self.storage, self.layout, self.offset)
        if self.edge is not None and own is not None:
            attach(tensor, own if self.edge[0] is None else self.edge[0], self.edge[1])
        return tensor

    def _check_version(self, name: str) -> None:
        if self.storage.version != self.version:
            raise AutogradError(
                "one of the variables needed for gradient computation has been modified by an inplace "
                f"operation: {self.layout.dtype.name}{list(self.layout.shape)} is at version {self.storage.version}; "
                f"expected version {self.version}",
                hint="use the out-of-place form, or clone() the tensor before it is written",
                operator=name,
            )

    def pack(self, pack: Any, unpack: Any) -> None:
        """Hold what `pack` makes of the tensor instead of its memory.  Raises: AutogradError if `pack` writes it."""
        if self.storage is None:
            raise AutogradError(
                "Calling register_hooks on a saved tensor whose hooks have already been set",
                hint="register them once, outside of saved_tensors_hooks",
                operator="register_hooks",
            )
        tensor = new_tensor(self.storage, self.layout, self.offset)
        value = pack(tensor)
        if tensor.storage.version != self.version:
            raise AutogradError(
                f"a saved tensor pack hook is modifying its input in place: {tensor.describe()}",
                hint="write a clone() of it",
                operator="saved_tensors_hooks",
            )
        self.storage, self.packed = None, (unpack, value)

    def _unpacked(self, name: str) -> TensorBase:
        unpack, value = self.packed  # type: ignore[misc]
        found = unpack(value)
        if not isinstance(found, TensorBase):
            raise ArgumentTypeError(
                f"a saved tensor unpack hook must return a Tensor, got {shown(found)}",
                hint="return the tensor that the pack hook was given, or one like it",
                operator=name,
            )
        return new_tensor(found.storage, found.layout, found.offset)


def save(tensor: TensorBase, edge: Edge | None) -> Saved:
    """A tensor as it is now.  edge: its place in the graph.  Raises AutogradError for an inference tensor."""
    if tensor.storage.version < 0:
        raise AutogradError(
            f"Inference tensors cannot be saved for backward: {tensor.describe()}",
            hint="use a clone() of it, which is a normal tensor",
            operator="backward",
        )
    made: Saved = Saved.__new__(Saved)
    made.packed = None
    made.storage = tensor.storage
    made.layout = tensor.layout
    made.offset = tensor.offset
    made.version = tensor.storage.version
    made.edge = edge
    return made


def attach(tensor: TensorBase, node: Node, index: int) -> None:
    """Make `tensor` an output of `node`; where that is a leaf's accumulator, another name of the leaf."""
    if isinstance(node, AccumulateGrad):
        tensor._requires_grad = True
        tensor.accumulator = weakref.ref(node)
    else:
        tensor._grad_fn = node
        tensor.output_index = index


def freed(name: str) -> AutogradError:
    """What is raised where saved values are used that an earlier backward freed."""
    return AutogradError(
        "trying to backward through the graph a second time, or to read saved tensors that have been freed",
        hint="Specify retain_graph=True in the first backward",
        operator=name,
    )


class Node:
    """Turns gradients of its outputs into gradients of its inputs.

    edges: one per input.  streams: per device, the stream that was current in forward; it is current again in `apply`.
    shares: whether someone else, a user's code, may keep what `apply` returns; it also runs without any gradient.
    hooks: a NodeHooks, None without any.  face: a weak reference to what users see of it (autograd/graph.py), or None.
    """

    __slots__ = ("__weakref__", "edges", "face", "hooks", "name", "number", "outputs", "shares", "streams")

    def __init__(self, name: str, edges: Sequence[Edge | None], streams: dict[int, Stream], outputs: int = 1) -> None:
        self.begin(name, tuple(edges), streams, outputs)

    def begin(self, name: str, edges: tuple[Edge | None, ...], streams: dict[int, Stream], outputs: int) -> None:
        """What `__init__` does."""
        self.name = name
        self.edges = edges
        self.streams = streams
        self.outputs = outputs
        self.number = next_number()
        self.hooks: Any = None
        self.face: Any = None
        self.shares = False

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        """The gradients of the inputs, one per edge.  `grads` holds one per output; None stands for zero."""
        raise AssertionError("subclasses say")

    def release(self) -> None:
        """Drop what is saved: the graph will not be used again."""

    def __repr__(self) -> str:
        return f"<{self.name}>"


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds to its `grad`.  Made by `accumulate_grad`."""

    __slots__ = ("leaf",)
    leaf: TensorBase


def accumulate_grad(leaf: TensorBase) -> AccumulateGrad:
    """The node of a leaf, on the stream that is current on its device."""
    node: AccumulateGrad = AccumulateGrad.__new__(AccumulateGrad)
    device = leaf.layout.device.index
    streams = NO_STREAMS
    if device >= 0:
        stream = thread.current_stream(device)
        streams = stream.alone  # type: ignore[assignment]
    node.begin("AccumulateGrad", NO_EDGES, streams, 1)
    node.number += LAST_NUMBER
    node.leaf = leaf
    return node


class OperatorNode(Node):
    """One call of an operator: made by `operator_node`.  inputs: (layout, device index) per edge, or None."""

    __slots__ = ("inputs", "operator", "released", "saved")
    operator: Operator
    inputs: Sequence[Any]
    saved: list[Any]
    released: bool

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        """See Node.  Where a derivative answers None for an input that has an edge, that is a gradient of zeros."""
        found = self.flow(grads, self)
        for place, edge in enumerate(self.edges):
            if edge is not None and found[place] is None:
                found[place] = _zeros(*self.inputs[place])
        return found

    def flow(self, grads: Sequence[Any], own: Node) -> list[Any]:
        """The gradients of the inputs as the derivative gives them: None may stand for zeros.

        own: the node that saved results belong to.
        """
        if self.released:
            raise freed(self.name)
        operator = self.operator
        assert operator.backward is not None
        values: list[Any] = []
        for place, saved in enumerate(self.saved):
            need = operator.saves[place]
            values.append(self._value(need.kind, saved, grads, own))
        if thread.here().grad_enabled or _has_none(grads):
            return self._fitted(operator.backward(*values))
        return self._fitted(operator.derive(values))

    def _fitted(self, found: Any) -> list[Any]:
        """What a derivative returned, each in the shape, type and place of its input; None where there is no edge."""
        flat: list[Any] = [found] if isinstance(found, TensorBase) else _flatten(found)
        if len(flat) != len(self.edges):
            raise AutogradError(
                f"got {len(flat)} gradients for {len(self.edges)} inputs",
                hint="a derivative returns one for each operand, None where there is none",
                operator=self.name,
            )
        for place, edge in enumerate(self.edges):
            grad = flat[place]
            if edge is None:
                flat[place] = None
            elif grad is not None:
                layout, device = self.inputs[place]
                if grad.layout is not layout or grad.layout.device.index != device:
                    flat[place] = fit(grad, layout, device)
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
            return type(saved)([self._value(kind, each, grads, own) for each in saved])
        return saved

    def release(self) -> None:
        """See Node.  A node that keeps no tensor has nothing to drop, and may run again."""
        for each in self.saved:
            if isinstance(each, Saved) or _holds_saved(each):
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
    """A node that has saved nothing yet."""
    node: OperatorNode = OperatorNode.__new__(OperatorNode)
    node.begin(operator.node_name, edges, streams, outputs)
    node.operator = operator
    node.inputs = inputs
    node.saved = []
    node.released = False
    return node


def _has_none(values: Sequence[Any]) -> bool:
    for each in values:  # noqa: SIM110 (compiled, there are no closures)
        if each is None:
            return True
    return False


def _holds_saved(values: Any) -> bool:
    kind = type(values)
    return (kind is list or kind is tuple) and any([isinstance(each, Saved) for each in values])


def _flatten(values: Any) -> list[Any]:
    flat: list[Any] = []
    for each in values if type(values) is tuple else (values,):
        flat.extend(each) if isinstance(each, list) else flat.append(each)
    return flat


def _zeros(layout: Layout, device: int) -> Any:
    return empty_tensor(layout.shape, layout.dtype, device).zero_()  # type: ignore[attr-defined]


def fit(grad: Any, layout: Layout, device: int) -> Any:
    """Bring a gradient to its input's shape (summing what was broadcast), type and device.

    Raises: AutogradError if the input does not broadcast to the gradient.
    """
    if grad.layout is layout and grad.layout.device.index == device:
        return grad
    if grad.shape != layout.shape:
        check_broadcast("backward: a derivative returned an invalid gradient", grad, layout.shape)
        grad = grad.sum_to_size(layout.shape)
    if grad.dtype is not layout.dtype:
        grad = grad.to(layout.dtype)
    return grad if grad.layout.device.index == device else grad.to("cpu" if device < 0 else device)


def check_broadcast(fact: str, grad: Any, shape: Sequence[int]) -> None:
    """Raise AutogradError, with a fact that begins so, for a gradient that its input's shape does not broadcast to."""
    have = grad.shape[len(grad.shape) - len(shape) :]
    if len(grad.shape) < len(shape) or any(size not in (1, other) for size, other in zip(shape, have)):
        raise AutogradError(
            f"{grad.describe()} for an input of shape {list(shape)}",
            hint="a gradient has the shape of its input, or one that its input broadcasts to",
            operator=fact,
        )

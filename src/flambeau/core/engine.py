"""Backward engine: a loop over ready nodes, without recursion, in the calling thread.

- A node runs once it has all gradients of its outputs.  Of the ready nodes, the one with the highest number runs first.
- A node runs on the streams of its forward call.  If a gradient was computed on another stream, the node's stream waits
  for it, and the gradient's memory is kept for that stream.
- At the end, the caller's current streams wait for the streams of the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from ..autograd import anomaly_mode, node_streams
from ..autograd.fitting import copied
from ..autograd.node_hooks import apply_hooked, end_at, observers, on_outputs, on_tensors
from ..runtime.stream import Stream
from . import thread
from .native import Lock, identity
from .operator import REGISTRY
from .record import LAST_NUMBER, NO_STREAMS, AccumulateGrad, Edge, Node
from .tensor import new_tensor

NOTHING: tuple[Any, ...] = ()
NOWHERE: dict[int, Stream] = {}  # marks gradients computed on the current streams
_accumulating = Lock()  # several threads may run backward into one leaf


class Waiting:
    """State of a node during one backward pass; made by `_waiting`.

    left: edges to this node that have not delivered a gradient yet.  grads: the sums so far, or None.
    is_target: whether the pass returns its gradients, which `captured` keeps.  leads: whether it leads to a target.
    is_needed: whether one of these two is set.
    """

    __slots__ = ("captured", "grads", "is_needed", "is_target", "leads", "left", "node")
    node: Node
    left: int
    grads: list[Any] | None
    captured: list[Any] | None
    is_needed: bool
    is_target: bool
    leads: bool


def _waiting(node: Node) -> Waiting:
    waiting: Waiting = Waiting.__new__(Waiting)
    waiting.node = node
    waiting.left = 0
    waiting.grads = waiting.captured = None
    waiting.is_needed = waiting.leads = True
    waiting.is_target = False
    return waiting


class GraphTask:
    """One backward pass.  targets: the edges whose gradients are returned; None accumulates into all leaves.

    accumulates: whether gradients are added to the leaves' `grad`.  notes: see autograd/gradients.py.
    code: the function that runs the pass;  origin: that of its call (see callers.py).
    """

    def __init__(self, targets: Sequence[Edge] | None, keep_graph: bool, create_graph: bool, accumulates: bool) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulates = accumulates
        self.targets = targets
        self.notes: dict[Any, Any] | None = None
        self.code: Any = None
        self.origin: Any = None
        self.watch = anomaly_mode.watch() if observers else None  # anomaly detection observes new nodes
        self.waiting: dict[Node, Waiting] = {}
        self.next: Waiting | None = None  # the ready node with the highest number, usually the only one
        self.ready: list[tuple[int, Waiting]] = []  # the others, as a heap
        self.shared: set[int] = set()  # ids of storages that user code may hold; a reused id costs a copy
        self.leaf_streams: dict[int, Stream] = {}  # by handle
        self.moved: dict[Node, dict[int, Stream]] = {}  # streams of the nodes that do not run on their forward streams
        self.former: list[Any] | None = None  # the caller's streams, while those of nodes are current
        self.device = 0  # the caller's device, during that time

    def run(self, roots: Sequence[Edge], grads: Sequence[Any]) -> list[Any]:
        """Run every needed node, starting with `grads` at `roots`; return the gradients of the targets."""
        self._plan([node for node, _ in roots])
        now = thread.here()
        recorded, now.grad_enabled = now.grad_enabled, self.create_graph
        outer, now.task = now.task, self
        try:
            for index, edge in enumerate(roots):
                grad = grads[index]
                self.shared.add(identity(grad._storage))
                self._deliver(self.waiting[edge[0]], edge[1], grad, NOWHERE)
            for waiting in [self.waiting[node] for node in {edge[0] for edge in roots}]:
                if waiting.left == 0 and waiting.is_needed:
                    self._push(waiting)
            while self.next is not None:
                waiting = self.next
                self.next = heappop(self.ready)[1] if self.ready else None
                self._run_node(waiting)
        finally:  # assignments only: a signal handler could raise inside a function call
            if self.former is not None:
                now.streams, now.device = self.former, self.device
            now.grad_enabled = recorded
            now.task = outer
        for stream in self.leaf_streams.values():
            current = thread.current_stream(stream.device_index)
            if current is not stream:
                current.wait_stream(stream)
        return [] if self.targets is None else [self._captured_at(edge) for edge in self.targets]

    def will_run(self, node: Node) -> bool:
        """Return whether the pass runs a node, or returns its gradient."""
        waiting = self.waiting.get(node)
        return waiting is not None and waiting.is_needed

    def _captured_at(self, edge: Edge) -> Any:
        waiting = self.waiting.get(edge[0])
        return None if waiting is None or waiting.captured is None else waiting.captured[edge[1]]

    def _plan(self, roots: Sequence[Node]) -> None:
        """Count the edges to each node, and find the nodes that lead to a target."""
        known = self.waiting
        for root in roots:
            known[root] = _waiting(root)
        nodes = list(known)
        for node in nodes:  # the loop appends to it
            for edge in node.edges:
                if edge is not None:
                    successor = edge[0]
                    waiting = known.get(successor)
                    if waiting is None:
                        waiting = known[successor] = _waiting(successor)
                        nodes.append(successor)
                    waiting.left += 1
        if self.targets is not None:
            self._narrow(self.targets)

    def _narrow(self, targets: Sequence[Edge]) -> None:
        """Mark only nodes that lead to a target as needed: nodes of inputs have lower numbers, but for LAST_NUMBER."""
        inner: list[tuple[int, Waiting]] = []
        for node, waiting in self.waiting.items():
            waiting.is_needed = waiting.leads = False
            if not isinstance(node, AccumulateGrad):
                inner.append((node.number % LAST_NUMBER, waiting))
        for edge in targets:
            target = self.waiting.get(edge[0])
            if target is not None:
                target.is_needed = target.is_target = True
        inner.sort()
        for _, waiting in inner:
            for successor in waiting.node.edges:
                if successor is not None and self.will_run(successor[0]):
                    waiting.is_needed = waiting.leads = True

    def _push(self, waiting: Waiting) -> None:
        lesser = self.next
        if lesser is None or waiting.node.number > lesser.node.number:
            self.next = waiting
        else:
            lesser = waiting
        if lesser is not None:
            heappush(self.ready, (-lesser.node.number, lesser))

    def _deliver(self, waiting: Waiting, index: int, grad: Any, made_on: dict[int, Stream]) -> None:
        if not waiting.is_needed:
            return
        node = waiting.node
        if self._streams(node) is not made_on:
            self._order(node, grad, made_on)
        if waiting.grads is None:
            waiting.grads = [None] * node.outputs
        have = waiting.grads[index]
        if have is not None:
            self._move(self._streams(node))
            grad = REGISTRY["add"](have, grad)
        waiting.grads[index] = grad

    def _order(self, node: Node, grad: Any, made_on: dict[int, Stream]) -> None:
        """Make the consumer's stream wait for the stream on which the gradient was computed."""
        device = grad._layout.device.index
        consumer = self._streams(node).get(device)
        if consumer is None:
            return
        producer = made_on.get(device) or thread.current_stream(device)
        if consumer is not producer and consumer.handle != producer.handle:
            if isinstance(node, AccumulateGrad):
                node_streams.mismatch(consumer, producer)
            node_streams.order(self.moved, node, self._streams(node), consumer, producer, grad._storage)

    def _streams(self, node: Node) -> dict[int, Stream]:
        """Return the streams on which a node runs in this pass."""
        return self.moved.get(node, node.streams) if self.moved else node.streams

    def _run_node(self, waiting: Waiting) -> None:
        node, grads = waiting.node, waiting.grads
        waiting.grads = None
        if grads is None:
            grads = [None] * node.outputs
        streams = self._streams(node)
        self._move(streams)
        input_grads = self._input_grads(waiting, grads)
        for index, edge in enumerate(node.edges):
            if edge is not None:
                above = self.waiting[edge[0]]
                grad = input_grads[index]
                if grad is not None:
                    self._deliver(above, edge[1], grad, streams)
                above.left -= 1
                if above.left == 0 and above.is_needed:
                    self._push(above)

    def _move(self, streams: dict[int, Stream]) -> None:
        """Make a node's streams current, and leave them current for further nodes on the same streams."""
        if _are_current(streams) and (self.former is None or streams is not NO_STREAMS):
            return
        now = thread.here()
        if self.former is not None:
            now.streams, now.device, self.former = self.former, self.device, None
        if not _are_current(streams):
            self.former, self.device = now.streams, now.device
            node_streams.enter(now, streams)

    def _input_grads(self, waiting: Waiting, grads: list[Any]) -> Sequence[Any]:
        """Run a node with its hooks; return the gradients of its inputs."""
        node = waiting.node
        hooks = node.hooks
        if isinstance(node, AccumulateGrad):
            self._call_leaf_hooks(node, grads)
            goes_on = self.accumulates
        else:
            goes_on = waiting.leads
        if hooks is not None:
            on_outputs(self, hooks, grads)
        if waiting.is_target:
            waiting.captured = grads
        if not goes_on:
            return end_at(self, node, grads)
        return self.watch.run(self, node, grads) if self.watch is not None else self.apply_node(node, grads)

    def _call_leaf_hooks(self, node: AccumulateGrad, grads: list[Any]) -> None:
        for stream in self._streams(node).values():
            self.leaf_streams[stream.handle] = stream
        hooks = node.leaf._hooks
        if hooks is not None and hooks.of_gradient:
            on_tensors(hooks.of_gradient, grads)
            self.share(grads)

    def apply_node(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        """Run a node with its own hooks."""
        return self.apply_bare(node, grads) if node.hooks is None else apply_hooked(self, node, grads)

    def share(self, grads: Sequence[Any]) -> None:
        """Record gradients that a hook saw and may keep: they must not become the `grad` of a leaf."""
        self.shared.update([identity(grad._storage) for grad in grads if grad is not None])

    def apply_bare(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        """Run a node without its hooks."""
        if isinstance(node, AccumulateGrad):
            if grads[0] is not None:
                self._add_to_leaf(node.leaf, grads[0])
            return NOTHING
        if not node.shares and not any([grad is not None for grad in grads]):
            return [None] * len(node.edges)
        input_grads = node.apply(grads)
        if node.shares:
            self.share(input_grads)
        if not self.keep_graph:
            node.release()
        return input_grads

    def _add_to_leaf(self, leaf: Any, grad: Any) -> None:
        if not leaf._requires_grad:  # changed since the forward call
            return
        _accumulating.acquire()
        try:
            self._accumulate(leaf, grad)
        finally:
            _accumulating.release()
        if leaf._hooks is not None:
            for hook in tuple(leaf._hooks.accumulated.values()):
                hook(leaf)

    def _accumulate(self, leaf: Any, grad: Any) -> None:
        if leaf._grad is None:
            leaf._grad = grad.clone() if self.create_graph else self._owned(leaf, grad)
        elif self.create_graph:
            leaf._grad = REGISTRY["add"](leaf._grad, grad)
        else:
            leaf._grad.add_(grad)

    def _owned(self, leaf: Any, grad: Any) -> Any:
        """Return the gradient; a copy if user code may hold it or its strides differ from the leaf's (see `copied`)."""
        layout, wanted, storage = grad._layout, leaf._layout, grad._storage
        lies_so = layout.strides == wanted.strides if wanted.compact and not wanted.dense else layout.dense
        whole = grad._offset == 0 and lies_so and layout.nbytes == storage.nbytes
        number = identity(storage)
        if not whole or number in self.shared:
            return copied(grad, wanted)
        self.shared.add(number)
        return new_tensor(storage, layout)


def _are_current(streams: dict[int, Stream]) -> bool:
    """Return whether these streams and this device are already current, as for nearly every node."""
    device = thread.current_device()
    if streams is NO_STREAMS or device not in streams:
        return streams is NO_STREAMS
    stream = thread.current_stream(device)
    return streams is stream.alone

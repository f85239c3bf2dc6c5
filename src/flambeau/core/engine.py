"""The backward engine: a loop over ready nodes, no recursion, in the calling thread.

- A node runs once all gradients of its outputs have come, highest number first.
- Around a node, the streams of its forward are current.  A gradient that was made on another stream than its consumer's
  is waited for there, and its memory is kept for that stream.
- At the end, the streams that were current at the call wait for those of the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from ..autograd import anomaly_mode, node_streams
from ..autograd.graph_node import GradientEdge
from ..autograd.node_hooks import after_node, before_node, keep, on_tensors
from ..errors import ArgumentTypeError, AutogradError, DeviceMismatchError, ShapeError, shown
from ..memory_formats import contiguous_format
from ..runtime.stream import Stream
from . import record, thread
from .native import Lock, identity
from .operator import REGISTRY
from .record import NO_STREAMS, AccumulateGrad, Edge, Node
from .tensor import TensorBase, alias_of, empty_tensor, in_graph, new_tensor
from .thread import Thread

NOTHING: tuple[Any, ...] = ()
NOWHERE: dict[int, Stream] = {}  # no stream but the current ones
_accumulating = Lock()  # several threads may run backward into one leaf


class Waiting:
    """A node of one backward pass: made by `_waiting`.

    left: how many edges have still to be gone along;  grads: what came so far, one per output, or None if nothing did.
    is_target: whether its `grads` are asked for, and kept in `captured`;  leads: whether to a target;
    is_needed: one of these.
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
    made: Waiting = Waiting.__new__(Waiting)
    made.node = node
    made.left = 0
    made.grads = made.captured = None
    made.is_needed = made.leads = True
    made.is_target = False
    return made


class GraphTask:
    """One backward pass.  targets: whose gradients are asked for, instead of those of all leaves.

    accumulates: whether gradients are added to `grad` of leaves.  notes: see the function of that name.
    """

    def __init__(self, targets: Sequence[Edge] | None, keep_graph: bool, create_graph: bool, accumulates: bool) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulates = accumulates
        self.targets = targets
        self.notes: dict[Any, Any] | None = None
        self.watch = anomaly_mode.watch() if record.is_observed() else None  # anomaly detection observes new nodes
        self.waiting: dict[Node, Waiting] = {}
        self.next: Waiting | None = None  # the ready node with the highest number, mostly the only one
        self.ready: list[tuple[int, Waiting]] = []  # the others, as a heap
        self.shared: set[int] = set()  # ids of storages that someone else holds too
        self.leaf_streams: dict[int, Stream] = {}  # by handle
        self.moved: dict[Node, dict[int, Stream]] = {}  # the streams of nodes that do not run on their own

    def run(self, roots: Sequence[Edge], grads: Sequence[Any]) -> list[Any]:
        """Send `grads` in at `roots`, and run every node that is needed; the targets' gradients."""
        self._plan([node for node, _ in roots])
        now = thread.here()
        recorded, now.grad_enabled = now.grad_enabled, self.create_graph
        outer, now.task = now.task, self
        try:
            for place, edge in enumerate(roots):
                grad = grads[place]
                self.shared.add(identity(grad.storage))
                self._deliver(self.waiting[edge[0]], edge[1], grad, NOWHERE)
            for waiting in [self.waiting[node] for node in {edge[0] for edge in roots}]:
                if waiting.left == 0 and waiting.is_needed:
                    self._push(waiting)
            while self.next is not None:
                self._run_node(self._popped())
        finally:
            now.grad_enabled = recorded
            now.task = outer
        self._join_leaves()
        return [] if self.targets is None else [self._captured_at(edge) for edge in self.targets]

    def will_run(self, node: Node) -> bool:
        """Whether the pass runs a node, or asks for its gradient."""
        waiting = self.waiting.get(node)
        return waiting is not None and waiting.is_needed

    def _captured_at(self, edge: Edge) -> Any:
        waiting = self.waiting.get(edge[0])
        return None if waiting is None or waiting.captured is None else waiting.captured[edge[1]]

    def _plan(self, roots: Sequence[Node]) -> None:
        """Count what each node waits for, and find the nodes that lead to a target."""
        known = self.waiting
        for root in roots:
            known[root] = _waiting(root)
        found = list(known)
        for each in found:  # which grows meanwhile
            for edge in each.edges:
                if edge is not None:
                    node = edge[0]
                    waiting = known.get(node)
                    if waiting is None:
                        waiting = known[node] = _waiting(node)
                        found.append(node)
                    waiting.left += 1
        if self.targets is not None:
            self._narrow(self.targets)

    def _narrow(self, targets: Sequence[Edge]) -> None:
        """Leave only what leads to a target.  Inputs' nodes have lower numbers, but for leaves, which lead nowhere."""
        inner: list[tuple[int, Waiting]] = []
        for node, each in self.waiting.items():
            each.is_needed = each.leads = False
            if not isinstance(node, AccumulateGrad):
                inner.append((node.number, each))
        for edge in targets:
            target = self.waiting.get(edge[0])
            if target is not None:
                target.is_needed = target.is_target = True
        inner.sort()
        for _, each in inner:
            each.leads = self._leads(each.node)
            each.is_needed = each.is_needed or each.leads

    def _leads(self, node: Node) -> bool:
        for edge in node.edges:  # noqa: SIM110 (compiled, there are no closures)
            if edge is not None and self.waiting[edge[0]].is_needed:
                return True
        return False

    def _push(self, waiting: Waiting) -> None:
        lesser = self.next
        if lesser is None or waiting.node.number > lesser.node.number:
            self.next = waiting
        else:
            lesser = waiting
        if lesser is not None:
            heappush(self.ready, (-lesser.node.number, lesser))

    def _popped(self) -> Waiting:
        first = self.next
        self.next = heappop(self.ready)[1] if self.ready else None
        return first  # type: ignore[return-value]

    def _deliver(self, waiting: Waiting, index: int, grad: Any, made_on: dict[int, Stream]) -> None:
        if not waiting.is_needed:
            return
        node = waiting.node
        if self._streams(node) is not made_on:
            self._order(node, grad, made_on)
        if waiting.grads is None:
            waiting.grads = [None] * node.outputs
        have = waiting.grads[index]
        waiting.grads[index] = grad if have is None else self._add(node, have, grad)

    def _order(self, node: Node, grad: Any, made_on: dict[int, Stream]) -> None:
        """Let the consumer's stream wait for the one on which the gradient was made."""
        device = grad.layout.device.index
        consumer = self._streams(node).get(device)
        if consumer is None:
            return
        producer = made_on.get(device) or thread.current_stream(device)
        if consumer is not producer:
            if isinstance(node, AccumulateGrad):
                node_streams.mismatch(consumer, producer)
            if producer.machine.capture is not None:
                consumer = self._captured(node, consumer, producer)
            consumer.wait_stream(producer)
            grad.storage.record_stream(consumer)

    def _captured(self, node: Node, consumer: Stream, producer: Stream) -> Stream:
        """The stream that takes part in the capture which the producer takes part in."""
        if not producer.is_capturing() or consumer.is_capturing():
            return consumer
        chosen = node_streams.captured(node.name, consumer, producer)
        self.moved[node] = {**self._streams(node), chosen.device_index: chosen}
        return chosen

    def _streams(self, node: Node) -> dict[int, Stream]:
        """The streams on which a node runs in this pass."""
        return self.moved.get(node, node.streams) if self.moved else node.streams

    def _add(self, node: Node, have: Any, more: Any) -> Any:
        now = thread.here()
        former, device = now.streams, now.device
        try:
            _enter(now, self._streams(node))
            return REGISTRY["add"](have, more)
        finally:
            now.streams, now.device = former, device

    def _run_node(self, waiting: Waiting) -> None:
        node, grads = waiting.node, waiting.grads
        waiting.grads = None
        if grads is None:
            grads = [None] * node.outputs
        streams = self._streams(node)
        if _are_current(streams):
            found = self._found(waiting, grads)
        else:
            now = thread.here()
            former, device = now.streams, now.device
            try:
                _enter(now, streams)
                found = self._found(waiting, grads)
            finally:  # no call: a signal handler could raise in it
                now.streams, now.device = former, device
        for place, edge in enumerate(node.edges):
            if edge is not None:
                above = self.waiting[edge[0]]
                grad = found[place]
                if grad is not None:
                    self._deliver(above, edge[1], grad, streams)
                above.left -= 1
                if above.left == 0 and above.is_needed:
                    self._push(above)

    def _found(self, waiting: Waiting, grads: list[Any]) -> Sequence[Any]:
        """What a node answers, its hooks included."""
        node = waiting.node
        hooks = node.hooks
        is_leaf = isinstance(node, AccumulateGrad)
        if is_leaf:
            self._call_leaf_hooks(node, grads)
        if hooks is not None:
            if hooks.of_tensors:
                on_tensors(hooks.of_tensors, grads)
                self._share(grads)
            keep(hooks.kept, grads)
        if waiting.is_target:
            waiting.captured = grads
        if not (self.accumulates if is_leaf else waiting.leads):
            return self._ended(node, hooks, grads)
        if self.watch is not None:
            return self._watched(node, grads)
        return self._apply(node, grads) if hooks is None else self._apply_hooked(node, hooks, grads)

    def _ended(self, node: Node, hooks: Any, grads: list[Any]) -> Sequence[Any]:
        """What a node answers beyond which nothing is needed; with `inputs`, backward runs the nodes of these."""
        nothing = [None] * len(node.edges)
        if not self.accumulates:
            return nothing
        if node.shares:
            return self._apply(node, grads) if hooks is None else self._apply_hooked(node, hooks, grads)
        if hooks is not None:
            if hooks.before:
                grads = before_node(hooks.before, grads)
            if hooks.after:
                after_node(hooks.after, nothing, grads)
        if not self.keep_graph:
            node.release()
        return nothing

    def _call_leaf_hooks(self, node: AccumulateGrad, grads: list[Any]) -> None:
        for stream in self._streams(node).values():
            self.leaf_streams[stream.handle] = stream
        hooks = node.leaf.hooks
        if hooks is not None and hooks.of_gradient:
            on_tensors(hooks.of_gradient, grads)
            self._share(grads)

    def _apply_hooked(self, node: Node, hooks: Any, grads: list[Any]) -> Sequence[Any]:
        if hooks.before:
            grads = before_node(hooks.before, grads)
            self._share(grads)
        found = self._apply(node, grads)
        if hooks.after:
            found = after_node(hooks.after, found, grads)
            self._share(found)
            self._share(grads)
        return found

    def _share(self, grads: Sequence[Any]) -> None:
        """Note gradients that a hook saw, and may keep: they do not become the `grad` of a leaf."""
        self.shared.update([identity(each.storage) for each in grads if each is not None])

    def _watched(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        """As `_apply_hooked`, under anomaly detection."""
        before = self.watch.enter(node)
        try:
            found = self._apply(node, grads) if node.hooks is None else self._apply_hooked(node, node.hooks, grads)
            self.watch.check(node, found)
        except Exception:
            self.watch.report(node)
            raise
        finally:
            self.watch.leave(before)
        return found

    def _apply(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        if isinstance(node, AccumulateGrad):
            if grads[0] is not None:
                self._add_to_leaf(node.leaf, grads[0])
            return NOTHING
        if _are_none(grads) and not node.shares:
            return [None] * len(node.edges)
        found = node.apply(grads)
        if node.shares:
            self._share(found)
        if not self.keep_graph:
            node.release()
        return found

    def _add_to_leaf(self, leaf: Any, grad: Any) -> None:
        if not leaf._requires_grad:  # any more
            return
        _accumulating.acquire()
        try:
            self._accumulate(leaf, grad)
        finally:
            _accumulating.release()
        if leaf.hooks is not None:
            for hook in tuple(leaf.hooks.accumulated.values()):
                hook(leaf)

    def _accumulate(self, leaf: Any, grad: Any) -> None:
        if leaf.grad is None:
            leaf.grad = grad.clone() if self.create_graph else self._owned(leaf, grad)
        elif self.create_graph:
            leaf.grad = REGISTRY["add"](leaf.grad, grad)
        else:
            leaf.grad.add_(grad)

    def _owned(self, leaf: Any, grad: Any) -> Any:
        """The gradient, or a copy if another could see it.  Its strides are the leaf's, if that has no gaps."""
        layout, wanted, storage = grad.layout, leaf.layout, grad.storage
        lies_so = layout.strides == wanted.strides if wanted.compact and not wanted.dense else layout.dense
        whole = grad.offset == 0 and lies_so and layout.nbytes == storage.nbytes
        number = identity(storage)
        if not whole or number in self.shared:
            if wanted.dense or not wanted.compact:
                return grad.detach().clone(memory_format=contiguous_format)
            made = empty_tensor(leaf.shape, leaf.dtype, leaf.device_index)
            return alias_of(made, leaf.shape, wanted.strides, 0).copy_(grad.detach())  # type: ignore[attr-defined]
        self.shared.add(number)
        return new_tensor(storage, layout)

    def _join_leaves(self) -> None:
        for stream in self.leaf_streams.values():
            current = thread.current_stream(stream.device_index)
            if current is not stream:
                current.wait_stream(stream)


def _are_none(grads: list[Any]) -> bool:
    for grad in grads:  # noqa: SIM110 (compiled, there are no closures)
        if grad is not None:
            return False
    return True


def _are_current(streams: dict[int, Stream]) -> bool:
    """Whether nothing need be done to work on these: what nearly every node finds."""
    if streams is NO_STREAMS:
        return True
    device = thread.current_device()
    if device not in streams:
        return False
    stream = thread.current_stream(device)
    return streams is stream.alone


def _enter(now: Thread, streams: dict[int, Stream]) -> None:
    """Make streams current, and the device of the first of them, until the caller puts the former list back."""
    now.streams = list(now.streams)
    for stream in streams.values():
        thread.set_stream(stream)
    for device in streams:
        now.device = device
        break


def current_task() -> Any:
    """The innermost backward pass that runs in this thread, None outside of any."""
    return thread.here().task


def notes(owner: Any) -> Any:
    """A dictionary of one owner's, a hook's for instance, that is kept during the pass that runs; None outside."""
    task = current_task()
    if task is None:
        return None
    if task.notes is None:
        task.notes = {}
    return task.notes.setdefault(owner, {})


def initial_grads(name: str, outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradients that a pass starts with: ones for scalars.

    Raises: AutogradError; for a gradient that is given, ArgumentTypeError, ShapeError or DeviceMismatchError.
    """
    if len(grads) != len(outputs):
        raise AutogradError(
            f"got {len(outputs)} tensors and {len(grads)} gradients",
            hint="give one, or None, for each tensor",
            operator=name,
        )
    result = []
    for place, output in enumerate(outputs):
        grad = grads[place]
        if isinstance(output, GradientEdge):
            result.append(_grad_of_edge(name, grad, output))
            continue
        if not isinstance(output, TensorBase):
            raise ArgumentTypeError(
                f"element {place} of tensors must be a Tensor, got {shown(output)}",
                hint="give what was computed, such as a loss",
                operator=name,
            )
        if not in_graph(output):
            raise AutogradError(
                f"element {place} of tensors does not require grad and does not have a grad_fn: {output.describe()}",
                hint="set requires_grad=True on an input, and do not compute it under no_grad()",
                operator=name,
            )
        if grad is None and output.numel() != 1:
            raise AutogradError(
                f"grad can be implicitly created only for scalar outputs, not for {output.describe()}",
                hint="reduce the output, for example output.sum().backward(), or pass a gradient of its shape",
                operator=name,
            )
        if grad is not None:
            _check_given(name, grad, output)
        result.append(_one_like(output) if grad is None else grad)
    return result


def _grad_of_edge(name: str, grad: Any, edge: Any) -> Any:
    """The gradient that a pass starts with at a gradient edge.  Raises: AutogradError."""
    if grad is None:
        made_of = edge.made_of
        if made_of is None or made_of[0].numel != 1:
            raise AutogradError(
                f"grad can be implicitly created only for scalar outputs, not for an edge of {edge.node!r}",
                hint="pass a gradient of the shape of the edge's tensor",
                operator=name,
            )
        layout, device = made_of
        return empty_tensor(layout.shape, layout.dtype, device).fill_(1)  # type: ignore[attr-defined]
    if not isinstance(grad, TensorBase):
        raise ArgumentTypeError(
            f"a gradient is a tensor or None, not {shown(grad)}", hint="as in torch.ones_like(output)", operator=name
        )
    return grad


def _check_given(name: str, grad: Any, output: Any) -> None:
    if not isinstance(grad, TensorBase):
        raise ArgumentTypeError(
            f"a gradient is a tensor or None, not {shown(grad)}", hint="as in torch.ones_like(output)", operator=name
        )
    if grad.shape != output.shape:
        raise ShapeError(
            f"the gradient has shape {list(grad.shape)}, the output {list(output.shape)}",
            hint="make it with torch.ones_like(output)",
            operator=name,
        )
    if grad.layout.device.index != output.layout.device.index:
        raise DeviceMismatchError(
            f"the gradient is {grad.describe()}, the output {output.describe()}",
            hint="move the gradient to the device of the output",
            operator=name,
        )


def _one_like(output: Any) -> Any:
    fill, like = REGISTRY["fill"], new_tensor(output.storage, output.layout, output.offset)
    return fill.run((like, 1))  # as an operand it is not read

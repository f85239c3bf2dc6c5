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

from .. import core
from ..errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ShapeError, shown
from ..lock import Lock
from ..memory_formats import contiguous_format
from ..ops.operator import REGISTRY
from ..runtime import state
from ..runtime.stream import Stream
from . import graph
from .node import NO_STREAMS, AccumulateGrad, Edge, Node

NOTHING: tuple[Any, ...] = ()
NOWHERE: dict[int, Stream] = {}  # no stream but the current ones
globals()["_id"] = id  # compiled, the name is that of a function in C: see the .pxd
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
    """One backward pass.  targets: whose gradients are asked for, instead of those of all leaves."""

    def __init__(self, targets: Sequence[Edge] | None, keep_graph: bool, create_graph: bool) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.targets = targets
        self.waiting: dict[Node, Waiting] = {}
        self.next: Waiting | None = None  # the ready node with the highest number, mostly the only one
        self.ready: list[tuple[int, Waiting]] = []  # the others, as a heap
        self.shared: set[int] = set()  # ids of storages that someone else holds too
        self.leaf_streams: dict[int, Stream] = {}  # by handle
        self.moved: dict[Node, dict[int, Stream]] = {}  # the streams of nodes that do not run on their own

    def run(self, roots: Sequence[Edge], grads: Sequence[Any]) -> list[Any]:
        """Send `grads` in at `roots`, and run every node that is needed; the targets' gradients."""
        self._plan([node for node, _ in roots])
        thread = state.here()
        recorded, thread.grad_enabled = thread.grad_enabled, self.create_graph
        try:
            for place, edge in enumerate(roots):
                grad = grads[place]
                self.shared.add(_id(grad.storage))  # type: ignore[name-defined]  # noqa: F821
                self._deliver(self.waiting[edge[0]], edge[1], grad, NOWHERE)
            for waiting in [self.waiting[node] for node in {edge[0] for edge in roots}]:
                if waiting.left == 0 and waiting.is_needed:
                    self._push(waiting)
            while self.next is not None:
                self._run_node(self._popped())
        finally:
            thread.grad_enabled = recorded
        self._join_leaves()
        return [] if self.targets is None else [self._captured_at(edge) for edge in self.targets]

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
        device = grad.storage.device
        consumer = self._streams(node).get(device)
        if consumer is None:
            return
        producer = made_on.get(device) or state.current_stream(device)
        if consumer is not producer:
            if isinstance(node, AccumulateGrad):
                graph.mismatch(consumer, producer)
            if producer.machine.capture is not None:
                consumer = self._captured(node, consumer, producer)
            consumer.wait_stream(producer)
            grad.storage.record_stream(consumer)

    def _captured(self, node: Node, consumer: Stream, producer: Stream) -> Stream:
        """The stream that takes part in the capture which the producer takes part in."""
        if not producer.is_capturing() or consumer.is_capturing():
            return consumer
        chosen = graph.captured(node.name, consumer, producer)
        self.moved[node] = {**self._streams(node), chosen.device_index: chosen}
        return chosen

    def _streams(self, node: Node) -> dict[int, Stream]:
        """The streams on which a node runs in this pass."""
        return self.moved.get(node, node.streams) if self.moved else node.streams

    def _add(self, node: Node, have: Any, more: Any) -> Any:
        former = _enter(self._streams(node))
        try:
            return REGISTRY["add"](have, more)
        finally:
            _leave(*former)

    def _run_node(self, waiting: Waiting) -> None:
        node, grads = waiting.node, waiting.grads
        waiting.grads = None
        if grads is None:
            grads = [None] * node.outputs
        streams = self._streams(node)
        if _are_current(streams):
            found = self._found(waiting, grads)
        else:
            former = _enter(streams)
            try:
                found = self._found(waiting, grads)
            finally:
                _leave(*former)
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
        if node.pre_hooks:
            _call_hooks(node.pre_hooks, grads)
        if waiting.is_target:
            waiting.captured = grads
        if not waiting.leads and not isinstance(node, AccumulateGrad):
            return [None] * len(node.edges)
        return self._apply(node, grads)

    def _apply(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        if isinstance(node, AccumulateGrad):
            for stream in self._streams(node).values():
                self.leaf_streams[stream.handle] = stream
            if self.targets is None and grads[0] is not None:
                _accumulating.acquire()
                try:
                    self._accumulate(node.leaf, grads[0])
                finally:
                    _accumulating.release()
            return NOTHING
        if _are_none(grads):
            return [None] * len(node.edges)
        found = node.apply(grads)
        if node.shares:
            self.shared.update([_id(each.storage) for each in found if each is not None])  # type: ignore[name-defined]  # noqa: F821
        if not self.keep_graph:
            node.release()
        return found

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
        number = _id(storage)  # type: ignore[name-defined]  # noqa: F821
        if not whole or number in self.shared:
            if wanted.dense or not wanted.compact:
                return grad.detach().clone(memory_format=contiguous_format)
            made = core.empty(leaf.shape, leaf.dtype, leaf.storage.device)
            return core.alias(made, leaf.shape, wanted.strides, 0).copy_(grad.detach())  # type: ignore[attr-defined]
        self.shared.add(number)
        return core.new(storage, layout)

    def _join_leaves(self) -> None:
        for stream in self.leaf_streams.values():
            current = state.current_stream(stream.device_index)
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
    device = state.current_device()
    if device not in streams:
        return False
    stream = state.current_stream(device)
    return streams is stream.alone


def _enter(streams: dict[int, Stream]) -> tuple[int, list[Stream]]:
    """Make streams current, and the device of the first of them; the device and the streams that were."""
    former_device, former = state.current_device(), []
    for device, stream in streams.items():
        before = state.current_stream(device)
        if before is not stream:
            former.append(before)
            state.set_stream(stream)
    for device in streams:
        if device != former_device:
            state.set_device(device)
        break
    return former_device, former


def _leave(former_device: int, former: list[Stream]) -> None:
    for stream in former:
        state.set_stream(stream)
    state.set_device(former_device)


def _call_hooks(called: Sequence[tuple[int, Any]], grads: list[Any]) -> None:
    for index, hook in called:
        if grads[index] is not None:
            changed = hook(grads[index])
            if changed is not None:
                _check_changed(changed, grads[index])
                grads[index] = changed


def _check_changed(changed: Any, grad: Any) -> None:
    """Raise ArgumentTypeError, ShapeError, DtypeError or DeviceMismatchError for what a hook may not return."""
    if not isinstance(changed, core.TensorCore):
        raise ArgumentTypeError(
            f"register_hook: the hook returned {shown(changed)} for a gradient, {grad.describe()}",
            hint="return a tensor like it, or None to leave it as it is",
        )
    if changed.layout is grad.layout and changed.storage.device == grad.storage.device:
        return
    fact = f"register_hook: the hook returned {changed.describe()} for a gradient, {grad.describe()}"
    if changed.shape != grad.shape:
        raise ShapeError(fact, hint="return a tensor of the same shape")
    if changed.dtype is not grad.dtype:
        raise DtypeError(fact, hint=f"convert it with .to({grad.dtype})")
    if changed.storage.device != grad.storage.device:
        raise DeviceMismatchError(fact, hint=f'move it with .to("{grad.device}")')


def initial_grads(name: str, outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradients that a pass starts with: ones for scalars.

    Raises: AutogradError; for a gradient that is given, ArgumentTypeError, ShapeError or DeviceMismatchError.
    """
    if len(grads) != len(outputs):
        raise AutogradError(
            f"{name}: got {len(outputs)} tensors and {len(grads)} gradients", hint="give one, or None, for each tensor"
        )
    result = []
    for place, output in enumerate(outputs):
        grad = grads[place]
        if not isinstance(output, core.TensorCore):
            raise ArgumentTypeError(
                f"{name}: element {place} of tensors must be a Tensor, got {shown(output)}",
                hint="give what was computed, such as a loss",
            )
        if not core.in_graph(output):
            raise AutogradError(
                f"{name}: element {place} of tensors does not require grad and does not have a grad_fn: "
                f"{output.describe()}",
                hint="set requires_grad=True on an input, and do not compute it under no_grad()",
            )
        if grad is None and output.numel() != 1:
            raise AutogradError(
                f"{name}: grad can be implicitly created only for scalar outputs, not for {output.describe()}",
                hint="reduce the output, for example output.sum().backward(), or pass a gradient of its shape",
            )
        if grad is not None:
            _check_given(name, grad, output)
        result.append(_one_like(output) if grad is None else grad)
    return result


def _check_given(name: str, grad: Any, output: Any) -> None:
    if not isinstance(grad, core.TensorCore):
        raise ArgumentTypeError(
            f"{name}: a gradient is a tensor or None, not {shown(grad)}", hint="as in torch.ones_like(output)"
        )
    if grad.shape != output.shape:
        raise ShapeError(
            f"{name}: the gradient has shape {list(grad.shape)}, the output {list(output.shape)}",
            hint="make it with torch.ones_like(output)",
        )
    if grad.storage.device != output.storage.device:
        raise DeviceMismatchError(
            f"{name}: the gradient is {grad.describe()}, the output {output.describe()}",
            hint="move the gradient to the device of the output",
        )


def _one_like(output: Any) -> Any:
    fill, like = REGISTRY["fill"], core.new(output.storage, output.layout, output.offset)
    return fill.run((like, 1))  # as an operand it is not read

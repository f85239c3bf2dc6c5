"""torch.autograd.graph: nodes and edges of the gradient graph, and hooks on saved tensors."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import transfer
from ..core import record
from ..core.locks import whole
from ..core.native import Lock
from ..core.record import Saved
from ..core.tensor import TensorBase, watchers
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, shown
from ..importer import listing
from .gradients import current_task, notes
from .graph_node import GradientEdge, Node, face_of, observe
from .node_hooks import RemovableHandle, add, hooks_of, leaf_hooks, pack
from .node_streams import set_override_stale_capture_stream, set_warn_on_accumulate_grad_stream_mismatch

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]
__dir__ = listing(globals())


# hooks on saved tensors


class _Choices(threading.local):
    """A thread's settings for saved tensors.

    hooks: (pack, unpack) pairs, the innermost last.  refusal: the error text where hooks are disabled, or None.
    is_mutable: whether saved tensors may be written.
    """

    def __init__(self) -> None:
        self.is_mutable = False
        self.hooks: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []
        self.refusal: str | None = None


_choices = _Choices()
_open = 0  # number of hooks set in all threads
_counting = Lock()


def _count(change: int) -> None:
    global _open
    with _counting:
        _open += change
        observe(_pack_of_node, _open > 0)


def _pack_of_node(node: Any, saved: Any) -> None:
    """Pack the tensors that a new node saved (see graph_node.observe)."""
    pack_saved(saved)


def pack_saved(saved: Any) -> None:
    """Pack saved tensors with the innermost hooks of this thread."""
    if _choices.hooks:
        _pack_all(saved, *_choices.hooks[-1])


def _pack_all(saved: Any, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
    for value in saved:
        if isinstance(value, Saved):
            pack(value, pack_hook, unpack_hook)
        elif isinstance(value, (list, tuple)):
            _pack_all(value, pack_hook, unpack_hook)


class saved_tensors_hooks:  # noqa: N801
    """A context in which each tensor saved for backward is replaced by the result of pack_hook.

    pack_hook: called with the tensor when it is saved; it must not write to the tensor.
    unpack_hook: called in backward with the result of pack_hook; returns a tensor like the saved one.
    Raises: AutogradError where hooks are disabled.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.tolist(), torch.tensor):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        depth = len(_choices.hooks)
        try:
            _push(self.pack_hook, self.unpack_hook)
        except BaseException:  # a signal handler may raise after the change, before `__exit__` would run
            _pop(depth)
            raise

    @whole
    def __exit__(self, *error: object) -> None:
        _pop(len(_choices.hooks) - 1)


@whole
def _push(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    if _choices.refusal is not None:
        raise AutogradError(
            f"{_choices.refusal}",
            hint="leave the disable_saved_tensors_hooks context first",
            operator="saved_tensors_hooks",
        )
    _choices.hooks.append((pack, unpack))
    _count(1)


@whole
def _pop(depth: int) -> None:
    """Remove the hooks beyond the first `depth`."""
    while len(_choices.hooks) > depth:
        _choices.hooks.pop()
        _count(-1)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """A context in which tensors saved for backward are kept on the CPU, and copied back in backward.

    pin_memory: keep them in pinned memory, with copies that the host does not wait for.
    device_type: the device type that memory is pinned for; only "cuda".
    Raises: ArgumentError for any other device_type.
    Example:
        >>> x = torch.ones(2, device="cuda", requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.], device='cuda:0')
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if device_type != "cuda":
            raise ArgumentError(
                f'device_type must be "cuda", got {device_type!r}', hint="leave it out", operator="save_on_cpu"
            )

        def pack(tensor: Any) -> tuple[int, Any]:
            device = tensor.device_index
            return device, tensor if device < 0 else transfer.to_device(tensor, -1, pin_memory)

        def unpack(packed: tuple[int, Any]) -> Any:
            device, tensor = packed
            return tensor if device < 0 else transfer.to_device(tensor, device, pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Return a context in which setting hooks on saved tensors is an error with the text `error_message`.

    Raises: AutogradError where such hooks are already set.
    Example:
        >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
        ...     try:
        ...         with torch.autograd.graph.save_on_cpu():
        ...             pass
        ...     except RuntimeError as error:
        ...         print("no hooks here" in str(error))
        True
    """
    if _choices.hooks:
        raise AutogradError(
            f"{error_message}",
            hint="leave the context of the saved-tensor hooks first",
            operator="disable_saved_tensors_hooks",
        )
    former, _choices.refusal = _choices.refusal, error_message
    try:
        yield
    finally:
        _choices.refusal = former


# writes to saved tensors


class _Kept:
    """A saved tensor that may be written: its memory, or a copy made before the first write."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class _Mutations:
    """The saved tensors of one `allow_mutation_on_saved_tensors`.  original: those not written yet, by storage."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.original: weakref.WeakKeyDictionary[Any, weakref.WeakSet[_Kept]] = weakref.WeakKeyDictionary()
        self.is_open = True

    def pack(self, tensor: Any) -> _Kept:
        kept = _Kept(tensor)
        self.original.setdefault(tensor._storage, weakref.WeakSet()).add(kept)
        return kept

    def unpack(self, kept: _Kept) -> Any:
        if not self.is_open:
            raise AutogradError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the "
                "graph was originally recorded",
                hint="call backward inside of the context",
                operator="backward",
            )
        return kept.tensor

    def before_write(self, target: TensorBase) -> None:
        """Copy the saved tensors whose memory is about to be written."""
        if threading.get_ident() != self.thread:
            return
        for kept in self.original.pop(target._storage, ()):
            kept.tensor = transfer.dense_copy(kept.tensor, kept.tensor.dtype)

    def clear(self) -> None:
        """Forget the saved tensors, so that later writes copy nothing."""
        self.original.clear()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutations]:
    """Return a context in which tensors saved for backward may be written in place; the write copies them first.

    Backward through a graph recorded inside must run inside, too.
    Memory: a copy of each saved tensor whose memory is written.
    Raises: AutogradError inside of another such context.
    Example:
        >>> x = torch.tensor([2.0], requires_grad=True)
        >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     z = y * y
        ...     _ = y.fill_(0)
        ...     z.backward()
        >>> x.grad
        tensor([4.])
    """
    if _choices.is_mutable:
        raise AutogradError(
            "allow_mutation_on_saved_tensors contexts cannot be nested",
            hint="remove the inner one",
            operator="allow_mutation_on_saved_tensors",
        )
    mutations, depth = _Mutations(), len(_choices.hooks)
    try:
        _push(mutations.pack, mutations.unpack)
        _choices.is_mutable = True
        watchers.append(mutations.before_write)
        yield mutations
    finally:
        _end(mutations, depth)


@whole
def _end(mutations: _Mutations, depth: int) -> None:
    if mutations.before_write in watchers:
        watchers.remove(mutations.before_write)
    _choices.is_mutable = False
    _pop(depth)
    mutations.is_open = False
    mutations.clear()


# edges and hooks


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the edge that a tensor's gradient goes to; `backward` and `grad` accept it in place of the tensor.

    Raises: AutogradError if the tensor requires no gradient.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> edge = torch.autograd.graph.get_gradient_edge(x * 3)
        >>> torch.autograd.grad(edge, x, torch.ones(2))
        (tensor([3., 3.]),)
    """
    edge = record.edge_of(tensor) if isinstance(tensor, TensorBase) else None
    if edge is None:
        raise AutogradError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            f"gradients: {tensor.describe() if isinstance(tensor, TensorBase) else shown(tensor)}",
            hint="call requires_grad_() on it first",
            operator="get_gradient_edge",
        )
    public_edge = GradientEdge(face_of(edge[0]), edge[1])
    public_edge.made_of = tensor._layout, tensor.device_index
    return public_edge


def increment_version(tensor: Any) -> None:
    """Increment the version counter of one tensor, or of several, as a write in place does.

    Use it after a write that autograd did not see; backward then raises an error for values saved before the write.
    Raises: AutogradError if an argument is neither a tensor nor an iterable of tensors.
    Example:
        >>> x = torch.zeros(2)
        >>> torch.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    several = (tensor,) if isinstance(tensor, TensorBase) or not isinstance(tensor, Iterable) else tuple(tensor)
    for written in several:
        if not isinstance(written, TensorBase):
            raise AutogradError(
                f"expected a tensor or an iterable of tensors, got {shown(written)}",
                hint="pass the tensors that were written",
                operator="increment_version",
            )
    for written in several:
        written._counter.version += 1


def register_gradient_hook(name: str, tensor: TensorBase, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call `hook` with a tensor's gradient in backward.  Raises: AutogradError if the tensor requires none."""
    edge = record.edge_of(tensor) if tensor._grad_fn is not None or not tensor._requires_grad else None
    if edge is None and tensor.requires_grad:  # a leaf, or a view made without recording
        if tensor._base is not None:
            record.edge_of(tensor)  # raises if the base was written since
        return add(leaf_hooks(tensor).of_gradient, (0, hook))
    if edge is None:
        raise AutogradError(
            f"cannot register a hook on a tensor that doesn't require gradient: {tensor.describe()}",
            hint="call requires_grad_() on it, or on the tensors it is computed from",
            operator=name,
        )
    return add(hooks_of(edge[0]).of_tensors, (edge[1], hook))


class _Handles(RemovableHandle):
    """Removes several hooks."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        super().__init__(OrderedDict())
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.id, self._handles

    def __setstate__(self, stored: Any) -> None:
        self.id, self._handles = stored


class _MultiHook:
    """Collects the gradients of several tensors in each backward pass, and calls a function."""

    def __init__(self, tensors: Sequence[TensorBase], call: Callable[..., None], mode: str) -> None:
        self.nodes = [_node_reference(tensor) for tensor in tensors]
        self.call = call
        self.mode = mode

    def hook(self, index: int) -> Callable[[Any], None]:
        def on_gradient(grad: Any) -> None:
            self.take(index, grad)

        return on_gradient

    def take(self, index: int, grad: Any) -> None:
        """Store a gradient; call the function after the last one of this pass, or after the first one in mode "any"."""
        task = current_task()
        seen = notes(self)
        seen[index] = grad
        if self.mode == "any":
            if len(seen) == 1:
                self.call(grad)
            return
        nodes = [find() for find in self.nodes]
        if len(seen) == sum(node is not None and task.will_run(node) for node in nodes):
            self.call([seen.get(position) for position in range(len(nodes))])


def _node_reference(tensor: TensorBase) -> Callable[[], Any]:
    """Return a function that returns the node of a tensor's gradient, or None.  It adds no node to an unused leaf."""
    if tensor._grad_fn is None and tensor._requires_grad:
        leaf = weakref.ref(tensor)

        def find() -> Any:
            tensor = leaf()
            return None if tensor is None or tensor._accumulator is None else tensor._accumulator()

        return find
    edge = record.edge_of(tensor)
    return (lambda: None) if edge is None else weakref.ref(edge[0])


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., None], *, mode: str = "all") -> RemovableHandle:
    """Call a function once per backward pass, with the gradients of several tensors; return a handle to remove it.

    mode: "all" calls fn(grads) when the pass has computed the last of them, None for those that it does not compute;
    "any" calls fn(grad) with the first one.
    Raises: ArgumentError for any other mode, ArgumentTypeError if `fn` is not a function, AutogradError for a tensor
            that requires no gradient.
    Example:
        >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        >>> handle = torch.autograd.graph.register_multi_grad_hook([x, y], print)
        >>> (2 * x + 3 * y).sum().backward()
        [tensor([2.]), tensor([3.])]
    """
    name = "register_multi_grad_hook"
    if mode not in ("all", "any"):
        raise ArgumentError(
            f"Expects mode to be one of ('all', 'any') but got {mode!r}", hint="leave it out", operator=name
        )
    if not callable(fn):
        raise ArgumentTypeError(f"fn must be a function, got {shown(fn)}", hint="pass a function", operator=name)
    for tensor in tensors:
        if not isinstance(tensor, TensorBase) or not tensor.requires_grad:
            raise AutogradError(
                f"cannot register a hook on a value that doesn't require gradient: {shown(tensor)}",
                hint="call requires_grad_() on it first",
                operator=name,
            )
    hooks = _MultiHook(tensors, fn, mode)
    pairs = enumerate(tensors)
    return _Handles([register_gradient_hook(name, tensor, hooks.hook(index)) for index, tensor in pairs])

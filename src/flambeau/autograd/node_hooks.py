"""Hooks of nodes and of leaves: functions that backward calls with gradients; hooks of saved tensors; observers.

The order at a node is: hooks of its output tensors, `retain_grad`, the node's own pre-hooks, the node, its post-hooks.
A leaf's hooks belong to the tensor, not to its AccumulateGrad node.  Observers are called with each new node and its
saved values (graph_node.observe).
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..core.tensor import TensorBase, alias_of, new_tensor
from ..errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ShapeError, shown
from ..runtime import device as devices
from .mode import GradMode

Hook = Callable[..., Any]


class NodeHooks:
    """Hooks of one node, and its metadata for users.

    of_tensors: (index of the output, hook) by handle.  kept: (index of the output, weak reference to a tensor that
    retains its gradient).  before, after: the node's own, by handle.
    """

    __slots__ = ("after", "before", "kept", "metadata", "of_tensors")

    def __init__(self) -> None:
        self.of_tensors: OrderedDict[int, tuple[int, Hook]] = OrderedDict()
        self.kept: list[tuple[int, weakref.ref[Any]]] = []
        self.before: OrderedDict[int, Hook] = OrderedDict()
        self.after: OrderedDict[int, Hook] = OrderedDict()
        self.metadata: dict[Any, Any] = {}


class LeafHooks:
    """Hooks of a leaf.  of_gradient: as `NodeHooks.of_tensors`;  accumulated: called with the leaf, by handle."""

    __slots__ = ("accumulated", "of_gradient")

    def __init__(self) -> None:
        self.of_gradient: OrderedDict[int, tuple[int, Hook]] = OrderedDict()
        self.accumulated: OrderedDict[int, Hook] = OrderedDict()


def hooks_of(node: Any) -> NodeHooks:
    """Return the hooks of a node; make them if there are none yet."""
    if node.hooks is None:
        node.hooks = NodeHooks()
    hooks: NodeHooks = node.hooks
    return hooks


def leaf_hooks(leaf: Any) -> LeafHooks:
    """Return the hooks of a leaf; make them if there are none yet."""
    if leaf._hooks is None:
        leaf._hooks = LeafHooks()
    hooks: LeafHooks = leaf._hooks
    return hooks


def add(hooks: OrderedDict[int, Any], entry: Any) -> RemovableHandle:
    """Append an entry; the handle removes it."""
    devices.unmirror("a hook was registered")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = entry
    return handle


def move_kept(tensor: TensorBase, old: Any, node: Any, index: int) -> None:
    """Move the entry of a tensor that retains its gradient: it is now output `index` of `node`."""
    if old is not None and old.hooks is not None:
        old.hooks.kept = [entry for entry in old.hooks.kept if entry[1]() is not tensor]
    hooks_of(node).kept.append((index, weakref.ref(tensor)))


# called by the engine


def on_tensors(hooks: OrderedDict[int, tuple[int, Hook]], grads: list[Any]) -> None:
    """Call hooks of tensors, which may replace gradients in `grads`."""
    for index, hook in tuple(hooks.values()):
        changed = hook(grads[index])
        if changed is not None:
            check_changed(changed, grads[index])
            grads[index] = changed


def on_outputs(task: Any, hooks: NodeHooks, grads: list[Any]) -> None:
    """Call the hooks of a node's output tensors, and keep the gradients of those that retain theirs."""
    if hooks.of_tensors:
        on_tensors(hooks.of_tensors, grads)
        task.share(grads)
    keep(hooks.kept, grads)


def keep(kept: Sequence[tuple[int, Any]], grads: Sequence[Any]) -> None:
    """Add gradients to the `grad` of the tensors that retain theirs."""
    for index, reference in kept:
        tensor, grad = reference(), grads[index]
        if tensor is not None and grad is not None:
            tensor.grad = grad.clone() if tensor.grad is None else tensor.grad + grad


def apply_hooked(task: Any, node: Any, grads: list[Any]) -> Sequence[Any]:
    """Run a node between its own pre-hooks and post-hooks."""
    hooks: NodeHooks = node.hooks
    if hooks.before:
        grads = before_node(hooks.before, grads)
        task.share(grads)
    input_grads: Sequence[Any] = task.apply_bare(node, grads)
    if hooks.after:
        input_grads = after_node(hooks.after, input_grads, grads)
        task.share(input_grads)
        task.share(grads)
    return input_grads


def before_node(hooks: OrderedDict[int, Hook], grads: list[Any]) -> list[Any]:
    """Call a node's pre-hooks; return the gradients that the node runs on."""
    for hook in tuple(hooks.values()):
        grads = _replaced("register_prehook", hook(tuple(grads)), grads)
    return grads


def after_node(hooks: OrderedDict[int, Hook], results: Sequence[Any], grads: Sequence[Any]) -> Sequence[Any]:
    """Call a node's post-hooks; return the gradients that the node passes on."""
    for hook in tuple(hooks.values()):
        results = _replaced("register_hook", hook(tuple(results), tuple(grads)), results)
    return results


def end_at(task: Any, node: Any, grads: list[Any]) -> Sequence[Any]:
    """Return the input gradients of a node at which the pass ends; they are not needed further.

    With `backward(inputs=...)`, its hooks and the node of a user's Function still run; with `grad`, nothing does.
    """
    hooks = node.hooks
    nothing = [None] * len(node.edges)
    if not task.accumulates:
        return nothing
    if node.shares:
        gradients: Sequence[Any] = task.apply_node(node, grads)
        return gradients
    if hooks is not None:
        if hooks.before:
            grads = before_node(hooks.before, grads)
        if hooks.after:
            after_node(hooks.after, nothing, grads)
    if not task.keep_graph:
        node.release()
    return nothing


def _replaced(called: str, changed: Any, grads: Any) -> Any:
    if changed is None:
        return grads
    if not isinstance(changed, tuple):
        raise ArgumentTypeError(
            f"expected tuple, but the hook returned {type(changed).__name__}: {shown(changed)}",
            hint="return one gradient, or None, for each that the hook was given, or None to leave all as they are",
            operator=called,
        )
    if len(changed) != len(grads):
        raise AutogradError(
            f"the hook has returned an incorrect number of values (got {len(changed)}, but expected {len(grads)})",
            hint="return one gradient, or None, for each that the hook was given",
            operator=called,
        )
    for new, old in zip(changed, grads):
        if new is not None and old is not None:
            check_changed(new, old)
    return list(changed)


def check_changed(changed: Any, grad: Any) -> None:
    """Raise ArgumentTypeError, AutogradError, ShapeError, DtypeError or DeviceMismatchError for a hook's result."""
    now = "None" if grad is None else grad.describe()
    if not isinstance(changed, TensorBase):
        raise ArgumentTypeError(
            f"the hook returned {shown(changed)} for a gradient, {now}",
            hint="return a tensor like it, or None to leave it as it is",
            operator="register_hook",
        )
    fact = f"the hook returned {changed.describe()} for a gradient, {now}"
    if grad is None:
        raise AutogradError(
            fact, operator="register_hook", hint="a gradient that is None cannot be replaced: return None"
        )
    if changed._layout is grad._layout and changed.device_index == grad.device_index:
        return
    if changed.shape != grad.shape:
        raise ShapeError(fact, operator="register_hook", hint="return a tensor of the same shape")
    if changed.dtype is not grad.dtype:
        raise DtypeError(fact, operator="register_hook", hint=f"convert it with .to({grad.dtype})")
    if changed.device_index != grad.device_index:
        raise DeviceMismatchError(fact, operator="register_hook", hint=f'move it with .to("{grad.device}")')


_ids = itertools.count()


def original(saved: Any) -> TensorBase | None:
    """Return the very tensor that was saved, a leaf or what a Function saved; None if it is unknown or has changed."""
    if saved.storage is None:
        return None
    leaf = None if saved.edge is None else getattr(saved.edge[0], "leaf", None)
    tensor: TensorBase | None = saved.packed if leaf is None else leaf
    if tensor is None or tensor._storage is not saved.storage or tensor._layout is not saved.layout:
        return None
    return tensor if tensor._offset == saved.offset and _is_at(tensor, saved.edge) else None


def unpacked(saved: Any, name: str, own: Any) -> TensorBase:
    """Return a saved tensor as `Saved.unpack` does, but the very tensor that was saved where it is known."""
    tensor: TensorBase = saved.unpack(name, own)
    known = original(saved)
    return tensor if known is None else known


def _is_at(tensor: TensorBase, edge: Any) -> bool:
    """Return whether a tensor's gradient still goes to an edge."""
    if edge is None or tensor._grad_fn is None:
        return tensor.requires_grad is (edge is not None)
    return tensor._grad_fn is edge[0] and tensor._output_index == edge[1]


def pack(saved: Any, pack_hook: Hook, unpack_hook: Hook) -> None:
    """Save the result of pack_hook in place of a saved tensor.  Raises: AutogradError if the hook writes the tensor."""
    if saved.storage is None:
        raise AutogradError(
            "Calling register_hooks on a saved tensor whose hooks have already been set",
            hint="register them once, outside of saved_tensors_hooks",
            operator="register_hooks",
        )
    tensor = original(saved)
    if tensor is None:
        tensor = new_tensor(saved.storage, saved.layout, saved.offset)
        tensor._counter = saved.counter
    with GradMode(False):
        value = pack_hook(tensor)
    if tensor._counter.version != saved.version:
        raise AutogradError(
            f"a saved tensor pack hook is modifying its input in place: {tensor.describe()}",
            hint="modify a clone() of it",
            operator="saved_tensors_hooks",
        )
    saved.storage, saved.counter, saved.packed = None, None, partial(_unpacked, unpack_hook, value)


def _unpacked(unpack_hook: Hook, value: Any, name: str) -> TensorBase:
    """Return the saved tensor of a packed value.  name: the node's, for an error."""
    tensor = unpack_hook(value)
    if not isinstance(tensor, TensorBase):
        raise ArgumentTypeError(
            f"a saved tensor unpack hook must return a Tensor, got {shown(tensor)}",
            hint="return the tensor that the pack hook was given, or one like it",
            operator=name,
        )
    return alias_of(tensor, tensor.shape, tensor.strides, tensor._offset)


class RemovableHandle:
    """Handle that removes a registered hook by `remove()`, or at the end of a `with` block.

    id: the hook's key in `hooks_dict`, an OrderedDict, which the handle references weakly.
    extra_dict: a dictionary, or a list of them, from which the key is removed too.
    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> with x.register_hook(lambda grad: grad * 10):
        ...     (x * 2).backward()
        >>> x.grad
        tensor([20.])
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref: tuple[Any, ...] = tuple(weakref.ref(dictionary) for dictionary in extra)

    def remove(self) -> None:
        """Remove the hook; do nothing if it has been removed already.

        Example:
            >>> x = torch.ones(1, requires_grad=True)
            >>> handle = x.register_hook(lambda grad: grad * 10)
            >>> handle.remove()
            >>> (x * 2).backward()
            >>> x.grad
            tensor([2.])
        """
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = None if reference is None else reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        references = (self.hooks_dict_ref, *self.extra_dict_ref)
        return self.id, tuple(None if reference is None else reference() for reference in references)

    def __setstate__(self, stored: tuple[Any, ...]) -> None:
        self.id, (hooks, *extra) = stored
        self.hooks_dict_ref = None if hooks is None else weakref.ref(hooks)
        self.extra_dict_ref = tuple(None if dictionary is None else weakref.ref(dictionary) for dictionary in extra)


observers: list[Callable[[Any, Any], None]] = []


def is_observed() -> bool:
    """Return whether there is any observer."""
    return bool(observers)


def observed(node: Any, saved: Any) -> None:
    """Call the observers with a new node and its saved values."""
    for observer in tuple(observers):
        observer(node, saved)

"""Public objects of the gradient graph: `grad_fn` nodes, named after their operators, edges, and observers."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..core.binding import Need
from ..core.call_errors import freed
from ..core.native import Lock
from ..core.operator import FACT, OUT, VALUE
from ..core.record import AccumulateGrad, OperatorNode, Saved, edge_of
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, shown
from ..runtime import device as devices
from .node_hooks import RemovableHandle, add, hooks_of, observers, pack, unpacked

CONSTANTS = {"condition", "index", "indices", "mask", "pos_weight", "target"}  # kinds of operands without a gradient
_observing = Lock()
SAVED, RAW = "_saved_", "_raw_saved_"  # prefixes of attributes; PyTorch's name of the value follows


class Node:
    """A node of the gradient graph, such as the `grad_fn` of a tensor.

    Its class is named after the operator, such as MulBackward0.  A reference keeps the node's part of the graph
    alive.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> node = (x * 2).grad_fn
        >>> isinstance(node, torch.autograd.graph.Node), node.name()
        (True, 'MulBackward0')
    """

    __slots__ = ("__weakref__", "_node")

    def __init__(self, node: Any) -> None:
        object.__setattr__(self, "_node", node)

    def name(self) -> str:
        """Return the name of the function, such as MulBackward0.

        Example:
            >>> torch.exp(torch.ones(1, requires_grad=True)).grad_fn.name()
            'ExpBackward0'
        """
        name = self._node.name
        return name if "Backward" in name else f"torch::autograd::{name}"  # such as AccumulateGrad

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Per operand, the edge that its gradient goes to: a node and the index of its output, or (None, 0)."""
        return tuple((None, 0) if edge is None else (face_of(edge[0]), edge[1]) for edge in self._node.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for user data on this node; anomaly detection stores its data in it too."""
        metadata: dict[Any, Any] = hooks_of(self._node).metadata
        return metadata

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Call fn(grad_inputs, grad_outputs) after each run of the node; a tuple that fn returns replaces grad_inputs.

        Return a handle, whose `remove` removes the hook.
        Raises: ArgumentTypeError if the hook is not a function.
        Example:
            >>> x = torch.ones(1, requires_grad=True)
            >>> y = x * 3
            >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 10, None))
            >>> y.backward()
            >>> x.grad
            tensor([30.])
        """
        _check_callable("register_hook", fn)
        return add(hooks_of(self._node).after, fn)

    def register_prehook(self, fn: Callable[[Any], Any]) -> RemovableHandle:
        """Call fn(grad_outputs) before each run of the node; a tuple that fn returns replaces grad_outputs.

        Return a handle, whose `remove` removes the hook.
        Raises: ArgumentTypeError if the hook is not a function.
        Example:
            >>> x = torch.ones(1, requires_grad=True)
            >>> y = x * 3
            >>> handle = y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 10,))
            >>> y.backward()
            >>> x.grad
            tensor([30.])
        """
        _check_callable("register_prehook", fn)
        return add(hooks_of(self._node).before, fn)

    @property
    def requires_grad(self) -> bool:
        """True: nodes exist only where gradients are required."""
        return True

    def _sequence_nr(self) -> int:
        number: int = self._node.number
        return number

    def __call__(self, *grads: Any) -> Any:
        """Compute the gradients of the operands from those of the results."""
        grads_of_operands = tuple(self._node.apply(list(grads)))
        return grads_of_operands[0] if len(grads_of_operands) == 1 else grads_of_operands

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class _LeafNode(Node):
    """The node that adds to the `grad` of a leaf, its `variable`."""

    __slots__ = ()

    @property
    def variable(self) -> Any:
        return self._node.leaf


class _OperatorNode(Node):
    """The node of an operator, with the values that it saved: `_saved_self`, `_saved_result` and so on."""

    __slots__ = ()

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """As `Node.next_functions`, without operands that never have a gradient, such as indices."""
        operator, functions = self._node.operator, super().next_functions
        if len(operator.tensor_indexes) != len(functions):
            return functions
        names = [operator.parameters[index].name for index in operator.tensor_indexes]
        return tuple([pair for name, pair in zip(names, functions) if pair[0] is not None or name not in CONSTANTS])

    def __getattr__(self, name: str) -> Any:
        is_raw = name.startswith(RAW)
        if is_raw or name.startswith(SAVED):
            wanted = name.removeprefix(RAW if is_raw else SAVED)
            if wanted in _saved_names(self._node):
                return _saved(self._node, _saved_names(self._node)[wanted], is_raw)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        names = _saved_names(self._node)
        return [*super().__dir__(), *(SAVED + name for name in names), *(RAW + name for name in names)]


class _FunctionNode(Node):
    """The node of a user's Function.  The attributes of its `ctx` are attributes of this node."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node.context, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._node.context, name, value)

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self._node.released:
            raise freed(self._node.name)
        return tuple(None if saved is None else SavedTensor(self._node, saved) for saved in self._node.saved)


class SavedTensor:
    """A tensor that a node saved."""

    def __init__(self, node: Any, saved: Saved) -> None:
        self._node = node
        self._saved = saved

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Replace the saved tensor by the result of pack_hook; unpack_hook returns the tensor.

        Raises: AutogradError if it has hooks already, or was freed.
        """
        if self._node.released:
            raise freed(self._node.name)
        pack(self._saved, pack_hook, unpack_hook)


def _saved_names(node: OperatorNode) -> dict[str, int]:
    """Return the index of each saved value, by its name."""
    names = {}
    for index, (name, need) in enumerate(zip(node.operator.backward_needs, node.operator.saves)):
        if need.kind in (VALUE, FACT, OUT):
            names[_torch_name(name, need)] = index
    return names


def _torch_name(name: str, need: Need) -> str:
    if need.kind == OUT:
        return f"result{need.at}" if need.at else "result"
    return "self" if name == "input" else name


def _saved(node: OperatorNode, index: int, is_raw: bool) -> Any:
    if node.released:
        raise freed(node.name)
    value = node.saved[index]
    if is_raw:
        return SavedTensor(node, value) if isinstance(value, Saved) else value
    return _opened(value, node)


def _opened(value: Any, node: OperatorNode) -> Any:
    if isinstance(value, Saved):
        return unpacked(value, node.operator.name, node)
    return type(value)([_opened(item, node) for item in value]) if isinstance(value, (list, tuple)) else value


def _check_callable(name: str, hook: Any) -> None:
    if not callable(hook):
        raise ArgumentTypeError(f"hook must be a function, got {shown(hook)}", hint="pass a function", operator=name)


_classes: dict[str, type[Node]] = {}  # classes of all nodes but users' Functions, by name


def face_of(node: Any) -> Node:
    """Return a node's public object: the same one for as long as it is referenced."""
    face: Node | None = None if node.face is None else node.face()
    if face is None:
        face = _class_of(node)(node)
        node.face = weakref.ref(face)
    return face


def _class_of(node: Any) -> type[Node]:
    function = getattr(node, "function", None)
    if function is not None:
        cls: type[Node] | None = function.__dict__.get("_backward_cls")
        if cls is None:
            cls = function._backward_cls = _named(node.name, _FunctionNode)
        return cls
    if node.name not in _classes:
        is_leaf, is_operator = isinstance(node, AccumulateGrad), isinstance(node, OperatorNode)
        _classes[node.name] = _named(node.name, _LeafNode if is_leaf else _OperatorNode if is_operator else Node)
    return _classes[node.name]


def _named(name: str, base: type[Node]) -> type[Node]:
    return type(name, (base,), {"__slots__": (), "__doc__": base.__doc__, "__module__": __name__})


class GradientEdge(tuple[Any, ...]):
    """One output of a node of the gradient graph: (node, output_nr, ownership_token).  See `get_gradient_edge`.

    ownership_token: an object that keeps the node alive.
    made_of: (layout, device index) of the tensor, or None if they are not known.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> edge = torch.autograd.graph.get_gradient_edge(x * 2)
        >>> edge.node.name(), edge.output_nr
        ('MulBackward0', 0)
    """

    made_of: Any = None

    def __new__(cls, node: Any, output_nr: int, ownership_token: Any = None) -> GradientEdge:
        return tuple.__new__(cls, (node, output_nr, ownership_token))

    @property
    def node(self) -> Any:
        return self[0]

    @property
    def output_nr(self) -> int:
        output_nr: int = self[1]
        return output_nr

    @property
    def ownership_token(self) -> Any:
        return self[2]

    def __repr__(self) -> str:
        return f"GradientEdge(node={self[0]!r}, output_nr={self[1]}, ownership_token={self[2]!r})"


def keep_gradient(tensor: TensorBase) -> None:
    """Keep the gradient of a non-leaf tensor in its `grad`; a leaf's is always kept."""
    edge = edge_of(tensor)
    if edge is not None and tensor._grad_fn is not None and not tensor.retains_grad:
        tensor.retains_grad = True
        hooks_of(edge[0]).kept.append((edge[1], weakref.ref(tensor)))


def observe(observer: Callable[[Any, Any], None], is_wanted: bool) -> None:
    """Add or remove an observer, a function that is called with each new node and a list of its saved values.

    For a write in place it is called twice: before the write, and after it with the saved results.
    """
    devices.unmirror("nodes of the graph were observed")
    with _observing:
        if observer in observers:
            observers.remove(observer)
        if is_wanted:
            observers.append(observer)

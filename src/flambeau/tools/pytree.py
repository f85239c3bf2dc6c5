"""Trees of lists, tuples, dicts and registered classes: their leaves, and the structure that holds them.

A dict's leaves are in insertion order of its keys.  Anything that is not a container is a leaf, None included.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import ArgumentError, ArgumentTypeError, shown, walking

PyTree = Any
Context = Any
Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[Any, Any], Any]


class Kind(NamedTuple):
    """Functions that flatten and rebuild the containers of a class."""

    type: Any
    flatten_fn: Flatten
    unflatten_fn: Unflatten


class TreeSpec:
    """The structure of a tree.  type: the container's class, None for a leaf.  context: data needed to rebuild it."""

    num_leaves: int
    num_nodes: int

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_leaves = sum(child.num_leaves for child in children_specs) if type is not None else 1
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_children = len(children_specs)

    def is_leaf(self) -> bool:
        """Return whether this is the structure of a leaf."""
        return self.type is None

    def _state(self) -> tuple[Any, ...]:
        return self.type, self.context, self.children_specs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def list_flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return a list's elements; there is no context."""
    return list(tree), None


def list_flatten_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Return (key, element) for each element of a list; there is no context."""
    return [(SequenceKey(index), value) for index, value in enumerate(tree)], None


def list_unflatten(values: Any, context: Any) -> list[Any]:
    """Return a list of these values."""
    return list(values)


def dict_flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return a dict's values and its keys."""
    return list(tree.values()), list(tree)


def dict_flatten_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Return (key, value) for each entry of a dict, and its keys."""
    values, keys = dict_flatten(tree)
    return [(MappingKey(key), value) for key, value in zip(keys, values, strict=True)], keys


def dict_unflatten(values: Any, keys: Any) -> dict[Any, Any]:
    """Return a dict of these values and keys."""
    return dict(zip(keys, values, strict=True))


class MappingKey(NamedTuple):
    """The key of a value in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the value of this key."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """The index of a value in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"

    def get(self, sequence: Any) -> Any:
        """Return the value at this index."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """The name of a value in a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute of this name."""
        return getattr(obj, self.name)


_kinds: dict[Any, Kind] = {
    list: Kind(list, list_flatten, list_unflatten),
    tuple: Kind(tuple, list_flatten, lambda leaves, context: tuple(leaves)),
    dict: Kind(dict, dict_flatten, dict_unflatten),
    OrderedDict: Kind(OrderedDict, dict_flatten, lambda leaves, keys: OrderedDict(zip(keys, leaves, strict=True))),
    defaultdict: Kind(
        defaultdict,
        lambda tree: (list(tree.values()), (tree.default_factory, list(tree))),
        lambda leaves, context: defaultdict(context[0], zip(context[1], leaves, strict=True)),
    ),
    deque: Kind(deque, lambda tree: (list(tree), tree.maxlen), lambda leaves, context: deque(leaves, maxlen=context)),
    namedtuple: Kind(namedtuple, lambda tree: (list(tree), type(tree)), lambda leaves, context: context(*leaves)),
}


def register_pytree_node(cls: Any, flatten_fn: Flatten, unflatten_fn: Unflatten, **options: Any) -> None:
    """Register a class as a container.

    flatten_fn: (container) -> (children, context).  unflatten_fn: (children, context) -> container.
    """
    if not isinstance(cls, type):
        raise ArgumentTypeError(
            f"expected a class, got {shown(cls)}",
            hint="pass a class, such as type(value)",
            operator="register_pytree_node",
        )
    _kinds[cls] = Kind(cls, flatten_fn, unflatten_fn)


def node_type(tree: Any) -> Any:
    """Return the key of a container's class in SUPPORTED_NODES: `namedtuple` for every named tuple."""
    cls = type(tree)
    return namedtuple if cls not in _kinds and isinstance(tree, tuple) and hasattr(tree, "_fields") else cls


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a value is a leaf: no container, or one that `is_leaf` takes for a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in _kinds


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return a tree's leaves and its structure."""
    leaves: list[Any] = []
    with walking("tree_flatten", tree):
        return leaves, _take_apart(tree, leaves, is_leaf)


def _take_apart(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    children, context = _kinds[node_type(tree)].flatten_fn(tree)
    return TreeSpec(type(tree), context, [_take_apart(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """Rebuild a tree from its leaves and its structure.  Raises ArgumentError for a wrong number of leaves."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ArgumentError(
            f"the structure has {treespec.num_leaves} leaves, {len(given)} are given: {treespec}",
            hint="pass one value per leaf of tree_flatten()",
            operator="tree_unflatten",
        )
    return _put_together(iter(given), treespec)


def _put_together(leaves: Iterator[Any], spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_put_together(leaves, child) for child in spec.children_specs]
    return _kinds.get(spec.type, _kinds[namedtuple]).unflatten_fn(children, spec.context)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return a tree's leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yield a tree's leaves."""
    yield from tree_leaves(tree, is_leaf)


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return a tree's structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply a function to the leaves of a tree, and to the corresponding leaves of further trees of that structure."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten(map(func, leaves, *others), spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Like `tree_map`, for a function that changes the leaves; the tree itself is returned."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    type_or_types: Any, func: Any = None, tree: Any = None, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Apply a function to the leaves that are instances of a class, or of one of several; keep the others."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, type_or_types) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a condition holds for every leaf."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a condition holds for a leaf."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf))


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Return (path, leaf) for each leaf; a path is a tuple of keys."""
    if tree_is_leaf(tree, is_leaf):
        return [((), tree)]
    children = _kinds[node_type(tree)].flatten_fn(tree)[0]
    keys = _keys(tree, len(children))
    return [
        ((key, *path), leaf)
        for key, child in zip(keys, children, strict=True)
        for path, leaf in tree_leaves_with_path(child, is_leaf)
    ]


def _keys(tree: Any, count: int) -> list[Any]:
    """Return the keys of a container's children."""
    if isinstance(tree, Mapping):
        return [MappingKey(key) for key in tree]
    names = getattr(tree, "_fields", None)
    return [SequenceKey(index) for index in range(count)] if names is None else [GetAttrKey(name) for name in names]


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Return (path, leaf) for each leaf, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Like `tree_map`, for a function whose first argument is the leaf's path."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([func(*pair, *rest) for pair, *rest in zip(pairs, *others, strict=True)], spec)


def keystr(kp: Any) -> str:
    """Return a path as text, such as `['a'][0].x`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Any) -> Any:
    """Return the value at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj

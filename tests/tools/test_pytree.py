"""torch.utils._pytree: leaves and structures of nested containers."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from flambeau.errors import ArgumentError, ArgumentTypeError
from flambeau.utils import _pytree as pytree

Point = namedtuple("Point", "x y")
TREE = {"b": [1, (2, None)], "a": OrderedDict(c=3), "p": Point(4, deque([5], maxlen=2)), "d": defaultdict(list, e=6)}


def test_a_tree_is_taken_apart_and_put_together():
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, None, 3, 4, 5, 6] and spec.num_leaves == 7
    again = pytree.tree_unflatten(leaves, spec)
    assert again == TREE and type(again["p"]) is Point and again["p"].y.maxlen == 2
    assert again["d"].default_factory is list and list(again) == list(TREE)
    assert spec == pytree.tree_structure(TREE) != pytree.tree_structure([1]) and pytree.tree_structure(1).is_leaf()
    with pytest.raises(ArgumentError, match="tree_unflatten: .*7 leaves, 1 are given"):
        pytree.tree_unflatten([1], spec)


def test_functions_of_leaves():
    assert pytree.tree_map(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}]) == [11, {"x": 22}]
    assert pytree.tree_map_only(int, str, [1, (2.0, 3)]) == ["1", (2.0, "3")]
    assert pytree.tree_map(len, [[1, 2], [3]], is_leaf=lambda tree: tree and tree[0] in (1, 3)) == [2, 1]
    assert pytree.tree_all(bool, [1, [2]]) and pytree.tree_any(bool, [0, [2]])
    assert list(pytree.tree_iter((1, [2]))) == [1, 2]
    seen, tree = [], [1, [2]]
    assert pytree.tree_map_(seen.append, tree) is tree and seen == [1, 2]


def test_entries_of_dicts():
    assert pytree._dict_flatten({"a": 1}) == ([1], ["a"]) and pytree._dict_unflatten([1], ["a"]) == {"a": 1}
    assert pytree._dict_flatten_with_keys({"a": 1}) == ([(pytree.MappingKey("a"), 1)], ["a"])


class Pair:
    def __init__(self, one, two):
        self.one, self.two = one, two


def test_registered_classes_are_containers():
    assert len(pytree.tree_leaves(Pair(1, 2))) == 1
    pytree.register_pytree_node(
        Pair, lambda pair: ([pair.one, pair.two], None), lambda children, context: Pair(*children)
    )
    found = pytree.tree_map(lambda leaf: leaf * 2, [Pair(1, 2)])[0]
    assert (found.one, found.two) == (2, 4)
    with pytest.raises(ArgumentTypeError, match="expected a class, got 3"):
        pytree.register_pytree_node(3, None, None)


def test_paths_of_leaves():
    found, spec = pytree.tree_flatten_with_path({"a": [1, Point(2, 3)]})
    assert [(pytree.keystr(path), leaf) for path, leaf in found] == [
        ("['a'][0]", 1), ("['a'][1].x", 2), ("['a'][1].y", 3),
    ]  # fmt: skip
    assert spec == pytree.tree_structure({"a": [1, Point(2, 3)]})
    assert pytree.key_get({"a": [1, Point(2, 3)]}, found[2][0]) == 3
    assert pytree.tree_map_with_path(lambda path, one, other: (len(path), one + other), [1, [2]], [10, [20]]) == [
        (1, 11), [(2, 22)],
    ]  # fmt: skip


def test_containers_are_looked_up_by_class():
    assert pytree._get_node_type(Point(1, 2)) is namedtuple and pytree.tree_is_leaf(3) and not pytree.tree_is_leaf([])
    node = pytree.SUPPORTED_NODES[list]
    assert node.type is list and node.flatten_fn([1]) == ([1], None) and node.unflatten_fn([1], None) == [1]
    assert pytree._list_flatten_with_keys([5]) == ([(pytree.SequenceKey(0), 5)], None)

"""torch.utils._pytree: nested lists, tuples and dicts as a list of leaves and a structure."""

from ..errors import no_attribute as _no_attribute
from ..tools.pytree import (
    Context,
    LeafSpec,
    MappingKey,
    PyTree,
    TreeSpec,
    register_pytree_node,
    tree_all,
    tree_any,
    tree_flatten,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)
from ..tools.pytree import dict_flatten as _dict_flatten
from ..tools.pytree import dict_flatten_with_keys as _dict_flatten_with_keys
from ..tools.pytree import dict_unflatten as _dict_unflatten
from ..tools.pytree import register_pytree_node as _register_pytree_node

__all__ = [
    "Context", "LeafSpec", "MappingKey", "PyTree", "TreeSpec", "_dict_flatten", "_dict_flatten_with_keys",
    "_dict_unflatten", "_register_pytree_node", "register_pytree_node", "tree_all", "tree_any", "tree_flatten",
    "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only", "tree_structure", "tree_unflatten",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

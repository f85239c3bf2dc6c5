"""Handles of registered hooks."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Removes a registered hook: by `remove()`, or at the end of a `with` block.

    id: the hook's key in `hooks_dict`, an OrderedDict, to which the handle keeps a weak reference only.
    extra_dict: more dictionaries, one or a list of them, from which the key is removed too.
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref: tuple[Any, ...] = tuple(weakref.ref(each) for each in extra)

    def remove(self) -> None:
        """Remove the hook; does nothing if it is gone already."""
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
        return self.id, tuple(None if each is None else each() for each in references)

    def __setstate__(self, stored: tuple[Any, ...]) -> None:
        self.id, (hooks, *extra) = stored
        self.hooks_dict_ref = None if hooks is None else weakref.ref(hooks)
        self.extra_dict_ref = tuple(None if each is None else weakref.ref(each) for each in extra)

"""The keys, values and queues of a store, and the answers to its requests.  Values are text: one character per byte."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any


class Contents:
    """The contents of a store.  A key may have a value and a queue, which exists while it is not empty."""

    def __init__(
        self, values: Mapping[str, str] | None = None, queues: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        self.values = dict(values or {})
        self.queues = {key: deque(queue) for key, queue in (queues or {}).items()}

    def has(self, keys: Iterable[str]) -> bool:
        """Return whether each of the keys has a value or a queue."""
        return all(key in self.values or key in self.queues for key in keys)

    def answer(self, request: Mapping[str, Any]) -> Any:
        """Answer the request named by the entry "do".  Raises ValueError for a value that is not a number, KeyError."""
        action, key, values = request["do"], str(request.get("key")), self.values
        value: Any = None
        if action == "set":
            values[key] = request["value"]
        elif action == "get":
            value = values.get(key)
        elif action == "add":
            value = self._number(key) + int(request["value"])
            values[key] = str(value)
        elif action == "append":
            values[key] = values.get(key, "") + request["value"]
        elif action == "compare_set":
            expected = request["expected"]
            if values.get(key) == expected or (key not in values and not expected):
                values[key] = request["value"]
            value = values.get(key, expected)
        elif action == "delete":
            value = values.pop(key, None) is not None
        elif action == "keys":
            value = list(values)
        elif action == "count":
            value = len(values)
        elif action == "check":
            value = self.has(request["keys"])
        elif action == "push":
            self.queues.setdefault(key, deque()).append(request["value"])
        elif action == "pop":
            value = self._pop(key)
        elif action == "length":
            value = len(self.queues.get(key, ()))
        else:
            raise KeyError(action)
        return value

    def _number(self, key: str) -> int:
        text = self.values.get(key, "0")
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"the value of {key!r} is not a number: {text!r}") from None

    def _pop(self, key: str) -> str | None:
        """Take the first value of a queue; None if there is none."""
        queue = self.queues.get(key)
        if queue is None:
            return None
        value = queue.popleft()
        if not queue:
            del self.queues[key]
        return value

"""The other process of the row about queues.  It imports nothing: what it unpickles brings its library along."""

from __future__ import annotations

from typing import Any


def consume(requests: Any, answers: Any) -> None:
    """Take (tensor, whether its values are wanted) from a queue until there is None; answer each, with its values."""
    while (asked := requests.get()) is not None:
        tensor, is_wanted = asked
        answer = tensor.tolist() if is_wanted else None
        del asked, tensor
        answers.send(answer)

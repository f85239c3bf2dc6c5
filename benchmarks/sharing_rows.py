"""Tensors that go to another process: time until it has received one, dropped it and said so."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from . import check, consumer
from .goals import at_most
from .times import Row, Sizes, Work

SIDE = 16
SENDS = 50  # in a burst
GRACE = 10.0  # seconds that the other process has to end


class Consumer:
    """Another process, spawned, and the ways to it and back.  Raises EOFError if it ends too early."""

    def __init__(self, library: Any) -> None:
        context = importlib.import_module(f"{library.__name__}.multiprocessing").get_context("spawn")
        self._requests = context.Queue()
        self._answers, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=consumer.consume, args=(self._requests, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, tensor: Any, is_wanted: bool = False) -> Any:
        """Its values, if they are wanted."""
        self._requests.put((tensor, is_wanted))
        return self._answers.recv()

    def close(self) -> None:
        self._requests.put(None)
        self._process.join(GRACE)
        self._process.kill()
        self._requests.close()
        self._answers.close()


def _queue(library: Any, _: Sizes) -> Work:
    x = library.randn(SIDE, SIDE, device="cuda")
    other = Consumer(library)

    def error() -> float:
        return check.error(np.array(other.send(x, is_wanted=True)), check.host(x))

    return Work(lambda: other.send(x), error, close=other.close)


row = functools.partial(Row, unit="µs", whole=True)

ROWS = (row("cuda tensor through a queue", make=_queue, goals=(at_most(1.0),), burst=SENDS),)

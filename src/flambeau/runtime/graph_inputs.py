"""Declared inputs of graphs, as FLAMBEAU_STRICT=1 checks them."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from .. import callers, config
from ..core.storage import Storage
from ..errors import AcceleratorError
from .generator import CAPTURE_UNSUPPORTED
from .stream import Stream

POISON = 0xFF


@dataclass
class Input:
    """version: of the storage, at the last replay or the capture."""

    name: str
    memory: weakref.ref[Storage]
    version: int


class StaticInputs:
    """The tensors that get new values before each replay of one graph; none are kept unless checks are on."""

    def __init__(self) -> None:
        self._inputs: list[Input] = []

    def declare(self, tensor: Any) -> None:
        """Check a tensor from now on, if FLAMBEAU_STRICT says so."""
        if config.strict():
            name = f"static input {len(self._inputs)}, {tensor.describe()}, declared at {callers.call_site()}"
            self._inputs.append(Input(name, weakref.ref(tensor.storage), tensor.storage.version))

    def note(self) -> None:
        """What is written from now on is new."""
        for each in self._inputs:
            if (memory := each.memory()) is not None:
                each.version = memory.version

    def check(self) -> None:
        """Raises AcceleratorError if an input was freed, or has no new values."""
        for each in self._inputs:
            memory = each.memory()
            if memory is None:
                raise AcceleratorError(
                    f"{each.name}, was freed",
                    hint="keep a reference to every tensor that the graph reads",
                    error_code=CAPTURE_UNSUPPORTED,
                    operator="replay",
                )
            if memory.version == each.version:
                raise AcceleratorError(
                    f"{each.name}, was not written since the last replay, or the capture",
                    hint="copy_() new values into it before each replay",
                    error_code=CAPTURE_UNSUPPORTED,
                    operator="replay",
                )

    def use_up(self, stream: Stream) -> None:
        """Leave poison where the values of a replay were, so that a part that is not written again shows."""
        self.note()
        for each in self._inputs:
            memory = each.memory()
            if memory is not None and memory.device.index == stream.device_index:
                stream.fill(memory.address(), POISON, memory.nbytes)

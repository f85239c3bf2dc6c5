"""torch.nn.utils.skip_init: modules whose parameters are not initialized."""

from __future__ import annotations

import inspect
from typing import Any

from ...errors import ArgumentTypeError, ModeError, shown
from ...importer import listing
from ...runtime import device as devices
from ...runtime import generator
from ..module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module with uninitialized parameters and buffers, without drawing random numbers.

    The arguments are those of the class, whose constructor must take `device`.
    Raises: ModeError for a class that does not take `device`, ArgumentTypeError for a module_cls that is not a Module
            class.
    Example:
        >>> torch.nn.utils.skip_init(torch.nn.Linear, 5, 1).weight.shape
        torch.Size([1, 5])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise ArgumentTypeError(
            f"expected a Module, got {shown(module_cls)}", hint="give a class", operator="skip_init"
        )
    if "device" not in inspect.signature(module_cls).parameters:
        raise ModeError(
            f"{module_cls.__name__} must support a 'device' arg to skip initialization",
            hint="take device= in __init__",
            operator="skip_init",
        )
    device = kwargs.pop("device", "cpu")
    drawn = generator.default_generator(devices.CPU_INDEX)
    before = drawn.get_state()
    try:
        module = module_cls(*args, device="cpu", **kwargs)
    finally:
        drawn.set_state(before)
    return module.to_empty(device=device)


__all__ = ["skip_init"]
__dir__ = listing(globals())

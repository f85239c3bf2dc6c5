"""torch.nn.utils.memory_format: memory formats of the weights of convolutions."""

from __future__ import annotations

from typing import Any

from ...errors import naming
from ...importer import listing
from ..convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..module import Module, check_module


def _convert(name: str, module: Module, format: Any, kinds: tuple[type, ...]) -> Module:
    check_module(name, "module", module)
    for submodule in module.modules():
        if isinstance(submodule, kinds):
            weight: Any = submodule.weight
            with naming(name):
                weight.data = weight.detach().clone(memory_format=format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of all two-dimensional convolutions in a module to a memory format; return the module.

    Raises: ArgumentTypeError for a module or memory_format of a wrong type, ShapeError for a format of another number
            of dimensions.
    Example:
        >>> conv = torch.nn.Conv2d(2, 1, 3)
        >>> _ = torch.nn.utils.convert_conv2d_weight_memory_format(conv, torch.channels_last)
        >>> conv.weight.stride()
        (18, 1, 6, 2)
    """
    return _convert("convert_conv2d_weight_memory_format", module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of all three-dimensional convolutions in a module to a memory format; return the module.

    Raises: ArgumentTypeError for a module or memory_format of a wrong type, ShapeError for a format of another number
            of dimensions.
    Example:
        >>> conv = torch.nn.Conv3d(2, 1, 2)
        >>> _ = torch.nn.utils.convert_conv3d_weight_memory_format(conv, torch.channels_last_3d)
        >>> conv.weight.stride()
        (16, 1, 8, 4, 2)
    """
    return _convert("convert_conv3d_weight_memory_format", module, memory_format, (Conv3d, ConvTranspose3d))


__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
__dir__ = listing(globals())

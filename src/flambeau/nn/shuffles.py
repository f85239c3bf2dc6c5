"""Modules that move channels and pixels: ChannelShuffle, PixelShuffle, PixelUnshuffle."""

from __future__ import annotations

from ..tensor.tensor import Tensor
from . import functional as F  # noqa: N812
from .module import Module


class ChannelShuffle(Module):
    """Take the channels of several groups in turn.

    Example:
        >>> torch.nn.ChannelShuffle(2)(torch.arange(4).reshape(1, 4, 1)).flatten()
        tensor([0, 2, 1, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        shuffled: Tensor = F.channel_shuffle(input, self.groups)
        return shuffled

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class PixelShuffle(Module):
    """Make squares of pixels of channels: [..., c * r * r, h, w] gives [..., c, h * r, w * r].

    Example:
        >>> torch.nn.PixelShuffle(2)(torch.zeros(1, 8, 3, 3)).shape
        torch.Size([1, 2, 6, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        shuffled: Tensor = F.pixel_shuffle(input, self.upscale_factor)
        return shuffled

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Make channels of squares of pixels: [..., c, h * r, w * r] gives [..., c * r * r, h, w].

    Example:
        >>> torch.nn.PixelUnshuffle(2)(torch.zeros(1, 2, 6, 6)).shape
        torch.Size([1, 8, 3, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        shuffled: Tensor = F.pixel_unshuffle(input, self.downscale_factor)
        return shuffled

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"

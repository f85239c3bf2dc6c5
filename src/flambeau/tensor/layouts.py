"""torch.layout: how the elements of a tensor are stored.  There is one layout, `strided`."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentTypeError, shown


class layout:  # noqa: N801  (PyTorch's name for it)
    """The kind of storage of a tensor's elements: dense memory that strides walk through.

    Example:
        >>> isinstance(torch.strided, torch.layout)
        True
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = layout("strided")


def check(name: str, wanted: Any) -> None:
    """Raise ArgumentTypeError unless it is a layout or None."""
    if wanted is not None and not isinstance(wanted, layout):
        raise ArgumentTypeError(
            f"layout must be a torch.layout, got {shown(wanted)}",
            hint="use torch.strided, or leave it out",
            operator=name,
        )

"""Parameter and Buffer: tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any, Self, cast

from ..autograd.mode import GradMode
from ..core.tensor import TensorBase, empty_tensor, new_tensor_of
from ..dtypes import float32
from ..errors import ArgumentTypeError, shown
from ..tensor.gradient import want
from ..tensor.tensor import Tensor


def _source(data: Any, kind: str) -> Any:
    if data is None:
        return empty_tensor((0,), float32, -1)
    if not isinstance(data, TensorBase):
        raise ArgumentTypeError(
            f"data must be a Tensor or None, not {type(data).__name__}: {shown(data)}",
            hint="make one with torch.tensor(...)",
            operator=kind,
        )
    return data


class Parameter(Tensor, overrides=False):
    """A tensor that becomes a parameter of the module that it is assigned to.

    It shares the memory of `data`.  Results of operations on parameters are plain tensors.
    Raises: DtypeError if requires_grad is True and `data` is not floating point.
    Example:
        >>> net = torch.nn.Module()
        >>> net.scale = torch.nn.Parameter(torch.ones(2))
        >>> [name for name, _ in net.named_parameters()]
        ['scale']
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        source = _source(data, "Parameter")
        made: Any = new_tensor_of(cls, source._storage, source._layout, source._offset)
        want(made, requires_grad, "Parameter")
        return cast(Self, made)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        with GradMode(False):
            made = type(self)(self.clone(), self.requires_grad)
        memo[id(self)] = made
        return made

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor, overrides=False):
    """A tensor that becomes a buffer of the module that it is assigned to: part of its state, and not trained.

    persistent: whether it is part of the module's state_dict.
    Example:
        >>> net = torch.nn.Module()
        >>> net.mean = torch.nn.Buffer(torch.zeros(2))
        >>> net.state_dict()["mean"]
        tensor([0., 0.])
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        source = _source(data, "Buffer")
        made: Any = new_tensor_of(cls, source._storage, source._layout, source._offset)
        made.requires_grad_(source.requires_grad)
        made.persistent = persistent
        return cast(Self, made)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        with GradMode(False):
            made = type(self)(self.clone(), persistent=self.persistent)
        made.requires_grad_(self.requires_grad)
        memo[id(self)] = made
        return made

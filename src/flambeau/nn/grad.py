"""torch.nn.grad: the gradients of convolutions with respect to their input and weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops  # noqa: F401  (registers the operators)
from ..autograd.gradients import grad
from ..autograd.mode import GradMode, is_grad_enabled
from ..errors import naming
from ..errors import no_attribute as _no_attribute
from ..importer import listing
from ..ops.operator import REGISTRY
from ..tensor import checks


def _placeholder(like: Any, shape: Sequence[int]) -> Any:
    """Return an operand of this shape, whose values have no effect on its own gradient."""
    return like.new_zeros(()).expand(tuple(shape)).detach().requires_grad_()


def _of_input(name: str, shape: Any, weight: Any, grad_output: Any, *numbers: Any) -> Any:
    checks.tensor(name, "weight", weight)
    checks.tensor(name, "grad_output", grad_output)
    input = _placeholder(weight, shape)
    return _gradient(name, input, (input, weight), grad_output, numbers)


def _of_weight(name: str, input: Any, shape: Any, grad_output: Any, *numbers: Any) -> Any:
    checks.tensor(name, "input", input)
    checks.tensor(name, "grad_output", grad_output)
    weight = _placeholder(input, shape)
    return _gradient(name, weight, (input, weight), grad_output, numbers)


def _gradient(name: str, wanted: Any, operands: tuple[Any, Any], grad_output: Any, numbers: tuple[Any, ...]) -> Any:
    is_recorded = is_grad_enabled()
    with GradMode(True), naming(name):
        out = REGISTRY[name.partition("_")[0]](*operands, None, *numbers)
        return grad(out, wanted, grad_output, create_graph=is_recorded)[0]


def conv1d_input(
    input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Return the gradient of `conv1d` with respect to its input, of shape input_size.

    grad_output: the gradient with respect to the result.  The other arguments are those of the convolution.
    Raises: ShapeError for shapes, strides, paddings, dilations or groups that do not fit.
    Example:
        >>> torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2)).sum()
        tensor(4.)
    """
    return _of_input("conv1d_input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Return the gradient of `conv1d` with respect to its weight, of shape weight_size.

    grad_output: the gradient with respect to the result.  The other arguments are those of the convolution.
    Raises: ShapeError for shapes, strides, paddings, dilations or groups that do not fit.
    Example:
        >>> torch.nn.grad.conv1d_weight(torch.ones(1, 1, 3), (1, 1, 2), torch.ones(1, 1, 2)).sum()
        tensor(4.)
    """
    return _of_weight("conv1d_weight", input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Return the gradient of `conv2d` with respect to its input, of shape input_size.

    grad_output: the gradient with respect to the result.  The other arguments are those of the convolution.
    Raises: ShapeError for shapes, strides, paddings, dilations or groups that do not fit.
    Example:
        >>> torch.nn.grad.conv2d_input((1, 1, 3, 3), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)).sum()
        tensor(16.)
    """
    return _of_input("conv2d_input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Return the gradient of `conv2d` with respect to its weight, of shape weight_size.

    grad_output: the gradient with respect to the result.  The other arguments are those of the convolution.
    Raises: ShapeError for shapes, strides, paddings, dilations or groups that do not fit.
    Example:
        >>> torch.nn.grad.conv2d_weight(torch.ones(1, 1, 3, 3), (1, 1, 2, 2), torch.ones(1, 1, 2, 2)).sum()
        tensor(16.)
    """
    return _of_weight("conv2d_weight", input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Return the gradient of `conv3d` with respect to its input, of shape input_size.

    grad_output: the gradient with respect to the result.  The other arguments are those of the convolution.
    Raises: ShapeError for shapes, strides, paddings, dilations or groups that do not fit.
    Example:
        >>> torch.nn.grad.conv3d_input((1, 1, 3, 3, 3), torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).sum()
        tensor(64.)
    """
    return _of_input("conv3d_input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Return the gradient of `conv3d` with respect to its weight, of shape weight_size.

    grad_output: the gradient with respect to the result.  The other arguments are those of the convolution.
    Raises: ShapeError for shapes, strides, paddings, dilations or groups that do not fit.
    Example:
        >>> torch.nn.grad.conv3d_weight(torch.ones(1, 1, 3, 3, 3), (1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).sum()
        tensor(64.)
    """
    return _of_weight("conv3d_weight", input, weight_size, grad_output, stride, padding, dilation, groups)


__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
__dir__ = listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

"""torch.nn.utils.fusion: batch normalization in evaluation mode, as a part of the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ...errors import FlambeauError, naming
from ...importer import listing
from ...tensor import checks
from ..module import check_module
from ..parameter import Parameter


class FusionError(FlambeauError, AssertionError):
    """Two layers that cannot be fused."""


def _check_mode(called: str, layer: Any, norm: Any) -> None:
    check_module(called, "the layer", layer)
    check_module(called, "the normalization", norm)
    training = [type(module).__name__ for module in (layer, norm) if module.training]
    if training:
        raise FusionError(
            f"both modules must be in evaluation mode; in training mode: {', '.join(training)}",
            hint="call eval() first",
            operator=called,
        )


def _factors(
    name: str, layer: Any, mean: Any, var: Any, eps: float, weight: Any, bias: Any, old: Any
) -> tuple[Any, Any]:
    """Return (factor of each output, new bias) of a normalization; `old` is the layer's bias or None."""
    for what, tensor in (("the weight", layer), ("bn_rm", mean), ("bn_rv", var)):
        checks.tensor(name, what, tensor)
    checks.number(name, "bn_eps", eps)
    factor = (var + eps).rsqrt()
    factor = factor if weight is None else weight * factor
    shift = (0 if old is None else old) - mean
    return factor, shift * factor + (0 if bias is None else bias)


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution with the batch normalization that follows it folded in.

    conv_b, bn_w, bn_b: may be None.  bn_rm, bn_rv, bn_eps: running mean, variance and eps.
    transpose: whether conv_w belongs to a transposed convolution.
    Shapes: conv_w [out, in, *], or [in, out, *] if transpose; the others [out]; the results have the shapes of conv_w
            and [out].
    Raises: ShapeError if the shapes do not fit, ArgumentTypeError for arguments that are not tensors.
    Example:
        >>> conv, norm = torch.nn.Conv1d(1, 2, 1), torch.nn.BatchNorm1d(2)
        >>> of_norm = norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
        >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(conv.weight, conv.bias, *of_norm)
        >>> weight.shape, bias.shape
        (torch.Size([2, 1, 1]), torch.Size([2]))
    """
    with naming("fuse_conv_bn_weights"):
        factor, bias = _factors("fuse_conv_bn_weights", conv_w, bn_rm, bn_rv, bn_eps, bn_w, bn_b, conv_b)
        shape = [1] * conv_w.ndim
        shape[1 if transpose else 0] = -1
        weight = (conv_w * factor.reshape(shape)).to(conv_w.dtype)
    bias = bias.to(conv_w.dtype if conv_b is None else conv_b.dtype)
    return _like(conv_w, weight), _like(conv_b, bias)


def _like(former: Any, value: Any) -> Parameter:
    return Parameter(value.detach(), former is not None and former.requires_grad)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution with the batch normalization that follows it folded in, for evaluation.

    transpose: whether conv is a transposed convolution.
    Raises: FusionError, an AssertionError, in training mode; ShapeError if the numbers of channels differ,
            ArgumentTypeError for arguments that are not modules.
    Example:
        >>> conv, norm = torch.nn.Conv2d(1, 2, 1).eval(), torch.nn.BatchNorm2d(2).eval()
        >>> x = torch.ones(1, 1, 2, 2)
        >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
        True
    """
    _check_mode("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    norm = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    with naming("fuse_conv_bn_eval"):
        fused.weight, fused.bias = fuse_conv_bn_weights(conv.weight, conv.bias, *norm, transpose)
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer with the batch normalization that follows it folded in.

    linear_b, bn_w, bn_b: may be None.  bn_rm, bn_rv, bn_eps: running mean, variance and eps.
    Shapes: linear_w [out, in]; the others [out]; the results [out, in] and [out].
    Raises: ShapeError if the shapes do not fit, ArgumentTypeError for arguments that are not tensors.
    Example:
        >>> linear, norm = torch.nn.Linear(1, 2, bias=False), torch.nn.BatchNorm1d(2)
        >>> of_norm = norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
        >>> torch.nn.utils.fuse_linear_bn_weights(linear.weight, None, *of_norm)[1].detach()
        tensor([0., 0.])
    """
    with naming("fuse_linear_bn_weights"):
        factor, bias = _factors("fuse_linear_bn_weights", linear_w, bn_rm, bn_rv, bn_eps, bn_w, bn_b, linear_b)
        weight = (linear_w * factor.unsqueeze(-1)).to(linear_w.dtype)
    bias = bias.to(linear_w.dtype if linear_b is None else linear_b.dtype)
    return _like(linear_w, weight), _like(linear_b, bias)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer with the batch normalization that follows it folded in, for evaluation.

    Raises: FusionError, an AssertionError, in training mode or if the numbers of features differ.
    Example:
        >>> linear, norm = torch.nn.Linear(1, 2).eval(), torch.nn.BatchNorm1d(2).eval()
        >>> x = torch.ones(3, 1)
        >>> torch.allclose(torch.nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
        True
    """
    _check_mode("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise FusionError(
            f"a linear layer of {linear.out_features} outputs and a normalization of {bn.num_features} features do not "
            "fit",
            hint="use a normalization whose num_features is out_features, or 1",
            operator="fuse_linear_bn_eval",
        )
    fused = copy.deepcopy(linear)
    norm = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    fused.weight, fused.bias = fuse_linear_bn_weights(linear.weight, linear.bias, *norm)
    return fused


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
__dir__ = listing(globals())

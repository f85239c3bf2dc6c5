"""Normalization layers: batch, instance, group, RMS and local response norm."""

from __future__ import annotations

from typing import Any

from .. import callers
from ..dtypes import int64
from ..errors import ArgumentError, ValueRangeError, naming
from ..ops.operator import REGISTRY
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .layers import normalized_sizes
from .lazy import LazyModuleMixin
from .module import Layer, Module, check_module
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter


def _set_affine(module: Any, shape: Any, wanted: dict[str, bool], device: Any, dtype: Any) -> None:
    """Register weight and bias, or None for one that is not used."""
    for name, present in wanted.items():
        with naming(module._get_name()):
            tensor = factories.empty(shape, device=device, dtype=dtype) if present else None
            module.register_parameter(name, None if tensor is None else Parameter(tensor))


def _reset_affine(module: Any) -> None:
    """Set weight to 1 and bias to 0."""
    if module.weight is not None:
        init.ones_(module.weight)
    if getattr(module, "bias", None) is not None:
        init.zeros_(module.bias)


class _ChannelNorm(Layer):
    """Base of layers with one weight and one bias per channel, and running statistics."""

    _version = 2  # 1 had no num_batches_tracked
    _ranks: tuple[int, ...] = ()  # the numbers of dimensions that an input may have; () for 2 and more

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        checks.count(self._get_name(), "num_features", num_features)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        _set_affine(self, (num_features,), {"weight": affine, "bias": affine and bias}, device, dtype)
        with naming(self._get_name()):
            buffers: list[Any] = [None, None, None]
            if track_running_stats:
                buffers = [
                    factories.zeros(num_features, device=device, dtype=dtype),
                    factories.ones(num_features, device=device, dtype=dtype),
                    factories.tensor(0, device=device, dtype=int64),
                ]
            for name, value in zip(("running_mean", "running_var", "num_batches_tracked"), buffers):
                self.register_buffer(name, value)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to 0, the running variance to 1 and the count of batches to 0.

        Example:
            >>> layer = torch.nn.BatchNorm1d(2)
            >>> _ = layer(torch.ones(4, 2))
            >>> layer.reset_running_stats()
            >>> layer.running_mean, layer.num_batches_tracked
            (tensor([0., 0.]), tensor(0))
        """
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics, and set weight to 1 and bias to 0.

        Example:
            >>> layer = torch.nn.BatchNorm1d(2)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> layer.weight.detach()
            tensor([1., 1.])
        """
        self.reset_running_stats()
        _reset_affine(self)

    def _check_input_dim(self, input: Any) -> None:
        """Raise ArgumentError for an input of another number of dimensions."""
        checks.tensor(self._get_name(), "input", input)
        wrong = input.ndim not in self._ranks if self._ranks else input.ndim < 2
        if wrong:
            wanted = " or ".join(f"{rank}D" for rank in self._ranks) or "at least 2D"
            raise ArgumentError(
                f"expected {wanted} input (got {input.ndim}D input, shape {list(input.shape)})",
                hint="pass the channels as dimension 1, after the batch: [n, c, *]",
                operator=self._get_name(),
            )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *lists: Any
    ) -> None:
        counter = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats and counter not in state_dict:
            kept = self.num_batches_tracked
            state_dict[counter] = factories.tensor(0, dtype=int64) if kept is None else kept
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_ChannelNorm):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the average over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        is_of_batch = self.training or (self.running_mean is None and self.running_var is None)
        is_tracked = not self.training or self.track_running_stats
        return self._normalized(
            input,
            self.running_mean if is_tracked else None,
            self.running_var if is_tracked else None,
            is_of_batch,
            factor,
        )

    def _normalized(self, input: Tensor, mean: Any, var: Any, is_of_batch: bool, momentum: float) -> Tensor:
        return F.batch_norm(input, mean, var, self.weight, self.bias, is_of_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalize each channel over the batch to mean 0 and variance 1, then multiply by weight and add bias.

    num_features: the number of channels, c.  eps: added to the variance.  momentum: the share of each batch in the
    running statistics; None averages all batches.  affine: whether there are weight and bias.
    track_running_stats: keep a running mean and variance, which are used in evaluation mode.
    Shapes: input [n, c] or [n, c, l]; the result has the input's shape.
    Raises: ArgumentTypeError, ValueRangeError for a num_features that is not an int or is negative; in forward,
            ArgumentError for a wrong number of dimensions and, in training, if a channel has one value only; ShapeError
            for another number of channels; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.BatchNorm1d(1)(torch.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalize each channel of images over the batch and all pixels, then multiply by weight and add bias.

    The arguments are those of `BatchNorm1d`.

    Shapes: input [n, c, h, w]; the result has the input's shape.
    Raises: ArgumentTypeError, ValueRangeError for a num_features that is not an int or is negative; in forward,
            ArgumentError for a wrong number of dimensions, and in training if a channel has one value only; ShapeError
            for another number of channels; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.BatchNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalize each channel of volumes over the batch and all voxels, then multiply by weight and add bias.

    The arguments are those of `BatchNorm1d`.

    Shapes: input [n, c, d, h, w]; the result has the input's shape.
    Raises: ArgumentTypeError, ValueRangeError for a num_features that is not an int or is negative; in forward,
            ArgumentError for a wrong number of dimensions, and in training if a channel has one value only; ShapeError
            for another number of channels; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.BatchNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm whose statistics, in training, are those of the batches of all processes of a group.

    Batches may differ in size, and be empty in some processes.  Before `init_process_group`, only the batch of this
    process is used.  process_group: the group; None is the default one.  Other arguments: see BatchNorm1d.
    Shapes: input [n, c, *]; the result has the input's shape.
    Host:   returns at once on GPUs.
    Raises: ArgumentTypeError, ValueRangeError for a num_features that is not an int or is negative; in forward,
            ArgumentError for a wrong number of dimensions, and in training if a channel has one value only; ShapeError
            for another number of channels; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.SyncBatchNorm(3)(torch.ones(2, 3, 4)).shape
        torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _normalized(self, input: Tensor, mean: Any, var: Any, is_of_batch: bool, momentum: float) -> Tensor:
        from ..parallel import process_group as collectives  # it loads modules that most networks do not need

        if self.training and collectives.is_initialized() and collectives.get_world_size(self.process_group) > 1:
            from ..parallel.sync_batch_norm import SynchronizedBatchNorm

            result: Tensor = SynchronizedBatchNorm.apply(
                input, self.weight, self.bias, mean, var, self.eps, momentum, self.process_group
            )
            return result
        return super()._normalized(input, mean, var, is_of_batch, momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every batch norm in a module by a SyncBatchNorm with the same state; return the module.

        If the module is a batch norm itself, the result is a new SyncBatchNorm.  process_group: see SyncBatchNorm.
        Raises: ArgumentTypeError if module is not an nn.Module.
        Example:
            >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm2d(3)).num_features
            3
        """
        check_module("convert_sync_batchnorm", "module", module)
        result = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            for name in ("weight", "bias"):
                if module.affine:
                    setattr(converted, name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
            result = converted
        for name, child in module.named_children():
            result._modules[name] = cls.convert_sync_batchnorm(child, process_group)
        return result


class _InstanceNorm(_ChannelNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        is_single = input.ndim == self._ranks[0]
        channels = input.shape[0 if is_single else 1]
        if channels != self.num_features:
            fact = f"expected input's size at dim={0 if is_single else 1} to match num_features"
            if self.affine:
                raise ArgumentError(
                    f"{fact} ({self.num_features}), but got: {channels}",
                    hint="make the layer for the input's channels",
                    operator=self._get_name(),
                )
            callers.warn(f"{self._get_name()}: {fact} ({self.num_features}), but got: {channels}; it is not used")
        result = F.instance_norm(
            input.unsqueeze(0) if is_single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if is_single else result


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each sequence to mean 0 and variance 1; if affine, multiply by weight and add bias.

    The arguments are those of BatchNorm1d, but affine and track_running_stats are False by default.
    Shapes: input [n, c, l] or [c, l]; the result has the input's shape.
    Raises: ArgumentTypeError, ValueRangeError for a num_features that is not an int or is negative; in forward,
            ArgumentError for a wrong number of dimensions, for another number of channels if affine, and if a channel
            has one value only; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.InstanceNorm1d(1)(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each image to mean 0 and variance 1; if affine, multiply by weight and add bias.

    The arguments are those of BatchNorm1d, but affine and track_running_stats are False by default.
    Shapes: input [n, c, h, w] or [c, h, w]; the result has the input's shape.
    Raises: ArgumentTypeError, ValueRangeError for a num_features that is not an int or is negative; in forward,
            ArgumentError for a wrong number of dimensions, for another number of channels if affine, and if a channel
            has one value only; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.InstanceNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each volume to mean 0 and variance 1; if affine, multiply by weight and add bias.

    The arguments are those of BatchNorm1d, but affine and track_running_stats are False by default.
    Shapes: input [n, c, d, h, w] or [c, d, h, w]; the result has the input's shape.
    Raises: ArgumentTypeError, ValueRangeError for a num_features that is not an int or is negative; in forward,
            ArgumentError for a wrong number of dimensions, for another number of channels if affine, and if a channel
            has one value only; DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.InstanceNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _ranks = (4, 5)


class _LazyNorm(LazyModuleMixin, _ChannelNorm):
    """Base of layers whose parameters and running statistics are made at the first call."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = factories.tensor(0, device=device, dtype=int64)

    def reset_parameters(self) -> None:
        if self.num_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters and running statistics, one value for each channel of `input`.

        Raises: ArgumentError for an input with a wrong number of dimensions.
        Example:
            >>> layer = torch.nn.LazyBatchNorm1d()
            >>> layer.initialize_parameters(torch.ones(5, 3))
            >>> layer.weight.shape
            torch.Size([3])
        """
        self._check_input_dim(input)
        is_single = isinstance(self, _InstanceNorm) and input.ndim == self._ranks[0]
        self.num_features = input.shape[0 if is_single else 1]
        if not self.has_uninitialized_params():
            return
        tensors: Any = (self.weight, self.bias, self.running_mean, self.running_var)
        for tensor in tensors:
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` that takes num_features from its first input, and then becomes a plain BatchNorm1d.

    Arguments and shapes: as `BatchNorm1d`.
    Raises: in forward, ArgumentError for a wrong number of dimensions, ArgumentTypeError for an input that is not a
            tensor.
    Example:
        >>> layer = torch.nn.LazyBatchNorm1d(affine=False)
        >>> layer(torch.ones(2, 3, 4)).shape, layer.num_features, type(layer).__name__
        (torch.Size([2, 3, 4]), 3, 'BatchNorm1d')
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` that takes num_features from its first input, and then becomes a plain BatchNorm2d.

    Arguments and shapes: as `BatchNorm2d`.
    Raises: in forward, ArgumentError for a wrong number of dimensions, ArgumentTypeError for an input that is not a
            tensor.
    Example:
        >>> layer = torch.nn.LazyBatchNorm2d(affine=False)
        >>> layer(torch.ones(2, 3, 4, 5)).shape, layer.num_features, type(layer).__name__
        (torch.Size([2, 3, 4, 5]), 3, 'BatchNorm2d')
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` that takes num_features from its first input, and then becomes a plain BatchNorm3d.

    Arguments and shapes: as `BatchNorm3d`.
    Raises: in forward, ArgumentError for a wrong number of dimensions, ArgumentTypeError for an input that is not a
            tensor.
    Example:
        >>> layer = torch.nn.LazyBatchNorm3d(affine=False)
        >>> layer(torch.ones(2, 3, 4, 5, 6)).shape, layer.num_features, type(layer).__name__
        (torch.Size([2, 3, 4, 5, 6]), 3, 'BatchNorm3d')
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` that takes num_features from its first input, and then becomes a plain InstanceNorm1d.

    Arguments and shapes: as `InstanceNorm1d`.
    Raises: in forward, ArgumentError for a wrong number of dimensions, ArgumentTypeError for an input that is not a
            tensor.
    Example:
        >>> layer = torch.nn.LazyInstanceNorm1d(affine=False)
        >>> layer(torch.ones(2, 3, 4)).shape, layer.num_features, type(layer).__name__
        (torch.Size([2, 3, 4]), 3, 'InstanceNorm1d')
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` that takes num_features from its first input, and then becomes a plain InstanceNorm2d.

    Arguments and shapes: as `InstanceNorm2d`.
    Raises: in forward, ArgumentError for a wrong number of dimensions, ArgumentTypeError for an input that is not a
            tensor.
    Example:
        >>> layer = torch.nn.LazyInstanceNorm2d(affine=False)
        >>> layer(torch.ones(2, 3, 4, 5)).shape, layer.num_features, type(layer).__name__
        (torch.Size([2, 3, 4, 5]), 3, 'InstanceNorm2d')
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` that takes num_features from its first input, and then becomes a plain InstanceNorm3d.

    Arguments and shapes: as `InstanceNorm3d`.
    Raises: in forward, ArgumentError for a wrong number of dimensions, ArgumentTypeError for an input that is not a
            tensor.
    Example:
        >>> layer = torch.nn.LazyInstanceNorm3d(affine=False)
        >>> layer(torch.ones(2, 3, 4, 5, 6)).shape, layer.num_features, type(layer).__name__
        (torch.Size([2, 3, 4, 5, 6]), 3, 'InstanceNorm3d')
    """

    cls_to_become = InstanceNorm3d


class GroupNorm(Layer):
    """Normalize groups of channels to mean 0 and variance 1, then multiply by weight and add bias.

    num_groups: a divisor of num_channels.  eps: added to the variance.  affine: whether there are weight and bias.
    Shapes: input [n, num_channels, *]; the result has the input's shape; weight and bias [num_channels].
    Raises: ArgumentError if num_groups does not divide num_channels, ArgumentTypeError for numbers that are not ints;
            in forward, ShapeError for another number of channels, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.GroupNorm(2, 4)(torch.tensor([[1.0, 3.0, 0.0, 8.0]])).detach()
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.count(name, "num_channels", num_channels)
        checks.integer(name, "num_groups", num_groups)
        if num_groups < 1 or num_channels % num_groups:
            raise ArgumentError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})",
                hint=f"choose num_groups among the divisors of {num_channels}",
                operator=name,
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _set_affine(self, (num_channels,), {"weight": affine, "bias": affine and bias}, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0.

        Example:
            >>> layer = torch.nn.GroupNorm(1, 2)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> layer.weight.detach()
            tensor([1., 1.])
        """
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        has_bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={has_bias}"


class RMSNorm(Layer):
    """Divide the last dimensions by their root mean square, then multiply by weight.

    normalized_shape: the sizes of those dimensions.  eps: added to the mean square; None is the machine epsilon.
    elementwise_affine: whether there is a weight.
    Shapes: input [*, *normalized_shape]; the result has the input's shape; weight normalized_shape.
    Raises: ArgumentTypeError, ArgumentError for an invalid normalized_shape; in forward, ShapeError if the last
            dimensions of the input differ from it, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.RMSNorm(2)(torch.tensor([[1.0, -7.0]])).detach()
        tensor([[ 0.2000, -1.4000]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = normalized_sizes(self._get_name(), normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _set_affine(self, self.normalized_shape, {"weight": elementwise_affine}, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1.

        Example:
            >>> layer = torch.nn.RMSNorm(2)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> layer.weight.detach()
            tensor([1., 1.])
        """
        _reset_affine(self)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Layer):
    """Divide each element by (k + alpha * mean of the squares of `size` neighbouring channels) ** beta.

    Shapes: input [n, c, *]; the result has the input's shape.
    Raises: in forward, ValueRangeError if size is below 1, ArgumentTypeError if it is not an int, ArgumentError for
            fewer than 3 dimensions.
    Example:
        >>> torch.nn.LocalResponseNorm(2)(torch.ones(1, 4, 3)).shape
        torch.Size([1, 4, 3])
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """Local response norm of images, kept for old code: divide by (k + alpha / size * a sum of squares) ** beta.

    As in PyTorch, the sum covers the channels at most (size - 1) // 2 away and, in addition, channel 0.
    Shapes: input [n, c, h, w]; the result has the input's shape.
    Raises: in forward, ValueRangeError if size is below 1, ArgumentTypeError if it is not an int, ArgumentError for
            other than 4 dimensions.
    Example:
        >>> torch.nn.CrossMapLRN2d(2)(torch.ones(1, 4, 3, 3)).shape
        torch.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        checks.tensor("CrossMapLRN2d", "input", input)
        checks.integer("CrossMapLRN2d", "size", self.size)
        if self.size < 1:
            raise ValueRangeError(
                f"size should be greater than zero, got {self.size}",
                hint="pass the number of neighbouring channels, 1 or more",
                operator="CrossMapLRN2d",
            )
        if input.ndim != 4:
            raise ArgumentError(
                f"expected a 4D input, got {input.ndim}D: {list(input.shape)}",
                hint="its shape is [n, c, h, w]",
                operator="CrossMapLRN2d",
            )
        reach = (self.size - 1) // 2
        with naming("CrossMapLRN2d"):
            squares = input * input
            total = REGISTRY["channel_sums"](squares, 2 * reach + 1, reach)
            if input.shape[1] > reach + 1:
                later = total[:, reach + 1 :] + squares[:, :1]
                total = REGISTRY["cat"]([total[:, : reach + 1], later], 1)
            result: Tensor = REGISTRY["damped"](input, total, self.alpha / self.size, float(self.beta), float(self.k))
        return result

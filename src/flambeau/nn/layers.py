"""Layers: linear maps, reshaping, shuffles, upsampling, normalization, dropout and embedding."""

from __future__ import annotations

import math
from typing import Any, Self

from ..autograd.mode import GradMode
from ..errors import ArgumentError, ArgumentTypeError, ShapeError, naming, shown
from ..ops.operator import REGISTRY
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init
from .module import Layer, Module
from .parameter import Parameter


class Identity(Module):
    """Return the input unchanged; constructor arguments are ignored.

    Shapes: the result has the input's shape.
    Example:
        >>> torch.nn.Identity(54, unused=True)(torch.tensor([1.0]))
        tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Layer):
    """A linear map: input @ weight.T + bias.

    Shapes: input [*, in_features]; result [*, out_features]; weight [out_features, in_features]; bias [out_features].
    Weight and bias start uniformly distributed in [-1/sqrt(in_features), 1/sqrt(in_features)].
    Raises: ArgumentTypeError, ValueRangeError for sizes that are not ints or are negative; in forward, ShapeError for
            an input of the wrong shape, DtypeError for one of another dtype than the weight.
    Example:
        >>> layer = torch.nn.Linear(3, 2)
        >>> layer(torch.ones(4, 3)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.count(name, "in_features", in_features)
        checks.count(name, "out_features", out_features)
        self.in_features = in_features
        self.out_features = out_features
        with naming(name):
            self.weight = Parameter(factories.empty(out_features, in_features, device=device, dtype=dtype))
            if bias:
                self.bias = Parameter(factories.empty(out_features, device=device, dtype=dtype))
            else:
                self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values of weight and bias, uniformly from [-1/sqrt(in_features), 1/sqrt(in_features)].

        Example:
            >>> layer = torch.nn.Linear(4, 3)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> bool((layer.weight.abs() <= 0.5).all())
            True
        """
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """A bilinear map: feature k of the result is input1 @ weight[k] @ input2 + bias[k].

    Shapes: inputs [*, in1_features] and [*, in2_features]; result [*, out_features];
            weight [out_features, in1_features, in2_features]; bias [out_features].
    Weight and bias start uniformly distributed in [-1/sqrt(in1_features), 1/sqrt(in1_features)].
    Raises: ArgumentTypeError, ValueRangeError for sizes that are not ints or are negative, ArgumentError if
            in1_features is 0; in forward, ShapeError for inputs that do not fit.
    Example:
        >>> torch.nn.Bilinear(3, 4, 2)(torch.ones(5, 3), torch.ones(5, 4)).shape
        torch.Size([5, 2])
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name = self._get_name()
        sizes = {"in1_features": in1_features, "in2_features": in2_features, "out_features": out_features}
        for what, size in sizes.items():
            checks.count(name, what, size)
        if not in1_features:
            raise ArgumentError("in1_features must be above 0, got 0", hint="pass 1 or more", operator=name)
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        with naming(name):
            weight = factories.empty(out_features, in1_features, in2_features, device=device, dtype=dtype)
            self.weight = Parameter(weight)
            if bias:
                self.bias = Parameter(factories.empty(out_features, device=device, dtype=dtype))
            else:
                self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values of weight and bias, uniformly from [-1/sqrt(in1_features), 1/sqrt(in1_features)].

        Example:
            >>> layer = torch.nn.Bilinear(4, 5, 3)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> bool((layer.weight.abs() <= 0.5).all())
            True
        """
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Flatten(Layer):
    """Merge the dimensions from start_dim to end_dim into one.

    Shapes: [*, sizes of the merged dimensions, *] gives [*, product of these sizes, *].
    Raises: in forward, IndexRangeError for a dimension out of range, ShapeError if start_dim comes after end_dim.
    Example:
        >>> torch.nn.Flatten()(torch.ones(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        checks.tensor("Flatten", "input", input)
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Layer):
    """Split dimension `dim` into several.

    unflattened_size: the sizes of the new dimensions, a tuple of ints; one of them may be -1, which is inferred.
    Shapes: [*, n, *] gives [*, *unflattened_size, *].
    Raises: ArgumentTypeError for any other unflattened_size; in forward, ShapeError for sizes that do not fit.
    Example:
        >>> torch.nn.Unflatten(1, (3, 4))(torch.ones(2, 12)).shape
        torch.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise ArgumentTypeError(
                f"unflattened_size must be a tuple of ints, got {shown(unflattened_size)}",
                hint="as in (2, 3)",
                operator="Unflatten",
            )
        for size in unflattened_size:
            checks.integer("Unflatten", "an entry of unflattened_size", size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        checks.tensor("Unflatten", "input", input)
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def normalized_sizes(name: str, shape: Any) -> tuple[int, ...]:
    """Return the sizes of the last dimensions.  Raises ArgumentTypeError, ValueRangeError."""
    sizes = (shape,) if hasattr(shape, "__index__") else shape
    if not isinstance(sizes, (tuple, list)):
        raise ArgumentTypeError(
            f"normalized_shape must be an int or a list of ints, got {shown(shape)}", hint="as in (3, 4)", operator=name
        )
    for size in sizes:
        checks.count(name, "an entry of normalized_shape", size)
    return tuple(sizes)


class LayerNorm(Layer):
    """Normalize the last dimensions to mean 0 and variance 1, then multiply by weight and add bias.

    normalized_shape: the sizes of those dimensions.  eps: added to the variance.
    elementwise_affine: whether there are weight and bias.  bias: whether there is a bias.
    Shapes: input [*, *normalized_shape]; result the same; weight and bias normalized_shape.
    Raises: ArgumentTypeError, ArgumentError for an invalid normalized_shape; in forward, ShapeError if the last
            dimensions of the input differ from it, DtypeError for an input that is not floating point.
    Example:
        >>> torch.nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]])).detach()
        tensor([[-1.0000,  1.0000]])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = normalized_sizes(self._get_name(), normalized_shape)
        checks.number(self._get_name(), "eps", eps)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        wanted = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        for name, present in wanted.items():
            with naming(self._get_name()):
                tensor = factories.empty(self.normalized_shape, device=device, dtype=dtype) if present else None
                self.register_parameter(name, None if tensor is None else Parameter(tensor))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0.

        Example:
            >>> layer = torch.nn.LayerNorm(3)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> layer.weight.detach()
            tensor([1., 1., 1.])
        """
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        has_bias = self.bias is not None
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={has_bias}"


class _Dropout(Layer):
    """Base of the dropout layers, with the probability p and the flag inplace."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        checks.number(self._get_name(), "p", p)
        if not 0 <= p <= 1:
            raise ArgumentError(
                f"dropout probability has to be between 0 and 1, but got {p}",
                hint="p=0.5 drops every other element",
                operator=self._get_name(),
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training mode, set elements to 0 with probability p and multiply the others by 1 / (1 - p).

    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError if it is not a number; in forward, DtypeError for
            integers.
    Example:
        >>> layer = torch.nn.Dropout(p=0.5)
        >>> sorted(set(layer(torch.ones(1000)).tolist()))
        [0.0, 2.0]
        >>> layer.eval()(torch.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """In training mode, set whole channels to 0 with probability p and multiply the others by 1 / (1 - p).

    inplace: overwrite the input.
    Shapes: [n, c, l] or [c, l]; the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError if it is not a number; in forward, ShapeError for
            another number of dimensions.
    Example:
        >>> torch.nn.Dropout1d()(torch.ones(2, 3, 4)).shape
        torch.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """In training mode, set whole channels to 0 with probability p and multiply the others by 1 / (1 - p).

    inplace: overwrite the input.
    Shapes: [n, c, h, w]; the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError if it is not a number; in forward, ShapeError for
            fewer than 2 dimensions.
    Example:
        >>> torch.nn.Dropout2d()(torch.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """In training mode, set whole channels to 0 with probability p and multiply the others by 1 / (1 - p).

    inplace: overwrite the input.
    Shapes: [n, c, d, h, w] or [c, d, h, w]; the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError if it is not a number.
    Example:
        >>> torch.nn.Dropout3d()(torch.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """In training mode, set elements to the saturated value of SELU with probability p; keep mean 0 and variance 1.

    inplace: overwrite the input.
    Shapes: the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError if it is not a number.
    Example:
        >>> torch.nn.AlphaDropout().eval()(torch.ones(1, 2))
        tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """In training mode, set whole channels to the saturated value of SELU with probability p; keep mean 0, variance 1.

    inplace: overwrite the input.
    Shapes: [n, c, *]; the result has the input's shape.
    Raises: ArgumentError if p is not in [0, 1], ArgumentTypeError if it is not a number; in forward, ShapeError for
            fewer than 2 dimensions.
    Example:
        >>> torch.nn.FeatureAlphaDropout().eval()(torch.ones(1, 2))
        tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)


_lookup = REGISTRY["embedding"]


def _padding_row(name: str, padding_idx: int | None, rows: int) -> int | None:
    """Return padding_idx as a non-negative index, or None.  Raises ArgumentTypeError, ArgumentError if out of range."""
    if padding_idx is None:
        return None
    checks.integer(name, "padding_idx", padding_idx)
    if not -rows <= padding_idx < rows:
        raise ArgumentError(
            f"padding_idx {padding_idx} must be within num_embeddings {rows}",
            hint=f"use {-rows} to {rows - 1}",
            operator=name,
        )
    return padding_idx % rows


def _checked_table(name: str, weight: Any, shape: list[int]) -> Any:
    """Check the shape of a given table and return it.  Raises ShapeError."""
    if list(weight.shape) != shape:
        raise ShapeError(
            f"_weight has shape {list(weight.shape)}, num_embeddings and embedding_dim are {shape}",
            hint="pass a _weight of shape [num_embeddings, embedding_dim]",
            operator=name,
        )
    return weight


class Embedding(Layer):
    """Look up rows of a table by index.

    padding_idx: the index of a row that is initialized to zeros and gets no gradient.
    max_norm: the largest norm, of order norm_type; looked-up rows with a larger norm are scaled down in place.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in input.
    sparse: must be False; gradients are dense.
    Shapes: input [*], integers; result [*, embedding_dim]; weight [num_embeddings, embedding_dim].
    Raises: ArgumentTypeError, ArgumentError for sizes or a padding_idx that are not ints or out of range,
            NotSupportedError for sparse=True; in forward, IndexRangeError for an index out of range on the CPU (a
            device-side assert on a GPU), DtypeError for indices that are not int32 or int64.
    Example:
        >>> layer = torch.nn.Embedding(10, 3, padding_idx=0)
        >>> layer(torch.tensor([[1, 0]])).shape
        torch.Size([1, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.flag(name, "scale_grad_by_freq", scale_grad_by_freq)
        checks.absent(name, "sparse", sparse)
        checks.count(name, "num_embeddings", num_embeddings)
        checks.count(name, "embedding_dim", embedding_dim)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _padding_row(name, padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        with naming(name):
            if _weight is None:
                weight = factories.empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
                self.weight = Parameter(weight, requires_grad=not _freeze)
                self.reset_parameters()
            else:
                self.weight = Parameter(_checked_table(name, _weight, [num_embeddings, embedding_dim]), not _freeze)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Make an embedding from a given table, [num_embeddings, embedding_dim].

        freeze: do not train the table.  The other arguments are those of the class.
        Raises: ShapeError for a table that does not have two dimensions, ArgumentTypeError for one that is not a
                tensor, DtypeError for an integer one that is not frozen.
        Example:
            >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> torch.nn.Embedding.from_pretrained(table)(torch.tensor([1, 0]))
            tensor([[3., 4.],
                    [1., 2.]])
        """
        checks.tensor("from_pretrained", "embeddings", embeddings)
        if embeddings.ndim != 2:
            raise ShapeError(
                f"the table must have 2 dimensions, this is {embeddings.describe()}",
                hint="its shape is [num_embeddings, embedding_dim]",
                operator="from_pretrained",
            )
        row = _padding_row("from_pretrained", padding_idx, embeddings.shape[0])
        checks.leaf("from_pretrained", embeddings, not freeze)
        with naming("from_pretrained"):
            rows, width = embeddings.shape
            return cls(rows, width, row, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def reset_parameters(self) -> None:
        """Draw new starting values from the standard normal distribution; the row padding_idx becomes zero.

        Example:
            >>> layer = torch.nn.Embedding(3, 2, padding_idx=0)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> layer.weight[0].detach()
            tensor([0., 0.])
        """
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with GradMode(False):
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        if self.max_norm is None:
            result: Tensor = _lookup(input, self.weight, self.padding_idx, self.scale_grad_by_freq)
            return result
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        limit = "" if self.max_norm is None else f", max_norm={self.max_norm}"
        order = "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        scaled = ", scale_grad_by_freq=True" if self.scale_grad_by_freq else ""
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{limit}{order}{scaled}"


class EmbeddingBag(Module):
    """Look up the rows of a table for bags of indices, and reduce each bag to its sum, mean or maximum.

    mode: "sum", "mean" or "max".  include_last_offset: whether offsets ends with an additional entry, the end of the
    last bag.
    padding_idx: the index of a row that is initialized to zeros, gets no gradient and is left out of the bags.
    max_norm: the largest norm, of order norm_type; looked-up rows with a larger norm are scaled down in place.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in input; not for mode "max".
    sparse: must be False; gradients are dense.
    Shapes: input [b, l], or [n] with offsets [b], where each bag starts; result [b, embedding_dim];
            weight [num_embeddings, embedding_dim].
    Raises: ArgumentTypeError, ArgumentError for sizes or a padding_idx that are not ints or out of range,
            NotSupportedError for sparse=True; in forward, the errors of `nn.functional.embedding_bag`: ArgumentError,
            IndexRangeError, DtypeError.
    Example:
        >>> layer = torch.nn.EmbeddingBag(10, 3, mode="sum")
        >>> layer(torch.tensor([1, 2, 4]), torch.tensor([0, 2])).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.flag(name, "scale_grad_by_freq", scale_grad_by_freq)
        checks.absent(name, "sparse", sparse)
        checks.count(name, "num_embeddings", num_embeddings)
        checks.count(name, "embedding_dim", embedding_dim)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.mode = mode
        self.include_last_offset = include_last_offset
        self.padding_idx = _padding_row(name, padding_idx, num_embeddings)
        with naming(name):
            if _weight is None:
                self.weight = Parameter(factories.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
                self.reset_parameters()
            else:
                self.weight = Parameter(_checked_table(name, _weight, [num_embeddings, embedding_dim]))

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Make an EmbeddingBag from a given table, [num_embeddings, embedding_dim].

        freeze: do not train the table.  The other arguments are those of the class.
        Raises: ShapeError for a table that does not have two dimensions.
        Example:
            >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> torch.nn.EmbeddingBag.from_pretrained(table, mode="sum")(torch.tensor([[0, 1]]))
            tensor([[4., 6.]])
        """
        checks.tensor("from_pretrained", "embeddings", embeddings)
        if embeddings.ndim != 2:
            raise ShapeError(
                f"the table must have 2 dimensions, this is {embeddings.describe()}",
                hint="its shape is [num_embeddings, embedding_dim]",
                operator="from_pretrained",
            )
        rows, width = embeddings.shape
        module = cls(
            rows, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )  # fmt: skip
        module.weight.requires_grad_(not freeze)
        return module

    def reset_parameters(self) -> None:
        """Draw new starting values from the standard normal distribution; the row padding_idx becomes zero.

        Example:
            >>> layer = torch.nn.EmbeddingBag(3, 2, padding_idx=0)
            >>> _ = torch.nn.init.constant_(layer.weight, 9.0)
            >>> layer.reset_parameters()
            >>> layer.weight[0].detach()
            tensor([0., 0.])
        """
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with GradMode(False):
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        limit = "" if self.max_norm is None else f", max_norm={self.max_norm}"
        order = "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        scaled = ", scale_grad_by_freq=True" if self.scale_grad_by_freq else ""
        return f"{self.num_embeddings}, {self.embedding_dim}{limit}{order}{scaled}, mode={self.mode!r}{padding}"


class ChannelShuffle(Module):
    """Interleave the channels of several groups.

    Shapes: [n, c, *], with c a multiple of groups; the result has the input's shape.
    Raises: in forward, ShapeError for fewer than 3 dimensions or channels that are not divisible by groups,
            ValueRangeError if groups is not positive.
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
    """Rearrange channels into squares of pixels: [..., c * r * r, h, w] gives [..., c, h * r, w * r].

    r is upscale_factor.
    Raises: in forward, ShapeError for fewer than 3 dimensions or channels that are not divisible by r * r,
            ValueRangeError if upscale_factor is not positive, ArgumentTypeError if it is not an int.
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
    """Rearrange squares of pixels into channels: [..., c, h * r, w * r] gives [..., c * r * r, h, w].

    r is downscale_factor.
    Raises: in forward, ShapeError for fewer than 3 dimensions or sizes that are not divisible by r, ValueRangeError if
            downscale_factor is not positive, ArgumentTypeError if it is not an int.
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


class Upsample(Layer):
    """Resize the spatial dimensions by interpolation: see `nn.functional.interpolate`, which takes the same arguments.

    Shapes: input [n, c, *]; the result [n, c, *sizes], with sizes from `size` or scale_factor.
    Raises: ArgumentTypeError for a scale_factor that is not a number; in forward, ArgumentError unless one of size and
            scale_factor is given, NotSupportedError for a mode that does not fit the input, ValueRangeError for empty
            images, DtypeError for integers other than uint8.
    Example:
        >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        for factor in scale_factor if isinstance(scale_factor, tuple) else [scale_factor or 1.0]:
            checks.number(self.name, "scale_factor", factor)
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        size = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resize images by nearest-neighbor interpolation: `Upsample` with mode="nearest".

    Shapes: input [n, c, h, w]; the result [n, c, *sizes], with sizes from `size` or scale_factor.
    Raises: in forward, ArgumentError unless one of size and scale_factor is given, ValueRangeError for empty images,
            DtypeError for integers other than uint8.
    Example:
        >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 2, 3)).shape
        torch.Size([1, 1, 4, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images by bilinear interpolation: `Upsample` with mode="bilinear" and align_corners=True.

    Shapes: input [n, c, h, w]; the result [n, c, *sizes], with sizes from `size` or scale_factor.
    Raises: in forward, NotSupportedError unless the input has 4 dimensions, ArgumentError unless one of size and
            scale_factor is given, ValueRangeError for empty images, DtypeError for integers other than uint8.
    Example:
        >>> torch.nn.UpsamplingBilinear2d(size=(4, 5))(torch.ones(1, 1, 2, 3)).shape
        torch.Size([1, 1, 4, 5])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class CosineSimilarity(Module):
    """Cosine of the angle between vectors along `dim`; lengths below eps count as eps.

    Shapes: the inputs broadcast together; the result is without `dim`.
    Raises: in forward, ShapeError if the shapes do not broadcast, IndexRangeError for a dimension out of range,
            DtypeError for inputs that are not floating point.
    Example:
        >>> torch.nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Compute the distance of x1 and x2: the p-norm of x1 - x2 + eps over the last dimension.

    Shapes: x1 and x2 broadcast together; the result is without the last dimension, or with size 1 there if keepdim.
    Raises: in forward, ShapeError if the shapes do not broadcast, ArgumentTypeError for a p that is not a number.
    Example:
        >>> torch.nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)

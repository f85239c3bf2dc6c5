"""Distributions of vectors and matrices, and of a proportion: Beta, which is Dirichlet of two parts."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..autograd.mode import no_grad
from ..core.tensor import TensorBase
from ..errors import ArgumentError, shown
from ..importer import listing
from ..ops.factorizations import (
    cholesky_inverse,
    cholesky_solve,
    linalg_cholesky,
    linalg_slogdet,
    linalg_solve_triangular,
)
from ..tensor import checks
from . import constraints
from .constraints import positive, unit_interval
from .continuous import LOG_2PI, Normal, floating
from .distribution import Distribution, ExponentialFamily, TransformedDistribution
from .library import lazy_property, shape_of, tiny, torch
from .sampling import sample_dirichlet, standard_gamma
from .transforms import StickBreakingTransform


def squared_length(factor: Any, vector: Any) -> Any:
    """Return x^T (L @ L^T)^-1 x for lower triangular factors and vectors, whose batches broadcast."""
    batch = shape_of([factor[..., 0], vector])
    size = vector.shape[-1]
    column = vector.expand(batch).unsqueeze(-1)
    solved = linalg_solve_triangular(factor.expand((*batch[:-1], size, size)), column, upper=False)
    return solved.pow(2).sum((-2, -1))


def product(matrix: Any, vector: Any) -> Any:
    """Return the products of matrices and vectors, whose batches broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def half_log_det(factor: Any) -> Any:
    """Return the logarithm of the determinant of a lower triangular factor."""
    return factor.diagonal(0, -2, -1).log().sum(-1)


def factor_of_precision(precision: Any) -> Any:
    """Return the Cholesky factor of the inverse of a matrix."""
    turned = linalg_cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    one = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg_solve_triangular(turned, one, upper=False)


# PyTorch's names, which packages import
_batch_mv, _batch_mahalanobis, _precision_to_scale_tril = product, squared_length, factor_of_precision


class _OfMatrix(Distribution):
    """A distribution with a positive definite matrix, given as covariance, precision or Cholesky factor."""

    unexpanded = ("_unbroadcasted_scale_tril",)
    _unbroadcasted_scale_tril: Any

    def _take_matrix(self, given: dict[str, Any], batch: Any) -> None:
        """Set the given matrix, expanded to a batch.  Raises ArgumentError unless exactly one is given."""
        named = {name: value for name, value in given.items() if value is not None}
        if len(named) != 1:
            raise ArgumentError(
                f"exactly one of {', '.join(given)} must be given, got {len(named)}",
                hint="pass one of them",
                operator=type(self).__name__,
            )
        ((name, value),) = named.items()
        checks.tensor(type(self).__name__, name, value)
        if value.dim() < 2:
            raise ArgumentError(
                f"{name} must be a matrix or a batch of matrices, got shape {list(value.shape)}",
                hint="torch.diag_embed makes a diagonal matrix of a vector",
                operator=type(self).__name__,
            )
        shape = torch.broadcast_tensors(value[..., 0, 0], torch.empty((), device=value.device).expand(batch))[0].shape
        self._matrix_batch = tuple(shape)
        setattr(self, name, value.expand((*shape, *value.shape[-2:])))
        self._matrix = name, value

    def _factor(self) -> Any:
        """Return the Cholesky factor of the covariance, not expanded to the batch of the other parameters."""
        name, value = self._matrix
        if name == "scale_tril":
            return value
        return linalg_cholesky(value) if name == "covariance_matrix" else factor_of_precision(value)

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        value = self._unbroadcasted_scale_tril
        return value.expand((*self._batch_shape, *value.shape[-2:]))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance, or the scale matrix."""
        value = self._unbroadcasted_scale_tril
        return (value @ value.mT).expand((*self._batch_shape, *value.shape[-2:]))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        value = self._unbroadcasted_scale_tril
        return cholesky_inverse(value).expand((*self._batch_shape, *value.shape[-2:]))


class MultivariateNormal(_OfMatrix):
    """The multivariate normal distribution, whose values are vectors of n numbers.

    loc: the mean, [*batch_shape, n].
    covariance_matrix, precision_matrix, scale_tril: the covariance, its inverse, and its lower Cholesky factor,
        [*batch_shape, n, n]; pass exactly one.
    Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of these matrices is given, or for tensors of too few dimensions,
            ArgumentTypeError for parameters that are not tensors.
    Example:
        >>> normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[4.0, 0.0], [0.0, 9.0]]))
        >>> normal.scale_tril, normal.variance
        (tensor([[2., 0.],
                [0., 3.]]), tensor([4., 9.]))
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        checks.tensor("MultivariateNormal", "loc", loc)
        if loc.dim() < 1:
            raise ArgumentError(
                f"loc must have at least one dimension, got {loc.item()}",
                hint="add a dimension with unsqueeze(0)",
                operator="MultivariateNormal",
            )
        given = {
            "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril,
        }  # fmt: skip
        self._take_matrix(given, loc.shape[:-1])
        self.loc = loc.expand((*self._matrix_batch, loc.shape[-1]))
        super().__init__(self._matrix_batch, loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = self._factor()

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        value = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return value.expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = torch.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        distance = squared_length(self._unbroadcasted_scale_tril, self._checked(value) - self.loc)
        return -0.5 * (self._event_shape[0] * LOG_2PI + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Any:
        value = 0.5 * self._event_shape[0] * (1 + LOG_2PI) + half_log_det(self._unbroadcasted_scale_tril)
        return value.expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """The multivariate normal distribution with the covariance matrix cov_factor @ cov_factor.T + diag(cov_diag).

    Values are vectors of n numbers.  The methods factorize a k x k matrix, not an n x n one: cheap for small k.
    loc: the mean, [*batch_shape, n].  cov_factor: [*batch_shape, n, k].  cov_diag: positive, [*batch_shape, n].
    Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError for tensors whose shapes do not fit, ArgumentTypeError for parameters that are not tensors.
    Example:
        >>> factor = torch.tensor([[1.0], [2.0]])
        >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), factor, torch.ones(2)).covariance_matrix
        tensor([[2., 2.],
                [2., 5.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    unexpanded = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        name = "LowRankMultivariateNormal"
        for what, value in (("loc", loc), ("cov_factor", cov_factor), ("cov_diag", cov_diag)):
            checks.tensor(name, what, value)
        size = loc.shape[-1:]
        if loc.dim() < 1 or cov_factor.dim() < 2 or cov_factor.shape[-2:-1] != size or cov_diag.shape[-1:] != size:
            raise ArgumentError(
                f"loc [*, n] needs cov_factor [*, n, m] and cov_diag [*, n], got shapes {list(loc.shape)}, "
                f"{list(cov_factor.shape)} and {list(cov_diag.shape)}",
                hint="n is the size of one event",
                operator=name,
            )
        loc_, diag_ = torch.broadcast_tensors(loc, cov_diag, cov_factor[..., 0])[:2]
        batch = loc_.shape[:-1]
        self.loc, self.cov_diag = loc_, diag_
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        super().__init__(batch, size, validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        weighted = cov_factor.mT / cov_diag.unsqueeze(-2)
        one = torch.eye(cov_factor.shape[-1], dtype=cov_factor.dtype, device=cov_factor.device)
        self._capacitance_tril = linalg_cholesky(weighted @ cov_factor + one)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        value = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return value.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return linalg_cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        value = self.cov_factor @ self.cov_factor.mT + torch.diag_embed(self.cov_diag)
        return value.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        weighted = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        part = linalg_solve_triangular(self._capacitance_tril, weighted, upper=False)
        value = torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - part.mT @ part
        return value.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        narrow = torch.randn((*shape[:-1], self.cov_factor.shape[-1]), **options)
        wide = torch.randn(shape, **options)
        through = (self._unbroadcasted_cov_factor @ narrow.unsqueeze(-1)).squeeze(-1)
        return self.loc + through + self._unbroadcasted_cov_diag.sqrt() * wide

    def _half_log_det(self) -> Any:
        return half_log_det(self._capacitance_tril) + 0.5 * self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        distance = self._checked(value) - self.loc
        weighted = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        inner = (weighted @ distance.unsqueeze(-1)).squeeze(-1)
        length = (distance.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        length = length - squared_length(self._capacitance_tril, inner)
        return -0.5 * (self._event_shape[0] * LOG_2PI + length) - self._half_log_det()

    def entropy(self) -> Any:
        value = 0.5 * self._event_shape[0] * (1 + LOG_2PI) + self._half_log_det()
        return value.expand(self._batch_shape)


class LogisticNormal(TransformedDistribution):
    """The logistic-normal distribution: vectors of n + 1 positive numbers of sum 1.

    A value is a vector of n independent normal variables, after StickBreakingTransform.
    loc, scale: the means and standard deviations of the normal variables, [*batch_shape, n].
    Shapes: the event shape is [n + 1].
    validate_args: as in Distribution.
    Raises: ArgumentError for a scale that is not positive, ShapeError for parameters that do not broadcast, and in
            `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> distribution = torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2))
        >>> distribution.event_shape, torch.allclose(distribution.sample().sum(), torch.tensor(1.0))
        (torch.Size([3]), True)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """The mean of the normal vector."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviations of the normal vector."""
        return self.base_dist.base_dist.scale


class LKJCholesky(Distribution):
    """The LKJ distribution of lower Cholesky factors of correlation matrices.

    The density of a correlation matrix is proportional to its determinant to the power of concentration - 1.
    D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines and extended onion
    method", 2009.
    dim: the number of rows of the matrices, 2 or more.  concentration: a positive number or tensor of the batch shape;
        1, the default, gives all correlation matrices the same density.
    Shapes: the event shape is [dim, dim].
    validate_args: as in Distribution.
    Raises: ArgumentError for a dim below 2, ArgumentTypeError for one that is not an int.
    Example:
        >>> factor = torch.distributions.LKJCholesky(3, 1.0).sample()
        >>> torch.allclose((factor @ factor.T).diagonal(), torch.ones(3))
        True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    has_rsample = False

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        checks.integer("LKJCholesky", "dim", dim)
        if dim < 2:
            raise ArgumentError(
                f"dim must be at least 2, got {dim}",
                hint="pass 2 or more: a correlation is between two variables",
                operator="LKJCholesky",
            )
        self.dim = dim
        (self.concentration,) = floating(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)
        self._beta = self._radii()

    def _radii(self) -> Any:
        """Return the distribution of the squared length of each row without its last element."""
        concentration = self.concentration.detach()
        offset = torch.arange(self.dim - 1, device=concentration.device).to(concentration.dtype)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        marginal = concentration.unsqueeze(-1) + 0.5 * (self.dim - 2)
        return Beta(offset + 0.5, marginal - 0.5 * offset, validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._beta = new._radii()
        return new

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            radius = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = torch.randn(shape, dtype=self.concentration.dtype, device=self.concentration.device).tril(-1)
            length = normal.pow(2).sum(-1, keepdim=True).sqrt()
            direction = normal / length.clamp(min=tiny(normal.dtype))
            lower = (radius.sqrt() * direction).tril(-1)
            diagonal = (1 - lower.pow(2).sum(-1)).clamp(min=tiny(normal.dtype)).sqrt()
            one = torch.eye(self.dim, dtype=normal.dtype, device=normal.device)
            return lower + diagonal.unsqueeze(-1) * one

    def log_prob(self, value: Any) -> Any:
        diagonal = self._checked(value).diagonal(0, -2, -1)[..., 1:]
        rank = torch.arange(2, self.dim + 1, device=diagonal.device).to(diagonal.dtype)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rank
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        top = torch.lgamma(alpha) * count
        bottom = torch.mvlgamma(alpha - 0.5, count)
        size = 0.5 * count * math.log(math.pi) + bottom - top
        return (order * diagonal.log()).sum(-1) - size


class Wishart(_OfMatrix, ExponentialFamily):
    """The Wishart distribution, whose values are positive definite n x n matrices.

    For an integer df, a value is the sum of the outer products x x^T of df independent normal vectors x of mean 0.
    df: the degrees of freedom, a number or tensor of the batch shape, above n - 1.
    covariance_matrix, precision_matrix, scale_tril: the covariance of the vectors, its inverse, and its lower Cholesky
        factor, [*batch_shape, n, n]; pass exactly one.
    Shapes: the event shape is [n, n].
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of these matrices is given, or for a df of n - 1 or less,
            ArgumentTypeError for a matrix that is not a tensor.
    Example:
        >>> torch.distributions.Wishart(torch.tensor(4.0), torch.eye(2)).mean
        tensor([[4., 0.],
                [0., 4.]])
    """

    support = constraints.positive_definite
    has_rsample = True

    @property
    def arg_constraints(self) -> Any:
        """The constraints of the parameters: that of df depends on the size of the matrix."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        (df,) = floating(df)
        given = {
            "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril,
        }  # fmt: skip
        self._take_matrix(given, df.shape)
        size = self._matrix[1].shape[-1]
        if not (df > size - 1).all():
            raise ArgumentError(
                f"df must be greater than {size - 1}, the size of the matrix minus 1, got "
                f"{df.reshape((-1,)).tolist()[:8]}",
                hint="pass a larger df",
                operator="Wishart",
            )
        self.df = df.to(self._matrix[1].dtype).expand(self._matrix_batch)
        if (self.df < size).any():
            warnings.warn("Wishart: low df values detected; singular samples are likely", stacklevel=2)
        super().__init__(self._matrix_batch, (size, size), validate_args)
        self._unbroadcasted_scale_tril = self._factor()

    @property
    def mean(self) -> Any:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self._event_shape[-1] - 1
        return torch.where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(0, -2, -1)
        return self.df[..., None, None] * (matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """Draw samples that are differentiable functions of the parameters, by M. Bartlett's decomposition (1934).

        sample_shape: the shape of the samples to draw from each distribution of the batch; () draws one.
        max_try_correction: has no effect.
        Shapes: the result is (*sample_shape, *batch_shape, n, n).
        Raises: ArgumentTypeError for a shape that is not of ints, ShapeError for a negative size.
        Example:
            >>> torch.distributions.Wishart(torch.tensor(4.0), torch.eye(2)).rsample((3,)).shape
            torch.Size([3, 2, 2])
        """
        size = self._event_shape[-1]
        shape = self._extended_shape(sample_shape)
        places = torch.arange(size, device=self.df.device).to(self.df.dtype)
        chi = standard_gamma((0.5 * (self.df.unsqueeze(-1) - places)).expand(shape[:-1])) * 2
        noise = torch.randn(shape, dtype=self.df.dtype, device=self.df.device).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (noise + torch.diag_embed(chi.sqrt()))
        return factor @ factor.mT

    def _log_size(self) -> Any:
        """Return the logarithm of the normalizer."""
        size = self._event_shape[-1]
        half = 0.5 * self.df
        log_det = half_log_det(self._unbroadcasted_scale_tril)
        return half * size * math.log(2) + self.df * log_det + torch.mvlgamma(half, size)

    def log_prob(self, value: Any) -> Any:
        value, size = self._checked(value), self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        solved = cholesky_solve(value, factor).diagonal(0, -2, -1).sum(-1)
        return 0.5 * (self.df - size - 1) * linalg_slogdet(value)[1] - 0.5 * solved - self._log_size()

    def entropy(self) -> Any:
        size = self._event_shape[-1]
        log_det = 2 * half_log_det(self._unbroadcasted_scale_tril)
        half = 0.5 * self.df
        expected = multi_digamma(half, size) + size * math.log(2) + log_det
        return self._log_size() - 0.5 * (self.df - size - 1) * expected + half * size

    @property
    def _natural_params(self) -> Any:
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._event_shape[-1] - 1)

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        size = self._event_shape[-1]
        power = y + 0.5 * (size + 1)
        return power * (-linalg_slogdet(-2 * x)[1] + size * math.log(2)) + torch.mvlgamma(power, size)

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0


def multi_digamma(value: Any, size: int) -> Any:
    """Return the derivative of mvlgamma."""
    places = torch.arange(size, device=value.device).to(value.dtype) / 2
    return torch.digamma(value.unsqueeze(-1) - places).sum(-1)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: vectors of n positive numbers of sum 1.

    The density is proportional to the product of x[i] ** (concentration[i] - 1).
    concentration: a positive tensor, [*batch_shape, n].  Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError for a concentration that is not positive, not a tensor or without dimensions, and in
            `log_prob` for a value outside the support.
    Example:
        >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if not isinstance(concentration, TensorBase) or concentration.ndim < 1:
            raise ArgumentError(
                f"the concentration must be a tensor of at least one dimension, got {shown(concentration)}",
                hint="pass a vector with one number for each class",
                operator="Dirichlet",
            )
        (self.concentration,) = floating(concentration)
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        value, a = self._checked(value), self.concentration
        return torch.xlogy(a - 1, value).sum(-1) + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Any:
        """The most probable value; a corner where no concentration exceeds 1."""
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, keepdim=True)
        is_flat = (self.concentration < 1).all(-1, keepdim=True)
        count = self.concentration.shape[-1]
        index = mode.argmax(-1)
        corner = torch.arange(count, device=index.device).eq(index.unsqueeze(-1)).to(mode.dtype)
        return torch.where(is_flat, corner, mode)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        a, count = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        size = torch.lgamma(a).sum(-1) - torch.lgamma(total)
        return size - (count - total) * torch.digamma(total) - ((a - 1) * torch.digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> Any:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return torch.lgamma(x).sum(-1) - torch.lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """The beta distribution on (0, 1), with two shape parameters.

    The density is proportional to x ** (concentration1 - 1) * (1 - x) ** (concentration0 - 1).
    concentration1, concentration0: positive numbers or tensors, which broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Beta(3.0, 1.0).mean
        tensor(0.7500)
    """

    arg_constraints = {"concentration1": positive, "concentration0": positive}
    support = unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        one, zero = floating(concentration1, concentration0)
        self._dirichlet = Dirichlet(torch.stack([one, zero], -1), validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return new

    @property
    def concentration1(self) -> Any:
        """The concentration near 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        """The concentration near 0."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        return self._dirichlet.log_prob(torch.stack([value, 1 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> Any:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)


__all__ = [
    "Beta", "Dirichlet", "LKJCholesky", "LogisticNormal", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart",
]  # fmt: skip
__dir__ = listing(globals())

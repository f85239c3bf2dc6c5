"""Distributions of one real variable."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.mode import no_grad
from ..errors import ArgumentError, shown
from ..host import np
from ..importer import listing
from . import constraints
from .constraints import positive, real, unit_interval
from .distribution import Distribution, ExponentialFamily, TransformedDistribution
from .library import (
    as_floating,
    broadcast_all,
    clamp_probs,
    epsilon,
    lazy_property,
    logit_log_prob,
    logits_to_probs,
    probs_to_logits,
    tiny,
    torch,
)
from .sampling import standard_gamma
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform

EULER = 0.57721566490153286060
LOG_2PI = math.log(2 * math.pi)


def floating(*values: Any) -> tuple[Any, ...]:
    """Return parameters as floating point tensors of one shape."""
    return tuple(map(as_floating, broadcast_all(*values)))


def uniform_open(shape: Any, like: Any) -> Any:
    """Return uniform numbers in (0, 1), without either end."""
    value = torch.rand(shape, dtype=like.dtype, device=like.device)
    return value.clamp(min=tiny(like.dtype), max=1 - epsilon(like.dtype) / 2)


class Normal(ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    loc, scale: numbers or tensors, which broadcast to the batch shape; scale is positive.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Normal(0.0, 2.0).cdf(torch.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8413])
    """

    arg_constraints = {"loc": real, "scale": positive}
    support = real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = floating(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * torch.randn(shape, dtype=self.loc.dtype, device=self.loc.device)

    def log_prob(self, value: Any) -> Any:
        distance = (self._checked(value) - self.loc) / self.scale
        return -0.5 * distance * distance - self.scale.log() - LOG_2PI / 2

    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + torch.erf((self._checked(value) - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + LOG_2PI / 2 + self.scale.log()

    @property
    def _natural_params(self) -> Any:
        return self.loc / self.variance, -0.5 / self.variance

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x * x / y + 0.5 * torch.log(-math.pi / y)

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0


class Laplace(Distribution):
    """The Laplace distribution: density exp(-|x - loc| / scale) / (2 * scale).

    loc, scale: numbers or tensors, which broadcast to the batch shape; scale is positive.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Laplace(1.0, 2.0).variance
        tensor(8.)
    """

    arg_constraints = {"loc": real, "scale": positive}
    support = real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = floating(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        u = torch.empty(shape, dtype=self.loc.dtype, device=self.loc.device)
        u.uniform_(epsilon(u.dtype) - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value: Any) -> Any:
        return -torch.log(2 * self.scale) - (self._checked(value) - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        distance = self._checked(value) - self.loc
        return 0.5 - 0.5 * distance.sign() * torch.expm1(-distance.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self) -> Any:
        return 1 + torch.log(2 * self.scale)


class Cauchy(Distribution):
    """The Cauchy distribution: loc + scale times the quotient of two standard normal variables.

    The mean and variance do not exist: `mean` is nan, `variance` is inf.
    loc, scale: numbers or tensors, which broadcast to the batch shape; scale is positive.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
        tensor(0.7500)
    """

    arg_constraints = {"loc": real, "scale": positive}
    support = real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = floating(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return torch.full_like(self.loc, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return torch.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = torch.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise.cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        distance = (self._checked(value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - torch.log1p(distance * distance)

    def cdf(self, value: Any) -> Any:
        return torch.atan((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    low, high: numbers or tensors, which broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError unless low < high or validate_args is False.
    Example:
        >>> torch.distributions.Uniform(1.0, 5.0).cdf(torch.tensor([1.0, 2.0, 5.0]))
        tensor([0.0000, 0.2500, 1.0000])
    """

    has_rsample = True

    @property
    def arg_constraints(self) -> Any:
        """The constraint of each bound, which is the other one."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = floating(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not (self.low < self.high).all():
            raise ArgumentError(
                f"low must be less than high, got {shown(low)} and {shown(high)}", hint="swap them", operator="Uniform"
            )

    def _check_parameters(self) -> None:
        """Check nothing: one error names both bounds."""

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Any:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        u = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        inside = (value >= self.low) & (value < self.high)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """The exponential distribution: density rate * exp(-rate * x) for x >= 0.

    rate: a positive number or tensor of the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, and in `log_prob` ArgumentError for
            a value outside the support.
    Example:
        >>> torch.distributions.Exponential(torch.tensor([0.5, 4.0])).mean
        tensor([2.0000, 0.2500])
    """

    arg_constraints = {"rate": positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = floating(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = torch.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype, device=self.rate.device)
        return noise.exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Any:
        return 1 - torch.exp(-self.rate * self._checked(value))  # expm1 would lose the gradients of large values

    def icdf(self, value: Any) -> Any:
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> Any:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -torch.log(-x)

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0


class Gamma(ExponentialFamily):
    """The gamma distribution: density proportional to x ** (concentration - 1) * exp(-rate * x) for x > 0.

    concentration, rate: positive numbers or tensors, which broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Gamma(3.0, 2.0).mean
        tensor(1.5000)
    """

    arg_constraints = {"concentration": positive, "rate": positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = floating(concentration, rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=tiny(value.dtype))

    def log_prob(self, value: Any) -> Any:
        value = self._checked(torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))
        a = self.concentration
        return torch.xlogy(a, self.rate) + torch.xlogy(a - 1, value) - self.rate * value - torch.lgamma(a)

    def entropy(self) -> Any:
        a = self.concentration
        return a - self.rate.log() + torch.lgamma(a) + (1 - a) * torch.digamma(a)

    def cdf(self, value: Any) -> Any:
        return torch.igamma(self.concentration, self.rate * self._checked(value))

    @property
    def _natural_params(self) -> Any:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return torch.lgamma(x + 1) - (x + 1) * torch.log(-y)

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0


class Chi2(Gamma):
    """The chi-squared distribution: the distribution of the sum of df squared standard normal variables.

    df: the degrees of freedom, a positive number or tensor of the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, and in `log_prob` ArgumentError for
            a value outside the support.
    Example:
        >>> torch.distributions.Chi2(3.0).variance
        tensor(6.)
    """

    arg_constraints = {"df": positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * as_floating(df), 0.5, validate_args=validate_args)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2


class InverseGamma(TransformedDistribution):
    """The inverse gamma distribution: the distribution of 1 / x for a variable x with a Gamma distribution.

    concentration, rate: the parameters of the Gamma distribution, positive numbers or tensors, which broadcast to the
    batch shape.
    The mean is rate / (concentration - 1) for a concentration above 1, else inf.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.InverseGamma(3.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"concentration": positive, "rate": positive}
    support = positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-torch.ones_like(base.rate[(0,) * base.rate.dim()])), validate_args)

    @property
    def concentration(self) -> Any:
        """The concentration of the gamma variable."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """The rate of the gamma variable."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        a = self.concentration
        return torch.where(a > 2, self.rate.pow(2) / ((a - 1).pow(2) * (a - 2)), math.inf)

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + torch.lgamma(a) - (1 + a) * torch.digamma(a)


class StudentT(Distribution):
    """Student's t-distribution: loc + scale * t, for a variable t with df degrees of freedom.

    df, loc, scale: numbers or tensors, which broadcast to the batch shape; df and scale are positive.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.StudentT(4.0, loc=1.0).variance
        tensor(2.)
    """

    arg_constraints = {"df": positive, "loc": real, "scale": positive}
    support = real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = floating(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        has_variance = self.df > 2
        df = torch.where(has_variance, self.df, 3.0)  # where it is not used, so that no gradient is NaN
        spread = self.scale.pow(2) * df / (df - 2)
        return torch.where(has_variance, spread, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        normal = torch.randn(shape, dtype=self.df.dtype, device=self.df.device)
        chi = 2 * standard_gamma((0.5 * self.df).expand(shape))
        return self.loc + self.scale * normal * (self.df / chi).sqrt()

    def log_prob(self, value: Any) -> Any:
        distance = (self._checked(value) - self.loc) / self.scale
        tail = -0.5 * (self.df + 1) * torch.log1p(distance * distance / self.df)
        return tail - self._log_size()

    def _log_size(self) -> Any:
        ratio = torch.lgamma(0.5 * self.df) - torch.lgamma(0.5 * (self.df + 1))
        return self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + ratio

    def entropy(self) -> Any:
        half = 0.5 * (self.df + 1)
        return half * (torch.digamma(half) - torch.digamma(0.5 * self.df)) + self._log_size()


class FisherSnedecor(Distribution):
    """The F-distribution: the quotient of two chi-squared variables, each divided by its degrees of freedom.

    df1, df2: the degrees of freedom of the numerator and of the denominator, positive numbers or tensors, which
    broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.FisherSnedecor(2.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"df1": positive, "df2": positive}
    support = positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = floating(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return torch.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Any:
        value = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return value.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        one, two = self.df1, self.df2
        value = 2 * two.pow(2) * (one + two - 2) / (one * (two - 2).pow(2) * (two - 4))
        return torch.where(two > 4, value, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        top, bottom = (standard_gamma((0.5 * df).expand(shape)) / df for df in (self.df1, self.df2))
        return top / bottom.clamp(min=tiny(bottom.dtype))

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        one, two, ratio = 0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2
        size = torch.lgamma(one) + torch.lgamma(two) - torch.lgamma(one + two)
        return one * ratio.log() + (one - 1) * value.log() - (one + two) * torch.log1p(ratio * value) - size


class _Half(TransformedDistribution):
    """The absolute value of a variable with a distribution symmetric around 0."""

    arg_constraints = {"scale": positive}
    support = constraints.nonnegative
    has_rsample = True

    @property
    def scale(self) -> Any:
        """The scale of the symmetric variable."""
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        return self._log_density(self._checked(value))

    def _log_density(self, value: Any) -> Any:
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob: Any) -> Any:
        """Return the quantiles at the probabilities `prob`: the inverse of `cdf`.

        prob: probabilities in [0, 1].
        Shapes: prob broadcasts with the batch shape; the result has the broadcast shape.
        Example:
            >>> torch.distributions.HalfCauchy(2.0).icdf(torch.tensor([0.0, 0.5]))
            tensor([0., 2.])
        """
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The half-normal distribution: the distribution of |x| for a normal variable x of mean 0.

    scale: the standard deviation of x, a positive number or tensor of the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, and in `log_prob` ArgumentError for
            a value outside the support.
    Example:
        >>> torch.distributions.HalfNormal(1.0).cdf(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6827])
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The half-Cauchy distribution: the distribution of |x| for a variable x with the distribution Cauchy(0, scale).

    scale: a positive number or tensor of the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, and in `log_prob` ArgumentError for
            a value outside the support.
    Example:
        >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
        tensor(0.5000)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

    def _log_density(self, value: Any) -> Any:
        return super()._log_density(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))

    @property
    def mean(self) -> Any:
        return torch.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance


class LogNormal(TransformedDistribution):
    """The log-normal distribution: the distribution of exp(x) for a normal variable x.

    loc, scale: the mean and standard deviation of x, numbers or tensors, which broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.LogNormal(0.0, 1.0).cdf(torch.tensor(1.0))
        tensor(0.5000)
    """

    arg_constraints = {"loc": real, "scale": positive}
    support = positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        return (self.loc - self.scale.pow(2)).exp()

    @property
    def variance(self) -> Any:
        square = self.scale.pow(2)
        return torch.expm1(square) * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, the limit of maxima of many values: its cdf is exp(-exp(-(x - loc) / scale)).

    loc, scale: numbers or tensors, which broadcast to the batch shape; scale is positive.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Gumbel(1.0, 2.0).mode
        tensor(1.)
    """

    arg_constraints = {"loc": real, "scale": positive}
    support = real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = floating(loc, scale)
        low = torch.full_like(self.loc, tiny(self.loc.dtype))
        base = Uniform(low, torch.full_like(self.loc, 1 - epsilon(self.loc.dtype)), validate_args=validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -torch.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args)

    def log_prob(self, value: Any) -> Any:
        y = (self.loc - self._checked(value)) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        return self.scale.log() + (1 + EULER)


class Pareto(TransformedDistribution):
    """The Pareto distribution: density alpha * scale ** alpha / x ** (alpha + 1) for x >= scale.

    scale, alpha: positive numbers or tensors, which broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Pareto(2.0, 3.0).mean
        tensor(3.)
    """

    arg_constraints = {"alpha": positive, "scale": positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = floating(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class Weibull(TransformedDistribution):
    """The Weibull distribution: its cdf is 1 - exp(-(x / scale) ** concentration) for x > 0.

    scale, concentration: positive numbers or tensors, which broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Weibull(2.0, 1.0).cdf(torch.tensor(2.0))
        tensor(0.6321)
    """

    arg_constraints = {"scale": positive, "concentration": positive}
    support = positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = floating(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args)

    def _moment(self, order: int) -> Any:
        return torch.exp(torch.lgamma(1 + order * self.concentration_reciprocal))

    @property
    def mean(self) -> Any:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Any:
        a = self.concentration
        power = ((a - 1) / a) ** self.concentration_reciprocal
        return self.scale * power

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    def entropy(self) -> Any:
        return EULER * (1 - self.concentration_reciprocal) + (self.scale * self.concentration_reciprocal).log() + 1


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on (0, 1): its cdf is 1 - (1 - x ** concentration1) ** concentration0.

    concentration1, concentration0: positive numbers or tensors, which broadcast to the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.Kumaraswamy(1.0, 2.0).cdf(torch.tensor(0.5))
        tensor(0.7500)
    """

    arg_constraints = {"concentration1": positive, "concentration0": positive}
    support = unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = floating(concentration1, concentration0)
        base = Uniform(
            torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0), validate_args=validate_args
        )
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args)

    def _moment(self, order: int) -> Any:
        a, b = 1 + order / self.concentration1, self.concentration0
        return torch.exp(torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)) * b

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        value = torch.exp(a.reciprocal() * torch.log1p(-b) - a.reciprocal() * torch.log1p(-a * b))
        return value.masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self) -> Any:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Any:
        one, zero = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = torch.digamma(self.concentration0 + 1) + EULER
        return zero + one * harmonic - self.concentration1.log() - self.concentration0.log()


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution, which models values above a threshold `loc`.

    The density is (1 + concentration * (x - loc) / scale) ** (-1 / concentration - 1) / scale for x >= loc; for a
    concentration of 0 it is exp(-(x - loc) / scale) / scale.
    loc, scale, concentration: numbers or tensors, which broadcast to the batch shape; scale is positive.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.GeneralizedPareto(0.0, 2.0, 0.5).mean
        tensor(4.)
    """

    arg_constraints = {"loc": real, "scale": positive, "concentration": real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = floating(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _shape(self) -> tuple[Any, Any]:
        """Return (whether the concentration is 0, the concentration with 1 in place of 0)."""
        is_zero = self.concentration.abs() < epsilon(self.concentration.dtype)
        return is_zero, self.concentration.masked_fill(is_zero, 1.0)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = self.loc - self.scale / self._shape()[1]
        return constraints.interval(self.loc, torch.where(self.concentration < 0, upper, math.inf))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def log_prob(self, value: Any) -> Any:
        z, (is_zero, k) = self._z(self._checked(value)), self._shape()
        log_scale = self.scale.log()
        return torch.where(is_zero, -z, -(1 + 1 / k) * torch.log1p(k * z)) - log_scale

    def log_survival_function(self, value: Any) -> Any:
        """Return the logarithm of the probability of values above `value`: log(1 - cdf(value)).

        It is accurate where the cdf is near 1.
        Shapes: value broadcasts with the batch shape; the result has the broadcast shape.
        Raises: ArgumentError for a value that is not a tensor or outside the support, ShapeError if it does not
                broadcast.
        Example:
            >>> torch.distributions.GeneralizedPareto(0.0, 2.0, 0.0).log_survival_function(torch.tensor([1.0, 4.0]))
            tensor([-0.5000, -2.0000])
        """
        z, (is_zero, k) = self._z(self._checked(value)), self._shape()
        return torch.where(is_zero, -z, -torch.log1p(k * z) / k)

    def log_cdf(self, value: Any) -> Any:
        """Return the logarithm of the cumulative distribution function: log(cdf(value)).

        Shapes: value broadcasts with the batch shape; the result has the broadcast shape.
        Raises: ArgumentError for a value that is not a tensor or outside the support, ShapeError if it does not
                broadcast.
        Example:
            >>> torch.distributions.GeneralizedPareto(0.0, 2.0, 1.0).log_cdf(torch.tensor(2.0)).exp()
            tensor(0.5000)
        """
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        is_zero, k = self._shape()
        logarithm = torch.log1p(-value)
        return self.loc + self.scale * torch.where(is_zero, -logarithm, torch.expm1(-k * logarithm) / k)

    @property
    def mean(self) -> Any:
        k = self.concentration
        return torch.where(k < 1, self.loc + self.scale / (1 - k), math.nan)

    @property
    def variance(self) -> Any:
        k = self.concentration
        return torch.where(k < 0.5, self.scale.pow(2) / ((1 - k).pow(2) * (1 - 2 * k)), math.nan)

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1

    @property
    def mode(self) -> Any:
        return self.loc


class VonMises(Distribution):
    """The von Mises distribution of angles, in radians: density proportional to exp(concentration * cos(x - loc)).

    loc, concentration: numbers or tensors, which broadcast to the batch shape; concentration is positive.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, ShapeError for parameters that do
            not broadcast, and in `log_prob` ArgumentError for a value outside the support.
    Example:
        >>> torch.distributions.VonMises(1.0, 4.0).mean
        tensor(1.)
    """

    arg_constraints = {"loc": real, "concentration": positive}
    support = real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = floating(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        size = torch.log(torch.special_i0e(self.concentration)) + self.concentration
        return self.concentration * torch.cos(self._checked(value) - self.loc) - LOG_2PI - size

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draw samples, angles in [-pi, pi), without a gradient.

        The samples are drawn on the host, by rejection: D. Best, N. Fisher, "Efficient Simulation of the von Mises
        Distribution", 1979.
        sample_shape: the shape of the samples to draw from each distribution of the batch; () draws one.
        Shapes: the result is (*sample_shape, *batch_shape).
        Host:   waits if the parameters are on a GPU.
        Raises: ArgumentTypeError for a shape that is not of ints, ShapeError for a negative size.
        Example:
            >>> torch.distributions.VonMises(torch.zeros(3), 4.0).sample((2,)).shape
            torch.Size([2, 3])
        """
        shape = tuple(self._extended_shape(sample_shape))
        seed = int(torch.randint(0, 2**31 - 1, (), device=self.loc.device).item())
        with no_grad():
            loc, kappa = (value.detach().expand(shape).cpu().numpy() for value in (self.loc, self.concentration))
            drawn = np.random.default_rng(seed).vonmises(loc.astype("float64"), kappa.astype("float64"))
            return torch.from_numpy(np.asarray(drawn)).to(self.loc.device, self.loc.dtype)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance, 1 - I1(concentration) / I0(concentration); I0, I1: modified Bessel functions."""
        return 1 - torch.special_i1e(self.concentration) / torch.special_i0e(self.concentration)


class ContinuousBernoulli(ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1]: density proportional to probs ** x * (1 - probs) ** (1 - x).

    probs, logits: the parameter, or its log-odds; pass exactly one, whose shape is the batch shape.  probs are clamped
        to (0, 1).
    lims: two numbers around 1/2: for probs between them, Taylor series replace formulas that are inaccurate near 1/2.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given.
    Example:
        >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).mean
        tensor(0.5000)
    """

    arg_constraints = {"probs": unit_interval, "logits": real}
    support = unit_interval
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if (probs is None) == (logits is None):
            raise ArgumentError(
                "exactly one of probs and logits must be given",
                hint="pass probs=, or logits=",
                operator="ContinuousBernoulli",
            )
        self._lims = lims
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        (value,) = floating(value)
        self._param = value if name == "logits" else clamp_probs(value)
        setattr(self, name, self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def logits(self) -> Any:
        """The log-odds of probs."""
        return probs_to_logits(self.probs, True)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return clamp_probs(logits_to_probs(self.logits, True))

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.shape

    def _is_regular(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _regular_probs(self) -> Any:
        """Return the probabilities, with a regular one in place of those near 1/2."""
        return torch.where(self._is_regular(), self.probs, self._lims[0])

    def _log_size(self) -> Any:
        """Return the logarithm of the normalizing constant."""
        p = self._regular_probs()
        low, high = torch.where(p <= 0.5, p, 0.0), torch.where(p >= 0.5, p, 1.0)
        inner = torch.where(p <= 0.5, torch.log1p(-2 * low), torch.log(2 * high - 1))
        regular = torch.log((torch.log1p(-p) - torch.log(p)).abs()) - inner
        x = (self.probs - 0.5).pow(2)
        return torch.where(self._is_regular(), regular, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Any:
        p = self._regular_probs()
        regular = p / (2 * p - 1) + 1 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        return torch.where(self._is_regular(), regular, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x)

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    @property
    def variance(self) -> Any:
        p = self._regular_probs()
        regular = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / (torch.log1p(-p) - torch.log(p)).pow(2)
        x = (self.probs - 0.5).pow(2)
        return torch.where(self._is_regular(), regular, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        return logit_log_prob(logits, value) + self._log_size()

    def cdf(self, value: Any) -> Any:
        value, p = self._checked(value), self._regular_probs()
        regular = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        inside = torch.where(self._is_regular(), regular, value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        p = self._regular_probs()
        top = torch.log1p(-p + value * (2 * p - 1)) - torch.log1p(-p)
        return torch.where(self._is_regular(), top / (torch.log(p) - torch.log1p(-p)), value)

    def entropy(self) -> Any:
        log0, log1 = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log0 - log1) - self._log_size() - log0

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        regular = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = torch.where(regular, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        size = torch.log(torch.expm1(safe).abs()) - torch.log(safe.abs())
        return torch.where(regular, size, 0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880)


__all__ = [
    "Cauchy", "Chi2", "ContinuousBernoulli", "Exponential", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Gumbel",
    "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "Laplace", "LogNormal", "Normal", "Pareto", "StudentT",
    "Uniform", "VonMises", "Weibull",
]  # fmt: skip
__dir__ = listing(globals())

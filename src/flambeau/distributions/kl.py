"""Kullback-Leibler divergences of pairs of distributions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentTypeError, NotSupportedError, shown
from ..importer import listing
from ..ops.factorizations import linalg_solve_triangular
from .continuous import (
    EULER,
    LOG_2PI,
    Cauchy,
    ContinuousBernoulli,
    Exponential,
    Gamma,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Pareto,
    Uniform,
)
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import ExponentialFamily, Independent, TransformedDistribution, normalizer_gradient
from .library import softplus, sum_rightmost, torch
from .multivariate import Beta, Dirichlet, LowRankMultivariateNormal, MultivariateNormal, half_log_det, squared_length

Divergence = Callable[[Any, Any], Any]
# PyTorch's names, which packages read
_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """Return a decorator that registers a function by which `kl_divergence(p, q)` computes its result.

    type_p, type_q: the classes of p and q.  For derived classes, `kl_divergence` uses the function registered for the
    nearest base classes.
    Raises: ArgumentTypeError for anything but classes.
    Example:
        >>> class Sure(torch.distributions.Normal):
        ...     pass
        >>> @torch.distributions.register_kl(Sure, Sure)
        ... def divergence(p, q):
        ...     return torch.zeros(p.batch_shape)
        >>> torch.distributions.kl_divergence(Sure(0.0, 1.0), Sure(5.0, 1.0))
        tensor(0.)
    """
    for cls in (type_p, type_q):
        if not isinstance(cls, type):
            raise ArgumentTypeError(
                f"expected a class, got {shown(cls)}", hint="pass type(distribution)", operator="register_kl"
            )

    def decorate(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorate


def _depths(cls: type, base: type) -> int:
    return cls.__mro__.index(base)


def _best(type_p: type, type_q: type) -> Any:
    """Return the function registered for the nearest base classes, or None."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return None
    left = min(matches, key=lambda pair: (_depths(type_p, pair[0]), _depths(type_q, pair[1])))
    right = min(matches, key=lambda pair: (_depths(type_q, pair[1]), _depths(type_p, pair[0])))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        names = [f"({p.__name__}, {q.__name__})" for p, q in (left, right)]
        warnings.warn(
            f"ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}): register one of {names[0]} and {names[1]}",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Any, q: Any) -> Any:
    """Return the Kullback-Leibler divergence KL(p || q), in nats: the mean of log p(x) - log q(x) for samples x of p.

    p, q: distributions.
    Shapes: the result has the broadcast batch shape of p and q.
    Raises: NotSupportedError if no function is registered for the classes of p and q.
    Example:
        >>> p, q = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(2.0, 1.0)
        >>> torch.distributions.kl_divergence(p, q)
        tensor(2.)
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _best(*key)
    function = _KL_MEMOIZE[key]
    if function is None:
        raise NotSupportedError(
            f"no divergence is registered for {key[0].__name__} and {key[1].__name__}",
            hint="implement the divergence, and add it with register_kl",
            operator="kl_divergence",
        )
    return function(p, q)


def _infinite(like: Any) -> Any:
    return torch.full_like(like, math.inf)


def _infinite_pairs(first: tuple[type, ...], second: tuple[type, ...], parameter: str) -> None:
    """Register infinity for pairs where the support of p exceeds that of q.  parameter: a parameter of p."""
    for type_p in first:
        for type_q in second:
            register_kl(type_p, type_q)(lambda p, q: _infinite(getattr(p, parameter)))


_infinite_pairs((Beta,), (Pareto,), "concentration1")
_infinite_pairs((ContinuousBernoulli,), (Pareto,), "probs")
_infinite_pairs((Exponential,), (Beta, ContinuousBernoulli, Pareto, Uniform), "rate")
_infinite_pairs((Gamma,), (Beta, ContinuousBernoulli, Pareto, Uniform), "concentration")
_infinite_pairs((Gumbel, Laplace, Normal), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), "loc")
_infinite_pairs((Pareto,), (Beta, ContinuousBernoulli, Uniform), "scale")
_infinite_pairs((Poisson,), (Bernoulli, Binomial), "rate")


@register_kl(Bernoulli, Bernoulli)
def _(p: Any, q: Any) -> Any:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = torch.where(q.probs == 0, math.inf, one).masked_fill(p.probs == 0, 0)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = torch.where(q.probs == 1, math.inf, zero).masked_fill(p.probs == 1, 0)
    return one + zero


@register_kl(Bernoulli, Poisson)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Binomial, Binomial)
def _(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        counts = [distribution.total_count.reshape((-1,)).tolist()[:8] for distribution in (p, q)]
        raise NotSupportedError(
            f"the divergence of binomials is not implemented if p has fewer trials than q: total_count is "
            f"{counts[0]} of p and {counts[1]} of q",
            hint="estimate it from samples, or use the total_count of p for q",
            operator="kl_divergence",
        )
    value = p.total_count * (p.probs * (p.logits - q.logits) + torch.log1p(-p.probs) - torch.log1p(-q.probs))
    return torch.where(p.total_count > q.total_count, math.inf, value)


@register_kl(Geometric, Geometric)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = torch.where(q.probs == 0, math.inf, terms).masked_fill(p.probs == 0, 0)
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: Any, q: Any) -> Any:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Beta, Beta)
def _(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    first = torch.lgamma(q.concentration1) + torch.lgamma(q.concentration0) + torch.lgamma(total_p)
    second = torch.lgamma(p.concentration1) + torch.lgamma(p.concentration0) + torch.lgamma(total_q)
    one = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    zero = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return first - second + one + zero + (total_q - total_p) * torch.digamma(total_p)


@register_kl(Dirichlet, Dirichlet)
def _(p: Any, q: Any) -> Any:
    total = p.concentration.sum(-1)
    size = torch.lgamma(total) - torch.lgamma(q.concentration.sum(-1))
    size = size - (torch.lgamma(p.concentration) - torch.lgamma(q.concentration)).sum(-1)
    change = p.concentration - q.concentration
    return size + (change * (torch.digamma(p.concentration) - torch.digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(Cauchy, Cauchy)
def _(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    inner = p.mean * (p.logits - q.logits)
    return inner + p._log_size() + torch.log1p(-p.probs) - q._log_size() - torch.log1p(-q.probs)


@register_kl(Exponential, Exponential)
def _(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _(p: Any, q: Any) -> Any:
    size = q.concentration * (p.rate / q.rate).log() + torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    change = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return size + change + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _(p: Any, q: Any) -> Any:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    power = torch.exp(shift + torch.lgamma(1 + ratio))
    return power - shift - ratio.log() + ratio * EULER - (1 + EULER)


@register_kl(HalfNormal, HalfNormal)
def _(p: Any, q: Any) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    value = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.support.lower_bound < q.support.lower_bound, math.inf, value)


@register_kl(Uniform, Uniform)
def _(p: Any, q: Any) -> Any:
    value = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, value)


@register_kl(ExponentialFamily, ExponentialFamily)
def _(p: Any, q: Any) -> Any:
    """Return the divergence of two members of one family: a Bregman divergence of the normalizer."""
    if type(p) is not type(q):
        raise NotSupportedError(
            f"the families {type(p).__name__} and {type(q).__name__} differ",
            hint="implement the divergence, and add it with register_kl",
            operator="kl_divergence",
        )
    parameters, log_normalizer, slopes = normalizer_gradient(p)
    others = q._natural_params
    result = q._log_normalizer(*others) - log_normalizer
    for parameter, other, slope in zip(parameters, others, slopes):
        change = (other - parameter) * slope
        result = result - sum_rightmost(change, change.dim() - result.dim())  # a parameter may have no event dimensions
    return result


@register_kl(Independent, Independent)
def _(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise _differing(p, q)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise _differing(p, q)
    return kl_divergence(p.base_dist, q.base_dist)


def _differing(p: Any, q: Any) -> NotSupportedError:
    return NotSupportedError(
        f"the divergence of {p!r} and {q!r} is not implemented: their transforms differ",
        hint="estimate it from samples",
        operator="kl_divergence",
    )


# normal vectors


def _normal_vectors(p: Any, q: Any, factor_p: Any, factor_q: Any) -> Any:
    """Return the divergence of normal vectors with Cholesky factors of their covariances."""
    size = p.event_shape[0]
    batch = torch.broadcast_tensors(p.loc, q.loc)[0].shape[:-1]
    solved = linalg_solve_triangular(
        factor_q.expand((*batch, size, size)), factor_p.expand((*batch, size, size)), upper=False
    )
    trace = solved.pow(2).sum((-2, -1))
    distance = squared_length(factor_q, q.loc - p.loc)
    return half_log_det(factor_q) - half_log_det(factor_p) + 0.5 * (trace + distance - size)


def _factor(value: Any) -> Any:
    is_low = isinstance(value, LowRankMultivariateNormal)
    return value.scale_tril if is_low else value._unbroadcasted_scale_tril


for _first in (MultivariateNormal, LowRankMultivariateNormal):
    for _second in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_first, _second)(lambda p, q: _normal_vectors(p, q, _factor(p), _factor(q)))


# of different families


@register_kl(Beta, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._log_size()


@register_kl(Beta, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _(p: Any, q: Any) -> Any:
    logarithm = torch.digamma(p.concentration1) - torch.digamma(p.concentration1 + p.concentration0)
    size = q.concentration * q.rate.log() - torch.lgamma(q.concentration)
    return -p.entropy() - size - (q.concentration - 1) * logarithm + q.rate * p.mean


def _cross_entropy_with_normal(p: Any, q: Any) -> Any:
    """Return minus the mean of log q under p, for a normal q, from the moments of p."""
    return 0.5 * (LOG_2PI + 2 * q.scale.log() + (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2))


for _family in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_family, Normal)(lambda p, q: _cross_entropy_with_normal(p, q) - p.entropy())


def _above(p: Any, least: float, value: Callable[[Any], Any]) -> Any:
    """Return value(p) of a Pareto distribution; infinity, without gradients, where its alpha is not above `least`."""
    finite = p.alpha > least
    # moments are infinite there, and a gradient of 0 through them would be NaN
    replaced = Pareto(p.scale, torch.where(finite, p.alpha, least + 1.0), validate_args=False)
    return torch.where(finite, value(replaced), math.inf)


@register_kl(Pareto, Normal)
def _(p: Any, q: Any) -> Any:
    return _above(p, 2, lambda p: _cross_entropy_with_normal(p, q) - p.entropy())


def _within(value: Any, p_low: Any, p_high: Any, q: Any) -> Any:
    return torch.where((q.low > p_low) | (q.high < p_high), math.inf, value)


@register_kl(Beta, Uniform)
def _(p: Any, q: Any) -> Any:
    return _within(-p.entropy() + (q.high - q.low).log(), 0.0, 1.0, q)


@register_kl(ContinuousBernoulli, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(ContinuousBernoulli, Uniform)
def _(p: Any, q: Any) -> Any:
    return _within(-p.entropy() + (q.high - q.low).log(), 0.0, 1.0, q)


@register_kl(Exponential, Gamma)
def _(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    size = -q.concentration * ratio.log() + torch.lgamma(q.concentration)
    return size + ratio + q.concentration * EULER - (1 + EULER)


@register_kl(Exponential, Gumbel)
def _(p: Any, q: Any) -> Any:
    product = p.rate * q.scale
    shift = q.loc / q.scale
    return product.log() - 1 + product.reciprocal() - shift + torch.exp(shift) * product / (product + 1)


@register_kl(Gamma, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _(p: Any, q: Any) -> Any:
    product, shift = p.rate * q.scale, q.loc / q.scale
    power = torch.exp(shift) * (1 + product.reciprocal()).pow(-p.concentration)
    return -p.entropy() + q.scale.log() + p.concentration / product - shift + power


@register_kl(Normal, Gumbel)
def _(p: Any, q: Any) -> Any:
    shift = (p.loc - q.loc) / q.scale
    power = torch.exp(-shift + 0.5 * (p.scale / q.scale).pow(2))
    return shift + power + q.scale.log() - p.entropy()


@register_kl(Normal, Laplace)
def _(p: Any, q: Any) -> Any:
    distance = p.loc - q.loc
    ratio = distance / p.scale
    mean = p.scale * math.sqrt(2 / math.pi) * torch.exp(-0.5 * ratio.pow(2)) + distance * torch.erf(
        ratio * math.sqrt(0.5)
    )
    return mean / q.scale + (2 * q.scale).log() - p.entropy()


@register_kl(Pareto, Exponential)
def _(p: Any, q: Any) -> Any:
    return _above(p, 1, lambda p: q.rate * p.mean - q.rate.log() - p.entropy())


@register_kl(Pareto, Gamma)
def _(p: Any, q: Any) -> Any:
    def value(p: Any) -> Any:
        logarithm = p.scale.log() + p.alpha.reciprocal()
        size = q.concentration * q.rate.log() - torch.lgamma(q.concentration)
        return -p.entropy() - size - (q.concentration - 1) * logarithm + q.rate * p.mean

    return _above(p, 1, value)


@register_kl(Uniform, Beta)
def _(p: Any, q: Any) -> Any:
    width = p.high - p.low
    one = (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    zero = (torch.xlogy(1 - p.low, 1 - p.low) - torch.xlogy(1 - p.high, 1 - p.high) - width) / width
    size = torch.lgamma(q.concentration1) + torch.lgamma(q.concentration0)
    size = size - torch.lgamma(q.concentration1 + q.concentration0)
    value = -width.log() - (q.concentration1 - 1) * one - (q.concentration0 - 1) * zero + size
    return torch.where((p.high > 1) | (p.low < 0), math.inf, value)


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    value = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._log_size()
    return torch.where((p.high >= 1) | (p.low <= 0), math.inf, value)


@register_kl(Uniform, Exponential)
def _(p: Any, q: Any) -> Any:
    value = q.rate * p.mean - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < 0, math.inf, value)


@register_kl(Uniform, Gamma)
def _(p: Any, q: Any) -> Any:
    width = p.high - p.low
    mean_log = (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    size = q.concentration * q.rate.log() - torch.lgamma(q.concentration)
    value = -width.log() - size - (q.concentration - 1) * mean_log + q.rate * p.mean
    return torch.where(p.low < 0, math.inf, value)


@register_kl(Uniform, Gumbel)
def _(p: Any, q: Any) -> Any:
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    width = p.high - p.low
    powers = torch.exp(-high) - torch.exp(-low)
    return q.scale.log() - width.log() + 0.5 * (high + low) - powers * q.scale / width


@register_kl(Uniform, Pareto)
def _(p: Any, q: Any) -> Any:
    width = p.high - p.low
    mean_log = (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    value = -width.log() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * mean_log
    return torch.where(p.low < q.support.lower_bound, math.inf, value)


__all__ = ["kl_divergence", "register_kl"]
__dir__ = listing(globals())

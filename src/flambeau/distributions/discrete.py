"""Distributions of integers and classes, and their continuous relaxations."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.mode import no_grad
from ..core.tensor import TensorBase
from ..errors import ArgumentError
from ..importer import listing
from ..tensor import checks
from . import constraints
from .constraints import nonnegative_integer, real, unit_interval
from .continuous import floating, uniform_open
from .distribution import Distribution, ExponentialFamily, TransformedDistribution
from .library import (
    as_floating,
    broadcast_all,
    clamp_probs,
    lazy_property,
    logit_log_prob,
    logits_to_probs,
    lowest,
    one_hot_like,
    probs_to_logits,
    sizes,
    softplus,
    tiny,
    torch,
)
from .sampling import standard_gamma
from .transforms import ExpTransform, SigmoidTransform


class _OfLogits(Distribution):
    """Base of distributions with a parameter `probs` or `logits`; the one that is not given is computed."""

    is_binary = True

    def _take(self, probs: Any, logits: Any) -> None:
        """Set the given parameter.  Raises ArgumentError unless exactly one is given."""
        if (probs is None) == (logits is None):
            raise ArgumentError(
                "exactly one of probs and logits must be given",
                hint="pass probs=, or logits=",
                operator=type(self).__name__,
            )
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        setattr(self, name, as_floating(value))

    @property
    def _param(self) -> Any:
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @lazy_property
    def logits(self) -> Any:
        """The log-odds of the probability."""
        return probs_to_logits(self.probs, self.is_binary)

    @lazy_property
    def probs(self) -> Any:
        """The probability."""
        return logits_to_probs(self.logits, self.is_binary)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)


class Bernoulli(_OfLogits, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability `probs`, else 0.

    probs, logits: the probability of 1, or its log-odds; pass exactly one, whose shape is the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, and is in its range.
    Example:
        >>> torch.distributions.Bernoulli(torch.tensor(0.25)).log_prob(torch.tensor([0.0, 1.0])).exp()
        tensor([0.7500, 0.2500])
    """

    arg_constraints = {"probs": unit_interval, "logits": real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        return logit_log_prob(logits, value)

    def entropy(self) -> Any:
        return -logit_log_prob(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = torch.arange(2, device=self._param.device).to(self._param.dtype)
        return _enumerated(values, self._batch_shape, expand)

    @property
    def _natural_params(self) -> Any:
        return (torch.log(self.probs / (1 - self.probs)),)

    def _log_normalizer(self, x: Any) -> Any:
        return torch.log1p(torch.exp(x))

    @property
    def _mean_carrier_measure(self) -> Any:
        return 0


def _enumerated(values: Any, batch_shape: Any, expand: bool) -> Any:
    values = values.reshape((-1, *[1] * len(batch_shape)))
    return values.expand((-1, *batch_shape)) if expand else values


class Geometric(_OfLogits):
    """The geometric distribution: the number of failures, 0 or more, before the first success.

    probs, logits: the probability of a success, in (0, 1], or its log-odds; pass exactly one, whose shape is the batch
        shape.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, and is in its range.
    Example:
        >>> torch.distributions.Geometric(torch.tensor(0.25)).mean
        tensor(3.)
    """

    arg_constraints = {"probs": unit_interval, "logits": real}
    support = nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ArgumentError(
                f"probs must be positive, got {self.probs.reshape((-1,)).tolist()[:8]}",
                hint="pass probabilities above 0: with 0 there is never a first success",
                operator="Geometric",
            )

    @property
    def mean(self) -> Any:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Any:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            u = torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
            return (u.clamp(min=tiny(u.dtype)).log() / torch.log1p(-self.probs)).floor()

    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(self._checked(value), self.probs)
        other = (-probs).masked_fill((probs == 1) & (value == 0), 0)
        return value * torch.log1p(other) + self.probs.log()

    def entropy(self) -> Any:
        return -logit_log_prob(self.logits, self.probs) / self.probs


class Binomial(_OfLogits):
    """The binomial distribution: the number of successes in total_count trials.

    total_count: 0 or more; a number, or a tensor that broadcasts with probs or logits to the batch shape.
    probs, logits: the probability of a success, or its log-odds; pass exactly one.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, and is in its range.
    Example:
        >>> torch.distributions.Binomial(4, torch.tensor(0.5)).log_prob(torch.tensor([0.0, 2.0])).exp()
        tensor([0.0625, 0.3750])
    """

    arg_constraints = {"total_count": nonnegative_integer, "probs": unit_interval, "logits": real}
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        name = "probs" if "probs" in self.__dict__ else "logits"
        count, value = broadcast_all(total_count, self._param)
        self.total_count = count.to(value.dtype)
        setattr(self, name, value)
        super().__init__(value.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        value, count, logits = self._checked(value), self.total_count, self.logits
        ways = torch.lgamma(count + 1) - torch.lgamma(value + 1) - torch.lgamma(count - value + 1)
        return ways + value * logits - count * softplus(logits)

    def entropy(self) -> Any:
        count = int(self.total_count.max().item())
        if not (self.total_count == count).all():
            raise self._absent("the entropy for several values of total_count")
        logs = self.log_prob(self.enumerate_support(False))
        return -(logs.exp() * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = int(self.total_count.max().item())
        if not (self.total_count == count).all():
            raise self._absent("the support for several values of total_count")
        values = torch.arange(1 + count, device=self._param.device).to(self._param.dtype)
        return _enumerated(values, self._batch_shape, expand)


class NegativeBinomial(_OfLogits):
    """The negative binomial distribution: the number of successes before the total_count-th failure.

    total_count: 0 or more; a number, or a tensor that broadcasts with probs or logits to the batch shape.
    probs, logits: the probability of a success, in [0, 1), or its log-odds; pass exactly one.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, and is in its range.
    Example:
        >>> torch.distributions.NegativeBinomial(3, torch.tensor(0.5)).mean
        tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": real,
    }
    support = nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        name = "probs" if "probs" in self.__dict__ else "logits"
        count, value = broadcast_all(total_count, self._param)
        self.total_count = count.to(value.dtype)
        setattr(self, name, value)
        super().__init__(value.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.mean / torch.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            rate = standard_gamma(self.total_count.expand(shape)) * self.logits.exp()
            return torch.poisson(rate)

    def log_prob(self, value: Any) -> Any:
        value, count = self._checked(value), self.total_count
        chance = -count * softplus(self.logits) - value * softplus(-self.logits)
        ways = torch.lgamma(count + value) - torch.lgamma(1 + value) - torch.lgamma(count)
        return chance + ways.masked_fill(count + value == 0, 0.0)


class Poisson(ExponentialFamily):
    """The Poisson distribution: the number of independent events, of which there are `rate` on average.

    rate: the mean, a number or tensor of the batch shape, 0 or more.
    validate_args: as in Distribution.
    Raises: ArgumentError for a parameter that is out of its range or not a number, and in `log_prob` ArgumentError for
            a value outside the support.
    Example:
        >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor([0.0, 1.0])).exp()
        tensor([0.1353, 0.2707])
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = floating(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def mode(self) -> Any:
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, self._checked(value))
        return torch.xlogy(value, rate) - rate - torch.lgamma(value + 1)

    @property
    def _natural_params(self) -> Any:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Any:
        return torch.exp(x)


class Categorical(_OfLogits):
    """The categorical distribution: an index of one of n categories, from 0 to n - 1, as int64.

    probs: weights of the categories, [*batch_shape, n], which are divided by their sum.
    logits: logarithms of weights, [*batch_shape, n].  Pass exactly one of probs and logits.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, has a dimension and is in its range.
    Example:
        >>> distribution = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
        >>> distribution.probs, distribution.log_prob(torch.tensor(1)).exp()
        (tensor([0.2500, 0.7500]), tensor(0.7500))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    is_binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        value = self._param
        if value.dim() < 1:
            raise ArgumentError(
                f"probs or logits must have at least one dimension, got {value.item()}",
                hint="pass a vector with one entry for each class",
                operator="Categorical",
            )
        if "probs" in self.__dict__:
            self.probs = value / value.sum(-1, keepdim=True)
        else:
            self.logits = value - torch.logsumexp(value, -1, keepdim=True)
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return torch.full(self._batch_shape, math.nan, dtype=self._param.dtype, device=self._param.device)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Any:
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = sizes(sample_shape)
        with no_grad():
            rows = self.probs.reshape((-1, self._num_events))
            drawn = torch.multinomial(rows, math.prod(shape), True)
            return drawn.transpose(0, 1).reshape((*shape, *self._batch_shape))

    def log_prob(self, value: Any) -> Any:
        index = self._checked(value).long().unsqueeze(-1)
        index, logits = torch.broadcast_tensors(index, self.logits)
        return torch.gather(logits, -1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        return -(self.logits.clamp(min=lowest(self.logits.dtype)) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = torch.arange(self._num_events, device=self._param.device)
        return _enumerated(values, self._batch_shape, expand)


class _OfCategorical(Distribution):
    """A distribution made of a Categorical, with vectors as events."""

    def _adopt(self, categorical: Any, event_shape: Any, validate_args: bool | None) -> None:
        self._categorical = categorical
        Distribution.__init__(self, categorical.batch_shape, event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def _check_parameters(self) -> None:
        """Check nothing: the categorical distribution has checked the parameters."""


class OneHotCategorical(_OfCategorical):
    """The categorical distribution with one-hot vectors as values: a 1 at the index drawn, zeros elsewhere.

    probs, logits: as in Categorical, [*batch_shape, n].  Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, for one out of range or without dimensions,
            and in `log_prob` for a value outside the support.
    Example:
        >>> torch.distributions.OneHotCategorical(torch.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        categorical = Categorical(probs, logits, validate_args)
        self._adopt(categorical, categorical.param_shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return one_hot_like(self.probs.argmax(-1), self._event_shape[0], self.probs)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        return one_hot_like(self._categorical.sample(sample_shape), self._event_shape[0], self.probs)

    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(self._checked(value).argmax(-1))

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        count = self._event_shape[0]
        values = torch.eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((count, *[1] * len(self._batch_shape), count))
        return values.expand((count, *self._batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A OneHotCategorical whose `rsample` has a gradient: the gradient of a sample is passed on to the probabilities.

    probs, logits: as in Categorical, [*batch_shape, n].
    Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, for one out of range or without dimensions,
            and in `log_prob` for a value outside the support.
    Example:
        >>> probs = torch.tensor([0.5, 0.5], requires_grad=True)
        >>> torch.distributions.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
        True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OfCategorical):
    """The multinomial distribution: the number of times that each of n classes is drawn in total_count draws.

    total_count: the number of draws, an int.
    probs, logits: as in Categorical, [*batch_shape, n].  Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError for a total_count that is not an int, or unless exactly one of probs and logits is given.
    Example:
        >>> torch.distributions.Multinomial(8, torch.tensor([1.0, 3.0])).mean
        tensor([2., 6.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if isinstance(total_count, TensorBase) or not isinstance(total_count, int):
            raise ArgumentError(
                f"total_count must be one int, got {total_count!r}",
                hint="make a distribution for each count",
                operator="Multinomial",
            )
        self.total_count = total_count
        categorical = Categorical(probs, logits, validate_args)
        self._adopt(categorical, categorical.param_shape[-1:], validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample((self.total_count, *sizes(sample_shape)))
        return one_hot_like(drawn, self._event_shape[0], self.probs).sum(0)

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Any:
        count = torch.tensor(float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        values = Binomial(self.total_count, self.probs).enumerate_support(False)[1:]
        chances = torch.exp(Binomial(self.total_count, self.probs).log_prob(values))
        terms = (chances * torch.lgamma(values + 1)).sum(0).sum(-1)
        return count * self._categorical.entropy() - torch.lgamma(count + 1) + terms


# relaxations


def _checked_temperature(name: str, value: Any) -> Any:
    """Return a temperature.  Raises ArgumentTypeError unless it is a number or a tensor."""
    if not isinstance(value, TensorBase):
        checks.number(name, "temperature", value)
    return value


class LogitRelaxedBernoulli(_OfLogits):
    """The distribution of log(x / (1 - x)), the log-odds, for a RelaxedBernoulli variable x.

    temperature, probs, logits: as in RelaxedBernoulli.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, for one out of range, and in `log_prob` for a
            value outside the support; ArgumentTypeError for a temperature that is neither a tensor nor a number.
    Example:
        >>> module = torch.distributions.relaxed_bernoulli
        >>> relaxed = module.LogitRelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.5]))
        >>> relaxed.batch_shape, relaxed.rsample((3,)).shape
        (torch.Size([1]), torch.Size([3, 1]))
    """

    arg_constraints = {"probs": unit_interval, "logits": real}
    support = real
    has_rsample = True
    unexpanded = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = _checked_temperature(type(self).__name__, temperature)
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        probs = clamp_probs(self.probs)
        u = clamp_probs(uniform_open(self._extended_shape(sample_shape), probs))
        return (u.log() - torch.log1p(-u) + probs.log() - torch.log1p(-probs)) / self.temperature

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        distance = logits - value * self.temperature
        return torch.log(torch.as_tensor(self.temperature)) + distance - 2 * softplus(distance)


class RelaxedBernoulli(TransformedDistribution):
    """A continuous relaxation of the Bernoulli distribution on (0, 1), whose samples have gradients.

    C. Maddison et al., "The Concrete Distribution", 2017.
    temperature: a positive number or tensor; for a low temperature, values are near 0 or 1.
    probs, logits: the probability of 1, or its log-odds; pass exactly one, whose shape is the batch shape.
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, for one out of range, and in `log_prob` for a
            value outside the support; ArgumentTypeError for a temperature that is neither a tensor nor a number.
    Example:
        >>> relaxed = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor([0.25, 0.75]))
        >>> relaxed.batch_shape, relaxed.rsample((3,)).shape
        (torch.Size([2]), torch.Size([3, 2]))
    """

    arg_constraints = {"probs": unit_interval, "logits": real}
    support = unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The log-odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self.base_dist.probs


class ExpRelaxedCategorical(_OfCategorical):
    """The distribution of log(x) for a RelaxedOneHotCategorical variable x.

    temperature, probs, logits: as in RelaxedOneHotCategorical.
    Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, has a dimension and is in its range; in
            `log_prob`, ArgumentError for a value outside the support; ArgumentTypeError for a temperature that is
            neither a tensor nor a number.
    Example:
        >>> module = torch.distributions.relaxed_categorical
        >>> relaxed = module.ExpRelaxedCategorical(torch.tensor(0.5), torch.tensor([1.0, 2.0, 1.0]))
        >>> relaxed.event_shape, torch.allclose(relaxed.rsample().exp().sum(), torch.tensor(1.0))
        (torch.Size([3]), True)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    unexpanded = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = _checked_temperature(type(self).__name__, temperature)
        categorical = Categorical(probs, logits)
        self._adopt(categorical, categorical.param_shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = clamp_probs(uniform_open(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - torch.log(-torch.log(u))) / self.temperature
        return scores - torch.logsumexp(scores, -1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        count = self._event_shape[0]
        temperature = torch.as_tensor(self.temperature)
        size = torch.lgamma(torch.tensor(float(count)).to(logits.device, logits.dtype)) - temperature.log() * -(
            count - 1
        )
        score = logits - value * self.temperature
        return (score - torch.logsumexp(score, -1, keepdim=True)).sum(-1) + size


class RelaxedOneHotCategorical(TransformedDistribution):
    """A continuous relaxation of OneHotCategorical: vectors of positive numbers of sum 1, whose samples have gradients.

    C. Maddison et al., "The Concrete Distribution", 2017.
    temperature: a positive number or tensor; for a low temperature, values are near one-hot vectors.
    probs, logits: as in Categorical, [*batch_shape, n].  Shapes: the event shape is [n].
    validate_args: as in Distribution.
    Raises: ArgumentError unless exactly one of probs and logits is given, for one out of range or without dimensions,
            and in `log_prob` for a value outside the support, ArgumentTypeError for a temperature that is neither a
            tensor nor a number.
    Example:
        >>> relaxed = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([1.0, 2.0, 1.0]))
        >>> relaxed.event_shape, torch.allclose(relaxed.rsample().sum(), torch.tensor(1.0))
        (torch.Size([3]), True)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    def _check_parameters(self) -> None:
        """Check nothing: the base distribution has checked the parameters."""

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self.base_dist.probs


__all__ = [
    "Bernoulli", "Binomial", "Categorical", "ExpRelaxedCategorical", "Geometric", "LogitRelaxedBernoulli",
    "Multinomial", "NegativeBinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson",
    "RelaxedBernoulli", "RelaxedOneHotCategorical",
]  # fmt: skip
__dir__ = listing(globals())

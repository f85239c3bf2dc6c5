"""Base classes of distributions, and distributions derived from others: Independent, TransformedDistribution.

- A sample has the shape sample_shape + batch_shape + event_shape.
- The parameters of an instance are attributes that have the batch shape in front; `expand` expands every tensor among
  its attributes, except those named by `unexpanded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.gradients import grad
from ..autograd.mode import no_grad
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, shown
from ..importer import listing
from ..strides import Size
from ..tensor import checks
from . import constraints
from .library import lazy_property, name_methods, sizes, sum_rightmost, torch
from .transforms import ComposeTransform, Transform

METHODS = ("__init__", "enumerate_support", "expand", "rsample", "sample", "sample_n")  # whose errors name the class
METHODS_OF_TENSORS = ("cdf", "icdf", "log_prob")


class Distribution:
    """Base class of probability distributions: an instance is a batch of independent distributions of one kind.

    batch_shape: the shape of the batch; the parameters may differ between its distributions.
    event_shape: the shape of one value of one distribution, () for a number.
    validate_args: whether parameters and values are checked; None for the default of `set_default_validate_args`, which
        is True unless Python runs with -O.
    Raises: ArgumentTypeError for a shape that is not of ints; ArgumentError for a parameter outside its constraint,
            unless validate_args is False.
    Example:
        >>> distribution = torch.distributions.Normal(torch.zeros(3), 1.0)
        >>> distribution.batch_shape, distribution.event_shape, distribution.sample((2,)).shape
        (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: Any = {}
    unexpanded: tuple[str, ...] = ()
    _validate_args = __debug__

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_methods(cls, METHODS, METHODS_OF_TENSORS)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their parameters and values, unless they were created with `validate_args`.

        value: True or False.
        Raises: ArgumentError for any other value.
        Example:
            >>> torch.distributions.Distribution.set_default_validate_args(False)
            >>> torch.distributions.Normal(0.0, -1.0)
            Normal(loc: 0.0, scale: -1.0)
            >>> torch.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ArgumentError(
                f"value must be True or False, got {shown(value)}",
                operator="set_default_validate_args",
                hint="pass a bool",
            )
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        """Raise ArgumentError for a parameter that does not satisfy its constraint."""
        for name, constraint in self.arg_constraints.items():
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or lazy and name not in self.__dict__:
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ArgumentError(
                    f"expected parameter {name} of shape {list(value.shape)} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values: {value.detach().reshape((-1,)).tolist()[:8]}",
                    hint="correct the value, or pass validate_args=False to turn this check off",
                    operator=type(self).__name__,
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return this distribution with the batch shape `batch_shape`; its parameters are views, not copies.

        _instance: for classes that override `expand`: the object to fill and return.
        Shapes: the present batch shape must broadcast to batch_shape.
        Raises: ShapeError for a shape to which the parameters do not expand, ArgumentTypeError for one that is not of
                ints.
        Example:
            >>> torch.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
            torch.Size([2, 3])
        """
        shape, rank = Size(sizes(batch_shape)), len(self._batch_shape)
        new = self._get_checked_instance(type(self), _instance)
        for name, value in self.__dict__.items():
            tensor: Any = value
            is_expanded = isinstance(value, TensorBase) and name not in self.unexpanded
            new.__dict__[name] = tensor.expand((*shape, *tensor.shape[rank:])) if is_expanded else value
        new._batch_shape = shape
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        return object.__new__(cls) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the independent variables."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    def _absent(self, name: str) -> NotSupportedError:
        return NotSupportedError(
            f"{name} is not implemented",
            hint="estimate it from samples: rsample() or sample()",
            operator=type(self).__name__,
        )

    @property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        raise self._absent("support")

    @property
    def mean(self) -> Any:
        """The mean."""
        raise self._absent("mean")

    @property
    def mode(self) -> Any:
        """The most probable value."""
        raise self._absent("mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise self._absent("variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draw samples, without a gradient.

        sample_shape: the shape of the samples to draw from each distribution of the batch; () draws one.
        Shapes: the result is (*sample_shape, *batch_shape, *event_shape).
        Raises: NotSupportedError if the class defines neither `sample` nor `rsample`, ArgumentTypeError for a shape
                that is not of ints, ValueRangeError or ShapeError for a negative size.
        Example:
            >>> torch.distributions.Normal(torch.zeros(3), 1.0).sample((2,)).shape
            torch.Size([2, 3])
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draw samples that are differentiable functions of the parameters (reparameterized samples).

        sample_shape: the shape of the samples to draw from each distribution of the batch; () draws one.
        Shapes: the result is (*sample_shape, *batch_shape, *event_shape).
        Raises: NotSupportedError if the class does not define it: then its attribute `has_rsample` is False.
        Example:
            >>> loc = torch.tensor(0.0, requires_grad=True)
            >>> torch.distributions.Normal(loc, 1.0).rsample((4,)).sum().backward()
            >>> loc.grad
            tensor(4.)
        """
        raise self._absent("rsample")

    def sample_n(self, n: int) -> Any:
        """Draw n samples, without a gradient: the same as sample((n,)), which replaces this method.

        Shapes: the result is (n, *batch_shape, *event_shape).
        Raises: ArgumentTypeError for an n that is not an int, ValueRangeError or ShapeError for a negative one.
        Example:
            >>> torch.distributions.Normal(0.0, 1.0).sample_n(4).shape
            torch.Size([4])
        """
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the probability density at `value`, or of the probability if values are discrete.

        Shapes: value broadcasts with (*batch_shape, *event_shape); the result lacks the event dimensions.
        Raises: ArgumentError for a value outside the support, unless validate_args is False; NotSupportedError if the
                class does not define it.
        Example:
            >>> torch.distributions.Uniform(0.0, 4.0).log_prob(torch.tensor(1.0)).exp()
            tensor(0.2500)
        """
        raise self._absent("log_prob")

    def cdf(self, value: Any) -> Any:
        """Return the cumulative distribution function at `value`: the probability that a sample is at most `value`.

        Shapes: value broadcasts with the batch shape; the result has the broadcast shape.
        Raises: ArgumentError for a value outside the support, unless validate_args is False; NotSupportedError if the
                class does not define it.
        Example:
            >>> torch.distributions.Uniform(0.0, 4.0).cdf(torch.tensor([1.0, 2.0]))
            tensor([0.2500, 0.5000])
        """
        raise self._absent("cdf")

    def icdf(self, value: Any) -> Any:
        """Return the quantiles at the probabilities `value`: the inverse of `cdf`.

        value: probabilities in [0, 1].
        Shapes: value broadcasts with the batch shape; the result has the broadcast shape.
        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> torch.distributions.Uniform(0.0, 4.0).icdf(torch.tensor([0.25, 0.5]))
            tensor([1., 2.])
        """
        raise self._absent("icdf")

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all possible values of a discrete distribution, along a new first dimension.

        expand: whether the values are repeated over the batch; if False, the batch dimensions have size 1.
        Shapes: the result is (number of values, *batch_shape, *event_shape).
        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> torch.distributions.Categorical(torch.ones(3)).enumerate_support()
            tensor([0, 1, 2])
        """
        raise self._absent("enumerate_support")

    def entropy(self) -> Any:
        """Return the entropy of each distribution of the batch, in nats.

        Shapes: the result has the batch shape.
        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> torch.distributions.Uniform(0.0, 1.0).entropy()
            tensor(0.)
        """
        raise self._absent("entropy")

    def perplexity(self) -> Any:
        """Return the perplexity of each distribution of the batch: exp of the entropy.

        Shapes: the result has the batch shape.
        Raises: NotSupportedError if the class does not define `entropy`.
        Example:
            >>> torch.distributions.Uniform(0.0, 4.0).perplexity()
            tensor(4.)
        """
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sizes(sample_shape), *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ArgumentError for a value outside of the support, or of another shape."""
        name = type(self).__name__
        is_tensor = isinstance(value, TensorBase)
        if not is_tensor:
            raise ArgumentError(f"the value must be a Tensor, got {shown(value)}", hint="pass a tensor", operator=name)
        given, wanted = list(value.shape), [*self._batch_shape, *self._event_shape]
        events = len(self._event_shape)
        fits = len(given) >= events and given[len(given) - events :] == list(self._event_shape)
        fits = fits and all(size == want or 1 in (size, want) for size, want in zip(reversed(given), reversed(wanted)))
        if not fits:
            raise ArgumentError(
                f"the value has shape {given}, which does not broadcast with the batch and event shapes {wanted}",
                hint="the last dimensions of the value are those of an event",
                operator=name,
            )
        try:
            support = self.support
        except NotSupportedError:
            return
        if not support.check(value).all():
            raise ArgumentError(
                f"expected a value within the support {support!r}, but found invalid values: "
                f"{value.detach().reshape((-1,)).tolist()[:8]}",
                hint="correct the value, or pass validate_args=False to turn this check off",
                operator=name,
            )

    def _checked(self, value: Any) -> Any:
        """Return a value, after checking it if arguments are validated."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                parts.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(parts)})"


name_methods(Distribution, METHODS, METHODS_OF_TENSORS)


class ExponentialFamily(Distribution):
    """Base class of exponential families: distributions with density exp(<t(x), theta> - F(theta) + k(x)).

    theta are the natural parameters, t(x) is the sufficient statistic, F the logarithm of the normalizer, and k the
    carrier measure.  A class defines `_natural_params` (theta), `_log_normalizer` (F) and `_mean_carrier_measure` (the
    mean of k); from these, `entropy` and `kl_divergence` are computed.
    batch_shape, event_shape, validate_args: as in Distribution.
    Raises: the errors of Distribution: ArgumentTypeError, ArgumentError.
    Example:
        >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
        True
    """

    @property
    def _natural_params(self) -> Any:
        raise self._absent("_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise self._absent("_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise self._absent("_mean_carrier_measure")

    def entropy(self) -> Any:
        """Return the entropy of each distribution of the batch, in nats.

        A class that does not override this defines `_natural_params`, `_log_normalizer` and `_mean_carrier_measure`.
        Shapes: the result has the batch shape.
        Raises: NotSupportedError if the class has neither its own method nor these attributes.
        Example:
            >>> exponential = torch.distributions.Exponential(2.0)
            >>> round(torch.distributions.ExponentialFamily.entropy(exponential).item(), 3)
            0.307
        """
        result = -self._mean_carrier_measure
        parameters, log_normalizer, slopes = normalizer_gradient(self)
        result = result + log_normalizer
        for parameter, slope in zip(parameters, slopes):
            result = result - sum_rightmost(parameter * slope, parameter.dim() - len(self._batch_shape))
        return result


def normalizer_gradient(family: Any) -> tuple[list[Any], Any, Sequence[Any]]:
    """Return (natural parameters, logarithm of the normalizer, its gradients) of an exponential family."""
    parameters = [value.detach().requires_grad_() for value in family._natural_params]
    log_normalizer = family._log_normalizer(*parameters)
    return parameters, log_normalizer, grad(log_normalizer.sum(), parameters, create_graph=True)


def _check_base(name: str, value: Any) -> None:
    """Raise ArgumentTypeError unless the base of a distribution is a distribution."""
    if not isinstance(value, Distribution):
        raise ArgumentTypeError(
            f"base_distribution must be a Distribution, got {shown(value)}",
            hint="as in Normal(0.0, 1.0)",
            operator=name,
        )


class Independent(Distribution):
    """A distribution that turns the last batch dimensions of another one into event dimensions.

    `log_prob` and `entropy` sum over these dimensions.
    base_distribution: the other distribution.  reinterpreted_batch_ndims: the number of these dimensions.
    validate_args: as in Distribution.
    Raises: ArgumentError if the base distribution has fewer batch dimensions, ArgumentTypeError if it is not a
            distribution or the number not an int, ValueRangeError for a negative number.
    Example:
        >>> base = torch.distributions.Uniform(torch.zeros(3), 2.0)
        >>> distribution = torch.distributions.Independent(base, 1)
        >>> distribution.batch_shape, distribution.event_shape, distribution.log_prob(torch.ones(3)).exp()
        (torch.Size([]), torch.Size([3]), tensor(0.1250))
    """

    arg_constraints: Any = {}

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        _check_base("Independent", base_distribution)
        checks.count("Independent", "reinterpreted_batch_ndims", reinterpreted_batch_ndims)
        shape, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if count > len(shape):
            raise ArgumentError(
                f"expected reinterpreted_batch_ndims <= {len(shape)}, the dimensions of the batch {list(shape)}, "
                f"got {count}",
                hint="expand the distribution first",
                operator="Independent",
            )
        kept = len(shape) - count
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = count
        super().__init__(shape[:kept], (*shape[kept:], *base_distribution.event_shape), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        inner = self._event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand((*sizes(batch_shape), *inner))
        return new

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> Any:
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        result = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(result, count) if count else result

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims:
            raise self._absent("the enumeration of a product of supports")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of the values of a base distribution after one or more transforms, applied in order.

    base_distribution: a Distribution.  transforms: a Transform, or a list of them.  validate_args: as in Distribution.
    Raises: ArgumentError for transforms of another type, or for a base distribution of fewer dimensions than the
            transforms need; ArgumentTypeError for a base that is not a distribution.
    Example:
        >>> base, double = torch.distributions.Uniform(0.0, 1.0), torch.distributions.AffineTransform(1.0, 2.0)
        >>> torch.distributions.TransformedDistribution(base, double).cdf(torch.tensor([1.5, 3.0]))
        tensor([0.2500, 1.0000])
    """

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        _check_base("TransformedDistribution", base_distribution)
        listed = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(listed, (list, tuple)) or not all(isinstance(transform, Transform) for transform in listed):
            raise ArgumentError(
                f"transforms must be a Transform or a list of them, got {shown(transforms)}",
                hint="pass a list",
                operator="TransformedDistribution",
            )
        self.transforms = list(listed)
        whole = ComposeTransform(self.transforms)
        base_shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        if len(base_shape) < whole.domain.event_dim:
            raise ArgumentError(
                f"the base needs at least {whole.domain.event_dim} dimensions, got shape {list(base_shape)}",
                hint="expand the base distribution",
                operator="TransformedDistribution",
            )
        forward = whole.forward_shape(base_shape)
        backward = whole.inverse_shape(forward)
        base = base_distribution.expand(backward[: len(backward) - len(base_distribution.event_shape)])
        reinterpreted = whole.domain.event_dim - len(base.event_shape)
        if reinterpreted > 0:
            base = Independent(base, reinterpreted)
        self.base_dist = base
        change = whole.codomain.event_dim - whole.domain.event_dim
        event_dim = max(whole.codomain.event_dim, len(base.event_shape) + change)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape((*sizes(batch_shape), *self._event_shape))
        base_batch = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:base_batch])
        return new

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        result = self.transforms[-1].codomain
        more = len(self._event_shape) - result.event_dim
        return constraints.independent(result, more) if more > 0 else result

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            value = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                value = transform(value)
            return value

    def rsample(self, sample_shape: Any = ()) -> Any:
        value = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            value = transform(value)
        return value

    def log_prob(self, value: Any) -> Any:
        y, result = self._checked(value), 0.0
        event_dim = len(self._event_shape)
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            result = result - sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        return result + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _reflected(self, value: Any) -> Any:
        """Return a probability, or its complement where the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:  # not the support of the result: its ends have probabilities too
            self.base_dist._validate_sample(value)
        return self._reflected(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        value = self.base_dist.icdf(self._reflected(value))
        for transform in self.transforms:
            value = transform(value)
        return value


__all__ = ["Distribution", "ExponentialFamily", "Independent", "TransformedDistribution"]
__dir__ = listing(globals())

"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from ..autograd.mode import no_grad
from ..errors import ArgumentError, shown
from ..importer import listing
from . import constraints
from .discrete import Categorical
from .distribution import Distribution
from .library import sizes, torch


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family: to draw a sample, draw a component, then draw from it.

    mixture_distribution: a Categorical with the probabilities of the components.
    component_distribution: a Distribution of batch shape [*batch_shape, n] for n components; its last batch dimension
        numbers them.
    validate_args: as in Distribution.
    Raises: ArgumentError for distributions whose shapes do not fit, or that are not a Categorical and a Distribution.
    Example:
        >>> components = torch.distributions.Normal(torch.tensor([0.0, 10.0]), 1.0)
        >>> weights = torch.distributions.Categorical(torch.tensor([0.25, 0.75]))
        >>> torch.distributions.MixtureSameFamily(weights, components).mean
        tensor(7.5000)
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        mixture, component = mixture_distribution, component_distribution
        name = "MixtureSameFamily"
        if not isinstance(mixture, Categorical) or not isinstance(component, Distribution):
            raise ArgumentError(
                f"the mixture must be a Categorical and the component a Distribution, got {shown(mixture)} and "
                f"{shown(component)}",
                hint="as in MixtureSameFamily(Categorical(probs), Normal(means, stds))",
                operator=name,
            )
        batch, count = component.batch_shape[:-1], mixture.probs.shape[-1]
        own = mixture.batch_shape
        fits = all(one == other or 1 in (one, other) for one, other in zip(reversed(own), reversed(batch)))
        if not component.batch_shape or not fits or component.batch_shape[-1] != count:
            raise ArgumentError(
                f"the mixture of batch {list(own)} has {count} components, the components have batch "
                f"{list(component.batch_shape)}",
                hint="the last batch dimension of the components is that of the mixture",
                operator=name,
            )
        self._mixture_distribution = mixture
        self._component_distribution = component
        self._num_component = count
        self._event_ndims = len(component.event_shape)
        super().__init__(batch, component.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = sizes(batch_shape)
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._component_distribution = self._component_distribution.expand((*shape, self._num_component))
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the index."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Any:
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *[1] * self._event_ndims))

    @property
    def mean(self) -> Any:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Any:
        at, weights = -1 - self._event_ndims, self._weights()
        inside = (weights * self._component_distribution.variance).sum(at)
        distance = self._component_distribution.mean - self.mean.unsqueeze(at)
        return inside + (weights * distance * distance).sum(at)

    def cdf(self, x: Any) -> Any:
        """Return the cumulative distribution function at `x`: the probability that a sample is at most `x`.

        Shapes: x broadcasts with the batch shape; the result has the broadcast shape.
        Raises: NotSupportedError if the class of the components does not define it, ArgumentError for an x outside
                their support, unless their validate_args is False.
        Example:
            >>> components = torch.distributions.Uniform(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 2.0]))
            >>> weights = torch.distributions.Categorical(torch.tensor([0.5, 0.5]))
            >>> torch.distributions.MixtureSameFamily(weights, components).cdf(torch.tensor(0.5))
            tensor(0.3750)
        """
        inner = self._component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return (inner * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Any) -> Any:
        """Return the logarithm of the probability density at `x`, or of the probability if values are discrete.

        Shapes: x broadcasts with (*batch_shape, *event_shape); the result lacks the event dimensions.
        Raises: ArgumentError for an x outside the support, unless validate_args is False.
        Example:
            >>> components = torch.distributions.Uniform(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 2.0]))
            >>> weights = torch.distributions.Categorical(torch.tensor([0.5, 0.5]))
            >>> torch.distributions.MixtureSameFamily(weights, components).log_prob(torch.tensor(0.5)).exp()
            tensor(0.7500)
        """
        padded = self._checked(x).unsqueeze(-1 - self._event_ndims)
        weights = torch.log_softmax(self._mixture_distribution.logits, -1)
        return torch.logsumexp(self._component_distribution.log_prob(padded) + weights, -1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            index = self._mixture_distribution.sample(sample_shape)
            shape = (*sizes(sample_shape), *self._batch_shape)
            at = len(shape)
            index = index.expand(shape).reshape((*shape, *[1] * (self._event_ndims + 1)))
            values = self._component_distribution.sample(sample_shape)
            chosen = torch.gather(values, at, index.expand((*shape, 1, *self._event_shape)))
            return chosen.squeeze(at)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"


__all__ = ["MixtureSameFamily"]
__dir__ = listing(globals())

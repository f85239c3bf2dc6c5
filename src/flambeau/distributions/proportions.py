"""Distributions of proportions: Dirichlet, and Beta for two parts."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from . import constraints
from .constraints import positive, unit_interval
from .continuous import floating
from .distribution import ExponentialFamily
from .library import torch
from .sampling import standard_gamma


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: vectors of n positive numbers of sum 1.

    The vectors are distributed as n independent gamma variables, divided by their sum.
    concentration: positive, [*batch_shape, n].  Shapes: the event shape is [n].
    Example:
        >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ArgumentError(
                f"the concentration must have at least one dimension, got {concentration.item()}",
                hint="a number for each class",
                operator="Dirichlet",
            )
        (self.concentration,) = floating(concentration)
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        value = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return value / value.sum(-1, keepdim=True)

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
    """The beta distribution on (0, 1).

    Its density is proportional to x ** (concentration1 - 1) * (1 - x) ** (concentration0 - 1).
    concentration1, concentration0: positive numbers or tensors, which broadcast to the batch shape.
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

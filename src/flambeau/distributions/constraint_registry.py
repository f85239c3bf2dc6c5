"""Transforms from unconstrained numbers to constrained ones, by constraint.

biject_to: bijections, which keep the dimensions.  transform_to: transforms that are well behaved for optimization.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArgumentTypeError, NotSupportedError, shown
from ..importer import listing
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
__dir__ = listing(globals())


Factory = Callable[[Any], Any]


class ConstraintRegistry:
    """A registry of transforms by class of constraint: called with a constraint, it returns the Transform for it.

    The transform maps all real numbers to values that satisfy the constraint.  There are two registries: the transforms
    of `biject_to` are bijective; those of `transform_to` need not be, and may be simpler.
    Raises: NotSupportedError in a call with a constraint of a class that is not registered.
    Example:
        >>> constraint = torch.distributions.constraints.interval(2.0, 6.0)
        >>> torch.distributions.biject_to(constraint)(torch.tensor(0.0))
        tensor(4.)
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Register a function that makes the transforms for a class of constraints.

        constraint: the class, or an instance of it.
        factory: a function of a constraint that returns a Transform; None makes `register` return a decorator for it.
        Raises: ArgumentTypeError for a `constraint` of another type.
        Example:
            >>> class Even(torch.distributions.constraints.Constraint):
            ...     pass
            >>> @torch.distributions.transform_to.register(Even)
            ... def double(constraint):
            ...     return torch.distributions.AffineTransform(0.0, 2.0)
            >>> torch.distributions.transform_to(Even())(torch.tensor(3.0))
            tensor(6.)
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(cls, type) or not issubclass(cls, constraints.Constraint):
            raise ArgumentTypeError(
                f"expected a constraint or a class of them, got {shown(constraint)}",
                hint="pass one such as constraints.positive",
                operator="register",
            )
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return the transform of a constraint.  Raises NotSupportedError if none is registered."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotSupportedError(
                f"no transform is registered for {type(constraint).__name__} constraints",
                hint="add a transform with register()",
                operator="ConstraintRegistry",
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _for(constraint: Any, *registries: ConstraintRegistry) -> Callable[[Factory], Factory]:
    """Make a decorator that registers a factory; in both registries if none is named."""

    def decorate(factory: Factory) -> Factory:
        for registry in registries or (biject_to, transform_to):
            registry.register(constraint, factory)
        return factory

    return decorate


@_for(constraints.real)
def _real(constraint: Any) -> Any:
    return transforms.identity_transform


@_for(constraints.independent, biject_to)
def _biject_independent(constraint: Any) -> Any:
    inner = biject_to(constraint.base_constraint)
    return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)


@_for(constraints.independent, transform_to)
def _transform_independent(constraint: Any) -> Any:
    inner = transform_to(constraint.base_constraint)
    return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)


@_for(constraints.positive)
@_for(constraints.nonnegative)
def _positive(constraint: Any) -> Any:
    return transforms.ExpTransform()


@_for(constraints.greater_than)
@_for(constraints.greater_than_eq)
def _above(constraint: Any) -> Any:
    lower = constraint.lower_bound
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(lower, 1)])


@_for(constraints.less_than)
def _below(constraint: Any) -> Any:
    upper = constraint.upper_bound
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(upper, -1)])


@_for(constraints.interval)
@_for(constraints.half_open_interval)
def _between(constraint: Any) -> Any:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    if isinstance(lower, (int, float)) and isinstance(upper, (int, float)) and (lower, upper) == (0, 1):
        return transforms.SigmoidTransform()
    scaled = transforms.AffineTransform(lower, upper - lower)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), scaled])


@_for(constraints.simplex, biject_to)
def _biject_simplex(constraint: Any) -> Any:
    return transforms.StickBreakingTransform()


@_for(constraints.simplex, transform_to)
def _transform_simplex(constraint: Any) -> Any:
    return transforms.SoftmaxTransform()


@_for(constraints.lower_cholesky, transform_to)
def _lower_cholesky(constraint: Any) -> Any:
    return transforms.LowerCholeskyTransform()


@_for(constraints.positive_definite, transform_to)
@_for(constraints.positive_semidefinite, transform_to)
def _positive_definite(constraint: Any) -> Any:
    return transforms.PositiveDefiniteTransform()


@_for(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


@_for(constraints.cat, biject_to)
def _biject_cat(constraint: Any) -> Any:
    return transforms.CatTransform([biject_to(part) for part in constraint.cseq], constraint.dim, constraint.lengths)


@_for(constraints.cat, transform_to)
def _transform_cat(constraint: Any) -> Any:
    return transforms.CatTransform([transform_to(part) for part in constraint.cseq], constraint.dim, constraint.lengths)


@_for(constraints.stack, biject_to)
def _biject_stack(constraint: Any) -> Any:
    return transforms.StackTransform([biject_to(part) for part in constraint.cseq], constraint.dim)


@_for(constraints.stack, transform_to)
def _transform_stack(constraint: Any) -> Any:
    return transforms.StackTransform([transform_to(part) for part in constraint.cseq], constraint.dim)

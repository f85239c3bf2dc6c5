"""torch.distributions.constraints: regions of tensors, such as the values that a distribution can take.

`check(value)` returns a bool tensor of the batch shape; `event_dim` says how many last dimensions make one event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import bool_
from ..errors import ArgumentError, ArgumentTypeError, IndexRangeError, NotSupportedError
from ..importer import listing
from ..ops.factorizations import linalg_cholesky_ex, linalg_eigvalsh
from ..tensor import checks
from .library import check_size, epsilon, name_methods, torch

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip
__dir__ = listing(globals())
HINT = "as in constraints.real"


class Constraint:
    """Base class of constraints: conditions that the values or parameters of a distribution satisfy.

    `check` tests values.  A class may set two attributes:
    is_discrete: whether only integers satisfy the constraint; False by default.
    event_dim: the number of dimensions of one value: 0 for numbers (the default), 1 for vectors, 2 for matrices.
    Raises: in `check`, NotSupportedError if the class does not define it.
    Example:
        >>> class Even(torch.distributions.constraints.Constraint):
        ...     is_discrete = True
        ...     def check(self, value):
        ...         return value % 2 == 0
        >>> Even().check(torch.tensor([1, 2]))
        tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_methods(cls, (), ("check",))

    def check(self, value: Any) -> Any:
        """Return a bool tensor that is True for the values that satisfy the constraint.

        value: a tensor of values.
        Shapes: the result has the shape of `value` without the last `event_dim` dimensions, those of one value.
        Raises: NotSupportedError if the class does not define it; ArgumentError for a `dependent` constraint.
        Example:
            >>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 2.0]))
            tensor([False,  True])
            >>> torch.distributions.constraints.simplex.check(torch.tensor([[0.25, 0.75], [1.0, 1.0]]))
            tensor([ True, False])
        """
        raise NotSupportedError("check is not defined", hint="define check(self, x)", operator=type(self).__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Dependent(Constraint):
    """A constraint that depends on the parameters of a distribution; its `check` raises ArgumentError.

    It stands for the support of a class of distributions; an instance of the class has the actual constraint.
    is_discrete, event_dim: as in Constraint; left out if they depend on the parameters too.
    Example:
        >>> torch.distributions.constraints.dependent(is_discrete=False, event_dim=1).event_dim
        1
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self._known("is_discrete", self._is_discrete)

    @property
    def event_dim(self) -> Any:
        return self._known("event_dim", self._event_dim)

    @staticmethod
    def _known(name: str, value: Any) -> Any:
        if value is NotImplemented:
            raise NotSupportedError(
                f"{name} cannot be determined from the class",
                hint="read it from the constraint of an instance",
                operator="dependent",
            )
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """Return a dependent region with other properties."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Any) -> Any:
        """Raise ArgumentError: only the constraint of an instance, such as `distribution.support`, can check `x`.

        Example:
            >>> torch.distributions.Uniform(0.0, 1.0).support.check(torch.tensor([0.5, 2.0]))
            tensor([ True, False])
        """
        raise ArgumentError(
            "cannot determine the validity of a dependent constraint",
            hint="use the constraint of an instance, such as distribution.support",
            operator="check",
        )


def is_dependent(constraint: Any) -> bool:
    """Return whether a constraint depends on the parameters of a distribution, so that it cannot check values.

    constraint: any object; False for an object that is not a constraint.
    Example:
        >>> constraints, uniform = torch.distributions.constraints, torch.distributions.Uniform
        >>> constraints.is_dependent(constraints.positive), constraints.is_dependent(uniform.support)
        (False, True)
    """
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):  # noqa: N801
    """A decorator for a method of a distribution that returns a constraint: it makes the method a property.

    Read from an instance, the property is the constraint; read from the class, it is a `dependent` constraint.
    is_discrete, event_dim: those of the constraint, as in Constraint; left out if they depend on parameters too.
    Raises: in `check` of the property itself, ArgumentError.
    Example:
        >>> constraints = torch.distributions.constraints
        >>> class Dice(torch.distributions.Distribution):
        ...     sides = 6
        ...     @constraints.dependent_property(is_discrete=True, event_dim=0)
        ...     def support(self):
        ...         return constraints.integer_interval(1, self.sides)
        >>> Dice().support, Dice.support.is_discrete
        (IntegerInterval(lower_bound=1, upper_bound=6), True)
    """

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:  # fmt: skip
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> dependent_property:  # type: ignore[override]  # it decorates a method, the base makes a constraint
        """Decorate a method: the call that follows @dependent_property(options)."""
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Constraint to tensors whose elements along the last dimensions all satisfy a base constraint.

    base_constraint: a Constraint.
    reinterpreted_batch_ndims: the number of these dimensions, which `check` reduces with `all`.
    Raises: ArgumentTypeError for a base that is not a constraint or a number that is not an int, ValueRangeError for a
            negative number; in `check`, ArgumentError for a value of fewer dimensions.
    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1.0, 2.0], [1.0, -2.0]]))
        tensor([ True, False])
    """

    called = "independent"

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        checks.instances("independent", "base_constraint", Constraint, [base_constraint], HINT)
        checks.count("independent", "reinterpreted_batch_ndims", reinterpreted_batch_ndims)
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        kept = result.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ArgumentError(
                f"expected at least {self.event_dim} dimensions, got shape {list(value.shape)}",
                hint="add dimensions: an event has that many",
                operator="independent",
            )
        return result.flatten(kept).all(-1) if kept < result.dim() else result

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a MixtureSameFamily: values that lie in the supports of all components.

    base_constraint: the support of the component distribution, whose last batch dimension numbers the components.
    Raises: ArgumentTypeError for an object that is not a constraint; in `check`, the errors of the components'
            constraint.
    Example:
        >>> constraints = torch.distributions.constraints
        >>> components = constraints.interval(torch.zeros(2), torch.tensor([1.0, 5.0]))
        >>> constraints.MixtureSameFamilyConstraint(components).check(torch.tensor([0.5, 3.0]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        name = "MixtureSameFamilyConstraint"
        (self.base_constraint,) = checks.instances(name, "base_constraint", Constraint, [base_constraint], HINT)

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        """Return a bool tensor, True for values in the supports of all components.

        Shapes: if the constraint of k components has bounds of shape [*batch, k], value broadcasts with [*batch],
                followed by the dimensions of an event; the result has the broadcast batch shape.
        Raises: the errors of the components' constraint: ShapeError if the value does not broadcast with its bounds.
        Example:
            >>> constraints = torch.distributions.constraints
            >>> components = constraints.interval(torch.zeros(2), torch.tensor([1.0, 5.0]))
            >>> constraints.MixtureSameFamilyConstraint(components).check(torch.tensor([0.5, 3.0, 6.0]))
            tensor([ True, False, False])
        """
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Boolean(Constraint):
    """Constraint to zeros and ones."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Constraint to one-hot vectors."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """A region between bounds.  bounds: the names of the bounds that it has, which are attributes."""

    bounds: tuple[str, ...] = ()

    def __repr__(self) -> str:
        listed = ", ".join([f"{name}={getattr(self, name)}" for name in self.bounds])
        return f"{type(self).__name__.lstrip('_')}({listed})"


class _IntegerInterval(_Bounded):
    """Constraint to integers from lower_bound to upper_bound, both included; the bounds are numbers or tensors.

    The values may have a floating point dtype.
    Raises: in `check`, ShapeError if value and bounds do not broadcast.
    Example:
        >>> torch.distributions.constraints.integer_interval(1, 6).check(torch.tensor([0.0, 1.0, 1.5, 6.0]))
        tensor([False,  True, False,  True])
    """

    is_discrete = True
    bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """Constraint to integers of lower_bound or more."""

    is_discrete = True
    bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """Constraint to all numbers except NaN."""

    def check(self, value: Any) -> Any:
        return value == value  # NaN is not real


class _GreaterThan(_Bounded):
    """Constraint to numbers above lower_bound, a number or a tensor.

    Raises: in `check`, ShapeError if value and bound do not broadcast.
    Example:
        >>> torch.distributions.constraints.greater_than(2.0).check(torch.tensor([2.0, 3.0]))
        tensor([False,  True])
    """

    bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return value > self.lower_bound


class _GreaterThanEq(_Bounded):
    """Constraint to numbers of at least lower_bound, a number or a tensor.

    Raises: in `check`, ShapeError if value and bound do not broadcast.
    Example:
        >>> torch.distributions.constraints.greater_than_eq(2.0).check(torch.tensor([1.0, 2.0]))
        tensor([False,  True])
    """

    bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return value >= self.lower_bound


class _LessThan(_Bounded):
    """Constraint to numbers below upper_bound, a number or a tensor.

    Raises: in `check`, ShapeError if value and bound do not broadcast.
    Example:
        >>> torch.distributions.constraints.less_than(2.0).check(torch.tensor([1.0, 2.0]))
        tensor([ True, False])
    """

    bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Constraint to numbers from lower_bound to upper_bound, both included; the bounds are numbers or tensors.

    Raises: in `check`, ShapeError if value and bounds do not broadcast.
    Example:
        >>> torch.distributions.constraints.interval(2.0, 6.0).check(torch.tensor([1.0, 2.0, 6.0]))
        tensor([False,  True,  True])
    """

    bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    """Constraint to numbers from lower_bound, included, to upper_bound, excluded; the bounds are numbers or tensors.

    Raises: in `check`, ShapeError if value and bounds do not broadcast.
    Example:
        >>> torch.distributions.constraints.half_open_interval(2.0, 6.0).check(torch.tensor([2.0, 6.0]))
        tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Constraint to vectors of numbers of 0 or more whose sum is 1."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Constraint to vectors of numbers of 0 or more whose sum is at most upper_bound.

    Shapes: `check` takes vectors of n numbers, [*, n], and returns [*].
    Raises: in `check`, ShapeError if the sums do not broadcast with upper_bound.
    Example:
        >>> torch.distributions.constraints.multinomial(4).check(torch.tensor([[1.0, 3.0], [2.0, 3.0]]))
        tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        """Return a bool tensor that is True for the vectors of counts that satisfy the constraint.

        x: a tensor of vectors of n numbers.
        Shapes: x [*, n] gives [*].
        Raises: ShapeError if the sums do not broadcast with upper_bound.
        Example:
            >>> torch.distributions.constraints.multinomial(4).check(torch.tensor([[1.0, 3.0], [2.0, 3.0]]))
            tensor([ True, False])
        """
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _OfMatrices(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        if value.dim() < 2:
            raise IndexRangeError(
                f"expected matrices, got shape {list(value.shape)}",
                hint="pass a matrix, or a batch of matrices in the last two dimensions",
                operator=type(self).__name__.lstrip("_"),
            )
        return self._checked(value)

    def _checked(self, value: Any) -> Any:
        """Return which matrices satisfy the constraint."""
        raise NotSupportedError("_checked is not defined", hint="define it", operator=type(self).__name__)


def _all_elements(value: Any) -> Any:
    return value.all(-1).all(-1)


class _LowerTriangular(_OfMatrices):
    def _checked(self, value: Any) -> Any:
        return _all_elements(value.tril() == value)


class _LowerCholesky(_OfMatrices):
    def _checked(self, value: Any) -> Any:
        return _all_elements(value.tril() == value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_OfMatrices):
    def _checked(self, value: Any) -> Any:
        if not value.dtype.is_floating_point:
            raise ArgumentTypeError(
                f"expected a floating point tensor, got {value.dtype.name}",
                hint="call .float() first",
                operator="CorrCholesky",
            )
        tolerance = epsilon(value.dtype) * value.shape[-1] * 10
        lengths = (value * value).sum(-1).sqrt()
        return ((lengths - 1).abs() < tolerance).all(-1) & lower_cholesky.check(value)


class _Square(_OfMatrices):
    def _checked(self, value: Any) -> Any:
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def _checked(self, value: Any) -> Any:
        if value.shape[-2] != value.shape[-1]:
            return super()._checked(value)
        return _all_elements(torch.isclose(value, value.mT, atol=1e-6))


class _PositiveSemidefinite(_Symmetric):
    def _checked(self, value: Any) -> Any:
        symmetric = super()._checked(value)
        if not symmetric.all():
            return symmetric
        return (linalg_eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def _checked(self, value: Any) -> Any:
        symmetric = super()._checked(value)
        if not symmetric.all():
            return symmetric
        return linalg_cholesky_ex(value).info.eq(0)


class _Parts(Constraint):
    """Constraints of parts along a dimension."""

    called: str

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        self.cseq = checks.instances(self.called, "cseq", Constraint, cseq, HINT)
        checks.integer(self.called, "dim", dim)
        self.dim = dim

    @property
    def is_discrete(self) -> Any:
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(constraint.event_dim for constraint in self.cseq)


class _Cat(_Parts):
    """Constraint to tensors whose part i along a dimension satisfies constraint i of a list.

    cseq: the list of constraints.  dim: the dimension.  lengths: the size of each part along `dim`, by default 1.
    Raises: ArgumentTypeError for entries of a wrong type, ArgumentError unless there is one length for each constraint;
            in `check`, ShapeError for another size of the dimension, IndexRangeError for a dimension out of range.
    Example:
        >>> constraints = torch.distributions.constraints
        >>> parts = constraints.cat([constraints.positive, constraints.real], lengths=[2, 1])
        >>> parts.check(torch.tensor([1.0, -2.0, -3.0]))
        tensor([ True, False,  True])
    """

    called = "cat"

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq)
        if lengths is not None:
            self.lengths = list(checks.listed("cat", "lengths", "ints", lengths))
        if len(self.lengths) != len(self.cseq):
            raise ArgumentError(
                f"there are {len(self.cseq)} constraints and {len(self.lengths)} lengths",
                hint="pass one length for each constraint",
                operator="cat",
            )

    def check(self, value: Any) -> Any:
        check_size("cat", value, self.dim, sum(self.lengths))
        results, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            results.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return torch.cat(results, self.dim)


class _Stack(_Parts):
    """Constraint to tensors whose slice with index i along dimension `dim` satisfies constraint i of a list.

    cseq: the list of constraints, one for each index.
    Raises: ArgumentTypeError for entries of cseq that are not constraints; in `check`, ShapeError unless the size at
            dim is len(cseq), IndexRangeError for a dim out of range.
    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.stack([constraints.positive, constraints.real]).check(torch.tensor([[1.0], [-3.0]]))
        tensor([[True],
                [True]])
    """

    called = "stack"

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> Any:
        dim = max(constraint.event_dim for constraint in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        check_size("stack", value, self.dim, len(self.cseq))
        parts = [value.select(self.dim, index) for index in range(len(self.cseq))]
        return torch.stack([constraint.check(part) for part, constraint in zip(parts, self.cseq)], self.dim)


dependent = _Dependent()
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack

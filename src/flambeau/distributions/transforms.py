"""torch.distributions.transforms: invertible functions, with the log determinants of their Jacobians.

- A transform maps `domain` to `codomain`.  Where these have event dimensions, it maps events.
- `_call`, `_inverse` and `log_abs_det_jacobian` define a class.  `t.inv` is the inverse as a transform.
- With cache_size=1 a transform keeps its last pair of values, so that inv(t(x)) is x itself.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from .. import strides as st
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, shown
from ..importer import listing
from ..strides import Size
from ..tensor import checks
from . import constraints
from .library import (
    as_floating,
    broadcast_all,
    check_size,
    epsilon,
    name_methods,
    softplus,
    sum_rightmost,
    tiny,
    torch,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip
__dir__ = listing(globals())
HINT = "as in ExpTransform()"
METHODS = ("__init__", "forward_shape", "inverse_shape", "with_cache")  # whose errors name the class
METHODS_OF_TENSORS = ("__call__", "_inv_call", "log_abs_det_jacobian")


def _check_cache_size(cache_size: Any) -> None:
    """Raise ArgumentError unless a size is 0 or 1."""
    if cache_size not in (0, 1):
        raise ArgumentError(
            f"cache_size must be 0 or 1, got {cache_size}", hint="leave cache_size out", operator="Transform"
        )


def _check_event(transform: Transform, shape: Sequence[int], count: int) -> None:
    """Raise ArgumentError for a shape of fewer dimensions than one event has."""
    if len(shape) < count:
        raise ArgumentError(
            f"events have {count} dimensions, got shape {list(shape)}",
            hint="add dimensions with unsqueeze()",
            operator=type(transform).__name__,
        )


def _shape_of_events(transform: Transform, shape: Sequence[int]) -> Size:
    """Return a shape of events that are vectors.  Raises ArgumentError if it has no dimensions."""
    result = Size(shape)
    _check_event(transform, result, 1)
    return result


class Transform:
    """Base class of transforms: differentiable functions of tensors, with the log determinant of their Jacobian.

    Call a transform with a tensor to apply it; call its attribute `inv` to apply the inverse, if there is one.
    Subclasses define the methods `_call`, `_inverse` and `log_abs_det_jacobian`, and the attributes `domain` and
    `codomain` (constraints) and `bijective` (whether the inverse is unique).  A monotonic elementwise transform also
    has `sign`: 1 if it increases, -1 if it decreases.
    cache_size: if 1, the transform remembers its last argument and result, so that `inv` of this result returns the
    argument without computation; if 0, it does not.
    Raises: ArgumentError for any other cache_size; NotSupportedError for a method that the class does not define.
    Example:
        >>> exp = torch.distributions.ExpTransform()
        >>> exp(torch.tensor(0.0)), exp.inv(torch.tensor(1.0))
        (tensor(1.), tensor(0.))
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__name__ != "_InverseTransform":  # its errors have the name of the transform
            name_methods(cls, METHODS, METHODS_OF_TENSORS)

    def __init__(self, cache_size: int = 0) -> None:
        _check_cache_size(cache_size)
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached: tuple[Any, Any] = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_inv"] = None
        return state

    @property
    def event_dim(self) -> Any:
        """The number of event dimensions of the domain and of the codomain, which must be equal."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ArgumentError(
            f"event_dim is ambiguous: the domain has {self.domain.event_dim} event dimensions, and the codomain "
            f"{self.codomain.event_dim}",
            hint="read domain.event_dim or codomain.event_dim instead",
            operator=type(self).__name__,
        )

    @property
    def inv(self) -> Any:
        """The inverse transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        raise NotSupportedError(
            "sign is not defined", hint="only monotonic transforms have a sign", operator=type(self).__name__
        )

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return this transform with another cache_size: 1 remembers the last argument and result, 0 does not.

        With 1, `inv` of the last result returns the last argument itself.
        Raises: ArgumentError for any other cache_size.
        Example:
            >>> exp, x = torch.distributions.ExpTransform().with_cache(1), torch.tensor(2.0)
            >>> exp.inv(exp(x)) is x
            True
        """
        _check_cache_size(cache_size)
        if self._cache_size == cache_size:
            return self
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._cache_size, new._inv, new._cached = cache_size, None, (None, None)
        return new

    def __call__(self, x: Any) -> Any:
        """Apply the transform to x."""
        if self._cache_size == 0:
            return self._call(x)
        former, y = self._cached
        if x is not former:
            y = self._call(x)
            self._cached = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        x, former = self._cached
        if y is not former:
            x = self._inverse(y)
            self._cached = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotSupportedError("_call is not defined", hint="define _call(self, x)", operator=type(self).__name__)

    def _inverse(self, y: Any) -> Any:
        name = type(self).__name__
        raise NotSupportedError("_inverse is not defined", hint="define _inverse(self, y)", operator=name)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return log(|det J|), for the Jacobian matrix J of the transform at x.

        x: an argument of the transform.  y: its result, so that it is not computed again.
        Shapes: the result has the shape of x without the last `domain.event_dim` dimensions, those of an event.
        Raises: NotSupportedError if the class does not define it.
        Example:
            >>> x = torch.tensor([1.0, 2.0])
            >>> torch.distributions.ExpTransform().log_abs_det_jacobian(x, x.exp())
            tensor([1., 2.])
        """
        raise NotSupportedError(
            "log_abs_det_jacobian is not defined",
            hint="define log_abs_det_jacobian(self, x, y)",
            operator=type(self).__name__,
        )

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the transform's result for an argument of the given shape.

        shape: the argument's shape, a sequence of ints.  Most transforms keep it; StickBreakingTransform, for example,
        adds 1 to the last size.
        Raises: ArgumentTypeError for a shape that is not of ints, ArgumentError for one to which the transform does not
                apply, ShapeError for one that does not broadcast with the transform's parameters.
        Example:
            >>> torch.distributions.StickBreakingTransform().forward_shape((5, 3))
            torch.Size([5, 4])
        """
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the transform's argument for a result of the given shape.

        shape: the result's shape, a sequence of ints.  Most transforms keep it; StickBreakingTransform, for example,
        subtracts 1 from the last size.
        Raises: ArgumentTypeError for a shape that is not of ints, ArgumentError for one to which the inverse does not
                apply, ShapeError for one that does not broadcast with the transform's parameters.
        Example:
            >>> torch.distributions.StickBreakingTransform().inverse_shape((5, 4))
            torch.Size([5, 3])
        """
        return Size(shape)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


name_methods(Transform, METHODS, METHODS_OF_TENSORS)


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv: Any = transform
        self.bijective = transform.bijective

    @property
    def domain(self) -> Any:
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Any:
        return self._inv

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.forward_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """The composition of several transforms, which are applied in order.

    parts: a list of transforms.  An empty list is the identity, which `identity_transform` is.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1, ArgumentTypeError for parts that are not a list of
            transforms.
    Example:
        >>> double, exp = torch.distributions.AffineTransform(0.0, 2.0), torch.distributions.ExpTransform()
        >>> torch.distributions.ComposeTransform([double, exp])(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 7.3891])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        given = checks.instances("ComposeTransform", "parts", Transform, parts, HINT)
        self.parts = [part.with_cache(cache_size) for part in given] if cache_size else given
        self.bijective = all(part.bijective for part in self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    @property
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        result, event_dim = self.parts[0].domain, self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        more = event_dim - result.event_dim
        return constraints.independent(result, more) if more > 0 else result

    @property
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        result, event_dim = self.parts[-1].codomain, self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        more = event_dim - result.event_dim
        return constraints.independent(result, more) if more > 0 else result

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return sum(terms[1:], terms[0])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        inner = ",\n    ".join([repr(part) for part in self.parts])
        return f"{type(self).__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform that applies another one, and counts the last batch dimensions as event dimensions.

    Its `log_abs_det_jacobian` sums over these dimensions.
    base_transform: the other transform.  reinterpreted_batch_ndims: the number of these dimensions.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1 or an argument of fewer dimensions than events have,
            ArgumentTypeError for an object that is not a transform or a number that is not an int, ValueRangeError for
            a negative one.
    Example:
        >>> x, exp = torch.tensor([1.0, 2.0]), torch.distributions.ExpTransform()
        >>> torch.distributions.IndependentTransform(exp, 1).log_abs_det_jacobian(x, x.exp())
        tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        given = checks.instances("IndependentTransform", "base_transform", Transform, [base_transform], HINT)
        (base,) = given
        checks.count("IndependentTransform", "reinterpreted_batch_ndims", reinterpreted_batch_ndims)
        self.base_transform = base.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.bijective = self.base_transform.bijective

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @property
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _check(self, value: Any, event_dim: int) -> None:
        if value.dim() < event_dim:
            raise ArgumentError(
                f"events have {event_dim} dimensions, got shape {list(value.shape)}",
                hint="add dimensions with unsqueeze()",
                operator="IndependentTransform",
            )

    def _call(self, x: Any) -> Any:
        self._check(x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        self._check(y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The transform that reshapes the last dimensions of a tensor, those of an event.

    in_shape, out_shape: the shapes of an event before and after.
    cache_size: as in Transform.
    Raises: ArgumentError for shapes of different numbers of elements.
    Example:
        >>> torch.distributions.ReshapeTransform((2, 3), (6,))(torch.ones(5, 2, 3)).shape
        torch.Size([5, 6])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ArgumentError(
                f"in_shape {list(in_shape)} and out_shape {list(out_shape)} have different numbers of elements",
                hint="pass shapes whose sizes have the same product",
                operator="ReshapeTransform",
            )
        super().__init__(cache_size)

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(tuple(x.shape[: x.dim() - len(self.in_shape)]))

    def _swapped(self, shape: Sequence[int], old: Size, new: Size) -> Any:
        shape = Size(shape)
        cut = len(shape) - len(old)
        if cut < 0 or tuple(shape[cut:]) != tuple(old):
            raise ArgumentError(
                f"the event shape must be {list(old)}, got shape {list(shape)}",
                hint="the last dimensions of the shape must be those of an event",
                operator="ReshapeTransform",
            )
        return Size((*shape[:cut], *new))

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._swapped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._swapped(shape, self.out_shape, self.in_shape)


class _Simple(Transform):
    """Base of increasing elementwise bijections without parameters; all instances of a class are equal."""

    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = Transform.__hash__


class ExpTransform(_Simple):
    """The transform exp(x), from real numbers to positive numbers.

    Shapes: the result has the shape of x.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1.
    Example:
        >>> torch.distributions.ExpTransform()(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not isinstance(x, TensorBase):
            checks.number("ExpTransform", "x", x)
        return x


class PowerTransform(Transform):
    """The transform x ** exponent of positive numbers.

    exponent: a number, or a tensor that broadcasts with x; the result has the broadcast shape.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1 or an exponent that is not a number or tensor; in a call,
            ShapeError if x does not broadcast with it.
    Example:
        >>> torch.distributions.PowerTransform(2.0)(torch.tensor([1.0, 3.0]))
        tensor([1., 9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all().item())

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return _broadcast_shape(shape, self.exponent)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.forward_shape(shape)


def _broadcast_shape(shape: Sequence[int], *values: Any) -> Any:
    return Size(st.broadcast([Size(shape), *[tuple(value.shape) for value in values]], "transform"))


def clipped_sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), rounded to neither 0 nor 1."""
    return torch.sigmoid(x).clamp(min=tiny(x.dtype), max=1 - epsilon(x.dtype))


_clipped_sigmoid = clipped_sigmoid  # PyTorch's name, which packages import


class SigmoidTransform(_Simple):
    """The transform 1 / (1 + exp(-x)), from real numbers to (0, 1).

    Shapes: the result has the shape of x.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1.
    Example:
        >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
        tensor(0.5000)
    """

    domain = constraints.real
    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        y = y.clamp(min=tiny(y.dtype), max=1 - epsilon(y.dtype))
        return y.log() - torch.log1p(-y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Simple):
    """The transform log(1 + exp(x)), from real numbers to positive numbers.

    Shapes: the result has the shape of x.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1.
    Example:
        >>> torch.distributions.SoftplusTransform()(torch.tensor(0.0))
        tensor(0.6931)
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return torch.log(-torch.expm1(-y)) + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Simple):
    """The transform tanh(x), from real numbers to (-1, 1).

    Shapes: the result has the shape of x.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1.
    Example:
        >>> torch.distributions.TanhTransform()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return 0.5 * (torch.log1p(y) - torch.log1p(-y))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """The transform |x|, which is not bijective: for y, `inv` returns y itself, the positive one of two inverses.

    Shapes: the result has the shape of x.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1; NotSupportedError for `log_abs_det_jacobian`, which is
            not defined.
    Example:
        >>> torch.distributions.AbsTransform()(torch.tensor([-2.0, 3.0]))
        tensor([2., 3.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """The transform loc + scale * x.

    loc, scale: numbers, or tensors that broadcast with x.
    event_dim: how many of the last dimensions make one event; log_abs_det_jacobian sums over them.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1, ArgumentTypeError for a loc or scale that is not a number
            or tensor, ValueRangeError for a negative event_dim; in a call, ShapeError if x does not broadcast with
            them.
    Example:
        >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor([0.0, 3.0]))
        tensor([1., 7.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        checks.count("AffineTransform", "event_dim", event_dim)
        for what, value in (("loc", loc), ("scale", scale)):
            if not isinstance(value, TensorBase):
                checks.number("AffineTransform", what, value)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    def _space(self) -> Any:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    @property
    def domain(self) -> Any:
        return self._space()

    @property
    def codomain(self) -> Any:
        return self._space()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = (self.loc, other.loc), (self.scale, other.scale)
        return all(
            one == two if isinstance(one, (int, float)) and isinstance(two, (int, float)) else one is two
            or bool(torch.as_tensor(one).eq(torch.as_tensor(two)).all().item())
            for one, two in pairs
        )  # fmt: skip

    __hash__ = Transform.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, (int, float)):
            return 1 if self.scale > 0 else -1 if self.scale < 0 else 0
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, (int, float)):
            result = torch.full_like(x, math.log(abs(self.scale)))
        else:
            result = self.scale.abs().log().expand(torch.broadcast_tensors(x, self.scale)[0].shape)
        return sum_rightmost(result, self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return _broadcast_shape(shape, *[term for term in (self.loc, self.scale) if not isinstance(term, (int, float))])

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.forward_shape(shape)


class CorrCholeskyTransform(Transform):
    """The transform from vectors of real numbers to lower Cholesky factors of correlation matrices.

    Shapes: [*, n * (n - 1) / 2] to [*, n, n], for n x n matrices.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1 or an argument without dimensions, ShapeError for a size
            that is not n * (n - 1) / 2.
    Example:
        >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(3))
        tensor([[1., 0., 0.],
                [0., 1., 0.],
                [0., 0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        _check_event(self, x.shape, 1)
        eps = epsilon(x.dtype)
        z = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), -1)
        left = (1 - z * z).sqrt().cumprod(-1)
        z = z + torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
        ones = z.new_zeros((*z.shape[:-1], 1)) + 1
        return z * torch.cat([ones, left[..., :-1]], -1)

    def _inverse(self, y: Any) -> Any:
        left = 1 - (y * y).cumsum(-1)
        ones = y.new_zeros((*y.shape[:-1], 1)) + 1
        vector = tril_matrix_to_vec(y, -1)
        t = vector / tril_matrix_to_vec(torch.cat([ones, left[..., :-1]], -1), -1).sqrt()
        return (torch.log1p(t) - torch.log1p(-t)) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """Return log(|det J|), for the Jacobian matrix J of the transform at x.

        x: an argument of the transform.  y: its result, so that it is not computed again.
        intermediates: has no effect.
        Shapes: x [*, n * (n - 1) / 2] and y [*, n, n] give [*].
        Raises: ShapeError if y is not of square matrices.
        Example:
            >>> transform, x = torch.distributions.CorrCholeskyTransform(), torch.zeros(3)
            >>> transform.log_abs_det_jacobian(x, transform(x)).shape
            torch.Size([])
        """
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        inner = 0.5 * left.log().sum(-1)
        return inner + (-2 * (x + softplus(-2 * x) - math.log(2.0))).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        shape = _shape_of_events(self, shape)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ArgumentError(
                f"the last size must be D * (D - 1) / 2, got {count}",
                hint="pass vectors of such a size, for example 1, 3 or 6",
                operator="CorrCholeskyTransform",
            )
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        shape = Size(shape)
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ArgumentError(
                f"expected square matrices, got shape {list(shape)}",
                hint="pass matrices with equal last two sizes",
                operator="CorrCholeskyTransform",
            )
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(Transform):
    """The transform from vectors of real numbers to positive numbers of sum 1: exp(x) divided by its sum.

    The vectors are along the last dimension.  The transform is not bijective: `inv` returns the logarithms.
    Shapes: the result has the shape of x.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1; NotSupportedError for `log_abs_det_jacobian`, which is
            not defined.
    Example:
        >>> torch.distributions.SoftmaxTransform()(torch.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return torch.softmax(as_floating(x), -1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return _shape_of_events(self, shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.forward_shape(shape)


class StickBreakingTransform(Transform):
    """The bijective transform from n real numbers to n + 1 positive numbers of sum 1, along the last dimension.

    The results are lengths of pieces of a stick of length 1.  Each number determines the fraction that is broken off
    from the rest of the stick; the last piece is what remains.
    Shapes: [*, n] to [*, n + 1].
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1 or an argument without dimensions.
    Example:
        >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
        tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    @staticmethod
    def _offset(count: int, like: Any) -> Any:
        return torch.arange(count, 0, -1, device=like.device).to(like.dtype).log()

    def _call(self, x: Any) -> Any:
        _check_event(self, x.shape, 1)
        z = SigmoidTransform()(x - self._offset(x.shape[-1], x))
        left = (1 - z).cumprod(-1)
        ones = x.new_zeros((*x.shape[:-1], 1)) + 1
        return torch.cat([z, ones], -1) * torch.cat([ones, left], -1)

    def _inverse(self, y: Any) -> Any:
        _check_event(self, y.shape, 1)
        part = y[..., :-1]
        left = (1 - part.cumsum(-1)).clamp(min=tiny(y.dtype))
        return part.log() - left.log() + self._offset(part.shape[-1], y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        moved = x - self._offset(x.shape[-1], x)
        return (-moved - softplus(-moved) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        shape = _shape_of_events(self, shape)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        shape = _shape_of_events(self, shape)
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """The transform from square matrices to their lower triangles, with exp applied to the diagonal.

    The results are lower Cholesky factors of positive definite matrices.
    Shapes: [*, n, n] to the same.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1, ShapeError for matrices that are not square,
            IndexRangeError for fewer than 2 dimensions; NotSupportedError for `log_abs_det_jacobian`, which is not
            defined.
    Example:
        >>> torch.distributions.LowerCholeskyTransform()(torch.tensor([[0.0, 5.0], [2.0, 0.0]]))
        tensor([[1., 0.],
                [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    @staticmethod
    def _with_diagonal(matrix: Any, diagonal: Any) -> Any:
        return matrix.tril(-1) + torch.diag_embed(diagonal)

    def _call(self, x: Any) -> Any:
        return self._with_diagonal(x, x.diagonal(0, -2, -1).exp())

    def _inverse(self, y: Any) -> Any:
        return self._with_diagonal(y, y.diagonal(0, -2, -1).log())


class PositiveDefiniteTransform(Transform):
    """The transform from square matrices to positive definite ones: L @ L.T, where L = LowerCholeskyTransform()(x).

    Shapes: [*, n, n] to the same.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1, ShapeError for matrices that are not square,
            IndexRangeError for fewer than 2 dimensions; in `inv`, LinAlgError for matrices that are not positive
            definite; NotSupportedError for `log_abs_det_jacobian`, which is not defined.
    Example:
        >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0.0, 5.0], [2.0, 0.0]]))
        tensor([[1., 2.],
                [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.cholesky(y))


class _Parts(Transform):
    """Transforms of parts along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        super().__init__(cache_size)
        given = checks.instances(type(self).__name__, "tseq", Transform, tseq, HINT)
        checks.integer(type(self).__name__, "dim", dim)
        self.transforms = [transform.with_cache(cache_size) if cache_size else transform for transform in given]
        self.dim = dim
        self.bijective = all(transform.bijective for transform in self.transforms)

    def _split(self, value: Any) -> list[Any]:
        raise NotSupportedError("_split is not defined", hint="define it", operator=type(self).__name__)

    def _join(self, parts: Iterable[Any]) -> Any:
        raise NotSupportedError("_join is not defined", hint="define it", operator=type(self).__name__)

    def _call(self, x: Any) -> Any:
        return self._join(transform(part) for transform, part in zip(self.transforms, self._split(x)))

    def _inverse(self, y: Any) -> Any:
        return self._join(transform.inv(part) for transform, part in zip(self.transforms, self._split(y)))


class CatTransform(_Parts):
    """The transform that divides a tensor into parts along a dimension, and applies transform i of a list to part i.

    tseq: the list of transforms.  dim: the dimension.  lengths: the size of each part along `dim`, by default 1.
    Shapes: the size of x along `dim` is the sum of the lengths.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1 or unless there is one length for each transform,
            ArgumentTypeError for entries of a wrong type; in a call, ShapeError for another size of the dimension,
            IndexRangeError for a dimension out of range.
    Example:
        >>> parts = [torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 10.0)]
        >>> torch.distributions.CatTransform(parts, lengths=[1, 2])(torch.tensor([0.0, 1.0, 2.0]))
        tensor([ 1., 10., 20.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms)
        if lengths is not None:
            self.lengths = list(checks.listed("CatTransform", "lengths", "ints", lengths))
        for length in self.lengths:
            checks.count("CatTransform", "an entry of lengths", length)
        if len(self.lengths) != len(self.transforms):
            raise ArgumentError(
                f"there are {len(self.transforms)} transforms and {len(self.lengths)} lengths",
                hint="pass one length for each transform",
                operator="CatTransform",
            )

    @property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    @property
    def event_dim(self) -> Any:
        return max(transform.event_dim for transform in self.transforms)

    @property
    def domain(self) -> Any:
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Any) -> list[Any]:
        check_size("CatTransform", value, self.dim, self.length)
        starts = [sum(self.lengths[:at]) for at in range(len(self.lengths))]
        return [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]

    def _join(self, parts: Iterable[Any]) -> Any:
        return torch.cat(list(parts), self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = []
        for transform, before, after in zip(self.transforms, self._split(x), self._split(y)):
            slope = transform.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(slope, self.event_dim - transform.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return torch.cat(terms, dim) if dim < 0 else sum(terms[1:], terms[0])


class StackTransform(_Parts):
    """The transform that applies transform i of a list to the slice with index i along a dimension.

    tseq: the list of transforms, one for each index.  dim: the dimension, whose size is len(tseq).
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1, ArgumentTypeError for entries of a wrong type; in a call,
            ShapeError for another size of the dimension, IndexRangeError for a dimension out of range.
    Example:
        >>> parts = [torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 10.0)]
        >>> torch.distributions.StackTransform(parts)(torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
        tensor([[ 1.,  1.],
                [10., 20.]])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @property
    def domain(self) -> Any:
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, value: Any) -> list[Any]:
        check_size("StackTransform", value, self.dim, len(self.transforms))
        return [value.select(self.dim, index) for index in range(len(self.transforms))]

    def _join(self, parts: Iterable[Any]) -> Any:
        return torch.stack(list(parts), self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        triples = zip(self.transforms, self._split(x), self._split(y))
        return torch.stack(
            [transform.log_abs_det_jacobian(before, after) for transform, before, after in triples], self.dim
        )


class CumulativeDistributionTransform(Transform):
    """The transform that applies the cumulative distribution function of a distribution; `inv` applies its `icdf`.

    distribution: a Distribution with a `cdf`.  The results are in [0, 1].
    Shapes: the result has the shape of x.
    cache_size: as in Transform.
    Raises: ArgumentError for a cache_size other than 0 and 1, ArgumentTypeError for an object that is not a
            distribution; in a call, NotSupportedError if the distribution has no `cdf`, or no `icdf` for `inv`.
    Example:
        >>> uniform = torch.distributions.Uniform(0.0, 4.0)
        >>> torch.distributions.CumulativeDistributionTransform(uniform)(torch.tensor([1.0, 2.0]))
        tensor([0.2500, 0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        if not hasattr(distribution, "icdf"):
            raise ArgumentTypeError(
                f"distribution must be a Distribution, got {shown(distribution)}",
                hint="as in Uniform(0.0, 1.0)",
                operator="CumulativeDistributionTransform",
            )
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self if self._cache_size == cache_size else CumulativeDistributionTransform(self.distribution, cache_size)
        )

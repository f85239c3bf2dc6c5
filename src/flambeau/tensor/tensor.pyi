# Written by scripts/stubs, not by hand.

from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager as ContextManager
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, TypeVar, overload

from numpy.typing import NDArray

from types import EllipsisType

from ..autograd.node_hooks import RemovableHandle
from ..dtypes import dtype as _dtype
from ..memory_formats import layout as _layout, memory_format as _memory_format
from ..runtime.device import device as _device
from ..runtime.generator import Generator
from ..runtime.stream import Stream
from ..strides import Size
from .storages import TypedStorage, UntypedStorage

Number: TypeAlias = _bool | _int | _float
Device: TypeAlias = _device | str | _int | None
Dtype: TypeAlias = _dtype | _type[_bool] | _type[_int] | _type[_float]
Sizes: TypeAlias = _int | Sequence[_int]
Item: TypeAlias = Tensor | SupportsIndex | slice | _bool | EllipsisType | NDArray[Any] | Sequence[Any] | None
Index: TypeAlias = Item | tuple[Item, ...]

class ValuesAndIndices(NamedTuple):
    values: Tensor
    indices: Tensor

class Tensor:
    """A multi-dimensional array of one dtype on one device; it records how it was computed if gradients are required."""
    def __init__(self, *args: Any, device: Device = ...) -> None: ...
    def __init_subclass__(cls, *, overrides: _bool = ...) -> None: ...
    @property
    def H(self) -> Tensor:
        """The transpose of a matrix; a 0-dim tensor is returned unchanged."""
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | Number) -> Tensor: ...
    def __and__(self, other: Tensor | _int) -> Tensor: ...
    def __array__(self, dtype: Any = ..., copy: _bool | None = ...) -> NDArray[Any]: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, value: Tensor | Number) -> _bool: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Self: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: Tensor | Number) -> Tensor: ...
    def __format__(self, format_spec: str) -> str: ...
    def __ge__(self, other: Tensor | Number) -> Tensor: ...
    def __getitem__(self, index: Index) -> Tensor: ...
    def __gt__(self, other: Tensor | Number) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __iadd__(self, other: Tensor | Number) -> Self: ...
    def __iand__(self, other: Tensor | _int) -> Self: ...
    def __ifloordiv__(self, other: Tensor | Number) -> Self: ...
    def __ilshift__(self, other: Tensor | _int) -> Self: ...
    def __imod__(self, other: Tensor | Number) -> Self: ...
    def __imul__(self, other: Tensor | Number) -> Self: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Tensor | _int) -> Self: ...
    def __ipow__(self, other: Tensor | Number) -> Self: ...
    def __irshift__(self, other: Tensor | _int) -> Self: ...
    def __isub__(self, other: Tensor | Number) -> Self: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: Tensor | Number) -> Self: ...
    def __ixor__(self, other: Tensor | _int) -> Self: ...
    def __le__(self, other: Tensor | Number) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __lshift__(self, other: Tensor | _int) -> Tensor: ...
    def __lt__(self, other: Tensor | Number) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __mod__(self, other: Tensor | Number) -> Tensor: ...
    def __mul__(self, other: Tensor | Number) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Tensor | _int) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Tensor | Number) -> Tensor: ...
    def __radd__(self, other: Tensor | Number) -> Tensor: ...
    def __rand__(self, other: Tensor | _int) -> Tensor: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | Number) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _int) -> Tensor: ...
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    def __rmod__(self, other: Tensor | Number) -> Tensor: ...
    def __rmul__(self, other: Tensor | Number) -> Tensor: ...
    def __ror__(self, other: Tensor | _int) -> Tensor: ...
    def __rpow__(self, other: Tensor | Number) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _int) -> Tensor: ...
    def __rshift__(self, other: Tensor | _int) -> Tensor: ...
    def __rsub__(self, other: Tensor | Number) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | Number) -> Tensor: ...
    def __rxor__(self, other: Tensor | _int) -> Tensor: ...
    def __setitem__(self, index: Index, value: Tensor | Number) -> None: ...
    def __sub__(self, other: Tensor | Number) -> Tensor: ...
    def __truediv__(self, other: Tensor | Number) -> Tensor: ...
    def __xor__(self, other: Tensor | _int) -> Tensor: ...
    def abs(self) -> Tensor:
        """Compute the absolute value."""
    def abs_(self) -> Self:
        """In-place version of `abs`: stores the result in this tensor, cast to its dtype, and returns it."""
    def absolute(self) -> Tensor:
        """Compute the absolute value."""
    def absolute_(self) -> Self:
        """In-place version of `abs`: stores the result in this tensor, cast to its dtype, and returns it."""
    def acos(self) -> Tensor:
        """Compute the inverse of the cosine, in radians in [0, pi]; NaN for input outside [-1, 1]."""
    def acos_(self) -> Self:
        """In-place version of `acos`: stores the result in this tensor, cast to its dtype, and returns it."""
    def acosh(self) -> Tensor:
        """Compute the inverse of the hyperbolic cosine; NaN for input below 1."""
    def acosh_(self) -> Self:
        """In-place version of `acosh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def add(self, other: Tensor | Number, *, alpha: _float = ...) -> Tensor:
        """Compute `input + other`, where `other` is a tensor or a number."""
    def add_(self, other: Tensor | Number, *, alpha: _float = ...) -> Self:
        """In-place version of `add`: stores the result in this tensor, cast to its dtype, and returns it."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
        """Compute beta * input + alpha * (the sum of batch1[i] @ batch2[i] over i); with beta 0, input is not read."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Self:
        """In-place version of `addbmm`: stores the result in this tensor, cast to its dtype, and returns it."""
    def addcdiv(self, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: _float = ...) -> Tensor:
        """Compute `input + value * tensor1 / tensor2`; tensor1 and tensor2 may not both be integers."""
    def addcdiv_(self, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: _float = ...) -> Self:
        """In-place version of `addcdiv`: stores the result in this tensor, cast to its dtype, and returns it."""
    def addcmul(self, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: _float = ...) -> Tensor:
        """Compute `input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: _float = ...) -> Self:
        """In-place version of `addcmul`: stores the result in this tensor, cast to its dtype, and returns it."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
        """Compute beta * input + alpha * (mat1 @ mat2); with beta 0, input is not read."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Self:
        """In-place version of `addmm`: stores the result in this tensor, cast to its dtype, and returns it."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
        """Compute beta * input + alpha * (mat @ vec); with beta 0, input is not read."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Self:
        """In-place version of `addmv`: stores the result in this tensor, cast to its dtype, and returns it."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
        """Compute beta * input + alpha * outer(vec1, vec2); with beta 0, input is not read."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Self:
        """In-place version of `addr`: stores the result in this tensor, cast to its dtype, and returns it."""
    def adjoint(self) -> Tensor:
        """Return a view with the last two dimensions swapped: the conjugate transpose of real matrices."""
    def all(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Return whether all elements are nonzero; True if there are no elements."""
    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
        """Return whether |input - other| <= atol + rtol * |other| for all elements, as a bool: see `isclose`."""
    def amax(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Return the largest value over some dimensions, or all of them; NaN if any element is NaN."""
    def amin(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Return the smallest value over some dimensions, or all of them; NaN if any element is NaN."""
    def aminmax(self, *, dim: Sizes | None = ..., keepdim: _bool = ...) -> Any:
        """Return (min, max) of all elements or along a dimension; both are NaN if any element is NaN."""
    def angle(self) -> Tensor:
        """Return the angle of each number in the complex plane: pi for a negative number, else 0; NaN is unchanged."""
    def any(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Return whether any element is nonzero; False if there are no elements."""
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace every element of this CPU tensor by `callable(element)`, and return the tensor."""
    def arccos(self) -> Tensor:
        """Compute the inverse of the cosine, in radians in [0, pi]; NaN for input outside [-1, 1]."""
    def arccos_(self) -> Self:
        """In-place version of `acos`: stores the result in this tensor, cast to its dtype, and returns it."""
    def arccosh(self) -> Tensor:
        """Compute the inverse of the hyperbolic cosine; NaN for input below 1."""
    def arccosh_(self) -> Self:
        """In-place version of `acosh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def arcsin(self) -> Tensor:
        """Compute the inverse of the sine, in radians in [-pi/2, pi/2]; NaN for input outside [-1, 1]."""
    def arcsin_(self) -> Self:
        """In-place version of `asin`: stores the result in this tensor, cast to its dtype, and returns it."""
    def arcsinh(self) -> Tensor:
        """Compute the inverse of the hyperbolic sine."""
    def arcsinh_(self) -> Self:
        """In-place version of `asinh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def arctan(self) -> Tensor:
        """Compute the inverse of the tangent, in radians in [-pi/2, pi/2]."""
    def arctan2(self, other: Tensor) -> Tensor:
        """Return the angle in radians of the point with x = `other` and y = `input`, in [-pi, pi]."""
    def arctan2_(self, other: Tensor) -> Self:
        """In-place version of `atan2`: stores the result in this tensor, cast to its dtype, and returns it."""
    def arctan_(self) -> Self:
        """In-place version of `atan`: stores the result in this tensor, cast to its dtype, and returns it."""
    def arctanh(self) -> Tensor:
        """Compute the inverse of the hyperbolic tangent; NaN for input outside [-1, 1]."""
    def arctanh_(self) -> Self:
        """In-place version of `atanh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """Return the index of the largest value along a dimension, or in the flattened input."""
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """Return the index of the smallest value along a dimension, or in the flattened input."""
    def argsort(self, dim: _int = ..., descending: _bool = ..., stable: _bool = ...) -> Tensor:
        """Return the indices that sort the elements along a dimension in ascending order."""
    def argwhere(self) -> Tensor:
        """Return the indexes of all nonzero elements, in row-major order: the same as `nonzero`."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """Return a view of the input's storage with the given sizes and strides, in elements."""
    def as_strided_(self, size: Sizes, stride: Sequence[_int], storage_offset: _int | None = ...) -> Self:
        """Set this tensor's sizes, strides and offset within its storage, and return it."""
    def as_strided_scatter(self, src: Tensor, size: Sizes, stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """Return a contiguous copy of the input with `src` written to the elements that `as_strided` would select in it."""
    def as_subclass(self, cls: _type) -> Tensor:
        """Return a tensor of the subclass `cls` over this tensor's memory; gradients flow through it."""
    def asin(self) -> Tensor:
        """Compute the inverse of the sine, in radians in [-pi/2, pi/2]; NaN for input outside [-1, 1]."""
    def asin_(self) -> Self:
        """In-place version of `asin`: stores the result in this tensor, cast to its dtype, and returns it."""
    def asinh(self) -> Tensor:
        """Compute the inverse of the hyperbolic sine."""
    def asinh_(self) -> Self:
        """In-place version of `asinh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def atan(self) -> Tensor:
        """Compute the inverse of the tangent, in radians in [-pi/2, pi/2]."""
    def atan2(self, other: Tensor) -> Tensor:
        """Return the angle in radians of the point with x = `other` and y = `input`, in [-pi, pi]."""
    def atan2_(self, other: Tensor) -> Self:
        """In-place version of `atan2`: stores the result in this tensor, cast to its dtype, and returns it."""
    def atan_(self) -> Self:
        """In-place version of `atan`: stores the result in this tensor, cast to its dtype, and returns it."""
    def atanh(self) -> Tensor:
        """Compute the inverse of the hyperbolic tangent; NaN for input outside [-1, 1]."""
    def atanh_(self) -> Self:
        """In-place version of `atanh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def backward(self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> None:
        """Add the gradient of this tensor to the `grad` of every leaf that it was computed from."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
        """Compute beta * input + alpha * (batch1 @ batch2), matrix by matrix; with beta 0, input is not read."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Self:
        """In-place version of `baddbmm`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bernoulli(self, p: Tensor | Number | None = ..., generator: Generator | None = ...) -> Tensor:
        """Return a tensor like `input` in which each element is 1 with probability p, else 0."""
    def bernoulli_(self, p: Tensor | Number | None = ..., generator: Generator | None = ...) -> Self:
        """In-place version of `bernoulli`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bfloat16(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to bfloat16; the tensor itself if it has that type."""
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
        """Count how often each of 0, 1, 2, ... occurs in a vector of integers, or with `weights` sum the weights of each."""
    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """Compute the bitwise AND, `input & other`; for bool, the logical AND."""
    def bitwise_and_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_and`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bitwise_left_shift(self, other: Tensor | Number) -> Tensor:
        """Shift `input` left by `other` bits."""
    def bitwise_left_shift_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_left_shift`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bitwise_not(self) -> Tensor:
        """Compute the bitwise NOT, `~input`, which inverts every bit; for bool, the logical NOT."""
    def bitwise_not_(self) -> Self:
        """In-place version of `bitwise_not`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """Compute the bitwise OR, `input | other`; for bool, the logical OR."""
    def bitwise_or_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_or`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bitwise_right_shift(self, other: Tensor | Number) -> Tensor:
        """Shift `input` right by `other` bits, keeping its sign."""
    def bitwise_right_shift_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_right_shift`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """Compute the bitwise exclusive OR, `input ^ other`; for bool, the logical exclusive OR."""
    def bitwise_xor_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_xor`: stores the result in this tensor, cast to its dtype, and returns it."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Compute the matrix products input[i] @ mat2[i] of two batches of matrices."""
    def bool(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to bool; the tensor itself if it has that type."""
    @overload
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """Return a view that is expanded to the given shape: an alias of `expand`."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor:
        """Return a view that is expanded to the given shape: an alias of `expand`."""
    def byte(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to uint8; the tensor itself if it has that type."""
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Overwrite this tensor with values from the Cauchy distribution, and return it."""
    def ceil(self) -> Tensor:
        """Round up to an integer; integers are unchanged."""
    def ceil_(self) -> Self:
        """In-place version of `ceil`: stores the result in this tensor, cast to its dtype, and returns it."""
    def char(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to int8; the tensor itself if it has that type."""
    def cholesky(self, upper: _bool = ...) -> Tensor:
        """Return the Cholesky factor L of the input A, where A = L @ L^T: the former name of `linalg.cholesky`."""
    def cholesky_inverse(self, upper: _bool = ...) -> Tensor:
        """Compute the inverse of A from the input, its Cholesky factor L, where A = L @ L^T."""
    def cholesky_solve(self, L: Tensor, upper: _bool = ...) -> Tensor:
        """Compute the solution X of A @ X = B from the Cholesky factor L of A, where A = L @ L^T."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Return views of at most `chunks` consecutive pieces of a dimension, of equal size except the last."""
    def clamp(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Tensor:
        """Limit values to [min, max]; NaN is unchanged."""
    def clamp_(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Self:
        """In-place version of `clamp`: stores the result in this tensor, cast to its dtype, and returns it."""
    def clamp_max(self, max: Tensor | Number) -> Tensor:
        """Compute min(input, max); NaN is unchanged."""
    def clamp_max_(self, max: Tensor | Number) -> Self:
        """In-place version of `clamp_max`: stores the result in this tensor, cast to its dtype, and returns it."""
    def clamp_min(self, min: Tensor | Number) -> Tensor:
        """Compute max(input, min); NaN is unchanged."""
    def clamp_min_(self, min: Tensor | Number) -> Self:
        """In-place version of `clamp_min`: stores the result in this tensor, cast to its dtype, and returns it."""
    def clip(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Tensor:
        """Limit values to [min, max]; NaN is unchanged."""
    def clip_(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Self:
        """In-place version of `clamp`: stores the result in this tensor, cast to its dtype, and returns it."""
    def clone(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return a copy in new memory, through which gradients flow to this tensor."""
    def conj(self) -> Tensor:
        """Return the tensor itself: a real number is its own conjugate."""
    def conj_physical(self) -> Tensor:
        """Return the tensor itself: a real number is its own conjugate."""
    def conj_physical_(self) -> Self:
        """Return the tensor itself, unchanged: a real number is its own conjugate."""
    def contiguous(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return the tensor itself if it is stored in `memory_format`, by default in row-major order, else a copy."""
    def copy_(self, other: Tensor | Number, non_blocking: _bool = ...) -> Self:
        """Overwrite this tensor with `other`, broadcast to its shape and converted to its type, and return it."""
    def copysign(self, other: Tensor | Number) -> Tensor:
        """Return the magnitude of `input` with the sign of `other`; integers give the default floating point type."""
    def copysign_(self, other: Tensor | Number) -> Self:
        """In-place version of `copysign`: stores the result in this tensor, cast to its dtype, and returns it."""
    def corrcoef(self) -> Tensor:
        """Return the matrix of correlation coefficients, from -1 to 1, of the input's rows, each of which is a variable."""
    def cos(self) -> Tensor:
        """Compute the cosine of each element, an angle in radians."""
    def cos_(self) -> Self:
        """In-place version of `cos`: stores the result in this tensor, cast to its dtype, and returns it."""
    def cosh(self) -> Tensor:
        """Compute the hyperbolic cosine."""
    def cosh_(self) -> Self:
        """In-place version of `cosh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = ...) -> Tensor:
        """Return the number of nonzero elements over some dimensions, or all of them; NaN counts as nonzero."""
    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """Return the covariance matrix of the input's rows, which are the variables; its columns are the observations."""
    def cpu(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor on the CPU; the tensor itself if it is already there."""
    def cross(self, other: Tensor, dim: _int | None = ...) -> Tensor:
        """Compute the cross product of vectors of three elements along `dim`, by default the first dimension of size 3."""
    def cuda(self, device: Device = ..., non_blocking: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor on a CUDA device (None: the current one); the tensor itself if it is already there."""
    def cummax(self, dim: _int) -> ValuesAndIndices:
        """Return (values, indices) of the largest element so far along `dim`; NaN propagates."""
    def cummin(self, dim: _int) -> ValuesAndIndices:
        """Return (values, indices) of the smallest element so far along `dim`; NaN propagates."""
    def cumprod(self, dim: _int, *, dtype: Dtype | None = ...) -> Tensor:
        """Compute the cumulative product along `dim`: element i is the product of elements 0 to i."""
    def cumprod_(self, dim: _int, *, dtype: Dtype | None = ...) -> Self:
        """In-place version of `cumprod`: stores the result in this tensor, cast to its dtype, and returns it."""
    def cumsum(self, dim: _int, dtype: Dtype | None = ...) -> Tensor:
        """Compute the cumulative sum along `dim`: element i is the sum of elements 0 to i."""
    def cumsum_(self, dim: _int, dtype: Dtype | None = ...) -> Self:
        """In-place version of `cumsum`: stores the result in this tensor, cast to its dtype, and returns it."""
    @property
    def data(self) -> Tensor:
        """Return a tensor over the same memory that is outside any graph and counts its writes apart."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int:
        """Return the address of the first element; 0 if there are no elements, and on the meta device."""
    def deg2rad(self) -> Tensor:
        """Convert each angle from degrees to radians; integers give the default floating point type."""
    def deg2rad_(self) -> Self:
        """In-place version of `deg2rad`: stores the result in this tensor, cast to its dtype, and returns it."""
    def det(self) -> Tensor:
        """Compute the determinant of square matrices."""
    def detach(self) -> Tensor:
        """Return a tensor over the same memory without its autograd graph: it does not require a gradient."""
    def detach_(self) -> Self:
        """Detach this tensor from its graph in place, and return it."""
    @property
    def device(self) -> _device:
        """The device of the memory, such as cpu or cuda:0."""
    def diag(self, diagonal: _int = ...) -> Tensor:
        """Return a matrix with the given vector on a diagonal, or a copy of the diagonal of a matrix."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Return matrices, in dimensions dim1 and dim2, with the rows of the input on a diagonal and 0 elsewhere."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """Return a matrix with all elements of the input, in row-major order, on a diagonal, and 0 elsewhere."""
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Return a view of the diagonals of the matrices in dimensions dim1 and dim2, as the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Return a copy of the input with `src` written to the elements that `diagonal(offset, dim1, dim2)` selects."""
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ...) -> Tensor:
        """Return the n-th differences along `dim`: for n = 1, element i is input[i + 1] - input[i]."""
    def digamma(self) -> Tensor:
        """Compute the derivative of the logarithm of the gamma function."""
    def digamma_(self) -> Self:
        """In-place version of `digamma`: stores the result in this tensor, cast to its dtype, and returns it."""
    def dim(self) -> _int:
        """Return the number of dimensions."""
    def dim_order(self, *, ambiguity_check: Any = ...) -> tuple[_int, ...]:
        """Return the dimensions in the order of their strides, largest first, as a tuple."""
    def dist(self, other: Tensor, p: _float = ...) -> Tensor:
        """Return the p-norm of all elements of `input - other`; p is 2 by default."""
    def div(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Tensor:
        """Compute `input / other`, where `other` is a tensor or a number; integers give the default floating point type."""
    def div_(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Self:
        """In-place version of `div`: stores the result in this tensor, cast to its dtype, and returns it."""
    def divide(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Tensor:
        """Compute `input / other`, where `other` is a tensor or a number; integers give the default floating point type."""
    def divide_(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Self:
        """In-place version of `div`: stores the result in this tensor, cast to its dtype, and returns it."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Compute the inner product of two vectors."""
    def double(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to float64; the tensor itself if it has that type."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Split a tensor of at least 3 dimensions along dimension 2, and return a tuple of views."""
    @property
    def dtype(self) -> _dtype:
        """The type of the elements, such as torch.float32."""
    def eig(self, **kwargs: Any) -> Tensor:
        """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
    def element_size(self) -> _int:
        """Return the size of one element, in bytes."""
    def eq(self, other: Tensor | Number) -> Tensor:
        """Compute input == other for each pair of elements, as bool; False if either value is NaN."""
    def eq_(self, other: Tensor | Number) -> Self:
        """In-place version of `eq`: stores the result in this tensor, cast to its dtype, and returns it."""
    def equal(self, other: Tensor) -> _bool:
        """Return, as a bool, whether two tensors have the same shape and the same values; NaN equals nothing."""
    def erf(self) -> Tensor:
        """Compute the error function of each element."""
    def erf_(self) -> Self:
        """In-place version of `erf`: stores the result in this tensor, cast to its dtype, and returns it."""
    def erfc(self) -> Tensor:
        """Compute the complementary error function of each element: 1 - erf(x), accurate where the result is near 0."""
    def erfc_(self) -> Self:
        """In-place version of `erfc`: stores the result in this tensor, cast to its dtype, and returns it."""
    def erfinv(self) -> Tensor:
        """Compute the inverse of the error function of each element; NaN outside [-1, 1]."""
    def erfinv_(self) -> Self:
        """In-place version of `erfinv`: stores the result in this tensor, cast to its dtype, and returns it."""
    def exp(self) -> Tensor:
        """Compute the exponential of each element: e to the power x."""
    def exp2(self) -> Tensor:
        """Compute 2 to the power x for each element x."""
    def exp2_(self) -> Self:
        """In-place version of `exp2`: stores the result in this tensor, cast to its dtype, and returns it."""
    def exp_(self) -> Self:
        """In-place version of `exp`: stores the result in this tensor, cast to its dtype, and returns it."""
    @overload
    def expand(self, size: Sequence[_int]) -> Tensor:
        """Return a view of the given sizes, in which dimensions of size 1 and new leading ones repeat with a stride of 0."""
    @overload
    def expand(self, *size: _int) -> Tensor:
        """Return a view of the given sizes, in which dimensions of size 1 and new leading ones repeat with a stride of 0."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Return a view that expands this tensor to the shape of another one: see `expand`."""
    def expm1(self) -> Tensor:
        """Compute exp(x) - 1, accurate near 0."""
    def expm1_(self) -> Self:
        """In-place version of `expm1`: stores the result in this tensor, cast to its dtype, and returns it."""
    def exponential_(self, lambd: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Overwrite this tensor with values from the exponential distribution, and return it."""
    def fill_(self, value: Tensor | Number) -> Self:
        """Set every element to a number, or to the value of a tensor without dimensions; return this tensor."""
    def fill_diagonal_(self, fill_value: Number, wrap: _bool = ...) -> Self:
        """Fill the main diagonal of this tensor with the number `fill_value`, and return the tensor."""
    def fix(self) -> Tensor:
        """Round toward 0 to an integer; integers are unchanged."""
    def fix_(self) -> Self:
        """In-place version of `trunc`: stores the result in this tensor, cast to its dtype, and returns it."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """Merge the dimensions start_dim to end_dim, both included, in a view where the strides allow it, else in a copy."""
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor:
        """Return a copy with the elements in reverse order along each dimension in `dims`."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """Return a copy with the elements in reverse order along each dimension in `dims`."""
    def fliplr(self) -> Tensor:
        """Return a copy with the elements in reverse order along dimension 1, which exchanges left and right."""
    def flipud(self) -> Tensor:
        """Return a copy with the elements in reverse order along dimension 0, which exchanges top and bottom."""
    def float(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to float32; the tensor itself if it has that type."""
    def float_power(self, exponent: Tensor | Number) -> Tensor:
        """Compute `input` to the power `exponent` in float64, whatever types they have."""
    def float_power_(self, exponent: Tensor | Number) -> Self:
        """In-place version of `float_power`: stores the result in this tensor, cast to its dtype, and returns it."""
    def floor(self) -> Tensor:
        """Round down to an integer; integers are unchanged."""
    def floor_(self) -> Self:
        """In-place version of `floor`: stores the result in this tensor, cast to its dtype, and returns it."""
    def floor_divide(self, other: Tensor | Number) -> Tensor:
        """Compute `input / other` rounded down; an integer divided by 0 gives 0 on every device."""
    def floor_divide_(self, other: Tensor | Number) -> Self:
        """In-place version of `floor_divide`: stores the result in this tensor, cast to its dtype, and returns it."""
    def fmax(self, other: Tensor) -> Tensor:
        """Return the larger of two values; if one of them is NaN, return the other."""
    def fmin(self, other: Tensor) -> Tensor:
        """Return the smaller of two values; if one of them is NaN, return the other."""
    def fmod(self, other: Tensor | Number) -> Tensor:
        """Compute input - other * trunc(input / other), the remainder with the sign of `input`."""
    def fmod_(self, other: Tensor | Number) -> Self:
        """In-place version of `fmod`: stores the result in this tensor, cast to its dtype, and returns it."""
    def frac(self) -> Tensor:
        """Compute the fractional part, x - trunc(x), which has the sign of x."""
    def frac_(self) -> Self:
        """In-place version of `frac`: stores the result in this tensor, cast to its dtype, and returns it."""
    def frexp(self) -> Tensor:
        """Return (mantissa, exponent), where input = mantissa * 2^exponent and |mantissa| is in [0.5, 1), or 0 for 0."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ...) -> Tensor:
        """Read the input at the positions `index` along `dim`: for dim 0 of a matrix, result[i][j] = input[index[i][j]][j]."""
    def gcd(self, other: Tensor) -> Tensor:
        """Compute the greatest common divisor, which is not negative; that of 0 and 0 is 0."""
    def gcd_(self, other: Tensor) -> Self:
        """In-place version of `gcd`: stores the result in this tensor, cast to its dtype, and returns it."""
    def ge(self, other: Tensor | Number) -> Tensor:
        """Compute input >= other, as bool."""
    def ge_(self, other: Tensor | Number) -> Self:
        """In-place version of `ge`: stores the result in this tensor, cast to its dtype, and returns it."""
    def geometric_(self, p: _float, *, generator: Generator | None = ...) -> Self:
        """Overwrite this tensor with values from the geometric distribution, and return it."""
    def geqrf(self) -> Tensor:
        """Return (a, tau): a QR decomposition in the form of Householder reflections."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Compute the outer product of the vectors `input` and `vec2`."""
    def get_device(self) -> _int:
        """Return the index of the CUDA device, -1 on the CPU."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated; None before the first one."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Any:
        """The graph node that computed this tensor; None for a leaf."""
    def greater(self, other: Tensor | Number) -> Tensor:
        """Compute input > other, as bool."""
    def greater_(self, other: Tensor | Number) -> Self:
        """In-place version of `gt`: stores the result in this tensor, cast to its dtype, and returns it."""
    def greater_equal(self, other: Tensor | Number) -> Tensor:
        """Compute input >= other, as bool."""
    def greater_equal_(self, other: Tensor | Number) -> Self:
        """In-place version of `ge`: stores the result in this tensor, cast to its dtype, and returns it."""
    def gt(self, other: Tensor | Number) -> Tensor:
        """Compute input > other, as bool."""
    def gt_(self, other: Tensor | Number) -> Self:
        """In-place version of `gt`: stores the result in this tensor, cast to its dtype, and returns it."""
    def half(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to float16; the tensor itself if it has that type."""
    def hardshrink(self, lambd: _float = ...) -> Tensor:
        """Replace the elements in [-lambd, lambd] by 0; the others are unchanged."""
    def heaviside(self, values: Tensor) -> Tensor:
        """Return 0 where `input` is negative or NaN, `values` where it is 0, else 1."""
    def heaviside_(self, values: Tensor) -> Self:
        """In-place version of `heaviside`: stores the result in this tensor, cast to its dtype, and returns it."""
    def histc(self, bins: _int = ..., min: _float = ..., max: _float = ...) -> Tensor:
        """Return the number of elements in each of `bins` bins of equal width from min to max; others are ignored."""
    def histogram(self, bins: Any = ..., *, range: Any = ..., weight: Tensor | None = ..., density: _bool = ...) -> Any:
        """Return (hist, bin_edges): the number of elements in each bin, or with `weight` the sums of their weights."""
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Split a tensor along dimension 1, or a tensor of one dimension along dimension 0, and return a tuple of views."""
    def hypot(self, other: Tensor) -> Tensor:
        """Compute the square root of `input * input + other * other`, without overflow of the squares."""
    def hypot_(self, other: Tensor) -> Self:
        """In-place version of `hypot`: stores the result in this tensor, cast to its dtype, and returns it."""
    def i0(self) -> Tensor:
        """Compute the modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Self:
        """In-place version of `i0`: stores the result in this tensor, cast to its dtype, and returns it."""
    def igamma(self, other: Tensor) -> Tensor:
        """Compute the regularized lower incomplete gamma function P(a, x), where `input` is a and `other` is x."""
    def igamma_(self, other: Tensor) -> Self:
        """In-place version of `igamma`: stores the result in this tensor, cast to its dtype, and returns it."""
    def igammac(self, other: Tensor) -> Tensor:
        """Compute the regularized upper incomplete gamma function, 1 - igamma(input, other), accurate where it is near 0."""
    def igammac_(self, other: Tensor) -> Self:
        """In-place version of `igammac`: stores the result in this tensor, cast to its dtype, and returns it."""
    @property
    def imag(self) -> Tensor:
        """Raise DtypeError: only complex tensors have imaginary parts, and complex tensors are not supported."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, alpha: _float = ..., wrap: _bool = ...) -> Tensor:
        """Return a copy of the input with alpha * source added at the given indexes of a dimension."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, alpha: _float = ..., wrap: _bool = ...) -> Self:
        """In-place version of `index_add`: stores the result in this tensor, cast to its dtype, and returns it."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor, wrap: _bool = ..., unique: _bool = ...) -> Tensor:
        """Return a copy of the input with `source` written at the given indexes of a dimension."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor, wrap: _bool = ..., unique: _bool = ...) -> Self:
        """In-place version of `index_copy`: stores the result in this tensor, cast to its dtype, and returns it."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | Number) -> Tensor:
        """Return a copy of the input with one value at the given indexes of a dimension."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | Number) -> Self:
        """In-place version of `index_fill`: stores the result in this tensor, cast to its dtype, and returns it."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
        """Return a copy of the input with `values` written or added to the elements that index tensors select."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Self:
        """Write `values` in place to the elements that the index tensors `indices` select, and return the tensor."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """Return a copy of the input with slices of `source` combined by `reduce` at the given indexes of `dim`."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Self:
        """In-place version of `index_reduce`: stores the result in this tensor, cast to its dtype, and returns it."""
    def index_select(self, dim: _int, index: Tensor, wrap: _bool = ...) -> Tensor:
        """Return a copy of the slices at the given indexes of a dimension, in the order of the indexes."""
    def inner(self, other: Tensor) -> Tensor:
        """Compute the sum of products over the last dimension of both inputs; their product if one has no dimensions."""
    def int(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to int32; the tensor itself if it has that type."""
    def inverse(self) -> Tensor:
        """Compute the inverse of square matrices."""
    def is_complex(self) -> _bool:
        """Return False, as no tensor is complex."""
    def is_conj(self) -> _bool:
        """Return False: tensors are real, so no tensor is a view that still has to be conjugated."""
    def is_contiguous(self, memory_format: _memory_format | None = ...) -> _bool:
        """Return whether the elements are stored without gaps in row-major order, or in another memory format."""
    @property
    def is_cpu(self) -> _bool:
        """Whether this tensor is on the CPU."""
    @property
    def is_cuda(self) -> _bool:
        """Whether this tensor is on a CUDA device."""
    def is_distributed(self) -> _bool:
        """Return False: a tensor lies on one device."""
    def is_floating_point(self) -> _bool:
        """Return whether the type is a floating point type."""
    def is_inference(self) -> _bool:
        """Return whether this tensor was made in inference mode; autograd cannot save such a tensor for backward."""
    @property
    def is_ipu(self) -> _bool:
        """False: there are no tensors of the kind ipu."""
    @property
    def is_leaf(self) -> _bool:
        """Whether no recorded operation computed this tensor."""
    @property
    def is_maia(self) -> _bool:
        """False: there are no tensors of the kind maia."""
    @property
    def is_meta(self) -> _bool:
        """Whether this tensor is on the device meta."""
    @property
    def is_mkldnn(self) -> _bool:
        """False: there are no tensors of the kind mkldnn."""
    @property
    def is_mps(self) -> _bool:
        """False: there are no tensors of the kind mps."""
    @property
    def is_mtia(self) -> _bool:
        """False: there are no tensors of the kind mtia."""
    def is_neg(self) -> _bool:
        """Return False: negation is always computed at once, so no tensor is a view that still has to be negated."""
    @property
    def is_nested(self) -> _bool:
        """False: there are no tensors of the kind nested."""
    def is_nonzero(self) -> _bool:
        """Return whether the value of a tensor of one element is not 0."""
    def is_pinned(self, device: Device = ...) -> _bool:
        """Return whether this tensor lies in pinned host memory; does not initialize CUDA."""
    @property
    def is_quantized(self) -> _bool:
        """False: there are no tensors of the kind quantized."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Return whether two tensors have the same shape."""
    def is_set_to(self, tensor: Any) -> _bool:
        """Return whether this tensor has the same storage, offset, shape and strides as `tensor`."""
    def is_shared(self) -> _bool:
        """Return whether other processes can open this tensor's memory: always on a GPU, on the CPU if it is shared memory."""
    def is_signed(self) -> _bool:
        """Return whether a tensor's type can hold negative numbers."""
    @property
    def is_sparse(self) -> _bool:
        """False: there are no tensors of the kind sparse."""
    @property
    def is_sparse_csr(self) -> _bool:
        """False: there are no tensors of the kind sparse_csr."""
    @property
    def is_vulkan(self) -> _bool:
        """False: there are no tensors of the kind vulkan."""
    @property
    def is_xla(self) -> _bool:
        """False: there are no tensors of the kind xla."""
    @property
    def is_xpu(self) -> _bool:
        """False: there are no tensors of the kind xpu."""
    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
        """Return, per element, whether |input - other| <= atol + rtol * |other|; equal infinities are close."""
    def isfinite(self) -> Tensor:
        """Test whether each element is finite: neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """Test each element for infinity."""
    def isnan(self) -> Tensor:
        """Test each element for NaN."""
    def isneginf(self) -> Tensor:
        """Test each element for negative infinity."""
    def isposinf(self) -> Tensor:
        """Test each element for positive infinity."""
    def isreal(self) -> Tensor:
        """Test whether each element is real: True everywhere, as there are no complex numbers."""
    def item(self) -> _bool | _int | _float:
        """Return the value of a tensor of one element, as a Python number."""
    @property
    def itemsize(self) -> _int:
        """Return the size of one element, in bytes."""
    def kron(self, other: Tensor) -> Tensor:
        """Compute the Kronecker product: a block matrix whose block [i, j] is input[i, j] * other."""
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ...) -> ValuesAndIndices:
        """Return (values, indices) of the k-th smallest element along a dimension; k counts from 1."""
    @property
    def layout(self) -> _layout:
        """`torch.strided`: elements lie in memory at fixed steps along each dimension."""
    def lcm(self, other: Tensor) -> Tensor:
        """Compute the least common multiple, which is not negative; 0 where an operand is 0."""
    def lcm_(self, other: Tensor) -> Self:
        """In-place version of `lcm`: stores the result in this tensor, cast to its dtype, and returns it."""
    def ldexp(self, other: Tensor) -> Tensor:
        """Compute `input * 2 ** other`; integers give the default floating point type."""
    def ldexp_(self, other: Tensor) -> Self:
        """In-place version of `ldexp`: stores the result in this tensor, cast to its dtype, and returns it."""
    def le(self, other: Tensor | Number) -> Tensor:
        """Compute input <= other, as bool."""
    def le_(self, other: Tensor | Number) -> Self:
        """In-place version of `le`: stores the result in this tensor, cast to its dtype, and returns it."""
    def lerp(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """Compute the linear interpolation start + weight * (end - start)."""
    def lerp_(self, end: Tensor, weight: Tensor | Number) -> Self:
        """In-place version of `lerp`: stores the result in this tensor, cast to its dtype, and returns it."""
    def less(self, other: Tensor | Number) -> Tensor:
        """Compute input < other, as bool."""
    def less_(self, other: Tensor | Number) -> Self:
        """In-place version of `lt`: stores the result in this tensor, cast to its dtype, and returns it."""
    def less_equal(self, other: Tensor | Number) -> Tensor:
        """Compute input <= other, as bool."""
    def less_equal_(self, other: Tensor | Number) -> Self:
        """In-place version of `le`: stores the result in this tensor, cast to its dtype, and returns it."""
    def lgamma(self) -> Tensor:
        """Compute the logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Self:
        """In-place version of `lgamma`: stores the result in this tensor, cast to its dtype, and returns it."""
    def log(self) -> Tensor:
        """Compute the natural logarithm."""
    def log10(self) -> Tensor:
        """Compute the logarithm to base 10."""
    def log10_(self) -> Self:
        """In-place version of `log10`: stores the result in this tensor, cast to its dtype, and returns it."""
    def log1p(self) -> Tensor:
        """Compute log(1 + x), accurate near 0."""
    def log1p_(self) -> Self:
        """In-place version of `log1p`: stores the result in this tensor, cast to its dtype, and returns it."""
    def log2(self) -> Tensor:
        """Compute the logarithm to base 2."""
    def log2_(self) -> Self:
        """In-place version of `log2`: stores the result in this tensor, cast to its dtype, and returns it."""
    def log_(self) -> Self:
        """In-place version of `log`: stores the result in this tensor, cast to its dtype, and returns it."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Overwrite this tensor with values from the log-normal distribution, and return it."""
    def log_softmax(self, dim: _int, dtype: Dtype | None = ...) -> Tensor:
        """Compute the logarithm of `softmax` along `dim`, accurate where softmax underflows."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """Compute log(exp(input) + exp(other)), without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """Compute log2(2^input + 2^other), without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """Compute the logarithm of the cumulative sum of exponentials along `dim`, without overflow."""
    def logdet(self) -> Tensor:
        """Compute the logarithm of the determinant of square matrices: NaN for a negative determinant, -infinity for 0."""
    def logical_and(self, other: Tensor | Number) -> Tensor:
        """Compute the logical AND: True where both values are nonzero; NaN counts as nonzero."""
    def logical_and_(self, other: Tensor | Number) -> Self:
        """In-place version of `logical_and`: stores the result in this tensor, cast to its dtype, and returns it."""
    def logical_not(self) -> Tensor:
        """Compute the logical NOT: True where the value is 0; NaN counts as nonzero."""
    def logical_not_(self) -> Self:
        """In-place version of `logical_not`: stores the result in this tensor, cast to its dtype, and returns it."""
    def logical_or(self, other: Tensor | Number) -> Tensor:
        """Compute the logical OR: True where either value is nonzero; NaN counts as nonzero."""
    def logical_or_(self, other: Tensor | Number) -> Self:
        """In-place version of `logical_or`: stores the result in this tensor, cast to its dtype, and returns it."""
    def logical_xor(self, other: Tensor | Number) -> Tensor:
        """Compute the logical exclusive OR: True where exactly one value is nonzero; NaN counts as nonzero."""
    def logical_xor_(self, other: Tensor | Number) -> Self:
        """In-place version of `logical_xor`: stores the result in this tensor, cast to its dtype, and returns it."""
    def logit(self, eps: _float | None = ...) -> Tensor:
        """Compute log(x / (1 - x))."""
    def logit_(self, eps: _float | None = ...) -> Self:
        """In-place version of `logit`: stores the result in this tensor, cast to its dtype, and returns it."""
    def logsumexp(self, dim: _int | Sequence[_int] | None, keepdim: _bool = ...) -> Tensor:
        """Compute the logarithm of the sum of exponentials over some dimensions, without overflow."""
    def long(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to int64; the tensor itself if it has that type."""
    def lstsq(self, **kwargs: Any) -> Tensor:
        """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
    def lt(self, other: Tensor | Number) -> Tensor:
        """Compute input < other, as bool."""
    def lt_(self, other: Tensor | Number) -> Self:
        """In-place version of `lt`: stores the result in this tensor, cast to its dtype, and returns it."""
    def lu(self, pivot: _bool = ..., get_infos: _bool = ...) -> Tensor:
        """Return (LU, pivots) of an LU decomposition, or with get_infos (LU, pivots, infos), as `linalg.lu_factor_ex` does."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Compute the solution X of A @ X = b from the LU factorization of A: `linalg.lu_solve` with b first."""
    @property
    def mH(self) -> Tensor:
        """A view with the last two dimensions swapped."""
    @property
    def mT(self) -> Tensor:
        """A view with the last two dimensions swapped."""
    def map2_(self, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Replace every element of this CPU tensor by `callable(element, x element, y element)`, and return the tensor."""
    def map_(self, other: Tensor | Number, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace every element of this CPU tensor by `callable(element, element of other)`, and return the tensor."""
    def masked_fill(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """Return a copy of the input with `value` where the mask is true."""
    def masked_fill_(self, mask: Tensor, value: Tensor | Number) -> Self:
        """In-place version of `masked_fill`: stores the result in this tensor, cast to its dtype, and returns it."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return a copy of the input with the elements of `source`, in row-major order, where the mask is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In-place version of `masked_scatter`: stores the result in this tensor, cast to its dtype, and returns it."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """Select the elements where the mask is true, in row-major order."""
    def matmul(self, other: Tensor) -> Tensor:
        """Compute the matrix product over the last two dimensions."""
    def matrix_exp(self) -> Tensor:
        """Compute the matrix exponential of square matrices."""
    def matrix_power(self, n: _int) -> Tensor:
        """Return the n-th power of square matrices; a negative n gives a power of the inverse."""
    @overload
    def max(self) -> Tensor:
        """Return the largest element of a tensor or, with `dim`, (values, indices) of the largest along a dimension."""
    @overload
    def max(self, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
        """Return the largest element of a tensor or, with `dim`, (values, indices) of the largest along a dimension."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """Return the largest element of a tensor or, with `dim`, (values, indices) of the largest along a dimension."""
    def maximum(self, other: Tensor | Number) -> Tensor:
        """Return the larger of two values; NaN if either is NaN."""
    def mean(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ...) -> Tensor:
        """Compute the mean over some dimensions, or all of them; NaN where there are no elements."""
    @overload
    def median(self) -> Tensor:
        """Return the median, or the lower of the two middle elements; NaN if any element is NaN."""
    @overload
    def median(self, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
        """Return the median, or the lower of the two middle elements; NaN if any element is NaN."""
    @overload
    def min(self) -> Tensor:
        """Return the smallest element of a tensor or, with `dim`, (values, indices) of the smallest along a dimension."""
    @overload
    def min(self, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
        """Return the smallest element of a tensor or, with `dim`, (values, indices) of the smallest along a dimension."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """Return the smallest element of a tensor or, with `dim`, (values, indices) of the smallest along a dimension."""
    def minimum(self, other: Tensor | Number) -> Tensor:
        """Return the smaller of two values; NaN if either is NaN."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Compute the product of two matrices, input @ mat2."""
    def mode(self, dim: _int = ..., keepdim: _bool = ...) -> ValuesAndIndices:
        """Return (values, indices) of the most frequent element along `dim`, the last dimension by default."""
    def module_load(self, other: Tensor, assign: _bool = ...) -> Tensor:
        """Return the tensor with which `Module.load_state_dict` replaces this one, given the loaded tensor `other`."""
    def moveaxis(self, source: Sizes, destination: Sizes) -> Tensor:
        """Return a view with dimension(s) `source` moved to `destination`; the others keep their order."""
    def movedim(self, source: Sizes, destination: Sizes) -> Tensor:
        """Return a view with dimension(s) `source` moved to `destination`; the others keep their order."""
    def msort(self) -> Tensor:
        """Return a copy with the elements sorted in ascending order along dimension 0."""
    def mul(self, other: Tensor | Number) -> Tensor:
        """Compute `input * other`, where `other` is a tensor or a number."""
    def mul_(self, other: Tensor | Number) -> Self:
        """In-place version of `mul`: stores the result in this tensor, cast to its dtype, and returns it."""
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ...) -> Tensor:
        """Return indexes of categories, drawn with probabilities in proportion to the weights in each row of the input."""
    def multiply(self, other: Tensor | Number) -> Tensor:
        """Compute `input * other`, where `other` is a tensor or a number."""
    def multiply_(self, other: Tensor | Number) -> Self:
        """In-place version of `mul`: stores the result in this tensor, cast to its dtype, and returns it."""
    def mv(self, vec: Tensor) -> Tensor:
        """Compute the product of a matrix and a vector, input @ vec."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Compute the logarithm of the multivariate gamma function with dimension p."""
    def mvlgamma_(self, p: _int) -> Self:
        """In-place version of `mvlgamma`: stores the result in this tensor, cast to its dtype, and returns it."""
    @property
    def name(self) -> Any: ...
    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
        """Replace NaN by `nan`, infinities by `posinf` and `neginf`; integers are unchanged."""
    def nan_to_num_(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Self:
        """In-place version of `nan_to_num`: stores the result in this tensor, cast to its dtype, and returns it."""
    def nanmean(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: Dtype | None = ...) -> Tensor:
        """Compute the mean over some dimensions, or all of them, of the elements that are not NaN; NaN if there is none."""
    @overload
    def nanmedian(self) -> Tensor:
        """Compute `median` of the elements that are not NaN; the result is NaN if all are NaN."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
        """Compute `median` of the elements that are not NaN; the result is NaN if all are NaN."""
    def nanquantile(self, q: Tensor | Number, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """Return the q-quantiles of the elements that are not NaN, along a dimension or of all; NaN if all are NaN."""
    def nansum(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: Dtype | None = ...) -> Tensor:
        """Compute the sum over some dimensions, or all of them, with NaN counted as 0."""
    def narrow(self, dim: _int, start: _int, length: _int) -> Tensor:
        """Return a view of the indexes start to start + length - 1 of dimension `dim`."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """Return a contiguous copy of the view that `narrow` returns."""
    @property
    def nbytes(self) -> _int:
        """The bytes of all elements, without gaps between them."""
    @property
    def ndim(self) -> _int:
        """The number of dimensions."""
    def ndimension(self) -> _int:
        """Return the number of dimensions."""
    def ne(self, other: Tensor | Number) -> Tensor:
        """Compute input != other, as bool; True for NaN."""
    def ne_(self, other: Tensor | Number) -> Self:
        """In-place version of `ne`: stores the result in this tensor, cast to its dtype, and returns it."""
    def neg(self) -> Tensor:
        """Compute the negative of each element, -x."""
    def neg_(self) -> Self:
        """In-place version of `neg`: stores the result in this tensor, cast to its dtype, and returns it."""
    def negative(self) -> Tensor:
        """Compute the negative of each element, -x."""
    def negative_(self) -> Self:
        """In-place version of `neg`: stores the result in this tensor, cast to its dtype, and returns it."""
    def nelement(self) -> _int:
        """Return the number of elements."""
    def new(self, *args: Any, device: Device = ...) -> Tensor:
        """Return a tensor of this one's type and device: uninitialized if args are sizes, else with the given data."""
    def new_empty(self, *sizes: _int | Sequence[_int], size: Sizes | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """Return an uninitialized tensor of the given sizes; its type and device are this tensor's by default."""
    def new_empty_strided(self, size: Sizes, stride: Sequence[_int], *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """Return an uninitialized tensor with the strides `stride`; its type and device are this tensor's by default."""
    def new_full(self, size: Sizes, fill_value: Number, *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """Return a tensor filled with `fill_value`; its type and device are this tensor's by default."""
    def new_ones(self, *sizes: _int | Sequence[_int], size: Sizes | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """Return a tensor of ones of the given sizes; its type and device are this tensor's by default."""
    def new_tensor(self, data: Any, *, dtype: Dtype | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """Return a copy of `data` as a tensor; its type and device are this tensor's by default."""
    def new_zeros(self, *sizes: _int | Sequence[_int], size: Sizes | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """Return a tensor of zeros of the given sizes; its type and device are this tensor's by default."""
    def nextafter(self, other: Tensor) -> Tensor:
        """Return the next representable number after `input` towards `other`; the gradient passes to `input` unchanged."""
    def nextafter_(self, other: Tensor) -> Self:
        """In-place version of `nextafter`: stores the result in this tensor, cast to its dtype, and returns it."""
    @overload
    def nonzero(self, as_tuple: Literal[False] = ...) -> Tensor:
        """Return the indexes of all nonzero elements, in row-major order."""
    @overload
    def nonzero(self, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """Return the indexes of all nonzero elements, in row-major order."""
    def nonzero_static(self, *, size: _int, fill_value: _int = ...) -> Tensor:
        """Return the indexes of the first `size` nonzero elements, in row-major order."""
    def norm(self, p: _float | str | None = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ...) -> Tensor:
        """Compute the p-norm over some dimensions, or all of them."""
    def normal_(self, mean: _float = ..., std: _float = ..., generator: Generator | None = ...) -> Self:
        """Overwrite this tensor with values from the normal distribution with the given mean and std; return it."""
    def not_equal(self, other: Tensor | Number) -> Tensor:
        """Compute input != other, as bool; True for NaN."""
    def not_equal_(self, other: Tensor | Number) -> Self:
        """In-place version of `ne`: stores the result in this tensor, cast to its dtype, and returns it."""
    def numel(self) -> _int:
        """Return the number of elements."""
    def numpy(self, *, force: _bool = ...) -> NDArray[Any]:
        """Return a NumPy array over the same memory."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """Return Q of a QR decomposition from the reflections of `torch.geqrf`: an alias of `linalg.householder_product`."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ...) -> Tensor:
        """Compute Q @ input3, where Q is the square product of the reflections that `torch.geqrf` returns."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Compute the outer product of the vectors `input` and `vec2`."""
    @property
    def output_nr(self) -> _int:
        """The index of this tensor among the results of its `grad_fn`."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor:
        """Return a view with the dimensions in another order."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """Return a view with the dimensions in another order."""
    def pin_memory(self, device: Device = ...) -> Tensor:
        """Return a copy in pinned memory; the tensor itself if it is already pinned."""
    def pinverse(self, rcond: _float = ...) -> Tensor:
        """Compute the pseudoinverse of matrices, as `linalg.pinv` does."""
    def polygamma(self, n: _int) -> Tensor:
        """Compute the n-th derivative of `digamma` at each element."""
    def polygamma_(self, n: _int) -> Self:
        """In-place version of `polygamma`: stores the result in this tensor, cast to its dtype, and returns it."""
    def positive(self) -> Tensor:
        """Return the tensor itself, `+input`.  Raises DtypeError for bool."""
    def pow(self, exponent: Tensor | Number) -> Tensor:
        """Compute `input` to the power `exponent`, element by element."""
    def pow_(self, exponent: Tensor | Number) -> Self:
        """In-place version of `pow`: stores the result in this tensor, cast to its dtype, and returns it."""
    def prelu(self, weight: Tensor) -> Tensor:
        """Return each element x where it is positive, else x * weight, with one weight for all or for each channel."""
    def prod(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ...) -> Tensor:
        """Compute the product over some dimensions, or all of them."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
        """Return a copy of the input with `source` written at the given indexes of its flattened elements."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Self:
        """In-place version of `put`: stores the result in this tensor, cast to its dtype, and returns it."""
    def qr(self, some: _bool = ...) -> Tensor:
        """Return (Q, R), the QR decomposition input = Q @ R: the former name of `linalg.qr`."""
    def quantile(self, q: Tensor | Number, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """Return the q-quantiles along a dimension, or of all elements; NaN if an element is NaN."""
    def rad2deg(self) -> Tensor:
        """Convert each angle from radians to degrees; integers give the default floating point type."""
    def rad2deg_(self) -> Self:
        """In-place version of `rad2deg`: stores the result in this tensor, cast to its dtype, and returns it."""
    def random_(self, low: _int | None = ..., high: _int | None = ..., generator: Generator | None = ...) -> Self:
        """Overwrite this tensor with integers from the uniform distribution over low to high - 1, and return it."""
    def ravel(self) -> Tensor:
        """Flatten to one dimension: a view of a contiguous input, else a copy."""
    @property
    def real(self) -> Tensor:
        """Return the tensor itself, which is real."""
    def reciprocal(self) -> Tensor:
        """Compute the reciprocal of each element, 1 / x; integers give the default floating point type."""
    def reciprocal_(self) -> Self:
        """In-place version of `reciprocal`: stores the result in this tensor, cast to its dtype, and returns it."""
    def record_stream(self, s: Stream) -> None:
        """After this tensor is freed, keep its memory from reuse until the work then queued on stream `s` is done."""
    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook` with this tensor's gradient during backward; its result, unless None, replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call `hook` with this leaf after a gradient was added to its `grad`.  Raises AutogradError for a non-leaf."""
    def relu(self) -> Tensor:
        """Compute the rectified linear unit, max(x, 0); NaN is unchanged."""
    def relu_(self) -> Self:
        """In-place version of `relu`: stores the result in this tensor, cast to its dtype, and returns it."""
    def remainder(self, other: Tensor | Number) -> Tensor:
        """Compute input - other * floor(input / other): the remainder, with the sign of the divisor `other`."""
    def remainder_(self, other: Tensor | Number) -> Self:
        """In-place version of `remainder`: stores the result in this tensor, cast to its dtype, and returns it."""
    def renorm(self, p: _float | str | None, dim: _int, maxnorm: _float) -> Tensor:
        """Return the input with each slice along `dim` scaled down, if necessary, so that its p-norm is at most maxnorm."""
    def renorm_(self, p: _float | str | None, dim: _int, maxnorm: _float) -> Self:
        """In-place version of `renorm`: stores the result in this tensor, cast to its dtype, and returns it."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor:
        """Return a copy that repeats the input repeats[i] times along dimension i; new dimensions come first."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """Return a copy that repeats the input repeats[i] times along dimension i; new dimensions come first."""
    def repeat_interleave(self, repeats: _int | Tensor | None = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
        """Repeat each element, or each index of a dimension, several times in a row."""
    @property
    def requires_grad(self) -> _bool:
        """Whether gradients flow to, or through, this tensor."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = ...) -> Self:
        """Set whether autograd computes a gradient for this leaf, and return it; requires_grad=False turns that off."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor:
        """Return a view with another shape where the strides allow it, else a copy."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """Return a view with another shape where the strides allow it, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """Return this tensor with the shape of another one: see `reshape`."""
    def resize_(self, *sizes: _int | Sequence[_int], size: Sizes | None = ..., memory_format: _memory_format | None = ...) -> Self:
        """Change this tensor's shape in place, and return it."""
    def resize_as_(self, the_template: Any, *, memory_format: _memory_format | None = ...) -> Self:
        """Change this tensor's shape in place to that of another tensor, as `resize_` does, and return it."""
    def resolve_conj(self) -> Tensor:
        """Return the tensor itself: tensors are real, so there is no conjugation to resolve."""
    def resolve_neg(self) -> Tensor:
        """Return the tensor itself: negation is always computed at once, so there is nothing to resolve."""
    def retain_grad(self) -> None:
        """Store the gradient of this non-leaf in `grad` during backward, after its hooks have run."""
    @property
    def retains_grad(self) -> _bool: ...
    def roll(self, shifts: Sizes, dims: Sizes | None = ...) -> Tensor:
        """Return a copy shifted along dimensions; elements shifted out at one end enter at the other."""
    def rot90(self, k: _int = ..., dims: Sizes | None = ...) -> Tensor:
        """Return a copy turned k times by 90 degrees in the plane of the dimensions `dims`, from the first to the second."""
    def round(self, *, decimals: _int = ...) -> Tensor:
        """Round to the nearest integer, halves to the even one; integers are unchanged."""
    def round_(self, *, decimals: _int = ...) -> Self:
        """In-place version of `round`: stores the result in this tensor, cast to its dtype, and returns it."""
    def rsqrt(self) -> Tensor:
        """Compute the reciprocal of the square root, 1 / sqrt(x); integers give the default floating point type."""
    def rsqrt_(self) -> Self:
        """In-place version of `rsqrt`: stores the result in this tensor, cast to its dtype, and returns it."""
    def scatter(self, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = ...) -> Tensor:
        """Return a copy of the input with `src` written along `dim`: for dim 0, copy[index[i][j]][j] = src[i][j]."""
    def scatter_(self, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = ...) -> Self:
        """In-place version of `scatter`: stores the result in this tensor, cast to its dtype, and returns it."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Return a copy of the input with `src` added along `dim`: for dim 0, copy[index[i][j]][j] += src[i][j]."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """In-place version of `scatter_add`: stores the result in this tensor, cast to its dtype, and returns it."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
        """Return a copy of the input with `src` reduced along `dim`: for dim 0, src[i][j] into copy[index[i][j]][j]."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Self:
        """In-place version of `scatter_reduce`: stores the result in this tensor, cast to its dtype, and returns it."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """Return a view of the input at one index of a dimension, without that dimension."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """Return a copy of the input in which `src` replaces the elements at one index of a dimension."""
    def set_(self, source: Any = ..., storage_offset: _int = ..., size: Sizes | None = ..., stride: Sequence[_int] = ...) -> Self:
        """Make this tensor refer to other memory, and return it."""
    def sgn(self) -> Tensor:
        """Compute the sign of each value: -1, 0 or 1; 0 for NaN."""
    def sgn_(self) -> Self:
        """In-place version of `sign`: stores the result in this tensor, cast to its dtype, and returns it."""
    @property
    def shape(self) -> Size:
        """The size of each dimension, as a torch.Size."""
    def share_memory_(self) -> Self:
        """Move a CPU tensor, and every tensor over the same memory, to shared memory; return this tensor."""
    def short(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor converted to int16; the tensor itself if it has that type."""
    def sigmoid(self) -> Tensor:
        """Compute the logistic sigmoid, 1 / (1 + exp(-x))."""
    def sigmoid_(self) -> Self:
        """In-place version of `sigmoid`: stores the result in this tensor, cast to its dtype, and returns it."""
    def sign(self) -> Tensor:
        """Compute the sign of each value: -1, 0 or 1; 0 for NaN."""
    def sign_(self) -> Self:
        """In-place version of `sign`: stores the result in this tensor, cast to its dtype, and returns it."""
    def signbit(self) -> Tensor:
        """Test each element for a set sign bit; -0.0 has one."""
    def sin(self) -> Tensor:
        """Compute the sine of each element, an angle in radians."""
    def sin_(self) -> Self:
        """In-place version of `sin`: stores the result in this tensor, cast to its dtype, and returns it."""
    def sinc(self) -> Tensor:
        """Compute sin(pi x) / (pi x), and 1 at 0; integers give the default floating point type."""
    def sinc_(self) -> Self:
        """In-place version of `sinc`: stores the result in this tensor, cast to its dtype, and returns it."""
    def sinh(self) -> Tensor:
        """Compute the hyperbolic sine."""
    def sinh_(self) -> Self:
        """In-place version of `sinh`: stores the result in this tensor, cast to its dtype, and returns it."""
    @overload
    def size(self, dim: None = ...) -> Size:
        """Return the shape, or the size of one dimension."""
    @overload
    def size(self, dim: _int) -> _int:
        """Return the shape, or the size of one dimension."""
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor:
        """Return a copy of the input in which `src` replaces the slice start:end:step of a dimension."""
    def slogdet(self) -> Tensor:
        """Return (sign, logabsdet) of the determinant of square matrices: its sign and the log of its absolute value."""
    def softmax(self, dim: _int, dtype: Dtype | None = ...) -> Tensor:
        """Compute exp(input) divided by its sum along `dim`."""
    def solve(self, **kwargs: Any) -> Tensor:
        """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
    def sort(self, dim: _int = ..., descending: _bool = ..., stable: _bool = ...) -> ValuesAndIndices:
        """Return (values, indices): the elements sorted along a dimension, and their indices in the input."""
    def split(self, split_size_or_sections: Sizes, dim: _int = ...) -> tuple[Tensor, ...]:
        """Return a tuple of views of consecutive pieces of a dimension."""
    def split_with_sizes(self, split_sizes: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """Return a tuple of views of consecutive pieces of a dimension, of the listed sizes."""
    def sqrt(self) -> Tensor:
        """Compute the square root; integers give the default floating point type."""
    def sqrt_(self) -> Self:
        """In-place version of `sqrt`: stores the result in this tensor, cast to its dtype, and returns it."""
    def square(self) -> Tensor:
        """Compute the square of each element, x * x; bool gives int64."""
    def square_(self) -> Self:
        """In-place version of `square`: stores the result in this tensor, cast to its dtype, and returns it."""
    def squeeze(self, dim: Sizes | None = ...) -> Tensor:
        """Return a view without dimensions of size 1: all of them, or those in `dim`, an int or a tuple of ints."""
    def squeeze_(self, dim: Sizes | None = ...) -> Self:
        """Remove dimensions of size 1 from this tensor in place, all or those in `dim`, and return it."""
    def std(self, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ...) -> Tensor:
        """Compute the standard deviation over some dimensions, or all of them: the square root of `var`."""
    def storage(self) -> TypedStorage:
        """Return this tensor's storage as a TypedStorage, with elements of its type; for a view, the whole storage."""
    def storage_offset(self) -> _int:
        """Return the number of elements of the storage that come before the first element."""
    def storage_type(self) -> Any:
        """Return the subclass of TypedStorage for this tensor's type."""
    @overload
    def stride(self, dim: None = ...) -> tuple[_int, ...]:
        """Return the strides: the distance between neighbours along each dimension, or along `dim`, in elements."""
    @overload
    def stride(self, dim: _int) -> _int:
        """Return the strides: the distance between neighbours along each dimension, or along `dim`, in elements."""
    def sub(self, other: Tensor | Number, *, alpha: _float = ...) -> Tensor:
        """Compute `input - alpha * other`, where `other` is a tensor or a number."""
    def sub_(self, other: Tensor | Number, *, alpha: _float = ...) -> Self:
        """In-place version of `sub`: stores the result in this tensor, cast to its dtype, and returns it."""
    def subtract(self, other: Tensor | Number, *, alpha: _float = ...) -> Tensor:
        """Compute `input - alpha * other`, where `other` is a tensor or a number."""
    def subtract_(self, other: Tensor | Number, *, alpha: _float = ...) -> Self:
        """In-place version of `sub`: stores the result in this tensor, cast to its dtype, and returns it."""
    def sum(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ...) -> Tensor:
        """Compute the sum over some dimensions, or all of them."""
    def sum_to_size(self, *sizes: _int | Sequence[_int], size: Sizes | None = ...) -> Tensor:
        """Sum this tensor to a smaller shape that broadcasts to its own: the reverse of broadcasting."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ...) -> Tensor:
        """Return (U, S, V), the singular value decomposition input = U @ diag(S) @ V^T; `linalg.svd` returns V^T instead."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Return a view with two dimensions swapped: an alias of `transpose`."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """Swap two dimensions of the tensor in place: an alias of `transpose_`."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped: an alias of `transpose`."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """Swap two dimensions of the tensor in place: an alias of `transpose_`."""
    def symeig(self, **kwargs: Any) -> Tensor:
        """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
    def t(self) -> Tensor:
        """Return a transposed view of a matrix; a plain view of a tensor with fewer dimensions."""
    def t_(self) -> Self:
        """Transpose this matrix in place and return it; the memory does not change."""
    def take(self, index: Tensor) -> Tensor:
        """Return the elements of the flattened input at the given indexes; negative ones count from the end."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ...) -> Tensor:
        """Return the elements of the input at `indices` along `dim`; without dim, both are flattened."""
    def tan(self) -> Tensor:
        """Compute the tangent of each element, an angle in radians."""
    def tan_(self) -> Self:
        """In-place version of `tan`: stores the result in this tensor, cast to its dtype, and returns it."""
    def tanh(self) -> Tensor:
        """Compute the hyperbolic tangent."""
    def tanh_(self) -> Self:
        """In-place version of `tanh`: stores the result in this tensor, cast to its dtype, and returns it."""
    def tensor_split(self, indices_or_sections: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """Return views of consecutive pieces of a dimension: nearly equal ones, or those between the given positions."""
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor:
        """Repeat the input dims[i] times along dimension i; missing leading counts are 1."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """Repeat the input dims[i] times along dimension i; missing leading counts are 1."""
    @overload
    def to(self, dtype: Dtype, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor moved to a device or converted to a type, or both; the tensor itself if nothing changes."""
    @overload
    def to(self, device: Device = ..., dtype: Dtype | None = ..., non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor moved to a device or converted to a type, or both; the tensor itself if nothing changes."""
    @overload
    def to(self, other: Tensor, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return this tensor moved to a device or converted to a type, or both; the tensor itself if nothing changes."""
    def to_device(self, device: Device, *, stream: Any = ...) -> Tensor:
        """Move a tensor to a device: the array API's name for `to`."""
    def tolist(self) -> Any:
        """Return the values as nested lists; a Python number if there are no dimensions."""
    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ...) -> ValuesAndIndices:
        """Return (values, indices) of the k greatest elements along a dimension, in descending order."""
    def trace(self) -> Tensor:
        """Compute the sum of the diagonal of a matrix; integers give int64."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """Swap two dimensions of this tensor in place and return it; the memory does not change."""
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...) -> Tensor:
        """Return (X, A), where X solves A @ X = b for the input b: the former name of `linalg.solve_triangular`."""
    def tril(self, diagonal: _int = ...) -> Tensor:
        """Return the lower triangle of matrices: elements above diagonal number `diagonal` are 0."""
    def tril_(self, diagonal: _int = ...) -> Self:
        """In-place version of `tril`: stores the result in this tensor, cast to its dtype, and returns it."""
    def triu(self, diagonal: _int = ...) -> Tensor:
        """Return the upper triangle of matrices: elements below diagonal number `diagonal` are 0."""
    def triu_(self, diagonal: _int = ...) -> Self:
        """In-place version of `triu`: stores the result in this tensor, cast to its dtype, and returns it."""
    def true_divide(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Tensor:
        """Compute `input / other`, where `other` is a tensor or a number; integers give the default floating point type."""
    def true_divide_(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Self:
        """In-place version of `div`: stores the result in this tensor, cast to its dtype, and returns it."""
    def trunc(self) -> Tensor:
        """Round toward 0 to an integer; integers are unchanged."""
    def trunc_(self) -> Self:
        """In-place version of `trunc`: stores the result in this tensor, cast to its dtype, and returns it."""
    @overload
    def type(self, dtype: None = ...) -> str:
        """Return the name of this tensor's legacy type ("torch.FloatTensor"), or this tensor converted to `dtype`."""
    @overload
    def type(self, dtype: Dtype | str | _type[Tensor], non_blocking: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """Return the name of this tensor's legacy type ("torch.FloatTensor"), or this tensor converted to `dtype`."""
    def type_as(self, other: Tensor) -> Tensor:
        """Return this tensor with the type and on the device of another one; the tensor itself if nothing changes."""
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]:
        """Return a tuple of views, one for each index of a dimension."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """Return a view with dimension `dim` split into several of the given sizes, one of which may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Return a view of all windows of `size` indexes along a dimension, which begin `step` indexes apart."""
    def uniform_(self, low: _float = ..., high: _float = ..., generator: Generator | None = ...) -> Self:
        """Overwrite this tensor with values from the uniform distribution over [low, high), and return it."""
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """Return the distinct elements in ascending order, or with dim the distinct slices; NaNs are all distinct."""
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """Return one element for each run of equal elements, or with dim one slice for each run of equal slices."""
    def unsafe_chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Split a dimension as `chunk` does, into pieces that autograd allows to be written in place."""
    def unsafe_split(self, split_size: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Split a dimension as `split` does, into pieces that autograd allows to be written in place."""
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """Split a dimension as `split_with_sizes` does, into pieces that autograd allows to be written in place."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """Return a view with a dimension of size 1 inserted at `dim`."""
    def unsqueeze_(self, dim: _int) -> Self:
        """Insert a dimension of size 1 into this tensor in place, and return it."""
    def untyped_storage(self) -> UntypedStorage:
        """Return the memory of this tensor as a storage of bytes; for a view, the whole storage."""
    def var(self, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ...) -> Tensor:
        """Compute the variance over some dimensions, or all of them."""
    def vdot(self, other: Tensor) -> Tensor:
        """Compute the inner product of two vectors: the same as `dot`, as there are no complex numbers."""
    @overload
    def view(self, dtype: Dtype) -> Tensor:
        """Return a view of this tensor with another shape (one size may be -1), or of its bytes as another type."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor:
        """Return a view of this tensor with another shape (one size may be -1), or of its bytes as another type."""
    @overload
    def view(self, *size: _int) -> Tensor:
        """Return a view of this tensor with another shape (one size may be -1), or of its bytes as another type."""
    def view_as(self, other: Tensor) -> Tensor:
        """Return a view of this tensor with the shape of another one: see `view`."""
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Split a tensor of at least 2 dimensions along dimension 0, and return a tuple of views."""
    def wait(self) -> Tensor:
        """Wait for the non_blocking copies from GPUs into this CPU tensor, and return it."""
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor:
        """Return a tensor with this one's values where `condition` is true, and those of `other` elsewhere."""
    def xlogy(self, other: Tensor | Number) -> Tensor:
        """Compute input * log(other), and 0 where `input` is 0 and `other` is not NaN."""
    def xlogy_(self, other: Tensor | Number) -> Self:
        """In-place version of `xlogy`: stores the result in this tensor, cast to its dtype, and returns it."""
    def zero_(self) -> Self:
        """Set every element to 0, and return this tensor."""
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]

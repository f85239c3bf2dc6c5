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
from .storages import UntypedStorage

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
    """An array of one type on one device, which records how it was computed where a gradient is wanted."""
    def __init__(self, *args: Any, device: Device = ...) -> None: ...
    def __init_subclass__(cls, *, overrides: _bool = ...) -> None: ...
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | Number) -> Tensor: ...
    def __and__(self, other: Tensor | _int) -> Tensor: ...
    def __array__(self, dtype: Any = ..., copy: _bool | None = ...) -> NDArray[Any]: ...
    def __bool__(self) -> _bool: ...
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
    def abs(self, *, out: Tensor | None = ...) -> Tensor:
        """Absolute value."""
    def abs_(self) -> Self:
        """Absolute value."""
    def absolute(self, *, out: Tensor | None = ...) -> Tensor:
        """Absolute value."""
    def absolute_(self) -> Self:
        """Absolute value."""
    def add(self, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
        """Sum of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
    def add_(self, other: Tensor | Number, *, alpha: _float = ...) -> Self:
        """Sum of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
    def addcdiv(self, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ..., *, out: Tensor | None = ...) -> Tensor:
        """`input + value * tensor1 / tensor2`, for floating point."""
    def addcdiv_(self, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ...) -> Self:
        """`input + value * tensor1 / tensor2`, for floating point."""
    def addcmul(self, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ..., *, out: Tensor | None = ...) -> Tensor:
        """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ...) -> Self:
        """`input + value * tensor1 * tensor2`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, beta: Number = ..., alpha: Number = ..., *, out: Tensor | None = ...) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2); with beta 0, input is not read."""
    def all(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Test whether all elements are nonzero; NaN is nonzero.  True without elements."""
    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
        """Return whether all elements are close (see isclose)."""
    def amax(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Largest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient."""
    def amin(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Smallest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient."""
    def any(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Test whether any element is nonzero; NaN is nonzero.  False without elements."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Index of the largest value along a dimension, or in the flattened input."""
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Index of the smallest value along a dimension, or in the flattened input."""
    def argsort(self, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """The indices that sort a dimension."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
        """A view of the storage of the input with any sizes and strides, in elements.  An offset of None is the input's."""
    def as_subclass(self, cls: _type) -> Tensor:
        """Return an alias of this tensor as a tensor of a subclass; gradients flow through it."""
    def backward(self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> None:
        """Add the gradient of this tensor to the `grad` of every leaf that it was computed from."""
    def bernoulli(self, p: Tensor | Number | None = ..., generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """A tensor like `input` in which each element is 1 with probability p, else 0."""
    def bernoulli_(self, p: Tensor | Number | None = ..., generator: Generator | None = ...) -> Self:
        """A tensor like `input` in which each element is 1 with probability p, else 0."""
    def bfloat16(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as bfloat16; itself if it is."""
    def bitwise_and(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise and; for bool, logical and."""
    def bitwise_and_(self, other: Tensor | Number) -> Self:
        """Bitwise and; for bool, logical and."""
    def bitwise_left_shift(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Shift left by `other` bits; 0 if `other` is negative, or at least the number of bits of the type."""
    def bitwise_left_shift_(self, other: Tensor | Number) -> Self:
        """Shift left by `other` bits; 0 if `other` is negative, or at least the number of bits of the type."""
    def bitwise_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise not; for bool, logical not."""
    def bitwise_not_(self) -> Self:
        """Bitwise not; for bool, logical not."""
    def bitwise_or(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise or; for bool, logical or."""
    def bitwise_or_(self, other: Tensor | Number) -> Self:
        """Bitwise or; for bool, logical or."""
    def bitwise_right_shift(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Arithmetic shift right by `other` bits."""
    def bitwise_right_shift_(self, other: Tensor | Number) -> Self:
        """Arithmetic shift right by `other` bits."""
    def bitwise_xor(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise exclusive or; for bool, logical exclusive or."""
    def bitwise_xor_(self, other: Tensor | Number) -> Self:
        """Bitwise exclusive or; for bool, logical exclusive or."""
    def bmm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Products of two batches of matrices."""
    def bool(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as bool; itself if it is."""
    @overload
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """Alias of `expand`."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor:
        """Alias of `expand`."""
    def byte(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as uint8; itself if it is."""
    def ceil(self, *, out: Tensor | None = ...) -> Tensor:
        """Round up to an integer; integers are unchanged."""
    def ceil_(self) -> Self:
        """Round up to an integer; integers are unchanged."""
    def char(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as int8; itself if it is."""
    def chunk(self, chunks: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
        """Views of at most `chunks` consecutive pieces of a dimension, of equal size except the last."""
    def clamp(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Limit values to [min, max]; one bound may be None.  NaN is unchanged.  If min > max, the result is max."""
    def clamp_(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Self:
        """Limit values to [min, max]; one bound may be None.  NaN is unchanged.  If min > max, the result is max."""
    def clamp_max(self, max: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """min(input, max); NaN is unchanged."""
    def clamp_max_(self, max: Tensor | Number) -> Self:
        """min(input, max); NaN is unchanged."""
    def clamp_min(self, min: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """max(input, min); NaN is unchanged."""
    def clamp_min_(self, min: Tensor | Number) -> Self:
        """max(input, min); NaN is unchanged."""
    def clip(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Limit values to [min, max]; one bound may be None.  NaN is unchanged.  If min > max, the result is max."""
    def clip_(self, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Self:
        """Limit values to [min, max]; one bound may be None.  NaN is unchanged.  If min > max, the result is max."""
    def clone(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """A copy without gaps, in the graph; its dimensions lie in the same order unless a format says otherwise."""
    def contiguous(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor itself if it lies in that format, contiguous_format by default, else a copy that does."""
    def copy_(self, other: Tensor | Number, non_blocking: _bool = ...) -> Self:
        """Overwrite this tensor with `other`, broadcast and converted."""
    def cos(self, *, out: Tensor | None = ...) -> Tensor:
        """Cosine."""
    def cos_(self) -> Self:
        """Cosine."""
    def cpu(self, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor on the CPU."""
    def cuda(self, device: Device = ..., non_blocking: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor on a CUDA device, the current one if none is named; itself if it is there."""
    def cumsum(self, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Cumulative sum along `dim`: element i is the sum of elements 0 to i."""
    @property
    def data(self) -> Tensor:
        """The same memory, outside any graph."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int:
        """The address of the first element, 0 if there is none."""
    def detach(self) -> Tensor:
        """The same memory, outside any graph."""
    def detach_(self) -> Self:
        """Detach this tensor from its graph.  Raises AutogradError for a view."""
    @property
    def device(self) -> _device: ...
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """A view of a diagonal of two dimensions, which becomes the last dimension."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def div(self, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
        """Quotient of two tensors, or of a tensor and a number; integers give float32."""
    def div_(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Self:
        """Quotient of two tensors, or of a tensor and a number; integers give float32."""
    def divide(self, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
        """Quotient of two tensors, or of a tensor and a number; integers give float32."""
    def divide_(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Self:
        """Quotient of two tensors, or of a tensor and a number; integers give float32."""
    def dot(self, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Inner product of two vectors."""
    def double(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as float64; itself if it is."""
    @property
    def dtype(self) -> _dtype: ...
    def element_size(self) -> _int:
        """The bytes of one element."""
    def eq(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """input == other, as bool; False for NaN."""
    def eq_(self, other: Tensor | Number) -> Self:
        """input == other, as bool; False for NaN."""
    def equal(self, other: Tensor) -> _bool:
        """Return whether two tensors have the same shape and the same values; NaN equals nothing."""
    def erf(self, *, out: Tensor | None = ...) -> Tensor:
        """Error function."""
    def erf_(self) -> Self:
        """Error function."""
    def exp(self, *, out: Tensor | None = ...) -> Tensor:
        """e to the power x."""
    def exp_(self) -> Self:
        """e to the power x."""
    @overload
    def expand(self, size: Sequence[_int]) -> Tensor:
        """A view that repeats dimensions of size 1, and new leading dimensions, by a stride of 0; -1 keeps a size."""
    @overload
    def expand(self, *size: _int) -> Tensor:
        """A view that repeats dimensions of size 1, and new leading dimensions, by a stride of 0; -1 keeps a size."""
    def expand_as(self, other: Tensor) -> Tensor:
        """`expand` to the shape of another tensor."""
    def expm1(self, *, out: Tensor | None = ...) -> Tensor:
        """exp(x) - 1, accurate near 0."""
    def expm1_(self) -> Self:
        """exp(x) - 1, accurate near 0."""
    def fill_(self, value: Tensor | Number) -> Self:
        """Set every element to a number, or to the value of a tensor of one element."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """Merge the dimensions start_dim to end_dim, both included."""
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor:
        """A copy with the order of some dimensions reversed."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """A copy with the order of some dimensions reversed."""
    def float(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as float32; itself if it is."""
    def floor(self, *, out: Tensor | None = ...) -> Tensor:
        """Round down to an integer; integers are unchanged."""
    def floor_(self) -> Self:
        """Round down to an integer; integers are unchanged."""
    def floor_divide(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Quotient rounded down.  An integer divided by 0 gives 0 on every device.  It has no gradient."""
    def floor_divide_(self, other: Tensor | Number) -> Self:
        """Quotient rounded down.  An integer divided by 0 gives 0 on every device.  It has no gradient."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
        """Read the input at index[i][j] along `dim`: for dim 0, result[i][j] = input[index[i][j]][j]."""
    def ge(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """input >= other, as bool."""
    def ge_(self, other: Tensor | Number) -> Self:
        """input >= other, as bool."""
    def get_device(self) -> _int:
        """The index of the CUDA device, -1 on the CPU."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated, None before."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Any:
        """The node that computed this tensor, None for a leaf."""
    def gt(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """input > other, as bool."""
    def gt_(self, other: Tensor | Number) -> Self:
        """input > other, as bool."""
    def half(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as float16; itself if it is."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, alpha: _float = ..., wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Add alpha * source at the given indexes of a dimension.  Repeated indexes add in their order."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, alpha: _float = ..., wrap: _bool = ...) -> Self:
        """Add alpha * source at the given indexes of a dimension.  Repeated indexes add in their order."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor, wrap: _bool = ..., unique: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Write `source` at the given indexes of a dimension.  Of several writes to one index, the last counts."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor, wrap: _bool = ..., unique: _bool = ...) -> Self:
        """Write `source` at the given indexes of a dimension.  Of several writes to one index, the last counts."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Write a number at the given indexes of a dimension; negative ones count from the end."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | Number) -> Self:
        """Write a number at the given indexes of a dimension; negative ones count from the end."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Write or add `values` to the elements that index tensors select (see `index`)."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Self:
        """`index_put` in place; a method of tensors."""
    def index_select(self, dim: _int, index: Tensor, wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Select the given indexes of a dimension, in their order.  wrap: negative ones count from the end."""
    def int(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as int32; itself if it is."""
    def is_contiguous(self, memory_format: _memory_format | None = ...) -> _bool:
        """Return whether the elements lie without gaps in row-major order, or in another memory format."""
    @property
    def is_cuda(self) -> _bool: ...
    def is_floating_point(self) -> _bool:
        """Whether the type is a floating point type."""
    def is_inference(self) -> _bool:
        """Return whether it was made in inference mode, so that autograd cannot save it."""
    @property
    def is_leaf(self) -> _bool:
        """Whether no recorded operation computed it."""
    def is_pinned(self, device: Device = ...) -> _bool:
        """Return whether it lies in pinned host memory.  device: as `pin_memory`.  Does not initialize CUDA."""
    def is_shared(self) -> _bool:
        """Return whether other processes can open this tensor's memory: always on a GPU, on the CPU once it was shared."""
    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
        """Return, per element, whether |input - other| <= atol + rtol * |other|; equal infinities are close."""
    def isfinite(self, *, out: Tensor | None = ...) -> Tensor:
        """Test each element for being finite: neither infinite nor NaN."""
    def isinf(self, *, out: Tensor | None = ...) -> Tensor:
        """Test each element for infinity."""
    def isnan(self, *, out: Tensor | None = ...) -> Tensor:
        """Test each element for NaN."""
    def item(self) -> _bool | _int | _float:
        """The value of a tensor of one element, as a Python number."""
    @property
    def itemsize(self) -> _int:
        """The bytes of one element."""
    @property
    def layout(self) -> _layout:
        """`torch.strided`: elements lie in memory at fixed steps along each dimension."""
    def le(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """input <= other, as bool."""
    def le_(self, other: Tensor | Number) -> Self:
        """input <= other, as bool."""
    def lerp(self, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Linear interpolation from `start` (weight 0) to `end` (weight 1), computed from the nearer end."""
    def lerp_(self, end: Tensor, weight: Tensor | Number) -> Self:
        """Linear interpolation from `start` (weight 0) to `end` (weight 1), computed from the nearer end."""
    def log(self, *, out: Tensor | None = ...) -> Tensor:
        """Natural logarithm."""
    def log1p(self, *, out: Tensor | None = ...) -> Tensor:
        """log(1 + x), accurate near 0."""
    def log1p_(self) -> Self:
        """log(1 + x), accurate near 0."""
    def log_(self) -> Self:
        """Natural logarithm."""
    def log_softmax(self, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Logarithm of `softmax`, accurate where softmax underflows."""
    def logical_and(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Logical and: True where both values are nonzero; NaN is nonzero."""
    def logical_and_(self, other: Tensor | Number) -> Self:
        """Logical and: True where both values are nonzero; NaN is nonzero."""
    def logical_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Logical not: True where the value is 0."""
    def logical_not_(self) -> Self:
        """Logical not: True where the value is 0."""
    def logical_or(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Logical or: True where a value is nonzero; NaN is nonzero."""
    def logical_or_(self, other: Tensor | Number) -> Self:
        """Logical or: True where a value is nonzero; NaN is nonzero."""
    def logical_xor(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Logical exclusive or: True where exactly one value is nonzero; NaN is nonzero."""
    def logical_xor_(self, other: Tensor | Number) -> Self:
        """Logical exclusive or: True where exactly one value is nonzero; NaN is nonzero."""
    def long(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as int64; itself if it is."""
    def lt(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """input < other, as bool."""
    def lt_(self, other: Tensor | Number) -> Self:
        """input < other, as bool."""
    @property
    def mT(self) -> Tensor:
        """A view with the last two dimensions swapped."""
    def masked_fill(self, mask: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """`value`, a number or a zero-dimensional tensor, where the mask is true, else `input`, in the type of the input."""
    def masked_fill_(self, mask: Tensor, value: Tensor | Number) -> Self:
        """`value`, a number or a zero-dimensional tensor, where the mask is true, else `input`, in the type of the input."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Select the elements where the mask is true, in row-major order."""
    def matmul(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Matrix product over the last two dimensions.  A vector on the left is a row, on the right a column."""
    @overload
    def max(self) -> Tensor:
        """Largest value.  With dim, (values, indices) along that dimension; with a second tensor, `maximum` of both."""
    @overload
    def max(self, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
        """Largest value.  With dim, (values, indices) along that dimension; with a second tensor, `maximum` of both."""
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Largest value.  With dim, (values, indices) along that dimension; with a second tensor, `maximum` of both."""
    def maximum(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """The larger of two values; NaN if either is.  Equal values share the gradient."""
    def mean(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Mean over some dimensions, or all of them; NaN where there are no elements."""
    @overload
    def min(self) -> Tensor:
        """Smallest value.  With dim, (values, indices) along that dimension; with a second tensor, `minimum` of both."""
    @overload
    def min(self, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
        """Smallest value.  With dim, (values, indices) along that dimension; with a second tensor, `minimum` of both."""
    @overload
    def min(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Smallest value.  With dim, (values, indices) along that dimension; with a second tensor, `minimum` of both."""
    def minimum(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """The smaller of two values; NaN if either is.  Equal values share the gradient."""
    def mm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Product of two matrices."""
    def movedim(self, source: Sizes, destination: Sizes, *, out: Tensor | None = ...) -> Tensor:
        """A view with dimension(s) `source` moved to `destination`; the others keep their order."""
    def mul(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Product of two tensors, or of a tensor and a number."""
    def mul_(self, other: Tensor | Number) -> Self:
        """Product of two tensors, or of a tensor and a number."""
    def multiply(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Product of two tensors, or of a tensor and a number."""
    def multiply_(self, other: Tensor | Number) -> Self:
        """Product of two tensors, or of a tensor and a number."""
    def mv(self, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Product of a matrix and a vector."""
    def narrow(self, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
        """A view of `length` indexes of a dimension from `start` on."""
    @property
    def nbytes(self) -> _int:
        """The bytes of all elements, without gaps between them."""
    @property
    def ndim(self) -> _int: ...
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """input != other, as bool; True for NaN."""
    def ne_(self, other: Tensor | Number) -> Self:
        """input != other, as bool; True for NaN."""
    def neg(self, *, out: Tensor | None = ...) -> Tensor:
        """-x."""
    def neg_(self) -> Self:
        """-x."""
    def negative(self, *, out: Tensor | None = ...) -> Tensor:
        """-x."""
    def negative_(self) -> Self:
        """-x."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any, device: Device = ...) -> Tensor:
        """A tensor of this one's type and device: unset values for sizes, or a copy of data."""
    def new_empty(self, *sizes: _int | Sequence[_int], size: Sizes | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
        """As `empty`, with this tensor's type and device unless others are named."""
    def new_full(self, size: Sizes, fill_value: Number, *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """As `full`, with this tensor's type and device unless others are named."""
    def new_ones(self, *sizes: _int | Sequence[_int], size: Sizes | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """As `ones`, with this tensor's type and device unless others are named."""
    def new_tensor(self, data: Any, *, dtype: Dtype | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """A copy of `data` with this tensor's type and device unless others are named."""
    def new_zeros(self, *sizes: _int | Sequence[_int], size: Sizes | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
        """As `zeros`, with this tensor's type and device unless others are named."""
    @overload
    def nonzero(self, as_tuple: Literal[False] = ..., *, out: Tensor | None = ...) -> Tensor:
        """The indexes of all nonzero elements, in row-major order."""
    @overload
    def nonzero(self, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The indexes of all nonzero elements, in row-major order."""
    def norm(self, p: _float | str | None = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """p-norm over some dimensions, or all of them.  p may be inf, -inf or 0, which counts nonzero elements."""
    def normal_(self, mean: _float = ..., std: _float = ..., generator: Generator | None = ...) -> Self:
        """A tensor like `input` with values from the normal distribution with this mean and standard deviation."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = ...) -> NDArray[Any]:
        """A NumPy array over the same memory."""
    def outer(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Outer product of two vectors."""
    @property
    def output_nr(self) -> _int:
        """The index of this tensor among the results of its `grad_fn`."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor:
        """A view with the dimensions in another order."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """A view with the dimensions in another order."""
    def pin_memory(self, device: Device = ...) -> Tensor:
        """A copy in pinned memory; itself if it is there.  device: any CUDA device: pinned memory serves all."""
    def pow(self, exponent: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """`input` to the power `exponent`, element by element."""
    def pow_(self, exponent: Tensor | Number) -> Self:
        """`input` to the power `exponent`, element by element."""
    def prod(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Product over some dimensions, or all of them.  The second derivative is wrong where a factor is 0."""
    def random_(self, low: _int | None = ..., high: _int | None = ..., generator: Generator | None = ...) -> Self:
        """A tensor like `input` with integers from the uniform distribution over low to high - 1."""
    def ravel(self, *, out: Tensor | None = ...) -> Tensor:
        """Flatten to one dimension: a view of a contiguous input, else a copy."""
    def reciprocal(self, *, out: Tensor | None = ...) -> Tensor:
        """1 / x; integers give float32."""
    def reciprocal_(self) -> Self:
        """1 / x; integers give float32."""
    def record_stream(self, s: Stream) -> None:
        """Delay the reuse of the memory, after its free, until the work queued on stream `s` by then is done."""
    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook` with this tensor's gradient during backward; its result, unless None, replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call `hook` with this leaf after a gradient was added to its `grad`.  Raises AutogradError for a non-leaf."""
    def relu(self, *, out: Tensor | None = ...) -> Tensor:
        """max(x, 0); NaN is unchanged."""
    def relu_(self) -> Self:
        """max(x, 0); NaN is unchanged."""
    def remainder(self, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
        """Remainder of `floor_divide`, with the sign of the divisor.  An integer divided by 0 gives 0 on every device."""
    def remainder_(self, other: Tensor | Number) -> Self:
        """Remainder of `floor_divide`, with the sign of the divisor.  An integer divided by 0 gives 0 on every device."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor:
        """A copy that repeats the input repeats[i] times along dimension i; new dimensions come first."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """A copy that repeats the input repeats[i] times along dimension i; new dimensions come first."""
    def repeat_interleave(self, repeats: _int | Tensor | None = ..., dim: _int | None = ..., *, output_size: _int | None = ..., out: Tensor | None = ...) -> Tensor:
        """Repeat each element, or each index of a dimension, several times in a row."""
    @property
    def requires_grad(self) -> _bool:
        """Whether gradients flow to, or through, this tensor."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = ...) -> Self:
        """Set whether this leaf accumulates a gradient.  Raises AutogradError for a non-leaf, DtypeError for integers."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor:
        """A view with another shape where the strides allow it, else a copy."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """A view with another shape where the strides allow it, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """`reshape` to the shape of another tensor."""
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `grad` during backward, after its hooks."""
    @property
    def retains_grad(self) -> _bool: ...
    def roll(self, shifts: Sizes, dims: Sizes | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """A copy shifted along dimensions; elements shifted out at one end enter at the other.  Without dims, as flattened."""
    def round(self, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
        """Round to the nearest integer, halves to the even one; integers are unchanged."""
    def round_(self, *, decimals: _int = ...) -> Self:
        """Round to the nearest integer, halves to the even one; integers are unchanged."""
    def rsqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """1 / sqrt(x); integers give float32."""
    def rsqrt_(self) -> Self:
        """1 / sqrt(x); integers give float32."""
    def scatter(self, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = ..., out: Tensor | None = ...) -> Tensor:
        """Write `src`, a tensor or a number, at index[i][j] along `dim`: for dim 0, input[index[i][j]][j] = src[i][j]."""
    def scatter_(self, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = ...) -> Self:
        """Write `src`, a tensor or a number, at index[i][j] along `dim`: for dim 0, input[index[i][j]][j] = src[i][j]."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Add `src` at index[i][j] along `dim`, in row-major order: for dim 0, input[index[i][j]][j] += src[i][j]."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """Add `src` at index[i][j] along `dim`, in row-major order: for dim 0, input[index[i][j]][j] += src[i][j]."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """A view of one index of a dimension, without that dimension."""
    @property
    def shape(self) -> Size: ...
    def share_memory_(self) -> Self:
        """Move a CPU tensor, and every tensor over the same memory, to shared memory; return this tensor."""
    def short(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor as int16; itself if it is."""
    def sigmoid(self, *, out: Tensor | None = ...) -> Tensor:
        """1 / (1 + exp(-x))."""
    def sigmoid_(self) -> Self:
        """1 / (1 + exp(-x))."""
    def sign(self, *, out: Tensor | None = ...) -> Tensor:
        """Sign of each value: -1, 0 or 1; 0 for NaN."""
    def sign_(self) -> Self:
        """Sign of each value: -1, 0 or 1; 0 for NaN."""
    def sin(self, *, out: Tensor | None = ...) -> Tensor:
        """Sine."""
    def sin_(self) -> Self:
        """Sine."""
    @overload
    def size(self, dim: None = ...) -> Size:
        """The shape, or one dimension of it."""
    @overload
    def size(self, dim: _int) -> _int:
        """The shape, or one dimension of it."""
    def softmax(self, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """exp(input) divided by its sum along `dim`."""
    def sort(self, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
        """(values, indices) of the elements along a dimension in order.  Always stable; NaN is the greatest."""
    def split(self, split_size_or_sections: Sizes, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
        """Views of consecutive pieces of a dimension, of one size (the last may be smaller) or of the listed sizes."""
    def sqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Square root; integers give float32."""
    def sqrt_(self) -> Self:
        """Square root; integers give float32."""
    def square(self, *, out: Tensor | None = ...) -> Tensor:
        """x * x; bool gives int64."""
    def square_(self) -> Self:
        """x * x; bool gives int64."""
    def squeeze(self, dim: Sizes | None = ...) -> Tensor:
        """A view without dimensions of size 1: all of them, or those in `dim`, an int or several."""
    def std(self, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Standard deviation over some dimensions: the square root of `var`.  Its gradient is 0 where it is 0."""
    def storage_offset(self) -> _int:
        """How many elements of the storage come before the first element."""
    @overload
    def stride(self, dim: None = ...) -> tuple[_int, ...]:
        """Steps between neighbours, in elements; of one dimension if given."""
    @overload
    def stride(self, dim: _int) -> _int:
        """Steps between neighbours, in elements; of one dimension if given."""
    def sub(self, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
        """Difference of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
    def sub_(self, other: Tensor | Number, *, alpha: _float = ...) -> Self:
        """Difference of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
    def subtract(self, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
        """Difference of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
    def subtract_(self, other: Tensor | Number, *, alpha: _float = ...) -> Self:
        """Difference of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
    def sum(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Sum over some dimensions, or all of them."""
    def sum_to_size(self, *sizes: _int | Sequence[_int], size: Sizes | None = ...) -> Tensor:
        """Sum over the dimensions that broadcasting the sizes to this shape repeats."""
    def swapaxes(self, axis0: _int, axis1: _int, *, out: Tensor | None = ...) -> Tensor:
        """Alias of `transpose`."""
    def swapdims(self, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
        """Alias of `transpose`."""
    def t(self, *, out: Tensor | None = ...) -> Tensor:
        """Transpose a matrix; a tensor with fewer dimensions is returned as it is."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """As `gather`, with input and indices broadcast except along `dim`.  Without dim, both are flattened."""
    def tanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self) -> Self:
        """Hyperbolic tangent."""
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor:
        """As `repeat`; missing leading counts are 1."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """As `repeat`; missing leading counts are 1."""
    @overload
    def to(self, dtype: Dtype, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor on a device, as a type, or like another tensor; itself if nothing changes."""
    @overload
    def to(self, device: Device = ..., dtype: Dtype | None = ..., non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor on a device, as a type, or like another tensor; itself if nothing changes."""
    @overload
    def to(self, other: Tensor, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor on a device, as a type, or like another tensor; itself if nothing changes."""
    def tolist(self) -> Any:
        """The values as nested lists."""
    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
        """(values, indices) of the k greatest, or least, elements of a dimension, in order."""
    def trace(self, *, out: Tensor | None = ...) -> Tensor:
        """Sum of the diagonal of a matrix; integers give int64."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with two dimensions swapped."""
    def tril(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """The lower triangle of matrices: elements above diagonal number `diagonal` are 0."""
    def tril_(self, diagonal: _int = ...) -> Self:
        """The lower triangle of matrices: elements above diagonal number `diagonal` are 0."""
    def triu(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """The upper triangle of matrices: elements below diagonal number `diagonal` are 0."""
    def triu_(self, diagonal: _int = ...) -> Self:
        """The upper triangle of matrices: elements below diagonal number `diagonal` are 0."""
    def true_divide(self, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
        """Quotient of two tensors, or of a tensor and a number; integers give float32."""
    def true_divide_(self, other: Tensor | Number, *, rounding_mode: str | None = ...) -> Self:
        """Quotient of two tensors, or of a tensor and a number; integers give float32."""
    def trunc(self, *, out: Tensor | None = ...) -> Tensor:
        """Round toward 0 to an integer; integers are unchanged."""
    def trunc_(self) -> Self:
        """Round toward 0 to an integer; integers are unchanged."""
    @overload
    def type(self, dtype: None = ...) -> str:
        """The name of this tensor's legacy type, or this tensor as a type: a dtype, a legacy class or its name."""
    @overload
    def type(self, dtype: Dtype | str | _type[Tensor], non_blocking: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """The name of this tensor's legacy type, or this tensor as a type: a dtype, a legacy class or its name."""
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor with the type and on the device of another one; itself if it is so."""
    def unbind(self, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
        """Views of every index of a dimension."""
    def unflatten(self, dim: _int, sizes: Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
        """Split one dimension into several; one size may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """A view of all windows of `size` along a dimension, at distance `step`."""
    def uniform_(self, low: _float = ..., high: _float = ..., generator: Generator | None = ...) -> Self:
        """A tensor like `input` with values from the uniform distribution over [low, high)."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A view with a dimension of size 1 inserted at `dim`."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory of this tensor as bytes."""
    def var(self, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Variance over some dimensions: squared distances from the mean, summed, over count - correction."""
    @overload
    def view(self, dtype: Dtype) -> Tensor:
        """A view with another shape; one size may be -1, which is then inferred."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor:
        """A view with another shape; one size may be -1, which is then inferred."""
    @overload
    def view(self, *size: _int) -> Tensor:
        """A view with another shape; one size may be -1, which is then inferred."""
    def view_as(self, other: Tensor) -> Tensor:
        """`view` with the shape of another tensor."""
    def wait(self) -> Tensor:
        """Wait for the non_blocking copies into this tensor, and return it.  Does nothing for a tensor on a GPU."""
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor:
        """This tensor where the condition holds, else `other`."""
    def zero_(self) -> Self:
        """Set every element to 0."""
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]

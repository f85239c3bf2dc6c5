# Written by scripts/stubs, not by hand.


from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager as ContextManager
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, TypeVar, overload

from numpy.typing import NDArray


from .dtypes import dtype as _dtype
from .memory_formats import memory_format as _memory_format
from .runtime.device import device as _device
from .runtime.generator import Generator as Generator
from .memory_formats import layout as _layout
from .tensor.tensor import *

from .errors import AcceleratorError as AcceleratorError
from .runtime.accelerator import AnyEvent as Event
from .runtime.generator import Generator as Generator
from .errors import OutOfMemoryError as OutOfMemoryError
from .strides import Size as Size
from .runtime.stream import Stream as Stream
from .tensor.tensor import Tensor as Tensor
from .tensor.storages import UntypedStorage as UntypedStorage
from . import accelerator as accelerator
from .numerics import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from . import autograd as autograd
from . import backends as backends
from . import cuda as cuda
from . import data as data
from .runtime.device import device as device
from .dtypes import dtype as dtype
from . import errors as errors
from .tools.explain import explain as explain
from .runtime.device import get_default_device as get_default_device
from .numerics import get_deterministic_debug_mode as get_deterministic_debug_mode
from .numerics import get_float32_matmul_precision as get_float32_matmul_precision
from .runtime.generator import initial_seed as initial_seed
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .numerics import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from .autograd.mode import is_grad_enabled as is_grad_enabled
from .autograd.mode import is_inference_mode_enabled as is_inference_mode_enabled
from .memory_formats import layout as layout
from .serialization.files import load as load
from .runtime.generator import manual_seed as manual_seed
from .memory_formats import memory_format as memory_format
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import optim as optim
from . import parallel as parallel
from .tools.profiler import profile as profile
from . import profiler as profiler
from .dtypes import promote_types as promote_types
from . import random as random
from .serialization.files import save as save
from .runtime.generator import seed as seed
from .runtime.device import set_default_device as set_default_device
from .numerics import set_deterministic_debug_mode as set_deterministic_debug_mode
from .numerics import set_float32_matmul_precision as set_float32_matmul_precision
from .tools.statistics import statistics as statistics
from . import testing as testing
from .numerics import use_deterministic_algorithms as use_deterministic_algorithms
from . import utils as utils
from .runtime.control import virtual as virtual

_F = TypeVar("_F", bound=Callable[..., Any])

class _Mode:
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...
    def __call__(self, function: _F, /) -> _F: ...

class no_grad(_Mode):
    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F, /) -> _F: ...  # type: ignore[misc]  # the decorated function

class enable_grad(_Mode):
    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F, /) -> _F: ...  # type: ignore[misc]  # the decorated function

class inference_mode(_Mode):
    @overload
    def __new__(cls, mode: _bool = ...) -> Self: ...
    @overload
    def __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]  # the decorated function

class set_grad_enabled(_Mode):
    def __init__(self, mode: _bool) -> None: ...

class BFloat16Tensor(Tensor): ...
class BoolTensor(Tensor): ...
class ByteTensor(Tensor): ...
class CharTensor(Tensor): ...
class DoubleTensor(Tensor): ...
class FloatTensor(Tensor): ...
class HalfTensor(Tensor): ...
class IntTensor(Tensor): ...
class LongTensor(Tensor): ...
class ShortTensor(Tensor): ...
bfloat16: _dtype
bool: _dtype
channels_last: _memory_format
channels_last_3d: _memory_format
contiguous_format: _memory_format
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
half: _dtype
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
long: _dtype
preserve_format: _memory_format
short: _dtype
strided: _layout
uint8: _dtype
__version__: str
def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Absolute value."""
def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Absolute value."""
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Sum of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
def addcdiv(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input + value * tensor1 / tensor2`, for floating point."""
def addcmul(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number = ..., alpha: Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2); with beta 0, input is not read."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Test whether all elements are nonzero; NaN is nonzero.  True without elements."""
def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """Return whether all elements are close (see isclose)."""
def amax(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Largest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient."""
def amin(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Smallest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Test whether any element is nonzero; NaN is nonzero.  False without elements."""
@overload
def arange(end: Number, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Numbers from start (0 if only one is given) to end, which is not included, `step` apart."""
@overload
def arange(start: Number, end: Number, step: Number = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Numbers from start (0 if only one is given) to end, which is not included, `step` apart."""
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Index of the largest value along a dimension, or in the flattened input."""
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Index of the smallest value along a dimension, or in the flattened input."""
def argsort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The indices that sort a dimension."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """A view of the storage of the input with any sizes and strides, in elements.  An offset of None is the input's."""
def as_tensor(data: Any, dtype: Dtype | None = ..., device: Device = ...) -> Tensor:
    """`data` as a tensor: itself, or one that shares a NumPy array's memory, if type and device allow it; else a copy."""
def asarray(obj: Any, *, dtype: Dtype | None = ..., device: Device = ..., copy: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """As as_tensor; copy=True always copies."""
def bernoulli(input: Tensor, p: Tensor | Number | None = ..., generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A tensor like `input` in which each element is 1 with probability p, else 0."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), times weight.  Logarithms are at least -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Any, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor:
    """As in `nn.functional`, but without reduction by default.  reduction: 0 is "none", 1 "mean", 2 "sum"."""
def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise and; for bool, logical and."""
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Shift left by `other` bits; 0 if `other` is negative, or at least the number of bits of the type."""
def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise not; for bool, logical not."""
def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise or; for bool, logical or."""
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Arithmetic shift right by `other` bits."""
def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise exclusive or; for bool, logical exclusive or."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Products of two batches of matrices."""
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand all tensors to the shape to which they broadcast."""
def broadcast_to(input: Tensor, size: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """Alias of `expand`."""
def cat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along a dimension."""
def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Round up to an integer; integers are unchanged."""
def chunk(input: Tensor, chunks: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of at most `chunks` consecutive pieces of a dimension, of equal size except the last."""
def clamp(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Limit values to [min, max]; one bound may be None.  NaN is unchanged.  If min > max, the result is max."""
def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """min(input, max); NaN is unchanged."""
def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """max(input, min); NaN is unchanged."""
def clip(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Limit values to [min, max]; one bound may be None.  NaN is unchanged.  If min > max, the result is max."""
def concat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Alias of `cat`."""
def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Cosine."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., label_smoothing: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Negative log-probability of the target, from unnormalised logits."""
def cumsum(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Cumulative sum along `dim`: element i is the sum of elements 0 to i."""
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A view of a diagonal of two dimensions, which becomes the last dimension."""
def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Quotient of two tensors, or of a tensor and a number; integers give float32."""
def divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Quotient of two tensors, or of a tensor and a number; integers give float32."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inner product of two vectors."""
def dropout(input: Tensor, p: _float = ..., training: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Set each element to 0 with probability p, and scale the others by 1 / (1 - p); without training, the input."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """The rows of `weight` selected by `indices`; a negative padding_idx means none."""
def empty(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
    """A tensor with unset values."""
def empty_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `empty`, with the shape, type and device of `input` unless others are named."""
def empty_strided(size: Sizes, stride: Sequence[_int], *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor with unset values and the given strides, in elements."""
def eq(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """input == other, as bool; False for NaN."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Return whether two tensors have the same shape and the same values; NaN equals nothing."""
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Error function."""
def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """e to the power x."""
def expand(input: Tensor, size: Sequence[_int]) -> Tensor:
    """A view that repeats dimensions of size 1, and new leading dimensions, by a stride of 0; -1 keeps a size."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(x) - 1, accurate near 0."""
def eye(n: _int, m: _int | None = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A matrix of n rows and m (or n) columns: ones on the diagonal, zeros elsewhere."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Merge the dimensions start_dim to end_dim, both included."""
def flip(input: Tensor, dims: Sizes | None, *, out: Tensor | None = ...) -> Tensor:
    """A copy with the order of some dimensions reversed."""
def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Round down to an integer; integers are unchanged."""
def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Quotient rounded down.  An integer divided by 0 gives 0 on every device.  It has no gradient."""
def fork_rng(devices: Iterable[Any] | None = ..., enabled: _bool = ..., device_type: str | None = ...) -> ContextManager[None]:
    """Return a context that restores the states of the CPU's and of CUDA devices' generators at its end."""
def from_dlpack(ext_tensor: Any, *, device: Device = ..., copy: _bool | None = ...) -> Tensor:
    """A CPU tensor over the memory of any object with `__dlpack__`."""
def from_numpy(ndarray: NDArray[Any]) -> Tensor:
    """A CPU tensor that shares the memory of a NumPy array, strides included."""
def full(size: Sizes, fill_value: Number, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor whose elements are all `fill_value`, a number or a tensor of one element."""
def full_like(input: Tensor, fill_value: Number, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `full`, with the shape, type and device of `input` unless others are named."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Read the input at index[i][j] along `dim`: for dim 0, result[i][j] = input[index[i][j]][j]."""
def ge(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """input >= other, as bool."""
def gelu(input: Tensor, approximate: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """x times the cumulative distribution function of the normal distribution."""
def get_rng_state(device: Device = ...) -> Tensor:
    """Return the state of a CUDA device's generator, or for None of the CPU's: a uint8 tensor of 16 bytes on the CPU."""
def gt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """input > other, as bool."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate along dimension 1, or along dimension 0 if there is only one."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, alpha: _float = ..., wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Add alpha * source at the given indexes of a dimension.  Repeated indexes add in their order."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, wrap: _bool = ..., unique: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Write `source` at the given indexes of a dimension.  Of several writes to one index, the last counts."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Write a number at the given indexes of a dimension; negative ones count from the end."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Write or add `values` to the elements that index tensors select (see `index`)."""
def index_select(input: Tensor, dim: _int, index: Tensor, wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Select the given indexes of a dimension, in their order.  wrap: negative ones count from the end."""
def is_floating_point(input: Tensor) -> _bool:
    """Return whether a tensor's type is a floating point type."""
def is_inference(input: Tensor) -> _bool:
    """Return whether a tensor was made in inference mode, so that autograd cannot save it."""
def is_tensor(obj: Any) -> _bool:
    """Return whether `obj` is a tensor."""
def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
    """Return, per element, whether |input - other| <= atol + rtol * |other|; equal infinities are close."""
def isfinite(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for being finite: neither infinite nor NaN."""
def isinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for infinity."""
def isnan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for NaN."""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Absolute difference of input and target: its mean, sum, or each term."""
def layer_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ...) -> Tensor:
    """As in `nn.functional`.  cudnn_enable has no effect."""
def le(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """input <= other, as bool."""
def lerp(start: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Linear interpolation from `start` (weight 0) to `end` (weight 1), computed from the nearer end."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """input @ weight^T + bias."""
def linspace(start: _float, end: _float, steps: _int, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """`steps` numbers evenly spaced from start to end, both included."""
def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Natural logarithm."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """log(1 + x), accurate near 0."""
def log_softmax(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of `softmax`, accurate where softmax underflows."""
def logical_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Logical and: True where both values are nonzero; NaN is nonzero."""
def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logical not: True where the value is 0."""
def logical_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Logical or: True where a value is nonzero; NaN is nonzero."""
def logical_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Logical exclusive or: True where exactly one value is nonzero; NaN is nonzero."""
def lt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """input < other, as bool."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """`value`, a number or a zero-dimensional tensor, where the mask is true, else `input`, in the type of the input."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Select the elements where the mask is true, in row-major order."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Matrix product over the last two dimensions.  A vector on the left is a row, on the right a column."""
@overload
def max(input: Tensor) -> Tensor:
    """Largest value.  With dim, (values, indices) along that dimension; with a second tensor, `maximum` of both."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Largest value.  With dim, (values, indices) along that dimension; with a second tensor, `maximum` of both."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Largest value.  With dim, (values, indices) along that dimension; with a second tensor, `maximum` of both."""
def maximum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """The larger of two values; NaN if either is.  Equal values share the gradient."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Mean over some dimensions, or all of them; NaN where there are no elements."""
@overload
def min(input: Tensor) -> Tensor:
    """Smallest value.  With dim, (values, indices) along that dimension; with a second tensor, `minimum` of both."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Smallest value.  With dim, (values, indices) along that dimension; with a second tensor, `minimum` of both."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Smallest value.  With dim, (values, indices) along that dimension; with a second tensor, `minimum` of both."""
def minimum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of two values; NaN if either is.  Equal values share the gradient."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of two matrices."""
def movedim(input: Tensor, source: Sizes, destination: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """A view with dimension(s) `source` moved to `destination`; the others keep their order."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Squared difference of input and target: its mean, sum, or each term."""
def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Product of two tensors, or of a tensor and a number."""
def multiply(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Product of two tensors, or of a tensor and a number."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of a matrix and a vector."""
def narrow(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
    """A view of `length` indexes of a dimension from `start` on."""
def ne(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """input != other, as bool; True for NaN."""
def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """-x."""
def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """-x."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Negative log-probability of the target classes, from log-probabilities."""
@overload
def nonzero(input: Tensor, as_tuple: Literal[False] = ..., *, out: Tensor | None = ...) -> Tensor:
    """The indexes of all nonzero elements, in row-major order."""
@overload
def nonzero(input: Tensor, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """The indexes of all nonzero elements, in row-major order."""
def norm(input: Tensor, p: _float | str | None = ..., dim: Sizes | None = ..., keepdim: _bool = ..., out: Tensor | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """The method `Tensor.norm`, with out=."""
def numel(input: Tensor) -> _int:
    """Return the number of elements of a tensor."""
def one_hot(tensor: Tensor, num_classes: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """1 at each index, 0 elsewhere, along a new last dimension."""
def ones(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor of ones."""
def ones_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `ones`, with the shape, type and device of `input` unless others are named."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Outer product of two vectors."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """A view with the dimensions in another order."""
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """`input` to the power `exponent`, element by element."""
def prod(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Product over some dimensions, or all of them.  The second derivative is wrong where a factor is 0."""
def rand(*sizes: _int | Sequence[_int], size: Sizes | None = ..., generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Random numbers, uniform in [0, 1)."""
def rand_like(input: Tensor, *, memory_format: _memory_format | None = ..., generator: Generator | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `rand`, with the shape, type and device of `input` unless others are named."""
@overload
def randint(high: _int, size: Sequence[_int], *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Random integers: randint(high, size) in [0, high), randint(low, high, size) in [low, high); int64 by default."""
@overload
def randint(low: _int, high: _int, size: Sequence[_int], *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Random integers: randint(high, size) in [0, high), randint(low, high, size) in [low, high); int64 by default."""
def randint_like(input: Tensor, *bounds: _int, low: _int | None = ..., high: _int | None = ..., memory_format: _memory_format | None = ..., generator: Generator | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `randint`, with the shape, type and device of `input` unless others are named."""
def randn(*sizes: _int | Sequence[_int], size: Sizes | None = ..., generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Random numbers of the standard normal distribution."""
def randn_like(input: Tensor, *, memory_format: _memory_format | None = ..., generator: Generator | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `randn`, with the shape, type and device of `input` unless others are named."""
def randperm(n: _int, *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """The integers from 0 to n - 1 in a random order, int64 by default."""
def ravel(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Flatten to one dimension: a view of a contiguous input, else a copy."""
def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / x; integers give float32."""
def relu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """max(x, 0); NaN is unchanged."""
def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Remainder of `floor_divide`, with the sign of the divisor.  An integer divided by 0 gives 0 on every device."""
def repeat(input: Tensor, repeats: Sizes | Tensor | None, *, out: Tensor | None = ...) -> Tensor:
    """A copy that repeats the input repeats[i] times along dimension i; new dimensions come first."""
def repeat_interleave(input: Tensor, repeats: _int | Tensor | None = ..., dim: _int | None = ..., *, output_size: _int | None = ..., out: Tensor | None = ...) -> Tensor:
    """Repeat each element, or each index of a dimension, several times in a row."""
def reshape(input: Tensor, shape: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """A view with another shape where the strides allow it, else a copy."""
def roll(input: Tensor, shifts: Sizes, dims: Sizes | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy shifted along dimensions; elements shifted out at one end enter at the other.  Without dims, as flattened."""
def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Round to the nearest integer, halves to the even one; integers are unchanged."""
def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / sqrt(x); integers give float32."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Write `src`, a tensor or a number, at index[i][j] along `dim`: for dim 0, input[index[i][j]][j] = src[i][j]."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Add `src` at index[i][j] along `dim`, in row-major order: for dim 0, input[index[i][j]][j] += src[i][j]."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """A view of one index of a dimension, without that dimension."""
def set_printoptions(precision: _int | None = ..., threshold: _float | None = ..., edgeitems: _int | None = ..., linewidth: _int | None = ..., profile: str | None = ..., sci_mode: _bool | None = ...) -> None:
    """Change how tensors print (see PrintOptions).  profile: "default", "short" or "full"."""
def set_rng_state(new_state: Tensor, device: Device = ...) -> None:
    """Restore a state that get_rng_state returned."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / (1 + exp(-x))."""
def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sign of each value: -1, 0 or 1; 0 for NaN."""
def silu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """x * sigmoid(x)."""
def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sine."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., beta: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """d * d / (2 * beta) where the absolute difference d is below beta, else d - beta / 2."""
def softmax(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """exp(input) divided by its sum along `dim`."""
def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """(values, indices) of the elements along a dimension in order.  Always stable; NaN is the greatest."""
def split(input: Tensor, split_size_or_sections: Sizes, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of a dimension, of one size (the last may be smaller) or of the listed sizes."""
def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Square root; integers give float32."""
def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """x * x; bool gives int64."""
def squeeze(input: Tensor, dim: Sizes | None = ...) -> Tensor:
    """A view without dimensions of size 1: all of them, or those in `dim`, an int or several."""
def stack(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors of one shape along a new dimension."""
def std(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Standard deviation over some dimensions: the square root of `var`.  Its gradient is 0 where it is 0."""
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Difference of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
def subtract(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Difference of two tensors, or of a tensor and a number.  alpha: a factor of the second."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Sum over some dimensions, or all of them."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int, *, out: Tensor | None = ...) -> Tensor:
    """Alias of `transpose`."""
def swapdims(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
    """Alias of `transpose`."""
def t(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Transpose a matrix; a tensor with fewer dimensions is returned as it is."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """As `gather`, with input and indices broadcast except along `dim`.  Without dim, both are flattened."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic tangent."""
def tensor(data: Any, *, dtype: Dtype | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor."""
def tile(input: Tensor, dims: Sizes | None, *, out: Tensor | None = ...) -> Tensor:
    """As `repeat`; missing leading counts are 1."""
def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """(values, indices) of the k greatest, or least, elements of a dimension, in order."""
def trace(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sum of the diagonal of a matrix; integers give int64."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """A view with two dimensions swapped."""
def tril(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The lower triangle of matrices: elements above diagonal number `diagonal` are 0."""
def triu(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The upper triangle of matrices: elements below diagonal number `diagonal` are 0."""
def true_divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Quotient of two tensors, or of a tensor and a number; integers give float32."""
def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Round toward 0 to an integer; integers are unchanged."""
def unbind(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of every index of a dimension."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """Split one dimension into several; one size may be -1."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A view with a dimension of size 1 inserted at `dim`."""
def var(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Variance over some dimensions: squared distances from the mean, summed, over count - correction."""
def view(input: Tensor, size: Sizes) -> Tensor:
    """A view with another shape; one size may be -1, which is then inferred."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate along dimension 0, with vectors as rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """`input` where the condition is true, else `other`.  With a condition alone, nonzero(condition, as_tuple=True)."""
@overload
def where(condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """`input` where the condition is true, else `other`.  With a condition alone, nonzero(condition, as_tuple=True)."""
def zeros(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor of zeros."""
def zeros_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `zeros`, with the shape, type and device of `input` unless others are named."""

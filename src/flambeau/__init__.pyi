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
    """The values without their sign."""
def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The values without their sign."""
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Sum of two tensors, or of a tensor and a number; `alpha` scales the second."""
def addcdiv(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input + value * tensor1 / tensor2`, for floating point."""
def addcmul(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, value: Tensor | Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number = ..., alpha: Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2); with beta 0, input is not read."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether every element is nonzero (NaN is); True where there are none."""
def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """Whether all elements are close (see isclose)."""
def amax(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Largest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient."""
def amin(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Smallest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether some element is nonzero (NaN is); False where there are none."""
@overload
def arange(end: Number, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Numbers from start (0 if only one is given) to end, which is not included, `step` apart."""
@overload
def arange(start: Number, end: Number, step: Number = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Numbers from start (0 if only one is given) to end, which is not included, `step` apart."""
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Index of the largest value along a dimension, or in the flattened input: NaN before numbers, first of equals."""
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Index of the smallest value along a dimension, or in the flattened input: NaN before numbers, first of equals."""
def argsort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The places that sort a dimension."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """A view of the input's storage with any sizes and strides, in elements; the offset is the input's own if None."""
def as_tensor(data: Any, dtype: Dtype | None = ..., device: Device = ...) -> Tensor:
    """`data` as a tensor: itself, or sharing a NumPy array's memory, where type and device allow it, else a copy."""
def asarray(obj: Any, *, dtype: Dtype | None = ..., device: Device = ..., copy: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """As as_tensor; copy=True always copies.  A leaf's requires_grad is that of the argument."""
def bernoulli(input: Tensor, p: Tensor | Number | None = ..., generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A tensor like `input` of ones, each with probability p (a number, or a tensor that broadcasts to it), and zeros."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), times weight; logarithms are not taken below -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Any, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor:
    """The function of `nn.functional`, which does not reduce by default.  reduction: 0 is "none", 1 "mean", 2 "sum"."""
def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Bits that are set in both; for bool, logical and."""
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """The bits moved up by `other` places; 0 if that is negative, or no less than the type has bits."""
def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The bits turned over; for bool, logical not."""
def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Bits that are set in either; for bool, logical or."""
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """The bits moved down by `other` places, the sign kept; all sign if that is negative or more than there are bits."""
def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Bits that differ; for bool, logical xor."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Products of two batches of matrices."""
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of all tensors with the one shape that they broadcast to."""
def broadcast_to(input: Tensor, size: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """Another name of `expand`."""
def cat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors one after another along a dimension."""
def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smallest integer not below the value; integers stay."""
def chunk(input: Tensor, chunks: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of at most `chunks` consecutive pieces of a dimension, equal in size but for the last."""
def clamp(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Values held between `min` and `max`, either of which may be None; NaN stays.  Where min is above max, it is max."""
def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Values above `max` become `max`; NaN stays."""
def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Values below `min` become `min`; NaN stays."""
def clip(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Values held between `min` and `max`, either of which may be None; NaN stays.  Where min is above max, it is max."""
def concat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Another name of `cat`."""
def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The cosine."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., label_smoothing: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Negative log-probability of the target, from unnormalised logits."""
def cumsum(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Sum of the elements up to each one along `dim`."""
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A view of a diagonal of two dimensions, which becomes the last dimension."""
def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Quotient of two tensors, or of a tensor and a number; integers give float32."""
def divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Quotient of two tensors, or of a tensor and a number; integers give float32."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inner product of two vectors."""
def dropout(input: Tensor, p: _float = ..., training: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Values set to 0 with probability p and scaled by 1 / (1 - p) otherwise; the input itself if not training."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """The rows of `weight` that `indices` names; a padding_idx below 0 is none."""
def empty(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
    """A tensor with unset values."""
def empty_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `empty`, with the shape, type and device of `input` unless others are named."""
def empty_strided(size: Sizes, stride: Sequence[_int], *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor with unset values and the given strides, in elements."""
def eq(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether input == other, as bool; NaN equals nothing."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and the same values; NaN equals nothing."""
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The error function."""
def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """e to the power of the value."""
def expand(input: Tensor, size: Sequence[_int]) -> Tensor:
    """A view that repeats dimensions of size 1, and new leading ones, without copying; -1 keeps a size."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(x) - 1, exact near 0."""
def eye(n: _int, m: _int | None = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A matrix of n rows and m (or n) columns: ones on the diagonal, zeros elsewhere."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Dimensions start_dim to end_dim, both included, as one."""
def flip(input: Tensor, dims: Sizes | None, *, out: Tensor | None = ...) -> Tensor:
    """A copy with the order of some dimensions reversed."""
def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The largest integer not above the value; integers stay."""
def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Quotient rounded down.  An integer divided by 0 gives 0, on every device.  No gradient flows."""
def fork_rng(devices: Iterable[Any] | None = ..., enabled: _bool = ..., device_type: str | None = ...) -> ContextManager[None]:
    """Restore, on exit, the state of the CPU's generator and of CUDA devices'."""
def from_dlpack(ext_tensor: Any, *, device: Device = ..., copy: _bool | None = ...) -> Tensor:
    """A CPU tensor over the memory of any object with `__dlpack__`."""
def from_numpy(ndarray: NDArray[Any]) -> Tensor:
    """A CPU tensor that shares the memory of a NumPy array, strides included."""
def full(size: Sizes, fill_value: Number, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor whose elements are all `fill_value`, a number or a tensor of one element."""
def full_like(input: Tensor, fill_value: Number, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `full`, with the shape, type and device of `input` unless others are named."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """For every place of `index`, the element of the input there, but with the index along `dim`."""
def ge(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether input >= other, as bool."""
def gelu(input: Tensor, approximate: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """x times the normal distribution's cumulative function; approximate="tanh" is the cheaper form."""
def get_rng_state(device: Device = ...) -> Tensor:
    """The state of a CUDA device's generator (None: of the CPU's), a uint8 tensor of 16 bytes on the CPU."""
def gt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether input > other, as bool."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors side by side: along dimension 1, or 0 where they have only one."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, alpha: _float = ..., wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The input with alpha * source added at the indexes of a dimension, those of one index in their order."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, wrap: _bool = ..., unique: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The input with `source` written at the indexes of a dimension; of several writes to one, the last counts."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """The input with a number written at the indexes of a dimension; negative ones count from the end."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The input with `values` written, or added, where index tensors point (see `index`)."""
def index_select(input: Tensor, dim: _int, index: Tensor, wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The indexes of a dimension that `index` lists, in its order.  wrap: negative ones count from the end."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether a tensor's type is a floating point type."""
def is_inference(input: Tensor) -> _bool:
    """Whether a tensor was made in inference mode, so that autograd cannot save it."""
def is_tensor(obj: Any) -> _bool:
    """Whether `obj` is a tensor."""
def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|; equal infinities are close."""
def isfinite(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether the value is neither infinite nor NaN."""
def isinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether the value is infinite."""
def isnan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether the value is NaN."""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Absolute difference of input and target."""
def layer_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ...) -> Tensor:
    """The function of `nn.functional`.  cudnn_enable has no effect."""
def le(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether input <= other, as bool."""
def lerp(start: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Blend from `start` (weight 0) to `end` (weight 1) along a straight line, computed from the nearer of the two."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """input @ weight^T + bias."""
def linspace(start: _float, end: _float, steps: _int, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """`steps` numbers evenly spaced from start to end, both included."""
def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The natural logarithm."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """log(1 + x), exact near 0."""
def log_softmax(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of `softmax`, exact also where that is too small to represent."""
def logical_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether both values are not 0 (NaN is not)."""
def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether the value is 0."""
def logical_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether a value is not 0 (NaN is not)."""
def logical_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether exactly one value is not 0 (NaN is not)."""
def lt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether input < other, as bool."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """`input` with `value`, a number or a tensor without dimensions, where the mask holds; the input's type stays."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements where the mask is true, in row-major order."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Matrix product over the last two dimensions.  A vector on the left is a row, on the right a column."""
@overload
def max(input: Tensor) -> Tensor:
    """Largest value; along one dimension (values, indices); with a second tensor `maximum` of both."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Largest value; along one dimension (values, indices); with a second tensor `maximum` of both."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Largest value; along one dimension (values, indices); with a second tensor `maximum` of both."""
def maximum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """The larger of two values, NaN if either is; where they tie, the gradient is shared."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Mean over some dimensions, or all of them; NaN where there are no elements."""
@overload
def min(input: Tensor) -> Tensor:
    """Smallest value; along one dimension (values, indices); with a second tensor `minimum` of both."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Smallest value; along one dimension (values, indices); with a second tensor `minimum` of both."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Smallest value; along one dimension (values, indices); with a second tensor `minimum` of both."""
def minimum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of two values, NaN if either is; where they tie, the gradient is shared."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of two matrices."""
def movedim(input: Tensor, source: Sizes, destination: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """A view with dimension(s) `source` moved to `destination`; the others keep their order."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., weight: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Squared difference of input and target."""
def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Product of two tensors, or of a tensor and a number."""
def multiply(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Product of two tensors, or of a tensor and a number."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of a matrix and a vector."""
def narrow(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
    """A view of `length` indexes of a dimension from `start` on."""
def ne(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Whether input != other, as bool; NaN differs from all."""
def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The values with the other sign."""
def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The values with the other sign."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Negative log-probability of the target classes, from log-probabilities."""
@overload
def nonzero(input: Tensor, as_tuple: Literal[False] = ..., *, out: Tensor | None = ...) -> Tensor:
    """The indexes of all elements that are not zero, in row-major order."""
@overload
def nonzero(input: Tensor, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """The indexes of all elements that are not zero, in row-major order."""
def norm(input: Tensor, p: _float | str | None = ..., dim: Sizes | None = ..., keepdim: _bool = ..., out: Tensor | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """The method `Tensor.norm`, with out=."""
def numel(input: Tensor) -> _int:
    """How many elements a tensor has."""
def one_hot(tensor: Tensor, num_classes: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """1 at each index, 0 elsewhere, along a new last dimension."""
def ones(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor of ones."""
def ones_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `ones`, with the shape, type and device of `input` unless others are named."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """All products of an element of one vector with an element of another."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """A view with the dimensions in another order."""
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """`input` to the power `exponent`, element by element."""
def prod(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Product over some dimensions, or all of them.  Its second derivative is right where no factor is 0."""
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
    """Every element in one dimension: a view of a contiguous input, else a copy."""
def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 over the values; integers give float32."""
def relu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Values below 0 become 0; NaN stays."""
def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """What `floor_divide` leaves; it has the divisor's sign.  An integer divided by 0 leaves 0, on every device."""
def repeat(input: Tensor, repeats: Sizes | Tensor | None, *, out: Tensor | None = ...) -> Tensor:
    """A copy that holds the input repeats[i] times along dimension i; new dimensions come first."""
def repeat_interleave(input: Tensor, repeats: _int | Tensor | None = ..., dim: _int | None = ..., *, output_size: _int | None = ..., out: Tensor | None = ...) -> Tensor:
    """Each element (or each index of a dimension) several times in a row."""
def reshape(input: Tensor, shape: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """A view as another shape where there is one, else a copy."""
def roll(input: Tensor, shifts: Sizes, dims: Sizes | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy moved along dimensions, what leaves at one end comes in at the other; without dims, as one long row."""
def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """The nearest integer, of two the even one; integers stay.  Shapes: as the input's.  Host: returns at once."""
def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 over the square root; integers give float32."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """The input with each element of `src` (or a number) written at its place, but with the index along `dim`."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The input with each element of `src` added at its place, but with the index along `dim`; in row-major order."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """A view of one index of a dimension, which the result does not have."""
def set_printoptions(precision: _int | None = ..., threshold: _float | None = ..., edgeitems: _int | None = ..., linewidth: _int | None = ..., profile: str | None = ..., sci_mode: _bool | None = ...) -> None:
    """Change how tensors print (see PrintOptions).  profile: "default", "short" or "full"."""
def set_rng_state(new_state: Tensor, device: Device = ...) -> None:
    """Restore what get_rng_state gave."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / (1 + exp(-x))."""
def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """-1, 0 or 1 by the value's sign, 0 for NaN."""
def silu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """x times sigmoid(x)."""
def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The sine."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: str = ..., beta: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Squared difference / (2 * beta) where it is below beta, else absolute difference - beta / 2."""
def softmax(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """exp(input) divided by its sum along `dim`."""
def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """The elements along a dimension in order, and where each was; always stable, NaN is the greatest."""
def split(input: Tensor, split_size_or_sections: Sizes, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of a dimension: of one size, the last perhaps smaller, or of the sizes listed."""
def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The square root; integers give float32."""
def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The values times themselves; bool gives int64."""
def squeeze(input: Tensor, dim: Sizes | None = ...) -> Tensor:
    """A view without dimensions of size 1: all of them, or those of `dim`, a number or several."""
def stack(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors of one shape along a new dimension."""
def std(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Standard deviation over some dimensions: the square root of `var`.  Its gradient is 0 where it is 0."""
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Difference of two tensors, or of a tensor and a number; `alpha` scales the second."""
def subtract(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Difference of two tensors, or of a tensor and a number; `alpha` scales the second."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Sum over some dimensions, or all of them."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int, *, out: Tensor | None = ...) -> Tensor:
    """Another name of `transpose`."""
def swapdims(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
    """Another name of `transpose`."""
def t(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A matrix with rows and columns swapped; a vector or a number as it is."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """As `gather`, but input and indices broadcast apart from `dim`; without it, both are flattened."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The hyperbolic tangent."""
def tensor(data: Any, *, dtype: Dtype | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor."""
def tile(input: Tensor, dims: Sizes | None, *, out: Tensor | None = ...) -> Tensor:
    """As `repeat`; missing leading counts are 1."""
def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """The k greatest (or least) elements of a dimension, in order, and their places."""
def trace(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The sum of a matrix's diagonal; integers give int64."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """A view with two dimensions swapped."""
def tril(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The lower triangle of matrices: zero above the diagonal `diagonal` (0 is the main one, positive ones lie above)."""
def triu(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The upper triangle of matrices: zero below the diagonal `diagonal` (0 is the main one, positive ones lie above)."""
def true_divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Quotient of two tensors, or of a tensor and a number; integers give float32."""
def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The value without its fraction; integers stay."""
def unbind(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of every index of a dimension."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """One dimension as several; one size may be -1."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A view with a dimension of size 1 put in at `dim`."""
def var(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Variance over some dimensions: squared distances from the mean, summed, over count - correction."""
def view(input: Tensor, size: Sizes) -> Tensor:
    """The same memory as another shape; one size may be -1, which is then inferred."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors one below another: along dimension 0, vectors as rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """`input` where the condition holds, else `other`.  With the condition alone, nonzero(condition, as_tuple=True)."""
@overload
def where(condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """`input` where the condition holds, else `other`.  With the condition alone, nonzero(condition, as_tuple=True)."""
def zeros(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A tensor of zeros."""
def zeros_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """As `zeros`, with the shape, type and device of `input` unless others are named."""

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
from .parallel.futures import Future as Future
from .runtime.generator import Generator as Generator
from .amp.grad_scaler import GradScaler as GradScaler
from .errors import OutOfMemoryError as OutOfMemoryError
from .strides import Size as Size
from .runtime.stream import Stream as Stream
from .tensor.tensor import Tensor as Tensor
from .tensor.storages import TypedStorage as TypedStorage
from .tensor.storages import UntypedStorage as UntypedStorage
from . import accelerator as accelerator
from . import amp as amp
from .numerics import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from . import array_api as array_api
from .autograd.autocast import autocast as autocast
from .autograd.autocast import autocast_decrement_nesting as autocast_decrement_nesting
from .autograd.autocast import autocast_increment_nesting as autocast_increment_nesting
from . import autograd as autograd
from . import backends as backends
from .autograd.autocast import clear_autocast_cache as clear_autocast_cache
from .tools.eager import compile as compile
from . import compiler as compiler
from . import cpu as cpu
from .nn.package_functions import ctc_loss as ctc_loss
from . import cuda as cuda
from . import data as data
from .runtime.device import device as device
from . import distributed as distributed
from . import distributions as distributions
from .dtypes import dtype as dtype
from .nn.package_functions import embedding_bag as embedding_bag
from . import errors as errors
from .tools.explain import explain as explain
from . import fft as fft
from .tensor.types import finfo as finfo
from . import func as func
from . import futures as futures
from .autograd.autocast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .autograd.autocast import get_autocast_dtype as get_autocast_dtype
from .autograd.autocast import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .autograd.autocast import get_autocast_ipu_dtype as get_autocast_ipu_dtype
from .autograd.autocast import get_autocast_xla_dtype as get_autocast_xla_dtype
from .runtime.device import get_default_device as get_default_device
from .numerics import get_deterministic_debug_mode as get_deterministic_debug_mode
from .runtime.accelerator import get_device_module as get_device_module
from .numerics import get_float32_matmul_precision as get_float32_matmul_precision
from .runtime.host_threads import get_num_interop_threads as get_num_interop_threads
from .runtime.host_threads import get_num_threads as get_num_threads
from .nn.package_functions import gru as gru
from .nn.package_functions import gru_cell as gru_cell
from . import hub as hub
from .tensor.types import iinfo as iinfo
from .runtime.generator import initial_seed as initial_seed
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .autograd.autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
from .autograd.autocast import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .autograd.autocast import is_autocast_enabled as is_autocast_enabled
from .autograd.autocast import is_autocast_ipu_enabled as is_autocast_ipu_enabled
from .autograd.autocast import is_autocast_xla_enabled as is_autocast_xla_enabled
from .numerics import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from .autograd.mode import is_grad_enabled as is_grad_enabled
from .autograd.mode import is_inference_mode_enabled as is_inference_mode_enabled
from .runtime.absent import is_vulkan_available as is_vulkan_available
from .runtime.host_threads import is_warn_always_enabled as is_warn_always_enabled
from . import jit as jit
from .memory_formats import layout as layout
from . import library as library
from . import linalg as linalg
from .serialization.files import load as load
from .nn.package_functions import lstm as lstm
from .nn.package_functions import lstm_cell as lstm_cell
from .runtime.generator import manual_seed as manual_seed
from .memory_formats import memory_format as memory_format
from . import mps as mps
from . import mtia as mtia
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import optim as optim
from . import overrides as overrides
from . import parallel as parallel
from .tools.profiler import profile as profile
from . import profiler as profiler
from .dtypes import promote_types as promote_types
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from .nn.package_functions import rnn_relu as rnn_relu
from .nn.package_functions import rnn_relu_cell as rnn_relu_cell
from .nn.package_functions import rnn_tanh as rnn_tanh
from .nn.package_functions import rnn_tanh_cell as rnn_tanh_cell
from .serialization.files import save as save
from .runtime.generator import seed as seed
from . import serialization as serialization
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .autograd.autocast import set_autocast_cache_enabled as set_autocast_cache_enabled
from .autograd.autocast import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .autograd.autocast import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .autograd.autocast import set_autocast_dtype as set_autocast_dtype
from .autograd.autocast import set_autocast_enabled as set_autocast_enabled
from .autograd.autocast import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from .autograd.autocast import set_autocast_ipu_dtype as set_autocast_ipu_dtype
from .autograd.autocast import set_autocast_ipu_enabled as set_autocast_ipu_enabled
from .autograd.autocast import set_autocast_xla_dtype as set_autocast_xla_dtype
from .autograd.autocast import set_autocast_xla_enabled as set_autocast_xla_enabled
from .runtime.device import set_default_device as set_default_device
from .numerics import set_deterministic_debug_mode as set_deterministic_debug_mode
from .numerics import set_float32_matmul_precision as set_float32_matmul_precision
from .runtime.host_threads import set_flush_denormal as set_flush_denormal
from .runtime.host_threads import set_num_interop_threads as set_num_interop_threads
from .runtime.host_threads import set_num_threads as set_num_threads
from .runtime.host_threads import set_warn_always as set_warn_always
from . import signal as signal
from . import special as special
from .tools.statistics import statistics as statistics
from . import testing as testing
from . import types as types
from .numerics import use_deterministic_algorithms as use_deterministic_algorithms
from . import utils as utils
from . import version as version
from .runtime.control import virtual as virtual
from .autograd.transforms import vmap as vmap
from . import xpu as xpu

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

class BFloat16Storage(TypedStorage): ...
class BFloat16Tensor(Tensor): ...
class BoolStorage(TypedStorage): ...
class BoolTensor(Tensor): ...
class ByteStorage(TypedStorage): ...
class ByteTensor(Tensor): ...
class CharStorage(TypedStorage): ...
class CharTensor(Tensor): ...
class DoubleStorage(TypedStorage): ...
class DoubleTensor(Tensor): ...
class FloatStorage(TypedStorage): ...
class FloatTensor(Tensor): ...
class HalfStorage(TypedStorage): ...
class HalfTensor(Tensor): ...
class IntStorage(TypedStorage): ...
class IntTensor(Tensor): ...
class LongStorage(TypedStorage): ...
class LongTensor(Tensor): ...
class ShortStorage(TypedStorage): ...
class ShortTensor(Tensor): ...
class Storage(TypedStorage): ...
bfloat16: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
channels_last: _memory_format
channels_last_3d: _memory_format
complex128: _dtype
complex32: _dtype
complex64: _dtype
contiguous_format: _memory_format
double: _dtype
e: _float
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
inf: _float
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
jagged: _layout
long: _dtype
nan: _float
newaxis: None
pi: _float
preserve_format: _memory_format
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
strided: _layout
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype
__version__: str
def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the absolute value."""
def abs_(input: Tensor) -> Tensor:
    """In-place version of `abs`: stores the result in this tensor, cast to its dtype, and returns it."""
def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the absolute value."""
def acos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the cosine, in radians in [0, pi]; NaN for input outside [-1, 1]."""
def acos_(input: Tensor) -> Tensor:
    """In-place version of `acos`: stores the result in this tensor, cast to its dtype, and returns it."""
def acosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the hyperbolic cosine; NaN for input below 1."""
def acosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`: stores the result in this tensor, cast to its dtype, and returns it."""
def adaptive_avg_pool1d(input: Tensor, output_size: Any, *, out: Tensor | None = ...) -> Tensor:
    """Divide sequences into `output_size` windows of about equal size, and compute the mean of each window."""
def adaptive_max_pool1d(input: Tensor, output_size: Any, *, out: Tensor | None = ...) -> Tensor:
    """Divide sequences into `output_size` windows of about equal size, and return (maxima, indices) of the windows."""
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input + other`, where `other` is a tensor or a number."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute beta * input + alpha * (the sum of batch1[i] @ batch2[i] over i); with beta 0, input is not read."""
def addcdiv(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input + value * tensor1 / tensor2`; tensor1 and tensor2 may not both be integers."""
def addcmul(input: Tensor | Number, tensor1: Tensor | Number, tensor2: Tensor | Number, *, value: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input + value * tensor1 * tensor2`."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _float = ..., alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute beta * input + alpha * (mat1 @ mat2); with beta 0, input is not read."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _float = ..., alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute beta * input + alpha * (mat @ vec); with beta 0, input is not read."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _float = ..., alpha: _float = ...) -> Tensor:
    """In-place version of `addmv`: stores the result in this tensor, cast to its dtype, and returns it."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _float = ..., alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute beta * input + alpha * outer(vec1, vec2); with beta 0, input is not read."""
def adjoint(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a view with the last two dimensions swapped: the conjugate transpose of real matrices."""
def affine_grid_generator(theta: Any, size: Sizes, align_corners: _bool) -> Tensor:
    """Return a grid of points for `grid_sample` from affine maps: another name of `nn.functional.affine_grid`."""
def alias_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the input."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return whether all elements are nonzero; True if there are no elements."""
def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """Return whether |input - other| <= atol + rtol * |other| for all elements, as a bool: see `isclose`."""
def alpha_dropout(input: Tensor, p: _float, training: _bool, *, out: Tensor | None = ...) -> Tensor:
    """Set each element, with probability p, to about -1.758, the limit of SELU for large negative inputs."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place `torch.alpha_dropout`: overwrites its input, and returns it."""
def amax(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the largest value over some dimensions, or all of them; NaN if any element is NaN."""
def amin(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest value over some dimensions, or all of them; NaN if any element is NaN."""
def aminmax(input: Tensor, *, dim: Sizes | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Any:
    """Return (min, max) of all elements or along a dimension; both are NaN if any element is NaN."""
def angle(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle of each number in the complex plane: pi for a negative number, else 0; NaN is unchanged."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return whether any element is nonzero; False if there are no elements."""
@overload
def arange(end: Number, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the numbers from start (0 by default) to end, which is not included, in steps of `step`."""
@overload
def arange(start: Number, end: Number, step: Number = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the numbers from start (0 by default) to end, which is not included, in steps of `step`."""
def arccos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the cosine, in radians in [0, pi]; NaN for input outside [-1, 1]."""
def arccos_(input: Tensor) -> Tensor:
    """In-place version of `acos`: stores the result in this tensor, cast to its dtype, and returns it."""
def arccosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the hyperbolic cosine; NaN for input below 1."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place version of `acosh`: stores the result in this tensor, cast to its dtype, and returns it."""
def arcsin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the sine, in radians in [-pi/2, pi/2]; NaN for input outside [-1, 1]."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place version of `asin`: stores the result in this tensor, cast to its dtype, and returns it."""
def arcsinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`: stores the result in this tensor, cast to its dtype, and returns it."""
def arctan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the tangent, in radians in [-pi/2, pi/2]."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle in radians of the point with x = `other` and y = `input`, in [-pi, pi]."""
def arctan_(input: Tensor) -> Tensor:
    """In-place version of `atan`: stores the result in this tensor, cast to its dtype, and returns it."""
def arctanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the hyperbolic tangent; NaN for input outside [-1, 1]."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`: stores the result in this tensor, cast to its dtype, and returns it."""
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the index of the largest value along a dimension, or in the flattened input."""
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the index of the smallest value along a dimension, or in the flattened input."""
def argsort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the indices that sort the elements along a dimension in ascending order."""
def argwhere(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the indexes of all nonzero elements, in row-major order: the same as `nonzero`."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """Return a view of the input's storage with the given sizes and strides, in elements."""
def as_strided_(input: Tensor, size: Sizes, stride: Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """Set the sizes and strides of a tensor in place, and return it: `Tensor.as_strided_` as a function."""
def as_strided_copy(input: Tensor, size: Sizes, stride: Sequence[_int], storage_offset: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `as_strided` returns."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sizes, stride: Sequence[_int], storage_offset: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the input with `src` written to the elements that `as_strided` would select in it."""
def as_tensor(data: Any, dtype: Dtype | None = ..., device: Device = ...) -> Tensor:
    """Convert `data` to a tensor, without a copy if type and device allow it."""
def asarray(obj: Any, *, dtype: Dtype | None = ..., device: Device = ..., copy: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Convert an object to a tensor: like `as_tensor`, with a choice of whether to copy."""
def asin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the sine, in radians in [-pi/2, pi/2]; NaN for input outside [-1, 1]."""
def asin_(input: Tensor) -> Tensor:
    """In-place version of `asin`: stores the result in this tensor, cast to its dtype, and returns it."""
def asinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor:
    """In-place version of `asinh`: stores the result in this tensor, cast to its dtype, and returns it."""
def atan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the tangent, in radians in [-pi/2, pi/2]."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the angle in radians of the point with x = `other` and y = `input`, in [-pi, pi]."""
def atan_(input: Tensor) -> Tensor:
    """In-place version of `atan`: stores the result in this tensor, cast to its dtype, and returns it."""
def atanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the hyperbolic tangent; NaN for input outside [-1, 1]."""
def atanh_(input: Tensor) -> Tensor:
    """In-place version of `atanh`: stores the result in this tensor, cast to its dtype, and returns it."""
def atleast_1d(*tensors: Tensor) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least one dimension: [] becomes [1]."""
def atleast_2d(*tensors: Tensor) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least two dimensions: [n] becomes [1, n]."""
def atleast_3d(*tensors: Tensor) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least three dimensions: [n] becomes [1, n, 1]."""
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean of each window of sequences."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float = ..., alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute beta * input + alpha * (batch1 @ batch2), matrix by matrix; with beta 0, input is not read."""
def bartlett_window(window_length: _int, periodic: _bool = ..., *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Return the triangular window 1 - |2 n / N - 1|, for n = 0 to window_length - 1."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Any, running_var: Any, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = ...) -> Tensor:
    """Normalize each channel: call `nn.functional.batch_norm`, whose arguments have another order."""
def bernoulli(input: Tensor, p: Tensor | Number | None = ..., generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a tensor like `input` in which each element is 1 with probability p, else 0."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute input1 @ weight[k] @ input2 + bias[k] for each k."""
def binary_cross_entropy_with_logits(input: Tensor, target: Any, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor:
    """Compute the binary cross entropy of logits: the loss of `nn.functional`, with a number for the reduction."""
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Count how often each of 0, 1, 2, ... occurs in a vector of integers, or with `weights` sum the weights of each."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Draw from the binomial distribution: numbers of successes in `count` trials with success probability `prob`."""
def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute the bitwise AND, `input & other`; for bool, the logical AND."""
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Shift `input` left by `other` bits."""
def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the bitwise NOT, `~input`, which inverts every bit; for bool, the logical NOT."""
def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute the bitwise OR, `input | other`; for bool, the logical OR."""
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Shift `input` right by `other` bits, keeping its sign."""
def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute the bitwise exclusive OR, `input ^ other`; for bool, the logical exclusive OR."""
def blackman_window(window_length: _int, periodic: _bool = ..., *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Return the window 0.42 - 0.5 * cos(2 pi n / N) + 0.08 * cos(4 pi n / N), for n = 0 to window_length - 1."""
def block_diag(*tensors: Tensor) -> Tensor:
    """Return a matrix with the given matrices along its diagonal, and zeros elsewhere."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the matrix products input[i] @ mat2[i] of two batches of matrices."""
def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape to which tensors of the given shapes broadcast."""
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return views of all tensors, expanded to the shape to which they broadcast."""
def broadcast_to(input: Tensor, size: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """Return a view that is expanded to the given shape: an alias of `expand`."""
def bucketize(input: Tensor | Number, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the index of the bucket of each value v: index i means boundaries[i - 1] < v <= boundaries[i]."""
def can_cast(from_: _dtype, to: _dtype) -> _bool:
    """Return whether a result of type `from_` may be written into a tensor of type `to`."""
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all tuples with one element of each vector, as rows; the first vector varies slowest."""
def cat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along a dimension."""
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the p-norm of the difference of every row of x1 and every row of x2."""
def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Round up to an integer; integers are unchanged."""
def ceil_(input: Tensor) -> Tensor:
    """In-place version of `ceil`: stores the result in this tensor, cast to its dtype, and returns it."""
def celu(input: Tensor, alpha: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return x where it is positive, else alpha * (exp(x / alpha) - 1)."""
def celu_(input: Tensor, alpha: _float = ...) -> Tensor:
    """In-place version of `celu`: stores the result in `input`, cast to its dtype, and returns it."""
def chain_matmul(*matrices: Any, out: Tensor | None = ...) -> Tensor:
    """Multiply several matrices: `linalg.multi_dot` with the matrices as separate arguments."""
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy in which the channels (dimension 1) of `groups` consecutive groups are interleaved."""
def cholesky(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the Cholesky factor L of the input A, where A = L @ L^T: the former name of `linalg.cholesky`."""
def cholesky_inverse(L: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of A from the input, its Cholesky factor L, where A = L @ L^T."""
def cholesky_solve(B: Tensor, L: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the solution X of A @ X = B from the Cholesky factor L of A, where A = L @ L^T."""
def chunk(input: Tensor, chunks: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return views of at most `chunks` consecutive pieces of a dimension, of equal size except the last."""
def clamp(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Limit values to [min, max]; NaN is unchanged."""
def clamp_(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Tensor:
    """In-place version of `clamp`: stores the result in this tensor, cast to its dtype, and returns it."""
def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute min(input, max); NaN is unchanged."""
def clamp_max_(input: Tensor, max: Tensor | Number) -> Tensor:
    """In-place version of `clamp_max`: stores the result in this tensor, cast to its dtype, and returns it."""
def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute max(input, min); NaN is unchanged."""
def clamp_min_(input: Tensor, min: Tensor | Number) -> Tensor:
    """In-place version of `clamp_min`: stores the result in this tensor, cast to its dtype, and returns it."""
def clip(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Limit values to [min, max]; NaN is unchanged."""
def clip_(input: Tensor, min: Tensor | Number | None = ..., max: Tensor | Number | None = ...) -> Tensor:
    """In-place version of `clamp`: stores the result in this tensor, cast to its dtype, and returns it."""
def clone(input: Tensor, *, memory_format: _memory_format | None = ...) -> Tensor:
    """Return a copy of a tensor: the method `Tensor.clone` as a function."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 1; vectors become columns."""
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return all choices of r elements of a vector, as rows in the order of their positions."""
def concat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along a dimension: an alias of `cat`."""
def concatenate(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along a dimension: an alias of `cat`."""
def conj(input: Tensor) -> Tensor:
    """Return the tensor itself: a real number is its own conjugate."""
def conj_physical(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the tensor itself: a real number is its own conjugate."""
def conj_physical_(input: Tensor) -> Tensor:
    """Return the tensor itself, unchanged: a real number is its own conjugate."""
def constant_pad_nd(input: Tensor, pad: Any, value: Tensor | Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """Pad the last dimensions with the number `value`: `nn.functional.pad` with mode "constant"."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cross-correlation of sequences with a kernel, summed over the channels of a group, plus bias."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cross-correlation of images with a kernel, summed over the channels of a group, plus bias."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cross-correlation of volumes with a kernel, summed over the channels of a group, plus bias."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute `conv1d` of sequences whose dimensions are (time, batch, channels)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transposed convolution of sequences: the gradient of `conv1d` with respect to its input, plus bias."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transposed convolution of images: the gradient of `conv2d` with respect to its input, plus bias."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the transposed convolution of volumes: the gradient of `conv3d` with respect to its input, plus bias."""
def convolution(input: Tensor, weight: Tensor | None, bias: Tensor | None, stride: Sequence[_int], padding: Any, dilation: Any, transposed: _bool, output_padding: Any, groups: _int) -> Tensor:
    """Call `conv1d`, `conv2d` or `conv3d`, by the number of the weight's dimensions, or their transposed forms."""
def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Return the magnitude of `input` with the sign of `other`; integers give the default floating point type."""
def corrcoef(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the matrix of correlation coefficients, from -1 to 1, of the input's rows, each of which is a variable."""
def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the cosine of each element, an angle in radians."""
def cos_(input: Tensor) -> Tensor:
    """In-place version of `cos`: stores the result in this tensor, cast to its dtype, and returns it."""
def cosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """In-place version of `cosh`: stores the result in this tensor, cast to its dtype, and returns it."""
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """Compute 1 - cosine of two vectors where the target is 1, and max(0, cosine - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cosine of the angle between vectors along `dim`; lengths below eps count as eps."""
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the number of nonzero elements over some dimensions, or all of them; NaN counts as nonzero."""
def cov(input: Tensor, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return the covariance matrix of the input's rows, which are the variables; its columns are the observations."""
def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cross product of vectors of three elements along `dim`, by default the first dimension of size 3."""
def cummax(input: Tensor, dim: _int, *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """Return (values, indices) of the largest element so far along `dim`; NaN propagates."""
def cummin(input: Tensor, dim: _int, *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """Return (values, indices) of the smallest element so far along `dim`; NaN propagates."""
def cumprod(input: Tensor, dim: _int, *, dtype: Dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Compute the cumulative product along `dim`: element i is the product of elements 0 to i."""
def cumsum(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the cumulative sum along `dim`: element i is the sum of elements 0 to i."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Compute the cumulative integral of y along `dim` by the trapezoidal rule: element i is that up to point i + 1."""
def deg2rad(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert each angle from degrees to radians; integers give the default floating point type."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place version of `deg2rad`: stores the result in this tensor, cast to its dtype, and returns it."""
def det(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the determinant of square matrices."""
def detach(input: Tensor) -> Tensor:
    """Return a tensor over the same memory that is outside any graph: `Tensor.detach` as a function."""
def detach_(input: Tensor) -> Tensor:
    """Detach a tensor from its graph, and return it: `Tensor.detach_` as a function."""
def detach_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy outside any graph, contiguous in memory."""
def diag(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a matrix with the given vector on a diagonal, or a copy of the diagonal of a matrix."""
def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return matrices, in dimensions dim1 and dim2, with the rows of the input on a diagonal and 0 elsewhere."""
def diagflat(input: Tensor, offset: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a matrix with all elements of the input, in row-major order, on a diagonal, and 0 elsewhere."""
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Return a view of the diagonals of the matrices in dimensions dim1 and dim2, as the last dimension."""
def diagonal_copy(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `diagonal` returns."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `src` written to the elements that `diagonal(offset, dim1, dim2)` selects."""
def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th differences along `dim`: for n = 1, element i is input[i + 1] - input[i]."""
def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the derivative of the logarithm of the gamma function."""
def dist(input: Tensor, other: Tensor, p: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the p-norm of all elements of `input - other`; p is 2 by default."""
def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input / other`, where `other` is a tensor or a number; integers give the default floating point type."""
def divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input / other`, where `other` is a tensor or a number; integers give the default floating point type."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inner product of two vectors."""
def dropout(input: Tensor, p: _float, training: _bool, *, out: Tensor | None = ...) -> Tensor:
    """Return the input with each element set to 0 with probability p, and the others multiplied by 1 / (1 - p)."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In place, set each element to 0 with probability p and multiply the others by 1 / (1 - p); return the input."""
def dsmm(input: Tensor, mat2: Any, *, out: Tensor | None = ...) -> Tensor:
    """Multiply two matrices, as `mm` does; PyTorch's also takes sparse matrices, which flambeau does not have."""
def dsplit(input: Tensor, indices_or_sections: Any, *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Split a tensor of at least 3 dimensions along dimension 2, and return a tuple of views."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 2; a vector [n] counts as [1, n, 1], a matrix [n, m] as [n, m, 1]."""
def eig(*args: Any, **kwargs: Any) -> Tensor:
    """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
def einsum(*args: Any) -> Tensor:
    """Compute sums of products of tensors by Einstein's convention."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """Return the rows of `weight` with the numbers in `indices`."""
def embedding_renorm_(input: Tensor, indices: Sequence[Tensor | None], max_norm: _float, norm_type: _float) -> Tensor:
    """Scale the rows of `input` that `indices` selects, in place, so that their norm is at most `max_norm`."""
def empty(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: _memory_format | None = ...) -> Tensor:
    """Return an uninitialized tensor."""
def empty_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return an uninitialized tensor with the shape, dtype and device of `input`."""
def empty_permuted(size: Sizes, physical_layout: Any, *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return an uninitialized tensor of shape `size`, without gaps, with the given order of dimensions in memory."""
def empty_strided(size: Sizes, stride: Sequence[_int], *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return an uninitialized tensor with the shape `size` and the strides `stride`, in elements."""
def eq(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input == other for each pair of elements, as bool; False if either value is NaN."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Return, as a bool, whether two tensors have the same shape and the same values; NaN equals nothing."""
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the error function of each element."""
def erf_(input: Tensor) -> Tensor:
    """In-place version of `erf`: stores the result in this tensor, cast to its dtype, and returns it."""
def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the complementary error function of each element: 1 - erf(x), accurate where the result is near 0."""
def erfc_(input: Tensor) -> Tensor:
    """In-place version of `erfc`: stores the result in this tensor, cast to its dtype, and returns it."""
def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of the error function of each element; NaN outside [-1, 1]."""
def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the exponential of each element: e to the power x."""
def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute 2 to the power x for each element x."""
def exp2_(input: Tensor) -> Tensor:
    """In-place version of `exp2`: stores the result in this tensor, cast to its dtype, and returns it."""
def exp_(input: Tensor) -> Tensor:
    """In-place version of `exp`: stores the result in this tensor, cast to its dtype, and returns it."""
def expand_copy(input: Tensor, size: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `expand` returns."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute exp(x) - 1, accurate near 0."""
def expm1_(input: Tensor) -> Tensor:
    """In-place version of `expm1`: stores the result in this tensor, cast to its dtype, and returns it."""
def eye(n: _int, m: _int | None = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a matrix of n rows and m (or n) columns: ones on the diagonal, zeros elsewhere."""
def feature_alpha_dropout(input: Tensor, p: _float, training: _bool, *, out: Tensor | None = ...) -> Tensor:
    """Apply `alpha_dropout` to whole channels: each channel is dropped, with probability p, or kept as a whole."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place `torch.feature_alpha_dropout`: overwrites its input, and returns it."""
def feature_dropout(input: Tensor, p: _float, training: _bool, *, out: Tensor | None = ...) -> Tensor:
    """Set each channel of each instance to 0 with probability p, and scale the others by 1 / (1 - p)."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place `torch.feature_dropout`: overwrites its input, and returns it."""
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """Return a tensor like the input, filled with a number or with the value of a 0-dim tensor."""
def fill_(input: Tensor, value: Tensor | Number) -> Tensor:
    """Set every element of a tensor to one value, and return it: `Tensor.fill_` as a function."""
def fix(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Round toward 0 to an integer; integers are unchanged."""
def fix_(input: Tensor) -> Tensor:
    """In-place version of `trunc`: stores the result in this tensor, cast to its dtype, and returns it."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Merge the dimensions start_dim to end_dim, both included, in a view where the strides allow it, else in a copy."""
def flip(input: Tensor, dims: Sizes | None, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy with the elements in reverse order along each dimension in `dims`."""
def fliplr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy with the elements in reverse order along dimension 1, which exchanges left and right."""
def flipud(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy with the elements in reverse order along dimension 0, which exchanges top and bottom."""
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute `input` to the power `exponent` in float64, whatever types they have."""
def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Round down to an integer; integers are unchanged."""
def floor_(input: Tensor) -> Tensor:
    """In-place version of `floor`: stores the result in this tensor, cast to its dtype, and returns it."""
def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute `input / other` rounded down; an integer divided by 0 gives 0 on every device."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of two values; if one of them is NaN, return the other."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of two values; if one of them is NaN, return the other."""
def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input - other * trunc(input / other), the remainder with the sign of `input`."""
def frac(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the fractional part, x - trunc(x), which has the sign of x."""
def frac_(input: Tensor) -> Tensor:
    """In-place version of `frac`: stores the result in this tensor, cast to its dtype, and returns it."""
def frexp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return (mantissa, exponent), where input = mantissa * 2^exponent and |mantissa| is in [0.5, 1), or 0 for 0."""
def frobenius_norm(input: Tensor, dim: Sizes | None, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the square root of the sum of squares over one or two dimensions."""
def from_dlpack(ext_tensor: Any, *, device: Device = ..., copy: _bool | None = ...) -> Tensor:
    """Return a tensor over the memory of any object with `__dlpack__`, or of a DLPack capsule."""
def from_file(filename: str, shared: _bool | None = ..., size: _int = ..., *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a CPU tensor over the bytes of a file, which is mapped into memory."""
def from_numpy(ndarray: NDArray[Any]) -> Tensor:
    """Return a CPU tensor that shares the memory of a NumPy array, strides included."""
def frombuffer(buffer: Any, *, dtype: _dtype, count: _int = ..., offset: _int = ..., requires_grad: _bool = ...) -> Tensor:
    """Return a CPU tensor that shares the memory of an object with Python's buffer interface, such as a bytearray."""
def full(size: Sizes, fill_value: Number, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor whose elements are all `fill_value`, a number or a tensor of one element."""
def full_like(input: Tensor, fill_value: Number, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor filled with `fill_value`, with the shape of `input`."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Read the input at the positions `index` along `dim`: for dim 0 of a matrix, result[i][j] = input[index[i][j]][j]."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the greatest common divisor, which is not negative; that of 0 and 0 is 0."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of `gcd`: stores the result in this tensor, cast to its dtype, and returns it."""
def ge(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input >= other, as bool."""
def geqrf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return (a, tau): a QR decomposition in the form of Householder reflections."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the outer product of the vectors `input` and `vec2`."""
def get_default_dtype() -> _dtype:
    """Return the default floating point type: that of tensors made without dtype=, such as by `zeros` or from floats."""
def get_device(input: Tensor) -> _int:
    """Return the index of a tensor's CUDA device, -1 on the CPU."""
def get_rng_state(device: Device = ...) -> Tensor:
    """Return the state of a device's default random number generator, as a uint8 tensor on the CPU."""
def gradient(input: Tensor, *, spacing: Any = ..., dim: Sizes | None = ..., edge_order: _int = ..., out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Estimate the partial derivatives by central differences: one tensor for each dimension in `dim`, all by default."""
def greater(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input > other, as bool."""
def greater_equal(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input >= other, as bool."""
def grid_sampler(input: Tensor, grid: Any, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """Sample images or volumes at the points of a grid: `nn.functional.grid_sample` with numbers for its modes."""
def grid_sampler_2d(input: Tensor, grid: Any, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """Sample images at the positions of a grid: `torch.grid_sampler` of images, with the same arguments."""
def grid_sampler_3d(input: Tensor, grid: Any, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """Sample volumes at the positions of a grid: `torch.grid_sampler` of volumes, with the same arguments."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enabled: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Normalize groups of channels to mean 0 and variance 1, then multiply by weight and add bias."""
def gt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input > other, as bool."""
def hamming_window(window_length: _int, periodic: _bool = ..., alpha: _float = ..., beta: _float = ..., *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Return the Hamming window alpha - beta * cos(2 pi n / N), for n = 0 to window_length - 1."""
def hann_window(window_length: _int, periodic: _bool = ..., *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Return the Hann window sin(pi n / N) ** 2, for n = 0 to window_length - 1."""
def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Replace the elements in [-lambd, lambd] by 0; the others are unchanged."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 0 where `input` is negative or NaN, `values` where it is 0, else 1."""
def hinge_embedding_loss(input: Tensor, target: Any, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """Compute the input where the target is 1, and max(0, margin - input) where the target is -1."""
def histc(input: Tensor, bins: _int = ..., min: _float = ..., max: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the number of elements in each of `bins` bins of equal width from min to max; others are ignored."""
def histogram(input: Tensor, bins: Any = ..., *, range: Any = ..., weight: Tensor | None = ..., density: _bool = ..., out: Tensor | None = ...) -> Any:
    """Return (hist, bin_edges): the number of elements in each bin, or with `weight` the sums of their weights."""
def histogramdd(input: Tensor, bins: Any, range: Any = ..., weight: Tensor | None = ..., density: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return (hist, bin_edges): the number of points in each box of a grid, or the sums of their weights."""
def hsplit(input: Tensor, indices_or_sections: Any, *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Split a tensor along dimension 1, or a tensor of one dimension along dimension 0, and return a tuple of views."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 1, or vectors along dimension 0."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the square root of `input * input + other * other`, without overflow of the squares."""
def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the modified Bessel function of the first kind of order 0."""
def i0_(input: Tensor) -> Tensor:
    """In-place version of `i0`: stores the result in this tensor, cast to its dtype, and returns it."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the regularized lower incomplete gamma function P(a, x), where `input` is a and `other` is x."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the regularized upper incomplete gamma function, 1 - igamma(input, other), accurate where it is near 0."""
def imag(input: Tensor) -> Tensor:
    """Raise DtypeError: only complex tensors have imaginary parts, and complex tensors are not supported."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, alpha: _float = ..., wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with alpha * source added at the given indexes of a dimension."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, wrap: _bool = ..., unique: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `source` written at the given indexes of a dimension."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with one value at the given indexes of a dimension."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `values` written or added to the elements that index tensors select."""
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
    """Write `values` in place to the elements that the index tensors `indices` select, and return the tensor."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with slices of `source` combined by `reduce` at the given indexes of `dim`."""
def index_select(input: Tensor, dim: _int, index: Tensor, wrap: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the slices at the given indexes of a dimension, in the order of the indexes."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the sum of products over the last dimension of both inputs; their product if one has no dimensions."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Any, running_var: Any, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = ...) -> Tensor:
    """Normalize each channel of each instance to mean 0 and variance 1, then multiply by weight and add bias."""
def inverse(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inverse of square matrices."""
def is_complex(input: Tensor) -> _bool:
    """Return False, as no tensor is complex."""
def is_conj(input: Tensor) -> _bool:
    """Return False: tensors are real, so no tensor is a view that still has to be conjugated."""
def is_distributed(input: Tensor) -> _bool:
    """Return False: a tensor lies on one device."""
def is_floating_point(input: Tensor) -> _bool:
    """Return whether a tensor's type is a floating point type."""
def is_inference(input: Tensor) -> _bool:
    """Return whether a tensor was made in inference mode, so that autograd cannot save it for backward."""
def is_neg(input: Tensor) -> _bool:
    """Return False: negation is always computed at once, so no tensor is a view that still has to be negated."""
def is_nonzero(input: Tensor) -> _bool:
    """Return whether the value of a tensor of one element is not 0."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Return whether two tensors have the same shape."""
def is_signed(input: Tensor) -> _bool:
    """Return whether a tensor's type can hold negative numbers."""
def is_storage(obj: Any) -> _bool:
    """Return whether `obj` is a storage, typed or not."""
def is_tensor(obj: Any) -> _bool:
    """Return whether `obj` is a tensor."""
def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
    """Return, per element, whether |input - other| <= atol + rtol * |other|; equal infinities are close."""
def isfinite(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test whether each element is finite: neither infinite nor NaN."""
def isin(elements: Tensor | Number, test_elements: Tensor | Number, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return, for each element, whether it equals one of the test elements."""
def isinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for infinity."""
def isnan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for NaN."""
def isneginf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for negative infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for positive infinity."""
def isreal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test whether each element is real: True everywhere, as there are no complex numbers."""
def kaiser_window(window_length: _int, periodic: _bool = ..., beta: _float = ..., *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """Return the Kaiser window I0(beta * sqrt(1 - (2 n / N - 1) ** 2)) / I0(beta), for n = 0 to window_length - 1."""
def kl_div(input: Tensor, target: Any, reduction: _int = ..., *, log_target: _bool = ...) -> Tensor:
    """Compute the Kullback-Leibler divergence target * (log(target) - input); `input` holds log-probabilities."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the Kronecker product: a block matrix whose block [i, j] is input[i, j] * other."""
def kthvalue(input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """Return (values, indices) of the k-th smallest element along a dimension; k counts from 1."""
def layer_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ...) -> Tensor:
    """Normalize the last dimensions to mean 0 and variance 1, then multiply by weight and add bias."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the least common multiple, which is not negative; 0 where an operand is 0."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of `lcm`: stores the result in this tensor, cast to its dtype, and returns it."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute `input * 2 ** other`; integers give the default floating point type."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of `ldexp`: stores the result in this tensor, cast to its dtype, and returns it."""
def le(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input <= other, as bool."""
def lerp(start: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute the linear interpolation start + weight * (end - start)."""
def less(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input < other, as bool."""
def less_equal(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input <= other, as bool."""
def lgamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm of the absolute value of the gamma function."""
def linspace(start: _float, end: _float, steps: _int, *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return `steps` evenly spaced numbers from start to end, both included."""
def lobpcg(A: Tensor, k: _int | None = ..., B: Tensor | None = ..., X: Tensor | None = ..., n: _int | None = ..., iK: Tensor | None = ..., niter: _int | None = ..., tol: _float | None = ..., largest: _bool | None = ..., method: str | None = ..., tracker: Any = ..., ortho_iparams: Any = ..., ortho_fparams: Any = ..., ortho_bparams: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return (E, X): the k largest eigenvalues of A @ x = e * B @ x, and their eigenvectors as columns."""
def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the natural logarithm."""
def log10(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """In-place version of `log10`: stores the result in this tensor, cast to its dtype, and returns it."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute log(1 + x), accurate near 0."""
def log1p_(input: Tensor) -> Tensor:
    """In-place version of `log1p`: stores the result in this tensor, cast to its dtype, and returns it."""
def log2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """In-place version of `log2`: stores the result in this tensor, cast to its dtype, and returns it."""
def log_(input: Tensor) -> Tensor:
    """In-place version of `log`: stores the result in this tensor, cast to its dtype, and returns it."""
def log_softmax(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm of `softmax` along `dim`, accurate where softmax underflows."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute log(exp(input) + exp(other)), without overflow."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute log2(2^input + 2^other), without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm of the cumulative sum of exponentials along `dim`, without overflow."""
def logdet(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm of the determinant of square matrices: NaN for a negative determinant, -infinity for 0."""
def logical_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logical AND: True where both values are nonzero; NaN counts as nonzero."""
def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logical NOT: True where the value is 0; NaN counts as nonzero."""
def logical_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logical OR: True where either value is nonzero; NaN counts as nonzero."""
def logical_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logical exclusive OR: True where exactly one value is nonzero; NaN counts as nonzero."""
def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute log(x / (1 - x))."""
def logit_(input: Tensor, eps: _float | None = ...) -> Tensor:
    """In-place version of `logit`: stores the result in this tensor, cast to its dtype, and returns it."""
def logspace(start: _float, end: _float, steps: _int, base: _float = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return powers of `base`, by default 10, whose exponents are evenly spaced from start to end, both included."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int] | None, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm of the sum of exponentials over some dimensions, without overflow."""
def lstsq(*args: Any, **kwargs: Any) -> Tensor:
    """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
def lt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input < other, as bool."""
def lu(A: Tensor, pivot: _bool = ..., get_infos: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return (LU, pivots) of an LU decomposition, or with get_infos (LU, pivots, infos), as `linalg.lu_factor_ex` does."""
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the solution X of A @ X = b from the LU factorization of A: `linalg.lu_solve` with b first."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the matrices (P, L, U), with A = P @ L @ U, from the results of `linalg.lu_factor` of A."""
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """Compute max(0, -target * (input1 - input2) + margin)."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `value` where the mask is true."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with the elements of `source`, in row-major order, where the mask is true."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Select the elements where the mask is true, in row-major order."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the matrix product over the last two dimensions."""
def matrix_exp(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the matrix exponential of square matrices."""
def matrix_power(A: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th power of square matrices; a negative n gives a power of the inverse."""
def matrix_rank(*args: Any, **kwargs: Any) -> Tensor:
    """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
@overload
def max(input: Tensor) -> Tensor:
    """Return the largest element of a tensor or, with `dim`, (values, indices) of the largest along a dimension."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Return the largest element of a tensor or, with `dim`, (values, indices) of the largest along a dimension."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the largest element of a tensor or, with `dim`, (values, indices) of the largest along a dimension."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the largest element of each window of sequences."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return (maxima, indices): the result of `max_pool1d`, and the index of each maximum in its sequence."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the largest element of each window of images."""
def max_pool3d(input: Tensor, kernel_size: Any, stride: Sequence[_int] = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the largest element of each window of volumes."""
def maximum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Return the larger of two values; NaN if either is NaN."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the mean over some dimensions, or all of them; NaN where there are no elements."""
@overload
def median(input: Tensor) -> Tensor:
    """Return the median, or the lower of the two middle elements; NaN if any element is NaN."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Return the median, or the lower of the two middle elements; NaN if any element is NaN."""
def meshgrid(*tensors: Tensor, indexing: str | None = ...) -> tuple[Tensor, ...]:
    """Return a view of each vector, expanded to a grid that has one dimension for each vector."""
@overload
def min(input: Tensor) -> Tensor:
    """Return the smallest element of a tensor or, with `dim`, (values, indices) of the smallest along a dimension."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Return the smallest element of a tensor or, with `dim`, (values, indices) of the smallest along a dimension."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the smallest element of a tensor or, with `dim`, (values, indices) of the smallest along a dimension."""
def minimum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Return the smaller of two values; NaN if either is NaN."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the product of two matrices, input @ mat2."""
def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """Return (values, indices) of the most frequent element along `dim`, the last dimension by default."""
def moveaxis(input: Tensor, source: Sizes, destination: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """Return a view with dimension(s) `source` moved to `destination`; the others keep their order."""
def movedim(input: Tensor, source: Sizes, destination: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """Return a view with dimension(s) `source` moved to `destination`; the others keep their order."""
def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy with the elements sorted in ascending order along dimension 0."""
def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute `input * other`, where `other` is a tensor or a number."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return indexes of categories, drawn with probabilities in proportion to the weights in each row of the input."""
def multiply(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute `input * other`, where `other` is a tensor or a number."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the product of a matrix and a vector, input @ vec."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logarithm of the multivariate gamma function with dimension p."""
def nan_to_num(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Replace NaN by `nan`, infinities by `posinf` and `neginf`; integers are unchanged."""
def nan_to_num_(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
    """In-place version of `nan_to_num`: stores the result in this tensor, cast to its dtype, and returns it."""
def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: Dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Compute the mean over some dimensions, or all of them, of the elements that are not NaN; NaN if there is none."""
@overload
def nanmedian(input: Tensor) -> Tensor:
    """Compute `median` of the elements that are not NaN; the result is NaN if all are NaN."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = ...) -> ValuesAndIndices:
    """Compute `median` of the elements that are not NaN; the result is NaN if all are NaN."""
def nanquantile(input: Tensor, q: Tensor | Number, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
    """Return the q-quantiles of the elements that are not NaN, along a dimension or of all; NaN if all are NaN."""
def nansum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: Dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Compute the sum over some dimensions, or all of them, with NaN counted as 0."""
def narrow(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a view of the indexes start to start + length - 1 of dimension `dim`."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `narrow` returns."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Interleave the channels of several groups: another name of `torch.channel_shuffle`."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> tuple[Any, Any, Any]:
    """Return (the result of `group_norm`, the mean of each group of channels, 1 / its standard deviation)."""
def native_layer_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None, bias: Tensor | None, eps: _float) -> tuple[Any, Any, Any]:
    """Return (the result of `layer_norm`, the mean over the last dimensions, 1 / the standard deviation over them)."""
def ne(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input != other, as bool; True for NaN."""
def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the negative of each element, -x."""
def neg_(input: Tensor) -> Tensor:
    """In-place version of `neg`: stores the result in this tensor, cast to its dtype, and returns it."""
def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the negative of each element, -x."""
def negative_(input: Tensor) -> Tensor:
    """In-place version of `neg`: stores the result in this tensor, cast to its dtype, and returns it."""
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the next representable number after `input` towards `other`; the gradient passes to `input` unchanged."""
@overload
def nonzero(input: Tensor, as_tuple: Literal[False] = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the indexes of all nonzero elements, in row-major order."""
@overload
def nonzero(input: Tensor, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """Return the indexes of all nonzero elements, in row-major order."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Return the indexes of the first `size` nonzero elements, in row-major order."""
def norm(input: Tensor, p: _float | str | None = ..., dim: Sizes | None = ..., keepdim: _bool = ..., out: Tensor | None = ..., dtype: Dtype | None = ...) -> Tensor:
    """Return the p-norm over the dimensions `dim`, or over all of them if dim is None."""
def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the norm over all dimensions except `dim`; the reduced dimensions are kept with size 1."""
def normal(mean: Any = ..., std: Any = ..., size: Sizes | None = ..., *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return normally distributed random numbers; mean and std are tensors, with one value per result, or numbers."""
def not_equal(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input != other, as bool; True for NaN."""
def nuclear_norm(input: Tensor, dim: Sizes | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the sum of the singular values of matrices."""
def numel(input: Tensor) -> _int:
    """Return the number of elements of a tensor."""
def ones(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor of ones."""
def ones_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor of ones with the shape, type and device of `input`, unless others are named."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return Q of a QR decomposition from the reflections of `torch.geqrf`: an alias of `linalg.householder_product`."""
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute Q @ input3, where Q is the square product of the reflections that `torch.geqrf` returns."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the outer product of the vectors `input` and `vec2`."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the p-norm of x1 - x2 + eps over the last dimension."""
def pca_lowrank(A: Any, q: _int | None = ..., center: _bool = ..., niter: _int = ...) -> Tensor:
    """Return (U, S, V): the principal components of the rows of A, by `svd_lowrank`; each column of V is a direction."""
def pdist(input: Tensor, p: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the p-norm distance between each row and every later row."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Return a view with the dimensions in another order."""
def permute_copy(input: Tensor, dims: Sizes | None, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `permute` returns."""
def pinverse(input: Tensor, rcond: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the pseudoinverse of matrices, as `linalg.pinv` does."""
def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = ...) -> Tensor:
    """Turn groups of r * r channels into squares of r by r pixels, for an upscale factor r."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = ...) -> Tensor:
    """Reverse `pixel_shuffle`: turn squares of r by r pixels into r * r channels, for a downscale factor r."""
def poisson(input: Tensor, generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Draw a number from the Poisson distribution for each element of `input`, which is its rate; the gradient is 0."""
def poisson_nll_loss(input: Tensor, target: Any, log_input: _bool, full: _bool, eps: _float, reduction: _int) -> Tensor:
    """Compute the negative log likelihood of targets under Poisson distributions."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the n-th derivative of `digamma` at each element."""
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself, `+input`.  Raises DtypeError for bool."""
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute `input` to the power `exponent`, element by element."""
def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return each element x where it is positive, else x * weight, with one weight for all or for each channel."""
def prod(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the product over some dimensions, or all of them."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `source` written at the given indexes of its flattened elements."""
def qr(input: Tensor, some: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return (Q, R), the QR decomposition input = Q @ R: the former name of `linalg.qr`."""
def quantile(input: Tensor, q: Tensor | Number, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
    """Return the q-quantiles along a dimension, or of all elements; NaN if an element is NaN."""
def rad2deg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Convert each angle from radians to degrees; integers give the default floating point type."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place version of `rad2deg`: stores the result in this tensor, cast to its dtype, and returns it."""
def rand(*sizes: _int | Sequence[_int], size: Sizes | None = ..., generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return random numbers that are uniform in [0, 1)."""
def rand_like(input: Tensor, *, memory_format: _memory_format | None = ..., generator: Generator | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return uniform random numbers in [0, 1) with the shape, type and device of `input`, unless others are named."""
@overload
def randint(high: _int, size: Sequence[_int], *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return random integers in [low, high), int64 by default: randint(low, high, size), or randint(high, size) from 0."""
@overload
def randint(low: _int, high: _int, size: Sequence[_int], *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return random integers in [low, high), int64 by default: randint(low, high, size), or randint(high, size) from 0."""
def randint_like(input: Tensor, *bounds: _int, low: _int | None = ..., high: _int | None = ..., memory_format: _memory_format | None = ..., generator: Generator | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return random integers in [low, high) with the shape, type and device of `input`, unless others are named."""
def randn(*sizes: _int | Sequence[_int], size: Sizes | None = ..., generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return random numbers of the standard normal distribution."""
def randn_like(input: Tensor, *, memory_format: _memory_format | None = ..., generator: Generator | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return standard normal random numbers with the shape, type and device of `input`, unless others are named."""
def randperm(n: _int, *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the integers from 0 to n - 1 in a random order, int64 by default."""
def range(start: Number = ..., end: Number = ..., step: Number = ..., *, out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the numbers from start to end, both included, in steps of `step`.  Deprecated: `arange` excludes the end."""
def ravel(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Flatten to one dimension: a view of a contiguous input, else a copy."""
def real(input: Tensor) -> Tensor:
    """Return the tensor itself, which is real."""
def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the reciprocal of each element, 1 / x; integers give the default floating point type."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of `reciprocal`: stores the result in this tensor, cast to its dtype, and returns it."""
def relu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the rectified linear unit, max(x, 0); NaN is unchanged."""
def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`: stores the result in this tensor, cast to its dtype, and returns it."""
def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input - other * floor(input / other): the remainder, with the sign of the divisor `other`."""
def renorm(input: Tensor, p: _float | str | None, dim: _int, maxnorm: _float, *, out: Tensor | None = ...) -> Tensor:
    """Return the input with each slice along `dim` scaled down, if necessary, so that its p-norm is at most maxnorm."""
def repeat_interleave(input: Tensor, repeats: _int | Tensor | None = ..., dim: _int | None = ..., *, output_size: _int | None = ..., out: Tensor | None = ...) -> Tensor:
    """Repeat each element, or each index of a dimension, several times in a row."""
def reshape(input: Tensor, shape: Sizes, *, out: Tensor | None = ...) -> Tensor:
    """Return a view with another shape where the strides allow it, else a copy."""
def resize_as_(input: Tensor, the_template: Any, *, memory_format: _memory_format | None = ...) -> Tensor:
    """Resize a tensor in place to the shape of another one, and return it: `Tensor.resize_as_` as a function."""
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself: tensors are real, so there is no conjugation to resolve."""
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself: negation is always computed at once, so there is nothing to resolve."""
def result_type(tensor: Any = ..., other: Any = ..., *, scalar: Any = ..., scalar1: Any = ..., scalar2: Any = ...) -> _dtype:
    """Return the type of the result of arithmetic on two tensors or numbers."""
def rms_norm(input: Tensor, normalized_shape: Sizes, weight: Tensor | None = ..., eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute input / sqrt(mean of squares + eps) * weight, over the last dimensions."""
def roll(input: Tensor, shifts: Sizes, dims: Sizes | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy shifted along dimensions; elements shifted out at one end enter at the other."""
def rot90(input: Tensor, k: _int = ..., dims: Sizes | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy turned k times by 90 degrees in the plane of the dimensions `dims`, from the first to the second."""
def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Round to the nearest integer, halves to the even one; integers are unchanged."""
def round_(input: Tensor, *, decimals: _int = ...) -> Tensor:
    """In-place version of `round`: stores the result in this tensor, cast to its dtype, and returns it."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 0, with vectors as rows: an alias of `vstack`."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Keep positive values, and multiply the others by a slope."""
def rrelu_(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """Keep positive values, and multiply the others by a slope, in place; return the input."""
def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the reciprocal of the square root, 1 / sqrt(x); integers give the default floating point type."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of `rsqrt`: stores the result in this tensor, cast to its dtype, and returns it."""
def rsub(input: Tensor, other: Tensor | Number, alpha: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute `other - alpha * input`."""
def scalar_tensor(s: Any, *, dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor without dimensions that holds a number, in the default dtype unless another is given."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `src` written along `dim`: for dim 0, copy[index[i][j]][j] = src[i][j]."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `src` added along `dim`: for dim 0, copy[index[i][j]][j] += src[i][j]."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input with `src` reduced along `dim`: for dim 0, src[i][j] into copy[index[i][j]][j]."""
def searchsorted(sorted_sequence: Tensor, input: Tensor | Number, *, out_int32: _bool = ..., right: _bool = ..., side: Any = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return, for each value of `input`, the first index at which inserting the value keeps `sorted_sequence` sorted."""
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: _float | None = ..., out: Tensor | None = ...) -> Tensor:
    """Split a dimension into consecutive segments, and reduce each to its "sum", "mean", "prod", "max" or "min"."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """Return a view of the input at one index of a dimension, without that dimension."""
def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `select` returns."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input in which `src` replaces the elements at one index of a dimension."""
def selu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute 1.0507 x where x is positive, else 1.7581 * (exp(x) - 1): the activation of self-normalizing networks."""
def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`: stores the result in `input`, cast to its dtype, and returns it."""
def set_default_dtype(d: _dtype) -> None:
    """Set the default dtype, which must be a floating point type."""
def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype to that of a legacy class, such as torch.DoubleTensor or "torch.DoubleTensor"."""
def set_printoptions(precision: _int | None = ..., threshold: _float | None = ..., edgeitems: _int | None = ..., linewidth: _int | None = ..., profile: str | None = ..., sci_mode: _bool | None = ...) -> None:
    """Change how tensors print."""
def set_rng_state(new_state: Tensor, device: Device = ...) -> None:
    """Set the state of the CPU's or a CUDA device's generator to one that `get_rng_state` returned."""
def sgn(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the sign of each value: -1, 0 or 1; 0 for NaN."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the logistic sigmoid, 1 / (1 + exp(-x))."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of `sigmoid`: stores the result in this tensor, cast to its dtype, and returns it."""
def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the sign of each value: -1, 0 or 1; 0 for NaN."""
def signbit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Test each element for a set sign bit; -0.0 has one."""
def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the sine of each element, an angle in radians."""
def sin_(input: Tensor) -> Tensor:
    """In-place version of `sin`: stores the result in this tensor, cast to its dtype, and returns it."""
def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute sin(pi x) / (pi x), and 1 at 0; integers give the default floating point type."""
def sinc_(input: Tensor) -> Tensor:
    """In-place version of `sinc`: stores the result in this tensor, cast to its dtype, and returns it."""
def sinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """In-place version of `sinh`: stores the result in this tensor, cast to its dtype, and returns it."""
def slice_copy(input: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of every `step`-th index of a dimension from start up to end, excluded."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a copy of the input in which `src` replaces the slice start:end:step of a dimension."""
def slogdet(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return (sign, logabsdet) of the determinant of square matrices: its sign and the log of its absolute value."""
def softmax(input: Tensor, dim: _int, dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute exp(input) divided by its sum along `dim`."""
def solve(*args: Any, **kwargs: Any) -> Tensor:
    """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """Return (values, indices): the elements sorted along a dimension, and their indices in the input."""
def split(input: Tensor, split_size_or_sections: Sizes, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return a tuple of views of consecutive pieces of a dimension."""
def split_copy(input: Tensor, split_size_or_sections: Sizes, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return contiguous copies of the views that `split` returns."""
def split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return a tuple of views of consecutive pieces of a dimension, of the listed sizes."""
def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return contiguous copies of the views that `split_with_sizes` returns."""
def spmm(input: Tensor, mat2: Any, *, out: Tensor | None = ...) -> Tensor:
    """Multiply two matrices, as `mm` does; PyTorch's also takes sparse matrices, which flambeau does not have."""
def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the square root; integers give the default floating point type."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place version of `sqrt`: stores the result in this tensor, cast to its dtype, and returns it."""
def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the square of each element, x * x; bool gives int64."""
def square_(input: Tensor) -> Tensor:
    """In-place version of `square`: stores the result in this tensor, cast to its dtype, and returns it."""
def squeeze(input: Tensor, dim: Sizes | None = ...) -> Tensor:
    """Return a view without dimensions of size 1: all of them, or those in `dim`, an int or a tuple of ints."""
def squeeze_copy(input: Tensor, dim: Sizes | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `squeeze` returns."""
def stack(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Join tensors of one shape along a new dimension."""
def std(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the standard deviation over some dimensions, or all of them: the square root of `var`."""
def std_mean(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """Return (standard deviation, mean) over some dimensions, or all of them: the results of `std` and `mean`."""
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input - alpha * other`, where `other` is a tensor or a number."""
def subtract(input: Tensor | Number, other: Tensor | Number, *, alpha: _float = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input - alpha * other`, where `other` is a tensor or a number."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the sum over some dimensions, or all of them."""
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return (U, S, V), the singular value decomposition input = U @ diag(S) @ V^T; `linalg.svd` returns V^T instead."""
def svd_lowrank(A: Any, q: _int | None = ..., niter: _int | None = ..., M: Any = ...) -> Tensor:
    """Return (U, S, V) of A - M for its q largest singular values, approximated by random projections."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a view with two dimensions swapped: an alias of `transpose`."""
def swapdims(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a view with two dimensions swapped: an alias of `transpose`."""
def symeig(*args: Any, **kwargs: Any) -> Tensor:
    """Raise NotSupportedError (a RuntimeError): PyTorch has removed this function."""
def t(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a transposed view of a matrix; a plain view of a tensor with fewer dimensions."""
def t_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `t` returns."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the elements of the flattened input at the given indexes; negative ones count from the end."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the elements of the input at `indices` along `dim`; without dim, both are flattened."""
def tan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the tangent of each element, an angle in radians."""
def tan_(input: Tensor) -> Tensor:
    """In-place version of `tan`: stores the result in this tensor, cast to its dtype, and returns it."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """In-place version of `tanh`: stores the result in this tensor, cast to its dtype, and returns it."""
def tensor(data: Any, *, dtype: Dtype | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor."""
def tensor_split(input: Tensor, indices_or_sections: Any, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return views of consecutive pieces of a dimension: nearly equal ones, or those between the given positions."""
def tensordot(a: Any, b: Any, dims: Sizes | None = ..., out: Tensor | None = ...) -> Tensor:
    """Sum products of two tensors over some of their dimensions."""
def threshold(input: Tensor, threshold: _float, value: _float, *, out: Tensor | None = ...) -> Tensor:
    """Return x where it exceeds the threshold, else `value`; NaN is unchanged."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """In-place version of `threshold`: stores the result in `input`, cast to its dtype, and returns it."""
def tile(input: Tensor, dims: Sizes | None, *, out: Tensor | None = ...) -> Tensor:
    """Repeat the input dims[i] times along dimension i; missing leading counts are 1."""
def to_dlpack(tensor: Any) -> Tensor:
    """Return a DLPack capsule, through which other libraries use a tensor's memory."""
def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> ValuesAndIndices:
    """Return (values, indices) of the k greatest elements along a dimension, in descending order."""
def trace(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the sum of the diagonal of a matrix; integers give int64."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Return a view with two dimensions swapped."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `transpose` returns."""
def trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Compute the integral of y along `dim` by the trapezoidal rule."""
def trapz(y: Tensor, x: Tensor | None = ..., *, dx: Any = ..., dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Compute the integral of y along `dim` by the trapezoidal rule: an alias of `trapezoid`."""
def triangular_solve(b: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return (X, A), where X solves A @ X = b for the input b: the former name of `linalg.solve_triangular`."""
def tril(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the lower triangle of matrices: elements above diagonal number `diagonal` are 0."""
def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype = ..., device: Device = ..., layout: _layout | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the indices of the elements on and below a diagonal of a matrix with `row` rows and `col` columns."""
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., reduction: _int = ...) -> Tensor:
    """Compute max(0, margin + distance(anchor, positive) - distance(anchor, negative)), with p-norm distances."""
def triu(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the upper triangle of matrices: elements below diagonal number `diagonal` are 0."""
def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype = ..., device: Device = ..., layout: _layout | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return the indices of the elements on and above a diagonal of a matrix with `row` rows and `col` columns."""
def true_divide(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Compute `input / other`, where `other` is a tensor or a number; integers give the default floating point type."""
def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Round toward 0 to an integer; integers are unchanged."""
def trunc_(input: Tensor) -> Tensor:
    """In-place version of `trunc`: stores the result in this tensor, cast to its dtype, and returns it."""
def typename(obj: Any) -> str:
    """Return the name of a tensor's legacy type, or of another object's class, with its module."""
def unbind(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return a tuple of views, one for each index of a dimension."""
def unbind_copy(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Return contiguous copies of the views that `unbind` returns."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """Return a view with dimension `dim` split into several of the given sizes, one of which may be -1."""
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `unfold` returns."""
def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ..., *, out: Tensor | None = ...) -> Any:
    """Return the distinct elements in ascending order, or with dim the distinct slices; NaNs are all distinct."""
def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ..., *, out: Tensor | None = ...) -> Any:
    """Return one element for each run of equal elements, or with dim one slice for each run of equal slices."""
def unravel_index(indices: Tensor, shape: Sizes, *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Convert flat indexes of elements, in row-major order, to one tensor of indexes for each dimension of `shape`."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Split a dimension as `chunk` does, into pieces that autograd allows to be written in place."""
def unsafe_split(input: Tensor, split_size: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Split a dimension as `split` does, into pieces that autograd allows to be written in place."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Split a dimension as `split_with_sizes` does, into pieces that autograd allows to be written in place."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Return a view with a dimension of size 1 inserted at `dim`."""
def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy of the view that `unsqueeze` returns."""
def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the Vandermonde matrix of a vector: columns of powers from N - 1 down to 0, or up with increasing=True."""
def var(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., correction: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Compute the variance over some dimensions, or all of them."""
def var_mean(input: Tensor, dim: Sizes | None = ..., unbiased: _bool = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """Return (variance, mean) over some dimensions, or all of them: the results of `var` and `mean`."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Compute the inner product of two vectors: the same as `dot`, as there are no complex numbers."""
def view_copy(input: Tensor, size: Sizes | None = ..., *, dtype: Dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Return a contiguous copy in another shape, or with its bytes read as another type."""
def vsplit(input: Tensor, indices_or_sections: Any, *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Split a tensor of at least 2 dimensions along dimension 0, and return a tuple of views."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Concatenate tensors along dimension 0, with vectors as rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """Return `input` where the condition is true, else `other`."""
@overload
def where(condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Return `input` where the condition is true, else `other`."""
def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = ...) -> Tensor:
    """Compute input * log(other), and 0 where `input` is 0 and `other` is not NaN."""
def xlogy_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `xlogy`: stores the result in this tensor, cast to its dtype, and returns it."""
def zero_(input: Tensor) -> Tensor:
    """Set every element of a tensor to 0, and return it: `Tensor.zero_` as a function."""
def zeros(*sizes: _int | Sequence[_int], size: Sizes | None = ..., out: Tensor | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor of zeros."""
def zeros_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: Dtype | None = ..., layout: _layout | None = ..., device: Device = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """Return a tensor of zeros with the shape, type and device of `input`, unless others are named."""

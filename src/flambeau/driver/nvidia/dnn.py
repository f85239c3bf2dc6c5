"""Attention and convolutions by cuDNN, through ctypes and the backend interface of its graph library.

- A plan is chosen and compiled by cuDNN once per problem and device (0.2 to 0.8 s), and kept on disk as serialized by
  cuDNN, with its machine code.
- A cuDNN handle has one current stream.  Each device has one handle; a run holds the device's lock while it queues.
- The addresses of a run are passed in a cuDNN descriptor, a variant pack, which lives as long as the call.
- Releases before OLDEST compute wrong gradients for some numbers of keys and are not used.
- The device's context is current whenever a function here is called.
- A descriptor is created and finalized in one call, and never changed.  Tensors have four dimensions.  Virtual tensors
  are values between two operations; each run supplies the addresses of all others.
- cuDNN matches the attention graphs as a whole and runs fused kernels, without a score matrix in memory.  It matches
  only this decomposition and order.  Keys, and values for the gradients, are transposed.
- The backward pass of attention accumulates the gradient of the query in float32, and needs one float32 sum per query.
  Both lie in the workspace.
"""

from __future__ import annotations

import ctypes
import struct
import warnings
from collections.abc import Sequence
from contextlib import suppress
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from math import inf
from typing import Any, NamedTuple

from ...core.native import Lock
from ...core.nvidia import Stream
from ...dtypes import bfloat16, bool_, dtype, float16, float32, float64, int32
from ...errors import NotSupportedError
from ...library_operation import OF_INPUT, OF_OUTPUT, OF_WEIGHT, Attention, AttentionBackward, Convolution
from . import library
from .cache import files_of
from .library import check_dnn, declare, open_first, packaged
from .prebuilt_cubins import cache_key

# cudnn_graph.h: cudnnDataType_t
DATA_TYPES: dict[dtype, int] = {float32: 0, float64: 1, float16: 2, int32: 4, bfloat16: 9, bool_: 11}
# cudnn_graph.h: cudnnBackendAttributeType_t
HANDLE, DATA_TYPE, BOOLEAN, INT64, FLOAT, DOUBLE, ADDRESS, CONVOLUTION_MODE, HEURISTIC = 0, 1, 2, 3, 4, 5, 6, 7, 8
NUMERICAL_NOTE, MODE, DESCRIPTOR, REDUCTION, CHAR = 11, 14, 15, 18, 24
# cudnn_graph.h: cudnnBackendDescriptorType_t
POINTWISE_DESC, CONVOLUTION_DESC, ENGINE, ENGINE_CONFIG, ENGINE_HEURISTIC, PLAN = 0, 1, 2, 3, 4, 5
CONVOLUTION, CONVOLUTION_WEIGHT, CONVOLUTION_INPUT, POINTWISE, GRAPH, PACK, TENSOR = 10, 11, 12, 13, 15, 16, 17
MATMUL_DESC, MATMUL, REDUCE_DESC, REDUCE, RESHAPE = 18, 19, 21, 22, 31
# cudnn_graph.h: cudnnPointwiseMode_t, cudnnReduceTensorOp_t
ADD, MUL, DIV, SUB, EXP, LOG, IDENTITY, GREATER_EQUAL, INDEX, SELECT = 0, 1, 6, 9, 13, 15, 21, 303, 501, 601
SUM, MAX = 0, 3
# cudnn_ops.h: cudnnConvolutionMode_t
CROSS_CORRELATION = 1
# cudnn_graph.h: cudnnBackendNumericalNote_t
TENSOR_CORE, DOWN_CONVERT_INPUTS, NONDETERMINISTIC = 0, 1, 4
# cudnn_graph.h: cudnnBackendAttributeName_t
TENSOR_ALIGNMENT, TENSOR_TYPE, TENSOR_SIZES, TENSOR_STRIDES, TENSOR_UID, TENSOR_VIRTUAL, TENSOR_BY_VALUE = (
    900, 901, 902, 903, 906, 907, 908,
)  # fmt: skip
POINTWISE_MODE, POINTWISE_PRECISION, POINTWISE_AXIS = 0, 1, 9
POINTWISE_OF, POINTWISE_X, POINTWISE_B, POINTWISE_Y, POINTWISE_T = 750, 751, 752, 753, 758
MATMUL_PRECISION, MATMUL_A, MATMUL_B, MATMUL_C, MATMUL_OF = 1500, 1520, 1521, 1522, 1523
REDUCE_OPERATOR, REDUCE_PRECISION, REDUCE_X, REDUCE_Y, REDUCE_OF = 1600, 1601, 1610, 1611, 1612
RESHAPE_X, RESHAPE_Y = 2200, 2201
CONVOLUTION_TYPE, CONVOLUTION_KIND, CONVOLUTION_DILATIONS, CONVOLUTION_STRIDES = 100, 101, 102, 103
CONVOLUTION_BEHIND, CONVOLUTION_FRONT, CONVOLUTION_DIMS = 104, 105, 106
GRAPH_HANDLE, GRAPH_OPERATIONS = 800, 801


class Convolving(NamedTuple):
    """cuDNN's constants for one operation of a convolution: the type of its descriptor, and its attributes."""

    kind: int
    alpha: int
    beta: int
    of: int
    x: int
    w: int
    y: int


CONVOLVING = {
    OF_OUTPUT: Convolving(CONVOLUTION, 700, 701, 702, x=704, w=703, y=705),
    OF_INPUT: Convolving(CONVOLUTION_INPUT, 706, 707, 708, x=710, w=709, y=711),
    OF_WEIGHT: Convolving(CONVOLUTION_WEIGHT, 712, 713, 714, x=716, w=715, y=717),
}

MESSAGE_BYTES = 1024
ALIGNMENT = 16  # bytes: of every operand's first element

Setting = tuple[int, Any]  # the type of an attribute, and a C array of its elements
Sizes = Sequence[int]


def numbers(*values: int) -> Setting:
    return INT64, (c_int64 * len(values))(*values)


def choice(kind: int, value: int) -> Setting:
    """Return a member of one of cuDNN's enumerations; kind: its attribute type."""
    return kind, (c_int * 1)(value)


def flag(value: bool) -> Setting:
    return BOOLEAN, (c_bool * 1)(value)


def descriptors(*values: int) -> Setting:
    return DESCRIPTOR, (c_void_p * len(values))(*values)


class Backend:
    """The calls on descriptors, of a loaded library."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def make(self, kind: int, attributes: dict[int, Setting]) -> int:
        """Return a finalized descriptor.  Raises NotSupportedError if cuDNN refuses it, else as `check_dnn`."""
        descriptor = self.create(kind)
        for attribute, setting in attributes.items():
            self.set(descriptor, attribute, setting)
        self.call("cudnnBackendFinalize", descriptor)
        return descriptor

    def create(self, kind: int) -> int:
        descriptor = c_void_p()
        self.call("cudnnBackendCreateDescriptor", kind, byref(descriptor))
        return int(descriptor.value or 0)

    def set(self, descriptor: int, attribute: int, setting: Setting) -> None:
        type_code, elements = setting
        self.call("cudnnBackendSetAttribute", descriptor, attribute, type_code, len(elements), elements)

    def get(self, descriptor: int, attribute: int, setting: Setting) -> int:
        """Read an attribute into an array; return the attribute's number of elements."""
        type_code, elements = setting
        count = c_int64()
        self.call("cudnnBackendGetAttribute", descriptor, attribute, type_code, len(elements), byref(count), elements)
        return count.value

    def destroy(self, descriptor: int) -> None:
        self.call("cudnnBackendDestroyDescriptor", descriptor)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            self.fail(status, name)

    def fail(self, status: int, name: str) -> None:
        """Raise the error of a status of the call `name`."""
        message = ctypes.create_string_buffer(MESSAGE_BYTES)
        self.library.cudnnGetLastErrorString(message, len(message))
        check_dnn(status, name, " ".join(message.value.decode(errors="replace").split()))


class Tensor:
    """One tensor of a graph."""

    __slots__ = ("descriptor", "sizes", "type")

    def __init__(self, descriptor: int, sizes: Sizes, type: dtype) -> None:
        self.descriptor = descriptor
        self.sizes = tuple(sizes)
        self.type = type


class Graph:
    """Operations, in the order in which they were added.  Arithmetic is in float32."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._operations: list[int] = []
        self._unnamed = 1000  # the latest uid of a virtual tensor

    def tensor(
        self, uid: int, sizes: Sizes, type: dtype, strides: Sizes | None = None, by_value: bool = False
    ) -> Tensor:
        """Return a tensor whose address each run supplies.  by_value: one number in host memory."""
        return self._tensor(uid, sizes, type, strides, False, by_value)

    def value(self, sizes: Sizes, type: dtype = float32, strides: Sizes | None = None) -> Tensor:
        """Return an intermediate tensor between two operations."""
        self._unnamed += 1
        return self._tensor(self._unnamed, sizes, type, strides, True, False)

    def pointwise(
        self, mode: int, x: Tensor, b: Tensor | None = None, *, where: Tensor | None = None, out: Tensor | None = None,
        type: dtype = float32, precision: dtype = float32, axis: int | None = None,
    ) -> Tensor:  # fmt: skip
        """Add a pointwise operation; return its output.  SELECT returns x where `where` is true, else b."""
        out = out or self.value(x.sizes, type)
        described = {POINTWISE_MODE: choice(MODE, mode), POINTWISE_PRECISION: choice(DATA_TYPE, DATA_TYPES[precision])}
        if axis is not None:
            described[POINTWISE_AXIS] = numbers(axis)
        operands = {POINTWISE_X: x, POINTWISE_B: b, POINTWISE_T: where, POINTWISE_Y: out}
        self._add(POINTWISE, operands, {POINTWISE_OF: self._backend.make(POINTWISE_DESC, described)})
        return out

    def matmul(self, a: Tensor, b: Tensor, out: Tensor) -> Tensor:
        of = self._backend.make(MATMUL_DESC, {MATMUL_PRECISION: choice(DATA_TYPE, DATA_TYPES[float32])})
        self._add(MATMUL, {MATMUL_A: a, MATMUL_B: b, MATMUL_C: out}, {MATMUL_OF: of})
        return out

    def reduce(self, operator: int, x: Tensor, out: Tensor) -> Tensor:
        """Reduce the dimensions that have size 1 in `out`."""
        precision = choice(DATA_TYPE, DATA_TYPES[float32])
        described = {REDUCE_OPERATOR: choice(REDUCTION, operator), REDUCE_PRECISION: precision}
        self._add(REDUCE, {REDUCE_X: x, REDUCE_Y: out}, {REDUCE_OF: self._backend.make(REDUCE_DESC, described)})
        return out

    def reshape(self, x: Tensor, out: Tensor) -> Tensor:
        self._add(RESHAPE, {RESHAPE_X: x, RESHAPE_Y: out}, {})
        return out

    def convolution(self, problem: Convolution, x: Tensor, w: Tensor, y: Tensor) -> None:
        """Compute one of x, w and y from the two others."""
        which, spatial = CONVOLVING[problem.kind], len(problem.stride)
        is_double = problem.dtype is float64
        one, zero = (
            (DOUBLE, (c_double * 1)(value)) if is_double else (FLOAT, (c_float * 1)(value)) for value in (1, 0)
        )
        described = {
            CONVOLUTION_TYPE: choice(DATA_TYPE, DATA_TYPES[float64 if is_double else float32]),
            CONVOLUTION_KIND: choice(CONVOLUTION_MODE, CROSS_CORRELATION),
            CONVOLUTION_DIMS: numbers(spatial),
            CONVOLUTION_DILATIONS: numbers(*problem.dilation),
            CONVOLUTION_STRIDES: numbers(*problem.stride),
            CONVOLUTION_FRONT: numbers(*problem.padding),
            CONVOLUTION_BEHIND: numbers(*padding_behind(problem)),
        }
        attributes = {
            which.of: descriptors(self._backend.make(CONVOLUTION_DESC, described)),
            which.x: descriptors(x.descriptor),
            which.w: descriptors(w.descriptor),
            which.y: descriptors(y.descriptor),
            which.alpha: one,
            which.beta: zero,
        }
        self._operations.append(self._backend.make(which.kind, attributes))

    def finish(self, handle: int | None) -> int:
        """Return the descriptor of the whole graph."""
        attributes = {GRAPH_OPERATIONS: descriptors(*self._operations)}
        if handle is not None:
            attributes[GRAPH_HANDLE] = HANDLE, (c_void_p * 1)(handle)
        return self._backend.make(GRAPH, attributes)

    def _tensor(
        self, uid: int, sizes: Sizes, type: dtype, strides: Sizes | None, is_virtual: bool, by_value: bool
    ) -> Tensor:
        attributes = {
            TENSOR_UID: numbers(uid),
            TENSOR_TYPE: choice(DATA_TYPE, DATA_TYPES[type]),
            TENSOR_SIZES: numbers(*sizes),
            TENSOR_STRIDES: numbers(*(strides or packed(sizes))),
            TENSOR_ALIGNMENT: numbers(ALIGNMENT),
            TENSOR_VIRTUAL: flag(is_virtual),
            TENSOR_BY_VALUE: flag(by_value),
        }
        return Tensor(self._backend.make(TENSOR, attributes), sizes, type)

    def _add(self, operation: int, operands: dict[int, Tensor | None], of: dict[int, int]) -> None:
        attributes = {name: descriptors(descriptor) for name, descriptor in of.items()}
        attributes |= {name: descriptors(tensor.descriptor) for name, tensor in operands.items() if tensor is not None}
        self._operations.append(self._backend.make(operation, attributes))


def packed(sizes: Sizes) -> list[int]:
    """Return row-major strides; never 0, which cuDNN treats as a broadcast."""
    strides = [1] * len(sizes)
    for index in range(len(sizes) - 1, 0, -1):
        strides[index - 1] = strides[index] * max(sizes[index], 1)
    return strides


ONE = (1, 1, 1, 1)
# uids of the tensors
OUT, LOGSUMEXP, QUERY, KEY, VALUE, GRAD, QUERY_GRAD, KEY_GRAD, VALUE_GRAD = range(1, 10)
SCALE, NOTHING, UNIT, ALONG, SUM_OF_QUERY = range(10, 15)
X, W, Y = range(15, 18)


class Program(NamedTuple):
    """An operation graph and the tensors that a run binds.

    operands: the tensors' uids, in the order of the problem's operands.  scalars: values of the tensors that are
    one number.  scratch: bytes that other tensors need.  refused: numerical notes of engines that must not be used.
    """

    graph: Graph
    operands: tuple[int, ...]
    scalars: dict[int, float]
    scratch: dict[int, int]
    refused: frozenset[int] = frozenset()


def attention(backend: Backend, problem: Attention) -> Program:
    """Return the graph of (out, logsumexp, query, key, value)."""
    graph, io_type = Graph(backend), problem.dtype
    rows = (*problem.out_shape[:3], 1)
    query = graph.tensor(QUERY, problem.query_shape, io_type, problem.query_strides)
    key = _transposed(graph, KEY, problem.key_shape, problem.key_strides, problem)
    value = graph.tensor(VALUE, problem.value_shape, io_type, problem.value_strides)
    scale = graph.tensor(SCALE, ONE, float32, by_value=True)
    scores = graph.matmul(query, key, graph.value(_square(problem)))
    scores = graph.pointwise(MUL, scores, scale)
    scores = _causal(graph, scores) if problem.is_causal else scores
    top = graph.reduce(MAX, scores, graph.value(rows))
    powers = graph.pointwise(EXP, graph.pointwise(SUB, scores, top))
    total = graph.reduce(SUM, powers, graph.value(rows))
    graph.pointwise(ADD, top, graph.pointwise(LOG, total), out=graph.tensor(LOGSUMEXP, rows, float32))
    weights = graph.pointwise(DIV, powers, total, type=io_type)
    graph.matmul(weights, value, graph.tensor(OUT, problem.out_shape, io_type, problem.out_strides))
    return Program(graph, (OUT, LOGSUMEXP, QUERY, KEY, VALUE), _scalars(problem), {})


def attention_backward(backend: Backend, problem: AttentionBackward) -> Program:
    """Return the graph of (query_grad, key_grad, value_grad, grad, out, logsumexp, query, key, value)."""
    graph, of = Graph(backend), problem.forward
    io_type, rows, square = of.dtype, (*of.out_shape[:3], 1), _square(of)
    query = graph.tensor(QUERY, of.query_shape, io_type, of.query_strides)
    key = _transposed(graph, KEY, of.key_shape, of.key_strides, of)
    value = _transposed(graph, VALUE, of.value_shape, of.value_strides, of)
    scale, unit = (graph.tensor(uid, ONE, float32, by_value=True) for uid in (SCALE, UNIT))
    grad = graph.tensor(GRAD, of.out_shape, io_type, problem.grad_strides)
    out = graph.tensor(OUT, of.out_shape, io_type, of.out_strides)
    along = graph.reduce(SUM, graph.pointwise(MUL, grad, out), graph.value(rows))
    along = graph.pointwise(MUL, along, unit, out=graph.tensor(ALONG, rows, float32))

    scores = graph.pointwise(MUL, graph.matmul(query, key, graph.value(square)), scale)
    scores = graph.pointwise(SUB, scores, graph.tensor(LOGSUMEXP, rows, float32))
    weights = graph.pointwise(EXP, _causal(graph, scores) if of.is_causal else scores)
    value_grad = graph.tensor(VALUE_GRAD, of.value_shape, io_type, problem.value_grad_strides)
    _sum_over_queries(graph, weights, grad, value_grad, of)

    slopes = graph.pointwise(SUB, graph.matmul(grad, value, graph.value(square)), along)
    slopes = graph.pointwise(MUL, graph.pointwise(MUL, slopes, weights), scale)
    key_grad = graph.tensor(KEY_GRAD, of.key_shape, io_type, problem.key_grad_strides)
    _sum_over_queries(graph, slopes, query, key_grad, of)

    rows_of_key = graph.reshape(key, graph.value(of.key_shape, io_type, of.key_strides))
    summed = graph.matmul(slopes, rows_of_key, graph.tensor(SUM_OF_QUERY, of.query_shape, float32))
    graph.pointwise(IDENTITY, summed, out=graph.tensor(QUERY_GRAD, of.query_shape, io_type, problem.query_grad_strides))
    operands = QUERY_GRAD, KEY_GRAD, VALUE_GRAD, GRAD, OUT, LOGSUMEXP, QUERY, KEY, VALUE
    queries = of.batch * of.heads * of.queries
    scratch = {ALONG: queries * float32.itemsize, SUM_OF_QUERY: queries * of.head_dim * float32.itemsize}
    return Program(graph, operands, {**_scalars(of), UNIT: 1.0}, scratch)


def convolution(backend: Backend, problem: Convolution) -> Program:
    """Return the graph of (x, w, y).

    Engines are refused whose results differ between runs or which round inputs to a half type; for float32 without
    TF32, those of the tensor cores.
    """
    graph, io_type = Graph(backend), problem.dtype
    x = graph.tensor(X, problem.x_shape, io_type, problem.x_strides)
    w = graph.tensor(W, problem.w_shape, io_type, problem.w_strides)
    y = graph.tensor(Y, problem.y_shape, io_type, problem.y_strides)
    graph.convolution(problem, x, w, y)
    refused = {NONDETERMINISTIC, DOWN_CONVERT_INPUTS}
    if io_type is float32 and not problem.allow_tf32:
        refused.add(TENSOR_CORE)
    return Program(graph, (X, W, Y), {}, {}, frozenset(refused))


def padding_behind(problem: Convolution) -> Sizes:
    """Return the trailing padding per dimension: the leading one if it gives y's sizes, else the least that does."""
    trailing = []
    for at, (front, step, spread) in enumerate(zip(problem.padding, problem.stride, problem.dilation), 2):
        reach = (problem.w_shape[at] - 1) * spread + 1
        size, places = problem.x_shape[at], problem.y_shape[at]
        least = max(0, (places - 1) * step + reach - size - front)
        trailing.append(front if (size + 2 * front - reach) // step + 1 == places else least)
    return trailing


def _scalars(problem: Attention) -> dict[int, float]:
    return {SCALE: problem.scale, NOTHING: -inf} if problem.is_causal else {SCALE: problem.scale}


def _square(problem: Attention) -> Sizes:
    return problem.batch, problem.heads, problem.queries, problem.keys


def _transposed(graph: Graph, uid: int, sizes: Sizes, strides: Sizes, problem: Attention) -> Tensor:
    batch, heads, rows, columns = sizes
    swapped = (*strides[:2], strides[3], strides[2])
    return graph.tensor(uid, (batch, heads, columns, rows), problem.dtype, swapped)


def _causal(graph: Graph, scores: Tensor) -> Tensor:
    """Return the scores, with minus infinity where the key comes after the query."""
    row = graph.pointwise(INDEX, scores, type=int32, axis=2)
    column = graph.pointwise(INDEX, scores, type=int32, axis=3)
    seen = graph.pointwise(GREATER_EQUAL, row, column, type=bool_, precision=bool_)
    return graph.pointwise(SELECT, scores, graph.tensor(NOTHING, ONE, float32, by_value=True), where=seen)


def _sum_over_queries(graph: Graph, matrix: Tensor, other: Tensor, out: Tensor, problem: Attention) -> None:
    """Compute out = matrix^T @ other, summed over the query heads that share a key head."""
    batch, heads, queries, keys = matrix.sizes
    swapped = batch, heads, keys, queries
    steps = packed(matrix.sizes)
    turned = graph.reshape(matrix, graph.value(swapped, problem.dtype, (*steps[:2], steps[3], steps[2])))
    if problem.heads == problem.kv_heads:
        graph.matmul(turned, other, out)
        return
    per_head = graph.value((batch, heads, keys, out.sizes[3]), problem.dtype)
    graph.reduce(SUM, graph.matmul(turned, other, per_head), out)


SONAMES = ("libcudnn.so.9",)
OLDEST = 91_600  # 9.16.0
CONFIGURATIONS = 64  # requested from the heuristic; the first that compiles is used
NOTES = 16  # at most, per engine
WORKSPACE_ALIGNMENT = 256  # bytes
MAX_HEAD_DIM, MAX_UNEQUAL_DIM = 256, 128  # the latter where values have another one than keys

# cudnn_graph.h: cudnnBackendHeurMode_t
HEURISTIC_A, HEURISTIC_FALLBACK = 3, 2
# cudnn_graph.h: cudnnBackendAttributeName_t
HEURISTIC_MODE, HEURISTIC_GRAPH, HEURISTIC_RESULTS = 200, 201, 202
CONFIGURATION_ENGINE, ENGINE_NOTES = 300, 1303
PLAN_HANDLE, PLAN_CONFIGURATION, PLAN_WORKSPACE, PLAN_JSON = 400, 401, 402, 405
PACK_UIDS, PACK_POINTERS, PACK_WORKSPACE = 1000, 1001, 1003

HALVES: tuple[dtype, ...] = tuple(entry for entry in DATA_TYPES if entry.is_floating_point and entry.itemsize == 2)
CONVOLVED_TYPES = (*HALVES, float32, float64)
Problem = Attention | AttentionBackward | Convolution

SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cudnnCreate": (POINTER(c_void_p),),
    "cudnnSetStream": (c_void_p, c_void_p),
    "cudnnBackendCreateDescriptor": (c_int, POINTER(c_void_p)),
    "cudnnBackendDestroyDescriptor": (c_void_p,),
    "cudnnBackendFinalize": (c_void_p,),
    "cudnnBackendSetAttribute": (c_void_p, c_int, c_int, c_int64, c_void_p),
    "cudnnBackendGetAttribute": (c_void_p, c_int, c_int, c_int64, POINTER(c_int64), c_void_p),
    "cudnnBackendExecute": (c_void_p, c_void_p, c_void_p),
}


PACK_CALLS = (  # the functions that a run calls, in the order of core/nvidia.pyx
    "cudnnBackendExecute", "cudnnSetStream", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
    "cudnnBackendFinalize", "cudnnBackendDestroyDescriptor",
)  # fmt: skip


def load() -> tuple[Any | None, str]:
    """Return the library with its signatures declared, and ""; or None, and the reason why it cannot be used."""
    loaded = open_first(*packaged("cudnn"), *SONAMES)
    if loaded is None:
        return None, "cuDNN was not found"
    for name in ("cudnnGetVersion", "cudnnGetCudartVersion"):
        getattr(loaded, name).restype = c_size_t
    version, major = loaded.cudnnGetVersion(), loaded.cudnnGetCudartVersion() // 1000
    if version < OLDEST:
        return None, f"cuDNN {version} is older than {OLDEST}"
    if not _has_blas(major):
        return None, f"cuDNN needs cuBLAS for CUDA {major}, which was not found"
    declare(loaded, SIGNATURES)
    loaded.cudnnGetLastErrorString.argtypes = (c_char_p, c_size_t)
    loaded.cudnnGetLastErrorString.restype = None
    return loaded, ""


def _has_blas(major: int) -> bool:
    """Return whether the cuBLASLt that cuDNN opens by name can be loaded: without it cuDNN aborts the process."""
    try:
        ctypes.CDLL(f"libcublasLt.so.{major}")
    except OSError:
        return False
    return True


@cache
def warn(reason: str, what: str = "attention runs") -> None:
    """Warn once per process and reason that an operation is slow, with a hint."""
    warnings.warn(
        f"{reason}, so {what} many times slower on flambeau's own kernel: "
        "pip install nvidia-cudnn-cu13 (nvidia-cudnn-cu12 for CUDA 12)",
        RuntimeWarning,
        stacklevel=2,
    )


def slowed(problem: Problem) -> str:
    """Return the start of a warning's clause: which operations run slower."""
    return "convolutions run" if isinstance(problem, Convolution) else "attention runs"


def takes(problem: Problem) -> bool:
    """Return whether a problem is within the known limits of cuDNN, which may still refuse it."""
    if isinstance(problem, Convolution):
        return problem.dtype in CONVOLVED_TYPES
    if isinstance(problem, AttentionBackward):
        forward = problem.forward
        grads = problem.query_grad_strides, problem.key_grad_strides, problem.value_grad_strides, problem.grad_strides
        # some releases end the process over the gradients of a single query
        return forward.queries > 1 and takes(forward) and all(_is_loadable(steps, forward.dtype) for steps in grads)
    dims = problem.head_dim, problem.value_dim
    limit = MAX_HEAD_DIM if dims[0] == dims[1] else MAX_UNEQUAL_DIM
    strides = problem.query_strides, problem.key_strides, problem.value_strides, problem.out_strides
    return (
        problem.dtype in HALVES
        and problem.pairs > 0
        and 0 < problem.scale < inf  # with others its causal kernels give NaN
        and max(dims) <= limit
        and all(dim * problem.dtype.itemsize % ALIGNMENT == 0 for dim in dims)
        and all(_is_loadable(steps, problem.dtype) for steps in strides)
    )


def _is_loadable(strides: tuple[int, ...], of: dtype) -> bool:
    """Return whether every row begins at a multiple of ALIGNMENT bytes, if the first one does."""
    return strides[-1] == 1 and all(step > 0 and step * of.itemsize % ALIGNMENT == 0 for step in strides[:-1])


class Dnn:
    """cuDNN on one device."""

    def __init__(self, loaded: Any, device: int, name: str, arch: str) -> None:
        """name, arch: of the device; stored plans depend on them.  Raises AcceleratorError."""
        self._target = f"{name} {arch}"
        self._version = loaded.cudnnGetVersion()
        self.backend = Backend(loaded)
        self.device = device
        self.lock = Lock()
        handle = c_void_p()
        self.backend.call("cudnnCreate", byref(handle))
        self.handle = int(handle.value or 0)
        self.stream: int | None = 0  # the handle's stream: the default one after creation; None if unknown
        self._library = loaded

    def plan(self, problem: Problem) -> DnnPlan | None:
        """Return a plan of the problem; None, with a warning, if cuDNN has none."""
        if not takes(problem):
            return None
        try:
            program = self._program(problem)
            return DnnPlan(self, program, self._compiled(problem, program))
        except NotSupportedError as refusal:
            article = "a" if isinstance(problem, Convolution) else "an"
            warn(f"cuDNN refuses {article} {problem.kind} ({refusal})", slowed(problem))
            return None

    def use(self, stream: Stream) -> None:
        """Set the handle's stream.  The lock is held.  Raises AcceleratorError."""
        if stream.raw != self.stream:
            self.backend.call("cudnnSetStream", self.handle, stream.raw)
            self.stream = stream.raw

    def execute(self, plan: int, pack: int, stream: Stream) -> None:
        """Queue a plan.  The lock is held.  Raises AcceleratorError."""
        self.use(stream)
        self.backend.call("cudnnBackendExecute", self.handle, plan, pack)

    def native_execution(self, plan: int, uids: Sizes, scratch: Sizes, scalars: Sizes) -> Any:
        """Return the compiled runner of a plan; None in a build without compiled calls.

        uids: of operands, scratch tensors and scalars;  scratch: offsets in the workspace;  scalars: addresses.
        """
        native = library.native()
        if native is None or not isinstance(self._library, ctypes.CDLL):
            return None
        calls = [ctypes.cast(getattr(self._library, name), c_void_p).value or 0 for name in PACK_CALLS]
        named = len(uids) - len(scratch) - len(scalars)
        pointers = [0] * named + [*scratch, *scalars]
        lists = [struct.pack(f"@{len(values)}Q", *values) for values in (calls, uids, pointers)]
        return native.Execution(self, lists[0], plan, *lists[1:], named, named + len(scratch))

    def _program(self, problem: Problem) -> Program:
        if isinstance(problem, Convolution):
            return convolution(self.backend, problem)
        if isinstance(problem, AttentionBackward):
            return attention_backward(self.backend, problem)
        return attention(self.backend, problem)

    def _compiled(self, problem: Problem, program: Program) -> int:
        """Return the plan from the disk cache, or compiled now."""
        files = files_of("dnn")
        key = cache_key(repr(problem), self._target, divmod(self._version, 10_000))
        kept = files.read(key)
        if kept is not None:
            plan = self._restored(kept)
            if plan is not None:
                return plan
        plan = self._chosen(program)
        with suppress(NotSupportedError):  # the engine cannot be serialized: the next process compiles the plan again
            files.write(key, self._text(plan))
        return plan

    def _restored(self, kept: bytes) -> int | None:
        """Return the plan that `_text` serialized; None if this cuDNN refuses it."""
        text = CHAR, ctypes.create_string_buffer(kept, len(kept))
        try:
            return self.backend.make(PLAN, {**self._owner(PLAN_HANDLE), PLAN_JSON: text})
        except NotSupportedError:  # made by another driver: it is compiled again
            return None

    def _text(self, plan: int) -> bytes:
        size = self.backend.get(plan, PLAN_JSON, (CHAR, (c_char * 0)()))
        text = ctypes.create_string_buffer(size)
        self.backend.get(plan, PLAN_JSON, (CHAR, text))
        return text.raw

    def _chosen(self, program: Program) -> int:
        """Compile the first configuration that cuDNN accepts.  Raises NotSupportedError if there is none."""
        graph = program.graph.finish(self.handle)
        refusal = NotSupportedError("it has no kernel for it")
        for mode in (HEURISTIC_A, HEURISTIC_FALLBACK):
            try:
                configurations = self._configurations(graph, mode)
            except NotSupportedError as failure:  # the other mode may have suggestions
                refusal = failure
                continue
            for configuration in configurations:
                if program.refused and program.refused & self._notes(configuration):
                    continue
                attributes = {**self._owner(PLAN_HANDLE), PLAN_CONFIGURATION: descriptors(configuration)}
                try:
                    return self.backend.make(PLAN, attributes)
                except NotSupportedError as failure:
                    refusal = failure
        raise refusal

    def _configurations(self, graph: int, mode: int) -> list[int]:
        """Return the configurations that cuDNN's heuristic suggests, best first."""
        asked = {HEURISTIC_GRAPH: descriptors(graph), HEURISTIC_MODE: choice(HEURISTIC, mode)}
        heuristic = self.backend.make(ENGINE_HEURISTIC, asked)
        configurations = [self.backend.create(ENGINE_CONFIG) for _ in range(CONFIGURATIONS)]
        count = self.backend.get(heuristic, HEURISTIC_RESULTS, descriptors(*configurations))
        return configurations[:count]

    def _notes(self, configuration: int) -> frozenset[int]:
        """Return the numerical notes of a configuration's engine."""
        engine, notes = self.backend.create(ENGINE), (c_int * NOTES)()
        self.backend.get(configuration, CONFIGURATION_ENGINE, descriptors(engine))
        count = self.backend.get(engine, ENGINE_NOTES, (NUMERICAL_NOTE, notes))
        self.backend.destroy(engine)
        return frozenset(notes[:count])

    def _owner(self, attribute: int) -> dict[int, Any]:
        return {attribute: (HANDLE, (c_void_p * 1)(self.handle))}


class DnnPlan:
    """One problem, ready to run on any addresses.  It lives as long as the driver.

    native: its compiled runner, or None.
    """

    def __init__(self, dnn: Dnn, program: Program, plan: int) -> None:
        self._dnn = dnn
        self._plan = plan
        self._scalars = {uid: c_float(value) for uid, value in program.scalars.items()}
        size = (c_int64 * 1)()
        dnn.backend.get(plan, PLAN_WORKSPACE, (INT64, size))
        self._offsets: list[int] = []
        self.workspace_nbytes = _rounded(size[0])
        for nbytes in program.scratch.values():
            self._offsets.append(self.workspace_nbytes)
            self.workspace_nbytes += _rounded(nbytes)
        self._uids = (*program.operands, *program.scratch, *program.scalars)
        self._numbers = [ctypes.addressof(scalar) for scalar in self._scalars.values()]
        self.native = dnn.native_execution(plan, self._uids, self._offsets, self._numbers)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        """Queue the problem on its operands' addresses.  Raises AcceleratorError."""
        with self._dnn.lock:
            pack = self.pack(addresses, workspace)
            try:
                self._dnn.execute(self._plan, pack, stream)
            finally:
                self._dnn.backend.destroy(pack)

    def pack(self, addresses: tuple[int, ...], workspace: int) -> int:
        """Return a variant pack with the addresses of a run, which the caller destroys."""
        pointers = [*addresses, *[workspace + offset for offset in self._offsets], *self._numbers]
        attributes = {
            PACK_UIDS: numbers(*self._uids),
            PACK_POINTERS: (ADDRESS, (c_void_p * len(pointers))(*pointers)),
            PACK_WORKSPACE: (ADDRESS, (c_void_p * 1)(workspace)),
        }
        return self._dnn.backend.make(PACK, attributes)


def _rounded(nbytes: int) -> int:
    return -(-nbytes // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT

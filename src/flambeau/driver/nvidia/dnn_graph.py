"""cuDNN's operation graphs: tensors and operations as backend descriptors, made one by one.

- A descriptor is made, given its attributes and finalized in one call, and is never changed again.
- Tensors have four dimensions.  One with a number is memory that a run names by it; one without is only a value
  between two operations, and cuDNN sees to it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_bool, c_int, c_int64, c_void_p
from typing import Any

from ...dtypes import bfloat16, bool_, dtype, float16, float32, int32
from .library import check_dnn

# cudnn_graph.h: cudnnDataType_t
DATA_TYPES: dict[dtype, int] = {float32: 0, float16: 2, int32: 4, bfloat16: 9, bool_: 11}
# cudnn_graph.h: cudnnBackendAttributeType_t
HANDLE, DATA_TYPE, BOOLEAN, INT64, ADDRESS, HEURISTIC, MODE = 0, 1, 2, 3, 6, 8, 14
DESCRIPTOR, REDUCTION, CHAR = 15, 18, 24
# cudnn_graph.h: cudnnBackendDescriptorType_t
POINTWISE_DESC, ENGINE_CONFIG, ENGINE_HEURISTIC, PLAN, POINTWISE, GRAPH, PACK, TENSOR = 0, 3, 4, 5, 13, 15, 16, 17
MATMUL_DESC, MATMUL, REDUCE_DESC, REDUCE, RESHAPE = 18, 19, 21, 22, 31
# cudnn_graph.h: cudnnPointwiseMode_t, cudnnReduceTensorOp_t
ADD, MUL, DIV, SUB, EXP, LOG, IDENTITY, GREATER_EQUAL, INDEX, SELECT = 0, 1, 6, 9, 13, 15, 21, 303, 501, 601
SUM, MAX = 0, 3
# cudnn_graph.h: cudnnBackendAttributeName_t
TENSOR_ALIGNMENT, TENSOR_TYPE, TENSOR_SIZES, TENSOR_STRIDES, TENSOR_UID, TENSOR_VIRTUAL, TENSOR_BY_VALUE = (
    900, 901, 902, 903, 906, 907, 908,
)  # fmt: skip
POINTWISE_MODE, POINTWISE_PRECISION, POINTWISE_AXIS = 0, 1, 9
POINTWISE_OF, POINTWISE_X, POINTWISE_B, POINTWISE_Y, POINTWISE_T = 750, 751, 752, 753, 758
MATMUL_PRECISION, MATMUL_A, MATMUL_B, MATMUL_C, MATMUL_OF = 1500, 1520, 1521, 1522, 1523
REDUCE_OPERATOR, REDUCE_PRECISION, REDUCE_X, REDUCE_Y, REDUCE_OF = 1600, 1601, 1610, 1611, 1612
RESHAPE_X, RESHAPE_Y = 2200, 2201
GRAPH_HANDLE, GRAPH_OPERATIONS = 800, 801

MESSAGE_BYTES = 1024
ALIGNMENT = 16  # bytes: of every operand's first element

Setting = tuple[int, Any]  # the type of an attribute, and a C array of its elements
Sizes = Sequence[int]


def numbers(*values: int) -> Setting:
    return INT64, (c_int64 * len(values))(*values)


def choice(kind: int, value: int) -> Setting:
    """One member of an enumeration; kind: its attribute type."""
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
        """A finalized descriptor.  Raises NotSupportedError if cuDNN refuses it, else as `check_dnn`."""
        descriptor = self.create(kind)
        for attribute, setting in attributes.items():
            self.set(descriptor, attribute, setting)
        self.call("cudnnBackendFinalize", descriptor)
        return descriptor

    def create(self, kind: int) -> int:
        made = c_void_p()
        self.call("cudnnBackendCreateDescriptor", kind, byref(made))
        return int(made.value or 0)

    def set(self, descriptor: int, attribute: int, setting: Setting) -> None:
        kind, elements = setting
        self.call("cudnnBackendSetAttribute", descriptor, attribute, kind, len(elements), elements)

    def get(self, descriptor: int, attribute: int, setting: Setting) -> int:
        """Read up to as many elements as the setting holds into it; returns how many there are."""
        kind, elements = setting
        count = c_int64()
        self.call("cudnnBackendGetAttribute", descriptor, attribute, kind, len(elements), byref(count), elements)
        return count.value

    def destroy(self, descriptor: int) -> None:
        self.call("cudnnBackendDestroyDescriptor", descriptor)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            self.fail(status, name)

    def fail(self, status: int, name: str) -> None:
        """Raise what a status of the call `name` stands for."""
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
        self._unnamed = 1000  # numbers of tensors that only exist between operations

    def tensor(
        self, uid: int, sizes: Sizes, type: dtype, strides: Sizes | None = None, by_value: bool = False
    ) -> Tensor:
        """Memory of a run; by_value: it is one number in host memory."""
        return self._tensor(uid, sizes, type, strides, False, by_value)

    def value(self, sizes: Sizes, type: dtype = float32, strides: Sizes | None = None) -> Tensor:
        """What one operation gives another."""
        self._unnamed += 1
        return self._tensor(self._unnamed, sizes, type, strides, True, False)

    def pointwise(
        self, mode: int, x: Tensor, b: Tensor | None = None, *, where: Tensor | None = None, out: Tensor | None = None,
        type: dtype = float32, precision: dtype = float32, axis: int | None = None,
    ) -> Tensor:  # fmt: skip
        """An operation on each element.  SELECT gives x where `where` holds, else b."""
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

    def finish(self, handle: int | None) -> int:
        """The descriptor of the whole graph."""
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

    def _add(self, kind: int, operands: dict[int, Tensor | None], of: dict[int, int]) -> None:
        attributes = {name: descriptors(descriptor) for name, descriptor in of.items()}
        attributes |= {name: descriptors(each.descriptor) for name, each in operands.items() if each is not None}
        self._operations.append(self._backend.make(kind, attributes))


def packed(sizes: Sizes) -> list[int]:
    """Row-major strides.  Never 0, which cuDNN takes for a broadcast."""
    strides = [1] * len(sizes)
    for index in range(len(sizes) - 1, 0, -1):
        strides[index - 1] = strides[index] * max(sizes[index], 1)
    return strides

"""Recurrent layers by cuDNN: one plan for each library operation.

- cuDNN's weight space must have the operation's layout: the matrices of all layers, then the biases of all layers.
  cuDNN is queried for every offset; if one differs, there is no plan.
- Sequences of equal length use cuDNN's padded layout, without padding; others use its packed layout.
- cuDNN adds to the gradients of the weights, and changes the reserve in backward.
- A plan that cuDNN refuses is not requested again.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

from ...core.nvidia import Stream
from ...dtypes import dtype, float32, float64
from ...errors import NotSupportedError
from ...recurrent_operation import GATES, Recurrent, RecurrentBackward
from .dnn import DATA_TYPES, HALVES, Dnn, warn
from .library import declare

# cudnn_adv.h: cudnnRNNAlgo_t, cudnnRNNInputMode_t, cudnnWgradMode_t, cudnnForwardMode_t
STANDARD, LINEAR_INPUT, ADD_GRADIENTS, INFERENCE, TRAINING = 0, 0, 0, 0, 1
# cudnn_adv.h: cudnnRNNMode_t
MODES = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}
# cudnn_adv.h: cudnnRNNBiasMode_t
NO_BIAS, DOUBLE_BIAS = 0, 2
# cudnn_adv.h: cudnnRNNDataLayout_t, and CUDNN_RNN_PADDED_IO_
UNPACKED, PACKED = 0, 1
PADDED_IO_DISABLED, PADDED_IO_ENABLED = 0, 1
# cudnn_graph.h: cudnnMathType_t
DEFAULT_MATH, TENSOR_OP_MATH, FMA_MATH = 0, 1, 3

BASE = 1 << 40  # a placeholder address of the weights, for queries of offsets
CLAUSE = "recurrent layers run"
Problem = Recurrent | RecurrentBackward

_HANDLE, _OUT, _BYTES = c_void_p, POINTER(c_void_p), c_size_t
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cudnnCreateDropoutDescriptor": (_OUT,),
    "cudnnSetDropoutDescriptor": (c_void_p, _HANDLE, c_float, c_void_p, _BYTES, c_ulonglong),
    "cudnnCreateTensorDescriptor": (_OUT,),
    "cudnnSetTensorNdDescriptor": (c_void_p, c_int, c_int, c_void_p, c_void_p),
    "cudnnCreateRNNDescriptor": (_OUT,),
    "cudnnSetRNNDescriptor_v8": (c_void_p, *(c_int,) * 12, c_void_p, c_uint),
    "cudnnCreateRNNDataDescriptor": (_OUT,),
    "cudnnSetRNNDataDescriptor": (c_void_p, *(c_int,) * 5, c_void_p, c_void_p),
    "cudnnGetRNNTempSpaceSizes": (_HANDLE, c_void_p, c_int, c_void_p, POINTER(c_size_t), POINTER(c_size_t)),
    "cudnnGetRNNWeightSpaceSize": (_HANDLE, c_void_p, POINTER(c_size_t)),
    "cudnnGetRNNWeightParams": (_HANDLE, c_void_p, c_int, _BYTES, c_void_p, c_int, c_void_p, _OUT, c_void_p, _OUT),
    "cudnnRNNForward": (
        _HANDLE, c_void_p, c_int, c_void_p, *(c_void_p,) * 4, *(c_void_p,) * 6, _BYTES, c_void_p, _BYTES, c_void_p,
        _BYTES, c_void_p,
    ),
    "cudnnRNNBackwardData_v8": (
        _HANDLE, c_void_p, c_void_p, *(c_void_p,) * 5, *(c_void_p,) * 8, _BYTES, c_void_p, _BYTES, c_void_p, _BYTES,
        c_void_p,
    ),
    "cudnnRNNBackwardWeights_v8": (
        _HANDLE, c_void_p, c_int, c_void_p, *(c_void_p,) * 6, _BYTES, c_void_p, _BYTES, c_void_p, _BYTES, c_void_p,
    ),
}  # fmt: skip


def math_type(of: dtype, allow_tf32: bool) -> int:
    """Return cuDNN's math type: tensor cores for half types, and for float32 if TF32 is allowed."""
    if of in HALVES:
        return TENSOR_OP_MATH
    return FMA_MATH if of is float32 and not allow_tf32 else DEFAULT_MATH


def lengths(sizes: Sequence[int]) -> list[int]:
    """Return the length of each sequence, from the number of sequences at each step.

    Example:
        >>> from flambeau.driver.nvidia.recurrent import lengths
        >>> lengths([3, 2, 1, 1])
        [4, 2, 1]
    """
    return [sum(size > index for size in sizes) for index in range(sizes[0])]


def _say(problem: Problem, refusal: NotSupportedError) -> None:
    warn(f"cuDNN refuses a {problem.kind} ({refusal})", CLAUSE)


def _forward_of(problem: Problem) -> Recurrent:
    return problem.forward if isinstance(problem, RecurrentBackward) else problem


def _is_packed(of: Recurrent) -> bool:
    """Return whether the sequences have several lengths."""
    return of.sizes[0] != of.sizes[-1]


class Calls:
    """cuDNN's calls that make descriptors.  The descriptors live as long as the driver."""

    def __init__(self, dnn: Dnn) -> None:
        self.dnn = dnn
        self.call = dnn.backend.call

    def make(self, name: str) -> int:
        descriptor = c_void_p()
        self.call(name, byref(descriptor))
        return int(descriptor.value or 0)

    def layers(self, of: Recurrent, is_packed: bool) -> tuple[int, int]:
        """Return (descriptor of the layers for sequences of any lengths, bytes of the weights).

        Raises NotSupportedError if cuDNN refuses them, or lays out its weights differently.
        """
        dropout, descriptor = self.make("cudnnCreateDropoutDescriptor"), self.make("cudnnCreateRNNDescriptor")
        self.call("cudnnSetDropoutDescriptor", dropout, self.dnn.handle, 0.0, None, 0, 0)
        self.call(
            "cudnnSetRNNDescriptor_v8", descriptor, STANDARD, MODES[of.mode], DOUBLE_BIAS if of.has_biases else NO_BIAS,
            of.directions - 1, LINEAR_INPUT, DATA_TYPES[of.dtype],
            DATA_TYPES[float64 if of.dtype is float64 else float32], math_type(of.dtype, of.allow_tf32),
            of.input_size, of.hidden_size, of.hidden_size, of.layers, dropout,
            PADDED_IO_DISABLED if is_packed else PADDED_IO_ENABLED,
        )  # fmt: skip
        nbytes = c_size_t()
        self.call("cudnnGetRNNWeightSpaceSize", self.dnn.handle, descriptor, byref(nbytes))
        self._check_places(of, descriptor, nbytes.value)
        return descriptor, nbytes.value

    def data(self, of: Recurrent, is_packed: bool, width: int) -> int:
        """Return the descriptor of an array with all time steps."""
        descriptor, sizes = self.make("cudnnCreateRNNDataDescriptor"), lengths(of.sizes)
        self.call(
            "cudnnSetRNNDataDescriptor", descriptor, DATA_TYPES[of.dtype], PACKED if is_packed else UNPACKED,
            len(of.sizes), len(sizes), width, (c_int * len(sizes))(*sizes), None,
        )  # fmt: skip
        return descriptor

    def state(self, of: Recurrent) -> int:
        """Return the descriptor of hidden or cell states."""
        state, (_, batch, hidden) = self.make("cudnnCreateTensorDescriptor"), of.state_shape
        steps = (c_int * 3)(batch * hidden, hidden, 1)
        self.call("cudnnSetTensorNdDescriptor", state, DATA_TYPES[of.dtype], 3, (c_int * 3)(*of.state_shape), steps)
        return state

    def _check_places(self, of: Recurrent, layers: int, found_nbytes: int) -> None:
        gates, hidden, nbytes = GATES[of.mode], of.hidden_size, of.dtype.itemsize
        if found_nbytes != of.weight_count * nbytes:
            raise NotSupportedError(f"its weights take {found_nbytes} bytes, not {of.weight_count * nbytes}")
        matrix, bias = (self.make("cudnnCreateTensorDescriptor") for _ in range(2))
        for number, places in enumerate(of.places()):
            for index in range(2 * gates):
                second, gate = divmod(index, gates)  # of weight_ih or of weight_hh
                (first, shape), *rest = places[second::2]
                wanted = [first + gate * hidden * shape[1], *(at + gate * hidden for at, _ in rest)]
                of_matrix, of_bias = c_void_p(), c_void_p()
                self.call(
                    "cudnnGetRNNWeightParams", self.dnn.handle, layers, number, found_nbytes, BASE, index, matrix,
                    byref(of_matrix), bias, byref(of_bias),
                )  # fmt: skip
                offsets = [(pointer.value or 0) - BASE for pointer in (of_matrix, of_bias)[: len(wanted)]]
                if offsets != [at * nbytes for at in wanted]:
                    raise NotSupportedError(
                        f"part {index} of the weights of layer {number} lies at {offsets} of {found_nbytes} bytes, "
                        f"not at {[at * nbytes for at in wanted]}"
                    )


class RecurrentPlan:
    """One operation, ready to run on any addresses.  It lives as long as the driver.

    layers: the descriptor of its layers.  workspace_nbytes: of a run.  reserve_nbytes: of the reserve space, which
    forward keeps for the gradients.
    """

    native = None

    def __init__(self, calls: Calls, problem: Problem, layers: int, weight_nbytes: int) -> None:
        """Raises NotSupportedError if cuDNN refuses the operation, AcceleratorError."""
        self._dnn = dnn = calls.dnn
        self._call = calls.call
        self._problem = problem
        self._rnn, self._weight_nbytes = layers, weight_nbytes
        of = _forward_of(problem)
        self._mode = TRAINING if of.is_training else INFERENCE
        self._x, self._y = (calls.data(of, _is_packed(of), width) for width in (of.input_size, of.width))
        self._state = calls.state(of)
        workspace, reserve = c_size_t(), c_size_t()
        self._call(
            "cudnnGetRNNTempSpaceSizes", dnn.handle, self._rnn, self._mode, self._x, byref(workspace), byref(reserve)
        )
        self.workspace_nbytes, self.reserve_nbytes = workspace.value, reserve.value

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        """Queue the operation on its operands' addresses.  Raises AcceleratorError, and NotSupportedError as above."""
        with self._dnn.lock:
            self._dnn.use(stream)
            try:
                if isinstance(self._problem, RecurrentBackward):
                    self._backward(workspace, *addresses)
                else:
                    self._forward(workspace, *addresses)
            except NotSupportedError as refusal:
                _say(self._problem, refusal)
                raise

    def _forward(
        self, workspace: int, out: int, h_n: int, c_n: int, reserve: int, data: int, h_0: int, c_0: int, weights: int
    ) -> None:
        self._call(
            "cudnnRNNForward", self._dnn.handle, self._rnn, self._mode, None, self._x, data, self._y, out,
            self._state, h_0, h_n, self._state, c_0 or None, c_n or None, self._weight_nbytes, weights,
            *self._spaces(workspace, reserve),
        )  # fmt: skip

    def _backward(
        self, workspace: int, of_data: int, of_h: int, of_c: int, of_weights: int, reserve: int, grad: int, of_h_n: int,
        of_c_n: int, out: int, data: int, h_0: int, c_0: int, weights: int,
    ) -> None:  # fmt: skip
        spaces = self._spaces(workspace, reserve)
        self._call(
            "cudnnRNNBackwardData_v8", self._dnn.handle, self._rnn, None, self._y, out, grad, self._x, of_data,
            self._state, h_0, of_h_n, of_h, self._state, c_0 or None, of_c_n or None, of_c or None,
            self._weight_nbytes, weights, *spaces,
        )  # fmt: skip
        self._call(
            "cudnnRNNBackwardWeights_v8", self._dnn.handle, self._rnn, ADD_GRADIENTS, None, self._x, data,
            self._state, h_0, self._y, out, self._weight_nbytes, of_weights, *spaces,
        )  # fmt: skip

    def _spaces(self, workspace: int, reserve: int) -> tuple[int, int | None, int, int | None]:
        return self.workspace_nbytes, workspace or None, self.reserve_nbytes, reserve or None


class RecurrentPlanner:
    """Makes the plans of one device.  Plans that differ in the lengths of sequences share the descriptor of layers."""

    def __init__(self, dnn: Dnn) -> None:
        self._calls = Calls(dnn)
        self._layers: dict[tuple[Recurrent, bool], tuple[int, int]] = {}
        self._refused: dict[Problem, str] = {}
        if isinstance(dnn.backend.library, ctypes.CDLL):
            declare(dnn.backend.library, SIGNATURES)

    def plan(self, problem: Problem) -> RecurrentPlan:
        """Make a plan.  Raises NotSupportedError, after a warning, if cuDNN refuses the operation."""
        if problem not in self._refused:
            try:
                return self._plan(problem)
            except NotSupportedError as refusal:
                self._refused[problem] = str(refusal)
                _say(problem, refusal)
        raise NotSupportedError(self._refused[problem])

    def _plan(self, problem: Problem) -> RecurrentPlan:
        of = _forward_of(problem)
        key = of._replace(sizes=(1,), is_training=True), _is_packed(of)
        layers = self._layers.get(key)
        if layers is None:
            layers = self._layers[key] = self._calls.layers(*key)
        return RecurrentPlan(self._calls, problem, *layers)

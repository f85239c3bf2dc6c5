"""Recurrent layers and cells: RNN, LSTM and GRU.

The CPU computes one layer in one direction by one loop over all steps, a GPU all layers by one library call, or one
layer by two launches for each step (recurrent_calls.py).  All other cases (projections, other dtypes,
GPUs without the library) run as operators, step by step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

from .. import callers
from ..autograd import autocast
from ..errors import ArgumentError, ArgumentTypeError, ShapeError, naming, shown
from ..ops.operator import REGISTRY
from ..recurrent_operation import GATES, steps_of
from ..tensor import checks, factories
from ..tensor.tensor import Tensor
from . import functional as F
from . import init, recurrent_calls, recurrent_loops
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

State = tuple[Any, ...]  # the hidden state, and the cell state of an LSTM
Step = Callable[[Any, State], State]  # of the projected input and the state


def apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    """Return the entries along a dimension in the order of `permutation`, an int64 tensor.

    Example:
        >>> torch.nn.modules.rnn.apply_permutation(torch.tensor([[5, 6, 7]]), torch.tensor([2, 0, 1]))
        tensor([[7, 5, 6]])
    """
    return tensor.index_select(dim, permutation)


def _simple(activation: str) -> Callable[..., State]:
    activate = REGISTRY[activation]

    def step(x: Any, state: State, weight: Any, bias: Any) -> State:
        return (activate(x + F.linear(state[0], weight, bias)),)

    return step


def _lstm(x: Any, state: State, weight: Any, bias: Any) -> State:
    enter, keep, new, leave = (x + F.linear(state[0], weight, bias)).chunk(4, 1)
    cell = keep.sigmoid() * state[1] + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * cell.tanh(), cell


def _gru(x: Any, state: State, weight: Any, bias: Any) -> State:
    (h,) = state
    reset, update, new = x.chunk(3, 1)
    of_reset, of_update, of_new = F.linear(h, weight, bias).chunk(3, 1)
    new = (new + (reset + of_reset).sigmoid() * of_new).tanh()
    return (new + (update + of_update).sigmoid() * (h - new),)


STEPS: dict[str, Any] = {"RNN_TANH": _simple("tanh"), "RNN_RELU": _simple("relu"), "LSTM": _lstm, "GRU": _gru}


def _scan(step: Step, projected: Any, sizes: Sequence[int], state: State, is_reverse: bool) -> tuple[Any, State]:
    """Return (results of all steps, last state) of one layer in one direction.

    projected: the inputs of all steps, concatenated; step t has sizes[t] sequences, and sizes never increase.
    """
    inputs = projected.split(list(sizes), 0)
    results: list[Any] = [None] * len(sizes)
    batch, finished = sizes[0], []
    now = tuple(tensor[: sizes[-1]] for tensor in state) if is_reverse else state
    order = range(len(sizes) - 1, -1, -1) if is_reverse else range(len(sizes))
    have = sizes[-1] if is_reverse else batch
    for time in order:
        size = sizes[time]
        if size < have:  # the shortest sequences have ended
            finished.append(tuple(tensor[size:] for tensor in now))
            now = tuple(tensor[:size] for tensor in now)
        elif size > have:  # backwards, longer sequences begin earlier
            now = tuple(REGISTRY["cat"]([tensor, first[have:size]]) for tensor, first in zip(now, state))
        have = size
        now = step(inputs[time], now)
        results[time] = now[0]
    if finished:
        now = tuple(REGISTRY["cat"](list(parts)) for parts in zip(now, *reversed(finished)))
    return REGISTRY["cat"](results), now


def _layer(mode: str, sizes: Sequence[int], is_reverse: bool, *operands: Any) -> tuple[Any, State]:
    """Return (results of all steps, last state) of one layer in one direction; see `_scan`.

    operands: the inputs, the weights of inputs and states, their biases or None, and the initial states.
    On the CPU one call computes all steps; elsewhere each step is a few operators.
    """

    def composed(data: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, *state: Any) -> Any:
        bias_ih, bias_hh = _added(mode, bias_ih, bias_hh)

        def step(x: Any, now: State) -> State:
            result: State = STEPS[mode](x, now, weight_hh, bias_hh)
            return result

        results, last = _scan(step, F.linear(data, weight_ih, bias_ih), sizes, state, is_reverse)
        return results, *last

    if recurrent_calls.takes_steps(mode, sizes, *operands):
        results, *last = recurrent_calls.LstmLayer.apply(is_reverse, composed, *operands)
    elif recurrent_loops.fits(*operands):
        steps = steps_of(sizes, is_reverse)
        results, *last = recurrent_loops.Layer.apply(mode, steps, composed, *operands)
    else:
        results, *last = composed(*operands)
    return results, tuple(last)


def _added(mode: str, bias_ih: Any, bias_hh: Any) -> tuple[Any, Any]:
    """Return (sum of both biases, None); a GRU keeps them apart, as it multiplies the second one by a gate."""
    return (bias_ih, bias_hh) if bias_ih is None or mode == "GRU" else (bias_ih + bias_hh, None)


def run_layers(
    mode: str, data: Any, sizes: Sequence[int], state: State, weights: Sequence[Sequence[Any]], has_biases: bool,
    directions: int, dropout: float,
) -> tuple[Any, State]:  # fmt: skip
    """Return (results, last states) of all layers.

    data: the inputs of all steps, concatenated; step t has sizes[t] sequences, and sizes never increase.
    weights: of each layer and direction weight_ih, weight_hh, bias_ih and bias_hh, and weight_hr of a projection.
    dropout: between layers.
    """
    data, *casts = autocast.operands(mode.lower().partition("_")[0], [data, *state])
    state = tuple(casts)
    last: list[State] = []
    count = len(weights) // directions
    at_once = count if not dropout else 1  # dropout is applied between the calls
    for first in range(0, count, at_once):
        numbers = slice(first * directions, (first + at_once) * directions)
        now = tuple(tensor[numbers] if at_once < count else tensor for tensor in state)
        data, final = _stack(mode, data, sizes, now, weights[numbers], has_biases, directions)
        last.append(final)
        if dropout and first < count - 1:
            data = F.dropout(data, dropout, True)
    return data, last[0] if len(last) == 1 else tuple(REGISTRY["cat"](list(parts)) for parts in zip(*last))


def _stack(
    mode: str, data: Any, sizes: Sequence[int], state: State, weights: Sequence[Sequence[Any]], has_biases: bool,
    directions: int,
) -> tuple[Any, State]:  # fmt: skip
    """Return (results, last states) of layers without dropout between them."""
    group_size = 4 if has_biases else 2

    def composed(data: Any, *rest: Any) -> Any:
        state, flat = rest[: len(states)], rest[len(states) :]
        parted = [flat[at : at + group_size] for at in range(0, len(flat), group_size)]
        results, last = _composed(mode, data, sizes, state, parted, has_biases, directions)
        return results, *last

    states = state
    if data.is_cuda and len(weights[0]) == group_size:
        name = mode.lower().partition("_")[0]
        flat = autocast.operands(name, [weight for group in weights for weight in group])
        if recurrent_calls.fits(data, state, flat):
            if recurrent_calls.takes_steps(mode, sizes, data, *flat, *state):
                return _composed(mode, data, sizes, state, weights, has_biases, directions)
            outputs = recurrent_calls.run(mode, sizes, directions, has_biases, composed, data, state, flat)
            if outputs is not None:
                return outputs[0], outputs[1:]
    return _composed(mode, data, sizes, state, weights, has_biases, directions)


def _composed(
    mode: str, data: Any, sizes: Sequence[int], state: State, weights: Sequence[Sequence[Any]], has_biases: bool,
    directions: int,
) -> tuple[Any, State]:  # fmt: skip
    """Compute `_stack`, one layer and direction after the other."""
    last: list[State] = []
    for layer in range(len(weights) // directions):
        results = []
        for direction in range(directions):
            number = layer * directions + direction
            now = tuple(tensor[number] for tensor in state)
            output, final = _direction(mode, data, sizes, now, weights[number], has_biases, bool(direction))
            results.append(output)
            last.append(final)
        data = results[0] if directions == 1 else REGISTRY["cat"](results, 1)
    return data, tuple(REGISTRY["stack"](list(parts)) for parts in zip(*last))


def _direction(
    mode: str, data: Any, sizes: Sequence[int], state: State, weights: Sequence[Any], has_biases: bool, is_reverse: bool
) -> tuple[Any, State]:
    biases = weights[2:4] if has_biases else (None, None)
    if len(weights) % 2 == 0:
        return _layer(mode, sizes, is_reverse, data, *weights[:2], *biases, *state)
    biases, projection, advance = _added(mode, *biases), weights[-1], STEPS[mode]

    def step(x: Any, state: State) -> State:
        hidden, *rest = advance(x, state, weights[1], biases[1])
        return F.linear(hidden, projection), *rest

    return _scan(step, F.linear(data, weights[0], biases[0]), sizes, state, is_reverse)


class RNNBase(Module):
    """Base class of the recurrent layers RNN, LSTM and GRU.

    mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".  Other arguments: see RNN and, for proj_size, LSTM.
    Shapes: as RNN.
    Raises: ArgumentError for another mode, sizes below 1 or a dropout outside [0, 1], ArgumentTypeError for arguments
            of a wrong type; in forward, ArgumentError for a wrong number of dimensions or dtype, ShapeError for an
            input or hx that does not fit.
    Example:
        >>> torch.nn.RNNBase("GRU", 3, 5).mode
        'GRU'
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = self._get_name()
        if not isinstance(mode, str) or mode not in GATES:
            raise ArgumentError(
                f"unrecognized mode {shown(mode)}", hint=f"use one of {', '.join(GATES)}", operator=name
            )
        for what, flag in (("bias", bias), ("batch_first", batch_first)):
            checks.flag(name, what, flag)
        for what, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            checks.integer(name, what, size)
            if size <= 0:
                raise ArgumentError(
                    f"{what} must be greater than zero, got {size}", hint="pass 1 or more", operator=name
                )
        checks.number(name, "dropout", dropout)
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ArgumentError(
                f"dropout should be a number in range [0, 1], got {shown(dropout)}",
                hint="pass the probability that an element is zeroed",
                operator=name,
            )
        if dropout > 0 and num_layers == 1:
            callers.warn(f"{name}: dropout acts between layers, and num_layers is 1: dropout={dropout} has no effect")
        if not 0 <= proj_size < hidden_size:
            raise ArgumentError(
                f"proj_size must be at least 0 and smaller than hidden_size {hidden_size}, got {proj_size}",
                hint="pass 0 for no projection",
                operator=name,
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        gates, result = GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            for direction in range(1 + bidirectional):
                width = input_size if layer == 0 else result * (1 + bidirectional)
                sizes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, result)}
                if bias:
                    sizes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                names = {f"{key}_l{layer}{'_reverse' if direction else ''}": shape for key, shape in sizes.items()}
                with naming(name):
                    for key, shape in names.items():
                        self.register_parameter(key, Parameter(factories.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append([*names])
        self.reset_parameters()
        self.flatten_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights and biases, uniformly from [-1/sqrt(hidden_size), 1/sqrt(hidden_size)].

        Example:
            >>> layer = torch.nn.GRU(2, 4)
            >>> _ = torch.nn.init.constant_(layer.weight_hh_l0, 9.0)
            >>> layer.reset_parameters()
            >>> bool((layer.weight_hh_l0.abs() <= 0.5).all())
            True
        """
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Move parameters on a GPU into one block of memory, so that cuDNN can read them without a copy.

        The constructor and methods such as `cuda` do this already.  Otherwise, parameters are copied in each call.
        With dropout, each of the stacked layers has a block of its own.
        Example:
            >>> layer = torch.nn.LSTM(2, 4).cuda()
            >>> layer.weight_ih_l0.untyped_storage().nbytes() == 4 * sum(each.numel() for each in layer.parameters())
            True
        """
        weights = [self._parameters.get(name) for name in self._flat_weights_names]
        if self.proj_size or any(weight is None for weight in weights):
            return
        at_once = len(weights) // self.num_layers if self.dropout else len(weights)
        for first in range(0, len(weights), at_once):
            recurrent_calls.flatten(weights[first : first + at_once], self.bias)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        super()._apply(fn, recurse)
        self.flatten_parameters()
        return self

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """Lists of the parameters, one list for each layer and direction.

        Example:
            >>> layer = torch.nn.GRU(2, 4, num_layers=3)
            >>> len(layer.all_weights), len(layer.all_weights[0])
            (3, 4)
        """
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, value: Any) -> None:
        """Has no effect: weights are read by their names."""

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
                 "bidirectional": False}  # fmt: skip
        return text + "".join(
            f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value
        )

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        name = self._get_name()
        is_lstm = self.mode == "LSTM"
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            sizes = batch_sizes.tolist()
            self._check_input(data, 2)
            state = self._state(data, sizes[0], hx, 3)
            state = state if order is None or hx is None else tuple(tensor.index_select(1, order) for tensor in state)
            data, state = self._layers(data, sizes, state)
            state = state if back is None else tuple(tensor.index_select(1, back) for tensor in state)
            return PackedSequence(data, batch_sizes, order, back), state if is_lstm else state[0]
        checks.tensor(name, "input", input)
        if input.ndim not in (2, 3):
            raise ArgumentError(
                f"expected input to be 2D or 3D, got {input.ndim}D: shape {list(input.shape)}",
                hint="the shape is [length, batch, features], or [length, features] without a batch",
                operator=name,
            )
        is_batched = input.ndim == 3
        whole = input if is_batched else input.unsqueeze(1)
        whole = whole.transpose(0, 1) if is_batched and self.batch_first else whole
        length, batch = whole.shape[:2]
        self._check_input(whole, 3)
        if length == 0:
            raise ShapeError(
                f"expected sequence length to be larger than 0, got shape {list(input.shape)}",
                hint="leave empty sequences out",
                operator=name,
            )
        state = self._state(whole, batch, hx, input.ndim)
        data, state = self._layers(whole.reshape(length * batch, whole.shape[2]), [batch] * length, state)
        data = data.reshape(length, batch, data.shape[1])
        data = data.transpose(0, 1) if is_batched and self.batch_first else data
        if not is_batched:
            data, state = data.squeeze(1), tuple(tensor.squeeze(1) for tensor in state)
        return data, state if is_lstm else state[0]

    def _check_input(self, data: Any, ndim: int) -> None:
        weight = self.weight_ih_l0
        if data.dtype is not weight.dtype and not autocast.is_any_enabled():
            raise ArgumentError(
                f"input dtype ({data.dtype}) does not match weight dtype ({weight.dtype})",
                hint=f"convert the input with .to({weight.dtype})",
                operator=self._get_name(),
            )
        if data.ndim != ndim or data.shape[-1] != self.input_size:
            raise ShapeError(
                f"the last dimension of the input must be input_size {self.input_size}, got shape {list(data.shape)}",
                hint="pass an input whose last dimension holds the features",
                operator=self._get_name(),
            )

    def _state(self, data: Any, batch: int, hx: Any, ndim: int) -> State:
        """Return the states before the first step, [layers * directions, batch, size].  Raises ShapeError."""
        count = self.num_layers * (1 + self.bidirectional)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: 2 if self.mode == "LSTM" else 1]
        if hx is None:
            return tuple(data.new_zeros((count, batch, width)) for width in widths)
        given = hx if self.mode == "LSTM" else (hx,)
        if not isinstance(given, (tuple, list)) or len(given) != len(widths):
            raise ArgumentTypeError(
                f"hx must be a pair (h_0, c_0), got {shown(hx)}", hint="pass two tensors", operator=self._get_name()
            )
        for tensor in given:
            checks.tensor(self._get_name(), "hx", tensor)
        for tensor, width in zip(given, widths):
            wanted = [count, batch, width] if ndim == 3 else [count, width]
            if list(tensor.shape) != wanted:
                raise ShapeError(
                    f"expected hidden size {tuple(wanted)}, got {list(tensor.shape)}",
                    hint="the shape is [layers * directions, batch, size], also with batch_first",
                    operator=self._get_name(),
                )
        return tuple(tensor if ndim == 3 else tensor.unsqueeze(1) for tensor in given)

    def _layers(self, data: Any, sizes: Sequence[int], state: State) -> tuple[Any, State]:
        """Return (results, last states) of all layers."""
        rate = self.dropout if self.training else 0.0
        directions = 1 + self.bidirectional
        return run_layers(self.mode, data, sizes, state, self.all_weights, self.bias, directions, rate)


class RNN(RNNBase):
    """A recurrent layer: h = activation(W_ih x + b_ih + W_hh h + b_hh) for each element of a sequence.

    num_layers: the number of stacked layers.  nonlinearity: "tanh" or "relu".  bias: whether there are biases.
    batch_first: inputs and results are [batch, length, features].
    dropout: the probability of zeroing an element between stacked layers, in training.
    bidirectional: also run from the end of the sequence; these features follow those of the first direction.
    Shapes: input [t, n, input_size] or [t, input_size] for length t and batch n, or a PackedSequence; hx, the first
            states, [layers * directions, n, hidden_size], zeros if None; returns (result [t, n, directions *
            hidden_size], last states shaped as hx).
    Raises: ArgumentError for sizes below 1, a dropout outside [0, 1] or another nonlinearity, ArgumentTypeError for
            arguments of a wrong type; in forward, ArgumentError for a wrong number of dimensions or dtype, ShapeError
            for an input or hx that does not fit.
    Example:
        >>> out, last = torch.nn.RNN(3, 5, num_layers=2)(torch.ones(7, 2, 3))
        >>> out.shape, last.shape
        (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        _check_nonlinearity("RNN", nonlinearity)
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, device=device, dtype=dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


def _check_nonlinearity(name: str, nonlinearity: Any) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise ArgumentError(f"unknown nonlinearity {nonlinearity!r}", hint="use 'tanh' or 'relu'", operator=name)


class LSTM(RNNBase):
    """A recurrent layer of long short-term memory cells (S. Hochreiter, J. Schmidhuber, 1997).

    proj_size: the number of features to which hidden states are projected; 0 for none.  Other arguments: see `RNN`.
    Shapes: those of `RNN`, but hx and the last states are pairs (hidden states, cell states).
    Raises: ArgumentError for sizes below 1, a dropout outside [0, 1] or a proj_size outside [0, hidden_size),
            ArgumentTypeError for arguments of a wrong type; in forward, ArgumentError for a wrong number of dimensions
            or dtype, ShapeError for an input or hx that does not fit.
    Example:
        >>> out, (h, c) = torch.nn.LSTM(3, 5, batch_first=True, bidirectional=True)(torch.ones(2, 7, 3))
        >>> out.shape, h.shape, c.shape
        (torch.Size([2, 7, 10]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )  # fmt: skip


class GRU(RNNBase):
    """A recurrent layer of gated recurrent units (K. Cho et al., 2014).

    num_layers, bias, batch_first, dropout, bidirectional, and the other shapes: see `RNN`.
    Shapes: input [t, n, input_size]; results [t, n, directions * hidden_size] and the last states [layers * directions,
            n, hidden_size], for t steps and a batch of n.
    Raises: ArgumentError for sizes below 1 or a dropout outside [0, 1], ArgumentTypeError for arguments of a wrong
            type; in forward, ArgumentError for a wrong number of dimensions or dtype, ShapeError for an input or hx
            that does not fit.
    Example:
        >>> out, last = torch.nn.GRU(3, 5)(torch.ones(7, 2, 3))
        >>> out.shape, last.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device,
            dtype=dtype,
        )  # fmt: skip


class RNNCellBase(Module):
    """Base class of RNNCell, LSTMCell and GRUCell, which compute one step of a recurrent layer.

    num_chunks: the number of gates; weight_ih has num_chunks * hidden_size rows.
    Shapes: as RNNCell.
    Raises: ArgumentTypeError, ValueRangeError for sizes that are not ints or are negative.
    Example:
        >>> torch.nn.RNNCellBase(3, 5, bias=False, num_chunks=4).weight_ih.shape
        torch.Size([20, 3])
    """

    _mode = ""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        name = self._get_name()
        checks.count(name, "input_size", input_size)
        checks.count(name, "hidden_size", hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        sizes: dict[str, Any] = {"weight_ih": (gates, input_size), "weight_hh": (gates, hidden_size)}
        sizes |= {"bias_ih": gates, "bias_hh": gates}
        with naming(name):
            for key, size in sizes.items():
                is_there = bias or key.startswith("weight")
                parameter = Parameter(factories.empty(size, device=device, dtype=dtype)) if is_there else None
                self.register_parameter(key, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights and biases, uniformly from [-1/sqrt(hidden_size), 1/sqrt(hidden_size)].

        Example:
            >>> cell = torch.nn.GRUCell(2, 4)
            >>> _ = torch.nn.init.constant_(cell.weight_hh, 9.0)
            >>> cell.reset_parameters()
            >>> bool((cell.weight_hh.abs() <= 0.5).all())
            True
        """
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        bias = "" if self.bias is True else f", bias={self.bias}"
        chosen = getattr(self, "nonlinearity", "tanh")
        return f"{self.input_size}, {self.hidden_size}{bias}" + ("" if chosen == "tanh" else f", nonlinearity={chosen}")

    def _advance(self, mode: str, input: Any, state: Any) -> State:
        """Compute one step; a state of None is 0.  Raises ArgumentError, ShapeError."""
        name = self._get_name()
        checks.tensor(name, "input", input)
        count = 2 if mode == "LSTM" else 1
        if state is not None and (not isinstance(state, (tuple, list)) or len(state) != count):
            raise ArgumentTypeError(
                f"the state must be {count} tensors, got {shown(state)}", hint="pass (h_0, c_0)", operator=name
            )
        for tensor in state or ():
            checks.tensor(name, "hx", tensor)
        for what, tensor in (("input", input), *(("hidden", tensor) for tensor in state or ())):
            if tensor.ndim not in (1, 2):
                raise ArgumentError(
                    f"expected {what} to be 1D or 2D, got {tensor.ndim}D: shape {list(tensor.shape)}",
                    hint="the shape is [batch, features] or [features]",
                    operator=name,
                )
        is_batched = input.ndim == 2
        x = input if is_batched else input.unsqueeze(0)
        if x.shape[1] != self.input_size:
            raise ShapeError(
                f"input has inconsistent input_size: got {x.shape[1]}, expected {self.input_size}",
                hint="input_size is the size of the last dimension of the input",
                operator=name,
            )
        if state is None:
            now: Sequence[Any] = (x.new_zeros((x.shape[0], self.hidden_size)),) * count
        else:
            now = tuple(tensor if is_batched else tensor.unsqueeze(0) for tensor in state)
        x, *now = autocast.operands(mode.lower().partition("_")[0] + "_cell", [x, *now])
        if any(tuple(tensor.shape) != (x.shape[0], self.hidden_size) for tensor in now):
            raise ShapeError(
                f"hidden has shape {list(now[0].shape)}, expected {[x.shape[0], self.hidden_size]}",
                hint="the shape is [batch, hidden_size]",
                operator=name,
            )
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        _, final = _layer(mode, [x.shape[0]], False, x, *weights, *now)
        return final if is_batched else tuple(tensor.squeeze(0) for tensor in final)


class RNNCell(RNNCellBase):
    """One step of an RNN: activation(W_ih input + b_ih + W_hh hx + b_hh), where hx is the previous state.

    nonlinearity: the activation, "tanh" or "relu".  bias: whether there are biases.
    Shapes: input [n, input_size] or [input_size]; hx [n, hidden_size] or [hidden_size], zeros if None; the result has
            the shape of hx.
    Raises: ArgumentError for another nonlinearity, ArgumentTypeError, ValueRangeError for sizes that are not ints or
            are negative; in forward, ArgumentError for a wrong number of dimensions, ShapeError for an input or hx that
            does not fit.
    Example:
        >>> torch.nn.RNNCell(3, 5)(torch.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        _check_nonlinearity("RNNCell", nonlinearity)
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        result: Tensor = self._advance(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]
        return result


class LSTMCell(RNNCellBase):
    """One step of an LSTM: computes the next (hidden state, cell state) from an input and the previous states.

    bias: whether there are biases.
    Shapes: input [n, input_size] or [input_size]; hx, the pair of previous states, [n, hidden_size] or [hidden_size]
            each, zeros if None; the results have the shapes of hx.
    Raises: ArgumentTypeError, ValueRangeError for sizes that are not ints or are negative; in forward,
            ArgumentTypeError for an hx that is not two tensors, ArgumentError for a wrong number of dimensions,
            ShapeError for an input or hx that does not fit.
    Example:
        >>> h, c = torch.nn.LSTMCell(3, 5)(torch.ones(2, 3))
        >>> h.shape, c.shape
        (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        hidden, cell = self._advance("LSTM", input, hx)
        return hidden, cell


class GRUCell(RNNCellBase):
    """Compute one step of a GRU (see `GRU`), and return the new hidden state.

    Shapes: input [n, input_size] or [input_size]; hx [n, hidden_size] or [hidden_size], 0 if None; the result like hx.
    Raises: ArgumentTypeError, ValueRangeError for sizes that are not ints or are negative; in forward, ArgumentError
            for a wrong number of dimensions, ShapeError for an input or hx that does not fit.
    Example:
        >>> torch.nn.GRUCell(3, 5)(torch.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        result: Tensor = self._advance("GRU", input, None if hx is None else (hx,))[0]
        return result

"""Top-level functions that run layers: `torch.lstm`, `torch.ctc_loss` and related functions.

Their arguments are those of the functions that PyTorch's layers call: lists of weights, and numbers for modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from ..errors import ArgumentError, ArgumentTypeError, ShapeError, naming, shown
from ..ops.losses import REDUCTIONS
from ..ops.operator import REGISTRY
from ..recurrent_operation import GATES
from ..tensor import checks
from . import functional as F
from .recurrent import STEPS, State, run_layers

MODES = ("sum", "mean", "max")  # modes of bags, by number
PACKED = ("data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
PADDED = ("input", *PACKED[2:], "batch_first")
Function = TypeVar("Function", bound=Callable[..., Any])


# recurrent layers


def _of_both_forms(function: Function) -> Function:
    """Let a function that takes PADDED, or PACKED by position, also take PACKED by name."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named and not named.keys().isdisjoint((*PACKED[:2], *PADDED[: len(args)])):  # only the packed form has these
            args, named = _by_position(function.__name__, args, named), {}
        return function(*args, **named)

    vars(call)["other_names"] = {"data": "input", "batch_sizes": "hx"}  # by position, for tools that read signatures
    return cast("Function", call)


def _by_position(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of the packed form in order.  Raises ArgumentTypeError if they are not these."""
    left = PACKED[len(args) :]
    if named.keys() != set(left):
        wrong = [key for key in named if key not in left]
        missing = [key for key in left if key not in named]
        got = f"got {', '.join(wrong)} beside {len(args)} arguments by position"
        raise ArgumentTypeError(
            got if wrong else f"{missing[0]} is missing",
            hint=f"the arguments for packed data are {', '.join(PACKED)}",
            operator=name,
        )
    return *args, *(named[key] for key in left)


def _recurrent(mode: str, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run a recurrent layer on a padded batch, or on packed data with the batch size of each step."""
    is_packed = not isinstance(args[3], bool)
    data, hx, params = (args[0], *args[2:4]) if is_packed else args[:3]
    has_biases, num_layers, dropout, train, bidirectional = args[4:9] if is_packed else args[3:8]
    checks.tensor(name, "input", data)
    states = checks.tensors(name, "hx", hx) if mode == "LSTM" else (hx,)
    params = checks.tensors(name, "params", params)
    for state in states:
        checks.tensor(name, "hx", state)
    if len(states) != (2 if mode == "LSTM" else 1):
        raise ArgumentTypeError(
            f"hx must be a pair (h_0, c_0), got {shown(hx)}", hint="pass two tensors", operator=name
        )
    checks.integer(name, "num_layers", num_layers)
    count = num_layers * (2 if bidirectional else 1)
    group_size = len(params) // count if count else 0
    if not group_size or len(params) % count or group_size not in ((4, 5) if has_biases else (2, 3)):
        raise ArgumentError(
            f"{len(params)} weights do not fit {num_layers} layers, bidirectional={bidirectional}, "
            f"has_biases={has_biases}",
            hint="pass weight_ih, weight_hh and, with biases, bias_ih and bias_hh of each layer and direction",
            operator=name,
        )
    weights = [list(params[start : start + group_size]) for start in range(0, len(params), group_size)]
    rate = dropout if train else 0.0
    if data.ndim != (2 if is_packed else 3):
        raise ShapeError(
            f"input must have {2 if is_packed else 3} dimensions, got shape {list(data.shape)}",
            hint="the shape of packed data is [elements, features]"
            if is_packed
            else "the shape is [length, batch, features]",
            operator=name,
        )
    if is_packed:
        sizes = args[1].tolist()
        _check_shapes(mode, name, data.shape[1], sizes[0], states, weights, count // num_layers)
        data, state = run_layers(mode, data, sizes, states, weights, has_biases, count // num_layers, rate)
    else:
        whole = data.transpose(0, 1) if args[8] else data
        length, batch, width = whole.shape
        _check_shapes(mode, name, width, batch, states, weights, count // num_layers)
        flat = whole.reshape(length * batch, -1)
        flat, state = run_layers(mode, flat, [batch] * length, states, weights, has_biases, count // num_layers, rate)
        data = flat.reshape(length, batch, -1)
        data = data.transpose(0, 1) if args[8] else data
    return data, *state


def _check_shapes(
    mode: str, name: str, width: int, batch: int, states: Sequence[Any], weights: Sequence[Sequence[Any]],
    directions: int,
) -> None:  # fmt: skip
    """Raise ShapeError unless the states and the weights of all layers fit the input and each other.

    width: the number of input features.  weights: of each layer and direction.
    """
    result, hidden = (state.shape[-1] if state.ndim else 0 for state in (states[0], states[-1]))
    gates = GATES[mode] * hidden
    for state, size in zip(states, (result, hidden)):
        if tuple(state.shape) != (len(weights), batch, size):
            raise ShapeError(
                f"expected hx of shape {[len(weights), batch, size]}, got {list(state.shape)}",
                hint="the shape is [layers * directions, batch, size], also with batch_first",
                operator=name,
            )
    for number, group in enumerate(weights):
        features = width if number < directions else result * directions
        wanted = [(gates, features), (gates, result), (gates,), (gates,)]
        wanted = [*wanted[: len(group) // 2 * 2], *[(result, hidden)] * (len(group) % 2)]
        for weight, size in zip(group, wanted):
            if tuple(weight.shape) != size:
                raise ShapeError(
                    f"expected weights of the shapes {[list(each) for each in wanted]}, got "
                    f"{[list(each.shape) for each in group]} in group {number}",
                    hint=f"pass weights for {width} input features and {hidden} hidden features",
                    operator=name,
                )


@_of_both_forms
def lstm(
    input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any,
    batch_first: Any,
) -> Any:  # fmt: skip
    """Run LSTM layers with the given weights; return (results, last hidden states, last cell states).

    hx: (first hidden states, first cell states).  params: a list of the weights of all layers, in the order of
    `nn.LSTM.all_weights`.  has_biases: whether the weights include biases.  dropout: the probability of dropout between
    layers, if `train` is True.  The other arguments are those of `nn.LSTM`.
    For packed data: lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional).
    Shapes: as `nn.LSTM`.
    Host:   returns at once; with packed data, waits if batch_sizes is on a GPU.
    Raises: ArgumentError if the number of weights does not fit, ArgumentTypeError for an argument of a wrong type,
            ShapeError if the shapes do not fit.
    Example:
        >>> layer = torch.nn.LSTM(3, 5)
        >>> states = [torch.zeros(1, 2, 5), torch.zeros(1, 2, 5)]
        >>> out, h, c = torch.lstm(torch.ones(7, 2, 3), states, layer.all_weights[0], True, 1, 0.0, False, False, False)
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """
    return _recurrent(
        "LSTM", "lstm", (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    )


@_of_both_forms
def gru(
    input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any,
    batch_first: Any,
) -> Any:  # fmt: skip
    """Run GRU layers with the given weights; return (results, last states).

    hx: the first states.  The other arguments are those of `torch.lstm`.
    Shapes: as `nn.GRU`.
    Host:   returns at once; with packed data, waits if batch_sizes is on a GPU.
    Raises: ArgumentError if the number of weights does not fit, ArgumentTypeError for an argument of a wrong type,
            ShapeError if the shapes do not fit.
    Example:
        >>> layer = torch.nn.GRU(3, 5)
        >>> state = torch.zeros(1, 2, 5)
        >>> out, h = torch.gru(torch.ones(7, 2, 3), state, layer.all_weights[0], True, 1, 0.0, False, False, False)
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """
    return _recurrent(
        "GRU", "gru", (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    )


@_of_both_forms
def rnn_tanh(
    input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any,
    batch_first: Any,
) -> Any:  # fmt: skip
    """Run recurrent layers with tanh and the given weights; return (results, last states).

    hx: the first states.  The other arguments are those of `lstm`.
    Shapes: as `nn.RNN`.
    Host: returns at once; with packed data, waits if batch_sizes is on a GPU.
    Raises: ArgumentError if the number of weights does not fit, ArgumentTypeError for an argument of a wrong type,
            ShapeError if the shapes do not fit.
    Example:
        >>> layer = torch.nn.RNN(3, 5)
        >>> state = torch.zeros(1, 2, 5)
        >>> out, h = torch.rnn_tanh(torch.ones(7, 2, 3), state, layer.all_weights[0], True, 1, 0.0, False, False, False)
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """
    return _recurrent(
        "RNN_TANH", "rnn_tanh", (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    )


@_of_both_forms
def rnn_relu(
    input: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any, bidirectional: Any,
    batch_first: Any,
) -> Any:  # fmt: skip
    """Run recurrent layers with relu and the given weights; return (results, last states).

    hx: the first states.  The other arguments are those of `lstm`.
    Shapes: as `nn.RNN`.
    Host: returns at once; with packed data, waits if batch_sizes is on a GPU.
    Raises: ArgumentError if the number of weights does not fit, ArgumentTypeError for an argument of a wrong type,
            ShapeError if the shapes do not fit.
    Example:
        >>> layer = torch.nn.RNN(3, 5, nonlinearity="relu")
        >>> state = torch.zeros(1, 2, 5)
        >>> out, h = torch.rnn_relu(torch.ones(7, 2, 3), state, layer.all_weights[0], True, 1, 0.0, False, False, False)
        >>> out.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """
    return _recurrent(
        "RNN_RELU", "rnn_relu", (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    )


# one step


def _cell(mode: str, name: str, input: Any, state: State, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> State:
    for what, value in (("input", input), ("w_ih", w_ih), ("w_hh", w_hh), *(("hx", tensor) for tensor in state)):
        checks.tensor(name, what, value)
    shape = *input.shape[:1], *w_hh.shape[1:]
    if input.ndim != 2 or w_hh.ndim != 2 or any(tuple(tensor.shape) != shape for tensor in state):
        raise ShapeError(
            f"input {list(input.shape)}, hx {[list(tensor.shape) for tensor in state]} and w_hh {list(w_hh.shape)} do "
            "not fit",
            hint="the shapes must be [n, input_size], [n, hidden_size] and [gates * hidden_size, hidden_size]",
            operator=name,
        )
    with naming(name):
        result: State = STEPS[mode](F.linear(input, w_ih, b_ih), state, w_hh, b_hh)
    return result


def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Compute one step of an LSTM, and return (hidden state, cell state).

    hx: (hidden state, cell state) before the step.  w_ih, w_hh, b_ih, b_hh: the weights and biases of `nn.LSTMCell`.
    Shapes: input [n, input_size], states [n, hidden_size].
    Host:   returns at once.
    Raises: ArgumentError unless hx has two tensors, ArgumentTypeError for an argument that is not a tensor, ShapeError
            if the shapes do not fit, DtypeError if the dtypes differ.
    Example:
        >>> cell, zeros = torch.nn.LSTMCell(3, 5), torch.zeros(2, 5)
        >>> h, c = torch.lstm_cell(torch.ones(2, 3), [zeros, zeros], *cell.parameters())
        >>> h.shape
        torch.Size([2, 5])
    """
    states = checks.tensors("lstm_cell", "hx", hx)
    if len(states) != 2:
        raise ArgumentError(f"hx must have two states, got {len(states)}", hint="pass [h, c]", operator="lstm_cell")
    return _cell("LSTM", "lstm_cell", input, states, w_ih, w_hh, b_ih, b_hh)


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Compute one step of a GRU, and return the new state.

    hx: the state before the step.  w_ih, w_hh, b_ih, b_hh: the weights and biases of `nn.GRUCell`.
    Shapes: input [n, input_size]; hx and the result [n, hidden_size].
    Host:   returns at once.
    Raises: ArgumentTypeError for an argument that is not a tensor, ShapeError if the shapes do not fit, DtypeError if
            the dtypes differ.
    Example:
        >>> torch.gru_cell(torch.ones(2, 3), torch.zeros(2, 5), *torch.nn.GRUCell(3, 5).parameters()).shape
        torch.Size([2, 5])
    """
    return _cell("GRU", "gru_cell", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Compute one step of a recurrent layer: tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh).

    hx: the state before the step; the result is the state after it.
    Shapes: input [n, input_size]; hx and the result [n, hidden_size].
    Host:   returns at once.
    Raises: ArgumentTypeError for an argument that is not a tensor, ShapeError if the shapes do not fit, DtypeError if
            the dtypes differ.
    Example:
        >>> torch.rnn_tanh_cell(torch.ones(2, 3), torch.zeros(2, 5), *torch.nn.RNNCell(3, 5).parameters()).shape
        torch.Size([2, 5])
    """
    return _cell("RNN_TANH", "rnn_tanh_cell", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Compute one step of a recurrent layer: relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh).

    hx: the state before the step; the result is the state after it.
    Shapes: input [n, input_size]; hx and the result [n, hidden_size].
    Host:   returns at once.
    Raises: ArgumentTypeError for an argument that is not a tensor, ShapeError if the shapes do not fit, DtypeError if
            the dtypes differ.
    Example:
        >>> torch.rnn_relu_cell(torch.ones(2, 3), torch.zeros(2, 5), *torch.nn.RNNCell(3, 5).parameters()).shape
        torch.Size([2, 5])
    """
    return _cell("RNN_RELU", "rnn_relu_cell", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


# losses and embeddings


def _numbered(name: str, what: str, number: Any, values: Sequence[str]) -> str:
    if number not in range(len(values)) or isinstance(number, bool):
        numbers = ", ".join(f"{index} is {value!r}" for index, value in enumerate(values))
        raise ArgumentError(f"{what}={shown(number)} is unknown", hint=numbers, operator=name)
    return str(values[number])


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Compute the connectionist temporal classification loss: `nn.functional.ctc_loss` with a number for the reduction.

    reduction: 0 is "none" (the default), 1 is "mean", 2 is "sum".
    Shapes: log_probs [t, n, c] and targets [n, s], or all targets concatenated, give [n] with reduction 0, else ().
    Host: waits if the lengths are on a GPU.
    Raises: ArgumentError for an unknown reduction, ShapeError if the shapes or lengths do not fit, DtypeError for wrong
            dtypes, IndexRangeError for a label out of range on the CPU.
    Example:
        >>> logs = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
        >>> torch.ctc_loss(logs, torch.tensor([[1]]), [2], [1])
        tensor([0.2877])
    """
    how = _numbered("ctc_loss", "reduction", reduction, REDUCTIONS)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Return (result of `nn.functional.embedding_bag`, bag of each index, sizes of the bags, indices of the maxima).

    weight: a matrix.  indices: numbers of its rows.  offsets: the position in `indices` at which each bag begins.
    mode: how the rows of a bag are combined: 0 for the sum, 1 the mean, 2 the maximum.  The indices of the maxima are
        empty except in mode 2.
    scale_grad_by_freq: divide the gradient of each row by the number of its occurrences in indices; ignored by mode 2.
    sparse: must be False; gradients are dense.
    per_sample_weights: a factor for each index, with mode 0.  padding_idx: an index that bags leave out.
    include_last_offset: whether the last entry of `offsets` is the end of the last bag.
    Shapes: weight [rows, d], indices [n], offsets [b]; the results are [b, d], [n], [b], and [b, d] or [0].
    Host:   with mode 2, waits for the size of the longest bag; on the CPU, for the first offset.
    Raises: ArgumentError for another mode or offsets that do not fit, IndexRangeError for an index out of range on the
            CPU (a device-side assert on a GPU), DtypeError for indices that are not int32 or int64, NotSupportedError
            for sparse=True or per_sample_weights without mode 0.
    Example:
        >>> table = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        >>> torch.embedding_bag(table, torch.tensor([1, 2, 2]), torch.tensor([0, 2]))[:3]
        (tensor([[3., 3.],
                [2., 2.]]), tensor([0, 0, 1]), tensor([2, 1]))
    """
    how = _numbered("embedding_bag", "mode", mode, MODES)
    checks.flag("embedding_bag", "scale_grad_by_freq", scale_grad_by_freq)
    out = F.embedding_bag(
        indices, weight, offsets, None, 2, scale_grad_by_freq and how != "max", how, sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip
    starts = offsets[:-1] if include_last_offset else offsets
    places = REGISTRY["arange"](indices.new_empty(indices.shape))
    bag = REGISTRY["searchsorted"](starts, places, right=True).to(indices.dtype) - 1
    kept = (indices == indices if padding_idx is None else indices != padding_idx).to(indices.dtype)
    sizes = kept.new_zeros((out.shape[0],)).index_add(0, bag, kept)
    if how != "max":
        return out, bag, sizes, sizes.new_empty((0,))
    is_chosen = (weight.detach()[indices] == out.detach()[bag]) & kept.bool()[:, None]
    last = indices.shape[0]
    first = places[:, None].expand(is_chosen.shape).masked_fill(~is_chosen, last)
    first = first.new_full(out.shape, last).scatter_reduce(0, bag[:, None].expand(first.shape), first, "amin")
    chosen = REGISTRY["cat"]([indices, indices.new_zeros((1,))])[first]
    return out, bag, sizes, chosen

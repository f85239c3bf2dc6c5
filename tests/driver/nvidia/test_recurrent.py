"""cuDNN's recurrent layers, run by a stand-in that reads its descriptors and computes in NumPy on the host."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from flambeau import dtypes, errors
from flambeau.core.nvidia import Stream
from flambeau.driver.nvidia import dnn, recurrent
from flambeau.host import address_of, bytes_at
from flambeau.recurrent_operation import GATES, Recurrent, RecurrentBackward

STREAM = Stream(0, 0xABC, is_ours=True)
NOT_SUPPORTED, FAILED = 3001, 5000
WORKSPACE, RESERVE = 48, 80
TYPES = {number: dtype for dtype, number in dnn.DATA_TYPES.items()}
NAMES = {number: name for name, number in recurrent.MODES.items()}


class FakeRnn:
    """A stand-in for cuDNN: a descriptor is the list of its attributes; arguments have the order of cudnn_adv.h.

    shift: bytes that are added to the place of every bias.  fails: the status of a call, by its name.
    """

    def __init__(self):
        self.calls = []
        self.set = {}
        self.numbers = itertools.count(100)
        self.fails = {}
        self.shift = 0
        self.cudnnGetVersion = lambda: 91_900
        self.cudnnGetLastErrorString = lambda message, size: setattr(message, "value", b"because")

    def __getattr__(self, name):
        def call(*arguments):
            if name in recurrent.SIGNATURES:
                assert len(arguments) == len(recurrent.SIGNATURES[name]), name
            self.calls.append((name, arguments))
            if name in self.fails:
                return self.fails[name]
            if name.startswith("cudnnCreate"):
                arguments[0]._obj.value = next(self.numbers)
            elif name.startswith("cudnnSet"):
                self.set[arguments[0]] = [list(each) if hasattr(each, "_length_") else each for each in arguments[1:]]
            else:
                getattr(self, "_" + name.removeprefix("cudnn").lower())(*arguments)
            return 0

        return call

    def operation(self, rnn, x, is_training=True):
        algorithm, mode, bias, bidirectional, linear, kind, _, _, inputs, hidden, projected, layers, *_ = self.set[rnn]
        _, layout, length, batch, width, lengths, fill = self.set[x]
        assert (algorithm, linear, projected, width, fill) == (0, 0, hidden, inputs, None)
        assert len(lengths) == batch and max(lengths) == length and layout == (len(set(lengths)) > 1)
        sizes = tuple(sum(each > step for each in lengths) for step in range(length))
        shape = inputs, hidden, layers, 1 + bidirectional
        return Recurrent(NAMES[mode], TYPES[kind], sizes, *shape, bias == recurrent.DOUBLE_BIAS, is_training)

    def states(self, rnn, x, *described):
        of = self.operation(rnn, x)
        _, batch, hidden = of.state_shape
        for each in described:
            kind, ndim, shape, steps = self.set[each]
            assert (TYPES[kind], ndim, tuple(shape)) == (of.dtype, 3, of.state_shape)
            assert steps == [batch * hidden, hidden, 1]

    def array(self, of, address, *shape):
        held = bytes_at(address, math.prod(shape) * of.dtype.itemsize)
        return np.frombuffer(held, of.dtype.numpy).reshape(shape)

    def _setstream(self, handle, stream):
        self.stream = stream

    def _getrnntempspacesizes(self, handle, rnn, mode, x, workspace, reserve):
        workspace._obj.value, reserve._obj.value = WORKSPACE, RESERVE * mode

    def _getrnnweightspacesize(self, handle, rnn, found):
        *_, kind, _, _, inputs, hidden, _, layers, _, _ = self.set[rnn]
        _, mode, bias, bidirectional = self.set[rnn][:4]
        self.directions, self.gates = 1 + bidirectional, GATES[NAMES[mode]]
        self.widths = [inputs if layer == 0 else self.directions * hidden for layer in range(layers)]
        self.widths = [width for width in self.widths for _ in range(self.directions)]
        self.hidden, self.has_biases, self.itemsize = hidden, bias == recurrent.DOUBLE_BIAS, TYPES[kind].itemsize
        matrices = sum(self.gates * hidden * (width + hidden) for width in self.widths)
        biases = len(self.widths) * 2 * self.gates * hidden if self.has_biases else 0
        found._obj.value = (matrices + biases) * self.itemsize

    def _getrnnweightparams(self, handle, rnn, layer, size, base, part, m, matrix, b, bias):
        gates, hidden, widths = self.gates, self.hidden, self.widths
        at = sum(gates * hidden * (width + hidden) for width in widths[:layer])
        at += min(part, gates) * hidden * widths[layer] + max(part - gates, 0) * hidden * hidden
        matrix._obj.value = base + at * self.itemsize
        first = sum(gates * hidden * (width + hidden) for width in widths)
        place = base + (first + (layer * 2 * gates + part) * hidden) * self.itemsize + self.shift
        bias._obj.value = place if self.has_biases else None

    def _rnnforward(
        self, handle, rnn, mode, lengths, xd, x, yd, y, hd, hx, hy, cd, cx, cy, weight_size, weights, work_size, work,
        reserve_size, reserve,
    ):  # fmt: skip
        of = self.operation(rnn, xd, mode == recurrent.TRAINING)
        self.states(rnn, xd, hd, cd)
        assert (lengths, weight_size) == (None, of.weight_count * of.dtype.itemsize) and self.set[yd][4] == of.width
        assert (work_size, reserve_size) == (WORKSPACE, RESERVE * mode) and work and bool(reserve) == bool(mode)
        inputs = self.array(of, x, of.rows, of.input_size), self.array(of, hx, *of.state_shape)
        cells = [self.array(of, each, *of.state_shape) if each else None for each in (cx, cy)]
        out, last = self.array(of, y, of.rows, of.width), self.array(of, hy, *of.state_shape)
        of.reference(out, last, cells[1], None, *inputs, cells[0], self.array(of, weights, of.weight_count))

    def _rnnbackwarddata_v8(
        self, handle, rnn, lengths, yd, y, dy, xd, dx, hd, hx, dhy, dhx, cd, cx, dcy, dcx, weight_size, weights,
        work_size, work, reserve_size, reserve,
    ):  # fmt: skip
        of = self.operation(rnn, xd)
        self.states(rnn, xd, hd, cd)
        assert lengths is None and work and reserve and (work_size, reserve_size) == (WORKSPACE, RESERVE)
        rows = [(y, of.width), (dy, of.width), (dx, of.input_size)]
        out, grad, of_x = (self.array(of, each, of.rows, width) for each, width in rows)
        each = [self.array(of, at, *of.state_shape) if at else None for at in (hx, dhy, dhx, cx, dcy, dcx)]
        self.saved = of, each, out, grad, self.array(of, weights, of.weight_count)
        self.of_x = of_x

    def _rnnbackwardweights_v8(
        self, handle, rnn, add, lengths, xd, x, hd, hx, yd, y, weight_size, of_weights, work_size, work, reserve_size,
        reserve,
    ):  # fmt: skip
        of, (h_0, of_h_n, of_h, c_0, of_c_n, of_c), out, grad, weights = self.saved
        assert (add, lengths, weight_size) == (0, None, of.weight_count * of.dtype.itemsize)
        assert (hx, y) == (address_of(h_0), address_of(out)) and work and reserve
        RecurrentBackward(of).reference(
            self.of_x, of_h, of_c, self.array(of, of_weights, of.weight_count), None, grad, of_h_n, of_c_n, out,
            self.array(of, x, of.rows, of.input_size), h_0, c_0, weights,
        )  # fmt: skip


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    return FakeRnn()


@pytest.fixture
def planner(library):
    dnn.warn.cache_clear()
    return recurrent.RecurrentPlanner(dnn.Dnn(library, 0, "Fake GPU", "sm_90"))


def operation(mode="LSTM", kind=dtypes.float64, sizes=(3, 2, 2), layers=2, directions=2, **options):
    options = {"has_biases": True, "is_training": True} | options
    return Recurrent(mode, kind, sizes, 5, 4, layers, directions, **options)


def arrays(of):
    """(out, h_n, c_n, data, h_0, c_0, weights): zeros, and numbers."""
    random = np.random.default_rng(1)
    shapes = (of.rows, of.width), of.state_shape, of.state_shape
    made = [np.zeros(shape, of.dtype.numpy) for shape in shapes]
    for shape in ((of.rows, of.input_size), of.state_shape, of.state_shape, (of.weight_count,)):
        made.append(random.uniform(-1, 1, shape).astype(of.dtype.numpy))
    if not of.has_cells:
        made[2] = made[5] = None
    return made


def addresses(*operands):
    return tuple(0 if each is None else address_of(each) for each in operands)


CASES = [
    operation(),
    operation("GRU", dtypes.float32, (2, 2), layers=1),
    operation("RNN_TANH", has_biases=False, directions=1),
    operation("RNN_RELU", dtypes.float16, (1,), layers=1, directions=1, is_training=False),
]


@pytest.mark.parametrize("of", CASES, ids=lambda each: each.mode)
def test_the_calls_mean_what_the_operation_does(planner, library, of):
    out, h_n, c_n, *inputs = arrays(of)
    wanted = arrays(of)
    plan = planner.plan(of)
    assert (plan.workspace_nbytes, plan.reserve_nbytes) == (WORKSPACE, RESERVE * of.is_training)
    reserve, workspace = np.zeros(RESERVE, "uint8") if of.is_training else None, np.zeros(WORKSPACE, "uint8")
    plan.run(addresses(out, h_n, c_n, reserve, *inputs), address_of(workspace), STREAM)
    of.reference(*wanted[:3], None, *inputs)
    for found, want in zip((out, h_n, c_n), wanted):
        np.testing.assert_array_equal(found, want)
    if not of.is_training:
        return
    backward = planner.plan(RecurrentBackward(of))
    grads = [None if each is None else np.cos(each) for each in (out, h_n, c_n)]
    results, expected = ([None if each is None else np.zeros_like(each) for each in inputs] for _ in range(2))
    saved = *grads, out, *inputs
    backward.run(addresses(*results, reserve, *saved), address_of(workspace), STREAM)
    RecurrentBackward(of).reference(*expected, None, *saved)
    for found, want in zip(results, expected):
        assert found is want is None or np.abs(found).max() > 0
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("kind", "allow_tf32", "wanted"),
    [
        (dtypes.float64, True, (1, 1, recurrent.DEFAULT_MATH)),
        (dtypes.float32, True, (0, 0, recurrent.DEFAULT_MATH)),
        (dtypes.float32, False, (0, 0, recurrent.FMA_MATH)),
        (dtypes.float16, False, (2, 0, recurrent.TENSOR_OP_MATH)),
        (dtypes.bfloat16, True, (9, 0, recurrent.TENSOR_OP_MATH)),
    ],
)
def test_types_and_precision(planner, library, kind, allow_tf32, wanted):
    planner.plan(operation(kind=kind, allow_tf32=allow_tf32))
    (described,) = [each for name, (_, *each) in library.calls if name == "cudnnSetRNNDescriptor_v8"]
    assert tuple(described[5:8]) == wanted


@pytest.mark.parametrize("sizes", [(3, 3, 3), (3, 3, 2)])
def test_sequences_of_several_lengths_are_packed(planner, library, sizes):
    planner.plan(operation(sizes=sizes))
    (described,) = [each for name, (_, *each) in library.calls if name == "cudnnSetRNNDescriptor_v8"]
    layouts = {each[1] for name, (_, *each) in library.calls if name == "cudnnSetRNNDataDescriptor"}
    is_packed = sizes[-1] == 2
    assert (layouts, described[-1]) == ({int(is_packed)}, 0 if is_packed else 1)


def test_a_refusal_is_said_once_and_not_asked_for_again(planner, library):
    library.fails["cudnnSetRNNDescriptor_v8"] = NOT_SUPPORTED
    with (
        pytest.warns(RuntimeWarning, match="refuses a recurrent .*status 3001: because.*so recurrent layers run"),
        pytest.raises(errors.NotSupportedError),
    ):
        planner.plan(operation())
    library.calls.clear()
    with pytest.raises(errors.NotSupportedError, match="status 3001"):
        planner.plan(operation())  # a second warning would be an error here
    assert library.calls == []


def test_weights_that_lie_elsewhere_are_refused(planner, library):
    library.shift = 8
    with (
        pytest.warns(RuntimeWarning, match="part 0 of the weights of layer 0 lies at"),
        pytest.raises(errors.NotSupportedError),
    ):
        planner.plan(operation())


def test_a_refusal_of_a_run_is_said(planner, library):
    of = operation()
    plan = planner.plan(of)
    library.fails["cudnnRNNForward"] = NOT_SUPPORTED
    with pytest.warns(RuntimeWarning, match="refuses a recurrent"), pytest.raises(errors.NotSupportedError):
        plan.run(addresses(*arrays(of)[:3], None, *arrays(of)[3:]), 0, STREAM)


@pytest.mark.parametrize("name", [*recurrent.SIGNATURES])
def test_every_status_is_checked(planner, library, name):
    library.fails[name] = FAILED
    with pytest.raises(errors.AcceleratorError, match=f"{name}: cuDNN status 5000: because"):
        of = operation()
        for each in (of, RecurrentBackward(of)):
            plan = planner.plan(each)
            library._rnnforward = library._rnnbackwarddata_v8 = library._rnnbackwardweights_v8 = lambda *_: None
            plan.run((0,) * len(each.accesses((0,) * (13 if each is not of else 8))), 0, STREAM)


def test_plans_of_other_lengths_share_the_layers(planner, library):
    for sizes in ((3, 2), (4, 4, 1), (3, 3), (2,)):
        for of in (operation(sizes=sizes), operation(sizes=sizes, is_training=False)):
            planner.plan(of)
    names = [name for name, _ in library.calls]
    assert names.count("cudnnSetRNNDescriptor_v8") == 2  # packed, and not
    planner.plan(operation(sizes=(3, 2), layers=1))
    assert [name for name, _ in library.calls].count("cudnnSetRNNDescriptor_v8") == 3

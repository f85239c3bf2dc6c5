"""Recurrent layers and cells: against NumPy and each other, packed sequences, directions, state and text."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import recurrent_loops
from flambeau.nn.utils import rnn
from flambeau.testing import machine

RANDOM = np.random.default_rng(2)


def randn(*shape):
    return torch.tensor(RANDOM.standard_normal(shape))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_step(kind, net, x, h, c):
    """(h, c) of one step in NumPy."""
    weights = {name: each.detach().numpy() for name, each in net.named_parameters()}
    of_x = x @ weights["weight_ih"].T + weights["bias_ih"]
    of_h = h @ weights["weight_hh"].T + weights["bias_hh"]
    if kind == "RNN":
        return np.tanh(of_x + of_h), c
    if kind == "LSTM":
        i, f, g, o = np.split(of_x + of_h, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    (r, z, n), (hr, hz, hn) = np.split(of_x, 3, 1), np.split(of_h, 3, 1)
    z = sigmoid(z + hz)
    return (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h, c


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_a_layer_repeats_its_cell(kind):
    torch.manual_seed(0)
    cell = getattr(nn, f"{kind}Cell")(3, 4, dtype=torch.float64)
    net = getattr(nn, kind)(3, 4, dtype=torch.float64)
    net.load_state_dict({f"{name}_l0": each for name, each in cell.state_dict().items()})
    x, h, c = randn(5, 2, 3), randn(2, 4), randn(2, 4)
    expected, state = [], (h.numpy(), c.numpy())
    for each in x.numpy():
        state = one_step(kind, cell, each, *state)
        expected.append(state[0])
    first = cell(x[0], (h, c) if kind == "LSTM" else h)
    np.testing.assert_allclose((first[0] if kind == "LSTM" else first).detach().numpy(), expected[0])
    out, last = net(x, (h[None], c[None]) if kind == "LSTM" else h[None])
    np.testing.assert_allclose(out.detach().numpy(), expected)
    last = last if kind == "LSTM" else (last,)
    for found, wanted in zip(last, state):
        np.testing.assert_allclose(found[0].detach().numpy(), wanted)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_give_what_each_gives_alone(kind):
    torch.manual_seed(0)
    net = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True, dtype=torch.float64)
    lines = [randn(length, 3) for length in (2, 5, 1, 5)]
    out, last = net(rnn.pack_sequence(lines, enforce_sorted=False))
    last = last[0] if kind == "LSTM" else last
    for number, (line, found) in enumerate(zip(lines, rnn.unpack_sequence(out))):
        alone, end = net(line)
        assert torch.allclose(found, alone)
        assert torch.allclose(last[:, number], end[0] if kind == "LSTM" else end)


def test_the_second_direction_begins_at_the_end():
    torch.manual_seed(0)
    net = nn.GRU(3, 4, bidirectional=True, dtype=torch.float64)
    ahead = nn.GRU(3, 4, dtype=torch.float64)
    ahead.load_state_dict({name[: -len("_reverse")]: each for name, each in net.state_dict().items() if "rev" in name})
    x = randn(5, 2, 3)
    assert torch.allclose(net(x)[0][:, :, 4:], ahead(x.flip(0))[0].flip(0))


def test_layouts_and_projections():
    net = nn.LSTM(3, 5, num_layers=2, batch_first=True, bidirectional=True, proj_size=2)
    out, (h, c) = net(torch.ones(4, 7, 3))
    assert out.shape == (4, 7, 4) and h.shape == (4, 4, 2) and c.shape == (4, 4, 5)
    assert net.weight_hr_l1_reverse.shape == (2, 5) and net.weight_ih_l1.shape == (20, 4)
    out, (h, c) = net(torch.ones(7, 3))
    assert out.shape == (7, 4) and h.shape == (4, 2)
    assert [len(each) for each in net.all_weights] == [5] * 4
    out.sum().backward()
    assert all(each.grad is not None for each in net.parameters())


def test_dropout_acts_between_layers_in_training():
    net = nn.RNN(3, 4, num_layers=2, dropout=1.0)
    x = torch.ones(5, 2, 3)
    dropped = net(x)[0]
    assert not dropped.equal(net.eval()(x)[0])
    with pytest.warns(UserWarning, match="num_layers"):
        nn.RNN(3, 4, dropout=0.5)


def test_weights_start_within_their_bound():
    net = nn.LSTM(3, 16)
    assert all(each.abs().max().item() <= 1 / math.sqrt(16) for each in net.parameters())
    assert list(net.state_dict()) == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]


def test_texts():
    assert repr(nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2)) == (
        "LSTM(3, 5, proj_size=2, num_layers=2, bidirectional=True)"
    )
    assert repr(nn.RNNCell(3, 5, bias=False, nonlinearity="relu")) == "RNNCell(3, 5, bias=False, nonlinearity=relu)"


@pytest.mark.parametrize("kind", ["RNN", "LSTM"])
def test_the_second_bias_costs_nothing_per_step(kind):
    def launches(steps, bias):
        with machine(devices=1) as made:
            layer = getattr(nn, kind)(3, 4, bias=bias).cuda()
            layer(torch.ones(steps, 2, 3, device="cuda"))[0].sum().backward()
            return len(made.driver.log)

    assert launches(3, True) - launches(3, False) == launches(8, True) - launches(8, False)


@pytest.mark.parametrize(
    "body, values",
    [(lambda: nn.LSTM(0, 3), "LSTM: input_size .* 0"), (lambda: nn.GRU(3, 3, dropout=2), "GRU: dropout .* 2"),
     (lambda: nn.RNN(3, 3, nonlinearity="sin"), "RNN: .*'sin'"),
     (lambda: nn.LSTM(3, 4)(torch.ones(2, 2, 5)), r"LSTM: .* 3, got shape \[2, 2, 5\]"),
     (lambda: nn.GRU(3, 4)(torch.ones(2, 2, 3), torch.ones(1, 3, 4)), r"GRU: .*\(1, 2, 4\), got \[1, 3, 4\]"),
     (lambda: nn.GRU(3, 4)(torch.ones(2, 2, 3).double()), "GRU: .*float64.*float32"),
     (lambda: nn.LSTMCell(3, 4)(torch.ones(2, 5)), "LSTMCell: .* got 5, expected 3"),
     (lambda: rnn.pack_sequence([torch.ones(1), torch.ones(2)]), r"pack_padded_sequence: .*\[1, 2\]"),
     (lambda: rnn.pad_packed_sequence(rnn.pack_sequence([torch.ones(2)]), total_length=1), "sequence, 2, got 1")]
)  # fmt: skip
def test_what_does_not_fit_is_refused(body, values):
    with pytest.raises((ValueError, RuntimeError), match=values):
        body()


def all_values(kind, options, packed, create_graph):
    """Results and gradients of a network of two layers and directions."""
    torch.manual_seed(0)
    net = getattr(nn, kind)(3, 4, 2, bidirectional=True, dtype=torch.float64, **options)
    x = torch.randn(5, 3, 3, dtype=torch.float64, requires_grad=True)
    states = [torch.randn(4, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(1 + (kind == "LSTM"))]
    given = rnn.pack_padded_sequence(x, [3, 5, 2], enforce_sorted=False) if packed else x
    out, last = net(given, states[0] if kind != "LSTM" else tuple(states))
    found = [out.data if packed else out, *(last if kind == "LSTM" else (last,))]
    loss = sum((each * (index + 1.5)).sum() for index, each in enumerate(found))
    wanted = [*net.parameters(), x, *states]
    grads = torch.autograd.grad(loss, wanted, create_graph=create_graph)
    if create_graph:
        grads += torch.autograd.grad(sum((each * each).sum() for each in grads), wanted)
    return [each.detach().numpy() for each in (*found, *grads)]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"), [("RNN", {}), ("RNN", {"nonlinearity": "relu", "bias": False}), ("LSTM", {}), ("GRU", {})]
)
def test_loops_of_the_cpu_give_what_operators_give(kind, options, packed, create_graph, monkeypatch):
    found = all_values(kind, options, packed, create_graph)
    monkeypatch.setattr(recurrent_loops, "fits", lambda *operands: False)
    for each, expected in zip(found, all_values(kind, options, packed, create_graph), strict=True):
        np.testing.assert_allclose(each, expected, rtol=1e-10, atol=1e-12)


def test_a_layer_on_the_cpu_is_one_node_and_frees_what_it_saved():
    net = nn.LSTM(3, 4)
    out, _ = net(torch.ones(50, 2, 3))
    assert len(graph_of(out)) < 10
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()


def graph_of(tensor):
    """The nodes behind a tensor."""
    seen, left = set(), [tensor.grad_fn]
    while left:
        node = left.pop()
        if node is not None and node not in seen:
            seen.add(node)
            left += [each for each, _ in node.next_functions]
    return seen


def test_half_types_are_computed_by_operators():
    torch.manual_seed(0)
    net, x = nn.LSTM(3, 4), torch.randn(5, 2, 3)
    expected, _ = net(x)
    found, _ = net.bfloat16()(x.bfloat16())
    assert found.dtype is torch.bfloat16 and torch.allclose(found.float(), expected, atol=0.02)

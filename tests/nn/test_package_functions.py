"""Functions of the package that are made of layers compute what the layers do."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError, ShapeError

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN, "rnn_relu": nn.RNN}


def weights(layer):
    return [weight for each in layer.all_weights for weight in each]


def layer_of(name, **options):
    return LAYERS[name](3, 5, 2, **options | ({"nonlinearity": "relu"} if name == "rnn_relu" else {}))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("bias", "bidirectional", "batch_first"), [(True, False, True), (False, True, False)])
def test_recurrent_layers(name, bias, bidirectional, batch_first):
    layer = layer_of(name, bias=bias, bidirectional=bidirectional, batch_first=batch_first)
    x, h = torch.randn(4, 4, 3), torch.randn(4 if bidirectional else 2, 4, 5)
    hx = [h, h * 2] if name == "lstm" else h
    out, *last = getattr(torch, name)(x, hx, weights(layer), bias, 2, 0.0, False, bidirectional, batch_first)
    expected, state = layer(x, hx)
    assert out.equal(expected)
    assert all(one.equal(other) for one, other in zip(last, state if name == "lstm" else [state], strict=True))


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers_of_packed_sequences(name):
    layer, h = layer_of(name), torch.randn(2, 3, 5)
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(4, 3, 3), [4, 3, 1])
    hx = [h, h * 2] if name == "lstm" else h
    out, *last = getattr(torch, name)(packed.data, packed.batch_sizes, hx, weights(layer), True, 2, 0.0, False, False)
    expected, state = layer(packed, hx)
    assert out.equal(expected.data) and last[0].equal(state[0] if name == "lstm" else state)
    named = {"batch_sizes": packed.batch_sizes, "hx": hx, "params": weights(layer), "has_biases": True, "num_layers": 2}
    named |= {"dropout": 0.0, "train": False, "bidirectional": False}
    function = getattr(torch, name)
    every = [("data", packed.data), *named.items()]
    for count in range(5):
        args = [value for _, value in every[:count]]
        assert function(*args, **dict(every[count:]))[0].equal(out), count
    for wrong, fact in (
        ({"data": packed.data, **named, "train": False, "input": packed.data}, "got input beside 0 arguments"),
        ({"data": packed.data, **{each: value for each, value in named.items() if each != "hx"}}, "hx is missing"),
        ({"data": packed.data, **named, "batch_first": True}, "got batch_first"),
    ):
        with pytest.raises(TypeError, match=f"{name}: {fact}.*\nhint: .*batch_sizes, hx"):
            function(**wrong)
    with pytest.raises(TypeError, match="batch_sizes beside 2"):
        function(packed.data, packed.batch_sizes, **named)


def test_dropout_lies_between_layers():
    layer, x, h = nn.GRU(3, 5, 2, dropout=0.5), torch.randn(4, 2, 3), torch.zeros(2, 2, 5)
    torch.manual_seed(1)
    expected = layer(x, h)[0]
    torch.manual_seed(1)
    assert torch.gru(x, h, weights(layer), True, 2, 0.5, True, False, False)[0].equal(expected)
    torch.manual_seed(1)
    assert not torch.gru(x, h, weights(layer), True, 2, 0.5, False, False, False)[0].equal(expected)


def test_cells():
    x, h = torch.randn(2, 3), torch.randn(2, 5)
    cell = nn.LSTMCell(3, 5)
    for one, other in zip(torch.lstm_cell(x, [h, h], *cell.parameters()), cell(x, (h, h)), strict=True):
        assert one.allclose(other, atol=1e-6)
    for name, cell in (
        ("gru_cell", nn.GRUCell(3, 5)), ("rnn_tanh_cell", nn.RNNCell(3, 5)),
        ("rnn_relu_cell", nn.RNNCell(3, 5, nonlinearity="relu")),
    ):  # fmt: skip
        assert getattr(torch, name)(x, h, *cell.parameters()).allclose(cell(x, h), atol=1e-6)


def test_wrong_weights():
    layer, x, h = nn.GRU(3, 5), torch.ones(4, 2, 3), torch.zeros(1, 2, 5)
    with pytest.raises(ArgumentError, match="gru: 3 weights do not fit 1 layers, bidirectional=False, has_biases=True"):
        torch.gru(x, h, weights(layer)[:3], True, 1, 0.0, False, False, False)
    with pytest.raises(ArgumentTypeError, match="lstm: hx must be a pair"):
        torch.lstm(x, [h], weights(layer), True, 1, 0.0, False, False, False)


def test_wrong_shapes():
    layer, x, h = nn.LSTM(3, 5), torch.ones(4, 2, 3), torch.zeros(1, 2, 5)
    every, rest = weights(layer), (True, 1, 0.0, False, False, False)
    for data, state, params, fact in (
        (x[0], [h, h], every, r"input must have 3 dimensions, got shape \[2, 3\]"),
        (x[:, :1], [h, h], every, r"expected hx of shape \[1, 1, 5\], got \[1, 2, 5\]"),
        (x, [h, h[0]], every, r"expected hx of shape \[1, 2, 5\], got \[2, 5\]"),
        (x[..., :2], [h, h], every, r"\[20, 2\].*got \[\[20, 3\]"),
        (x, [h, h], [*every[:3], every[3][:5]], r"\[20\]\], got .*\[5\]\]"),
    ):
        with pytest.raises(ShapeError, match=f"lstm: .*{fact}"):
            torch.lstm(data, state, params, *rest)
    packed = nn.utils.rnn.pack_padded_sequence(x, [4, 3])
    with pytest.raises(ShapeError, match=r"lstm: expected hx of shape \[1, 2, 5\], got \[1, 1, 5\]"):
        torch.lstm(packed.data, packed.batch_sizes, [h[:, :1]] * 2, every, *rest[:-1])
    with pytest.raises(ArgumentTypeError, match="lstm: num_layers must be an int, got 'a'"):
        torch.lstm(x, [h, h], every, True, "a", *rest[2:])
    for data, state in ((x[0], h[0][:1]), (x[0][:1], h[0]), (x, h[0]), (x[0], h[0][:, :2])):
        with pytest.raises(ShapeError, match=r"lstm_cell: input .* do not fit"):
            torch.lstm_cell(data, [state, state], *every)


def test_losses_of_sequences():
    logs, targets = torch.randn(6, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 3]])
    for number, reduction in enumerate(("none", "mean", "sum")):
        expected = nn.functional.ctc_loss(logs, targets, [6, 5], [2, 1], 0, reduction)
        assert torch.ctc_loss(logs, targets, [6, 5], torch.tensor([2, 1]), 0, number).equal(expected)
        if reduction == "none":
            assert torch.ctc_loss(logs, targets, [6, 5], [2, 1]).equal(expected)
    with pytest.raises(ArgumentError, match="ctc_loss: reduction=3 is unknown"):
        torch.ctc_loss(logs, targets, [6, 5], [2, 1], 0, 3)


def test_bags_of_embeddings():
    weight = torch.tensor([[0.0, 9.0], [1.0, 5.0], [2.0, 1.0], [3.0, 3.0]])
    indices, offsets = torch.tensor([1, 2, 3, 2, 0]), torch.tensor([0, 2, 2])
    out, bags, sizes, chosen = torch.embedding_bag(weight, indices, offsets, mode=2)
    assert out.tolist() == [[2, 5], [0, 0], [3, 9]] and bags.tolist() == [0, 0, 2, 2, 2]
    assert sizes.tolist() == [2, 0, 3] and chosen.tolist() == [[2, 1], [0, 0], [3, 0]]
    out, bags, sizes, _ = torch.embedding_bag(weight, indices, offsets, padding_idx=2)
    assert out.tolist() == [[1, 5], [0, 0], [3, 12]] and sizes.tolist() == [1, 0, 2]
    assert torch.embedding_bag(weight, indices, torch.tensor([0, 2, 5]), include_last_offset=True)[0].shape == (2, 2)
    with pytest.raises(ArgumentError, match="embedding_bag: mode='sum' is unknown"):
        torch.embedding_bag(weight, indices, offsets, mode="sum")

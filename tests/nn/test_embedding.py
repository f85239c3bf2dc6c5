"""A table of vectors."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ShapeError


def test_rows_are_looked_up_and_their_gradients_added():
    net = nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), freeze=False)
    out = net(torch.tensor([[2, 0], [2, 2]]))
    assert out.tolist() == [[[5.0, 6.0], [1.0, 2.0]], [[5.0, 6.0], [5.0, 6.0]]]
    out.sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [3.0, 3.0]]


def test_the_padding_row_starts_at_zero_and_stays():
    net = nn.Embedding(3, 2, padding_idx=-1)
    assert net.padding_idx == 2
    assert net.weight[2].tolist() == [0.0, 0.0]
    assert net.weight[0].tolist() != [0.0, 0.0]
    net(torch.tensor([2, 0])).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert repr(net) == "Embedding(3, 2, padding_idx=2)"


def test_bad_arguments():
    with pytest.raises(ArgumentError, match="padding_idx 3 must be within num_embeddings 3"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(ShapeError, match=r"must have 2 dimensions, this is float32\[3\]"):
        nn.Embedding.from_pretrained(torch.ones(3))
    assert not nn.Embedding.from_pretrained(torch.ones(3, 1)).weight.requires_grad

"""Tensors cut into several: which parts they are, and that they share memory."""

import pytest

import flambeau as torch
from flambeau.errors import AutogradError, ShapeError, ValueRangeError


def lists(pieces):
    return [piece.tolist() for piece in pieces]


def test_sections_differ_by_one_at_most():
    x = torch.arange(7)
    assert lists(torch.tensor_split(x, 3)) == [[0, 1, 2], [3, 4], [5, 6]]
    assert lists(x.tensor_split(sections=9))[-3:] == [[6], [], []]
    assert lists(x.tensor_split(torch.tensor(2))) == [[0, 1, 2, 3], [4, 5, 6]]


def test_sizes_may_be_tensors():
    sizes = [torch.tensor(2), torch.tensor(1)]
    assert (
        lists(torch.arange(3).split(sizes))
        == lists(torch.arange(3.0, requires_grad=True).split(sizes))
        == [[0, 1], [2]]
    )


def test_positions_are_those_of_slices():
    x = torch.arange(4)
    assert lists(x.tensor_split((1, 3))) == [[0], [1, 2], [3]]
    assert lists(x.tensor_split(indices=[3, 1])) == [[0, 1, 2], [], [1, 2, 3]]
    assert lists(x.tensor_split(torch.tensor([-1, 9]))) == [[0, 1, 2], [3], []]


@pytest.mark.parametrize("cuts", [torch.tensor([1.0]), torch.tensor([1], dtype=torch.int32), torch.tensor([[1]])])
def test_cuts_are_int64(cuts):
    with pytest.raises(ValueRangeError, match="tensor_split: .*int64"):
        torch.arange(4).tensor_split(cuts)


def test_the_dimension_follows_from_the_name():
    x = torch.arange(24).reshape(2, 3, 4)
    assert [piece.shape for piece in x.hsplit(3)] == [(2, 1, 4)] * 3
    assert [piece.shape for piece in x.vsplit([1])] == [(1, 3, 4)] * 2
    assert [piece.shape for piece in x.dsplit(indices=(1, 2))] == [(2, 3, 1), (2, 3, 1), (2, 3, 2)]
    assert lists(torch.arange(4).hsplit(2)) == [[0, 1], [2, 3]]
    with pytest.raises(ShapeError, match="dsplit: .*dimension 2.*size of the dimension 4.*split_size 3"):
        x.dsplit(3)


def test_pieces_share_the_memory():
    x = torch.zeros(4)
    for piece, value in zip(x.tensor_split(2), (1, 2)):
        piece.fill_(value)
    assert x.tolist() == [1, 1, 2, 2]


def test_only_unsafe_pieces_may_be_written_in_a_graph():
    x = torch.ones(4, requires_grad=True)
    for name in ("tensor_split", "hsplit"):
        with pytest.raises(AutogradError, match="multiple views"):
            getattr(x * 1, name)(2)[0].mul_(2)
    for name, size in (("unsafe_split", 2), ("unsafe_chunk", 2), ("unsafe_split_with_sizes", (2, 2))):
        y = x * 1
        getattr(torch, name)(y, size)[1].mul_(3)
        x.grad = None
        y.sum().backward()
        assert x.grad.tolist() == [1, 1, 3, 3]

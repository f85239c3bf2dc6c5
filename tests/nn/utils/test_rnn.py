"""Padded and packed sequences."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn.utils import rnn


def test_padding_and_packing():
    lines = [torch.tensor([1, 2]), torch.tensor([3, 4, 5])]
    assert rnn.pad_sequence(lines).tolist() == [[1, 3], [2, 4], [0, 5]]
    assert rnn.pad_sequence(lines, True, -1, "left").tolist() == [[-1, 1, 2], [3, 4, 5]]
    packed = rnn.pack_sequence(lines, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 4, 2, 5] and packed.batch_sizes.tolist() == [2, 2, 1]
    assert packed.sorted_indices.tolist() == packed.unsorted_indices.tolist() == [1, 0]
    padded, lengths = rnn.pad_packed_sequence(packed, True, -1, total_length=4)
    assert padded.tolist() == [[1, 2, -1, -1], [3, 4, 5, -1]] and lengths.tolist() == [2, 3]
    assert packed.double().data.dtype is torch.float64 and packed.to("cpu") is packed
    found = rnn.unpad_sequence(padded, lengths, True)
    assert [each.tolist() for each in found] == [[1, 2], [3, 4, 5]]
    found[0].zero_()
    assert padded[0].tolist()[:2] == [1, 2]


def test_packing_has_a_gradient():
    x = torch.zeros(3, 2, requires_grad=True)
    data = rnn.pack_padded_sequence(x, torch.tensor([3, 1])).data
    (data * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [[1, 2], [3, 0], [4, 0]]


def test_packed_sequences_move(gpus):
    packed = rnn.pack_sequence([torch.ones(1, 3), torch.ones(4, 3)], enforce_sorted=False).cuda()
    assert packed.is_cuda and not packed.batch_sizes.is_cuda and packed.sorted_indices.is_cuda
    out, last = nn.GRU(3, 4).cuda()(packed)
    assert out.data.is_cuda and last.shape == (1, 2, 4) and not out.cpu().is_cuda


def test_packed_sequences_have_the_types_of_tensors():
    packed = rnn.pack_sequence([torch.tensor([1.5, 2.5]), torch.tensor([3.5])])
    for name in ("byte", "char", "short", "int", "long", "half", "float", "double"):
        found = getattr(packed, name)()
        assert found.data.dtype is getattr(torch.ones(1), name)().dtype, name
        assert found.data.tolist() == pytest.approx([1.5, 3.5, 2.5], abs=0.5) and found.batch_sizes.tolist() == [2, 1]


def test_wrong_lengths_and_sides_of_sequences():
    with pytest.raises(RuntimeError, match="pad_sequence: padding_side .* 'middle'"):
        rnn.pad_sequence([torch.ones(1)], padding_side="middle")
    with pytest.raises(TypeError, match="pack_padded_sequence: lengths must be a list of numbers, got 4"):
        rnn.pack_padded_sequence(torch.ones(4, 1), 4)


def test_padded_sequences_have_the_type_of_the_first():
    found = rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3.5])], batch_first=True)
    assert found.dtype is torch.int64 and found.tolist() == [[1, 2], [3, 0]]
    with pytest.raises(RuntimeError, match="pad_sequence: sequences must have at least 1 dimension"):
        rnn.pad_sequence([torch.ones(2), torch.tensor(1.0)])

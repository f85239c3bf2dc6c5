"""Parts of tensors: which elements they are, and whether they share memory."""

import pytest

import flambeau as torch
from flambeau.errors import AutogradError, ShapeError, ValueRangeError
from flambeau.ops.slicing import COPIES

CASES = {
    "as_strided_copy": ((2, 2), (1, 3)), "diagonal_copy": (1,), "expand_copy": ((2, 2, 3),), "narrow_copy": (1, 1, 2),
    "permute_copy": ((1, 0),), "select_copy": (1, 2), "split_copy": (2, 1), "split_with_sizes_copy": ((1, 2), 1),
    "transpose_copy": (0, 1), "unbind_copy": (1,), "unfold_copy": (1, 2, 1), "unsqueeze_copy": (0,),
    "view_copy": ((3, 2),),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(COPIES))
def test_a_copy_has_the_values_of_the_view(name):
    if name in ("alias_copy", "slice_copy"):
        pytest.skip("its view is no public function")
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    arguments = CASES.get(name, ())
    view = getattr(x, name.removesuffix("_copy"))(*arguments)
    copied = getattr(torch, name)(x, *arguments)
    pairs = zip(copied, view, strict=True) if isinstance(view, tuple) else [(copied, view)]
    for one, other in pairs:
        assert one.equal(other) and one.is_contiguous() and not one._is_view()
        assert one.untyped_storage() != x.untyped_storage()
        assert torch.autograd.grad(one.sum(), x)[0].equal(torch.autograd.grad(other.sum(), x, retain_graph=True)[0])


def test_a_view_as_another_type_is_copied():
    x = torch.tensor([1.0, 2.0])
    for copied in (torch.view_copy(x, torch.int32), torch.view_copy(x, dtype=torch.int32)):
        assert copied.tolist() == [0x3F800000, 0x40000000] and copied.untyped_storage() != x.untyped_storage()
    out = torch.empty(2, dtype=torch.int32)
    assert torch.view_copy(x, torch.int32, out=out) is out and out.tolist() == copied.tolist()


def test_a_copied_part_of_a_storage_counts_from_its_start(gpus):
    for device in ("cpu", "cuda"):
        x = torch.arange(6.0, device=device)
        for _ in range(2):
            assert torch.as_strided_copy(x[2:], (2,), (1,), 1).tolist() == [1, 2]
            assert torch.as_strided_copy(x[2:], (2,), (1,)).tolist() == [2, 3]


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

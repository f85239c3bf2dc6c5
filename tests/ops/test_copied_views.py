"""`<view>_copy` is the view in memory of its own."""

import pytest

import flambeau as torch
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

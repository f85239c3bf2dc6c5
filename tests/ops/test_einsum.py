"""Contractions: einsum in all its forms, tensordot, chains of products; values against NumPy."""

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    IndexRangeError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
)
from flambeau.nn.functional import grouped_mm
from flambeau.ops.einsum import linalg_cross, linalg_multi_dot, linalg_vecdot, parsed
from flambeau.testing import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(7)


def whole(*shape):
    return RANDOM.integers(-4, 5, shape).astype(np.float64)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("ij,jk->ki", [(2, 3), (3, 4)]), ("ij,jk,kl,l", [(2, 3), (3, 4), (4, 2), (2,)]), ("ii", [(3, 3)]),
     ("...ii->...i", [(2, 4, 3, 3)]), ("iji->ji", [(2, 3, 2)]), ("i,i,i->i", [(3,), (3,), (3,)]),
     ("a...,...b->b...a", [(2, 3, 4), (3, 4, 5)]), ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
     ("ab,cd->", [(2, 3), (4, 5)]), ("ab,b->", [(2, 3), (3,)]), (",i->i", [(), (3,)]), ("bA,Ab", [(2, 3), (3, 2)]),
     ("i...->...", [(2, 3, 4)]), ("i...,i...->i", [(2, 3), (2, 3)]), ("ij,kj->ikj", [(2, 3), (4, 3)]),
     (" i j , j -> i ", [(2, 3), (3,)])],
)  # fmt: skip
def test_einsum_agrees_with_numpy(equation, shapes):
    values = [whole(*shape) for shape in shapes]
    found = torch.einsum(equation, *map(torch.tensor, values))
    text = equation.replace(" ", "")
    if "..." in text and text.split("->")[1].count("...") == 0:
        text = text.replace("...", "xyz"[: max(np.ndim(value) for value in values) - 1])  # NumPy refuses to sum these
    np.testing.assert_array_equal(found.numpy(), np.einsum(text, *values))


def test_einsum_takes_operands_in_a_list_and_labels_as_numbers():
    a, b = torch.tensor(whole(2, 3)), torch.tensor(whole(3, 4))
    expected = (a @ b).tolist()
    assert torch.einsum("ij,jk->ik", [a, b]).tolist() == expected
    assert torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == expected
    assert torch.einsum(a, [0, 1], b, [1, 2]).tolist() == expected
    assert torch.einsum(a, [..., 1], b, [1, 51], [..., 51]).tolist() == expected


def test_sizes_of_one_broadcast():
    a, b = torch.ones(2, 1), torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert torch.einsum("ij,jk->ik", a, b).tolist() == [[9, 12], [9, 12]]
    assert torch.einsum("ij,jk->ijk", a, b).shape == (2, 3, 2)


def test_einsum_of_one_operand_without_a_sum_is_a_view():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.einsum("ij->ji", x).data_ptr() == x.data_ptr()
    assert torch.einsum("ij->ji", x).stride() == (1, 3)


def test_labels_of_an_ellipsis_come_first():
    assert parsed("i...j,...j", [3, 2]) == ([[34, -1, 35], [-1, 35]], [-1, 34])


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "ij,ij->j", "iij->j", "...i,i->..."])
def test_einsum_has_both_derivatives(equation):
    shapes = {"ij,jk,kl->il": [(2, 3), (3, 2), (2, 2)], "ij,ij->j": [(2, 3)] * 2, "iij->j": [(2, 2, 3)]}
    values = [torch.tensor(whole(*shape), requires_grad=True) for shape in shapes.get(equation, [(2, 3), (3,)])]
    assert gradcheck(lambda *each: torch.einsum(equation, *each), values)
    assert gradgradcheck(lambda *each: torch.einsum(equation, *each), values)


def test_wrong_labels():
    with pytest.raises(ArgumentError, match=r"einsum: .*label 52 .*\[0, 52\)"):
        torch.einsum(torch.ones(2), [52])
    with pytest.raises(ArgumentError, match="einsum: .*at least one operand, got 1"):
        torch.einsum("i")
    with pytest.raises(RuntimeError, match="einsum: .*invalid subscript"):
        torch.einsum("i.j", torch.ones(2, 2))
    with pytest.raises(DtypeError, match="einsum: .*float32 and float64"):
        torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(2, 2).double())


def test_integers_keep_their_type_in_products_and_widen_in_sums():
    x = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    assert torch.einsum("ij,jk->ik", x, x).dtype is torch.int32
    assert torch.einsum("ij->i", x).dtype is torch.int64
    assert torch.einsum("aij,ajk->ak", x[None], x[None]).tolist() == [[22, 32]]


def test_tensordot_agrees_with_numpy():
    a, b = whole(2, 3, 4), whole(4, 3, 5)
    x, y = torch.tensor(a), torch.tensor(b)
    for dims in (0, 1, ([1, 2], [1, 0]), ([-1], [0]), ([], [])):
        np.testing.assert_array_equal(torch.tensordot(x, y, dims=dims).numpy(), np.tensordot(a, b, dims))
    assert torch.tensordot(x, y, torch.tensor([[2, 1], [0, 1]])).shape == (2, 5)
    with pytest.raises(ArgumentError, match="tensordot: .*-1"):
        torch.tensordot(x, y, -1)
    with pytest.raises(ArgumentTypeError, match=r"tensordot: .*\(1, 0\)"):
        torch.tensordot(x, y, (1, 0))
    with pytest.raises(ShapeError, match=r"tensordot: .*a appears multiple times in \[0, 0\]"):
        torch.tensordot(x, x, ([0, 0], [0, 1]))


def test_a_cross_product_is_one_launch(gpus):
    x, y = torch.arange(12.0, device="cuda").view(4, 3), torch.ones(3, 4, device="cuda").t()
    assert counts.of(lambda: torch.cross(x, y, dim=1))["launch"] == 1
    out = x.clone()
    assert torch.linalg.cross(out, y, out=out).tolist() == torch.linalg.cross(x, y).tolist() == [[-1, 2, -1]] * 4


def test_cross_and_kron_agree_with_numpy():
    a, b = whole(4, 3), whole(1, 3)
    np.testing.assert_array_equal(linalg_cross(torch.tensor(a), torch.tensor(b)).numpy(), np.cross(a, b))
    assert torch.cross(torch.tensor(a), torch.tensor(b)).shape == (4, 3)
    square = torch.eye(3)
    assert torch.cross(square, square.roll(1, 0)).tolist() == torch.cross(square, square.roll(1, 0), 0).tolist()
    c = whole(2, 2, 3)
    np.testing.assert_array_equal(torch.kron(torch.tensor(a), torch.tensor(c)).numpy(), np.kron(a, c))
    assert linalg_vecdot(torch.tensor(a), torch.tensor(b), dim=0).tolist() == (a * b).sum(0).tolist()


def test_a_chain_is_multiplied_in_the_cheapest_order(gpus):
    matrices = [torch.tensor(whole(*shape)) for shape in ((10, 2), (2, 30), (30, 3), (3, 8))]
    expected = np.linalg.multi_dot([each.numpy() for each in matrices])
    np.testing.assert_array_equal(linalg_multi_dot(matrices).numpy(), expected)
    np.testing.assert_array_equal(torch.chain_matmul(*matrices).numpy(), expected)
    with pytest.raises(ShapeError, match="chain_matmul: matrix 0 must have 2 dimensions"):
        torch.chain_matmul(torch.ones(2), torch.ones(2, 2))


def test_sums_of_products_do_not_read_the_input_if_beta_is_zero():
    nothing = torch.tensor(float("nan"))
    vector, matrix = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    batch = matrix.reshape(1, 2, 2)
    assert torch.addmv(nothing, matrix, vector, beta=0).tolist() == [5, 11]
    assert torch.addr(nothing, vector, vector, beta=0, alpha=2).tolist() == [[2, 4], [4, 8]]
    assert torch.addbmm(nothing, batch, batch, beta=0).tolist() == [[7, 10], [15, 22]]
    assert torch.baddbmm(nothing, batch, batch, beta=0).tolist() == [[[7, 10], [15, 22]]]


def test_sums_of_products_in_place():
    total = torch.ones(2, 2)
    ones = torch.ones(3, 2, 2)
    assert total.addmm_(ones[0], ones[0], beta=2).tolist() == [[4, 4], [4, 4]]
    assert total.addbmm_(ones, ones).tolist() == [[10, 10], [10, 10]]
    assert total.addr_(ones[0, 0], ones[0, 0], alpha=2).tolist() == [[12, 12], [12, 12]]
    assert torch.ones(2).addmv_(ones[0], ones[0, 0], beta=0).tolist() == [2, 2]
    assert torch.ones(3, 2, 2).baddbmm_(ones, ones).tolist() == [[[3, 3], [3, 3]]] * 3
    with pytest.raises(ShapeError, match=r"addmv_: .*\[1\]"):
        torch.ones(1).addmv_(ones[0], ones[0, 0])


OFFSETS = torch.tensor([1, 3], dtype=torch.int32)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_groups_in_every_form(gpus, device):
    offsets = OFFSETS.to(device)
    rows, columns = (torch.arange(8.0, device=device).reshape(shape) for shape in ((4, 2), (2, 4)))
    batch = torch.arange(12.0, device=device).reshape(2, 2, 3)
    made = grouped_mm(rows, batch, offs=offsets)
    assert made.tolist() == [*(rows[:1] @ batch[0]).tolist(), *(rows[1:3] @ batch[1]).tolist(), [0.0] * 3]
    made = grouped_mm(batch.mT, columns, offs=offsets)
    parts = [batch[0].mT @ columns[:, :1], batch[1].mT @ columns[:, 1:3], torch.zeros(3, 1, device=device)]
    assert made.tolist() == torch.cat(parts, 1).tolist()
    made = grouped_mm(columns, rows, offs=offsets)
    assert made.tolist() == torch.stack([columns[:, :1] @ rows[:1], columns[:, 1:3] @ rows[1:3]]).tolist()
    assert grouped_mm(batch.mT, batch).tolist() == (batch.mT @ batch).tolist()


def test_gradients_of_groups():
    rows, experts = torch.ones(3, 2, requires_grad=True), torch.ones(2, 2, 2, requires_grad=True)
    grouped_mm(rows, experts, offs=OFFSETS).sum().backward()
    assert rows.grad.tolist() == [[2.0, 2.0]] * 3 and experts.grad[:, 0, 0].tolist() == [1.0, 2.0]


def test_options_of_groups_that_are_not_there():
    with pytest.raises(NotSupportedError, match="grouped_mm: bias .*torch.float64"):
        grouped_mm(torch.ones(3, 2), torch.ones(2, 2, 2), offs=OFFSETS, out_dtype=torch.float64)


def test_a_sum_of_one_operand_is_a_view_and_not_the_operand():
    x = torch.ones(2, 3)
    for equation in ("ij->ij", "ij", "...->..."):
        found = torch.einsum(equation, x)
        assert found is not x and found.data_ptr() == x.data_ptr() and found._is_view()
    found.t_()
    assert x.shape == (2, 3)


def test_vectors_without_dimensions_are_refused():
    with pytest.raises(IndexRangeError, match="linalg.cross: tensors without dimensions"):
        linalg_cross(torch.tensor(1.0), torch.tensor(1.0))
    with pytest.raises(ValueRangeError, match="linalg.multi_dot: .* 1"):
        linalg_multi_dot([torch.ones(2, 2)])

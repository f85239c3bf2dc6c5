"""Embedding: rows by index, the gradient in the order of the indexes, indexes out of range, one_hot."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import AcceleratorError, ArgumentError, ArgumentTypeError, DtypeError, IndexRangeError, ShapeError
from flambeau.nn import functional as F
from flambeau.ops import embedding as module
from flambeau.ops.embedding import embedding, embedding_backward, one_hot
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine

DEVICE_ASSERT = 710
TABLE = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("kind", [dtypes.int64, dtypes.int32])
@pytest.mark.parametrize("indexes", [[2, 0, 2], [[1, 3], [0, 0]], 3, np.zeros((2, 0), np.int64)])
def test_rows_by_index(kind, indexes):
    found = embedding(tensor(indexes, dtype=kind), tensor(TABLE))
    assert found.tolist() == TABLE[np.array(indexes)].tolist()


def test_any_layout():
    seen = tensor(np.ascontiguousarray(TABLE.T)).transpose(0, 1)
    index = tensor([[0, 1], [2, 3]]).transpose(0, 1)
    assert embedding(index, seen).tolist() == TABLE[[[0, 2], [1, 3]]].tolist()


def test_gradient_adds_up_and_skips_the_padding_row():
    weight = tensor(TABLE, requires_grad=True)
    index = tensor([2, 0, 2, 3])
    (embedding(index, weight, padding_idx=-1) * tensor([[1.0], [2.0], [3.0], [4.0]])).sum().backward()
    assert weight.grad.tolist() == [[2.0] * 3, [0.0] * 3, [4.0] * 3, [0.0] * 3]


def test_gradient_is_summed_in_float32_in_the_order_of_the_indexes():
    values = np.array([[1e8], [1.0], [-1e8], [1.0]], np.float32)
    index = tensor([0, 0, 0, 0])
    assert embedding_backward(tensor(values), index, 1).item() == 1.0  # ((1e8 + 1) - 1e8) + 1 in float32
    half = tensor(np.ones((4096, 1)), dtype=dtypes.bfloat16)
    total = embedding_backward(half, tensor(np.zeros(4096, np.int64)), 1)
    assert (total.dtype, total.item()) == (dtypes.bfloat16, 4096)


def test_gradient_agrees_with_numpy_for_many_indexes():
    random = np.random.default_rng(6)
    index, grad = random.integers(0, 50, 3000), random.integers(-9, 9, (3000, 5)).astype(np.float64)
    expected = np.zeros((50, 5))
    np.add.at(expected, index, grad)
    assert embedding_backward(tensor(grad), tensor(index), 50).tolist() == expected.tolist()


def test_derivatives():
    weight = tensor(TABLE, requires_grad=True)
    assert gradcheck(lambda w: embedding(tensor([[1, 3], [1, 0]]), w), [weight])
    grad = tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    assert gradcheck(lambda g: embedding_backward(g, tensor([1, 3, 1]), 4, 3), [grad])


@pytest.mark.parametrize("bad", [4, -1])
def test_an_index_outside_the_table(bad):
    text = rf"embedding: index out of range in self: index {bad} at position \[1\] is out of range for 4 embeddings"
    with pytest.raises(IndexRangeError, match=text):
        embedding(tensor([0, bad]), tensor(TABLE))
    with machine(devices=1):
        found = embedding(tensor([0, bad], device="cuda"), tensor(TABLE, device="cuda"))  # returns at once
        with pytest.raises(AcceleratorError) as caught:
            found.cpu()
        assert caught.value.error_code == DEVICE_ASSERT


def test_wide_tables_use_more_than_one_block_of_columns():
    width = 2 * module.THREADS + 3
    grad = np.ones((5, width), np.float32)
    index = tensor([1, 1, 0, 1, 2])
    on_cpu = embedding_backward(tensor(grad), index, 3)
    assert on_cpu.numpy()[:, -1].tolist() == [1, 3, 1]
    with machine(devices=1):
        found = embedding_backward(tensor(grad, device="cuda"), index.to("cuda"), 3)
        assert found.cpu().numpy().tobytes() == on_cpu.numpy().tobytes()


def test_one_hot():
    assert one_hot(tensor([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert one_hot(tensor([[1], [0]])).tolist() == [[[0, 1]], [[1, 0]]]
    assert one_hot(tensor(1)).dtype is dtypes.int64
    assert one_hot(tensor(np.zeros(0, np.int64)), 2).shape == (0, 2)
    with pytest.raises(IndexRangeError, match=r"index 3 at position \[1\] is out of range for 3 classes"):
        one_hot(tensor([0, 3]), 3)
    with pytest.raises(ArgumentError, match="cannot infer the number of classes from an empty tensor"):
        one_hot(tensor(np.zeros(0, np.int64)))


def test_errors_name_every_value():
    with pytest.raises(DtypeError, match="embedding: input must be int64 or int32, got float32"):
        embedding(tensor([1.0]), tensor(TABLE))
    with pytest.raises(ShapeError, match=r"embedding: weight must have 2 dimensions, got shape \[12\]"):
        embedding(tensor([1]), tensor(TABLE.ravel()))
    with pytest.raises(ArgumentError, match=r"padding_idx must lie in \[-4, 3\], got 4"):
        embedding(tensor([1]), tensor(TABLE), 4)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode):
    table = np.random.default_rng(0).standard_normal((6, 3))
    bags = [[1, 2], [], [4, 2, 2, 5], [1]]
    join = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    expected = [join(table[bag], axis=0) if bag else np.zeros(3) for bag in bags]
    flat, starts = tensor([index for bag in bags for index in bag]), tensor([0, 2, 2, 6])
    found = F.embedding_bag(flat, tensor(table), starts, mode=mode)
    np.testing.assert_allclose(found.numpy(), expected)
    found = F.embedding_bag(flat, tensor(table), tensor([0, 2, 2, 6, 7]), mode=mode, include_last_offset=True)
    np.testing.assert_allclose(found.numpy(), expected)
    found = F.embedding_bag(tensor([[1, 2], [4, 5]]), tensor(table), mode=mode)
    np.testing.assert_allclose(found.numpy(), [join(table[[1, 2]], axis=0), join(table[[4, 5]], axis=0)])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_padding_is_left_out_of_a_bag(mode):
    table = tensor([[1.0], [-5.0], [3.0]], requires_grad=True)
    lines = F.embedding_bag(tensor([[1, 2], [2, 2]]), table, mode=mode, padding_idx=2)
    flat = F.embedding_bag(tensor([1, 2, 2, 2]), table, tensor([0, 2]), mode=mode, padding_idx=2)
    assert lines.tolist() == flat.tolist() == [[-5], [0]]
    lines.sum().backward()
    assert table.grad.tolist() == [[0], [1], [0]]


def test_weights_of_a_bag():
    table, weights = tensor([[1.0], [2.0]]), tensor([[0.5, 4.0]], requires_grad=True)
    found = F.embedding_bag(tensor([[0, 1]]), table, mode="sum", per_sample_weights=weights)
    found.backward()
    assert found.tolist() == [[8.5]] and weights.grad.tolist() == [[1, 2]]


def test_an_embedding_bag_layer():
    net = torch.nn.EmbeddingBag.from_pretrained(tensor([[3.0, 4.0], [0.0, 1.0]]), max_norm=1.0, mode="sum")
    assert not net.weight.requires_grad
    np.testing.assert_allclose(net(tensor([[0, 1]])).numpy(), [[0.6, 1.8]], rtol=1e-6)
    assert repr(torch.nn.EmbeddingBag(4, 3, padding_idx=-1)) == "EmbeddingBag(4, 3, mode='mean', padding_idx=3)"
    assert torch.nn.EmbeddingBag(4, 3, padding_idx=1).weight[1].tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="offsets.0. has to be 0, got 1"):
        F.embedding_bag(tensor([0, 1]), tensor([[1.0], [2.0]]), tensor([1]))


def test_rows_are_scaled_in_place(device):
    table = torch.tensor([[3.0, 4.0], [6.0, 8.0], [0.3, 0.4]], device=device)
    assert torch.embedding_renorm_(table, torch.tensor([[1, 2], [1, 2]], device=device), 5.0, 2.0) is table
    assert torch.allclose(table.cpu(), torch.tensor([[3.0, 4.0], [3.0, 4.0], [0.3, 0.4]]))


THIRD = 1 / 3


@pytest.mark.parametrize("padding, expected", [(None, [1.5, 2.5, 10 * THIRD, 0.0]), (2, [1.5, 2.5, 0.0, 0.0])])
@pytest.mark.parametrize("kind", [dtypes.int64, dtypes.int32])
def test_gradients_of_rows_are_divided_by_their_occurrences(device, kind, padding, expected):
    """The gradients are PyTorch's."""
    index = torch.tensor([[0, 2, 2], [0, 1, 2]], dtype=kind, device=device)
    weights = torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.5, 5.0]], device=device).unsqueeze(-1)

    def slope(lookup):
        table = torch.ones(4, 2, device=device, requires_grad=True)
        (lookup(table) * weights).sum().backward()
        columns = table.grad.cpu().T
        assert columns[0].equal(columns[1])
        return columns[0].tolist()

    found = slope(lambda table: F.embedding(index, table, padding, scale_grad_by_freq=True))
    assert found == pytest.approx(expected)
    number = -1 if padding is None else padding
    assert slope(lambda table: torch.embedding(table, index, number, True)) == found
    net = torch.nn.Embedding.from_pretrained(
        torch.ones(4, 2, device=device), False, padding, scale_grad_by_freq=True, max_norm=9.0
    )
    (net(index) * weights).sum().backward()
    assert net.weight.grad.cpu()[:, 0].tolist() == found
    net = torch.nn.Embedding(4, 2, padding, scale_grad_by_freq=True, device=device)
    (net(index) * weights).sum().backward()
    assert net.weight.grad.cpu()[:, 0].tolist() == found


BAG_SLOPES = {  # the derivatives of rows 0 to 3, for gradients of 1 and 2 of the bags [0, 2, 2] and [0, 1, 2]
    ("sum", None): [1.5, 2.0, 4 * THIRD, 0.0],
    ("mean", None): [0.5, 2 * THIRD, 4 / 9, 0.0],
    ("sum", 0): [0.0, 2.0, 4 * THIRD, 0.0],
    ("mean", 0): [0.0, 1.0, 2 * THIRD, 0.0],
}


@pytest.mark.parametrize("mode, padding", list(BAG_SLOPES))
def test_gradients_of_bags_are_divided_by_the_occurrences_of_each_row(device, mode, padding):
    lines = torch.tensor([[0, 2, 2], [0, 1, 2]], device=device)
    flat, grad = lines.flatten(), torch.tensor([[1.0, 1.0], [2.0, 2.0]], device=device)
    for index, starts, has_end in (
        (lines, None, False),
        (flat, torch.tensor([0, 3], device=device), False),
        (flat, torch.tensor([0, 3, 6], device=device), True),
    ):
        net = torch.nn.EmbeddingBag.from_pretrained(
            torch.ones(4, 2, device=device), False, None, 2.0, True, mode, False, has_end, padding
        )
        net(index, starts).backward(grad)
        columns = net.weight.grad.cpu().T
        assert columns[0].equal(columns[1])
        assert columns[0].tolist() == pytest.approx(BAG_SLOPES[mode, padding])
        if starts is not None:
            table = torch.ones(4, 2, device=device, requires_grad=True)
            found = torch.embedding_bag(
                table, index, starts, True, ["sum", "mean"].index(mode), False, None, has_end, padding
            )
            found[0].backward(grad)
            assert table.grad.equal(net.weight.grad)


def test_factors_of_a_bag_are_not_divided_by_occurrences(device):
    index = torch.tensor([[1, 2], [1, 1]], device=device)
    factors = torch.tensor([[0.5, 4.0], [1.0, 3.0]], device=device, requires_grad=True)
    table = torch.tensor([[9.0], [1.0], [2.0]], device=device, requires_grad=True)
    F.embedding_bag(index, table, mode="sum", per_sample_weights=factors, scale_grad_by_freq=True).sum().backward()
    assert table.grad.tolist() == [[0.0], [1.5], [4.0]]
    assert factors.grad.tolist() == [[1.0, 2.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    "lookup, shape",
    [
        (lambda index, table: F.embedding(index, table, scale_grad_by_freq=True), (2, 3, 3)),
        (lambda index, table: F.embedding(index, table, 0, scale_grad_by_freq=True), (2, 3, 3)),
        (lambda index, table: F.embedding_bag(index, table, mode="sum", scale_grad_by_freq=True), (2, 3)),
        (lambda index, table: F.embedding_bag(index, table, None, None, 2, True, padding_idx=0), (2, 3)),
    ],
)
def test_derivatives_of_gradients_divided_by_occurrences(device, lookup, shape):
    index = torch.tensor([[1, 3, 1], [1, 0, 3]], device=device)
    table = torch.tensor(TABLE, device=device, requires_grad=True)
    values = np.random.default_rng(3).standard_normal(shape)
    grad = torch.tensor(values, device=device, requires_grad=True)
    assert gradcheck(lambda g: torch.autograd.grad(lookup(index, table), table, g, create_graph=True)[0], [grad])


def test_half_types_are_divided_before_they_are_summed():
    table = torch.ones(2, 1, dtype=torch.float16, requires_grad=True)
    found = F.embedding(tensor([0, 0, 0]), table, scale_grad_by_freq=True)
    found.backward(torch.full((3, 1), 60000.0, dtype=torch.float16))
    assert table.grad.dtype is torch.float16 and table.grad.tolist() == [[60000.0], [0.0]]


def test_options_of_gradients_that_do_not_fit():
    index, table = tensor([[0, 1]]), torch.ones(2, 2)
    for wrong in (1, None, "x"):
        with pytest.raises(ArgumentTypeError, match="embedding: scale_grad_by_freq must be a bool"):
            F.embedding(index, table, scale_grad_by_freq=wrong)
        with pytest.raises(ArgumentTypeError, match="embedding: scale_grad_by_freq must be a bool"):
            torch.embedding(table, index, -1, wrong)
        with pytest.raises(ArgumentTypeError, match="embedding_bag: scale_grad_by_freq must be a bool"):
            F.embedding_bag(index, table, scale_grad_by_freq=wrong)
        for mode in (0, 2):
            with pytest.raises(ArgumentTypeError, match="embedding_bag: scale_grad_by_freq must be a bool"):
                torch.embedding_bag(table, index[0], tensor([0]), wrong, mode)
        for layer in (torch.nn.Embedding, torch.nn.EmbeddingBag):
            with pytest.raises(ArgumentTypeError, match=f"{layer.__name__}: scale_grad_by_freq must be a bool"):
                layer(2, 2, scale_grad_by_freq=wrong)
    with pytest.raises(ArgumentError, match="embedding_bag: mode 'max' does not support scale_grad_by_freq"):
        F.embedding_bag(index, table, mode="max", scale_grad_by_freq=True)
    plain, scaled = (torch.embedding_bag(table, index[0], tensor([0]), option, 2)[0] for option in (False, True))
    assert plain.equal(scaled)
    assert repr(torch.nn.Embedding(4, 3, 1, scale_grad_by_freq=True)) == (
        "Embedding(4, 3, padding_idx=1, scale_grad_by_freq=True)"
    )
    assert repr(torch.nn.EmbeddingBag(4, 3, scale_grad_by_freq=True)) == (
        "EmbeddingBag(4, 3, scale_grad_by_freq=True, mode='mean')"
    )

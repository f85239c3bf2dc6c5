"""Arguments of operators by PyTorch's names, and those that choose another way to compute."""

import math

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, ArgumentTypeError, DtypeError, NotSupportedError

NUMERATORS, DENOMINATORS = [7, -7, 7, -7, 6, 0], [2, 2, -2, -2, 3, 5]
ROUNDED = {"floor": [3, -4, -4, 3, 2, 0], "trunc": [3, -3, -3, 3, 2, 0]}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("kind", [torch.int8, torch.int64, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ROUNDED)
def test_division_that_rounds_keeps_the_type(mode, kind, device, gpus):
    a, b = torch.tensor(NUMERATORS, dtype=kind, device=device), torch.tensor(DENOMINATORS, dtype=kind, device=device)
    for found in (torch.div(a, b, rounding_mode=mode), a.divide(b, rounding_mode=mode), a.div(b, rounding_mode=mode)):
        assert found.dtype is kind and found.tolist() == ROUNDED[mode]
    assert torch.div(a, 2, rounding_mode=mode).tolist() == [
        {"floor": math.floor, "trunc": math.trunc}[mode](each / 2) for each in NUMERATORS
    ]
    a.div_(b, rounding_mode=mode)
    assert a.tolist() == ROUNDED[mode]


def test_division_that_rounds_at_its_bounds():
    least = torch.tensor([-(2**63)])
    assert torch.div(least, 2, rounding_mode="trunc").item() == -(2**62)
    assert torch.div(torch.tensor([5, -5]), 0, rounding_mode="trunc").tolist() == [0, 0], "as all division by 0"
    assert torch.div(torch.tensor([250], dtype=torch.uint8), 7, rounding_mode="trunc").item() == 35
    x = torch.tensor([5.0, -5.0], requires_grad=True)
    assert torch.div(x, 0.0, rounding_mode="trunc").tolist() == [math.inf, -math.inf]
    torch.div(x, 2.0, rounding_mode="floor").sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    x.grad = None
    torch.div(x, 2.0, rounding_mode=None).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="div: .*rounding_mode.*'up'"):
        torch.div(x, 2, rounding_mode="up")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_round_to_decimals(device, gpus):
    x = torch.tensor([1.25, -2.675, 1234.5678, 0.05], dtype=torch.float64, device=device)
    assert torch.round(x, decimals=1).tolist() == pytest.approx([1.2, -2.7, 1234.6, 0.0])
    assert x.round(decimals=-2).tolist() == [0.0, 0.0, 1200.0, 0.0] and x.round(decimals=0).equal(x.round())
    y = x.clone().round_(decimals=3)
    assert y.tolist() == pytest.approx([1.25, -2.675, 1234.568, 0.05])
    with pytest.raises(DtypeError, match="round: .*decimals.*int64"):
        torch.round(torch.tensor([1]), decimals=1)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_scatter_of_a_value_and_by_adding(device, gpus):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    index = torch.tensor([[0, 0], [2, 1]], device=device)
    assert x.scatter(1, index, value=9.0).tolist() == torch.scatter(x, 1, index, 9.0).tolist()
    found = x.scatter(1, index, torch.ones(2, 2, device=device), reduce="add")
    assert found.tolist() == [[2.0, 1.0, 2.0], [3.0, 5.0, 6.0]]
    y = x.clone().scatter_(1, index, 2, reduce="add")
    assert y.tolist() == [[4.0, 1.0, 2.0], [3.0, 6.0, 7.0]]
    source = torch.ones(2, 2, device=device, requires_grad=True)
    weight = torch.tensor([[2.0, 0.0, 0.0], [0.0, 3.0, 4.0]], device=device)
    base = x.clone().requires_grad_()
    (base.scatter(1, index, source, reduce="add") * weight).sum().backward()
    assert source.grad.tolist() == [[2.0, 2.0], [4.0, 3.0]] and base.grad.tolist() == weight.tolist()


def test_scatter_by_multiplying_and_ways_that_do_not_exist():
    x, index = torch.ones(3, requires_grad=True), torch.tensor([0, 0])
    product = x.scatter(0, index, 2.0, reduce="multiply")
    assert product.tolist() == [4.0, 1.0, 1.0]
    with pytest.raises(NotSupportedError, match="scatter: reduce='multiply' has no derivative"):
        product.sum().backward()
    with pytest.raises(RuntimeError, match="scatter: .*'mean'"):
        x.scatter(0, index, 2.0, reduce="mean")


def test_gradients_of_gather_are_dense():
    x = torch.ones(3, requires_grad=True)
    torch.gather(x, 0, torch.tensor([1]), sparse_grad=True).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_names_that_another_parameter_has_here():
    x, y = torch.tensor([[1.0, 5.0], [4.0, 2.0]]), torch.tensor([[3.0, 3.0], [3.0, 3.0]])
    assert torch.max(x, other=y).tolist() == x.max(other=y).tolist() == [[3.0, 5.0], [4.0, 3.0]]
    assert torch.min(x, other=y).tolist() == x.min(other=y).tolist() == [[1.0, 3.0], [3.0, 2.0]]
    assert [each.tolist() for each in x.split(split_size=1)] == [[[1.0, 5.0]], [[4.0, 2.0]]]
    assert len(torch.split(tensor=x, split_size_or_sections=[1, 1], dim=1)) == 2
    assert torch.lerp(input=x, end=y, weight=0.5).tolist() == [[2.0, 4.0], [3.5, 2.5]]
    assert set(torch.zeros(50).random_(to=2).tolist()) == {0.0, 1.0}
    assert set(torch.zeros(50).random_(**{"from": 5, "to": 7}).tolist()) == {5.0, 6.0}
    drawn = torch.zeros(50).uniform_(**{"from": 2, "to": 3})
    assert drawn.min().item() >= 2 and drawn.max().item() < 3
    with pytest.raises(ArgumentTypeError, match="max: got an unexpected keyword argument 'other'"):
        x.max(1, other=y)


def test_aliases_are_methods_too():
    x = torch.tensor([1.0, -4.0])
    for alias, name in {"multiply": "mul", "subtract": "sub", "true_divide": "div", "divide": "div"}.items():
        assert getattr(x, alias)(2).equal(getattr(x, name)(2)) and alias == getattr(torch, alias).__name__
        assert getattr(x.clone(), f"{alias}_")(2).equal(getattr(x, name)(2))
    assert x.absolute().equal(x.abs()) and x.negative().equal(-x) and x.clip(0, 1).equal(x.clamp(0, 1))
    with pytest.raises(ArgumentTypeError, match="multiply: argument 'other'"):
        x.multiply("2")


def test_a_dimension_of_numpys_is_no_second_operand():
    np = pytest.importorskip("numpy")
    x = torch.tensor([[1.0, 5.0], [4.0, 2.0]])
    assert x.max(np.int64(1)).values.tolist() == [5.0, 4.0] and x.min(np.int64(0)).indices.tolist() == [0, 1]


def test_repeat_interleave_checks_the_size_that_is_expected():
    x = torch.arange(2)
    assert x.repeat_interleave(2, output_size=4).tolist() == [0, 0, 1, 1]
    with pytest.raises(ArgumentError, match="repeat_interleave: .*output_size.*5.*4"):
        x.repeat_interleave(2, 0, output_size=5)


def test_functions_of_the_package_that_differ_from_those_of_nn():
    table, rows = torch.arange(6.0).reshape(3, 2), torch.tensor([2, 0])
    assert torch.embedding(table, rows).tolist() == [[4.0, 5.0], [0.0, 1.0]]
    table.requires_grad_()
    torch.embedding(weight=table, indices=rows, padding_idx=2).sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(NotSupportedError, match="embedding: sparse"):
        torch.embedding(table, rows, -1, False, True)
    x, target = torch.tensor([0.5, -1.0]), torch.tensor([1.0, 0.0])
    twice = torch.tensor(2.0)
    functional = torch.nn.functional.binary_cross_entropy_with_logits
    for number, reduction in enumerate(("none", "mean", "sum")):
        found = torch.binary_cross_entropy_with_logits(x, target, None, twice, number)
        assert found.tolist() == functional(x, target, pos_weight=twice, reduction=reduction).tolist()
    assert torch.dropout(x, 0.5, train=False) is x and torch.dropout(x, p=0.5, train=True).shape == (2,)
    assert torch.layer_norm(x, (2,), None, None, 1e-5, False).equal(torch.nn.functional.layer_norm(x, (2,)))
    assert torch.norm(x, 2, 0, False, None, torch.float64).dtype is torch.float64
    assert x.norm(2, 0, False, torch.float64).dtype is torch.float64
    out = torch.empty(())
    assert torch.norm(x, out=out) is out and out.item() == pytest.approx(1.25**0.5)


def test_types_that_two_promote_to():
    assert torch.promote_types(type1=torch.int8, type2=torch.uint8) is torch.int16
    assert torch.promote_types(float, int) is torch.float64 and torch.promote_types(bool, torch.int8) is torch.int8
    with pytest.raises(ArgumentTypeError, match="promote_types: type2 must be a torch.dtype, got 'float32'"):
        torch.promote_types(torch.int8, "float32")

"""Saved values: results may be written before backward if the derivative does not use them, as in PyTorch."""

import pytest

import flambeau as torch
from flambeau.errors import AutogradError
from flambeau.nn import functional as F

CLASSES = torch.tensor([1, 0])
ONES = torch.ones(2, 2)
WRITABLE = {
    "cross_entropy": lambda x: F.cross_entropy(x, CLASSES),
    "cross_entropy of each": lambda x: F.cross_entropy(x, CLASSES, reduction="none"),
    "nll_loss": lambda x: F.nll_loss(x, CLASSES),
    "layer_norm": lambda x: F.layer_norm(x, (2,)),
    "max": lambda x: x.max(1)[0],
    "min": lambda x: x.min(0)[0],
    "sort": lambda x: x.sort(1)[0],
    "topk": lambda x: x.topk(1)[0],
    "var": lambda x: x.var(1),
    "dropout": lambda x: F.dropout(x, 1e-9),
    "mse_loss": lambda x: F.mse_loss(x, ONES),
    "linear": lambda x: F.linear(x, x),
    "cumsum": lambda x: x.cumsum(0),
}
REFUSED = {
    "prod": lambda x: x.prod(),
    "prod of rows": lambda x: x.prod(1),
    "norm": lambda x: x.norm(),
    "std": lambda x: x.std(1),
    "amax": lambda x: x.amax(1),
    "max of all": lambda x: x.max(),
    "softmax": lambda x: x.softmax(1),
    "exp": lambda x: x.exp(),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.half().repeat(1, 1, 1, 4)] * 3),
}
CHOICES = {
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(0),
    "sort": lambda x: x.sort(1),
    "topk": lambda x: x.topk(1),
}


def leaf():
    return torch.tensor([[1.0, 1.5], [2.0, 3.0]], requires_grad=True)


@pytest.mark.parametrize("name", WRITABLE)
def test_a_result_that_the_derivative_does_not_use_may_be_written(name):
    x, other = leaf(), leaf()
    y = WRITABLE[name](x)
    y += 0.5
    y.sum().backward()
    WRITABLE[name](other).sum().backward()
    assert torch.equal(x.grad, other.grad) and x.grad.shape == (2, 2)


@pytest.mark.parametrize("name", REFUSED)
def test_a_result_that_the_derivative_uses_may_not_be_written(name):
    x = leaf()
    y = REFUSED[name](x)
    y += 0.5
    with pytest.raises(AutogradError, match="modified by an inplace operation.*version 1; expected version 0"):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("name", CHOICES)
def test_indices_of_what_was_chosen_may_not_be_written(name):
    values, indices = CHOICES[name](leaf())
    indices += 0
    with pytest.raises(AutogradError, match=r"modified by an inplace operation: int64\["):
        values.sum().backward()


def test_a_product_has_first_and_second_derivatives_with_and_without_zeros():
    for values in ([2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 0.0, 4.0]):
        x = torch.tensor(values, requires_grad=True)
        (first,) = torch.autograd.grad(x.prod(), [x], create_graph=True)
        a, b, c = values
        assert first.tolist() == [b * c, a * c, a * b]
    x = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    (first,) = torch.autograd.grad(x.prod(), [x], create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), [x])
    assert second.tolist() == [7.0, 6.0, 5.0]

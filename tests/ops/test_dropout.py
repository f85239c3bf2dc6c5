"""Dropout: what is kept, scaled and differentiated."""

import math

import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.ops.random import masked_scale
from flambeau.testing import gradcheck

FLOATING = [each.name for each in dtypes.FLOATING_TYPES]


@pytest.mark.parametrize("kind", FLOATING)
def test_dropout_keeps_scales_and_gives_the_gradient_to_what_is_kept(kind):
    x = torch.ones(2000, dtype=getattr(dtypes, kind), requires_grad=True)
    y = torch.dropout(x, 0.25, True)
    kept = y.detach().double()
    assert sorted(set(kept.tolist())) == [0.0, float(torch.tensor(1 / 0.75, dtype=getattr(dtypes, kind)).item())]
    assert (kept != 0).double().mean().item() == pytest.approx(0.75, abs=0.05)
    y.backward(torch.ones_like(y))
    assert x.grad.tolist() == y.tolist()


def test_dropout_at_the_ends():
    x = torch.tensor([1.0, math.inf, math.nan])
    assert torch.dropout(x, 0.0, True) is x
    assert torch.dropout(x, 0.5, False) is x
    assert torch.dropout(x, 1.0, True).tolist() == [0.0, 0.0, 0.0]
    assert torch.dropout(torch.tensor([1]), 0.5, False).tolist() == [1]


def test_dropout_may_be_written_in_place_and_differentiated_twice():
    x = torch.ones(50, requires_grad=True)
    y = torch.dropout(x, 0.5, True)
    mask = y.tolist()
    y.mul_(3).sum().backward()
    assert x.grad.tolist() == [each * 3 for each in mask]
    z = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([True, False])
    assert gradcheck(lambda each: masked_scale(each, mask, 2.0), [z])

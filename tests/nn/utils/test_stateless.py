"""The former functional_call."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import utils


def test_the_former_functional_call_warns():
    with pytest.warns(FutureWarning, match=r"torch\.func\.functional_call"):
        values = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
        assert utils.stateless.functional_call(nn.Linear(1, 1), values, torch.tensor([[3.0]])).item() == 7.0

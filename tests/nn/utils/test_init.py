"""Modules without initialization."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import (
    ArgumentTypeError,
    ModeError,
)
from flambeau.nn import utils


def test_a_module_without_initialization_draws_nothing():
    torch.manual_seed(0)
    made = utils.skip_init(nn.Linear, 2, 3, bias=False)
    assert (made.weight.shape, torch.rand(1).item()) == ((3, 2), pytest.approx(0.4962566))
    with pytest.raises(ModeError, match="ReLU must support a 'device'"):
        utils.skip_init(nn.ReLU)
    with pytest.raises(ArgumentTypeError, match="got 3"):
        utils.skip_init(3)

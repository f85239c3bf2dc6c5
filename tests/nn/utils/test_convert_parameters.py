"""Parameters as one vector."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import (
    ShapeError,
)
from flambeau.nn import utils


def test_parameters_as_one_vector():
    net = nn.Linear(2, 1)
    vector = utils.parameters_to_vector(net.parameters())
    assert vector.tolist() == [*net.weight.tolist()[0], net.bias.item()]
    utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), net.parameters())
    assert (net.weight.tolist(), net.bias.tolist()) == ([[1.0, 2.0]], [3.0])
    with pytest.raises(ShapeError, match=r"the vector is float32\[2\] on cpu, the parameters have 3"):
        utils.vector_to_parameters(torch.ones(2), net.parameters())

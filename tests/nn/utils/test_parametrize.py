"""Parametrizations: tensors computed from others, their inverses, copies and errors."""

import copy
import pickle

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, DtypeError, ModeError
from flambeau.nn.utils import parametrize
from flambeau.nn.utils.parametrize import register_parametrization, remove_parametrizations


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


class Product(nn.Module):
    """A matrix as a product of a column and a row."""

    def forward(self, column, row):
        return column * row

    def right_inverse(self, x):
        return x[:, :1].clone(), x[:1] / x[0, 0]


def test_a_tensor_is_computed_from_its_original_and_can_be_set():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    layer.weight = torch.tensor([[1.0, 2.0], [2.0, 3.0]])
    assert layer.parametrizations.weight.original.tolist() == [[1.0, 2.0], [0.0, 3.0]]
    layer(torch.ones(1, 2)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[1.0, 2.0], [0.0, 1.0]]
    register_parametrization(layer, "weight", Exp())
    assert layer.weight[0, 0].item() == pytest.approx(2.718282) and len(layer.parametrizations.weight) == 2
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")


def test_a_block_computes_a_tensor_once():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    assert layer.weight is not layer.weight
    with parametrize.cached():
        with parametrize.cached():
            first = layer.weight
        assert layer.weight is first
    assert layer.weight is not first


def test_parametrizations_are_removed():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    original = layer.parametrizations.weight.original
    value = layer.weight.tolist()
    remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is original and layer.weight.tolist() == value
    assert list(layer.state_dict()) == ["bias", "weight"] and not hasattr(layer, "parametrizations")
    norm = register_parametrization(nn.BatchNorm1d(1), "running_var", Exp())
    remove_parametrizations(norm, "running_var", leave_parametrized=False)
    assert dict(norm.named_buffers())["running_var"].tolist() == [0.0]


def test_several_originals():
    layer = nn.Linear(2, 2)
    layer.weight.data = torch.tensor([[2.0, 4.0], [3.0, 6.0]])
    register_parametrization(layer, "weight", Product())
    assert layer.weight.tolist() == [[2.0, 4.0], [3.0, 6.0]]
    assert layer.parametrizations.weight.original1.tolist() == [[1.0, 2.0]]
    layer.weight = torch.tensor([[1.0, 5.0], [2.0, 10.0]])
    assert layer.parametrizations.weight.original0.tolist() == [[1.0], [2.0]]
    with pytest.raises(ArgumentError, match="computed from 2 tensors"):
        remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert isinstance(remove_parametrizations(layer, "weight").weight, nn.Parameter)


def test_copies_and_transfers():
    layer = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    made = copy.deepcopy(layer)
    assert made.weight.tolist() == layer.weight.tolist()
    assert made.parametrizations.weight.original is not layer.parametrizations.weight.original
    other = parametrize.transfer_parametrizations_and_params(layer, nn.Linear(2, 2))
    assert other.parametrizations.weight.original is layer.parametrizations.weight.original
    plain = nn.Linear(2, 2)
    assert parametrize.transfer_parametrizations_and_params(nn.Linear(2, 2), plain) is plain
    assert not parametrize.is_parametrized(plain)
    with pytest.raises(ModeError, match="state_dict"):
        pickle.dumps(layer)


class Narrow(nn.Module):
    def forward(self, x):
        return x[:1]


class Doubled(nn.Module):
    def forward(self, x):
        return x.double()


class Wrong(nn.Module):
    def __init__(self, result, inverse):
        super().__init__()
        self.result, self.inverse = result, inverse

    def forward(self, *x):
        return x[0] if self.result is None else self.result

    def right_inverse(self, x):
        return self.inverse


@pytest.mark.parametrize(
    ("parametrization", "words"),
    [
        (Narrow, "another shape"), (Doubled, "another dtype"), (lambda: Wrong(3, torch.ones(2, 2)), "int: 3"),
        (lambda: Wrong(None, 3), "int: 3"), (lambda: Wrong(None, (torch.ones(1), 3)), "element 1 is int"),
        (lambda: Wrong(None, torch.ones(2, 2).double()), "may not change the type"),
    ],
)  # fmt: skip
def test_results_that_do_not_fit(parametrization, words):
    layer = nn.Linear(2, 2)
    with pytest.raises(ArgumentError, match=words):
        register_parametrization(layer, "weight", parametrization())
    assert list(layer.state_dict()) == ["weight", "bias"]
    register_parametrization(layer, "weight", nn.Identity())
    with pytest.raises(ArgumentError):
        register_parametrization(layer, "weight", parametrization())
    assert len(layer.parametrizations.weight) == 1
    with pytest.raises(ModeError, match="Identity does not implement right_inverse"):
        layer.weight = torch.zeros(2, 2)


def test_tensors_that_are_not_there():
    with pytest.raises(ArgumentError, match="Linear has no parameter, buffer or parametrized tensor 'nothing'"):
        register_parametrization(nn.Linear(2, 2), "nothing", nn.Identity())
    with pytest.raises(ArgumentError, match="Linear has no parametrization of 'weight'"):
        remove_parametrizations(nn.Linear(2, 2), "weight")
    with pytest.raises(ArgumentError, match="one or more modules"):
        parametrize.ParametrizationList([], nn.Parameter(torch.ones(1)))


def test_a_wrong_type_in_right_inverse_is_an_error_and_no_missing_inverse():
    class Wrong(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x > 0 if x.dtype is torch.bool else -(x > 0)

    class Missing(Wrong):
        def right_inverse(self, x):
            raise NotImplementedError

    layer = nn.Linear(2, 2)
    with pytest.raises(DtypeError, match="neg: "):
        register_parametrization(layer, "weight", Wrong())
    before = layer.weight.detach().clone()
    register_parametrization(layer, "weight", Missing())
    assert layer.parametrizations.weight.original.equal(before)

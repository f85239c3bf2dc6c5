"""Parametrizations of PyTorch: orthogonal matrices, and arguments that do not fit."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, IndexRangeError, ModeError, NotSupportedError
from flambeau.nn.utils import parametrizations


@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 4)])
@pytest.mark.parametrize("map", [None, "matrix_exp", "cayley", "householder"])
def test_orthogonal_matrices(shape, map):
    torch.manual_seed(0)
    layer = parametrizations.orthogonal(nn.Linear(*shape).double(), orthogonal_map=map)
    with torch.no_grad():
        layer.parametrizations.weight.original.add_(torch.randn(*shape[::-1], dtype=torch.float64).tril(-1))
    weight = layer.weight if shape[0] <= shape[1] else layer.weight.mT
    assert torch.allclose(weight.mT @ weight, torch.eye(min(shape), dtype=torch.float64))
    target = nn.init.orthogonal_(torch.empty(*shape[::-1], dtype=torch.float64))
    layer.weight = target
    assert torch.allclose(layer.weight, target)


def test_orthogonal_without_trivialization():
    plain = parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="householder", use_trivialization=False)
    target = nn.init.orthogonal_(torch.empty(2, 2))
    plain.weight = target
    assert torch.allclose(plain.weight, target, atol=1e-6)
    exponential = parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotSupportedError, match="cayley"):
        exponential.weight = target


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: parametrizations.orthogonal(nn.Linear(2, 2), "nothing"), ArgumentError, "'nothing'"),
        (lambda: parametrizations.orthogonal(nn.Linear(2, 2), "bias"), ArgumentError, "matrix"),
        (lambda: parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr"), ArgumentError, "'qr'"),
        (lambda: parametrizations.spectral_norm(nn.Linear(2, 2), "nothing"), ArgumentError, "'nothing'"),
        (lambda: parametrizations.spectral_norm(nn.Linear(2, 2), dim=5), IndexRangeError, "-2 to 1, got 5"),
        (lambda: parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0), ArgumentError, "got 0"),
        (lambda: nn.utils.spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2))), ModeError, "two spectral_norm"),
        (lambda: nn.utils.spectral_norm(nn.ReLU()), ArgumentError, "'weight'"),
        (lambda: nn.utils.remove_spectral_norm(nn.Linear(2, 2)), ArgumentError, "not found in Linear"),
        (lambda: nn.utils.remove_weight_norm(nn.Linear(2, 2)), ArgumentError, "not found in Linear"),
    ],
)
def test_arguments_that_do_not_fit(call, error, words):
    with pytest.raises(error, match=words):
        call()

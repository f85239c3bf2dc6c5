"""Transforms: inverses, determinants, shapes, and transforms of parts."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau.autograd.functional import jacobian
from flambeau.distributions import (
    Normal,
    TransformedDistribution,
    constraints,
    transforms,
)
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    IndexRangeError,
    NotSupportedError,
    ShapeError,
)
from tests.distributions.needs import needs

X = torch.tensor([[0.3, -1.2, 0.8], [2.0, 0.1, -0.4]], dtype=torch.float64)
BIJECTIONS = {
    "exp": transforms.ExpTransform(), "sigmoid": transforms.SigmoidTransform(), "tanh": transforms.TanhTransform(),
    "softplus": transforms.SoftplusTransform(), "affine": transforms.AffineTransform(1.0, -2.0),
    "vector affine": transforms.AffineTransform(torch.zeros(3), torch.tensor([1.0, -2.0, 0.5]), event_dim=1),
    "composed": transforms.ComposeTransform([transforms.AffineTransform(1.0, 2.0), transforms.SigmoidTransform()]),
    "stick": transforms.StickBreakingTransform(), "correlations": transforms.CorrCholeskyTransform(),
    "independent": transforms.IndependentTransform(transforms.ExpTransform(), 1),
    "reshape": transforms.ReshapeTransform((3,), (1, 3)), "inverse": transforms.ExpTransform().inv.inv,
    "cat": transforms.CatTransform([transforms.ExpTransform(), transforms.TanhTransform()], -1, [1, 2]),
    "stack": transforms.StackTransform([transforms.ExpTransform()] * 3, -1),
}  # fmt: skip


PRODUCTS = needs("cumprod")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=PRODUCTS) if name in ("stick", "correlations") else name for name in BIJECTIONS]
)
def test_an_inverse_undoes_a_bijection(name):
    transform = BIJECTIONS[name]
    y = transform(X)
    np.testing.assert_allclose(transform.inv(y).numpy(), X.numpy(), rtol=1e-6, atol=1e-9)
    assert transform.bijective and transform.inv.inv == transform
    assert y.shape == transform.forward_shape(X.shape) and X.shape == transform.inverse_shape(y.shape)
    assert transform.codomain.check(y).all()


@pytest.mark.parametrize("name", [name for name in BIJECTIONS if name not in ("stick", "correlations", "reshape")])
def test_the_determinant_is_that_of_the_jacobian(name):
    transform, x = BIJECTIONS[name], X[0]
    y = transform(x)
    expected = jacobian(transform, x).det().abs().log().item()
    assert transform.log_abs_det_jacobian(x, y).sum().item() == pytest.approx(expected, abs=1e-6)


@PRODUCTS
def test_the_determinant_of_breaking_a_stick_leaves_the_last_part_out():
    transform = BIJECTIONS["stick"]
    y = transform(X[0])
    expected = jacobian(lambda x: transform(x)[:3], X[0]).det().log().item()
    assert transform.log_abs_det_jacobian(X[0], y).item() == pytest.approx(expected, abs=1e-6)
    assert y.sum().item() == pytest.approx(1)


def test_a_cache_keeps_the_argument():
    transform = transforms.ExpTransform(cache_size=1)
    y = transform(X)
    assert transform.inv(y) is X and transform(X) is y
    assert transforms.ExpTransform().with_cache().inv.inv._cache_size == 1


def test_transforms_that_are_no_bijections():
    assert transforms.AbsTransform()(X).tolist() == X.abs().tolist()
    assert transforms.SoftmaxTransform()(X).sum(-1).tolist() == pytest.approx([1, 1])
    matrix = torch.tensor([[0.5, 9.0], [1.0, -1.0]], dtype=torch.float64)
    lower = transforms.LowerCholeskyTransform()(matrix)
    assert lower.tolist() == [[math.exp(0.5), 0], [1.0, pytest.approx(math.exp(-1))]]
    definite = transforms.PositiveDefiniteTransform()(matrix)
    np.testing.assert_allclose(definite.numpy(), (lower @ lower.mT).numpy())
    assert constraints.positive_definite.check(definite).item()
    with pytest.raises(NotSupportedError, match="AbsTransform: sign"):
        _ = transforms.AbsTransform().sign
    with pytest.raises(ArgumentError, match=r"ReshapeTransform: .*\[3\].*\[2\]"):
        transforms.ReshapeTransform((3,), (2,))


def test_equality():
    assert transforms.ExpTransform() == transforms.ExpTransform() != transforms.TanhTransform()
    assert transforms.AffineTransform(0, 1) == transforms.AffineTransform(0, 1) != transforms.AffineTransform(0, 2)
    assert transforms.ExpTransform().inv == transforms.ExpTransform().inv


@PRODUCTS
def test_a_transformed_distribution():
    base = Normal(torch.zeros(3, dtype=torch.float64), 1.0)
    found = TransformedDistribution(base, [transforms.AffineTransform(1.0, -2.0), transforms.ExpTransform()])
    value = torch.tensor([0.5, 1.0, 4.0], dtype=torch.float64)
    x = (1 - value.log()) / 2
    np.testing.assert_allclose(found.log_prob(value).numpy(), (base.log_prob(x) - (2 * value).log()).numpy())
    np.testing.assert_allclose(found.cdf(value).numpy(), (1 - base.cdf(x)).numpy())
    assert found.expand((2, 3)).batch_shape == (2, 3) and repr(found.support) == "GreaterThan(lower_bound=0.0)"
    vector = TransformedDistribution(base, transforms.StickBreakingTransform())
    assert (vector.batch_shape, vector.event_shape) == ((), (4,)) and vector.rsample((2,)).shape == (2, 4)


def test_a_nan_of_the_diagonal_stays_there():
    y = torch.tensor([[-1.0, 0.0], [2.0, 1.0]])
    x = transforms.LowerCholeskyTransform().inv(y)
    assert x.isnan().tolist() == [[True, False], [False, False]]
    assert x[1].tolist() == [2, 0]


def test_transforms_of_parts_take_tensors_of_their_size():
    exp, x = transforms.ExpTransform(), torch.ones(2, 4)
    for name, part in (
        ("CatTransform", transforms.CatTransform([exp], 0, [1])),
        ("StackTransform", transforms.StackTransform([exp], 0)),
    ):
        with pytest.raises(ShapeError, match=rf"^{name}: dimension 0 must have size 1, got shape \[2, 4\]"):
            part(x)
    for name, constraint in (("cat", constraints.cat([constraints.real])), ("stack", constraints.stack([exp.domain]))):
        with pytest.raises(ShapeError, match=rf"^{name}: dimension 0 must have size 1, got shape \[2, 4\]"):
            constraint.check(x)
    with pytest.raises(IndexRangeError, match=r"^StackTransform: dimension 9 is out of range for shape \[2, 4\]"):
        transforms.StackTransform([exp], 9)(x)
    with pytest.raises(ArgumentError, match="^CatTransform: there are 1 transforms and 2 lengths"):
        transforms.CatTransform([exp], 0, [1, 2])


def test_wrong_parts_and_parameters_are_refused():
    exp, breaking = transforms.ExpTransform(), transforms.StickBreakingTransform()
    corr = transforms.CorrCholeskyTransform()
    utils = torch.distributions.utils
    for error, name, call in (
        (ArgumentError, "ExpTransform", lambda: exp.with_cache(3)),
        (ArgumentTypeError, "ComposeTransform", lambda: transforms.ComposeTransform(3)),
        (ArgumentTypeError, "ComposeTransform", lambda: transforms.ComposeTransform([3])),
        (ArgumentTypeError, "IndependentTransform", lambda: transforms.IndependentTransform(3, 1)),
        (ArgumentError, "IndependentTransform", lambda: transforms.IndependentTransform(exp, -1)),
        (ArgumentTypeError, "AffineTransform", lambda: transforms.AffineTransform("a", 1.0)),
        (ArgumentTypeError, "CumulativeDistributionTransform", lambda: transforms.CumulativeDistributionTransform(3)),
        (ArgumentTypeError, "independent", lambda: constraints.independent(3, 1)),
        (ArgumentTypeError, "cat", lambda: constraints.cat([3])),
        (ArgumentError, "StickBreakingTransform", lambda: breaking(torch.tensor(1.0))),
        (ArgumentError, "StickBreakingTransform", lambda: breaking.inverse_shape(())),
        (ArgumentError, "CorrCholeskyTransform", lambda: corr.forward_shape(())),
        (ArgumentError, "Dirichlet", lambda: torch.distributions.Dirichlet(3.0)),
        (ArgumentError, "Chi2", lambda: torch.distributions.Chi2("a")),
        (DtypeError, "clamp_probs", lambda: utils.clamp_probs(torch.ones(2, dtype=torch.int64))),
        (ArgumentTypeError, "probs_to_logits", lambda: utils.probs_to_logits("a")),
        (ShapeError, "tril_matrix_to_vec", lambda: utils.tril_matrix_to_vec(torch.ones(2, 4))),
        (ShapeError, "vec_to_tril_matrix", lambda: utils.vec_to_tril_matrix(torch.ones(4))),
    ):
        with pytest.raises(error, match=f"^{name}: "):
            call()

"""Distributions in general: validation, combinations, supports, and names of PyTorch's modules."""

import importlib
import math

import pytest

import flambeau as torch
from flambeau import distributions as D
from flambeau.errors import ArgumentError, NotSupportedError


def test_parameters_are_broadcast_and_numbers_become_float32():
    normal = D.Normal(torch.zeros(2, 1), torch.ones(3))
    assert (normal.batch_shape, normal.event_shape, normal.loc.shape) == ((2, 3), (), (2, 3))
    assert D.Normal(0, 1).loc.dtype is torch.float32
    assert D.Normal(torch.zeros(1, dtype=torch.float64), 1).scale.dtype is torch.float64
    assert D.Exponential(torch.tensor([1, 2])).rate.dtype is torch.float32
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(normal) == "Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3]))"


@pytest.mark.parametrize(
    ("make", "text"),
    [(lambda: D.Normal(0.0, -1.0), r"Normal: .*scale .*GreaterThan\(lower_bound=0.0\).*-1"),
     (lambda: D.Normal(0.0, math.nan), "Normal: .*scale"), (lambda: D.Uniform(1.0, 0.0), "Uniform: low .*1.0 and 0.0"),
     (lambda: D.Bernoulli(2.0), "Bernoulli: .*probs"), (lambda: D.Bernoulli(), "Bernoulli: exactly one of probs"),
     (lambda: D.Bernoulli(0.5, logits=0.0), "Bernoulli: exactly one"), (lambda: D.Geometric(0.0), "Geometric: probs"),
     (lambda: D.Independent(D.Normal(0.0, 1.0), 1), r"Independent: .*<= 0.*\[\].*got 1"),
     (lambda: D.MultivariateNormal(torch.zeros(2)), "MultivariateNormal: exactly one"),
     (lambda: D.MultivariateNormal(torch.zeros(2), -torch.eye(2)), "MultivariateNormal: .*covariance_matrix"),
     (lambda: D.Normal("a", 1), "Normal: .*'a'"),
     (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]), r"TransformedDistribution: .*\[3\]"),
     (lambda: D.LKJCholesky(1), "LKJCholesky: dim .*got 1")],
)  # fmt: skip
def test_wrong_parameters(make, text):
    with pytest.raises(ArgumentError, match=text):
        make()


def test_wrong_values():
    normal = D.Normal(torch.zeros(2), 1.0)
    with pytest.raises(ValueError, match="Normal: the value must be a Tensor, got 3.0"):
        normal.log_prob(3.0)
    with pytest.raises(ArgumentError, match=r"Normal: .*\[3\].*\[2\]"):
        normal.log_prob(torch.zeros(3))
    with pytest.raises(ArgumentError, match=r"Exponential: .*GreaterThanEq\(lower_bound=0.0\).*-1"):
        D.Exponential(1.0).log_prob(torch.tensor(-1.0))
    assert D.Exponential(1.0, validate_args=False).log_prob(torch.tensor(-1.0)).item() == 1
    with pytest.raises(NotSupportedError, match="Bernoulli: cdf"):
        D.Bernoulli(0.5).cdf(torch.tensor(1.0))


def test_validation_can_be_turned_off():
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale.item() == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ArgumentError, match="set_default_validate_args: .*3"):
        D.Distribution.set_default_validate_args(3)


def test_gradients_reach_parameters_that_are_computed():
    probs = torch.tensor([0.2, 0.7], requires_grad=True)
    with torch.no_grad():
        bernoulli = D.Bernoulli(probs)
    bernoulli.log_prob(torch.tensor([1.0, 0.0])).sum().backward()
    assert probs.grad.tolist() == pytest.approx([5.0, -1 / 0.3], rel=1e-5)


def test_independent_dimensions_are_summed():
    base = D.Normal(torch.zeros(2, 3), 1.0)
    found = D.Independent(base, 1)
    value = torch.arange(6.0).reshape(2, 3)
    assert (found.batch_shape, found.event_shape) == ((2,), (3,))
    assert found.log_prob(value).equal(base.log_prob(value).sum(-1)) and found.entropy().equal(base.entropy().sum(-1))
    assert found.expand((4, 2)).log_prob(value).shape == (4, 2)
    assert D.kl_divergence(found, D.Independent(D.Normal(torch.ones(2, 3), 1.0), 1)).tolist() == [1.5, 1.5]
    assert repr(found) == f"Independent({base}, 1)"


def test_modules_have_pytorchs_names():
    names = {
        "normal": "Normal", "categorical": "Categorical", "dirichlet": "Dirichlet", "utils": "broadcast_all",
        "transformed_distribution": "TransformedDistribution", "relaxed_bernoulli": "RelaxedBernoulli",
        "kl": "kl_divergence", "constraints": "positive",
    }  # fmt: skip
    for name, cls in names.items():
        module = importlib.import_module(f"flambeau.distributions.{name}")
        assert hasattr(module, cls) and getattr(D, name) is module


def test_triangles_as_vectors():
    matrix = torch.tensor([[1.0, 0.0], [2.0, 3.0]])
    vector = D.utils.tril_matrix_to_vec(matrix)
    assert vector.tolist() == [1, 2, 3] and D.utils.vec_to_tril_matrix(vector).equal(matrix)
    assert D.utils.vec_to_tril_matrix(torch.tensor([5.0]), -1).tolist() == [[0, 0], [5, 0]]


def test_private_functions_that_packages_import():
    from flambeau.distributions import multivariate_normal, utils
    from flambeau.distributions.transforms import _clipped_sigmoid

    torch.manual_seed(0)
    drawn = utils._standard_normal((2, 3), dtype=torch.float64, device="cpu")
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.randn(2, 3, dtype=torch.float64))
    assert utils._sum_rightmost(torch.ones(2, 3, 4), 2).tolist() == [12.0, 12.0]
    matrix, vector = torch.eye(2) * 2, torch.tensor([1.0, 3.0])
    assert multivariate_normal._batch_mv(matrix, vector).tolist() == [2.0, 6.0]
    assert multivariate_normal._batch_mahalanobis(matrix, vector).item() == 2.5
    assert multivariate_normal._precision_to_scale_tril(matrix * 2).tolist() == [[0.5, 0.0], [0.0, 0.5]]
    assert _clipped_sigmoid(torch.tensor(-1000.0)) > 0 and _clipped_sigmoid(torch.tensor(1000.0)) < 1


def test_the_ends_of_a_support_have_probabilities():
    zero = torch.zeros(())
    for distribution in (D.LogNormal(0.0, 1.0), D.Weibull(1.0, 2.0), D.InverseGamma(1.0, 1.0)):
        assert distribution.cdf(zero).item() == 0
    with pytest.raises(ArgumentError, match="Normal: .*support"):
        D.LogNormal(0.0, 1.0).cdf(zero - 1)
    with pytest.raises(NotSupportedError, match="cdf"):
        D.RelaxedBernoulli(torch.tensor(0.5), 0.5).cdf(zero - 1)


def test_the_gradient_of_a_cumulative_distribution_far_out():
    scale = torch.tensor(1e-10, requires_grad=True)
    D.Pareto(scale, 1.0).cdf(torch.tensor(100.0)).backward()
    assert scale.grad.item() == pytest.approx(-0.01, rel=1e-4)
    scale = torch.tensor(1e-10, requires_grad=True)
    D.HalfNormal(scale).cdf(torch.tensor(1e30)).backward()
    assert scale.grad.item() == 0


def test_parameters_may_be_bfloat16():
    def half(*values):
        return torch.tensor(values, dtype=torch.bfloat16)

    torch.manual_seed(0)
    chances = D.Bernoulli(probs=half(0.1, 0.5))
    assert chances.logits.tolist() == [-2.1875, 0.0]
    assert chances.entropy().tolist() == pytest.approx([0.328, 0.691], abs=0.004)
    for made in (
        chances, D.Gamma(half(0.5), half(1.0)), D.Gumbel(half(0.0), half(1.0)),
        D.Laplace(half(0.0), half(1.0)), D.ContinuousBernoulli(half(0.3)),
        D.RelaxedBernoulli(half(0.5), half(0.3)), D.StudentT(half(3.0)),
        D.Categorical(half(0.5, 0.5)), D.Geometric(half(0.3)), D.Beta(half(1.0), half(2.0)),
    ):  # fmt: skip
        drawn = made.sample((3,))
        assert made.log_prob(drawn).isfinite().all() and made.log_prob(drawn).dtype is torch.bfloat16, made


def test_densities_take_the_types_of_pytorch():
    value = torch.tensor([0.5], dtype=torch.float64)
    assert D.HalfNormal(torch.ones(1)).log_prob(value).dtype is torch.float64
    assert D.HalfCauchy(torch.ones(1)).log_prob(value).dtype is torch.float32
    assert D.Gamma(torch.ones(1), torch.ones(1)).log_prob(value).dtype is torch.float32
    assert D.Chi2(torch.tensor([2.0])).log_prob(0.5).tolist() == pytest.approx([-0.9431471824645996])
    drawn = D.OneHotCategorical(torch.ones(2, 3)).sample((4,))
    assert drawn.shape == (4, 2, 3) and drawn.is_contiguous()


def test_infinite_variances_have_no_gradient():
    df, scale = torch.tensor([1.5, 2.0, 3.0], requires_grad=True), torch.tensor([1.0], requires_grad=True)
    variance = D.StudentT(df, 0.0, scale).variance
    assert variance.tolist() == [math.inf, math.inf, 3.0]
    variance[2:].sum().backward()
    assert df.grad.tolist() == [0.0, 0.0, -2.0] and scale.grad.tolist() == [6.0]


def test_numbers_become_the_default_type():
    torch.set_default_dtype(torch.float64)
    try:
        for made in (D.Normal(0.0, 1), D.Uniform(0, 1), D.Laplace(0.0, 1.0), D.HalfNormal(1.0), D.LogNormal(0.0, 1.0)):
            assert made.sample().dtype is torch.float64, made
        assert D.Normal(torch.zeros(1, dtype=torch.float32), 1).scale.dtype is torch.float32
        assert D.Exponential(torch.tensor([1, 2])).rate.dtype is torch.float64
        torch.manual_seed(0)
        assert D.Normal(0.0, 1.0).sample().item() == 1.5409961082440433
    finally:
        torch.set_default_dtype(torch.float32)

"""Wrong arguments of every distribution, transform and constraint: the library's own errors, with the class's name."""

import pytest

import flambeau as torch
from flambeau import distributions as D
from flambeau.distributions import constraints, transforms
from flambeau.errors import ArgumentTypeError, FlambeauError, ShapeError

HALF, ONE, TWO, PAIR = torch.tensor(0.5), torch.tensor(1.0), torch.tensor(2.0), torch.tensor([0.5, 0.5])
DISTRIBUTIONS = {
    "Bernoulli": (HALF,), "Beta": (ONE, TWO), "Binomial": (3, HALF), "Categorical": (PAIR,), "Cauchy": (ONE, ONE),
    "Chi2": (ONE,), "ContinuousBernoulli": (HALF,), "Dirichlet": (PAIR,), "Exponential": (ONE,),
    "FisherSnedecor": (ONE, TWO), "Gamma": (ONE, TWO), "GeneralizedPareto": (ONE, ONE, HALF), "Geometric": (HALF,),
    "Gumbel": (ONE, ONE), "HalfCauchy": (ONE,), "HalfNormal": (ONE,), "Independent": (D.Normal(PAIR, 1.0), 1),
    "InverseGamma": (ONE, TWO), "Kumaraswamy": (ONE, TWO), "LKJCholesky": (3, ONE), "Laplace": (ONE, ONE),
    "LogNormal": (ONE, ONE), "LogisticNormal": (PAIR, PAIR),
    "LowRankMultivariateNormal": (PAIR, torch.ones(2, 1), PAIR),
    "MixtureSameFamily": (D.Categorical(PAIR), D.Normal(PAIR, 1.0)), "Multinomial": (3, PAIR),
    "MultivariateNormal": (PAIR, torch.eye(2)), "NegativeBinomial": (3, HALF), "Normal": (ONE, ONE),
    "OneHotCategorical": (PAIR,), "OneHotCategoricalStraightThrough": (PAIR,), "Pareto": (ONE, TWO),
    "Poisson": (ONE,), "RelaxedBernoulli": (ONE, HALF), "RelaxedOneHotCategorical": (ONE, PAIR),
    "StudentT": (TWO, ONE, ONE), "TransformedDistribution": (D.Normal(PAIR, 1.0), [D.ExpTransform()]),
    "Uniform": (HALF, ONE), "VonMises": (ONE, ONE), "Weibull": (ONE, TWO), "Wishart": (TWO, torch.eye(2)),
}  # fmt: skip
EXP = D.ExpTransform()
TRANSFORMS = {
    "AbsTransform": (), "AffineTransform": (ONE, TWO), "CatTransform": ([EXP, EXP],), "ComposeTransform": ([EXP],),
    "CorrCholeskyTransform": (), "CumulativeDistributionTransform": (D.Normal(ONE, ONE),), "ExpTransform": (),
    "IndependentTransform": (EXP, 1), "LowerCholeskyTransform": (), "PositiveDefiniteTransform": (),
    "PowerTransform": (TWO,), "ReshapeTransform": ((2,), (2, 1)), "SigmoidTransform": (), "SoftmaxTransform": (),
    "SoftplusTransform": (), "StackTransform": ([EXP, EXP],), "StickBreakingTransform": (), "TanhTransform": (),
}  # fmt: skip
CONSTRAINTS = {
    "MixtureSameFamilyConstraint": (constraints.real,), "cat": ([constraints.real],), "greater_than": (0.0,),
    "greater_than_eq": (0.0,), "half_open_interval": (0.0, 1.0), "independent": (constraints.real, 1),
    "integer_interval": (0, 3), "interval": (0.0, 1.0), "less_than": (1.0,), "multinomial": (3,),
    "stack": ([constraints.real],),
}  # fmt: skip
WRONG = ("a", [1.0, "a"], None, object(), {}, len)


def refused(name, call, *arguments):
    """Return whether a call raises, and check that its error is one of flambeau, of the name."""
    try:
        call(*arguments)
    except FlambeauError as error:
        assert error.operator == name and error.hint, (name, call, arguments, str(error))
        return True
    return False


@pytest.mark.parametrize("cases", [(D, DISTRIBUTIONS), (transforms, TRANSFORMS), (constraints, CONSTRAINTS)])
def test_wrong_arguments_of_constructors(cases):
    module, arguments_of = cases
    bounds = {"integer_interval", "interval", "half_open_interval", "greater_than", "greater_than_eq", "less_than"}
    for name, arguments in arguments_of.items():
        for index in range(len(arguments)):
            for wrong in WRONG:
                given = (*arguments[:index], wrong, *arguments[index + 1 :])
                is_refused = refused(name, getattr(module, name), *given)
                # bounds are compared in `check`; None may be left out; no transforms are the identity
                assert is_refused or name in bounds or name == "multinomial" or wrong is None or wrong == {}, given


def test_wrong_values_and_shapes_of_distributions():
    for validate_args in (True, False):
        for name, arguments in DISTRIBUTIONS.items():
            distribution = getattr(D, name)(*arguments, validate_args=validate_args)
            for wrong in WRONG:
                for method in ("log_prob", "cdf", "icdf"):
                    assert refused(name, getattr(distribution, method), wrong), (name, method, wrong)
                for method in ("expand", "sample", "rsample"):
                    assert refused(name, getattr(distribution, method), wrong) or wrong == {}, (name, method, wrong)


def test_wrong_values_and_shapes_of_transforms():
    for name, arguments in TRANSFORMS.items():
        transform = getattr(transforms, name)(*arguments)
        for wrong in WRONG:
            for call in (transform, transform.inv):
                refused(name, call, wrong)
                assert refused(name, call.log_abs_det_jacobian, wrong, wrong), (name, wrong)
            for method in ("forward_shape", "inverse_shape"):
                assert refused(name, getattr(transform, method), wrong) or wrong == {}, (name, method, wrong)


def test_wrong_values_of_constraints():
    regions = {name: getattr(constraints, name)(*arguments) for name, arguments in CONSTRAINTS.items()}
    for name in ("boolean", "one_hot", "real", "simplex", "square", "symmetric", "positive_definite", "corr_cholesky"):
        regions[name] = getattr(constraints, name)
    for region in regions.values():
        called = getattr(region, "called", type(region).__name__.lstrip("_"))
        for wrong in WRONG:
            refused(called, region.check, wrong)


def test_errors_name_the_class():
    for name, call in (
        ("CorrCholeskyTransform", lambda: transforms.CorrCholeskyTransform()(torch.zeros(2))),
        ("AffineTransform", lambda: transforms.AffineTransform(torch.zeros(3), 1.0).forward_shape((2,))),
        ("Normal", lambda: D.Normal(torch.zeros(2), torch.ones(3))),
        ("GreaterThan", lambda: constraints.greater_than(torch.zeros(2)).check(torch.zeros(3))),
    ):
        with pytest.raises(ShapeError) as caught:
            call()
        assert caught.value.operator == name
    with pytest.raises(ArgumentTypeError, match=r"^ExpTransform: expected a tensor, got 'a'\nhint: "):
        EXP("a")


def test_softmax_of_integers():
    assert transforms.SoftmaxTransform()(torch.tensor([1, 1])).tolist() == [0.5, 0.5]
    assert refused("SoftmaxTransform", transforms.SoftmaxTransform().forward_shape, ())


def test_errors_of_classes_of_a_program_stay():
    class Broken(D.Distribution):
        def log_prob(self, value):
            return value.absent

    with pytest.raises(AttributeError, match="absent"):
        Broken().log_prob("a")
    with pytest.raises(TypeError, match="argument"):
        D.Normal(0.0, 1.0).log_prob()
    with pytest.raises(TypeError, match="argument"):
        D.Normal(0.0, 1.0).log_prob(ONE, "a")

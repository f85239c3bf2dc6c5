"""torch.distributions: probability distributions, their samples, densities and divergences.

PyTorch's module names, such as `distributions.normal`, stand for the module here that has the class.
"""

import sys as _sys

from ..errors import no_attribute as _no_attribute
from ..importer import listing as _listing
from . import (
    constraint_registry,
    constraints,
    continuous,
    discrete,
    distribution,
    kl,
    library,
    mixture,
    multivariate,
    transforms,
)
from .constraint_registry import biject_to, transform_to
from .continuous import (
    Cauchy,
    Chi2,
    ContinuousBernoulli,
    Exponential,
    FisherSnedecor,
    Gamma,
    GeneralizedPareto,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    Laplace,
    LogNormal,
    Normal,
    Pareto,
    StudentT,
    Uniform,
    VonMises,
    Weibull,
)
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from .distribution import Distribution, ExponentialFamily, Independent, TransformedDistribution
from .kl import kl_divergence, register_kl
from .mixture import MixtureSameFamily
from .multivariate import (
    Beta,
    Dirichlet,
    LKJCholesky,
    LogisticNormal,
    LowRankMultivariateNormal,
    MultivariateNormal,
    Wishart,
)
from .transforms import *  # noqa: F403
from .transforms import __all__ as _transform_names

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraint_registry", "constraints", "kl",
    "kl_divergence", "register_kl", "transform_to", "transforms", *_transform_names,
]  # fmt: skip

_FORMER = {  # PyTorch's modules, by the one that has their classes here
    continuous: "cauchy chi2 continuous_bernoulli exponential fishersnedecor gamma generalized_pareto gumbel "
    "half_cauchy half_normal inverse_gamma kumaraswamy laplace log_normal normal pareto studentT uniform von_mises "
    "weibull",
    discrete: "bernoulli binomial categorical geometric multinomial negative_binomial one_hot_categorical poisson "
    "relaxed_bernoulli relaxed_categorical",
    distribution: "exp_family independent transformed_distribution",
    multivariate: "beta dirichlet lkj_cholesky logistic_normal lowrank_multivariate_normal multivariate_normal wishart",
    mixture: "mixture_same_family",
    library: "utils",
}
__dir__ = _listing(globals(), "distribution", *" ".join(_FORMER.values()).split())
for _module, _names in _FORMER.items():
    for _name in _names.split():
        setattr(_sys.modules[__name__], _name, _module)
        _sys.modules[f"{__name__}.{_name}"] = _module


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

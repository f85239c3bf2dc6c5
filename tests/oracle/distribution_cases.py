"""Write distribution_cases.json: what PyTorch's distributions compute.  `python -m tests.oracle.distribution_cases`.

families: (class, parameters, values, results by name, three samples after manual_seed(1)).
divergences: (two classes with parameters, result).
A list stands for a tensor of float64; a result of None is not known to PyTorch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_suffix(".json")
HALVES = [0.5, 1.5, 2.5]
SYMMETRIC = [[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 1.5]]
LOWER = [[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-1.0, 0.25, 0.5]]
FAMILIES: list[tuple[str, dict[str, Any]]] = [
    ("Normal", {"loc": [-1.0, 0.0, 2.0], "scale": HALVES}),
    ("Laplace", {"loc": [-1.0, 0.0, 2.0], "scale": HALVES}),
    ("Cauchy", {"loc": [-1.0, 0.0, 2.0], "scale": HALVES}),
    ("Uniform", {"low": [-1.0, 0.0, 2.0], "high": [0.0, 0.5, 4.0]}),
    ("Exponential", {"rate": HALVES}),
    ("Gamma", {"concentration": [0.5, 1.0, 4.0], "rate": HALVES}),
    ("Chi2", {"df": HALVES}),
    ("InverseGamma", {"concentration": [0.5, 2.0, 4.0], "rate": HALVES}),
    ("Beta", {"concentration1": [0.5, 1.0, 4.0], "concentration0": HALVES}),
    ("StudentT", {"df": [0.5, 2.0, 5.0], "loc": [-1.0, 0.0, 2.0], "scale": HALVES}),
    ("FisherSnedecor", {"df1": [1.0, 3.0, 5.0], "df2": [2.0, 4.5, 6.0]}),
    ("HalfNormal", {"scale": HALVES}),
    ("HalfCauchy", {"scale": HALVES}),
    ("LogNormal", {"loc": [-1.0, 0.0, 0.5], "scale": [0.5, 1.0, 0.25]}),
    ("Gumbel", {"loc": [-1.0, 0.0, 2.0], "scale": HALVES}),
    ("Pareto", {"scale": HALVES, "alpha": [0.5, 1.5, 3.0]}),
    ("Weibull", {"scale": HALVES, "concentration": [0.5, 1.0, 3.0]}),
    ("Kumaraswamy", {"concentration1": [0.5, 1.5, 3.0], "concentration0": HALVES}),
    ("VonMises", {"loc": [-1.0, 0.0, 2.0], "concentration": [0.5, 2.0, 20.0]}),
    ("ContinuousBernoulli", {"probs": [0.1, 0.4995, 0.9]}),
    ("Bernoulli", {"probs": [0.1, 0.5, 0.9]}),
    ("Bernoulli", {"logits": [-2.0, 0.0, 3.0]}),
    ("Geometric", {"probs": [0.1, 0.5, 0.9]}),
    ("Binomial", {"total_count": 5, "probs": [0.1, 0.5, 0.9]}),
    ("NegativeBinomial", {"total_count": [1.0, 2.5, 4.0], "logits": [-2.0, 0.0, 1.0]}),
    ("Poisson", {"rate": HALVES}),
    ("Categorical", {"probs": [[0.1, 0.2, 0.7], [1.0, 1.0, 2.0]]}),
    ("Categorical", {"logits": [-1.0, 0.0, 2.0]}),
    ("OneHotCategorical", {"probs": [[0.1, 0.2, 0.7], [1.0, 1.0, 2.0]]}),
    ("Multinomial", {"total_count": 4, "probs": [[0.1, 0.2, 0.7], [1.0, 1.0, 2.0]]}),
    ("RelaxedBernoulli", {"temperature": 0.7, "probs": [0.1, 0.5, 0.9]}),
    ("RelaxedOneHotCategorical", {"temperature": 0.7, "logits": [-1.0, 0.0, 2.0]}),
    ("Dirichlet", {"concentration": [[0.5, 1.0, 4.0], [2.0, 3.0, 1.5]]}),
    ("MultivariateNormal", {"loc": [-1.0, 0.0, 2.0], "covariance_matrix": SYMMETRIC}),
    ("MultivariateNormal", {"loc": [[-1.0, 0.0, 2.0], HALVES], "precision_matrix": SYMMETRIC}),
    ("MultivariateNormal", {"loc": [-1.0, 0.0, 2.0], "scale_tril": LOWER}),
    ("LowRankMultivariateNormal", {"loc": HALVES, "cov_factor": [[1.0], [-0.5], [2.0]], "cov_diag": HALVES}),
    ("LogisticNormal", {"loc": [-1.0, 0.0, 0.5], "scale": [0.5, 1.0, 0.25]}),
    ("LKJCholesky", {"dim": 3, "concentration": [0.5, 2.0]}),
    ("Wishart", {"df": [4.0, 5.5], "covariance_matrix": SYMMETRIC}),
]  # fmt: skip
RESULTS = ("mean", "mode", "variance", "entropy", "log_prob", "cdf", "icdf", "support")


def made(library: Any, name: str, parameters: dict[str, Any]) -> Any:
    """A distribution of either library."""

    def value(given: Any) -> Any:
        return library.tensor(given, dtype=library.float64) if isinstance(given, (list, float)) else given

    return getattr(library.distributions, name)(**{key: value(given) for key, given in parameters.items()})


def result(library: Any, distribution: Any, name: str, values: Any) -> Any:
    """One of RESULTS as a list or a text; None if it is not known."""
    try:
        if name == "support":
            return type(distribution.support).__name__
        if name == "icdf":
            size = (2, *distribution.batch_shape)
            found = distribution.icdf(
                library.linspace(0.1, 0.9, 2).double().reshape(2, *[1] * len(size[1:])).expand(size)
            )
        else:
            found = getattr(distribution, name)
            if name in ("log_prob", "cdf"):
                found = found(library.tensor(values, dtype=library.float64))
            elif name == "entropy":
                found = found()
    except NotImplementedError:
        return None
    return found.tolist()


def main() -> None:
    import torch

    torch.manual_seed(0)
    families = []
    for name, parameters in FAMILIES:
        distribution = made(torch, name, parameters)
        values = distribution.sample((2,)).tolist()
        torch.manual_seed(1)
        drawn = distribution.sample((3,)).tolist()
        results = {each: result(torch, distribution, each, values) for each in RESULTS}
        families.append([name, parameters, values, results, drawn])
    divergences = []
    for first, second in torch.distributions.kl._KL_REGISTRY:
        pairs = [[each for each in FAMILIES if each[0] == cls.__name__] for cls in (first, second)]
        if all(pairs):
            p, q = pairs[0][0], pairs[1][-1]
            try:
                found = torch.distributions.kl_divergence(made(torch, *p), made(torch, *q)).tolist()
            except (RuntimeError, NotImplementedError):  # their batches do not broadcast
                continue
            divergences.append([p, q, found])
    CASES.write_text(json.dumps({"families": families, "divergences": divergences}, indent=None) + "\n")


if __name__ == "__main__":
    main()

"""The registry of constraints: transforms into them."""

import pytest

import flambeau as torch
from flambeau.distributions import (
    biject_to,
    constraints,
    transform_to,
    transforms,
)
from flambeau.errors import (
    ArgumentTypeError,
    NotSupportedError,
)
from tests.distributions.needs import needs

X = torch.tensor([[0.3, -1.2, 0.8], [2.0, 0.1, -0.4]], dtype=torch.float64)
PRODUCTS = needs("cumprod")


@pytest.mark.parametrize("registry", [biject_to, transform_to])
@pytest.mark.parametrize(
    "constraint",
    [constraints.real, constraints.positive, constraints.greater_than(2.0), constraints.less_than(-1.0),
     constraints.interval(-1.0, 3.0), constraints.unit_interval, pytest.param(constraints.simplex, marks=PRODUCTS),
     pytest.param(constraints.corr_cholesky, marks=PRODUCTS), constraints.independent(constraints.positive, 1)],
)  # fmt: skip
def test_a_registered_transform_leads_into_the_constraint(registry, constraint):
    assert constraint.check(registry(constraint)(X)).all()


def test_registering_transforms():
    class Own(constraints.Constraint):
        pass

    with pytest.raises(NotSupportedError, match="Own constraints"):
        biject_to(Own())
    biject_to.register(Own(), lambda constraint: transforms.ExpTransform())
    assert biject_to(Own()) == transforms.ExpTransform()
    with pytest.raises(ArgumentTypeError, match="register: .*got 3"):
        biject_to.register(3, lambda constraint: None)

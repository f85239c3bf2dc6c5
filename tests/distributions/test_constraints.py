"""Constraints: which events satisfy them, and their properties."""

import math

import pytest

import flambeau as torch
from flambeau import distributions as D
from flambeau.distributions import (
    Independent,
    Normal,
    constraints,
)
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    IndexRangeError,
    NotSupportedError,
)

X = torch.tensor([[0.3, -1.2, 0.8], [2.0, 0.1, -0.4]], dtype=torch.float64)
CHECKS = [
    (constraints.boolean, [0.0, 1.0, 2.0], [True, True, False]),
    (constraints.nonnegative_integer, [-1.0, 0.0, 1.5], [False, True, False]),
    (constraints.positive_integer, [0.0, 1.0, 1.5], [False, True, False]),
    (constraints.integer_interval(0, 2), [0.0, 3.0, 0.5], [True, False, False]),
    (constraints.real, [0.0, math.nan, math.inf], [True, False, True]),
    (constraints.positive, [0.0, 1.0, -1.0], [False, True, False]),
    (constraints.nonnegative, [0.0, 1.0, -1.0], [True, True, False]),
    (constraints.less_than(1.0), [0.0, 1.0, 2.0], [True, False, False]),
    (constraints.unit_interval, [0.0, 1.0, 2.0], [True, True, False]),
    (constraints.half_open_interval(0, 1), [0.0, 1.0, 2.0], [True, False, False]),
    (constraints.simplex, [[0.5, 0.5], [0.5, 0.6]], [True, False]),
    (constraints.one_hot, [[0.0, 1.0], [1.0, 1.0]], [True, False]),
    (constraints.multinomial(2), [[1.0, 1.0], [3.0, 0.0]], [True, False]),
    (constraints.real_vector, [[1.0, math.nan], [1.0, 2.0]], [False, True]),
    (constraints.lower_triangular, [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]]], [True, False]),
    (constraints.lower_cholesky, [[[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]], [True, False]),
    (constraints.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 1.0]]], [True, False]),
    (constraints.positive_definite, [[[2.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]], [True, False]),
    (constraints.positive_semidefinite, [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]], [True, False]),
    (constraints.symmetric, [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]]], [True, False]),
    (constraints.square, [[[1.0, 2.0]]], [False]),
    (constraints.cat([constraints.positive, constraints.real], -1, [1, 2]), [-1.0, -1.0, 1.0], [False, True, True]),
    (constraints.stack([constraints.positive, constraints.real], -1), [-1.0, -1.0], [False, True]),
]  # fmt: skip


@pytest.mark.parametrize(("constraint", "values", "expected"), CHECKS)
def test_a_constraint_says_which_events_satisfy_it(constraint, values, expected):
    assert constraint.check(torch.tensor(values, dtype=torch.float64)).tolist() == expected


def test_properties_of_constraints():
    assert repr(constraints.unit_interval) == "Interval(lower_bound=0.0, upper_bound=1.0)"
    assert repr(constraints.real_vector) == "IndependentConstraint(Real(), 1)"
    assert (constraints.real_vector.event_dim, constraints.simplex.event_dim, constraints.square.event_dim) == (1, 1, 2)
    assert constraints.is_dependent(constraints.dependent) and not constraints.is_dependent(constraints.real)
    with pytest.raises(NotSupportedError, match="event_dim cannot be determined"):
        _ = constraints.dependent.event_dim
    with pytest.raises(ArgumentError, match="dependent"):
        constraints.dependent.check(X)


def test_constraints_of_no_and_of_too_few_dimensions():
    for name in ("square", "symmetric", "positive_definite", "positive_semidefinite", "lower_cholesky"):
        assert getattr(constraints, name).check(torch.zeros(0, 2, 2)).shape == (0,)
    for constraint in (constraints.real, constraints.positive):
        constraint = constraints.independent(constraint, 2)
        assert constraint.check(torch.zeros(0, 2, 2)).shape == (0,)
    for name in ("square", "symmetric", "positive_definite", "lower_triangular", "corr_cholesky"):
        with pytest.raises(IndexRangeError, match=r"got shape \[3\]"):
            getattr(constraints, name).check(torch.ones(3))
    with pytest.raises(ArgumentTypeError, match="CorrCholesky: .*int64"):
        constraints.corr_cholesky.check(torch.ones(2, 2, dtype=torch.int64))
    rows = Independent(Normal(torch.zeros(0, 2), 1.0), 1)
    assert rows.log_prob(torch.zeros(0, 2)).shape == (0,)


def test_constraints_of_arguments_name_the_other_argument():
    uniform = D.Uniform(1.0, torch.tensor(3.0))
    assert uniform.arg_constraints["low"].check(torch.tensor([2.0, 4.0])).tolist() == [True, False]
    assert uniform.arg_constraints["high"].check(torch.tensor([2.0, 0.0])).tolist() == [True, False]
    wishart = D.Wishart(torch.tensor(4.0), torch.eye(3))
    assert wishart.arg_constraints["df"].check(torch.tensor([2.0, 2.5])).tolist() == [False, True]

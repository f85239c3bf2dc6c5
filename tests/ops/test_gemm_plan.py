"""The plan of a matrix product: what is copied and what is not, and the steps that the product takes."""

import pytest

from flambeau import dtypes
from flambeau.ops.linalg import DENSE, FULL, IN_PLACE, Matrices, plan_gemm, unit_steps
from flambeau.problem import Gemm
from flambeau.strides import contiguous


def planned(a_shape, b_shape, batch, a_strides=None, b_strides=None):
    a = Matrices(a_shape, a_strides or contiguous(a_shape))
    b = Matrices(b_shape, b_strides or contiguous(b_shape))
    return plan_gemm(dtypes.float32, a, b, batch, False, False)


def test_transposed_operands_are_not_copied():
    plan = planned((2, 3), (3, 4), (), (1, 2), (1, 3))
    assert (plan.a, plan.b) == (IN_PLACE, IN_PLACE)
    assert plan.problem == Gemm(dtypes.float32, 1, 2, 4, 3, (0, 1, 2), (0, 1, 3), (8, 4, 1))


def test_a_batch_over_one_matrix_is_one_tall_product():
    plan = planned((5, 2, 3), (3, 4), (5,))
    assert (plan.problem.batch, plan.problem.m, plan.a, plan.b) == (1, 10, IN_PLACE, IN_PLACE)


def test_a_broadcast_batch_is_a_step_of_zero():
    plan = planned((2, 3), (5, 3, 4), (5,))
    assert (plan.problem.batch, plan.problem.a_strides[0], plan.problem.b_strides[0]) == (5, 0, 12)


def test_what_has_no_unit_step_is_copied():
    assert planned((2, 3), (3, 4), (), (6, 2)).a == DENSE
    assert planned((6, 1, 2, 3), (5, 3, 4), (6, 5)).a == FULL
    assert planned((6, 1, 2, 3), (5, 3, 4), (6, 5)).b == FULL
    assert planned((2, 3), (3, 4), (), (0, 1)).a == DENSE  # expanded rows


@pytest.mark.parametrize(
    ("case", "expected"),
    [((1, 4, 99, 1), (4, 1)), ((4, 1, 1, 99), (1, 4)), ((1, 1, 7, 7), (1, 1)), ((1, 4, 0, 2), (1, 2)),
     ((4, 1, 3, 0), (3, 1)), ((4, 3, 0, 1), None), ((4, 3, 6, 2), None), ((1, 4, 9, 0), None)],
)  # fmt: skip
def test_free_steps_are_chosen_so_that_one_is_a_unit(case, expected):
    assert unit_steps(*case) == expected

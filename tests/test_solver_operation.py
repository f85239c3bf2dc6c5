"""NumPy's references of solver operations, where they are more than one call of LAPACK."""

import numpy as np
import pytest

from flambeau import solver_operation as routines
from flambeau.dtypes import float64, int32
from flambeau.solver_operation import READ, SCRATCH, SPENT, UPDATED, WRITTEN, Argument, Solver

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (1, 1)], ids=str)
def test_a_batch_is_factorized_as_its_matrices_are(shape):
    batch = 2, routines.LEAST_TOGETHER * min(shape)
    a = RANDOM.standard_normal((*batch, *shape))
    a[0, 0], a[0, 1, :, 0], a[1, 2] = 0, 0, 1
    found = routines.lu(a)
    for index in np.ndindex(*batch):
        for one, other in zip((each[index] for each in found), routines.lu(a[index]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_one_matrix_is_computed_as_one_of_a_batch_is():
    """One matrix is a call of LAPACK, alone and as a batch of one; a batch is one of NumPy's, or step by step."""
    for dtype, bound in (("float32", 1e-5), ("float64", 1e-12)):
        a = RANDOM.standard_normal((3, 3)).astype(dtype) + 3 * np.eye(3, dtype=dtype)
        definite, b, singular = a @ a.T, a[:, :2] * 2, a * [[1], [0], [1]]
        triangle = np.triu(a) * [[1], [0], [1]]
        factors, order = routines.lu(a)[::2]
        calls = [
            (routines.cholesky, (definite,), (upper,)) for upper in (False, True)
        ] + [
            (routines.cholesky, (-definite,), (False,)), (routines.lu, (a,), ()), (routines.lu, (singular,), ()),
            (routines.solution, (a, b), ()), (routines.lu_solution, (factors, order, b), (True,)),
            (routines.reflectors, (a,), ()), (routines.reflected_columns, routines.reflectors(a), ()),
            (routines.eigendecomposition, (definite,), (True,)), (routines.eigenvalues, (definite,), (False,)),
            (routines.singular_values, (a[:2],), (False,)), (routines.singular_values, (a[:2],), (True,)),
            (routines.triangular_solution, (triangle, b), (True, True)),
            (routines.triangular_solution, (triangle, b), (True, False)),
            (routines.triangular_solution, (a, b), (False, False)),
        ]  # fmt: skip
        for function, arrays, options in calls:
            alone = function(*arrays, *options)
            for count in (1, 2, 3 * routines.LEAST_TOGETHER + 1):
                batch = function(*(np.stack([each.astype(each.dtype)] * count) for each in arrays), *options)
                for one, other in zip(alone, batch, strict=True):
                    expected = np.broadcast_to(one, (count, *np.shape(one)))
                    found = np.broadcast_to(other, expected.shape)
                    np.testing.assert_allclose(found, expected, bound, bound, err_msg=f"{function.__name__} {count}")


def test_factors_in_order_exchange_no_rows():
    a = RANDOM.standard_normal((2, 3, 3)) + 9 * np.eye(3)
    a[1, 0, 0] = 0
    factors, codes = routines.lu_in_order(a)
    np.testing.assert_allclose((np.tril(factors[0], -1) + np.eye(3)) @ np.triu(factors[0]), a[0])
    assert codes.tolist() == [0, 1] and not np.isfinite(factors[1, 1:]).any()


def test_matrices_that_do_not_converge_are_nan_and_others_are_not():
    a = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    for name, options in (("eigendecomposition", (True,)), ("singular_values", (False,))):
        *results, codes = routines.ROUTINES[name](a, *options)
        assert codes.tolist() == [0, 1]
        assert all(np.isfinite(each[0]).all() and np.isnan(each[1]).all() for each in results), name


def test_the_modes_of_operands_say_what_a_routine_gets_and_makes():
    """A spent operand is read, and left as it is; a scratch one is neither read nor written."""
    modes = SPENT, UPDATED, SCRATCH, WRITTEN
    arrays = 2 * np.eye(2), np.ones((2, 1)), np.full(2, -1, "int32"), np.full((), -1, "int32")
    arguments = tuple(
        Argument(mode, int32 if each.dtype == "int32" else float64, each.shape, (1,) * each.ndim)
        for mode, each in zip(modes, arrays)
    )
    operation = Solver(routines.SOLUTION, arguments)
    operation.reference(*arrays)
    assert arrays[0].tolist() == [[2, 0], [0, 2]] and arrays[1].tolist() == [[0.5], [0.5]]
    assert arrays[2].tolist() == [-1, -1] and arrays[3] == 0
    assert [access.mode for access in operation.accesses((1, 2, 3, 4))] == ["rw", "rw", "w", "w"]
    assert Solver(routines.LU_SOLUTION, (arguments[0]._replace(mode=READ),)).accesses((1,))[0].mode == "r"

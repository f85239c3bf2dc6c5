"""Collectives with gradients: values and gradients of 2 processes, which are compared with formulas.

Rank r has the input [1, 2, 3, 4] * (r + 1).  Its loss weighs output k by 10**r * (k + 1).
"""

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.distributed.nn import functional
from flambeau.errors import ArgumentTypeError, ValueRangeError
from tests.parallel.processes import run

ReduceOp = dist.ReduceOp


def made(rank, device, build):
    """The outputs of build(x), the gradient of x, and whether x is as it was."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, device=device) * (rank + 1)
    x.requires_grad_()
    found = build(x)
    outputs = found if isinstance(found, tuple) else (found,)
    sum((each * 10**rank * (k + 1)).sum() for k, each in enumerate(outputs)).backward()
    is_kept = x.tolist() == [each * (rank + 1) for each in (1, 2, 3, 4)]
    return [each.tolist() for each in outputs], x.grad.tolist(), is_kept


def halves(x):
    return [x[:2], x[2:]]


def zeros(x, *shape):
    return x.new_zeros(shape)


# collective: function(x, rank), the outputs of both ranks, and their gradients
CASES = {
    "all_reduce": (
        lambda x, rank: functional.all_reduce(x),
        [[[3, 6, 9, 12]], [[3, 6, 9, 12]]],
        [[11, 11, 11, 11], [11, 11, 11, 11]],
    ),
    "all_reduce of averages": (
        lambda x, rank: functional.all_reduce(x, ReduceOp.AVG),
        [[[1.5, 3, 4.5, 6]], [[1.5, 3, 4.5, 6]]],
        [[5.5, 5.5, 5.5, 5.5], [5.5, 5.5, 5.5, 5.5]],
    ),
    "broadcast": (
        lambda x, rank: functional.broadcast(x, 1),
        [[[2, 4, 6, 8]], [[2, 4, 6, 8]]],
        [[0, 0, 0, 0], [11, 11, 11, 11]],
    ),
    "reduce": (
        lambda x, rank: functional.reduce(x, 1),
        [None, [[3, 6, 9, 12]]],
        [[10, 10, 10, 10], [10, 10, 10, 10]],
    ),
    "reduce of averages": (
        lambda x, rank: functional.reduce(x, 0, ReduceOp.AVG),
        [[[1.5, 3, 4.5, 6]], None],
        [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]],
    ),
    "all_gather": (
        lambda x, rank: functional.all_gather(x),
        [[[1, 2, 3, 4], [2, 4, 6, 8]], [[1, 2, 3, 4], [2, 4, 6, 8]]],
        [[11, 11, 11, 11], [22, 22, 22, 22]],
    ),
    "all_gather of a permuted tensor, one result unused": (
        lambda x, rank: functional.all_gather(x.reshape(2, 2).t())[1],
        [[[[2, 6], [4, 8]]], [[[2, 6], [4, 8]]]],
        [[0, 0, 0, 0], [11, 11, 11, 11]],
    ),
    "gather": (
        lambda x, rank: functional.gather(x, 1),
        [[[0, 0, 0, 0], [0, 0, 0, 0]], [[1, 2, 3, 4], [2, 4, 6, 8]]],
        [[10, 10, 10, 10], [20, 20, 20, 20]],
    ),
    "scatter": (
        lambda x, rank: functional.scatter(halves(x), 1),
        [[[2, 4]], [[6, 8]]],
        [[0, 0, 0, 0], [1, 1, 10, 10]],
    ),
    "reduce_scatter": (
        lambda x, rank: functional.reduce_scatter(zeros(x, 2), halves(x)),
        [[[3, 6]], [[9, 12]]],
        [[1, 1, 10, 10], [1, 1, 10, 10]],
    ),
    "reduce_scatter of averages": (
        lambda x, rank: functional.reduce_scatter(zeros(x, 2), halves(x), ReduceOp.AVG),
        [[[1.5, 3]], [[4.5, 6]]],
        [[0.5, 0.5, 5, 5], [0.5, 0.5, 5, 5]],
    ),
    "all_to_all": (
        lambda x, rank: functional.all_to_all([zeros(x, 2), zeros(x, 2)], halves(x)),
        [[[1, 2], [2, 4]], [[3, 4], [6, 8]]],
        [[1, 1, 10, 10], [2, 2, 20, 20]],
    ),
    "all_to_all of different sizes": (
        lambda x, rank: functional.all_to_all([zeros(x, 1 + 2 * rank) for _ in range(2)], [x[:1], x[1:]]),
        [[[1], [2]], [[2, 3, 4], [4, 6, 8]]],
        [[1, 10, 10, 10], [2, 20, 20, 20]],
    ),
    "all_to_all_single": (
        lambda x, rank: functional.all_to_all_single(zeros(x, 4), x),
        [[[1, 2, 2, 4]], [[3, 4, 6, 8]]],
        [[1, 1, 10, 10], [1, 1, 10, 10]],
    ),
    "all_to_all_single of different sizes": (
        lambda x, rank: functional.all_to_all_single(zeros(x, 2 + 4 * rank), x, [1 + 2 * rank] * 2, [1, 3]),
        [[[1, 2]], [[2, 3, 4, 4, 6, 8]]],
        [[1, 10, 10, 10], [1, 10, 10, 10]],
    ),
}


@pytest.mark.parametrize(("backend", "gpus"), [("gloo", 0), ("nccl", 2)])
def test_values_and_gradients(backend, gpus):
    def function(rank):
        device = f"cuda:{rank}" if gpus else "cpu"
        return {name: made(rank, device, lambda x, f=case[0]: f(x, rank)) for name, case in CASES.items()}

    both = run(function, 2, backend, gpus=gpus)
    for name, (_, outputs, gradients) in CASES.items():
        for rank in range(2):
            found, gradient, is_kept = both[rank][name]
            case = name, rank, found, gradient
            assert outputs[rank] in (None, found) and gradient == gradients[rank] and is_kept, case


def test_gradients_of_gradients():
    """The loss is the sum over ranks of out**3, whose second derivatives flow through the collective twice."""

    def function(rank):
        found = {}
        for name in ("all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter", "all_to_all_single"):
            x = torch.tensor([1.0, 2.0], dtype=torch.float64).mul_(rank + 1).requires_grad_()
            case = {
                "scatter": lambda x: functional.scatter([x[:1], x[1:]], 1),
                "all_to_all_single": lambda x: functional.all_to_all_single(zeros(x, 2), x),
                "broadcast": lambda x: functional.broadcast(x, 1),
                "reduce": lambda x: functional.reduce(x, 1) * rank,
            }.get(name, getattr(functional, name))
            outputs = case(x)
            loss = sum((each**3).sum() for each in (outputs if isinstance(outputs, tuple) else (outputs,)))
            (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
            gradient.sum().backward()
            found[name] = gradient.tolist(), x.grad.tolist()
        return found

    first, second = run(function, 2)
    both = [27 * 2, 108 * 2], [18 * 2 * 2, 36 * 2 * 2]  # 3 out**2 by 2 ranks; 6 out by 2 ranks and 2 inputs
    assert first["all_reduce"] == second["all_reduce"] == both
    assert first["broadcast"] == ([0, 0], [0, 0]) and second["broadcast"] == ([24, 96], [24, 48])
    assert first["reduce"] == second["reduce"] == ([27, 108], [36, 72])
    assert first["all_gather"] == ([6, 24], [12, 24]) and second["all_gather"] == ([24, 96], [24, 48])
    assert first["gather"] == ([3, 12], [6, 12]) and second["gather"] == ([12, 48], [12, 24])
    assert first["scatter"] == ([0, 0], [0, 0]) and second["scatter"] == ([12, 48], [12, 24])
    assert first["all_to_all_single"] == ([3, 12], [6, 12]) and second["all_to_all_single"] == ([12, 48], [12, 24])


def test_reductions_that_are_not_linear_have_values_and_no_gradients():
    def function(rank):
        found = []
        for name in ("all_reduce", "reduce", "reduce_scatter"):
            x = torch.tensor([rank + 1.0, 4.0 - rank], requires_grad=True)
            args = {"reduce": (x, 0), "reduce_scatter": (torch.zeros(1), [x[:1], x[1:]])}.get(name, (x,))
            out = getattr(functional, name)(*args, op=ReduceOp.MAX)
            try:
                out.sum().backward()
            except NotImplementedError as error:
                found.append((out.tolist(), str(error)))
        return found

    first, second = run(function, 2)
    assert [values for values, _ in first] == [[2, 4], [2, 4], [2]] and [second[0][0], second[2][0]] == [[2, 4], [4]]
    for (_, text), name in zip(first, ("all_reduce", "reduce", "reduce_scatter"), strict=True):
        assert text.startswith(f"{name}: ") and "MAX" in text and "hint: " in text


def test_groups_name_processes_by_their_global_ranks():
    def function(rank):
        group = dist.new_group([1, 2])
        if rank == 0:
            with pytest.warns(UserWarning, match="all_gather on global rank 0"):
                return functional.all_gather(torch.ones(2), group)
        x = torch.full((2,), float(rank), requires_grad=True)
        functional.broadcast(x, 2, group).mul(rank).sum().backward()
        y = torch.full((2,), float(rank), requires_grad=True)
        parts = functional.gather(y, 1, group)
        sum((k + 1) * each.sum() for k, each in enumerate(parts)).backward()
        return x.grad.tolist(), [each.tolist() for each in parts], y.grad.tolist()

    outside, first, second = run(function, 3)
    assert outside is None and first == ([0, 0], [[1, 1], [2, 2]], [1, 1])
    assert second == ([3, 3], [[0, 0], [0, 0]], [2, 2])


def test_results_share_the_memory_of_outputs_and_wrong_arguments_are_named():
    dist.init_process_group("gloo")
    try:
        x, out = torch.ones(2, requires_grad=True), torch.zeros(2)
        assert functional.reduce_scatter(out, [x]).data_ptr() == out.data_ptr() and out.tolist() == [1, 1]
        for name, args in {
            "all_reduce": (3,), "reduce": (3, 0), "broadcast": (3, 0), "gather": (3,), "scatter": (x,),
            "all_gather": ([x],), "reduce_scatter": (3, [x]), "all_to_all": ([out], x), "all_to_all_single": (out, [x]),
        }.items():  # fmt: skip
            with pytest.raises(ArgumentTypeError, match=f"^{name}: "):
                getattr(functional, name)(*args)
        with pytest.raises(ValueRangeError, match="^scatter: tensors must be a list with one entry"):
            functional.scatter([x, x])
        with pytest.raises(ValueRangeError, match="^broadcast: src must be .*, got 1"):
            functional.broadcast(x, 1)
    finally:
        dist.destroy_process_group()

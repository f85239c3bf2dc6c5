"""PREMUL_SUM: sums of values that each rank multiplies by a factor before."""

import pytest

import flambeau as torch
from flambeau import distributed as dist
from tests.parallel.processes import run

CASES = pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "gloo"), ("cuda", "nccl")])


def results(rank, device):
    """Every reduction with a factor of 2 on rank 0, and of 0.5 on rank 1, once a number and once a tensor."""
    found = []
    for factor in (2.0 / 4**rank, torch.tensor([2.0 / 4**rank], device=device, dtype=torch.float64)):
        op = dist._make_nccl_premul_sum(factor)
        assert op == dist.ReduceOp.PREMUL_SUM and op != dist.ReduceOp.SUM
        x, y = torch.full((2,), 3.0 + rank, device=device), torch.full((2,), 3.0 + rank, device=device)
        dist.all_reduce(x, op)
        dist.reduce(y, 0, op)
        part, row = torch.zeros(1, device=device), torch.zeros(1, device=device)
        whole = torch.tensor([1.0, 2.0], device=device)
        dist.reduce_scatter_tensor(part, whole, op)
        dist.reduce_scatter(row, [whole[:1].clone(), whole[1:].clone()], op)
        found.append([each.tolist() for each in (x, y, part, row, whole)])
    return found


def expected(rank):
    reduced = [8.0, 8.0] if rank == 0 else [4.0, 4.0]
    return [[[8.0, 8.0], reduced, [2.5 * (rank + 1)], [2.5 * (rank + 1)], [1.0, 2.0]]] * 2


@CASES
def test_each_rank_multiplies_by_its_own_factor(device, backend):
    assert run(lambda rank: results(rank, device), 2, backend, gpus=2) == [expected(0), expected(1)]


def test_nccl_adds_multiplied_values(ranks):
    assert ranks(lambda rank, library: results(rank, "cuda")) == [expected(0), expected(1)]


def test_the_type_of_the_tensor_stays():
    def function(rank):
        x = torch.full((2,), 3.0, dtype=torch.float16, device="cuda")
        dist.all_reduce(x, dist._make_nccl_premul_sum(torch.tensor(0.5, dtype=torch.float64)))
        return x.dtype is torch.float16, x.tolist()

    assert run(function, 2, "nccl", gpus=2) == [(True, [3.0, 3.0])] * 2


def test_a_group_of_one_process():
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        op, x, found = dist._make_nccl_premul_sum(0.5), torch.ones(2), torch.zeros(2)
        dist.all_reduce(x, op)
        dist.reduce_scatter_tensor(found, x, op)
        dist.reduce(x, 0, op)
        assert (x.tolist(), found.tolist()) == ([0.25, 0.25], [0.25, 0.25])
    finally:
        dist.destroy_process_group()


def test_wrong_factors_and_types_are_named():
    def function(rank):
        texts = []
        for call in (
            lambda: dist._make_nccl_premul_sum("2"),
            lambda: dist._make_nccl_premul_sum(torch.ones(2)),
            lambda: dist.all_reduce(torch.ones(2, dtype=torch.int64), dist._make_nccl_premul_sum(2.0)),
            lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.PREMUL_SUM),
        ):
            try:
                call()
            except (TypeError, ValueError, RuntimeError) as error:
                texts.append(f"{type(error).__name__}: {error}")
        return texts

    for texts in run(function, 2):
        assert texts[0].startswith("ArgumentTypeError: _make_nccl_premul_sum: ") and "'2'" in texts[0]
        assert texts[1].startswith("ArgumentError: _make_nccl_premul_sum: ") and "float32[2] on cpu" in texts[1]
        assert texts[2].startswith("NotSupportedError: all_reduce: PREMUL_SUM") and "int64[2] on cpu" in texts[2]
        assert texts[3].startswith("NotSupportedError: all_reduce: ReduceOp.PREMUL_SUM needs a factor")


@CASES
def test_a_factor_of_one_rank_alone_is_named_on_both(device, backend):
    def function(rank):
        x = torch.ones(2, device=device)
        dist.all_reduce(x, dist.ReduceOp.SUM if rank else dist._make_nccl_premul_sum(2.0))
        return x.tolist()

    for name, text in run(function, 2, backend, gpus=2):
        assert name == "CollectiveError" and "ranks make different calls" in text
        assert "rank 0: all_reduce(float32[2], PREMUL_SUM) at" in text
        assert "rank 1: all_reduce(float32[2], SUM) at" in text

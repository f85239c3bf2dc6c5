"""Calls that run as one operation, for virtual GPUs, a stand-in for NCCL and NCCL itself."""

import warnings

import flambeau as torch
from flambeau import distributed as dist
from flambeau.distributed import distributed_c10d


def filled(*values, device="cuda", dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=device)


def zeros(count, device="cuda"):
    return torch.zeros(count, device=device)


def deprecated(call, *args, **kwargs):
    with warnings.catch_warnings(action="ignore"):
        return call(*args, **kwargs)


def values(rank, size, device="cuda"):
    """The results of coalesced calls on a rank, and the number of works to wait for."""
    found = {}
    x, y = filled(rank, 1, device=device), filled(rank + 1, device=device, dtype=torch.float64)
    with dist._coalescing_manager() as manager:
        dist.all_reduce(x)
        dist.all_reduce(y)
    found["all_reduce"] = x.tolist(), y.tolist(), manager.works
    parts = zeros(size, device), zeros(2 * size, device)
    with dist._coalescing_manager(async_ops=True) as manager:
        dist.all_gather_into_tensor(parts[0], filled(rank, device=device), async_op=True)
        dist.all_gather_single(parts[1], filled(rank, 7, device=device), async_op=True)
    manager.wait()
    found["all_gather"] = [each.tolist() for each in parts], len(manager.works)
    mine = zeros(1, device), zeros(2, device)
    with distributed_c10d._coalescing_manager(distributed_c10d._get_default_group(), async_ops=True) as manager:
        dist.reduce_scatter_tensor(mine[0], torch.arange(1.0 * size, device=device), dist.ReduceOp.MAX)
        dist.reduce_scatter_single(mine[1], torch.arange(2.0 * size, device=device), dist.ReduceOp.MAX)
    manager.wait()
    found["reduce_scatter"] = [each.tolist() for each in mine]
    found["mixed"] = mixed(rank, device, size)
    x, y = filled(rank, device=device), filled(rank, rank, device=device)
    deprecated(dist.all_reduce_coalesced, [x, y], dist.ReduceOp.MAX)
    sums = deprecated(dist.all_reduce_coalesced, [x, y], async_op=True).wait()
    found["all_reduce_coalesced"] = [each.tolist() for each in sums], sums[0] is x
    lists = [[zeros(1, device), zeros(2, device)] for _ in range(size)]
    deprecated(dist.all_gather_coalesced, lists, [filled(rank, device=device), filled(rank, 8, device=device)])
    found["all_gather_coalesced"] = [[each.tolist() for each in one] for one in lists]
    return found


def mixed(rank, device, size):
    """Calls of every kind in one operation."""
    reduced, sent, got = filled(rank, device=device), filled(10 * rank, device=device), zeros(1, device)
    shared, ring = filled(rank, device=device), zeros(1, device)
    everyone = [zeros(1, device) for _ in range(size)]
    rows = [(rank + other) % 2 for other in range(size)]  # some are empty
    exchanged = zeros(sum(rows), device)
    group = dist.new_group(list(range(size)))
    with dist._coalescing_manager(group, device=torch.device(device)):
        dist.reduce(reduced, 1, group=group)
        dist.broadcast(shared, size - 1, group=group)
        dist.scatter(got, [filled(each, device=device) for each in range(size)] if rank == 0 else None, 0, group)
        dist.all_gather(everyone, sent, group)
        dist.all_to_all_single(exchanged, filled(*([float(rank)] * sum(rows)), device=device), rows, rows, group)
        dist.send(filled(rank, device=device), (rank + 1) % size, group)
        assert dist.recv(ring, (rank - 1) % size, group) == (rank - 1) % size
    return [
        reduced.tolist() if rank == 1 else None,
        shared.tolist(),
        got.tolist(),
        [each.item() for each in everyone],
        exchanged.tolist(),
        ring.tolist(),
    ]


def expected(rank, size):
    ranks, total = range(size), float(sum(range(size)))
    return {
        "all_reduce": ([total, size], [total + size], []),
        "all_gather": ([[*ranks], [number for each in ranks for number in (each, 7)]], 1),
        "reduce_scatter": [[rank], [2.0 * rank, 2.0 * rank + 1]],
        "mixed": [
            [total] if rank == 1 else None,
            [size - 1],
            [rank],
            [10.0 * each for each in ranks],
            [each for each in ranks if (rank + each) % 2],
            [(rank - 1) % size],
        ],
        "all_reduce_coalesced": ([[size * (size - 1)], [size * (size - 1)] * 2], True),
        "all_gather_coalesced": [[[each], [each, 8.0]] for each in ranks],
    }

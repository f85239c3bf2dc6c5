"""Collectives of several ranks and mistakes of theirs, for a stand-in for NCCL and for NCCL itself."""

import flambeau as torch
from flambeau import distributed as dist
from flambeau.nn.parallel import DistributedDataParallel
from tests.parallel.processes import die

ReduceOp = dist.ReduceOp


def filled(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device="cuda")


def results(rank, size):
    """What each collective gives; they follow each other without a wait of the host."""
    x = filled(rank + 1, rank + 2)
    found = {}
    for op in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT):
        found[op.name] = reduced = x.clone()
        dist.all_reduce(reduced, op)
    for kind in (torch.bool, torch.int16, torch.float64, torch.bfloat16):
        found[str(kind)] = reduced = filled(rank, 1, dtype=kind)
        dist.all_reduce(reduced)
    found["bits"] = bits = filled(1 << rank, 8, dtype=torch.int32)
    dist.all_reduce(bits, ReduceOp.BOR)
    found["reduce"] = reduced = x.clone()
    dist.reduce(reduced, 1)
    if rank != 1:
        del found["reduce"]  # is undefined there
    found["broadcast"] = got = x.clone()
    dist.broadcast(got, 1)
    found["all_gather"] = parts = [torch.zeros(2, device="cuda") for _ in range(size)]
    dist.all_gather(parts, x)
    found["all_gather_into_tensor"] = whole = torch.zeros(2 * size, device="cuda")
    dist.all_gather_into_tensor(whole, x)
    found["gather"] = gathered = [torch.zeros(2, device="cuda") for _ in range(size)] if rank == 0 else []
    dist.gather(x, gathered or None, 0)
    found["scatter"] = got = torch.zeros(2, device="cuda")
    dist.scatter(got, [x + each for each in range(size)] if rank == 0 else None, 0)
    found["reduce_scatter"] = got = torch.zeros(2, device="cuda")
    dist.reduce_scatter(got, [x * each for each in range(size)])
    found["reduce_scatter_tensor"] = got = torch.zeros(2, device="cuda")
    dist.reduce_scatter_tensor(got, torch.cat([x * each for each in range(size)]))
    found["all_to_all"] = parts = [torch.zeros(2, device="cuda") for _ in range(size)]
    dist.all_to_all(parts, [x + 10 * each for each in range(size)])
    rows = [(rank + other) % 2 for other in range(size)]  # some are empty
    found["all_to_all_single"] = got = torch.zeros(sum(rows), device="cuda")
    dist.all_to_all_single(got, torch.arange(float(sum(rows)), device="cuda") + 10 * rank, rows, rows)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    dist.barrier()
    group = dist.new_group([0, size - 1])
    if rank in (0, size - 1):
        found["subgroup"] = reduced = x.clone()
        dist.all_reduce(reduced, group=group)
    return objects, {
        name: [each.tolist() for each in value] if isinstance(value, list) else value.tolist()
        for name, value in found.items()
    }


def noted_ends(client, limit=200):
    """Wait until the watchdog has seen the end of all collectives."""
    for _ in range(limit):
        if all(not channel.running for channel in client.channels.values()):
            return
        client.await_failure(0.05)
    raise AssertionError("the watchdog does not see the end of collectives")


# training


def steps(net, x, y):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def data():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)).double()
    return net, torch.randn(8, 4, dtype=torch.float64), torch.randn(8, 1, dtype=torch.float64)


def trained(rank):
    """The losses of a rank that has a half of the data."""
    net, x, y = data()
    net = DistributedDataParallel(net.cuda())
    return steps(net, x[4 * rank : 4 * rank + 4].cuda(), y[4 * rank : 4 * rank + 4].cuda())


# mistakes


def reduced(x, *args):
    dist.all_reduce(x, *args)
    return x.tolist()


def other_order(rank):
    x, y = torch.ones(2, device="cuda"), torch.ones(3, device="cuda")
    for each in ((x, y), (y, x))[rank]:
        dist.all_reduce(each)
    return x.tolist()


def split(rank):
    out, sent = torch.ones(3, device="cuda"), torch.ones(3, device="cuda")
    dist.all_to_all_single(out, sent, [2, 1], [1, 2])
    torch.cuda.synchronize()
    dist.barrier()


def messages(rank):
    x = torch.ones(2 + rank, device="cuda")
    if rank == 0:
        dist.send(x, 1)
    else:
        dist.recv(x, 0)
    torch.cuda.synchronize()
    dist.barrier()


def other_groups(rank):
    groups = [dist.new_group(pair, sort_ranks=False) for pair in ([[0, 1], [1, 0]] if rank else [[1, 0], [0, 1]])]
    return reduced(torch.ones(2, device="cuda"), ReduceOp.SUM, groups[0])


def leaves(rank):
    return reduced(torch.ones(2, device="cuda")) if rank == 0 else None


def dies(rank):
    return reduced(torch.ones(2, device="cuda")) if rank == 0 else die()


def host_and_device(rank):
    return reduced(torch.ones(2, device="cuda")) if rank == 0 else dist.barrier()


PLANTED = {
    "shape": (lambda rank: reduced(torch.ones(2 + rank, device="cuda")), "ranks make different calls"),
    "reduction": (
        lambda rank: reduced(torch.ones(2, device="cuda"), ReduceOp.MAX if rank else ReduceOp.SUM),
        "ranks make different calls",
    ),
    "order of groups": (other_groups, "ranks make different calls"),
    "order": (other_order, "ranks make different calls"),
    "sizes of splits": (split, "rank 0 sends 4 bytes to rank 0, which takes 8"),
    "message": (messages, "ranks make different calls"),
    "a call of the host": (host_and_device, "ranks make different calls"),
    "one leaves": (leaves, "rank 1 has left the group"),
    "one dies": (dies, "the process of rank 1 has ended"),
}


def after_a_first(name, rank):
    """Make the mistake once there is a communicator: the host's wait for one would find it too."""
    reduced(torch.ones(2, device="cuda"))
    answer = PLANTED[name][0](rank)
    if name not in ("one leaves", "one dies"):
        dist.barrier()  # NCCL may end calls that differ, with wrong values
    return answer

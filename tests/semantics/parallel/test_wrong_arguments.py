"""Wrong devices, modules and inputs of DataParallel, its parts and the collectives."""

import flambeau as torch
from flambeau import nn
from flambeau.nn import parallel
from flambeau.parallel import comm
from tests.wrong import cases, refused

HOST = torch.ones(4)


def on(index):
    return torch.ones(4, device=f"cuda:{index}")


def net():
    return nn.Linear(2, 2).cuda()


@cases(
    (lambda: parallel.DataParallel(3), TypeError, "DataParallel", "3"),
    (lambda: parallel.DataParallel(net(), [5]), RuntimeError, "DataParallel", "cuda:5"),
    (lambda: parallel.DataParallel(net(), []), ValueError, "DataParallel", "[]"),
    (lambda: parallel.DataParallel(net(), [0, 0]), ValueError, "DataParallel", "[0, 0]"),
    (lambda: parallel.DataParallel(net(), 3), TypeError, "DataParallel", "3"),
    (lambda: parallel.DataParallel(net(), output_device="foo"), RuntimeError, "DataParallel", "foo"),
    (lambda: parallel.DataParallel(net(), dim="x"), TypeError, "DataParallel", "'x'"),
    (lambda: parallel.DataParallel(nn.Linear(2, 2))(torch.ones(4, 2)), RuntimeError, "DataParallel", "cuda:0"),
    (lambda: parallel.data_parallel(nn.Linear(2, 2), torch.ones(4, 2)), RuntimeError, "data_parallel", "cuda:0"),
    (lambda: parallel.data_parallel(net(), HOST, module_kwargs=3), TypeError, "data_parallel", "3"),
    (lambda: parallel.replicate(3, [0]), TypeError, "replicate", "3"),
    (lambda: parallel.replicate(net(), []), ValueError, "replicate", "[]"),
    (lambda: parallel.replicate(nn.Linear(2, 2), [0, 1]), RuntimeError, "replicate", "float32[2, 2] on cpu", "cuda:0"),
    (lambda: parallel.replicate(net(), [0, 9]), RuntimeError, "replicate", "cuda:9"),
    (lambda: parallel.parallel_apply([net()], []), ValueError, "parallel_apply", "1", "0"),
    (lambda: parallel.parallel_apply([3], [()]), TypeError, "parallel_apply", "3"),
    (lambda: parallel.parallel_apply([net()], [()], None, [0, 1]), ValueError, "parallel_apply", "1", "2"),
    (lambda: parallel.scatter(HOST, 3), TypeError, "scatter", "3"),
    (lambda: parallel.scatter(HOST, []), ValueError, "scatter", "[]"),
    (lambda: parallel.scatter(HOST, [0, 9]), RuntimeError, "scatter", "cuda:9"),
    (lambda: parallel.scatter_kwargs((), 3, [0]), TypeError, "scatter_kwargs", "3"),
    (lambda: parallel.gather([], 0), ValueError, "gather", "[]"),
    (lambda: parallel.gather([3, 4], 0), TypeError, "gather", "3"),
    (lambda: parallel.gather([on(0), 3], 0), TypeError, "gather", "3"),
    (lambda: parallel.gather([[on(0)], 3], 0), TypeError, "gather", "3"),
    (lambda: parallel.gather([HOST, HOST], 0), TypeError, "gather", "float32[4] on cpu"),
    (lambda: comm.broadcast(3, [0]), TypeError, "broadcast", "3"),
    (lambda: comm.broadcast(HOST, ["foo"]), RuntimeError, "broadcast", "foo"),
    (lambda: comm.broadcast(HOST, [9]), RuntimeError, "broadcast", "cuda:9"),
    (lambda: comm.broadcast(HOST), RuntimeError, "broadcast"),
    (lambda: comm.broadcast_coalesced([HOST], [0]), RuntimeError, "broadcast_coalesced", "float32[4] on cpu", "cuda:0"),
    (lambda: comm.broadcast_coalesced([on(0)], [0, 1], buffer_size="x"), TypeError, "broadcast_coalesced", "'x'"),
    (lambda: comm.reduce_add([on(0), HOST]), ValueError, "reduce_add", "float32[4] on cpu"),
    (lambda: comm.reduce_add([on(0), torch.ones(2, device="cuda:1")]), ValueError, "reduce_add", "1", "[2]", "[4]"),
    (lambda: comm.reduce_add([on(0)], "foo"), RuntimeError, "reduce_add", "foo"),
    (lambda: comm.reduce_add_coalesced([]), ValueError, "reduce_add_coalesced"),
    (lambda: comm.reduce_add_coalesced([[on(0)], [HOST]]), ValueError, "reduce_add_coalesced", "float32[4] on cpu"),
    (lambda: comm.scatter(HOST, [0, 1], ["x", 1]), TypeError, "scatter", "'x'"),
    (lambda: comm.scatter(HOST, [0, 1], [1, 1]), RuntimeError, "scatter", "[1, 1]", "4"),
    (lambda: comm.scatter(HOST, [0, 1], dim="x"), TypeError, "scatter", "'x'"),
    (lambda: comm.scatter(HOST, [0], dim=5), IndexError, "scatter", "5"),
    (lambda: comm.gather([on(0)], dim=5), IndexError, "gather", "5"),
    (lambda: comm.gather([on(0)], destination="foo"), RuntimeError, "gather", "foo"),
    (
        lambda: comm.gather([on(0), torch.ones(2, 2, device="cuda:1")]),
        RuntimeError,
        "gather",
        "float32[2, 2] on cuda:1",
        "float32[4] on cuda:0",
    ),
)
def test_wrong_calls(gpus, case):
    refused(*case)

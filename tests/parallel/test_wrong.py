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
    (lambda: parallel.DataParallel(3), TypeError, "DataParallel: module must be a Module, got 3"),
    (lambda: parallel.DataParallel(net(), [5]), RuntimeError, "DataParallel: cuda:5: there is no such device"),
    (lambda: parallel.DataParallel(net(), []), ValueError, "DataParallel: device_ids is empty: []"),
    (lambda: parallel.DataParallel(net(), [0, 0]), ValueError, "DataParallel: device_ids [0, 0] names a device twice"),
    (lambda: parallel.DataParallel(net(), 3), TypeError, "DataParallel: device_ids must be a list of devices, got 3"),
    (
        lambda: parallel.DataParallel(net(), output_device="foo"),
        RuntimeError,
        "DataParallel: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (lambda: parallel.DataParallel(net(), dim="x"), TypeError, "DataParallel: dim must be an int, got 'x'"),
    (
        lambda: parallel.DataParallel(nn.Linear(2, 2))(torch.ones(4, 2)),
        RuntimeError,
        "DataParallel: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one "
        "of them on device: cpu (weight)",
    ),
    (
        lambda: parallel.data_parallel(nn.Linear(2, 2), torch.ones(4, 2)),
        RuntimeError,
        "data_parallel: module must have its parameters and buffers on device cuda:0",
    ),
    (
        lambda: parallel.data_parallel(net(), HOST, module_kwargs=3),
        TypeError,
        "data_parallel: module_kwargs must be a dict, got 3",
    ),
    (lambda: parallel.replicate(3, [0]), TypeError, "replicate: network must be a Module, got 3"),
    (lambda: parallel.replicate(net(), []), ValueError, "replicate: got no devices: []"),
    (
        lambda: parallel.replicate(nn.Linear(2, 2), [0, 1]),
        RuntimeError,
        "replicate: tensors[0] is float32[2, 2] on cpu, devices[0] is cuda:0",
    ),
    (lambda: parallel.replicate(net(), [0, 9]), RuntimeError, "replicate: cuda:9: there is no such device"),
    (
        lambda: parallel.parallel_apply([net()], []),
        ValueError,
        "parallel_apply: 1 modules, 0 inputs and 1 kwargs do not fit",
    ),
    (lambda: parallel.parallel_apply([3], [()]), TypeError, "parallel_apply: modules[0] must be callable, got 3"),
    (
        lambda: parallel.parallel_apply([net()], [()], None, [0, 1]),
        ValueError,
        "parallel_apply: 1 modules and 2 devices do not fit",
    ),
    (lambda: parallel.scatter(HOST, 3), TypeError, "scatter: target_gpus must be a list of devices, got 3"),
    (lambda: parallel.scatter(HOST, []), ValueError, "scatter: got no devices: []"),
    (lambda: parallel.scatter(HOST, [0, 9]), RuntimeError, "scatter: cuda:9: there is no such device"),
    (lambda: parallel.scatter_kwargs((), 3, [0]), TypeError, "scatter_kwargs: kwargs must be a dict, got 3"),
    (lambda: parallel.gather([], 0), ValueError, "gather: got no outputs: []"),
    (
        lambda: parallel.gather([3, 4], 0),
        TypeError,
        "gather: outputs must be tensors, or tuples, lists and dicts of them, got 3",
    ),
    (lambda: parallel.gather([on(0), 3], 0), TypeError, "gather: outputs[1] must be a Tensor, got 3"),
    (lambda: parallel.gather([[on(0)], 3], 0), TypeError, "gather: outputs[0] is "),
    (
        lambda: parallel.gather([HOST, HOST], 0),
        TypeError,
        "gather: expects all inputs to be on GPUs, tensors[0] is float32[4] on cpu",
    ),
    (lambda: comm.broadcast(3, [0]), TypeError, "broadcast: the source must be a Tensor, got 3"),
    (
        lambda: comm.broadcast(HOST, ["foo"]),
        RuntimeError,
        "broadcast: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (lambda: comm.broadcast(HOST, [9]), RuntimeError, "broadcast: cuda:9: there is no such device"),
    (lambda: comm.broadcast(HOST), RuntimeError, "broadcast: Exactly one of 'devices' and 'out' must be specified"),
    (
        lambda: comm.broadcast_coalesced([HOST], [0]),
        RuntimeError,
        "broadcast_coalesced: tensors[0] is float32[4] on cpu, devices[0] is cuda:0",
    ),
    (
        lambda: comm.broadcast_coalesced([on(0)], [0, 1], buffer_size="x"),
        TypeError,
        "broadcast_coalesced: buffer_size must be an int, got 'x'",
    ),
    (
        lambda: comm.reduce_add([on(0), HOST]),
        ValueError,
        "reduce_add: expects all inputs to be on GPUs, inputs[1] is float32[4] on cpu",
    ),
    (
        lambda: comm.reduce_add([on(0), torch.ones(2, device="cuda:1")]),
        ValueError,
        "reduce_add: input 1 has invalid size: got [2], but expected [4]",
    ),
    (
        lambda: comm.reduce_add([on(0)], "foo"),
        RuntimeError,
        "reduce_add: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (lambda: comm.reduce_add_coalesced([]), ValueError, "reduce_add_coalesced: got no tensors"),
    (
        lambda: comm.reduce_add_coalesced([[on(0)], [HOST]]),
        ValueError,
        "reduce_add_coalesced: expects all inputs to be on GPUs, inputs[1] is float32[4] on cpu",
    ),
    (lambda: comm.scatter(HOST, [0, 1], ["x", 1]), TypeError, "scatter: chunk_sizes[0] must be an int, got 'x'"),
    (
        lambda: comm.scatter(HOST, [0, 1], [1, 1]),
        RuntimeError,
        "scatter: chunk_sizes [1, 1] do not sum to size 4 of dimension 0",
    ),
    (lambda: comm.scatter(HOST, [0, 1], dim="x"), TypeError, "scatter: dim must be an int, got 'x'"),
    (
        lambda: comm.scatter(HOST, [0], dim=5),
        IndexError,
        "scatter: Dimension out of range (expected to be in range of [-1, 0], but got 5)",
    ),
    (
        lambda: comm.gather([on(0)], dim=5),
        IndexError,
        "gather: Dimension out of range (expected to be in range of [-1, 0], but got 5)",
    ),
    (
        lambda: comm.gather([on(0)], destination="foo"),
        RuntimeError,
        "gather: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (
        lambda: comm.gather([on(0), torch.ones(2, 2, device="cuda:1")]),
        RuntimeError,
        "gather: tensors[1] is float32[2, 2] on cuda:1, which does not fit float32[4] on cuda:0",
    ),
)
def test_wrong_calls(gpus, call, error, begins):
    refused(call, error, begins)

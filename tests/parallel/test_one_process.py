"""torch.cuda.nccl: collectives over tensors of one process, one per GPU."""

import pytest

import flambeau as torch
from flambeau.cuda import nccl
from flambeau.driver import nccl_version
from flambeau.errors import ArgumentTypeError, NotSupportedError, RaceError, ValueRangeError
from flambeau.parallel import one_process
from flambeau.parallel.comm import CollectiveError
from flambeau.testing import machine

pytestmark = pytest.mark.devices(3)
SIZE = 3


def on_each(values, dtype=torch.float32):
    return [torch.tensor(each, dtype=dtype, device=f"cuda:{index}") for index, each in enumerate(values)]


def zeros(count):
    return [torch.zeros(count, device=f"cuda:{index}") for index in range(SIZE)]


def lists(tensors):
    return [each.tolist() for each in tensors]


def test_reductions(gpus):
    values = [[1, 6], [2, 5], [3, 7]]
    cases = {0: [6, 18], 1: [6, 210], 2: [3, 7], 3: [1, 5], 4: [2, 6]}
    for op, expected in cases.items():
        for dtype in (torch.float32, torch.int64, torch.bfloat16):
            x, before = on_each(values, dtype), on_each(values, dtype)
            nccl.all_reduce(x, op=op)
            assert lists(x) == [expected] * SIZE, (op, dtype)
            outputs = on_each([[0, 0]] * SIZE, dtype)
            nccl.all_reduce(before, outputs, op)
            assert lists(outputs) == [expected] * SIZE and lists(before) == values
            nccl.reduce(before, root=2, op=op)
            assert lists(before) == [*values[:2], expected]
    x, output = on_each(values), torch.zeros(2, device="cuda:1")
    nccl.reduce(x, output, 1)
    assert (lists(x), output.tolist()) == (values, [6, 18])
    for named in (False, True):
        outputs = zeros(2)
        with pytest.warns(FutureWarning, match="pass output"):
            nccl.reduce(x, root=1, outputs=outputs) if named else nccl.reduce(x, outputs, 1)
        assert lists(outputs) == [[0, 0], [6, 18], [0, 0]]


def test_copies(gpus):
    x = on_each([[1, 2], [3, 4], [5, 6]])
    nccl.broadcast(x, 1)
    assert lists(x) == [[3, 4]] * SIZE
    wholes = zeros(6)
    nccl.all_gather(on_each([[1, 2], [3, 4], [5, 6]]), wholes)
    assert lists(wholes) == [[1, 2, 3, 4, 5, 6]] * SIZE
    parts = zeros(2)
    nccl.reduce_scatter(wholes, parts)
    assert lists(parts) == [[3, 6], [9, 12], [15, 18]]
    nccl.reduce_scatter(wholes, parts, nccl.SUM + 2)
    assert lists(parts) == [[1, 2], [3, 4], [5, 6]]
    whole = [torch.zeros(3, 2, device=each.device) for each in parts]  # any shape of as many elements
    nccl.all_gather(parts, whole)
    assert lists(whole) == [[[1, 2], [3, 4], [5, 6]]] * SIZE


def test_values_are_no_part_of_a_graph(gpus):
    x = [each.requires_grad_() for each in on_each([[1.0], [2.0], [3.0]])]
    outputs = zeros(1)
    nccl.all_reduce(x, outputs)
    assert [each.requires_grad for each in outputs] == [False] * SIZE
    version = outputs[0]._version
    nccl.broadcast(outputs, 1)
    assert outputs[0]._version == version + 1


def test_each_gpu_works_on_its_stream():
    with machine(devices=SIZE, races="error"):
        streams = [torch.cuda.Stream(index) for index in range(SIZE)]
        x = on_each([[1.0], [2.0], [3.0]])
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream(stream.device))
        nccl.all_reduce(x, streams=streams)
        with pytest.raises(RaceError, match="nothing orders this after copy peer"):
            (x[1] + 1).tolist()
    with machine(devices=SIZE, races="error"):
        streams = [None, torch.cuda.Stream(1), None]
        x = on_each([[1.0], [2.0], [3.0]])
        streams[1].wait_stream(torch.cuda.current_stream(1))
        nccl.all_reduce(x, streams=streams)
        torch.cuda.current_stream(1).wait_stream(streams[1])
        assert lists(x) == [[6.0]] * SIZE


def test_what_is_available(gpus):
    x = on_each([[1.0, 2.0]] * SIZE)
    cases = {
        "each on its GPU": (x, True),
        "one GPU twice": ([x[0], x[0]], False),
        "the CPU": ([x[0], torch.ones(2)], False),
        "strides": ([torch.ones(2, 2, device="cuda").t()], False),
    }
    for name, (tensors, expected) in cases.items():
        assert nccl.is_available(tensors) is expected, name
    assert nccl.version() == (nccl_version() or one_process.MODELLED_VERSION)
    assert len(nccl.unique_id()) == 128 and nccl.unique_id() != nccl.unique_id()
    assert torch.cuda.nccl is nccl


def test_without_nccl(monkeypatch):
    monkeypatch.setattr(one_process, "nccl_version", lambda: None)
    monkeypatch.setattr(one_process, "nccl_unique_id", lambda: None)
    monkeypatch.setattr(one_process, "_is_virtual", lambda: False)
    for call in (nccl.version, nccl.unique_id):
        with pytest.raises(NotSupportedError, match="NCCL was not found"):
            call()
    with pytest.warns(UserWarning, match="NCCL was not found"):
        assert nccl.is_available([torch.ones(1)]) is False


def test_mistakes_are_named(gpus):
    x, y = on_each([[1.0, 2.0]] * SIZE), zeros(3)
    cases = [
        (lambda: nccl.all_reduce(x[0]), ArgumentTypeError, "all_reduce: inputs must be a list of tensors"),
        (lambda: nccl.all_reduce([]), CollectiveError, "all_reduce: got no tensors"),
        (lambda: nccl.all_reduce([x[0], torch.ones(2)]), CollectiveError, r"inputs\[1\] .* float32\[2\] on cpu"),
        (lambda: nccl.all_reduce([x[0], x[0]]), CollectiveError, "and are on cuda:0, cuda:0"),
        (
            lambda: nccl.all_reduce([x[0], y[1]]),
            CollectiveError,
            r"inputs\[1\] is float32\[3\] on cuda:1, which does not match inputs",
        ),
        (lambda: nccl.all_reduce([x[0], x[1].int()]), CollectiveError, r"inputs\[1\] is int32\[2\]"),
        (lambda: nccl.all_reduce(x, x[:2]), CollectiveError, "got 3 inputs and 2 outputs"),
        (lambda: nccl.all_reduce(x, x[::-1]), CollectiveError, r"outputs\[0\] is float32\[2\] on cuda:2"),
        (lambda: nccl.all_gather(x, y), CollectiveError, r"outputs\[0\] is float32\[3\]"),
        (lambda: nccl.reduce_scatter(x, y), CollectiveError, r"outputs\[0\] is float32\[3\]"),
        (lambda: nccl.reduce(x, y[0]), CollectiveError, r"outputs\[0\] is float32\[3\]"),
        (lambda: nccl.reduce(x, x[0], outputs=x), CollectiveError, "both output and outputs"),
        (lambda: nccl.reduce(x, root=3), ValueRangeError, "root must be an index of the 3 inputs, got 3"),
        (lambda: nccl.broadcast(x, -1), ValueRangeError, "root must be an index of the 3 inputs, got -1"),
        (lambda: nccl.all_reduce(x, op=5), ValueRangeError, "op must be .*, got 5"),
        (lambda: nccl.all_reduce(x, comms=[1]), NotSupportedError, "comms is"),
        (lambda: nccl.all_reduce(x, streams=[None]), ValueError, "got 1 for 3 devices"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind, match=text):
            call()
    assert lists(x) == [[1.0, 2.0]] * SIZE

"""Copies and sums between devices (1.2.5)."""

import pytest

import flambeau as torch
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DeviceMismatchError,
    NoDeviceError,
    ShapeError,
)
from flambeau.parallel import comm

pytestmark = pytest.mark.devices(3)


def on(index, *values):
    return torch.tensor(values, device=f"cuda:{index}")


def where(tensors):
    return [each.get_device() for each in tensors]


def lists(tensors):
    return [each.tolist() for each in tensors]


def test_broadcast_keeps_the_source_s_own(gpus):
    x = on(1, 1.0, 2.0)
    copies = comm.broadcast(x, [1, "cuda:0", torch.device("cuda:2")])
    assert copies[0] is x
    assert (where(copies), lists(copies)) == ([1, 0, 2], [[1.0, 2.0]] * 3)
    from_cpu = comm.broadcast(torch.ones(2), [0, 1])
    assert (where(from_cpu), lists(from_cpu)) == ([0, 1], [[1.0, 1.0]] * 2)


def test_broadcast_into_tensors(gpus):
    out = [torch.zeros(2, device="cuda:0"), torch.zeros(2, device="cuda:2")]
    found = comm.broadcast(on(1, 1.0, 2.0), out=out)
    assert all(a is b for a, b in zip(found, out))
    assert lists(out) == [[1.0, 2.0]] * 2


def test_broadcast_checks(gpus):
    x = on(0, 1.0)
    for options in ({}, {"devices": [0], "out": [x]}):
        with pytest.raises(RuntimeError, match="Exactly one of 'devices' and 'out'"):
            comm.broadcast(x, **options)
    with pytest.raises(DeviceMismatchError, match=r"out\[0\] is float32\[1\] on cpu"):
        comm.broadcast(x, out=[torch.ones(1)])
    with pytest.raises(ShapeError, match=r"out\[1\] has shape \[2\], the source has shape \[1\]"):
        comm.broadcast(x, out=[on(1, 1.0), on(1, 1.0, 2.0)])


@pytest.mark.parametrize("buffer_size", [comm.BUFFER_BYTES, 600, 1])
def test_coalesced_copies_are_the_originals(gpus, buffer_size):
    tensors = [
        torch.arange(300.0, device="cuda:1"),
        torch.arange(5, device="cuda:1"),
        torch.zeros(0, device="cuda:1"),
        torch.arange(6.0, device="cuda:1").view(2, 3).t(),
        torch.tensor(7.0, device="cuda:1"),
        torch.tensor([True, False], device="cuda:1"),
    ]
    first, second, third = comm.broadcast_coalesced(tensors, [1, 0, 2], buffer_size)
    assert all(a is b for a, b in zip(first, tensors))
    for copies, index in ((second, 0), (third, 2)):
        assert where(copies) == [index] * len(tensors)
        assert lists(copies) == lists(tensors)
        assert [each.dtype for each in copies] == [each.dtype for each in tensors]
        assert [each.shape for each in copies] == [each.shape for each in tensors]


def test_coalesced_copies_have_versions_of_their_own(gpus):
    a, b = comm.broadcast_coalesced([on(0, 1.0), on(0, 2.0)], [0, 1])[1]
    b.add_(1)
    assert (a._version, b._version) == (0, 1)
    weight = torch.ones(1, device="cuda:1", requires_grad=True)
    (weight * a).backward()
    out = weight * b
    b.add_(1)
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        out.backward()


def test_small_tensors_share_one_copy(gpus):
    tensors = [torch.ones(10, device="cuda:0") for _ in range(20)]
    copies = comm.broadcast_coalesced(tensors, [0, 1])[1]
    assert len({each.data_ptr() for each in copies}) == 20
    span = max(each.data_ptr() for each in copies) - min(each.data_ptr() for each in copies)
    assert span == 19 * 256
    before = torch.cuda.memory_allocated(1)
    kept = copies[3]
    del copies
    assert torch.cuda.memory_allocated(1) == before
    del kept
    assert torch.cuda.memory_allocated(1) < before


def test_coalescing_checks_the_source(gpus):
    with pytest.raises(DeviceMismatchError, match=r"on devices\[0\], cuda:0; tensors\[1\] is float32\[1\] on cuda:1"):
        comm.broadcast_coalesced([on(0, 1.0), on(1, 1.0)], [0, 1])


def test_sums_end_on_the_destination(gpus):
    parts = [on(0, 1.0, 2.0), on(2, 10.0, 20.0), on(1, 100.0, 200.0)]
    for target in (0, 1, 2):
        found = comm.reduce_add(parts, target)
        assert (found.get_device(), found.tolist()) == (target, [111.0, 222.0])
    assert lists(parts) == [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]
    assert comm.reduce_add(parts[:1]) is parts[0]
    with torch.cuda.device(1):
        assert comm.reduce_add(parts).get_device() == 1


def test_sums_are_made_in_the_order_of_the_inputs(gpus):
    big, small = on(0, 1e8), [on(index, 1.0) for index in (1, 2)]
    assert comm.reduce_add([big, *small, on(0, -1e8)], 1).tolist() == [0.0]
    assert comm.reduce_add([*small, big, on(0, -1e8)], 1).tolist() == [0.0]
    assert comm.reduce_add([big, on(0, -1e8), *small], 1).tolist() == [2.0]


def test_sums_check_their_inputs(gpus):
    with pytest.raises(ArgumentError, match=r"inputs\[1\] is float32\[1\] on cpu"):
        comm.reduce_add([on(0, 1.0), torch.ones(1)])
    with pytest.raises(ArgumentError, match=r"input 1 has invalid size: got \[2\], but expected \[1\]"):
        comm.reduce_add([on(0, 1.0), on(1, 1.0, 2.0)])
    with pytest.raises(DeviceMismatchError, match="it is cuda:2, they are on cuda:0, cuda:1"):
        comm.reduce_add([on(0, 1.0), on(1, 1.0)], 2)


@pytest.mark.parametrize("buffer_size", [comm.BUFFER_BYTES, 1])
def test_coalesced_sums(gpus, buffer_size):
    def group(index, scale):
        kinds = (torch.float32, torch.float64, torch.float32, torch.int64)
        return [torch.tensor([[1, 2, 3]], dtype=kind, device=f"cuda:{index}") * scale for kind in kinds]

    found = comm.reduce_add_coalesced([group(0, 1), group(1, 10), group(2, 100)], 1, buffer_size)
    assert where(found) == [1] * 4
    assert lists(found) == [[[111, 222, 333]]] * 4
    assert found[3].dtype is torch.int64
    single = group(0, 1)
    assert all(a is b for a, b in zip(comm.reduce_add_coalesced([single], 0), single))


def test_scatter_splits_as_chunk_does(gpus):
    x = torch.arange(10.0).view(5, 2)
    parts = comm.scatter(x, [0, 1, 2])
    assert (where(parts), [each.shape[0] for each in parts]) == ([0, 1, 2], [2, 2, 1])
    assert [row for part in lists(parts) for row in part] == x.tolist()
    assert len(comm.scatter(x[:2], [0, 1, 2])) == 2
    columns = comm.scatter(x, [1, 2], dim=-1)
    assert lists(columns) == lists(x.chunk(2, 1))
    sizes = comm.scatter(x, [0, 1], [1, 4])
    assert [each.shape[0] for each in sizes] == [1, 4]


def test_a_part_for_the_tensor_s_own_device_is_a_view(gpus):
    x = torch.arange(4.0, device="cuda:1")
    here, there = comm.scatter(x, [1, 0])
    here.fill_(9)
    there.fill_(7)
    assert x.tolist() == [9.0, 9.0, 2.0, 3.0]


def test_scatter_into_tensors(gpus):
    out = [torch.zeros(1, 2, device="cuda:0"), torch.zeros(2, 2, device="cuda:1")]
    comm.scatter(torch.arange(6.0).view(3, 2), out=out)
    assert lists(out) == [[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]]


def test_scatter_checks(gpus):
    x = torch.ones(4)
    with pytest.raises(RuntimeError, match="Exactly one of 'devices' and 'out'"):
        comm.scatter(x)
    with pytest.raises(RuntimeError, match="Exactly one of 'chunk_sizes' and 'out'"):
        comm.scatter(x, chunk_sizes=[4], out=[on(0, 1.0)])
    with pytest.raises(ShapeError, match=r"len\(devices\)=2 and len\(chunk_sizes\)=1"):
        comm.scatter(x, [0, 1], [4])
    with pytest.raises(ShapeError, match=r"chunk_sizes \[1, 2\] do not sum to size 4"):
        comm.scatter(x, [0, 1], [1, 2])
    with pytest.raises(DeviceMismatchError, match=r"out\[1\] is float32\[2\] on cpu"):
        comm.scatter(x, out=[on(0, 1.0, 2.0), torch.ones(2)])
    with pytest.raises(ShapeError, match=r"out\[0\] has shape \[2, 1\], expected"):
        comm.scatter(x, out=[torch.ones(2, 1, device="cuda:0")])
    with pytest.raises(ShapeError, match=r"sizes \[1, 2\] do not sum to size 4"):
        comm.scatter(x, out=[on(0, 1.0), on(1, 1.0, 2.0)])


def test_scatter_copies_on_the_streams_that_it_is_given(gpus):
    streams = [torch.cuda.Stream(0), None]
    parts = comm.scatter(torch.arange(4.0), [0, 1], streams=streams)
    torch.cuda.current_stream(0).wait_stream(streams[0])
    assert lists(parts) == [[0.0, 1.0], [2.0, 3.0]]


def test_scatter_into_tensors_on_streams(gpus):
    x = torch.arange(float(1 << 23)).pin_memory()
    out, streams = [torch.zeros(1 << 22, device=f"cuda:{index}") for index in (0, 1)], [torch.cuda.Stream(0), None]
    streams[0].wait_stream(torch.cuda.current_stream(0))
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record(streams[0])
    comm.scatter(x, out=out, streams=streams)
    end.record(streams[0])
    torch.cuda.current_stream(0).wait_stream(streams[0])
    assert [each[-1].item() for each in out] == [(1 << 22) - 1.0, (1 << 23) - 1.0]
    assert start.elapsed_time(end) > 0.1, "milliseconds: 16 MiB are copied on the stream that was given"


def test_scatter_checks_its_streams(gpus):
    x, side = torch.arange(4.0), torch.cuda.Stream(0)
    for streams in ([side], [], [side, None, None]):
        with pytest.raises(ArgumentError, match=f"scatter: streams must have .*, got {len(streams)} for 2 devices"):
            comm.scatter(x, [0, 1], streams=streams)
    with pytest.raises(DeviceMismatchError, match=r"streams\[1\] is .*cuda:0.*, its part goes to cuda:1\nhint: "):
        comm.scatter(x, [0, 1], streams=[None, side])
    with pytest.raises(DeviceMismatchError, match=r"streams\[0\] is .*cuda:0.*, its part goes to cuda:1"):
        comm.scatter(x, out=[torch.zeros(4, device="cuda:1")], streams=[side])
    with pytest.raises(ArgumentTypeError, match=r"scatter: streams\[0\] must be a Stream or None, got 7"):
        comm.scatter(x, [0, 1], streams=[7, None])
    with pytest.raises(ArgumentTypeError, match="scatter: streams must be a list of streams, got a Stream\nhint: "):
        comm.scatter(x, [0], streams=side)


def test_scatter_needs_a_dimension_and_a_device(gpus):
    for options in ({}, {"chunk_sizes": [1]}):
        with pytest.raises(ShapeError, match=r"scatter: float32\[\] on cpu has no dimension to split along\nhint: "):
            comm.scatter(torch.tensor(1.0), [0], **options)
    with pytest.raises(ShapeError, match="scatter: got no devices"):
        comm.scatter(torch.ones(2), [])


def test_gather_joins(gpus):
    parts = [on(1, 1.0), on(0, 2.0, 3.0), on(1)]
    found = comm.gather(parts)
    assert (found.get_device(), found.tolist()) == (0, [1.0, 2.0, 3.0])
    assert comm.gather(parts, destination=2).get_device() == 2
    assert comm.gather(parts, destination="cpu").tolist() == [1.0, 2.0, 3.0]
    columns = [torch.ones(2, 1, device="cuda:0"), torch.zeros(2, 2, device="cuda:1")]
    assert comm.gather(columns, dim=1).tolist() == [[1.0, 0.0, 0.0]] * 2
    with pytest.warns(FutureWarning, match='use "cpu" instead'):
        assert comm.gather(parts, destination=-1).device.type == "cpu"
    out = torch.zeros(3, device="cuda:2")
    assert comm.gather(parts, out=out) is out
    assert out.tolist() == [1.0, 2.0, 3.0]


def test_gather_checks(gpus):
    with pytest.raises(ArgumentTypeError, match=r"tensors\[1\] is float32\[1\] on cpu"):
        comm.gather([on(0, 1.0), torch.ones(1)])
    with pytest.raises(ShapeError, match=r"tensors\[1\] is float32\[2, 2\] on cuda:1"):
        comm.gather([torch.ones(1, 3, device="cuda:0"), torch.ones(2, 2, device="cuda:1")])
    with pytest.raises(ShapeError, match=r"out has shape \[3\], expected \[2\]"):
        comm.gather([on(0, 1.0), on(1, 1.0)], out=torch.ones(3, device="cuda:0"))
    with pytest.raises(RuntimeError, match="Exactly one of 'destination' and 'out'"):
        comm.gather([on(0, 1.0)], destination=0, out=on(0, 1.0))
    with pytest.raises(ArgumentError, match="at least one tensor|got no tensors"):
        comm.gather([])


def test_gather_has_nothing_to_join_scalars_along(gpus):
    scalars = [torch.tensor(1.0, device=f"cuda:{index}") for index in (0, 1)]
    with pytest.raises(IndexError, match=r"gather: tensors\[0\] is float32\[\] on cuda:0, .*\nhint: use unsqueeze"):
        comm.gather(scalars)
    with pytest.raises(ShapeError, match=r"tensors\[1\] is float32\[\] on cuda:1"):
        comm.gather([on(0, 1.0), scalars[1]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: comm.broadcast(None, [0]), "broadcast: the source must be a Tensor, got None"),
        (lambda x: comm.broadcast(x, out=[None]), r"broadcast: out\[0\] must be a Tensor, got None"),
        (lambda x: comm.broadcast(x, 0), "broadcast: devices must be a list of devices, got 0"),
        (lambda x: comm.broadcast(x, "cuda:0"), "broadcast: devices must be a list of devices, got 'cuda:0'"),
        (lambda x: comm.broadcast_coalesced([x, 5], [0]), r"broadcast_coalesced: tensors\[1\] must be .*, got 5"),
        (lambda x: comm.reduce_add(x), r"reduce_add: inputs must be a list of tensors, got float32\[1\] on cuda:0"),
        (lambda x: comm.reduce_add_coalesced([[x], [None]]), r"reduce_add_coalesced: inputs\[1\]\[0\] must be a T"),
        (lambda x: comm.reduce_add_coalesced([x]), r"reduce_add_coalesced: inputs\[0\] must be a list of tensors"),
        (lambda x: comm.scatter(None, [0]), "scatter: the source must be a Tensor, got None"),
        (lambda x: comm.gather([None]), r"gather: tensors\[0\] must be a Tensor, got None"),
        (lambda x: comm.gather(None), "gather: tensors must be a list of tensors, got None"),
        (lambda x: comm.gather([x], out=5), "gather: out must be a Tensor, got 5"),
    ],
)
def test_what_is_no_tensor_is_a_type_error(gpus, call, text):
    with pytest.raises(ArgumentTypeError, match=text):
        call(on(0, 1.0))


def test_there_must_be_something_to_add_or_copy(gpus):
    a, b = on(0, 1.0), on(1, 1.0)
    with pytest.raises(ArgumentError, match=r"reduce_add_coalesced: .* same number of tensors, inputs have \[2, 1\]"):
        comm.reduce_add_coalesced([[a, a], [b]])
    with pytest.raises(ArgumentError, match="reduce_add_coalesced: got no tensors"):
        comm.reduce_add_coalesced([])
    with pytest.raises(ArgumentError, match="reduce_add: got no tensors"):
        comm.reduce_add([])
    with pytest.raises(ArgumentError, match="broadcast_coalesced: got no devices"):
        comm.broadcast_coalesced([a], [])
    assert comm.reduce_add_coalesced([[], []]) == () and comm.broadcast(a, []) == ()


def test_there_must_be_a_gpu(monkeypatch):
    from flambeau.config import Gpus
    from flambeau.core import thread
    from flambeau.runtime.machine import Machine

    previous = thread.swap_machine(Machine(Gpus("none")))
    try:
        with pytest.raises(NoDeviceError):
            comm.broadcast(torch.ones(1), [0])
    finally:
        thread.swap_machine(previous)

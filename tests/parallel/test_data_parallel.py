"""DataParallel and its parts: scatter and gather, replicas, threads."""

import gc
import threading
from collections import OrderedDict, namedtuple

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.errors import ArgumentError, DeviceMismatchError, IndexRangeError, ShapeError
from flambeau.nn import functional as F
from flambeau.parallel import gather, parallel_apply, replicate, scatter, scatter_kwargs
from flambeau.runtime.machine import Machine
from flambeau.testing import machine


def made(seed=3):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))


def batch(rows, step=0):
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(rows, 6, generator=generator), torch.randint(0, 3, (rows,), generator=generator)


def trained(wrap, rows, steps=4, from_cpu=True):
    """Losses of all steps, and the parameters at the end."""
    net = wrap(made().to("cuda:0"))
    optimizer = optim.Adam(net.parameters(), lr=0.05)
    losses = []
    for step in range(steps):
        x, y = batch(rows, step)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x if from_cpu else x.to("cuda:0")), y.to("cuda:0"))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [value for each in net.parameters() for value in each.reshape(-1).tolist()]


def alone(rows):
    return trained(lambda net: net, rows, from_cpu=False)


@pytest.mark.parametrize(("devices", "rows"), [(2, 8), (3, 7), (4, 10), (4, 3), (2, 1)])
def test_training_is_the_same_as_on_one_device(devices, rows):
    with machine(devices=devices, races="error"):
        losses, params = trained(nn.DataParallel, rows)
        expected_losses, expected = alone(rows)
    assert losses == pytest.approx(expected_losses, rel=1e-5)
    assert params == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("schedule", ["submission", "seeded:1", "seeded:7", "delay:2"])
def test_every_schedule_gives_the_same_bits(schedule):
    with machine(devices=3):
        expected = trained(nn.DataParallel, 7)
    with machine(devices=3, races="real", schedule=schedule):
        assert trained(nn.DataParallel, 7) == expected


def test_gradients_are_those_of_the_whole_batch(gpus):
    net = made().to("cuda:0")
    x, _ = batch(5)
    nn.DataParallel(net)(x).sum().backward()
    found = [each.grad.tolist() for each in net.parameters()]
    assert {each.grad.get_device() for each in net.parameters()} == {0}
    net.zero_grad()
    net(x.to("cuda:0")).sum().backward()
    for grad, param in zip(found, net.parameters()):
        flat = torch.tensor(grad).reshape(-1).tolist()
        assert flat == pytest.approx(param.grad.reshape(-1).tolist(), rel=1e-5, abs=1e-6)


class Scaled(nn.Module):
    """Output of several parts; counts its calls in a buffer."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0]))
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x=None, *, scale=1.0, rows=None):
        self.calls += 1
        if x is None:
            return {"y": self.weight * 1, "device": None}
        y = x * self.weight * scale
        return {"y": y if rows is None else y + rows, "device": None}


def test_keywords_are_split_and_other_values_shared(gpus):
    net = nn.DataParallel(Scaled().cuda())
    x = torch.arange(4.0)
    found = net(x, scale=3.0, rows=x * 100)
    assert found["y"].tolist() == [0.0, 106.0, 212.0, 318.0]
    assert found["device"] is None
    assert net(x=x)["y"].tolist() == [0.0, 2.0, 4.0, 6.0]
    assert net()["y"].tolist() == [2.0]


def test_buffers_of_the_first_device_persist(gpus):
    net = Scaled().cuda()
    parallel = nn.DataParallel(net)
    parallel(torch.ones(4))
    parallel(torch.ones(4))
    assert net.calls.tolist() == [2.0]


def test_fewer_rows_than_devices_use_fewer_replicas():
    seen = []

    class See(nn.Module):
        def forward(self, x):
            seen.append((x.get_device(), x.shape[0]))
            return x

    with machine(devices=4):
        assert nn.DataParallel(See())(torch.arange(3.0)).tolist() == [0.0, 1.0, 2.0]
        assert sorted(seen) == [(0, 1), (1, 1), (2, 1)]


def test_output_device_and_dim(gpus):
    x = torch.arange(6.0).view(2, 3)
    assert nn.DataParallel(nn.Identity(), output_device=1)(x).get_device() == 1
    assert nn.DataParallel(nn.Identity(), output_device="cpu")(x).device.type == "cpu"
    assert nn.DataParallel(nn.Identity(), dim=1)(x).tolist() == x.tolist()
    assert nn.DataParallel(nn.Identity(), [1, 0])(x).get_device() == 1


def test_without_gradients(gpus):
    net = nn.DataParallel(made().cuda()).eval()
    x, _ = batch(4)
    with torch.no_grad():
        out = net(x)
    assert not out.requires_grad
    assert out.tolist() == net(x).tolist()


def test_one_device_needs_no_threads(gpus):
    net = nn.DataParallel(Scaled(), device_ids=["cuda:1"])
    assert net.module.weight.get_device() == 1
    assert net(torch.ones(2))["y"].get_device() == 1


def test_without_a_gpu_the_module_is_called():
    previous = thread.swap_machine(Machine(Gpus("none")))
    try:
        net = nn.DataParallel(Scaled())
        assert net.device_ids == []
        assert net(torch.ones(2))["y"].tolist() == [2.0, 2.0]
        assert nn.parallel.data_parallel(Scaled(), torch.ones(1))["y"].tolist() == [2.0]
    finally:
        thread.swap_machine(previous)


def test_the_module_must_be_on_the_first_device(gpus):
    text = r"on device cuda:0 \(device_ids\[0\]\) but found one of them on device: {} \({}\)"
    with pytest.raises(DeviceMismatchError, match=text.format("cpu", "weight")):
        nn.DataParallel(Scaled())(torch.ones(2))
    net = Scaled().cuda()
    net.calls = net.calls.to("cuda:1")
    with pytest.raises(DeviceMismatchError, match=text.format("cuda:1", "calls")):
        nn.DataParallel(net)(torch.ones(2))


def test_bad_devices(gpus):
    with pytest.raises(ArgumentError, match="device_ids is empty"):
        nn.DataParallel(Scaled(), [])
    with pytest.raises(ArgumentError, match=r"device_ids \[0, 0\] contains a device twice"):
        nn.DataParallel(Scaled(), [0, "cuda:0"])
    with pytest.raises(RuntimeError, match="cuda:5: there is no such device"):
        nn.DataParallel(Scaled(), [0, 5])


def test_an_unlike_device_is_warned_about(gpus, monkeypatch):
    small = gpus.devices[1]
    monkeypatch.setattr(small, "properties", small.properties._replace(multi_processor_count=10))
    with pytest.warns(UserWarning, match=r"imbalance between your GPUs: cuda:1 has 10 of processors"):
        nn.DataParallel(Scaled())


def test_an_exception_names_its_replica(gpus):
    class Picky(nn.Module):
        def forward(self, x):
            if x.get_device() == 1:
                raise IndexError("not here")
            return x

    with pytest.raises(IndexError, match=r"Caught IndexError in replica 1 on device cuda:1"):
        nn.DataParallel(Picky())(torch.ones(4))


def test_state_has_the_module_s_names_below_module(gpus):
    net = nn.DataParallel(Scaled().cuda())
    assert list(net.state_dict()) == ["module.weight", "module.calls"]


def test_the_parts_can_be_replaced(gpus):
    class Twice(nn.DataParallel):
        def gather(self, outputs, output_device):
            return [super().gather(outputs, output_device), len(outputs)]

    assert Twice(nn.Identity())(torch.ones(2))[1] == 2


def test_the_function_calls_once(gpus):
    net = Scaled().cuda()
    found = nn.parallel.data_parallel(net, torch.arange(4.0), module_kwargs={"scale": 2.0}, output_device=1)
    assert (found["y"].tolist(), found["y"].get_device()) == ([0.0, 4.0, 8.0, 12.0], 1)
    assert nn.parallel.data_parallel(net, (torch.arange(2.0),), [0])["y"].tolist() == [0.0, 2.0]


def test_memory_comes_back_by_reference_count(gpus):
    net = nn.DataParallel(made().cuda())

    def step():
        x, _ = batch(6)
        net(x).sum().backward()
        net.zero_grad()

    step()
    gc.collect()
    gc.disable()
    try:
        before = [torch.cuda.memory_allocated(index) for index in range(2)]
        step()
        assert [torch.cuda.memory_allocated(index) for index in range(2)] == before
    finally:
        gc.enable()


Pair = namedtuple("Pair", "x y")


def test_structures_are_walked(gpus):
    x = torch.arange(4.0)
    shared = object()
    first, second = scatter([x, (x, {"a": x}), Pair(x, 3), shared, "text", [], None], [0, 1])
    for part, expected, index in ((first, [0.0, 1.0], 0), (second, [2.0, 3.0], 1)):
        assert isinstance(part, list)
        assert isinstance(part[1], tuple)
        assert isinstance(part[2], Pair)
        tensors = (part[0], part[1][0], part[1][1]["a"], part[2].x)
        assert all(each.tolist() == expected and each.get_device() == index for each in tensors)
        assert part[2].y == 3
        assert part[3] is shared
        assert part[4:] == ["text", [], None]
    assert type(scatter(OrderedDict(a=x), [0, 1])[0]) is OrderedDict


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.devices(4)
def test_rows_go_to_as_many_devices_as_they_fill(gpus, count):
    x = torch.arange(float(count))
    parts = scatter(x, range(4))
    assert [each.get_device() for each in parts] == list(range(len(parts)))
    assert [row for part in parts for row in part.tolist()] == x.tolist()
    assert len(parts) == len(x.chunk(4))


def test_keywords_and_positions_get_equal_length(gpus):
    x = torch.arange(2.0)
    args, kwargs = scatter_kwargs((x,), {"y": x}, [0, 1])
    assert [len(each) for each in args] == [1, 1]
    assert [each["y"].tolist() for each in kwargs] == [[0.0], [1.0]]
    assert scatter_kwargs((), {"y": x[:1]}, [0, 1])[0] == ((),)
    args, kwargs = scatter_kwargs((x,), None, [0, 1])
    assert kwargs == ({}, {})
    assert scatter_kwargs((), {}, [0, 1]) == ((), ())


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "cuda:1"])
def test_gradients_are_joined_where_the_tensor_is(gpus, device):
    x = torch.arange(5.0, device=device, requires_grad=True)
    parts = scatter(x, [0, 1])
    assert [str(each.device) for each in parts] == ["cuda:0", "cuda:1"]
    whole = gather([parts[0] * 2, parts[1] * 3], 1)
    assert (whole.get_device(), whole.tolist()) == (1, [0.0, 2.0, 4.0, 9.0, 12.0])
    (whole * whole).sum().backward()
    assert str(x.grad.device) == device
    assert x.grad.tolist() == [0.0, 8.0, 16.0, 54.0, 72.0]


def test_gradients_have_gradients(gpus):
    x = torch.tensor([2.0, 3.0], device="cuda:0", requires_grad=True)
    whole = gather([each**3 for each in scatter(x, [0, 1])], 0)
    (first,) = torch.autograd.grad(whole.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [12.0, 18.0]


def test_outputs_are_joined_by_structure(gpus):
    def output(index):
        x = torch.full((2,), float(index), device=f"cuda:{index}")
        return {"a": x, "b": (x, None), "c": Pair(x, [x])}

    found = gather([output(0), output(1)], 0)
    expected = [0.0, 0.0, 1.0, 1.0]
    assert found["b"][1] is None
    assert isinstance(found["c"], Pair)
    for each in (found["a"], found["b"][0], found["c"].x, found["c"].y[0]):
        assert (each.tolist(), each.get_device()) == (expected, 0)
    assert gather([output(0), output(1)], "cpu")["a"].device.type == "cpu"


def test_scalars_become_a_vector(gpus):
    x = torch.ones(2, device="cuda:0", requires_grad=True)
    with pytest.warns(UserWarning, match="all inputs were scalars; they are joined into a vector"):
        whole = gather([each.sum() * (index + 2) for index, each in enumerate(scatter(x, [0, 1]))], 0)
    assert whole.tolist() == [2.0, 3.0]
    whole.sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_outputs_of_other_lengths_and_keys_are_refused(gpus):
    x = torch.ones(1, device="cuda:0")
    for error in (KeyError, ValueError):
        with pytest.raises(error, match=r"gather: outputs\[0\] has the keys \['a'\], outputs\[1\] has \['b'\]"):
            gather([{"a": x}, {"b": x}], 0)
    with pytest.raises(ArgumentError, match=r"All dicts must have the same number of entries, they have \[1, 2\]"):
        gather([{"a": x}, {"a": x, "b": x}], 0)
    with pytest.raises(ArgumentError, match=r"All sequences must .* they have \[2, 1\]"):
        gather([(x, x), (x,)], 0)
    parts = [torch.ones(2, device=index) for index in (0, 1)]
    with pytest.raises(IndexRangeError, match=r"expected to be in range of \[-1, 0\], but got 5") as caught:
        gather(parts, 0, dim=5)
    assert caught.value.operator == "gather"


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("schedule", ["submission", "seeded:1", "seeded:2"])
def test_cpu_inputs_are_ordered_before_their_use_on_any_stream(pinned, schedule):
    with machine(devices=2, schedule=schedule, races="error"):
        sides = [torch.cuda.Stream(index) for index in range(2)]
        for step in range(3):
            x = torch.full((6,), float(step))
            x = x.pin_memory() if pinned else x
            with torch.cuda.stream(sides[0]), torch.cuda.stream(sides[1]):
                parts = [each + 1 for each in scatter(x, [0, 1])]
                whole = gather(parts, 1)
            del x, parts
            torch.cuda.synchronize(1)
            with torch.cuda.stream(sides[1]):
                assert whole.tolist() == [step + 1.0] * 6


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1, bias=False)
        self.frozen = nn.Parameter(torch.ones(1), requires_grad=False)
        self.tied = nn.ModuleList([self.linear, nn.ReLU()])
        self.register_buffer("count", torch.zeros(1))
        self.register_parameter("none", None)
        self.note = ["shared"]

    def forward(self, x):
        return self.linear(x) * self.frozen


def net():
    made = Net().to("cuda:0")
    with torch.no_grad():
        made.linear.weight.copy_(torch.tensor([[2.0, 3.0]]))
    return made


def test_copies_have_values_on_their_devices(gpus):
    source = net()
    copies = replicate(source, [0, 1])
    for index, copy in enumerate(copies):
        assert type(copy) is Net
        assert copy.linear.weight.tolist() == [[2.0, 3.0]]
        assert {each.get_device() for each in (copy.linear.weight, copy.frozen, copy.count)} == {index}
        assert copy.tied[0] is copy.linear
        assert copy.linear is not source.linear
        assert copy.note is source.note
        assert copy.none is None
        assert list(copy.parameters()) == []
        assert not copy.linear.weight.is_leaf
        assert copy(torch.ones(1, 2, device=f"cuda:{index}")).tolist() == [[5.0]]


def test_gradients_are_summed_into_the_original(gpus):
    source = net()
    outputs = [
        copy(torch.full((1, 2), 10.0**index, device=f"cuda:{index}"))
        for index, copy in enumerate(replicate(source, [0, 1]))
    ]
    (outputs[0] + outputs[1].to("cuda:0")).sum().backward()
    assert source.linear.weight.grad.tolist() == [[11.0, 11.0]]
    assert source.linear.weight.grad.get_device() == 0
    assert source.frozen.grad is None


def test_buffers_on_the_first_device_are_the_original_s(gpus):
    source = net()
    first, second = replicate(source, [0, 1])
    first.count += 1
    second.count += 5
    first.extra = 3
    assert source.count.tolist() == [1.0]
    assert not hasattr(source, "extra")


def test_a_written_buffer_spoils_no_saved_parameter(gpus):
    source = net()
    copy = replicate(source, [0, 1])[1]
    out = copy(torch.ones(1, 2, device="cuda:1"))
    copy.count.add_(1)
    out.sum().backward()
    assert source.linear.weight.grad.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("detach", [True, False])
def test_without_gradients_copies_are_plain(gpus, detach):
    source = net()
    with torch.set_grad_enabled(detach):
        copies = replicate(source, [0, 1], detach=detach)
    assert not any(copy.linear.weight.requires_grad for copy in copies)
    assert copies[0].linear.weight.data_ptr() == source.linear.weight.data_ptr()


def test_buffers_may_need_gradients(gpus):
    source = net()
    source.scale = nn.Buffer(torch.ones(1, device="cuda:0"))
    source.scale.requires_grad_()
    copies = replicate(source, [0, 1])
    (copies[1].scale * 3).sum().backward()
    assert source.scale.grad.tolist() == [3.0]


def test_zero_grad_of_a_copy_warns(gpus):
    copy = replicate(net(), [0, 1])[1]
    with pytest.warns(UserWarning, match="this module is a replica made by DataParallel"):
        copy.zero_grad()


def test_parameters_must_be_on_the_first_device(gpus):
    with pytest.raises(DeviceMismatchError, match=r"must be on devices\[0\], cuda:1; .* on cuda:0"):
        replicate(net(), [1, 0])


class See(nn.Module):
    """A module that returns its arguments and its thread's state: name, device, stream of cuda:1, gradient mode."""

    def forward(self, *args, **kwargs):
        thread = threading.current_thread().name
        return thread, torch.cuda.current_device(), torch.cuda.current_stream(1), torch.is_grad_enabled(), args, kwargs


def test_threads_have_the_caller_s_state_and_their_device(gpus):
    side = torch.cuda.Stream(1)
    with torch.no_grad(), torch.cuda.stream(side), torch.cuda.device(0):
        found = parallel_apply([See(), See()], [(1,), 2], [{"a": 3}, {}], [1, 0])
    assert [each[0] for each in found] == ["flambeau-replica-0", "flambeau-replica-1"]
    assert [each[1] for each in found] == [1, 0]
    assert all(each[2] == side and not each[3] for each in found)
    assert [each[4:] for each in found] == [((1,), {"a": 3}), ((2,), {})]
    assert torch.cuda.current_device() == 0


def test_without_devices_the_tensors_decide(gpus):
    inputs = [({"x": [torch.ones(1, device=f"cuda:{index}")]},) for index in (1, 0)]
    assert [each[1] for each in parallel_apply([See(), See()], inputs)] == [1, 0]


def test_one_module_needs_no_thread(gpus):
    (found,) = parallel_apply([See()], [()], None, [1])
    assert (found[0], found[1]) == (threading.current_thread().name, 1)
    assert torch.cuda.current_device() == 0


def test_replicas_may_wait_for_each_other(gpus):
    meeting = threading.Barrier(2)

    class Meet(nn.Module):
        def forward(self):
            return meeting.wait() >= 0

    assert parallel_apply([Meet(), Meet()], [(), ()], None, [0, 1]) == [True, True]


class Fail(nn.Module):
    def __init__(self, error=None):
        super().__init__()
        self.error = error

    def forward(self, *args):
        if self.error is not None:
            raise self.error
        return "fine"


def test_the_first_replica_s_exception_comes_with_its_type(gpus):
    modules = [Fail(), Fail(ShapeError("too long")), Fail(KeyError("later"))]
    with pytest.raises(
        ShapeError, match=r"(?s)Caught ShapeError in replica 1 on device cuda:1\..*in forward.*too long"
    ):
        parallel_apply(modules, [(), (), ()], None, [0, 1, 0])
    with pytest.raises(ValueError, match="in replica 0 on device cuda:1"):
        parallel_apply([Fail(ValueError("alone"))], [()], None, [1])
    assert torch.cuda.current_device() == 0
    assert not [each for each in threading.enumerate() if each.name.startswith("flambeau-replica")]


def test_numbers_must_agree(gpus):
    with pytest.raises(ArgumentError, match="2 modules, 1 inputs and 2 kwargs do not fit"):
        parallel_apply([See(), See()], [()])
    with pytest.raises(ArgumentError, match="1 modules and 2 devices do not fit"):
        parallel_apply([See()], [()], None, [0, 1])

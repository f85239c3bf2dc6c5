"""DataParallel: the same training as on one device (1.16)."""

import gc

import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.errors import ArgumentError, DeviceMismatchError
from flambeau.nn import functional as F
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
    with pytest.raises(ArgumentError, match=r"device_ids \[0, 0\] names a device twice"):
        nn.DataParallel(Scaled(), [0, "cuda:0"])
    with pytest.raises(RuntimeError, match="cuda:5: there is no such device"):
        nn.DataParallel(Scaled(), [0, 5])


def test_an_unlike_device_is_warned_about(gpus, monkeypatch):
    from dataclasses import replace

    small = gpus.devices[1]
    monkeypatch.setattr(small, "properties", replace(small.properties, multi_processor_count=10))
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

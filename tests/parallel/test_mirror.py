"""Mirrored replicas of DataParallel compute the bits of replicas in threads, or leave the work to threads."""

import gc
import os
import random
import sys
import threading
import warnings
import weakref
from functools import partial

import numpy as np
import pytest

import flambeau as torch
from benchmarks.data_parallel import use_idle_gpus
from flambeau import nn
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.nn import functional as F
from flambeau.parallel import mirror
from flambeau.testing import machine

data_parallel = sys.modules["flambeau.parallel.data_parallel"]


def bits(tensor):
    return None if tensor is None else tensor.detach().cpu().numpy().tobytes()


def loss_of(output):
    return sum((each.float() * each.float()).mean() for each in mirror._tensors(output) if each.dtype.is_floating_point)


def states(net, inputs):
    yield from (bits(each) for each in net.state_dict().values())
    yield from (bits(each.grad) for each in net.parameters())
    yield from (bits(each.grad) for each in inputs)


def trained(make, batches, devices, in_threads, run, monkeypatch):
    """Train; return every bit that came of it, and the reasons for which mirrors ended, "" for those that did not."""
    ends = []
    outputs = mirror.Replicas.outputs

    def noted(replicas):
        found = None if in_threads else outputs(replicas)
        ends.append(None if found is None else found[1])
        return found

    monkeypatch.setattr(mirror.Replicas, "outputs", noted)
    found = []
    with machine(devices, races="error"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "gather: along dimension 0")
        torch.manual_seed(5)
        random.seed(5)
        net = make().to("cuda:0")
        wrapped = nn.DataParallel(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for batch in batches:
            inputs = [each.cuda() if each.dtype.is_floating_point else each for each in batch()]
            for each in inputs:
                each.requires_grad_(each.dtype.is_floating_point)
            output = run(wrapped, *inputs)
            found += [bits(each) for each in mirror._tensors(output)]
            optimizer.zero_grad()
            loss_of(output).backward()
            del output
            optimizer.step()
            found += states(net, inputs)
        found += [each.generator.get_state().tolist() for each in torch.core.thread.machine().devices]
        net.eval()
        with torch.no_grad():
            found += [bits(each) for each in mirror._tensors(run(wrapped, *batches[0]()))]
    monkeypatch.setattr(mirror.Replicas, "outputs", outputs)
    return found, ends


def compared(make, *batches, devices=3, run=None, monkeypatch):
    """Check that threads compute the same bits; return the reasons for which mirrors ended."""
    run = run or (lambda net, *inputs: net(*inputs))
    found, ends = trained(make, batches, devices, False, run, monkeypatch)
    expected, _ = trained(make, batches, devices, True, run, monkeypatch)
    assert len(found) == len(expected)
    assert [at for at, (one, other) in enumerate(zip(found, expected)) if one != other] == []
    return ends


def sum_early(monkeypatch):
    """Let each parameter's gradients be copied and summed on their own."""
    monkeypatch.setattr(mirror, "EARLY_BYTES", 1)
    monkeypatch.setattr(mirror, "LEAST_EARLY_BYTES", 1)


@pytest.fixture(params=[False, True], ids=["sums at the end", "early sums"])
def early(request, monkeypatch):
    """Whether the gradients of each parameter are summed as soon as they are there."""
    if request.param:
        sum_early(monkeypatch)


def floats(*shape):
    return lambda: [torch.randn(*shape)]


def classes(*shape, below=10):
    return lambda: [torch.randint(0, below, shape)]


class Attention(nn.Module):
    """A block of a small GPT, with dropout, a mask that is made in forward, and tied weights."""

    def __init__(self):
        super().__init__()
        self.embedding, self.place = nn.Embedding(10, 8), nn.Embedding(6, 8)
        self.norm, self.project, self.join = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        rows, length = tokens.shape
        at = torch.arange(length, device=tokens.device)
        x = F.dropout(self.embedding(tokens) + self.place(at), 0.2, self.training)
        q, k, v = (
            each.view(rows, length, 2, 4).transpose(1, 2) for each in self.project(self.norm(x)).chunk(3, dim=-1)
        )
        mask = torch.ones(length, length, device=x.device).tril() == 0
        weights = (q @ k.transpose(-2, -1) / 2.0).masked_fill(mask, float("-inf")).softmax(-1)
        x = x + self.join((weights @ v).transpose(1, 2).reshape(rows, length, 8))
        logits = self.head(x)
        return {"logits": logits, "loss": F.cross_entropy(logits.view(-1, 10), tokens.reshape(-1)).unsqueeze(0)}


MODULES = {
    "linear": (lambda: nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)), floats(6, 5)),
    "relu in place": (lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 3)), floats(6, 5)),
    "batch norm": (lambda: nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)), floats(9, 4)),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        floats(6, 2, 8, 8),
    ),
    "dropout": (lambda: nn.Sequential(nn.Dropout(0.4), nn.Linear(5, 5), nn.Dropout(0.4)), floats(6, 5)),
    "embedding": (lambda: nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2)), classes(6, 3)),
    "norms": (lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.GELU(), nn.LayerNorm(5)), floats(6, 4, 5)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), floats(3, 4, 8)),
    "attention": (Attention, classes(6, 5)),
    "lstm": (lambda: nn.LSTM(4, 3, batch_first=True), floats(6, 3, 4)),  # its parameters are views of one memory
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(5, 3)), floats(6, 5)),
    "frozen": (lambda: nn.Sequential(nn.Linear(5, 4).requires_grad_(False), nn.Linear(4, 2)), floats(6, 5)),
}


def test_modules_compute_the_same_bits(sample, early, monkeypatch):
    for name in sample(MODULES, 4):
        make, batch = MODULES[name]
        reason = None if name == "lstm" else ""  # None: the work is left to threads from the start
        assert (name, compared(make, batch, batch, monkeypatch=monkeypatch)) == (name, [reason] * 3)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Middle(nn.Module):
    """A net that draws random numbers and writes buffers before and after a function of the test."""

    def __init__(self, function):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)
        self.scale = nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.function = function
        self.notes = {}

    def forward(self, x):
        x = F.dropout(self.norm(self.first(x)), 0.3)
        self.calls += 1
        x = self.function(self, x)
        return F.dropout(self.last(x), 0.3) * self.scale


kept = []


def on_a_stream(net, x):
    side = torch.cuda.Stream(x.device)
    side.wait_stream(torch.cuda.current_stream(x.device))
    with torch.cuda.stream(side):
        x = x * 2
    torch.cuda.current_stream(x.device).wait_stream(side)
    x.record_stream(torch.cuda.current_stream(x.device))
    return x


def timed(net, x):
    start = torch.cuda.Event(enable_timing=True)
    start.record()
    return x


def written(net, x):
    net.scale.mul_(0.5)
    return x


def with_hook(net, x):
    if x.requires_grad:
        x.register_hook(lambda grad: grad * 2)
    return x


def seeded(net, x):
    torch.cuda.manual_seed(x.device.index + 3)
    return x * torch.rand_like(x)


def forked(net, x):
    with torch.random.fork_rng(["cuda"]):
        return x * torch.rand_like(x)


def drawn(net, x):
    generator = torch.Generator(x.device).manual_seed(x.device.index)
    return x * torch.rand(x.shape, generator=generator, device=x.device)


def grown(net, x):
    x = x * 1
    with torch.no_grad():
        torch.empty(0, device=x.device).resize_(3).fill_(1.0)
    return x


def counted(net, x):
    global count
    count += 1
    return x


def looked_at(net, x):
    shapes.append(x.shape)
    return x


def noted(net, x):
    net.notes[len(net.notes)] = x.shape[0]
    return x


def written_by_a_thread(net, x):
    y = torch.ones(6, device=x.device)
    worker = threading.Thread(target=lambda: y.mul_(2))
    worker.start()
    worker.join()
    return x + y


def doubled(out, x, n):
    np.multiply(x, np.float32(2), out=out)


double = torch.cuda.kernel(
    'extern "C" __global__ void f(float* out, const float* x, int n) { if (threadIdx.x < n) out[threadIdx.x] *= 2; }',
    "f", {"out": "w[n]", "x": "r[n]"}, reference=doubled,
)  # fmt: skip


def with_a_kernel(net, x):
    out = torch.empty_like(x)
    double(grid=(1, 1, 1), block=(32, 1, 1), args=[out, x.detach(), x.numel()])
    return x + out


shapes, count = [], 0
ENDINGS = {
    "a value decides": lambda net, x: x * 2 if x.sum() > 0 else x * 3,
    "a value is used": lambda net, x: x * x.abs().max().item(),
    "a copy to the host": lambda net, x: x * x.detach().cpu().mean().to(x.device),
    "a tensor from the host": lambda net, x: x * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], device=x.device),
    "a mask": lambda net, x: x + x[x > 0].sum(),
    "the device's index": lambda net, x: x * (x.device.index + 1),
    "the device's name": lambda net, x: x * (2 if str(x.device) == "cuda:1" else 3),
    "a comparison of devices": lambda net, x: x * 2 if x.device == torch.device("cuda:0") else x,
    "a hash of a device": lambda net, x: x * {torch.device("cuda", 0): 5}.get(x.device, 2),
    "get_device": lambda net, x: x * (x.get_device() + 1),
    "the current device": lambda net, x: x * (torch.cuda.current_device() + 1),
    "a side stream": on_a_stream,
    "an event": timed,
    "a wait": lambda net, x: [torch.cuda.synchronize(x.device), x][1],
    "a function": lambda net, x: Scaled.apply(x),
    "a hook": with_hook,
    "a checkpoint": lambda net, x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False),
    "a tensor outlives": lambda net, x: [kept.append(x * 2), x * 3][1],
    "a written parameter": written,
    "a seed": seeded,
    "a restored generator": forked,
    "a generator of its own": drawn,
    "an address": lambda net, x: x * (1 if x.data_ptr() else 2),
    "a list that is a global": looked_at,
    "a count that is a global": counted,
    "a dictionary of the module": noted,
    "a named device": lambda net, x: x.cuda(x.device) + torch.ones(6, device="cuda:0").to(x.device),
    "a moved tensor": lambda net, x: x + (x.detach().to("cuda:0") * 2).to(x.device),
    "a kernel": with_a_kernel,
    "a thread": written_by_a_thread,
    "a module on several devices": lambda net, x: nn.parallel.data_parallel(nn.Identity(), x, [x.device]) * 2,
}


def test_what_cannot_be_mirrored_ends_a_mirror(sample, early, monkeypatch):
    for name in sample(ENDINGS, 6):
        kept.clear()
        make = partial(Middle, ENDINGS[name])
        ends = compared(make, floats(6, 4), floats(6, 4), monkeypatch=monkeypatch)
        assert ends[0] and len(ends) == 1, name


@pytest.mark.full
def test_an_input_that_is_written_in_place(monkeypatch):
    def make():
        return nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2))

    ends = compared(make, floats(6, 4), run=lambda net, x: net(x.detach()), monkeypatch=monkeypatch)
    assert ends == ["a parameter or an input was written in place"]


@pytest.mark.parametrize(
    "draw", [lambda: random.random(), lambda: np.random.rand(), lambda: torch.rand(1)], ids=["Python", "NumPy", "CPU"]
)
def test_random_numbers_of_the_host_end_a_mirror(draw, caplog):
    calls = []

    def forward(net, x):
        calls.append(draw())
        return x

    with machine(3, races="error"), caplog.at_level("INFO", "flambeau"):
        nn.DataParallel(Middle(forward).cuda())(torch.ones(6, 4))
    assert "random numbers were drawn on the host" in caplog.text
    assert len(calls) == 3 and len({float(each) for each in calls}) == 3


class Several(nn.Module):
    """Nested outputs, keyword inputs, and a parameter without use."""

    def __init__(self):
        super().__init__()
        self.one, self.other, self.unused = nn.Linear(4, 3), nn.Linear(4, 2), nn.Linear(2, 2)

    def forward(self, x, *, shift=None, names=("a", "b")):
        y = self.one(x) + (0 if shift is None else shift["by"][0])
        return {names[0]: (y, [self.other(x), None]), names[1]: y.detach()}


@pytest.mark.full
def test_nested_inputs_and_outputs(monkeypatch):
    def run(net, x):
        return net(x, shift={"by": [x[:, :1] * 2, "text"]}, names=("c", "d"))

    assert compared(Several, floats(6, 4), floats(6, 4), run=run, monkeypatch=monkeypatch) == [""] * 3


@pytest.mark.parametrize(("rows", "ends"), [(7, [None] * 2), (2, [""] * 2), (1, [])])
def test_uneven_parts_run_in_threads(rows, ends, monkeypatch):
    assert compared(lambda: nn.Linear(4, 2), floats(rows, 4), monkeypatch=monkeypatch) == ends


class ChannelsLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 2, stride=2)
        )
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        return self.layers(x) if x.is_contiguous(memory_format=torch.channels_last) else None


def channels_last():
    return [torch.randn(6, 3, 4, 4).to(memory_format=torch.channels_last)]


def test_channels_last_modules_and_inputs_are_mirrored(monkeypatch):
    assert compared(ChannelsLast, channels_last, channels_last, monkeypatch=monkeypatch) == [""] * 3


def test_gradients_of_channels_last_parameters_have_their_strides():
    with machine(2):
        net = ChannelsLast().cuda()
        x = torch.randn(4, 3, 4, 4, device="cuda").to(memory_format=torch.channels_last)
        nn.DataParallel(net)(x).sum().backward()
        assert [each.grad.stride() for each in net.parameters()] == [each.stride() for each in net.parameters()]
        assert net.layers[0].weight.stride() == (27, 1, 9, 3)


def test_a_last_batch_that_is_smaller(monkeypatch):
    batches = floats(6, 4), floats(5, 4), floats(3, 4)
    assert compared(lambda: nn.Linear(4, 2), *batches, monkeypatch=monkeypatch) == ["", None, "", ""]


class Forces(nn.Module):
    """A gradient inside of forward."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))

    def forward(self, x):
        with torch.enable_grad():
            x = (x * 1).requires_grad_()
            energy = self.net(x).sum()
            (force,) = torch.autograd.grad(energy, x, create_graph=True)
        return energy.reshape(1), force


@pytest.mark.full
def test_gradients_inside_of_forward(early, monkeypatch):
    ends = compared(Forces, floats(6, 4), floats(6, 4), monkeypatch=monkeypatch)
    assert ends == ["", "", "a tensor that is no output outlives the forward"]  # without gradients, the graph's leaf


def test_second_derivatives(early, monkeypatch):
    def run(net, x):
        y = net(x)
        if not y.requires_grad:
            return y
        grads = torch.autograd.grad(y.square().sum(), [x, *net.parameters()], create_graph=True)
        return [y, *grads]

    make = MODULES["linear"][0]
    assert compared(make, floats(6, 5), floats(6, 5), run=run, monkeypatch=monkeypatch) == [""] * 3


def test_scalars_of_replicas_and_their_second_derivatives(monkeypatch):
    class Loss(nn.Linear):
        def forward(self, x):
            return super().forward(x).square().mean()

    def run(net, x):
        losses = net(x)
        if not losses.requires_grad:
            return losses
        grads = torch.autograd.grad((losses * torch.arange(3, device="cuda")).sum(), x, create_graph=True)
        return [losses, *grads]

    assert compared(lambda: Loss(5, 2), floats(6, 5), floats(6, 5), run=run, monkeypatch=monkeypatch) == [""] * 3


def test_outputs_along_another_dimension_and_on_another_device():
    with machine(3, races="error"):
        net = nn.Conv1d(2, 4, 1).cuda()
        x = torch.randn(2, 6, device="cuda", requires_grad=True)
        y = nn.DataParallel(net, dim=1, output_device=1)(x)
        assert (y.device, y.shape, y.grad_fn.name()) == (torch.device("cuda:1"), (4, 6), "GatherBackward")
        (y * torch.arange(24.0, device="cuda:1").reshape(4, 6)).sum().backward()
        found = [bits(each) for each in (y, x.grad)]
        z = net(x.detach().requires_grad_())
        assert found[0] == bits(z)
        torch.testing.assert_close(x.grad, net.weight[:, :, 0].T @ torch.arange(24.0, device="cuda").reshape(4, 6))


def test_a_gather_of_a_subclass_gets_an_output_per_device():
    devices = []

    class Listed(nn.DataParallel):
        def gather(self, outputs, output_device):
            devices.append([each.device.index for each in outputs])
            return super().gather(outputs, output_device)

    with machine(3, races="error"):
        assert Listed(nn.Linear(4, 2).cuda())(torch.ones(6, 4)).shape == (6, 2)
    assert devices == [[0, 1, 2]]


class Changing(nn.Module):
    """Two layers, whose forward depends on the mode."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 2)
        self.register_buffer("shift", torch.ones(4))
        self.factor = 2

    def forward(self, x):
        return self.two(self.one(x) + self.shift) * (self.factor if self.training else 3)


def twice(net):
    net.register_forward_hook(lambda module, args, output: 2 * output)


CHANGES = {
    "another parameter": lambda net: setattr(net.one, "weight", nn.Parameter(torch.eye(4, device="cuda"))),
    "a parameter in its dict": lambda net: net.one._parameters.update(bias=nn.Parameter(torch.ones(4, device="cuda"))),
    "no parameter": lambda net: setattr(net.two, "bias", None),
    "other data": lambda net: setattr(net.one.weight, "data", torch.eye(4, device="cuda")),
    "another buffer": lambda net: setattr(net, "shift", torch.zeros(4, device="cuda")),
    "another module": lambda net: setattr(net, "two", nn.Linear(4, 3, device="cuda")),
    "the mode": lambda net: net.eval(),
    "a frozen parameter": lambda net: net.one.weight.requires_grad_(False),
    "a hook": twice,
    "a hook of a child": lambda net: twice(net.two),
    "an attribute": lambda net: setattr(net, "factor", 5),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_steps_are_seen(change):
    with machine(3, races="error"):
        net = Changing().cuda()
        wrapped, x = nn.DataParallel(net), torch.randn(6, 4, device="cuda")
        for _ in range(2):
            wrapped(x).sum().backward()
        before = wrapped(x)
        CHANGES[change](net)
        net.zero_grad()
        after, expected = wrapped(x), net(x)
        after.sum().backward()
        grads = [None if each.grad is None else each.grad.clone() for each in net.parameters()]
        net.zero_grad()
        expected.sum().backward()
        torch.testing.assert_close(after, expected, rtol=1e-4, atol=1e-4)
        for each, grad in zip(net.parameters(), grads):
            assert (grad is None) == (each.grad is None) and (
                grad is None or torch.allclose(grad, each.grad, rtol=1e-4, atol=1e-4)
            )
        assert change == "a frozen parameter" or before.shape != after.shape or not torch.equal(before, after)
        assert change != "a frozen parameter" or grads[0] is None


@pytest.mark.full
def test_several_forwards_before_a_backward(early, monkeypatch):
    def run(net, x):
        first = net(x)
        return [first, net(x * 2), net(first.detach() @ torch.ones(3, 5, device="cuda"))]

    make = MODULES["linear"][0]
    assert compared(make, floats(6, 5), floats(6, 5), run=run, monkeypatch=monkeypatch) == [""] * 9


@pytest.mark.full
def test_a_graph_that_outlives_a_later_one(early, monkeypatch):
    def run(net, x):
        first = net(x)
        del_later = net(x * 2)
        del del_later
        return first

    make = MODULES["batch norm"][0]
    assert compared(make, floats(6, 4), floats(6, 4), run=run, monkeypatch=monkeypatch) == [""] * 6


@pytest.mark.full
def test_autocast(monkeypatch):
    def run(net, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return net(x)

    make = MODULES["linear"][0]
    assert compared(make, floats(6, 5), floats(6, 5), run=run, monkeypatch=monkeypatch) == [""] * 3


def test_side_streams_of_the_caller(monkeypatch):
    def run(net, x):
        sides = [torch.cuda.Stream(index) for index in range(3)]
        for side in sides:
            side.wait_stream(torch.cuda.current_stream(side.device))
        with sides[2], sides[1], sides[0]:
            y = net(x.cuda())
        torch.cuda.current_stream(0).wait_stream(sides[0])
        y.record_stream(torch.cuda.current_stream(0))
        return y

    make = MODULES["dropout"][0]
    assert compared(make, floats(6, 5), floats(6, 5), run=run, monkeypatch=monkeypatch) == [""] * 3


def test_memory_of_the_further_devices_is_free_after_the_graph(early):
    with machine(3, races="error"):
        net = nn.DataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).cuda())
        x = torch.randn(6, 4, device="cuda")
        for _ in range(2):
            y = net(x)
            assert torch.cuda.memory_allocated(1) > 0
            y.sum().backward()
            del y
            assert [torch.cuda.memory_allocated(index) for index in (1, 2)] == [0, 0]
        with torch.no_grad():
            net(x)
        assert [torch.cuda.memory_allocated(index) for index in (1, 2)] == [0, 0]


def test_a_machine_is_freed_after_its_last_graph():
    with machine(2, races="error") as made:
        net = nn.DataParallel(nn.Linear(4, 4).cuda())
        net(torch.randn(6, 4, device="cuda")).sum().backward()
        gone = weakref.ref(made)
    del net, made
    with machine(1):
        torch.zeros(1, device="cuda")  # this thread's streams are of another machine then
    gc.collect()
    assert gone() is None


def test_an_error_names_the_first_replica_and_leaves_the_thread_as_it_was():
    with machine(3, races="error"):
        stream = torch.cuda.current_stream()
        with pytest.raises(torch.errors.ShapeError, match="in replica 0 on device cuda:0"):
            nn.DataParallel(nn.Linear(4, 2).cuda())(torch.ones(6, 5))
        assert torch.cuda.current_stream() is stream and type(stream) is torch.cuda.Stream
        assert str(torch.ones(1, device="cuda").device) == "cuda:0"
        assert torch.cuda.memory_allocated(1) == 0


def test_an_end_is_said_once(caplog):
    with machine(2, races="error"):
        wrapped = nn.DataParallel(Middle(ENDINGS["a value decides"]).cuda())
        with caplog.at_level("INFO", "flambeau"):
            wrapped(torch.ones(4, 4))
            wrapped(torch.ones(4, 4))
    (said,) = [each.getMessage() for each in caplog.records]
    assert "Middle runs in threads from now on" in said and "a value is read" in said


def test_a_device_without_memory_ends_a_mirror():
    with machine(2, memory="64MiB", races="error"):
        net = nn.DataParallel(Middle(lambda net, x: x + torch.zeros(2 << 20, device=x.device)[:1]).cuda())
        blocker = torch.zeros(14 << 20, device="cuda:1")
        with pytest.raises(torch.OutOfMemoryError, match="in replica 1 on device cuda:1"):
            net(torch.ones(4, 4))
        del blocker


def test_every_launch_is_seen_on_every_device():
    with machine(3) as virtual:
        net = nn.DataParallel(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).cuda())
        net(torch.ones(6, 4))
        torch.cuda.synchronize()
        start = len(virtual.driver.log)
        net(torch.ones(6, 4, device="cuda"))
        for index in range(3):
            torch.cuda.synchronize(index)
        names = {}
        for stream, _, name in list(virtual.driver.log)[start:]:
            names.setdefault(virtual.streams[stream].device_index, []).append(name)
        shared = [name for name in names[0] if "relu" in name or "linear" in name or "addmm" in name]
        assert shared and all([name for name in names[index] if name in shared] == shared for index in (1, 2))


def test_hooks_run_once_per_replica():
    calls = []
    with machine(3, races="error"):
        net = nn.Linear(4, 2).cuda()
        net.register_forward_hook(lambda module, args, output: calls.append(output.shape))
        nn.DataParallel(net)(torch.ones(6, 4))
    assert calls == [(2, 2)] * 3


def test_a_closure_sees_every_replica():
    calls, times = [], 0

    class Net(nn.Linear):
        def forward(self, x):
            nonlocal times
            calls.append(x.shape)
            times += 1
            return super().forward(x)

    with machine(3, races="error"):
        nn.DataParallel(Net(4, 2).cuda())(torch.ones(6, 4))
    assert calls == [(2, 4)] * 3 and times == 3


def work_of(layers, devices):
    """Return the counts of a warm training step, by device: launches, copies, records and waits."""
    counts = [dict.fromkeys(("on_launch", "on_copy", "on_record", "on_wait"), 0) for _ in range(devices)]

    def counter(name):
        def count(first, second, *rest):
            stream = second if name == "on_record" else first
            counts[stream.device_index][name] += 1

        return count

    with machine(devices):
        net = nn.DataParallel(nn.Sequential(*[nn.Linear(4, 4) for _ in range(layers)]).cuda())
        x = torch.ones(2 * devices, 4, device="cuda")
        for _ in range(2):
            net(x).sum().backward()
        watched = {name: counter(name) for name in counts[0]}
        subscribe(**watched)
        net(x).sum().backward()
        unsubscribe(**watched)
    return [tuple(each.values()) for each in counts]


def test_further_devices_repeat_launches_and_share_copies_and_events():
    few, many = work_of(2, 3), work_of(6, 5)
    assert few[1] == few[2] and len(set(many[1:])) == 1
    assert few[1][1:] == many[1][1:] == (1, 5, 5)  # the output is copied from there
    first, other = work_of(2, 2)[0], work_of(2, 5)[0]
    assert [(b - a) / 3 for a, b in zip(first, other)] == [2, 4, 0, 5]  # copies: input, parameters, gradients twice


@pytest.fixture
def many_copies(monkeypatch):
    """Copy each parameter on its own, and wait for each."""
    monkeypatch.setattr(mirror, "ALONE_BYTES", 1)
    monkeypatch.setattr(mirror, "ARRIVAL_BYTES", 1)


def test_a_step_waits_only_for_the_parameters_that_it_uses(many_copies):
    done = []

    def launched(stream, *rest):
        if stream.device_index == 1:
            done.append("launch")

    def waited(stream, event):
        if stream.device_index == 1:
            done.append("wait")

    with machine(2, races="error"), torch.no_grad():
        net = nn.DataParallel(nn.Sequential(*[nn.Linear(4, 4, bias=False) for _ in range(3)]).cuda())
        x = torch.ones(4, 4, device="cuda")
        expected = net(x)
        subscribe(on_launch=launched, on_wait=waited)
        found = net(x)
        unsubscribe(on_launch=launched, on_wait=waited)
        assert found.tolist() == expected.tolist()
    inputs, outputs = ["wait"], ["wait"]
    assert done == [*inputs, *["wait", "launch"] * 3, *outputs]


def test_parameters_that_no_step_uses_arrive_before_the_forward_returns(many_copies):
    class Net(nn.Linear):
        def forward(self, x):
            return x * 2

    with machine(2, races="error"):
        net = Net(2, 2).cuda()
        found = nn.DataParallel(net)(torch.ones(4, 2, device="cuda"))
        with torch.no_grad():
            net.weight.add_(1)
        assert found.tolist() == [[2.0, 2.0]] * 4


class Writing(nn.Module):
    """Writes a parameter in its forward, which ends a mirror while copies are on their way."""

    def __init__(self):
        super().__init__()
        self.layer, self.shift = nn.Linear(3, 3), nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x):
        y = self.layer(x)
        self.shift.mul_(0.5)
        return y + self.shift


@pytest.mark.parametrize("make", [partial(nn.Linear, 3, 2), ChannelsLast, Writing])
def test_parameters_that_are_copied_on_their_own_compute_the_same_bits(make, many_copies, monkeypatch):
    ends = compared(make, channels_last if make is ChannelsLast else floats(6, 3, 3), monkeypatch=monkeypatch)
    assert ends == (["a parameter or an input was written in place"] if make is Writing else [""] * 2)


def python_calls(layers, devices):
    """Return the number of calls of functions that are never compiled in a warm training step, and not the driver's."""
    count = 0
    core = os.path.dirname(torch.core.__file__)

    def profile(frame, event, argument):
        nonlocal count
        code = frame.f_code
        count += event == "call" and code.co_name != "nothing" and not code.co_filename.startswith(core)

    with machine(1):
        use_idle_gpus(devices)
        net = nn.DataParallel(nn.Sequential(*[nn.Linear(8, 8) for _ in range(layers)]).cuda())
        x = torch.zeros(2 * devices, 8, device="cuda")
        for _ in range(3):
            net(x).sum().backward()
        gc.collect()
        gc.disable()  # finalizers of what other tests left are no part of the step
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            net(x).sum().backward()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            gc.enable()
    return count


def test_python_runs_as_often_for_any_number_of_operators_on_a_further_device():
    calls = {}
    for layers in (2, 6):
        for devices in (2, 3, 4):
            calls[layers, devices] = python_calls(layers, devices)
    steps = {calls[layers, at + 1] - calls[layers, at] for layers in (2, 6) for at in (2, 3)}
    assert max(steps) - min(steps) <= 2 and max(steps) <= 100


class Chosen(nn.Module):
    """Layers of which a call uses some."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x, *chosen):
        for index in chosen:
            x = self.layers[index](x)
        return x


def gradients(net):
    return [None if each.grad is None else each.grad.tolist() for each in net.parameters()]


@pytest.mark.parametrize("chosen", [(0,), (1,), (2,), (2, 0), (1, 2, 1)])
def test_parameters_without_gradients_get_zeros(early, chosen):
    with machine(3, races="error"):
        net = Chosen().cuda()
        x = torch.randn(6, 3, device="cuda")
        net(x, *chosen).sum().backward()
        expected = gradients(net)
        net.zero_grad()
        nn.DataParallel(net)(x, *chosen).sum().backward()
        for found, wanted in zip(gradients(net), expected):
            assert np.allclose(found, 0.0 if wanted is None else wanted, atol=1e-5)


@pytest.mark.parametrize("at", [0, 2, 5])
def test_one_gradient_alone_and_a_graph_that_is_kept(early, at):
    with machine(2, races="error"):
        net = Chosen().cuda()
        x = torch.randn(4, 3, device="cuda")
        whole = torch.autograd.grad(net(x, 0, 1, 2).sum(), [*net.parameters()])
        loss = nn.DataParallel(net)(x, 0, 1, 2).sum()
        (alone,) = torch.autograd.grad(loss, [[*net.parameters()][at]], retain_graph=True)
        assert np.allclose(alone.tolist(), whole[at].tolist(), atol=1e-5)
        for _ in range(2):
            loss.backward(retain_graph=True)
        for found, wanted in zip(gradients(net), whole):
            assert np.allclose(found, 2 * np.array(wanted.tolist()), atol=1e-5)


def test_a_backward_after_one_that_an_error_ended(early, monkeypatch):
    copy, left = mirror.queue_between, [2]

    def fails(*where):
        copy(*where)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    with machine(2, races="error"):
        net = Chosen().cuda()
        x = torch.randn(4, 3, device="cuda")
        whole = torch.autograd.grad(net(x, 0, 1, 2).sum(), [*net.parameters()])
        loss = nn.DataParallel(net)(x, 0, 1, 2).sum()
        monkeypatch.setattr(mirror, "ALONE_BYTES", 1)  # several copies at the end, too
        monkeypatch.setattr(mirror, "queue_between", fails)
        with pytest.raises(KeyboardInterrupt):
            loss.backward(retain_graph=True)
        loss.backward()
        assert left[0] < -2
        for found, wanted in zip(gradients(net), whole):
            assert np.allclose(found, wanted.tolist(), atol=1e-5)
        other = nn.DataParallel(net)(x, 0, 1, 2).sum()
        left[0] = 3
        with pytest.raises(KeyboardInterrupt):
            other.backward()
    del other  # after its machine
    gc.collect()


def test_gradients_are_copied_beside_the_backward(monkeypatch):
    sum_early(monkeypatch)
    done = []
    watched = {
        "on_launch": lambda stream, *rest: done.append("launch") if stream.device_index == 1 else None,
        "on_route": lambda *rest: done.append("copy"),
    }
    with machine(2, races="error"):
        net = nn.Sequential(*[nn.Linear(4, 4, bias=False) for _ in range(4)]).cuda()
        loss = nn.DataParallel(net)(torch.ones(4, 4, device="cuda")).sum()
        subscribe(**watched)
        loss.backward()
        unsubscribe(**watched)
    copies = [done[:at].count("launch") for at, each in enumerate(done) if each == "copy"]
    assert copies == [0, 2, 4, 6, 7] and done.count("launch") == 7  # of the output, and behind each layer's launches


def test_an_error_between_the_copies_leaves_no_device_without_a_wait(monkeypatch):
    waits, copy = [], mirror.queue_between

    def fails(copier, other, *rest):
        copy(copier, other, *rest)
        raise KeyboardInterrupt

    with machine(2, races="error"):
        net = nn.DataParallel(nn.Linear(2, 2).cuda())
        x = torch.ones(4, 2, device="cuda")
        expected = net(x).tolist()
        monkeypatch.setattr(mirror, "queue_between", fails)
        watched = {"on_wait": lambda stream, event: waits.append(stream.device_index)}
        subscribe(**watched)
        with pytest.raises(KeyboardInterrupt):
            net(x)
        unsubscribe(**watched)
        monkeypatch.undo()
        assert waits[-2:] == [0, 1]
        assert net(x).tolist() == expected

"""Mirrored replicas whose memory is allocated once for all further devices."""

import gc
import sys

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.core import thread
from flambeau.parallel import lockstep, mirror
from flambeau.testing import machine
from tests.parallel.test_mirror import ENDINGS, MODULES, Middle, compared, floats

data_parallel = sys.modules["flambeau.parallel.data_parallel"]
FURTHER = (1, 2)


class Unwatched:
    """A machine of virtual GPUs whose driver follows the segments of mirrored work, and not each of its blocks."""

    def __init__(self, real):
        self.settings = real.settings
        self.driver = self
        self.real = real.driver
        self.capabilities = real.driver.capabilities._replace(watches_blocks=False)

    def __getattr__(self, name):
        return getattr(self.real, name)


@pytest.fixture
def allocators(monkeypatch):
    """Let mirrors allocate in lockstep; return the allocators that live, by machine and streams."""
    known = {}

    def allocator_for(real, streams):
        own = known.setdefault(id(real), {})
        places = tuple([(stream.device_index, stream.handle) for stream in streams])
        if places not in own:
            own[places] = lockstep.LockstepAllocator(Unwatched(real), places, own)
        return own[places]

    monkeypatch.setattr(mirror, "allocator_for", allocator_for)
    return known


def allocated():
    return [torch.cuda.memory_allocated(index) for index in FURTHER]


def allocations(index):
    return torch.cuda.memory_stats(index)["allocation.all.allocated"]


def small_net():
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 4)).cuda()


def test_virtual_gpus_and_tools_see_each_block(monkeypatch):
    with machine(2) as virtual:
        streams = [each.default_stream for each in virtual.devices[1:]]
        assert lockstep.allocator_for(virtual, streams) is None
        unwatched = Unwatched(virtual)
        monkeypatch.setattr(lockstep, "_allocators", {})
        found = lockstep.allocator_for(unwatched, streams)
        assert found is not None and lockstep.allocator_for(unwatched, streams) is found
        torch.cuda.memory._record_memory_history()
        assert lockstep.allocator_for(unwatched, streams) is None
        torch.cuda.memory._record_memory_history(None)


def test_modules_compute_the_same_bits(sample, allocators, monkeypatch):
    for name in sample([name for name in MODULES if name != "lstm"], 4):
        make, batch = MODULES[name]
        assert (name, compared(make, batch, batch, monkeypatch=monkeypatch)) == (name, [""] * 3)


def test_what_cannot_be_mirrored_ends_a_mirror(sample, allocators, monkeypatch):
    for name in sample(ENDINGS, 3):
        ends = compared(lambda name=name: Middle(ENDINGS[name]), floats(6, 4), floats(6, 4), monkeypatch=monkeypatch)
        assert ends[0] and len(ends) == 1, name


def test_memory_goes_back_after_the_graph_and_places_stay(allocators):
    with machine(3, races="error"):
        net = nn.DataParallel(small_net())
        x = torch.randn(6, 4, device="cuda")
        found = []
        for _ in range(3):
            y = net(x)
            assert min(allocated()) > 0
            y.sum().backward()
            del y
            assert allocated() == [0, 0]
            found += [each for own in allocators.values() for each in own.values()]
        assert len(found) == 3 and found[0] is found[2]
        with torch.no_grad():
            net(x)
        assert allocated() == [0, 0]


def test_a_forward_needs_few_allocations_of_the_further_devices(allocators):
    counts = []
    for depth in (1, 8):
        with machine(3):
            net = nn.DataParallel(
                nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(depth)]).cuda()
            )
            x = torch.randn(6, 4, device="cuda")
            for _ in range(3):
                before = [allocations(index) for index in FURTHER]
                net(x).sum().backward()
            counts.append([allocations(index) - start for index, start in zip(FURTHER, before)])
    assert (
        counts[0] == counts[1] and max(counts[0]) <= 6
    )  # the input, the parameters, gradients, the output and segments


def test_an_output_that_outlives_the_mirror_keeps_its_memory(allocators):
    class Parts(nn.DataParallel):
        def gather(self, outputs, output_device):
            return outputs

    gc.collect()
    gc.disable()
    try:
        with machine(3, races="error"):
            net = Parts(small_net().eval())
            x = torch.randn(6, 4, device="cuda")
            with torch.no_grad():
                kept = net(x)
                values = [each.cpu() for each in kept]
                assert min(allocated()) > 0 and not any(allocators.values())
                for _ in range(2):
                    net(x * 2)
                assert all(each.cpu().equal(value) for each, value in zip(kept, values))
                del kept
            assert allocated() == [0, 0]
    finally:
        gc.enable()


def test_a_part_that_another_stream_uses_is_not_reused(allocators):
    class Parts(nn.DataParallel):
        def gather(self, outputs, output_device):
            return outputs

    with machine(2, races="error"):
        net = Parts(nn.Tanh())
        x = torch.randn(4, 4, device="cuda", requires_grad=True)
        side = torch.cuda.Stream(1)
        parts = net(x)
        side.wait_stream(torch.cuda.current_stream(1))
        with torch.cuda.stream(side):
            doubled = parts[1] * 2
        parts[1].record_stream(side)
        for _ in range(3):
            parts = net(x)
        torch.cuda.current_stream(1).wait_stream(side)
        assert doubled.cpu().equal((x[2:].detach().tanh() * 2).cpu())


def test_a_workload_that_needs_less_gets_a_new_allocator(allocators):
    with machine(2):
        net = nn.DataParallel(nn.Tanh())
        for rows in (1 << 20, 2):
            net(torch.zeros(rows, 4, device="cuda", requires_grad=True)).sum().backward()
        assert not any(allocators.values())
        assert thread.machine().devices[1].allocator.allocated_bytes == 0


def test_a_device_without_memory_for_a_segment_ends_a_mirror(allocators):
    with machine(2, memory="64MiB", races="error"):
        net = nn.DataParallel(Middle(lambda net, x: x + torch.zeros(2 << 20, device=x.device)[:1]).cuda())
        blocker = torch.zeros(14 << 20, device="cuda:1")
        with pytest.raises(torch.OutOfMemoryError, match="in replica 1 on device cuda:1"):
            net(torch.ones(4, 4))
        del blocker
        assert torch.cuda.memory_allocated(1) == 0

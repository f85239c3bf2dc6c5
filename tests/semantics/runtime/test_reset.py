"""torch.virtual.reset(): new virtual GPUs in a process that goes on."""

import gc
import threading

import pytest

import flambeau as torch
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.runtime.machine import Machine
from flambeau.testing import faults, machine


@pytest.fixture
def gpus():
    with machine(devices=2) as made:
        yield made


def lose_device(kind="device_assert"):
    """A tensor whose launch fails, and its device with it."""
    with faults(**{kind: 1}):
        lost = torch.ones(2, device="cuda")
    with pytest.raises(torch.AcceleratorError) as caught:
        lost.tolist()
    assert caught.value.sticky and "torch.virtual.reset()" in caught.value.hint
    return lost


@pytest.mark.parametrize("kind", ["device_assert", "launch"])
def test_a_lost_device_is_there_again(gpus, kind):
    lose_device(kind)
    torch.virtual.reset()
    assert torch.cuda.device_count() == 2
    assert (torch.ones(2, device="cuda") + 1).tolist() == [2.0, 2.0]


def test_a_program_trains_on_after_a_failure(gpus):
    def losses():
        torch.manual_seed(3)
        model = torch.nn.Linear(4, 2).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        found = []
        for _ in range(3):
            loss = model(torch.ones(3, 4, device="cuda")).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    expected = losses()
    lose_device()
    torch.virtual.reset()
    assert losses() == expected


def test_what_survives(gpus):
    host, pinned = torch.arange(3), torch.arange(3).pin_memory()
    torch.manual_seed(5)
    torch.rand(2)
    state = torch.get_rng_state()
    torch.virtual.reset()
    assert torch.get_rng_state().equal(state)
    assert host.tolist() == pinned.tolist() == [0, 1, 2] and pinned.is_pinned()
    assert pinned.to("cuda:1", non_blocking=True).tolist() == [0, 1, 2]
    with torch.no_grad():
        torch.virtual.reset()
        assert not torch.is_grad_enabled()


def test_a_pending_copy_to_the_host_is_completed(gpus):
    pinned = torch.zeros(3).pin_memory()
    pinned.copy_(torch.ones(3, device="cuda:1"), non_blocking=True)
    lose_device()
    torch.virtual.reset()
    assert pinned.tolist() == [1.0] * 3


def test_what_does_not_survive(gpus):
    healthy, side, lost = torch.ones(2, device="cuda:1"), torch.cuda.Stream(), lose_device()
    torch.cuda.set_device(1)
    torch.cuda.set_stream(torch.cuda.Stream(1))
    torch.virtual.reset()
    assert torch.cuda.current_device() == 0 and torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
    new = torch.ones(2, device="cuda")
    calls = {
        "copy": lost.tolist,
        "add": lambda: new + lost,
        "convert": lambda: new.copy_(lost),
        "mul": lambda: healthy * 2,
        "stream": lambda: torch.cuda.set_stream(side),
        "wait_stream": lambda: torch.cuda.current_stream().wait_stream(side),
    }
    for name, call in calls.items():
        with pytest.raises(torch.AcceleratorError, match=name):
            call()
    assert new.tolist() == [1.0, 1.0]
    assert torch.cuda.memory_allocated() == 512 and torch.cuda.memory_allocated(1) == 0


def test_former_objects_are_freed_without_a_word(gpus, recwarn):
    kept = [torch.cuda.Stream(), torch.cuda.Event(), torch.ones(2, device="cuda:1"), torch.cuda.CUDAGraph()]
    kept.append(lose_device())
    torch.virtual.reset()
    before = torch.ones(2, device="cuda")
    del kept
    gc.collect()
    assert [str(each.message) for each in recwarn] == [] and torch.cuda.memory_allocated() == 512
    assert before.tolist() == [1.0, 1.0]


def test_other_threads_meet_the_new_devices(gpus):
    go, found = threading.Event(), []

    def work():
        torch.cuda.set_device(1)
        go.wait()
        found.append((torch.cuda.current_device(), torch.ones(2, device="cuda").tolist()))

    other = threading.Thread(target=work)
    other.start()
    torch.virtual.reset()
    go.set()
    other.join()
    assert found == [(0, [1.0, 1.0])]


def test_the_choice_is_kept(gpus):
    former = thread.machine()
    torch.virtual.reset()
    torch.virtual.reset()  # nothing has started
    assert thread.machine() is not former and thread.machine().choice == former.choice
    assert type(thread.machine()) is type(former)


def test_other_gpus_are_refused():
    before = thread.swap_machine(Machine(Gpus("none")))
    try:
        with pytest.raises(torch.errors.NotSupportedError, match="virtual.reset: the machine is 'none'") as caught:
            torch.virtual.reset()
        assert "start the process again" in caught.value.hint
    finally:
        thread.swap_machine(before)


def test_blocks_of_streams_may_contain_a_reset(gpus):
    for block in (lambda: torch.cuda.stream(torch.cuda.Stream(1)), lambda: torch.cuda.Stream(1)):
        with block():
            torch.virtual.reset()
        assert torch.cuda.current_stream() == torch.cuda.default_stream(0)
        assert (torch.ones(2, device="cuda") + 1).tolist() == [2.0, 2.0]


def test_former_objects_are_errors_before_the_new_devices_start(gpus):
    x, side, graph = torch.ones(2, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
    address = torch.cuda.caching_allocator_alloc(100)
    for call in (
        lambda: x.resize_(3),
        lambda: x.set_(),
        lambda: x.untyped_storage().resize_(1 << 10),
        lambda: graph.replay(),
        lambda: side.__enter__(),
        lambda: torch.cuda.caching_allocator_delete(address),
    ):
        torch.virtual.reset()
        with pytest.raises(torch.AcceleratorError):
            call()
    torch.virtual.reset()
    assert x.data_ptr() > 0 and y.shape == (2,)
    graph.reset()
    assert (torch.ones(2, device="cuda") + 1).tolist() == [2.0, 2.0]


def test_a_pool_serves_the_new_devices(gpus):
    pool = torch.cuda.MemPool()
    for _ in range(2):
        with torch.cuda.use_mem_pool(pool):
            x = torch.ones(1000, device="cuda")
        assert [each["allocated_size"] for each in pool.snapshot()] == [4096] and pool.use_count() == 1
        assert x[0].item() == 1
        torch.virtual.reset()


def test_a_machine_of_a_test_leaves_device_and_streams_as_they_were(gpus):
    side = torch.cuda.Stream(1)
    with torch.cuda.stream(side):
        with machine(devices=1):
            assert torch.cuda.current_device() == 0 and torch.cuda.current_stream() == torch.cuda.default_stream()
        assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == side
    assert torch.cuda.current_device() == 0

"""1.9 Pinned memory: what is pinned, which copies wait, and when a block is used again."""

import collections
import threading

import pytest

COUNTS = ("allocations", "allocated_bytes", "active_requests", "active_bytes")
FLOWS = ("current", "peak", "allocated", "freed")
SIZE = 4 << 20  # elements of 4 bytes


@pytest.mark.rule("1.9.1", since="1.0")
def test_pinning_copies_and_a_pinned_tensor_is_returned_itself(torch):
    x = torch.arange(6)
    y = x.pin_memory()
    assert y.is_pinned() and not x.is_pinned() and y.tolist() == x.tolist() and y.pin_memory() is y
    assert y.data_ptr() != x.data_ptr() and y.device.type == "cpu"


@pytest.mark.rule("1.9.1", since="1.0")
def test_a_tensor_with_gaps_keeps_its_values(torch):
    x = torch.arange(12).view(3, 4).t()[1:]
    assert x.pin_memory().tolist() == x.tolist() and x.pin_memory().is_pinned()


@pytest.mark.rule("1.9.1", since="1.0")
def test_views_of_pinned_memory_are_pinned(torch):
    x = torch.zeros(4, 4).pin_memory()
    assert x[1:].is_pinned() and x.t().is_pinned() and x.view(-1)[3:5].is_pinned() and not x.clone().is_pinned()


@pytest.mark.rule("1.9.1", since="1.0")
def test_factories_pin(torch):
    made = [torch.zeros(3, pin_memory=True), torch.empty(3, pin_memory=True), torch.tensor([1, 2], pin_memory=True)]
    assert [each.is_pinned() for each in made] == [True] * 3


@pytest.mark.rule("1.9.1", since="1.0")
def test_a_tensor_of_a_device_cannot_be_pinned(torch):
    x = torch.zeros(3, device="cuda")
    assert not x.is_pinned()
    with pytest.raises((RuntimeError, ValueError), match="only dense CPU tensors can be pinned"):
        x.pin_memory()


@pytest.mark.rule("1.9.1", since="1.0", differs="a RuntimeError")
def test_pinning_what_is_on_a_device_is_a_value_error(torch):
    with pytest.raises(ValueError, match="only dense CPU tensors can be pinned"):
        torch.zeros(3, device="cuda").pin_memory()


@pytest.mark.rule("1.9.1", since="2.3")
def test_asking_whether_memory_is_pinned_starts_nothing(program):
    assert program("answer([torch.zeros(3).is_pinned(), torch.cuda.is_initialized()])") == [[False, False]]


@pytest.mark.rule("1.9.3", since="1.0")
def test_a_freed_block_is_used_again(torch):
    x = torch.zeros(SIZE).pin_memory()
    address = x.data_ptr()
    del x
    assert torch.empty(SIZE, pin_memory=True).data_ptr() == address


@pytest.mark.rule("1.9.2", since="1.0")
def test_memory_that_is_there_may_be_pinned_in_place(torch, latch):
    x, y, cudart = torch.full((SIZE,), 4.0), torch.zeros(SIZE, device="cuda"), torch.cuda.cudart()
    assert not x.is_pinned() and int(cudart.cudaHostRegister(x.data_ptr(), 4 * SIZE, 0)) == 0
    try:
        assert x.is_pinned() and x[7:].is_pinned() and not torch.ones(3).is_pinned()
        held = latch()
        y.copy_(x, non_blocking=True)
        assert not torch.cuda.current_stream().query()
        held.open()
        assert y[5].item() == 4.0
    finally:
        torch.cuda.synchronize()
        assert int(cudart.cudaHostUnregister(x.data_ptr())) == 0
    assert not x.is_pinned()


@pytest.mark.rule("1.9.2", since="1.0")
def test_what_cannot_be_registered_is_a_code_and_no_exception(program):
    found = program("""
x, cudart = torch.zeros(4096), torch.cuda.cudart()
def code(call, *args):
    try:
        return int(call(*args))
    except Exception as error:
        return str(error)
answer(code(cudart.cudaHostRegister, x.data_ptr(), 16384, 0))
answer(code(cudart.cudaHostRegister, x.data_ptr(), 16384, 0))
answer(code(cudart.cudaHostUnregister, x.data_ptr()))
answer(code(cudart.cudaHostUnregister, x.data_ptr()))
answer(x.is_pinned())
""")
    assert found == [0, 712, 0, 713, False]


@pytest.mark.rule("1.9.3", since="1.0")
def test_a_block_that_a_copy_reads_comes_back_when_the_copy_is_done(torch, latch):
    s, x, fives = torch.cuda.Stream(), torch.ones(SIZE).pin_memory(), torch.full((SIZE,), 5.0)
    address = x.data_ptr()
    with torch.cuda.stream(s):
        held = latch()
        y = x.to("cuda", non_blocking=True)
        del x
        other = fives.pin_memory()
        assert other.data_ptr() != address
        held.open()
        s.synchronize()
        assert torch.empty(SIZE, pin_memory=True).data_ptr() == address
        assert y[7].item() == 1.0


@pytest.mark.rule("1.9.3", since="2.8", differs="sizes are rounded to powers of two")
def test_pinned_sizes_are_rounded_to_4_kib(program):
    found = program("""
x = torch.empty((3 << 20) + 5, dtype=torch.uint8).pin_memory()
answer(torch.cuda.host_memory_stats()["active_bytes.current"])
""")
    assert found == [(3 << 20) + 4096]


@pytest.mark.rule("1.9.5", since="2.8")
def test_the_statistics_have_these_keys(torch):
    held = torch.zeros(SIZE).pin_memory()
    found = torch.cuda.host_memory_stats()
    assert {f"{count}.{flow}" for count in COUNTS for flow in FLOWS} - set(found) == set()
    assert found["num_host_alloc"] >= 1 and found["num_host_free"] >= 0 and found["host_alloc_time.count"] >= 1
    assert found["active_bytes.current"] >= 4 * SIZE and held is not None


@pytest.mark.rule("1.9.5", since="2.8", differs="memory that no tensor holds any more stays active")
def test_idle_pinned_memory_is_counted_and_is_not_active(torch):
    held = torch.zeros(SIZE).pin_memory()
    used = torch.cuda.host_memory_stats()
    del held
    idle = torch.cuda.host_memory_stats()
    assert idle["allocated_bytes.current"] == used["allocated_bytes.current"] >= 4 * SIZE
    assert used["active_bytes.current"] - idle["active_bytes.current"] == 4 * SIZE


@pytest.mark.rule("1.9.5", since="2.8")
def test_the_statistics_start_again(torch):
    held = torch.zeros(SIZE).pin_memory()
    torch.cuda.reset_peak_host_memory_stats()
    torch.cuda.reset_accumulated_host_memory_stats()
    found = torch.cuda.host_memory_stats()
    assert found["active_bytes.peak"] == found["active_bytes.current"] >= 4 * SIZE
    assert found["num_host_alloc"] == found["active_requests.allocated"] == 0 and held is not None


@pytest.mark.rule("1.9.6", since="1.0")
def test_a_copy_from_pinned_memory_returns_at_once(torch, latch):
    x, y = torch.full((1000,), 4.0).pin_memory(), torch.zeros(1000, device="cuda")
    held = latch()
    y.copy_(x, non_blocking=True)
    z = x.cuda(non_blocking=True)
    assert not torch.cuda.current_stream().query()
    held.open()
    assert y.tolist() == z.tolist() == [4.0] * 1000


@pytest.mark.rule("1.9.6", since="1.0")
def test_it_reads_its_source_when_it_runs(torch, latch):
    x, y = torch.full((1000,), 4.0).pin_memory(), torch.zeros(1000, device="cuda")
    held = latch()
    y.copy_(x, non_blocking=True)
    x.fill_(6.0)
    held.open()
    assert y.tolist() == [6.0] * 1000


@pytest.mark.rule("1.9.6", since="1.0")
def test_a_blocking_copy_from_pinned_memory_waits(torch, busy):
    x, y = torch.full((1000,), 4.0).pin_memory(), torch.zeros(1000, device="cuda")
    busy()
    y.copy_(x)
    assert torch.cuda.current_stream().query()
    x.fill_(6.0)
    assert y.tolist() == [4.0] * 1000


@pytest.mark.rule("1.9.6", since="1.0")
def test_from_pageable_memory_the_source_may_be_overwritten_at_once(torch, busy):
    x, y = torch.full((1000,), 4.0), torch.zeros(1000, device="cuda")
    busy()
    y.copy_(x, non_blocking=True)
    x.fill_(6.0)
    assert y.tolist() == [4.0] * 1000


@pytest.mark.rule("1.9.7", since="1.0")
def test_to_the_host_without_waiting_gives_pinned_memory_whose_bytes_come_later(torch, latch):
    x = torch.zeros(1000, device="cuda")
    held = latch()
    x.fill_(3.0)
    y = x.to("cpu", non_blocking=True)
    assert y.is_pinned() and not torch.cuda.current_stream().query()
    held.open()
    torch.cuda.synchronize()
    assert y.tolist() == [3.0] * 1000


@pytest.mark.rule("1.9.7", since="1.0")
def test_to_the_host_waits_otherwise_and_the_memory_is_pageable(torch, busy):
    x = torch.zeros(1000, device="cuda")
    busy()
    x.fill_(3.0)
    y = x.to("cpu")
    assert not y.is_pinned() and torch.cuda.current_stream().query() and y.tolist() == [3.0] * 1000


@pytest.mark.rule("1.9.7", since="1.0")
def test_into_pinned_memory_of_the_programs_own(torch, latch):
    x, y = torch.zeros(1000, device="cuda"), torch.zeros(1000).pin_memory()
    held = latch()
    x.fill_(3.0)
    y.copy_(x, non_blocking=True)
    assert y.tolist() == [0.0] * 1000, "not there yet"
    held.open()
    torch.cuda.synchronize()
    assert y.tolist() == [3.0] * 1000


@pytest.mark.rule("1.9.8", since="1.0")
@pytest.mark.devices(2)
@pytest.mark.parametrize("non_blocking", [False, True])
def test_between_devices_it_changes_nothing(torch, latch, non_blocking):
    x = torch.zeros(1000, device="cuda:0")
    torch.cuda.synchronize(0)
    held = latch(torch.cuda.default_stream(0))
    x.fill_(3.0)
    y = x.to("cuda:1", non_blocking=non_blocking)
    assert not torch.cuda.default_stream(0).query(), "neither waits"
    held.open_soon()
    assert y.tolist() == [3.0] * 1000


@pytest.mark.rule("1.9.9", since="1.0")
def test_on_a_side_stream_the_program_orders_the_copy_and_its_use(torch, busy):
    s, x = torch.cuda.Stream(), torch.full((1000,), 4.0).pin_memory()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        busy(s)
        y = x.to("cuda", non_blocking=True)
    torch.cuda.current_stream().wait_stream(s)
    y.record_stream(torch.cuda.current_stream())
    assert (y + 1).tolist() == [5.0] * 1000


class Numbers:
    """A data set of the numbers below 8."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 99:
            raise KeyError(index)
        return self.torch.tensor([float(index)])


@pytest.mark.rule("1.9.10", since="1.0")
def test_a_loader_pins_its_batches(torch):
    loader = torch.utils.data.DataLoader(Numbers(torch), batch_size=4, pin_memory=True)
    batches = list(loader)
    assert [each.is_pinned() for each in batches] == [True, True]
    assert [each.view(-1).tolist() for each in batches] == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]


@pytest.mark.rule("1.9.10", since="1.0")
def test_what_goes_wrong_while_loading_is_raised_by_next_with_its_type(torch):
    loader = torch.utils.data.DataLoader(Numbers(torch), sampler=[0, 99], pin_memory=True)
    found = iter(loader)
    assert next(found).tolist() == [[0.0]]
    with pytest.raises(KeyError):
        next(found)
    del found
    assert threading.active_count() >= 1


@pytest.mark.rule("1.9.10", since="1.0")
def test_without_a_gpu_a_loader_warns_and_pins_nothing(program):
    found = program(
        """
import warnings
data = torch.utils.data.TensorDataset(torch.arange(4.0))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    batches = [batch for (batch,) in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True)]
answer([any("pin_memory" in str(each.message) for each in caught), [each.is_pinned() for each in batches]])
answer([each.tolist() for each in batches])
""",
        CUDA_VISIBLE_DEVICES="",
    )
    assert found == [[True, [False, False]], [[0.0, 1.0], [2.0, 3.0]]]


class Batch:
    """A user's own batch, which knows how to pin itself."""

    def __init__(self, values, pinned=False):
        self.values = values
        self.pinned = pinned

    def pin_memory(self):
        return Batch(self.values.pin_memory(), True)


Pair = collections.namedtuple("Pair", "first second")


@pytest.mark.rule("1.9.11", since="1.0")
def test_what_a_loader_pins(torch):
    def load(collate):
        loader = torch.utils.data.DataLoader(Numbers(torch), batch_size=8, collate_fn=collate, pin_memory=True)
        (batch,) = loader
        return batch

    mapping = load(lambda items: {"x": items[0], "text": "as it is", "deep": [items[1], (items[2], 7)]})
    assert mapping["x"].is_pinned() and mapping["text"] == "as it is"
    assert mapping["deep"][0].is_pinned() and mapping["deep"][1][0].is_pinned() and mapping["deep"][1][1] == 7
    named = load(lambda items: Pair(items[0], 3))
    assert type(named) is Pair and named.first.is_pinned() and named.second == 3
    own = load(lambda items: Batch(items[0]))
    assert own.pinned and own.values.is_pinned()
    thing = object()
    assert load(lambda items: thing) is thing

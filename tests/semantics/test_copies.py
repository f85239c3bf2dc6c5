"""1.2 Across devices, and 1.3 asynchronous work: which calls wait, what follows what, where failures show."""

import warnings

import pytest

SAME_DEVICE = "Expected all tensors to be on the same device"


@pytest.mark.rule("1.2.1", since="1.0")
def test_operands_on_host_and_device_are_a_runtime_error(torch):
    a, b = torch.ones(3, device="cuda"), torch.ones(3)
    for mixed in (lambda: a + b, lambda: b * a, lambda: torch.matmul(a, b), lambda: a.add_(b)):
        with pytest.raises(RuntimeError, match=SAME_DEVICE):
            mixed()
    assert a.tolist() == [1.0] * 3 and b.tolist() == [1.0] * 3


@pytest.mark.rule("1.2.1", since="1.0")
@pytest.mark.devices(2)
def test_operands_on_two_devices_are_a_runtime_error_that_names_them(torch):
    a, b = torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1")
    with pytest.raises(RuntimeError, match="cuda:0") as caught:
        a + b
    assert "cuda:1" in str(caught.value)
    with pytest.raises(RuntimeError, match="same device"):
        torch.cat([a, b])


@pytest.mark.rule("1.2.1", since="1.0", differs="two of the devices are named, and no operand")
def test_the_error_says_what_every_operand_is_and_what_to_move(torch):
    with pytest.raises(RuntimeError, match=r"float32\[3\] on cuda:0, .*float32\[2, 1\] on cpu\nhint: move"):
        torch.ones(3, device="cuda") + torch.ones(2, 1)


@pytest.mark.rule("1.2.1", since="1.5")
def test_a_zero_dimensional_tensor_of_the_host_serves_as_a_number(torch):
    a, number = torch.arange(3, device="cuda"), torch.tensor(10)
    assert (a + number).tolist() == (number + a).tolist() == [10, 11, 12]
    assert (a + number).device == a.device and number.device.type == "cpu"


@pytest.mark.rule("1.2.1", since="1.5")
def test_a_zero_dimensional_tensor_of_a_device_does_not(torch):
    with pytest.raises(RuntimeError, match=SAME_DEVICE):
        torch.ones(3) + torch.tensor(10.0, device="cuda")


@pytest.fixture(params=[False, True], ids=["blocking", "non_blocking"])
def non_blocking(request):
    return request.param


@pytest.fixture
def sides(torch):
    """Side streams of two devices, current on both; a tensor of zeros on the first and one of ones on the second."""
    x, y = torch.zeros(1000, device="cuda:0"), torch.ones(1000, device="cuda:1")
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    s, t = torch.cuda.Stream(0), torch.cuda.Stream(1)
    with torch.cuda.stream(t), torch.cuda.stream(s):
        yield s, t, x, y


@pytest.mark.rule("1.2.2", since="1.0")
@pytest.mark.devices(2)
def test_a_copy_between_devices_follows_what_the_source_stream_had(torch, busy, sides, non_blocking):
    s, _, x, y = sides
    busy(s)
    x.fill_(3.0)
    y.copy_(x, non_blocking=non_blocking)
    assert y.tolist() == [3.0] * 1000


@pytest.mark.rule("1.2.2", since="1.0")
@pytest.mark.devices(2)
def test_a_copy_between_devices_follows_what_the_destination_stream_had(torch, busy, sides, non_blocking):
    _, t, x, y = sides
    busy(t)
    y.fill_(5.0)
    y.copy_(x, non_blocking=non_blocking)
    assert y.tolist() == [0.0] * 1000


@pytest.mark.rule("1.2.2", since="1.0")
@pytest.mark.devices(2)
def test_the_destination_stream_goes_on_after_the_copy(torch, busy, sides, non_blocking):
    s, _, x, y = sides
    busy(s)
    x.fill_(3.0)
    y.copy_(x, non_blocking=non_blocking)
    y.add_(1)
    assert y.tolist() == [4.0] * 1000


@pytest.mark.rule("1.2.2", since="1.0")
@pytest.mark.devices(2)
def test_the_source_may_be_overwritten_after_the_copy(torch, busy, sides, non_blocking):
    _, t, x, y = sides
    busy(t)
    y.copy_(x, non_blocking=non_blocking)
    x.fill_(9.0)
    assert y.tolist() == [0.0] * 1000 and x.tolist() == [9.0] * 1000


@pytest.mark.rule("1.2.2", since="1.0")
@pytest.mark.devices(2)
def test_a_copy_between_devices_runs_on_the_sources_current_stream(torch, latch, sides):
    s, t, x, y = sides
    held = latch()
    y.copy_(x)
    assert not s.query() and not t.query()
    held.open_soon()
    t.synchronize()
    assert s.query(), "the destination's stream waited for the source's"


@pytest.mark.rule("1.2.2", since="1.0")
def test_a_copy_on_one_device_is_work_of_its_current_stream(torch, latch):
    s, x, y = torch.cuda.Stream(), torch.ones(4, device="cuda"), torch.zeros(4, device="cuda")
    y.copy_(x)
    torch.cuda.synchronize()
    held = latch(torch.cuda.default_stream())
    with torch.cuda.stream(s):
        y.copy_(x.add_(1))
        assert y.tolist() == [2.0] * 4
    assert not torch.cuda.default_stream().query()
    held.open()
    torch.cuda.synchronize()


@pytest.mark.rule("1.2.3", since="1.0")
@pytest.mark.devices(2)
def test_type_and_layout_change_between_devices(torch, non_blocking):
    x = torch.arange(6, device="cuda:0").view(2, 3).t()
    y = torch.zeros(3, 2, dtype=torch.float64, device="cuda:1")
    y.copy_(x, non_blocking=non_blocking)
    assert y.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    z = x.to("cuda:1", torch.float16, non_blocking=non_blocking)
    assert (z.device.index, z.dtype, z.tolist()) == (1, torch.float16, y.tolist())


@pytest.mark.rule("1.2.3", since="1.0")
def test_type_and_layout_change_between_host_and_device(torch, non_blocking):
    x = torch.arange(6).view(2, 3).t()
    y = torch.zeros(2, 3, dtype=torch.float32, device="cuda").t()
    y.copy_(x, non_blocking=non_blocking)
    assert y.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    back = torch.zeros(3, 2, dtype=torch.int32)
    back.copy_(y)
    assert back.tolist() == x.tolist()
    with pytest.raises(RuntimeError):
        back.copy_(torch.zeros(5, device="cuda"))


@pytest.mark.rule("1.2.4", since="1.0")
@pytest.mark.virtual("the driver's calls are watched")
@pytest.mark.devices(2)
def test_peer_access_is_turned_on_at_the_first_copy_and_not_before(torch, monkeypatch):
    from flambeau.core import thread

    driver, asked = thread.machine().driver, []
    for name in ("peer_can", "peer_enable"):
        monkeypatch.setattr(driver, name, _telling(asked, name, getattr(driver, name)))
    x = torch.arange(5, device="cuda:0")
    assert torch.cuda.can_device_access_peer(0, 1) and asked == [("peer_can", 0, 1)]
    assert x.to("cuda:1").tolist() == [0, 1, 2, 3, 4] and asked.count(("peer_enable", 0, 1)) == 1
    asked.clear()
    assert x.to("cuda:1").tolist() == [0, 1, 2, 3, 4] and asked == []


def _telling(asked, name, call):
    return lambda *pair: (asked.append((name, *pair)), call(*pair))[1]


@pytest.mark.rule("1.2.5", since="1.0")
@pytest.mark.devices(2)
def test_a_broadcast_shares_storage_on_the_sources_own_device(torch):
    x = torch.arange(4, device="cuda:0")
    here, there = torch.nn.parallel.comm.broadcast(x, [0, 1])
    assert here.data_ptr() == x.data_ptr() and there.device.index == 1 and there.tolist() == x.tolist()


@pytest.mark.rule("1.2.5", since="1.0")
@pytest.mark.devices(2)
def test_many_tensors_are_broadcast_together(torch):
    sizes = (3, 0, 3 << 20, 5)  # of float32: the third is larger than a buffer
    tensors = [torch.full((size,), float(size), device="cuda:0") for size in sizes]
    here, there = torch.nn.parallel.comm.broadcast_coalesced(tensors, [0, 1])
    assert [each.data_ptr() for each in here] == [each.data_ptr() for each in tensors]
    assert {each.device.index for each in there} == {1} and [each.numel() for each in there] == list(sizes)
    assert [bool((each == float(size)).all()) for each, size in zip(there, sizes)] == [True] * 4
    there[0].add_(1)
    assert [each._version for each in there] == [1, 0, 0, 0]


@pytest.mark.rule("1.2.5", since="1.0")
@pytest.mark.devices(2)
def test_what_cannot_be_sent_to_several_devices(torch):
    comm, x, y = torch.nn.parallel.comm, torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1")
    wrong = (RuntimeError, ValueError, AssertionError, TypeError)
    for call in (
        lambda: comm.broadcast(x),
        lambda: comm.broadcast(x, [0, 1], out=[x, y]),
        lambda: comm.reduce_add([x, torch.ones(3)]),
        lambda: comm.reduce_add([x, y[:2]]),
        lambda: comm.scatter(x, [0, 1], chunk_sizes=[1, 1, 1]),
        lambda: comm.gather([x, torch.ones(3)]),
    ):
        with pytest.raises(wrong):
            call()
    assert x.tolist() == y.tolist() == [1.0] * 3


@pytest.mark.rule("1.2.5", since="1.0")
@pytest.mark.devices(2)
def test_sums_over_devices(torch):
    parts = [torch.full((3,), 1.0 + index, device=f"cuda:{index}") for index in range(2)]
    total = torch.nn.parallel.comm.reduce_add(parts, 1)
    assert total.device.index == 1 and total.tolist() == [3.0] * 3
    several = [[each, each[:1]] for each in parts]
    found = torch.nn.parallel.comm.reduce_add_coalesced(several, 0)
    assert [each.tolist() for each in found] == [[3.0] * 3, [3.0]] and {each.device.index for each in found} == {0}


@pytest.mark.rule("1.2.5", since="1.0")
@pytest.mark.devices(2)
def test_scatter_and_gather(torch):
    x = torch.arange(5, device="cuda:0")
    parts = torch.nn.parallel.comm.scatter(x, [0, 1])
    assert [each.tolist() for each in parts] == [[0, 1, 2], [3, 4]] and parts[0].data_ptr() == x.data_ptr()
    assert [each.device.index for each in parts] == [0, 1]
    sized = torch.nn.parallel.comm.scatter(x, [0, 1], chunk_sizes=[1, 4])
    assert [len(each) for each in sized] == [1, 4]
    whole = torch.nn.parallel.comm.gather(parts, destination=1)
    assert whole.device.index == 1 and whole.tolist() == x.tolist()
    assert torch.nn.parallel.comm.gather(parts, destination="cpu").device.type == "cpu"


# 1.3


@pytest.mark.rule("1.3.1", since="1.0")
def test_a_call_queues_work_and_returns(torch, latch):
    x = torch.ones(4, device="cuda")
    x.add_(1)
    torch.cuda.synchronize()
    held = latch()
    x.add_(1)
    assert not torch.cuda.current_stream().query()
    held.open_soon()
    assert x.tolist() == [3.0] * 4, "and copies to the host wait"
    assert torch.cuda.current_stream().query()


@pytest.mark.rule("1.3.1", since="1.0")
def test_what_the_host_reads_is_finished(torch, busy):
    x = torch.zeros(1000, device="cuda")
    busy()
    x.fill_(4.0)
    host = torch.zeros(1000)
    host.copy_(x)
    busy()
    x.fill_(5.0)
    assert host.tolist() == [4.0] * 1000 and x[3].item() == 5.0 and float(x.sum()) == 5000.0


@pytest.mark.rule("1.3.1", since="1.0")
def test_what_the_host_gave_may_be_overwritten_at_once(torch, busy):
    host, x = torch.full((1000,), 2.0), torch.zeros(1000, device="cuda")
    busy()
    x.copy_(host)
    host.fill_(9.0)
    assert x.tolist() == [2.0] * 1000


LAUNCHES = """
x = torch.zeros(4, device="cuda")
x.add_(1)  # a kernel's first launch loads it, which may wait for the device
torch.cuda.synchronize()
held = (busy if os.environ.get("CUDA_LAUNCH_BLOCKING") == "1" else latch)()
answer(torch.cuda.current_stream().query())
x.add_(1)
answer(torch.cuda.current_stream().query())
held.open()
answer(x.tolist())
"""


@pytest.mark.rule("1.3.2", since="1.0")
@pytest.mark.parametrize(("blocking", "done"), [("1", True), ("0", False), (None, False)])
def test_every_launch_waits_if_the_environment_says_so(program, blocking, done):
    assert program(LAUNCHES, CUDA_LAUNCH_BLOCKING=blocking) == [done, done, [2.0] * 4]


FAULT = """
x = torch.ones(4, device="cuda")
try:
    y = x[torch.tensor([99], device="cuda")]
    answer("queued")
    torch.cuda.synchronize()
except Exception as error:
    answer([isinstance(error, RuntimeError), isinstance(error, getattr(torch, "AcceleratorError", RuntimeError))])
answer(attempt(lambda: (x + 1).tolist()).split(":")[0])
answer(attempt(lambda: torch.ones(4, device="cuda").tolist()).split(":")[0])
os._exit(0)
"""


@pytest.mark.rule("1.3.3", since="1.0")
def test_a_failure_in_a_kernel_shows_later_and_the_device_is_lost(program):
    assert program(FAULT) == ["queued", [True, True], "RuntimeError", "RuntimeError"]


@pytest.mark.rule("1.3.3", since="2.8")
def test_the_error_has_the_drivers_code(program):
    found = program("""
x = torch.ones(4, device="cuda")
try:
    y = x[torch.tensor([99], device="cuda")]
    torch.cuda.synchronize()
except torch.AcceleratorError as error:
    answer(error.error_code in (700, 710, 719))
os._exit(0)
""")
    assert found == [True]


@pytest.mark.rule("1.3.3", since="2.1")
def test_a_program_may_assert_what_it_does_not_wait_for(program):
    found = program("""
x = torch.ones(2, device="cuda")
torch._assert_async(x[0], "it is one")
torch._assert_async((x == 1).all())
torch.cuda.synchronize()
held = latch()
torch._assert_async(x[1] == 2, "it is two")
answer(torch.cuda.current_stream().query())
held.open()
answer(attempt(torch.cuda.synchronize).split(":")[0])
answer(attempt(lambda: x.tolist()).split(":")[0])
os._exit(0)
""")
    assert found == [False, "RuntimeError", "RuntimeError"]


@pytest.mark.rule("1.3.3", since="2.1")
@pytest.mark.devices(0)
def test_on_the_cpu_such_an_assertion_fails_at_once(torch):
    assert torch._assert_async(torch.tensor([2.5]), "fine") is None
    with pytest.raises(RuntimeError, match="it is two"):
        torch._assert_async(torch.tensor(0), "it is two")
    with pytest.raises(RuntimeError):
        torch._assert_async(torch.ones(2))


@pytest.mark.rule("1.3.3", since="2.5")
def test_a_program_goes_on_after_it_ran_out_of_memory(torch):
    x = torch.ones(4, device="cuda")
    with pytest.raises(torch.OutOfMemoryError, match="out of memory") as caught:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    assert isinstance(caught.value, RuntimeError) and torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
    assert (x + 1).tolist() == [2.0] * 4


@pytest.fixture
def debug(torch):
    def choose(mode):
        with warnings.catch_warnings():  # PyTorch says once in a process that the mode is a prototype
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode(mode)

    yield choose
    choose("default")


def hidden_waits(torch):
    x = torch.arange(4.0, device="cuda")
    yield lambda: x[0].item()
    yield lambda: x.cpu()
    yield lambda: x.nonzero()
    yield lambda: x[x > 1]
    yield lambda: torch.ones(4).cuda()
    yield lambda: bool((x > 1).any())


@pytest.mark.rule("1.3.4", since="1.10")
def test_hidden_waits_warn(torch, debug):
    calls = list(hidden_waits(torch))
    debug("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
    for call in calls:
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
            call()


@pytest.mark.rule("1.3.4", since="1.10")
def test_hidden_waits_are_errors(torch, debug):
    calls = list(hidden_waits(torch))
    debug("error")
    assert torch.cuda.get_sync_debug_mode() == 2
    for call in calls:
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            call()


@pytest.mark.rule("1.3.4", since="1.10", differs="the text names no line of the program")
def test_the_report_names_the_line_that_waits(torch, debug):
    x = torch.ones(4, device="cuda")
    debug("error")
    with pytest.raises(RuntimeError, match=r"test_copies.py:\d+: called"):
        x.cpu()


@pytest.mark.rule("1.3.4", since="1.10")
def test_work_that_is_only_queued_and_waits_that_say_so_are_not_reported(torch, debug):
    x, pinned = torch.ones(4, device="cuda"), torch.ones(4).pin_memory()
    event = torch.cuda.Event()
    debug(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = x + pinned.cuda(non_blocking=True)
        y.to("cpu", non_blocking=True)
        event.record()
        event.synchronize()
        torch.cuda.synchronize()
    debug(0)
    assert y.tolist() == [2.0] * 4 and torch.cuda.get_sync_debug_mode() == 0


@pytest.mark.rule("1.3.4", since="1.10")
def test_an_unknown_mode_is_a_runtime_error(torch, debug):
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        debug("loud")
    assert torch.cuda.get_sync_debug_mode() == 0


@pytest.mark.rule("1.3.5", since="1.0")
def test_events_measure_the_device_and_not_the_host(torch, latch):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    held = latch()
    start.record()
    torch.cuda._sleep(100_000_000)
    end.record()
    assert not end.query(), "the host is far ahead"
    held.open()
    end.synchronize()
    assert 20 < start.elapsed_time(end) < 1000, "milliseconds; other processes may share the device"

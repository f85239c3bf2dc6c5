"""1.13 Programs that do not name their device: torch.accelerator, and the default device of factories."""

import threading

import pytest


@pytest.mark.rule("1.13.1", since="2.6")
def test_which_accelerator_there_is(torch):
    found = torch.accelerator.current_accelerator()
    assert found == torch.device("cuda") and found.index is None
    assert torch.accelerator.current_accelerator(check_available=True) == found
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == torch.cuda.device_count()


@pytest.mark.rule("1.13.1", since="2.6")
def test_naming_the_accelerator_starts_nothing(program):
    found = program("""
answer([str(torch.accelerator.current_accelerator()), torch.accelerator.device_count() >= 1])
torch.accelerator.synchronize(0)
answer(torch.cuda.is_initialized())
""")
    assert found == [["cuda", True], False]


@pytest.mark.rule("1.13.1", since="2.9")
def test_an_empty_cache_is_emptied_without_a_start(program):
    assert program("torch.accelerator.empty_cache()\nanswer(torch.cuda.is_initialized())") == [False]


@pytest.mark.rule("1.13.1", since="2.6", differs="asking which device is meant starts it")
def test_waiting_for_what_has_not_started_starts_nothing(program):
    assert program("torch.accelerator.synchronize()\nanswer(torch.cuda.is_initialized())") == [False]


@pytest.mark.rule("1.13.1", since="2.6")
@pytest.mark.devices(0)
def test_without_one_there_is_none(program):
    found = program("""
answer([torch.accelerator.is_available(), torch.accelerator.device_count()])
answer(torch.accelerator.current_accelerator(check_available=True))
""")
    assert found == [[False, 0], None]


@pytest.mark.rule("1.13.1", since="2.6")
@pytest.mark.devices(2)
def test_its_current_device_is_cudas(torch):
    torch.accelerator.set_device_index(1)
    assert torch.accelerator.current_device_index() == torch.cuda.current_device() == 1
    torch.accelerator.set_device_index("cuda:0")
    assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError):
        torch.accelerator.set_device_index("cpu")


@pytest.mark.rule("1.13.1", since="2.8")
@pytest.mark.devices(2)
def test_a_block_with_another_index(torch):
    with torch.accelerator.device_index(1), torch.accelerator.device_index(None):
        assert torch.accelerator.current_device_index() == 1
    assert torch.accelerator.current_device_index() == 0


@pytest.mark.rule("1.13.1", since="2.6")
@pytest.mark.devices(2)
def test_its_streams_are_cudas(torch, latch):
    s = torch.cuda.Stream(1)
    torch.accelerator.set_stream(s)
    assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == s
    found = torch.accelerator.current_stream()
    assert found.device == s.device
    held = latch(s)
    assert not found.query()
    held.open_soon()
    found.synchronize()
    assert s.query()


@pytest.mark.rule("1.13.1", since="2.6")
def test_it_waits_for_a_whole_device(torch, busy):
    s = torch.cuda.Stream()
    busy(s)
    torch.accelerator.synchronize()
    assert s.query()
    busy(s)
    torch.accelerator.synchronize("cuda:0")
    assert s.query()


@pytest.mark.rule("1.13.1", since="2.9")
def test_its_figures_are_cudas(torch):
    held = torch.ones(1 << 20, device="cuda")
    assert torch.accelerator.memory_allocated() == torch.cuda.memory_allocated() >= 4 << 20
    assert torch.accelerator.memory_reserved() == torch.cuda.memory_reserved()
    assert torch.accelerator.memory_stats()["allocated_bytes.all.current"] == torch.cuda.memory_allocated()
    torch.accelerator.empty_cache()
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == torch.cuda.memory_allocated() and held is not None


@pytest.mark.rule("1.13.1", since="2.10")
def test_its_memory(torch):
    assert torch.accelerator.get_memory_info(0)[1] == torch.cuda.mem_get_info(0)[1]


@pytest.fixture
def default(torch):
    yield torch.set_default_device
    torch.set_default_device(None)


@pytest.mark.rule("1.13.2", since="2.3")
@pytest.mark.devices(0)
def test_factories_use_the_cpu_at_first(torch, default):
    assert torch.get_default_device() == torch.device("cpu") and torch.ones(1).device.type == "cpu"


@pytest.mark.rule("1.13.2", since="2.0")
def test_the_default_device_is_for_factories_that_name_none(torch, default):
    default("cuda")
    made = [torch.ones(1), torch.tensor([1]), torch.arange(3), torch.randn(2), torch.empty(1), torch.full((1,), 2)]
    assert {each.device for each in made} == {torch.device("cuda", 0)}
    assert torch.ones(1, device="cpu").device.type == "cpu"


@pytest.mark.rule("1.13.2", since="2.0")
def test_what_shares_memory_or_follows_a_tensor_is_not_changed(torch, default):
    import numpy

    host = torch.ones(2)
    default("cuda")
    assert torch.from_numpy(numpy.ones(2)).device.type == "cpu"
    assert torch.zeros_like(host).device.type == host.new_zeros(2).device.type == "cpu"
    assert (host + 1).device.type == "cpu"


@pytest.mark.rule("1.13.2", since="2.3")
@pytest.mark.devices(2)
def test_a_default_without_an_index_follows_the_current_device(torch, default):
    default("cuda")
    assert torch.get_default_device() == torch.device("cuda", 0)
    torch.cuda.set_device(1)
    assert torch.ones(1).device.index == 1 and torch.get_default_device() == torch.device("cuda", 1)
    default("cuda:0")
    assert torch.ones(1).device.index == 0 and torch.get_default_device() == torch.device("cuda", 0)


@pytest.mark.rule("1.13.2", since="2.4")
def test_none_clears_it_and_a_number_is_an_accelerators_index(torch, default):
    default(0)
    assert torch.ones(1).device == torch.device("cuda", 0)
    default(None)
    assert torch.ones(1).device.type == "cpu"


@pytest.mark.rule("1.13.2", since="2.0")
def test_it_is_each_threads_own(torch, default):
    default("cuda")
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.ones(1).device.type))
    thread.start()
    thread.join()
    assert found == ["cpu"] and torch.ones(1).device.type == "cuda"


@pytest.mark.rule("1.13.2", since="2.0")
def test_a_block_goes_before_the_default_and_blocks_nest(torch, default):
    default("cuda")
    with torch.device("cpu"):
        assert torch.ones(1).device.type == "cpu"
        with torch.device("cuda:0"):
            assert torch.ones(1).device == torch.device("cuda", 0)
        assert torch.ones(1).device.type == "cpu"
    assert torch.ones(1).device.type == "cuda"


@pytest.mark.rule("1.13.2", since="2.15")
def test_a_device_is_a_decorator_too(torch):
    @torch.device("cuda")
    def make(size, *, value=1.0):
        """Makes."""
        return torch.full((size,), value)

    assert make(2, value=3.0).device.type == "cuda" and make.__name__ == "make"
    assert torch.ones(1).device.type == "cpu"


@pytest.mark.rule("1.13.2", since="2.0")
@pytest.mark.devices(2)
def test_a_block_does_not_change_the_current_device(torch):
    with torch.device("cuda:1"):
        assert torch.cuda.current_device() == 0 and torch.ones(1).device.index == 1


@pytest.mark.rule("1.13.3", since="1.0")
@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_code_that_follows_a_tensor_works_everywhere(torch, place):
    def normalized(x):
        shift = x.new_full((1,), 2.0)
        return (x - shift) / torch.ones_like(x)

    found = normalized(torch.arange(3.0, dtype=torch.float64, device=place))
    assert (found.device.type, found.dtype, found.tolist()) == (place, torch.float64, [-2.0, -1.0, 0.0])

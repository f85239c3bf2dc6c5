"""1.8.7 to 1.8.23: what happens when there is no more memory, and how a program says how much there is."""

import gc

import pytest

MIB = 1 << 20
ALLOCATED, RESERVED = "allocated_bytes.all.current", "reserved_bytes.all.current"


@pytest.fixture
def capped(torch):
    """Lets the process reserve 64 MiB more than it has; gives that cap back at the end."""
    total = torch.cuda.mem_get_info()[1]
    gc.collect()  # what earlier tests left may not go back after the cap is set
    torch.cuda.ipc_collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 64 * MIB) / total)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.rule("1.8.7", since="1.8")
def test_idle_segments_go_back_before_the_program_is_told_that_there_is_no_more(torch, capped, take, growth):
    for nbytes in (30 * MIB, 32 * MIB):
        take(nbytes)
    made, (retries, ooms) = growth(lambda: take(60 * MIB), "num_alloc_retries", "num_ooms")
    assert made.numel() == 60 * MIB and (retries, ooms) == (1, 0)


@pytest.mark.rule("1.8.8", since="1.13")
def test_the_error_is_a_runtime_error_that_says_what_was_asked(torch, capped, take):
    kept = take(40 * MIB)
    before = torch.cuda.memory_allocated()
    with pytest.raises(torch.cuda.OutOfMemoryError, match="out of memory") as caught:
        take(100 * MIB)
    allocated = before, torch.cuda.memory_allocated()  # the search collects what consumers dropped
    text = str(caught.value)
    assert isinstance(caught.value, RuntimeError) and "100.00 MiB" in text
    assert any(f"{each / MIB:.2f} MiB" in text for each in allocated)
    assert "allocate" in text and "total capacity" in text and "free" in text and "reserved" in text
    assert kept.fill_(3)[5].item() == 3


@pytest.mark.rule("1.8.8", since="1.13", differs="other allocator settings are suggested whatever the cause is")
def test_the_error_suggests_what_helps(torch, capped, take):
    kept = take(40 * MIB)
    with pytest.raises(torch.cuda.OutOfMemoryError) as caught:
        take(100 * MIB)
    assert "expandable_segments" not in str(caught.value) and kept is not None


@pytest.mark.rule("1.8.8", since="1.13")
def test_running_out_is_counted_and_changes_nothing_else(torch, capped, take, growth):
    kept = take(40 * MIB)

    def fail():
        with pytest.raises(torch.cuda.OutOfMemoryError):
            take(100 * MIB)

    _, grown = growth(fail, "num_ooms", ALLOCATED, RESERVED, "active.all.current")
    assert grown == [1, 0, 0, 0] and take(10 * MIB).numel() == 10 * MIB and kept is not None


@pytest.mark.rule("1.8.10", since="1.10")
@pytest.mark.parametrize("text", ["no_such_setting:1", "max_split_size_mb:2", "garbage_collection_threshold:2.0"])
def test_a_setting_that_makes_no_sense_is_an_error(program, text):
    source = (
        "answer(attempt(lambda: torch.ones(1, device='cuda').item()).split(':')[0] in ('ValueError', 'RuntimeError'))"
    )
    assert program(source, PYTORCH_CUDA_ALLOC_CONF=text) == [True]


@pytest.mark.rule("1.8.10", since="2.10")
def test_the_setting_has_a_name_without_cuda(program):
    found = program(
        "x = torch.empty(4_400_000, dtype=torch.uint8, device='cuda')\nanswer(torch.cuda.memory_allocated())",
        PYTORCH_ALLOC_CONF=" roundup_power2_divisions : 4 , max_split_size_mb : 100 ",
    )
    assert found == [5 * MIB]


@pytest.mark.rule("1.8.23", since="1.8")
def test_a_fraction_is_a_float_between_zero_and_one(torch):
    with pytest.raises(TypeError):
        torch.cuda.set_per_process_memory_fraction(1)
    for wrong in (-0.1, 1.5):
        with pytest.raises(ValueError, match=str(wrong)):
            torch.cuda.set_per_process_memory_fraction(wrong)


@pytest.mark.rule("1.8.23", since="1.8")
def test_a_fraction_caps_reserved_bytes(torch, capped, take):
    held = [take(20 * MIB) for _ in range(3)]
    with pytest.raises(RuntimeError, match="out of memory"):
        take(20 * MIB)
    assert len(held) == 3


@pytest.mark.rule("1.8.23", since="2.8")
def test_a_fraction_can_be_asked_for(torch):
    torch.cuda.set_per_process_memory_fraction(0.5)
    assert torch.cuda.get_per_process_memory_fraction() == 0.5
    torch.cuda.set_per_process_memory_fraction(1.0)

"""The text of race errors: operators, lines, the program's names of streams, and the remedy."""

import math
import sys

import pytest

import flambeau as torch
from flambeau.errors import RaceError
from flambeau.testing import machine


def line():
    return f"{__file__}:{sys._getframe(1).f_lineno}"


@pytest.fixture(autouse=True)
def strict():
    with machine(devices=2, races="error"):
        yield


def facts(error):
    """The text without the bytes, and the hint."""
    fact, _, hint = str(error.value).partition("\nhint: ")
    return " ".join(word for word in fact.split() if not word.strip("[),").startswith("0x")), hint


def test_operators_and_lines_are_named_and_streams_as_the_program_sees_them():
    x, made = torch.ones(4, device="cuda"), line()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), pytest.raises(RaceError) as caught:
        x + 1
    fact, hint = facts(caught)
    number = f"stream {side.cuda_stream}"
    assert fact.startswith(
        f"add (kernel add_float32_float32_nfloat32): reads bytes of device 0 on {number} at {__file__}"
    )
    older = fact.partition("and nothing orders this after ")[2]
    assert "fill" in older.partition(" (kernel")[0].split(" or ")  # what was lowered to that kernel in this process
    assert older.endswith(f"(kernel fill_float32), which writes them on the default stream at {made}")
    assert hint.startswith(f"before that, {number} must wait for the default stream: use wait_stream, or wait_event")


def test_memory_that_was_freed_too_early_asks_for_record_stream():
    side, x = torch.cuda.Stream(), torch.ones(1024, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        kept, used = x * 2, line()
    del x
    with pytest.raises(RaceError) as caught:
        torch.zeros(1024, device="cuda")
    fact, hint = facts(caught)
    number = f"stream {side.cuda_stream}"
    assert fact.startswith("allocation: takes bytes of device 0 on the default stream at")
    assert fact.endswith(f"which reads them on {number} at {used}") and kept.shape == (1024,)
    assert hint.startswith(f"the memory that {number} used was freed too early: call its tensor's record_stream")


def test_streams_of_pinned_memory_name_their_device():
    host = torch.ones(4).pin_memory()
    kept = host.to("cuda", non_blocking=True)
    side = torch.cuda.Stream(1)
    with torch.cuda.stream(side), pytest.raises(RaceError) as caught:
        host.copy_(torch.zeros(4, device="cuda:1"), non_blocking=True)
    fact, _ = facts(caught)
    assert f"of pinned host memory on stream {side.cuda_stream} of device 1 at" in fact and kept.shape == (4,)
    assert "which reads them on the default stream of device 0 at" in fact


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("races", ["poison", "error"])
def test_polls_of_the_allocator_hide_no_race(races, is_recorded):
    with machine(races=races):
        main, side = torch.cuda.current_stream(), torch.cuda.Stream()
        state = torch.zeros(4096, device="cuda")
        torch.cuda.synchronize()
        total = state.sum()
        with torch.cuda.stream(side):
            x = torch.empty(4096, device="cuda")
            if is_recorded:
                x.record_stream(main)
            del x
            kept = torch.empty(4096, device="cuda")
            assert kept.numel() == 4096
            if races == "error":
                with pytest.raises(RaceError) as caught:
                    state.fill_(5.0)
                assert "sum" in caught.value.accesses[1].operator
                return
            state.fill_(5.0)
        torch.cuda.synchronize()
        assert math.isnan(total.item()) or math.isnan(state[0].item())


def test_polls_for_pinned_batches_hide_no_race():
    side, found = torch.cuda.Stream(), 0
    for _ in range(6):
        batch = torch.ones(4096).pin_memory()
        with torch.cuda.stream(side):
            x = batch.to("cuda", non_blocking=True)
        del batch
        with pytest.raises(RaceError):
            x + 1
        found += 1
    assert found == 6


def test_a_host_read_before_the_end_of_a_copy_is_a_race():
    x = torch.ones(4, device="cuda")
    copied = x.to("cpu", non_blocking=True)
    with pytest.raises(RaceError) as caught:
        copied.tolist()
    newer, older = caught.value.accesses
    assert (newer.stream, newer.device, newer.verb, older.operator) == ("the host", None, "reads", "copy d2h")
    assert caught.value.missing == (("the host", "the default stream"),)
    torch.cuda.synchronize()
    assert copied.tolist() == [1.0] * 4


def test_a_pinned_source_may_not_be_written_in_flight():
    host = torch.ones(4).pin_memory()
    kept = host.to("cuda", non_blocking=True)
    assert host.tolist() == [1.0] * 4
    with pytest.raises(RaceError) as caught:
        host.fill_(2)
    assert caught.value.accesses[1].operator == "copy h2d"
    torch.cuda.current_stream().synchronize()
    assert host.fill_(2).tolist() == [2.0] * 4 and kept.tolist() == [1.0] * 4


def test_waiting_for_a_copy_makes_its_bytes_the_hosts():
    x = torch.ones(4, device="cuda")
    copied = x.to("cpu", non_blocking=True)
    assert copied.wait().tolist() == [1.0] * 4


def test_a_named_stream_is_told_by_its_name_everywhere():
    x = torch.ones(4, device="cuda")
    side, made = torch.cuda.Stream(name="copies"), line()
    assert side.name == "copies" and side.made_at == made
    with torch.cuda.stream(side), pytest.raises(RaceError) as caught:
        x + 1
    assert "on stream 'copies' at" in str(caught.value) and f"stream 'copies' was made at {made}" in str(caught.value)
    assert caught.value.missing == (("stream 'copies'", "the default stream"),)
    assert "stream 'copies'" in repr(side) and made in repr(side)


def test_a_name_is_one_stream_of_its_own():
    one, other = torch.cuda.Stream(name="one"), torch.cuda.Stream(name="other")
    assert torch.cuda.Stream(name="one") == one != other
    assert one not in [torch.cuda.Stream() for _ in range(32)]
    assert torch.cuda.Stream(1, name="one") != one
    with pytest.raises(torch.errors.ArgumentTypeError, match="Stream: name"):
        torch.cuda.Stream(name=3)

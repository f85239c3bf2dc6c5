"""What a race says to those who wrote the program: operators, lines, streams as they know them, and the way out."""

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
    assert hint.startswith(f"what {number} used was freed too early: call its record_stream with that stream, or,")


def test_streams_of_pinned_memory_name_their_device():
    host = torch.ones(4).pin_memory()
    kept = host.to("cuda", non_blocking=True)
    side = torch.cuda.Stream(1)
    with torch.cuda.stream(side), pytest.raises(RaceError) as caught:
        host.copy_(torch.zeros(4, device="cuda:1"), non_blocking=True)
    fact, _ = facts(caught)
    assert f"of pinned host memory on stream {side.cuda_stream} of device 1 at" in fact and kept.shape == (4,)
    assert "which reads them on the default stream of device 0 at" in fact

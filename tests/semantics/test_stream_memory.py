"""1.4.9 and 1.4.10: what the program orders between streams, and memory that two streams use."""

import pytest


@pytest.mark.rule("1.4.9", since="1.0")
@pytest.mark.virtual("every schedule is run")
@pytest.mark.parametrize(("ordered", "values"), [(False, {0.0, 7.0}), (True, {7.0})])
def test_the_program_orders_a_producer_before_its_consumer(torch, ordered, values):
    from flambeau.testing import machine
    from flambeau.testing.schedules import outcomes

    def handed_over(schedule):
        with machine(devices=1, races="real", schedule=schedule):
            x, s = torch.zeros(1, device="cuda"), torch.cuda.Stream()
            torch.cuda.synchronize()
            x.fill_(7.0)
            if ordered:
                s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                return (x + 0).item()

    assert outcomes(handed_over) == values


@pytest.mark.rule("1.4.9", since="1.0")
@pytest.mark.virtual("an order that is missing always shows")
@pytest.mark.parametrize("ordered", [False, True])
def test_the_program_orders_a_mere_reuse_of_memory(torch, ordered):
    """New memory may be memory that the allocating stream still works on: other streams wait before they write it."""
    s = torch.cuda.Stream()
    old = torch.ones(1 << 16, device="cuda")
    address = old.data_ptr()
    old.mul_(2)
    del old
    new = torch.empty(1 << 16, device="cuda")
    assert new.data_ptr() == address
    if ordered:
        s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        new.fill_(5.0)
        value = new[0].item()
    assert (value == 5.0) is ordered


@pytest.fixture
def lent(torch, latch):
    """Memory of the default stream that `s`, which is held, still reads when its tensor goes.

    Its address, `s`, what holds `s`, and what `s` made.
    """

    def lend(record: bool):
        torch.cuda.empty_cache()
        s, x = torch.cuda.Stream(), torch.full((12 << 20,), 5.0, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(s):
            held = latch()
            y = x[: 1 << 10] + 1
        if record:
            x.record_stream(s)
        return x.data_ptr(), s, held, y

    return lend


@pytest.mark.rule("1.4.10", since="1.0")
def test_a_recorded_block_is_not_used_again_before_the_stream_is_done(torch, lent):
    address, s, held, y = lent(record=True)
    other = torch.full((12 << 20,), 9.0, device="cuda")
    assert other.data_ptr() != address and not s.query()
    held.open()
    s.synchronize()
    again = torch.full((12 << 20,), 9.0, device="cuda")
    assert again.data_ptr() == address
    with torch.cuda.stream(s):
        assert y.tolist() == [6.0] * (1 << 10)


@pytest.mark.rule("1.4.10", since="1.0")
def test_without_a_record_the_block_is_used_again_at_once(torch, lent):
    address, s, held, y = lent(record=False)
    other = torch.empty(12 << 20, device="cuda")
    assert other.data_ptr() == address and not s.query()
    held.open()
    s.synchronize()
    del y


@pytest.mark.rule("1.4.10", since="1.0")
def test_recording_the_blocks_own_stream_changes_nothing(torch, latch):
    torch.cuda.empty_cache()
    x = torch.empty(12 << 20, device="cuda")
    address = x.data_ptr()
    latch()
    x.record_stream(torch.cuda.current_stream())
    del x
    assert torch.empty(12 << 20, device="cuda").data_ptr() == address


@pytest.mark.rule("1.4.10", since="1.0")
def test_recording_a_view_keeps_the_whole_block(torch, latch):
    torch.cuda.empty_cache()
    s, x = torch.cuda.Stream(), torch.empty(12 << 20, device="cuda")
    address = x.data_ptr()
    held = latch(s)
    x[5:9].record_stream(s)
    del x
    assert torch.empty(12 << 20, device="cuda").data_ptr() != address
    held.open()
    s.synchronize()

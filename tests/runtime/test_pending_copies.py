"""Waiting for one non_blocking copy to the host; reading too early.  Rows 1.9.7, 1.21.2, 1.21.3"""

import gc
import pickle
import re

import pytest

import flambeau as torch
from flambeau.core.queue import hooks
from flambeau.errors import EarlyAccessError
from flambeau.runtime.strict import unwatch
from flambeau.testing import machine


@pytest.fixture(autouse=True)
def hooks_as_they_were():
    yield
    unwatch()


@pytest.fixture
def gpus(monkeypatch):
    monkeypatch.delenv("FLAMBEAU_STRICT", raising=False)
    with machine(devices=2) as made:
        yield made


@pytest.fixture
def strict(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_STRICT", "1")
    with machine(devices=2) as made:
        yield made


def coming(value=3.0, device="cuda", count=4):
    """A tensor whose copy to the host is pending."""
    return torch.full((count,), value, device=device).to("cpu", non_blocking=True)


# waiting for one copy


def test_wait_gives_the_values_and_the_tensor(gpus):
    x = coming()
    assert x.tolist() != [3.0] * 4
    assert x.wait() is x and x.tolist() == [3.0] * 4


def test_wait_waits_for_its_copy_alone(latch):
    coming(4.0).wait()  # loads the kernel
    x = coming()
    held = latch()
    y = coming(5.0)
    assert x.wait().tolist() == [3.0] * 4
    assert not torch.cuda.current_stream().query() and y.tolist() != [5.0] * 4
    held.open_soon()
    assert y.wait().tolist() == [5.0] * 4 and torch.cuda.current_stream().query()


def test_parts_of_one_buffer_have_their_own_copies(latch):
    buffer = torch.zeros(8, pin_memory=True)
    buffer[:4].copy_(torch.full((4,), 1.0, device="cuda"), non_blocking=True)
    held = latch()
    buffer[4:].copy_(torch.full((4,), 2.0, device="cuda"), non_blocking=True)
    assert buffer[1:3].wait().tolist() == [1.0] * 2 and not torch.cuda.current_stream().query()
    held.open_soon()
    assert buffer.wait().tolist() == [1.0] * 4 + [2.0] * 4


@pytest.mark.parametrize(
    "make", [lambda: torch.zeros(3), lambda: torch.zeros(3, device="cuda"), lambda: torch.zeros(0)]
)
def test_wait_returns_at_once_where_nothing_comes(gpus, make, monkeypatch):
    x = make()
    monkeypatch.setattr(hooks, "on_wait", lambda *facts: pytest.fail(str(facts)))
    assert x.wait() is x
    torch.ones(3).pin_memory().cuda(non_blocking=True).wait()


def test_a_later_copy_of_the_same_stream_takes_the_place_of_earlier_ones(gpus):
    buffer, source = torch.zeros(4, pin_memory=True), torch.ones(4, device="cuda")
    for _ in range(50):
        buffer.copy_(source, non_blocking=True)
        buffer[1:].copy_(source[1:], non_blocking=True)
    assert len(buffer._storage.block.pending_copies) == 2


def test_copies_that_are_done_are_forgotten_when_there_are_many(gpus):
    buffer, source = torch.zeros(100, pin_memory=True), torch.ones(1, device="cuda")
    for index in range(100):
        buffer[index : index + 1].copy_(source, non_blocking=True)
        torch.cuda.synchronize()
    assert len(buffer._storage.block.pending_copies) <= 16 and buffer.tolist() == [1.0] * 100


def test_a_tensor_that_the_garbage_collector_frees_may_have_a_pending_copy(gpus):
    for _ in range(3):
        cycle = [coming()]
        cycle.append(cycle)
        del cycle
        gc.collect()
        assert torch.zeros(4, pin_memory=True).tolist() == [0.0] * 4
    torch.cuda.synchronize()
    assert coming(5.0).wait().tolist() == [5.0] * 4


def captured():
    """A buffer, the source copied into it, and a graph of the copy with work after it."""
    buffer, source, graph = torch.zeros(4, pin_memory=True), torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        buffer.copy_(source, non_blocking=True)
    assert buffer._storage.block.pending_copies == [] and buffer.wait() is buffer
    return buffer, source, graph


def test_what_a_graph_copies_is_waited_for_after_each_replay(latch):
    buffer, source, graph = captured()
    for value in (2.0, 3.0):
        source.fill_(value)
        graph.replay()
        held = latch()
        assert buffer.wait().tolist() == [value] * 4 and not torch.cuda.current_stream().query()
        held.open()


def test_what_it_costs(gpus):
    x, seen = torch.ones(4, device="cuda"), []
    hooks.on_record, hooks.on_copy, hooks.on_wait = (lambda *_, name=name: seen.append(name) for name in "rcw")
    for _ in range(3):
        x.to("cpu", non_blocking=True)
    assert seen == ["c", "r"] * 3, "an event when it is made, and none when it goes"


def test_the_memory_is_used_again_when_the_copy_is_done_and_not_before(latch):
    source = torch.ones(1 << 20, device="cuda")
    held = latch()
    x = source.to("cpu", non_blocking=True)
    first = x.data_ptr()
    del x
    assert torch.empty(1 << 20, pin_memory=True).data_ptr() != first, "it has not begun"
    y = source.to("cpu", non_blocking=True)
    second = y.data_ptr()
    held.open()
    held = latch()
    y.wait()
    del y
    assert torch.empty(1 << 20, pin_memory=True).data_ptr() == second, "though its stream has more to do"
    held.open()
    torch.cuda.synchronize()
    assert torch.empty(1 << 20, pin_memory=True).data_ptr() in (first, second)


# reading too early


READS = {
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "print": lambda x: str(x),
    "an operator": lambda x: x + 1,
    "a reduction": lambda x: x.sum(),
    "a product": lambda x: x @ x,
    "bool": lambda x: bool(x[1]),
    "iteration": lambda x: [float(each) for each in x],
    "comparison": lambda x: x.equal(x),
    "a copy on the host": lambda x: torch.zeros(4).copy_(x),
    "clone": lambda x: x.clone(),
    "another type": lambda x: x.half(),
    "an index": lambda x: x[torch.tensor([0, 1])],
    "dlpack": lambda x: x.__dlpack__(),
    "pickle": lambda x: pickle.dumps(x),
    "a write": lambda x: x.zero_(),
    "out=": lambda x: torch.add(torch.ones(4), 1, out=x),
    "sharing": lambda x: x.share_memory_(),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_before_the_wait_is_an_error_and_fine_after_it(strict, name):
    x = coming()
    with pytest.raises(EarlyAccessError, match="has not waited for the copy"):
        READS[name](x)
    READS[name](x.wait())


def test_the_error_names_both_lines(strict):
    x = torch.ones(4, device="cuda").to("cpu", non_blocking=True)
    with pytest.raises(EarlyAccessError) as caught:
        x.tolist()
    begins = test_the_error_names_both_lines.__code__.co_firstlineno
    found = [int(line) for line in re.findall(re.escape(__file__) + r":(\d+)", str(caught.value))]
    assert found == [begins + 3, begins + 1]
    assert str(caught.value).startswith("Tensor.tolist at ") and "\nhint: call wait() on the tensor" in str(
        caught.value
    )
    assert isinstance(caught.value, RuntimeError)


def through_another_stream():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    side.synchronize()


def through_an_event_and_a_stream():
    side = torch.cuda.Stream(1)
    side.wait_event(torch.cuda.current_stream().record_event())
    torch.cuda.synchronize(1)


def through_a_question():
    event = torch.cuda.current_stream().record_event()
    while not event.query():
        pass


def through_a_question_to_the_stream():
    while not torch.cuda.current_stream().query():
        pass


COVERING = {
    "the stream": lambda: torch.cuda.current_stream().synchronize(),
    "the device": lambda: torch.cuda.synchronize(),
    "an event": lambda: torch.cuda.current_stream().record_event().synchronize(),
    "a copy that waits": lambda: torch.ones(1, device="cuda").item(),
    "a stream that waited": through_another_stream,
    "an event and another device": through_an_event_and_a_stream,
    "an event that is done": through_a_question,
    "a stream that is done": through_a_question_to_the_stream,
}


@pytest.mark.parametrize("name", COVERING)
def test_a_wait_that_covers_the_copy_makes_it_readable(strict, name):
    x = coming()
    COVERING[name]()
    assert x.tolist() == [3.0] * 4


def after_an_earlier_event():
    event = torch.cuda.current_stream().record_event()
    x = coming()
    event.synchronize()
    return x


def after_another_stream():
    x = coming()
    torch.cuda.Stream().synchronize()
    return x


def after_another_device():
    x = coming()
    torch.cuda.synchronize(1)
    return x


def after_a_stream_that_waited_before():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    x = coming()
    side.synchronize()
    return x


@pytest.mark.parametrize(
    "made", [after_an_earlier_event, after_another_stream, after_another_device, after_a_stream_that_waited_before]
)
def test_a_wait_that_does_not_cover_the_copy_changes_nothing(strict, made):
    with pytest.raises(EarlyAccessError):
        made().tolist()


def test_what_a_replay_copies_is_refused_until_it_was_waited_for(strict):
    kept = buffer, _, graph = captured()
    assert buffer.tolist() == [0.0] * 4 and len(kept) == 3
    for _ in range(2):
        graph.replay()
        with pytest.raises(EarlyAccessError):
            buffer.tolist()
        assert buffer.wait().tolist() == [1.0] * 4


def test_a_source_that_is_written_before_its_copy_is_done(strict):
    source = torch.ones(4).pin_memory()
    made = source.cuda(non_blocking=True)
    assert source.tolist() == [1.0] * 4, "reading it is fine"
    for write in (lambda: source.zero_(), lambda: source.add_(1), lambda: torch.exp(torch.zeros(4), out=source)):
        with pytest.raises(
            EarlyAccessError, match="writes host memory that a non_blocking copy reads.*\nhint: synchron"
        ):
            write()
    torch.cuda.current_stream().synchronize()
    source.zero_()
    assert made.tolist() == [1.0] * 4


def test_a_source_that_a_graph_reads(strict):
    source, target, graph = torch.ones(4).pin_memory(), torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        target.copy_(source, non_blocking=True)
    source.fill_(2.0)
    graph.replay()
    with pytest.raises(EarlyAccessError):
        source.fill_(3.0)
    torch.cuda.synchronize()
    source.fill_(3.0)
    assert target.tolist() == [2.0] * 4


def test_only_the_bytes_that_come_are_refused(strict):
    buffer = torch.zeros(4, 3, pin_memory=True)
    buffer[1].copy_(torch.ones(3, device="cuda"), non_blocking=True)
    assert buffer[0].tolist() == [0.0] * 3 and buffer[::2].sum().item() == 0.0
    with pytest.raises(EarlyAccessError):
        buffer[:, 0].sum()
    with pytest.raises(EarlyAccessError):
        buffer[1, 2].item()
    assert buffer[1].wait().tolist() == [1.0] * 3 and buffer.sum().item() == 3.0


def test_memory_that_is_used_again_is_not_refused(strict):
    for _ in range(5):
        coming()
        torch.cuda.synchronize()
        assert torch.ones(4).pin_memory().tolist() == [1.0] * 4


def test_shapes_and_copies_to_a_device_need_no_wait(strict):
    x = coming()
    assert x.shape == (4,) and x.view(2, 2).is_pinned()
    assert x.cuda(non_blocking=True).tolist() == [3.0] * 4


def test_without_the_mode_nothing_is_watched(gpus):
    coming().tolist()
    assert gpus.strict is None

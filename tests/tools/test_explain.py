"""explain() reports the decisions of the copy itself.  Rows 1.21.1, 1.2.2, 1.2.3, 1.3.1, 1.9.6 to 1.9.9"""

import threading

import pytest

import flambeau as torch
from flambeau.core.queue import hooks
from flambeau.errors import ShapeError
from flambeau.testing import machine

STAGED = "the driver, which reads the source"
ITSELF = "itself"
CUDA0, CUDA1 = "the default stream of cuda:0", "the default stream of cuda:1"


@pytest.fixture(autouse=True)
def two_gpus():
    with machine(devices=2):
        yield


def made(place, dense=True):
    """A 2 by 2 tensor."""
    if place.startswith("cuda"):
        tensor = torch.arange(4.0, device=place).view(2, 2)
    else:
        tensor = torch.zeros(4, pin_memory=place == "pinned").copy_(torch.arange(4.0)).view(2, 2)
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    return tensor if dense else tensor.t()


def check(found, waits_for):
    assert (found.asynchronous, found.waits_for) == (not waits_for, waits_for)
    assert bool(found.hint) is (bool(waits_for) and waits_for != ITSELF) or "on the host" in str(found)
    assert found.reason in str(found) and all(step in str(found) for step in found.steps)


# to(): from, to, non_blocking, what the host waits for
TO = [
    ("pageable", "cuda:0", False, CUDA0),
    ("pageable", "cuda:0", True, STAGED),
    ("pinned", "cuda:0", False, CUDA0),
    ("pinned", "cuda:0", True, ""),
    ("cuda:0", "cpu", False, CUDA0),
    ("cuda:0", "cpu", True, ""),
    ("cuda:1", "cpu", False, CUDA1),
    ("cuda:0", "cuda:1", False, ""),
    ("cuda:0", "cuda:1", True, ""),
    ("cuda:0", "cuda:0", False, ""),
    ("pageable", "cpu", False, ""),
]


@pytest.mark.parametrize(("source", "target", "non_blocking", "waits_for"), TO)
def test_to_another_device(source, target, non_blocking, waits_for):
    x = made(source)
    found = torch.explain(lambda: x.to(target, non_blocking=non_blocking))
    check(found, waits_for)
    torch.cuda.synchronize(0)
    assert found.result.tolist() == [[0.0, 1.0], [2.0, 3.0]]


# to() with another type: the host converts only where the copy waits anyway
TO_HALF = [
    ("pageable", "cuda:0", False, CUDA0, "float32 becomes float16 on the host"),
    ("pageable", "cuda:0", True, STAGED, "float32 becomes float16 on cuda:0"),
    ("pinned", "cuda:0", False, CUDA0, "float32 becomes float16 on the host"),
    ("pinned", "cuda:0", True, "", "float32 becomes float16 on cuda:0"),
    ("cuda:0", "cpu", False, CUDA0, "float32 becomes float16 on cuda:0"),
    ("cuda:0", "cpu", True, "", "float32 becomes float16 on cuda:0"),
    ("cuda:0", "cuda:1", True, "", "float32 becomes float16 on cuda:0"),
    ("cuda:1", "cuda:1", False, "", "float32 becomes float16 on cuda:1"),
    ("pageable", "cpu", False, ITSELF, "float32 becomes float16 on the host"),
]


@pytest.mark.parametrize(("source", "target", "non_blocking", "waits_for", "step"), TO_HALF)
def test_to_another_type(source, target, non_blocking, waits_for, step):
    x = made(source)
    found = torch.explain(lambda: x.to(target, torch.float16, non_blocking=non_blocking))
    check(found, waits_for)
    assert step in found.steps
    torch.cuda.synchronize(0)
    assert found.result.tolist() == [[0.0, 1.0], [2.0, 3.0]] and found.result.dtype == torch.float16


# copy_(): target, source, non_blocking, what the host waits for
COPIES = [
    ("cuda:0", "pageable", False, CUDA0),
    ("cuda:0", "pageable", True, STAGED),
    ("cuda:0", "pinned", False, CUDA0),
    ("cuda:0", "pinned", True, ""),
    ("pageable", "cuda:0", False, CUDA0),
    ("pageable", "cuda:0", True, CUDA0),
    ("pinned", "cuda:0", False, CUDA0),
    ("pinned", "cuda:0", True, ""),
    ("cuda:0", "cuda:1", False, ""),
    ("cuda:0", "cuda:1", True, ""),
    ("cuda:0", "cuda:0", False, ""),
    ("pinned", "pageable", True, ITSELF),
]


@pytest.mark.parametrize(("target", "source", "non_blocking", "waits_for"), COPIES)
def test_copy(target, source, non_blocking, waits_for):
    y, x = made(target).zero_(), made(source)
    check(torch.explain(lambda: y.copy_(x, non_blocking=non_blocking)), waits_for)
    torch.cuda.synchronize(0)
    assert y.tolist() == [[0.0, 1.0], [2.0, 3.0]]


# copy_() where the source's, or the target's, layout has gaps: target, source, and what the host waits for
TRANSPOSED_SOURCE = [
    ("cuda:0", "pinned", STAGED, "the layout changes on the host"),
    ("cuda:0", "pageable", STAGED, "the layout changes on the host"),
    ("pinned", "cuda:0", "", "the layout changes on cuda:0"),
    ("pageable", "cuda:0", CUDA0, "the layout changes on cuda:0"),
    ("cuda:1", "cuda:0", "", "the layout changes on cuda:0"),
]
TRANSPOSED_TARGET = [
    ("cuda:0", "pinned", "", "the layout changes on cuda:0"),
    ("cuda:0", "pageable", STAGED, "the layout changes on cuda:0"),
    ("pinned", "cuda:0", CUDA0, "the layout changes on the host"),
    ("pageable", "cuda:0", CUDA0, "the layout changes on the host"),
    ("cuda:1", "cuda:0", "", "the layout changes on cuda:1"),
]


@pytest.mark.parametrize(("target", "source", "waits_for", "step"), TRANSPOSED_SOURCE)
def test_a_layout_that_changes_before_the_copy(target, source, waits_for, step):
    y, x = made(target).zero_(), made(source, dense=False)
    found = torch.explain(lambda: y.copy_(x, non_blocking=True))
    check(found, waits_for)
    assert step in found.steps
    torch.cuda.synchronize(0)
    assert y.tolist() == [[0.0, 2.0], [1.0, 3.0]]


@pytest.mark.parametrize(("target", "source", "waits_for", "step"), TRANSPOSED_TARGET)
def test_a_layout_that_changes_after_the_copy(target, source, waits_for, step):
    y, x = made(target).zero_().t(), made(source)
    found = torch.explain(lambda: y.copy_(x, non_blocking=True))
    check(found, waits_for)
    assert step in found.steps
    assert y.tolist() == [[0.0, 1.0], [2.0, 3.0]], "what is arranged on the host has arrived"


@pytest.mark.parametrize(("target", "source", "non_blocking", "waits_for"), COPIES)
def test_what_is_said_is_what_happens(target, source, non_blocking, waits_for):
    """Behind long work, only a copy that waits for a stream finds it done."""
    y, x = made(target), made(source)
    for index in range(2):
        with torch.cuda.device(index):
            torch.cuda._sleep(200_000_000)
    y.copy_(x, non_blocking=non_blocking)
    done = torch.cuda.current_stream(0).query()
    assert done is (waits_for == CUDA0)


def test_the_streams_that_take_part_are_named():
    side, other = torch.cuda.Stream(0), torch.cuda.Stream(1)
    x = made("cuda:0")
    with torch.cuda.stream(other), torch.cuda.stream(side):
        found = torch.explain(lambda: x.to("cuda:1"))
    this, that = (f"stream {each.cuda_stream} of cuda:{each.device_index}" for each in (side, other))
    assert found.steps == (
        f"16 bytes go from cuda:0 to cuda:1, directly, on {this}",
        f"{that} waits for the copy, which waited for its earlier work",
    )


def test_devices_that_cannot_reach_each_other(monkeypatch):
    x = made("cuda:0")
    monkeypatch.setattr(x._storage.device.machine.driver, "peer_can", lambda *_: False)
    found = torch.explain(lambda: x.to("cuda:1"))
    assert found.asynchronous and "staged in host memory by the driver" in found.steps[0]


@pytest.mark.parametrize(
    ("call", "waits_for", "reason"),
    [
        (lambda x: x[0, 0].item(), CUDA0, "reads the values"),
        (lambda x: x[x > 1], CUDA0, "reads the values"),
        (lambda x: x + x, "", "goes on"),
        (lambda x: torch.cuda.synchronize(1), "all streams of cuda:1", "a wait"),
        (lambda x: torch.cuda.Event().record(), "", "goes on"),
        (lambda x: torch.cuda.current_stream().record_event().synchronize(), "an event of cuda:0", "a wait"),
        (lambda x: torch.cuda.current_stream().synchronize(), CUDA0, "a wait"),
    ],
)
def test_other_calls(call, waits_for, reason):
    x = made("cuda:0")
    found = torch.explain(lambda: call(x))
    assert found.waits_for == waits_for and reason in found.reason


def test_a_size_that_depends_on_values_has_a_hint_of_its_own():
    x = made("cuda:0")
    sized = [
        lambda: x[x > 0], lambda: x.nonzero(), lambda: torch.argwhere(x), lambda: torch.unique(x), lambda: x.unique(),
        lambda: torch.masked_select(x, x > 0), lambda: x.unique_consecutive(),
        lambda: torch.repeat_interleave(torch.ones(2, dtype=torch.int64, device="cuda:0")),
    ]  # fmt: skip
    for number, call in enumerate(sized):
        found = torch.explain(call)
        assert found.waits_for == CUDA0 and "depends on values" in found.hint, number
    assert "read values less often" in torch.explain(lambda: x.flatten()[0].item()).hint


def test_launch_blocking_is_named(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with machine(devices=1):
        x = torch.ones(4, device="cuda")
        found = torch.explain(lambda: x + x)
    assert found.waits_for == CUDA0 and "CUDA_LAUNCH_BLOCKING=1" in found.reason and found.hint == "unset it"


def test_a_failing_call_leaves_no_trace():
    before = [getattr(hooks, name) for name in ("on_route", "on_convert", "on_launch", "on_wait")]
    with pytest.raises(ShapeError):
        torch.explain(lambda: torch.zeros(4).copy_(torch.zeros(5, device="cuda")))
    assert [getattr(hooks, name) for name in ("on_route", "on_convert", "on_launch", "on_wait")] == before


def test_what_other_threads_do_is_left_out():
    x = made("cuda:0")

    def call():
        thread = threading.Thread(target=lambda: x.cpu())
        thread.start()
        thread.join()

    found = torch.explain(call)
    assert found.asynchronous and found.steps == ()


def test_one_explanation_within_another():
    x = made("cuda:0")
    found = torch.explain(lambda: torch.explain(lambda: x.cpu()))
    assert not found.asynchronous and found.steps == found.result.steps


def test_the_text():
    x = made("pageable")
    assert str(torch.explain(lambda: x.to("cuda", non_blocking=True))).splitlines() == [
        "the host waits for the driver, which reads the source: the source is pageable: the driver reads it during the "
        "call, and may wait for earlier work of the stream",
        "  1. 16 bytes go from pageable memory, staged by the driver, to a device, on the default stream of cuda:0",
        "hint: pin the source: pin_memory(), or pin_memory=True where it is made",
    ]

"""Memory history and snapshots in PyTorch's layout (rows 1.8.28 and 1.8.29)."""

import gc
import pickle
import sys

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, OutOfMemoryError
from flambeau.memory import history
from flambeau.memory.allocator import CachingAllocator
from flambeau.memory.history import History

from .fake import FakeDriver

MIB = 1 << 20
memory = torch.cuda.memory


@pytest.fixture(autouse=True)
def stopped():
    yield
    history.record(None)


def entries(device=0):
    return memory._snapshot()["device_traces"][device]


def actions(device=0):
    return [each["action"] for each in entries(device)]


def line():
    return sys._getframe(1).f_lineno


def test_a_snapshot_has_the_fields_of_pytorch(new_gpus):
    memory._record_memory_history()
    x = torch.ones(1000, device="cuda")
    found = memory._snapshot()
    assert list(found) == ["segments", "device_traces", "allocator_settings", "external_annotations"]
    (segment,) = found["segments"]
    assert set(segment) == {
        "device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type",
        "segment_pool_id", "is_expandable", "frames", "blocks",
    }  # fmt: skip
    assert set(segment["blocks"][0]) == {"address", "size", "requested_size", "state", "frames"}
    assert set(segment["blocks"][0]["frames"][0]) == {"filename", "line", "name"}
    alloc = found["device_traces"][0][1]
    assert set(alloc) == {
        "action", "addr", "size", "stream", "time_us", "frames", "compile_context", "user_metadata", "pool_id",
    }  # fmt: skip
    assert (alloc["addr"], alloc["size"], alloc["stream"], alloc["pool_id"]) == (x.data_ptr(), 4000, 0, (0, 0))


def test_a_block_s_life_is_recorded_with_its_lines(new_gpus):
    memory._record_memory_history(stacks="line")
    x = torch.ones(1000, device="cuda"); made = line()  # fmt: skip  # noqa: E702
    del x; freed = line()  # fmt: skip  # noqa: E702
    found = entries()
    assert [each["action"] for each in found] == [
        "segment_alloc", "alloc", "free_requested", "free_completed", "snapshot",
    ]  # fmt: skip
    assert [each["frames"][0]["line"] for each in found[:4]] == [made, made, freed, freed]
    assert all(each["frames"][0]["filename"] == __file__ for each in found[:4])
    assert [each["time_us"] for each in found] == sorted(each["time_us"] for each in found)


def test_a_stack_goes_from_the_innermost_frame_to_the_outermost(new_gpus):
    memory._record_memory_history()
    x = torch.ones(1000, device="cuda")
    names = [frame["name"] for frame in memory._allocation_traceback(x.data_ptr())]
    here = sys._getframe().f_code.co_name
    assert "ones" in names[: names.index(here)]
    assert len(names) > names.index(here) + 5
    assert memory._allocation_traceback(x.data_ptr() + 512) is None


def test_a_block_that_another_stream_uses_completes_later(new_gpus):
    memory._record_memory_history(stacks="line")
    side = torch.cuda.Stream()
    x = torch.ones(1000, device="cuda")
    x.record_stream(side)
    del x
    assert actions() == ["segment_alloc", "alloc", "free_requested", "snapshot"]
    torch.cuda.synchronize()
    y = torch.ones(5, device="cuda")
    assert y.sum().item() == 5
    assert actions()[:6] == ["segment_alloc", "alloc", "free_requested", "snapshot", "free_completed", "alloc"]


def test_segments_go_and_failures_are_recorded(new_gpus):
    torch.cuda.set_per_process_memory_fraction(0.001)
    memory._record_memory_history(stacks="line")
    x = torch.ones(1000, device="cuda")
    del x
    torch.cuda.empty_cache()
    assert "segment_free" in actions()
    with pytest.raises(OutOfMemoryError):
        torch.empty(1 << 34, device="cuda")
    (failure,) = [each for each in entries() if each["action"] == "oom"]
    assert failure["size"] == 1 << 36 and failure["device_free"] > 0 and "addr" not in failure
    assert failure["frames"][0]["filename"] == __file__


@pytest.mark.devices(2)
def test_each_device_has_its_own_trace(new_gpus):
    memory._record_memory_history(stacks="line")
    x = torch.ones(1000, device="cuda:1")
    assert actions(0) == ["snapshot"]
    assert actions(1)[:2] == ["segment_alloc", "alloc"]
    assert x.device.index == 1


def test_the_latest_events_are_kept(new_gpus):
    memory._record_memory_history(stacks="line", max_entries=3, skip_actions=["snapshot"])
    kept = [torch.empty(size, device="cuda") for size in range(1, 9)]
    assert [each["size"] for each in entries()] == [24, 28, 32]
    assert history.recorder.is_full
    assert len(kept) == 8


def test_state_keeps_the_stacks_of_live_blocks_and_no_events(new_gpus):
    memory._record_memory_history("state")
    x = torch.ones(1000, device="cuda")
    found = memory._snapshot()
    assert not any(found["device_traces"])
    block = found["segments"][0]["blocks"][0]
    assert block["address"] == x.data_ptr()
    assert block["frames"] == memory._allocation_traceback(x.data_ptr())


@pytest.mark.parametrize("context, of_alloc, of_free", [(None, 0, 0), ("state", 0, 0), ("alloc", 1, 0), ("all", 1, 1)])
def test_context_says_which_stacks_are_kept(new_gpus, context, of_alloc, of_free):
    memory._record_memory_history(context=context, stacks="line")
    x = torch.ones(1000, device="cuda")
    assert (memory._allocation_traceback(x.data_ptr()) is None) == (context is None)
    del x
    _, alloc, free, *_ = entries()
    assert (len(alloc["frames"]), len(free["frames"])) == (of_alloc, of_free)


def test_actions_can_be_left_out(new_gpus):
    memory._record_memory_history(skip_actions=["free_requested", "segment_alloc", "snapshot"])
    x = torch.ones(1000, device="cuda")
    del x
    assert actions() == ["alloc", "free_completed"]


def test_a_new_recording_continues_or_clears(new_gpus):
    memory._record_memory_history(stacks="line")
    x = torch.ones(1000, device="cuda")
    memory._record_memory_history(stacks="python", skip_actions=["snapshot"])
    assert actions() == ["segment_alloc", "alloc"]
    assert memory._allocation_traceback(x.data_ptr())[0]["filename"] == __file__
    memory._record_memory_history(clear_history=True, skip_actions=["snapshot"])
    assert actions() == []
    memory._record_memory_history(None)
    assert not any(memory._snapshot()["device_traces"])


def test_metadata_is_attached(new_gpus):
    memory._record_memory_history(stacks="line")
    memory._set_memory_metadata("epoch 3")
    assert memory._get_memory_metadata() == "epoch 3"
    x = torch.ones(1000, device="cuda")
    memory._set_memory_metadata("")
    del x
    assert [each["user_metadata"] for each in entries()][:4] == ["epoch 3", "epoch 3", "", ""]


def test_memory_of_graphs_has_the_id_of_its_pool(new_gpus):
    memory._record_memory_history(stacks="line")
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(100, device="cuda")
    with torch.cuda.graph(graph):
        y = x + 1
    (alloc,) = [each for each in entries() if each["action"] == "alloc" and each["addr"] == y.data_ptr()]
    assert alloc["pool_id"] == graph.pool()


def test_a_dump_is_a_pickle_of_plain_objects(new_gpus, tmp_path):
    memory._record_memory_history()
    x = torch.ones(1000, device="cuda")
    path = tmp_path / "snapshot.pickle"
    memory._dump_snapshot(path)
    found = pickle.loads(path.read_bytes())
    assert found["segments"] == memory._snapshot()["segments"]
    assert list(tmp_path.iterdir()) == [path] and x.numel() == 1000


def test_a_dump_that_fails_leaves_the_former_file(new_gpus, tmp_path):
    path = tmp_path / "no" / "snapshot.pickle"
    with pytest.raises(FileNotFoundError):
        memory._dump_snapshot(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments, values",
    [
        ({"enabled": "some"}, ("enabled", "'some'", "'state'", "'all'")),
        ({"context": "none"}, ("context", "'none'", "'alloc'")),
        ({"stacks": "c++"}, ("stacks", "'c++'", "'line'")),
        ({"max_entries": 0}, ("max_entries", "0")),
        ({"skip_actions": ["frees"]}, ("skip_actions", "'frees'", "'oom'")),
    ],
)
def test_wrong_arguments_are_errors_and_change_nothing(new_gpus, arguments, values):
    with pytest.raises(ArgumentError) as caught:
        memory._record_memory_history(**arguments)
    assert all(value in str(caught.value) for value in ("_record_memory_history", *values))
    assert history.recorder is None


@pytest.mark.parametrize("stacks", ["line", "python"])
def test_an_event_takes_under_200_bytes(stacks):
    driver = FakeDriver()
    allocator = CachingAllocator(driver, 0, driver.record_event)
    kept = History(stacks=stacks)
    history.record(kept)
    for _ in range(100):
        allocator.free(allocator.allocate(1024, 1))
    events = [event for event in kept._events if event[0] in (history.ALLOC, history.FREE)]
    own = [sys.getsizeof(each) for event in events for each in (event, event[3], event[5])]
    assert len(events) == 200 and len(kept._stacks) <= 4
    assert (sum(own) + 200 * 8) / len(events) < 200


def test_a_finalizer_that_frees_is_recorded(new_gpus):
    memory._record_memory_history(stacks="line")

    class Holder:
        pass

    holder = Holder()
    holder.me, holder.tensor = holder, torch.ones(1000, device="cuda")
    del holder
    gc.collect()
    assert actions()[-3:] == ["free_requested", "free_completed", "snapshot"]

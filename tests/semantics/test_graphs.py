"""1.10 CUDA graphs: what a capture takes, what a replay does, whose memory it uses."""

import gc
import warnings

import pytest

MIB = 1 << 20


def captured(torch, work, **options):
    """A graph of `work`, and what that returned."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = work()
    return graph, result


def warm(torch, work):
    """Run `work` on a side stream, as a program does before a capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)


@pytest.mark.rule("1.10.1", since="1.10")
def test_a_capture_does_nothing_and_each_replay_all_of_it(torch):
    x = torch.zeros(4, device="cuda")
    graph, _ = captured(torch, lambda: x.add_(1).mul_(2))
    assert x.tolist() == [0.0] * 4
    for expected in (2.0, 6.0, 14.0):
        graph.replay()
        assert x.tolist() == [expected] * 4


@pytest.mark.rule("1.10.1", since="1.10")
def test_begin_and_end_by_hand(torch):
    x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        x.add_(3)
        graph.capture_end()
    graph.replay()
    assert x.tolist() == [3.0] * 4


@pytest.mark.rule("1.10.1", since="1.10")
def test_a_default_stream_cannot_be_captured(torch):
    graph, x = torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="default stream"):
        graph.capture_begin()
    assert not torch.cuda.is_current_stream_capturing() and (x + 1).tolist() == [2.0] * 4


@pytest.mark.rule("1.10.1", since="1.10")
def test_a_capture_ends_on_the_stream_where_it_began(torch):
    x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        graph.capture_begin()
        x.add_(1)
        with torch.cuda.stream(t), pytest.raises(RuntimeError, match="stream"):
            graph.capture_end()
        graph.capture_end()
    graph.replay()
    assert x.tolist() == [1.0] * 4


@pytest.mark.rule("1.10.1", since="1.10")
def test_without_a_finished_capture_there_is_nothing_to_replay(torch):
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError):
        graph.replay()
    with pytest.raises(RuntimeError):
        graph.pool()


@pytest.mark.rule("1.10.1", since="2.1")
def test_an_empty_graph_is_a_warning(torch):
    graph = torch.cuda.CUDAGraph()
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"), torch.cuda.graph(graph):
        pass
    graph.replay()


@pytest.mark.rule("1.10.1", since="1.10")
def test_a_graph_is_captured_again_after_a_reset_only(torch):
    x, s = torch.zeros(4, device="cuda"), torch.cuda.Stream()
    graph, _ = captured(torch, lambda: x.add_(1))
    with torch.cuda.stream(s), pytest.raises(RuntimeError, match="captured|owns"):
        graph.capture_begin()
    graph.reset()
    with torch.cuda.graph(graph):
        x.add_(10)
    graph.replay()
    assert x.tolist() == [10.0] * 4


@pytest.mark.rule("1.10.1", since="1.10")
def test_replays_go_to_any_stream(torch):
    x = torch.zeros(4, device="cuda")
    graph, _ = captured(torch, lambda: x.add_(1))
    for _ in range(3):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            graph.replay()
        torch.cuda.current_stream().wait_stream(side)
    assert x.tolist() == [3.0] * 4


@pytest.mark.rule("1.10.1", since="1.10", differs="later captures are on the device of the first")
@pytest.mark.devices(2)
def test_a_replay_goes_to_the_device_of_the_capture(torch):
    captured(torch, lambda: torch.ones(4, device="cuda"))
    with torch.cuda.device(1):
        x = torch.zeros(4, device="cuda")
        graph, _ = captured(torch, lambda: x.add_(1))
    assert torch.cuda.current_device() == 0
    graph.replay()
    torch.cuda.synchronize(1)
    assert x.tolist() == [1.0] * 4 and torch.cuda.current_device() == 0


@pytest.mark.rule("1.10.1", since="2.8")
def test_a_graph_that_is_kept_is_made_ready_when_asked_or_at_the_first_replay(torch):
    x = torch.zeros(4, device="cuda")
    for asked in (True, False):
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            x.add_(1)
        if asked:
            graph.instantiate()
            graph.instantiate()
        graph.replay()
    plain, _ = captured(torch, lambda: x.add_(1))
    with pytest.raises(RuntimeError, match="keep_graph"):
        plain.instantiate()
    assert x.tolist() == [2.0] * 4


@pytest.mark.rule("1.10.2", since="1.10")
def test_the_block_makes_a_stream_of_its_own_current_and_restores(torch):
    x, former = torch.zeros(4, device="cuda"), torch.cuda.current_stream()
    seen = []

    def work():
        x.add_(1)
        seen.append((torch.cuda.current_stream(), torch.cuda.is_current_stream_capturing()))

    captured(torch, work)
    captured(torch, work)
    (one, capturing), (other, _) = seen
    assert one == other != former and capturing
    assert torch.cuda.current_stream() == former and not torch.cuda.is_current_stream_capturing()


@pytest.mark.rule("1.10.2", since="1.10")
def test_the_block_captures_on_a_stream_that_it_is_given(torch):
    x, s = torch.zeros(4, device="cuda"), torch.cuda.Stream()
    graph, found = captured(torch, lambda: (x.add_(1), torch.cuda.current_stream())[1], stream=s)
    graph.replay()
    assert found == s and x.tolist() == [1.0] * 4


@pytest.mark.rule("1.10.2", since="1.10")
def test_the_block_restores_after_an_error(torch):
    x, former = torch.zeros(4, device="cuda"), torch.cuda.current_stream()
    with pytest.raises(KeyError), torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.add_(1)
        raise KeyError
    assert torch.cuda.current_stream() == former and not torch.cuda.is_current_stream_capturing()
    assert (x + 1).tolist() == [1.0] * 4


@pytest.mark.rule("1.10.2", since="1.10")
def test_the_block_waits_for_the_device_and_hands_idle_memory_back(torch, busy):
    x, s = torch.zeros(4, device="cuda"), torch.cuda.Stream()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    idle = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    del idle
    assert torch.cuda.memory_reserved() > before
    busy(s)
    captured(torch, lambda: x.add_(1))
    assert s.query() and torch.cuda.memory_reserved() <= before + 4 * MIB


@pytest.mark.rule("1.10.2", since="2.13", lacks_on_nvidia="the driver does not know whose memory a graph reads")
def test_an_input_that_is_gone_is_found_if_asked(torch):
    held = {"x": torch.ones(MIB, device="cuda")}
    graph, y = captured(torch, lambda: held["x"] + 1, check_input_liveness=True)
    graph.replay()
    assert y[3].item() == 2.0
    held.clear()
    gc.collect()
    with pytest.raises(RuntimeError):
        graph.replay()


@pytest.mark.rule("1.10.3", since="2.13")
def test_graphs_of_a_program_that_does_not_name_cuda(torch):
    x, graph = torch.zeros(4, device="cuda"), torch.accelerator.Graph()
    torch.cuda.synchronize()
    with torch.Stream("cuda"), graph:
        x.add_(1)
    for _ in range(2):
        graph.replay()
    assert x.tolist() == [2.0] * 4


@pytest.mark.rule("1.10.3", since="2.13")
def test_such_graphs_share_a_pool_that_they_are_made_with(torch):
    x = torch.zeros(4, device="cuda")
    graphs = [torch.accelerator.Graph(pool=torch.cuda.graph_pool_handle())]
    graphs.append(torch.accelerator.Graph(pool=graphs[0].graph_pool, capture_error_mode="thread_local"))
    torch.cuda.synchronize()
    for graph in graphs:
        with torch.Stream("cuda"), graph:
            x.add_(1)
    assert tuple(graphs[0].pool()) == tuple(graphs[1].pool()) == tuple(graphs[0].graph_pool)


MODES = """
import threading
x = torch.zeros(4, device="cuda")
done = torch.cuda.current_stream().record_event()
torch.cuda.synchronize()
found = []

def elsewhere():
    thread = threading.Thread(target=lambda: found.append(attempt(done.query)))
    thread.start()
    thread.join()

def capture():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="{}"):
        x.add_(1)
        elsewhere()
    graph.replay()
    return x.tolist()

answer(str(attempt(capture)).split(":")[0])
answer(str(found[0]).split(":")[0])
os._exit(0)
"""


@pytest.mark.rule("1.10.4", since="2.1")
@pytest.mark.parametrize("mode", ["thread_local", "relaxed"])
def test_other_threads_may_ask_about_events_unless_the_mode_is_global(program, mode):
    assert program(MODES.format(mode)) == ["[1.0, 1.0, 1.0, 1.0]", "True"]


@pytest.mark.rule("1.10.4", since="2.1")
def test_in_global_mode_a_call_of_another_thread_breaks_the_capture(program):
    assert program(MODES.format("global")) == ["RuntimeError", "RuntimeError"]


OWN = MODES.replace("        elsewhere()\n", "        found.append(attempt(done.query))\n")


@pytest.mark.rule("1.10.4", since="2.1")
@pytest.mark.parametrize(
    ("mode", "result"),
    [("global", "RuntimeError"), ("thread_local", "RuntimeError"), ("relaxed", "[1.0, 1.0, 1.0, 1.0]")],
)
def test_a_call_of_the_thread_that_captures_breaks_it_unless_the_mode_is_relaxed(program, mode, result):
    captured, asked = program(OWN.format(mode))
    assert (captured, asked) == (result, "True" if mode == "relaxed" else "RuntimeError")


@pytest.mark.rule("1.10.4", since="2.1")
def test_an_unknown_mode_is_an_error_and_nothing_is_captured(torch):
    with pytest.raises((RuntimeError, ValueError), match=r"[Uu]nknown capture error mode"):
        captured(torch, lambda: None, capture_error_mode="strict")
    assert not torch.cuda.is_current_stream_capturing()


TRAINING = """
def training(make):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).cuda()
    optimizer = make(net.parameters())
    x, y = torch.zeros(4, 8, device="cuda"), torch.zeros(4, 1, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return net, x, step

def losses(make, graphed):
    net, x, step = training(make)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    if graphed:
        with torch.cuda.graph(graph):
            loss = step()
    found = []
    for number in range(4):
        x.copy_(torch.full((4, 8), number / 4))
        if graphed:
            graph.replay()
        else:
            loss = step()
        found.append(loss.item())
    return found
"""
OPTIMIZERS = {
    "sgd": "torch.optim.SGD(params, lr=0.1, momentum=0.9)",
    "adam": "torch.optim.Adam(params, capturable=True)",
    "adamw": "torch.optim.AdamW(params, capturable=True)",
}


@pytest.mark.rule("1.10.5", since="2.0")
@pytest.mark.rule("1.10.14", since="2.0")
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_whole_training_step_is_captured_after_a_few_ordinary_ones(program, make):
    found = program(
        TRAINING
        + f"""
import warnings
warnings.simplefilter("ignore")
answer([losses(lambda params: {make}, graphed) for graphed in (False, True)])
"""
    )
    ((eager, graphed),) = found
    assert graphed == pytest.approx(eager, rel=1e-4) and len(set(eager)) == 4


@pytest.mark.rule("1.10.14", since="1.13")
@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
def test_an_optimizer_that_counts_on_the_host_refuses_to_be_captured(program, kind):
    found = program(
        TRAINING
        + f"answer(attempt(lambda: losses(lambda params: torch.optim.{kind}(params), True)).split(':')[0])\nos._exit(0)"
    )
    assert found == ["RuntimeError"]


@pytest.mark.rule("1.10.6", since="1.10")
def test_replays_read_and_write_the_memory_of_the_capture(torch):
    x = torch.ones(4, device="cuda")
    graph, y = captured(torch, lambda: x * 2)
    address = y.data_ptr()
    for value in (3.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [2 * value] * 4 and y.data_ptr() == address


@pytest.mark.rule("1.10.6", since="1.10")
def test_asking_whether_a_stream_captures_starts_nothing(program):
    found = program("answer([torch.cuda.is_current_stream_capturing(), torch.cuda.is_initialized()])")
    assert found == [[False, False]]


@pytest.mark.rule("1.10.8", since="1.10")
def test_what_the_host_does_is_done_once(torch):
    x, host = torch.ones(4, device="cuda"), []
    held = {"x": x}

    def work():
        host.append("ran")
        return held["x"] * (2 if len(host) == 1 else 100)

    graph, y = captured(torch, work)
    held["x"] = torch.full((4,), 50.0, device="cuda")
    host.append("more")
    graph.replay()
    assert y.tolist() == [2.0] * 4 and host == ["ran", "more"]


@pytest.mark.rule("1.10.16", since="2.0", differs="no file is written")
def test_a_graph_in_debug_mode_is_written_for_graphviz(torch, tmp_path):
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    (x * 2).add_(1)
    graph.enable_debug_mode()
    with torch.cuda.graph(graph):
        y = (x * 2).add_(1)
    with warnings.catch_warnings():  # PyTorch says that it does
        warnings.simplefilter("ignore")
        graph.debug_dump(str(tmp_path / "graph.dot"))
    text = (tmp_path / "graph.dot").read_text()
    assert "digraph" in text and "->" in text
    graph.replay()
    assert y.tolist() == [3.0] * 4


@pytest.mark.rule("1.10.16", since="2.0")
def test_without_it_there_is_a_warning_and_no_file(program, tmp_path):
    path = str(tmp_path / "graph.dot")
    found = program(f"""
import warnings
x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
x + 1
with torch.cuda.graph(graph):
    y = x + 1
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    graph.debug_dump({path!r})
answer([len(warned) > 0, os.path.exists({path!r})])
""")
    assert found == [[True, False]]


@pytest.mark.rule("1.10.16", since="2.8")
def test_other_libraries_get_a_graph_by_its_numbers(torch):
    x, kept, plain = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph(keep_graph=True), torch.cuda.CUDAGraph()
    x + 1
    for each in (kept, plain):
        with torch.cuda.graph(each):
            x + 1
    kept.instantiate()
    raw, ready = kept.raw_cuda_graph(), kept.raw_cuda_graph_exec()
    assert isinstance(raw, int) and isinstance(ready, int) and 0 < raw != ready > 0
    with pytest.raises(RuntimeError):
        plain.raw_cuda_graph()

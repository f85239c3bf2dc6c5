"""1.10.7 to 1.10.17: what a capture refuses, side streams, memory, random numbers, and parts of programs as graphs."""

import pytest

from .test_graphs import MIB, captured, warm

REFUSED = {
    "item": "x.sum().item()",
    "cpu": "x.cpu()",
    "nonzero": "x.nonzero()",
    "mask": "x[x > 0]",
    "stream": "torch.cuda.current_stream().synchronize()",
    "device": "torch.cuda.synchronize()",
    "unpinned": "x.copy_(torch.ones(4))",
    "another seed": "torch.cuda.manual_seed(torch.cuda.initial_seed() + 1)",
}
STATES = {"read": "torch.cuda.get_rng_state()", "set": "torch.cuda.set_rng_state(state)"}
CAPTURE = """
x, state = torch.ones(4, device="cuda"), torch.cuda.get_rng_state()
x.sum().item(), x.nonzero(), x[x > 0]
def capture():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.add_(1)
        {}
answer(str(attempt(capture)).split(":")[0])
os._exit(0)
"""


@pytest.mark.rule("1.10.7", since="2.1")
@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_a_replay_could_not_do_is_an_error(program, call):
    assert program(CAPTURE.format(call)) == ["RuntimeError"]


@pytest.mark.rule("1.10.7", since="2.1", differs="a state that is read or set in a capture is no error")
@pytest.mark.parametrize("call", STATES.values(), ids=STATES)
def test_nor_is_a_random_state_a_replay_s(program, call):
    assert program(CAPTURE.format(call)) == ["RuntimeError"]


@pytest.mark.rule("1.10.7", since="2.5")
def test_the_seed_that_there_is_may_be_set(torch):
    torch.cuda.manual_seed(5)
    x = torch.zeros(4, device="cuda")

    def work():
        torch.cuda.manual_seed(5)
        return x.add_(1)

    graph, _ = captured(torch, work)
    graph.replay()
    assert x.tolist() == [1.0] * 4


@pytest.mark.rule("1.10.7", since="2.1")
def test_pinned_memory_is_copied_at_each_replay(torch):
    source, x = torch.arange(4.0).pin_memory(), torch.zeros(4, device="cuda")

    def work():
        x.copy_(source, non_blocking=True)
        return (x * 2).to("cpu", non_blocking=True)

    graph, back = captured(torch, work)
    for factor in (1, 10):
        source.mul_(factor)
        graph.replay()
        torch.cuda.synchronize()
        assert back.tolist() == [2.0 * factor * each for each in range(4)]


@pytest.mark.rule("1.10.9", since="1.10")
def test_a_stream_that_waits_for_a_capturing_one_takes_part(torch):
    x, side = torch.ones(1000, device="cuda"), torch.cuda.Stream()

    def work():
        main = torch.cuda.current_stream()
        y = x * 2
        side.wait_stream(main)
        with torch.cuda.stream(side):
            z = y + 5
            assert torch.cuda.is_current_stream_capturing()
        y = y * y
        main.wait_stream(side)
        return y + z

    graph, found = captured(torch, work)
    assert side.query(), "it takes part no longer"
    for value in (1.0, 3.0):
        x.fill_(value)
        graph.replay()
        assert found.tolist() == [4 * value * value + 2 * value + 5] * 1000


@pytest.mark.rule("1.10.9", since="1.10")
def test_a_stream_that_took_part_must_come_back(program):
    found = program("""
x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
def capture():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.add_(1)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.add_(1)
answer(attempt(capture).split(":")[0])
os._exit(0)
""")
    assert found == ["RuntimeError"]


@pytest.mark.rule("1.10.10", since="1.10")
def test_a_graphs_memory_goes_back_when_the_graph_and_its_results_are_gone(torch):
    x = torch.ones(16 * MIB, device="cuda")
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    graph, y = captured(torch, lambda: x + 1)
    assert torch.cuda.memory_reserved() >= before + 64 * MIB
    graph.replay()
    torch.cuda.synchronize()
    del graph
    torch.cuda.empty_cache()
    assert y[7].item() == 2.0 and torch.cuda.memory_reserved() >= before + 64 * MIB
    del y
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < before + 64 * MIB


@pytest.mark.rule("1.10.10", since="1.10")
def test_graphs_of_one_pool_share_memory_and_others_do_not(torch):
    x = torch.ones(16 * MIB, device="cuda")

    def work():
        return ((x + 1) * 2).sum()

    def grown(**options):
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved()
        kept.append(captured(torch, work, **options))
        return torch.cuda.memory_reserved() - before

    kept = []
    warm(torch, work)
    pool = torch.cuda.graph_pool_handle()
    first, shared, apart = grown(pool=pool), grown(pool=pool), grown()
    assert first >= 64 * MIB and shared < 64 * MIB <= apart
    one, other, third = (graph for graph, _ in kept)
    assert tuple(one.pool()) == tuple(other.pool()) == tuple(pool) != tuple(third.pool())
    for graph, result in kept:
        graph.replay()
        assert result.item() == 4.0 * 16 * MIB


@pytest.mark.rule("1.10.11", since="1.10")
def test_a_block_that_another_stream_used_is_not_used_again_in_the_capture(torch):
    side, seen = torch.cuda.Stream(), []

    def work():
        main = torch.cuda.current_stream()
        x = torch.ones(MIB, device="cuda")
        seen.append(x.data_ptr())
        side.wait_stream(main)
        with torch.cuda.stream(side):
            y = x * 2
        x.record_stream(side)
        del x
        seen.append(torch.empty(MIB, device="cuda").data_ptr())
        main.wait_stream(side)
        return y

    graph, y = captured(torch, work)
    graph.replay()
    assert seen[0] != seen[1] and y[9].item() == 2.0


@pytest.mark.rule("1.10.11", since="2.1")
def test_running_out_of_memory_does_not_break_the_capture(torch):
    x = torch.zeros(4, device="cuda")

    def work():
        with pytest.raises(torch.cuda.OutOfMemoryError):
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        x.add_(1)

    graph, _ = captured(torch, work)
    graph.replay()
    assert x.tolist() == [1.0] * 4


@pytest.mark.rule("1.10.12", since="1.10")
def test_replays_and_calls_draw_one_sequence_and_a_seed_counts_for_later_replays(torch):
    def draw():
        return torch.rand(7, device="cuda"), torch.randn(5, device="cuda")

    torch.cuda.manual_seed(5)
    expected = [[each.tolist() for each in draw()] for _ in range(4)]
    torch.cuda.manual_seed(1)
    graph, made = captured(torch, draw)
    torch.cuda.synchronize()  # PyTorch's captures set the seed on their own stream, to which replays are not ordered
    for _ in range(2):
        torch.cuda.manual_seed(5)
        found = []
        for number in range(4):
            if number % 2:
                found.append([each.tolist() for each in draw()])
            else:
                graph.replay()
                found.append([each.tolist() for each in made])
        assert found == expected


@pytest.mark.rule("1.10.12", since="2.5")
def test_a_generator_of_the_programs_own(torch):
    own = torch.Generator("cuda").manual_seed(7)
    expected = [torch.rand(6, device="cuda", generator=own).tolist() for _ in range(3)]
    own.manual_seed(7)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(own)
    with torch.cuda.graph(graph):
        x = torch.rand(6, device="cuda", generator=own)
    torch.cuda.synchronize()  # as above
    found = []
    for _ in range(3):
        graph.replay()
        found.append(x.tolist())
    assert found == expected


def linear(torch):
    torch.manual_seed(3)
    return torch.nn.Linear(4, 2).cuda()


@pytest.mark.rule("1.10.13", since="1.10")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_module_as_graphs_computes_and_learns_as_it_did(torch):
    def trained(graphed):
        net, x = linear(torch), torch.full((3, 4), 0.5, device="cuda")
        if graphed:
            net = torch.cuda.make_graphed_callables(net, (x.clone(),))
        found = []
        for number in range(3):
            net.zero_grad()
            loss = (net(x + number) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for each in net.parameters():
                    each.sub_(each.grad, alpha=0.1)
            found.append(loss.item())
        return found

    assert trained(True) == pytest.approx(trained(False), rel=1e-5)


@pytest.mark.rule("1.10.13", since="1.10")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_lie_in_one_place_while_training_is_what_it_was(torch):
    net, x = linear(torch), torch.ones(3, 4, device="cuda")
    net = torch.cuda.make_graphed_callables(net, (x.clone(),))
    one, other = net(x), net(x)
    assert one.data_ptr() == other.data_ptr()
    net.eval()
    one, other = net(x), net(x)
    assert one.data_ptr() != other.data_ptr()


@pytest.mark.rule("1.10.13", since="1.10")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_functions_become_graphs_together_and_share_a_pool(torch):
    x = torch.ones(4, device="cuda", requires_grad=True)
    double, shift = torch.cuda.make_graphed_callables(
        (lambda each: each * 2, lambda each: each + 3), ((x.detach().clone().requires_grad_(),),) * 2
    )
    y = shift(double(x))
    y.sum().backward()
    assert y.tolist() == [5.0] * 4 and x.grad.tolist() == [2.0] * 4


@pytest.mark.rule("1.10.13", since="1.10")
def test_a_module_with_hooks_cannot_become_graphs(torch):
    net = linear(torch)
    net.register_forward_hook(lambda *_: None)
    with pytest.raises((RuntimeError, ValueError, AssertionError), match="hooks"):
        torch.cuda.make_graphed_callables(net, (torch.ones(3, 4, device="cuda"),))


@pytest.mark.rule("1.10.17", since="2.8")
def test_an_external_event_says_when_a_point_within_a_graph_is_reached(torch, latch):
    event, x = torch.cuda.Event(external=True), torch.zeros(4, device="cuda")

    def work():
        x.add_(1)
        event.record()
        return latch()

    graph, held = captured(torch, work)
    torch.cuda.synchronize()
    graph.replay()
    event.synchronize()
    assert not torch.cuda.current_stream().query(), "the rest of the graph goes on"
    held.open()
    torch.cuda.synchronize()
    assert x.tolist() == [1.0] * 4

"""CUDA graphs.  Rows 1.10 of the semantics."""

import gc
import re
import threading
import warnings

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import AcceleratorError, AccessError, ArgumentError, ArgumentTypeError, RaceError
from flambeau.runtime.strict import unwatch
from flambeau.testing import machine

from ..conftest import ON_HARDWARE

RANDOM_STATES = 512  # bytes that every graph has outside its pool
virtual = pytest.mark.skipif(ON_HARDWARE, reason="what only virtual GPUs can tell")


def captured(work, **options):
    """Capture `work`; return the graph and the result of `work`."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = work()
    return graph, result


def begun(graph, work):
    """Capture `work` by hand on a side stream, which is current while it runs."""
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        try:
            return work()
        finally:
            graph.capture_end()


def warm(work):
    """Run `work` once on a side stream, as a program does before a capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)


class TestReplay:
    def test_a_capture_does_nothing_and_a_replay_all_of_it(self, gpus):
        x, total = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
        graph, y = captured(lambda: total.add_(x * 3))
        assert total.sum().item() == 0
        for replays in (1, 2, 3):
            graph.replay()
            assert (total == 3 * replays).all().item()
        x.fill_(-1)
        graph.replay()
        assert y is total and (total == 6).all().item()

    def test_results_lie_where_they_lay(self, gpus):
        x = torch.zeros(100, device="cuda")
        graph, y = captured(lambda: (x + 1).exp().sum(0))
        for value in (0.0, 1.0, -2.0):
            x.fill_(value)
            graph.replay()
            assert y.item() == (x + 1).exp().sum(0).item()

    def test_a_chain_of_launches(self, gpus):
        x = torch.ones(10, device="cuda")

        def work():
            y = x
            for _ in range(20):
                y = y * 1.5
            return y

        graph, y = captured(work)
        graph.replay()
        assert y.tolist() == work().tolist()

    def test_a_matrix_product_takes_its_workspace_from_the_pool(self, gpus):
        a = torch.randn(16, 1 << 16, device="cuda")  # many terms for each of few results, so that they are split
        graph, b = captured(lambda: a @ a.t())
        graph.replay()
        assert torch.equal(b, a @ a.t())

    def test_replays_on_any_stream(self, gpus):
        total = torch.zeros(100, device="cuda")
        graph, _ = captured(lambda: total.add_(1))
        side = torch.cuda.Stream()
        for stream in (side, torch.cuda.current_stream(), side):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                graph.replay()
            torch.cuda.current_stream().wait_stream(stream)
        assert (total == 3).all().item()

    @pytest.mark.devices(2)
    def test_a_replay_goes_to_the_device_of_the_capture(self, gpus):
        with torch.cuda.device(1):
            total = torch.zeros(10, device="cuda")
            graph, _ = captured(lambda: total.add_(1))
        graph.replay()
        torch.cuda.synchronize(1)
        assert total.tolist() == [1.0] * 10 and torch.cuda.current_device() == 0

    def test_side_streams_join_and_come_back(self, gpus):
        x = torch.ones(1000, device="cuda")
        side = torch.cuda.Stream()

        def work():
            main = torch.cuda.current_stream()
            a = x * 2
            side.wait_stream(main)
            with torch.cuda.stream(side):
                b = a + 5
                assert torch.cuda.is_current_stream_capturing()
            c = a * a
            main.wait_stream(side)
            return b + c

        graph, y = captured(work)
        for value in (1.0, 3.0):
            x.fill_(value)
            graph.replay()
            assert (y == 2 * value + 5 + 4 * value * value).all().item()

    def test_pinned_copies_are_captured_and_their_memory_is_kept(self, gpus):
        source = torch.arange(8).float().pin_memory()
        x = torch.zeros(8, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x.copy_(source, non_blocking=True)
            back = (x * 2).to("cpu", non_blocking=True)
        for factor in (1, 10):
            source.mul_(factor)
            graph.replay()
            torch.cuda.synchronize()
            assert back.tolist() == (source * 2).tolist()
        del source
        torch.ones(8).pin_memory()  # may not take the memory that the graph reads
        graph.replay()
        torch.cuda.synchronize()
        assert back.tolist() == [20.0 * each for each in range(8)]

    def test_kept_memory_outlives_the_replays_that_read_it(self, gpus):
        sources = [torch.ones(1 << 20).pin_memory()]
        x = torch.zeros(1 << 20, device="cuda")
        graph, _ = captured(lambda: x.copy_(sources[0], non_blocking=True))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            graph.replay()
        sources.clear()
        del graph
        torch.zeros(1 << 20).pin_memory().fill_(7)
        torch.cuda.synchronize()
        assert (x == 1).all().item()

    @pytest.mark.devices(2)
    def test_a_capture_reaches_other_devices(self, gpus):
        x = torch.ones(1000, device="cuda:0")
        there = torch.cuda.Stream("cuda:1")

        def work():
            there.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(there), torch.cuda.device(0):
                y = x.to("cuda:1") + 1
                return y.to("cuda:0") * 2

        warm(work)
        graph, z = captured(work)
        for value in (1.0, 5.0):
            x.fill_(value)
            graph.replay()
            assert (z == 2 * value + 2).all().item()
        before = torch.cuda.memory_reserved(1)
        graph.reset()
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved(1) < before

    def test_keep_graph_instantiates_late_and_again(self, gpus):
        total = torch.zeros(1, device="cuda")
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            total.add_(1)
        graph.replay()
        graph.instantiate()
        graph.replay()
        assert total.item() == 2
        other, _ = captured(lambda: total.add_(1))
        with pytest.raises(AcceleratorError, match="instantiate: .* keep_graph=True"):
            other.instantiate()

    def test_a_reset_graph_captures_again(self, gpus):
        total = torch.zeros(1, device="cuda")
        graph, _ = captured(lambda: total.add_(1))
        graph.reset()
        with pytest.raises(AcceleratorError, match="replay: there is no finished capture"):
            graph.replay()
        with torch.cuda.graph(graph):
            total.add_(10)
        graph.replay()
        assert total.item() == 10


class TestTraining:
    def make(self):
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.25), nn.LayerNorm(32), nn.Linear(32, 4)).cuda()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        batches = [(torch.randn(8, 16), torch.randint(0, 4, (8,))) for _ in range(6)]
        return net, optimizer, [(x.cuda(), y.cuda()) for x, y in batches]

    def step(self, net, optimizer, x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    def eager(self):
        net, optimizer, batches = self.make()
        torch.manual_seed(11)
        losses = [self.step(net, optimizer, x, y).item() for x, y in (batches[0], *batches)]
        return losses[1:], [each.tolist() for each in net.parameters()]

    def graphed(self):
        net, optimizer, batches = self.make()
        x, y = (each.clone() for each in batches[0])
        torch.manual_seed(11)
        warm(lambda: self.step(net, optimizer, x, y))
        optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.step(net, optimizer, x, y)
        losses = []
        for inputs, targets in batches:
            x.copy_(inputs)
            y.copy_(targets)
            graph.replay()
            losses.append(loss.item())
        return losses, [each.tolist() for each in net.parameters()]

    def test_replayed_steps_equal_eager_ones_bit_for_bit(self, gpus):
        assert self.graphed() == self.eager()

    @virtual
    @pytest.mark.parametrize("schedule", ["submission", "seeded:1", "seeded:2", "delay:0", "delay:1", "delay:2"])
    def test_under_every_kind_of_schedule(self, schedule):
        with machine(schedule=schedule, races="real"):
            found = self.graphed()
        with machine():
            assert found == self.eager()

    @virtual
    def test_nothing_races(self):
        with machine(races="error"):
            self.graphed()

    def test_a_step_count_on_the_host_is_refused(self, gpus):
        net = nn.Linear(2, 2).cuda()
        optimizer = torch.optim.AdamW(net.parameters())

        def step():
            net(torch.ones(1, 2, device="cuda")).sum().backward()
            optimizer.step()

        warm(step)
        with pytest.raises(AcceleratorError, match="AdamW.step: cannot be captured: steps are counted on the host"):
            captured(step)
        step()

    def test_momentum_must_be_there_before(self, gpus):
        net = nn.Linear(2, 2).cuda()
        optimizer = torch.optim.SGD(net.parameters(), momentum=0.9)

        def step():
            net(torch.ones(1, 2, device="cuda")).sum().backward()
            optimizer.step()

        with pytest.raises(AcceleratorError, match="SGD.step: cannot be captured: every replay would"):
            captured(step)


class TestRandom:
    def test_replays_and_calls_draw_one_sequence(self, gpus):
        x = torch.ones(1000, device="cuda")

        def draw():
            return torch.rand(7, device="cuda"), nn.functional.dropout(x, 0.5), torch.randn(5, device="cuda")

        torch.manual_seed(5)
        expected = [[each.tolist() for each in draw()] for _ in range(5)]
        torch.manual_seed(1)
        graph, made = captured(draw)
        torch.manual_seed(5)
        found = []
        for index in range(5):
            if index % 2:
                found.append([each.tolist() for each in draw()])
            else:
                graph.replay()
                found.append([each.tolist() for each in made])
        assert found == expected

    def test_a_capture_draws_nothing(self, gpus):
        torch.manual_seed(2)
        before = torch.cuda.get_rng_state().tolist()
        graph, _ = captured(lambda: torch.rand(100, device="cuda"))
        assert torch.cuda.get_rng_state().tolist() == before
        graph.replay()
        assert torch.cuda.get_rng_state().tolist() != before

    def test_two_generators(self, gpus):
        own = torch.Generator("cuda").manual_seed(9)
        graph, made = captured(lambda: (torch.rand(4, device="cuda", generator=own), torch.rand(4, device="cuda")))
        for _ in range(2):
            own.manual_seed(9)
            torch.manual_seed(4)
            graph.replay()
            found = [each.tolist() for each in made]
            torch.manual_seed(4)
            own.manual_seed(9)
            assert found[0] == torch.rand(4, device="cuda", generator=own).tolist()
            assert found[1] == torch.rand(4, device="cuda").tolist()

    def test_more_generators_than_there_are_states(self, gpus):
        many = [torch.Generator("cuda") for _ in range(33)]
        with pytest.raises(ArgumentError, match="32 generators are registered"):
            captured(lambda: [torch.rand(1, device="cuda", generator=each) for each in many])

    def test_threads_outside_draw_as_ever(self, gpus):
        torch.manual_seed(8)
        expected = torch.rand(4, device="cuda").tolist()
        drawn = []

        def work():
            thread = threading.Thread(target=lambda: drawn.append(torch.rand(4, device="cuda")))
            thread.start()
            thread.join()
            return torch.rand(4, device="cuda")

        torch.manual_seed(8)
        graph, made = captured(work)
        assert drawn[0].tolist() == expected
        torch.manual_seed(8)
        graph.replay()
        assert made.tolist() == expected

    def test_large_seeds(self, gpus):
        graph, made = captured(lambda: torch.rand(4, device="cuda"))
        for seed in (-1, (1 << 63) + 5):
            torch.manual_seed(seed)
            graph.replay()
            found = made.tolist()
            torch.manual_seed(seed)
            assert found == torch.rand(4, device="cuda").tolist()

    def test_the_state_is_not_touched_in_a_capture(self, gpus):
        torch.manual_seed(6)
        for call in (
            torch.cuda.get_rng_state,
            lambda: torch.manual_seed(7),
            lambda: torch.cuda.set_rng_state(torch.zeros(16, dtype=torch.uint8)),
        ):
            with pytest.raises(AcceleratorError, match="cannot be read or set during a capture"):
                captured(call)
        captured(lambda: (torch.cuda.manual_seed(6), torch.rand(1, device="cuda")))


class TestMemory:
    def figures(self):
        gc.collect()
        torch.cuda.empty_cache()
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()

    def test_a_reset_graph_leaves_nothing_behind(self, gpus):
        x = torch.ones(1 << 20, device="cuda")
        before = self.figures()
        graph, y = captured(lambda: (x * 2 + 1).sqrt() @ x)
        graph.replay()
        torch.cuda.synchronize()
        assert self.figures()[1] > before[1]
        graph.reset()
        assert y.item() == pytest.approx(3**0.5 * (1 << 20), rel=1e-3)  # results outlive their graph
        del y
        assert self.figures() == before
        assert {key: n for key, n in torch.cuda.memory_stats().items() if n < 0} == {"max_split_size": -1}

    def test_a_deleted_graph_leaves_nothing_behind(self, gpus):
        before = self.figures()
        graph, y = captured(lambda: torch.ones(1 << 20, device="cuda") * 2)
        del graph, y
        assert self.figures() == before

    def test_a_broken_capture_leaves_nothing_behind(self, gpus):
        before = self.figures()
        with pytest.raises(ZeroDivisionError):
            captured(lambda: torch.ones(1 << 20, device="cuda") / 0 / (1 // 0))
        assert self.figures() == before

    def test_temporaries_share_memory_within_a_capture(self, gpus):
        x = torch.ones(1 << 20, device="cuda")

        def work():
            y = x
            for _ in range(50):
                y = y + 1
            return y

        before = torch.cuda.memory_reserved()
        graph, y = captured(work)
        assert torch.cuda.memory_reserved() - before <= 3 * (20 << 20)
        graph.replay()
        assert (y == 51).all().item()

    def test_two_graphs_of_one_pool_share_its_memory(self, gpus):
        x = torch.ones(1 << 21, device="cuda")

        def work():
            return ((x * 2) + 1).sum()

        first, one = captured(work)
        reserved = torch.cuda.memory_reserved()
        second, two = captured(work, pool=first.pool())
        assert torch.cuda.memory_reserved() == reserved and second.pool() == first.pool()
        for value in (1.0, 4.0):
            x.fill_(value)
            first.replay()
            second.replay()
            assert one.item() == two.item() == (2 * value + 1) * (1 << 21)
        first.reset()
        second.replay()
        assert two.item() == 9.0 * (1 << 21)

    def test_a_shared_pool_lets_one_graph_overwrite_the_other_s_results(self, gpus):
        """Shows why replays must keep the order of the captures."""
        x = torch.ones(1 << 20, device="cuda")
        first, one = captured(lambda: (x + 1).sqrt().sum())  # x + 1 and its root are free again at the end
        second, two = captured(lambda: x * 3, pool=first.pool())
        first.replay()
        second.replay()
        assert (two == 3).all().item()
        first.replay()
        assert not (two == 3).any().item()
        second.replay()
        assert (two == 3).all().item() and one.item() == pytest.approx(2**0.5 * (1 << 20), rel=1e-5)

    def test_what_is_freed_outside_is_not_used_inside(self, gpus):
        """A graph's own memory is no other tensor's, before, between and after replays."""
        x = torch.ones(1000, device="cuda")
        graph, y = captured(lambda: (x * 2).exp() + x)
        others = [torch.full((1000,), float(index), device="cuda") for index in range(8)]
        graph.replay()
        torch.cuda.synchronize()
        assert [each[0].item() for each in others] == [float(index) for index in range(8)]
        assert y[0].item() == pytest.approx(8.389056)

    def test_blocks_that_other_streams_used_come_back_after_the_capture(self, gpus):
        side = torch.cuda.Stream()
        x = torch.ones(1 << 20, device="cuda")
        shared = torch.ones(1 << 20, device="cuda")
        shared.record_stream(side)

        def work():
            nonlocal shared
            shared = None
            return x + 1

        before = torch.cuda.memory_allocated()
        graph, y = captured(work)
        torch.cuda.synchronize()
        assert torch.cuda.memory_allocated() == before + RANDOM_STATES  # one gone, one new: y
        graph.replay()
        assert (y == 2).all().item()

    @virtual
    def test_an_input_that_was_freed_is_found(self):
        with machine():
            held = [torch.ones(100, device="cuda")]
            graph, _ = captured(lambda: held[0] * 2)
            graph.replay()
            held.clear()
            torch.zeros(100, device="cuda")
            with pytest.raises(AccessError, match=r"graph_launch: .*, captured at .*test_graph.py:\d+"):
                graph.replay()


@virtual
class TestRaces:
    def test_a_result_is_read_after_its_replay(self):
        with machine(races="error"):
            x = torch.ones(100, device="cuda")
            graph, y = captured(lambda: x * 2)
            side = torch.cuda.Stream()
            graph.replay()
            with torch.cuda.stream(side), pytest.raises(RaceError, match=r"mul.*at .*test_graph.py:\d+"):
                y + 1
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                assert (y + 1).tolist() == [3.0] * 100

    def test_an_input_is_refreshed_before_its_replay_and_not_during_one(self):
        with machine(races="error"):
            x = torch.ones(100, device="cuda")
            graph, y = captured(lambda: x * 2)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                x.fill_(5)
            with pytest.raises(RaceError, match=r"nothing orders this after (\w+ or )*fill"):
                graph.replay()
            torch.cuda.current_stream().wait_stream(side)
            graph.replay()
            assert y.tolist() == [10.0] * 100
            graph.replay()
            with torch.cuda.stream(side), pytest.raises(RaceError, match="nothing orders this after"):
                x.fill_(6)


class TestErrors:
    def test_the_default_stream(self, gpus):
        graph = torch.cuda.CUDAGraph()
        with pytest.raises(AcceleratorError, match="CUDA graphs must be captured on a non-default stream"):
            graph.capture_begin()
        graph.capture_begin  # noqa: B018 (it is as new)
        begun(graph, lambda: torch.ones(1, device="cuda"))
        graph.replay()

    def test_unknown_modes(self, gpus):
        with pytest.raises(ArgumentError, match="unknown capture error mode 'strict'"):
            torch.cuda.CUDAGraph().capture_begin(capture_error_mode="strict")

    @pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
    def test_known_modes(self, gpus, mode):
        graph, y = captured(lambda: torch.ones(3, device="cuda"), capture_error_mode=mode)
        graph.replay()
        assert y.tolist() == [1.0] * 3

    def test_nothing_captured(self, gpus):
        graph = torch.cuda.CUDAGraph()
        for name in ("replay", "pool", "capture_end", "raw_cuda_graph", "raw_cuda_graph_exec"):
            with pytest.raises(AcceleratorError, match=f"^{name}: "):
                getattr(graph, name)()
        with pytest.raises(AcceleratorError, match="^debug_dump: "):
            graph.debug_dump("graph.dot")

    @virtual
    def test_a_graph_is_written_with_what_it_does_and_where(self, gpus, tmp_path):
        graph, side = torch.cuda.CUDAGraph(keep_graph=True), torch.cuda.Stream()
        x = torch.ones(3, device="cuda")
        with torch.cuda.graph(graph):
            y = x.exp()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                z = y.sin()
            torch.cuda.current_stream().wait_stream(side)
            z.cos_()
        graph.debug_dump(tmp_path / "graph.dot")
        lines = (tmp_path / "graph.dot").read_text().splitlines()
        works = [each for each in lines if re.search("exp|sin|cos", each)]
        assert [re.search("exp|sin|cos", each)[0] for each in works] == ["exp", "sin", "cos"]
        assert all("cuda:0" in each and "test_graph.py:" in each for each in works)
        first, second, third = (re.match(r" *(\d+) ", each)[1] for each in works)
        assert lines[0].startswith("digraph") and lines[-1] == "}"
        follows = {tuple(re.findall(r"\d+", each)) for each in lines if "->" in each}
        assert (second, third) in follows and (third, first) not in follows
        with pytest.raises(AcceleratorError, match="cannot be written"):
            graph.debug_dump(tmp_path)

    def test_a_graph_is_captured_once(self, gpus):
        graph, _ = captured(lambda: torch.ones(1, device="cuda"))
        with pytest.raises(AcceleratorError, match="captured already"), torch.cuda.graph(graph):
            pass
        graph.replay()

    def test_one_capture_at_a_time(self, gpus):
        x = torch.zeros(1, device="cuda")

        def work():
            with pytest.raises(AcceleratorError, match="a capture is underway on"):
                captured(lambda: None)
            with pytest.raises(AcceleratorError, match="a capture is underway on"):
                begun(torch.cuda.CUDAGraph(), lambda: None)
            return x.add_(1)

        graph, _ = captured(work)
        graph.replay()
        assert x.item() == 1

    def test_an_empty_graph_is_worth_a_warning(self, gpus):
        with pytest.warns(UserWarning, match="The CUDA Graph is empty"):
            graph, _ = captured(lambda: None)
        graph.replay()

    def test_a_replay_in_a_capture(self, gpus):
        inner, _ = captured(lambda: torch.ones(1, device="cuda"))
        with pytest.raises(AcceleratorError, match="replay: .* is capturing"):
            captured(inner.replay)

    @pytest.mark.parametrize(
        "call",
        [
            lambda x: x.sum().item(),
            lambda x: x.cpu(),
            lambda x: x.tolist(),
            lambda x: x[x > 0],
            lambda x: x.nonzero(),
            lambda x: x.copy_(torch.zeros(4)),
            lambda x: torch.ones(4).cuda(),
            lambda x: torch.ones(4).pin_memory().cuda(),
            lambda x: torch.cuda.synchronize(),
            lambda x: torch.cuda.current_stream().synchronize(),
            lambda x: torch.cuda.current_stream().query(),
            lambda x: torch.cuda.current_stream().record_event().synchronize(),
        ],
    )
    def test_what_waits_cannot_be_captured(self, gpus, call):
        x = torch.ones(4, device="cuda")
        with pytest.raises(AcceleratorError, match=r"called by .* at .*test_graph.py:\d+ on thread 'MainThread'"):
            captured(lambda: call(x + 1))
        assert not torch.cuda.is_current_stream_capturing()
        graph, y = captured(lambda: x + 1)
        graph.replay()
        assert y.tolist() == [2.0] * 4

    def test_an_error_that_was_caught_still_breaks_the_capture(self, gpus):
        x = torch.ones(4, device="cuda")

        def work():
            with pytest.raises(AcceleratorError):
                torch.cuda.synchronize()

        with pytest.raises(AcceleratorError, match=r"(?s)device_synchronize|cuCtxSynchronize"):
            captured(work)
        assert (x + 1).tolist() == [2.0] * 4

    def test_another_thread_is_named(self, gpus):
        event = torch.cuda.Event()
        event.record()
        errors = []

        def poll():
            try:
                event.query()
            except AcceleratorError as error:
                errors.append(error)

        def work():
            thread = threading.Thread(target=poll, name="watchdog")
            thread.start()
            thread.join()

        with pytest.raises(AcceleratorError, match=r"Event.query at .*test_graph.py:\d+ on thread 'watchdog'"):
            captured(work)
        assert len(errors) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            captured(work, capture_error_mode="thread_local")
        assert len(errors) == 1

    def test_another_thread_may_allocate_load_and_launch(self, gpus):
        """The library's own calls for this break no capture, in any mode."""
        x = torch.ones(4, device="cuda")
        found = []

        def elsewhere():
            y = torch.full((3 << 20,), 2.0, device="cuda")
            found.append((y.cos() * y, torch.arange(100_000).pin_memory()))

        def work():
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            return x + 1

        graph, y = captured(work)
        graph.replay()
        assert y.tolist() == [2.0] * 4
        assert found[0][0][0].item() == pytest.approx(-0.8322937) and found[0][1].is_pinned()

    @virtual
    def test_a_capture_that_breaks_on_demand(self):
        with machine() as made:
            x = torch.ones(4, device="cuda")
            made.driver.faults.break_capture_at(2)
            with pytest.raises(AcceleratorError, match="injected failure broke the capture"):
                captured(lambda: (x + 1) * 2)
            graph, y = captured(lambda: (x + 1) * 2)
            graph.replay()
            assert y.tolist() == [4.0] * 4

    def test_a_side_stream_that_does_not_come_back(self, gpus):
        side = torch.cuda.Stream()
        x = torch.ones(4, device="cuda")

        def work():
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                return x + 1

        with pytest.raises(AcceleratorError):
            captured(work)
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.default_stream())
            assert (x + 1).tolist() == [2.0] * 4

    def test_capturing_is_seen(self, gpus):
        assert not torch.cuda.is_current_stream_capturing()
        stream = torch.cuda.Stream()
        found = []
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            found += [torch.cuda.is_current_stream_capturing(), stream.is_capturing(), torch.cuda.current_stream()]
            torch.ones(1, device="cuda")
        assert found == [True, True, stream]
        assert not stream.is_capturing() and torch.cuda.current_stream() == torch.cuda.default_stream()


def test_static_inputs_are_tensors(gpus):
    with pytest.raises(ArgumentTypeError, match=r"static_inputs: expected tensors, got 3\nhint: "):
        torch.cuda.CUDAGraph().static_inputs(3)


class TestStrict:
    @pytest.fixture(autouse=True)
    def strict(self, monkeypatch):
        monkeypatch.setenv("FLAMBEAU_STRICT", "1")
        yield
        unwatch()

    def test_an_input_must_be_refreshed_before_each_replay(self, gpus):
        x, weight = torch.ones(4, device="cuda"), torch.full((4,), 3.0, device="cuda")
        graph = torch.cuda.CUDAGraph()
        graph.static_inputs(x)
        with torch.cuda.graph(graph):
            y = x * weight
        said = r"static input 0, float32\[4\] .*, declared at .*test_graph\.py:\d+, was not written since"
        with pytest.raises(AcceleratorError, match=said):
            graph.replay()
        x.copy_(torch.full((4,), 2.0))
        graph.replay()
        assert y.tolist() == [6.0] * 4
        with pytest.raises(AcceleratorError, match="was not written since"):
            graph.replay()

    def test_a_part_that_is_not_refreshed_is_poison(self, gpus):
        x = torch.ones(4, device="cuda")
        graph, y = captured(lambda: x * 2)
        graph.static_inputs(x)
        x.fill_(1)
        graph.replay()
        x[:2] = 5
        graph.replay()
        found = y.tolist()
        assert found[:2] == [10.0, 10.0] and all(each != each for each in found[2:])

    def test_an_input_must_be_alive(self, gpus):
        held = [torch.ones(4, device="cuda")]
        graph, _ = captured(lambda: held[0] * 2)
        graph.static_inputs(held[0])
        held.clear()
        with pytest.raises(AcceleratorError, match="static input 0, .*, was freed"):
            graph.replay()

    def test_without_strict_nothing_is_checked(self, gpus, monkeypatch):
        monkeypatch.setenv("FLAMBEAU_STRICT", "0")
        x = torch.ones(4, device="cuda")
        graph, y = captured(lambda: x * 2)
        graph.static_inputs(x)
        graph.replay()
        graph.replay()
        assert y.tolist() == [2.0] * 4


def unknown_mode():
    with torch.cuda.graph(torch.cuda.CUDAGraph(), capture_error_mode="strict"):
        pass


def on_the_default_stream():
    torch.cuda.CUDAGraph().capture_begin()


def a_read_in_the_capture():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        (torch.ones(1 << 20, device="cuda") * 2).sum().item()


def an_error_of_the_program():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.ones(1 << 20, device="cuda") * 2
        raise AcceleratorError("the program's own")


def an_unjoined_stream():
    side = torch.cuda.Stream()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x = torch.ones(1 << 20, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x * 2


def another_stream_at_the_end():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.ones(1 << 20, device="cuda") * 2
        torch.cuda.set_stream(torch.cuda.Stream())


def another_device_at_the_end():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.ones(1 << 20, device="cuda") * 2
        torch.cuda.set_device(1)


def a_pool_that_is_none():
    with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=[0, 1]):
        torch.ones(1 << 20, device="cuda") * 2


REFUSALS = [
    unknown_mode, on_the_default_stream, a_read_in_the_capture, an_error_of_the_program, an_unjoined_stream,
    another_stream_at_the_end, another_device_at_the_end, a_pool_that_is_none,
]  # fmt: skip


@pytest.mark.parametrize("refused", REFUSALS, ids=lambda each: each.__name__)
def test_a_capture_that_fails_leaves_no_memory_behind(gpus, refused):
    captured(lambda: torch.zeros(4, device="cuda"))

    def figures():
        gc.collect()
        torch.cuda.empty_cache()
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.current_stream()

    before = figures()
    for _ in range(2):
        with pytest.raises((AcceleratorError, ArgumentError, ArgumentTypeError)):
            refused()
    assert figures() == before and not torch.cuda.is_current_stream_capturing()
    captured(lambda: torch.zeros(4, device="cuda"))


def test_modes_and_generators_of_other_kinds_are_refused(gpus):
    for mode in (["global"], 3, None):
        with pytest.raises(ArgumentError, match="unknown capture error mode"):
            captured(lambda: torch.zeros(4, device="cuda"), capture_error_mode=mode)
    with pytest.raises(RuntimeError, match="register_generator_state: expected a generator of a GPU, got one of cpu"):
        torch.cuda.CUDAGraph().register_generator_state(torch.Generator())


def test_only_a_graph_is_captured_into(gpus):
    with pytest.raises(ArgumentTypeError, match="^graph: expected a CUDAGraph, got 3\nhint: "):
        torch.cuda.graph(3)


@pytest.mark.parametrize("pool", ["x", 5, (0,), (0, "1"), True])
def test_a_pool_is_what_a_graph_or_a_handle_gives(gpus, pool):
    with pytest.raises(ArgumentTypeError, match=re.escape(f"capture_begin: {pool!r} is not a memory pool")):
        captured(lambda: torch.zeros(4, device="cuda"), pool=pool)

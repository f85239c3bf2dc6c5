"""Fuzzer of interrupts: Ctrl-C at every place where CPython runs signal handlers, then a check that all still works.

    python -m tests.oracle.interrupts --points 10000 --seed 0
    python -m tests.oracle.interrupts --signals --points 300     # real signals at random times, for compiled code

CPython 3.11 runs handlers when a function begins, when a loop jumps back, and after a call of C code.  Under
`sys.settrace` the places within the library are counted, and at the n-th one SIGINT's handler is called as CPython
would call it.  Every point has a machine of its own.  What must hold afterwards: no lock and no capture is left, all
devices work, values are those of before or after the call, and the memory in use is that of the tensors that live.
A thread's modes (current device and stream, gradients) that stay set are counted apart.
"""

from __future__ import annotations

import argparse
import dis
import faulthandler
import gc
import io
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import flambeau
from flambeau import signals
from flambeau.core import native, thread
from flambeau.testing import machine
from flambeau.tools.compiled import is_compiled

PACKAGE = str(Path(flambeau.__file__).parent)
CALLS = {"CALL", "CALL_FUNCTION", "CALL_METHOD", "CALL_KW", "CALL_FUNCTION_EX"}
NOT_INLINED = {"__init__", "__new__"}  # calls of these from Python code go through C
HUNG = 20  # seconds
LOST = 5  # seconds
N = 256  # elements


class Area(NamedTuple):
    """An operation to interrupt.  setup makes a state, act is the operation, verify describes a wrong state after.

    own_handlers: begin with the handlers of the program, as before CUDA starts.
    """

    name: str
    setup: Callable[[], Any]
    act: Callable[[Any], object]
    verify: Callable[[Any], str] = lambda state: ""
    own_handlers: bool = False


class Points:
    """Counts the places where handlers run; at number `at` calls SIGINT's."""

    def __init__(self, at: int = -1) -> None:
        self.count = 0
        self.at = at
        self.places: dict[tuple[CodeType, int], list[int]] = {}
        self.where = ""
        self._returned = 0  # id of the frame to which a function of Python's returned just now

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return self._watch_return if event == "call" else None
        if event == "call":
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            if places(code).get(frame.f_lasti) == "begin":  # not where a generator is closed
                self._point(frame)
            return self.trace
        if event == "return":
            self._returned = id(frame.f_back) if code.co_name not in NOT_INLINED else 0
        elif event == "opcode":
            kind = places(code).get(frame.f_lasti)
            if kind == "any" or (kind == "call" and self._returned != id(frame)):
                self._point(frame)
            self._returned = 0
        return self.trace

    def _watch_return(self, frame: FrameType, event: str, argument: object) -> Any:
        return None

    def _point(self, frame: FrameType) -> None:
        self.count += 1
        if self.at < 0:
            self.places.setdefault((frame.f_code, frame.f_lasti), []).append(self.count)
        if self.count == self.at:
            self.where = f"{frame.f_code.co_filename[len(PACKAGE) + 1 :]}:{frame.f_lineno} {frame.f_code.co_qualname}"
            signal.getsignal(signal.SIGINT)(signal.SIGINT, frame)  # type: ignore[operator, misc]


@cache
def places(code: CodeType) -> dict[int, str]:
    """By offset, the instructions before which a handler may run as after the call, or at the jump, that precedes."""
    found: dict[int, str] = {}
    ranges = [(each.start, each.end, each.target) for each in dis._parse_exception_table(code)]  # type: ignore[attr-defined]
    caught = lambda offset: [target for start, end, target in ranges if start <= offset < end]  # noqa: E731
    before = None
    for each in dis.get_instructions(code):
        if each.opname == "RESUME":
            found[each.offset] = "begin"
        elif "JUMP_BACKWARD" in each.opname:
            found[each.offset] = "any"
        elif before is not None and before.opname in CALLS and caught(before.offset) == caught(each.offset):
            found[each.offset] = "any" if before.opname == "CALL_FUNCTION_EX" else "call"
        before = each
    return found


@contextmanager
def traced(points: Points) -> Iterator[None]:
    sys.settrace(points.trace)
    try:
        yield
    finally:
        sys.settrace(None)


# operations to interrupt


def _ones(count: int = 2) -> list[Any]:
    return [flambeau.ones(N, device=f"cuda:{index}") for index in range(count)]


def _allocate(state: Any) -> None:
    kept = []
    for nbytes in (100, 3 << 20, 700, 12 << 20):
        kept.append(flambeau.empty(nbytes, dtype=flambeau.uint8, device="cuda"))
    del kept[1], kept[0]
    flambeau.zeros(5000, device="cuda")
    state[0].record_stream(flambeau.cuda.Stream())


def _operators(state: list[Any]) -> None:
    a, b = state[0], state[1].to("cuda:0")
    c = a + b * 2
    c[3:7].sum()
    flambeau.cat([c, a]).reshape(2, N).t().contiguous()
    flambeau.randn(N, device="cuda").sort()
    (c > 0).any()


def _write(state: list[Any]) -> None:
    state[0].add_(1)
    state[0].mul_(2)
    state[1][: N // 2] = 7


def _verify_write(state: list[Any]) -> str:
    first, second = state[0].tolist(), state[1].tolist()
    if len(set(first)) != 1 or first[0] not in (1.0, 2.0, 4.0):
        return f"add_, mul_: {set(first)}"
    if state[0]._version != {1.0: 0, 2.0: 1, 4.0: 2}[first[0]]:
        return f"the value is {first[0]} and the version {state[0]._version}"
    return "" if second[0] in (1.0, 7.0) and second[-1] == 1.0 else f"setitem: {second[0]}, {second[-1]}"


def _backward_setup() -> Any:
    w = flambeau.ones(N, device="cuda", requires_grad=True)
    v = flambeau.ones(N, device="cuda:1", requires_grad=True)
    return w, v, ((w * 3 + v.to("cuda:0") * 2).relu() * w).sum()


def _verify_backward(state: Any) -> str:
    for each, wanted in ((state[0], 8.0), (state[1], 2.0)):
        if each.grad is not None and set(each.grad.tolist()) != {wanted}:
            return f"grad is {set(each.grad.tolist())}"
    return ""


def _item(state: list[Any]) -> None:
    with flambeau.no_grad(), flambeau.cuda.device(1):
        assert (state[1] @ state[1]).item() == N
        assert state[0].sum().tolist() == N
        state[0].cpu()


def _streams(state: list[Any]) -> None:
    side = flambeau.cuda.Stream()
    event = flambeau.cuda.Event()
    side.wait_stream(flambeau.cuda.current_stream())
    with flambeau.cuda.stream(side):
        x = state[0] * 2
        event.record()
    event.wait()
    x.record_stream(flambeau.cuda.current_stream())
    x.add_(1)
    del x
    event.synchronize()
    side.synchronize()
    flambeau.cuda.synchronize()


def _empty_cache(state: list[Any]) -> None:
    side = flambeau.cuda.Stream()
    x = flambeau.ones(3 << 20, device="cuda")
    x.record_stream(side)
    del x
    flambeau.cuda.memory_snapshot()
    flambeau.cuda.memory_stats()
    flambeau.cuda.empty_cache()
    flambeau.cuda.memory_allocated()


def _pinning(state: list[Any]) -> None:
    x = flambeau.ones(5000).pin_memory()
    y = x.to("cuda", non_blocking=True)
    z = flambeau.empty(5000, pin_memory=True)
    z.copy_(y, non_blocking=True)
    del x
    flambeau.cuda.current_stream().synchronize()
    assert z[0].item() == 1
    w = flambeau.empty(9000, pin_memory=True)
    w[:5000].copy_(y)
    flambeau.cuda.host_memory_stats()


def _capture(state: list[Any]) -> None:
    graph = flambeau.cuda.CUDAGraph()
    with flambeau.cuda.graph(graph):
        y = state[0] + 1
        y.mul_(2)
    graph.replay()
    del y, graph


def _replay_setup() -> Any:
    x = flambeau.ones(N, device="cuda")
    graph = flambeau.cuda.CUDAGraph()
    with flambeau.cuda.graph(graph):
        x.add_(1)
        x.mul_(2)
        x.sub_(1)
    return x, graph


def _replay(state: Any) -> None:
    state[1].replay()
    state[1].replay()
    flambeau.cuda.synchronize()


def _verify_replay(state: Any) -> str:
    found = set(state[0].tolist())
    if len(found) != 1 or found - {1.0, 3.0, 7.0}:
        return f"replays made {found}"
    return ""


def _loader(state: list[Any]) -> None:
    data = flambeau.utils.data.TensorDataset(flambeau.arange(12).float())
    for (batch,) in flambeau.utils.data.DataLoader(data, batch_size=4, shuffle=True, pin_memory=True):
        batch.to("cuda", non_blocking=True).sum()


def _training_setup() -> Any:
    model = flambeau.nn.Linear(8, 4).to("cuda")
    return model, flambeau.optim.Adam(model.parameters(), lr=0.1), flambeau.ones(2, 8, device="cuda")


def _training(state: Any) -> None:
    model, optimizer, x = state
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()


def _views(state: list[Any]) -> None:
    x = state[0]
    square = x.view(16, -1)
    rows = [*square.chunk(4), *square.t().unbind(), *x.split(100), square.flatten()[3:9]]
    x[: N // 2] = 7
    rows[0][1].add_(1)
    square[-1, 2:] = x[:14]


def _verify_views(state: list[Any]) -> str:
    found = state[0].tolist()
    writes = (found[0] == 7, found[16] == 8, found[-1] == 7)
    if state[0]._version != sum(writes) or writes != tuple(sorted(writes, reverse=True)):
        return f"the values are {found[0]}, {found[16]}, {found[-1]} and the version {state[0]._version}"
    parts = (found[:16], found[16:32], found[32 : N // 2], found[N // 2 : -14], found[-14:])
    return "" if all(len(set(part)) == 1 for part in parts) else "parts of a write"


def _derivatives_setup() -> Any:
    w = flambeau.ones(16, 16, device="cuda", requires_grad=True)
    flambeau.set_float32_matmul_precision("highest")
    return w, flambeau.nn.functional.layer_norm(w @ w, (16,)), (w @ w).softmax(0)


def _derivatives(state: Any) -> None:
    w, normed, rows = state
    (normed.sum() + (rows * rows).sum()).backward(retain_graph=True)
    flambeau.set_float32_matmul_precision("high")  # the plans of products are stale
    rows.square().sum().backward()
    flambeau.nn.functional.dropout(w, 0.5).sum().backward()


def _verify_derivatives(state: Any) -> str:
    flambeau.set_float32_matmul_precision("highest")
    return "" if state[0].grad is None or bool((abs(state[0].grad) <= 2.001).all()) else f"grad is {state[0].grad}"


def _batches_ahead(state: list[Any]) -> None:
    data = flambeau.utils.data.TensorDataset(flambeau.arange(12).float())
    batches = flambeau.utils.data.DataLoader(data, batch_size=4, device="cuda:1")
    assert [batch.sum().item() for (batch,) in batches] == [6, 22, 38]


def _seeds_setup() -> list[Any]:
    flambeau.manual_seed(1)
    return []


def _seeds(state: list[Any]) -> None:
    flambeau.manual_seed(2)
    for index in range(2):
        state.append(flambeau.randn(N, device=f"cuda:{index}"))
    flambeau.cuda.set_rng_state_all(flambeau.cuda.get_rng_state_all())


def _verify_seeds(state: list[Any]) -> str:
    seeds = {flambeau.initial_seed()}
    for index in range(2):
        with flambeau.cuda.device(index):
            seeds.add(flambeau.cuda.initial_seed())
    return "" if len(seeds) == 1 else f"the seeds are {seeds}"


def _files(state: list[Any]) -> None:
    file = io.BytesIO()
    flambeau.save({"first": state[0], "second": state[1]}, file)
    file.seek(0)
    loaded = flambeau.load(file)
    assert loaded["second"].device.index == 1 and loaded["first"].sum().item() == N


def _on_cpu_setup() -> dict[str, Any]:
    return {name: flambeau.full((16, 16), 2.0) for name in ("copy", "scatter", "rows", "normal", "coins", "masked")}


def _on_cpu(state: dict[str, Any]) -> None:
    index, x = flambeau.zeros(16, 16, dtype=flambeau.int64), flambeau.ones(16, 16)
    state["copy"].copy_(x.t())
    state["scatter"].scatter_add_(0, index, x)
    state["rows"].index_add_(0, index[0], x)
    state["normal"].normal_()
    state["coins"].geometric_(0.5)
    state["masked"].masked_scatter_(x > 0, x)


def _verify_on_cpu(state: dict[str, Any]) -> str:
    for name, x in state.items():
        is_written = bool((x != 2.0).any())
        if is_written != (x._version == 1):
            return f"{name} is {'' if is_written else 'not '}written, and its version is {x._version}"
    return ""


AREAS = (
    Area("allocation", _ones, _allocate),
    Area("operators", _ones, _operators),
    Area("in place", _ones, _write, _verify_write),
    Area("backward", _backward_setup, lambda state: state[2].backward(), _verify_backward),
    Area("item", _ones, _item),
    Area("streams", _ones, _streams),
    Area("empty_cache", _ones, _empty_cache),
    Area("pinning", _ones, _pinning),
    Area("capture", _ones, _capture),
    Area("replay", _replay_setup, _replay, _verify_replay),
    Area("DataLoader", _ones, _loader),
    Area("training", _training_setup, _training),
    Area("views", _ones, _views, _verify_views),
    Area("derivatives", _derivatives_setup, _derivatives, _verify_derivatives),
    Area("batches ahead", _ones, _batches_ahead),
    Area("seeds", _seeds_setup, _seeds, _verify_seeds),
    Area("files", _ones, _files),
)
if is_compiled():  # uncompiled, a write on the CPU may be interrupted before it is counted
    AREAS += (Area("writes on CPU", _on_cpu_setup, _on_cpu, _verify_on_cpu, own_handlers=True),)


# what must hold afterwards


def left_modes(fresh: Any) -> list[str]:
    """The modes of this thread that stay set; they are put back."""
    now, found = thread.here(), []
    if not now.grad_enabled or now.inference or now.task is not None or now.operator is not None:
        found.append("gradient mode or call")
        now.grad_enabled, now.inference, now.task, now.operator = True, False, None, None
    if now.device != 0:
        found.append("device")
    if any(each is not None and each is not fresh.devices[at].default_stream for at, each in enumerate(now.streams)):
        found.append("stream")
    if now.lowering is not None or now.default_devices:
        found.append("lowering")
        now.lowering = None
    now.device, now.streams = 0, []
    return found


def wrong_after(fresh: Any, area: Area, state: Any) -> str:
    """Describe what no longer works on a machine; "" if everything does."""
    if native.is_critical(sys._getframe()):
        return "a critical section is left open"
    if not gc.isenabled():
        return "the collector is left disabled"
    if fresh.capture is not None or fresh.launch_blocking:
        return "a capture is left open"
    wrong = area.verify(state)
    if wrong:
        return wrong
    for index in range(2):
        flambeau.cuda.synchronize(index)
        x = flambeau.arange(1000, device=f"cuda:{index}")
        if (x + x).sum().item() != 999_000:
            return "values"
        y = flambeau.ones(1000).pin_memory().to(f"cuda:{index}", non_blocking=True)
        if y.sum().item() != 1000:
            return "copied values"
    written = flambeau.zeros(10, device="cuda")
    graph = flambeau.cuda.CUDAGraph()
    with flambeau.cuda.graph(graph):
        written.add_(1)
    graph.replay()
    if written[0].item() != 1:
        return "replayed values"
    return ""


def wrong_at_end(fresh: Any) -> str:
    """Describe what is wrong once no tensor is left; "" if nothing is."""
    flambeau.cuda.empty_host_cache()
    stats = flambeau.cuda.host_memory_stats()
    for key in ("active_requests.current", "active_bytes.current", "allocated_bytes.current"):
        if stats[key]:
            return f"pinned {key} is {stats[key]}"
    for index, each in enumerate(fresh.devices):
        stats = flambeau.cuda.memory_stats(index)
        held = sum(block["size"] for one in each.allocator.snapshot() for block in one["blocks"])
        if held != stats["reserved_bytes.all.current"] != each.allocator.reserved_bytes:
            return "segments are not tiled by blocks"
        flambeau.cuda.empty_cache()
        for key, value in flambeau.cuda.memory_stats(index).items():
            if key.endswith(".current") and value:
                return f"{key} is {value}"
        if fresh.driver.memory_used(index):
            return f"the driver holds {fresh.driver.memory_used(index)} bytes"
    extra = len(fresh.driver._events) - sum(each.mark is not None for each in fresh.streams.values())
    return f"{extra} events are left" if extra else ""


def in_thread(function: Callable[[], str]) -> str:
    """Call a function in another thread, which finds the locks that are left held.  Ends the process if it hangs."""
    found = ["it raised"]

    def run() -> None:
        found[0] = function()

    other = threading.Thread(target=run, daemon=True)
    other.start()
    other.join(HUNG)
    if other.is_alive():
        return "hangs"
    return found[0]


def _allocates() -> str:
    x = flambeau.ones(10, device="cuda")
    y = flambeau.empty(10, pin_memory=True)
    y.copy_(x)
    return "" if y.sum().item() == 10 else "values in another thread"


class Result(NamedTuple):
    """interrupted: whether KeyboardInterrupt came;  wrong: what is broken;  modes: left set."""

    interrupted: bool
    wrong: str
    modes: list[str]
    where: str
    places: dict[tuple[CodeType, int], list[int]]


def attempt(area: Area, interrupt: Callable[[], Any]) -> Result:
    """Run an area on a fresh machine, inside what interrupts it, and check what is left."""
    interrupted, points = False, None
    with machine(devices=2) as fresh:
        state = area.setup()
        flambeau.cuda.synchronize()
        signals.replace_handlers()
        if area.own_handlers:
            for number in (signal.SIGINT, signal.SIGALRM):
                signal.signal(number, getattr(signal.getsignal(number), "handler", signal.SIG_DFL))
        context = interrupt()
        try:
            with context as points:
                area.act(state)
        except KeyboardInterrupt:
            interrupted = True
        try:
            if not interrupted and isinstance(points, Points) and points.where:
                time.sleep(LOST)  # it is sent again after a finalizer
        except KeyboardInterrupt:
            interrupted = True
        modes = left_modes(fresh)
        faulthandler.dump_traceback_later(HUNG, exit=True)
        try:
            lost = not interrupted and isinstance(points, Points) and points.where
            wrong = "the interrupt is lost" if lost else ""
            wrong = wrong or in_thread(_allocates) or wrong_after(fresh, area, state)
            state = None
            gc.collect()
            wrong = wrong or wrong_at_end(fresh)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
            wrong = f"{type(error).__name__}: {error}".splitlines()[0]
        finally:
            faulthandler.cancel_dump_traceback_later()
    return Result(interrupted, wrong, modes, getattr(points, "where", ""), getattr(points, "places", {}))


@contextmanager
def at_point(number: int) -> Iterator[Points]:
    points = Points(number)
    with traced(points):
        yield points


def fuzz(areas: tuple[Area, ...], points: int, seed: int) -> Iterator[tuple[Area, Result]]:
    """Interrupt each area at `points` places chosen at random, and yield what came of each."""
    chosen = random.Random(seed)
    for area in areas:
        attempt(area, lambda: at_point(-1))  # everything is imported and lowered
        places = attempt(area, lambda: at_point(-1)).places
        for _ in range(points):  # a line that runs a thousand times is as likely as one that runs once
            number = chosen.choice(places[chosen.choice(list(places))])
            yield area, attempt(area, lambda number=number: at_point(number))


class Alarm:
    """A real signal after `seconds`, whose handler raises KeyboardInterrupt."""

    is_due = False

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.where = f"after {seconds * 1e6:.0f} us"

    def __enter__(self) -> Alarm:
        Alarm.is_due = True
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        return self

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        Alarm.is_due = False  # one that is sent again after a finalizer may come too late

    @staticmethod
    def ring(number: int, frame: FrameType | None) -> None:
        if Alarm.is_due:
            Alarm.is_due = False
            raise KeyboardInterrupt


def _drop(unraisable: Any) -> None:
    """Keep nothing of an interrupt that CPython ignores, as in a callback of a WeakSet: its frames hold tensors."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def fuzz_signals(areas: tuple[Area, ...], points: int, seed: int) -> Iterator[tuple[Area, Result]]:
    """As `fuzz`, by a real signal at a random time: for code that is compiled, which is not traced."""
    chosen = random.Random(seed)
    former = signal.signal(signal.SIGALRM, Alarm.ring)
    gc.collect()
    gc.freeze()  # else most of a capture's time is the collection before it
    callbacks, gc.callbacks[:] = list(gc.callbacks), []  # of other libraries: an interrupt that falls in one is ignored
    hook, sys.unraisablehook = sys.unraisablehook, _drop
    try:
        yield from _at_random_times(areas, points, chosen)
    finally:
        gc.callbacks[:], sys.unraisablehook = callbacks, hook
        signal.signal(signal.SIGALRM, former)


def _at_random_times(areas: tuple[Area, ...], points: int, chosen: random.Random) -> Iterator[tuple[Area, Result]]:
    for area in areas:
        attempt(area, lambda: Alarm(0))
        start = time.perf_counter()
        with machine(devices=2):
            state = area.setup()
            start = time.perf_counter()
            area.act(state)
            seconds = time.perf_counter() - start
            del state
        for _ in range(points):
            delay = max(chosen.uniform(0, seconds), 2e-6)
            yield area, attempt(area, lambda delay=delay: Alarm(delay))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=1000, help="of all areas together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", help="only this one")
    parser.add_argument("--signals", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore for what runs in the background
    areas = tuple(each for each in AREAS if given.area in (None, each.name))
    run = fuzz_signals if given.signals else fuzz
    rows = {each.name: [0, 0, 0, 0] for each in areas}
    for area, result in run(areas, -(-given.points // len(areas)), given.seed):
        row = rows[area.name]
        row[0] += 1
        row[1] += result.interrupted
        row[2] += bool(result.wrong)
        row[3] += bool(result.modes)
        if result.wrong or result.modes:
            print(f"{area.name}: {result.where}: {result.wrong or result.modes}", flush=True)
    print(f"{'area':<14}{'tried':>8}{'raised':>8}{'broken':>8}{'modes':>8}")
    for name, row in [*rows.items(), ("all", [sum(each) for each in zip(*rows.values())])]:
        print(f"{name:<14}" + "".join(f"{each:>8}" for each in row))
    sys.exit(any(row[2] for row in rows.values()))


if __name__ == "__main__":
    main()

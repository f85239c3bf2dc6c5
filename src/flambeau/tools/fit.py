"""Measures whether a program fits a card: its peak memory by kind, and the modelled time of a training step.

- The program runs in a forked process, on virtual GPUs of the card, by default without values.  SystemExit ends it
  after some optimizer steps, so that its `finally` blocks and `atexit` functions run.
- The peak is the moment with the most reserved bytes; among equal ones, that with the most allocated bytes.
- Blocks are classified where their kind is known: parameters when a module is first called and around each optimizer
  step; gradients and optimizer state around the steps.  All other live blocks are activations.
- A program that runs out of memory runs again on a card of 16 TiB, which shows how much it needs.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from .. import callers
from ..config import Gpus
from ..core.hooks import subscribe, unsubscribe
from ..core.tensor import TensorBase
from ..driver.virtual.card import card
from ..driver.virtual.driver import VirtualDriver
from ..driver.virtual.memory import ADDRESS_BITS, device_of
from ..errors import OutOfMemoryError
from ..nn.hooks import register_module_forward_pre_hook
from ..optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ..runtime import machine as machines
from ..uncomputed import has_read, leave_out_host_values
from .checked_processes import before_exit
from .forked import run_forked

PARAMETERS, GRADIENTS, STATE, ACTIVATIONS = "parameters", "gradients", "optimizer_state", "activations"
WORKSPACE = "workspace"
KINDS = (PARAMETERS, GRADIENTS, STATE, ACTIVATIONS, WORKSPACE, "fragmentation")
STEPS = 3  # measured steps of every optimizer, by default
PATIENCE = 10  # one optimizer's steps end the program at this multiple of the wanted number, whatever the others do
UNLIMITED = 1 << ADDRESS_BITS  # bytes: more than any card has
MAX_BATCH = 1 << 20
FAR = 1 << 10  # factor of a batch size that shows whether a program uses it: its smallest blocks are larger too
FOLDED_AT = 1 << 20  # events
READ_HINT = "the program had read values, which are 1 as they are not computed: --values computes them"
OPTION_HINT = "hint: --batch-option wants the name of an option of the program that changes its memory"
GROWN, SHRUNK = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")


class Enough(SystemExit):
    """Raised to end a program, with status 0, when its steps have been measured."""


class Peak(NamedTuple):
    """The peak of one device, in bytes.  reserved: bytes reserved from the driver;  kinds: the same bytes by kind."""

    device: int
    reserved: int
    allocated: int
    kinds: dict[str, int]


class Run(NamedTuple):
    """One run of a program.

    status: its exit status, negative for a signal.  error: why it ended early, else "". shortage: where it ran out of
    GPU memory, else "".  steps: the most steps that one optimizer made.
    step_ns: the modelled time of a step, None if fewer than two were made.  peaks: of the devices that it used.
    taken: the sum of all allocations in bytes.  signal: SIGINT or SIGTERM, if this command got it meanwhile, else 0.
    """

    status: int
    error: str
    shortage: str
    steps: int
    step_ns: int | None
    peaks: list[Peak]
    taken: int = 0
    signal: int = 0

    @property
    def peak(self) -> Peak | None:
        """The peak of the device that reserved the most memory; None if the program used no GPU."""
        return max(self.peaks, key=lambda peak: peak.reserved, default=None)

    def to_json(self) -> str:
        return json.dumps(self)  # tuples become lists

    @staticmethod
    def from_json(text: str | bytes) -> Run:
        run = Run(*json.loads(text))
        return run._replace(peaks=[Peak(*peak) for peak in run.peaks])


class DeviceLog:
    """The blocks of one device.  Events are (block number, bytes), with 0 bytes when the block is freed."""

    def __init__(self) -> None:
        self.reserved = self.allocated = 0
        self.best = 0, 0  # reserved and allocated bytes at the peak
        self._events: list[tuple[int, int]] = []
        self._best_at = 0
        self._before: dict[int, int] = {}  # live blocks before the first event
        self._at_best: dict[int, int] = {}  # live blocks at the peak, if it was before the first event

    def add(self, number: int, nbytes: int) -> None:
        self._events.append((number, nbytes))
        self.allocated += nbytes
        self.note()

    def remove(self, number: int, nbytes: int) -> None:
        self._events.append((number, 0))
        self.allocated -= nbytes
        if len(self._events) >= FOLDED_AT:
            self._at_best = self.live_at_peak()
            self._before = self._live(self._before, len(self._events))
            self._events.clear()
            self._best_at = -1

    def note(self) -> None:
        """Keep the current state as the peak if it is higher."""
        if (self.reserved, self.allocated) > self.best:
            self.best = self.reserved, self.allocated
            self._best_at = len(self._events)

    def live_at_peak(self) -> dict[int, int]:
        """Return the bytes of the blocks that were live at the peak, by block number."""
        return self._at_best if self._best_at < 0 else self._live(self._before, self._best_at)

    def _live(self, before: dict[int, int], count: int) -> dict[int, int]:
        live = dict(before)
        for number, nbytes in self._events[:count]:
            if nbytes:
                live[number] = nbytes
            else:
                live.pop(number, None)
        return live


class Meter:
    """Chooses the machine of this process, watches its memory and the optimizers' steps, and ends the program.

    card: a preset;  memory: bytes of each GPU, 0 for the card's;  steps: after which the program is ended.
    """

    def __init__(self, card: str, memory: int, steps: int, values: bool) -> None:
        self.card, self.memory, self.steps, self.values = card, memory, steps, values
        self.shortage = ""
        self._driver: VirtualDriver | None = None
        self._has_pool = False  # whether the driver's own pool, which has no segments, allocates
        self._logs: dict[int, DeviceLog] = {}
        self._live: dict[int, int] = {}  # the numbers of live blocks, by address
        self._count = self._sum = 0  # of the blocks, and of their bytes
        self._kinds: dict[int, str] = {}
        self._modules: WeakSet[Any] = WeakSet()
        self._ends: WeakKeyDictionary[Optimizer, list[int]] = WeakKeyDictionary()  # of their steps, in nanoseconds
        self._longest: list[int] = []
        self._undo: list[Callable[[], object]] = []

    # choosing the machine
    def chosen(self, choice: Gpus) -> Gpus:
        """Return the choice of GPUs: as many as the program asks for, of this card."""
        if choice.kind != "virtual":
            return choice
        races = "real" if choice.races == "poison" else choice.races
        return replace(choice, preset=self.card, memory=self.memory, races=races, values=self.values)

    def started(self, machine: machines.Machine) -> None:
        if isinstance(machine.driver, VirtualDriver):
            self._driver = machine.driver
            self._has_pool = machine.settings.backend == "cudaMallocAsync"

    def begin(self) -> None:
        """Watch this process."""
        machines.watcher = self
        if not self.values:
            leave_out_host_values(True)
        followed: dict[str, Any] = {
            "on_block_taken": self._taken, "on_block_given": self._given, "on_workspace": self._workspace,
            "on_memory": self._segments,
        }  # fmt: skip
        subscribe(**followed)
        self._undo = [
            lambda: unsubscribe(**followed),
            register_module_forward_pre_hook(self._before_forward).remove,
            register_optimizer_step_pre_hook(self._before_step).remove,
            register_optimizer_step_post_hook(self._after_step).remove,
        ]

    def end(self) -> None:
        """Stop watching."""
        machines.watcher = None
        leave_out_host_values(False)
        for undo in self._undo:
            undo()

    # memory
    def _log(self, device: int) -> DeviceLog:
        log = self._logs.get(device)
        if log is None:
            log = self._logs[device] = DeviceLog()
        return log

    def _taken(self, block: Any, stream: Any) -> None:
        self._count += 1
        self._sum += block.nbytes
        self._live[block.address] = self._count
        device = device_of(block.address) or 0
        log = self._log(device)
        if self._has_pool and self._driver is not None:
            log.reserved = self._driver.pool_reserved(device)
        log.add(self._count, block.nbytes)

    def _given(self, block: Any) -> None:
        number = self._live.pop(block.address, None)
        if number is not None:
            self._log(device_of(block.address) or 0).remove(number, block.nbytes)

    def _workspace(self, storage: Any) -> None:
        for memory in (storage, *(storage.twins.memories if storage.twins is not None else ())):
            number = self._live.get(memory.block.address)
            if number is not None:
                self._kinds[number] = WORKSPACE

    def _segments(self, action: str, device: int, address: int, nbytes: int, stream: int, pool: Any) -> None:
        log = self._log(device)
        if action in GROWN:
            log.reserved += nbytes
            log.note()
        elif action in SHRUNK:
            log.reserved -= nbytes
        elif action == "oom":
            self.shortage = f"{callers.shown_site(callers.call_site())}, in an allocation of {size(nbytes)}"

    def _is(self, kind: str, tensors: Iterator[Any]) -> None:
        """Record that the blocks of some tensors are of a kind, such as parameters."""
        for tensor in tensors:
            block = tensor._storage.block if tensor.device_index >= 0 else None
            number = None if block is None else self._live.get(block.address)
            if number is not None:
                self._kinds[number] = kind

    def _before_forward(self, module: Any, args: Any) -> None:
        if module not in self._modules:
            self._modules.update(module.modules())
            self._is(PARAMETERS, (tensor for held in (module.parameters, module.buffers) for tensor in held()))

    # steps
    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        params = [param for group in optimizer.param_groups for param in group["params"]]
        self._is(STATE, tensors_in(list(optimizer.state.values())))
        self._is(GRADIENTS, tensors_in([param.grad for param in params]))
        self._is(PARAMETERS, iter(params))

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """Record a step; end the program when all optimizers have made their steps, or one has made many more."""
        self._before_step(optimizer, args, kwargs)
        ends = self._ends.setdefault(optimizer, [])
        ends.append(0 if self._driver is None else self._driver.end_ns())
        if len(ends) > len(self._longest):
            self._longest = ends
        if len(ends) >= self.steps and (len(ends) >= PATIENCE * self.steps or self._have_all_stepped()):
            raise Enough(0)

    def _have_all_stepped(self) -> bool:
        if any(len(ends) < self.steps for ends in self._ends.values()):
            return False
        optimizers = [obj for obj in gc.get_objects() if issubclass(type(obj), Optimizer)]  # a dead proxy has no class
        return all(optimizer in self._ends for optimizer in optimizers)

    def run(self, status: int, error: str) -> Run:
        """Return the measurements so far, as the result of the run."""
        ends = self._longest
        time = (ends[-1] - ends[0]) // (len(ends) - 1) if len(ends) > 1 and self._driver is not None else None
        peaks = [self._peak(device, log) for device, log in sorted(self._logs.items()) if log.best[0]]
        return Run(status, error, self.shortage, len(ends), time, peaks, self._sum)

    def _peak(self, device: int, log: DeviceLog) -> Peak:
        kinds = dict.fromkeys(KINDS, 0)
        for number, nbytes in log.live_at_peak().items():
            kinds[self._kinds.get(number, ACTIVATIONS)] += nbytes
        reserved, allocated = log.best
        kinds["fragmentation"] = reserved - allocated
        return Peak(device, reserved, allocated, kinds)


def tensors_in(value: Any) -> Iterator[Any]:
    """Return the tensors in nested dicts, lists and tuples."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def size(nbytes: int) -> str:
    """Format a number of bytes in the largest fitting unit."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.2f} {name}"
    return f"{nbytes} bytes"


def measure(run: Callable[[], int], meter: Meter, is_quiet: bool) -> Run:
    """Run a program and its threads, a function that returns a status or raises OutOfMemoryError, in a forked process.

    is_quiet: drop its output.  The child does not return: it ends with SystemExit and the program's status.
    """
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as errors:

        def job() -> None:
            if is_quiet:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(errors.fileno(), 2)
            _run_in_child(run, meter, answer)

        status, received = run_forked(job)
        answer.seek(0)
        errors.seek(0)
        text = answer.read()
        lines = errors.read().decode(errors="replace").split("\n")
        if received:
            name = signal.Signals(received).name
            seen = Run.from_json(text) if text else Run(0, "", "", 0, None, [])
            return seen._replace(status=128 + received, error=f"{name} ended the program", signal=received)
        if not text:
            what = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
            return Run(status or 1, f"the program {what}", "", 0, None, [])
        seen = Run.from_json(text)
        if seen.status and not seen.shortage:
            said = next((line for line in reversed(lines) if line and not line.startswith("hint:")), "")
            said = said or f"the program ended with exit status {seen.status}"
            seen = seen._replace(error="\nhint: ".join(part for part in (said, seen.error) if part))
        return seen


def _run_in_child(run: Callable[[], int], meter: Meter, answer: BinaryIO) -> None:
    meter.begin()
    ran_out, process = False, os.getpid()

    def finish(status: int) -> int:
        meter.end()
        if not ran_out:
            meter.shortage = ""
        answer.write(meter.run(status, READ_HINT if status and has_read() else "").to_json().encode())
        answer.flush()
        return status

    try:
        with before_exit(finish):
            status = run()
    except OutOfMemoryError as error:
        status, ran_out = 1, bool(meter.shortage)
        if not ran_out:  # memory of the host
            sys.excepthook(type(error), error, error.__traceback__)
    except KeyboardInterrupt:
        status = 130
    if os.getpid() != process:  # a fork of the program
        sys.exit(status)
    sys.exit(finish(status))


class Fit(NamedTuple):
    """The result for one card.

    fits: whether the program ran in the card's memory; None if it failed for another reason.
    run: the run on the card, or in unlimited memory if it did not fit.  shortage: where the card's memory ran out.
    batch: the largest batch that fits, None if none was searched for or none fits.
    next_batch: the next larger one, which does not fit, None if none was found;  why: why it does not fit.
    problem: why the search for a batch ended without that answer, with a hint, else "".
    signal: SIGINT or SIGTERM, if it ended the measurement, else 0.
    """

    card: str
    fits: bool | None
    run: Run
    shortage: str = ""
    batch: int | None = None
    next_batch: int | None = None
    why: str = ""
    problem: str = ""
    signal: int = 0

    @property
    def capacity(self) -> int:
        return card(self.card).total_memory

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data; sizes in bytes."""
        peak = self.run.peak
        return {
            "card": self.card,
            "capacity": self.capacity,
            "fits": self.fits,
            "peak": None if peak is None else peak.reserved,
            "peak_allocated": None if peak is None else peak.allocated,
            "kinds": None if peak is None else peak.kinds,
            "devices": [peak._asdict() for peak in self.run.peaks],
            "shortage": self.shortage,
            "steps": self.run.steps,
            "step_ms": None if self.run.step_ns is None else self.run.step_ns / 1e6,
            "is_modelled": True,
            "is_calibrated": card(self.card).is_calibrated,
            "status": self.run.status,
            "error": self.run.error or (self.problem if self.fits is None else ""),
            "batch": self.batch,
            "next_batch": self.next_batch,
            "why_not": self.why,
            "problem": self.problem,
        }


class Question(NamedTuple):
    """A program to measure, and the settings of the measurement.

    run: runs the program with a batch size (None: without its option for one) and returns its exit status.
    steps, values: see Meter.  option: the name of the option.
    """

    run: Callable[[int | None], int]
    steps: int = STEPS
    values: bool = False
    option: str = "the batch size"

    def on(self, card: str, is_quiet: bool, batch: int | None = None) -> Fit:
        """Measure whether the program fits a card, and how much memory it needs."""
        run = self._measure(card, 0, is_quiet, batch)
        if not run.shortage or run.signal:
            return Fit(card, None if run.error else True, run, batch=batch, signal=run.signal)
        ample = self._measure(card, UNLIMITED, True, batch)
        return Fit(card, False, ample, run.shortage, signal=ample.signal)

    def largest_batch(self, card: str, is_quiet: bool, first: int, tell: Callable[[int, str], None]) -> Fit:
        """Find the largest batch that fits a card, by doubling and bisection from `first` on.

        The search ends early if the peak does not depend on the batch.
        tell: called with each batch that was tried, and its outcome: "fits", "does not fit" or another failure.
        """
        best: Fit | None = None
        low, high, batch, why = 0, None, first, ""
        while low < MAX_BATCH if high is None else high - low > 1:
            run = self._measure(card, 0, is_quiet or low > 0 or high is not None, batch)
            if run.signal:
                problem = f"{signal.Signals(run.signal).name} ended the search"
                fit = Fit(card, None, run) if best is None else best._replace(next_batch=high, why=why)
                return fit._replace(problem=problem, signal=run.signal)
            why_not = f"out of memory at {run.shortage}" if run.shortage else run.error
            if not why_not and (run.peak is None or (best is not None and best.run.steps > run.steps)):
                why_not = f"the program made {run.steps} steps" if run.peak is not None else "the program used no GPU"
            outcome = "does not fit" if run.shortage else f"failed: {why_not}".partition("\n")[0]
            tell(batch, outcome if why_not else "fits")
            if why_not:
                high, why = batch, why_not
                if high == 1 and not run.shortage:
                    return self._failed(card, run._replace(error=why_not))
                batch = (low + high) // 2 if low else 1  # 1 shows whether any batch fits
                continue
            factor = 2
            if best is not None and high is None and run.peaks == best.run.peaks:
                if batch > 2 * low:  # FAR times as much
                    return self._unchanged(best, run, batch, low == 2 * first)
                factor = FAR
            low, best = batch, Fit(card, True, run, batch=batch)
            batch = min(factor * low, MAX_BATCH) if high is None else (low + high) // 2
        if best is None:
            fit = self.on(card, True, 1)._replace(next_batch=high, why=why, batch=None)
            if fit.fits is False and self._measure(card, UNLIMITED, True, FAR) == fit.run:
                return fit._replace(problem=self._without_effect(1, FAR))
            return fit
        return best._replace(next_batch=high, why=why)

    def _failed(self, card: str, run: Run) -> Fit:
        """The result where the program fails with a batch of 1, and not for a lack of memory."""
        without = self._measure(card, 0, True, None)
        if without.error or not (without.shortage or without.peak):
            return Fit(card, None, run)
        problem = f"the program runs without {self.option}, and fails with {self.option} 1: {run.error}"
        return Fit(card, None, run, problem=f"{problem.rstrip(': ')}\n{OPTION_HINT}")

    def _unchanged(self, best: Fit, run: Run, batch: int, is_first: bool) -> Fit:
        """The result where the peak with `batch` is that of `best`.  is_first: whether all smaller ones have it too."""
        assert best.batch is not None
        if is_first and run == best.run:  # so are the time and the sum of the allocations
            return Fit(best.card, None, run, problem=self._without_effect(best.batch, batch))
        problem = (
            f"the peak is the same with {self.option} {best.batch}\n"
            "hint: the program may have fewer samples, or its memory does not depend on the option"
        )
        return Fit(best.card, True, run, batch=batch, problem=problem)

    def _without_effect(self, one: int, other: int) -> str:
        return f"{self.option} has no effect: the program does the same with {one} and with {other}\n{OPTION_HINT}"

    def _measure(self, card: str, memory: int, is_quiet: bool, batch: int | None) -> Run:
        return measure(lambda: self.run(batch), Meter(card, memory, self.steps, self.values), is_quiet)

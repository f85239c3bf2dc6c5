"""The engine of virtual GPUs: submits commands, waits for them, and models their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import callers
from ...config import Gpus, slowdown
from ...core.queue import CallCount
from ...errors import AcceleratorError, FlambeauError, KernelReferenceError
from ...vector_clock import Clock, VectorClocks
from .access import TAKING, MemoryAccess
from .capture import Captures
from .card import card
from .clock import CopyEngine, HostClocks, Late, settled
from .memory import Block, Memory
from .queue import (
    Awaited,
    Join,
    Queue,
    Runner,
    run_copy,
    run_copy_from_host,
    run_copy_to_host,
    run_fill,
    run_reference,
)  # fmt: skip
from .races import HOST, Races, Witness, unfinished
from .schedule import Schedule
from .space import reservable
from .submission import BusySpans, Submission

COMPUTING = frozenset({run_reference, run_copy, run_copy_from_host, run_copy_to_host, run_fill})


class Engine(Submission):
    """The state and time model behind the driver's calls."""

    def __init__(self, choice: Gpus, schedule: Schedule, lock: Any) -> None:
        self.card = card(choice.preset)
        total = choice.memory or self.card.total_memory
        if choice.values and not choice.memory:
            total = reservable(total, choice.count)
        self.memory = Memory([total] * choice.count, choice.values)
        self.clocks = VectorClocks()
        self.clock = HostClocks()
        self.runner = Runner(schedule, fixed_values=choice.races != "real", lock=lock)
        self.computes = choice.values
        self.left_out = frozenset() if choice.values else COMPUTING
        poisons = choice.values or choice.races != "poison"  # without values there is nothing to poison
        self.races = Races(self.clocks, choice.races if poisons else "real", self.runner.explores)
        self.copies_in = [CopyEngine() for _ in range(choice.count)]
        self.copies_out = [CopyEngine() for _ in range(choice.count)]
        self.kernels = [BusySpans() for _ in range(choice.count)]
        self.copies = [BusySpans() for _ in range(choice.count)]
        self.slowdown = slowdown()
        self.captures = Captures()
        self.host_races = 0  # host accesses that conflicted with unfinished work
        self.order = CallCount()  # of all streams
        self.order.count = 0
        self.queries = 0  # queries of streams and events by the program

    def watch(self, witness: Witness | None) -> None:
        """Report order and races to a tool from now on; None ends it."""
        self.clocks.witness = witness
        self.races.watch(witness)

    def take_pinned(self, block: Block, nbytes: int) -> None:
        """Record an allocation of pinned memory: a write by the host, after all work that the host has waited for."""
        access = MemoryAccess.whole(block.low, block.low + nbytes)
        taking = self.races.take(HOST, access, [block])
        if self.races.witness is not None:
            self.races.witness.begins(None, 0, callers.call_site())
        if taking.conflicts:
            call = callers.call()
            self.races.meet(None, TAKING, call, self.races.host_waited, taking.conflicts)
        self.races.mark(None, HOST, taking.conflicts)
        block.history = taking.history

    def check_host(self, access: MemoryAccess, block: Block) -> None:
        """Report a host access to pinned memory that conflicts with work that the host has not waited for.

        Under a schedule that may run more than a wait needs, the conflicting work may run before or after the access.
        Raises: RaceError under races="error".
        """
        if self.races.witness is not None:
            self.races.witness.begins(None, self.host_races + 1, callers.call_site())
        races = self.races.compare(HOST, [access], [block], [block.history])
        if races is not None and races.conflicts:
            what, _, where = callers.caller().partition(" at ")
            site = where.rpartition(" on thread ")[0]
            self.races.meet(None, HOST, (site, what), self.races.host_waited, races.conflicts, [access])
            self.host_races += 1
            if self.runner.explores:
                self.runner.run_before_host(self.host_races)

    def publish(self, queue: Queue) -> None:
        """Run a queue's commands, and write pending poison that other processes may read.  Takes no modelled time."""
        self.runner.run_until(queue.tail())
        memory = self.memory.devices[queue.device]
        for low, high in memory.space.exported.within(memory.space.base, memory.space.base + memory.total):
            for block in memory.live_in(low, high):
                memory.space.materialise(block.low, block.high)

    def wait(self, awaited: Awaited | None, end_ns: int, late: Late | None, clock: Clock) -> None:
        """Make the host wait for work that ends at `end_ns`; its later work then follows everything in `clock`."""
        self.runner.run_until(awaited)
        self.block_host(settled(end_ns, late)[0])
        self.clocks.host_learn(clock)

    def wait_for_queue(self, queue: Queue) -> None:
        self.wait(queue.tail(), queue.end_ns, queue.late, self.clocks.snapshot(queue.handle))

    def wait_for_device(self, device: int) -> None:
        queues = [queue for queue in self.runner.queues if queue.device == device]
        tails = [tail for queue in queues if (tail := queue.tail()) is not None]
        self.runner.run_until(tails[0] if len(tails) == 1 else Join(tails))
        for queue in queues:
            self.wait_for_queue(queue)
            if queue.is_retired:
                self.runner.queues.pop(queue, None)  # `retire` may remove it during the wait

    def retire(self, queue: Queue) -> None:
        """Retire a destroyed stream's queue, kept for `wait_for_device` until the host knows that its work is done."""
        queue.is_retired = True
        if queue.last is None or self.clocks.host_knows(queue.handle, queue.last.number):
            del self.runner.queues[queue]

    def wait_for_users(self, blocks: Sequence[Block]) -> None:
        """Wait for unfinished work on the blocks.  This orders nothing: the program did not ask for the wait."""
        for command in unfinished(blocks):
            self.runner.run_until(command)
            self.block_host(settled(command.end_ns, command.late)[0])

    def run_users(self, blocks: Sequence[Block]) -> None:
        """Run unfinished work on the blocks."""
        for command in unfinished(blocks):
            self.runner.run_until(command)

    def drain(self) -> list[FlambeauError]:
        """Run all queued work on devices that have not failed; return the new failures."""
        known = set(self.runner.failures)
        failed: list[FlambeauError] = []
        for queue in list(self.runner.queues):
            is_done = False
            while not is_done and queue.device not in self.runner.failures:
                try:
                    self.runner.run_until(queue.tail())
                    is_done = True
                except KernelReferenceError as error:  # other commands can still run
                    failed.append(error)
                except AcceleratorError:
                    is_done = True
                except FlambeauError as error:  # from a collective of several processes
                    failed += [] if getattr(error, "is_repeated", False) else [error]
        return failed + [failure for device, failure in self.runner.failures.items() if device not in known]

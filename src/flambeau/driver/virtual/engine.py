"""Submitting work and waiting for it: where queues, memory, happens-before and the clock meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ... import trace
from ...config import Gpus
from ...hooks import hooks
from ...order import HOST, Clock, Order
from .activity import Activity
from .capture import Captures
from .clock import CopyEngine, HostClocks, preset
from .memory import Block, DeviceMemory, Memory
from .queue import Command, Queue, Runner, Work
from .races import Races, unfinished
from .schedule import Schedule
from .space import reservable
from .touch import TAKING, Touch
from .work import run_poison

MAX_PENDING = 1024  # commands per stream


def _nbytes(command: Command) -> int:
    """The bytes that a copy or a fill moves, or that lie within a kernel's operands."""
    touches = command.touches[:1] if command.name.split()[0] in ("copy", "fill") else command.touches
    return sum(each.high - each.low for each in touches)


class Engine:
    """The machine behind the calls.  Callers hold the driver's lock."""

    def __init__(self, choice: Gpus, schedule: Schedule) -> None:
        self.preset = preset(choice.preset)
        self.memory = Memory([choice.memory or reservable(self.preset.total_memory, choice.count)] * choice.count)
        self.order = Order()
        self.clock = HostClocks()
        self.races = Races(self.order, choice.races)
        # Values must not depend on the schedule unless races are real; then only ancestors may run.
        self.runner = Runner(schedule, schedule.ancestors_only or choice.races != "real")
        self.copies_in = [CopyEngine() for _ in range(choice.count)]
        self.copies_out = [CopyEngine() for _ in range(choice.count)]
        self.kernels = [Activity() for _ in range(choice.count)]
        self.work = [Activity() for _ in range(choice.count)]  # of kernels and copies
        self.captures = Captures()
        self._sequence = 0

    def submit(
        self,
        queue: Queue,
        name: str,
        work: Work,
        detail: Any,
        touches: Sequence[Touch],
        blocks: Sequence[Block],
        duration_ns: int,
        host_ns: int,
        engines: Sequence[CopyEngine] = (),
        site: str = "",
        called: str = "",
    ) -> None:
        """Put a command on a queue, or write it down if that is capturing.

        site, called: where it was called and as what, if not here.

        Raises RaceError, or the failure of a command that had to run to make room.
        """
        if queue.capture is not None:
            self.clock.spend(host_ns)
            queue.capture.record(queue, name, work, detail, touches, blocks, duration_ns, engines)
            return
        if not site:
            site, called = trace.call()
        conflicts = self.races.check(queue, name, (site, called), touches, blocks)
        self._make_room(queue)
        command = Command(queue, name, work, detail, touches, blocks, site)
        command.called = called
        start = now = self.clock.spend(host_ns)
        if queue.end_ns > start:
            start = queue.end_ns
        for engine in engines:
            start = max(start, engine.free_ns)
        self._sequence += 1
        command.sequence = self._sequence
        command.number, command.known = self.order.advance(queue.handle)
        command.end_ns = queue.end_ns = start + duration_ns
        for engine in engines:
            engine.free_ns = command.end_ns
        if work is not run_poison:
            self._observe(command, start, now, bool(engines))
        if conflicts:
            self.races.mark(command, conflicts)
        self.races.record(command)
        queue.pending.append(command)
        queue.last = command
        queue.waits = ()

    def _observe(self, command: Command, start_ns: int, now_ns: int, is_copy: bool) -> None:
        """Tell those who watch that a command has its times."""
        device = command.queue.device
        self.work[device].add(start_ns, command.end_ns, now_ns)
        if not is_copy:
            self.kernels[device].add(start_ns, command.end_ns, now_ns)
        if hooks.on_span is not None:
            site = command.site or trace.call_site()
            stream = 0 if command.queue.is_default else command.queue.handle
            hooks.on_span(device, stream, command.name, start_ns, command.end_ns, _nbytes(command), site)

    def _make_room(self, queue: Queue) -> None:
        """A full queue holds the host up until its oldest command is done."""
        if len(queue.pending) >= MAX_PENDING:
            oldest = queue.pending[0]
            self.clock.reach(oldest.end_ns)
            self.runner.run_until([oldest])

    def take_block(self, queue: Queue, low: int, high: int) -> None:
        """Queue the poison of a new block, which follows whatever its bytes were used for.

        A block that its own stream takes again, as most are, is poisoned by the stream's last command, once that ran.
        """
        memory = self.memory.devices[queue.device]
        if queue.capture is not None:
            queue.capture.check("block_taken")
            memory.room_for(low, high)
            block = memory.take_for_graph(low, high)
            self.submit(queue, TAKING, run_poison, None, [Touch.whole(low, high)], [block], 0, 0)
            return
        again = memory.dead.at.get(low)
        if again is None or again.high != high or queue.waits or not self.races.retake(again, queue.handle, queue.last):
            self._take_new_block(queue, memory, low, high)
            return
        memory.revive(again)
        if queue.last is None or queue.last.done:
            again.space.poison(low, high)
        else:
            queue.last.ruin(again.space, ((low, high),))

    def _take_new_block(self, queue: Queue, memory: DeviceMemory, low: int, high: int) -> None:
        touch = Touch.whole(low, high)
        pieces = memory.room_for(low, high)
        call = trace.call() if self.races.wants_sites else ("", "")
        self.races.check(queue, TAKING, call, [touch] * len(pieces), pieces)
        self._make_room(queue)
        block = memory.take(low, high, self.races.inherit(pieces, touch, queue.handle))
        self.submit(queue, TAKING, run_poison, None, [touch], [block], 0, 0)

    def publish(self, queue: Queue) -> None:
        """Run what a queue has, and write the poison that other processes may read.  The host waits for nothing."""
        self.runner.run_until(queue.tail())
        memory = self.memory.devices[queue.device]
        for low, high in memory.space.exported.within(memory.space.base, memory.space.base + memory.total):
            for block in memory.live.overlapping(low, high):
                memory.space.materialise(block.low, block.high)

    def wait(self, commands: Iterable[Command], end_ns: int, clock: Clock) -> None:
        """The host waits for work that is done at `end_ns`, and knows everything in `clock` from then on."""
        self.runner.run_until(commands)
        self.clock.reach(end_ns)
        self.order.learn(HOST, clock)

    def wait_for_queue(self, queue: Queue) -> None:
        self.wait(queue.tail(), queue.end_ns, self.order.snapshot(queue.handle))

    def wait_for_device(self, device: int) -> None:
        queues = [queue for queue in self.runner.queues if queue.device == device]
        self.runner.run_until([command for queue in queues for command in queue.tail()])
        for queue in queues:
            self.wait_for_queue(queue)
            if queue.is_retired and queue in self.runner.queues:  # `retire` may take it away while this waits
                self.runner.queues.remove(queue)

    def retire(self, queue: Queue) -> None:
        """A stream was destroyed: keep its queue for `wait_for_device`, unless the host knows that its work is done."""
        queue.is_retired = True
        if queue.last is None or self.order.host_knows(queue.handle, queue.last.number):
            self.runner.queues.remove(queue)

    def wait_for_users(self, blocks: Sequence[Block]) -> None:
        """Wait for whatever still touches one of the blocks."""
        for command in unfinished(blocks):
            self.wait([command], command.end_ns, {**command.known, command.queue.handle: command.number})

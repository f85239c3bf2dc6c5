"""Exchanges of virtual GPUs: collectives of several processes, as commands of a stream.

- An exchange is two commands.  The first reads the inputs and sends them to the other processes.  The second writes the
  outputs; its gate opens when all processes have sent their inputs.
- The inputs are sent as early as possible: by the call, or once their dependencies are done (`serve_exchanges`, which
  a thread of the process calls).  So a process serves the others whether or not its program waits.
- A stream sends inputs in the order of its calls, so only its first unsent exchange is examined: the cost of a call
  does not depend on the number of exchanges on its stream.
- A machine that computes no values sends none.
- The modelled end is the latest start of all processes plus the time of the links (parallel/links.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from ...config import Gpus
from ...core.queue import hooks
from ...errors import AcceleratorError, FlambeauError
from ...kernel import Access
from ..api import Exchange, Step, StreamHandle
from .access import MemoryAccess
from .base import Calls
from .capture import CAPTURE_UNSUPPORTED
from .clock import settled
from .queue import Queue, Work, arrays_of
from .schedule import Schedule
from .submission import Command


class ExchangeCalls(Calls):
    """The exchange calls of the Driver."""

    def __init__(self, choice: Gpus, schedule: Schedule | None = None) -> None:
        super().__init__(choice, schedule)
        self._to_give: dict[Queue, deque[Command]] = {}  # by stream, in the order of the calls
        self._to_finish: deque[Command] = deque()

    def exchange(
        self, exchange: Exchange, inputs: Sequence[Access], outputs: Sequence[Access], stream: StreamHandle
    ) -> None:
        with self._lock:
            queue = self._queue(stream)
            if queue.capture is not None:
                what = f"{exchange.name}: a collective of several processes cannot be captured"
                self._captures.break_all([queue.capture], what, CAPTURE_UNSUPPORTED)
            engine = self._engine
            given = self._submit(queue, exchange, inputs, run_give, 0)
            start_ns, late = settled(given.end_ns, given.late)
            given.detail = exchange, start_ns, late, engine.computes
            self._to_give.setdefault(queue, deque()).append(given)
            written = self._submit(queue, exchange, outputs, run_finish, exchange.duration_ns)
            written.detail = exchange, engine.computes
            written.gate = exchange
            written.late = queue.late = {written: 0}
            engine.kernels[queue.device].add(start_ns, written.end_ns, engine.clock.now())
            if hooks.on_span is not None:
                engine.show(written, start_ns, late, exchange.nbytes)
            self._to_finish.append(written)
            self._serve()

    def _submit(
        self, queue: Queue, exchange: Exchange, operands: Sequence[Access], work: Work, duration_ns: int
    ) -> Command:
        engine = self._engine
        accesses = [MemoryAccess(operand, exchange.name) for operand in operands]
        blocks = [engine.memory.find(queue.device, access.low, access.high, exchange.name) for access in accesses]
        host_ns = engine.card.host.launch if work is run_give else 0
        engine.submit(queue, exchange.name, work, None, accesses, blocks, duration_ns, host_ns, is_seen=False)
        assert queue.last is not None
        return queue.last

    def runs_steps(self, steps: Sequence[Step]) -> bool:
        """Return False: values pass through `Exchange.give` and `finish`."""
        return False

    def exchange_failure(self) -> str:
        """Return "": `Exchange.finish` raises."""
        return ""

    def abort_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        """Run the exchanges of the streams of an aborted group, so that no later wait raises their errors.

        Exchanges of a group that has failed end by themselves.
        """
        with self._lock:
            queues = [self._queue(stream) for stream in streams or ()]
            for command in [entry for entry in self._to_finish if entry.queue in queues]:
                with suppress(FlambeauError):  # its outputs are poisoned
                    self._engine.runner.run_until(command)
            _drop_done(self._to_finish)

    def serve_exchanges(self) -> None:
        with self._lock:
            self._serve()

    def _serve(self) -> None:
        """Run the commands that send inputs, and their predecessors, up to those that wait for another process."""
        for queue, commands in list(self._to_give.items()):
            with suppress(AcceleratorError):  # later calls on the device report the error
                while commands and self._engine.runner.run_until(commands[0], waits=False, fails=False):
                    _drop_done(commands)
            if not commands:
                self._to_give.pop(queue, None)
        _drop_done(self._to_finish)

    def await_exchanges(self) -> None:
        with self._lock:
            failure: FlambeauError | None = None
            while self._to_finish:
                command = self._to_finish[0]
                try:
                    self._engine.runner.run_until(command)
                except FlambeauError as error:
                    failure = failure or error
                if self._to_finish and self._to_finish[0] is command:  # another thread may have done it meanwhile
                    self._to_finish.popleft()
            if failure is not None:
                raise failure

    def finish_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        if streams is None:  # exchanges of a single group hold no resources, and end by themselves
            self.await_exchanges()


def _drop_done(commands: deque[Command]) -> None:
    while commands and commands[0].done:
        commands.popleft()


def run_give(command: Command) -> None:
    """Send the inputs to the other processes.  Accesses: the inputs.  detail: the exchange and its modelled start."""
    exchange, start_ns, late, computes = command.detail
    exchange.give(arrays_of(command) if computes else (), settled(start_ns, late)[0])


def run_finish(command: Command) -> None:
    """Write the outputs, or poison if the exchange has failed.  Accesses: the outputs.  detail: the exchange."""
    exchange, computes = command.detail
    try:
        command.end_ns = max(command.end_ns, exchange.finish(arrays_of(command) if computes else None))
    except BaseException:
        for access, block in zip(command.accesses, command.blocks if computes else ()):
            block.space.poison(access.low, access.high)
        raise

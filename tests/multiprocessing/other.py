"""Another process for a test: it runs lines of Python that the test sends, one after another."""

from __future__ import annotations

import os
import signal
from typing import Any

import flambeau as torch
import flambeau.multiprocessing as mp

GRACE = 5.0  # seconds


def work(requests: Any, answers: Any, given: dict[str, Any]) -> None:
    """Run what is asked until asked to stop.  Names last from one request to the next."""
    names: dict[str, Any] = {"torch": torch, "mp": mp, **given}
    while True:
        try:
            asked = requests.get()
            if asked is None:
                return
            lines, values = asked
            del asked
            names.update(values)
            del values
            exec(lines, names)
            answers.put(("done", names.pop("answer", None)))
        except Exception as error:  # noqa: BLE001  (the test is told)
            answers.put(("failed", (type(error).__name__, str(error))))


class Other:
    """The other process, from the test's side.  given: names that it has from the start, such as queues."""

    def __init__(self, context: Any, **given: Any) -> None:
        self.requests, self.answers = context.SimpleQueue(), context.SimpleQueue()
        self.process = context.Process(target=work, args=(self.requests, self.answers, given), daemon=True)
        self.process.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def start(self, lines: str, **values: Any) -> None:
        """Have it run `lines`, in which `values` have their names; `finish` must follow."""
        self.requests.put((lines, values))

    def finish(self) -> tuple[str, Any]:
        """("done", what the lines called `answer`), or ("failed", (class, text))."""
        return self.answers.get()

    def do(self, lines: str, **values: Any) -> Any:
        """Run `lines` there; their `answer`."""
        self.start(lines, **values)
        outcome, answer = self.finish()
        assert outcome == "done", answer
        return answer

    def fails(self, lines: str, **values: Any) -> tuple[str, str]:
        """The class and text of the exception that `lines` raise there."""
        self.start(lines, **values)
        outcome, answer = self.finish()
        assert outcome == "failed", answer
        return answer

    def kill(self) -> None:
        """End it without giving it a chance."""
        os.kill(self.pid, signal.SIGKILL)
        self.process.join()

    def stop(self) -> None:
        """End it, politely unless it is waiting for something that a failed test never sent."""
        if self.process.is_alive():
            self.requests.put(None)
            self.process.join(GRACE)
            self.process.kill()
            self.process.join()
        self.process.close()
        for queue in (self.requests, self.answers):
            queue.close()

"""Timer and Measurement: time a Python statement, including the GPU work that it submits."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

from ..core import thread
from ..errors import ArgumentError, NotSupportedError
from ..runtime.control import synchronize
from ..runtime.host_threads import get_num_threads, set_num_threads

TRIAL = 0.005  # seconds: the shortest block of runs


class Measurement:
    """Measured times of a statement, which a Timer returns.

    raw_times: seconds of each block of `number_per_run` runs.  times: seconds of one run, for each block.
    mean, median, iqr: statistics of `times`; iqr is the distance between the first and the third quartile.
    Example:
        >>> from flambeau.utils.benchmark import Measurement
        >>> found = Measurement(10, [20.0, 40.0, 30.0], "add")
        >>> found.times, found.median, found.iqr
        ([2.0, 4.0, 3.0], 3.0, 1.0)
    """

    def __init__(self, number_per_run: int, raw_times: list[float], title: str) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.title = title

    @property
    def times(self) -> list[float]:
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def mean(self) -> float:
        return statistics.mean(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the first and the third quartile."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    def __repr__(self) -> str:
        runs = f"{len(self.raw_times)} measurements, {self.number_per_run} runs per measurement"
        return f"<Measurement {self.title}: median {self.median * 1e6:.2f} us, IQR {self.iqr * 1e6:.2f} us; {runs}>"


class Timer:
    """Measure the time of a Python statement, in this process.

    globals: the names that the statement uses.  num_threads: CPU threads for operators during the measurement.
    stmt, setup: source or a function.  timer: a clock in seconds.  label, sub_label, description: parts of the title.
    global_setup, env: have no effect.
    Host:   waits for the GPU before each reading of the clock, if CUDA has started.
    Raises: NotSupportedError for a language other than Python; ValueError or SyntaxError as `timeit.Timer`.
    Example:
        >>> from flambeau.utils.benchmark import Timer
        >>> timer = Timer("x + x", globals={"x": torch.ones(3)}, label="add")
        >>> measured = timer.timeit(10)
        >>> measured.title, measured.number_per_run, measured.mean > 0
        ('add', 10, True)
    """

    def __init__(
        self,
        stmt: Any = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "py",
    ) -> None:
        if str(getattr(language, "name", language)).lower() not in ("py", "python"):
            raise NotSupportedError(
                f"statements in {language!r} are not compiled",
                hint="pass Python statements, with language='python'",
                operator="Timer",
            )
        self.title = ": ".join(filter(None, (label or str(stmt), sub_label, description)))
        self.num_threads = num_threads
        self._clock = timer
        self._timer = timeit.Timer(stmt, setup, self._now, globals)

    def _now(self) -> float:
        if thread.has_machine() and thread.machine().devices:
            synchronize()
        return self._clock()

    def _run(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self.num_threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement `number` times after some warm-up runs, and return the measurement.

        Raises: ArgumentError if `number` is below 1; the errors of the statement.
        Example:
            >>> from flambeau.utils.benchmark import Timer
            >>> measured = Timer("sum(values)", "values = [1, 2]").timeit(5)
            >>> measured.number_per_run, len(measured.times)
            (5, 1)
        """
        if number < 1:
            raise ArgumentError(f"number must be at least 1, got {number}", hint="as in timeit(100)", operator="Timer")
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self.title)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Run the statement in blocks until they have taken `min_run_time` seconds; return the measurement.

        The number of runs of a block is chosen so that the block is long enough to time.
        callback: called with the number of runs and the seconds of each block.
        Raises: the errors of the statement.
        Example:
            >>> from flambeau.utils.benchmark import Timer
            >>> timer = Timer("sum(values)", "values = list(range(1000))")
            >>> measured = timer.blocked_autorange(min_run_time=0.01)
            >>> measured.number_per_run > 1, sum(measured.raw_times) >= 0.01
            (True, True)
        """
        number = 1
        while self._run(number) < TRIAL:
            number *= 2
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self.title)

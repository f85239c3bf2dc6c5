"""Profiles of some steps of a loop, by a schedule: what torch.profiler calls a profile.

- What is collected is what `flambeau.profile()` collects: the work of streams, and the ranges that the program named.
  PyTorch's profiler lists its own operators too; here an operator shows as the kernels that it launched.
- A step that is recorded is a range itself, `ProfilerStep#n`; averages have all steps as `ProfilerStep*`.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Any

from .. import callers
from ..errors import LACKING, ArgumentError, ArgumentTypeError, ModeError, NotSupportedError, shown
from ..runtime import profiler
from ..tensor import checks
from .averages import EventList, ProfilerActivity, events_of
from .profile import Profile


class ProfilerAction(IntEnum):
    """What is done with a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


COLLECTING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
Schedule = Callable[[int], ProfilerAction]
STEP = "ProfilerStep#"


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """For each step what is done with it: cycles of waiting, warming up and recording.

    repeat: how many cycles; 0 for as many as there are steps.  skip_first: steps before the first cycle.
    skip_first_wait: not 0 for a first cycle that does not wait.
    Raises: ArgumentError for negative numbers, or no active step.
    """
    for what, value in (("wait", wait), ("warmup", warmup), ("active", active), ("repeat", repeat)):
        checks.integer("schedule", what, value)
    checks.integer("schedule", "skip_first", skip_first)
    least = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first, "active": active - 1}
    bad = [f"{name}={value + (name == 'active')}" for name, value in least.items() if value < 0]
    if bad:
        raise ArgumentError(
            f"too small: {', '.join(bad)}", hint="active is at least 1, all others 0", operator="schedule"
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        at = step - skip_first + (wait if skip_first_wait else 0)
        if step < skip_first or (repeat and at >= repeat * cycle):
            return ProfilerAction.NONE
        place = at % cycle
        if place < wait + warmup:
            return ProfilerAction.NONE if place < wait else ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class SteppedProfile:
    """`with torch.profiler.profile(schedule=..., on_trace_ready=...) as p:` around a loop that calls `p.step()`.

    activities: CPU for named ranges, CUDA for the work of streams; both if None.
    schedule: what is done with each step; without it, everything inside the block is recorded.
    on_trace_ready: called with this object when a cycle, or the block, has been recorded.
    with_stack: events have the line that put them on their stream.  acc_events: events of all cycles are kept.
    use_cuda: the former switch for CUDA among the activities.
    record_shapes, profile_memory, with_flops, with_modules: not recorded; a warning says so.
    experimental_config, custom_trace_id_callback, post_processing_timeout_s: have no effect.
    step_num: how many steps are over.
    Host:   waits, at the end of what is recorded, for every device that was used.
    Raises: NoDeviceError if there is no GPU; ModeError if another profile is open; NotSupportedError for an
            execution_trace_observer.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[SteppedProfile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        _warn_unrecorded(
            record_shapes=record_shapes, profile_memory=profile_memory, with_flops=with_flops, with_modules=with_modules
        )
        if execution_trace_observer is not None:
            raise NotSupportedError("execution_trace_observer does not exist", hint=LACKING, operator="profile")
        for what, each in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if each is not None:
                checks.function("profile", what, each)
        self.activities = frozenset(supported_activities()) if activities is None else _checked(activities)
        if use_cuda is not None:
            callers.warn("profile: use_cuda is deprecated, use activities instead")
            cuda = {ProfilerActivity.CUDA}
            self.activities = self.activities | cuda if use_cuda else self.activities - cuda
        self._with_stack = with_stack
        self._keeps_all = acc_events
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._schedule = schedule or _always
        self._names_steps = schedule is not None
        self._action = ProfilerAction.NONE
        self._range: int | None = None
        self._open: Profile | None = None
        self._found: list[Profile] = []

    def __enter__(self) -> SteppedProfile:
        self.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._stop(error)

    def start(self) -> None:
        """Begin with step 0."""
        self._enter(self._schedule(self.step_num))

    def step(self) -> None:
        """The next step begins."""
        self._end_step()
        saves = self._action is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        following = self._schedule(self.step_num)
        if self._open is not None and (saves or following not in COLLECTING):
            self._end()
            if saves:
                self._hand_over()
        self._enter(following)

    def stop(self) -> None:
        """The last step is over."""
        self._stop(None)

    def _stop(self, error: object) -> None:
        self._end_step()
        self._action = ProfilerAction.NONE
        if self._open is not None:
            self._end(error)
            self._hand_over()

    def _enter(self, action: ProfilerAction) -> None:
        self._action = action
        if action in COLLECTING:
            if self._open is None:
                self._open = Profile().__enter__()
            if self._names_steps:
                self._range = profiler.range_start(f"{STEP}{self.step_num}")

    def _end_step(self) -> None:
        if self._range is not None:
            profiler.range_end(self._range)
            self._range = None

    def _end(self, error: object = None) -> None:
        """Keep what was collected.  error: what ended the block, if something did."""
        done, self._open = self._open, None
        if done is not None:
            self._found = [*self._found, done] if self._keeps_all else [done]
            done.__exit__(None, error, None)

    def _hand_over(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _results(self, name: str) -> list[Profile]:
        if not self._found:
            raise ModeError(
                "nothing has been recorded", hint="call it after a recorded step, or after stop()", operator=name
            )
        return self._found

    def _events(self, name: str) -> EventList:
        parts = [events_of(each, self.activities, self._with_stack) for each in self._results(name)]
        return EventList([event for part in parts for event in part])

    def events(self) -> EventList:
        """What was recorded last, or in all cycles if acc_events, by its begin.  Raises ModeError if nothing was."""
        return self._events("events")

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events' sums by name.  Raises ModeError if nothing was recorded.

        group_by_stack_n: how many entries of their stacks must be the same too.
        group_by_input_shape, group_by_overload_name: have no effect: neither is recorded.
        """
        return self._events("key_averages").key_averages(group_by_stack_n)

    def export_chrome_trace(self, path: str | os.PathLike[str], use_python_export: bool = False) -> None:
        """Write what was recorded last for Chrome's trace viewer, which Perfetto reads too.  Raises ModeError.

        A path that ends in .gz makes a compressed file.  use_python_export has no effect.
        """
        self._results("export_chrome_trace")[-1].export_chrome_trace(path)


def _warn_unrecorded(**asked: bool) -> None:
    for name, wanted in asked.items():
        if wanted:
            callers.warn(f"profile: {name}=True has no effect: a profile holds kernels, copies and named ranges")


def _checked(activities: Any) -> frozenset[ProfilerActivity]:
    """What is asked for.  Raises ArgumentTypeError for what is no list of activities."""
    found = checks.listed("profile", "activities", "activities", activities)
    for place, each in enumerate(found):
        if not isinstance(each, ProfilerActivity):
            raise ArgumentTypeError(
                f"activities[{place}] must be a ProfilerActivity, got {shown(each)}",
                hint="use ProfilerActivity.CPU or ProfilerActivity.CUDA",
                operator="profile",
            )
    return frozenset(found)


def supported_activities() -> set[ProfilerActivity]:
    """What can be asked for."""
    return set(ProfilerActivity)


def record_function(name: str, args: str | None = None) -> AbstractContextManager[None]:
    """A block, or the calls of a function, as a named range of profiles.  args: added to the name."""
    return profiler.named(name if args is None else f"{name}({args})")


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[SteppedProfile], None]:
    """Make a function for `on_trace_ready` that writes each trace to a file of its own in a directory.

    use_gzip: the files are compressed.  use_python_export has no effect.
    """
    ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(profile: SteppedProfile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        profile.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return write

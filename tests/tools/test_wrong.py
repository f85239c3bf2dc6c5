"""Wrong arguments of explain, schedules, profiles and their tables."""

import flambeau as torch
from flambeau import profiler
from flambeau.tools.profiler import EventList
from tests.wrong import cases, refused


@cases(
    (lambda: torch.explain(3), TypeError, "explain: call must be callable, got 3"),
    (lambda: profiler.schedule(wait=-1, warmup=0, active=0), ValueError, "schedule: too small: wait=-1, active=0"),
    (lambda: profiler.schedule(wait="x", warmup=0, active=1), TypeError, "schedule: wait must be an int, got 'x'"),
    (lambda: profiler.profile(activities=3), TypeError, "profile: activities must be a list of activities, got 3"),
    (
        lambda: profiler.profile(activities=["cpu"]),
        TypeError,
        "profile: activities[0] must be a ProfilerActivity, got 'cpu'",
    ),
    (lambda: profiler.profile(schedule=3), TypeError, "profile: schedule must be callable, got 3"),
    (lambda: profiler.profile(on_trace_ready="x"), TypeError, "profile: on_trace_ready must be callable, got 'x'"),
    (lambda: profiler.profile().events(), RuntimeError, "events: nothing has been recorded"),
    (lambda: EventList().total_average(), ValueError, "total_average: there are no events"),
    (lambda: EventList().table(sort_by="x"), ValueError, "table: sort_by='x' is unknown"),
    (lambda: EventList().table(sort_by=3), ValueError, "table: sort_by=3 is unknown"),
    (lambda: EventList().table(row_limit="x"), TypeError, "table: row_limit must be an int, got 'x'"),
)
def test_wrong_calls(call, error, begins):
    refused(call, error, begins)

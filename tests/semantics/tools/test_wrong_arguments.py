"""Wrong arguments of explain, schedules, profiles and their tables."""

import flambeau as torch
from flambeau import profiler
from flambeau.tools.profiler import EventList
from tests.wrong import cases, refused


@cases(
    (lambda: torch.explain(3), TypeError, "explain", "3"),
    (lambda: profiler.schedule(wait=-1, warmup=0, active=0), ValueError, "schedule", "-1", "0"),
    (lambda: profiler.schedule(wait="x", warmup=0, active=1), TypeError, "schedule", "'x'"),
    (lambda: profiler.profile(activities=3), TypeError, "profile", "3"),
    (lambda: profiler.profile(activities=["cpu"]), TypeError, "profile", "'cpu'"),
    (lambda: profiler.profile(schedule=3), TypeError, "profile", "3"),
    (lambda: profiler.profile(on_trace_ready="x"), TypeError, "profile", "'x'"),
    (lambda: profiler.profile().events(), RuntimeError, "events"),
    (lambda: EventList().total_average(), ValueError, "total_average"),
    (lambda: EventList().table(sort_by="x"), ValueError, "table", "'x'"),
    (lambda: EventList().table(sort_by=3), ValueError, "table", "3"),
    (lambda: EventList().table(row_limit="x"), TypeError, "table", "'x'"),
)
def test_wrong_calls(case):
    refused(*case)

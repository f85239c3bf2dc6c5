# Written by scripts/stubs, not by hand.
from ..tools.profiler import ProfilerAction as ProfilerAction
from ..tools.profiler import ProfilerActivity as ProfilerActivity
from ..tools.profiler import SteppedProfile as profile
from ..tools.profiler import _always as _default_schedule_fn
from ..tools.profiler import schedule as schedule
from ..tools.profiler import supported_activities as supported_activities
from ..tools.profiler import tensorboard_trace_handler as tensorboard_trace_handler
__all__ = ["ProfilerAction", "ProfilerActivity", "_default_schedule_fn", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]

# Written by scripts/stubs, not by hand.
from . import profiler as profiler
from ..tools.profiler import ProfilerAction as ProfilerAction
from ..tools.profiler import ProfilerActivity as ProfilerActivity
from ..tools.profiler import SteppedProfile as profile
from ..tools.profiler import kineto_available as kineto_available
from ..tools.profiler import record_function as record_function
from ..tools.profiler import schedule as schedule
from ..tools.profiler import supported_activities as supported_activities
from ..tools.profiler import tensorboard_trace_handler as tensorboard_trace_handler
from ..tools.profiler import trace as trace
__all__ = ["ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "profiler", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler", "trace"]

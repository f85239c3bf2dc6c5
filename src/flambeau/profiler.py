"""torch.profiler: records the work of some steps of a loop."""

from .tools.profiler import (
    ProfilerAction,
    ProfilerActivity,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
    trace,
)
from .tools.profiler import SteppedProfile as profile

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities",
    "tensorboard_trace_handler", "trace",
]  # fmt: skip

"""torch.profiler: what ran when in some steps of a loop."""

from .tools.averages import ProfilerActivity
from .tools.stepped import ProfilerAction, record_function, schedule, supported_activities, tensorboard_trace_handler
from .tools.stepped import SteppedProfile as profile

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities",
    "tensorboard_trace_handler",
]  # fmt: skip

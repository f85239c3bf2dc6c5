"""torch.cuda.profiler: when NVIDIA's profilers collect."""

from ..runtime.profiler import profile, start, stop

__all__ = ["profile", "start", "stop"]

"""The time model of virtual GPUs: durations of work by GPU preset, and the clocks of host threads.

- Times are whole nanoseconds since the machine was made.  They depend on the calls made, never on the schedule.
- Each host thread has a clock: every driver call costs it a fixed time, and a wait moves it to the awaited completion.
- Work starts when the host has submitted it, its stream and the events it waits for are through, and, for copies,
  the device's copy engine of that direction is free.  It ends one modelled duration later.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ...errors import ConfigError
from ...library_operation import Attention, AttentionBackward, Convolution, Gemm, LibraryOperation
from ..api import DeviceProperties


@dataclass(frozen=True)
class Preset:
    """The figures of one GPU model.  `_ns`: host time per call unless noted;  rates: bytes or operations per ns."""

    name: str
    major: int
    minor: int
    total_memory: int  # bytes
    multi_processor_count: int
    max_threads_per_multi_processor: int
    l2_cache_size: int  # bytes
    clock_mhz: int  # of the multiprocessors, at their fastest
    launch_ns: int  # any order call that starts work
    record_ns: int
    call_ns: int  # queries, waits and everything else
    mem_alloc_ns: int
    kernel_start_ns: int  # device time
    memory_rate: float  # bytes read plus bytes written
    pinned_in_rate: float
    pinned_out_rate: float
    pageable_in_rate: float
    pageable_out_rate: float
    peer_rate: float
    elementwise_rate: float
    tf32_rate: float
    gemm_rates: dict[str, float] = field(default_factory=dict)
    attention_rates: dict[str, float] = field(default_factory=dict)  # by library operation, for half types

    @property
    def arch(self) -> str:
        """The architecture, such as "sm_90"."""
        return f"sm_{self.major}{self.minor}"

    def kernel_ns(self, nbytes: int, operations: float) -> int:
        """Device time of a kernel that accesses `nbytes` bytes."""
        return self.kernel_start_ns + int(max(nbytes / self.memory_rate, operations / self.elementwise_rate))

    def gemm_ns(self, problem: Gemm | Convolution, nbytes: int) -> int:
        """Device time of a matrix product, or of a convolution, that accesses `nbytes` bytes."""
        rate = self.gemm_rates.get(problem.dtype.name, self.elementwise_rate)
        if problem.allow_tf32 and problem.dtype.name == "float32":
            rate = self.tf32_rate
        return self.kernel_start_ns + int(max(nbytes / self.memory_rate, problem.operations / rate))

    def attention_ns(self, problem: Attention | AttentionBackward, nbytes: int) -> int:
        """Device time of attention, or of its gradients, that accesses `nbytes` bytes."""
        forward = problem.forward if isinstance(problem, AttentionBackward) else problem
        rate = self.gemm_rates.get(forward.dtype.name, self.elementwise_rate)
        if forward.dtype.itemsize == 2:
            rate = self.attention_rates[problem.kind]
        return self.kernel_start_ns + int(max(nbytes / self.memory_rate, problem.operations / rate))

    def within(self, share: float, duration_ns: int) -> int:
        """Device time on a share of the multiprocessors of work that takes `duration_ns` on all of them."""
        if share == 1:
            return duration_ns
        return self.kernel_start_ns + int((duration_ns - self.kernel_start_ns) / share)

    def library_ns(self, problem: LibraryOperation, nbytes: int) -> int:
        """Device time of a library call that accesses `nbytes` bytes."""
        if isinstance(problem, (Gemm, Convolution)):
            return self.gemm_ns(problem, nbytes)
        if isinstance(problem, (Attention, AttentionBackward)):
            return self.attention_ns(problem, nbytes)
        return self.kernel_ns(nbytes, problem.operations)

    def properties(self, device: int, total_memory: int) -> DeviceProperties:
        return DeviceProperties(
            name=self.name,
            major=self.major,
            minor=self.minor,
            total_memory=total_memory,
            multi_processor_count=self.multi_processor_count,
            max_threads_per_multi_processor=self.max_threads_per_multi_processor,
            warp_size=32,
            l2_cache_size=self.l2_cache_size,
            uuid=f"GPU-{device:08x}-0000-0000-0000-000000000000",
        )


# Measured on one H200 and, between GPUs, on a host with NVLink.
H200 = Preset(
    name="Virtual H200",
    major=9,
    minor=0,
    total_memory=150_754_820_096,
    multi_processor_count=132,
    max_threads_per_multi_processor=2048,
    l2_cache_size=60 << 20,
    clock_mhz=1980,
    launch_ns=3_300,
    record_ns=1_400,
    call_ns=1_000,
    mem_alloc_ns=60_000,
    kernel_start_ns=1_000,
    memory_rate=4_260.0,
    pinned_in_rate=55.4,
    pinned_out_rate=55.2,
    pageable_in_rate=7.8,
    pageable_out_rate=13.8,
    peer_rate=391.0,
    elementwise_rate=60_000.0,
    tf32_rate=343_000.0,
    gemm_rates={"bfloat16": 756_000.0, "float16": 756_000.0, "float32": 51_000.0, "float64": 60_000.0},
    attention_rates={"attention": 420_000.0, "attention_backward": 372_000.0},
)
PRESETS = {"h200": H200}


def preset(name: str) -> Preset:
    """Return the preset of a name.  Raises ConfigError if there is none."""
    if name not in PRESETS:
        raise ConfigError(f"virtual GPUs: preset={name!r} is unknown", hint=f"use one of {', '.join(sorted(PRESETS))}")
    return PRESETS[name]


class HostClocks:
    """The clocks of host threads.  A new thread starts at the latest time of all threads."""

    def __init__(self) -> None:
        self._thread = threading.local()
        self._latest_ns = 0

    def now(self) -> int:
        return self.spend(0)

    def spend(self, ns: int) -> int:
        """Advance the calling thread's clock by `ns`; return its new time."""
        now: int = getattr(self._thread, "now_ns", self._latest_ns) + ns
        self._thread.now_ns = now
        if now > self._latest_ns:
            self._latest_ns = now
        return now

    def reach(self, time_ns: int) -> None:
        """Advance the calling thread's clock to `time_ns` if that is later."""
        late = time_ns - self.now()
        if late > 0:
            self.spend(late)


class CopyEngine:
    """A copy engine: one direction of one device's copies, one copy at a time."""

    __slots__ = ("free_ns",)

    def __init__(self) -> None:
        self.free_ns = 0

"""The time model of virtual GPUs: durations of work by GPU preset, and the clocks of host threads.

- Times are whole nanoseconds since the machine was made.  They depend on the calls made, never on the schedule.
- Each host thread has a clock: every driver call costs it a fixed time, and a wait moves it to the awaited completion.
- Times of work that follows a collective of several processes are known when that has run (`Late`): until then, a time
  is the earliest possible one, and what it depends on besides.
- Work starts when the host has submitted it, its stream and the events it waits for are through, and, for copies,
  the device's copy engine of that direction is free.  It ends one modelled duration later.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import ConfigError
from ...library_operation import Attention, AttentionBackward, Convolution, Gemm, LibraryOperation
from ..api import DeviceProperties


@dataclass(frozen=True)
class Preset:
    """The figures of one GPU model.  `_ns`: host time per call unless noted;  rates: bytes or operations per ns.

    is_calibrated: whether the figures were measured on hardware, not taken from a data sheet.
    """

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
    is_calibrated: bool = True

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
# The part of its data sheet's peaks that the H200 reaches: 4.26 of 4.8 TB/s of memory, 756 of 989 TFLOP/s of bfloat16,
# 55.4 of 64 GB/s of PCIe and 391 of 450 GB/s of NVLink.  Other cards are assumed to reach the same part of theirs.
MEMORY_SHARE, PRODUCT_SHARE, LINK_SHARE = 0.89, 0.76, 0.87


def _from_data_sheet(
    name: str,
    *,
    capability: tuple[int, int],
    gib: int,
    multiprocessors: int,
    threads: int,
    l2_mib: int,
    clock_mhz: int,
    memory: float,
    pcie: float,
    peer: float,
    products: dict[str, float],
) -> Preset:
    """Return the preset of a card that was not measured.

    gib: its memory;  threads: per multiprocessor;  memory, pcie, peer: peak GB/s, of links in one direction.
    products: peak TFLOP/s of dense products by type and of "tf32";  a half type without a rate runs as float32.
    Costs on the host are those of the H200's.
    """
    float32 = products["float32"]
    rates = {kind: 1e3 * PRODUCT_SHARE * peak for kind, peak in products.items()}
    half = rates["float16"]
    link = LINK_SHARE * pcie
    return replace(
        H200,
        name=f"Virtual {name} (not calibrated)",
        major=capability[0],
        minor=capability[1],
        total_memory=gib << 30,
        multi_processor_count=multiprocessors,
        max_threads_per_multi_processor=threads,
        l2_cache_size=l2_mib << 20,
        clock_mhz=clock_mhz,
        memory_rate=MEMORY_SHARE * memory,
        pinned_in_rate=link,
        pinned_out_rate=link,
        pageable_in_rate=min(link, H200.pageable_in_rate),
        pageable_out_rate=min(link, H200.pageable_out_rate),
        peer_rate=LINK_SHARE * peer,
        elementwise_rate=1e3 * MEMORY_SHARE * float32,
        tf32_rate=rates.pop("tf32"),
        gemm_rates={"bfloat16": rates["float32"], **rates},
        attention_rates={kind: rate / H200.gemm_rates["float16"] * half for kind, rate in H200.attention_rates.items()},
        is_calibrated=False,
    )


# NVIDIA H100 Tensor Core GPU data sheet (SXM5); rates without sparsity.
H100 = _from_data_sheet(
    "H100", capability=(9, 0), gib=80, multiprocessors=132, threads=2048, l2_mib=50, clock_mhz=1980,
    memory=3_350, pcie=64, peer=450,
    products={"float64": 67, "float32": 67, "tf32": 494, "float16": 989, "bfloat16": 989},
)  # fmt: skip
# NVIDIA A100 Tensor Core GPU data sheet (SXM4, 40 and 80 GB).
A100_40, A100_80 = (
    _from_data_sheet(
        f"A100 {gib}GB", capability=(8, 0), gib=gib, multiprocessors=108, threads=2048, l2_mib=40, clock_mhz=1410,
        memory=memory, pcie=32, peer=300,
        products={"float64": 19.5, "float32": 19.5, "tf32": 156, "float16": 312, "bfloat16": 312},
    )
    for gib, memory in ((40, 1_555), (80, 2_039))
)  # fmt: skip
# NVIDIA L4 Tensor Core GPU data sheet, whose rates with sparsity are halved; no NVLink.
L4 = _from_data_sheet(
    "L4", capability=(8, 9), gib=24, multiprocessors=58, threads=1536, l2_mib=48, clock_mhz=2040,
    memory=300, pcie=32, peer=32,
    products={"float64": 0.47, "float32": 30.3, "tf32": 60, "float16": 121, "bfloat16": 121},
)  # fmt: skip
# NVIDIA T4 Tensor Core GPU data sheet; no TF32, no bfloat16 products, no NVLink.
T4 = _from_data_sheet(
    "T4", capability=(7, 5), gib=16, multiprocessors=40, threads=1024, l2_mib=4, clock_mhz=1590,
    memory=320, pcie=16, peer=16,
    products={"float64": 0.25, "float32": 8.1, "tf32": 8.1, "float16": 65},
)  # fmt: skip
# NVIDIA Ampere GA102 GPU Architecture whitepaper (GeForce RTX 3090); half types with float32 accumulation.
RTX3090 = _from_data_sheet(
    "RTX 3090", capability=(8, 6), gib=24, multiprocessors=82, threads=1536, l2_mib=6, clock_mhz=1695,
    memory=936, pcie=32, peer=56,
    products={"float64": 0.56, "float32": 35.6, "tf32": 35.6, "float16": 71, "bfloat16": 71},
)  # fmt: skip
# NVIDIA Ada GPU Architecture whitepaper (GeForce RTX 4090); half types with float32 accumulation; no NVLink.
RTX4090 = _from_data_sheet(
    "RTX 4090", capability=(8, 9), gib=24, multiprocessors=128, threads=1536, l2_mib=72, clock_mhz=2520,
    memory=1_008, pcie=32, peer=32,
    products={"float64": 1.29, "float32": 82.6, "tf32": 82.6, "float16": 165.2, "bfloat16": 165.2},
)  # fmt: skip
PRESETS = {
    "h200": H200, "h100": H100, "a100-40": A100_40, "a100-80": A100_80, "l4": L4, "t4": T4,
    "rtx3090": RTX3090, "rtx4090": RTX4090,
}  # fmt: skip


def preset(name: str) -> Preset:
    """Return the preset of a name.  Raises ConfigError if there is none."""
    if name not in PRESETS:
        raise ConfigError(f"virtual GPUs: preset={name!r} is unknown", hint=f"use one of {', '.join(PRESETS)}")
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

    __slots__ = ("free_ns", "late")

    def __init__(self) -> None:
        self.free_ns = 0
        self.late: Late | None = None


# What a time depends on besides a number of nanoseconds: it is not before the ends of these commands, which other
# processes decide, and so many nanoseconds.
Late = dict[Any, int]


def settled(time_ns: int, late: Late | None) -> tuple[int, Late | None]:
    """A time with the ends of commands that have run taken in; and what it still depends on."""
    if late is None:
        return time_ns, None
    for command, ns in late.items():
        if command.done:
            time_ns = max(time_ns, command.end_ns + ns)
    left = {command: ns for command, ns in late.items() if not command.done}
    return time_ns, left or None


def latest(first: Late | None, second: Late | None) -> Late | None:
    """Return the commands that the later of two times depends on, given those of each."""
    if first is None or second is None:
        return first or second
    return {each: max(first.get(each, 0), second.get(each, 0)) for each in (*first, *second)}


def later(late: Late | None, ns: int) -> Late | None:
    """Return the commands that a time depends on, for a time that is `ns` later."""
    return None if late is None else {command: before + ns for command, before in late.items()}

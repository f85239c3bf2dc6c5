"""Cards: the figures of modelled GPUs, read from TOML files, and the durations that follow from them.

The files of the presets lie in `cards/`; docs/concepts/cards.md describes the format.  Times are nanoseconds, rates are
bytes or operations per nanosecond, which is GB/s and, divided by 1000, TFLOP/s.
"""

from __future__ import annotations

import functools
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ...config import parse_bytes
from ...errors import ConfigError
from ...kernel import Access
from ...library_operation import (
    OF_OUTPUT,
    OF_WEIGHT,
    Attention,
    AttentionBackward,
    Convolution,
    Gemm,
    LibraryOperation,
)
from ..api import DeviceProperties

FOLDER = Path(__file__).with_name("cards")
NAMES = ("h200", "h100", "a100-40", "a100-80", "l4", "t4", "rtx3090", "rtx4090")
DEFAULT = NAMES[0]  # the calibrated card, whose times others are derived from
SUFFIX = ".toml"
DOCUMENTATION = "docs/concepts/cards.md describes the format"
ELEMENTWISE_SHARE = 0.89  # of the peak of float32, for arithmetic of kernels
LISTED = 4  # operands of a kernel that `Host.launch` includes
TILE = 64  # channels in a tile of a convolution (NVIDIA's guide to the performance of convolutional layers)
TF32_SINCE = 8  # major compute capability
TENSOR_CORES = ("tf32", "float16", "bfloat16")  # types whose convolutions want channels last
WORKSPACE_ALIGNMENT = 256  # bytes, of each part of a workspace

# Kinds of kernels by prefix of their names.  All others are pointwise.
KINDS = {
    "reduction": (
        "sum_", "prod_", "any_", "all_", "amax_", "amin_", "largest_", "smallest_", "variance_", "moments_", "join_",
        "logsumexp_", "norm_", "nll_", "count_", "extremes_", "whole_moments_", "reduce_segments_", "class_margins_",
        "label_margins_",
    ),
    "rows": ("softmax", "log_softmax", "layer_norm", "rms_norm", "entropy"),
    "transpose": ("transpose_",),
    "gather": ("select_rows", "take_", "gather_", "index_", "embedding", "pick"),
    "random": ("grid_", "dropout"),
    "scan": ("running_", "cumulative", "scan_", "cumsum", "cumprod", "total_"),
    "pooling": ("window_",),
}  # fmt: skip
POINTWISE, GATHER = "pointwise", "gather"
TRANSPOSE = "transpose"
KERNELS = (POINTWISE, *KINDS)
TYPES = ("float64", "float32", "tf32", "float16", "bfloat16")
HOST = (
    "launch", "product", "attention", "convolution", "wide_convolution", "operand", "step", "backward",
    "backward_pass", "copy", "graph", "record", "order", "call", "wake", "allocate",
)  # fmt: skip
COPIES = ("pinned_in", "pinned_out", "pageable_in", "pageable_out", "peer")
ATTENTION = ("attention", "attention_backward")
# The tables of times and the entries of each table.
TABLES = {
    "kernels": KERNELS, "products": TYPES, "unaligned_products": TYPES, "convolutions": TYPES,
    "convolution_gradients": TYPES, "attention": ATTENTION, "copies": COPIES,
}  # fmt: skip
DEVICE = ("capability", "memory", "multiprocessors", "threads", "l2", "clock")
PEAKS = ("memory", "pcie", "peer", *TYPES)


class Curve:
    """Times by amount of work: linear between points, constant before the first, proportional after the last."""

    __slots__ = ("amounts", "times")

    def __init__(self, points: Sequence[Sequence[float]]) -> None:
        self.amounts = tuple(float(amount) for amount, _ in points)
        self.times = tuple(float(time) for _, time in points)

    def at(self, amount: float) -> int:
        """Return the time of an amount, in whole nanoseconds."""
        index = bisect_right(self.amounts, amount)
        if index == 0:
            return int(self.times[0])
        if index == len(self.amounts):
            return int(self.times[-1] * (amount / self.amounts[-1]))
        low, high = self.amounts[index - 1], self.amounts[index]
        first, last = self.times[index - 1], self.times[index]
        return int(first + (last - first) * (amount - low) / (high - low))

    def scaled(self, factor: float) -> Curve:
        """Return the curve with the part of each time above the first point's multiplied by a factor."""
        floor = self.times[0]
        return Curve([(amount, floor + (time - floor) * factor) for amount, time in zip(self.amounts, self.times)])


@dataclass(frozen=True)
class Host:
    """Host time in nanoseconds, including the time of the library and of Python around the driver's call.

    launch: a kernel launch;  product, attention: a library call;  convolution: one of a half type;  wide_convolution:
    one of another type;  copy: one that does not wait;  graph: a graph launch.
    operand: each operand of a kernel over lists of tensors, beyond the first few.
    step: added to a kernel of an optimizer, for the rest of its step.
    backward: added to each launch of a backward pass, for autograd nodes, their recording, and modules.
    backward_pass: added to the first launch of a backward pass, for the rest of the pass and the loss.
    record: of an event;  order: a stream's wait for an event;  call: a query, or a wait for completed work.
    wake: from the end of work to the return of the call that waited for it;  allocate: of memory by the driver.
    """

    launch: int
    product: int
    attention: int
    convolution: int
    wide_convolution: int
    operand: int
    step: int
    backward: int
    backward_pass: int
    copy: int
    graph: int
    record: int
    order: int
    call: int
    wake: int
    allocate: int


@dataclass(frozen=True)
class Card:
    """The properties and speeds of one GPU model.

    is_calibrated: whether its times were measured, not taken from the peaks of a data sheet.
    peaks: bytes or operations per nanosecond;  times: curves by table and entry.
    """

    name: str
    source: str
    is_calibrated: bool
    major: int
    minor: int
    total_memory: int  # bytes
    multi_processor_count: int
    max_threads_per_multi_processor: int
    l2_cache_size: int  # bytes
    clock_mhz: int  # of the multiprocessors, at their fastest
    peaks: Mapping[str, float]
    host: Host
    times: Mapping[str, Mapping[str, Curve]]

    @property
    def arch(self) -> str:
        """The architecture, such as "sm_90"."""
        return f"sm_{self.major}{self.minor}"

    @property
    def peer_rate(self) -> float:
        """The bandwidth between two GPUs, in bytes per nanosecond."""
        curve = self.times["copies"]["peer"]
        return curve.amounts[-1] / curve.times[-1]

    def kernel_ns(self, nbytes: int, operations: float, kind: str = POINTWISE) -> int:
        """Return the device time of a kernel that accesses `nbytes` bytes."""
        curve = self.times["kernels"][kind]
        return max(curve.at(nbytes), int(curve.times[0] + operations / (ELEMENTWISE_SHARE * self.peaks["float32"])))

    def launch_ns(self, entry: str, operations: float, accesses: Sequence[Access]) -> int:
        """Return the device time of a launch.  operations: per element of its largest operand."""
        kind = kind_of(entry)
        elements = max((access.nbytes // access.dtype.itemsize for access in accesses), default=0)
        return self.kernel_ns(touched(accesses, kind), operations * elements, kind)

    def library_ns(self, problem: LibraryOperation, accesses: Sequence[Access]) -> int:
        """Return the device time of a library call."""
        nbytes = touched(accesses)
        if isinstance(problem, Gemm):
            curve = self._of_type("products" if is_aligned(problem) else "unaligned_products", problem)
        elif isinstance(problem, Convolution):
            way = self._way(problem)
            return max(way.kernel_ns, self.kernel_ns(nbytes, 0)) + way.copies_ns
        elif isinstance(problem, (Attention, AttentionBackward)):
            forward = problem.forward if isinstance(problem, AttentionBackward) else problem
            is_half = forward.dtype.itemsize == 2  # other types take the times of products
            curve = self.times["attention"][problem.kind] if is_half else self.times["products"][forward.dtype.name]
        else:
            return self.kernel_ns(nbytes, problem.operations)
        return max(curve.at(problem.operations), self.kernel_ns(nbytes, 0))

    def workspace_nbytes(self, problem: LibraryOperation) -> int:
        """Return the size in bytes of the workspace of a library call."""
        return self._way(problem).workspace_nbytes if isinstance(problem, Convolution) else 0

    def kernel_host_ns(self, entry: str) -> int:
        """Return the host time of a launch of a kernel."""
        return self.host.launch + (self.host.step if "_step_" in entry else 0)

    def library_host_ns(self, problem: LibraryOperation) -> int:
        """Return the host time of a library call."""
        if isinstance(problem, Convolution):
            return self.host.convolution if problem.dtype.itemsize == 2 else self.host.wide_convolution
        if isinstance(problem, (Attention, AttentionBackward)):
            return self.host.attention
        return self.host.product

    def _way(self, problem: Convolution) -> Way:
        """Return the fastest way to compute a convolution, which the library is assumed to choose."""
        curves = self.times["convolutions" if problem.kind == OF_OUTPUT else "convolution_gradients"]
        name = problem.dtype.name
        types = [name if name in curves else "float32"]
        if name == "float32" and problem.allow_tf32 and self.major >= TF32_SINCE:
            types.append("tf32")
        operations = tiled_operations(problem)
        return min(self._way_in(type_name, curves[type_name].at(operations), problem) for type_name in types)

    def _way_in(self, name: str, kernel_ns: int, problem: Convolution) -> Way:
        """Return how kernels of a type compute a convolution.  kernel_ns: the time of the kernel itself."""
        if name not in TENSOR_CORES:
            return Way(kernel_ns, kernel_ns, 0, 0)
        copied = converted(problem)
        copies_ns = sum(self.kernel_ns(2 * nbytes, 0, TRANSPOSE) for nbytes in copied)
        parts = [*copied, partial_sums(problem, self.multi_processor_count)]
        return Way(kernel_ns + copies_ns, kernel_ns, copies_ns, sum(map(_aligned, parts)))

    def _of_type(self, table: str, problem: Gemm) -> Curve:
        name = problem.dtype.name
        if name == "float32" and problem.allow_tf32:
            name = "tf32"
        curves = self.times[table]
        return curves.get(name, curves["float32"])

    def copy_ns(self, entry: str, nbytes: int) -> int:
        """Return the time of a copy to or from the host, or between GPUs."""
        return self.times["copies"][entry].at(nbytes)

    def within(self, share: float, duration_ns: int) -> int:
        """Return the device time on a share of the multiprocessors of work that takes `duration_ns` on all of them."""
        if share == 1:
            return duration_ns
        floor = int(self.times["kernels"][POINTWISE].times[0])
        return floor + int(max(0, duration_ns - floor) / share)

    def properties(self, device: int, total_memory: int) -> DeviceProperties:
        mark = "" if self.is_calibrated else " (not calibrated)"
        return DeviceProperties(
            name=f"Virtual {self.name}{mark}",
            major=self.major,
            minor=self.minor,
            total_memory=total_memory,
            multi_processor_count=self.multi_processor_count,
            max_threads_per_multi_processor=self.max_threads_per_multi_processor,
            warp_size=32,
            l2_cache_size=self.l2_cache_size,
            uuid=f"GPU-{device:08x}-0000-0000-0000-000000000000",
        )


class Way(NamedTuple):
    """A way to compute a convolution; ways compare by total time.

    total_ns: the sum of kernel_ns, the time of its kernel, and copies_ns, the time of copying operands.
    """

    total_ns: int
    kernel_ns: int
    copies_ns: int
    workspace_nbytes: int


def tiled_operations(problem: Convolution) -> float:
    """Return the number of operations of a convolution, with its channels rounded up to whole tiles.

    Grouped convolutions use other kernels: their channels are not rounded up.
    """
    if problem.groups > 1:
        return problem.operations
    outputs, inputs = problem.w_shape[:2]
    return problem.operations / (outputs * inputs) * (tiled_channels(outputs) * tiled_channels(inputs))


def tiled_channels(channels: int) -> int:
    """Return the number of channels rounded up to whole tiles."""
    return _tiles(channels) * TILE


def converted(problem: Convolution) -> list[int]:
    """Return the size in bytes of each operand that is copied for tensor cores, because it is not channels last.

    A convolution writes its result in the requested layout.  For a gradient both images are copied.  Copies of weights
    are not counted: they are small.
    """
    if problem.groups > 1:
        return []
    operands = [(problem.x_shape, problem.x_strides), (problem.y_shape, problem.y_strides)]
    images = operands[: 1 if problem.kind == OF_OUTPUT else 2]
    return [prod(shape) * problem.dtype.itemsize for shape, strides in images if strides[1] != 1]


def partial_sums(problem: Convolution, multiprocessors: int) -> int:
    """Return the size in bytes of the float32 partial sums of a weight's gradient.

    Its result has few tiles, so the sum over the batch and the output positions is divided between multiprocessors.
    """
    if problem.kind != OF_WEIGHT or problem.groups > 1:
        return 0
    outputs, inputs, *kernel = problem.w_shape
    places = problem.y_shape[0] * prod(problem.y_shape[2:])
    count = min(multiprocessors // (_tiles(outputs) * _tiles(inputs) * prod(kernel)), _tiles(places))
    return 4 * prod(problem.w_shape) * count if count > 1 else 0


def _tiles(channels: int) -> int:
    return -(-channels // TILE)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT


@functools.cache
def kind_of(entry: str) -> str:
    """Return the kind of a kernel, given its name."""
    return next((kind for kind, beginnings in KINDS.items() if entry.startswith(beginnings)), POINTWISE)


def is_aligned(problem: Gemm) -> bool:
    """Return whether every row of the operands begins at a multiple of 16 bytes, as the fast kernels need."""
    rows = [max(strides[1:]) for strides in (problem.a_strides, problem.b_strides, problem.out_strides)]
    return all(row == 1 or row * problem.dtype.itemsize % 16 == 0 for row in rows)


def touched(accesses: Sequence[Access], kind: str = POINTWISE) -> int:
    """Return the number of bytes that a kernel accesses: each array once per read and write, without gaps between rows.

    A gather kernel reads at most as many bytes of an array as it writes.
    """
    seen: dict[tuple[int, int, str], int] = {}
    written = 0
    for access in accesses:
        count = access.dtype.itemsize
        strides = access.strides
        for dim, size in enumerate(access.shape):
            if strides is None or strides[dim]:
                count *= size
        nbytes = min(count, access.nbytes)
        for way in access.mode:
            seen[access.address, access.nbytes, way] = nbytes
        if access.mode != "r":
            written += nbytes
    if kind == GATHER and written:
        return sum(min(nbytes, written) for nbytes in seen.values())
    return sum(seen.values())


def card(name: str) -> Card:
    """Return the card of a preset, or of a file whose name ends in `.toml`.  Raises ConfigError."""
    if name in NAMES:
        return _preset(name)
    if name.endswith(SUFFIX):
        return read(Path(name))
    hint = f"use one of {', '.join(NAMES)}, or the path of a card's file, which ends in {SUFFIX}"
    raise ConfigError(f"virtual GPUs: preset={name!r} is unknown", hint=hint)


@functools.cache
def _preset(name: str) -> Card:
    return read(FOLDER / f"{name}{SUFFIX}")


def read(path: Path) -> Card:
    """Read a card's file.  Raises ConfigError, with the file, the field and its value."""
    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise ConfigError(
            f"cannot read the card's file {path}: {error.strerror}",
            hint=f"correct the path, or use a preset: {', '.join(NAMES)}",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", hint=DOCUMENTATION) from error
    return _Reader(path, data).card()


class _Reader:
    """Checks the fields of one file."""

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self._path = path
        self._data = data

    def card(self) -> Card:
        self._know("", self._data, ("name", "source", "calibrated", "device", "peaks", "host", *TABLES))
        for table, names in {"device": DEVICE, "peaks": PEAKS, "host": HOST, **TABLES}.items():
            fields = self._data.get(table, {})
            if not isinstance(fields, dict):
                self._refuse(table, fields, f"a table is needed: [{table}]")
            self._know(f"{table}.", fields, names)
        calibrated = self._field("", "calibrated", self._data)
        if not isinstance(calibrated, bool):
            self._refuse("calibrated", calibrated, "use true or false")
        device = self._data.get("device", {})
        major, minor = self._capability(device)
        peaks = self._peaks()
        return Card(
            self._text("name"), self._text("source"), calibrated, major, minor, self._bytes(device, "memory"),
            self._count(device, "multiprocessors"), self._count(device, "threads"), self._bytes(device, "l2"),
            self._count(device, "clock"), peaks, self._host(calibrated), self._times(calibrated, peaks),
        )  # fmt: skip

    def _refuse(self, field: str, value: object, hint: str) -> Any:
        raise ConfigError(f"{self._path}: {field} = {value!r} is not usable", hint=f"{hint}; {DOCUMENTATION}")

    def _know(self, prefix: str, fields: Mapping[str, Any], names: Sequence[str]) -> None:
        for name, value in fields.items():
            if name not in names:
                hint = f"fields are {', '.join(names)}; {DOCUMENTATION}"
                raise ConfigError(f"{self._path}: {prefix}{name} = {value!r}: there is no such field", hint=hint)

    def _field(self, prefix: str, name: str, fields: Mapping[str, Any]) -> Any:
        if name not in fields:
            raise ConfigError(f"{self._path}: {prefix}{name} is missing", hint=DOCUMENTATION)
        return fields[name]

    def _text(self, name: str) -> str:
        text = self._field("", name, self._data)
        if not isinstance(text, str) or not text.strip():
            self._refuse(name, text, "write a text")
        return str(text)

    def _count(self, device: Mapping[str, Any], name: str) -> int:
        value = self._field("device.", name, device)
        if type(value) is not int or value < 1:
            self._refuse(f"device.{name}", value, "write a whole number above 0")
        return int(value)

    def _bytes(self, device: Mapping[str, Any], name: str) -> int:
        value = self._field("device.", name, device)
        if type(value) not in (int, str):
            self._refuse(f"device.{name}", value, "write bytes, or a text such as '24GiB'")
        try:
            nbytes = parse_bytes(value)
        except ConfigError:
            nbytes = 0
        if nbytes < 1:
            self._refuse(f"device.{name}", value, "write bytes, or a text such as '24GiB'")
        return nbytes

    def _capability(self, device: Mapping[str, Any]) -> tuple[int, int]:
        value = self._field("device.", "capability", device)
        if not isinstance(value, list) or [type(item) for item in value] != [int, int] or min(value) < 0:
            self._refuse("device.capability", value, "write two whole numbers, as in [8, 9]")
        return value[0], value[1]

    def _peaks(self) -> dict[str, float]:
        fields = self._data.get("peaks", {})
        peaks = {}
        for name in PEAKS:
            if name == "bfloat16" and name not in fields:
                continue  # products of this type run as float32
            value = self._field("peaks.", name, fields)
            if type(value) not in (int, float) or not 0 < value < float("inf"):
                self._refuse(f"peaks.{name}", value, "write GB/s for links and memory, TFLOP/s for products")
            peaks[name] = float(value) * (1e3 if name in TYPES else 1)
        return peaks

    def _host(self, calibrated: bool) -> Host:
        fields = self._data.get("host", {})
        values = {}
        for name in HOST:
            if name not in fields and not calibrated:
                values[name] = getattr(_preset(DEFAULT).host, name)
                continue
            value = self._field("host.", name, fields)
            if type(value) not in (int, float) or not 0 <= value < float("inf"):
                self._refuse(f"host.{name}", value, "write nanoseconds")
            values[name] = int(value)
        return Host(**values)

    def _times(self, calibrated: bool, peaks: Mapping[str, float]) -> dict[str, dict[str, Curve]]:
        times: dict[str, dict[str, Curve]] = {}
        for table, names in TABLES.items():
            fields = self._data.get(table, {})
            times[table] = {}
            for name in names:
                if name in fields:
                    times[table][name] = self._curve(f"{table}.{name}", fields[name])
                elif calibrated:
                    self._field(f"{table}.", name, fields)
                elif name != "bfloat16" or name in peaks:
                    times[table][name] = _derived(table, name, peaks)
        return times

    def _curve(self, field: str, points: Any) -> Curve:
        hint = "write points [amount of work, nanoseconds], both rising, as in [[65536, 2100], [1e9, 240000]]"
        if not isinstance(points, list) or not points:
            self._refuse(field, points, hint)
        for point in points:
            is_pair = isinstance(point, list) and [type(number) in (int, float) for number in point] == [True, True]
            if not is_pair or not all(0 < number < float("inf") for number in point):
                self._refuse(field, point, hint)
        for before, after in pairwise(points):
            if after[0] <= before[0] or after[1] < before[1]:
                self._refuse(field, [before, after], hint)
        return Curve(points)


def _derived(table: str, name: str, peaks: Mapping[str, float]) -> Curve:
    """Return the calibrated card's times, scaled to a card with other peaks that it reaches to the same fraction."""
    model = _preset(DEFAULT)
    link = "peer" if name == "peer" else "pcie"
    peak = {"kernels": "memory", "attention": "float16", "copies": link}.get(table, name)
    factor = model.peaks[peak] / peaks[peak]
    if name.startswith("pageable"):
        factor = max(1.0, factor)  # the host makes these copies, at most as fast as for the calibrated card
    return model.times[table][name].scaled(factor)

"""Allocator settings: parses and checks the syntax of PYTORCH_ALLOC_CONF.

- The syntax is `key:value,key:[size:value,>:value]`.  White space is ignored, a later key wins, and omitted keys have
  defaults.
- A key or a value that is not supported is an error.  Only `pinned_max_round_threshold_mb` is accepted without effect.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .. import config
from ..errors import ArgumentError, ArgumentTypeError, ConfigError

MIB = 1 << 20
UNLIMITED = 1 << 62  # bytes: more than any device has
BLOCK_GRAIN = 512  # bytes: every device block is a multiple of this
DEFAULT_LARGE_SEGMENT = 20 * MIB  # bytes
DEFAULT_NON_SPLIT_ROUNDING = 20 * MIB  # bytes
SMALLEST_OWN_SEGMENT = 10 * MIB  # bytes: from here on, a request gets a segment of its own
SIZE_CLASSES = 16  # roundup_power2_divisions: 1 MiB, 2 MiB, ... 32 GiB and above
FIRST_CLASS_BITS = 21  # bit length of 1 MiB, the first size class
BACKENDS = ("native", "cudaMallocAsync")
EXACT = (-1,)  # value of roundup_divisions: no rounding and no caching

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
NOT_SUPPORTED = frozenset({
    "expandable_segments_reserve", "graph_capture_record_stream_reuse",
    "pinned_free_catch_all", "pinned_num_register_threads", "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads", "release_lock_on_cudamalloc",
})  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Settings of the allocators.  Sizes in bytes.

    max_split_size:              blocks of at least this size are never split, nor given to smaller requests
    roundup_divisions:           steps between two powers of two, for each size class 1 MiB << index; 0 or 1 for none;
                                 EXACT allocates each block from the driver, without rounding
    max_non_split_rounding:      largest excess over the request of a block that is not split
    large_segment:               size of the segments that requests between 1 MiB and 10 MiB share
    memory_fraction:             fraction of the device's memory that this process may reserve, or None
    garbage_collection_threshold:  fraction of that limit above which idle segments are handed back; 0 for never
    pinned_max_cached:           bytes of idle pinned memory to keep at most
    expandable_segments:         whether new segments are expandable: addresses in which pages are mapped on demand
    rejects_over_limit:          whether a request that would exceed the limit fails before cached memory is reclaimed
    pinned_registers:            whether pinned memory is the process's own, which the driver registers
    pinned_rounding:             accepted and unused: pinned blocks are never rounded to powers of two
    backend:                     the kind of allocator, one of BACKENDS; "" if the text names none
    text:                        the string that they were parsed from
    """

    max_split_size: int = UNLIMITED
    roundup_divisions: tuple[int, ...] = ()
    max_non_split_rounding: int = DEFAULT_NON_SPLIT_ROUNDING
    large_segment: int = DEFAULT_LARGE_SEGMENT
    memory_fraction: float | None = None
    garbage_collection_threshold: float = 0.0
    pinned_max_cached: int = UNLIMITED
    expandable_segments: bool = False
    rejects_over_limit: bool = False
    pinned_registers: bool = False
    pinned_rounding: int = UNLIMITED
    backend: str = ""
    text: str = field(default="", compare=False)

    @property
    def exact(self) -> bool:
        return self.roundup_divisions == EXACT


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Parse PYTORCH_ALLOC_CONF, or its old name if only that is set.  Raises ConfigError.

    If caching is switched off, roundup_divisions is EXACT.
    """
    name = variable(environment)
    settings = parse(environment.get(name, ""), name)
    return replace(settings, roundup_divisions=EXACT) if config.no_memory_caching(environment) else settings


def variable(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the variable that is read: the old one only if the new one is not set."""
    return next((name for name in NAMES if name in environment), NAMES[0])


def parse(text: str, source: str = NAMES[0]) -> Settings:
    """Parse a settings string; errors name it by `source`.  Raises ConfigError."""
    fields: dict[str, Any] = {}
    for entry in re.split(r",(?![^\[]*\])", re.sub(r"\s", "", text)):
        if not entry:
            continue
        key, _, value = entry.partition(":")
        name, read = _reader(key, source)
        fields[name] = read(value, f"{source}: {entry!r}")
    settings = Settings(**fields, text=text)
    _check_together(settings, fields, source)
    return settings


def rounded(nbytes: int, divisions: tuple[int, ...]) -> int:
    """Return the bytes of a block for a request: a multiple of 512, or one of n steps between powers of two.

    With EXACT, it is the request.
    """
    if divisions == EXACT:
        return nbytes
    if divisions:
        count = divisions[min(max(nbytes.bit_length() - FIRST_CLASS_BITS, 0), SIZE_CLASSES - 1)]
        if count > 1 and nbytes > BLOCK_GRAIN * count:
            step = (1 << (nbytes.bit_length() - 1)) // count
            return -(-nbytes // step) * step
    return -(-nbytes // BLOCK_GRAIN) * BLOCK_GRAIN


def _reader(key: str, source: str) -> tuple[str, Callable[[str, str], object]]:
    if key in READERS:
        return READERS[key]
    why = "is not supported" if key in NOT_SUPPORTED else "is unknown"
    raise ConfigError(f"{source}: setting {key!r} {why}", hint=f"use one of the settings {', '.join(sorted(READERS))}")


def _check_together(settings: Settings, fields: Mapping[str, Any], source: str) -> None:
    for name in ("max_split_size", "max_non_split_rounding"):
        if name in fields and getattr(settings, name) < settings.large_segment:
            raise ConfigError(
                f"{source}: {name}_mb is {getattr(settings, name) // MIB}, less than a large segment, "
                f"which has {settings.large_segment // MIB} MiB",
                hint="use a larger number, or leave it out",
            )


def _mebibytes(text: str, where: str) -> int:
    if not config.is_whole_number(text):
        raise ConfigError(f"{where}: {text!r} is not a whole number of MiB", hint="use a whole number, for example 64")
    return min(int(text) * MIB, UNLIMITED)


def _large_segment(text: str, where: str) -> int:
    nbytes = _mebibytes(text, where)
    if nbytes <= SMALLEST_OWN_SEGMENT:
        raise ConfigError(
            f"{where}: a large segment must have more than {SMALLEST_OWN_SEGMENT // MIB} MiB",
            hint="use a larger number, or leave it out",
        )
    return nbytes


def _backend(text: str, where: str) -> str:
    if text not in BACKENDS:
        raise ConfigError(
            f"{where}: {text!r} is not a backend", hint=f"use one of the backends {' and '.join(BACKENDS)}"
        )
    return text


def _boolean(text: str, where: str) -> bool:
    if text not in ("True", "False"):
        raise ConfigError(f"{where}: {text!r} is neither True nor False", hint="use True or False")
    return text == "True"


def _number(text: str, where: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text):
        raise ConfigError(f"{where}: {text!r} is not a number", hint="use a number, for example 0.8")
    return float(text)


def _fraction(text: str, where: str) -> float:
    value = _number(text, where)
    if value > 1:
        raise ConfigError(
            f"{where}: the fraction must lie between 0 and 1", hint="use a number from 0 to 1, for example 0.8"
        )
    return value


def _threshold(text: str, where: str) -> float:
    value = _number(text, where)
    if not 0 < value < 1:
        raise ConfigError(
            f"{where}: the threshold must lie between 0 and 1, both excluded",
            hint="use a number between 0 and 1, for example 0.8",
        )
    return value


def _divisions(text: str, where: str) -> tuple[int, ...]:
    if not text.startswith("["):
        return (_power_of_two(text, where),) * SIZE_CLASSES
    if not text.endswith("]"):
        raise ConfigError(f"{where}: the list does not end with ]", hint="close it with ], for example [256:1,512:2]")
    return _division_list(text[1:-1], where)


def _division_list(text: str, where: str) -> tuple[int, ...]:
    """Return one count per size class.  The first size also covers all smaller ones, `>` all above the last size."""
    table = [0] * SIZE_CLASSES
    last = 0
    first = True
    for entry in filter(None, text.split(",")):
        size, _, value = entry.partition(":")
        count = 0 if value == "0" else _power_of_two(value, where)
        if size == ">":
            table[last + 1 :] = [count] * (SIZE_CLASSES - last - 1)
            continue
        last = min(_power_of_two(size, where).bit_length() - 1, SIZE_CLASSES - 1)
        table[0 if first else last : last + 1] = [count] * (last + 1 if first else 1)
        first = False
    return tuple(table)


def _power_of_two(text: str, where: str) -> int:
    if not config.is_whole_number(text) or int(text) < 1 or int(text) & (int(text) - 1):
        raise ConfigError(f"{where}: {text!r} is not a power of two", hint="use 1, 2, 4, 8 and so on")
    return int(text)


READERS: dict[str, tuple[str, Callable[[str, str], object]]] = {
    "max_split_size_mb": ("max_split_size", _mebibytes),
    "roundup_power2_divisions": ("roundup_divisions", _divisions),
    "max_non_split_rounding_mb": ("max_non_split_rounding", _mebibytes),
    "large_segment_size_mb": ("large_segment", _large_segment),
    "per_process_memory_fraction": ("memory_fraction", _fraction),
    "garbage_collection_threshold": ("garbage_collection_threshold", _threshold),
    "backend": ("backend", _backend),
    "expandable_segments": ("expandable_segments", _boolean),
    "pinned_max_cached_size_mb": ("pinned_max_cached", _mebibytes),
    "pinned_max_round_threshold_mb": ("pinned_rounding", _mebibytes),
    "pinned_use_cuda_host_register": ("pinned_registers", _boolean),
    "throw_on_cudamalloc_oom": ("rejects_over_limit", _boolean),
}


def check_fraction(fraction: float) -> None:
    """Raise ArgumentTypeError or ArgumentError unless the fraction is a float from 0 to 1."""
    if not isinstance(fraction, float):
        raise ArgumentTypeError(
            f"fraction must be a float, got {type(fraction).__name__}",
            hint="pass a float, for example 0.5",
            operator="set_fraction",
        )
    if not 0 <= fraction <= 1:
        raise ArgumentError(
            f"fraction must lie between 0 and 1, got {fraction}",
            hint="use a part of the device's memory, for example 0.5",
            operator="set_fraction",
        )

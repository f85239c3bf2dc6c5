"""Settings from the environment and the user, validated.

FLAMBEAU_GPUS           `nvidia`, `none`, or `virtual:4` with any of the options `,memory=2GiB`,
                        `,races=poison|error|real`, `,schedule=seeded:7`, `,preset=rtx4090` and `,values=no`;
                        a preset may also be the path of a card's file, such as `,preset=cards/mine.toml`
FLAMBEAU_CACHE          directory of compiled kernels, like PYTORCH_KERNEL_CACHE_PATH (default:
                        $XDG_CACHE_HOME/flambeau or ~/.cache/flambeau)
FLAMBEAU_FAULTS         failures to inject, such as `oom:3,lost_link:0:1`: see `flambeau.testing.faults`
USE_PYTORCH_KERNEL_CACHE  0: compiled kernels are not kept on disk
FLAMBEAU_PURE           1: compile no module when the package is built, and do not warn at import that none is compiled
FLAMBEAU_COMPILE_AHEAD  0: compile no kernel in the background before it is needed
FLAMBEAU_STRICT         1: find silent mistakes (0: off): a replay of a graph whose declared inputs have no new values,
                        a use of host memory before the wait for a non_blocking copy of it, and a thread without the
                        device and streams of the thread that started it.  Later errors of a GPU name the last launches
CUDA_LAUNCH_BLOCKING    1: the host waits for each launch
TORCH_CUDA_SANITIZER    1: virtual GPUs report races, as with `races=error`, unless FLAMBEAU_GPUS says otherwise
TORCH_CUDA_CHECK_STRAY_CONTEXT  warn or error: reaction of `cuda.set_device` if the process has used another device
TORCH_ALLOW_TF32_CUBLAS_OVERRIDE  1: products of float32 matrices start as TF32
TORCH_BLAS_PREFER_CUBLASLT, TORCH_LINALG_PREFER_CUSOLVER  1: first values of `preferred_blas_library` and its twin
CUBLASLT_WORKSPACE_SIZE KiB of workspace for each matrix product; else the sum of CUBLAS_WORKSPACE_CONFIG
CUDA_VISIBLE_DEVICES    the devices to use, in order
PYTORCH_ALLOC_CONF      allocator settings, as in PyTorch (PYTORCH_CUDA_ALLOC_CONF is the old name)
PYTORCH_NO_CUDA_MEMORY_CACHING  1: every block is an allocation of the driver, of exactly the requested bytes
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import ConfigError

RACES = ("poison", "error", "real")
VALUES_HINT = "`flambeau fit --values` computes them; elsewhere leave out values=no"
SCHEDULES_HINT = "use submission, seeded:N, delay:N or replay:N,N,N"
CHECK_FOLDER = "FLAMBEAU_CHECK"  # set by `flambeau check` for the processes that the program starts

if TYPE_CHECKING:
    from pathlib import Path

MAX_DIGITS = 18  # of whole numbers in settings, which then fit in 64 bits
INTEGER = f"[0-9]{{1,{MAX_DIGITS}}}"  # the form of such a number; \d also matches the digits of other alphabets
NUMBER = rf"{INTEGER}(?:\.[0-9]*)?"
UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
MAX_VIRTUAL_DEVICES = 64


@dataclass(frozen=True)
class Gpus:
    """The GPUs of a machine.

    kind: "nvidia", "virtual" or "none";  count: the number of virtual GPUs;  memory: bytes of each, 0 for the preset's.
    races: the reaction to two unordered accesses.
    schedule: "submission", "seeded:N", "delay:N" or "replay:N,N,N".
    values: whether virtual GPUs compute the values of tensors; without, their memory has no bytes.
    is_followed: whether a model follows the calls of NVIDIA GPUs' driver, to find races.
    """

    kind: str
    count: int = 0
    preset: str = "h200"
    memory: int = 0
    races: str = "poison"
    schedule: str = "submission"
    values: bool = True
    is_followed: bool = False


def parse_gpus(text: str, races: str | None = None) -> Gpus:
    """Parse the value of FLAMBEAU_GPUS.  races: the default for that option.  Raises ConfigError, which names all."""
    try:
        return _parsed_gpus(text, races)
    except ConfigError as failure:
        raise ConfigError(f"FLAMBEAU_GPUS={text!r}: {failure.what}", hint=failure.hint) from None


def _parsed_gpus(text: str, races: str | None) -> Gpus:
    head, *options = [part.strip() for part in re.split(r",(?!\s*[0-9]+\s*(?:,|$))", text)]  # a replay has commas
    names = [option.partition("=")[0].strip() for option in options]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} is given {names.count(name)} times", hint=f"give {name} once")
    kind, colon, count = head.partition(":")
    if kind not in ("nvidia", "virtual", "none") or (colon and kind != "virtual"):
        raise ConfigError(f"{head!r} is not a kind of GPU", hint="use nvidia, none, or virtual:N as in virtual:2")
    if kind != "virtual":
        if options:
            got = ", ".join(options)
            raise ConfigError(f"{kind} takes no options, got {got}", hint=f"use {kind}, or virtual:2 with options")
        return Gpus(kind)
    chosen = dict(map(_option, options))
    if races is not None:
        chosen.setdefault("races", races)
    return virtual_gpus(_count(count if colon else "1"), **chosen)


def virtual_gpus(
    count: int,
    *,
    preset: str = "h200",
    memory: int | str = 0,
    races: str | None = None,
    schedule: str = "submission",
    values: bool | str = True,
) -> Gpus:
    """Describe `count` virtual GPUs.  races: None is "real" for a replay, which repeats values, else "poison".

    values: a bool, "yes" or "no".
    Raises: ConfigError.
    """
    for name, value in (("preset", preset), ("schedule", schedule)):
        if not isinstance(value, str):
            raise ConfigError(
                f"virtual GPUs: {name} must be a str, got {value!r}", hint=f"leave {name} out for the default"
            )
    if races is None:
        races = "real" if schedule.startswith("replay:") else "poison"
    if not isinstance(count, int) or not 1 <= count <= MAX_VIRTUAL_DEVICES:
        raise ConfigError(
            f"virtual GPUs: {count!r} devices were requested; 1 to {MAX_VIRTUAL_DEVICES} are possible",
            hint="pass a number of devices, for example 2",
        )
    if races not in RACES:
        raise ConfigError(f"virtual GPUs: races={races!r} is unknown", hint=f"use one of {', '.join(RACES)}")
    check_schedule(schedule)
    if values not in (True, False, "yes", "no"):
        raise ConfigError(f"virtual GPUs: values={values!r} is unknown", hint="use yes or no")
    return Gpus("virtual", count, preset, parse_bytes(memory), races, schedule, values in (True, "yes"))


def check_schedule(text: str) -> str:
    """Check and return the name of a schedule.  Raises ConfigError."""
    if not re.fullmatch(rf"submission|(seeded|delay):{INTEGER}|replay:({INTEGER}(,{INTEGER})*)?", text):
        raise ConfigError(f"virtual GPUs: schedule={text!r} is unknown", hint=SCHEDULES_HINT)
    return text


def parse_bytes(size: int | str) -> int:
    """Parse a number of bytes: `1048576`, `1MiB` or `1.5GiB`.  Raises ConfigError."""
    if isinstance(size, int):
        if size < 0:
            raise ConfigError(f"a size of {size} bytes is negative", hint="write 1048576, 1MiB or 1.5GiB")
        return size
    form = rf"\s*({INTEGER}(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*"
    match = re.fullmatch(form, size) if isinstance(size, str) else None
    if match is None or match[2] not in UNITS:
        raise ConfigError(f"{size!r} is not a number of bytes", hint="write 1048576, 1MiB or 1.5GiB")
    return int(float(match[1]) * UNITS[match[2]])


def gpus(environment: Mapping[str, str] = os.environ) -> Gpus | None:
    """Return the parsed value of FLAMBEAU_GPUS, or None if it is not set."""
    text = environment.get("FLAMBEAU_GPUS", "")
    return parse_gpus(text, races="error" if sanitizer(environment) else None) if text else None


def slowdown(environment: Mapping[str, str] = os.environ) -> float:
    """Return how many times slower this process's virtual GPUs are.  Raises ConfigError."""
    text = environment.get("FLAMBEAU_SLOWDOWN", "1")
    try:
        factor = float(text) if text.isascii() else 0.0
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise ConfigError(
            f"FLAMBEAU_SLOWDOWN={text!r} is not a valid factor",
            hint="use a number above 0: 2 makes virtual GPUs half as fast",
        )
    return factor


def sanitizer(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether races between streams are errors."""
    return environment.get("TORCH_CUDA_SANITIZER", "0") not in ("", "0")


def pure(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the package is to run uncompiled."""
    return environment.get("FLAMBEAU_PURE", "0") not in ("", "0")


def compile_ahead(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether kernels are compiled in the background before they are needed.  Raises ConfigError."""
    return _switch("FLAMBEAU_COMPILE_AHEAD", environment, default="1")


def strict(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether strict mode, which finds silent mistakes, is on.  Raises ConfigError."""
    return _switch("FLAMBEAU_STRICT", environment)


def _switch(name: str, environment: Mapping[str, str], default: str = "0") -> bool:
    """Return whether a variable of flambeau's own is 1; "" is 0.  Raises ConfigError for what is neither."""
    text = environment.get(name, default)
    if text not in ("", "0", "1"):
        raise ConfigError(f"{name}={text!r} is neither 1 nor 0", hint=f"use {name}=1 to switch it on, 0 for off")
    return text == "1"


def faults(environment: Mapping[str, str] = os.environ) -> str:
    """Return the text of the failures to inject, "" for none."""
    return environment.get("FLAMBEAU_FAULTS", "")


def no_memory_caching(environment: Mapping[str, str] = os.environ) -> bool:
    return environment.get("PYTORCH_NO_CUDA_MEMORY_CACHING", "0") not in ("", "0")


def launch_blocking(environment: Mapping[str, str] = os.environ) -> bool:
    return environment.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")


def stray_contexts(environment: Mapping[str, str] = os.environ) -> str:
    """Return the reaction to contexts on other devices than the current one: "warn", "error", or "" for none.

    Raises: ConfigError.
    """
    text = environment.get("TORCH_CUDA_CHECK_STRAY_CONTEXT", "")
    value = text.lower()
    if value not in ("", "warn", "error"):
        raise ConfigError(f"TORCH_CUDA_CHECK_STRAY_CONTEXT={text!r} is unknown", hint="use warn or error")
    return value


def tf32_override(environment: Mapping[str, str] = os.environ) -> bool:
    return environment.get("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "0") not in ("", "0")


def preferred_libraries(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the initially preferred libraries, by subject."""
    variables = {
        "blas": ("TORCH_BLAS_PREFER_CUBLASLT", "cublaslt"),
        "linalg": ("TORCH_LINALG_PREFER_CUSOLVER", "cusolver"),
    }
    return {kind: library for kind, (name, library) in variables.items() if environment.get(name) == "1"}


def blas_workspace(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the size in bytes of the workspace for a matrix product; None if neither variable is valid.

    CUBLAS_WORKSPACE_CONFIG is `:SIZE:COUNT`, repeated: COUNT buffers of SIZE KiB.
    """
    size = environment.get("CUBLASLT_WORKSPACE_SIZE", "").strip()
    if is_whole_number(size):
        return int(size) << 10
    buffers = environment.get("CUBLAS_WORKSPACE_CONFIG", "")
    if not re.fullmatch(r"(:[0-9]+:[0-9]+)+", buffers):
        return None
    numbers = [int(number) for number in buffers.split(":")[1:]]
    return sum(size * count for size, count in zip(numbers[::2], numbers[1::2])) << 10


def virtual_uuid(ordinal: int) -> str:
    """Return the UUID of a virtual GPU, which depends on its ordinal on the host, not on its index in the process."""
    return f"GPU-{ordinal:08x}-0000-0000-0000-000000000000"


def visible_devices(uuids: Sequence[str], environment: Mapping[str, str] = os.environ) -> list[int]:
    """Return the ordinals that CUDA_VISIBLE_DEVICES selects of the devices with these UUIDs, in its order.

    An entry that is negative, unreadable or out of range ends the list; a duplicate empties it.  An entry may be a
    prefix of one UUID; one that fits several ends the list.  Trailing text after a number is ignored.
    """
    text = environment.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return list(range(len(uuids)))
    chosen: list[int] = []
    for entry in text.split(","):
        ordinal = _ordinal(entry.strip(), uuids)
        if ordinal is None or not 0 <= ordinal < len(uuids):
            break
        if ordinal in chosen:
            return []
        chosen.append(ordinal)
    return chosen


def names_instances(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether CUDA_VISIBLE_DEVICES names parts of devices (MIG)."""
    return "MIG-" in environment.get("CUDA_VISIBLE_DEVICES", "")


def keeps_kernels(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether compiled kernels are kept on disk."""
    return environment.get("USE_PYTORCH_KERNEL_CACHE", "1") != "0"


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of compiled kernels."""
    from pathlib import Path  # imported here, since it is slow to import and few programs need it

    if chosen := environment.get("FLAMBEAU_CACHE") or environment.get("PYTORCH_KERNEL_CACHE_PATH"):
        return Path(chosen)
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flambeau"


def is_whole_number(text: str) -> bool:
    """Return whether a text is digits alone: not those of other alphabets, nor so many that Python refuses them."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


def _count(text: str) -> int:
    if not is_whole_number(text):
        raise ConfigError(f"{text!r} is not a number of devices", hint="write a whole number, as in virtual:2")
    return int(text)


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or name not in ("preset", "memory", "races", "schedule", "values"):
        raise ConfigError(
            f"option {text!r} is unknown", hint="use the options preset=, memory=, races=, schedule= and values="
        )
    return name, value


def _ordinal(entry: str, uuids: Sequence[str]) -> int | None:
    if entry.startswith("GPU-"):
        matching = [index for index, uuid in enumerate(uuids) if uuid.startswith(entry)]
        return matching[0] if len(matching) == 1 else None
    match = re.match(r"[+-]?[0-9]{1,18}", entry)
    return int(match[0]) if match else None

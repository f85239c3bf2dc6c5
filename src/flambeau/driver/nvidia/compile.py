"""Machine code of kernels: shipped with the package, else from the disk cache, else compiled by NVRTC.

- NVRTC makes cubins, never PTX: an older driver cannot read a newer compiler's PTX.  No GPU is needed.
- The name of a cached file is a digest of source, options, architecture and NVRTC's version.
- The version is stored beside the cached files, with path, size and modification time of the compiler's library.  So a
  process whose kernels are all cached does not load the compiler.
- A kernel is compiled once: other threads wait for the one that compiles it, other processes for the one that holds
  its claim.
- A source with includes is compiled by each process, since what it includes may change.
- A damaged or foreign file, shipped or cached, is ignored and the kernel compiled: see prebuilt_cubins.py and cache.py.
- A background thread compiles the kernels that usually follow one that was compiled: their sources are in a file beside
  the shipped archives, written by `scripts/build`.  It starts at the first kernel that is neither shipped nor cached:
  a first run compiles its backward pass while its forward pass runs.
- The background thread has a low priority, needs a second core, and ends when its queue is empty.  At exit the queue is
  dropped, and a running compilation is waited for: the compiler's library must not be unloaded while it runs.  A forked
  child starts with an empty queue.  A failure is raised when the kernel is needed.
"""

from __future__ import annotations

import atexit
import gzip
import hashlib
import importlib.util
import json
import os
import re
import threading
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ... import config
from ...core.native import Lock
from ...errors import AcceleratorError
from ...kernel import Kernel
from . import library, prebuilt_cubins
from .cache import PrivateFiles, files_of
from .prebuilt_cubins import DIRECTORY, OPTIONS, Version, cache_key

HEADERS_HINT = "for CUDA's headers, pip install nvidia-cuda-runtime or set CUDA_HOME; for others, pass -I/their/folder"
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)
SEARCHED = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")  # searched in addition to packages


@cache
def nvrtc_version() -> Version:
    """Return (major, minor) of the compiler.  Raises AcceleratorError if it cannot be loaded."""
    nvrtc = library.nvrtc_bindings()
    try:
        result = nvrtc.nvrtcVersion()
    except RuntimeError as failure:
        raise AcceleratorError(
            f"NVRTC, which compiles kernels, cannot be loaded: {failure}",
            hint="pip install nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for CUDA 12)",
        ) from failure
    major, minor = library.check(result, "nvrtcVersion")
    return int(major), int(minor)


def supported() -> list[str]:
    """Return the architectures that NVRTC compiles for, such as "sm_90"; none if it cannot be loaded."""
    try:
        numbers = library.check(library.nvrtc_bindings().nvrtcGetSupportedArchs(), "nvrtcGetSupportedArchs")
    except RuntimeError:  # no bindings, or no compiler: only shipped kernels can run
        return []
    return [f"sm_{number}" for number in numbers]


def compiled(source: Source, arch: str) -> bytes:
    """Return the machine code of a source, as `Compiler.cubin`.  Raises AcceleratorError with the compiler's log."""
    nvrtc = library.nvrtc_bindings()
    entry, is_c = source.entry, source.is_c
    created = nvrtc.nvrtcCreateProgram(source.text.encode(), f"{entry}.cu".encode(), 0, [], [])
    program = library.check(created, "nvrtcCreateProgram", kernel=entry)
    try:
        if not is_c:
            library.check(nvrtc.nvrtcAddNameExpression(program, entry.encode()), "nvrtcAddNameExpression", kernel=entry)
        texts = [f"--gpu-architecture={arch}", *OPTIONS, *source.options, *_include_options(source)]
        options = [text.encode() for text in texts]
        result = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if result[0]:
            log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0").decode()
            try:
                library.check(result, f"nvrtcCompileProgram of {entry} for {arch}", log=f"\n{log.strip()}\n")
            except AcceleratorError as failure:
                if "open source file" in log:  # NVRTC says "cannot" or "could not", depending on include paths
                    failure.hint = HEADERS_HINT
                raise
        cubin = _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        if is_c:
            return cubin
        lowered = nvrtc.nvrtcGetLoweredName(program, entry.encode())
        return bytes(library.check(lowered, "nvrtcGetLoweredName", kernel=entry)) + b"\0" + cubin
    finally:
        library.check(nvrtc.nvrtcDestroyProgram(program), "nvrtcDestroyProgram")


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    buffer = bytearray(library.check(size_of(program), size_of.__name__))  # not bytes: the call writes into it
    library.check(read(program, buffer), read.__name__)
    return bytes(buffer)


def _include_options(source: Source) -> list[str]:
    """Return the folders of CUDA's headers, if the source includes any."""
    if not source.has_includes:
        return []
    packages = importlib.util.find_spec("nvidia")
    roots = [Path(location) for location in (packages and packages.submodule_search_locations) or ()]
    folders = [folder for root in roots for folder in sorted(root.glob("*/include"))]
    folders += [Path(os.environ[name]) / "include" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders.append(Path("/usr/local/cuda/include"))
    return [f"--include-path={folder}" for folder in folders if (folder / "cuda_runtime.h").exists()]


def remembered(files: PrivateFiles) -> Version | None:
    """Return the cached version of this process's compiler; None if the compiler must be loaded to find it."""
    content = files.read(_memory_name())
    if content is None:
        return None
    stored = json.loads(content)
    major, minor = stored["version"]
    return (major, minor) if stored["library"] == _state_of(stored["library"]["path"]) else None


def remember(files: PrivateFiles, version: Version) -> None:
    """Store the loaded compiler's version in the cache."""
    path = _library_path()
    if path is not None and remembered(files) != version:
        files.write(_memory_name(), json.dumps({"version": version, "library": _state_of(path)}).encode())


def _memory_name() -> str:
    """Return the name of the cache file of the compiler's version, for this process's library search path."""
    packages = importlib.util.find_spec("nvidia")
    places = [*((packages and packages.submodule_search_locations) or ())]
    places += [os.environ.get(name, "") for name in SEARCHED]
    return f"nvrtc-{hashlib.sha256(json.dumps([places, library.bindings_version()]).encode()).hexdigest()[:16]}"


def _library_path() -> str | None:
    """Return the path of the loaded compiler, or None if the bindings do not report it."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError:  # the bindings of CUDA 12.8 and before
        return None
    path = load_nvidia_dynamic_lib("nvrtc").abs_path
    return str(path) if path else None


def _state_of(path: str) -> dict[str, Any]:
    try:
        status = os.stat(path)
    except OSError:  # the file is gone, so that no stored version matches
        return {}
    return {"path": path, "nbytes": status.st_size, "changed_ns": status.st_mtime_ns}


FOLLOWING_FILE = "next.json.gz"
MAX_THREADS = 1
NICENESS = 10


class Source(NamedTuple):
    """A kernel's name and source text; options and is_c as in Kernel."""

    entry: str
    text: str
    options: tuple[str, ...] = ()
    is_c: bool = True

    @property
    def has_includes(self) -> bool:
        """Whether other files are a part of it."""
        return "include" in self.text and bool(INCLUDE.search(self.text)) or any(
            option.startswith("-I") or "include" in option for option in self.options
        )

    def key(self, arch: str, version: Version | None) -> str:
        """Return the cache key of its machine code."""
        return cache_key(self.text, arch, version, self.options if self.is_c else (*self.options, self.entry))


class Following:
    """The kernels that usually follow each kernel.

    texts: pieces of source;  kernels: {entry: the numbers of its pieces};  after: {entry: the entries that follow}.
    """

    def __init__(self, texts: Sequence[str], kernels: Mapping[str, Sequence[int]], after: Mapping[str, Sequence[str]]):
        self._texts = texts
        self._kernels = kernels
        self._after = after

    def __len__(self) -> int:
        return len(self._kernels)

    def of(self, kernel: Source) -> list[Source]:
        """Return the kernels that usually follow, the nearest first; empty if the source differs from the file's."""
        if self._text(kernel.entry) != kernel.text:
            return []
        return [Source(entry, self._text(entry)) for entry in self._after.get(kernel.entry, ())]

    def _text(self, entry: str) -> str:
        return "".join([self._texts[number] for number in self._kernels.get(entry, ())])


@cache
def following(path: Path = DIRECTORY / FOLLOWING_FILE) -> Following:
    """Read the file of following kernels; empty if it is missing or damaged."""
    try:
        content: Any = json.loads(gzip.decompress(path.read_bytes()))
        return Following(content["texts"], content["kernels"], content["after"])
    except (OSError, EOFError, ValueError, KeyError, zlib.error):  # the file only saves time
        return Following((), {}, {})


def write_following(sources: Mapping[str, str], after: Mapping[str, Sequence[str]], path: Path) -> int:
    """Write the file from {entry: source} and {entry: entries that follow}; return its size in bytes."""
    numbers: dict[str, int] = {}
    kernels = {
        entry: [numbers.setdefault(piece, len(numbers)) for piece in _pieces(text)] for entry, text in sources.items()
    }
    content = json.dumps({"texts": list(numbers), "kernels": kernels, "after": after}, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content.encode(), mtime=0))
    return path.stat().st_size


def _pieces(text: str) -> list[str]:
    """Return the paragraphs of a source; kernels share most of them."""
    *most, last = text.split("\n\n")
    return [*(piece + "\n\n" for piece in most), last]


def spare_cores() -> int:
    """Return the number of compiling threads: 0 on a single core."""
    return min(MAX_THREADS, len(os.sched_getaffinity(0)) - 1)


class BackgroundCompiler:
    """A queue of kernels to compile in background threads.  Thread-safe.

    compile: compiles one kernel for an architecture unless it is compiled already, and never raises.
    """

    def __init__(
        self, compile: Callable[[Source, str], object], following: Callable[[], Following], threads: int
    ) -> None:
        self._compile = compile
        self._following = following
        self._limit = threads
        self.reset()

    def reset(self) -> None:
        """Clear the queue in a forked child, which has no compiling threads."""
        self._lock = Lock()
        self._asked: deque[tuple[Source, str]] = deque()  # requested by the program, the newest last
        self._queue: deque[tuple[Source, str]] = deque()  # to compile, the most urgent first
        self._seen: set[tuple[str, str]] = set()  # (entry, architecture)
        self._threads: set[threading.Thread] = set()
        self._is_over = False

    def asked(self, kernel: Source, arch: str) -> None:
        """Queue the kernels that usually follow the one that the program requests."""
        with self._lock:
            if self._is_over or self._limit < 1:
                return
            self._asked.append((kernel, arch))
            if len(self._threads) < self._limit:
                self._start()

    def finish(self) -> None:
        """Drop the queue and wait for the current compilation."""
        with self._lock:
            self._is_over = True
            self._asked.clear()
            self._queue.clear()
            running = list(self._threads)
        for thread in running:
            thread.join()

    def wait(self) -> None:
        """Wait until everything in the queue is compiled."""
        while running := next(iter(self._threads), None):
            running.join()

    def _start(self) -> None:
        if not self._threads:
            atexit.unregister(self.finish)
            atexit.register(self.finish)
        thread = threading.Thread(target=self._run, name="flambeau-compile", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _run(self) -> None:
        with suppress(OSError):  # if the priority cannot be lowered, the thread runs at the usual one
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)  # on Linux, of this thread alone
        while (job := self._next()) is not None:
            self._compile(*job)

    def _next(self) -> tuple[Source, str] | None:
        following = self._following()
        with self._lock:
            while self._asked:
                self._enqueue(following, *self._asked.popleft())
            if not self._queue:
                self._threads.discard(threading.current_thread())
                return None
            return self._queue.popleft()

    def _enqueue(self, following: Following, kernel: Source, arch: str) -> None:
        self._seen.add((kernel.entry, arch))
        fresh = [source for source in following.of(kernel) if (source.entry, arch) not in self._seen]
        self._seen.update((source.entry, arch) for source in fresh)
        self._queue.extendleft((source, arch) for source in reversed(fresh))


ANY_MAJOR = 1 << 30


def compile_cubin(kernel: Kernel, arch: str) -> bytes:
    """Return the machine code of a kernel for an architecture such as "sm_90".

    Raises: AcceleratorError with the compiler's log if the source does not compile, or there is no NVRTC.
    """
    return Compiler().cubin(kernel, arch)


def cache_files() -> PrivateFiles:
    """Return the disk cache."""
    return files_of("cubin")


def architectures() -> list[str]:
    """Return the architectures of prebuilt cubins and of the compiler, the oldest first."""
    archs = {*prebuilt_cubins.architectures(), *supported()}
    return sorted(archs, key=lambda arch: int(arch.removeprefix("sm_")))


def of_driver(cu: Any) -> Compiler:
    """Return the compiler of code that the driver of `cu` (cuda.bindings.driver) can load."""
    version = library.check(cu.cuDriverGetVersion(), "cuDriverGetVersion")
    return Compiler(int(version) // 1000, config.compile_ahead())


class Turn:
    """The compilation of one kernel in this process: its lock and result."""

    __slots__ = ("cubin", "failure", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()  # reentrant: a finalizer may request the same kernel meanwhile
        self.cubin: bytes | None = None
        self.failure: Exception | None = None


class Compiler:
    """Finds or compiles machine code.  Thread-safe."""

    def __init__(self, cuda_major: int = ANY_MAJOR, ahead: bool = False, use_shipped: bool = True) -> None:
        """cuda_major: the newest CUDA major version the driver supports;  ahead: compile following kernels early."""
        self._cuda_major = cuda_major
        self._use_shipped = use_shipped
        self.ahead = BackgroundCompiler(self._prepare, following, spare_cores() if ahead else 0)
        self.reset()
        _compilers.add(self)

    def reset(self) -> None:
        """Reset, in a forked child, the state that belongs to other threads."""
        self._lock = Lock()
        self._turns: dict[str, Turn] = {}
        self._version: Version | None = None
        self._has_missed = False  # the program requested a kernel that was neither shipped nor cached
        self.ahead.reset()

    def cubin(self, kernel: Kernel, arch: str) -> bytes:
        """Return the machine code of a kernel.  With is_c=False, the mangled name and a zero byte precede it.

        Raises as `compile_cubin`.
        """
        source = Source(kernel.entry, kernel.source, kernel.options, kernel.is_c)
        cubin = self._shipped(source, arch)
        return cubin if cubin is not None else self._asked(source, arch)

    def _shipped(self, source: Source, arch: str) -> bytes | None:
        archive = prebuilt_cubins.archive(arch)
        if not self._use_shipped or not archive or archive.version[0] > self._cuda_major:
            return None
        return archive.read(source.key(arch, None))

    def _asked(self, source: Source, arch: str) -> bytes:
        if self._has_missed:
            self.ahead.asked(source, arch)
        turn = self._turn(source, arch)
        with turn.lock:
            if turn.failure is not None:
                raise turn.failure
            if turn.cubin is None:
                turn.cubin = self._cached(source, arch) or self._missed(source, arch)
            return turn.cubin

    def _prepare(self, source: Source, arch: str) -> None:
        """Compile missing kernels in the background; a failure is raised when the kernel is used."""
        if self._shipped(source, arch) is not None:
            return
        turn = self._turn(source, arch)
        with turn.lock:
            if turn.cubin is None and turn.failure is None:
                try:
                    turn.cubin = self._cached(source, arch) or self._compiled(source, arch)
                except Exception as failure:  # noqa: BLE001 (raised when the kernel is used)
                    turn.failure = failure

    def _turn(self, source: Source, arch: str) -> Turn:
        with self._lock:
            return self._turns.setdefault(source.key(arch, None), Turn())

    def _cached(self, source: Source, arch: str) -> bytes | None:
        if source.has_includes:
            return None
        files = cache_files()
        if self._version is None:
            self._version = remembered(files) or self._loaded(files)
        return files.read(_name(source, arch, self._version))

    def _missed(self, source: Source, arch: str) -> bytes:
        if not self._has_missed:
            self._has_missed = True
            self.ahead.asked(source, arch)
        return self._compiled(source, arch)

    def _compiled(self, source: Source, arch: str) -> bytes:
        """Compile and cache, unless another process has done so."""
        files = cache_files()
        self._version = self._loaded(files)
        if source.has_includes:
            return compiled(source, arch)
        name = _name(source, arch, self._version)
        with files.claimed(name):
            cubin = files.read(name)
            if cubin is None:
                cubin = compiled(source, arch)
                files.write(name, cubin)
        return cubin

    def _loaded(self, files: PrivateFiles) -> Version:
        """Load the compiler and return its version; store it if it was not cached."""
        version = nvrtc_version()
        if self._version != version:
            remember(files, version)
        return version


_compilers: weakref.WeakSet[Compiler] = weakref.WeakSet()


def _after_fork() -> None:
    for compiler in _compilers:
        compiler.reset()


os.register_at_fork(after_in_child=_after_fork)


def _name(source: Source, arch: str, version: Version) -> str:
    return f"{source.key(arch, version)}.cubin"

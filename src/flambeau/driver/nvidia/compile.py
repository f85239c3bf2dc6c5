"""Kernels to machine code: shipped with the package, else from the disk cache, else compiled now.

- NVRTC makes cubins, never PTX: an older driver cannot read a newer compiler's PTX.  No GPU is needed.
- A cached file is named by everything that decides its content: source, options, architecture, NVRTC's version.
- A kernel is compiled once: threads wait for the one that compiles it, processes for the one that holds its claim.
- A process whose kernels are all there loads no compiler.
- What cannot be trusted, shipped or cached, is compiled again: see prebuilt_cubins.py and cache.py.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from ... import config
from ...core.native import Lock
from ...kernel import Kernel
from . import library, nvrtc, prebuilt_cubins
from .background_compilation import BackgroundCompiler, Source, following, spare_cores
from .cache import PrivateFiles, files_of
from .prebuilt_cubins import Version, cache_key

ANY_MAJOR = 1 << 30


def compile_cubin(kernel: Kernel, arch: str) -> bytes:
    """The machine code of a kernel for an architecture such as "sm_90".

    Raises: AcceleratorError with the compiler's log if the source does not compile, or there is no NVRTC.
    """
    return Compiler().cubin(kernel, arch)


def cache_files() -> PrivateFiles:
    """The disk cache."""
    return files_of("cubin")


def architectures() -> list[str]:
    """The architectures of prebuilt cubins and of the compiler, the oldest first."""
    found = {*prebuilt_cubins.architectures(), *nvrtc.supported()}
    return sorted(found, key=lambda arch: int(arch.removeprefix("sm_")))


def of_driver(cu: Any) -> Compiler:
    """The compiler for what the driver of `cu` (cuda.bindings.driver) can load."""
    version = library.check(cu.cuDriverGetVersion(), "cuDriverGetVersion")
    return Compiler(int(version) // 1000, config.compile_ahead())


class Turn:
    """The compilation of one kernel in this process: its lock and result."""

    __slots__ = ("cubin", "failure", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a finalizer may want the same kernel meanwhile
        self.cubin: bytes | None = None
        self.failure: Exception | None = None


class Compiler:
    """Finds or compiles machine code.  Thread-safe."""

    def __init__(self, cuda_major: int = ANY_MAJOR, ahead: bool = False, use_shipped: bool = True) -> None:
        """cuda_major: the newest that the driver reads;  ahead: compile what comes next in the background."""
        self._cuda_major = cuda_major
        self._use_shipped = use_shipped
        self.ahead = BackgroundCompiler(self._prepare, following, spare_cores() if ahead else 0)
        self.reset()
        _compilers.add(self)

    def reset(self) -> None:
        """Reset the state of other threads in a forked child."""
        self._lock = Lock()
        self._turns: dict[str, Turn] = {}
        self._version: Version | None = None
        self._has_missed = False  # the program wanted a kernel that was neither shipped nor cached
        self.ahead.reset()

    def cubin(self, kernel: Kernel, arch: str) -> bytes:
        """The machine code of a kernel.  Raises as `compile_cubin`."""
        found = self._shipped(kernel.source, arch)
        return found if found is not None else self._asked(Source(kernel.entry, kernel.source), arch)

    def _shipped(self, text: str, arch: str) -> bytes | None:
        found = prebuilt_cubins.archive(arch)
        if not self._use_shipped or not found or found.version[0] > self._cuda_major:
            return None
        return found.read(cache_key(text, arch, None))

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
        if self._shipped(source.text, arch) is not None:
            return
        turn = self._turn(source, arch)
        with turn.lock:
            if turn.cubin is None and turn.failure is None:
                try:
                    turn.cubin = self._cached(source, arch) or self._compiled(source, arch)
                except Exception as failure:  # noqa: BLE001 (nobody waits for it here; `_asked` raises it)
                    turn.failure = failure

    def _turn(self, source: Source, arch: str) -> Turn:
        with self._lock:
            return self._turns.setdefault(cache_key(source.text, arch, None), Turn())

    def _cached(self, source: Source, arch: str) -> bytes | None:
        files = cache_files()
        if self._version is None:
            self._version = nvrtc.remembered(files) or self._loaded(files)
        return files.read(_name(source, arch, self._version))

    def _missed(self, source: Source, arch: str) -> bytes:
        if not self._has_missed:
            self._has_missed = True
            self.ahead.asked(source, arch)
        return self._compiled(source, arch)

    def _compiled(self, source: Source, arch: str) -> bytes:
        """Compile and keep, unless another process does."""
        files = cache_files()
        self._version = self._loaded(files)
        name = _name(source, arch, self._version)
        with files.claimed(name):
            cubin = files.read(name)
            if cubin is None:
                cubin = nvrtc.compiled(source.entry, source.text, arch)
                files.write(name, cubin)
        return cubin

    def _loaded(self, files: PrivateFiles) -> Version:
        """The version of the compiler, which is loaded; remembered where that was not known."""
        found = nvrtc.nvrtc_version()
        if self._version != found:
            nvrtc.remember(files, found)
        return found


_compilers: weakref.WeakSet[Compiler] = weakref.WeakSet()


def _after_fork() -> None:
    for compiler in _compilers:
        compiler.reset()


os.register_at_fork(after_in_child=_after_fork)


def _name(source: Source, arch: str, version: Version) -> str:
    return f"{cache_key(source.text, arch, version)}.cubin"

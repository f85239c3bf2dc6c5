"""Compiling in the background what a program will need next.

- What comes next is written in a file beside the shipped archives, made by `scripts/build` from the operators and from
  ordinary programs: for each kernel the sources of those that were first launched after it, such as the kernels of an
  operator's derivative.  A name whose source differs from the program's own is another version's, and is ignored.
- Nothing happens until a kernel is neither shipped nor cached.  From then on each kernel that the program asks for
  brings those that follow it to the front of the queue.  So a program whose kernels are all there reads no file and
  starts no thread; one that runs for the first time compiles its backward pass while its forward pass runs.  A list of
  what earlier runs used would know nothing on a new machine, and compiling everything would mostly be for nothing.
- NVRTC compiles with the interpreter unlocked and beside other threads.  One thread does it, at a low priority and
  only where there is a second core: four at the program's own made its first steps slower.
- A thread ends when there is nothing more to do.  At exit the queue is dropped, and a running compilation waited for:
  the compiler must not be running when its library is unloaded.  A forked child starts with an empty queue.
- A failure is kept by the compiler, and raised when the kernel is needed.
"""

from __future__ import annotations

import atexit
import gzip
import json
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...core.native import Lock
from .prebuilt_cubins import DIRECTORY

NAME = "next.json.gz"
MAX_THREADS = 1
NICENESS = 10


class Source(NamedTuple):
    """A kernel's name and source text."""

    entry: str
    text: str


class Following:
    """Which kernels follow which.

    texts: pieces of source;  kernels: {entry: the numbers of its pieces};  after: {entry: the entries that follow}.
    """

    def __init__(self, texts: Sequence[str], kernels: Mapping[str, Sequence[int]], after: Mapping[str, Sequence[str]]):
        self._texts = texts
        self._kernels = kernels
        self._after = after

    def __len__(self) -> int:
        return len(self._kernels)

    def of(self, kernel: Source) -> list[Source]:
        """The kernels that usually follow a kernel, the nearest first; empty if its source differs from the file's."""
        if self._text(kernel.entry) != kernel.text:
            return []
        return [Source(entry, self._text(entry)) for entry in self._after.get(kernel.entry, ())]

    def _text(self, entry: str) -> str:
        return "".join([self._texts[number] for number in self._kernels.get(entry, ())])


@cache
def following(path: Path = DIRECTORY / NAME) -> Following:
    """Read the file of following kernels; empty if it is missing or damaged."""
    try:
        found: Any = json.loads(gzip.decompress(path.read_bytes()))
        return Following(found["texts"], found["kernels"], found["after"])
    except (OSError, EOFError, ValueError, KeyError, zlib.error):  # it makes nothing right or wrong, only sooner
        return Following((), {}, {})


def write_following(sources: Mapping[str, str], after: Mapping[str, Sequence[str]], path: Path) -> int:
    """Make the file from {entry: source} and {entry: entries that follow}; its size in bytes."""
    numbers: dict[str, int] = {}
    kernels = {
        entry: [numbers.setdefault(piece, len(numbers)) for piece in _pieces(text)] for entry, text in sources.items()
    }
    content = json.dumps({"texts": list(numbers), "kernels": kernels, "after": after}, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content.encode(), mtime=0))
    return path.stat().st_size


def _pieces(text: str) -> list[str]:
    """The paragraphs of a source: kernels share most of them."""
    *most, last = text.split("\n\n")
    return [*(each + "\n\n" for each in most), last]


def spare_cores() -> int:
    """The number of compiling threads: 0 on a single core."""
    return min(MAX_THREADS, len(os.sched_getaffinity(0)) - 1)


class BackgroundCompiler:
    """A queue of kernels to compile in background threads.  Thread-safe.

    compile: makes one kernel for an architecture if nobody has yet, and never raises.
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
        self._asked: deque[tuple[Source, str]] = deque()  # by the program, the newest last
        self._queue: deque[tuple[Source, str]] = deque()  # to compile, the most urgent first
        self._seen: set[tuple[str, str]] = set()  # (entry, architecture)
        self._threads: set[threading.Thread] = set()
        self._is_over = False

    def asked(self, kernel: Source, arch: str) -> None:
        """The program wants this kernel now, so it will want those that follow it."""
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
        with suppress(OSError):  # where it is forbidden, it runs like the rest
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
        fresh = [each for each in following.of(kernel) if (each.entry, arch) not in self._seen]
        self._seen.update((each.entry, arch) for each in fresh)
        self._queue.extendleft((each, arch) for each in reversed(fresh))

"""Number of CPU threads for linear algebra; denormal and warning settings."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from .. import callers
from ..errors import ArgumentTypeError, ModeError, ValueRangeError, shown


class _Counts:
    """Thread counts that the program set: intra-op and inter-op; None if not set."""

    within: int | None = None
    between: int | None = None


def _checked(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(f"expects an int, but got {shown(value)}", hint="pass 1 or more", operator=name)
    if value < 1:
        raise ValueRangeError(f"expects a positive integer, got {value}", hint="pass 1 or more", operator=name)
    return int(value)


class _Pools:
    """The thread pools of NumPy's libraries.

    found: a ThreadpoolController of threadpoolctl;  modules: the number of loaded Python modules when it was made.
    """

    found: Any = None
    modules = 0


def find_pools() -> None:
    """Find the thread pools, unless no module was loaded since the last time.  Does nothing without threadpoolctl."""
    try:
        import threadpoolctl
    except ImportError:
        return
    if _Pools.modules != len(sys.modules):
        _Pools.modules, _Pools.found = len(sys.modules), threadpoolctl.ThreadpoolController()


def use_one_thread() -> None:
    """Limit a worker process to one BLAS thread.  A forked worker reuses the pools that its parent found.

    OpenBLAS's thread count is set in its variable: its own call would first restart all threads that it had before the
    fork, and each of them spins for 0.1 s.
    """
    if _Pools.found is None:
        find_pools()
    _Counts.within = 1
    for pool in () if _Pools.found is None else _Pools.found.lib_controllers:
        try:
            ctypes.c_int.in_dll(pool.dynlib, "blas_cpu_number").value = 1
        except ValueError:  # another library, or an OpenBLAS that hides its variable
            pool.set_num_threads(1)


def _limit(threads: int) -> None:
    _Counts.within = threads
    if _Pools.found is not None:
        _Pools.found.limit(limits=threads)


def set_num_threads(num: int) -> None:
    """Set how many threads matrix products on the CPU may use.

    The number takes effect only if the package threadpoolctl is installed; `get_num_threads` returns it in any case.
    Raises: ArgumentTypeError if `num` is not an int, ValueRangeError if it is below 1.
    Example:
        >>> before = torch.get_num_threads()
        >>> torch.set_num_threads(1)
        >>> torch.get_num_threads()
        1
        >>> torch.set_num_threads(before)
    """
    threads = _checked("set_num_threads", num)
    find_pools()
    _limit(threads)


def get_num_threads() -> int:
    """Return how many threads matrix products on the CPU may use.

    Example:
        >>> torch.get_num_threads() > 0
        True
    """
    return _Counts.within or len(os.sched_getaffinity(0))


def set_num_interop_threads(num: int) -> None:
    """Set the number of inter-op threads.  It has no effect: CPU operators run in the calling thread.

    Raises: ModeError for a second call, ArgumentTypeError if `num` is not an int, ValueRangeError if it is below 1.
    Example:
        >>> torch.get_num_interop_threads() > 0
        True
    """
    wanted = _checked("set_num_interop_threads", num)
    if _Counts.between is not None:
        raise ModeError(
            f"the number of inter-op threads was set to {_Counts.between} before, and cannot be changed to {wanted}",
            hint="call set_num_interop_threads() only once",
            operator="set_num_interop_threads",
        )
    _Counts.between = wanted


def get_num_interop_threads() -> int:
    """Return the number of inter-op threads: the one that `set_num_interop_threads` set, or the number of cores.

    No such threads exist: CPU operators run in the calling thread.

    Example:
        >>> torch.get_num_interop_threads() > 0
        True
    """
    return _Counts.between or len(os.sched_getaffinity(0))


def set_flush_denormal(mode: bool) -> bool:
    """Return False: denormal numbers are always kept, never flushed to 0.

    Example:
        >>> torch.set_flush_denormal(True)
        False
    """
    return False


def set_warn_always(b: bool) -> None:
    """Set whether each warning of flambeau is shown every time, or only once for each line that causes it.

    PyTorch shows some warnings only once per process unless this is set.
    Raises: ArgumentTypeError if b is not a bool.
    Example:
        >>> torch.set_warn_always(True)
        >>> torch.is_warn_always_enabled()
        True
        >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise ArgumentTypeError(
            f"expects a bool, but got {shown(b)}", hint="pass True or False", operator="set_warn_always"
        )
    callers.settings.warns_always = b


def is_warn_always_enabled() -> bool:
    """Return whether each warning of flambeau is shown every time: see `set_warn_always`.

    Example:
        >>> torch.is_warn_always_enabled()
        False
    """
    return callers.settings.warns_always

"""torch.multiprocessing: multiprocessing whose queues, pipes and pools carry tensors without copying them."""

from multiprocessing import (
    Array,
    AuthenticationError,
    Barrier,
    BoundedSemaphore,
    BufferTooShort,
    Condition,
    Event,
    Lock,
    Manager,
    Pipe,
    ProcessError,
    RawArray,
    RawValue,
    RLock,
    Semaphore,
    TimeoutError,
    Value,
    active_children,
    allow_connection_pickling,
    cpu_count,
    current_process,
    freeze_support,
    get_all_start_methods,
    get_logger,
    get_start_method,
    log_to_stderr,
    parent_process,
    set_executable,
    set_forkserver_preload,
    set_start_method,
)
from typing import Any

from ..errors import no_attribute as _no_attribute
from ..importer import listing as _listing
from ..runtime.ipc import Report
from ..runtime.shared_memory import STRATEGIES as _STRATEGIES
from ..runtime.shared_memory import host_side as _host_side
from ..runtime.shared_memory import set_strategy as set_sharing_strategy
from .contexts import Process, get_context
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)


def get_sharing_strategy() -> str:
    """Return the strategy that moves CPU tensors to shared memory: "file_descriptor" or "file_system".

    Example:
        >>> torch.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _host_side().strategy


def get_all_sharing_strategies() -> set[str]:
    """Return the strategies that `set_sharing_strategy` accepts.

    Example:
        >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def Queue(maxsize: int = 0) -> Any:  # noqa: N802
    """Return a multiprocessing.Queue of the default start method.  Tensors in it are shared, not copied.

    maxsize: how many values it holds before `put` waits; 0 for no limit.
    Raises: in `get(timeout=seconds)` and `put(timeout=seconds)`, queue.Empty and queue.Full.
    Example:
        >>> queue = torch.multiprocessing.Queue()
        >>> queue.put(torch.tensor([1, 2]))
        >>> queue.get()
        tensor([1, 2])
        >>> queue.close()
    """
    return get_context().Queue(maxsize)


def JoinableQueue(maxsize: int = 0) -> Any:  # noqa: N802
    """Return a multiprocessing.JoinableQueue of the default start method.  Tensors in it are shared, not copied.

    maxsize: how many values it holds before `put` waits; 0 for no limit.
    Raises: in `get` and `put` with a timeout, queue.Empty and queue.Full; in `task_done`, the builtin ValueError if it
            is called more often than `put`.
    Example:
        >>> queue = torch.multiprocessing.JoinableQueue()
        >>> queue.put(torch.tensor([1, 2]))
        >>> queue.get()
        tensor([1, 2])
        >>> queue.task_done()
        >>> queue.join()
        >>> queue.close()
    """
    return get_context().JoinableQueue(maxsize)


def SimpleQueue() -> Any:  # noqa: N802
    """Return a multiprocessing.SimpleQueue of the default start method.  Tensors in it are shared, not copied.

    Raises: in `put`, the errors of pickling.
    Example:
        >>> queue = torch.multiprocessing.SimpleQueue()
        >>> queue.put(torch.tensor([1, 2]))
        >>> queue.get()
        tensor([1, 2])
        >>> queue.close()
    """
    return get_context().SimpleQueue()


def Pool(  # noqa: N802
    processes: Any = None, initializer: Any = None, initargs: Any = (), maxtasksperchild: Any = None
) -> Any:
    """Return a multiprocessing.Pool of the default start method, whose arguments and results may hold tensors.

    processes: how many to start; None for one per CPU.  initializer(*initargs) runs in each process when it starts.
    maxtasksperchild: the number of tasks after which a process is replaced; None for no limit.
    Raises: the builtin ValueError for processes below 1, the builtin TypeError for an initializer that is not callable;
            in `map` and related methods, the errors of the function.
    Example:
        >>> with torch.multiprocessing.Pool(1) as pool:
        ...     pool.map(torch.sum, [torch.tensor([1, 2]), torch.tensor([3, 4])])
        [tensor(3), tensor(7)]
    """
    return get_context().Pool(processes, initializer, initargs, maxtasksperchild)


__all__ = [
    "Array", "AuthenticationError", "Barrier", "BoundedSemaphore", "BufferTooShort", "Condition", "Event",
    "JoinableQueue", "Lock", "Manager", "Pipe", "Pool", "Process", "ProcessContext", "ProcessError",
    "ProcessException", "ProcessExitedException", "ProcessRaisedException", "Queue", "RLock", "RawArray", "RawValue",
    "Report", "Semaphore", "SimpleQueue", "SpawnContext", "TimeoutError", "Value", "active_children",
    "allow_connection_pickling", "cpu_count",
    "current_process", "freeze_support", "get_all_sharing_strategies", "get_all_start_methods", "get_context",
    "get_logger", "get_sharing_strategy", "get_start_method", "log_to_stderr", "parent_process", "set_executable",
    "set_forkserver_preload", "set_sharing_strategy", "set_start_method", "spawn", "start_processes",
]  # fmt: skip
__dir__ = _listing(globals(), "reductions")


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

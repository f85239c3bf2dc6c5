"""Anomaly detection: report the forward call of a backward node that fails or returns NaN."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from .. import callers
from ..core.locks import whole
from ..errors import ArgumentTypeError, AutogradError, shown
from ..importer import listing
from .graph_node import observe
from .node_hooks import hooks_of

TRACEBACK, PARENT = "traceback_", "parent_"  # keys of a node's metadata


class _Anomaly:
    """The process's settings, and the node that each thread's backward is running."""

    enabled = False
    check_nan = True
    running = threading.local()


@whole
def _set(enabled: bool, check_nan: bool) -> None:
    _Anomaly.enabled, _Anomaly.check_nan = enabled, check_nan
    observe(note_forward, enabled)


class _Restoring:
    """A context manager that restores the former setting at its end."""

    def __init__(self) -> None:
        self._former = _Anomaly.enabled, _Anomaly.check_nan

    def __enter__(self) -> None:
        pass

    @whole
    def __exit__(self, *error: object) -> None:
        _set(*self._former)


class set_detect_anomaly(_Restoring):  # noqa: N801
    """Switch anomaly detection on or off; as a context manager it restores the former setting.

    A node made while it is on stores the stack trace of its forward call.  If the node fails in backward, a
    warning shows it.  check_nan: whether a NaN gradient is an error too.
    Host:   backward waits for every gradient if check_nan is True.
    Raises: ArgumentTypeError if `mode` or `check_nan` is not a bool.
    Example:
        >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
        ...     print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
        True False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        _check("set_detect_anomaly", "mode", mode)
        _check("set_detect_anomaly", "check_nan", check_nan)
        super().__init__()
        _set(mode, check_nan)


class detect_anomaly(_Restoring):  # noqa: N801
    """Enable anomaly detection inside a `with` block, and warn about its cost: see `set_detect_anomaly`.

    check_nan: whether a NaN gradient is an error too.
    Host:   inside, backward waits for every gradient if check_nan is True.
    Raises: ArgumentTypeError if `check_nan` is not a bool.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     with torch.autograd.detect_anomaly():
        ...         print(torch.is_anomaly_enabled())
        True
    """

    def __init__(self, check_nan: bool = True) -> None:
        _check("detect_anomaly", "check_nan", check_nan)
        self._check_nan = check_nan
        super().__init__()
        callers.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )

    def __enter__(self) -> None:
        super().__init__()
        try:
            _set(True, self._check_nan)
        except BaseException:  # a signal handler may raise after the change, before `__exit__` would run
            _set(*self._former)
            raise


def _check(name: str, what: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{what} must be a bool, got {shown(value)}", hint="pass True or False", operator=name)


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off, as `autograd.set_detect_anomaly` does.

    check_nan: whether a NaN gradient in backward is an error too.
    Raises: ArgumentTypeError if `enabled` or `check_nan` is not a bool.
    Example:
        >>> torch.set_anomaly_enabled(True)
        >>> torch.is_anomaly_enabled()
        True
        >>> torch.set_anomaly_enabled(False)
    """
    _check("set_anomaly_enabled", "enabled", enabled)
    _check("set_anomaly_enabled", "check_nan", check_nan)
    _set(enabled, check_nan)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on.

    Example:
        >>> torch.is_anomaly_enabled()
        False
    """
    return _Anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection, where it is on, checks for NaN.

    Example:
        >>> torch.is_anomaly_check_nan_enabled()
        True
    """
    return _Anomaly.check_nan


def note_forward(node: Any, saved: Any) -> None:
    """Store the stack trace of a new node, and the node whose backward made it (see graph_node.observe)."""
    metadata = hooks_of(node).metadata
    metadata[TRACEBACK] = callers.program_stack()
    parent = getattr(_Anomaly.running, "node", None)
    if parent is not None:
        metadata[PARENT] = parent


class Watch:
    """Anomaly checks of one backward pass."""

    def run(self, task: Any, node: Any, grads: list[Any]) -> Sequence[Any]:
        """Run a node of a backward pass (a core.engine.GraphTask); return the gradients of its inputs."""
        before = getattr(_Anomaly.running, "node", None)
        _Anomaly.running.node = node
        try:
            results: Sequence[Any] = task.apply_node(node, grads)
            self._check(node, results)
        except Exception:
            self._report(node)
            raise
        finally:
            _Anomaly.running.node = before
        return results

    def _check(self, node: Any, grads: Sequence[Any]) -> None:
        """Raise AutogradError if a gradient is NaN.  Host: waits."""
        for index, grad in enumerate(grads) if _Anomaly.check_nan else ():
            if grad is not None and bool((grad != grad).any()):
                raise AutogradError(
                    f"Function '{node.name}' returned nan values in its {index}th output: {grad.describe()}",
                    hint="the warning above shows the forward call; look for 0/0, or log or sqrt of numbers below 0",
                    operator="backward",
                )

    def _report(self, node: Any) -> None:
        """Warn with the forward call of a node that failed, and with those of the nodes whose backward made it."""
        metadata = {} if node.hooks is None else node.hooks.metadata
        if TRACEBACK not in metadata:
            callers.warn(
                f"Error detected in {node.name}. No forward pass information available. Enable detect anomaly during "
                f"forward pass for more information."
            )
            return
        lines = "".join(metadata[TRACEBACK])
        callers.warn(f"Error detected in {node.name}. Traceback of forward call that caused the error:\n{lines}")
        parent = metadata.get(PARENT)
        while parent is not None:
            metadata = {} if parent.hooks is None else parent.hooks.metadata
            lines = "".join(metadata.get(TRACEBACK, ["No forward pass information available.\n"]))
            callers.warn(
                f"Previous calculation was induced by {parent.name}. Traceback of forward call that induced the "
                f"previous calculation:\n{lines}"
            )
            parent = metadata.get(PARENT)


def watch() -> Watch | None:
    """Return the checks for a new backward pass, or None without anomaly detection."""
    return Watch() if _Anomaly.enabled else None


__all__ = ["detect_anomaly", "set_detect_anomaly"]
__dir__ = listing(globals())

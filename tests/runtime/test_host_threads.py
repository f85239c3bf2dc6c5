"""Threads of the host, and warnings that show every time."""

import ctypes
import json
import os
import sys
import warnings

import numpy as np
import pytest

import flambeau as torch
from flambeau import callers
from flambeau.errors import ArgumentTypeError, ValueRangeError
from flambeau.runtime import host_threads


def test_the_number_of_threads_is_kept():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    for name in ("set_num_threads", "set_num_interop_threads"):
        for wrong, error in ((0, ValueRangeError), (1.5, ArgumentTypeError), (True, ArgumentTypeError)):
            with pytest.raises(error, match=f"{name}: .*{wrong}"):
                getattr(torch, name)(wrong)


class Counted:
    """A controller of one pool, which counts how often it is made and keeps its limits."""

    made = 0

    def __init__(self):
        type(self).made += 1
        self.limits, self.lib_controllers, self.dynlib = [], [self], ctypes.CDLL(None)

    def limit(self, limits):
        self.limits.append(limits)

    set_num_threads = limit


def test_libraries_are_looked_for_again_only_if_a_module_was_loaded(monkeypatch):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Counted)
    monkeypatch.setattr(Counted, "made", 0)
    for name, value in (("found", None), ("modules", 0)):
        monkeypatch.setattr(host_threads._Pools, name, value)
    monkeypatch.setattr(host_threads._Counts, "within", None)
    for _ in range(2):
        torch.set_num_threads(3)
    assert (Counted.made, host_threads._Pools.found.limits) == (1, [3, 3])
    monkeypatch.setitem(sys.modules, "one_more", object())
    host_threads.use_one_thread()  # in a worker, which has loaded modules
    assert (Counted.made, host_threads._Pools.found.limits, torch.get_num_threads()) == (1, [3, 3, 1], 1)
    torch.set_num_threads(2)
    assert (Counted.made, host_threads._Pools.found.limits) == (2, [2])


def test_a_forked_worker_starts_no_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    pools = _openblas(threadpoolctl)
    if not pools or not all(map(_has_variable, pools)):
        pytest.skip("NumPy has no OpenBLAS with this variable")
    host_threads.find_pools()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        host_threads.use_one_thread()
        np.ones((300, 300)) @ np.ones((300, 300))
        counts = [each.num_threads for each in _openblas(threadpoolctl)]
        os.write(write, json.dumps([len(os.listdir("/proc/self/task")), set(counts) == {1}]).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with open(read) as answer:
        assert json.load(answer) == [1, True]


def _openblas(threadpoolctl):
    """NumPy's pools of OpenBLAS."""
    found = threadpoolctl.ThreadpoolController().lib_controllers
    return [each for each in found if each.internal_api == "openblas"]


def _has_variable(pool):
    try:
        ctypes.c_int.in_dll(pool.dynlib, "blas_cpu_number")
    except ValueError:
        return False
    return True


def test_threads_between_operators_are_set_once(monkeypatch):
    monkeypatch.setattr(host_threads._Counts, "between", None)
    torch.set_num_interop_threads(3)
    assert torch.get_num_interop_threads() == 3
    with pytest.raises(RuntimeError, match="set_num_interop_threads: .*3.*4"):
        torch.set_num_interop_threads(4)


def test_warnings_show_every_time():
    def counted() -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                callers.warn("again")
        return len(caught)

    assert counted() == 1 and not torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        assert counted() == 3 and torch.is_warn_always_enabled()
    finally:
        torch.set_warn_always(False)
    assert torch.set_flush_denormal(True) is False

"""Threads of the host, and warnings that show every time."""

import sys
import warnings

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


def test_libraries_are_looked_for_once_until_a_module_is_loaded(monkeypatch):
    pytest.importorskip("threadpoolctl")
    first = host_threads.pools()
    assert host_threads.pools() is first
    monkeypatch.setitem(sys.modules, "one_more", object())
    assert host_threads.pools() is not first


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

"""Calls of the NVTX library, and where the library is searched."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

import flambeau as torch
from flambeau import driver
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.driver.nvidia import nvtx
from flambeau.runtime.machine import Machine


class Function:
    """A function of a library, as ctypes has it."""

    def __init__(self, name, calls, answer=None):
        self.name, self.calls, self.answer = name, calls, answer

    def __call__(self, *arguments):
        self.calls.append((self.name, *arguments))
        return self.answer


@pytest.fixture
def calls():
    return []


@pytest.fixture
def library(calls):
    answers = {"nvtxRangeStartA": 77, "nvtxRangePushA": -2, "nvtxRangePop": -2}
    return SimpleNamespace(**{name: Function(name, calls, answers.get(name)) for name in nvtx.SIGNATURES})


@pytest.fixture
def nvidia(monkeypatch, library):
    made = nvtx.NvtxMarkers(library)
    monkeypatch.setattr(nvtx, "load", lambda: made)
    former = thread.swap_machine(Machine(Gpus("nvidia")))
    yield
    thread.swap_machine(former)


def test_every_call_reaches_the_library(nvidia, calls):
    of = torch.cuda.nvtx
    with of.range("step {}", 1):
        of.mark("here")
    number = of.range_start("far")
    of.range_end(number)
    assert calls == [
        ("nvtxRangePushA", b"step 1"), ("nvtxMarkA", b"here"), ("nvtxRangePop",),
        ("nvtxRangeStartA", b"far"), ("nvtxRangeEnd", 77),
    ]  # fmt: skip


def test_depths_are_counted_without_a_profiler_too(nvidia):
    of = torch.cuda.nvtx
    assert [of.range_push("a"), of.range_push("ü"), of.range_pop(), of.range_pop(), of.range_pop()] == [0, 1, 1, 0, -1]


def test_functions_have_their_types(library):
    nvtx.NvtxMarkers(library)
    assert library.nvtxRangeStartA.restype is ctypes.c_uint64
    assert library.nvtxRangeEnd.argtypes == (ctypes.c_uint64,)


def test_the_newest_library_that_there_is(monkeypatch, library):
    asked = []

    def find(path):
        asked.append(path)
        if path != nvtx.OLD_LIBRARY:
            raise OSError(path)
        return library

    monkeypatch.setattr(ctypes, "CDLL", find)
    monkeypatch.setattr(nvtx, "in_wheels", lambda library: ["/wheels/nvidia/cu13/lib/libnvtx3interop.so.1"])
    nvtx.load.cache_clear()
    assert isinstance(nvtx.load(), nvtx.NvtxMarkers)
    assert asked == ["/wheels/nvidia/cu13/lib/libnvtx3interop.so.1", nvtx.LIBRARY, nvtx.OLD_LIBRARY]
    nvtx.load.cache_clear()


def test_without_the_library_nobody_listens(monkeypatch):
    def missing(path):
        raise OSError(path)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    nvtx.load.cache_clear()
    assert driver.markers(Gpus("nvidia")) is None
    former = thread.swap_machine(Machine(Gpus("nvidia")))
    try:
        with torch.cuda.nvtx.range("alone"):
            torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("too"))
    finally:
        thread.swap_machine(former)
        nvtx.load.cache_clear()


def test_virtual_gpus_have_no_profiler_of_nvidia_s():
    assert driver.markers(Gpus("virtual", 1)) is None

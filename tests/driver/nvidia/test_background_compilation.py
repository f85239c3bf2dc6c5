"""Background compilation: which kernels, in which order, and when it ends."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from flambeau import config
from flambeau.driver.nvidia import compile as module
from flambeau.driver.nvidia.compile import (
    BackgroundCompiler,
    Following,
    Source,
    following,
    write_following,
)

TEXTS = {name: f"head\n\n{name}\n\ntail" for name in "abcdefg"}
AFTER = {"a": ["b", "c"], "b": ["c", "d"], "e": ["f", "g"]}


def source(name):
    return Source(name, TEXTS[name])


@pytest.fixture
def path(tmp_path):
    write_following(TEXTS, AFTER, tmp_path / "made" / "next.json.gz")
    return tmp_path / "made" / "next.json.gz"


@pytest.fixture
def listed(path):
    return following(path)


def test_what_follows_comes_with_its_source(listed):
    assert listed.of(source("a")) == [source("b"), source("c")]
    assert listed.of(source("d")) == []
    assert listed.of(Source("unknown", "text")) == []
    assert len(listed) == len(TEXTS)


def test_nothing_follows_another_versions_kernel(listed):
    assert listed.of(Source("a", TEXTS["a"] + " ")) == []


def test_what_sources_share_is_kept_once(tmp_path):
    shared = "\n\n".join(f"float f{number}(float x) {{ return x * {number}; }}" for number in range(1000))
    one = write_following({"a": shared}, {}, tmp_path / "one")
    many = write_following({str(number): f"{shared}\n\n{number}" for number in range(100)}, {}, tmp_path / "many")
    assert many < 4 * one
    assert following(tmp_path / "many").of(Source("7", f"{shared}\n\n7")) == []


@pytest.mark.parametrize("damage", [lambda whole: b"", lambda whole: whole[:-9], lambda whole: whole[:40] + whole[41:]])
def test_a_damaged_file_lists_nothing(path, damage):
    following.cache_clear()
    path.write_bytes(damage(path.read_bytes()))
    assert len(following(path)) == 0


def test_a_missing_file_lists_nothing(tmp_path):
    assert len(following(tmp_path / "none")) == 0


def made(listed, compiled, threads=1):
    return BackgroundCompiler(lambda each, arch: compiled.append((each.entry, arch)), lambda: listed, threads)


def test_what_follows_is_compiled_in_order(listed):
    compiled = []
    ahead = made(listed, compiled)
    ahead.asked(source("a"), "sm_90")
    ahead.wait()
    assert compiled == [("b", "sm_90"), ("c", "sm_90")]


def test_nothing_is_queued_twice(listed):
    compiled = []
    ahead = made(listed, compiled)
    for name in ("b", "a", "a", "b"):
        ahead.asked(source(name), "sm_90")
        ahead.wait()
    assert compiled == [("c", "sm_90"), ("d", "sm_90")]
    ahead.asked(source("a"), "sm_80")
    ahead.wait()
    assert compiled[2:] == [("b", "sm_80"), ("c", "sm_80")]


def test_what_follows_the_newest_goes_first(listed):
    compiled, is_running, may_go_on = [], threading.Event(), threading.Event()

    def compile(each, arch):
        is_running.set()
        may_go_on.wait()
        compiled.append(each.entry)

    ahead = BackgroundCompiler(compile, lambda: listed, 1)
    ahead.asked(source("a"), "sm_90")
    is_running.wait()
    ahead.asked(source("e"), "sm_90")
    may_go_on.set()
    ahead.wait()
    assert compiled == ["b", "f", "g", "c"]


def test_without_a_thread_nothing_is_compiled(listed):
    compiled = []
    ahead = made(listed, compiled, threads=0)
    ahead.asked(source("a"), "sm_90")
    ahead.wait()
    assert compiled == []


def test_one_core_is_left_to_the_program(monkeypatch):
    for cores, threads in ((1, 0), (2, 1), (16, module.MAX_THREADS)):
        monkeypatch.setattr(module.os, "sched_getaffinity", lambda pid, cores=cores: set(range(cores)))
        assert module.spare_cores() == threads


def test_threads_end_when_nothing_is_left(listed):
    compiled = []
    ahead = made(listed, compiled, threads=3)
    for name in "abe":
        ahead.asked(source(name), "sm_90")
    ahead.wait()
    assert {entry for entry, _ in compiled} - {"b"} == set("cdfg")
    assert not [each for each in threading.enumerate() if each.name == "flambeau-compile"]


def test_the_end_waits_for_what_runs_and_drops_the_rest(listed):
    compiled = []

    def compile(each, arch):
        threading.Thread(target=ahead.finish).start()
        while not ahead._is_over:
            pass
        compiled.append(each.entry)

    ahead = BackgroundCompiler(compile, lambda: listed, 1)
    ahead.asked(source("a"), "sm_90")
    ahead.wait()
    ahead.asked(source("e"), "sm_90")
    ahead.wait()
    assert compiled == ["b"]


AT_EXIT = """
import threading, time
from flambeau.driver.nvidia.compile import BackgroundCompiler, Following, Source

started = threading.Event()

def compile(each, arch):
    started.set()
    while not ahead._is_over:  # the process is ending meanwhile
        time.sleep(0)
    print("made", each.entry, flush=True)

listed = Following(["a", "b", "c"], {"a": [0], "b": [1], "c": [2]}, {"a": ["b", "c"]})
ahead = BackgroundCompiler(compile, lambda: listed, 1)
ahead.asked(Source("a", "a"), "sm_90")
started.wait()
print("end of the program", flush=True)
"""


def test_a_process_ends_after_what_is_being_compiled():
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "end of the program\nmade b\n"


def test_the_environment_turns_it_off():
    assert config.compile_ahead({})
    assert config.compile_ahead({"FLAMBEAU_COMPILE_AHEAD": "1"})
    assert not config.compile_ahead({"FLAMBEAU_COMPILE_AHEAD": "0"})


def test_a_list_can_be_empty():
    assert Following((), {}, {}).of(Source("a", "")) == []

"""FLAMBEAU_STRICT=1: which launches are remembered, for drivers that cannot tell which one failed."""

import re
import sys

import pytest

import flambeau as torch
from flambeau.driver.nvidia import library
from flambeau.runtime.strict import unwatch
from flambeau.testing import machine


@pytest.fixture(autouse=True)
def hooks_as_they_were():
    yield
    unwatch()


def here():
    """The line of the caller."""
    return sys._getframe(1).f_lineno


@pytest.fixture
def strict(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_STRICT", "1")
    with machine(devices=2) as made:
        yield made


def suspects(made):
    return [each.split(" on ")[0] for each in made.strict.launches.suspects()]


def test_strict_mode_remembers_what_was_not_waited_for(strict):
    x = torch.ones(4, device="cuda")
    torch.cuda.synchronize()
    y = x + 1
    y.exp()
    x.to("cuda:1")
    line = here()
    names = [each.split(" ")[0] for each in suspects(strict)]
    assert names == ["copy", "exp", "add"]
    assert [int(each.rpartition(":")[2]) for each in suspects(strict)] == [line - 1, line - 2, line - 3]


def test_replays_are_remembered(strict):
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
    line = here() + 1
    graph.replay()
    assert suspects(strict)[0] == f"a replay at {__file__}:{line}"


def test_each_stream_is_forgotten_when_it_goes_on_after_a_wait(strict):
    side = torch.cuda.Stream()
    x = torch.ones(4, device="cuda")
    with torch.cuda.stream(side):
        x + 1
    torch.cuda.default_stream().synchronize()
    x.exp()
    assert [each.split(" ")[0] for each in suspects(strict)] == ["exp", "add"]
    torch.cuda.synchronize()
    for stream in (side, torch.cuda.default_stream()):
        with torch.cuda.stream(stream):
            x.neg()
    assert [each.split(" ")[0] for each in suspects(strict)] == ["neg", "neg"]


def test_only_the_last_ones_are_remembered(strict):
    x = torch.ones(4, device="cuda")
    for _ in range(100):
        x.neg()
    assert len(suspects(strict)) == 16


def test_errors_of_the_nvidia_driver_name_them(strict):
    x = torch.ones(4, device="cuda")
    torch.cuda.synchronize()
    launched = here() + 1
    x.exp()
    failure = library.error_of(719, "cuStreamSynchronize", {})
    assert re.search(
        rf"launched before, the latest first: exp .*{re.escape(__file__)}:{launched} on <torch", str(failure)
    )


def test_without_the_mode_nothing_is_remembered(monkeypatch):
    monkeypatch.delenv("FLAMBEAU_STRICT", raising=False)
    with machine(devices=1):
        torch.ones(4, device="cuda").exp()
        assert "FLAMBEAU_STRICT=1 the last launches" in library.error_of(719, "cuStreamSynchronize", {}).hint

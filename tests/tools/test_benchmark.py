"""torch.utils.benchmark: how often a statement runs, and the statistics of its times."""

import itertools

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, NotSupportedError
from flambeau.utils import benchmark


def test_a_statement_runs_as_often_as_asked(gpus):
    ticks = itertools.count(step=0.5)
    seen = []
    before = torch.get_num_threads()
    timer = benchmark.Timer("f(x)", globals={"f": seen.append, "x": 1}, timer=lambda: next(ticks), label="append")
    found = timer.timeit(4)
    assert len(seen) == 2 + 4 and found.raw_times == [0.5] and found.median == found.mean == 0.125
    assert repr(found).startswith("<Measurement append: median 125000.00 us") and torch.get_num_threads() == before
    blocks = []
    found = timer.blocked_autorange(lambda number, seconds: blocks.append((number, seconds)), min_run_time=1.5)
    assert blocks == [(1, 0.5)] * 3 and found.times == [0.5] * 3 and found.iqr == 0


def test_what_is_not_measured():
    with pytest.raises(NotSupportedError, match="'c\\+\\+'"):
        benchmark.Timer("x;", language="c++")
    with pytest.raises(ArgumentError, match="got 0"):
        benchmark.Timer().timeit(0)

"""Wrong arguments of spawn and its kin."""

import flambeau.multiprocessing as mp
from tests.wrong import cases, refused


@cases(
    (lambda: mp.get_context("x"), ValueError, "get_context: cannot find context for 'x'"),
    (lambda: mp.spawn(3), TypeError, "spawn: fn must be callable, got 3"),
    (lambda: mp.spawn(print, args=3), TypeError, "spawn: args must be a tuple, got 3"),
    (lambda: mp.spawn(print, nprocs="x"), TypeError, "spawn: nprocs must be an int, got 'x'"),
    (lambda: mp.spawn(print, nprocs=-1), ValueError, "spawn: nprocs must not be negative, got -1"),
    (lambda: mp.start_processes(3), TypeError, "start_processes: fn must be callable, got 3"),
    (lambda: mp.start_processes(print, start_method="x"), ValueError, "start_processes: cannot find context for 'x'"),
)
def test_wrong_calls(call, error, begins):
    refused(call, error, begins)

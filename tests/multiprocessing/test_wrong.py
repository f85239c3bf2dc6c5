"""Wrong arguments of spawn and its kin."""

import flambeau.multiprocessing as mp
from tests.wrong import cases, refused


@cases(
    (lambda: mp.get_context("x"), ValueError, "get_context", "'x'"),
    (lambda: mp.spawn(3), TypeError, "spawn", "3"),
    (lambda: mp.spawn(print, args=3), TypeError, "spawn", "3"),
    (lambda: mp.spawn(print, nprocs="x"), TypeError, "spawn", "'x'"),
    (lambda: mp.spawn(print, nprocs=-1), ValueError, "spawn", "-1"),
    (lambda: mp.start_processes(3), TypeError, "start_processes", "3"),
    (lambda: mp.start_processes(print, start_method="x"), ValueError, "start_processes", "'x'"),
)
def test_wrong_calls(case):
    refused(*case)

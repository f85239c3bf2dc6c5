import _thread
import warnings
from queue import SimpleQueue

import pytest

import flambeau as torch
from flambeau import callers
from flambeau.core import native
from flambeau.core.queue import hooks
from flambeau.ops.operator import REGISTRY


def test_a_caller_is_named_with_its_line_and_thread():
    found = []

    class Watched:
        def __call__(self, *_):
            found.append(callers.caller())

    before, hooks.on_host_read = hooks.on_host_read, Watched()
    try:
        torch.ones(2).tolist()
        REGISTRY["add"](torch.ones(1), 1).numpy()
    finally:
        hooks.on_host_read = before
    assert found
    assert all("test_callers.py:" in each and each.endswith("on thread 'MainThread'") for each in found)


def test_a_call_from_outside_has_no_name():
    assert callers.caller().startswith("<unknown> at ")


def test_a_thread_that_runs_compiled_code_only_has_an_origin_without_a_line():
    found = SimpleQueue()
    _thread.start_new_thread(list, (map(found.put, map(native.origin_above, [None], [None])),))
    assert callers.described(found.get()) == ("<unknown>", "")


def an_empty_graph():
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        pass


WARN = [
    lambda: torch.nn.functional.mse_loss(torch.ones(2), torch.ones(1)),
    lambda: torch.nn.functional.softmax(torch.ones(2)),
    lambda: torch.ones(3)[torch.ones(3, dtype=torch.uint8)],
    lambda: torch.nn.init.kaiming_uniform_(torch.empty(0, 2)),
    an_empty_graph,
]


@pytest.mark.parametrize("call", WARN)
def test_a_warning_names_the_programs_line_and_comes_once_per_line(call, gpus):
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            call()
    (one,) = found
    first = call.__code__.co_firstlineno
    assert one.filename == __file__ and first <= one.lineno <= first + 2

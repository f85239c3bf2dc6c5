from flambeau import trace
from flambeau.hooks import hooks
from flambeau.ops.operator import REGISTRY


def test_a_caller_is_named_with_its_line_and_thread():
    found = []

    class Watched:
        def __call__(self, *_):
            found.append(trace.caller())

    import flambeau as torch

    hooks.on_host_read = Watched()
    try:
        torch.ones(2).tolist()
        REGISTRY["add"](torch.ones(1), 1).numpy()
    finally:
        hooks.on_host_read = None
    assert found
    assert all("test_trace.py:" in each and each.endswith("on thread 'MainThread'") for each in found)


def test_a_call_from_outside_has_no_name():
    assert trace.caller().startswith("<unknown> at ")

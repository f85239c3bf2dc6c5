"""A small trace."""

from flambeau.tools.trace import Arrow, Call, Span, Trace

CALLS = (("add", 0), ("copy h2d", 190), ("mul", 205))


def made(**options):
    """Two kernels with a copy between them: [0, 100), [300, 400), the copy [200, 300) on another stream."""
    calls = [Call(1, name, at, at + 10, f"a.py:{number}") for number, (name, at) in enumerate(CALLS, 1)]
    spans = [
        Span(0, 0, "add", 10, 100, 64, "a.py:1", 0),
        Span(0, 7, "copy h2d", 200, 300, 64, "a.py:2", 1),
        Span(0, 0, "mul", 300, 400, 64, "a.py:3", 2),
    ]
    return Trace(spans=spans, calls=calls, arrows=[Arrow(1, 2, "a.py:9")], modelled=True, **options)

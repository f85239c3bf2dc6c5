"""Host time: what the caller waits for.  Tensors are 16x16, so the device is never the bottleneck."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import flambeau

from . import check, product_rows, raw
from .goals import at_most
from .perceptron import Perceptron
from .times import BURST, Missing, Row, Sizes, Work

SIDE = 16
HEADS = (1, 2, 16, 64)  # batch, heads, rows, dims of attention
BACKWARD_BURST = 50  # of several launches each
TRAINING_BURST = 10  # of some dozens
TOPK_BURST = 250  # of two launches each in PyTorch
LAUNCH_US = 1.0  # how much longer than the driver's launch a call may take
INDEX_US = 1.5  # the same for a call with a tensor of indexes
BACKWARD_US = 8.0  # how much longer than the driver's launches forward and backward together may take
BACKWARD_LAUNCHES = 6  # of them; tests count these
LIBRARY_US = 2.0  # what a product, or attention, may take beyond the library's own call
STACK_DEPTH = 17  # beside the frames of the benchmark
STEP_TOLERANCE = 1e-4  # of a change that is far smaller than what it changes
PARTS, ROWS_OF_PART = 4, 4  # of a matrix
CHOSEN = 4  # of a row
SAMPLED_CALLS = 64  # whose random numbers are examined
MOMENT_TOLERANCE = 0.06  # of mean and deviation of these: at least 7 standard errors

Make = Callable[[Any, Sizes], Work]


def exact() -> float:
    """For calls that compute nothing."""
    return 0.0


def _square(library: Any, **options: Any) -> Any:
    return library.randn(SIDE, SIDE, device="cuda", **options)


def _add(library: Any, _: Sizes) -> Work:
    a, b = _square(library), _square(library)
    return Work(lambda: a + b, lambda: check.pointwise(np.add, a + b, a, b))


def _relu(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: library.relu(a), lambda: check.pointwise(lambda x: np.maximum(x, 0), library.relu(a), a))


def _sum(library: Any, _: Sizes) -> Work:
    a = library.rand(SIDE, SIDE, device="cuda")
    return Work(lambda: a.sum(), lambda: check.error(check.host(a.sum()), check.host(a).sum()))


def _softmax(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(
        lambda: library.softmax(a, -1), lambda: check.error(check.host(a.softmax(-1)), check.softmax(check.host(a)))
    )


def _index(library: Any, _: Sizes) -> Work:
    a, at = _square(library), library.randint(0, SIDE, (SIDE,), device="cuda")
    return Work(lambda: a[at], lambda: check.error(check.host(a[at]), check.host(a)[at.cpu().numpy()]))


def _mm(library: Any, _: Sizes) -> Work:
    a, b = _square(library), _square(library)
    return Work(lambda: library.mm(a, b), lambda: check.product(library.mm(a, b), a, b))


def _linear(library: Any, _: Sizes) -> Work:
    x, weight = _square(library), _square(library, requires_grad=True)
    bias = library.randn(SIDE, device="cuda", requires_grad=True)
    linear = library.nn.functional.linear

    def error() -> float:
        return check.error(check.host(linear(x, weight, bias)), check.host(x) @ check.host(weight).T + check.host(bias))

    return Work(lambda: linear(x, weight, bias), error)


def _small(make: Make) -> Make:
    """A row of attention with few heads."""
    return lambda library, sizes: make(library, sizes._replace(heads=HEADS))


_attention, _attention_backward = _small(product_rows.attention), _small(product_rows.attention_backward)


def _empty(library: Any, _: Sizes) -> Work:
    return Work(lambda: library.empty(SIDE, SIDE, device="cuda"), exact)


def _recorded(stacks: str) -> Make:
    """Make the call that allocates and frees a block, two events of a memory history, under a stack of 20 frames.

    stacks: those that are recorded; "" records nothing.
    """

    def make(library: Any, _: Sizes) -> Work:
        record = library.cuda.memory._record_memory_history
        if stacks:
            record(stacks=stacks if library is flambeau else "python", max_entries=100_000)

        def call(depth: int = STACK_DEPTH) -> Any:
            return call(depth - 1) if depth else library.empty(SIDE, SIDE, device="cuda")

        return Work(call, exact, close=lambda: record(None))

    return make


def _view(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: a.view(SIDE * SIDE), lambda: check.same(a.view(SIDE * SIDE).view(SIDE, SIDE), a))


def _slice(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: a[2:8], lambda: check.error(check.host(a[2:8]), check.host(a)[2:8]))


def _reshape(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: a.reshape(-1), lambda: check.error(check.host(a.reshape(-1)), check.host(a).reshape(-1)))


def _flatten(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: a.flatten(), lambda: check.error(check.host(a.flatten()), check.host(a).reshape(-1)))


def _chunk(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: a.chunk(PARTS), lambda: _parts_error(a.chunk(PARTS), a))


def _split(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: a.split(ROWS_OF_PART), lambda: _parts_error(a.split(ROWS_OF_PART), a))


def _parts_error(parts: Any, whole: Any) -> float:
    """The error of equal parts of a matrix, each with ROWS_OF_PART rows."""
    found = np.stack([check.host(part) for part in parts])
    return check.error(found, check.host(whole).reshape(-1, ROWS_OF_PART, SIDE))


def _unbind(library: Any, _: Sizes) -> Work:
    a = _square(library)

    def error() -> float:
        return check.error(np.stack([check.host(row) for row in a.unbind()]), check.host(a))

    return Work(lambda: a.unbind(), error)


def _stack(library: Any, _: Sizes) -> Work:
    a, b = _square(library), _square(library)

    def error() -> float:
        return check.error(check.host(library.stack((a, b))), np.stack((check.host(a), check.host(b))))

    return Work(lambda: library.stack((a, b)), error)


def _cat(library: Any, _: Sizes) -> Work:
    a, b = _square(library), _square(library)

    def error() -> float:
        return check.error(check.host(library.cat((a, b))), np.concatenate((check.host(a), check.host(b))))

    return Work(lambda: library.cat((a, b)), error)


def _assigned(is_tensor: bool) -> Make:
    """Make the call that writes the same rows each time: those of a tensor, or a number."""

    def make(library: Any, _: Sizes) -> Work:
        a = _square(library)
        value = library.randn(6, SIDE, device="cuda") if is_tensor else 0.5
        exact = check.host(a)
        exact[2:8] = check.host(value) if is_tensor else value

        def call() -> None:
            a[2:8] = value

        return Work(call, lambda: check.error(check.host(a), exact))

    return make


def _zeros_like(library: Any, _: Sizes) -> Work:
    a, ones = _square(library), np.ones((SIDE, SIDE))  # an error relative to 1
    return Work(lambda: library.zeros_like(a), lambda: check.error(ones + check.host(library.zeros_like(a)), ones))


def _randn(library: Any, _: Sizes) -> Work:
    def call() -> Any:
        return library.randn(SIDE, SIDE, device="cuda")

    return Work(call, lambda: check.normal(library.stack([call() for _ in range(SAMPLED_CALLS)])))


def _topk(library: Any, _: Sizes) -> Work:
    a = _square(library)

    def error() -> float:
        found, values = a.topk(CHOSEN, dim=-1), check.host(a)
        exact = -np.sort(-values, -1)[:, :CHOSEN]
        at = np.take_along_axis(values, found.indices.cpu().numpy(), -1)
        return max(check.error(check.host(found.values), exact), check.error(at, exact))

    return Work(lambda: a.topk(CHOSEN, dim=-1), error)


def _mask(library: Any, _: Sizes) -> Work:
    a = _square(library)
    mask = a > 0
    return Work(lambda: a[mask], lambda: check.error(check.host(a[mask]), check.host(a)[mask.cpu().numpy()]))


def _item(library: Any, _: Sizes) -> Work:
    x = library.rand(1, device="cuda") + 1
    return Work(lambda: x.item(), lambda: check.error(np.array([x.item()]), check.host(x)))


def _record(library: Any, _: Sizes) -> Work:
    event = library.cuda.Event()
    return Work(lambda: event.record(), exact)


def _with_stream(library: Any, _: Sizes) -> Work:
    side = library.cuda.Stream()

    def call() -> None:
        with library.cuda.stream(side):
            pass

    return Work(call, exact)


def _current_stream(library: Any, _: Sizes) -> Work:
    return Work(lambda: library.cuda.current_stream(), exact)


def _wait_stream(library: Any, _: Sizes) -> Work:
    side, current = library.cuda.Stream(), library.cuda.current_stream()
    return Work(lambda: side.wait_stream(current), exact)


def _backward(library: Any, _: Sizes) -> Work:
    x, y = _square(library, requires_grad=True), _square(library)

    def call() -> None:
        x.grad = None
        (x * y).relu().sum().backward()

    return Work(call, lambda: check.pointwise(lambda a, b: np.where(a * b > 0, b, 0.0), x.grad, x, y))


def _training(library: Any, _: Sizes) -> Work:
    perceptron = Perceptron(library)
    return Work(perceptron.step, lambda: perceptron.error(perceptron.step))


def _to_other(library: Any, _: Sizes) -> Work:
    if library.cuda.device_count() < 2:
        raise Missing("needs two GPUs")
    a = _square(library)
    return Work(lambda: a.to("cuda:1"), lambda: check.same(a.to("cuda:1"), a))


def _to_copy(library: Any, _: Sizes) -> Work:
    a = _square(library)
    return Work(lambda: a.to("cuda", copy=True), lambda: check.same(a.to("cuda", copy=True), a))


NEAR_LIBRARY = (at_most(1, "raw", plus=LIBRARY_US),)
NEAR_RAW = (at_most(1, "raw", plus=LAUNCH_US), at_most(0.7))
NEAR_RAW_INDEX = (at_most(1, "raw", plus=INDEX_US), at_most(0.7))
NEAR_RAW_BACKWARD = (at_most(BACKWARD_LAUNCHES, "raw", plus=BACKWARD_US), at_most(0.3))
row = functools.partial(Row, unit="µs", burst=BURST, tolerance=1e-5)
launching = functools.partial(row, goals=NEAR_RAW, raw=raw.launch)

ROWS = (
    launching("add", make=_add),
    row("add, whole", make=_add, goals=(at_most(0.6),), whole=True),
    launching("relu", make=_relu),
    launching("sum", make=_sum),
    launching("softmax", make=_softmax),
    launching("a[index]", make=_index, goals=NEAR_RAW_INDEX),
    row("mm", make=_mm, goals=(*NEAR_LIBRARY, at_most(0.6)), raw=raw.product),
    row(
        "attention",
        make=_attention,
        goals=NEAR_LIBRARY,
        raw=raw.executions(_attention),
        tolerance=product_rows.HALF_TOLERANCE,
    ),
    row(
        "attention, backward",
        make=_attention_backward,
        goals=NEAR_LIBRARY,
        burst=BACKWARD_BURST,
        raw=raw.executions(_attention_backward),
        tolerance=product_rows.GRADIENT_TOLERANCE,
    ),
    row("linear, autograd", make=_linear, goals=(at_most(0.6),)),
    row("empty", make=_empty, goals=(at_most(0.6),)),
    row("empty, 20 calls deep", make=_recorded("")),
    row("empty, with lines recorded", make=_recorded("line"), goals=(at_most(5.2, of=""),)),
    row("empty, with stacks recorded", make=_recorded("python"), goals=(at_most(11.2, of=""),)),
    row("view", make=_view, goals=(at_most(0.6),)),
    row("slice", make=_slice, goals=(at_most(0.6),)),
    row("reshape", make=_reshape, goals=(at_most(0.6),)),
    row("flatten", make=_flatten, goals=(at_most(0.6),)),
    row("chunk", make=_chunk, goals=(at_most(0.6),)),
    row("split", make=_split, goals=(at_most(0.6),)),
    row("unbind", make=_unbind, goals=(at_most(0.6),)),
    row("stack", make=_stack, goals=(at_most(0.7),)),
    row("cat", make=_cat, goals=(at_most(0.7),)),
    row("a[2:8] = value", make=_assigned(is_tensor=True), goals=(at_most(0.7),)),
    row("a[2:8] = number", make=_assigned(is_tensor=False), goals=(at_most(0.7),)),
    row("zeros_like", make=_zeros_like, goals=(at_most(0.7),)),
    row("randn", make=_randn, goals=(at_most(0.7),), tolerance=MOMENT_TOLERANCE),
    row("topk", make=_topk, goals=(at_most(0.7),), burst=TOPK_BURST),
    row("a[mask]", make=_mask, goals=(at_most(1.0),)),
    row("item", make=_item, goals=(at_most(1.0),)),
    row("event.record", make=_record, goals=(at_most(0.35),)),
    row("with stream(s)", make=_with_stream, goals=(at_most(0.2),)),
    row("current_stream", make=_current_stream, goals=(at_most(0.2),)),
    row("wait_stream", make=_wait_stream, goals=(at_most(0.5),)),
    launching("(x*y).relu().sum() and backward", make=_backward, goals=NEAR_RAW_BACKWARD, burst=BACKWARD_BURST),
    row(
        "training step of a perceptron",
        make=_training,
        goals=(at_most(0.3),),
        burst=TRAINING_BURST,
        tolerance=STEP_TOLERANCE,
    ),
    row("to another GPU", make=_to_other, goals=(at_most(0.5),)),
    row("to(copy=True)", make=_to_copy, goals=(at_most(0.5),)),
)

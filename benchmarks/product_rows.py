"""Device rates of products and attention, in TFLOP/s."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import check
from .goals import at_least
from .times import Missing, Row, Sizes, Work

HALF_TOLERANCE, GRADIENT_TOLERANCE, TF32_TOLERANCE = 1e-2, 2e-2, 2e-3


def _pair(library: Any, dtype: str, *shape: int) -> tuple[Any, Any]:
    kind = getattr(library, dtype)
    return library.randn(*shape, device="cuda").to(kind), library.randn(*shape, device="cuda").to(kind)


def _product(dtype: str, shape_of: Callable[[Sizes], tuple[int, ...]]) -> Any:
    def make(library: Any, sizes: Sizes) -> Work:
        shape = shape_of(sizes)
        a, b = _pair(library, dtype, *shape)
        operations = 2 * shape[-1] ** 3 * (shape[0] if len(shape) == 3 else 1)
        return Work(lambda: a @ b, lambda: check.product(a @ b, a, b), operations / 1e12)

    return make


def _tf32(library: Any, sizes: Sizes) -> Work:
    close = _allow_tf32(library)
    work: Work = _product("float32", _square)(library, sizes)
    return work._replace(close=close)


def _allow_tf32(library: Any) -> Callable[[], None]:
    """Let float32 products round their inputs; what undoes it.  Raises Missing if the library has no switch."""
    if hasattr(library, "set_float32_matmul_precision"):
        library.set_float32_matmul_precision("high")
        return lambda: library.set_float32_matmul_precision("highest")
    if hasattr(library, "backends"):
        library.backends.cuda.matmul.allow_tf32 = True
        return lambda: setattr(library.backends.cuda.matmul, "allow_tf32", False)
    raise Missing(f"{library.__name__} has no switch for it")


def _square(sizes: Sizes) -> tuple[int, int]:
    return sizes.square, sizes.square


def _small_square(sizes: Sizes) -> tuple[int, int]:
    return sizes.small_square, sizes.small_square


def _batch(sizes: Sizes) -> tuple[int, int, int]:
    return sizes.batch, sizes.batch_square, sizes.batch_square


def _heads(library: Any, sizes: Sizes) -> list[Any]:
    return [library.randn(*sizes.heads, device="cuda").to(library.bfloat16).requires_grad_() for _ in range(3)]


def _operations(sizes: Sizes) -> float:
    """Of the forward pass in TFLOP: two products, of which causality needs half."""
    batch, heads, rows, dims = sizes.heads
    return 2 * batch * heads * rows * rows * dims / 1e12


def _forward(library: Any, query: Any, key: Any, value: Any) -> Any:
    return library.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def attention(library: Any, sizes: Sizes) -> Work:
    inputs = [each.detach() for each in _heads(library, sizes)]

    def error() -> float:
        exact, _ = check.attention(*(check.host(each[-1, -1]) for each in inputs))
        return check.error(check.host(_forward(library, *inputs)[-1, -1]), exact)

    return Work(lambda: _forward(library, *inputs), error, _operations(sizes))


def attention_backward(library: Any, sizes: Sizes) -> Work:
    """Five products instead of two."""
    inputs = _heads(library, sizes)
    out = _forward(library, *inputs)
    grad = library.randn_like(out)

    def call() -> Any:
        return library.autograd.grad(out, inputs, grad, retain_graph=True)

    def error() -> float:
        exact = check.attention_gradients(*(check.host(each[-1, -1]) for each in (*inputs, grad)))
        return max(check.error(check.host(found[-1, -1]), wanted) for found, wanted in zip(call(), exact))

    return Work(call, error, 2.5 * _operations(sizes))


row = functools.partial(Row, unit="TFLOP/s", tolerance=HALF_TOLERANCE)
OF_TORCH, OF_ATTENTION = (at_least(0.97),), (at_least(0.95),)

ROWS = (
    row("product 8192, bfloat16", make=_product("bfloat16", _square), goals=OF_TORCH),
    row("product 8192, float16", make=_product("float16", _square), goals=OF_TORCH),
    row("product 8192, TF32", make=_tf32, goals=OF_TORCH, tolerance=TF32_TOLERANCE),
    row("product 8192, float32", make=_product("float32", _square), goals=OF_TORCH, tolerance=1e-5),
    row("product 1024, bfloat16", make=_product("bfloat16", _small_square), goals=OF_TORCH),
    row("product 64 of 512, bfloat16", make=_product("bfloat16", _batch), goals=OF_TORCH),
    row("attention 8x16x4096x64, causal", make=attention, goals=OF_ATTENTION),
    row("attention 8x16x4096x64, backward", make=attention_backward, goals=OF_ATTENTION, tolerance=GRADIENT_TOLERANCE),
)

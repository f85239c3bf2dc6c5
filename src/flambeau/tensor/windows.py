"""Windows of signal processing, computed in float64 on the host: torch.hann_window and torch.signal.windows.hann.

A symmetric window of M values weighs M samples; a periodic one is a symmetric one of M + 1 without its last value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import pi, sqrt
from typing import Any

from .. import dtypes
from ..core.call_errors import checked_size, out_of_host_memory
from ..dtypes import dtype
from ..errors import ArgumentTypeError, ValueRangeError, shown
from ..host import np
from ..memory_formats import check_layout
from . import checks
from .factories import tensor


def _places(size: int, is_symmetric: bool) -> tuple[Any, int]:
    """Return the positions 0 to size - 1, and the last position of the symmetric window that they belong to."""
    return np.arange(size, dtype=np.float64), size - 1 if is_symmetric else size


def _cosines(size: int, is_symmetric: bool, weights: Iterable[float]) -> Any:
    """Return a sum of cosines with alternating signs."""
    places, last = _places(size, is_symmetric)
    if size == 1:
        return np.ones(1)
    terms = [(-1) ** k * weight * np.cos(2 * pi * k * places / last) for k, weight in enumerate(weights)]
    return np.sum(terms, axis=0)


def _triangle(size: int, is_symmetric: bool) -> Any:
    places, last = _places(size, is_symmetric)
    return np.ones(1) if size == 1 else 1 - np.abs(2 * places / last - 1)


def _half_sine(size: int, is_symmetric: bool) -> Any:
    places, last = _places(size, is_symmetric)
    return np.sin(pi * (places + 0.5) / (last + 1 if size > 1 else 1))


def _bessel(size: int, is_symmetric: bool, beta: float) -> Any:
    places, last = _places(size, is_symmetric)
    if size == 1:
        return np.ones(1)
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * places / last - 1) ** 2, 0))) / np.i0(beta)


BLACKMAN = (0.42, 0.5, 0.08)
NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _made(name: str, size: int, values: Callable[[], Any], options: dict[str, Any]) -> Any:
    """Make the tensor of a window.  values: computes its values.  Raises OutOfMemoryError."""
    options = dict(options)
    checked_size((size,), name, dtypes.float64)
    check_layout(name, options.pop("layout", None))
    options["dtype"] = checks.as_dtype(name, options.get("dtype")) or dtypes.default.floating
    try:
        computed = values()
    except MemoryError:
        raise out_of_host_memory(size * dtypes.float64.itemsize) from None
    return tensor(computed, **options)


# torch.hann_window and the other window functions


def _checked(name: str, window_length: Any, periodic: Any, wanted: Any) -> bool:
    """Check the arguments of a window; return whether it is symmetric."""
    checks.count(name, "window_length", window_length)
    checks.flag(name, "periodic", periodic)
    element_type = checks.as_dtype(name, wanted) or dtypes.default.floating
    if not element_type.is_floating_point:
        raise ValueRangeError(
            f"expects floating point dtypes, got {element_type}", hint="leave dtype out", operator=name
        )
    return not periodic


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Return the Hann window sin(pi n / N) ** 2, for n = 0 to window_length - 1.

    periodic: if True, the default, N is window_length; otherwise N is window_length - 1.
    Shapes: [window_length]; a window of length 1 is [1.].
    Host:   returns at once on the CPU; on a GPU, waits for the copy of the values.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    is_symmetric = _checked("hann_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    options["requires_grad"] = requires_grad
    return _made("hann_window", window_length, lambda: _cosines(window_length, is_symmetric, (0.5, 0.5)), options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Return the Hamming window alpha - beta * cos(2 pi n / N), for n = 0 to window_length - 1.

    periodic: if True, the default, N is window_length; otherwise N is window_length - 1.
    Shapes: [window_length]; a window of length 1 is [1.].
    Host:   returns at once on the CPU; on a GPU, waits for the copy of the values.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    is_symmetric = _checked("hamming_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    options["requires_grad"] = requires_grad
    return _made("hamming_window", window_length, lambda: _cosines(window_length, is_symmetric, (alpha, beta)), options)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Return the window 0.42 - 0.5 * cos(2 pi n / N) + 0.08 * cos(4 pi n / N), for n = 0 to window_length - 1.

    periodic: if True, N is window_length; otherwise N is window_length - 1.
    Shapes: [window_length]; a window of length 1 is [1.].
    Host:   returns at once on the CPU; on a GPU, waits for the copy of the values.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    is_symmetric = _checked("blackman_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    options["requires_grad"] = requires_grad
    return _made("blackman_window", window_length, lambda: _cosines(window_length, is_symmetric, BLACKMAN), options)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Return the triangular window 1 - |2 n / N - 1|, for n = 0 to window_length - 1.

    periodic: if True, N is window_length; otherwise N is window_length - 1.
    Shapes: [window_length]; a window of length 1 is [1.].
    Host:   returns at once on the CPU; on a GPU, waits for the copy of the values.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    is_symmetric = _checked("bartlett_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    options["requires_grad"] = requires_grad
    return _made("bartlett_window", window_length, lambda: _triangle(window_length, is_symmetric), options)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Return the Kaiser window I0(beta * sqrt(1 - (2 n / N - 1) ** 2)) / I0(beta), for n = 0 to window_length - 1.

    I0 is the modified Bessel function of order 0.
    periodic: if True, the default, N is window_length; otherwise N is window_length - 1.
    Shapes: [window_length]; a window of length 1 is [1.].
    Host:   returns at once on the CPU; on a GPU, waits for the copy of the values.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.kaiser_window(4, beta=3.0)
        tensor([0.2049, 0.7269, 1.0000, 0.7269])
    """
    is_symmetric = _checked("kaiser_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    options["requires_grad"] = requires_grad
    return _made("kaiser_window", window_length, lambda: _bessel(window_length, is_symmetric, beta), options)


# torch.signal.windows


def _size(name: str, size: Any, wanted: Any) -> None:
    """Raise ValueRangeError or ArgumentTypeError for a size or a type that a window cannot have."""
    checks.count(name, "M", size)
    element_type = checks.as_dtype(name, wanted) or dtypes.default.floating
    if element_type not in (dtypes.float32, dtypes.float64):
        raise ValueRangeError(
            f"expects float32 or float64 dtypes, got: {element_type}", hint="convert the result", operator=name
        )


def _positive(name: str, what: str, value: float) -> None:
    if value <= 0:
        raise ValueRangeError(f"{what} must be positive, got: {value} instead", hint="as in 1.0", operator=name)


def _centred(size: int, is_symmetric: bool) -> Any:
    """Return positions relative to the middle of the symmetric window."""
    places, last = _places(size, is_symmetric)
    return places - (last if size > 1 else 0) / 2


Options = dict[str, Any]


def general_cosine(
    M: int, *, a: Any, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window a[0] - a[1] * cos(2 pi n / N) + a[2] * cos(4 pi n / N) - ..., for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ArgumentTypeError or ValueRangeError for coefficients that are not numbers, no coefficients, or a wrong M or
            dtype.
    Example:
        >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
        tensor([0., 1., 0.])
    """
    _size("general_cosine", M, dtype)
    if not isinstance(a, Iterable) or isinstance(a, str):
        raise ArgumentTypeError(
            f"coefficients must be a list or tuple, got {shown(a)}", hint="as in [0.5, 0.5]", operator="general_cosine"
        )
    weights = [float(weight) for weight in a]
    if not weights:
        raise ValueRangeError("coefficients cannot be empty", hint="as in [0.5, 0.5]", operator="general_cosine")
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("general_cosine", M, lambda: _cosines(M, sym, weights), options)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window alpha - (1 - alpha) * cos(2 pi n / N), for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative M or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.general_hamming(3, alpha=0.5)
        tensor([0., 1., 0.])
    """
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hann(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window sin(pi n / N) ** 2, for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative M or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[0.5, 0.5], sym=sym, **options)


def hamming(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window 0.54 - 0.46 * cos(2 pi n / N), for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative M or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.hamming(3)
        tensor([0.0800, 1.0000, 0.0800])
    """
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[0.54, 1 - 0.54], sym=sym, **options)


def blackman(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window 0.42 - 0.5 * cos(2 pi n / N) + 0.08 * cos(4 pi n / N), for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative M or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.blackman(4, sym=False)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=BLACKMAN, sym=sym, **options)


def nuttall(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return Nuttall's window of 4 cosine terms, for n = 0 to M - 1.

    It is 0.3635819 - 0.4891775 cos(t) + 0.1365995 cos(2 t) - 0.0106411 cos(3 t), with t = 2 pi n / N.
    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative M or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.nuttall(3)[1]
        tensor(1.)
    """
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=NUTTALL, sym=sym, **options)


def bartlett(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the triangular window 1 - |2 n / N - 1|, for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative M or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    _size("bartlett", M, dtype)
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("bartlett", M, lambda: _triangle(M, sym), options)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window I0(beta * sqrt(1 - (2 n / N - 1) ** 2)) / I0(beta), for n = 0 to M - 1.

    I0 is the modified Bessel function of order 0.
    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative beta or M, or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.kaiser(3, beta=3.0)
        tensor([0.2049, 1.0000, 0.2049])
    """
    _size("kaiser", M, dtype)
    if beta < 0:
        raise ValueRangeError(f"beta must be non-negative, got: {beta} instead", hint="as in 12.0", operator="kaiser")
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("kaiser", M, lambda: _bessel(M, sym, beta), options)


def cosine(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window sin(pi (n + 1/2) / N), for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M; otherwise (a periodic window), N is M + 1.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a negative M or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    _size("cosine", M, dtype)
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("cosine", M, lambda: _half_sine(M, sym), options)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window exp(-|n - center| / tau), for n = 0 to M - 1.

    center: the index of the peak; None is the middle of the window.
    sym: if False, a periodic window: a symmetric one of M + 1 values without its last value.
    Shapes: [M].
    Raises: ValueRangeError for a center given with sym=True, a tau that is not positive, a negative M, or a type other
            than float32 and float64.
    Example:
        >>> torch.signal.windows.exponential(3)
        tensor([0.3679, 1.0000, 0.3679])
    """
    _size("exponential", M, dtype)
    _positive("exponential", "tau", tau)
    if sym and center is not None:
        raise ValueRangeError(
            f"center must be None for symmetric windows, got {center}", hint="pass sym=False", operator="exponential"
        )
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}

    def values() -> Any:
        places = _centred(M, sym) if center is None else np.arange(M) - float(center)
        return np.exp(-np.abs(places) / tau)

    return _made("exponential", M, values, options)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """Return the window exp(-(n - N / 2) ** 2 / (2 std ** 2)), for n = 0 to M - 1.

    sym: if True (a symmetric window), N is M - 1; otherwise (a periodic window), N is M.
    Shapes: [M]; a window of length 1 is [1.].
    Raises: ValueRangeError for a std that is not positive, a negative M, or a type other than float32 and float64.
    Example:
        >>> torch.signal.windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065])
    """
    _size("gaussian", M, dtype)
    _positive("gaussian", "standard deviation", std)
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("gaussian", M, lambda: np.exp(-((_centred(M, sym) / (std * sqrt(2))) ** 2)), options)

"""Further factories: like a tensor (`zeros_like(x)`, `x.new_zeros(2, 3)`), sequences, triangles and windows."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, Signature, signature
from math import pi, sqrt
from typing import Any

from .. import callers, dtypes
from .. import memory_formats as formats
from ..core.factories import run_into, unset
from ..core.tensor import TensorBase, alias_of
from ..dtypes import dtype
from ..errors import ArgumentTypeError, FlambeauError, NotSupportedError, ShapeError, ValueRangeError, name_error, shown
from ..host import np
from ..memory_formats import check_layout
from ..ops.diagonals import INDEX_TYPES, count_in_triangle
from ..scalars import converted
from ..strides import compact
from . import checks, subclass
from .factories import as_leaf, empty, empty_strided, full, into, linspace, ones, tensor, zeros
from .random import rand, randint, randn


def _like(name: str, make: Any, input: TensorBase, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if options.get("device") is None:
        options["device"] = input.device
    if options.get("dtype") is None:
        options["dtype"] = input.dtype
    try:
        return subclass.convert_like(make(*arguments, **options), input)
    except FlambeauError as error:
        name_error(error, name)
        raise
    except TypeError as error:  # an unknown option
        fact = f"{str(error).removeprefix(f'{make.__name__}() ')}"
        raise ArgumentTypeError(fact, operator=name, hint=f"its options are those of {make.__name__}()") from error


def _laid_like(name: str, make: Any, input: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a factory with the input's shape, for a result in a memory format, preserve_format by default."""
    format = options.pop("memory_format", None)
    if format is not None:
        formats.check(name, format)
    checks.tensor(name, "input", input)
    layout = input._layout
    if layout.dense and (format is None or format is formats.contiguous_format):
        return _like(name, make, input, (*arguments, layout.shape), options)
    strides = formats.strides_in(name, format or formats.preserve_format, layout.shape, layout.strides)
    wanted = options.pop("requires_grad", False)
    is_normal = make is randn  # whose values on the CPU depend on the layout
    drawn = {"generator": options.pop("generator", None)} if is_normal else {}
    result = _like(name, empty if is_normal else make, input, (*arguments, layout.shape), options)
    if strides != result.strides:
        result = alias_of(result, result.shape, strides, 0)  # random values are in the order of the memory
    if is_normal:
        result = run_into("normal", name, result, 0.0, 1.0, **drawn)
    return result if wanted is False else as_leaf(name, result, wanted)


def empty_like(input: Any, **options: Any) -> Any:
    """As `empty`, with the shape, type and device of `input` unless others are named.

    Host: returns at once.
    Example:
        >>> torch.empty_like(torch.zeros(2, 3, dtype=torch.int32)).dtype
        torch.int32
    """
    return _laid_like("empty_like", empty, input, (), options)


def zeros_like(input: Any, **options: Any) -> Any:
    """As `zeros`, with the shape, type and device of `input` unless others are named.

    Host: returns at once.
    Example:
        >>> torch.zeros_like(torch.tensor([1, 2, 3]))
        tensor([0, 0, 0])
    """
    return _laid_like("zeros_like", zeros, input, (), options)


def ones_like(input: Any, **options: Any) -> Any:
    """As `ones`, with the shape, type and device of `input` unless others are named.

    Host: returns at once.
    Example:
        >>> torch.ones_like(torch.tensor([1, 2, 3]), dtype=torch.float32)
        tensor([1., 1., 1.])
    """
    return _laid_like("ones_like", ones, input, (), options)


def rand_like(input: Any, **options: Any) -> Any:
    """As `rand`, with the shape, type and device of `input` unless others are named.

    Host: returns at once.
    Example:
        >>> x = torch.rand_like(torch.zeros(1000))
        >>> bool((x >= 0).all() and (x < 1).all())
        True
    """
    return _laid_like("rand_like", rand, input, (), options)


def randn_like(input: Any, **options: Any) -> Any:
    """As `randn`, with the shape, type and device of `input` unless others are named.

    Host: returns at once.
    Example:
        >>> torch.randn_like(torch.zeros(2, 3, dtype=torch.float64)).dtype
        torch.float64
    """
    return _laid_like("randn_like", randn, input, (), options)


def full_like(input: Any, fill_value: Any, **options: Any) -> Any:
    """As `full`, with the shape, type and device of `input` unless others are named.

    Host: returns at once.
    Example:
        >>> torch.full_like(torch.tensor([1, 2, 3]), 9)
        tensor([9, 9, 9])
    """
    return _laid_like("full_like", full, input, (), {**options, "fill_value": fill_value})


def randint_like(input: Any, *bounds: int, low: int | None = None, high: int | None = None, **options: Any) -> Any:
    """As `randint`, with the shape, type and device of `input` unless others are named.

    Host: returns at once.
    Example:
        >>> x = torch.randint_like(torch.zeros(1000), 5)
        >>> x.min(), x.max()
        (tensor(0.), tensor(4.))
    """
    bounds += tuple([bound for bound in (low, high) if bound is not None])
    return _laid_like("randint_like", randint, input, bounds, options)


def new_tensor(self: Any, data: Any, **options: Any) -> Any:
    """A copy of `data` with this tensor's type and device unless others are named.

    Host: waits if that is a GPU.
    Example:
        >>> torch.zeros(2, dtype=torch.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=torch.float64)
    """
    return _like("new_tensor", tensor, self, (data,), options)


def new_empty(self: Any, *size: Any, **options: Any) -> Any:
    """As `empty`, with this tensor's type and device unless others are named.

    Host: returns at once.
    Example:
        >>> torch.zeros(2, dtype=torch.int32).new_empty(3, 4).dtype
        torch.int32
    """
    return _like("new_empty", empty, self, size, options)


def new_empty_strided(self: Any, size: Any, stride: Any, **options: Any) -> Any:
    """As `empty_strided`, with this tensor's type and device unless others are named.

    Host: returns at once.
    Example:
        >>> torch.zeros(2, dtype=torch.int32).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    return _like("new_empty_strided", empty_strided, self, (size, stride), options)


def new_zeros(self: Any, *size: Any, **options: Any) -> Any:
    """As `zeros`, with this tensor's type and device unless others are named.

    Host: returns at once.
    Example:
        >>> torch.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
    """
    return _like("new_zeros", zeros, self, size, options)


def new_ones(self: Any, *size: Any, **options: Any) -> Any:
    """As `ones`, with this tensor's type and device unless others are named.

    Host: returns at once.
    Example:
        >>> torch.tensor([1, 2]).new_ones(2, 2)
        tensor([[1, 1],
                [1, 1]])
    """
    return _like("new_ones", ones, self, size, options)


def new_full(self: Any, size: Any, fill_value: Any, **options: Any) -> Any:
    """As `full`, with this tensor's type and device unless others are named.

    Host: returns at once.
    Example:
        >>> torch.tensor([1, 2]).new_full((3,), 9)
        tensor([9, 9, 9])
    """
    return _like("new_full", full, self, (size, fill_value), options)


NEW_METHODS = (new_tensor, new_empty, new_empty_strided, new_zeros, new_ones, new_full)


def _describe(function: Any, make: Any, positional: tuple[str, ...], variadic: str, also: tuple[str, ...]) -> None:
    """Set the signature of a function that passes its options to a factory.

    variadic: the name of sizes or bounds passed one by one, "" for none.  also: options beside those of `make`.
    """
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in positional]
    parameters += [Parameter(variadic, Parameter.VAR_POSITIONAL)] if variadic else []
    options = dict.fromkeys(also) | {
        name: parameter.default
        for name, parameter in signature(make).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY and name not in (*positional, "out", "low", "high", "size")
    }
    parameters += [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in options.items()]
    function.__signature__ = Signature(parameters)


for _like_it, _make in zip(
    (empty_like, zeros_like, ones_like, rand_like, randn_like), (empty, zeros, ones, rand, randn)
):
    _describe(_like_it, _make, ("input",), "", ("memory_format",))
_describe(full_like, full, ("input", "fill_value"), "", ("memory_format",))
_describe(randint_like, randint, ("input",), "bounds", ("low", "high", "memory_format"))
_describe(new_tensor, tensor, ("self", "data"), "", ())
_describe(new_empty_strided, empty_strided, ("self", "size", "stride"), "", ())
_describe(new_full, full, ("self", "size", "fill_value"), "", ())
for _new, _make in zip((new_empty, new_zeros, new_ones), (empty, zeros, ones)):
    _describe(_new, _make, ("self",), "sizes", ("size",))


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Powers of `base` whose exponents are evenly spaced from start to end, both included.

    Host:   returns at once.
    Raises: ValueRangeError for a negative number of steps, ArgumentTypeError for anything but numbers.
    Example:
        >>> torch.logspace(0, 3, steps=4)
        tensor([   1.,   10.,  100., 1000.])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(logspace, out, layout, options, start, end, steps, base)
    checks.number("logspace", "base", base)
    wanted = checks.as_dtype("logspace", dtype) or dtypes.default.floating
    exponents = linspace(start, end, steps, dtype=dtypes.float64, device=device)
    powers = full((), float(base), dtype=dtypes.float64, device=exponents.device) ** exponents
    result = powers.to(wanted)
    if pin_memory:
        result = result.pin_memory()
    return result if requires_grad is False else as_leaf("logspace", result, requires_grad)


def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers from start to end, which is included, `step` apart.  Deprecated: `arange` leaves the end out.

    dtype: None is the default type.
    Host:   returns at once.
    Raises: as arange.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.range(1, 3)
        tensor([1., 2., 3.])
    """
    if end is None:
        raise ArgumentTypeError("missing the argument: end", hint="torch.arange(end) takes one", operator="range")
    callers.warn(
        "range: is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin; use torch.arange, which leaves the end out"
    )
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(range_, out, layout, options, start, end, step)
    wanted = checks.as_dtype("range", dtype) or dtypes.default.floating
    checks.not_bool("range", wanted)
    whole = dtypes.float64 if wanted.is_floating_point else dtypes.int64
    checks.steps(start, end, step)
    first, last, step = [converted("range", whole, checks.plain_number(value)) for value in (start, end, step)]
    checks.steps(first, last, step)
    count = int((last - first) / step + 1) if wanted.is_floating_point else (last - first) // step + 1
    result = run_into("arange", "range", unset("range", (count,), wanted, device, pin_memory), first, step)
    return result if requires_grad is False else as_leaf("range", result, requires_grad)


def scalar_tensor(
    s: Any,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A 0-dim tensor of a number, of the default type unless another is named.

    Host: returns at once.
    Example:
        >>> torch.scalar_tensor(3)
        tensor(3.)
    """
    wanted = checks.as_dtype("scalar_tensor", dtype) or dtypes.default.floating
    options = {"layout": layout, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
    return full((), s, dtype=wanted, **options)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with unset values, without gaps, whose dimensions lie in memory in the given order, slowest first.

    Host:   returns at once.
    Raises: ShapeError unless the order names each dimension once.
    Example:
        >>> torch.empty_permuted((2, 3, 5, 7), (0, 2, 3, 1)).stride()
        (105, 1, 21, 3)
    """
    check_layout("empty_permuted", layout)
    checks.sizes("empty_permuted", (size,))
    order = tuple(physical_layout)
    if sorted(order) != list(range(len(size))):
        raise ShapeError(
            f"the order {list(order)} does not name each of {len(size)} dimensions once",
            hint="as in (0, 2, 3, 1) for channels last",
            operator="empty_permuted",
        )
    flat = unset("empty_permuted", (size,), dtype, device, pin_memory)
    result = alias_of(flat, size, compact(size, order[::-1]), 0)
    return result if requires_grad is False else as_leaf("empty_permuted", result, requires_grad)


def _triangle(name: str, sizes: tuple[Any, Any, Any], wanted: Any, device: Any, pin_memory: bool) -> Any:
    row, col, offset = sizes
    for what, value in (("row", row), ("col", col)):
        checks.integer(name, what, value)
        if value < 0:
            raise ValueRangeError(f"{what} must be non-negative, got {value}", hint="pass 0 or more", operator=name)
    checks.integer(name, "offset", offset)
    element_type = checks.as_dtype(name, wanted)
    if element_type not in INDEX_TYPES:
        raise NotSupportedError(f"not implemented for {element_type}", hint="use torch.int64", operator=name)
    count = count_in_triangle(row, col, offset, name == "tril_indices")
    result = unset(name, (2, count), element_type, device, pin_memory)
    return run_into("triangle_indices", name, result, row, col, offset, name == "tril_indices")


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: dtype = dtypes.int64,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Rows and columns of the elements on and below a diagonal of a matrix, in row-major order.

    offset: 0 is the main diagonal; positive numbers are above it.
    Shapes: [2, n] for n elements.
    Host:   returns at once.
    Raises: ValueRangeError for a negative size, NotSupportedError unless the type is int32 or int64.
    Example:
        >>> torch.tril_indices(3, 2)
        tensor([[0, 1, 1, 2, 2],
                [0, 0, 1, 0, 1]])
    """
    check_layout("tril_indices", layout)
    return _triangle("tril_indices", (row, col, offset), dtype, device, pin_memory)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: dtype = dtypes.int64,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Rows and columns of the elements on and above a diagonal of a matrix, in row-major order.

    offset: 0 is the main diagonal; positive numbers are above it.
    Shapes: [2, n] for n elements.
    Host:   returns at once.
    Raises: ValueRangeError for a negative size, NotSupportedError unless the type is int32 or int64.
    Example:
        >>> torch.triu_indices(2, 3)
        tensor([[0, 0, 0, 1, 1],
                [0, 1, 2, 1, 2]])
    """
    check_layout("triu_indices", layout)
    return _triangle("triu_indices", (row, col, offset), dtype, device, pin_memory)


range_.__name__ = "range"


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


def _triangle_window(size: int, is_symmetric: bool) -> Any:
    places, last = _places(size, is_symmetric)
    return np.ones(1) if size == 1 else 1 - np.abs(2 * places / last - 1)


def _bessel(size: int, is_symmetric: bool, beta: float) -> Any:
    places, last = _places(size, is_symmetric)
    if size == 1:
        return np.ones(1)
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * places / last - 1) ** 2, 0))) / np.i0(beta)


BLACKMAN = (0.42, 0.5, 0.08)
NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _made(name: str, values: Any, options: dict[str, Any]) -> Any:
    """Make the tensor of a window."""
    options = dict(options)
    check_layout(name, options.pop("layout", None))
    options["dtype"] = checks.as_dtype(name, options.get("dtype")) or dtypes.default.floating
    return tensor(values, **options)


# torch.hann_window and its kin


def _checked(name: str, window_length: Any, periodic: Any, wanted: Any) -> bool:
    """Check the arguments of a window; return whether it is symmetric."""
    checks.count(name, "window_length", window_length)
    checks.flag(name, "periodic", periodic)
    element_type = checks.as_dtype(name, wanted) or dtypes.default.floating
    if not element_type.is_floating_point:
        raise ValueRangeError(f"expects floating point dtypes, got {element_type}", hint="leave it out", operator=name)
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
    """The window sin(pi n / N) ** 2.

    periodic: whether N is window_length, else one less.
    Host:   waits for a GPU.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    is_symmetric = _checked("hann_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    values = _cosines(window_length, is_symmetric, (0.5, 0.5))
    return _made("hann_window", values, {**options, "requires_grad": requires_grad})


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
    """The window alpha - beta * cos(2 pi n / N).

    periodic: whether N is window_length, else one less.
    Host:   waits for a GPU.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    is_symmetric = _checked("hamming_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    values = _cosines(window_length, is_symmetric, (alpha, beta))
    return _made("hamming_window", values, {**options, "requires_grad": requires_grad})


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
    """The window 0.42 - 0.5 * cos(2 pi n / N) + 0.08 * cos(4 pi n / N).

    periodic: whether N is window_length, else one less.
    Host:   waits for a GPU.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    is_symmetric = _checked("blackman_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    values = _cosines(window_length, is_symmetric, BLACKMAN)
    return _made("blackman_window", values, {**options, "requires_grad": requires_grad})


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
    """The triangle 1 - |2 n / N - 1|.

    periodic: whether N is window_length, else one less.
    Host:   waits for a GPU.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    is_symmetric = _checked("bartlett_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    values = _triangle_window(window_length, is_symmetric)
    return _made("bartlett_window", values, {**options, "requires_grad": requires_grad})


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
    """The window I0(beta * sqrt(1 - (2 n / N - 1) ** 2)) / I0(beta), for the Bessel function I0.

    periodic: whether N is window_length, else one less.
    Host:   waits for a GPU.
    Raises: ValueRangeError for a negative length or a type that is not floating point.
    Example:
        >>> torch.kaiser_window(4, beta=3.0)
        tensor([0.2049, 0.7269, 1.0000, 0.7269])
    """
    is_symmetric = _checked("kaiser_window", window_length, periodic, dtype)
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    values = _bessel(window_length, is_symmetric, beta)
    return _made("kaiser_window", values, {**options, "requires_grad": requires_grad})


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
    """The window a[0] - a[1] * cos(2 pi n / N) + a[2] * cos(4 pi n / N) - ... of M values.

    sym: whether N is M - 1, else M.
    Raises: ArgumentTypeError or ValueRangeError for wrong coefficients, sizes or types.
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
    return _made("general_cosine", _cosines(M, sym, weights), options)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """The window alpha - (1 - alpha) * cos(2 pi n / N) of M values.

    sym: whether N is M - 1, else M.
    Raises: ValueRangeError for a negative M or another type than float32 and float64.
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
    """The window sin(pi n / N) ** 2 of M values.

    sym: whether N is M - 1, else M.
    Raises: ValueRangeError for a negative M or another type than float32 and float64.
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
    """The window 0.54 - 0.46 * cos(2 pi n / N) of M values.

    sym: whether N is M - 1, else M.
    Raises: ValueRangeError for a negative M or another type than float32 and float64.
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
    """The window 0.42 - 0.5 * cos(2 pi n / N) + 0.08 * cos(4 pi n / N) of M values.

    sym: whether N is M - 1, else M.
    Raises: ValueRangeError for a negative M or another type than float32 and float64.
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
    """The window of Nuttall with minimal side lobes, of M values.

    sym: whether the symmetric window has M values, else M + 1.
    Raises: ValueRangeError for a negative M or another type than float32 and float64.
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
    """The triangle 1 - |2 n / N - 1| of M values.

    sym: whether N is M - 1, else M.
    Raises: ValueRangeError for a negative M or another type than float32 and float64.
    Example:
        >>> torch.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    _size("bartlett", M, dtype)
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("bartlett", _triangle_window(M, sym), options)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """The window I0(beta * sqrt(1 - (2 n / N - 1) ** 2)) / I0(beta) of M values, for the Bessel function I0.

    sym: whether N is M - 1, else M.
    Raises: ValueRangeError for a negative beta or M, or another type than float32 and float64.
    Example:
        >>> torch.signal.windows.kaiser(3, beta=3.0)
        tensor([0.2049, 1.0000, 0.2049])
    """
    _size("kaiser", M, dtype)
    if beta < 0:
        raise ValueRangeError(f"beta must be non-negative, got: {beta} instead", hint="as in 12.0", operator="kaiser")
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("kaiser", _bessel(M, sym, beta), options)


def cosine(
    M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """The window sin(pi (n + 1/2) / N) of M values.

    sym: whether N is M, else M + 1.
    Raises: ValueRangeError for a negative M or another type than float32 and float64.
    Example:
        >>> torch.signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    _size("cosine", M, dtype)
    places, last = _places(M, sym)
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("cosine", np.sin(pi * (places + 0.5) / (last + 1 if M > 1 else 1)), options)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """The window exp(-|n - center| / tau) of M values.

    center: None is the middle.  sym: whether the symmetric window has M values, else M + 1.
    Raises: ValueRangeError for a center of a symmetric window, a tau that is not positive, a negative M, or another
            type than float32 and float64.
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
    places = _centred(M, sym) if center is None else np.arange(M) - float(center)
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("exponential", np.exp(-np.abs(places) / tau), options)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip  # noqa: N803
    """The window exp(-(n - N / 2) ** 2 / (2 std ** 2)) of M values.

    sym: whether N is M - 1, else M.
    Raises: ValueRangeError for a std that is not positive, a negative M, or another type than float32 and float64.
    Example:
        >>> torch.signal.windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065])
    """
    _size("gaussian", M, dtype)
    _positive("gaussian", "standard deviation", std)
    options: Options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _made("gaussian", np.exp(-((_centred(M, sym) / (std * sqrt(2))) ** 2)), options)

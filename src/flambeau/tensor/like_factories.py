"""Factories that keep the device and type of a tensor: `zeros_like(x)`, and the methods `x.new_zeros(2, 3)`."""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import Any

from .. import memory_formats as formats
from ..core.call import run_into
from ..core.tensor import TensorBase, alias_of
from ..errors import ArgumentTypeError, FlambeauError, name_error
from . import checks, subclass
from .factories import as_leaf, empty, empty_strided, full, ones, tensor, zeros
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
    is_normal = make is randn  # factories whose values on the CPU depend on the layout
    drawn = {"generator": options.pop("generator", None)} if is_normal else {}
    result = _like(name, empty if is_normal else make, input, (*arguments, layout.shape), options)
    if strides != result.strides:
        result = alias_of(result, result.shape, strides, 0)  # random values follow the order of the memory
    if is_normal:
        result = run_into("normal", name, result, 0.0, 1.0, **drawn)
    return result if wanted is False else as_leaf(name, result, wanted)


def empty_like(input: Any, **options: Any) -> Any:
    """Return an uninitialized tensor with the shape, dtype and device of `input`.

    dtype, device: None for those of `input`.
    memory_format: None or torch.preserve_format for the order of dimensions of `input` in memory.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, DeviceNameError or DeviceIndexError for a device that does
            not exist.
    Example:
        >>> torch.empty_like(torch.zeros(2, 3, dtype=torch.int32)).dtype
        torch.int32
    """
    return _laid_like("empty_like", empty, input, (), options)


def zeros_like(input: Any, **options: Any) -> Any:
    """Return a tensor of zeros with the shape, type and device of `input`, unless others are named.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, DeviceNameError or DeviceIndexError for a device that does
            not exist.
    Example:
        >>> torch.zeros_like(torch.tensor([1, 2, 3]))
        tensor([0, 0, 0])
    """
    return _laid_like("zeros_like", zeros, input, (), options)


def ones_like(input: Any, **options: Any) -> Any:
    """Return a tensor of ones with the shape, type and device of `input`, unless others are named.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, DeviceNameError or DeviceIndexError for a device that does
            not exist.
    Example:
        >>> torch.ones_like(torch.tensor([1, 2, 3]), dtype=torch.float32)
        tensor([1., 1., 1.])
    """
    return _laid_like("ones_like", ones, input, (), options)


def rand_like(input: Any, **options: Any) -> Any:
    """Return uniform random numbers in [0, 1) with the shape, type and device of `input`, unless others are named.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, DtypeError if the result would not be floating point.
    Example:
        >>> x = torch.rand_like(torch.zeros(1000))
        >>> bool((x >= 0).all() and (x < 1).all())
        True
    """
    return _laid_like("rand_like", rand, input, (), options)


def randn_like(input: Any, **options: Any) -> Any:
    """Return standard normal random numbers with the shape, type and device of `input`, unless others are named.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor, DtypeError if the result would not be floating point.
    Example:
        >>> torch.randn_like(torch.zeros(2, 3, dtype=torch.float64)).dtype
        torch.float64
    """
    return _laid_like("randn_like", randn, input, (), options)


def full_like(input: Any, fill_value: Any, **options: Any) -> Any:
    """Return a tensor filled with `fill_value`, with the shape of `input`.

    dtype, device: those of `input` by default.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError unless `input` is a tensor and `fill_value` a number or a tensor of one element,
            ValueRangeError if the type cannot hold the value.
    Example:
        >>> torch.full_like(torch.tensor([1, 2, 3]), 9)
        tensor([9, 9, 9])
    """
    return _laid_like("full_like", full, input, (), {**options, "fill_value": fill_value})


def randint_like(input: Any, *bounds: int, low: int | None = None, high: int | None = None, **options: Any) -> Any:
    """Return random integers in [low, high) with the shape, type and device of `input`, unless others are named.

    bounds: low and high, or high alone: then low is 0.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError unless it gets a tensor and ints, ValueRangeError unless low is less than high.
    Example:
        >>> x = torch.randint_like(torch.zeros(1000), 5)
        >>> x.min(), x.max()
        (tensor(0.), tensor(4.))
    """
    bounds += tuple([bound for bound in (low, high) if bound is not None])
    return _laid_like("randint_like", randint, input, bounds, options)


def new_tensor(self: Any, data: Any, **options: Any) -> Any:
    """Return a copy of `data` as a tensor; its type and device are this tensor's by default.

    Shapes: the shape of the data.
    Host:   waits if the device is a GPU.
    Raises: ArgumentTypeError or DtypeError for data of another type, ArgumentError for nested lists of different
            lengths.
    Example:
        >>> torch.zeros(2, dtype=torch.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=torch.float64)
    """
    return _like("new_tensor", tensor, self, (data,), options)


def new_empty(self: Any, *size: Any, **options: Any) -> Any:
    """Return an uninitialized tensor of the given sizes; its type and device are this tensor's by default.

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one.
    Example:
        >>> torch.zeros(2, dtype=torch.int32).new_empty(3, 4).dtype
        torch.int32
    """
    return _like("new_empty", empty, self, size, options)


def new_empty_strided(self: Any, size: Any, stride: Any, **options: Any) -> Any:
    """Return an uninitialized tensor with the strides `stride`; its type and device are this tensor's by default.

    stride: one number of elements for each dimension.

    Shapes: the result has the shape `size`.
    Host:   returns at once.
    Raises: ShapeError unless there is one stride for each size, ValueRangeError for a negative number.
    Example:
        >>> torch.zeros(2, dtype=torch.int32).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    return _like("new_empty_strided", empty_strided, self, (size, stride), options)


def new_zeros(self: Any, *size: Any, **options: Any) -> Any:
    """Return a tensor of zeros of the given sizes; its type and device are this tensor's by default.

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one.
    Example:
        >>> torch.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
    """
    return _like("new_zeros", zeros, self, size, options)


def new_ones(self: Any, *size: Any, **options: Any) -> Any:
    """Return a tensor of ones of the given sizes; its type and device are this tensor's by default.

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, ValueRangeError for a negative one.
    Example:
        >>> torch.tensor([1, 2]).new_ones(2, 2)
        tensor([[1, 1],
                [1, 1]])
    """
    return _like("new_ones", ones, self, size, options)


def new_full(self: Any, size: Any, fill_value: Any, **options: Any) -> Any:
    """Return a tensor filled with `fill_value`; its type and device are this tensor's by default.

    Shapes: the listed sizes.
    Host:   returns at once.
    Raises: ArgumentTypeError for sizes that are not ints or a value that is not a number, ValueRangeError for a
            negative size, or if the type cannot hold the value.
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

"""Convolutions and transposed convolutions of one to three spatial dimensions.

- `convolution`, `convolution_input` and `convolution_weight` are the three sums of `library_operation.Convolution`.
  Each is a derivative of the two others, so gradients of any order are calls of these three.
- A convolution of one dimension is one of two dimensions with a first size of 1.
- Operands are contiguous, or channels-last if the input or the weight is; others are copied.
- Attributes of the three are tuples with one number for each spatial dimension.  `sizes` are the spatial sizes of the
  result.  `padding` is the padding in front; the padding behind follows from the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from .. import dtypes, memory_formats
from .. import strides as st
from ..dtypes import FLOATING_TYPES, bool_, float32, int64
from ..errors import ArgumentTypeError, DtypeError, ShapeError, ValueRangeError, shown
from ..library_operation import OF_INPUT, OF_OUTPUT, OF_WEIGHT, Convolution
from .arithmetic import add
from .copies import fill
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, Setting, composite, operator
from .reductions import sum_
from .views import permute

SAME, VALID = "same", "valid"
DTYPES = (*FLOATING_TYPES, int64)
ORDERS = {4: st.CHANNELS_LAST, 5: st.CHANNELS_LAST_3D}
Sizes = tuple[int, ...]

allow_tf32 = Setting(True)  # whether float32 convolutions may round their inputs to 10 bits of mantissa


# the three sums


def _four_or_more(shape: Sequence[int]) -> Sizes:
    """Return a shape with at least two spatial dimensions."""
    return tuple(shape) if len(shape) > 3 else (*shape[:2], 1, *shape[2:])


def _two_or_more(numbers: Sequence[int], missing: int) -> Sizes:
    """Return one number for each of at least two spatial dimensions."""
    return tuple(numbers) if len(numbers) > 1 else (missing, *numbers)


def _strides(shape: Sequence[int], is_last: bool) -> Sizes:
    """Return the strides of a dense array, contiguous or channels-last."""
    return st.compact(shape, ORDERS[len(shape)]) if is_last and len(shape) in ORDERS else st.contiguous(shape)


def _dense(call: Any, operand: Any, is_last: bool) -> Any:
    """Return the operand, or a copy of it, aligned and with the strides of `_strides`."""
    shape, is_last = tuple(operand.shape), is_last and len(operand.shape) in ORDERS
    strides = _strides(shape, is_last)
    steps = zip(shape, operand.strides, strides)
    if operand.is_aligned() and all(size == 1 or have == wanted for size, have, wanted in steps):
        return operand
    lying = [shape[dim] for dim in reversed(ORDERS[len(shape)])] if is_last else shape
    copied = call.part(call.scratch(lying, operand.dtype), shape, strides, 0)
    call.assign(copied, operand)
    return copied


def _made(call: Any, shape: Sizes, of: dtypes.dtype, is_last: bool, operands: Sequence[Any]) -> Any:
    """Return a new result, or the tensor to write unless that is an operand."""
    given = call.given
    if given is not None and any(operand is given for operand in operands):
        call.given = None
    out = call.output(shape, of, _strides(shape, is_last) if is_last else None)
    call.given = given
    return out


def _run(
    call: Any, kind: str, out: Any, x: Any, w: Any, y: Any, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int, is_last: bool,
) -> Any:  # fmt: skip
    """Queue one of the sums; `out` is the one of x, w and y that is computed."""
    is_last = is_last and len(out.shape) in ORDERS
    x, w, y = (operand if operand is out else _dense(call, operand, is_last) for operand in (x, w, y))
    operation = Convolution(
        kind,
        out.dtype,
        x_shape := _four_or_more(x.shape),
        w_shape := _four_or_more(w.shape),
        y_shape := _four_or_more(y.shape),
        _strides(x_shape, is_last),
        _strides(w_shape, is_last),
        _strides(y_shape, is_last),
        _two_or_more(stride, 1),
        _two_or_more(padding, 0),
        _two_or_more(dilation, 1),
        groups,
        allow_tf32=allow_tf32.value and out.dtype is float32,
    )
    call.library(operation, x, w, y)
    return out


def _with_bias(call: Any, out: Any, bias: Any) -> Any:
    """Add one number to each channel of a result, in place."""
    if bias is not None and out.numel():
        bias = call.contiguous(bias)
        row = call.part(bias, (bias.shape[0], *(1,) * (len(out.shape) - 2)), (1,) * (len(out.shape) - 1), 0)
        before, call.given = call.given, out
        add.lower(call, out, row)
        call.given = before
    return out


def _small(*shape: int, seed: int = 0, layout: str = "dense") -> Array:
    return Array(shape, -1, 1, seed=seed, layout=layout)


def _forward_samples() -> Iterator[Sample]:
    x, w, bias = _small(2, 2, 4, 3), _small(3, 2, 2, 2, seed=1), _small(3, seed=2)
    yield Sample((x, w, bias, (1, 1), (0, 0), (1, 1), 1, (3, 2), False))
    yield Sample((x, w, None, (2, 1), (1, 1), (1, 2), 1, (3, 3), True))
    yield Sample((_small(1, 2, 5, layout="strided"), _small(2, 1, 3, seed=1), None, (2,), (1,), (1,), 2, (3,), False))
    three = (1, 1, 1), (0, 0, 0), (1, 1, 1), 1, (1, 2, 2)
    yield Sample((_small(1, 1, 2, 3, 2), _small(2, 1, 2, 2, 1, seed=1), None, *three, True))
    yield Sample((_small(0, 2, 4, 3), w, bias, (1, 1), (0, 0), (1, 1), 1, (3, 2), False))
    yield Sample((_small(2, 2, 4, 3, layout="transposed"), w, None, (3, 3), (0, 0), (1, 1), 1, (1, 1), False))


@operator(samples=_forward_samples, dtypes=DTYPES, method=False, function=False, setting=allow_tf32)
def convolution(
    call: Any, input: Operand, weight: Operand, bias: Operand | None, stride: Any, padding: Any, dilation: Any,
    groups: int, sizes: Any, is_last: bool,
) -> Any:  # fmt: skip
    """Return the y of `library_operation.Convolution`, plus bias.  Arguments are not checked.

    Shapes: [n, c, *I] with [o, c / groups, *K] and [o] gives [n, o, *sizes].
    Host:   returns at once.
    """
    shape = (input.shape[0], weight.shape[0], *sizes)
    if prod(shape) and not input.numel():
        return _with_bias(call, fill.lower(call, call.scratch(shape, input.dtype), 0), bias)
    out = _made(call, shape, input.dtype, is_last, (input, weight, bias))
    if out.numel():
        _run(call, OF_OUTPUT, out, input, weight, out, stride, padding, dilation, groups, is_last)
    return _with_bias(call, out, bias)


@convolution.derivative(only_for={"input": "weight", "weight": "input"})
def _(
    grad: Any, input: Any, weight: Any, input_shape: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any,
    groups: int, is_last: bool, needs: Any,
) -> Any:  # fmt: skip
    how = stride, padding, dilation, groups
    return (
        convolution_input(grad, weight, None, *how, tuple(input_shape[2:]), is_last) if needs[0] else None,
        convolution_weight(grad, input, *how, tuple(weight_shape[2:]), is_last) if needs[1] else None,
        _of_bias(grad) if needs[2] else None,
    )


def _of_bias(grad: Any) -> Any:
    return sum_(grad, (0, *range(2, len(grad.shape))))


def _input_samples() -> Iterator[Sample]:
    y, w, bias = _small(2, 3, 3, 2), _small(3, 2, 2, 2, seed=1), _small(2, seed=2)
    yield Sample((y, w, bias, (1, 1), (0, 0), (1, 1), 1, (4, 3), False))
    yield Sample((y, w, None, (2, 1), (1, 1), (1, 2), 1, (6, 2), True))
    yield Sample((_small(1, 2, 3, layout="strided"), _small(2, 1, 3, seed=1), None, (2,), (1,), (1,), 2, (6,), False))
    yield Sample((_small(0, 3, 3, 2), w, bias, (1, 1), (0, 0), (1, 1), 1, (4, 3), False))


@operator(samples=_input_samples, dtypes=DTYPES, method=False, function=False, setting=allow_tf32)
def convolution_input(
    call: Any, input: Operand, weight: Operand, bias: Operand | None, stride: Any, padding: Any, dilation: Any,
    groups: int, sizes: Any, is_last: bool,
) -> Any:  # fmt: skip
    """Return the x of `library_operation.Convolution`, plus bias: a transposed convolution.  Arguments are not checked.

    Shapes: y [n, o, *P] with [o, c / groups, *K] and [c] gives [n, c, *sizes].
    Host:   returns at once.
    """
    shape = (input.shape[0], weight.shape[1] * groups, *sizes)
    if prod(shape) and not input.numel():
        return _with_bias(call, fill.lower(call, call.scratch(shape, input.dtype), 0), bias)
    out = _made(call, shape, input.dtype, is_last, (input, weight, bias))
    if out.numel():
        _run(call, OF_INPUT, out, out, weight, input, stride, padding, dilation, groups, is_last)
    return _with_bias(call, out, bias)


@convolution_input.derivative(only_for={"input": "weight", "weight": "input"})
def _(
    grad: Any, input: Any, weight: Any, input_shape: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any,
    groups: int, is_last: bool, needs: Any,
) -> Any:  # fmt: skip
    how = stride, padding, dilation, groups
    return (
        convolution(grad, weight, None, *how, tuple(input_shape[2:]), is_last) if needs[0] else None,
        convolution_weight(input, grad, *how, tuple(weight_shape[2:]), is_last) if needs[1] else None,
        _of_bias(grad) if needs[2] else None,
    )


convolution_input.node_name = convolution.node_name


def _weight_samples() -> Iterator[Sample]:
    x, y = _small(2, 2, 4, 3), _small(2, 3, 3, 2, seed=1)
    yield Sample((y, x, (1, 1), (0, 0), (1, 1), 1, (2, 2), False))
    yield Sample((y, x, (2, 1), (1, 0), (1, 1), 1, (2, 2), True))
    yield Sample((_small(1, 4, 3, seed=1), _small(1, 2, 5, layout="strided"), (2,), (1,), (1,), 2, (3,), False))
    yield Sample((_small(0, 3, 3, 2), _small(0, 2, 4, 3), (1, 1), (0, 0), (1, 1), 1, (2, 2), False))


@operator(samples=_weight_samples, dtypes=DTYPES, method=False, function=False, setting=allow_tf32)
def convolution_weight(
    call: Any, input: Operand, other: Operand, stride: Any, padding: Any, dilation: Any, groups: int, sizes: Any,
    is_last: bool,
) -> Any:  # fmt: skip
    """Return the w of `library_operation.Convolution` for y = input and x = other.  Arguments are not checked.

    Shapes: y [n, o, *P] and x [n, c, *I] give [o, c / groups, *sizes].
    Host:   returns at once.
    """
    shape = (input.shape[1], other.shape[1] // groups, *sizes)
    if prod(shape) and not (input.numel() and other.numel()):
        return fill.lower(call, call.scratch(shape, input.dtype), 0)
    out = _made(call, shape, input.dtype, is_last, (input, other))
    if out.numel():
        _run(call, OF_WEIGHT, out, other, out, input, stride, padding, dilation, groups, is_last)
    return out


@convolution_weight.derivative(only_for={"input": "other", "other": "input"})
def _(
    grad: Any, input: Any, other: Any, input_shape: Any, other_shape: Any, stride: Any, padding: Any, dilation: Any,
    groups: int, is_last: bool, needs: Any,
) -> Any:  # fmt: skip
    how = stride, padding, dilation, groups
    return (
        convolution(other, grad, None, *how, tuple(input_shape[2:]), is_last) if needs[0] else None,
        convolution_input(input, grad, None, *how, tuple(other_shape[2:]), is_last) if needs[1] else None,
    )


# checks


def per_dimension(name: str, what: str, value: Any, count: int, least: int) -> Sizes:
    """Return one int for each spatial dimension, of an int or of a list.  Raises ArgumentTypeError, ValueRangeError."""
    listed = [value] if hasattr(value, "__index__") else value
    if not isinstance(listed, (tuple, list)) or not st.are_integers(listed):
        raise ArgumentTypeError(
            f"{what} must be an int or a list of ints, got {shown(value)}",
            hint=f"as in {what}={(1,) * count}",
            operator=name,
        )
    numbers = tuple(number.__index__() for number in listed)
    if len(numbers) not in (1, count):
        raise ValueRangeError(
            f"expected {what} to be a single integer value or a list of {count} values to match the convolution "
            f"dimensions, but got {what}={list(numbers)}",
            hint=f"pass an int, or {count} of them",
            operator=name,
        )
    if min(numbers) < least:
        fact = "negative" if least == 0 else "non-positive"
        raise ValueRangeError(
            f"{fact} {what} is not supported, got {what}={list(numbers)}",
            hint=f"use {least} or more",
            operator=name,
        )
    return numbers * count if len(numbers) == 1 else numbers


def _is_batched(name: str, input: Any, spatial: int) -> bool:
    """Return whether the input has a batch dimension.  Raises ShapeError for a wrong number of dimensions."""
    if len(input.shape) not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}",
            hint="dimensions are (batch, channels, *spatial), or without batch: unsqueeze(0) adds one",
            operator=name,
        )
    return len(input.shape) == spatial + 2


def _check_operands(name: str, input: Any, weight: Any, bias: Any, spatial: int, groups: int, transposed: bool) -> None:
    if len(weight.shape) != spatial + 2:
        layout = "(in channels, out channels / groups" if transposed else "(out channels, in channels / groups"
        raise ShapeError(
            f"weight must have {spatial + 2} dimensions, got shape {list(weight.shape)}",
            hint=f"they are {layout}, *kernel sizes)",
            operator=name,
        )
    if input.dtype is bool_:
        raise DtypeError("convolutions of bool are not supported", hint="convert with .float()", operator=name)
    for what, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype is not input.dtype:
            raise DtypeError(
                f"Input type ({input.dtype.name}) and {what} type ({other.dtype.name}) should be the same",
                hint=f"convert one of them, for example {what}.to(torch.{input.dtype.name})",
                operator=name,
            )
    if groups < 1:
        raise ValueRangeError(
            f"non-positive groups is not supported, got groups={groups}", hint="use 1 or more", operator=name
        )
    given = f"Given groups={groups}, weight of size {list(weight.shape)}"
    if weight.shape[0] < groups or weight.shape[0] % groups:
        raise ShapeError(
            f"{given}: expected weight to be divisible by {groups} and at least {groups} at dimension 0",
            hint="pass groups that divides dimension 0 of the weight",
            operator=name,
        )
    channels = input.shape[len(input.shape) - spatial - 1]
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != expected:
        raise ShapeError(
            f"{given}, expected input{list(input.shape)} to have {expected} channels, but got {channels} channels "
            "instead",
            hint=f"channels are dimension {len(input.shape) - spatial - 1} of the input",
            operator=name,
        )
    out = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(bias.shape) != (out,):
        raise ShapeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {out} elements, but "
            f"got bias of size {list(bias.shape)} instead",
            hint="the bias has one number for each channel of the result",
            operator=name,
        )


def is_channels_last(*operands: Any) -> bool:
    """Return whether a convolution of these operands gives a channels-last result."""
    formats = (memory_formats.suggested(operand.shape, operand.strides) for operand in operands)
    return any(format is not memory_formats.contiguous_format for format in formats)


def _padding_of(name: str, padding: Any, stride: Sizes, dilation: Sizes, kernel: Sizes) -> tuple[Sizes, Sizes]:
    """Return (padding in front, sum of both) of each dimension.  Raises ValueRangeError."""
    if padding == SAME:
        if any(step != 1 for step in stride):
            raise ValueRangeError(
                f"padding='same' is not supported for strided convolutions, got stride={list(stride)}",
                hint="pass the padding as numbers",
                operator=name,
            )
        total = tuple(spread * (size - 1) for spread, size in zip(dilation, kernel))
        return tuple(pad // 2 for pad in total), total
    if isinstance(padding, str) and padding != VALID:
        raise ValueRangeError(
            f"Invalid padding string: {padding!r}", hint="use 'same', 'valid' or numbers", operator=name
        )
    front = per_dimension(name, "padding", 0 if padding == VALID else padding, len(kernel), 0)
    return front, tuple(2 * pad for pad in front)


def _convolved(
    name: str, spatial: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    is_batched = _is_batched(name, input, spatial)
    _check_operands(name, input, weight, bias, spatial, groups, False)
    steps = per_dimension(name, "stride", stride, spatial, 1)
    spread = per_dimension(name, "dilation", dilation, spatial, 1)
    kernel = tuple(weight.shape[2:])
    front, total = _padding_of(name, padding, steps, spread, kernel)
    inside = tuple(input.shape[-spatial:])
    padded = [size + both for size, both in zip(inside, total)]
    reach = [apart * (size - 1) + 1 for apart, size in zip(spread, kernel)]
    _check_reach(name, padded, reach)
    sizes = tuple((size - needed) // step + 1 for size, needed, step in zip(padded, reach, steps))
    batch = input if is_batched else input.unsqueeze(0)
    is_last = is_channels_last(batch, weight)
    out = convolution(batch, weight, bias, steps, front, spread, groups, sizes, is_last)
    return out if is_batched else out.squeeze(0)


def _check_reach(name: str, padded: Sequence[int], reach: Sequence[int]) -> None:
    """Raise ShapeError if a kernel, dilation included, is larger than the padded input."""
    if any(size < needed for size, needed in zip(padded, reach)):
        raise ShapeError(
            f"Calculated padded input size per channel: {_by(padded)}. Kernel size: {_by(reach)}, dilation included. "
            "Kernel size can't be greater than actual input size",
            hint="use a smaller kernel or more padding",
            operator=name,
        )


def _by(sizes: Sequence[int]) -> str:
    return f"({' x '.join(map(str, sizes))})"


def _transposed(
    name: str, spatial: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
    groups: int, dilation: Any,
) -> Any:  # fmt: skip
    is_batched = _is_batched(name, input, spatial)
    _check_operands(name, input, weight, bias, spatial, groups, True)
    steps = per_dimension(name, "stride", stride, spatial, 1)
    spread = per_dimension(name, "dilation", dilation, spatial, 1)
    front = per_dimension(name, "padding", padding, spatial, 0)
    extra = per_dimension(name, "output_padding", output_padding, spatial, 0)
    if any(more >= max(step, apart) for more, step, apart in zip(extra, steps, spread)):
        raise ValueRangeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding={list(extra)}, "
            f"stride={list(steps)}, dilation={list(spread)}",
            hint="pass a smaller output_padding: it selects one of the sizes that the stride permits",
            operator=name,
        )
    places = zip(input.shape[-spatial:], steps, front, spread, weight.shape[2:], extra)
    sizes = tuple(
        (size - 1) * step - 2 * pad + apart * (kernel - 1) + more + 1 for size, step, pad, apart, kernel, more in places
    )
    if min(sizes) < 1:
        raise ShapeError(
            f"Given input size per channel: {_by(input.shape[-spatial:])}. Calculated output size per channel: "
            f"{_by(sizes)}. Output size is too small",
            hint="use less padding",
            operator=name,
        )
    batch = input if is_batched else input.unsqueeze(0)
    is_last = is_channels_last(batch, weight)
    out = convolution_input(batch, weight, bias, steps, front, spread, groups, sizes, is_last)
    return out if is_batched else out.squeeze(0)


# the public operators


def _shape_of(spatial: int, *sizes: int) -> Sizes:
    """Return the shape of a sample: batch, channels, and the last `spatial` of its three spatial sizes."""
    return sizes[:2] + sizes[-spatial:]


def _samples(spatial: int) -> Any:
    def samples() -> Iterator[Sample]:
        x = Array(_shape_of(spatial, 2, 2, 2, 3, 4), -1, 1)
        w = Array(_shape_of(spatial, 2, 2, 1, 2, 3), -1, 1, seed=1)
        one = Array(_shape_of(spatial, 2, 1, 1, 2, 3), -1, 1, seed=1)
        bias = Array((2,), -1, 1, seed=2)
        yield Sample((x, w, bias))
        yield Sample((x, w), {"padding": "same"})
        yield Sample((x, w, None, 2, 1, 2))
        yield Sample((x, one, bias), {"groups": 2, "padding": (1,) * spatial})
        yield Sample((Array(x.shape[1:], -1, 1), w))
        yield Sample((x._replace(layout="strided"), w._replace(layout="transposed"), bias), {"padding": "valid"})
        yield Sample((Array((0, *x.shape[1:])), w, bias))

    return samples


def _errors(spatial: int) -> Any:
    def errors() -> Iterator[ErrorSample]:
        x, w = Array(_shape_of(spatial, 1, 2, 4, 4, 4)), Array(_shape_of(spatial, 3, 2, 2, 2, 2))
        yield ErrorSample((Array((2,)), w), ShapeError, rf"Expected {spatial + 1}D .* but got input of size: \[2\]")
        yield ErrorSample((x, Array((3, 2))), ShapeError, r"weight must have \d dimensions, got shape \[3, 2\]")
        yield ErrorSample((x, w, Array((2,))), ShapeError, r"with 3 elements, but got bias of size \[2\]")
        yield ErrorSample((x, w._replace(dtype="float64")), DtypeError, r"\(float32\) and weight type \(float64\)")
        wide = Array(_shape_of(spatial, 3, 3, 2, 2, 2))
        yield ErrorSample((x, wide), ShapeError, "to have 3 channels, but got 2 channels")
        yield ErrorSample((x, w), ShapeError, "groups=2.* divisible by 2", {"groups": 2})
        yield ErrorSample((x, w), ValueRangeError, "groups=0", {"groups": 0})
        yield ErrorSample((x, w), ValueRangeError, r"stride=\[0\]", {"stride": 0})
        yield ErrorSample((x, w), ValueRangeError, r"dilation=\[0\]", {"dilation": 0})
        yield ErrorSample((x, w), ValueRangeError, r"padding=\[-1\]", {"padding": -1})
        yield ErrorSample((x, w), ValueRangeError, "'full'", {"padding": "full"})
        strided = {"padding": "same", "stride": 2}
        yield ErrorSample((x, w), ValueRangeError, r"strided convolutions, got stride=\[2", strided)
        yield ErrorSample((x, w), ValueRangeError, r"got stride=\[1, 1, 1, 1\]", {"stride": (1, 1, 1, 1)})
        yield ErrorSample((x, w), ShapeError, r"size per channel: \(4.* Kernel size: \(6", {"dilation": 5})
        flags = x._replace(dtype="bool"), w._replace(dtype="bool")
        yield ErrorSample(flags, DtypeError, "convolutions of bool are not supported")

    return errors


def _define(spatial: int) -> Any:
    return composite(samples=_samples(spatial), errors=_errors(spatial), dtypes=DTYPES, method=False)


@_define(1)
def conv1d(
    input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Compute the cross-correlation of sequences with a kernel, summed over the channels of a group, plus bias.

    stride: the step between windows.  dilation: the step between a window's elements.  padding: the number of zeros
    added at each end, or "valid" for none, or "same" for as many as keep the size.  groups: the number of equal groups
    into which input and output channels are divided; an output channel uses the input channels of its group.
    Shapes: [n, c, l] or [c, l] with weight [o, c / groups, k] and bias [o] gives [n, o, m] or [o, m], where
            m = (l + 2 * padding - dilation * (k - 1) - 1) // stride + 1.
    Host:   returns at once.
    Raises: ShapeError for other shapes, or a kernel larger than the padded input, DtypeError if the types differ or are
            bool, ValueRangeError for a stride, padding, dilation or groups out of range.
    Example:
        >>> x = torch.tensor([[[1.0, 2.0, 4.0, 8.0]]])
        >>> torch.conv1d(x, torch.tensor([[[1.0, -1.0]]]))
        tensor([[[-1., -2., -4.]]])
    """
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@_define(2)
def conv2d(
    input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Compute the cross-correlation of images with a kernel, summed over the channels of a group, plus bias.

    The arguments are those of `conv1d`, each an int or one int for each spatial dimension.  The result is channels-last
    if the input or the weight is.
    Shapes: [n, c, h, w] or [c, h, w] with weight [o, c / groups, k, l] and bias [o] gives [n, o, p, q] or [o, p, q].
            The formula of `conv1d` gives p for h and k, and q for w and l.
    Host:   returns at once.
    Raises: ShapeError for other shapes, or a kernel larger than the padded input, DtypeError if the types differ or are
            bool, ValueRangeError for a stride, padding, dilation or groups out of range.
    Example:
        >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3), padding=1)
        tensor([[[[4., 6., 4.],
                  [6., 9., 6.],
                  [4., 6., 4.]]]])
    """
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@_define(3)
def conv3d(
    input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """Compute the cross-correlation of volumes with a kernel, summed over the channels of a group, plus bias.

    The arguments are those of `conv2d`.
    Shapes: [n, c, d, h, w] or [c, d, h, w] with weight [o, c / groups, *kernel] and bias [o] gives [n, o, *sizes] or
            [o, *sizes], where the formula of `conv1d` gives each size.
    Host:   returns at once.
    Raises: ShapeError for other shapes, or a kernel larger than the padded input, DtypeError if the types differ or are
            bool, ValueRangeError for a stride, padding, dilation or groups out of range.
    Example:
        >>> torch.conv3d(torch.ones(1, 2, 3, 3, 3), torch.ones(4, 2, 2, 2, 2)).shape
        torch.Size([1, 4, 2, 2, 2])
    """
    return _convolved("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _transposed_samples(spatial: int) -> Any:
    def samples() -> Iterator[Sample]:
        x = Array(_shape_of(spatial, 2, 2, 1, 2, 3), -1, 1)
        w = Array(_shape_of(spatial, 2, 3, 1, 2, 2), -1, 1, seed=1)
        bias = Array((3,), -1, 1, seed=2)
        yield Sample((x, w, bias))
        yield Sample((x, w, None, 2, 0, 1))
        yield Sample((x, w, Array((6,), seed=2)), {"groups": 2, "dilation": 2})
        yield Sample((Array(x.shape[1:], -1, 1), w))
        yield Sample((x._replace(layout="strided"), w._replace(layout="transposed"), bias))
        yield Sample((Array((0, *x.shape[1:])), w, bias))

    return samples


def _transposed_errors(spatial: int) -> Any:
    def errors() -> Iterator[ErrorSample]:
        x, w = Array(_shape_of(spatial, 1, 2, 4, 4, 4)), Array(_shape_of(spatial, 2, 3, 2, 2, 2))
        yield ErrorSample((Array((2,)), w), ShapeError, rf"Expected {spatial + 1}D .* but got input of size: \[2\]")
        yield ErrorSample((x, Array(_shape_of(spatial, 3, 3, 2, 2, 2))), ShapeError, "to have 3 channels, but got 2")
        yield ErrorSample((x, w), ValueRangeError, r"output_padding=\[1.*stride=\[1", {"output_padding": 1})
        yield ErrorSample((x, w), ShapeError, r"output size per channel: \(-5", {"padding": 5})
        yield ErrorSample((x, w), ValueRangeError, r"stride=\[0\]", {"stride": 0})
        flags = x._replace(dtype="bool"), w._replace(dtype="bool")
        yield ErrorSample(flags, DtypeError, "convolutions of bool are not supported")

    return errors


def _define_transposed(spatial: int) -> Any:
    samples, errors = _transposed_samples(spatial), _transposed_errors(spatial)
    return composite(samples=samples, errors=errors, dtypes=DTYPES, method=False)


@_define_transposed(1)
def conv_transpose1d(
    input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """Compute the transposed convolution of sequences: the gradient of `conv1d` with respect to its input, plus bias.

    padding: the number of elements cut off at each end.  output_padding: the number of elements added at the end.
    stride, dilation, groups: those of `conv1d`.
    Shapes: [n, c, l] or [c, l] with weight [c, o / groups, k] and bias [o] gives [n, o, m] or [o, m], where
            m = (l - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    Host:   returns at once.
    Raises: ShapeError for other shapes, or a result without elements, DtypeError if the types differ or are bool,
            ValueRangeError for a stride, padding, dilation or groups out of range.
    Example:
        >>> x = torch.tensor([[[1.0, 2.0]]])
        >>> torch.conv_transpose1d(x, torch.tensor([[[1.0, 10.0]]]), stride=2)
        tensor([[[ 1., 10.,  2., 20.]]])
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@_define_transposed(2)
def conv_transpose2d(
    input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """Compute the transposed convolution of images: the gradient of `conv2d` with respect to its input, plus bias.

    The arguments are those of `conv_transpose1d`, each an int or one int for each spatial dimension.
    Shapes: [n, c, h, w] or [c, h, w] with weight [c, o / groups, k, l] and bias [o] gives [n, o, p, q] or [o, p, q].
            The formula of `conv_transpose1d` gives p for h and k, and q for w and l.
    Host:   returns at once.
    Raises: ShapeError for other shapes, or a result without elements, DtypeError if the types differ or are bool,
            ValueRangeError for a stride, padding, dilation or groups out of range.
    Example:
        >>> torch.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
        tensor([[[[1., 2., 1.],
                  [2., 4., 2.],
                  [1., 2., 1.]]]])
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@_define_transposed(3)
def conv_transpose3d(
    input: Operand, weight: Operand, bias: Operand | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """Compute the transposed convolution of volumes: the gradient of `conv3d` with respect to its input, plus bias.

    The arguments are those of `conv_transpose2d`.
    Shapes: [n, c, d, h, w] or [c, d, h, w] with weight [c, o / groups, *kernel] and bias [o] gives [n, o, *sizes] or
            [o, *sizes], where the formula of `conv_transpose1d` gives each size.
    Host:   returns at once.
    Raises: ShapeError for other shapes, or a result without elements, DtypeError if the types differ or are bool,
            ValueRangeError for a stride, padding, dilation or groups out of range.
    Example:
        >>> torch.conv_transpose3d(torch.ones(1, 2, 3, 3, 3), torch.ones(2, 4, 2, 2, 2), stride=2).shape
        torch.Size([1, 4, 6, 6, 6])
    """
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _tbc_samples() -> Iterator[Sample]:
    yield Sample((_small(4, 2, 3), _small(2, 3, 5, seed=1), _small(5, seed=2)))
    yield Sample((_small(4, 2, 3), _small(3, 3, 2, seed=1), _small(2, seed=2), 1))


def _tbc_errors() -> Iterator[ErrorSample]:
    x, w, bias = Array((4, 2, 3)), Array((2, 3, 5)), Array((5,))
    yield ErrorSample((Array((4, 3)), w, bias), ShapeError, r"input must have 3 dimensions.*\[4, 3\]")
    yield ErrorSample((x, w, Array((2,))), ShapeError, r"with 5 elements, but got bias of size \[2\]")
    yield ErrorSample((x, w, bias, -1), ValueRangeError, r"padding=\[-1\]")
    large = r"Calculated padded input size per channel: \(4\). Kernel size: \(5\).*greater than actual input"
    yield ErrorSample((x, Array((5, 3, 5)), bias), ShapeError, large)


@composite(samples=_tbc_samples, errors=_tbc_errors, dtypes=FLOATING_TYPES, method=False)
def conv_tbc(input: Operand, weight: Operand, bias: Operand, pad: int = 0) -> Any:
    """Compute `conv1d` of sequences whose dimensions are (time, batch, channels).

    pad: the number of zeros added at each end.
    Shapes: [l, n, c] with weight [k, c, o] and bias [o] gives [m, n, o], where m = l + 2 * pad - k + 1.
    Host:   returns at once.
    Memory: a temporary tensor of k times the input's size.
    Raises: ShapeError for other shapes, or a kernel larger than the padded input, DtypeError if the types differ or are
            bool, ValueRangeError for a negative `pad`.
    Example:
        >>> torch.conv_tbc(torch.ones(5, 2, 3), torch.ones(2, 3, 4), torch.zeros(4)).shape
        torch.Size([4, 2, 4])
    """
    for what, operand in (("input", input), ("weight", weight)):
        if len(operand.shape) != 3:
            raise ShapeError(
                f"{what} must have 3 dimensions, got shape {list(operand.shape)}",
                hint="input is (time, batch, channels), weight is (kernel size, channels, out channels)",
                operator="conv_tbc",
            )
    _check_operands("conv_tbc", permute(input, (1, 2, 0)), permute(weight, (2, 1, 0)), bias, 1, 1, False)
    size, channels, out = weight.shape
    (front,), _ = _padding_of("conv_tbc", pad, (1,), (1,), (size,))
    padded: Any = REGISTRY["constant_pad_nd"](input, (0, 0, 0, 0, front, front)) if front else input
    _check_reach("conv_tbc", padded.shape[:1], (size,))
    windows = permute(padded.unfold(0, size, 1), (0, 1, 3, 2))
    rows = windows.reshape((windows.shape[0] * windows.shape[1], size * channels))
    product = REGISTRY["linear"](rows, weight.reshape((size * channels, out)).transpose(0, 1), bias)
    return product.reshape((*windows.shape[:2], out))


def _general_samples() -> Iterator[Sample]:
    x, w, bias = _small(1, 2, 3, 3), _small(2, 2, 2, 2, seed=1), _small(2, seed=2)
    yield Sample((x, w, bias, (1, 1), (1, 1), (1, 1), False, (0, 0), 1))
    yield Sample((x, w, None, (2, 2), (0, 0), (1, 1), True, (1, 1), 1))


def _general_errors() -> Iterator[ErrorSample]:
    numbers = (1, 1), (0, 0), (1, 1), False, (0, 0), 1
    yield ErrorSample((Array((2, 3)), Array((2, 3)), None, *numbers), ShapeError, r"weight .* got shape \[2, 3\]")


@composite(
    samples=_general_samples, errors=_general_errors, dtypes=FLOATING_TYPES, method=False, function=False,
    name="general_convolution", called="convolution",
)  # fmt: skip
def general_convolution(
    input: Operand, weight: Operand, bias: Operand | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """Compute a convolution or a transposed one; the weight has one to three spatial dimensions, as the input.

    Shapes: [n, c, *I] with weight [o, c / groups, *K], or [c, o / groups, *K] if transposed, gives [n, o, *sizes].
    Host:   returns at once.
    Raises: ShapeError for other shapes, or a kernel larger than the padded input, DtypeError if the types differ or are
            bool, ValueRangeError for a stride, padding, dilation or groups out of range.
    """
    spatial = len(weight.shape) - 2
    if spatial not in (1, 2, 3):
        raise ShapeError(
            f"weight must have 3 to 5 dimensions, got shape {list(weight.shape)}",
            hint="they are (out channels, in channels / groups, *kernel sizes)",
            operator="convolution",
        )
    if transposed:
        numbers = stride, padding, output_padding, groups, dilation
        return _transposed("convolution", spatial, input, weight, bias, *numbers)
    return _convolved("convolution", spatial, input, weight, bias, stride, padding, dilation, groups)

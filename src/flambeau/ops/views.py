"""Views of a whole tensor: reshape, transpose, permute, squeeze, expand and view, also as another dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..core.layout import layout_of
from ..core.tensor import TensorBase
from ..core.view_geometry import geometry_of, known_views
from ..core.views import KnownViews, is_recorded
from ..errors import ArgumentTypeError, IndexRangeError, ShapeError, shown
from .operator import Array, ErrorSample, Operand, Sample, composite, view
from .samples import bad_last, bad_new, bad_second


def wrap_dims(dims: Sequence[int], ndim: int, name: str) -> list[int]:
    """Count several dimensions from the front.  Raises ShapeError if one is repeated."""
    wrapped = [st.wrap_dim(dim, ndim, name) for dim in dims]
    if len(set(wrapped)) != len(wrapped):
        raise ShapeError(
            f"duplicate dims are not allowed, got {list(dims)}",
            hint=f"name each once; of {ndim} dimensions, -1 is {ndim - 1}",
            operator=name,
        )
    return wrapped


def _view_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 6)), (3, 4)))
    yield Sample((Array((2, 6)), (-1,)))
    yield Sample((Array((4, 3), layout="transposed"), (4, 3, 1)))
    yield Sample((Array((0, 3)), (3, 0)))
    yield Sample((Array(()), (1, 1)))


def _view_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 6)), (5, -1)), ShapeError, r"'\[5, -1\]' is invalid for input of size 12")
    yield ErrorSample((Array((4, 3), layout="transposed"), (12,)), ShapeError, r"reshape")


@view(samples=_view_samples, errors=_view_errors, dtypes=dtypes.ALL, function=False, name="view")
def view_(input: Operand, size: Any) -> Any:
    """Return a view with another shape; one size may be -1, which is then inferred.

    Shapes: the result has shape `size`, with as many elements as the input.
    Host:   returns at once.
    Raises: ShapeError if the number of elements differs, or the strides do not allow that shape.
    Example:
        >>> x = torch.arange(6)
        >>> y = x.view(2, 3)
        >>> y[0, 0] = 100
        >>> x
        tensor([100,   1,   2,   3,   4,   5])
    """
    target = st.infer(size, input.numel())
    strides = st.view(input.shape, input.strides, target)
    if strides is None:
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans "
            f"across two contiguous subspaces): size {list(target)}, of shape {list(input.shape)} with strides "
            f"{list(input.strides)}",
            hint="use reshape(...), which copies if necessary",
            operator="view",
        )
    return target, strides, 0


@view_.derivative
def _(grad: Any, input_shape: Any) -> Any:
    return grad.reshape(input_shape)


@composite(samples=_view_samples, errors=lambda: list(_view_errors())[:1], dtypes=dtypes.ALL, takes_out=False)
def reshape(input: Operand, shape: Any) -> Any:
    """Return a view with another shape where the strides allow it, else a copy.

    Shapes: the result has shape `shape` (one size may be -1), with as many elements as the input.
    Host:   returns at once.
    Raises: ShapeError if the number of elements differs.
    Example:
        >>> torch.reshape(torch.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    source: Any = input
    if source.is_contiguous() and -1 not in shape and prod(shape) == source.numel():
        return view_(source, shape)
    target = st.infer(shape, input.numel(), "reshape")
    fits = st.view(input.shape, input.strides, target) is not None
    return view_(source if fits else source.contiguous(), target)


def _reshaped(operator: Any, operand: Any, bound: list[Any]) -> Any:
    """Compute the geometry of `view` and `reshape` for KnownViews; False where no view is possible."""
    try:
        return geometry_of(view_, operand, bound)
    except ShapeError:
        return False


view_.quick = reshape.quick = KnownViews(view_, _reshaped, False)
view_.quick_node = reshape.quick_node = view_


def _flatten_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 4)),))
    yield Sample((Array((2, 3, 4)), 1))
    yield Sample((Array((3, 4), layout="transposed"), 0, -1))
    yield Sample((Array(()),))
    yield Sample((Array((2, 0, 3)), 0, 1))


def _flatten_errors() -> Iterator[ErrorSample]:
    yield from bad_last()
    yield ErrorSample((Array((2, 3)), 1, 0), ShapeError, "start_dim 1 comes after end_dim 0")


@composite(samples=_flatten_samples, errors=_flatten_errors, dtypes=dtypes.ALL, takes_out=False)
def flatten(input: Operand, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Merge the dimensions start_dim to end_dim, both included, in a view where the strides allow it, else in a copy.

    Shapes: the merged dimension has the product of their sizes; an input without dimensions gives [1].
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if start_dim comes after end_dim.
    Example:
        >>> torch.flatten(torch.zeros(2, 3, 5), start_dim=1).shape
        torch.Size([2, 15])
    """
    ndim = len(input.shape)
    first, last = st.wrap_dim(start_dim, ndim, "flatten"), st.wrap_dim(end_dim, ndim, "flatten")
    if first > last:
        raise ShapeError(
            f"start_dim {start_dim} comes after end_dim {end_dim}",
            hint=f"exchange them: ({end_dim}, {start_dim})",
            operator="flatten",
        )
    if first == last and ndim:
        return input
    merged = 1
    for size in input.shape[first : last + 1]:
        merged *= size
    return reshape(input, (*input.shape[:first], merged, *input.shape[last + 1 :]))


def _ravel_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), layout="transposed"),))


@composite(samples=_ravel_samples, dtypes=dtypes.ALL, takes_out=False)
def ravel(input: Operand) -> Any:
    """Flatten to one dimension: a view of a contiguous input, else a copy.

    Shapes: a vector of all elements.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
    """
    return view_(input.contiguous(), (-1,))


def _unflatten_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 6)), 1, (2, 3)))
    yield Sample((Array((6,)), -1, (-1, 2)))


def _unflatten_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 6)), 2, (2, 3)), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")
    yield ErrorSample((Array((2, 6)), 1, (4, 2)), ShapeError, r"shape '\[4, 2\]' is invalid for input of size 6")


@composite(samples=_unflatten_samples, errors=_unflatten_errors, dtypes=dtypes.ALL, takes_out=False)
def unflatten(input: Operand, dim: int, sizes: Any) -> Any:
    """Return a view with dimension `dim` split into several of the given sizes, one of which may be -1.

    Shapes: the input's with the size of `dim` replaced by `sizes`, whose product it is.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ShapeError if the sizes do not fit.
    Example:
        >>> torch.unflatten(torch.zeros(2, 15), 1, (3, -1)).shape
        torch.Size([2, 3, 5])
    """
    at = st.wrap_dim(dim, len(input.shape), "unflatten")
    if not input.shape:
        raise IndexRangeError(
            "cannot be applied to a 0-dim tensor", hint="reshape(...) gives it dimensions", operator="unflatten"
        )
    inner = st.infer(sizes, input.shape[at], "unflatten")
    return reshape(input, (*input.shape[:at], *inner, *input.shape[at + 1 :]))


def _squeeze_samples() -> Iterator[Sample]:
    yield Sample((Array((1, 3, 1)),))
    yield Sample((Array((1, 3, 1)), -1))
    yield Sample((Array((1, 3, 1)), (0, 1)))
    yield Sample((Array(()), 0))


@view(samples=_squeeze_samples, errors=bad_last, dtypes=dtypes.ALL)
def squeeze(input: Operand, dim: Any = None) -> Any:
    """Return a view without dimensions of size 1: all of them, or those in `dim`, an int or a tuple of ints.

    Shapes: the input's without these dimensions.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range.
    Example:
        >>> torch.squeeze(torch.zeros(1, 3, 1)).shape
        torch.Size([3])
        >>> torch.squeeze(torch.zeros(1, 3, 1), dim=0).shape
        torch.Size([3, 1])
    """
    ndim = len(input.shape)
    named = range(ndim) if dim is None else wrap_dims(st.as_ints(dim), ndim, "squeeze")
    kept = [i for i in range(ndim) if i not in named or input.shape[i] != 1]
    return [input.shape[i] for i in kept], [input.strides[i] for i in kept], 0


@squeeze.derivative
def _(grad: Any, input_shape: Any) -> Any:
    return grad.reshape(input_shape)


def _unsqueeze_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)), 0))
    yield Sample((Array((3, 2), layout="transposed"), 1))
    yield Sample((Array((2, 3)), -1))
    yield Sample((Array(()), 0))


@view(samples=_unsqueeze_samples, errors=bad_new, dtypes=dtypes.ALL)
def unsqueeze(input: Operand, dim: int) -> Any:
    """Return a view with a dimension of size 1 inserted at `dim`.

    Shapes: the input's with a size of 1 inserted.
    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range.
    Example:
        >>> torch.unsqueeze(torch.tensor([1, 2, 3]), 1).shape
        torch.Size([3, 1])
    """
    ndim = len(input.shape)
    at = st.wrap_dim(dim, ndim + 1, "unsqueeze")
    step = input.shape[at] * input.strides[at] if at < ndim else 1
    shape, strides = input.shape, input.strides
    return (*shape[:at], 1, *shape[at:]), (*strides[:at], step, *strides[at:]), 0


@unsqueeze.derivative
def _(grad: Any, dim: int, input_shape: Any) -> Any:
    return grad.squeeze(dim % (len(input_shape) + 1))


def _transpose_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 4)), 0, 2))
    yield Sample((Array((2, 3)), -1, 0))
    yield Sample((Array((0, 3)), 0, 1))
    yield Sample((Array(()), 0, -1))


@view(samples=_transpose_samples, errors=bad_second, dtypes=dtypes.ALL)
def transpose(input: Operand, dim0: int, dim1: int) -> Any:
    """Return a view with two dimensions swapped.

    Shapes: as the input's, with sizes dim0 and dim1 swapped.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range.
    Example:
        >>> torch.transpose(torch.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
    """
    ndim = len(input.shape)
    a, b = st.wrap_dim(dim0, ndim, "transpose"), st.wrap_dim(dim1, ndim, "transpose")
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = order[b], order[a]
    return [input.shape[i] for i in order], [input.strides[i] for i in order], 0


@transpose.derivative
def _(grad: Any, dim0: int, dim1: int) -> Any:
    return grad.transpose(dim0, dim1)


@composite(samples=_transpose_samples, errors=bad_second, dtypes=dtypes.ALL, takes_out=False)
def swapaxes(input: Operand, axis0: int, axis1: int) -> Any:
    """Return a view with two dimensions swapped: an alias of `transpose`.

    Shapes: as the input's, with sizes axis0 and axis1 swapped.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range.
    Example:
        >>> torch.swapaxes(torch.zeros(2, 3, 5), 0, 2).shape
        torch.Size([5, 3, 2])
    """
    return transpose(input, axis0, axis1)


@composite(samples=_transpose_samples, errors=bad_second, dtypes=dtypes.ALL, takes_out=False)
def swapdims(input: Operand, dim0: int, dim1: int) -> Any:
    """Return a view with two dimensions swapped: an alias of `transpose`.

    Shapes: as the input's, with sizes dim0 and dim1 swapped.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range.
    Example:
        >>> torch.swapdims(torch.zeros(2, 3, 5), 0, 2).shape
        torch.Size([5, 3, 2])
    """
    return transpose(input, dim0, dim1)


def _adjoint_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))
    yield Sample((Array((2, 3, 4)),))


def _adjoint_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2,)),), ShapeError, r"matrices or batches of matrices, got shape \[2\]")


@composite(samples=_adjoint_samples, errors=_adjoint_errors, dtypes=dtypes.ALL, takes_out=False)
def adjoint(input: Operand) -> Any:
    """Return a view with the last two dimensions swapped: the conjugate transpose of real matrices.

    Shapes: [*, n, m] gives [*, m, n].
    Host:   returns at once.
    Raises: ShapeError for a vector.
    Example:
        >>> torch.adjoint(torch.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
    if len(input.shape) == 1:
        raise ShapeError(
            f"only supports matrices or batches of matrices, got shape {list(input.shape)}",
            hint="unsqueeze(0) turns a vector into a row",
            operator="adjoint",
        )
    return transpose(input, -2, -1) if input.shape else input


def _t_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))
    yield Sample((Array((3,)),))
    yield Sample((Array(()),))


def _t_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3, 4)),), ShapeError, r"at most 2 dimensions, but the input has 3")


@composite(samples=_t_samples, errors=_t_errors, dtypes=dtypes.ALL, takes_out=False)
def t(input: Operand) -> Any:
    """Return a transposed view of a matrix; a plain view of a tensor with fewer dimensions.

    Shapes: [n, m] gives [m, n]; [n] and [] give the same.
    Host:   returns at once.
    Raises: ShapeError for more than two dimensions.
    Example:
        >>> torch.t(torch.tensor([[1, 2, 3], [4, 5, 6]]))
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
    """
    ndim = len(input.shape)
    if ndim > 2:
        raise ShapeError(
            f"expects at most 2 dimensions, but the input has {ndim}", hint="use transpose(-2, -1)", operator="t"
        )
    return transpose(input, 0, -1)


def _permute_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 4)), (2, 0, 1)))
    yield Sample((Array((4, 3), layout="transposed"), (-1, 0)))
    yield Sample((Array(()), ()))


def _permute_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), (0, 0)), ShapeError, r"duplicate dims")
    yield ErrorSample((Array((2, 3)), (0,)), ShapeError, r"2 dimensions, but 1 were given")


@view(samples=_permute_samples, errors=_permute_errors, dtypes=dtypes.ALL)
def permute(input: Operand, dims: Any) -> Any:
    """Return a view with the dimensions in another order.

    Shapes: size i of the result is size dims[i] of the input.
    Host:   returns at once.
    Raises: ShapeError unless `dims` lists every dimension once, IndexRangeError if one is out of range.
    Example:
        >>> torch.permute(torch.zeros(2, 3, 5), (2, 0, 1)).shape
        torch.Size([5, 2, 3])
    """
    ndim = len(input.shape)
    if len(dims) != ndim:
        raise ShapeError(
            "number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions: the input has {ndim} dimensions, but {len(dims)} were given: {list(dims)}",
            hint=f"name each of 0 to {ndim - 1} once; transpose(a, b) exchanges two" if ndim else "give none",
            operator="permute",
        )
    order = wrap_dims(dims, ndim, "permute")
    return [input.shape[i] for i in order], [input.strides[i] for i in order], 0


@permute.derivative
def _(grad: Any, dims: Any) -> Any:
    order = [dim % len(dims) for dim in dims]
    return grad.permute([order.index(i) for i in range(len(order))])


def _movedim_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 4)), 0, -1))
    yield Sample((Array((2, 3, 4)), (0, 1), (2, 0)))


def _movedim_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), (0, 1), (0,)), ShapeError, "2 source dimensions, but 1 destinations")
    yield ErrorSample((Array((2, 3)), (0, 0), (0, 1)), ShapeError, r"duplicate dims are not allowed, got \[0, 0\]")
    yield ErrorSample((Array((2, 3)), 2, 0), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


@composite(samples=_movedim_samples, errors=_movedim_errors, dtypes=dtypes.ALL, takes_out=False)
def movedim(input: Operand, source: Any, destination: Any) -> Any:
    """Return a view with dimension(s) `source` moved to `destination`; the others keep their order.

    Shapes: the sizes of the input, in the order of the moved dimensions.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if source and destination differ in
            number, or a dimension is repeated, ArgumentTypeError for anything but ints.
    Example:
        >>> torch.movedim(torch.zeros(2, 3, 5), 0, -1).shape
        torch.Size([3, 5, 2])
    """
    if hasattr(source, "__index__") != hasattr(destination, "__index__"):
        raise ArgumentTypeError(
            f"source and destination must be two ints or two tuples, got {shown(source)} and {shown(destination)}",
            hint="as in movedim(0, 1) or movedim((0,), (1,))",
            operator="movedim",
        )
    ndim = len(input.shape)
    sources = wrap_dims(st.as_ints(source), ndim, "movedim")
    targets = wrap_dims(st.as_ints(destination), ndim, "movedim")
    if len(sources) != len(targets):
        raise ShapeError(
            f"{len(sources)} source dimensions, but {len(targets)} destinations: {list(sources)} and {list(targets)}",
            hint="give one destination for each source",
            operator="movedim",
        )
    rest = iter(i for i in range(ndim) if i not in sources)
    placed = dict(zip(targets, sources))
    return permute(input, tuple(placed[i] if i in placed else next(rest) for i in range(ndim)))


def _expand_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 1)), (3, 4)))
    yield Sample((Array((1, 3)), (2, -1, 3)))
    yield Sample((Array(()), (2, 2)))
    yield Sample((Array((1,)), (0,)))


def _expand_errors() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3, 4)), (2, 4)), ShapeError, r"size .* \(2\) .* existing size \(3\) at non-singleton dimension 0"
    )
    yield ErrorSample((Array((3,)), (-1, 3)), ShapeError, r"-1 .* leading")


@view(samples=_expand_samples, errors=_expand_errors, dtypes=dtypes.ALL, function=False)
def expand(input: Operand, size: Any) -> Any:
    """Return a view of the given sizes, in which dimensions of size 1 and new leading ones repeat with a stride of 0.

    A size of -1 keeps the size of the input.

    Shapes: the result has the listed sizes.
    Host:   returns at once.
    Raises: ShapeError if a dimension that is not of size 1 would change.
    Example:
        >>> torch.tensor([[1], [2]]).expand(2, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    size = st.as_ints(size)
    lead = len(size) - len(input.shape)
    if lead < 0:
        raise ShapeError(
            f"{len(size)} sizes were given, {list(size)}, but the input is {list(input.shape)}",
            hint="give one size for each dimension, -1 to keep it; new dimensions come first",
            operator="expand",
        )
    if -1 in size[:lead]:
        raise ShapeError(
            f"-1 isn't allowed for a leading, new dimension: {list(size)}, the input is {list(input.shape)}",
            hint="-1 keeps an existing size: give new dimensions a number",
            operator="expand",
        )
    target = [have if want == -1 else want for want, have in zip(size, (*[1] * lead, *input.shape))]
    for dim, (want, have) in enumerate(zip(target[lead:], input.shape)):
        if have not in (1, want):
            raise ShapeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at "
                f"non-singleton dimension {dim + lead}.  Target sizes: {list(size)}.  Tensor sizes: "
                f"{list(input.shape)}",
                hint=f"only sizes of 1 expand: use {have} or -1 there; unsqueeze() makes new dimensions of size 1",
                operator="expand",
            )
    return target, st.expand(input.shape, input.strides, target), 0


@expand.derivative
def _(grad: Any, input_shape: Any) -> Any:
    return grad.sum_to_size(input_shape)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Return views of all tensors, expanded to the shape to which they broadcast.

    Host:   returns at once.
    Raises: ShapeError if they do not broadcast, ArgumentTypeError if one is not a tensor.
    Example:
        >>> a, b = torch.broadcast_tensors(torch.tensor([[1], [2]]), torch.tensor([10, 20, 30]))
        >>> a.shape, b.shape
        (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    for number, tensor in enumerate(several):
        if not isinstance(tensor, TensorBase):
            raise ArgumentTypeError(
                f"tensors[{number}] must be a Tensor, got {shown(tensor)}",
                hint="make one with torch.tensor(...)",
                operator="broadcast_tensors",
            )
    shape = st.broadcast([tensor.shape for tensor in several], "broadcast_tensors")
    return tuple(expand(tensor, shape) for tensor in several)


def as_if_read(result: Any, unread: Any) -> Any:
    """Return a result that is in the graph of an operand that it does not depend on, whose gradient is zeros.

    unread: has the result's type, and broadcasts to its shape or has no elements; its values do not matter.
    """
    if not is_recorded(unread):
        return result
    source = unread if prod(unread.shape) else unread.sum()
    return expand(source, result.shape).clone().copy_(result)


@composite(samples=_expand_samples, errors=_expand_errors, dtypes=dtypes.ALL, takes_out=False)
def broadcast_to(input: Operand, size: Any) -> Any:
    """Return a view that is expanded to the given shape: an alias of `expand`.

    Shapes: the result has the listed sizes.
    Host:   returns at once.
    Raises: ShapeError if a dimension that is not of size 1 would change.
    Example:
        >>> torch.broadcast_to(torch.tensor([1, 2]), (3, 2))
        tensor([[1, 2],
                [1, 2],
                [1, 2]])
    """
    return expand(input, size)


known_views(
    adjoint, broadcast_to, expand, flatten, movedim, permute, squeeze, swapaxes, swapdims, t, transpose, unflatten,
    unsqueeze,
)  # fmt: skip


# alias, and views as another dtype


def _alias_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3)),))


@view(samples=_alias_samples, dtypes=dtypes.ALL, method=False, function=False)
def alias(input: Operand) -> Any:
    """Return a view of the whole input: another tensor of the same memory, with a gradient.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    """
    return input.shape, input.strides, 0


@alias.derivative
def _(grad: Any) -> Any:
    return grad


def _view_dtype_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 4)), dtypes.uint8))


def _view_dtype_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), dtypes.float64), ShapeError, "cannot be viewed as float64, of 8 bytes")


@composite(
    samples=_view_dtype_samples,
    errors=_view_dtype_errors,
    dtypes=dtypes.ALL,
    method=False,
    function=False,
    called="view",
)
def view_dtype(input: Operand, dtype: Any) -> Any:
    """Return a view of the same bytes as another dtype, without a gradient.

    Shapes: the last size is scaled by the ratio of the sizes of the elements.
    Host:   returns at once.
    Raises: ShapeError if the bytes of the last dimension do not divide evenly.
    Example:
        >>> torch.tensor([1.0]).view(torch.int32)
        tensor([1065353216], dtype=torch.int32)
    """
    source: Any = input
    old, new = input.dtype.itemsize, dtype.itemsize
    result = source.detach()
    aligned = input.is_aligned()
    if old == new:
        result._layout = layout_of(source._layout.device, dtype, source.shape, source.strides, aligned)
        return result
    divisible = all(step * old % new == 0 for step in (*input.strides[:-1], result._offset))
    if not input.shape or input.strides[-1] != 1 or input.shape[-1] * old % new or not divisible:
        raise ShapeError(
            f"{input.dtype.name}{list(input.shape)} with strides {list(input.strides)} cannot be viewed as "
            f"{dtype.name}, of {new} bytes an element",
            hint="make it contiguous(), with a last dimension whose bytes divide evenly",
            operator="view",
        )
    shape = st.Size((*input.shape[:-1], input.shape[-1] * old // new))
    steps = (*(step * old // new for step in input.strides[:-1]), 1)
    result._layout = layout_of(source._layout.device, dtype, shape, steps, aligned)
    result._offset = result._offset * old // new
    return result

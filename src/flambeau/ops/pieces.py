"""Tensors cut into several: tensor_split, hsplit and its kin, split_with_sizes, and the unsafe forms of split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import Any

from .. import dtypes
from .. import strides as st
from ..errors import ArgumentTypeError, IndexRangeError, ShapeError, ValueRangeError, shown
from .operator import Array, ErrorSample, Operand, Sample, composite
from .samples import bad_dims
from .slicing import sized, slice_, split

_NAMES_OF_CUTS = {"sections": "indices_or_sections", "indices": "indices_or_sections"}


def _cuts(input: Operand, cuts: Sequence[int], at: int) -> tuple[Any, ...]:
    """Return the pieces between positions of a dimension; like Python's slices, they may be empty."""
    bounds = zip((0, *cuts), (*cuts, input.shape[at]))
    return tuple([slice_(input, at, first, last) for first, last in bounds])


def _even_cuts(size: int, sections: int) -> list[int]:
    """Return where to cut a dimension into sections of equal size; the first ones have one index more."""
    each, more = divmod(size, sections)
    return [place * each + min(place, more) for place in range(1, sections)]


def _numbers_of(cuts: Any) -> Any:
    """Read a CPU tensor of int64: a number of sections, or positions.  Other arguments are returned as they are."""
    if not hasattr(cuts, "_layout"):
        return cuts
    if cuts.is_cuda or cuts.dtype is not dtypes.int64 or len(cuts.shape) > 1:
        raise ValueRangeError(
            f"the cuts must be int64 on the CPU, of no or one dimension, got {cuts.describe()}",
            hint="pass an int or a tuple: cuts.tolist()",
            operator="tensor_split",
        )
    return cuts.tolist()


def _tensor_split_samples() -> Iterator[Sample]:
    yield Sample((Array((7, 2)), 3))
    yield Sample((Array((2, 5)), (1, 3), 1))
    yield Sample((Array((5,), layout="strided"), (-2, 9)))
    yield Sample((Array((2, 0)), 2, -1))


def _tensor_split_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ValueRangeError, "sections must be larger than 0, got 0")
    yield ErrorSample((Array(()), 2), ShapeError, "at least one dimension")
    yield ErrorSample((Array((2, 3)), 2, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


@composite(
    samples=_tensor_split_samples, errors=_tensor_split_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names={**_NAMES_OF_CUTS, "tensor_indices_or_sections": "indices_or_sections"},
)  # fmt: skip
def tensor_split(input: Operand, indices_or_sections: Any, dim: int = 0) -> Any:
    """Views of consecutive pieces of a dimension: a number of nearly equal ones, or those between the given positions.

    indices_or_sections: an int, ints, or a tensor of them on the CPU.  The first pieces may have one index more.
    Host:   returns at once.
    Raises: ShapeError without a dimension, IndexRangeError if it is out of range, ValueRangeError for no sections.
    Example:
        >>> torch.tensor_split(torch.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        >>> torch.tensor_split(torch.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    if not input.shape:
        raise ShapeError(
            "the input needs at least one dimension, got []", hint="reshape it to (1,)", operator="tensor_split"
        )
    at, size = sized(input, dim, "tensor_split")
    cuts = _numbers_of(indices_or_sections)
    if hasattr(cuts, "__index__"):
        if index(cuts) <= 0:
            raise ValueRangeError(
                f"the number of sections must be larger than 0, got {cuts}",
                hint="1 gives the whole tensor",
                operator="tensor_split",
            )
        return _cuts(input, _even_cuts(size, index(cuts)), at)
    return _cuts(input, st.as_ints(cuts), at)


def _split_along(name: str, input: Operand, cuts: Any, least: int, at: int) -> Any:
    """Split as `hsplit` and its kin: sections must be equal."""
    if len(input.shape) < least:
        raise ShapeError(
            f"requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor with "
            f"{len(input.shape)} dimensions: {list(input.shape)}",
            hint="add dimensions with unsqueeze(), or call tensor_split(..., dim)",
            operator=name,
        )
    if hasattr(cuts, "__index__"):
        sections, size = index(cuts), input.shape[at]
        if sections <= 0 or size % sections:
            raise ShapeError(
                f"attempted to split along dimension {at}, but the size of the dimension {size} is not divisible by "
                f"the split_size {sections}",
                hint="tensor_split(...) makes pieces of unequal sizes",
                operator=name,
            )
        return _cuts(input, _even_cuts(size, sections), at)
    return _cuts(input, st.as_ints(cuts), at)


def _hsplit_samples() -> Iterator[Sample]:
    yield Sample((Array((4,)), 2))
    yield Sample((Array((2, 5)), (1, 3)))


def _hsplit_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array(()), 2), ShapeError, "at least 1 dimension, but got a tensor with 0")
    yield ErrorSample((Array((2, 3)), 2), ShapeError, "dimension 1, but the size of the dimension 3 .* split_size 2")


@composite(
    samples=_hsplit_samples, errors=_hsplit_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names=_NAMES_OF_CUTS,
)  # fmt: skip
def hsplit(input: Operand, indices_or_sections: Any) -> Any:
    """Views of pieces of dimension 1, or of dimension 0 of a vector: equal ones, or those between positions.

    Host:   returns at once.
    Raises: ShapeError without a dimension, or if the number of pieces does not divide its size.
    Example:
        >>> torch.hsplit(torch.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1],
                [3]]), tensor([[2],
                [4]]))
    """
    return _split_along("hsplit", input, indices_or_sections, 1, 0 if len(input.shape) == 1 else 1)


def _vsplit_samples() -> Iterator[Sample]:
    yield Sample((Array((4, 2)), 2))
    yield Sample((Array((3, 2), layout="transposed"), (1,)))


def _vsplit_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4,)), 2), ShapeError, "at least 2 dimensions, but got a tensor with 1")
    yield ErrorSample((Array((3, 2)), 2), ShapeError, "dimension 0, but the size of the dimension 3 .* split_size 2")


@composite(
    samples=_vsplit_samples, errors=_vsplit_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names=_NAMES_OF_CUTS,
)  # fmt: skip
def vsplit(input: Operand, indices_or_sections: Any) -> Any:
    """Views of pieces of dimension 0 of a tensor with at least two: equal ones, or those between positions.

    Host:   returns at once.
    Raises: ShapeError for fewer dimensions, or if the number of pieces does not divide the size.
    Example:
        >>> torch.vsplit(torch.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _split_along("vsplit", input, indices_or_sections, 2, 0)


def _dsplit_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 2, 4)), 2))
    yield Sample((Array((2, 2, 4)), (1, 2)))


def _dsplit_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((4, 2)), 2), ShapeError, "at least 3 dimensions, but got a tensor with 2")


@composite(
    samples=_dsplit_samples, errors=_dsplit_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True,
    other_names=_NAMES_OF_CUTS,
)  # fmt: skip
def dsplit(input: Operand, indices_or_sections: Any) -> Any:
    """Views of pieces of dimension 2 of a tensor with at least three: equal ones, or those between positions.

    Host:   returns at once.
    Raises: ShapeError for fewer dimensions, or if the number of pieces does not divide the size.
    Example:
        >>> [piece.shape for piece in torch.dsplit(torch.zeros(2, 3, 4), 2)]
        [torch.Size([2, 3, 2]), torch.Size([2, 3, 2])]
    """
    return _split_along("dsplit", input, indices_or_sections, 3, 2)


def _sizes_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 2)), (2, 3)))
    yield Sample((Array((2, 5)), (0, 1, 4), -1))


def _sizes_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), (1, 1)), ShapeError, r"sum to 3, .* \[1, 1\]")
    yield from (ErrorSample((*each.args[:1], (1, 2), each.args[1]), each.error, each.match) for each in bad_dims())


@composite(samples=_sizes_samples, errors=_sizes_errors, dtypes=dtypes.ALL, takes_out=False, gives_views=True)
def split_with_sizes(input: Operand, split_sizes: Any, dim: int = 0) -> Any:
    """Views of consecutive pieces of a dimension, of the listed sizes.

    Host:   returns at once.
    Raises: IndexRangeError if the dimension is out of range, ShapeError if the sizes do not sum to its size.
    Example:
        >>> torch.split_with_sizes(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return split(input, _listed("split_with_sizes", split_sizes), dim)


def _listed(name: str, sizes: Any) -> list[int]:
    if hasattr(sizes, "__index__") or isinstance(sizes, str):
        raise ArgumentTypeError(f"split_sizes must be ints, got {shown(sizes)}", hint="as in (1, 4)", operator=name)
    return st.as_ints(sizes)


def _unsafe_samples() -> Iterator[Sample]:
    yield Sample((Array((5, 2)), 2))
    yield Sample((Array((2, 5)), 2, 1))


def _unsafe_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ShapeError, "split_size 0 .* size 3")


@composite(samples=_unsafe_samples, errors=_unsafe_errors, dtypes=dtypes.ALL, takes_out=False)
def unsafe_split(input: Operand, split_size: int, dim: int = 0) -> Any:
    """As `split`, for pieces that may be written in place in a graph.

    Host: returns at once.
    Example:
        >>> torch.unsafe_split(torch.arange(4), 3)
        (tensor([0, 1, 2]), tensor([3]))
    """
    at, total = sized(input, dim, "unsafe_split")
    if split_size < 0 or split_size == 0 != total:
        raise ShapeError(
            f"split_size {split_size} cannot divide dimension {at} of size {total}",
            hint="use a size of 1 or more",
            operator="unsafe_split",
        )
    return _cuts(input, range(split_size, total, split_size) if split_size else (), at)


def _unsafe_chunk_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0), ShapeError, "greater than 0, got 0")


@composite(samples=_unsafe_samples, errors=_unsafe_chunk_errors, dtypes=dtypes.ALL, takes_out=False)
def unsafe_chunk(input: Operand, chunks: int, dim: int = 0) -> Any:
    """As `chunk`, for pieces that may be written in place in a graph.

    Host: returns at once.
    Example:
        >>> torch.unsafe_chunk(torch.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    if chunks <= 0:
        raise ShapeError(
            f"the number of chunks must be greater than 0, got {chunks}",
            hint="1 gives the whole tensor",
            operator="unsafe_chunk",
        )
    at, total = sized(input, dim, "unsafe_chunk")
    if not total:
        return _cuts(input, (0,) * (chunks - 1), at)
    return unsafe_split(input, -(-total // chunks), dim)


@composite(samples=_sizes_samples, errors=_sizes_errors, dtypes=dtypes.ALL, takes_out=False)
def unsafe_split_with_sizes(input: Operand, split_sizes: Any, dim: int = 0) -> Any:
    """As `split_with_sizes`, for pieces that may be written in place in a graph.

    Host: returns at once.
    Example:
        >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
        (tensor([0]), tensor([1, 2]))
    """
    at, total = sized(input, dim, "unsafe_split_with_sizes")
    sizes = _listed("unsafe_split_with_sizes", split_sizes)
    if sum(sizes) != total or any(size < 0 for size in sizes):
        raise ShapeError(
            f"the sizes must sum to {total}, the size of dimension {at}, but got {sizes}",
            hint=f"they sum to {sum(sizes)}; none may be negative",
            operator="unsafe_split_with_sizes",
        )
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
    return tuple([slice_(input, at, end - size, end) for size, end in zip(sizes, ends)])

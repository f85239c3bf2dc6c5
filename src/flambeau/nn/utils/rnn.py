"""torch.nn.utils.rnn: sequences of several lengths, padded or packed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from ...core.tensor import TensorBase
from ...dtypes import int64
from ...errors import ArgumentError, ArgumentTypeError, ShapeError, ValueRangeError, naming, shown
from ...errors import no_attribute as _no_attribute
from ...host import np
from ...importer import listing as _listing
from ...ops.operator import REGISTRY
from ...tensor import checks, factories


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """Sequences of several lengths without padding: the first elements of all, then the second ones, and so on.

    `pack_sequence` and `pack_padded_sequence` return it.
    data: the elements.  batch_sizes: how many sequences have a first, second, ... element, on the CPU.
    sorted_indices: the indices of the sequences, longest first.  unsorted_indices: the inverse permutation.  Both are
    None if the sequences were given in this order.
    Shapes: data [elements of all sequences, *]; batch_sizes [longest length]; the indices [sequences].
    Raises: ArgumentTypeError for data or batch_sizes that are not tensors, ArgumentError for batch_sizes on a GPU.
    Example:
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (tuple, list)) or len(data) != 2:
                raise ArgumentTypeError(
                    f"batch_sizes is missing, and data is not a pair (data, batch_sizes): {shown(data)}",
                    hint="make it with pack_sequence",
                    operator=cls.__name__,
                )
            data, batch_sizes = data
        for what, tensor in (("data", data), ("batch_sizes", batch_sizes)):
            checks.tensor(cls.__name__, what, tensor)
        if batch_sizes.is_cuda:
            raise ArgumentError(
                "batch_sizes should always be on CPU", hint="make it with pack_sequence", operator=cls.__name__
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Return the packed sequences on another device or with another dtype; the arguments are those of Tensor.to.

        The same object is returned if nothing changes.
        batch_sizes stays on the CPU; sorted_indices and unsorted_indices move with the data.
        Raises: DeviceNameError for an invalid device name, DeviceIndexError for a device that does not exist,
                ArgumentTypeError for other arguments.
        Example:
            >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
            >>> packed.to("cuda", torch.float32).data
            tensor([1., 3., 2.], device='cuda:0')
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order = [None if indices is None else indices.to(data.device) for indices in self[2:]]
        return type(self)(data, self.batch_sizes, *order)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Return the packed sequences on a CUDA device, by default the current one.

        Other arguments are those of Tensor.to.
        Raises: DeviceNameError for an invalid device name, DeviceIndexError for a device that does not exist,
                NoDeviceError without a GPU, OutOfMemoryError if the device has no memory left.
        Example:
            >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
            >>> packed.cuda().data.device
            device(type='cuda', index=0)
        """
        return self.to(*(args or (kwargs.pop("device", "cuda"),)), **kwargs)

    def cpu(self) -> Self:
        """Return the packed sequences on the CPU.

        Example:
            >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
            >>> packed.cuda().cpu().data
            tensor([1, 3, 2])
        """
        return self.to("cpu")

    def pin_memory(self) -> Self:
        """Return a copy in pinned memory, from which copies to a GPU are asynchronous.

        Raises: NoDeviceError without a GPU.
        Example:
            >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
            >>> packed.pin_memory().is_pinned()
            True
        """
        order = [None if indices is None else indices.pin_memory() for indices in self[2:]]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *order)

    def double(self) -> Self:
        """Return the packed sequences with their data converted to float64.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).double().data.dtype
            torch.float64
        """
        return self._as(self.data.double())

    def float(self) -> Self:
        """Return the packed sequences with their data converted to float32.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).float().data.dtype
            torch.float32
        """
        return self._as(self.data.float())

    def half(self) -> Self:
        """Return the packed sequences with their data converted to float16.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).half().data.dtype
            torch.float16
        """
        return self._as(self.data.half())

    def long(self) -> Self:
        """Return the packed sequences with their data converted to int64.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, 2.0])]).long().data
            tensor([1, 2])
        """
        return self._as(self.data.long())

    def int(self) -> Self:
        """Return the packed sequences with their data converted to int32.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, 2.0])]).int().data
            tensor([1, 2], dtype=torch.int32)
        """
        return self._as(self.data.int())

    def short(self) -> Self:
        """Return the packed sequences with their data converted to int16.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, 2.0])]).short().data
            tensor([1, 2], dtype=torch.int16)
        """
        return self._as(self.data.short())

    def char(self) -> Self:
        """Return the packed sequences with their data converted to int8.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, 2.0])]).char().data
            tensor([1, 2], dtype=torch.int8)
        """
        return self._as(self.data.char())

    def byte(self) -> Self:
        """Return the packed sequences with their data converted to uint8.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, 2.0])]).byte().data
            tensor([1, 2], dtype=torch.uint8)
        """
        return self._as(self.data.byte())

    def _as(self, data: Any) -> Self:
        return type(self)(data, *self[1:])

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Return whether the data is in pinned memory.

        Example:
            >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).is_pinned()
            False
        """
        return bool(self.data.is_pinned())


def invert_permutation(permutation: Any) -> Any:
    """Return the inverse of a permutation, or None if it is None.

    Shapes: [n]; the result [n].
    Raises: ArgumentTypeError for an argument that is not a tensor, DtypeError for one that is not of integers,
            IndexRangeError for an entry outside [0, n) on the CPU (a device-side assert on a GPU).
    Example:
        >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    checks.tensor("invert_permutation", "permutation", permutation)
    places = factories.arange(permutation.numel(), device=permutation.device)
    with naming("invert_permutation"):
        return permutation.new_zeros(permutation.shape).scatter(0, permutation, places)


def _places(lengths: Any, total: int, device: Any) -> Any:
    """Return the positions, in [total * batch], of the elements that are not padding, one time after another."""
    is_there = lengths[None, :] > np.arange(total)[:, None]
    return factories.from_numpy(np.flatnonzero(is_there)).to(device)


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Return a batch of padded sequences as a PackedSequence, without the padding.

    lengths: the length of each sequence, as a list or a tensor.
    enforce_sorted: True requires that the lengths do not increase.  False sorts the sequences by length; the result
    remembers their order.
    Shapes: input [t, n, *], or [n, t, *] with batch_first, for n sequences padded to length t.
    Host:   waits if the lengths are on a GPU.
    Raises: ShapeError for lengths that do not fit, ValueRangeError for lengths below 1 or not sorted, ArgumentTypeError
            for arguments of a wrong type.
    Example:
        >>> padded = torch.tensor([[1, 2, 3], [4, 5, 0]])
        >>> torch.nn.utils.rnn.pack_padded_sequence(padded, [3, 2], batch_first=True).data
        tensor([1, 4, 2, 5, 3])
    """
    name = "pack_padded_sequence"
    checks.tensor(name, "input", input)
    if input.ndim < 2:
        raise ShapeError(
            f"input must have at least 2 dimensions, got {list(input.shape)}",
            hint="the shape is [t, n, *]",
            operator=name,
        )
    if not isinstance(lengths, TensorBase):
        lengths = factories.tensor(checks.listed(name, "lengths", "numbers", lengths))
    values = lengths.cpu()
    sizes = values.to(int64)
    order = None
    if not enforce_sorted:
        sizes, order = sizes.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    numbers = sizes.numpy()
    padded = input.transpose(0, 1) if batch_first else input
    total, batch = padded.shape[:2]
    if numbers.shape != (batch,):
        raise ShapeError(
            f"expected {batch} lengths for input {list(input.shape)}, got {list(numbers.shape)}",
            hint="pass one length for each sequence; batch_first=True makes dimension 0 the batch",
            operator=name,
        )
    if batch == 0 or numbers.min() <= 0 or (np.diff(numbers) > 0).any() or numbers[0] > total:
        raise ValueRangeError(
            f"lengths must be at least 1, at most {total} and must not increase, got {numbers.tolist()}",
            hint="pass enforce_sorted=False for lengths in another order",
            operator=name,
        )
    total = int(numbers[0])
    counts = (numbers[None, :] > np.arange(total)[:, None]).sum(1)
    flat = padded[:total].reshape(total * batch, *padded.shape[2:])
    data = flat.index_select(0, _places(numbers, total, input.device))
    return PackedSequence(data, factories.from_numpy(counts.astype(np.int64)), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Return (padded sequences, their lengths) of a PackedSequence, in the order in which they were packed.

    total_length: the length to pad to; None pads to the length of the longest sequence.
    Shapes: the padded sequences are [t, n, *], or [n, t, *] with batch_first, for n sequences padded to length t.
    Raises: ArgumentError if total_length is less than a length, ArgumentTypeError for an argument that is not a
            PackedSequence.
    Example:
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
        >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 5, 0]]), tensor([3, 2]))
    """
    if not isinstance(sequence, tuple) or len(sequence) != 4:
        raise ArgumentTypeError(
            f"sequence must be a PackedSequence, got {shown(sequence)}",
            hint="make one with pack_sequence",
            operator="pad_packed_sequence",
        )
    data, batch_sizes, _, unsorted = sequence
    counts = batch_sizes.numpy()
    longest = len(counts)
    total = longest if total_length is None else total_length
    if total < longest:
        raise ArgumentError(
            f"expected total_length to be at least the length of the longest sequence, {longest}, got {total}",
            hint="leave it out",
            operator="pad_packed_sequence",
        )
    batch = int(counts[0])
    lengths = (counts[:, None] > np.arange(batch)[None, :]).sum(0)
    blank = data.new_full((total * batch, *data.shape[1:]), padding_value)
    padded = blank.index_copy(0, _places(lengths, longest, data.device), data)
    padded = padded.reshape(total, batch, *data.shape[1:])
    sizes = factories.from_numpy(lengths.astype(np.int64))
    padded = padded.transpose(0, 1) if batch_first else padded
    if unsorted is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted)
        sizes = sizes.index_select(0, unsorted.cpu())
    return padded, sizes


def pad_sequence(
    sequences: Iterable[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Stack sequences of several lengths, padded to the length of the longest.

    padding_side: "right" pads after each sequence, "left" before it.  The result has the dtype of the first sequence.
    Shapes: sequence i is [t_i, *]; the result is [t, n, *], or [n, t, *] with batch_first, for n sequences and the
            longest length t.
    Raises: ArgumentTypeError for entries that are not tensors or a padding_value that is not a number, ValueRangeError
            for any other padding_side or no sequences, ShapeError if the other dimensions differ or there are none.
    Example:
        >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
        tensor([[1, 2],
                [3, 0]])
    """
    if isinstance(sequences, TensorBase):
        sequences = sequences.unbind(0)
    given = checks.tensors("pad_sequence", "sequences", sequences)
    checks.number("pad_sequence", "padding_value", padding_value)
    if padding_side not in ("right", "left"):
        raise ValueRangeError(
            f"padding_side should be 'right' or 'left', got {shown(padding_side)}",
            hint="use 'right' to pad after the end of each sequence, 'left' to pad before its start",
            operator="pad_sequence",
        )
    if not given:
        raise ValueRangeError("sequences is empty", hint="give at least one", operator="pad_sequence")
    kind = given[0].dtype
    for sequence in given:
        if not sequence.ndim:
            raise ShapeError(
                "sequences must have at least 1 dimension, got a tensor without dimensions",
                hint="pass sequences whose first dimension is time",
                operator="pad_sequence",
            )
    total = max(sequence.shape[0] for sequence in given)
    pad = REGISTRY["padded"]
    padded = []
    for sequence in given:
        lacking = total - sequence.shape[0]
        ends = (lacking, 0) if padding_side == "left" else (0, lacking)
        pads = (ends, *[(0, 0)] * (sequence.ndim - 1))
        sequence = sequence.to(kind)
        padded.append(pad(sequence, pads, "constant", padding_value) if lacking else sequence)
    with naming("pad_sequence"):
        return REGISTRY["stack"](padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """Return copies of the sequences without their padding.

    Shapes: padded_sequences [t, n, *], or [n, t, *] with batch_first; the results [lengths[i], *].
    Host:   waits if the lengths are on a GPU.
    Raises: ArgumentTypeError for arguments that are not tensors, ShapeError unless there is one length for each
            sequence.
    Example:
        >>> padded = torch.tensor([[1, 2, 3], [4, 5, 0]])
        >>> torch.nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 2]), batch_first=True)
        [tensor([1, 2, 3]), tensor([4, 5])]
    """
    checks.tensor("unpad_sequence", "padded_sequences", padded_sequences)
    checks.tensor("unpad_sequence", "lengths", lengths)
    if padded_sequences.ndim < 2 or tuple(lengths.shape) != (padded_sequences.shape[0 if batch_first else 1],):
        raise ShapeError(
            f"padded_sequences {list(padded_sequences.shape)} and lengths {list(lengths.shape)} do not fit",
            hint="pass one length for each sequence; batch_first=True makes dimension 0 the batch",
            operator="unpad_sequence",
        )
    whole = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[: int(length)].clone() for sequence, length in zip(whole.unbind(0), lengths.tolist())]


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Return a list of sequences of several lengths as a PackedSequence.

    enforce_sorted: True requires that the lengths do not increase.  False sorts the sequences by length; the result
    remembers their order.
    Shapes: sequence i is [t_i, *], with its length t_i.
    Raises: ValueRangeError for lengths below 1 or not sorted, ArgumentTypeError for entries that are not tensors.
    Example:
        >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1]), torch.tensor([2, 3])], enforce_sorted=False).data
        tensor([2, 1, 3])
    """
    given = checks.tensors("pack_sequence", "sequences", sequences)
    return pack_padded_sequence(
        pad_sequence(given), [len(sequence) for sequence in given], enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """Return the list of sequences that a PackedSequence holds.

    Shapes: the results are [lengths[i], *].
    Host:   waits for the lengths.
    Raises: ArgumentTypeError for an argument that is not a PackedSequence.
    Example:
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
        >>> torch.nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2]), tensor([3])]
    """
    if not isinstance(packed_sequences, PackedSequence):
        raise ArgumentTypeError(
            f"packed_sequences must be a PackedSequence, got {shown(packed_sequences)}",
            hint="make one with pack_sequence",
            operator="unpack_sequence",
        )
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)

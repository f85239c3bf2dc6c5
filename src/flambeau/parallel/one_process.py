"""torch.cuda.nccl: collectives of one process over tensors on several GPUs, one tensor per GPU.

They are copies between the GPUs, and reductions on one of them in the order of the inputs.  NCCL is not used, so
results repeat exactly.  Each GPU's work runs on its current stream, or on the stream given for it.  Nothing is recorded
for autograd.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..autograd.mode import GradMode
from ..core import thread
from ..core.tensor import TensorBase
from ..driver import nccl_unique_id, nccl_version
from ..errors import NotSupportedError, ValueRangeError, shown
from ..ops.operator import REGISTRY
from ..runtime.stream import StreamGuard
from ..tensor import checks
from .comm import CollectiveError, chosen_streams, to_index

MODELLED_VERSION = (2, 28, 9)  # version on virtual GPUs if NCCL is not installed
UNIQUE_ID_BYTES = 128
SUM, PRODUCT, MAX, MIN, AVG = range(5)  # ncclRedOp_t
FUNCTIONS = {SUM: "add", PRODUCT: "mul", MAX: "maximum", MIN: "minimum", AVG: "add"}


def _is_virtual() -> bool:
    return thread.machine().choice.kind == "virtual"


def version() -> tuple[int, int, int]:
    """Return NCCL's version; on virtual GPUs without NCCL, the version that they model.

    Raises: NotSupportedError if there is neither NCCL nor a virtual GPU.
    Example:
        >>> torch.cuda.nccl.version() >= (2, 20, 0)
        True
    """
    numbers = nccl_version() or (MODELLED_VERSION if _is_virtual() else None)
    if numbers is None:
        raise _no_nccl("version")
    return numbers


def _no_nccl(name: str) -> NotSupportedError:
    return NotSupportedError("NCCL was not found", hint='pip install "nvidia-nccl-cu13"', operator=name)


def unique_id() -> bytes:
    """Return the id of a new communicator, for other libraries that use NCCL; on virtual GPUs, 128 random bytes.

    Raises: NotSupportedError if there is neither NCCL nor a virtual GPU.
    Example:
        >>> len(torch.cuda.nccl.unique_id())
        128
    """
    if _is_virtual():
        return os.urandom(UNIQUE_ID_BYTES)
    identifier = nccl_unique_id()
    if identifier is None:
        raise _no_nccl("unique_id")
    return identifier


def is_available(tensors: Any) -> bool:
    """Return whether the functions of this module accept these tensors: contiguous, and each on a different GPU.

    Warns: if there is neither NCCL nor a virtual GPU.
    Raises: ArgumentTypeError unless `tensors` is a list of tensors.
    Example:
        >>> x = torch.ones(2, device="cuda:0")
        >>> torch.cuda.nccl.is_available([x, x.to("cuda:1")]), torch.cuda.nccl.is_available([x, x])
        (True, False)
    """
    if not _is_virtual() and nccl_version() is None:
        warnings.warn("NCCL was not found", stacklevel=2)
        return False
    checked = checks.tensors("is_available", "tensors", tensors)
    devices = {tensor.device_index for tensor in checked}
    return len(devices) == len(checked) and all(tensor.is_cuda and tensor.is_contiguous() for tensor in checked)


@contextmanager
def _on_streams(name: str, inputs: Sequence[TensorBase], streams: Any, comms: Any) -> Iterator[None]:
    """Make the given streams current on the inputs' devices, and disable gradients."""
    if comms is not None:
        raise NotSupportedError(
            f"comms is {shown(comms)}, but NCCL communicators cannot be passed", hint="leave comms out", operator=name
        )
    chosen = chosen_streams(name, streams, [tensor.device_index for tensor in inputs])
    with ExitStack() as stack:
        stack.enter_context(GradMode(False))
        for stream in chosen:
            stack.enter_context(StreamGuard(stream))
        yield


def _inputs(name: str, inputs: Any) -> tuple[Any, ...]:
    """Check that the inputs have one type and size, and are each on a different GPU."""
    tensors = checks.tensors(name, "inputs", inputs)
    if not tensors:
        raise CollectiveError("got no tensors", hint="give one per GPU", operator=name)
    _check_places(name, "inputs", tensors)
    for index, tensor in enumerate(tensors):
        if tensor.dtype is not tensors[0].dtype or tensor.numel() != tensors[0].numel():
            raise CollectiveError(
                f"inputs[{index}] is {tensor.describe()}, which does not match inputs[0], {tensors[0].describe()}",
                hint="all inputs must have the same type and number of elements",
                operator=name,
            )
    return tensors


def _check_places(name: str, what: str, tensors: Sequence[Any]) -> None:
    for index, tensor in enumerate(tensors):
        if not tensor.is_cuda or not tensor.is_contiguous():
            raise CollectiveError(
                f"{what}[{index}] must be contiguous and on a GPU, got {tensor.describe()} with strides "
                f"{tuple(tensor.strides)}",
                hint="use contiguous tensors on GPUs",
                operator=name,
            )
    devices = [tensor.device_index for tensor in tensors]
    if len(set(devices)) < len(devices):
        raise CollectiveError(
            f"{what} must each be on a different GPU, and are on {', '.join(str(tensor.device) for tensor in tensors)}",
            hint="pass each tensor on a different GPU",
            operator=name,
        )


def _outputs(name: str, inputs: Sequence[Any], outputs: Any, times: int, parts: int) -> tuple[Any, ...]:
    """Check that each input's GPU has one output, with `times` / `parts` of the input's number of elements."""
    tensors = checks.tensors(name, "outputs", outputs)
    if len(tensors) != len(inputs):
        raise CollectiveError(
            f"got {len(inputs)} inputs and {len(tensors)} outputs", hint="give one output per input", operator=name
        )
    _check_places(name, "outputs", tensors)
    for index, (tensor, source) in enumerate(zip(tensors, inputs)):
        is_fitting = tensor.numel() * parts == source.numel() * times and tensor.dtype is source.dtype
        if not is_fitting or tensor.device_index != source.device_index:
            raise CollectiveError(
                f"outputs[{index}] is {tensor.describe()}, and inputs[{index}] is {source.describe()}",
                hint=f"an output has {times} of {parts} times the input's elements, its type and its GPU"
                if times != parts
                else "an output has the input's elements, type and GPU",
                operator=name,
            )
    return tensors


def _operator(name: str, op: Any) -> str:
    if isinstance(op, bool) or op not in FUNCTIONS:
        raise ValueRangeError(
            f"op must be an int from 0 to 4, got {shown(op)}",
            hint="0 to 4 mean sum, product, maximum, minimum and average",
            operator=name,
        )
    return FUNCTIONS[op]


def _root(name: str, root: Any, count: int) -> int:
    if isinstance(root, bool) or not isinstance(root, int) or not 0 <= root < count:
        raise ValueRangeError(
            f"root must be an index of the {count} inputs, got {shown(root)}",
            hint=f"pass 0 to {count - 1}",
            operator=name,
        )
    return root


def _reduced(parts: Sequence[Any], op: int, device: int) -> Any:
    """Reduce vectors of several GPUs on one of them, in the order of the list."""
    total = to_index(parts[0], device)
    for part in parts[1:]:
        total = REGISTRY[FUNCTIONS[op]](total, to_index(part, device))
    if op == AVG:
        mode = None if total.is_floating_point() or total.is_complex() else "trunc"
        total = REGISTRY["div"](total, len(parts), rounding_mode=mode)
    return total


def _flat(tensors: Sequence[Any]) -> list[Any]:
    return [tensor.detach().reshape(-1) for tensor in tensors]


def all_reduce(inputs: Any, outputs: Any = None, op: int = SUM, streams: Any = None, comms: Any = None) -> None:
    """Reduce tensors of several GPUs; write the result on each GPU.

    inputs: a list with one tensor for each GPU.  outputs: tensors to write; the inputs if None.
    op: 0 to 4 for sum, product, maximum, minimum, average.  streams: one per input, or None for the current ones.
    Shapes: all inputs and outputs have the same number of elements.
    Host:   returns at once.
    Raises: ArgumentTypeError unless inputs is a list of tensors; CollectiveError (RuntimeError) for no tensors, and for
            tensors on the CPU, on the same GPU, with gaps, or of different sizes or types; ValueRangeError for an
            unknown `op`; NotSupportedError if `comms` is given.
    Example:
        >>> parts = [torch.full((2,), float(index + 1), device=f"cuda:{index}") for index in range(2)]
        >>> torch.cuda.nccl.all_reduce(parts)
        >>> parts
        [tensor([3., 3.], device='cuda:0'), tensor([3., 3.], device='cuda:1')]
    """
    name = "all_reduce"
    tensors = _inputs(name, inputs)
    written = tensors if outputs is None else _outputs(name, tensors, outputs, 1, 1)
    _operator(name, op)
    with _on_streams(name, tensors, streams, comms):
        total = _reduced(_flat(tensors), op, tensors[0].device_index)
        for output in written:
            output.copy_(total.reshape(output.shape), non_blocking=True)


def reduce(
    inputs: Any,
    output: Any = None,
    root: int = 0,
    op: int = SUM,
    streams: Any = None,
    comms: Any = None,
    *,
    outputs: Any = None,
) -> None:
    """Reduce tensors of several GPUs; write the result on the GPU of inputs[root].

    output: the tensor to write, inputs[root] if None.  A list, here or as `outputs`, is deprecated: its entry `root` is
    written.  op, streams: as in `all_reduce`.
    Shapes: all inputs and the output have the same number of elements.
    Host:   returns at once.
    Raises: as all_reduce; ValueRangeError for a root that is not an input; CollectiveError for outputs that do not fit.
    Example:
        >>> parts = [torch.full((2,), float(index + 1), device=f"cuda:{index}") for index in range(2)]
        >>> torch.cuda.nccl.reduce(parts, root=1)
        >>> parts
        [tensor([1., 1.], device='cuda:0'), tensor([3., 3.], device='cuda:1')]
    """
    name = "reduce"
    tensors = _inputs(name, inputs)
    index = _root(name, root, len(tensors))
    if outputs is not None and output is not None:
        raise CollectiveError("got both output and outputs", hint="pass output alone", operator=name)
    listed = output if outputs is None else outputs
    if listed is not None and not isinstance(listed, TensorBase):
        warnings.warn("nccl.reduce: a list of outputs is deprecated, pass output", FutureWarning, stacklevel=2)
        output = checks.tensors(name, "outputs", listed)[index]
    target = tensors[index] if output is None else _outputs(name, [tensors[index]], [output], 1, 1)[0]
    _operator(name, op)
    with _on_streams(name, tensors, streams, comms):
        total = _reduced(_flat(tensors), op, target.device_index)
        target.copy_(total.reshape(target.shape), non_blocking=True)


def broadcast(inputs: Any, root: int = 0, streams: Any = None, comms: Any = None) -> None:
    """Copy inputs[root] into the tensors of the other GPUs.

    inputs: a list with one tensor for each GPU.  streams: as in `all_reduce`.
    Shapes: all tensors have the same number of elements.
    Host:   returns at once.
    Raises: as all_reduce; ValueRangeError for a root that is not an input.
    Example:
        >>> parts = [torch.full((2,), float(index + 1), device=f"cuda:{index}") for index in range(2)]
        >>> torch.cuda.nccl.broadcast(parts, root=1)
        >>> parts
        [tensor([2., 2.], device='cuda:0'), tensor([2., 2.], device='cuda:1')]
    """
    name = "broadcast"
    tensors = _inputs(name, inputs)
    source = tensors[_root(name, root, len(tensors))]
    with _on_streams(name, tensors, streams, comms):
        for tensor in tensors:
            if tensor is not source:
                tensor.copy_(source.detach().reshape(tensor.shape), non_blocking=True)


def all_gather(inputs: Any, outputs: Any, streams: Any = None, comms: Any = None) -> None:
    """Concatenate the tensors of all GPUs, and write the result into an output on each GPU.

    inputs, outputs: lists with one tensor for each GPU.  streams: as in `all_reduce`.
    Shapes: an output has len(inputs) times the elements of an input.
    Host:   returns at once.
    Raises: as all_reduce.
    Example:
        >>> parts = [torch.full((1,), float(index + 1), device=f"cuda:{index}") for index in range(2)]
        >>> wholes = [torch.zeros(2, device=f"cuda:{index}") for index in range(2)]
        >>> torch.cuda.nccl.all_gather(parts, wholes)
        >>> wholes
        [tensor([1., 2.], device='cuda:0'), tensor([1., 2.], device='cuda:1')]
    """
    name = "all_gather"
    tensors = _inputs(name, inputs)
    written = _outputs(name, tensors, outputs, len(tensors), 1)
    with _on_streams(name, tensors, streams, comms):
        sources = _flat(tensors)
        for whole in _flat(written):
            for part, source in zip(whole.chunk(len(tensors)), sources):
                part.copy_(source, non_blocking=True)


def reduce_scatter(inputs: Any, outputs: Any, op: int = SUM, streams: Any = None, comms: Any = None) -> None:
    """Reduce tensors of several GPUs; write part i of the result into outputs[i].

    inputs, outputs: lists with one tensor for each GPU.  op, streams: as in `all_reduce`.
    Shapes: an input has len(inputs) times the elements of an output.
    Host:   returns at once.
    Raises: as all_reduce.
    Example:
        >>> wholes = [torch.arange(2.0, device=f"cuda:{index}") for index in range(2)]
        >>> parts = [torch.zeros(1, device=f"cuda:{index}") for index in range(2)]
        >>> torch.cuda.nccl.reduce_scatter(wholes, parts)
        >>> parts
        [tensor([0.], device='cuda:0'), tensor([2.], device='cuda:1')]
    """
    name = "reduce_scatter"
    tensors = _inputs(name, inputs)
    written = _outputs(name, tensors, outputs, 1, len(tensors))
    _operator(name, op)
    with _on_streams(name, tensors, streams, comms):
        rows = [tensor.chunk(len(tensors)) for tensor in _flat(tensors)]
        for index, output in enumerate(written):
            total = _reduced([row[index] for row in rows], op, output.device_index)
            output.copy_(total.reshape(output.shape), non_blocking=True)

"""Virtual GPUs with `values=no`: values that are not computed, and the values that the host reads instead.

- A copy to the host gives 1, 1.0 or True, and warns once per line of the program.
- A check inside an operator, which reads a bool, passes.
- An operator that needs any other value, for example for the shape of its result, raises NotSupportedError.

So that a large model can be made on the CPU and moved, `leave_out_host_values` leaves out values there, too.  Storages
of more than LARGE bytes have no values, and their memory is not written, after random numbers were drawn into them or
after a copy from a GPU.  A function of them does not run, and its large results have no values either; small results
hold 1.  Reading such values gives the same as reading from a GPU.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from . import callers, host
from .config import VALUES_HINT
from .core import thread
from .core.hooks import subscribe, unsubscribe
from .core.host_calls import HostDraw
from .core.queue import hooks
from .core.storage import Storage
from .core.tensor import TensorBase, array_of
from .dtypes import bool_, dtype
from .errors import NotSupportedError
from .kernel import Access

LARGE = 1 << 20  # bytes
MAX_READS = 50_000  # the most reads of uncomputed values by one line
WARNING = "a value is read here that was not computed: it is taken as 1"


def computes() -> bool:
    """Return whether the values of the machine's tensors are computed."""
    if _left_out is not None:
        return False
    machine = thread.machine()
    return not machine.is_started or machine.driver.capabilities.computes


def stand_in(target: TensorBase, source: TensorBase) -> None:
    """Fill a host tensor, the target of a copy of `source`, with the values that are read instead.

    Raises: NotSupportedError if an operator needs the values.
    """
    note_read(source.dtype, source.describe())
    if _left_out is not None and target._storage.nbytes > LARGE:
        _left_out.add(target._storage)
    else:
        array_of(target)[...] = 1


def is_set(flag: Any) -> bool:
    """Return whether a flag, a tensor of one number, is not 0.  An uncomputed flag is 0, without a warning.

    Host: waits.
    """
    return bool(numbers_of(flag, 0))


def numbers_of(tensor: Any, otherwise: Any) -> Any:
    """Return `tensor.tolist()`, or `otherwise` if values are not computed, without a warning.  Host: waits."""
    if computes():
        return tensor.tolist()
    _thread.reads_flag = True
    try:
        tensor.tolist()
    finally:
        _thread.reads_flag = False
    return otherwise


_thread = threading.local()  # reads_flag: whether the value read is ignored;  makes_batch: see sample_arrays


def sample_arrays(tensors: Iterable[TensorBase]) -> list[Any]:
    """Return the arrays of host tensors to copy into a batch; uncomputed elements have arbitrary values."""
    if hooks.on_host_read is None:
        return list(map(array_of, tensors))
    _thread.makes_batch = True
    try:
        return [tensor.array() for tensor in tensors]
    finally:
        _thread.makes_batch = False


def note_read(of: dtype, what: str) -> None:
    """Warn that uncomputed values are read.  what: describes the tensor.

    Raises: NotSupportedError if an operator needs the values, or if one line reads values so often that it seems to
            wait for a change.
    """
    if getattr(_thread, "reads_flag", False):
        return
    operator = callers.here().operator
    if operator is not None:
        if of is bool_:  # a check, which passes
            return
        raise NotSupportedError(
            f"the result depends on the values of {what}, which are not computed; called at {callers.call_site()}",
            hint=VALUES_HINT,
            operator=str(operator.called),
        )
    site = callers.call_site()
    _reads[site] = count = _reads.get(site, 0) + 1
    if count > MAX_READS:
        raise NotSupportedError(
            f"{callers.shown_site(site)} has read values that are not computed {MAX_READS} times: "
            "it may be a loop that awaits one",
            hint=VALUES_HINT,
        )
    callers.warn(WARNING)


_reads: dict[str, int] = {}  # number of reads by line of the program


def has_read() -> bool:
    """Return whether the program has read a value that is not computed."""
    return bool(_reads)


class LeftOut:
    """Host storages whose values are not computed."""

    def __init__(self) -> None:
        from sortedcontainers import SortedDict  # not needed to import flambeau

        self._storages: SortedDict[int, weakref.ref[Storage]] = SortedDict()  # by address

    def add(self, storage: Storage) -> None:
        address = storage.address()
        storages = self._storages

        def forget(reference: weakref.ref[Storage]) -> None:
            if storages.get(address) is reference:
                del storages[address]

        storages[address] = weakref.ref(storage, forget)

    def around(self, address: int) -> Storage | None:
        """Return the storage without values that contains an address."""
        for low in self._storages.irange(maximum=address, reverse=True):
            reference = self._storages.get(low)  # its storage may have been freed meanwhile
            storage = None if reference is None else reference()
            return storage if storage is not None and address < low + storage.nbytes else None
        return None

    def instead_of_call(self, step: Any, accesses: Sequence[Any], operands: Sequence[Any]) -> bool:
        """Keep a function from running if it would fill large memory at random, or use storages without values."""
        touched = list(_flat(accesses))
        written = [access for access in touched if access.mode != "r"]
        draws = isinstance(step, HostDraw) and any(access.nbytes > LARGE for access in written)
        if not draws and not (self._storages and any(self.around(access.address) is not None for access in touched)):
            return False
        storages = {
            tensor._storage.address(): tensor._storage for tensor in _tensors(operands) if tensor.device_index < 0
        }
        for access in written:
            held = next(
                (storage for low, storage in storages.items() if low <= access.address < low + storage.nbytes), None
            )
            if held is not None:
                self.add(held)
            if access.nbytes and (held is None or held.nbytes <= LARGE):
                host.array_at(access.address, access.dtype, access.shape, access.strides)[...] = 1
        return True

    def read(self, access: Access) -> None:
        """Set memory that Python or NumPy will read to 1.  A storage has values once a large part of it is read."""
        storage = self.around(access.address)
        if storage is None:
            return
        makes_batch = getattr(_thread, "makes_batch", False)
        if not makes_batch:
            note_read(access.dtype, f"{access.dtype.name}{list(access.shape)} on cpu")
        if access.nbytes <= LARGE:
            host.array_at(access.address, access.dtype, access.shape, access.strides)[...] = 1
        if access.nbytes <= LARGE or makes_batch:  # a batch copies a few samples, with any values
            return
        del self._storages[storage.address()]
        count = storage.nbytes // access.dtype.itemsize
        host.array_at(storage.address(), access.dtype, (count,), None)[...] = 1


_left_out: LeftOut | None = None


def leave_out_host_values(is_wanted: bool) -> None:
    """Start or stop leaving out the values of large random tensors on the CPU."""
    global _left_out
    if _left_out is not None:
        unsubscribe(on_host_call=_left_out.instead_of_call, on_host_read=_left_out.read)
    _left_out = LeftOut() if is_wanted else None
    if _left_out is not None:
        subscribe(on_host_call=_left_out.instead_of_call, on_host_read=_left_out.read)


def _flat(values: Sequence[Any]) -> Iterator[Access]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        elif isinstance(value, Access):
            yield value


def _tensors(values: Sequence[Any]) -> Iterator[TensorBase]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _tensors(value)
        elif isinstance(value, TensorBase):
            yield value

"""A stand-in for NCCL's library, and virtual GPUs that run collectives by it, as NVIDIA's do.

Processes meet in files of a folder.  A call that others do not make alike waits until its communicator is aborted.
"""

import contextlib
import os
import pickle
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from flambeau.core import thread
from flambeau.driver.api import Address, CopyKind
from flambeau.driver.nvidia import nccl
from flambeau.host import address_of

POLL = 0.002
NUMPY = {number: kind.numpy for kind, number in nccl.DATA_TYPES.items()}
FUNCTIONS = {nccl.SUM: np.add, nccl.AVG: np.add, nccl.PRODUCT: np.multiply, nccl.MAX: np.maximum, nccl.MIN: np.minimum}


class Comm:
    def __init__(self, folder, size, rank):
        self.folder, self.size, self.rank = folder, size, rank
        self.calls, self.messages = 0, {}
        self.is_aborted = threading.Event()


class FakeNccl:
    """memory: reads and writes bytes of a device.  called: names of all calls."""

    def __init__(self, folder, memory):
        self.folder, self.memory = Path(folder), memory
        self.comms, self.group, self.called = [], None, []

    def __getattr__(self, name):
        if not name.startswith("nccl"):
            raise AttributeError(name)
        call = getattr(self, f"_{name.removeprefix('nccl')}")

        def counted(*arguments):
            self.called.append(name)
            return call(*arguments) or 0

        return counted

    def _GetUniqueId(self, made):
        made._obj.internal[:] = os.urandom(nccl.UNIQUE_ID_BYTES)

    def _CommInitRank(self, made, size, unique_id, rank):
        folder = self.folder / bytes(unique_id.internal)[:16].hex()
        folder.mkdir(exist_ok=True)
        self.comms.append(Comm(folder, size, rank))
        made._obj.value = len(self.comms)

    def _CommDestroy(self, raw):
        assert not self.comms[raw - 1].is_aborted.is_set()

    def _CommAbort(self, raw):
        self.comms[raw - 1].is_aborted.set()

    def _CommGetAsyncError(self, raw, status):
        status._obj.value = 0

    def _GetErrorString(self, status):
        return b"fake error"

    def _GetLastError(self, raw):
        return b"of the stand-in"

    def _GroupStart(self):
        self.group = []

    def _GroupEnd(self):
        group, self.group = self.group, None
        for call in sorted(group, key=lambda each: each[0] == self._receive):  # what is sent first
            call[0](*call[1:])

    def _do(self, *call):
        self.group.append(call) if self.group is not None else call[0](*call[1:])

    def _AllReduce(self, source, target, count, kind, op, raw, stream):
        self._do(self._reduce, "all_reduce", source, target, count, kind, op, None, raw, stream)

    def _Reduce(self, source, target, count, kind, op, root, raw, stream):
        self._do(self._reduce, "reduce", source, target, count, kind, op, root, raw, stream)

    def _ReduceScatter(self, source, target, count, kind, op, raw, stream):
        self._do(self._reduce, "reduce_scatter", source, target, count, kind, op, None, raw, stream)

    def _Broadcast(self, source, target, count, kind, root, raw, stream):
        self._do(self._move, "broadcast", source, target, count, kind, root, raw, stream)

    def _AllGather(self, source, target, count, kind, raw, stream):
        self._do(self._move, "all_gather", source, target, count, kind, None, raw, stream)

    def _Send(self, memory, count, kind, peer, raw, stream):
        self._do(self._send, memory, count, kind, peer, raw, stream)

    def _Recv(self, memory, count, kind, peer, raw, stream):
        self._do(self._receive, memory, count, kind, peer, raw, stream)

    def _reduce(self, name, source, target, count, kind, op, root, raw, stream):
        comm, dtype = self.comms[raw - 1], NUMPY[kind]
        total = count * (comm.size if name == "reduce_scatter" else 1)
        data = self.memory.read(source, total * dtype.itemsize, stream)
        found = self._exchange(comm, (name, count, kind, op, root), data)
        if found is None or target is None or root not in (None, comm.rank):
            return
        arrays = [np.frombuffer(each, dtype) for each in found]
        result = arrays[0]
        for each in arrays[1:]:
            result = FUNCTIONS[op](result, each)
        if op == nccl.AVG:
            result = (result / comm.size).astype(dtype)
        if name == "reduce_scatter":
            result = result[comm.rank * count : (comm.rank + 1) * count]
        self.memory.write(target, result.tobytes(), stream)

    def _move(self, name, source, target, count, kind, root, raw, stream):
        comm = self.comms[raw - 1]
        data = self.memory.read(source, count, stream) if root in (None, comm.rank) else b""
        found = self._exchange(comm, (name, count, kind, root), data)
        if found is not None and root != comm.rank:
            self.memory.write(target, b"".join(found), stream)

    def _exchange(self, comm, call, data):
        """What all ranks give; None if the communicator is aborted."""
        number, comm.calls = comm.calls, comm.calls + 1
        self._put(comm, f"{number}.{comm.rank}", (call, data))
        found = [self._take(comm, f"{number}.{rank}") for rank in range(comm.size)]
        if None in found:
            return None
        if any(other != call for other, _ in found):
            comm.is_aborted.wait()
            return None
        return [data for _, data in found]

    def _send(self, memory, count, kind, peer, raw, stream):
        comm = self.comms[raw - 1]
        self._put(comm, self._message(comm, "send", comm.rank, peer), self.memory.read(memory, count, stream))

    def _receive(self, memory, count, kind, peer, raw, stream):
        comm = self.comms[raw - 1]
        data = self._take(comm, self._message(comm, "receive", peer, comm.rank))
        if data is not None and len(data) != count:
            comm.is_aborted.wait()
        elif data is not None:
            self.memory.write(memory, data, stream)

    def _message(self, comm, role, src, dst):
        key = role, src, dst
        comm.messages[key] = comm.messages.get(key, -1) + 1
        return f"{src}-{dst}.{comm.messages[key]}"

    def _put(self, comm, name, value):
        written = comm.folder / f"{name}.{os.getpid()}.new"
        written.write_bytes(pickle.dumps(value))
        written.rename(comm.folder / name)

    def _take(self, comm, name):
        while not (comm.folder / name).exists():
            if comm.is_aborted.wait(POLL):
                return None
        return pickle.loads((comm.folder / name).read_bytes())


class Memory:
    """The memory of virtual GPUs."""

    def __init__(self, driver):
        self._driver = driver

    def read(self, address, nbytes, stream):
        found = np.empty(nbytes, np.uint8)
        self._copy(address_of(found), address, nbytes, CopyKind.DEVICE_TO_HOST, stream)
        return found.tobytes()

    def write(self, address, data, stream):
        array = np.frombuffer(data, np.uint8)
        self._copy(address, address_of(array), len(data), CopyKind.HOST_TO_DEVICE, stream)

    def _copy(self, dst, src, nbytes, kind, stream):
        self._driver.copy(Address(dst), Address(src), nbytes, kind, stream)


class Devices:
    def use(self, device):
        return contextlib.nullcontext()

    enter = use

    def uuid(self, device):
        return f"GPU-{device}"


class Streams(dict):
    def __missing__(self, handle):
        return SimpleNamespace(device=thread.machine().streams[handle].device_index, raw=handle)


class Exchanges(nccl.ExchangeCalls):
    """The exchange calls of NVIDIA GPUs, over those of a virtual driver."""

    def __init__(self, driver):
        super().__init__()
        self._devices, self._streams = Devices(), Streams()
        self.stream_synchronize = driver.stream_synchronize
        self.mem_alloc, self.mem_free = driver.mem_alloc, driver.mem_free


def install(folder):
    """Let the virtual GPUs of this process run collectives by the stand-in; return it."""
    machine = thread.machine()
    machine.start()
    driver = machine.driver
    library, exchanges = FakeNccl(folder, Memory(driver)), Exchanges(driver)
    nccl.load = lambda: library
    driver.capabilities = driver.capabilities._replace(exchanges=False)
    names = "runs_steps exchange serve_exchanges exchange_failure abort_exchanges await_exchanges finish_exchanges"
    for name in names.split():
        setattr(driver, name, getattr(exchanges, name))
    return library

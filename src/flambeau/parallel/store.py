"""Stores: keys and values that the processes of a job share; and how processes find the job's hub."""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from operator import index
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..config import is_whole_number
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, ValueRangeError, shown
from .exchange import Client, DistStoreError, QueueEmptyError, StoreTimeoutError, as_timeout
from .hub import Hub
from .store_contents import Contents

WAIT = timedelta(seconds=300)
POLL = 0.01  # seconds between reads of a file
PORTS = 1 << 16  # the number of TCP's ports
SECRET = "FLAMBEAU_JOB_SECRET"
HAS_HUB = "TORCHELASTIC_USE_AGENT_STORE"  # "True" where the launcher runs the hub


class Store:
    """Base class of key-value stores, by which processes exchange small data.

    Keys are str.  Values are str or bytes, and are returned as bytes.  Timeouts are timedeltas or floats of seconds.
    Other types raise ArgumentTypeError in every method.
    `get` and `wait` wait until keys are set, for at most the store's timeout.
    To make another kind of store, derive a class and define the methods that are used; the others raise
    NotSupportedError.
    Example:
        >>> isinstance(torch.distributed.HashStore(), torch.distributed.Store)
        True
    """

    _timeout = WAIT

    @property
    def timeout(self) -> timedelta:
        """How long `get`, `wait` and `queue_pop` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta | float) -> None:
        """Set the store's timeout: how long `get`, `wait` and `queue_pop` wait before they raise StoreTimeoutError.

        timeout: a timedelta, or a float of seconds.
        Raises: ArgumentTypeError for another value.
        Example:
            >>> from datetime import timedelta
            >>> store = torch.distributed.HashStore()
            >>> store.set_timeout(timedelta(seconds=10))
            >>> store.timeout
            datetime.timedelta(seconds=10)
        """
        self._timeout = as_timeout("Store.set_timeout", timeout)

    def _seconds(self, timeout: timedelta | float | None) -> float:
        """Return how long a call of `wait` waits; None is the store's timeout."""
        return (self.timeout if timeout is None else as_timeout("Store.wait", timeout)).total_seconds()

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key.

        Raises: ArgumentTypeError for a key that is not a str, or a value that is neither str nor bytes.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.set("loss", "1.5")
            >>> store.get("loss")
            b'1.5'
        """
        raise self._lacking("set")

    def get(self, key: str) -> bytes:
        """Wait until a key is set; return its value, as bytes.

        Raises: StoreTimeoutError (RuntimeError) if the key is not set before the timeout, ArgumentTypeError for a key
                that is not a str.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.set("name", b"first")
            >>> store.get("name").decode()
            'first'
        """
        raise self._lacking("get")

    def add(self, key: str, amount: int) -> int:
        """Add `amount` to the number in the value of a key, and return the sum; a key that is not set counts as 0.

        Raises: DistStoreError (RuntimeError) if the key's value is not a number, ArgumentTypeError for an amount that
                is not an integer of 64 bits.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.add("steps", 2), store.add("steps", 3)
            (2, 5)
        """
        raise self._lacking("add")

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Set a key to `desired_value` if its value is `expected_value`; return the key's value after the call.

        If the key is not set, it is set if `expected_value` is ""; otherwise it stays unset and `expected_value` is
        returned.
        Raises: ArgumentTypeError for a key that is not a str, or a value that is neither str nor bytes.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.compare_set("leader", "", "rank 0")
            b'rank 0'
            >>> store.compare_set("leader", "", "rank 1")  # the key is set already
            b'rank 0'
        """
        raise self._lacking("compare_set")

    def wait(self, keys: Sequence[str], timeout: timedelta | float | None = None) -> None:
        """Wait until all keys of a list are set.

        timeout: a timedelta, or a float of seconds; None for the store's timeout.
        Raises: StoreTimeoutError (RuntimeError) if a key is not set before the timeout, ArgumentTypeError unless the
                keys are a list of str.
        Example:
            >>> from datetime import timedelta
            >>> store = torch.distributed.HashStore()
            >>> store.set("loss", "1.5")
            >>> store.wait(["loss"], timedelta(seconds=1))
        """
        raise self._lacking("wait")

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys of a list are set, without waiting.

        Raises: ArgumentTypeError unless the keys are a list of str.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.set("loss", "1.5")
            >>> store.check(["loss"]), store.check(["loss", "steps"])
            (True, False)
        """
        raise self._lacking("check")

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it existed.

        Raises: ArgumentTypeError for a key that is not a str.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.set("loss", "1.5")
            >>> store.delete_key("loss"), store.delete_key("loss")
            (True, False)
        """
        raise self._lacking("delete_key")

    def num_keys(self) -> int:
        """Return the number of keys that are set; a PrefixStore also counts the keys without its prefix.

        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.set("loss", "1.5")
            >>> store.num_keys()
            1
        """
        raise self._lacking("num_keys")

    def list_keys(self) -> list[str]:
        """Return the keys; a PrefixStore returns those with its prefix, without the prefix.

        Raises: NotSupportedError if the class of the store does not implement it.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.set("loss", "1.5")
            >>> store.list_keys()
            ['loss']
        """
        raise self._lacking("list_keys")

    def append(self, key: str, value: str | bytes) -> None:
        """Append `value` to the value of a key; a key that is not set counts as empty.

        Raises: NotSupportedError if the class of the store does not implement it; ArgumentTypeError for a key
                that is not a str, or a value that is neither str nor bytes.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.append("names", "first ")
            >>> store.append("names", "second")
            >>> store.get("names")
            b'first second'
        """
        raise self._lacking("append")

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the values of several keys.

        Raises: DistStoreError (RuntimeError) unless there are as many values as keys, ArgumentTypeError unless the keys
                are a list of str.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.multi_set(["loss", "name"], ["1.5", "first"])
            >>> store.multi_get(["name", "loss"])
            [b'first', b'1.5']
        """
        names = _names("multi_set", keys)
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
            raise ArgumentTypeError(
                f"the values must be a list, got {shown(values)}", hint="pass one per key", operator="Store.multi_set"
            )
        if len(names) != len(values):
            raise DistStoreError(
                f"got {len(names)} keys and {len(values)} values", hint="pass one per key", operator="Store.multi_set"
            )
        for key, value in zip(names, values):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Wait until all keys are set; return their values.

        Raises: the errors of `wait`.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.multi_set(["loss", "name"], ["1.5", "first"])
            >>> store.multi_get(["loss", "name"])
            [b'1.5', b'first']
        """
        self.wait(keys)
        return [self.get(key) for key in keys]

    def has_extended_api(self) -> bool:
        """Return whether the store has `append`, `multi_get` and `multi_set`.

        Example:
            >>> torch.distributed.HashStore().has_extended_api()
            True
        """
        return type(self).append is not Store.append

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Append a value to the queue of a key; the queue is separate from the key's value.

        Raises: NotSupportedError if the class of the store does not implement it; ArgumentTypeError for a key
                that is not a str, or a value that is neither str nor bytes.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.queue_push("jobs", "first")
            >>> store.queue_push("jobs", "second")
            >>> store.queue_pop("jobs"), store.queue_len("jobs")
            (b'first', 1)
        """
        raise self._lacking("queue_push")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Remove the first value from the queue of a key, and return it as bytes.

        block: whether to wait for a value if the queue is empty, for at most the store's timeout.
        Raises: for an empty queue, QueueEmptyError (RuntimeError) if `block` is False, else StoreTimeoutError
                (RuntimeError) after the timeout; NotSupportedError if the class of the store does not implement it.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> try:
            ...     store.queue_pop("jobs", block=False)
            ... except torch.distributed.QueueEmptyError:
            ...     print("no jobs")
            no jobs
        """
        raise self._lacking("queue_pop")

    def queue_len(self, key: str) -> int:
        """Return the number of values in the queue of a key.

        Raises: NotSupportedError if the class of the store does not implement it; ArgumentTypeError for a key
                that is not a str.
        Example:
            >>> torch.distributed.HashStore().queue_len("jobs")
            0
        """
        raise self._lacking("queue_len")

    def barrier(self, key: str, world_size: int, timeout: timedelta | float | None = None) -> None:
        """Wait until `barrier` has been called `world_size` times with the key.

        The key may be reused afterwards.
        timeout: a timedelta, or a float of seconds; None for the store's timeout.
        Raises: StoreTimeoutError (RuntimeError) if the others do not call it before the timeout, ValueRangeError for a
                `world_size` below 1, ArgumentTypeError for one that is not an integer.
        Example:
            >>> torch.distributed.HashStore().barrier("begin", 1)
        """
        name = _name("barrier", key)
        if isinstance(world_size, bool) or not hasattr(world_size, "__index__"):
            raise ArgumentTypeError(
                f"world_size must be an integer, got {shown(world_size)}",
                hint="pass the number of processes that call barrier",
                operator="Store.barrier",
            )
        if world_size < 1:
            raise ValueRangeError(
                f"world_size must be 1 or more, got {world_size}",
                hint="pass the number of processes that call barrier",
                operator="Store.barrier",
            )
        limit = None if timeout is None else as_timeout("Store.barrier", timeout)
        before = self.add(f"{name}/arrived", 1) - 1
        times, is_last = before // world_size, before % world_size == world_size - 1
        if is_last:
            self.set(f"{name}/{times}", "")
            self.delete_key(f"{name}/{times - 1}")  # no caller waits for it any more
        self.wait([f"{name}/{times}"], limit)

    def clone(self) -> Store:
        """Return a new store object for the same stored data; for a TCPStore it has its own connection.

        Raises: NotSupportedError if the class of the store does not implement it.
        Example:
            >>> store = torch.distributed.HashStore()
            >>> store.clone().set("loss", "1.5")
            >>> store.get("loss")
            b'1.5'
        """
        raise self._lacking("clone")

    def _lacking(self, name: str) -> NotSupportedError:
        return NotSupportedError(
            f"a {type(self).__name__} does not have {name}()", hint="use a TCPStore", operator=f"Store.{name}"
        )


def _name(operator: str, key: Any) -> str:
    """Return a key.  Raises ArgumentTypeError unless it is a str."""
    if not isinstance(key, str):
        raise ArgumentTypeError(
            f"the key must be a str, got {shown(key)}", hint="pass a name, such as 'loss'", operator=f"Store.{operator}"
        )
    return key


def _names(operator: str, keys: Any) -> list[str]:
    """Return several keys.  Raises ArgumentTypeError unless they are a list of str."""
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise ArgumentTypeError(
            f"the keys must be a list of str, got {shown(keys)}",
            hint="for example ['name']",
            operator=f"Store.{operator}",
        )
    return [_name(operator, key) for key in keys]


def _not_set(keys: Sequence[str], seconds: float) -> StoreTimeoutError:
    """Return the error of a wait for keys."""
    return StoreTimeoutError(
        f"{', '.join(keys)}: not set within {seconds:g} s",
        hint="check that another rank sets it, or use a longer timeout",
        operator="Store.wait",
    )


class AmountError(ValueRangeError, ArgumentTypeError):
    """An amount beyond 64 bits, which is a TypeError in PyTorch."""


def _amount(amount: Any) -> int:
    if not hasattr(amount, "__index__"):
        raise ArgumentTypeError(
            f"the amount must be an integer, got {shown(amount)}", hint="for example 1", operator="Store.add"
        )
    number = index(amount)
    if not -(2**63) <= number < 2**63:
        raise AmountError(f"the amount is {number}", hint="it is an integer of 64 bits", operator="Store.add")
    return number


def _text(operator: str, value: Any) -> str:
    """Return a value as text: one character per byte."""
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, bytes):
        raise ArgumentTypeError(
            f"the value must be str or bytes, got {shown(value)}", hint="convert it with str(...)", operator=operator
        )
    return value.decode("latin-1")


class ContentsStore(Store, ABC):
    """A store that sends requests to its contents (store_contents.py)."""

    @abstractmethod
    def _ask(self, **request: Any) -> Any:
        """Return the answer to a request."""

    def set(self, key: str, value: str | bytes) -> None:
        self._ask(do="set", key=_name("set", key), value=_text("Store.set", value))

    def get(self, key: str) -> bytes:
        self.wait([_name("get", key)])
        value: str = self._ask(do="get", key=key) or ""  # "" if it has a queue alone
        return value.encode("latin-1")

    def add(self, key: str, amount: int) -> int:
        total: int = self._ask(do="add", key=_name("add", key), value=_amount(amount))
        return total

    def append(self, key: str, value: str | bytes) -> None:
        self._ask(do="append", key=_name("append", key), value=_text("Store.append", value))

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        expected, desired = _text("Store.compare_set", expected_value), _text("Store.compare_set", desired_value)
        value: str = self._ask(do="compare_set", key=_name("compare_set", key), expected=expected, value=desired)
        return value.encode("latin-1")

    def check(self, keys: Sequence[str]) -> bool:
        exists: bool = self._ask(do="check", keys=_names("check", keys))
        return exists

    def delete_key(self, key: str) -> bool:
        existed: bool = self._ask(do="delete", key=_name("delete_key", key))
        return existed

    def num_keys(self) -> int:
        count: int = self._ask(do="count")
        return count

    def list_keys(self) -> list[str]:
        keys: list[str] = self._ask(do="keys")
        return keys

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._ask(do="push", key=_name("queue_push", key), value=_text("Store.queue_push", value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        seconds = self.timeout.total_seconds()
        end = time.monotonic() + seconds
        while True:
            value: str | None = self._ask(do="pop", key=_name("queue_pop", key))
            if value is not None:
                return value.encode("latin-1")
            if not block:
                raise QueueEmptyError(
                    f"the queue of {key!r} is empty", hint="pass block=True to wait", operator="Store.queue_pop"
                )
            try:
                self.wait([key], timedelta(seconds=max(end - time.monotonic(), 0)))  # another caller may take the value
            except StoreTimeoutError:
                raise StoreTimeoutError(
                    f"the queue of {key!r} was not filled within {seconds:g} s",
                    hint="check that another rank pushes to it, or use a longer timeout",
                    operator="Store.queue_pop",
                ) from None

    def queue_len(self, key: str) -> int:
        length: int = self._ask(do="length", key=_name("queue_len", key))
        return length


class LocalStore(ContentsStore):
    """A store without a server, which polls for keys."""

    @abstractmethod
    def _answer(self, request: dict[str, Any]) -> Any:
        """Answer a request from the contents, atomically.  Raises ValueError for a value that is not a number."""

    def _ask(self, **request: Any) -> Any:
        try:
            return self._answer(request)
        except ValueError as failure:
            raise DistStoreError(
                str(failure), hint="call add() only on keys that hold numbers", operator=f"Store.{request['do']}"
            ) from failure

    def wait(self, keys: Sequence[str], timeout: timedelta | float | None = None) -> None:
        names, seconds = _names("wait", keys), self._seconds(timeout)
        end = time.monotonic() + seconds
        while not self.check(names):
            if time.monotonic() > end:
                raise _not_set(names, seconds)
            time.sleep(POLL)


class HashStore(LocalStore):
    """A key-value store in the memory of one process, which the process's threads can share.

    Example:
        >>> store = torch.distributed.HashStore()
        >>> store.set("loss", "1.5")
        >>> store.get("loss"), store.add("steps", 2), store.num_keys()
        (b'1.5', 2, 2)
    """

    def __init__(self) -> None:
        self._contents = Contents()
        self._lock = threading.Lock()

    def _answer(self, request: dict[str, Any]) -> Any:
        with self._lock:
            return self._contents.answer(request)

    def clone(self) -> HashStore:
        other = HashStore()
        vars(other).update(vars(self))
        return other


class FileStore(LocalStore):
    """A key-value store in a file that the processes of one host share.

    file_name: the path of the file, which is made if it does not exist.  world_size: has no effect.
    Raises: ArgumentTypeError for a name that is neither a str nor a path; OSError in each method if the file cannot be
            opened.
    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = torch.distributed.FileStore(f"{folder}/store", 1)
        ...     store.set("loss", "1.5")
        ...     store.get("loss")
        b'1.5'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        if not isinstance(file_name, (str, os.PathLike)):
            raise ArgumentTypeError(
                f"file_name must be a str or a path, got {shown(file_name)}",
                hint="pass the path of a file that all processes can open",
                operator="FileStore",
            )
        self.path = file_name

    def _answer(self, request: dict[str, Any]) -> Any:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "r+", encoding="utf-8") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            try:
                text = opened.read()
                contents = Contents(*json.loads(text)) if text else Contents()
                answer = contents.answer(request)
                written = json.dumps([contents.values, {key: list(queue) for key, queue in contents.queues.items()}])
                if written != text:
                    opened.seek(0)
                    opened.write(written)
                    opened.truncate()
                    opened.flush()
            finally:  # closing alone keeps the lock if a forked child has the file open
                fcntl.flock(opened, fcntl.LOCK_UN)
            return answer

    def clone(self) -> FileStore:
        other = FileStore(self.path)
        other._timeout = self.timeout
        return other


class ClientStore(ContentsStore):
    """A store in the hub, accessed through an existing client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _ask(self, **request: Any) -> Any:
        return self._client.ask(self.timeout.total_seconds(), "an answer of the store", **request)

    def wait(self, keys: Sequence[str], timeout: timedelta | float | None = None) -> None:
        names, seconds = _names("wait", keys), self._seconds(timeout)
        try:
            self._client.ask(seconds, ", ".join(names), do="await", keys=names)
        except StoreTimeoutError:
            raise _not_set(names, seconds) from None

    def clone(self) -> Store:
        other = ClientStore(self._client)
        other._timeout = self.timeout
        return other


class TCPStore(ClientStore):
    """A key-value store in one process, to which other processes connect by its host name and port.

    is_master: True in the process that holds the store, False in those that connect to it.
    host_name, port: the address of that process.  With is_master, port 0 chooses a free port: see the attribute `port`.
    world_size: the number of processes; None if it is not known.
    timeout: how long `get`, `wait` and the connection wait, a timedelta or a float of seconds.
    wait_for_workers, multi_tenant, use_libuv: have no effect.
    Raises: StoreTimeoutError if nothing listens at the address in time; ArgumentTypeError for a host that is not a str,
            a port that is not an integer, or a timeout of another type, ValueRangeError for a port that is not
            one of TCP's, and a world_size of 0; NotSupportedError for `master_listen_fd`.
    Example:
        >>> store = torch.distributed.TCPStore("localhost", 0, is_master=True)
        >>> other = torch.distributed.TCPStore("localhost", store.port)
        >>> other.set("loss", "1.5")
        >>> store.get("loss"), store.compare_set("loss", "1.5", "1.0")
        (b'1.5', b'1.0')
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta | float = WAIT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        if master_listen_fd is not None:
            raise NotSupportedError(
                f"master_listen_fd={shown(master_listen_fd)} is not supported", hint="leave it out", operator="TCPStore"
            )
        if not isinstance(host_name, str):
            raise ArgumentTypeError(
                f"host_name must be a str, got {shown(host_name)}", hint="for example 'localhost'", operator="TCPStore"
            )
        if isinstance(port, bool) or not hasattr(port, "__index__"):
            raise ArgumentTypeError(
                f"port must be an integer, got {shown(port)}",
                hint="pass 0 to let the system choose a port",
                operator="TCPStore",
            )
        if not 0 <= port < PORTS:
            raise ValueRangeError(
                f"port must be from 0 to {PORTS - 1}, got {port}",
                hint=f"pass 1 to {PORTS - 1}, or 0 to choose one",
                operator="TCPStore",
            )
        if world_size == 0:
            raise ValueRangeError(
                "world_size must be at least 1, got 0",
                hint="pass the number of processes, or None",
                operator="TCPStore",
            )
        secret = os.environ.get(SECRET, "")
        self.host = host_name
        self._timeout = as_timeout("TCPStore", timeout)
        self._hub = listening(host_name, port, world_size or 1, secret) if is_master else None
        self.port = port if self._hub is None else self._hub.address[1]
        super().__init__(Client(host_name, self.port, secret, self._timeout.total_seconds()))

    def __del__(self) -> None:
        client, hub = getattr(self, "_client", None), getattr(self, "_hub", None)
        if client is not None:
            client.close()
        if hub is not None:
            hub.stop()

    @property
    def libuvBackend(self) -> bool:
        """False: the store does not use libuv."""
        return False

    def clone(self) -> TCPStore:
        return TCPStore(self.host, self.port, timeout=self.timeout)


class PrefixStore(Store):
    """A view of another store that puts a prefix and a slash before each key.

    prefix: a str.  store: the other store, which holds the data and the timeout.
    Raises: ArgumentTypeError for a prefix that is not a str, or a store that is not a Store.
    Example:
        >>> store = torch.distributed.HashStore()
        >>> torch.distributed.PrefixStore("first", store).set("loss", "1.5")
        >>> store.get("first/loss")
        b'1.5'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(prefix, str) or not isinstance(store, Store):
            raise ArgumentTypeError(
                f"expected a str and a Store, got {shown(prefix)} and {shown(store)}",
                hint="for example PrefixStore('name', store)",
                operator="PrefixStore",
            )
        self.prefix = prefix
        self.underlying_store = store

    @property
    def timeout(self) -> timedelta:
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta | float) -> None:
        self.underlying_store.set_timeout(timeout)

    def _key(self, operator: str, key: str) -> str:
        return f"{self.prefix}/{_name(operator, key)}"

    def _keys(self, operator: str, keys: Sequence[str]) -> list[str]:
        return [self._key(operator, key) for key in _names(operator, keys)]

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._key("set", key), value)

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._key("get", key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._key("add", key), amount)

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        return self.underlying_store.compare_set(self._key("compare_set", key), expected_value, desired_value)

    def wait(self, keys: Sequence[str], timeout: timedelta | float | None = None) -> None:
        self.underlying_store.wait(self._keys("wait", keys), timeout)

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check(self._keys("check", keys))

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key("delete_key", key))

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        start = self._key("list_keys", "")
        return [key[len(start) :] for key in self.underlying_store.list_keys() if key.startswith(start)]

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._key("append", key), value)

    def has_extended_api(self) -> bool:
        return self.underlying_store.has_extended_api()

    def queue_push(self, key: str, value: str | bytes) -> None:
        self.underlying_store.queue_push(self._key("queue_push", key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self.underlying_store.queue_pop(self._key("queue_pop", key), block)

    def queue_len(self, key: str) -> int:
        return self.underlying_store.queue_len(self._key("queue_len", key))

    def clone(self) -> PrefixStore:
        return PrefixStore(self.prefix, self.underlying_store.clone())

    @property
    def _underlying_non_prefix_store(self) -> Store:
        """The store below all prefixes."""
        store = self.underlying_store
        while isinstance(store, PrefixStore):
            store = store.underlying_store
        return store


# finding the hub


class Meeting(NamedTuple):
    """Where to find the hub.  begins_hub: whether this process starts it.  file: a file with its address, or None."""

    host: str
    port: int
    secret: str
    begins_hub: bool
    file: Path | None
    seconds: float

    def tell(self, address: tuple[str, int]) -> None:
        """Write the address of the hub to the file, for the other ranks."""
        if self.file is not None:
            handle, name = tempfile.mkstemp(dir=self.file.parent)
            with os.fdopen(handle, "w") as opened:
                opened.write(f"{address[0]}:{address[1]}")
            os.replace(name, self.file)

    def forget(self) -> None:
        """Remove the file, once all ranks have connected: the next group may use its path."""
        if self.begins_hub and self.file is not None:
            self.file.unlink(missing_ok=True)

    def find(self) -> tuple[str, int]:
        """Return the hub's address.  Host: waits for it."""
        if self.file is None:
            return self.host, self.port
        end = time.monotonic() + self.seconds
        while True:
            with suppress(FileNotFoundError):
                host, _, port = self.file.read_text().rpartition(":")
                if port:
                    return host, int(port)
            if time.monotonic() > end:
                raise StoreTimeoutError(
                    f"{self.file} was not written within {self.seconds:g} s",
                    hint="check that rank 0 runs",
                    operator="init_process_group",
                )
            time.sleep(POLL)


def meeting_of(init_method: str | None, store: Any, rank: int, size: int, seconds: float) -> Meeting:
    """Read the arguments of `init_process_group` and the environment.  Raises ArgumentError."""
    name, secret = "init_process_group", os.environ.get(SECRET, "")
    if store is not None:
        if init_method is not None:
            raise ArgumentError("init_method and store are both given", hint="pass one of them", operator=name)
        if isinstance(store, PrefixStore):
            store = store._underlying_non_prefix_store
        if isinstance(store, FileStore):
            return Meeting("127.0.0.1", 0, secret, rank == 0, Path(f"{store.path}.hub"), seconds)
        if not isinstance(store, TCPStore):
            raise ArgumentTypeError(
                f"store must be a TCPStore or a FileStore, got {shown(store)}",
                hint="pass a TCPStore or a FileStore",
                operator=name,
            )
        return Meeting(store.host, store.port, secret, False, None, seconds)
    method = init_method or "env://"
    if not isinstance(method, str):
        raise ArgumentTypeError(f"init_method must be a str, got {shown(method)}", hint="pass 'env://'", operator=name)
    parts = urlsplit(method)
    if parts.scheme == "env":
        host, port = address_from_environment()
        return Meeting(host, port, secret, rank == 0 and os.environ.get(HAS_HUB) != "True", None, seconds)
    number = port_of(method)
    if parts.scheme == "tcp" and parts.hostname and number is not None and (number or size == 1):
        return Meeting(parts.hostname, number, secret, rank == 0, None, seconds)
    if parts.scheme == "file" and parts.path:
        return Meeting("127.0.0.1", 0, secret, rank == 0, Path(parts.path), seconds)
    raise ArgumentError(
        f"init_method {method!r} is not a known URL", hint="use env://, tcp://HOST:PORT or file:///PATH", operator=name
    )


def port_of(url: str) -> int | None:
    """Return the port of a URL; None if it has none, or one that is not a port of TCP."""
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def address_from_environment() -> tuple[str, int]:
    """Return MASTER_ADDR and MASTER_PORT from the environment.  Raises ArgumentError."""
    host, port = _variable("MASTER_ADDR"), _variable("MASTER_PORT")
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 1 << 16:
        raise ArgumentError(
            f"MASTER_PORT must be a port number, got {port!r}",
            hint="set a number from 1 to 65535",
            operator="init_process_group",
        )
    return host, int(port)


def number_from_environment(operator: str, name: str, given: Any, variable: str, default: int | None) -> int:
    """Return an argument, or the environment's number if the argument is -1.  default: None if required."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise ArgumentTypeError(
            f"{name} must be an int, got {shown(given)}", hint=f"pass an int; -1 reads {variable}", operator=operator
        )
    if given != -1:
        return given
    text = os.environ.get(variable, "" if default is None else str(default))
    if not is_whole_number(text.strip()):
        raise ArgumentError(
            f"the environment variable {variable} is not a number: {text!r}",
            hint=f"set it to {default or 0}, or pass {name}={default or 0}",
            operator=operator,
        )
    return int(text)


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ArgumentError(
            "Error initializing torch.distributed using env:// rendezvous: "
            f"environment variable {name} expected, but not set",
            hint="start the program by `flambeau run --nproc N`, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
            operator="init_process_group",
        )
    return value


def listening(host: str, port: int, size: int, secret: str) -> Hub:
    """Start a hub at an address.  Raises ArgumentError if the address is in use or is not this machine's."""
    try:
        return Hub(host, port, size, secret)
    except (OSError, OverflowError) as failure:
        raise ValueRangeError(
            f"the store cannot listen at {host}:{port}: {failure}",
            hint="choose another MASTER_PORT, and as MASTER_ADDR an address of the machine of rank 0",
            operator="TCPStore",
        ) from failure

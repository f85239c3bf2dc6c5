"""Rendezvous: how processes find a common store, by a URL or by a handler that the program registers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..config import is_whole_number
from ..errors import ArgumentError, ArgumentTypeError, ModeError, shown
from .group import TIMEOUT
from .store import HAS_HUB, FileStore, Store, TCPStore, address_from_environment, number_from_environment, port_of

NAME = "rendezvous"
Found = tuple[Store, int, int]
Handler = Callable[..., Iterator[Found]]


def _of_environment(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = TIMEOUT) -> Iterator[Found]:
    host, port = address_from_environment()
    number = number_from_environment(NAME, "rank", rank, "RANK", None)
    size = number_from_environment(NAME, "world_size", world_size, "WORLD_SIZE", None)
    begins = number == 0 and os.environ.get(HAS_HUB) != "True"
    yield TCPStore(host, port, size, begins, timeout), number, size


def _of_address(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = TIMEOUT) -> Iterator[Found]:
    host, port = urlsplit(url).hostname, port_of(url)
    if not host or not port:
        raise ArgumentError(f"the URL {url!r} has no host or no port", hint="write tcp://HOST:PORT", operator=NAME)
    number, size = _numbers(url, rank, world_size)
    yield TCPStore(host, port, size, number == 0, timeout), number, size


def _of_file(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = TIMEOUT) -> Iterator[Found]:
    path = urlsplit(url).path
    if not path:
        raise ArgumentError(f"the URL {url!r} has no path", hint="write file:///PATH", operator=NAME)
    number, size = _numbers(url, rank, world_size)
    store = FileStore(path, size)
    store.set_timeout(timeout)
    yield store, number, size


def _numbers(url: str, rank: int, world_size: int) -> tuple[int, int]:
    """Return the rank and the number of ranks, from the arguments or else from the URL."""
    numbers = [number_of_url(NAME, name, given, url) for name, given in (("rank", rank), ("world_size", world_size))]
    for name, number in zip(("rank", "world_size"), numbers):
        if number == -1:
            hint = f"pass {name}=, or add {name} to the URL, as in ?rank=0&world_size=2"
            raise ArgumentError(f"the URL {url!r} has no {name}", hint=hint, operator=NAME)
    return numbers[0], numbers[1]


def number_of_url(operator: str, name: str, given: Any, url: str) -> int:
    """Return an argument, or the URL's number if the argument is -1; -1 if the URL has none."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise ArgumentTypeError(f"{name} must be an int, got {shown(given)}", hint="for example 0", operator=operator)
    texts = parse_qs(urlsplit(url).query, keep_blank_values=True).get(name)
    if given != -1 or texts is None:
        return given
    if not is_whole_number(texts[0]):
        raise ArgumentError(
            f"{name} of the URL {url!r} is not a number",
            hint=f"for example {url.partition('?')[0]}?{name}=1",
            operator=operator,
        )
    return int(texts[0])


handlers: dict[str, Handler] = {"env": _of_environment, "tcp": _of_address, "file": _of_file}
KNOWN = tuple(handlers)  # schemes that `init_process_group` reads itself


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Register a function by which `init_process_group` and `rendezvous` handle the URLs of a scheme.

    scheme: the part of a URL before "://".
    handler: a function of the URL and keywords such as `timeout`; it yields (store, rank, number of processes).
    Raises: ModeError (RuntimeError) if the scheme already has a handler; ArgumentTypeError for a scheme that is not a
            str, or a handler that cannot be called.
    Example:
        >>> try:
        ...     torch.distributed.register_rendezvous_handler("env", None)
        ... except RuntimeError:
        ...     print("env:// has a handler")
        env:// has a handler
    """
    if isinstance(scheme, str) and scheme in handlers:
        raise ModeError(
            f"{scheme}:// already has a handler", hint="choose another scheme", operator="register_rendezvous_handler"
        )
    if not isinstance(scheme, str) or not callable(handler):
        raise ArgumentTypeError(
            f"expected a str and a function, got {shown(scheme)} and {shown(handler)}",
            hint="pass a function of the URL that yields the store, the rank and the number of ranks",
            operator="register_rendezvous_handler",
        )
    handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Found]:
    """Find the store of a job by a URL: return an iterator of one item, (store, rank, number of processes).

    url: env://, tcp://HOST:PORT, file:///PATH, or a URL whose scheme has a registered handler.
    rank, world_size: -1 takes the value from the URL (`?rank=0&world_size=2`) or from the environment.
    kwargs: passed to the handler, such as `timeout`.
    Raises: ArgumentTypeError for a URL that is not a str; ModeError (RuntimeError) for a scheme without a handler;
            ArgumentError for an address or a number that is missing.
    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store, rank, world_size = next(torch.distributed.rendezvous(f"file://{folder}/store", 0, 2))
        ...     store.add("steps", 1), rank, world_size
        (1, 0, 2)
    """
    if not isinstance(url, str):
        raise ArgumentTypeError(f"the URL must be a str, got {shown(url)}", hint="pass 'env://'", operator=NAME)
    scheme = urlsplit(url).scheme
    if scheme not in handlers:
        raise ModeError(
            f"{scheme}:// has no handler", hint="register one by register_rendezvous_handler", operator=NAME
        )
    given = {"rank": rank, "world_size": world_size}
    numbers = {name: number_of_url(NAME, name, number, url) for name, number in given.items()}
    numbers = {name: number for name, number in numbers.items() if number != -1}
    return handlers[scheme](url, **numbers, **kwargs)

"""Addresses of rendezvous: wrong ones, a busy port, and a hub that is not there."""

import re
import socket
from datetime import timedelta

import pytest

from flambeau import distributed as dist
from flambeau.errors import ArgumentError, ValueRangeError


def test_a_busy_port_and_a_missing_hub_are_named():
    store = dist.TCPStore("localhost", 0, is_master=True)
    with pytest.raises(ValueRangeError, match=f"cannot listen at localhost:{store.port}: .*in use"):
        dist.TCPStore("localhost", store.port, is_master=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(RuntimeError, match=f"nothing listens at localhost:{port}"):
        dist.TCPStore("localhost", port, timeout=timedelta(seconds=0.05))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "environment variable MASTER_ADDR expected, but not set"),
        ({"init_method": "http://x"}, "init_method is 'http://x'"),
        ({"init_method": "tcp://localhost"}, "init_method is 'tcp://localhost'"),
        ({"init_method": "env://", "store": dist.HashStore()}, "init_method and store are both given"),
        ({"store": dist.HashStore()}, "store is "),
    ],
)
def test_addresses_that_cannot_be_used_are_named(given, text, monkeypatch):
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises((ArgumentError, TypeError), match=f"init_process_group: .*{re.escape(text)}"):
        dist.init_process_group("gloo", rank=0, world_size=2, **given)

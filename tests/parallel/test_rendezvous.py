"""Addresses of rendezvous: wrong ones, a busy port, and a hub that is not there."""

import re
import socket
from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.errors import ArgumentError, ArgumentTypeError, ValueRangeError

from .processes import forked


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


def test_a_url_has_the_rank_and_the_number_of_ranks(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    def sums(rank):
        found = []
        for url in (f"file://{tmp_path}/meeting", f"tcp://127.0.0.1:{port}"):
            dist.init_process_group("gloo", f"{url}?rank={rank}&world_size=2", timedelta(seconds=30))
            total = torch.ones(1)
            dist.all_reduce(total)
            found.append((dist.get_rank(), dist.get_world_size(), total.item()))
            dist.destroy_process_group()
        return found

    assert forked(sums, 2) == [[(rank, 2, 2.0)] * 2 for rank in range(2)]


def test_numbers_of_a_url_that_cannot_be_used_are_named(tmp_path):
    url = f"file://{tmp_path}/meeting"
    for call in (lambda end: dist.init_process_group("gloo", url + end), lambda end: dist.rendezvous(url + end)):
        for end, text in (("?rank=one&world_size=2", "rank"), ("?rank=0&world_size=", "world_size")):
            said = f"{text} of the URL '{re.escape(url + end)}' is not a number\nhint: "
            with pytest.raises(ArgumentError, match=said):
                call(end)
    with pytest.raises(ArgumentTypeError, match="rendezvous: rank must be an int, got '0'\nhint: "):
        dist.rendezvous(url, "0", 1)


@pytest.mark.parametrize("given", [{"init_method": "nowhere"}, {"init_method": "tcp://localhost"}, {"init_method": 5}])
def test_one_process_refuses_wrong_addresses_too(given):
    with pytest.raises((ArgumentError, ArgumentTypeError), match="init_process_group: init_method is .*\nhint: "):
        dist.init_process_group("gloo", rank=0, world_size=1, **given)
    assert not dist.is_initialized()

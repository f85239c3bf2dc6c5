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
        ({"init_method": "http://x"}, "init_method 'http://x' is not"),
        ({"init_method": "tcp://localhost"}, "init_method 'tcp://localhost' is not"),
        ({"init_method": "env://", "store": dist.HashStore()}, "init_method and store are both given"),
        ({"store": dist.HashStore()}, "store must be "),
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


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"init_method": "nowhere"}, "init_method 'nowhere' is not a known URL"),
        ({"init_method": "tcp://localhost"}, "init_method 'tcp://localhost' is not a known URL"),
        ({"init_method": "tcp://localhost:port"}, "init_method 'tcp://localhost:port' is not a known URL"),
        ({"init_method": "tcp://localhost:99999"}, "init_method 'tcp://localhost:99999' is not a known URL"),
        ({"init_method": 5}, "init_method must be a str, got 5"),
        ({"init_method": "env://", "store": dist.HashStore()}, "init_method and store are both given"),
        ({"store": 5}, "store is 5"),
        ({"timeout": timedelta(seconds=-1)}, "timeout is -1 s"),
        ({"rank": -2}, "rank -2 is not in a world of 1 processes"),
    ],
)
def test_one_process_refuses_wrong_addresses_too(given, text):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=f"^init_process_group: {text}.*\nhint: "):
        dist.init_process_group("gloo", **{"rank": 0, "world_size": 1, **given})
    assert not dist.is_initialized()


def test_one_process_needs_no_free_port():
    for given in ({"init_method": "tcp://127.0.0.1:0?rank=0&world_size=1"}, {"store": dist.HashStore()}):
        dist.init_process_group("gloo", **given)
        assert dist.get_world_size() == 1
        dist.destroy_process_group()


def test_a_url_of_rendezvous_needs_a_port():
    for end in ("", ":port", ":99999", ":0"):
        expected = f"^rendezvous: the URL 'tcp://localhost{end}' has no host or no port\nhint: "
        with pytest.raises(ArgumentError, match=expected):
            next(dist.rendezvous(f"tcp://localhost{end}", 0, 1))

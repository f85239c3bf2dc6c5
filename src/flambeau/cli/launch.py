"""`flambeau run --nproc N`: the ranks of a job on this machine, as processes with torchrun's environment variables."""

from __future__ import annotations

import os
import re
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NamedTuple

import click

GRACE = 2.0  # seconds that the other ranks get to print why they fail, after one has failed
KILL = 5.0  # seconds until a rank that was asked to end is killed
HOST = "127.0.0.1"


class Cluster(NamedTuple):
    """The hosts and links of a modelled cluster.  links: the value of FLAMBEAU_LINKS;  stragglers: factors by rank."""

    hosts: int
    links: str
    stragglers: Mapping[int, float]


def cluster(
    count: int, hosts: int, network: float | None, latency: float | None, slow: Sequence[str], stragglers: Sequence[str]
) -> Cluster:
    """Check the options of a cluster of `count` ranks.  Raises click.UsageError."""
    if count % hosts:
        raise click.UsageError(f"--hosts {hosts} does not divide --nproc {count}: each host has equally many ranks")
    options = [f"hosts={hosts}"] * (hosts > 1)
    options += [f"{name}={value}" for name, value in (("network", network), ("latency", latency)) if value is not None]
    for text in slow:
        found = re.fullmatch(r"(\d+)-(\d+):(\d+\.?\d*)", text)
        if not found or not all(int(found[each]) < count for each in (1, 2)) or not float(found[3]):
            raise click.UsageError(f"--slow-link {text!r}: write two of {count} ranks and a factor, as in 2-3:10")
        options.append(f"slow={text}")
    factors = {}
    for text in stragglers:
        found = re.fullmatch(r"(\d+):(\d+\.?\d*)", text)
        if not found or int(found[1]) >= count or not float(found[2]):
            raise click.UsageError(f"--straggler {text!r}: write one of {count} ranks and a factor, as in 3:2.5")
        factors[int(found[1])] = float(found[2])
    return Cluster(hosts, ",".join(options), factors)


def launch(count: int, command: Sequence[str], modelled: Cluster) -> int:
    """Run `flambeau COMMAND` as `count` ranks; return the status of the first rank that fails, else 0."""
    from ..parallel.hub import Hub  # other programs do without it

    secret = secrets.token_hex(16)
    hub = Hub(HOST, 0, count, secret)
    job = f"{os.getpid()}-{hub.address[1]}"
    started: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(count):
            variables = _variables(rank, count, hub.address[1], job, modelled.hosts)
            environment = {**os.environ, **variables, "FLAMBEAU_JOB_SECRET": secret}
            environment.setdefault("OMP_NUM_THREADS", "1")
            if modelled.links:
                environment["FLAMBEAU_LINKS"] = modelled.links
            if rank in modelled.stragglers:
                environment["FLAMBEAU_SLOWDOWN"] = str(modelled.stragglers[rank])
            started.append(subprocess.Popen([sys.executable, "-m", "flambeau", *command], env=environment))
        return _wait(started)
    finally:
        for each in started:
            if each.poll() is None:
                each.kill()
                each.wait()
        hub.stop()


def alike(count: int, modelled: Cluster) -> dict[str, str]:
    """Return the environment variables of a process that stands for all ranks of a job."""
    found = {**_variables(0, count, 0, str(os.getpid()), modelled.hosts), "FLAMBEAU_ALIKE_RANKS": str(count)}
    return {**found, "FLAMBEAU_LINKS": modelled.links} if modelled.links else found


def _variables(rank: int, count: int, port: int, job: str, hosts: int) -> dict[str, str]:
    """The environment variables of a rank, as torchrun sets them on `hosts` hosts."""
    local = count // hosts
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % local),
        "GROUP_RANK": str(rank // local),
        "ROLE_RANK": str(rank),
        "ROLE_NAME": "default",
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(local),
        "GROUP_WORLD_SIZE": str(hosts),
        "ROLE_WORLD_SIZE": str(count),
        "MASTER_ADDR": HOST,
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": job,
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def _wait(ranks: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait for all ranks.  After one has failed, or a signal came, the others are ended."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    woken = signal.set_wakeup_fd(writer)
    files = {os.pidfd_open(each.pid): rank for rank, each in enumerate(ranks)}
    status, end, asked = 0, float("inf"), False
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(reader, selectors.EVENT_READ)
            for file in files:
                selector.register(file, selectors.EVENT_READ)
            left = dict(files)
            while left:
                timeout = None if end == float("inf") else max(end - time.monotonic(), 0)
                for key, _ in selector.select(timeout):
                    if key.fd == reader:
                        os.read(reader, 64)
                        continue
                    selector.unregister(key.fd)
                    rank = left.pop(key.fd)
                    ended = ranks[rank].wait()
                    if ended and not status:
                        status, end = ended, time.monotonic() + GRACE
                        if left and not received:
                            click.echo(f"flambeau run: rank {rank} {_how(ended)}; the other ranks are ended", err=True)
                if received and not asked:
                    status, end = status or -received[0], 0
                if time.monotonic() >= end:
                    for file in left:
                        ranks[left[file]].send_signal(signal.SIGKILL if asked else signal.SIGTERM)
                    asked, end = True, time.monotonic() + KILL
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in previous.items():
            signal.signal(number, handler)
        for file in (reader, writer, *files):
            os.close(file)
    return status if status >= 0 else 128 - status


def _how(status: int) -> str:
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with {status}"

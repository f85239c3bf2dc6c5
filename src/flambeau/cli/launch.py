"""`flambeau run --nproc N`: the ranks of a job on this machine, as processes with torchrun's environment variables.

With --nnodes, a job has ranks on several machines: the command runs once on each.
"""

from __future__ import annotations

import os
import re
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType
from typing import NamedTuple

import click

from ..config import INTEGER, NUMBER

GRACE = 2.0  # seconds that the other ranks get to print why they fail, after one has failed
KILL = 5.0  # seconds until a rank that was asked to end is killed
JOIN = 1800.0  # seconds in which machine 0 may start
HOST = "127.0.0.1"
PORT = 29500  # torchrun's, of a job on several machines
SECRET = "FLAMBEAU_JOB_SECRET"


class Cluster(NamedTuple):
    """The hosts and links of a modelled cluster.  links: the value of FLAMBEAU_LINKS;  stragglers: factors by rank."""

    hosts: int
    links: str
    stragglers: Mapping[int, float]


class Nodes(NamedTuple):
    """The machines of a job.  number: that of this one;  host, port: the address of machine 0."""

    total: int
    number: int
    host: str
    port: int


def nodes(count: int, rank: int | None, host: str | None, port: int, modelled: Cluster) -> Nodes:
    """Check the options of a job on `count` machines.  Raises click.UsageError."""
    if rank is None or host is None or rank >= count:
        raise click.UsageError(
            f"--nnodes {count} needs --master-addr, an address of machine 0, and --node-rank, the number of this one: "
            f"0 to {count - 1}"
        )
    if not os.environ.get(SECRET):
        raise click.UsageError(f"--nnodes {count} needs a secret in {SECRET}, the same on all machines")
    if modelled.hosts > 1:
        raise click.UsageError("--hosts models machines, --nnodes uses real ones: give one of them")
    return Nodes(count, rank, host, port)


def cluster(
    count: int, hosts: int, network: float | None, latency: float | None, slow: Sequence[str], stragglers: Sequence[str]
) -> Cluster:
    """Check the options of a cluster of `count` ranks.  Raises click.UsageError."""
    if count % hosts:
        raise click.UsageError(f"--hosts {hosts} does not divide --nproc {count}: all hosts have equally many ranks")
    options = [f"hosts={hosts}"] * (hosts > 1)
    options += [f"{name}={value}" for name, value in (("network", network), ("latency", latency)) if value is not None]
    for text in slow:
        match = re.fullmatch(rf"({INTEGER})-({INTEGER}):({NUMBER})", text)
        if not match or not all(int(match[group]) < count for group in (1, 2)) or not float(match[3]):
            raise click.UsageError(f"--slow-link {text!r}: write two of {count} ranks and a factor, as in 2-3:10")
        options.append(f"slow={text}")
    factors = {}
    for text in stragglers:
        match = re.fullmatch(rf"({INTEGER}):({NUMBER})", text)
        if not match or int(match[1]) >= count or not float(match[2]):
            raise click.UsageError(f"--straggler {text!r}: write one of {count} ranks and a factor, as in 3:2.5")
        factors[int(match[1])] = float(match[2])
    return Cluster(hosts, ",".join(options), factors)


def launch(count: int, command: Sequence[str], modelled: Cluster, nodes: Nodes | None = None) -> int:
    """Run `flambeau COMMAND` as `count` ranks; return the status of the first rank that fails, else 0."""
    from ..parallel.hub import Hub  # other programs do without it

    hub: Hub | None
    if nodes is None:
        secret, size, first, hosts = secrets.token_hex(16), count, 0, modelled.hosts
        hub = Hub(HOST, 0, size, secret)
        address = HOST, hub.address[1]
        job = f"{os.getpid()}-{address[1]}"
    else:
        secret, size, first, hosts = os.environ[SECRET], count * nodes.total, count * nodes.number, nodes.total
        address = nodes.host, nodes.port
        try:
            hub = Hub(*address, size, secret) if nodes.number == 0 else None
        except (OSError, OverflowError) as failure:
            sys.exit(
                f"flambeau {command[0]}: machine 0 cannot listen at {nodes.host}:{nodes.port}: {failure}\n"
                "hint: choose another --master-port, and as --master-addr an address of this machine"
            )
        job = f"{nodes.host}:{nodes.port}"
    started: list[subprocess.Popen[bytes]] = []
    reports = Reports(*address, secret)
    try:
        for rank in range(first, first + count):
            variables = _variables(rank, size, address, job, hosts)
            environment = {**os.environ, **variables, SECRET: secret}
            environment.setdefault("OMP_NUM_THREADS", "1")
            if modelled.links:
                environment["FLAMBEAU_LINKS"] = modelled.links
            if rank in modelled.stragglers:
                environment["FLAMBEAU_SLOWDOWN"] = str(modelled.stragglers[rank])
            started.append(subprocess.Popen([sys.executable, "-m", "flambeau", *command], env=environment))
        return _wait(started, first, reports.add)
    finally:
        reports.end()
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
        if hub is not None:
            hub.stop()


class Reports:
    """Tells the hub of ranks whose processes have ended, from a thread: another machine's hub may begin later.

    A rank that ends without joining the group is so an error of those that wait for it.
    """

    def __init__(self, host: str, port: int, secret: str) -> None:
        self._address, self._secret = (host, port), secret
        self._ended: SimpleQueue[tuple[int, str] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="flambeau reports", daemon=True)
        self._thread.start()

    def add(self, rank: int, how: str) -> None:
        """Tell the hub, now or once it is there, that the process of a rank has ended."""
        self._ended.put((rank, how))

    def end(self) -> None:
        """Wait until the hub has been told; not for long, for one that is not there."""
        self._ended.put(None)
        self._thread.join(GRACE)

    def _run(self) -> None:
        from ..parallel.exchange import Client, DistError

        with suppress(DistError):  # the hub has ended or never began, so nothing waits there
            client = Client(*self._address, self._secret, JOIN)
            try:
                while (ended := self._ended.get()) is not None:
                    client.ask(JOIN, "an answer of the hub", do="ended", rank=ended[0], how=ended[1])
            finally:
                client.close()


def alike(count: int, modelled: Cluster) -> dict[str, str]:
    """Return the environment variables of a process that stands for all ranks of a job."""
    variables = _variables(0, count, (HOST, 0), str(os.getpid()), modelled.hosts)
    environment = {**variables, "FLAMBEAU_ALIKE_RANKS": str(count)}
    return {**environment, "FLAMBEAU_LINKS": modelled.links} if modelled.links else environment


def _variables(rank: int, count: int, address: tuple[str, int], job: str, hosts: int) -> dict[str, str]:
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
        "MASTER_ADDR": address[0],
        "MASTER_PORT": str(address[1]),
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": job,
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def _wait(ranks: Sequence[subprocess.Popen[bytes]], first: int, report: Callable[[int, str], None]) -> int:
    """Wait for ranks, whose numbers begin at `first`.  If one fails, or on a signal, the others are terminated.

    report: called with the number of each rank whose process has ended, and its status.
    """
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    woken = signal.set_wakeup_fd(writer)
    files = {os.pidfd_open(process.pid): rank for rank, process in enumerate(ranks)}
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
                    report(first + rank, _how(ended))
                    if ended and not status:
                        status, end = ended, time.monotonic() + GRACE
                        if left and not received:
                            click.echo(
                                f"flambeau run: rank {first + rank} {_how(ended)}; the other ranks are ended", err=True
                            )
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

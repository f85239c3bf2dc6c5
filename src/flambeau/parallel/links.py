"""Links between the ranks of a modelled cluster, and the modelled time of their collectives.

- Ranks are distributed over hosts in order, the same number on each.  Within a host they use the links of the GPU's
  preset (NVLink or PCIe); between hosts, each rank has its own network interface.
- A collective takes `share * bytes / bus bandwidth + latency`, as a ring does.  The share of the bytes that crosses
  each link is that of nccl-tests (doc/PERFORMANCE.md): 2(n-1)/n of the tensor for all_reduce, (n-1)/n of the whole for
  all_gather, reduce_scatter, all_to_all, gather and scatter, and all of it for broadcast, reduce and messages.
- The bus bandwidth is that of the slowest part of the ring: the GPUs' links, or all network interfaces of a host.
- The latency is START_NS and one step per hop: n-1 hops, 2(n-1) for all_reduce.  The figures are those of the ring's
  low-latency protocol in NCCL's tuning table (src/graph/tuning.cc).
- None of this has been compared with hardware.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..config import INTEGER, NUMBER
from ..errors import ConfigError

VARIABLE = "FLAMBEAU_LINKS"
HINT = f"{VARIABLE} is for example hosts=4,network=50,latency=2.7,slow=2-3:10"
START_NS = 6_600
STEP_NS = 600  # within a host
WHOLE = ("broadcast", "reduce", "send", "recv", "isend", "irecv")


class Links(NamedTuple):
    """The links of a cluster.

    hosts: the number of hosts.  network: GB/s of one rank's network interface, in one direction.
    latency: microseconds per step between hosts.  slow: slowdown factors of the links between two ranks.
    """

    hosts: int = 1
    network: float = 50.0  # an interface of 400 Gb/s
    latency: float = 2.7
    slow: Mapping[tuple[int, int], float] = {}

    def host(self, rank: int, world_size: int) -> int:
        """Return the host of a rank."""
        return rank * self.hosts // world_size

    def duration_ns(self, name: str, nbytes: int, ranks: Sequence[int], world_size: int, peer_rate: float) -> int:
        """Return the modelled time of a collective or a message, once all ranks have begun.

        nbytes: size of the tensor that is reduced or sent, or of all ranks' parts together.  ranks: numbers in the job.
        peer_rate: bytes per nanosecond of the links within a host, in one direction.
        """
        count = len(ranks)
        hosts = [self.host(rank, world_size) for rank in ranks]
        hops = count - 1
        share = 1.0 if name in WHOLE else hops / count
        if name == "all_reduce":
            share, hops = 2 * share, 2 * hops
        rate, step_ns = peer_rate, float(STEP_NS)
        if len(set(hosts)) > 1:
            rate = min(rate, self.network * min(hosts.count(host) for host in set(hosts)))
            step_ns = 1e3 * self.latency
        ring = [tuple(sorted(pair)) for pair in zip(ranks, [*ranks[1:], ranks[0]])]
        rate /= max((self.slow.get((pair[0], pair[1]), 1.0) for pair in ring), default=1.0)
        return int(START_NS + hops * step_ns + share * nbytes / rate)


def from_environment(environment: Mapping[str, str] = os.environ) -> Links:
    """Return the links that FLAMBEAU_LINKS describes.  Raises ConfigError."""
    return parsed(environment.get(VARIABLE, ""))


def parsed(text: str) -> Links:
    """Return the links that a text describes: hosts=4,network=50,latency=2.7,slow=2-3:10.  Raises ConfigError."""
    values: dict[str, float] = {}
    slow: dict[tuple[int, int], float] = {}
    for option in filter(None, text.split(",")):
        if match := re.fullmatch(rf"slow=({INTEGER})-({INTEGER}):({NUMBER})", option):
            first, second = sorted((int(match[1]), int(match[2])))
            slow[first, second] = float(match[3])
        elif match := re.fullmatch(rf"(hosts|network|latency)=({NUMBER})", option):
            values[match[1]] = float(match[2])
        else:
            raise ConfigError(f"{VARIABLE}={text!r}: {option!r} is unknown", hint=HINT)
    hosts = values.pop("hosts", 1)
    if hosts != int(hosts) or hosts < 1 or values.get("network", 1) <= 0 or any(not factor for factor in slow.values()):
        raise ConfigError(f"{VARIABLE}={text!r}: hosts, rates and factors must be above 0", hint=HINT)
    return Links(hosts=int(hosts), slow=slow, **values)

"""Run examples/ddp.py as ranks on workers of Ray, all on one machine; needs the package ray.

    python examples/launchers/on_ray.py 2
"""

import os
import secrets
import sys
from pathlib import Path
from typing import Any

import ray

EXAMPLES = Path(__file__).resolve().parents[1]


def train(environment: dict[str, str]) -> Any:
    os.environ.update(environment)
    sys.path.insert(0, str(EXAMPLES))
    import ddp

    return ddp.main()


def main(ranks: int) -> None:
    ray.init(num_cpus=ranks, include_dashboard=False)
    shared = {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": os.environ.get("MASTER_PORT", "29500"),
        "FLAMBEAU_GPUS": os.environ.get("FLAMBEAU_GPUS", f"virtual:{ranks}"),
        "FLAMBEAU_JOB_SECRET": secrets.token_hex(16),
    }
    task: Any = ray.remote(train)
    jobs = [task.remote({**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)]
    for epoch, loss in enumerate(ray.get(jobs)[0]):
        print(f"rank 0, epoch {epoch}: loss {loss:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)

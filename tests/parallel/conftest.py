"""Ranks on virtual GPUs with a stand-in for NCCL."""

import pytest

from flambeau.driver.nvidia import nccl
from flambeau.parallel import watchdog
from flambeau.parallel.group import Group
from tests.parallel import fake_nccl
from tests.parallel.processes import run


@pytest.fixture
def ranks(tmp_path, monkeypatch):
    """As `processes.run`, with the stand-in; function(rank, library)."""
    monkeypatch.setattr(Group, "runs_steps", True)
    monkeypatch.setattr(nccl, "ABORT_WAIT", 0.05)
    monkeypatch.setattr(watchdog, "TICK", 0.02)

    def start(function, size=2, seconds=30.0):
        return run(lambda rank: function(rank, fake_nccl.install(tmp_path)), size, "nccl", seconds, gpus=size)

    return start

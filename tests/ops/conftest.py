"""Fixtures of the operator tests."""

import os
from collections.abc import Iterator

import pytest

from flambeau.testing import machine


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The CPU, and a GPU: a virtual one, or with FLAMBEAU_GPUS=nvidia the one there is."""
    if request.param == "cpu" or os.environ.get("FLAMBEAU_GPUS") == "nvidia":
        yield request.param
        return
    with machine(devices=1):
        yield "cuda"

"""Other processes come from a fork server that has imported everything: each one takes some 20 ms."""

import os
import sys
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from typing import Any

import pytest

import flambeau.multiprocessing as mp

from .other import Other

PRELOAD = ["flambeau.multiprocessing", "flambeau.driver.virtual.driver", "flambeau.nn", Other.__module__]


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    made = mp.get_context("forkserver")
    with pytest.MonkeyPatch.context() as patch:  # the server does not get sys.path otherwise
        patch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
        made.set_forkserver_preload(PRELOAD)
        forkserver.ensure_running()
    yield made


@pytest.fixture
def others(gpus: object, context: Any) -> Iterator[Callable[..., Other]]:
    """Makes other processes that have the test's GPUs."""
    made: list[Other] = []

    def make(**given: Any) -> Other:
        made.append(Other(context, **given))
        return made[-1]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def other(others: Callable[..., Other]) -> Other:
    return others()

"""Two tiers of one suite: the default one, of a few minutes, and the full one, which has everything.

    pytest            the default tier: no test marked `full`, and a sample of each sweep
    pytest -m full    the full tier, also in expressions: `-m "full and not slow"`

- `@pytest.mark.full` is for what takes long and for what needs PyTorch.
- A sweep, which is a test with a loop over many cases, takes them from the fixture `sample`: some in the default tier,
  drawn by a fixed seed, and all in the full one.
- Tests of Hypothesis draw the same examples in every run of the default tier, and new ones in every full run.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

import hypothesis
import pytest

SEED = 20
hypothesis.settings.register_profile("default tier", derandomize=True, deadline=None)
hypothesis.settings.register_profile("full tier", deadline=None)


def is_full(config: pytest.Config) -> bool:
    """Whether the full tier was asked for: an expression of -m that names `full`."""
    return re.search(r"\bfull\b", config.option.markexpr) is not None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: runs in the full tier alone (-m full)")
    hypothesis.settings.load_profile("full tier" if is_full(config) else "default tier")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test is in the full tier; those that are marked are in no other."""
    if is_full(config):
        for item in items:
            item.add_marker("full")
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("full")]


def drawn(cases: Iterable, count: int) -> list:
    """`count` of the cases, in their order, always the same ones."""
    cases = list(cases)
    chosen = random.Random(f"{SEED} {len(cases)}").sample(range(len(cases)), min(count, len(cases)))
    return [cases[index] for index in sorted(chosen)]


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Callable[[Iterable, int], list]:
    """`sample(cases, count)`: at most `count` of the cases in the default tier, all of them in the full one."""
    return (lambda cases, count: list(cases)) if is_full(request.config) else drawn

"""The order of work, poison and race errors, beside an oracle of their own: see random_programs.py."""

import pytest

from flambeau.driver.virtual import following

from . import two_processes
from .random_programs import check, follow


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_programs_race_where_the_oracle_says_and_compute_what_it_does(first, sample):
    for seed in sample(range(first, first + 20), 10):
        check(seed)


@pytest.mark.slow
def test_shortened_lists_of_launches_change_nothing_that_a_followed_driver_finds(monkeypatch, sample):
    monkeypatch.setattr(following, "FEW_LAUNCHES", 1)
    monkeypatch.setattr(following, "PRUNE_AFTER", 3)
    for seed in sample(range(200, 300), 20):
        follow(seed)


@pytest.mark.slow
def test_two_processes_race_where_the_oracle_says_and_compute_what_it_does(sample):
    other = two_processes.Other()
    for seed in sample(range(30), 10):
        for races in ("error", "poison"):
            two_processes.check(seed, other, races)
    other.stop()

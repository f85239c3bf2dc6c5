"""Latches for the tests of flambeau alone, which have the fixture `gpus`."""

from tests.conftest import latches  # noqa: F401

"""Ranks with a stand-in for NCCL."""

from tests.parallel.conftest import ranks  # noqa: F401

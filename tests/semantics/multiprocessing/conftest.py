"""Other processes."""

from tests.multiprocessing.conftest import context, other, others  # noqa: F401

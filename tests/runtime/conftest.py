"""A stand-in for CUDA, and other processes."""

from tests.driver.nvidia.conftest import cuda  # noqa: F401
from tests.multiprocessing.conftest import context, other, others  # noqa: F401

"""A stand-in for CUDA."""

from tests.driver.nvidia.conftest import cuda  # noqa: F401

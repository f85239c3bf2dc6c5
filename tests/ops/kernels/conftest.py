"""NVIDIA's compiler of kernels."""

from tests.driver.nvidia.conftest import nvrtc  # noqa: F401

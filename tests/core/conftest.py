"""The stand-ins for NVIDIA's libraries."""

from tests.driver.nvidia.conftest import cuda, driver, stub  # noqa: F401

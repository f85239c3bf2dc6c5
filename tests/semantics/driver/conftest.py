"""The virtual driver alone."""

from tests.driver.virtual.conftest import make_rig, rig  # noqa: F401

"""torch.__config__: how the library was built."""

from ..tools.compiled import configuration as show

__all__ = ["show"]

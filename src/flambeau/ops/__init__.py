"""Operators as data; none of them knows a stream.  Importing this package registers them all."""

from . import arithmetic, convert, views  # noqa: F401

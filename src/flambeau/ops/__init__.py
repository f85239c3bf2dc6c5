"""Operators as data; none of them knows a stream.  Importing this package registers them all."""

from . import (  # noqa: F401
    activation,
    advanced,
    arithmetic,
    compare,
    convert,
    embedding,
    gather,
    generate,
    indexing,
    join,
    linalg,
    loss,
    nonzero,
    parts,
    pattern,
    reduce,
    rows,
    scatter,
    sort,
    views,
)

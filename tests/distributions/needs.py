"""Skips tests of distributions whose functions the library does not have yet."""

import pytest

import flambeau as torch

SPECIAL = ("atan", "digamma", "erfinv", "igamma", "lgamma", "logsumexp", "mvlgamma", "tan", "xlogy")
DRAWN = ("binomial", "multinomial", "poisson")


def needs(*names: str) -> pytest.MarkDecorator:
    """A mark that skips a test unless the library has these functions."""
    missing = [name for name in names if not hasattr(torch, name)]
    return pytest.mark.skipif(bool(missing), reason=f"the library has no {', '.join(missing)}")

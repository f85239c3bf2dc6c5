# Written by scripts/stubs, not by hand.
from . import averagers as averagers
__all__ = ["averagers"]

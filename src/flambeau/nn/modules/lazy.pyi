# Written by scripts/stubs, not by hand.
from ..lazy import LazyModuleMixin as LazyModuleMixin

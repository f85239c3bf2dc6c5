# Written by scripts/stubs, not by hand.
from ..layers import Embedding as Embedding
from ..layers import EmbeddingBag as EmbeddingBag

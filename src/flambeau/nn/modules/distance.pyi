# Written by scripts/stubs, not by hand.
from ..layers import CosineSimilarity as CosineSimilarity
from ..layers import PairwiseDistance as PairwiseDistance

# Written by scripts/stubs, not by hand.
from ..distance import CosineSimilarity as CosineSimilarity
from ..distance import PairwiseDistance as PairwiseDistance

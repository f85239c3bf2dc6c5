# Written by scripts/stubs, not by hand.
from ..loss import CosineSimilarity as CosineSimilarity
from ..loss import PairwiseDistance as PairwiseDistance

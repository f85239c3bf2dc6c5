# Written by scripts/stubs, not by hand.
from ..layers import AlphaDropout as AlphaDropout
from ..layers import Dropout as Dropout
from ..layers import Dropout1d as Dropout1d
from ..layers import Dropout2d as Dropout2d
from ..layers import Dropout3d as Dropout3d
from ..layers import FeatureAlphaDropout as FeatureAlphaDropout
from ..layers import _Dropout as _DropoutNd

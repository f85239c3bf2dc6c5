# Written by scripts/stubs, not by hand.
from ..normalization import BatchNorm1d as BatchNorm1d
from ..normalization import BatchNorm2d as BatchNorm2d
from ..normalization import BatchNorm3d as BatchNorm3d
from ..normalization import LazyBatchNorm1d as LazyBatchNorm1d
from ..normalization import LazyBatchNorm2d as LazyBatchNorm2d
from ..normalization import LazyBatchNorm3d as LazyBatchNorm3d
from ..normalization import SyncBatchNorm as SyncBatchNorm
from ..normalization import _BatchNorm as _BatchNorm
from ..normalization import _ChannelNorm as _NormBase
from ..normalization import _LazyNorm as _LazyNormBase

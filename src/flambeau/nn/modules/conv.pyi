# Written by scripts/stubs, not by hand.
from ..convolution import Conv1d as Conv1d
from ..convolution import Conv2d as Conv2d
from ..convolution import Conv3d as Conv3d
from ..convolution import ConvTranspose1d as ConvTranspose1d
from ..convolution import ConvTranspose2d as ConvTranspose2d
from ..convolution import ConvTranspose3d as ConvTranspose3d
from ..convolution import LazyConv1d as LazyConv1d
from ..convolution import LazyConv2d as LazyConv2d
from ..convolution import LazyConv3d as LazyConv3d
from ..convolution import LazyConvTranspose1d as LazyConvTranspose1d
from ..convolution import LazyConvTranspose2d as LazyConvTranspose2d
from ..convolution import LazyConvTranspose3d as LazyConvTranspose3d
from ..convolution import _ConvNd as _ConvNd
from ..convolution import _ConvTransposeNd as _ConvTransposeNd
from ..convolution import _LazyConv as _LazyConvXdMixin

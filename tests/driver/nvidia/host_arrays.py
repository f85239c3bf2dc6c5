"""The arrays that a kernel's arguments name, on host memory."""

import numpy as np

from flambeau.host import bytes_at
from flambeau.kernel import row_major


def strides(array):
    return tuple(step // array.itemsize for step in array.strides)


def array_of(access):
    """The NumPy array that an access names, on host memory."""
    steps = [step * access.dtype.itemsize for step in row_major(access)]
    flat = bytes_at(access.address, access.nbytes).view(access.dtype.numpy)
    return np.lib.stride_tricks.as_strided(flat, tuple(access.shape), steps)

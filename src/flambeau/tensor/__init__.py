"""Tensor, and functions that make, print, index and exchange tensors."""

from ..ops.views import broadcast_tensors
from .factories import (
    arange,
    as_tensor,
    asarray,
    empty,
    empty_strided,
    eye,
    from_numpy,
    full,
    linspace,
    ones,
    zeros,
)
from .factories import tensor as _tensor
from .format import set_printoptions
from .interop import from_dlpack
from .legacy import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .like_factories import empty_like, full_like, ones_like, rand_like, randint_like, randn_like, zeros_like
from .queries import allclose, equal, is_floating_point, is_inference, is_tensor, isclose, numel
from .random import get_rng_state, rand, randint, randn, randperm, set_rng_state
from .reals import conj, conj_physical, imag, positive, real, resolve_conj, resolve_neg
from .storages import UntypedStorage
from .tensor import Tensor

tensor = _tensor  # the function; the submodule of that name is reached through sys.modules

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "Tensor", "UntypedStorage", "allclose", "arange", "as_tensor",
    "asarray", "broadcast_tensors", "conj", "conj_physical", "empty", "empty_like", "empty_strided", "equal", "eye",
    "from_dlpack", "from_numpy", "full", "full_like", "get_rng_state", "imag", "is_floating_point", "is_inference",
    "is_tensor", "isclose", "linspace", "numel", "ones", "ones_like", "positive", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm", "real", "resolve_conj", "resolve_neg", "set_printoptions",
    "set_rng_state", "tensor", "zeros", "zeros_like",
]  # fmt: skip

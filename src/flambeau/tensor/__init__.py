"""The user's object: Tensor, and the ways to make, print, index, exchange and save one."""

from . import functions  # noqa: F401  (registers the operators, which become methods)
from .factories import (
    arange,
    as_tensor,
    asarray,
    empty,
    empty_like,
    empty_strided,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    zeros,
    zeros_like,
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
from .random import fork_rng, get_rng_state, set_rng_state
from .save import load, save
from .tensor import Tensor, install_methods, install_symbols

install_methods()
install_symbols()
tensor = _tensor  # the function; the submodule of that name is reached through sys.modules

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor", "Tensor", "arange", "as_tensor", "asarray", "empty", "empty_like", "empty_strided", "eye", "fork_rng", "from_dlpack",
    "from_numpy", "full", "full_like", "get_rng_state", "linspace", "load", "ones", "ones_like", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm", "save", "set_printoptions", "set_rng_state", "tensor", "zeros", "zeros_like",
]  # fmt: skip

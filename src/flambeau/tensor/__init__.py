"""Tensor, and functions that make, print, index and exchange tensors."""

from ..ops.diagonals import block_diag
from ..ops.join import atleast_1d, atleast_2d, atleast_3d, broadcast_shapes, cartesian_prod, meshgrid
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
from .interop import from_dlpack, from_file, frombuffer, to_dlpack
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
from .methods import (
    allclose,
    conj,
    conj_physical,
    equal,
    get_device,
    imag,
    is_complex,
    is_conj,
    is_distributed,
    is_floating_point,
    is_inference,
    is_neg,
    is_nonzero,
    is_same_size,
    is_signed,
    is_tensor,
    isclose,
    numel,
    positive,
    real,
    resolve_conj,
    resolve_neg,
)
from .random import get_rng_state, normal, rand, randint, randn, randperm, set_rng_state
from .sequences import empty_permuted, logspace, scalar_tensor, tril_indices, triu_indices
from .sequences import range_ as _range
from .storages import (
    BFloat16Storage,
    BoolStorage,
    ByteStorage,
    CharStorage,
    DoubleStorage,
    FloatStorage,
    HalfStorage,
    IntStorage,
    LongStorage,
    ShortStorage,
    TypedStorage,
    UntypedStorage,
    is_storage,
)
from .storages import FloatStorage as Storage
from .tensor import Tensor
from .types import (
    can_cast,
    finfo,
    get_default_dtype,
    iinfo,
    newaxis,
    result_type,
    set_default_dtype,
    set_default_tensor_type,
    typename,
)
from .windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window

range = _range
tensor = _tensor  # the function; the submodule of that name is reached through sys.modules

__all__ = [
    "BFloat16Storage", "BFloat16Tensor", "BoolStorage", "BoolTensor", "ByteStorage", "ByteTensor", "CharStorage",
    "CharTensor", "DoubleStorage", "DoubleTensor", "FloatStorage", "FloatTensor", "HalfStorage", "HalfTensor",
    "IntStorage", "IntTensor", "LongStorage", "LongTensor", "ShortStorage", "ShortTensor", "Storage", "Tensor",
    "TypedStorage",
    "UntypedStorage", "allclose", "arange", "as_tensor", "asarray", "atleast_1d", "atleast_2d", "atleast_3d",
    "bartlett_window", "blackman_window", "block_diag", "broadcast_shapes", "broadcast_tensors", "can_cast",
    "cartesian_prod", "conj", "conj_physical", "empty", "empty_like", "empty_permuted", "empty_strided", "equal", "eye",
    "finfo", "from_dlpack", "from_file", "from_numpy", "frombuffer", "full", "full_like",
    "get_default_dtype", "get_device", "get_rng_state", "hamming_window", "hann_window", "iinfo", "imag", "is_complex",
    "is_conj", "is_distributed", "is_floating_point", "is_inference", "is_neg", "is_nonzero", "is_same_size",
    "is_signed", "is_storage", "is_tensor", "isclose", "kaiser_window", "linspace", "logspace", "meshgrid", "newaxis",
    "normal", "numel", "ones", "ones_like", "positive", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "range", "real", "resolve_conj", "resolve_neg", "result_type", "scalar_tensor",
    "set_default_dtype", "set_default_tensor_type", "set_printoptions", "set_rng_state", "tensor", "to_dlpack",
    "tril_indices", "triu_indices", "typename", "zeros", "zeros_like",
]  # fmt: skip

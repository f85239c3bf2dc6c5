"""The namespace of the array API, version 2024.12: https://data-apis.org/array-api.

`Tensor.__array_namespace__()` returns this module.  Functions have the standard's names, arguments and promotion, for
tensors on any device.  Operators and methods of tensors are PyTorch's: `x + y` of a tensor without dimensions promotes
by kind only, and `x[::-1]` is refused.  There are no complex tensors, and no `fft`.
"""

from math import e, inf, nan, pi

from ..dtypes import bool_ as bool
from ..dtypes import float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from ..importer import listing as _listing
from ..ops.activation import tanh
from ..ops.arithmetic import abs, reciprocal, sqrt, square
from ..ops.arithmetic import neg as negative
from ..ops.compare import bitwise_not as bitwise_invert
from ..ops.compare import isfinite, isinf, isnan, logical_not, signbit
from ..ops.elementary import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    log,
    log1p,
    log2,
    log10,
    round,
    sin,
    sinh,
    tan,
    trunc,
)
from ..ops.join import tile
from ..tensor.factories import asarray
from ..tensor.interop import from_dlpack
from ..tensor.like_factories import empty_like, full_like, ones_like, zeros_like
from ..tensor.methods import conj, imag, positive, real
from . import linalg
from .creation import arange, empty, eye, full, linspace, meshgrid, ones, tril, triu, zeros
from .data_types import __array_namespace_info__, astype, can_cast, finfo, iinfo, isdtype, result_type
from .elementwise import (
    add,
    atan2,
    bitwise_and,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    clip,
    copysign,
    divide,
    equal,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    less,
    less_equal,
    logaddexp,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    nextafter,
    not_equal,
    pow,
    remainder,
    sign,
    subtract,
)
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    take,
    take_along_axis,
    unstack,
)
from .reductions import all, any, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std, sum, var
from .searching import (
    argmax,
    argmin,
    argsort,
    count_nonzero,
    nonzero,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)

__array_api_version__ = "2024.12"
newaxis = None
__all__ = [
    "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh", "add", "all", "any", "arange",
    "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool",
    "broadcast_arrays", "broadcast_to", "can_cast", "ceil", "clip", "concat", "conj", "copysign", "cos", "cosh",
    "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide", "e", "empty", "empty_like", "equal", "exp",
    "expand_dims", "expm1", "eye", "finfo", "flip", "float32", "float64", "floor", "floor_divide", "from_dlpack",
    "full", "full_like", "greater", "greater_equal", "hypot", "iinfo", "imag", "inf", "int8", "int16", "int32",
    "int64", "isdtype", "isfinite", "isinf", "isnan", "less", "less_equal", "linalg", "linspace", "log", "log1p",
    "log2", "log10", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "matrix_transpose", "max", "maximum", "mean", "meshgrid", "min", "minimum", "moveaxis", "multiply", "nan",
    "negative", "newaxis", "nextafter", "nonzero", "not_equal", "ones", "ones_like", "permute_dims", "pi", "positive",
    "pow", "prod", "real", "reciprocal", "remainder", "repeat", "reshape", "result_type", "roll", "round",
    "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square", "squeeze", "stack", "std", "subtract",
    "sum", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "tril", "triu", "trunc", "uint8", "uint16",
    "uint32", "uint64", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot",
    "where", "zeros", "zeros_like",
]  # fmt: skip
__dir__ = _listing(globals())

"""Tensor methods and symbols from the operator registry: `x.exp()`, `x.exp_()`, and Python's +, < and ~."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Signature, signature
from typing import Any

from .. import lowering, ops  # noqa: F401  (one lowers calls, the other registers the operators)
from ..core import call as calls
from ..core.factories import sizes
from ..dtypes import dtype, from_type
from ..errors import ArgumentTypeError, NotSupportedError, lacking
from ..ops.operator import REGISTRY, Operator
from . import argument_orders, interop

ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "det": "linalg_det", "divide": "div", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "inverse": "linalg_inv", "less": "lt", "less_equal": "le",
    "matrix_exp": "linalg_matrix_exp", "matrix_power": "linalg_matrix_power", "moveaxis": "movedim", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "sgn": "sign", "slogdet": "linalg_slogdet", "subtract": "sub",
    "true_divide": "div",
}  # fmt: skip
BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
NO_NAMES: dict[str, Any] = {}
OF_OUT = ("DtypeError if `out`", "DtypeError if the result cannot be cast to the type of `out`")  # starts of clauses
SECTIONS = ("Shapes:", "Host:", "Raises:", "Example:")
UNARY = {"neg": "neg", "abs": "abs"}


def install(cls: Any) -> None:
    """Add the operators' methods that a tensor class does not define itself, and Python's symbols."""
    own = {name for name, value in vars(cls).items() if not isinstance(value, Missing)}
    for operator in REGISTRY.values():
        if operator.method and operator.name not in own:
            put(cls, operator.name, _method(operator))
        if operator.inplace and f"{operator.name}_" not in own:
            put(cls, f"{operator.name}_", _inplace_method(operator.in_place()))
    for alias, name in ALIASES.items():
        operator = REGISTRY[name].called_as(alias)
        put(cls, alias, _method(operator))
        if operator.inplace:
            put(cls, f"{alias}_", _inplace_method(operator.in_place()))
    put(cls, "view", _view_method(REGISTRY["view"], REGISTRY["view_dtype"]))
    _install_symbols(cls)


def put(cls: Any, name: str, method: Any) -> None:
    """Add a function to a class as a method that can be pickled by name."""
    method.__module__, method.__name__, method.__qualname__ = cls.__module__, name, f"{cls.__name__}.{name}"
    setattr(cls, name, method)


def _install_symbols(cls: Any) -> None:
    for symbol, name in BINARY.items():
        put(cls, f"__{symbol}__", calls.binary_method_of(REGISTRY[name], partial(interop.with_array, symbol, False)))
        put(cls, f"__r{symbol}__", calls.reflected_method_of(REGISTRY[name], partial(interop.with_array, symbol, True)))
        if REGISTRY[name].inplace:
            put(cls, f"__i{symbol}__", calls.augmented_method_of(REGISTRY[name].in_place()))
    for name in COMPARISONS:
        operator = REGISTRY[name]
        put(cls, f"__{name}__", calls.binary_method_of(operator, partial(interop.compared, operator)))
    for symbol, name in UNARY.items():
        put(cls, f"__{symbol}__", _method(REGISTRY[name]))
    put(cls, "__invert__", _inverted)


def _inverted(self: Any) -> Any:
    """Invert all bits; for bool, logical not.  Raises ArgumentTypeError for floating point."""
    if self._layout.is_floating:
        raise ArgumentTypeError(
            f"~ is only implemented on integer and bool tensors, this is {self.describe()}",
            hint="call .long()",
            operator="invert",
        )
    return calls.call(REGISTRY["bitwise_not"], (self,), NO_NAMES)


def _method(operator: Operator) -> Any:
    make = argument_orders.method_of if argument_orders.has_orders(operator) else calls.method_of
    method = make(operator)
    method.__name__, method.__doc__ = operator.name, _without_out(operator.__doc__)
    method.__wrapped__ = AsMethod(operator)
    return method


def _without_out(text: str | None) -> str | None:
    """Return a function's documentation without the errors of `out`, which the method does not take."""
    before, title, section = (text or "").partition("Raises:")
    errors, example, after = section.partition("Example:")
    kept = errors
    for clause in OF_OUT:
        kept = kept.partition(clause)[0]
    if kept == errors:
        return text
    kept, margin = kept.rstrip(" ,\n"), errors[len(errors.rstrip()) :]
    return before + (f"{title}{kept}.{margin}" if kept else "") + example + after


class AsMethod:
    """The `__wrapped__` of a method: gives `inspect.signature` that of the function, with `self` and without `out`."""

    __slots__ = ("__wrapped__",)
    first = "self"

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function

    @property
    def __signature__(self) -> Signature:
        whole = signature(self.__wrapped__)
        first, *others = whole.parameters.values()
        return whole.replace(
            parameters=[first.replace(name=self.first), *[other for other in others if other.name != "out"]]
        )


class AsWriter(AsMethod):
    """As AsMethod, for a function that writes its first argument, `input`."""

    __slots__ = ()
    first = "input"


def inplace_function(operator: Operator) -> Any:
    """Make the function that writes the operator's result into its first argument."""
    function = _inplace(operator, f"torch.nn.functional.{operator.called}(x")
    function.__qualname__, function.__module__ = operator.called, "flambeau.nn.functional"
    function.__wrapped__ = AsWriter(operator)
    return function


def _inplace_method(operator: Operator) -> Any:
    method = _inplace(operator, f"x.{operator.called}(")
    method.__wrapped__ = AsMethod(operator)
    return method


def _inplace(operator: Operator, call: str) -> Any:
    make = argument_orders.inplace_method_of if argument_orders.has_orders(operator) else calls.inplace_method_of
    method = make(operator)
    method.__name__, method.__doc__ = operator.called, _inplace_text(operator, call)
    return method


def _inplace_text(operator: Operator, call: str) -> str | None:
    """Return the documentation of `name_`: the operator's own, if there is no `name`.

    call: the start of the call in the example.
    """
    shown = example(operator.name, call)
    if not (shown or operator.method or operator.function):
        return operator.__doc__
    summary, details = _summary_and_details(operator.__doc__ or "")
    target = "this tensor" if call.startswith("x.") else "`input`"
    has_shapes = len(operator.tensor_indexes) > 1  # one operand gives a result of its shape
    shape = f" ShapeError if the result's shape is not that of {target}," if has_shapes else ""
    return (
        f"In-place version of `{operator.name}`: stores the result in {target}, cast to its dtype, and returns it.\n\n"
        f"{operator.name}: {summary}\n{details}"
        f"Raises: AutogradError for a leaf that requires a gradient,{shape}\n"
        f"        DtypeError if the result cannot be cast to the dtype of {target}.{_further_errors(operator)}{shown}"
    )


def _further_errors(operator: Operator) -> str:
    """Return the lines on errors of an operator's docstring, without those of `out`, for the method in place."""
    _, _, section = (operator.__doc__ or "").partition("Raises:")
    lines = section.partition("Example:")[0].strip().split("\n")
    text = "\n        ".join([line.strip() for line in lines])
    for clause in OF_OUT:
        text = text.partition(clause)[0].rstrip(" ,.\n")
    return f"\n        Also the errors of `{operator.name}`:\n        {text}." if text else ""


def _summary_and_details(text: str) -> tuple[str, str]:
    """Return a docstring's first line, and without indentation the lines from there to the first section.

    These lines describe the arguments.
    """
    summary, _, rest = text.partition("\n")
    details = ""
    for line in rest.lstrip().split("\n"):
        line = line.strip()
        if not line or line.startswith(SECTIONS):
            break
        details += line + "\n"
    return summary, details


def _view_method(as_shape: Operator, as_dtype: Operator) -> Any:
    by_shape, by_dtype = calls.method_of(as_shape), calls.method_of(as_dtype)

    def call_view(self: Any, *shape: Any, **named: Any) -> Any:
        """Return a view of this tensor with another shape (one size may be -1), or of its bytes as another type.

        Shapes: as many elements as this tensor; for a type of another size, the last dimension grows or shrinks.
        Host:   returns at once.
        Raises: ShapeError if the number of elements differs, or the strides do not allow that shape without a copy.
        Example:
            >>> x = torch.arange(6)
            >>> x.view(2, -1)
            tensor([[0, 1, 2],
                    [3, 4, 5]])
            >>> torch.tensor([1.0]).view(torch.int32)
            tensor([1065353216], dtype=torch.int32)
        """
        if named or not shape:
            return (by_dtype if "dtype" in named else by_shape)(self, *shape, **named)
        if len(shape) == 1 and isinstance(shape[0], (dtype, type)):
            return calls.call(as_dtype, (self, from_type(shape[0])), NO_NAMES)
        return calls.call(as_shape, (self, sizes(shape, "view")), NO_NAMES)

    view = calls.sizes_method_of(as_shape, call_view)
    view.__name__, view.__doc__ = "view", call_view.__doc__
    view.__wrapped__ = AsMethod(as_shape)
    view.other_names = ("dtype",)  # keywords beside those of its signature
    return view


_NAMES = """
H acos acos_ acosh acosh_ adjoint aminmax angle apply_ arccos arccos_
arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argwhere as_strided_
as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ bincount
cauchy_ ccol_indices cdouble cfloat
chalf coalesce col_indices conj conj_physical conj_physical_ const_data_ptr
copysign copysign_ corrcoef cosh cosh_ count_nonzero cov crow_indices cummax cummin cumprod cumprod_ cumsum_
deg2rad deg2rad_ dense_dim dequantize diag diag_embed diagflat diagonal_scatter diff digamma digamma_ dim_order
dist dsplit eig erfc erfc_ erfinv erfinv_ exp2 exp2_ exponential_ fill_diagonal_ fix fix_ fliplr flipud float_power
float_power_ fmax fmin fmod fmod_ frac frac_ frexp gcd gcd_ geometric_ geqrf grad_dtype greater greater_
greater_equal greater_equal_ hardshrink hash_tensor heaviside heaviside_ histc histogram hsplit hypot hypot_ i0 i0_
igamma igamma_ igammac igammac_ imag index_reduce index_reduce_ indices int_repr ipu is_coalesced
is_complex is_conj is_cpu is_distributed is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_neg is_nested
is_nonzero is_quantized is_same_size is_set_to is_signed is_sparse is_sparse_csr is_vulkan is_xla is_xpu isneginf
isposinf isreal istft kthvalue lcm lcm_ ldexp ldexp_ less less_ less_equal less_equal_ lgamma lgamma_ log10
log10_ log2 log2_ log_normal_ logaddexp logaddexp2 logcumsumexp logit logit_ logsumexp lstsq mH
map2_ map_ masked_scatter masked_scatter_ median mode module_load moveaxis msort mtia
multinomial mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow_copy
new_empty_strided nextafter nextafter_ nonzero_static not_equal not_equal_ orgqr ormqr polygamma
polygamma_ positive prelu put put_ q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale
q_zero_point qscheme quantile rad2deg rad2deg_ real reinforce renorm renorm_
resize resize_ resize_as resize_as_ resize_as_sparse_ resolve_conj resolve_neg rot90 row_indices
scatter_reduce scatter_reduce_ select_scatter set_ sgn sgn_ signbit sinc sinc_ sinh sinh_ slice_inverse slice_scatter
smm solve sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_ split_with_sizes squeeze_ sspaddmm
stft storage_type swapaxes_ swapdims_ symeig t_ take tan tan_ tensor_split to_dense to_mkldnn to_padded_tensor
to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr transpose_
unique unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_ values vsplit xlogy
xlogy_ xpu
"""

INTERNAL = {  # internal attributes of tensors
    "address", "array", "describe", "device_index", "is_aligned", "shown_as", "strides",
}  # fmt: skip


REMOVED = {  # functions that PyTorch has removed, and what replaces them
    "eig": "torch.linalg.eigh for symmetric matrices; others have complex eigenvalues, which do not exist here",
    "lstsq": "torch.linalg.lstsq(A, B), whose operands have another order",
    "matrix_rank": "torch.linalg.matrix_rank",
    "solve": "torch.linalg.solve(A, B), whose operands have another order",
    "symeig": "torch.linalg.eigh, or torch.linalg.eigvalsh for the eigenvalues alone",
}


def removed(name: str) -> Callable[..., Any]:
    """Make a function that raises NotSupportedError, a RuntimeError, and names the replacement."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("PyTorch has removed this function", hint=f"use {REMOVED[name]}", operator=name)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"""Raise NotSupportedError (a RuntimeError): PyTorch has removed this function.

    Use {REMOVED[name]}.
    Example:
        >>> try:
        ...     torch.{name}(torch.eye(2))
        ... except RuntimeError as error:
        ...     print(str(error).startswith("{name}: "))
        True
    """
    return refuse


class Missing:
    """A descriptor, for a method that does not exist, that raises AttributeError with a hint."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        of = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        obj = owner if instance is None else instance
        text = f"{of} has no attribute {self.name!r}\nhint: {lacking(self.name)}"
        raise AttributeError(text, name=self.name, obj=obj)


def install_missing(cls: Any) -> None:
    """Add a `Missing` to a tensor class for each method that it lacks."""
    for name in _NAMES.split():
        if not hasattr(cls, name):
            setattr(cls, name, removed(name) if name in REMOVED else Missing(name))


def without(names: Any, cls: type) -> list[str]:
    """Filter names: drop those of `Missing` descriptors and of internal attributes."""
    missing = INTERNAL | {
        name for base in cls.__mro__ for name, value in vars(base).items() if isinstance(value, Missing)
    }
    return [name for name in names if name not in missing]


# Examples in the docstrings of in-place versions, which tests/test_docstrings.py runs.  By operator: the tensor `x`,
# the other arguments, what the call prints.
INPLACE_EXAMPLES = {
    "abs": ("torch.tensor([-1.5, 0.0, 2.0])", "", "tensor([1.5000, 0.0000, 2.0000])"),
    "acos": ("torch.tensor([0.0, 1.0, 2.0])", "", "tensor([1.5708, 0.0000,    nan])"),
    "acosh": ("torch.tensor([1.0, 2.0])", "", "tensor([0.0000, 1.3170])"),
    "add": ("torch.tensor([1.0, 2.0, 3.0])", "10", "tensor([11., 12., 13.])"),
    "addbmm": ("torch.ones(1, 1)", "torch.ones(2, 1, 3), torch.ones(2, 3, 1)", "tensor([[7.]])"),
    "addcdiv": (
        "torch.tensor([1.0, 1.0])", "torch.tensor([2.0, 3.0]), torch.tensor([4.0, 6.0]), value=2",
        "tensor([2., 2.])",
    ),
    "addcmul": (
        "torch.tensor([1.0, 1.0])", "torch.tensor([2.0, 3.0]), torch.tensor([4.0, 5.0]), value=0.5",
        "tensor([5.0000, 8.5000])",
    ),
    "addmm": (
        "torch.tensor([[100.0]])", "torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]), beta=0.5",
        "tensor([[61.]])",
    ),
    "addmv": ("torch.tensor([10, 20])", "torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 1])", "tensor([13, 27])"),
    "addr": (
        "torch.zeros(2, 2)", "torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])",
        "tensor([[ 1., 10.],\n        [ 2., 20.]])",
    ),
    "asin": ("torch.tensor([0.0, 1.0, 2.0])", "", "tensor([0.0000, 1.5708,    nan])"),
    "asinh": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.8814])"),
    "atan": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.7854])"),
    "atan2": (
        "torch.tensor([1.0, 1.0, -1.0])", "torch.tensor([1.0, -1.0, -1.0])",
        "tensor([ 0.7854,  2.3562, -2.3562])",
    ),
    "atanh": ("torch.tensor([0.0, 0.5, 1.0])", "", "tensor([0.0000, 0.5493,    inf])"),
    "baddbmm": ("torch.ones(1, 1, 1)", "torch.ones(1, 1, 3), torch.ones(1, 3, 1)", "tensor([[[4.]]])"),
    "bernoulli": ("torch.zeros(4)", "torch.tensor([0.0, 1.0, 1.0, 0.0])", "tensor([0., 1., 1., 0.])"),
    "bitwise_and": ("torch.tensor([0b1100, 0b1010])", "0b0110", "tensor([4, 2])"),
    "bitwise_left_shift": ("torch.tensor([1, 3])", "4", "tensor([16, 48])"),
    "bitwise_not": ("torch.tensor([0, 5])", "", "tensor([-1, -6])"),
    "bitwise_or": ("torch.tensor([0b1100, 0b1010])", "0b0001", "tensor([13, 11])"),
    "bitwise_right_shift": ("torch.tensor([48, -16])", "4", "tensor([ 3, -1])"),
    "bitwise_xor": ("torch.tensor([0b1100, 0b1010])", "0b1111", "tensor([3, 5])"),
    "ceil": ("torch.tensor([-1.5, 0.2, 2.0])", "", "tensor([-1.,  1.,  2.])"),
    "celu": ("torch.tensor([-1.0, 2.0])", "0.5", "tensor([-0.4323,  2.0000])"),
    "clamp": ("torch.tensor([-5.0, 0.5, 5.0])", "min=-1, max=1", "tensor([-1.0000,  0.5000,  1.0000])"),
    "clamp_max": ("torch.tensor([0.5, 5.0])", "1", "tensor([0.5000, 1.0000])"),
    "clamp_min": ("torch.tensor([-5.0, 0.5])", "0", "tensor([0.0000, 0.5000])"),
    "copysign": ("torch.tensor([1.0, -2.0])", "torch.tensor([-0.0, 3.0])", "tensor([-1.,  2.])"),
    "cos": ("torch.tensor([0.0, 3.14159265 / 3])", "", "tensor([1.0000, 0.5000])"),
    "cosh": ("torch.tensor([0.0, 1.0])", "", "tensor([1.0000, 1.5431])"),
    "cumprod": (
        "torch.tensor([[1, 2, 3], [4, 5, 6]])", "dim=1",
        "tensor([[  1,   2,   6],\n        [  4,  20, 120]])",
    ),
    "cumsum": ("torch.tensor([[1, 2, 3], [4, 5, 6]])", "dim=1", "tensor([[ 1,  3,  6],\n        [ 4,  9, 15]])"),
    "deg2rad": ("torch.tensor([0.0, 180.0])", "", "tensor([0.0000, 3.1416])"),
    "digamma": ("torch.tensor([0.5, 1.0, 5.0])", "", "tensor([-1.9635, -0.5772,  1.5061])"),
    "div": ("torch.tensor([7.0, -7.0])", "2", "tensor([ 3.5000, -3.5000])"),
    "elu": ("torch.tensor([-1.0, 2.0])", "", "tensor([-0.6321,  2.0000])"),
    "eq": ("torch.tensor([1, 2, 3])", "torch.tensor([1, 0, 3])", "tensor([1, 0, 1])"),
    "erf": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.8427])"),
    "erfc": ("torch.tensor([0.0, 1.0])", "", "tensor([1.0000, 0.1573])"),
    "erfinv": ("torch.tensor([0.0, 0.5, 1.0])", "", "tensor([0.0000, 0.4769,    inf])"),
    "exp": ("torch.tensor([0.0, 1.0])", "", "tensor([1.0000, 2.7183])"),
    "exp2": ("torch.tensor([0.0, 3.0])", "", "tensor([1., 8.])"),
    "expm1": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 1.7183])"),
    "float_power": (
        "torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)", "-1",
        "tensor([1.0000, 0.5000, 0.2500], dtype=torch.float64)",
    ),
    "floor": ("torch.tensor([-1.5, 0.2, 2.0])", "", "tensor([-2.,  0.,  2.])"),
    "floor_divide": ("torch.tensor([7, -7])", "2", "tensor([ 3, -4])"),
    "fmod": ("torch.tensor([7, -7])", "3", "tensor([ 1, -1])"),
    "frac": ("torch.tensor([1.0, 2.5, -3.25])", "", "tensor([ 0.0000,  0.5000, -0.2500])"),
    "gcd": ("torch.tensor([12, 7, 0])", "torch.tensor([18, 14, 5])", "tensor([6, 7, 5])"),
    "ge": ("torch.tensor([1, 2, 3])", "2", "tensor([0, 1, 1])"),
    "gt": ("torch.tensor([1, 2, 3])", "2", "tensor([0, 0, 1])"),
    "hardtanh": ("torch.tensor([-3.0, 0.5, 3.0])", "", "tensor([-1.0000,  0.5000,  1.0000])"),
    "heaviside": ("torch.tensor([-1.5, 0.0, 2.0])", "torch.tensor([0.5])", "tensor([0.0000, 0.5000, 1.0000])"),
    "hypot": ("torch.tensor([3.0])", "torch.tensor([4.0])", "tensor([5.])"),
    "i0": ("torch.tensor([0.0, 1.0, 2.0])", "", "tensor([1.0000, 1.2661, 2.2796])"),
    "igamma": ("torch.tensor([4.0, 4.0])", "torch.tensor([3.0, 4.0])", "tensor([0.3528, 0.5665])"),
    "igammac": ("torch.tensor([4.0, 4.0])", "torch.tensor([3.0, 4.0])", "tensor([0.6472, 0.4335])"),
    "index_add": ("torch.zeros(3)", "0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0])", "tensor([0., 5., 0.])"),
    "index_copy": ("torch.zeros(3)", "0, torch.tensor([2, 0]), torch.tensor([7.0, 9.0])", "tensor([9., 0., 7.])"),
    "index_fill": ("torch.tensor([1.0, 2.0, 3.0])", "0, torch.tensor([0, 2]), -1", "tensor([-1.,  2., -1.])"),
    "index_reduce": (
        "torch.ones(3)", '0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]), "prod"',
        "tensor([1., 6., 1.])",
    ),
    "lcm": ("torch.tensor([4, 7, 0])", "torch.tensor([6, 14, 5])", "tensor([12, 14,  0])"),
    "ldexp": ("torch.tensor([1.0, 3.0])", "torch.tensor([4, -1])", "tensor([16.0000,  1.5000])"),
    "le": ("torch.tensor([1, 2, 3])", "2", "tensor([1, 1, 0])"),
    "leaky_relu": ("torch.tensor([-1.0, 2.0])", "0.1", "tensor([-0.1000,  2.0000])"),
    "lerp": ("torch.tensor([0.0, 10.0])", "torch.tensor([100.0, 20.0]), 0.25", "tensor([25.0000, 12.5000])"),
    "lgamma": ("torch.tensor([0.5, 1.0, 5.0])", "", "tensor([0.5724, 0.0000, 3.1781])"),
    "log": ("torch.tensor([1.0, 2.718281828, 0.0])", "", "tensor([0., 1., -inf])"),
    "log10": ("torch.tensor([100.0, 0.5])", "", "tensor([ 2.0000, -0.3010])"),
    "log1p": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.6931])"),
    "log2": ("torch.tensor([8.0, 0.5])", "", "tensor([ 3., -1.])"),
    "logical_and": ("torch.tensor([0, 1, 2])", "torch.tensor([True, True, False])", "tensor([0, 1, 0])"),
    "logical_not": ("torch.tensor([0, 1, 2])", "", "tensor([1, 0, 0])"),
    "logical_or": ("torch.tensor([0, 1, 2])", "torch.tensor([False, False, True])", "tensor([0, 1, 1])"),
    "logical_xor": ("torch.tensor([0, 1, 2])", "torch.tensor([True, True, False])", "tensor([1, 0, 1])"),
    "logit": ("torch.tensor([0.25, 0.5, 1.0])", "", "tensor([-1.0986,  0.0000,     inf])"),
    "lt": ("torch.tensor([1, 2, 3])", "2", "tensor([1, 0, 0])"),
    "masked_fill": ("torch.tensor([0.1, 0.7, 0.2])", "x < 0.15, -1.0", "tensor([-1.0000,  0.7000,  0.2000])"),
    "masked_scatter": ("torch.tensor([1, 2, 3])", "x > 1, torch.tensor([8, 9])", "tensor([1, 8, 9])"),
    "mul": ("torch.tensor([1, 2, 3])", "10", "tensor([10, 20, 30])"),
    "mvlgamma": ("torch.tensor([2.0, 3.0])", "2", "tensor([0.4516, 1.5502])"),
    "nan_to_num": ('torch.tensor([float("nan"), 2.0, -float("inf")])', "neginf=-1.0", "tensor([ 0.,  2., -1.])"),
    "ne": ("torch.tensor([1, 2, 3])", "2", "tensor([1, 0, 1])"),
    "neg": ("torch.tensor([1, -2, 0])", "", "tensor([-1,  2,  0])"),
    "nextafter": (
        "torch.tensor([65504.0], dtype=torch.float16)", "torch.tensor([0.0], dtype=torch.float16)",
        "tensor([65472.], dtype=torch.float16)",
    ),
    "polygamma": ("torch.tensor([1.0, 0.5])", "1", "tensor([1.6449, 4.9348])"),
    "pow": ("torch.tensor([1.0, 2.0, 3.0])", "2", "tensor([1., 4., 9.])"),
    "put": (
        "torch.zeros(2, 2)", "torch.tensor([1, -1]), torch.tensor([5.0, 6.0])",
        "tensor([[0., 5.],\n        [0., 6.]])",
    ),
    "rad2deg": ("torch.tensor([0.0, 3.14159265])", "", "tensor([  0., 180.])"),
    "reciprocal": ("torch.tensor([4.0, 8.0])", "", "tensor([0.2500, 0.1250])"),
    "relu": ("torch.tensor([-1.0, 0.0, 2.0])", "", "tensor([0., 0., 2.])"),
    "remainder": ("torch.tensor([7, -7])", "3", "tensor([1, 2])"),
    "renorm": (
        "torch.tensor([[3.0, 4.0], [0.6, 0.8]])", "2, 0, 2.5",
        "tensor([[1.5000, 2.0000],\n        [0.6000, 0.8000]])",
    ),
    "round": ("torch.tensor([0.5, 1.5, 2.6])", "", "tensor([0., 2., 3.])"),
    "rsqrt": ("torch.tensor([4.0, 0.25])", "", "tensor([0.5000, 2.0000])"),
    "scatter": (
        "torch.zeros(2, 3)", "1, torch.tensor([[0], [2]]), 1.0",
        "tensor([[1., 0., 0.],\n        [0., 0., 1.]])",
    ),
    "scatter_add": (
        "torch.zeros(3)", "0, torch.tensor([0, 2, 2]), torch.tensor([1.0, 5.0, 6.0])",
        "tensor([ 1.,  0., 11.])",
    ),
    "scatter_reduce": (
        "torch.ones(3)", '0, torch.tensor([0, 2, 2]), torch.tensor([2.0, 3.0, 5.0]), "prod"',
        "tensor([ 2.,  1., 15.])",
    ),
    "selu": ("torch.tensor([-1.0, 2.0])", "", "tensor([-1.1113,  2.1014])"),
    "sigmoid": ("torch.tensor([0.0, 100.0])", "", "tensor([0.5000, 1.0000])"),
    "sign": ("torch.tensor([-3.0, 0.0, 0.5])", "", "tensor([-1.,  0.,  1.])"),
    "sin": ("torch.tensor([0.0, 3.14159265 / 6])", "", "tensor([0.0000, 0.5000])"),
    "sinc": ("torch.tensor([0.0, 0.5])", "", "tensor([1.0000, 0.6366])"),
    "sinh": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 1.1752])"),
    "sqrt": ("torch.tensor([4.0, 2.0, -1.0])", "", "tensor([2.0000, 1.4142,    nan])"),
    "square": ("torch.tensor([-3, 2])", "", "tensor([9, 4])"),
    "sub": ("torch.tensor([5, 7, 9])", "torch.tensor([1, 2, 3])", "tensor([4, 5, 6])"),
    "tan": ("torch.tensor([0.0, 3.14159265 / 4])", "", "tensor([0., 1.])"),
    "tanh": ("torch.tensor([0.0, 1.0, 100.0])", "", "tensor([0.0000, 0.7616, 1.0000])"),
    "threshold": ("torch.tensor([-1.0, 0.5, 2.0])", "0.5, 7.0", "tensor([7., 7., 2.])"),
    "tril": ("torch.ones(3, 3)", "", "tensor([[1., 0., 0.],\n        [1., 1., 0.],\n        [1., 1., 1.]])"),
    "triu": (
        "torch.ones(3, 3)", "diagonal=1",
        "tensor([[0., 1., 1.],\n        [0., 0., 1.],\n        [0., 0., 0.]])",
    ),
    "trunc": ("torch.tensor([-1.5, 0.2, 2.0])", "", "tensor([-1.,  0.,  2.])"),
    "xlogy": ("torch.tensor([0.0, 2.0])", "torch.tensor([0.0, 3.0])", "tensor([0.0000, 2.1972])"),
}  # fmt: skip


def example(name: str, call: str) -> str:
    """Return the example of the in-place version of an operator, or "" if it has none.

    call: the start of the call, such as "x.exp_(" or "torch.relu_(x".
    """
    if name not in INPLACE_EXAMPLES:
        return ""
    tensor, arguments, printed = INPLACE_EXAMPLES[name]
    separator = "" if call.endswith("(") or not arguments else ", "
    lines = [f">>> x = {tensor}", f">>> {call}{separator}{arguments})", *printed.split("\n")]
    return "\nExample:\n    " + "\n    ".join(lines)

"""Autocast: inside `with autocast(...)`, public calls run in the types that PyTorch's autocast lists assign to them.

- Each thread has its own mode.  While it is enabled for a device, `core.call` passes the arguments of the outermost
  call to `Mode.cast`.  The operators inside that call run in the types of the arguments that they get.
- A call in place, and one with out=, are not cast.
- Only floating tensors of the device are cast, and none of float64.  A cast is recorded as `to` is.
- Casts of leaves that require gradients to the lower-precision type are cached, until the thread leaves its outermost
  context.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar, cast

from .. import callers, host, transfer
from ..core import thread
from ..core.locks import whole
from ..core.operator import REGISTRY, Operator
from ..core.storage import Storage
from ..core.tensor import TensorBase
from ..core.versions import writes_to
from ..dtypes import bfloat16, dtype, float16, float32, float64
from ..errors import ArgumentError, ArgumentTypeError, DeviceNameError, DtypeError, ModeError, shown
from ..runtime.control import is_available, is_bf16_supported

Arguments = list[Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])
DEFAULTS = {  # the lower-precision type of each device type; flambeau has tensors on the first two
    "cpu": bfloat16, "cuda": float16, "hpu": bfloat16, "ipu": float16, "maia": bfloat16, "mps": float16,
    "mtia": float16, "privateuseone": float16, "xla": bfloat16, "xpu": float16,
}  # fmt: skip
LOWER_TYPES = (bfloat16, float16)
WITHOUT = ("fpga", "hip", "ideep", "lazy", "meta", "mkldnn", "opencl", "opengl", "ve", "vulkan")  # no autocast


# how a call's operands are cast


def _lower(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast every operand to the lower-precision type."""
    return mode.converted(bound, device_type, mode.types[device_type])


def _lower_layer(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Like `_lower`, but cast weight and bias in one launch where `keep_two` can."""
    _, weight, bias = bound
    if isinstance(weight, TensorBase) and isinstance(bias, TensorBase):
        mode.keep_two(weight, bias, mode.types[device_type])
    return mode.converted(bound, device_type, mode.types[device_type])


def _lower_contraction(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast every operand of einsum to the lower-precision type if it sums products, which are matrix products."""
    equation, operands = bound
    is_cast = not isinstance(equation, str) or _sums_products(equation, list(_tensors([operands])))
    return _lower(mode, device_type, operator, bound) if is_cast else bound


def _sums_products(equation: str, operands: list[TensorBase]) -> bool:
    """Return whether an equation of einsum sums over a label of two operands, both of another size than 1 there."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    counts: dict[str, int] = {}
    for term, operand in zip(left.split(","), operands):
        before, _, after = term.partition("...")
        shape = operand._layout.shape
        covered = len(shape) - len(before) - len(after)
        labels = [*before, *(f"...{at}" for at in range(covered, 0, -1)), *after]
        for label in {label for label, size in zip(labels, shape) if size != 1}:
            counts[label] = counts.get(label, 0) + 1
    kept = right if arrow else [letter for letter in left if left.count(letter) == 1]
    is_open = not arrow or "..." in right
    return any(count > 1 and label not in kept and not (is_open and "..." in label) for label, count in counts.items())


def _lower_power(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast a matrix to the lower-precision type if its power is a product; inverses have no such type."""
    is_cast = not isinstance(bound[1], int) or bound[1] > 1
    return _lower(mode, device_type, operator, bound) if is_cast else bound


def _lower_matrices(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast every operand to the lower-precision type, unless the product is a sum over all dimensions of both."""
    first, second, dims = bound[0], bound[1], bound[2] if len(bound) > 2 else 1
    count = dims if isinstance(dims, int) else len(dims[0]) if isinstance(dims, (list, tuple)) and dims else None
    if isinstance(count, int) and all(isinstance(each, TensorBase) for each in (first, second)):
        ranks = len(first._layout.shape), len(second._layout.shape)
        if ranks == (count, count) or (len(bound) == 2 and 0 in ranks):
            return bound
    return _lower(mode, device_type, operator, bound)


def _wide(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast every operand to float32."""
    return mode.converted(bound, device_type, float32)


def _wide_result(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Make the result float32, unless the call passes dtype=."""
    at = operator.index_of["dtype"]
    first = bound[0]
    if bound[at] is None and _is_cast(first, device_type) and first._layout.dtype is not float32:
        bound = bound[:]
        bound[at] = float32
    return bound


def _wide_loss(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast operands to float32; for half-precision logits and class indices alone, pass dtype=float32 instead."""
    at, logits, target, weight = operator.index_of["dtype"], *bound[:3]
    is_plain = weight is None and isinstance(target, TensorBase) and not target._layout.is_floating
    if (
        not is_plain
        or not _is_cast(logits, device_type)
        or logits._layout.dtype not in LOWER_TYPES
        or bound[at] is not None
    ):
        return _wide(mode, device_type, operator, bound)
    bound = bound[:]
    bound[at] = float32
    return bound


def _widest(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast every operand to float32 if one of them is float32, else to the lower-precision type."""
    lower = mode.types[device_type]
    operand_dtypes = {tensor._layout.dtype for tensor in _tensors(bound) if _is_cast(tensor, device_type)}
    others = operand_dtypes - {float32, lower}
    if others and float32 not in operand_dtypes:
        names = ", ".join(sorted(operand_dtype.name for operand_dtype in operand_dtypes))
        raise DtypeError(
            f"autocast to {lower.name} takes operands of {lower.name} and float32, got {names}",
            hint=f"convert them with .to(torch.{lower.name}) or .float()",
            operator=operator.called,
        )
    wanted = float32 if float32 in operand_dtypes else lower
    return mode.converted(bound, device_type, wanted)


def _resized(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast every operand to float32, except in mode "area"."""
    is_area = bound[operator.index_of["mode"]] == "area"
    return bound if is_area else _wide(mode, device_type, operator, bound)


def _padded(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast every operand to float32 in the modes "reflect" and "replicate"."""
    is_cast = bound[operator.index_of["mode"]] in ("reflect", "replicate")
    return _wide(mode, device_type, operator, bound) if is_cast else bound


def _divided(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    """Cast the divisor to float32 if the dividend is a number, which PyTorch multiplies by the reciprocal."""
    return bound if isinstance(bound[0], TensorBase) else _wide(mode, device_type, operator, bound)


def _refused(mode: Mode, device_type: str, operator: Operator, bound: Arguments) -> Arguments:
    if not any((tensor.device_index < 0) == (device_type == "cpu") for tensor in _tensors(bound)):
        return bound
    raise ModeError(
        "is unsafe to autocast: the logarithm of a sigmoid in half precision overflows",
        hint="use binary_cross_entropy_with_logits or BCEWithLogitsLoss on the values before the sigmoid, or compute "
        f'in float32 under torch.autocast("{device_type}", enabled=False)',
        operator=operator.called,
    )


Policy = Callable[["Mode", str, Operator, Arguments], Arguments]
PRODUCTS = """
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d corrcoef cov linalg_multi_dot linalg_vecdot linear matmul mm prelu scaled_dot_product_attention
"""
LOSSES = """
    binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss huber_loss kl_div l1_loss
    margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss
    soft_margin_loss triplet_margin_loss
"""


def _table(entries: Iterable[tuple[Policy, str]]) -> dict[str, Policy]:
    return {name: policy for policy, names in entries for name in names.split()}


# By device type, then by the name of an operator, or of a function that calls `operands`.
POLICIES: dict[str, dict[str, Policy]] = {
    "cuda": _table([
        (_lower, PRODUCTS + "addmv addr general_convolution gru gru_cell lstm lstm_cell mv rnn rnn_cell"),
        (_lower_layer, "linear"),
        (_lower_contraction, "einsum_of"),
        (_lower_power, "linalg_matrix_power"),
        (_wide, LOSSES + """
            acos asin cdist cosh cosine_similarity cumulative_trapezoid dist erfinv exp expm1 frobenius_norm
            gaussian_nll_loss group_norm layer_norm local_response_norm log log10 log1p log2 logsumexp
            multilabel_soft_margin_loss native_layer_norm norm_except_dim normalize nuclear_norm pairwise_distance pdist
            pow reciprocal renorm rms_norm rsqrt sinh softplus square tan trapezoid trapz
        """),
        (_wide_loss, "cross_entropy"),
        (_wide_result, """
            cumprod cumsum linalg_matrix_norm linalg_norm linalg_vector_norm log_softmax norm prod softmax sum
        """),
        (_widest, "addcdiv addcmul atan2 bilinear cross dot grid_sample index_put inner scatter_add tensordot vdot"),
        (_resized, "interpolate"),
        (_divided, "div"),
        (_refused, "binary_cross_entropy"),
    ]),
    "cpu": _table([
        (_lower, PRODUCTS + "addmm_activation affine_grid lstm"),
        (_lower_contraction, "einsum_of"),
        (_lower_power, "linalg_matrix_power"),
        (_lower_matrices, "inner tensordot"),
        (_wide, LOSSES + """
            adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cdist cholesky cholesky_inverse
            cholesky_solve ctc_loss fractional_maxima geqrf grid_sample linalg_cholesky linalg_cholesky_ex linalg_cond
            linalg_eigh linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq
            linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
            local_response_norm lu lu_solve max_pool3d nanquantile orgqr pinverse place_maxima prod qr
            quantile svd trace triangular_solve
        """),
        (_wide_loss, "cross_entropy"),
        (_widest, "cat index_copy stack"),
        (_padded, "pad"),
    ]),
}  # fmt: skip


def _is_cast(value: Any, device_type: str) -> bool:
    """Return whether a value is a tensor that autocast on a device type may cast."""
    if not isinstance(value, TensorBase) or (value.device_index < 0) != (device_type == "cpu"):
        return False
    layout = value._layout
    return layout.is_floating and layout.dtype is not float64


def _tensors(values: Iterable[Any]) -> Iterable[TensorBase]:
    """Yield the tensors among arguments, also in lists."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif type(value) in (list, tuple):
            yield from _tensors(value)


class _Cached(NamedTuple):
    """A cast of a leaf: valid while the leaf has the same memory and nothing wrote it."""

    leaf: TensorBase  # kept alive, so that its id is not reused
    storage: Storage
    writes: Any
    cast: TensorBase


class Mode:
    """Autocast of one thread.

    enabled: the policies of the device types that it is enabled for, by device type.
    types: the lower-precision type of each.
    nesting: the number of contexts that the thread is in.  caches: whether casts are cached.
    """

    __slots__ = ("_cache", "caches", "enabled", "nesting", "types")

    def __init__(self) -> None:
        self.enabled: dict[str, dict[str, Policy]] = {}
        self.types = dict(DEFAULTS)
        self.nesting = 0
        self.caches = True
        self._cache: dict[tuple[int, dtype, bool], _Cached] = {}

    def cast(self, operator: Operator, bound: Arguments) -> Arguments:
        """Return the arguments that a public call runs with."""
        for device_type, policies in self.enabled.items():
            policy = policies.get(operator.name)
            if policy is not None:
                bound = policy(self, device_type, operator, bound)
        return bound

    def converted(self, values: Arguments, device_type: str, wanted: dtype) -> Arguments:
        """Return values with the tensors among them, also in lists, cast to a type."""
        on_host, lower = device_type == "cpu", self.types[device_type]
        changed: Arguments | None = None
        for index, value in enumerate(values):
            if isinstance(value, TensorBase):
                layout = value._layout
                given = layout.dtype
                if given is wanted or not layout.is_floating or given is float64:
                    continue
                if (layout.device.index < 0) is not on_host:
                    continue
                is_leaf = value._requires_grad and value._grad_fn is None and value._base is None
                is_kept = is_leaf and given is float32 and wanted is lower and self.caches
                new: Any = self._kept(value, wanted) if is_kept else _cast(value, wanted)
            elif type(value) in (list, tuple) and value and isinstance(value[0], TensorBase):
                new = self.converted(list(value), device_type, wanted)
            else:
                continue
            if changed is None:
                changed = values[:]
            changed[index] = new
        return values if changed is None else changed

    def _kept(self, leaf: TensorBase, wanted: dtype) -> TensorBase:
        """Return the cached cast of a leaf."""
        now, storage = thread.here(), leaf._storage
        key = id(leaf), wanted, now.grad_enabled
        cached = self._cache.get(key)
        if now.inference or thread.machine().capture is not None:  # each replay of a graph performs the cast
            return _cast(leaf, wanted)
        if cached is not None and cached.storage is storage and cached.writes == writes_to(storage):
            return cached.cast
        result = _cast(leaf, wanted)
        self._cache[key] = _Cached(leaf, storage, writes_to(storage), result)
        return result

    def keep_two(self, one: TensorBase, other: TensorBase, wanted: dtype) -> None:
        """Cast two leaves on one GPU in one launch and cache both casts; does nothing if one is cached already."""
        if not self.caches or wanted is float32:
            return
        now = thread.here()
        keys = (id(one), wanted, now.grad_enabled), (id(other), wanted, now.grad_enabled)
        if keys[0] in self._cache or keys[1] in self._cache or one is other:
            return
        for leaf in (one, other):
            layout = leaf._layout
            if not 0 <= layout.device.index == one.device_index or layout.dtype is not float32:
                return
            if not (leaf._requires_grad and layout.dense) or leaf._grad_fn is not None or leaf._base is not None:
                return
        if now.inference or thread.machine().capture is not None:
            return
        casts = transfer.converted_two(one, other, wanted)
        for key, leaf, result in zip(keys, (one, other), casts):
            self._cache[key] = _Cached(leaf, leaf._storage, writes_to(leaf._storage), result)

    def enable(self, device_type: str, enabled: bool) -> None:
        """Enable or disable autocast on a device type."""
        others = {other: policies for other, policies in self.enabled.items() if other != device_type}
        self.enabled = others | {device_type: POLICIES.get(device_type, {})} if enabled else others
        thread.here().autocast = self if self.enabled else None

    def clear(self) -> None:
        """Drop the cached casts."""
        self._cache.clear()


def _cast(tensor: TensorBase, wanted: dtype) -> TensorBase:
    result: TensorBase = transfer.converted(tensor, wanted)
    return result


class _Local(threading.local):
    def __init__(self) -> None:
        self.mode = Mode()


_local = _Local()


# settings of the thread


def is_any_enabled() -> bool:
    """Return whether autocast is enabled for any device type."""
    return bool(_local.mode.enabled)


def operands(name: str, tensors: list[Any]) -> list[Any]:
    """Return the operands of a function made of operators, cast as those of one operator of this name."""
    mode = _local.mode
    for device_type, policies in mode.enabled.items():
        policy = policies.get(name)
        if policy is not None:
            tensors = policy(mode, device_type, REGISTRY["convert"], tensors)
    return tensors


def _kind(name: str, device_type: Any) -> str:
    """Return the device type that an argument names.  Raises: ArgumentTypeError, DeviceNameError."""
    if not isinstance(device_type, str):
        raise ArgumentTypeError(
            f"device_type must be a str, got {shown(device_type)}", hint='use "cuda" or "cpu"', operator=name
        )
    plain_type = device_type.partition(":")[0]
    if plain_type not in DEFAULTS and plain_type not in WITHOUT:
        raise DeviceNameError(
            f"Expected one of {', '.join(sorted((*DEFAULTS, *WITHOUT)))} device type at start of device string: "
            f"{device_type}",
            hint='use "cuda" or "cpu"',
            operator=name,
        )
    return plain_type


def _castable(name: str, device_type: Any) -> str:
    """Like `_kind`.  Raises DeviceNameError for a device type without autocast."""
    plain_type = _kind(name, device_type)
    if plain_type not in DEFAULTS:
        raise DeviceNameError(
            f"User specified an unsupported autocast device_type '{device_type}'",
            hint='use "cuda" or "cpu"',
            operator=name,
        )
    return plain_type


def _check_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"enabled must be bool, got {shown(value)}", hint="pass True or False", operator=name)


def is_autocast_available(device_type: str) -> bool:
    """Return whether `autocast` supports a device type.

    Raises: ArgumentTypeError if device_type is not a str, DeviceNameError if it is not a device type.
    Example:
        >>> torch.amp.is_autocast_available("cuda"), torch.amp.is_autocast_available("meta")
        (True, False)
    """
    return _kind("is_autocast_available", device_type) in DEFAULTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is enabled in this thread, for a device type.

    Raises: ArgumentTypeError if device_type is not a str, DeviceNameError if it is not a device type.
    Example:
        >>> with torch.autocast("cpu"):
        ...     print(torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda"))
        True False
    """
    return _castable("is_autocast_enabled", device_type) in _local.mode.enabled


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Enable or disable autocast in this thread: set_autocast_enabled(device_type, enabled), or (enabled) for "cuda".

    Raises: ArgumentTypeError unless it gets a str and a bool, DeviceNameError if device_type is not a device type.
    Example:
        >>> torch.set_autocast_enabled("cpu", True)
        >>> (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
        torch.bfloat16
        >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None and not isinstance(device_type, str):
        device_type, enabled = "cuda", device_type
    plain_type = _castable("set_autocast_enabled", device_type)
    _check_bool("set_autocast_enabled", enabled)
    _local.mode.enable(plain_type, enabled)


def get_autocast_dtype(device_type: str) -> dtype:
    """Return the type to which autocast casts in this thread, on a device type such as "cuda".

    Raises: ArgumentTypeError if device_type is not a str, DeviceNameError if it is not a device type.
    Example:
        >>> torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
        (torch.bfloat16, torch.float16)
    """
    return _local.mode.types[_castable("get_autocast_dtype", device_type)]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the lower-precision type of autocast in this thread, for a device type.

    Raises: ArgumentTypeError unless it gets a str and a dtype, DeviceNameError if device_type is not a device type.
    Example:
        >>> torch.set_autocast_dtype("cpu", torch.float16)
        >>> torch.get_autocast_dtype("cpu")
        torch.float16
        >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    plain_type = _castable("set_autocast_dtype", device_type)
    _check_dtype("set_autocast_dtype", dtype)
    _local.mode.types[plain_type] = dtype


def _check_dtype(name: str, value: object) -> None:
    if not isinstance(value, dtype):
        raise ArgumentTypeError(
            f"dtype must be torch.dtype, got {shown(value)}", hint="use torch.float16 or torch.bfloat16", operator=name
        )


def is_autocast_cache_enabled() -> bool:
    """Return whether autocast caches casts of parameters in this thread.

    Example:
        >>> torch.is_autocast_cache_enabled()
        True
    """
    return _local.mode.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether autocast caches casts of parameters in this thread.

    Raises: ArgumentTypeError if `enabled` is not a bool.
    Example:
        >>> torch.set_autocast_cache_enabled(False)
        >>> torch.is_autocast_cache_enabled()
        False
        >>> torch.set_autocast_cache_enabled(True)
    """
    _check_bool("set_autocast_cache_enabled", enabled)
    _local.mode.caches = enabled


def clear_autocast_cache() -> None:
    """Drop the casts that autocast cached in this thread.

    Example:
        >>> torch.clear_autocast_cache()
    """
    _local.mode.clear()


def autocast_increment_nesting() -> int:
    """Increase this thread's count of nested autocast contexts by one, and return the new count.

    Example:
        >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
        (1, 0)
    """
    _local.mode.nesting += 1
    return _local.mode.nesting


def autocast_decrement_nesting() -> int:
    """Decrease this thread's count of nested autocast contexts by one, and return the new count.

    Example:
        >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
        (1, 0)
    """
    _local.mode.nesting -= 1
    return _local.mode.nesting


# deprecated names, each for one device type

_FORMER = """Former name of `torch.{now}`; a call emits a DeprecationWarning.

Example:
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.{example}{shown}
"""


def _former(parameter: str, now: str, argument: str = "", shown: str = "") -> Callable[[_Function], _Function]:
    """Make a function warn that its name is deprecated; `argument` and `shown` belong to its example."""

    def decorate(function: _Function) -> _Function:
        name = function.__name__
        text = f"torch.{name}({parameter}) is deprecated. Please use torch.{now} instead."

        @wraps(function)
        def former(*args: Any) -> Any:
            callers.warn(text, DeprecationWarning)
            return function(*args)

        lines = f"\n    {shown}" if shown else ""
        former.__doc__ = _FORMER.format(now=now, example=f"{name}({argument})", shown=lines)
        return cast(_Function, former)

    return decorate


@_former("", "get_autocast_dtype('cuda')", shown="torch.float16")
def get_autocast_gpu_dtype() -> dtype:
    return get_autocast_dtype("cuda")


@_former("dtype", "set_autocast_dtype('cuda', dtype)", "torch.float16")
def set_autocast_gpu_dtype(dtype: dtype) -> None:
    set_autocast_dtype("cuda", dtype)


@_former("", "get_autocast_dtype('cpu')", shown="torch.bfloat16")
def get_autocast_cpu_dtype() -> dtype:
    return get_autocast_dtype("cpu")


@_former("dtype", "set_autocast_dtype('cpu', dtype)", "torch.bfloat16")
def set_autocast_cpu_dtype(dtype: dtype) -> None:
    set_autocast_dtype("cpu", dtype)


@_former("", "is_autocast_enabled('cpu')", shown="False")
def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


@_former("enabled", "set_autocast_enabled('cpu', enabled)", "False")
def set_autocast_cpu_enabled(enabled: bool) -> None:
    set_autocast_enabled("cpu", enabled)


@_former("", "get_autocast_dtype('ipu')", shown="torch.float16")
def get_autocast_ipu_dtype() -> dtype:
    return get_autocast_dtype("ipu")


@_former("dtype", "set_autocast_dtype('ipu', dtype)", "torch.float16")
def set_autocast_ipu_dtype(dtype: dtype) -> None:
    set_autocast_dtype("ipu", dtype)


@_former("", "is_autocast_enabled('ipu')", shown="False")
def is_autocast_ipu_enabled() -> bool:
    return is_autocast_enabled("ipu")


@_former("enabled", "set_autocast_enabled('ipu', enabled)", "False")
def set_autocast_ipu_enabled(enabled: bool) -> None:
    set_autocast_enabled("ipu", enabled)


@_former("", "get_autocast_dtype('xla')", shown="torch.bfloat16")
def get_autocast_xla_dtype() -> dtype:
    return get_autocast_dtype("xla")


@_former("dtype", "set_autocast_dtype('xla', dtype)", "torch.bfloat16")
def set_autocast_xla_dtype(dtype: dtype) -> None:
    set_autocast_dtype("xla", dtype)


@_former("", "is_autocast_enabled('xla')", shown="False")
def is_autocast_xla_enabled() -> bool:
    return is_autocast_enabled("xla")


@_former("enabled", "set_autocast_enabled('xla', enabled)", "False")
def set_autocast_xla_enabled(enabled: bool) -> None:
    set_autocast_enabled("xla", enabled)


# contexts


class autocast:  # noqa: N801
    """Run operators in lower precision where that is safe: a context manager or a decorator.

    Matrix products and convolutions run in `dtype`; losses, norms and functions with a large range run in float32; the
    guide on mixed precision lists them.  Call `backward()` outside the context: it uses the types of the forward pass.
    dtype: float16 or bfloat16; None is `get_autocast_dtype(device_type)`.
    enabled: False turns autocast off inside another context.
    cache_enabled: whether a parameter is cast once until the outermost context ends; None keeps the setting.
    Raises: ArgumentError, DeviceNameError for a bad device_type; DtypeError on a GPU without bfloat16;
            ArgumentTypeError if `dtype` is not a dtype, and if anything but a function is decorated.
    Example:
        >>> x, w = torch.ones(2, 2), torch.ones(2, 2)
        >>> with torch.autocast("cpu", dtype=torch.bfloat16):
        ...     y = x @ w
        >>> y
        tensor([[2., 2.],
                [2., 2.]], dtype=torch.bfloat16)
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ArgumentError(
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`",
                hint='use "cuda" or "cpu", such as tensor.device.type',
                operator="autocast",
            )
        plain_type = _castable("autocast", device_type)
        self.device = device_type
        self.fast_dtype = _local.mode.types[plain_type] if dtype is None else dtype
        self._cache_enabled = _local.mode.caches if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._can_enable(plain_type)
        self._kind = plain_type
        self._former: list[tuple[bool, Any, bool]] = []

    def _can_enable(self, device_type: str) -> bool:
        """Return whether device and type allow autocast; warn if not.  Raises DtypeError on a GPU without bfloat16."""
        if device_type == "cuda":
            if not is_available():
                callers.warn("autocast: CUDA is not available. Disabling autocast.")
                return False
            if self.fast_dtype is bfloat16 and not is_bf16_supported():
                raise DtypeError(
                    "Current CUDA Device does not support bfloat16. Please switch dtype to float16.",
                    hint="pass dtype=torch.float16",
                    operator="autocast",
                )
        elif self.fast_dtype not in LOWER_TYPES:
            name = self.device.upper()
            callers.warn(
                f"In {name} autocast, but the target dtype is not supported: {self.fast_dtype}. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of {', '.join(map(str, LOWER_TYPES))} currently."
            )
            return False
        return True

    @whole
    def __enter__(self) -> autocast:
        mode, device_type = _local.mode, self._kind
        _check_dtype("autocast", self.fast_dtype)
        self._former.append((device_type in mode.enabled, mode.types[device_type], mode.caches))
        mode.nesting += 1
        mode.types[device_type], mode.caches = self.fast_dtype, self._cache_enabled
        mode.enable(device_type, self._enabled)
        return self

    @whole
    def __exit__(self, *error: object) -> None:
        mode, device_type = _local.mode, self._kind
        mode.nesting -= 1
        if mode.nesting == 0:
            mode.clear()
        enabled, mode.types[device_type], mode.caches = self._former.pop()
        mode.enable(device_type, enabled)

    def __call__(self, function: _Function) -> _Function:
        if not callable(function):
            raise ArgumentTypeError(
                f"autocast()(func) requires a callable, but got {shown(function)}",
                hint="use it as a decorator, or as a context manager: with torch.autocast(device_type): ...",
                operator="autocast",
            )

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(_Function, wrapped)


class Kept(AbstractContextManager[None]):
    """A saved autocast state: inside the context, autocast is as it was in the thread that created this object."""

    def __init__(self) -> None:
        mode = _local.mode
        self._kept = mode.enabled, dict(mode.types), mode.caches
        self._former: list[Any] = []

    @whole
    def __enter__(self) -> None:
        mode = _local.mode
        self._former.append((mode.enabled, mode.types, mode.caches))
        mode.nesting += 1
        self._put(self._kept)

    @whole
    def __exit__(self, *error: object) -> None:
        mode = _local.mode
        mode.nesting -= 1
        if mode.nesting == 0:
            mode.clear()
        self._put(self._former.pop())

    def _put(self, state: Any) -> None:
        mode = _local.mode
        mode.enabled, types, mode.caches = state
        mode.types = dict(types)
        thread.here().autocast = mode if mode.enabled else None


# functions of users


def _cast_all(value: Any, device_type: str, wanted: dtype) -> Any:
    """Cast the tensors in nested values."""
    if isinstance(value, TensorBase):
        return transfer.to(value, value.device_index, wanted) if _is_cast(value, device_type) else value
    if isinstance(value, (str, bytes)) or host.is_numpy_loaded() and isinstance(value, host.np.ndarray):
        return value
    if isinstance(value, Mapping):
        return {
            _cast_all(key, device_type, wanted): _cast_all(entry, device_type, wanted) for key, entry in value.items()
        }
    if isinstance(value, Iterable):
        entries = (_cast_all(entry, device_type, wanted) for entry in value)
        return type(value)(entries) if isinstance(value, (list, tuple)) else entries
    return value


def _check_device_type(name: str, device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ArgumentError(
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`",
            hint='use "cuda" or "cpu"',
            operator=name,
        )


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of an `autograd.Function`, so that `custom_bwd` runs `backward` under the same autocast.

    device_type: the type of the devices, such as "cuda".
    cast_inputs: the dtype that tensors are cast to if autocast is enabled; `forward` then runs with autocast disabled.
    Raises: ArgumentError if device_type is not a str.
    Example:
        >>> class Product(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        ...     def forward(ctx, a, b):
        ...         ctx.save_for_backward(a, b)
        ...         return a @ b
        ...
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         a, b = ctx.saved_tensors
        ...         return grad @ b.T, a.T @ grad
        >>> with torch.autocast("cpu"):
        ...     print(Product.apply(torch.ones(1, 1), torch.ones(1, 1)).dtype)
        torch.float32
    """
    _check_device_type("custom_fwd", device_type)
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        is_enabled = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_enabled and cast_inputs is None
        if cast_inputs is None or not is_enabled:
            return fwd(*args, **kwargs)
        plain_type = _castable("custom_fwd", device_type)
        with autocast(device_type, enabled=False):
            return fwd(*_cast_all(args, plain_type, cast_inputs), **_cast_all(kwargs, plain_type, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of an `autograd.Function`, to run it under the autocast state of its `custom_fwd`.

    device_type: the type of the devices, such as "cuda".
    Raises: ArgumentError if device_type is not a str.
    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return x * 2
        ...
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         print(torch.is_autocast_enabled("cpu"))
        ...         return grad * 2
        >>> with torch.autocast("cpu"):
        ...     y = Double.apply(torch.ones(1, requires_grad=True))
        >>> y.backward()
        True
    """
    _check_device_type("custom_bwd", device_type)
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward


def amp_definitely_not_available() -> bool:
    """Return whether autocast on CUDA devices has no effect because there are no CUDA devices.

    Example:
        >>> torch.cuda.amp.common.amp_definitely_not_available()
        False
    """
    return not is_available()


FUNCTIONS = [
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "get_autocast_ipu_dtype", "get_autocast_xla_dtype",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "is_autocast_ipu_enabled",
    "is_autocast_xla_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype", "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled", "set_autocast_xla_dtype", "set_autocast_xla_enabled",
]  # fmt: skip
__all__ = ["autocast", *FUNCTIONS]

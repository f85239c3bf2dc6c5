"""Methods of tensors that are not operators.

- Queries whose result is a Python value, such as `is_tensor`, `numel` and `equal`, and the wait for a tensor's bytes.
- Functions of complex numbers, such as `conj`; all tensors are real.
- Conversions, such as `to` and `tolist`, loops over elements, indexing, `new_*`, exchange with other libraries.
- `install`, which gives the class these and the methods of other files.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from .. import dtypes, transfer
from .. import memory_formats as formats
from .. import strides as st
from ..autograd.mode import GradMode
from ..core import views as core_views
from ..core.call import method_of, sizes_method_of
from ..core.factories import resolve, sizes
from ..core.tensor import TensorBase
from ..dtypes import bool_, dtype
from ..errors import (
    ArgumentTypeError,
    AutogradError,
    DtypeError,
    FlambeauError,
    ValueRangeError,
    name_error,
    naming,
    shown,
)
from ..ops import compare, join, special, views
from ..ops.indexing import index_put_
from ..ops.operator import Operator
from ..runtime import device as devices
from ..runtime import pending_copies
from ..runtime.device import CPU_INDEX, cuda_index
from ..strides import broadcast
from . import checks, factories, indexing, inplace_views, interop, legacy, like_factories, meta, pickling, storages
from .operators import AsMethod, put


def is_tensor(obj: Any) -> bool:
    """Return whether `obj` is a tensor.

    Example:
        >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.0])
        (True, False)
    """
    return isinstance(obj, TensorBase)


def is_floating_point(input: TensorBase) -> bool:
    """Return whether a tensor's type is a floating point type.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.is_floating_point(torch.tensor([1.0])), torch.is_floating_point(torch.tensor([1]))
        (True, False)
    """
    checks.tensor("is_floating_point", "input", input)
    return input.dtype.is_floating_point


def is_complex(input: TensorBase) -> bool:
    """Return False, as no tensor is complex.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.is_complex(torch.ones(1))
        False
    """
    checks.tensor("is_complex", "input", input)
    return input.dtype.is_complex


def is_signed(input: TensorBase) -> bool:
    """Return whether a tensor's type can hold negative numbers.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.is_signed(torch.tensor([1])), torch.is_signed(torch.tensor([True]))
        (True, False)
    """
    checks.tensor("is_signed", "input", input)
    return input.dtype.is_signed


def is_conj(input: TensorBase) -> bool:
    """Return False: tensors are real, so no tensor is a view that still has to be conjugated.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.is_conj(torch.ones(1))
        False
    """
    checks.tensor("is_conj", "input", input)
    return False


def is_neg(input: TensorBase) -> bool:
    """Return False: negation is always computed at once, so no tensor is a view that still has to be negated.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.is_neg(torch.ones(1))
        False
    """
    checks.tensor("is_neg", "input", input)
    return False


def is_distributed(input: TensorBase) -> bool:
    """Return False: a tensor lies on one device.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.is_distributed(torch.ones(1))
        False
    """
    checks.tensor("is_distributed", "input", input)
    return False


def is_nonzero(input: Any) -> bool:
    """Return whether the value of a tensor of one element is not 0.

    Host:   waits if it is on a GPU.
    Raises: ValueRangeError unless the tensor has one element.
    Example:
        >>> torch.is_nonzero(torch.tensor([0.5])), torch.is_nonzero(torch.tensor(0))
        (True, False)
    """
    checks.tensor("is_nonzero", "input", input)
    with naming("is_nonzero"):
        return bool(input)


def is_same_size(input: TensorBase, other: TensorBase) -> bool:
    """Return whether two tensors have the same shape.

    Raises: ArgumentTypeError if `other` is not a tensor.
    Example:
        >>> torch.is_same_size(torch.ones(2), torch.zeros(2))
        True
    """
    _check_both("is_same_size", input, other)
    return input.shape == other.shape


def is_set_to(self: Any, tensor: Any) -> bool:
    """Return whether this tensor has the same storage, offset, shape and strides as `tensor`.

    Raises: ArgumentTypeError if `tensor` is not a tensor.
    Example:
        >>> x = torch.ones(2)
        >>> x.is_set_to(x.detach()), x.is_set_to(x[:1])
        (True, False)
    """
    _check_both("is_set_to", self, tensor)
    here, there = [(each.storage_offset(), each.shape, each.stride()) for each in (self, tensor)]
    return self.untyped_storage() == tensor.untyped_storage() and here == there


def get_device(input: Any) -> int:
    """Return the index of a tensor's CUDA device, -1 on the CPU.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.get_device(torch.ones(1))
        -1
    """
    checks.tensor("get_device", "input", input)
    index: int = input.get_device()
    return index


def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dimensions in the order of their strides, largest first, as a tuple.

    ambiguity_check: True raises ValueRangeError if sizes of 1, strides of 0 or equal strides allow another order.  A
    list of memory formats raises it in that case unless exactly one of them fits.
    Example:
        >>> torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).dim_order()
        (0, 2, 3, 1)
    """
    shape, strides = self.shape, self.strides
    allowed = tuple(ambiguity_check) if isinstance(ambiguity_check, (list, tuple)) else ()
    if not allowed:
        checks.flag("dim_order", "ambiguity_check", ambiguity_check)
    has_several = 1 in shape or any(a == b for a, b in pairwise(strides)) or 0 in strides
    fitting = [each for each in allowed if self.is_contiguous(memory_format=each)]
    if ambiguity_check and has_several and len(fitting) != 1:
        raise ValueRangeError(
            f"the tensor does not have unique dim order: {self.describe()} with strides {list(self.strides)}",
            hint="leave out ambiguity_check",
            operator="dim_order",
        )
    for format in (formats.contiguous_format, formats.channels_last, formats.channels_last_3d):
        if formats.lies_in(format, shape, strides):
            return tuple(reversed(format.order)) or tuple(range(len(shape)))
    return tuple(reversed(st.walk_order(shape, [strides])))


def is_inference(input: Any) -> bool:
    """Return whether a tensor was made in inference mode, so that autograd cannot save it for backward.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> with torch.inference_mode():
        ...     x = torch.ones(1)
        >>> torch.is_inference(x)
        True
    """
    checks.tensor("is_inference", "input", input)
    result: bool = input.is_inference()
    return result


def numel(input: TensorBase) -> int:
    """Return the number of elements of a tensor.

    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.numel(torch.zeros(2, 3))
        6
    """
    checks.tensor("numel", "input", input)
    return input.numel()


def equal(input: Any, other: Any) -> bool:
    """Return, as a bool, whether two tensors have the same shape and the same values; NaN equals nothing.

    Host:   waits if the tensors are on a GPU.
    Raises: DeviceMismatchError if the tensors are on different devices.
    Example:
        >>> x = torch.tensor([1, 2])
        >>> torch.equal(x, torch.tensor([1, 2])), torch.equal(x, torch.tensor([1, 3]))
        (True, False)
    """
    _check_both("equal", input, other)
    with naming("equal"):
        return bool(input.shape == other.shape and (input == other).all().item())


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return, per element, whether |input - other| <= atol + rtol * |other|; equal infinities are close.

    equal_nan: True makes NaN close to NaN.
    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: DtypeError if the types differ, ArgumentError for a negative tolerance.
    Example:
        >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-9, 2.1]))
        tensor([ True, False])
    """
    with naming("isclose"):
        return _isclose(input, other, rtol, atol, equal_nan)


def _check_both(name: str, input: Any, other: Any) -> None:
    checks.tensor(name, "input", input)
    checks.tensor(name, "other", other)


def _isclose(input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    _check_both("isclose", input, other)
    for what, tolerance in (("rtol", rtol), ("atol", atol)):
        checks.number("isclose", what, tolerance)
    if input.dtype is not other.dtype:
        raise DtypeError(
            f"{input.dtype.name} did not match {other.dtype.name}",
            hint=f"convert one, as in other.to({input.dtype})",
            operator="isclose",
        )
    if not (rtol >= 0 and atol >= 0):
        raise ValueRangeError(
            f"tolerances must not be negative, got rtol={rtol} and atol={atol}",
            hint="pass 0 or more",
            operator="isclose",
        )
    same = input == other
    if not input.dtype.is_floating_point:
        input, other = input.double(), other.double()
    room = other.abs() * rtol + atol
    difference = (input - other).abs()
    close = same | ((difference <= room) & difference.isfinite())
    return close | (input.isnan() & other.isnan()) if equal_nan else close


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether |input - other| <= atol + rtol * |other| for all elements, as a bool: see `isclose`.

    equal_nan: True makes NaN close to NaN.
    Host:   waits if the tensors are on a GPU.
    Raises: DtypeError if the types differ, ArgumentError for a negative tolerance.
    Example:
        >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-9]))
        True
    """
    with naming("allclose"):
        return bool(_isclose(input, other, rtol, atol, equal_nan).all().item())


def wait(self: Any) -> Any:
    """Wait for the non_blocking copies from GPUs into this CPU tensor, and return it.

    Does nothing for a tensor on a GPU.
    Host:   waits for these copies only, not for later work on their streams.
    Example:
        >>> x = torch.tensor([1.0, 2.0], device="cuda")
        >>> x.to("cpu", non_blocking=True).wait()
        tensor([1., 2.])
    """
    if self.numel() and self.device_index < 0:
        nbytes = st.extent(self.shape, self.strides) * self.element_size()
        pending_copies.wait_for(self._storage, self.address(), nbytes)
    return self


QUERY_METHODS = (
    equal, isclose, allclose, wait, is_complex, is_signed, is_conj, is_neg, is_distributed, is_nonzero, is_same_size,
    is_set_to, dim_order,
)  # fmt: skip
KINDS = (  # unsupported kinds of tensors: the flag `x.is_<kind>` is False
    "ipu", "maia", "mkldnn", "mps", "mtia", "nested", "quantized", "sparse", "sparse_csr", "vulkan", "xla",
    "xpu",
)  # fmt: skip


def real(input: Any) -> Any:
    """Return the tensor itself, which is real.

    Shapes: same as the input.
    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.real(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("real", "input", input)
    return input


def imag(input: Any) -> Any:
    """Raise DtypeError: only complex tensors have imaginary parts, and complex tensors are not supported.

    Example:
        >>> try:
        ...     torch.imag(torch.tensor([1.0]))
        ... except RuntimeError:
        ...     print("real")
        real
    """
    checks.tensor("imag", "input", input)
    raise DtypeError(
        f"imag is not implemented for tensors with non-complex dtypes, this is {input.describe()}",
        hint="use torch.zeros_like(...)",
        operator="imag",
    )


def conj(input: Any) -> Any:
    """Return the tensor itself: a real number is its own conjugate.

    Example:
        >>> torch.conj(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("conj", "input", input)
    return input


def conj_physical(input: Any, *, out: Any = None) -> Any:
    """Return the tensor itself: a real number is its own conjugate.

    out: a tensor that gets the values and is returned instead.
    Shapes: same as the input.
    Raises: ArgumentTypeError if the argument is not a tensor.
    Example:
        >>> torch.conj_physical(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("conj_physical", "input", input)
    return input if out is None else out.copy_(input)


def conj_physical_(input: Any) -> Any:
    """Return the tensor itself, unchanged: a real number is its own conjugate.

    Example:
        >>> torch.tensor([1.0, 2.0]).conj_physical_()
        tensor([1., 2.])
    """
    checks.tensor("conj_physical_", "input", input)
    return input


def resolve_conj(input: Any) -> Any:
    """Return the tensor itself: tensors are real, so there is no conjugation to resolve.

    Example:
        >>> torch.resolve_conj(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("resolve_conj", "input", input)
    return input


def resolve_neg(input: Any) -> Any:
    """Return the tensor itself: negation is always computed at once, so there is nothing to resolve.

    Example:
        >>> torch.resolve_neg(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("resolve_neg", "input", input)
    return input


def positive(input: Any) -> Any:
    """Return the tensor itself, `+input`.  Raises DtypeError for bool.

    Shapes: same as the input.
    Example:
        >>> torch.positive(torch.tensor([-1.0, 2.0]))
        tensor([-1.,  2.])
    """
    checks.tensor("positive", "input", input)
    if input.dtype is bool_:
        raise DtypeError("bool operands are not supported", hint="convert with .to(torch.uint8)", operator="positive")
    return input


COMPLEX_METHODS = conj, conj_physical_, positive, resolve_conj, resolve_neg
COMPLEX_PROPERTIES = {"real": property(real), "imag": property(imag)}


FLAGS = ("non_blocking", "copy")
TYPES = (dtype, type)  # classes of arguments that specify a type


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return this tensor moved to a device or converted to a type, or both; the tensor itself if nothing changes.

    Forms: to(dtype), to(device), to(device, dtype), to(other), with non_blocking=, copy= and memory_format=.
    other: a tensor whose type and device are used.  copy: True copies even if nothing changes.
    Shapes: same as this tensor.
    Host:   waits for a copy between the CPU and a GPU, unless it is non_blocking and from or to pinned memory.  The
            result of a non_blocking copy to the CPU lies in pinned memory.
    Raises: DeviceNameError or DeviceIndexError for a device that does not exist, ArgumentTypeError for an argument of
            another type, ShapeError if memory_format needs another number of dimensions.
    Example:
        >>> x = torch.tensor([1, 2])
        >>> x.to(torch.float32)
        tensor([1., 2.])
        >>> x.to("cpu") is x
        True
    """
    if len(args) != 1 or kwargs or type(args[0]) is not dtype:
        return _placed(self, args, kwargs)
    try:  # fast path for to(dtype), the usual call in derivatives
        return self if self._layout.dtype is args[0] else transfer.converted(self, args[0])
    except FlambeauError as error:
        name_error(error, "to")
        raise


def _placed(tensor: TensorBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    format = None
    if "memory_format" in kwargs:
        kwargs = dict(kwargs)
        format = kwargs.pop("memory_format")
        formats.check("to", format)
    device, wanted, non_blocking, copy = to_arguments(args, kwargs)
    try:
        if device is not None and meta.is_meta(tensor) and not meta.is_meant(device):
            meta.check_not_left("to", tensor)
        index = tensor.device_index if device is None else resolve(device)
        element_type = tensor._layout.dtype if wanted is None else wanted
        return transfer.to(tensor, index, element_type, non_blocking, copy, format)
    except FlambeauError as error:
        if device is not None and meta.is_meant(device):
            return _to_meta(tensor, tensor._layout.dtype if wanted is None else wanted, copy, format)
        name_error(error, "to")
        raise


def _to_meta(tensor: Any, wanted: dtype, copy: bool, format: Any) -> Any:
    """Return a tensor on meta, unknown to autograd unless it is there."""
    is_there = meta.is_meta(tensor)
    found = transfer.to(tensor if is_there else tensor.detach(), CPU_INDEX, wanted, False, copy or not is_there, format)
    return found if is_there else transfer.on_meta(found)


def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """Return this tensor on a CUDA device (None: the current one); the tensor itself if it is already there.

    non_blocking, memory_format: as for `to`.

    Shapes: same as this tensor.
    Raises: DeviceNameError or DeviceIndexError for a device that does not exist, ArgumentError for a device that is not
            a GPU.
    Example:
        >>> x = torch.tensor([1, 2])
        >>> x.cuda()
        tensor([1, 2], device='cuda:0')
    """
    try:
        index = cuda_index(device)
    except FlambeauError as error:
        name_error(error, "cuda")
        raise
    meta.check_not_left("cuda", self)
    if non_blocking is not False and non_blocking is not True:
        raise _no_flag("cuda", "non_blocking", non_blocking)
    if memory_format is not None:
        formats.check("cuda", memory_format)
    return transfer.to(self, index, self.dtype, non_blocking, False, memory_format)


def cpu(self: Any, memory_format: Any = None) -> Any:
    """Return this tensor on the CPU; the tensor itself if it is already there.

    Shapes: same as this tensor.
    Host:   waits if the tensor is on a GPU.
    Raises: ArgumentTypeError if memory_format is not a memory format.
    Example:
        >>> torch.tensor([1, 2]).cpu()
        tensor([1, 2])
    """
    meta.check_not_left("cpu", self)
    if memory_format is not None:
        formats.check("cpu", memory_format)
    return transfer.to(self, CPU_INDEX, self.dtype, False, False, memory_format)


def to_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, bool]:
    """Parse the arguments of `to`: return (device, dtype, non_blocking, copy), None for those not passed.

    Raises: ArgumentTypeError for an unknown keyword, a wrong dtype, or positional arguments that match no form of `to`.
    """
    device = wanted = None
    non_blocking = copy = False
    if len(args) == 1 and type(args[0]) is str:  # the usual call
        device = args[0]
    elif args:
        kwargs = _with_positions(args, kwargs)
    for name, value in kwargs.items():
        if name == "copy":
            copy = _flag(name, value)
        elif name == "non_blocking":
            non_blocking = _flag(name, value)
        elif name == "device":
            if device is not None and value is not None:
                raise _twice(name, args, kwargs)
            device = device if value is None else value
        elif name == "dtype":
            wanted = value
        else:
            raise ArgumentTypeError(
                f"got an unexpected keyword argument {name!r}",
                hint="use device=, dtype=, non_blocking= and copy=",
                operator="to",
            )
    if wanted is not None and not isinstance(wanted, dtype):
        wanted = checks.as_dtype("to", wanted)
    return device, wanted, non_blocking, copy


def _with_positions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Merge positional arguments into the keywords."""
    named = _named(args)
    for name in named:
        if kwargs.get(name) is not None:
            raise _twice(name, args, kwargs)
    return {**kwargs, **named}


def _named(args: tuple[Any, ...]) -> dict[str, Any]:
    """Return positional arguments as keyword arguments."""
    first, rest = args[0], list(args[1:])
    named = {}
    if isinstance(first, TensorBase):
        named = {"device": first.device, "dtype": first.dtype}
    elif isinstance(first, TYPES):
        named = {"dtype": first}
    elif not isinstance(first, bool):
        named = {"device": first}
        if rest and (rest[0] is None or isinstance(rest[0], TYPES)):
            named["dtype"] = rest.pop(0)
    if not named or len(rest) > len(FLAGS) or not all([isinstance(value, bool) for value in rest]):
        raise _no_form(args)
    named.update(zip(FLAGS, rest))
    return named


def _flag(name: str, value: Any) -> bool:
    if value is not True and value is not False:
        raise _no_flag("to", name, value)
    return value


def _no_flag(name: str, what: str, value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"{what} must be a bool, got {shown(value)}", hint="pass True or False", operator=name)


def _twice(what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentTypeError:
    """Return the error for a value passed both by position and by keyword."""
    received = ", ".join([shown(value) for value in args] + [f"{name}={shown(kwargs[name])}" for name in kwargs])
    return ArgumentTypeError(
        f"received ({received}), which passes {what} twice", hint="leave out one of them", operator="to"
    )


def _no_form(args: tuple[Any, ...]) -> ArgumentTypeError:
    received = ", ".join([shown(value) for value in args])
    return ArgumentTypeError(
        f"received ({received}), which matches none of its forms",
        hint="use to(device, dtype), to(dtype) or to(other), and non_blocking= and copy= by name",
        operator="to",
    )


CONVERSIONS = {
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "bool": dtypes.bool_,
}


def _conversion(name: str, element_type: dtype) -> Callable[[Any], Any]:
    def method(self: Any, *, memory_format: Any = None) -> Any:
        if memory_format is not None:
            formats.check(name, memory_format)
        return transfer.to(self, self.device_index, element_type, False, False, memory_format)

    method.__name__ = name
    method.__doc__ = (
        f"Return this tensor converted to {element_type.name}; the tensor itself if it has that type.\n\n"
        "memory_format: the format of the result; None keeps the strides.\n"
        "Shapes: same as this tensor.\nHost:   returns at once.\n"
        "Raises: ArgumentTypeError if memory_format is not a memory format.\n"
        f"Example:\n    >>> torch.tensor([0, 1]).{name}().dtype\n    {element_type}\n"
    )
    return method


def _several(operator: Operator) -> Any:
    """Make a method that takes numbers as separate arguments or in one sequence."""

    call = method_of(operator)

    def call_several(self: Any, *values: Any, **named: Any) -> Any:
        if not values:
            return call(self, **named)
        return call(self, sizes(values, operator.name), **named)

    method = sizes_method_of(operator, call_several)
    method.__name__, method.__doc__ = operator.name, operator.__doc__
    method.__wrapped__ = AsMethod(operator)
    return method


def _of_function(function: Callable[..., Any]) -> Any:
    """Make a method from a function that takes the tensor as `input`."""

    def call_function(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method: Any = call_function
    method.__doc__, method.__wrapped__ = function.__doc__, AsMethod(function)
    return method


def new(self: Any, *args: Any, device: Any = None) -> Any:
    """Return a tensor of this one's type and device: uninitialized if args are sizes, else with the given data.

    args: sizes, as ints or a Size; or data: a list of values, a NumPy array, or a tensor of this type, whose memory the
    result shares.
    Host:   waits for data on a GPU, else returns at once.
    Raises: ArgumentTypeError for sizes that are not ints, and a tensor of another type; ValueRangeError for a negative
            size.
    Example:
        >>> torch.tensor([1, 2]).new([3, 4])
        tensor([3, 4])
    """
    with naming("new"):
        index = self.device_index if device is None else devices.resolve(device)
    return legacy.constructed(self.dtype, index, args, "new")


def where(self: Any, condition: Any, other: Any) -> Any:
    """Return a tensor with this one's values where `condition` is true, and those of `other` elsewhere.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if the condition is not bool.
    Example:
        >>> x = torch.tensor([-1.0, 2.0])
        >>> x.where(x > 0, 0.0)
        tensor([0., 2.])
    """
    return compare.where(condition, self, other)


def _never(self: Any) -> bool:
    return False


def polygamma(self: Any, n: int) -> Any:
    """Compute the n-th derivative of `digamma` at each element.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError for a negative n, ArgumentTypeError if it is not an int.
    Example:
        >>> torch.tensor([1.0, 0.5]).polygamma(1)
        tensor([1.6449, 4.9348])
    """
    return special.polygamma(self, n)


# methods that call a Python function for every element of a CPU tensor


def _check_loop(name: str, function: Any, tensors: tuple[Any, ...]) -> None:
    first = tensors[0]
    for other in tensors:
        checks.tensor(name, "other", other)
        if other.is_cuda:
            raise ArgumentTypeError(
                f"is only implemented on CPU tensors, this is {other.describe()}", hint="call .cpu()", operator=name
            )
        if other.dtype is not first.dtype:
            raise ArgumentTypeError(
                f"expected a tensor of {first.dtype.name}, got {other.describe()}", hint="convert it", operator=name
            )
        if other.requires_grad:
            raise AutogradError(
                f"can't be called on a tensor that requires grad: {other.describe()}",
                hint="use detach() first",
                operator=name,
            )
    checks.function(name, "callable", function)


def _called_for_each(name: str, function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
    target = tensors[0]
    _check_loop(name, function, tensors)
    broadcast([each.shape for each in tensors], name)
    rows = [each.expand(target.shape).reshape(-1).tolist() for each in tensors]
    values = [function(*row) for row in zip(*rows)]
    with GradMode(False):
        target.copy_(factories.tensor(values, dtype=target.dtype).reshape(target.shape))
    return target


def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
    """Replace every element of this CPU tensor by `callable(element)`, and return the tensor.

    This is slow, because each element needs a Python call; operators compute whole tensors at once.
    Raises: ArgumentTypeError on a GPU, AutogradError for a tensor that requires a gradient.
    Example:
        >>> torch.tensor([1, 2]).apply_(lambda value: value * 10)
        tensor([10, 20])
    """
    return _called_for_each("apply_", callable, (self,))


def map_(self: Any, other: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Replace every element of this CPU tensor by `callable(element, element of other)`, and return the tensor.

    Shapes: `other` broadcasts to this tensor.
    Raises: ArgumentTypeError if `other` is not a tensor of the same dtype, either tensor is on a GPU, or `callable`
            cannot be called; ShapeError if the shapes do not broadcast; AutogradError for a tensor that requires a
            gradient.
    Example:
        >>> torch.tensor([1, 2]).map_(torch.tensor([3, 4]), lambda own, other: own * other)
        tensor([3, 8])
    """
    return _called_for_each("map_", callable, (self, other))


def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
    """Replace every element of this CPU tensor by `callable(element, x element, y element)`, and return the tensor.

    Shapes: x and y broadcast to this tensor.
    Raises: ArgumentTypeError if x or y is not a tensor of the same dtype, a tensor is on a GPU, or `callable` cannot be
            called; ShapeError if the shapes do not broadcast; AutogradError for a tensor that requires a gradient.
    Example:
        >>> one = torch.ones(2)
        >>> torch.zeros(2).map2_(one, one, lambda own, x, y: own + x + y)
        tensor([2., 2.])
    """
    return _called_for_each("map2_", callable, (self, x, y))


def install(cls: Any) -> None:
    """Add these methods to a tensor class."""
    for name, element_type in CONVERSIONS.items():
        put(cls, name, _conversion(name, element_type))
    for operator in (
        join.flip, join.repeat, join.tile, views.broadcast_to, views.expand, views.permute, views.reshape,
    ):  # fmt: skip
        put(cls, operator.name, _several(operator))
    own = apply_, map_, map2_, new, polygamma, where
    groups = own, like_factories.NEW_METHODS, inplace_views.METHODS, QUERY_METHODS, COMPLEX_METHODS, storages.METHODS
    for method in (each for group in groups for each in group):
        if method.__code__.co_varnames[0] == "input":
            put(cls, method.__name__, _of_function(method))
        else:
            setattr(cls, method.__name__, method)
    put(cls, "conj_physical", _of_function(conj))  # the function takes out=
    put(cls, "index_put_", _of_function(index_put_))
    for kind in KINDS:
        setattr(cls, f"is_{kind}", property(_never, doc=f"False: there are no tensors of the kind {kind}."))
    for name, found in COMPLEX_PROPERTIES.items():
        setattr(cls, name, found)
    put(cls, "__getitem__", core_views.getter(indexing.get))
    put(cls, "__setitem__", indexing.put)
    put(cls, "__delitem__", indexing.delete)
    cls.__array__, cls.__array_wrap__ = interop.as_array, interop.from_result
    cls.__dlpack__, cls.__dlpack_device__ = interop.dlpack, interop.dlpack_device
    cls.__array_namespace__, cls.to_device = interop.array_namespace, interop.to_device
    cls.__cuda_array_interface__ = property(interop.cuda_array_interface)
    cls.__reduce_ex__, cls.__deepcopy__ = pickling.reduce, pickling.deepcopy

"""Parameter and Buffer: tensors that a module registers on assignment; and uninitialized ones without a shape."""

from __future__ import annotations

from functools import partial
from typing import Any, Self, cast

from ..autograd.mode import GradMode
from ..core.tensor import TensorBase, empty_tensor, new_tensor_of
from ..dtypes import default
from ..errors import ArgumentTypeError, ShapeError, ValueRangeError, shown
from ..importer import listing
from ..ops.operator import REGISTRY
from ..tensor import checks, factories, subclass
from ..tensor.gradient import want
from ..tensor.operators import BINARY, COMPARISONS, UNARY
from ..tensor.tensor import Tensor, TensorClass


def _source(data: Any, name: str) -> Any:
    if data is None:
        return empty_tensor((0,), default.floating, -1)
    if not isinstance(data, TensorBase):
        raise ArgumentTypeError(
            f"data must be a Tensor or None, not {type(data).__name__}: {shown(data)}",
            hint="make one with torch.tensor(...)",
            operator=name,
        )
    return data


class _MarkedClass(TensorClass):  # type: ignore[misc]  # the stub of Tensor leaves its metaclass out
    """The metaclass of Parameter and Buffer: tensors with the attribute that `_mark` names count as instances."""

    def __instancecheck__(cls, value: Any) -> bool:
        if super().__instancecheck__(value):
            return True
        mark = vars(cls).get("_mark")
        return mark is not None and isinstance(value, TensorBase) and getattr(value, mark, False)


def _made(cls: Any, source: Any) -> Any:
    """Return a tensor of `cls` with the memory of `source`, or a marked one of the source's class if it is a user's."""
    mark = vars(cls).get("_mark")
    if mark is None or not subclass.is_overriding(type(source)):
        parameter = new_tensor_of(cls, source._storage, source._layout, source._offset)
        parameter._counter = source._counter
        return parameter
    tensor: Any = subclass.make_subclass(type(source), source)
    setattr(tensor, mark, True)
    return tensor


class Parameter(Tensor, metaclass=_MarkedClass, overrides=False):
    """A tensor that becomes a parameter of the module that it is assigned to.

    The parameter shares the memory of `data`; None stands for an empty tensor.  Results of operations on parameters are
    plain tensors.  If `data` is of a subclass of Tensor, so is the parameter.
    Shapes: the shape of `data`.
    Raises: ArgumentTypeError if `data` is not a tensor, DtypeError if requires_grad is True and `data` is not floating
            point.
    Example:
        >>> net = torch.nn.Module()
        >>> net.scale = torch.nn.Parameter(torch.ones(2))
        >>> [name for name, _ in net.named_parameters()]
        ['scale']
    """

    _mark = "_is_param"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        parameter = _made(cls, _source(data, "Parameter"))
        want(parameter, requires_grad, "Parameter")
        return cast(Self, parameter)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        with GradMode(False):
            parameter = type(self)(self.clone(), self.requires_grad)
        memo[id(self)] = parameter
        return parameter

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor, metaclass=_MarkedClass, overrides=False):
    """A tensor that becomes a buffer of the module that it is assigned to: part of its state, and not trained.

    persistent: whether it is part of the module's state_dict.
    Shapes: the shape of `data`.
    Raises: ArgumentTypeError if `data` is not a tensor or None.
    Example:
        >>> net = torch.nn.Module()
        >>> net.mean = torch.nn.Buffer(torch.zeros(2))
        >>> net.state_dict()["mean"]
        tensor([0., 0.])
    """

    _mark = "_is_buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        source = _source(data, "Buffer")
        buffer = _made(cls, source)
        buffer.requires_grad_(source.requires_grad)
        buffer.persistent = persistent
        return cast(Self, buffer)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        with GradMode(False):
            buffer = type(self)(self.clone(), persistent=self.persistent)
        buffer.requires_grad_(self.requires_grad)
        memo[id(self)] = buffer
        return buffer


# without a shape yet

MOVES = ("to", "cuda", "cpu", "float", "double", "half", "bfloat16")  # methods whose result has no shape either
USABLE = (*MOVES, "copy_", "detach")  # operators that may be called as methods
MEASURES = (  # methods that read sizes, values or memory
    "numel", "nelement", "stride", "tolist", "numpy", "item", "clone", "is_contiguous", "contiguous", "storage",
    "storage_offset", "untyped_storage",
)  # fmt: skip
SYMBOLS = (*(f"__{name}__" for name in (*BINARY, *UNARY, *COMPARISONS)), *(f"__r{name}__" for name in BINARY))


class _Uninitialized:
    """Mixin of tensors that have a dtype and a device, but no shape until `materialize` is called.

    Until then, the tensor's methods raise ValueRangeError, except those that move or convert it.
    Example:
        >>> isinstance(torch.nn.LazyLinear(2).weight, torch.nn.parameter.UninitializedTensorMixin)
        True
    """

    cls_to_become: Any = Tensor
    _on: Any  # (device, dtype) -> such a tensor on that device, of that type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor a shape and uninitialized memory; it becomes a Parameter or a Buffer.

        device, dtype: by default those of the constructor.
        Raises: ArgumentTypeError for a shape that is not a list of ints, ValueRangeError for a negative size,
                DeviceNameError for an unknown device, DtypeError for a dtype that is not floating point if the tensor
                requires a gradient.
        Example:
            >>> param = torch.nn.UninitializedParameter()
            >>> param.materialize((2, 3))
            >>> type(param).__name__, param.shape
            ('Parameter', torch.Size([2, 3]))
        """
        own: Any = self
        sizes = checks.listed("materialize", "shape", "ints", shape)
        own.data = factories.empty(sizes, device=device or own.device, dtype=dtype or own.dtype)
        own.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise ShapeError(
            "Can't access the shape of an uninitialized parameter or buffer",
            hint="call the module once, so that it makes its parameters",
            operator="shape",
        )

    def share_memory_(self) -> Any:
        """Raise ShapeError: a tensor without a shape has no memory to share.

        Example:
            >>> torch.nn.UninitializedParameter().share_memory_()
            Traceback (most recent call last):
            flambeau.errors.ShapeError: share_memory_: Can't share memory on an uninitialized parameter or buffer
            hint: call the module once, so that it makes its parameters
        """
        raise ShapeError(
            "Can't share memory on an uninitialized parameter or buffer",
            hint="call the module once, so that it makes its parameters",
            operator="share_memory_",
        )

    def __getattribute__(self, name: str) -> Any:
        if name in MEASURES or (name.removesuffix("_") in REGISTRY and name not in USABLE):
            raise _unusable(name)
        return partial(_moved, name, self) if name in MOVES else super().__getattribute__(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        result = memo[id(self)] = self._on(self.device, self.dtype)
        return result

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def _unusable(name: str) -> ValueRangeError:
    return ValueRangeError(
        f"Attempted to use an uninitialized parameter in {name}",
        hint="call the module once with an input, so that it makes its parameters",
        operator=name,
    )


def _refuse(name: str) -> Any:
    def symbol(self: Any, *_: Any) -> Any:
        raise _unusable(name)

    return symbol


def _moved(name: str, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    result = getattr(Tensor, name)(tensor, *args, **kwargs)
    return result if result is tensor else tensor._on(result.device, result.dtype)


for _name in SYMBOLS:
    setattr(_Uninitialized, _name, _refuse(_name))


UninitializedTensorMixin = _Uninitialized  # PyTorch's name, which packages import
_ParameterMeta = type(Parameter)


class UninitializedParameter(_Uninitialized, Parameter, overrides=False):
    """A parameter without a shape; `materialize` makes it a Parameter.  See `nn.LazyLinear`.

    Raises: DtypeError if requires_grad is True and dtype is not floating point, DeviceNameError for an unknown device;
            ValueRangeError for operations before `materialize`.
    Example:
        >>> weight = torch.nn.UninitializedParameter()
        >>> weight
        <UninitializedParameter>
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, weight.shape
        ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        return super().__new__(cls, factories.empty(0, device=device, dtype=dtype), requires_grad)

    def _on(self, device: Any, dtype: Any) -> Self:
        return type(self)(self.requires_grad, device, dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, str(self.device), self.dtype)


class UninitializedBuffer(_Uninitialized, Buffer, overrides=False):
    """A buffer without a shape; `materialize` makes it a Buffer.

    persistent: whether state_dict contains the buffer.

    Raises: ArgumentTypeError for a dtype of another type, DeviceNameError for an unknown device; ValueRangeError for
            operations before `materialize`.
    Example:
        >>> mean = torch.nn.UninitializedBuffer()
        >>> mean.materialize((3,))
        >>> mean.shape
        torch.Size([3])
    """

    cls_to_become = Buffer

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Self:
        buffer = super().__new__(cls, factories.empty(0, device=device, dtype=dtype), persistent=persistent)
        buffer.requires_grad_(requires_grad)
        return buffer

    def _on(self, device: Any, dtype: Any) -> Self:
        return type(self)(self.requires_grad, device, dtype, self.persistent)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, str(self.device), self.dtype, self.persistent)


def is_lazy(param: Any) -> bool:
    """Return whether a tensor is an uninitialized parameter or buffer: one that has no shape yet.

    Example:
        >>> layer = torch.nn.LazyLinear(2)
        >>> torch.nn.parameter.is_lazy(layer.weight)
        True
    """
    return isinstance(param, _Uninitialized)


__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]  # fmt: skip
__dir__ = listing(globals())

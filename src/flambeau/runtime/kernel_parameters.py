"""Parameters of a program's kernels: from the signature and from the program's description; checks of arguments."""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Mapping
from math import isinf, prod
from typing import Any

from ..core.tensor import TensorBase, address_of
from ..dtypes import BOOL, BY_NAME, FLOATING, dtype
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceMismatchError,
    DtypeError,
    NamingError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..kernel import Scalar
from .kernel_signature import CParameter, Signature, names_in, signatures

NAME = "cuda.kernel"
DESCRIPTION = re.compile(r"(?:(r|w|rw)\b)? ?([a-z]\w*)? ?(?:\[([^\[\]]*)\])?")
DESCRIPTION_HINT = (
    'describe an array as "r", "w" or "rw", with a type and sizes if they are needed, as in "w float32[rows, n]"; '
    'a number as its type, as in "int32"'
)


class ArrayParameter:
    """An array: how the kernel accesses it, and its type and sizes where they are declared.

    sizes: numbers, or the names of integer parameters; None for the tensor's own shape.
    may_have_gaps: whether tensors need not be contiguous.
    """

    __slots__ = ("access", "alignment", "dtype", "may_have_gaps", "name", "sizes")

    def __init__(
        self, name: str, access: str, dtype: dtype | None, sizes: tuple[int | str, ...] | None, alignment: int
    ) -> None:
        self.name = name
        self.access = access
        self.dtype = dtype
        self.sizes = sizes
        self.alignment = alignment
        self.may_have_gaps = False

    def __repr__(self) -> str:
        sizes = "" if self.sizes is None else f"[{', '.join(map(str, self.sizes))}]"
        return f"{self.name}: {self.access}{f' {self.dtype.name}' if self.dtype else ''}{sizes}"

    def address(self, kernel: str, value: Any, device: int) -> int:
        """Return the address of an argument that fits; 0 for None, a null pointer."""
        if value is None:
            return 0
        if not isinstance(value, TensorBase):
            raise ArgumentTypeError(
                f"{self.name} must be a tensor, got {shown(value)}",
                hint="pass a tensor; None is a null pointer",
                operator=kernel,
            )
        if value.device_index != device and not (value.device_index < 0 and value._storage.is_pinned):
            raise DeviceMismatchError(
                f"{self.name} is {value.describe()}, and the kernel runs on cuda:{device}",
                hint=f'move it there: {self.name}.to("cuda:{device}")',
                operator=kernel,
            )
        if self.dtype is not None and value.dtype is not self.dtype:
            raise DtypeError(
                f"{self.name} must be {self.dtype.name}, got {value.describe()}",
                hint=f"convert it: {self.name}.to(torch.{self.dtype.name})",
                operator=kernel,
            )
        if not self.may_have_gaps and not value.is_contiguous():
            raise ShapeError(
                f"{self.name} is not contiguous: {value.describe()} has strides {list(value.strides)}, "
                "and the kernel gets only an address",
                hint=f"pass {self.name}.contiguous()",
                operator=kernel,
            )
        address = address_of(value) if value.numel() else 0
        if address % self.alignment:
            raise ArgumentError(
                f"{self.name} begins at {address:#x}, and the kernel accesses {self.alignment} bytes at a time, "
                f"at multiples of {self.alignment}",
                hint=f"pass {self.name}.clone()",
                operator=kernel,
            )
        return address

    def shape(self, kernel: str, value: TensorBase, numbers: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape that the kernel accesses, of a tensor that has as many elements."""
        if self.sizes is None:
            return tuple(value.shape)
        sizes = tuple(numbers[size] if isinstance(size, str) else size for size in self.sizes)
        if min(sizes, default=1) < 0 or prod(sizes) > value.numel():
            raise ShapeError(
                f"{self.name} is {value.describe()} and has {value.numel()} elements; the kernel accesses "
                f"[{', '.join(map(str, self.sizes))}] = {list(sizes)}",
                hint="correct the size, or pass a tensor that is large enough",
                operator=kernel,
            )
        return sizes


class NumberParameter:
    """A number, by value."""

    __slots__ = ("_struct", "dtype", "name")

    def __init__(self, name: str, dtype: dtype) -> None:
        self.name = name
        self.dtype = dtype
        self._struct = Scalar(name, dtype.name).struct

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype.name}"

    def number(self, kernel: str, value: Any) -> Any:
        """Return an argument as the kernel receives it."""
        try:
            if isinstance(value, TensorBase):
                raise TypeError
            if self.dtype.category == FLOATING:
                plain = float(operator.index(value)) if hasattr(value, "__index__") else value.__float__()
            else:
                plain = operator.index(value) if self.dtype.category != BOOL else _boolean(value)
            number = self._struct.unpack(self._struct.pack(plain))[0]
            if isinf(number) and not isinf(plain):
                raise OverflowError
            return number
        except (TypeError, AttributeError):
            wanted = {BOOL: "a bool", FLOATING: "a number"}.get(self.dtype.category, "an int")
            hint = "pass tensor.item()" if isinstance(value, TensorBase) else f"the parameter is {self.dtype.name}"
            raise ArgumentTypeError(
                f"{self.name} must be {wanted}, got {shown(value)}", hint=hint, operator=kernel
            ) from None
        except (OverflowError, struct.error):
            raise ValueRangeError(
                f"{self.name} is {shown(value)}, which {self.dtype.name} cannot hold",
                hint="use a wider parameter",
                operator=kernel,
            ) from None


Parameter = ArrayParameter | NumberParameter


def _boolean(value: Any) -> bool:
    if operator.index(value) not in (0, 1):
        raise OverflowError
    return bool(value)


def _described(name: str, text: Any, known: CParameter | None) -> Parameter:
    """Return the parameter that a description and the signature make together; either may be missing."""
    if isinstance(text, dtype):
        text = text.name
    match = DESCRIPTION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ArgumentError(
            f"parameters[{name!r}] is {shown(text)}, which is no description", hint=DESCRIPTION_HINT, operator=NAME
        )
    access, type_name, sizes = match.groups()
    if type_name and type_name not in BY_NAME:
        raise ArgumentError(
            f"parameters[{name!r}] is {text!r}, and {type_name!r} is no type",
            hint=f"use one of {', '.join(BY_NAME)}",
            operator=NAME,
        )
    data_type = BY_NAME[type_name] if type_name else None
    is_pointer = known.is_pointer if known else bool(access)
    if known is not None:
        _compare(name, text, access, data_type, known, is_pointer)
        data_type = data_type or known.dtype
        access = access or ("r" if known.is_const else "rw")
    if is_pointer:
        alignment = known.alignment if known else data_type.itemsize if data_type else 1
        return ArrayParameter(name, access, data_type, _sizes(name, text, sizes), alignment)
    if data_type is None or data_type.name == "bfloat16" or sizes is not None:
        declared = f"is {known.declaration!r} in the source" if known else f"is described as {text!r}"
        raise ArgumentError(
            f"the parameter {name} {declared}, which is not a number that can be passed",
            hint=f'describe its type, as in parameters={{"{name}": "int32"}}; pass a structure through a pointer',
            operator=NAME,
        )
    return NumberParameter(name, data_type)


def _compare(
    name: str, text: str, access: str | None, data_type: dtype | None, known: CParameter, is_pointer: bool
) -> None:
    """Raise ArgumentError where a description contradicts the signature."""
    if text and bool(access) != is_pointer and (access or data_type):
        problem = "an array" if is_pointer else "a number"
    elif data_type and known.dtype and data_type is not known.dtype:
        problem = f"of type {known.dtype.name}"
    elif access in ("w", "rw") and known.is_const:
        problem = "read-only"
    else:
        return
    raise ArgumentError(
        f"parameters[{name!r}] is {text!r}, but the source has {known.declaration!r}, which is {problem}",
        hint=DESCRIPTION_HINT,
        operator=NAME,
    )


def _sizes(name: str, text: str, sizes: str | None) -> tuple[int | str, ...] | None:
    if sizes is None:
        return None
    parts = [part.strip() for part in sizes.split(",")] if sizes.strip() else []
    if not all(part.isdecimal() or part.isidentifier() for part in parts):
        raise ArgumentError(
            f"parameters[{name!r}] is {text!r}: a size is a number or the name of an integer parameter",
            hint=DESCRIPTION_HINT,
            operator=NAME,
        )
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def signature_of(source: str, name: str, is_described: bool) -> Signature | None:
    """Return a kernel's signature.  None if a macro makes it, and the program describes the parameters."""
    found = signatures(source)
    plain = name.partition("<")[0].rpartition("::")[2].strip()
    matching = [signature for signature in found if signature.name == plain]
    if not matching:
        if is_described and plain in names_in(source):
            return None
        names = ", ".join(dict.fromkeys(signature.name for signature in found))
        raise NamingError(
            f"the source has no __global__ function {name!r}; it has {names or 'none'}",
            hint="name a kernel of the source; describe the parameters if a macro makes it",
            operator=NAME,
        )
    signature = matching[-1]
    if signature.is_template and "<" not in name:
        raise ArgumentError(
            f"{name}, at line {signature.line} of the source, is a template, which has no code of its own",
            hint=f'name one of its instances, as in "{name}<float>"',
            operator=NAME,
        )
    if "<" in name:
        signature = signature.instance(name.partition("<")[2].rpartition(">")[0])
    return signature._replace(is_c=any(each.is_c for each in matching))


def parameters_of(signature: Signature | None, name: str, described: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return a kernel's parameters.  Raises ArgumentError, NamingError."""
    if signature is None:
        parameters = [_described(key, text, None) for key, text in described.items()]
    else:
        names = [each.name or f"argument {index}" for index, each in enumerate(signature.parameters)]
        unknown = [key for key in described if key not in names]
        if unknown:
            raise NamingError(
                f"parameters names {', '.join(map(repr, unknown))}; {name} has {', '.join(names) or 'none'}",
                hint="use the names of the source",
                operator=NAME,
            )
        parameters = [
            _described(key, described.get(key, ""), known) for key, known in zip(names, signature.parameters)
        ]
    integers = {each.name for each in parameters if isinstance(each, NumberParameter) and not _is_float(each.dtype)}
    for parameter in parameters:
        if isinstance(parameter, ArrayParameter):
            missing = [size for size in parameter.sizes or () if isinstance(size, str) and size not in integers]
            if missing:
                raise NamingError(
                    f"the sizes of {parameter.name} name {', '.join(missing)}, which is no integer parameter of {name}",
                    hint=f"its integer parameters are {', '.join(sorted(integers)) or 'none'}",
                    operator=NAME,
                )
    return tuple(parameters)


def _is_float(data_type: dtype) -> bool:
    return data_type.category == FLOATING

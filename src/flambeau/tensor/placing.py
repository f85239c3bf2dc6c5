"""`to`, `cuda` and `cpu`: where a tensor lives, and as what type."""

from __future__ import annotations

from typing import Any

from .. import memory_formats as formats
from .. import transfer
from ..core.tensor import TensorBase
from ..dtypes import dtype
from ..errors import ArgumentTypeError, FlambeauError, name_error, shown
from ..runtime.device import CPU_INDEX, cuda_index, resolve
from . import checks

FLAGS = ("non_blocking", "copy")
TYPES = (dtype, type)  # of what says which type


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """This tensor on a device, as a type, or like another tensor; itself if nothing changes.

    Forms: to(dtype), to(device), to(device, dtype), to(other), with non_blocking=, copy= and memory_format=.
    Host: waits, except non_blocking from pinned memory, to pinned memory, or between devices.
    Example:
        >>> x = torch.tensor([1, 2])
        >>> x.to(torch.float32)
        tensor([1., 2.])
        >>> x.to("cpu") is x
        True
    """
    return _placed(self, args, kwargs)


def _placed(tensor: TensorBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    format = None
    if "memory_format" in kwargs:
        kwargs = dict(kwargs)
        format = kwargs.pop("memory_format")
        formats.check("to", format)
    device, wanted, non_blocking, copy = to_arguments(args, kwargs)
    try:
        index = tensor.device_index if device is None else resolve(device)
        kind = tensor.layout.dtype if wanted is None else wanted
        return transfer.to(tensor, index, kind, non_blocking, copy, format)
    except FlambeauError as error:
        name_error(error, "to")
        raise


def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """This tensor on a CUDA device, the current one if none is named; itself if it is there.

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
    if non_blocking is not False and non_blocking is not True:
        raise _no_flag("cuda", "non_blocking", non_blocking)
    if memory_format is not None:
        formats.check("cuda", memory_format)
    return transfer.to(self, index, self.dtype, non_blocking, False, memory_format)


def cpu(self: Any, memory_format: Any = None) -> Any:
    """This tensor on the CPU.

    Host: waits if it is on a GPU.
    Example:
        >>> torch.tensor([1, 2]).cpu()
        tensor([1, 2])
    """
    if memory_format is not None:
        formats.check("cpu", memory_format)
    return transfer.to(self, CPU_INDEX, self.dtype, False, False, memory_format)


def to_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, bool]:
    """What `to(*args, **kwargs)` asks for: (device, dtype, non_blocking, copy), None for what it does not name.

    Raises: ArgumentTypeError for an unknown keyword, a dtype that is none, or positions that are no form of `to`.
    """
    device = wanted = None
    non_blocking = copy = False
    if len(args) == 1 and type(args[0]) is str:  # what most calls say
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
        wanted = checks.kind("to", wanted)
    return device, wanted, non_blocking, copy


def _with_positions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords, and what the positions say."""
    named = _named(args)
    for name in named:
        if kwargs.get(name) is not None:
            raise _twice(name, args, kwargs)
    return {**kwargs, **named}


def _named(args: tuple[Any, ...]) -> dict[str, Any]:
    """What positions say, by the names of keywords."""
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
    if not named or len(rest) > len(FLAGS) or not all([isinstance(each, bool) for each in rest]):
        raise _no_form(args)
    named.update(zip(FLAGS, rest))
    return named


def _flag(name: str, value: Any) -> bool:
    if value is not True and value is not False:
        raise _no_flag("to", name, value)
    return value


def _no_flag(name: str, what: str, value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"{what} must be a bool, got {shown(value)}", hint="give True or False", operator=name)


def _twice(what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentTypeError:
    """What is raised where a position and a keyword say the same thing."""
    received = ", ".join([shown(each) for each in args] + [f"{name}={shown(kwargs[name])}" for name in kwargs])
    return ArgumentTypeError(
        f"received ({received}), which says {what} twice", hint="leave out one of them", operator="to"
    )


def _no_form(args: tuple[Any, ...]) -> ArgumentTypeError:
    received = ", ".join([shown(each) for each in args])
    return ArgumentTypeError(
        f"received ({received}), which is none of its forms",
        hint="use to(device, dtype), to(dtype) or to(other), and non_blocking= and copy= by name",
        operator="to",
    )

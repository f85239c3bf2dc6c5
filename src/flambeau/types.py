"""torch.types: names for the kinds of arguments."""

import os as _os
from collections.abc import Sequence as _Sequence
from typing import IO as _IO
from typing import Any as _Any
from typing import Union as _Union

from .importer import listing as _listing
from .runtime.device import device as _device
from .strides import Size
from .tensor import Tensor, TypedStorage, UntypedStorage

Number = _Union[int, float, bool]  # noqa: UP007  (PyTorch's form, which `isinstance` refuses too)
Device = _Union[_device, str, int, None]  # noqa: UP007
FileLike = _Union[str, _os.PathLike[str], _IO[bytes]]  # noqa: UP007
Storage = _Union[TypedStorage, UntypedStorage]  # noqa: UP007
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
_TensorOrTensors = _Union[Tensor, _Sequence[Tensor]]  # noqa: UP007
_size = _Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_dtype, _layout, _int, _float, _bool = _Any, _Any, int, float, bool

__all__ = [
    "BoolLikeType", "Device", "FileLike", "FloatLikeType", "IntLikeType", "Number", "Size", "Storage", "Tensor",
]  # fmt: skip
__dir__ = _listing(globals())

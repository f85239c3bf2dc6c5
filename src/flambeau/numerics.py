"""Settings of numerical precision and determinism: torch.backends and related functions.

- `fp32_precision` is a tree: generic, then cuda (also called cudnn), then its operations matmul, conv and rnn.  A node
  that is "none" inherits from its parent.  conv and rnn are "tf32" until they or a parent are set.
- `allow_tf32` and `set_float32_matmul_precision` are the older names.  Reading one after a newer name was set to a
  different value is an error.
- Matrix products follow the matmul node, convolutions the conv node, recurrent layers on a GPU the rnn node.
- Half types are always summed in float32.  Settings that allow less precision are stored without effect, as are
  those of libraries that flambeau does not use.
- Every kernel is deterministic, so the mode of deterministic algorithms only keeps recurrent layers from cuDNN.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from . import config
from .core import thread
from .core.locks import whole
from .core.tensor import TensorBase
from .dtypes import float16, float32, float64
from .errors import ArgumentTypeError, ModeError, NotSupportedError, shown
from .ops import convolution, linalg, recurrent
from .runtime import device as devices

INHERIT, IEEE, TF32 = "none", "ieee", "tf32"
GENERIC, CUDA, MATMUL, CONV, RNN = "generic", "cuda", "matmul", "conv", "rnn"
PARENT = {CUDA: GENERIC, MATMUL: CUDA, CONV: CUDA, RNN: CUDA}
LEVELS = ("highest", "high", "medium")
ERROR_MODES = ("default", "warn", "error")
BLAS_LIBRARIES = ("default", "cublas", "cublaslt", "ck")
LINALG_LIBRARIES = ("default", "cusolver", "magma")
DEBUG_HINT = "expected one of `default`, `warn`, `error`, or 0, 1, 2"
LARGEST_LIMIT = (1 << 31) - 1
BENCHMARK_LIMIT = 10  # PyTorch's default
MIXED = "use either fp32_precision or the older names, not both"


class Switches:
    """The settings of the process.

    precisions: the value of each node of the tree.  level, cudnn_tf32: the values set by the older names.
    """

    def __init__(self) -> None:
        self.level = LEVELS[1] if config.tf32_override() else LEVELS[0]
        self.cudnn_tf32 = True
        self.precisions: dict[str, str | None] = dict.fromkeys((GENERIC, CUDA, MATMUL), INHERIT)
        self.precisions |= {CONV: None, RNN: None}  # not set yet
        self.deterministic = False
        self.warn_only = False
        self.libraries = config.preferred_libraries()  # the preferred library, by subject
        if self.level != LEVELS[0]:
            self.set(MATMUL, TF32)

    def get(self, level_name: str) -> str:
        """Return the precision of a node: its own setting, else that of its parent."""
        level: str | None = level_name
        while level is not None:
            setting = self.precisions[level]
            if setting is not None and setting != INHERIT:
                return setting
            level = PARENT.get(level)
        return TF32 if self.precisions[level_name] is None else INHERIT

    def set(self, name: str, value: str) -> None:
        """Set the precision of a node.  Raises ModeError for an unknown value."""
        if value not in (INHERIT, IEEE, TF32):
            raise ModeError(
                f"Unknown precision: {value!r}", hint="use 'ieee', 'tf32' or 'none'", operator="fp32_precision"
            )
        self.precisions[name] = value
        self.apply()

    def apply(self) -> None:
        """Pass the precisions to the operators."""
        linalg.allow_tf32.value = self.get(MATMUL) == TF32
        convolution.allow_tf32.value = self.get(CONV) == TF32
        recurrent.allow_tf32.value = self.get(RNN) == TF32

    def matmul_is_tf32(self) -> bool:
        """Return whether matrix products use TF32.  Raises ModeError if the older and the newer names disagree."""
        is_tf32 = self.get(MATMUL) == TF32
        if is_tf32 != (self.level != LEVELS[0]):
            raise ModeError(
                "a mix of the legacy and new APIs was used: fp32_precision of matmul is "
                f"{self.get(MATMUL)!r}, the matmul precision {self.level!r}",
                hint=MIXED,
                operator="allow_tf32",
            )
        return is_tf32

    def convolutions_are_tf32(self) -> bool:
        """Return whether convolutions use TF32.  Raises ModeError if the older and the newer names disagree."""
        conv, rnn = self.get(CONV), self.get(RNN)
        if (conv == TF32, rnn == TF32) != (self.cudnn_tf32, self.cudnn_tf32):
            raise ModeError(
                f"a mix of the legacy and new APIs was used: fp32_precision of conv is {conv!r}, "
                f"of rnn {rnn!r}, and allow_tf32 was {self.cudnn_tf32}",
                hint=MIXED,
                operator="cudnn.allow_tf32",
            )
        return self.cudnn_tf32


switches = Switches()


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 matrix products: "highest", or "high" and "medium", which both allow TF32.

    Another value is ignored with a warning.
    Example:
        >>> torch.set_float32_matmul_precision("high")
        >>> torch.backends.cuda.matmul.allow_tf32
        True
        >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in LEVELS:
        warnings.warn(
            f"{precision} is not one of {', '.join(map(repr, LEVELS))}; the current precision is kept", stacklevel=2
        )
        return
    switches.set(MATMUL, IEEE if precision == LEVELS[0] else TF32)
    switches.level = precision


def get_float32_matmul_precision() -> str:
    """Return the precision of float32 matrix products: "highest", "high" or "medium".

    Raises: ModeError if `torch.backends.cuda.matmul.fp32_precision` was set to a different precision.
    Example:
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    switches.matmul_is_tf32()
    return switches.level


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Set whether recurrent layers avoid cuDNN; every other operator is always deterministic.

    warn_only: stored, and has no effect.
    Raises: ArgumentTypeError if `mode` is not a bool.
    Example:
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise ArgumentTypeError(
            f"mode must be bool, not {type(mode).__name__}",
            hint="use True or False",
            operator="use_deterministic_algorithms",
        )
    switches.deterministic, switches.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` turned deterministic algorithms on.

    Example:
        >>> torch.are_deterministic_algorithms_enabled()
        False
    """
    return switches.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether nondeterministic operators only warn: the `warn_only` of `use_deterministic_algorithms`.

    Example:
        >>> torch.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return switches.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set the mode of deterministic algorithms by name: "default" or 0, "warn" or 1, "error" or 2.

    The mode is passed to use_deterministic_algorithms: False for "default", else True, with warn_only for "warn".
    Raises: ModeError for an unknown value, ArgumentTypeError unless it is a str or an int.
    Example:
        >>> torch.set_deterministic_debug_mode("warn")
        >>> torch.get_deterministic_debug_mode()
        1
        >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise ArgumentTypeError(
            f"debug_mode must be str or int, but got {debug_mode!r}",
            hint=DEBUG_HINT,
            operator="set_deterministic_debug_mode",
        )
    known = range(len(ERROR_MODES)) if isinstance(debug_mode, int) else ERROR_MODES
    if debug_mode not in known:
        raise ModeError(
            f"invalid value of debug_mode, got {debug_mode}",
            hint=DEBUG_HINT,
            operator="set_deterministic_debug_mode",
        )
    index = debug_mode if isinstance(debug_mode, int) else ERROR_MODES.index(debug_mode)
    use_deterministic_algorithms(index > 0, warn_only=index == 1)


def get_deterministic_debug_mode() -> int:
    """Return the mode of deterministic algorithms: 0 for "default", 1 for "warn", 2 for "error".

    Example:
        >>> torch.get_deterministic_debug_mode()
        0
    """
    return 0 if not switches.deterministic else 1 if switches.warn_only else 2


def preferred_blas_library(backend: str | None = None) -> str:
    """Return the preferred library for matrix products, after setting it if one is given.

    backend: "default", "cublas", "cublaslt" or "ck"; None changes nothing.  The preference has no effect.
    Raises: ModeError for an unknown name.
    Example:
        >>> torch.backends.cuda.preferred_blas_library()
        'default'
    """
    return _prefer("blas", BLAS_LIBRARIES, backend)


def preferred_linalg_library(backend: str | None = None) -> str:
    """Return the preferred library for linear algebra other than products, after setting it if one is given.

    backend: "default", "cusolver" or "magma"; None changes nothing.  The preference has no effect.
    Raises: ModeError for an unknown name.
    Example:
        >>> torch.backends.cuda.preferred_linalg_library()
        'default'
    """
    return _prefer("linalg", LINALG_LIBRARIES, backend)


def _prefer(library: str, known: tuple[str, ...], wanted: str | None) -> str:
    if wanted is not None:
        if wanted not in known:
            raise ModeError(
                f"Unknown input value {wanted!r}. Choose from: {', '.join(known)}",
                hint="use one of these names",
                operator=f"preferred_{library}_library",
            )
        switches.libraries[library] = wanted
    return switches.libraries.get(library, known[0])


_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}  # kernels of attention


def enable_flash_sdp(enabled: bool) -> None:
    """Store whether attention may use FlashAttention.

    It has no effect: the operands determine the kernel.
    Example:
        >>> torch.backends.cuda.enable_flash_sdp(False)
        >>> torch.backends.cuda.flash_sdp_enabled()
        False
        >>> torch.backends.cuda.enable_flash_sdp(True)
    """
    _attention["flash"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """Return whether attention may use FlashAttention, as `enable_flash_sdp` stored it; True by default.

    Example:
        >>> torch.backends.cuda.flash_sdp_enabled()
        True
    """
    return _attention["flash"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Store whether attention may use a kernel that needs little memory.

    It has no effect: the operands determine the kernel.
    Example:
        >>> torch.backends.cuda.enable_mem_efficient_sdp(False)
        >>> torch.backends.cuda.mem_efficient_sdp_enabled()
        False
        >>> torch.backends.cuda.enable_mem_efficient_sdp(True)
    """
    _attention["mem_efficient"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return whether attention may use a kernel that needs little memory, as `enable_mem_efficient_sdp` stored it.

    It is True by default.
    Example:
        >>> torch.backends.cuda.mem_efficient_sdp_enabled()
        True
    """
    return _attention["mem_efficient"]


def enable_math_sdp(enabled: bool) -> None:
    """Store whether attention may use matrix products and a softmax.

    It has no effect: the operands determine the kernel.
    Example:
        >>> torch.backends.cuda.enable_math_sdp(False)
        >>> torch.backends.cuda.math_sdp_enabled()
        False
        >>> torch.backends.cuda.enable_math_sdp(True)
    """
    _attention["math"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Return whether attention may use matrix products and a softmax, as `enable_math_sdp` stored it; True by default.

    Example:
        >>> torch.backends.cuda.math_sdp_enabled()
        True
    """
    return _attention["math"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Store whether attention may use cuDNN.

    It has no effect: the operands determine the kernel.
    Example:
        >>> torch.backends.cuda.enable_cudnn_sdp(False)
        >>> torch.backends.cuda.cudnn_sdp_enabled()
        False
        >>> torch.backends.cuda.enable_cudnn_sdp(True)
    """
    _attention["cudnn"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Return whether attention may use cuDNN, as `enable_cudnn_sdp` stored it; True by default.

    Example:
        >>> torch.backends.cuda.cudnn_sdp_enabled()
        True
    """
    return _attention["cudnn"]


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict[str, bool]]:
    """Store which kernels attention may use inside a `with` block; restore the former values after it.

    They have no effect: the operands determine the kernel.
    Example:
        >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
        ...     print(torch.backends.cuda.flash_sdp_enabled())
        False
    """
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _attention.update(before)


def is_built() -> bool:
    """Return True: programs that ask for CUDA find it, on NVIDIA GPUs or virtual ones.

    Example:
        >>> torch.backends.cuda.is_built()
        True
    """
    return True


def cublas_workspace_size(size: int | None = None) -> int:
    """Return the size of the workspace for a matrix product on the current device, in bytes; 0 on virtual GPUs.

    The workspace is freed after each product.  Its size is read at the start from CUBLASLT_WORKSPACE_SIZE, else from
    CUBLAS_WORKSPACE_CONFIG.
    Raises: NotSupportedError if `size` is given: a program cannot change the size while it runs.
    Example:
        >>> torch.backends.cuda.cublas_workspace_size()
        0
    """
    if size is not None:
        raise NotSupportedError(
            f"{size} bytes cannot be set now",
            hint=f"set CUBLASLT_WORKSPACE_SIZE={size >> 10}, which is in KiB, before the program starts",
            operator="cublas_workspace_size",
        )
    index = devices.cuda_index()
    return thread.machine().driver.product_workspace(index)


class Flag:
    """A bool setting, checked when it is set."""

    def __init__(self, value: bool) -> None:
        self.initial = value
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else vars(holder).get(self.name, self.initial)

    def __set__(self, holder: Any, value: bool) -> None:
        if not isinstance(value, bool):
            raise ModeError(f"expects a bool, but got {value!r}", hint="use True or False", operator=self.name)
        vars(holder)[self.name] = value


class Limit:
    """A setting for a number of algorithms, checked when it is set."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else vars(holder).get(self.name, BENCHMARK_LIMIT)

    def __set__(self, holder: Any, value: int) -> None:
        if not devices.is_integer(value) or not 0 <= value <= LARGEST_LIMIT:
            raise ModeError(
                f"expects an int from 0 to {LARGEST_LIMIT}, but got {value!r}",
                hint="pass 0 for no limit",
                operator=self.name,
            )
        vars(holder)[self.name] = int(value)


class Reduction:
    """The setting that lets products of a half type be summed in that type: a bool, or (reduced, split_k).

    A read-only attribute whose name ends with `_split_k` has the second value.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else self.pair(holder)[0]

    def pair(self, holder: Any) -> tuple[bool, bool]:
        values: tuple[bool, bool] = vars(holder).get(self.name, (True, True))
        return values

    def __set__(self, holder: Any, value: Any) -> None:
        pair = (value, True) if isinstance(value, bool) else value
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(flag, bool) for flag in pair)
        if not is_pair:
            raise ArgumentTypeError(
                f"expects a bool or a pair of bools, but got {value!r}", hint="use True or False", operator=self.name
            )
        if tuple(pair) == (True, False):
            raise ModeError(
                "split_k=False is not supported when reduced precision is allowed",
                hint="use True, or (False, False)",
                operator=self.name,
            )
        vars(holder)[self.name] = tuple(pair)


class SplitK:
    """The second value of a Reduction."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.reduction = name.removesuffix("_split_k")

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else getattr(type(holder), self.reduction).pair(holder)[1]

    def __set__(self, holder: Any, value: object) -> None:
        raise AttributeError(f"{self.reduction}_split_k cannot be set: set {self.reduction} to a pair")


class Precision:
    """The `fp32_precision` of one node of the tree."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __get__(self, holder: Any, owner: Any = None) -> Any:
        return self if holder is None else switches.get(self.place)

    def __set__(self, holder: Any, value: str) -> None:
        switches.set(self.place, value)


class Matmul:
    """torch.backends.cuda.matmul: the settings of matrix products."""

    fp32_precision = Precision(MATMUL)
    allow_fp16_reduced_precision_reduction = Reduction()
    allow_fp16_reduced_precision_reduction_split_k = SplitK()
    allow_bf16_reduced_precision_reduction = Reduction()
    allow_bf16_reduced_precision_reduction_split_k = SplitK()
    allow_fp16_accumulation = Flag(False)

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 matrix products may round their inputs to 10 bits of mantissa.  Raises ModeError."""
        return switches.matmul_is_tf32()

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ModeError(f"expects a bool, but got {value!r}", hint="use True or False", operator="allow_tf32")
        set_float32_matmul_precision(LEVELS[1] if value else LEVELS[0])

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}")
        object.__setattr__(self, name, value)


class Convolution:
    """torch.backends.cudnn.conv."""

    fp32_precision = Precision(CONV)


class Recurrent:
    """torch.backends.cudnn.rnn."""

    fp32_precision = Precision(RNN)


class BackendsModule(ModuleType):
    """The class of the module torch.backends, which checks `fp32_precision` when it is set."""

    fp32_precision = Precision(GENERIC)


class CudnnModule(ModuleType):
    """The class of the module torch.backends.cudnn, which checks its settings when they are set."""

    fp32_precision = Precision(CUDA)
    enabled = Flag(True)
    benchmark = Flag(False)
    deterministic = Flag(False)
    benchmark_limit = Limit()
    conv = Convolution()
    rnn = Recurrent()

    def version(self) -> int | None:
        """Return the version of cuDNN, for example 91002; None if it is not installed.

        Host:   returns at once; starts nothing.
        Example:
            >>> torch.backends.cudnn.version() is None or torch.backends.cudnn.version() > 8000
            True
        """
        from .driver.nvidia import dnn

        library, _ = dnn.load()
        return None if library is None else int(library.cudnnGetVersion())

    def is_available(self) -> bool:
        """Return whether NVIDIA GPUs use cuDNN here: whether it is installed.  Virtual GPUs never do.

        Host:   returns at once; starts nothing.
        Example:
            >>> torch.backends.cudnn.is_available() == (torch.backends.cudnn.version() is not None)
            True
        """
        return self.version() is not None

    def is_acceptable(self, tensor: Any) -> bool:
        """Return whether cuDNN may be used for a tensor: it is available and enabled, and takes its device and type.

        Raises: ArgumentTypeError if the argument is not a tensor.
        Example:
            >>> torch.backends.cudnn.is_acceptable(torch.ones(2))
            False
        """
        if not isinstance(tensor, TensorBase):
            raise ArgumentTypeError(
                f"expected a Tensor, got {shown(tensor)}", hint="pass the operand", operator="is_acceptable"
            )
        is_taken = tensor.is_cuda and tensor.dtype in (float16, float32, float64)
        return bool(self.enabled and is_taken and self.is_available())

    @property
    def allow_tf32(self) -> bool:
        """Whether convolutions may round their inputs to 10 bits of mantissa.  Raises ModeError."""
        return switches.convolutions_are_tf32()

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        switches.cudnn_tf32 = bool(value)
        for name in (CONV, RNN):
            switches.set(name, TF32 if value else IEEE)

    @contextmanager
    def flags(
        self,
        enabled: bool | None = False,
        benchmark: bool | None = False,
        benchmark_limit: int | None = BENCHMARK_LIMIT,
        deterministic: bool | None = False,
        allow_tf32: bool | None = True,
    ) -> Iterator[None]:
        """Set all settings for a block; omitted ones get their defaults, and None leaves a setting unchanged.

        Example:
            >>> with torch.backends.cudnn.flags(benchmark=True):
            ...     print(torch.backends.cudnn.benchmark)
            True
            >>> torch.backends.cudnn.benchmark
            False
        """
        wanted = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic}
        former = {name: getattr(self, name) for name in (*wanted, "benchmark_limit")}
        precisions, cudnn_tf32 = dict(switches.precisions), switches.cudnn_tf32
        try:
            for name, value in {**wanted, "benchmark_limit": benchmark_limit, "allow_tf32": allow_tf32}.items():
                if value is not None:
                    setattr(self, name, value)
            yield
        finally:
            self._restore(former, precisions, cudnn_tf32)

    @whole
    def _restore(self, former: dict[str, Any], precisions: dict[Any, Any], cudnn_tf32: Any) -> None:
        for name, value in former.items():
            setattr(self, name, value)
        switches.precisions, switches.cudnn_tf32 = precisions, cudnn_tf32
        switches.apply()


matmul = Matmul()
